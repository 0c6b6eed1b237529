/** The guard exactly at each limit and one step beyond it, which reasons pass by themselves, and what stands for good. */
import { describe, expect, it } from 'vitest';
import type { Action } from '../../../src/core/action/action.js';
import {
  guard,
  isRetryable,
  recentSince,
  standingReasons,
  type GuardFacts,
  type GuardReason,
  type StandingFacts,
} from '../../../src/core/action/guard.js';
import {
  amountNanos,
  bindingLimits,
  DEFAULT_LIMITS,
  readLimits,
  type LimitsDocument,
} from '../../../src/core/action/limits.js';
import type { Failure } from '../../../src/core/errors.js';
import type { FleetTarget } from '../../../src/core/fleet/fleet.js';
import { facts, NOW, purchase } from '../../support/guard-facts.js';
import { group, instance } from '../../support/memory-cloud.js';

type Case = readonly [Partial<GuardFacts>, Partial<Action>?];
const reasons = ([over, action]: Case): readonly GuardReason[] => {
  const verdict = guard(facts(over, action ?? {}));
  return verdict.allowed ? [] : verdict.reasons;
};
const codes = (given: Case): string[] => reasons(given).map(({ code }) => code);
const limits = (organisation: LimitsDocument, team: LimitsDocument = {}) => ({
  limits: bindingLimits(organisation, team),
});
const recent = (actions: number, gpus: number) => ({ actions, gpus, purchasedNanos: 0n });
const both = (actions: number, gpus: number) => ({
  recent: { team: recent(actions, gpus), organisation: recent(actions, gpus) },
});
const scale = (replicas: number): Partial<Action> => ({
  target: 'asg/g',
  effect: { kind: 'scale', target: 'asg/g', replicas },
});
const sized = (desired: number, min: number | null = 0) =>
  group('g', desired, { replicas: { desired, ready: desired, min, max: 20 } });

describe('exactly at a limit is allowed, and beyond it is not', () => {
  it.each<[string, Case, Case, string[]]>([
    ['the age of the reading', [{ seenAt: NOW - 60_000 }], [{ seenAt: NOW - 60_001 }], ['reading-stale']],
    ['the end of what it was proposed for', [{}, { expiresAt: NOW + 1 }], [{}, { expiresAt: NOW }], ['expired']],
    [
      'actions of an hour',
      [both(29, 0)],
      [{ recent: { team: recent(0, 0), organisation: recent(30, 0) } }],
      ['actions-per-hour'],
    ],
    ['GPUs of an hour', [both(0, 120)], [both(0, 121)], ['gpus-per-hour', 'gpus-per-hour']],
    ['GPUs of an action', [limits({ gpusPerAction: 8 })], [limits({ gpusPerAction: 7.5 })], ['gpus-per-action']],
    [
      'replicas of an action',
      [{ ...limits({ replicasPerAction: 2 }), seen: sized(4) }, scale(2)],
      [{ ...limits({ replicasPerAction: 2 }), seen: sized(4) }, scale(1)],
      ['replicas-per-action'],
    ],
    [
      'replicas that the team keeps',
      [{ ...limits({ minReplicas: 2 }), seen: sized(4) }, scale(2)],
      [{ ...limits({ minReplicas: 2 }), seen: sized(4) }, scale(1)],
      ['floor'],
    ],
    ["the group's own least size", [{ seen: sized(4, 2) }, scale(2)], [{ seen: sized(4, 2) }, scale(1)], ['floor']],
    [
      'GPUs that the target keeps',
      [{ ...limits({ minGpus: 8 }), seen: sized(4) }, scale(2)],
      [{ ...limits({ minGpus: 8 }), seen: sized(4) }, scale(1)],
      ['floor'],
    ],
    [
      'both floors at once',
      [{ ...limits({ minGpus: 8, minReplicas: 2 }), seen: sized(4) }, scale(2)],
      [{ ...limits({ minGpus: 8, minReplicas: 2 }), seen: sized(4) }, scale(1)],
      ['floor', 'floor'],
    ],
    [
      'purchases of a month',
      [purchases('100', '100', 99n, 99n), purchase(1_000_000_000n)],
      [purchases('100', '100', 99n, 100n), purchase(1_000_000_000n)],
      ['purchase-limit'],
    ],
  ])('%s', (_, allowed, beyond, expected) => {
    expect(codes(allowed)).toEqual([]);
    expect(codes(beyond)).toEqual(expected);
  });
});

/** The month's limits of the organisation and of the team, and what each has bought, in units. */
function purchases(organisation: string | null, team: string | null, own: bigint, all: bigint): Partial<GuardFacts> {
  const limit = (amount: string | null) => (amount === null ? null : { amount, currency: 'USD' });
  return {
    ...limits({ purchasesPerMonth: limit(organisation) }, { purchasesPerMonth: limit(team) }),
    recent: {
      team: { ...recent(0, 0), purchasedNanos: own * 1_000_000_000n },
      organisation: { ...recent(0, 0), purchasedNanos: all * 1_000_000_000n },
    },
  };
}

describe('a floor', () => {
  it.each<[string, Case, string[]]>([
    ['is nothing to what grows', [{ ...limits({ minGpus: 99, minReplicas: 9 }), seen: sized(2) }, scale(3)], []],
    [
      'is nothing to what stays',
      [{ ...limits({ minGpus: 99, minReplicas: 9 }), seen: sized(2) }, scale(2)],
      ['already-so'],
    ],
    [
      'forbids where nobody knows the GPUs that it is about',
      [{ ...limits({ minGpus: 1 }), seen: { ...sized(4), gpus: null } }, scale(3)],
      ['floor', 'reach-unknown'],
    ],
    [
      'asks nobody for GPUs where it is about none',
      [{ ...limits({ minReplicas: 1 }), seen: { ...sized(4), gpus: null } }, scale(3)],
      ['reach-unknown'],
    ],
    [
      'holds for a group whose size is not told',
      [{ ...limits({ minReplicas: 2, minGpus: 5 }), seen: group('g', 0, { replicas: null }) }, scale(1)],
      ['floor', 'reach-unknown'],
    ],
    ['holds for a stop of a whole group', [{ ...limits({ minReplicas: 1 }), seen: sized(4) }, scale(0)], ['floor']],
    ['says nothing of a single machine', [limits({ minReplicas: 5, minGpus: 500 })], []],
  ])('%s', (_, given, expected) => {
    expect(codes(given)).toEqual(expected);
  });
});

describe('who approved it', () => {
  const policy = { approvedBy: 'policy:doc' };
  it.each<[string, Case, string[]]>([
    ['a policy whose document is not known', [{ stillEnforces: null }, policy], ['mode']],
    [
      'a policy, without a backtest and not enforcing',
      [{ stillEnforces: false, gate: { kind: 'none' } }, policy],
      ['mode', 'no-backtest'],
    ],
    [
      'a person, whatever the document does',
      [{ stillEnforces: false, gate: { kind: 'none' } }, { approvedBy: 'a' }],
      [],
    ],
    [
      'a policy that takes back',
      [
        {
          stillEnforces: false,
          gate: { kind: 'none' },
          seen: sized(2),
          takesBack: { effect: { kind: 'scale', target: 'asg/g', replicas: 2 }, wasConfirmed: true },
        },
        { ...policy, ...scale(4), rollbackOf: 'act-0' },
      ],
      [],
    ],
    [
      'nobody, what only observes',
      [{}, { approvedBy: null, mode: 'observe', expiresAt: NOW - 1 }],
      ['not-approved', 'mode', 'expired'],
    ],
  ])('%s', (_, given, expected) => {
    expect(codes(given)).toEqual(expected);
  });
});

describe('a purchase', () => {
  const of = (over: Partial<GuardFacts>, action: Partial<Action> = {}): string[] =>
    codes([over, { ...purchase(100_000_000_000n), ...action }]);

  it('is read by nobody and has no target, pace of the target apart', () => {
    const free = purchases('900', null, 0n, 0n);
    expect(of({ ...purchases('900', '900', 0n, 0n), seen: null, seenAt: 0, owner: 'blue' })).toEqual([]);
    expect(
      of({ ...purchases('900', '900', 0n, 0n), connection: { canAct: true, canRead: false } }, { evidenceAt: null }),
    ).toEqual([]);
    expect(of({ ...free, connection: { canAct: false, canRead: false } })).toEqual([
      'cannot-act',
      'purchase-needs-approval',
    ]);
  });

  it('is bound by the limit of the team and by that of the organisation, each by what it has bought', () => {
    expect(of(purchases('900', '100', 0n, 800n))).toEqual([]);
    expect(of(purchases('900', '100', 1n, 0n))).toEqual(['purchase-limit']);
    expect(of(purchases('900', '100', 0n, 801n))).toEqual(['purchase-limit']);
    expect(of(purchases('900', null, 0n, 0n))).toEqual(['purchase-needs-approval']);
    const currencies = limits(
      { purchasesPerMonth: { amount: '900', currency: 'USD' } },
      { purchasesPerMonth: { amount: '900', currency: 'EUR' } },
    );
    expect(of(currencies)).toEqual(['purchase-currency']);
  });
});

describe('a rollback', () => {
  const takesBack = { effect: { kind: 'scale', target: 'asg/g', replicas: 2 } as const, wasConfirmed: true };
  const back: Partial<Action> = { ...scale(6), rollbackOf: 'act-0', evidenceAt: null };

  it('waits for another action on its target, and for a fresh reading', () => {
    expect(reasons([{ seen: sized(2), takesBack, liveOnTarget: 'act-9' }, back])).toMatchObject([
      { code: 'live-action', passing: true },
    ]);
    expect(codes([{ seen: sized(2), takesBack: null, liveOnTarget: 'act-9' }, back])).toEqual([
      'live-action',
      'nothing-to-take-back',
    ]);
    expect(codes([{ seen: sized(2), takesBack, seenAt: NOW - 60_001 }, back])).toEqual(['reading-stale']);
  });

  it('is not asked whether the target is as it was left where nobody knows that it was reached', () => {
    expect(codes([{ seen: sized(3), takesBack: { ...takesBack, wasConfirmed: false } }, back])).toEqual([]);
  });
});

describe('what may pass by itself', () => {
  const one = (given: Case): [string, boolean][] => reasons(given).map(({ code, passing }) => [code, passing]);
  it.each<[Case, string, boolean]>([
    [[{ seenAt: 0 }], 'reading-stale', true],
    [[{ seen: instance('i', { state: 'unknown' }) }], 'target-unknown', true],
    [[{ liveOnTarget: 'act-2' }], 'live-action', true],
    [[{ lastOnTargetAt: NOW }], 'cooldown', true],
    [[limits({ quietHours: [{ zone: 'UTC' }] })], 'quiet-hours', true],
    [[{ recent: { team: recent(30, 0), organisation: recent(0, 0) } }], 'actions-per-hour', true],
    // One an hour: it passes when the hour is over. None at all: never.
    [
      [{ ...limits({}, { actionsPerHour: 1 }), recent: { team: recent(1, 0), organisation: recent(1, 0) } }],
      'actions-per-hour',
      true,
    ],
    [[limits({}, { actionsPerHour: 0 })], 'actions-per-hour', false],
    [
      [{ ...limits({}, { gpusPerHour: 8 }), recent: { team: recent(0, 1), organisation: recent(0, 0) } }],
      'gpus-per-hour',
      true,
    ],
    [[limits({}, { gpusPerHour: 7.9 })], 'gpus-per-hour', false],
    [[{ isProtected: true }], 'protected', false],
    [[{ connection: null }], 'no-connection', false],
    [[{ owner: 'blue' }], 'other-team', false],
  ])('%#', (given, code, passing) => {
    expect(one(given)).toEqual([[code, passing]]);
  });

  it('is every reason or it is refused, and nothing is retried without a reason', () => {
    const waits: GuardReason = { code: 'a', message: '', passing: true };
    expect([isRetryable([]), isRetryable([waits]), isRetryable([waits, { ...waits, passing: false }])]).toEqual([
      false,
      true,
      false,
    ]);
  });
});

describe('what stands against an effect whoever approves it', () => {
  const standing = (over: Partial<StandingFacts> = {}): string[] =>
    standingReasons({
      effect: { kind: 'stop', target: 'instance/i' },
      connection: 'cloud',
      carriesOut: null,
      seen: instance('i'),
      isProtected: null,
      limits: bindingLimits({}, {}),
      teamFleet: null,
      ...over,
    }).map(({ code }) => code);
  const shrunk: Partial<StandingFacts> = { effect: { kind: 'scale', target: 'asg/g', replicas: 1 }, seen: sized(4, 2) };
  const fleet = (targets: readonly FleetTarget[], leaving: readonly (readonly [string, number])[] = []) => ({
    ...limits({}, { minTeamGpus: 8 }),
    teamFleet: { targets, leaving: new Map(leaving) },
  });

  it.each<[string, Partial<StandingFacts>, string[]]>([
    ['nothing', {}, []],
    ['what the connection carries out', { carriesOut: ['start', 'stop'] }, []],
    ['what it does not', { carriesOut: ['start'] }, ['missing-effect']],
    ['a connection that only reads', { carriesOut: [] }, ['cannot-act']],
    ['its owner', { isProtected: true }, ['protected']],
    ['nobody', { isProtected: false }, []],
    ['a label', { seen: instance('i', { labels: { 'bursar.io/protected': 'true' } }) }, ['protected-label']],
    ['a group of which it is one', { seen: instance('i', { labels: { 'fake:group': 'g' } }) }, ['group-member']],
    ['a floor', shrunk, ['floor']],
    ['its reach', limits({ gpusPerAction: 7 }), ['gpus-per-action']],
    ['a reach that nobody knows', { seen: instance('i', { gpus: null }) }, ['reach-unknown']],
    ['the floor of a team', fleet([instance('i')]), ['floor']],
    ['no floor that it keeps', fleet([instance('i'), instance('j')]), []],
    // That passes when the other is back.
    ['not what another action takes', fleet([instance('i'), instance('j')], [['instance/j', 8]]), []],
  ])('%s', (_, over, expected) => {
    expect(standing(over)).toEqual(expected);
  });

  it('is told without saying whether it passes', () => {
    const [reason] = standingReasons({
      effect: { kind: 'stop', target: 'instance/i' },
      connection: 'cloud',
      carriesOut: [],
      seen: instance('i'),
      isProtected: null,
      limits: bindingLimits({}, {}),
      teamFleet: null,
    });
    expect(Object.keys(reason!).sort()).toEqual(['code', 'message']);
  });
});

it('actions count as recent for an hour', () => {
  expect(recentSince(NOW)).toBe(NOW - 3_600_000);
});

describe('two documents of limits', () => {
  it.each([
    'gpusPerAction',
    'replicasPerAction',
    'actionsPerHour',
    'gpusPerHour',
    'evidenceMinutes',
    'readingSeconds',
  ] as const)('of %s the smaller binds', (key) => {
    const of = (organisation: LimitsDocument, team: LimitsDocument) => bindingLimits(organisation, team).team[key];
    expect(of({ [key]: 5 }, { [key]: 3 })).toBe(3);
    expect(of({ [key]: 3 }, { [key]: 5 })).toBe(3);
    expect(of({ [key]: 3 }, {})).toBe(3);
    expect(of({}, { [key]: 0 })).toBe(0);
    expect(of({}, {})).toBe(DEFAULT_LIMITS[key]);
  });

  it.each(['minReplicas', 'minGpus', 'minTeamGpus', 'cooldownMinutes'] as const)('of %s the larger binds', (key) => {
    const of = (organisation: LimitsDocument, team: LimitsDocument) => bindingLimits(organisation, team).team[key];
    expect(of({ [key]: 50 }, { [key]: 40 })).toBe(50);
    expect(of({ [key]: 40 }, { [key]: 50 })).toBe(50);
    expect(of({ [key]: 40 }, {})).toBe(40);
    expect(of({}, {})).toBe(DEFAULT_LIMITS[key]);
  });

  it.each(['separateApprover', 'separatePurchaseApprover'] as const)('%s of either binds', (key) => {
    const of = (organisation: boolean, team?: boolean) =>
      bindingLimits({ [key]: organisation }, team === undefined ? {} : { [key]: team }).team[key];
    expect([of(true, false), of(false, true), of(true), of(false), of(false, false)]).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it('leave the defaults that are written down', () => {
    expect(bindingLimits({}, {})).toEqual({ organisation: DEFAULT_LIMITS, team: DEFAULT_LIMITS });
    expect(DEFAULT_LIMITS).toEqual({
      gpusPerAction: 32,
      replicasPerAction: 10,
      actionsPerHour: 30,
      gpusPerHour: 128,
      minReplicas: 0,
      minGpus: 0,
      minTeamGpus: 0,
      cooldownMinutes: 30,
      evidenceMinutes: 120,
      readingSeconds: 60,
      protectedLabels: { 'bursar.io/protected': 'true' },
      quietHours: [],
      separateApprover: false,
      separatePurchaseApprover: true,
      purchasesPerMonth: null,
    });
  });

  it('keep quiet in the hours of both, and buy nothing that the organisation does not allow', () => {
    const [night, noon] = [
      { zone: 'UTC', from: '22:00', to: '06:00' },
      { zone: 'UTC', from: '12:00', to: '13:00' },
    ];
    expect(bindingLimits({ quietHours: [night] }, { quietHours: [noon] }).team.quietHours).toEqual([night, noon]);
    const [much, little] = ['900', '5'].map((amount) => ({ amount, currency: 'USD' }));
    const of = (organisation: LimitsDocument['purchasesPerMonth'], team: LimitsDocument): unknown =>
      bindingLimits({ purchasesPerMonth: organisation }, team).team.purchasesPerMonth;
    expect(of(null, { purchasesPerMonth: little! })).toBeNull();
    expect(of(much!, {})).toBe(much);
    expect(of(much!, { purchasesPerMonth: little! })).toBe(little);
    expect(of(much!, { purchasesPerMonth: null })).toBeNull();
  });
});

describe('a document of limits', () => {
  const problems = (value: unknown): (string | null)[] => {
    try {
      readLimits(value);
      return [];
    } catch (error) {
      return (error as Failure).problems.map(({ path }) => path);
    }
  };

  it.each<[object, string[]]>([
    [{ gpusPerAction: 1e6, replicasPerAction: 1e6, actionsPerHour: 1e6, gpusPerHour: 1e7 }, []],
    [{ minReplicas: 1e6, minGpus: 1e6, minTeamGpus: 1e6 }, []],
    [{ cooldownMinutes: 10_080, evidenceMinutes: 10_080, readingSeconds: 3600 }, []],
    [
      { cooldownMinutes: 10_080.1, evidenceMinutes: 10_081, readingSeconds: 3601 },
      ['cooldownMinutes', 'evidenceMinutes', 'readingSeconds'],
    ],
    [{ gpusPerAction: 0.5, gpusPerHour: 0.5, minGpus: 0.5, minTeamGpus: 0.5, readingSeconds: 0.5 }, []],
    [
      { actionsPerHour: 0.5, replicasPerAction: 0.5, minReplicas: 0.5 },
      ['replicasPerAction', 'actionsPerHour', 'minReplicas'],
    ],
    [{ minReplicas: Number.NaN, minGpus: null, gpusPerHour: -0.1 }, ['gpusPerHour', 'minReplicas', 'minGpus']],
    [{ separateApprover: true, separatePurchaseApprover: false }, []],
    [{ separatePurchaseApprover: 'no' }, ['separatePurchaseApprover']],
    [{ protectedLabels: {} }, []],
    [{ protectedLabels: { '': 'x' } }, ['protectedLabels']],
    [{ protectedLabels: ['x'] }, ['protectedLabels']],
    [{ protectedLabels: null }, ['protectedLabels']],
    [{ quietHours: [] }, []],
    [{ quietHours: {} }, ['quietHours']],
    [{ quietHours: [7] }, ['quietHours/0']],
    [{ quietHours: [{ zone: 'UTC', days: 'fri' }] }, ['quietHours/0/days']],
    [{ quietHours: [{ zone: 'UTC', days: ['fri'] }] }, []],
    [{ purchasesPerMonth: null }, []],
    [{ purchasesPerMonth: '5 USD' }, ['purchasesPerMonth']],
    [{ purchasesPerMonth: { amount: '0', currency: 'USD' } }, []],
    [{ purchasesPerMonth: { amount: '-1', currency: 'USD' } }, ['purchasesPerMonth/amount']],
    [{ purchasesPerMonth: { amount: 5, currency: 'USD' } }, ['purchasesPerMonth/amount']],
    [{ purchasesPerMonth: { amount: '5', currency: 'USDX' } }, ['purchasesPerMonth/currency']],
    [{ purchasesPerMonth: { amount: '5', currency: 'xUSD' } }, ['purchasesPerMonth/currency']],
  ])('%j', (value, expected) => {
    expect(problems(value)).toEqual(expected);
  });

  it.each([null, 'x', 5, []])('is an object, and not %j', (value) => {
    expect(problems(value)).toEqual([null]);
  });

  it('comes back as it was', () => {
    const value = { gpusPerAction: 3, quietHours: [{ zone: 'UTC', from: '22:00' }] };
    expect(readLimits(value)).toBe(value);
    expect([amountNanos('1.5'), amountNanos('x'), amountNanos('0.0000000001')]).toEqual([1_500_000_000n, null, null]);
  });
});

describe('a state between two others', () => {
  const start: Partial<Action> = { effect: { kind: 'start', target: 'instance/i' } };
  const waits = (seen: Partial<FleetTarget>, action: Partial<Action> = {}) =>
    codes([{ seen: instance('i', seen) }, action]).includes('between-states');

  it('delays what its cloud would refuse for good, of a machine alone', () => {
    expect(waits({ state: 'starting' })).toBe(true);
    expect(waits({ state: 'starting' }, start)).toBe(false);
    expect(waits({ state: 'starting', kind: 'group' })).toBe(false);
    expect(waits({ state: 'running' })).toBe(false);
    expect(waits({ state: 'stopping' }, start)).toBe(true);
    expect(waits({ state: 'stopping' })).toBe(false);
    expect(waits({ state: 'stopping', kind: 'group' }, start)).toBe(false);
    expect(waits({ state: 'stopped', billing: 'ended' }, start)).toBe(false);
  });

  it('is none of a machine that its cloud has taken, which only a replacement may follow', () => {
    const taken = { seen: instance('i', { state: 'gone', ended: { by: 'cloud' } as FleetTarget['ended'] }) };
    const replace = { effect: { kind: 'replace', target: 'instance/i' } as Action['effect'] };
    expect(codes([taken, replace])).not.toContain('target-gone');
    expect(codes([taken])).toContain('target-gone');
    expect(codes([{ seen: instance('i', { state: 'gone' }) }, replace])).toContain('target-gone');
    expect(codes([{ seen: null }, replace])).toContain('target-gone');
  });
});
