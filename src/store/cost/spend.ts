/**
 * Reads what was spent, from the sums per day: grouped, filtered, converted. Never writes.
 *
 * A sum always carries its unpriced quantity, and what else is in none of it. Amounts of several currencies are never
 * added: without a currency to convert to, each currency is a row of its own; what has no exchange rate on its day
 * stays in its own currency.
 */
import { addDecimal, formatDecimal, tenTo, ZERO, type Decimal } from '../../core/decimal.js';
import { invalid, type Problem } from '../../core/errors.js';
import type { FxTable } from '../../core/price/fx.js';
import { divideHalfEven } from '../../core/money.js';
import { dayLabel, isZone, localDays, parseDay, parseInstant, startOfLocalDay } from '../../core/time.js';
import { PART_MS_PER_GPU_HOUR } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import type { Dimensions } from '../usage/dimensions.js';
import {
  BASES,
  GROUP_KEYS,
  readSums,
  setAsideSums,
  textOf,
  unbilledSums,
  valueOf,
  wholeOf,
  type Basis,
  type Figure,
  type GroupKey,
  type Sum,
} from './spend-sums.js';
import { unpricedBeside, type UnpricedUsage } from './unpriced.js';

export { BASES, GROUP_KEYS, type Basis, type GroupKey };

export interface SpendQuery {
  /** Inclusive day of the zone, null for the first that is known. */
  readonly from: string | null;
  /** Exclusive day of the zone, null for no end. */
  readonly to: string | null;
  /** IANA name: whose days and months they are. Whole days of a bill are the bill's own dates in any zone. */
  readonly zone: string;
  readonly groupBy: readonly GroupKey[];
  readonly basis: Basis;
  /** Convert every amount to this currency by the rate of its day. */
  readonly currency: string | null;
  /** Only these teams; null for all. */
  readonly teams: readonly string[] | null;
}

export type SpendRow = Readonly<Record<string, string | null>> & {
  /** Decimal string; null where nothing of the basis is known (everything is unpriced, or the bill states none). */
  readonly cost: string | null;
  readonly currency: string;
  /** GPU-hours metered. */
  readonly gpuHours: string | null;
  /** GPU-hours without a price: they are not in `cost`. */
  readonly unpricedQuantity: string;
  /** On the bases effective and list: billed amounts whose bill states no such amount. They are not in `cost`. */
  readonly unstated?: string;
};

/** Amounts in one currency, as decimal strings. */
export interface CurrencyCost {
  readonly currency: string;
  readonly cost: string;
}

/** What bills leave open. */
export interface UnstatedCost extends CurrencyCost {
  /** Lines of bills: what a commitment covers is often billed nothing. */
  readonly lines: number;
}

/** What is in no total, besides GPU-hours without a price. */
export interface Lacking {
  /** Billed amounts of which the bill does not state what the basis asks for. */
  readonly unstated: readonly UnstatedCost[];
  /** Of a basis of bills: the actual cost of metered usage that no bill has taken the place of. */
  readonly unbilled: readonly CurrencyCost[];
  /** On actual: what bills that are not final state of usage that meters stand for until they are. */
  readonly setAside: readonly CurrencyCost[];
  /** Amounts without an exchange rate to the currency that was asked for: they stay in their own. */
  readonly unconverted: readonly CurrencyCost[];
  /** On actual and accrued: storage, traffic and what has no quantity, that no price is known for. */
  readonly unpriced: readonly UnpricedUsage[];
}

export interface Spend {
  readonly basis: Basis;
  readonly rows: readonly SpendRow[];
  /** Decimal string where all rows are of one currency; null where there are several, or nothing has a price. */
  readonly total: string | null;
  readonly currency: string | null;
  readonly totals: readonly { readonly currency: string; readonly cost: string }[];
  readonly unpricedQuantity: string;
  readonly lacking: Lacking;
}

/** What a sum and a converted sum have in common. */
type Grouped = Pick<Sum, 'group' | 'currency'>;

/** A sum, converted. */
interface Answer extends Grouped {
  cost: Decimal | null;
  parts: Figure | null;
  unpriced: Figure | null;
  unstated: Decimal | null;
}

const NONE = '0.000000';

/** A SpendQuery from texts, as the API and the command line have them. @throws Failure invalid naming every problem. */
export function parseSpendQuery(texts: {
  from?: string | null;
  to?: string | null;
  groupBy?: string | null;
  basis?: string | null;
  currency?: string | null;
  teams?: readonly string[] | null;
  zone?: string | null;
}): SpendQuery {
  const problems: Problem[] = [];
  const asked = texts.zone ?? 'UTC';
  const zone = isZone(asked) ? asked : 'UTC';
  if (!isZone(asked)) problems.push({ path: 'zone', message: `"${asked}" is not an IANA time zone` });
  const day = (name: 'from' | 'to'): string | null => {
    const text = texts[name];
    if (text === undefined || text === null || text === '') return null;
    const date = /^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text;
    if (parseDay(date) !== null) return date;
    const instant = parseInstant(date);
    if (instant === null) {
      problems.push({ path: name, message: `"${text}" is not a time: write 2026-10-01 or 2026-10-01T00:00:00Z` });
      return null;
    }
    const start = startOfLocalDay(zone, localDays(zone, instant));
    if (start !== instant)
      problems.push({
        path: name,
        message: `"${text}" is not the start of a ${zone === 'UTC' ? 'UTC day' : `day in ${zone}`}`,
      });
    return dayLabel(instant, zone);
  };
  const groupBy = (texts.groupBy ?? '')
    .split(',')
    .map((g) => g.trim())
    .filter((g) => g !== '')
    .map((g) => g.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase()));
  for (const key of groupBy) {
    if (!(GROUP_KEYS as readonly string[]).includes(key))
      problems.push({ path: 'group-by', message: `"${key}" is not one of ${GROUP_KEYS.join(', ')}` });
  }
  const basis = texts.basis ?? 'actual';
  if (!(BASES as readonly string[]).includes(basis))
    problems.push({ path: 'basis', message: `"${basis}" is not one of ${BASES.join(', ')}` });
  const currency = texts.currency ?? null;
  if (currency !== null && !/^[A-Z]{3}$/.test(currency))
    problems.push({ path: 'currency', message: `"${currency}" is not an ISO 4217 code` });
  const [from, to] = [day('from'), day('to')];
  if (from !== null && to !== null && from >= to) problems.push({ path: 'to', message: 'is not after from' });
  if (problems.length > 0) throw invalid('the question about costs has problems', problems);
  return {
    from,
    to,
    groupBy: [...new Set(groupBy)] as GroupKey[],
    basis: basis as Basis,
    currency,
    teams: texts.teams ?? null,
    zone,
  };
}

export class SpendStore {
  constructor(
    private readonly db: Queryable,
    private readonly dimensions: Dimensions,
  ) {}

  async spend(organisation: string, query: SpendQuery, fx: FxTable, db: Queryable = this.db): Promise<Spend> {
    const { currency: wanted, basis } = query;
    const rowOf = rowMaker(query.groupBy, basis === 'effective' || basis === 'list');
    const {
      sums,
      totals: stated,
      unpriced,
      unstated,
    } = await readSums(db, this.dimensions, organisation, query, wanted !== null);
    const lacking = {
      unstated: [...unstated]
        .map(([currency, { cost, lines }]) => ({ currency, cost: textOf(cost), lines }))
        .sort(byCurrency),
      unbilled: BILLS.has(basis) ? await unbilledSums(db, organisation, query) : [],
      setAside: basis === 'actual' ? await setAsideSums(db, organisation, query) : [],
      unpriced: await unpricedBeside(db, organisation, query),
    };
    if (wanted === null) {
      const rows = sums.map((sum) =>
        rowOf(
          sum,
          sum.cost === null ? null : textOf(sum.cost),
          sum,
          sum.unstated === null ? null : textOf(sum.unstated),
        ),
      );
      const totals = [...stated].map(([currency, cost]) => ({ currency, cost: textOf(cost) }));
      return answer(basis, rows, totals, unpriced, null, { ...lacking, unconverted: [] });
    }
    const answers = convertedSums(sums, query.groupBy, wanted, fx);
    const sumsOf = new Map<string, Decimal>();
    for (const { currency, cost } of answers)
      if (cost !== null) sumsOf.set(currency, addDecimal(sumsOf.get(currency) ?? ZERO, cost));
    const rows = answers.map((one) =>
      rowOf(
        one,
        one.cost === null ? null : formatDecimal(one.cost),
        one,
        one.unstated === null ? null : formatDecimal(one.unstated),
      ),
    );
    const totals = [...sumsOf].map(([currency, cost]) => ({ currency, cost: formatDecimal(cost) }));
    const unconverted = totals.filter(({ currency }) => currency !== wanted).sort(byCurrency);
    return answer(basis, rows, totals, unpriced, wanted, { ...lacking, unconverted });
  }
}

/** Whose amounts bills state, and nobody else. */
const BILLS: ReadonlySet<Basis> = new Set(['billed', 'effective', 'list']);

const byCurrency = (a: CurrencyCost, b: CurrencyCost): number => (a.currency < b.currency ? -1 : 1);

function answer(
  basis: Basis,
  rows: readonly SpendRow[],
  totals: Spend['totals'],
  unpriced: bigint,
  wanted: string | null,
  lacking: Lacking,
): Spend {
  const single = totals.length === 1 ? totals[0] : undefined;
  const nothing = totals.length === 0 && unpriced === 0n;
  return {
    basis,
    rows,
    total: single?.cost ?? (nothing ? '0' : null),
    currency: single?.currency ?? wanted,
    totals,
    unpricedQuantity: gpuHours(unpriced),
    lacking,
  };
}

/** Makes rows of one shape: copies of a template, which are smaller than objects that grow key by key. */
function rowMaker(
  groupBy: readonly GroupKey[],
  saysUnstated: boolean,
): (
  of: Grouped,
  cost: string | null,
  quantities: Pick<Answer, 'parts' | 'unpriced'>,
  unstated: string | null,
) => SpendRow {
  // What runs steadily has the same hours day after day.
  const hours = new Map<string, string>();
  const hoursOf = (partMs: Figure): string => {
    if (typeof partMs !== 'string') return gpuHours(partMs.unscaled);
    let text = hours.get(partMs);
    if (text === undefined) hours.set(partMs, (text = gpuHours(wholeOf(partMs))));
    return text;
  };
  const template: Readonly<Record<string, string | null>> = Object.fromEntries(
    [...groupBy, 'cost', 'currency', 'gpuHours', 'unpricedQuantity', ...(saysUnstated ? ['unstated'] : [])].map(
      (key) => [key, null],
    ),
  );
  return (of, cost, { parts, unpriced }, unstated) => {
    const row = { ...template };
    for (let at = 0; at < groupBy.length; at++) row[groupBy[at] ?? ''] = of.group(at);
    row['cost'] = cost;
    row['currency'] = of.currency;
    row['gpuHours'] = parts === null ? null : hoursOf(parts);
    row['unpricedQuantity'] = unpriced === null ? NONE : hoursOf(unpriced);
    if (saysUnstated) row['unstated'] = unstated ?? '0';
    return row as SpendRow;
  };
}

/** Sums of several days (and currencies) that are one row once each is converted by the rate of its own day. */
function convertedSums(sums: readonly Sum[], groupBy: readonly GroupKey[], wanted: string, fx: FxTable): Answer[] {
  const answers = new Map<string, Answer>();
  for (const sum of sums) {
    const { currency, cost, unstated } = converted(sum, wanted, fx);
    const key = JSON.stringify([groupBy.map((_, place) => sum.group(place)), currency]);
    const known = answers.get(key);
    if (known === undefined) {
      answers.set(key, {
        group: (place) => sum.group(place),
        currency,
        cost,
        parts: sum.parts,
        unpriced: sum.unpriced,
        unstated,
      });
      continue;
    }
    if (cost !== null) known.cost = addDecimal(known.cost ?? ZERO, cost);
    known.parts = sumOf(known.parts, sum.parts);
    known.unpriced = sumOf(known.unpriced, sum.unpriced);
    if (unstated !== null) known.unstated = addDecimal(known.unstated ?? ZERO, unstated);
  }
  return [...answers.values()];
}

const sumOf = (a: Figure | null, b: Figure | null): Figure | null =>
  a === null ? b : b === null ? a : addDecimal(valueOf(a), valueOf(b));

/** By the rate of the sum's day; without one all of it stays in its own currency. */
function converted(
  { currency, cost, unstated, dayApart }: Sum,
  wanted: string,
  fx: FxTable,
): { currency: string; cost: Decimal | null; unstated: Decimal | null } {
  const [amount, without] = [cost, unstated].map((figure) => (figure === null ? null : valueOf(figure)));
  const stated = { cost: amount ?? null, unstated: without ?? null };
  if (cost === null && unstated === null) return { currency: wanted, ...stated };
  if (currency === wanted) return { currency, ...stated };
  const used = fx.rate(currency, wanted, Date.parse(dayApart ?? ''));
  if (used === null) return { currency, ...stated };
  const exchanged = (of: Decimal | null): Decimal | null => {
    if (of === null) return null;
    const scale = Math.max(9, of.scale);
    const unscaled = divideHalfEven(of.unscaled * tenTo(scale - of.scale) * used.rate.numerator, used.rate.denominator);
    return { unscaled, scale };
  };
  return { currency: wanted, cost: exchanged(stated.cost), unstated: exchanged(stated.unstated) };
}

/** GPU-hours with six digits after the point, of part-milliseconds. */
export function gpuHours(partMs: number | bigint): string {
  // A millionth of a GPU-hour is 25,200 part-milliseconds. Below 2^53 plain numbers divide as exactly, and much faster.
  if (partMs >= 0 && partMs <= Number.MAX_SAFE_INTEGER) {
    const parts = Number(partMs);
    const rest = parts % 25_200;
    let millionths = (parts - rest) / 25_200;
    if (rest > 12_600 || (rest === 12_600 && millionths % 2 === 1)) millionths += 1;
    const below = millionths % 1_000_000;
    return `${(millionths - below) / 1_000_000}.${String(below).padStart(6, '0')}`;
  }
  return formatDecimal({ unscaled: divideHalfEven(BigInt(partMs) * 1_000_000n, PART_MS_PER_GPU_HOUR), scale: 6 });
}
