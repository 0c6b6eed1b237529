/**
 * ramp: starts a training small and grows it once its signal says that growth pays; or, by choice, starts it at full
 * size and never resizes it.
 *
 * The signal is a metric of the workload, measured minute by minute; without a measurement it does not pay yet. A grown
 * training stays grown: removing GPUs from a run is never proposed, and a smaller start only before it has begun. In
 * the mode `full` a running training is kept unchanged, which prevents other policies from resizing it.
 */
import { own } from '../core/own.js';
import { z } from 'zod';
import type { LeftAlone, Policy, PolicyView, Proposal, WorkloadView } from '../core/policy/policy.js';
import { AS_OF, exampleView, minutes, steady, workload } from './estimating/examples.js';
import {
  isLeft,
  leftAlone,
  explainTarget,
  proposalsOf,
  PROTECTED,
  sawOf,
  type Judged,
} from './estimating/explanations.js';
import { isEveryOf } from './estimating/measured-replicas.js';
import { mayTouch, windowBefore } from './estimating/minutes.js';
import { evidenceOf, monthlyCostOf, replicaHourNanos, units, workloadHourNanos } from './estimating/money.js';

const params = z
  .strictObject({
    mode: z
      .enum(['ramp', 'full'])
      .default('ramp')
      .describe('ramp: small first; full: full size at the start and never resized while it runs'),
    startGpus: z.number().int().min(1).max(100_000).default(4).describe('GPUs at the start'),
    fullGpus: z.number().int().min(1).max(100_000).default(16).describe('GPUs once it is worth it'),
    metric: z.string().min(1).default('scaling_efficiency_ratio').describe('The signal: a metric of the workload'),
    worthFrom: z.number().default(0.8).describe('Value of the signal from which more GPUs are worth it'),
    signalMinutes: z
      .number()
      .int()
      .min(1)
      .max(10_080)
      .default(30)
      .describe('Minutes for which the signal must hold, in each of them'),
  })
  .refine((given) => given.startGpus <= given.fullGpus, { path: ['startGpus'], message: 'is above fullGpus' });
type Params = z.infer<typeof params>;

interface Training {
  readonly one: WorkloadView;
  readonly gpus: number;
  readonly gpusPerReplica: number;
  readonly hasStarted: boolean;
}

function trainingOf(one: WorkloadView): Training | LeftAlone {
  const { kind, job, fleet, gpusPerReplica } = one;
  if (!mayTouch(one)) return PROTECTED;
  if (kind !== 'training' || job === null)
    return leftAlone('no-training', 'it is not known to be a training that ends', 'the kind training, and its work');
  if (fleet === null || gpusPerReplica === null || gpusPerReplica <= 0)
    return leftAlone(
      'size-unknown',
      'the number of GPUs on which it runs is unknown',
      'its size, and GPUs of each replica',
    );
  // A running job has begun, even if its start is unknown.
  return {
    one,
    gpus: (fleet.ready + fleet.booting) * gpusPerReplica,
    gpusPerReplica,
    hasStarted: job.startedAt !== null || fleet.ready > 0,
  };
}

function judge(view: PolicyView, one: WorkloadView, given: Params): Judged {
  const training = trainingOf(one);
  if (isLeft(training)) return training;
  const { gpus, hasStarted } = training;
  const { startGpus, fullGpus, metric, worthFrom, signalMinutes } = given;
  const atSize = leftAlone('at-size', `it has ${gpus} GPUs`, `another size than ${hasStarted ? fullGpus : startGpus}`);
  if (given.mode === 'full') {
    if (hasStarted) return keep(view, training);
    return gpus === fullGpus ? atSize : resize(view, training, fullGpus, 'it runs at full size from the start');
  }
  if (!hasStarted)
    return gpus <= startGpus
      ? atSize
      : resize(view, training, startGpus, `it shows on ${startGpus} GPUs first whether more are worth it`);
  if (gpus >= fullGpus) return atSize;
  if (one.job?.resizable !== true)
    return leftAlone(
      'not-resizable',
      'nothing states that its size may change while it runs',
      'a statement that it may',
    );
  const signal = windowBefore(own(one.metrics, metric), view.asOf, signalMinutes);
  if (!isEveryOf(one, metric, signal, ({ least }) => least >= worthFrom))
    return leftAlone(
      'no-signal',
      signal === null
        ? `${metric} is not measured`
        : `${metric} was not ${worthFrom} or more in each of the last ${signalMinutes} minutes`,
      `${metric} of ${worthFrom} or more for ${signalMinutes} minutes, each measured`,
    );
  return resize(view, training, fullGpus, `${metric} has been ${worthFrom} or more for ${signalMinutes} minutes`);
}

function resize(
  view: PolicyView,
  { one, gpus, gpusPerReplica, hasStarted }: Training,
  wanted: number,
  why: string,
): Proposal {
  const replicas = Math.max(1, Math.round(wanted / gpusPerReplica));
  const nanos = replicaHourNanos(view, one);
  const more = wanted > gpus;
  return {
    action: more ? 'ScaleOut' : 'Rightsize',
    target: one.workload,
    protective: true,
    change: { replicas, gpus: replicas * gpusPerReplica },
    title: `${hasStarted ? 'Take' : 'Start'} ${one.workload} ${hasStarted ? `from ${gpus} to` : `on ${wanted} instead of ${gpus} GPUs`}${hasStarted ? ` ${wanted} GPUs` : ''}: ${why}`,
    monthlySavings: null,
    monthlyCost: monthlyCostOf(workloadHourNanos(view, one)),
    computation: {
      gpusNow: gpus,
      gpusWanted: wanted,
      perReplicaHour: nanos === null ? 'no price' : units(nanos),
      saving: more
        ? 'unknown: an hour costs more and fewer are needed'
        : 'unknown: an hour costs less, but only the start will show how fast it runs',
    },
    evidence: [evidenceOf(view, `the signal of ${one.workload}`, view.asOf, view.asOf)],
    risk: {
      interruption: hasStarted ? 'Low' : 'None',
      note: hasStarted ? 'It continues from its last checkpoint.' : 'It has not begun.',
    },
    restartNeeded: hasStarted,
    implementationEffort: 'Low',
    rollbackPossible: !hasStarted,
    validDays: 1,
  };
}

const keep = (view: PolicyView, { one, gpus }: Training): Proposal => ({
  action: 'Keep',
  target: one.workload,
  protective: true,
  title: `Keep ${one.workload} at ${gpus} GPUs while it runs`,
  monthlySavings: null,
  monthlyCost: monthlyCostOf(workloadHourNanos(view, one)),
  computation: { gpusNow: gpus },
  evidence: [evidenceOf(view, `what runs of ${one.workload}`, view.asOf, view.asOf)],
  risk: { interruption: 'None', note: 'Nothing is changed.' },
  restartNeeded: false,
  implementationEffort: 'VeryLow',
  rollbackPossible: true,
  validDays: 1,
});

const training = (replicas: number, startedAt: number | null, signal: number): WorkloadView =>
  workload('llm-1', {
    kind: 'training',
    gpusPerReplica: 4,
    fleet: {
      ready: startedAt === null ? 0 : replicas,
      booting: startedAt === null ? replicas : 0,
      minReplicas: 1,
      maxReplicas: 8,
      changedAt: null,
    },
    job: { startedAt, deadline: null, workHours: null, workLeftHours: null, restartHours: null, resizable: true },
    metrics: { scaling_efficiency_ratio: minutes(steady(signal, 60)) },
  });

export const policy: Policy<Params> = {
  name: 'ramp',
  version: 3,
  description:
    'Starts trainings on few GPUs and grows them once a signal says that it is worth it, or starts them at full size and keeps them so',
  params,
  evaluate: (view, given) => view.workloads.flatMap((one) => proposalsOf(judge(view, one, given))),
  explain: (view, given) =>
    view.workloads.map((one) => explainTarget(one.workload, sawOf(one), judge(view, one, given))),
  examples: [
    {
      title: 'Four GPUs, and they scale well: sixteen',
      params: {},
      view: exampleView({ workloads: [training(1, AS_OF - 7_200_000, 0.9)] }),
      proposes: [{ action: 'ScaleOut', target: 'llm-1' }],
    },
    {
      title: 'Four GPUs, and they do not scale',
      params: {},
      view: exampleView({ workloads: [training(1, AS_OF - 7_200_000, 0.5)] }),
      proposes: [],
    },
    {
      title: 'Requests sixteen at the start: four first',
      params: {},
      view: exampleView({ workloads: [training(4, null, 0)] }),
      proposes: [{ action: 'Rightsize', target: 'llm-1' }],
    },
    {
      title: 'Runs on sixteen since an unknown time: it is not made smaller',
      params: {},
      view: exampleView({ workloads: [{ ...training(4, AS_OF, 0), job: training(4, null, 0).job }] }),
      proposes: [],
    },
    {
      title: 'Full size by choice: kept as it is',
      params: { mode: 'full' },
      view: exampleView({ workloads: [training(4, AS_OF - 7_200_000, 0.9)] }),
      proposes: [{ action: 'Keep', target: 'llm-1' }],
    },
  ],
};
