/**
 * Sums per group from the sums per day, fetched as few, fat rows.
 *
 * PostgreSQL answers with one row for each team and currency that holds all its lines as one text: thousands of small rows cost more on
 * both sides than what they say. Where no day is asked for, it sums the days first. Sums are exact: decimals keep the longest scale.
 */
import { addDecimal, formatDecimal, type Decimal } from '../core/decimal.js';
import type { Dimension } from '../core/rollup.js';
import { DAY_MS, formatInstant } from '../core/time.js';
import type { Queryable } from './database.js';
import type { Dimensions } from './dimensions.js';

export const BASES = ['actual', 'accrued', 'billed', 'effective', 'list'] as const;
export type Basis = (typeof BASES)[number];

/** Which lines a basis is about: a bill's amounts are not metered, an accrual is not billed. Every line of a bill states a billed cost, and no other line has one. */
const LINES: Readonly<Record<Basis, string>> = {
  actual: `(c.actual is not null or c.unpriced_lines > 0)`, accrued: `c.billed is null`, billed: `c.billed is not null`, effective: `c.billed is not null`, list: `c.billed is not null`,
};

const OF_DIMENSION = ['provider', 'account', 'subAccount', 'service', 'sku', 'region', 'term', 'gpuModel', 'category'] as const;
export const GROUP_KEYS = ['team', ...OF_DIMENSION, 'day', 'month', 'sharedFrom'] as const;
export type GroupKey = (typeof GROUP_KEYS)[number];
type DimensionKey = (typeof OF_DIMENSION)[number];

const isOfDimension = (key: GroupKey): key is DimensionKey => (OF_DIMENSION as readonly string[]).includes(key);

export interface SumsQuery {
  readonly from: string | null;
  readonly to: string | null;
  readonly groupBy: readonly GroupKey[];
  readonly basis: Basis;
  readonly teams: readonly string[] | null;
}

/** A decimal that stays the text that it came as until something is added to it. */
export class Amount {
  private decimal: Decimal | null = null;

  constructor(private readonly text: string) {}

  add(text: string): void {
    this.decimal = addDecimal(this.value(), decimalOf(text));
  }

  value(): Decimal {
    return this.decimal ?? decimalOf(this.text);
  }

  format(): string {
    return this.decimal === null ? this.text : formatDecimal(this.decimal);
  }
}

/** Of a text that PostgreSQL wrote: digits, perhaps a sign and a point, never an exponent. */
function decimalOf(text: string): Decimal {
  const point = text.indexOf('.');
  if (point < 0) return { unscaled: BigInt(text), scale: 0 };
  return { unscaled: BigInt(text.slice(0, point) + text.slice(point + 1)), scale: text.length - point - 1 };
}

export interface Sum {
  /** In the order of the question's group-by. */
  readonly groups: readonly (string | null)[];
  readonly currency: string;
  /** UTC day, where days are kept apart; else null. */
  readonly day: string | null;
  cost: Amount | null;
  /** Part-milliseconds of GPU metered; null: none was. */
  parts: bigint | null;
  unpriced: bigint;
}

export interface Sums {
  readonly sums: readonly Sum[];
  /** Per currency, over all sums. */
  readonly totals: ReadonlyMap<string, Amount>;
  readonly unpriced: bigint;
}

/** All lines of a team in a currency, column by column: the values of a column stand in the order of the lines, separated by spaces; an absent one is empty. */
interface Pack {
  readonly team: string;
  readonly currency: string;
  readonly shared_from: string;
  readonly dimensions: string;
  /** Days since 1970. */
  readonly days: string;
  readonly costs: string;
  readonly parts: string;
  readonly without: string;
  readonly total: string | null;
  readonly unpriced: string;
}

/**
 * @param apart days are kept apart even where nobody groups by them (each is to be converted by its own rate)
 */
export async function readSums(db: Queryable, dimensions: Dimensions, organisation: string, query: SumsQuery, apart: boolean): Promise<Sums> {
  const byDay = apart || query.groupBy.includes('day') || query.groupBy.includes('month');
  const packs = await fetchPacks(db, organisation, query, byDay);
  const ids = packs.map((pack) => pack.dimensions.split(' '));
  const distinct = new Set<string>();
  for (const some of ids) for (const id of some) distinct.add(id);
  const sums = new Adding(query.groupBy, await dimensions.byIds(db, organisation, [...distinct]), apart);
  packs.forEach((pack, at) => sums.addPack(pack, ids[at] ?? []));
  const totals = new Map<string, Amount>();
  let unpriced = 0n;
  for (const { currency, total, unpriced: more } of packs) {
    unpriced += BigInt(more);
    if (total === null) continue;
    const sum = totals.get(currency);
    if (sum === undefined) totals.set(currency, new Amount(total));
    else sum.add(total);
  }
  return { sums: sums.sorted(), totals, unpriced };
}

function fetchPacks(db: Queryable, organisation: string, { basis, from, to, teams }: SumsQuery, byDay: boolean): Promise<Pack[]> {
  const where = `from cost_day c
       where c.organisation = $1 and ($2::date is null or c.day >= $2::date) and ($3::date is null or c.day < $3::date)
         and ($4::text[] is null or c.team = any($4::text[])) and c.team not like 'shared:%' and ${LINES[basis]}`;
  const lines = byDay
    ? `select c.team, c.currency, c.shared_from, c.dimension, (c.day - date '1970-01-01')::text as day, c.${basis} as cost, c.gpu_part_ms as parts, c.unpriced_part_ms as unpriced ${where}`
    : `select c.team, c.currency, c.shared_from, c.dimension, '' as day, sum(c.${basis}) as cost, sum(c.gpu_part_ms) as parts, sum(c.unpriced_part_ms) as unpriced ${where}
       group by c.team, c.currency, c.shared_from, c.dimension`;
  return db.query<Pack>(
    `select team, currency, shared_from, sum(cost)::text as total, sum(unpriced)::text as unpriced, string_agg(dimension::text, ' ') as dimensions, string_agg(day, ' ') as days,
       string_agg(coalesce(cost::text, ''), ' ') as costs, string_agg(coalesce(parts::text, ''), ' ') as parts, string_agg(case when unpriced = 0 then '' else unpriced::text end, ' ') as without
     from (${lines}) l group by team, currency, shared_from`,
    [organisation, from, to, teams],
  );
}

/** Which value is the how manieth; null comes last. */
function ranksOf<T extends string | number | null>(values: readonly T[]): ReadonlyMap<T, number> {
  const distinct = [...new Set(values)].sort((a, b) => (a === null ? 1 : b === null ? -1 : a < b ? -1 : 1));
  return new Map(distinct.map((value, rank) => [value, rank]));
}

/** Adds lines up by group. A group is found by two small numbers: which values of its dimension, and which day, within its team. */
class Adding {
  private readonly byTeam = new Map<string, Sum[][]>();
  private readonly ofDimension = new Map<string, number>();
  private readonly dimensionGroups = new Map<string, number>();
  private readonly dayGroups = new Map<string, number>();
  private readonly days = new Map<string, { readonly number: number; readonly day: string; readonly month: string }>();

  constructor(private readonly groupBy: readonly GroupKey[], private readonly known: ReadonlyMap<string, Dimension>, private readonly apart: boolean) {}

  addPack(pack: Pack, dimensions: readonly string[]): void {
    const teamGroup = JSON.stringify([pack.currency, this.groupBy.includes('team') ? pack.team : '', this.groupBy.includes('sharedFrom') ? pack.shared_from : '']);
    const sums = this.byTeam.get(teamGroup) ?? [];
    this.byTeam.set(teamGroup, sums);
    const [days, costs, parts, without] = [pack.days, pack.costs, pack.parts, pack.without].map((column) => column.split(' '));
    for (let at = 0; at < dimensions.length; at++) this.addLine(sums, pack, dimensions[at] ?? '', days?.[at] ?? '', costs?.[at] ?? '', parts?.[at] ?? '', without?.[at] ?? '');
  }

  private addLine(sums: Sum[][], pack: Pack, dimension: string, dayNumber: string, cost: string, parts: string, without: string): void {
    const day = dayNumber === '' ? null : this.dayOf(dayNumber);
    const ofDimension = (sums[this.dimensionGroup(dimension)] ??= []);
    const sum = ofDimension[day?.number ?? 0];
    if (sum === undefined) {
      ofDimension[day?.number ?? 0] = {
        groups: this.groupBy.map((group) => this.valueOf(group, pack, dimension, day)), currency: pack.currency, day: this.apart ? day?.day ?? null : null,
        cost: cost === '' ? null : new Amount(cost), parts: parts === '' ? null : BigInt(parts), unpriced: without === '' ? 0n : BigInt(without),
      };
      return;
    }
    if (cost !== '') {
      if (sum.cost === null) sum.cost = new Amount(cost);
      else sum.cost.add(cost);
    }
    if (parts !== '') sum.parts = (sum.parts ?? 0n) + BigInt(parts);
    if (without !== '') sum.unpriced += BigInt(without);
  }

  /** By their groups, then by currency; what is not known comes last. */
  sorted(): Sum[] {
    const sums: Sum[] = [];
    for (const ofTeam of this.byTeam.values()) for (const ofDimension of ofTeam) for (const sum of ofDimension ?? []) if (sum !== undefined) sums.push(sum);
    const columns = [...this.groupBy.map((_, at) => sums.map((sum) => sum.groups[at] ?? null)), sums.map(({ currency }) => currency)];
    // Each value by its rank among those of its column, and a row by one number of all of them and its own: numbers compare many times faster than texts.
    const places = new Float64Array(sums.length);
    let size = 1;
    const makeRoomFor = (count: number): void => {
      if (size * count <= Number.MAX_SAFE_INTEGER) return;
      const dense = ranksOf([...places]);
      size = dense.size;
      for (let at = 0; at < places.length; at++) places[at] = dense.get(places[at] ?? 0) ?? 0;
    };
    for (const column of columns) {
      const ranks = ranksOf(column);
      makeRoomFor(ranks.size);
      size *= ranks.size;
      for (let at = 0; at < column.length; at++) places[at] = (places[at] ?? 0) * ranks.size + (ranks.get(column[at] ?? null) ?? 0);
    }
    makeRoomFor(sums.length);
    for (let at = 0; at < places.length; at++) places[at] = (places[at] ?? 0) * sums.length + at;
    const ordered: Sum[] = [];
    for (const place of places.sort()) {
      const sum = sums[place % sums.length];
      if (sum !== undefined) ordered.push(sum);
    }
    return ordered;
  }

  private valueOf(key: GroupKey, pack: Pack, dimension: string, day: { readonly day: string; readonly month: string } | null): string | null {
    if (key === 'team') return pack.team;
    if (key === 'sharedFrom') return pack.shared_from === '' ? null : pack.shared_from;
    if (key === 'day') return day?.day ?? null;
    if (key === 'month') return day?.month ?? null;
    return this.known.get(dimension)?.[key] ?? null;
  }

  /** One number for all dimensions that agree in what is grouped by. */
  private dimensionGroup(id: string): number {
    const found = this.ofDimension.get(id);
    if (found !== undefined) return found;
    const dimension = this.known.get(id);
    const values = JSON.stringify(this.groupBy.filter(isOfDimension).map((key) => dimension?.[key] ?? null));
    const number = this.dimensionGroups.get(values) ?? this.dimensionGroups.size;
    this.dimensionGroups.set(values, number);
    this.ofDimension.set(id, number);
    return number;
  }

  /** Days that fall into one group (the day itself, or its month) have one number. */
  private dayOf(text: string): { readonly number: number; readonly day: string; readonly month: string } {
    const found = this.days.get(text);
    if (found !== undefined) return found;
    const day = formatInstant(Number(text) * DAY_MS).slice(0, 10);
    const month = day.slice(0, 7);
    const group = this.apart || this.groupBy.includes('day') ? day : month;
    const number = this.dayGroups.get(group) ?? this.dayGroups.size;
    this.dayGroups.set(group, number);
    const made = { number, day, month };
    this.days.set(text, made);
    return made;
  }
}
