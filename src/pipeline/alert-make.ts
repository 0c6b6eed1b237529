/**
 * alert.make: checks what has happened since the last check, keeps each event that is worth an alert once, and records
 * the intent to send it to the places that the routes name. alert.escalate (alert): if nobody has answered in time,
 * records the intent to send the alert to the next places too. Sends nothing.
 *
 * Core decides which events are worth an alert and where the alerts go (alert/alert.ts, alert/routes.ts). The mark, the
 * alerts and the intents of a check are committed together or not at all.
 */
import { endOf, needsAnswer, silenceOf, type Alert } from '../core/alert/alert.js';
import {
  defaultRoutes,
  escalationAt,
  isMuted,
  lineageOf,
  routeFor,
  type AlertRoute,
  type AlertRoutes,
  type AlertTarget,
  type Mute,
} from '../core/alert/routes.js';
import { HOUR_MS } from '../core/time.js';
import { ESCALATE, MAKE, MAKE_ITEM } from '../store/alert/alerts.js';
import { connectedSince, happened, hasNews, saveMark } from '../store/alert/news.js';
import type { Queryable, Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import { enqueue, type WorkItem } from '../store/work.js';
import type { Channels } from './alert.js';
import { anomalyKeys, FIND_PRICES } from './find-anomalies.js';
import type { Stage } from './stage.js';

type Needs = Pick<
  Stores,
  | 'db'
  | 'alerts'
  | 'alertSettings'
  | 'actions'
  | 'budgets'
  | 'recommendations'
  | 'spend'
  | 'resourceCosts'
  | 'prices'
  | 'organisations'
  | 'reports'
>;

/** The data that decides where alerts go, read once per check. */
interface Directory {
  readonly routes: AlertRoutes;
  readonly mutes: readonly Mute[];
  readonly parents: ReadonlyMap<string, string | null>;
  /** Since when each channel is connected, epoch milliseconds. */
  readonly since: ReadonlyMap<string, number>;
}

async function directoryOf(
  { alertSettings, organisations }: Needs,
  db: Queryable,
  organisation: string,
  channels: Channels,
  now: number,
): Promise<Directory> {
  return {
    routes: (await alertSettings.routes(db, organisation)) ?? defaultRoutes([...channels.keys()]),
    mutes: await alertSettings.mutes(db, organisation, now),
    parents: new Map((await organisations.teams(db, organisation)).map(({ id, parent }) => [id, parent])),
    since: await connectedSince(db, organisation, [...channels.keys()], now),
  };
}

const routeOf = ({ routes, parents }: Directory, alert: Alert): AlertRoute | null =>
  routeFor(routes, alert, lineageOf(alert.team, parents));

/** A channel gets no alert about a period that was over when the channel was connected. */
function placesOf({ since }: Directory, route: AlertRoute | null, { news }: Alert): readonly AlertTarget[] {
  const end = endOf(news);
  return (route?.to ?? []).filter(({ channel }) => end === null || (since.get(channel) ?? -Infinity) < end);
}

const asMessages = (to: readonly AlertTarget[]) => to.map((target) => ({ ...target, part: 'message' as const }));

export function makeAlertsStage(stores: Needs, channels: Channels): Stage {
  const { alerts, budgets, organisations } = stores;
  return {
    name: MAKE,
    most: 1,
    reachesOut: true,
    async run({ organisation, now, tx }) {
      const { news, answers, passed } = await happened(stores, tx, organisation, now);
      for (const one of passed) await budgets.passed(tx, organisation, one, false, now);
      for (const one of news) await alerts.raise(tx, organisation, one, now);
      const directory = await directoryOf(stores, tx, organisation, channels, now);
      const asOf = await organisations.asOf(tx, organisation, now);
      const workItems: WorkItem[] = [];
      for (const alert of await alerts.fresh(tx, organisation))
        workItems.push(...(await direct(stores, tx, { organisation, now, asOf }, directory, alert)));
      for (const { identity, answer } of answers)
        workItems.push(...((await alerts.answer(tx, organisation, { identity }, answer)) ?? []));
      await saveMark(tx, organisation, now);
      return workItems;
    },
  };
}

interface Run {
  readonly organisation: string;
  readonly now: number;
  readonly asOf: number;
}

/** Decides whether a new alert is silent, or where it goes. */
async function direct(
  { alerts }: Needs,
  tx: Transaction,
  { organisation, now, asOf }: Run,
  directory: Directory,
  alert: Alert,
): Promise<WorkItem[]> {
  const route = routeOf(directory, alert);
  const silence =
    silenceOf(alert.news, asOf) ??
    (isMuted(directory.mutes, alert, now) ? 'muted' : route === null || route.to.length === 0 ? 'no-route' : null) ??
    (placesOf(directory, route, alert).length === 0 ? 'before-connected' : null);
  if (silence !== null || route === null) {
    await alerts.settle(tx, organisation, alert, 'silent', silence);
    return [];
  }
  const state = needsAnswer(alert.news) ? 'open' : 'told';
  await alerts.settle(tx, organisation, alert, state, null);
  return [
    ...(await alerts.intend(tx, organisation, alert, asMessages(placesOf(directory, route, alert)), 0, now)),
    ...nextStep({ ...alert, state }, route),
  ];
}

function nextStep(alert: Alert, route: AlertRoute | null): WorkItem[] {
  const at = escalationAt(alert, route);
  return at === null ? [] : [{ stage: ESCALATE, partition: alert.team ?? 'all', key: alert.id, notBefore: at }];
}

/** Between two checks of an alert that is muted. */
const MUTED_MS = HOUR_MS;

export function escalateStage(stores: Needs, channels: Channels): Stage {
  const { alerts } = stores;
  return {
    name: ESCALATE,
    most: 20,
    reachesOut: true,
    async run({ organisation, partition, keys, now, tx }) {
      const directory = await directoryOf(stores, tx, organisation, channels, now);
      const workItems: WorkItem[] = [];
      for (const id of keys) {
        const alert = await alerts.get(tx, organisation, id);
        const route = alert === null ? null : routeOf(directory, alert);
        const at = alert === null ? null : escalationAt(alert, route);
        if (alert === null || at === null) continue;
        if (at > now) workItems.push({ stage: ESCALATE, partition, key: id, notBefore: at });
        else if (isMuted(directory.mutes, alert, now))
          workItems.push({ stage: ESCALATE, partition, key: id, notBefore: now + MUTED_MS });
        else {
          const next = { ...alert, level: alert.level + 1 };
          workItems.push(
            ...(await alerts.escalate(tx, organisation, alert)),
            ...(await alerts.intend(
              tx,
              organisation,
              next,
              asMessages(route?.escalation[alert.level]?.to ?? []),
              next.level,
              now,
            )),
            ...nextStep(next, route),
          );
        }
      }
      return workItems;
    },
  };
}

/** Between two checks for news. */
const POLL_MS = 5000;

/**
 * Enqueues checks: every few seconds for new events if there may be any, every hour for unusual prices, once a day for
 * unusual spend.
 */
export class AlertSchedule {
  readonly name = 'alerts';
  readonly everyMs = POLL_MS;
  private lastHour = -Infinity;
  private lastDay = -Infinity;

  constructor(
    private readonly stores: Pick<Stores, 'db' | 'organisations'>,
    private readonly organisation: string,
  ) {}

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    const { db, organisations } = this.stores;
    const { hour, day, keys } = anomalyKeys(now, { hour: this.lastHour, day: this.lastDay });
    const teams = keys.teams
      ? (await organisations.teams(db, this.organisation)).map(
          ({ id }): WorkItem => ({ stage: FIND_PRICES.stage, partition: id, key: `team/${id}` }),
        )
      : [];
    const news = (await hasNews(db, this.organisation, now)) ? [MAKE_ITEM] : [];
    await enqueue(db, this.organisation, [...teams, ...(keys.prices ? [FIND_PRICES] : []), ...news]);
    [this.lastHour, this.lastDay] = [hour, day];
  }
}
