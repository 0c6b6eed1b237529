/**
 * The spend of a report: totals, lines by the requested keys, days, and the bridge to the previous month.
 *
 * Sums are exact: decimals keep the longest scale, so that a line here equals the API's answer to the same query to the
 * last digit.
 */
import { addDecimal, formatDecimal, tenTo, ZERO, type Decimal } from '../decimal.js';
import { divideHalfEven } from '../money.js';
import { addEffects, bridgeOf, NO_EFFECTS, type BridgeInput, type BridgeSide, type Effects } from './bridge.js';
import type { DayAmount, MonthCell, MonthFacts, ReportFacts } from './facts.js';
import {
  stated,
  notStated,
  type ComparedDays,
  type ReportAmount,
  type ReportBridge,
  type ReportSoFar,
  type ReportSpend,
  type SpendLine,
  type Stated,
} from './report.js';
import {
  civilFromDays,
  dayLabel,
  formatDay,
  localDays,
  monthLabel,
  monthOfLabel,
  parseDay,
  startOfLocalDay,
  type Interval,
} from '../time.js';
import { PART_MS_PER_GPU_HOUR } from '../usage.js';

/** The number of bridge cells that are listed. */
const MOST_CELLS = 20;
const NANO_SCALE = 9;

/** `12.5` without zeros at the end beyond two digits. */
export function amountText(amount: Decimal): string {
  return formatDecimal(amount.scale < 2 ? addDecimal(amount, { unscaled: 0n, scale: 2 }) : amount).replace(
    /(\.\d{2}\d*?)0+$/,
    '$1',
  );
}

export const nanosText = (nanos: bigint): string => amountText({ unscaled: nanos, scale: NANO_SCALE });

/** GPU-hours with six digits after the point, of part-milliseconds. */
export const gpuHoursText = (partMs: bigint): string =>
  formatDecimal({ unscaled: divideHalfEven(partMs * 1_000_000n, PART_MS_PER_GPU_HOUR), scale: 6 });

/** a / b to six digits; null if b is zero. */
export function ratioOf(a: bigint, b: bigint): number | null {
  if (b === 0n) return null;
  const [numerator, denominator] = b < 0n ? [-a, -b] : [a, b];
  return Number(divideHalfEven(numerator * 1_000_000n, denominator)) / 1e6;
}

interface Sum {
  amount: Decimal | null;
  quantity: bigint | null;
  unpriced: bigint;
}

function sumOf(cells: readonly MonthCell[]): Sum {
  const sum: Sum = { amount: null, quantity: null, unpriced: 0n };
  for (const { amount, quantity, unpriced } of cells) {
    if (amount !== null) sum.amount = addDecimal(sum.amount ?? ZERO, amount);
    if (quantity !== null) sum.quantity = (sum.quantity ?? 0n) + quantity;
    sum.unpriced += unpriced;
  }
  return sum;
}

const textOrNull = (amount: Decimal | null): string | null => (amount === null ? null : amountText(amount));

function shareOf(amount: Decimal | null, total: Decimal | null): number | null {
  if (amount === null || total === null) return null;
  const scale = Math.max(amount.scale, total.scale);
  return ratioOf(amount.unscaled * tenTo(scale - amount.scale), total.unscaled * tenTo(scale - total.scale));
}

function linesBy(
  nameOf: (cell: MonthCell) => string | null,
  now: readonly MonthCell[],
  before: readonly MonthCell[],
  total: Decimal | null,
): SpendLine[] {
  // Of what a month with a record does not name, nothing was used.
  const nothing = (sum: Sum, of: readonly MonthCell[], name: string | null): Sum =>
    of.length === 0 || of.some((cell) => nameOf(cell) === name) ? sum : { amount: ZERO, quantity: 0n, unpriced: 0n };
  const names = [...new Set([...now, ...before].map(nameOf))];
  const lines = names.map((name) => {
    const [sum, old] = [now, before].map((cells) => sumOf(cells.filter((cell) => nameOf(cell) === name)));
    return { name, sum: nothing(sum ?? sumOf([]), now, name), old: nothing(old ?? sumOf([]), before, name) };
  });
  const value = ({ amount }: Sum): number => (amount === null ? -Infinity : Number(formatDecimal(amount)));
  return lines
    .toSorted((a, b) => value(b.sum) - value(a.sum) || ((a.name ?? '\uffff') < (b.name ?? '\uffff') ? -1 : 1))
    .map(({ name, sum, old }) => ({
      name,
      amount: textOrNull(sum.amount),
      before: textOrNull(old.amount),
      share: shareOf(sum.amount, total),
      gpuHours: sum.quantity === null ? null : gpuHoursText(sum.quantity),
      unpricedGpuHours: gpuHoursText(sum.unpriced),
    }));
}

export function spendOf({
  spend,
  before,
  days,
  period,
  zone,
}: Pick<ReportFacts, 'spend' | 'before' | 'days' | 'period' | 'zone'>): ReportSpend {
  const [now, old] = [spend.cells, before.cells];
  const sum = sumOf(now);
  const linesOf = (nameOf: (cell: MonthCell) => string | null): SpendLine[] => linesBy(nameOf, now, old, sum.amount);
  const first = dayLabel(period.start, zone);
  return {
    total: textOrNull(sum.amount),
    before: textOrNull(sumOf(old).amount),
    credits: amountText(sumOf(now.filter(({ category }) => category === 'Credit')).amount ?? ZERO),
    gpuHours: sum.quantity === null ? null : gpuHoursText(sum.quantity),
    unpricedGpuHours: gpuHoursText(sum.unpriced),
    unconverted: byCurrency(spend.unconverted),
    setAside: byCurrency(spend.setAside ?? new Map()),
    unpriced: spend.unpriced ?? [],
    byProvider: linesOf(({ provider }) => provider),
    byGpuModel: linesOf(({ gpuModel }) => gpuModel),
    byTerm: linesOf(({ term }) => term),
    byTeam: linesOf(({ team }) => team),
    byDay: days.filter(({ day }) => day >= first).map(({ day, amount }) => ({ day, amount: amountText(amount) })),
  };
}

const byCurrency = (amounts: ReadonlyMap<string, Decimal>): ReportAmount[] =>
  [...amounts]
    .map(([currency, amount]) => ({ currency, amount: amountText(amount) }))
    .sort((a, b) => (a.currency < b.currency ? -1 : 1));

/** Amounts of two months in one unit, the finest that any of them has, a nano at least. */
export function bridgeBetween(now: MonthFacts, before: MonthFacts): Stated<ReportBridge> {
  if (before.cells.length === 0) return notStated('nothing-recorded-before');
  if (now.cells.length === 0) return notStated('nothing-recorded');
  const scale = Math.max(NANO_SCALE, ...[...now.cells, ...before.cells].map(({ amount }) => amount?.scale ?? 0));
  const bridge = bridgeOf(inputsOf(now.cells, before.cells, scale));
  const text = (unscaled: bigint): string => amountText({ unscaled, scale });
  const texts = (effects: Effects): ReportBridge['effects'] => ({
    volume: text(effects.volume),
    price: text(effects.price),
    mix: text(effects.mix),
    new: text(effects.new),
    gone: text(effects.gone),
    charges: text(effects.charges),
    credits: text(effects.credits),
  });
  const changed = bridge.cells.filter(({ before: old, after }) => old !== 0n || after !== 0n);
  const [shown, rest] = [changed.slice(0, MOST_CELLS), changed.slice(MOST_CELLS)];
  return stated({
    before: text(bridge.before),
    after: text(bridge.after),
    change: text(bridge.after - bridge.before),
    effects: texts(bridge.effects),
    cells: shown.map(({ provider, sku, gpuModel, term, category, before: old, after, effects }) => ({
      provider,
      sku,
      gpuModel,
      term,
      category,
      before: text(old),
      after: text(after),
      effects: texts(effects),
    })),
    rest:
      rest.length === 0
        ? null
        : {
            cells: rest.length,
            before: text(rest.reduce((sum, cell) => sum + cell.before, 0n)),
            after: text(rest.reduce((sum, cell) => sum + cell.after, 0n)),
            effects: texts(rest.reduce((sum, cell) => addEffects(sum, cell.effects), NO_EFFECTS)),
          },
    unpricedGpuHours: {
      before: gpuHoursText(sumOf(before.cells).unpriced),
      after: gpuHoursText(sumOf(now.cells).unpriced),
    },
  });
}

/** One input per provider, SKU, kind, term and category, over all teams of the report. */
function inputsOf(now: readonly MonthCell[], before: readonly MonthCell[], scale: number): BridgeInput[] {
  const inputs = new Map<string, { -readonly [K in keyof BridgeInput]: BridgeInput[K] }>();
  const nothing: BridgeSide = { cost: 0n, quantity: 0n };
  for (const [side, cells] of [
    ['before', before],
    ['after', now],
  ] as const) {
    for (const { provider, sku, gpuModel, term, category, amount, quantity, unpriced } of cells) {
      const name = JSON.stringify([provider, sku, gpuModel, term, category]);
      const input = inputs.get(name) ?? { provider, sku, gpuModel, term, category, before: nothing, after: nothing };
      const old = input[side];
      input[side] = {
        cost: old.cost + (amount === null ? 0n : amount.unscaled * tenTo(scale - amount.scale)),
        quantity:
          old.quantity + (amount === null || quantity === null || quantity <= unpriced ? 0n : quantity - unpriced),
      };
      inputs.set(name, input);
    }
  }
  return [...inputs.values()];
}

/**
 * Spend of each day from the first with any until the last one given, in currency units; days without any are 0. For
 * forecasts only.
 */
export function dailySeries(days: readonly DayAmount[], last: string): number[] {
  const [first, end] = [days.map(({ day }) => parseDay(day)).find((day) => day !== null) ?? null, parseDay(last)];
  if (first === null || end === null || end < first) return [];
  const series = new Array<number>(end - first + 1).fill(0);
  for (const { day, amount } of days) {
    const at = (parseDay(day) ?? 0) - first;
    if (at >= 0 && at < series.length) series[at] = (series[at] ?? 0) + Number(formatDecimal(amount));
  }
  return series;
}

/**
 * What a month is compared with: the whole month before, or, while it runs, that month's same days, the day of today
 * too; of a shorter month all.
 */
export function comparedWith(
  period: Interval,
  zone: string,
  asOf: number,
): { readonly before: Interval; readonly comparedDays: ComparedDays | null } {
  const before = monthOfLabel(monthLabel(period.start - 1, zone), zone) ?? period;
  if (asOf >= period.end) return { before, comparedDays: null };
  const days = localDays(zone, Math.max(period.start, asOf - 1)) - localDays(zone, period.start) + 1;
  const first = localDays(zone, before.start);
  const end = Math.min(first + days, localDays(zone, before.end));
  return {
    before: { start: before.start, end: startOfLocalDay(zone, end) },
    comparedDays: { first: formatDay(first), last: formatDay(end - 1) },
  };
}

/** The whole local days after a period that are over, within the month after it; null: none is. */
export function daysAfter(
  period: Interval,
  zone: string,
  asOf: number,
): { readonly interval: Interval; readonly days: ComparedDays } | null {
  const [first, next] = [localDays(zone, period.end), nextMonth({ period, zone })];
  const end = Math.min(localDays(zone, asOf), first + next.days);
  if (end <= first) return null;
  return {
    interval: { start: period.end, end: startOfLocalDay(zone, end) },
    days: { first: formatDay(first), last: formatDay(end - 1) },
  };
}

export function soFarOf(after: (MonthFacts & ComparedDays) | null): ReportSoFar | null {
  if (after === null) return null;
  const { first, last, cells } = after;
  const days = (parseDay(last) ?? 0) - (parseDay(first) ?? 0) + 1;
  return { first, last, days, total: textOrNull(sumOf(cells).amount) };
}

/** First and last local day of the month after a period, and how many days it has. */
export function nextMonth({ period, zone }: Pick<ReportFacts, 'period' | 'zone'>): {
  readonly from: string;
  readonly to: string;
  readonly days: number;
} {
  const first = localDays(zone, period.end);
  const { month } = civilFromDays(first);
  let days = 28;
  while (civilFromDays(first + days).month === month) days += 1;
  return { from: formatDay(first), to: formatDay(first + days - 1), days };
}

/** The local day before an instant. */
export const lastDayOf = (instant: number, zone: string): string => dayLabel(instant - 1, zone);
