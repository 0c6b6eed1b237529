/**
 * Setting and lifting the kill switch, for both doors. What it holds back is the guard's and the statement's that asks
 * a provider (safety.ts).
 *
 * The line looks again at once: after a stop at what was approved, so that it is seen to be refused; after a lift at
 * what the teams may do.
 */
import type { Stop } from '../../core/action/guard.js';
import { invalid, missing } from '../../core/errors.js';
import type { Transaction } from '../database.js';
import type { Stores } from '../stores.js';

export interface StopWish {
  readonly lift: boolean;
  readonly reason: string;
  readonly by: string;
  readonly now: number;
}

/**
 * @param where nothing: everything
 * @throws Failure invalid for a team and a provider at once, missing for a team that nobody knows (a switch that holds
 * nothing back is worse than
 *   none) and for a lift of what is not off
 */
export async function setStop(
  { safety, policies, actions }: Stores,
  tx: Transaction,
  organisation: string,
  { team, provider }: { readonly team?: string | undefined; readonly provider?: string | undefined },
  { lift, reason, by, now }: StopWish,
): Promise<Stop> {
  if (team !== undefined && provider !== undefined)
    throw invalid('a team or a provider, not both: set one after the other');
  const stop: Stop =
    team !== undefined
      ? { scope: 'team', name: team }
      : provider !== undefined
        ? { scope: 'provider', name: provider }
        : { scope: 'all', name: '' };
  if (lift) {
    if (!(await safety.lift(tx, organisation, stop)))
      throw missing(
        `the kill switch is not on for ${stop.scope === 'all' ? 'everything' : `the ${stop.scope} ${stop.name}`}`,
      );
    await policies.wakeTeams(tx, organisation, { teams: '*' });
    return stop;
  }
  if (team !== undefined && !(await policies.teams(tx, organisation)).includes(team))
    throw missing(`there is no team ${team}: nothing was stopped`);
  await safety.stop(tx, organisation, stop, reason, by, now);
  await actions.hastenApproved(tx, organisation);
  return stop;
}
