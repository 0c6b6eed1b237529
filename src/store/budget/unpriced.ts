/**
 * Storage, traffic and usage without a quantity that have no price, and that a budget would or might count if they had
 * one. Reads only.
 */
import type { Budget } from '../../core/budget/budget.js';
import type { UnpricedUsage } from '../../core/cost/unpriced.js';
import { dayLabel, type Interval } from '../../core/time.js';
import { unpricedUsage } from '../cost/unpriced.js';
import type { Queryable } from '../database.js';
import { filterParameter, passesOrLacks } from './filters.js';

/**
 * By whole days of the budget's zone. Usage that does not state a filter's field may belong to the budget, and is
 * included.
 */
export async function unpricedOfBudget(
  db: Queryable,
  organisation: string,
  { filters, zone, basis = 'actual' }: Budget,
  teams: readonly string[],
  { start, end }: Interval,
): Promise<UnpricedUsage[]> {
  const days = { from: dayLabel(start, zone), to: dayLabel(end, zone) };
  const found = await unpricedUsage(db, organisation, { ...days, teams, zone, basis });
  if (found.length === 0 || Object.keys(filters).length === 0) return found;
  const rows = await db.query<{ id: string }>(
    `select d.id::text as id from dimension d where d.organisation = $1 and d.kind = 'metered' and d.provider = any($3::text[])
       and ${passesOrLacks('$2')}`,
    [organisation, filterParameter(filters), [...new Set(found.map(({ provider }) => provider))]],
  );
  return unpricedUsage(db, organisation, { ...days, teams, zone, basis, dimensions: rows.map(({ id }) => id) });
}
