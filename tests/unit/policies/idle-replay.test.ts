/** What a missing reading leaves of the idle rule's word: both of what it may have been are tried, and both must agree. */
import { describe, expect, it } from 'vitest';
import type { Reading, ResourceView } from '../../../src/core/policy/policy.js';
import { AS_OF, exampleView } from '../../../src/policies/estimating/examples.js';
import {
  isContradictory,
  totalOf,
  verdict,
  workingWattsOf,
  type Doubt,
  type Replay,
} from '../../../src/policies/estimating/idle-replay.js';

const MINUTE = 60_000;
const GIVEN = {
  restartMinutes: 10,
  maximumFalseStopProbability: 0.3,
  minimumQuietMinutes: 1,
  staleMinutes: 5,
  lagMinutes: 1,
};
const reading = (minutesAgo: number, over: Partial<Reading> = {}): Reading => ({
  at: AS_OF - minutesAgo * MINUTE,
  gpuUtilisationRatio: 0,
  memoryUsedRatio: 0,
  requestsPerSecond: null,
  ...over,
});
/** A training that ended twelve hours ago and has been quiet since, by a reading a minute. */
const READINGS = Array.from({ length: 1020 }, (_, n) => reading(1019 - n, n < 300 ? { gpuUtilisationRatio: 0.9 } : {}));
const resource = (readings: readonly Reading[], over: Partial<ResourceView> = {}): ResourceView => ({
  resource: 'i-a',
  workload: 'training',
  gpus: 1,
  gpuModel: 'H200',
  hourlyNanos: 1_000_000_000n,
  observedFrom: READINGS[0]!.at,
  readings,
  ...over,
});
const said = (
  readings: readonly Reading[],
  over: Partial<ResourceView> = {},
  given = GIVEN,
): { readonly stops: boolean; readonly doubt: Doubt | null; readonly replay: Replay } => {
  const one = resource(readings, over);
  const { replay, doubt } = verdict(exampleView({ resources: [one] }), one, given);
  return { stops: replay.open !== null && doubt === null, doubt, replay };
};
/** Without the readings of some minutes before the last one. */
const without = (from: number, to = from): Reading[] =>
  READINGS.filter(({ at }) => at < AS_OF - from * MINUTE || at > AS_OF - to * MINUTE);
/** With one reading replaced. */
const instead = (minutesAgo: number, over: Partial<Reading>): Reading[] =>
  READINGS.map((one) => (one.at === AS_OF - minutesAgo * MINUTE ? { ...one, ...over } : one));
const ago = (minutes: number): number => AS_OF - minutes * MINUTE;

describe('a quiet of twelve hours', () => {
  it('is stopped by all of its readings, and saves what it lasted', () => {
    const { stops, replay } = said(READINGS);
    expect(stops).toBe(true);
    expect(replay.savedMinutes).toHaveLength(1);
    expect(replay.last).toMatchObject({ stop: true, reason: 'idle' });
    expect(totalOf(replay)).toBe(replay.savedMinutes[0]);
    // It was stopped within the first hour of the quiet.
    expect(totalOf(replay)).toBeGreaterThan(11 * 60);
    expect(totalOf(replay)).toBeLessThan(12 * 60);
  });

  it('is stopped although a reading of hours ago is missing: whatever it was, and of the savings the smallest', () => {
    const { stops, replay } = said(without(300));
    expect(stops).toBe(true);
    // Had it worked then, the first stop would have ended there, and the second saves the rest alone.
    expect(totalOf(replay)).toBeLessThan(totalOf(said(READINGS).replay));
    expect(replay.savedMinutes).toHaveLength(2);
  });

  it('is in doubt where a reading of a moment ago is missing: had it worked then, it would not be stopped', () => {
    expect(said(without(1))).toMatchObject({ stops: false, doubt: { at: ago(1), because: 'missing' } });
    // Of several the newest.
    expect(said(without(6, 4)).doubt).toEqual({ at: ago(4), because: 'missing' });
  });

  it('says why nobody knows of the newest minute', () => {
    expect(said(instead(1, { gpuUtilisationRatio: null })).doubt).toEqual({ at: ago(1), because: 'blank' });
    expect(said(instead(1, { powerWatts: 500 })).doubt).toEqual({ at: ago(1), because: 'contradictory' });
    expect(said(instead(0, { gpuUtilisationRatio: null })).doubt).toBeNull();
  });

  it('waits for a reading as long as one needs to arrive', () => {
    // The minute of the view is not over; the one before it has its minute to arrive.
    expect(said(without(0)).doubt).toBeNull();
    expect(said(without(1, 0)).doubt).toBeNull();
    expect(said(without(2, 0)).doubt).toEqual({ at: ago(2), because: 'late' });
    expect(said(without(2, 0), {}, { ...GIVEN, lagMinutes: 2 }).doubt).toBeNull();
    expect(said(without(1, 0), {}, { ...GIVEN, lagMinutes: 0 }).doubt).toEqual({ at: ago(1), because: 'late' });
  });

  it('may have worked before its first reading, where it was watched by then', () => {
    const quiet = READINGS.slice(300);
    const of = (observedFrom: number | null): Replay => said(quiet, { observedFrom }).replay;
    expect(said(quiet, { observedFrom: null }).stops).toBe(true);
    expect(of(quiet[0]!.at)).toEqual(of(null));
    expect(totalOf(of(READINGS[0]!.at))).toBeLessThanOrEqual(totalOf(of(null)));
    expect(said(quiet, { observedFrom: READINGS[0]!.at }).stops).toBe(true);
  });

  it('is nothing where no or a single reading is known', () => {
    for (const few of [[], [reading(0)]]) expect(said(few)).toMatchObject({ stops: false, doubt: null });
    expect(said([]).replay).toEqual({
      open: null,
      last: { stop: false, reason: 'unknown', quietMinutes: 0, falseStopProbability: null, expectedSavedMinutes: null },
      savedMinutes: [],
    });
  });
});

it('a stop that was followed by work saved what lay between, without the restart', () => {
  const returned = [...READINGS.slice(0, -1), reading(0, { gpuUtilisationRatio: 0.9 })];
  const of = (restartMinutes: number): Replay => said(returned, {}, { ...GIVEN, restartMinutes }).replay;
  const [ten, twenty] = [of(10), of(20)];
  expect(ten.open).toBeNull();
  expect(ten.last.reason).toBe('working');
  expect(ten.savedMinutes).toHaveLength(1);
  expect(ten.savedMinutes[0]!).toBeLessThan(710);
  expect(twenty.savedMinutes[0]!).toBeLessThanOrEqual(ten.savedMinutes[0]! - 10);
});

it('evidence that is unknown ends the present stop, and not what it saved', () => {
  // A service whose requests are not counted any more.
  const served = READINGS.map((one, n) => ({ ...one, requestsPerSecond: n < 300 ? 5 : n < 1019 ? 0 : null }));
  const { replay } = said(served, { workload: 'inference' });
  expect(replay.open).toBeNull();
  expect(replay.savedMinutes).toHaveLength(1);
});

describe('the power of a working card', () => {
  const view = (...resources: ResourceView[]) => exampleView({ resources });
  const drawing = (watts: number | null, over: Partial<ResourceView> = {}): ResourceView =>
    resource([reading(1, { powerWatts: 700 }), reading(0, { powerWatts: watts })], over);

  it('lies above the least that it or another of its kind drew at rest', () => {
    const alone = drawing(79);
    // 600 W / 7 more than at rest; half of its limit at most.
    expect(workingWattsOf(view(alone), alone)).toBeCloseTo(79 + 600 / 7);
    const other = drawing(60, { resource: 'i-b' });
    expect(workingWattsOf(view(alone, other), alone)).toBeCloseTo(60 + 600 / 7);
    const another = drawing(60, { resource: 'i-b', gpuModel: 'T4' });
    expect(workingWattsOf(view(alone, another), alone)).toBeCloseTo(79 + 600 / 7);
    const hot = drawing(290);
    expect(workingWattsOf(view(hot), hot)).toBe(300);
  });

  it('of an unknown kind is above its own rest, and unknown where nothing is', () => {
    const nameless = drawing(50, { gpuModel: null });
    expect(workingWattsOf(view(nameless, drawing(20, { resource: 'i-b', gpuModel: null })), nameless)).toBe(110);
    const silent = resource([reading(0)], { gpuModel: null });
    expect(workingWattsOf(view(silent), silent)).toBeNull();
  });

  it('contradicts a quiet from there on, and nothing else', () => {
    const of = (powerWatts: number | null, over: Partial<Reading> = {}, from: number | null = 100): boolean =>
      isContradictory(resource([]), reading(0, { powerWatts, ...over }), from);
    expect([of(100), of(99.9), of(null), of(500, {}, null)]).toEqual([true, false, false, false]);
    expect(of(500, { gpuUtilisationRatio: 0.9 })).toBe(false);
    expect(of(500, { gpuUtilisationRatio: null })).toBe(false);
  });
});
