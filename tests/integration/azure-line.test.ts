/**
 * Azure through the whole line: its fleet is read, a machine is proposed to be stopped, the stop is sent, its answer is
 * lost, the machine itself tells, the stop is confirmed, and rolled back the machine starts again.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MINUTE_MS } from '../../src/core/time.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { rollBack } from '../../src/application/action/set-action.js';
import { enqueue } from '../../src/store/work.js';
import { applied, Script } from '../support/acting.js';
import { AzureCloud, SUBSCRIPTION } from '../support/azure-cloud.js';
import { testBursar, type TestBursar } from '../support/bursar.js';

const NOW = Date.UTC(2026, 10, 20, 8);
const TRAIN = `instance/eastus/${SUBSCRIPTION}:rg-ml:train-01`;

describe('a machine of Azure', () => {
  let cloud: AzureCloud;
  let bursar: Pick<TestBursar, 'clock'> & TestBursar = { clock: { at: NOW } } as TestBursar;
  const script = new Script();
  const policy = script.policy('scripted', false);

  beforeAll(async () => {
    cloud = await AzureCloud.start();
    const connection = cloud.connect({}, { now: () => bursar.clock.at });
    bursar = await testBursar({
      policies: [policy],
      now: NOW,
      targets: new FleetStore(),
      connections: new Map([['azure', connection]]),
    });
    const { db, stores } = bursar;
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { tag: { key: 'team', value: 'vision' } }, team: 'vision' }],
        'test',
      );
      const document = { name: 'doc', policy: 'scripted', teams: ['vision'], mode: 'enforce' };
      await applied(stores, tx, [policy], document, NOW);
    });
  });
  afterAll(async () => {
    expect(cloud.problems).toEqual([]);
    await cloud.close();
  });

  const pass = async (ms: number, stage?: string, partition = 'vision', key = partition): Promise<void> => {
    bursar.clock.at += ms;
    if (stage !== undefined) await enqueue(bursar.db, 'default', [{ stage, partition, key }]);
    await bursar.runner.drain();
  };
  const actions = async () => (await bursar.stores.actions.list('default', {}, null, 10)).map(({ action }) => action);

  it('is in the fleet under its team', async () => {
    await pass(0, 'fleet.collect', 'azure', 'azure/fleet');
    const found = await bursar.stores.fleet.find(bursar.db, 'default', 'vision', TRAIN);
    expect(found?.seen).toMatchObject({
      target: TRAIN,
      state: 'running',
      billing: 'billed',
      sku: 'Standard_NC24ads_A100_v4',
    });
  });

  it('is deallocated once, though the answer is lost, and confirmed when its charges have ended', async () => {
    script.wants = [{ action: 'Stop', target: TRAIN }];
    cloud.loseNextAnswer(true);
    await pass(MINUTE_MS, 'recommendation.make');
    for (let n = 0; n < 5; n += 1) await pass(2 * MINUTE_MS);
    expect(cloud.of('deallocate').map(({ by }) => by)).toEqual(['act']);
    const [action] = await actions();
    expect(action).toMatchObject({ target: TRAIN, after: { state: 'stopped', billing: 'partly' } });
    expect(['confirmed', 'measured']).toContain(action?.state);
  });

  it('starts again when the stop is rolled back', async () => {
    script.wants = [];
    const [{ id } = { id: '' }] = await actions();
    const { db, stores } = bursar;
    await db.transaction((tx) => rollBack(stores, tx, 'default', id, 'boss', { underStop: false }, bursar.clock.at));
    for (let n = 0; n < 5; n += 1) await pass(2 * MINUTE_MS);
    expect(cloud.of('start').map(({ by }) => by)).toEqual(['act']);
    const started = (await actions()).find(({ effect }) => effect.kind === 'start');
    expect(started).toMatchObject({ target: TRAIN, after: { state: 'running', billing: 'billed' } });
  });
});
