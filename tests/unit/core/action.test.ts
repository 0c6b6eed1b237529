/** The states of an action, how far an effect has come, and when to ask again. */
import { describe, expect, it } from 'vitest';
import {
  ACTION_STATES,
  askAgainAt,
  effectFromJson,
  effectToJson,
  isFinal,
  isSameEffect,
  LIVE_STATES,
  mayFollow,
  NEXT,
  progressOf,
  type ActionState,
} from '../../../src/core/action/action.js';
import { inverseOf, type Effect } from '../../../src/core/fleet/fleet.js';
import { group, instance } from '../../support/memory-cloud.js';

/** Every state that can be reached without ever entering one. */
function reachedWithout(left: ActionState): Set<ActionState> {
  const seen = new Set<ActionState>();
  const visit = (state: ActionState): void => {
    if (state === left || seen.has(state)) return;
    seen.add(state);
    NEXT[state].forEach(visit);
  };
  visit('proposed');
  return seen;
}

describe('the table of states', () => {
  it('reaches every state, and leaves no final one', () => {
    expect([...reachedWithout('none' as ActionState)].sort()).toEqual([...ACTION_STATES].sort());
    expect(ACTION_STATES.filter(isFinal)).toEqual(['refused', 'failed', 'rolled-back', 'expired']);
    expect(mayFollow('proposed', 'intended')).toBe(false);
  });

  it('applies nothing without an approval and an intent, and measures nothing that is not confirmed', () => {
    for (const must of ['approved', 'intended'] as const)
      for (const state of ['applied', 'confirmed', 'measured', 'failed', 'rolled-back'] as const)
        expect(reachedWithout(must)).not.toContain(state);
    expect(reachedWithout('confirmed')).not.toContain('measured');
  });

  it('keeps others off a target while an action is live', () => {
    expect(LIVE_STATES).toEqual(['approved', 'intended', 'applied']);
  });
});

describe('how far an effect has come', () => {
  const stop: Effect = { kind: 'stop', target: 'instance/i' };
  it.each([
    ['running', stop, instance('i'), 'waiting'],
    ['stopped and still billed', stop, instance('i', { state: 'stopped' }), 'billing'],
    ['stopped, billing not known', stop, instance('i', { state: 'stopped', billing: 'unknown' }), 'billing'],
    ['stopped, its disks billed', stop, instance('i', { state: 'stopped', billing: 'partly' }), 'done'],
    ['not to be told', stop, instance('i', { state: 'unknown' }), 'waiting'],
    ['gone', stop, null, 'done'],
    ['ended', { kind: 'terminate', target: 'instance/i' }, null, 'done'],
    ['started but starting', { kind: 'start', target: 'instance/i' }, instance('i', { state: 'starting' }), 'waiting'],
    [
      'wanted size, more still run',
      { kind: 'scale', target: 'asg/g', replicas: 2 },
      group('g', 2, { replicas: { desired: 2, ready: 3, min: 0, max: 9 } }),
      'waiting',
    ],
    [
      'wanted size, fewer are ready',
      { kind: 'scale', target: 'asg/g', replicas: 2 },
      group('g', 2, { replicas: { desired: 2, ready: 1, min: 0, max: 9 } }),
      'done',
    ],
    ['a cordon', { kind: 'cordon', target: 'node/n', cordoned: true }, instance('n'), 'not-observable'],
    [
      'a purchase',
      { kind: 'purchase', target: 'x', offer: 'o', units: 1, mostNanos: 1n, currency: 'USD' },
      null,
      'not-observable',
    ],
  ] as const)('%s', (_, effect, seen, progress) => {
    expect(progressOf(effect, seen)).toBe(progress);
  });
});

describe('effects as JSON', () => {
  it('keep amounts exact', () => {
    const purchase: Effect = {
      kind: 'purchase',
      target: 'x',
      offer: 'o',
      units: 3,
      mostNanos: 123_456_789_012_345_678_901n,
      currency: 'USD',
    };
    const text = JSON.stringify(effectToJson(purchase));
    expect(text).toContain('"123456789012345678901"');
    expect(effectFromJson(JSON.parse(text))).toEqual(purchase);
  });

  it('are the same whatever the order of their fields', () => {
    expect(isSameEffect({ kind: 'scale', target: 'a', replicas: 2 }, { replicas: 2, target: 'a', kind: 'scale' })).toBe(
      true,
    );
    expect(isSameEffect({ kind: 'scale', target: 'a', replicas: 2 }, { kind: 'scale', target: 'a', replicas: 3 })).toBe(
      false,
    );
  });
});

describe('asking again', () => {
  it('waits as long again as has passed, within bounds', () => {
    expect([0, 5_000, 20_000, 3_600_000].map((passed) => askAgainAt(1000, 1000 + passed) - 1000 - passed)).toEqual([
      5_000, 5_000, 20_000, 300_000,
    ]);
  });
});

describe('what takes an effect back', () => {
  it('is known only from what was', () => {
    expect(inverseOf({ kind: 'scale', target: 'asg/g', replicas: 1 }, group('g', 4))).toEqual({
      kind: 'scale',
      target: 'asg/g',
      replicas: 4,
    });
    expect(inverseOf({ kind: 'stop', target: 'instance/i' }, instance('i', { state: 'stopped' }))).toBeNull();
    expect(inverseOf({ kind: 'drain', target: 'node/n' }, instance('n'))).toBeNull();
  });
});
