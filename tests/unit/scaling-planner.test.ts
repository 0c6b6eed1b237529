import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LoadForecaster } from '../../src/planning/scaling/forecast.js';
import {
  bursarPolicies,
  DEFAULT_RISK,
  planReplicas,
  RISK_SETTINGS,
  riskName,
} from '../../src/planning/scaling/planner.js';
import { mulberry32 } from '../../src/lab/random.js';
import { addShortfall, normalTail } from '../../src/planning/scaling/normal.js';
import { RegimeFilter } from '../../src/planning/scaling/regimes.js';
import { Mixture, MIXTURE_SETTINGS } from '../../src/planning/scaling/mixture.js';
import { Rehearsal } from '../../src/planning/scaling/rehearsal.js';
import { hpa } from '../../src/planning/scaling/opponents.js';
import { seededSeries, SERIES_DEFAULTS } from '../../src/lab/scaling/series.js';
import { simulate, startingReplicas, type FleetLimits } from '../../src/planning/scaling/simulate.js';

const limits: FleetLimits = { bootMinutes: 4, minReplicas: 1, maxReplicas: 30, cooldownMinutes: 0 };
const series = (seed: number, minutes: number): Float64Array =>
  seededSeries({ ...SERIES_DEFAULTS, minutes, base: 100, burstsPerDay: 30, seed }).map((count) => count / 10);
const settings = { ...limits, risk: DEFAULT_RISK, capacityPerReplica: 10 };

function decisions(load: Float64Array): number[][] {
  return bursarPolicies(load, limits, startingReplicas(load, limits), RISK_SETTINGS).map((policy) => [
    ...simulate(load, limits, policy).replicas,
  ]);
}

describe('the scaling planner', () => {
  it('decides from the past alone: another future leaves every past decision as it was', () => {
    const load = series(1, 300);
    const other = load.slice();
    other.set(load.subarray(180).slice().reverse(), 180);
    other[181] = 29;
    const [mine, theirs] = [decisions(load), decisions(other)];
    mine.forEach((replicas, i) =>
      expect(replicas.slice(0, 181), riskName(RISK_SETTINGS[i]!)).toEqual(theirs[i]!.slice(0, 181)),
    );
    expect(mine).not.toEqual(theirs);
  });

  it('decides live what it decided in the backtest', () => {
    const load = series(2, 200);
    const [policy] = bursarPolicies(load, limits, startingReplicas(load, limits), [DEFAULT_RISK]);
    const run = simulate(load, limits, policy!);
    for (const minute of [1, 7, 60, 199]) {
      const plan = planReplicas(
        load.subarray(0, minute).map((value) => value * 10),
        { ready: run.replicas[minute - 1]!, booting: 0 },
        settings,
      );
      expect(plan.replicas).toBe(run.replicas[minute]!);
    }
  });

  it('takes over from an HPA: holds what that would, until another rule has been clearly cheaper', () => {
    const calm = { ...SERIES_DEFAULTS, minutes: 4320, base: 100, burstsPerDay: 0, seed: 2 };
    const load = seededSeries(calm).map((count) => count / 10);
    const [policy] = bursarPolicies(load, limits, startingReplicas(load, limits), [
      { ...DEFAULT_RISK, takesOver: 0.5 },
    ]);
    const own = simulate(load, limits, policy!);
    const theirs = simulate(load, limits, hpa({ target: 0.5 }));
    const left = own.replicas.findIndex((replicas, minute) => replicas !== theirs.replicas[minute]);
    expect(left).toBeGreaterThan(30);
    const bill = ({ replicaMinutes, unserved }: typeof own): number => replicaMinutes + DEFAULT_RISK.price * unserved;
    expect(bill(own)).toBeLessThan(bill(theirs));
  });

  it('shows the numbers behind a plan: a steady load of 8 replicas', () => {
    const plan = planReplicas(
      new Float64Array(240).fill(80),
      { ready: 8, booting: 2 },
      { ...settings, risk: { price: 20, reserve: 0 } },
    );
    expect(plan).toMatchObject({ current: 10, historyMinutes: 240, leadMinutes: 5, price: 20 });
    expect(plan.expectedLoad).toBeGreaterThan(7.8);
    expect(plan.expectedLoad).toBeLessThan(8.4);
    expect(plan.calmLoad).toBeCloseTo(8, 6);
    expect(plan.replicas).toBeGreaterThanOrEqual(8);
    expect(plan.replicas).toBeLessThanOrEqual(10);
    expect(plan.expectedUnservedShare).toBeLessThan(0.02);
  });

  it('lets hardly a replica go for a quiet minute where the load jumps: it could not be had back within a boot', () => {
    let minutesWithout = 0;
    for (let seed = 1; seed <= 8; seed++) {
      // Three minutes of nothing, then the load is 12 or 0, as a coin falls.
      const random = mulberry32(seed);
      const load = Float64Array.from({ length: 60 }, (_, minute) => (minute >= 3 && random() < 0.5 ? 12 : 0));
      const [policy] = bursarPolicies(load, limits, 1, [{ price: 20, reserve: 0 }]);
      const held = simulate(load, limits, policy!).replicas.subarray(load.indexOf(12) + 5);
      expect(Math.max(...held), `seed ${seed}`).toBeLessThanOrEqual(14);
      minutesWithout += held.filter((replicas) => replicas < 12).length;
    }
    expect(minutesWithout).toBeLessThanOrEqual(2);
  });

  it('keeps the fleet when nothing was observed', () => {
    expect(planReplicas([], { ready: 5, booting: 1 }, settings).replicas).toBe(6);
  });

  it('names every value that is not usable', () => {
    const call = (): unknown =>
      planReplicas(
        [1, Number.NaN, -1],
        { ready: 1.5, booting: 0 },
        { ...settings, capacityPerReplica: 0, risk: { price: 1, reserve: 0 } },
      );
    expect(call).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        problems: expect.arrayContaining(
          ['history/1', 'history/2', 'ready', 'capacityPerReplica', 'risk/price'].map((path) =>
            expect.objectContaining({ path }),
          ),
        ),
      }),
    );
  });

  it('takes more risk at a lower price', () => {
    const load = series(3, 600);
    const lost = bursarPolicies(
      load,
      limits,
      startingReplicas(load, limits),
      [1.2, 5, 80].map((price) => ({ price, reserve: 0 })),
    ).map((policy) => simulate(load, limits, policy).unserved);
    expect(lost[0]).toBeGreaterThan(lost[1]!);
    expect(lost[1]).toBeGreaterThan(lost[2]!);
  });
});

describe('the forecaster', () => {
  it('learns the wave of a day better than the last minutes tell it', () => {
    const load = seededSeries({
      ...SERIES_DEFAULTS,
      minutes: 4 * 1440,
      burstsPerDay: 0,
      drift: 0,
      base: 3000,
      seed: 5,
    }).map((count) => count / 100);
    const forecaster = new LoadForecaster(10);
    let mine = 0;
    let naive = 0;
    for (let minute = 0; minute + 10 < load.length; minute++) {
      if (minute > 0) {
        forecaster.observe(load[minute - 1]!);
        const { root } = forecaster.predict();
        if (minute > 2 * 1440) {
          mine += (root * root - load[minute + 10]!) ** 2;
          naive += (load[minute - 1]! - load[minute + 10]!) ** 2;
        }
      }
    }
    expect(mine).toBeLessThan(0.6 * naive);
  });
});

describe('the normal distribution', () => {
  it('has the tail of the tables', () => {
    for (const [z, tail] of [
      [0, 0.5],
      [1, 0.158655],
      [-1, 0.841345],
      [2.326348, 0.01],
      [4, 0.0000316712],
    ] as const)
      expect(normalTail(z)).toBeCloseTo(tail, 6);
  });

  it('gives the load beyond k replicas as a sum over its quantiles does', () => {
    const shortfall = new Float64Array(12);
    addShortfall(shortfall, 0.5, 2, 0.4);
    for (const k of [0, 2, 4, 5, 8]) {
      let sum = 0;
      const steps = 20_000;
      for (let i = 0; i < steps; i++) {
        const z = -8 + (16 * (i + 0.5)) / steps;
        const load = Math.max(0, 2 + 0.4 * z) ** 2;
        sum += (Math.max(0, load - k) * Math.exp((-z * z) / 2) * 16) / steps / Math.sqrt(2 * Math.PI);
      }
      expect(shortfall[k], `beyond ${k}`).toBeCloseTo(0.5 * sum, 4);
    }
  });
});

describe('the filter of surges', () => {
  const calm = { root: 3, deviation: 0.15 };
  /** Calm of nine replicas, and every four hours twenty minutes of twenty-five. */
  const surging = (minute: number): number => (minute % 240 >= 220 ? 25 : 9) + 0.3 * Math.sin(minute * 1.7);

  it('takes a surge out of the load, and knows at its second minute how high it is', () => {
    const filter = new RegimeFilter();
    for (let minute = 0; minute < 220; minute++)
      expect(filter.observe(surging(minute))).toBeCloseTo(surging(minute), 0);
    filter.observe(surging(220));
    expect(filter.observe(surging(221))).toBeLessThan(10);
    expect(filter.present(calm)).toBeGreaterThan(4.8);
    for (let minute = 222; minute < 243; minute++) filter.observe(surging(minute));
    expect(filter.present(calm)).toBe(3);
  });

  it('learns that surges come: more load is expected beyond the calm than where none came', () => {
    const [seen, none] = [new RegimeFilter(), new RegimeFilter()];
    for (let minute = 0; minute < 2160; minute++) {
      seen.observe(surging(minute));
      none.observe(9 + 0.3 * Math.sin(minute * 1.7));
    }
    const [with_, without] = [seen, none].map((filter) => filter.shortfall(calm, 5, 40));
    expect(with_![15]).toBeGreaterThan(3 * without![15]!);
    expect(with_![30]).toBeLessThan(with_![15]! / 3);
  });

  it('expects the surge to go on while it lasts, and less of it the later', () => {
    const filter = new RegimeFilter();
    for (let minute = 0; minute < 2150; minute++) filter.observe(surging(minute));
    expect(surging(2149)).toBeGreaterThan(20);
    const soon = filter.shortfall(calm, 1, 40);
    const late = filter.shortfall(calm, 15, 40);
    expect(soon[0]).toBeGreaterThan(late[0]!);
    expect(late[0]).toBeGreaterThan(9);
    expect(soon[0]).toBeLessThan(27);
  });

  it('takes a new level for the calm at last, down at once and up within days', () => {
    const filter = new RegimeFilter();
    for (let minute = 0; minute < 300; minute++) filter.observe(9);
    for (let minute = 0; minute < 4; minute++) filter.observe(2);
    expect(filter.observe(2)).toBeCloseTo(2, 1);
    for (let minute = 0; minute < 4320; minute++) filter.observe(9);
    expect(filter.observe(9)).toBeCloseTo(9, 1);
  });

  it('takes no load under the calm for a surge: one that falls by three tenths is the calm within a quarter of an hour', () => {
    const filter = new RegimeFilter();
    const noise = mulberry32(1);
    const around = (load: number): number => load + 1.6 * (noise() - 0.5);
    for (let minute = 0; minute < 1440; minute++) filter.observe(around(5));
    for (let minute = 0; minute < 15; minute++) filter.observe(around(3.5));
    for (let minute = 0; minute < 60; minute++) {
      const load = around(3.5);
      expect(filter.observe(load), `minute ${minute}`).toBeCloseTo(load, 1);
    }
  });
});

describe('the rehearsal', () => {
  const flat = { calmRoot: 2, calmDeviation: 0.1, presentRoot: 2, recentBeyond: new Float64Array(31) };

  it('bills an imagined fleet for what boots and for what it cannot serve', () => {
    const rehearsal = new Rehearsal({ bootMinutes: 2, minReplicas: 1, maxReplicas: 30, cooldownMinutes: 0 }, 4);
    rehearsal.settle(6);
    expect([rehearsal.paid[0], rehearsal.lost[0]]).toEqual([4, 2]);
    rehearsal.decide({ ...flat, presentRoot: 3 });
    // The first rule: one and a half deviations below a root of 3, which is 8.1 replicas.
    expect(rehearsal.wanted[0]).toBe(9);
    rehearsal.settle(6);
    expect([rehearsal.paid[0], rehearsal.lost[0]]).toEqual([13, 4]);
  });

  it('holds the highest wish for at least five minutes in one of the two ways', () => {
    const rehearsal = new Rehearsal({ bootMinutes: 1, minReplicas: 1, maxReplicas: 30, cooldownMinutes: 0 }, 4);
    const wishes: number[][] = [];
    for (let minute = 0; minute < 8; minute++) {
      rehearsal.settle(4);
      rehearsal.decide({ ...flat, presentRoot: minute === 0 ? 3 : 2 });
      wishes.push([rehearsal.wanted[0]!, rehearsal.wanted[1]!]);
    }
    expect(wishes).toEqual([
      [9, 9],
      [4, 9],
      [4, 9],
      [4, 9],
      [4, 9],
      [4, 9],
      [4, 4],
      [4, 4],
    ]);
  });
});

describe('the mixture', () => {
  const small = { bootMinutes: 2, minReplicas: 1, maxReplicas: 30, cooldownMinutes: 0 };
  /** No load beyond any fleet: what is expected tells the rules apart by their size alone. */
  const none = new Float64Array(31);

  it('begins with every rule alike, and gives all the weight to the cheap where bills differ by many tolerances', () => {
    const rehearsal = new Rehearsal(small, 4);
    const mixture = new Mixture(20, 4, rehearsal.count, 2);
    expect(new Set(mixture.weights)).toEqual(new Set([1 / rehearsal.count]));
    for (let minute = 0; minute < 60; minute++) {
      rehearsal.settle(4);
      rehearsal.decide({ calmRoot: 2, calmDeviation: 0.1, presentRoot: 2, recentBeyond: none });
      mixture.decide(rehearsal, 4, none, 0.01);
    }
    expect(mixture.replicas).toBe(4);
    const bills = rehearsal.paid.map((paid, i) => paid + 20 * rehearsal.lost[i]!);
    expect(Math.min(...bills)).toBe(240);
    mixture.weights.forEach((weight, i) => {
      if (bills[i]! > 300) expect(weight).toBe(0);
    });
  });

  it('has the fleet with which rules of half the weight are content', () => {
    const rehearsal = new Rehearsal(small, 9);
    const mixture = new Mixture(20, 9, rehearsal.count, 2);
    rehearsal.settle(8);
    rehearsal.decide({ calmRoot: 3, calmDeviation: 0.1, presentRoot: 3, recentBeyond: none });
    mixture.decide(rehearsal, 8, none, 1e9);
    // So much noise that all rules count alike.
    const sorted = [...rehearsal.wanted].sort((a, b) => a - b);
    expect(mixture.replicas).toBe(sorted[Math.ceil(sorted.length / 2) - 1]);
  });

  it('never shrinks its tolerance', () => {
    const rehearsal = new Rehearsal(small, 4);
    const mixture = new Mixture(20, 4, rehearsal.count, 2);
    mixture.decide(rehearsal, 4, none, 10);
    const before = mixture.tolerance;
    mixture.decide(rehearsal, 4, none, 5);
    expect(mixture.tolerance).toBe(before);
    mixture.decide(rehearsal, 4, none, 20);
    expect(mixture.tolerance).toBeCloseTo(2 * before, 9);
  });
});

describe('the settings of the mixture', () => {
  it('are those that the page says were chosen on all sources', () => {
    const page = readFileSync('docs/decisions-quality/scaling.md', 'utf8');
    const [, minutes, tolerance] = /^Chosen on all: ([\d.]+), ([\d.]+) /m.exec(page) ?? [];
    expect(MIXTURE_SETTINGS).toEqual({ expectedMinutes: Number(minutes), tolerance: Number(tolerance) });
  });
});
