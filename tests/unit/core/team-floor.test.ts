/** GPUs that are certain to stay with a team: what counts, what an effect takes, and what is counted once. */
import { describe, expect, it } from 'vitest';
import { gpusKept } from '../../../src/core/action/team-floor.js';
import type { Effect, FleetTarget } from '../../../src/core/fleet/fleet.js';
import { group, instance } from '../../support/memory-cloud.js';

const member = (name: string): FleetTarget => instance(name, { labels: { 'fake:group': 'g' } });
const pods = (ready: number, over: Partial<FleetTarget> = {}): FleetTarget => ({
  ...group('pods', ready),
  kind: 'workload',
  target: 'deployment/ml/pods',
  ...over,
});
const stop: Effect = { kind: 'stop', target: 'instance/i' };
const kept = (
  effect: Effect,
  seen: FleetTarget,
  others: readonly FleetTarget[] = [],
  leaving: readonly (readonly [string, number])[] = [],
): [number, number] | null => {
  const found = gpusKept(effect, seen, { targets: [seen, ...others], leaving: new Map(leaving) });
  return found === null ? null : [found.kept, found.alone];
};

describe('what an effect takes', () => {
  it.each<[string, Effect, FleetTarget, [number, number] | null]>([
    ['a stop takes all', stop, instance('i'), [8, 8]],
    ['so does an end', { kind: 'terminate', target: 'instance/i' }, instance('i'), [8, 8]],
    ['and another type, of unknown size', { kind: 'resize', target: 'instance/i', sku: 'x' }, instance('i'), [8, 8]],
    ['a start takes none', { kind: 'start', target: 'instance/i' }, instance('i'), null],
    ['a machine that stands still has none', stop, instance('i', { state: 'stopped' }), null],
    ['half of a group', { kind: 'scale', target: 'asg/g', replicas: 2 }, group('g', 4), [16, 16]],
    ['all of a group', { kind: 'scale', target: 'asg/g', replicas: 0 }, group('g', 4), [8, 8]],
    ['a group of the same size loses none', { kind: 'scale', target: 'asg/g', replicas: 4 }, group('g', 4), null],
    ['nor one that grows', { kind: 'scale', target: 'asg/g', replicas: 9 }, group('g', 4), null],
    ['nor an empty one', { kind: 'scale', target: 'asg/g', replicas: 0 }, group('g', 0), null],
    ['a smaller most', { kind: 'set-bounds', target: 'asg/g', min: 0, max: 3 }, group('g', 4), [20, 20]],
    ['a most that is not reached', { kind: 'set-bounds', target: 'asg/g', min: 0, max: 4 }, group('g', 4), null],
    [
      'more are ready than are wanted: the share is of them',
      { kind: 'scale', target: 'asg/g', replicas: 2 },
      group('g', 2, { replicas: { desired: 2, ready: 4, min: 0, max: 9 } }),
      [16, 16],
    ],
    [
      'a pod that is one, scaled to none',
      { kind: 'scale', target: 'deployment/ml/pods', replicas: 0 },
      pods(1, { asOne: true, gpus: 4 }),
      [4, 4],
    ],
  ])('%s', (_, effect, seen, expected) => {
    // Beside it one machine of eight.
    expect(kept(effect, seen, [instance('j')])).toEqual(expected);
  });
});

describe('what counts', () => {
  it('is what serves and is known', () => {
    const of = (...others: FleetTarget[]): number => kept(stop, instance('i'), others)![1];
    expect(of()).toBe(0);
    expect(of(instance('j'), instance('k', { gpus: 2 }))).toBe(10);
    expect(of(instance('j', { state: 'stopped' }), instance('k', { state: 'starting' }))).toBe(0);
    expect(of(instance('j', { gpus: null }))).toBe(0);
    expect(of(group('g', 3))).toBe(12);
    expect(of(group('g', 3, { gpus: null }), group('h', 3, { replicas: null }))).toBe(0);
    expect(of(group('g', 3, { replicas: { desired: 3, ready: 1, min: 0, max: 9 } }))).toBe(4);
  });

  it('is counted once: a group or its machines, machines or the pods on them, whichever are more', () => {
    const of = (...others: FleetTarget[]): number => kept(stop, instance('i'), others)![1];
    expect(of(group('g', 3), member('a'))).toBe(12);
    expect(of(group('g', 1), member('a'), member('b'))).toBe(16);
    // 8 of the machine that is stopped, and what stands beside it.
    expect(of(instance('j'), pods(3))).toBe(8);
    expect(of(instance('j'), pods(5))).toBe(12);
    expect(of(pods(1))).toBe(0);
  });

  it('is without what other actions take now, which may come back', () => {
    expect(kept(stop, instance('i'), [instance('j')], [['instance/j', 8]])).toEqual([0, 8]);
    expect(kept(stop, instance('i'), [instance('j')], [['instance/j', 3]])).toEqual([5, 8]);
    // No more than it has.
    expect(kept(stop, instance('i'), [instance('j'), instance('k')], [['instance/j', 99]])).toEqual([8, 16]);
  });
});
