/**
 * Bills that another took the place of, kept with their lines, so that taking the newer one back brings them back.
 *
 * They are in no sum and in no view. Of one period so many are kept; the oldest go for good.
 */
import type { Transaction } from '../database.js';

const MOST_KEPT = 5;

/** Sets a bill aside for the one that replaces it. */
export async function keepReplaced(
  tx: Transaction,
  organisation: string,
  source: string,
  delivery: string,
  replacedBy: string,
): Promise<void> {
  const [row] = await tx.query<{ scope: string }>(
    `insert into delivery_replaced (organisation, id, source, scope, replaced_by, import, bill)
     select organisation, id, source, coalesce(scope, supplement), $3, import, to_jsonb(v) from delivery v where organisation = $1 and id = $2 returning scope`,
    [organisation, delivery, replacedBy],
  );
  await tx.query(`delete from usage_hour where organisation = $1 and delivery = $2`, [organisation, delivery]);
  await tx.query(`delete from bill_cells where organisation = $1 and delivery = $2`, [organisation, delivery]);
  await tx.query(`delete from delivery where organisation = $1 and id = $2`, [organisation, delivery]);
  const old = await tx.query<{ id: string }>(
    `select id::text as id from delivery_replaced where organisation = $1 and source = $2 and scope = $3 order by delivery_replaced.id desc offset ${MOST_KEPT}`,
    [organisation, source, row?.scope],
  );
  for (const { id } of old) await dropReplaced(tx, organisation, source, id);
}

/** Ends a replaced bill for good. */
export async function dropReplaced(tx: Transaction, organisation: string, source: string, id: string): Promise<void> {
  await tx.query(`delete from block where organisation = $1 and source = $2 and delivery = $3`, [
    organisation,
    source,
    id,
  ]);
  await tx.query(`delete from commitment_use where organisation = $1 and delivery = $2`, [organisation, id]);
  await tx.query(`delete from delivery_replaced where organisation = $1 and id = $2`, [organisation, id]);
}

/** Brings bills back that a delivery replaced; their ids. Their hours are to be summed anew. */
export async function restoreReplaced(tx: Transaction, organisation: string, delivery: string): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
    `insert into delivery overriding system value
     select (jsonb_populate_record(null::delivery, r.bill)).* from delivery_replaced r where r.organisation = $1 and r.replaced_by = $2
     returning id::text as id`,
    [organisation, delivery],
  );
  await tx.query(`delete from delivery_replaced where organisation = $1 and replaced_by = $2`, [
    organisation,
    delivery,
  ]);
  return rows.map(({ id }) => id);
}
