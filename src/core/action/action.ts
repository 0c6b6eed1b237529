/**
 * An action: one effect on one target, from the proposal to the measured saving, as a table of states and what may
 * follow each.
 *
 * Pure: it says what may happen, never does it. The invariants: a target has at most one live action; nothing reaches a
 * provider before `intended` is committed with its token; an unknown outcome is asked for, never repeated blindly; a
 * final state is left by nothing.
 */
import { assert } from '../errors.js';
import { holds, type Effect, type FleetTarget } from '../fleet/fleet.js';
import { sizeChange } from '../fleet/settings.js';
import type { PolicyMode } from '../policy/recommendation.js';
import { HOUR_MS, MINUTE_MS } from '../time.js';

export const ACTION_STATES = [
  'proposed',
  'approved',
  'intended',
  'applied',
  'confirmed',
  'measured',
  'refused',
  'failed',
  'rolled-back',
  'expired',
] as const;
export type ActionState = (typeof ACTION_STATES)[number];

/**
 * What may follow each state. `applied`: the provider has taken the effect; `confirmed`: its own state shows it (and,
 * after a stop, billing has ended); `measured`: its saving is in the ledger. A rollback is an action of its own, and
 * ends this one when it is confirmed.
 */
export const NEXT: Readonly<Record<ActionState, readonly ActionState[]>> = {
  proposed: ['approved', 'refused', 'expired'],
  approved: ['intended', 'refused', 'expired'],
  intended: ['applied', 'refused', 'failed'],
  applied: ['confirmed', 'failed', 'rolled-back'],
  confirmed: ['measured', 'rolled-back'],
  measured: ['rolled-back'],
  refused: [],
  failed: [],
  'rolled-back': [],
  expired: [],
};

/**
 * States in which an action keeps others off its target, unless a rollback of it stands in its place (`takenBackBy`).
 */
export const LIVE_STATES: readonly ActionState[] = ['approved', 'intended', 'applied'];

/** States in which an action still answers its recommendation: there is no second one beside it. */
export const OPEN_STATES: readonly ActionState[] = ['proposed', ...LIVE_STATES];

export const mayFollow = (from: ActionState, to: ActionState): boolean => NEXT[from].includes(to);

/** Whether nothing follows. */
export const isFinal = (state: ActionState): boolean => NEXT[state].length === 0;

/**
 * What follows an action on the same target at an instant, once it is done: approved with it, guarded by itself when
 * its time has come, and not begun where the first was not done or was taken back. A job that is stopped for the cheap
 * hours is started in them.
 */
export interface Next {
  readonly effect: Effect;
  /** Epoch milliseconds: not before, and what has not begun by then is given up. */
  readonly notBefore: number;
  readonly expiresAt: number;
}

/** A code for programs and a sentence for people. */
export interface Reason {
  readonly code: string;
  readonly message: string;
}

/** What is to stand in the place of a target runs already, and costs, and the target was not ended. */
const HALF_DONE = 'half-done';

export const halfDoneReason = (message: string): Reason => ({ code: HALF_DONE, message });

/** The reasons of an action that say what of it was done already; empty: nothing that is known. */
export const doneAlready = ({ reasons }: Pick<Action, 'reasons'>): readonly Reason[] =>
  reasons.filter(({ code }) => code === HALF_DONE || code === LACKING);

/**
 * How an action ends that is not carried out, or no further: as refused, nothing has changed; where half of it was done
 * it has failed, and says what there is now.
 */
export function undone(
  action: Pick<Action, 'reasons'>,
  reasons: readonly Reason[],
): { readonly to: 'refused' | 'failed'; readonly reasons: readonly Reason[] } {
  const done = doneAlready(action);
  return { to: done.length > 0 ? 'failed' : 'refused', reasons: [...done, ...reasons] };
}

/** What of the old machine the one in its place is without. */
const LACKING = 'lacking';

export const lackingReasons = (lacks: readonly string[] = []): readonly Reason[] =>
  lacks.map((message) => ({ code: LACKING, message }));

/** The reasons of an action that say what the new machine is without; they stand as long as the action does. */
export const lackingOf = ({ reasons }: Pick<Action, 'reasons'>): readonly Reason[] =>
  reasons.filter(({ code }) => code === LACKING);

/** Its cloud had no such machine free; it is asked again until the action's time is over. */
export const NO_CAPACITY = 'no-capacity';
/** That wait has ended: the cloud has taken it. */
export const CAPACITY_FOUND = 'capacity-found';
/** Of what was to leave some is still there and paid for. */
const DRAINING = 'draining';

/** What an action that goes on waits for, as a code; null: nothing that is known. */
export function waitOf({ state, reasons }: Pick<Action, 'state' | 'reasons'>): string | null {
  return state === 'intended' && reasons.some(({ code }) => code === NO_CAPACITY) ? NO_CAPACITY : null;
}

export interface Action {
  readonly id: string;
  readonly team: string;
  /** Name of the provider connection (`aws`, `kubernetes`, ...). */
  readonly connection: string;
  readonly target: string;
  readonly effect: Effect;
  readonly state: ActionState;
  readonly mode: PolicyMode;
  /** The recommendation, policy and document behind it; null: a person asked for it. */
  readonly recommendation: string | null;
  readonly policy: string | null;
  readonly document: string | null;
  /** The action that this one takes back; null: it is not a rollback. */
  readonly rollbackOf: string | null;
  /** The rollback that stands for this action on its target; null: there is none, or it came to nothing. */
  readonly takenBackBy: string | null;
  /** Idempotency token that goes to the provider; made when it is intended. */
  readonly token: string | null;
  /** A rollback that somebody asked for although the kill switch is on. */
  readonly underStop: boolean;
  readonly proposedBy: string;
  /** `policy:<document>` where a document in mode enforce approved it. */
  readonly approvedBy: string | null;
  /** Epoch milliseconds. */
  readonly proposedAt: number;
  readonly expiresAt: number;
  /** The newest evidence behind it; null: it needs none (a rollback). */
  readonly evidenceAt: number | null;
  readonly approvedAt: number | null;
  readonly intendedAt: number | null;
  /** When the provider was last asked for the effect; null: it was not, or surely not in vain. */
  readonly askedAt: number | null;
  readonly appliedAt: number | null;
  readonly confirmedAt: number | null;
  /** When it was over: confirmed, or in a final state without an effect. */
  readonly endedAt: number | null;
  /**
   * The target as it was read just before the effect, and when; the instant without a target: the provider knew of
   * none.
   */
  readonly before: FleetTarget | null;
  readonly beforeAt: number | null;
  /** The proof: the target as the provider reported it when the effect was confirmed. */
  readonly after: FleetTarget | null;
  readonly afterAt: number | null;
  /** Why it ended without an effect, what it waits for, or what came of it; empty: nothing to say. */
  readonly reasons: readonly Reason[];
  /** What follows it; null or absent: nothing. */
  readonly next?: Next | null;
  /** The action that it follows; null or absent: it follows none. */
  readonly follows?: string | null;
}

const POLICY = 'policy:';

/** How a policy document signs what it proposes and approves. */
export const policyActor = (document: string): string => POLICY + document;

/** How the second of two signs for the approval that the first was given: both were approved as one. */
export const pairActor = (first: string): string => `pair:${first}`;

export const isApprovedByPolicy = ({ approvedBy }: Pick<Action, 'approvedBy'>): boolean =>
  approvedBy?.startsWith(POLICY) ?? false;

/** An effect as JSON holds it: amounts are decimal strings. */
export type EffectJson =
  | Exclude<Effect, { readonly kind: 'purchase' }>
  | (Omit<Extract<Effect, { readonly kind: 'purchase' }>, 'mostNanos'> & { readonly mostNanos: string });

export const effectToJson = (effect: Effect): EffectJson =>
  effect.kind === 'purchase' ? { ...effect, mostNanos: String(effect.mostNanos) } : effect;

export const effectFromJson = (json: EffectJson): Effect =>
  json.kind === 'purchase' ? { ...json, mostNanos: BigInt(json.mostNanos) } : json;

export type NextJson = Omit<Next, 'effect'> & { readonly effect: EffectJson };

export const nextToJson = ({ effect, ...times }: Next): NextJson => ({ ...times, effect: effectToJson(effect) });

export const nextFromJson = ({ effect, ...times }: NextJson): Next => ({ ...times, effect: effectFromJson(effect) });

/** Whether two effects ask for the same. */
export function isSameEffect(one: Effect, other: Effect): boolean {
  const text = (effect: Effect): string =>
    JSON.stringify(Object.entries(effectToJson(effect)).sort(([a], [b]) => (a < b ? -1 : 1)));
  return text(one) === text(other);
}

/**
 * How far an effect has come, as the target shows it: `done`; `billing`: it stands still and is still paid for;
 * `leaving`: it has its size, and machines that were to go are still there and paid for, which is told with the proof and
 * keeps nothing else of the group waiting; `waiting`; `not-observable`:
 * no reading ever shows such an effect, and the provider's word on the token is the proof.
 */
export type Progress = 'done' | 'billing' | 'leaving' | 'waiting' | 'not-observable';

/**
 * @param seen the target as it was read now; null: the provider says that it is not there
 * @param before as it was read before the effect: what leaves a group that was not made smaller is others' matter
 */
export function progressOf(effect: Effect, seen: FleetTarget | null, before: FleetTarget | null = seen): Progress {
  if (effect.kind === 'cordon' || effect.kind === 'drain' || effect.kind === 'purchase') return 'not-observable';
  if (holds(effect, seen) !== true) return 'waiting';
  // Replicas above the wanted number still run, whatever is desired.
  if (effect.kind === 'scale' && (seen?.replicas?.ready ?? 0) > effect.replicas) return 'waiting';
  if (before !== null && (sizeChange(effect, before) ?? 0) < 0 && (seen?.leaving ?? 0) > 0) return 'leaving';
  if (effect.kind !== 'stop' && effect.kind !== 'terminate') return 'done';
  // Of what is gone nothing is left to bill; what is stopped may still cost its disks, and says so.
  if (seen === null || seen.billing === 'ended' || seen.billing === 'partly') return 'done';
  return 'billing';
}

/** Written limits of waiting, in milliseconds. */
export const PATIENCE = {
  /** An intent that was not sent for so long is not sent any more: what was read before it is too old. */
  intentMs: 10 * MINUTE_MS,
  /** A request that may still be under way is not sent again sooner: no provider's part waits longer for an answer. */
  requestMs: MINUTE_MS,
  /** An outcome that nobody can tell for so long is a failure that a person has to look at. */
  outcomeMs: 6 * HOUR_MS,
  /** An effect that does not show for so long is noted, and looked for every hour from then on. */
  confirmMs: 30 * MINUTE_MS,
} as const;

/** What is told with the proof of machines that are still leaving; none where none is. */
export function drainingReasons(seen: FleetTarget | null): readonly Reason[] {
  const { leaving = 0, group } = seen ?? {};
  if (leaving === 0) return [];
  const hooks = group?.hooks ?? [];
  const held = hooks.map(({ name, seconds }) => `${name}${seconds === null ? '' : ` (up to ${seconds} seconds)`}`);
  const by =
    group?.hooks === null
      ? ', and whether a lifecycle hook holds them may not be read'
      : held.length === 0
        ? ''
        : `, held by the lifecycle ${held.length === 1 ? 'hook' : 'hooks'} ${held.join(', ')}`;
  const members = leaving === 1 ? '1 member still leaves, and is' : `${leaving} members still leave, and are`;
  return [{ code: DRAINING, message: `draining: ${members} paid for until gone${by}` }];
}

/**
 * When to ask again: twice the time that has passed since the first question, within bounds in milliseconds.
 */
export function askAgainAt(since: number, now: number, leastMs = 5000, mostMs = 5 * MINUTE_MS): number {
  assert(leastMs > 0 && leastMs <= mostMs, 'a pause has a least and a most');
  return now + Math.min(mostMs, Math.max(leastMs, now - since));
}
