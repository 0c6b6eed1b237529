/**
 * The delivery that a bill's lines belong to: for a bill that of their provider, account and billing period; for a
 * supplement one beside the bill; for a format whose files add up that of their file.
 *
 * Never writes a line. The invariant: two bills of one period of one source are one delivery or replace each other.
 */
import type { Charge, UsageRecord } from '../../core/usage.js';
import type { Queryable, Transaction } from '../database.js';
import type { WorkItem } from '../work.js';

export interface KnownDelivery {
  readonly id: string;
  readonly digest: Buffer;
  readonly records: string;
  readonly closed: boolean;
  readonly bundle: string | null;
}

/** The place in which a delivery is searched for. */
export interface ScopePlace {
  readonly organisation: string;
  readonly source: string;
  readonly key: string;
  readonly provider: string;
  readonly account: string | null;
  readonly periodStart: number;
  readonly supplement: boolean;
  readonly increment: boolean;
}

/** Ends the key of what lies beside a bill, after the bill's own. */
const SUPPLEMENT = '|supplement';

/** A condition over two rows of `delivery` of one organisation: a supplement, and the bill that it lies beside. */
export const isBillOf = (bill: string, supplement: string): string =>
  `${bill}.source = ${supplement}.source and ${bill}.scope || '${SUPPLEMENT}' = ${supplement}.supplement`;

export const periodKey = ({
  provider,
  account,
  periodStart,
}: Pick<ScopePlace, 'provider' | 'account' | 'periodStart'>): string => `${provider}|${account ?? ''}|${periodStart}`;

export function scopeKey(record: UsageRecord, increment: string | undefined): string {
  const key = periodKey({ ...record, periodStart: record.charge?.periodStart ?? 0 });
  if (record.charge?.supplement === true) return `${key}${SUPPLEMENT}`;
  return increment === undefined ? key : `${key}|${increment}`;
}

/** Whether a line is of a scope of its file: as `scopeKey` says, without making the key. */
export const belongs = (
  { provider, account }: UsageRecord,
  { periodStart, supplement }: Charge,
  scope: Pick<ScopePlace, 'provider' | 'account' | 'periodStart' | 'supplement'>,
): boolean =>
  scope.periodStart === periodStart &&
  scope.account === account &&
  scope.provider === provider &&
  scope.supplement === (supplement === true);

export async function deliveryOf(tx: Transaction, place: ScopePlace): Promise<KnownDelivery | undefined> {
  const [known] = await tx.query<KnownDelivery>(
    `select id::text as id, digest, records::text as records, closed, bundle::text as bundle from delivery
     where organisation = $1 and source = $2 and ${place.supplement ? 'supplement' : 'scope'} = $3`,
    [place.organisation, place.source, place.key],
  );
  return known;
}

/**
 * Whether a delivery counts, as all do but a supplement: that does beside its bill only. Alone its lines wait, out of
 * every sum, for the bill to come from the same source.
 */
export async function hasItsBill(tx: Queryable, organisation: string, delivery: string): Promise<boolean> {
  const [row] = await tx.query<{ counts: boolean }>(
    `select v.supplement is null or exists (
       select 1 from delivery b where b.organisation = v.organisation and ${isBillOf('b', 'v')}) as counts
     from delivery v where v.organisation = $1 and v.id = $2`,
    [organisation, delivery],
  );
  return row?.counts === true;
}

/** Supplements without their bill, for people. */
export async function waitingSupplements(
  db: Queryable,
  organisation: string,
): Promise<{ source: string; provider: string; account: string | null; period: string }[]> {
  return db.query(
    `select v.source, v.provider, v.account, to_char(v.period_start at time zone 'UTC', 'YYYY-MM-DD') as period
     from delivery v where v.organisation = $1 and v.supplement is not null and not exists (
       select 1 from delivery b where b.organisation = v.organisation and ${isBillOf('b', 'v')}) order by 4, 2, 3, 1`,
    [organisation],
  );
}

/** What a bill that came or went enqueues: whether the supplement beside it counts is seen again. */
export async function supplementItems(
  tx: Queryable,
  organisation: string,
  source: string,
  bill: string,
): Promise<WorkItem[]> {
  const rows = await tx.query<{ id: string }>(
    `select id::text as id from delivery where organisation = $1 and source = $2 and supplement = $3`,
    [organisation, source, `${bill}${SUPPLEMENT}`],
  );
  return rows.map(({ id }) => ({ stage: 'usage.allocate', partition: source, key: `${source}/${id}` }));
}

/** Another file of the period with the same lines: the same increment under another name. */
export async function twinOf(
  tx: Queryable,
  place: ScopePlace,
  digest: Buffer,
): Promise<(KnownDelivery & { readonly key: string }) | undefined> {
  if (!place.increment) return undefined;
  const [twin] = await tx.query<KnownDelivery & { key: string }>(
    `select id::text as id, digest, records::text as records, closed, bundle::text as bundle, scope as key from delivery
     where organisation = $1 and source = $2 and starts_with(scope, $3) and digest = $4 order by delivery.id limit 1`,
    [place.organisation, place.source, `${periodKey(place)}|`, digest],
  );
  return twin;
}

/** A file that was taken in before files of its format added up stands for its whole period: it becomes its own. */
export async function adopted(tx: Transaction, place: ScopePlace, digest: Buffer): Promise<KnownDelivery | undefined> {
  if (!place.increment) return undefined;
  const whole = await deliveryOf(tx, { ...place, key: periodKey(place) });
  if (whole === undefined || !whole.digest.equals(digest)) return undefined;
  await tx.query(`update delivery set scope = $3 where organisation = $1 and id = $2`, [
    place.organisation,
    whole.id,
    place.key,
  ]);
  return whole;
}
