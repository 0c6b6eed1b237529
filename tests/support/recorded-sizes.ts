/** Metered sizes of workloads for replays in memory. */
import type { RecordedSizes } from '../../src/core/policy/history.js';
import type { WorkloadView } from '../../src/core/policy/policy.js';
import { HOUR_MS } from '../../src/core/time.js';

/** The replicas that were metered of a workload in each hour from an instant on; null: the hour was not recorded. */
export const meteredAs = (
  { provider, region, sku, gpuModel, term, gpusPerReplica }: WorkloadView,
  from: number,
  replicas: readonly (number | null)[],
): RecordedSizes =>
  new Map(
    replicas.flatMap((count, hour) =>
      count === null
        ? []
        : [
            [
              from + hour * HOUR_MS,
              count === 0 ? [] : [{ provider, region, sku, gpuModel, term, gpus: count * (gpusPerReplica ?? 1) }],
            ] as const,
          ],
    ),
  );

/** Every workload with the fleet that it has, from the hour before a window to its end. */
export const runningThroughout = (
  workloads: readonly WorkloadView[],
  from: number,
  to: number,
): ReadonlyMap<string, RecordedSizes> =>
  new Map(
    workloads.map((one) => [
      one.workload,
      meteredAs(
        one,
        from - HOUR_MS,
        new Array<number>((to - from) / HOUR_MS + 1).fill((one.fleet?.ready ?? 0) + (one.fleet?.booting ?? 0)),
      ),
    ]),
  );
