/**
 * Reservations: budget held for future launches. Lists, releases and settles them against the usage metered under their
 * tag; reserve.ts makes them. The rest of a budget is read from the holds themselves, so the line's evaluation only
 * displays it. The evaluation is enqueued after the commit, because a work item of a budget in evaluation waits for
 * that evaluation, and hundreds of reservations would wait behind it. If a crash loses a work item, the hourly calendar
 * makes up for it. The transaction that counts a run's cost as spent also records it on the hold (budget.weigh). A
 * reservation ends only by the clock, by a release, or by its own cost.
 */
import { setTimeout } from 'node:timers/promises';
import { parseDecimal, ZERO } from '../../core/decimal.js';
import { missing } from '../../core/errors.js';
import type { Budget } from '../../core/budget/budget.js';
import type { FxTable } from '../../core/price/fx.js';
import { formatMoney } from '../../core/money.js';
import type { Quote } from '../../core/quote/quote.js';
import {
  remainingOf,
  RESERVATION_TAG,
  stateOfReservation,
  type ReservationState,
} from '../../core/budget/reservation.js';
import { formatInstant, type Interval, type Clock } from '../../core/time.js';
import type { OrganisationStore } from '../access/organisation.js';
import { periodLabel } from './budgets.js';
import { inCurrency } from './spend.js';
import { filterParameter, passes } from './filters.js';
import type { Database, Queryable, Transaction } from '../database.js';
import type { QuoteQuestion } from '../price/quotes.js';
import { enqueue, type WorkItem } from '../work.js';

/** Amounts are decimal strings. */
export interface StoredReservation {
  readonly id: string;
  readonly team: string;
  readonly state: ReservationState;
  /** The tag of a launch whose cost replaces the held amount. */
  readonly tag: { readonly key: string; readonly value: string };
  /** The high end of the quote. */
  readonly amount: string;
  readonly currency: string;
  readonly reason: string;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly expiresAt: string;
  readonly releasedAt: string | null;
  readonly releasedBy: string | null;
  /** The part in each budget's period, in its currency. */
  readonly holds: readonly {
    readonly budget: string;
    readonly held: string;
    readonly used: string;
    readonly remaining: string;
    readonly currency: string;
  }[];
  readonly quote: Quote;
}

export interface ListedReservation {
  readonly reservation: StoredReservation;
  /** Where the list goes on. */
  readonly place: string;
}

export interface ReserveRequest extends QuoteQuestion {
  readonly team: string;
  readonly tags: Readonly<Record<string, string>> | null;
  /** Null: as long as the run takes. */
  readonly holdHours: number | null;
  readonly reason: string;
  /** Whether the caller may know how a team's budgets stand; absent: all of them. */
  readonly sees?: (team: string) => boolean;
}

/** The result, and the work to enqueue after the commit. */
export interface Reserved {
  readonly reservation: StoredReservation;
  readonly workItems: readonly WorkItem[];
}

export interface ReservationRow {
  no: string;
  id: string;
  team: string;
  nanos: string;
  currency: string;
  reason: string;
  quote: Quote;
  created: number;
  by: string;
  expires: number;
  released: number | null;
  releaser: string | null;
  holds: { budget: string; nanos: string; used: string; currency: string }[] | null;
}

/** The sums of the holds on a budget. */
export interface Settled {
  readonly nanos: bigint;
  readonly unconverted: readonly string[];
  /** When the next of them expires, epoch milliseconds; null: there are none. */
  readonly nextExpiry: number | null;
}

const NOTHING_HELD: Settled = { nanos: 0n, unconverted: [], nextExpiry: null };

/** Epoch milliseconds. */
const ms = (column: string): string => `(extract(epoch from ${column}) * 1000)::double precision`;

const SELECT = `
select r.no::text as no, r.id, r.team, r.nanos::text as nanos, r.currency, r.reason, r.quote, ${ms('r.created_at')} as created, r.created_by as by, ${ms('r.expires_at')} as expires,
  ${ms('r.released_at')} as released, r.released_by as releaser,
  (select jsonb_agg(jsonb_build_object('budget', h.budget, 'nanos', h.nanos::text, 'used', h.used_nanos::text, 'currency', h.currency) order by h.budget)
   from reservation_hold h where h.organisation = r.organisation and h.reservation = r.id) as holds
from reservation r`;

const USED = `
select h.reservation, c.day::timestamp at time zone 'UTC' as at, c.currency, sum(c.actual)::text as amount
from reservation_hold h
join dimension d on d.organisation = h.organisation and d.category <> 'Credit' and d.tags->>'${RESERVATION_TAG}' = h.reservation
join cost_day c on c.organisation = h.organisation and c.dimension = d.id and c.team = any($3::text[]) and c.day >= (h.at at time zone 'UTC')::date
where h.organisation = $1 and h.budget = $2 and h.expires_at > $4 and c.actual is not null
  and ${passes('$5')}
group by 1, 2, 3 order by 1, 2, 3`;

export class ReservationStore {
  constructor(
    private readonly db: Queryable,
    private readonly organisations: OrganisationStore,
  ) {}

  /** Newest first; `before` is the place of the last one seen. */
  async list(
    organisation: string,
    filter: { readonly team: string | null; readonly teams: readonly string[] | null; readonly active: boolean },
    before: string | null,
    limit: number,
    now: number,
  ): Promise<ListedReservation[]> {
    const rows = await this.db.query<ReservationRow>(
      `${SELECT} where r.organisation = $1 and ($2::text is null or r.team = $2) and ($3::text[] is null or r.team = any($3::text[]))
         and (not $4::boolean or (r.expires_at > $5 and r.released_at is null)) and ($6::bigint is null or r.no < $6) order by r.no desc limit $7`,
      [organisation, filter.team, filter.teams, filter.active, formatInstant(now), before, limit],
    );
    return rows.map((row) => ({ reservation: reservationOf(row, now), place: row.no }));
  }

  /** @throws Failure missing */
  async known(db: Queryable, organisation: string, id: string, now: number): Promise<StoredReservation> {
    const [row] = await db.query<ReservationRow>(`${SELECT} where r.organisation = $1 and r.id = $2`, [
      organisation,
      id,
    ]);
    if (row === undefined) throw missing(`reservation ${id} does not exist`);
    return reservationOf(row, now);
  }

  /**
   * Notes on a budget's live holds of its present period what usage with their tag has cost there, and says what they
   * still come to.
   */
  async settle(
    tx: Queryable,
    organisation: string,
    budget: Budget,
    { period, asOf, now }: { readonly period: Interval; readonly asOf: number; readonly now: number },
    teams: () => Promise<readonly string[]>,
    fx: FxTable,
  ): Promise<Settled> {
    // A period that is over owes nothing more.
    if (asOf < period.start || asOf >= period.end) return NOTHING_HELD;
    const holds = await tx.query<{ reservation: string; nanos: string; used: string; currency: string; expires: Date }>(
      `select reservation, nanos::text as nanos, used_nanos::text as used, currency, expires_at as expires from reservation_hold
       where organisation = $1 and budget = $2 and expires_at > $3 and at >= $4 and at < $5 order by reservation`,
      [organisation, budget.id, formatInstant(now), formatInstant(period.start), formatInstant(period.end)],
    );
    if (holds.length === 0) return NOTHING_HELD;
    const used = await this.used(tx, organisation, budget, await teams(), holds, fx, now);
    const changed = holds.filter(({ reservation, used: before }) => used.get(reservation) !== BigInt(before));
    if (changed.length > 0) {
      await tx.query(
        `update reservation_hold h set used_nanos = u.nanos from unnest($3::text[], $4::numeric[]) as u(reservation, nanos)
         where h.organisation = $1 and h.budget = $2 and h.reservation = u.reservation`,
        [
          organisation,
          budget.id,
          changed.map(({ reservation }) => reservation),
          changed.map(({ reservation }) => String(used.get(reservation) ?? 0n)),
        ],
      );
    }
    const own = holds.filter(({ currency }) => currency === budget.currency);
    return {
      nanos: own.reduce(
        (sum, { reservation, nanos }) => sum + remainingOf(BigInt(nanos), used.get(reservation) ?? 0n),
        0n,
      ),
      unconverted: [...new Set(holds.map(({ currency }) => currency))].filter(
        (currency) => currency !== budget.currency,
      ),
      nextExpiry: Math.min(...holds.map(({ expires }) => expires.getTime())),
    };
  }

  /** Ends a reservation now; one that is already over stays unchanged. @throws Failure missing */
  async release(tx: Transaction, organisation: string, id: string, by: string, now: number): Promise<Reserved> {
    await tx.query(
      `update reservation set released_at = $3, released_by = $4 where organisation = $1 and id = $2 and released_at is null and expires_at > $3`,
      [organisation, id, formatInstant(now), by],
    );
    // Locked like a reservation: two that end at once take their holds one after the other.
    const budgets = await tx.query<{ spec: Budget }>(
      `select spec from budget where organisation = $1 and id in (select budget from reservation_hold where organisation = $1 and reservation = $2 and expires_at > $3) order by id for update`,
      [organisation, id, formatInstant(now)],
    );
    await tx.query(
      `update reservation_hold set expires_at = $3 where organisation = $1 and reservation = $2 and expires_at > $3`,
      [organisation, id, formatInstant(now)],
    );
    const asOf = await this.organisations.asOf(tx, organisation, now);
    return {
      reservation: await this.known(tx, organisation, id, now),
      workItems: evaluationItems(
        budgets.map(({ spec }) => spec),
        asOf,
      ),
    };
  }

  /**
   * Nanos, in each hold's currency, of what the budget counts of the usage that names the reservation. What cannot be
   * converted counts as not used.
   */
  private async used(
    tx: Queryable,
    organisation: string,
    { id, filters }: Budget,
    teams: readonly string[],
    holds: readonly { readonly reservation: string; readonly currency: string }[],
    fx: FxTable,
    now: number,
  ): Promise<Map<string, bigint>> {
    const rows = await tx.query<{ reservation: string; at: Date; currency: string; amount: string }>(USED, [
      organisation,
      id,
      teams,
      formatInstant(now),
      filterParameter(filters),
    ]);
    const used = new Map(holds.map(({ reservation }) => [reservation, 0n]));
    const currencyOf = new Map(holds.map(({ reservation, currency }) => [reservation, currency]));
    for (const { reservation, at, currency, amount } of rows) {
      const wanted = currencyOf.get(reservation);
      if (wanted === undefined) continue;
      used.set(
        reservation,
        (used.get(reservation) ?? 0n) +
          (inCurrency(parseDecimal(amount) ?? ZERO, currency, wanted, at.getTime(), fx) ?? 0n),
      );
    }
    return used;
  }
}

/** So long after a reservation its budgets are evaluated: those of a minute are one evaluation of each budget. */
const EVALUATED_AFTER_MS = 60_000;
/** Between two work items. */
const REST_MS = 1000;

/**
 * Enqueues what reservations have changed, for a little later: the first at once, and those that follow it within a
 * second together.
 */
export class HoldEnqueuer {
  private pending = new Map<string, { readonly organisation: string; readonly workItem: WorkItem }>();
  private running = false;

  /** @param failed is told of an error; what it lost, the calendar's enqueuing makes up for */
  constructor(
    private readonly db: Database,
    private readonly clock: Clock,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** Soon; nobody waits for it. */
  add(organisation: string, workItems: readonly WorkItem[]): void {
    const notBefore = this.clock.now() + EVALUATED_AFTER_MS;
    for (const workItem of workItems)
      this.pending.set(`${organisation}\u0001${workItem.key}`, { organisation, workItem: { ...workItem, notBefore } });
    if (!this.running) this.enqueueAll().catch(this.failed);
  }

  private async enqueueAll(): Promise<void> {
    this.running = true;
    try {
      while (this.pending.size > 0) {
        const all = [...this.pending.values()];
        this.pending = new Map();
        for (const organisation of new Set(all.map((one) => one.organisation))) {
          await enqueue(
            this.db,
            organisation,
            all.filter((one) => one.organisation === organisation).map(({ workItem }) => workItem),
          );
        }
        await setTimeout(REST_MS, undefined, { ref: false });
      }
    } finally {
      this.running = false;
    }
  }
}

export const evaluationItems = (budgets: readonly Budget[], asOf: number): WorkItem[] =>
  budgets.map((budget) => ({
    stage: 'budget.weigh',
    partition: budget.id,
    key: `${budget.id}/${periodLabel(budget, asOf)}`,
  }));

export function reservationOf(row: ReservationRow, now: number): StoredReservation {
  const holds = (row.holds ?? []).map(({ budget, nanos, used, currency }) => {
    const money = (amount: bigint): string => formatMoney({ nanos: amount, currency });
    return {
      budget,
      currency,
      held: money(BigInt(nanos)),
      used: money(BigInt(used)),
      remaining: money(remainingOf(BigInt(nanos), BigInt(used))),
    };
  });
  const remaining = (row.holds ?? []).reduce(
    (sum, { nanos, used }) => sum + remainingOf(BigInt(nanos), BigInt(used)),
    0n,
  );
  return {
    id: row.id,
    team: row.team,
    state: stateOfReservation(now, row.expires, row.released, remaining),
    tag: { key: RESERVATION_TAG, value: row.id },
    amount: formatMoney({ nanos: BigInt(row.nanos), currency: row.currency }),
    currency: row.currency,
    reason: row.reason,
    createdAt: formatInstant(row.created),
    createdBy: row.by,
    expiresAt: formatInstant(row.expires),
    releasedAt: row.released === null ? null : formatInstant(row.released),
    releasedBy: row.releaser,
    // Those of before bills taught prices do not say that none did.
    holds,
    quote: {
      ...row.quote,
      learned: row.quote.learned ?? null,
      alternatives: row.quote.alternatives.map((one) => ({ ...one, learned: one.learned ?? null })),
    },
  };
}
