/** What the command line is on a terminal, in a pipe and as CSV; how it is watched, completed and signed in. */
import type { Command } from 'commander';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type {
  FleetCoverage as ApiFleetCoverage,
  Session as ApiSession,
  TelemetrySource as ApiTelemetrySource,
} from '../../clients/typescript/bursar.js';
import { LISTS, LISTS_SHOWN_ONCE, verbOf } from '../../src/cli/listing.js';
import { programOf, run, type CliContext } from '../../src/cli/program.js';
import { describeWith } from '../support/programs.js';
import { screenOf, type Screen } from '../../src/cli/screen.js';
import { Servers, withSignIn } from '../../src/cli/servers.js';
import { Session } from '../../src/cli/session.js';
import { drawnOn, estimate, fitted, money, shortAmount, table, widthOf, type Cell } from '../../src/cli/table.js';
import { completionsOf } from '../../src/cli/verbs/completion.js';
import { nested } from '../../src/cli/verbs/fleet.js';
import { countedOnce } from '../../src/core/fleet/membership.js';
import { unavailable } from '../../src/core/errors.js';
import { PAGES, SETTINGS } from '../../src/core/pages.js';
import type { FleetTargetJson } from '../../src/store/fleet/fleet-json.js';
import { placeOf, routeOf } from '../../src/web/dashboard/routes.js';

const terminal = (columns: number, over: Partial<Screen> = {}): Screen => ({
  columns,
  isWide: false,
  hasColour: false,
  hasBars: false,
  csv: null,
  ...over,
});

const TITLES = ['id', 'team', { title: 'unpriced GPU-hours', rest: true }, 'spent', 'why'] as const;
const ROWS: readonly (readonly Cell[])[] = [
  ['act-0123456789abcdef', '研究团队', '12.50', '1,200.00', 'the machine was idle for three days and nobody came back'],
  [
    'act-fedcba9876543210',
    'red',
    '0',
    '7.00',
    '这台机器已经空闲了三天而且没有任何人回来使用它所以可以安全地把它停下来',
  ],
];

describe('a table on a terminal', () => {
  it.each([40, 60, 80, 120])(
    'of %i columns has no wider line, and loses nothing of the columns that it shows',
    (columns) => {
      const text = drawnOn(terminal(columns), () => table(TITLES, ROWS));
      for (const line of text.split('\n')) expect(widthOf(line), line).toBeLessThanOrEqual(columns);
      const bare = text.replace(/\s+/g, '');
      for (const row of ROWS) for (const at of [0, 1, 3]) expect(bare).toContain(String(row[at]).replace(/ /g, ''));
    },
  );

  it('leaves a column out that is not needed, and says so; --wide shows all', () => {
    const narrow = drawnOn(terminal(62), () => table(TITLES, ROWS));
    expect(narrow).not.toContain('unpriced');
    expect(narrow).toContain('(1 more column: --wide)');
    expect(drawnOn(terminal(120), () => table(TITLES, ROWS))).toMatch(/unpriced/);
    const wide = drawnOn({ ...terminal(0), columns: null, isWide: true }, () => table(TITLES, ROWS));
    expect(wide).toContain('unpriced GPU-hours');
    expect(wide.split('\n')).toHaveLength(5);
  });

  const BUDGETS = [
    'budget',
    { title: 'team', below: true },
    { title: 'saves a month', csv: ['saves', 'from', 'to', 'currency'] },
    { title: 'crossed', below: true },
  ] as const;
  const saving = estimate({ mean: '422.871428571', low: '380.1', high: '460' }, 'USD');
  const budgetRows: readonly (readonly Cell[])[] = [['research-monthly', 'research', saving, 'actual:0.8 forecast:1']];

  it('shows an interval with its amount and currency, and what has no room below its row', () => {
    const roomy = drawnOn(terminal(60), () => table(BUDGETS, budgetRows));
    expect(roomy).toContain(
      'research-monthly  research  422.87 USD (380.10 to 460.00)\n    crossed: actual:0.8 forecast:1\n',
    );
    const narrow = drawnOn(terminal(40), () => table(BUDGETS, budgetRows));
    expect(narrow).toContain('          422.87 USD\n');
    expect(narrow).toContain('(380.10 to 460.00)\n    team: research; crossed: actual:0.8\n    forecast:1\n');
    expect(narrow).not.toContain('--wide');
    expect([money('422.87', 'JPY'), money('1.5', 'USD')]).toEqual(['423\u00a0JPY', '1.50\u00a0USD']);
    const csv: string[] = [];
    drawnOn(terminal(40, { csv }), () => table(BUDGETS, budgetRows));
    expect(csv.join('')).toBe(
      'budget,team,saves,from,to,currency,crossed\nresearch-monthly,research,422.871428571,380.1,460,USD,actual:0.8 forecast:1\n',
    );
  });

  it('breaks no word that fits its column, and an id after a slash', () => {
    const what = 'Purchase reserved instances Fake Cloud/fake-east/fake.a100x8/reserved-1y/none';
    const text = drawnOn(terminal(31), () => table(['id', 'what'], [['rec-1', what]]));
    const lines = text.split('\n').slice(2, -1);
    expect(lines.map((line) => line.slice(7))).toEqual([
      'Purchase reserved',
      'instances Fake Cloud/',
      'fake-east/fake.a100x8/',
      'reserved-1y/none',
    ]);
  });

  it('begins its bars in one column, and ends the numbers beside them in one', () => {
    const rows = [[{ text: '301577.76', bar: 0.3 }], [{ text: '9.12', bar: 0 }]];
    const [, , first, second] = drawnOn(terminal(80, { hasBars: true }), () => table(['cost'], rows)).split('\n');
    expect([first, second]).toEqual(['███░░░░░░░ 301577.76', '░░░░░░░░░░      9.12']);
  });

  it('has sentences beside it that fit, with whole words', () => {
    const url = `https://bursar.example/${'a'.repeat(40)}`;
    expect(drawnOn(terminal(40), () => fitted(`  Assumed: ${'word '.repeat(9)}and ${url}`))).toBe(
      `  Assumed: word word word word word word\n  word word word and\n  ${url}`,
    );
    expect(fitted('x '.repeat(200))).toBe('x '.repeat(200));
  });

  it('is a list of rows where it can be no table', () => {
    const numbers = Array.from({ length: 12 }, (_, at) => `column${at}`);
    const text = drawnOn(terminal(40), () => table(numbers, [numbers.map((_, at) => `${at}000.00`)]));
    expect(text.split('\n')[0]).toBe('column0   0000.00');
    expect(text.split('\n')).toHaveLength(13);
  });

  it('counts what people see as one character once, wide ones twice', () => {
    expect([
      widthOf('ab'),
      widthOf('研究'),
      widthOf('한글'),
      widthOf('e\u0301'),
      widthOf('🚀'),
      widthOf('└ ✔'),
    ]).toEqual([2, 4, 4, 1, 2, 3]);
  });

  it('has bars and colours only where the screen has them', () => {
    const draw = (): string => table(['used', 'state'], [[{ text: '95.0%', bar: 0.95, warnsFrom: 0.8 }, 'failed']]);
    expect(drawnOn(terminal(80), draw)).toBe(' used  state\n-----  ------\n95.0%  failed\n');
    const drawn = drawnOn(terminal(80, { hasBars: true, hasColour: true }), draw);
    expect(stripVTControlCharacters(drawn)).toContain('██████████ 95.0%  failed');
    expect(drawn).toContain('\u001b[33m');
    expect(drawn).toContain('\u001b[31mfailed');
    const unknown = drawnOn(terminal(80, { hasBars: true }), () => table(['used'], [[{ text: null, bar: null }]]));
    expect(unknown).toBe('used\n----\n-\n');
  });
});

describe('the screen', () => {
  const tty = { write: () => true, isTTY: true, columns: 100 };
  const flags = { wide: false, csv: false };
  it.each([
    [{}, true, true],
    [{ NO_COLOR: '1' }, false, true],
    [{ NO_COLOR: '' }, true, true],
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, true, true],
    [{ FORCE_COLOR: '0' }, false, true],
    [{ TERM: 'dumb' }, false, false],
  ])('of a terminal with %j', (environment, hasColour, hasBars) => {
    expect(screenOf(tty, environment, flags)).toMatchObject({ columns: 100, hasColour, hasBars });
  });

  it('of a pipe has no width, no bars, and colours only by force', () => {
    const pipe = { write: () => true };
    expect(screenOf(pipe, { COLUMNS: '40' }, flags)).toMatchObject({ columns: null, hasColour: false, hasBars: false });
    expect(screenOf(pipe, { FORCE_COLOR: '1' }, flags)).toMatchObject({ hasColour: true, hasBars: false });
  });
});

const SAVED = { currency: 'USD', amount: '3342.742213455' };
const SAVINGS = {
  items: [
    {
      action: 'act-1',
      team: 'red',
      effectKind: 'stop',
      target: 'instance/i-1',
      state: 'measured',
      saved: SAVED.amount,
      currency: 'USD',
      predicted: null,
      estimatedMonthlySavings: null,
      estimatedMonthlySavingsLow: null,
      estimatedMonthlySavingsHigh: null,
      from: '2026-11-01T00:00:00Z',
      reason: null,
    },
  ],
  totals: {
    verified: { saved: [] },
    measured: { saved: [SAVED] },
    estimated: { count: 0, monthly: [] },
    unverifiable: { count: 0, reasons: [] },
  },
  nextCursor: null,
};

const placeAt = (cost: string, lost: readonly object[]): object => ({
  parts: [
    { provider: 'Fake Cloud', sku: 'fake.l40sx4', units: 2, region: 'fake-east', term: 'on-demand', upfront: null },
  ],
  gpus: 8,
  cost,
  lost,
});
const QUOTE = {
  provider: 'AWS',
  sku: 'p4d.24xlarge',
  region: 'us-east-1',
  term: 'on-demand',
  gpus: 8,
  hours: '24',
  billedHours: '24.00',
  cost: '526.983408',
  currency: 'USD',
  unitPrice: '2.74470525',
  source: 'a list',
  effectiveFrom: '2025-06-23T13:18:30Z',
  parts: { gpu: '526.983408', storage: null, network: null },
  storageSku: null,
  interval: { low: '526.983408', high: '526.983408', because: ['no width'], leavesOut: [] },
  learned: null,
  assumptions: [],
  alternatives: [],
  budgets: null,
  placements: {
    currency: 'USD',
    best: placeAt('276.48', []),
    runnersUp: [placeAt('304.128', [{ message: 'costs 27.648 USD more, 1.10 times as much' }])],
    more: 0,
    refused: [],
    assumptions: [],
  },
};

/** A server that knows one key. */
let server: Server;
let url = '';
let home = '';
const teams: { id: string; name: string }[] = [{ id: 'red', name: '=Red, "one"' }];
/** As the API's document has them. */
let fleets: ApiFleetCoverage[] = [];
let sources: ApiTelemetrySource[] = [];
beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'bursar-terminal-'));
  server = createServer((request, response) => {
    const known = request.headers.authorization === 'Bearer bursar_good';
    const signedIn = { kind: 'key', id: 'k', name: 'ada', role: 'viewer', scopes: ['read'], teams: null } as const;
    const session: ApiSession = { signedIn: known ? signedIn : null, oidc: false };
    const ready = { status: 'not-ready', database: true, migrated: false, failing: [], queueAgeSeconds: null };
    const [asked = ''] = (request.url ?? '').split('?');
    const [status, body] =
      asked === '/session'
        ? [200, session]
        : asked === '/readyz'
          ? [503, ready]
          : asked === '/healthz'
            ? [200, { status: 'live' }]
            : asked === '/metrics'
              ? [200, 'bursar_work_parked{stage="cost.price"} 3\n']
              : asked === '/v1/fleet/coverage'
                ? [200, { items: fleets }]
                : asked === '/v1/savings'
                  ? [200, SAVINGS]
                  : asked === '/v1/quotes'
                    ? [200, QUOTE]
                    : asked === '/v1/samples/sources'
                      ? [200, { items: sources }]
                      : asked.endsWith('/nobody')
                        ? [404, { detail: 'there is no nobody' }]
                        : [200, { items: teams, nextCursor: null, rules: [], deliveries: [], version: 1 }];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  rmSync(home, { recursive: true, force: true });
});

async function bursar(argv: readonly string[], over: Partial<CliContext> = {}) {
  const [out, err]: [string[], string[]] = [[], []];
  const code = await run(argv, {
    environment: { XDG_CONFIG_HOME: home },
    clock: { now: () => 0 },
    remote: { url, apiKey: 'bursar_good' },
    stdout: { write: (text) => out.push(text) },
    stderr: { write: (text) => err.push(text) },
    connect: async () => {
      throw unavailable('the database of this machine is not asked');
    },
    serve: async () => undefined,
    ...over,
  });
  return { code, out: out.join(''), err: err.join('') };
}

describe('a list', () => {
  it('is CSV with --csv, in every digit, safe for a spreadsheet', async () => {
    expect(await bursar(['teams', '--csv'])).toEqual({
      code: 0,
      out: 'team,name,parent,zone,currency,assigned by\nred,"\'=Red, ""one""",,,,\n',
      err: '',
    });
    expect(drawnOn({ ...terminal(80), csv: [] }, () => shortAmount('1.23456'))).toBe('1.23456');
    // Sentences beside it are for people.
    expect(drawnOn({ ...terminal(80), csv: [], isForPeople: true }, () => money('3342.742213455', 'USD'))).toBe(
      '3342.74\u00a0USD',
    );
  });

  it('has sentences with few digits beside its CSV', async () => {
    const { code, out, err } = await bursar(['savings', '--csv']);
    expect({ code, lines: out.split('\n').length }).toEqual({ code: 0, lines: 3 });
    expect(out).toContain(',3342.742213455,');
    expect(err).toContain('measured 3342.74 USD');
    expect(err).not.toContain('3342.742213455');
  });

  it('is shown again and again with --watch, until it is told to end', async () => {
    const waits: number[] = [];
    const pause = async (seconds: number): Promise<boolean> => (
      waits.push(seconds), teams.push({ id: 'blue', name: 'B' }), waits.length < 2
    );
    const { code, out } = await bursar(['teams', '--watch', '7'], { pause });
    teams.splice(1);
    expect({ code, waits }).toEqual({ code: 0, waits: [7, 7] });
    expect(out.split('Every 7 s')).toHaveLength(3);
    expect(out.split('blue')).toHaveLength(2);
  });

  it('is written to a pipe once for each change with --watch', async () => {
    let waits = 0;
    const pause = async (): Promise<boolean> => {
      waits += 1;
      if (waits === 3) teams.push({ id: 'blue', name: 'B' });
      return waits < 6;
    };
    const { out } = await bursar(['teams', '--watch'], { pause });
    teams.splice(1);
    expect([waits, out.split('Every 5 s').length, out.split('blue').length]).toEqual([6, 3, 2]);
    waits = 0;
    const drawn: string[] = [];
    const stdout = { write: (text: string) => drawn.push(text), isTTY: true, columns: 80 };
    await bursar(['teams', '--watch'], { pause, stdout });
    teams.splice(1);
    expect(drawn.filter((text) => text.includes('Every 5 s'))).toHaveLength(6);
  });

  it('has the titles of its columns as CSV where it is empty', async () => {
    const kept = teams.splice(0);
    const lacking: string[] = [];
    // The others answer more than a list.
    const others = new Set([
      'costs',
      'savings',
      'actions show',
      'credits show',
      'limits show',
      'commitments',
      'policies list',
    ]);
    for (const words of [...LISTS, 'deliveries'].filter((one) => !others.has(one))) {
      const id = words === 'budgets history' ? ['b'] : [];
      const { code, out, err } = await bursar([...words.split(' '), ...id, '--csv']);
      if (!/^[^,\n]+(,[^,\n]+)+\n/.test(out)) lacking.push(`${words}: ${code} ${out}${err}`);
    }
    teams.push(...kept);
    expect(lacking).toEqual([]);
  });

  it('of recommendations has an interval for all together, where that of each is known', async () => {
    const one = (mean: string | null, low: string | null, high: string | null) => ({
      id: 'rec-1',
      team: 'red',
      action: 'Stop',
      target: 'i-1',
      currency: 'USD',
      title: 'Stop i-1',
      name: '',
      estimatedMonthlySavings: mean,
      estimatedMonthlySavingsLow: low,
      estimatedMonthlySavingsHigh: high,
      estimatedMonthlyCost: null,
      risk: { note: '' },
      status: 'open',
      obstacles: [],
    });
    const said = async (...all: (typeof teams)[number][]): Promise<string | undefined> => {
      const kept = teams.splice(0, teams.length, ...all);
      const { out } = await bursar(['recommend']);
      teams.splice(0, teams.length, ...kept);
      return /Together.*/.exec(out)?.[0].replaceAll('\u00a0', ' ');
    };
    expect(await said(one('10.5', '8', '12'), one('20', '-1', '30'))).toBe(
      'Together, a month: 30.50 USD (7.00 to 42.00)',
    );
    expect(await said(one('10', '8', '12'), one('20', null, null), one(null, null, null))).toBe(
      'Together, a month: 30.00 USD (interval not known), and what 1 would save is not known',
    );
  });

  it('says on a terminal what a verb waits for, and takes it away', async () => {
    let shown = '';
    await bursar(['teams'], { remote: null, stderr: { write: (text) => (shown += text), isTTY: true } });
    expect(shown).toContain("opening this machine's database\r\u001b[K");
    const { err } = await bursar(['teams'], { remote: null });
    expect(err).not.toContain('opening');
  });

  it('is named where a word is no verb of a group', async () => {
    const { code, err } = await bursar(['budgets', 'export']);
    expect([code, err]).toEqual([
      2,
      expect.stringContaining('error: bursar budgets has no export: it has list, history, set'),
    ]);
    expect((await bursar(['teams', 'list'])).code).toBe(0);
  });

  it.each([
    [['teams', '--csv', '--json']],
    [['teams', '--watch', '--json']],
    [['teams', '--watch', '--csv']],
    [['teams', '--watch', '0']],
    [['approve', 'act-1', '--watch']],
    [['deliveries', '--watch']],
  ])('%j is wrong use', async (argv) => expect((await bursar(argv)).code).toBe(2));

  it('hands none of its flags to the API', async () => {
    const asked: string[] = [];
    const note = (request: { url?: string | undefined }): void => void asked.push(request.url ?? '');
    server.on('request', note);
    await bursar(['audit', '--csv', '--actor', 'me']);
    server.off('request', note);
    expect(asked).toEqual(['/v1/audit?actor=me&limit=100']);
  });

  it('is either watched or shown once', () =>
    expect(LISTS_SHOWN_ONCE.filter((one) => LISTS.includes(one))).toEqual([]));
});

describe('help', () => {
  it('has every verb in a group', async () => {
    const { out } = await bursar(['--help']);
    const headings = out.split('\n').filter((line) => /^\S.*:$/.test(line));
    expect(headings).toContain('Spend and budgets:');
    expect(out).not.toMatch(/^Commands:\n(?! {2}help)/m);
    expect(out).not.toContain('__complete');
  });

  it('says which options a verb needs', async () => {
    const { out } = await bursar(['report', '--help']);
    expect(out).toMatch(/--team <team> .*\(required\)/);
    expect(out).toMatch(/--month <month> .*\(required\)/);
    expect(out).not.toMatch(/--out <file> .*\(required\)/);
  });

  it('of places is a table in 80 columns too, with what each lost by below it', async () => {
    const lines: string[] = [];
    const ask = [
      'quote',
      '--provider',
      'aws',
      '--sku',
      'p4d.24xlarge',
      '--gpus',
      '8',
      '--hours',
      '24',
      '--memory',
      '40',
    ];
    const stdout = { write: (text: string) => lines.push(...text.split('\n')), isTTY: true, columns: 80 };
    expect(await bursar(ask, { stdout, environment: { NO_COLOR: '1' } })).toMatchObject({ code: 0, err: '' });
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    const places = lines.slice(lines.indexOf('Cheapest places:'));
    expect(places[1]).toMatch(/^provider +SKU +GPUs +region/);
    expect(places.join('\n')).toMatch(
      /^ {4}(term: on-demand; )?lost by: costs 27\.648 USD more, 1\.10 times as much$/m,
    );
  });

  it('of a quote without a provider says how places are named', async () => {
    const { code, err } = await bursar(['quote', '--sku', 'H100', '--gpus', '8', '--hours', '1']);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('name it with --provider') as string });
  });
});

describe('the fleet', () => {
  const one = (target: string, kind: string, labels: Record<string, string> = {}, connection = 'c'): FleetTargetJson =>
    ({ target, kind, labels, connection }) as unknown as FleetTargetJson;
  it('has the machines of a group below it, of its own connection, and each target once', () => {
    const tag = { 'aws:autoscaling:groupName': 'web' };
    const all = [
      one('instance/r/a', 'instance', tag),
      one('asg/r/web', 'group'),
      one('instance/r/b', 'instance', tag, 'elsewhere'),
      one('instance/r/c', 'instance', { 'aws:autoscaling:groupName': 'gone' }),
    ];
    expect(nested(all).map(({ one: { target }, isMember }) => [target, isMember])).toEqual([
      ['asg/r/web', false],
      ['instance/r/a', true],
      ['instance/r/b', false],
      ['instance/r/c', false],
    ]);
    // What adds up: a machine counts with its group, a workload with the machines that it runs on.
    const pod = one('deployment/default/web', 'workload', {});
    expect(countedOnce([...all, pod])).toEqual(all.slice(1));
    expect(countedOnce([pod])).toEqual([pod]);
  });
});

describe('signing in', () => {
  afterEach(() => new Servers({ XDG_CONFIG_HOME: home }).forget(url));
  const readSecret = async (): Promise<string> => 'bursar_good';

  it('checks the key, keeps it in a file that only its owner reads, and never prints it', async () => {
    const { code, out, err } = await bursar(['login', url], { readSecret, remote: null });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toContain('key ada, viewer, all teams');
    const file = new Servers({ XDG_CONFIG_HOME: home }).fileOf(url);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(out + (await bursar(['login', url, '--json'], { readSecret, remote: null })).out).not.toContain(
      'bursar_good',
    );
    expect(withSignIn({ XDG_CONFIG_HOME: home })).toMatchObject({ BURSAR_URL: url, BURSAR_API_KEY: 'bursar_good' });
    expect(withSignIn({ XDG_CONFIG_HOME: home, BURSAR_URL: `${url}/` })).toMatchObject({
      BURSAR_API_KEY: 'bursar_good',
    });
    for (const own of ['DATABASE_URL', 'BURSAR_DATA_DIR', 'BURSAR_API_KEY'])
      expect(withSignIn({ XDG_CONFIG_HOME: home, [own]: 'x' })).not.toHaveProperty('BURSAR_URL');
    expect(withSignIn({ XDG_CONFIG_HOME: home, BURSAR_URL: 'http://other' })).not.toHaveProperty('BURSAR_API_KEY');
    expect(withSignIn({ XDG_CONFIG_HOME: home, BURSAR_URL: 'nonsense' })).not.toHaveProperty('BURSAR_API_KEY');
    chmodSync(file, 0o644);
    expect(() => withSignIn({ XDG_CONFIG_HOME: home })).toThrow('others may read');
    writeFileSync(file, '{}');
    await bursar(['login', url], { readSecret, remote: null });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('keeps no key that the server does not know', async () => {
    const { code, err } = await bursar(['login', url], { readSecret: async () => 'bursar_bad', remote: null });
    expect({ code, err }).toEqual({ code: 1, err: `bursar: ${url} does not know the key: it was not stored\n` });
    expect(new Servers({ XDG_CONFIG_HOME: home }).all()).toEqual([]);
    expect((await bursar(['login', 'ftp://x'], { readSecret })).code).toBe(2);
    expect((await bursar(['login', url], { readSecret: async () => '' })).code).toBe(2);
  });

  it('is asked for by whoami, which opens no database', async () => {
    const { code, err } = await bursar(['whoami'], { remote: null });
    expect(code).toBe(1);
    expect(err).toContain('bursar: nobody is signed in to a server');
    expect(err).toContain('bursar login URL');
    const here = await bursar(['whoami'], { remote: null, environment: { BURSAR_DATA_DIR: home } });
    expect(here.err).toContain('BURSAR_DATA_DIR is set and takes precedence over any sign-in');
    expect(here.err).not.toContain('bursar login');
  });

  it.each([['migrate'], ['restored'], ['archive', 'list']])(
    'makes no database beside that of the server: %s',
    async (...argv) => {
      const { code, err } = await bursar(argv);
      expect({ code, err }).toEqual({
        code: 2,
        err: `bursar: this verb works on the database itself, and not through ${url}: run it on the server, or name the database with DATABASE_URL or BURSAR_DATA_DIR\n`,
      });
      const named = await bursar(argv, { environment: { XDG_CONFIG_HOME: home, BURSAR_DATA_DIR: home } });
      expect(named).toMatchObject({ code: 1, err: 'bursar: the database of this machine is not asked\n' });
    },
  );

  it('ends with logout; whoami says as whom', async () => {
    await bursar(['login', url], { readSecret, remote: null });
    expect((await bursar(['logout'])).out).toBe(`The key of ${url} is forgotten here.\n`);
    expect(withSignIn({ XDG_CONFIG_HOME: home })).not.toHaveProperty('BURSAR_URL');
    expect((await bursar(['logout'])).code).toBe(2);
    expect((await bursar(['whoami'])).out).toBe(`${url}: key ada, viewer, all teams\n`);
    expect((await bursar(['whoami'], { remote: { url, apiKey: 'no' } })).code).toBe(1);
  });
});

describe('doctor of a server', () => {
  it('asks the server, and nothing of this machine', async () => {
    const { code, out } = await bursar(['doctor', '--json']);
    const { findings } = JSON.parse(out) as { findings: { check: string; status: string }[] };
    expect(code).toBe(1);
    expect(findings.map(({ check, status }) => `${check} ${status}`)).toEqual([
      'configuration ok',
      'server ok',
      'schema wrong',
      'queue ok',
      'key ok',
      'line attend',
      'providers attend',
    ]);
  });

  it('says how each fleet was read, and how new its evidence is', async () => {
    const now = new Date(0).toISOString();
    const read = { readAt: now, completeAt: now, complete: true, stale: false, targets: 6, problems: [] };
    fleets = [
      { connection: 'aws', ...read },
      { connection: 'gcp', ...read, stale: true, problems: ['europe-west4 could not be read'] },
    ];
    const source = { readTo: now, coverage: 1, problems: [] };
    sources = [
      { name: 'prometheus', ...source },
      { name: 'half', ...source, coverage: 0.5 },
      { name: 'old', ...source, readTo: '1969-12-31T00:00:00Z' },
    ];
    const { findings } = JSON.parse((await bursar(['doctor', '--json'])).out) as {
      findings: { check: string; status: string; detail: string }[];
    };
    expect(findings.slice(-5)).toMatchObject([
      { check: 'provider aws', status: 'ok', detail: `read at ${now}: 6 target(s)` },
      { check: 'provider gcp', status: 'attend', detail: expect.stringContaining('europe-west4') as string },
      { check: 'telemetry prometheus', status: 'ok' },
      { check: 'telemetry half', status: 'attend', detail: expect.stringContaining('50 % of the exporters') as string },
      { check: 'telemetry old', status: 'attend' },
    ]);
  });

  it('that is away, or that does not know the key, is a finding', async () => {
    const away = await bursar(['doctor'], { remote: { url: 'http://127.0.0.1:9', apiKey: 'k' } });
    expect(away.out).toMatch(/server +wrong/);
    expect((await bursar(['doctor'], { remote: { url, apiKey: 'k' } })).out).toMatch(/key +wrong/);
  });

  it('with --local looks at this machine', async () => {
    expect((await bursar(['doctor', '--local'])).out).toContain('the database of this machine is not asked');
  });
});

describe('open', () => {
  it('shows the page of a thing that the dashboard has', async () => {
    const opened: string[] = [];
    const openBrowser = async (at: string): Promise<boolean> => (opened.push(at), true);
    await bursar(['open', 'act-1'], { openBrowser });
    await bursar(['open', 'budgets', 'a/b'], { openBrowser });
    await bursar(['open', '--print'], { openBrowser });
    expect(opened).toEqual([`${url}/#/actions/act-1`, `${url}/#/budgets/a%2Fb`]);
    expect((await bursar(['open', 'nothing'], { openBrowser })).code).toBe(2);
  });

  it('opens every page of the dashboard, and every page of settings', async () => {
    for (const [page, takesId] of Object.entries(PAGES)) {
      const { code, out } = await bursar(['open', ...(page === '' ? [] : [page]), '--print']);
      expect({ code, out }).toEqual({ code: 0, out: `${url}/#/${page}\n` });
      expect(routeOf(placeOf(new URL(out).hash))).toBe(page);
      if (!takesId && page !== '') expect((await bursar(['open', page, 'x', '--print'])).code).toBe(2);
    }
    for (const section of Object.values(SETTINGS).flat())
      expect((await bursar(['open', 'settings', section, '--print'])).out).toBe(`${url}/#/settings/${section}\n`);
    expect(await bursar(['open', 'settings', 'nothing', '--print'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('settings has no page nothing: it has budgets, rules,') as string,
    });
  });

  it('refuses the id of something that the server does not know; whether one that is away knows it is said', async () => {
    expect(await bursar(['open', 'teams', 'nobody', '--print'])).toEqual({
      code: 1,
      out: '',
      err: 'bursar: there is no nobody\n',
    });
    const away = await bursar(['open', 'teams', 'red', '--print'], {
      remote: { url: 'http://127.0.0.1:9', apiKey: 'k' },
    });
    expect(away).toMatchObject({ code: 0, out: 'http://127.0.0.1:9/#/teams/red\n' });
    expect(away.err).toContain('Not known whether teams has red: http://127.0.0.1:9 (BURSAR_URL) cannot be reached');
  });

  it('says where no browser is', async () =>
    expect(await bursar(['open'], { openBrowser: async () => false })).toMatchObject({
      code: 0,
      err: 'No browser could be started here.\n',
    }));
});

const quiet = (): Session =>
  new Session({ stdout: { write: () => true }, stderr: { write: () => true } } as unknown as CliContext);
const program = await programOf(quiet());

describe('a verb', () => {
  const namesOf = (of: Command): string[] => of.commands.map((verb) => verb.name());
  const visible = program.createHelp().visibleCommands(program);

  it('is had without the others, as it is had with them', async () => {
    expect(visible.length).toBeGreaterThan(50);
    for (const verb of visible.filter((one) => one.name() !== 'help')) {
      const alone = await programOf(quiet(), ['--json', verb.name(), 'costs']);
      const found = alone.commands.find((one) => one.name() === verb.name());
      expect(found?.helpInformation()).toBe(verb.helpInformation());
      expect(namesOf(alone).length).toBeLessThan(10);
    }
    expect(namesOf(await programOf(quiet(), ['help', 'budgets']))).toEqual(['budgets']);
  });

  it.each([[[]], [['--help']], [['help']], [['--version']], [['bugets']], [['help', 'bugets']]])(
    '%j has the names and sentences of all, and loads none of their files',
    async (argv) => {
      const listed = (await programOf(quiet(), argv)).commands;
      const sentencesOf = (verbs: readonly Command[]): string[] =>
        verbs.map((verb) => `${verb.name()}: ${verb.description()} ${verb.helpGroup()}`).toSorted();
      expect(sentencesOf(listed)).toEqual(sentencesOf(visible.filter((verb) => verb.name() !== 'help')));
      expect(listed.filter((verb) => verb.registeredArguments.length + verb.commands.length > 0)).toEqual([]);
    },
  );

  it('stands below a heading', () =>
    expect(visible.filter((verb) => verb.helpGroup() === '').map((verb) => verb.name())).toEqual(['help']));

  it('that is shown as a list is one', () =>
    expect([...LISTS, ...LISTS_SHOWN_ONCE].filter((words) => verbOf(program, words) === undefined)).toEqual([]));
});

describe('completion', () => {
  it.each([
    [['bud'], ['budgets']],
    [
      ['budgets', 'h'],
      ['history', 'help'],
    ],
    [['costs', '--basis', 'b'], ['billed']],
    [['costs', '--group-by', 'da'], ['day']],
    [['costs', '--group-by', 'team,day,sk'], ['team,day,sku']],
    [['costs', '--basis=b'], ['--basis=billed']],
    [['costs', '--basis', '=', 'b'], ['billed']],
    [
      ['quote', '--upfront', '='],
      ['none', 'partial', 'all'],
    ],
    [
      ['keys', 'create', 'x', '--role', ''],
      ['viewer', 'operator', 'admin'],
    ],
    [['keys', 'create', 'x', '--scope', 'usage:w'], ['usage:write']],
    [
      ['open', 'rec'],
      ['recommendations', 'reconciliation'],
    ],
    [
      ['open', 'settings', 'r'],
      ['rules', 'reconciliation', 'roles', 'routes', 'reports', 'retention'],
    ],
    [['open', 'costs', ''], []],
    [['budgets', 'set', 'b', '--period', 'q'], ['quarter']],
    [['teams', 'set', 'x', '--zone', 'Europe/Berl'], ['Europe/Berlin']],
    [
      ['quote', '--term', 'res'],
      ['reserved-1y', 'reserved-3y'],
    ],
    [
      ['fleet', '--kind', ''],
      ['instance', 'group', 'workload', 'node-pool', 'commitment'],
    ],
    [
      ['--json', 'teams', '--w'],
      ['--watch', '--wide'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['import', ''], []],
    [
      ['import', '--format', 'focus'],
      ['focus', 'focus-contracts'],
    ],
    [['prices', '--format=b'], ['--format=bursar-prices']],
  ])('of %j', async (words, found) => expect(await completionsOf(program, words)).toEqual(found));

  it.each([
    ['budgets set '],
    ['teams remove '],
    ['open teams '],
    ['savings --team '],
    ['policies show '],
    ['approve '],
    ['actions show '],
    ['keys rotate '],
    ['slack-users connect T1 U1 --key '],
  ])('asks the server for the ids of %j', async (line) => {
    const lists: string[] = [];
    const ids = async (list: string): Promise<string[]> => (lists.push(list), ['red', 'blue']);
    expect(await completionsOf(program, [...line.split(' ').slice(0, -1), 'r'], ids)).toEqual(['red']);
    expect(lists).toHaveLength(1);
  });

  it('prints the ids that the server has, and nothing where it is away or knows no key', async () => {
    const asked = ['__complete', '--', 'teams', 'set', ''];
    expect(await bursar(asked)).toEqual({ code: 0, out: 'red\n', err: '' });
    for (const remote of [{ url: 'http://127.0.0.1:9', apiKey: 'k' }, null])
      expect(await bursar(asked, { remote })).toEqual({ code: 0, out: '', err: '' });
  });

  it('waits a second for a server that does not answer', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const remote = { url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}`, apiKey: 'k' };
    expect(await bursar(['__complete', '--', 'approve', ''], { remote })).toEqual({ code: 0, out: '', err: '' });
    silent.closeAllConnections();
    await new Promise<void>((resolve) => void silent.close(() => resolve()));
  });

  /** A `bursar` on the PATH that answers as the program does, for one question. */
  async function shellWith(
    shell: string,
    script: string,
  ): Promise<{ status: number | null; stdout: string; stderr: string }> {
    const folder = mkdtempSync(path.join(home, 'bin-'));
    const answers = (await completionsOf(program, ['budgets', 'hi'])).join('\\n');
    const asked = '__complete -- budgets hi';
    writeFileSync(path.join(folder, 'bursar'), `#!/bin/sh\n[ "$*" = "${asked}" ] && printf '${answers}\\n'\n`, {
      mode: 0o755,
    });
    return spawnSync(shell, ['-c', script], {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    });
  }
  const scriptFor = async (shell: string): Promise<string> => (await bursar(['completion', shell])).out;

  describeWith('bash', 'in bash', () =>
    it('works', async () => {
      const script = `${await scriptFor('bash')}\nCOMP_WORDS=(bursar budgets hi); COMP_CWORD=2; _bursar; echo "\${COMPREPLY[@]}"; complete -p bursar`;
      expect(await shellWith('bash', script)).toMatchObject({
        status: 0,
        stdout: expect.stringMatching(/^history\ncomplete .*_bursar bursar/) as string,
      });
    }),
  );
  describeWith('zsh', 'in zsh', () =>
    it('works', async () => {
      const script = `compdef() { :; }\ncompadd() { shift; print -l -- \${(P)1}; }\n${await scriptFor('zsh')}\nwords=(bursar budgets hi); CURRENT=3; _bursar`;
      expect(await shellWith('zsh', script)).toMatchObject({ status: 0, stdout: 'history\n' });
    }),
  );
  describeWith('fish', 'in fish', () =>
    it('works', async () => {
      const script = `${await scriptFor('fish')}\ncomplete -C 'bursar budgets hi'`;
      expect(await shellWith('fish', script)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining('history') as string,
      });
    }),
  );
});
