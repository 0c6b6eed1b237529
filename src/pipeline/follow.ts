/**
 * action.follow (action): begins an action's follow-up when its time has come: the start of a job that was stopped for
 * its cheap hours, or the previous size of a group. The two were approved together, so nobody is asked again; the
 * follow-up has its own guard and its own expiry (action.execute).
 *
 * The invariants: the follow-up begins at most once, only if the first action was done, and never during or after the
 * rollback of the first. It waits for another live action on the target until it expires. It does not wait for a kill
 * switch: the guard refuses it, people are notified that the job stands still, and a rollback of the first action
 * starts the job.
 */
import { followingEffect } from '../core/action/acting.js';
import { pairActor, type Action, type Next } from '../core/action/action.js';
import { MINUTE_MS } from '../core/time.js';
import { FOLLOW } from '../store/action/actions.js';
import type { Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import type { Stage } from './stage.js';

type Needed = Pick<Stores, 'actions' | 'safety'>;

/** The pause between two checks of what blocks it. */
const WAIT_MS = MINUTE_MS;

export function followStage(stores: Needed): Stage {
  return {
    name: FOLLOW,
    most: 1,
    async run({ organisation, keys, now, tx }) {
      const workItems: WorkItem[] = [];
      for (const id of keys) workItems.push(...(await follow(stores, tx, organisation, id, now)));
      return workItems;
    },
  };
}

async function follow(
  stores: Needed,
  tx: Transaction,
  organisation: string,
  id: string,
  now: number,
): Promise<readonly WorkItem[]> {
  const { actions } = stores;
  await actions.serialise(tx, organisation);
  const first = await actions.lock(tx, organisation, id);
  if (first === null) return [];
  const { next = null } = first;
  // Taken back, its job runs again; refused, it was never stopped. A failure leaves open whether it was, and a start
  // does no harm.
  if (
    next === null ||
    !['applied', 'confirmed', 'measured', 'failed'].includes(first.state) ||
    (await actions.followerOf(tx, organisation, id)) !== null
  )
    return [];
  if (now < next.notBefore) return [followLater(first, next.notBefore)];
  const isLate = now >= next.expiresAt - WAIT_MS;
  if (!isLate && (first.takenBackBy !== null || (await isHindered(stores, tx, organisation, first))))
    return [followLater(first, now + WAIT_MS)];
  return first.takenBackBy !== null ? [] : begin(stores, tx, organisation, first, next, now);
}

/** A live action on the target: also the first itself, for as long as its effect does not show. */
const isHindered = async (
  { safety }: Needed,
  tx: Transaction,
  organisation: string,
  { connection, target }: Action,
): Promise<boolean> => (await safety.liveOn(tx, organisation, connection, target, [])) !== null;

/** Its evidence is of now: its hour has come, and the first was done. */
async function begin(
  { actions, safety }: Needed,
  tx: Transaction,
  organisation: string,
  first: Action,
  next: Next,
  now: number,
): Promise<readonly WorkItem[]> {
  const { expiresAt } = next;
  const effect = followingEffect({ ...first, next });
  const { id, team, connection, policy, document, mode, proposedBy } = first;
  const made = await actions.propose(
    tx,
    organisation,
    {
      team,
      connection,
      target: effect.target,
      effect,
      mode,
      recommendation: null,
      policy,
      document,
      subject: null,
      rollbackOf: null,
      underStop: false,
      proposedBy,
      evidenceAt: now,
      expiresAt,
      follows: id,
    },
    now,
  );
  // Two live actions on a target there are never: it stays proposed, and expires with that.
  if ((await safety.liveOn(tx, organisation, connection, effect.target, [])) !== null) return made.workItems;
  const approved = await actions.move(tx, organisation, made.action, 'approved', {
    at: now,
    actor: pairActor(id),
    set: { approvedBy: pairActor(id) },
  });
  return approved.workItems;
}

const followLater = ({ team, id }: Action, notBefore: number): WorkItem => ({
  stage: FOLLOW,
  partition: team,
  key: id,
  notBefore,
});
