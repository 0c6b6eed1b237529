import { describe, expect, it } from 'vitest';
import { hpa, limited, scaleInBelow, stepScaling, targetTracking } from '../../src/planning/scaling/opponents.js';
import { hpaReplicas } from '../../src/planning/scaling/hpa.js';
import type { FleetLimits, FleetView, ScalingPolicy } from '../../src/planning/scaling/simulate.js';

const limits: FleetLimits = { bootMinutes: 5, minReplicas: 1, maxReplicas: 100, cooldownMinutes: 0 };

/**
 * Feeds loads to a policy whose fleet is always fully ready and follows it at once; returns the fleet after each
 * minute.
 */
function follow(policy: ScalingPolicy, start: number, loads: readonly number[]): number[] {
  const past = Float64Array.from(loads);
  let ready = start;
  return [...loads, 0].map((_, minute) => {
    const view: FleetView = {
      minute,
      past: past.subarray(0, minute),
      ready,
      booting: 0,
      served: minute === 0 ? 0 : ready,
      limits,
    };
    ready = Math.min(limits.maxReplicas, Math.max(limits.minReplicas, policy(view)));
    return ready;
  });
}

describe('Kubernetes HPA', () => {
  it('computes ceil(current x ratio) as in the documentation: 200m against 100m doubles, 50m halves', () => {
    expect(hpaReplicas(2, 3, 0)).toBe(6);
    expect(hpaReplicas(0.5, 4, 0)).toBe(2);
    expect(hpaReplicas(90 / 75, 50, 0)).toBe(60);
  });

  it('changes nothing within a tolerance of 0.1', () => {
    expect(hpaReplicas(1.1, 10, 0)).toBe(10);
    expect(hpaReplicas(0.9, 10, 0)).toBe(10);
    expect(hpaReplicas(1.11, 10, 0)).toBe(12);
  });

  it('counts pods that are not ready as idle when scaling out, and sets them aside when scaling in', () => {
    // 4 ready at 3x the target and 4 booting: 3 x 4 / 8 = 1.5, and 1.5 x 8 = 12.
    expect(hpaReplicas(3, 4, 4)).toBe(12);
    // 1.5 x 4 / 8 = 0.75 turns the direction: nothing changes.
    expect(hpaReplicas(1.5, 4, 4)).toBe(8);
    // 2 x 4 / 8 = 1 is within the tolerance.
    expect(hpaReplicas(2, 4, 4)).toBe(8);
    expect(hpaReplicas(0.5, 4, 4)).toBe(2);
  });

  it('scales in only to the highest recommendation of the last 300 s', () => {
    const fleet = follow(hpa({ target: 0.5 }), 10, [10, 2, 2, 2, 2, 2, 2]);
    // 10 replicas at load 10 are at twice the target: 20; then each minute recommends 4, and 20 leaves the window after
    // five.
    expect(fleet).toEqual([10, 20, 20, 20, 20, 20, 4, 4]);
  });

  it('scales out by at most four steps of doubling or four pods in a minute', () => {
    const fleet = follow(hpa({ target: 0.5 }), 1, [60]);
    // 1 -> 5 -> 10 -> 20 -> 40 of the 120 wanted.
    expect(fleet).toEqual([1, 40]);
  });

  it('sees at most a utilisation of 1 in the second reading', () => {
    expect(follow(hpa({ target: 0.5, reading: 'utilisation' }), 4, [40])).toEqual([4, 8]);
  });
});

describe('AWS target tracking', () => {
  it('scales out in proportion after three minutes above the target', () => {
    // 10 at 0.7: load 8.4 asks for 12.
    expect(follow(targetTracking({ target: 0.7 }), 10, [8.4, 8.4, 8.4])).toEqual([10, 10, 10, 12]);
  });

  it('scales in after fifteen minutes below nine tenths of the target, rounding up', () => {
    const fleet = follow(targetTracking({ target: 0.7 }), 10, new Array<number>(15).fill(4.3));
    expect(fleet.slice(0, 15)).toEqual(new Array<number>(15).fill(10));
    // 4.3 / 0.7 = 6.14.
    expect(fleet[15]).toBe(7);
  });

  it('does nothing between the two alarms', () => {
    expect(
      follow(targetTracking({ target: 0.7 }), 10, new Array<number>(30).fill(6.5)).every((replicas) => replicas === 10),
    ).toBe(true);
  });
});

describe('step scaling and scale-in', () => {
  it('adds two at 70 %, removes one below 30 % per 300 s, within its own limits', () => {
    const step = stepScaling({ outAbove: 0.7, outReplicas: 2, inBelow: 0.3, minReplicas: 2, maxReplicas: 10 });
    expect(follow(step, 9, [7, 1, 1, 1, 1, 1, 1])).toEqual([9, 10, 10, 10, 10, 10, 9, 9]);
  });

  it('adds one for memory at 85 %, and the larger step where both breach', () => {
    const settings = { outAbove: 0.7, outReplicas: 2, inBelow: 0.3, memoryUsedRatio: [0.9, 0.9] };
    expect(follow(stepScaling(settings), 4, [2, 4])).toEqual([4, 5, 7]);
  });

  it('gives up one replica of a static fleet per 300 s below 30 %, and takes them back above 70 %', () => {
    expect(follow(scaleInBelow(0.3, 6), 6, [1, 1, 1, 1, 1, 1, 5])).toEqual([6, 5, 5, 5, 5, 5, 4, 6]);
  });

  it('holds a rule within limits of its own', () => {
    expect(follow(limited(hpa({ target: 0.7 }), 2, 8), 4, [20])).toEqual([4, 8]);
  });
});
