/**
 * Prices days of a team in the order of time, each with the runs that continue from the day before. If a day passes on
 * other runs than before, the next day is priced too. If a day finds that a run continues which the previous day had
 * ended, the previous day is priced again. Beyond a number of days the rest is left to a later call. Knows no SQL.
 */
import type { CostContext } from '../core/cost/cost.js';
import { isUnclear, priceFromRecords, priceFromSums, surchargesOf } from '../core/cost/hour-pricing.js';
import { assert } from '../core/errors.js';
import { dimensionKey, Grouping } from '../core/cost/rollup.js';
import { carriedOver, linkRuns, recordKey, stopsAt, type CarriedRun, type Linked } from '../core/cost/run.js';
import { DAY_MS, formatDay, HOUR_MS, hourOf } from '../core/time.js';
import type { UsageRecord } from '../core/usage.js';
import type { OrganisationStore } from '../store/access/organisation.js';
import type { CostStore, HourOfDimension, LineOfDimension } from '../store/cost/costs.js';
import type { MeteredDay } from '../store/bill/counting.js';
import type { Transaction } from '../store/database.js';
import type { PriceStore } from '../store/price/prices.js';
import { RecentBlocks } from '../store/usage/recent-blocks.js';

/** Days that one call prices at most, apart from those that it was asked for. */
const MOST_FOLLOWING = 60;

type Hours = readonly HourOfDimension[];

interface PricedDay {
  readonly lines: LineOfDimension[];
  readonly handsOn: readonly CarriedRun[];
  /** A run continues at the beginning of the day, and the previous day does not know it. */
  readonly goesOn: boolean;
}

export class DayPricing {
  private readonly hours = new Map<string, Hours>();
  /** The runs that continue into a day, as stored or as computed here. */
  private readonly carried = new Map<string, readonly CarriedRun[]>();
  private readonly changed = new Set<string>();
  /** Days and dimensions with a record that is corrected from the day's end on, as the next day shows. */
  private readonly stopping = new Set<string>();
  private readonly blocks = new RecentBlocks();
  private grouping: Grouping | null = null;
  private prices: Pick<CostContext, 'book' | 'fx'> | null = null;

  constructor(
    private readonly stated: PriceStore,
    private readonly organisations: OrganisationStore,
    private readonly costs: CostStore,
    private readonly tx: Transaction,
    private readonly organisation: string,
    private readonly team: string,
    private readonly settings: Omit<CostContext, 'book' | 'fx'>,
  ) {}

  /** Prices the days and those that follow from them; says which were priced and which are left to a later call. */
  async all(
    asked: readonly string[],
  ): Promise<{ readonly days: string[]; readonly later: string[]; readonly metered: MeteredDay[] }> {
    await this.load(asked);
    const [due, searched, later] = [new Set(asked), new Set<string>(), new Set<string>()];
    const priced = new Map<string, LineOfDimension[]>();
    for (let day = least(due); day !== null; day = least(due)) {
      due.delete(day);
      const { lines, handsOn, goesOn } = await this.price(day);
      const before = dayAfter(day, -1);
      if (goesOn && !searched.has(day)) {
        searched.add(day);
        await this.load([before]);
        for (const again of [before, day]) due.add(again);
        continue;
      }
      priced.set(day, lines);
      const next = dayAfter(day, 1);
      if (JSON.stringify(handsOn) === JSON.stringify(this.carried.get(next) ?? [])) continue;
      this.carried.set(next, handsOn);
      this.changed.add(next);
      if (priced.size >= asked.length + MOST_FOLLOWING) later.add(next);
      else {
        await this.load([next]);
        if ((this.hours.get(next) ?? []).length > 0) due.add(next);
      }
    }
    const { tx, organisation, team } = this;
    for (const day of this.changed) await this.costs.carry(tx, organisation, team, day, this.carried.get(day) ?? []);
    const days = [...priced.keys()];
    await this.costs.replaceHours(tx, organisation, team, days, [...priced.values()].flat());
    const metered = days.flatMap((day) => meteredOn(day, this.hours.get(day) ?? [], priced.get(day) ?? []));
    return { days, later: [...later].filter((day) => !priced.has(day)), metered };
  }

  private async load(days: readonly string[]): Promise<void> {
    const absent = days.filter((day) => !this.hours.has(day));
    if (absent.length === 0) return;
    const { tx, organisation, team } = this;
    for (const day of absent) this.hours.set(day, []);
    const byDay = grouped(await this.costs.meteredHours(tx, organisation, team, absent), ({ hour }) => dayOf(hour));
    for (const [day, hours] of byDay) this.hours.set(day, hours);
    const dimensions = [...this.hours.values()].flat().map(({ dimension }) => dimension);
    this.prices = await this.stated.bookFor(tx, organisation, dimensions);
    const reached = [...new Set(absent.flatMap((day) => [day, dayAfter(day, 1)]))].filter(
      (day) => !this.carried.has(day),
    );
    const stored = await this.costs.carriedInto(tx, organisation, team, reached);
    for (const day of reached) this.carried.set(day, stored.get(day) ?? []);
  }

  /** With the prices of all that is loaded. */
  private get context(): CostContext {
    assert(this.prices !== null, 'a day is loaded before it is priced');
    return { ...this.settings, ...this.prices };
  }

  private async price(day: string): Promise<PricedDay> {
    const { team, context } = this;
    const [hours, carried] = [this.hours.get(day) ?? [], this.carried.get(day) ?? []];
    const byRuns = new Set(carried.filter(({ matters }) => matters).map(({ dimension }) => dimension));
    for (const { dimension, stops } of this.carried.get(dayAfter(day, 1)) ?? [])
      if (stops === true) byRuns.add(dimension);
    for (const hour of hours)
      if (isUnclear(hour.dimension, hour, context) || this.stopping.has(`${day} ${hour.dimensionId}`))
        byRuns.add(hour.dimensionId);
    const lines = hours.flatMap((hour) =>
      byRuns.has(hour.dimensionId)
        ? []
        : (priceFromSums(team, hour.dimension, hour, context) ?? []).map((line) => lineOf(hour, line)),
    );
    const unclear = hours.filter(({ dimensionId }) => byRuns.has(dimensionId));
    if (unclear.length === 0) return { lines, handsOn: [], goesOn: false };
    const records = await this.recordsOf(day, unclear);
    const handsOn: CarriedRun[] = [];
    let goesOn = false;
    for (const [id, own] of grouped(unclear, ({ dimensionId }) => dimensionId)) {
      const reaching = carried.filter(({ dimension }) => dimension === id);
      const linked = linkRuns(
        records.get(id) ?? [],
        new Map(reaching.map(({ record, beforeMs }) => [record, beforeMs])),
        startOf(day),
      );
      goesOn ||= isSeenOtherwise(reaching, linked, startOf(day));
      if (linked.some((one) => stopsAt(one, startOf(day)))) this.stopping.add(`${dayAfter(day, -1)} ${id}`);
      const { lines: priced, carried: next } = this.priceDimension(id, day, own, linked, records.get(id) ?? []);
      lines.push(...priced);
      handsOn.push(...next);
    }
    return { lines, handsOn: handsOn.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1)), goesOn };
  }

  private priceDimension(
    id: string,
    day: string,
    hours: Hours,
    linked: readonly Linked[],
    records: readonly UsageRecord[],
  ): { readonly lines: LineOfDimension[]; readonly carried: CarriedRun[] } {
    const { team, context } = this;
    const [first] = hours;
    if (first === undefined) return { lines: [], carried: [] };
    const { dimension } = first;
    const surcharges = surchargesOf(dimension, linked, context);
    const byHour = new Map(hours.map(({ hour }) => [hour, [] as UsageRecord[]]));
    for (const record of records)
      for (let hour = Math.max(hourOf(record.start), startOf(day)); hour <= record.end; hour += HOUR_MS) {
        if (hour >= startOf(day) + DAY_MS) break;
        byHour.get(hour)?.push(record);
      }
    const lines = hours.flatMap((hour) =>
      priceFromRecords(team, dimension, hour.hour, byHour.get(hour.hour) ?? [], context, { surcharges }).map((line) =>
        lineOf(hour, line),
      ),
    );
    const priceAt = (at: number) => {
      const found = context.book.find({ ...dimension, component: 'gpu', at });
      return 'price' in found ? found.price : null;
    };
    return { lines, carried: carriedOver(id, linked, startOf(day) + DAY_MS, priceAt) };
  }

  /** The records of a day, those that end shortly before it and those that begin at its end. */
  private async recordsOf(day: string, unclear: Hours): Promise<Map<string, UsageRecord[]>> {
    const { organisations, tx, organisation, team, context } = this;
    if (this.grouping === null) {
      const rules = await organisations.rules(tx, organisation);
      const tags = await organisations.trackedTags(tx, organisation);
      this.grouping = new Grouping((record) => rules.teamOf(record), tags);
    }
    const minimums = unclear.map(({ dimension, hour }) => {
      const found = context.book.find({ ...dimension, component: 'gpu', at: hour });
      return 'price' in found ? found.price.minimumSeconds : 0;
    });
    const ids = new Map(unclear.map((hour) => [dimensionKey(hour.dimension), hour.dimensionId]));
    const from = startOf(day) - Math.max(1, ...minimums) * 1000;
    const to = startOf(day) + DAY_MS + 1;
    return this.costs.recordsOf(tx, organisation, team, from, to, this.grouping, ids, this.blocks);
  }
}

/** The metered usage of a day, and whether any of it has a price. */
function meteredOn(day: string, hours: Hours, lines: readonly LineOfDimension[]): MeteredDay[] {
  const priced = new Set(lines.flatMap(({ dimensionId, line }) => (line.kind === 'usage' ? [dimensionId] : [])));
  const dimensions = new Map(hours.map(({ dimensionId, dimension }) => [dimensionId, dimension]));
  return [...dimensions].map(([id, dimension]) => ({ day, dimension, isPriced: priced.has(id) }));
}

const lineOf = ({ dimensionId }: HourOfDimension, line: LineOfDimension['line']): LineOfDimension => ({
  dimensionId,
  line,
});
const startOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const dayOf = (instant: number): string => formatDay(Math.floor(instant / DAY_MS));
const dayAfter = (day: string, days: number): string => dayOf(startOf(day) + days * DAY_MS);
const nameOf = ({ dimension, record }: CarriedRun): string => `${dimension} ${record}`;

function least(days: ReadonlySet<string>): string | null {
  let found: string | null = null;
  for (const day of days) if (found === null || day < found) found = day;
  return found;
}

/** Whether a run continues that ends at midnight for the previous day, or the reverse. */
function isSeenOtherwise(reaching: readonly CarriedRun[], linked: readonly Linked[], midnight: number): boolean {
  const ends = new Map(
    linked.filter(({ record }) => record.end === midnight).map((one) => [recordKey(one.whole), one]),
  );
  const known = new Set(reaching.flatMap(({ record, stops }) => (stops === true ? [record] : [])));
  const stopping = [...ends].flatMap(([record, one]) => (stopsAt(one, midnight) ? [record] : []));
  if (known.size !== stopping.length || stopping.some((record) => !known.has(record))) return true;
  return reaching.some(({ record, matters, continues }) => {
    const one = ends.get(record);
    return matters && one !== undefined && one.continues !== continues;
  });
}

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return groups;
}
