import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { scoreForecast, scoreOpponent, type BacktestOptions, type ForecastScore } from '../../src/planning/forecast/backtest.js';
import { forecastPeriodEnd } from '../../src/planning/forecast/forecast.js';
import { OPPONENTS } from '../../src/planning/forecast/opponents.js';
import { mulberry32 } from '../../src/planning/random.js';

const [header = [], ...rows] = readFileSync(new URL('../fixtures/openb-daily/daily.csv', import.meta.url), 'utf8').trim().split('\n').map((line) => line.split(','));
const column = (name: string): number[] => rows.map((row) => Number(row[header.indexOf(name)]));
const add = (...series: number[][]): number[] => (series[0] ?? []).map((_, day) => series.reduce((sum, one) => sum + (one[day] ?? 0), 0));
const fromFirstSpend = (series: number[]): number[] => series.slice(series.findIndex((value) => value > 0));

const ls = add(column('LS-shared'), column('LS-one'), column('LS-many'));
const total = add(ls, column('Burstable'), column('BE'), column('Guaranteed'));
const real: Readonly<Record<string, number[]>> = {
  total, ls, 'ls-one': fromFirstSpend(column('LS-one')), 'ls-shared': fromFirstSpend(column('LS-shared')),
};

/** Synthetic, seeded: a drifting level with jumps, a working week (weekends at 40 to 50 %), 8 % noise. */
function weekly(seed: number): number[] {
  const random = mulberry32(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const week = [1.1, 1.15, 1.2, 1.1, 1, 0.5, 0.4];
  let level = 100;
  return Array.from({ length: 120 }, (_, day) => {
    level *= Math.exp(0.004 + 0.02 * normal());
    if (random() < 0.02) level *= 1 + 0.5 * random();
    return level * (week[day % 7] ?? 1) * Math.exp(0.08 * normal());
  });
}

const months: BacktestOptions = { periodDays: 30, firstDays: [0, 8, 15, 20] };
const PUBLISHED = ['last-month', 'seasonal-naive', 'holt-winters'];

function table(series: readonly number[][], options: BacktestOptions): { bursar: ForecastScore; opponents: Record<string, ForecastScore> } {
  const opponents = Object.fromEntries(Object.entries(OPPONENTS).map(([name, opponent]) => [name, scoreOpponent(series, options, opponent)]));
  return { bursar: scoreForecast(series, options), opponents };
}

describe('month-end forecast on the real cluster, every day of every month', () => {
  it.each(Object.keys(real))('%s: error below every opponent, of the total and of the days', (name) => {
    const { bursar, opponents } = table([real[name] ?? []], months);
    for (const opponent of Object.values(opponents)) {
      expect(bursar.totalError).toBeLessThan(opponent.totalError);
      expect(bursar.dailyError).toBeLessThan(opponent.dailyError);
    }
  });

  it('80 % intervals hold 72 to 88 % of the months, over all series', () => {
    const { coverage } = scoreForecast(Object.values(real), months);
    expect(coverage).toBeGreaterThan(0.72);
    expect(coverage).toBeLessThan(0.88);
  });

  it('the short, bursty groups too, over periods of 14 days', () => {
    const bursty = [ls, ...['Burstable', 'BE', 'Guaranteed'].map((name) => fromFirstSpend(column(name)))];
    const { bursar, opponents } = table(bursty, { periodDays: 14, firstDays: [0, 3, 5, 8, 11] });
    for (const name of Object.keys(OPPONENTS)) expect(bursar.totalError).toBeLessThan(opponents[name]?.totalError ?? 0);
    expect(bursar.coverage).toBeGreaterThan(0.72);
    expect(bursar.coverage).toBeLessThan(0.88);
  });

  it('where it loses: over 14 days of a series of rare steps, the last day repeated is a little better', () => {
    const { bursar, opponents } = table([real['ls-shared'] ?? []], { periodDays: 14, firstDays: [0, 3, 5, 8, 11] });
    expect(bursar.totalError / (opponents['naive']?.totalError ?? 0)).toBeGreaterThan(1);
    expect(bursar.totalError / (opponents['naive']?.totalError ?? 0)).toBeLessThan(1.06);
    for (const name of PUBLISHED) expect(bursar.totalError).toBeLessThan(opponents[name]?.totalError ?? 0);
  });
});

describe('month-end forecast on seeded weekly series (synthetic)', () => {
  it('learns the week: error below every opponent, calibrated', () => {
    const { bursar, opponents } = table([1, 2, 3, 4, 5, 6].map(weekly), { periodDays: 30, firstDays: [0, 15] });
    for (const name of Object.keys(OPPONENTS)) expect(bursar.totalError).toBeLessThan(opponents[name]?.totalError ?? 0);
    expect(bursar.coverage).toBeGreaterThan(0.72);
    expect(bursar.coverage).toBeLessThan(0.9);
  });
});

describe('honesty of the backtest', () => {
  it('no forecaster reads ahead: another future, the same forecast', () => {
    for (const day of [1, 10, 40, 120]) {
      const past = total.slice(0, day);
      expect(forecastPeriodEnd([...past, 0], 0, 20)).toEqual(forecastPeriodEnd([...total.slice(0, day), 0], 0, 20));
      for (const opponent of Object.values(OPPONENTS)) expect(opponent(past, 5, 0)).toHaveLength(5);
    }
    const shuffled = [...total.slice(0, 60), ...total.slice(60).reverse()];
    const first: BacktestOptions = { periodDays: 60, firstDays: [0] };
    expect(scoreForecast([shuffled.slice(0, 60)], first)).toEqual(scoreForecast([total.slice(0, 60)], first));
  });

  it('control totals of the fixture', () => {
    const sum = (series: number[]): string => series.reduce((a, b) => a + b, 0).toFixed(3);
    expect(header.slice(1).map((name) => [name, sum(column(name))])).toEqual([
      ['LS-shared', 'X'],
    ]);
  });
});
