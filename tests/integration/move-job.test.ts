/**
 * A job on the fake cloud that is moved to the cheaper region, through the real stages on real PostgreSQL: the proposal,
 * its approval, the move and its proof, the measured saving after what was sent, and the way back.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { Action } from '../../src/core/action/action.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { approveAction, rollBack } from '../../src/application/action/set-action.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from '../../src/pipeline/collecting.js';
import { policy as spotShift } from '../../src/policies/spot-shift.js';
import { PROVIDER, REGIONS } from '../../src/providers/fake/catalogue.js';
import { FakeCloud } from '../../src/providers/fake/cloud.js';
import { connectTo } from '../../src/providers/fake/fake.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { applied } from '../support/acting.js';
import { testBursar } from '../support/bursar.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
/** A Monday, in UTC. */
const START = Date.UTC(2026, 9, 5);
const SKU = 'fake.a100x8';
const POLICIES = [spotShift] as unknown as readonly Policy[];

describe('a job that is moved to the cheaper region', async () => {
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: START, connections, targets: new FleetStore(), policies: POLICIES });
  const { db, stores, clock, runner } = bursar;
  const options = { seed: 5, clock, from: START, bootSeconds: 0, stopSeconds: 0, spotUpHours: 1e6 };
  // The dearer of the two is where the job is.
  const { catalogue } = new FakeCloud(options);
  const priceIn = (region: string): number =>
    Number(catalogue.hourlyNanos(SKU, region, 'spot', START + 50 * HOUR) ?? 0n) / 1e9;
  const [cheap = '', dear = ''] = [...REGIONS].sort((a, b) => priceIn(a) - priceIn(b));
  const cloud = new FakeCloud({
    ...options,
    machines: [
      {
        name: 'train',
        sku: SKU,
        region: dear,
        term: 'spot',
        movable: true,
        labels: {
          team: 'research',
          'bursar.io/workload-kind': 'training',
          'bursar.io/interruptible': 'true',
          'bursar.io/job-started-at': '20261005T000000Z',
          'bursar.io/job-work-hours': '400',
          'bursar.io/job-restart-hours': '0.5',
          'bursar.io/job-checkpoint-gb': '40',
          'bursar.io/job-data-gb': '10',
        },
      },
    ],
  });
  connections.set('fake', connectTo(cloud));
  const schedule = new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS);
  async function pass(hours: number): Promise<void> {
    clock.at = START + hours * HOUR + SECOND;
    await schedule.enqueueDue(clock.at);
    await runner.drain();
    await db.transaction((tx) => stores.policies.enqueueTeams(tx, 'default', { teams: ['research'] }));
    await runner.drain();
  }
  const actions = async (): Promise<Action[]> =>
    (await stores.actions.list('default', {}, null, 100)).map(({ action }) => action).reverse();
  const target = 'instance/i-000001';

  beforeAll(async () => {
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { label: { key: 'team', value: 'research' } }, team: 'research' }],
        'test',
      );
      const params = {
        historyDays: 2,
        places: [PROVIDER],
        egress: [
          { from: `${PROVIDER}/${dear}`, to: `${PROVIDER}/${cheap}`, perGb: 0.02 },
          { from: `${PROVIDER}/${cheap}`, to: `${PROVIDER}/${dear}`, perGb: 0.02 },
        ],
      };
      const document = { name: 'anywhere', policy: 'spot-shift', teams: ['research'], mode: 'approve', params };
      await applied(stores, tx, POLICIES, document, START);
    });
    await pass(49);
    await pass(50);
  });

  it('is proposed with its reason, and with what is sent and lost', async () => {
    const [found] = await stores.recommendations.list('default', { team: 'research', status: 'open' }, null, 10);
    expect(found).toMatchObject({
      action: 'MoveToSpot',
      target,
      change: { term: 'spot', provider: PROVIDER, region: cheap, egress: '1.000000', restartHours: 0.5, sendsGb: 50 },
      computation: { placeNow: `${PROVIDER} ${dear}`, placeThen: `${PROVIDER} ${cheap}` },
      savingRecurs: 'once',
    });
    expect(await actions()).toMatchObject([
      { effect: { kind: 'move', target, region: cheap, zone: null, term: 'spot', sku: null }, state: 'proposed' },
    ]);
  });

  it('is moved when somebody approves it, and the reading of the cloud is the proof', async () => {
    const [proposed] = await actions();
    await db.transaction((tx) => approveAction(stores, tx, 'default', proposed!.id, 'boss', clock.at));
    await runner.drain();
    await pass(50.2);
    const [done] = await actions();
    expect(done).toMatchObject({ before: { region: dear }, after: { region: cheap, term: 'spot', state: 'running' } });
    expect(['confirmed', 'measured']).toContain(done?.state);
    expect(cloud.target(target)).toMatchObject({ region: cheap });
  });

  it('saves what it is measured to, less what was sent, and not the hours of its restart', async () => {
    for (const hour of [51, 52, 53, 54, 55]) await pass(hour);
    const [{ id } = { id: '' }] = await actions();
    const ledger = await stores.savingLedger.known('default', id);
    // At most four hours and a half without the restart at the old price, four and three quarters at the new.
    const most = 5 * (priceIn(dear) - priceIn(cheap));
    const saved = Number(ledger.measured);
    expect(saved).toBeLessThan(most - 1);
    expect(saved).toBeGreaterThan(most - 1 - 1.5 * priceIn(dear));
  });

  it('is brought back by a rollback', async () => {
    const [{ id } = { id: '' }] = await actions();
    await db.transaction((tx) => rollBack(stores, tx, 'default', id, 'boss', { underStop: false }, clock.at));
    await runner.drain();
    await pass(55.3);
    expect(cloud.target(target)).toMatchObject({ region: dear, term: 'spot', state: 'running' });
    expect((await actions())[0]?.state).toBe('rolled-back');
  });
});
