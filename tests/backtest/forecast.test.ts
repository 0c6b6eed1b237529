import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  scoreForecast,
  scoreOpponent,
  type BacktestOptions,
  type ForecastScore,
} from '../../src/lab/forecast/backtest.js';
import { runExperts } from '../../src/planning/forecast/experts.js';
import { OPPONENTS } from '../../src/lab/forecast/opponents.js';
import { mulberry32 } from '../../src/lab/random.js';

const [header = [], ...rows] = readFileSync(new URL('../fixtures/openb-daily/daily.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(','));
const column = (name: string): number[] => rows.map((row) => Number(row[header.indexOf(name)]));
const add = (...series: number[][]): number[] =>
  (series[0] ?? []).map((_, day) => series.reduce((sum, one) => sum + (one[day] ?? 0), 0));
const fromFirstSpend = (series: number[]): number[] => series.slice(series.findIndex((value) => value > 0));

const ls = add(column('LS-shared'), column('LS-one'), column('LS-many'));
const total = add(ls, column('Burstable'), column('BE'), column('Guaranteed'));
const real: Readonly<Record<string, number[]>> = {
  total,
  ls,
  'ls-one': fromFirstSpend(column('LS-one')),
  'ls-shared': fromFirstSpend(column('LS-shared')),
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

const months: BacktestOptions = { periodDays: 30, firstDays: [0, 15] };
const PUBLISHED = ['last-month', 'seasonal-naive', 'holt-winters'];

function table(
  series: readonly number[][],
  options: BacktestOptions,
): { bursar: ForecastScore; opponents: Record<string, ForecastScore> } {
  const opponents = Object.fromEntries(
    Object.entries(OPPONENTS).map(([name, opponent]) => [name, scoreOpponent(series, options, opponent)]),
  );
  return { bursar: scoreForecast(series, options), opponents };
}

describe('month-end forecast on the real cluster, every day of every month', () => {
  const tables = Object.fromEntries(Object.entries(real).map(([name, series]) => [name, table([series], months)]));
  const errors = (name: string, opponent: string) => {
    const [own, other] = [tables[name]?.bursar, tables[name]?.opponents[opponent]];
    return {
      total: (own?.totalError ?? NaN) / (other?.totalError ?? NaN),
      daily: (own?.dailyError ?? NaN) / (other?.dailyError ?? NaN),
    };
  };

  it.each(Object.keys(real))('%s: error below every published opponent, of the total and of the days', (name) => {
    for (const opponent of PUBLISHED) {
      expect(errors(name, opponent).total).toBeLessThan(1);
      expect(errors(name, opponent).daily).toBeLessThan(1);
    }
  });

  it('error below the last day repeated and the burn rate too', () => {
    for (const name of ['total', 'ls', 'ls-one'])
      for (const opponent of ['naive', 'burn-rate']) {
        expect(errors(name, opponent).total).toBeLessThan(1);
        expect(errors(name, opponent).daily).toBeLessThan(1);
      }
  });

  it('where it loses: on a series of a dozen steps the last day repeated is better by a few per cent', () => {
    expect(errors('ls-shared', 'naive').total).toBeGreaterThan(1);
    expect(errors('ls-shared', 'naive').total).toBeLessThan(1.06);
    expect(errors('ls-shared', 'naive').daily).toBeGreaterThan(1);
    expect(errors('ls-shared', 'naive').daily).toBeLessThan(1.07);
  });

  it('80 % intervals hold 72 to 88 % of the months', () => {
    const scores = Object.values(tables).map(({ bursar }) => bursar);
    const coverage =
      scores.reduce((sum, score) => sum + score.count * (score.coverage ?? 0), 0) /
      scores.reduce((sum, score) => sum + score.count, 0);
    expect(coverage).toBeGreaterThan(0.72);
    expect(coverage).toBeLessThan(0.88);
    for (const name of ['ls', 'ls-one', 'ls-shared'])
      expect(Math.abs((tables[name]?.bursar.coverage ?? 0) - 0.8)).toBeLessThan(0.08);
  });

  it('where it loses: the interval of the total holds seven months of ten', () => {
    expect(tables['total']?.bursar.coverage).toBeGreaterThan(0.7);
    expect(tables['total']?.bursar.coverage).toBeLessThan(0.72);
  });
});

describe('the short, bursty groups of the real cluster, over periods of 14 days', () => {
  const fortnights: BacktestOptions = { periodDays: 14, firstDays: [0, 3, 5, 8, 11] };
  const groups = Object.fromEntries(
    ['Burstable', 'BE', 'Guaranteed'].map((name) => [name, fromFirstSpend(column(name))]),
  );

  it.each(Object.entries(groups))('%s: the total is nearer than by every published opponent', (_, series) => {
    const { bursar, opponents } = table([series], fortnights);
    for (const name of PUBLISHED) expect(bursar.totalError).toBeLessThan(opponents[name]?.totalError ?? 0);
  });

  it('where it loses: the last day repeated is better on two of them', () => {
    for (const name of ['Burstable', 'Guaranteed']) {
      const { bursar, opponents } = table([groups[name] ?? []], fortnights);
      expect(bursar.totalError).toBeGreaterThan(opponents['naive']?.totalError ?? Infinity);
    }
  });

  it('together with LS: error below every opponent, calibrated', () => {
    const { bursar, opponents } = table([ls, ...Object.values(groups)], fortnights);
    for (const name of Object.keys(OPPONENTS)) expect(bursar.totalError).toBeLessThan(opponents[name]?.totalError ?? 0);
    expect(bursar.coverage).toBeGreaterThan(0.72);
    expect(bursar.coverage).toBeLessThan(0.88);
  });
});

describe('month-end forecast on seeded weekly series (synthetic)', () => {
  const seeds = (first: number, count: number): number[][] =>
    Array.from({ length: count }, (_, index) => weekly(first + index));

  it.each([
    ['1 to 4', seeds(1, 4)],
    ['301 to 312', seeds(301, 12)],
  ])('seeds %s: learns the week; error below every opponent, calibrated', (_, series) => {
    const { bursar, opponents } = table(series, { periodDays: 30, firstDays: [0] });
    for (const name of Object.keys(OPPONENTS)) expect(bursar.totalError).toBeLessThan(opponents[name]?.totalError ?? 0);
    expect(bursar.coverage).toBeGreaterThan(0.72);
    expect(bursar.coverage).toBeLessThan(0.88);
  });
});

describe('honesty of the backtest', () => {
  it('experts never read ahead: with another future every state up to today is the same', () => {
    const shuffled = [...total.slice(0, 60), ...total.slice(60).reverse()];
    const [one, other] = [runExperts(total), runExperts(shuffled)].map((experts) =>
      experts.map(({ prior, states }) => ({ prior, states: states.slice(0, 60) })),
    );
    expect(one).toEqual(other);
    expect(runExperts(total.slice(0, 60))).toEqual(one);
  });

  it('control totals of the fixture', () => {
    const sum = (series: number[]): string => series.reduce((a, b) => a + b, 0).toFixed(3);
    expect(header.slice(1).map((name) => [name, sum(column(name))])).toEqual([
      ['LS-shared', '4761.330'],
      ['LS-one', '28346.251'],
      ['LS-many', '1061.273'],
      ['Burstable', '3904.949'],
      ['BE', '868.988'],
      ['Guaranteed', '815.575'],
    ]);
  });
});
