import { describe, expect, it } from 'vitest';
import { isOf } from '../../../src/core/fleet/membership.js';
import { bearsOn, counterfactualOf, undoes, type ActionFacts } from '../../../src/core/saving/counterfactual.js';
import type { Effect, FleetTarget } from '../../../src/core/fleet/fleet.js';
import { DAY_MS } from '../../../src/core/time.js';
import { GPU_PARTS } from '../../../src/core/usage.js';
import { metered, MONDAY } from '../../support/records.js';
import { fleetTarget } from '../../support/makers.js';

const target = (over: Partial<FleetTarget> = {}): FleetTarget => fleetTarget(over);
const group = (desired: number, over: Partial<FleetTarget> = {}): FleetTarget =>
  target({ target: 'asg/train', kind: 'group', replicas: { desired, ready: desired, min: 0, max: 20 }, ...over });

function facts(
  effect: Effect,
  before: FleetTarget | null,
  over: Partial<ActionFacts> & { rollbackOf?: string } = {},
): ActionFacts {
  return {
    action: {
      id: 'act-1',
      team: 'red',
      connection: 'aws',
      target: effect.target,
      effect,
      rollbackOf: over.rollbackOf ?? null,
      recommendation: null,
      policy: null,
    },
    before,
    appliedAt: MONDAY,
    confirmedAt: MONDAY,
    takenBackAt: null,
    recommended: null,
    ...over,
  };
}
const worldOf = (...given: Parameters<typeof facts>) => counterfactualOf(facts(...given), 'USD').world;
const key = {
  provider: 'AWS',
  account: 'a1',
  sku: 'p5.48xlarge',
  gpuModel: 'H100',
  region: 'us-east-1',
  term: 'on-demand',
};
const recommended = (
  action: NonNullable<ActionFacts['recommended']>['action'],
  change = {},
): Pick<ActionFacts, 'recommended'> => ({
  recommended: {
    action,
    change,
    policyVersion: 1,
    currency: 'USD',
    monthly: { mean: 5n, low: 4n, high: 6n },
    promised: { mean: 6n, low: 4n, high: 8n },
    once: false,
    place: action.startsWith('Purchase') ? { provider: 'AWS', region: 'us-east-1', sku: 'p5.48xlarge' } : null,
  },
});

describe('what would have held', () => {
  it('is the machine as it was, for a stop, at most as long as the readings reach back', () => {
    const found = counterfactualOf(
      facts({ kind: 'stop', target: 'instance/i-1' }, target(), recommended('Stop')),
      'USD',
    );
    expect(found.world).toEqual({
      kind: 'held',
      holdings: [{ key, gpuParts: 8 * GPU_PARTS, units: 1 }],
      afterParts: 0,
    });
    expect([found.from, found.until]).toEqual([MONDAY, MONDAY + 14 * DAY_MS]);
    expect(found.estimate).toEqual({ mean: 5n, low: 4n, high: 6n });
  });

  it('is all replicas that were there, for a scale-in; those that never came are not claimed', () => {
    expect(
      worldOf(
        { kind: 'scale', target: 'asg/train', replicas: 3 },
        group(8, { replicas: { desired: 8, ready: 6, min: 0, max: 9 } }),
      ),
    ).toEqual({ kind: 'held', holdings: [{ key, gpuParts: 8 * GPU_PARTS, units: 6 }], afterParts: 24 * GPU_PARTS });
  });

  it('ends as soon for a machine that was ended as for one that was stopped', () => {
    const until = (kind: 'stop' | 'terminate') =>
      counterfactualOf(facts({ kind, target: 'instance/i-1' }, target()), 'USD').until;
    expect(until('terminate')).toBe(until('stop'));
    const scaled = counterfactualOf(facts({ kind: 'scale', target: 'asg/train', replicas: 1 }, group(3)), 'USD');
    expect(scaled.until).not.toBe(until('stop'));
  });

  it('takes a replica that may have been spot for spot', () => {
    expect(
      worldOf({ kind: 'scale', target: 'asg/train', replicas: 0 }, group(3, { spotRatio: 0.5, term: null })),
    ).toEqual({
      kind: 'held',
      afterParts: 0,
      holdings: [
        { key, gpuParts: 8 * GPU_PARTS, units: 1 },
        { key: { ...key, term: 'spot' }, gpuParts: 8 * GPU_PARTS, units: 2 },
      ],
    });
  });

  it('is the hours as used at the old share of spot, or the old SKU', () => {
    expect(
      worldOf({ kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 }, group(4, { spotRatio: 0.25 })),
    ).toEqual({ kind: 'term', spotRatio: 0.25 });
    expect(worldOf({ kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 }, group(4))).toEqual({
      kind: 'term',
      spotRatio: 0,
    });
    expect(worldOf({ kind: 'resize', target: 'instance/i-1', sku: 'g5.xlarge' }, target())).toEqual({
      kind: 'size',
      holding: { key, gpuParts: 8 * GPU_PARTS, units: 1 },
    });
  });

  it('is the covered hours on demand, for a reservation, over its whole term', () => {
    const effect: Effect = {
      kind: 'purchase',
      target: 'reservation/of/another/spelling',
      offer: 'o1',
      units: 2,
      mostNanos: 100n,
      currency: 'USD',
    };
    const found = counterfactualOf(
      facts(effect, null, recommended('PurchaseReservedInstances', { term: 'reserved-1y' })),
      'USD',
    );
    expect(found.world).toEqual({
      kind: 'commitment',
      units: 2,
      offer: 'o1',
      term: 'reserved-1y',
      paid: { nanos: 100n, currency: 'USD' },
      onDemand: { provider: 'AWS', sku: 'p5.48xlarge', gpuModel: null, region: 'us-east-1', term: 'on-demand' },
    });
    expect(found.until - found.from).toBe(365 * DAY_MS);
    expect(worldOf(effect, null)).toEqual({ kind: 'unknown', reason: 'commitment-unknown' });
  });

  it('is the covered hours on demand, for a savings plan, where the purchase says what it covers', () => {
    const effect: Effect = {
      kind: 'purchase',
      target: 'AWS/us-east-1/p5.48xlarge/savings-plan-1y/all',
      offer: 'sp',
      units: 1.25,
      mostNanos: 10_950_000_000_000n,
      currency: 'USD',
      family: 'p5',
      region: 'us-east-1',
    };
    const why = recommended('PurchaseSavingsPlans', { term: 'savings-plan-1y', upfront: 'all' });
    const found = counterfactualOf(facts(effect, null, why), 'USD');
    expect(found.world).toEqual({
      kind: 'plan',
      provider: 'AWS',
      family: 'p5',
      region: 'us-east-1',
      term: 'savings-plan-1y',
      upfront: 'all',
      offer: 'sp',
      hourly: { nanos: 1_250_000_000n, currency: 'USD' },
      paid: { nanos: 10_950_000_000_000n, currency: 'USD' },
    });
    expect([found.provider, found.until - found.from]).toEqual(['AWS', 365 * DAY_MS]);
    const record = (over: Parameters<typeof metered>[1]) =>
      bearsOn(metered('r', { sku: 'p5.48xlarge', term: 'savings-plan-1y', ...over }), found);
    expect([
      record({}),
      record({ sku: 'p5.4xlarge' }),
      record({ sku: 'p5en.48xlarge' }),
      record({ term: 'on-demand' }),
      record({ term: 'savings-plan-3y' }),
      record({ region: 'eu-west-1' }),
      record({ sku: null }),
    ]).toEqual([true, true, false, false, false, false, false]);
    const { family: _, ...unsaid } = effect;
    expect(worldOf(unsaid, null, why)).toEqual({ kind: 'unknown', reason: 'commitment-unknown' });
  });

  it('is not known, with the reason, rather than guessed', () => {
    const reasonOf = (...given: Parameters<typeof facts>) => {
      const world = worldOf(...given);
      return world.kind === 'unknown' ? world.reason : world.kind;
    };
    const stop: Effect = { kind: 'stop', target: 'instance/i-1' };
    expect(reasonOf(stop, null)).toBe('target-unknown');
    expect(reasonOf(stop, target({ state: 'unknown' }))).toBe('state-unknown');
    expect(reasonOf(stop, target({ state: 'stopped' }))).toBe('was-not-running');
    expect(reasonOf(stop, target({ gpus: null }))).toBe('size-unknown');
    expect(reasonOf({ kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 }, group(4, { term: null }))).toBe(
      'term-unknown',
    );
    expect(reasonOf({ kind: 'set-bounds', target: 'asg/train', min: 0, max: 9 }, group(4))).toBe('no-immediate-effect');
    expect(reasonOf({ kind: 'set-bounds', target: 'asg/train', min: 0, max: 3 }, group(4))).toBe('held');
    expect(reasonOf({ kind: 'scale', target: 'asg/train', replicas: 9 }, group(4))).toBe('not-made-to-save');
    expect(reasonOf({ kind: 'start', target: 'instance/i-1' }, target())).toBe('not-made-to-save');
    expect(reasonOf(stop, target(), { rollbackOf: 'act-0' })).toBe('not-made-to-save');
    for (const [ratio, before] of [
      [0, { spotRatio: 1 }],
      [0.5, { spotRatio: 0.5 }],
      [1, { term: 'spot' }],
    ] as const)
      expect(reasonOf({ kind: 'set-spot-ratio', target: 'asg/train', spotRatio: ratio }, group(4, before))).toBe(
        'not-made-to-save',
      );
  });
});

describe('the end of an effect', () => {
  const earlier = (effect: Effect, before: FleetTarget) => counterfactualOf(facts(effect, before), 'USD');

  it('is a later effect that takes it back, not one that goes further', () => {
    const scaled = earlier({ kind: 'scale', target: 'asg/train', replicas: 4 }, group(8));
    expect(undoes({ kind: 'scale', target: 'asg/train', replicas: 5 }, scaled)).toBe(true);
    expect(undoes({ kind: 'scale', target: 'asg/train', replicas: 2 }, scaled)).toBe(false);
    const stopped = earlier({ kind: 'stop', target: 'instance/i-1' }, target());
    expect(undoes({ kind: 'start', target: 'instance/i-1' }, stopped)).toBe(true);
    expect(undoes({ kind: 'terminate', target: 'instance/i-1' }, stopped)).toBe(false);
    const moved = earlier({ kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 1 }, group(4, { spotRatio: 0.2 }));
    expect(undoes({ kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 0.2 }, moved)).toBe(true);
    expect(undoes({ kind: 'set-spot-ratio', target: 'asg/train', spotRatio: 0.5 }, moved)).toBe(false);
    const resized = earlier({ kind: 'resize', target: 'instance/i-1', sku: 'g5.xlarge' }, target());
    expect(undoes({ kind: 'resize', target: 'instance/i-1', sku: 'p5.48xlarge' }, resized)).toBe(true);
  });
});

describe('usage of a target', () => {
  const of = (resource: string | null, tags: Record<string, string> | null = null) => metered('r', { resource, tags });

  it('is told by the resource id of a machine', () => {
    expect(isOf(of('i-1'), 'instance/i-1')).toBe(true);
    expect(isOf(of('i-1'), 'instance/us-east-1/i-1')).toBe(true);
    expect(isOf(of('instance/i-1'), 'instance/i-1')).toBe(true);
    expect(isOf(of('arn:aws:ec2:us-east-1:1:instance/i-1'), 'instance/us-east-1/i-1')).toBe(true);
    const google = '//compute.googleapis.com/projects/123/zones/us-central1-a/instances/4711';
    expect(isOf(of(google), 'instance/ml-prod/us-central1-a/4711')).toBe(true);
    expect(isOf(of(google), 'instance/ml-prod/us-central1-a/711')).toBe(false);
    expect(isOf(of('i-11'), 'instance/i-1')).toBe(false);
    expect(isOf(of('xi-1'), 'instance/i-1')).toBe(false);
    expect(isOf(of(null), 'instance/i-1')).toBe(false);
  });

  it('is told by the tag of a group, in its region', () => {
    const tagged = of('i-9', { 'aws:autoscaling:groupName': 'train' });
    expect(isOf(tagged, 'asg/us-east-1/train')).toBe(true);
    expect(isOf(tagged, 'asg/eu-west-1/train')).toBe(false);
    expect(isOf(tagged, 'asg/train')).toBe(true);
    expect(isOf(tagged, 'instance/i-9')).toBe(true);
  });

  it('is told by the name and the label of a pod together, never by the beginning of a name', () => {
    const pod = (name: string, labels: Record<string, string>) =>
      isOf(of(`pod/ml/${name}`, labels), 'deployment/ml/trainer');
    expect(pod('trainer-5f6d8c7b9-x2x4z', { 'pod-template-hash': '5f6d8c7b9' })).toBe(true);
    expect(pod('trainer-large-5f6d8c7b9-x2x4z', { 'pod-template-hash': '5f6d8c7b9' })).toBe(false);
    expect(pod('trainer-5f6d8c7b9-x2x4z', {})).toBe(false);
    expect(isOf(of('pod/ml/web-0', { 'apps.kubernetes.io/pod-index': '0' }), 'statefulset/ml/web')).toBe(true);
    expect(isOf(of('pod/ml/web-0', { 'apps.kubernetes.io/pod-index': '0' }), 'statefulset/prod/web')).toBe(false);
    expect(isOf(of('job-7', { 'bursar:target': 'deployment/ml/trainer' }), 'deployment/ml/trainer')).toBe(true);
  });

  it('is told by the tag that Auto Scaling of Alibaba Cloud puts on its machines, in its region', () => {
    const tagged = { ...of('i-2ze1', { 'acs:autoscaling:scalingGroupId': 'asg-2ze' }), region: 'cn-beijing' };
    expect(isOf(tagged, 'asg/cn-beijing/asg-2ze')).toBe(true);
    expect(isOf(tagged, 'asg/cn-hangzhou/asg-2ze')).toBe(false);
    expect(isOf(tagged, 'asg/cn-beijing/asg-2zf')).toBe(false);
    expect(isOf(tagged, 'group/asg-2ze')).toBe(false);
  });

  it('knows the group of a machine by the same tag', () => {
    const inGroup = (before: FleetTarget) =>
      counterfactualOf(facts({ kind: 'stop', target: before.target }, before), 'USD').group;
    expect(
      inGroup(target({ target: 'instance/us-east-1/i-1', labels: { 'aws:autoscaling:groupName': 'train' } })),
    ).toBe('asg/us-east-1/train');
    expect(
      inGroup(
        target({ target: 'instance/cn-beijing/i-2ze1', labels: { 'acs:autoscaling:scalingGroupId': 'asg-2ze' } }),
      ),
    ).toBe('asg/cn-beijing/asg-2ze');
    expect(
      inGroup(target({ target: 'instance/ap-guangzhou/ins-1', labels: { 'bursar:target': 'asg/ap-guangzhou/asg-1' } })),
    ).toBe('asg/ap-guangzhou/asg-1');
    expect(inGroup(target({ labels: { 'bursar:target': 'instance/i-1' } }))).toBeNull();
    expect(inGroup(target({ labels: { 'fake:group': 'serve' } }))).toBe('group/serve');
    expect(inGroup(target())).toBeNull();
  });
});
