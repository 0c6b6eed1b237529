/**
 * A group of the fake cloud that waits for its cheap hours: paused, brought back by the action that follows, and its
 * saving measured from what the cloud metered.
 */
import { expect, it } from 'vitest';
import { formatInstant } from '../../src/core/time.js';
import { fakeCloud } from '../../src/providers/fake/fake.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { enqueue } from '../../src/store/work.js';
import { applied, NOW, Script } from '../support/acting.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { HOUR } from '../support/records.js';

const MINUTE = 60_000;

it('is paused at noon, runs again from two, and saves what the same work would have cost at the peak', async () => {
  const script = new Script();
  const policy = script.policy('scripted', false);
  const clock = { at: NOW - 2 * HOUR, now: () => clock.at };
  // Another machine of the account goes on: while the group rests, its meter is heard.
  const machines = [{ sku: 'fake.t4x1', region: 'fake-east', labels: { team: 'others' } }];
  const { cloud, connection } = fakeCloud(7, clock, {
    bootSeconds: 0,
    stopSeconds: 0,
    machines,
    groups: [
      { name: 'embed', sku: 'fake.h100x8', region: 'fake-east', desired: 2, min: 0, max: 4, labels: { team: 'lab' } },
    ],
  });
  const bursar = await testBursar({
    policies: [policy],
    now: clock.at,
    targets: new FleetStore(),
    connections: new Map([['fake', connection]]),
  });
  const { db, stores, runner } = bursar;
  const pass = async (ms: number): Promise<void> => {
    for (const until = clock.at + ms; clock.at < until; ) {
      bursar.clock.at = clock.at = Math.min(clock.at + 15 * MINUTE, until);
      await enqueue(db, 'default', [
        { stage: 'fleet.collect', partition: 'fake', key: 'fake/fleet' },
        { stage: 'usage.collect', partition: 'fake', key: 'fake/usage' },
      ]);
      await runner.drain();
    }
  };
  await db.transaction(async (tx) => {
    await stores.organisations.saveRules(
      tx,
      'default',
      [{ match: { label: { key: 'team', value: 'lab' } }, team: 'lab' }],
      'test',
    );
    await stores.organisations.saveSetting(tx, 'default', 'peak', [
      { from: '08:00', to: '14:00', zone: 'UTC', factor: '2' },
    ]);
  });
  // $8 an hour for a machine of 8 GPUs.
  await bursar.setPrices([
    instancePrice('8', { provider: 'Fake Cloud', sku: 'fake.h100x8', region: 'fake-east', minimumSeconds: 0 }),
  ]);
  await pass(2 * HOUR);

  script.wants = [
    {
      action: 'MoveToOffPeak',
      target: 'group/embed',
      change: { pieces: 'from two', startsAt: formatInstant(NOW + 2 * HOUR), startsBy: formatInstant(NOW + 6 * HOUR) },
    },
  ];
  const document = { name: 'doc', policy: 'scripted', teams: ['lab'], mode: 'enforce' };
  await db.transaction((tx) => applied(stores, tx, [policy], document, clock.at));
  await enqueue(db, 'default', [{ stage: 'recommendation.make', partition: 'lab', key: 'lab' }]);
  await runner.drain();
  expect(cloud.target('group/embed')?.replicas).toMatchObject({ desired: 0, ready: 0 });
  script.wants = [];

  await pass(6 * HOUR);
  expect(
    cloud.applied().map(({ effect, at }) => [effect.kind === 'scale' ? effect.replicas : null, (at - NOW) / HOUR]),
  ).toEqual([
    [0, 0],
    [2, 2],
  ]);
  expect(cloud.target('group/embed')?.replicas).toMatchObject({ desired: 2, ready: 2 });
  // Without it the machines would have worked from noon: two hours at $32 and the others at $16, as from two o'clock
  // on. Whatever they work, it saves 2 x $16.
  const listed = (await stores.actions.list('default', {}, null, 10)).map(({ action }) => action);
  expect(
    await stores.savingLedger.known('default', listed.find(({ follows }) => follows === null)?.id ?? ''),
  ).toMatchObject({
    target: 'group/embed',
    state: 'measured',
    reason: null,
    saved: '32.00',
    hours: { unverifiable: 0 },
  });
});
