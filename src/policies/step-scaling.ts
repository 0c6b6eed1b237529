/**
 * step-scaling: add or remove replicas by steps, when a measured utilisation stays above or below a threshold.
 *
 * The published rule (AWS Auto Scaling, step adjustments; the thresholds of the defaults are 70 % for two more, 85 % of
 * memory for one more, 30 % for one fewer), for who wants it. It keeps no memory: cooldown follows from when the fleet
 * last changed. A missing minute, or a memory that is not measured, never removes a replica.
 */
import { z } from 'zod';
import type { Policy, PolicyView, Proposal, WorkloadView } from '../core/policy/policy.js';
import { exampleView, minutes, steady, workload, AS_OF } from './estimating/examples.js';
import { isEvery, mayTouch, windowBefore } from './estimating/minutes.js';
import { evidenceOf, monthly, monthlyCostOf, replicaHourNanos, units } from './estimating/money.js';

const UTILISATION = 'gpu_utilisation_ratio';
const MEMORY = 'memory_used_ratio';

const params = z
  .strictObject({
    outAboveRatio: z.number().gt(0).max(1).default(0.7).describe('Utilisation at which replicas are added'),
    outReplicas: z.number().int().min(1).max(1000).default(2).describe('Replicas added by utilisation'),
    memoryAboveRatio: z.number().gt(0).max(1).default(0.85).describe('Memory in use at which replicas are added'),
    memoryReplicas: z
      .number()
      .int()
      .min(0)
      .max(1000)
      .default(1)
      .describe('Replicas added by memory; the larger of the two steps is taken'),
    inBelowRatio: z.number().min(0).max(1).default(0.3).describe('Utilisation below which replicas are removed'),
    inReplicas: z.number().int().min(1).max(1000).default(1).describe('Replicas removed'),
    breachMinutes: z
      .number()
      .int()
      .min(1)
      .max(1440)
      .default(5)
      .describe('Minutes that a threshold must be passed, each one of them'),
    cooldownMinutes: z.number().int().min(0).max(1440).default(5).describe('Minutes after a change without a scale-in'),
    windowMinutes: z
      .number()
      .int()
      .min(60)
      .max(20_160)
      .default(1440)
      .describe('Minutes that the saving is computed over'),
  })
  .refine((given) => given.inBelowRatio < given.outAboveRatio, {
    path: ['inBelowRatio'],
    message: 'is not below outAboveRatio: replicas would come and go',
  });
type Params = z.infer<typeof params>;

interface Step {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

function stepOf(view: PolicyView, one: WorkloadView, given: Params): Step | null {
  const { fleet, metrics } = one;
  if (fleet === null) return null;
  const now = fleet.ready + fleet.booting;
  const [utilisation, memory] = [
    windowBefore(metrics[UTILISATION], view.asOf, given.breachMinutes),
    windowBefore(metrics[MEMORY], view.asOf, given.breachMinutes),
  ];
  const byUtilisation = isEvery(utilisation, (value) => value >= given.outAboveRatio) ? given.outReplicas : 0;
  const byMemory = isEvery(memory, (value) => value >= given.memoryAboveRatio) ? given.memoryReplicas : 0;
  const add = Math.max(byUtilisation, byMemory);
  if (add > 0) {
    // Replicas that still boot are an answer to the same breach.
    const to = fleet.booting > 0 ? now : Math.min(fleet.maxReplicas, now + add);
    return to > now
      ? {
          from: now,
          to,
          why:
            byUtilisation >= byMemory
              ? `utilisation of ${percent(given.outAboveRatio)} or more`
              : `${percent(given.memoryAboveRatio)} of memory or more in use`,
        }
      : null;
  }
  const quiet =
    isEvery(utilisation, (value) => value < given.inBelowRatio) &&
    isEvery(memory, (value) => value < given.memoryAboveRatio);
  const cooled = fleet.changedAt !== null && view.asOf - fleet.changedAt >= given.cooldownMinutes * 60_000;
  const to = Math.max(fleet.minReplicas, now - given.inReplicas);
  return quiet && cooled && fleet.booting === 0 && to < now
    ? { from: now, to, why: `utilisation below ${percent(given.inBelowRatio)}` }
    : null;
}

const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

/**
 * Share of the window in which the smaller fleet would have stayed below the scale-out threshold. Minutes that were not
 * measured count as those in which it would not.
 */
function shareThatFits(view: PolicyView, one: WorkloadView, { from, to }: Step, given: Params): number {
  const window = windowBefore(one.metrics[UTILISATION], view.asOf, given.windowMinutes);
  const fits =
    window?.values.filter((value) => value !== null && to > 0 && (value * from) / to < given.outAboveRatio) ?? [];
  return fits.length / given.windowMinutes;
}

function proposalsFor(view: PolicyView, one: WorkloadView, given: Params): Proposal[] {
  const step = mayTouch(one) ? stepOf(view, one, given) : null;
  if (step === null) return [];
  const nanos = replicaHourNanos(view, one);
  const out = step.to > step.from;
  const share = out ? 1 : shareThatFits(view, one, step, given);
  const from = view.asOf - given.breachMinutes * 60_000;
  return [
    {
      action: out ? 'ScaleOut' : 'ScaleIn',
      target: one.workload,
      protective: out,
      change: { replicas: step.to },
      title: `${out ? 'Raise' : 'Lower'} ${one.workload} from ${step.from} to ${step.to} replicas: ${step.why} for ${given.breachMinutes} minutes`,
      monthlySavings: nanos === null ? null : monthly((step.from - step.to) * nanos * share),
      monthlyCost: monthlyCostOf(nanos === null ? null : step.from * nanos),
      computation: {
        replicasNow: step.from,
        replicasPlanned: step.to,
        perReplicaHour: nanos === null ? 'no price' : units(nanos),
        breachMinutes: given.breachMinutes,
        ...(out ? {} : { shareOfTheWindowThatFits: share, windowMinutes: given.windowMinutes }),
      },
      evidence: [evidenceOf(view, `${UTILISATION} and ${MEMORY} of ${one.workload}`, from, view.asOf)],
      risk: {
        interruption: out ? 'None' : 'Low',
        note: out ? 'It costs more for as long as it holds.' : 'A burst finds fewer replicas.',
      },
      restartNeeded: false,
      implementationEffort: 'VeryLow',
      rollbackPossible: true,
      validDays: 1,
    },
  ];
}

const service = (utilisation: readonly (number | null)[], memory: readonly (number | null)[] | null): WorkloadView =>
  workload('embed', {
    fleet: { ready: 4, booting: 0, minReplicas: 2, maxReplicas: 10, changedAt: AS_OF - 3_600_000 },
    metrics: { [UTILISATION]: minutes(utilisation), ...(memory === null ? {} : { [MEMORY]: minutes(memory) }) },
  });

export const policy: Policy<Params> = {
  name: 'step-scaling',
  version: 1,
  description: 'Adds or removes replicas by steps when utilisation or memory stays beyond a threshold',
  params,
  evaluate: (view, given) => view.workloads.flatMap((one) => proposalsFor(view, one, given)),
  examples: [
    {
      title: 'Ninety per cent busy: two more',
      params: {},
      view: exampleView({ workloads: [service(steady(0.9, 60), steady(0.5, 60))] }),
      proposes: [{ action: 'ScaleOut', target: 'embed' }],
    },
    {
      title: 'A tenth busy, memory free: one fewer',
      params: {},
      view: exampleView({ workloads: [service(steady(0.1, 60), steady(0.5, 60))] }),
      proposes: [{ action: 'ScaleIn', target: 'embed' }],
    },
    {
      title: 'A tenth busy, but nobody measures the memory',
      params: {},
      view: exampleView({ workloads: [service(steady(0.1, 60), null)] }),
      proposes: [],
    },
  ],
};
