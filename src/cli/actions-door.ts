/**
 * What the verbs about actions ask, on this machine's database and through an API; both answer alike.
 *
 * Every write is audited in its own transaction. It asks no provider: `serve` does, and is waited for where one runs;
 * else the caller is told that the action waits.
 */
import { ACTION_STATES, type ActionState } from '../core/action/action.js';
import { readLimits, type Limits, type LimitsDocument } from '../core/action/limits.js';
import type { Clock } from '../core/time.js';
import { actionJson, type ActionJson, type ActionStory } from '../store/action/action-json.js';
import type { Transaction } from '../store/database.js';
import type { StoredRecommendation } from '../store/policy/recommendations.js';
import type { StoredStop } from '../store/action/safety.js';
import {
  approveAction,
  approveRecommendation,
  rejectAction,
  rejectRecommendation,
  rollBack,
} from '../application/action/set-action.js';
import { setStop } from '../application/action/set-safety.js';
import { WAKING_CHANNEL } from '../store/work.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

export const STATES: readonly ActionState[] = ACTION_STATES;

/** What was decided: of a recommendation its action too, where there is one. */
export interface Decision {
  readonly recommendation: StoredRecommendation | null;
  readonly action: ActionJson | null;
}

export interface StopScope {
  readonly team?: string | undefined;
  readonly provider?: string | undefined;
}

export interface LimitsView {
  /** Null: the organisation's. */
  readonly team: string | null;
  readonly document: LimitsDocument;
  /** What holds. */
  readonly limits: Limits;
}

/** Every method throws Failure for what it cannot do. */
export interface ActionDoor {
  /** Newest first. */
  list(
    filter: { readonly team: string | null; readonly state: ActionState | null },
    limit: number,
  ): Promise<readonly ActionJson[]>;
  show(id: string): Promise<ActionStory>;
  /** @param id of an action or of a recommendation */
  approve(id: string): Promise<Decision>;
  reject(id: string, reason: string): Promise<Decision>;
  /** Answers the action that takes it back. */
  rollback(id: string, underStop: boolean): Promise<ActionStory>;
  stops(): Promise<readonly StoredStop[]>;
  stop(scope: StopScope, reason: string): Promise<readonly StoredStop[]>;
  lift(scope: StopScope): Promise<readonly StoredStop[]>;
  limits(team: string | null): Promise<LimitsView>;
  saveLimits(team: string | null, document: unknown): Promise<LimitsView>;
}

/** Actions' ids have a form of their own. */
const isAction = (id: string): boolean => id.startsWith('act-');

const PAGE = 500;
const UNDER_WAY: ReadonlySet<ActionState> = new Set(['approved', 'intended', 'applied']);

export class LocalActions implements ActionDoor {
  private readonly organisation: string;

  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly drained: () => Promise<void>,
    private readonly note: (text: string) => void,
  ) {
    this.organisation = bursar.organisation;
  }

  async list(
    filter: { readonly team: string | null; readonly state: ActionState | null },
    limit: number,
  ): Promise<readonly ActionJson[]> {
    const { actions } = this.bursar.stores;
    const found: ActionJson[] = [];
    for (let before: string | null = null; found.length < limit; ) {
      const page = await actions.list(this.organisation, filter, before, Math.min(PAGE, limit - found.length));
      found.push(...page.map(({ action }) => actionJson(action)));
      before = page.at(-1)?.place ?? null;
      if (page.length < PAGE) break;
    }
    return found;
  }

  async show(id: string): Promise<ActionStory> {
    const { stores } = this.bursar;
    return {
      ...actionJson(await stores.actions.known(stores.db, this.organisation, id)),
      events: await stores.actions.events(stores.db, this.organisation, id),
    };
  }

  approve(id: string): Promise<Decision> {
    return this.decide(
      id,
      'approve',
      (tx, now) => approveAction(this.bursar.stores, tx, this.organisation, id, this.actor, now),
      approveRecommendation,
    );
  }

  reject(id: string, reason: string): Promise<Decision> {
    return this.decide(
      id,
      'reject',
      (tx, now) => rejectAction(this.bursar.stores, tx, this.organisation, id, reason, this.actor, now),
      rejectRecommendation,
    );
  }

  async rollback(id: string, underStop: boolean): Promise<ActionStory> {
    const rollback = await this.write('action.rollback', id, async (tx) => {
      const action = await rollBack(
        this.bursar.stores,
        tx,
        this.organisation,
        id,
        this.actor,
        { underStop },
        this.clock.now(),
      );
      return [action, { team: action.team, target: action.target, action: action.id }];
    });
    await this.drained();
    const story = await this.show(rollback.id);
    await this.noteWaiting(story);
    return story;
  }

  stops(): Promise<readonly StoredStop[]> {
    const { safety, db } = this.bursar.stores;
    return safety.stops(db, this.organisation);
  }

  stop(scope: StopScope, reason: string): Promise<readonly StoredStop[]> {
    return this.setStop(scope, false, reason);
  }

  lift(scope: StopScope): Promise<readonly StoredStop[]> {
    return this.setStop(scope, true, '');
  }

  async limits(team: string | null): Promise<LimitsView> {
    const { safety, db } = this.bursar.stores;
    return {
      team,
      document: await safety.limitsDocument(db, this.organisation, team),
      limits: await safety.binding(db, this.organisation, team),
    };
  }

  async saveLimits(team: string | null, document: unknown): Promise<LimitsView> {
    const after = readLimits(document);
    await this.write('limits.save', team ?? 'organisation', async (tx) => [
      null,
      { before: await this.bursar.stores.safety.saveLimits(tx, this.organisation, team, after), after },
    ]);
    return this.limits(team);
  }

  private async decide(
    id: string,
    verb: 'approve' | 'reject',
    ofAction: (
      tx: Transaction,
      now: number,
    ) => Promise<{ readonly id: string; readonly team: string; readonly target: string }>,
    ofRecommendation: typeof approveRecommendation,
  ): Promise<Decision> {
    const { stores } = this.bursar;
    const now = this.clock.now();
    const decided = await this.write(
      `${isAction(id) ? 'action' : 'recommendation'}.${verb}`,
      id,
      async (
        tx,
      ): Promise<
        [
          { readonly recommendation: StoredRecommendation | null; readonly action: string | null },
          Readonly<Record<string, unknown>>,
        ]
      > => {
        if (isAction(id)) {
          const action = await ofAction(tx, now);
          return [
            { recommendation: null, action: id },
            { team: action.team, target: action.target },
          ];
        }
        const { recommendation, action } = await ofRecommendation(stores, tx, this.organisation, id, this.actor, now);
        return [
          { recommendation, action: action?.id ?? null },
          { team: recommendation.team, action: recommendation.action, actionId: action?.id ?? null },
        ];
      },
    );
    if (decided.action === null) return { recommendation: decided.recommendation, action: null };
    await this.drained();
    const action = actionJson(await stores.actions.known(stores.db, this.organisation, decided.action));
    await this.noteWaiting(action);
    return { recommendation: decided.recommendation, action };
  }

  /** Says who goes on with an action that is not done yet. */
  private async noteWaiting({ id, state, connection, expiresAt }: ActionJson): Promise<void> {
    if ((this.bursar.leaves ?? []).length === 0 || !UNDER_WAY.has(state)) return;
    const isServed = await this.bursar.stores.db.isHeard(WAKING_CHANNEL);
    this.note(
      isServed
        ? `bursar serve goes on with it: bursar actions show ${id} says how far it is`
        : `It waits for bursar serve: nothing else asks ${connection}, and none runs on this database.${state === 'approved' ? ` It lapses at ${expiresAt}.` : ''}`,
    );
  }

  private async setStop(scope: StopScope, lift: boolean, reason: string): Promise<readonly StoredStop[]> {
    const target =
      scope.team !== undefined
        ? `team/${scope.team}`
        : scope.provider !== undefined
          ? `provider/${scope.provider}`
          : 'all';
    await this.write(lift ? 'stop.lift' : 'stop.set', target, async (tx) => [
      await setStop(this.bursar.stores, tx, this.organisation, scope, {
        lift,
        reason,
        by: this.actor,
        now: this.clock.now(),
      }),
      { reason },
    ]);
    return this.stops();
  }

  /** One transaction with its entry in the audit: `work` returns its result and the entry's detail. */
  private write<T>(
    verb: string,
    target: string,
    work: (tx: Transaction) => Promise<[T, Readonly<Record<string, unknown>>]>,
  ): Promise<T> {
    const { stores } = this.bursar;
    return stores.db.transaction(async (tx) => {
      const [result, detail] = await work(tx);
      await stores.audit.audit(tx, this.organisation, this.actor, verb, target, detail);
      return result;
    });
  }
}

export class RemoteActions implements ActionDoor {
  constructor(
    private readonly remote: Remote,
    private readonly drained: () => Promise<void>,
  ) {}

  list(
    { team, state }: { readonly team: string | null; readonly state: ActionState | null },
    limit: number,
  ): Promise<readonly ActionJson[]> {
    return this.remote.list('/v1/actions', limit, { team, state });
  }

  show(id: string): Promise<ActionStory> {
    return this.remote.call('GET', at(id));
  }

  approve(id: string): Promise<Decision> {
    return this.decide(id, 'approve', {});
  }

  reject(id: string, reason: string): Promise<Decision> {
    return this.decide(id, 'reject', isAction(id) ? { json: { reason } } : {});
  }

  async rollback(id: string, underStop: boolean): Promise<ActionStory> {
    const rollback = await this.remote.call<ActionJson>('POST', `${at(id)}/rollback`, { json: { underStop } });
    await this.drained();
    return this.show(rollback.id);
  }

  async stops(): Promise<readonly StoredStop[]> {
    return (await this.remote.call<{ stops: StoredStop[] }>('GET', '/v1/stop')).stops;
  }

  async stop({ team, provider }: StopScope, reason: string): Promise<readonly StoredStop[]> {
    return (await this.remote.call<{ stops: StoredStop[] }>('POST', '/v1/stop', { json: { team, provider, reason } }))
      .stops;
  }

  async lift({ team, provider }: StopScope): Promise<readonly StoredStop[]> {
    return (await this.remote.call<{ stops: StoredStop[] }>('POST', '/v1/stop/lift', { json: { team, provider } }))
      .stops;
  }

  limits(team: string | null): Promise<LimitsView> {
    return this.remote.call('GET', '/v1/limits', { query: { team } });
  }

  saveLimits(team: string | null, document: unknown): Promise<LimitsView> {
    return this.remote.call('PUT', '/v1/limits', { query: { team }, json: document });
  }

  private async decide(id: string, verb: 'approve' | 'reject', sent: { readonly json?: unknown }): Promise<Decision> {
    if (isAction(id)) {
      await this.remote.call('POST', `${at(id)}/${verb}`, sent);
      await this.drained();
      return { recommendation: null, action: plain(await this.show(id)) };
    }
    const recommendation = await this.remote.call<StoredRecommendation>(
      'POST',
      `/v1/recommendations/${encodeURIComponent(id)}/${verb}`,
    );
    if (recommendation.actionId === null || recommendation.obstacle !== null) return { recommendation, action: null };
    await this.drained();
    return { recommendation, action: plain(await this.show(recommendation.actionId)) };
  }
}

function plain(story: ActionStory): ActionJson {
  const { events: _, ...action } = story;
  return action;
}

const at = (id: string): string => `/v1/actions/${encodeURIComponent(id)}`;
