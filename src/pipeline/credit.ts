/**
 * cost.credit (credits): pays for metered usage with the granted credits, in the order of days.
 */
import type { BudgetStore } from '../store/budget/budgets.js';
import type { CreditStore } from '../store/cost/credits.js';
import type { WorkItem } from '../store/work.js';
import type { Stage } from './stage.js';
import { budgetItems } from './evaluate-budget.js';

export function creditStage(credits: CreditStore, budgets: BudgetStore): Stage {
  return {
    name: 'cost.credit',
    most: 1,
    async run({ organisation, tx }): Promise<WorkItem[]> {
      return budgetItems(tx, organisation, budgets, await credits.apply(tx, organisation));
    },
  };
}
