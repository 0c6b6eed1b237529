/**
 * Bills that were delivered again without a change: their lines stay unchanged, but their metadata changes (final or
 * not, time of the last delivery, other bills of the delivery). The previous metadata is kept as long as the bill, so
 * that undoing such an import restores it.
 *
 * The invariant: after an undo a bill has the metadata that it would have had without that import; a later import of
 * the same bill still counts.
 */
import type { Transaction } from '../database.js';

/** What an import says of a bill without changing its lines. */
const SAID = ['closed', 'final_at', 'says_final', 'has_rejects', 'delivered_at', 'bundle'] as const;

const saidOf = (row: string): string =>
  `jsonb_build_object(${SAID.map((name) => `'${name}', ${row}.${name}`).join(', ')})`;

/** Keeps what is known of a bill before an import says it again. @param call the first import of the call */
export async function keepBefore(tx: Transaction, organisation: string, delivery: string, call: string): Promise<void> {
  await tx.query(
    `insert into delivery_confirmed (organisation, delivery, import, before)
     select organisation, id, $3, ${saidOf('v')} from delivery v where organisation = $1 and id = $2
     on conflict (organisation, delivery, import) do nothing`,
    [organisation, delivery, call],
  );
}

/** Ends with the bill. */
export async function dropConfirmed(tx: Transaction, organisation: string, delivery: string): Promise<void> {
  await tx.query(`delete from delivery_confirmed where organisation = $1 and delivery = $2`, [organisation, delivery]);
}

/**
 * Takes back what a call said of bills that it brought as they were.
 * @returns the bills that are there and of which that changes what is known
 */
export async function takeBackSaid(tx: Transaction, organisation: string, call: string): Promise<string[]> {
  const rows = await tx.query<{ delivery: string; next: string | null }>(
    `select delivery::text as delivery, (select min(n.import)::text from delivery_confirmed n
       where n.organisation = c.organisation and n.delivery = c.delivery and n.import > c.import) as next
     from delivery_confirmed c where organisation = $1 and import = $2 order by c.delivery`,
    [organisation, call],
  );
  const changed: string[] = [];
  for (const { delivery, next } of rows) {
    const before = `(select c.before from delivery_confirmed c where c.organisation = $1 and c.delivery = $2 and c.import = $3)`;
    const of = [organisation, delivery, call];
    if (next !== null)
      await tx.query(
        `update delivery_confirmed set before = ${before} where organisation = $1 and delivery = $2 and import = $4`,
        [...of, next],
      );
    else {
      const [said] = await tx.query<Record<string, string | null>>(
        `select ${SAID.map((name) => `(b.row).${name}::text as ${name}`).join(', ')}
         from (select jsonb_populate_record(null::delivery, ${before}) as row) b`,
        of,
      );
      const restored = await tx.query<{ id: string }>(
        `update delivery set ${SAID.map((name, at) => `${name} = $${at + 3}`).join(', ')}
         where organisation = $1 and id = $2 returning id::text as id`,
        [organisation, delivery, ...SAID.map((name) => said?.[name] ?? null)],
      );
      changed.push(...restored.map(({ id }) => id));
      await tx.query(
        `update delivery_replaced set bill = bill || ${before} where organisation = $1 and id = $2 and bill ? 'id'`,
        of,
      );
    }
    await tx.query(`delete from delivery_confirmed where organisation = $1 and delivery = $2 and import = $3`, of);
  }
  return changed;
}
