/**
 * Retail prices of GPU sizes, on demand, as spot and reserved, and commitments on sale, from Azure's public list.
 *
 * Linux, so that only the machine is priced; in the region's own meters. They are public prices; the prices of an
 * agreement come with the bill. The invariant: an inexact price is not a price, and a reservation is stated for its
 * whole term (although the list writes `1 Hour` there). Source: learn.microsoft.com, "Azure Retail Prices overview"
 * (2023-01-01-preview, with savings plans): values of the filter are case-sensitive; Spot and Low Priority stand in
 * skuName; a page has at most 1,000 entries and names the next.
 */
import { z } from 'zod';
import { ZERO, type Decimal } from '../../core/decimal.js';
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import { nanosOf, NANOS_PER_UNIT } from '../../core/money.js';
import type { CommitmentOffer, PlanRate } from '../../core/price/commitment-offer.js';
import type { Price, PriceEvent } from '../../core/price/price.js';
import { amortisedRate, termHours } from '../../core/price/term.js';
import type { Term } from '../../core/usage.js';
import { decimalOf, instancePrice, orNull, reading } from '../rpc.js';
import { CLOUD, type AzureClient } from './client.js';
import { PROVIDER } from './machines.js';
import type { Size, Sizes } from './sizes.js';

const API_VERSION = '2023-01-01-preview';
const SOURCE = 'Azure Retail Prices API';
/** Sizes in one question: the filter is part of the address, which has to stay short. */
const MOST_SIZES = 15;
const MOST_PAGES = 50;

const text = z.string().nullish();
const amount = z.number().nullish();
/** Fields of an entry that are read: tests/contract/azure-model.test.ts holds them against the page. */
export const ITEM = z.object({
  currencyCode: text,
  retailPrice: amount,
  armRegionName: text,
  effectiveStartDate: text,
  productName: text,
  skuName: text,
  serviceName: text,
  unitOfMeasure: text,
  type: text,
  isPrimaryMeterRegion: z.boolean().nullish(),
  armSkuName: text,
  reservationTerm: text,
  tierMinimumUnits: amount,
  savingsPlan: z.array(z.object({ retailPrice: amount, term: text })).nullish(),
});
type Item = z.output<typeof ITEM>;
const PAGE = z.object({ Items: z.array(ITEM), NextPageLink: text });

/** An entry of the list with what its size has. */
interface Quoted {
  readonly item: Item;
  readonly size: Size & { readonly gpus: number };
  readonly region: string;
  readonly term: Term;
}

/** The list's entries for the GPU sizes of each region. */
const quotes = (client: AzureClient, sizes: Sizes, partial?: PartialRead): AsyncGenerator<Quoted[]> =>
  eachPart(client.settings.regions, 0, partial, (region) => quotesOf(client, sizes, region));

async function* quotesOf(client: AzureClient, sizes: Sizes, region: string): AsyncGenerator<Quoted[]> {
  const priced = [...(await sizes.ofAny(region)).values()].filter(hasGpus);
  for (let at = 0; at < priced.length; at += MOST_SIZES) {
    const some = priced.slice(at, at + MOST_SIZES);
    const names = some.map(({ name }) => `armSkuName eq '${name}'`).join(' or ');
    const filter = `serviceName eq 'Virtual Machines' and armRegionName eq '${region}' and (${names})`;
    const query = { 'api-version': API_VERSION, currencyCode: `'${client.settings.currency}'`, $filter: filter };
    const byName = new Map(some.map((size) => [size.name, size]));
    for await (const page of pagesOf(client, query)) {
      yield page.flatMap((item): Quoted[] => {
        const size = byName.get(item.armSkuName ?? '');
        const term = termOf(item);
        return size === undefined || term === null || !isPlain(item, region) ? [] : [{ item, size, region, term }];
      });
    }
  }
}

const hasGpus = (size: Size): size is Size & { gpus: number } =>
  size.gpus !== null && size.gpus > 0 && Number.isSafeInteger(Math.round(3600 * size.gpus));

async function* pagesOf(client: AzureClient, query: Readonly<Record<string, string>>): AsyncGenerator<Item[]> {
  let link: string | null = null;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const asked: string | null = link;
    const reply: z.output<typeof PAGE> = await reading(CLOUD, 'the retail prices', PAGE, () =>
      client.prices(query, asked),
    );
    yield reply.Items;
    link = orNull(reply.NextPageLink);
    if (link === null) return;
  }
}

/** The machine itself, in the region's own meter: not Windows, not the older cloud services, from the first unit on. */
function isPlain(
  { productName, armRegionName, isPrimaryMeterRegion, tierMinimumUnits }: Item,
  region: string,
): boolean {
  return (
    armRegionName === region &&
    isPrimaryMeterRegion !== false &&
    (tierMinimumUnits ?? 0) === 0 &&
    !/windows|cloud ?services/i.test(productName ?? '')
  );
}

const YEARS: Readonly<Record<string, Term>> = { '1 Year': 'reserved-1y', '3 Years': 'reserved-3y' };

/** Null: another kind of price (development and test, low priority of batch pools, five years). */
function termOf({ type, skuName, reservationTerm, unitOfMeasure }: Item): Term | null {
  if (unitOfMeasure !== '1 Hour') return null;
  if (type === 'Reservation') return YEARS[reservationTerm ?? ''] ?? null;
  if (type !== 'Consumption' || /low priority/i.test(skuName ?? '')) return null;
  return /\bspot\b/i.test(skuName ?? '') ? 'spot' : 'on-demand';
}

/**
 * The prices that hold now. The list says what holds, not what was dropped: nothing is withdrawn here.
 * @throws Failure
 */
export async function* readPrices(
  client: AzureClient,
  sizes: Sizes,
  since: number,
  now: number,
  partial?: PartialRead,
): AsyncGenerator<readonly PriceEvent[]> {
  if (since > now) return;
  for await (const page of quotes(client, sizes, partial)) {
    const events = page.flatMap((quoted): PriceEvent[] => {
      const price = priceOf(quoted);
      return price === null ? [] : [{ kind: 'price', price }];
    });
    if (events.length > 0) yield events;
  }
}

function priceOf({ item, size, region, term }: Quoted): Price | null {
  const effectiveFrom = Date.parse(item.effectiveStartDate ?? '');
  const currency = item.currencyCode ?? '';
  const stated = decimalOf(item.retailPrice);
  if (Number.isNaN(effectiveFrom) || currency === '' || stated === null || stated.unscaled <= 0n) return null;
  const facts = {
    provider: PROVIDER,
    sku: size.name,
    region,
    term,
    gpuModel: size.model,
    gpus: size.gpus,
    effectiveFrom,
    source: SOURCE,
  };
  const price = instancePrice(facts, item.retailPrice, currency);
  if (price === null || termHours(term) === null) return price;
  if (!Number.isSafeInteger(size.gpus)) return null;
  // Paid at once or by the month: the total is the same ("Save costs with Azure Reservations").
  const rate = amortisedRate({ term, upfront: stated, hourly: ZERO, gpus: size.gpus, currency });
  return { ...price, upfront: 'all', rate };
}

/** Reservations of GPU sizes, and the savings plans for compute with what they charge for them. @throws Failure */
export async function readOffers(client: AzureClient, sizes: Sizes, partial?: PartialRead): Promise<CommitmentOffer[]> {
  const offers: CommitmentOffer[] = [];
  const rates: Record<string, PlanRate[]> = { '1 Year': [], '3 Years': [] };
  let currency = client.settings.currency;
  for await (const page of quotes(client, sizes, partial)) {
    for (const quoted of page) {
      const { item, size, region, term } = quoted;
      currency = item.currencyCode ?? currency;
      const offer = reservedOffer(quoted);
      if (offer !== null) offers.push(offer);
      for (const { retailPrice, term: years } of term === 'on-demand' ? (item.savingsPlan ?? []) : []) {
        const hourlyNanos = nanosAbove(decimalOf(retailPrice));
        if (hourlyNanos !== null)
          rates[years ?? '']?.push({ sku: size.name, region, gpuModel: size.model, gpus: size.gpus, hourlyNanos });
      }
    }
  }
  return [...offers, ...planOffers(rates, currency)];
}

const nanosAbove = (price: Decimal | null): bigint | null => {
  const nanos = price === null ? null : nanosOf(price);
  return nanos === null || nanos <= 0n ? null : nanos;
};

function reservedOffer({ item, size, region, term }: Quoted): CommitmentOffer | null {
  const hours = item.type === 'Reservation' ? termHours(term) : null;
  const upfrontNanos = nanosAbove(decimalOf(item.retailPrice));
  if (hours === null || upfrontNanos === null || (item.currencyCode ?? '') === '') return null;
  return {
    offer: `reservation/${region}/${size.name}/${term}`,
    kind: 'reserved-instance',
    sku: size.name,
    region,
    termHours: hours,
    upfront: 'all',
    upfrontNanos,
    hourlyNanos: 0n,
    currency: item.currencyCode ?? '',
  };
}

/** One unit is one currency unit of commitment per hour, for any size in any region. */
function planOffers(rates: Readonly<Record<string, PlanRate[]>>, currency: string): CommitmentOffer[] {
  return Object.entries(rates).flatMap(([years, own]): CommitmentOffer[] => {
    const term: Term = years === '1 Year' ? 'savings-plan-1y' : 'savings-plan-3y';
    if (own.length === 0) return [];
    return [
      {
        offer: `savings-plan/${term}`,
        kind: 'savings-plan',
        sku: null,
        region: null,
        termHours: termHours(term) ?? 0,
        upfront: 'none',
        upfrontNanos: 0n,
        hourlyNanos: NANOS_PER_UNIT,
        currency,
        rates: own,
      },
    ];
  });
}
