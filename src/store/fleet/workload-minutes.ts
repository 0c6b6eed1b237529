/**
 * Minutes of workloads computed from the samples of their cards: the mean use if every reported card was measured, the
 * requests of their resources if each of them is known, and the number of those cards. Blank values yield nothing.
 */
import { placeOf } from './sample-block.js';
import type { MinuteSample } from './sample-reading.js';

export interface WorkloadMinute {
  readonly workload: string;
  readonly name: string;
  /** Where it begins, epoch milliseconds. */
  readonly at: number;
  readonly value: number;
  /** The number of GPUs behind it: GPUs without data do not count; the fleet knows their number. */
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
