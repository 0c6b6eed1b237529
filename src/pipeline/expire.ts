/**
 * Closes recommendations that are past their date, so that nobody is shown what can no longer be approved. What a later
 * look proposes again is open again.
 */
import { MINUTE_MS } from '../core/time.js';
import type { Stores } from '../store/stores.js';

export class ExpirySchedule {
  readonly name = 'expiry';
  readonly everyMs = MINUTE_MS;

  constructor(private readonly stores: Pick<Stores, 'db' | 'recommendations'>) {}

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    await this.stores.recommendations.close(this.stores.db, now);
  }
}
