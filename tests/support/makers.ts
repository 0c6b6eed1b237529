/** One of each of core's larger shapes, with what most tests mean by it; a test says what it means otherwise. */
import type { NewAction } from '../../src/store/action/actions.js';
import type { Budget } from '../../src/core/budget/budget.js';
import type { GpuSample } from '../../src/core/ports.js';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import type { PlacedSample } from '../../src/store/fleet/samples.js';
import type { ImportRequest } from '../../src/store/usage/intake.js';
import type { WorkloadFacts } from '../../src/store/workload/recorded-jobs.js';
import type { Price } from '../../src/core/price/price.js';
import type { QuoteRequest } from '../../src/core/quote/quote.js';
import { NOWHERE } from './records.js';

/** A budget of a team's month. */
export const monthBudget = (over: Pick<Budget, 'id' | 'planned'> & Partial<Budget>): Budget => ({
  team: 'red',
  period: 'month',
  zone: 'UTC',
  currency: 'USD',
  filters: {},
  includeCredits: true,
  thresholds: [],
  ...over,
});

/** The price of an instance of eight H100, on demand. */
export const gpuPrice = (over: Pick<Price, 'rate' | 'effectiveFrom'> & Partial<Price>): Price => ({
  provider: 'AWS',
  sku: 'p5.48xlarge',
  region: 'us-east-1',
  term: 'on-demand',
  upfront: 'none',
  component: 'gpu',
  gpuModel: 'H100',
  gpus: 8,
  effectiveTo: null,
  incrementSeconds: 1,
  minimumSeconds: 60,
  source: 'test',
  ...over,
});

/** A machine that runs. */
export const fleetTarget = (over: Partial<FleetTarget> = {}): FleetTarget => ({
  target: 'instance/i-1',
  kind: 'instance',
  name: 'i-1',
  provider: 'AWS',
  account: 'a1',
  region: 'us-east-1',
  sku: 'p5.48xlarge',
  gpuModel: 'H100',
  gpus: 8,
  term: 'on-demand',
  state: 'running',
  billing: 'billed',
  replicas: null,
  spotRatio: null,
  labels: {},
  launchedAt: null,
  revision: null,
  ...over,
});

/** A sample of one GPU, of which nothing is known that is not said. */
export const gpuSample = (over: Pick<GpuSample, 'resource' | 'gpu' | 'at'> & Partial<GpuSample>): GpuSample => ({
  migInstance: null,
  gpuModel: 'H100',
  namespace: null,
  pod: null,
  gpuUtilisationRatio: null,
  memoryUsedRatio: null,
  memoryUsedMib: null,
  temperatureCelsius: null,
  powerWatts: null,
  pcieReplays: null,
  requestsPerSecond: null,
  networkLatencySeconds: null,
  labels: {},
  ...over,
});

/** A sample of one GPU of a team, of which the fleet knows nothing. */
export const placedSample = (
  over: Pick<GpuSample, 'resource' | 'gpu' | 'at'> & Partial<PlacedSample>,
): PlacedSample => ({
  ...gpuSample(over),
  ...NOWHERE,
  team: 'lab',
  workload: null,
  workloadKind: null,
  isPartitioned: false,
  ...over,
});

/** An action that a person proposed, of no recommendation. */
export const proposedAction = (
  over: Pick<NewAction, 'target' | 'effect' | 'evidenceAt' | 'expiresAt'> & Partial<NewAction>,
): NewAction => ({
  team: 'lab',
  connection: 'cloud',
  mode: 'approve',
  recommendation: null,
  policy: null,
  document: null,
  subject: null,
  rollbackOf: null,
  underStop: false,
  proposedBy: 'test',
  ...over,
});

/** A training workload of one replica of eight H100. */
export const workloadFacts = (over: Partial<WorkloadFacts> = {}): WorkloadFacts => ({
  workload: 'train',
  kind: 'training',
  provider: 'AWS',
  region: 'us-east-1',
  sku: 'p5.48xlarge',
  gpuModel: 'H100',
  term: 'on-demand',
  gpusPerReplica: 8,
  interruptible: null,
  isProtected: null,
  fleet: { ready: 1, booting: 0, minReplicas: 1, maxReplicas: 1, changedAt: null },
  service: null,
  job: null,
  performance: [],
  ...over,
});

/** Eight H100 for some hours, on demand. */
export const quoteRequest = (over: Partial<QuoteRequest> = {}): QuoteRequest => ({
  provider: 'AWS',
  sku: 'p5.48xlarge',
  gpus: 8,
  hours: 10,
  term: 'on-demand',
  region: 'us-east-1',
  upfront: null,
  currency: null,
  ...over,
});

/** To stop an idle machine. */
export const recommendation = (
  over: Pick<Recommendation, 'id' | 'expiresAt'> & Partial<Recommendation>,
): Recommendation => ({
  team: 'research',
  policy: 'idle-stop',
  policyVersion: 1,
  document: 'idle',
  mode: 'approve',
  action: 'Stop',
  target: 'instance/i-1',
  title: 'Stop it',
  estimatedMonthlySavings: '10',
  estimatedMonthlySavingsLow: '5',
  estimatedMonthlySavingsHigh: '15',
  estimatedMonthlySavingsNanos: '10000000000',
  estimatedMonthlyCost: null,
  estimatedSavingsPercentage: null,
  currency: 'USD',
  protective: false,
  change: {},
  computation: {},
  evidence: [],
  insteadOf: [],
  risk: { interruption: 'Low', note: '' },
  restartNeeded: true,
  implementationEffort: 'Low',
  rollbackPossible: true,
  ...over,
});

/** An import of one file that takes all rows or none. */
export const importRequest = (over: Pick<ImportRequest, 'now' | 'teamOf'> & Partial<ImportRequest>): ImportRequest => ({
  organisation: 'default',
  source: 'default',
  strict: true,
  dryRun: false,
  by: 'test',
  rulesVersion: 0,
  trackedTags: [],
  ...over,
});
