/** A recorded resource under stops: which minutes count, until when a stop lasts, and what it saved or disturbed. */
import { describe, expect, it } from 'vitest';
import type { ResourceView } from '../../../src/core/policy/policy.js';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import { ReplayedResource } from '../../../src/planning/policy/resources.js';
import { CostSteps } from '../../../src/planning/policy/steps.js';

const at = (minute: number): number => minute * MINUTE_MS;

/** Each reading by its minute: at work, quiet, or unknown. 60 currency units an hour. */
const replayed = (
  readings: readonly (readonly [minute: number, kind: 'w' | 'q' | '?'])[],
  to = 120,
  over: Partial<ResourceView> = {},
): ReplayedResource =>
  new ReplayedResource(
    {
      resource: 'r',
      workload: 'training',
      gpus: 1,
      gpuModel: 'T4',
      hourlyNanos: 60_000_000_000n,
      observedFrom: 0,
      readings: readings.map(([minute, kind]) => ({
        at: at(minute),
        gpuUtilisationRatio: kind === 'w' ? 0.5 : kind === 'q' ? 0 : null,
        memoryUsedRatio: 0.1,
        requestsPerSecond: null,
      })),
      ...over,
    },
    0,
    at(to),
  );
/** A reading each ten minutes; the letters say what each showed. */
const each10 = (letters: string, to = letters.length * 10): ReplayedResource =>
  replayed(
    Array.from(letters, (kind, n) => [n * 10, kind as 'w' | 'q' | '?']),
    to,
  );

describe('minutes that count', () => {
  it('lie between readings of the window at most an hour apart', () => {
    const one = replayed(
      [
        [-10, 'w'],
        [0, 'w'],
        [60, 'q'],
        [121, 'q'],
        [131, 'w'],
        [140, 'w'],
        [150, 'w'],
      ],
      150,
    );
    expect(one.samples.map(({ evidence, useful }) => [evidence.minute, useful])).toEqual([
      [0, true],
      [60, false],
      [121, false],
      [131, true],
      [140, true],
    ]);
    expect(one.minutes(0, at(150))).toBe(60 + 10 + 9);
    expect(one.minutes(0, at(150), true)).toBe(60 + 9);
    expect(one.minutes(at(30), at(125))).toBe(30 + 4);
    expect(one.minutes(at(60), at(121))).toBe(0);
    expect(one.minutes(at(61), at(121), true)).toBe(0);
    expect(one.minutes(at(50), at(40))).toBe(0);
    expect(one.minutes(at(135), at(999))).toBe(5);
    expect(replayed([]).minutes(0, at(120))).toBe(0);
    expect(replayed([[5, 'w']]).minutes(0, at(120))).toBe(0);
  });

  it('are samples of what was read', () => {
    expect(
      replayed([
        [5, '?'],
        [6, 'q'],
      ]).samples,
    ).toEqual([
      {
        evidence: {
          resource: 'r',
          minute: 5,
          gpuUtilPercent: null,
          requestsPerSecond: null,
          memoryUsedRatio: 0.1,
          workload: 'training',
        },
        useful: true,
      },
      expect.objectContaining({ evidence: expect.objectContaining({ gpuUtilPercent: 0 }), useful: false }),
    ]);
    expect(replayed([[5, 'w']]).samples[0]!.evidence.gpuUtilPercent).toBe(50);
  });
});

describe('a stop of what rests', () => {
  it('lasts until a reading shows work, or nothing known', () => {
    for (const needed of ['w', '?']) {
      const one = each10(`wqqq${needed}qq`);
      one.stop(at(15));
      expect([at(15), at(39), at(40)].map((instant) => one.isStopped(instant))).toEqual([true, true, false]);
    }
    const never = each10('wqqqq');
    expect(never.isStopped(at(15))).toBe(false);
    never.stop(at(15));
    expect(never.isStopped(at(49))).toBe(true);
  });

  it('saves what it is away less the restart, which is not paid where it is not needed again', () => {
    const one = each10('wqqqww');
    expect(one.bill(5)).toEqual({ cost: 50, stops: 0, falseStops: 0, preventedMinutes: 0 });
    one.stop(at(10));
    one.stop(at(20));
    expect(one.bill(5)).toEqual({ cost: 50 - 30 + 5, stops: 1, falseStops: 0, preventedMinutes: 0 });
    one.stop(at(40));
    expect(one.bill(5)).toMatchObject({ stops: 2 });
    const never = each10('wqqqqq');
    never.stop(at(10));
    expect(never.bill(5)).toMatchObject({ cost: 10, stops: 1, falseStops: 0 });
  });

  it('is false where it was needed again within ten minutes', () => {
    const falseStops = (stopAt: number): number => {
      const one = each10('wqqww');
      one.stop(at(stopAt));
      return one.bill(5).falseStops;
    };
    expect([10, 19, 20, 25].map(falseStops)).toEqual([0, 0, 1, 1]);
  });

  it('is not taken back by the policy', () => {
    const one = each10('wqqqww');
    one.stop(at(10));
    one.release(at(20));
    expect(one.isStopped(at(39))).toBe(true);
  });
});

describe('a stop of what works', () => {
  it('lasts until the policy no longer asks for it, and counts the work that it prevented', () => {
    const one = each10('wwwwqw');
    one.stop(at(10));
    expect(one.isStopped(at(59))).toBe(true);
    expect(one.bill(5)).toEqual({ cost: 10, stops: 1, falseStops: 0, preventedMinutes: 30 });
    one.release(at(20));
    expect([at(19), at(20)].map((instant) => one.isStopped(instant))).toEqual([true, false]);
    // It runs again, which is a restart, and no stop that was false.
    expect(one.bill(5)).toEqual({ cost: 50 - 10 + 5, stops: 1, falseStops: 0, preventedMinutes: 10 });
    one.release(at(30));
    expect(one.bill(5).preventedMinutes).toBe(10);
  });

  it('is none before its first reading: nobody knows that it worked', () => {
    const one = replayed([
      [10, 'q'],
      [20, 'q'],
      [30, 'w'],
      [40, 'w'],
    ]);
    one.stop(at(5));
    expect(one.isStopped(at(29))).toBe(true);
    expect(one.isStopped(at(30))).toBe(false);
    one.release(at(50));
    expect(each10('w').isStopped(0)).toBe(false);
  });
});

it('its cost is unknown without a price, and is that of its steps', () => {
  expect(each10('ww').unknown).toBeNull();
  const unpriced = replayed(
    [
      [0, 'w'],
      [10, 'w'],
    ],
    20,
    { hourlyNanos: null },
  );
  expect(unpriced.unknown).toContain('hourly cost');
  expect(unpriced.perHour).toBeNull();
  expect(unpriced.bill(5).cost).toBe(0);
  expect(each10('ww').perHour).toBe(60);

  // Three days, quiet from the first noon to the third; needed again there.
  const hours = Array.from({ length: 72 }, (_, hour) => [hour * 60, hour < 12 || hour >= 60 ? 'w' : 'q'] as const);
  const long = replayed(hours, 72 * 60);
  const steps = new CostSteps({ from: 0, to: 3 * DAY_MS });
  expect([...long.paid(5, steps)]).toEqual([1440, 1440, 23 * 60]);
  long.stop(12 * HOUR_MS);
  expect([...long.paid(5, steps)]).toEqual([720, 0, 11 * 60 + 5]);
  expect(long.bill(5).cost).toBe(720 + 11 * 60 + 5);
});
