/**
 * What a node's labels and capacity say of its GPUs: model, number, and what one unit of its resources is worth.
 *
 * Labels are those of NVIDIA's GPU feature discovery ("Generated labels": gpu.product, gpu.count, gpu.replicas; the
 * suffixes -SHARED and
 * -MIG-<profile> of the product) and, where it does not run, of GKE, Karpenter and CoreWeave (gpu.nvidia.com/model,
 * "Advanced Label Selectors"). What they leave open stays unknown.
 */
import { modelOf, migParts } from '../../core/fleet/gpu-model.js';
import { countOf, podGpus, type GpuUnits } from '../../core/fleet/pod-gpus.js';
import { GPU_PARTS } from '../../core/usage.js';

export type Labels = Readonly<Record<string, string>>;

const PRODUCT = [
  'nvidia.com/gpu.product',
  'cloud.google.com/gke-accelerator',
  'karpenter.k8s.aws/instance-gpu-name',
  'karpenter.azure.com/sku-gpu-name',
  'gpu.nvidia.com/model',
];
const COUNT = [
  'nvidia.com/gpu.count',
  'karpenter.k8s.aws/instance-gpu-count',
  'karpenter.azure.com/sku-gpu-count',
  'gpu.nvidia.com/count',
];
/** GKE, "Share GPUs with multiple workloads using GPU time-sharing". */
const REPLICAS = ['nvidia.com/gpu.replicas', 'cloud.google.com/gke-max-shared-clients-per-gpu'];
/** GKE, "Running multi-instance GPUs": the node hands out slices under the name of whole GPUs. */
const PARTITION = 'cloud.google.com/gke-gpu-partition-size';

const first = (labels: Labels, keys: readonly string[]): string | undefined =>
  keys.map((key) => labels[key]).find((value) => value !== undefined && value !== '');

/** The size of one unit of a GPU resource on a node, or on the nodes that a pod's node selector permits. */
export function unitsOf(labels: Labels): GpuUnits {
  const product = first(labels, PRODUCT) ?? '';
  const model = modelOf(product.replace(/-(?:MIG|SHARED)\b.*$/i, '').replace(/^nvidia-tesla-/, 'nvidia-'));
  const stated = countOf(first(labels, REPLICAS) ?? '');
  const replicas = stated === null ? null : Math.max(1, stated);
  const partition = labels[PARTITION] ?? /-MIG-(\d+g\.\d+gb(?:\.[a-z]+)*)/i.exec(product)?.[1];
  const device = partition === undefined ? GPU_PARTS : migParts(partition.replace(/gb\./i, 'gb+'), model);
  // A product named -SHARED without its number of replicas is a share of unknown size.
  const isShared = /-SHARED$/i.test(product);
  const wholeParts = device === null || (isShared && replicas === null) ? null : device / (replicas ?? 1);
  return { model, wholeParts, replicas };
}

/**
 * GPUs of the machine, whole: by its label, otherwise by what it can hand out; null: it has some and nobody says how
 * many.
 */
export function gpusOfNode(labels: Labels, capacity: Readonly<Record<string, string>>): number | null {
  const counted = countOf(first(labels, COUNT) ?? '');
  if (counted !== null) return counted;
  // A node offers in the words in which a pod asks.
  const { requested, parts } = podGpus({ containers: [{ resources: { limits: capacity } }] }, unitsOf(labels));
  return requested ? gpusOfParts(parts) : 0;
}

/** Parts as a number of GPUs, to a thousandth. */
export const gpusOfParts = (parts: number | null): number | null =>
  parts === null ? null : Math.round((parts * 1000) / GPU_PARTS) / 1000;
