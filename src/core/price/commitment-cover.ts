/**
 * Whether a commitment may cover a machine, as far as the data of both shows; only the bill decides which machine it
 * does cover.
 *
 * Pure. The invariant: missing data on either side rules nothing out. A savings plan covers machines of many kinds, a
 * commitment of GPUs those of its model, a reservation those of its own family if its size is flexible. Sources: Amazon
 * EC2 User Guide, "How Reserved Instance discounts are applied" (instance size flexibility, and the types without it);
 * Azure, "Virtual machine size flexibility with Reserved VM Instances"; ECS User Guide, "Reserved instances" (regional
 * ones match their family); Compute Engine, "Resource-based committed use discounts" (of a GPU model in a region).
 */
export interface Commitment {
  readonly provider: string | null;
  readonly sku: string | null;
  readonly region: string | null;
  readonly term: string | null;
  readonly gpuModel: string | null;
}

export interface CoveredMachine {
  readonly provider: string;
  readonly sku: string | null;
  readonly region: string | null;
  readonly gpuModel: string | null;
}

export function mayCover(one: Commitment, machine: CoveredMachine): boolean {
  if (one.provider !== machine.provider) return false;
  if (one.term?.startsWith('savings-plan') === true)
    // One family in one region, or any.
    return one.sku === null || one.sku.includes('.') || isInFamily(one, machine);
  const mayBe = (own: string | null, other: string | null): boolean => own === null || other === null || own === other;
  return (
    mayBe(one.region, machine.region) &&
    mayBe(familyOf(machine.provider, one.sku), familyOf(machine.provider, machine.sku)) &&
    isSameModel(one.gpuModel, machine.gpuModel)
  );
}

const isInFamily = (plan: Commitment, { sku, region }: CoveredMachine): boolean =>
  (plan.region === null || region === null || plan.region === region) &&
  (sku === null || sku.startsWith(`${plan.sku}.`));

/** `A100` may be an `A100-40GB`; an `A100-80GB` is none. */
function isSameModel(one: string | null, other: string | null): boolean {
  if (one === null || other === null || one === other) return true;
  return one.startsWith(`${other}-`) || other.startsWith(`${one}-`);
}

/** In these families a reservation covers only its own size. */
const FIXED_SIZES: ReadonlySet<string> = new Set(['g4ad', 'g4dn', 'g5', 'g5g']);

/** The sizes among which a reservation is flexible: `p3` of `p3.8xlarge`; the SKU itself where it is not. */
function familyOf(provider: string, sku: string | null): string | null {
  if (sku === null) return null;
  switch (provider) {
    case 'AWS': {
      const family = sku.split('.')[0] ?? sku;
      return FIXED_SIZES.has(family) ? sku : family;
    }
    case 'Microsoft':
      // NC#ads_A100_v4 of Standard_NC24ads_A100_v4.
      return sku.toLowerCase().replace(/^(?:standard_)?([a-z]+)\d+/, '$1#');
    case 'Alibaba Cloud':
      return /^ecs\.[a-z0-9]+/.exec(sku)?.[0] ?? sku;
    default:
      return sku;
  }
}
