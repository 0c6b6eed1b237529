/**
 * step-scaling: adds or removes replicas by steps when a measured utilisation stays above or below a threshold. This is
 * the published rule (AWS Auto Scaling, step adjustments; the default thresholds are 70 % for two more, 85 % of memory
 * for one more, 30 % for one fewer), for teams that want it. It keeps no memory: the cooldown follows from the fleet's
 * last change. A missing minute, or unmeasured memory, never removes a replica. Replicas without data count as idle
 * before others are added, and as fully used before one is removed.
 */
import { own } from '../core/own.js';
import { z } from 'zod';
import type { TargetExplanation, Policy, PolicyView, Proposal, WorkloadView } from '../core/policy/policy.js';
import { exampleView, minutes, ofGpus, steady, workload, AS_OF } from './estimating/examples.js';
import { aboutUnmeasured, boundsOf, isEveryOf } from './estimating/measured-replicas.js';
import { mayTouch, windowBefore } from './estimating/minutes.js';
import { evidenceOf, monthly, monthlyCostOf, replicaHourNanos, units } from './estimating/money.js';
import { HOUR_MS } from '../core/time.js';

const metricName = z.string().regex(/^\w{1,200}$/, 'is not a name of letters, digits and _');
/** A ratio is at most 1; a group's own metric has its own size. */
const MOST = 1e12;

const params = z
  .strictObject({
    metric: metricName
      .default('gpu_utilisation_ratio')
      .describe("The measure: its GPUs' use, or the group's own metric, sent to /v1/workload-metrics"),
    outAboveRatio: z.number().gt(0).max(MOST).default(0.7).describe('Value of the metric at which replicas are added'),
    outReplicas: z.number().int().min(1).max(1000).default(2).describe('Replicas added by the metric'),
    memoryMetric: metricName
      .nullable()
      .default('memory_used_ratio')
      .describe('Memory in use, which must be measured before a replica is removed; null: memory is ignored'),
    memoryAboveRatio: z.number().gt(0).max(1).default(0.85).describe('Memory in use at which replicas are added'),
    memoryReplicas: z
      .number()
      .int()
      .min(0)
      .max(1000)
      .default(1)
      .describe('Replicas added by memory; the larger of the two steps is taken'),
    inBelowRatio: z
      .number()
      .min(0)
      .max(MOST)
      .default(0.3)
      .describe('Value of the metric below which replicas are removed'),
    inReplicas: z.number().int().min(1).max(1000).default(1).describe('Replicas removed'),
    breachMinutes: z
      .number()
      .int()
      .min(1)
      .max(1440)
      .default(5)
      .describe('Minutes for which a threshold must be passed, in each of them'),
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
    message: 'is not below outAboveRatio: replicas would be added and removed again and again',
  });
type Params = z.infer<typeof params>;

interface Step {
  readonly from: number;
  readonly to: number;
  readonly why: string;
}

function stepOf(view: PolicyView, one: WorkloadView, given: Params): Step | null {
  const { fleet, metrics, followedBy } = one;
  // Two that set one size undo each other.
  if (fleet === null || followedBy !== undefined) return null;
  const now = fleet.ready + fleet.booting;
  const [utilisation, memory] = [
    windowBefore(own(metrics, given.metric), view.asOf, given.breachMinutes),
    given.memoryMetric === null ? null : windowBefore(own(metrics, given.memoryMetric), view.asOf, given.breachMinutes),
  ];
  const byUtilisation = isEveryOf(one, given.metric, utilisation, ({ least }) => least >= given.outAboveRatio)
    ? given.outReplicas
    : 0;
  const memoryMetric = given.memoryMetric ?? '';
  const byMemory = isEveryOf(one, memoryMetric, memory, ({ least }) => least >= given.memoryAboveRatio)
    ? given.memoryReplicas
    : 0;
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
              ? `${given.metric} of ${amount(given, given.outAboveRatio)} or more`
              : `${percent(given.memoryAboveRatio)} of memory or more in use`,
        }
      : null;
  }
  const quiet =
    isEveryOf(one, given.metric, utilisation, ({ most }) => most < given.inBelowRatio) &&
    (given.memoryMetric === null || isEveryOf(one, memoryMetric, memory, ({ most }) => most < given.memoryAboveRatio));
  const cooled = fleet.changedAt !== null && view.asOf - fleet.changedAt >= given.cooldownMinutes * 60_000;
  const to = Math.max(1, fleet.minReplicas, now - given.inReplicas);
  return quiet && cooled && fleet.booting === 0 && to < now
    ? { from: now, to, why: `${given.metric} below ${amount(given, given.inBelowRatio)}` }
    : null;
}

const percent = (ratio: number): string => `${(100 * ratio).toFixed(0)} %`;

const amount = ({ metric }: Params, value: number): string =>
  metric.endsWith('_ratio') ? percent(value) : String(value);

/**
 * Share of the window in which the smaller fleet would have stayed below the scale-out threshold. Minutes that were not
 * measured count as those in which it would not.
 */
function shareThatFits(view: PolicyView, one: WorkloadView, { from, to }: Step, given: Params): number {
  const window = windowBefore(own(one.metrics, given.metric), view.asOf, given.windowMinutes);
  const fits =
    window?.values.filter((value, n) => {
      const bounds = value === null ? null : boundsOf(one, given.metric, value, window.gpus[n] ?? null);
      return bounds !== null && to > 0 && (bounds.most * from) / to < given.outAboveRatio;
    }) ?? [];
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
      evidence: [
        evidenceOf(
          view,
          `${[given.metric, given.memoryMetric ?? []].flat().join(' and ')} of ${one.workload}`,
          from,
          view.asOf,
        ),
      ],
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

function explainOne(view: PolicyView, one: WorkloadView, given: Params): TargetExplanation {
  const left = (code: string, message: string, toAct: string, saw: readonly string[] = []): TargetExplanation => ({
    target: one.workload,
    saw,
    leftAlone: { code, message, toAct },
  });
  if (!mayTouch(one)) return left('protected', 'its owner forbids changes to it', 'its owner');
  if (one.followedBy !== undefined)
    return left(
      'followed',
      `${one.followedBy} sets its size already, and two would undo each other`,
      'the thresholds set there, or that autoscaler removed',
    );
  if (one.fleet === null) return left('no-size', 'its replicas and their bounds are unknown', 'a reading of the fleet');
  const window = windowBefore(own(one.metrics, given.metric), view.asOf, given.breachMinutes);
  const known = window?.values.filter((value) => value !== null).length ?? 0;
  const last = window?.values.findLastIndex((value) => value !== null) ?? -1;
  const unmeasured = last < 0 ? null : aboutUnmeasured(one, window?.gpus[last] ?? null);
  const saw = [
    `${given.metric} of ${known} of the last ${given.breachMinutes} minutes`,
    ...(unmeasured === null ? [] : [unmeasured]),
  ];
  return stepOf(view, one, given) === null
    ? {
        target: one.workload,
        saw,
        leftAlone: {
          code: 'no-breach',
          message:
            'no threshold was passed in every one of those minutes, a minute was not measured, or the size just changed',
          toAct: `${given.breachMinutes} minutes beyond a threshold, each measured, memory too`,
          // A metric that nobody measures of it holds nothing.
          ...(window === null ? {} : { holds: true as const }),
        },
      }
    : { target: one.workload, saw, leftAlone: null };
}

const service = (utilisation: readonly (number | null)[], memory: readonly (number | null)[] | null): WorkloadView =>
  workload('embed', {
    fleet: { ready: 4, booting: 0, minReplicas: 2, maxReplicas: 10, changedAt: AS_OF - HOUR_MS },
    metrics: {
      gpu_utilisation_ratio: minutes(utilisation),
      ...(memory === null ? {} : { memory_used_ratio: minutes(memory) }),
    },
  });

export const policy: Policy<Params> = {
  name: 'step-scaling',
  version: 3,
  description: 'Adds or removes replicas by steps when utilisation or memory stays beyond a threshold',
  params,
  followsLoad: true,
  evaluate: (view, given) => view.workloads.flatMap((one) => proposalsFor(view, one, given)),
  explain: (view, given) => view.workloads.map((one) => explainOne(view, one, given)),
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
      title: "By the group's own metric: a queue of 40 jobs a replica",
      params: { metric: 'queue_per_replica', outAboveRatio: 20, inBelowRatio: 2, memoryMetric: null },
      view: exampleView({
        workloads: [{ ...service(steady(0.5, 60), null), metrics: { queue_per_replica: minutes(steady(40, 60)) } }],
      }),
      proposes: [{ action: 'ScaleOut', target: 'embed' }],
    },
    {
      title: 'A group whose size an autoscaler of its own sets',
      params: {},
      view: exampleView({
        workloads: [{ ...service(steady(0.9, 60), steady(0.5, 60)), followedBy: 'the HorizontalPodAutoscaler embed' }],
      }),
      proposes: [],
    },
    {
      title: 'Ninety per cent busy, but one replica of four is measured',
      params: {},
      view: exampleView({ workloads: [{ ...service([], null), metrics: { gpu_utilisation_ratio: ofGpus(0.9, 1) } }] }),
      proposes: [],
    },
    {
      title: 'A tenth busy, but the memory is not measured',
      params: {},
      view: exampleView({ workloads: [service(steady(0.1, 60), null)] }),
      proposes: [],
    },
  ],
};
