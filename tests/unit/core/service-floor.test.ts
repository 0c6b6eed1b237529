/**
 * What a document promises of a service is a floor of the guard: no policy's action takes ready replicas below it,
 * however old its proposal; a rollback may, and so may whoever acts where nothing is promised.
 */
import { describe, expect, it } from 'vitest';
import { guard, type GuardFacts, type Verdict } from '../../../src/core/action/guard.js';
import { replicasKept, type ServicePromise } from '../../../src/core/action/service-floor.js';
import type { FleetTarget } from '../../../src/core/fleet/fleet.js';
import { facts } from '../../support/guard-facts.js';
import { group } from '../../support/memory-cloud.js';

const sized = (name: string, ready: number, desired = ready): FleetTarget =>
  group(name, desired, { replicas: { desired, ready, min: 0, max: 20 } });
const promise = (groups: readonly FleetTarget[], leaving: [string, number][] = []): ServicePromise => ({
  document: 'chat',
  service: 'chat',
  replicas: 3,
  groups,
  leaving: new Map(leaving),
});
const scaled = (seen: FleetTarget, replicas: number, over: Partial<GuardFacts>, rollbackOf: string | null = null) =>
  guard(
    facts(
      {
        seen,
        takesBack: { effect: { kind: 'scale', target: seen.target, replicas: 9 }, wasConfirmed: false },
        ...over,
      },
      { target: seen.target, effect: { kind: 'scale', target: seen.target, replicas }, rollbackOf },
    ),
  );
const codes = (verdict: Verdict): string[] => (verdict.allowed ? [] : verdict.reasons.map(({ code }) => code));

describe('the floor of a promised service', () => {
  const od = sized('od', 3);

  it('holds replicas back while the others do not keep the promise, and lets them go when they do', () => {
    expect(codes(scaled(od, 0, { promise: promise([od, sized('a', 3)]) }))).toEqual([]);
    // Spot was lost since the scale-in was proposed: it waits, and is not refused for good.
    const lost = scaled(od, 0, { promise: promise([od, sized('a', 1)]) });
    expect(codes(lost)).toEqual(['service-floor']);
    expect(lost.allowed ? [] : lost.reasons).toMatchObject([
      {
        passing: true,
        message:
          '1 replicas of chat would be certain to stay ready, fewer than the 3 that the policy document chat promises',
      },
    ]);
    expect(codes(scaled(od, 2, { promise: promise([od, sized('a', 1)]) }))).toEqual([]);
  });

  it('counts what leaves by other actions, and what was told to go, as gone', () => {
    expect(codes(scaled(od, 0, { promise: promise([od, sized('a', 4)], [['asg/a', 2]]) }))).toEqual(['service-floor']);
    expect(codes(scaled(od, 0, { promise: promise([od, sized('a', 4, 2)]) }))).toEqual(['service-floor']);
    expect(replicasKept({ kind: 'scale', target: 'asg/od', replicas: 0 }, od, promise([sized('a', 1, 5)]), true)).toBe(
      1,
    );
  });

  it('is nothing to what grows, to a rollback, and where nothing is promised', () => {
    const short = promise([od, sized('a', 0)]);
    expect(codes(scaled(od, 5, { promise: short }))).toEqual([]);
    expect(codes(scaled(od, 0, { promise: short }, 'act-0'))).toEqual([]);
    expect(codes(scaled(od, 0, { promise: null }))).toEqual([]);
  });

  it('is nothing that a smaller group could mend: a cut of booting replicas may take those that serve', () => {
    const half = sized('a', 2, 4);
    expect(replicasKept({ kind: 'scale', target: 'asg/a', replicas: 2 }, half, promise([]), true)).toBe(0);
    expect(replicasKept({ kind: 'scale', target: 'asg/a', replicas: 3 }, half, promise([]), true)).toBe(1);
  });

  it('holds back replicas that boot and are needed, except for the document that knows which will not come', () => {
    const boots = sized('a', 0, 4);
    const short = promise([od, boots]);
    expect(codes(scaled(boots, 0, { promise: { ...short, replicas: 4 } }))).toEqual(['service-floor']);
    expect(codes(scaled(boots, 0, { promise: short }))).toEqual([]);
    expect(replicasKept({ kind: 'scale', target: 'asg/a', replicas: 0 }, boots, short, true)).toBeNull();
  });
});
