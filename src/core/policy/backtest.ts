/**
 * The report of every backtest: policies side by side on the same cases, with the optimum that knows the future.
 *
 * Pooling is the only rule here: a policy's share in a cell is its saving over all cases of the cell divided by the
 * optimum's saving over the same cases; the share in `mean` pools all cells in the same way. If the optimum saves
 * nothing the share is null, never zero. This file decides nothing and reads nothing.
 */

export type BacktestProblem =
  | 'spot'
  | 'spot-regions'
  | 'spot-serving'
  | 'commitment'
  | 'scaling'
  | 'idle'
  | 'throughput'
  | 'policy';

/**
 * Totals of one policy over the cases of one cell. Extra numbers are fractions or counts, named with their unit last.
 */
export interface PolicyResult {
  readonly name: string;
  /** Mean cost of a case, in the unit that the report's settings name; null: of no case is it known. */
  readonly meanCost: number | null;
  /** Share of the clairvoyant optimum's saving; null if the optimum saves nothing. */
  readonly meanShare: number | null;
  readonly [measure: string]: number | string | null;
}

/** Costs over time, in equal steps over a window. */
export interface CostSeries {
  /** Start of the first step, ISO 8601. */
  readonly from: string;
  readonly stepHours: number;
  /** Cost of each step, rounded to four decimals, for the policies whose payments have known times. */
  readonly costs: Readonly<Record<string, readonly number[]>>;
}

/** A case that is in no figure, and why. */
export interface UnknownCase {
  readonly name: string;
  readonly why: string;
}

export interface BacktestCell {
  readonly name: string;
  /** Number of cases (windows, tenants, spells, held-out points), with those that are in no figure. */
  readonly count: number;
  readonly policies: readonly PolicyResult[];
  /** Cases with an unknown cost: no sum and no share contains them. Absent: there is none. */
  readonly unknown?: readonly UnknownCase[];
  /** Only where the cell is a stretch of time. */
  readonly series?: CostSeries;
}

export interface BacktestReport {
  readonly problem: BacktestProblem;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly cells: readonly BacktestCell[];
  readonly mean: readonly ({ readonly name: string; readonly meanShare: number | null } & Readonly<
    Record<string, number | string | null>
  >)[];
}

/** Sums from which a share is pooled: what the baseline, the policy and the optimum cost over the same cases. */
export interface PooledCost {
  readonly baseline: number;
  readonly policy: number;
  readonly optimum: number;
}

/** Pooled share of the optimum's saving, or null if the optimum saves nothing. */
export function pooledShare(cost: PooledCost): number | null {
  const possible = cost.baseline - cost.optimum;
  const tolerance = 1e-9 * Math.max(1, Math.abs(cost.baseline));
  return possible > tolerance ? (cost.baseline - cost.policy) / possible : null;
}

/** Called from time to time with the finished share of a backtest, 0 to 1. */
export type BacktestProgress = (share: number) => void;
