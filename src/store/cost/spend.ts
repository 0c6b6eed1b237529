/**
 * Reads spend from the sums per day: grouped, filtered, converted. Never writes.
 *
 * A sum always carries its unpriced quantity and the other amounts that it lacks. Amounts of several currencies are
 * never added: without a target currency, each currency is a separate row; an amount without an exchange rate on its
 * day stays in its own currency.
 */
import { addDecimal, formatDecimal, tenTo, ZERO, type Decimal } from '../../core/decimal.js';
import type { Basis, GroupKey, SpendQuery } from '../../core/cost/spend-query.js';
import type { UnpricedUsage } from '../../core/cost/unpriced.js';
import type { FxTable } from '../../core/price/fx.js';
import { divideHalfEven } from '../../core/money.js';
import { PART_MS_PER_GPU_HOUR } from '../../core/usage.js';
import { inSnapshot, type Queryable } from '../database.js';
import type { Dimension } from '../../core/cost/rollup.js';
import type { Dimensions } from '../usage/dimensions.js';
import { daySums, dayTotals, type Daily, type DayGroup, type DaySum, type NamedGroups } from './spend-days.js';
import { dimensionsOf } from './spend-filters.js';
import {
  readSums,
  setAsideSums,
  textOf,
  unbilledSums,
  valueOf,
  wholeOf,
  type Figure,
  type Sum,
  type Sums,
  type SumsQuery,
} from './spend-sums.js';
import { unpricedUsage } from './unpriced.js';

export type SpendRow = Readonly<Record<string, string | null>> & {
  /** Decimal string; null if nothing of the basis is known (everything is unpriced, or the bill states none). */
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

/** Costs that bills leave open. */
export interface UnstatedCost extends CurrencyCost {
  /** Lines of bills: what a commitment covers is often billed nothing. */
  readonly lines: number;
}

/** The amounts that no total contains, other than GPU-hours without a price. */
export interface Lacking {
  /** Billed amounts whose bill does not state the cost of the basis. */
  readonly unstated: readonly UnstatedCost[];
  /** For a basis of bills: the actual cost of metered usage that no bill has replaced. */
  readonly unbilled: readonly CurrencyCost[];
  /** On actual: amounts of bills that are not final, for usage that meters cover until they are. */
  readonly setAside: readonly CurrencyCost[];
  /** Amounts without an exchange rate to the currency that was asked for: they stay in their own. */
  readonly unconverted: readonly CurrencyCost[];
  /** On actual and accrued: storage, traffic and what has no quantity, that no price is known for. */
  readonly unpriced: readonly UnpricedUsage[];
}

export interface Spend {
  readonly basis: Basis;
  readonly rows: readonly SpendRow[];
  /** Decimal string where all rows are of one currency; null if there are several, or nothing has a price. */
  readonly total: string | null;
  readonly currency: string | null;
  readonly totals: readonly { readonly currency: string; readonly cost: string }[];
  readonly unpricedQuantity: string;
  readonly lacking: Lacking;
}

/** The common fields of a sum and a converted sum. */
type Grouped = Pick<Sum, 'group' | 'currency'>;

/** A group of a question: its words by place, and its figures. */
export type SpendGroup = Grouped & Readonly<Pick<Sum, 'cost' | 'parts' | 'unpriced' | 'unstated'>>;

export interface SpendGroups extends Pick<Spend, 'totals' | 'lacking'> {
  readonly groups: readonly SpendGroup[];
  /** GPU part-milliseconds without a price. */
  readonly unpriced: bigint;
  /** Whether amounts were converted, or could not be. */
  readonly isConverted: boolean;
  /** The dimensions of the groups by their ids, as they are called; none if nobody groups by any of their words. */
  readonly named: ReadonlyMap<string, Dimension>;
}

/** A sum, converted. */
interface Answer extends Grouped {
  cost: Decimal | null;
  parts: Figure | null;
  unpriced: Figure | null;
  unstated: Decimal | null;
}

type TotalsQuestion = Omit<SpendQuery, 'groupBy' | 'currency'>;
/** The query for daily sums: its groups. */
export type DaysQuestion = TotalsQuestion & NamedGroups;

const withDimensions = async <Question extends TotalsQuestion>(
  db: Queryable,
  organisation: string,
  question: Question,
): Promise<Question & { readonly dimensions: readonly string[] | null }> => ({
  ...question,
  dimensions: await dimensionsOf(db, organisation, question.filters),
});

const NONE = '0.000000';

export class SpendStore {
  constructor(
    private readonly db: Queryable,
    private readonly dimensions: Dimensions,
  ) {}

  async spend(organisation: string, query: SpendQuery, fx: FxTable, db: Queryable = this.db): Promise<Spend> {
    const { basis, currency } = query;
    const { groups, totals, unpriced, lacking } = await this.groups(organisation, query, fx, db);
    const rowOf = rowMaker(query.groupBy, basis === 'effective' || basis === 'list');
    const text = (figure: Figure | null): string | null => (figure === null ? null : textOf(figure));
    const rows = groups.map((one) => rowOf(one, text(one.cost), one, text(one.unstated)));
    return answer(basis, rows, totals, unpriced, currency, lacking);
  }

  /**
   * The groups of a question as exact figures, with what is in none of them: all as of one moment.
   * @param asksAside whether what is set aside is read: days say it too
   */
  groups(
    organisation: string,
    question: SpendQuery,
    fx: FxTable,
    db: Queryable = this.db,
    asksAside = true,
  ): Promise<SpendGroups> {
    return inSnapshot(db, (snapshot) => this.groupsIn(snapshot, organisation, question, fx, asksAside));
  }

  private async groupsIn(
    db: Queryable,
    organisation: string,
    question: SpendQuery,
    fx: FxTable,
    asksAside: boolean,
  ): Promise<SpendGroups> {
    const { currency: wanted, basis } = question;
    const query = await withDimensions(db, organisation, question);
    const byDay = wanted !== null && query.groupBy.includes('day');
    const read = await readSums(db, this.dimensions, organisation, query, byDay);
    const { unpriced, named } = read;
    const lacking = {
      unstated: [...read.unstated]
        .map(([currency, { cost, lines }]) => ({ currency, cost: textOf(cost), lines }))
        .sort(byCurrency),
      unbilled: BILLS.has(basis) ? await unbilledSums(db, organisation, query) : [],
      setAside: basis === 'actual' && asksAside ? await setAsideSums(db, organisation, query) : [],
      unpriced: mayLackOthers(read, query) ? await unpricedUsage(db, organisation, query) : [],
    };
    if (wanted === null) {
      const totals = [...read.totals].map(([currency, cost]) => ({ currency, cost: textOf(cost) })).sort(byCurrency);
      return {
        groups: read.sums,
        totals,
        unpriced,
        named,
        isConverted: false,
        lacking: { ...lacking, unconverted: [] },
      };
    }
    const isConverted = read.sums.some(({ currency }) => currency !== wanted);
    const sums =
      byDay || !isConverted ? read.sums : await this.otherwiseByDay(db, organisation, query, wanted, read.sums);
    const groups = convertedSums(sums, query.groupBy, wanted, fx);
    const sumsOf = new Map<string, Decimal>();
    for (const { currency, cost } of groups)
      if (cost !== null) sumsOf.set(currency, addDecimal(sumsOf.get(currency) ?? ZERO, cost));
    const totals = [...sumsOf].map(([currency, cost]) => ({ currency, cost: formatDecimal(cost) })).sort(byCurrency);
    const unconverted = totals.filter(({ currency }) => currency !== wanted);
    return { groups, totals, unpriced, named, isConverted, lacking: { ...lacking, unconverted } };
  }

  /** The sums with those of other currencies than the wanted one by day: each is converted by the rate of its own. */
  private async otherwiseByDay(
    db: Queryable,
    organisation: string,
    query: SumsQuery,
    wanted: string,
    sums: readonly Sum[],
  ): Promise<Sum[]> {
    const others = await readSums(db, this.dimensions, organisation, { ...query, notIn: wanted }, true);
    const all = [...sums.filter(({ currency }) => currency === wanted), ...others.sums];
    return all.sort((a, b) => {
      for (let place = 0; place <= query.groupBy.length; place++) {
        const [left, right] =
          place < query.groupBy.length ? [a.group(place), b.group(place)] : [a.currency, b.currency];
        if (left !== right) return left === null ? 1 : right === null || left < right ? -1 : 1;
      }
      return 0;
    });
  }

  /**
   * The daily costs of the named groups, and of all others together: summed by the database, because nobody needs the
   * others one by one. Nothing is converted.
   */
  days(
    organisation: string,
    question: DaysQuestion,
    db: Queryable = this.db,
    totals: Promise<Daily<DaySum>> | null = null,
  ): Promise<Daily<DayGroup>> {
    return inSnapshot(db, async (snapshot) =>
      daySums(snapshot, organisation, await withDimensions(snapshot, organisation, question), totals),
    );
  }

  /** What `days` of teams begins with: nobody has to know the groups for it. */
  dayTotals(organisation: string, question: TotalsQuestion, db: Queryable = this.db): Promise<Daily<DaySum>> {
    return inSnapshot(db, async (snapshot) =>
      dayTotals(snapshot, organisation, await withDimensions(snapshot, organisation, question)),
    );
  }
}

/** The bases whose amounts only bills state. */
const BILLS: ReadonlySet<Basis> = new Set(['billed', 'effective', 'list']);

/**
 * Whether `unpricedUsage` may list anything. It goes by days of UTC: on a day of a zone, GPU time without a price may be
 * on the line of what is without it on its own day, or on another one, by how that day is read.
 */
const mayLackOthers = ({ hasUnpricedOthers, unpriced }: Sums, { basis, zone }: SumsQuery): boolean =>
  !BILLS.has(basis) && (hasUnpricedOthers || (zone !== 'UTC' && unpriced > 0n));

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
  // A steady target has the same hours day after day.
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
