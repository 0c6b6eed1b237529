/**
 * What an operator and the world do to a service on spot while it is held: an approval that the world overtakes, the
 * kill switch between two steps, an autoscaler that sets a size back, a group that is deleted. The promised replicas
 * stay ready as far as the cloud has them.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Action } from '../../src/core/action/action.js';
import { approveAction } from '../../src/application/action/set-action.js';
import { setStop } from '../../src/application/action/set-safety.js';
import { explain } from '../../src/application/policy/explain.js';
import { POLICIES, spotService, ZONES } from '../support/spot-service.js';

type World = Awaited<ReturnType<typeof spotService>>;

const actions = async ({ stores }: World): Promise<readonly Action[]> =>
  (await stores.actions.list('default', {}, null, 1000)).map(({ action }) => action);
const on = async (world: World, target: string): Promise<readonly Action[]> =>
  (await actions(world)).filter((one) => one.target === target);

async function approveAll(world: World): Promise<void> {
  const { db, stores, clock } = world;
  for (const { id, state } of await actions(world))
    if (state === 'proposed') await db.transaction((tx) => approveAction(stores, tx, 'default', id, 'boss', clock.at));
}

describe('a service that people approve the steps of', async () => {
  const world = await spotService('approve', { limits: { cooldownMinutes: 4 } });
  const { cloud, pass, sizes, stores, clock } = world;

  it('holds a scale-in back that the loss of spot has overtaken, and carries it out once spot has returned', async () => {
    await pass(3);
    await approveAll(world);
    await pass(6);
    expect(sizes()[2]).toBe(2);
    const proposed = (await on(world, 'asg/od')).find(({ state }) => state === 'proposed');
    expect(proposed?.effect).toEqual({ kind: 'scale', target: 'asg/od', replicas: 0 });
    // Spot goes in the minute of the approval.
    for (const zone of ZONES) cloud.gone.add(zone);
    await approveAll(world);
    await pass(4);
    expect([sizes()[2], cloud.ready()]).toEqual([2, 2]);
    const held = (await on(world, 'asg/od')).find(({ id }) => id === proposed?.id);
    expect([held?.state, held?.reasons.map(({ code }) => code)]).toEqual(['approved', ['service-floor']]);
    for (const zone of ZONES) cloud.gone.delete(zone);
    for (let round = 0; round < 3; round += 1) {
      await approveAll(world);
      await pass(4);
    }
    expect(sizes()[2]).toBe(0);
    expect(cloud.ready()).toBeGreaterThanOrEqual(2);
  });

  it('says what of the promise is used where nothing is proposed', async () => {
    const { looks } = await explain(stores, POLICIES, 'default', 'asg/od', clock.at);
    expect(looks[0]?.saw.at(-1)).toMatch(/^chat: \d+ replicas ready of 2 promised; \d+ of the \d+ replica-minutes/);
  });
});

it.each(['enforce', 'approve'])('does not wait for a scale-in that a person approved before (%s)', async (mode) => {
  const world = await spotService('approve', { limits: { cooldownMinutes: 4 } });
  const { cloud, pass, sizes, apply } = world;
  await pass(3);
  await approveAll(world);
  await pass(6);
  for (const zone of ZONES) cloud.gone.add(zone);
  await approveAll(world);
  await pass(3);
  const held = (await on(world, 'asg/od')).find(({ state }) => state === 'approved');
  expect([sizes()[2], held?.reasons.map(({ code }) => code)]).toEqual([2, ['service-floor']]);
  await apply({ name: 'chat', policy: 'spot-serving', mode, params: { service: 'chat', replicas: 4 } });
  await pass(2);
  await approveAll(world);
  await pass(4);
  expect([sizes()[2], cloud.ready()]).toEqual([4, 4]);
  const ended = (await on(world, 'asg/od')).find(({ id }) => id === held?.id);
  expect([ended?.state, ended?.reasons]).toEqual([
    'refused',
    [{ code: 'superseded', message: 'chat sets its size already, and two would undo each other' }],
  ]);
});

describe('a service that a document holds by itself', async () => {
  const world = await spotService('enforce');
  const { cloud, pass, sizes, fewest, stores, db, clock } = world;
  beforeAll(() => pass(8));

  it('does nothing under the kill switch, and answers a loss within minutes once it is lifted', async () => {
    const stop = (lift: boolean): Promise<unknown> =>
      db.transaction((tx) => setStop(stores, tx, 'default', {}, { lift, reason: 'a test', by: 'boss', now: clock.at }));
    await stop(false);
    for (const zone of ZONES) cloud.gone.add(zone);
    const before = cloud.done.length;
    await pass(4);
    expect([cloud.done.length, cloud.ready()]).toEqual([before, 0]);
    await stop(true);
    await pass(5);
    expect([sizes()[2], cloud.ready()]).toEqual([2, 2]);
  });

  it('goes on with its promise when a group that has served is deleted', async () => {
    for (const zone of ZONES) cloud.gone.delete(zone);
    await pass(6);
    const kept = cloud.targets.get('asg/spot-a')!.replicas!.ready! >= 2 ? 'asg/spot-b' : 'asg/spot-a';
    cloud.targets.delete(kept);
    fewest.ready = Infinity;
    await pass(4);
    const { looks } = await explain(stores, POLICIES, 'default', 'asg/od', clock.at);
    // What the deleted group served counts: the promise is not taken for broken, and the rest of the window does not
    // run on demand.
    const [, used, allowed] = /; (\d+) of the (\d+) replica-minutes/.exec(looks[0]?.saw.at(-1) ?? '') ?? [];
    expect(Number(used)).toBeLessThan(Number(allowed));
    expect(cloud.ready()).toBeGreaterThanOrEqual(2);
  });

  it('is not drawn into a fight with an autoscaler that nobody sees, and loses no replica by it', async () => {
    fewest.ready = Infinity;
    const before = (await on(world, 'asg/od')).length;
    await pass(10, () => {
      const { replicas } = cloud.targets.get('asg/od')!;
      if (replicas!.desired < 2) cloud.change('asg/od', { replicas: { ...replicas!, desired: 2 } });
    });
    expect(fewest.ready).toBeGreaterThanOrEqual(2);
    expect((await on(world, 'asg/od')).length - before).toBeLessThanOrEqual(1);
  });
});
