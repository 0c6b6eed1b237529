/**
 * What other allocation rules would make of the costs on the basis `actual`, team by team: what `bursar costs` shows,
 * and what it would show. Reads only.
 *
 * Before is what is written. After is the same costs divided by what their raw records would cost each team, priced as
 * the line prices them (each block by itself, so memory stays bounded), shared and credited as the line does. So the
 * two have one sum, save where usage goes to a team of another currency or credits are for single teams; and what the
 * line has not done yet is in neither.
 */
import { compileRules, type AllocationRule } from '../../core/cost/allocation.js';
import type { CostContext } from '../../core/cost/cost.js';
import { datingOf } from '../../core/cost/dating.js';
import { readCredits } from '../../core/cost/credit.js';
import { addDecimal, formatDecimal, parseDecimal, type Decimal } from '../../core/decimal.js';
import { priceFromRecords, priceFromSums } from '../../core/cost/hour-pricing.js';
import { dimensionKey, Grouping, HourSums, type Cell, type HourSum } from '../../core/cost/rollup.js';
import {
  divide,
  share,
  sumsOf,
  takeCredits,
  type DayCost,
  type Portion,
  type PortionCost,
  type TeamSum,
} from '../../core/cost/rule-preview.js';
import { DAY_MS, formatDay, HOUR_MS, type Interval } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Transaction } from '../database.js';
import { isShared, type RuleSet } from '../access/organisation.js';
import { gpuHours } from './spend.js';
import type { Stores } from '../stores.js';

/** A team's costs in a currency; decimal strings, null where nothing of it has a price. */
export interface TeamPreview {
  readonly team: string;
  readonly currency: string;
  readonly before: string | null;
  readonly after: string | null;
  /** GPU-hours without a price: they are in neither. */
  readonly unpricedBefore: string;
  readonly unpricedAfter: string;
}

export interface RulePreview {
  readonly teams: readonly TeamPreview[];
  /** Per currency, over all teams. */
  readonly totals: readonly Omit<TeamPreview, 'team'>[];
}

type Needs = Pick<Stores, 'db' | 'dimensions' | 'organisations' | 'raw' | 'prices' | 'learnedRates' | 'credits'>;

/** @throws Failure invalid naming every problem of the rules */
export async function previewRules(
  stores: Needs,
  organisation: string,
  rules: readonly AllocationRule[],
): Promise<RulePreview> {
  compileRules(rules);
  return stores.db.transaction(async (tx) => {
    // One look at everything: the line goes on meanwhile.
    await tx.query('set transaction isolation level repeatable read, read only');
    const wanted = stores.organisations.asRuleSet(rules);
    const before = await stated(tx, organisation);
    const direct = await directCosts(tx, organisation);
    const dimensions = await stores.dimensions.byIds(
      tx,
      organisation,
      direct.map(({ dimension }) => dimension),
    );
    const portions = await new Apportioning(
      stores,
      tx,
      organisation,
      await stores.organisations.rules(tx, organisation),
      wanted,
    ).all();
    const divided = direct.flatMap((cost) => {
      const dimension = dimensions.get(cost.dimension);
      return divide(
        cost,
        (dimension === undefined ? undefined : portions.get(keyOf(cost.team, cost.day, dimensionKey(dimension)))) ??
          new Map<string, Portion>(),
      );
    });
    const { fx } = await stores.prices.book(tx, organisation);
    const after = share(divided, {
      isShared,
      assignmentOf: (standIn) => wanted.assignmentOf(standIn),
      daysOf: (id) => dimensions.get(id)?.days ?? 1,
      fx,
    });
    const credits = readCredits(await stores.credits.specs(tx, organisation));
    const of = (id: string): { provider: string; isMetered: boolean } | null => {
      const dimension = dimensions.get(id);
      return dimension === undefined
        ? null
        : { provider: dimension.provider, isMetered: dimension.kind === 'metered' && dimension.category !== 'Credit' };
    };
    const taken = takeCredits(after, credits, of, fx);
    return compared(before, sumsOf([...after, ...taken]));
  });
}

const keyOf = (team: string, day: string, dimension: string): string => `${team}\u0001${day}\u0001${dimension}`;
const accountOf = ({ provider, account }: Cell['dimension']): string => `${provider}\u0001${account ?? ''}`;
const amountOf = (text: string | null): Decimal | null => (text === null ? null : parseDecimal(text));

/** What is written, shares and credits included: what `bursar costs --group-by team` shows. */
async function stated(tx: Transaction, organisation: string): Promise<TeamSum[]> {
  const rows = await tx.query<{ team: string; currency: string; actual: string | null; unpriced: string }>(
    `select team, currency, sum(actual)::text as actual, sum(unpriced_part_ms - stated_part_ms)::text as unpriced from cost_day
     where organisation = $1 and team not like 'shared:%' and (actual is not null or unpriced_lines > stated_lines) group by team, currency`,
    [organisation],
  );
  return rows.map(({ team, currency, actual, unpriced }) => ({
    team,
    currency,
    actual: amountOf(actual),
    unpriced: BigInt(unpriced),
  }));
}

/** What was not shared or credited yet, that of stand-ins included. */
async function directCosts(tx: Transaction, organisation: string): Promise<DayCost[]> {
  const rows = await tx.query<{
    team: string;
    day: string;
    dimension: string;
    currency: string;
    accrued: string | null;
    actual: string | null;
    unpriced: string;
  }>(
    `select team, day::text as day, dimension::text as dimension, currency, accrued::text as accrued, actual::text as actual, (unpriced_part_ms - stated_part_ms)::text as unpriced
     from cost_day where organisation = $1 and shared_from = '' and (accrued is not null or actual is not null or unpriced_part_ms > stated_part_ms)`,
    [organisation],
  );
  return rows.map(({ accrued, actual, unpriced, ...row }) => ({
    ...row,
    accrued: amountOf(accrued),
    actual: amountOf(actual),
    unpriced: BigInt(unpriced),
  }));
}

function compared(before: readonly TeamSum[], after: readonly TeamSum[]): RulePreview {
  const pairs = (one: readonly TeamSum[], other: readonly TeamSum[]): TeamPreview[] => {
    const find = (sums: readonly TeamSum[], of: TeamSum): TeamSum | undefined =>
      sums.find(({ team, currency }) => team === of.team && currency === of.currency);
    const all = [...one, ...other.filter((sum) => find(one, sum) === undefined)].sort((a, b) =>
      a.team < b.team ? -1 : a.team > b.team ? 1 : a.currency < b.currency ? -1 : 1,
    );
    return all.map((of) => ({
      team: of.team,
      currency: of.currency,
      before: textOf(find(one, of)?.actual),
      after: textOf(find(other, of)?.actual),
      unpricedBefore: gpuHours(find(one, of)?.unpriced ?? 0n),
      unpricedAfter: gpuHours(find(other, of)?.unpriced ?? 0n),
    }));
  };
  const whole = (sums: readonly TeamSum[]): TeamSum[] => sumsOf(sums.map((sum) => ({ ...sum, team: '' })));
  return {
    teams: pairs(before, after),
    totals: pairs(whole(before), whole(after)).map(
      ({ currency, before: was, after: willBe, unpricedBefore, unpricedAfter }) => ({
        currency,
        before: was,
        after: willBe,
        unpricedBefore,
        unpricedAfter,
      }),
    ),
  };
}

const textOf = (amount: Decimal | null | undefined): string | null =>
  amount === null || amount === undefined ? null : formatDecimal(amount);

/** What of each team's days would be whose, from the raw records. */
class Apportioning {
  private readonly portions = new Map<string, Map<string, Portion>>();
  private readonly contexts = new Map<string, CostContext>();
  /** Providers and accounts that somebody meters: of the others the bill counts while its period is open, too. */
  private metered: ReadonlySet<string> = new Set();
  /** Closed bill periods, by provider and account. */
  private readonly closed = new Map<string, Interval[]>();
  private tracked: readonly string[] = [];

  constructor(
    private readonly stores: Needs,
    private readonly tx: Transaction,
    private readonly organisation: string,
    private readonly now: RuleSet,
    private readonly wanted: RuleSet,
  ) {}

  async all(): Promise<ReadonlyMap<string, ReadonlyMap<string, Portion>>> {
    const { stores, tx, organisation } = this;
    this.tracked = await stores.organisations.trackedTags(tx, organisation);
    this.metered = new Set(
      (
        await tx.query<{ name: string }>(
          `select distinct provider || chr(1) || coalesce(account, '') as name from dimension where organisation = $1 and kind = 'metered'`,
          [organisation],
        )
      ).map(({ name }) => name),
    );
    const bills = await tx.query<{ id: string; name: string; start: Date; end: Date }>(
      `select id::text as id, provider || chr(1) || coalesce(account, '') as name, period_start as start, period_end as "end" from delivery where organisation = $1 and closed`,
      [organisation],
    );
    for (const { name, start, end } of bills)
      this.closed.set(name, [...(this.closed.get(name) ?? []), { start: start.getTime(), end: end.getTime() }]);
    const closed = new Set(bills.map(({ id }) => id));
    for (const { source, id } of await stores.raw.deliveries(tx, organisation)) {
      for await (const records of stores.raw.records(tx, organisation, source, id))
        await this.take(records, closed.has(id));
    }
    return this.portions;
  }

  /** Takes one block: its metered usage is priced by itself, its bill's lines are added up. */
  private async take(records: readonly UsageRecord[], isClosed: boolean): Promise<void> {
    // A team of the grouping is the pair of who has it now and who would have it.
    const grouping = new Grouping(
      (record) => `${this.now.teamOf(record)}\u0001${this.wanted.teamOf(record)}`,
      this.tracked,
    );
    const sums = new HourSums();
    const own = new Map<Cell, UsageRecord[]>();
    for (const record of records) {
      const group = grouping.groupOf(record);
      if (record.charge !== null) this.addBilled(group.cell, record, isClosed);
      else {
        sums.add(group, record);
        const list = own.get(group.cell);
        if (list === undefined) own.set(group.cell, [record]);
        else list.push(record);
      }
    }
    for (const sum of sums.drain()) await this.addMetered(sum, own.get(sum.cell) ?? []);
  }

  private addBilled({ team, dimension }: Cell, { start, end, charge }: UsageRecord, isClosed: boolean): void {
    const counts = isClosed || !this.metered.has(accountOf(dimension));
    if (charge === null || !counts) return;
    const { portions, to } = this.placeOf(team, datingOf({ start, end }, charge).hour, dimensionKey(dimension));
    const known = portions.get(to);
    portions.set(to, {
      kind: 'billed',
      actual:
        known?.kind === 'billed' && known.actual !== null ? addDecimal(known.actual, charge.billed) : charge.billed,
    });
  }

  private async addMetered(sum: HourSum, records: readonly UsageRecord[]): Promise<void> {
    const {
      hour,
      cell: { team, dimension },
    } = sum;
    const { portions, from, to } = this.placeOf(team, hour, dimensionKey(dimension));
    const counts = !(this.closed.get(accountOf(dimension)) ?? []).some(({ start, end }) => start <= hour && hour < end);
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
    const key = keyOf(from, formatDay(Math.floor(hour / DAY_MS)), dimension);
    const portions = this.portions.get(key) ?? new Map<string, Portion>();
    this.portions.set(key, portions);
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
