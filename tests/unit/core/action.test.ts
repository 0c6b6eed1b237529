/** The states of an action, how far an effect has come, and when to ask again. */
import { describe, expect, it } from 'vitest';
import {
  ACTION_STATES,
  askAgainAt,
  CAPACITY_FOUND,
  doneAlready,
  drainingReasons,
  effectFromJson,
  effectToJson,
  halfDoneReason,
  isApprovedByPolicy,
  isFinal,
  isSameEffect,
  lackingOf,
  lackingReasons,
  LIVE_STATES,
  mayFollow,
  NEXT,
  nextFromJson,
  nextToJson,
  NO_CAPACITY,
  OPEN_STATES,
  pairActor,
  policyActor,
  progressOf,
  undone,
  waitOf,
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
    expect(OPEN_STATES).toEqual(['proposed', 'approved', 'intended', 'applied']);
  });

  it('is the one that is written down', () => {
    expect(NEXT).toEqual({
      proposed: ['approved', 'refused', 'expired'],
      approved: ['intended', 'refused', 'expired'],
      intended: ['applied', 'refused', 'failed'],
      applied: ['confirmed', 'failed', 'rolled-back'],
      confirmed: ['measured', 'rolled-back'],
      measured: ['rolled-back'],
      refused: [],
      failed: [],
      'rolled-back': [],
      expired: [],
    });
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

describe('what is leaving a group', () => {
  const scale = (replicas: number): Effect => ({ kind: 'scale', target: 'asg/g', replicas });
  it.each<[string, number, number, number, string]>([
    ['of three is waited for where the group was made smaller', 4, 2, 1, 'leaving'],
    ['is nothing where nothing leaves', 4, 2, 0, 'done'],
    ['is the matter of others where it was made larger', 1, 2, 1, 'done'],
    ['or kept its size', 2, 2, 1, 'done'],
  ])('%s', (_, before, after, leaving, progress) => {
    expect(progressOf(scale(after), group('g', after, { leaving }), group('g', before))).toBe(progress);
  });

  it('is not known of what was not read before', () => {
    expect(progressOf(scale(2), group('g', 2, { leaving: 1 }), null)).toBe('done');
  });

  it('is told with what holds it', () => {
    const told = (leaving: number, hooks?: readonly { name: string; seconds: number | null }[] | null) => {
      const over = hooks === undefined ? {} : { group: { hooks } };
      return drainingReasons({ ...group('g', 2, { leaving }), ...(over as object) }).map(({ code, message }) => [
        code,
        message,
      ]);
    };
    expect([told(0), drainingReasons(null), drainingReasons(group('g', 2))]).toEqual([[], [], []]);
    expect(told(1)).toEqual([['draining', 'draining: 1 member still leaves, and is paid for until they are gone']]);
    expect(told(2, [])[0]?.[1]).toBe('draining: 2 members still leave, and are paid for until they are gone');
    expect(told(1, null)[0]?.[1]).toMatch(/, and Bursar may not read whether a lifecycle hook holds them$/);
    expect(told(1, [{ name: 'save', seconds: 90 }])[0]?.[1]).toMatch(
      /, held by the lifecycle hook save \(up to 90 seconds\)$/,
    );
    expect(
      told(1, [
        { name: 'save', seconds: 90 },
        { name: 'log', seconds: null },
      ])[0]?.[1],
    ).toMatch(/, held by the lifecycle hooks save \(up to 90 seconds\), log$/);
  });
});

describe('what an action says', () => {
  const half = halfDoneReason('a new one runs');
  const lacking = lackingReasons(['its volumes', 'its address']);
  const other = { code: 'Quota', message: 'no quota is left' };

  it('of what was done already makes it failed, and is kept; else nothing has changed', () => {
    expect(doneAlready({ reasons: [other, half, ...lacking] })).toEqual([half, ...lacking]);
    expect(undone({ reasons: [other] }, [other])).toEqual({ to: 'refused', reasons: [other] });
    expect(undone({ reasons: [half] }, [other])).toEqual({ to: 'failed', reasons: [half, other] });
    expect(undone({ reasons: [lacking[0]!] }, [])).toEqual({ to: 'failed', reasons: [lacking[0]] });
  });

  it('of what the new machine is without stands apart', () => {
    expect(lacking.map(({ message }) => message)).toEqual(['its volumes', 'its address']);
    expect(lackingReasons()).toEqual([]);
    expect(lackingOf({ reasons: [half, ...lacking, other] })).toEqual(lacking);
  });

  it('of a wait for capacity holds while it is intended', () => {
    const wait = { code: NO_CAPACITY, message: '' };
    expect(waitOf({ state: 'intended', reasons: [other, wait] })).toBe('no-capacity');
    expect(waitOf({ state: 'intended', reasons: [other] })).toBeNull();
    expect(waitOf({ state: 'applied', reasons: [wait] })).toBeNull();
    expect(CAPACITY_FOUND).not.toBe(NO_CAPACITY);
  });

  it('of who approved it tells a policy from a person', () => {
    const by = (approvedBy: string | null): boolean => isApprovedByPolicy({ approvedBy });
    expect([policyActor('doc'), pairActor('act-1')]).toEqual(['policy:doc', 'pair:act-1']);
    expect([by(policyActor('doc')), by('ada'), by(pairActor('act-1')), by('a policy:doc'), by(null)]).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('effects as JSON', () => {
  it('keep what follows them', () => {
    const next = { effect: { kind: 'start', target: 'instance/i' } as const, notBefore: 5, expiresAt: 9 };
    expect(nextFromJson(JSON.parse(JSON.stringify(nextToJson(next))))).toEqual(next);
  });

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
    expect(askAgainAt(0, 500, 100, 400)).toBe(900);
    expect(askAgainAt(0, 50, 100, 100)).toBe(150);
  });

  it('has a least and a most', () => {
    for (const [least, most] of [
      [0, 10],
      [-1, 10],
      [11, 10],
    ] as const)
      expect(() => askAgainAt(0, 1, least, most)).toThrow(/a least and a most/);
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
