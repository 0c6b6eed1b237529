/**
 * The effect of other allocation rules on the present costs: each day's cost of a team is divided among the teams that
 * would get it, shared costs are shared again, and credits are used again.
 *
 * Pure, and only for `accrued` and `actual`. The invariant: dividing and sharing change no sum, whatever was rounded;
 * only usage that changes its currency with its team, and the resulting use of single teams' credits, change the total.
 * It never allocates a record itself.
 */
import { SHARE_SCALE, splitAmount, splitShared, UNALLOCATED, type Assignment } from './allocation.js';
import { applyCredits, type Credit } from './credit.js';
import { UseWeights, type DirectUse } from './sharing.js';
import { addDecimal, negateDecimal, tenTo, withScale, ZERO, type Decimal } from '../decimal.js';
import { divideHalfEven, splitByLargestRemainder } from '../money.js';
import type { FxTable } from '../price/fx.js';
import { DAY_MS, parseDay } from '../time.js';

/** The cost of a team's usage of one dimension on a UTC day; null: unknown. */
export interface DayCost {
  readonly team: string;
  readonly day: string;
  /** A number for the common fields of all records behind it. */
  readonly dimension: string;
  readonly currency: string;
  readonly accrued: Decimal | null;
  readonly actual: Decimal | null;
  /** GPU part-milliseconds without a price. */
  readonly unpriced: bigint;
}

/**
 * Nanos of usage, priced for a portion alone: of all of it, and of what counts as actual. Null: none of it has a price.
 */
export interface PortionCost {
  accrued: bigint | null;
  actual: bigint | null;
  unpriced: bigint;
}

/** The part of a team's day that one team would have. */
export type Portion =
  /**
   * `own` in the currency of the team that has it now, to divide by; `elsewhere` in that of the team that would have
   * it, where that is another one.
   */
  | {
      readonly kind: 'metered';
      readonly own: PortionCost;
      readonly elsewhere: (PortionCost & { readonly currency: string }) | null;
    }
  /** A bill's amounts need no dividing. */
  | { readonly kind: 'billed'; actual: Decimal | null };

/** The rules' data about the teams that they name. */
export interface Sharing {
  /** Whether a team is a stand-in for shared costs. */
  isShared(team: string): boolean;
  /** How many days a dimension's charges reach over. */
  daysOf(dimension: string): number;
  readonly fx: FxTable;
  assignmentOf(standIn: string): Assignment | null;
}

const NANO_DIGITS = 9;
const MEASURES = ['accrued', 'actual'] as const;
type Measure = (typeof MEASURES)[number];

/** A day's cost divided among the teams of its portions. An amount without a portion stays with its team. */
export function divide(cost: DayCost, portions: ReadonlyMap<string, Portion>): DayCost[] {
  const parts = new Map<string, Open>();
  const partOf = (team: string): Open => {
    const part = parts.get(team) ?? { accrued: null, actual: null, unpriced: 0n };
    parts.set(team, part);
    return part;
  };
  const sorted = [...portions].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const measure of MEASURES) {
    for (const [team, amount] of divided(cost, measure, sorted))
      partOf(team)[measure] = plus(partOf(team)[measure], amount);
  }
  const without = sorted.flatMap(([team, portion]) =>
    portion.kind === 'metered' && portion.own.unpriced > 0n ? [{ team, weight: portion.own.unpriced }] : [],
  );
  for (const [team, quantity] of split(cost.unpriced, without, cost.team)) partOf(team).unpriced += quantity;
  const converted = sorted.flatMap(([team, portion]) => {
    if (portion.kind !== 'metered' || portion.elsewhere === null) return [];
    const { currency, accrued, actual, unpriced } = portion.elsewhere;
    parts.delete(team);
    return [{ ...cost, team, currency, accrued: decimalOf(accrued), actual: decimalOf(actual), unpriced }];
  });
  return [...[...parts].map(([team, part]): DayCost => ({ ...cost, team, ...part })), ...converted].filter(
    ({ accrued, actual, unpriced }) => accrued !== null || actual !== null || unpriced > 0n,
  );
}

interface Open {
  accrued: Decimal | null;
  actual: Decimal | null;
  unpriced: bigint;
}

function divided(
  cost: DayCost,
  measure: Measure,
  portions: readonly (readonly [string, Portion])[],
): [string, Decimal][] {
  const whole = cost[measure];
  if (whole === null) return [];
  const stated = portions.flatMap(([team, portion]): [string, Decimal][] =>
    portion.kind === 'billed' && measure === 'actual' && portion.actual !== null ? [[team, portion.actual]] : [],
  );
  if (stated.length > 0) {
    const rest = stated.reduce((left, [, amount]) => addDecimal(left, negateDecimal(amount)), whole);
    return rest.unscaled === 0n ? stated : [...stated, [cost.team, rest]];
  }
  const weights = portions.flatMap(([team, portion]) => {
    const weight = portion.kind === 'metered' ? portion.own[measure] : null;
    return weight === null ? [] : [{ team, weight }];
  });
  const { unscaled: total, scale } = withScale(whole, SHARE_SCALE);
  return split(total, weights, cost.team).map(([team, unscaled]) => [team, { unscaled, scale }]);
}

/** By weight; whole to the first where every weight is zero, and to whoever has it now where nobody is there. */
function split(
  total: bigint,
  parts: readonly { readonly team: string; readonly weight: bigint }[],
  now: string,
): [string, bigint][] {
  const [first] = parts;
  if (first === undefined) return [[now, total]];
  if (parts.every(({ weight }) => weight === 0n)) return [[first.team, total]];
  const amounts = splitByLargestRemainder(
    total,
    parts.map(({ weight }) => weight),
  );
  return parts.map(({ team }, at) => [team, amounts[at] ?? 0n]);
}

/** The costs with what stand-ins have given to those who share it, each charge by the use of its own days. */
export function share(costs: readonly DayCost[], sharing: Sharing): DayCost[] {
  const use = new UseWeights(
    directUse(costs.filter(({ team }) => !sharing.isShared(team) && team !== UNALLOCATED)),
    sharing.fx,
  );
  return merged(costs).flatMap((cost) => {
    if (!sharing.isShared(cost.team)) return [cost];
    const assignment = sharing.assignmentOf(cost.team);
    if (assignment === null) return [];
    const span = { first: parseDay(cost.day) ?? 0, count: sharing.daysOf(cost.dimension) };
    const weights = use.weightsOf(cost.currency, span);
    const parts = new Map<string, Open>();
    const add = (team: string, more: Partial<Open>): void =>
      void parts.set(team, { ...(parts.get(team) ?? { accrued: null, actual: null, unpriced: 0n }), ...more });
    for (const { team, nanos } of splitShared(cost.unpriced, assignment, weights)) add(team, { unpriced: nanos });
    for (const measure of MEASURES) {
      const whole = cost[measure];
      if (whole === null) continue;
      for (const { team, amount } of splitAmount(whole, assignment, weights)) add(team, { [measure]: amount });
    }
    return [...parts].map(([team, part]): DayCost => ({ ...cost, team, ...part }));
  });
}

/** One row for each team, day, dimension and currency, so that shared costs are rounded once. */
function merged(costs: readonly DayCost[]): DayCost[] {
  const rows = new Map<string, DayCost>();
  for (const cost of costs) {
    const key = JSON.stringify([cost.team, cost.day, cost.dimension, cost.currency]);
    const row = rows.get(key);
    rows.set(
      key,
      row === undefined
        ? cost
        : {
            ...row,
            accrued: sumOf(row.accrued, cost.accrued),
            actual: sumOf(row.actual, cost.actual),
            unpriced: row.unpriced + cost.unpriced,
          },
    );
  }
  return [...rows.values()];
}

/** Each team's own use, by day and currency. GPU time is not previewed: without a rate what converts decides. */
function directUse(costs: readonly DayCost[]): DirectUse[] {
  const sums = new Map<string, { readonly cost: DayCost; sum: Decimal }>();
  for (const cost of costs) {
    if (cost.actual === null) continue;
    const key = JSON.stringify([cost.team, cost.day, cost.currency]);
    sums.set(key, { cost, sum: addDecimal(sums.get(key)?.sum ?? ZERO, cost.actual) });
  }
  return [...sums.values()].map(({ cost: { team, day, currency }, sum }) => ({
    team,
    day: parseDay(day) ?? 0,
    currency,
    nanos: nanosDown(sum),
    gpuPartMs: 0n,
  }));
}

/**
 * Costs of metered usage in the order in which credits are taken against them, one for each team, day and dimension.
 */
export function takeCredits(
  costs: readonly DayCost[],
  credits: readonly Credit[],
  of: (dimension: string) => { readonly provider: string; readonly isMetered: boolean } | null,
  fx: FxTable,
): DayCost[] {
  if (credits.length === 0) return [];
  const sums = new Map<
    string,
    {
      readonly cost: DayCost;
      readonly provider: string;
      readonly team: string;
      readonly at: number;
      readonly currency: string;
      nanos: bigint;
      actual: bigint | null;
    }
  >();
  for (const cost of costs) {
    const dimension = of(cost.dimension);
    if (dimension === null || !dimension.isMetered || cost.accrued === null || cost.accrued.unscaled <= 0n) continue;
    const { team, day, currency } = cost;
    const key = JSON.stringify([day, team, cost.dimension, currency]);
    const sum = sums.get(key) ?? {
      cost,
      provider: dimension.provider,
      team,
      at: (parseDay(day) ?? 0) * DAY_MS,
      currency,
      nanos: 0n,
      actual: null,
    };
    sum.nanos += nanosDown(cost.accrued);
    if (cost.actual !== null) sum.actual = (sum.actual ?? 0n) + nanosDown(cost.actual);
    sums.set(key, sum);
  }
  const order = [...sums.values()].sort(
    (a, b) =>
      a.at - b.at ||
      (a.team < b.team ? -1 : a.team > b.team ? 1 : 0) ||
      Number(BigInt(a.cost.dimension) - BigInt(b.cost.dimension)),
  );
  return applyCredits(order, credits, fx).map(
    ({ cost, nanos }): DayCost => ({
      ...cost.cost,
      accrued: decimalOf(nanos),
      actual: cost.actual === null ? null : decimalOf(divideHalfEven(nanos * cost.actual, cost.nanos)),
      unpriced: 0n,
    }),
  );
}

const decimalOf = (nanos: bigint | null): Decimal | null =>
  nanos === null ? null : { unscaled: nanos, scale: NANO_DIGITS };

const plus = (a: Decimal | null, b: Decimal): Decimal => (a === null ? b : addDecimal(a, b));

const sumOf = (a: Decimal | null, b: Decimal | null): Decimal | null => (b === null ? a : plus(a, b));

/** Toward zero, as PostgreSQL's trunc. */
function nanosDown({ unscaled, scale }: Decimal): bigint {
  return scale <= NANO_DIGITS ? unscaled * tenTo(NANO_DIGITS - scale) : unscaled / tenTo(scale - NANO_DIGITS);
}

/** The sum of a team's rows in a currency. */
export interface TeamSum {
  readonly team: string;
  readonly currency: string;
  /** Null: nothing of it has a price. */
  readonly actual: Decimal | null;
  readonly unpriced: bigint;
}

/** Sums per team and currency. */
export function sumsOf(costs: Iterable<TeamSum>): TeamSum[] {
  const sums = new Map<string, TeamSum>();
  for (const { team, currency, actual, unpriced } of costs) {
    const key = JSON.stringify([team, currency]);
    const sum = sums.get(key);
    sums.set(
      key,
      sum === undefined
        ? { team, currency, actual, unpriced }
        : { team, currency, actual: sumOf(sum.actual, actual), unpriced: sum.unpriced + unpriced },
    );
  }
  return [...sums.values()];
}
