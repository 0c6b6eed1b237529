/**
 * Giving, renewing and ending leases, for every entry point. Ending a lease only ends the right; it stops no machine.
 * Machines that the lease's giver does not name are looked up in the fleet.
 */
import { missing } from '../../core/errors.js';
import type { Transaction } from '../../store/database.js';
import type { Stores } from '../../store/stores.js';
import { enqueueUrgent } from '../../store/work.js';
import type { LeaseTerms, StoredLease } from '../../store/workload/leases.js';
import type { LeaseFacts } from '../../store/workload/workloads.js';

type Needs = Pick<Stores, 'leases' | 'fleet' | 'workloads'>;

/**
 * Gives a lease, or replaces its terms; its start stays. Missing terms come from the fleet's target, if there is one.
 */
export async function giveLease(
  stores: Needs,
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

/** Moves a lease's end. @throws Failure missing if there is no such lease. */
export async function renewLease(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  expiresAt: number | null,
): Promise<StoredLease> {
  const { team, id: lease, ...terms } = await known(stores, tx, organisation, id);
  return save(stores, tx, organisation, id, team, { ...terms, lease, expiresAt, active: true });
}

/** Ends a lease. @throws Failure missing if there is no such lease. */
export async function endLease(stores: Needs, tx: Transaction, organisation: string, id: string): Promise<StoredLease> {
  const { team, id: lease, ...terms } = await known(stores, tx, organisation, id);
  return save(stores, tx, organisation, id, team, { ...terms, lease, active: false });
}

async function known(stores: Needs, tx: Transaction, organisation: string, id: string): Promise<StoredLease> {
  const lease = await stores.leases.get(tx, organisation, id, true);
  if (lease === null) throw missing(`lease ${id} does not exist`);
  return lease;
}

async function save(
  stores: Needs,
  tx: Transaction,
  organisation: string,
  id: string,
  team: string,
  facts: LeaseFacts,
): Promise<StoredLease> {
  await stores.workloads.saveLease(tx, organisation, team, facts);
  await enqueueUrgent(tx, organisation, [{ stage: 'recommendation.make', partition: team, key: team }]);
  const saved = await stores.leases.get(tx, organisation, id);
  if (saved === null) throw missing(`lease ${id} does not exist`);
  return saved;
}
