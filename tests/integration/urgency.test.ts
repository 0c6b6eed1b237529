/**
 * What a person has just asked for does not wait for a partition's pause, nor does what follows from it; what a meter
 * sends does.
 */
import { describe, expect, it } from 'vitest';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { applyPolicy, pausePolicy } from '../../src/application/policy/set-policy.js';
import { setStop } from '../../src/application/action/set-safety.js';
import { enqueue } from '../../src/store/work.js';
import { Script } from '../support/acting.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { group, instance } from '../support/memory-cloud.js';
import { metered } from '../support/records.js';
import { monthBudget } from '../support/makers.js';

const RECOMMEND = 'recommendation.make';

describe('what is enqueued', async () => {
  const policy = new Script().policy('scripted', false);
  const bursar = await testBursar({ policies: [policy] });
  const { db, stores, runner, clock } = bursar;
  const due = () => stores.work.duePartitions(clock.now());
  /**
   * Does all that is due but what to recommend; answers the teams whose turn that is now, and whether they may wait for
   * it.
   */
  const upToRecommending = async (): Promise<Record<string, boolean>> => {
    for (let partitions = await due(); partitions.some(({ stage }) => stage !== RECOMMEND); partitions = await due()) {
      for (const partition of partitions.filter(({ stage }) => stage !== RECOMMEND))
        await runner.runPartition(partition);
    }
    return Object.fromEntries((await due()).map(({ partition, urgent }) => [partition, urgent === true]));
  };

  it('by a meter may wait', async () => {
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([metered('m', { namespace: 'red' })]);
    expect(await upToRecommending()).toEqual({ unallocated: false });
    await runner.drain();
  });

  it('by rules and budgets that a person sets may not, through the whole line', async () => {
    await db.transaction((tx) =>
      stores.organisations.saveRules(tx, 'default', [{ match: { namespace: 'red' }, team: 'red' }], 'test'),
    );
    expect(await upToRecommending()).toEqual({ red: true, unallocated: true });
    await runner.drain();
    await db.transaction((tx) =>
      setBudget(stores, tx, 'default', monthBudget({ id: 'b', planned: { default: '100', periods: {} } }), clock.now()),
    );
    expect(await upToRecommending()).toEqual({ red: true });
    await runner.drain();
    // It was for that once: the meter's next batch may wait again.
    await bursar.take([metered('n', { namespace: 'red' })]);
    expect(await upToRecommending()).toEqual({ red: false });
    await runner.drain();
  });

  it('by rules is whose what runs is, too, without a look at the provider', async () => {
    const held = async (): Promise<string[][]> => [
      (await stores.fleet.list(db, 'default', { teams: null }, null, 10)).map(
        ({ team, seen }) => `${seen.name} ${team}`,
      ),
      (await db.query<{ what: string }>(`select id || ' ' || team as what from workload order by 1`)).map(
        ({ what }) => what,
      ),
    ];
    const reading = {
      at: clock.now(),
      complete: true,
      problems: [],
      targets: [
        instance('a', { labels: { team: 'red' } }),
        group('g', 2, { labels: { team: 'blue' } }),
        instance('c', { labels: { team: 'shared' } }),
      ],
    };
    await db.transaction((tx) => stores.fleet.save(tx, 'default', 'cloud', reading, () => 'unallocated'));
    expect(await held()).toEqual([
      ['g unallocated', 'a unallocated', 'c unallocated'],
      expect.arrayContaining(['asg/g unallocated']),
    ]);
    const byTag = (value: string) => ({ match: { tag: { key: 'team', value } } });
    await db.transaction((tx) =>
      stores.organisations.saveRules(
        tx,
        'default',
        [
          { ...byTag('red'), team: 'red' },
          { ...byTag('blue'), team: 'blue' },
          { ...byTag('shared'), split: { by: 'use' } },
        ],
        'test',
      ),
    );
    expect(await upToRecommending()).toMatchObject({ red: true, blue: true, unallocated: true });
    // What several share is nobody's to act on.
    expect(await held()).toEqual([['g blue', 'a red', 'c unallocated'], expect.arrayContaining(['asg/g blue'])]);
    await runner.drain();
  });

  it('by a policy document that is applied, paused or resumed may not', async () => {
    const document = readPolicyDocument({ name: 'doc', policy: 'scripted', teams: ['red'], mode: 'recommend' }, [
      policy,
    ]);
    for (const change of [
      () =>
        db.transaction((tx) =>
          applyPolicy(stores, tx, 'default', [policy], { document, override: null }, 'test', clock.now()),
        ),
      () => db.transaction((tx) => pausePolicy(stores, tx, 'default', 'doc', true, 'test', clock.now())),
      () => db.transaction((tx) => pausePolicy(stores, tx, 'default', 'doc', false, 'test', clock.now())),
    ]) {
      await change();
      expect(await upToRecommending()).toMatchObject({ red: true });
      await runner.drain();
    }
  });

  it('by the kill switch is what may act under it, and by its lifting every team', async () => {
    const action = await db.transaction(async (tx) => {
      const made = await stores.actions.propose(
        tx,
        'default',
        {
          team: 'red',
          connection: 'cloud',
          target: 'instance/a',
          effect: { kind: 'stop', target: 'instance/a' },
          mode: 'approve',
          recommendation: null,
          policy: null,
          document: null,
          subject: null,
          rollbackOf: null,
          // What was approved else is refused by the switch itself (actions-doors.test.ts).
          underStop: true,
          proposedBy: 'test',
          evidenceAt: null,
          expiresAt: clock.now() + 3_600_000,
        },
        clock.now(),
      );
      // As one that waits for a quiet hour to end.
      await enqueue(tx, 'default', [
        { stage: 'action.execute', partition: 'red', key: made.action.id, notBefore: clock.now() + 1_800_000 },
      ]);
      return (
        await stores.actions.move(tx, 'default', made.action, 'approved', {
          at: clock.now(),
          actor: 'test',
          set: { approvedBy: 'test' },
        })
      ).action;
    });
    expect(await due()).toEqual([]);
    const everything = { lift: false, reason: 'a test', by: 'test', now: clock.now() };
    await db.transaction((tx) => setStop(stores, tx, 'default', {}, everything));
    expect(await due()).toEqual([
      expect.objectContaining({ stage: 'action.execute', partition: action.team, urgent: true }),
    ]);
    await db.transaction((tx) => setStop(stores, tx, 'default', {}, { ...everything, lift: true }));
    expect((await due()).filter(({ stage }) => stage === RECOMMEND)).toEqual(
      ['blue', 'red', 'unallocated'].map(
        (partition) => expect.objectContaining({ partition, urgent: true }) as unknown,
      ),
    );
  });
});
