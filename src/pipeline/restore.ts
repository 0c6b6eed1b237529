/**
 * Checks at every tick whether the database was restored from a backup while this process ran, and settles it
 * (application/action/after-restore.ts). Requests in between are held back where they are sent (pipeline/execute.ts).
 */
import { settleRestore, type Restored } from '../application/action/after-restore.js';

export class RestoreSchedule {
  readonly name = 'restore';

  constructor(
    private readonly stores: Parameters<typeof settleRestore>[0],
    private readonly organisation: string,
    private readonly found: (restored: Restored) => void,
  ) {}

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    const { db, home } = this.stores;
    if ((await home.moved(db, this.organisation)).length === 0) return;
    const restored = await settleRestore(this.stores, this.organisation, now);
    if (restored !== null) this.found(restored);
  }
}
