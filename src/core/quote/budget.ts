/**
 * Whether the budgets above a team can hold the cost of a run to the end of their periods.
 *
 * Never says `holds` on unknown data: unpriced spend, a period without a plan or an evaluation, a missing rate or
 * forecast are reasons. It judges the part of the run in the current period, and reports the part in later periods
 * beside it. Budget reserved by others is theirs. A reservation is granted only by the rest on actual figures:
 * forecasts warn, they do not refuse.
 */
import { covers, plannedFor, type Budget, type BudgetFilters, type Filterable } from '../budget/budget.js';
import type { FxTable } from '../price/fx.js';
import { divideHalfEven, formatMoney } from '../money.js';
import type { CostRange, QuoteDetail } from './quote.js';
import { exchangeTo } from './exchange.js';
import { formatInstant, type Interval } from '../time.js';
import type { Term } from '../usage.js';

/** From good to bad, but that `unknown` may hide an `exceeds`. */
export const VERDICTS = ['holds', 'at-risk', 'unknown', 'exceeds'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** The state of a budget in its current period. */
export interface BudgetFacts {
  readonly budget: Budget;
  readonly period: Interval;
  /** Null: the period has not been evaluated. */
  readonly state: EvaluatedFacts | null;
  /** Nanos that reservations hold at the moment, less what their runs have cost already. */
  readonly reserved: bigint;
}

/** As the line evaluated it last; nanos. */
export interface EvaluatedFacts {
  readonly weighedAt: number;
  readonly spent: bigint;
  /** Owed whatever happens, without reservations. */
  readonly owed: bigint;
  /** Totals at the period's end, without reservations. */
  readonly forecast: { readonly mean: bigint; readonly low: bigint; readonly high: bigint } | null;
  /** Decimal string. */
  readonly unpricedGpuHours: string;
  /** Currencies whose spend is not in `spent`. */
  readonly unconverted: readonly string[];
}

export interface BudgetQuestion {
  /** When the run begins, on the clock that the budgets go by; epoch milliseconds. */
  readonly asOf: number;
  readonly provider: string;
  readonly sku: string;
  readonly term: Term;
  /** Null: not given. */
  readonly tags: Readonly<Record<string, string>> | null;
  readonly fx: FxTable;
  /** The currency of the quote. */
  readonly currency: string;
}

/** Amounts are decimal strings in the budget's currency; null if they are unknown. */
export interface BudgetVerdict {
  readonly budget: string;
  readonly team: string;
  readonly verdict: Verdict;
  /** Why it is not `holds`, as sentences. */
  readonly reasons: readonly string[];
  readonly currency: string;
  readonly periodEnd: string;
  readonly weighedAt: string | null;
  readonly planned: string | null;
  readonly spent: string | null;
  /** Owed whatever happens, without reservations. */
  readonly committed: string | null;
  readonly reserved: string | null;
  /** The part of the run that falls into the period. */
  readonly cost: { readonly expected: string; readonly low: string; readonly high: string } | null;
  /** The cost in later periods, which is not judged here. */
  readonly costLater: string | null;
  /**
   * Planned less spent, committed and reserved, before the run and after it (`afterLow`: at the high end of its cost).
   */
  readonly left: { readonly before: string; readonly after: string; readonly afterLow: string } | null;
  /** The same at the period's end by the forecast (`afterLow`: at the high ends of both). */
  readonly leftOnForecast: { readonly before: string; readonly after: string; readonly afterLow: string } | null;
}

export interface JudgedBudget {
  readonly facts: BudgetFacts;
  readonly view: BudgetVerdict;
  /** Nanos of the budget's currency: the part of the run in the period, at its high end; null if it is unknown. */
  readonly hold: bigint | null;
  /** Null: nobody planned the period, and there is nothing to hold. */
  readonly planned: bigint | null;
  /** Why it cannot be reserved; null: it can. */
  readonly refusal: string | null;
}

/** Each budget over the run, in the order given. Budgets whose filters leave the run out are left out. */
export function judgeBudgets(
  detail: QuoteDetail,
  budgets: readonly BudgetFacts[],
  question: BudgetQuestion,
): JudgedBudget[] {
  return budgets.flatMap((facts) => {
    const covered = coverage(facts.budget.filters, detail.quote.region, question);
    return covered === 'no' ? [] : [judge(detail, facts, question, covered === 'unknown')];
  });
}

/** The severest verdict; `unknown` where no budget covers the run. */
export function overall(judged: readonly { readonly view: Pick<BudgetVerdict, 'verdict'> }[]): Verdict {
  if (judged.length === 0) return 'unknown';
  return VERDICTS[Math.max(...judged.map(({ view }) => VERDICTS.indexOf(view.verdict)))] ?? 'unknown';
}

/** Whether the filters match the run; a filter on an unstated field leaves it open. */
function coverage(
  filters: BudgetFilters,
  region: string | null,
  { provider, sku, term, tags }: BudgetQuestion,
): 'yes' | 'no' | 'unknown' {
  const line: Filterable = { provider, region, category: 'Usage', sku, term, tags };
  if (covers(filters, line)) return 'yes';
  const { tag, account, subAccount, service, ...others } = filters;
  const known = tags === null ? others : { ...others, ...(tag && { tag }) };
  const isOpen = [account, subAccount, service, tags === null ? tag : undefined].some((one) => one !== undefined);
  return isOpen && covers(known, line) ? 'unknown' : 'no';
}

function judge(detail: QuoteDetail, facts: BudgetFacts, question: BudgetQuestion, tagsOpen: boolean): JudgedBudget {
  const { budget, period, state, reserved } = facts;
  const exchange = exchangeTo(budget.currency, question.currency, question.fx, question.asOf);
  const inBudget = ({ expected, low, high }: CostRange): CostRange | null => {
    const into = (nanos: bigint): bigint =>
      divideHalfEven(nanos * (exchange?.ratio.numerator ?? 0n), exchange?.ratio.denominator ?? 1n);
    return exchange === null ? null : { expected: into(expected), low: into(low), high: into(high) };
  };
  const [cost, whole] = [inBudget(detail.costWithin(period.end - question.asOf)), inBudget(detail.costWithin())];
  const planned = plannedFor(budget, period);
  const left = planned === null || state === null ? null : planned - state.spent - state.owed - reserved;
  const onForecast = leftOnForecast(facts, planned);
  const unknown = [
    ...unknownsOf(facts, planned),
    ...(tagsOpen ? ['it filters by tags, and none are given'] : []),
    ...(cost === null ? [`there is no exchange rate from ${question.currency} to ${budget.currency}`] : []),
  ];
  const money = (nanos: bigint): string => formatMoney({ nanos, currency: budget.currency });
  const { verdict, reasons } = verdictOf({
    left,
    onForecast,
    cost,
    unknown,
    leavesOut: detail.quote.interval.leavesOut,
    money: (nanos) => `${money(nanos)} ${budget.currency}`,
  });
  const leftAfter = (before: bigint, lowBefore: bigint, spend: CostRange): BudgetVerdict['left'] => ({
    before: money(before),
    after: money(before - spend.expected),
    afterLow: money(lowBefore - spend.high),
  });
  const view: BudgetVerdict = {
    budget: budget.id,
    team: budget.team,
    verdict,
    reasons,
    currency: budget.currency,
    periodEnd: formatInstant(period.end),
    weighedAt: state === null ? null : formatInstant(state.weighedAt),
    planned: planned === null ? null : money(planned),
    spent: state === null ? null : money(state.spent),
    committed: state === null ? null : money(state.owed),
    reserved: money(reserved),
    cost: cost === null ? null : { expected: money(cost.expected), low: money(cost.low), high: money(cost.high) },
    costLater: cost === null || whole === null ? null : money(whole.expected - cost.expected),
    left: left === null || cost === null ? null : leftAfter(left, left, cost),
    leftOnForecast: onForecast === null || cost === null ? null : leftAfter(onForecast.mean, onForecast.low, cost),
  };
  return {
    facts,
    view,
    hold: cost?.high ?? null,
    planned,
    refusal: refusalOf(planned, left, cost, unknown, (nanos) => `${money(nanos)} ${budget.currency}`),
  };
}

/** The rest of the plan after the forecast; null: one of them does not exist. */
function leftOnForecast({ state, reserved }: BudgetFacts, planned: bigint | null): VerdictInput['onForecast'] {
  const forecast = state?.forecast ?? null;
  if (planned === null || forecast === null) return null;
  const left = (used: bigint): bigint => planned - used - reserved;
  return { mean: left(forecast.mean), low: left(forecast.high), high: left(forecast.low) };
}

/** The reasons why the rest is unknown. */
function unknownsOf({ state }: BudgetFacts, planned: bigint | null): string[] {
  if (planned === null) return ['this period has no planned amount'];
  if (state === null) return ['this period has not been evaluated yet'];
  const reasons: string[] = [];
  if (!/^0*\.?0*$/.test(state.unpricedGpuHours))
    reasons.push(`${state.unpricedGpuHours} GPU-hours of the period have no price`);
  if (state.unconverted.length > 0)
    reasons.push(`spend in ${state.unconverted.join(', ')} is not included: there is no exchange rate`);
  return reasons;
}

interface VerdictInput {
  readonly left: bigint | null;
  /** The rest after the forecast: at its mean, its high end (`low`) and its low end (`high`). */
  readonly onForecast: { readonly mean: bigint; readonly low: bigint; readonly high: bigint } | null;
  readonly cost: CostRange | null;
  readonly unknown: readonly string[];
  readonly leavesOut: readonly string[];
  money(nanos: bigint): string;
}

function verdictOf({ left, onForecast, cost, unknown, leavesOut, money }: VerdictInput): {
  readonly verdict: Verdict;
  readonly reasons: string[];
} {
  const reasons = [...unknown];
  if (left !== null && cost !== null) {
    // Unknown amounts can only make it worse: a cost above the known rest exceeds it.
    if (left < cost.low)
      return {
        verdict: 'exceeds',
        reasons: [`${money(left)} are left, and the run costs at least ${money(cost.low)}`, ...reasons],
      };
    if (unknown.length === 0 && onForecast !== null && onForecast.high < cost.low) {
      return {
        verdict: 'exceeds',
        reasons: [
          `even the low end of the forecast leaves ${money(onForecast.high)}, and the run costs at least ${money(cost.low)}`,
        ],
      };
    }
    if (left < cost.high) reasons.push(`${money(left)} are left, and the run may cost ${money(cost.high)}`);
    if (onForecast !== null && onForecast.mean < cost.expected)
      reasons.push(`the forecast leaves ${money(onForecast.mean)}, and the run costs ${money(cost.expected)}`);
    else if (onForecast !== null && onForecast.low < cost.high)
      reasons.push(
        `the high end of the forecast leaves ${money(onForecast.low)}, and the run may cost ${money(cost.high)}`,
      );
    if (onForecast === null && unknown.length === 0) reasons.push('there is no forecast of the rest of the period');
  }
  reasons.push(...leavesOut.map((text) => `not in the cost: ${text}`));
  return {
    verdict:
      unknown.length > 0 || left === null || cost === null ? 'unknown' : reasons.length > 0 ? 'at-risk' : 'holds',
    reasons,
  };
}

/** Null: the budget objects to nothing. One that nobody planned has nothing to give, and nothing to refuse. */
function refusalOf(
  planned: bigint | null,
  left: bigint | null,
  cost: CostRange | null,
  unknown: readonly string[],
  money: (nanos: bigint) => string,
): string | null {
  if (planned === null) return null;
  if (left !== null && cost !== null && left < cost.high)
    return `${money(left)} are left, and the run may cost ${money(cost.high)}`;
  return unknown[0] ?? null;
}
