/**
 * Alerts at the doors: who sees and decides what, routes and mutes, who stands behind a Slack user, and the schedule
 * that looks for news.
 */
import { describe, expect, it } from 'vitest';
import { alertJson } from '../../src/application/alert/alert-json.js';
import { AlertSchedule } from '../../src/pipeline/alert-make.js';
import { AlertClient } from '../../src/cli/client/alerts.js';
import { HOUR_MS } from '../../src/core/time.js';
import { enqueue } from '../../src/store/work.js';
import { budgetNews } from '../support/alerts.js';
import { testBursar } from '../support/bursar.js';
import { apiOf } from '../support/local.js';
import { NOW, testApi } from '../support/web.js';

describe('the API', async () => {
  const api = await testApi();
  const raise = async (team: string, budget: string): Promise<string> => {
    await api.stores.alerts.raise(
      api.stores.db,
      'default',
      budgetNews({ team, budget, threshold: { kind: 'actual', ratio: '1' } }),
      NOW,
    );
    const [one] = await api.stores.alerts.list('default', {}, null, 1);
    return one!.alert.id;
  };

  it('shows each the alerts of the teams that the key is for', async () => {
    await raise('red', 'r');
    await raise('blue', 'b');
    const key = await api.keyFor({ role: 'operator', teams: ['red'] });
    const titles = async (path: string, as?: string): Promise<unknown> =>
      (
        await api.call<{ items?: { title: string }[]; status?: number }>(
          'GET',
          path,
          as === undefined ? {} : { key: as },
        )
      ).body.items?.map(({ title }) => title);
    expect(await titles('/v1/alerts')).toEqual([
      'blue: 100 % of the budget b is spent',
      'red: 100 % of the budget r is spent',
    ]);
    expect(await titles('/v1/alerts', key)).toEqual(['red: 100 % of the budget r is spent']);
    expect(await titles('/v1/alerts?team=blue&kind=budget&state=new')).toHaveLength(1);
    expect((await api.call('GET', '/v1/alerts?team=blue', { key })).status).toBe(403);
    expect(
      (
        await api.call(
          'GET',
          `/v1/alerts/${(await api.stores.alerts.list('default', { team: 'blue' }, null, 1))[0]!.alert.id}`,
          { key },
        )
      ).status,
    ).toBe(403);
  });

  it('takes an alert on, once, for who may', async () => {
    const id = await raise('red', 'taken');
    const [viewer, other, operator] = [
      await api.keyFor({ role: 'viewer' }),
      await api.keyFor({ role: 'operator', teams: ['blue'] }),
      await api.keyFor({ role: 'operator', teams: ['red'], name: 'Ana' }),
    ];
    const take = async (key: string): Promise<number> =>
      (await api.call('POST', `/v1/alerts/${id}/acknowledge`, { key })).status;
    expect([await take(viewer), await take(other), await take(operator), await take(operator)]).toEqual([
      403, 403, 200, 409,
    ]);
    expect((await api.call('GET', `/v1/alerts/${id}`)).body).toMatchObject({
      state: 'answered',
      answer: { what: 'acknowledged', by: 'Ana', at: '2026-10-07T00:00:00.000Z' },
      deliveries: [],
    });
  });

  it('has routes that hold for the organisation, and names every problem of wrong ones', async () => {
    const byDefault = { isDefault: true, routes: [] };
    expect((await api.call('GET', '/v1/alert-routes')).body).toEqual(byDefault);
    // What is sent back unchanged stays the default: it takes no channel away.
    expect((await api.call('PUT', '/v1/alert-routes', { body: byDefault })).body).toEqual(byDefault);
    expect(await api.stores.alertSettings.routes(api.stores.db, 'default')).toBeNull();
    const body = {
      routes: [
        {
          teams: ['red'],
          to: [{ channel: 'slack', address: 'C0RED' }],
          escalation: [{ afterHours: 4, to: [{ channel: 'email', address: 'boss@example.com' }] }],
        },
      ],
    };
    expect(
      (await api.call('PUT', '/v1/alert-routes', { body, key: await api.keyFor({ role: 'operator' }) })).status,
    ).toBe(403);
    expect((await api.call('PUT', '/v1/alert-routes', { body })).status).toBe(200);
    expect((await api.call('GET', '/v1/alert-routes')).body).toMatchObject({
      isDefault: false,
      routes: [
        {
          teams: ['red'],
          kinds: null,
          leastSeverity: 'info',
          to: [{ address: 'C0RED' }],
          escalation: [{ afterHours: 4 }],
        },
      ],
    });
    // Back to the default.
    expect((await api.call('PUT', '/v1/alert-routes', { body: { routes: [] } })).body).toEqual(byDefault);
    expect((await api.call('GET', '/v1/alert-routes')).body).toEqual(byDefault);
    expect(await api.stores.alertSettings.routes(api.stores.db, 'default')).toBeNull();
    const wrong = await api.call<{ problems: { path: string }[] }>('PUT', '/v1/alert-routes', {
      body: {
        routes: [
          {
            to: [
              { channel: 'slack', address: '#red' },
              { channel: 'email', address: 'nobody' },
            ],
          },
        ],
      },
    });
    expect([wrong.status, wrong.body.problems.map(({ path }) => path)]).toEqual([
      400,
      ['routes/0/to/0/address', 'routes/0/to/1/address'],
    ]);
  });

  it('mutes for a while: one team for who is for it, all teams for who sees all', async () => {
    const key = await api.keyFor({ role: 'operator', teams: ['red'] });
    const mute = (body: unknown, as?: string) =>
      api.call<{ id: string }>('POST', '/v1/alert-mutes', { body, ...(as === undefined ? {} : { key: as }) });
    const until = new Date(NOW + HOUR_MS).toISOString();
    expect((await mute({ until, reason: 'x' }, key)).status).toBe(403);
    expect((await mute({ until: new Date(NOW).toISOString(), reason: 'x', team: 'red' }, key)).status).toBe(400);
    const own = await mute({ until, reason: 'known', team: 'red', kind: 'budget' }, key);
    const all = await mute({ until, reason: 'maintenance' });
    expect([own.status, all.status]).toEqual([200, 200]);
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/alert-mutes', { key })).body.items).toMatchObject([
      { team: 'red', kind: 'budget', reason: 'known' },
    ]);
    expect((await api.call('DELETE', `/v1/alert-mutes/${all.body.id}`, { key })).status).toBe(403);
    expect((await api.call('DELETE', `/v1/alert-mutes/${all.body.id}`)).status).toBe(200);
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/alert-mutes')).body.items).toHaveLength(1);
  });

  it('gives a Slack user the rights of a key, and says when they are gone', async () => {
    const { body: key } = await api.call<{ id: string }>('POST', '/v1/keys', {
      body: { name: 'Ana', role: 'operator', teams: ['red'] },
    });
    const put = (id: string, as?: string) =>
      api.call('PUT', '/v1/slack-users/T0WORK/U0ANA', { body: { key: id }, ...(as === undefined ? {} : { key: as }) });
    expect((await put(key.id, await api.keyFor({ role: 'operator' }))).status).toBe(403);
    expect((await put('000000000000')).status).toBe(404);
    expect((await put(key.id)).body).toMatchObject({
      workspace: 'T0WORK',
      user: 'U0ANA',
      keyName: 'Ana',
      role: 'operator',
      teams: ['red'],
      isRevoked: false,
    });
    const principal = (): Promise<unknown> =>
      api.stores.slackDesk.principal(api.stores.db, 'default', { workspace: 'T0WORK', user: 'U0ANA' }, NOW);
    expect(await principal()).toMatchObject({ id: key.id, teams: ['red'] });
    await api.call('DELETE', `/v1/keys/${key.id}`);
    expect(await principal()).toBeNull();
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/slack-users')).body.items).toMatchObject([
      { isRevoked: true },
    ]);
    expect((await api.call('DELETE', '/v1/slack-users/T0WORK/U0ANA')).status).toBe(200);
    expect((await api.call('DELETE', '/v1/slack-users/T0WORK/U0ANA')).status).toBe(404);
  });

  it('takes nothing from Slack where Slack is not connected', async () => {
    expect((await api.call('POST', '/slack/commands', { key: null, body: 'text=status' })).status).toBe(404);
  });
});

describe('the schedule', async () => {
  const bursar = await testBursar({ now: Date.UTC(2026, 10, 18, 12) });
  const { db, stores, clock, runner } = bursar;
  const due = async (): Promise<string[]> =>
    (await stores.work.duePartitions(clock.at)).map(({ stage, partition }) => `${stage} ${partition}`);

  it('looks for news where there may be some, for unusual spend once a day, and for prices once an hour', async () => {
    await stores.organisations.saveTeam(db, 'default', {
      id: 'red',
      name: 'Red',
      parent: null,
      zone: 'UTC',
      currency: 'USD',
      assignedBy: null,
    });
    const schedule = new AlertSchedule(stores, 'default');
    await schedule.enqueueDue(clock.at);
    expect(await due()).toEqual(['anomaly.find prices', 'anomaly.find red']);
    await runner.drain();
    clock.at += HOUR_MS;
    await schedule.enqueueDue(clock.at);
    expect(await due()).toEqual(['anomaly.find prices']);
    await runner.drain();
    await stores.alerts.raise(db, 'default', budgetNews(), clock.at);
    await schedule.enqueueDue(clock.at);
    expect(await due()).toEqual(['alert.make alerts']);
    await runner.drain();
    clock.at += 17 * HOUR_MS;
    await schedule.enqueueDue(clock.at);
    expect((await due()).filter((partition) => partition.startsWith('anomaly'))).toEqual([
      'anomaly.find prices',
      'anomaly.find red',
    ]);
  });

  it('what no channel of this process takes waits for another process', async () => {
    await enqueue(db, 'default', [{ stage: 'alert.make', partition: 'alerts', key: 'alerts' }]);
    await runner.drain();
    const [one] = await stores.alerts.list('default', {}, null, 1);
    expect(await stores.alerts.deliveries(db, 'default', one!.alert.id)).toMatchObject([
      { channel: 'log', state: 'waiting' },
    ]);
    expect(alertJson(one!.alert)).toMatchObject({ state: 'told', kind: 'budget' });
  });

  it('the command line raises a test, and says what became of it', async () => {
    const door = new AlertClient(await apiOf({ stores, importer: bursar.importer }, clock, 'me'), () => runner.drain());
    expect(await door.test()).toMatchObject({
      kind: 'test',
      state: 'told',
      news: { by: 'cli:me' },
      deliveries: [{ channel: 'log', state: 'waiting' }],
    });
    expect(await door.list({ team: null, kind: 'test', state: null }, 10)).toHaveLength(1);
    expect((await stores.audit.list('default', null, 5)).map(({ verb }) => verb)).toContain('alert.test');
  });
});
