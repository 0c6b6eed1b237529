/**
 * target-tracking: sets the number of replicas for the load ahead, for services with a measured load. The planner
 * (planning/scaling) computes the number; it forecasts the load at the time when a new replica would serve. Fewer
 * replicas are proposed only if every minute of the window was measured: a missing minute is not an idle one. More
 * replicas need no such proof, but are never ordered without a measurement. A replica that has lost a GPU is replaced,
 * whatever the load.
 */
import { z } from 'zod';
import { WORKLOAD_LABELS } from '../core/policy/fleet-workload.js';
import type {
  TargetExplanation,
  Policy,
  PolicyView,
  Proposal,
  SavingsEstimate,
  WorkloadView,
} from '../core/policy/policy.js';
import {
  bursarPolicies,
  DEFAULT_RISK,
  planReplicas,
  type PlanSettings,
  type ReplicaPlan,
} from '../planning/scaling/planner.js';
import { simulate } from '../planning/scaling/simulate.js';
import { explainUtilisation, targetProposals, targetShape } from './estimating/utilisation.js';
import { exampleView, goneCard, minutes, ofGpus, steady, workload } from './estimating/examples.js';
import { knownTail, mayTouch, windowBefore, type Window } from './estimating/minutes.js';
import { isOfAllReplicas } from './estimating/measured-replicas.js';
import { replacements } from './estimating/replace.js';
import {
  EIGHTY_PERCENT,
  evidenceOf,
  monthly,
  monthlyBetween,
  monthlyCostOf,
  replicaHourNanos,
  replicasOf,
  units,
} from './estimating/money.js';
import { HOUR_MS } from '../core/time.js';

const params = z.strictObject({
  unservedPrice: z
    .number()
    .min(1.05)
    .max(20_000)
    .default(DEFAULT_RISK.price)
    .describe('What a replica-minute of unserved load is worth, in replica-minutes'),
  reserveRatio: z.number().min(0).max(10).default(0).describe('Replicas kept beyond the plan, as a share of it'),
  takesOverTarget: z
    .number()
    .min(0.35)
    .max(1.2)
    .optional()
    .describe(
      'Utilisation target of the autoscaler that this policy takes over from (0.7 for 70 %): its rule is followed until another would have been clearly cheaper in the window',
    ),
  windowMinutes: z
    .number()
    .int()
    .min(30)
    .max(20_160)
    .default(1440)
    .describe('Minutes of load that the plan is based on; a scale-in needs all of them measured'),
  cooldownMinutes: z.number().int().min(0).max(1440).default(5).describe('Minutes after a change without a scale-in'),
  target: targetShape
    .optional()
    .describe('A value at which a metric is kept, by the rule of Kubernetes; the load is then not forecast'),
});
type Params = z.infer<typeof params>;

interface Service {
  readonly name: string;
  readonly window: Window;
  readonly settings: PlanSettings;
  readonly fleet: { readonly ready: number; readonly booting: number; readonly changedAt: number | null };
  readonly replicaNanos: number | null;
}

/** The facts that a plan needs; null if one is unknown. */
function serviceOf(view: PolicyView, one: WorkloadView, given: Params): Service | null {
  const { fleet, service } = one;
  const window = windowBefore(service?.load, view.asOf, given.windowMinutes);
  if (
    fleet === null ||
    service === null ||
    window === null ||
    service.capacityPerReplica === null ||
    !(service.capacityPerReplica > 0)
  )
    return null;
  if (fleet.minReplicas < 1 || fleet.maxReplicas < fleet.minReplicas) return null;
  const settings = {
    bootMinutes: service.bootMinutes,
    minReplicas: fleet.minReplicas,
    maxReplicas: fleet.maxReplicas,
    cooldownMinutes: given.cooldownMinutes,
    risk: { price: given.unservedPrice, reserve: given.reserveRatio, takesOver: given.takesOverTarget },
    capacityPerReplica: service.capacityPerReplica,
  };
  return { name: one.workload, window, settings, fleet, replicaNanos: replicaHourNanos(view, one) };
}

function proposalsFor(view: PolicyView, one: WorkloadView, given: Params): Proposal[] {
  const service = mayTouch(one) ? serviceOf(view, one, given) : null;
  if (service === null) return [];
  const history = knownTail(service.window);
  if (history.length === 0) return [];
  const plan = planReplicas(history, service.fleet, service.settings);
  if (plan.replicas > plan.current) return [scaleOut(view, service, plan)];
  if (plan.replicas < plan.current && isKnown(one, service) && hasCooled(view, service, given))
    return [scaleIn(view, service, plan, history)];
  return [];
}

/** The reasons for which a followed load may still need the present size. */
const HOLDING: ReadonlySet<string> = new Set([
  'not-measured',
  'fits',
  'missing-minutes',
  'not-all-measured',
  'recent-change',
]);

/** The evaluation of a workload with a forecast load. */
function explainForecast(view: PolicyView, one: WorkloadView, given: Params): TargetExplanation {
  const left = (code: string, message: string, toAct: string, saw: readonly string[] = []): TargetExplanation => ({
    target: one.workload,
    saw,
    leftAlone: { code, message, toAct, ...(HOLDING.has(code) ? { holds: true as const } : {}) },
  });
  if (!mayTouch(one)) return left('protected', 'its owner forbids changes to it', 'its owner');
  if (one.service === null)
    return left(
      'no-load',
      'its load is unknown',
      `its labels ${WORKLOAD_LABELS.loadMetric} and ${WORKLOAD_LABELS.bootMinutes} with values of that metric, or a target of this policy`,
    );
  const service = serviceOf(view, one, given);
  if (service === null)
    return left(
      'no-size',
      'its size, its bounds (1 or more) or the load that one replica serves is unknown',
      `a reading of the fleet, and the labels ${WORKLOAD_LABELS.minReplicas}, ${WORKLOAD_LABELS.maxReplicas} and ${WORKLOAD_LABELS.capacityPerReplica}`,
    );
  const history = knownTail(service.window);
  if (history.length === 0) return left('not-measured', 'its load of the last minute was not measured', 'its load');
  const plan = planReplicas(history, service.fleet, service.settings);
  const saw = [
    `${history.length} minutes of its load, ${plan.current} replicas, ${plan.replicas} by the forecast of the load`,
  ];
  if (plan.replicas === plan.current)
    return left('fits', 'it has the replicas that the coming load needs', 'another load', saw);
  if (plan.replicas > plan.current) return { target: one.workload, saw, leftAlone: null };
  if (!service.window.isWhole)
    return left('missing-minutes', 'fewer need every minute measured', `${given.windowMinutes} measured minutes`, saw);
  if (!isOfAllReplicas(one, service.window))
    return left('not-all-measured', NOT_ALL, 'an exporter on every replica', saw);
  return hasCooled(view, service, given)
    ? { target: one.workload, saw, leftAlone: null }
    : left('recent-change', 'its size has just changed', `${given.cooldownMinutes} minutes without a change`, saw);
}

const NOT_ALL = 'some of its replicas were not measured, so the real load was higher';

const isKnown = (one: WorkloadView, { window }: Service): boolean => window.isWhole && isOfAllReplicas(one, window);

/** A fleet whose last change is not known may have changed just now. */
const hasCooled = (view: PolicyView, { fleet }: Service, { cooldownMinutes }: Params): boolean =>
  cooldownMinutes === 0 || (fleet.changedAt !== null && view.asOf - fleet.changedAt >= cooldownMinutes * 60_000);

const common = (
  view: PolicyView,
  { name, window, replicaNanos }: Service,
  plan: ReplicaPlan,
): Pick<
  Proposal,
  | 'target'
  | 'change'
  | 'monthlyCost'
  | 'evidence'
  | 'restartNeeded'
  | 'implementationEffort'
  | 'rollbackPossible'
  | 'validDays'
> => ({
  target: name,
  change: { replicas: plan.replicas },
  monthlyCost: monthlyCostOf(replicaNanos === null ? null : plan.current * replicaNanos),
  evidence: [
    evidenceOf(view, `load of ${name}, minute by minute`, window.to - plan.historyMinutes * 60_000, window.to),
  ],
  restartNeeded: false,
  implementationEffort: 'VeryLow',
  rollbackPossible: true,
  validDays: 1,
});

const numbers = (plan: ReplicaPlan, replicaNanos: number | null): Proposal['computation'] => ({
  replicasNow: plan.current,
  replicasPlanned: plan.replicas,
  expectedLoadReplicas: plan.expectedLoad,
  leadMinutes: plan.leadMinutes,
  historyMinutes: plan.historyMinutes,
  expectedUnservedShare: plan.expectedUnservedShare,
  unservedShareAsItIs: plan.currentUnservedShare,
  perReplicaHour: replicaNanos === null ? 'no price' : units(replicaNanos),
});

function scaleOut(view: PolicyView, service: Service, plan: ReplicaPlan): Proposal {
  const { replicaNanos } = service;
  return {
    ...common(view, service, plan),
    action: 'ScaleOut',
    protective: true,
    title: `Raise ${service.name} from ${plan.current} to ${plan.replicas} replicas: ${(100 * plan.currentUnservedShare).toFixed(1)} % of the load ahead would go unserved`,
    monthlySavings: replicaNanos === null ? null : monthly((plan.current - plan.replicas) * replicaNanos),
    computation: numbers(plan, replicaNanos),
    risk: { interruption: 'None', note: 'It costs more for as long as it lasts.' },
  };
}

function scaleIn(view: PolicyView, service: Service, plan: ReplicaPlan, history: readonly number[]): Proposal {
  const { replicaNanos } = service;
  const unneeded = unneededReplicas(history, service.settings, plan.current);
  return {
    ...common(view, service, plan),
    action: 'ScaleIn',
    title: `Lower ${service.name} from ${plan.current} to ${plan.replicas} replicas`,
    monthlySavings: replicaNanos === null ? null : savings(unneeded, replicaNanos),
    computation: {
      ...numbers(plan, replicaNanos),
      replicasUnneededInTheWindow: unneeded.reduce((sum, one) => sum + one, 0) / unneeded.length,
    },
    risk: {
      interruption: 'Low',
      note: `${(100 * plan.expectedUnservedShare).toFixed(2)} % of the expected load may go unserved.`,
    },
  };
}

/** Replicas of the present fleet that the plan would not have held, per hour of the window. */
function unneededReplicas(history: readonly number[], settings: PlanSettings, current: number): number[] {
  const load = Float64Array.from(history, (value) => value / settings.capacityPerReplica);
  const [policy] = bursarPolicies(
    load,
    settings,
    Math.max(settings.minReplicas, Math.min(settings.maxReplicas, current)),
    [settings.risk],
  );
  if (policy === undefined) return [0];
  const { replicas } = simulate(load, settings, policy);
  const hours = Math.max(1, Math.floor(replicas.length / 60));
  return Array.from({ length: hours }, (_, hour) => {
    const part = replicas.subarray(hour * 60, hour === hours - 1 ? replicas.length : (hour + 1) * 60);
    return part.reduce((sum, held) => sum + Math.max(0, current - held), 0) / Math.max(1, part.length);
  });
}

/** The window's mean, with the spread of a mean of so many hours. */
function savings(perHour: readonly number[], replicaNanos: number): SavingsEstimate {
  const mean = perHour.reduce((sum, one) => sum + one, 0) / perHour.length;
  const variance = perHour.reduce((sum, one) => sum + (one - mean) ** 2, 0) / Math.max(1, perHour.length - 1);
  const spread = perHour.length > 1 ? EIGHTY_PERCENT * Math.sqrt(variance / perHour.length) : mean;
  return monthlyBetween(mean * replicaNanos, Math.max(0, mean - spread) * replicaNanos, (mean + spread) * replicaNanos);
}

const service = (replicas: number, load: readonly (number | null)[]): WorkloadView =>
  workload('chat', {
    fleet: { ready: replicas, booting: 0, minReplicas: 1, maxReplicas: 20, changedAt: exampleView().asOf - HOUR_MS },
    service: { bootMinutes: 3, capacityPerReplica: 100, load: minutes(load) },
  });

const atUtilisation = (utilisation: readonly (number | null)[], over: Partial<WorkloadView> = {}): WorkloadView => ({
  ...service(4, []),
  service: null,
  metrics: { gpu_utilisation_ratio: minutes(utilisation) },
  ...over,
});
const SEVENTY = {
  metric: 'gpu_utilisation_ratio',
  value: 0.7,
  toleranceRatio: 0.1,
  stabilisationMinutes: 5,
  staleMinutes: 3,
};

export const policy: Policy<Params> = {
  name: 'target-tracking',
  version: 8,
  description:
    'Keeps as many replicas of a service as the load ahead needs, forecast from its measured load, or as hold a metric at a target (70 % of the GPUs); replaces those that lost a GPU',
  params,
  followsLoad: true,
  evaluate: (view, given) =>
    view.workloads.flatMap((one) => [
      ...replacements(one),
      ...(replicasOf(one) === null
        ? []
        : given.target === undefined
          ? proposalsFor(view, one, given)
          : targetProposals(view, one, given.target)),
    ]),
  explain: (view, given) =>
    view.workloads.map((one) =>
      given.target === undefined ? explainForecast(view, one, given) : explainUtilisation(view, one, given.target),
    ),
  examples: [
    {
      title: 'A target of 70 %: four replicas at 95 % become six',
      params: { target: SEVENTY },
      view: exampleView({ workloads: [atUtilisation(steady(0.95, 10))] }),
      proposes: [{ action: 'ScaleOut', target: 'chat' }],
    },
    {
      title: 'A target of 70 %: within the tolerance nothing changes',
      params: { target: SEVENTY },
      view: exampleView({ workloads: [atUtilisation(steady(0.76, 10))] }),
      proposes: [],
    },
    {
      title: 'A target of 70 %: one of the last five minutes was busy, so all four are kept',
      params: { target: SEVENTY },
      view: exampleView({ workloads: [atUtilisation([...steady(0.3, 7), 0.7, 0.3, 0.3])] }),
      proposes: [],
    },
    {
      title: 'A target of 70 %: one of four is measured at 95 %, and the others count as idle',
      params: { target: SEVENTY },
      view: exampleView({ workloads: [atUtilisation([], { metrics: { gpu_utilisation_ratio: ofGpus(0.95, 1) } })] }),
      proposes: [],
    },
    {
      title: 'A target of 70 %: one of four is measured at 5 %, and the others count as wholly used',
      params: { target: SEVENTY },
      view: exampleView({ workloads: [atUtilisation([], { metrics: { gpu_utilisation_ratio: ofGpus(0.05, 1) } })] }),
      proposes: [],
    },
    {
      title: 'A target that an autoscaler of Kubernetes follows already',
      params: { target: SEVENTY },
      view: exampleView({
        workloads: [atUtilisation(steady(0.95, 10), { followedBy: 'the HorizontalPodAutoscaler chat' })],
      }),
      proposes: [],
    },
    {
      title: 'Ten replicas where two serve the load',
      params: { windowMinutes: 120 },
      view: exampleView({ workloads: [service(10, steady(150, 120))] }),
      proposes: [{ action: 'ScaleIn', target: 'chat' }],
    },
    {
      title: 'An hour after it took over from an autoscaler at 50 %: as many as that would hold',
      params: { windowMinutes: 60, takesOverTarget: 0.5 },
      view: exampleView({ workloads: [service(3, steady(250, 60))] }),
      proposes: [{ action: 'ScaleOut', target: 'chat' }],
    },
    {
      title: 'Two replicas where six are needed',
      params: { windowMinutes: 120 },
      view: exampleView({ workloads: [service(2, steady(550, 120))] }),
      proposes: [{ action: 'ScaleOut', target: 'chat' }],
    },
    {
      title: 'A minute is missing: nothing is taken away',
      params: { windowMinutes: 120 },
      view: exampleView({ workloads: [service(10, [...steady(150, 60), null, ...steady(150, 59)])] }),
      proposes: [],
    },
    {
      title: 'A GPU is gone: its replica is replaced, and as many are held',
      params: { windowMinutes: 120 },
      view: exampleView({
        workloads: [{ ...service(2, steady(120, 120)), health: [goneCard('serving/chat-1', 'chat')] }],
      }),
      proposes: [{ action: 'Replace', target: 'serving/chat-1' }],
    },
  ],
};
