/**
 * Checks a bill that an undo would restore: if other bills have its lines now, it would count them twice. Reads only.
 */
import { conflict } from '../../core/errors.js';
import { repeatedIn } from '../bill/payer-lines.js';
import type { Transaction } from '../database.js';
import { sharedLines } from './increments.js';
import { periodKey } from './scopes.js';

interface Restored {
  readonly source: string;
  readonly scope: string | null;
  readonly provider: string;
  readonly account: string | null;
  readonly start: Date;
  readonly end: Date;
  readonly subAccounts: readonly string[];
}

const ALL = Buffer.alloc(0);

/** @throws Failure conflict: a file that adds to its month, or another part of the bill, has lines of it */
export async function refuseRepeats(tx: Transaction, organisation: string, delivery: string): Promise<void> {
  const [bill] = await tx.query<Restored>(
    `select source, scope, provider, account, period_start as start, period_end as "end", sub_accounts as "subAccounts"
     from delivery where organisation = $1 and id = $2`,
    [organisation, delivery],
  );
  if (bill === undefined || bill.scope === null) return;
  const { source, scope } = bill;
  const prefix = `${periodKey({ ...bill, periodStart: bill.start.getTime() })}|`;
  const found = scope.startsWith(prefix)
    ? (await sharedLines(tx, organisation, source, { delivery, digest: ALL, prefix }, [scope], [])).map(
        ({ lines, example }) =>
          `${lines} line(s) (such as ${example}) of a file that it had replaced are in another one`,
      )
    : (await repeatedIn(tx, organisation, { ...bill, delivery })).map(
        ({ sources, lines, example }) =>
          `${lines} line(s) of the payer itself (such as ${example}) of the part that it had replaced are in the part of the source "${sources[0]}"`,
      );
  if (found.length > 0)
    throw conflict(`this import cannot be undone: ${found.join('; ')} that has come since: undo that one first`);
}
