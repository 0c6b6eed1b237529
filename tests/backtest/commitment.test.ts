/**
 * The commitment backtest on real demand (tests/fixtures/commitment-demand) and on seeded series that nothing was tuned
 * on: Bursar's floor, its place among the published rules, and its bound. docs/decisions-quality/commitment.md holds
 * the tables.
 */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommitmentBacktest } from '../../src/lab/commitment/run.js';
import type { BacktestCell, PolicyResult } from '../../src/core/policy/backtest.js';
import { compareCommitments } from '../../src/lab/commitment/comparison.js';
import { SERIES_SHAPES, syntheticSeries } from '../../src/lab/commitment/series.js';

const PUBLISHED = [
  'none',
  'look-back-1d',
  'look-back-7d',
  'look-back-30d',
  'look-back-60d',
  'online-deterministic',
  'online-randomised',
];
const fixture = (file: string): string => path.join(import.meta.dirname, '../fixtures/commitment-demand', file);

const policy = (cell: BacktestCell | undefined, name: string): PolicyResult =>
  cell!.policies.find((result) => result.name === name)!;
const share = (cell: BacktestCell | undefined, name: string): number => policy(cell, name).meanShare!;

describe('on the pods of openb', () => {
  it.each([
    [168, 0.6],
    [168, 0.8],
    [24, 0.6],
    [24, 0.7],
    [720, 0.8],
  ])('is ahead of every published rule at a term of %i h and a ratio of %f', async (termHours, priceRatio) => {
    const { cells, settings } = await runCommitmentBacktest({ demand: fixture('openb.csv.gz'), termHours, priceRatio });
    expect(settings).toMatchObject({ tenants: 8, hours: 3313 });
    for (const name of PUBLISHED) expect(share(cells[0], 'bursar')).toBeGreaterThan(share(cells[0], name));
    expect(policy(cells[0], 'bursar').worstRatio).toBeLessThanOrEqual(2);
    expect(policy(cells[0], 'clairvoyant')).toMatchObject({ meanShare: 1, worstRatio: 1 });
  });
});

describe('on the pods of openb where a look-back leads', () => {
  it.each([
    [168, 0.4],
    [72, 0.5],
    [336, 0.5],
    [720, 0.6],
  ])('stays within 0.01 of it at a term of %i h and a ratio of %f', async (termHours, priceRatio) => {
    const { cells } = await runCommitmentBacktest({ demand: fixture('openb.csv.gz'), termHours, priceRatio });
    const best = Math.max(...PUBLISHED.map((name) => share(cells[0], name)));
    expect(share(cells[0], 'bursar')).toBeGreaterThan(best - 0.01);
    expect(policy(cells[0], 'bursar').worstRatio).toBeLessThanOrEqual(2);
  });
});

describe('on the arrivals of Philly', () => {
  it.each([
    [168, 0.6],
    [24, 0.6],
  ])('is ahead of every published rule at a term of %i h and a ratio of %f', async (termHours, priceRatio) => {
    const { cells } = await runCommitmentBacktest({ demand: fixture('philly.csv.gz'), termHours, priceRatio });
    for (const name of PUBLISHED) expect(share(cells[0], 'bursar')).toBeGreaterThan(share(cells[0], name));
  });

  it('stays within 0.04 of the look-back that leads at a ratio of 0.4', async () => {
    const { cells } = await runCommitmentBacktest({
      demand: fixture('philly.csv.gz'),
      termHours: 168,
      priceRatio: 0.4,
    });
    expect(share(cells[0], 'bursar')).toBeGreaterThan(
      Math.max(...PUBLISHED.map((name) => share(cells[0], name))) - 0.04,
    );
  });

  it('loses nothing at little discount, and stays within 0.05 of the best published rule', async () => {
    const { cells } = await runCommitmentBacktest({
      demand: fixture('philly.csv.gz'),
      termHours: 168,
      priceRatio: 0.8,
    });
    expect(share(cells[0], 'bursar')).toBeGreaterThan(0.1);
    expect(share(cells[0], 'bursar')).toBeGreaterThan(
      Math.max(...PUBLISHED.map((name) => share(cells[0], name))) - 0.05,
    );
  });
});

describe('on seeded series that nothing was tuned on', () => {
  const seeds = [5001, 5002, 5003];
  const tenants = seeds.flatMap((seed) =>
    (['steady', 'trend', 'week', 'day', 'steps', 'jobs', 'mixed'] as const).map((shape) =>
      syntheticSeries(shape, 3000, seed),
    ),
  );

  it.each([
    [24, 0.6],
    [168, 0.4],
    [168, 0.6],
    [336, 0.5],
  ])(
    'keeps its bound and is ahead of every published rule at a term of %i h and a ratio of %f',
    (termHours, priceRatio) => {
      const [all] = compareCommitments(tenants, { termHours, priceRatio, alpha: 0 }).cells;
      expect(policy(all, 'bursar').worstRatio).toBeLessThanOrEqual(2);
      for (const name of PUBLISHED) expect(share(all, 'bursar')).toBeGreaterThan(share(all, name));
    },
  );

  it('keeps its bound where it costs the lead: long terms at little discount', () => {
    const [all] = compareCommitments(tenants, { termHours: 720, priceRatio: 0.8, alpha: 0 }).cells;
    expect(policy(all, 'bursar').worstRatio).toBeLessThanOrEqual(2);
    expect(share(all, 'bursar')).toBeGreaterThan(share(all, 'online-deterministic'));
    expect(share(all, 'bursar')).toBeGreaterThan(0.7);
  });

  // Pooled over shapes: projects alone lose at 720 h, as the page says.
  it.each([
    [168, 0.5],
    [720, 0.05],
  ])(
    'saves on the variable ones of all shapes together at little discount: a term of %i h, a share above %f',
    (termHours, floor) => {
      const every = seeds.flatMap((seed) => SERIES_SHAPES.map((shape) => syntheticSeries(shape, 3000, seed)));
      const variable = compareCommitments(every, { termHours, priceRatio: 0.8, alpha: 0 }).cells[1];
      expect(variable?.name).toBe('cv>=0.5');
      expect(share(variable, 'bursar')).toBeGreaterThan(floor);
    },
  );
});
