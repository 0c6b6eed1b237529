/**
 * Sets or removes a team, with all consequences: at another place in the tree it counts in other budgets, and in
 * another currency its usage is priced again. Every entry point (API, command line, Slack) uses these functions, so all
 * do the same.
 *
 * Never changes spend: the spend of a removed team stays under its id.
 */
import { conflict, missing } from '../../core/errors.js';
import type { Transaction } from '../../store/database.js';
import type { Team } from '../../store/access/organisation.js';
import { enqueuePricing } from '../price/set-rates.js';
import type { Stores } from '../../store/stores.js';

type Needs = Parameters<typeof enqueuePricing>[0] & Pick<Stores, 'budgets' | 'organisations'>;

/**
 * Adds or changes a team. @throws Failure missing if the parent is unknown, conflict if the team would be its own
 * ancestor.
 */
export async function setTeam(stores: Needs, tx: Transaction, organisation: string, team: Team): Promise<void> {
  const before = await stores.organisations.team(tx, organisation, team.id);
  const currencyBefore = await stores.organisations.currencyOf(tx, organisation, team.id);
  await stores.organisations.saveTeam(tx, organisation, team);
  if (team.currency !== currencyBefore) await enqueuePricing(stores, tx, organisation, { team: team.id });
  if (team.parent !== (before?.parent ?? null)) await stores.budgets.enqueueEvaluated(tx, organisation);
}

/** A team with the fields to change; the others stay unchanged. */
export type TeamChange = Pick<Team, 'id'> & {
  readonly [Field in 'name' | 'parent' | 'zone' | 'currency']?: Team[Field] | undefined;
};

/**
 * Adds a team, or changes only the named fields. The defaults of a new team are its id as the name, no parent, UTC and
 * USD. Throws as `setTeam`.
 */
export async function changeTeam(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  { id, ...change }: TeamChange,
): Promise<Team> {
  // Two changes of different fields at once both hold.
  const before = await stores.organisations.team(tx, organisation, id, true);
  const named = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
  const changes = Object.entries(named).some(([field, value]) => before?.[field as keyof Team] !== value);
  if (before !== null && !changes) return before;
  const unset = { name: id, parent: null, zone: 'UTC', currency: 'USD' };
  // A value that a person has set stays assigned by a person from then on.
  const team: Team = { ...unset, ...before, ...named, id, assignedBy: null };
  await setTeam(stores, tx, organisation, team);
  return team;
}

/**
 * Removes a team's data, but not its spend: usage without a price is in the currency of a team that nobody has set from
 * then on. @throws Failure missing if there is no such team, conflict while teams lie
 * below it or budgets are set for it.
 */
export async function removeTeam(stores: Needs, tx: Transaction, organisation: string, id: string): Promise<void> {
  const { budgets, organisations } = stores;
  const team = await organisations.team(tx, organisation, id, true);
  if (team === null) throw missing(`team ${id} does not exist`);
  const holders = await organisations.hangingOn(tx, organisation, id);
  if (holders.length > 0) {
    throw conflict(
      `team ${id} is still needed: first remove or move what depends on it`,
      holders.map((what) => ({ path: null, message: `${what} depends on it` })),
    );
  }
  await organisations.deleteTeam(tx, organisation, id);
  if (team.currency !== (await organisations.currencyOf(tx, organisation, id)))
    await enqueuePricing(stores, tx, organisation, { team: id });
  if (team.parent !== null) await budgets.enqueueEvaluated(tx, organisation);
}
