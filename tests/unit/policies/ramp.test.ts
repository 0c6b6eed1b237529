/** ramp at its sizes and its signal: what grows, what starts small, what is kept, and what is left alone. */
import { describe, expect, it } from 'vitest';
import type { FleetFacts, JobFacts, WorkloadView } from '../../../src/core/policy/policy.js';
import { AS_OF, exampleView, minutes, ofGpus, steady, workload } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/ramp.js';

const METRIC = 'scaling_efficiency_ratio';
const JOB: JobFacts = {
  startedAt: AS_OF - 7_200_000,
  deadline: null,
  workHours: null,
  workLeftHours: null,
  restartHours: null,
  resizable: true,
};
/** Replicas of four GPUs. */
const training = (fleet: Partial<FleetFacts>, job: Partial<JobFacts> = {}, over: Partial<WorkloadView> = {}) =>
  workload('t', {
    kind: 'training',
    gpusPerReplica: 4,
    fleet: { ready: 0, booting: 0, minReplicas: 1, maxReplicas: 8, changedAt: null, ...fleet },
    job: { ...JOB, ...job },
    metrics: { [METRIC]: minutes(steady(0.9, 60)) },
    ...over,
  });
const signal = (values: readonly (number | null)[]) => ({ metrics: { [METRIC]: minutes(values) } });

const proposed = (one: WorkloadView, given: object = {}) =>
  policy.evaluate(exampleView({ workloads: [one] }), policy.params.parse(given))[0];
const told = (one: WorkloadView, given: object = {}) =>
  policy.explain!(exampleView({ workloads: [one] }), policy.params.parse(given))[0]!.leftAlone;
const done = (one: WorkloadView, given: object = {}): string => {
  const made = proposed(one, given);
  return made === undefined
    ? told(one, given)!.code
    : [made.action, ...Object.values(made.change ?? {})].map(String).join(' ');
};
const WAITS = { startedAt: null };

it.each<[string, WorkloadView, object]>([
  ['ScaleOut 4 16', training({ ready: 1 }), {}],
  ['ScaleOut 4 16', training({ ready: 3 }), {}],
  ['at-size', training({ ready: 4 }), {}],
  ['at-size', training({ ready: 5 }), {}],
  ['at-size', training({ ready: 3, booting: 1 }), {}],
  ['ScaleOut 5 20', training({ ready: 4 }), { fullGpus: 20 }],
  ['at-size', training({ booting: 1 }, WAITS), {}],
  ['Rightsize 1 4', training({ booting: 2 }, WAITS), {}],
  ['Rightsize 2 8', training({ booting: 3 }, WAITS), { startGpus: 8 }],
  ['Rightsize 1 4', training({ booting: 2 }, WAITS), { startGpus: 1 }],
  ['ScaleOut 4 16', training({ booting: 1 }), {}],
  ['ScaleOut 4 16', training({ ready: 1 }, WAITS), {}],
  ['Keep', training({ ready: 1 }), { mode: 'full' }],
  ['Keep', training({ ready: 4 }), { mode: 'full' }],
  ['ScaleOut 4 16', training({ booting: 1 }, WAITS), { mode: 'full' }],
  ['Rightsize 4 16', training({ booting: 5 }, WAITS), { mode: 'full' }],
  ['at-size', training({ booting: 4 }, WAITS), { mode: 'full' }],
  ['not-resizable', training({ ready: 1 }, { resizable: null }), {}],
  ['not-resizable', training({ ready: 1 }, { resizable: false }), {}],
  ['protected', training({ ready: 1 }, {}, { isProtected: true }), {}],
  ['no-training', training({ ready: 1 }, {}, { kind: 'batch' }), {}],
  ['no-training', training({ ready: 1 }, {}, { job: null }), {}],
  ['size-unknown', training({ ready: 1 }, {}, { fleet: null }), {}],
  ['size-unknown', training({ ready: 1 }, {}, { gpusPerReplica: null }), {}],
  ['size-unknown', training({ ready: 1 }, {}, { gpusPerReplica: 0 }), {}],
])('%s', (expected, one, given) => expect(done(one, given)).toBe(expected));

describe('the signal', () => {
  it('must be as good as asked in each minute, each measured', () => {
    const by = (values: readonly (number | null)[], given: object = {}) =>
      done(training({ ready: 1 }, {}, signal(values)), given);
    expect(by(steady(0.8, 30))).toBe('ScaleOut 4 16');
    expect(by([...steady(0.8, 29), 0.799])).toBe('no-signal');
    expect(by([0.1, ...steady(0.8, 30)])).toBe('ScaleOut 4 16');
    expect(by(steady(0.8, 29))).toBe('no-signal');
    expect(by(steady(0.8, 29), { signalMinutes: 29 })).toBe('ScaleOut 4 16');
    expect(by([...steady(0.8, 15), null, ...steady(0.8, 14)])).toBe('no-signal');
    expect(by(steady(0.5, 30), { worthFrom: 0.5 })).toBe('ScaleOut 4 16');
  });

  it('counts with the replicas that were not measured as idle', () => {
    const one = (gpus: number) => training({ ready: 2 }, {}, { metrics: { gpu_utilisation_ratio: ofGpus(0.9, gpus) } });
    const given = { metric: 'gpu_utilisation_ratio', signalMinutes: 5 };
    expect(done(one(8), given)).toBe('ScaleOut 4 16');
    expect(done(one(4), given)).toBe('no-signal');
  });

  it('is named where it is missing', () => {
    expect(told(training({ ready: 1 }, {}, { metrics: {} }))?.message).toBe(`${METRIC} is not measured`);
    expect(told(training({ ready: 1 }, {}, signal(steady(0.1, 60))))?.message).toBe(
      `${METRIC} was not 0.8 or more in each of the last 30 minutes`,
    );
  });
});

it('says what a change does to a run that has begun, and to one that has not', () => {
  expect(proposed(training({ ready: 1 }))).toMatchObject({
    title: `Take t from 4 to 16 GPUs: ${METRIC} has been 0.8 or more for 30 minutes`,
    restartNeeded: true,
    rollbackPossible: false,
    risk: { interruption: 'Low' },
    monthlyCost: 16n * 730n * 1_000_000_000n,
    computation: { gpusNow: 4, gpusWanted: 16, perReplicaHour: '16.000000' },
  });
  expect(proposed(training({ booting: 2 }, WAITS))).toMatchObject({
    title: 'Start t on 4 instead of 8 GPUs: it shows on 4 GPUs first whether more are worth it',
    restartNeeded: false,
    rollbackPossible: true,
    risk: { interruption: 'None' },
  });
  expect(proposed(training({ ready: 1 }, {}, { sku: 'unknown' }))?.computation['perReplicaHour']).toBe('no price');
  expect(told(training({ booting: 1 }, WAITS))).toMatchObject({ toAct: 'another size than 4' });
  expect(told(training({ ready: 4 }))).toMatchObject({ toAct: 'another size than 16' });
});

it('refuses a start above the full size', () => {
  const isFine = (startGpus: number) => policy.params.safeParse({ startGpus, fullGpus: 8 }).success;
  expect([isFine(8), isFine(9)]).toEqual([true, false]);
});
