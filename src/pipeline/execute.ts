/**
 * action.execute (action): from an approval to an effect that the provider has accepted. One step per run, each with
 * its own commit:
 *
 *   approved   reads the target again, runs the guard, and commits `intended` with the token; or waits, or refuses
 *   intended   first commits that the provider is asked (the same statement checks the kill switch), then asks it once
 *   asked      after a crash or a lost answer: queries the outcome, and never blindly requests the effect again
 *
 * The work row that a run holds keeps other runners away. A run commits its steps under the action's own row lock, and
 * checks the state again there. The guard decides (core/action/guard.ts), the table of states (core/action/action.ts)
 * says which states may follow, and its limits say how long each state waits.
 */
import {
  askAgainAt,
  CAPACITY_FOUND,
  doneAlready,
  halfDoneReason,
  isHalfMoved,
  lackingOf,
  lackingReasons,
  NO_CAPACITY,
  PATIENCE,
  undone,
  type Action,
  type Reason,
} from '../core/action/action.js';
import { Failure, NoCapacity } from '../core/errors.js';
import { isTakenByCloud, type FleetTarget } from '../core/fleet/fleet.js';
import { guard, isRetryable, type GuardReason, type Verdict } from '../core/action/guard.js';
import type { Policy } from '../core/policy/policy.js';
import type { EffectOutcome, ProviderConnection } from '../core/ports.js';
import { MINUTE_MS, type Clock } from '../core/time.js';
import type { Reach } from '../core/action/acting.js';
import { CONFIRM, EXECUTE, type Moved, type Step } from '../store/action/actions.js';
import type { Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { teamBy } from './collect-fleet.js';
import { reachingStage, type Stage } from './stage.js';

export type Connections = ReadonlyMap<string, ProviderConnection>;

/** The actor name for the line's own steps. */
export const LINE = 'line';

/** The pause between two checks of a temporary reason against an action. */
const WAIT_MS = MINUTE_MS;

type Needed = Pick<
  Stores,
  'db' | 'actions' | 'fleet' | 'home' | 'organisations' | 'recommendations' | 'safety' | 'savings'
>;

export function executeStage(stores: Needed, policies: readonly Policy[], connections: Connections): Stage {
  return reachingStage(EXECUTE, async ({ organisation, key, clock }) => {
    const workItems = await new Execution(stores, policies, connections, organisation, clock).advance(key);
    return async () => workItems;
  });
}

/** Between two evaluations of a process that has not the connection of an action. */
const ELSEWHERE_MS = 5000;

/** A target as it was read (null: it is not there), and since when that is known. */
interface Reading {
  readonly seen: FleetTarget | null;
  readonly at: number;
}

/** The provider's answer, or the certainty that it was not asked. */
type Answer =
  | EffectOutcome
  | { readonly kind: 'not-sent'; readonly code: string; readonly detail: string }
  | { readonly kind: 'impossible'; readonly code: string; readonly detail: string };

class Execution {
  constructor(
    private readonly stores: Needed,
    private readonly policies: readonly Policy[],
    private readonly connections: Connections,
    private readonly organisation: string,
    private readonly clock: Clock,
  ) {}

  /** Time passes while a provider answers and while a lock is waited for. */
  private get now(): number {
    return this.clock.now();
  }

  async advance(id: string): Promise<readonly WorkItem[]> {
    const action = await this.stores.actions.get(this.stores.db, this.organisation, id);
    if (action === null) return [];
    const { state } = action;
    if (state === 'proposed')
      return this.now >= action.expiresAt ? this.expire(action) : [executeLater(action, action.expiresAt)];
    if (state === 'approved' && this.now >= action.expiresAt) return this.expire(action);
    // Another process may have the connection: nothing is known of the target here, so nothing is refused.
    if ((state === 'approved' || state === 'intended') && !this.connections.has(action.connection))
      return [executeLater(action, soonest(action, this.now + ELSEWHERE_MS))];
    if (state === 'approved') return this.intend(action);
    if (state === 'intended')
      return action.askedAt === null ? this.send(action) : this.record(action, await this.outcomeOf(action));
    // A crash between the last commit and the enqueuing that follows it.
    return state === 'applied' ? [{ stage: CONFIRM, partition: action.team, key: id }] : [];
  }

  private expire(action: Action): Promise<readonly WorkItem[]> {
    return this.commit(
      action,
      async (tx, current) =>
        (await this.stores.actions.move(tx, this.organisation, current, 'expired', { at: this.now, actor: LINE }))
          .workItems,
    );
  }

  /** Reads the target, asks the guard, and commits the intent. */
  private async intend(action: Action): Promise<readonly WorkItem[]> {
    return this.guarded(action, action.approvedAt, async (tx, current, { seen, at }, { gpus, replicas }) => {
      const moved = await this.stores.actions.move(tx, this.organisation, current, 'intended', {
        at: this.now,
        actor: LINE,
        detail: { gpus, replicas },
        set: { token: `bursar-${current.id}`, before: seen, beforeAt: at, gpus, replicas, reasons: [] },
      });
      return moved.workItems;
    });
  }

  /** An intent that was delayed: the target is read and guarded again before anything is sent. */
  private async readAgain(action: Action): Promise<readonly WorkItem[]> {
    return this.guarded(action, action.intendedAt, async (tx, current, { seen, at }, { gpus, replicas }) => {
      // What is put back is where it stood before it was ended there.
      const before = isHalfMoved(current) ? current.before : seen;
      const set = { before, beforeAt: at, gpus, replicas, reasons: carriedOn(current) };
      await this.note(tx, current, { code: 'read-again', set });
      return [executeLater(current)];
    });
  }

  /**
   * Reads the target, then asks the guard under the action's lock. With a temporary reason the action waits; a
   * permanent reason refuses it. @param since the time of the first try
   */
  private async guarded(
    action: Action,
    since: number | null,
    allowed: (tx: Transaction, current: Action, reading: Reading, reach: Reach) => Promise<readonly WorkItem[]>,
  ): Promise<readonly WorkItem[]> {
    const connection = this.connections.get(action.connection) ?? null;
    // Taken before the request, so the reading is at least as new.
    const at = this.now;
    let seen: FleetTarget | null = null;
    try {
      if (action.effect.kind !== 'purchase') seen = (await connection?.target?.(action.target)) ?? null;
      if (action.effect.kind === 'replace' && seen !== null) seen = await this.withKept(action, seen);
    } catch (error) {
      if (error instanceof Failure && error.kind !== 'unavailable' && !isHalfMoved(action))
        return this.refuse(action, [{ code: `provider-${error.kind}`, message: error.message }]);
      return [executeLater(action, soonest(action, askAgainAt(since ?? this.now, this.now)))];
    }
    return this.commit(
      action,
      async (tx, current) => {
        if (current.askedAt !== null) return [executeLater(current)];
        const verdict = await this.judge(tx, current, connection, { seen, at });
        if (verdict.allowed) return allowed(tx, current, { seen, at }, verdict.reach);
        return isRetryable(verdict.reasons)
          ? this.wait(tx, current, verdict.reasons)
          : (await this.refused(tx, current, verdict.reasons)).workItems;
      },
      { serialised: true },
    );
  }

  /**
   * The machine to replace, with the data of its creation, which the cloud and its creator may have forgotten, and with
   * the cloud's report that it is unhealthy, which only lists contain.
   */
  private async withKept({ connection, target }: Action, seen: FleetTarget): Promise<FleetTarget> {
    const kept = await this.stores.fleet.keptOf(this.stores.db, this.organisation, connection, target);
    // The cloud forgets the tags of an ended machine after a while; the tags name its template and its team.
    const isForgotten = isTakenByCloud(seen) && Object.keys(seen.labels).length === 0;
    return { ...kept, ...seen, labels: isForgotten ? (kept.labels ?? {}) : seen.labels };
  }

  /** Whether a replacement is for a machine that was lost as a whole. */
  private async isForMachine({ effect, recommendation }: Action, tx: Transaction): Promise<boolean> {
    if (effect.kind !== 'replace' || recommendation === null) return false;
    const { organisation, stores } = this;
    return (await stores.recommendations.get(organisation, recommendation, tx))?.change['lost'] === 'machine';
  }

  /**
   * The current team. The cloud forgets the labels of a reclaimed machine after a while, so missing labels do not mean
   * another team.
   */
  private async ownerOf(tx: Transaction, seen: FleetTarget | null): Promise<string | null> {
    if (seen === null || (isTakenByCloud(seen) && Object.keys(seen.labels).length === 0)) return null;
    return teamBy(await this.stores.organisations.rules(tx, this.organisation))(seen);
  }

  private async judge(
    tx: Transaction,
    action: Action,
    connection: ProviderConnection | null,
    { seen, at }: Reading,
  ): Promise<Verdict> {
    const { safety, actions } = this.stores;
    const subject = await actions.subjectOf(tx, this.organisation, action.id);
    const names = [action.target, ...(seen === null ? [] : [seen.name]), ...(subject === null ? [] : [subject.target])];
    const known = await safety.facts(tx, this.organisation, action, names, this.policies, this.now);
    const original = action.rollbackOf === null ? null : await actions.get(tx, this.organisation, action.rollbackOf);
    return guard({
      ...known,
      now: this.now,
      action,
      seen,
      seenAt: at,
      owner: await this.ownerOf(tx, seen),
      connection:
        connection === null
          ? null
          : { canAct: connection.canAct && connection.apply !== undefined, canRead: connection.target !== undefined },
      lostMachine: await this.isForMachine(action, tx),
      takesBack: original === null ? null : { effect: original.effect, wasConfirmed: original.confirmedAt !== null },
    });
  }

  /** The reason may pass by itself: the action stays approved, and a changed reason is recorded. */
  private async wait(tx: Transaction, action: Action, reasons: readonly GuardReason[]): Promise<readonly WorkItem[]> {
    const codes = (all: readonly Reason[]): string => all.map(({ code }) => code).join(' ');
    const all = [...carriedOn(action), ...plain(reasons)];
    if (codes(all) !== codes(action.reasons))
      await this.stores.actions.note(tx, this.organisation, action, {
        at: this.now,
        actor: LINE,
        code: 'waiting',
        detail: { reasons },
        set: { reasons: all },
      });
    return [executeLater(action, soonest(action, this.now + WAIT_MS))];
  }

  /** Commits that the provider is asked now, then asks it. */
  private async send(action: Action): Promise<readonly WorkItem[]> {
    const connection = this.connections.get(action.connection);
    if (connection?.apply === undefined)
      return this.refuse(action, [
        { code: 'no-connection', message: `there is no longer a connection ${action.connection} that can act` },
      ]);
    // A workload that stands still between its two places is brought to one of them rather than left.
    const patience = isHalfMoved(action) ? PATIENCE.outcomeMs : PATIENCE.intentMs;
    if (this.now - (action.intendedAt ?? this.now) > patience)
      return this.refuse(action, [{ code: 'intent-stale', message: notInTime(action, patience) }]);
    if (await this.isOld(action)) return this.readAgain(action);
    const { mayAsk, workItems } = await this.commitAs(action, { mayAsk: false, workItems: [] }, (tx, current) =>
      this.ask(tx, current),
    );
    if (!mayAsk) return workItems;
    const { token } = action;
    return this.record(
      { ...action, askedAt: this.now },
      token === null
        ? NO_ANSWER
        : await answerOf(
            () => connection.apply?.(action.effect, token, action.before),
            action.effect.kind === 'purchase',
          ),
    );
  }

  /** Whether the reading before an intent is older than the limits allow, or has been overtaken. */
  private async isOld({ team, effect, beforeAt }: Action): Promise<boolean> {
    if (effect.kind === 'purchase') return false;
    if (beforeAt === null) return true;
    const limits = await this.stores.safety.limits(this.stores.db, this.organisation, team);
    return this.now - beforeAt > limits.team.readingSeconds * 1000;
  }

  /** Commits that the provider is asked now, unless somebody has asked it or the kill switch is on. */
  private async ask(
    tx: Transaction,
    action: Action,
  ): Promise<{ readonly mayAsk: boolean; readonly workItems: readonly WorkItem[] }> {
    if (action.askedAt !== null) return { mayAsk: false, workItems: [executeLater(action)] };
    // It may have been carried out after the backup was taken: the tick refuses it (after-restore.ts).
    if ((await this.stores.home.moved(tx, this.organisation)).length > 0)
      return { mayAsk: false, workItems: [executeLater(action, this.now + ELSEWHERE_MS)] };
    if (await this.stores.safety.mayAsk(tx, this.organisation, action, this.now)) {
      await this.note(tx, action, { code: 'asked' });
      return { mayAsk: true, workItems: [] };
    }
    const reason = { code: 'stopped', message: 'the kill switch was set before it was sent' };
    if (isHalfMoved(action))
      return { mayAsk: false, workItems: await this.wait(tx, action, [{ ...reason, passing: true }]) };
    return { mayAsk: false, workItems: (await this.refused(tx, action, [reason])).workItems };
  }

  /** The outcome of a requested effect. */
  private async outcomeOf(action: Action): Promise<Answer> {
    const connection = this.connections.get(action.connection);
    const { effect, token } = action;
    try {
      return (token === null ? undefined : await connection?.outcome?.(effect, token)) ?? NO_ANSWER;
    } catch (error) {
      return { kind: 'unknown', detail: error instanceof Error ? error.message : 'no reason given' };
    }
  }

  /** Commits the provider's answer. A later call after it was recorded changes nothing. */
  private record(asked: Action, answer: Answer): Promise<readonly WorkItem[]> {
    return this.commit(asked, async (tx, action) => {
      const { actions } = this.stores;
      const step = { at: this.now, actor: asked.connection };
      switch (answer.kind) {
        case 'taken': {
          const { workItems } = await actions.move(tx, this.organisation, action, 'applied', {
            ...step,
            ...(action.reasons.some(({ code }) => code === NO_CAPACITY) ? { code: CAPACITY_FOUND } : {}),
            detail: { reference: answer.reference, detail: answer.detail },
            set: { reasons: answer.lacks === undefined ? lackingOf(action) : lackingReasons(answer.lacks) },
          });
          await this.writeDown(tx, action);
          return workItems;
        }
        case 'refused':
          return (await this.refused(tx, action, [{ code: answer.code, message: answer.detail }], asked.connection))
            .workItems;
        case 'half-done':
          return this.halfDone(tx, action, answer);
        case 'impossible':
          return this.failed(tx, action, { code: answer.code, message: answer.detail });
        case 'not-sent':
          // The action shows why it waits (no capacity, throttled) until the provider takes it.
          await this.note(tx, action, {
            code: answer.code,
            detail: { detail: answer.detail },
            set: {
              askedAt: null,
              reasons: [
                ...carriedOn(action).filter(({ code }) => code !== answer.code),
                { code: answer.code, message: answer.detail },
              ],
            },
          });
          return [executeLater(action, askAgainAt(action.intendedAt ?? this.now, this.now))];
        case 'absent':
          return this.absent(tx, action);
        case 'unknown':
          return this.unknown(tx, action, answer.detail);
      }
    });
  }

  /**
   * The counterfactual, from the reading before the action, in the same commit that marks it applied: later readings
   * cannot influence it.
   */
  private async writeDown(tx: Transaction, { id, team }: Action): Promise<void> {
    const { savings, organisations } = this.stores;
    const facts = await savings.facts(tx, this.organisation, team, [id]);
    await savings.open(
      tx,
      this.organisation,
      facts,
      await organisations.currencyOf(tx, this.organisation, team),
      this.now,
    );
  }

  /**
   * It never arrived. It may be sent again once the request cannot be under way any more; a purchase is sent once and
   * never again.
   */
  private async absent(tx: Transaction, action: Action): Promise<readonly WorkItem[]> {
    if (action.effect.kind === 'purchase')
      return this.failed(tx, action, {
        code: 'purchase-absent',
        message: 'the purchase did not arrive; it is not sent again automatically',
      });
    const free = (action.askedAt ?? this.now) + PATIENCE.requestMs;
    if (this.now < free) return [executeLater(action, free)];
    await this.note(tx, action, { code: 'absent', set: { askedAt: null } });
    return [executeLater(action)];
  }

  /** Recorded at once. The rest is done only after another reading, and only if the guard still allows it. */
  private async halfDone(
    tx: Transaction,
    action: Action,
    { detail: message, lacks }: { readonly detail: string; readonly lacks?: readonly string[] },
  ): Promise<readonly WorkItem[]> {
    const lacking = lacks === undefined ? lackingOf(action) : lackingReasons(lacks);
    const set = { askedAt: null, beforeAt: null, reasons: [halfDoneReason(message), ...lacking] };
    await this.note(tx, action, { code: 'half-done', detail: { message }, set });
    return [executeLater(action, askAgainAt(action.intendedAt ?? this.now, this.now, 5000, MINUTE_MS / 2))];
  }

  private async unknown(tx: Transaction, action: Action, detail: string): Promise<readonly WorkItem[]> {
    const since = action.askedAt ?? this.now;
    if (this.now - since >= PATIENCE.outcomeMs)
      return this.failed(tx, action, {
        code: 'outcome-unknown',
        message: `${action.connection} does not know its outcome: ${detail}`,
      });
    const reason = { code: 'outcome-unknown', message: detail };
    if (!action.reasons.some(({ code }) => code === reason.code))
      await this.note(tx, action, {
        code: reason.code,
        detail: { detail },
        set: { reasons: [...carriedOn(action), reason] },
      });
    return [executeLater(action, askAgainAt(since, this.now))];
  }

  private async failed(tx: Transaction, action: Action, reason: Reason): Promise<readonly WorkItem[]> {
    return (
      await this.stores.actions.move(tx, this.organisation, action, 'failed', {
        at: this.now,
        actor: LINE,
        code: reason.code,
        detail: { ...reason },
        set: { reasons: [...doneAlready(action), reason] },
      })
    ).workItems;
  }

  private refuse(action: Action, reasons: readonly Reason[]): Promise<readonly WorkItem[]> {
    return this.commit(action, async (tx, current) =>
      current.askedAt !== null ? [executeLater(current)] : (await this.refused(tx, current, reasons)).workItems,
    );
  }

  private refused(tx: Transaction, action: Action, why: readonly Reason[], actor = LINE): Promise<Moved> {
    const { to, reasons } = undone(action, plain(why));
    const step = { at: this.now, actor, detail: { reasons }, set: { reasons } };
    return this.stores.actions.move(tx, this.organisation, action, to, step);
  }

  private note(tx: Transaction, action: Action, step: Omit<Step, 'at' | 'actor'>): Promise<Action> {
    return this.stores.actions.note(tx, this.organisation, action, { at: this.now, actor: LINE, ...step });
  }

  private commit(
    action: Action,
    work: (tx: Transaction, current: Action) => Promise<readonly WorkItem[]>,
    options = { serialised: false },
  ): Promise<readonly WorkItem[]> {
    return this.commitAs<readonly WorkItem[]>(action, [], work, options);
  }

  /** A commit of its own under the action's lock; `otherwise` where the action has left its state meanwhile. */
  private commitAs<T>(
    action: Action,
    otherwise: T,
    work: (tx: Transaction, current: Action) => Promise<T>,
    { serialised } = { serialised: false },
  ): Promise<T> {
    return this.stores.db.transaction(async (tx) => {
      if (serialised) await this.stores.actions.serialise(tx, this.organisation);
      const current = await this.stores.actions.lock(tx, this.organisation, action.id);
      return current === null || current.state !== action.state ? otherwise : work(tx, current);
    });
  }
}

const NOT_SENT = 'not-sent';

/** The reasons that stay visible meanwhile: the part already done, and the wait for capacity. */
const carriedOn = ({ reasons }: Action): readonly Reason[] => [
  ...doneAlready({ reasons }),
  ...reasons.filter(({ code }) => code === NO_CAPACITY),
];

/** Includes the last reason for waiting. */
function notInTime({ reasons }: Action, patienceMs: number): string {
  const last = reasons.find(({ code }) => code === NO_CAPACITY || code === NOT_SENT);
  return last === undefined
    ? 'it was not sent in time: the reading before it is too old'
    : `it was tried for ${patienceMs / MINUTE_MS} minutes: ${last.message}`;
}

const NO_ANSWER: Answer = { kind: 'unknown', detail: 'it does not say' };

/**
 * Requests an effect. By contract a Failure means that nothing was sent; after any other error the outcome is unknown.
 * For a purchase even a Failure is not trusted: its outcome is queried.
 */
async function answerOf(ask: () => Promise<EffectOutcome> | undefined, isPurchase: boolean): Promise<Answer> {
  try {
    return (await ask()) ?? NO_ANSWER;
  } catch (error) {
    const detail = error instanceof Error ? error.message : 'no reason given';
    if (!(error instanceof Failure)) return { kind: 'unknown', detail };
    if (error.kind === 'unavailable' && isPurchase) return { kind: 'unknown', detail };
    if (error.kind === 'unavailable')
      return { kind: 'not-sent', code: error instanceof NoCapacity ? NO_CAPACITY : NOT_SENT, detail };
    return { kind: 'impossible', code: `provider-${error.kind}`, detail };
  }
}

const plain = (reasons: readonly Reason[]): Reason[] => reasons.map(({ code, message }) => ({ code, message }));

/** Not later than it expires; what stands still between two places expires never. */
const soonest = (action: Action, at: number): number => (isHalfMoved(action) ? at : Math.min(action.expiresAt, at));

const executeLater = ({ team, id }: Action, notBefore?: number): WorkItem => ({
  stage: EXECUTE,
  partition: team,
  key: id,
  ...(notBefore === undefined ? {} : { notBefore }),
});
