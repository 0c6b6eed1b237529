/**
 * Metered usage without a price that is not GPU time: storage, traffic, and usage without a quantity. Reads only.
 *
 * GPU-hours without a price stand beside every sum; these are listed once for a query, by SKU, component and reason.
 */
import { formatDecimal } from '../../core/decimal.js';
import { divideHalfEven } from '../../core/money.js';
import type { UnpricedUsage } from '../../core/cost/unpriced.js';
import type { Component } from '../../core/price/price.js';
import { BYTES_PER_GIB, MIB_MS_PER_GIB_SECOND } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import type { SumsQuery } from './spend-sums.js';

type Row = UnpricedUsage;

/** Days with usage that has no price and is no GPU-hour. */
const DAYS = `k.organisation = $1 and k.shared_from = '' and k.unpriced_part_ms = 0
       and k.unpriced_lines > case when $5 = 'accrued' then 0 else k.stated_lines end
       and ($2::date is null or k.day >= $2::date - 1) and ($3::date is null or k.day <= $3::date)
       and ($4::text[] is null or k.team = any($4::text[]))
       and ($6::bigint[] is null or k.dimension = any($6::bigint[]))`;

/**
 * On `actual` without the days that a final bill states. A basis of bills has no metered usage in it. The sums per day
 * tell which few hours to look at: where GPU-hours of the same name have no price either, these stand for it.
 */
export async function unpricedUsage(
  db: Queryable,
  organisation: string,
  { from, to, teams, zone, basis, dimensions = null }: Omit<SumsQuery, 'groupBy'>,
): Promise<UnpricedUsage[]> {
  if (basis !== 'actual' && basis !== 'accrued') return [];
  const rows = await db.query<Row>(
    `select d.provider, d.sku, c.component, c.unpriced_reason as reason, sum(c.quantity)::text as quantity,
       count(distinct (c.team, c.hour))::int as hours
     from cost_day k
     join cost_hour c on c.organisation = k.organisation and c.team = k.team and c.dimension = k.dimension
       and c.hour >= k.day::timestamp at time zone 'UTC' and c.hour < (k.day + 1)::timestamp at time zone 'UTC'
     join dimension d on d.organisation = c.organisation and d.id = c.dimension
     where ${DAYS}
       and c.unpriced_reason <> '' and (c.component <> 'gpu' or c.quantity is null)
       and ($2::date is null or c.hour >= $2::date::timestamp at time zone $7)
       and ($3::date is null or c.hour < $3::date::timestamp at time zone $7)
     group by 1, 2, 3, 4 order by 1, 2 nulls last, 3, 4`,
    [organisation, from, to, teams, basis, dimensions, zone],
  );
  return rows.map((row) => ({ ...row, quantity: row.quantity === null ? null : inGib(row.component, row.quantity) }));
}

/** With six digits after the point. */
function inGib(component: Component, quantity: string): string {
  const scale = component === 'network' ? BYTES_PER_GIB : MIB_MS_PER_GIB_SECOND * 3600n;
  return formatDecimal({ unscaled: divideHalfEven(BigInt(quantity) * 1_000_000n, scale), scale: 6 });
}
