/**
 * cost.share (shared/day): splits the shared costs of a day over the teams that share them, by fixed shares or by use.
 * Use of a day also splits every longer charge again that covers the day.
 */
import type { BudgetStore } from '../store/budget/budgets.js';
import { CREDIT_ITEM, type CreditStore } from '../store/cost/credits.js';
import type { OrganisationStore } from '../store/access/organisation.js';
import type { PriceStore } from '../store/price/prices.js';
import type { ShareStore } from '../store/cost/shares.js';
import type { Transaction } from '../store/database.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { lastPart } from './keys.js';
import type { Stage } from './stage.js';
import { budgetItems } from './evaluate-budget.js';

export function shareStage(
  organisations: OrganisationStore,
  shares: ShareStore,
  credits: CreditStore,
  budgets: BudgetStore,
  prices: PriceStore,
): Stage {
  return {
    name: 'cost.share',
    most: 60,
    async run({ organisation, keys, tx }): Promise<WorkItem[]> {
      const days = await shares.touched(tx, organisation, keys.map(lastPart));
      const changed = await shareDays({ organisations, shares, prices }, tx, organisation, days);
      const creditsToo = (await credits.some(tx, organisation)) ? [CREDIT_ITEM] : [];
      return [...creditsToo, ...(await budgetItems(tx, organisation, budgets, changed))];
    },
  };
}

/** Splits the shared costs of some UTC days again; returns the teams' days that changed. */
export async function shareDays(
  { organisations, shares, prices }: Pick<Stores, 'organisations' | 'shares' | 'prices'>,
  tx: Transaction,
  organisation: string,
  days: readonly string[],
): Promise<{ team: string; days: string[] }[]> {
  const rules = await organisations.rules(tx, organisation);
  const fx = await prices.fx(tx, organisation);
  const changed: { team: string; days: string[] }[] = [];
  for (const day of days)
    for (const team of await shares.share(tx, organisation, day, (standIn) => rules.assignmentOf(standIn), fx))
      changed.push({ team, days: [day] });
  return changed;
}
