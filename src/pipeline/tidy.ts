/** Removes once a day what goes by age (store/operation/tidying.ts). Several processes that do it at once do no harm. */
import { DAY_MS } from '../core/time.js';
import type { Stores } from '../store/stores.js';

export class TidySchedule {
  readonly name = 'tidying';
  private next = -Infinity;

  constructor(private readonly stores: Pick<Stores, 'db' | 'tidying'>) {}

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    if (now < this.next) return;
    await this.stores.tidying.tidy(this.stores.db, now);
    this.next = now + DAY_MS;
  }
}
