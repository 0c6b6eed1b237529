/**
 * Evaluates each budget when a period of it begins. Usage that arrives has its budgets evaluated, but a team that uses
 * nothing yet would show the period that is over as its newest one.
 */
import { MINUTE_MS } from '../core/time.js';
import { periodLabel } from '../store/budget/budgets.js';
import type { Stores } from '../store/stores.js';
import { enqueue } from '../store/work.js';

export class PeriodSchedule {
  readonly name = 'periods';
  readonly everyMs = MINUTE_MS;

  constructor(private readonly stores: Pick<Stores, 'db' | 'organisations' | 'budgets'>) {}

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    const { db, organisations, budgets } = this.stores;
    for (const organisation of await organisations.ids(db)) {
      const asOf = await organisations.asOf(db, organisation, now);
      const begun = await budgets.withoutState(db, organisation, asOf);
      await enqueue(
        db,
        organisation,
        begun.map((budget) => ({
          stage: 'budget.weigh',
          partition: budget.id,
          key: `${budget.id}/${periodLabel(budget, asOf)}`,
        })),
      );
    }
  }
}
