/**
 * Constants that a command has learned, against what it learns now; constants that were chosen, against their
 * neighbours. The network's: tests/e2e/learned-network.test.ts.
 */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_PARAMETERS, fitAvailability } from '../../src/planning/spot/availability-model.js';
import { COVERAGES, FORECAST_CONSTANTS, INTERVAL_CONSTANTS, measured } from './forecast-neighbours.mjs';
import { readRecordings } from './spot-recordings.mjs';

const RECORDINGS = path.join(import.meta.dirname, '../fixtures/spot-availability/recordings.jsonl.gz');

describe("spot's built-in parameters", () => {
  it('are what four recorded zones teach', () => {
    const recordings = readRecordings(RECORDINGS);
    expect(recordings.map(({ length }) => length)).toEqual([1764, 1764, 1764, 1764]);
    const learned = fitAvailability(recordings);
    const rounded = (numbers: readonly number[]): number[] => numbers.map((one) => Number(one.toFixed(4)));
    const shares = rounded(learned.characterShares).slice(0, -1);
    expect({
      ...learned,
      absent: rounded(learned.absent),
      available: rounded(learned.available),
      // The last makes the rounded ones add up to 1.
      characterShares: [...shares, Number((1 - shares.reduce((sum, one) => sum + one, 0)).toFixed(4))],
    }).toEqual(BUILT_IN_PARAMETERS);
  });
});

describe("the forecast's constants, on a part of the series that they were chosen on", () => {
  const [seeds, every] = [3, 29];
  const constant = (list: typeof FORECAST_CONSTANTS, name: string) => {
    const found = list.find((one) => one.name === name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };

  it('have no neighbour with 0.6 % less error', async () => {
    const moved = await (await measured(seeds, every)).misses(FORECAST_CONSTANTS);
    expect(moved).toHaveLength(36);
    for (const { name, to, change } of moved) expect.soft(change, `${name} ${to}`).toBeGreaterThan(-0.006);
  }, 300_000);

  // A narrower interval has a better score here and holds less; which one is right was not chosen by the score alone.
  it('of the interval hold what was asked within 4 points, and have no neighbour that scores 2.5 % better', async () => {
    const { held, moved } = await (await measured(seeds, every)).intervals(INTERVAL_CONSTANTS);
    COVERAGES.forEach((asked, index) => expect(Math.abs((held[index] ?? 0) - asked)).toBeLessThan(0.04));
    expect(moved).toHaveLength(32);
    for (const { name, to, changes } of moved)
      for (const { change } of changes) expect.soft(change, `${name} ${to}`).toBeGreaterThan(-0.025);
  }, 300_000);

  it('would be found to be far off', async () => {
    const prior = { ...constant(FORECAST_CONSTANTS, 'DRIFT_PRIOR'), to: '50', neighbours: [0.5] };
    const [nearer] = await (await measured(seeds, every, prior)).misses([prior]);
    expect(nearer?.change).toBeLessThan(-0.05);
    const wide = { ...constant(INTERVAL_CONSTANTS, 'BREAK'), to: '0.8', neighbours: [0.4] };
    const { moved } = await (await measured(seeds, every, wide)).intervals([wide]);
    for (const { change } of moved[0]?.changes ?? []) expect(change).toBeLessThan(-0.025);
    expect(moved[0]?.changes).toHaveLength(COVERAGES.length);
  }, 300_000);
});
