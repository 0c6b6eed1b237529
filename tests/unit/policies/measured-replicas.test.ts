/**
 * Replicas of which nothing was measured: they bring no others, and take none away. The rule is that of Kubernetes'
 * autoscaler (replica_calculator.go, missing pods), for every policy that acts by a measure of GPUs.
 */
import { describe, expect, it } from 'vitest';
import type { FleetFacts, MinuteSeries, Policy, WorkloadView } from '../../../src/core/policy/policy.js';
import { AS_OF, exampleView, minutes, ofGpus, steady, workload } from '../../../src/policies/estimating/examples.js';
import { policy as mix } from '../../../src/policies/mix.js';
import { policy as ramp } from '../../../src/policies/ramp.js';
import { policy as steps } from '../../../src/policies/step-scaling.js';
import { policy as tracking } from '../../../src/policies/target-tracking.js';

const fleet = (ready: number, over: Partial<FleetFacts> = {}): FleetFacts => ({
  ready,
  booting: 0,
  minReplicas: 1,
  maxReplicas: 6,
  changedAt: AS_OF - 3_600_000,
  ...over,
});

const group = (facts: FleetFacts, series: MinuteSeries, over: Partial<WorkloadView> = {}): WorkloadView =>
  workload('asg/serve', {
    fleet: facts,
    metrics: { gpu_utilisation_ratio: series, memory_used_ratio: series },
    ...over,
  });

const numberOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const asked = <Params>(policy: Policy<Params>, one: WorkloadView, params: unknown) => {
  const given = policy.params.parse(params);
  const view = exampleView({ workloads: [one] });
  const [look] = policy.explain?.(view, given) ?? [];
  return {
    replicas: numberOf(policy.evaluate(view, given)[0]?.change?.['replicas']),
    saw: look?.saw ?? [],
    left: look?.leftAlone?.code ?? null,
  };
};

const SEVENTY = { target: { value: 0.7 } };
const tracked = (ready: number, value: number, gpus: number, over: Partial<WorkloadView> = {}) =>
  asked(tracking, group(fleet(ready), ofGpus(value, gpus), over), SEVENTY);

describe('a target', () => {
  it('is not followed to the maximum where one member is measured and none that comes is', () => {
    let size = 1;
    for (let look = 0; look < 10; look++) size = tracked(size, 0.88, 1).replicas ?? size;
    expect(size).toBe(2);
  });

  it.each<[string, number, number, number, number | null]>([
    // 1.0 / 0.7 x 3 / 4 = 1.07: within the tolerance.
    ['three of four at 100 %', 4, 1, 3, null],
    // 1.0 / 0.7 x 5 / 6 = 1.19, x 6 = 7.1, of at most 6.
    ['four of five at 100 %', 5, 1, 4, 6],
    ['all four at 88 %', 4, 0.88, 4, 6],
    // (0.05 x 3 + 1) / 0.7 / 4 = 0.41, x 4 = 1.6.
    ['three of four at 5 %', 4, 0.05, 3, 2],
    // (0.05 + 3) / 0.7 / 4 = 1.09: the other way.
    ['one of four at 5 %', 4, 0.05, 1, null],
    ['all four at 5 %', 4, 0.05, 4, 1],
    // Two of the four leave and do nothing: the others are at 65 %.
    ['two, with two that leave, at 32.5 %', 2, 0.325, 4, null],
    ['one, with three that leave, at 25 %', 1, 0.25, 4, null],
    // 0.2 of 2 at most.
    ['two, with two that leave, at 5 %', 2, 0.05, 4, 1],
    // 3.6 - 2 of 2 at least: 0.8 / 0.7 x 2 = 2.3.
    ['two, with two that leave, at 90 %', 2, 0.9, 4, 3],
    ['two, with two that leave, at 75 %', 2, 0.75, 4, null],
  ])('%s', (_, ready, value, gpus, replicas) => {
    expect(tracked(ready, value, gpus).replicas).toBe(replicas);
  });

  it('says how many were measured, and what is assumed of the others', () => {
    expect(tracked(4, 0.88, 1)).toMatchObject({
      left: 'not-all-measured',
      saw: [
        'gpu_utilisation_ratio is 0.88 of 0.7 wanted, on 4 replicas: 4 would hold it',
        '1 of 4 ready replicas were measured (1 GPUs): the others count as idle before replicas are added, and as wholly used before any is taken away',
      ],
    });
    expect(tracked(4, 0.88, 4).saw).toHaveLength(1);
  });

  it('counts the GPUs of a replica, and does nothing where nobody knows how many those are', () => {
    // 12 of 32 GPUs: one and a half of four.
    expect(tracked(4, 1, 12, { gpusPerReplica: 8 })).toMatchObject({ replicas: null, left: 'not-all-measured' });
    expect(tracked(4, 1, 32, { gpusPerReplica: 8 }).replicas).toBe(6);
    expect(tracked(4, 1, 4, { gpusPerReplica: null })).toMatchObject({ replicas: null, left: 'gpus-unknown' });
  });

  it('says whose bound keeps it', () => {
    const kept = (ready: number, value: number, over: Partial<FleetFacts>, target: object) => {
      const one = group(fleet(ready, over), ofGpus(value, ready));
      const view = exampleView({ workloads: [one] });
      const given = tracking.params.parse({ target: { value: 0.7, ...target } });
      return tracking.explain?.(view, given)[0]?.leftAlone?.message;
    };
    expect(kept(1, 0, { minReplicas: 0 }, {})).toMatch(/^a target keeps one replica/);
    expect(kept(2, 0, { minReplicas: 2 }, {})).toBe('its own minimum of 2 keeps it');
    expect(kept(2, 0, { minReplicas: 0 }, { minReplicas: 2 })).toBe("the document's minReplicas of 2 keeps it");
    expect(kept(6, 1, {}, {})).toBe('its own maximum of 6 keeps it');
    expect(kept(4, 1, {}, { maxReplicas: 4 })).toBe("the document's maxReplicas of 4 keeps it");
  });

  it('takes what somebody sends as said of all', () => {
    const sent = group(fleet(4), minutes(steady(1, 10)), { gpusPerReplica: null });
    expect(asked(tracking, sent, SEVENTY).replicas).toBe(6);
  });

  it('keeps what one minute of the window asked for with the replicas that were not measured in it', () => {
    const series = { ...minutes(steady(0.05, 10)), measuredGpus: [4, 4, 4, 4, 4, 4, 4, 1, 4, 4] };
    expect(asked(tracking, group(fleet(4), series), SEVENTY)).toMatchObject({ replicas: null, left: 'stabilisation' });
  });

  it('counts replicas that boot as idle too, and acts on none that are ready', () => {
    // 1 / 0.7 x 3 / (4 + 1) = 0.86: the other way.
    const booting = fleet(4, { booting: 1 });
    expect(asked(tracking, group(booting, ofGpus(1, 3)), SEVENTY).replicas).toBeNull();
    const none = fleet(0, { booting: 4 });
    expect(asked(tracking, group(none, ofGpus(0.05, 4)), SEVENTY)).toMatchObject({ replicas: null, left: 'no-size' });
  });

  it('is not held by a sum over the replicas, which would never come down', () => {
    const one = { ...group(fleet(2), ofGpus(0.5, 2)), metrics: { requests_per_second: ofGpus(500, 2) } };
    expect(asked(tracking, one, { target: { metric: 'requests_per_second', value: 50 } })).toMatchObject({
      replicas: null,
      left: 'a-sum',
    });
  });
});

it.each<[string, number, number, number | null]>([
  ['all busy', 0.9, 4, 6],
  ['three of four busy: 68 % at least', 0.9, 3, null],
  ['all idle', 0.1, 4, 3],
  ['three of four idle: 33 % at most', 0.1, 3, null],
  ['four and two that leave, idle: 30 % at most', 0.2, 6, null],
  ['four and two that leave, busy: 70 % at least', 0.8, 6, 6],
  ['four and two that leave, busy: 60 % at least', 0.7333, 6, null],
])('steps, %s', (_, value, gpus, replicas) => {
  const one = asked(steps, group(fleet(4), ofGpus(value, gpus)), {});
  expect(one.replicas).toBe(replicas);
  expect(one.saw.join()).toMatch(
    gpus === 4 ? /minutes$/ : gpus === 3 ? /3 of 4 ready replicas were measured/ : /of 6 replicas, and 4 are ready/,
  );
});

describe('a load that is summed of its replicas', () => {
  const load = (gpus: (minute: number) => number): WorkloadView => ({
    ...workload('chat', {
      fleet: fleet(10, { maxReplicas: 20, changedAt: AS_OF - 60 * 60_000 }),
      service: {
        bootMinutes: 3,
        capacityPerReplica: 100,
        load: { ...minutes(steady(150, 120)), measuredGpus: Array.from({ length: 120 }, (_, n) => gpus(n)) },
      },
    }),
  });
  const forecast = (gpus: (minute: number) => number) => asked(tracking, load(gpus), { windowMinutes: 120 });

  it('takes no replica away where one was not measured', () => {
    expect(forecast(() => 10).replicas).toBeLessThan(10);
    expect(forecast((n) => (n === 100 ? 9 : 10))).toMatchObject({ replicas: null, left: 'not-all-measured' });
    // Before the size last changed, and while what came then still booted, there were fewer.
    expect(forecast((n) => (n < 63 ? 4 : 10)).replicas).toBeLessThan(10);
  });

  it('says nothing of the cheapest mix either', () => {
    const known = mix.examples.find(
      ({ proposes, view }) => proposes.length > 0 && (view.workloads[0]?.service ?? null) !== null,
    )!;
    const given = mix.params.parse(known.params);
    const [one] = known.view.workloads;
    const measured = (gpus: number) => ({
      ...known.view,
      workloads: [
        {
          ...one!,
          gpusPerReplica: 1,
          fleet: fleet(4),
          service: {
            ...one!.service!,
            load: { ...one!.service!.load, measuredGpus: one!.service!.load.values.map(() => gpus) },
          },
        },
      ],
    });
    expect([4, 3].map((gpus) => mix.evaluate(measured(gpus), given).length)).toEqual([1, 0]);
  });
});

it('no training grows by the one GPU that is busy', () => {
  const training = (gpus: number): WorkloadView =>
    workload('train', {
      kind: 'training',
      fleet: fleet(2, { maxReplicas: 64 }),
      job: {
        startedAt: AS_OF - 3_600_000,
        deadline: null,
        workHours: null,
        workLeftHours: 10,
        restartHours: 0,
        resizable: true,
      },
      metrics: { gpu_utilisation_ratio: ofGpus(0.9, gpus) },
    });
  const params = { metric: 'gpu_utilisation_ratio', worthFrom: 0.8, signalMinutes: 10, startGpus: 2, fullGpus: 8 };
  expect(asked(ramp, training(2), params).replicas).toBe(8);
  expect(asked(ramp, training(1), params).left).toBe('no-signal');
});
