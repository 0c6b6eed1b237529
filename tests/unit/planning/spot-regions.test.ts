/** Spot over many zones: the terms, what a tick costs, what a policy may do, and the optimum against every script. */
import { describe, expect, it } from 'vitest';
import { Failure } from '../../../src/core/errors.js';
import { regionsOptimum } from '../../../src/lab/spot-regions/optimum.js';
import { mulberry32 } from '../../../src/lab/random.js';
import {
  beliefAfter,
  CLASSES,
  endChances,
  evidenceOf,
  learnZones,
  UNREAD,
  type Readings,
} from '../../../src/planning/spot-regions/availability.js';
import { Futures, type Future } from '../../../src/planning/spot-regions/futures.js';
import {
  IDLE,
  ON_DEMAND,
  onDemandCost,
  regionsProblem,
  SPOT,
  type RegionsProblem,
  type RegionsTerms,
  type RegionsWindow,
} from '../../../src/planning/spot-regions/problem.js';
import { Rollout, type Rule, type Standing } from '../../../src/planning/spot-regions/rules.js';
import { nextPart, partOf, PARTS, seasonsOf } from '../../../src/planning/spot-regions/season.js';
import {
  keepsDeadline,
  simulateRegions,
  STAY_IDLE,
  type Place,
  type RegionsRun,
  type RegionsView,
} from '../../../src/planning/spot-regions/simulate.js';

const terms = (change: Partial<RegionsTerms> = {}): RegionsTerms => ({
  jobHours: 0.5,
  deadlineHours: 1,
  restartHours: 0.2,
  checkpointGb: 100,
  tickSeconds: 600,
  probeSeconds: 60,
  zones: [
    { name: 'a1', region: 'a', onDemandPrice: 60, egressPerGb: { b: 0.02 } },
    { name: 'b1', region: 'b', onDemandPrice: 36, egressPerGb: { a: 0.05 } },
  ],
  ...change,
});
const windowOf = (...zones: readonly (readonly [digits: string, ...prices: number[]])[]): RegionsWindow => ({
  available: zones.map(([digits]) => Uint8Array.from(digits, Number)),
  spotPerHour: zones.map(([digits, ...prices]) => Float64Array.from(digits, (_, t) => prices[t] ?? prices.at(-1)!)),
});

/** Plays places by tick; spot that is not held is launched. Null: the script asks for spot that is not there. */
function played(problem: RegionsProblem, window: RegionsWindow, script: readonly Place[]): RegionsRun | null {
  let possible = true;
  const decide = (view: RegionsView): Place => {
    const place = script[view.tick]!;
    const held = view.mode === place.mode && view.zone === place.zone;
    if (place.mode !== SPOT || held || view.tryLaunch(place.zone)) return place;
    possible = false;
    return STAY_IDLE;
  };
  const run = simulateRegions(problem, window, { name: 'script', start: () => decide });
  return possible ? run : null;
}
const spot = (zone: number): Place => ({ mode: SPOT, zone });
const onDemand = (zone: number): Place => ({ mode: ON_DEMAND, zone });

describe('the terms', () => {
  it('are refused with every problem at once', () => {
    const bad = terms({ jobHours: 0, restartHours: -1, checkpointGb: NaN, zones: [] });
    const refused = (): unknown => regionsProblem(bad);
    expect(refused).toThrow(Failure);
    try {
      refused();
    } catch (error) {
      const names = (error as Failure).problems.map((problem) => problem.path);
      expect(names).toEqual(['jobHours', 'restartHours', 'checkpointGb', 'zones']);
    }
  });

  it('need an egress price for every pair of regions: none is taken as free', () => {
    const [first, second] = terms().zones;
    const zones = [first!, { ...second!, egressPerGb: {} }];
    expect(() => regionsProblem(terms({ zones }))).toThrowError(
      expect.objectContaining({ problems: [{ path: 'b1', message: 'has no egress price from b to a' }] }) as Error,
    );
  });

  it('are refused where on-demand alone would be late', () => {
    expect(() => regionsProblem(terms({ jobHours: 0.9 }))).toThrow('cannot be promised');
  });
});

describe('a tick', () => {
  const problem = regionsProblem(terms());

  it('is paid at its own price, the restart without progress, the last to the second, and egress by its direction', () => {
    // 30 min of work, 12 of restart. Spot in b for two ticks (8 min of work), lost; on-demand in a: 12 + 22 min.
    const window = windowOf(['000000', 12], ['110000', 6, 12]);
    const script = [spot(1), spot(1), onDemand(0), onDemand(0), onDemand(0), onDemand(0)];
    const run = played(problem, window, script)!;
    expect(run).toMatchObject({ restarts: 2, moves: 1, attempts: 1, probes: 0, finished: true });
    expect(run.spot).toBeCloseTo(1 + 2, 12);
    expect(run.onDemandSpend).toBeCloseTo(34, 12);
    expect(run.egress).toBeCloseTo(5, 12);
    expect(run.cost).toBeCloseTo(3 + 34 + 5, 12);
  });

  it('charges a probe that succeeds, and nothing for one or a launch that fails', () => {
    const window = windowOf(['111111', 60], ['000000', 6]);
    const seen: boolean[] = [];
    const run = simulateRegions(problem, window, {
      name: 'asks',
      start: () => (view) => {
        if (view.tick === 0) seen.push(view.probe(0), view.probe(1), view.tryLaunch(1));
        return onDemand(1);
      },
    });
    expect(seen).toEqual([true, false, false]);
    expect(run).toMatchObject({ probes: 2, attempts: 1 });
    expect(run.spot).toBeCloseTo(1, 12);
    expect(run.onDemandSpend).toBeCloseTo(onDemandCost(problem), 12);
  });

  it.each([
    ['spot that was neither held nor launched', (): Place => spot(0)],
    [
      'something else than what was launched',
      (view: RegionsView): Place => (view.tryLaunch(0) ? STAY_IDLE : STAY_IDLE),
    ],
    ['a zone that is not there', (): Place => onDemand(7)],
    ['two launches', (view: RegionsView): Place => (view.tryLaunch(0) && view.tryLaunch(1) ? spot(1) : STAY_IDLE)],
  ])('stops at %s', (_, decide) => {
    const window = windowOf(['111111', 6], ['111111', 6]);
    expect(() => simulateRegions(problem, window, { name: 'cheat', start: () => decide })).toThrow('broken invariant');
  });

  it('keeps the deadline exactly as long as on-demand still finishes', () => {
    let last = -1;
    const run = simulateRegions(problem, windowOf(['000000', 6], ['000000', 6]), {
      name: 'late',
      start: () => (view) => {
        if (view.mode === IDLE && keepsDeadline(problem, view, STAY_IDLE)) return STAY_IDLE;
        if (last < 0) last = view.tick;
        return onDemand(1);
      },
    });
    // 42 of 60 minutes are needed: one tick may pass, not two.
    expect([last, run.finished]).toEqual([1, true]);
  });
});

describe('the optimum', () => {
  it('is the least of all scripts, on small cases with moving prices, long restarts and three zones', () => {
    const random = mulberry32(7);
    for (let n = 0; n < 12; n += 1) {
      const three = n % 3 === 0;
      const zones = [
        ...terms().zones,
        ...(three ? [{ name: 'a2', region: 'a', onDemandPrice: 50, egressPerGb: { b: 0.02 } }] : []),
      ];
      const problem = regionsProblem(
        terms({ zones, restartHours: [0.05, 0.2, 0.4][n % 3]!, jobHours: 0.4, checkpointGb: n, deadlineHours: 5 / 6 }),
      );
      const window: RegionsWindow = {
        available: zones.map(() => Uint8Array.from({ length: problem.ticks }, () => (random() < 0.6 ? 1 : 0))),
        spotPerHour: zones.map(() => Float64Array.from({ length: problem.ticks }, () => 3 + 20 * random())),
      };
      const places = [STAY_IDLE, ...zones.flatMap((_, zone) => [spot(zone), onDemand(zone)])];
      let least = Infinity;
      const script: Place[] = [];
      const extend = (): void => {
        if (script.length === problem.ticks) {
          const run = played(problem, window, script);
          if (run?.finished) least = Math.min(least, run.cost);
          return;
        }
        for (const place of places) {
          if (place.mode === SPOT && window.available[place.zone]![script.length] !== 1) continue;
          script.push(place);
          extend();
          script.pop();
        }
      };
      extend();
      expect(regionsOptimum(problem, window)).toBeCloseTo(least, 9);
    }
  });
});

describe('the model of availability', () => {
  const readings = (digits: string, every = 1): Readings => ({
    tickSeconds: 600,
    states: Uint8Array.from(digits, (digit, t) => (t % every === 0 ? Number(digit) : UNREAD)),
  });
  const meanChance = (past: Readings): number => {
    const [shares] = learnZones([{ region: 0, past }], []);
    const belief = beliefAfter(shares!, { tickSeconds: 600, states: new Uint8Array() });
    return belief.chance();
  };

  it('learns which zones have spot, from every reading and from one in twelve', () => {
    const [much, little] = ['1'.repeat(80) + '0'.repeat(4), '0'.repeat(80) + '1'.repeat(4)].map((one) => one.repeat(8));
    for (const every of [1, 12]) {
      const none = meanChance(readings(''));
      expect(meanChance(readings(much!, every))).toBeGreaterThan(none + 0.1);
      expect(meanChance(readings(little!, every))).toBeLessThan(none - 0.1);
    }
  });

  it('knows what it observed, forgets it with time, and expects old spells to last', () => {
    const [shares] = learnZones([{ region: 0, past: readings('') }], []);
    const [ends] = endChances(600);
    const lasting = (past: string): number => {
      const belief = beliefAfter(shares!, readings(past));
      belief.observe(1);
      return belief.weights.reduce((sum, weight, k) => sum + (k < CLASSES ? 0 : weight * (1 - ends![k]!)), 0);
    };
    expect(lasting('1'.repeat(60))).toBeGreaterThan(lasting('01') + 0.05);
    const belief = beliefAfter(shares!, readings('1'));
    belief.observe(0);
    expect(belief.chance()).toBe(0);
    const before = belief.chance();
    belief.advance();
    expect(belief.chance()).toBeGreaterThan(before);
    expect(belief.weights.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1, 12);
  });

  it('tells other zones of a long recording no more than a few spells, and nothing of one that is empty', () => {
    const told = evidenceOf(readings('10'.repeat(200)));
    expect(told.reduce((sum, count) => sum + count, 0)).toBeCloseTo(20, 9);
    expect(evidenceOf(readings('')).every((count) => count === 0)).toBe(true);
    const [without, having] = [[], [evidenceOf(readings('0'.repeat(500)))]].map(
      (others) => learnZones([{ region: 0, past: readings('') }], others)[0]!,
    );
    expect(beliefAfter(having!, readings('')).chance()).toBeLessThan(beliefAfter(without!, readings('')).chance());
  });

  it('leans a zone that was never read to its region', () => {
    const past = readings('0'.repeat(300));
    const shares = learnZones(
      [
        { region: 0, past },
        { region: 0, past: readings('') },
        { region: 1, past: readings('') },
      ],
      [],
    );
    const chances = shares.map((one) => beliefAfter(one, readings('')).chance());
    expect(chances[1]).toBeLessThan(chances[2]!);
  });
});

describe('the hours of the day', () => {
  const DAY = 144;
  const daily = (days: number): Readings => ({
    tickSeconds: 600,
    states: Uint8Array.from({ length: days * DAY }, (_, t) => (t % DAY < DAY / 2 ? 1 : 0)),
  });
  const unread: Readings = { tickSeconds: 600, states: new Uint8Array() };
  /** Share of the futures in which the zone has spot, by half of the second day. */
  const halves = (past: Readings): readonly number[] => {
    const [model] = learnZones([{ region: 0, past }], []);
    const futures = new Futures([0], 2 * DAY, 400, 600, mulberry32(7)).draw([beliefAfter(model!, past)], 0);
    return [DAY, DAY + DAY / 2].map((from) => {
      const there = futures.map(({ believed: [spells] }) => spells!.subarray(from, from + DAY / 2));
      return there.reduce((sum, part) => sum + part.filter((end) => end > 0).length, 0) / (400 * (DAY / 2));
    });
  };

  it('are in the futures where the past has them', () => {
    const [good, bad] = halves(daily(10));
    expect(good).toBeGreaterThan(bad! + 0.1);
    const [first, second] = halves(unread);
    expect(Math.abs(first! - second!)).toBeLessThan(0.05);
  });

  it('lean a zone that was never read to its region, and to no other', () => {
    const zones = [daily(6), unread, unread].map((past, zone) => ({ region: zone < 2 ? 0 : 1, past }));
    const [own, mate, far] = seasonsOf(zones);
    expect(own!.losses[3]).toBeGreaterThan(mate!.losses[3]!);
    expect(mate!.losses[3]).toBeGreaterThan(1.3);
    expect(own!.returns[PARTS - 1]).toBeGreaterThan(mate!.returns[PARTS - 1]!);
    expect(mate!.returns[PARTS - 1]).toBeGreaterThan(1.3);
    expect(mate!.losses[0]).toBeLessThan(1);
    expect([...far!.losses, ...far!.returns].every((ratio) => ratio === 1)).toBe(true);
  });

  it('are counted from the first tick, before it and after it, for any length of tick', () => {
    for (const seconds of [195, 300, 600]) {
      for (let tick = -500; tick < 500; tick += 1) {
        expect(partOf(tick, seconds)).toBe((Math.floor((tick * seconds) / 10_800) + 80) % PARTS);
        expect(partOf(nextPart(tick, seconds), seconds)).toBe((partOf(tick, seconds) + 1) % PARTS);
        expect(partOf(nextPart(tick, seconds) - 1, seconds)).toBe(partOf(tick, seconds));
      }
    }
  });
});

describe('a rule that is played out', () => {
  it('costs the same at one stroke as tick by tick', () => {
    const problem = regionsProblem(terms({ jobHours: 20, deadlineHours: 24 }));
    const rollout = new Rollout({
      problem,
      spotPrice: Float64Array.of(0.004, 0.003),
      onDemandPrice: Float64Array.of(0.02, 0.015),
    });
    const random = mulberry32(3);
    const [model] = learnZones([{ region: 0, past: { tickSeconds: 600, states: new Uint8Array() } }], []);
    const belief = beliefAfter(model!, { tickSeconds: 600, states: new Uint8Array() });
    const futures = new Futures([0, 1], problem.ticks, 60, 600, random).draw([belief, belief], 0);
    const now: Standing = {
      mode: IDLE,
      zone: -1,
      restartLeft: 0,
      workLeft: problem.jobUnits,
      timeLeft: problem.ticks * problem.tickUnits,
      region: -1,
    };
    /** The same states, of which no spell is known to last beyond its tick. */
    const blind = ({ believed }: Future): Int32Array[] =>
      believed.map((spells) => spells.map((end, t) => Math.sign(end) * (t + 1)));
    for (const future of futures)
      for (const pace of [0, 0.5, 1, 2, Infinity])
        for (const better of [
          [[], []],
          [[1], []],
        ]) {
          const rule: Rule = { pace, order: [1], late: [1, 0], better, onDemandFrom: [0, 1, 1] };
          const stroke = rollout.cost(now, STAY_IDLE, rule, future.believed);
          expect(stroke).toBeCloseTo(rollout.cost(now, STAY_IDLE, rule, blind(future)), 6);
          expect(stroke).toBeLessThan(Infinity);
        }
  });
});
