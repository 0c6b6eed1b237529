/** What a target's own settings stand against, and what they tell beside an effect: cases, and laws over any. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectOf, obstaclesOf } from '../../../src/core/action/acting.js';
import { guard } from '../../../src/core/action/guard.js';
import type { Effect, FleetTarget, GroupSettings } from '../../../src/core/fleet/fleet.js';
import { obstaclesTo, risksOf } from '../../../src/core/fleet/settings.js';
import { facts } from '../../support/guard-facts.js';
import { group, instance } from '../../support/memory-cloud.js';

const NONE: GroupSettings = { protectedMembers: 0, suspended: [], hooks: [], policies: [] };
const web = (over: Partial<GroupSettings>, more: Partial<FleetTarget> = {}): FleetTarget =>
  group('web', 10, { group: { ...NONE, ...over }, ...more });
const scale = (replicas: number): Effect => ({ kind: 'scale', target: 'asg/web', replicas });
const bounds = (min: number, max: number): Effect => ({ kind: 'set-bounds', target: 'asg/web', min, max });
const codes = (effect: Effect, seen: FleetTarget): string[] => obstaclesTo(effect, seen).map(({ code }) => code);
const risks = (effect: Effect, seen: FleetTarget): string[] => risksOf(effect, seen).map(({ code }) => code);

describe('a scaling group', () => {
  it('lets no more machines go than are not protected', () => {
    const seen = web({ protectedMembers: 7 });
    expect([codes(scale(7), seen), codes(scale(6), seen), codes(scale(12), seen)]).toEqual([
      [],
      ['scale-in-protection'],
      [],
    ]);
    expect([codes(bounds(0, 7), seen), codes(bounds(0, 6), seen)]).toEqual([[], ['scale-in-protection']]);
  });

  it('does not what it has suspended, and does the other', () => {
    expect(codes(scale(9), web({ suspended: ['terminate'] }))).toEqual(['process-suspended']);
    expect(codes(scale(11), web({ suspended: ['terminate'] }))).toEqual([]);
    expect(codes(scale(11), web({ suspended: ['launch'] }))).toEqual(['process-suspended']);
  });

  it('that follows a target of its own is not fought: its bounds are set instead', () => {
    const seen = web({ policies: [{ name: 'cpu-50', follows: true }] });
    expect([codes(scale(5), seen), codes(bounds(0, 5), seen)]).toEqual([['own-policy'], []]);
    expect(risks(bounds(0, 5), seen)).toEqual(['own-policies']);
  });

  it('tells of hooks that hold what ends, and of policies that may change its size again', () => {
    const seen = web({ hooks: [{ name: 'drain-queue', seconds: 900 }], policies: [{ name: 'steps', follows: false }] });
    expect([risks(scale(9), seen), risks(scale(11), seen)]).toEqual([
      ['lifecycle-hook', 'own-policies'],
      ['own-policies'],
    ]);
    expect(risksOf(scale(9), seen)[0]?.message).toContain(
      'drain-queue holds each machine that ends for up to 900 seconds',
    );
  });

  it('of which nothing could be read is held to nothing, and nothing is told', () => {
    const seen = web({ protectedMembers: null, suspended: null, hooks: null, policies: null });
    expect([codes(scale(0), seen), risks(scale(0), seen)]).toEqual([[], []]);
  });
});

it('is refused by the guard, and never asked about', () => {
  const seen = web({ protectedMembers: 10 });
  const verdict = guard(facts({ seen }, { target: 'asg/web', effect: scale(9) }));
  expect(verdict).toMatchObject({ allowed: false, reasons: [{ code: 'scale-in-protection', passing: false }] });
  expect(effectOf({ action: 'ScaleIn', change: { replicas: 9 } }, seen)).toMatchObject({
    obstacle: { code: 'scale-in-protection' },
  });
  const fixed = web({}, { ruledOut: { 'set-spot-ratio': 'it does not mix spot' } });
  expect(effectOf({ action: 'MoveToSpot', change: {} }, fixed)).toEqual({
    obstacle: { code: 'ruled-out', message: 'asg/web: it does not mix spot' },
  });
});

it('tells which tool would put back what is changed', () => {
  const seen = instance('i', { managedBy: ['Argo CD keeps it as the application shop has it'] });
  expect(risksOf({ kind: 'stop', target: 'instance/i' }, seen)).toEqual([
    { code: 'managed', message: 'Argo CD keeps it as the application shop has it, and may undo what is changed here' },
  ]);
});

it('never allows more by more protection, suspension or policies', () => {
  const settings = fc.record({
    protectedMembers: fc.nat(10),
    suspended: fc.subarray<'launch' | 'terminate'>(['launch', 'terminate']),
    policies: fc.array(fc.record({ name: fc.constant('p'), follows: fc.boolean() }), { maxLength: 2 }),
  });
  fc.assert(
    fc.property(settings, settings, fc.nat(20), (one, other, replicas) => {
      const both = {
        protectedMembers: Math.max(one.protectedMembers, other.protectedMembers),
        suspended: [...new Set([...one.suspended, ...other.suspended])],
        policies: [...one.policies, ...other.policies],
      };
      const count = (given: Partial<GroupSettings>): number => obstaclesOf(scale(replicas), web(given)).length;
      expect(count(both)).toBeGreaterThanOrEqual(Math.max(count(one), count(other)));
      if (replicas === 10) expect(count(both)).toBe(0);
    }),
    { numRuns: 400 },
  );
});
