/**
 * People's decisions about actions: approving, rejecting, rolling back, the kill switch and the limits. Every entry
 * point uses these functions, so all do the same; the caller has checked the right for the team and writes the audit.
 *
 * Nothing here calls a provider: an approval enqueues the action, and the guard decides last.
 */
import { isForbidden, type Subject } from '../../core/action/acting.js';
import { doneAlready, isFinal, isHalfMoved, policyActor, undone, type Action } from '../../core/action/action.js';
import { stopText } from '../../core/action/guard.js';
import { conflict, denied } from '../../core/errors.js';
import { inverseOf } from '../../core/fleet/fleet.js';
import { HOUR_MS } from '../../core/time.js';
import { obstaclesIn, planOf, proposeAction } from './carry-out.js';
import type { Moved } from '../../store/action/actions.js';
import type { Transaction } from '../../store/database.js';
import type { StoredRecommendation } from '../../store/policy/recommendations.js';
import type { Stores } from '../../store/stores.js';
import { enqueueUrgent } from '../../store/work.js';

type Needs = Pick<Stores, 'actions' | 'keys' | 'policies' | 'recommendations' | 'safety' | 'targets'>;

/** A rollback that nothing has begun for so long is not begun any more. */
const ROLLBACK_MS = HOUR_MS;

export interface DecidedRecommendation {
  readonly recommendation: StoredRecommendation;
  /** Null: nothing carries it out; `recommendation.obstacle` says why. */
  readonly action: Action | null;
}

/** Emits what a step enqueues. */
async function enqueued(tx: Transaction, organisation: string, { action, workItems }: Moved): Promise<Action> {
  await enqueueUrgent(tx, organisation, workItems);
  return action;
}

/**
 * Approves an action that was proposed. @throws Failure missing, conflict if it cannot be approved any more or not now,
 * denied if its proposer may not approve.
 */
export async function approveAction(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  by: string,
  now: number,
): Promise<Action> {
  await stores.actions.serialise(tx, organisation);
  const action = await locked(stores, tx, organisation, id);
  if (action.state !== 'proposed') throw conflict(`action ${id} is ${action.state}, not proposed`);
  return approve(stores, tx, organisation, action, by, now);
}

async function approve(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  action: Action,
  by: string,
  now: number,
): Promise<Action> {
  if (now >= action.expiresAt) throw conflict(`action ${action.id} has expired`);
  await checkApprover(stores, tx, organisation, action, by);
  await checkFree(stores, tx, organisation, action, false);
  if (action.recommendation !== null)
    await stores.recommendations.follow(tx, organisation, action.recommendation, 'approved', by, now);
  return enqueued(
    tx,
    organisation,
    await stores.actions.move(tx, organisation, action, 'approved', { at: now, actor: by, set: { approvedBy: by } }),
  );
}

/**
 * If the limits require it, the proposer and every author of the proposing document may not approve. Identity means the
 * same key or user, whatever its present name, and a user's keys count as the user.
 */
async function checkApprover(
  { safety, policies, keys }: Needs,
  tx: Transaction,
  organisation: string,
  action: Action,
  by: string,
): Promise<void> {
  const { team } = await safety.limits(tx, organisation, action.team);
  if (!team.separateApprover && !(team.separatePurchaseApprover && action.effect.kind === 'purchase')) return;
  const authors = action.document === null ? [] : await policies.authors(tx, organisation, action.document);
  const proposers = action.proposedBy === null ? authors : [...authors, action.proposedBy];
  const [approver = [], ...others] = await keys.peopleOf(tx, organisation, [by, ...proposers]);
  if (others.flat().some((one) => approver.includes(one)))
    throw denied(
      `whoever proposed ${action.id}, or wrote its policy document, may not approve it: ${action.team} requires somebody else`,
    );
}

/** @throws Failure conflict if a kill switch covers the action, or another one is live on its target. */
async function checkFree(
  { safety }: Needs,
  tx: Transaction,
  organisation: string,
  { team, connection, target, id, rollbackOf }: Pick<Action, 'team' | 'connection' | 'target' | 'id' | 'rollbackOf'>,
  underStop: boolean,
): Promise<void> {
  const stops = underStop ? [] : await safety.stopsOver(tx, organisation, team, connection);
  if (stops.length > 0)
    throw conflict(
      'the kill switch is on',
      stops.map((stop) => ({ path: null, message: stopText(stop) })),
    );
  const live = await safety.liveOn(tx, organisation, connection, target, [id, rollbackOf]);
  if (live !== null) throw conflict(`the action ${live} is under way on ${target}`);
}

/**
 * Rejects an action that no provider was asked for yet. Its recommendation counts as rejected. @throws Failure missing,
 * conflict if it is too late.
 */
export async function rejectAction(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  reason: string,
  by: string,
  now: number,
): Promise<Action> {
  await stores.actions.serialise(tx, organisation);
  const action = await locked(stores, tx, organisation, id);
  if (isFinal(action.state)) throw conflict(`action ${id} is ${action.state}`);
  if (!['proposed', 'approved', 'intended'].includes(action.state) || action.askedAt !== null)
    throw conflict(
      `action ${id} is ${action.state}: ${action.connection} was asked for it; bursar rollback rolls it back if possible`,
    );
  if (isHalfMoved(action))
    throw conflict(`${action.target} stands still between two places: action ${id} starts it again before it ends`);
  return reject(stores, tx, organisation, action, reason, by, now);
}

async function reject(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  action: Action,
  reason: string,
  by: string,
  now: number,
): Promise<Action> {
  if (action.recommendation !== null)
    await stores.recommendations.follow(tx, organisation, action.recommendation, 'rejected', by, now);
  const message = reason === '' ? `rejected by ${by}` : reason;
  const { to, reasons } = undone(action, [{ code: 'rejected', message }]);
  return enqueued(
    tx,
    organisation,
    await stores.actions.move(tx, organisation, action, to, {
      at: now,
      actor: by,
      code: 'rejected',
      detail: { message },
      set: { reasons },
    }),
  );
}

/**
 * Approves a recommendation: its proposed action, or otherwise a new one if something can carry it out. If nothing can,
 * the approval stands, and the recommendation says why. @throws Failure missing, conflict (also if the owner of its
 * target forbids it), denied.
 */
export async function approveRecommendation(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  by: string,
  now: number,
): Promise<DecidedRecommendation> {
  const { actions, recommendations } = stores;
  await actions.serialise(tx, organisation);
  const recommendation = await recommendations.decide(tx, organisation, id, 'approved', by, now);
  const open = await actions.openOf(tx, organisation, id);
  if (open !== null)
    return decidedWith(
      { ...recommendation, obstacle: null, obstacles: [] },
      await approve(stores, tx, organisation, open, by, now),
    );
  const plan = await planOf(stores, tx, organisation, recommendation, now);
  const obstacles = obstaclesIn(plan);
  const forbidden = obstacles.find(isForbidden);
  if (forbidden !== undefined) throw conflict(`${id} cannot be approved: ${forbidden.message}`);
  await recommendations.saveObstacles(tx, organisation, new Map([[id, obstacles]]));
  if ('obstacle' in plan)
    return { recommendation: { ...recommendation, obstacle: plan.obstacle, obstacles }, action: null };
  const subject: Subject = {
    action: recommendation.action,
    target: recommendation.target,
    workload: null,
    resource: null,
  };
  const made = await proposeAction(stores, tx, organisation, {
    recommendation,
    plan,
    subject,
    mode: recommendation.mode,
    now,
  });
  const action = await approve(stores, tx, organisation, made.action, by, now);
  return decidedWith({ ...recommendation, obstacle: null }, action);
}

const decidedWith = (recommendation: StoredRecommendation, action: Action): DecidedRecommendation => ({
  recommendation: { ...recommendation, actionId: action.id, actionState: action.state },
  action,
});

/** Rejects a recommendation, and its action where one is proposed. @throws Failure missing, conflict. */
export async function rejectRecommendation(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  by: string,
  now: number,
): Promise<DecidedRecommendation> {
  await stores.actions.serialise(tx, organisation);
  const recommendation = await stores.recommendations.decide(tx, organisation, id, 'rejected', by, now);
  const open = await stores.actions.openOf(tx, organisation, id);
  return open === null
    ? { recommendation, action: null }
    : decidedWith(recommendation, await reject(stores, tx, organisation, open, '', by, now));
}

/** @throws Failure conflict if the action is not, or not any more, one that can be taken back. */
async function checkTakesBack(
  { actions }: Needs,
  tx: Transaction,
  organisation: string,
  action: Action,
): Promise<void> {
  const { id, state, rollbackOf, takenBackBy, next = null, follows = null } = action;
  const [half] = doneAlready(action);
  if (state === 'failed' && half !== undefined)
    throw conflict(`action ${id} failed with half of it done, and cannot be rolled back: ${half.message}`);
  if (!['applied', 'confirmed', 'measured'].includes(state))
    throw conflict(`action ${id} is ${state}: there is nothing to roll back`);
  if (rollbackOf !== null) throw conflict(`action ${id} is itself a rollback`);
  if (takenBackBy !== null) throw conflict(`action ${id} is being rolled back by ${takenBackBy}`);
  // Two that were approved as one are taken back as one, while the second has not begun: then nothing is left to take
  // back.
  if (follows !== null)
    throw conflict(
      `action ${id} follows ${follows}: it is rolled back together with that action, but not once it has begun`,
    );
  const follower = next === null ? null : await actions.followerOf(tx, organisation, id);
  if (follower !== null && !['refused', 'failed', 'expired'].includes(follower.state))
    throw conflict(`${follower.id}, which follows action ${id}, has begun: there is nothing left to roll back`);
}

/**
 * Makes the action that rolls another one back. Requesting it approves it; its own guard follows. While the kill switch
 * is on it is refused, unless the caller overrides the switch. @param by the caller; a policy document whose brake is
 * over signs as `policy:<document>` @throws Failure missing, conflict if it cannot be rolled back, or not now.
 */
export async function rollBack(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  by: string,
  { underStop }: { readonly underStop: boolean },
  now: number,
): Promise<Action> {
  const { actions } = stores;
  await actions.serialise(tx, organisation);
  const original = await locked(stores, tx, organisation, id);
  await checkTakesBack(stores, tx, organisation, original);
  const effect = original.before === null ? null : inverseOf(original.effect, original.before);
  if (effect === null) throw conflict(`${original.effect.kind} of ${original.target} cannot be rolled back`);
  const { team, connection, target, policy, document } = original;
  await checkFree(stores, tx, organisation, { team, connection, target, id, rollbackOf: null }, underStop);
  const { action: rollback } = await actions.propose(
    tx,
    organisation,
    {
      team,
      connection,
      target,
      effect,
      mode: 'approve',
      recommendation: null,
      policy,
      document,
      subject: null,
      rollbackOf: id,
      underStop,
      proposedBy: by,
      evidenceAt: null,
      expiresAt: now + ROLLBACK_MS,
    },
    now,
  );
  await actions.note(tx, organisation, original, {
    at: now,
    actor: by,
    code: 'rollback-begun',
    detail: { by: rollback.id },
    set: { takenBackBy: rollback.id },
  });
  return enqueued(
    tx,
    organisation,
    await actions.move(tx, organisation, rollback, 'approved', { at: now, actor: by, set: { approvedBy: by } }),
  );
}

/**
 * Takes an action back because its policy holds only while it proposes, and does not any more. Null: nothing takes it
 * back, or not now.
 */
export async function liftBrake(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  { id, document, before, effect, team, connection, target }: Action,
  now: number,
): Promise<Action | null> {
  if (document === null || before === null || inverseOf(effect, before) === null) return null;
  if ((await stores.safety.stopsOver(tx, organisation, team, connection)).length > 0) return null;
  if ((await stores.safety.liveOn(tx, organisation, connection, target, [id])) !== null) return null;
  return rollBack(stores, tx, organisation, id, policyActor(document), { underStop: false }, now);
}

/** @throws Failure missing. */
async function locked({ actions }: Needs, tx: Transaction, organisation: string, id: string): Promise<Action> {
  return (await actions.lock(tx, organisation, id)) ?? actions.known(tx, organisation, id);
}
