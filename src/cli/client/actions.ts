/**
 * The API requests of the verbs for actions. Nothing here calls a provider: `serve` does. The verb waits for a running
 * `serve`; without one it says that the action waits.
 */
import { ACTION_STATES, type ActionState } from '../../core/action/action.js';
import type { Action, ActionStory, BindingLimits, Recommendation, Stop } from '../answers.js';
import { at, type Api } from './api.js';
import type { Line } from './line.js';

export const STATES: readonly ActionState[] = ACTION_STATES;

/** A decision; for a recommendation with its action, if there is one. */
export interface Decision {
  readonly recommendation: Recommendation | null;
  readonly action: Action | null;
}

export interface StopScope {
  readonly team?: string | undefined;
  readonly provider?: string | undefined;
}

/** Actions' ids have a form of their own. */
const isAction = (id: string): boolean => id.startsWith('act-');

const UNDER_WAY: ReadonlySet<ActionState> = new Set(['approved', 'intended', 'applied']);

export class ActionClient {
  constructor(
    private readonly api: Api,
    private readonly line: Line,
    private readonly note: (text: string) => void,
  ) {}

  /** Newest first. */
  list(
    { team, state }: { readonly team: string | null; readonly state: ActionState | null },
    limit: number,
  ): Promise<readonly Action[]> {
    return this.api.list('/v1/actions', limit, { team, state });
  }

  show(id: string): Promise<ActionStory> {
    return this.api.call('GET', at('actions', id));
  }

  /** @param id of an action or of a recommendation */
  approve(id: string): Promise<Decision> {
    return this.decide(id, 'approve', {});
  }

  reject(id: string, reason: string): Promise<Decision> {
    return this.decide(id, 'reject', isAction(id) ? { json: { reason } } : {});
  }

  /** Answers the action that takes it back. */
  async rollback(id: string, underStop: boolean): Promise<ActionStory> {
    const rollback = await this.api.call<Action>('POST', `${at('actions', id)}/rollback`, { json: { underStop } });
    await this.line.wait();
    const story = await this.show(rollback.id);
    await this.noteWaiting(story);
    return story;
  }

  async stops(): Promise<readonly Stop[]> {
    return (await this.api.call<{ stops: Stop[] }>('GET', '/v1/stop')).stops;
  }

  async stop({ team, provider }: StopScope, reason: string): Promise<readonly Stop[]> {
    return (await this.api.call<{ stops: Stop[] }>('POST', '/v1/stop', { json: { team, provider, reason } })).stops;
  }

  async lift({ team, provider }: StopScope): Promise<readonly Stop[]> {
    return (await this.api.call<{ stops: Stop[] }>('POST', '/v1/stop/lift', { json: { team, provider } })).stops;
  }

  limits(team: string | null): Promise<BindingLimits> {
    return this.api.call('GET', '/v1/limits', { query: { team } });
  }

  saveLimits(team: string | null, document: unknown): Promise<BindingLimits> {
    return this.api.call('PUT', '/v1/limits', { query: { team }, json: document });
  }

  private async decide(id: string, verb: 'approve' | 'reject', sent: { readonly json?: unknown }): Promise<Decision> {
    if (isAction(id)) {
      await this.api.call('POST', `${at('actions', id)}/${verb}`, sent);
      await this.line.wait();
      return { recommendation: null, action: await this.decided(id) };
    }
    const recommendation = await this.api.call<Recommendation>('POST', `${at('recommendations', id)}/${verb}`);
    if (recommendation.actionId === null || recommendation.obstacle !== null) return { recommendation, action: null };
    await this.line.wait();
    return { recommendation, action: await this.decided(recommendation.actionId) };
  }

  /** An action that somebody has just decided about, without its timeline. */
  private async decided(id: string): Promise<Action> {
    const { events: _, ...action } = await this.show(id);
    await this.noteWaiting(action);
    return action;
  }

  /** Says who goes on with an action that is not done yet, where this process does not. */
  private async noteWaiting({ id, state, connection, expiresAt }: Action): Promise<void> {
    if (!this.line.leavesWork || !UNDER_WAY.has(state)) return;
    this.note(
      (await this.line.isServed())
        ? `bursar serve continues it: bursar actions show ${id} shows its progress`
        : `It waits for bursar serve: nothing else acts on ${connection}, and none runs on this database.${state === 'approved' ? ` It expires at ${expiresAt}.` : ''}`,
    );
  }
}
