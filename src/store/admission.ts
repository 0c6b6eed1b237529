/**
 * What an admission goes by: the organisation's choice, its teams and rules, how its budgets stand, which orders are in force. Reads only.
 */
import { DEFAULT_ADMISSION, type AdmissionFacts, type AdmissionSettings, type BudgetStanding, type LaunchStop } from '../core/admission.js';
import { compileRules } from '../core/allocation.js';
import { periodAt, plannedFor, type Budget } from '../core/budget.js';
import { parseDecimal } from '../core/decimal.js';
import { nanosOf } from '../core/money.js';
import { formatInstant } from '../core/time.js';
import type { StoredState } from './budgets.js';
import type { Queryable } from './database.js';
import type { Stores } from './stores.js';

const SETTING = 'admission';

type Needed = Pick<Stores, 'db' | 'organisations' | 'budgets'>;

export async function admissionSettings({ organisations }: Pick<Stores, 'organisations'>, db: Queryable, organisation: string): Promise<AdmissionSettings> {
  return { ...DEFAULT_ADMISSION, ...(await organisations.setting<Partial<AdmissionSettings>>(db, organisation, SETTING)) };
}

export async function saveAdmissionSettings({ organisations }: Pick<Stores, 'organisations'>, tx: Queryable, organisation: string, settings: AdmissionSettings): Promise<void> {
  await organisations.saveSetting(tx, organisation, SETTING, settings);
}

/** Everything at once, as of `now` (epoch milliseconds). */
export async function admissionFacts(stores: Needed, organisation: string, now: number): Promise<AdmissionFacts> {
  const { db, organisations, budgets } = stores;
  const asOf = await organisations.asOf(db, organisation, now);
  const settings = await admissionSettings(stores, db, organisation);
  const teams = await organisations.teams(db, organisation);
  const { rules } = await organisations.rules(db, organisation);
  const assign = compileRules(rules);
  const states = new Map((await budgets.states(organisation, asOf)).map((state) => [state.budget, state]));
  return {
    settings, teams: new Map(teams.map(({ id, name, parent }) => [id, { name, parent }])),
    budgets: (await budgets.list(db, organisation)).map((budget) => standingOf(budget, states.get(budget.id), asOf)),
    stops: await stopsInForce(db, organisation, asOf),
    teamsOf(record) {
      const assignment = assign(record);
      if (assignment.kind === 'team') return [assignment.team];
      return assignment.kind === 'fixed' ? assignment.shares.filter(({ weight }) => weight > 0n).map(({ team }) => team) : (assignment.of ?? []);
    },
  };
}

/** A state of an earlier period says nothing of the present one. */
function standingOf(budget: Budget, state: StoredState | undefined, asOf: number): BudgetStanding {
  const period = periodAt(budget, asOf);
  const isPresent = state !== undefined && Date.parse(state.periodStart) === period.start;
  const spent = isPresent ? parseDecimal(state.state.spent) : null;
  return { budget, periodEnd: period.end, planned: plannedFor(budget, period), spent: spent === null ? null : nanosOf(spent) };
}

/** Orders to refuse launches that a policy enforces, or that somebody has approved, and that have not run out. */
async function stopsInForce(db: Queryable, organisation: string, asOf: number): Promise<LaunchStop[]> {
  const rows = await db.query<{ team: string; title: string; policy: string; until: Date }>(
    `select team, body->>'title' as title, policy, expires_at as until from recommendation
     where organisation = $1 and action = 'RefuseLaunches' and expires_at > $2 and (status = 'approved' or (status = 'open' and body->>'mode' = 'enforce')) order by team, policy`,
    [organisation, formatInstant(asOf)]);
  return rows.map(({ team, title, policy, until }) => ({ team, title, policy, until: until.getTime() }));
}
