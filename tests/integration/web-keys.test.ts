/** Who is let in, and what a key may see and do. On a real PostgreSQL, over HTTP. */
import { describe, expect, it } from 'vitest';
import { NOW, testApi } from '../support/web.js';

describe('keys', async () => {
  let now = NOW;
  const api = await testApi({ clock: { now: () => now } });

  it('are needed below /v1, and only there', async () => {
    const refused = await api.call('GET', '/v1/teams', { key: null });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect(refused.headers.get('content-type')).toContain('application/problem+json');
    expect((await api.call('HEAD', '/v1/teams', { key: null })).status).toBe(401);
    for (const path of ['/healthz', '/readyz', '/metrics', '/docs', '/openapi.json'])
      expect((await api.call('GET', path, { key: null })).status).toBe(200);
  });

  it('are refused where they are none, unknown or of another secret', async () => {
    for (const key of [
      'x',
      'bursar_000000000000_',
      `bursar_000000000000_${'a'.repeat(43)}`,
      `${api.admin.slice(0, -1)}${api.admin.endsWith('A') ? 'B' : 'A'}`,
    ]) {
      expect((await api.call('GET', '/v1/teams', { key })).status).toBe(401);
    }
    expect((await api.call('GET', '/v1/teams')).status).toBe(200);
  });

  it('are made once as the first, and their text is not stored', async () => {
    expect(await api.stores.keys.firstKey('default')).toBeNull();
    const secret = api.admin.split('_').slice(2).join('_');
    const rows = await api.stores.db.query<{ row: string }>(`select k::text as row from api_key k`);
    expect(rows.every(({ row }) => !row.includes(secret))).toBe(true);
  });

  it('are made, listed, used and revoked by an admin', async () => {
    const made = await api.call<{ id: string; text: string }>('POST', '/v1/keys', {
      body: { name: 'reader', role: 'viewer' },
    });
    expect(made.status).toBe(200);
    const { id, text } = made.body;
    expect((await api.call('GET', '/v1/teams', { key: text })).status).toBe(200);
    const listed = await api.call<{ items: { id: string; name: string }[] }>('GET', '/v1/keys');
    expect(listed.body.items.map(({ name }) => name)).toContain('reader');
    expect(listed.text).not.toContain(text);
    expect((await api.call('DELETE', `/v1/keys/${id}`)).status).toBe(200);
    expect((await api.call('GET', '/v1/teams', { key: text })).status).toBe(401);
    expect((await api.call('DELETE', '/v1/keys/000000000000')).status).toBe(404);
  });

  it('do not lock the last admin out', async () => {
    const [, id] = api.admin.split('_');
    expect(await api.call('DELETE', `/v1/keys/${id}`)).toMatchObject({ status: 409 });
    expect((await api.call('GET', '/v1/teams')).status).toBe(200);
  });

  it('do what their role allows', async () => {
    const [viewer, operator] = [await api.keyFor({ role: 'viewer' }), await api.keyFor({ role: 'operator' })];
    const body = { name: 'Research' };
    expect(await api.call('PUT', '/v1/teams/research', { key: viewer, body })).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('operator') },
    });
    expect((await api.call('PUT', '/v1/teams/research', { key: operator, body })).status).toBe(200);
    expect((await api.call('GET', '/v1/teams/research', { key: viewer })).body).toEqual({
      id: 'research',
      name: 'Research',
      parent: null,
      zone: 'UTC',
      currency: 'USD',
      assignedBy: null,
    });
    for (const path of ['/v1/keys', '/v1/audit']) {
      expect((await api.call('GET', path, { key: operator })).status).toBe(403);
      expect((await api.call('GET', path)).status).toBe(200);
    }
  });

  it('with teams see these and those below them', async () => {
    for (const [id, parent] of [
      ['red', null],
      ['red-a', 'red'],
      ['red-a-1', 'red-a'],
      ['blue', null],
    ] as const) {
      expect((await api.call('PUT', `/v1/teams/${id}`, { body: { parent } })).status).toBe(200);
    }
    const key = await api.keyFor({ role: 'operator', teams: ['red'] });
    const teams = await api.call<{ items: { id: string }[] }>('GET', '/v1/teams', { key });
    expect(teams.body.items.map(({ id }) => id)).toEqual(['red', 'red-a', 'red-a-1']);
    expect((await api.call('GET', '/v1/teams/blue', { key })).status).toBe(403);
    expect((await api.call('PUT', '/v1/teams/blue', { key, body: {} })).status).toBe(403);
    expect((await api.call('PUT', '/v1/teams/red-a', { key, body: { parent: 'blue' } })).status).toBe(403);
    expect((await api.call('PUT', '/v1/teams/red-a', { key, body: { parent: 'red', name: 'A' } })).status).toBe(200);
    for (const path of ['/v1/imports', '/v1/rejects', '/v1/work', '/v1/rules'])
      expect((await api.call('GET', path, { key })).status).toBe(403);
    expect((await api.call('POST', '/v1/usage', { key, body: { records: [] } })).status).toBe(403);
  });

  it('with teams get costs and metrics of these only', async () => {
    await api.stores.db.query(
      `insert into dimension (organisation, key, kind, provider, category) values ('default', 'd', 'billed', 'AWS', 'Usage')`,
    );
    await api.stores.db.query(
      `insert into cost_day (organisation, team, day, dimension, currency, records, actual)
       select 'default', team, '2026-10-05', d.id, 'USD', 1, amount from dimension d, (values ('red-a', 5), ('blue', 7)) as v(team, amount)`,
    );
    const key = await api.keyFor({ teams: ['red'] });
    const rows = async (path: string, as?: string): Promise<unknown> =>
      (await api.call(`GET`, path, { key: as ?? api.admin })).body['rows'];
    expect(await rows('/v1/costs?group-by=team')).toMatchObject([
      { team: 'blue', cost: '7' },
      { team: 'red-a', cost: '5' },
    ]);
    expect(await rows('/v1/costs?group-by=team', key)).toMatchObject([{ team: 'red-a', cost: '5' }]);
    // As everywhere else: an empty sum would read as no spend.
    for (const path of ['', '/breakdown', '/bridge'])
      expect(await api.call('GET', `/v1/costs${path}?team=blue`, { key })).toMatchObject({
        status: 403,
        body: { detail: 'this key may not use the team blue' },
      });
    expect((await api.call('GET', '/metrics', { key })).text).toContain(
      'bursar_spend_month{team="red-a",currency="USD"} 5\n',
    );
    expect((await api.call('GET', '/metrics', { key })).text).not.toContain('blue');
    expect((await api.call('GET', '/metrics', { key: null })).text).not.toContain('bursar_spend');
  });

  it('name every problem of a key that cannot be', async () => {
    const refused = await api.call('POST', '/v1/keys', { body: { name: '', role: 'king', teams: [], colour: 'red' } });
    expect(refused.status).toBe(400);
    expect((refused.body['problems'] as { path: string }[]).map(({ path }) => path).sort()).toEqual([
      'colour',
      'name',
      'role',
      'teams',
    ]);
    expect(
      (await api.call('POST', '/v1/keys', { body: { name: 'a', role: 'admin', teams: ['red'] } })).body['problems'],
    ).toMatchObject([{ path: 'teams' }]);
  });

  it('have scopes, an owner and an end, and a meter that has one scope can only send', async () => {
    const made = await api.call<{ id: string; text: string }>('POST', '/v1/keys', {
      body: {
        name: 'meter',
        scopes: ['usage:write'],
        owner: 'platform',
        expiresAt: new Date(NOW + 60_000).toISOString(),
      },
    });
    expect(made.body).toMatchObject({ role: null, scopes: ['usage:write'], owner: 'platform', lastUsedAt: null });
    const key = made.body.text;
    const send = () => api.call('POST', '/v1/usage', { key, body: { records: [] } });
    expect((await send()).status).toBe(200);
    for (const path of ['/v1/teams', '/v1/costs', '/v1/imports', '/v1/keys'])
      expect(await api.call('GET', path, { key })).toMatchObject({
        status: 403,
        body: { detail: expect.stringContaining('this key has usage:write') },
      });
    const listed = await api.call<{ items: { id: string }[] }>('GET', '/v1/keys');
    expect(listed.body.items.find(({ id }) => id === made.body.id)).toMatchObject({
      lastUsedAt: expect.any(String),
      expiresAt: new Date(NOW + 60_000).toISOString(),
    });
    now = NOW + 60_000;
    expect((await send()).status).toBe(401);
    now = NOW;
    expect((await api.call('POST', '/v1/keys', { body: { name: 'x' } })).body['problems']).toMatchObject([
      { path: 'role' },
    ]);
    const both = { name: 'x', role: 'viewer', scopes: ['read'], expiresAt: new Date(NOW).toISOString() };
    expect((await api.call('POST', '/v1/keys', { body: both })).body['problems']).toMatchObject([
      { path: 'scopes' },
      { path: 'expiresAt' },
    ]);
  });

  it('are rotated: both secrets hold for a while, the key stays the same, its sessions end', async () => {
    const made = await api.call<{ id: string; text: string }>('POST', '/v1/keys', {
      body: { name: 'turning', role: 'viewer', teams: ['red'] },
    });
    const { id, text: first } = made.body;
    const { stores } = api;
    const { text: session } = await stores.sessions.start(stores.db, 'default', { key: id }, now);
    const status = async (key: string): Promise<number> => (await api.call('GET', '/v1/teams', { key })).status;
    const rotate = async (body: object) => api.call<{ text: string }>('POST', `/v1/keys/${id}/rotate`, { body });
    const rotated = await rotate({ overlapSeconds: 60 });
    expect(rotated.body).toMatchObject({
      id,
      name: 'turning',
      teams: ['red'],
      previousUntil: new Date(now + 60_000).toISOString(),
    });
    const second = rotated.body.text;
    expect([await status(first), await status(second)]).toEqual([200, 200]);
    expect(await stores.sessions.authenticate(session, now)).toBeNull();
    now = NOW + 60_000;
    expect([await status(first), await status(second)]).toEqual([401, 200]);
    const third = (await rotate({ overlapSeconds: 0 })).body.text;
    expect([await status(first), await status(second), await status(third)]).toEqual([401, 401, 200]);
    now = NOW;
    await api.call('DELETE', `/v1/keys/${id}`);
    expect((await rotate({})).status).toBe(409);
  });

  it("of a role of one's own may do what the role says now", async () => {
    const set = (scopes: string[]) => api.call('PUT', '/v1/roles/custom:buyer', { body: { scopes } });
    expect((await set(['approve', 'read'])).body).toMatchObject({ name: 'custom:buyer', scopes: ['read', 'approve'] });
    expect((await set(['admin'])).body['problems']).toMatchObject([{ path: 'scopes' }]);
    expect((await api.call('PUT', '/v1/roles/viewer', { body: { scopes: ['read'] } })).status).toBe(400);
    const key = await api.keyFor({ role: 'custom:buyer' });
    const status = async (): Promise<number> => (await api.call('GET', '/v1/teams', { key })).status;
    expect(await status()).toBe(200);
    expect((await api.call('PUT', '/v1/teams/red', { key, body: {} })).status).toBe(403);
    expect((await set(['configure'])).status).toBe(200);
    expect(await status()).toBe(403);
    expect((await api.call('DELETE', '/v1/roles/custom:buyer')).status).toBe(409);
    expect((await api.call('POST', '/v1/keys', { body: { name: 'x', role: 'custom:nobody' } })).status).toBe(404);
    const listed = await api.call<{ items: { name: string }[] }>('GET', '/v1/roles');
    expect(listed.body.items.map(({ name }) => name).sort()).toEqual(['admin', 'custom:buyer', 'operator', 'viewer']);
    const [, id] = key.split('_');
    await api.call('DELETE', `/v1/keys/${id}`);
    expect((await api.call('DELETE', '/v1/roles/custom:buyer')).status).toBe(200);
  });

  it('leave their traces in the audit', async () => {
    const { body } = await api.call<{ items: { verb: string; actor: string }[] }>('GET', '/v1/audit');
    expect(body.items.map(({ verb }) => verb)).toEqual(
      expect.arrayContaining(['key.create', 'key.revoke', 'team.save', 'access.refuse']),
    );
    const nameless = body.items.filter(({ actor }) => !/^key:[0-9a-f]{12} \(.+\)$/.test(actor));
    expect(new Set(nameless.map(({ actor, verb }) => `${actor} ${verb}`))).toEqual(new Set(['nobody access.refuse']));
  });
});
