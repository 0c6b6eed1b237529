/** An action as both doors show it: instants as ISO 8601, amounts as decimal strings. Nothing is left out and nothing is a secret. */
import { effectToJson, type Action, type EffectJson } from '../core/action.js';
import { formatInstant } from '../core/time.js';
import type { ActionEvent } from './actions.js';

type Instant = 'proposedAt' | 'expiresAt' | 'evidenceAt' | 'approvedAt' | 'intendedAt' | 'askedAt' | 'appliedAt' | 'confirmedAt' | 'endedAt' | 'beforeAt' | 'afterAt';

export type ActionJson = Omit<Action, Instant | 'effect'> & { readonly effect: EffectJson } & { readonly [K in Instant]: string | null };

/** With what happened to it, oldest first. */
export type ActionStory = ActionJson & { readonly events: readonly ActionEvent[] };

export function actionJson(action: Action): ActionJson {
  const at = (instant: number | null): string | null => (instant === null ? null : formatInstant(instant));
  const { effect, ...rest } = action;
  return {
    ...rest, effect: effectToJson(effect), proposedAt: at(action.proposedAt), expiresAt: at(action.expiresAt), evidenceAt: at(action.evidenceAt), approvedAt: at(action.approvedAt),
    intendedAt: at(action.intendedAt), askedAt: at(action.askedAt), appliedAt: at(action.appliedAt), confirmedAt: at(action.confirmedAt), endedAt: at(action.endedAt),
    beforeAt: at(action.beforeAt), afterAt: at(action.afterAt),
  };
}
