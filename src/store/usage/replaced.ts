/**
 * Bills that were replaced by others, kept with their lines, so that undoing the newer one restores them.
 *
 * They are in no sum and in no view. A limited number is kept for each source and period; of older ones only the fact
 * that they existed is kept, so that a bill that cannot return is refused instead of left out.
 */
import { conflict } from '../../core/errors.js';
import { isSameBill } from '../bill/same-bill.js';
import type { Transaction } from '../database.js';
import { dropConfirmed } from './confirmed.js';

const MOST_KEPT = 5;

/** Takes away what was computed from the lines of a delivery, all of which can be computed again. */
export async function dropDerived(tx: Transaction, organisation: string, delivery: string): Promise<void> {
  for (const table of ['bill_name', 'usage_hour', 'bill_cells', 'unmetered_line'])
    await tx.query(`delete from ${table} where organisation = $1 and delivery = $2`, [organisation, delivery]);
}

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
  await dropDerived(tx, organisation, delivery);
  await tx.query(`delete from delivery where organisation = $1 and id = $2`, [organisation, delivery]);
  const old = await tx.query<{ id: string }>(
    `select id::text as id from delivery_replaced where organisation = $1 and source = $2 and scope = $3 and bill ? 'id'
     order by delivery_replaced.id desc offset ${MOST_KEPT}`,
    [organisation, source, row?.scope],
  );
  for (const { id } of old) {
    await dropBlocks(tx, organisation, source, id);
    await tx.query(
      `update delivery_replaced set bill = jsonb_build_object('records', bill -> 'records')
       where organisation = $1 and id = $2`,
      [organisation, id],
    );
  }
}

async function dropBlocks(tx: Transaction, organisation: string, source: string, id: string): Promise<void> {
  await tx.query(`delete from block where organisation = $1 and source = $2 and delivery = $3`, [
    organisation,
    source,
    id,
  ]);
  for (const table of ['commitment_use', 'contract_use'])
    await tx.query(`delete from ${table} where organisation = $1 and delivery = $2`, [organisation, id]);
}

/** Ends a replaced bill permanently: the import that brought it is undone. */
export async function dropReplaced(tx: Transaction, organisation: string, source: string, id: string): Promise<void> {
  await dropBlocks(tx, organisation, source, id);
  await dropConfirmed(tx, organisation, id);
  await tx.query(`delete from delivery_replaced where organisation = $1 and id = $2`, [organisation, id]);
}

/**
 * Brings bills back that a delivery replaced, of whatever source. Their hours are to be summed again.
 * @throws Failure conflict if one of them is no longer kept, or has come again meanwhile
 */
export async function restoreReplaced(
  tx: Transaction,
  organisation: string,
  delivery: string,
): Promise<{ readonly id: string; readonly source: string }[]> {
  const [gone] = await tx.query<{ source: string }>(
    `select source from delivery_replaced where organisation = $1 and replaced_by = $2 and not bill ? 'id' limit 1`,
    [organisation, delivery],
  );
  if (gone !== undefined)
    throw conflict(
      `this import cannot be undone: the bill that it replaced is no longer kept (the last ${MOST_KEPT} of a period ` +
        `are). Import the bill that should count, as the source "${gone.source}"`,
    );
  await refuseTwice(tx, organisation, delivery);
  const rows = await tx.query<{ id: string; source: string }>(
    `insert into delivery overriding system value
     select (jsonb_populate_record(null::delivery, r.bill)).* from delivery_replaced r where r.organisation = $1 and r.replaced_by = $2
     returning id::text as id, source`,
    [organisation, delivery],
  );
  await tx.query(`delete from delivery_replaced where organisation = $1 and replaced_by = $2`, [
    organisation,
    delivery,
  ]);
  return rows;
}

/** A bill that has come again since it was replaced would count beside itself. */
async function refuseTwice(tx: Transaction, organisation: string, delivery: string): Promise<void> {
  const [twice] = await tx.query<{ provider: string; account: string; period: string; source: string; import: string }>(
    `select v.provider, coalesce(v.account, '') as account,
       to_char(v.period_start at time zone 'UTC', 'YYYY-MM-DD') as period, v.source, v.import::text as import
     from delivery_replaced r, jsonb_populate_record(null::delivery, r.bill) b
     join delivery v on v.organisation = $1 and v.scope is not null and ${isSameBill('v', 'b')}
     where r.organisation = $1 and r.replaced_by = $2 limit 1`,
    [organisation, delivery],
  );
  if (twice === undefined) return;
  const of = `${twice.provider}${twice.account === '' ? '' : ` account ${twice.account}`} from ${twice.period}`;
  throw conflict(
    `this import cannot be undone: the bill of ${of} that it replaced has come again since, from the source ` +
      `"${twice.source}" (import ${twice.import}): undo that one first`,
  );
}
