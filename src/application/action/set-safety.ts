/**
 * Setting and lifting the kill switch, for every entry point. The guard, and the statement that records a request to a
 * provider, enforce the switch (safety.ts). A stop refuses earlier approvals at once, and they do not come back when it
 * is lifted, even if no worker checked them in between. Work that is already with a worker meets the guard and that
 * statement.
 */
import { isHalfMoved, undone } from '../../core/action/action.js';
import type { Stop } from '../../core/action/guard.js';
import { invalid, missing } from '../../core/errors.js';
import type { Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';
import { enqueue, type WorkItem } from '../../store/work.js';

type Needs = Pick<Stores, 'actions' | 'policies' | 'safety'>;

export interface StopWish {
  readonly lift: boolean;
  readonly reason: string;
  readonly by: string;
  readonly now: number;
}

/**
 * @param where absent: everything @throws Failure invalid for a team and a provider at once, missing for an unknown
 * team (a switch that stops nothing is worse than none) and for lifting a switch that is not on
 */
export async function setStop(
  { safety, policies, actions }: Needs,
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
    await policies.enqueueTeams(tx, organisation, { teams: '*' });
    return stop;
  }
  if (team !== undefined && !(await policies.teams(tx, organisation)).includes(team))
    throw missing(`there is no team ${team}: nothing was stopped`);
  await safety.stop(tx, organisation, stop, reason, by, now);
  const workItems: WorkItem[] = [];
  for (const action of await actions.unasked(tx, organisation)) {
    // Its target stands still between two places: the guard holds it until the switch is lifted.
    if (isHalfMoved(action)) continue;
    if ((await safety.stopsOver(tx, organisation, action.team, action.connection)).length === 0) continue;
    const { to, reasons } = undone(action, [
      { code: 'stopped', message: 'the kill switch was set before it was sent' },
    ]);
    const moved = await actions.move(tx, organisation, action, to, {
      at: now,
      actor: by,
      detail: { reasons },
      set: { reasons },
    });
    workItems.push(...moved.workItems);
  }
  await enqueue(tx, organisation, workItems);
  await actions.expediteApproved(tx, organisation);
  return stop;
}
