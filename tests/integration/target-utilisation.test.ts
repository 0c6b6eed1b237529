/**
 * "Target tracking 70 %" as a document states it, on a group of the fleet and the metrics that somebody sends: by CPU,
 * between a least and a most, and not where an autoscaler of the group's own cloud follows a target already.
 */
import { expect, it } from 'vitest';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { policy as tracking } from '../../src/policies/target-tracking.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { takeSamples } from '../../src/application/fleet/take-samples.js';
import type { GpuSample } from '../../src/core/ports.js';
import { explain } from '../../src/application/policy/explain.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { enqueue } from '../../src/store/work.js';
import { testBursar } from '../support/bursar.js';
import { group, instance } from '../support/memory-cloud.js';
import { gpuSample } from '../support/makers.js';

const NOW = Date.UTC(2026, 10, 18, 12);
const MINUTE = 60_000;
const policies = [tracking] as unknown as readonly Policy[];

async function looked(over: Partial<FleetTarget>, values: readonly number[]) {
  const { db, stores, runner } = await testBursar({ policies, now: NOW, targets: new FleetStore() });
  const target = group('serve', 4, over);
  const read = (at: number) =>
    stores.fleet.save(db, 'default', 'cloud', { at, targets: [target], complete: true, problems: [] }, () => 'lab', [
      'scale',
    ]);
  await read(NOW - 60 * MINUTE);
  await read(NOW);
  await db.transaction(async (tx) => {
    await stores.workloads.saveMetrics(
      tx,
      'default',
      values.map((value, n) => ({
        workload: 'asg/serve',
        name: 'cpu_utilisation_ratio',
        at: NOW - (values.length - n) * MINUTE,
        value,
      })),
    );
    const params = { target: { metric: 'cpu_utilisation_ratio', value: 0.7, minReplicas: 2, maxReplicas: 8 } };
    const document = readPolicyDocument(
      { name: 'seventy', policy: 'target-tracking', teams: ['lab'], mode: 'recommend', params },
      policies,
    );
    await applyPolicy(stores, tx, 'default', policies, { document, override: null }, 'author', NOW);
    await enqueue(tx, 'default', [{ stage: 'recommendation.make', partition: 'lab', key: 'lab' }]);
  });
  await runner.drain();
  const made = await stores.recommendations.list('default', {}, null, 10);
  const { looks } = await explain(stores, policies, 'default', 'asg/serve', NOW);
  return {
    made: made.map(({ action, change }) => [action, change['replicas']]),
    left: looks.map(({ leftAlone }) => leftAlone?.code ?? null),
    why: looks[0]?.leftAlone?.message ?? looks[0]?.saw.join(),
  };
}

const sampleOf = (name: string, at: number, gpuUtilisationRatio: number): GpuSample =>
  gpuSample({
    resource: name,
    gpu: `GPU-${name}`,
    gpuModel: null,
    at,
    exporter: `dcgm/${name}`,
    gpuUtilisationRatio,
    labels: { instance_id: name },
  });

const steady = (value: number): number[] => new Array<number>(10).fill(value);

it('as many replicas as bring the CPU to 70 %, within the bounds of the document', async () => {
  expect(await looked({}, steady(1))).toEqual({
    made: [['ScaleOut', 6]],
    left: [null],
    why: 'cpu_utilisation_ratio is 1 of 0.7 wanted, on 4 replicas: 6 would hold it',
  });
  expect((await looked({}, steady(0.05))).made).toEqual([['ScaleIn', 2]]);
  expect((await looked({}, steady(0.72))).left).toEqual(['as-wanted']);
  expect((await looked({}, [...steady(0.1), 0.7, 0.1])).left).toEqual(['stabilisation']);
});

it('measures those in service alone: what leaves, boots or stands by does none of its work', async () => {
  const { db, stores } = await testBursar({ policies, now: NOW, targets: new FleetStore() });
  const label = { 'aws:autoscaling:groupName': 'serve' };
  const member = (name: string, over: Partial<FleetTarget> = {}): FleetTarget =>
    instance(name, { target: `instance/${name}`, labels: label, gpus: 1, gpuModel: null, ...over });
  const use = { a: 0.65, b: 0.65, c: 0, d: 0 };
  const minute = async (at: number, away: Partial<FleetTarget>) => {
    const targets = [
      group('serve', 2, { gpus: 1 }),
      ...(['a', 'b'] as const).map((name) => member(name)),
      ...(['c', 'd'] as const).map((name) => member(name, away)),
    ];
    const reading = { at, targets, complete: true, problems: [] };
    await stores.fleet.save(db, 'default', 'cloud', reading, () => 'lab');
    await db.transaction((tx) =>
      takeSamples(
        stores,
        tx,
        'default',
        'dcgm',
        Object.entries(use).map(([name, ratio]) => sampleOf(name, at + 1000, ratio)),
      ),
    );
    const [workload] = await stores.workloads.workloads(db, 'default', 'lab', at + MINUTE);
    const series = workload?.metrics['gpu_utilisation_ratio'];
    return [series?.values.at(-1), series?.measuredGpus?.at(-1)];
  };
  expect(await minute(NOW, {})).toEqual([0.325, 4]);
  expect(await minute(NOW + MINUTE, { outOfService: 'LifecycleState Standby' })).toEqual([0.65, 2]);
  expect((await explain(stores, policies, 'default', 'instance/c', NOW + MINUTE)).known.join()).toContain(
    'its group does not count it among those in service (LifecycleState Standby)',
  );
});

it.each<[string, Partial<FleetTarget>]>([
  ['the HorizontalPodAutoscaler serve', { followedBy: 'the HorizontalPodAutoscaler serve' }],
  [
    "the group's own policy cpu70",
    { group: { protectedMembers: 0, suspended: [], hooks: [], policies: [{ name: 'cpu70', follows: true }] } },
  ],
])('%s is not fought, and that is said', async (name, over) => {
  expect(await looked(over, steady(1))).toEqual({
    made: [],
    left: ['followed'],
    why: `${name} sets its size already, and two would undo each other`,
  });
});
