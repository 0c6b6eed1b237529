/**
 * The position up to which the audit was sent to a collector: the entry in the chain that it has confirmed, and since
 * when it has not accepted the next one. A digest of its address identifies a collector; a new collector gets
 * everything.
 */
import { formatInstant, HOUR_MS } from '../core/time.js';
import type { Queryable } from './database.js';

/** After so long without a try nobody sends to a collector any more. */
const FORGOTTEN_MS = HOUR_MS;

export interface StreamState {
  /** The last place in the chain that the collector has taken; '0': none. */
  readonly seq: string;
  /** Epoch milliseconds; null: it takes what it is sent. */
  readonly failingSince: number | null;
  /** When it was looked at last; null: never. */
  readonly triedAt: number | null;
}

export interface StreamGauge {
  readonly organisation: string;
  readonly unsent: number;
  /** Why it takes nothing; null: it does. */
  readonly problem: string | null;
}

export class AuditStreamStore {
  constructor(private readonly db: Queryable) {}

  async state(organisation: string, collector: string): Promise<StreamState> {
    const [row] = await this.db.query<{ seq: string; since: Date | null; tried: Date }>(
      `select seq::text as seq, failing_since as since, tried_at as tried from audit_stream where organisation = $1 and collector = $2`,
      [organisation, collector],
    );
    return { seq: row?.seq ?? '0', failingSince: row?.since?.getTime() ?? null, triedAt: row?.tried.getTime() ?? null };
  }

  /** @param problem why it was not taken; null: it was */
  async save(
    tx: Queryable,
    organisation: string,
    collector: string,
    { seq, problem }: { readonly seq: string; readonly problem: string | null },
    now: number,
  ): Promise<void> {
    await tx.query(
      `insert into audit_stream (organisation, collector, seq, tried_at, failing_since, problem)
       values ($1, $2, $3, $4, case when $5::text is null then null else $4::timestamptz end, $5)
       on conflict (organisation, collector) do update set seq = greatest(audit_stream.seq, excluded.seq),
         tried_at = excluded.tried_at, problem = excluded.problem,
         failing_since = case when excluded.problem is null then null
           else coalesce(audit_stream.failing_since, excluded.failing_since) end`,
      [organisation, collector, seq, formatInstant(now), problem],
    );
  }

  /** Whether somebody sends the audit to a collector. */
  async isSent(organisation: string, now: number): Promise<boolean> {
    const [row] = await this.db.query<{ found: boolean }>(
      `select exists (select from audit_stream where organisation = $1 and tried_at > $2) as found`,
      [organisation, formatInstant(now - FORGOTTEN_MS)],
    );
    return row?.found === true;
  }

  /**
   * The last place that all have who are sent the audit; null: nobody is.
   * @param collector one that it is to be sent to, whether it was yet or not; null: this process knows none
   */
  async takenByAll(organisation: string, collector: string | null, now: number): Promise<string | null> {
    const rows = await this.db.query<{ collector: string; seq: string }>(
      `select collector, seq::text as seq from audit_stream where organisation = $1 and (collector = $2 or tried_at > $3)`,
      [organisation, collector, formatInstant(now - FORGOTTEN_MS)],
    );
    if (collector !== null && !rows.some((row) => row.collector === collector)) return '0';
    return rows.reduce<string | null>(
      (least, { seq }) => (least === null || Number(seq) < Number(least) ? seq : least),
      null,
    );
  }

  /** The collector that is furthest behind. */
  async gauges(now: number): Promise<StreamGauge[]> {
    return this.db.query<StreamGauge>(
      `select distinct on (1) organisation, unsent::int as unsent, problem from (
         select s.organisation, s.problem,
           coalesce((select max(seq) from audit_seal a where a.organisation = s.organisation), 0) - s.seq as unsent
         from audit_stream s where s.tried_at > $1
       ) s order by 1, unsent desc`,
      [formatInstant(now - FORGOTTEN_MS)],
    );
  }
}
