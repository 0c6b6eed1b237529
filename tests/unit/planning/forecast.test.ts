import { describe, expect, it } from 'vitest';
import { expectDay, expectSum, runExperts } from '../../../src/planning/forecast/experts.js';
import { forecastDaily, forecastPeriodEnd } from '../../../src/planning/forecast/forecast.js';
import { burnRate, holtWinters, lastMonth, naive, seasonalNaive } from '../../../src/planning/forecast/opponents.js';

const repeat = (value: number, days: number): number[] => new Array<number>(days).fill(value);
const week = (days: number): number[] => Array.from({ length: days }, (_, day) => (day % 7 < 5 ? 100 : 20));

describe('opponents', () => {
  it('last month: the mean of the thirty days before the period, of all days before there are any', () => {
    expect(lastMonth([...repeat(999, 5), ...repeat(10, 30), 70, 70], 2, 2)).toEqual([10, 10]);
    expect(lastMonth([10, 20], 2, 2)).toEqual([15, 15]);
  });
  it('seasonal naive: the same day of last week', () => {
    expect(seasonalNaive([9, 1, 2, 3, 4, 5, 6, 7], 9, 0)).toEqual([1, 2, 3, 4, 5, 6, 7, 1, 2]);
    expect(seasonalNaive([1, 5], 2, 0)).toEqual([5, 5]);
  });
  it('the last day, and the burn rate', () => {
    expect(naive([1, 5], 2, 0)).toEqual([5, 5]);
    expect(burnRate([100, 1, 5], 2, 2)).toEqual([3, 3]);
  });
  it('Holt-Winters: goes on with a pure week and with a pure line', () => {
    holtWinters(week(28), 7, 0).forEach((value, day) => expect(value).toBeCloseTo(day < 5 ? 100 : 20, 6));
    const line = Array.from({ length: 28 }, (_, day) => 10 + 2 * day);
    holtWinters(line, 3, 0).forEach((value, ahead) => expect(Math.abs(value - (66 + 2 * ahead))).toBeLessThan(2));
    expect(Math.min(...holtWinters([...repeat(100, 14), 60, 40, 20, 5, 0, 0, 0], 20, 0))).toBeGreaterThanOrEqual(0);
  });
});

describe('experts', () => {
  it('expect in a sum of days what they expect of each, and never less than nothing', () => {
    const falling = Array.from({ length: 40 }, (_, day) => Math.max(1, 1000 - 30 * day) * (day % 7 === 0 ? 0.5 : 1));
    for (const states of runExperts(falling)) {
      const state = states.at(-1);
      if (state === undefined) throw new Error('no state');
      let sum = 0;
      for (let ahead = 1; ahead <= 60; ahead += 1) {
        expect(expectDay(state, ahead)).toBeGreaterThan(0);
        sum += expectDay(state, ahead);
      }
      expect(expectSum(state, 60)).toBeCloseTo(sum, 6);
    }
  });
});

describe('the forecast of a period', () => {
  it('speaks from the first hours on, wide', () => {
    const first = forecastPeriodEnd([25], 0.25, 29);
    expect(first.mean).toBeCloseTo(100 * 29.75, 6);
    expect(first.low).toBeCloseTo(50 * 29.75, 6);
    expect(first.high).toBeCloseTo(150 * 29.75, 6);
    expect(first.method).toBe('prior');
  });

  it('is sure of a flat history, and of nothing left', () => {
    const flat = forecastPeriodEnd([...repeat(100, 60), 50], 0.5, 9);
    expect(flat.mean).toBeCloseTo(950, 6);
    expect(flat.high - flat.low).toBeLessThan(0.06 * flat.mean);
    expect(forecastPeriodEnd([...repeat(100, 60), 100], 1, 0)).toMatchObject({ mean: 0, low: 0, high: 0 });
    expect(forecastPeriodEnd([...repeat(100, 60), 75], 0.75, 0).mean).toBeCloseTo(25, 6);
  });

  it('knows the week once there are two', () => {
    const sunday = forecastPeriodEnd([...week(27), 0], 0, 0);
    expect(sunday.mean).toBeLessThan(30);
    const nextWeek = forecastPeriodEnd([...week(28), 0], 0, 6);
    expect(Math.abs(nextWeek.mean - 540)).toBeLessThan(0.02 * 540);
    expect(nextWeek.method).toBe('level-drift-week');
  });

  it('hears a jump today before midnight', () => {
    const usual = forecastPeriodEnd([...repeat(100, 40), 50], 0.5, 9).mean;
    const jumped = forecastPeriodEnd([...repeat(100, 40), 200], 0.5, 9).mean;
    expect(jumped).toBeGreaterThan(1.5 * usual);
  });

  it('stays finite and ordered on nothing, zeros, a late start and credits', () => {
    for (const history of [[0], [0, 0], repeat(0, 50), [...repeat(0, 30), 500, 500, 0], [1e9, 0, 1e-9, 5], [-5, -5, 3]]) {
      for (const elapsed of [0, 0.3, 1]) for (const left of [0, 1, 40, 300]) {
        const { mean, low, high } = forecastPeriodEnd(history, elapsed, left);
        expect([mean, low, high].every(Number.isFinite)).toBe(true);
        expect(low).toBeLessThanOrEqual(mean);
        expect(mean).toBeLessThanOrEqual(high);
        expect(low).toBeGreaterThanOrEqual(0);
      }
    }
  });
});

describe('the forecast of days', () => {
  it('has an interval for each', () => {
    const { mean, low, high } = forecastDaily(week(42), 7);
    mean.forEach((value, day) => {
      expect(Math.abs(value - (day < 5 ? 100 : 20))).toBeLessThan(3);
      expect(low[day]).toBeLessThanOrEqual(value);
      expect(high[day]).toBeGreaterThanOrEqual(value);
    });
  });
});
