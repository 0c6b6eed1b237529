/**
 * The breakdown of the costs of a period, compared with the previous period, and the reasons for the change. Loads from
 * the stores of spend and of anomalies; core combines the data.
 *
 * Reads only. The sums equal those of /v1/costs, with the same gaps. Groups that are not listed are summed, so that an
 * answer stays small with a thousand teams.
 */
import type { AnomalyNews } from '../../core/alert/alert.js';
import type { Basis, GroupKey, SpendQuery } from '../../core/cost/spend-query.js';
import { GROUP_KEYS } from '../../core/cost/spend-query.js';
import { addDecimal, formatDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import { invalid } from '../../core/errors.js';
import {
  breakdownOf,
  daysOfSpan,
  largestOf,
  onlyOf,
  seriesOf,
  spanBefore,
  type BreakdownRest,
  type BreakdownRow,
  type BreakdownSeries,
  type DaySpan,
  type DaySum,
  type GroupSum,
  type NamedSum,
} from '../../core/report/breakdown.js';
import type { MonthCell, MonthFacts } from '../../core/report/facts.js';
import type { ReportBridge } from '../../core/report/report.js';
import { bridgeBetween, gpuHoursText } from '../../core/report/spend.js';
import { civilFromDays, DAY_MS, daysFromCivil, formatDay, localDays, parseDay } from '../../core/time.js';
import type { ChargeCategory, Term } from '../../core/usage.js';
import { valueOf, wholeOf } from '../../store/cost/spend-sums.js';
import { inSnapshots, type Queryable } from '../../store/database.js';
import type { Lacking, Spend, SpendGroup, SpendGroups } from '../../store/cost/spend.js';
import type { DayGroup } from '../../store/cost/spend-days.js';
import type { Stores } from '../../store/stores.js';
import type { Caveats } from '../../store/usage/doubts.js';

type Needed = Pick<Stores, 'spend' | 'anomalies' | 'organisations' | 'prices'> & { readonly db: Queryable };

/**
 * What to know of the sums of some days. It is asked before they are read: what is still being worked on then may be in
 * them or not, and what is not worked on is.
 */
export type AboutDays = (days: DaySpan) => Promise<Known>;
type Known = Pick<Caveats, 'warnings'>;

/** Keys that costs are broken down by: days have series of their own. */
export const BREAKDOWN_KEYS: readonly GroupKey[] = GROUP_KEYS.filter((key) => key !== 'day' && key !== 'month');

/** A period with its sums, and with the amounts that no sum contains. */
export interface CostSpan extends DaySpan {
  readonly totals: Spend['totals'];
  readonly unpricedGpuHours: string;
  readonly lacking: Lacking;
}

export interface CostBreakdown extends Known {
  /** Where a read replica answered that is behind: what was committed after this is not in it. */
  readonly asOf?: string;
  readonly basis: Basis;
  readonly zone: string;
  readonly groupBy: readonly GroupKey[];
  readonly now: CostSpan;
  /** Null: nobody asked for it. */
  readonly before: CostSpan | null;
  readonly rows: readonly BreakdownRow[];
  readonly rest: readonly BreakdownRest[];
  readonly days: readonly string[];
  readonly series: readonly BreakdownSeries[];
  /** The total of each day of the time before, from its first. */
  readonly daysBefore: readonly Pick<BreakdownSeries, 'currency' | 'values'>[];
  /** Anomalies of the requested teams, whatever the filters. */
  readonly anomalies: readonly Pick<AnomalyNews, 'team' | 'day' | 'what' | 'currency' | 'observed' | 'expected'>[];
}

export interface CostBridge extends Known {
  /** Where a read replica answered that is behind: what was committed after this is not in it. */
  readonly asOf?: string;
  readonly basis: Basis;
  readonly zone: string;
  readonly now: CostSpan;
  readonly before: CostSpan;
  readonly bridges: readonly {
    readonly currency: string;
    readonly reason: string | null;
    readonly bridge: ReportBridge | null;
  }[];
}

/** Times that go with the data: so many days until its end, its month so far, the month before. */
export const COST_SPANS = ['7', '30', '90', '365', 'month', 'last-month'] as const;
export type CostSpanName = (typeof COST_SPANS)[number];

/** Which days count if the question names none, and what is asked about them. */
interface Span {
  readonly last: CostSpanName;
  readonly now: number;
  readonly about: AboutDays;
}

/** Ten years: a value a day. */
const MOST_DAYS = 3660;
const MOST_SERIES = 8;
const BRIDGE_KEYS = ['provider', 'sku', 'gpuModel', 'term', 'category'] as const;

const problem = (path: string, message: string): Error =>
  invalid('the question about costs has problems', [{ path, message }]);

/**
 * @param limit rows of each currency; the others are summed @throws Failure invalid if the keys are not one or two, or
 * the period is too long
 */
export async function costBreakdown(
  stores: Needed,
  organisation: string,
  question: SpendQuery,
  { compares, limit, last, now: at, about }: Span & { readonly compares: boolean; readonly limit: number },
): Promise<CostBreakdown> {
  const { basis, zone, groupBy } = question;
  const key = firstKey(groupBy);
  const span = await spanAsked(stores, organisation, question, last, at);
  const before = compares ? spanBefore(span, (await todayIn(stores, organisation, zone, at)) + 1) : null;
  const { warnings } = await about({ from: (before ?? span).from, to: span.to });
  const [{ now, old, daily }, anomalies] = await Promise.all([
    sumsOfSpans(stores, organisation, question, key, span, before),
    stores.anomalies.within(organisation, question.teams, span.from, span.to),
  ]);
  const days = daysOfSpan(span);
  const sums = ({ groups }: SpendGroups): GroupSum[] => groups.map((group) => sumOf(group, groupBy.length));
  return {
    basis,
    zone,
    groupBy,
    now: spanOf(span, now),
    before: before === null || old === null ? null : spanOf(before, old),
    ...breakdownOf(sums(now), old === null ? null : sums(old), limit),
    days,
    series: seriesOf(daily.now, days, daily.groups),
    daysBefore:
      before === null
        ? []
        : seriesOf(daily.before, daysOfSpan(before), []).map(({ currency, values }) => ({ currency, values })),
    anomalies: anomalies.map(({ team, day, what, currency, observed, expected }) => ({
      team,
      day,
      what,
      currency,
      observed,
      expected,
    })),
    warnings,
  };
}

interface SpanSums {
  readonly now: SpendGroups;
  readonly old: SpendGroups | null;
  readonly daily: Daily;
}

/**
 * All of one moment: the days add up to the sums, but for what is priced and not summed yet (a warning says so): some
 * days of a zone have it, sums of a whole range do not. What needs nothing of another is read beside it.
 */
async function sumsOfSpans(
  stores: Needed,
  organisation: string,
  question: SpendQuery,
  key: GroupKey,
  span: DaySpan,
  before: DaySpan | null,
): Promise<SpanSums> {
  const { groupBy, currency } = question;
  const fx = await stores.prices.fx(stores.db, organisation);
  return inSnapshots(stores.db, 3, async (readers) => {
    // Where amounts may have to be converted, each group's days are read; otherwise days say what is set aside too.
    const groupsOf: GroupsOf = (reader, part, keys) =>
      stores.spend.groups(
        organisation,
        { ...question, ...part, groupBy: keys },
        fx,
        readers[reader],
        currency !== null,
      );
    const sums = [groupsOf(0, span, groupBy), before === null ? null : groupsOf(1, before, groupBy)] as const;
    if (currency !== null) {
      const [now, old] = await Promise.all(sums);
      if (now.isConverted || old?.isConverted === true)
        return { now, old, daily: await convertedDays(groupsOf, key, span, before) };
    }
    const days = { ...question, from: before?.from ?? span.from, to: span.to };
    const totals = key === 'team' ? stores.spend.dayTotals(organisation, days, readers[2]) : null;
    const daysOf = async (now: SpendGroups) => {
      const groups = largestOf(namedSums(now, 0), MOST_SERIES);
      const asked = { ...days, key, since: span.from, groups, named: now.named };
      return { groups, ...(await stores.spend.days(organisation, asked, readers[0], totals)) };
    };
    const [now, old, daily] = await Promise.all([...sums, sums[0].then(daysOf), totals]);
    // The days of a month so far are compared with as many of the month before: those in between are of neither.
    const [ofNow, ofBefore] = [span, before].map((part) => {
      const isOf = ({ day }: { readonly day: string }): boolean => part !== null && day >= part.from && day < part.to;
      return { sums: daily.sums.filter(isOf).map(withFigure), setAside: addedUp(daily.setAside.filter(isOf)) };
    });
    const withAside = (part: SpendGroups, setAside: Lacking['setAside'] = []): SpendGroups =>
      currency === null ? { ...part, lacking: { ...part.lacking, setAside } } : part;
    return {
      now: withAside(now, ofNow?.setAside),
      old: old === null ? null : withAside(old, ofBefore?.setAside),
      daily: { groups: daily.groups, now: ofNow?.sums ?? [], before: ofBefore?.sums ?? [] },
    };
  });
}

/** By currency, but what comes to nothing. */
function addedUp(amounts: Lacking['setAside']): Lacking['setAside'] {
  const sums = new Map<string, Decimal>();
  for (const { currency, cost } of amounts) sums.set(currency, addDecimal(sums.get(currency) ?? ZERO, valueOf(cost)));
  return [...sums]
    .filter(([, sum]) => sum.unscaled !== 0n)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, sum]) => ({ currency, cost: formatDecimal(sum) }));
}

/** @param reader which of those that read side by side */
type GroupsOf = (reader: number, part: DaySpan, keys: readonly GroupKey[]) => Promise<SpendGroups>;

/** A bridge for each currency. @throws Failure invalid if the time is too long */
export async function costBridge(
  stores: Needed,
  organisation: string,
  question: SpendQuery,
  { last, now: at, about }: Span,
): Promise<CostBridge> {
  const { basis, zone } = question;
  const span = await spanAsked(stores, organisation, question, last, at);
  const before = spanBefore(span, (await todayIn(stores, organisation, zone, at)) + 1);
  const { warnings } = await about({ from: before.from, to: span.to });
  const fx = await stores.prices.fx(stores.db, organisation);
  const [now, old] = await inSnapshots(stores.db, 2, ([one, two]) => {
    const cells = (part: DaySpan, reader: Queryable | undefined): Promise<SpendGroups> =>
      stores.spend.groups(organisation, { ...question, ...part, groupBy: BRIDGE_KEYS }, fx, reader);
    return Promise.all([cells(span, one), cells(before, two)]);
  });
  const currencies = [...new Set([...now.groups, ...old.groups].map(({ currency }) => currency))].sort();
  return {
    basis,
    zone,
    now: spanOf(span, now),
    before: spanOf(before, old),
    bridges: currencies.map((currency) => {
      const facts = (groups: SpendGroups): MonthFacts => ({ cells: cellsOf(groups, currency), unconverted: new Map() });
      const { known, reason } = bridgeBetween(facts(now), facts(old));
      return { currency, reason, bridge: known };
    }),
    warnings,
  };
}

/** In days since 1970, as of the data. */
const todayIn = async (
  { db, organisations }: Pick<Needed, 'db' | 'organisations'>,
  organisation: string,
  zone: string,
  now: number,
): Promise<number> => localDays(zone, await organisations.asOf(db, organisation, now));

/** The period of a query; without days, one that ends with the data. @throws Failure invalid if too long */
export async function spanAsked(
  stores: Pick<Needed, 'db' | 'organisations'>,
  organisation: string,
  { from: first, to: end, zone }: Pick<SpendQuery, 'from' | 'to' | 'zone'>,
  last: CostSpanName,
  now: number,
): Promise<DaySpan> {
  const today = await todayIn(stores, organisation, zone, now);
  if (first === null && end === null) return spanNamed(last, today);
  // Never empty: what begins in the future is one day long.
  const to = end ?? formatDay(Math.max(today, parseDay(first ?? '') ?? 0) + 1);
  const from = first ?? formatDay((parseDay(to) ?? 0) - Number(COST_SPANS[1]));
  if ((Date.parse(to) - Date.parse(from)) / DAY_MS > MOST_DAYS)
    throw problem('from', `is more than ${MOST_DAYS} days before the end`);
  return { from, to };
}

function spanNamed(name: CostSpanName, today: number): DaySpan {
  const { year, month } = civilFromDays(today);
  const monthStart = daysFromCivil(year, month, 1);
  const tomorrow = formatDay(today + 1);
  if (name === 'month') return { from: formatDay(monthStart), to: tomorrow };
  if (name === 'last-month') {
    const before = civilFromDays(monthStart - 1);
    return { from: formatDay(daysFromCivil(before.year, before.month, 1)), to: formatDay(monthStart) };
  }
  return { from: formatDay(today + 1 - Number(name)), to: tomorrow };
}

function firstKey(keys: readonly GroupKey[]): GroupKey {
  const [first, , third] = keys;
  if (first === undefined || third !== undefined || !keys.every((key) => BREAKDOWN_KEYS.includes(key)))
    throw problem('group-by', `is one or two of ${BREAKDOWN_KEYS.join(', ')}`);
  return first;
}

const figure = ({ cost }: Pick<SpendGroup, 'cost'>): GroupSum['cost'] => (cost === null ? null : valueOf(cost));

function sumOf(group: SpendGroup, keys: number): GroupSum {
  return {
    names: Array.from({ length: keys }, (_, place) => group.group(place)),
    currency: group.currency,
    cost: figure(group),
    parts: group.parts === null ? null : BigInt(wholeOf(group.parts)),
    unpriced: group.unpriced === null ? 0n : BigInt(wholeOf(group.unpriced)),
  };
}

/** The sums of each day: of the largest groups of the time, and of all of the time before. */
interface Daily {
  readonly groups: readonly Omit<NamedSum, 'cost'>[];
  readonly now: readonly DaySum[];
  readonly before: readonly DaySum[];
}

const namedSums = ({ groups }: SpendGroups, place: number): NamedSum[] =>
  groups.map((group) => ({ name: group.group(place), currency: group.currency, cost: figure(group) }));

const withFigure = (sum: DayGroup): DaySum => ({ ...sum, cost: figure(sum) });

/** Each amount by the rate of its day: every group of every day is rounded by itself, and is read. */
async function convertedDays(groupsOf: GroupsOf, key: GroupKey, span: DaySpan, before: DaySpan | null): Promise<Daily> {
  const [now, old] = await Promise.all([
    groupsOf(0, span, ['day', key]),
    before === null ? null : groupsOf(1, before, ['day']),
  ]);
  const sumsOf = (days: SpendGroups | null): (NamedSum & { readonly day: string })[] =>
    days === null ? [] : namedSums(days, 1).map((sum, at) => ({ ...sum, day: days.groups[at]?.group(0) ?? '' }));
  const sums = sumsOf(now);
  const groups = largestOf(sums, MOST_SERIES);
  return { groups, now: onlyOf(sums, groups), before: onlyOf(sumsOf(old), []) };
}

const spanOf = ({ from, to }: DaySpan, { totals, unpriced, lacking }: SpendGroups): CostSpan => ({
  from,
  to,
  totals,
  unpricedGpuHours: gpuHoursText(unpriced),
  lacking,
});

function cellsOf({ groups }: SpendGroups, wanted: string): MonthCell[] {
  return groups
    .filter(({ currency }) => currency === wanted)
    .map((group) => {
      const { cost, parts, unpriced, names } = sumOf(group, BRIDGE_KEYS.length);
      const [provider, sku, gpuModel, term, category] = names;
      return {
        team: '',
        provider: provider ?? '',
        sku: sku ?? null,
        gpuModel: gpuModel ?? null,
        term: (term ?? null) as Term | null,
        category: (category ?? 'Usage') as ChargeCategory,
        amount: cost,
        quantity: parts,
        unpriced,
      };
    });
}
