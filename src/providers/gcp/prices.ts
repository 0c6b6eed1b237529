/**
 * List prices of machines with GPUs, on demand, spot and under commitments of one and three years.
 *
 * Google sells no machines but their parts: a machine's price is the sum of its vCPUs, its memory, its cards and the
 * local SSD that comes with it. The invariant: if one part of a machine has no price, the machine has none; a sum of
 * some parts is never used for the whole. Discounts for sustained use (N1) and contracts are not in the list. A price
 * holds from the time when it was first seen, because the catalogue states no day. Sources: Compute Engine, "VM
 * instance pricing" (by the second, at least a minute; months of 730 hours), "Local SSD disks" (375 GiB each); Cloud
 * Billing Catalog API v1, PricingExpression.
 */
import { Failure } from '../../core/errors.js';
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import type { Price, PriceEvent } from '../../core/price/price.js';
import type { Rate } from '../../core/money.js';
import type { Term } from '../../core/usage.js';
import type { SeenPrices } from '../rpc.js';
import { CLOUD, type GoogleClient } from './client.js';
import { readInstances, typeOf } from './instances.js';
import { listed, type Lacks } from './lists.js';
import { MACHINE_TYPE, OPERATIONS, type MachineType } from './operations.js';
import {
  cardPrice,
  familyOf,
  familyUnder,
  readPartPrices,
  type PartPrices,
  type UnitPrice,
  type Usage,
} from './skus.js';
import { lastOf, regionOf } from './targets.js';
import { attachedCards, cardsOfType, gpusOf, skuOf, takesCards, type Cards, type MachineTypes } from './types.js';

export const PRICE_PERMISSIONS: readonly string[] = [
  OPERATIONS.machineTypes.permission,
  OPERATIONS.machineType.permission,
  OPERATIONS.instances.permission,
];

const SOURCE = 'Cloud Billing Catalog API';
const TERMS: Readonly<Record<Usage, Term>> = {
  OnDemand: 'on-demand',
  Preemptible: 'spot',
  Commit1Yr: 'reserved-1y',
  Commit3Yr: 'reserved-3y',
};

/** A machine as it is sold in a region. */
interface Machine {
  readonly region: string;
  readonly sku: string;
  readonly type: MachineType;
  readonly cards: Cards;
}

/** Types with GPUs built in are named by a letter and a figure (a2, a3, a4x, g2, g4). */
const BUILT_IN = 'name eq "[ag][0-9].*"';

/** Prices that were first seen since `since`. @throws Failure */
export async function* readPrices(
  client: GoogleClient,
  types: MachineTypes,
  seen: SeenPrices,
  since: number,
  now: number,
  partial?: PartialRead,
): AsyncGenerator<PriceEvent[]> {
  const machines = new Map<string, Machine>();
  const found = eachPart([BUILT_IN_TYPES, ...client.settings.projects], since, partial, async function* (part) {
    const lacks = (what: string): void => partial?.lacks(part, what);
    yield await (part === BUILT_IN_TYPES ? withBuiltIn(client, lacks) : withAttached(client, types, part, lacks));
  });
  for await (const some of found) for (const one of some) machines.set(`${one.region} ${one.sku}`, one);
  if (machines.size === 0) return;
  const prices = await readPartPrices(client, (what) => partial?.lacks('the catalogue', what));
  for (const region of client.settings.regions) {
    const events = [...machines.values()]
      .filter((one) => one.region === region)
      .flatMap((machine) => pricesOf(machine, prices))
      .map((price) => seen.dated(price, now))
      .filter(({ effectiveFrom }) => effectiveFrom >= since)
      .map((price): PriceEvent => ({ kind: 'price', price }));
    if (events.length > 0) yield events;
  }
}

const BUILT_IN_TYPES = 'machine types';

/**
 * What the regions offer with cards built in, as the first project that may read it is told: it is the same in all.
 * @throws Failure if none may
 */
async function withBuiltIn(client: GoogleClient, lacks: Lacks): Promise<Machine[]> {
  let failed: Failure | null = null;
  for (const project of client.settings.projects) {
    const wanted = { project, name: 'machineTypes', entry: MACHINE_TYPE, filter: BUILT_IN } as const;
    try {
      return (await listed(client, wanted, lacks)).flatMap((type) => {
        const cards = cardsOfType(type);
        return cards === null ? [] : [{ region: regionOf(lastOf(type.zone ?? '')), sku: type.name, type, cards }];
      });
    } catch (failure) {
      if (!(failure instanceof Failure)) throw failure;
      failed ??= failure;
    }
  }
  if (failed !== null) throw failed;
  return [];
}

/** The machines of a project that have cards attached: any of very many may be put together. @throws Failure */
async function withAttached(
  client: GoogleClient,
  types: MachineTypes,
  project: string,
  lacks: Lacks,
): Promise<Machine[]> {
  const all = await readInstances(client, project, lacks);
  const put = all.flatMap((one) => {
    const [cards, ...others] = attachedCards(one.guestAccelerators);
    const at = typeOf(one);
    return cards === undefined || others.length > 0 || !takesCards(at.name) ? [] : [{ ...at, cards }];
  });
  const known = await types.gpusOf(project, put, lacks);
  return put.flatMap(({ name, zone, cards }): Machine[] => {
    const type = known.get(name);
    return type === undefined ? [] : [{ region: regionOf(zone), sku: skuOf(name, [cards]), type, cards }];
  });
}

function pricesOf(machine: Machine, prices: PartPrices): Price[] {
  const { model, gpus } = gpusOf(machine.type, [machine.cards]);
  if (gpus === null || gpus <= 0 || !Number.isSafeInteger(3600 * gpus)) return [];
  return (Object.keys(TERMS) as Usage[]).flatMap((usage) => {
    const rate = rateOfMachine(machine, usage, prices, gpus);
    if (rate === null) return [];
    return [
      {
        provider: CLOUD,
        sku: machine.sku,
        region: machine.region,
        term: TERMS[usage],
        upfront: 'none',
        component: 'gpu',
        gpuModel: model,
        gpus,
        rate,
        effectiveFrom: 0,
        effectiveTo: null,
        incrementSeconds: 1,
        minimumSeconds: 60,
        source: SOURCE,
      },
    ];
  });
}

const GIB_OF_SSD = 375n;
const MIB_PER_GIB = 1024n;
const HOURS_PER_MONTH = 730n;
/** Cards are sold by eighths at least. */
const EIGHTHS = 8n;
const WHOLE = MIB_PER_GIB * HOURS_PER_MONTH * EIGHTHS;

/** The cost of all parts together, as an exact fraction per GPU-second; null if one of them has no price. */
function rateOfMachine({ region, type, cards }: Machine, usage: Usage, prices: PartPrices, gpus: number): Rate | null {
  const family = familyOf(type.name);
  const eighths = 8 * cards.count;
  if (
    family === null ||
    typeof type.guestCpus !== 'number' ||
    typeof type.memoryMb !== 'number' ||
    !Number.isSafeInteger(eighths)
  )
    return null;
  const label = familyUnder(family, usage);
  const disks = BigInt(type.bundledLocalSsds?.partitionCount ?? 0);
  /** Each with how many units of it an hour takes, in parts of `WHOLE`. */
  const parts: readonly (readonly [UnitPrice | null, bigint])[] = [
    [prices.priceOf(region, usage, 'cpu', label), BigInt(type.guestCpus) * WHOLE],
    [prices.priceOf(region, usage, 'ram', label), (BigInt(type.memoryMb) * WHOLE) / MIB_PER_GIB],
    [cardPrice(prices, region, usage, cards), (BigInt(eighths) * WHOLE) / EIGHTHS],
    ...(disks === 0n
      ? []
      : [[prices.priceOf(region, usage, 'ssd', ''), (disks * GIB_OF_SSD * WHOLE) / HOURS_PER_MONTH] as const]),
  ];
  let nanos = 0n;
  const currencies = new Set<string>();
  for (const [price, units] of parts) {
    if (price === null) return null;
    nanos += price.nanos * units;
    currencies.add(price.currency);
  }
  const [currency] = currencies;
  if (currency === undefined || currencies.size > 1) return null;
  const shared = greatestCommonDivisor(nanos, WHOLE);
  return { nanos: nanos / shared, currency, quantity: (WHOLE / shared) * BigInt(3600 * gpus), unit: 'gpu-second' };
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [large, small] = [a, b];
  while (small > 0n) [large, small] = [small, large % small];
  return large;
}
