/**
 * An action in the form that every entry point shows: times as ISO 8601, amounts as decimal strings. It leaves out only
 * the data of a machine's creation, which is for its provider alone (keys, profiles, perhaps more). Contains no secret.
 */
import type { FleetTarget } from '../../core/fleet/fleet.js';
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

/** The follow-up of an action, and its time. */
export interface NextActionJson {
  readonly effect: EffectJson;
  readonly notBefore: string;
  readonly expiresAt: string;
}

/** A target as it was read, without how it was made. */
export type ReadTargetJson = Omit<FleetTarget, 'launch'>;

export type ActionJson = Omit<Action, Instant | 'effect' | 'next' | 'follows' | 'before' | 'after'> & {
  readonly before: ReadTargetJson | null;
  readonly after: ReadTargetJson | null;
  readonly effect: EffectJson;
  readonly next: NextActionJson | null;
  readonly follows: string | null;
} & { readonly [K in Instant]: string | null };

/** With what happened to it, oldest first. */
export type ActionStory = ActionJson & { readonly events: readonly ActionEvent[] };

export function actionJson(action: Action): ActionJson {
  const at = (instant: number | null): string | null => (instant === null ? null : formatInstant(instant));
  const { effect, next = null, follows = null, before, after, ...rest } = action;
  return {
    ...rest,
    before: readTargetJson(before),
    after: readTargetJson(after),
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

function readTargetJson(target: FleetTarget | null): ReadTargetJson | null {
  if (target === null) return null;
  const { launch: _, ...shown } = target;
  return shown;
}
