/** A recorded history of a day, in which nothing was recorded but what a test names. */
import type { RecordedHistory } from '../../src/core/policy/history.js';
import { NO_PEAK } from '../../src/core/price/peak.js';
import { DAY_MS } from '../../src/core/time.js';
import { AS_OF } from '../../src/policies/estimating/examples.js';

export const recorded = (over: Partial<RecordedHistory> = {}): RecordedHistory => ({
  organisation: 'default',
  team: 'lab',
  currency: 'USD',
  from: AS_OF,
  to: AS_OF + DAY_MS,
  demand: [],
  resources: [],
  workloads: [],
  jobs: [],
  spotMarkets: [],
  leases: [],
  budgets: [],
  peak: NO_PEAK,
  offersAt: () => [],
  pricesAt: () => ({ onDemand: null, reserved: [] }),
  sizes: new Map(),
  ...over,
});
