/**
 * The decisions that a caller may make about an action or a recommendation now, and the reasons if not. The server
 * states them, so that no other place repeats the rules. A decision checks again in its transaction, where the kill
 * switch, the limits and the target decide last (application/action/set-action.ts).
 *
 * A reason has a code, for texts in the reader's language, and a sentence.
 */
import { inverseOf } from '../fleet/fleet.js';
import { parseInstant } from '../time.js';
import { SCOPE_TEXTS, rolesWith, type Scope } from '../scopes.js';
import { isFinal, type Action } from './action.js';

export type MayCode = 'scope' | 'state' | 'expired' | 'asked' | 'nothing' | 'rollback' | 'taken-back' | 'no-inverse';

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
  'state' | 'expiresAt' | 'askedAt' | 'rollbackOf' | 'takenBackBy' | 'effect' | 'before' | 'connection'
>;

export function mayDecide(action: Decided, scopes: readonly Scope[], now: number): MayDecide {
  const scope = ofScope(scopes);
  return {
    approve: scope ?? approval(action, now),
    reject: scope ?? rejection(action),
    rollback: scope ?? takingBack(action),
  };
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

function takingBack({ state, rollbackOf, takenBackBy, effect, before }: Decided): May {
  if (!['applied', 'confirmed', 'measured'].includes(state)) return no('nothing', 'there is nothing to roll back');
  if (rollbackOf !== null) return no('rollback', 'it is itself a rollback');
  if (takenBackBy !== null) return no('taken-back', `it is being rolled back by ${takenBackBy}`);
  return before === null || inverseOf(effect, before) === null ? no('no-inverse', 'it cannot be rolled back') : null;
}

/** For a recommendation: by its status, its end, and its lasting obstacles. */
export function mayDecideRecommendation(
  { status, expiresAt }: { readonly status: string; readonly expiresAt: string },
  scopes: readonly Scope[],
  now: number,
): Omit<MayDecide, 'rollback'> {
  const reason =
    ofScope(scopes) ??
    (status !== 'open'
      ? no('state', `it is ${status}`)
      : (parseInstant(expiresAt) ?? 0) <= now
        ? no('expired', 'it has expired')
        : null);
  return { approve: reason, reject: reason };
}
