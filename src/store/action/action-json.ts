/**
 * An action as every entry point shows it: instants as ISO 8601, amounts as decimal strings. Nothing is left out and
 * nothing is a secret.
 */
import { effectToJson, type Action, type EffectJson } from '../../core/action/action.js';
import { formatInstant } from '../../core/time.js';
import type { ActionEvent } from './actions.js';

type Instant =
  | 'proposedAt'
  | 'expiresAt'
  | 'evidenceAt'
  | 'approvedAt'
  | 'intendedAt'
  | 'askedAt'
  | 'appliedAt'
  | 'confirmedAt'
  | 'endedAt'
  | 'beforeAt'
  | 'afterAt';

/** What follows an action, and when. */
export interface NextActionJson {
  readonly effect: EffectJson;
  readonly notBefore: string;
  readonly expiresAt: string;
}

export type ActionJson = Omit<Action, Instant | 'effect' | 'next' | 'follows'> & {
  readonly effect: EffectJson;
  readonly next: NextActionJson | null;
  readonly follows: string | null;
} & { readonly [K in Instant]: string | null };

/** With what happened to it, oldest first. */
export type ActionStory = ActionJson & { readonly events: readonly ActionEvent[] };

export function actionJson(action: Action): ActionJson {
  const at = (instant: number | null): string | null => (instant === null ? null : formatInstant(instant));
  const { effect, next = null, follows = null, ...rest } = action;
  return {
    ...rest,
    follows,
    next:
      next === null
        ? null
        : {
            effect: effectToJson(next.effect),
            notBefore: formatInstant(next.notBefore),
            expiresAt: formatInstant(next.expiresAt),
          },
    effect: effectToJson(effect),
    proposedAt: at(action.proposedAt),
    expiresAt: at(action.expiresAt),
    evidenceAt: at(action.evidenceAt),
    approvedAt: at(action.approvedAt),
    intendedAt: at(action.intendedAt),
    askedAt: at(action.askedAt),
    appliedAt: at(action.appliedAt),
    confirmedAt: at(action.confirmedAt),
    endedAt: at(action.endedAt),
    beforeAt: at(action.beforeAt),
    afterAt: at(action.afterAt),
  };
}
