/**
 * A command-line import that is killed in the middle leaves nothing of itself; the same import again takes all of it,
 * to the last digit, and once more changes nothing.
 *
 * The middle is where the database says that it is: the import waits for a table that the test holds locked, or writes
 * in a transaction that is seen to be open. No test here waits for a time to pass.
 */
import { writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbedded, type EmbeddedDatabase } from '../../src/store/embedded/embedded.js';
import { home } from '../support/processes.js';

const ROWS = 90_000;
const COLUMNS = [
  'BilledCost',
  'EffectiveCost',
  'ListCost',
  'BillingAccountId',
  'BillingCurrency',
  'BillingPeriodStart',
  'BillingPeriodEnd',
  'ChargeCategory',
  'ChargePeriodStart',
  'ChargePeriodEnd',
  'ProviderName',
  'SubAccountId',
  'ResourceId',
  'ServiceName',
  'SkuId',
  'RegionId',
  'Tags',
];
/** Every table that an import, or the line behind it, writes facts to. */
const TABLES = [
  'source',
  'import',
  'reject',
  'delivery',
  'block',
  'usage_id',
  'usage_hour',
  'cost_hour',
  'cost_day',
  'work',
];

const instant = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
const decimal = (unscaled: bigint, digits: number): string => {
  const text = unscaled.toString().padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
};

/**
 * A bill of September 2026 by written rules, and what its lines come to: eleven digits after the point, per account.
 */
function bill(): { csv: string; total: string; ofAccount: Record<string, string> } {
  const lines = [COLUMNS.join(',')];
  const sums = [0n, 0n, 0n];
  for (let n = 0; n < ROWS; n += 1) {
    const account = (n + 1) % 3;
    const cost = (BigInt(n) * 7_919_000_003n) % 100_000_000_019n;
    sums[account] = (sums[account] ?? 0n) + cost;
    const hour = Date.UTC(2026, 8, 1) + (n % 720) * 3_600_000;
    const amount = decimal(cost, 11);
    lines.push(
      [
        amount,
        amount,
        amount,
        `payer-${account}`,
        'USD',
        '2026-09-01T00:00:00Z',
        '2026-10-01T00:00:00Z',
        'Usage',
        instant(hour),
        instant(hour + 3_600_000),
        'AWS',
        `sub-${n % 40}`,
        `i-${n % 5000}`,
        'Amazon Elastic Compute Cloud',
        `sku-${n % 30}`,
        'us-east-1',
        `"{""team"": ""t${n % 9}""}"`,
      ].join(','),
    );
  }
  const ofAccount = Object.fromEntries(sums.map((sum, account) => [`payer-${account}`, decimal(sum, 11)]));
  return {
    csv: `${lines.join('\n')}\n`,
    total: decimal(
      sums.reduce((all, sum) => all + sum, 0n),
      11,
    ),
    ofAccount,
  };
}

describe('an import that is killed', { timeout: 180_000 }, async () => {
  const place = await home();
  const file = place.file('bill.csv');
  const { csv, total, ofAccount } = bill();
  let database: EmbeddedDatabase;
  let client: Client;
  /** Holds the locks: within a transaction PostgreSQL shows what the sessions did when it began to look. */
  let locker: Client;
  beforeAll(async () => {
    await writeFile(file, csv);
    // The server runs on when an import dies: this process uses it too.
    database = await startEmbedded({ dataDir: place.dataDir, log: () => undefined, settings: { fsync: 'off' } });
    expect((await place.run(['migrate', '--json'])).code).toBe(0);
    [client, locker] = [
      new Client({ connectionString: database.url }),
      new Client({ connectionString: database.url, application_name: 'locker' }),
    ];
    await client.connect();
    await locker.connect();
  });
  afterAll(async () => {
    // What a beforeAll that failed never made is not there.
    await Promise.all([client, locker].map((one?: Client) => one?.end()));
    await (database as EmbeddedDatabase | undefined)?.stop();
  });

  const holds = async (sql: string): Promise<boolean> =>
    (await client.query<{ holds: boolean }>(`select exists (${sql}) as holds`)).rows[0]?.holds === true;
  const others = `from pg_stat_activity where datname = current_database() and application_name = 'bursar'`;

  async function until(what: string, sql: string): Promise<void> {
    for (let looks = 0; looks < 12_000; looks += 1) {
      if (await holds(sql)) return;
      await pause(5);
    }
    throw new Error(`it never came to be: ${what}`);
  }

  const counts = async (): Promise<Record<string, number>> => {
    const { rows } = await client.query<{ name: string; n: number }>(
      TABLES.map((name) => `select '${name}' as name, count(*)::int as n from ${name}`).join(' union all '),
    );
    return Object.fromEntries(rows.map(({ name, n }) => [name, n]));
  };
  const nothing = Object.fromEntries(TABLES.map((name) => [name, 0]));

  /** Its sessions end when PostgreSQL sees that nobody is there any more. */
  const sessionsEnd = () =>
    until('the sessions of the killed process end', `select 1 where not exists (select 1 ${others})`);

  /** Kills an import where it begins to write to a table. */
  async function killAt(table: string): Promise<void> {
    const run = place.start(['import', file, '--source', 'bill', '--json']);
    await locker.query(`begin`);
    try {
      await locker.query(`lock table ${table} in share mode`);
      await until(
        `the import waits for ${table}`,
        `select 1 ${others} and wait_event_type = 'Lock' and xact_start is not null`,
      );
      const { code, out } = await run.end('SIGKILL');
      expect({ code, out }).toEqual({ code: null, out: '' });
    } finally {
      await locker.query(`rollback`);
    }
    await sessionsEnd();
  }

  it.each(['block', 'usage_hour', 'work'])('where it begins to write to %s leaves nothing', async (table) => {
    await killAt(table);
    expect(await counts()).toEqual(nothing);
  });

  it('while it writes leaves nothing', async () => {
    const run = place.start(['import', file, '--source', 'bill', '--json']);
    await until(
      'the import writes',
      `select 1 ${others} and xact_start is not null and query ilike 'insert into block%'`,
    );
    const { code, out } = await run.end('SIGKILL');
    expect({ code, out }).toEqual({ code: null, out: '' });
    await sessionsEnd();
    expect(await counts()).toEqual(nothing);
  });

  it('is taken whole by the next try, to the last digit', async () => {
    const { code, out, err } = await place.run(['import', file, '--source', 'bill', '--json']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(JSON.parse(out)).toMatchObject({
      files: [
        {
          rows: ROWS,
          accepted: ROWS,
          rejected: 0,
          unchanged: 0,
          replaced: [],
          billed: [{ provider: 'AWS', currency: 'USD', amount: total }],
        },
      ],
    });
    const { rows } = await client.query<{ account: string; billed: string }>(
      `select d.account, sum(u.billed)::text as billed from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension group by 1`,
    );
    expect(Object.fromEntries(rows.map(({ account, billed }) => [account, billed]))).toEqual(ofAccount);
    for (const basis of ['billed', 'actual']) {
      const costs = await place.run(['costs', '--basis', basis, '--json']);
      expect(JSON.parse(costs.out)).toMatchObject({ total, currency: 'USD', unpricedQuantity: '0.000000' });
    }
    expect(await holds(`select 1 from work where done < wanted`)).toBe(false);
  });

  it('once more changes nothing', async () => {
    // When it was last delivered, and with what, is written down: a bill settles by it.
    const said: Record<string, string> = { delivery: "to_jsonb(t) - '{delivered_at,bundle}'::text[]" };
    const sums = ['usage_hour', 'cost_day', 'block', 'delivery'].map((name) => {
      const row = `(${said[name] ?? 't'})::text`;
      return `select md5(string_agg(${row}, ',' order by ${row})) from ${name} t`;
    });
    const facts = `select * from (${sums.join(' union all ')}) as f`;
    const before = (await client.query(facts)).rows;
    const { code, out } = await place.run(['import', file, '--source', 'bill', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      files: [{ rows: ROWS, accepted: 0, rejected: 0, unchanged: ROWS, replaced: [], billed: [{ amount: total }] }],
    });
    expect((await client.query(facts)).rows).toEqual(before);
  });

  it('that restates the bill leaves the old one whole', async () => {
    // Without its last line, which is of payer-0.
    await writeFile(file, csv.slice(0, csv.lastIndexOf('\n', csv.length - 2) + 1));
    await killAt('work');
    const costs = await place.run(['costs', '--basis', 'billed', '--json']);
    expect(JSON.parse(costs.out)).toMatchObject({ total });
    const again = await place.run(['import', file, '--source', 'bill', '--json']);
    // The bill of payer-0 is replaced, the others are unchanged.
    expect(JSON.parse(again.out)).toMatchObject({
      files: [
        {
          rows: ROWS - 1,
          accepted: ROWS / 3 - 1,
          unchanged: (ROWS * 2) / 3,
          replaced: [{ account: 'payer-0', records: ROWS / 3 }],
        },
      ],
    });
  });
});
