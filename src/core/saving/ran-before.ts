/**
 * What ran before an action, as its meter says: how many GPUs at once, and on which term.
 *
 * Decides nothing about money. The rule: a group's share of spot applies to the machines that it launches from then on;
 * only the meter, not the setting, says which running machines are spot. An unmetered value is null.
 */
import type { Holding } from './counterfactual.js';
import type { Piece } from './evidence.js';
import { DAY_MS, type Interval } from '../time.js';

export interface RanBefore {
  /** The share of the GPU parts on spot. */
  readonly spotShare: number;
  readonly spotParts: number;
  readonly onSpot: ReadonlySet<string>;
}

/** The usage at the last metered time before another, within a day. */
export function lastBefore(pieces: readonly Piece[], before: number): RanBefore | null {
  const known = pieces.filter(({ record }) => record.start < before && record.end > before - DAY_MS);
  const at = Math.max(-Infinity, ...known.map(({ record }) => Math.min(record.end, before)));
  const last = known.filter(({ record }) => record.start < at && record.end >= at);
  const spot = last.filter(({ record }) => record.term === 'spot');
  const partsOf = (some: readonly Piece[]): number => some.reduce((sum, { record }) => sum + (record.gpuParts ?? 0), 0);
  const [all, spotParts] = [partsOf(last), partsOf(spot)];
  return all === 0
    ? null
    : { spotShare: spotParts / all, spotParts, onSpot: new Set(spot.flatMap(({ record }) => record.resource ?? [])) };
}

/** Whether anything of these runs on spot that did not run on spot before, as metered or made up of the worlds after. */
export function hasMoreSpot(own: readonly Piece[], before: RanBefore | null, window: Interval): boolean {
  const spot = own.filter(
    ({ record }) => record.term === 'spot' && record.start < window.end && record.end > window.start,
  );
  const isNew = ({ line, record: { resource } }: Piece): boolean =>
    line !== null && resource !== null && before?.onSpot.has(resource) !== true;
  return spot.some(isNew) || (heldAtOnce(spot, window) ?? 0) > (before?.spotParts ?? 0);
}

/**
 * Which of a group's replicas were spot says its meter: the share that it was set to is of the machines that it
 * launches, not of those that ran already.
 */
export function asMetered(holdings: readonly Holding[], before: RanBefore | null): readonly Holding[] {
  const [first] = holdings;
  const isMixed = holdings.every(({ key }) => key.term === 'spot' || key.term === 'on-demand');
  if (first === undefined || before === null || !isMixed) return holdings;
  const units = holdings.reduce((sum, one) => sum + one.units, 0);
  const spot = Math.min(units, Math.ceil(units * before.spotShare - 1e-9));
  const heldOn = (term: 'spot' | 'on-demand', count: number): Holding[] =>
    count === 0 ? [] : [{ ...first, key: { ...first.key, term }, units: count }];
  return [...heldOn('on-demand', units - spot), ...heldOn('spot', spot)];
}

/** The most GPU parts at one instant of the interval; null: none at all. */
export function heldAtOnce(pieces: readonly Piece[], { start, end }: Interval): number | null {
  const steps = pieces
    .filter(({ record }) => record.start < end && record.end > start)
    .flatMap(
      ({ record }) =>
        [
          [record.start, record.gpuParts ?? 0],
          [record.end, -(record.gpuParts ?? 0)],
        ] as const,
    );
  let [held, most] = [0, 0];
  for (const [, parts] of [...steps].sort(([a, x], [b, y]) => a - b || x - y)) most = Math.max(most, (held += parts));
  return most === 0 ? null : most;
}
