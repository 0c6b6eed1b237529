/**
 * alert.send (delivery): sends one alert to one place. One step per run, each with its own commit:
 *
 *   waiting   when its turn at the place comes, commits the try; then sends, once
 *   tried     after a crash or a lost answer: queries it, sends it again under its token, or leaves it alone, as the
 *             channel's rule says
 *   sent      updates the message at the place if the alert has changed
 *
 * The stage that made the alert has committed the intent and its token. An outage loses nothing: a message that did not
 * arrive waits and is retried with growing pauses. It repeats nothing: a message that may have arrived is queried first.
 * The text is made again at every try, so it is never out of date.
 */
import { askAgainAt, PATIENCE } from '../core/action/action.js';
import type { Alert } from '../core/alert/alert.js';
import { messageOf } from '../core/alert/compose.js';
import type { AlertTexts } from '../core/alert/texts.js';
import type { ChannelConnection, Notification, SendOutcome } from '../core/alert/channel.js';
import type { Report } from '../core/report/report.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/time.js';
import { restated, stillHolds } from '../store/alert/news.js';
import { SEND, sendItem, type Delivery, type DeliveryStep } from '../store/alert/alerts.js';
import type { Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { reachingStage, type Stage } from './stage.js';

export type Channels = ReadonlyMap<string, ChannelConnection>;

/** The texts of alerts, and the address at which people reach Bursar. */
export interface NotificationOptions {
  readonly texts: AlertTexts;
  /** Without a slash at its end; null: nobody said. */
  readonly publicUrl: string | null;
  /** Draws the chart of a month's digest, as PNG; absent: it has none. */
  readonly chart?: (report: Report) => Promise<Uint8Array | null>;
}

/** A channel that this process has no settings for is another one's. */
const ELSEWHERE_MS = MINUTE_MS;
/** The pause before a delivery checks again whether the first message of its conversation was sent. */
const OPENING_MS = 5000;
/** The retry interval after a refusal by a place; a person may correct the cause before the delivery is given up. */
const REFUSED_MS = HOUR_MS;
const GIVE_UP_MS = 7 * DAY_MS;

type Needs = Pick<
  Stores,
  | 'db'
  | 'alerts'
  | 'alertPlaces'
  | 'actions'
  | 'reports'
  | 'budgets'
  | 'recommendations'
  | 'spend'
  | 'resourceCosts'
  | 'prices'
  | 'organisations'
  | 'slackDesk'
>;

export function sendStage(stores: Needs, channels: Channels, options: NotificationOptions): Stage {
  return reachingStage(SEND, async ({ organisation, key, now }) => {
    const workItems = await new Sending(stores, channels, options, organisation, now).advance(key);
    return async () => workItems;
  });
}

/** The notification to send now, or what to do instead. */
type Sendable = { readonly notification: Notification } | { readonly instead: readonly WorkItem[] };

class Sending {
  constructor(
    private readonly stores: Needs,
    private readonly channels: Channels,
    private readonly options: NotificationOptions,
    private readonly organisation: string,
    private readonly now: number,
  ) {}

  async advance(id: string): Promise<readonly WorkItem[]> {
    const { db, alerts } = this.stores;
    const delivery = await alerts.delivery(db, this.organisation, id);
    const alert = delivery === null ? null : await alerts.get(db, this.organisation, delivery.alert);
    if (delivery === null || alert === null) return [];
    const connection = this.channels.get(delivery.channel);
    if (delivery.state !== 'waiting' && delivery.state !== 'sent') return [];
    if (connection === undefined) return [sendItem(delivery, this.now + ELSEWHERE_MS)];
    if (delivery.state === 'sent') return this.refresh(delivery, alert, connection);
    return delivery.askedAt === null
      ? this.send(delivery, alert, connection)
      : this.resolve(delivery, alert, connection);
  }

  private async send(delivery: Delivery, alert: Alert, connection: ChannelConnection): Promise<readonly WorkItem[]> {
    const picture = await this.pictureOf(delivery, alert, connection);
    const prepared = await this.commitAs<Sendable>(delivery, { instead: [] }, async (tx, current) => {
      if (current.askedAt !== null) return { instead: [sendItem(current)] };
      const found = await this.prepare(tx, current, alert, connection, picture);
      if ('notification' in found) await this.step(tx, current, { askedAt: this.now });
      return found;
    });
    if ('instead' in prepared) return prepared.instead;
    const { notification } = prepared;
    return this.record(
      { ...delivery, askedAt: this.now },
      alert,
      connection,
      await safely(() => connection.send(notification)),
    );
  }

  private async pictureOf(
    { part }: Delivery,
    alert: Alert,
    { pictures }: ChannelConnection,
  ): Promise<Notification['picture']> {
    const png = pictures === 'none' ? null : await this.drawn(alert);
    return png === null || (part === 'message' && pictures === 'apart')
      ? null
      : { png, text: this.options.texts.picture(alert.news) };
  }

  /** Drawn for the first place that shows the picture; the same picture is used from then on. */
  private async drawn({ id, news }: Alert): Promise<Uint8Array | null> {
    const { db, alerts, reports } = this.stores;
    const { chart } = this.options;
    const kept = await alerts.picture(db, this.organisation, id);
    if (kept !== null || news.kind !== 'digest' || chart === undefined) return kept;
    const png = await chart(await reports.known(db, this.organisation, news.team, news.month));
    return png === null ? null : alerts.keepPicture(db, this.organisation, id, png);
  }

  /** Whether it is this delivery's turn at its place and in its conversation. */
  private async prepare(
    tx: Transaction,
    delivery: Delivery,
    alert: Alert,
    connection: ChannelConnection,
    picture: Notification['picture'],
  ): Promise<Sendable> {
    const { alertPlaces } = this.stores;
    if (await this.isMoot(tx, delivery, alert)) {
      return { instead: await this.giveUp(tx, delivery, alert, 'dropped', null) };
    }
    const current = await this.asItStands(tx, alert);
    if (current === null) return { instead: await this.giveUp(tx, delivery, alert, 'dropped', null) };
    let reference: string | null = null;
    if (connection.threads) {
      const joined =
        delivery.part === 'message'
          ? await alertPlaces.join(tx, this.organisation, delivery, alert.thread, delivery.id)
          : await alertPlaces.conversation(tx, this.organisation, delivery, alert.thread);
      reference = joined?.reference ?? null;
      if (reference === null && joined?.opener !== delivery.id)
        return { instead: [sendItem(delivery, this.now + OPENING_MS)] };
    }
    const free = await alertPlaces.reserveSlot(tx, this.organisation, delivery, connection.leastPauseMs, this.now);
    return free === null
      ? {
          notification: this.notificationOf(
            delivery,
            current,
            reference,
            picture,
            await this.peopleOf(tx, delivery, alert),
          ),
        }
      : { instead: [sendItem(delivery, free)] };
  }

  /** Whether nobody needs the alert any more: its question is decided, or an earlier level has answered. */
  private async isMoot(tx: Transaction, { level }: Delivery, { state, news }: Alert): Promise<boolean> {
    if (state === 'answered') return news.kind === 'approval' || level > 0;
    return (
      news.kind === 'approval' &&
      (await this.stores.actions.get(tx, this.organisation, news.action))?.state !== 'proposed'
    );
  }

  /**
   * The alert with the current state of its subject. Null if it is about a threshold that is no longer reached and no
   * place was notified yet. A place that was notified once gets updates with the current state.
   */
  private async asItStands(tx: Transaction, alert: Alert): Promise<Alert | null> {
    const { news } = alert;
    const { alerts, budgets } = this.stores;
    if (alert.state === 'silent') return null;
    if (news.kind !== 'budget' || alert.state === 'answered') return alert;
    const current = await restated(this.stores, tx, this.organisation, news, this.now);
    if (current === null) return alert;
    if (!stillHolds(current) && !(await alerts.wasSent(tx, this.organisation, alert))) {
      await budgets.passed(tx, this.organisation, news, true, this.now);
      await alerts.settle(tx, this.organisation, alert, 'silent', 'passed');
      await alerts.release(tx, this.organisation, alert);
      return null;
    }
    await alerts.restate(tx, this.organisation, alert, current);
    return { ...alert, news: current };
  }

  /** Whom a grave alert of a team concerns: who is connected for just that team. */
  private async peopleOf(
    tx: Transaction,
    { channel, part }: Delivery,
    { team, severity }: Alert,
  ): Promise<readonly string[]> {
    if (channel !== 'slack' || part !== 'message' || team === null || severity === 'info') return [];
    return this.stores.slackDesk.peopleOf(tx, this.organisation, team, this.now);
  }

  private notificationOf(
    { token, address, part, intendedAt, askedAt }: Delivery,
    alert: Alert,
    threadReference: string | null,
    picture: Notification['picture'],
    people: readonly string[],
  ): Notification {
    const { texts, publicUrl } = this.options;
    return {
      token,
      message: messageOf(alert, texts, publicUrl),
      news: alert.news,
      address,
      thread: alert.thread,
      threadReference,
      picture,
      people,
      part,
      since: askedAt ?? intendedAt,
    };
  }

  /** It was tried, and what became of it was not written down. */
  private async resolve(delivery: Delivery, alert: Alert, connection: ChannelConnection): Promise<readonly WorkItem[]> {
    if (connection.whenUnknown !== 'ask' || connection.outcome === undefined)
      return this.record(delivery, alert, connection, {
        kind: 'unknown',
        detail: 'the process ended before the answer came',
      });
    const { outcome } = connection;
    const conversation = await this.stores.alertPlaces.conversation(
      this.stores.db,
      this.organisation,
      delivery,
      alert.thread,
    );
    const notification = this.notificationOf(
      delivery,
      alert,
      conversation?.opener === delivery.id ? null : (conversation?.reference ?? null),
      null,
      [],
    );
    const found = await safely(() => outcome.call(connection, notification));
    if (found.kind === 'not-sent') return this.absent(delivery);
    // Without permission to ask, the outcome stays unknown: the delivery is not repeated, and people can see that.
    if (found.kind === 'refused')
      return this.commit(delivery, (tx, current) =>
        this.giveUp(tx, current, alert, 'unknown', `${found.code}: ${found.detail}`),
      );
    if (found.kind === 'busy') return [sendItem(delivery, this.now + found.waitMs)];
    return this.record(delivery, alert, connection, found);
  }

  /** It never arrived; it is sent again once the first request cannot be under way any more. */
  private absent(delivery: Delivery): Promise<readonly WorkItem[]> {
    return this.commit(delivery, async (tx, current) => {
      const free = (current.askedAt ?? this.now) + PATIENCE.requestMs;
      if (this.now < free) return [sendItem(current, free)];
      await this.step(tx, current, { askedAt: null });
      return [sendItem(current)];
    });
  }

  /** Commits what the channel said. */
  private record(
    tried: Delivery,
    alert: Alert,
    connection: ChannelConnection,
    found: SendOutcome,
  ): Promise<readonly WorkItem[]> {
    return this.commit(tried, async (tx, delivery) => {
      switch (found.kind) {
        case 'sent':
          return this.markSent(tx, delivery, alert, connection, found.reference);
        case 'refused': {
          const problem = `${found.code}: ${found.detail}`;
          if (this.now - delivery.intendedAt >= GIVE_UP_MS) return this.giveUp(tx, delivery, alert, 'failed', problem);
          // The other deliveries of its conversation need not wait until the cause is corrected.
          await this.stores.alertPlaces.opened(tx, this.organisation, delivery, alert.thread, delivery.id, null);
          return this.retryLater(tx, delivery, problem, this.now + REFUSED_MS);
        }
        case 'not-sent':
          return this.retryLater(tx, delivery, found.detail, askAgainAt(delivery.intendedAt, this.now));
        case 'busy':
          await this.stores.alertPlaces.pauseUntil(tx, this.organisation, delivery, this.now + found.waitMs);
          return this.retryLater(tx, delivery, 'the receiver asks for a pause', this.now + found.waitMs);
        case 'unknown':
          if (connection.whenUnknown === 'leave') return this.giveUp(tx, delivery, alert, 'unknown', found.detail);
          if (connection.whenUnknown === 'send-again')
            return this.retryLater(tx, delivery, found.detail, askAgainAt(delivery.intendedAt, this.now));
          await this.step(tx, delivery, { problem: found.detail });
          return [sendItem(delivery, askAgainAt(delivery.askedAt ?? this.now, this.now))];
      }
    });
  }

  private async markSent(
    tx: Transaction,
    delivery: Delivery,
    alert: Alert,
    connection: ChannelConnection,
    reference: string | null,
  ): Promise<readonly WorkItem[]> {
    const { alerts, alertPlaces } = this.stores;
    await this.step(tx, delivery, { state: 'sent', sentAt: this.now, reference, shown: alert.revision, problem: null });
    if (delivery.part === 'picture') return [];
    if (connection.threads)
      await alertPlaces.opened(tx, this.organisation, delivery, alert.thread, delivery.id, reference);
    const hasChanged = (await alerts.get(tx, this.organisation, alert.id))?.revision !== alert.revision;
    const pictures =
      connection.pictures === 'apart' && (await alerts.hasPicture(tx, this.organisation, alert.id))
        ? await alerts.intend(
            tx,
            this.organisation,
            alert,
            [{ ...delivery, part: 'picture' }],
            delivery.level,
            this.now,
          )
        : [];
    return [...pictures, ...(hasChanged ? [sendItem(delivery)] : [])];
  }

  /** Shows what the alert has become, where the place still shows something else. */
  private async refresh(delivery: Delivery, alert: Alert, connection: ChannelConnection): Promise<readonly WorkItem[]> {
    const { reference } = delivery;
    if (
      reference === null ||
      connection.update === undefined ||
      delivery.part === 'picture' ||
      (delivery.shown ?? 0) >= alert.revision
    )
      return [];
    const { update } = connection;
    const free = await this.stores.db.transaction((tx) =>
      this.stores.alertPlaces.reserveSlot(tx, this.organisation, delivery, connection.leastPauseMs, this.now),
    );
    if (free !== null) return [sendItem(delivery, free)];
    const found = await safely(() =>
      update.call(connection, reference, messageOf(alert, this.options.texts, this.options.publicUrl)),
    );
    if (found.kind === 'busy') return [sendItem(delivery, this.now + found.waitMs)];
    if (found.kind === 'not-sent' || found.kind === 'unknown')
      return [sendItem(delivery, askAgainAt(delivery.sentAt ?? this.now, this.now))];
    return this.commit(delivery, async (tx, current) => {
      await this.step(tx, current, {
        shown: alert.revision,
        ...(found.kind === 'refused' ? { problem: `not updated: ${found.code}: ${found.detail}` } : {}),
      });
      return [];
    });
  }

  /** It did not arrive, or may be sent again: it waits for its next try. */
  private async retryLater(
    tx: Transaction,
    delivery: Delivery,
    problem: string,
    notBefore: number,
  ): Promise<readonly WorkItem[]> {
    await this.step(tx, delivery, { problem, askedAt: null });
    return [sendItem(delivery, notBefore)];
  }

  /** It comes to nothing; a conversation that it was to begin is the next one's to begin. */
  private async giveUp(
    tx: Transaction,
    delivery: Delivery,
    alert: Alert,
    state: 'unknown' | 'failed' | 'dropped',
    problem: string | null,
  ): Promise<readonly WorkItem[]> {
    await this.step(tx, delivery, { state, problem });
    await this.stores.alertPlaces.opened(tx, this.organisation, delivery, alert.thread, delivery.id, null);
    return [];
  }

  private step(tx: Transaction, delivery: Delivery, step: DeliveryStep): Promise<void> {
    return this.stores.alerts.step(tx, this.organisation, delivery, step);
  }

  private commit(
    delivery: Delivery,
    work: (tx: Transaction, current: Delivery) => Promise<readonly WorkItem[]>,
  ): Promise<readonly WorkItem[]> {
    return this.commitAs<readonly WorkItem[]>(delivery, [], work);
  }

  /** A separate commit under the delivery's lock; `otherwise` if the delivery has left its state in the meantime. */
  private commitAs<T>(
    delivery: Delivery,
    otherwise: T,
    work: (tx: Transaction, current: Delivery) => Promise<T>,
  ): Promise<T> {
    return this.stores.db.transaction(async (tx) => {
      const current = await this.stores.alerts.lock(tx, this.organisation, delivery.id);
      return current === null || current.state !== delivery.state ? otherwise : work(tx, current);
    });
  }
}

/** After an exception from a part, against its contract, the outcome is unknown. */
async function safely(work: () => Promise<SendOutcome>): Promise<SendOutcome> {
  try {
    return await work();
  } catch (error) {
    return { kind: 'unknown', detail: error instanceof Error ? error.name : 'an error without a name' };
  }
}
