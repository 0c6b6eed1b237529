/**
 * Leases: the right of a holder to GPUs until a date. Read here; application/workload/set-lease.ts gives, renews and
 * ends them, and the policy `lease` acts on expired ones.
 */
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';

export interface LeaseTerms {
  readonly team: string;
  /** A resource or an allocation, as usage and the fleet name it. */
  readonly target: string;
  readonly holder: string | null;
  readonly gpus: number | null;
  readonly provider: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly gpuModel: string | null;
  /** Epoch milliseconds; null: given without an end. */
  readonly expiresAt: number | null;
}

export interface StoredLease extends LeaseTerms {
  readonly id: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Null: it is unknown whether it still holds GPUs. */
  readonly active: boolean | null;
}

type Facts = Omit<LeaseTerms, 'team' | 'target' | 'expiresAt'>;
interface Row {
  id: string;
  team: string;
  target: string;
  facts: Facts;
  started: Date;
  expires: Date | null;
  active: boolean | null;
}

const COLUMNS = 'id, team, target, facts, started_at as started, expires_at as expires, active';

const storedOf = ({ id, team, target, facts, started, expires, active }: Row): StoredLease => ({
  id,
  team,
  target,
  holder: facts.holder,
  gpus: facts.gpus,
  provider: facts.provider,
  sku: facts.sku,
  region: facts.region,
  gpuModel: facts.gpuModel,
  startedAt: started.getTime(),
  expiresAt: expires?.getTime() ?? null,
  active,
});

export class LeaseStore {
  /** A page by id. @param filter `teams` null: of all */
  async list(
    db: Queryable,
    organisation: string,
    filter: { readonly teams: readonly string[] | null; readonly team?: string | undefined },
    after: string | null,
    limit: number,
  ): Promise<StoredLease[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from lease where organisation = $1 and ($2::text[] is null or team = any($2)) and ($3::text is null or team = $3) and ($4::text is null or id collate "C" > $4)
       order by id collate "C" limit $5`,
      [organisation, filter.teams, filter.team ?? null, after, limit],
    );
    return rows.map(storedOf);
  }

  /** Null: there is none of this id. Locked where `lock` is set. */
  async get(db: Queryable, organisation: string, id: string, lock = false): Promise<StoredLease | null> {
    const [row] = await db.query<Row>(
      `select ${COLUMNS} from lease where organisation = $1 and id = $2${lock ? ' for update' : ''}`,
      [organisation, id],
    );
    return row === undefined ? null : storedOf(row);
  }
}

/** As callers read it: instants as ISO 8601. */
export interface LeaseJson extends Omit<StoredLease, 'startedAt' | 'expiresAt'> {
  readonly startedAt: string;
  readonly expiresAt: string | null;
}

export const leaseJson = (lease: StoredLease): LeaseJson => ({
  ...lease,
  startedAt: formatInstant(lease.startedAt),
  expiresAt: lease.expiresAt === null ? null : formatInstant(lease.expiresAt),
});
