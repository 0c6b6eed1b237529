/**
 * The places where a workload may run on spot: every zone, region and cloud that its policy names and that sells the
 * same machine, with what it costs there and what a move there sends; and of every other place the reason why it is
 * none.
 *
 * Unknown is a reason, never a number: a place without both prices or without recorded availability is no candidate,
 * and no move sends data of an unknown size or at an unknown price.
 */
import type { GpuOffer, PolicyView, SpotMarket, WorkloadView } from '../../core/policy/policy.js';
import { spotMarketAt } from '../../core/policy/spot-market.js';
import { providerName } from '../../core/price/price.js';
import { regionOfPlace, regionOfZone } from '../../core/price/zone.js';
import { cheapest, gpuHourNanos } from './money.js';
import { recordOf, spotSaving, type HourlySaving, type SpotPrices, type SpotRecord } from './spot.js';

/** GB (10^9 bytes) of a GiB. */
const GB_PER_GIB = 1.073741824;

export interface PlaceParams {
  /** `AWS`, `AWS/us-west-2`, `AWS/us-west-2a`. */
  readonly places: readonly string[];
  /** Prices of data between two regions, per GB in the view's currency. */
  readonly egress: readonly { readonly from: string; readonly to: string; readonly perGb: number }[];
  readonly historyDays: number;
}

/** Where a workload stands, or may go. */
export interface SpotPlace {
  readonly provider: string;
  /** As prices name it: a region or a zone. */
  readonly place: string;
  readonly region: string;
  readonly prices: SpotPrices;
  readonly market: SpotMarket;
  readonly record: SpotRecord;
}

export interface SpotPlaces {
  /** Null: too little is known of spot where it stands. */
  readonly here: SpotPlace | null;
  readonly others: readonly SpotPlace[];
  readonly refused: readonly { readonly name: string; readonly why: string }[];
  /** GB that a move to another region sends; null: unknown. */
  readonly sendsGb: number | null;
  /** Per GB in nanos; null: unknown. Of a region to itself 0. */
  readonly egressPerGb: (from: SpotPlace, to: SpotPlace) => number | null;
}

export const placeName = ({ provider, place }: Pick<SpotPlace, 'provider' | 'place'>): string => `${provider} ${place}`;
export const regionName = ({ provider, region }: Pick<SpotPlace, 'provider' | 'region'>): string =>
  `${provider}/${region}`;

/** The newest size that the job has reported, otherwise the stated one; null: neither is known. */
function checkpointGb({ job, metrics }: WorkloadView): number | null {
  const measured = metrics['checkpoint_gb']?.values.findLast((value) => value !== null) ?? null;
  return measured !== null && Number.isFinite(measured) && measured >= 0 ? measured : (job?.checkpointGb ?? null);
}

/** What a move to another region sends: its checkpoint, and the data that it reads. */
function sendsGb(one: WorkloadView): number | null {
  const [checkpoint, data] = [checkpointGb(one), one.job?.dataGb ?? null];
  return checkpoint === null || data === null ? null : checkpoint + data;
}

/** @param own both prices where it stands */
export function placesOf(view: PolicyView, one: WorkloadView, own: SpotPrices, given: PlaceParams): SpotPlaces {
  const hereName = one.zone ?? one.region;
  const sends = sendsGb(one);
  const egressPerGb = egressBook(view, one, given);
  const found = offersByPlace(view, own.offer, given, one);
  const refused: { name: string; why: string }[] = [];
  const able: SpotPlace[] = [];
  for (const { provider, place, offers } of found) {
    const made = placeOf(view, one, { provider, place, offers }, given);
    if (typeof made !== 'string') able.push(made);
    else if (provider !== one.provider || (place !== hereName && place !== one.region))
      refused.push({ name: placeName({ provider, place }), why: made });
  }
  const stands = (name: string | null): SpotPlace | undefined =>
    able.find(({ provider, place }) => provider === one.provider && place === name);
  const here = stands(hereName) ?? stands(one.region) ?? null;
  const others: SpotPlace[] = [];
  for (const place of able) {
    if (place === here || isRegionOfHere(place, one)) continue;
    const why = here === null ? null : whyNot(place, [here, ...others], sends, egressPerGb);
    if (why === null) others.push(place);
    else refused.push({ name: placeName(place), why });
  }
  return { here, others, refused, sendsGb: sends, egressPerGb };
}

/** The whole region stands for no place beside the zone in which it runs. */
const isRegionOfHere = ({ provider, place }: SpotPlace, { provider: own, region, zone }: WorkloadView): boolean =>
  zone !== undefined && provider === own && place === region;

/** Egress has to be known from every candidate to every other: where it has gone it may have to leave again. */
function whyNot(
  place: SpotPlace,
  others: readonly SpotPlace[],
  sends: number | null,
  perGb: SpotPlaces['egressPerGb'],
): string | null {
  for (const other of others) {
    if (regionName(other) === regionName(place)) continue;
    if (sends === null)
      return 'it is another region, and the size of its checkpoint or of its data, which would be sent, is unknown';
    if (sends === 0) continue;
    for (const [from, to] of [
      [other, place],
      [place, other],
    ] as const)
      if (perGb(from, to) === null) return `the price of data from ${regionName(from)} to ${regionName(to)} is unknown`;
  }
  return null;
}

interface Offered {
  readonly provider: string;
  readonly place: string;
  /** On spot and on demand, of the same machine. */
  readonly offers: readonly GpuOffer[];
}

function isNamed(names: readonly string[], provider: string, place: string): boolean {
  return names.some((name) => {
    const [cloud = '', where] = name.split('/');
    return (
      providerName(cloud) === provider &&
      (where === undefined || where === place || where === regionOfPlace(provider, place))
    );
  });
}

/** Places that sell machines of the same model and size, its own first. */
function offersByPlace(view: PolicyView, own: GpuOffer, { places }: PlaceParams, one: WorkloadView): Offered[] {
  const found = new Map<string, GpuOffer[]>();
  const isOwn = ({ provider, region }: GpuOffer): boolean =>
    provider === one.provider && (region === one.region || region === one.zone);
  for (const offer of view.offers) {
    const { provider, region, gpuModel, gpus } = offer;
    if (region === null || gpuModel !== own.gpuModel || gpus !== own.gpus) continue;
    if (!isOwn(offer) && !isNamed(places, provider, region)) continue;
    const name = JSON.stringify([provider, region]);
    found.set(name, [...(found.get(name) ?? []), offer]);
  }
  return [...found.entries()]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, offers]) => {
      const [provider = '', place = ''] = JSON.parse(name) as string[];
      // A region sells on demand in all its zones.
      const whole = regionOfZone(provider, place);
      const regional = whole === null ? [] : (found.get(JSON.stringify([provider, whole])) ?? []);
      return { provider, place, offers: [...offers, ...regional.filter(({ term }) => term === 'on-demand')] };
    });
}

function placeOf(
  view: PolicyView,
  { sku, provider: home }: WorkloadView,
  { provider, place, offers }: Offered,
  { historyDays }: PlaceParams,
): SpotPlace | string {
  const ofTerm = (term: GpuOffer['term']): GpuOffer[] => offers.filter((offer) => offer.term === term);
  // The same machine where its own cloud sells it there, otherwise the cheapest that is like it.
  const same = ofTerm('spot').filter((offer) => provider === home && offer.sku === sku);
  const spot = cheapest(same.length > 0 ? same : ofTerm('spot'));
  if (spot === null) return 'it has no price on spot';
  const onDemand = cheapest(ofTerm('on-demand').filter((offer) => offer.sku === spot.sku));
  if (onDemand === null) return 'it has no price on demand, to which it would fall back';
  const market = spotMarketAt(view.spotMarkets, { provider, region: place, gpuModel: spot.gpuModel });
  const record = recordOf(view, market, historyDays);
  if (market === null || record === null)
    return `the availability of spot there has not been recorded for ${historyDays} days`;
  const prices = { onDemand: gpuHourNanos(onDemand.rate), spot: gpuHourNanos(spot.rate), offer: spot };
  return { provider, place, region: regionOfPlace(provider, place), prices, market, record };
}

/** The stated price of a pair of regions, otherwise the price list's for data that leaves the machine's place. */
function egressBook(view: PolicyView, one: WorkloadView, { egress }: PlaceParams): SpotPlaces['egressPerGb'] {
  const named = (text: string): string => {
    const [cloud = '', ...rest] = text.split('/');
    return [providerName(cloud), ...rest].join('/');
  };
  const stated = new Map(egress.map(({ from, to, perGb }) => [`${named(from)} ${named(to)}`, perGb * 1e9]));
  return (from, to) => {
    const [source, destination] = [regionName(from), regionName(to)];
    if (source === destination) return 0;
    const pair = stated.get(`${source} ${destination}`);
    if (pair !== undefined) return pair;
    const sku = from.provider === one.provider ? one.sku : from.prices.offer.sku;
    const listed = (view.egress ?? []).filter((price) => price.provider === from.provider && price.sku === sku);
    // The region's own price goes before one without a region.
    const price = listed.find(({ region }) => region === from.region) ?? listed.find(({ region }) => region === null);
    return price === undefined ? null : Number(price.rate.nanos) / Number(price.rate.quantity) / GB_PER_GIB;
  };
}

/** Nanos that one GPU costs per hour on spot at a place, on demand there while it is gone, restarts included. */
export function hourlyCost({ prices, record }: SpotPlace, restartHours: number): HourlySaving {
  const { mean, low, high } = spotSaving(prices, record, restartHours);
  const { onDemand } = prices;
  return { mean: onDemand - mean, low: onDemand - high, high: onDemand - low };
}

/** Whether spot is to be had there now: the tick that runs where it was seen, otherwise the one before it. */
export const isThereNow = (place: Pick<SpotPlace, 'market'>, asOf: number): boolean => seenNow(place, asOf) === true;

/** The same; null: nobody read it in this tick or the one before. */
export function seenNow({ market }: Pick<SpotPlace, 'market'>, asOf: number): boolean | null {
  const now = Math.floor((asOf - market.from) / (market.tickSeconds * 1000));
  return market.available[now] ?? market.available[now - 1] ?? null;
}

/** Whether spot has been there for so many minutes. */
export function isStable({ market }: Pick<SpotPlace, 'market'>, asOf: number, minutes: number): boolean {
  const tickMs = market.tickSeconds * 1000;
  const now = Math.floor((asOf - market.from) / tickMs);
  const needed = Math.ceil((minutes * 60_000) / tickMs);
  return Array.from({ length: needed }, (_, n) => market.available[now - 1 - n] ?? null).every((tick) => tick === true);
}
