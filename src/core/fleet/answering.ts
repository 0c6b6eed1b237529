/**
 * How long an exporter has answered since it came back. Breaks that follow each other add up to one wait, so that an
 * exporter that restarts again and again cannot hide a lost card.
 *
 * Pure. A stretch is a period in which an exporter answered without a break, as far as readings show. The invariant: a
 * wait is never longer than the time since the first return, so that a machine that names its cards within the wait of
 * its boot is not missed, however its exporter fails in between. An exporter that answers for long has no stretches.
 */
import { own } from '../own.js';
import { HOUR_MS, MINUTE_MS } from '../time.js';

export type Stretch = readonly [from: number, to: number];

/** By exporter. */
export interface Answering {
  /** Since when those answer that came back, or were started, within the hour; epoch milliseconds. */
  readonly answeringSince?: Readonly<Record<string, number>>;
  /** Stretches within the hour that are over, oldest first. */
  readonly answered?: Readonly<Record<string, readonly Stretch[]>>;
}

/** The state of the exporters in a reading; `exportersUp` is null if unknown. */
export interface Heard {
  /** Epoch milliseconds. */
  readonly readTo: number;
  readonly exportersUp: readonly string[] | null;
  readonly startedAt?: Readonly<Record<string, number>>;
}

/** Two readings further apart than this do not tell whether an exporter answered all the while. */
const BREAK_MS = 2 * MINUTE_MS;
/** An hour is as far back as cards are missed. */
const KEPT_MS = HOUR_MS;

/** The state after a reading, from the state before it. */
export function answeringAfter(heard: Heard, before: (Heard & Answering) | null): Required<Answering> {
  const { readTo } = heard;
  const up = new Set(heard.exportersUp ?? []);
  const wentOn = new Set(before !== null && readTo - before.readTo <= BREAK_MS ? before.exportersUp : []);
  const answeringSince: Record<string, number> = {};
  const answered: Record<string, readonly Stretch[]> = {};
  const names = new Set([...up, ...Object.keys(before?.answeringSince ?? {}), ...Object.keys(before?.answered ?? {})]);
  for (const exporter of names) {
    const known = stretchesOf(exporter, before, before?.readTo ?? readTo);
    const now = up.has(exporter)
      ? goingOn(known, wentOn.has(exporter), startOf(exporter, heard, before), readTo)
      : known;
    const kept = now.filter(([, to]) => to > readTo - KEPT_MS);
    const current = up.has(exporter) ? kept.at(-1) : undefined;
    const over = current === undefined ? kept : kept.slice(0, -1);
    if (over.length > 0) answered[exporter] = over;
    if (current !== undefined && (over.length > 0 || current[0] > readTo - KEPT_MS))
      answeringSince[exporter] = current[0];
  }
  return { answeringSince, answered };
}

/** @param to until when the last of them goes, where it is not over */
export function stretchesOf(exporter: string, answering: Answering | null, to: number): readonly Stretch[] {
  const since = own(answering?.answeringSince, exporter);
  return [...(own(answering?.answered, exporter) ?? []), ...(since === undefined ? [] : [[since, to] as const])];
}

/** An exporter that was started again between two readings came back, too. */
function startOf(exporter: string, { startedAt, readTo }: Heard, before: Heard | null): number {
  const at = own(startedAt, exporter) ?? -Infinity;
  return at === own(before?.startedAt, exporter) ? -Infinity : Math.min(at, readTo);
}

function goingOn(known: readonly Stretch[], wentOn: boolean, startedAt: number, readTo: number): readonly Stretch[] {
  const last = known.at(-1);
  if (!wentOn) return [...known, [readTo, readTo]];
  const [from, to] = last ?? [-Infinity, -Infinity];
  if (startedAt > from && startedAt > readTo - KEPT_MS)
    return [
      ...(last === undefined ? [] : [...known.slice(0, -1), [from, Math.min(to, startedAt)] as const]),
      [startedAt, readTo],
    ];
  return last === undefined ? [] : [...known.slice(0, -1), [from, readTo]];
}

/**
 * How long an exporter has answered since it came back after an instant, milliseconds; null: it has answered all the
 * while. Breaks do not count, so that of several reboots each has its time. A return that did not last counts for
 * `leastMs`, and for no longer than until the next: so an exporter that never answers for long is detected as well.
 * @param stretches the last of them goes on
 * @param upAt its last answer
 */
export function answeredSince(
  stretches: readonly Stretch[],
  after: number,
  upAt: number,
  leastMs: number,
): number | null {
  const returns = stretches.filter(([from]) => from > after);
  if (returns.length === 0) return null;
  return returns.reduce((sum, [from, to], n) => {
    const next = returns[n + 1];
    return (
      sum + (next === undefined ? Math.max(0, upAt - from) : Math.min(next[0] - from, Math.max(to - from, leastMs)))
    );
  }, 0);
}
