/**
 * Budgets as code: a folder of YAML, its plan, and making it hold; what was exported differs in nothing; and the page
 * about it, followed word for word.
 */
import * as fc from 'fast-check';
import { mkdir, mkdtemp, readFile, rm, writeFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/cli/program.js';
import { localOf } from '../support/local.js';
import { ROOT } from '../support/source.js';
import { NOW, testApi, type TestApi } from '../support/web.js';

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'bursar-configuration-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const verb =
  (api: TestApi) =>
  async (argv: readonly string[], answer?: string): Promise<Ran> => {
    const [out, err]: [string[], string[]] = [[], []];
    // What the line would do is no matter of these tests.
    const drain = async (): Promise<void> => void (await api.stores.db.query('delete from work'));
    const code = await run(argv, {
      environment: {},
      clock: { now: () => NOW },
      remote: null,
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => err.push(text) },
      serve: async () => undefined,
      connect: async () => localOf({ ...api, drain }, { now: () => NOW }),
      ...(answer !== undefined && { ask: async () => answer }),
    });
    return { code, out: out.join(''), err: err.join('') };
  };

/** Writes files into a folder of the test's own. */
async function files(name: string, contents: Readonly<Record<string, string>>): Promise<string> {
  const at = path.join(folder, name);
  await rm(at, { recursive: true, force: true });
  await mkdir(at, { recursive: true });
  for (const [file, text] of Object.entries(contents)) await writeFile(path.join(at, file), text);
  return at;
}

describe('the page', async () => {
  const api = await testApi();
  it('is followed word for word', { timeout: 60_000 }, async () => {
    const bursar = verb(api);
    const text = await readFile(path.join(ROOT, 'docs/how-to/budgets-as-code.md'), 'utf8');
    await files('wrong', {
      'budgets.yaml':
        'budgets:\n  b:\n    team: research\n    planned: {}\n    thresholds:\n    - kind: actual\n      ratio: much\n',
      'policies.yaml': 'policies:\n  p: { policy: idle-stopp, teams: [research], mode: recommend }\n',
    });
    let [named, commands] = ['', 0];
    // A block of YAML belongs to the file that was named last before it.
    for (const [, before = '', language = '', body = ''] of text.matchAll(/([^]*?)^```(\w+)\n([^]*?)^```$/gm)) {
      named = [...before.matchAll(/`bursar\/(\w+\.yaml)`/g)].at(-1)?.[1] ?? named;
      if (language === 'yaml') await writeFile(path.join(folder, 'bursar', named), body);
      if (language !== 'console') continue;
      for (const [, line = '', expected = ''] of body.matchAll(/^\$ npx bursar (.*)\n((?:(?!\$ ).*\n)*)/gm)) {
        commands += 1;
        const argv = line.split(' ').map((word) => (/^(bursar|wrong)$/.test(word) ? path.join(folder, word) : word));
        const { out, err } = await bursar(argv);
        const answer = (out === '' ? err : out).replaceAll(`${folder}${path.sep}`, '');
        // Of a policy's defaults the page shows the beginning, of problems every line.
        const said = out === '' ? answer : answer.slice(0, expected.length);
        expect({ line, said }).toEqual({ line, said: expected });
      }
    }
    expect(commands).toBe(8);
  });
});

describe('a configuration', async () => {
  const api = await testApi();
  const bursar = verb(api);
  const TEAMS = 'teams:\n  child: { parent: top }\n  top: {}\n';

  it('names every problem of every file, with its line', async () => {
    const at = await files('bad', {
      'a.yaml': 'teams:\n  x:\n    zone: Mars\n    parent: nobody\n',
      'b.yaml': `budgets:
  b:
    team: x
    planned: { default: "1" }
    thresholds:
      - { kind: actual, ratio: "-1" }
limits:
  x:
    gpusPerAction: -3
peak:
  - { zone: UTC, factor: "1.1" }
  - zone: Nowhere
    factor: "2"
`,
    });
    // The shapes are looked at first, then what they mean.
    const first = await bursar(['diff', '-f', at]);
    expect(first.code).toBe(1);
    expect(first.err).toMatch(/a\.yaml:3: teams\/x\/zone is not an IANA time zone/);
    await writeFile(path.join(at, 'a.yaml'), 'teams:\n  x:\n    zone: UTC\n    parent: nobody\n');
    const { code, err, out } = await bursar(['apply', '-f', at, '--yes']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    for (const place of [
      'a.yaml:4: teams/x/parent',
      'b.yaml:6: budgets/b/thresholds',
      'b.yaml:9: limits/x/gpusPerAction',
      'b.yaml:12: peak/1/zone',
    ])
      expect(err).toContain(place);
    expect((await api.call('GET', '/v1/teams')).body).toMatchObject({ items: [] });
  });

  it('names the problems of every kind at once: of files, of shapes and of what they mean', async () => {
    const at = await files('every', {
      'a.yaml': `nonsense: 1
teams:
  loop1: { parent: loop2 }
  loop2: { parent: loop1 }
  lost: { parent: nobody }
  odd: { zone: Mars }
  under: { parent: odd }
budgets:
  shape: { team: odd, planned: { default: "-5" }, thresholds: [{ kind: spent, ratio: "1" }] }
  means: { team: ghost, planned: {}, thresholds: [{ kind: actual, ratio: much }] }
  fine: { team: ruled, planned: {} }
policies:
  p1: { policy: idle-stopp, teams: [under], mode: recommend }
  p2: { policy: idle-stop, teams: [ghost], mode: shout }
`,
      'b.yaml': `rules:
  - { match: { tag: { key: team } }, team: ruled }
  - { match: { colour: red }, team: ruled }
  - { match: { tag: { key: team, value: x } }, team: ruled }
limits:
  "*": { gpusPerAction: -3 }
  ghost: {}
routes:
  - { to: [{ channel: pigeon }] }
  - { teams: [under, ghost], to: [{ channel: slack, address: general }] }
`,
    });
    const { code, err } = await bursar(['diff', '-f', at]);
    expect(code).toBe(1);
    const places = [
      'a.yaml:1 nonsense is none of',
      'a.yaml:3: teams/loop1/parent closes a circle: loop1 below loop2 below loop1',
      'a.yaml:4: teams/loop2/parent closes a circle',
      'a.yaml:5: teams/lost/parent names nobody',
      'a.yaml:6: teams/odd/zone',
      'a.yaml:9: budgets/shape/thresholds/0/kind',
      'a.yaml:10: budgets/means/team names ghost',
      'a.yaml:10: budgets/means/thresholds/0/ratio',
      'a.yaml:13: policies/p1/policy',
      'a.yaml:14: policies/p2/mode',
      'a.yaml:14: policies/p2/teams/0 names ghost',
      'b.yaml:2: rules/0',
      'b.yaml:3: rules/1',
      'b.yaml:6: limits/*/gpusPerAction',
      'b.yaml:7: limits/ghost names ghost',
      'b.yaml:9: routes/0/to/0/channel',
      'b.yaml:10: routes/1/teams/1 names ghost',
      'b.yaml:10: routes/1/to/0/address',
    ];
    for (const place of places) expect(err).toContain(place);
    expect(err).not.toMatch(/names (under|odd|ruled)/);
  });

  it('says where files cannot be read as one', async () => {
    const at = await files('torn', {
      'a.yaml': 'teams:\n  x: {}\nrules: []\n',
      'b.yaml': 'teams:\n  x: {}\n\nrules: []\ncolour: red\n',
    });
    const { code, err } = await bursar(['diff', '-f', at]);
    expect(code).toBe(1);
    for (const place of [
      'b.yaml:2 teams/x is also in a.yaml',
      'b.yaml:4 rules is also in a.yaml',
      'b.yaml:5 colour is none of',
    ])
      expect(err).toContain(place);
    await writeFile(path.join(at, 'b.yaml'), 'teams:\n  y: {}\n  y: {}\n');
    expect((await bursar(['diff', '-f', at])).err).toMatch(/b\.yaml:3 /);
    expect((await bursar(['diff', '-f', path.join(folder, 'nowhere')])).err).toContain('there is no such folder');
    const grown = Array.from(
      { length: 9 },
      (_, n) => `a${n + 1}: &a${n + 1} [${Array(9).fill(`*a${n}`).join(', ')}]\n`,
    );
    await writeFile(path.join(at, 'b.yaml'), `a0: &a0 [x]\n${grown.join('')}`);
    for (const argv of [['diff'], ['apply', '--yes']]) {
      const bomb = await bursar([...argv, '-f', at]);
      expect(bomb).toMatchObject({ code: 1, err: expect.stringContaining('b.yaml:10 uses aliases') as string });
      expect(bomb.err).not.toContain('bug');
    }
  });

  it('takes amounts and ratios as they are written, says what a second document and a file are, and no route as the default', async () => {
    const at = await files('written', {
      'all.yaml': `teams: { w: {} }
budgets:
  w-month:
    team: w
    planned: { default: 12345678901234567890.123456789, periods: { 2026-10-01: 0.10 } }
    thresholds: [{ kind: actual, ratio: 0.80 }]
`,
    });
    expect(await bursar(['apply', '--yes', '-f', at])).toMatchObject({ code: 0 });
    expect((await api.call('GET', '/v1/budgets/w-month')).body).toMatchObject({
      planned: { default: '12345678901234567890.123456789', periods: { '2026-10-01': '0.10' } },
      thresholds: [{ kind: 'actual', ratio: '0.80' }],
    });
    expect(await bursar(['diff', '-f', path.join(at, 'all.yaml')])).toMatchObject({
      code: 0,
      out: 'There is nothing to change.\n',
    });
    await writeFile(path.join(at, 'all.yaml'), 'teams: {}\n---\nteams: {}\n');
    expect((await bursar(['diff', '-f', at])).err).toContain('all.yaml:2 begins a second document: a file holds one');
    // An export without routes, applied where somebody has set some since, brings the default back.
    await writeFile(path.join(at, 'all.yaml'), 'routes: []\n');
    const body = { routes: [{ to: [{ channel: 'log', address: null }] }] };
    expect((await api.call('PUT', '/v1/alert-routes', { body })).status).toBe(200);
    expect((await bursar(['apply', '--yes', '-f', at])).code).toBe(0);
    expect((await api.call('GET', '/v1/alert-routes')).body).toEqual({ isDefault: true, routes: [] });
    expect(await api.stores.alertSettings.routes(api.stores.db, 'default')).toBeNull();
    await api.call('DELETE', '/v1/budgets/w-month');
    await api.call('DELETE', '/v1/teams/w');
  });

  it('is applied with parents first, after a yes, and not after a no', async () => {
    const at = await files('order', { 'all.yaml': TEAMS });
    const no = await bursar(['apply', '-f', at], 'no');
    expect(no).toMatchObject({ code: 1, out: 'Nothing was applied.\n' });
    expect(no.err).toContain('+ team child');
    expect((await bursar(['apply', '-f', at])).code).toBe(2);
    expect(await bursar(['apply', '-f', at], 'yes')).toMatchObject({
      code: 0,
      out: 'Applied: 2 added, 0 changed, 0 removed.\n',
    });
    const entries = (await api.call<{ items: { verb: string; target: string }[] }>('GET', '/v1/audit?limit=3')).body
      .items;
    expect(entries.map((one) => `${one.verb} ${one.target}`)).toEqual([
      'configuration.apply configuration',
      'team.save child',
      'team.save top',
    ]);
  });

  it('holds as a whole or not at all', async () => {
    const at = await files('whole', {
      'all.yaml': `${TEAMS}budgets:\n  fine: { team: top, planned: { default: 5 } }\npolicies:\n  act: { policy: idle-stop, teams: [top], mode: enforce }\n`,
    });
    const { code, err } = await bursar(['apply', '-f', at, '--yes']);
    expect(code).toBe(1);
    expect(err).toContain('has no backtest');
    expect((await api.call('GET', '/v1/budgets')).body).toMatchObject({ items: [] });
    expect((await bursar(['apply', '-f', at, '--yes', '--without-backtest', 'a drill'])).code).toBe(0);
    // The guard asks the audit for the reason.
    expect((await api.call('GET', '/v1/audit?limit=1&verb=policy.apply')).body).toMatchObject({
      items: [{ target: 'act', detail: { override: 'a drill' } }],
    });
    expect((await api.call('GET', '/v1/budgets/fine')).body).toMatchObject({ planned: { default: '5' } });
    await bursar(['policies', 'pause', 'act']);
  });

  it('is refused where somebody has changed something since the plan', async () => {
    const body = { configuration: { teams: { late: {} } } };
    const plan = (await api.call<{ revision: string }>('POST', '/v1/configuration/plan', { body })).body;
    await api.call('PUT', '/v1/teams/meanwhile', { body: {} });
    const asked = { body: { ...body, replaces: plan.revision } };
    expect((await api.call('PUT', '/v1/configuration', asked)).status).toBe(409);
    expect((await api.call('GET', '/v1/teams/late')).status).toBe(404);
    const again = (await api.call<{ revision: string }>('POST', '/v1/configuration/plan', { body })).body;
    expect((await api.call('PUT', '/v1/configuration', { body: { ...body, replaces: again.revision } })).status).toBe(
      200,
    );
  });

  it('removes only with --prune, only in sections that are there, children first; a policy is paused', async () => {
    const at = await files('prune', { 'all.yaml': 'teams: {}\nbudgets: {}\npolicies: {}\n' });
    expect((await bursar(['diff', '-f', at])).out).toBe('There is nothing to change.\n');
    await bursar(['policies', 'resume', 'act']);
    const only = await files('budgets', { 'all.yaml': 'budgets: {}\n' });
    expect((await bursar(['diff', '-f', only, '--prune'])).out).toBe(
      '- budget fine\n\n0 to add, 0 to change, 1 to remove\n',
    );
    const { out } = await bursar(['diff', '-f', at, '--prune']);
    expect(out).toContain('- policy act (is paused)');
    expect(await bursar(['apply', '-f', at, '--prune', '--yes'])).toMatchObject({ code: 0 });
    expect((await api.call('GET', '/v1/teams')).body).toMatchObject({ items: [] });
    expect((await api.call('GET', '/v1/policies/act')).body).toMatchObject({ paused: true });
    expect((await bursar(['diff', '-f', at, '--prune'])).code).toBe(0);
  });

  it('needs the rights for it', async () => {
    const key = await api.keyFor({ role: 'viewer' });
    expect((await api.call('GET', '/v1/configuration', { key })).status).toBe(200);
    const asked = { key, body: { configuration: {}, replaces: 'x' } };
    expect((await api.call('PUT', '/v1/configuration', asked)).status).toBe(403);
    const own = await api.keyFor({ role: 'viewer', teams: ['red'] });
    expect((await api.call('GET', '/v1/configuration', { key: own })).status).toBe(403);
  });

  it('that is exported differs in nothing, whatever it was', { timeout: 120_000 }, async () => {
    const id = fc.stringMatching(/^[a-z][a-z0-9 .:@_-]{0,12}[a-z0-9]$/);
    const decimal = fc.integer({ min: 0, max: 10 ** 9 }).map((cents) => (cents / 100).toFixed(2));
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Shanghai');
    const currency = fc.constantFrom('USD', 'EUR', 'CNY');
    const team = fc.record({ name: fc.constantFrom('研究', 'Red: "one"', 'yes', '007'), zone, currency });
    const budget = fc.record({
      zone,
      currency,
      period: fc.constantFrom('month', 'quarter', { start: '2026-10-05', lengthDays: 14 }),
      planned: fc.record({ default: fc.option(decimal), periods: fc.constant({}) }),
      includeCredits: fc.boolean(),
      filters: fc.constantFrom({}, { provider: ['AWS'], tag: [{ key: 'a:b', value: '- x' }] }),
      thresholds: fc.constantFrom([], [{ kind: 'actual', ratio: '0.8' }]),
    });
    const configuration = fc.record({
      teams: fc.dictionary(id, team, { minKeys: 1, maxKeys: 4, noNullPrototype: true }),
      budgets: fc.dictionary(id, budget, { maxKeys: 3, noNullPrototype: true }),
      peak: fc.constantFrom([], [{ zone: 'UTC', factor: '1.10', from: '08:00', to: '20:00', days: ['mon'] }]),
      limits: fc.constantFrom({}, { '*': { gpusPerHour: 9, protectedLabels: { keep: '*' } } }),
      routes: fc.constantFrom([], [{ to: [{ channel: 'log' }], leastSeverity: 'warning' }]),
      rules: fc.constantFrom([], [{ match: { namespace: 'ml-*' }, team: 'x' }]),
      policies: fc.constantFrom({}, { night: { policy: 'idle-stop', teams: '*', mode: 'observe', priority: 3 } }),
    });
    // An amount of its own belongs to the first day of a period.
    const plannedOf = ({ period, planned }: { period: unknown; planned: { default: string | null } }) => ({
      ...planned,
      periods: planned.default === null ? {} : { [typeof period === 'string' ? '2026-10-01' : '2026-10-05']: '5' },
    });
    await fc.assert(
      fc.asyncProperty(configuration, async (one) => {
        const [parent] = Object.keys(one.teams);
        const budgets = Object.fromEntries(
          Object.entries(one.budgets).map(([name, of]) => [name, { ...of, team: parent, planned: plannedOf(of) }]),
        );
        const at = await files('wanted', { 'all.yaml': stringify({ ...one, budgets }) });
        const applied = await bursar(['apply', '-f', at, '--prune', '--yes']);
        expect(applied.code, applied.err).toBe(0);
        expect((await bursar(['diff', '-f', at, '--prune'])).out).toBe('There is nothing to change.\n');
        // Into a folder, and into one file.
        for (const name of ['exported', 'exported.yaml']) {
          const out = path.join(folder, name);
          await bursar(['export', '-f', out]);
          expect((await stat(out)).isFile()).toBe(name.endsWith('.yaml'));
          expect((await bursar(['diff', '-f', out, '--prune'])).out).toBe('There is nothing to change.\n');
        }
      }),
      { numRuns: 12 },
    );
  });
});
