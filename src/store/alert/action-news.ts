/**
 * Steps of actions that are worth an alert: requests for approval, outcomes, and long waits.
 */
import {
  answerOf,
  approvalIdentity,
  identityOf,
  outcomeOf,
  type Answer,
  type AnswerKind,
  type ApprovalNews,
  type News,
  type Outcome,
  type ResultNews,
} from '../../core/alert/alert.js';
import {
  CAPACITY_FOUND,
  effectToJson,
  NO_CAPACITY,
  waitOf,
  type Action,
  type ActionState,
} from '../../core/action/action.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';
import type { Stores } from '../stores.js';

type Needs = Pick<Stores, 'alerts' | 'actions'>;

export interface Answered {
  readonly identity: string;
  readonly answer: Answer;
}

interface StepRow {
  action: string;
  at: Date;
  from: ActionState | null;
  to: ActionState;
  actor: string;
  code: string;
}

/** The news of actions' steps since a time, and the answers. */
export async function actionNews(
  { actions, alerts }: Needs,
  db: Queryable,
  organisation: string,
  since: string,
): Promise<{ readonly news: readonly News[]; readonly answers: readonly Answered[] }> {
  const steps = await db.query<StepRow>(
    `select action, at, from_state as "from", to_state as "to", actor, code from action_event where organisation = $1 and at > $2 order by at, action, action_event.no`,
    [organisation, since],
  );
  const news: News[] = [];
  const answers: Answered[] = [];
  const found = new Map<string, Action | null>();
  for (const step of steps) {
    const what: AnswerKind | null = answerOf(step);
    if (what !== null)
      answers.push({
        identity: approvalIdentity(step.action),
        answer: { what, by: step.actor, at: formatInstant(step.at.getTime()) },
      });
    const outcome = outcomeOf(step);
    const isProposal = step.from === null && step.to === 'proposed';
    if (outcome === null && !isProposal) continue;
    if (!found.has(step.action)) found.set(step.action, await actions.get(db, organisation, step.action));
    const action = found.get(step.action) ?? null;
    if (action === null) continue;
    // An action that was decided meanwhile, or by its own policy, needs no approval.
    if (isProposal && action.state === 'proposed') news.push(approvalOf(action));
    if (outcome !== null && (await isNews(alerts, db, organisation, action, outcome)))
      news.push(resultOf(action, outcome));
  }
  return { news, answers };
}

/**
 * A wait for capacity that was over at the check is reported neither at its beginning nor at its end; for a wait that
 * ends with the action, the action's end is reported.
 */
async function isNews(
  alerts: Needs['alerts'],
  db: Queryable,
  organisation: string,
  action: Action,
  outcome: Outcome,
): Promise<boolean> {
  if (outcome === NO_CAPACITY) return waitOf(action) === NO_CAPACITY;
  if (outcome !== CAPACITY_FOUND) return true;
  if (action.state !== 'applied') return false;
  const begun = identityOf(resultOf(action, NO_CAPACITY));
  return (await alerts.known(db, organisation, [begun])).has(begun);
}

const approvalOf = ({ id, team, effect, connection, proposedBy, expiresAt }: Action): ApprovalNews => ({
  kind: 'approval',
  team,
  action: id,
  effect: effectToJson(effect),
  connection,
  proposedBy,
  expiresAt: formatInstant(expiresAt),
  because: null,
});

/** Effects after which the provider may not know the target any more. */
const ENDS: ReadonlySet<string> = new Set(['stop', 'terminate', 'replace']);

function resultOf(
  { id, team, effect, connection, approvedBy, rollbackOf, reasons, after, afterAt }: Action,
  outcome: ResultNews['outcome'],
): ResultNews {
  return {
    kind: 'result',
    team,
    action: id,
    outcome,
    effect: effectToJson(effect),
    connection,
    approvedBy,
    rollbackOf,
    // For a finished action they state the further proven facts: the replacement, the purchase.
    reasons,
    // An effect that no reading shows (a purchase, a cordon) has only the provider's answer.
    proof:
      outcome !== 'confirmed' || afterAt === null || (after === null && !ENDS.has(effect.kind))
        ? null
        : {
            at: formatInstant(afterAt),
            state: after?.state ?? 'gone',
            billing: after?.billing ?? 'ended',
            replicas: after?.replicas?.desired ?? null,
          },
  };
}
