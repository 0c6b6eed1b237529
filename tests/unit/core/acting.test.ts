/**
 * From recommendations to effects, how far each reaches, when a decided question is a new one, and the view without
 * what was done.
 */
import { describe, expect, it } from 'vitest';
import {
  asUntouched,
  effectOf,
  isForPromise,
  followingEffect,
  newestEvidence,
  opensAgain,
  asksForOther,
  purchaseOf,
  reachOf,
  sizeAfter,
  subjectOf,
  wasRefusedByReading,
  type OfferOnSale,
} from '../../../src/core/action/acting.js';
import type { ActionState } from '../../../src/core/action/action.js';
import type { Effect, FleetTarget } from '../../../src/core/fleet/fleet.js';
import { viewOf, type ResourceView, type WorkloadView } from '../../../src/core/policy/view.js';
import type { RecommendedAction } from '../../../src/core/policy/recommendation.js';
import { group, instance } from '../../support/memory-cloud.js';

type Change = Readonly<Record<string, string | number | boolean>>;
const of = (action: RecommendedAction, seen: FleetTarget, change: Change = {}): Effect | string => {
  const carrying = effectOf({ action, change }, seen);
  return 'effect' in carrying ? carrying.effect : carrying.obstacle.code;
};
const i = instance('i');
const g = group('g', 4);

describe('the effect of a recommendation', () => {
  it.each([
    ['stops an instance', 'Stop', i, {}, { kind: 'stop', target: 'instance/i' }],
    ['scales a group to nothing', 'Stop', g, { replicas: 0 }, { kind: 'scale', target: 'asg/g', replicas: 0 }],
    ['ends what was lent', 'Release', i, {}, { kind: 'terminate', target: 'instance/i' }],
    [
      'stops what is lent as one group of machines',
      'Release',
      group('g', 4, { asOne: true }),
      {},
      { kind: 'stop', target: 'asg/g' },
    ],
    [
      'starts again a machine that its cloud has stopped',
      'Replace',
      instance('i', { state: 'stopped', ended: { by: 'cloud', because: 'spot' } }),
      {},
      { kind: 'start', target: 'instance/i' },
    ],
    [
      'leaves to its group a machine that its cloud has taken',
      'Replace',
      instance('i', { state: 'gone', ended: { by: 'cloud', because: 'spot' }, labels: { 'fake:group': 'pool' } }),
      {},
      'group-replaces',
    ],
    ['buys nothing on a target', 'PurchaseReservedInstances', i, {}, 'no-target'],
    ['scales in', 'ScaleIn', g, { replicas: 2 }, { kind: 'scale', target: 'asg/g', replicas: 2 }],
    ['scales out', 'ScaleOut', g, { replicas: 20 }, { kind: 'scale', target: 'asg/g', replicas: 20 }],
    ['never beyond the bounds of the group', 'ScaleOut', g, { replicas: 21 }, 'beyond-bounds'],
    ['starts an instance', 'Start', i, { replicas: 1 }, { kind: 'start', target: 'instance/i' }],
    ['lowers no single instance to nothing', 'ScaleIn', i, { replicas: 0 }, 'no-effect-fits'],
    ['makes no two instances of one', 'ScaleOut', i, { replicas: 2 }, 'no-effect-fits'],
    ['needs a number', 'ScaleIn', g, {}, 'no-effect-fits'],
    ['needs a whole number', 'ScaleIn', g, { replicas: 1.5 }, 'no-effect-fits'],
    [
      'moves a group to spot',
      'MoveToSpot',
      g,
      { term: 'spot', sku: 'p5.48xlarge' },
      { kind: 'set-spot-ratio', target: 'asg/g', spotRatio: 1 },
    ],
    [
      'moves it back',
      'MoveToOnDemand',
      g,
      { term: 'on-demand' },
      { kind: 'set-spot-ratio', target: 'asg/g', spotRatio: 0 },
    ],
    ['moves to no other SKU', 'MoveToSpot', g, { sku: 'p4d.24xlarge' }, 'no-effect-fits'],
    ['moves no instance', 'MoveToSpot', i, {}, 'no-effect-fits'],
    [
      'resizes what stands still',
      'Rightsize',
      instance('i', { state: 'stopped' }),
      { sku: 'g5.xlarge' },
      { kind: 'resize', target: 'instance/i', sku: 'g5.xlarge' },
    ],
    ['leaves to a person what has to be stopped first', 'Rightsize', i, { sku: 'g5.xlarge', replicas: 1 }, 'by-hand'],
    [
      'resizes what runs where the cloud shuts it down itself',
      'Rightsize',
      instance('i', { provider: 'Tencent Cloud' }),
      { sku: 'GN10X' },
      { kind: 'resize', target: 'instance/i', sku: 'GN10X' },
    ],
    [
      'takes a mix of one kind, the same, as a size',
      'Rightsize',
      g,
      { instances: '2 x p5', sku: 'p5.48xlarge', replicas: 2 },
      { kind: 'scale', target: 'asg/g', replicas: 2 },
    ],
    [
      'leaves to a person what a group launches',
      'Rightsize',
      g,
      { instances: '2 x T4', sku: 'g4dn.xlarge', replicas: 2 },
      'by-hand',
    ],
    [
      'makes no several instances of one',
      'Rightsize',
      instance('i', { state: 'stopped' }),
      { sku: 'g5.xlarge', replicas: 2 },
      'by-hand',
    ],
    [
      'takes one instance of another type for that',
      'Rightsize',
      instance('i', { state: 'stopped' }),
      { sku: 'g5.xlarge', replicas: 1 },
      { kind: 'resize', target: 'instance/i', sku: 'g5.xlarge' },
    ],
    [
      'takes a number alone as a size',
      'Rightsize',
      g,
      { replicas: 3 },
      { kind: 'scale', target: 'asg/g', replicas: 3 },
    ],
    ['does not guess a size', 'Rightsize', g, {}, 'by-hand'],
    [
      'moves a job to where its scheduler starts it',
      'MoveToSpot',
      instance('i', { region: 'us-east-1', spotRatio: null, movesTo: [{ region: 'eu-west-1', zone: null }] }),
      { region: 'eu-west-1' },
      { kind: 'move', target: 'instance/i', region: 'eu-west-1', zone: null, term: 'spot', sku: null },
    ],
    ['leaves a move to a place that nobody reaches to a person', 'MoveToSpot', i, { region: 'eu-west-1' }, 'by-hand'],
    [
      'moves nothing of which the region is unknown',
      'MoveToSpot',
      instance('i', { region: null, spotRatio: null, movesTo: [] }),
      {},
      'no-effect-fits',
    ],
    ['leaves a mix of kinds to a person', 'Rightsize', g, { instances: '1 x A100 + 2 x T4' }, 'by-hand'],
    [
      'shifts what runs now: first the stop',
      'MoveToOffPeak',
      i,
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      { kind: 'stop', target: 'instance/i' },
    ],
    ['shifts nothing whose hours are now', 'MoveToOffPeak', i, { pieces: 'now' }, 'runs-now'],
    [
      'leaves the start of what stands still to its scheduler',
      'MoveToOffPeak',
      instance('i', { state: 'stopped' }),
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      'by-hand',
    ],
    [
      'shifts a group: first to nothing',
      'MoveToOffPeak',
      g,
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      { kind: 'scale', target: 'asg/g', replicas: 0 },
    ],
    [
      'shifts no group that keeps a replica',
      'MoveToOffPeak',
      group('g', 4, { replicas: { desired: 4, ready: 4, min: 1, max: 20 } }),
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      'beyond-bounds',
    ],
    [
      'shifts a workload that no autoscaler holds',
      'MoveToOffPeak',
      group('g', 4, {
        kind: 'workload',
        target: 'deployment/ml/g',
        replicas: { desired: 4, ready: 4, min: null, max: null },
      }),
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      { kind: 'scale', target: 'deployment/ml/g', replicas: 0 },
    ],
    [
      'shifts no group whose size nobody knows',
      'MoveToOffPeak',
      group('g', 4, { replicas: null }),
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      'size-unknown',
    ],
    [
      'leaves the start of a group that stands still to its scheduler',
      'MoveToOffPeak',
      group('g', 0),
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      'by-hand',
    ],
    [
      'shifts no commitment',
      'MoveToOffPeak',
      instance('c', { kind: 'commitment' }),
      { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' },
      'by-hand',
    ],
    [
      'replaces a broken instance of a group',
      'Replace',
      instance('i', { labels: { 'aws:autoscaling:groupName': 'g' } }),
      { group: 'train' },
      { kind: 'replace', target: 'instance/i', group: 'asg/g' },
    ],
    [
      'replaces a machine that stands alone, whatever its workload is called',
      'Replace',
      i,
      { group: 'train' },
      { kind: 'replace', target: 'instance/i', group: null },
    ],
    ['tells, and does nothing', 'Notify', i, {}, 'not-an-effect'],
    ['keeps, and does nothing', 'Keep', g, {}, 'not-an-effect'],
  ] as const)('%s', (_, action, seen, change, wanted) => {
    expect(of(action, seen, change)).toEqual(wanted);
  });

  it('says plainly that a person has to carry out what no provider takes', () => {
    const said = (change: Change): string => {
      const carrying = effectOf({ action: 'Rightsize', change }, g);
      return 'obstacle' in carrying ? carrying.obstacle.message : '';
    };
    expect(said({ instances: '1 x A100 + 2 x T4' })).toBe(
      'a person has to carry it out: no provider accepts a change to several kinds of instances at once (1 x A100 + 2 x T4)',
    );
    expect(said({ sku: 'g4dn.xlarge', replicas: 2 })).toMatch(
      /^a person has to carry it out: asg\/g launches p5\.48xlarge/,
    );
  });

  it('of a shifted job is a stop and, in its hours, a start that is given up six hours after the last one in time', () => {
    expect(
      effectOf(
        { action: 'MoveToOffPeak', change: { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' } },
        i,
      ),
    ).toEqual({
      effect: { kind: 'stop', target: 'instance/i' },
      next: {
        effect: { kind: 'start', target: 'instance/i' },
        notBefore: Date.UTC(2026, 10, 18, 20),
        expiresAt: Date.UTC(2026, 10, 19, 8),
      },
    });
  });
});

describe('a group that is shifted', () => {
  const times = { notBefore: Date.UTC(2026, 10, 18, 20), expiresAt: Date.UTC(2026, 10, 19, 8) };
  const next = { effect: { kind: 'scale', target: 'asg/g', replicas: 4 }, ...times } as const;

  it('goes back to the size that it had', () => {
    expect(
      effectOf(
        { action: 'MoveToOffPeak', change: { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' } },
        g,
      ),
    ).toEqual({ effect: { kind: 'scale', target: 'asg/g', replicas: 0 }, next });
  });

  it('goes back to the size that it had when it was paused, where somebody had changed it since it was proposed', () => {
    const paused = { effect: { kind: 'scale', target: 'asg/g', replicas: 0 }, next } as const;
    expect(followingEffect({ ...paused, before: group('g', 6) })).toEqual({
      kind: 'scale',
      target: 'asg/g',
      replicas: 6,
    });
    expect(followingEffect({ ...paused, before: null })).toEqual(next.effect);
    const start = { kind: 'start', target: 'instance/i' } as const;
    expect(
      followingEffect({ effect: { kind: 'stop', target: 'instance/i' }, before: i, next: { effect: start, ...times } }),
    ).toEqual(start);
  });

  it('says why it is not paused where its autoscaler keeps replicas', () => {
    const carrying = effectOf(
      { action: 'MoveToOffPeak', change: { startsAt: '2026-11-18T20:00:00Z', startsBy: '2026-11-19T02:00:00Z' } },
      group('g', 4, { replicas: { desired: 4, ready: 4, min: 2, max: 8 } }),
    );
    expect('obstacle' in carrying ? carrying.obstacle.message : '').toBe(
      'its group or autoscaler keeps at least 2 replica(s) of asg/g: it cannot be paused while that is above 0',
    );
  });
});

describe('a purchase', () => {
  const offer = (over: Partial<OfferOnSale>): OfferOnSale => ({
    offer: 'o-1',
    kind: 'reserved-instance',
    sku: 'p3.2xlarge',
    region: 'us-east-1',
    termHours: 8760,
    upfront: 'none',
    upfrontNanos: 0n,
    hourlyNanos: 1_000_000_000n,
    currency: 'USD',
    connection: 'aws',
    provider: 'AWS',
    gpusPerUnit: 1,
    ...over,
  });
  const wanted = {
    action: 'PurchaseReservedInstances' as const,
    target: 'a reservation',
    place: { provider: 'AWS', region: 'us-east-1', sku: 'p3.2xlarge' },
    change: { units: 5, term: 'reserved-1y', upfront: 'none', termHours: 8760, perGpuHourNanos: 1_000_000_000 },
  };

  it('commits to what the whole term costs', () => {
    // 5 units x 1 dollar x 8760 hours.
    expect(purchaseOf(wanted, [offer({})])).toEqual({
      connection: 'aws',
      effect: {
        kind: 'purchase',
        target: wanted.target,
        offer: 'o-1',
        units: 5,
        mostNanos: 43_800_000_000_000n,
        currency: 'USD',
        gpus: 5,
      },
    });
  });

  it('goes by the place that it is given, not by how its target is written', () => {
    const slashed = { ...wanted, place: { provider: 'A/B', region: null, sku: 'p3/2xlarge' } };
    const sold = offer({ provider: 'A/B', sku: 'p3/2xlarge', region: 'any region' });
    expect(purchaseOf(slashed, [sold])).toMatchObject({ effect: { offer: 'o-1', units: 5 } });
    expect(purchaseOf({ ...wanted, place: null }, [offer({})])).toMatchObject({ obstacle: { code: 'no-effect-fits' } });
  });

  it('never buys more GPUs than were recommended, and takes the cheapest', () => {
    const big = offer({ offer: 'o-2', gpusPerUnit: 2, hourlyNanos: 1_800_000_000n });
    expect(purchaseOf(wanted, [offer({}), big])).toMatchObject({ effect: { offer: 'o-2', units: 2 } });
    expect(purchaseOf({ ...wanted, change: { ...wanted.change, units: 1 } }, [big])).toMatchObject({
      obstacle: { code: 'no-offer' },
    });
  });

  it('is made by a connection of the account whose machines it is to serve', () => {
    const wantedOf = (account: string | null) => ({ ...wanted, place: { ...wanted.place, account } });
    const [own, other, unsaid] = [
      offer({ connection: 'aws-a', account: 'a', hourlyNanos: 1_000_000_000n }),
      offer({ connection: 'aws-b', account: 'b', hourlyNanos: 900_000_000n }),
      offer({ connection: 'aws-c', hourlyNanos: 900_000_000n }),
    ];
    expect(purchaseOf(wantedOf('a'), [own, other, unsaid])).toMatchObject({ connection: 'aws-a' });
    expect(purchaseOf(wantedOf('a'), [other, unsaid])).toMatchObject({ connection: 'aws-c' });
    expect(purchaseOf(wantedOf('a'), [other])).toEqual({
      obstacle: { code: 'no-offer', message: 'no connection offers what a reservation needs to the account a' },
    });
    expect(purchaseOf(wantedOf(null), [own, other])).toMatchObject({ connection: 'aws-b' });
  });

  it.each([
    ['another SKU', { sku: 'p4d.24xlarge' }, 'no-offer'],
    ['another region', { region: 'eu-west-1' }, 'no-offer'],
    ['another term', { termHours: 26_280 }, 'no-offer'],
    ['another payment', { upfront: 'all' as const }, 'no-offer'],
    ['another provider', { provider: 'Azure' }, 'no-offer'],
    ['unknown GPUs', { gpusPerUnit: null }, 'no-offer'],
    ['a higher price', { hourlyNanos: 1_100_000_000n }, 'offer-dearer'],
    ['a hidden upfront', { upfrontNanos: 1_000_000_000_000n }, 'offer-dearer'],
  ])('is none of %s', (_, over, code) => {
    expect(purchaseOf(wanted, [offer(over)])).toMatchObject({ obstacle: { code } });
  });
});

describe('a purchase of a savings plan', () => {
  const DOLLAR = 1_000_000_000n;
  const rate = (hourly: bigint) => ({
    sku: 'p5.48xlarge',
    region: 'us-east-1',
    gpuModel: 'H100',
    gpus: 8,
    hourlyNanos: hourly,
  });
  const plan = (over: Partial<OfferOnSale>): OfferOnSale => ({
    offer: 'compute',
    kind: 'savings-plan',
    sku: null,
    region: null,
    termHours: 8760,
    upfront: 'none',
    upfrontNanos: 0n,
    hourlyNanos: DOLLAR,
    currency: 'USD',
    connection: 'aws',
    provider: 'AWS',
    gpusPerUnit: null,
    rates: [rate(44n * DOLLAR)],
    ...over,
  });
  const family = plan({ offer: 'family', sku: 'p5', region: 'us-east-1', rates: [rate(40n * DOLLAR)] });
  const wanted = {
    action: 'PurchaseSavingsPlans' as const,
    target: 'a savings plan',
    place: { provider: 'AWS', region: 'us-east-1', sku: 'p5.48xlarge' },
    change: { units: 16, term: 'savings-plan-1y', upfront: 'none', termHours: 8760, perGpuHourNanos: 5_000_000_000 },
  };

  it('is of the cheaper plan, by the spend per hour that the GPUs come to, and says what the plan covers', () => {
    // Two machines at $40 an hour: 80 units, $700,800 over the year.
    expect(purchaseOf(wanted, [plan({}), family])).toEqual({
      connection: 'aws',
      effect: {
        kind: 'purchase',
        target: wanted.target,
        offer: 'family',
        units: 80,
        mostNanos: 700_800n * DOLLAR,
        currency: 'USD',
        gpus: 16,
        family: 'p5',
        region: 'us-east-1',
      },
    });
    expect(
      purchaseOf({ ...wanted, change: { ...wanted.change, perGpuHourNanos: 5_500_000_000 } }, [plan({})]),
    ).toMatchObject({ effect: { offer: 'compute', units: 88, family: null, region: null } });
  });

  it.each([
    ['whose rates are not known', plan({ rates: [] }), 'no-offer'],
    ['for another family', plan({ sku: 'g5', rates: [{ ...rate(DOLLAR), sku: 'g5.xlarge', gpus: 1 }] }), 'no-offer'],
    ['of another term', plan({ termHours: 26_280 }), 'no-offer'],
    ['that is dearer than what was compared', plan({}), 'offer-dearer'],
    ['that is a reservation', plan({ kind: 'reserved-instance', sku: 'p5.48xlarge', gpusPerUnit: 8 }), 'no-offer'],
  ])('is none of one %s', (_, offer, code) => {
    expect(purchaseOf(wanted, [offer])).toMatchObject({ obstacle: { code } });
  });
});

describe('the reach of an effect', () => {
  it.each([
    ['one instance', { kind: 'stop', target: 'instance/i' }, i, { replicas: 1, gpus: 8 }],
    ['two replicas fewer', { kind: 'scale', target: 'asg/g', replicas: 2 }, g, { replicas: 2, gpus: 8 }],
    ['three replicas more', { kind: 'scale', target: 'asg/g', replicas: 7 }, g, { replicas: 3, gpus: 12 }],
    [
      'bounds that force one away',
      { kind: 'set-bounds', target: 'asg/g', min: 1, max: 3 },
      g,
      { replicas: 1, gpus: 4 },
    ],
    ['bounds that force nothing', { kind: 'set-bounds', target: 'asg/g', min: 1, max: 9 }, g, { replicas: 0, gpus: 0 }],
    ['half of the group', { kind: 'set-spot-ratio', target: 'asg/g', spotRatio: 0.5 }, g, { replicas: 2, gpus: 8 }],
    [
      'a broken half is a whole one',
      { kind: 'set-spot-ratio', target: 'asg/g', spotRatio: 0.3 },
      g,
      { replicas: 2, gpus: 8 },
    ],
    [
      'all, where the share is not known',
      { kind: 'set-spot-ratio', target: 'asg/g', spotRatio: 0 },
      { ...g, spotRatio: null },
      { replicas: 4, gpus: 16 },
    ],
    [
      'GPUs that nobody counted',
      { kind: 'stop', target: 'instance/i' },
      { ...i, gpus: null },
      { replicas: 1, gpus: null },
    ],
    ['a group whose size nobody says', { kind: 'drain', target: 'asg/g' }, { ...g, replicas: null }, null],
    ['what is not there', { kind: 'stop', target: 'instance/i' }, null, null],
    [
      'a purchase',
      { kind: 'purchase', target: 'x', offer: 'o', units: 9, mostNanos: 1n, currency: 'USD' },
      null,
      { replicas: 0, gpus: 0 },
    ],
  ] as const)('%s', (_, effect, seen, reach) => {
    expect(reachOf(effect, seen)).toEqual(reach);
  });

  it('leaves a size to groups only', () => {
    expect(sizeAfter({ kind: 'scale', target: 'asg/g', replicas: 1 }, g)).toBe(1);
    expect(sizeAfter({ kind: 'set-bounds', target: 'asg/g', min: 0, max: 3 }, g)).toBe(3);
    expect(sizeAfter({ kind: 'stop', target: 'instance/i' }, i)).toBeNull();
  });
});

describe('a decided question', () => {
  const T = 1_000_000_000;
  const HALF_HOUR = 1_800_000;
  it.each([
    ['its action goes on', { status: 'approved', hasLapsed: true, action: { endedAt: null } }, T, false],
    [
      'newer evidence after its action',
      { status: 'approved', hasLapsed: false, action: { endedAt: T } },
      T + HALF_HOUR,
      true,
    ],
    [
      'evidence from too soon after',
      { status: 'approved', hasLapsed: false, action: { endedAt: T } },
      T + HALF_HOUR - 1,
      false,
    ],
    [
      'more for a promise, from five minutes after it',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, isForPromise: true },
      T + 300_000,
      true,
    ],
    [
      'more for a promise, from too soon after',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, isForPromise: true },
      T + 299_999,
      false,
    ],
    [
      'another number of replicas, with newer evidence',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, asksForOther: true },
      T + 1,
      true,
    ],
    [
      'another number of replicas, on what was seen before',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, asksForOther: true },
      T,
      false,
    ],
    [
      'changed back since by its own document, with newer evidence',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, overtakenAt: T + 60_000 },
      T + 60_001,
      true,
    ],
    [
      'changed back since by its own document, on what was seen before that',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, overtakenAt: T + 60_000 },
      T + 60_000,
      false,
    ],
    [
      'rejected, whatever its document did since',
      { status: 'rejected', hasLapsed: false, action: { endedAt: T }, overtakenAt: T + 60_000 },
      T + 60_001,
      false,
    ],
    ['no evidence', { status: 'approved', hasLapsed: false, action: { endedAt: T } }, null, false],
    [
      'refused for what was read just before, and the evidence is of that minute',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, refusedByReading: true },
      T + 59_999,
      false,
    ],
    [
      'refused for what was read just before, and the evidence came after',
      { status: 'approved', hasLapsed: false, action: { endedAt: T }, refusedByReading: true },
      T + 60_000,
      true,
    ],
    [
      'rejected, whatever was read',
      { status: 'rejected', hasLapsed: false, action: { endedAt: T }, refusedByReading: true },
      T + 100 * HALF_HOUR,
      false,
    ],
    [
      'rejected, and the situation goes on',
      { status: 'rejected', hasLapsed: false, action: { endedAt: T } },
      T + 100 * HALF_HOUR,
      false,
    ],
    ['rejected a minute ago', { status: 'rejected', hasLapsed: true, action: { endedAt: T } }, T + 60_000, false],
    [
      'rejected, and it came again after half an hour',
      { status: 'rejected', hasLapsed: true, action: { endedAt: T } },
      T + 30 * 60_000,
      true,
    ],
    [
      'rejected without an action a minute ago',
      { status: 'rejected', hasLapsed: true, action: null, decidedAt: T },
      T + 60_000,
      false,
    ],
    ['approved, and nothing carried it out', { status: 'approved', hasLapsed: false, action: null }, T, false],
    [
      'approved, nothing carried it out, and it came again',
      { status: 'approved', hasLapsed: true, action: null },
      T,
      true,
    ],
  ] as const)('%s', (_, decided, evidenceAt, again) => {
    expect(opensAgain(decided, evidenceAt)).toBe(again);
  });

  it('is for a promise only where more replicas of a service are asked for', () => {
    expect(isForPromise({ action: 'ScaleOut', change: { replicas: 2, service: 'chat' } })).toBe(true);
    expect(isForPromise({ action: 'ScaleOut', change: { replicas: 2 } })).toBe(false);
    expect(isForPromise({ action: 'ScaleIn', change: { replicas: 2, service: 'chat' } })).toBe(false);
  });

  it('was refused for a moment only where nothing was sent and nothing else spoke against it', () => {
    const refused = (...codes: string[]) => ({
      state: 'refused' as const,
      askedAt: null,
      reasons: codes.map((code) => ({ code, message: code })),
    });
    expect(wasRefusedByReading(refused('runs'))).toBe(true);
    expect(wasRefusedByReading(refused('evidence-stale', 'already-so'))).toBe(true);
    expect(wasRefusedByReading(refused('evidence-stale', 'protected-label'))).toBe(false);
    expect(wasRefusedByReading(refused('other-team'))).toBe(false);
    expect(wasRefusedByReading(refused())).toBe(false);
    expect(wasRefusedByReading({ ...refused('runs'), askedAt: 1 })).toBe(false);
    expect(wasRefusedByReading({ ...refused('runs'), state: 'failed' })).toBe(false);
  });

  it('asks for another number only where the last was done', () => {
    const to = (replicas: number) => ({ change: { replicas } });
    const scale = (state: ActionState) => ({ state, effect: { kind: 'scale', target: 'asg/a', replicas: 5 } as const });
    expect(asksForOther(scale('confirmed'), to(6))).toBe(true);
    expect(asksForOther(scale('measured'), to(5))).toBe(false);
    expect(asksForOther(scale('refused'), to(6))).toBe(false);
    expect(asksForOther({ state: 'confirmed', effect: { kind: 'stop', target: 'instance/a' } }, to(0))).toBe(false);
  });

  it('is as old as its newest evidence', () => {
    const at = (to: string) => ({ what: 'x', from: '2026-01-01T00:00:00.000Z', to, ageSeconds: 0 });
    expect(newestEvidence({ evidence: [at('2026-01-03T00:00:00.000Z'), at('2026-01-02T00:00:00.000Z')] })).toBe(
      Date.UTC(2026, 0, 3),
    );
    expect(newestEvidence({ evidence: [] })).toBeNull();
  });
});

describe('the view without what was done', () => {
  const fleet = (ready: number): WorkloadView['fleet'] => ({
    ready,
    booting: 0,
    minReplicas: 1,
    maxReplicas: 9,
    changedAt: null,
  });
  const workload = (ready: number): WorkloadView => ({
    workload: 'w',
    kind: 'batch',
    provider: null,
    region: null,
    sku: null,
    gpuModel: null,
    term: 'spot',
    gpusPerReplica: 1,
    interruptible: true,
    isProtected: null,
    fleet: fleet(ready),
    service: null,
    job: null,
    metrics: {},
    performance: [],
  });
  const resource: ResourceView = {
    resource: 'r',
    workload: 'notebook',
    gpus: 1,
    gpuModel: 'T4',
    hourlyNanos: 12_345_678_901_234_567n,
    observedFrom: 0,
    readings: [{ at: 60_000, gpuUtilisationRatio: 0.1, memoryUsedRatio: null, requestsPerSecond: null }],
  };
  const view = (over: object, asOf = 120_000) => viewOf({ team: 't', asOf, currency: 'USD', ...over });

  it('has fleets and terms as they were, and resources as if just read', () => {
    const before = view({ workloads: [{ ...workload(4), term: 'on-demand' }], resources: [resource] });
    const subjects = [
      subjectOf({ action: 'ScaleIn', target: 'w' }, before),
      subjectOf({ action: 'Stop', target: 'r' }, before),
    ];
    // Kept as JSON meanwhile; the resource is not even listed any more.
    const untouched = asUntouched(view({ workloads: [workload(0)] }, 900_000), JSON.parse(JSON.stringify(subjects)));
    expect(untouched.workloads).toEqual([{ ...workload(4), term: 'on-demand' }]);
    expect(untouched.resources).toEqual([{ ...resource, readings: [{ ...resource.readings[0], at: 900_000 }] }]);
  });

  it('leaves everything else alone', () => {
    const now = view({ workloads: [workload(2)], resources: [resource] });
    expect(asUntouched(now, [subjectOf({ action: 'Stop', target: 'other' }, now)])).toEqual(now);
  });
});
