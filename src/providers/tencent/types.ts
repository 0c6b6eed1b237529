/**
 * Instance types of a region as CVM sells them: their GPUs, and what they cost by zone now.
 *
 * The invariant: a share of a card is a fraction, never a card; a type that is not listed is unknown. The model is not
 * stated with the type: it follows from the family. Sources: CVM API Reference (2017-03-12),
 * "DescribeZoneInstanceConfigInfos" (GpuCount: physical cards, below 1 for a vGPU; Price in the site's currency); Cloud
 * GPU Service, "Computing Instances" (models of the families).
 */
import { z } from 'zod';
import { modelOf } from '../../core/fleet/gpu-model.js';
import { HOUR_MS } from '../../core/time.js';
import { reading, type TypeGpus } from '../rpc.js';
import { CLOUD, permissionOf, type TencentClient } from './client.js';

export const TYPES_PERMISSION = permissionOf('cvm', 'DescribeZoneInstanceConfigInfos');

const MODELS: Readonly<Record<string, string>> = {
  PNV4: 'A10',
  GT4: 'A100-40GB',
  GN10XP: 'V100-32GB',
  GN10X: 'V100-32GB',
  GN7: 'T4',
  GN7VI: 'T4',
  GI3X: 'T4',
  GN8: 'P40',
  GN6: 'P4',
  GN6S: 'P4',
};

/** The model of a family such as `GN10Xp`, in any case; null if it is unknown. */
export const familyModel = (family: string): string | null => MODELS[family.toUpperCase()] ?? null;

/** The model of a type such as `GN7.2XLARGE32`, or as the instance itself names its cards. */
export const modelOfType = (type: string, stated = ''): string | null =>
  familyModel(type.split('.')[0] ?? '') ?? modelOf(stated);

const OFFER = z.object({
  Zone: z.string(),
  InstanceType: z.string(),
  Status: z.string().optional(),
  Gpu: z.number().nullish(),
  GpuCount: z.number().nullish(),
  Price: z.object({ UnitPriceDiscount: z.unknown(), ChargeUnit: z.string().nullish() }).nullish(),
});
/** An entry that is not of the form hides no other. */
const REPLY = z.object({ InstanceTypeQuotaSet: z.array(z.unknown()) });

export type ChargeType = 'POSTPAID_BY_HOUR' | 'SPOTPAID';

/** One type in one zone. */
export interface Offer {
  readonly zone: string;
  readonly type: string;
  readonly gpus: TypeGpus;
  /** Null: the cloud does not say. */
  readonly onSale: boolean | null;
  /** For an hour of the instance, after the account's discounts; unknown if it is not charged by the hour. */
  readonly hourly: unknown;
}

/** All types of a region under a charge type. @throws Failure */
export async function readOffers(client: TencentClient, region: string, charge: ChargeType): Promise<Offer[]> {
  const Filters = [{ Name: 'instance-charge-type', Values: [charge] }];
  const reply = await reading(CLOUD, TYPES_PERMISSION, REPLY, () =>
    client.call('cvm', 'DescribeZoneInstanceConfigInfos', region, { Filters }),
  );
  const offers = reply.InstanceTypeQuotaSet.flatMap((one) => OFFER.safeParse(one).data ?? []);
  return offers.map(({ Zone, InstanceType, Status, Gpu, GpuCount, Price }) => {
    const gpus = GpuCount ?? Gpu ?? null;
    return {
      zone: Zone,
      type: InstanceType,
      gpus: { model: gpus === 0 ? null : modelOfType(InstanceType), gpus },
      onSale: Status === 'SELL' ? true : Status === 'SOLD_OUT' ? false : null,
      hourly: Price?.ChargeUnit === 'HOUR' ? Price.UnitPriceDiscount : null,
    };
  });
}

/** The GPUs of types, read when a type is met that is unknown. */
export class InstanceTypes {
  private readonly known = new Map<string, { readonly at: number; readonly types: ReadonlyMap<string, TypeGpus> }>();

  constructor(private readonly client: TencentClient) {}

  /** @throws Failure */
  async gpusOf(region: string, types: readonly string[], now: number): Promise<ReadonlyMap<string, TypeGpus>> {
    const kept = this.known.get(region);
    const stale = kept === undefined || (now - kept.at >= HOUR_MS && types.some((type) => !kept.types.has(type)));
    if (!stale || types.length === 0) return kept?.types ?? new Map();
    const offers = await readOffers(this.client, region, 'POSTPAID_BY_HOUR');
    const fresh = new Map(offers.map(({ type, gpus }) => [type, gpus]));
    this.known.set(region, { at: now, types: fresh });
    return fresh;
  }
}
