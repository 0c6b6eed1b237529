/** What the API answers about the fleet, as far as the dashboard reads it (tests/types/answers.ts). */

/** A target of the fleet with what it costs, how its GPUs fare, and what is done about it. */
export interface FleetDetail {
  readonly target: {
    readonly connection: string;
    readonly team: string;
    readonly target: string;
    readonly kind: string;
    readonly name: string;
    readonly region: string | null;
    readonly sku: string | null;
    readonly gpuModel: string | null;
    readonly state: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly knownAs: readonly string[];
    readonly missed: number;
  };
  readonly gpus: number | null;
  readonly utilisationRatio: number | null;
  readonly memoryUsedRatio: number | null;
  readonly evidence: { readonly minutes: number; readonly newestAt: string; readonly ageSeconds: number } | null;
  readonly hourlyCost: string | null;
  readonly unused: { readonly low: string; readonly high: string } | null;
  readonly currency: string;
  readonly because: string | null;
  readonly recommendation: {
    readonly id: string;
    readonly title: string;
    readonly action: string;
    readonly estimatedMonthlySavingsLow: string | null;
    readonly estimatedMonthlySavingsHigh: string | null;
    readonly currency: string;
  } | null;
  readonly lastAction: {
    readonly id: string;
    readonly effect: string;
    readonly state: string;
    readonly proposedAt: string;
  } | null;
}

export interface FleetDetails {
  readonly asOf: string;
  readonly windowHours: number;
  readonly items: readonly FleetDetail[];
  readonly more: boolean;
}
