/** The command line without a database: flags, exit codes, what goes to which stream. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run, type CliContext } from '../../src/cli/program.js';
import { conflict, invalid, unavailable } from '../../src/core/errors.js';

async function bursar(
  argv: readonly string[],
  over: Partial<CliContext> = {},
): Promise<{ code: number; out: string; err: string; json: unknown }> {
  let [out, err] = ['', ''];
  const code = await run(argv, {
    environment: {},
    clock: { now: () => 0 },
    remote: null,
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
    connect: async () => {
      throw unavailable('the database cannot be reached: nobody listens');
    },
    serve: async () => undefined,
    ...over,
  });
  return {
    code,
    out,
    err,
    get json() {
      return JSON.parse(out) as unknown;
    },
  };
}

const VERBS = [
  'serve',
  'migrate',
  'doctor',
  'import',
  'prices',
  'imports',
  'rejects',
  'costs',
  'quote',
  'budgets',
  'recommend',
  'actions',
  'approve',
  'reject',
  'rollback',
  'savings',
  'alerts',
  'report',
  'backtest',
  'teams',
  'rules',
  'fx',
  'peak',
  'report-schedule',
  'keys',
  'policies',
  'stop-all',
  'limits',
  'slack-users',
  'audit',
];

describe('wrong use', () => {
  it.each([
    [[]],
    [['cots']],
    [['import']],
    [['serve', '--role', 'cook']],
    [['costs', '--basis', 'list-ish']],
    [['costs', '--from', '2026-10-05', '--to', '2026-10-01']],
    [['costs', '--group-by', 'colour']],
    [['costs', '--no-such-flag']],
    [['approve']],
    [['budgets', 'set', 'b', '--amount', '5']],
    [['budgets', 'set', 'b', '--team', 't', '--threshold', 'never:1']],
    [['budgets', 'set', 'b', '--team', 't', '--period', 'decade']],
    [['quote', '--provider', 'aws', '--sku', 'x', '--gpus', '0', '--hours', '1']],
    [['quote', '--provider', 'aws']],
    [['quote', '--provider', 'aws', '--sku', 'x', '--gpus', '1', '--hours', '1', '--term', 'lease']],
    [['backtest', 'spot']],
    [['backtest', 'spot-regions', '--traces', 'a.jsonl']],
    [['backtest', 'spot-serving', '--traces', 'a.jsonl']],
    [['backtest', 'policy', '--policy', 'p.yaml']],
    [['backtest', 'commitment', '--demand', 'd.csv', '--term-hours', '1.5']],
    [['rejects', '--limit', '0']],
    [['teams', 'set', 'x', '--zone', 'Mars/Olympus']],
    [['keys', 'create', 'x', '--role', 'king']],
  ])('%j exits 2, says so on standard error, and prints no answer', async (argv) => {
    const { code, out, err } = await bursar(argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).not.toBe('');
  });

  it('suggests the nearest verb', async () => {
    expect((await bursar(['cots'])).err).toContain('Did you mean costs?');
    expect((await bursar(['recomend'])).err).toContain('Did you mean recommend?');
  });

  it('says what a value lacks that the verb checks itself', async () => {
    for (const value of ['sku', '=x', 'sku=']) {
      const { code, err } = await bursar(['costs', '--filter', value]);
      expect([code, err]).toEqual([2, expect.stringContaining('It is not of the form')]);
    }
  });

  it('names every problem of a question', async () => {
    const { err } = await bursar(['costs', '--from', 'soon', '--basis', 'guess', '--currency', 'dollars']);
    for (const name of ['from', 'basis', 'currency']) expect(err).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  it('is one JSON document with --json', async () => {
    expect((await bursar(['import', '--json'])).json).toMatchObject({
      error: { kind: 'usage', message: expect.stringContaining("'file'") as string },
    });
    expect((await bursar(['--json', 'costs', '--basis', 'guess'])).json).toMatchObject({
      error: { kind: 'usage', problems: [{ path: 'basis' }] },
    });
    expect((await bursar(['--json'])).json).toMatchObject({ error: { message: 'no verb is given' } });
  });
});

describe('help and version', () => {
  it.each(VERBS)('%s explains itself with an example', async (verb) => {
    const { code, out, err } = await bursar([verb, '--help']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(new RegExp(`Examples?:\\n  .*bursar ${verb}`));
    expect(out).toContain('--json');
  });

  it('lists every verb', async () => {
    const { code, out } = await bursar(['--help']);
    expect(code).toBe(0);
    for (const verb of VERBS) expect(out).toMatch(new RegExp(`^  ${verb}\\b`, 'm'));
  });

  it('prints the version of the package', async () => {
    const { code, out } = await bursar(['--version']);
    expect({ code, out }).toEqual({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string });
  });
});

describe('a failure', () => {
  it('of the database exits 1 with its sentence', async () => {
    expect(await bursar(['costs'])).toMatchObject({
      code: 1,
      out: '',
      err: 'bursar: the database cannot be reached: nobody listens\n',
    });
    expect((await bursar(['costs', '--json'])).json).toEqual({
      error: { kind: 'unavailable', message: 'the database cannot be reached: nobody listens', problems: [] },
    });
  });

  it('of the configuration exits 2 with each problem on its own line', async () => {
    const connect = async (): Promise<never> => {
      throw invalid('the configuration is wrong: PORT is not a number; DATABASE_URL is not a postgres:// URL', [
        { path: 'PORT', message: 'is not a number' },
        { path: 'DATABASE_URL', message: 'is not a postgres:// URL' },
      ]);
    };
    expect(await bursar(['budgets'], { connect })).toMatchObject({
      code: 2,
      err: 'bursar: the configuration is wrong\n  PORT is not a number\n  DATABASE_URL is not a postgres:// URL\n',
    });
    const { code, json } = await bursar(['doctor', '--json'], { connect });
    expect(code).toBe(1);
    const findings = (json as { findings: { check: string; status: string; detail: string }[] }).findings.map(
      ({ check, status, detail }) => ({ check, status, detail }),
    );
    expect(findings).toContainEqual({ check: 'configuration', status: 'wrong', detail: 'PORT is not a number' });
    expect(findings).toContainEqual({
      check: 'configuration',
      status: 'wrong',
      detail: 'DATABASE_URL is not a postgres:// URL',
    });
    expect(findings.map(({ check }) => check)).toContain('disk');
  });

  it('of serving exits 1', async () => {
    const serve = async (): Promise<never> => {
      throw conflict('Bursar is already running on .bursar');
    };
    expect(await bursar(['serve'], { serve })).toMatchObject({
      code: 1,
      err: 'bursar: Bursar is already running on .bursar\n',
    });
  });

  it('that is a bug says so', async () => {
    const connect = async (): Promise<never> => {
      throw new Error('broken invariant: two is three');
    };
    const { code, err } = await bursar(['teams'], { connect });
    expect(code).toBe(1);
    expect(err).toContain('this is a bug in Bursar: Error: broken invariant: two is three');
  });
});

describe('what a verb needs of the database', () => {
  it.each([
    [['costs', '--team', 'migrate'], { migrate: true, parts: true }],
    [['teams', 'remove', 'doctor'], { migrate: true, parts: true }],
    [['migrate'], { migrate: false, parts: true }],
    [['doctor'], { migrate: false, parts: false }],
  ] as const)('%j says so itself, whatever words it is given', async (argv, need) => {
    const needs: unknown[] = [];
    const connect = async (given: unknown): Promise<never> => {
      needs.push(given);
      throw unavailable('away');
    };
    await bursar(argv, { connect });
    expect(needs).toEqual([need]);
  });
});

describe('verbs that need no database', () => {
  it('serve hands its role on', async () => {
    const roles: string[] = [];
    expect((await bursar(['serve', '--role', 'worker'], { serve: async (role) => void roles.push(role) })).code).toBe(
      0,
    );
    expect(roles).toEqual(['worker']);
  });

  it('doctor finds a database that is away, with a remedy', async () => {
    const { code, json } = await bursar(['doctor', '--json'], {
      environment: { DATABASE_URL: 'postgres://u:secret@h/d' },
    });
    expect(code).toBe(1);
    expect(json).toMatchObject({
      ok: false,
      findings: [
        { check: 'configuration', status: 'ok' },
        { check: 'disk' },
        { check: 'database', status: 'wrong', remedy: expect.stringContaining('DATABASE_URL') as string },
      ],
    });
    expect(JSON.stringify(json)).not.toContain('secret');
  });
});

describe('backtest', () => {
  let folder = '';
  const file = (name: string): string => path.join(folder, name);
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-cli-'));
    const rows = Array.from({ length: 48 }, (_, hour) => `a,${hour},${hour % 4 === 0 ? 2 : 1}`);
    await writeFile(file('demand.csv'), `tenant,hour,gpus\n${rows.join('\n')}\n`);
    const trace = (from: number): string =>
      JSON.stringify({
        available: Array.from({ length: 60 }, (_, at) => ((at + from) % 5 === 0 ? '0' : '1')).join(''),
        gap_seconds: 600,
      });
    await writeFile(file('a.jsonl'), `${trace(0)}\n${trace(1)}\n`);
    await writeFile(file('b.jsonl'), `${trace(2)}\n`);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('prints the report that the contract names', async () => {
    const { code, json } = await bursar([
      'backtest',
      'commitment',
      '--demand',
      file('demand.csv'),
      '--term-hours',
      '24',
      '--price-ratio',
      '0.6',
      '--json',
    ]);
    expect(code).toBe(0);
    expect(json).toMatchObject({ problem: 'commitment', settings: { termHours: 24, priceRatio: 0.6 } });
    const { cells, mean } = json as {
      cells: { name: string; count: number; policies: { name: string }[] }[];
      mean: { name: string; meanShare: number | null }[];
    };
    expect(cells.map((cell) => cell.name)).toContain('all');
    expect(mean.map((policy) => policy.name)).toEqual(expect.arrayContaining(['bursar', 'clairvoyant']));
  });

  it('prints a table per cell and the pooled mean', async () => {
    const { out } = await bursar(['backtest', 'commitment', '--demand', file('demand.csv'), '--term-hours', '24']);
    expect(out).toMatch(/^all \(1 cases\)\npolicy +meanCost +meanShare/m);
    expect(out).toMatch(/^All cells together\npolicy/m);
    expect(out).toMatch(/^clairvoyant .*100\.0%/m);
  });

  it('takes several traces, trainings and deadlines', async () => {
    const { code, json } = await bursar([
      'backtest',
      'spot',
      '--traces',
      file('a.jsonl'),
      file('b.jsonl'),
      '--train',
      file('a.jsonl'),
      '--job-hours',
      '4',
      '--deadline-hours',
      '6',
      '8',
      '--restart-hours',
      '0.2',
      '--on-demand-price',
      '3.06',
      '--spot-price',
      '0.9731',
      '--json',
    ]);
    expect(code).toBe(0);
    expect((json as { cells: unknown[] }).cells).toHaveLength(4);
    const { json: other } = await bursar([
      'backtest',
      'spot',
      '--traces',
      file('a.jsonl'),
      '--job-hours',
      '4',
      '--deadline-hours',
      '6,8',
      '--json',
    ]);
    expect((other as { cells: unknown[] }).cells).toHaveLength(2);
  });

  it('runs scaling and idle on their files', async () => {
    const start = Date.UTC(2026, 9, 5);
    const arrivals = Array.from({ length: 3000 }, (_, n) => start + n * 4000 + (n % 7) * 300);
    await writeFile(file('arrivals.csv'), `at\n${arrivals.join('\n')}\n`);
    const scaling = await bursar([
      'backtest',
      'scaling',
      '--arrivals',
      file('arrivals.csv'),
      '--boot-minutes',
      '5',
      '--peak-replicas',
      '20',
      '--json',
    ]);
    expect(scaling).toMatchObject({ code: 0, err: '' });
    expect(scaling.json).toMatchObject({ problem: 'scaling', settings: { bootMinutes: 5, peakReplicas: 20 } });
    const samples = Array.from(
      { length: 240 },
      (_, minute) => `vm-1,${new Date(start + minute * 60_000).toISOString()},${minute % 80 < 40 ? 90 : 0}`,
    );
    await writeFile(file('samples.csv'), `resource,timestamp,gpu_util_percent\n${samples.join('\n')}\n`);
    const idle = await bursar([
      'backtest',
      'idle',
      '--samples',
      file('samples.csv'),
      '--restart-minutes',
      '10',
      '--json',
    ]);
    expect(idle).toMatchObject({ code: 0, err: '' });
    expect(idle.json).toMatchObject({ problem: 'idle' });
  });

  it('tells wrong settings from wrong data', async () => {
    const settings = await bursar([
      'backtest',
      'commitment',
      '--demand',
      file('demand.csv'),
      '--term-hours',
      '24',
      '--alpha',
      '0.9',
    ]);
    expect(settings).toMatchObject({
      code: 2,
      err: expect.stringContaining('--alpha is a part of priceRatio') as string,
    });
    expect(await bursar(['backtest', 'commitment', '--demand', file('absent.csv')])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('absent.csv') as string,
    });
    expect((await bursar(['backtest', 'commitment', '--demand', file('a.jsonl')])).code).toBe(1);
  });
});
