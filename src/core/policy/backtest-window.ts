/**
 * The recorded period over which a policy is replayed: whole hours, already over, not too long. Parses times; decides
 * nothing else.
 */
import type { Problem } from '../errors.js';
import { DAY_MS, formatInstant, HOUR_MS, parseInstant } from '../time.js';

/** Epoch milliseconds; `to` is not part of it. */
export interface BacktestWindow {
  readonly from: number;
  readonly to: number;
}

const MOST_DAYS = 400;

/**
 * The window that two texts mean (ISO 8601: a day or a whole hour), or every problem under the paths `from` and `to`.
 * @param asOf the end of what is recorded, epoch milliseconds
 */
export function checkWindow(
  texts: { readonly from: string; readonly to: string },
  asOf: number,
): { readonly window: BacktestWindow | null; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const read = (path: 'from' | 'to'): number => {
    const instant = parseInstant(texts[path]);
    if (instant === null)
      problems.push({ path, message: `"${texts[path]}" is not a time: write 2026-10-01 or 2026-10-01T00:00:00Z` });
    else if (instant % HOUR_MS !== 0) problems.push({ path, message: 'is not a whole hour' });
    return instant ?? NaN;
  };
  const window = { from: read('from'), to: read('to') };
  if (window.to > asOf) problems.push({ path: 'to', message: `lies after what is recorded (${formatInstant(asOf)})` });
  if (window.from >= window.to) problems.push({ path: 'to', message: 'is not after from' });
  if (window.to - window.from > MOST_DAYS * DAY_MS)
    problems.push({ path: 'from', message: `is more than ${MOST_DAYS} days before to` });
  return { window: problems.length > 0 ? null : window, problems };
}
