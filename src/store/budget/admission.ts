/**
 * The data for an admission: the organisation's setting, its teams and rules, the state of its budgets, and the orders
 * in force. Reads only.
 */
import {
  DEFAULT_ADMISSION,
  type AdmissionFacts,
  type AdmissionSettings,
  type BudgetStanding,
  type LaunchStop,
  type ReservationHold,
} from '../../core/budget/admission.js';
import { compileRules } from '../../core/cost/allocation.js';
import { periodAt, plannedFor, type Budget } from '../../core/budget/budget.js';
import { parseDecimal } from '../../core/decimal.js';
import { nanosOf } from '../../core/money.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';
import type { Stores } from '../stores.js';

const SETTING = 'admission';

type Needed = Pick<Stores, 'db' | 'organisations'>;

export async function admissionSettings(
  { organisations }: Pick<Stores, 'organisations'>,
  db: Queryable,
  organisation: string,
): Promise<AdmissionSettings> {
  return {
    ...DEFAULT_ADMISSION,
    ...(await organisations.setting<Partial<AdmissionSettings>>(db, organisation, SETTING)),
  };
}

export async function saveAdmissionSettings(
  { organisations }: Pick<Stores, 'organisations'>,
  tx: Queryable,
  organisation: string,
  settings: AdmissionSettings,
): Promise<void> {
  await organisations.saveSetting(tx, organisation, SETTING, settings);
}

/** Everything at once, as of `now` (epoch milliseconds). */
export async function admissionFacts(stores: Needed, organisation: string, now: number): Promise<AdmissionFacts> {
  const { db, organisations } = stores;
  const asOf = await organisations.asOf(db, organisation, now);
  const settings = await admissionSettings(stores, db, organisation);
  const teams = await organisations.teams(db, organisation);
  const { rules } = await organisations.rules(db, organisation);
  const assign = compileRules(rules);
  return {
    settings,
    teams: new Map(teams.map(({ id, name, parent, zone }) => [id, { name, parent, zone }])),
    budgets: await standings(db, organisation, asOf, now),
    stops: await stopsInForce(db, organisation, asOf),
    teamsOf(record) {
      const assignment = assign(record);
      if (assignment.kind === 'team') return [assignment.team];
      return assignment.kind === 'fixed'
        ? assignment.shares.filter(({ weight }) => weight > 0n).map(({ team }) => team)
        : (assignment.of ?? []);
    },
  };
}

interface StandingRow {
  spec: Budget;
  start: Date | null;
  spent: string | null;
  holds: { reservation: string; team: string; at: number; nanos: string }[] | null;
}

/**
 * Every budget as it stands. A state and the holds on its budget are read by one statement, as for quotes: an
 * evaluation moves an amount from the one to the other.
 * @param asOf for states and periods
 * @param now for what has expired
 */
async function standings(db: Queryable, organisation: string, asOf: number, now: number): Promise<BudgetStanding[]> {
  const rows = await db.query<StandingRow>(
    `select b.spec, s.period_start as start, s.state ->> 'spent' as spent, h.holds
     from budget b
     left join lateral (select period_start, state from budget_state where organisation = $1 and budget = b.id and period_start <= $2 order by period_start desc limit 1) s on true
     left join lateral (
       select jsonb_agg(jsonb_build_object('reservation', h.reservation, 'team', r.team, 'at', (extract(epoch from h.at) * 1000)::double precision, 'nanos', (h.nanos - greatest(h.used_nanos, 0))::text)) as holds
       from reservation_hold h join reservation r on r.organisation = h.organisation and r.id = h.reservation
       where h.organisation = $1 and h.budget = b.id and h.expires_at > $3 and h.nanos > greatest(h.used_nanos, 0) and h.currency = b.spec ->> 'currency') h on true
     where b.organisation = $1 order by b.id`,
    [organisation, formatInstant(asOf), formatInstant(now)],
  );
  return rows.map(({ spec: budget, start, spent, holds }) => {
    const period = periodAt(budget, asOf);
    // A state of an earlier period says nothing of the present one, and a hold of one is over.
    const known = start?.getTime() === period.start && spent !== null ? parseDecimal(spent) : null;
    return {
      budget,
      periodEnd: period.end,
      planned: plannedFor(budget, period),
      spent: known === null ? null : nanosOf(known),
      holds: (holds ?? [])
        .filter(({ at }) => at >= period.start)
        .map(({ reservation, team, nanos }): ReservationHold => ({ reservation, team, remaining: BigInt(nanos) })),
    };
  });
}

/** Orders to refuse launches that a policy enforces, or that somebody has approved, and that have not run out. */
async function stopsInForce(db: Queryable, organisation: string, asOf: number): Promise<LaunchStop[]> {
  const rows = await db.query<{ team: string; title: string; policy: string; until: Date }>(
    `select team, body->>'title' as title, policy, expires_at as until from recommendation
     where organisation = $1 and action = 'RefuseLaunches' and expires_at > $2 and (status = 'approved' or (status = 'open' and body->>'mode' = 'enforce')) order by team, policy`,
    [organisation, formatInstant(asOf)],
  );
  return rows.map(({ team, title, policy, until }) => ({ team, title, policy, until: until.getTime() }));
}
