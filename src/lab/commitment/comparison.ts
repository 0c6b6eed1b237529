/**
 * Bursar's rule, the published ones and the optimum on the same tenants, priced alike and pooled as
 * core/policy/backtest.ts says.
 *
 * Where a published rule can be read in several ways every reading is run, and the one that costs least over all
 * tenants stands for it, so that the opponent met is the best one. This file reads no input; it never drops a tenant.
 */
import {
  type BacktestCell,
  type BacktestProgress,
  type PolicyResult,
  pooledShare,
} from '../../core/policy/backtest.js';
import { mulberry32 } from '../random.js';
import {
  checkedTerm,
  coefficientOfVariation,
  type CommitmentTerm,
  commitmentCost,
} from '../../planning/commitment/model.js';
import { type LookBackReading, lookBack, onlineDeterministic, onlineRandomised } from './opponents.js';
import { optimum } from '../../planning/commitment/optimum.js';
import { plannedPurchases } from '../../planning/commitment/planner.js';
import type { DemandSeries } from './series.js';

/** Tenants whose demand varies this much have a cell of their own. */
const VARIABLE_FROM = 0.5;

/** One way to decide: purchases per hour from a demand that it may only read up to the hour it decides. */
interface Rule {
  readonly reading: string;
  readonly purchases: (demand: Int32Array, tenantIndex: number) => Int32Array;
}

/** Cost per tenant, in on-demand GPU-hours. */
interface Outcome {
  readonly name: string;
  readonly reading: string;
  readonly costs: Float64Array;
}

export interface CommitmentComparison {
  readonly cells: readonly BacktestCell[];
  readonly mean: readonly {
    readonly name: string;
    readonly meanShare: number | null;
    readonly worstRatio: number | null;
  }[];
}

/**
 * Runs every rule on every tenant. `seed` feeds the randomised rule only: one threshold per tenant, as its paper draws
 * it. In `mean` each tenant counts once, so it pools what the cell `all` holds.
 */
export function compareCommitments(
  tenants: readonly DemandSeries[],
  term: CommitmentTerm,
  seed = 1,
  progress: BacktestProgress = () => undefined,
): CommitmentComparison {
  checkedTerm(term);
  const named = [...rules(term, seed, tenants.length)];
  const runs = named.reduce((sum, [, readings]) => sum + readings.length, 1) * tenants.length;
  let done = 0;
  const outcomes = [
    ...named.map(([name, readings]) => cheapest(name, readings, tenants, term, () => progress(++done / runs))),
    {
      name: 'clairvoyant',
      reading: 'linear program',
      costs: Float64Array.from(tenants, ({ demand }) => optimum(demand, term).cost),
    },
  ];
  const everyone = tenants.map((_, index) => index);
  const variable = everyone.filter((index) => (coefficientOfVariation(tenants[index]!.demand) ?? 0) >= VARIABLE_FROM);
  const cells = [
    { name: 'all', count: everyone.length, policies: score(outcomes, everyone) },
    { name: 'cv>=0.5', count: variable.length, policies: score(outcomes, variable) },
  ];
  const mean = score(outcomes, everyone).map((result) => ({
    name: result.name,
    meanShare: result.meanShare,
    worstRatio: result.worstRatio,
  }));
  return { cells, mean };
}

function rules(term: CommitmentTerm, seed: number, tenantCount: number): Map<string, readonly Rule[]> {
  const random = mulberry32(seed);
  const draws = Array.from({ length: tenantCount }, () => random());
  return new Map<string, readonly Rule[]>([
    ['none', [{ reading: 'all on demand', purchases: (demand) => new Int32Array(demand.length) }]],
    ...[1, 7, 30, 60].map((days) => [`look-back-${days}d`, lookBackRules(term, days)] as const),
    [
      'online-deterministic',
      [false, true].map((inclusive) => ({
        reading: inclusive ? 'at the threshold' : 'above the threshold',
        purchases: (demand: Int32Array) => onlineDeterministic(demand, term, inclusive),
      })),
    ],
    [
      'online-randomised',
      [false, true].map((inclusive) => ({
        reading: inclusive ? 'at the threshold' : 'above the threshold',
        purchases: (demand: Int32Array, tenant: number) => onlineRandomised(demand, term, draws[tenant]!, inclusive),
      })),
    ],
    [
      'bursar',
      [
        {
          reading: 'panel of look-backs and forecasts under the guard',
          purchases: (demand) => plannedPurchases(demand, term),
        },
      ],
    ],
  ]);
}

const lookBackRules = (term: CommitmentTerm, days: number): Rule[] =>
  (['partial', 'whole'] as const).flatMap((start) =>
    [1, 24].map((everyHours) => {
      const reading: LookBackReading = { windowHours: 24 * days, start, everyHours };
      return {
        reading: `${start} window, every ${everyHours} h`,
        purchases: (demand: Int32Array) => lookBack(demand, term, reading),
      };
    }),
  );

/** The reading that costs least over all tenants; the first of equals. */
function cheapest(
  name: string,
  readings: readonly Rule[],
  tenants: readonly DemandSeries[],
  term: CommitmentTerm,
  tenantDone: () => void,
): Outcome {
  const outcomes = readings.map(({ reading, purchases }) => ({
    name,
    reading,
    costs: Float64Array.from(tenants, ({ demand }, index) => {
      tenantDone();
      return commitmentCost(demand, purchases(demand, index), term);
    }),
  }));
  return outcomes.reduce((best, outcome) => (sum(outcome.costs) < sum(best.costs) ? outcome : best));
}

const sum = (costs: Float64Array): number => costs.reduce((total, cost) => total + cost, 0);

function score(
  outcomes: readonly Outcome[],
  members: readonly number[],
): (PolicyResult & { readonly worstRatio: number | null })[] {
  const costsOf = (name: string): Float64Array => outcomes.find((outcome) => outcome.name === name)!.costs;
  const totalOf = (costs: Float64Array): number => members.reduce((total, index) => total + costs[index]!, 0);
  const [baseline, best] = [costsOf('none'), costsOf('clairvoyant')];
  return outcomes.map(({ name, reading, costs }) => ({
    name,
    meanCost: members.length === 0 ? 0 : totalOf(costs) / members.length,
    meanShare: pooledShare({ baseline: totalOf(baseline), policy: totalOf(costs), optimum: totalOf(best) }),
    worstRatio: ratioOfWorst(costs, best, members),
    reading,
  }));
}

/** Cost over the optimum's for the worst tenant; null where no tenant demands anything. */
function ratioOfWorst(costs: Float64Array, best: Float64Array, members: readonly number[]): number | null {
  const ratios = members.filter((index) => best[index]! > 0).map((index) => costs[index]! / best[index]!);
  return ratios.length === 0 ? null : ratios.reduce((worst, ratio) => Math.max(worst, ratio));
}
