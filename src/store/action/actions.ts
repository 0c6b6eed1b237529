/**
 * Actions and their events. Only `move` changes a state: it follows the table in core/action/action.ts, writes the
 * event and returns the work to enqueue. The caller holds the action's row (`lock`). Code that starts an action, or
 * counts past actions, runs under `serialise`, so that two workers never pass the same cap; that lock is always taken
 * before a row's lock. Events are added, never changed. It decides nothing.
 */
import { randomBytes } from 'node:crypto';
import type { Subject } from '../../core/action/acting.js';
import {
  effectFromJson,
  effectToJson,
  isFinal,
  LIVE_STATES,
  mayFollow,
  nextFromJson,
  nextToJson,
  OPEN_STATES,
  type Action,
  type ActionState,
  type EffectJson,
  type Next,
  type NextJson,
  type Reason,
} from '../../core/action/action.js';
import { assert, missing } from '../../core/errors.js';
import type { Effect, FleetTarget } from '../../core/fleet/fleet.js';
import type { PolicyMode } from '../../core/policy/recommendation.js';
import type { Queryable, Transaction } from '../database.js';
import { expedite, type WorkItem } from '../work.js';
import { waitForLock } from '../locks.js';

export const EXECUTE = 'action.execute';
export const CONFIRM = 'action.confirm';
export const FOLLOW = 'action.follow';
/** The stage that measures savings. */
export const VERIFY = 'saving.verify';

export interface NewAction {
  readonly team: string;
  readonly connection: string;
  readonly target: string;
  readonly effect: Effect;
  readonly mode: PolicyMode;
  readonly recommendation: string | null;
  readonly policy: string | null;
  readonly document: string | null;
  readonly subject: Subject | null;
  readonly rollbackOf: string | null;
  readonly underStop: boolean;
  readonly proposedBy: string;
  readonly evidenceAt: number | null;
  readonly expiresAt: number;
  /** Absent or null: nothing follows it. */
  readonly next?: Next | null;
  /** Absent or null: it follows none. */
  readonly follows?: string | null;
}

/** The actor and the time of a step, and its changes to the action. */
export interface Step {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly actor: string;
  /** What happened, if the state alone does not show it. */
  readonly code?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
  readonly set?: Readonly<Partial<Settable>>;
}

interface Settable {
  approvedBy: string;
  token: string;
  before: FleetTarget | null;
  beforeAt: number | null;
  after: FleetTarget | null;
  afterAt: number;
  askedAt: number | null;
  gpus: number | null;
  replicas: number;
  expiresAt: number;
  evidenceAt: number | null;
  takenBackBy: string | null;
  reasons: readonly Reason[];
}

export interface Moved {
  readonly action: Action;
  readonly workItems: readonly WorkItem[];
}

export interface ActionEvent {
  readonly no: number;
  /** ISO 8601. */
  readonly at: string;
  /** Null: it was made. */
  readonly from: ActionState | null;
  readonly to: ActionState;
  readonly actor: string;
  readonly code: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface ActionFilter {
  readonly team?: string | null;
  readonly state?: ActionState | null;
  /** Only of these; null: all. */
  readonly teams?: readonly string[] | null;
}

/** An action with its place in the list. */
export interface ListedAction {
  readonly action: Action;
  readonly place: string;
}

/** An action that stays in force only while its policy keeps proposing it. */
export interface HeldAction {
  readonly action: Action;
  readonly subject: Subject;
}

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
type Row = Omit<Action, Instant | 'effect' | 'next'> & { readonly [K in Instant]: Date | null } & {
  readonly effect: EffectJson;
  readonly next: NextJson | null;
};

const COLUMNS = `id, team, connection, target, effect, state, mode, recommendation, policy, document, rollback_of as "rollbackOf", taken_back_by as "takenBackBy", token,
  under_stop as "underStop", proposed_by as "proposedBy", approved_by as "approvedBy", proposed_at as "proposedAt", expires_at as "expiresAt", evidence_at as "evidenceAt",
  approved_at as "approvedAt", intended_at as "intendedAt", asked_at as "askedAt", applied_at as "appliedAt", confirmed_at as "confirmedAt", ended_at as "endedAt",
  before, before_at as "beforeAt", after, after_at as "afterAt", reasons, next, follows`;

/** Column and cast of what a step may set. */
const SETTABLE: Readonly<Record<keyof Settable, string>> = {
  approvedBy: 'approved_by',
  token: 'token',
  before: 'before',
  beforeAt: 'before_at',
  after: 'after',
  afterAt: 'after_at',
  askedAt: 'asked_at',
  gpus: 'gpus',
  replicas: 'replicas',
  expiresAt: 'expires_at',
  evidenceAt: 'evidence_at',
  takenBackBy: 'taken_back_by',
  reasons: 'reasons',
};
const INSTANTS: ReadonlySet<string> = new Set(['beforeAt', 'afterAt', 'askedAt', 'expiresAt', 'evidenceAt']);
const JSONS: ReadonlySet<string> = new Set(['before', 'after', 'reasons']);

/** The column that holds when a state was reached. */
const REACHED: Readonly<Partial<Record<ActionState, string>>> = {
  approved: 'approved_at',
  intended: 'intended_at',
  applied: 'applied_at',
  confirmed: 'confirmed_at',
};

/**
 * For an action `a` with a document: the time of the document's last later action on the target, including a rollback
 * of its own brake; null: there is none. A person's rollback does not count.
 */
export const OVERTAKEN = `(select max(coalesce(n.ended_at, n.applied_at)) from action n
  where n.organisation = a.organisation and n.connection = a.connection and n.target = a.target
    and n.document = a.document and n.no > a.no and n.applied_at is not null
    and (n.rollback_of is null or (n.proposed_by like 'policy:%' and n.state in ('confirmed', 'measured'))))`;

export class ActionStore {
  constructor(private readonly db: Queryable) {}

  /** One at a time per organisation, until the transaction ends. */
  async serialise(tx: Transaction, organisation: string): Promise<void> {
    await waitForLock(tx, 'bursar.action', organisation);
  }

  async propose(tx: Transaction, organisation: string, made: NewAction, at: number): Promise<Moved> {
    const id = `act-${randomBytes(8).toString('hex')}`;
    const [row] = await tx.query<Row>(
      `insert into action (organisation, id, team, connection, target, effect, state, state_at, mode, recommendation, policy, document, subject, rollback_of, under_stop, proposed_by, proposed_at, evidence_at, expires_at, next, follows)
       values ($1, $2, $3, $4, $5, $6, 'proposed', $15, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) returning ${COLUMNS}`,
      [
        organisation,
        id,
        made.team,
        made.connection,
        made.target,
        JSON.stringify(effectToJson(made.effect)),
        made.mode,
        made.recommendation,
        made.policy,
        made.document,
        made.subject === null ? null : JSON.stringify(made.subject),
        made.rollbackOf,
        made.underStop,
        made.proposedBy,
        new Date(at),
        instant(made.evidenceAt),
        new Date(made.expiresAt),
        made.next === undefined || made.next === null ? null : JSON.stringify(nextToJson(made.next)),
        made.follows ?? null,
      ],
    );
    assert(row !== undefined, 'an insert returns its row');
    const action = actionOf(row);
    await this.event(tx, organisation, action, null, 'proposed', { at, actor: made.proposedBy });
    return { action, workItems: evaluationItems(action) };
  }

  /** Leaves a state for another, with its event. The row is locked by the caller. */
  async move(tx: Transaction, organisation: string, action: Action, to: ActionState, step: Step): Promise<Moved> {
    assert(mayFollow(action.state, to), `${to} does not follow ${action.state}`);
    const reached = REACHED[to];
    const isOver = to === 'confirmed' || (isFinal(to) && action.endedAt === null);
    const [sets, values] = settings(step.set ?? {}, 5);
    const [row] = await tx.query<Row>(
      `update action set state = $4, state_at = $5${reached === undefined ? '' : `, ${reached} = $5`}${isOver ? ', ended_at = $5' : ''}${sets}
       where organisation = $1 and id = $2 and state = $3 returning ${COLUMNS}`,
      [organisation, action.id, action.state, to, new Date(step.at), ...values],
    );
    assert(row !== undefined, `the action ${action.id} has left the state ${action.state} although its row is locked`);
    const moved = actionOf(row);
    await this.event(tx, organisation, moved, action.state, to, step);
    return {
      action: moved,
      workItems: [...evaluationItems(moved), ...(await this.settleOriginal(tx, organisation, moved, step))],
    };
  }

  /** Notes something about an action that stays in its state. The row is locked by the caller. */
  async note(tx: Transaction, organisation: string, action: Action, step: Step): Promise<Action> {
    const [sets, values] = settings(step.set ?? {}, 2);
    const [row] = await tx.query<Row>(
      `update action set state = state${sets} where organisation = $1 and id = $2 returning ${COLUMNS}`,
      [organisation, action.id, ...values],
    );
    assert(row !== undefined, 'an action is never removed');
    if (step.code !== undefined) await this.event(tx, organisation, action, action.state, action.state, step);
    return actionOf(row);
  }

  /** The effect of a rollback on its original action: it ends the action, or gives the target back to it. */
  private async settleOriginal(
    tx: Transaction,
    organisation: string,
    rollback: Action,
    { at, actor }: Step,
  ): Promise<readonly WorkItem[]> {
    const { rollbackOf, state } = rollback;
    if (rollbackOf === null || (state !== 'confirmed' && !(isFinal(state) && state !== 'rolled-back'))) return [];
    const original = await this.lock(tx, organisation, rollbackOf);
    if (original === null) return [];
    if (state === 'confirmed')
      return (await this.move(tx, organisation, original, 'rolled-back', { at, actor, detail: { by: rollback.id } }))
        .workItems;
    const free = await this.note(tx, organisation, original, {
      at,
      actor,
      code: 'rollback-failed',
      detail: { by: rollback.id },
      set: { takenBackBy: null },
    });
    return evaluationItems(free);
  }

  async get(db: Queryable, organisation: string, id: string): Promise<Action | null> {
    const [row] = await db.query<Row>(`select ${COLUMNS} from action where organisation = $1 and id = $2`, [
      organisation,
      id,
    ]);
    return row === undefined ? null : actionOf(row);
  }

  /** The action that follows one; null: its time has not come, or nothing follows. */
  async followerOf(db: Queryable, organisation: string, id: string): Promise<Action | null> {
    const [row] = await db.query<Row>(`select ${COLUMNS} from action where organisation = $1 and follows = $2`, [
      organisation,
      id,
    ]);
    return row === undefined ? null : actionOf(row);
  }

  /** The policy's knowledge of the target; null: no policy evaluated it. */
  async subjectOf(db: Queryable, organisation: string, id: string): Promise<Subject | null> {
    const [row] = await db.query<{ subject: Subject | null }>(
      `select subject from action where organisation = $1 and id = $2`,
      [organisation, id],
    );
    return row?.subject ?? null;
  }

  /** Holds the row until the transaction ends. */
  async lock(tx: Transaction, organisation: string, id: string): Promise<Action | null> {
    const [row] = await tx.query<Row>(`select ${COLUMNS} from action where organisation = $1 and id = $2 for update`, [
      organisation,
      id,
    ]);
    return row === undefined ? null : actionOf(row);
  }

  /** @throws Failure missing. */
  async known(db: Queryable, organisation: string, id: string): Promise<Action> {
    const found = await this.get(db, organisation, id);
    if (found === null) throw missing(`action ${id} does not exist`);
    return found;
  }

  /** The action that answers a recommendation now, locked; null: none is open. */
  async openOf(tx: Transaction, organisation: string, recommendation: string): Promise<Action | null> {
    const [row] = await tx.query<Row>(
      `select ${COLUMNS} from action where organisation = $1 and recommendation = $2 and state = any($3::text[]) for update`,
      [organisation, recommendation, OPEN_STATES],
    );
    return row === undefined ? null : actionOf(row);
  }

  /**
   * Approved actions that were not sent to a provider, except those that may act under the kill switch. Locked; actions
   * in progress are skipped, so that this never waits.
   */
  async unasked(tx: Transaction, organisation: string): Promise<Action[]> {
    return this.unaskedWhere(tx, organisation, 'and not under_stop', 'for update skip locked');
  }

  /** The same without exception, waiting for who is at work; and nothing of what goes on acts under the kill switch. */
  async unaskedOfAll(tx: Transaction, organisation: string): Promise<Action[]> {
    const found = await this.unaskedWhere(tx, organisation, '', 'for update');
    await tx.query(
      `update action set under_stop = false where organisation = $1 and under_stop and state = any($2::text[])`,
      [organisation, LIVE_STATES],
    );
    return found;
  }

  private async unaskedWhere(tx: Transaction, organisation: string, which: string, lock: string): Promise<Action[]> {
    const rows = await tx.query<Row>(
      `select ${COLUMNS} from action
       where organisation = $1 and state in ('approved', 'intended') and asked_at is null ${which}
       order by id ${lock}`,
      [organisation],
    );
    return rows.map(actionOf);
  }

  /** Has the line look now at whatever waits to be carried out. Never waits for a provider that is being asked. */
  async expediteApproved(tx: Transaction, organisation: string): Promise<void> {
    const rows = await tx.query<{ id: string }>(
      `select id from action where organisation = $1 and state = 'approved'`,
      [organisation],
    );
    await expedite(
      tx,
      organisation,
      EXECUTE,
      rows.map(({ id }) => id),
    );
  }

  /**
   * Proposals of policies for a team that have not begun, approved or not: they follow the newest evaluation. Locked.
   */
  async pending(tx: Transaction, organisation: string, team: string, policies: readonly string[]): Promise<Action[]> {
    const rows = await tx.query<Row>(
      `select ${COLUMNS} from action where organisation = $1 and team = $2 and policy = any($3::text[]) and recommendation is not null and state in ('proposed', 'approved') order by id for update`,
      [organisation, team, policies],
    );
    return rows.map(actionOf);
  }

  /**
   * A team's actions that hold only while their policy proposes them: done, not rolled back, and without an attempted
   * rollback. Newest first.
   */
  async held(tx: Transaction, organisation: string, team: string, policies: readonly string[]): Promise<HeldAction[]> {
    const rows = await tx.query<Row & { subject: Subject }>(
      `select ${COLUMNS}, subject from action a where organisation = $1 and team = $2 and policy = any($3::text[]) and state in ('applied', 'confirmed', 'measured')
         and rollback_of is null and subject is not null and taken_back_by is null
         and not exists (select 1 from action r where r.organisation = a.organisation and r.rollback_of = a.id) order by a.no desc`,
      [organisation, team, policies],
    );
    return rows.map(({ subject, ...row }) => ({ action: actionOf(row), subject }));
  }

  /** Whether a team has an action that an evaluation may change: one that policies may revoke or take back. */
  async concerns(db: Queryable, organisation: string, team: string): Promise<boolean> {
    const [row] = await db.query(
      `select 1 from action where organisation = $1 and team = $2 and state in ('proposed', 'approved', 'applied', 'confirmed', 'measured') and policy is not null limit 1`,
      [organisation, team],
    );
    return row !== undefined;
  }

  /** The newest action of each recommendation. */
  async newestOf(
    db: Queryable,
    organisation: string,
    recommendations: readonly string[],
  ): Promise<Map<string, Action>> {
    const rows = await db.query<Row>(
      `select distinct on (recommendation) ${COLUMNS} from action where organisation = $1 and recommendation = any($2::text[]) order by recommendation, action.no desc`,
      [organisation, recommendations],
    );
    return new Map(rows.map((row) => [row.recommendation ?? '', actionOf(row)]));
  }

  /** When the document of each action had last done something to its target after it; those that it has not lack. */
  async overtaken(db: Queryable, organisation: string, ids: readonly string[]): Promise<Map<string, number>> {
    const rows = await db.query<{ id: string; at: Date | null }>(
      `select a.id, ${OVERTAKEN} as at from action a where a.organisation = $1 and a.id = any($2::text[])`,
      [organisation, ids],
    );
    return new Map(rows.flatMap(({ id, at }) => (at === null ? [] : [[id, at.getTime()] as const])));
  }

  /** A page, newest first; `before` is the place of the last one seen. */
  async list(
    organisation: string,
    filter: ActionFilter,
    before: string | null,
    limit: number,
    db: Queryable = this.db,
  ): Promise<ListedAction[]> {
    const rows = await db.query<Row & { place: string }>(
      `select ${COLUMNS}, no::text as place from action where organisation = $1 and ($2::text is null or team = $2) and ($3::text is null or state = $3) and ($4::text[] is null or team = any($4::text[]))
         and ($5::bigint is null or action.no < $5) order by action.no desc limit $6`,
      [organisation, filter.team ?? null, filter.state ?? null, filter.teams ?? null, before, limit],
    );
    return rows.map(({ place, ...row }) => ({ action: actionOf(row), place }));
  }

  /** The effects of a connection, oldest first, with their tokens. Epoch milliseconds. */
  async doneBy(
    db: Queryable,
    organisation: string,
    connection: string,
  ): Promise<{ readonly at: number; readonly token: string; readonly effect: Effect }[]> {
    const rows = await db.query<{ effect: EffectJson; token: string; applied_at: Date }>(
      `select effect, token, applied_at from action
       where organisation = $1 and connection = $2 and applied_at is not null and token is not null order by applied_at, no`,
      [organisation, connection],
    );
    return rows.map((row) => ({ at: row.applied_at.getTime(), token: row.token, effect: effectFromJson(row.effect) }));
  }

  /** The events of an action, oldest first. */
  async events(db: Queryable, organisation: string, id: string): Promise<ActionEvent[]> {
    const rows = await db.query<Omit<ActionEvent, 'at'> & { at: Date }>(
      `select no, at, from_state as "from", to_state as "to", actor, code, detail from action_event where organisation = $1 and action = $2 order by no`,
      [organisation, id],
    );
    return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
  }

  private async event(
    tx: Transaction,
    organisation: string,
    { id }: Action,
    from: ActionState | null,
    to: ActionState,
    { at, actor, code, detail }: Step,
  ): Promise<void> {
    await tx.query(
      `insert into action_event (organisation, action, no, at, from_state, to_state, actor, code, detail)
       select $1, $2, coalesce(max(no), 0) + 1, $3, $4, $5, $6, $7, $8 from action_event where organisation = $1 and action = $2`,
      [organisation, id, new Date(at), from, to, actor, code ?? to, JSON.stringify(detail ?? {})],
    );
  }
}

/** The work items of an action in its state. */
function evaluationItems(action: Action): WorkItem[] {
  const { id, team, state, expiresAt, takenBackBy, next = null } = action;
  const follows: WorkItem[] =
    next !== null && ['applied', 'confirmed', 'measured', 'failed'].includes(state)
      ? [{ stage: FOLLOW, partition: team, key: id, notBefore: next.notBefore }]
      : [];
  const [stage, notBefore] =
    state === 'proposed'
      ? [EXECUTE, expiresAt]
      : state === 'approved' || state === 'intended'
        ? [EXECUTE, null]
        : state === 'applied' && takenBackBy === null
          ? [CONFIRM, null]
          : [null, null];
  return [
    ...(stage === null ? [] : [{ stage, partition: team, key: id, ...(notBefore === null ? {} : { notBefore }) }]),
    ...follows,
  ];
}

/** SQL and values of what a step sets, after `used` parameters. */
function settings(set: Readonly<Partial<Settable>>, used: number): [sql: string, values: unknown[]] {
  const entries = Object.entries(set);
  const values = entries.map(([name, value]) =>
    value === null
      ? null
      : INSTANTS.has(name)
        ? new Date(value as number)
        : JSONS.has(name)
          ? JSON.stringify(value)
          : value,
  );
  return [entries.map(([name], at) => `, ${SETTABLE[name as keyof Settable]} = $${used + at + 1}`).join(''), values];
}

const instant = (at: number | null): Date | null => (at === null ? null : new Date(at));

function actionOf({ effect, next, ...row }: Row): Action {
  const at = (date: Date | null): number | null => date?.getTime() ?? null;
  return {
    ...row,
    effect: effectFromJson(effect),
    next: next === null ? null : nextFromJson(next),
    proposedAt: row.proposedAt?.getTime() ?? 0,
    expiresAt: row.expiresAt?.getTime() ?? 0,
    evidenceAt: at(row.evidenceAt),
    approvedAt: at(row.approvedAt),
    intendedAt: at(row.intendedAt),
    askedAt: at(row.askedAt),
    appliedAt: at(row.appliedAt),
    confirmedAt: at(row.confirmedAt),
    endedAt: at(row.endedAt),
    beforeAt: at(row.beforeAt),
    afterAt: at(row.afterAt),
  };
}
