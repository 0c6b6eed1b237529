/** Leases: given, renewed and ended through the door, seen by the policy `lease`, and hidden from other teams. */
import { describe, expect, it } from 'vitest';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import { policy as leasePolicy } from '../../src/policies/lease.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { giveLease, renewLease } from '../../src/application/workload/set-lease.js';
import type { LeaseTerms } from '../../src/store/workload/leases.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { testBursar } from '../support/bursar.js';
import { MONDAY } from '../support/records.js';
import { testApi } from '../support/web.js';
import { fleetTarget } from '../support/makers.js';

const DAY = 86_400_000;
const terms = (over: Partial<LeaseTerms> = {}): LeaseTerms => ({
  team: 'red',
  target: 'i-1',
  holder: 'ada',
  gpus: null,
  provider: null,
  sku: null,
  region: null,
  gpuModel: null,
  expiresAt: MONDAY + 3 * DAY,
  ...over,
});

describe('a lease', async () => {
  const bursar = await testBursar({ now: MONDAY, policies: [leasePolicy as Policy], targets: new FleetStore() });
  const { stores, db, clock } = bursar;
  const open = async (): Promise<string[]> =>
    (await stores.recommendations.list('default', { status: 'open' }, null, 10)).map(
      ({ action, target }) => `${action} ${target}`,
    );

  it('takes what it holds from the fleet', async () => {
    const seen: FleetTarget = fleetTarget({ account: null });
    await db.transaction((tx) =>
      stores.fleet.save(
        tx,
        'default',
        'aws',
        { at: MONDAY, targets: [seen], complete: true, problems: [] },
        () => 'red',
      ),
    );
    const lease = await db.transaction((tx) => giveLease(stores, tx, 'default', 'ada-1', terms(), MONDAY));
    expect(lease).toMatchObject({
      gpus: 8,
      provider: 'AWS',
      sku: 'p5.48xlarge',
      region: 'us-east-1',
      gpuModel: 'H100',
      startedAt: MONDAY,
      active: true,
    });
    // Another team's target tells this team nothing.
    expect(
      await db.transaction((tx) => giveLease(stores, tx, 'default', 'eve-1', terms({ team: 'blue' }), MONDAY)),
    ).toMatchObject({ gpus: null, sku: null });
  });

  it('is warned of before its end and released after it, unless somebody renews it', async () => {
    const policies = [leasePolicy as Policy];
    const document = readPolicyDocument(
      { name: 'leases', policy: 'lease', teams: ['red'], mode: 'recommend' },
      policies,
    );
    await db.transaction((tx) =>
      applyPolicy(stores, tx, 'default', policies, { document, override: null }, 'test', MONDAY),
    );
    await bursar.runner.drain();
    expect(await open()).toEqual([]);
    const look = async (day: number): Promise<string[]> => {
      clock.at = MONDAY + day * DAY;
      await db.transaction((tx) => renewLease(stores, tx, 'default', 'eve-1', null));
      await db.transaction((tx) => stores.policies.enqueueTeams(tx, 'default', { teams: ['red'] }));
      await bursar.runner.drain();
      return open();
    };
    expect(await look(1.5)).toEqual(['Notify i-1']);
    expect(await look(3.1)).toEqual(['Release i-1']);
    await db.transaction((tx) => renewLease(stores, tx, 'default', 'ada-1', MONDAY + 30 * DAY));
    await bursar.runner.drain();
    expect(await open()).toEqual([]);
  });
});

describe('the door of leases', async () => {
  const api = await testApi();
  const body = { team: 'red', target: 'i-9', holder: 'ada', gpus: 4, expiresAt: '2026-12-01T00:00:00Z' };

  it('gives, lists, renews and ends', async () => {
    const given = await api.call('PUT', '/v1/leases/a', { body });
    expect([given.status, given.body]).toMatchObject([
      200,
      { id: 'a', team: 'red', gpus: 4, expiresAt: '2026-12-01T00:00:00Z', active: true, provider: null },
    ]);
    await api.call('PUT', '/v1/leases/b', { body: { team: 'blue', target: 'i-8' } });
    const names = async (path: string, key?: string): Promise<unknown> =>
      ((await api.call('GET', path, key === undefined ? {} : { key })).body['items'] as { id: string }[]).map(
        ({ id }) => id,
      );
    expect([await names('/v1/leases'), await names('/v1/leases?team=blue'), await names('/v1/leases?limit=1')]).toEqual(
      [['a', 'b'], ['b'], ['a']],
    );
    expect(
      (await api.call('POST', '/v1/leases/a/renew', { body: { expiresAt: '2027-01-01T00:00:00Z' } })).body,
    ).toMatchObject({ expiresAt: '2027-01-01T00:00:00Z', startedAt: given.body['startedAt'] });
    expect((await api.call('DELETE', '/v1/leases/a')).body).toMatchObject({ active: false });
    expect((await api.call('DELETE', '/v1/leases/none')).status).toBe(404);
  });

  it('shows a key its own teams alone', async () => {
    const key = await api.keyFor({ role: 'operator', teams: ['red'] });
    expect(
      ((await api.call('GET', '/v1/leases', { key })).body['items'] as { id: string }[]).map(({ id }) => id),
    ).toEqual(['a']);
    for (const [method, path, sent] of [
      ['POST', '/v1/leases/b/renew', { expiresAt: null }],
      ['DELETE', '/v1/leases/b', undefined],
      ['PUT', '/v1/leases/b', body],
    ] as const) {
      expect((await api.call(method, path, { key, ...(sent === undefined ? {} : { body: sent }) })).status).toBe(404);
    }
    expect((await api.call('PUT', '/v1/leases/c', { key, body: { ...body, team: 'blue' } })).status).toBe(403);
  });

  it('names every problem', async () => {
    const refused = await api.call('PUT', '/v1/leases/a', {
      body: { team: '', target: '', gpus: -1, expiresAt: 'soon', colour: 'red' },
    });
    expect(refused.status).toBe(400);
    for (const path of ['team', 'target', 'gpus', 'expiresAt', 'colour']) expect(refused.text).toContain(path);
  });
});
