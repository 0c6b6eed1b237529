/**
 * The cost of the published rules and of the optimum on the same recording, if there are any: reservations, idle
 * resources, fleets. Each pays the same bill as the policy. A part without a published rule is compared only with doing
 * nothing, and has no optimum. Unpriced use is left out of theirs as of the policy's.
 */
import type { RecordedHistory } from '../../core/policy/history.js';
import { HOUR_MS, MINUTE_MS } from '../../core/time.js';
import type { Policy } from '../../core/policy/policy.js';
import { LevelCounts } from '../commitment/level-counts.js';
import type { CommitmentTerm } from '../commitment/model.js';
import { optimum } from '../commitment/optimum.js';
import { below30For30, skiRental, zeroFor60 } from '../idle/opponents.js';
import { clairvoyantSaving, simulateIdle, type IdlePolicy } from '../idle/simulate.js';
import { hpa, stepScaling, targetTracking } from '../scaling/opponents.js';
import { clairvoyant } from '../scaling/optimum.js';
import { simulate, type FleetLimits, type ScalingPolicy } from '../scaling/simulate.js';
import { billHour, demanded, gpuHour, type Commitment } from './bills.js';
import { isOnDemand } from './replay.js';
import { ReplayedResource } from './resources.js';
import { CostSteps } from './steps.js';
import { ReplayedWorkload } from './workloads.js';

export interface Alternative {
  readonly name: string;
  readonly cost: number;
  /** Share of the load that went unserved; null if there is none. */
  readonly unservedShare?: number | null;
  /** More of what it did, beside its cost. */
  readonly measures?: Readonly<Record<string, number | null>>;
  /** Cost of each step of the window; absent if it is not known when it was paid. */
  readonly paid?: Float64Array;
}

/** One that is computed when it is asked for: each may take a second of a long window. */
export type PendingAlternative = () => Alternative;

/** Whether a series, resource or workload has a price, by its index in the history. */
export type IsKnown = (index: number) => boolean;

/** Rules that reserve, on the same offers; the optimum knows the whole window. Empty where nothing was on offer. */
export function commitmentAlternatives(
  history: RecordedHistory,
  policy: Policy,
  params: unknown,
  isKnown: IsKnown,
): PendingAlternative[] {
  if (policy.name !== 'reserve-baseline') return [];
  const chosen = history.demand.map((series, index) =>
    isOnDemand(series) && isKnown(index) ? offerFor(history, index, params) : null,
  );
  if (chosen.every((one) => one === null)) return [];
  const named =
    (name: string, purchases: (index: number, term: CommitmentTerm) => Int32Array): PendingAlternative =>
    () => {
      const commitments = chosen.flatMap((one, index): Commitment[] =>
        one === null
          ? []
          : [...purchases(index, one.term)].flatMap((units, hour) =>
              units === 0
                ? []
                : [
                    {
                      series: index,
                      units,
                      since: history.from + hour * HOUR_MS,
                      termHours: one.term.termHours,
                      perHour: one.perHour,
                    },
                  ],
            ),
      );
      return { name, ...demandCost(history, commitments, isKnown) };
    };
  return [
    ...[7, 30, 60].map((days) => named(`look-back-${days}d`, (index, term) => lookBack(history, index, term, days))),
    named('clairvoyant', (index, term) => optimum(demandOf(history, index, history.from), term).purchases),
  ];
}

/** The first offer that the policy's parameters allow, at the window's first prices. */
function offerFor(
  history: RecordedHistory,
  index: number,
  params: unknown,
): { readonly term: CommitmentTerm; readonly perHour: number } | null {
  const series = history.demand[index];
  const prices = series === undefined ? null : history.pricesAt(series, history.from);
  const { terms, upfront } = params as { readonly terms?: readonly string[]; readonly upfront?: readonly string[] };
  const offer = prices?.reserved.find(
    (one) => (terms ?? []).includes(one.term) && (upfront ?? []).includes(one.upfront),
  );
  if (offer === undefined || prices === null || prices.onDemand === null) return null;
  const perHour = gpuHour(offer.rate);
  return { perHour, term: { termHours: offer.termHours, priceRatio: perHour / gpuHour(prices.onDemand), alpha: 0 } };
}

/** Whole GPUs per hour from `from` to the window's end. */
const demandOf = (history: RecordedHistory, index: number, from: number): Int32Array =>
  Int32Array.from({ length: (history.to - from) / HOUR_MS }, (_, hour) =>
    Math.ceil(demanded(history, index, from + hour * HOUR_MS) - 1e-9),
  );

/**
 * The vendors' rule (lab/commitment/opponents.ts says which), with the recorded past before the window to look
 * back on; an evaluation a day.
 */
function lookBack(history: RecordedHistory, index: number, term: CommitmentTerm, days: number): Int32Array {
  const start = Math.min(history.from, history.demand[index]?.from ?? history.from);
  const demand = demandOf(history, index, start);
  const past = (history.from - start) / HOUR_MS;
  const purchases = new Int32Array(demand.length - past);
  const window = new LevelCounts();
  let active = 0;
  for (let hour = 0; hour < demand.length; hour++) {
    const own = hour - past;
    if (own >= 0 && own % 24 === 0 && hour >= 24) {
      if (own >= term.termHours) active -= purchases[own - term.termHours] ?? 0;
      const wanted = window.levelAbove((Math.min(hour, days * 24) * (term.priceRatio - term.alpha)) / (1 - term.alpha));
      purchases[own] = Math.max(0, wanted - active);
      active += purchases[own] ?? 0;
    } else if (own >= term.termHours) active -= purchases[own - term.termHours] ?? 0;
    window.add(demand[hour] ?? 0);
    if (hour >= days * 24) window.remove(demand[hour - days * 24] ?? 0);
  }
  return purchases;
}

/** All demand of the window on demand, but for these commitments. */
function demandCost(
  history: RecordedHistory,
  commitments: readonly Commitment[],
  isKnown: IsKnown,
): Pick<Alternative, 'cost' | 'paid'> {
  const steps = new CostSteps(history);
  const paid = steps.none();
  let cost = 0;
  for (let hour = history.from; hour < history.to; hour += HOUR_MS) {
    history.demand.forEach((series, index) => {
      if (!isOnDemand(series) || !isKnown(index)) return;
      const bill = billHour(history, index, hour, commitments, { level: Infinity, onSpot: false });
      cost += bill.cost;
      paid[steps.at(hour)] = (paid[steps.at(hour)] ?? 0) + bill.cost;
    });
  }
  return { cost, paid };
}

/** Rules that stop what rests, per resource; the optimum stops at once what outlasts the restart. */
export function idleAlternatives(
  history: RecordedHistory,
  policy: Policy,
  restartMinutes: number,
  isKnown: IsKnown,
): PendingAlternative[] {
  if (policy.name !== 'idle-stop') return [];
  const all = history.resources
    .filter((_, index) => isKnown(index))
    .map((one) => new ReplayedResource(one, history.from, history.to));
  const cost = (saved: (one: ReplayedResource) => number): number =>
    all.reduce((sum, one) => sum + ((one.minutes(history.from, history.to) - saved(one)) / 60) * (one.perHour ?? 0), 0);
  const rule =
    (name: string, make: () => IdlePolicy): PendingAlternative =>
    () => ({ name, cost: cost((one) => simulateIdle(one.samples, restartMinutes, make()).savedMinutes) });
  return [
    rule('below-30-for-30', below30For30),
    rule('zero-for-60', zeroFor60),
    rule('ski-rental', () => skiRental(restartMinutes, 5)),
    () => ({ name: 'clairvoyant', cost: cost((one) => clairvoyantSaving(one.samples, restartMinutes)) }),
  ];
}

/**
 * Rules that size fleets by their load; the optimum serves every minute whole with the fewest replica-minutes. Only
 * services whose load is known in every minute.
 */
export function scalingAlternatives(history: RecordedHistory, policy: Policy, isKnown: IsKnown): PendingAlternative[] {
  if (policy.name !== 'target-tracking' && policy.name !== 'step-scaling') return [];
  const known = history.workloads.filter((_, index) => isKnown(index));
  const services = known.flatMap((one) => serviceOf(history, one));
  if (services.length === 0 || services.length < known.length) return [];
  const total =
    (name: string, run: (load: Float64Array, limits: FleetLimits) => FleetCost): PendingAlternative =>
    () => {
      const runs = services.map(({ load, limits, perMinute }) => ({
        ...run(load, limits),
        load: load.reduce((sum, one) => sum + one, 0),
        perMinute,
      }));
      const load = runs.reduce((sum, one) => sum + one.load, 0);
      const cost = runs.reduce((sum, one) => sum + one.replicaMinutes * one.perMinute, 0);
      return {
        name,
        cost,
        unservedShare: load > 0 ? runs.reduce((sum, one) => sum + one.unserved, 0) / load : null,
        ...paidOver(history, runs),
      };
    };
  const rule = (name: string, make: () => ScalingPolicy): PendingAlternative =>
    total(name, (load, limits) => simulate(load, limits, make()));
  return [
    ...[0.5, 0.7, 0.9].map((target) => rule(`hpa-${target}`, () => hpa({ target }))),
    rule('target-tracking-0.7', () => targetTracking({ target: 0.7 })),
    rule('step-scaling', () => stepScaling({ outAbove: 0.7, outReplicas: 2, inBelow: 0.3 })),
    total('clairvoyant', clairvoyant),
  ];
}

interface FleetCost {
  readonly replicaMinutes: number;
  readonly unserved: number;
  /** Paid replicas of each minute; absent for the optimum, which knows only their sum. */
  readonly replicas?: Int32Array;
}

function paidOver(
  history: RecordedHistory,
  runs: readonly (FleetCost & { readonly perMinute: number })[],
): Pick<Alternative, 'paid'> {
  if (runs.some(({ replicas }) => replicas === undefined)) return {};
  const steps = new CostSteps(history);
  const paid = steps.none();
  for (const { replicas, perMinute } of runs) {
    replicas?.forEach((count, minute) => {
      const step = steps.at(history.from + minute * MINUTE_MS);
      paid[step] = (paid[step] ?? 0) + count * perMinute;
    });
  }
  return { paid };
}

function serviceOf(
  history: RecordedHistory,
  one: RecordedHistory['workloads'][number],
): { load: Float64Array; limits: FleetLimits; perMinute: number }[] {
  const { service, fleet } = one;
  if (service === null || fleet === null || service.capacityPerReplica === null) return [];
  const first = Math.round((history.from - service.load.from) / MINUTE_MS);
  const minutes = (history.to - history.from) / MINUTE_MS;
  const values = Array.from({ length: minutes }, (_, n) => service.load.values[first + n] ?? null);
  if (values.includes(null)) return [];
  const capacity = service.capacityPerReplica;
  const limits = {
    bootMinutes: service.bootMinutes,
    minReplicas: Math.max(1, fleet.minReplicas),
    maxReplicas: fleet.maxReplicas,
    cooldownMinutes: 5,
  };
  const replayed = new ReplayedWorkload(history, one);
  const perReplicaHour = replayed.perReplicaHour(history.from);
  // A rule that pays for hours which are not in the policy's figure is not comparable with it.
  return perReplicaHour === null || !replayed.isWhole
    ? []
    : [{ load: Float64Array.from(values, (value) => (value ?? 0) / capacity), limits, perMinute: perReplicaHour / 60 }];
}

/** The promised replicas of a service on demand alone, in its cheapest group; empty where that has no price. */
export function servingAlternatives(history: RecordedHistory, policy: Policy, params: unknown): PendingAlternative[] {
  const { service, replicas } = params as { readonly service?: string; readonly replicas?: number };
  if (policy.name !== 'spot-serving' || replicas === undefined) return [];
  const groups = history.workloads
    .filter(({ partOf, term }) => partOf === service && term === 'on-demand')
    .map((one) => new ReplayedWorkload(history, one));
  const steps = new CostSteps(history);
  const paid = steps.none();
  for (let hour = history.from; hour < history.to; hour += HOUR_MS) {
    const prices = groups.flatMap((one) => one.perReplicaHour(hour) ?? []);
    if (prices.length === 0) return [];
    paid[steps.at(hour)] = (paid[steps.at(hour)] ?? 0) + replicas * Math.min(...prices);
  }
  return [
    () => ({ name: 'on-demand', cost: paid.reduce((sum, one) => sum + one, 0), measures: { servedShare: 1 }, paid }),
  ];
}
