/**
 * Sums per group from the sums per day, fetched as few large rows.
 *
 * PostgreSQL answers with one row for each team, currency and dimension that contains all its days as one text, because
 * thousands of small rows cost more on both sides than their content. It sums first over keys that the query does not
 * group by: the days (then a row contains all dimensions), the teams, the dimensions. Sums are exact: decimals keep the
 * longest scale.
 */
import { OF_DIMENSION, type Basis, type GroupKey } from '../../core/cost/spend-query.js';
import { addDecimal, formatDecimal, type Decimal } from '../../core/decimal.js';
import type { Dimension } from '../../core/cost/rollup.js';
import { namedBy, type MeterKey } from '../../core/bill/counting.js';
import { DAY_MS, formatInstant } from '../../core/time.js';
import { inSnapshot, type Queryable } from '../database.js';
import type { Dimensions } from '../usage/dimensions.js';
import { allTeamsByDay, daySource, type DaysAsked, type DaySource, type DayUnit } from './local-days.js';

/**
 * Which lines a basis is about: a bill's amounts are not metered, an accrual is not billed. Every line of a bill states
 * a billed cost, and no other line has one.
 */
export const LINES: Readonly<Record<Basis, string>> = {
  actual: `(c.actual is not null or c.unpriced_lines > c.stated_lines)`,
  accrued: `c.billed is null`,
  billed: `c.billed is not null`,
  effective: `c.billed is not null`,
  list: `c.billed is not null`,
};

type DimensionKey = (typeof OF_DIMENSION)[number];

export const isOfDimension = (key: GroupKey): key is DimensionKey => (OF_DIMENSION as readonly string[]).includes(key);

export interface SumsQuery extends DaysAsked {
  readonly groupBy: readonly GroupKey[];
  readonly basis: Basis;
  /** Only what is in another currency than this; absent: all. */
  readonly notIn?: string;
}

/** What a line states of it (setAsideSums). */
export const SET_ASIDE = `sum(c.billed - coalesce(c.actual, 0)) filter (where c.billed is not null
         and c.dimension in (select i.id from dimension i where i.organisation = $1 and i.kind = 'billed'))`;

/** Lines that are asked about, of days `c`. */
export const ASKED = `c.organisation = $1 and ($2::date is null or c.day >= $2::date) and ($3::date is null or c.day < $3::date)
         and ($4::text[] is null or c.team = any($4::text[])) and ($5::bigint[] is null or c.dimension = any($5::bigint[]))
         and c.team not like 'shared:%'`;

/** An exact number that stays the text that it came as until something is added to it. */
export type Figure = string | Decimal;

export const valueOf = (figure: Figure): Decimal => (typeof figure === 'string' ? decimalOf(figure) : figure);

export const textOf = (figure: Figure): string => (typeof figure === 'string' ? figure : formatDecimal(figure));

/** A figure without a fraction: a number if it is exact as one, because numbers are many times faster. */
export const wholeOf = (figure: Figure): number | bigint =>
  typeof figure === 'string' && figure.length <= 15 ? Number(figure) : valueOf(figure).unscaled;

/** `known` with what a text adds to it, if it says anything. */
const plus = (known: Figure | null, text: string): Figure | null =>
  text === '' ? known : known === null ? text : addDecimal(valueOf(known), decimalOf(text));

/** From a text of PostgreSQL: digits, perhaps a sign and a point, never an exponent. */
function decimalOf(text: string): Decimal {
  const point = text.indexOf('.');
  if (point < 0) return { unscaled: BigInt(text), scale: 0 };
  return { unscaled: BigInt(text.slice(0, point) + text.slice(point + 1)), scale: text.length - point - 1 };
}

export interface Sums {
  readonly sums: readonly Sum[];
  /** Per currency, over all sums. */
  readonly totals: ReadonlyMap<string, Figure>;
  readonly unpriced: bigint;
  /** Whether anything but GPU time has no price. */
  readonly hasUnpricedOthers: boolean;
  /** Per currency: billed amounts of which the bill does not state what is asked for, and in how many lines. */
  readonly unstated: ReadonlyMap<string, { readonly cost: Figure; readonly lines: number }>;
  /** Those of the sums, as they are called; none if nobody groups by any of their words. */
  readonly named: ReadonlyMap<string, Dimension>;
}

/**
 * Lines of a team in a currency, column by column: the values of a column stand in the order of the lines, separated by
 * spaces; an absent one is empty. They are the days of one dimension, or, where days are summed, all dimensions.
 */
interface Pack {
  readonly team: string;
  readonly currency: string;
  readonly shared_from: string;
  /** One where `days` is there, otherwise one for each line. */
  readonly dimensions: string;
  /** Days since 1970; null: they are summed. */
  readonly days: string | null;
  readonly costs: string;
  readonly parts: string;
  /** Where anything has no price: by turns, which line (its day, otherwise its dimension) and how much. */
  readonly without: string | null;
  /** The same of billed amounts of which the bill does not state what is asked for; absent: the basis needs none. */
  readonly unstated?: string | null;
  /** Lines of bills that do not state it, whatever they bill: what a commitment covers is often billed nothing. */
  readonly unstated_lines?: string;
  /** Whether anything but GPU time has no price: storage, traffic, what has no quantity. */
  readonly others: boolean;
  readonly total: string | null;
}

/**
 * @param apart days are kept apart even where nobody groups by them (each is to be converted by its own rate)
 */
export async function readSums(
  db: Queryable,
  dimensions: Dimensions,
  organisation: string,
  query: SumsQuery,
  apart: boolean,
): Promise<Sums> {
  const unit = apart || query.groupBy.includes('day') ? 'day' : query.groupBy.includes('month') ? 'month' : null;
  const packs = await fetchPacks(db, organisation, query, unit);
  const distinct = new Set<string>();
  if (query.groupBy.some(isOfDimension))
    for (const pack of packs) for (const id of pack.dimensions.split(' ')) distinct.add(id);
  const known = await dimensions.byIds(db, organisation, [...distinct]);
  const namesAccounts = query.groupBy.includes('account') || query.groupBy.includes('subAccount');
  const named = namesAccounts ? await asPayersCallThem(db, organisation, known) : known;
  const adding = new Adding(query.groupBy, named, apart);
  for (const pack of packs) adding.addPack(pack);
  const totals = new Map<string, Figure>();
  const unstated = new Map<string, { cost: Figure; lines: number }>();
  let unpriced = 0n;
  for (const { currency, total, without, unstated: billed = null, unstated_lines: lines = '0' } of packs) {
    if (lines !== '0') {
      const before = unstated.get(currency) ?? { cost: '0', lines: 0 };
      for (const more of byLine(billed)?.values() ?? []) before.cost = plus(before.cost, more) ?? more;
      unstated.set(currency, { cost: before.cost, lines: before.lines + Number(lines) });
    }
    for (const more of byLine(without)?.values() ?? []) unpriced += BigInt(more);
    const sum = plus(totals.get(currency) ?? null, total ?? '');
    if (sum !== null) totals.set(currency, sum);
  }
  const hasUnpricedOthers = packs.some(({ others }) => others);
  return { sums: adding.sorted(), totals, unpriced, hasUnpricedOthers, unstated, named };
}

/** Metered usage goes by the account and the sub-account by which its payer's bills call it, as in budgets' filters. */
async function asPayersCallThem(
  db: Queryable,
  organisation: string,
  known: ReadonlyMap<string, Dimension>,
): Promise<ReadonlyMap<string, Dimension>> {
  const claims = await db.query<{ provider: string; account: string; subAccount: string; bill: string }>(
    `select distinct on (provider, account, sub_account) provider, account, sub_account as "subAccount", bill
     from bill_claim where organisation = $1 and bill <> '' order by provider, account, sub_account, since desc`,
    [organisation],
  );
  if (claims.length === 0) return known;
  const keyOf = (provider: string, { account, subAccount }: MeterKey): string =>
    JSON.stringify([provider, account, subAccount]);
  const payers = new Map(claims.map((claim) => [keyOf(claim.provider, claim), claim.bill]));
  return new Map(
    [...known].map(([id, dimension]) => {
      const key = { account: dimension.account ?? '', subAccount: dimension.subAccount ?? '' };
      const payer = dimension.kind === 'metered' ? payers.get(keyOf(dimension.provider, key)) : undefined;
      if (payer === undefined) return [id, dimension];
      const { account, subAccount } = namedBy(key, payer);
      return [id, { ...dimension, account, subAccount: subAccount === '' ? null : subAccount }];
    }),
  );
}

/** Amounts that a bill may leave out, and the lines that do; of the other bases every line that counts has one. */
const LEFT_OPEN: Readonly<Partial<Record<Basis, { readonly cost: string; readonly lines: string }>>> = {
  effective: {
    cost: 'case when c.effective is null then c.billed end',
    lines: 'case when c.effective is null then c.records else 0 end',
  },
  list: {
    cost: 'case when c.list is null then c.billed end',
    lines: 'case when c.list is null then c.records else 0 end',
  },
};

/** The columns that tell lines apart for a question; what nobody groups by is one for all. */
const apartBy = (groupBy: readonly GroupKey[]): string[] => [
  groupBy.includes('team') ? 'c.team' : `'' as team`,
  'c.currency',
  groupBy.includes('sharedFrom') ? 'c.shared_from' : `'' as shared_from`,
  groupBy.some(isOfDimension) ? 'c.dimension' : '0 as dimension',
];

/**
 * The figures of a line, and the aggregate of each. Lines without a price are rare, and are found by their count:
 * comparing whole numbers is many times faster than comparing decimals.
 */
function figuresOf(basis: Basis): { readonly name: string; readonly line: string; readonly sum: string }[] {
  // Amounts of a final bill need no price.
  const [parts, some, lines] =
    basis === 'actual'
      ? [
          'c.unpriced_part_ms - c.stated_part_ms',
          'c.unpriced_lines > c.stated_lines',
          'c.unpriced_lines - c.stated_lines',
        ]
      : ['c.unpriced_part_ms', 'c.unpriced_lines > 0', 'c.unpriced_lines'];
  const open = LEFT_OPEN[basis];
  const summed = (name: string, line: string): ReturnType<typeof figuresOf>[number] => ({
    name,
    line,
    sum: `sum(${line})`,
  });
  return [
    summed('cost', `c.${basis}`),
    summed('parts', 'c.gpu_part_ms'),
    { name: 'unpriced', line: parts, sum: `sum(${parts}) filter (where ${some})` },
    { name: 'lines', line: lines, sum: `count(*) filter (where ${some})` },
    {
      name: 'others',
      line: 'c.unpriced_part_ms = 0',
      sum: `coalesce(bool_or(c.unpriced_part_ms = 0) filter (where ${some}), false)`,
    },
    ...(open === undefined ? [] : [summed('unstated', open.cost), summed('unstated_lines', open.lines)]),
  ];
}

async function fetchPacks(db: Queryable, organisation: string, query: SumsQuery, unit: DayUnit): Promise<Pack[]> {
  const { basis, groupBy, notIn } = query;
  const byDay = unit !== null;
  const line = byDay ? 'day' : 'dimension';
  const answered = `sum(cost)::text as total, string_agg(coalesce(cost::text, ''), ' ') as costs,
       string_agg(coalesce(parts::text, ''), ' ') as parts, coalesce(bool_or(others) filter (where lines > 0), false) as others,
       string_agg(${line} || ' ' || unpriced, ' ') filter (where lines > 0 and unpriced <> 0) as without${
         LEFT_OPEN[basis] === undefined
           ? ''
           : `, string_agg(${line} || ' ' || unstated, ' ') filter (where unstated <> 0) as unstated, sum(unstated_lines)::text as unstated_lines`
       }`;
  const { table, params } = await daySource(db, organisation, query, basis, unit);
  const asked = `from ${table} c where ${ASKED} and ${LINES[basis]}${notIn === undefined ? '' : ` and c.currency <> $${params.push(notIn)}`}`;
  const keys = apartBy(groupBy);
  const columns = [...keys, ...(byDay ? [`c.day - date '1970-01-01' as day`] : [])];
  const figures = figuresOf(basis);
  // By day each line is one already, unless teams or dimensions are summed.
  const lines =
    byDay && groupBy.includes('team') && groupBy.some(isOfDimension)
      ? `select c.team, c.currency, c.shared_from, c.dimension, c.day - date '1970-01-01' as day, ${figures.map(({ name, line: of }) => `${of} as ${name}`).join(', ')} ${asked}`
      : `select ${columns.join(', ')}, ${figures.map(({ name, sum }) => `${sum} as ${name}`).join(', ')} ${asked}
         group by ${columns.map((_, at) => at + 1).join(', ')}`;
  return db.query<Pack>(
    byDay
      ? `select team, currency, shared_from, dimension::text as dimensions, string_agg(day::text, ' ') as days, ${answered}
         from (${lines}) l group by team, currency, shared_from, dimension`
      : `select team, currency, shared_from, string_agg(dimension::text, ' ') as dimensions, null as days, ${answered}
         from (${lines}) l group by team, currency, shared_from`,
    params,
  );
}

/** What each dimension of each team cost, in its currency; shares of shared costs are left out: nobody ran them. */
export const dimensionSums = (
  db: Queryable,
  organisation: string,
  query: SumsQuery,
): Promise<{ team: string; dimension: string; currency: string; cost: string | null }[]> =>
  inSnapshot(db, async (snapshot) => {
    const { table, params } = await daySource(snapshot, organisation, query, query.basis, null);
    return snapshot.query(
      `select c.team, c.dimension::text as dimension, c.currency, sum(c.${query.basis})::text as cost
       from ${table} c where ${ASKED} and ${LINES[query.basis]} and c.shared_from = '' group by 1, 2, 3`,
      params,
    );
  });

/** Of actual costs, for what only adds up, whatever the team and the day. */
async function smallestSource(db: Queryable, organisation: string, asked: DaysAsked): Promise<DaySource> {
  const beforehand = await allTeamsByDay(db, organisation, asked, 'actual', null);
  return beforehand === null || beforehand.isAhead === true
    ? daySource(db, organisation, asked, 'actual', null)
    : beforehand;
}

/** By currency: the actual cost of metered usage that no bill has taken the place of. No basis of bills has it. */
export async function unbilledSums(
  db: Queryable,
  organisation: string,
  query: SumsQuery,
): Promise<{ currency: string; cost: string }[]> {
  const { table, params } = await smallestSource(db, organisation, query);
  return db.query(
    `select c.currency, sum(c.actual)::text as cost from ${table} c join dimension d on d.organisation = c.organisation and d.id = c.dimension
     where ${ASKED} and d.kind = 'metered' and c.actual <> 0
     group by 1 order by 1`,
    params,
  );
}

/**
 * By currency: what bills that are not final state of usage that meters stand for. It is in `actual` once they are
 * final, in the place of what was metered.
 */
export const setAsideSums = (
  db: Queryable,
  organisation: string,
  query: Omit<SumsQuery, 'groupBy' | 'basis'>,
): Promise<{ currency: string; cost: string }[]> =>
  inSnapshot(db, async (snapshot) => {
    const isOpen = `select 1 from delivery v
      where v.organisation = $1 and v.scope is not null and not v.closed limit 1`;
    if ((await snapshot.query(isOpen, [organisation])).length === 0) return [];
    const { table, params } = await smallestSource(snapshot, organisation, query);
    return snapshot.query(
      `select c.currency, sum(c.billed - coalesce(c.actual, 0))::text as cost
       from ${table} c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where ${ASKED} and d.kind = 'billed'
         and c.billed is not null
       group by 1 having sum(c.billed - coalesce(c.actual, 0)) <> 0 order by 1`,
      params,
    );
  });

/**
 * What a group takes from one side (its team, its dimension, its day): the same for thousands of lines, so each is
 * numbered and made once.
 */
interface Side {
  readonly number: number;
  /** In the order of the question's group-by, and then the currency; null if another side has the word. */
  readonly values: readonly (string | null)[];
}

/**
 * The sum of a group. A class, as thousands are made: literals that often outlive a scavenge are allocated where only a
 * full collection finds them.
 */
export class Sum {
  cost: Figure | null = null;
  /** Part-milliseconds of GPU metered; null: none was. */
  parts: Figure | null = null;
  /** The part without a price; null: none. */
  unpriced: Figure | null = null;
  /** Billed amounts whose bill does not state the requested cost; null: none. */
  unstated: Figure | null = null;

  /** @param dayApart UTC day, where days are kept apart; otherwise null */
  constructor(
    readonly team: Side,
    readonly dimension: Side,
    readonly day: Side,
    readonly currency: string,
    readonly dayApart: string | null,
  ) {}

  /** Its value of what stands at a place of the question's group-by. */
  group(place: number): string | null {
    return this.team.values[place] ?? this.dimension.values[place] ?? this.day.values[place] ?? null;
  }

  add(cost: string, parts: string, unpriced: string, unstated: string): void {
    this.cost = plus(this.cost, cost);
    this.parts = plus(this.parts, parts);
    this.unpriced = plus(this.unpriced, unpriced);
    this.unstated = plus(this.unstated, unstated);
  }
}

class Sides {
  readonly list: Side[] = [];
  private readonly byKey = new Map<string, Side>();

  sideOf(key: string, values: () => readonly (string | null)[]): Side {
    const known = this.byKey.get(key);
    if (known !== undefined) return known;
    const made = { number: this.list.length, values: values() };
    this.list.push(made);
    this.byKey.set(key, made);
    return made;
  }

  /**
   * By side number: which of the distinct values at this place it has, in their order; what is not known comes last.
   */
  ranks(place: number): { readonly ranks: readonly number[]; readonly count: number } {
    const distinct = [...new Set(this.list.map(({ values }) => values[place] ?? null))].sort((a, b) =>
      a === null ? 1 : b === null ? -1 : a < b ? -1 : 1,
    );
    const rankOf = new Map(distinct.map((value, rank) => [value, rank]));
    return { ranks: this.list.map(({ values }) => rankOf.get(values[place] ?? null) ?? 0), count: distinct.length };
  }
}

/** A day of a pack: its side, itself, and as the pack writes it. */
interface Day {
  readonly side: Side | null;
  readonly day: string | null;
  readonly text: string | null;
}

/** Where days are summed. */
const SUMMED: Day = { side: null, day: null, text: null };

/** Adds lines up by group. */
class Adding {
  private readonly teams = new Sides();
  private readonly dimensions = new Sides();
  private readonly days = new Sides();
  private readonly dimensionsById = new Map<string, Side>();
  private readonly daysByList = new Map<string, readonly Day[]>();
  private readonly allDays = this.days.sideOf('', () => []);
  /** By the numbers of team, dimension and day. */
  private readonly byNumbers: Sum[][][] = [];
  private readonly sums: Sum[] = [];

  constructor(
    private readonly groupBy: readonly GroupKey[],
    private readonly known: ReadonlyMap<string, Dimension>,
    private readonly apart: boolean,
  ) {}

  addPack(pack: Pack): void {
    const team = this.teamOf(pack);
    const ofTeam = (this.byNumbers[team.number] ??= []);
    const [dimensions, costs, parts] = [pack.dimensions.split(' '), pack.costs.split(' '), pack.parts.split(' ')];
    const days = pack.days === null ? null : this.daysOf(pack.days);
    const [without, unstated] = [byLine(pack.without), byLine(pack.unstated ?? null)];
    for (let at = 0; at < costs.length; at++) {
      const id = (days === null ? dimensions[at] : dimensions[0]) ?? '';
      const dimension = this.dimensionOf(id);
      const day = days?.[at] ?? SUMMED;
      this.sumOf(
        (ofTeam[dimension.number] ??= []),
        team,
        dimension,
        day.side ?? this.allDays,
        pack.currency,
        this.apart ? day.day : null,
      ).add(costs[at] ?? '', parts[at] ?? '', without?.get(day.text ?? id) ?? '', unstated?.get(day.text ?? id) ?? '');
    }
  }

  private sumOf(byDay: Sum[], team: Side, dimension: Side, day: Side, currency: string, dayApart: string | null): Sum {
    const known = byDay[day.number];
    if (known !== undefined) return known;
    const made = new Sum(team, dimension, day, currency, dayApart);
    byDay[day.number] = made;
    this.sums.push(made);
    return made;
  }

  /** By their groups, then by currency; what is not known comes last. */
  sorted(): Sum[] {
    const { sums } = this;
    const columns = [...this.groupBy, 'currency' as const].map((key, place) => ({
      side: sideOf(key),
      ...this[`${sideOf(key)}s`].ranks(place),
    }));
    // What each side adds to the place of its sums, a number in which an earlier column outweighs all later ones:
    // numbers compare many times faster than texts.
    const parts = {
      team: new Float64Array(this.teams.list.length),
      dimension: new Float64Array(this.dimensions.list.length),
      day: new Float64Array(this.days.list.length),
    };
    let weight = sums.length;
    for (const { side, ranks, count } of columns.toReversed()) {
      const part = parts[side];
      for (let number = 0; number < part.length; number++)
        part[number] = (part[number] ?? 0) + (ranks[number] ?? 0) * weight;
      weight *= count;
    }
    if (weight > Number.MAX_SAFE_INTEGER) {
      const compare = (a: Sum, b: Sum): number => {
        for (const { side, ranks } of columns)
          if (a[side] !== b[side]) {
            const difference = (ranks[a[side].number] ?? 0) - (ranks[b[side].number] ?? 0);
            if (difference !== 0) return difference;
          }
        return 0;
      };
      return sums.toSorted(compare);
    }
    const { team, dimension, day } = parts;
    const places = Float64Array.from(
      sums,
      (sum, at) =>
        (team[sum.team.number] ?? 0) + (dimension[sum.dimension.number] ?? 0) + (day[sum.day.number] ?? 0) + at,
    ).sort();
    const ordered: Sum[] = [];
    for (const place of places) {
      const sum = sums[place % sums.length];
      if (sum !== undefined) ordered.push(sum);
    }
    return ordered;
  }

  private teamOf({ team, currency, shared_from: sharedFrom }: Pack): Side {
    const values = this.groupBy.map((key) =>
      key === 'team' ? team : key === 'sharedFrom' && sharedFrom !== '' ? sharedFrom : null,
    );
    return this.teams.sideOf(JSON.stringify([...values, currency]), () => [...values, currency]);
  }

  /** One side for all dimensions that agree in what is grouped by. */
  private dimensionOf(id: string): Side {
    const found = this.dimensionsById.get(id);
    if (found !== undefined) return found;
    const dimension = this.known.get(id);
    const values = this.groupBy.map((key) => (isOfDimension(key) ? (dimension?.[key] ?? null) : null));
    const side = this.dimensions.sideOf(JSON.stringify(values), () => values);
    this.dimensionsById.set(id, side);
    return side;
  }

  /** The days of a list: most dimensions have the same ones. */
  private daysOf(list: string): readonly Day[] {
    const known = this.daysByList.get(list);
    if (known !== undefined) return known;
    const days = list.split(' ').map((text) => this.dayOf(text));
    this.daysByList.set(list, days);
    return days;
  }

  /** Days that fall into one group (the day itself, or its month) are one side. */
  private dayOf(text: string): Day {
    const day = formatInstant(Number(text) * DAY_MS).slice(0, 10);
    const month = day.slice(0, 7);
    const values = this.groupBy.map((key) => (key === 'day' ? day : key === 'month' ? month : null));
    return {
      side: this.days.sideOf(this.apart || this.groupBy.includes('day') ? day : month, () => values),
      day,
      text,
    };
  }
}

const sideOf = (key: GroupKey | 'currency'): 'team' | 'dimension' | 'day' =>
  key === 'day' || key === 'month' ? 'day' : key !== 'currency' && isOfDimension(key) ? 'dimension' : 'team';

/** Amounts by line: the text alternates between a line and its amount. */
function byLine(text: string | null): ReadonlyMap<string, string> | null {
  if (text === null) return null;
  const words = text.split(' ');
  const amounts = new Map<string, string>();
  for (let at = 0; at + 1 < words.length; at += 2) amounts.set(words[at] ?? '', words[at + 1] ?? '');
  return amounts;
}
