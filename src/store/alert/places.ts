/**
 * The state of each place for alerts: the time of the next permitted sending, and the message that began each
 * conversation.
 *
 * The invariants: two runners never send to a place within its pause, and a conversation has one opener; later
 * deliveries wait for its reference.
 */
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';

export interface Place {
  readonly channel: string;
  readonly address: string | null;
}

export interface Conversation {
  /** The delivery that begins it. */
  readonly opener: string;
  /** The channel's reference of its first message; null: not sent yet. */
  readonly reference: string | null;
}

export class AlertPlaceStore {
  /** Takes the place's next turn; null: it was free, and rests from now on. Otherwise when it is free. */
  async reserveSlot(
    tx: Queryable,
    organisation: string,
    { channel, address }: Place,
    pauseMs: number,
    now: number,
  ): Promise<number | null> {
    const rows = await tx.query(
      `insert into alert_pace (organisation, channel, address, next_at) values ($1, $2, $3, $4)
       on conflict (organisation, channel, address) do update set next_at = excluded.next_at where alert_pace.next_at <= $5 returning 1 as taken`,
      [organisation, channel, address ?? '', formatInstant(now + pauseMs), formatInstant(now)],
    );
    if (rows.length > 0) return null;
    const [row] = await tx.query<{ at: Date }>(
      `select next_at as at from alert_pace where organisation = $1 and channel = $2 and address = $3`,
      [organisation, channel, address ?? ''],
    );
    return row?.at.getTime() ?? now;
  }

  /** Lets the place rest until an instant, epoch milliseconds: it asked for that. */
  async pauseUntil(tx: Queryable, organisation: string, { channel, address }: Place, until: number): Promise<void> {
    await tx.query(
      `insert into alert_pace (organisation, channel, address, next_at) values ($1, $2, $3, $4)
       on conflict (organisation, channel, address) do update set next_at = greatest(alert_pace.next_at, excluded.next_at)`,
      [organisation, channel, address ?? '', formatInstant(until)],
    );
  }

  /** The conversation of a thread at a place; where there is none, the delivery begins it. */
  async join(
    tx: Queryable,
    organisation: string,
    { channel, address }: Place,
    thread: string,
    delivery: string,
  ): Promise<Conversation> {
    await tx.query(
      `insert into alert_thread (organisation, channel, address, thread, opener) values ($1, $2, $3, $4, $5) on conflict do nothing`,
      [organisation, channel, address ?? '', thread, delivery],
    );
    return (
      (await this.conversation(tx, organisation, { channel, address }, thread)) ?? { opener: delivery, reference: null }
    );
  }

  async conversation(
    db: Queryable,
    organisation: string,
    { channel, address }: Place,
    thread: string,
  ): Promise<Conversation | null> {
    const [row] = await db.query<Conversation>(
      `select opener, reference from alert_thread where organisation = $1 and channel = $2 and address = $3 and thread = $4`,
      [organisation, channel, address ?? '', thread],
    );
    return row ?? null;
  }

  /** The opener's message is there: the others may follow. Null: it came to nothing, and the next one begins. */
  async opened(
    tx: Queryable,
    organisation: string,
    { channel, address }: Place,
    thread: string,
    opener: string,
    reference: string | null,
  ): Promise<void> {
    const place = [organisation, channel, address ?? '', thread, opener];
    await (reference === null
      ? tx.query(
          `delete from alert_thread where organisation = $1 and channel = $2 and address = $3 and thread = $4 and opener = $5 and reference is null`,
          place,
        )
      : tx.query(
          `update alert_thread set reference = $6 where organisation = $1 and channel = $2 and address = $3 and thread = $4 and opener = $5`,
          [...place, reference],
        ));
  }
}
