/**
 * Budgets in AWS Budgets' terms: what a team (with all teams below it) planned for a period, its spend, its committed
 * and its forecast spend, and the thresholds that these cross. Never reads a clock, a price or a rule; the forecaster
 * is passed in.
 *
 * The invariants: a threshold is notified once per period, in whatever order the data arrives, unless its budget is
 * raised above the spend; a limit of 0 allows nothing; a period without a plan is `not-planned`, never unlimited;
 * unpriced use is carried beside the money, never counted as 0.
 */
import { compareDecimal, formatDecimal, parseDecimal, tenTo } from '../decimal.js';
import { invalid, type Problem } from '../errors.js';
import { nanosOf } from '../money.js';
import { providerName } from '../price/price.js';
import {
  DAY_MS,
  dayLabel,
  HOUR_MS,
  formatInstant,
  isZone,
  localDays,
  parseDay,
  periodOf,
  startOfLocalDay,
  type Interval,
  type PeriodKind,
} from '../time.js';
import { CHARGE_CATEGORIES, TERMS, type ChargeCategory, type Term } from '../usage.js';

/** AWS: NotificationType ACTUAL or FORECASTED, ThresholdType PERCENTAGE, as a ratio of the planned amount. */
export interface Threshold {
  readonly kind: 'actual' | 'forecast';
  /** A decimal above 0: `0.8` is 80 %. */
  readonly ratio: string;
}

/** Each list is any-of, all given lists must hold. Values are exact. */
export interface BudgetFilters {
  readonly provider?: readonly string[];
  /** FOCUS BillingAccountId, SubAccountId, RegionId, ServiceName, ChargeCategory. */
  readonly account?: readonly string[];
  readonly subAccount?: readonly string[];
  readonly region?: readonly string[];
  readonly service?: readonly string[];
  readonly category?: readonly ChargeCategory[];
  readonly sku?: readonly string[];
  readonly term?: readonly Term[];
  readonly tag?: readonly { readonly key: string; readonly value: string }[];
}

export const BUDGET_FILTERS = [
  'provider',
  'account',
  'subAccount',
  'region',
  'service',
  'category',
  'sku',
  'term',
  'tag',
] as const satisfies readonly (keyof BudgetFilters)[];

/**
 * The amounts that a budget counts. `actual`: the billed cost if a bill counts, otherwise the accrual. `effective`: the
 * amortised cost if a bill counts, otherwise the accrual (AWS: CostTypes.UseAmortized). `accrued`: metered usage at its
 * price, whatever bills say.
 */
export const BUDGET_BASES = ['actual', 'effective', 'accrued'] as const;
export type BudgetBasis = (typeof BUDGET_BASES)[number];

/** As stored and sent: plain JSON, amounts as decimal strings. */
export interface Budget {
  readonly id: string;
  /** The team; the teams below it count too. */
  readonly team: string;
  readonly period: PeriodKind;
  /** IANA name: where the period's days begin. */
  readonly zone: string;
  /** ISO 4217 code. */
  readonly currency: string;
  readonly filters: BudgetFilters;
  /** Absent: `actual`. */
  readonly basis?: BudgetBasis | undefined;
  readonly planned: {
    /** For each period without an amount of its own; null: such a period is not planned. */
    readonly default: string | null;
    /** By the period's first local day, `2026-10-01` (AWS: PlannedBudgetLimits). */
    readonly periods: Readonly<Record<string, string>>;
  };
  /** Whether credits lower the spend (AWS: CostTypes.IncludeCredit). */
  readonly includeCredits: boolean;
  readonly thresholds: readonly Threshold[];
}

/** Spend of an hour or a day in the budget's currency, already filtered (see `covers`). */
export interface SpendPoint {
  /** First millisecond; the point belongs to the period that holds it. */
  readonly at: number;
  /** Without credits. */
  readonly nanos: bigint;
  /** Zero or below. */
  readonly creditNanos: bigint;
  /** GPU part-milliseconds without a price. */
  readonly unpricedQuantity: bigint;
}

/** The result of a forecaster: the future spend until the period's end, in currency units. */
export interface RemainingSpend {
  readonly mean: number;
  readonly low: number;
  readonly high: number;
  readonly method: string;
}

/**
 * @param dailySpend spend per local day in currency units, oldest first, the last one today so far
 * @param elapsedFractionOfDay how much of today is over, 0 to 1
 * @param daysLeft whole days after today until the period ends
 */
export type Forecaster = (
  dailySpend: readonly number[],
  elapsedFractionOfDay: number,
  daysLeft: number,
) => RemainingSpend;

/** Totals at the period's end, nanos. */
export interface BudgetForecast {
  readonly mean: bigint;
  readonly low: bigint;
  readonly high: bigint;
  readonly method: string;
}

export interface BudgetState {
  readonly budget: string;
  readonly period: Interval;
  readonly currency: string;
  readonly status: 'planned' | 'not-planned';
  /** Nanos; null if the period is not planned. */
  readonly planned: bigint | null;
  /** Nanos of the period so far, with credits where the budget includes them. */
  readonly spent: bigint;
  /** Nanos of credits in the period, counted or not. */
  readonly credits: bigint;
  /** Nanos of the period that are owed whatever happens and are not yet in `spent`. */
  readonly committed: bigint;
  /** Null if there is no history to forecast from, or nothing of it has a price. */
  readonly forecast: BudgetForecast | null;
  /**
   * Nanos per 24 hours over the last seven days (or since the first spend); null before an hour is known, and where
   * nothing of them has a price.
   */
  readonly burnRatePerDay: bigint | null;
  /** The hour in which the plan ran out, or when it will on the way to the forecast; null if it will last. */
  readonly exhaustionAt: number | null;
  /** Its day in the budget's zone, `2026-11-20`. */
  readonly exhaustionDay: string | null;
  readonly unpricedQuantity: bigint;
  /** spent / planned to six digits; null if nothing is planned or 0 is. */
  readonly ratio: number | null;
}

export interface Crossing {
  /** `budget/period start/kind/ratio`: the same threshold has the same id, whoever finds it, and when. */
  readonly id: string;
  readonly budget: string;
  readonly periodStart: number;
  readonly kind: Threshold['kind'];
  /** Without zeros at the end. */
  readonly ratio: string;
  /** The actual or forecast nanos that crossed. */
  readonly nanos: bigint;
  readonly planned: bigint;
  /** 1, or the number of its notification in this period: it repeats after its budget was raised above the spend. */
  readonly round: number;
}

/** A notified crossing, by its threshold's last notification in a period. */
export interface NotifiedCrossing {
  readonly kind: Threshold['kind'];
  readonly ratio: string;
  readonly round: number;
  /** Whether it still holds: then it is not notified again. */
  readonly holds: boolean;
  /** The highest plan under which it has held, nanos. */
  readonly planned: bigint;
}

const BURN_WINDOW_MS = 7 * DAY_MS;
const RATIO_DIGITS = 1_000_000n;

/** The budget's period that holds an instant. */
export const periodAt = (budget: Pick<Budget, 'period' | 'zone'>, instant: number): Interval =>
  periodOf(budget.period, instant, budget.zone);

/** Nanos planned for a period, by its own amount or the default; null: not planned. 0 is a plan: nothing is allowed. */
export function plannedFor(budget: Budget, period: Interval): bigint | null {
  const text = budget.planned.periods[dayLabel(period.start, budget.zone)] ?? budget.planned.default;
  const amount = text === null ? null : parseDecimal(text);
  return amount === null ? null : nanosOf(amount);
}

/** The team and every team below it. A team that is its own ancestor ends the walk. */
export function teamsUnder(team: string, parents: ReadonlyMap<string, string | null>): Set<string> {
  const children = new Map<string, string[]>();
  for (const [child, parent] of parents) {
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), child]);
  }
  const found = new Set([team]);
  for (const one of found) for (const child of children.get(one) ?? []) found.add(child);
  return found;
}

/** The fields of a cost line that filters look at. */
export interface Filterable {
  readonly provider: string;
  /** Absent: not known. */
  readonly account?: string | null;
  readonly subAccount?: string | null;
  readonly region?: string | null;
  readonly service?: string | null;
  readonly category?: ChargeCategory;
  readonly sku: string | null;
  readonly term: Term | null;
  readonly tags: Readonly<Record<string, string>> | null;
}

/** The filters with each provider also under the name that costs have: `GCP` is Google Cloud there. */
export const byTheirNames = <Filters extends { readonly provider?: readonly string[] }>(filters: Filters): Filters =>
  filters.provider === undefined
    ? filters
    : { ...filters, provider: [...new Set(filters.provider.flatMap((name) => [name, providerName(name)]))] };

/** Whether a cost line passes the filters. A field that the line does not know passes no filter on it. */
export function covers(filters: BudgetFilters, line: Filterable): boolean {
  const { tag, ...plain } = byTheirNames(filters);
  const holds = (allowed: readonly string[] | undefined, value: string | null | undefined): boolean =>
    allowed === undefined || (value !== null && value !== undefined && allowed.includes(value));
  return (
    (Object.keys(plain) as (keyof typeof plain)[]).every((name) => holds(plain[name], line[name])) &&
    (tag === undefined ||
      tag.some(({ key, value }) => line.tags !== null && Object.hasOwn(line.tags, key) && line.tags[key] === value))
  );
}

export interface EvaluationInput {
  readonly budget: Budget;
  /** Any instant of the period to evaluate; `now` where absent. Late data evaluates a past period again. */
  readonly instant?: number;
  /** In any order; what lies before the period is history for the forecast, what lies after it is left out. */
  readonly spend: readonly SpendPoint[];
  readonly committed: bigint;
  /**
   * Nanos that are reserved for future launches: they are committed too, in addition to the forecast from history.
   * Absent: none.
   */
  readonly reserved?: bigint;
  readonly now: number;
  readonly forecaster: Forecaster | null;
}

/** The state of a budget in one period. The same points in any order give the same state. */
export function evaluateBudget({
  budget,
  instant,
  spend,
  committed,
  reserved = 0n,
  now,
  forecaster,
}: EvaluationInput): BudgetState {
  const period = periodAt(budget, instant ?? now);
  const planned = plannedFor(budget, period);
  const points = [...spend].filter(({ at }) => at < period.end).sort((a, b) => a.at - b.at);
  const within = points.filter(({ at }) => at >= period.start);
  const counted = (point: SpendPoint): bigint => point.nanos + (budget.includeCredits ? point.creditNanos : 0n);
  const spent = within.reduce((sum, point) => sum + counted(point), 0n);
  const burnRatePerDay = burnRate(points, counted, now);
  const forecast =
    now >= period.end && !isUnknown(within)
      ? { mean: spent, low: spent, high: spent, method: 'closed' }
      : forecastOf(budget.zone, points, counted, { period, now, spent, committed, reserved, forecaster });
  const exhaustionAt =
    planned === null ? null : exhaustion(within, counted, { planned, spent, forecast, burnRatePerDay, period, now });
  return {
    budget: budget.id,
    period,
    currency: budget.currency,
    status: planned === null ? 'not-planned' : 'planned',
    planned,
    spent,
    credits: within.reduce((sum, { creditNanos }) => sum + creditNanos, 0n),
    committed: committed + reserved,
    forecast,
    burnRatePerDay,
    exhaustionAt,
    exhaustionDay: exhaustionAt === null ? null : dayLabel(exhaustionAt, budget.zone),
    unpricedQuantity: within.reduce((sum, { unpricedQuantity }) => sum + unpricedQuantity, 0n),
    ratio: planned === null || planned === 0n ? null : Number((spent * RATIO_DIGITS) / planned) / Number(RATIO_DIGITS),
  };
}

/** Used and nothing of it priced: what it has cost is unknown, and not zero. */
const isUnknown = (points: readonly SpendPoint[]): boolean =>
  points.some(({ unpricedQuantity }) => unpricedQuantity > 0n) &&
  points.every(({ nanos, creditNanos }) => nanos === 0n && creditNanos === 0n);

type Counted = (point: SpendPoint) => bigint;

function burnRate(points: readonly SpendPoint[], counted: Counted, now: number): bigint | null {
  const first = points[0];
  if (first === undefined) return null;
  const from = Math.max(first.at, now - BURN_WINDOW_MS);
  const recent = points.filter(({ at }) => at >= from && at < now);
  if (now - from < HOUR_MS || isUnknown(recent)) return null;
  const sum = recent.reduce((total, point) => total + counted(point), 0n);
  return (sum * BigInt(DAY_MS)) / BigInt(now - from);
}

interface ForecastContext {
  readonly period: Interval;
  readonly now: number;
  readonly spent: bigint;
  readonly committed: bigint;
  readonly reserved: bigint;
  readonly forecaster: Forecaster | null;
}

function forecastOf(
  zone: string,
  points: readonly SpendPoint[],
  counted: Counted,
  context: ForecastContext,
): BudgetForecast | null {
  const { period, now, spent, committed, reserved, forecaster } = context;
  const first = points[0];
  if (forecaster === null || first === undefined || first.at > now || now < period.start) return null;
  if (now >= period.end || isUnknown(points)) return null;
  const today = localDays(zone, now);
  const begin = localDays(zone, first.at);
  const daily = new Array<number>(today - begin + 1).fill(0);
  for (const point of points) {
    const day = localDays(zone, point.at) - begin;
    if (point.at <= now && day < daily.length) daily[day] = (daily[day] ?? 0) + Number(counted(point)) / 1e9;
  }
  const [start, end] = [startOfLocalDay(zone, today), startOfLocalDay(zone, today + 1)];
  const daysLeft = Math.max(0, localDays(zone, period.end) - today - 1);
  const remaining = forecaster(daily, (now - start) / (end - start), daysLeft);
  if (![remaining.mean, remaining.low, remaining.high].every(Number.isFinite)) return null;
  const owed = spent + committed;
  const total = (units: number): bigint => {
    const sum = spent + BigInt(Math.round(units * 1e9));
    return (sum < owed ? owed : sum) + reserved;
  };
  return {
    mean: total(remaining.mean),
    low: total(remaining.low),
    high: total(remaining.high),
    method: remaining.method,
  };
}

interface ExhaustionContext {
  readonly planned: bigint;
  readonly spent: bigint;
  readonly forecast: BudgetForecast | null;
  readonly burnRatePerDay: bigint | null;
  readonly period: Interval;
  readonly now: number;
}

function exhaustion(within: readonly SpendPoint[], counted: Counted, context: ExhaustionContext): number | null {
  const { planned, spent, forecast, burnRatePerDay, period, now } = context;
  if (reaches(spent, planned)) {
    let sum = 0n;
    for (const point of within) {
      sum += counted(point);
      if (reaches(sum, planned)) return point.at;
    }
  }
  if (now >= period.end) return null;
  const left = planned - spent;
  // A straight line to the forecast, so that a date stands here exactly where the forecast is above the plan.
  const [gain, span] = forecast !== null ? [forecast.mean - spent, period.end - now] : [burnRatePerDay ?? 0n, DAY_MS];
  if (gain <= 0n) return null;
  const wait = Number((left * BigInt(span)) / gain);
  return wait <= period.end - now && (forecast === null || forecast.mean > planned) ? now + wait : null;
}

/** Whether an amount reaches a limit. Nothing never does; with a limit of 0 anything does. */
const reaches = (nanos: bigint, limit: bigint): boolean => nanos > 0n && nanos >= limit;

/** `0.80` and `0.8` are one threshold. */
function canonicalRatio(
  text: string,
): { readonly text: string; readonly unscaled: bigint; readonly scale: number } | null {
  const decimal = parseDecimal(text);
  if (decimal === null || decimal.unscaled <= 0n) return null;
  let { unscaled, scale } = decimal;
  while (scale > 0 && unscaled % 10n === 0n) [unscaled, scale] = [unscaled / 10n, scale - 1];
  return { text: formatDecimal({ unscaled, scale }), unscaled, scale };
}

const valueOf = (kind: Threshold['kind'], { spent, forecast }: BudgetState): bigint | undefined =>
  kind === 'actual' ? spent : forecast?.mean;

/** A threshold in a period; the ratio without zeros at the end. */
const thresholdName = (kind: string, ratio: string): string => `${kind}/${canonicalRatio(ratio)?.text ?? ratio}`;

/**
 * Thresholds that the state has reached and that were not notified in this period, or whose notification no longer
 * holds. A ratio of 1 is reached at exactly the planned amount.
 */
export function crossings(budget: Budget, state: BudgetState, notified: readonly NotifiedCrossing[]): Crossing[] {
  const { planned, period } = state;
  if (planned === null) return [];
  const last = new Map(notified.map((one) => [thresholdName(one.kind, one.ratio), one]));
  const found = new Map<string, Crossing>();
  for (const threshold of budget.thresholds) {
    const ratio = canonicalRatio(threshold.ratio);
    const nanos = valueOf(threshold.kind, state);
    if (ratio === null || nanos === undefined) continue;
    const before = last.get(thresholdName(threshold.kind, ratio.text));
    if (before?.holds === true || !reaches(nanos * tenTo(ratio.scale), planned * ratio.unscaled)) continue;
    const id = `${budget.id}/${formatInstant(period.start)}/${threshold.kind}/${ratio.text}`;
    found.set(id, {
      id,
      budget: budget.id,
      periodStart: period.start,
      kind: threshold.kind,
      ratio: ratio.text,
      nanos,
      planned,
      round: (before?.round ?? 0) + 1,
    });
  }
  return [...found.values()];
}

/**
 * Whether a crossed threshold is still reached. Another plan, later bills or later pricing may have changed that: then
 * nobody is notified.
 */
export function holdsStill(
  { kind, ratio: text }: Threshold,
  {
    planned,
    spent,
    forecast,
  }: { readonly planned: bigint | null; readonly spent: bigint; readonly forecast: bigint | null },
): boolean {
  const ratio = canonicalRatio(text);
  const nanos = kind === 'actual' ? spent : forecast;
  if (ratio === null || nanos === null || planned === null) return false;
  return reaches(nanos * tenTo(ratio.scale), planned * ratio.unscaled);
}

/**
 * The changes to the notifications of a period: one whose budget was raised so far that its amount is no longer reached
 * does not hold any more, and is repeated when the amount is reached. Nothing else ends it: neither late data that
 * lowers the spend, nor a lower plan, nor a budget that is removed and made again. One that holds under a higher plan
 * holds from then on as if it had been sent under that plan. Only changes are returned.
 */
export function raised(state: BudgetState, notified: readonly NotifiedCrossing[]): NotifiedCrossing[] {
  const { planned } = state;
  if (planned === null) return [];
  return notified.flatMap((one) => {
    const ratio = canonicalRatio(one.ratio);
    const nanos = valueOf(one.kind, state);
    if (!one.holds || ratio === null || nanos === undefined || planned <= one.planned) return [];
    const holds = reaches(nanos * tenTo(ratio.scale), planned * ratio.unscaled);
    return [{ ...one, holds, planned: holds ? planned : one.planned }];
  });
}

/** Every problem of a budget, by path. Empty where it is fine. */
export function problemsOfBudget(budget: Budget): Problem[] {
  const problems: Problem[] = [];
  const check = (path: string, fine: boolean, message: string): void => {
    if (!fine) problems.push({ path, message });
  };
  check('id', budget.id.trim() !== '', 'is empty');
  check('team', budget.team.trim() !== '', 'is empty');
  check('zone', isZone(budget.zone), 'is not an IANA time zone');
  check('currency', /^[A-Z]{3}$/.test(budget.currency), 'is not an ISO 4217 code');
  const { period } = budget;
  if (typeof period === 'object') {
    check('period/start', parseDay(period.start) !== null, 'is not a day written YYYY-MM-DD');
    check(
      'period/lengthDays',
      Number.isSafeInteger(period.lengthDays) && period.lengthDays >= 1,
      'is not a whole number of 1 or more',
    );
  } else
    check(
      'period',
      ['month', 'quarter', 'year'].includes(period),
      'is none of month, quarter, year, { start, lengthDays }',
    );
  checkPlanned(budget, check, problems.length === 0);
  const terms: readonly string[] = TERMS;
  budget.filters.term?.forEach((term, index) =>
    check(`filters/term/${index}`, terms.includes(term), `is none of ${TERMS.join(', ')}`),
  );
  const categories: readonly string[] = CHARGE_CATEGORIES;
  budget.filters.category?.forEach((category, index) =>
    check(`filters/category/${index}`, categories.includes(category), `is none of ${CHARGE_CATEGORIES.join(', ')}`),
  );
  check('basis', BUDGET_BASES.includes(budget.basis ?? 'actual'), `is none of ${BUDGET_BASES.join(', ')}`);
  for (const field of BUDGET_FILTERS)
    check(`filters/${field}`, budget.filters[field]?.length !== 0, 'is an empty list: nothing would pass');
  budget.thresholds.forEach(({ kind, ratio }, index) => {
    check(`thresholds/${index}/kind`, kind === 'actual' || kind === 'forecast', 'is neither actual nor forecast');
    const value = canonicalRatio(ratio);
    check(
      `thresholds/${index}/ratio`,
      value !== null && compareDecimal(value, { unscaled: 100n, scale: 0 }) <= 0,
      'is not a decimal above 0 and at most 100',
    );
  });
  return problems;
}

function checkPlanned(
  budget: Budget,
  check: (path: string, fine: boolean, message: string) => void,
  periodsReadable: boolean,
): void {
  const amountIsFine = (text: string): boolean => {
    const amount = parseDecimal(text);
    return amount !== null && amount.unscaled >= 0n && nanosOf(amount) !== null;
  };
  const message = 'is not a decimal of 0 or more, of at most nine digits after the point';
  if (budget.planned.default !== null) check('planned/default', amountIsFine(budget.planned.default), message);
  for (const [label, amount] of Object.entries(budget.planned.periods)) {
    check(`planned/periods/${label}`, amountIsFine(amount), message);
    const day = parseDay(label);
    check(`planned/periods/${label}`, day !== null, 'is not a day written YYYY-MM-DD');
    if (day === null || !periodsReadable) continue;
    const first = dayLabel(periodAt(budget, startOfLocalDay(budget.zone, day)).start, budget.zone);
    check(`planned/periods/${label}`, first === label, `is not the first day of a period (that is ${first})`);
  }
}

/** @throws Failure `invalid`, naming every problem. */
export function checkBudget(budget: Budget): Budget {
  const problems = problemsOfBudget(budget);
  if (problems.length > 0) throw invalid(`the budget has ${problems.length} problem(s)`, problems);
  return budget;
}
