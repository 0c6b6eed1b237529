/**
 * Small makers of actions, targets and prices for tests of the ledger. 8 GPUs of p5 cost $80/h on demand and $20/h on
 * spot: round numbers to compute by hand.
 */
import { counterfactualOf, type ActionFacts } from '../../src/core/saving/counterfactual.js';
import type { AppliedEffect, ChainEvidence, Member } from '../../src/core/saving/attribution.js';
import type { CostContext } from '../../src/core/cost/cost.js';
import type { Effect, FleetTarget } from '../../src/core/fleet/fleet.js';
import { FxTable } from '../../src/core/price/fx.js';
import { NO_PEAK } from '../../src/core/price/peak.js';
import { applyPriceEvents, NO_PRICES, PriceBook } from '../../src/core/price/price-book.js';
import type { Price } from '../../src/core/price/price.js';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { instancePrice } from './bursar.js';
import { HOUR, metered, MONDAY } from './records.js';
import { fleetTarget } from './makers.js';

export const PRICES: readonly Price[] = [
  instancePrice('80', { minimumSeconds: 0 }),
  instancePrice('20', { minimumSeconds: 0, term: 'spot' }),
  instancePrice('8', { minimumSeconds: 0, sku: 'g5.xlarge', gpus: 1, gpuModel: 'A10G' }),
];

export function contextWith(prices: readonly Price[] = PRICES, over: Partial<CostContext> = {}): CostContext {
  const history = applyPriceEvents(
    NO_PRICES,
    prices.map((price) => ({ kind: 'price', price })),
  );
  return { book: new PriceBook(history), peak: NO_PEAK, currency: 'USD', fx: new FxTable('USD', []), ...over };
}

export const group = (desired: number, over: Partial<FleetTarget> = {}): FleetTarget =>
  fleetTarget({
    target: 'asg/train',
    kind: 'group',
    name: 'train',
    replicas: { desired, ready: desired, min: 0, max: 50 },
    ...over,
  });

export const machine = (over: Partial<FleetTarget> = {}): FleetTarget => ({
  ...group(1),
  target: 'instance/i-1',
  kind: 'instance',
  name: 'i-1',
  replicas: null,
  ...over,
});

/** An action that was applied (and confirmed at once) so many hours after Monday. */
export function applied(
  id: string,
  hours: number,
  effect: Effect,
  before: FleetTarget | null,
  over: Partial<ActionFacts> = {},
): ActionFacts {
  const at = MONDAY + hours * HOUR;
  return {
    action: {
      id,
      team: 'red',
      connection: 'aws',
      target: effect.target,
      effect,
      rollbackOf: null,
      recommendation: null,
      policy: 'idle-stop',
    },
    before,
    appliedAt: at,
    confirmedAt: at,
    takenBackAt: null,
    recommended: null,
    ...over,
  };
}

export const memberOf = (facts: ActionFacts, currency = 'USD'): Member => ({
  counterfactual: counterfactualOf(facts, currency),
  confirmedAt: facts.confirmedAt,
  takenBackAt: facts.takenBackAt,
});

export const effectsOf = (all: readonly ActionFacts[]): AppliedEffect[] =>
  all.map(({ action: { id, target, effect }, appliedAt }) => ({ action: id, target, effect, appliedAt }));

/** One record per hour and replica of a group, from one hour after Monday to another. */
export function groupUsage(replicas: number, from: number, to: number, over: Partial<UsageRecord> = {}): UsageRecord[] {
  return Array.from({ length: to - from }, (_, at) => from + at).flatMap((hour) =>
    Array.from({ length: replicas }, (_, n) =>
      metered(`${over.term ?? 'on-demand'}-${hour}-${n}-${over.resource ?? ''}`, {
        resource: `i-${n}`,
        tags: { 'aws:autoscaling:groupName': 'train' },
        gpuParts: 8 * GPU_PARTS,
        start: MONDAY + hour * HOUR,
        end: MONDAY + (hour + 1) * HOUR,
        ...over,
      }),
    ),
  );
}

/**
 * What was metered, with an account that reported something in every hour from two days before Monday to `hours` after
 * it.
 */
export function evidence(records: readonly UsageRecord[], hours: number): ChainEvidence {
  const heard = Array.from({ length: hours + 49 }, (_, at) => MONDAY + (at - 48) * HOUR);
  return { metered: records.map((record) => ({ record, line: `default/${record.id}` })), meteredHours: new Set(heard) };
}
