import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Distribution } from '../../src/planning/scaling/distribution.js';
import { hpa, stepScaling, targetTracking } from '../../src/planning/scaling/opponents.js';
import { clairvoyant } from '../../src/planning/scaling/optimum.js';
import { bursarPolicies } from '../../src/planning/scaling/planner.js';
import {
  simulate,
  startingReplicas,
  type FleetLimits,
  type ScalingPolicy,
} from '../../src/planning/scaling/simulate.js';

const loads = fc
  .array(fc.double({ min: 0, max: 12, noNaN: true }), { minLength: 1, maxLength: 80 })
  .map((values) => Float64Array.from(values));
const fleets = fc
  .record({ boot: fc.integer({ min: 0, max: 6 }), max: fc.integer({ min: 2, max: 20 }) })
  .map(({ boot, max }): FleetLimits => ({ bootMinutes: boot, minReplicas: 1, maxReplicas: max, cooldownMinutes: 0 }));

describe('any policy in the simulator', () => {
  it('stays within the limits, and pays no less than the optimum when it loses no more', () => {
    fc.assert(
      fc.property(loads, fleets, fc.integer({ min: 0, max: 3 }), (load, limits, which) => {
        const policies: ScalingPolicy[] = [
          hpa({ target: 0.5 }),
          targetTracking({ target: 0.7 }),
          stepScaling({ outAbove: 0.7, outReplicas: 2, inBelow: 0.3 }),
          bursarPolicies(load, limits, startingReplicas(load, limits), [{ price: 50, reserve: 0 }])[0]!,
        ];
        const run = simulate(load, limits, policies[which]!);
        const best = clairvoyant(load, limits);
        for (const replicas of run.replicas) {
          expect(replicas).toBeGreaterThanOrEqual(limits.minReplicas);
          expect(replicas).toBeLessThanOrEqual(limits.maxReplicas);
        }
        expect(run.unserved).toBeGreaterThanOrEqual(best.unserved - 1e-9);
        expect(run.replicaMinutes).toBe(run.replicas.reduce((sum, replicas) => sum + replicas, 0));
        if (run.unserved <= best.unserved + 1e-9)
          expect(run.replicaMinutes).toBeGreaterThanOrEqual(best.replicaMinutes);
      }),
      { numRuns: 150 },
    );
  });

  it('costs the optimum at least the need of every minute, and never more than the peak throughout', () => {
    fc.assert(
      fc.property(loads, fleets, (load, limits) => {
        const need = [...load].map((value) => Math.min(limits.maxReplicas, Math.max(1, Math.ceil(value - 1e-9))));
        const { replicaMinutes } = clairvoyant(load, limits);
        expect(replicaMinutes).toBeGreaterThanOrEqual(need.reduce((sum, replicas) => sum + replicas, 0));
        expect(replicaMinutes).toBeLessThanOrEqual(Math.max(...need) * need.length);
      }),
    );
  });
});

describe('a distribution', () => {
  it('has a shortfall that falls from its mean to zero, ever more slowly', () => {
    fc.assert(
      fc.property(fc.array(fc.double({ min: 0, max: 3, noNaN: true }), { minLength: 1, maxLength: 40 }), (roots) => {
        const distribution = new Distribution(10);
        for (const root of roots) distribution.add(root, 1);
        const shortfall = distribution.shortfall();
        const mean = roots.reduce((sum, root) => sum + Math.round(root * root * 4) / 4, 0) / roots.length;
        expect(shortfall[0]).toBeCloseTo(mean, 9);
        expect(shortfall[10]).toBeCloseTo(0, 12);
        for (let k = 1; k <= 10; k++) {
          const step = shortfall[k - 1]! - shortfall[k]!;
          expect(step).toBeGreaterThanOrEqual(-1e-12);
          expect(step).toBeLessThanOrEqual(1 + 1e-12);
          if (k > 1) expect(step).toBeLessThanOrEqual(shortfall[k - 2]! - shortfall[k - 1]! + 1e-12);
        }
      }),
    );
  });
});
