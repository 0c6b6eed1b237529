/**
 * Commitments on sale: regional reserved instances of GPU types, and savings plans that cover them, with their rates
 * (plan-rates.ts).
 *
 * Never buys. The invariant: an offer is listed at AWS' stated price; an offer without an exact price is left out.
 * Sources: Amazon EC2 API Reference, ReservedInstancesOffering; Savings Plans API Reference, SavingsPlanOffering and
 * CreateSavingsPlan.
 */
import {
  paginateDescribeReservedInstancesOfferings,
  type DescribeReservedInstancesOfferingsCommandInput,
  type ReservedInstancesOffering,
} from '@aws-sdk/client-ec2';
import {
  DescribeSavingsPlansOfferingsCommand,
  type DescribeSavingsPlansOfferingsCommandInput,
  type SavingsPlanOffering,
} from '@aws-sdk/client-savingsplans';
import { addDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import { eachPart, type PartialRead } from '../../core/partial-read.js';
import { nanosOf, NANOS_PER_UNIT } from '../../core/money.js';
import type { CommitmentOffer } from '../../core/price/commitment-offer.js';
import type { Clients } from './clients.js';
import { reading, readingPages } from './failures.js';
import { PERMISSION as TYPE_PERMISSION, type InstanceTypes, type TypeGpus } from './gpus.js';
import { familyOf, PLAN_RATE_PERMISSION, readPlanRates } from './plan-rates.js';
import { reservedOffer, savingsPlanOffer } from './targets.js';

export const RESERVED_PERMISSION = 'ec2:DescribeReservedInstancesOfferings';
export const SAVINGS_PLAN_PERMISSION = 'savingsplans:DescribeSavingsPlansOfferings';
export const OFFER_PERMISSIONS: readonly string[] = [
  TYPE_PERMISSION,
  RESERVED_PERMISSION,
  SAVINGS_PLAN_PERMISSION,
  PLAN_RATE_PERMISSION,
];

const SECONDS_PER_HOUR = 3600;
/** Values of one filter (Amazon EC2 API Reference, "Filtering"). */
const MOST_FILTER_VALUES = 200;

/** Reserved instances by region, and savings plans. @throws Failure */
export async function readOffers(
  clients: Clients,
  types: InstanceTypes,
  partial?: PartialRead,
): Promise<readonly CommitmentOffer[]> {
  const offers: CommitmentOffer[] = [];
  const byRegion = new Map<string, ReadonlyMap<string, TypeGpus>>();
  const parts = [...clients.settings.regions, PLANS];
  const found = eachPart(parts, 0, partial, (part) =>
    part === PLANS ? planOffers(clients, byRegion, partial) : regionOffers(clients, types, part, byRegion),
  );
  for await (const some of found) offers.push(...some);
  return offers;
}

const PLANS = 'savings plans';

async function* regionOffers(
  clients: Clients,
  types: InstanceTypes,
  region: string,
  byRegion: Map<string, ReadonlyMap<string, TypeGpus>>,
): AsyncGenerator<readonly CommitmentOffer[]> {
  byRegion.set(region, await types.withGpus(region));
  const names = [...(byRegion.get(region)?.keys() ?? [])];
  for (let at = 0; at < names.length; at += MOST_FILTER_VALUES)
    yield await reservedOffers(clients, region, names.slice(at, at + MOST_FILTER_VALUES));
}

/** Plans that cover a type of the regions that could be read. */
async function* planOffers(
  clients: Clients,
  byRegion: ReadonlyMap<string, ReadonlyMap<string, TypeGpus>>,
  partial?: PartialRead,
): AsyncGenerator<readonly CommitmentOffer[]> {
  const families = new Set([...byRegion.values()].flatMap((known) => [...known.keys()].map(familyOf)));
  const rates = await readPlanRates(clients, byRegion, partial);
  const plans = await savingsPlans(clients, { planTypes: ['Compute', 'EC2Instance'], productType: 'EC2' });
  yield plans.flatMap((plan): CommitmentOffer[] => {
    const offer = planAsOffer(plan);
    const covers =
      offer !== null &&
      (offer.sku === null || (families.has(offer.sku) && clients.settings.regions.includes(offer.region ?? '')));
    const own = rates.get(plan.offeringId ?? '');
    return covers ? [own === undefined ? offer : { ...offer, rates: own }] : [];
  });
}

async function reservedOffers(clients: Clients, region: string, types: string[]): Promise<CommitmentOffer[]> {
  const filters = {
    'instance-type': types,
    'product-description': ['Linux/UNIX'],
    scope: ['Region'],
    marketplace: ['false'],
  };
  const found = await reservedOfferings(clients, region, {
    IncludeMarketplace: false,
    MaxResults: 100,
    Filters: Object.entries(filters).map(([Name, Values]) => ({ Name, Values })),
  });
  return found.flatMap((offering) => reservedAsOffer(offering, region)?.offer ?? []);
}

async function reservedOfferings(
  clients: Clients,
  region: string,
  request: DescribeReservedInstancesOfferingsCommandInput,
): Promise<ReservedInstancesOffering[]> {
  const found: ReservedInstancesOffering[] = [];
  for await (const page of readingPages(
    RESERVED_PERMISSION,
    paginateDescribeReservedInstancesOfferings({ client: clients.ec2(region) }, request),
  )) {
    found.push(...(page.ReservedInstancesOfferings ?? []));
  }
  return found;
}

async function savingsPlans(
  clients: Clients,
  request: DescribeSavingsPlansOfferingsCommandInput,
): Promise<SavingsPlanOffering[]> {
  const found: SavingsPlanOffering[] = [];
  let nextToken: string | undefined;
  do {
    const command = new DescribeSavingsPlansOfferingsCommand({ ...request, nextToken });
    const page = await reading(SAVINGS_PLAN_PERMISSION, () => clients.savingsPlans().send(command));
    found.push(...(page.searchResults ?? []));
    nextToken = page.nextToken;
  } while (nextToken !== undefined && nextToken !== '');
  return found;
}

const UPFRONT: Readonly<Record<string, CommitmentOffer['upfront']>> = {
  'No Upfront': 'none',
  'Partial Upfront': 'partial',
  'All Upfront': 'all',
};

export interface ReservedFound {
  readonly offer: CommitmentOffer;
  readonly marketplace: boolean;
  /** Paid at once for one instance, as AWS states it. */
  readonly fixedPrice: number;
  readonly type: string;
  readonly seconds: number;
  readonly offeringType: string;
}

/**
 * Null if a part of the price is missing or cannot be read. Convertible offers are other goods and have a SKU of their
 * own.
 */
function reservedAsOffer(offering: ReservedInstancesOffering, region: string): ReservedFound | null {
  const {
    ReservedInstancesOfferingId: id,
    InstanceType: type,
    Duration: seconds,
    OfferingType: offeringType,
    CurrencyCode = 'USD',
  } = offering;
  const upfront = UPFRONT[offeringType ?? ''];
  const fixed = decimalOf(offering.FixedPrice);
  const hourly = (offering.RecurringCharges ?? []).map(({ Amount, Frequency }) =>
    Frequency === 'Hourly' ? decimalOf(Amount) : null,
  );
  const perHour = [decimalOf(offering.UsagePrice ?? 0), ...hourly].reduce<Decimal | null>(
    (sum, part) => (sum === null || part === null ? null : addDecimal(sum, part)),
    ZERO,
  );
  const upfrontNanos = fixed === null ? null : nanosOf(fixed);
  const hourlyNanos = perHour === null ? null : nanosOf(perHour);
  if (
    id === undefined ||
    type === undefined ||
    seconds === undefined ||
    offeringType === undefined ||
    upfront === undefined
  )
    return null;
  const termHours = hoursOf(seconds);
  if (termHours === null || upfrontNanos === null || hourlyNanos === null || upfrontNanos + hourlyNanos === 0n)
    return null;
  return {
    offer: {
      offer: reservedOffer(region, id),
      kind: 'reserved-instance',
      region,
      termHours,
      upfront,
      upfrontNanos,
      hourlyNanos,
      sku: offering.OfferingClass === 'convertible' ? `${type} (convertible)` : type,
      currency: CurrencyCode,
    },
    marketplace: offering.Marketplace ?? false,
    fixedPrice: offering.FixedPrice ?? 0,
    type,
    seconds,
    offeringType,
  };
}

const hoursOf = (seconds: number): number | null =>
  seconds % SECONDS_PER_HOUR === 0 ? seconds / SECONDS_PER_HOUR : null;

/** The digits that AWS wrote: they survive the SDK's number, whose shortest form they are. */
const decimalOf = (value: number | undefined): Decimal | null =>
  value === undefined ? null : parseDecimal(String(value));

/**
 * One unit is one currency unit of commitment per hour. Paid wholly at once it is the hours of the term; partly, half
 * of them (what AWS takes where no amount is named).
 */
function planAsOffer(plan: SavingsPlanOffering): CommitmentOffer | null {
  const { offeringId, durationSeconds, currency } = plan;
  const upfront = UPFRONT[plan.paymentOption ?? ''];
  if (offeringId === undefined || durationSeconds === undefined || upfront === undefined || currency === undefined)
    return null;
  const termHours = hoursOf(durationSeconds);
  if (termHours === null) return null;
  const property = (name: string): string | null => plan.properties?.find((one) => one.name === name)?.value ?? null;
  const share = { none: 0n, partial: NANOS_PER_UNIT / 2n, all: NANOS_PER_UNIT }[upfront];
  return {
    offer: savingsPlanOffer(offeringId),
    kind: 'savings-plan',
    sku: property('instanceFamily'),
    region: property('region'),
    termHours,
    upfront,
    upfrontNanos: share * BigInt(termHours),
    hourlyNanos: NANOS_PER_UNIT - share,
    currency,
  };
}

/** A reserved-instance offer as it is now; null if it is no longer on sale. @throws Failure */
export async function readReservedOffer(clients: Clients, region: string, id: string): Promise<ReservedFound | null> {
  const [found] = await reservedOfferings(clients, region, { ReservedInstancesOfferingIds: [id] });
  return found === undefined ? null : reservedAsOffer(found, region);
}

/** A savings plan's offer as it is now; null if it is no longer on sale. @throws Failure */
export async function readSavingsPlanOffer(clients: Clients, id: string): Promise<CommitmentOffer | null> {
  const [found] = await savingsPlans(clients, { offeringIds: [id] });
  return found === undefined ? null : planAsOffer(found);
}
