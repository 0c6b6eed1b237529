/**
 * Measures of an installation for Prometheus: counts and sums, directly from the tables. Reads only. If the caller may
 * not see all teams, money and budgets cover only the given teams.
 */
import { formatDecimal, parseDecimal } from '../../core/decimal.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { DEFERRED } from '../work.js';

export interface StageGauge {
  readonly stage: string;
  readonly waiting: number;
  /** The part that a person waits for, with the work that follows from it. */
  readonly urgent: number;
  readonly parked: number;
  /** Seconds since its oldest due key was enqueued; null if none is due. */
  readonly lagSeconds: number | null;
}

export interface ActionGauge {
  readonly team: string;
  readonly state: string;
  readonly count: number;
}

export interface SavingGauge {
  readonly team: string;
  readonly currency: string;
  /** Decimal strings; what has been measured so far, and what of it the bill has confirmed. */
  readonly measured: string;
  readonly verified: string;
}

export interface RecommendationGauge {
  readonly team: string;
  readonly count: number;
}

export class GaugeStore {
  constructor(private readonly db: Queryable) {}

  /** Over all organisations: the amount of waiting work and its age, without names. */
  async stages(now: number): Promise<StageGauge[]> {
    const rows = await this.db.query<Omit<StageGauge, 'lagSeconds'> & { since: Date | null }>(
      `select stage, count(*) filter (where done < wanted and parked_at is null and not ${DEFERRED})::int as waiting,
         count(*) filter (where urgent and done < wanted and parked_at is null and not ${DEFERRED})::int as urgent, count(*) filter (where parked_at is not null)::int as parked,
         min(greatest(woken_at, nullif(not_before, '-infinity'))) filter (where done < wanted and parked_at is null and not_before <= $1) as since
       from work group by stage order by stage`,
      [formatInstant(now)],
    );
    return rows.map(({ since, ...row }) => ({
      ...row,
      lagSeconds: since === null ? null : Math.max(0, (now - since.getTime()) / 1000),
    }));
  }

  async actions(organisation: string, teams: readonly string[] | null): Promise<ActionGauge[]> {
    return this.db.query<ActionGauge>(
      `select team, state, count(*)::int as count from action where organisation = $1 and ($2::text[] is null or team = any($2)) group by 1, 2 order by 1, 2`,
      [organisation, teams],
    );
  }

  async recommendations(organisation: string, teams: readonly string[] | null): Promise<RecommendationGauge[]> {
    return this.db.query<RecommendationGauge>(
      `select team, count(*)::int as count from recommendation where organisation = $1 and status = 'open' and ($2::text[] is null or team = any($2)) group by 1 order by 1`,
      [organisation, teams],
    );
  }

  async savings(organisation: string, teams: readonly string[] | null): Promise<SavingGauge[]> {
    const rows = await this.db.query<{ team: string; currency: string; measured: string; verified: string }>(
      `select s.team, c.currency, sum(s.measured_nanos)::text as measured, sum(s.verified_nanos)::text as verified
       from saving s join counterfactual c on c.organisation = s.organisation and c.team = s.team and c.action = s.action
       where s.organisation = $1 and ($2::text[] is null or s.team = any($2)) group by 1, 2 order by 1, 2`,
      [organisation, teams],
    );
    return rows.map(({ team, currency, measured, verified }) => ({
      team,
      currency,
      measured: amountOf(measured),
      verified: amountOf(verified),
    }));
  }
}

const amountOf = (nanos: string): string => {
  const whole = parseDecimal(nanos);
  return whole === null ? nanos : formatDecimal({ unscaled: whole.unscaled, scale: 9 });
};
