/**
 * The rates of savings plans for machines with GPUs: plain Linux on shared hardware, as in the price list (prices.ts).
 *
 * Never buys. The invariant: a rate is listed as AWS states it, under its offering; a rate that is not exact is left
 * out. Source: Savings Plans API Reference, DescribeSavingsPlansOfferingRates and SavingsPlanOfferingRate.
 */
import { DescribeSavingsPlansOfferingRatesCommand, type SavingsPlanOfferingRate } from '@aws-sdk/client-savingsplans';
import { parseDecimal } from '../../core/decimal.js';
import { Failure } from '../../core/errors.js';
import type { PartialRead } from '../../core/partial-read.js';
import { nanosOf } from '../../core/money.js';
import type { PlanRate } from '../../core/price/commitment-offer.js';
import type { Clients } from './clients.js';
import { reading } from './failures.js';
import type { TypeGpus } from './gpus.js';

export const PLAN_RATE_PERMISSION = 'savingsplans:DescribeSavingsPlansOfferingRates';

/** GPU types by region. */
export type GpuTypes = ReadonlyMap<string, ReadonlyMap<string, TypeGpus>>;

/**
 * Rates by the id of their offering. Empty where the permission is missing: plans are then on sale without a price to
 * compare, which `bursar doctor` tells. One that is read in part may lack what makes a plan comparable: none is taken.
 * @throws Failure
 */
export async function readPlanRates(
  clients: Clients,
  types: GpuTypes,
  partial?: PartialRead,
): Promise<ReadonlyMap<string, readonly PlanRate[]>> {
  const found = new Map<string, PlanRate[]>();
  try {
    for (const [region, known] of types) {
      const families = [...new Set([...known.keys()].map(familyOf))];
      if (families.length === 0) continue;
      for await (const page of pages(clients, region, families)) {
        for (const one of page) {
          const rate = rateFrom(one, types);
          const id = one.savingsPlanOffering?.offeringId;
          if (rate !== null && id !== undefined) found.set(id, [...(found.get(id) ?? []), rate]);
        }
      }
    }
    return found;
  } catch (error) {
    if (!(error instanceof Failure) || (partial === undefined && error.kind !== 'denied')) throw error;
    partial?.lacks('rates of savings plans', error.message);
    return new Map();
  }
}

/** `p4d` of `p4d.24xlarge`. */
export const familyOf = (type: string): string => type.slice(0, type.lastIndexOf('.'));

async function* pages(
  clients: Clients,
  region: string,
  families: readonly string[],
): AsyncGenerator<readonly SavingsPlanOfferingRate[]> {
  let nextToken: string | undefined;
  do {
    const command = new DescribeSavingsPlansOfferingRatesCommand({
      savingsPlanTypes: ['Compute', 'EC2Instance'],
      products: ['EC2'],
      serviceCodes: ['AmazonEC2'],
      nextToken,
      filters: [
        { name: 'region', values: [region] },
        { name: 'instanceFamily', values: [...families] },
      ],
    });
    const page = await reading(PLAN_RATE_PERMISSION, () => clients.savingsPlans().send(command));
    yield page.searchResults ?? [];
    nextToken = page.nextToken;
  } while (nextToken !== undefined && nextToken !== '');
}

/**
 * Null for what is not the plain machine (other systems, dedicated hosts, reserved capacity that stands empty:
 * `UnusedBox`), or has no GPU.
 */
function rateFrom(
  { rate, unit, usageType = '', savingsPlanOffering, properties = [] }: SavingsPlanOfferingRate,
  types: GpuTypes,
): PlanRate | null {
  const property = (name: string): string | undefined => properties.find((one) => one.name === name)?.value;
  const [region, sku] = [property('region'), property('instanceType')];
  const isPlain =
    property('productDescription') === 'Linux/UNIX' &&
    property('tenancy')?.toLowerCase() === 'shared' &&
    /(^|-)BoxUsage:/.test(usageType);
  const type = region === undefined || sku === undefined ? undefined : types.get(region)?.get(sku);
  const amount = rate === undefined ? null : parseDecimal(rate);
  const hourlyNanos = amount === null ? null : nanosOf(amount);
  if (
    !isPlain ||
    unit !== 'Hrs' ||
    region === undefined ||
    sku === undefined ||
    type === undefined ||
    hourlyNanos === null ||
    hourlyNanos <= 0n ||
    savingsPlanOffering === undefined
  )
    return null;
  return { sku, region, gpuModel: type.model, gpus: type.gpus, hourlyNanos };
}
