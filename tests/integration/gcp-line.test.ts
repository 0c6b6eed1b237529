/**
 * Google Cloud through the whole line, from the settings to the proof: a process as it is composed, a real database,
 * and a server that holds every request and reply against Google's discovery documents.
 */
import { afterAll, expect, it } from 'vitest';
import { compose } from '../../src/app.module.js';
import type { Effect } from '../../src/core/fleet/fleet.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { approveAction } from '../../src/application/action/set-action.js';
import { enqueue } from '../../src/store/work.js';
import { freshDatabase } from '../support/database.js';
import { GoogleApi } from '../support/google-api.js';
import { googleEnvironment, playAccount } from '../support/google-world.js';
import { proposedAction } from '../support/makers.js';

const TRAINER = 'instance/ml-prod/us-central1-a/1001';
const MEMBER = 'instance/ml-prod/us-central1-a/1005';

const api = await GoogleApi.start();
playAccount(api);
const { url } = await freshDatabase();
const clock = { at: Date.UTC(2026, 10, 20, 8), now: () => clock.at };
const { stores, organisation, runner, close } = await compose(url, clock, { environment: googleEnvironment(api) });
const { db } = stores;

afterAll(async () => {
  await close();
  await api.close();
});

async function pass(ms: number): Promise<void> {
  clock.at += ms;
  await runner.drain();
}
const actionOf = (id: string) => stores.actions.known(db, organisation, id);

async function approved(effect: Effect): Promise<string> {
  const { action } = await db.transaction((tx) =>
    stores.actions.propose(
      tx,
      organisation,
      proposedAction({
        team: 'unallocated',
        connection: 'gcp',
        target: effect.target,
        effect,
        evidenceAt: clock.at,
        expiresAt: clock.at + HOUR_MS,
      }),
      clock.at,
    ),
  );
  await db.transaction((tx) => approveAction(stores, tx, organisation, action.id, 'boss', clock.at));
  return action.id;
}

it('reads the fleet', async () => {
  await enqueue(db, organisation, [{ stage: 'fleet.collect', partition: 'gcp', key: 'gcp/fleet' }]);
  await runner.drain();
  expect(await stores.fleet.coverage(db, organisation, clock.at)).toMatchObject([
    { connection: 'gcp', complete: true, targets: 10, problems: [] },
  ]);
});

it('stops a machine once, and confirms it by what Google shows', async () => {
  const id = await approved({ kind: 'stop', target: TRAINER });
  await pass(0);
  expect(await actionOf(id)).toMatchObject({ state: 'applied', before: { state: 'running', billing: 'billed' } });
  api.settle();
  await pass(MINUTE_MS);
  expect(await actionOf(id)).toMatchObject({ state: 'confirmed', after: { state: 'stopped', billing: 'partly' } });
  expect(api.of('compute.instances.stop')).toHaveLength(1);
});

it('never stops what its group would bring back, nor sends anything that the documents do not have', async () => {
  clock.at += HOUR_MS;
  const id = await approved({ kind: 'stop', target: MEMBER });
  await pass(0);
  expect(await actionOf(id)).toMatchObject({ state: 'refused', reasons: [{ code: 'group-member' }] });
  expect(api.problems).toEqual([]);
});
