/**
 * Minutes of workloads out of the samples of their cards: the mean use where every card that was told of was measured,
 * and the requests of their resources where each of them is known; and of how many cards that is. Of what was blank
 * nothing is said.
 */
import { placeOf } from './sample-block.js';
import type { MinuteSample } from './sample-reading.js';

export interface WorkloadMinute {
  readonly workload: string;
  readonly name: string;
  /** Where it begins, epoch milliseconds. */
  readonly at: number;
  readonly value: number;
  /** Of how many GPUs it is: what nothing came of is not in it, and how many those are the fleet knows. */
  readonly gpus: number;
}

const MEANS = [
  ['gpu_utilisation_ratio', placeOf('gpuUtilisationRatio')],
  ['memory_used_ratio', placeOf('memoryUsedRatio')],
] as const;
const REQUESTS = placeOf('requestsPerSecond');

export function workloadMinutes(samples: readonly MinuteSample[]): WorkloadMinute[] {
  const minutes = new Map<string, MinuteSample[]>();
  for (const sample of samples) {
    const { group, at } = sample;
    if (group.workload === null || group.isPartitioned) continue;
    const key = `${at}\0${group.workload}`;
    const own = minutes.get(key);
    if (own === undefined) minutes.set(key, [sample]);
    else own.push(sample);
  }
  return [...minutes.values()].flatMap((own) => {
    const [first] = own;
    const workload = first?.group.workload;
    if (first === undefined || workload === null || workload === undefined) return [];
    return [
      ...MEANS.map(([name, measure]) => [name, meanOf(own, measure)] as const),
      ['requests_per_second', requestsOf(own)] as const,
    ].flatMap(([name, value]): WorkloadMinute[] =>
      value === null ? [] : [{ workload, name, at: first.at, value, gpus: own.length }],
    );
  });
}

function meanOf(samples: readonly MinuteSample[], measure: number): number | null {
  const sum = samples.reduce((total, { device, minute }) => total + device.value(measure, minute), 0);
  return Number.isNaN(sum) ? null : sum / samples.length;
}

/** Each resource's once: its cards all tell of the same. */
function requestsOf(samples: readonly MinuteSample[]): number | null {
  const byResource = new Map<string, number>();
  for (const { group, device, minute } of samples) {
    const value = device.value(REQUESTS, minute);
    const before = byResource.get(group.resource) ?? Number.NaN;
    byResource.set(group.resource, Number.isNaN(before) || value > before ? value : before);
  }
  const sum = [...byResource.values()].reduce((total, value) => total + value, 0);
  return Number.isNaN(sum) ? null : sum;
}
