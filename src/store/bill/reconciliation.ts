/**
 * Facts for comparing bills with metered usage, and the published variance: its rows and findings.
 *
 * A source's month is published as a whole: the publishing transaction replaces the previous one. Never compares
 * anything itself.
 */
import { hash } from 'node:crypto';
import type { AccruedCell, CellKey } from '../../core/bill/matching.js';
import {
  decimalText,
  DEFAULT_THRESHOLD,
  monthOfPeriod,
  readThreshold,
  type VarianceFinding,
  type VarianceRow,
  type VarianceThreshold,
} from '../../core/bill/reconciliation.js';
import type { Dimension } from '../../core/cost/rollup.js';
import type { Component } from '../../core/price/price.js';
import { DAY_MS, formatInstant, type Interval } from '../../core/time.js';
import { isOfMachine, type UsageRecord } from '../../core/usage.js';
import { countedRecords } from '../usage/block.js';
import { meteredBlocks, readSeen } from '../usage/reading.js';
import { copyText, type Queryable, type Transaction } from '../database.js';
import type { Dimensions } from '../usage/dimensions.js';
import type { OrganisationStore } from '../access/organisation.js';
import type { WorkItem } from '../work.js';

/** One bill: an account's period as a source delivered it. */
export interface BillScope {
  readonly delivery: string;
  readonly provider: string;
  readonly account: string | null;
  /** Half-open, epoch milliseconds. */
  readonly start: number;
  readonly end: number;
  readonly isClosed: boolean;
  /** Its period, and the time outside of it that its usage lines speak of: from the first of it to the last. */
  readonly about: Interval;
}

interface AccruedRow {
  team: string;
  day: string;
  dimension: string;
  payer: string;
  component: Component;
  currency: string | null;
  nanos: string | null;
  list: string | null;
  metered: string | null;
  unpriced: string;
  unpricedLines: number;
  lines: number;
}

export interface StoredThreshold {
  /** Decimal strings: of the accrual, and in units of currency. */
  readonly ratio: string;
  readonly amount: string;
}

/** The number of a source's blocks that are read at a time, and in all, to find out what a resource is. */
const PAGE_BLOCKS = 6;
const MOST_BLOCKS = 60;

const ROW = [
  'organisation',
  'team',
  'source',
  'month',
  'day',
  'id',
  'provider',
  'account',
  'sku',
  'gpu_model',
  'region',
  'term',
  'billed_terms',
  'component',
  'category',
  'currency',
  'billed_currency',
  'matched_by',
  'accrued',
  'accrued_list',
  'billed',
  'effective',
  'list',
  'compared',
  'basis',
  'amount',
  'ratio',
  'quantity_amount',
  'rate_amount',
  'metered_part_ms',
  'billed_part_ms',
  'unpriced_part_ms',
  'reasons',
];

/**
 * The beginning and the end of a bill's scope: its period, and the time outside of it that its usage lines cover.
 * @param table of the bill's row
 */
export const aboutOf = (table: string): { readonly from: string; readonly until: string } => ({
  from: `least(${table}.period_start, lower(${table}.reach))`,
  until: `greatest(${table}.period_end, upper(${table}.reach))`,
});
const ABOUT = aboutOf('delivery');

/** The work item that compares a bill. */
export const reconcileItem = (source: string, month: string, notBefore?: number): WorkItem => ({
  stage: 'bill.reconcile',
  partition: source,
  key: `${source}/${month}`,
  ...(notBefore === undefined ? {} : { notBefore }),
});

export class ReconciliationStore {
  constructor(
    private readonly organisations: OrganisationStore,
    private readonly dimensions: Dimensions,
  ) {}

  /** The bills of a source's month. */
  async scopes(tx: Queryable, organisation: string, source: string, month: string): Promise<BillScope[]> {
    return (await this.bills(tx, organisation, `and source = $2`, [source])).filter(
      (scope) => scope.source === source && monthOfPeriod(scope.start, scope.end) === month,
    );
  }

  /**
   * Enqueues the comparison of every bill that speaks of some days (UTC): of a closed one now, and of one that counts
   * lines of machines which were not metered on those days; of others that still grow no sooner than `later`.
   */
  async touching(tx: Queryable, organisation: string, days: readonly string[], later: number): Promise<WorkItem[]> {
    const starts = days.map((day) => Date.parse(day));
    const [from, to] = [Math.min(...starts), Math.max(...starts) + DAY_MS];
    const bills = await this.bills(tx, organisation, `and ${ABOUT.from} < $3 and ${ABOUT.until} > $2`, [
      formatInstant(from),
      formatInstant(to),
    ]);
    const unmetered = await tx.query<{ delivery: string }>(
      `select distinct delivery::text as delivery from unmetered_line
       where organisation = $1 and hour < $3 and coalesce(until, hour + interval '1 day') > $2`,
      [organisation, formatInstant(from), formatInstant(to)],
    );
    const isUrgent = new Set(unmetered.map(({ delivery }) => delivery));
    return bills
      .filter(({ about }) => starts.some((day) => about.start < day + DAY_MS && about.end > day))
      .map(({ delivery, source, start, end, isClosed }) =>
        reconcileItem(source, monthOfPeriod(start, end), isClosed || isUrgent.has(delivery) ? undefined : later),
      );
  }

  private async bills(
    tx: Queryable,
    organisation: string,
    where: string,
    values: readonly string[],
  ): Promise<(BillScope & { readonly source: string })[]> {
    const rows = await tx.query<{
      id: string;
      source: string;
      provider: string;
      account: string | null;
      start: Date;
      until: Date;
      closed: boolean;
      about_from: Date;
      about_until: Date;
    }>(
      `select id::text as id, source, provider, account, period_start as start, period_end as until, closed,
         ${ABOUT.from} as about_from, ${ABOUT.until} as about_until from delivery
       where organisation = $1 and scope is not null ${where} order by delivery.id`,
      [organisation, ...values],
    );
    return rows.map(({ id, source, provider, account, start, until, closed, about_from, about_until }) => ({
      delivery: id,
      source,
      provider,
      account,
      start: start.getTime(),
      end: until.getTime(),
      isClosed: closed,
      about: { start: about_from.getTime(), end: about_until.getTime() },
    }));
  }

  /**
   * The accrual that the bills may cover: metered usage of their providers in their periods, of their accounts or of no
   * known account. Each cost line counts once. A team's usage without a price is in its own currency.
   */
  async accrued(
    tx: Queryable,
    organisation: string,
    scopes: readonly BillScope[],
    currencyOf: (team: string) => string,
  ): Promise<AccruedCell[]> {
    if (scopes.length === 0) return [];
    const rows = await tx.query<AccruedRow>(
      `select c.team, to_char(c.hour at time zone 'UTC', 'YYYY-MM-DD') as day, c.dimension::text as dimension, coalesce(b.bill, d.account, '') as payer, c.component, c.currency, sum(c.nanos)::text as nanos,
         sum(coalesce(c.list_nanos, c.nanos))::text as list, sum(c.quantity) filter (where c.unpriced_reason = '')::text as metered,
         coalesce(sum(c.quantity) filter (where c.unpriced_reason <> ''), 0)::text as unpriced, (count(*) filter (where c.unpriced_reason <> ''))::int as "unpricedLines", count(*)::int as lines
       from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       left join bill_claim b on b.organisation = c.organisation and b.provider = d.provider and b.account = coalesce(d.account, '')
         and b.sub_account = coalesce(d.sub_account, '') and b.since <= c.hour and b.until > c.hour
       where c.organisation = $1 and c.hour >= $2 and c.hour < $3 and exists (
         select 1 from unnest($4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[]) as s(provider, account, start, until)
         where s.provider = d.provider and (s.account is null or coalesce(b.bill, d.account, '') in ('', s.account)) and c.hour >= s.start and c.hour < s.until)
       group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`,
      [
        organisation,
        formatInstant(Math.min(...scopes.map(({ start }) => start))),
        formatInstant(Math.max(...scopes.map(({ end }) => end))),
        scopes.map(({ provider }) => provider),
        scopes.map(({ account }) => account),
        scopes.map(({ start }) => formatInstant(start)),
        scopes.map(({ end }) => formatInstant(end)),
      ],
    );
    const known = await this.dimensions.byIds(
      tx,
      organisation,
      rows.map(({ dimension }) => dimension),
    );
    return rows.flatMap((row) => {
      const dimension = known.get(row.dimension);
      return dimension === undefined ? [] : [accruedCell(row, dimension, currencyOf)];
    });
  }

  /**
   * The meter's names of some resources, from its newest records of the period; reads at most about a million records.
   */
  async meteredAs(
    tx: Queryable,
    organisation: string,
    resources: ReadonlySet<string>,
    from: number,
    to: number,
  ): Promise<Map<string, CellKey>> {
    const found = new Map<string, UsageRecord>();
    const seen = await meteredBlocks(tx, organisation, { start: from, end: to }, MOST_BLOCKS);
    for await (const block of readSeen(tx, organisation, seen, PAGE_BLOCKS)) {
      const isAll = found.size >= resources.size;
      if (isAll && [...found.values()].every(({ start }) => start >= block.lastEnd.getTime())) break;
      for (const record of countedRecords(block)) {
        if (
          record.charge !== null ||
          record.resource === null ||
          !resources.has(record.resource) ||
          // The traffic of a machine does not identify it.
          (!isOfMachine(record) && record.storageMib === null) ||
          record.start >= to ||
          record.end < from
        )
          continue;
        const name = `${record.provider} ${record.resource}`;
        const known = found.get(name);
        if (known === undefined || isNewer(record, known)) found.set(name, record);
      }
    }
    return found;
  }

  async threshold(db: Queryable, organisation: string): Promise<StoredThreshold> {
    return (
      (await this.organisations.setting<StoredThreshold>(db, organisation, 'variance-threshold')) ?? DEFAULT_THRESHOLD
    );
  }

  async readThreshold(db: Queryable, organisation: string): Promise<VarianceThreshold> {
    return readThreshold(await this.threshold(db, organisation));
  }

  /** Saves the threshold; every bill is to be compared again by it. @throws Failure invalid naming every problem. */
  async saveThreshold(tx: Queryable, organisation: string, threshold: StoredThreshold): Promise<WorkItem[]> {
    readThreshold(threshold);
    await this.organisations.saveSetting(tx, organisation, 'variance-threshold', threshold);
    const bills = await this.bills(tx, organisation, '', []);
    return bills.map(({ source, start, end }) => reconcileItem(source, monthOfPeriod(start, end)));
  }

  /** Publishes a source's month, replacing what was published of it before. */
  async publish(
    tx: Transaction,
    organisation: string,
    source: string,
    month: string,
    rows: readonly VarianceRow[],
    findings: readonly VarianceFinding[],
    now: number,
  ): Promise<void> {
    await tx.query(`delete from variance where organisation = $1 and source = $2 and month = $3`, [
      organisation,
      source,
      month,
    ]);
    const ids = new Map<string, number>();
    await tx.copy(
      'variance',
      ROW,
      rows.map(
        (row) =>
          `${[organisation, row.team, source, month, row.day, idOf(ids, [source, month, row.day, ...namesOf(row), row.category]), ...rowValues(row)].map(copyText).join('\t')}\n`,
      ),
    );
    await this.publishFindings(tx, organisation, source, month, findings, now);
  }

  /**
   * A finding keeps since when it is one (`found_at`) and when its amounts were last seen to change (`seen_at`); one
   * that is none any more is resolved.
   */
  private async publishFindings(
    tx: Transaction,
    organisation: string,
    source: string,
    month: string,
    findings: readonly VarianceFinding[],
    now: number,
  ): Promise<void> {
    const ids = new Map<string, number>();
    const all = findings.map((finding) => ({ ...finding, id: idOf(ids, [source, month, ...namesOf(finding)]) }));
    await tx.query(
      `update variance_finding set resolved_at = $4 where organisation = $1 and source = $2 and month = $3 and resolved_at is null and not (team || ' ' || id = any($5::text[]))`,
      [organisation, source, month, new Date(now), all.map(({ team, id }) => `${team} ${id}`)],
    );
    for (const finding of all) {
      const { team, id, provider, account, sku, gpuModel, region, term, component, currency, days, reasons } = finding;
      await tx.query(
        `insert into variance_finding (organisation, source, month, team, id, provider, account, sku, gpu_model, region, term, component, currency, accrued, compared, amount, ratio, days, reasons, found_at, seen_at)
         values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$20)
         on conflict (organisation, team, source, month, id) do update set accrued = excluded.accrued, compared = excluded.compared, amount = excluded.amount, ratio = excluded.ratio,
           days = excluded.days, reasons = excluded.reasons, gpu_model = excluded.gpu_model, resolved_at = null,
           seen_at = case when variance_finding.resolved_at is null and (variance_finding.accrued, variance_finding.compared) is not distinct from (excluded.accrued, excluded.compared)
             then variance_finding.seen_at else excluded.seen_at end,
           found_at = case when variance_finding.resolved_at is null then variance_finding.found_at else excluded.found_at end`,
        [
          organisation,
          source,
          month,
          team,
          id,
          provider,
          account,
          sku,
          gpuModel,
          region,
          term,
          component,
          currency,
          decimalText(finding.accrued),
          decimalText(finding.compared),
          decimalText(finding.amount),
          decimalText(finding.ratio),
          days,
          reasons,
          new Date(now),
        ],
      );
    }
  }
}

type Names = Pick<
  VarianceRow,
  'team' | 'provider' | 'account' | 'sku' | 'gpuModel' | 'region' | 'term' | 'component' | 'currency'
>;
const namesOf = ({
  team,
  provider,
  account,
  sku,
  gpuModel,
  region,
  term,
  component,
  currency,
}: Names): readonly (string | null)[] => [team, provider, account, sku, gpuModel, region, term, component, currency];

/** The same for the same names; should two rows share all of them, they are distinguished by their order. */
function idOf(given: Map<string, number>, names: readonly (string | null)[]): string {
  const text = JSON.stringify(names);
  const count = (given.get(text) ?? 0) + 1;
  given.set(text, count);
  return hash('md5', count === 1 ? text : `${text} ${count}`);
}

function rowValues(row: VarianceRow): (string | bigint | null)[] {
  return [
    row.provider,
    row.account,
    row.sku,
    row.gpuModel,
    row.region,
    row.term,
    arrayText(row.billedTerms),
    row.component,
    row.category,
    row.currency,
    row.billedCurrency,
    row.matchedBy,
    ...[row.accrued, row.accruedList, row.billed, row.effective, row.list, row.compared].map(decimalText),
    row.basis,
    ...[row.amount, row.ratio, row.quantityAmount, row.rateAmount].map(decimalText),
    row.meteredPartMs,
    row.billedPartMs,
    row.unpricedPartMs,
    arrayText(row.reasons),
  ];
}

/** For words that need no quotes. */
const arrayText = (words: readonly string[]): string => `{${words.join(',')}}`;
function accruedCell(
  row: AccruedRow,
  { provider, account, sku, gpuModel, region, term }: Dimension,
  currencyOf: (team: string) => string,
): AccruedCell {
  const isGpu = row.component === 'gpu';
  return {
    team: row.team,
    day: row.day,
    provider,
    account,
    sku,
    gpuModel,
    region,
    term,
    component: row.component,
    billedTo: row.payer === '' ? null : row.payer,
    currency: row.currency ?? currencyOf(row.team),
    nanos: bigintOf(row.nanos),
    listNanos: bigintOf(row.list),
    meteredPartMs: isGpu ? bigintOf(row.metered) : null,
    unpricedPartMs: isGpu ? BigInt(row.unpriced) : 0n,
    unpricedLines: row.unpricedLines,
    lines: row.lines,
  };
}

const bigintOf = (text: string | null): bigint | null => (text === null ? null : BigInt(text));

/** Whether one record is later than the other; the same in whatever order they are read. */
const isNewer = (one: UsageRecord, other: UsageRecord): boolean =>
  one.start !== other.start ? one.start > other.start : one.end !== other.end ? one.end > other.end : one.id > other.id;
