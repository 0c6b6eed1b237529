/**
 * The laws of the savings ledger: nothing is counted twice, nothing is claimed beyond its counterfactual, and the order
 * of what arrives does not matter.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attribute, type HourSaving } from '../../src/core/saving/attribution.js';
import { calibrated, calibrationOf } from '../../src/core/policy/calibration.js';
import type { ActionFacts } from '../../src/core/saving/counterfactual.js';
import type { Price } from '../../src/core/price/price.js';
import { corrections, judged, type JudgedHour } from '../../src/core/saving/saving.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { instancePrice } from '../support/bursar.js';
import { HOUR, MONDAY } from '../support/records.js';
import { applied, contextWith, effectsOf, evidence, group, groupUsage, memberOf, PRICES } from '../support/savings.js';

const HOURS = 12;
const MOST = 8;

interface Step {
  at: number;
  kind: 'scale' | 'spot' | 'stop';
  replicas: number;
  ratio: number;
  takenBack: boolean;
}
interface World {
  actions: ActionFacts[];
  records: UsageRecord[];
}

const step = fc.record({
  at: fc.double({ min: 0.1, max: HOURS - 1, noNaN: true }),
  kind: fc.constantFrom('scale' as const, 'spot' as const, 'stop' as const),
  replicas: fc.integer({ min: 0, max: MOST }),
  ratio: fc.constantFrom(0, 0.5, 1),
  takenBack: fc.boolean(),
});
const scenario = fc.record({
  start: fc.integer({ min: 1, max: MOST }),
  steps: fc.array(step, { minLength: 1, maxLength: 5 }),
  used: fc.array(
    fc.oneof(
      { weight: 30, arbitrary: fc.integer({ min: 0, max: MOST - 1 }) },
      { weight: 1, arbitrary: fc.constant(MOST) },
    ),
    { minLength: HOURS, maxLength: HOURS },
  ),
});

/**
 * A group that actions change one after another, each with the group as it was just before; and what ran in the end,
 * which may be less or more.
 */
function worldOf({ start, steps, used }: { start: number; steps: Step[]; used: number[] }): World {
  let [replicas, spotRatio] = [start, 0];
  const actions: ActionFacts[] = [];
  const wanted = new Array<number>(HOURS).fill(start);
  for (const [no, one] of [...steps].sort((a, b) => a.at - b.at).entries()) {
    const before = group(replicas, { spotRatio, term: null });
    const effect =
      one.kind === 'scale'
        ? { kind: 'scale' as const, target: 'asg/train', replicas: one.replicas }
        : one.kind === 'spot'
          ? { kind: 'set-spot-ratio' as const, target: 'asg/train', spotRatio: one.ratio }
          : { kind: 'scale' as const, target: 'asg/train', replicas: 0 };
    if (effect.kind === 'scale') replicas = effect.replicas;
    else spotRatio = effect.spotRatio;
    const at = Math.floor(one.at * 3600) / 3600;
    wanted.fill(replicas, Math.ceil(at));
    actions.push(
      applied(`a${no}`, at, effect, before, one.takenBack ? { takenBackAt: MONDAY + at * HOUR + HOUR } : {}),
    );
  }
  // Seldom more than the actions left: that ends what they claim.
  const ran = used.map((count, hour) => (count === MOST ? MOST : Math.min(count, wanted[hour] ?? 0)));
  const records = [
    ...groupUsage(MOST, -2, 0),
    ...ran.flatMap((count, hour) => groupUsage(count, hour, hour + 1, { term: hour % 3 === 0 ? 'spot' : 'on-demand' })),
  ];
  return { actions, records };
}

const savingsOf = ({ actions, records }: World, prices: readonly Price[] = PRICES): HourSaving[] =>
  attribute(
    actions.map((one) => memberOf(one)),
    effectsOf(actions),
    evidence(records, HOURS),
    () => contextWith(prices),
    MONDAY + HOURS * HOUR,
  );

const byHour = (savings: readonly HourSaving[]): HourSaving[][] =>
  Array.from({ length: HOURS }, (_, hour) => savings.filter((one) => one.hour === MONDAY + hour * HOUR));
const saved = ({ counterfactual, actual }: HourSaving): bigint => counterfactual - actual;

/** Recounted by hand: machines x price, of one whole hour. */
const metered = (records: readonly UsageRecord[], hour: number): bigint =>
  records
    .filter(({ start }) => start === MONDAY + hour * HOUR)
    .reduce((sum, { term }) => sum + (term === 'spot' ? 20n : 80n) * 1_000_000_000n, 0n);

describe('savings of actions that overlap', () => {
  it('sum to the first counterfactual less the metered cost, to the nano, in every whole hour', () => {
    let overlaps = 0;
    fc.assert(
      fc.property(scenario, (given) => {
        const world = worldOf(given);
        const order = new Map(world.actions.map(({ action }, at) => [action.id, at]));
        for (const [hour, all] of byHour(savingsOf(world)).entries()) {
          const whole = all
            .filter(({ claimedMs }) => claimedMs === HOUR)
            .sort((a, b) => (order.get(a.action) ?? 0) - (order.get(b.action) ?? 0));
          const [first, last] = [whole[0], whole.at(-1)];
          if (first === undefined || last === undefined || whole.length < all.length) continue;
          if (whole.length > 1) overlaps += 1;
          expect(whole.reduce((sum, one) => sum + saved(one), 0n)).toBe(
            first.counterfactual - metered(world.records, hour),
          );
          expect(last.actual).toBe(metered(world.records, hour));
          whole.slice(1).forEach((one, at) => expect(one.counterfactual).toBe(whole[at]?.actual));
        }
      }),
      { numRuns: 1000 },
    );
    expect(overlaps).toBeGreaterThan(200);
  });

  it('never claim more than the counterfactual cost, which is never more than the meter had seen', () => {
    fc.assert(
      fc.property(scenario, (given) => {
        for (const one of savingsOf(worldOf(given))) {
          expect(one.actual >= 0n && saved(one) <= one.counterfactual).toBe(true);
          expect(one.counterfactual <= BigInt(MOST) * 80n * 1_000_000_000n).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });

  it('do not depend on the order in which actions and records are listed', () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const { actions, records } = worldOf(given);
        const plain = (savings: HourSaving[]) =>
          savings
            .map(
              ({ action, hour, reason, counterfactual, actual }) =>
                `${hour} ${action} ${reason} ${counterfactual} ${actual}`,
            )
            .sort();
        expect(plain(savingsOf({ actions: actions.toReversed(), records: records.toReversed() }))).toEqual(
          plain(savingsOf({ actions, records })),
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe('a price that is removed', () => {
  it('never raises what an hour claims: the hour stays as it was, or claims nothing', () => {
    let lost = 0;
    fc.assert(
      fc.property(scenario, fc.integer({ min: 0, max: 1 }), (given, which) => {
        const world = worldOf(given);
        const before = new Map(savingsOf(world).map((one) => [`${one.action} ${one.hour}`, one]));
        for (const one of savingsOf(
          world,
          PRICES.filter((_, at) => at !== which),
        )) {
          const old = before.get(`${one.action} ${one.hour}`);
          if (one.reason === null) expect(saved(one)).toBe(old === undefined ? null : saved(old));
          else {
            lost += 1;
            expect([one.counterfactual, one.actual, one.claimedMs]).toEqual([0n, 0n, 0]);
          }
        }
      }),
      { numRuns: 300 },
    );
    expect(lost).toBeGreaterThan(500);
  });
});

/** The ledger as the store keeps it: lines are only added, an hour is their sum. */
class Ledger {
  readonly lines: JudgedHour[] = [];

  hours(): JudgedHour[] {
    const sums = new Map<string, JudgedHour>();
    for (const line of this.lines) {
      const old = sums.get(`${line.action} ${line.hour}`);
      sums.set(
        `${line.action} ${line.hour}`,
        old === undefined
          ? line
          : {
              ...line,
              claimedMs: old.claimedMs + line.claimedMs,
              counterfactual: old.counterfactual + line.counterfactual,
              actual: old.actual + line.actual,
            },
      );
    }
    return [...sums.values()];
  }

  take(truth: readonly JudgedHour[]): number {
    const lines = corrections(truth, this.hours());
    this.lines.push(...lines);
    return lines.length;
  }
}

describe('the ledger', () => {
  const dearer = [instancePrice('100', { minimumSeconds: 0 }), ...PRICES.slice(1)];
  const truthOf = (world: World, prices: readonly Price[] = PRICES) =>
    savingsOf(world, prices).map((one) => judged(one, false, 'not-itemised'));

  it('equals a recount whatever came when: late actions and records, repetitions and other prices', () => {
    const arrival = fc.record({
      actions: fc.integer({ min: 0, max: 5 }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
      prices: fc.constantFrom(PRICES, dearer, PRICES.slice(1)),
    });
    fc.assert(
      fc.property(scenario, fc.array(arrival, { maxLength: 4 }), (given, arrivals) => {
        const world = worldOf(given);
        const ledger = new Ledger();
        for (const { actions, share, prices } of arrivals) {
          const records = world.records.filter((_, at) => (at * 7919) % 100 < share * 100);
          ledger.take(truthOf({ actions: world.actions.slice(0, actions), records }, prices));
        }
        const truth = truthOf(world);
        ledger.take(truth);
        expect(ledger.take(truth)).toBe(0);
        const kept = ledger.hours().filter(({ state }) => state !== 'withdrawn');
        const name = (one: JudgedHour) => `${one.action} ${one.hour}`;
        expect(new Map(kept.map((one) => [name(one), one]))).toEqual(new Map(truth.map((one) => [name(one), one])));
        for (const one of ledger.hours())
          if (one.state === 'withdrawn') expect([one.counterfactual, one.actual, one.claimedMs]).toEqual([0n, 0n, 0]);
      }),
      { numRuns: 150 },
    );
  });
});

describe('a calibration', () => {
  it('lies between the prior and the cases, and keeps an estimate in order', () => {
    const one = fc.record({
      predicted: fc.bigInt({ min: 1n, max: 10n ** 15n }),
      realised: fc.bigInt({ min: 0n, max: 10n ** 15n }),
    });
    fc.assert(
      fc.property(
        fc.array(one, { minLength: 1, maxLength: 30 }),
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        (cases, low, width) => {
          const found = calibrationOf(cases);
          if (found === null) throw new Error('there were cases');
          const mean =
            Number(cases.reduce((sum, { realised }) => sum + realised, 0n)) /
            Number(cases.reduce((sum, { predicted }) => sum + predicted, 0n));
          expect(found.ratio).toBeGreaterThanOrEqual(Math.min(1, mean, 2) - 1e-6);
          expect(found.ratio).toBeLessThanOrEqual(Math.max(1, mean) + 1e-6);
          expect(found.low <= found.ratio && found.ratio <= found.high).toBe(true);
          const after = calibrated({ low, mean: low + width / 2n, high: low + width }, found);
          expect(after.low <= after.mean && after.mean <= after.high && after.low >= 0n).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});
