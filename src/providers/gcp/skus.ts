/**
 * The catalogue's SKUs of Compute Engine that machines with GPUs are made of: vCPUs, memory, cards, bundled local SSD.
 *
 * Only the description of a SKU says what it prices; only complete descriptions that are known here are accepted, so
 * that sole tenancy, reservations, calendar mode and other products with similar names never pass for the plain
 * machine. The invariant: if two SKUs name the same part in one region at different prices, neither is used; a price of
 * zero, in several tiers, or per an unknown unit is not a price. Sources: Cloud Billing Catalog API v1,
 * services.skus.list and Sku; descriptions as Google's SKU explorer lists them (cloud.google.com/skus).
 */
import type { z } from 'zod';
import { NANOS_PER_UNIT } from '../../core/money.js';
import type { GoogleClient } from './client.js';
import { understood, type Lacks } from './lists.js';
import { OPERATIONS, SKU, type Sku } from './operations.js';
import type { Cards } from './types.js';

/** Compute Engine. */
const SERVICE = 'services/6F81-5844-456A';
const PAGE = 5000;
const MOST_PAGES = 100;

const USAGES = ['OnDemand', 'Preemptible', 'Commit1Yr', 'Commit3Yr'] as const;
export type Usage = (typeof USAGES)[number];

const UNITS = { cpu: 'h', ram: 'GiBy.h', gpu: 'h', ssd: 'GiBy.mo' } as const;
type Kind = keyof typeof UNITS;

interface Part {
  readonly kind: Kind;
  /** Family of the machine, or the card's own name; empty for local SSD. */
  readonly label: string;
}

export interface UnitPrice {
  readonly nanos: bigint;
  readonly currency: string;
}

const REGION = / (?:running )?in \S.*$/;
const SPOT = [/^Spot Preemptible /, / attached to Spot Preemptible VMs$/] as const;
const COMMITMENT = /^Commitment v1: /;
/** N1's own commitments name no family. */
const N1 = 'N1 Predefined';

/** The part that a SKU prices, and its use; null: something else. */
function partOf({ description, category }: Sku): (Part & { readonly usage: Usage }) | null {
  const usage = USAGES.find((one) => one === category.usageType);
  if (usage === undefined) return null;
  const plain = description.replace(REGION, '');
  const named = SPOT.reduce((text, pattern) => text.replace(pattern, ''), plain);
  if (COMMITMENT.test(named)) {
    const part = usage.startsWith('Commit') ? committed(named.replace(COMMITMENT, ''), category.resourceGroup) : null;
    return part === null ? null : { ...part, usage };
  }
  const part = usage.startsWith('Commit') ? null : running(named, category.resourceGroup);
  // Some say that they are for spot, and are filed under on-demand.
  return part === null ? null : { ...part, usage: named === plain ? usage : 'Preemptible' };
}

function running(named: string, group: string | null | undefined): Part | null {
  const [, label, of] = /^(.+?) (?:Instance )(Core|Ram)$/.exec(named) ?? [];
  if (label !== undefined) return { kind: of === 'Core' ? 'cpu' : 'ram', label };
  if (named === 'SSD backed Local Storage') return { kind: 'ssd', label: '' };
  return group === 'GPU' ? { kind: 'gpu', label: named } : null;
}

function committed(named: string, group: string | null | undefined): Part | null {
  const [, label = '', of] = /^(?:(.+) )?(Cpu|Ram)$/.exec(named) ?? [];
  if (of !== undefined) return { kind: of === 'Cpu' ? 'cpu' : 'ram', label: label === '' ? N1 : label };
  if (named === 'Local SSD') return { kind: 'ssd', label: '' };
  return group === 'GPU' ? { kind: 'gpu', label: named } : null;
}

/** The one price of a SKU; null: it has none above zero, or one that depends on how much is used. */
function priceOf({ pricingInfo }: Sku, kind: Kind): UnitPrice | null {
  const expression = pricingInfo.at(-1)?.pricingExpression;
  const [tier, ...others] = expression?.tieredRates ?? [];
  const { currencyCode, units, nanos } = tier?.unitPrice ?? {};
  if (expression?.usageUnit !== UNITS[kind] || others.length > 0 || typeof currencyCode !== 'string') return null;
  const whole = BigInt(units ?? '0') * NANOS_PER_UNIT + BigInt(nanos ?? 0);
  return whole > 0n ? { nanos: whole, currency: currencyCode } : null;
}

/** Prices of parts by region and use. */
export class PartPrices {
  /** Null: several SKUs say different things. */
  private readonly prices = new Map<string, UnitPrice | null>();

  /** @param regions the configured ones */
  constructor(private readonly regions: readonly string[]) {}

  add(sku: Sku): void {
    const part = partOf(sku);
    const price = part === null ? null : priceOf(sku, part.kind);
    if (part === null || price === null) return;
    for (const region of sku.serviceRegions.filter((one) => this.regions.includes(one))) {
      const key = keyOf(region, part.usage, part.kind, part.label);
      const before = this.prices.get(key);
      const isSame = before?.nanos === price.nanos && before.currency === price.currency;
      this.prices.set(key, before === undefined || isSame ? price : null);
    }
  }

  priceOf(region: string, usage: Usage, kind: Kind, label: string): UnitPrice | null {
    return this.prices.get(keyOf(region, usage, kind, label)) ?? null;
  }
}

const keyOf = (...parts: readonly string[]): string => parts.join('|');

/** All prices of parts in the regions. @throws Failure */
export async function readPartPrices(client: GoogleClient, lacks: Lacks): Promise<PartPrices> {
  const prices = new PartPrices(client.settings.regions);
  let pageToken: string | null = null;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const reply: z.output<typeof OPERATIONS.skus.reply> = await client.read(OPERATIONS.skus, {
      path: { parent: SERVICE },
      query: { pageSize: PAGE, currencyCode: client.settings.currency, ...(pageToken === null ? {} : { pageToken }) },
    });
    for (const sku of understood(reply.skus ?? [], SKU, 'SKUs', lacks)) prices.add(sku);
    const next = reply.nextPageToken ?? '';
    if (next === '' || next === pageToken) return prices;
    pageToken = next;
  }
  return prices;
}

/**
 * How the catalogue calls the vCPUs and the memory of a machine type; null: unknown. A4 and A4X are sold by slices of
 * which the catalogue does not say what is in them.
 */
export function familyOf(machineType: string): string | null {
  if (machineType.endsWith('-ext')) return null;
  const found = FAMILIES.find(([begin]) => machineType.startsWith(begin));
  return found?.[1] ?? null;
}

const FAMILIES: readonly (readonly [begin: string, family: string])[] = [
  ['a2-', 'A2'],
  ['a3-megagpu-', 'A3Plus'],
  ['a3-ultragpu-', 'A3Ultra'],
  ['a3-', 'A3'],
  ['g2-custom-', 'G2 Custom'],
  ['g2-', 'G2'],
  ['g4-', 'G4'],
  ['n1-custom-', 'Custom'],
  ['custom-', 'Custom'],
  ['n1-', N1],
];

/** Under a commitment a custom machine's parts are those of its family. */
export const familyUnder = (family: string, usage: Usage): string =>
  !usage.startsWith('Commit') ? family : family === 'Custom' ? N1 : family.replace(/ Custom$/, '');

/** How the catalogue calls a card, by the name that the API has for it. */
const CARDS: Readonly<Record<string, readonly string[]>> = {
  'nvidia-tesla-a100': ['Nvidia Tesla A100 GPU'],
  'nvidia-a100-80gb': ['Nvidia Tesla A100 80GB GPU'],
  'nvidia-h100-80gb': ['Nvidia H100 80GB GPU'],
  'nvidia-h100-mega-80gb': ['Nvidia H100 80GB Mega GPU', 'Nvidia H100 Mega 80GB GPU'],
  'nvidia-h200-141gb': ['H200 141GB GPU', 'Nvidia H200 141GB GPU'],
  'nvidia-l4': ['Nvidia L4 GPU'],
  'nvidia-tesla-t4': ['Nvidia Tesla T4 GPU'],
  'nvidia-tesla-v100': ['Nvidia Tesla V100 GPU'],
  'nvidia-tesla-p100': ['Nvidia Tesla P100 GPU'],
  'nvidia-tesla-p4': ['Nvidia Tesla P4 GPU'],
  'nvidia-rtx-pro-6000': ['RTX 6000 96GB'],
};

/** The price of one card; null: the catalogue has none, or two. */
export function cardPrice(prices: PartPrices, region: string, usage: Usage, { type }: Cards): UnitPrice | null {
  const found = (CARDS[type] ?? []).flatMap((label) => prices.priceOf(region, usage, 'gpu', label) ?? []);
  return found.length === 1 ? (found[0] ?? null) : null;
}
