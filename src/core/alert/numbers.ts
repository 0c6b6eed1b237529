/**
 * The numbers that alerts show: the drivers of the spend, the next step, and the series in which anomalies are found.
 *
 * Pure. Unknown is never zero: a day with unknown spend is a gap, and a share without a whole is null.
 */
import type { Driver, NextStep, SpendSoFar } from './alert.js';
import { BUDGET_FILTERS, byTheirNames, type BudgetFilters } from '../budget/budget.js';
import { formatDecimal, parseDecimal, tenTo, ZERO } from '../decimal.js';
import { fixed } from '../figures.js';
import { divideHalfEven } from '../money.js';
import type { Price } from '../price/price.js';
import { byLowEnd, surelySaves, type Recommendation } from '../policy/recommendation.js';
import { DAY_MS, formatDay } from '../time.js';

/** A row of spend as the store answers it. */
export type SpendLine = Readonly<Record<string, string | null>> & {
  readonly cost: string | null;
  readonly currency: string;
};

const MOST_DRIVERS = 3;
const SHARE_DIGITS = 10_000n;

/**
 * The largest parts of the spend in one currency; usage without a price is in none of them.
 * @param rows grouped by provider, sku and gpuModel, and by what the filters look at
 */
export function driversOf(rows: readonly SpendLine[], currency: string, filters: BudgetFilters = {}): Driver[] {
  const costs = costsByName(rows, currency, filters);
  const total = [...costs.values()].reduce((sum, nanos) => sum + nanos, 0n);
  return [...costs]
    .filter(([, nanos]) => nanos > 0n)
    .sort(largestFirst)
    .slice(0, MOST_DRIVERS)
    .map(([name, nanos]) => ({
      name,
      cost: textOf(nanos),
      share: total > 0n ? Number((nanos * SHARE_DIGITS) / total) / Number(SHARE_DIGITS) : null,
    }));
}

/**
 * The spend through a day compared with the same number of days before, and the largest increases; null if those days
 * are unknown.
 * @param rows and those of the period before, as of `driversOf`
 */
export function spendSoFar(
  through: string,
  rows: readonly SpendLine[],
  rowsBefore: readonly SpendLine[],
  currency: string,
  filters: BudgetFilters = {},
): SpendSoFar | null {
  const [costs, before] = [costsByName(rows, currency, filters), costsByName(rowsBefore, currency, filters)];
  if (before.size === 0) return null;
  const sumOf = (all: ReadonlyMap<string, bigint>): string =>
    textOf([...all.values()].reduce((sum, nanos) => sum + nanos, 0n));
  return {
    through,
    spent: sumOf(costs),
    before: sumOf(before),
    grown: [...costs]
      .map(([name, nanos]): [string, bigint] => [name, nanos - (before.get(name) ?? 0n)])
      .filter(([, more]) => more > 0n)
      .sort(largestFirst)
      .slice(0, MOST_DRIVERS)
      .map(([name, more]) => ({ name, more: textOf(more) })),
  };
}

const textOf = (nanos: bigint): string => formatDecimal({ unscaled: nanos, scale: 9 });

const largestFirst = ([a, x]: readonly [string, bigint], [b, y]: readonly [string, bigint]): number =>
  x === y ? (a < b ? -1 : 1) : x > y ? -1 : 1;

/** Nanos in one currency by provider and SKU or GPU model, after the filters. */
function costsByName(rows: readonly SpendLine[], currency: string, given: BudgetFilters): Map<string, bigint> {
  const filters = byTheirNames(given);
  const costs = new Map<string, bigint>();
  // Sums by tag are not kept apart: nothing is said rather than something wrong.
  if (filters.tag !== undefined) return costs;
  const fits = (list: readonly string[] | undefined, value: string | null | undefined): boolean =>
    list === undefined || (value !== null && value !== undefined && list.includes(value));
  for (const row of rows) {
    if (row.cost === null || row.currency !== currency) continue;
    if (!BUDGET_FILTERS.every((name) => name === 'tag' || fits(filters[name], row[name]))) continue;
    const name = nameOf(row);
    costs.set(name, (costs.get(name) ?? 0n) + nanosAbout(row.cost));
  }
  return costs;
}

/** `AWS p5.48xlarge (H100)`. */
function nameOf({ provider, sku, gpuModel }: SpendLine): string {
  const what = sku ?? gpuModel ?? 'other';
  const model = gpuModel && what !== gpuModel ? `(${gpuModel})` : null;
  return [provider, what, model].filter((part) => part !== null && part !== undefined).join(' ');
}

/**
 * The filter, as in questions about costs, that selects the rows that grew most: whose records are to be read again.
 * Null: nothing grew.
 */
export function mostGrown(
  { grown }: SpendSoFar,
  rows: readonly SpendLine[],
): Readonly<Record<'provider' | 'sku' | 'gpuModel', readonly string[]>> | null {
  const row = rows.find((one) => nameOf(one) === grown[0]?.name);
  const value = (name: string): readonly string[] => [row?.[name] ?? ''];
  return row === undefined ? null : { provider: value('provider'), sku: value('sku'), gpuModel: value('gpuModel') };
}

/** To the nearest nano: amounts that are shown, not booked. */
function nanosAbout(text: string): bigint {
  const { unscaled, scale } = parseDecimal(text) ?? ZERO;
  return scale <= 9 ? unscaled * tenTo(9 - scale) : divideHalfEven(unscaled, tenTo(scale - 9));
}

const EFFORTS: readonly Recommendation['implementationEffort'][] = ['VeryLow', 'Low', 'Medium', 'High'];

/**
 * The best first step: the saving with the largest low end; among equal ones the one with the least effort. A step that
 * only protects, saves an unknown amount, or may cost more than it saves, does not qualify.
 */
export function nextStepOf(open: readonly Recommendation[], currency: string): NextStep | null {
  const [best] = open
    .filter((one) => one.currency === currency && surelySaves(one))
    .sort(
      (a, b) =>
        byLowEnd(a, b) ||
        EFFORTS.indexOf(a.implementationEffort) - EFFORTS.indexOf(b.implementationEffort) ||
        (a.id < b.id ? -1 : 1),
    );
  return best === undefined || best.estimatedMonthlySavings === null
    ? null
    : {
        recommendation: best.id,
        title: best.title,
        monthlySavings: best.estimatedMonthlySavings,
        monthlySavingsLow: best.estimatedMonthlySavingsLow,
        monthlySavingsHigh: best.estimatedMonthlySavingsHigh,
        currency,
      };
}

export interface SpendAt {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Currency units; null: unknown. */
  readonly spend: number | null;
}

/** A day with more GPU-hours unpriced than this share is unknown. */
const MOST_UNPRICED = 0.01;

/**
 * A team's spend by UTC day within [from, to), from the first known day. A day without data, with another currency, or
 * with too much unpriced usage, is null.
 * @param rows by `day`
 */
export function dailySeries(
  rows: readonly (SpendLine & { readonly gpuHours: string | null; readonly unpricedQuantity: string })[],
  currency: string,
  from: number,
  to: number,
): SpendAt[] {
  const known = new Map<string, number | null>();
  for (const { day = null, cost, currency: own, gpuHours, unpricedQuantity } of rows) {
    if (day === null) continue;
    const isPriced = Number(unpricedQuantity) <= MOST_UNPRICED * Number(gpuHours ?? 0);
    const value =
      cost === null || own !== currency || !isPriced || known.get(day) === null
        ? null
        : Number(cost) + (known.get(day) ?? 0);
    known.set(day, value);
  }
  const series: SpendAt[] = [];
  for (let at = from; at < to; at += DAY_MS) {
    const day = formatDay(at / DAY_MS);
    if (series.length === 0 && !known.has(day)) continue;
    series.push({ at, spend: known.get(day) ?? null });
  }
  return series;
}

/** A SKU's price over time, under one term. */
export interface PriceSeries {
  readonly provider: string;
  readonly sku: string;
  readonly region: string | null;
  readonly term: Price['term'];
  readonly gpuModel: string | null;
  readonly currency: string;
  readonly points: readonly PricePoint[];
}

export interface PricePoint {
  /** Since when it is stated, epoch milliseconds; strictly rising. */
  readonly at: number;
  /** Per GPU-hour, in currency units. */
  readonly price: number;
  readonly source: string;
}

/** As many as are looked at of a series. */
const MOST_POINTS = 2000;

/** Prices of GPUs that somebody uses, by series, oldest first. @param used whether a provider's SKU is in use */
export function priceSeries(prices: readonly Price[], used: (provider: string, sku: string) => boolean): PriceSeries[] {
  const found = new Map<string, { readonly of: Price; readonly points: Map<number, PricePoint> }>();
  for (const price of prices) {
    if (price.component !== 'gpu' || price.rate.nanos <= 0n || !used(price.provider, price.sku)) continue;
    const { provider, sku, region, term, upfront, rate } = price;
    const key = JSON.stringify([provider, sku, region, term, upfront, rate.currency]);
    const series = found.get(key) ?? { of: price, points: new Map<number, PricePoint>() };
    const perHour = ((Number(rate.nanos) / Number(rate.quantity)) * 3600) / 1e9;
    series.points.set(price.effectiveFrom, { at: price.effectiveFrom, price: perHour, source: price.source });
    found.set(key, series);
  }
  return [...found.values()].map(({ of: { provider, sku, region, term, gpuModel, rate }, points }) => ({
    provider,
    sku,
    region,
    term,
    gpuModel,
    currency: rate.currency,
    points: [...points.values()].sort((a, b) => a.at - b.at).slice(-MOST_POINTS),
  }));
}

/**
 * Series that a real move would move too: the same GPU of the same seller under the same term, as another SKU or
 * elsewhere.
 */
export function peersOf(series: PriceSeries, all: readonly PriceSeries[]): PriceSeries[] {
  return all.filter(
    (other) =>
      other !== series &&
      other.provider === series.provider &&
      other.term === series.term &&
      other.gpuModel === series.gpuModel &&
      series.gpuModel !== null,
  );
}

/** An estimate as a decimal string with so many digits. */
export const estimateText = (value: number, digits = 2): string => fixed(value, digits);
