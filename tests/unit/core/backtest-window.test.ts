/** The window of a replay at each of its limits. */
import { expect, it } from 'vitest';
import { checkWindow } from '../../../src/core/policy/backtest-window.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';

const AS_OF = Date.UTC(2026, 10, 1);
const check = (from: string, to: string) => checkWindow({ from, to }, AS_OF);
const pathsOf = (from: string, to: string): (string | null)[] => check(from, to).problems.map(({ path }) => path);

it('is of whole hours up to the end of what is recorded', () => {
  expect(check('2026-10-31', '2026-11-01')).toEqual({ window: { from: AS_OF - DAY_MS, to: AS_OF }, problems: [] });
  expect(check('2026-10-31T22:00:00Z', '2026-10-31T23:00:00Z').window).toEqual({
    from: AS_OF - 2 * HOUR_MS,
    to: AS_OF - HOUR_MS,
  });
  expect(pathsOf('2026-10-31', '2026-11-01T01:00:00Z')).toEqual(['to']);
  expect(pathsOf('2026-10-31T22:30:00Z', '2026-10-31T23:00:01Z')).toEqual(['from', 'to']);
});

it('has a length, of 400 days at most', () => {
  expect(pathsOf('2026-10-31', '2026-10-31')).toEqual(['to']);
  expect(pathsOf('2026-10-31', '2026-10-30')).toEqual(['to']);
  const day = (before: number): string => new Date(AS_OF - before * DAY_MS).toISOString().slice(0, 10);
  expect(pathsOf(day(400), day(0))).toEqual([]);
  expect(pathsOf(day(401), day(0))).toEqual(['from']);
});

it('is none where a text is no time, and all problems are named', () => {
  expect(check('soon', '2026-10-31').window).toBeNull();
  expect(pathsOf('soon', 'later')).toEqual(['from', 'to']);
});
