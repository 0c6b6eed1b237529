/**
 * A lost card of an exporter that comes back, on made-up timelines read every few seconds: no reboot whose cards are
 * late ends a machine, and no exporter that is restarted again and again hides a lost card for longer than is said.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  answeredSince,
  answeringAfter,
  stretchesOf,
  type Answering,
  type Heard,
} from '../../../src/core/fleet/answering.js';
import { assess, HEALTH_DEFAULTS } from '../../../src/core/fleet/health.js';

const START = Date.UTC(2026, 10, 21, 8);
const WAIT = HEALTH_DEFAULTS.goneAfterReturnSeconds;
const LEAST = HEALTH_DEFAULTS.leastReturnSeconds;
const EXPORTER = 'dcgm/10.0.0.1:9400';

/** What the exporter does for so many seconds: it is away, answers without the card, or names it. */
interface Phase {
  readonly seconds: number;
  readonly is: 'away' | 'without' | 'naming' | 'restarted';
}
const phase = (is: Phase['is'], seconds: number): Phase => ({ is, seconds });

/** Seconds from the start to the first look that finds the card gone, on a look every `tick` seconds; null: none does. */
function foundAfter(phases: readonly Phase[], tick = 15, namesOthers = false): number | null {
  let before: (Heard & Answering) | null = null;
  let cardSeenAt = START;
  const end = phases.reduce((sum, { seconds }) => sum + seconds, 0);
  for (let seconds = 0; seconds < end; seconds += tick) {
    const readTo = START + 1000 * seconds;
    let from = 0;
    const now = phases.find((one) => (from += one.seconds) > seconds)!;
    const isUp = now.is !== 'away';
    if (now.is === 'naming') cardSeenAt = readTo;
    const heard: Heard = {
      readTo,
      exportersUp: isUp ? [EXPORTER] : [],
      ...(now.is === 'restarted' ? { startedAt: { [EXPORTER]: START + 1000 * (from - now.seconds) } } : {}),
    };
    before = { ...heard, ...answeringAfter(heard, before) };
    const verdict = assess(
      {
        resource: 'host-1',
        gpu: 'GPU-0',
        migInstance: null,
        team: 'lab',
        workload: null,
        exporterUpAt: isUp ? readTo : null,
        exporterNamesCards: namesOthers || now.is === 'naming',
        exporterAnswers: stretchesOf(EXPORTER, before, readTo),
        cardSeenAt,
        readings: [],
      },
      readTo,
    ).find(({ rule }) => rule === 'gone');
    if (verdict?.state === 'found') return seconds;
  }
  return null;
}

const times = (count: number, ...phases: readonly Phase[]): Phase[] =>
  Array.from({ length: count }, () => phases).flat();
const LONG = phase('naming', 4000);

describe('a card that its exporter no longer names', () => {
  it.each([
    ['in plain operation, where others are named', [LONG, phase('without', 600)], true, 15],
    ['in plain operation, where it was the only one', [LONG, phase('without', 600)], false, 60],
    ['after a reboot', [LONG, phase('away', 120), phase('without', 600)], true, 120 + WAIT],
    [
      'where its exporter is away 15 s of each minute',
      [LONG, ...times(20, phase('away', 15), phase('without', 45))],
      true,
      6 * 60,
    ],
    ['the same of a single card', [LONG, ...times(20, phase('away', 15), phase('without', 45))], false, 6 * 60],
    [
      'where its exporter answers 15 s of ten minutes',
      [LONG, ...times(8, phase('away', 585), phase('without', 15))],
      true,
      6 * 600,
    ],
    [
      'where its exporter is restarted every half a minute',
      [LONG, ...times(40, phase('restarted', 30))],
      false,
      WAIT + 30,
    ],
    [
      'where its machine was away for 50 minutes',
      [LONG, phase('away', 3000), phase('without', 600)],
      true,
      3000 + WAIT,
    ],
  ] as const)('%s', (_, phases, namesOthers, within) => {
    const found = foundAfter(phases, 15, namesOthers);
    expect(found).not.toBeNull();
    expect(found! - LONG.seconds).toBeLessThanOrEqual(within + 15);
  });

  it('is not missed before the wait of a reboot is over, and each of two reboots has its time', () => {
    expect(foundAfter([LONG, phase('away', 120), phase('without', WAIT - 15), phase('naming', 60)])).toBeNull();
    const second = [phase('without', 60), phase('away', 600), phase('without', WAIT - 75), phase('naming', 60)];
    expect(foundAfter([LONG, phase('away', 120), ...second])).toBeNull();
  });
});

describe('any timeline', () => {
  const tick = fc.constantFrom(5, 15, 30);
  /** What an exporter may do between its first answer and the first that names the card. */
  const boot = fc
    .array(
      fc.record({
        is: fc.constantFrom('away' as const, 'without' as const, 'restarted' as const),
        seconds: fc.integer({ min: 1, max: 120 }),
      }),
      { maxLength: 30 },
    )
    .map((all) => {
      let left = WAIT - 1;
      return all.flatMap((one) => {
        const seconds = Math.min(left, one.seconds);
        left -= seconds;
        return seconds > 0 ? [{ ...one, seconds }] : [];
      });
    });
  /** What is away for less than the time between two looks is not seen to have been. */
  const reboot = fc.tuple(fc.integer({ min: 30, max: 2400 }), boot, fc.integer({ min: 60, max: 600 }));

  it('of reboots after each of which the card is named within the wait finds nothing', () => {
    fc.assert(
      fc.property(fc.array(reboot, { minLength: 1, maxLength: 5 }), tick, fc.boolean(), (reboots, every, others) => {
        const phases = reboots.flatMap(([away, booting, named]) => [
          phase('away', away),
          ...booting,
          phase('naming', named),
        ]);
        expect(foundAfter([phase('naming', 120), ...phases], every, others)).toBeNull();
      }),
      { numRuns: 300 },
    );
  });

  it('of an exporter that is away again and again finds a lost card by its sixth return, or within twice the wait', () => {
    const loop = fc.record({
      up: fc.integer({ min: 30, max: 400 }),
      away: fc.integer({ min: 5, max: 200 }),
      first: fc.integer({ min: 1, max: 400 }),
    });
    fc.assert(
      fc.property(loop, tick, fc.boolean(), fc.boolean(), ({ up, away, first }, every, others, beforeLoss) => {
        const healthy = beforeLoss ? times(4, phase('away', away), phase('naming', up)) : [];
        const phases = [
          phase('naming', 120),
          ...healthy,
          phase('away', first),
          ...times(60, phase('without', up), phase('away', away)),
        ];
        const lostAt = 120 + 4 * (beforeLoss ? up + away : 0) + first;
        const period = up + away;
        const found = foundAfter(phases, every, others);
        expect(found).not.toBeNull();
        expect(found! - lostAt).toBeLessThanOrEqual(Math.max(6 * period, 2 * WAIT + 2 * period) + 4 * every);
      }),
      { numRuns: 300 },
    );
  });

  it('has waited for no longer than since the first return', () => {
    const stretches = fc
      .uniqueArray(fc.integer({ min: 1, max: 3600 }), { minLength: 2, maxLength: 30 })
      .map((all) => all.toSorted((a, b) => a - b))
      .map((all) => all.flatMap((at, n): [number, number][] => (n % 2 === 0 ? [[at, all[n + 1] ?? at]] : [])));
    fc.assert(
      fc.property(stretches, fc.integer({ min: 0, max: 3600 }), (all, after) => {
        const upAt = all.at(-1)![1];
        const waited = answeredSince(all, after, upAt, LEAST);
        const first = all.find(([from]) => from > after)?.[0];
        if (first === undefined) expect(waited).toBeNull();
        else expect(waited).toBeLessThanOrEqual(upAt - first);
      }),
    );
  });
});

describe('what is kept of exporters', () => {
  const reading = (
    readTo: number,
    up: readonly string[] | null,
    before: (Heard & Answering) | null,
  ): Heard & Answering => {
    const heard = { readTo: START + readTo * 1000, exportersUp: up };
    return { ...heard, ...answeringAfter(heard, before) };
  };
  it('is nothing of those that answer for an hour, and for an hour what they answered before a break', () => {
    let state = reading(0, ['a', 'b'], null);
    const look = (from: number, to: number, up: readonly string[] | null): void => {
      for (let at = from; at <= to; at += 60) state = reading(at, up, state);
    };
    look(60, 3600, ['a', 'b']);
    expect(state).toMatchObject({ answeringSince: {}, answered: {} });
    look(3660, 3660, ['b']);
    look(3720, 3780, ['a', 'b']);
    look(3840, 3840, ['b']);
    look(3900, 3900, ['a', 'b']);
    const seconds = (at: number): number => START + at * 1000;
    expect(state).toMatchObject({
      answeringSince: { a: seconds(3900) },
      answered: { a: [[seconds(3720), seconds(3780)]] },
    });
    look(3960, 7500, ['a', 'b']);
    expect(state).toMatchObject({ answeringSince: {}, answered: {} });
  });
  it('stays where a reading cannot tell', () => {
    let state = reading(0, ['a'], null);
    state = reading(15, null, state);
    state = reading(30, ['a'], state);
    expect(stretchesOf('a', state, state.readTo)).toEqual([
      [START, START],
      [START + 30_000, START + 30_000],
    ]);
  });
});
