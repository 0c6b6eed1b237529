/** Constants that a command has learned, against what it learns now. The network's: tests/e2e/learned-network.test.ts. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BUILT_IN_PARAMETERS, fitAvailability } from '../../src/planning/spot/availability-model.js';
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
