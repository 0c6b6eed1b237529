/**
 * Once a day removes data that has passed its retention (store/operation/tidying.ts) and, if configured, the oldest
 * months of the audit. Several processes may do this at once without harm.
 */
import { DAY_MS } from '../core/time.js';
import type { Stores } from '../store/stores.js';

/** How long the audit is kept, and which collector must have it before any of it is removed. */
export interface AuditAge {
  readonly organisation: string;
  /** Null: always. */
  readonly years: number | null;
  /** The collector that this process knows; null: none. */
  readonly collector: string | null;
}

export class TidySchedule {
  readonly name = 'tidying';
  readonly everyMs = DAY_MS;

  constructor(
    private readonly stores: Pick<Stores, 'db' | 'tidying' | 'audit' | 'auditStream'>,
    private readonly age: AuditAge | null = null,
  ) {}

  /** @param now epoch milliseconds */
  async enqueueDue(now: number): Promise<void> {
    await this.stores.tidying.tidy(this.stores.db, now);
    await this.dropAudit(now);
  }

  /** By whole months: each time that some go leaves a checkpoint. */
  private async dropAudit(now: number): Promise<void> {
    const { db, audit, auditStream } = this.stores;
    if (this.age === null || this.age.years === null) return;
    const { organisation, years, collector } = this.age;
    const at = new Date(now);
    const before = Date.UTC(at.getUTCFullYear() - years, at.getUTCMonth());
    const taken = await auditStream.takenByAll(organisation, collector, now);
    const found = await audit.droppable(organisation, before, taken);
    if (found !== null) await db.transaction((tx) => audit.drop(tx, organisation, found));
  }
}
