/**
 * Laws of acting, over many targets, effects and facts: less knowledge never allows more, both limits always bind, an
 * inverse restores, and no walk through the states applies anything without an approval and a committed intent.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ACTION_STATES,
  effectFromJson,
  effectToJson,
  isFinal,
  NEXT,
  progressOf,
  type ActionState,
} from '../../src/core/action/action.js';
import { effectOf, reachOf, sizeAfter } from '../../src/core/action/acting.js';
import { inverseOf, type Effect, type FleetTarget } from '../../src/core/fleet/fleet.js';
import { guard, type GuardFacts } from '../../src/core/action/guard.js';
import { bindingLimits, DEFAULT_LIMITS, type LimitsDocument } from '../../src/core/action/limits.js';
import { ACTIONS } from '../../src/core/policy/recommendation.js';
import { facts, NOW } from '../support/guard-facts.js';
import { group, instance } from '../support/memory-cloud.js';

const settings = { numRuns: 400 };

const target = fc.oneof(
  fc
    .record({
      state: fc.constantFrom('running', 'stopped', 'starting', 'unknown' as const),
      gpus: fc.option(fc.integer({ min: 0, max: 16 })),
    })
    .map((over): FleetTarget => instance('i', over as Partial<FleetTarget>)),
  fc
    .record({
      desired: fc.nat(20),
      min: fc.nat(5),
      spotRatio: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
      gpus: fc.option(fc.integer({ min: 0, max: 16 })),
    })
    .map(
      ({ desired, min, spotRatio, gpus }): FleetTarget =>
        group('g', desired, { replicas: { desired, ready: desired, min, max: 20 }, spotRatio, gpus }),
    ),
);

const effectOn = ({ target: name }: FleetTarget): fc.Arbitrary<Effect> =>
  fc.oneof(
    fc.constantFrom<Effect>(
      { kind: 'stop', target: name },
      { kind: 'start', target: name },
      { kind: 'terminate', target: name },
      { kind: 'drain', target: name },
    ),
    fc.nat(20).map((replicas): Effect => ({ kind: 'scale', target: name, replicas })),
    fc
      .tuple(fc.nat(10), fc.nat(10))
      .map(([min, more]): Effect => ({ kind: 'set-bounds', target: name, min, max: min + more })),
    fc
      .double({ min: 0, max: 1, noNaN: true })
      .map((spotRatio): Effect => ({ kind: 'set-spot-ratio', target: name, spotRatio })),
  );
const both = target.chain((seen) => effectOn(seen).map((effect) => ({ seen, effect })));

/** The target once a provider has done the effect. */
function done(effect: Effect, seen: FleetTarget): FleetTarget {
  const { replicas } = seen;
  if (effect.kind === 'stop') return { ...seen, state: 'stopped', billing: 'ended' };
  if (effect.kind === 'start') return { ...seen, state: 'running', billing: 'billed' };
  if (effect.kind === 'scale' && replicas !== null)
    return { ...seen, replicas: { ...replicas, desired: effect.replicas, ready: effect.replicas } };
  if (effect.kind === 'set-bounds' && replicas !== null)
    return { ...seen, replicas: { ...replicas, min: effect.min, max: effect.max } };
  return effect.kind === 'set-spot-ratio' ? { ...seen, spotRatio: effect.spotRatio } : seen;
}

const allows = (given: GuardFacts): boolean => guard(given).allowed;

describe('the guard', () => {
  /** Each takes knowledge or leave away; none of them may ever open a door. */
  const takings: ((given: GuardFacts) => GuardFacts)[] = [
    (given) => ({ ...given, seen: null }),
    (given) => ({ ...given, seen: given.seen && { ...given.seen, state: 'unknown' } }),
    (given) => ({ ...given, seen: given.seen && { ...given.seen, gpus: null } }),
    (given) => ({ ...given, seen: given.seen && { ...given.seen, replicas: null } }),
    (given) => ({ ...given, seenAt: given.seenAt - 3_600_000 }),
    (given) => ({ ...given, connection: null }),
    (given) => ({ ...given, action: { ...given.action, evidenceAt: null } }),
    (given) => ({ ...given, action: { ...given.action, evidenceAt: (given.action.evidenceAt ?? 0) - 1e9 } }),
    (given) => ({ ...given, action: { ...given.action, approvedBy: null } }),
    (given) => ({ ...given, gate: { kind: 'none' } }),
    (given) => ({ ...given, stillEnforces: null }),
    (given) => ({ ...given, isProtected: true }),
    (given) => ({ ...given, stops: [...given.stops, { scope: 'all', name: '' }] }),
    (given) => ({ ...given, liveOnTarget: 'act-9' }),
    (given) => ({ ...given, lastOnTargetAt: NOW }),
    (given) => ({
      ...given,
      recent: { ...given.recent, team: { ...given.recent.team, gpus: given.recent.team.gpus + 64 } },
    }),
    (given) => ({
      ...given,
      limits: bindingLimits(given.limits.organisation, { gpusPerAction: 1, replicasPerAction: 0 }),
    }),
  ];
  const given = both.chain(({ seen, effect }) =>
    fc
      .record({
        seenAgo: fc.nat(120_000),
        evidenceAgo: fc.nat(10_000_000),
        gpus: fc.nat(150),
        actions: fc.nat(40),
        cooled: fc.option(fc.nat(4_000_000)),
        labelled: fc.boolean(),
      })
      .map(
        ({ seenAgo, evidenceAgo, gpus, actions, cooled, labelled }): GuardFacts =>
          facts(
            {
              seen: labelled && gpus % 7 === 0 ? { ...seen, labels: { 'bursar.io/protected': 'true' } } : seen,
              seenAt: NOW - seenAgo,
              lastOnTargetAt: cooled === null ? null : NOW - cooled,
              recent: {
                team: { actions, gpus, purchasedNanos: 0n },
                organisation: { actions, gpus, purchasedNanos: 0n },
              },
            },
            { effect, target: seen.target, evidenceAt: NOW - evidenceAgo },
          ),
      ),
  );

  it('never allows more by knowing less', () => {
    let allowed = 0;
    fc.assert(
      fc.property(given, fc.constantFrom(...takings), (one, take) => {
        if (allows(one)) allowed++;
        else expect(allows(take(one))).toBe(false);
      }),
      { ...settings, numRuns: 3000 },
    );
    // A property that never meets an open door says nothing.
    expect(allowed).toBeGreaterThan(50);
  });

  it('never lets an action pass its caps, nor an hour, nor a floor', () => {
    let allowed = 0;
    fc.assert(
      fc.property(given, (one) => {
        const verdict = guard(one);
        if (!verdict.allowed) return;
        allowed++;
        const { reach } = verdict;
        expect(reach.gpus).not.toBeNull();
        expect(reach.gpus ?? Infinity).toBeLessThanOrEqual(DEFAULT_LIMITS.gpusPerAction);
        expect(reach.replicas).toBeLessThanOrEqual(DEFAULT_LIMITS.replicasPerAction);
        expect(one.recent.team.gpus + (reach.gpus ?? 0)).toBeLessThanOrEqual(DEFAULT_LIMITS.gpusPerHour);
        expect(one.recent.team.actions).toBeLessThan(DEFAULT_LIMITS.actionsPerHour);
        const left = one.seen === null ? null : sizeAfter(one.action.effect, one.seen);
        if (left !== null && left < (one.seen?.replicas?.desired ?? 0))
          expect(left).toBeGreaterThanOrEqual(one.seen?.replicas?.min ?? 0);
      }),
      { ...settings, numRuns: 4000 },
    );
    expect(allowed).toBeGreaterThan(50);
  });
});

describe('a machine of a scaling group', () => {
  /** A machine and its group as each cloud's part names them (tests/contract/members.test.ts reads them so). */
  const member = fc
    .record({
      cloud: fc.constantFrom('AWS', 'Alibaba Cloud', 'Tencent Cloud', 'fake'),
      name: fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/),
      state: fc.constantFrom<FleetTarget['state']>('running', 'stopped', 'starting', 'stopping'),
      gpus: fc.integer({ min: 1, max: 8 }),
    })
    .map(({ cloud, name, state, gpus }): FleetTarget => {
      const labels: Record<string, string> =
        cloud === 'AWS'
          ? { 'aws:autoscaling:groupName': name }
          : cloud === 'Alibaba Cloud'
            ? { 'acs:autoscaling:scalingGroupId': name }
            : cloud === 'fake'
              ? { 'fake:group': name }
              : { 'bursar:target': `asg/ap-guangzhou/${name}` };
      return instance('i', { target: 'instance/r1/i', provider: cloud, labels, state, gpus });
    });
  const effect = fc.constantFrom<Effect>(
    { kind: 'stop', target: 'instance/r1/i' },
    { kind: 'terminate', target: 'instance/r1/i' },
    { kind: 'resize', target: 'instance/r1/i', sku: 'another' },
  );

  it('is neither stopped, ended nor resized by itself, whoever approved it; without its group it is', () => {
    let allowed = 0;
    fc.assert(
      fc.property(member, effect, fc.boolean(), (seen, wanted, byPerson) => {
        const over = { effect: wanted, target: seen.target, approvedBy: byPerson ? 'boss' : 'policy:doc' };
        const verdict = guard(facts({ seen }, over));
        expect(verdict.allowed).toBe(false);
        const codes = verdict.allowed ? [] : verdict.reasons.map(({ code }) => code);
        expect(codes.some((code) => code === 'group-member' || code === 'already-so')).toBe(true);
        if (allows(facts({ seen: { ...seen, labels: {} } }, over))) {
          allowed++;
          expect(codes).toEqual(['group-member']);
        }
      }),
      settings,
    );
    expect(allowed).toBeGreaterThan(100);
  });

  it('is not asked about: what would be refused is an obstacle of the recommendation', () => {
    fc.assert(
      fc.property(
        member,
        fc.constantFrom('Stop' as const, 'Release' as const, 'Rightsize' as const),
        (seen, action) => {
          expect(effectOf({ action, change: action === 'Rightsize' ? { sku: 'another' } : {} }, seen)).toMatchObject({
            obstacle: { code: 'group-member' },
          });
          expect(effectOf({ action: 'Replace', change: {} }, seen)).toHaveProperty('effect');
        },
      ),
      settings,
    );
  });
});

describe('limits', () => {
  const document: fc.Arbitrary<LimitsDocument> = fc.record(
    {
      gpusPerAction: fc.nat(100),
      replicasPerAction: fc.nat(100),
      actionsPerHour: fc.nat(100),
      gpusPerHour: fc.nat(500),
      minReplicas: fc.nat(9),
      minGpus: fc.nat(99),
      cooldownMinutes: fc.nat(500),
      evidenceMinutes: fc.nat(500),
      readingSeconds: fc.nat(500),
      separateApprover: fc.boolean(),
    },
    { requiredKeys: [] },
  );

  it('of a team never allow what the organisation does not', () => {
    fc.assert(
      fc.property(document, document, (organisation, own) => {
        const { team, organisation: over } = bindingLimits(organisation, own);
        for (const key of [
          'gpusPerAction',
          'replicasPerAction',
          'actionsPerHour',
          'gpusPerHour',
          'evidenceMinutes',
          'readingSeconds',
        ] as const) {
          expect(team[key]).toBeLessThanOrEqual(over[key]);
          if (own[key] !== undefined) expect(team[key]).toBeLessThanOrEqual(own[key]);
        }
        for (const key of ['minReplicas', 'minGpus', 'cooldownMinutes'] as const)
          expect(team[key]).toBeGreaterThanOrEqual(Math.max(over[key], own[key] ?? 0));
        expect(team.separateApprover || !over.separateApprover).toBe(true);
      }),
      settings,
    );
  });
});

describe('effects', () => {
  it('are taken back by their inverse, and are done when they are done', () => {
    let taken = 0;
    fc.assert(
      fc.property(both, ({ seen, effect }) => {
        const after = done(effect, seen);
        if (effect.kind === 'scale' || effect.kind === 'stop' || effect.kind === 'set-spot-ratio')
          expect(['done', 'waiting']).toContain(progressOf(effect, after));
        const inverse = inverseOf(effect, seen);
        if (inverse === null) return;
        taken++;
        const restored = done(inverse, after);
        expect([
          restored.replicas?.desired,
          restored.replicas?.min,
          restored.replicas?.max,
          restored.spotRatio,
        ]).toEqual([seen.replicas?.desired, seen.replicas?.min, seen.replicas?.max, seen.spotRatio]);
        if (effect.kind === 'stop') expect(restored.state).toBe('running');
      }),
      settings,
    );
    expect(taken).toBeGreaterThan(50);
  });

  it('reach no further than the whole target when they shrink it, and are never known where its GPUs are not', () => {
    fc.assert(
      fc.property(both, ({ seen, effect }) => {
        const reach = reachOf(effect, seen);
        if (reach === null) {
          expect(seen.kind).not.toBe('instance');
          return;
        }
        const all = seen.replicas?.desired ?? 1;
        if (effect.kind === 'scale' ? effect.replicas <= all : effect.kind !== 'set-bounds')
          expect(reach.replicas).toBeLessThanOrEqual(all);
        if (seen.gpus === null) expect(reach.gpus === null || reach.replicas === 0).toBe(true);
        else expect(reach.gpus).toBe(reach.replicas * seen.gpus);
      }),
      settings,
    );
  });

  it('of a recommendation are on its target and within its bounds, or there is a reason', () => {
    fc.assert(
      fc.property(target, fc.constantFrom(...ACTIONS), fc.nat(40), (seen, action, replicas) => {
        const carrying = effectOf({ action, change: { replicas } }, seen);
        if ('obstacle' in carrying) {
          expect(carrying.obstacle.message).not.toBe('');
          return;
        }
        expect(carrying.effect.target).toBe(seen.target);
        if (carrying.effect.kind === 'scale')
          expect(carrying.effect.replicas).toBeLessThanOrEqual(seen.replicas?.max ?? Infinity);
      }),
      settings,
    );
  });

  it('come back from JSON as they were', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          both.map(({ effect }) => effect),
          fc
            .bigInt({ min: 0n, max: 10n ** 30n })
            .map(
              (mostNanos): Effect => ({
                kind: 'purchase',
                target: 'x',
                offer: 'o',
                units: 1,
                mostNanos,
                currency: 'USD',
              }),
            ),
        ),
        (effect) => {
          expect(effectFromJson(JSON.parse(JSON.stringify(effectToJson(effect))))).toEqual(effect);
        },
      ),
      settings,
    );
  });
});

describe('walks through the states', () => {
  it('apply nothing without an approval and an intent, and end where nothing follows', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1, maxLength: 12 }), (turns) => {
        const walk: ActionState[] = ['proposed'];
        for (const turn of turns) {
          const next = NEXT[walk.at(-1)!];
          if (next.length === 0) break;
          walk.push(next[turn % next.length]!);
        }
        expect(new Set(walk).size).toBe(walk.length);
        if (walk.includes('applied')) expect(walk.slice(0, 4)).toEqual(['proposed', 'approved', 'intended', 'applied']);
        if (walk.includes('measured')) expect(walk).toContain('confirmed');
        expect(walk.slice(0, -1).filter(isFinal)).toEqual([]);
        expect(walk.every((state) => ACTION_STATES.includes(state))).toBe(true);
      }),
      settings,
    );
  });
});
