import { describe, expect, it } from 'vitest';
import { capacityPerReplica, quantile, requestsPerMinute } from '../../src/planning/scaling/load.js';
import { clairvoyant } from '../../src/planning/scaling/optimum.js';
import { checkLimits, simulate, type FleetLimits } from '../../src/planning/scaling/simulate.js';

const limits = (bootMinutes: number, maxReplicas = 10): FleetLimits => ({
  bootMinutes,
  minReplicas: 1,
  maxReplicas,
  cooldownMinutes: 0,
});

describe('load', () => {
  it('counts calendar minutes and keeps the empty ones between', () => {
    expect([...requestsPerMinute([59_999, 60_000, 61_000, 185_000])]).toEqual([1, 2, 0, 1]);
  });

  it('takes quantiles by linear interpolation and scales the 99th percentile to the peak', () => {
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
    expect(
      capacityPerReplica(
        Float64Array.from({ length: 101 }, (_, i) => i),
        20,
      ),
    ).toBeCloseTo(99 / 20, 12);
  });

  it('refuses arrivals without scale, without time, and over too long a span', () => {
    expect(() => capacityPerReplica(new Float64Array(10), 5)).toThrow(/zero/);
    expect(() => requestsPerMinute([])).toThrow(/no arrivals/);
    expect(() => requestsPerMinute([Number.NaN])).toThrow(/no finite time/);
    expect(() => requestsPerMinute([0, 1e15])).toThrow(/unit of time/);
  });
});

describe('simulate', () => {
  it('pays booting replicas, serves with ready ones, loses the rest', () => {
    // Start 1. At minute 1 three are wanted: two boot in minutes 1 and 2 and serve from minute 3.
    const run = simulate(Float64Array.from([1, 3, 3, 3, 1]), limits(2), (view) =>
      view.minute === 0 ? 1 : view.minute === 4 ? 1 : 3,
    );
    expect([...run.replicas]).toEqual([1, 3, 3, 3, 1]);
    expect(run.replicaMinutes).toBe(11);
    expect(run.unserved).toBe(4);
  });

  it('cancels the youngest booting replicas before ready ones', () => {
    // Two ready; one ordered at 0, one at 1; at 2 one is given up, the one of minute 1: the other serves from 3.
    const ready: number[] = [];
    simulate(
      Float64Array.from([2, 2, 2, 2, 2]),
      limits(3),
      (view) => (ready.push(view.ready), [3, 4, 3, 3, 3][view.minute]!),
    );
    expect(ready).toEqual([2, 2, 2, 3, 3]);
  });

  it('scales in no further during a cooldown', () => {
    const run = simulate(new Float64Array(6).fill(5), { ...limits(1), cooldownMinutes: 2 }, (view) => 5 - view.minute);
    expect([...run.replicas]).toEqual([5, 4, 4, 4, 1, 1]);
  });

  it('hands a policy nothing of the present or the future', () => {
    simulate(Float64Array.from([1, 2, 3]), limits(1), (view) => {
      expect(view.past.length).toBe(view.minute);
      return 1;
    });
  });

  it('names every limit that is out of range', () => {
    expect(() => checkLimits({ bootMinutes: -1, minReplicas: 4, maxReplicas: 2.5, cooldownMinutes: 0 })).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        problems: expect.arrayContaining([
          expect.objectContaining({ path: 'bootMinutes' }),
          expect.objectContaining({ path: 'maxReplicas' }),
        ]),
      }),
    );
  });
});

describe('clairvoyant', () => {
  it('keeps a level through a short gap and boots it again over a long one', () => {
    // Level 2 is needed in minutes 0 and 3: the gap of 2 costs min(2, boot).
    expect(clairvoyant(Float64Array.from([2, 1, 1, 2]), limits(5)).replicaMinutes).toBe(4 + 2 + 2);
    expect(clairvoyant(Float64Array.from([2, 1, 1, 1, 2]), limits(1)).replicaMinutes).toBe(5 + 2 + 1);
  });

  it('boots before the first use, and loses what the maximum cannot serve', () => {
    expect(clairvoyant(Float64Array.from([1, 1, 1, 3]), limits(2)).replicaMinutes).toBe(4 + 2 + 2 * 2);
    expect(clairvoyant(Float64Array.from([1, 4]), limits(2, 3))).toEqual({ replicaMinutes: 1 + 3 + 2, unserved: 1 });
  });

  it('equals the best of all fleets on every small load', () => {
    for (const boot of [0, 1, 2, 3]) {
      for (let code = 0; code < 3 ** 6; code++) {
        const load = Float64Array.from({ length: 6 }, (_, i) => Math.floor(code / 3 ** i) % 3);
        expect(clairvoyant(load, limits(boot, 2)).replicaMinutes).toBe(bruteForce(load, boot, 2));
      }
    }
  });
});

/**
 * Cheapest fleet by trying every order of totals: ready replicas by the age of the booting ones, one minute at a time.
 * The starting fleet is free and may hold replicas at any stage of booting, as the optimum's may.
 */
function bruteForce(load: Float64Array, boot: number, most: number): number {
  let best = Infinity;
  const need = (minute: number): number => Math.max(1, Math.ceil(load[minute]!));
  const walk = (minute: number, ready: number, booting: readonly number[], paid: number): void => {
    if (paid >= best) return;
    if (minute === load.length) {
      best = paid;
      return;
    }
    for (let wanted = 1; wanted <= most; wanted++) {
      let nowReady = ready + (booting[0] ?? 0);
      const queue = booting.slice(1);
      const have = nowReady + queue.reduce((sum, count) => sum + count, 0);
      if (wanted > have) {
        if (boot === 0) nowReady += wanted - have;
        else {
          while (queue.length < boot) queue.push(0);
          queue[boot - 1] = queue[boot - 1]! + wanted - have;
        }
      } else {
        let cut = have - wanted;
        for (let i = queue.length - 1; i >= 0 && cut > 0; i--) {
          const gone = Math.min(cut, queue[i]!);
          queue[i] = queue[i]! - gone;
          cut -= gone;
        }
        nowReady -= cut;
      }
      if (nowReady >= need(minute)) walk(minute + 1, nowReady, queue, paid + wanted);
    }
  };
  for (let ready = 1; ready <= most; ready++) walk(0, ready, [], 0);
  return best;
}
