/**
 * What the verb about alerts asks, on this machine's database and through an API; both answer alike.
 *
 * It sends nothing itself: a test is raised like any alert, and the line sends it.
 */
import { randomUUID } from 'node:crypto';
import { identityOf, type AlertKind, type AlertState, type TestNews } from '../core/alert/alert.js';
import type { Mute } from '../core/alert/routes.js';
import { missing } from '../core/errors.js';
import type { Clock } from '../core/time.js';
import { alertJson, alertStory, type AlertJson, type AlertStory } from '../application/alert/alert-json.js';
import { MAKE_WAKING } from '../store/alert/alerts.js';
import { acknowledgeAlert, muteAlerts } from '../application/alert/set-alert.js';
import { wake } from '../store/work.js';
import type { LocalBursar } from './context.js';
import type { Remote } from './remote.js';

export interface AlertListFilter {
  readonly team: string | null;
  readonly kind: AlertKind | null;
  readonly state: AlertState | null;
}

/** Every method throws Failure for what it cannot do. */
export interface AlertDoor {
  /** Newest first. */
  list(filter: AlertListFilter, limit: number): Promise<readonly AlertJson[]>;
  show(id: string): Promise<AlertStory>;
  /** Tries whether alerts arrive: what became of the test so far. */
  test(): Promise<AlertStory>;
  /** Takes an alert on: it goes no further. */
  acknowledge(id: string): Promise<AlertJson>;
  /** Those that hold now. */
  mutes(): Promise<readonly Mute[]>;
  /** What is made until then is kept and not told, also not later. */
  mute(wish: MuteWish): Promise<Mute>;
  unmute(id: string): Promise<Mute>;
}

/** Null: whatever it is. `until` is an ISO 8601 instant. */
export type MuteWish = Omit<Mute, 'id' | 'by'>;

const PAGE = 500;

export class LocalAlerts implements AlertDoor {
  constructor(
    private readonly bursar: LocalBursar,
    private readonly clock: Clock,
    private readonly actor: string,
    private readonly drained: () => Promise<void>,
  ) {}

  async list({ team, kind, state }: AlertListFilter, limit: number): Promise<readonly AlertJson[]> {
    const { stores, organisation } = this.bursar;
    const found: AlertJson[] = [];
    for (let before: string | null = null; found.length < limit; ) {
      const most = Math.min(PAGE, limit - found.length);
      const page = await stores.alerts.list(
        organisation,
        { team: team ?? undefined, kind: kind ?? undefined, state: state ?? undefined },
        before,
        most,
      );
      found.push(...page.map(({ alert }) => alertJson(alert)));
      before = page.at(-1)?.place ?? null;
      if (page.length < most) break;
    }
    return found;
  }

  async show(id: string): Promise<AlertStory> {
    const { stores, organisation } = this.bursar;
    return alertStory(stores, organisation, await stores.alerts.knownAlert(stores.db, organisation, id));
  }

  async test(): Promise<AlertStory> {
    const { stores, organisation } = this.bursar;
    const news: TestNews = { kind: 'test', team: null, id: randomUUID(), by: this.actor };
    await stores.db.transaction(async (tx) => {
      await stores.alerts.raise(tx, organisation, news, this.clock.now());
      await stores.audit.audit(tx, organisation, this.actor, 'alert.test', news.id);
      await wake(tx, organisation, [MAKE_WAKING]);
    });
    await this.drained();
    const raised = (await this.list({ team: null, kind: 'test', state: null }, PAGE)).find(
      (one) => identityOf(one.news) === identityOf(news),
    );
    if (raised === undefined) throw missing('the test is not among the alerts any more');
    return this.show(raised.id);
  }

  async acknowledge(id: string): Promise<AlertJson> {
    const { stores, organisation } = this.bursar;
    const alert = await stores.alerts.knownAlert(stores.db, organisation, id);
    const answered = await stores.db.transaction(async (tx) => {
      const after = await acknowledgeAlert(stores, tx, organisation, alert, this.actor, this.clock.now());
      await stores.audit.audit(tx, organisation, this.actor, 'alert.acknowledge', id, { team: alert.team });
      return after;
    });
    await this.drained();
    return alertJson(answered);
  }

  mutes(): Promise<readonly Mute[]> {
    const { stores, organisation } = this.bursar;
    return stores.alertSettings.mutes(stores.db, organisation, this.clock.now());
  }

  mute(wish: MuteWish): Promise<Mute> {
    const { stores, organisation } = this.bursar;
    return stores.db.transaction(async (tx) => {
      const mute = await muteAlerts(stores, tx, organisation, { ...wish, by: this.actor }, this.clock.now());
      await stores.audit.audit(tx, organisation, this.actor, 'alert.mute', mute.id, { ...wish });
      return mute;
    });
  }

  unmute(id: string): Promise<Mute> {
    const { stores, organisation } = this.bursar;
    return stores.db.transaction(async (tx) => {
      const before = await stores.alertSettings.knownMute(tx, organisation, id);
      await stores.alertSettings.unmute(tx, organisation, id);
      await stores.audit.audit(tx, organisation, this.actor, 'alert.unmute', id, { before });
      return before;
    });
  }
}

export class RemoteAlerts implements AlertDoor {
  constructor(
    private readonly remote: Remote,
    private readonly drained: () => Promise<void>,
  ) {}

  list({ team, kind, state }: AlertListFilter, limit: number): Promise<readonly AlertJson[]> {
    return this.remote.list('/v1/alerts', limit, { team, kind, state });
  }

  show(id: string): Promise<AlertStory> {
    return this.remote.call('GET', `/v1/alerts/${encodeURIComponent(id)}`);
  }

  async test(): Promise<AlertStory> {
    const { test } = await this.remote.call<{ test: string }>('POST', '/v1/alerts/test');
    await this.drained();
    const raised = (await this.list({ team: null, kind: 'test', state: null }, PAGE)).find(
      ({ news }) => news.kind === 'test' && news.id === test,
    );
    if (raised === undefined) throw missing('the test is not among the alerts any more');
    return this.show(raised.id);
  }

  async acknowledge(id: string): Promise<AlertJson> {
    const alert = await this.remote.call<AlertJson>('POST', `/v1/alerts/${encodeURIComponent(id)}/acknowledge`);
    await this.drained();
    return alert;
  }

  mutes(): Promise<readonly Mute[]> {
    return this.remote.list('/v1/alert-mutes');
  }

  mute(wish: MuteWish): Promise<Mute> {
    return this.remote.call('POST', '/v1/alert-mutes', { json: wish });
  }

  unmute(id: string): Promise<Mute> {
    return this.remote.call('DELETE', `/v1/alert-mutes/${encodeURIComponent(id)}`);
  }
}
