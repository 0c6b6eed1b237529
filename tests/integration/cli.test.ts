/** The command line on a real database, from a bill to a recommendation, in process and through the API. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compose, type Bursar } from '../../src/app.module.js';
import { run, type CliContext, type LocalBursar } from '../../src/cli/program.js';
import { WebModule } from '../../src/web/web.module.js';
import { createWebApp } from '../../src/web/server.js';
import { keepDraining } from '../support/bursar.js';
import { freshDatabase } from '../support/database.js';
import { ROOT } from '../support/source.js';
import { localOfComposed } from '../support/local.js';

const FOCUS = path.join(ROOT, 'examples/data/focus-sample/focus_sample_2024-09-01_18.csv');
const AWS_PRICES = path.join(
  ROOT,
  'examples/data/aws-ondemand-price-history/aws_gpu_ondemand_us-east-1_2022-06_2026-07.csv',
);
const GCP_PRICES = path.join(ROOT, 'examples/data/gcp-gpu-prices/gcp_gpu_instances_2026-07-30.csv');
/** Billed totals of PROVENANCE.md, to the last digit, in the order in which the file has them. */
const CONTROL = [
  { provider: 'AWS', currency: 'USD', amount: '8.00155109870' },
  { provider: 'Oracle', currency: 'USD', amount: '0.28400000000' },
  { provider: 'Microsoft', currency: 'USD', amount: '0.40851306586' },
];
const NOW = Date.UTC(2026, 9, 31);
const clock = { now: () => NOW };

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function bursar(argv: readonly string[], context: Pick<CliContext, 'connect' | 'remote'>): Promise<Ran> {
  let [out, err] = ['', ''];
  const code = await run(argv, {
    environment: {},
    clock,
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    serve: async () => undefined,
    ...context,
  });
  return { code, out, err };
}

/**
 * Usage of October 2026: ml-red holds one p5.48xlarge for two hours and, all month, eight A100 of GCP; ml-blue has a
 * GPU that no list knows.
 */
const USAGE = {
  records: [
    {
      id: 'r1',
      provider: 'AWS',
      account: 'a1',
      namespace: 'ml-red',
      sku: 'p5.48xlarge',
      region: 'us-east-1',
      term: 'on-demand',
      gpus: 8,
      start: '2026-10-05T00:00:00Z',
      end: '2026-10-05T02:00:00Z',
    },
    {
      id: 'r2',
      provider: 'Google Cloud',
      account: 'g1',
      namespace: 'ml-red',
      sku: 'a2-highgpu-8g',
      region: 'us-central1',
      term: 'on-demand',
      gpus: 8,
      start: '2026-09-01T00:00:00Z',
      end: '2026-10-31T00:00:00Z',
    },
    {
      id: 'r3',
      provider: 'AWS',
      account: 'a1',
      namespace: 'ml-blue',
      sku: 'x99.moon',
      region: 'us-east-1',
      gpus: 4,
      start: '2026-10-06T00:00:00Z',
      end: '2026-10-06T03:00:00Z',
    },
  ],
};
const RULES = [
  { match: { namespace: 'ml-red' }, team: 'red' },
  { match: { namespace: 'ml-*' }, team: 'blue' },
];

describe('the command line', async () => {
  const { url } = await freshDatabase();
  let folder = '';
  let opened: Bursar;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-cli-'));
    opened = await compose(url, clock);
    await writeFile(file('usage.json.gz'), gzipSync(JSON.stringify(USAGE)));
    await writeFile(file('rules.json'), JSON.stringify({ rules: RULES }));
  });
  afterAll(async () => {
    await opened.close();
    await rm(folder, { recursive: true, force: true });
  });

  const file = (name: string): string => path.join(folder, name);
  const connect = async (): Promise<LocalBursar> => localOfComposed(opened, clock);
  const local = (...argv: string[]): Promise<Ran> => bursar(argv, { connect, remote: null });
  const json = async <T>(...argv: string[]): Promise<T> => {
    const { code, out, err } = await local(...argv, '--json');
    expect({ argv, code, err: code === 0 ? '' : err }).toEqual({ argv, code: 0, err: '' });
    return JSON.parse(out) as T;
  };

  describe('import', () => {
    it('writes nothing in a dry run', async () => {
      const { files } = await json<{ files: unknown[] }>('import', FOCUS, '--dry-run');
      expect(files).toMatchObject([{ rows: 545, accepted: 545, rejected: 0, billed: CONTROL }]);
      expect(await json('imports')).toEqual({ imports: [] });
      expect((await local('import', FOCUS, '--dry-run')).out).toContain('Nothing was written');
    });

    it('takes a bill to the last digit, and again changes nothing', async () => {
      const { files } = await json<{ files: unknown[] }>('import', FOCUS, '--source', 'sample');
      expect(files).toMatchObject([
        {
          file: 'focus_sample_2024-09-01_18.csv',
          format: 'focus',
          rows: 545,
          accepted: 545,
          rejected: 0,
          unchanged: 0,
          billed: CONTROL,
        },
      ]);
      const again = await json<{ files: unknown[] }>('import', FOCUS, '--source', 'sample');
      expect(again.files).toMatchObject([{ rows: 545, accepted: 0, unchanged: 545, billed: CONTROL }]);
      const { out } = await local('import', FOCUS, '--source', 'sample');
      expect(out).toMatch(/AWS +8\.00155109870 +USD/);
    });

    it('shows what was billed', async () => {
      const spend = await json<{ rows: { provider: string; cost: string }[]; total: string }>(
        'costs',
        '--group-by',
        'provider',
        '--basis',
        'billed',
      );
      expect(spend.rows).toHaveLength(CONTROL.length);
      for (const { provider, currency, amount } of CONTROL)
        expect(spend.rows).toContainEqual(expect.objectContaining({ provider, currency, cost: amount }));
      expect(spend.total).toBe('8.69406416456');
    });

    it('keeps bad rows aside, lists them, and refuses the file whole with --strict', async () => {
      await writeFile(
        file('bad.json'),
        JSON.stringify({ records: [USAGE.records[0], { ...USAGE.records[1], id: 'bad', gpus: 'many' }] }),
      );
      const strict = await local('import', file('bad.json'), '--strict', '--json');
      expect(strict.code).toBe(1);
      expect(JSON.parse(strict.out)).toMatchObject({ error: { kind: 'invalid' } });
      const { code, out } = await local('import', file('bad.json'), '--source', 'bad');
      expect(code).toBe(0);
      expect(out).toMatch(/1 row\(s\) were rejected; the first:\nline +column +reason/);
      const id = /bursar rejects --import (\d+)/.exec(out)?.[1] ?? '';
      const { rejects } = await json<{ rejects: { line: number; reason: string; raw: string }[] }>(
        'rejects',
        '--import',
        id,
      );
      expect(rejects).toMatchObject([{ line: 2, raw: expect.stringContaining('many') as string }]);
    });

    it('fails for a file that is not there or is in no known format, and imports none of the others', async () => {
      const before = await json<{ imports: unknown[] }>('imports');
      expect(await local('import', FOCUS, file('absent.csv'), file('gone.csv'))).toMatchObject({
        code: 1,
        out: '',
        err: `bursar: nothing was imported\n  ${file('absent.csv')}: there is no such file\n  ${file('gone.csv')}: there is no such file\n`,
      });
      await writeFile(file('poem.txt'), 'so much depends\nupon\n');
      expect(await local('import', file('poem.txt'))).toMatchObject({
        code: 1,
        err: expect.stringContaining('poem.txt is not in a known format') as string,
      });
      expect(await local('import', FOCUS, '--format', 'stone')).toMatchObject({
        code: 2,
        err: expect.stringContaining('there is no format "stone"') as string,
      });
      expect(await json('imports')).toEqual(before);
    });
  });

  describe('from usage to a recommendation', () => {
    it('is allocated by the rules, after a preview', async () => {
      expect(await json('teams', 'set', 'red', '--name', 'Red')).toMatchObject({
        team: { id: 'red', name: 'Red', parent: null, zone: 'UTC', currency: 'USD' },
      });
      await json('teams', 'set', 'blue', '--parent', 'red');
      expect(await local('teams', 'set', 'red', '--parent', 'blue')).toMatchObject({
        code: 1,
        err: 'bursar: team red would be its own ancestor\n',
      });
      expect((await local('rules')).out).toContain('everything is unallocated');
      expect(await json('rules', 'preview', file('rules.json'))).toMatchObject({
        teams: expect.arrayContaining([
          expect.objectContaining({
            team: 'red',
            before: null,
            after: null,
            unpricedBefore: '0.000000',
            unpricedAfter: '16.000000',
          }),
        ]) as unknown,
      });
      expect((await local('rules', 'preview', file('rules.json'))).out).toMatch(
        /^team +now +then +currency +unpriced GPU-hours now +then\n-+.*\n(.*\n)*red +- +- +USD +0\.00 +16\.00\n/,
      );
      expect(await json('rules', 'set', file('rules.json'))).toEqual({ version: 1, rules: RULES });
      expect((await local('rules')).out).toMatch(/1 +namespace=ml-\* +blue/);
      await writeFile(file('worse.json'), JSON.stringify([{ match: { planet: 'x' }, team: '' }, 7]));
      expect(await local('rules', 'set', file('worse.json'))).toMatchObject({
        code: 1,
        err: expect.stringContaining('rules/1 is not an object') as string,
      });
    });

    it('is priced once the prices are there', async () => {
      await json('import', file('usage.json.gz'), '--source', 'cluster');
      const unpriced = await json<{ total: string | null; unpricedQuantity: string }>(
        'costs',
        '--team',
        'red',
        '--from',
        '2026-10',
        '--group-by',
        'sku',
      );
      expect(unpriced.total).toBeNull();
      const { files } = await json<{ files: Record<string, unknown>[] }>('prices', AWS_PRICES, GCP_PRICES);
      expect(files.map(({ format, rejected }) => ({ format, rejected }))).toEqual([
        { format: 'aws-price-history', rejected: 0 },
        { format: 'gcp-prices', rejected: 0 },
      ]);
      expect(Object.keys(files[0] ?? {})).toEqual(['file', 'format', 'rows', 'accepted', 'rejected', 'unchanged']);
      const { rows } = await json<{ rows: { sku: string; cost: string; unpricedQuantity: string }[] }>(
        'costs',
        '--from',
        '2026-10',
        '--to',
        '2026-11',
        '--group-by',
        'team,sku',
      );
      // Two deliveries ("bad" and "cluster") hold the same two hours of a p5.48xlarge at 55.04 USD.
      expect(rows.find(({ sku }) => sku === 'p5.48xlarge')).toMatchObject({
        team: 'red',
        cost: '220.160000000',
        currency: 'USD',
      });
      expect(rows.find(({ sku }) => sku === 'x99.moon')).toMatchObject({
        team: 'blue',
        cost: null,
        unpricedQuantity: expect.stringMatching(/^12(\.0*)?$/) as string,
      });
      expect((await local('costs', '--from', '2026-10', '--group-by', 'team')).out).toMatch(
        /Total \(actual\): .* USD, and 12\.00 GPU-hours without a price/,
      );
    });

    it('is held against a budget', async () => {
      const { budget } = await json<{ budget: Record<string, unknown> }>(
        'budgets',
        'set',
        'red-monthly',
        '--team',
        'red',
        '--amount',
        '1000',
        '--threshold',
        'actual:0.8',
        '--threshold',
        'forecast:1',
      );
      expect(budget).toMatchObject({
        id: 'red-monthly',
        team: 'red',
        period: 'month',
        zone: 'UTC',
        currency: 'USD',
        planned: { default: '1000' },
        periodStart: '2026-10-01T00:00:00.000Z',
        state: { status: 'planned', planned: '1000.000000000' },
        crossings: [
          { kind: 'actual', ratio: '0.8' },
          { kind: 'forecast', ratio: '1' },
        ],
      });
      expect((await json<{ budgets: unknown[] }>('budgets')).budgets).toEqual([budget]);
      expect((await local('budgets')).out).toMatch(
        /red-monthly +red +2026-10 +[\d.]+ of 1000\.00 USD .*[\d.]+ USD \([\d.]+ to [\d.]+\)/,
      );
      expect(await json('budgets', 'history', 'red-monthly')).toMatchObject({
        periods: [{ label: '2026-10', isOver: false, state: { planned: '1000.000000000' } }],
      });
      expect((await local('budgets', 'history', 'red-monthly')).out).toMatch(/2026-10 +running +1000\.00/);
      expect((await local('budgets', 'history', 'nobody')).code).toBe(1);
      expect(
        await local(
          'budgets',
          'set',
          'odd',
          '--team',
          'red',
          '--amount',
          '1',
          '--zone',
          'Mars/Olympus',
          '--currency',
          'dollars',
        ),
      ).toMatchObject({ code: 2 });
      await json(
        'budgets',
        'set',
        'tagged',
        '--team',
        'red',
        '--amount',
        '5',
        '--tag',
        'project=x',
        '--period',
        '2026-10-05/14',
        '--credits',
      );
      expect(await json('budgets', 'remove', 'tagged')).toEqual({ removed: 'tagged' });
      expect((await local('budgets', 'remove', 'tagged')).code).toBe(1);
    });

    it('is recommended about, and decided', async () => {
      const { recommendations } = await json<{ recommendations: Record<string, unknown>[] }>(
        'recommend',
        '--team',
        'red',
      );
      const [first] = recommendations;
      expect(first).toMatchObject({
        team: 'red',
        currency: 'USD',
        status: 'open',
        estimatedMonthlySavings: expect.stringMatching(/^\d+\.\d{2}$/) as string,
      });
      expect(first).toMatchObject({ estimatedMonthlyCost: expect.stringMatching(/^\d+\.\d{2}$/) as string });
      expect(Number(first?.['estimatedMonthlySavings'])).toBeLessThanOrEqual(Number(first?.['estimatedMonthlyCost']));
      expect(first?.['estimatedSavingsPercentage']).toBeCloseTo(
        (100 * Number(first?.['estimatedMonthlySavings'])) / Number(first?.['estimatedMonthlyCost']),
        1,
      );
      expect(Object.keys(first ?? {})).toEqual(
        expect.arrayContaining(['id', 'team', 'action', 'target', 'estimatedMonthlySavings', 'currency', 'evidence']),
      );
      expect(await json('recommend', '--team', 'blue')).toEqual({ recommendations: [] });
      const id = String(first?.['id']);
      const shown = (await local('recommend')).out;
      expect(shown).toContain(id);
      expect(shown.split('\n')[0]).toMatch(/what +saves a month +of +why$/);
      expect(shown).toMatch(
        new RegExp(
          `${String(first?.['estimatedMonthlySavings'])} USD \\([-\\d.]+ to [-\\d.]+\\) +${String(first?.['estimatedMonthlyCost'])} USD `,
        ),
      );
      expect(await json('approve', id)).toMatchObject({
        recommendation: { id, status: 'approved', decidedBy: expect.stringMatching(/^cli:/) as string },
      });
      expect(await local('reject', id)).toMatchObject({
        code: 1,
        err: `bursar: recommendation ${id} is approved, not open\n`,
      });
      expect((await local('approve', 'rec-none')).code).toBe(1);
      // No connection knows the target: the decision stands, and there is no action.
      expect(await json('actions')).toEqual({ actions: [] });
      expect(await json('recommend', '--status', 'approved')).toMatchObject({
        recommendations: [{ id, status: 'approved', actionId: null }],
      });
    });
  });

  it('quotes what has a price, and fails for what has none', async () => {
    expect(
      await json('quote', '--provider', 'aws', '--sku', 'p5.48xlarge', '--gpus', '8', '--hours', '10'),
    ).toMatchObject({ cost: '550.40', currency: 'USD', sku: 'p5.48xlarge' });
    expect(
      (await local('quote', '--provider', 'aws', '--sku', 'p5.48xlarge', '--gpus', '8', '--hours', '10')).out,
    ).toContain('550.40 USD for 8 GPU(s) over 10 h: AWS p5.48xlarge');
    const none = await local(
      'quote',
      '--provider',
      'aws',
      '--sku',
      'p5.49xlarge',
      '--gpus',
      '8',
      '--hours',
      '10',
      '--json',
    );
    expect(none.code).toBe(1);
    expect(JSON.parse(none.out)).toMatchObject({
      unpriced: 'unknown-sku',
      close: expect.arrayContaining(['p5.48xlarge']) as string[],
    });
    expect(
      (await local('quote', '--provider', 'aws', '--sku', 'p5.49xlarge', '--gpus', '8', '--hours', '10')).out,
    ).toMatch(/^No quote: .*\nThese come close: p5\.48xlarge/);
  });

  it('makes, lists and revokes keys, and shows a key once', async () => {
    const { key } = await json<{ key: { id: string; text: string } }>(
      'keys',
      'create',
      'grafana',
      '--role',
      'viewer',
      '--team',
      'red',
    );
    const { out, err } = await local('keys', 'create', 'root', '--role', 'admin');
    expect(out).toMatch(/^bursar_\w{12}_[\w-]{43}\n$/);
    expect(err).toContain('Keep it now');
    const listed = await local('keys', '--json');
    expect(listed.out).toContain(key.id);
    expect(listed.out).not.toContain(key.text);
    expect(await json('keys', 'revoke', key.id)).toMatchObject({
      key: { id: key.id, revokedAt: expect.any(String) as string },
    });
    expect((await local('keys', 'revoke', '000000000000')).code).toBe(1);
  });

  it("gives keys scopes and an end, rotates them, and keeps roles of one's own", async () => {
    type FailureText = { key: { id: string; text: string; scopes: string[]; role: string | null } };
    const made = await json<FailureText>(
      'keys',
      'create',
      'meter',
      '--scope',
      'usage:write',
      '--expires',
      '90d',
      '--owner',
      'ops',
    );
    expect(made.key).toMatchObject({
      role: null,
      scopes: ['usage:write'],
      owner: 'ops',
      expiresAt: expect.any(String),
    });
    const rotated = await json<FailureText>('keys', 'rotate', made.key.id, '--overlap', '2h');
    expect(rotated.key).toMatchObject({ id: made.key.id, previousUntil: expect.any(String) });
    expect(rotated.key.text).not.toBe(made.key.text);
    for (const wrong of [
      ['keys', 'create', 'x', '--role', 'viewer', '--scope', 'read'],
      ['keys', 'create', 'x', '--scope', 'everything'],
      ['keys', 'rotate', made.key.id, '--overlap', 'long'],
    ])
      expect((await local(...wrong)).code).toBe(2);
    expect(await json('roles', 'set', 'custom:buyer', '--scope', 'approve', '--scope', 'read')).toMatchObject({
      role: { name: 'custom:buyer', scopes: ['read', 'approve'] },
    });
    expect((await local('roles')).out).toContain('custom:buyer');
    expect((await local('roles', 'set', 'custom:boss', '--scope', 'admin')).code).toBe(1);
    expect(await json('roles', 'remove', 'custom:buyer')).toMatchObject({ role: { name: 'custom:buyer' } });
  });

  it('audits every write under the name of the user, and no secret', async () => {
    const { audit } = await json<{ audit: { actor: string; verb: string }[] }>('audit');
    expect(new Set(audit.map(({ verb }) => verb))).toEqual(
      new Set([
        'key.rotate',
        'role.save',
        'role.remove',
        'usage.import',
        'price.import',
        'team.save',
        'rules.save',
        'budget.save',
        'budget.remove',
        'recommendation.approve',
        'key.create',
        'key.revoke',
      ]),
    );
    expect(audit.every(({ actor }) => /^cli:./.test(actor))).toBe(true);
    expect(JSON.stringify(audit)).not.toMatch(/bursar_\w{12}_/);
  });

  it('removes a team only when nothing depends on it', async () => {
    expect(await local('teams', 'remove', 'red')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/budget red-monthly depends on it\n {2}team blue depends on it/) as string,
    });
    expect(await json('teams', 'remove', 'blue')).toEqual({ removed: 'blue' });
    expect((await json<{ teams: { id: string }[] }>('teams')).teams.map(({ id }) => id)).toEqual(['red']);
    expect((await local('teams', 'remove', 'blue')).code).toBe(1);
  });

  it('is well, says doctor, until work is parked', async () => {
    const { findings } = JSON.parse((await local('doctor', '--json')).out) as {
      findings: { check: string; status: string }[];
    };
    const status = Object.fromEntries(findings.map((finding) => [finding.check, finding.status]));
    // The test's clock stands still in October: the database's does not.
    expect(status).toEqual({
      configuration: 'ok',
      disk: 'ok',
      database: 'ok',
      schema: 'ok',
      clocks: 'wrong',
      queue: 'ok',
      line: 'ok',
      'parked work': 'ok',
      prices: 'ok',
      'unpriced usage': 'attend',
      'double counting': 'ok',
      'bills twice': 'ok',
      'unknown accounts': 'ok',
      'overlapping usage': 'ok',
      evidence: 'ok',
    });
    await opened.stores.db.query(
      `update work set attempts = 6, last_error = 'the moon fell', parked_at = now() where stage = 'cost.price' and key = 'red/2026-10-05'`,
    );
    const { code, out } = await local('doctor');
    expect(code).toBe(1);
    expect(out).toMatch(/parked work +wrong +cost\.price red\/2026-10-05, after 6 attempts: the moon fell/);
    await opened.stores.db.query(`update work set parked_at = null`);
  });

  it('migrates to nothing new, and lists the policies', async () => {
    expect(await json('migrate')).toEqual({ migrations: [] });
    expect((await json<{ policies: { name: string }[] }>('policies')).policies.map(({ name }) => name)).toEqual(
      opened.policies.map(({ name }) => name),
    );
  });

  describe('through the API', () => {
    let app: Awaited<ReturnType<typeof createWebApp>>;
    let remote: NonNullable<CliContext['remote']>;
    /** Stands in for the worker that would run beside the API. */
    let stopDraining = (): Promise<void> => Promise.resolve();
    beforeAll(async () => {
      const { stores, importer } = opened;
      app = await createWebApp(WebModule.register({ stores, importer, clock }), { logger: false });
      await app.listen(0, '127.0.0.1');
      const made = JSON.parse((await local('keys', 'create', 'api', '--role', 'admin', '--json')).out) as {
        key: { text: string };
      };
      remote = { url: await app.getUrl(), apiKey: made.key.text };
      stopDraining = keepDraining(opened.runner);
    });
    afterAll(async () => {
      await stopDraining();
      await app.close();
    });

    const never = async (): Promise<never> => {
      throw new Error('the database is not asked');
    };
    const away = (...argv: string[]): Promise<Ran> => bursar(argv, { connect: never, remote });
    const answer = async <T>(...argv: string[]): Promise<T> => {
      const { code, out, err } = await away(...argv, '--json');
      expect({ argv, code, err: code === 0 ? '' : err }).toEqual({ argv, code: 0, err: '' });
      return JSON.parse(out) as T;
    };

    it('answers as the database does', async () => {
      for (const argv of [
        ['costs', '--group-by', 'team,provider'],
        ['costs', '--group-by', 'team', '--team', 'red', '--team', 'blue'],
        ['costs', '--team', 'migrate'],
        ['budgets'],
        ['teams'],
        ['rules'],
        ['recommend'],
        ['actions'],
        ['imports'],
        ['rejects'],
        ['keys'],
        ['roles'],
        ['quote', '--provider', 'aws', '--sku', 'p5.48xlarge', '--gpus', '8', '--hours', '10'],
        ['rules', 'preview', file('rules.json')],
      ]) {
        const [there, here] = [
          await answer<Record<string, unknown>>(...argv),
          await json<Record<string, unknown>>(...argv),
        ];
        if (argv[0] === 'keys')
          expect((there['keys'] as { id: string }[]).map(({ id }) => id)).toEqual(
            (here['keys'] as { id: string }[]).map(({ id }) => id),
          );
        else expect({ argv, ...there }).toEqual({ argv, ...here });
      }
    });

    it('imports files, and writes under the name of the key', async () => {
      const other = ['import', FOCUS, file('usage.json.gz'), '--source', 'away'];
      // The same bill from a second source would count twice: it is asked for by name.
      expect(await away(...other)).toMatchObject({
        code: 1,
        err: expect.stringContaining('came from the source "sample"') as string,
      });
      expect(await answer(...other, '--replace')).toMatchObject({
        files: [
          { format: 'focus', accepted: 545, billed: CONTROL },
          { format: 'bursar', accepted: 3 },
        ],
      });
      expect(await answer('prices', AWS_PRICES)).toMatchObject({
        files: [{ format: 'aws-price-history', accepted: 0, rejected: 0 }],
      });
      expect(await answer('teams', 'set', 'green', '--parent', 'red')).toMatchObject({
        team: { id: 'green', parent: 'red' },
      });
      expect(await away('budgets', 'set', 'green/1', '--team', 'green', '--amount', '5')).toMatchObject({
        code: 1,
        err: expect.stringContaining('is not an id') as string,
      });
      expect(await answer('budgets', 'set', 'green', '--team', 'green', '--amount', '5')).toMatchObject({
        budget: { id: 'green', state: { planned: '5.000000000' } },
      });
      expect(await answer('budgets', 'history', 'green')).toMatchObject({
        periods: [{ label: '2026-10', state: { planned: '5.000000000' } }],
      });
      expect(await answer('costs', '--zone', 'Europe/Berlin', '--basis', 'list')).toMatchObject({
        basis: 'list',
        lacking: { unconverted: [] },
      });
      expect(await answer('budgets', 'remove', 'green')).toEqual({ removed: 'green' });
      expect(await answer('teams', 'remove', 'green')).toEqual({ removed: 'green' });
      const { audit } = await answer<{ audit: { actor: string; verb: string }[] }>('audit', '--limit', '3');
      expect(audit.map(({ verb }) => verb)).toEqual(['team.remove', 'budget.remove', 'budget.save']);
      expect(audit.every(({ actor }) => actor.startsWith('key:'))).toBe(true);
    });

    it('fails as the API says', async () => {
      expect(await away('approve', 'rec-none')).toMatchObject({
        code: 1,
        out: '',
        err: 'bursar: recommendation rec-none does not exist\n',
      });
      const unpriced = ['quote', '--provider', 'aws', '--sku', 'p5.49xlarge', '--gpus', '8', '--hours', '10'];
      for (const argv of [unpriced, [...unpriced, '--json'], ['import', FOCUS, '--format', 'stone']])
        expect(await away(...argv)).toEqual(await local(...argv));
      expect((await away(...unpriced)).out).toContain('These come close: p5.48xlarge');
      expect((await away('import', FOCUS, '--format', 'stone')).code).toBe(2);
      await writeFile(file('bad.json'), JSON.stringify({ records: [{ id: 'x' }] }));
      expect((await away('import', file('bad.json'), '--strict')).code).toBe(1);
      const wrongKey = await bursar(['costs'], { connect: never, remote: { ...remote, apiKey: 'bursar_no' } });
      expect(wrongKey).toMatchObject({ code: 1, err: expect.stringContaining('BURSAR_API_KEY') as string });
      expect(wrongKey.err).not.toContain('bursar_no');
    });
  });
});
