/**
 * Metrics that a workload's owner sends: taken whole or not at all, seen by the team's policies, hidden from others,
 * and forgotten with the samples.
 */
import { beforeAll, expect, it } from 'vitest';
import type { WorkloadFacts } from '../../src/store/workload/recorded-jobs.js';
import { NOW, testApi } from '../support/web.js';
import { workloadFacts } from '../support/makers.js';

const api = await testApi();
const MINUTE = 60_000;
const facts = (workload: string): WorkloadFacts => workloadFacts({ workload, fleet: null });
const point = (minutesAgo: number, value: number, over: object = {}): object => ({
  workload: 'trainer',
  name: 'scaling_efficiency_ratio',
  at: new Date(NOW - minutesAgo * MINUTE).toISOString(),
  value,
  ...over,
});
const send = (points: readonly object[], over: { readonly team?: string; readonly key?: string } = {}) => {
  const { team = 'red', key } = over;
  return api.call('POST', '/v1/workload-metrics', { body: { team, points }, ...(key === undefined ? {} : { key }) });
};
const known = async (team: string, key?: string) =>
  api.call<{ items: unknown[] }>('GET', `/v1/workload-metrics?team=${team}`, key === undefined ? {} : { key });

beforeAll(async () => {
  const { stores } = api;
  await stores.db.transaction(async (tx) => {
    await stores.workloads.save(tx, 'default', 'red', facts('trainer'), NOW);
    await stores.workloads.save(tx, 'default', 'blue', facts('theirs'), NOW);
  });
});

it('are taken, the last of a minute holds, and policies see them', async () => {
  expect(
    (
      await send([
        point(3, 0.7),
        point(2, 0.8),
        point(2, 0.85),
        point(1, 0.9),
        point(1, 12, { name: 'tokens_per_second' }),
      ])
    ).body,
  ).toEqual({ accepted: 5 });
  expect((await known('red')).body.items).toEqual([
    {
      team: 'red',
      workload: 'trainer',
      name: 'scaling_efficiency_ratio',
      minutes: 3,
      at: new Date(NOW - MINUTE).toISOString().replace('.000', ''),
      value: 0.9,
    },
    {
      team: 'red',
      workload: 'trainer',
      name: 'tokens_per_second',
      minutes: 1,
      at: new Date(NOW - MINUTE).toISOString().replace('.000', ''),
      value: 12,
    },
  ]);
  const [seen] = await api.stores.workloads.workloads(api.stores.db, 'default', 'red', NOW);
  expect(seen?.metrics['scaling_efficiency_ratio']?.values.slice(-4)).toEqual([null, 0.7, 0.85, 0.9]);
  const [enqueued] = await api.stores.db.query<{ wanted: string }>(
    `select wanted::text from work where organisation = 'default' and stage = 'recommendation.make' and key = 'red'`,
  );
  expect(Number(enqueued?.wanted)).toBeGreaterThan(0);
});

it('are refused whole, with every problem named', async () => {
  const refused = await send([
    point(1, 1),
    point(1, 1, { workload: 'theirs' }),
    point(1, 1, { workload: 'nobody' }),
    point(-10, 1),
    point(1, 0.5, { name: 'gpu_utilisation_ratio' }),
  ]);
  expect(refused.status).toBe(400);
  for (const place of ['points/1/workload', 'points/2/workload', 'points/3/at', 'points/4/name'])
    expect(refused.text).toContain(place);
  expect(refused.text).not.toContain('points/0');
  const shapeless = await send([{ workload: '', name: 'not a name', at: 'now', value: 'high' }]);
  expect(shapeless.status).toBe(400);
  for (const place of ['workload', 'name', 'at', 'value']) expect(shapeless.text).toContain(place);
  expect((await known('red')).body.items).toHaveLength(2);
});

it('are for keys of their team, which may write', async () => {
  const red = await api.keyFor({ role: 'operator', teams: ['red'] });
  expect((await send([point(1, 0.9)], { key: red })).status).toBe(200);
  expect((await send([point(1, 0.9, { workload: 'theirs' })], { key: red, team: 'blue' })).status).toBe(403);
  expect((await known('blue', red)).status).toBe(403);
  await send([point(1, 0.1, { workload: 'theirs' })], { team: 'blue' });
  const all = async (key?: string): Promise<string[]> =>
    (
      await api.call<{ items: { team: string }[] }>('GET', '/v1/workload-metrics', key === undefined ? {} : { key })
    ).body.items.map(({ team }) => team);
  expect([await all(), await all(red)]).toEqual([
    ['blue', 'red', 'red'],
    ['red', 'red'],
  ]);
  expect((await send([point(1, 0.9)], { key: await api.keyFor({ role: 'viewer', teams: ['red'] }) })).status).toBe(403);
});

it('are forgotten with the samples', async () => {
  const { stores } = api;
  await send([point(60 * 24 * 40, 0.5)]);
  const count = async (): Promise<number> =>
    Number(
      (
        await stores.db.query<{ n: string }>(`select count(*) as n from workload_metric where organisation = 'default'`)
      )[0]?.n,
    );
  expect(await count()).toBe(6);
  await stores.db.transaction((tx) => stores.samples.purge(tx, 'default', 30, NOW));
  expect(await count()).toBe(5);
});
