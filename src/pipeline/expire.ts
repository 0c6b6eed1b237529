/**
 * Closes recommendations after their expiry, so that nobody is shown a recommendation that can no longer be approved. A
 * later evaluation that proposes it again opens it again.
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
