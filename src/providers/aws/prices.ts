/**
 * On-demand and reserved prices of GPU instance types, from the Price List Query API (GetProducts).
 *
 * Linux on shared hardware, without further software, because Bursar prices the machine. The list contains valid prices
 * and no removals, so nothing is withdrawn here. The invariant: a zero or unreadable price is not a price. Source: AWS
 * Billing User Guide, "Using the AWS Price List Query API" and "Reading the service price list file".
 */
import { paginateGetProducts, type Filter } from '@aws-sdk/client-pricing';
import { z } from 'zod';
import { addDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import { rateOf, type Rate } from '../../core/money.js';
import type { Price, PriceEvent, Upfront } from '../../core/price/price.js';
import { amortisedRate } from '../../core/price/term.js';
import type { Term } from '../../core/usage.js';
import type { Clients } from './clients.js';
import { readingPages } from './failures.js';
import { PERMISSION as TYPE_PERMISSION, type InstanceTypes, type TypeGpus } from './gpus.js';

const PERMISSION = 'pricing:GetProducts';
export const PRICE_PERMISSIONS: readonly string[] = [TYPE_PERMISSION, PERMISSION];

/**
 * The fields that distinguish the plain machine from the other products of its type; a capacity block shares all but
 * `marketoption`.
 */
const PLAIN: Readonly<Record<string, string>> = {
  operatingSystem: 'Linux',
  tenancy: 'Shared',
  preInstalledSw: 'NA',
  capacitystatus: 'Used',
  marketoption: 'OnDemand',
};
const SOURCE = 'AWS Price List Query API';

const dimension = z.object({ unit: z.string(), pricePerUnit: z.record(z.string(), z.string()) });
const term = z.object({
  effectiveDate: z.string(),
  priceDimensions: z.record(z.string(), dimension),
  termAttributes: z
    .object({ LeaseContractLength: z.string(), OfferingClass: z.string(), PurchaseOption: z.string() })
    .partial()
    .optional(),
});
const listed = z.object({
  publicationDate: z.string().optional(),
  product: z.object({ attributes: z.object({ instanceType: z.string(), regionCode: z.string() }) }),
  terms: z.object({ OnDemand: z.record(z.string(), term), Reserved: z.record(z.string(), term) }).partial(),
});
type ListedTerm = z.infer<typeof term>;

/**
 * The prices that hold now, by region. What was published before `since` is passed over: it was listed then.
 * @param since epoch milliseconds
 * @throws Failure
 */
export const readPrices = (
  clients: Clients,
  types: InstanceTypes,
  since: number,
  partial?: PartialRead,
): AsyncGenerator<readonly PriceEvent[]> =>
  eachPart(clients.settings.regions, since, partial, (region, from) => pricesOf(clients, types, region, from));

async function* pricesOf(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  since: number,
): AsyncGenerator<readonly PriceEvent[]> {
  const gpus = await types.withGpus(region);
  // No filter names what has a GPU: the plain machines of a region are some ten pages, and the others are passed over
  // here.
  const filters = Object.entries({ ...PLAIN, regionCode: region }).map(
    ([Field, Value]): Filter => ({ Type: 'TERM_MATCH', Field, Value }),
  );
  const pages = paginateGetProducts(
    { client: clients.pricing() },
    { ServiceCode: 'AmazonEC2', FormatVersion: 'aws_v1', Filters: filters, MaxResults: 100 },
  );
  for await (const page of readingPages(PERMISSION, pages)) {
    const events = (page.PriceList ?? []).flatMap((text: unknown) => eventsOf(String(text), gpus, since));
    if (events.length > 0) yield events;
  }
}

/** Nothing for a product that is not of the form. */
function eventsOf(text: string, gpus: ReadonlyMap<string, TypeGpus>, since: number): PriceEvent[] {
  const product = listed.safeParse(parsed(text));
  if (!product.success) return [];
  const {
    publicationDate = '',
    product: { attributes },
    terms,
  } = product.data;
  const type = gpus.get(attributes.instanceType);
  if (
    type === undefined ||
    !Number.isSafeInteger(3600 * type.gpus) ||
    type.gpus <= 0 ||
    Date.parse(publicationDate) < since
  )
    return [];
  const machine = { sku: attributes.instanceType, region: attributes.regionCode, type };
  return [
    ...Object.values(terms.OnDemand ?? {}).flatMap((one) => onDemandPrice(machine, one) ?? []),
    ...Object.values(terms.Reserved ?? {}).flatMap((one) => reservedPrice(machine, one) ?? []),
  ];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

interface Machine {
  readonly sku: string;
  readonly region: string;
  readonly type: TypeGpus;
}

/** The parts of a term's price: per hour, and once. Null if one is in no known unit, or in several currencies. */
function partsOf({
  priceDimensions,
}: ListedTerm): { readonly hourly: Decimal; readonly once: Decimal; readonly currency: string } | null {
  let hourly = ZERO;
  let once = ZERO;
  const currencies = new Set<string>();
  for (const { unit, pricePerUnit } of Object.values(priceDimensions)) {
    for (const [currency, amount] of Object.entries(pricePerUnit)) {
      const price = parseDecimal(amount);
      if (price === null || (unit !== 'Hrs' && unit !== 'Quantity')) return null;
      if (unit === 'Hrs') hourly = addDecimal(hourly, price);
      else once = addDecimal(once, price);
      currencies.add(currency);
    }
  }
  const [currency] = currencies;
  return currency === undefined || currencies.size > 1 ? null : { hourly, once, currency };
}

function onDemandPrice(machine: Machine, one: ListedTerm): PriceEvent | null {
  const parts = partsOf(one);
  if (parts === null || parts.once.unscaled !== 0n || parts.hourly.unscaled <= 0n) return null;
  return priceOf(machine, one, {
    term: 'on-demand',
    upfront: 'none',
    rate: rateOf(parts.hourly, parts.currency, BigInt(3600 * machine.type.gpus), 'gpu-second'),
  });
}

const UPFRONT: Readonly<Record<string, Upfront>> = {
  'No Upfront': 'none',
  'Partial Upfront': 'partial',
  'All Upfront': 'all',
};
const LEASES: Readonly<Record<string, Term>> = { '1yr': 'reserved-1y', '3yr': 'reserved-3y' };

/** Convertible offers are other goods, with a SKU of their own. */
function reservedPrice(machine: Machine, one: ListedTerm): PriceEvent | null {
  const parts = partsOf(one);
  const { LeaseContractLength = '', OfferingClass, PurchaseOption = '' } = one.termAttributes ?? {};
  const lease = LEASES[LeaseContractLength];
  const upfront = UPFRONT[PurchaseOption];
  if (
    parts === null ||
    lease === undefined ||
    upfront === undefined ||
    (parts.once.unscaled <= 0n && parts.hourly.unscaled <= 0n)
  )
    return null;
  const sku = OfferingClass === 'convertible' ? `${machine.sku} (convertible)` : machine.sku;
  const rate = amortisedRate({
    term: lease,
    upfront: parts.once,
    hourly: parts.hourly,
    gpus: machine.type.gpus,
    currency: parts.currency,
  });
  return priceOf({ ...machine, sku }, one, { term: lease, upfront, rate });
}

interface Quoted {
  readonly term: Term;
  readonly upfront: Upfront;
  readonly rate: Rate;
}

function priceOf(
  { sku, region, type }: Machine,
  { effectiveDate }: ListedTerm,
  { term: name, upfront, rate }: Quoted,
): PriceEvent | null {
  const effectiveFrom = Date.parse(effectiveDate);
  if (Number.isNaN(effectiveFrom)) return null;
  const whole: Price = {
    provider: 'AWS',
    sku,
    region,
    term: name,
    upfront,
    component: 'gpu',
    gpuModel: type.model,
    gpus: type.gpus,
    rate,
    effectiveFrom,
    effectiveTo: null,
    // By the second, at least a minute (Amazon EC2 On-Demand Pricing, "Per-second billing").
    incrementSeconds: 1,
    minimumSeconds: 60,
    source: SOURCE,
  };
  return { kind: 'price', price: whole };
}
