/**
 * cost.rollup (team/day): sums the hours of a day into the rows that everything reads, actual beside accrued and
 * billed.
 */
import type { CostStore } from '../store/cost/costs.js';
import { CREDIT_ITEM, type CreditStore } from '../store/cost/credits.js';
import { isShared, type OrganisationStore } from '../store/access/organisation.js';
import type { BudgetStore } from '../store/budget/budgets.js';
import type { ReconciliationStore } from '../store/bill/reconciliation.js';
import type { SavingStore } from '../store/saving/savings.js';
import { lastPart } from './keys.js';
import { reconcileLate } from './reconcile.js';
import { verifyLate } from './verify.js';
import { budgetItems } from './evaluate-budget.js';
import type { Stage } from './stage.js';

export function rollupStage(
  organisations: OrganisationStore,
  costs: CostStore,
  credits: CreditStore,
  budgets: BudgetStore,
  savings: SavingStore,
  reconciliation: ReconciliationStore,
): Stage {
  return {
    name: 'cost.rollup',
    most: 200,
    async run({ organisation, partition: team, keys, now, tx }) {
      const days = keys.map(lastPart);
      await costs.rollUp(tx, organisation, team, days, await organisations.currencyOf(tx, organisation, team));
      const { rules } = await organisations.rules(tx, organisation);
      // A stand-in's day is shared anew even when no rule shares any more: its old shares must go.
      const sharing = isShared(team) || rules.some((rule) => 'split' in rule);
      const shares = sharing
        ? days.map((day) => ({ stage: 'cost.share', partition: 'shared', key: `shared/${day}` }))
        : [];
      const evaluations = isShared(team) ? [] : await budgetItems(tx, organisation, budgets, [{ team, days }]);
      const creditsToo = (await credits.some(tx, organisation)) ? [CREDIT_ITEM] : [];
      const late = [
        ...(await verifyLate(tx, organisation, savings, team, days, now)),
        ...(await reconcileLate(tx, organisation, reconciliation, days, now)),
      ];
      return [...shares, ...creditsToo, ...evaluations, ...late];
    },
  };
}
