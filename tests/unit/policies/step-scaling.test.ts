/** step-scaling at its thresholds, in size and in time; and what a smaller fleet would have saved of its window. */
import { describe, expect, it } from 'vitest';
import type { FleetFacts, WorkloadView } from '../../../src/core/policy/policy.js';
import { MINUTE_MS } from '../../../src/core/time.js';
import { AS_OF, exampleView, minutes, steady, workload } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/step-scaling.js';

const FLEET: FleetFacts = { ready: 4, booting: 0, minReplicas: 2, maxReplicas: 10, changedAt: AS_OF - 5 * MINUTE_MS };
type Values = readonly (number | null)[];

const group = (use: Values, memory: Values, fleet: Partial<FleetFacts> = {}, over: Partial<WorkloadView> = {}) =>
  workload('w', {
    fleet: { ...FLEET, ...fleet },
    metrics: { gpu_utilisation_ratio: minutes(use), memory_used_ratio: minutes(memory) },
    ...over,
  });
const busy = (use: number, memory = 0.5) => [steady(use, 60), steady(memory, 60)] as const;
const proposed = (one: WorkloadView, given: object = {}) =>
  policy.evaluate(exampleView({ workloads: [one] }), policy.params.parse(given))[0];
const sizeOf = (one: WorkloadView, given: object = {}) => proposed(one, given)?.change?.['replicas'] ?? 'stays';
const told = (one: WorkloadView, given: object = {}) =>
  policy.explain!(exampleView({ workloads: [one] }), policy.params.parse(given))[0]!;

describe('replicas are added', () => {
  it.each<[number | string, number, number, object]>([
    ['stays', 0.699, 0.5, {}],
    [6, 0.7, 0.5, {}],
    [5, 0.5, 0.85, {}],
    ['stays', 0.5, 0.849, {}],
    [6, 0.7, 0.85, {}],
    [7, 0.7, 0.85, { memoryReplicas: 3 }],
    ['stays', 0.5, 0.85, { memoryReplicas: 0 }],
    ['stays', 0.5, 0.9, { memoryMetric: null }],
    [5, 0.6, 0.5, { outAboveRatio: 0.6, outReplicas: 1 }],
  ])('to %s at %d of the GPUs and %d of memory, by %o', (size, use, memory, given) => {
    expect(sizeOf(group(...busy(use, memory)), given)).toBe(size);
  });

  it('only if every minute was measured, up to the maximum, and not while others boot', () => {
    const all = steady(0.9, 60);
    const memory = steady(0.5, 60);
    expect(sizeOf(group([...steady(0.9, 55), 0.9, 0.9, 0.69, 0.9, 0.9], memory))).toBe('stays');
    expect(sizeOf(group([...steady(0.9, 55), 0.9, 0.9, null, 0.9, 0.9], memory))).toBe('stays');
    expect(sizeOf(group([...steady(0.1, 55), ...steady(0.9, 5)], memory))).toBe(6);
    expect(sizeOf(group([...steady(0.1, 56), ...steady(0.9, 4)], memory))).toBe('stays');
    expect(sizeOf(group([...steady(0.1, 56), ...steady(0.9, 4)], memory), { breachMinutes: 4 })).toBe(6);
    expect(sizeOf(group(all, memory, { maxReplicas: 5 }))).toBe(5);
    expect(sizeOf(group(all, memory, { maxReplicas: 4 }))).toBe('stays');
    expect(sizeOf(group(all, memory, { booting: 1 }))).toBe('stays');
  });

  it('and say by what: the larger step, of equals that of the metric', () => {
    const title = (use: number, memory: number, given: object = {}) =>
      proposed(group(...busy(use, memory)), given)?.title;
    expect(title(0.9, 0.9)).toBe('Raise w from 4 to 6 replicas: gpu_utilisation_ratio of 70 % or more for 5 minutes');
    expect(title(0.5, 0.9)).toBe('Raise w from 4 to 5 replicas: 85 % of memory or more in use for 5 minutes');
    expect(title(0.9, 0.9, { memoryReplicas: 2 })).toMatch(/gpu_utilisation_ratio/);
    expect(title(0.9, 0.9, { memoryReplicas: 3 })).toMatch(/memory/);
  });

  it('cost what they cost', () => {
    // Four dollars an hour, 730 hours a month.
    const dollars = (count: number) => BigInt(count * 4 * 730) * 1_000_000_000n;
    expect(proposed(group(...busy(0.9)))).toMatchObject({
      action: 'ScaleOut',
      protective: true,
      monthlySavings: { mean: -dollars(2) },
      monthlyCost: dollars(4),
      risk: { interruption: 'None' },
    });
    expect(proposed(group(...busy(0.9), {}, { gpusPerReplica: null }))).toMatchObject({
      monthlySavings: null,
      monthlyCost: null,
      computation: { perReplicaHour: 'no price' },
    });
  });
});

describe('a replica is removed', () => {
  it.each<[number | string, number, number, Partial<FleetFacts>, object]>([
    ['stays', 0.3, 0.5, {}, {}],
    [3, 0.299, 0.5, {}, {}],
    ['stays', 0.1, 0.85, {}, { memoryReplicas: 0 }],
    [3, 0.1, 0.849, {}, { memoryReplicas: 0 }],
    [3, 0.1, 0.849, {}, {}],
    [3, 0.1, 0.9, {}, { memoryMetric: null }],
    [2, 0.1, 0.5, {}, { inReplicas: 3 }],
    ['stays', 0.1, 0.5, { ready: 2 }, {}],
    [1, 0.1, 0.5, { minReplicas: 0 }, { inReplicas: 9 }],
    ['stays', 0.1, 0.5, { ready: 1, minReplicas: 0 }, {}],
    ['stays', 0.1, 0.5, { booting: 1 }, {}],
    ['stays', 0.1, 0.5, { changedAt: null }, {}],
    ['stays', 0.1, 0.5, { changedAt: AS_OF - 5 * MINUTE_MS + 1 }, {}],
    [3, 0.1, 0.5, { changedAt: AS_OF }, { cooldownMinutes: 0 }],
    ['stays', 0.4, 0.5, {}, { inBelowRatio: 0.4 }],
    [3, 0.39, 0.5, {}, { inBelowRatio: 0.4 }],
  ])('to %s at %d of the GPUs and %d of memory, %o, by %o', (size, use, memory, fleet, given) => {
    expect(sizeOf(group(...busy(use, memory), fleet), given)).toBe(size);
  });

  it('only if every minute was measured', () => {
    const quiet = steady(0.1, 60);
    const hole = [...steady(0.1, 57), null, 0.1, 0.1];
    expect(sizeOf(group(hole, quiet))).toBe('stays');
    expect(sizeOf(group(quiet, hole))).toBe('stays');
    expect(sizeOf(group(quiet, hole), { memoryMetric: null })).toBe(3);
  });

  it('and saves as much as the smaller fleet would have done of the window', () => {
    // Three replicas for four: 0.52 of four are 0.693 of three, below 0.7; 0.525 are just 0.7.
    const saved = (before: Values, given: object = { windowMinutes: 60 }) => {
      const made = proposed(group([...before, ...steady(0.1, 5)], steady(0.5, 60)), given);
      return [made?.computation['shareOfTheWindowThatFits'], made?.monthlySavings?.mean];
    };
    const share = (part: number) => [part, BigInt(Math.round(4e9 * part * 730))];
    expect(saved(steady(0.52, 55))).toEqual(share(1));
    expect(saved(steady(0.525, 55))).toEqual(share(5 / 60));
    expect(saved([...steady(0.1, 25), ...steady(0.9, 30)])).toEqual(share(0.5));
    expect(saved(new Array<null>(55).fill(null))).toEqual(share(5 / 60));
    expect(saved(steady(0.1, 55), { windowMinutes: 120 })).toEqual(share(0.5));
  });
});

describe('what is left alone', () => {
  it.each<[string, Partial<WorkloadView>]>([
    ['protected', { isProtected: true }],
    ['followed', { followedBy: 'the autoscaler' }],
    ['no-size', { fleet: null }],
  ])('%s', (code, over) => {
    const one = group(...busy(0.9), {}, over);
    expect(proposed(one)).toBeUndefined();
    expect(told(one).leftAlone?.code).toBe(code);
  });

  it('is told with what was measured, and held only where something was', () => {
    const some = told(group([...steady(0.5, 58), null, 0.5], steady(0.5, 60)));
    expect(some).toMatchObject({
      saw: ['gpu_utilisation_ratio of 4 of the last 5 minutes'],
      leftAlone: { code: 'no-breach', holds: true },
    });
    const none = told(group([], [], {}, { metrics: {} }));
    expect(none.saw).toEqual(['gpu_utilisation_ratio of 0 of the last 5 minutes']);
    expect(none.leftAlone).not.toHaveProperty('holds');
    expect(told(group(...busy(0.9))).leftAlone).toBeNull();
  });
});

it('writes a ratio as a share, and another metric as it is', () => {
  const title = (metric: string, outAboveRatio: number) =>
    proposed(group([], [], {}, { metrics: { [metric]: minutes(steady(40, 60)) } }), {
      metric,
      outAboveRatio,
      memoryMetric: null,
    });
  expect(title('queue', 20)?.title).toMatch(/: queue of 20 or more for/);
  expect(title('queue', 20)?.evidence[0]?.what).toBe('queue of w');
  expect(title('some_ratio', 20)?.title).toMatch(/: some_ratio of 2000 % or more for/);
  expect(proposed(group(...busy(0.9)))?.evidence[0]?.what).toBe('gpu_utilisation_ratio and memory_used_ratio of w');
});

it('refuses a threshold for fewer that is not below the one for more', () => {
  const isFine = (inBelowRatio: number) => policy.params.safeParse({ inBelowRatio, outAboveRatio: 0.7 }).success;
  expect([isFine(0.69), isFine(0.7)]).toEqual([true, false]);
});
