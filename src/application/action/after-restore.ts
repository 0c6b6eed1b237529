/**
 * Handles a database that was restored from a backup. The kill switch is on for everything until a person lifts it. No
 * action that was approved in the backup is carried out, because it may have been carried out after the backup was
 * taken. All sessions end, because some may have ended since the backup.
 *
 * This is one transaction, together with the record of the database's present location, so that only one of several
 * processes does it, once. Requests that had already been sent to a provider are only queried, as after every crash
 * (pipeline/execute.ts). An approval after this is a new decision on new readings.
 */
import { undone } from '../../core/action/action.js';
import { movedWords } from '../../store/operation/home.js';
import type { Stores } from '../../store/stores.js';
import { enqueue, type WorkItem } from '../../store/work.js';
import type { Transaction } from '../../store/database.js';

type Needs = Pick<Stores, 'db' | 'home' | 'safety' | 'actions' | 'audit' | 'sessionList'>;

export interface Restored {
  /** The sign of the restore, in words for people. */
  readonly because: string;
  /** Actions that are not carried out. */
  readonly refused: readonly string[];
  readonly sessionsEnded: number;
}

/**
 * Checks whether the database was restored, and handles it. @param saidBy who reports the restore, if nothing inside
 * shows it; absent: it is detected @returns null if it was not restored
 */
export async function settleRestore(
  stores: Needs,
  organisation: string,
  now: number,
  saidBy?: string,
): Promise<Restored | null> {
  const { db, home } = stores;
  return db.transaction(async (tx) => {
    const isNoted = await home.isNoted(tx, organisation);
    const moved = await home.moved(tx, organisation);
    if (isNoted && moved.length === 0 && saidBy === undefined) {
      if (await home.hasMoreMarks(tx, organisation)) await home.note(tx, organisation, now);
      return null;
    }
    // The first start of all has no backup behind it.
    const isRestored = isNoted || saidBy !== undefined;
    const because = moved.length > 0 ? movedWords(moved) : 'a person reported it';
    const done = isRestored ? await stopEverything(stores, tx, organisation, now, because, saidBy ?? 'line') : null;
    await home.note(tx, organisation, now);
    return done;
  });
}

async function stopEverything(
  { safety, actions, audit, sessionList }: Needs,
  tx: Transaction,
  organisation: string,
  now: number,
  because: string,
  by: string,
): Promise<Restored> {
  const reason = `the database was restored from a backup (${because}): check what has run since, then lift the kill switch`;
  await safety.stop(tx, organisation, { scope: 'all', name: '' }, reason, by, now);
  const message = 'the database was restored: it may have been carried out since the backup';
  const refused: string[] = [];
  const workItems: WorkItem[] = [];
  for (const action of await actions.unaskedOfAll(tx, organisation)) {
    const { to, reasons } = undone(action, [{ code: 'stopped', message }]);
    const step = { at: now, actor: by, detail: { reasons }, set: { reasons } };
    workItems.push(...(await actions.move(tx, organisation, action, to, step)).workItems);
    refused.push(action.id);
  }
  await enqueue(tx, organisation, workItems);
  const sessionsEnded = await sessionList.endEverybody(tx, organisation);
  await audit.audit(tx, organisation, by, 'database.restored', 'all', { because, refused, sessionsEnded });
  return { because, refused, sessionsEnded };
}
