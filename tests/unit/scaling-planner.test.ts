import { describe, expect, it } from 'vitest';
import { LoadForecaster } from '../../src/planning/scaling/forecast.js';
import { bursarPolicies, DEFAULT_RISK, planReplicas, RISK_SETTINGS, riskName } from '../../src/planning/scaling/planner.js';
import { newsvendor } from '../../src/planning/scaling/rehearsal.js';
import { seededSeries, SERIES_DEFAULTS } from '../../src/planning/scaling/series.js';
import { simulate, startingReplicas, type FleetLimits } from '../../src/planning/scaling/simulate.js';

const limits: FleetLimits = { bootMinutes: 4, minReplicas: 1, maxReplicas: 30, cooldownMinutes: 0 };
const series = (seed: number, minutes: number): Float64Array =>
  seededSeries({ ...SERIES_DEFAULTS, minutes, base: 100, burstsPerDay: 30, seed }).map((count) => count / 10);
const settings = { ...limits, risk: DEFAULT_RISK, capacityPerReplica: 10 };

function decisions(load: Float64Array): number[][] {
  return bursarPolicies(load, limits, startingReplicas(load, limits), RISK_SETTINGS).map((policy) => [...simulate(load, limits, policy).replicas]);
}

describe('the scaling planner', () => {
  it('decides from the past alone: another future leaves every past decision as it was', () => {
    const load = series(1, 300);
    const other = load.slice();
    other.set(load.subarray(180).slice().reverse(), 180);
    other[181] = 29;
    const [mine, theirs] = [decisions(load), decisions(other)];
    mine.forEach((replicas, i) => expect(replicas.slice(0, 181), riskName(RISK_SETTINGS[i]!)).toEqual(theirs[i]!.slice(0, 181)));
    expect(mine).not.toEqual(theirs);
  });

  it('decides live what it decided in the backtest', () => {
    const load = series(2, 200);
    const [policy] = bursarPolicies(load, limits, startingReplicas(load, limits), [DEFAULT_RISK]);
    const run = simulate(load, limits, policy!);
    for (const minute of [1, 7, 60, 199]) {
      const plan = planReplicas(load.subarray(0, minute).map((value) => value * 10), { ready: run.replicas[minute - 1]!, booting: 0 }, settings);
      expect(plan.replicas).toBe(run.replicas[minute]!);
    }
  });

  it('shows the numbers behind a plan: a steady load of 8 replicas', () => {
    const plan = planReplicas(new Float64Array(240).fill(80), { ready: 8, booting: 2 }, settings);
    expect(plan).toMatchObject({ current: 10, historyMinutes: 240, leadMinutes: 5, price: 20 });
    expect(plan.expectedLoad).toBeGreaterThan(7.8);
    expect(plan.expectedLoad).toBeLessThan(8.4);
    expect(plan.calmLoad).toBeCloseTo(8, 6);
    expect(plan.replicas).toBeGreaterThanOrEqual(8);
    expect(plan.replicas).toBeLessThanOrEqual(10);
    expect(plan.expectedUnservedShare).toBeLessThan(0.02);
  });

  it('keeps the fleet when nothing was observed', () => {
    expect(planReplicas([], { ready: 5, booting: 1 }, settings).replicas).toBe(6);
  });

  it('names every value that is not usable', () => {
    const call = (): unknown => planReplicas([1, Number.NaN, -1], { ready: 1.5, booting: 0 }, { ...settings, capacityPerReplica: 0, risk: { price: 1, reserve: 0 } });
    expect(call).toThrow(expect.objectContaining({ kind: 'invalid', problems: expect.arrayContaining(
      ['history/1', 'history/2', 'ready', 'capacityPerReplica', 'risk/price'].map((path) => expect.objectContaining({ path })),
    ) }));
  });

  it('takes more risk at a lower price', () => {
    const load = series(3, 600);
    const lost = bursarPolicies(load, limits, startingReplicas(load, limits), [1.2, 5, 80].map((price) => ({ price, reserve: 0 })))
      .map((policy) => simulate(load, limits, policy).unserved);
    expect(lost[0]).toBeGreaterThan(lost[1]!);
    expect(lost[1]).toBeGreaterThan(lost[2]!);
  });
});

describe('the newsvendor', () => {
  it('adds replicas while one more saves more than it costs', () => {
    // Load 2 or 4, evenly: beyond k replicas are expected 3, 2, 1, 0.5, 0.
    const shortfall = Float64Array.from([3, 2, 1, 0.5, 0]);
    expect(newsvendor(shortfall, 1.5)).toBe(2);
    expect(newsvendor(shortfall, 2.5)).toBe(4);
    expect(newsvendor(shortfall, 1)).toBe(0);
  });
});

describe('the forecaster', () => {
  it('learns the wave of a day better than the last minutes tell it', () => {
    const load = seededSeries({ ...SERIES_DEFAULTS, minutes: 4 * 1440, burstsPerDay: 0, drift: 0, base: 3000, seed: 5 }).map((count) => count / 100);
    const forecaster = new LoadForecaster(10, 60);
    let mine = 0;
    let naive = 0;
    for (let minute = 0; minute + 10 < load.length; minute++) {
      if (minute > 0) {
        forecaster.observe(load[minute - 1]!);
        const { direct } = forecaster.predict();
        if (minute > 2 * 1440) {
          mine += (direct * direct - load[minute + 10]!) ** 2;
          naive += (load[minute - 1]! - load[minute + 10]!) ** 2;
        }
      }
    }
    expect(mine).toBeLessThan(0.6 * naive);
  });
});
