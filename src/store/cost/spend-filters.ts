/**
 * The filters of a cost query as the ids of matching dimensions, so that sums are read by ids alone. Accounts have the
 * names that their payers' bills use, as in budgets' filters. Reads only.
 */
import { byTheirNames } from '../../core/budget/budget.js';
import type { SpendFilters } from '../../core/cost/spend-query.js';
import { FILTER_COLUMNS } from '../budget/filters.js';
import type { Queryable } from '../database.js';

const COLUMN_OF: Readonly<Record<keyof SpendFilters, string>> = { ...FILTER_COLUMNS, gpuModel: 'd.gpu_model' };

/** The dimensions that filters let through; null: there is no filter. */
export async function dimensionsOf(
  db: Queryable,
  organisation: string,
  filters: SpendFilters | undefined,
): Promise<string[] | null> {
  if (filters === undefined || Object.keys(filters).length === 0) return null;
  const conditions = Object.keys(filters).map(
    (name) => `$2::jsonb->'${name}' ? coalesce(${COLUMN_OF[name as keyof SpendFilters]}, '')`,
  );
  const rows = await db.query<{ id: string }>(
    `select d.id::text as id from dimension d where d.organisation = $1 and ${conditions.join(' and ')}`,
    [organisation, JSON.stringify(byTheirNames(filters))],
  );
  return rows.map(({ id }) => id);
}
