/**
 * Metered usage without a line in a bill that is not final, while the bill's lines about usage of the same days count.
 * The two may call one machine by different names; it then counts twice until the bill is final. Reads only.
 */
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';

export interface UnmatchedUsage {
  readonly provider: string;
  readonly account: string;
  readonly sku: string;
  /** UTC days, first and last. */
  readonly from: string;
  readonly to: string;
}

/**
 * Usage without a price counts nowhere; a bill says nothing about days that it does not reach. What `is not true` is
 * looked up by hash: as `not exists` each line of a bill was compared with each day that is set aside.
 */
const UNMATCHED = `
with aside as materialized (
  select delivery, dimension, metered_on as day, names from set_aside_by where organisation = $1 and day >= $2::date - 1),
unmatched as materialized (
  select v.id as delivery, m.provider, m.account, case when m.sku = '' then m.gpu_model else m.sku end as sku, m.day
  from metered_day m
  join bill_claim b on b.organisation = m.organisation and b.provider = m.provider and b.account = m.account
    and b.sub_account = m.sub_account and b.final is not true and b.bill is not null
    and b.since <= m.day::timestamp at time zone 'UTC' and b.until > m.day::timestamp at time zone 'UTC'
  join delivery v on v.organisation = m.organisation and v.scope is not null and not v.closed and v.has_usage
    and v.provider = m.provider and coalesce(v.account, '') = b.bill
    and coalesce(v.reach @> (m.day::timestamp at time zone 'UTC'), true)
  where m.organisation = $1 and m.day >= $2::date and m.priced and ($3::bigint[] is null or v.id = any($3))
    and ((m.day, array[m.provider, m.account, m.sub_account, m.sku, m.gpu_model, m.region, m.market]) in (
      select a.day, a.names from aside a)) is not true),
counting as materialized (
  select distinct u.delivery from usage_hour u
  join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.category = 'Usage'
  where u.organisation = $1 and u.billed > 0 and u.delivery in (select delivery from unmatched)
    and ((u.delivery, u.dimension) in (select a.delivery, a.dimension from aside a)) is not true)
select provider, account, sku, min(day)::text as "from", max(day)::text as "to" from unmatched
where delivery in (select delivery from counting) group by 1, 2, 3 order by 1, 2, 3`;

export const unmatchedUsage = (db: Queryable, organisation: string, since: number): Promise<UnmatchedUsage[]> =>
  db.query(UNMATCHED, [organisation, formatInstant(since).slice(0, 10), null]);

/** The bills' names of machines that a meter names differently, as reconciliation has found by resource. */
export async function knownNames(
  db: Queryable,
  organisation: string,
  providers: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query<{ provider: string; account: string; name: string }>(
    `select distinct v.provider, coalesce(v.account, '') as account, case when n.meter_sku = '' then n.meter_gpu_model else n.meter_sku end as name
     from bill_name n join delivery v on v.organisation = n.organisation and v.id = n.delivery
     where n.organisation = $1 and v.provider = any($2::text[])`,
    [organisation, [...providers]],
  );
  return new Set(rows.map(({ provider, account, name }) => nameOf(provider, account, name)));
}

const nameOf = (...names: readonly string[]): string => names.join('\u0001');

/**
 * The same of bills that have just come, before reconciliation has looked at them: what it had found by resource of the
 * bills before them is left out.
 */
export async function unmatchedIn(
  db: Queryable,
  organisation: string,
  bills: readonly { readonly id: string; readonly account: string | null; readonly periodStart: number }[],
  known: ReadonlySet<string>,
): Promise<UnmatchedUsage[]> {
  const since = Math.min(...bills.map(({ periodStart }) => periodStart));
  const rows = await db.query<UnmatchedUsage>(UNMATCHED, [
    organisation,
    formatInstant(since).slice(0, 10),
    bills.map(({ id }) => id),
  ]);
  const accounts = bills.map(({ account }) => account ?? '');
  return rows.filter(
    ({ provider, account, sku }) => ![account, ...accounts].some((name) => known.has(nameOf(provider, name, sku))),
  );
}

/** For people, of a bill that has just come. */
export const sayUnmatched = ({ provider, account, sku, from, to }: UnmatchedUsage): string =>
  `${sku} of ${provider}${account === '' ? '' : ` account ${account}`} was metered from ${from} to ${to}, and no line of this bill is about ` +
  'it by its SKU or GPU model, while other usage in it counts: it may count twice until the bill is final, unless both ' +
  'name the same resource';
