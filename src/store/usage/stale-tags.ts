/**
 * Deliveries to allocate again, because their sums lack tags that budgets filter by.
 */
import type { Transaction } from '../database.js';
import type { WorkItem } from '../work.js';

/**
 * A budget that began to filter by a tag while an import ran: it is seen here, or it waits for this import's end
 * and then sees its deliveries. Either way they are allocated by the new tags.
 */
export async function staleByTags(
  tx: Transaction,
  request: { readonly organisation: string; readonly source: string; readonly trackedTags: readonly string[] },
): Promise<WorkItem[]> {
  const { organisation, source, trackedTags } = request;
  // Two statements: what was committed while the first one waited is seen by the second.
  await tx.query(`select 1 from organisation where id = $1 for key share`, [organisation]);
  const [row] = await tx.query<{ tags: string[] }>(
    `select value as tags from setting where organisation = $1 and key = 'tracked-tags'`,
    [organisation],
  );
  if ((row?.tags ?? []).every((tag) => trackedTags.includes(tag))) return [];
  const deliveries = await tx.query<{ id: string }>(
    `select id::text as id from delivery where organisation = $1 and source = $2`,
    [organisation, source],
  );
  return deliveries.map(({ id }) => ({ stage: 'usage.allocate', partition: source, key: `${source}/${id}` }));
}
