/**
 * A service on spot among other rules and other hands: a calendar on its group, a second document, a brake, a promise
 * that comes late or grows, a cloud that refuses, a size that somebody lowers. It keeps what it promises, and pays for
 * no more. Through the real stages on real PostgreSQL.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../src/application/policy/explain.js';
import { HOUR_MS } from '../../src/core/time.js';
import type { Policy, PolicyView, Proposal } from '../../src/core/policy/policy.js';
import { evidenceOf } from '../../src/policies/estimating/money.js';
import { policy as schedule } from '../../src/policies/schedule.js';
import { POLICIES, spotService, ZONES } from '../support/spot-service.js';

type World = Awaited<ReturnType<typeof spotService>>;

const lose = ({ cloud }: World): void => ZONES.forEach((zone) => cloud.gone.add(zone));
const look = async ({ stores, policies, clock }: World, document: string) =>
  (await explain(stores, policies, 'default', 'asg/od', clock.at)).looks.find((one) => one.document === document);

describe('a service whose promise comes after its groups', () => {
  it('does not miss what it had not promised, and moves to spot', async () => {
    const world = await spotService('enforce', { begins: 1, isPromised: false });
    await world.pass(60);
    await world.promise();
    await world.pass(12);
    expect(world.sizes()[2]).toBe(0);
    expect(world.cloud.ready()).toBeGreaterThanOrEqual(2);
  });

  it('does not run on demand beside its spot once it promises more', async () => {
    const world = await spotService('enforce');
    await world.pass(60);
    await world.promise({ replicas: 3 });
    await world.pass(30);
    expect(world.sizes()[2]).toBe(0);
    expect(world.cloud.ready()).toBeGreaterThanOrEqual(3);
    // One spare at most, as with the smaller promise.
    expect(world.cloud.ready()).toBeLessThanOrEqual(5);
  });
});

describe('a service and a calendar on one of its groups', async () => {
  const policies = [...POLICIES, schedule] as unknown as readonly Policy[];
  const world = await spotService('enforce', { policies });
  const calendar = (otherwise: object): Promise<void> =>
    world.apply({ name: 'nights', policy: 'schedule', mode: 'enforce', params: { targets: ['asg/od'], otherwise } });

  it.each([{ running: false }, { maxReplicas: 1 }])('has its stand-in under %o', async (otherwise) => {
    await calendar(otherwise);
    ZONES.forEach((zone) => world.cloud.gone.delete(zone));
    await world.pass(12);
    lose(world);
    await world.pass(5);
    expect([world.sizes()[2], world.cloud.ready()]).toEqual([2, 2]);
    await world.pass(3);
    expect([world.sizes()[2], world.cloud.ready()]).toEqual([2, 2]);
    expect((await look(world, 'nights'))?.leftAlone).toEqual({
      code: 'own-policy',
      message: 'chat sets its size already, and two would undo each other',
      toAct: 'the removal of chat',
    });
  });

  it('pays for no replica that only the calendar asks for', async () => {
    await calendar({ minReplicas: 4 });
    await world.pass(3);
    expect(world.sizes()[2]).toBe(2);
  });
});

it('keeps the larger of two promises of one service, and says so at the smaller', async () => {
  const world = await spotService('enforce');
  await world.promise({ replicas: 4 }, 'chat-large');
  lose(world);
  await world.pass(6);
  expect([world.sizes()[2], world.cloud.ready()]).toEqual([4, 4]);
  expect((await look(world, 'chat'))?.leftAlone?.message).toBe(
    'chat-large sets its size already, and two would undo each other',
  );
});

describe('a service over a budget that is spent', async () => {
  let isSpent = false;
  const ofGroup = (view: PolicyView, target: string): Proposal => ({
    action: 'ScaleIn',
    target,
    protective: true,
    change: { replicas: 1 },
    title: `Lower ${target}`,
    monthlySavings: null,
    monthlyCost: null,
    computation: {},
    risk: { interruption: 'Low', note: '' },
    restartNeeded: false,
    implementationEffort: 'VeryLow',
    rollbackPossible: true,
    validDays: 1,
    evidence: [evidenceOf(view, 'a budget', view.asOf - HOUR_MS, view.asOf)],
  });
  const brake = {
    ...schedule,
    name: 'brake',
    holdsWhileProposed: true,
    explain: undefined,
    nextEvaluationAt: undefined,
    evaluate: (view: PolicyView): Proposal[] =>
      view.workloads
        .filter(({ fleet }) => isSpent && fleet !== null && fleet.ready + fleet.booting > 1)
        .map(({ workload }) => ofGroup(view, workload)),
  };
  const world = await spotService('enforce', { policies: [...POLICIES, brake as unknown as Policy] });
  beforeAll(async () => {
    await world.apply({ name: 'brake', policy: 'brake', mode: 'enforce', params: {} });
    lose(world);
    await world.pass(4);
  });

  it('stays as small as the brake holds it, for as long as it holds, and says why', async () => {
    isSpent = true;
    await world.pass(33);
    expect(world.sizes()[2]).toBe(1);
    expect(world.cloud.done.filter(({ effect }) => effect.target === 'asg/od')).toHaveLength(1);
    expect((await look(world, 'chat'))?.recommendation?.because).toBe(
      'brake sets its size already, and two would undo each other',
    );
  });

  it('has its replicas back when the brake is lifted', async () => {
    isSpent = false;
    await world.pass(5);
    expect([world.sizes()[2], world.cloud.ready()]).toEqual([2, 2]);
  });

  it('is not held by a brake whose document is gone', async () => {
    isSpent = true;
    await world.pass(4);
    expect(world.sizes()[2]).toBe(1);
    await world.db.query(`delete from policy where id = 'brake'`);
    await world.pass(4);
    expect(world.sizes()[2]).toBe(2);
  });
});

describe('a service whose stand-in does not come', () => {
  it('asks again within minutes where its cloud has refused', async () => {
    const world = await spotService('enforce');
    await world.pass(10);
    lose(world);
    world.cloud.faults.push('refused', 'refused', 'refused');
    await world.pass(10);
    expect([world.sizes()[2], world.cloud.ready()]).toEqual([2, 2]);
  });

  it('asks again within minutes where somebody has lowered it by hand, and not at every minute', async () => {
    const world = await spotService('enforce');
    lose(world);
    await world.pass(10);
    const lower = (): void => world.cloud.change('asg/od', { replicas: { desired: 1, ready: 1, min: 0, max: 20 } });
    lower();
    await world.pass(4);
    expect([world.sizes()[2], world.cloud.ready()]).toEqual([2, 2]);
    const before = world.cloud.done.length;
    await world.pass(10, lower);
    expect(world.cloud.done.length - before).toBeLessThanOrEqual(2);
  });

  it('goes on on spot where its group on demand is sized by an autoscaler by now', async () => {
    const world = await spotService('enforce');
    await world.pass(10);
    world.cloud.change('asg/od', { followedBy: 'the policy cpu60' });
    await world.pass(2);
    world.cloud.gone.add(ZONES[0]!);
    await world.pass(6);
    expect(world.sizes()[1]).toBe(2);
    expect(world.cloud.ready()).toBe(2);
  });
});
