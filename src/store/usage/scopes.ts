/**
 * Which delivery a bill's lines belong to: that of their provider, account and billing period; of a supplement, beside
 * it; of a format whose files add up, of their file.
 *
 * Never writes a line. The invariant: two bills of one period of one source are one delivery or replace each other.
 */
import type { Charge, UsageRecord } from '../../core/usage.js';
import type { Transaction } from '../database.js';

export interface KnownDelivery {
  readonly id: string;
  readonly digest: Buffer;
  readonly records: string;
  readonly closed: boolean;
  readonly bundle: string | null;
}

/** Where a delivery is looked for. */
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

const periodKey = ({
  provider,
  account,
  periodStart,
}: Pick<ScopePlace, 'provider' | 'account' | 'periodStart'>): string => `${provider}|${account ?? ''}|${periodStart}`;

export function scopeKey(record: UsageRecord, increment: string | undefined): string {
  const key = periodKey({ ...record, periodStart: record.charge?.periodStart ?? 0 });
  if (record.charge?.supplement === true) return `${key}|supplement`;
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
