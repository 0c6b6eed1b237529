/**
 * Alerts and their deliveries. The keys of the tables ensure that an alert is kept once per identity and goes to a
 * place once, whoever raises it.
 *
 * A delivery is the intent to send, with its token; the try and its outcome are separate commits. It sends nothing and
 * decides nothing: the caller decides where an alert goes and what a step means.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import {
  identityOf,
  severityOf,
  threadOf,
  type Alert,
  type AlertKind,
  type AlertState,
  type Answer,
  type AnswerKind,
  type News,
  type Severity,
  type Silence,
} from '../../core/alert/alert.js';
import type { AlertTarget } from '../../core/alert/routes.js';
import { assert, missing } from '../../core/errors.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable, Transaction } from '../database.js';
import type { WorkItem } from '../work.js';

export const MAKE = 'alert.make';
export const ESCALATE = 'alert.escalate';
export const SEND = 'alert.send';

/** Looks at what has happened, and at alerts that are new. */
export const MAKE_ITEM: WorkItem = { stage: MAKE, partition: 'alerts', key: 'alerts', urgent: true };

export interface Delivery {
  readonly id: string;
  readonly alert: string;
  readonly channel: string;
  /** Null: where the channel's settings say. */
  readonly address: string | null;
  readonly part: 'message' | 'picture';
  /** Step of the escalation that sent it; 0: the route itself. */
  readonly level: number;
  readonly token: string;
  /**
   * `waiting`: intended or tried; `unknown`: nobody can tell, and it is not repeated; `failed`: given up; `dropped`:
   * nobody needs it any more.
   */
  readonly state: 'waiting' | 'sent' | 'unknown' | 'failed' | 'dropped';
  /** Epoch milliseconds. */
  readonly intendedAt: number;
  /** When it was last tried; null: it was not, or surely did not arrive. */
  readonly askedAt: number | null;
  readonly sentAt: number | null;
  readonly reference: string | null;
  /** Revision of the alert that the place shows. */
  readonly shown: number | null;
  readonly problem: string | null;
}

interface AlertRow {
  id: string;
  identity: string;
  kind: AlertKind;
  team: string | null;
  severity: Severity;
  thread: string;
  news: News;
  state: AlertState;
  silence: Silence | null;
  answered_as: AnswerKind | null;
  answered_by: string | null;
  answered_at: Date | null;
  level: number;
  revision: number;
  made_at: Date;
}
type DeliveryRow = Omit<Delivery, 'address' | 'intendedAt' | 'askedAt' | 'sentAt'> & {
  address: string;
  intendedAt: Date;
  askedAt: Date | null;
  sentAt: Date | null;
};

const COLUMNS =
  'id, identity, kind, team, severity, thread, news, state, silence, answered_as, answered_by, answered_at, level, revision, made_at';
const DELIVERY = `id, alert, channel, address, part, level, token, state, intended_at as "intendedAt", asked_at as "askedAt", sent_at as "sentAt", reference, shown, problem`;

const alertOf = ({ answered_as: what, answered_by: by, answered_at: at, made_at: made, ...row }: AlertRow): Alert => ({
  ...row,
  madeAt: made.toISOString(),
  answer: what === null ? null : { what, by: by ?? '', at: at?.toISOString() ?? made.toISOString() },
});
const deliveryOf = (row: DeliveryRow): Delivery => ({
  ...row,
  address: row.address === '' ? null : row.address,
  intendedAt: row.intendedAt.getTime(),
  askedAt: row.askedAt?.getTime() ?? null,
  sentAt: row.sentAt?.getTime() ?? null,
});

/** One partition per address: messages to it are sent one after the other. */
export const sendItem = (
  { id, channel, address }: Pick<Delivery, 'id' | 'channel' | 'address'>,
  notBefore?: number,
): WorkItem => ({
  stage: SEND,
  partition: `${channel}/${address ?? ''}`,
  key: id,
  ...(notBefore === undefined ? {} : { notBefore }),
});

export interface AlertFilter {
  readonly team?: string | undefined;
  readonly kind?: AlertKind | undefined;
  readonly state?: AlertState | undefined;
  /** Only of these; null: all. */
  readonly teams?: readonly string[] | null;
}

export interface ListedAlert {
  readonly alert: Alert;
  readonly place: string;
}

/** The changes to a delivery; an absent field stays unchanged. */
export interface DeliveryStep {
  readonly state?: Delivery['state'];
  readonly askedAt?: number | null;
  readonly sentAt?: number;
  readonly reference?: string | null;
  readonly shown?: number;
  readonly problem?: string | null;
}

export class AlertStore {
  constructor(private readonly db: Queryable) {}

  /**
   * Keeps news once; true: they were new. The code that makes news calls this in its own transaction; alert.make
   * decides where they go.
   */
  async raise(tx: Queryable, organisation: string, news: News, now: number): Promise<boolean> {
    const rows = await tx.query(
      `insert into alert (organisation, id, identity, kind, team, severity, thread, news, state, made_at) values ($1, $2, $3, $4, $5, $6, $7, $8, 'new', $9)
       on conflict (organisation, identity) do nothing returning id`,
      [
        organisation,
        `alr-${randomBytes(8).toString('hex')}`,
        identityOf(news),
        news.kind,
        news.team,
        severityOf(news),
        threadOf(news),
        JSON.stringify(news),
        formatInstant(now),
      ],
    );
    return rows.length > 0;
  }

  /** Identities that are kept already. */
  async known(db: Queryable, organisation: string, identities: readonly string[]): Promise<Set<string>> {
    const rows = await db.query<{ identity: string }>(
      `select identity from alert where organisation = $1 and identity = any($2::text[])`,
      [organisation, identities],
    );
    return new Set(rows.map(({ identity }) => identity));
  }

  /** Alerts whose way is not decided yet, oldest first. */
  async fresh(tx: Transaction, organisation: string): Promise<Alert[]> {
    return (
      await tx.query<AlertRow>(
        `select ${COLUMNS} from alert where organisation = $1 and state = 'new' order by alert.no limit 1000 for update`,
        [organisation],
      )
    ).map(alertOf);
  }

  async settle(
    tx: Queryable,
    organisation: string,
    { id }: Alert,
    state: 'silent' | 'open' | 'told',
    silence: Silence | null,
  ): Promise<void> {
    await tx.query(`update alert set state = $3, silence = $4 where organisation = $1 and id = $2`, [
      organisation,
      id,
      state,
      silence,
    ]);
  }

  /** Changes the content of an alert to the present state of the same fact. */
  async restate(tx: Queryable, organisation: string, { id }: Alert, news: News): Promise<void> {
    await tx.query(`update alert set news = $3 where organisation = $1 and id = $2`, [
      organisation,
      id,
      JSON.stringify(news),
    ]);
  }

  /** Directs an alert separately that was kept within another, if the other is sent to nobody. */
  async release(tx: Queryable, organisation: string, { identity }: Pick<Alert, 'identity'>): Promise<void> {
    await tx.query(
      `update alert set state = 'new', silence = null, news = news - 'within'
       where organisation = $1 and state = 'silent' and silence = 'within-another' and news->>'within' = $2`,
      [organisation, identity],
    );
  }

  /** Whether it has reached some place. */
  async wasSent(db: Queryable, organisation: string, { id }: Alert): Promise<boolean> {
    const rows = await db.query(
      `select 1 from alert_delivery where organisation = $1 and alert = $2 and (state in ('sent', 'unknown') or asked_at is not null) limit 1`,
      [organisation, id],
    );
    return rows.length > 0;
  }

  /** Intends to send an alert to some places; a place that has it already is left alone. Returns what to enqueue. */
  async intend(
    tx: Queryable,
    organisation: string,
    alert: Alert,
    to: readonly (AlertTarget & { readonly part: Delivery['part'] })[],
    level: number,
    now: number,
  ): Promise<WorkItem[]> {
    const workItems: WorkItem[] = [];
    for (const { channel, address, part } of to) {
      const [row] = await tx.query<{ id: string }>(
        `insert into alert_delivery (organisation, id, alert, channel, address, part, level, token, intended_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning id`,
        [
          organisation,
          `dlv-${randomBytes(8).toString('hex')}`,
          alert.id,
          channel,
          address ?? '',
          part,
          level,
          randomUUID(),
          formatInstant(now),
        ],
      );
      if (row !== undefined) workItems.push(sendItem({ id: row.id, channel, address }));
    }
    return workItems;
  }

  /** Takes a step of an alert's escalation. */
  async escalate(tx: Queryable, organisation: string, { id, level }: Alert): Promise<WorkItem[]> {
    await tx.query(`update alert set level = $3, revision = revision + 1 where organisation = $1 and id = $2`, [
      organisation,
      id,
      level + 1,
    ]);
    return this.changed(tx, organisation, id);
  }

  /**
   * Notes that an alert was answered, once: what is answered, silent or not kept stays as it is. Returns what to
   * enqueue, so that every place shows it; null:
   * it was not open.
   * @param of its id, or the identity of its news
   */
  async answer(
    tx: Queryable,
    organisation: string,
    of: { readonly id: string } | { readonly identity: string },
    { what, by, at }: Answer,
  ): Promise<WorkItem[] | null> {
    const [row] = await tx.query<{ id: string }>(
      `update alert set state = 'answered', answered_as = $4, answered_by = $5, answered_at = $6, revision = revision + 1
       where organisation = $1 and (id = $2 or identity = $3)
         and (state in ('new', 'open') or (state = 'told' and kind = 'budget' and $4 = 'acknowledged')) returning id`,
      [organisation, 'id' in of ? of.id : null, 'identity' in of ? of.identity : null, what, by, at],
    );
    return row === undefined ? null : this.changed(tx, organisation, row.id);
  }

  private async changed(tx: Queryable, organisation: string, alert: string): Promise<WorkItem[]> {
    const rows = await tx.query<DeliveryRow>(
      `select ${DELIVERY} from alert_delivery where organisation = $1 and alert = $2 and part = 'message' and state = 'sent' and reference is not null order by id`,
      [organisation, alert],
    );
    return rows.map(deliveryOf).map((delivery) => sendItem(delivery));
  }

  async get(db: Queryable, organisation: string, id: string): Promise<Alert | null> {
    const [row] = await db.query<AlertRow>(`select ${COLUMNS} from alert where organisation = $1 and id = $2`, [
      organisation,
      id,
    ]);
    return row === undefined ? null : alertOf(row);
  }

  /** @throws Failure missing. */
  async knownAlert(db: Queryable, organisation: string, id: string): Promise<Alert> {
    const found = await this.get(db, organisation, id);
    if (found === null) throw missing(`alert ${id} does not exist`);
    return found;
  }

  /** The picture that goes with an alert; null: there is none. */
  async picture(db: Queryable, organisation: string, id: string): Promise<Uint8Array | null> {
    const [row] = await db.query<{ picture: Buffer | null }>(
      `select picture from alert where organisation = $1 and id = $2`,
      [organisation, id],
    );
    return row?.picture ?? null;
  }

  /** Keeps the picture of an alert that has none. @returns what is kept, which is the first one */
  async keepPicture(db: Queryable, organisation: string, id: string, png: Uint8Array): Promise<Uint8Array> {
    await db.query(`update alert set picture = $3 where organisation = $1 and id = $2 and picture is null`, [
      organisation,
      id,
      Buffer.from(png),
    ]);
    return (await this.picture(db, organisation, id)) ?? png;
  }

  async hasPicture(db: Queryable, organisation: string, id: string): Promise<boolean> {
    return (
      (
        await db.query(`select 1 from alert where organisation = $1 and id = $2 and picture is not null`, [
          organisation,
          id,
        ])
      ).length > 0
    );
  }

  /**
   * A page, newest first; `before` is the place of the last one seen. Only callers who may see all teams see alerts
   * that concern no single team.
   */
  async list(organisation: string, filter: AlertFilter, before: string | null, limit: number): Promise<ListedAlert[]> {
    const rows = await this.db.query<AlertRow & { place: string }>(
      `select ${COLUMNS}, no::text as place from alert where organisation = $1 and ($2::text is null or team = $2) and ($3::text is null or kind = $3) and ($4::text is null or state = $4)
         and ($5::text[] is null or team = any($5::text[])) and ($6::bigint is null or alert.no < $6) order by alert.no desc limit $7`,
      [
        organisation,
        filter.team ?? null,
        filter.kind ?? null,
        filter.state ?? null,
        filter.teams ?? null,
        before,
        limit,
      ],
    );
    return rows.map(({ place, ...row }) => ({ alert: alertOf(row), place }));
  }

  /** How many alerts of some teams wait for an answer. */
  async countOpen(db: Queryable, organisation: string, teams: readonly string[] | null): Promise<number> {
    const [row] = await db.query<{ n: number }>(
      `select count(*)::int as n from alert where organisation = $1 and state = 'open' and ($2::text[] is null or team = any($2::text[]))`,
      [organisation, teams],
    );
    return row?.n ?? 0;
  }

  async deliveries(db: Queryable, organisation: string, alert: string): Promise<Delivery[]> {
    return (
      await db.query<DeliveryRow>(
        `select ${DELIVERY} from alert_delivery where organisation = $1 and alert = $2 order by level, channel, address, part`,
        [organisation, alert],
      )
    ).map(deliveryOf);
  }

  async delivery(db: Queryable, organisation: string, id: string): Promise<Delivery | null> {
    const [row] = await db.query<DeliveryRow>(
      `select ${DELIVERY} from alert_delivery where organisation = $1 and id = $2`,
      [organisation, id],
    );
    return row === undefined ? null : deliveryOf(row);
  }

  /** Holds the row until the transaction ends. */
  async lock(tx: Transaction, organisation: string, id: string): Promise<Delivery | null> {
    const [row] = await tx.query<DeliveryRow>(
      `select ${DELIVERY} from alert_delivery where organisation = $1 and id = $2 for update`,
      [organisation, id],
    );
    return row === undefined ? null : deliveryOf(row);
  }

  /** The row is locked by the caller. */
  async step(tx: Transaction, organisation: string, delivery: Delivery, step: DeliveryStep): Promise<void> {
    const next = { ...delivery, ...step };
    assert(
      delivery.state === 'waiting' || next.state === delivery.state,
      `the delivery ${delivery.id} is ${delivery.state}: nothing follows`,
    );
    const at = (instant: number | null): string | null => (instant === null ? null : formatInstant(instant));
    await tx.query(
      `update alert_delivery set state = $3, asked_at = $4, sent_at = $5, reference = $6, shown = $7, problem = $8 where organisation = $1 and id = $2`,
      [
        organisation,
        delivery.id,
        next.state,
        at(next.askedAt),
        at(next.sentAt),
        next.reference,
        next.shown,
        next.problem,
      ],
    );
  }
}
