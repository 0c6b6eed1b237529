/** The rule of Kubernetes' HPA as a policy decides by it, and averages over the past: limits, ties, missing data. */
import { describe, expect, it } from 'vitest';
import {
  hpaReplicas,
  trackTarget,
  type TargetSettings,
  type TrackedMinute,
} from '../../../src/planning/scaling/hpa.js';
import { SlidingLevels } from '../../../src/planning/scaling/levels.js';

describe('replicas for a measure over its target', () => {
  it('change beyond the tolerance, and not at it', () => {
    expect([0.89, 0.9, 1, 1.1, 1.11].map((ratio) => hpaReplicas(ratio, 10, 0))).toEqual([9, 10, 10, 10, 12]);
    expect(hpaReplicas(1.5, 4, 0, 0.5)).toBe(4);
    expect(hpaReplicas(1 / 3, 9, 0)).toBe(3);
    expect(hpaReplicas(0.01, 5, 0)).toBe(1);
  });

  it('count what boots as idle before more are ordered, and set it aside before any is given up', () => {
    // Three at twice the target are six; three that boot are enough.
    expect(hpaReplicas(2, 3, 3)).toBe(6);
    expect(hpaReplicas(2, 3, 1)).toBe(6);
    expect(hpaReplicas(4, 3, 1)).toBe(12);
    expect(hpaReplicas(1.2, 3, 1)).toBe(4);
    expect(hpaReplicas(0.5, 4, 2)).toBe(2);
    expect(hpaReplicas(1, 4, 2)).toBe(6);
  });
});

describe('a target that is tracked', () => {
  const SETTINGS: TargetSettings = { target: 50, tolerance: 0.1, whole: 100, minReplicas: 1, maxReplicas: 20 };
  const minute = (value: number, measured = 4): TrackedMinute => ({ value, measured });
  const plan = (
    newest: TrackedMinute,
    {
      minutes = [newest],
      hasChanged = false,
      fleet = { ready: 4, booting: 0 },
      ...settings
    }: Partial<TargetSettings> & {
      readonly minutes?: readonly (TrackedMinute | null)[];
      readonly hasChanged?: boolean;
      readonly fleet?: { readonly ready: number; readonly booting: number };
    } = {},
  ) => trackTarget(newest, minutes, hasChanged, fleet, { ...SETTINGS, ...settings });

  it('scales out at once, whatever the minutes before, and within its limits', () => {
    expect(plan(minute(100))).toEqual({ current: 4, replicas: 8, wished: 8, heldBy: 'nothing' });
    expect(plan(minute(100), { minutes: [null], hasChanged: true })).toMatchObject({ replicas: 8, heldBy: 'nothing' });
    expect(plan(minute(100), { maxReplicas: 6 })).toMatchObject({ replicas: 6, wished: 8 });
    expect(plan(minute(50))).toEqual({ current: 4, replicas: 4, wished: 4, heldBy: 'nothing' });
    expect(plan(minute(50), { minReplicas: 5 })).toMatchObject({ replicas: 5, wished: 4, heldBy: 'nothing' });
    expect(plan(minute(50), { maxReplicas: 3 })).toMatchObject({ replicas: 3 });
  });

  it('scales in only to the most that a minute of the window needed', () => {
    const low = minute(12.5);
    expect(plan(low)).toEqual({ current: 4, replicas: 1, wished: 1, heldBy: 'nothing' });
    expect(plan(low, { minutes: [minute(37.5), low] })).toMatchObject({ replicas: 3, heldBy: 'stabilisation' });
    expect(plan(low, { minutes: [minute(500), low] })).toMatchObject({ replicas: 4, heldBy: 'stabilisation' });
    expect(plan(low, { minReplicas: 2 })).toMatchObject({ replicas: 2, wished: 1, heldBy: 'nothing' });
    expect(plan(low, { minutes: [minute(25), low], minReplicas: 2 })).toMatchObject({ replicas: 2, heldBy: 'nothing' });
  });

  it('does not scale in over a minute that is missing, nor after a change', () => {
    const low = minute(12.5);
    expect(plan(low, { minutes: [null, low] })).toMatchObject({ replicas: 4, wished: 1, heldBy: 'missing minutes' });
    expect(plan(low, { hasChanged: true })).toMatchObject({ replicas: 4, heldBy: 'recent change' });
    expect(plan(low, { minutes: [null, low], hasChanged: true }).heldBy).toBe('missing minutes');
  });

  it('takes replicas of which nothing came for idle before it scales out, for wholly used before it scales in', () => {
    // Two of four at 90 are 3.6 of 4; two of four at 150 are six.
    expect(plan(minute(90, 2))).toEqual({ current: 4, replicas: 4, wished: 4, heldBy: 'unmeasured replicas' });
    expect(plan(minute(150, 2))).toMatchObject({ replicas: 6, heldBy: 'nothing' });
    // One of four at 5: the other three may be at 100 each.
    expect(plan(minute(5, 1))).toMatchObject({ replicas: 4, heldBy: 'unmeasured replicas' });
    // Three of four at 5 and one at 100 are 2.3 at the target.
    expect(plan(minute(5, 3))).toMatchObject({ replicas: 3, heldBy: 'nothing' });
    // A measure without a maximum: one that is missing is at the target.
    expect(plan(minute(5, 3), { whole: 0 })).toMatchObject({ replicas: 2 });
  });

  it('counts what boots as idle where some were not measured, and sets it aside before it scales in', () => {
    const fleet = { ready: 4, booting: 2 };
    // Three at 100 are six at the target, as many as there are with those that boot; three at 150 are nine.
    expect(plan(minute(100, 3), { fleet })).toMatchObject({ current: 6, replicas: 6 });
    expect(plan(minute(150, 3), { fleet })).toMatchObject({ replicas: 9 });
    // Three at 5 and one at 100 are 2.3 of the four that are ready.
    expect(plan(minute(5, 3), { fleet })).toMatchObject({ replicas: 3 });
    // Three at 45 and one at 100 ask for more, which the measured ones do not.
    expect(plan(minute(45, 3), { fleet })).toMatchObject({ replicas: 6, wished: 6 });
    expect(plan(minute(10, 6), { fleet })).toMatchObject({ replicas: 2 });
  });

  it('where more were measured than are ready, changes by what is certain alone', () => {
    const fleet = { ready: 4, booting: 0 };
    // Six at 80 are 9.6 at the target; four can have done 8 of them.
    expect(plan(minute(80, 6), { fleet })).toMatchObject({ replicas: 6 });
    expect(plan(minute(50, 8), { fleet })).toMatchObject({ replicas: 4 });
    expect(plan(minute(10, 5), { fleet })).toMatchObject({ replicas: 1 });
    expect(plan(minute(30, 5), { fleet })).toMatchObject({ replicas: 3 });
  });
});

describe('averages of a series', () => {
  it('by half-life weigh the newest most, and a short history evenly', () => {
    const levels = new SlidingLevels([1, 1000]);
    expect([levels.at(0), levels.count]).toEqual([0, 0]);
    levels.add(8);
    expect([levels.at(0), levels.at(1)]).toEqual([8, 8]);
    levels.add(2);
    // 2 whole and 8 half.
    expect(levels.at(0)).toBeCloseTo(6 / 1.5, 9);
    expect(levels.at(1)).toBeCloseTo(5, 2);
    expect(levels.count).toBe(2);
  });

  it('over a window are of what there is in it', () => {
    const levels = new SlidingLevels([1]);
    expect(levels.mean(0, 5)).toBe(0);
    for (const value of [1, 2, 6, 11]) levels.add(value);
    expect(levels.mean(1, 3)).toBe(4);
    expect(levels.mean(0, 4)).toBe(5);
    expect(levels.mean(-5, 2)).toBe(1.5);
    expect(levels.mean(2, 99)).toBe(8.5);
    expect([levels.mean(2, 2), levels.mean(3, 1), levels.mean(4, 9)]).toEqual([0, 0, 0]);
  });
});
