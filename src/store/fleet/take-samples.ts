/**
 * Taking samples in, whoever brings them: the team by the allocation rules, the workload where it is known, the rows,
 * and the workloads' metrics.
 * The line and the API do it here, so that they do the same.
 */
import type { GpuSample } from '../../core/ports.js';
import type { Queryable } from '../database.js';
import type { PlacedSample } from './samples.js';
import type { Stores } from '../stores.js';

/**
 * Words of a pod's name after its Deployment's (template hash and five characters), or a StatefulSet's ordinal
 * (kubernetes.io, "Deployments" and "StatefulSets").
 */
const POD_SUFFIX = /^-(?:[bcdfghjklmnpqrstvwxz2456789]{1,10}-)?[bcdfghjklmnpqrstvwxz2456789]{5}$|^-\d+$/;

/**
 * The known workload that a sample belongs to: by its label, else by its pod's name under a workload's
 * (`deployment/ml/trainer`). Null where none fits.
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
  { organisations, samples: store, workloads }: Pick<Stores, 'organisations' | 'samples' | 'workloads'>,
  tx: Queryable,
  organisation: string,
  source: string,
  samples: readonly GpuSample[],
): Promise<Taken> {
  if (samples.length === 0) return { samples: 0, teams: [] };
  const rules = await organisations.rules(tx, organisation);
  const kinds = await workloads.kinds(tx, organisation);
  const known = [...kinds.keys()];
  const partitioned = new Set(
    samples.flatMap(({ at, gpu, migInstance }) => (migInstance === null ? [] : [`${at} ${gpu}`])),
  );
  const placed = samples
    .map((sample) => ({ ...sample, workload: workloadOf(sample, known) }))
    .map(
      (sample): PlacedSample => ({
        ...sample,
        workloadKind: sample.labels['workload_kind'] ?? kinds.get(sample.workload ?? '') ?? null,
        isPartitioned: sample.migInstance === null && partitioned.has(`${sample.at} ${sample.gpu}`),
        team: rules.teamOf({
          provider: sample.labels['provider'] ?? '',
          account: null,
          subAccount: null,
          resource: sample.resource,
          namespace: sample.namespace,
          service: null,
          sku: sample.labels['sku'] ?? null,
          tags: sample.labels,
        }),
      }),
    );
  await store.save(tx, organisation, source, placed);
  const ats = placed.map(({ at }) => at);
  const named = [
    ...new Set(placed.flatMap(({ workload }) => (workload !== null && kinds.has(workload) ? [workload] : []))),
  ];
  await store.saveWorkloadMinutes(
    tx,
    organisation,
    named,
    ats.reduce((a, b) => Math.min(a, b)),
    ats.reduce((a, b) => Math.max(a, b)),
  );
  return { samples: placed.length, teams: [...new Set(placed.map(({ team }) => team))].sort() };
}
