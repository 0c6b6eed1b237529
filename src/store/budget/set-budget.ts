/**
 * Setting a budget, with all that follows from it: the tags that it filters by are kept apart from now on, and the line
 * weighs it. Both doors do it here, so that they do the same.
 */
import type { Budget } from '../../core/budget/budget.js';
import { periodLabel } from './budgets.js';
import type { Transaction } from '../database.js';
import type { Stores } from '../stores.js';
import { wakeAtOnce } from '../work.js';

/** Adds or changes a checked budget; returns what was there before. `now` in epoch milliseconds. */
export async function setBudget(
  stores: Stores,
  tx: Transaction,
  organisation: string,
  budget: Budget,
  now: number,
): Promise<Budget | null> {
  const before = await stores.budgets.get(tx, organisation, budget.id);
  await stores.budgets.save(tx, organisation, budget);
  await trackTags(
    stores,
    tx,
    organisation,
    (budget.filters.tag ?? []).map(({ key }) => key),
  );
  const asOf = await stores.organisations.asOf(tx, organisation, now);
  await wakeAtOnce(tx, organisation, [
    { stage: 'budget.weigh', lane: budget.id, key: `${budget.id}/${periodLabel(budget, asOf)}` },
  ]);
  return before;
}

/** Facts are kept apart only by tags that some budget filters by: a new one means that history is read again. */
async function trackTags(
  { organisations }: Stores,
  tx: Transaction,
  organisation: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  // Two budgets set at once would each keep only its own tags.
  await tx.query(`select 1 from organisation where id = $1 for update`, [organisation]);
  const tracked = await organisations.trackedTags(tx, organisation);
  const all = [...new Set([...tracked, ...keys])];
  if (all.length === tracked.length) return;
  await organisations.saveSetting(tx, organisation, 'tracked-tags', all);
  await organisations.wakeAllocation(tx, organisation);
}
