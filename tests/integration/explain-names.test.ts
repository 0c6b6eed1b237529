/**
 * Names from outside may be names that every object has from its prototype: machines, SKUs, models, tags and teams are
 * called so here, and nothing stops by it. And a report of a team that is removed before it is made parks nothing.
 */
import { beforeAll, expect, it } from 'vitest';
import { takeSamples } from '../../src/application/fleet/take-samples.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { gpuSample } from '../support/makers.js';
import { instance } from '../support/memory-cloud.js';
import { NOW, testApi } from '../support/web.js';

const NAMES = ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'];
const api = await testApi();

const drain = (): Promise<void> => {
  const clock = { now: () => NOW };
  return new Runner(api.stores.db, api.stores.work, clock, makeLine(api.stores, api.policies)).drain();
};

beforeAll(async () => {
  const { call } = api;
  for (const name of NAMES) {
    expect((await call('PUT', `/v1/teams/${name}`, { body: {} })).status).toBe(200);
    const body = { planned: { default: '100' }, team: name, thresholds: [{ kind: 'actual', ratio: '0.5' }] };
    expect((await call('PUT', `/v1/budgets/${name}`, { body })).status, name).toBe(200);
  }
  const rules = NAMES.map((name) => ({ match: { namespace: name }, team: name }));
  expect((await call('PUT', '/v1/rules', { body: { rules } })).status).toBe(200);
  const document = { policy: 'idle-stop', teams: NAMES, mode: 'recommend' };
  expect((await call('PUT', '/v1/policies/idle', { body: document })).status).toBe(200);
  const records = NAMES.map((name, n) => ({
    id: `r${n}`,
    provider: name,
    resource: name,
    namespace: name,
    sku: name,
    region: name,
    account: name,
    gpuModel: name,
    gpus: 1,
    tags: { constructor: name, [`x-${name}`]: name },
    start: new Date(NOW - 3 * HOUR_MS).toISOString(),
    end: new Date(NOW - 2 * HOUR_MS).toISOString(),
  }));
  const sent = await call('POST', '/v1/usage?source=constructor', { body: { records } });
  expect([sent.status, sent.body]).toMatchObject([200, { accepted: 5, rejects: [] }]);
  await api.stores.db.transaction(async (tx) => {
    const targets = NAMES.map((name) => ({ ...instance(name), name, launchedAt: NOW - 100 * HOUR_MS }));
    const inventory = { at: NOW - MINUTE_MS, complete: true, problems: [], targets };
    await api.stores.fleet.save(tx, 'default', 'lab', inventory, ({ target }) => target.split('/')[1] ?? '');
    const samples = NAMES.flatMap((resource) =>
      Array.from({ length: 60 }, (_, n) =>
        gpuSample({ resource, gpu: 'GPU-1', at: NOW - n * MINUTE_MS, gpuUtilisationRatio: 0, labels: {} }),
      ),
    );
    await takeSamples(api.stores, tx, 'default', 'constructor', samples);
  });
  await drain();
});

it('are allocated, evaluated and explained like any others', async () => {
  expect(await api.stores.work.parked('default')).toEqual([]);
  const days = await api.stores.db.query<{ team: string }>(`select distinct team from cost_day order by team`);
  expect(days.map(({ team }) => team)).toEqual(NAMES.toSorted());
  for (const name of NAMES) {
    const target = await api.call<{ looks?: unknown[] }>('GET', `/v1/explain?target=instance/${name}`);
    expect([name, target.status, target.text.includes('is replacing') || target.text.includes('has ended')]).toEqual([
      name,
      200,
      false,
    ]);
    for (const asked of [`target=${name}`, `team=${name}`, `budget=${name}`])
      expect([200, 400, 404], `${asked}`).toContain((await api.call('GET', `/v1/explain?${asked}`)).status);
    const costs = await api.call(
      'GET',
      `/v1/costs?from=2026-10-01&to=2026-11-01&group-by=sku,tag:constructor&team=${name}`,
    );
    expect([200, 400], costs.text).toContain(costs.status);
  }
});

it('a report of a team that was removed meanwhile is dropped', async () => {
  await api.call('PUT', '/v1/teams/short-lived', { body: {} });
  const body = { team: 'short-lived', month: '2026-09' };
  expect((await api.call('POST', '/v1/reports', { body })).status).toBe(200);
  expect((await api.call('DELETE', '/v1/teams/short-lived')).status).toBe(200);
  await drain();
  expect(await api.stores.work.parked('default')).toEqual([]);
});
