/**
 * The breakdown of a period's costs by one or two keys, compared with a previous period: rows with their shares and
 * changes, and the largest groups day by day.
 *
 * Exact: decimals are added with every digit, and one row contains all groups that are not listed, so that the rows sum
 * to the total. Amounts of two currencies are never added. Usage without a price is null, never 0.
 */
import { addDecimal, compareDecimal, formatDecimal, negateDecimal, ZERO, type Decimal } from '../decimal.js';
import { civilFromDays, daysFromCivil, formatDay, parseDay } from '../time.js';
import { gpuHoursText } from './spend.js';

/** Sums of one group in one currency. */
export interface GroupSum {
  /** In the order of the question's keys; null: unknown. */
  readonly names: readonly (string | null)[];
  readonly currency: string;
  /** Null: nothing of it has a price. */
  readonly cost: Decimal | null;
  /** GPU part-milliseconds; null: none was metered. */
  readonly parts: bigint | null;
  /** The part without a price. */
  readonly unpriced: bigint;
}

export interface BreakdownRow {
  readonly names: readonly (string | null)[];
  readonly currency: string;
  readonly cost: string | null;
  /** In the previous period; null: nothing was known then, or it was not requested. */
  readonly before: string | null;
  /** The increase of the cost; null: not requested, or one of the two has no price. */
  readonly change: string | null;
  /** Share of the total of its currency; null if that is not above zero, or this has no price. */
  readonly share: number | null;
  readonly gpuHours: string | null;
  readonly unpricedGpuHours: string;
}

/** Groups that are not listed one by one, in one currency. */
export interface BreakdownRest extends Omit<BreakdownRow, 'names'> {
  readonly groups: number;
}

export interface BreakdownSeries {
  /** Null: all groups that have no series of their own. */
  readonly name: { readonly value: string | null } | null;
  readonly currency: string;
  /** One per day: null if what was used has no price, 0 where nothing was used. */
  readonly values: readonly (string | null)[];
}

/** A time of whole civil days: from the first, before the last. */
export interface DaySpan {
  readonly from: string;
  readonly to: string;
}

/** A group in one currency. */
export interface NamedSum {
  readonly name: string | null;
  readonly currency: string;
  readonly cost: Decimal | null;
}

export interface DaySum extends Omit<NamedSum, 'name'> {
  readonly day: string;
  /** Null: all groups that have no series of their own. */
  readonly name: { readonly value: string | null } | null;
}

/**
 * The time before one: of whole months as many months, otherwise as many days that end where it begins. While the time
 * goes on, as many days as it has: a month that runs, or its days so far, are compared with the same days of the month
 * before.
 * @param span of valid days, not empty @param tomorrow the day after the last that has begun, in days since 1970
 */
export function spanBefore({ from, to }: DaySpan, tomorrow = Number.POSITIVE_INFINITY): DaySpan {
  const [first, end] = [parseDay(from) ?? 0, parseDay(to) ?? 0];
  const days = tomorrow > first && tomorrow < end ? tomorrow - first : end - first;
  const [a, b] = [civilFromDays(first), civilFromDays(end)];
  const isMonthSoFar = end >= tomorrow && a.year === b.year && a.month === b.month;
  if (a.day === 1 && (b.day === 1 || isMonthSoFar)) {
    const months = Math.max(1, (b.year - a.year) * 12 + b.month - a.month);
    const month = a.year * 12 + a.month - 1 - months;
    const start = daysFromCivil(Math.floor(month / 12), (month % 12) + 1, 1);
    return {
      from: formatDay(start),
      to: b.day === 1 && days === end - first ? from : formatDay(Math.min(start + days, first)),
    };
  }
  return { from: formatDay(first - days), to: from };
}

/** Each day of a time. */
export function daysOfSpan({ from, to }: DaySpan): string[] {
  const [first, end] = [parseDay(from) ?? 0, parseDay(to) ?? 0];
  return Array.from({ length: Math.max(0, end - first) }, (_, at) => formatDay(first + at));
}

const keyOf = ({ names, currency }: Pick<GroupSum, 'names' | 'currency'>): string => JSON.stringify([currency, names]);

interface Pair {
  readonly names: readonly (string | null)[];
  readonly currency: string;
  readonly now: GroupSum | null;
  readonly before: GroupSum | null;
}

/**
 * @param before null: no previous period was requested
 * @param most rows of each currency; the others are summed
 */
export function breakdownOf(
  now: readonly GroupSum[],
  before: readonly GroupSum[] | null,
  most: number,
): { readonly rows: BreakdownRow[]; readonly rest: BreakdownRest[] } {
  const pairs = new Map<string, Pair>();
  for (const sum of now) pairs.set(keyOf(sum), { names: sum.names, currency: sum.currency, now: sum, before: null });
  for (const sum of before ?? []) {
    const { names, currency } = sum;
    pairs.set(keyOf(sum), { names, currency, now: pairs.get(keyOf(sum))?.now ?? null, before: sum });
  }
  const ofCurrency = grouped([...pairs.values()], ({ currency }) => currency);
  const [rows, rest]: [BreakdownRow[], BreakdownRest[]] = [[], []];
  for (const [currency, all] of [...ofCurrency].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const total = summed(all.flatMap((pair) => (pair.now === null ? [] : [pair.now])));
    const inOrder = all.toSorted(bySize);
    const changeOf = (pair: Pick<Pair, 'now' | 'before'>): Omit<BreakdownRow, 'names'> =>
      rowOf(currency, pair, before !== null, total.cost);
    rows.push(...inOrder.slice(0, most).map((pair) => ({ names: pair.names, ...changeOf(pair) })));
    const others = inOrder.slice(most);
    if (others.length === 0) continue;
    const side = (name: 'now' | 'before'): GroupSum | null => {
      const sums = others.flatMap((pair) => pair[name] ?? []);
      return sums.length === 0 ? null : { names: [], currency, ...summed(sums) };
    };
    rest.push({ groups: others.length, ...changeOf({ now: side('now'), before: side('before') }) });
  }
  return { rows, rest };
}

function grouped<T, K>(all: readonly T[], keyOfOne: (one: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const own = groups.get(keyOfOne(one));
    if (own === undefined) groups.set(keyOfOne(one), [one]);
    else own.push(one);
  }
  return groups;
}

function summed(sums: readonly GroupSum[]): Pick<GroupSum, 'cost' | 'parts' | 'unpriced'> {
  let [cost, parts, unpriced]: [Decimal | null, bigint | null, bigint] = [null, null, 0n];
  for (const sum of sums) {
    if (sum.cost !== null) cost = addDecimal(cost ?? ZERO, sum.cost);
    if (sum.parts !== null) parts = (parts ?? 0n) + sum.parts;
    unpriced += sum.unpriced;
  }
  return { cost, parts, unpriced };
}

function rowOf(
  currency: string,
  { now, before }: Pick<Pair, 'now' | 'before'>,
  compares: boolean,
  total: Decimal | null,
): Omit<BreakdownRow, 'names'> {
  const cost = now === null ? ZERO : now.cost;
  // A group that did not exist had no cost; a group without a price had an unknown cost.
  const old = !compares ? null : before === null ? ZERO : before.cost;
  return {
    currency,
    cost: textOf(cost),
    before: textOf(old),
    change: cost === null || old === null ? null : formatDecimal(addDecimal(cost, negateDecimal(old))),
    share: shareOf(cost, total),
    gpuHours: now === null || now.parts === null ? null : gpuHoursText(now.parts),
    unpricedGpuHours: gpuHoursText(now?.unpriced ?? 0n),
  };
}

const textOf = (amount: Decimal | null): string | null => (amount === null ? null : formatDecimal(amount));

const valueOf = (amount: Decimal): number => Number(formatDecimal(amount));

/** To six digits; null if the total is not above zero, or the part is unknown. */
export function shareOf(part: Decimal | null, total: Decimal | null): number | null {
  if (part === null || total === null || compareDecimal(total, ZERO) <= 0) return null;
  return Math.round((valueOf(part) / valueOf(total)) * 1e6) / 1e6;
}

/** By cost, largest first, then by previous cost, then by name. */
function bySize(a: Pair, b: Pair): number {
  const least = { unscaled: -1n, scale: 0 };
  const by = (side: 'now' | 'before'): number => compareDecimal(b[side]?.cost ?? least, a[side]?.cost ?? least);
  return by('now') || by('before') || (keyOf(a) < keyOf(b) ? -1 : 1);
}

/**
 * The groups that cost the most, the largest first: these have series of their own.
 * @param sums any number for each group
 * @param most groups of each currency
 */
export function largestOf(sums: readonly NamedSum[], most: number): Omit<NamedSum, 'cost'>[] {
  return [...grouped(sums, ({ currency }) => currency)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([currency, all]) => {
      const groups = [...grouped(all, ({ name }) => name)]
        .map(([name, own]) => ({ name, size: own.reduce(larger, ZERO) }))
        .sort((a, b) => compareDecimal(b.size, a.size) || ((a.name ?? '\uffff') < (b.name ?? '\uffff') ? -1 : 1));
      // A single remaining group is shown by its name.
      return groups.slice(0, groups.length <= most + 1 ? groups.length : most).map(({ name }) => ({ name, currency }));
    });
}

/** The same with all that is of none of the groups as one. */
export function onlyOf(
  sums: readonly (NamedSum & { readonly day: string })[],
  groups: readonly Omit<NamedSum, 'cost'>[],
): DaySum[] {
  const shown = new Set(groups.map(({ name, currency }) => JSON.stringify([name, currency])));
  return sums.map((sum) => ({
    ...sum,
    name: shown.has(JSON.stringify([sum.name, sum.currency])) ? { value: sum.name } : null,
  }));
}

/** Groups day by day in their order, and the rest as one. */
export function seriesOf(
  sums: readonly DaySum[],
  days: readonly string[],
  groups: readonly Omit<NamedSum, 'cost'>[],
): BreakdownSeries[] {
  const place = new Map(days.map((day, at) => [day, at]));
  return [...grouped(sums, ({ currency }) => currency)]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([currency, all]) => {
      const own = grouped(all, ({ name }) => (name === null ? null : JSON.stringify(name.value)));
      const others = own.get(null);
      return [
        ...groups
          .filter((group) => group.currency === currency)
          .map(({ name: value }) => ({
            name: { value },
            currency,
            values: byDay(own.get(JSON.stringify(value)) ?? [], place),
          })),
        ...(others === undefined ? [] : [{ name: null, currency, values: byDay(others, place) }]),
      ];
    });
}

const larger = (sum: Decimal, { cost }: NamedSum): Decimal => (cost === null ? sum : addDecimal(sum, cost));

function byDay(sums: readonly DaySum[], place: ReadonlyMap<string, number>): (string | null)[] {
  const values = new Array<Decimal | null | undefined>(place.size).fill(undefined);
  for (const { day, cost } of sums) {
    const at = place.get(day);
    if (at === undefined) continue;
    const known = values[at];
    values[at] = cost === null ? (known ?? null) : addDecimal(known ?? ZERO, cost);
  }
  return values.map((value) => (value === undefined ? '0' : textOf(value)));
}
