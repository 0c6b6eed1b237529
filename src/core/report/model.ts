/**
 * Makes the report of a month from its facts and from the results of the planners.
 *
 * Pure and exact: the same facts give the same report. It adds up, it never estimates; if facts are missing the report
 * says so.
 */
import { addDecimal, parseDecimal, tenTo, ZERO, type Decimal } from '../decimal.js';
import { divideHalfEven, nanosOf as exactNanos } from '../money.js';
import { byLowEnd, surelySaves } from '../policy/recommendation.js';
import type { ChanceFacts, MonthCell, RefusalFacts, ReportFacts, SampleFacts, SavingFacts } from './facts.js';
import { amountText, bridgeBetween, gpuHoursText, nanosText, ratioOf, soFarOf, spendOf } from './spend.js';
import {
  CHANCE_STATES,
  stated,
  notStated,
  type Report,
  type ReportAmount,
  type ReportChance,
  type ReportChances,
  type ReportDecisions,
  type ReportForecast,
  type ReportOptimum,
  type ReportRefused,
  type ReportSaving,
  type ReportSavings,
  type ReportUtilisation,
  type Stated,
  type UtilisationLine,
} from './report.js';
import { formatInstant, MINUTE_MS } from '../time.js';
import { GPU_PARTS } from '../usage.js';

/** Rows of a list; totals are over all. */
const MOST_ROWS = 50;
const NEXT_STEPS = 3;

export interface Planned {
  readonly optimum: Stated<ReportOptimum>;
  readonly forecast: Stated<ReportForecast>;
}

export function makeReport(facts: ReportFacts, planned: Planned): Report {
  const { team, teamName, teams, month, zone, period, asOf, madeAt, currency } = facts;
  const chances = facts.chances
    .map((one) => ({ ...one, ...chanceOf(one) }))
    .toSorted((a, b) => byLowEnd(a, b) || (a.recommendation < b.recommendation ? -1 : 1));
  return {
    version: 1,
    team,
    teamName,
    teams,
    month,
    zone,
    from: formatInstant(period.start),
    to: formatInstant(period.end),
    asOf: formatInstant(Math.min(asOf, period.end)),
    isOver: asOf >= period.end,
    comparedDays: facts.comparedDays,
    madeAt: formatInstant(madeAt),
    currency,
    spend: spendOf(facts),
    budgets: facts.budgets,
    bridge: bridgeBetween(facts.spend, facts.before),
    savings: savingsOf(facts.savings),
    refused: refusedOf(facts.refusals, facts.refusedLaunches),
    leftOnTable: leftOf(chances),
    optimum: planned.optimum,
    utilisation: utilisationOf(facts),
    billVariance: facts.variance,
    forecast: planned.forecast,
    nextMonthSoFar: soFarOf(facts.after ?? null),
    nextSteps: chances
      .filter((one) => one.state === 'open' && surelySaves(one))
      .slice(0, NEXT_STEPS)
      .map(chanceOf),
    decisions: decisionsOf(chances.filter(({ state }) => state === 'open')),
  };
}

function decisionsOf(open: readonly (ChanceFacts & ReportChance)[]): ReportDecisions {
  const sure = open.filter(surelySaves);
  const isKnown = ({ estimate }: ChanceFacts): boolean =>
    estimate !== null && estimate.low !== null && estimate.high !== null;
  return {
    sure: {
      count: sure.length,
      monthly: amountsOf(sure, ({ estimate }) => estimate?.mean ?? null),
      monthlyLow: amountsOf(sure, ({ estimate }) => nanosOfText(estimate?.low ?? null)),
      monthlyHigh: amountsOf(sure, ({ estimate }) => nanosOfText(estimate?.high ?? null)),
    },
    unsure: open.filter((one) => isKnown(one) && !surelySaves(one)).length,
    unknown: open.filter((one) => !isKnown(one) && !surelySaves(one)).length,
  };
}

/** Nanos per currency, in the order of the currencies. */
function amountsOf<T extends { readonly currency: string }>(
  all: readonly T[],
  nanosOf: (one: T) => bigint | null,
): ReportAmount[] {
  const sums = new Map<string, bigint>();
  for (const one of all) {
    const nanos = nanosOf(one);
    if (nanos !== null) sums.set(one.currency, (sums.get(one.currency) ?? 0n) + nanos);
  }
  return [...sums]
    .map(([currency, nanos]) => ({ currency, amount: nanosText(nanos) }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1));
}

/** The most frequent first. */
function counted(reasons: readonly string[]): { reason: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts]
    .map(([reason, count]) => ({ reason, count }))
    .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1));
}

const textOf = (nanos: bigint | null | undefined): string | null =>
  nanos === null || nanos === undefined ? null : nanosText(nanos);

/** What is expected of actions of which nothing is measured yet; what was taken back is expected no more. */
function estimatesOf(entries: readonly SavingFacts[]): ReportSavings['estimated'] {
  const estimated = entries.filter(({ rolledBack }) => !rolledBack);
  // A sum of ends of which one is unknown would be too narrow.
  const unknownEnds = new Set(
    estimated.flatMap(({ estimate, currency }) => (estimate !== null && estimate.low === null ? [currency] : [])),
  );
  const withEnds = estimated.filter(({ currency }) => !unknownEnds.has(currency));
  return {
    count: estimated.length,
    monthly: amountsOf(estimated, ({ estimate }) => estimate?.mean ?? null),
    unknown: estimated.filter(({ estimate }) => estimate === null).length,
    rolledBack: entries.length - estimated.length,
    monthlyLow: amountsOf(withEnds, ({ estimate }) => estimate?.low ?? null),
    monthlyHigh: amountsOf(withEnds, ({ estimate }) => estimate?.high ?? null),
  };
}

const savingOf = ({ month, savedToDate, estimate, rolledBack, ...entry }: SavingFacts): ReportSaving => ({
  ...entry,
  reason: entry.reason ?? (rolledBack ? 'rolled-back' : null),
  counterfactualCost: nanosText(month.counterfactual),
  actualCost: nanosText(month.actual),
  measured: nanosText(month.measured),
  verified: nanosText(month.verified),
  unverifiableHours: month.unverifiableHours,
  savedToDate: nanosText(savedToDate),
  estimatedMonthlySavings: textOf(estimate?.mean),
  estimatedMonthlySavingsLow: textOf(estimate?.low),
  estimatedMonthlySavingsHigh: textOf(estimate?.high),
});

function savingsOf(entries: readonly SavingFacts[]): ReportSavings {
  const entriesIn = (state: SavingFacts['state']): SavingFacts[] => entries.filter((entry) => entry.state === state);
  const proven = entries.filter(({ state }) => state === 'measured' || state === 'verified');
  return {
    estimated: estimatesOf(entriesIn('estimated')),
    measured: amountsOf(proven, ({ month }) => month.measured),
    verified: amountsOf(proven, ({ month }) => month.verified),
    proven: amountsOf(proven, ({ month }) => month.measured + month.verified),
    unverifiable: {
      count: entriesIn('unverifiable').length,
      reasons: counted(entriesIn('unverifiable').map(({ reason }) => reason ?? 'unknown')),
    },
    actions: entries.map(savingOf),
  };
}

function refusedOf(refusals: readonly RefusalFacts[], launches: Stated<number>): ReportRefused {
  return {
    total: refusals.length,
    byReason: counted(
      refusals.flatMap(({ state, reasons }) => (reasons.length === 0 ? [state] : reasons.map(({ code }) => code))),
    ),
    actions: refusals.slice(0, MOST_ROWS).map(({ at, ...refusal }) => ({ ...refusal, at: formatInstant(at) })),
    launches,
  };
}

/** The largest estimate first; what is not known comes last. */
const chanceOf = ({ estimate, ...rest }: ChanceFacts): ReportChance => ({
  ...rest,
  estimatedMonthlySavings: estimate === null ? null : nanosText(estimate.mean),
  estimatedMonthlySavingsLow: estimate?.low ?? null,
  estimatedMonthlySavingsHigh: estimate?.high ?? null,
});

function nanosOfText(text: string | null): bigint | null {
  const amount = text === null ? null : parseDecimal(text);
  return amount === null ? null : exactNanos(amount);
}

function leftOf(chances: readonly ChanceFacts[]): ReportChances {
  return {
    byState: CHANCE_STATES.map((state) => {
      const of = chances.filter((chance) => chance.state === state);
      return {
        state,
        count: of.length,
        unknown: of.filter(({ estimate }) => estimate === null).length,
        monthly: amountsOf(of, ({ estimate }) => estimate?.mean ?? null),
        monthlyLow: amountsOf(of, ({ estimate }) => nanosOfText(estimate?.low ?? null)),
        monthlyHigh: amountsOf(of, ({ estimate }) => nanosOfText(estimate?.high ?? null)),
      };
    }),
    chances: chances.slice(0, MOST_ROWS).map(chanceOf),
  };
}

const PART_MS_PER_GPU_MINUTE = BigInt(GPU_PARTS * MINUTE_MS);

/** Priced usage of one kind: what it cost and how long. */
function pricedUse(cells: readonly MonthCell[]): { readonly cost: Decimal; readonly quantity: bigint } {
  let [cost, quantity]: [Decimal, bigint] = [ZERO, 0n];
  for (const cell of cells) {
    if (cell.category !== 'Usage' || cell.amount === null || cell.quantity === null || cell.quantity <= cell.unpriced)
      continue;
    cost = addDecimal(cost, cell.amount);
    quantity += cell.quantity - cell.unpriced;
  }
  return { cost, quantity };
}

/**
 * The cost of low utilisation: by each kind's own average cost of a GPU-hour in the month. Low is not idle: a service
 * may wait for requests.
 */
function utilisationOf({ samples, spend, lowUtilisation }: ReportFacts): Stated<ReportUtilisation> {
  if (samples.length === 0) return notStated('no-samples');
  const lines = samples.map((one) =>
    lineOf(
      one,
      spend.cells.filter(({ gpuModel }) => gpuModel === one.gpuModel),
    ),
  );
  const sampled = samples.reduce((sum, one) => sum + one.sampled, 0);
  const metered = spend.cells.reduce((sum, { quantity }) => sum + (quantity ?? 0n), 0n);
  const costs = lines.flatMap(({ cost }) => (cost === null ? [] : [cost]));
  return stated({
    threshold: lowUtilisation,
    coverage: ratioOf(BigInt(Math.round(sampled)) * PART_MS_PER_GPU_MINUTE, metered),
    lowGpuHours: hoursOfMinutes(samples.reduce((sum, one) => sum + one.low, 0)),
    lowCost: costs.length === 0 ? null : amountText(costs.reduce(addDecimal)),
    lines: lines.map(({ line }) => line),
  });
}

const hoursOfMinutes = (minutes: number): string => gpuHoursText(BigInt(Math.round(minutes)) * PART_MS_PER_GPU_MINUTE);

function lineOf(
  { gpuModel, sampled, measured, low, utilisation }: SampleFacts,
  cells: readonly MonthCell[],
): { readonly line: UtilisationLine; readonly cost: Decimal | null } {
  const { cost, quantity } = pricedUse(cells);
  const lowParts = BigInt(Math.round(low)) * PART_MS_PER_GPU_MINUTE;
  const scale = Math.max(9, cost.scale);
  const lowCost =
    quantity === 0n
      ? null
      : { unscaled: divideHalfEven(cost.unscaled * tenTo(scale - cost.scale) * lowParts, quantity), scale };
  const metered = cells.reduce((sum, cell) => sum + (cell.quantity ?? 0n), 0n);
  return {
    cost: lowCost,
    line: {
      gpuModel,
      sampledGpuHours: hoursOfMinutes(sampled),
      measuredGpuHours: hoursOfMinutes(measured),
      lowGpuHours: gpuHoursText(lowParts),
      meanUtilisation: measured === 0 ? null : Math.round((utilisation / measured) * 1e6) / 1e6,
      coverage: ratioOf(BigInt(Math.round(sampled)) * PART_MS_PER_GPU_MINUTE, metered),
      lowCost: lowCost === null ? null : amountText(lowCost),
    },
  };
}
