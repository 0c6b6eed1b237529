/**
 * Prices of the GPU types that the fleet has (and of those that the settings name), and the price history of spot
 * instances.
 *
 * A price is that of the account, after its discounts, for the instance alone: system disks are sold apart. The
 * invariant: an entry without an amount is not a price; a queried price holds from the time of the query, a price of
 * the history from the time of its change. Sources: ECS API Reference (2014-05-26), "DescribePrice" (DetailInfos by
 * Resource; Hour is the default PriceUnit) and "DescribeSpotPriceHistory" (at most 30 days, by zone, NextOffset).
 */
import { z } from 'zod';
import type { FleetReading } from '../../core/fleet/fleet.js';
import { eachPart, orLacking, type PartialRead } from '../../core/partial-read.js';
import { nanosOf } from '../../core/money.js';
import type { SpotReading } from '../../core/price/spot-reading.js';
import type { PriceEvent } from '../../core/price/price.js';
import { DAY_MS } from '../../core/time.js';
import {
  CallError,
  decimalOf,
  instancePrice,
  Members,
  parseTarget,
  reading,
  type SeenPrices,
  type TypeGpus,
} from '../rpc.js';
import { permissionOf, type AlibabaClient, type Params } from './client.js';
import { readFleet } from './fleet.js';
import { CLOUD, TYPES_PERMISSION, type InstanceTypes } from './types.js';

const PRICE_PERMISSION = permissionOf('ecs', 'DescribePrice');
const HISTORY_PERMISSION = permissionOf('ecs', 'DescribeSpotPriceHistory');
export const PRICES_PERMISSIONS: readonly string[] = [PRICE_PERMISSION, HISTORY_PERMISSION, TYPES_PERMISSION];
export const HISTORY_PERMISSIONS: readonly string[] = [HISTORY_PERMISSION, TYPES_PERMISSION];

const MOST_HISTORY_MS = 30 * DAY_MS;
const PRICE_SOURCE = 'Alibaba Cloud DescribePrice';
const HISTORY_SOURCE = 'Alibaba Cloud DescribeSpotPriceHistory';

/** Numbers of JSON, or what the client makes of numbers with many digits. */
const amount = z.unknown();
const PRICE = z.object({
  PriceInfo: z.object({
    Price: z.object({
      Currency: z.string(),
      TradePrice: amount,
      DetailInfos: z
        .object({ DetailInfo: z.array(z.object({ Resource: z.string().optional(), TradePrice: amount })) })
        .optional(),
    }),
  }),
});
const HISTORY = z.object({
  Currency: z.string(),
  NextOffset: z.number().optional(),
  SpotPrices: z.object({
    SpotPriceType: z.array(
      z.object({ ZoneId: z.string(), InstanceType: z.string(), Timestamp: z.string(), SpotPrice: amount }),
    ),
  }),
});

/** A type that is sold (or may be) in a region. */
interface Sold {
  readonly region: string;
  readonly sku: string;
  readonly gpus: TypeGpus;
}

/** The reading for each type. */
type ReadType<Item> = (sold: Sold, since: number) => AsyncIterable<Item>;

/**
 * Of each GPU type of the fleet and of the settings, by region: one that a region refuses hides no other. A part of
 * the fleet that could not be read may hide types; a warning says so.
 */
async function* eachType<Item>(
  client: AlibabaClient,
  types: InstanceTypes,
  { since, now, partial }: Asked,
  read: ReadType<Item>,
): AsyncGenerator<Item> {
  const { regions, instanceTypes } = client.settings;
  // Which types there are: whose machines they are does not matter here.
  const readTypes = (): Promise<typeof NOTHING_READ> =>
    readFleet(client, types, new Members(async () => new Map()), now);
  const fleet = await (instanceTypes.length === 0
    ? readTypes()
    : orLacking(partial, 'types in use', readTypes, NOTHING_READ));
  for (const problem of fleet.problems) partial?.lacks('types in use', problem);
  yield* eachPart(regions, since, partial, async function* (region, from) {
    const used = fleet.targets.flatMap(({ target, sku }) =>
      sku !== null && parseTarget(target)?.region === region ? [sku] : [],
    );
    const known = await types.gpusOf(region, [...used, ...instanceTypes]);
    const sold = [...known].filter(([, { gpus }]) => gpus !== 0);
    const parts = new Map(sold.map(([sku, gpus]) => [`${region}: ${sku}`, { region, sku, gpus }]));
    yield* eachPart([...parts.keys()], from, partial, async function* (part, own) {
      const one = parts.get(part);
      if (one !== undefined) yield* read(one, own);
    });
  });
}

/** @param since from when on what does not lag behind is asked for */
interface Asked {
  readonly since: number;
  readonly now: number;
  readonly partial: PartialRead | undefined;
}

const NOTHING_READ: Pick<FleetReading, 'targets' | 'problems'> = { targets: [], problems: [] };

/** The price of a type now, per hour; null if the region does not sell it so. @throws Failure */
async function priceNow(
  client: AlibabaClient,
  { region, sku, gpus }: Sold,
  spot: boolean,
): Promise<ReturnType<typeof instancePrice>> {
  const params: Params = {
    RegionId: region,
    ResourceType: 'instance',
    InstanceType: sku,
    PriceUnit: 'Hour',
    Period: 1,
    SpotStrategy: spot ? 'SpotAsPriceGo' : 'NoSpot',
  };
  const reply = await reading(CLOUD, PRICE_PERMISSION, PRICE.nullable(), () =>
    unlessRefused(client.call('ecs', 'DescribePrice', region, params)),
  );
  if (reply === null) return null;
  const { Currency, TradePrice, DetailInfos } = reply.PriceInfo.Price;
  const details = DetailInfos?.DetailInfo ?? [];
  const hourly =
    details.length === 0 ? TradePrice : details.find(({ Resource }) => Resource === 'instanceType')?.TradePrice;
  const facts = {
    provider: CLOUD,
    sku,
    region,
    gpuModel: gpus.model,
    gpus: gpus.gpus,
    effectiveFrom: 0,
    source: PRICE_SOURCE,
  };
  return instancePrice({ ...facts, term: spot ? 'spot' : 'on-demand' }, hourly, Currency);
}

/** Change points of the spot price of a type within [since, now), by zone, page by page. @throws Failure */
async function* historyOf(
  client: AlibabaClient,
  { region, sku }: Sold,
  since: number,
  now: number,
): AsyncGenerator<z.output<typeof HISTORY>> {
  const from = Math.max(since, now - MOST_HISTORY_MS);
  if (from >= now) return;
  let offset: number | undefined = 0;
  while (offset !== undefined) {
    const params: Params = {
      RegionId: region,
      InstanceType: sku,
      NetworkType: 'vpc',
      StartTime: wireTime(from),
      EndTime: wireTime(now),
      Offset: offset,
    };
    const reply: z.output<typeof HISTORY> = await reading(CLOUD, HISTORY_PERMISSION, HISTORY, () =>
      client.call('ecs', 'DescribeSpotPriceHistory', region, params),
    );
    yield reply;
    offset = reply.NextOffset !== undefined && reply.NextOffset > offset ? reply.NextOffset : undefined;
  }
}

/** `2026-10-01T00:00:00Z`: the API knows no milliseconds. */
const wireTime = (instant: number): string => new Date(instant).toISOString().replace(/\.\d{3}Z$/, 'Z');

/**
 * Prices that hold from `since` on or were first seen since then. A type that a region refuses to price is left out.
 */
export const readPrices = (
  client: AlibabaClient,
  types: InstanceTypes,
  seen: SeenPrices,
  asked: Asked,
): AsyncGenerator<PriceEvent[]> =>
  eachType(client, types, asked, async function* (sold, since) {
    for (const spot of [false, true]) {
      const price = await priceNow(client, sold, spot);
      const dated = price === null ? null : seen.dated(price, asked.now);
      if (dated !== null && dated.effectiveFrom >= since) yield [{ kind: 'price', price: dated }];
    }
    for await (const page of historyOf(client, sold, since, asked.now)) yield spotEvents(page, sold, since);
  });

/** Not every region sells every type, or sells it as spot: the price query then refuses. */
async function unlessRefused(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CallError && error.meaning.kind === 'refused') return null;
    throw error;
  }
}

/** Spot prices differ by zone, so that the zone is the price's region, as in the histories that are imported. */
function spotEvents({ Currency, SpotPrices }: z.output<typeof HISTORY>, { gpus }: Sold, since: number): PriceEvent[] {
  return SpotPrices.SpotPriceType.flatMap(({ ZoneId, InstanceType, Timestamp, SpotPrice }): PriceEvent[] => {
    const effectiveFrom = Date.parse(Timestamp);
    const facts = {
      provider: CLOUD,
      sku: InstanceType,
      region: ZoneId,
      gpuModel: gpus.model,
      gpus: gpus.gpus,
      effectiveFrom,
      source: HISTORY_SOURCE,
    };
    const price = instancePrice({ ...facts, term: 'spot' }, SpotPrice, Currency);
    return price === null || !(effectiveFrom >= since) ? [] : [{ kind: 'price', price }];
  });
}

/** The spot price history as readings: what could be had is not stated, only the price. */
export const readSpotHistory = (
  client: AlibabaClient,
  types: InstanceTypes,
  asked: Asked,
): AsyncGenerator<SpotReading[]> =>
  eachType(client, types, asked, async function* (sold, since) {
    for await (const page of historyOf(client, sold, since, asked.now)) yield spotReadings(page, sold, since);
  });

function spotReadings(
  { Currency, SpotPrices }: z.output<typeof HISTORY>,
  { gpus }: Sold,
  since: number,
): SpotReading[] {
  return SpotPrices.SpotPriceType.flatMap(({ ZoneId, InstanceType, Timestamp, SpotPrice }): SpotReading[] => {
    const at = Date.parse(Timestamp);
    const price = decimalOf(SpotPrice);
    const nanos = price === null ? null : nanosOf(price);
    if (!(at >= since) || nanos === null || nanos <= 0n) return [];
    return [
      {
        provider: CLOUD,
        region: ZoneId,
        sku: InstanceType,
        gpuModel: gpus.model,
        at,
        available: null,
        price: { nanos, currency: Currency },
      },
    ];
  });
}
