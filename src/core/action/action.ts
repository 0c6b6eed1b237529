/**
 * An action: one effect on one target, from the proposal to the measured saving, as a table of states and their
 * successors. Pure: it says what may happen and never does it.
 *
 * The invariants: a target has at most one live action; nothing reaches a provider before `intended` is committed with
 * its token; an unknown outcome is queried, never repeated blindly; no action leaves a final state.
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
 * The successors of each state. `applied`: the provider has accepted the effect; `confirmed`: its own state shows it
 * (and, after a stop, billing has ended); `measured`: its saving is in the ledger. A rollback is a separate action, and
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

/** States in which an action blocks others on its target, unless its rollback has taken its place (`takenBackBy`). */
export const LIVE_STATES: readonly ActionState[] = ['approved', 'intended', 'applied'];

/** States in which an action still carries out its recommendation: there is no second action at the same time. */
export const OPEN_STATES: readonly ActionState[] = ['proposed', ...LIVE_STATES];

export const mayFollow = (from: ActionState, to: ActionState): boolean => NEXT[from].includes(to);

/** Whether the state has no successor. */
export const isFinal = (state: ActionState): boolean => NEXT[state].length === 0;

/**
 * The follow-up of a finished action on the same target at a given time: approved with the first, guarded separately
 * when its time has come, and not begun if the first was not done or was rolled back. A job that waits for cheap hours
 * is started in them.
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

/** The replacement of a target already runs, and costs, and the target was not ended. */
const HALF_DONE = 'half-done';

export const halfDoneReason = (message: string): Reason => ({ code: HALF_DONE, message });

/** The reasons of an action that say what of it was done already; empty: nothing that is known. */
export const doneAlready = ({ reasons }: Pick<Action, 'reasons'>): readonly Reason[] =>
  reasons.filter(({ code }) => code === HALF_DONE || code === LACKING);

/** Whether its target stands still between two places: it was ended at the one, and not yet started at the other. */
export const isHalfMoved = ({ effect, reasons }: Pick<Action, 'effect' | 'reasons'>): boolean =>
  effect.kind === 'move' && reasons.some(({ code }) => code === HALF_DONE);

/**
 * The end of an action that is not carried out, or only in part: refused if nothing has changed; failed if half of it
 * was done, with the present state.
 */
export function undone(
  action: Pick<Action, 'reasons'>,
  reasons: readonly Reason[],
): { readonly to: 'refused' | 'failed'; readonly reasons: readonly Reason[] } {
  const done = doneAlready(action);
  return { to: done.length > 0 ? 'failed' : 'refused', reasons: [...done, ...reasons] };
}

/** The attributes of the old machine that its replacement lacks. */
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
/** Some machines that should leave still exist and are billed. */
const DRAINING = 'draining';

/** What an action in progress waits for, as a code; null: unknown or nothing. */
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
  /** The rollback that has taken this action's place on its target; null: there is none, or it failed. */
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
  /** Why it ended without an effect, what it waits for, or its result; empty: none of these. */
  readonly reasons: readonly Reason[];
  /** Its follow-up; null or absent: none. */
  readonly next?: Next | null;
  /** The action that it follows; null or absent: it follows none. */
  readonly follows?: string | null;
}

const POLICY = 'policy:';

/** The actor name of a policy document for its proposals and approvals. */
export const policyActor = (document: string): string => POLICY + document;

/** The actor name of a follow-up's approval, which was given together with the first action's. */
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

/** Whether two effects request the same change. */
export function isSameEffect(one: Effect, other: Effect): boolean {
  const text = (effect: Effect): string =>
    JSON.stringify(Object.entries(effectToJson(effect)).sort(([a], [b]) => (a < b ? -1 : 1)));
  return text(one) === text(other);
}

/**
 * The visible progress of an effect on its target: `done`; `billing`: it is stopped and still billed; `leaving`: the
 * group has its size, and machines that should leave still exist and are billed, which the proof lists and which delays
 * nothing else in the group; `waiting`; `not-observable`: no reading shows such an effect, and the provider's answer
 * about the token is the proof.
 */
export type Progress = 'done' | 'billing' | 'leaving' | 'waiting' | 'not-observable';

/**
 * @param seen the target's present reading; null: the provider says that it does not exist @param before the reading
 * before the effect: machines that leave a group without a scale-in do not belong to this effect
 */
export function progressOf(effect: Effect, seen: FleetTarget | null, before: FleetTarget | null = seen): Progress {
  if (effect.kind === 'cordon' || effect.kind === 'drain' || effect.kind === 'purchase') return 'not-observable';
  if (holds(effect, seen) !== true) return 'waiting';
  // Replicas above the wanted number still run, whatever is desired.
  if (effect.kind === 'scale' && (seen?.replicas?.ready ?? 0) > effect.replicas) return 'waiting';
  if (before !== null && (sizeChange(effect, before) ?? 0) < 0 && (seen?.leaving ?? 0) > 0) return 'leaving';
  if (effect.kind !== 'stop' && effect.kind !== 'terminate') return 'done';
  // Nothing of a gone target is billed; a stopped target may still have billed disks, and says so.
  if (seen === null || seen.billing === 'ended' || seen.billing === 'partly') return 'done';
  return 'billing';
}

/** Written limits of waiting, in milliseconds. */
export const PATIENCE = {
  /** An intent that was not sent within this time is not sent any more, because its reading is too old. */
  intentMs: 10 * MINUTE_MS,
  /** A request that may still be under way is not sent again sooner: no provider's part waits longer for an answer. */
  requestMs: MINUTE_MS,
  /** An outcome that nobody can tell for so long is a failure that a person has to look at. */
  outcomeMs: 6 * HOUR_MS,
  /** An effect that is not visible within this time is recorded, and checked every hour from then on. */
  confirmMs: 30 * MINUTE_MS,
} as const;

/** The reasons in the proof for machines that are still leaving; none if there are none. */
export function drainingReasons(seen: FleetTarget | null): readonly Reason[] {
  const { leaving = 0, group } = seen ?? {};
  if (leaving === 0) return [];
  const hooks = group?.hooks ?? [];
  const held = hooks.map(({ name, seconds }) => `${name}${seconds === null ? '' : ` (up to ${seconds} seconds)`}`);
  const by =
    group?.hooks === null
      ? ', and Bursar may not read whether a lifecycle hook holds them'
      : held.length === 0
        ? ''
        : `, held by the lifecycle ${held.length === 1 ? 'hook' : 'hooks'} ${held.join(', ')}`;
  const members = leaving === 1 ? '1 member still leaves, and is' : `${leaving} members still leave, and are`;
  return [{ code: DRAINING, message: `draining: ${members} paid for until they are gone${by}` }];
}

/**
 * When to ask again: twice the time that has passed since the first question, within bounds in milliseconds.
 */
export function askAgainAt(since: number, now: number, leastMs = 5000, mostMs = 5 * MINUTE_MS): number {
  assert(leastMs > 0 && leastMs <= mostMs, 'a pause has a least and a most');
  return now + Math.min(mostMs, Math.max(leastMs, now - since));
}
