/**
 * Commitments on sale, as providers state them: reserved instances, and savings plans with their rates. Types only;
 * term.ts says what one costs per hour.
 */

/** A commitment on sale: a reserved instance, a savings plan. */
export interface CommitmentOffer {
  readonly offer: string;
  readonly kind: 'reserved-instance' | 'savings-plan';
  /** The reserved SKU; for a savings plan its family, null: any. */
  readonly sku: string | null;
  readonly region: string | null;
  readonly termHours: number;
  readonly upfront: 'none' | 'partial' | 'all';
  /** Per unit (instance, or one currency unit of hourly commitment): paid at once, and per hour. */
  readonly upfrontNanos: bigint;
  readonly hourlyNanos: bigint;
  readonly currency: string;
  /**
   * For a savings plan: its rates for the machines with GPUs that it covers; absent: unknown, and then it is compared
   * with nothing.
   */
  readonly rates?: readonly PlanRate[];
}

/** The part of a savings plan's hourly commitment that an hour of a machine uses, in the currency of the offer. */
export interface PlanRate {
  readonly sku: string;
  readonly region: string;
  readonly gpuModel: string | null;
  /** GPUs of one machine; thousandths are allowed. */
  readonly gpus: number;
  readonly hourlyNanos: bigint;
}
