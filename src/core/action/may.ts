/**
 * The decisions that a caller may make about an action or a recommendation now, and the reasons if not. The server
 * states them, so that no other place repeats the rules. A decision checks again in its transaction, where the kill
 * switch, the limits and the target decide last (application/action/set-action.ts).
 *
 * The kill switch refuses approvals and rollbacks. Rejecting is always possible: it begins nothing.
 *
 * A reason has a code, for texts in the reader's language, and a sentence.
 */
import { inverseOf } from '../fleet/fleet.js';
import { parseInstant } from '../time.js';
import { SCOPE_TEXTS, rolesWith, type Scope } from '../scopes.js';
import { doneAlready, isFinal, type Action } from './action.js';
import { stopText, type SetStop } from './guard.js';

export type MayCode =
  | 'scope'
  | 'state'
  | 'expired'
  | 'asked'
  | 'nothing'
  | 'rollback'
  | 'taken-back'
  | 'no-inverse'
  | 'stopped';

/** Null: they may. */
export type May = { readonly code: MayCode; readonly message: string } | null;

export interface MayDecide {
  readonly approve: May;
  readonly reject: May;
  readonly rollback: May;
}

const no = (code: MayCode, message: string): May => ({ code, message });

/** Null: they have it. */
function ofScope(scopes: readonly Scope[]): May {
  return scopes.includes('approve')
    ? null
    : no('scope', `needs the scope approve, which the role ${rolesWith('approve')} has: it ${SCOPE_TEXTS.approve}`);
}

/** The facts of an action that decide. */
type Decided = Pick<
  Action,
  'state' | 'expiresAt' | 'askedAt' | 'rollbackOf' | 'takenBackBy' | 'effect' | 'before' | 'connection' | 'reasons'
>;

/** @param stops the kill switches over the action */
export function mayDecide(
  action: Decided,
  scopes: readonly Scope[],
  now: number,
  stops: readonly SetStop[],
): MayDecide {
  const scope = ofScope(scopes);
  return {
    approve: approval(action, now) ?? scope ?? ofStops(stops),
    reject: rejection(action) ?? scope,
    rollback:
      takingBack(action) ?? scope ?? ofStops(stops, '; bursar rollback --under-stop works, with the role admin'),
  };
}

/** The first switch is the widest. */
function ofStops([stop]: readonly SetStop[], despite = ''): May {
  return stop === undefined ? null : no('stopped', `the kill switch is on ${stopText(stop)}${despite}`);
}

function approval({ state, expiresAt }: Decided, now: number): May {
  if (state !== 'proposed') return no('state', `it is ${state}, not proposed`);
  return now >= expiresAt ? no('expired', 'it has expired') : null;
}

function rejection({ state, askedAt, connection }: Decided): May {
  if (isFinal(state)) return no('state', `it is ${state}`);
  return ['proposed', 'approved', 'intended'].includes(state) && askedAt === null
    ? null
    : no('asked', `${connection} was asked for it`);
}

function takingBack(action: Decided): May {
  const { state, rollbackOf, takenBackBy, effect, before } = action;
  if (state === 'failed' && doneAlready(action).length > 0)
    return no('no-inverse', 'it failed with half of it done, and cannot be rolled back');
  if (!['applied', 'confirmed', 'measured'].includes(state)) return no('nothing', 'there is nothing to roll back');
  if (rollbackOf !== null) return no('rollback', 'it is itself a rollback');
  if (takenBackBy !== null) return no('taken-back', `it is being rolled back by ${takenBackBy}`);
  return before === null || inverseOf(effect, before) === null ? no('no-inverse', 'it cannot be rolled back') : null;
}

/**
 * For a recommendation: by its status and its end.
 * @param stops the kill switches over the action that its approval would begin
 */
export function mayDecideRecommendation(
  { status, expiresAt }: { readonly status: string; readonly expiresAt: string },
  scopes: readonly Scope[],
  now: number,
  stops: readonly SetStop[],
): Omit<MayDecide, 'rollback'> {
  const reason =
    status !== 'open'
      ? no('state', `it is ${status}`)
      : (parseInstant(expiresAt) ?? 0) <= now
        ? no('expired', 'it has expired')
        : ofScope(scopes);
  return { approve: reason ?? ofStops(stops), reject: reason };
}
