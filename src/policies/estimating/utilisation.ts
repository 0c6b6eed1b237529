/**
 * A target for a measure of a workload (70 % of its GPUs), held by the rule of Kubernetes' autoscaler: the proposal of
 * target-tracking for a document that states such a target.
 *
 * The measure is a mean over the measured replicas, minute by minute; the others count as idle before replicas are
 * added, and as fully used before any is removed. If an autoscaler of the workload's own cloud already follows the
 * measure, it is left alone, because two scalers of one size work against each other. An unmeasured minute removes
 * nothing.
 */
import { own } from '../../core/own.js';
import type { LeftAlone, TargetExplanation, PolicyView, Proposal, WorkloadView } from '../../core/policy/policy.js';
import { MINUTE_MS } from '../../core/time.js';
import { HPA_TOLERANCE, trackTarget, type TargetPlan, type TrackedMinute } from '../../planning/scaling/hpa.js';
import { z } from 'zod';
import { aboutUnmeasured, measuredReplicas, wholeOf } from './measured-replicas.js';
import { mayTouch, windowBefore } from './minutes.js';
import { evidenceOf, monthly, monthlyCostOf, replicaHourNanos, units } from './money.js';

const replicas = z.number().int().min(1).max(100_000).optional();

export const targetShape = z
  .strictObject({
    metric: z
      .string()
      .regex(/^\w{1,200}$/, 'is not a name of letters, digits and _')
      .default('gpu_utilisation_ratio')
      .describe(
        'Mean over the replicas: gpu_utilisation_ratio, memory_used_ratio, or one sent to /v1/workload-metrics (cpu_utilisation_ratio, a queue per replica)',
      ),
    value: z.number().gt(0).max(1e12).describe('What the metric should be: 0.7 is 70 %'),
    toleranceRatio: z.number().min(0).max(1).default(HPA_TOLERANCE).describe('Deviation within which nothing changes'),
    stabilisationMinutes: z
      .number()
      .int()
      .min(1)
      .max(60)
      .default(5)
      .describe(
        'Replicas are reduced only to the highest number wanted within this many minutes; each of these minutes must have been measured',
      ),
    staleMinutes: z
      .number()
      .int()
      .min(1)
      .max(60)
      .default(3)
      .describe('If the newest value is older, it says nothing about the present'),
    minReplicas: replicas.describe("Fewest replicas, within the fleet's own bounds"),
    maxReplicas: replicas.describe("Most replicas, within the fleet's own bounds"),
  })
  .refine(({ minReplicas = 1, maxReplicas = Infinity }) => minReplicas <= maxReplicas, {
    path: ['maxReplicas'],
    message: 'is below minReplicas',
  });
export type Target = z.output<typeof targetShape>;

interface Tracked {
  readonly plan: TargetPlan;
  readonly newest: TrackedMinute;
  /** The note about replicas without data; null: all have data. */
  readonly unmeasured: string | null;
  /** The end of the newest measured minute. */
  readonly at: number;
}

const left = (code: string, message: string, toAct: string): LeftAlone => ({ code, message, toAct });

const HOLDS = { holds: true } as const;

/** The reason why the rule cannot be evaluated; null: none. */
function aboutGroup(one: WorkloadView, { metric }: Target): LeftAlone | null {
  const { fleet, followedBy } = one;
  if (!mayTouch(one)) return left('protected', 'its owner forbids changes to it', 'its owner');
  if (followedBy !== undefined)
    return left(
      'followed',
      `${followedBy} sets its size already, and two would undo each other`,
      'the target set there, or that autoscaler removed',
    );
  if (metric === 'requests_per_second')
    return left(
      'a-sum',
      'requests_per_second is the sum of its replicas, which more of them do not lower',
      'a metric per replica at /v1/workload-metrics, or this policy without a target, which forecasts the load',
    );
  return fleet === null || fleet.ready === 0
    ? left('no-size', 'it has no ready replicas, or their number is unknown', 'replicas that run, and their bounds')
    : null;
}

function track(view: PolicyView, one: WorkloadView, target: Target): Tracked | LeftAlone {
  const { fleet, metrics } = one;
  const because = aboutGroup(one, target);
  if (because !== null || fleet === null) return because ?? left('no-size', 'its size is unknown', 'its size');
  const window = windowBefore(
    own(metrics, target.metric),
    view.asOf,
    target.stabilisationMinutes + target.staleMinutes,
  );
  const values = window?.values ?? [];
  const last = values.findLastIndex((value) => value !== null);
  const newest = values[last] ?? null;
  const minuteAt = (n: number): TrackedMinute | null => {
    const value = values[n] ?? null;
    const measured = measuredReplicas(one, window?.gpus[n] ?? null);
    return value === null || measured === null ? null : { value, measured };
  };
  if (window === null || newest === null || values.length - last > target.staleMinutes)
    return {
      ...left(
        'not-measured',
        `${target.metric} has no value of the last ${target.staleMinutes} minutes`,
        'samples of its GPUs, or values at /v1/workload-metrics',
      ),
      // It was measured within the view's days: what it does now is unknown.
      ...(window === null ? {} : HOLDS),
    };
  const now = minuteAt(last);
  const unmeasured = aboutUnmeasured(one, window.gpus[last] ?? null);
  if (now === null)
    return {
      ...left(
        'gpus-unknown',
        unmeasured ?? 'the number of GPUs of a replica is unknown',
        'a reading of the fleet that states it',
      ),
      ...HOLDS,
    };
  const at = window.from + (last + 1) * MINUTE_MS;
  const from = at - target.stabilisationMinutes * MINUTE_MS;
  const plan = trackTarget(
    now,
    Array.from({ length: target.stabilisationMinutes }, (_, n) => minuteAt(last + 1 - target.stabilisationMinutes + n)),
    fleet.changedAt === null || fleet.changedAt > from,
    fleet,
    {
      target: target.value,
      tolerance: target.toleranceRatio,
      whole: wholeOf(target.metric) ?? target.value,
      minReplicas: Math.max(fleet.minReplicas, target.minReplicas ?? 1),
      maxReplicas: Math.min(fleet.maxReplicas, target.maxReplicas ?? Infinity),
    },
  );
  return { plan, newest: now, unmeasured, at };
}

const text = (value: number): string => String(Number(value.toPrecision(3)));

export function targetProposals(view: PolicyView, one: WorkloadView, target: Target): Proposal[] {
  const tracked = track(view, one, target);
  if ('code' in tracked || tracked.plan.replicas === tracked.plan.current) return [];
  const { plan, newest, unmeasured, at } = tracked;
  const { current, replicas: wanted } = plan;
  const out = wanted > current;
  const nanos = replicaHourNanos(view, one);
  const { metric, value, stabilisationMinutes } = target;
  return [
    {
      action: out ? 'ScaleOut' : 'ScaleIn',
      target: one.workload,
      protective: out,
      change: { replicas: wanted },
      title: `${out ? 'Raise' : 'Lower'} ${one.workload} from ${current} to ${wanted} replicas: ${metric} is ${text(newest.value)}, and ${text(value)} is wanted`,
      // The rule knows no future: it may go back as soon as the measure does.
      monthlySavings: nanos === null ? null : out ? monthly((current - wanted) * nanos) : null,
      monthlyCost: monthlyCostOf(nanos === null ? null : current * nanos),
      computation: {
        replicasNow: current,
        replicasWished: plan.wished,
        replicasPlanned: wanted,
        measured: newest.value,
        replicasMeasured: newest.measured,
        ...(unmeasured === null ? {} : { unmeasured }),
        wanted: value,
        toleranceRatio: target.toleranceRatio,
        stabilisationMinutes,
        perReplicaHour: nanos === null ? 'no price' : units(nanos),
        saving: out ? 'none: it costs more' : 'not known: how long the measure stays low is not forecast',
      },
      evidence: [evidenceOf(view, `${metric} of ${one.workload}`, at - stabilisationMinutes * MINUTE_MS, at)],
      risk: {
        interruption: out ? 'None' : 'Low',
        note: out ? 'It costs more for as long as it lasts.' : 'A burst finds fewer replicas.',
      },
      restartNeeded: false,
      implementationEffort: 'VeryLow',
      rollbackPossible: true,
      validDays: 1,
    },
  ];
}

/** The bound that limits it: the group's own, the document's, or the one replica that a target needs for measuring. */
function boundOf(
  { fleet }: WorkloadView,
  { minReplicas, maxReplicas }: Target,
  { wished, current }: TargetPlan,
): string {
  const [least, most] = [fleet?.minReplicas ?? 0, fleet?.maxReplicas ?? Infinity];
  if (wished > current)
    return maxReplicas !== undefined && maxReplicas < most
      ? `the document's maxReplicas of ${maxReplicas} keeps it`
      : `its own maximum of ${most} keeps it`;
  if (minReplicas !== undefined && minReplicas > least) return `the document's minReplicas of ${minReplicas} keeps it`;
  return least >= 1
    ? `its own minimum of ${least} keeps it`
    : 'a target keeps one replica, because without replicas nothing is measured; only a schedule, a brake or a person takes it to 0';
}

export function explainUtilisation(view: PolicyView, one: WorkloadView, target: Target): TargetExplanation {
  const tracked = track(view, one, target);
  if ('code' in tracked) return { target: one.workload, saw: [], leftAlone: tracked };
  const { plan, newest, unmeasured } = tracked;
  const saw = [
    `${target.metric} is ${text(newest.value)} of ${text(target.value)} wanted, on ${plan.current} replicas: ${plan.wished} would hold it`,
    ...(unmeasured === null ? [] : [unmeasured]),
  ];
  if (plan.replicas !== plan.current) return { target: one.workload, saw, leftAlone: null };
  const isBound = plan.heldBy === 'nothing' && plan.wished !== plan.current;
  const why: Readonly<Record<TargetPlan['heldBy'], readonly [code: string, message: string]>> = {
    nothing: isBound ? ['bounds', boundOf(one, target, plan)] : ['as-wanted', 'it is within the tolerance'],
    'unmeasured replicas': [
      'not-all-measured',
      `the measured replicas alone would change its size, but not with the values assumed for the others`,
    ],
    stabilisation: ['stabilisation', `one of the last ${target.stabilisationMinutes} minutes needed as many`],
    'missing minutes': ['missing-minutes', `of the last ${target.stabilisationMinutes} minutes one was not measured`],
    'recent change': [
      'recent-change',
      `its size changed within ${target.stabilisationMinutes} minutes, or at an unknown time`,
    ],
  };
  const [code, message] = why[plan.heldBy];
  return {
    target: one.workload,
    saw,
    leftAlone: {
      ...left(
        code,
        message,
        isBound ? 'another bound, set in the same place' : `${target.metric} beyond the tolerance for so long`,
      ),
      ...HOLDS,
    },
  };
}
