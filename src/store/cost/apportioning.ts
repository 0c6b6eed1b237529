/**
 * The teams of each day under other rules, computed from the raw records: for each team, day and dimension the part
 * that each team would get. The view `hour_line` says which lines count: a bill's lines without a meter that stands for
 * them, or of a final bill, and metered hours that no final bill reaches.
 *
 * Reads block by block and holds only sums.
 */
import { daysOf, ResourceLines, SetAside, unmeteredLines } from '../../core/bill/unmetered.js';
import type { CostContext } from '../../core/cost/cost.js';
import { priceFromRecords, priceFromSums } from '../../core/cost/hour-pricing.js';
import { dimensionKey, Grouping, HourSums, type Cell, type Dimension, type HourSum } from '../../core/cost/rollup.js';
import type { Portion, PortionCost } from '../../core/cost/rule-preview.js';
import { addDecimal, type Decimal } from '../../core/decimal.js';
import { DAY_MS, formatDay, HOUR_MS, type Interval } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { RuleSet } from '../access/organisation.js';
import type { Transaction } from '../database.js';
import type { Stores } from '../stores.js';

export type ApportioningNeeds = Pick<
  Stores,
  'dimensions' | 'organisations' | 'raw' | 'prices' | 'learnedRates' | 'unmetered'
>;

/** A bill whose records are being read. */
interface Bill {
  readonly aside: SetAside;
  /** Ids of the dimensions with lines that are set aside, by their keys. */
  readonly ids: ReadonlyMap<string, string>;
  /** Lines of theirs, by the pair of teams: those of machines that nobody meters count. */
  readonly lines: ResourceLines;
}

export const keyOf = (team: string, day: string, dimension: string): string => `${team}\u0001${day}\u0001${dimension}`;
const accountOf = ({ provider, account, subAccount }: Dimension): string =>
  `${provider}\u0001${account ?? ''}\u0001${subAccount ?? ''}`;

export class Apportioning {
  private readonly portions = new Map<string, Map<string, Portion>>();
  private readonly contexts = new Map<string, CostContext>();
  /** The times at which a final bill has taken the place of metered usage, by provider, account and sub-account. */
  private readonly billed = new Map<string, Interval[]>();
  private readonly kept = new Set<string>();
  private tracked: readonly string[] = [];

  constructor(
    private readonly stores: ApportioningNeeds,
    private readonly tx: Transaction,
    private readonly organisation: string,
    private readonly now: RuleSet,
    private readonly wanted: RuleSet,
  ) {}

  /** By `keyOf`: the part of each team that would have it. */
  async all(): Promise<ReadonlyMap<string, ReadonlyMap<string, Portion>>> {
    const { stores, tx, organisation } = this;
    this.tracked = await stores.organisations.trackedTags(tx, organisation);
    const claims = await tx.query<{ name: string; start: Date; end: Date }>(
      `select concat_ws(chr(1), provider, account, sub_account) as name, since as start, until as "end"
       from bill_claim where organisation = $1 and final`,
      [organisation],
    );
    for (const { name, start, end } of claims)
      this.billed.set(name, [...(this.billed.get(name) ?? []), { start: start.getTime(), end: end.getTime() }]);
    const bills = await tx.query<{ id: string; closed: boolean }>(
      `select id::text as id, closed from delivery where organisation = $1 and scope is not null`,
      [organisation],
    );
    const isFinal = new Map(bills.map(({ id, closed }) => [id, closed]));
    await this.keepArchived();
    for (const { source, id, isArchived } of await stores.raw.deliveries(tx, organisation)) {
      if (isArchived) continue;
      const bill = await this.billOf(id, isFinal.get(id) ?? true);
      for await (const records of stores.raw.records(tx, organisation, source, id)) await this.take(records, bill);
      await this.addUnmetered(bill);
    }
    return this.portions;
  }

  /** A day with archived records keeps its teams: rules do not move those. */
  private async keepArchived(): Promise<void> {
    const rows = await this.tx.query<{ day: string }>(
      `select distinct to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD') as day from usage_hour u
       join delivery v on v.organisation = u.organisation and v.id = u.delivery and v.archived
       where u.organisation = $1`,
      [this.organisation],
    );
    for (const { day } of rows) this.kept.add(day);
  }

  private async billOf(id: string, isFinal: boolean): Promise<Bill> {
    const { stores, tx, organisation } = this;
    const aside = isFinal ? new SetAside() : await stores.unmetered.setAside(tx, organisation, id);
    const dimensions = await stores.dimensions.byIds(tx, organisation, aside.dimensions());
    const ids = new Map([...dimensions].map(([number, dimension]) => [dimensionKey(dimension), number]));
    return { aside, ids, lines: new ResourceLines() };
  }

  /** Takes one block: its metered usage is priced by itself, its bill's lines are added up. */
  private async take(records: readonly UsageRecord[], bill: Bill): Promise<void> {
    // A team of the grouping is the pair of who has it now and who would have it.
    const grouping = new Grouping(
      (record) => `${this.now.teamOf(record)}\u0001${this.wanted.teamOf(record)}`,
      this.tracked,
    );
    const sums = new HourSums();
    const own = new Map<Cell, UsageRecord[]>();
    for (const record of records) {
      const group = grouping.groupOf(record);
      if (record.charge !== null) this.takeLine(group.cell, record, bill);
      else {
        sums.add(group, record);
        const list = own.get(group.cell);
        if (list === undefined) own.set(group.cell, [record]);
        else list.push(record);
      }
    }
    for (const sum of sums.drain()) await this.addMetered(sum, own.get(sum.cell) ?? []);
  }

  /** A line counts at once unless a meter covers it. */
  private takeLine({ team, dimension }: Cell, record: UsageRecord, { aside, ids, lines }: Bill): void {
    if (record.charge === null) return;
    const key = dimensionKey(dimension);
    const { hour, until } = daysOf(record, record.charge);
    const id = ids.get(key);
    const isAside = id !== undefined && !aside.metersOf({ dimension: id, hour, until }).next().done;
    if (isAside) lines.add(team, id, record);
    else this.addBilled(team, hour, key, record.charge.billed);
  }

  /** Among the lines that a meter covers, those of machines that are not metered. */
  private async addUnmetered({ aside, ids, lines }: Bill): Promise<void> {
    if (lines.size === 0) return;
    const { stores, tx, organisation } = this;
    const metered = await stores.unmetered.metered(tx, organisation, aside.from, aside.to);
    if (metered === null) return;
    const keys = new Map([...ids].map(([key, id]) => [id, key]));
    for (const { team, hour, dimension, billed } of unmeteredLines(lines.all(), aside, metered))
      this.addBilled(team, hour, keys.get(dimension) ?? '', billed);
  }

  private addBilled(pair: string, hour: number, dimension: string, billed: Decimal): void {
    const { portions, to } = this.placeOf(pair, hour, dimension);
    const known = portions.get(to);
    portions.set(to, {
      kind: 'billed',
      actual: known?.kind === 'billed' && known.actual !== null ? addDecimal(known.actual, billed) : billed,
    });
  }

  private async addMetered(sum: HourSum, records: readonly UsageRecord[]): Promise<void> {
    const {
      hour,
      cell: { team, dimension },
    } = sum;
    const { portions, from, to } = this.placeOf(team, hour, dimensionKey(dimension));
    const counts = !(this.billed.get(accountOf(dimension)) ?? []).some(({ start, end }) => start <= hour && hour < end);
    const [own, other] = [await this.contextOf(from), await this.contextOf(to)];
    let portion = portions.get(to);
    if (portion?.kind !== 'metered') {
      portion = {
        kind: 'metered',
        own: nothing(),
        elsewhere: own.currency === other.currency ? null : { ...nothing(), currency: other.currency ?? '' },
      };
      portions.set(to, portion);
    }
    addPriced(portion.own, sum, records, counts, own);
    if (portion.elsewhere !== null) addPriced(portion.elsewhere, sum, records, counts, other);
  }

  private placeOf(
    pair: string,
    hour: number,
    dimension: string,
  ): { readonly portions: Map<string, Portion>; readonly from: string; readonly to: string } {
    const [from = '', to = ''] = pair.split('\u0001');
    const day = formatDay(Math.floor(hour / DAY_MS));
    const key = keyOf(from, day, dimension);
    const portions = this.portions.get(key) ?? new Map<string, Portion>();
    if (!this.kept.has(day)) this.portions.set(key, portions);
    return { portions, from, to };
  }

  private async contextOf(team: string): Promise<CostContext> {
    const known = this.contexts.get(team);
    if (known !== undefined) return known;
    const {
      stores: { organisations, prices, learnedRates },
      tx,
      organisation,
    } = this;
    const { book, fx } = await prices.book(tx, organisation);
    const context = {
      book,
      fx,
      peak: await organisations.peak(tx, organisation),
      currency: await organisations.currencyOf(tx, organisation, team),
      learned: await learnedRates.applied(tx, organisation),
    };
    this.contexts.set(team, context);
    return context;
  }
}

const nothing = (): PortionCost => ({ accrued: null, actual: null, unpriced: 0n });

/**
 * Prices an hour of a block as cost.price prices a day's. @param counts whether it is actual, or the bill has taken its
 * place
 */
function addPriced(
  cost: PortionCost,
  sum: HourSum,
  records: readonly UsageRecord[],
  counts: boolean,
  context: CostContext,
): void {
  const {
    hour,
    cell: { team, dimension },
  } = sum;
  const { gpuPartMs, storageMibMs, networkBytes, shortestMs, granuleMs } = sum;
  const lines =
    priceFromSums(team, dimension, { hour, gpuPartMs, storageMibMs, networkBytes, shortestMs, granuleMs }, context) ??
    priceFromRecords(
      team,
      dimension,
      hour,
      records.filter(({ start, end }) => start < hour + HOUR_MS && end >= hour),
      context,
    );
  for (const line of lines) {
    if (line.kind === 'unpriced') {
      if (line.component === 'gpu') cost.unpriced += line.quantity ?? 0n;
      continue;
    }
    cost.accrued = (cost.accrued ?? 0n) + line.nanos;
    if (counts) cost.actual = (cost.actual ?? 0n) + line.nanos;
  }
}
