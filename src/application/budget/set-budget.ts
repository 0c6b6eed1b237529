/**
 * Sets a budget, with all consequences: sums keep the tags of its filters separately from now on, and the line
 * evaluates it. Every entry point (API, command line, Slack) uses this function, so all do the same.
 */
import type { Budget } from '../../core/budget/budget.js';
import { periodLabel } from '../../store/budget/budgets.js';
import type { Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';
import { enqueueUrgent } from '../../store/work.js';

/** Adds or changes a validated budget; returns the previous one. `now` in epoch milliseconds. */
export async function setBudget(
  stores: Pick<Stores, 'budgets' | 'organisations'>,
  tx: Transaction,
  organisation: string,
  budget: Budget,
  now: number,
): Promise<Budget | null> {
  const before = await stores.budgets.get(tx, organisation, budget.id);
  await stores.budgets.save(tx, organisation, budget);
  // Facts are kept apart only by tags that some budget filters by: a new one means that history is read again.
  const tags = (budget.filters.tag ?? []).map(({ key }) => key);
  if (tags.length > 0 && (await stores.organisations.trackTags(tx, organisation, tags)))
    await stores.organisations.enqueueAllocation(tx, organisation);
  const asOf = await stores.organisations.asOf(tx, organisation, now);
  const instead = await stores.budgets.redefine(tx, organisation, budget, asOf);
  const labels = new Set([asOf, ...instead.map(({ start }) => start)].map((at) => periodLabel(budget, at)));
  await enqueueUrgent(
    tx,
    organisation,
    [...labels].map((label) => ({ stage: 'budget.weigh', partition: budget.id, key: `${budget.id}/${label}` })),
  );
  return before;
}
