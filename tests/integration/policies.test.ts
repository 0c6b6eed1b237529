/**
 * Policy documents from the door to the recommendations: applied, paused, observed, and refused where nobody has
 * backtested what they would enforce.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse as parseYaml } from 'yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../src/cli/program.js';
import type { Budget } from '../../src/core/budget/budget.js';
import { fingerprintOf, readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { lacksFunctions, loadParts } from '../../src/parts.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { metered, MONDAY } from '../support/records.js';
import { testApi } from '../support/web.js';
import { localOf } from '../support/local.js';
import { workloadFacts } from '../support/makers.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const NOW = MONDAY + 40 * DAY_MS;
const BUDGET: Budget = {
  id: 'lab',
  team: 'lab',
  period: 'quarter',
  zone: 'UTC',
  currency: 'USD',
  filters: {},
  planned: { default: '1000', periods: {} },
  includeCredits: false,
  thresholds: [],
};

describe('the line with policy documents', async () => {
  const bursar = await testBursar({ policies, now: NOW });
  const { db, stores } = bursar;
  const open = async (status: 'open' | 'observed' = 'open') =>
    stores.recommendations.list('default', { team: 'lab', status }, null, 100);
  const apply = async (value: Readonly<Record<string, unknown>>, override: string | null = null): Promise<void> => {
    const document = readPolicyDocument({ teams: ['lab'], mode: 'recommend', ...value }, policies);
    await db.transaction((tx) => applyPolicy(stores, tx, 'default', policies, { document, override }, 'test', NOW));
    await bursar.runner.drain();
  };

  beforeAll(async () => {
    await db.transaction((tx) => stores.organisations.saveRules(tx, 'default', [{ match: {}, team: 'lab' }], 'test'));
    await bursar.setPrices([
      instancePrice('55.04'),
      instancePrice('20', { term: 'spot' }),
      instancePrice('30', { term: 'reserved-1y' }),
    ]);
    await bursar.take(
      Array.from({ length: 40 }, (_, day) =>
        metered(`d${day}`, { start: MONDAY + day * DAY_MS, end: MONDAY + (day + 1) * DAY_MS }),
      ),
    );
    await db.transaction((tx) =>
      stores.workloads.save(
        tx,
        'default',
        'lab',
        workloadFacts({
          interruptible: true,
          fleet: { ready: 2, booting: 0, minReplicas: 0, maxReplicas: 4, changedAt: null },
        }),
        NOW,
      ),
    );
    await db.transaction((tx) => setBudget(stores, tx, 'default', BUDGET, NOW));
    await bursar.runner.drain();
  });

  it('runs the defaults where there is no document', async () => {
    const all = await open();
    expect(all.map(({ policy, action, document, mode }) => ({ policy, action, document, mode }))).toEqual([
      {
        policy: 'reserve-baseline',
        action: 'PurchaseReservedInstances',
        document: 'reserve-baseline',
        mode: 'recommend',
      },
    ]);
    // As fields, for whoever goes by them: never read out of the target's text.
    expect(all.map(({ place, savingRecurs }) => ({ place, savingRecurs }))).toEqual([
      { place: { provider: 'AWS', account: 'a1', region: 'us-east-1', sku: 'p5.48xlarge' }, savingRecurs: 'monthly' },
    ]);
  });

  it('runs the documents once there are any, shows budgets and prices to them, and supersedes what nobody asks for any more', async () => {
    await apply({ name: 'brake', policy: 'budget-brake', mode: 'approve' });
    const all = await open();
    expect(
      all
        .map(({ policy, action, target }) => ({ policy, action, target }))
        .sort((a, b) => (a.action < b.action ? -1 : 1)),
    ).toEqual([
      { policy: 'budget-brake', action: 'Notify', target: 'budget/lab' },
      { policy: 'budget-brake', action: 'RefuseLaunches', target: 'team/lab' },
      { policy: 'budget-brake', action: 'Stop', target: 'train' },
    ]);
    const stop = all.find(({ action }) => action === 'Stop')!;
    // Two instances at 55.04 dollars for the hours left of the quarter, which are more than a month of 730.
    expect(stop).toMatchObject({
      mode: 'approve',
      document: 'brake',
      estimatedMonthlySavings: (2 * 55.04 * 730).toFixed(2),
      estimatedMonthlyCost: (2 * 55.04 * 730).toFixed(2),
      estimatedSavingsPercentage: 100,
      evidence: [{ what: 'the budget lab' }],
    });
    expect(all.find(({ action }) => action === 'RefuseLaunches')).toMatchObject({
      estimatedMonthlySavings: null,
      estimatedMonthlySavingsNanos: null,
      estimatedMonthlyCost: null,
      estimatedSavingsPercentage: null,
    });
    expect(
      (await stores.recommendations.list('default', { team: 'lab', status: 'superseded' }, null, 10)).map(
        ({ policy }) => policy,
      ),
    ).toEqual(['reserve-baseline']);
  });

  it('lets one policy win on a target, and keeps the other on it', async () => {
    await apply({ name: 'shift', policy: 'spot-shift', priority: 100 });
    const stop = (await open()).find(({ target }) => target === 'train');
    expect(stop).toMatchObject({
      action: 'Stop',
      insteadOf: [
        {
          document: 'shift',
          policy: 'spot-shift',
          action: 'MoveToSpot',
          target: 'train',
          estimatedMonthlySavings: null,
          because: 'action',
        },
      ],
    });
  });

  it('lifts the brake by itself when the budget grows', async () => {
    await db.transaction((tx) =>
      setBudget(stores, tx, 'default', { ...BUDGET, planned: { default: '10000000', periods: {} } }, NOW),
    );
    await bursar.runner.drain();
    expect((await open()).map(({ action, target }) => `${action} ${target}`)).toEqual(['MoveToSpot train']);
  });

  it('keeps what is observed apart', async () => {
    await apply({ name: 'shift', policy: 'spot-shift', mode: 'observe' });
    expect(await open()).toEqual([]);
    const [observed] = await open('observed');
    expect(observed).toMatchObject({ action: 'MoveToSpot', status: 'observed', mode: 'observe' });
    await expect(
      db.transaction((tx) => stores.recommendations.decide(tx, 'default', observed!.id, 'approved', 'test', NOW)),
    ).rejects.toThrow('is observed, not open');
    await apply({ name: 'shift', policy: 'spot-shift' });
    expect((await open()).map(({ id }) => id)).toEqual([observed!.id]);
  });

  it('does not know a fleet that nobody has reported for a while', async () => {
    bursar.clock.at = NOW + 16 * MINUTE_MS;
    await apply({ name: 'shift', policy: 'spot-shift', priority: 1 });
    expect(await open()).toEqual([]);
    bursar.clock.at = NOW;
  });

  it('enforces only what was backtested with these parameters on this team, or what somebody answers for', async () => {
    const value = { name: 'shift', policy: 'spot-shift', mode: 'enforce' };
    await expect(apply(value)).rejects.toMatchObject({
      kind: 'conflict',
      problems: [{ path: 'mode', message: expect.stringContaining('lab has no backtest') as string }],
    });
    const document = readPolicyDocument({ teams: ['lab'], ...value }, policies);
    const version = policies.find(({ name }) => name === 'spot-shift')!.version;
    const saved = {
      fingerprint: fingerprintOf(document, version),
      policy: 'spot-shift',
      policyVersion: version,
      team: 'lab',
      from: MONDAY,
      to: NOW,
      result: {},
    };
    await db.transaction((tx) =>
      stores.policies.saveBacktest(
        tx,
        'default',
        { ...saved, fingerprint: fingerprintOf({ ...document, params: {} }, version) },
        'test',
        NOW,
      ),
    );
    await expect(apply(value)).rejects.toMatchObject({ kind: 'conflict' });
    await db.transaction((tx) => stores.policies.saveBacktest(tx, 'default', saved, 'test', NOW));
    await apply(value);
    expect((await stores.policies.known(db, 'default', 'shift')).mode).toBe('enforce');
    await apply({ ...value, params: { stableMinutes: 5 } }, 'the team lead has asked for it');
  });

  it('sees leases, metrics and spot as they were saved', async () => {
    await db.transaction(async (tx) => {
      await stores.workloads.saveLease(tx, 'default', 'lab', {
        lease: 'l1',
        target: 'i-lent',
        holder: 'ada',
        gpus: 8,
        startedAt: MONDAY,
        expiresAt: NOW - HOUR_MS,
        active: true,
        provider: 'AWS',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        gpuModel: null,
      });
      await stores.workloads.saveMetrics(tx, 'default', [
        { workload: 'train', name: 'scaling_efficiency_ratio', at: NOW - 2 * MINUTE_MS + 1, value: 0.9 },
      ]);
      await stores.workloads.saveSpot(
        tx,
        'default',
        [0, 1, 3].map((n) => ({
          provider: 'AWS',
          region: 'us-east-1',
          gpuModel: 'H100',
          at: NOW - (4 - n) * 10 * MINUTE_MS,
          available: n !== 1,
        })),
      );
    });
    const view = await stores.views.view(
      db,
      'default',
      'lab',
      'USD',
      NOW,
      await stores.prices.book(db, 'default'),
      await stores.organisations.peak(db, 'default'),
    );
    expect(view.leases).toMatchObject([{ lease: 'l1', hourlyNanos: 55_040_000_000n }]);
    expect(view.workloads[0]?.metrics['scaling_efficiency_ratio']?.values.slice(-3)).toEqual([null, 0.9, null]);
    expect(view.spotMarkets).toMatchObject([{ tickSeconds: 600, available: [true, false, null, true] }]);
    expect(
      view.offers
        .filter(({ sku, region }) => sku === 'p5.48xlarge' && region === 'us-east-1')
        .map(({ term }) => term)
        .sort(),
    ).toEqual(['on-demand', 'spot']);
    expect(view.budgets).toMatchObject([
      { budget: { id: 'lab' }, state: { status: 'planned', planned: 10_000_000_000_000_000n } },
    ]);
  });
});

describe('spot readings', () => {
  it('are forgotten with new ones of their market, after 400 days; those of another stay until it is read again', async () => {
    const { db, stores } = await testBursar();
    const reading = (region: string, at: number) => ({
      provider: 'AWS',
      region,
      gpuModel: 'H100',
      at,
      available: true,
    });
    const old = NOW - 401 * DAY_MS;
    await db.transaction((tx) =>
      stores.workloads.saveSpot(tx, 'default', [
        reading('us-east-1', old),
        reading('us-east-1', NOW - 399 * DAY_MS),
        reading('us-west-2', old),
      ]),
    );
    await db.transaction((tx) => stores.workloads.saveSpot(tx, 'default', [reading('us-east-1', NOW)]));
    await db.transaction((tx) => stores.workloads.saveSpot(tx, 'other', [reading('us-west-2', NOW)]));
    const kept = await stores.workloads.spotMarkets(db, 'default', NOW, 1000);
    expect(
      kept.map(({ region, from, available }) => [region, from, available.filter((one) => one !== null).length]),
    ).toEqual([
      ['us-east-1', NOW - 399 * DAY_MS, 2],
      ['us-west-2', old, 1],
    ]);
  });
});

describe('the doors of policies', async () => {
  const api = await testApi();
  let folder = '';
  const ending = new AbortController();
  let working = Promise.resolve();
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-policies-'));
    working = (async () => {
      for (; !ending.signal.aborted; await pause(50)) await drained(api.stores);
    })();
  });
  afterAll(async () => {
    ending.abort();
    await working;
    await rm(folder, { recursive: true, force: true });
  });

  const bursar = async (isRemote: boolean, ...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
    let [out, err] = ['', ''];
    const code = await run(argv, {
      environment: {},
      clock: { now: () => NOW },
      parseYaml,
      remote: isRemote ? { url: api.url, apiKey: api.admin } : null,
      serve: async () => undefined,
      stdout: { write: (text) => (out += text) },
      stderr: { write: (text) => (err += text) },
      connect: async () =>
        localOf({ stores: api.stores, policies, drain: () => drained(api.stores) }, { now: () => NOW }),
    });
    return { code, out, err };
  };
  /** No line runs here: what waits is taken away, as if a worker had done it. */
  const drained = async (stores: typeof api.stores): Promise<void> => void (await stores.db.query(`delete from work`));
  const file = async (text: string): Promise<string> => {
    const name = path.join(folder, 'policy.yaml');
    await writeFile(name, text);
    return name;
  };
  const BRAKE = 'name: brake\npolicy: budget-brake\nteams: [lab]\nmode: recommend\nparams:\n  restartHours: 0.5\n';

  it.each([[false], [true]])('validate, apply, show, pause and resume (through the API: %s)', async (isRemote) => {
    const json = async <T>(...argv: string[]): Promise<T> => {
      const { code, out, err } = await bursar(isRemote, 'policies', ...argv, '--json');
      expect({ argv, code, err }).toEqual({ argv, code: 0, err: '' });
      return JSON.parse(out) as T;
    };
    const listed = await json<{
      policies: { name: string; parameters: { properties: object } }[];
      documents: { name: string }[];
    }>('list');
    expect(listed.policies.map(({ name }) => name)).toEqual(policies.map(({ name }) => name));
    expect(listed.policies.find(({ name }) => name === 'idle-stop')?.parameters.properties).toMatchObject({
      restartMinutes: { default: 10, description: 'Minutes until a stopped resource works again' },
    });
    expect(await json('validate', await file(BRAKE))).toMatchObject({
      valid: true,
      problems: [],
      document: { params: { historyDays: 14 } },
    });
    const wrong = await bursar(
      isRemote,
      'policies',
      'validate',
      await file('name: x y\npolicy: guess\nteams: []\nmode: now\n'),
    );
    expect(wrong.code).toBe(1);
    for (const field of ['name', 'policy', 'teams', 'mode']) expect(wrong.out).toMatch(new RegExp(`^ +${field} `, 'm'));
    const [first, again] = [
      await json<{ document: { version: number } }>('apply', await file(BRAKE)),
      await json<{ document: { version: number } }>('apply', await file(BRAKE)),
    ];
    expect(again).toEqual(first);
    expect(await json('pause', 'brake')).toMatchObject({
      document: { paused: true, version: first.document.version + 1 },
    });
    expect(await json('pause', 'brake')).toMatchObject({
      document: { paused: true, version: first.document.version + 1 },
    });
    expect(await json('resume', 'brake')).toMatchObject({ document: { paused: false } });
    expect(await json('show', 'brake')).toMatchObject({ document: { name: 'brake', params: { restartHours: 0.5 } } });
    expect((await bursar(isRemote, 'policies', 'show', 'nothing')).code).toBe(1);
    const enforce = await bursar(isRemote, 'policies', 'apply', await file(BRAKE.replace('recommend', 'enforce')));
    expect(enforce).toMatchObject({
      code: 1,
      err: expect.stringContaining('lab has no backtest of budget-brake') as string,
    });
    expect(
      await json(
        'apply',
        await file(BRAKE.replace('recommend', 'enforce')),
        '--without-backtest',
        'it is an emergency',
      ),
    ).toMatchObject({ document: { mode: 'enforce' } });
    const [entry] = await api.stores.audit.list('default', null, 1);
    expect(entry).toMatchObject({
      verb: 'policy.apply',
      target: 'brake',
      detail: { override: 'it is an emergency', withoutBacktest: ['lab'] },
    });
    await json('apply', await file(BRAKE));
  });

  it('answer problem+json with every problem, and the same answer to the same key', async () => {
    const bad = await api.call<{ problems: { path: string }[] }>('PUT', '/v1/policies/x', {
      body: { policy: 'idle-stop', teams: '*', mode: 'now', params: { a: 1 } },
    });
    expect(bad.status).toBe(400);
    expect(JSON.stringify(bad.body)).toMatch(/"mode".*params/);
    const headers = { 'idempotency-key': 'one' };
    const body = { policy: 'lease', teams: '*', mode: 'observe' };
    const first = await api.call('PUT', '/v1/policies/leases', { body, headers });
    expect(first.status).toBe(200);
    expect((await api.call('PUT', '/v1/policies/leases', { body, headers })).body).toEqual(first.body);
    expect((await api.call('PUT', '/v1/policies/leases', { body: { ...body, mode: 'approve' }, headers })).status).toBe(
      409,
    );
  });

  it('hold a key to its teams, and an override to the role admin', async () => {
    const lab = await api.keyFor({ role: 'operator', teams: ['lab'] });
    const put = (name: string, body: object): Promise<{ status: number }> =>
      api.call('PUT', `/v1/policies/${name}`, { key: lab, body });
    expect((await put('mine', { policy: 'lease', teams: ['lab'], mode: 'recommend' })).status).toBe(200);
    expect((await put('theirs', { policy: 'lease', teams: ['vision'], mode: 'recommend' })).status).toBe(403);
    expect((await put('all', { policy: 'lease', teams: '*', mode: 'recommend' })).status).toBe(403);
    expect((await put('leases', { policy: 'lease', teams: ['lab'], mode: 'recommend' })).status).toBe(403);
    expect((await put('mine', { policy: 'lease', teams: ['lab'], mode: 'enforce', override: 'because' })).status).toBe(
      403,
    );
    expect((await api.call('POST', '/v1/policies/leases/pause', { key: lab })).status).toBe(403);
    const seen = await api.call<{ items: { name: string }[] }>('GET', '/v1/policies', {
      key: await api.keyFor({ role: 'viewer', teams: ['vision'] }),
    });
    expect(seen.body.items.map(({ name }) => name)).toEqual(['leases']);
  });
});
