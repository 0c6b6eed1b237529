/**
 * Accepts samples from any sender: finds the fleet's target of each sample with its team, provider, price key and
 * workload, and saves the rows, the measured resources and the metrics of the workloads. The line and the API use these
 * functions, so both do the same. Labels of the series only fill in data that the fleet lacks.
 */
import { isDeepStrictEqual } from 'node:util';
import { UNALLOCATED } from '../../core/cost/allocation.js';
import { cluesOf, FleetJoin, type Called, type Candidate, type Joined } from '../../core/fleet/join.js';
import { groupOf } from '../../core/fleet/membership.js';
import { READINGS_DAYS } from '../../core/policy/policy.js';
import type { GpuSample } from '../../core/ports.js';
import { DAY_MS } from '../../core/time.js';
import type { RuleSet } from '../../store/access/organisation.js';
import type { Queryable } from '../../store/database.js';
import type { Measured } from '../../store/fleet/measured.js';
import type { Place, PlacedSample } from '../../store/fleet/samples.js';
import type { Stores } from '../../store/stores.js';

/**
 * Words of a pod's name after its Deployment's (template hash and five characters), or a StatefulSet's ordinal
 * (kubernetes.io, "Deployments" and "StatefulSets").
 */
const POD_SUFFIX = /^-(?:[bcdfghjklmnpqrstvwxz2456789]{1,10}-)?[bcdfghjklmnpqrstvwxz2456789]{5}$|^-\d+$/;

/**
 * The known workload that a sample belongs to: by its label, otherwise by its pod's name under a workload's
 * (`deployment/ml/trainer`). Null if none fits.
 * @param workloads ids of those that are known
 */
export function workloadOf(
  { labels, namespace, pod }: Pick<GpuSample, 'labels' | 'namespace' | 'pod'>,
  workloads: readonly string[],
): string | null {
  const named = labels['workload'];
  const direct =
    named === undefined
      ? undefined
      : (workloads.find((id) => id === named) ??
        workloads.find((id) => namespace !== null && id.endsWith(`/${namespace}/${named}`)));
  if (direct !== undefined) return direct;
  if (namespace === null || pod === null) return named ?? null;
  const fitting = workloads.filter((id) => {
    const [name, space] = id.split('/').reverse();
    return name !== undefined && space === namespace && pod.startsWith(name) && POD_SUFFIX.test(pod.slice(name.length));
  });
  return fitting.sort((a, b) => b.length - a.length)[0] ?? named ?? null;
}

export interface Taken {
  readonly samples: number;
  readonly teams: readonly string[];
}

/** Saves samples of a source; the same again changes nothing. */
export async function takeSamples(
  stores: Pick<Stores, 'organisations' | 'samples' | 'workloads' | 'measured'>,
  tx: Queryable,
  organisation: string,
  source: string,
  samples: readonly GpuSample[],
): Promise<Taken> {
  if (samples.length === 0) return { samples: 0, teams: [] };
  const kinds = await stores.workloads.kinds(tx, organisation);
  const placing = new Placing(
    new FleetJoin(await stores.measured.candidates(tx, organisation)),
    await stores.organisations.rules(tx, organisation),
    [...kinds.keys()],
  );
  const partitioned = new Set(
    samples.flatMap(({ at, gpu, migInstance }) => (migInstance === null ? [] : [`${at} ${gpu}`])),
  );
  const placed = samples.map((sample): PlacedSample => {
    const { place } = placing.placeOf(sample, sample.at);
    return {
      ...sample,
      ...place,
      workloadKind: sample.labels['workload_kind'] ?? kinds.get(place.workload ?? '') ?? null,
      isPartitioned: sample.migInstance === null && partitioned.has(`${sample.at} ${sample.gpu}`),
    };
  });
  await stores.samples.save(tx, organisation, source, placed);
  await stores.measured.save(tx, organisation, source, measuredIn(placed, placing));
  const ats = placed.map(({ at }) => at);
  const named = [
    ...new Set(placed.flatMap(({ workload }) => (workload !== null && kinds.has(workload) ? [workload] : []))),
  ];
  await stores.samples.saveWorkloadMinutes(
    tx,
    organisation,
    named,
    ats.reduce((a, b) => Math.min(a, b)),
    ats.reduce((a, b) => Math.max(a, b)),
  );
  return { samples: placed.length, teams: [...new Set(placed.map(({ team }) => team))].sort() };
}

/** Each resource as the newest of its samples show it. */
function measuredIn(samples: readonly PlacedSample[], placing: Placing): Measured[] {
  const newest = new Map<string, PlacedSample[]>();
  for (const sample of samples) {
    const before = newest.get(sample.resource) ?? [];
    const at = before[0]?.at ?? -Infinity;
    if (sample.at >= at) newest.set(sample.resource, sample.at === at ? [...before, sample] : [sample]);
  }
  return [...newest.values()].flatMap((all) => {
    const [first] = all;
    if (first === undefined) return [];
    const { resource, namespace, pod, labels, gpuModel, at } = first;
    const cards = new Map(
      all
        .filter(({ isPartitioned }) => !isPartitioned)
        .map(({ gpu, migInstance }) => [`${gpu} ${migInstance}`, { gpu, migInstance }]),
    );
    return [
      {
        called: { resource, namespace, pod, labels, gpuModel },
        gpus: cards.size,
        cards: [...cards.values()],
        seenAt: at,
        ...placing.placeOf(first, at),
      },
    ];
  });
}

/**
 * After a change of the fleet or its teams: matches recent measurements again, and the samples since the start of their
 * machine. Resources that the fleet no longer knows stay unchanged. Returns the teams that received samples.
 */
export async function rejoin(
  stores: Pick<Stores, 'organisations' | 'samples' | 'workloads' | 'measured'>,
  tx: Queryable,
  organisation: string,
  now: number,
): Promise<string[]> {
  const since = now - READINGS_DAYS * DAY_MS;
  const all = await stores.measured.since(tx, organisation, since);
  if (all.length === 0) return [];
  const placing = new Placing(
    new FleetJoin(await stores.measured.candidates(tx, organisation)),
    await stores.organisations.rules(tx, organisation),
    [...(await stores.workloads.kinds(tx, organisation)).keys()],
  );
  const teams = new Set<string>();
  for (const { source, measured } of all) {
    const { place, joined, from } = placing.placeOf(measured.called, measured.seenAt);
    // A known target stays unchanged; for an unknown one the reason may have changed.
    if (joined.found === null ? measured.place.target !== null : isDeepStrictEqual(place, measured.place)) continue;
    await stores.measured.save(tx, organisation, source, [{ ...measured, place, joined }]);
    if (joined.found === null) continue;
    const { resource } = measured.called;
    await stores.samples.place(tx, organisation, source, resource, Math.max(since, from), place);
    teams.add(place.team);
  }
  return [...teams].sort();
}

/** The target of a resource, and the time from which its readings belong to that target. */
interface Placed {
  readonly place: Place;
  readonly joined: Joined;
  /** Epoch milliseconds; -Infinity if the resource belongs to nothing, or to a workload. */
  readonly from: number;
}

const BEFORE_ITS_START: Joined = {
  found: null,
  machine: null,
  because: 'unknown-machine',
  among: [],
  detail: 'it was measured before the machine that has its name now was started, or first seen',
};

/** The targets of samples: by the fleet first, and by the labels of their series if the fleet does not know them. */
class Placing {
  private readonly known = new Map<string, { readonly now: Placed; readonly before: Placed }>();

  constructor(
    private readonly join: FleetJoin,
    private readonly rules: RuleSet,
    private readonly workloads: readonly string[],
  ) {}

  /**
   * A measurement before the start of its machine belongs to another machine with the same name or address. If the
   * start is unknown, a measurement before the first reading may belong to another.
   */
  placeOf(called: Called, at: number): Placed {
    const { resource, namespace, pod, labels, gpuModel } = called;
    const key = JSON.stringify([resource, namespace, pod, labels, gpuModel]);
    let found = this.known.get(key);
    if (found === undefined) {
      const joined = this.join.join(cluesOf(called));
      found = { now: this.place(called, joined), before: this.place(called, BEFORE_ITS_START) };
      this.known.set(key, found);
    }
    return at < found.now.from ? found.before : found.now;
  }

  private place(called: Called, joined: Joined): Placed {
    const { found, machine } = joined;
    const { labels } = called;
    const label = (...names: string[]): string | null =>
      names.map((name) => labels[name]).find((value) => value !== undefined) ?? null;
    const fromFound = <Value>(read: (seen: Candidate['seen']) => Value | null): Value | null =>
      (found === null ? null : read(found.seen)) ?? (machine === null ? null : read(machine.seen));
    const sku =
      fromFound((seen) => seen.sku) ?? label('sku', 'instance_type', 'label_node_kubernetes_io_instance_type');
    const provider = fromFound((seen) => seen.provider) ?? label('provider');
    const team = this.rules.teamOf({
      provider: provider ?? '',
      account: fromFound((seen) => seen.account),
      subAccount: null,
      resource: called.resource,
      namespace: called.namespace,
      service: null,
      sku,
      tags: labels,
    });
    const owned = [found, machine].map((one) => one?.team).find((one) => one !== undefined && one !== UNALLOCATED);
    // For a pod that no known cluster owns, its namespace and labels say more than the machine that it shares.
    const isOwn = found !== null && found.team !== UNALLOCATED;
    return {
      joined,
      from: found === null || found.seen.kind !== 'instance' ? -Infinity : (found.seen.launchedAt ?? found.firstSeenAt),
      place: {
        team: isOwn ? found.team : team === UNALLOCATED ? (owned ?? team) : team,
        workload: this.workloadFor(called, found),
        connection: found?.connection ?? null,
        target: found?.seen.target ?? null,
        provider,
        sku,
        region: fromFound((seen) => seen.region) ?? label('region', 'label_topology_kubernetes_io_region'),
        term: fromFound((seen) => seen.term),
      },
    };
  }

  /**
   * A joined target that is a workload, or the group that it is one of; otherwise as the labels and the pod's name say.
   */
  private workloadFor(called: Called, found: Candidate | null): string | null {
    // A machine that boots, leaves or stands by does no work of its group; Kubernetes also leaves out pods that are
    // being deleted.
    if (found?.seen.outOfService !== undefined) return null;
    const owner = found === null ? null : (groupOf(found.seen) ?? found.seen.target);
    const own = owner === null ? [] : [`${found?.connection ?? ''}/${owner}`, owner];
    return own.find((id) => this.workloads.includes(id)) ?? workloadOf(called, this.workloads);
  }
}
