/**
 * Commitments on sale, as providers state them: reserved instances, and savings plans with their rates. Types only;
 * term.ts says what one costs per hour.
 */

/** A commitment on sale: a reserved instance, a savings plan. */
export interface CommitmentOffer {
  readonly offer: string;
  readonly kind: 'reserved-instance' | 'savings-plan';
  /** What is reserved; of a savings plan the family that it is for, null: any. */
  readonly sku: string | null;
  readonly region: string | null;
  readonly termHours: number;
  readonly upfront: 'none' | 'partial' | 'all';
  /** Per unit (instance, or one currency unit of hourly commitment): paid at once, and per hour. */
  readonly upfrontNanos: bigint;
  readonly hourlyNanos: bigint;
  readonly currency: string;
  /**
   * Of a savings plan: what it charges for the machines with GPUs that it covers; absent: not known, and then it is
   * compared with nothing.
   */
  readonly rates?: readonly PlanRate[];
}

/** What an hour of a machine takes up of a savings plan's hourly commitment, in the currency of the offer. */
export interface PlanRate {
  readonly sku: string;
  readonly region: string;
  readonly gpuModel: string | null;
  /** Of one machine; thousandths are allowed. */
  readonly gpus: number;
  readonly hourlyNanos: bigint;
}
