/**
 * cost.rollup (team/day): sums the hours of a day into the rows that all readers use: actual, accrued and billed.
 */
import { CREDIT_ITEM } from '../store/cost/credits.js';
import { isShared } from '../store/access/organisation.js';
import type { Stores } from '../store/stores.js';
import { lastPart } from './keys.js';
import { reconcileLate } from './reconcile.js';
import { shareDays } from './share.js';
import { verifyLate } from './verify.js';
import { budgetItems } from './evaluate-budget.js';
import type { Stage } from './stage.js';

export function rollupStage(
  stores: Pick<
    Stores,
    'organisations' | 'prices' | 'costs' | 'shares' | 'credits' | 'budgets' | 'savings' | 'reconciliation'
  >,
): Stage {
  const { organisations, costs, credits, budgets, savings, reconciliation } = stores;
  return {
    name: 'cost.rollup',
    most: 200,
    async run({ organisation, partition: team, keys, now, tx }) {
      const days = keys.map(lastPart);
      await costs.rollUp(tx, organisation, team, days, await organisations.currencyOf(tx, organisation, team));
      const { rules } = await organisations.rules(tx, organisation);
      // The day of a stand-in is shared again even if no rule shares any more, because its old shares must be removed.
      const sharing = isShared(team) || rules.some((rule) => 'split' in rule);
      const shares = sharing
        ? days.map((day) => ({ stage: 'cost.share', partition: 'shared', key: `shared/${day}` }))
        : [];
      // Shared at once, so that no sum lacks it; the stage cost.share handles usage that arrives in the meantime.
      const changed = isShared(team) ? await shareDays(stores, tx, organisation, days) : [{ team, days }];
      const evaluations = await budgetItems(tx, organisation, budgets, changed);
      const creditsToo = (await credits.some(tx, organisation)) ? [CREDIT_ITEM] : [];
      const late = [
        ...(await verifyLate(tx, organisation, savings, team, days, now)),
        ...(await reconcileLate(tx, organisation, reconciliation, days, now)),
      ];
      return [...shares, ...creditsToo, ...evaluations, ...late];
    },
  };
}
