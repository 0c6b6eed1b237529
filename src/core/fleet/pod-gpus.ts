/**
 * The GPUs that a Kubernetes pod requests, in parts of a GPU (see GPU_PARTS): whole ones, MIG instances, time slices,
 * shares by percent.
 *
 * Reads only the pod, never a node: the value of one unit on its node is passed in. An unknown share is null, which is
 * not zero: the pod has requested GPUs all the same. Devices of resource claims (DRA) are named in the claims, and
 * passed in by their reader.
 */
import { migParts } from './gpu-model.js';
import { GPU_PARTS } from '../usage.js';

/** The part of a container's spec that matters (Kubernetes API, core/v1 Container). */
export interface PodContainer {
  readonly restartPolicy?: string | undefined;
  readonly resources?:
    | { readonly requests?: Quantities | undefined; readonly limits?: Quantities | undefined }
    | undefined;
}
type Quantities = Readonly<Record<string, string | number>>;

/** The part of a pod's spec that matters (Kubernetes API, core/v1 PodSpec). */
export interface PodSpec {
  readonly containers?: readonly PodContainer[] | undefined;
  readonly initContainers?: readonly PodContainer[] | undefined;
  readonly resourceClaims?: readonly unknown[] | undefined;
}

/** The size of one unit of a GPU resource on a node, from the node's labels. */
export interface GpuUnits {
  /** As modelOf writes it; null: unknown. */
  readonly model: string | null;
  /** Parts of one `nvidia.com/gpu`: GPU_PARTS, or fewer if the node hands out slices or shares under that name. */
  readonly wholeParts: number | null;
  /** Pods that one device is handed to under the name `….shared`; null: unknown. */
  readonly replicas: number | null;
}

/** For an unknown node: a GPU is a whole GPU, and a share is unknown. */
export const ANY_NODE: GpuUnits = { model: null, wholeParts: GPU_PARTS, replicas: null };

export interface PodGpus {
  /** Whether the pod asks for any GPU, or for a part of one. */
  readonly requested: boolean;
  /** Null: it requests some, and the share of a GPU is unknown. */
  readonly parts: number | null;
}

const PERCENT = GPU_PARTS / 100;
/** Alibaba Cloud ACK, "Share GPU resources": percent of one GPU's compute. */
const ALIYUN_PERCENT = 'aliyun.com/gpu-core.percentage';
/** GiB of one GPU's memory, of the same page: how much of the GPU that is depends on the card. */
const ALIYUN_MEMORY = 'aliyun.com/gpu-mem';
/** The NVIDIA device plugin writes `+me` as `.me`, since a resource's name holds no plus. */
const MIG = /^nvidia\.com\/mig-([1-7]g\.\d+gb)((?:\.[a-z]+)*?)(\.shared)?$/;

/**
 * What the scheduler sets aside for the pod: per resource the greater of what its containers (and its sidecars) hold
 * together and what any init container holds beside the sidecars started before it (Kubernetes, "Init Containers:
 * Resource sharing within containers").
 * @param claimed parts of GPUs that its resource claims hold; null: unknown; 0 also where nobody has read them
 */
export function podGpus(spec: PodSpec, units: GpuUnits, claimed: number | null = 0): PodGpus {
  const running = new Map<string, number | null>();
  const most = new Map<string, number | null>();
  for (const container of spec.initContainers ?? []) {
    const held = containerParts(container, units);
    if (container.restartPolicy === 'Always') add(running, held);
    const atOnce = new Map(running);
    if (container.restartPolicy !== 'Always') add(atOnce, held);
    raise(most, atOnce);
  }
  for (const container of spec.containers ?? []) add(running, containerParts(container, units));
  raise(most, running);
  const claims = (spec.resourceClaims ?? []).length > 0 && claimed !== 0 ? [claimed] : [];
  const amounts = [...most.values(), ...claims];
  return { requested: amounts.length > 0, parts: amounts.reduce(plus, 0) };
}

const plus = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);

function add(sums: Map<string, number | null>, held: ReadonlyMap<string, number | null>): void {
  for (const [resource, parts] of held)
    sums.set(resource, plus(sums.get(resource) ?? (sums.has(resource) ? null : 0), parts));
}

function raise(most: Map<string, number | null>, held: ReadonlyMap<string, number | null>): void {
  for (const [resource, parts] of held) {
    const before = most.has(resource) ? (most.get(resource) ?? null) : 0;
    most.set(resource, before === null || parts === null ? null : Math.max(before, parts));
  }
}

/** Parts by resource. Limits and requests of a device are the same where both are given. */
function containerParts({ resources }: PodContainer, units: GpuUnits): Map<string, number | null> {
  const asked: Quantities = { ...resources?.requests, ...resources?.limits };
  const parts = new Map<string, number | null>();
  for (const [resource, text] of Object.entries(asked)) {
    const unit = unitParts(resource, asked, units);
    if (unit === undefined) continue;
    const count = countOf(text);
    if (count === 0) continue;
    parts.set(resource, count === null || unit === null ? null : Math.round(count * unit));
  }
  return parts;
}

/** Parts of one unit of a resource; null: a share that cannot be told; undefined: no GPU resource. */
function unitParts(resource: string, asked: Quantities, units: GpuUnits): number | null | undefined {
  if (resource === 'amd.com/gpu') return GPU_PARTS;
  if (resource === 'nvidia.com/gpu') {
    const virtual = virtualParts(asked);
    return virtual === undefined ? units.wholeParts : virtual;
  }
  if (resource === 'nvidia.com/gpu.shared') return shared(GPU_PARTS, units);
  if (resource === ALIYUN_PERCENT) return PERCENT;
  // Beside a percentage the memory says nothing more.
  if (resource === ALIYUN_MEMORY) return ALIYUN_PERCENT in asked ? undefined : null;
  if (!resource.startsWith('nvidia.com/mig-')) return undefined;
  const profile = MIG.exec(resource);
  const slice =
    profile === null ? null : migParts(`${profile[1] ?? ''}${(profile[2] ?? '').replaceAll('.', '+')}`, units.model);
  return profile?.[3] === undefined || slice === null ? slice : shared(slice, units);
}

const shared = (parts: number, { replicas }: GpuUnits): number | null => (replicas === null ? null : parts / replicas);

/**
 * HAMi hands out `nvidia.com/gpu` as virtual GPUs, each of so many percent (HAMi, docs/config: gpucores,
 * gpumem-percentage). Undefined: none of its words are there. Memory in MiB alone leaves the share unknown: such a pod
 * is never taken for whole GPUs.
 */
function virtualParts(asked: Quantities): number | null | undefined {
  for (const resource of ['nvidia.com/gpucores', 'nvidia.com/gpumem-percentage']) {
    const percent = resource in asked ? countOf(asked[resource] ?? '') : 0;
    if (percent !== null && percent > 0) return Math.min(percent, 100) * PERCENT;
  }
  return 'nvidia.com/gpumem' in asked ? null : undefined;
}

/** A quantity of devices: whole numbers, which is all that Kubernetes takes for them. Null: it is none. */
export function countOf(quantity: string | number): number | null {
  const match = /^(\d{1,12})(m|k|M)?$/.exec(String(quantity));
  if (match === null) return null;
  const number =
    Number(match[1]) * (match[2] === 'k' ? 1_000 : match[2] === 'M' ? 1_000_000 : match[2] === 'm' ? 0.001 : 1);
  return Number.isInteger(number) ? number : null;
}
