/**
 * Metered usage that a budget's filter leaves out because it does not state the filtered field: a meter that names no
 * service, or no tag. It is unknown whether the usage belongs to the budget; it may, once its bill, which names the
 * field, counts. Reads only.
 */
import type { Budget } from '../../core/budget/budget.js';
import { dayLabel, formatInstant, type Interval } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { filterParameter, missing, passesOrLacks } from './filters.js';
import type { UnnamedAmount } from './budgets.js';

/** Apart, as in spend.ts. */
const HOURS = `with lines as materialized (
  select organisation, dimension, currency, accrued, actual, unpriced_lines, stated_lines from hour_line
  where organisation = $1 and team = any($2::text[]) and hour >= $3 and hour < $4)
`;

/** By whole UTC days if the zone is UTC, otherwise by hours, like the spend beside it. */
export async function unnamedUsage(
  db: Queryable,
  organisation: string,
  { filters, zone, basis = 'actual' }: Budget,
  teams: readonly string[],
  { start, end }: Interval,
): Promise<UnnamedAmount[]> {
  if (Object.keys(filters).length === 0) return [];
  const amount = basis === 'accrued' ? 'accrued' : 'actual';
  const without = basis === 'accrued' ? 'l.unpriced_lines' : 'l.unpriced_lines - l.stated_lines';
  const lines =
    zone === 'UTC'
      ? `cost_day l join dimension d on d.organisation = l.organisation and d.id = l.dimension
       where l.organisation = $1 and l.team = any($2::text[]) and l.day >= $5::date and l.day < $6::date
         and l.shared_from = '' and $3::timestamptz < $4::timestamptz`
      : `lines l join dimension d on d.organisation = l.organisation and d.id = l.dimension where $5::date < $6::date`;
  return db.query<UnnamedAmount & { fields: string[] }>(
    `${zone === 'UTC' ? '' : HOURS}select currency, fields, sum(amount)::text as amount
     from (
       select coalesce(l.currency, '') as currency, ${missing('$7')} as fields, l.${amount} as amount
       from ${lines} and d.kind = 'metered' and (l.${amount} <> 0 or ${without} > 0) and ${passesOrLacks('$7')}
     ) u where cardinality(fields) > 0 group by 1, 2 order by 1, 2`,
    [
      organisation,
      teams,
      formatInstant(start),
      formatInstant(end),
      dayLabel(start, zone),
      dayLabel(end, zone),
      filterParameter(filters),
    ],
  );
}
