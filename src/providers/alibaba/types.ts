/**
 * The GPUs of ECS instance types, as ECS itself states them.
 *
 * Keeps no table of its own. The invariant: a type that ECS did not describe is unknown; a share of a card is never
 * counted as a card. Sources: ECS API Reference (2014-05-26), "DescribeInstanceTypes" (GPUAmount, GPUSpec,
 * GPUMemorySize in GiB per GPU); ECS User Guide, "GPU-accelerated compute-optimized and vGPU-accelerated instance
 * families" (vgn and sgn share a card).
 */
import { z } from 'zod';
import { Failure } from '../../core/errors.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import { reading, type TypeGpus } from '../rpc.js';
import { permissionOf, type AlibabaClient } from './client.js';

export const CLOUD = 'Alibaba Cloud';
export const TYPES_PERMISSION = permissionOf('ecs', 'DescribeInstanceTypes');

/** Types in one request (InstanceTypes.N). */
const MOST_TYPES = 10;
/** Families of which an instance has a share of a card. */
const SHARED = /^ecs\.(?:ebm)?(?:vgn|sgn)/;

const REPLY = z.object({
  InstanceTypes: z.object({
    InstanceType: z.array(
      z.object({
        InstanceTypeId: z.string(),
        GPUAmount: z.number().optional(),
        GPUSpec: z.string().optional(),
        GPUMemorySize: z.number().optional(),
      }),
    ),
  }),
});

/** @param memoryGib of one card, where it is known */
export function gpusOf(
  type: string,
  amount: number | undefined,
  spec: string | undefined,
  memoryGib?: number,
): TypeGpus {
  if (amount === 0) return { model: null, gpus: 0 };
  const name = spec ?? '';
  const model = modelOf(memoryGib === undefined ? name : `${name} ${Math.round(memoryGib)}GB`) ?? modelOf(name);
  return { model, gpus: amount === undefined || SHARED.test(type) ? null : amount };
}

export class InstanceTypes {
  /** A type does not change, and does not differ between regions. */
  private readonly known = new Map<string, TypeGpus>();

  constructor(private readonly client: AlibabaClient) {}

  /** The GPUs of the types that ECS describes. @throws Failure */
  async gpusOf(region: string, types: Iterable<string>): Promise<ReadonlyMap<string, TypeGpus>> {
    const wanted = [...new Set(types)];
    const missing = wanted.filter((type) => !this.known.has(type));
    for (let at = 0; at < missing.length; at += MOST_TYPES) {
      await this.describe(region, missing.slice(at, at + MOST_TYPES));
    }
    return new Map(
      wanted.flatMap((type): [string, TypeGpus][] => {
        const gpus = this.known.get(type);
        return gpus === undefined ? [] : [[type, gpus]];
      }),
    );
  }

  /** A request that is refused is asked again type by type: one that ECS does not know hides no other. */
  private async describe(region: string, types: readonly string[]): Promise<void> {
    try {
      const reply = await reading(CLOUD, TYPES_PERMISSION, REPLY, () =>
        this.client.call('ecs', 'DescribeInstanceTypes', region, { InstanceTypes: types }),
      );
      for (const { InstanceTypeId, GPUAmount, GPUSpec, GPUMemorySize } of reply.InstanceTypes.InstanceType)
        this.known.set(InstanceTypeId, gpusOf(InstanceTypeId, GPUAmount, GPUSpec, GPUMemorySize));
    } catch (failure) {
      if (!(failure instanceof Failure) || failure.kind !== 'invalid') throw failure;
      if (types.length > 1) for (const type of types) await this.describe(region, [type]);
    }
  }
}
