/**
 * The API requests of the verbs for alerts. It sends no alert itself: a test is raised like any alert, and the line
 * sends it.
 */
import type { AlertKind, AlertState } from '../../core/alert/alert.js';
import { missing } from '../../core/errors.js';
import type { Alert, AlertStory, Mute, MuteRequest, SlackPerson, SlackUser } from '../answers.js';
import { at, type Api } from './api.js';

export interface AlertListFilter {
  readonly team: string | null;
  readonly kind: AlertKind | null;
  readonly state: AlertState | null;
}

const addressOf = ({ workspace, user }: SlackPerson): string =>
  `${at('slack-users', workspace)}/${encodeURIComponent(user)}`;

/** Among the newest so many the test that was just made is searched. */
const NEWEST = 500;

export class AlertClient {
  constructor(
    private readonly api: Api,
    private readonly wait: () => Promise<void>,
  ) {}

  /** Newest first. */
  list({ team, kind, state }: AlertListFilter, limit: number): Promise<readonly Alert[]> {
    return this.api.list('/v1/alerts', limit, { team, kind, state });
  }

  show(id: string): Promise<AlertStory> {
    return this.api.call('GET', at('alerts', id));
  }

  /** Tries whether alerts arrive: what became of the test so far. */
  async test(): Promise<AlertStory> {
    const { test } = await this.api.call<{ test: string }>('POST', '/v1/alerts/test');
    await this.wait();
    const raised = (await this.list({ team: null, kind: 'test', state: null }, NEWEST)).find(
      ({ news }) => news.kind === 'test' && news.id === test,
    );
    if (raised === undefined) throw missing('the test is no longer among the alerts');
    return this.show(raised.id);
  }

  /** Takes an alert on: it goes no further. */
  async acknowledge(id: string): Promise<Alert> {
    const alert = await this.api.call<Alert>('POST', `${at('alerts', id)}/acknowledge`);
    await this.wait();
    return alert;
  }

  /** Those that hold now. */
  mutes(): Promise<readonly Mute[]> {
    return this.api.list('/v1/alert-mutes');
  }

  /** Alerts until then are kept but not sent, not even later. */
  mute(wish: MuteRequest): Promise<Mute> {
    return this.api.call('POST', '/v1/alert-mutes', { json: wish });
  }

  unmute(id: string): Promise<Mute> {
    return this.api.call('DELETE', at('alert-mutes', id));
  }

  slackUsers(): Promise<readonly SlackUser[]> {
    return this.api.list('/v1/slack-users');
  }

  /** @param key the id of the key whose rights the person gets */
  connectSlackUser(who: SlackPerson, key: string): Promise<SlackUser> {
    return this.api.call('PUT', addressOf(who), { json: { key } });
  }

  disconnectSlackUser(who: SlackPerson): Promise<SlackUser> {
    return this.api.call('DELETE', addressOf(who));
  }
}
