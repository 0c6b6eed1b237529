/**
 * One seed tells one story: whatever was simulated before, in whichever database. Without that no failure could be seen
 * again.
 */
import { describe, expect, it, vi } from 'vitest';
import { simulationDatabase } from './database.js';
import { seedsToRun } from './seeds.js';
import { simulate } from './simulate.js';

vi.mock('node:crypto', async (original) => (await import('./randomness.js')).seeded(await original()));

describe.skipIf(process.env['BURSAR_SEED'])('a seed', async () => {
  const [one, other] = [await simulationDatabase(), await simulationDatabase()];

  it.each([2, 7, 21])('%i tells the same story again', async (seed) => {
    await simulate(one, seed + 1);
    const { story, tally } = await simulate(one, seed);
    expect(story.length).toBeGreaterThan(10);
    expect(await simulate(other, seed)).toEqual({ story, tally });
  });

  it('other than its neighbour', async () => {
    expect((await simulate(one, 4)).story).not.toEqual((await simulate(one, 5)).story);
  });
});

describe('the seeds that are run', () => {
  it('are as many, or those, that the environment asks for', () => {
    expect(seedsToRun({})).toHaveLength(400);
    expect(seedsToRun({ BURSAR_SEEDS: '3' })).toEqual([1, 2, 3]);
    expect(seedsToRun({ BURSAR_SEEDS: '8-9' })).toEqual([8, 9]);
    expect(seedsToRun({ BURSAR_SEEDS: '8-9', BURSAR_SEED: '123' })).toEqual([123]);
    for (const wrong of ['x', '9-8', '-1']) expect(() => seedsToRun({ BURSAR_SEEDS: wrong })).toThrow('BURSAR_SEEDS');
  });
});
