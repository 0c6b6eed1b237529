/**
 * What a fleet's target says of itself as a workload, for policies to look at; and what tells of a commitment when it ends.
 *
 * Owners speak by labels (`bursar.io/...`); what no label says is null. Nothing is guessed from a name.
 */
import { isMember } from './counterfactual.js';
import type { FleetTarget } from './fleet.js';
import type { DemandSeries, FleetFacts, WorkloadView } from './policy-view.js';
import { termHours } from './term.js';
import { HOUR_MS } from './time.js';

/** Labels by which an owner describes a workload. */
export const WORKLOAD_LABELS = {
  kind: 'bursar.io/workload-kind',
  /** On a stopped instance: the workload (its target or name) that it stands by for. */
  spareFor: 'bursar.io/spare-for',
  interruptible: 'bursar.io/interruptible',
  protected: 'bursar.io/protected',
  minReplicas: 'bursar.io/min-replicas',
  maxReplicas: 'bursar.io/max-replicas',
  loadMetric: 'bursar.io/load-metric',
  bootMinutes: 'bursar.io/boot-minutes',
  capacityPerReplica: 'bursar.io/capacity-per-replica',
} as const;

export type TargetWorkload = Omit<WorkloadView, 'metrics' | 'service'> & {
  readonly service: { readonly bootMinutes: number; readonly capacityPerReplica: number | null; readonly loadMetric: string } | null;
};

/**
 * The workload that a target is; null: it is none (a commitment, a pool, a member of a group, an instance of which nobody says what it does).
 * @param workload the name that it has among workloads
 * @param changedAt when its number of replicas last changed, epoch milliseconds; null: not known
 */
export function workloadOf(target: FleetTarget, workload: string, changedAt: number | null): TargetWorkload | null {
  const { labels } = target;
  // What a group brings and takes is no workload: the group is.
  if (target.kind !== 'group' && target.kind !== 'workload' && (target.kind !== 'instance' || isMember(target) || labels[WORKLOAD_LABELS.kind] === undefined)) return null;
  return {
    workload, kind: labels[WORKLOAD_LABELS.kind] ?? null, provider: target.provider, region: target.region, sku: target.sku, gpuModel: target.gpuModel,
    term: target.term, gpusPerReplica: target.gpus, interruptible: truth(labels[WORKLOAD_LABELS.interruptible]), isProtected: truth(labels[WORKLOAD_LABELS.protected]),
    fleet: fleetOf(target, changedAt), service: serviceOf(target), job: null, performance: [],
  };
}

function fleetOf({ kind, state, replicas, labels }: FleetTarget, changedAt: number | null): FleetFacts | null {
  if (kind === 'instance') {
    return state === 'unknown' ? null : { ready: state === 'running' ? 1 : 0, booting: state === 'starting' ? 1 : 0, minReplicas: 0, maxReplicas: 1, changedAt };
  }
  if (replicas === null || replicas.ready === null) return null;
  const minReplicas = whole(labels[WORKLOAD_LABELS.minReplicas]) ?? replicas.min;
  const maxReplicas = whole(labels[WORKLOAD_LABELS.maxReplicas]) ?? replicas.max;
  if (minReplicas === null || maxReplicas === null) return null;
  return { ready: replicas.ready, booting: Math.max(0, replicas.desired - replicas.ready), minReplicas, maxReplicas, changedAt };
}

function serviceOf({ labels }: FleetTarget): TargetWorkload['service'] {
  const loadMetric = labels[WORKLOAD_LABELS.loadMetric];
  const bootMinutes = positive(labels[WORKLOAD_LABELS.bootMinutes]);
  return loadMetric === undefined || bootMinutes === null ? null : { loadMetric, bootMinutes, capacityPerReplica: positive(labels[WORKLOAD_LABELS.capacityPerReplica]) };
}

const truth = (text: string | undefined): boolean | null => (text === 'true' ? true : text === 'false' ? false : null);

const whole = (text: string | undefined): number | null => (text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : null);

function positive(text: string | undefined): number | null {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value > 0 ? value : null;
}

/** Instances that stand by, stopped, by the workload that they name; in the order of their names. */
export function sparesOf(targets: readonly FleetTarget[]): Map<string, string[]> {
  const spares = new Map<string, string[]>();
  for (const { target, labels, state, kind } of [...targets].sort((a, b) => (a.target < b.target ? -1 : 1))) {
    const workload = labels[WORKLOAD_LABELS.spareFor];
    if (kind === 'instance' && state === 'stopped' && workload !== undefined) spares.set(workload, [...(spares.get(workload) ?? []), target]);
  }
  return spares;
}

/** The Kubernetes namespace in a target's name (`deployment/ml/trainer`); null: it has none. */
export function namespaceOf({ kind, target }: Pick<FleetTarget, 'kind' | 'target'>): string | null {
  const parts = target.split('/');
  return kind === 'workload' && parts.length === 3 ? (parts[1] ?? null) : null;
}

/**
 * A series whose commitments end when the fleet's own ones of the same machines do, the longest first; what is metered beyond them keeps what was
 * taken for granted.
 * @param fleet commitments as they were seen, each with its units and the GPUs of one
 */
export function withKnownEnds(series: DemandSeries, fleet: readonly FleetTarget[], now: number): DemandSeries {
  if (series.committed === undefined) return series;
  const known = fleet.flatMap((target) => {
    const hoursLeft = hoursLeftOf(target, now);
    const isSame = target.provider === series.provider && target.account === series.account && target.sku === series.sku && target.region === series.region;
    return isSame && hoursLeft !== null && target.replicas !== null && target.gpus !== null ? [{ gpus: target.replicas.desired * target.gpus, hoursLeft }] : [];
  }).sort((a, b) => b.hoursLeft - a.hoursLeft);
  const committed = series.committed.flatMap(({ units, hoursLeft }) => {
    const parts: { units: number; hoursLeft: number }[] = [];
    let left = units;
    for (const one of known) {
      const taken = Math.min(left, one.gpus);
      if (taken <= 0) continue;
      parts.push({ units: taken, hoursLeft: one.hoursLeft });
      one.gpus -= taken;
      left -= taken;
    }
    return left > 0 ? [...parts, { units: left, hoursLeft }] : parts;
  });
  return { ...series, committed };
}

/** Whole hours that a commitment still holds; null: it is none, or nobody says since when and for how long. */
export function hoursLeftOf({ kind, term, launchedAt }: FleetTarget, now: number): number | null {
  const hours = kind !== 'commitment' || term === null ? null : termHours(term);
  return hours === null || launchedAt === null ? null : Math.max(0, Math.ceil((launchedAt + hours * HOUR_MS - now) / HOUR_MS));
}
