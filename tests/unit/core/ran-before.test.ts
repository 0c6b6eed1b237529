/** What ran before an action: the last metered time within a day, its share of spot, and what that says of replicas. */
import { describe, expect, it } from 'vitest';
import type { Holding } from '../../../src/core/saving/counterfactual.js';
import type { Piece } from '../../../src/core/saving/evidence.js';
import { asMetered, hasMoreSpot, heldAtOnce, lastBefore, type RanBefore } from '../../../src/core/saving/ran-before.js';
import { DAY_MS } from '../../../src/core/time.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { HOUR, metered, MONDAY } from '../../support/records.js';

/** Hours from Monday. */
const ran = (
  resource: string | null,
  from: number,
  to: number,
  over: Partial<UsageRecord> = {},
  line: string | null = 'meter/1',
): Piece => ({
  record: metered(`${resource}`, {
    resource,
    start: MONDAY + from * HOUR,
    end: MONDAY + to * HOUR,
    gpuParts: 8,
    ...over,
  }),
  line,
  targets: [],
});
const spot = (resource: string | null, from: number, to: number, gpuParts: number | null = 8): Piece =>
  ran(resource, from, to, { term: 'spot', gpuParts });

describe('what ran before an action', () => {
  it('is all that ran at the last metered time, and how much of it on spot', () => {
    const before = lastBefore([ran('a', 0, 2), spot('b', 1, 3), ran('c', 2, 3, { gpuParts: 24 })], MONDAY + 4 * HOUR);
    expect(before).toEqual({ spotShare: 0.25, spotParts: 8, onSpot: new Set(['b']) });
    const cut = lastBefore([ran('a', 0, 5), spot('b', 1, 3)], MONDAY + 4 * HOUR);
    expect(cut).toEqual({ spotShare: 0, spotParts: 0, onSpot: new Set() });
  });

  it('names no machine where the meter names none', () => {
    expect(lastBefore([spot(null, 0, 1)], MONDAY + HOUR)).toEqual({ spotShare: 1, spotParts: 8, onSpot: new Set() });
  });

  it('is not known of what began with it, ended a day before, or has no GPUs', () => {
    expect(lastBefore([], MONDAY)).toBeNull();
    expect(lastBefore([ran('a', 0, 1)], MONDAY)).toBeNull();
    expect(lastBefore([ran('a', 0, 1)], MONDAY + HOUR + DAY_MS)).toBeNull();
    expect(lastBefore([ran('a', 0, 1)], MONDAY + HOUR + DAY_MS - 1)).not.toBeNull();
    expect(lastBefore([ran('a', 0, 1, { gpuParts: null })], MONDAY + HOUR)).toBeNull();
  });
});

describe('more spot than before', () => {
  const window = { start: MONDAY, end: MONDAY + 2 * HOUR };
  const before: RanBefore = { spotShare: 1, spotParts: 8, onSpot: new Set(['a']) };
  const hasMore = (pieces: readonly Piece[], known: RanBefore | null = before) => hasMoreSpot(pieces, known, window);

  it('is another machine on spot, or more of them at once', () => {
    expect(hasMore([spot('a', 0, 2)])).toBe(false);
    expect(hasMore([spot('b', 0, 1)])).toBe(true);
    expect(hasMore([spot(null, 0, 1), spot(null, 1, 2)])).toBe(false);
    expect(hasMore([spot(null, 0, 2), spot(null, 1, 2, 1)])).toBe(true);
    expect(hasMore([spot('a', 0, 1)], null)).toBe(true);
  });

  it('is nothing that is on demand, outside the window, or made up and no more than before', () => {
    expect(hasMore([ran('b', 0, 2), spot('b', -1, 0), spot('b', 2, 3)])).toBe(false);
    expect(hasMore([ran('b', 0, 2, { term: 'spot' }, null)])).toBe(false);
    expect(hasMore([])).toBe(false);
  });
});

describe('replicas as metered', () => {
  const holding = (term: Holding['key']['term'], units: number): Holding => ({
    key: { provider: 'AWS', account: null, sku: 'p5', gpuModel: null, region: null, term },
    gpuParts: 8,
    units,
  });
  const share = (spotShare: number): RanBefore => ({ spotShare, spotParts: 0, onSpot: new Set() });
  const shown = (holdings: readonly Holding[], before: RanBefore | null): string[] =>
    asMetered(holdings, before).map(({ key, units }) => `${units} ${key.term}`);

  it('are spot by the share that ran on spot, a part of one as a whole one', () => {
    const both = [holding('on-demand', 3), holding('spot', 1)];
    expect(shown(both, share(0.5))).toEqual(['2 on-demand', '2 spot']);
    expect(shown(both, share(0.51))).toEqual(['1 on-demand', '3 spot']);
    expect(shown(both, share(0))).toEqual(['4 on-demand']);
    expect(shown(both, share(1))).toEqual(['4 spot']);
  });

  it('stay as they are set where nothing is metered or the term is another', () => {
    expect(shown([holding('on-demand', 3)], null)).toEqual(['3 on-demand']);
    expect(shown([holding(null, 3)], share(1))).toEqual(['3 null']);
    expect(shown([], share(1))).toEqual([]);
  });
});

describe('the most at one instant', () => {
  it('counts those that overlap, and not those that only meet', () => {
    const window = { start: MONDAY, end: MONDAY + 4 * HOUR };
    expect(heldAtOnce([ran('a', 0, 2), ran('b', 1, 3)], window)).toBe(16);
    expect(heldAtOnce([ran('b', 1, 3), ran('a', 0, 1)], window)).toBe(8);
    expect(heldAtOnce([ran('a', -1, 0), ran('b', 4, 5), ran('c', 1, 2, { gpuParts: null })], window)).toBeNull();
  });
});
