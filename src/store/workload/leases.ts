/**
 * Leases: GPUs that somebody holds until a date. Given, renewed and ended by people and platforms; the policy `lease`
 * acts on those that ran out.
 *
 * Ending a lease says that it holds nothing any more; it stops no machine. What a lease holds is looked up in the fleet
 * where its giver does not say.
 */
import { missing } from '../../core/errors.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable, Transaction } from '../database.js';
import type { Stores } from '../stores.js';
import { wakeAtOnce } from '../work.js';
import type { LeaseFacts } from './workloads.js';

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
  /** Null: nobody knows whether it still holds GPUs. */
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

/**
 * Gives a lease, or replaces its terms; its start stays. What the terms leave open is taken from the fleet's target,
 * where there is one.
 */
export async function giveLease(
  stores: Stores,
  tx: Transaction,
  organisation: string,
  id: string,
  terms: LeaseTerms,
  now: number,
): Promise<StoredLease> {
  const before = await stores.leases.get(tx, organisation, id, true);
  const found = await stores.fleet.named(tx, organisation, terms.target);
  const seen = found === null || found.team !== terms.team ? null : found.seen;
  const { team, ...rest } = terms;
  const facts: LeaseFacts = {
    ...rest,
    lease: id,
    startedAt: before?.startedAt ?? now,
    active: true,
    gpus: terms.gpus ?? seen?.gpus ?? null,
    provider: terms.provider ?? seen?.provider ?? null,
    sku: terms.sku ?? seen?.sku ?? null,
    region: terms.region ?? seen?.region ?? null,
    gpuModel: terms.gpuModel ?? seen?.gpuModel ?? null,
  };
  return save(stores, tx, organisation, id, team, facts);
}

/** Moves a lease's end. @throws Failure missing where there is no such lease. */
export async function renewLease(
  stores: Stores,
  tx: Transaction,
  organisation: string,
  id: string,
  expiresAt: number | null,
): Promise<StoredLease> {
  const { team, id: lease, ...terms } = await known(stores, tx, organisation, id);
  return save(stores, tx, organisation, id, team, { ...terms, lease, expiresAt, active: true });
}

/** Says that a lease holds nothing any more. @throws Failure missing where there is no such lease. */
export async function endLease(
  stores: Stores,
  tx: Transaction,
  organisation: string,
  id: string,
): Promise<StoredLease> {
  const { team, id: lease, ...terms } = await known(stores, tx, organisation, id);
  return save(stores, tx, organisation, id, team, { ...terms, lease, active: false });
}

async function known(stores: Stores, tx: Transaction, organisation: string, id: string): Promise<StoredLease> {
  const lease = await stores.leases.get(tx, organisation, id, true);
  if (lease === null) throw missing(`lease ${id} does not exist`);
  return lease;
}

async function save(
  stores: Stores,
  tx: Transaction,
  organisation: string,
  id: string,
  team: string,
  facts: LeaseFacts,
): Promise<StoredLease> {
  await stores.workloads.saveLease(tx, organisation, team, facts);
  await wakeAtOnce(tx, organisation, [{ stage: 'recommendation.make', lane: team, key: team }]);
  const saved = await stores.leases.get(tx, organisation, id);
  if (saved === null) throw missing(`lease ${id} does not exist`);
  return saved;
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
