/** The guard: each reason by one fact that is wrong, what passes by itself, and the limits that bind. */
import { describe, expect, it } from 'vitest';
import type { Action } from '../../../src/core/action/action.js';
import { EFFECT_KINDS, type Effect, type FleetTarget } from '../../../src/core/fleet/fleet.js';
import type { Failure } from '../../../src/core/errors.js';
import { guard, isRetryable, type GuardFacts } from '../../../src/core/action/guard.js';
import {
  bindingLimits,
  DEFAULT_LIMITS,
  isQuiet,
  readLimits,
  type LimitsDocument,
} from '../../../src/core/action/limits.js';
import { facts, NOW, purchase } from '../../support/guard-facts.js';
import { group, instance } from '../../support/memory-cloud.js';

const codes = (over: Partial<GuardFacts>, action: Partial<Action> = {}): string[] => {
  const verdict = guard(facts(over, action));
  return verdict.allowed ? [] : verdict.reasons.map(({ code }) => code);
};
const limits = (organisation: LimitsDocument, team: LimitsDocument = {}) => ({
  limits: bindingLimits(organisation, team),
});
const recent = (actions: number, gpus: number) => ({ actions, gpus, purchasedNanos: 0n });
const scale = (replicas: number): Partial<Action> => ({
  target: 'asg/g',
  effect: { kind: 'scale', target: 'asg/g', replicas },
});

/** A move whose job is suspended, and not yet resumed. */
const halfMoved: Partial<Action> = {
  state: 'intended',
  effect: { kind: 'move', target: 'instance/i', region: 'r2', zone: null, term: 'spot', sku: null },
  reasons: [{ code: 'half-done', message: 'it is suspended, and not yet resumed' }],
};

describe('the second half of a move', () => {
  it('is kept from by nothing that only speaks against beginning', () => {
    const late: Partial<GuardFacts> = {
      now: NOW + 5 * 3_600_000,
      seenAt: NOW + 5 * 3_600_000,
      isProtected: true,
      stillEnforces: false,
      gate: { kind: 'none' },
      lastOnTargetAt: NOW + 5 * 3_600_000,
      ...limits({ quietHours: [{ zone: 'UTC' }], gpusPerAction: 1, actionsPerHour: 0 }),
    };
    const seen = instance('i', { state: 'stopped', billing: 'ended', region: null, term: null });
    expect(codes({ ...late, seen }, { ...halfMoved, expiresAt: NOW })).toEqual([]);
    // Before its first half all of it binds a move as it does a stop.
    expect(codes(late, { ...halfMoved, reasons: [], expiresAt: NOW })).toEqual(
      codes(late, { effect: { kind: 'stop', target: 'instance/i' }, expiresAt: NOW }),
    );
  });

  it('waits while the kill switch is on, and ends where its target is gone', () => {
    const stopped = guard(facts({ stops: [{ scope: 'all', name: '' }] }, halfMoved));
    expect(!stopped.allowed && isRetryable(stopped.reasons)).toBe(true);
    expect(codes({ seen: null }, halfMoved)).toEqual(['target-gone']);
  });
});

describe('the guard', () => {
  it('lets pass what nothing speaks against, and says how far it reaches', () => {
    expect(guard(facts())).toEqual({ allowed: true, reach: { replicas: 1, gpus: 8 } });
  });

  it.each<[string, Partial<GuardFacts>, Partial<Action>, string[]]>([
    ['nobody approved it', {}, { approvedBy: null }, ['not-approved']],
    ['its document only observes', {}, { mode: 'observe' }, ['mode']],
    ['it has expired', {}, { expiresAt: NOW }, ['expired']],
    ['the document does not enforce any more', { stillEnforces: false }, {}, ['mode']],
    ['nobody backtested it', { gate: { kind: 'none' } }, {}, ['no-backtest']],
    [
      'the kill switch is on, twice',
      {
        stops: [
          { scope: 'all', name: '' },
          { scope: 'team', name: 'lab' },
        ],
      },
      {},
      ['stopped', 'stopped'],
    ],
    ['there is no connection', { connection: null }, {}, ['no-connection']],
    ['it may only read', { connection: { canAct: false, canRead: true } }, {}, ['cannot-act']],
    ['it cannot read', { connection: { canAct: true, canRead: false } }, {}, ['cannot-read']],
    ['the target was read too long ago', { seenAt: NOW - 61_000 }, {}, ['reading-stale']],
    ['its evidence is too old', {}, { evidenceAt: NOW - 7_200_001 }, ['evidence-stale']],
    ['its evidence has no age', {}, { evidenceAt: null }, ['no-evidence']],
    ['the target is gone', { seen: null }, {}, ['target-gone', 'reach-unknown']],
    ['nobody can tell its state', { seen: instance('i', { state: 'unknown' }) }, {}, ['target-unknown']],
    ['it is still starting', { seen: instance('i', { state: 'starting' }) }, {}, ['between-states']],
    [
      'it is still stopping',
      { seen: instance('i', { state: 'stopping' }) },
      { effect: { kind: 'start', target: 'instance/i' } },
      ['between-states'],
    ],
    ["it is another team's by now", { owner: 'blue' }, {}, ['other-team']],
    ['several teams share it by now', { owner: 'unallocated' }, {}, ['other-team']],
    ['it is stopped already', { seen: instance('i', { state: 'stopped', billing: 'ended' }) }, {}, ['already-so']],
    ['nobody counted its GPUs', { seen: instance('i', { gpus: null }) }, {}, ['reach-unknown']],
    ['it is too many GPUs', limits({ gpusPerAction: 7 }), {}, ['gpus-per-action']],
    [
      'it is too many replicas',
      { ...limits({ replicasPerAction: 1 }), seen: group('g', 4) },
      scale(2),
      ['replicas-per-action'],
    ],
    ['another action is under way', { liveOnTarget: 'act-2' }, {}, ['live-action']],
    ['it was acted on a moment ago', { lastOnTargetAt: NOW - 1_799_999 }, {}, ['cooldown']],
    ['it is quiet', limits({ quietHours: [{ zone: 'UTC' }] }), {}, ['quiet-hours']],
    ['its owner protects it', { isProtected: true }, {}, ['protected']],
    [
      'a label protects it',
      { seen: instance('i', { labels: { 'bursar.io/protected': 'true' } }) },
      {},
      ['protected-label'],
    ],
    [
      'a label of the team protects it',
      { ...limits({}, { protectedLabels: { tier: '*' } }), seen: instance('i', { labels: { tier: 'gold' } }) },
      {},
      ['protected-label'],
    ],
    [
      'a team takes no label of the organisation away',
      { ...limits({}, { protectedLabels: {} }), seen: instance('i', { labels: { 'bursar.io/protected': 'true' } }) },
      {},
      ['protected-label'],
    ],
    [
      'the group keeps its smallest size',
      { seen: group('g', 4, { replicas: { desired: 4, ready: 4, min: 2, max: 9 } }) },
      scale(1),
      ['floor'],
    ],
    ['the team keeps some replicas', { ...limits({}, { minReplicas: 3 }), seen: group('g', 4) }, scale(2), ['floor']],
    ['the team keeps some GPUs', { ...limits({ minGpus: 12 }), seen: group('g', 4) }, scale(2), ['floor']],
    [
      'the team has had its actions',
      { recent: { team: recent(30, 0), organisation: recent(0, 0) } },
      {},
      ['actions-per-hour'],
    ],
    [
      'the team has had its GPUs',
      { recent: { team: recent(1, 121), organisation: recent(0, 0) } },
      {},
      ['gpus-per-hour'],
    ],
    [
      'the organisation has had its GPUs',
      { ...limits({ gpusPerHour: 20 }), recent: { team: recent(0, 0), organisation: recent(2, 13) } },
      {},
      ['gpus-per-hour'],
    ],
    [
      'none are allowed at all',
      limits({ gpusPerAction: 0, actionsPerHour: 0 }),
      {},
      ['actions-per-hour', 'actions-per-hour', 'gpus-per-action'],
    ],
  ])('forbids: %s', (_, over, action, expected) => {
    expect(codes(over, action)).toEqual(expected);
  });

  it.each<[string, Partial<GuardFacts>, Partial<Action>]>([
    ['an override in the audit', { gate: { kind: 'override' } }, {}],
    [
      'a person approved what nobody backtested',
      { gate: { kind: 'none' }, stillEnforces: null },
      { approvedBy: 'ada' },
    ],
    ['a label with another value', { seen: instance('i', { labels: { 'bursar.io/protected': 'false' } }) }, {}],
    ['exactly as many GPUs as are allowed', limits({ gpusPerAction: 8, gpusPerHour: 8 }), {}],
    ['growth out of a size that is below the floor', { ...limits({ minReplicas: 6 }), seen: group('g', 2) }, scale(4)],
    ['the end of a cooldown', { lastOnTargetAt: NOW - 1_800_000 }, {}],
    ['evidence as old as is allowed', {}, { evidenceAt: NOW - 7_200_000 }],
  ])('allows: %s', (_, over, action) => {
    expect(codes(over, action)).toEqual([]);
  });

  it.each(EFFECT_KINDS.filter((kind) => kind !== 'purchase'))("keeps %s off what is another team's by now", (kind) => {
    const effect = {
      kind,
      target: 'instance/i',
      replicas: 1,
      min: 0,
      max: 1,
      sku: 'x',
      group: null,
      spotRatio: 0,
      cordoned: true,
    };
    const of = (owner: string | null, rollbackOf: string | null): string[] =>
      codes({ owner }, { effect: effect as Effect, rollbackOf });
    for (const rollbackOf of [null, 'act-0']) {
      expect(of('blue', rollbackOf)).toContain('other-team');
      expect(of('lab', rollbackOf)).not.toContain('other-team');
      expect(of(null, rollbackOf)).not.toContain('other-team');
    }
  });

  it('looks once more at a machine that is to be ended as lost', () => {
    const replaced: Partial<Action> = { effect: { kind: 'replace', target: 'instance/i', group: null } };
    const of = (over: Partial<FleetTarget>, lostMachine: boolean): string[] =>
      codes({ seen: instance('i', over), lostMachine }, replaced);
    expect(of({}, true)).toEqual(['runs']);
    // A card of it was lost: it runs.
    expect(of({}, false)).toEqual([]);
    expect(of({ unwell: 'SystemStatus impaired' }, true)).toEqual([]);
    expect(of({ state: 'unknown' }, true)).toEqual([]);
    expect(of({ state: 'unknown' }, false)).toEqual(['target-unknown']);
    expect(of({ state: 'gone', ended: { by: 'somebody', because: 'a test' } }, true)).toEqual(['target-gone']);
  });

  it('says of each reason whether it may pass by itself', () => {
    const of = (over: Partial<GuardFacts>, action: Partial<Action> = {}): boolean => {
      const verdict = guard(facts(over, action));
      return !verdict.allowed && isRetryable(verdict.reasons);
    };
    expect(of({ lastOnTargetAt: NOW })).toBe(true);
    expect(of({ lastOnTargetAt: NOW, isProtected: true })).toBe(false);
    expect(of({ stops: [{ scope: 'all', name: '' }] })).toBe(false);
    // What alone is more than an hour's GPUs never passes.
    expect(of({ ...limits({ gpusPerHour: 8 }), recent: { team: recent(1, 1), organisation: recent(1, 1) } })).toBe(
      true,
    );
    expect(of(limits({ gpusPerHour: 7 }))).toBe(false);
  });
});

describe('the guard of a rollback', () => {
  const back: Partial<Action> = {
    rollbackOf: 'act-0',
    approvedBy: 'ada',
    evidenceAt: null,
    target: 'asg/g',
    effect: { kind: 'scale', target: 'asg/g', replicas: 6 },
  };
  const takesBack = { effect: { kind: 'scale', target: 'asg/g', replicas: 2 } as const, wasConfirmed: true };
  const left = group('g', 2);

  it('minds neither pace nor evidence nor labels', () => {
    const held: Partial<GuardFacts> = {
      seen: { ...left, labels: { 'bursar.io/protected': 'true' } },
      takesBack,
      lastOnTargetAt: NOW,
      isProtected: true,
      gate: { kind: 'none' },
      stillEnforces: null,
      recent: { team: recent(99, 999), organisation: recent(99, 999) },
      ...limits({ quietHours: [{ zone: 'UTC' }] }),
    };
    expect(codes(held, back)).toEqual([]);
  });

  it('minds the kill switch, unless it is asked for all the same', () => {
    const stops = [{ scope: 'all', name: '' }] as const;
    expect(codes({ seen: left, takesBack, stops }, back)).toEqual(['stopped']);
    expect(codes({ seen: left, takesBack, stops }, { ...back, underStop: true })).toEqual([]);
    // The word of a rollback does not open the switch for anything else.
    expect(codes({ stops }, { underStop: true })).toEqual(['stopped']);
  });

  it('overwrites no change that came after a confirmed action', () => {
    expect(codes({ seen: group('g', 3), takesBack }, back)).toEqual(['changed-since']);
    expect(codes({ seen: group('g', 3), takesBack: { ...takesBack, wasConfirmed: false } }, back)).toEqual([]);
    expect(codes({ seen: left, takesBack: null }, back)).toEqual(['nothing-to-take-back']);
  });
});

describe('the guard of a purchase', () => {
  const of = (document: LimitsDocument, purchased = 0n, action: Partial<Action> = {}) =>
    codes(
      {
        seen: null,
        ...limits(document),
        recent: {
          team: { ...recent(0, 0), purchasedNanos: purchased },
          organisation: { ...recent(0, 0), purchasedNanos: purchased },
        },
      },
      { ...purchase(100_000_000_000n), ...action },
    );
  const month = (amount: string, currency = 'USD') => ({ purchasesPerMonth: { amount, currency } });

  it('lets a policy buy within the limit of the month', () => {
    expect(of(month('100'))).toEqual([]);
    expect(of(month('150'), 50_000_000_000n)).toEqual([]);
    expect(of(month('150'), 50_000_000_001n)).toEqual(['purchase-limit', 'purchase-limit']);
    expect(of(month('0'))).toEqual(['purchase-limit', 'purchase-limit']);
    expect(of(month('900', 'EUR'))).toEqual(['purchase-currency', 'purchase-currency']);
  });

  it('needs a person where there is no limit, and none more where a person approved', () => {
    expect(of({})).toEqual(['purchase-needs-approval', 'purchase-needs-approval']);
    expect(of({}, 0n, { approvedBy: 'ada' })).toEqual([]);
  });
});

describe('limits', () => {
  it('bind together, the stricter of each', () => {
    const { team, organisation } = bindingLimits(
      {
        gpusPerAction: 16,
        minReplicas: 2,
        separateApprover: true,
        purchasesPerMonth: { amount: '50', currency: 'USD' },
      },
      { gpusPerAction: 64, minReplicas: 1, cooldownMinutes: 90, separateApprover: false },
    );
    expect(team).toMatchObject({
      gpusPerAction: 16,
      minReplicas: 2,
      cooldownMinutes: 90,
      separateApprover: true,
      gpusPerHour: DEFAULT_LIMITS.gpusPerHour,
      purchasesPerMonth: { amount: '50' },
    });
    expect(organisation).toMatchObject({ gpusPerAction: 16, cooldownMinutes: DEFAULT_LIMITS.cooldownMinutes });
    expect(
      bindingLimits({}, { purchasesPerMonth: { amount: '50', currency: 'USD' } }).team.purchasesPerMonth,
    ).toBeNull();
  });

  it('name every problem of a document', () => {
    const problems = (value: unknown): (string | null)[] => {
      try {
        readLimits(value);
        return [];
      } catch (error) {
        return (error as Failure).problems.map(({ path }) => path);
      }
    };
    expect(
      problems({
        gpusPerAction: 0,
        quietHours: [{ zone: 'Asia/Shanghai', from: '22:00', to: '06:00' }],
        purchasesPerMonth: { amount: '1000.50', currency: 'USD' },
      }),
    ).toEqual([]);
    expect(
      problems({
        gpusPerAction: -1,
        replicasPerAction: 1.5,
        actionsPerHour: '3',
        colour: 'red',
        separateApprover: 1,
        protectedLabels: { a: 1 },
        purchasesPerMonth: { amount: 'x', currency: 'usd' },
      }),
    ).toEqual([
      'colour',
      'gpusPerAction',
      'replicasPerAction',
      'actionsPerHour',
      'separateApprover',
      'protectedLabels',
      'purchasesPerMonth/amount',
      'purchasesPerMonth/currency',
    ]);
    expect(problems({ quietHours: [{ zone: 'Mars/Olympus', from: '25:00' }] })).toEqual([
      'quietHours/0/from',
      'quietHours/0/zone',
    ]);
    expect(problems({ quietHours: [{ from: 1, until: '06:00' }] })).toEqual([
      'quietHours/0/until',
      'quietHours/0/from',
      'quietHours/0/zone',
    ]);
    expect(problems([])).toEqual([null]);
  });

  it('know quiet hours by the clock of their zone', () => {
    const nights = [{ zone: 'Asia/Shanghai', from: '22:00', to: '06:00', days: ['fri'] as const }];
    // Shanghai is eight hours ahead: Friday 22:00 there is 14:00 UTC.
    expect([13, 14, 21, 22].map((hour) => isQuiet(nights, Date.UTC(2026, 10, 20, hour)))).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});

describe('the floor of a team', () => {
  const fleet = (targets: readonly FleetTarget[], leaving: readonly (readonly [string, number])[] = []) => ({
    ...limits({}, { minTeamGpus: 16 }),
    teamFleet: { targets, leaving: new Map(leaving) },
  });
  const machines = (count: number): FleetTarget[] =>
    Array.from({ length: count }, (_, n) => instance(n === 0 ? 'i' : `i-${n}`));
  const member = (name: string): FleetTarget => instance(name, { labels: { 'fake:group': 'g' } });
  const pods = (ready: number): FleetTarget => ({
    ...group('pods', ready),
    kind: 'workload',
    target: 'deployment/ml/pods',
  });

  it.each<[string, Partial<GuardFacts>, Partial<Action>, string[]]>([
    ['a machine of three that are eight each may stop', fleet(machines(3)), {}, []],
    ['a machine of two may not', fleet(machines(2)), {}, ['floor']],
    ['nor be ended', fleet(machines(2)), { effect: { kind: 'terminate', target: 'instance/i' } }, ['floor']],
    ['it may be replaced', fleet(machines(2)), { effect: { kind: 'replace', target: 'instance/i', group: null } }, []],
    [
      'machines that stand still, and those whose GPUs nobody knows, keep none',
      fleet([...machines(2), instance('b', { state: 'stopped' }), instance('c', { gpus: null })]),
      {},
      ['floor'],
    ],
    ['what another action takes may come back', fleet(machines(3), [['instance/i-1', 8]]), {}, ['team-floor']],
    ['a group may shrink to it', { ...fleet([group('g', 6)]), seen: group('g', 6) }, scale(4), []],
    ['and not below', { ...fleet([group('g', 6)]), seen: group('g', 6) }, scale(3), ['floor']],
    [
      'a group and its machines are counted once',
      { ...fleet([group('g', 2), member('a'), member('b')]), seen: group('g', 2) },
      scale(1),
      ['floor'],
    ],
    ['as are machines and the pods on them', fleet([...machines(2), pods(5)]), {}, ['floor']],
    ['which count where they are more', fleet([...machines(2), pods(6)]), {}, []],
    ['it may grow', { ...fleet([group('g', 1)]), seen: group('g', 1) }, scale(2), []],
    ['a limit that nobody set asks for nothing', { ...fleet(machines(1)), ...limits({}) }, {}, []],
  ])('%s', (_, over, action, expected) => expect(codes(over, action)).toEqual(expected));
});
