/**
 * The payer's own lines that occur in several of its bills: parts by sub-account, from separate sources, that repeat
 * the payer's tax, support or credits. Reads only sums, by hour and by the fields that a dimension distinguishes.
 */
import type { Queryable } from '../database.js';

export interface RepeatedPayerLines {
  readonly provider: string;
  readonly account: string | null;
  readonly sources: readonly [string, string];
  readonly lines: number;
  /** One of them, for people: `Tax of EC2, 3 USD of 2026-10-01`. */
  readonly example: string;
}

/** One part as the import has it, before it is written down which it is. */
export interface PayerPart {
  readonly delivery: string;
  readonly source: string;
  readonly provider: string;
  readonly account: string | null;
  readonly start: Date;
  readonly end: Date;
  readonly subAccounts: readonly string[];
}

/** Two bills of one payer and time that name no sub-account in common: parts of one bill, or two bills. */
const arePartsOf = (a: string, b: string): string =>
  `${a}.provider = ${b}.provider and account_key(coalesce(${a}.account, '')) = account_key(coalesce(${b}.account, ''))
    and ${a}.period_start < ${b}.period_end and ${a}.period_end > ${b}.period_start and ${a}.source <> ${b}.source
    and ${a}.sub_accounts <> '{}' and ${b}.sub_accounts <> '{}'
    and not array(select account_key(n) from unnest(${a}.sub_accounts) n) && array(select account_key(n) from unnest(${b}.sub_accounts) n)`;

interface Pair {
  /** Deliveries. */
  readonly a: string;
  readonly b: string;
  readonly provider: string;
  readonly account: string | null;
  readonly first: string;
  readonly second: string;
}

const REPEATED = `
with lines as materialized (
  select u.delivery, u.hour, u.until, d.category, coalesce(d.service, '') as service, coalesce(d.sku, '') as sku,
    coalesce(d.region, '') as region, d.currency, sum(u.billed) as billed, sum(u.records) as records
  from usage_hour u
  join dimension d on d.organisation = u.organisation and d.id = u.dimension and coalesce(d.sub_account, '') = ''
  where u.organisation = $1 and u.delivery = any($2::bigint[] || $3::bigint[])
  group by 1, 2, 3, 4, 5, 6, 7, 8 having sum(u.billed) <> 0)
select p.place::int as place, sum(x.records)::int as lines,
  min(x.category || case when x.service = '' then '' else ' of ' || x.service end || ', ' || trim_scale(x.billed) || ' '
    || x.currency || ' of ' || to_char(x.hour at time zone 'UTC', 'YYYY-MM-DD')) as example
from unnest($2::bigint[], $3::bigint[]) with ordinality p(a, b, place)
join lines x on x.delivery = p.a
join lines y on y.delivery = p.b and y.hour = x.hour and y.until is not distinct from x.until and y.category = x.category
  and y.service = x.service and y.sku = x.sku and y.region = x.region and y.currency = x.currency and y.billed = x.billed
group by 1 order by 1`;

async function repeatedOf(db: Queryable, organisation: string, pairs: readonly Pair[]): Promise<RepeatedPayerLines[]> {
  if (pairs.length === 0) return [];
  const rows = await db.query<{ place: number; lines: number; example: string }>(REPEATED, [
    organisation,
    pairs.map(({ a }) => a),
    pairs.map(({ b }) => b),
  ]);
  return rows.flatMap(({ place, lines, example }) => {
    const pair = pairs[place - 1];
    if (pair === undefined) return [];
    const { provider, account, first, second } = pair;
    return [{ provider, account, sources: [first, second] as const, lines, example }];
  });
}

/** The lines of a new part that other bills of the payer already have. */
export async function repeatedIn(
  db: Queryable,
  organisation: string,
  { delivery, source, provider, account, start, end, subAccounts }: PayerPart,
): Promise<RepeatedPayerLines[]> {
  if (subAccounts.length === 0) return [];
  const pairs = await db.query<Pair>(
    `select o.id::text as a, $2::text as b, o.provider, o.account, o.source as first, n.source as second
     from delivery o, (select $3::text as source, $4::text as provider, $5::text as account, $6::timestamptz as period_start,
       $7::timestamptz as period_end, $8::text[] as sub_accounts) n
     where o.organisation = $1 and o.scope is not null and ${arePartsOf('o', 'n')} order by o.id`,
    [organisation, delivery, source, provider, account, start, end, [...subAccounts]],
  );
  return repeatedOf(db, organisation, pairs);
}

/** The repeated lines of all bills. */
export async function repeatedPayerLines(db: Queryable, organisation: string): Promise<RepeatedPayerLines[]> {
  const pairs = await db.query<Pair>(
    `select o.id::text as a, v.id::text as b, v.provider, v.account, o.source as first, v.source as second
     from delivery v join delivery o on o.organisation = v.organisation and o.scope is not null and o.id < v.id
       and ${arePartsOf('o', 'v')}
     where v.organisation = $1 and v.scope is not null order by v.id, o.id`,
    [organisation],
  );
  return repeatedOf(db, organisation, pairs);
}
