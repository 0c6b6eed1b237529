/**
 * Committed use of GPUs, as Compute Engine lists it: it shows that a term pays for hours. Only the bill decides which
 * machine a commitment covers; a commitment is listed for its region, not for a machine type. Committed spend
 * ("flexible" commitments) belongs to the billing account and is not in this API. Source: compute v1, Commitment;
 * Compute Engine, "Resource-based committed use discounts".
 */
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { CLOUD, type GoogleClient } from './client.js';
import { instantOf } from './instances.js';
import { listed, type Lacks } from './lists.js';
import { COMMITMENT, OPERATIONS, type Commitment } from './operations.js';
import { commitmentTarget, lastOf, PROJECT_LABEL } from './targets.js';
import { attachedCards, gpusOf } from './types.js';

export const COMMITMENT_PERMISSIONS: readonly string[] = [OPERATIONS.commitments.permission];

/** Commitments of GPUs that hold now. @throws Failure */
export async function gpuCommitments(client: GoogleClient, project: string, lacks: Lacks): Promise<FleetTarget[]> {
  const found = await listed(client, { project, name: 'commitments', entry: COMMITMENT }, lacks);
  return found.flatMap((one) => asTargets(one, project, client.settings.account));
}

/** One for each kind of card. */
function asTargets(one: Commitment, project: string, account: string | null): FleetTarget[] {
  if (one.status !== 'ACTIVE') return [];
  const region = lastOf(one.region);
  const kinds = (one.resources ?? []).flatMap(({ type, amount, acceleratorType }) => {
    const cards = type === 'ACCELERATOR' ? attachedCards([{ acceleratorType, acceleratorCount: Number(amount) }]) : [];
    return cards.map((card) => ({ ...card, ...gpusOf(undefined, [card]) }));
  });
  return kinds.map(({ count, model }, at) => ({
    target: commitmentTarget(project, region, at === 0 ? one.name : `${one.name}-${at + 1}`),
    kind: 'commitment',
    name: one.name,
    provider: CLOUD,
    account: account ?? project,
    region,
    sku: null,
    gpuModel: model,
    gpus: 1,
    term: one.plan === 'TWELVE_MONTH' ? 'reserved-1y' : one.plan === 'THIRTY_SIX_MONTH' ? 'reserved-3y' : null,
    state: 'running',
    billing: 'billed',
    replicas: { desired: count, ready: count, min: null, max: null },
    spotRatio: null,
    labels: { [PROJECT_LABEL]: project },
    launchedAt: instantOf(one.startTimestamp),
    revision: null,
  }));
}
