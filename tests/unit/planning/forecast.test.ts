import { describe, expect, it } from 'vitest';
import { scoreForecast } from '../../../src/lab/forecast/backtest.js';
import {
  expectDay,
  expectSum,
  runExperts,
  type Expert,
  type ExpertState,
} from '../../../src/planning/forecast/experts.js';
import { forecastDaily, forecastPeriodEnd } from '../../../src/planning/forecast/forecast.js';
import { runHoltWinters } from '../../../src/planning/forecast/holt-winters.js';
import { intervalOf } from '../../../src/planning/forecast/interval.js';
import { burnRate, holtWinters, lastMonth, naive, seasonalNaive } from '../../../src/lab/forecast/opponents.js';
import { weightExperts, weightedMedian } from '../../../src/planning/forecast/weighting.js';
import { weekShapes } from '../../../src/planning/forecast/week.js';

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

const lastStates = (history: readonly number[]): ExpertState[] =>
  runExperts(history).flatMap(({ states }) => states.at(-1) ?? []);

describe('experts', () => {
  it('expect in a sum of days what they expect of each, and never less than nothing', () => {
    const falling = Array.from({ length: 40 }, (_, day) => Math.max(1, 1000 - 30 * day) * (day % 7 === 0 ? 0.5 : 1));
    for (const state of lastStates(falling)) {
      let sum = 0;
      for (let ahead = 1; ahead <= 60; ahead += 1) {
        // Only an added season can take all of a level away.
        if (state.added === null) expect(expectDay(state, ahead)).toBeGreaterThan(0);
        else expect(expectDay(state, ahead)).toBeGreaterThanOrEqual(0);
        sum += expectDay(state, ahead);
      }
      expect(expectSum(state, 60)).toBeCloseTo(sum, 6);
    }
  });

  it('by hand, after days of 10 and 30', () => {
    const said = lastStates([10, 30]).map((state) => [expectDay(state, 1), expectDay(state, 2)]);
    // Half: (0.5 * 30 + 0.25 * 10) / 0.75; it goes to the mean of 20 by a tenth of the distance a day.
    const half = 17.5 / 0.75;
    const [third, slow] = [(0.3 * 30 + 0.21 * 10) / 0.51, (0.07 * 30 + 0.0651 * 10) / 0.1351];
    const expected: [number, number][] = [
      [30, 30],
      [third, third],
      [slow, slow],
      [20, 20],
      [20, 20],
      [20, 20],
      [20 + 0.9 * (half - 20), 20 + 0.81 * (half - 20)],
      [20 + 0.97 * (half - 20), 20 + 0.97 ** 2 * (half - 20)],
      [half, half],
      [30, 30],
      [third, third],
      [third, third],
      [30, 30],
    ];
    expect(said.length).toBe(expected.length);
    expected.forEach(([one, two], index) => {
      expect(said[index]?.[0]).toBeCloseTo(one, 9);
      expect(said[index]?.[1]).toBeCloseTo(two, 9);
    });
  });

  it('drift: that of four weeks, damped', () => {
    const line = Array.from({ length: 29 }, (_, day) => 100 + 4 * day);
    const drifting = lastStates(line)[9];
    if (drifting === undefined) throw new Error('no such expert');
    expect(expectDay(drifting, 1)).toBeCloseTo(212 + 4 * 0.97, 9);
    expect(expectDay(drifting, 2)).toBeCloseTo(212 + 4 * (0.97 + 0.97 ** 2), 9);
  });

  it('the median of four weeks is that of the last 28 days', () => {
    const history = Array.from({ length: 60 }, (_, day) => ((day * 37) % 61) + (day > 40 ? 100 : 0));
    const sorted = history.slice(-28).sort((a, b) => a - b);
    expect(lastStates(history)[5]?.level).toBeCloseTo(((sorted[13] ?? 0) + (sorted[14] ?? 0)) / 2, 9);
  });

  it("the week's shape is each day over the mean of its week, after two weeks", () => {
    const shapes = weekShapes(week(21));
    expect(shapes[12]).toBeNull();
    shapes[20]?.forEach((factor, day) => expect(factor).toBeCloseTo((day < 5 ? 100 : 20) / (540 / 7), 9));
    expect(weekShapes(repeat(0, 20))[19]).toEqual(new Float64Array(7).fill(1));
  });

  it('the damped Holt-Winters has the opponent as its fit', () => {
    const history = Array.from({ length: 30 }, (_, day) => 100 + day + (day % 7 === 6 ? -50 : 0));
    const fit = runHoltWinters(history).at(-1);
    if (fit === undefined || fit === null) throw new Error('no fit');
    expect(runHoltWinters(history)[12]).toBeNull();
    const season = fit.season[30 % 7] ?? 0;
    expect(holtWinters(history, 1, 0)[0]).toBeCloseTo(fit.level + fit.trend + season, 9);
    const damped = lastStates(history).at(-1);
    if (damped === undefined) throw new Error('no such expert');
    expect(expectDay(damped, 1)).toBeCloseTo(fit.level + 0.9 * fit.trend + season, 9);
  });
});

describe('weighting', () => {
  it('the weighted median is the smallest value that half of the weight does not exceed', () => {
    expect(weightedMedian([5, 1, 3], [1, 1, 1])).toBe(3);
    expect(weightedMedian([5, 1, 3], [3, 1, 1])).toBe(5);
    expect(weightedMedian([5, 1, 3, 3], [1, 3, 1, 1])).toBe(1);
    expect(weightedMedian([7], [1])).toBe(7);
  });

  it('by hand: two experts, one that was right twice and one that was a day behind', () => {
    const history = [100, 200, 300];
    const [any] = lastStates([1]);
    if (any === undefined) throw new Error('no state');
    const expert = (says: readonly number[]): Expert => ({
      prior: 1,
      states: says.map((level, day) => ({ ...any, day, level })),
    });
    const { weights, tracks } = weightExperts(history, [expert([200, 300, 400]), expert([100, 200, 300])], 1);
    // Relative to the mean of the days before: the second missed by 100 / 100 and by 100 / 150; the first never.
    const start = 0.02;
    expect(weights[0]).toBeCloseTo(1, 9);
    expect(weights[1]).toBeCloseTo((start / (0.99 * 1 + 100 / 150 + start)) ** 8, 15);
    expect([...(tracks[0]?.forecasts ?? [])]).toEqual([100, 300, 400]);
    expect(tracks[0]?.errors).toEqual([100, 0]);
  });

  it('has tracks of a day, a week and the horizon', () => {
    expect(weightExperts([1, 2], runExperts([1, 2]), 30).tracks.map(({ days }) => days)).toEqual([1, 7, 30]);
    expect(weightExperts([1, 2], runExperts([1, 2]), 4).tracks.map(({ days }) => days)).toEqual([1, 4]);
    expect(weightExperts([1, 2], runExperts([1, 2]), 1).tracks.map(({ days }) => days)).toEqual([1]);
  });
});

describe('the interval', () => {
  const about = (history: readonly number[], days: number, coverage: number) =>
    intervalOf(history, weightExperts(history, runExperts(history), days), coverage);

  it('after one day is the one of other series, by hand', () => {
    // Scale: the prior error of 0.235 and the least one, thirty days ahead of one that is known, and what may break. Of
    // forty errors of equal weight the 10 % quantile lies in the middle of the fourth and the fifth, the 90 % quantile
    // of those at the other end.
    const scale = (0.235 + 0.003) * 30 ** 0.1 * (1 + 30 / 1) ** 0.4 + (0.4 * 30) / 31;
    const { low, high } = about([100], 30, 0.8);
    expect(low).toBeCloseTo(3000 * (1 - ((0.57 + 0.48) / 2) * scale), 6);
    expect(high).toBeCloseTo(3000 * (1 + ((1.2 + 1.49) / 2) * scale), 6);
  });

  it('of a day, by hand: own errors beside those of others', () => {
    // Three like days, so two errors of nothing, each of weight 1, beside forty of weight 6 / 40. A tenth of 8 is 0.8,
    // which lies between the middles of the fifth (0.675) and the sixth (0.825). The last days' errors are those of all
    // days.
    const daily = (1.5 * 0.235) / (2 + 1.5);
    const lately = (2 * daily) / (0.9 + 1 + 2);
    const scale = (daily + 0.003) * ((lately + 0.003) / (daily + 0.003)) ** 0.3 * (1 + 1 / 3) ** 0.4 + 0.4 / 4;
    const { low } = about([100, 100, 100], 1, 0.8);
    expect(low).toBeCloseTo(100 * (1 + (-0.48 + (0.48 - 0.39) * ((0.8 - 0.675) / 0.15)) * scale), 6);
  });

  it('does not trust the way that the past took: after days that only rose, a fall is held to be possible', () => {
    // No own error is below nothing, and they count 99 beside 6 of others: by themselves they would put the lower bound
    // at the forecast.
    const rising = Array.from({ length: 100 }, (_, day) => 100 * 1.2 ** Math.floor(day / 4));
    const { low, high } = about(rising, 1, 0.9);
    const mean = weightExperts(rising, runExperts(rising), 1).tracks.at(-1)?.forecasts.at(-1) ?? NaN;
    expect(low).toBeLessThan(0.95 * mean);
    expect(mean - low).toBeGreaterThan((high - mean) / 4);
  });

  it('is wider for a series that stood still half of the time, and for a short past', () => {
    const width = (history: readonly number[], days: number): number => {
      const { low, high } = about(history, days, 0.8);
      return (high - low) / (weightExperts(history, runExperts(history), days).tracks.at(-1)?.forecasts.at(-1) ?? NaN);
    };
    expect(width(repeat(100, 5), 14)).toBeGreaterThan(1.5 * width(repeat(100, 20), 14));
    expect(width(repeat(100, 20), 14)).toBeGreaterThan(1.5 * width(repeat(100, 100), 14));
    const busy = Array.from({ length: 60 }, (_, day) => (day % 2 === 0 ? 130 : 70));
    const halfStill = Array.from({ length: 60 }, (_, day) => (day % 2 === 0 ? 200 : 0));
    expect(width(halfStill, 14)).toBeGreaterThan(2 * width(busy, 14));
  });

  it('is wider for a larger coverage and holds the forecast', () => {
    const noisy = Array.from({ length: 50 }, (_, day) => 100 + 40 * Math.sin(day * day));
    const [half, most] = [about(noisy, 14, 0.5), about(noisy, 14, 0.9)];
    expect(most.high - most.low).toBeGreaterThan(half.high - half.low);
    const mean = weightExperts(noisy, runExperts(noisy), 14).tracks.at(-1)?.forecasts.at(-1) ?? NaN;
    expect(half.low).toBeLessThanOrEqual(mean);
    expect(half.high).toBeGreaterThanOrEqual(mean);
  });
});

describe('the forecast of a period', () => {
  it('speaks from the first hours on, wide', () => {
    const first = forecastPeriodEnd([25], 0.25, 29);
    expect(first.mean).toBeCloseTo(100 * 29.75, 6);
    expect(first.low).toBeLessThan(0.85 * first.mean);
    expect(first.high).toBeGreaterThan(1.5 * first.mean);
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
    for (const history of [
      [0],
      [0, 0],
      repeat(0, 50),
      [...repeat(0, 30), 500, 500, 0],
      [1e9, 0, 1e-9, 5],
      [-5, -5, 3],
    ]) {
      for (const elapsed of [0, 0.3, 1])
        for (const left of [0, 1, 40, 300]) {
          const { mean, low, high } = forecastPeriodEnd(history, elapsed, left);
          expect([mean, low, high].every(Number.isFinite)).toBe(true);
          expect(low).toBeLessThanOrEqual(mean);
          expect(mean).toBeLessThanOrEqual(high);
          expect(low).toBeGreaterThanOrEqual(0);
        }
    }
  });
});

describe('the interval score', () => {
  it('is the width, and for a miss at 80 % ten times what it misses by; beside the mean period', () => {
    // One origin each: a day of 100 is known, the next is the period.
    const { low, high } = forecastPeriodEnd([100, 0], 0, 0);
    const scored = (next: number) => scoreForecast([[100, next]], { periodDays: 1, firstDays: [1] });
    expect(scored(100)).toMatchObject({ count: 1, coverage: 1 });
    expect(scored(100).intervalScore).toBeCloseTo((high - low) / 100, 9);
    expect(scored(500)).toMatchObject({ count: 1, coverage: 0 });
    expect(scored(500).intervalScore).toBeCloseTo((high - low + 10 * (500 - high)) / 500, 9);
    expect(scored(1).intervalScore).toBeCloseTo((high - low + 10 * (low - 1)) / 1, 6);
  });
});

describe('the forecast of days', () => {
  it('knows the week', () => {
    forecastDaily(week(42), 7).forEach((value, day) => expect(Math.abs(value - (day < 5 ? 100 : 20))).toBeLessThan(3));
  });
});
