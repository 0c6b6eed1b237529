/**
 * Applies an evaluation of a team to its actions: recommendations in mode approve become proposals, and in mode enforce
 * approved actions. An action that is no longer proposed is withdrawn if it has not begun, and rolled back if its
 * policy holds only while it proposes. Decides nothing itself and asks no provider. Repeating the same evaluation
 * changes nothing.
 */
import {
  asksForOther,
  asUntouched,
  isForPromise,
  newestEvidence,
  opensAgain,
  subjectOf,
  wasRefusedByReading,
} from '../core/action/acting.js';
import {
  isApprovedByPolicy,
  isSameEffect,
  OPEN_STATES,
  policyActor,
  type Action,
  type Reason,
} from '../core/action/action.js';
import { candidatesOf, isAsSevereAs, sizedBy } from '../core/policy/decision.js';
import type { Policy, PolicyView } from '../core/policy/policy.js';
import type { Recommendation } from '../core/policy/recommendation.js';
import type { HeldAction } from '../store/action/actions.js';
import {
  expiryOf,
  obstaclesIn,
  planExpiry,
  planOf,
  proposeAction,
  type Plan,
} from '../application/action/carry-out.js';
import type { Transaction } from '../store/database.js';
import type { StoredPolicy } from '../store/policy/policies.js';
import { liftBrake } from '../application/action/set-action.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';

export interface Evaluation {
  readonly organisation: string;
  readonly team: string;
  readonly now: number;
  readonly view: PolicyView;
  /** The proposals of this evaluation, without those that are only observed. */
  readonly recommendations: readonly Recommendation[];
  /** Not proposed because the evaluation lacked the evidence; their actions stay unchanged. */
  readonly standing: readonly string[];
  /** Those that hold: none is paused. */
  readonly documents: readonly StoredPolicy[];
  readonly policies: readonly Policy[];
}

type Needed = Pick<Stores, 'actions' | 'keys' | 'policies' | 'recommendations' | 'safety' | 'targets'>;

/** Brings a team's actions in line with an evaluation. Returns what the steps enqueue. */
export async function settleActions(stores: Needed, tx: Transaction, evaluation: Evaluation): Promise<WorkItem[]> {
  const { organisation, team, recommendations } = evaluation;
  const wanted = recommendations.filter(({ mode }) => mode === 'approve' || mode === 'enforce');
  if (wanted.length === 0 && !(await stores.actions.concerns(tx, organisation, team))) return [];
  await stores.actions.serialise(tx, organisation);
  const settling = new Settling(stores, tx, evaluation);
  await settling.revoke(wanted);
  await settling.make(wanted);
  await settling.liftBrakes();
  return settling.workItems;
}

class Settling {
  readonly workItems: WorkItem[] = [];

  constructor(
    private readonly stores: Needed,
    private readonly tx: Transaction,
    private readonly evaluation: Evaluation,
  ) {}

  /**
   * Actions that have not begun follow the newest evaluation: renewed if it proposes the same, otherwise withdrawn. An
   * action that a person approved is never withdrawn, unless it waits for a promise that needs its target for more.
   */
  async revoke(wanted: readonly Recommendation[]): Promise<void> {
    const { organisation, team, policies, recommendations, standing, now } = this.evaluation;
    for (const action of await this.stores.actions.pending(
      this.tx,
      organisation,
      team,
      policies.map(({ name }) => name),
    )) {
      if (action.recommendation !== null && standing.includes(action.recommendation)) continue;
      const byPerson = isApprovedByPerson(action);
      const sizer = byPerson ? await this.promiserFor(action, wanted) : null;
      if (sizer !== null) {
        await this.withdraw(action, sizedBy(sizer));
        continue;
      }
      const recommendation = (byPerson ? recommendations : wanted).find(({ id }) => id === action.recommendation);
      const plan =
        recommendation === undefined ? null : await planOf(this.stores, this.tx, organisation, recommendation, now);
      const isSame =
        plan !== null &&
        'effect' in plan &&
        plan.connection === action.connection &&
        isSameEffect(plan.effect, action.effect) &&
        plan.next?.notBefore === action.next?.notBefore;
      if (isSame && recommendation !== undefined)
        await this.renew(action, recommendation, planExpiry(recommendation, plan));
      else if (!byPerson)
        await this.withdraw(
          action,
          plan !== null && 'obstacle' in plan
            ? plan.obstacle
            : {
                code: 'superseded',
                message: `its policy ${plan === null ? 'no longer proposes it' : 'proposes something else now'}`,
              },
        );
    }
  }

  /** The document that asks for more of a target than a promise would have while an action waits for it; null: none. */
  private async promiserFor(action: Action, wanted: readonly Recommendation[]): Promise<string | null> {
    if (!action.reasons.some(({ code }) => code === 'service-floor')) return null;
    for (const one of wanted.filter(isForPromise)) {
      const plan = await planOf(this.stores, this.tx, this.evaluation.organisation, one, this.evaluation.now);
      if ('effect' in plan && plan.connection === action.connection && plan.effect.target === action.target)
        return one.document;
    }
    return null;
  }

  private async withdraw(action: Action, reason: Reason): Promise<void> {
    const { organisation, now } = this.evaluation;
    const moved = await this.stores.actions.move(this.tx, organisation, action, 'refused', {
      at: now,
      actor: action.proposedBy,
      code: 'withdrawn',
      detail: { ...reason },
      set: { reasons: [{ code: 'superseded', message: reason.message }] },
    });
    if (action.recommendation !== null)
      await this.stores.recommendations.release(this.tx, organisation, action.recommendation);
    this.workItems.push(...moved.workItems);
  }

  private async renew(action: Action, recommendation: Recommendation, expiresAt: number): Promise<void> {
    const { organisation, now } = this.evaluation;
    const renewed = await this.stores.actions.note(this.tx, organisation, action, {
      at: now,
      actor: action.proposedBy,
      set: { expiresAt, evidenceAt: newestEvidence(recommendation) },
    });
    // A document that was raised to enforce approves its existing proposals.
    if (action.state === 'proposed' && recommendation.mode === 'enforce') await this.enforce(renewed, recommendation);
  }

  /** Makes actions of open recommendations that have none, and notes why where nothing carries one out. */
  async make(wanted: readonly Recommendation[]): Promise<void> {
    const { organisation, now, view } = this.evaluation;
    const open = await this.stores.recommendations.openAmong(
      this.tx,
      organisation,
      wanted.map(({ id }) => id),
    );
    const newest = await this.stores.actions.newestOf(this.tx, organisation, [...open]);
    const overtaken = await this.stores.actions.overtaken(
      this.tx,
      organisation,
      [...newest.values()].map(({ id }) => id),
    );
    const obstacles = new Map<string, readonly Reason[]>();
    const held = await this.held();
    for (const recommendation of wanted.filter(({ id }) => open.has(id))) {
      const last = newest.get(recommendation.id);
      if (last !== undefined && OPEN_STATES.includes(last.state)) continue;
      const plan =
        now >= expiryOf(recommendation)
          ? EXPIRED
          : mayAskAgain(last, recommendation, overtaken.get(last?.id ?? '') ?? null)
            ? await planOf(this.stores, this.tx, organisation, recommendation, now)
            : JUST_ENDED;
      const hindrance =
        'obstacle' in plan || recommendation.mode !== 'enforce'
          ? null
          : (this.brakeAgainst(held, recommendation, plan) ?? (await this.hindrance(plan)));
      obstacles.set(recommendation.id, hindrance === null ? obstaclesIn(plan) : [hindrance]);
      if ('obstacle' in plan || hindrance !== null) continue;
      const made = await proposeAction(this.stores, this.tx, organisation, {
        recommendation,
        plan,
        subject: subjectOf(recommendation, view),
        mode: recommendation.mode,
        now,
      });
      this.workItems.push(...made.workItems);
      if (recommendation.mode === 'enforce') await this.enforce(made.action, recommendation);
    }
    await this.stores.recommendations.saveObstacles(this.tx, organisation, obstacles);
  }

  /**
   * The reason that prevents a policy, but not a person, from approving now. Then there is no action yet, and the next
   * evaluation asks again.
   */
  private async hindrance({
    connection,
    effect,
  }: Pick<Extract<Plan, { readonly effect: unknown }>, 'connection' | 'effect'>): Promise<Reason | null> {
    const { safety } = this.stores;
    const { organisation, team } = this.evaluation;
    if ((await safety.stopsOver(this.tx, organisation, team, connection)).length > 0)
      return { code: 'stopped', message: 'the kill switch is on' };
    const live = await safety.liveOn(this.tx, organisation, connection, effect.target, []);
    return live === null
      ? null
      : { code: 'live-action', message: `the action ${live} is under way on ${effect.target}` };
  }

  /** What a brake holds small is not made larger by another policy: each would undo the other, beyond the budget. */
  private brakeAgainst(
    held: readonly HeldAction[],
    { action, policy }: Recommendation,
    { connection, effect }: Pick<Extract<Plan, { readonly effect: unknown }>, 'connection' | 'effect'>,
  ): Reason | null {
    if (action !== 'ScaleOut' && action !== 'Start') return null;
    const brake = held.find(
      ({ action: one }) => one.connection === connection && one.target === effect.target && one.policy !== policy,
    );
    const document = brake?.action.document ?? null;
    if (document === null || !this.evaluation.documents.some(({ name }) => name === document)) return null;
    const { code, message } = sizedBy(document);
    return { code, message };
  }

  /** What brakes have done and not taken back. */
  private async held(): Promise<readonly HeldAction[]> {
    const { organisation, team, policies } = this.evaluation;
    const holding = policies.filter(({ holdsWhileProposed }) => holdsWhileProposed === true).map(({ name }) => name);
    return holding.length === 0 ? [] : this.stores.actions.held(this.tx, organisation, team, holding);
  }

  /** The document approves; a purchase only where its organisation has set a limit for purchases without approval. */
  private async enforce(action: Action, { id, document }: Recommendation): Promise<void> {
    const { organisation, team, now } = this.evaluation;
    const { actions, recommendations, safety } = this.stores;
    if (
      action.effect.kind === 'purchase' &&
      (await safety.limits(this.tx, organisation, team)).team.purchasesPerMonth === null
    )
      return;
    if ((await this.hindrance(action)) !== null) return;
    const by = policyActor(document);
    const moved = await actions.move(this.tx, organisation, action, 'approved', {
      at: now,
      actor: by,
      set: { approvedBy: by },
    });
    await recommendations.follow(this.tx, organisation, id, 'approved', by, now);
    this.workItems.push(...moved.workItems);
  }

  /**
   * Takes back what holds only while it is proposed, and is not. A document that rests or is gone is not asked, and
   * nothing of it changes.
   */
  async liftBrakes(): Promise<void> {
    const { organisation, documents, policies, view, now } = this.evaluation;
    const held = await this.held();
    for (const document of documents) {
      const own = held.filter(({ action }) => action.document === document.name && action.policy === document.policy);
      if (own.length === 0) continue;
      const candidates = candidatesOf(
        asUntouched(
          view,
          own.map(({ subject }) => subject),
        ),
        [document],
        policies,
      );
      const isOver = ({ subject }: HeldAction): boolean =>
        !candidates.some(
          ({ proposal }) => proposal.target === subject.target && isAsSevereAs(proposal.action, subject.action),
        );
      for (const { action } of own.filter(isOver)) await liftBrake(this.stores, this.tx, organisation, action, now);
    }
  }
}

const EXPIRED: Plan = { obstacle: { code: 'expired', message: 'its evidence is too old to act on' } };
const JUST_ENDED: Plan = {
  obstacle: {
    code: 'just-ended',
    message: 'its last action has just ended: newer evidence is needed to propose it again',
  },
};

/**
 * Whether an open recommendation may have another action after its last one. A withdrawal by the policy itself does not
 * count.
 */
function mayAskAgain(last: Action | undefined, recommendation: Recommendation, overtakenAt: number | null): boolean {
  if (
    last === undefined ||
    (last.state === 'refused' && last.reasons.some(({ code }) => code === 'superseded') && !isApprovedByPerson(last))
  )
    return true;
  return opensAgain(
    {
      status: 'approved',
      hasLapsed: false,
      action: { endedAt: last.endedAt },
      asksForOther: asksForOther(last, recommendation),
      isForPromise: isForPromise(recommendation),
      overtakenAt,
      refusedByReading: wasRefusedByReading(last),
    },
    newestEvidence(recommendation),
  );
}

const isApprovedByPerson = (action: Action): boolean => action.approvedBy !== null && !isApprovedByPolicy(action);
