/**
 * Sums that are made beforehand, while others write: whatever is committed between the statements of a question, its
 * answer is that of one moment; and whatever is committed between the statements of a sum, no sum is read that lacks
 * it.
 */
import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import type { QueryRunner } from 'typeorm';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { DaysOfAllTeams1764000000089 } from '../../migrations/0089-days-of-all-teams.js';
import { BASES, parseSpendQuery } from '../../src/core/cost/spend-query.js';
import { GPU_PARTS } from '../../src/core/usage.js';
import { formatDecimal, type Decimal } from '../../src/core/decimal.js';
import type { Dimension } from '../../src/core/cost/rollup.js';
import { spendByDay } from '../../src/store/cost/overview.js';
import { textOf } from '../../src/store/cost/spend-sums.js';
import { SumSchedule } from '../../src/pipeline/sum.js';
import { Database, Transaction } from '../../src/store/database.js';
import { undoImport } from '../../src/store/usage/undo.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { HOUR, metered } from '../support/records.js';

const DAY = 24 * HOUR;
/** A Monday. */
const FIRST = Date.UTC(2026, 9, 5);
const NOW = Date.UTC(2026, 10, 21);

/** Its context holds no connection: what another process does is done here. */
const elsewhere = new AsyncResource('elsewhere');

let ids = 0;
const use = (day: number, hours = 30, namespace = 'red') => {
  const start = FIRST + day * DAY + 5 * HOUR;
  return metered(`m${ids++}`, { namespace, start, end: start + hours * HOUR, gpuParts: 8 * GPU_PARTS });
};

async function world(): Promise<TestBursar> {
  const bursar = await testBursar({ now: NOW });
  const { stores, db } = bursar;
  await bursar.setPrices([instancePrice('10', { minimumSeconds: 0 })]);
  await db.transaction(async (tx) => {
    const rules = ['red', 'blue'].map((team) => ({ match: { namespace: team }, team }));
    await stores.organisations.saveRules(tx, 'default', rules, 'test');
    const team = { parent: null, zone: 'Europe/Berlin', currency: 'USD', assignedBy: null };
    await stores.organisations.saveTeam(tx, 'default', { ...team, id: 'blue', name: 'blue' });
  });
  await bursar.take(Array.from({ length: 20 }, (_, day) => [use(day), use(day, 3, 'blue')]).flat(), {
    source: 'meter',
  });
  await bursar.runner.drain();
  await sum(bursar);
  return bursar;
}

async function sum(bursar: TestBursar): Promise<void> {
  await new SumSchedule(bursar.stores).enqueueDue();
  await work(bursar, 'spend.sum');
}

async function work({ stores, runner, clock }: TestBursar, stage: string): Promise<void> {
  for (const due of await stores.work.duePartitions(clock.at))
    if (due.stage === stage)
      while (
        (await runner.runPartition({ organisation: 'default', stage, partition: due.partition }, async () => true)) > 0
      );
}

/** Does something before the statement with a number, whoever sends it. @returns how many statements there were */
async function before(at: number, something: () => Promise<void>, during: () => Promise<void>): Promise<number> {
  let [statements, isElsewhere] = [0, false];
  for (const kind of [Database.prototype, Transaction.prototype] as { query: Database['query'] }[]) {
    const query = kind.query;
    vi.spyOn(kind, 'query').mockImplementation(async function (this: Database, ...asked: Parameters<typeof query>) {
      if (!isElsewhere && statements++ === at) {
        isElsewhere = true;
        await elsewhere.runInAsyncScope(something);
        isElsewhere = false;
      }
      return query.apply(this, asked);
    } as typeof query);
  }
  await during();
  vi.restoreAllMocks();
  return statements;
}

afterEach(() => {
  vi.restoreAllMocks();
});

const RANGE = { from: '2026-10-05', to: '2026-10-24' };
const QUESTIONS: Parameters<typeof parseSpendQuery>[0][] = [
  { ...RANGE, groupBy: 'team', basis: 'accrued' },
  { ...RANGE, groupBy: 'team', zone: 'Europe/Berlin', basis: 'actual' },
  { ...RANGE, groupBy: 'month', zone: 'Asia/Kolkata', basis: 'actual' },
];

/** Another record is priced; the sums of its days lack it. */
async function arrives(bursar: TestBursar): Promise<void> {
  await bursar.take([use(8 + (ids % 3)), use(15 + (ids % 2))], { source: 'meter' });
  await work(bursar, 'cost.price');
}

/** Without one of the triggers nothing is read from the sums. */
async function withoutSums<T>({ db }: TestBursar, answer: () => Promise<T>): Promise<T> {
  await db.query(`alter table cost_day disable trigger spend_moved`);
  const said = await answer();
  await db.query(`alter table cost_day enable trigger spend_moved`);
  return said;
}

/** Of the days of all teams but one. */
async function daysOfOthers({ stores }: TestBursar, zone: string): Promise<string[]> {
  const { sums: days } = await stores.spend.days('default', {
    ...parseSpendQuery({ ...RANGE, zone, groupBy: 'team' }),
    key: 'team',
    since: RANGE.from,
    groups: [{ name: 'blue', currency: 'USD' }],
    named: new Map(),
  });
  return days.map(({ day, name, cost }) => `${day} ${name?.value ?? '-'} ${cost === null ? '' : textOf(cost)}`).sort();
}

describe('a question while others write', async () => {
  const bursar = await world();
  const rolledUp = (): Promise<void> => work(bursar, 'cost.rollup');
  const summed = (): Promise<void> => sum(bursar);

  async function isOfOneMoment<T>(answer: () => Promise<T>): Promise<void> {
    let seen = 0;
    for (let at = 0, statements = 1; at < statements; at++) {
      await arrives(bursar);
      const moments = [await withoutSums(bursar, answer)];
      let said: T | undefined;
      statements = await before(
        at,
        async () => {
          for (const step of [rolledUp, summed]) {
            await step();
            moments.push(await withoutSums(bursar, answer));
          }
          seen += 1;
        },
        async () => {
          said = await answer();
        },
      );
      expect(moments, `before statement ${at}`).toContainEqual(said);
    }
    expect(seen).toBeGreaterThan(2);
  }

  for (const question of QUESTIONS)
    it(`is answered as of one moment: by ${question.groupBy} in ${question.zone ?? 'UTC'}`, () =>
      isOfOneMoment(() => bursar.spend(question)));

  it('is answered as of one moment day by day', () => isOfOneMoment(() => daysOfOthers(bursar, 'Europe/Berlin')));
});

describe('a sum while others write', async () => {
  const bursar = await world();
  const { stores, db } = bursar;

  async function expectExact(): Promise<void> {
    const answers: (() => Promise<unknown>)[] = [
      ...QUESTIONS.map((question) => () => bursar.spend(question)),
      ...['UTC', 'Europe/Berlin'].map((zone) => () => daysOfOthers(bursar, zone)),
    ];
    for (const answer of answers) expect(await answer()).toEqual(await withoutSums(bursar, answer));
  }

  const replaceStale = async (): Promise<void> => {
    const [stale] = await stores.spendSums.stale(db);
    await db.transaction((tx) => stores.spendSums.replace(tx, 'default', stale?.days ?? []));
  };

  it('of a week is not read where its Sunday is in the month after', async () => {
    // The 30th of October and the 1st of November.
    await bursar.take([use(25, 3), use(27, 3)], { source: 'meter' });
    for (const stage of ['cost.price', 'cost.rollup']) await work(bursar, stage);
    await replaceStale();
    const { rows } = await bursar.spend({ from: '2026-10-26', to: '2026-11-09', groupBy: 'month', basis: 'accrued' });
    expect(rows.map(({ month, cost }) => [month, Number(cost)])).toEqual([
      ['2026-10', 30],
      ['2026-11', 30],
    ]);
  });

  it('of a week is read for every range that holds it whole, and for no other', async () => {
    await replaceStale();
    // Where no hour is on another day than UTC's, nothing but the range decides.
    const dates = Array.from({ length: 16 }, (_, day) => new Date(FIRST + (day - 1) * DAY).toISOString().slice(0, 10));
    const ranges = dates.flatMap((from) => dates.filter((to) => to > from).map((to) => ({ from, to })));
    const open = dates.flatMap((date) => [{ from: date }, { to: date }]);
    const answers = async (): Promise<unknown[]> => {
      const said: unknown[] = [];
      for (const range of [...ranges, ...open])
        said.push((await bursar.spend({ ...range, groupBy: 'team', basis: 'accrued' })).rows);
      return said;
    };
    const said = await answers();
    expect(said).toEqual(await withoutSums(bursar, answers));
  });

  it('is not read where it lacks what was committed in between', async () => {
    for (let at = 0, statements = 1; at < statements; at++) {
      await arrives(bursar);
      await work(bursar, 'cost.rollup');
      statements = await before(
        at,
        async () => {
          await arrives(bursar);
          await work(bursar, 'cost.rollup');
        },
        replaceStale,
      );
      await expectExact();
      await replaceStale();
      await expectExact();
    }
  });

  it('is not read where it has hours that were taken back before they were summed by day', async () => {
    // A team with nothing else on that day: its roll-up finds nothing to write, and nothing to remove.
    await bursar.take([use(16.75, 5, 'green')], { source: 'mistaken' });
    await work(bursar, 'cost.price');
    await db.transaction((tx) => stores.spendSums.replace(tx, 'default', ['2026-10-21', '2026-10-22']));
    const [wrong] = await db.query<{ id: string }>(`select id::text as id from import where source = 'mistaken'`);
    await db.transaction((tx) => undoImport(stores, tx, 'default', wrong?.id ?? '', 'test', NOW));
    for (const stage of ['cost.price', 'cost.rollup']) await work(bursar, stage);
    await expectExact();
  });

  it('is not read where it was rolled back', async () => {
    await arrives(bursar);
    await work(bursar, 'cost.rollup');
    const stopped = db.transaction(async (tx) => {
      await stores.spendSums.replace(tx, 'default', ['2026-10-13', '2026-10-14', '2026-10-15']);
      throw new Error('stopped');
    });
    await expect(stopped).rejects.toThrow('stopped');
    await expectExact();
  });

  it('is not read where it was made before its migration was taken back', async () => {
    await replaceStale();
    const migration = new DaysOfAllTeams1764000000089();
    const runner = { query: (statement: string) => db.query(statement) } as unknown as QueryRunner;
    for (const table of ['usage_hour', 'cost_hour'])
      await db.query(`delete from ${table} where (hour at time zone 'UTC')::date = '2026-10-07'`);
    await db.query(`delete from cost_day where day = '2026-10-07'`);
    await migration.down(runner);
    await migration.up(runner);
    await expectExact();
    await replaceStale();
    await expectExact();
  });

  it('of all dimensions by hour is read, but not of days that the version before has summed', async () => {
    await replaceStale();
    await expectExact();
    // A day that has its totals, with nothing in them.
    await db.query(`delete from spend_total where day = '2026-10-14'`);
    for (const zone of ['UTC', 'Europe/Berlin']) {
      const answer = (): Promise<string[]> => daysOfOthers(bursar, zone);
      expect(await answer()).not.toEqual(await withoutSums(bursar, answer));
    }
    // The version before puts rows of a day in the place of others, and leaves the totals as they are.
    await db.query(`update spend_day set has_totals = null where day = '2026-10-14'`);
    await expectExact();
    expect((await stores.spendSums.stale(db)).map(({ days }) => days)).toEqual([['2026-10-14']]);
    await replaceStale();
    expect(await stores.spendSums.stale(db)).toEqual([]);
    await expectExact();
  });

  it('is not read where its zone has other rules since', async () => {
    await replaceStale();
    // As if Berlin had been an hour ahead in summer, as London is, when the days were summed.
    const zone = (name: string): Promise<unknown> =>
      db.query(`update team set zone = $1 where organisation = 'default' and id = 'blue'`, [name]);
    await zone('Europe/London');
    await replaceStale();
    await zone('Europe/Berlin');
    for (const table of ['spend_zone', 'spend_local'])
      await db.query(`update ${table} set zone = 'Europe/Berlin' where zone = 'Europe/London'`);
    await expectExact();
    await replaceStale();
    const [days] = await db.query<{ other: number; all: number }>(
      `select count(distinct parts)::int as other, count(*)::int as all from spend_zone where zone = 'Europe/Berlin'`,
    );
    // In winter Berlin is an hour ahead.
    expect(days?.other).toBe(2);
    expect(days?.all).toBeGreaterThan(10);
    await expectExact();
  });

  it('is not read where days are restored as rows alone, by whoever has no search path', async () => {
    await replaceStale();
    const [{ schema } = { schema: '' }] = await db.query<{ schema: string }>(`select current_schema() as schema`);
    await db.query(`create table kept as select * from cost_day where day <> '2026-10-08'`);
    await db.transaction(async (tx) => {
      await tx.query(`set local search_path = ''`);
      await tx.query(`truncate ${schema}.cost_day`);
      await tx.query(`insert into ${schema}.cost_day select * from ${schema}.kept`);
    });
    const answer = (): Promise<unknown> => daysOfOthers(bursar, 'UTC');
    expect(await answer()).toEqual(await withoutSums(bursar, answer));
    await replaceStale();
    expect(await answer()).toEqual(await withoutSums(bursar, answer));
  });

  // Last: it changes the days and not their hours.
  it('waits for another of the same week', async () => {
    let other = Promise.resolve();
    await db.transaction(async (tx) => {
      await stores.spendSums.replace(tx, 'default', ['2026-10-12']);
      await elsewhere.runInAsyncScope(async () => {
        await db.query(
          `update cost_day set team = 'green' where team = 'red' and day between '2026-10-12' and '2026-10-18'`,
        );
        other = db.transaction((own) => stores.spendSums.replace(own, 'default', ['2026-10-13', '2026-10-14']));
        await pause(300);
      });
    });
    await other;
    await replaceStale();
    const [question] = QUESTIONS;
    const answer = (): Promise<unknown> => bursar.spend(question ?? {});
    expect(await answer()).toEqual(await withoutSums(bursar, answer));
  });
});

it('of a zone that is asked for is made for all days, and read', async () => {
  const bursar = await world();
  const { db, stores } = bursar;
  const answer = (): Promise<unknown> =>
    bursar.spend({ ...RANGE, groupBy: 'team', zone: 'America/Los_Angeles', basis: 'actual' });
  const plain = await answer();
  await stores.spendSums.noteZone(db, 'default', 'America/Los_Angeles', NOW);
  expect(await stores.spendSums.stale(db)).toMatchObject([
    { days: expect.arrayContaining(['2026-10-05']) as string[] },
  ]);
  await sum(bursar);
  expect(await stores.spendSums.stale(db)).toEqual([]);
  expect(await answer()).toEqual(plain);
  expect(await withoutSums(bursar, answer)).toEqual(plain);
  await db.query(`update spend_local set actual = actual + 1 where zone = 'America/Los_Angeles'`);
  expect(await answer()).not.toEqual(plain);
});

describe('a day that changed since it was summed, in a zone whose days begin within it', async () => {
  const bursar = await world();
  const { db, stores } = bursar;
  const ZONES = ['America/Los_Angeles', 'Asia/Shanghai', 'Europe/Berlin'];
  beforeAll(async () => {
    for (const zone of ZONES) await stores.spendSums.noteZone(db, 'default', zone, NOW);
    await sum(bursar);
  });

  it.each(ZONES)('is read in %s, and of the days beside it the sums', async (zone) => {
    const question = { ...RANGE, zone, basis: 'actual' as const };
    const answers = async (): Promise<unknown> => [
      await daysOfOthers(bursar, zone),
      ...(await Promise.all(['day,team', 'team', 'month'].map((groupBy) => bursar.spend({ ...question, groupBy })))),
    ];
    // One record that ends in the moved hours, and one that is not summed by day yet.
    await bursar.take([use(8, 19), use(8, 2, 'blue'), use(9, 30)], { source: 'meter' });
    await bursar.runner.drain();
    await bursar.take([use(8, 24), use(15, 5, 'blue')], { source: 'meter' });
    await work(bursar, 'cost.price');
    expect(await stores.spendSums.stale(db)).toMatchObject([
      { days: expect.not.arrayContaining(['2026-10-20']) as string[] },
    ]);
    expect(await answers()).toEqual(await withoutSums(bursar, answers));
    await bursar.runner.drain();
    expect(await answers()).toEqual(await withoutSums(bursar, answers));
    await sum(bursar);
  });
});

describe('the migration that notes the days, begun again', async () => {
  const { db } = await testBursar();

  it('stops nobody who reads while it waits to replace an index that was left unfinished', async () => {
    await db.query(`update pg_index set indisvalid = false where indexrelid = 'usage_hour_hour'::regclass`);
    const runner = { query: (statement: string) => db.query(statement) } as unknown as QueryRunner;
    let migrated = Promise.resolve();
    await db.transaction(async (tx) => {
      await tx.query(`select 1 from usage_hour`);
      await elsewhere.runInAsyncScope(async () => {
        migrated = new DaysOfAllTeams1764000000089().up(runner);
        await pause(500);
        await db.transaction(async (reader) => {
          await reader.query(`set local lock_timeout = 1000`);
          await reader.query(`select 1 from usage_hour`);
        });
      });
    });
    await migrated;
    expect(await db.query(`select 1 from pg_index where not indisvalid`)).toEqual([]);
  });
});

/** Amounts as numbers: sums keep the digits of what they were added from. */
const inDigits = (days: unknown): unknown =>
  JSON.parse(
    JSON.stringify(days, (_, value: unknown) =>
      typeof value === 'bigint' ? value.toString() : isDecimal(value) ? Number(formatDecimal(value)) : value,
    ),
  );
const isDecimal = (value: unknown): value is Decimal =>
  typeof value === 'object' && value !== null && 'unscaled' in value;

describe('a week of days that are not alike', async () => {
  const bursar = await testBursar({ now: NOW });
  const { db } = bursar;
  /** accrued, actual, billed, effective, list; GPU-hours and lines without a price, and how much bills state. */
  const KINDS: readonly (readonly (string | null)[])[] = [
    ['5', '5', null, null, null, '0', '0', '0', '0'],
    ['5', null, null, null, null, '7', '1', '7', '1'],
    ['5', null, null, null, null, '7', '2', '3', '1'],
    [null, null, null, null, null, '9', '1', '0', '0'],
    [null, null, null, null, null, '0', '1', '0', '0'],
    [null, '4', '4', '3', '8', '0', '0', '0', '0'],
    [null, '4', '4', null, '8', '0', '0', '0', '0'],
    [null, '4', '4', '3', null, '0', '0', '0', '0'],
    [null, null, '4', null, null, '0', '0', '0', '0'],
    [null, '4', null, null, null, '0', '0', '0', '0'],
    ['5', null, null, null, null, '0', '0', '0', '0'],
    [null, '4', '4', null, null, '0', '0', '0', '0'],
    ['5', null, null, null, null, '0', '1', '0', '1'],
  ];

  it('answers as its days do, for each two of them and on every basis', async () => {
    const [dimension] = await db.query<{ id: string }>(
      `insert into dimension (organisation, key, kind, provider, sku, category) values ('default', 'k', 'metered', 'AWS', 'a', 'Usage') returning id::text as id`,
    );
    // A team for each two kinds: the one on Monday, the other on Thursday.
    for (const [a, monday] of KINDS.entries())
      for (const [b, thursday] of KINDS.entries())
        for (const [day, kind] of [
          ['2026-10-05', monday],
          ['2026-10-08', thursday],
        ] as const)
          await db.query(
            `insert into cost_day (organisation, team, day, dimension, currency, records, gpu_part_ms,
               accrued, actual, billed, effective, list, unpriced_part_ms, unpriced_lines, stated_part_ms, stated_lines)
             values ('default', $1, $2, $3, 'USD', 1, $13, $4, $5, $6, $7, $8, $13 * $9::numeric, $10, $13 * $11::numeric, $12)`,
            [`t${a}-${b}`, day, dimension?.id, ...kind, '25200000000'],
          );
    // What has no price and no GPU time is listed apart.
    await db.query(
      `insert into cost_hour (organisation, team, hour, dimension, component, unpriced_reason, quantity)
       select organisation, team, day::timestamp at time zone 'UTC', dimension, 'storage', 'no-price', 3774873600000
       from cost_day where unpriced_lines > 0 and unpriced_part_ms = 0`,
    );
    await sum(bursar);
    const range = { from: '2026-10-05', to: '2026-10-12' };
    for (const groupBy of ['team', 'sku', 'month'])
      for (const basis of BASES) {
        const answer = (): Promise<unknown> => bursar.spend({ ...range, groupBy, basis });
        expect(await answer(), `${basis} by ${groupBy}`).toEqual(await withoutSums(bursar, answer));
      }
    // Day by day of all teams: all of them, all but two of a kind, and by what they ran.
    const names = ['t0-0', 't3-3'].map((name) => ({ name, currency: 'USD' }));
    for (const [key, groups] of [
      ['team', []],
      ['team', names],
      ['sku', [{ name: 'a', currency: 'USD' }]],
    ] as const)
      for (const basis of BASES) {
        const since = '2026-10-07';
        const answer = async (): Promise<string[]> =>
          (
            await bursar.stores.spend.days('default', {
              ...parseSpendQuery({ ...range, groupBy: key, basis }),
              key,
              since,
              groups,
              named: new Map([[dimension?.id ?? '', { sku: 'a' } as Dimension]]),
            })
          ).sums
            .map(({ day, name, currency, cost }) =>
              [day, name?.value ?? '', currency, cost === null ? 'unknown' : Number(textOf(cost))].join(' '),
            )
            .sort();
        const said = await answer();
        expect(said, `${basis} by ${key}`).toEqual(await withoutSums(bursar, answer));
        expect(said).not.toEqual([]);
      }
    const overview = (): Promise<unknown> => spendByDay(db, 'default', { ...range, teams: null });
    expect(inDigits(await overview())).toEqual(inDigits(await withoutSums(bursar, overview)));
    const [kinds] = await db.query<{ alike: number }>(`select count(distinct alike)::int as alike from spend_week`);
    expect(kinds?.alike).toBeGreaterThan(5);
    // A single line without GPU time and without a price, in a week with another that has GPU time: it is listed still.
    await db.query(`delete from cost_day where team <> 't3-4'`);
    await sum(bursar);
    const alone = (): Promise<unknown> => bursar.spend({ ...range, groupBy: 'team', basis: 'accrued' });
    const said = await alone();
    expect(said).toEqual(await withoutSums(bursar, alone));
    expect(said).toMatchObject({ lacking: { unpriced: [{}] } });
  });
});
