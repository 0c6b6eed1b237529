/**
 * The state that an operator monitors: whether the database answers and is migrated, the age of the oldest due work,
 * and the amount of waiting work. Counts over all organisations without naming them. Reads only.
 */
import type { Database } from '../database.js';
import { DEFERRED } from '../work.js';

export interface Readiness {
  readonly database: boolean;
  /** Whether every migration that this program knows has run. */
  readonly migrated: boolean;
  /** Seconds since the oldest due work was enqueued; null if nothing is due. */
  readonly queueAgeSeconds: number | null;
}

export interface StageLoad {
  readonly stage: string;
  readonly waiting: number;
  readonly parked: number;
}

export class HealthStore {
  constructor(private readonly db: Database) {}

  /** Never throws: what cannot be asked is not ready. */
  async readiness(now: number): Promise<Readiness> {
    try {
      const migrated = !(await this.db.pendingMigrations());
      if (!migrated) return { database: true, migrated, queueAgeSeconds: null };
      const [row] = await this.db.query<{ at: Date | null }>(
        `select min(greatest(woken_at, nullif(not_before, '-infinity'))) as at from work where done < wanted and parked_at is null and not_before <= $1`,
        [new Date(now)],
      );
      return {
        database: true,
        migrated,
        queueAgeSeconds: row?.at ? Math.max(0, Math.round((now - row.at.getTime()) / 1000)) : null,
      };
    } catch {
      return { database: false, migrated: false, queueAgeSeconds: null };
    }
  }

  /** Work that a stage itself has postponed beyond `at` does not count as waiting. */
  async load(at: number): Promise<StageLoad[]> {
    return this.db.query<StageLoad>(
      `select stage, count(*) filter (where done < wanted and parked_at is null and not ${DEFERRED})::int as waiting, count(*) filter (where parked_at is not null)::int as parked
       from work group by stage order by stage`,
      [new Date(at)],
    );
  }
}
