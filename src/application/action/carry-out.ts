/**
 * Turns recommendations into actions: chooses the connection and the effect, or says why nothing can carry a
 * recommendation out. The line and every entry point use it, so all do the same.
 *
 * It never approves and never calls a provider. The invariant: one open action per recommendation, however often it is
 * requested.
 */
import {
  effectOf,
  isLeftToPeople,
  isPurchase,
  newestEvidence,
  purchaseOf,
  type Subject,
} from '../../core/action/acting.js';
import { OPEN_STATES, policyActor, progressOf, type Next, type Reason } from '../../core/action/action.js';
import type { SetStop } from '../../core/action/guard.js';
import { isTakenByCloud, type Effect } from '../../core/fleet/fleet.js';
import { risksOf } from '../../core/fleet/settings.js';
import type { PolicyMode, Recommendation } from '../../core/policy/recommendation.js';
import { MINUTE_MS, parseInstant } from '../../core/time.js';
import type { Moved } from '../../store/action/actions.js';
import type { Queryable, Transaction } from '../../store/database.js';
import type { StoredRecommendation } from '../../store/policy/recommendations.js';
import type { Stores } from '../../store/stores.js';

export type Plan = { readonly connection: string; readonly effect: Effect; readonly next?: Next } | Obstructed;

/** Why nothing carries it out; where the guard would refuse it for several reasons, all of them. */
export interface Obstructed {
  readonly obstacle: Reason;
  readonly obstacles?: readonly Reason[];
}

/** The shortest pause of a target that is stopped to be started again, because a restart has a cost. */
const LEAST_REST_MS = 30 * MINUTE_MS;

const obstacle = (code: string, message: string): Obstructed => ({ obstacle: { code, message } });

/**
 * The plan that would carry out a recommendation on the last known fleet; an obstacle if nothing can, or if the guard
 * would certainly refuse it.
 */
export async function planOf(
  { targets, safety }: Pick<Stores, 'targets' | 'safety'>,
  tx: Queryable,
  organisation: string,
  recommendation: Recommendation,
  now: number,
): Promise<Plan> {
  if (isPurchase(recommendation.action)) {
    const { connection, ...carrying } = purchaseOf(recommendation, (await targets.offers?.(tx, organisation)) ?? []);
    return 'effect' in carrying && connection !== undefined
      ? { connection, effect: carrying.effect }
      : 'obstacle' in carrying
        ? carrying
        : obstacle('no-offer', 'no connection offers it');
  }
  const found = await targets.find(tx, organisation, recommendation.team, recommendation.target);
  if (found === null) return obstacle('no-target', `no connection knows ${recommendation.target}`);
  const carrying = effectOf(recommendation, found.seen);
  if ('obstacle' in carrying) return carrying;
  const isSuccession = carrying.effect.kind === 'replace' && isTakenByCloud(found.seen);
  if (!isSuccession && progressOf(carrying.effect, found.seen) === 'done')
    return obstacle('already-so', `${found.seen.target} is already in the wanted state`);
  const { effect, next } = carrying;
  const [first, ...others] =
    effect.kind === 'purchase'
      ? []
      : await safety.standing(
          tx,
          organisation,
          recommendation.team,
          { effect, connection: found.connection, carriesOut: found.carriesOut ?? null, seen: found.seen },
          [effect.target, found.seen.name, recommendation.target],
        );
  if (first !== undefined) return { obstacle: first, obstacles: [first, ...others] };
  if (next !== undefined && next.notBefore - now < LEAST_REST_MS)
    return obstacle(
      'too-late',
      `its hours begin in less than ${LEAST_REST_MS / MINUTE_MS} minutes: a stop would not pay off`,
    );
  return { connection: found.connection, effect, ...(next === undefined ? {} : { next }) };
}

/**
 * Records the obstacles of recommendations that have no action yet. Obstacles of targets without a connection, and of
 * purchases, are reported only at the decision.
 */
export async function alertObstacles(
  stores: Pick<Stores, 'targets' | 'safety' | 'recommendations'>,
  tx: Transaction,
  organisation: string,
  made: readonly Recommendation[],
  now: number,
): Promise<void> {
  const found = new Map<string, readonly Reason[]>();
  for (const one of made.filter(({ action }) => !isPurchase(action))) {
    const plan = await planOf(stores, tx, organisation, one, now);
    found.set(
      one.id,
      obstaclesIn(plan).filter((reason) => !isLeftToPeople(reason)),
    );
  }
  await stores.recommendations.saveObstacles(tx, organisation, found);
}

/**
 * The kill switches over the actions that the approval of open recommendations would begin, by recommendation. What
 * nothing carries out begins none.
 */
export async function stopsOverApprovals(
  stores: Pick<Stores, 'actions' | 'targets' | 'safety'>,
  db: Queryable,
  organisation: string,
  recommendations: readonly StoredRecommendation[],
  now: number,
): Promise<Map<string, readonly SetStop[]>> {
  const open = recommendations.filter(({ status }) => status === 'open');
  if (open.length === 0 || (await stores.safety.stops(db, organisation)).length === 0) return new Map();
  const made = await stores.actions.newestOf(
    db,
    organisation,
    open.map(({ id }) => id),
  );
  const actions: { id: string; team: string; connection: string }[] = [];
  for (const one of open) {
    const action = made.get(one.id);
    const begun =
      action !== undefined && OPEN_STATES.includes(action.state)
        ? action
        : await planOf(stores, db, organisation, one, now);
    if ('connection' in begun) actions.push({ id: one.id, team: one.team, connection: begun.connection });
  }
  const stops = await stores.safety.stopsOverEach(db, organisation, actions);
  return new Map(actions.map(({ id }, at) => [id, stops[at] ?? []]));
}

export const obstaclesIn = (plan: Plan): readonly Reason[] =>
  'obstacle' in plan ? (plan.obstacles ?? [plan.obstacle]) : [];

/** A recommendation with further consequences added to its own risk, for the last known state of the target. */
export async function withRisks(
  { targets }: Pick<Stores, 'targets'>,
  tx: Transaction,
  organisation: string,
  recommendation: Recommendation,
): Promise<Recommendation> {
  const { action, team, target, risk } = recommendation;
  const found = isPurchase(action) ? null : await targets.find(tx, organisation, team, target);
  const carrying = found === null ? null : effectOf(recommendation, found.seen);
  if (found === null || carrying === null || 'obstacle' in carrying) return recommendation;
  const sentences = risksOf(carrying.effect, found.seen).map(
    ({ message }) => `${message.charAt(0).toUpperCase()}${message.slice(1)}.`,
  );
  return sentences.length === 0
    ? recommendation
    : { ...recommendation, risk: { ...risk, note: [risk.note, ...sentences].filter((one) => one !== '').join(' ') } };
}

export interface ProposeRequest {
  readonly recommendation: Recommendation;
  readonly plan: Extract<Plan, { readonly effect: Effect }>;
  /** The policy's knowledge of the target; null: no policy evaluated it. */
  readonly subject: Subject | null;
  readonly mode: PolicyMode;
  readonly now: number;
}

/** Makes the action. The caller has seen that none is open for the recommendation, under `serialise`. */
export function proposeAction(
  { actions }: Pick<Stores, 'actions'>,
  tx: Transaction,
  organisation: string,
  { recommendation, plan, subject, mode, now }: ProposeRequest,
): Promise<Moved> {
  const { id, team, policy, document } = recommendation;
  return actions.propose(
    tx,
    organisation,
    {
      team,
      connection: plan.connection,
      target: plan.effect.target,
      effect: plan.effect,
      mode,
      recommendation: id,
      policy,
      document,
      subject,
      rollbackOf: null,
      underStop: false,
      proposedBy: policyActor(document),
      evidenceAt: newestEvidence(recommendation),
      expiresAt: planExpiry(recommendation, plan),
      next: plan.next ?? null,
    },
    now,
  );
}

/**
 * When an action for it is over: with the recommendation, and a first of two not later than a while before the second.
 */
export const planExpiry = (
  recommendation: Pick<Recommendation, 'expiresAt'>,
  { next }: { readonly next?: Next },
): number => Math.min(expiryOf(recommendation), next === undefined ? Infinity : next.notBefore - LEAST_REST_MS);

/** When a recommendation is over, in epoch milliseconds. */
export const expiryOf = ({ expiresAt }: Pick<Recommendation, 'expiresAt'>): number => parseInstant(expiresAt) ?? 0;
