/**
 * A move of which half is done: its job was ended where it ran and stands still. It is brought to one of its two places,
 * whatever has come between.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Action } from '../../src/core/action/action.js';
import { denied } from '../../src/core/errors.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { rejectAction } from '../../src/application/action/set-action.js';
import { actingWorld, codesOf, type ActingWorld } from '../support/acting.js';
import { instance } from '../support/memory-cloud.js';

const TARGET = 'instance/job-1';
const THERE = 'us-west-2';

describe('a move of which half is done', () => {
  let w: ActingWorld;
  const action = async (): Promise<Action> => (await w.all())[0]!;

  beforeEach(async () => {
    w = await actingWorld();
    w.cloud.add(instance('job-1', { region: 'us-east-1', movesTo: [{ region: THERE, zone: null }], spotRatio: null }));
    w.script.wants = [{ action: 'MoveToSpot', target: 'job-1', change: { term: 'spot', region: THERE } }];
    await w.document('enforce');
    w.cloud.faults.push('half');
    await w.look();
    w.script.wants = [];
    w.cloud.change(TARGET, { state: 'stopped', billing: 'ended' });
    expect([(await action()).state, codesOf(await action())]).toEqual(['intended', ['half-done']]);
  });

  it('is started there after another look, and a rollback puts it back where it stood before the first half', async () => {
    await w.pass(MINUTE_MS);
    // The reading between the halves shows it stopped: it is no state to go back to.
    expect(await action()).toMatchObject({ state: 'confirmed', before: { region: 'us-east-1', state: 'running' } });
    expect(w.cloud.targets.get(TARGET)).toMatchObject({ region: THERE, term: 'spot', state: 'running' });
    expect((await w.codes((await action()).id)).filter((code) => code === 'read-again')).toHaveLength(1);
    await w.rollBack((await action()).id);
    await w.pass(MINUTE_MS);
    expect(w.cloud.done.map(({ effect }) => effect)).toMatchObject([
      { kind: 'move', region: THERE, term: 'spot' },
      { kind: 'move', region: 'us-east-1', term: 'on-demand' },
    ]);
  });

  it('waits for the kill switch to be lifted, longer than an intent is good for, and is then started', async () => {
    await w.stop('all');
    for (let quarter = 0; quarter < 8; quarter += 1) await w.pass(15 * MINUTE_MS);
    expect([(await action()).state, w.cloud.arrived]).toEqual(['intended', 1]);
    expect(codesOf(await action())).toEqual(['half-done', 'stopped']);
    await w.lift('all');
    await w.pass(15 * MINUTE_MS);
    expect((await action()).state).toBe('confirmed');
    expect(w.cloud.targets.get(TARGET)).toMatchObject({ region: THERE, state: 'running' });
  });

  it('is not given up where its cloud does not let it be read', async () => {
    w.cloud.beforeRead = () => Promise.reject(denied('the key may not read it'));
    await w.pass(MINUTE_MS);
    await w.pass(HOUR_MS);
    expect([(await action()).state, codesOf(await action())]).toEqual(['intended', ['half-done']]);
    w.cloud.beforeRead = null;
    await w.pass(15 * MINUTE_MS);
    expect((await action()).state).toBe('confirmed');
  });

  it('cannot be rejected any more', async () => {
    const { id } = await action();
    await expect(
      w.db.transaction((tx) => rejectAction(w.stores, tx, 'default', id, '', 'boss', w.clock.at)),
    ).rejects.toMatchObject({
      kind: 'conflict',
      message: `${TARGET} stands still between two places: action ${id} starts it again before it ends`,
    });
    await w.pass(MINUTE_MS);
    expect((await action()).state).toBe('confirmed');
  });

  it('says what it left where it fails, since nothing rolls that back', async () => {
    w.cloud.faults.push('refused');
    await w.pass(MINUTE_MS);
    const { id, state } = await action();
    expect(state).toBe('failed');
    await expect(w.rollBack(id)).rejects.toThrow(
      `action ${id} failed with half of it done, and cannot be rolled back: i-new runs, and the old one does not end`,
    );
  });
});
