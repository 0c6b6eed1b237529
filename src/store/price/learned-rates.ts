/**
 * Rates learned from bills, each with its evidence, and whether they are applied.
 *
 * Every rate that the evidence yields is kept, trusted or not. A rate is applied if it is trusted and not withdrawn,
 * and only while the organisation lets bills correct accruals (setting `learn-rates`, on by default). A change enqueues
 * the pricing of the affected metered days, as a corrected price does: it enters the line at the left. A withdrawn rate
 * stays withdrawn, however often its bill is restated.
 */
import { hash } from 'node:crypto';
import { formatDecimal } from '../../core/decimal.js';
import { conflict, missing } from '../../core/errors.js';
import {
  appliesFrom,
  judgeRate,
  LearnedRates,
  type Distrust,
  type JudgedRate,
  type LearnedRate,
  type RateEvidence,
} from '../../core/price/learned-rate.js';
import { divideHalfEven, formatMoney, type Ratio } from '../../core/money.js';
import { formatInstant } from '../../core/time.js';
import type { Term } from '../../core/usage.js';
import type { Queryable, Transaction } from '../database.js';
import type { OrganisationStore } from '../access/organisation.js';
import { gpuHours } from '../cost/spend.js';
import { enqueue } from '../work.js';

const SETTING = 'learn-rates';

/** A rate for people and callers. Amounts are decimal strings, instants ISO 8601. */
export interface StoredRate {
  readonly id: string;
  readonly source: string;
  readonly month: string;
  readonly provider: string;
  readonly account: string | null;
  readonly sku: string;
  readonly region: string | null;
  readonly term: string | null;
  readonly periodStart: string;
  readonly periodEnd: string;
  readonly appliesFrom: string;
  /** Charged / list: exact, and to six digits. */
  readonly numerator: string | null;
  readonly denominator: string | null;
  readonly ratio: string | null;
  readonly trusted: boolean;
  readonly distrust: readonly Distrust[];
  readonly evidence: RateEvidenceJson;
  readonly learnedAt: string;
  readonly withdrawnAt: string | null;
  readonly withdrawnBy: string | null;
}

export interface RateEvidenceJson {
  readonly days: number;
  readonly meteredGpuHours: string;
  readonly billedGpuHours: string | null;
  readonly listCost: string;
  readonly charged: string;
  readonly billedList: string | null;
  readonly currency: string;
}

interface Row {
  id: string;
  source: string;
  month: string;
  provider: string;
  account: string | null;
  sku: string;
  region: string | null;
  term: string | null;
  period_start: Date;
  period_end: Date;
  applies_from: Date;
  numerator: string | null;
  denominator: string | null;
  trusted: boolean;
  distrust: Distrust[];
  metered: string;
  evidence: RateEvidenceJson;
  learned_at: Date;
  withdrawn_at: Date | null;
  withdrawn_by: string | null;
}

interface Learned {
  readonly id: string;
  readonly evidence: RateEvidence;
  readonly judged: JudgedRate;
  readonly appliesFrom: number;
}

const SELECT = `select id, source, month, provider, account, sku, region, term, period_start, period_end, applies_from, numerator::text as numerator, denominator::text as denominator,
  trusted, distrust, metered_part_ms::text as metered, evidence, learned_at, withdrawn_at, withdrawn_by from learned_rate where organisation = $1`;

/** The fields that decide a row's effect on prices. */
const effectOf = ({
  applies_from: from,
  period_end: end,
  numerator,
  denominator,
  trusted,
  withdrawn_at: withdrawn,
  metered,
}: Row): string => JSON.stringify(trusted && withdrawn === null ? [from, end, numerator, denominator, metered] : null);

export class LearnedRateStore {
  constructor(private readonly organisations: OrganisationStore) {}

  /** Whether learned rates correct accruals. */
  async areApplied(db: Queryable, organisation: string): Promise<boolean> {
    return (await this.organisations.setting<boolean>(db, organisation, SETTING)) ?? true;
  }

  /** The rates that are applied. */
  async applied(db: Queryable, organisation: string): Promise<LearnedRates> {
    if (!(await this.areApplied(db, organisation))) return new LearnedRates([]);
    const rows = await db.query<Row>(`${SELECT} and trusted and withdrawn_at is null order by id`, [organisation]);
    return new LearnedRates(rows.flatMap((row) => rateOf(row) ?? []));
  }

  /** Keeps since when bill periods are closed: the first time that one came so counts. */
  async notePeriods(tx: Queryable, organisation: string): Promise<void> {
    await tx.query(
      `insert into bill_period (organisation, provider, account, period_start, period_end, closed_at)
       select organisation, provider, coalesce(account, ''), period_start, period_end, min(coalesce(final_at, delivered_at)) from delivery where organisation = $1 and scope is not null and closed group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
       on conflict (organisation, provider, account, period_start, period_end) do nothing`,
      [organisation],
    );
  }

  /** Learns what a source's month teaches, in place of what it taught before, and enqueues what that re-prices. */
  async learn(
    tx: Transaction,
    organisation: string,
    source: string,
    month: string,
    evidence: readonly RateEvidence[],
    now: number,
  ): Promise<void> {
    await this.notePeriods(tx, organisation);
    const before = await this.ofMonth(tx, organisation, source, month);
    const rates = new Map<string, Learned>();
    for (const one of [...evidence].sort((a, b) => (a.meteredPartMs < b.meteredPartMs ? -1 : 1))) {
      const { provider, account, sku, region, term } = one.key;
      const id = `rate-${hash('md5', JSON.stringify([source, month, provider, account, sku, region, term])).slice(0, 16)}`;
      rates.set(id, {
        id,
        evidence: one,
        judged: judgeRate(one),
        appliesFrom: await this.appliesFrom(tx, organisation, one),
      });
    }
    await tx.query(
      `delete from learned_rate where organisation = $1 and source = $2 and month = $3 and withdrawn_at is null and id <> all($4::text[])`,
      [organisation, source, month, [...rates.keys()]],
    );
    for (const rate of rates.values()) await save(tx, organisation, source, month, rate, now);
    await this.enqueueChanged(tx, organisation, before, await this.ofMonth(tx, organisation, source, month));
  }

  private async ofMonth(tx: Queryable, organisation: string, source: string, month: string): Promise<Row[]> {
    return tx.query<Row>(`${SELECT} and source = $2 and month = $3 order by id`, [organisation, source, month]);
  }

  private async appliesFrom(
    tx: Queryable,
    organisation: string,
    { key, billedAccounts, periodEnd }: RateEvidence,
  ): Promise<number> {
    const rows = await tx.query<{ until: Date }>(
      `select period_end as until from bill_period where organisation = $1 and provider = $2 and account = any($3::text[]) and period_end > $4
         and closed_at <= (select min(closed_at) from bill_period where organisation = $1 and provider = $2 and account = any($3::text[]) and period_end = $4)`,
      [organisation, key.provider, billedAccounts.map((account) => account ?? ''), formatInstant(periodEnd)],
    );
    return appliesFrom(
      periodEnd,
      rows.map(({ until }) => until.getTime()),
    );
  }

  /** A rate that has come, gone or changed prices again what it bears on, and what it bore on. */
  private async enqueueChanged(
    tx: Transaction,
    organisation: string,
    before: readonly Row[],
    after: readonly Row[],
  ): Promise<void> {
    if (!(await this.areApplied(tx, organisation))) return;
    const [old, current] = [new Map(before.map((row) => [row.id, row])), new Map(after.map((row) => [row.id, row]))];
    const effect = (row: Row | undefined): string => (row === undefined ? 'null' : effectOf(row));
    const changed = [...new Set([...old.keys(), ...current.keys()])].filter(
      (id) => effect(old.get(id)) !== effect(current.get(id)),
    );
    if (changed.length > 0) await raiseVersion(tx, organisation);
    await enqueuePriced(
      tx,
      organisation,
      changed.flatMap((id) => [old.get(id), current.get(id)]).filter((row) => row !== undefined),
    );
  }

  /** Turns the correction of accruals on or off for the organisation. Rates are learned and shown all the same. */
  async setApplied(tx: Transaction, organisation: string, on: boolean): Promise<boolean> {
    const before = await this.areApplied(tx, organisation);
    await this.organisations.saveSetting(tx, organisation, SETTING, on);
    if (before !== on) await raiseVersion(tx, organisation);
    if (before !== on)
      await enqueuePriced(
        tx,
        organisation,
        await tx.query<Row>(`${SELECT} and trusted and withdrawn_at is null`, [organisation]),
      );
    return before;
  }

  /**
   * Withdraws a rate permanently; the one before it applies again. @throws Failure missing, conflict if it is withdrawn
   * already.
   */
  async withdraw(tx: Transaction, organisation: string, id: string, by: string, now: number): Promise<StoredRate> {
    const [row] = await tx.query<Row>(`${SELECT} and id = $2 for update`, [organisation, id]);
    if (row === undefined) throw missing(`there is no learned rate ${id}`);
    if (row.withdrawn_at !== null) throw conflict(`the learned rate ${id} is withdrawn already`);
    await tx.query(`update learned_rate set withdrawn_at = $3, withdrawn_by = $4 where organisation = $1 and id = $2`, [
      organisation,
      id,
      new Date(now),
      by,
    ]);
    if (row.trusted && (await this.areApplied(tx, organisation))) {
      await raiseVersion(tx, organisation);
      await enqueuePriced(tx, organisation, [row]);
    }
    return stored({ ...row, withdrawn_at: new Date(now), withdrawn_by: by });
  }

  /** All rates, newest period first; `after` is the last one's place. */
  async list(
    db: Queryable,
    organisation: string,
    after: string | null,
    limit: number,
  ): Promise<(StoredRate & { readonly place: string })[]> {
    const place = `to_char(period_end at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' ' || id`;
    const rows = await db.query<Row>(
      `${SELECT} and ($2::text is null or ${place} < $2) order by ${place} desc limit $3`,
      [organisation, after, limit],
    );
    return rows.map((row) => ({ ...stored(row), place: `${formatInstant(row.period_end.getTime())} ${row.id}` }));
  }
}

async function save(
  tx: Transaction,
  organisation: string,
  source: string,
  month: string,
  { id, evidence, judged: { ratio, distrust }, appliesFrom: from }: Learned,
  now: number,
): Promise<void> {
  const { key, periodStart, periodEnd, meteredPartMs } = evidence;
  await tx.query(
    `insert into learned_rate (organisation, id, source, month, provider, account, sku, region, term, period_start, period_end, applies_from, numerator, denominator, trusted, distrust, metered_part_ms, evidence, learned_at)
     values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19)
     on conflict (organisation, id) do update set period_start = excluded.period_start, period_end = excluded.period_end, applies_from = excluded.applies_from, numerator = excluded.numerator,
       denominator = excluded.denominator, trusted = excluded.trusted, distrust = excluded.distrust, metered_part_ms = excluded.metered_part_ms, evidence = excluded.evidence,
       learned_at = case when (learned_rate.numerator, learned_rate.denominator, learned_rate.trusted) is distinct from (excluded.numerator, excluded.denominator, excluded.trusted)
         then excluded.learned_at else learned_rate.learned_at end`,
    [
      organisation,
      id,
      source,
      month,
      key.provider,
      key.account,
      key.sku,
      key.region,
      key.term,
      formatInstant(periodStart),
      formatInstant(periodEnd),
      formatInstant(from),
      ratio?.numerator.toString() ?? null,
      ratio?.denominator.toString() ?? null,
      ratio !== null && distrust.length === 0,
      distrust,
      meteredPartMs.toString(),
      JSON.stringify(jsonOf(evidence)),
      new Date(now),
    ],
  );
}

function jsonOf(evidence: RateEvidence): RateEvidenceJson {
  const { days, currency, meteredPartMs, billedPartMs, listNanos, charged, billedList } = evidence;
  return {
    days,
    currency,
    meteredGpuHours: gpuHours(meteredPartMs),
    billedGpuHours: billedPartMs === null ? null : gpuHours(billedPartMs),
    listCost: formatMoney({ nanos: listNanos, currency }),
    charged: formatDecimal(charged),
    billedList: billedList === null ? null : formatDecimal(billedList),
  };
}

/** Signals to caches of prices that the learned rates have changed. */
async function raiseVersion(tx: Transaction, organisation: string): Promise<void> {
  await tx.query(`update organisation set rate_version = rate_version + 1 where id = $1`, [organisation]);
}

/** Enqueues the pricing of the metered days that some rates bear on. */
async function enqueuePriced(tx: Transaction, organisation: string, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const days = await tx.query<{ team: string; day: string }>(
    `select distinct u.team, to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD') as day
     from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
     join unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::timestamptz[]) as r(provider, account, sku, region, term, applies_from)
       on r.provider = d.provider and r.account is not distinct from d.account and r.sku = d.sku and r.region is not distinct from d.region and r.term is not distinct from d.term and u.hour >= r.applies_from
     where u.organisation = $1`,
    [
      organisation,
      rows.map((r) => r.provider),
      rows.map((r) => r.account),
      rows.map((r) => r.sku),
      rows.map((r) => r.region),
      rows.map((r) => r.term),
      rows.map((r) => r.applies_from),
    ],
  );
  await enqueue(
    tx,
    organisation,
    days.map(({ team, day }) => ({ stage: 'cost.price', partition: team, key: `${team}/${day}` })),
  );
}

const ratioOf = ({ numerator, denominator }: Row): Ratio | null =>
  numerator === null || denominator === null
    ? null
    : { numerator: BigInt(numerator), denominator: BigInt(denominator) };

function rateOf(row: Row): LearnedRate | null {
  const ratio = ratioOf(row);
  if (ratio === null) return null;
  const { provider, account, sku, region, term } = row;
  return {
    key: { provider, account, sku, region, term: term as Term | null },
    ratio,
    source: `bill:${row.source}/${row.month}`,
    appliesFrom: row.applies_from.getTime(),
    periodEnd: row.period_end.getTime(),
    meteredPartMs: BigInt(row.metered),
  };
}

function stored(row: Row): StoredRate {
  const {
    id,
    source,
    month,
    provider,
    account,
    sku,
    region,
    term,
    numerator,
    denominator,
    trusted,
    distrust,
    evidence,
  } = row;
  const ratio = ratioOf(row);
  const at = (instant: Date): string => formatInstant(instant.getTime());
  return {
    id,
    source,
    month,
    provider,
    account,
    sku,
    region,
    term,
    periodStart: at(row.period_start),
    periodEnd: at(row.period_end),
    appliesFrom: at(row.applies_from),
    numerator,
    denominator,
    ratio:
      ratio === null
        ? null
        : formatDecimal({ unscaled: divideHalfEven(ratio.numerator * 1_000_000n, ratio.denominator), scale: 6 }),
    trusted,
    distrust,
    evidence,
    learnedAt: at(row.learned_at),
    withdrawnAt: row.withdrawn_at === null ? null : at(row.withdrawn_at),
    withdrawnBy: row.withdrawn_by,
  };
}
