/**
 * The data of the policies' examples: a small team at one time, with prices. All of it is invented.
 */
import type { GpuOffer, MinuteSeries, PolicyView, WorkloadView } from '../../core/policy/policy.js';
import { viewOf } from '../../core/policy/policy.js';
import type { HealthFinding } from '../../core/fleet/health.js';
import type { TakenMeasurement } from '../../core/workload/measurement.js';
import type { Rate } from '../../core/money.js';
import type { Budget } from '../../core/budget/budget.js';
import { DAY_MS, formatInstant, MINUTE_MS, periodOf } from '../../core/time.js';
import type { Term } from '../../core/usage.js';

/** 2026-11-01T00:00:00Z, a Sunday. */
export const AS_OF = 1_793_491_200_000;

/** A price per GPU-hour in thousandths of a dollar. */
export const rate = (milliDollars: number): Rate => ({
  nanos: BigInt(milliDollars) * 1_000_000n,
  currency: 'USD',
  quantity: 3600n,
  unit: 'gpu-second',
});

export function offer(gpuModel: string, term: Term, milliDollars: number, over: Partial<GpuOffer> = {}): GpuOffer {
  return {
    provider: 'AWS',
    sku: `example.${gpuModel.toLowerCase()}`,
    region: 'us-east-1',
    gpuModel,
    term,
    gpus: 1,
    rate: rate(milliDollars),
    source: 'example',
    ...over,
  };
}

/** On-demand and spot prices of three models. */
export const OFFERS: readonly GpuOffer[] = [
  offer('A100-80GB', 'on-demand', 4000),
  offer('A100-80GB', 'spot', 1500),
  offer('V100-16GB', 'on-demand', 3000),
  offer('V100-16GB', 'spot', 1000),
  offer('T4', 'on-demand', 500),
  offer('T4', 'spot', 200),
];

/** An on-demand workload of which only the place and the names are known. */
export function workload(name: string, over: Partial<WorkloadView> = {}): WorkloadView {
  return {
    workload: name,
    kind: 'inference',
    provider: 'AWS',
    region: 'us-east-1',
    sku: 'example.a100-80gb',
    gpuModel: 'A100-80GB',
    term: 'on-demand',
    gpusPerReplica: 1,
    interruptible: null,
    isProtected: null,
    fleet: null,
    service: null,
    job: null,
    metrics: {},
    performance: [],
    ...over,
  };
}

/** So many samples a minute of the model `classifier` on one GPU, a day ago. */
export const measurement = (gpu: string, perMinute: number): TakenMeasurement => ({
  id: gpu,
  team: 'research',
  model: 'classifier',
  gpu,
  gpuCount: 1,
  batch: 32,
  samplesPerSecond: perMinute / 60,
  family: null,
  params: null,
  size: null,
  optimizer: null,
  precision: null,
  nodes: null,
  peakMemoryGib: null,
  measuredAt: AS_OF - DAY_MS,
});

/** A series whose last minute ends at the examples' instant. */
export const minutes = (values: readonly (number | null)[]): MinuteSeries => ({
  from: AS_OF - values.length * MINUTE_MS,
  values,
});

/** Ten minutes of one value that is of so many GPUs. */
export const ofGpus = (value: number, gpus: number): MinuteSeries => ({
  ...minutes(steady(value, 10)),
  measuredGpus: steady(gpus, 10),
});

export const steady = (value: number, count: number): number[] => new Array<number>(count).fill(value);

export const exampleView = (over: Partial<PolicyView> = {}): PolicyView =>
  viewOf({ team: 'research', asOf: AS_OF, currency: 'USD', offers: OFFERS, ...over });

/**
 * A monthly budget of so many dollars of which some are spent, without a forecast, as of the example's instant;
 * `months` puts its period before or after. Null: not planned.
 */
export function budgetAt(planned: number | null, spent: number, months = 0): PolicyView['budgets'][number] {
  const budget: Budget = {
    id: 'b',
    team: 'research',
    period: 'month',
    zone: 'UTC',
    currency: 'USD',
    filters: {},
    planned: { default: planned === null ? null : String(planned), periods: {} },
    includeCredits: false,
    thresholds: [],
  };
  const period = periodOf('month', AS_OF + months * 28 * DAY_MS, 'UTC');
  const nanos = (dollars: number): bigint => BigInt(dollars) * 1_000_000_000n;
  return {
    budget,
    state: {
      budget: 'b',
      period,
      currency: 'USD',
      status: planned === null ? 'not-planned' : 'planned',
      planned: planned === null ? null : nanos(planned),
      spent: nanos(spent),
      credits: 0n,
      committed: 0n,
      forecast: null,
      burnRatePerDay: null,
      exhaustionAt: null,
      exhaustionDay: null,
      unpricedQuantity: 0n,
      ratio: null,
    },
  };
}

/** A card of a resource that its exporter no longer names, half a minute before the examples' instant. */
export const goneCard = (resource: string, workloadName: string): HealthFinding => ({
  rule: 'gone',
  severity: 'fatal',
  resource,
  gpu: 'GPU-example',
  migInstance: null,
  team: 'research',
  workload: workloadName,
  title: 'gone: its exporter answers and no longer names it',
  numbers: { missingSeconds: 15 },
  evidence: {
    what: 'answers of the exporter without the card',
    from: formatInstant(AS_OF - 30_000),
    to: formatInstant(AS_OF - 15_000),
    ageSeconds: 15,
  },
});
