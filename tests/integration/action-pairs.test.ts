/**
 * Two actions that are approved as one: a job is stopped now and started in its cheap hours, each with its own guard,
 * and taken back together.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Action } from '../../src/core/action/action.js';
import { formatInstant, HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { rejectAction } from '../../src/application/action/set-action.js';
import { actingWorld, codesOf, NOW, type ActingWorld } from '../support/acting.js';
import { group, instance } from '../support/memory-cloud.js';
import { proposedAction } from '../support/makers.js';

let w: ActingWorld;
const shift = (startHours: number, byHours = startHours + 4): ActingWorld['script']['wants'] => [
  {
    action: 'MoveToOffPeak',
    target: 'job-1',
    change: {
      pieces: 'tonight',
      startsAt: formatInstant(NOW + startHours * HOUR_MS),
      startsBy: formatInstant(NOW + byHours * HOUR_MS),
    },
  },
];
const effects = (): string[] => w.cloud.done.map(({ effect }) => effect.kind);
const runs = (): string | undefined => w.cloud.targets.get('instance/job-1')?.state;
const first = async (): Promise<Action> => (await w.all())[0]!;
/** Passes hours as the clock does, in steps in which the line can do what is due. */
const hours = async (count: number): Promise<void> => {
  for (let n = 0; n < count * 4; n++) await w.pass(15 * MINUTE_MS);
};

beforeEach(async () => {
  w = await actingWorld();
  w.cloud.add(instance('job-1'));
  w.script.wants = shift(8);
});

describe('a job that is shifted by a document that enforces', () => {
  beforeEach(async () => {
    await w.document('enforce');
    await w.look();
    w.script.wants = [];
  });

  it('is stopped now and started once in its hours, by an action that follows the first', async () => {
    expect(await w.all()).toMatchObject([
      {
        effect: { kind: 'stop' },
        state: 'confirmed',
        approvedBy: 'policy:doc',
        next: { effect: { kind: 'start' }, notBefore: NOW + 8 * HOUR_MS, expiresAt: NOW + 18 * HOUR_MS },
      },
    ]);
    await hours(7.75);
    expect([effects(), runs()]).toEqual([['stop'], 'stopped']);
    await hours(3);
    expect([effects(), runs()]).toEqual([['stop', 'start'], 'running']);
    const [stop, start, ...others] = await w.all();
    expect(others).toEqual([]);
    expect(start).toMatchObject({
      effect: { kind: 'start', target: 'instance/job-1' },
      follows: stop!.id,
      approvedBy: `pair:${stop!.id}`,
      state: 'confirmed',
      intendedAt: NOW + 8 * HOUR_MS,
      evidenceAt: NOW + 8 * HOUR_MS,
      recommendation: null,
      team: 'lab',
    });
  });

  it('saves what the hours would have cost at once, and the start claims nothing', async () => {
    await hours(9);
    const [stop, start] = await w.all();
    const worlds = await w.stores.db.query<{ action: string; spec: { world: { kind: string; reason?: string } } }>(
      `select action, spec from counterfactual`,
    );
    expect(
      Object.fromEntries(
        worlds.map(({ action, spec }) => [action, spec.world.kind === 'unknown' ? spec.world.reason : spec.world.kind]),
      ),
    ).toEqual({ [stop!.id]: 'shifted', [start!.id]: 'not-made-to-save' });
  });

  it('is started although the document rests by then: what it was stopped for is over', async () => {
    await w.document('recommend', null);
    await hours(9);
    expect([effects(), runs()]).toEqual([['stop', 'start'], 'running']);
  });

  it('is taken back as one: started at once, and not again in its hours', async () => {
    await hours(1);
    await w.rollBack((await first()).id);
    await w.pass(0);
    expect([effects(), runs()]).toEqual([['stop', 'start'], 'running']);
    w.cloud.change('instance/job-1', { state: 'stopped' });
    await hours(20);
    expect([effects(), await w.all()]).toMatchObject([
      ['stop', 'start'],
      [{ state: 'rolled-back' }, { rollbackOf: (await first()).id }],
    ]);
  });

  it('is not taken back any more once the second has begun, nor the second alone', async () => {
    await hours(9);
    const [stop, start] = await w.all();
    await expect(w.rollBack(stop!.id)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('there is nothing left to roll back') as string,
    });
    await expect(w.rollBack(start!.id)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(`follows ${stop!.id}: it is rolled back together`) as string,
    });
  });

  it('is refused while the kill switch is on, as everything is, and taking the first back starts it', async () => {
    await w.stop('all');
    await hours(9);
    const [stop, start] = await w.all();
    expect([effects(), start!.state, codesOf(start!)]).toEqual([['stop'], 'refused', ['stopped']]);
    await w.lift('all');
    await hours(2);
    expect(effects()).toEqual(['stop']);
    await w.rollBack(stop!.id);
    await w.pass(0);
    expect([effects(), runs()]).toEqual([['stop', 'start'], 'running']);
  });

  it('waits until another action on its target is over', async () => {
    const at = w.clock.at;
    await w.db.transaction(async (tx) => {
      const { action } = await w.stores.actions.propose(
        tx,
        'default',
        proposedAction({
          connection: 'elsewhere',
          target: 'instance/job-1',
          effect: { kind: 'cordon', target: 'instance/job-1', cordoned: true },
          proposedBy: 'ada',
          evidenceAt: at,
          expiresAt: at + 12 * HOUR_MS,
        }),
        at,
      );
      const approved = await w.stores.actions.move(tx, 'default', action, 'approved', {
        at,
        actor: 'boss',
        set: { approvedBy: 'boss' },
      });
      await tx.query(`update action set connection = 'cloud' where id = $1`, [approved.action.id]);
      await tx.query(`delete from work where stage = 'action.execute' and key = $1`, [approved.action.id]);
    });
    await hours(10);
    expect(effects()).toEqual(['stop']);
    await w.db.query(`update action set state = 'refused' where effect ->> 'kind' = 'cordon'`);
    await hours(1);
    expect(effects()).toEqual(['stop', 'start']);
  });

  it('waits for the first, as long as that is billed on', async () => {
    await w.db.query(
      `update action set state = 'applied', confirmed_at = null, ended_at = null where effect ->> 'kind' = 'stop'`,
    );
    w.cloud.change('instance/job-1', { billing: 'billed' });
    await hours(10);
    expect([effects(), (await w.all()).length]).toEqual([['stop'], 1]);
    w.cloud.change('instance/job-1', { billing: 'ended' });
    await w.db.query(`update action set state = 'confirmed' where effect ->> 'kind' = 'stop'`);
    await hours(0.5);
    expect(effects()).toEqual(['stop', 'start']);
  });

  it('has a guard of its own: what somebody has started meanwhile is not started', async () => {
    await hours(2);
    w.cloud.change('instance/job-1', { state: 'running', billing: 'billed' });
    await hours(7);
    const [, start] = await w.all();
    expect([effects(), start!.state, codesOf(start!)]).toEqual([['stop'], 'refused', ['already-so']]);
  });
});

describe('a job that is shifted when somebody approves', () => {
  beforeEach(async () => {
    await w.document('approve');
    await w.look();
  });

  it('is one question, and the answer holds for both', async () => {
    expect(await w.all()).toMatchObject([{ state: 'proposed', next: { notBefore: NOW + 8 * HOUR_MS } }]);
    await w.approve((await first()).id);
    await hours(9);
    expect(effects()).toEqual(['stop', 'start']);
    expect((await w.all())[1]).toMatchObject({ approvedBy: `pair:${(await first()).id}` });
  });

  it('is neither stopped nor started when it is rejected, or when nobody answers in time', async () => {
    const { id, expiresAt } = await first();
    expect(expiresAt).toBe(NOW + 7.5 * HOUR_MS);
    await w.db.transaction((tx) => rejectAction(w.stores, tx, 'default', id, '', 'boss', w.clock.at));
    await hours(10);
    expect([effects(), (await w.all()).map(({ state }) => state)]).toEqual([[], ['refused']]);
  });

  it('is asked for anew when its hours are others', async () => {
    w.script.wants = shift(10);
    await w.look(HOUR_MS);
    expect(await w.all()).toMatchObject([
      { state: 'refused', reasons: [{ code: 'superseded' }] },
      { state: 'proposed', next: { notBefore: NOW + 10 * HOUR_MS } },
    ]);
    // So soon a stop would not pay off.
    w.script.wants = shift(2.4);
    await w.look(HOUR_MS);
    expect([(await w.all()).map(({ state }) => state), (await w.recommendation()).obstacle]).toMatchObject([
      ['refused', 'refused'],
      { code: 'too-late' },
    ]);
  });
});

describe('a group that is shifted', () => {
  const scales = (): unknown[] =>
    w.cloud.done.map(({ effect }) => (effect.kind === 'scale' ? effect.replicas : effect.kind));
  const size = (): number | undefined => w.cloud.targets.get('asg/train')?.replicas?.desired;

  beforeEach(() => {
    w.cloud.add(group('train', 4));
    w.script.wants = shift(8).map((one) => ({ ...one, target: 'train' }));
  });

  it('has nothing now, and in its hours the size that it had, by an action that follows the first', async () => {
    await w.document('enforce');
    await w.look();
    w.script.wants = [];
    expect(await w.all()).toMatchObject([
      {
        effect: { kind: 'scale', replicas: 0 },
        state: 'confirmed',
        next: { effect: { kind: 'scale', replicas: 4 }, notBefore: NOW + 8 * HOUR_MS },
      },
    ]);
    await hours(7.75);
    expect([scales(), size()]).toEqual([[0], 0]);
    await hours(1);
    expect([scales(), size()]).toEqual([[0, 4], 4]);
    const [pause, back] = await w.all();
    expect(back).toMatchObject({
      effect: { kind: 'scale', replicas: 4 },
      follows: pause!.id,
      approvedBy: `pair:${pause!.id}`,
      state: 'confirmed',
    });
    const worlds = await w.stores.db.query<{ action: string; spec: { world: unknown } }>(
      `select action, spec from counterfactual`,
    );
    expect(Object.fromEntries(worlds.map(({ action, spec }) => [action, spec.world]))).toMatchObject({
      [pause!.id]: { kind: 'shifted', holdings: [{ gpuParts: 28_000, units: 4, key: { term: 'on-demand' } }] },
      [back!.id]: { kind: 'unknown', reason: 'not-made-to-save' },
    });
  });

  it('goes back to the size at which it was paused, not to that at which it was proposed', async () => {
    await w.document('approve');
    await w.look();
    w.cloud.change('asg/train', { replicas: { desired: 6, ready: 6, min: 0, max: 20 } });
    await w.approve((await first()).id);
    await hours(9);
    expect([scales(), size()]).toEqual([[0, 6], 6]);
  });

  it('is taken back as one, to the size that it had', async () => {
    await w.document('enforce');
    await w.look();
    w.script.wants = [];
    await hours(1);
    await w.rollBack((await first()).id);
    await hours(9);
    expect([scales(), size()]).toEqual([[0, 4], 4]);
  });

  it('is not paused where it, or its autoscaler, keeps replicas', async () => {
    await w.document('enforce');
    w.cloud.change('asg/train', { replicas: { desired: 4, ready: 4, min: 1, max: 20 } });
    await w.look();
    expect([await w.all(), (await w.recommendation()).obstacle]).toMatchObject([
      [],
      { code: 'beyond-bounds', message: expect.stringContaining('keeps at least 1 replica(s) of asg/train') as string },
    ]);
  });

  it.each([
    ['bounds that were set after it was proposed', {}, 'floor'],
    ['the floor of its team', { minReplicas: 1 }, 'floor'],
    ['the blast radius of one action', { gpusPerAction: 8 }, 'gpus-per-action'],
  ])('is held back by %s', async (_, limits, code) => {
    await w.document('approve');
    await w.look();
    if (Object.keys(limits).length === 0)
      w.cloud.change('asg/train', { replicas: { desired: 4, ready: 4, min: 2, max: 20 } });
    else await w.limits(limits);
    await w.approve((await first()).id);
    await hours(9);
    expect([scales(), (await w.all()).map((one) => [one.state, codesOf(one)])]).toEqual([[], [['refused', [code]]]]);
  });
});
