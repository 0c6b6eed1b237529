/**
 * Meters GPUs that pods hold, from scheduling to their end, as the list of pods shows it now.
 *
 * A GPU is held from the instant at which the scheduler bound the pod to a node (its condition PodScheduled), whether
 * it computes or not, until the pod has ended or is gone. Only what can be shown is metered: a pod that was deleted
 * between two readings is metered up to about a minute before the earlier one. The invariant: a record is one pod's one
 * minute, named by both, and says the same at every reading.
 */
import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { formatInstant, MINUTE_MS, type Interval } from '../../core/time.js';
import { podGpus, type GpuUnits } from '../../core/fleet/pod-gpus.js';
import { RESERVATION_TAG, reservationIn } from '../../core/budget/reservation.js';
import type { RecordBatch, Term, UsageRecord } from '../../core/usage.js';
import { claimedParts, claimsOf } from './claims.js';
import { pagesOf, type Cluster } from './client.js';
import { cloudOf, isOver, placeOf, type Identity } from './objects.js';
import { unitsOf } from './quantity.js';

const MOST_RECORDS = 10_000;
/**
 * A kubelet tells of a pod's end seconds after it: a minute of a pod that seems to run is metered when it has been over
 * for so long.
 */
const SETTLE_MS = MINUTE_MS;

/** The place under which the usage of a node's pods is filed. */
export interface Place {
  readonly provider: string;
  readonly units: GpuUnits;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: Term | null;
}

export interface Meter {
  readonly identity: Identity;
  /**
   * Nodes by name, as they were last seen: pods that have ended are listed after their node has gone, and stay filed as
   * they were.
   */
  readonly places: Map<string, Place>;
  /** The cluster's name. */
  readonly cluster: string | null;
  /** Whether a setting says the provider, whatever the nodes say. */
  readonly isNamed: boolean;
}

/**
 * Records of the minutes that end within (from, to] and are over by `now`, all in epoch milliseconds; the first may
 * begin before `from` where that is no whole minute, so that windows one after the other leave no gap. The newest
 * minute of what runs comes with the next reading: a reading begins before the end of the one before it.
 */
export async function* podUsage(
  cluster: Cluster,
  nodes: readonly V1Node[],
  meter: Meter,
  window: { readonly from: number; readonly to: number; readonly now: number },
): AsyncGenerator<RecordBatch> {
  const { places } = meter;
  if (places.size > MOST_RECORDS) places.clear();
  for (const node of nodes) places.set(node.metadata?.name ?? '', placeOfNode(node, meter));
  let records: UsageRecord[] = [];
  for await (const pods of pagesOf('list pods', (page) => cluster.core.listPodForAllNamespaces(page))) {
    const claims = await claimsOf(cluster, pods);
    for (const pod of pods) {
      for (const record of recordsOf(
        pod,
        claimedParts(pod, claims),
        places.get(pod.spec?.nodeName ?? '') ?? placeOfNode({}, meter),
        meter,
        window,
      )) {
        records.push(record);
        if (records.length < MOST_RECORDS) continue;
        yield { records, rejects: [] };
        records = [];
      }
    }
  }
  if (records.length > 0) yield { records, rejects: [] };
}

function placeOfNode(node: V1Node, { identity, isNamed }: Meter): Place {
  const labels = node.metadata?.labels ?? {};
  return {
    provider: (isNamed ? null : cloudOf(node.spec?.providerID)) ?? identity.provider,
    units: unitsOf(labels),
    ...placeOf(labels),
  };
}

/** One pod's records, a minute each. */
function* recordsOf(
  pod: V1Pod,
  claimed: number | null,
  place: Place,
  { identity, cluster }: Meter,
  { from, to, now }: { readonly from: number; readonly to: number; readonly now: number },
): Generator<UsageRecord> {
  const uid = pod.metadata?.uid;
  const held = heldBy(pod, now);
  if (uid === undefined || held === null) return;
  const gpus = podGpus(pod.spec ?? {}, place.units, claimed);
  if (!gpus.requested) return;
  const { namespace = null, name = '', labels = {} } = pod.metadata ?? {};
  // Its cost takes the place of what is held, whichever way it names it.
  const reservation = reservationIn(pod.metadata ?? {});
  const tags = reservation === null ? labels : { ...labels, [RESERVATION_TAG]: reservation };
  const last = Math.min(to, isOver(pod) ? now : now - SETTLE_MS);
  const minuteOf = (instant: number): number => Math.floor(instant / MINUTE_MS) * MINUTE_MS;
  for (
    let minute = Math.max(minuteOf(from), minuteOf(held.start));
    minute + MINUTE_MS <= last && minute < held.end;
    minute += MINUTE_MS
  ) {
    yield {
      id: `${uid}/${formatInstant(minute)}`,
      provider: place.provider,
      account: identity.account,
      subAccount: cluster,
      resource: `pod/${namespace ?? ''}/${name}`,
      namespace,
      service: 'Kubernetes',
      sku: place.sku,
      region: place.region,
      term: place.term,
      gpuModel: place.units.model,
      tags,
      start: Math.max(minute, held.start),
      end: Math.min(minute + MINUTE_MS, held.end),
      gpuParts: gpus.parts,
      storageMib: null,
      networkBytes: null,
      charge: null,
    };
  }
}

/** When the pod demonstrably held what it asks for; null: it never did, or nothing shows when. */
function heldBy(pod: V1Pod, now: number): Interval | null {
  const { status, spec } = pod;
  if ((spec?.nodeName ?? '') === '') return null;
  const bound =
    status?.conditions?.find(({ type, status: value }) => type === 'PodScheduled' && value === 'True')
      ?.lastTransitionTime ?? status?.startTime;
  if (bound === undefined) return null;
  // A pod that is shutting down is listed, and so is there still.
  const end = isOver(pod) ? endedAt(pod) : now;
  return end === null || end <= bound.getTime() ? null : { start: bound.getTime(), end };
}

/** The last thing that is known to have happened to a pod that has ended; null: nothing is. */
function endedAt({ status }: V1Pod): number | null {
  const finished = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map(
    ({ state }) => state?.terminated?.finishedAt,
  );
  // An evicted pod has no containers to ask; its conditions changed when it was.
  const instants = finished.some((at) => at !== undefined)
    ? finished
    : (status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime);
  const known = instants.filter((at) => at !== undefined).map((at) => at.getTime());
  return known.length === 0 ? null : Math.max(...known);
}
