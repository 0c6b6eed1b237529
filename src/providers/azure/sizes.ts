/**
 * The GPUs of virtual machine sizes, as Azure lists them per subscription and region (Resource SKUs), and the data that
 * a machine of a size loses when it is deallocated.
 *
 * The invariant: a size that is not listed is unknown, and hides no other. That a size outside the N family has no GPU
 * is Azure's own naming rule ("Azure virtual machine sizes naming conventions": N, GPU enabled). The list has no model:
 * it follows from the size's name, after the pages of the sizes ("GPU accelerated VM sizes"), and so do the shares of a
 * card, which the list rounds up to whole ones (pages "NVadsA10 v5", "NVads V710 v5" and "NVv4").
 */
import { DAY_MS, type Clock } from '../../core/time.js';
import { orNull, unlessFailed, type TypeGpus } from '../rpc.js';
import type { AzureClient } from './client.js';
import { OPERATIONS, type Sku } from './operations.js';

export interface Size extends TypeGpus {
  /** As Azure spells it. */
  readonly name: string;
  /** It has a temporary disk or local NVMe disks, whose data deallocation loses; null: unknown. */
  readonly localDisks: boolean | null;
}

export const SIZES_PERMISSION = OPERATIONS.skus.permission;

/** What a size's name must be, after `Standard_`, to the model of its cards. */
const MODELS: readonly (readonly [RegExp, string])[] = [
  [/^N[CD]\d+\w*_GB300_/i, 'GB300'],
  [/^N[CD]\d+\w*_GB200_/i, 'GB200'],
  [/^N[CD]\d+\w*_MI300X_/i, 'MI300X'],
  [/^N[CD]\d+\w*_H200_/i, 'H200'],
  // NCads H100 v5 has the H100 NVL of 94 GB, NCCads the same; ND the SXM card of 80 GB: one model here.
  [/^NC?[CD]\d+\w*_H100_/i, 'H100'],
  [/^N[CD]\d+\w*_A100_v4$/i, 'A100-80GB'],
  [/^ND96asr_v4$/i, 'A100-40GB'],
  [/^NC\d+as_T4_v3$/i, 'T4'],
  [/^NV\d+adm?s_A10_v5$/i, 'A10'],
  [/^NG\d+\w*_V620_v1$/i, 'V620'],
  [/^NV\d+\w*_V710_v5$/i, 'V710'],
  [/^N[CV]\d+\w*_L40S_/i, 'L40S'],
  [/^ND40rs_v2$/i, 'V100-32GB'],
  [/^NC\d+rs?_v3$|^NC\d+s_v3$/i, 'V100-16GB'],
  [/^NC\d+rs?_v2$|^NC\d+s_v2$/i, 'P100'],
  [/^ND\d+r?s$/i, 'P40'],
  [/^NV\d+s_v[23]$|^NV\d+$/i, 'M60'],
  [/^NC\d+r?(?:_Promo)?$/i, 'K80'],
];

/** Sizes with a share of a card, to the thousandth, as the fleet counts. */
const SHARES: Readonly<Record<string, number>> = {
  NV6ADS_A10_V5: 0.167,
  NV12ADS_A10_V5: 0.333,
  NV18ADS_A10_V5: 0.5,
  NV4ADS_V710_V5: 0.167,
  NV8ADS_V710_V5: 0.333,
  NV12ADS_V710_V5: 0.5,
  NV4AS_V4: 0.125,
  NV8AS_V4: 0.25,
  NV16AS_V4: 0.5,
};

const bare = (size: string): string => size.replace(/^(?:Standard|Basic)_/i, '');

/** Whether Azure's naming rule says that a size has GPUs: NP has FPGAs. */
export const isGpuSize = (size: string): boolean => /^N(?!P)/i.test(bare(size));

const modelOfSize = (size: string): string | null => MODELS.find(([form]) => form.test(bare(size)))?.[1] ?? null;

/** The known facts about a size that the list lacks. */
const unlisted = (size: string): Size => ({
  name: size,
  model: modelOfSize(size),
  gpus: isGpuSize(size) ? null : 0,
  localDisks: null,
});

function sizeOf({ name, capabilities }: Sku): Size | null {
  const size = orNull(name);
  if (size === null) return null;
  const value = (wanted: string): number | null => {
    const text = capabilities?.find((one) => one.name === wanted)?.value ?? null;
    const number = Number(text);
    return text === null || text === '' || !Number.isFinite(number) ? null : number;
  };
  const listed = value('GPUs');
  const temporary = value('MaxResourceVolumeMB') ?? 0;
  return {
    name: size,
    model: modelOfSize(size),
    gpus: SHARES[bare(size).toUpperCase()] ?? listed ?? (isGpuSize(size) ? null : 0),
    localDisks: temporary > 0 || (value('NvmeDiskSizeInMiB') ?? 0) > 0,
  };
}

/** Sizes by their names in lower case. */
export type SizeTable = ReadonlyMap<string, Size>;
export const sizeIn = (table: SizeTable, size: string): Size => table.get(size.toLowerCase()) ?? unlisted(size);

export class Sizes {
  /** By subscription and region. What a size has does not change; new ones come. */
  private readonly known = new Map<string, { readonly at: number; readonly table: SizeTable }>();

  constructor(
    private readonly client: AzureClient,
    private readonly clock: Clock,
  ) {}

  /** The GPU sizes of a region, with those that the subscription may not have. @throws Failure */
  async tableOf(subscriptionId: string, region: string): Promise<SizeTable> {
    const key = `${subscriptionId} ${region}`;
    const held = this.known.get(key);
    if (held !== undefined && this.clock.now() - held.at < DAY_MS) return held.table;
    const skus = await this.client.list(OPERATIONS.skus, { subscriptionId }, { $filter: `location eq '${region}'` });
    const table = new Map(
      skus
        .filter(({ resourceType, name }) => resourceType === 'virtualMachines' && isGpuSize(name ?? ''))
        .flatMap((sku): [string, Size][] => {
          const size = sizeOf(sku);
          return size === null ? [] : [[size.name.toLowerCase(), size]];
        }),
    );
    this.known.set(key, { at: this.clock.now(), table });
    return table;
  }

  /** Those of the first subscription that tells: what a size has is the same in all. @throws Failure if none does */
  async ofAny(region: string): Promise<SizeTable> {
    const { subscriptions } = this.client.settings;
    for (const one of subscriptions.slice(0, -1)) {
      const table = await unlessFailed(
        () => this.tableOf(one, region),
        () => undefined,
      );
      if (table !== null) return table;
    }
    return this.tableOf(subscriptions.at(-1) ?? '', region);
  }

  /** The same, or what names alone tell. @param lacks receives what could not be read */
  async orNames(subscriptionId: string, region: string, lacks: (what: string) => void): Promise<SizeTable> {
    const table = await unlessFailed(
      () => this.tableOf(subscriptionId, region),
      (message) => lacks(`the sizes of ${region} could not be read: ${message}`),
    );
    return table ?? this.known.get(`${subscriptionId} ${region}`)?.table ?? new Map<string, Size>();
  }
}
