/**
 * Sessions that are there: listed and ended, one's own and anybody's; over after a while and after a rest; ended by the
 * identity provider; and asked again whether their user still has the role.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { bothDoors } from '../support/doors.js';
import { oidcProvider } from '../support/oidc-provider.js';
import { createWebApp, listen } from '../../src/web/server.js';
import { Refusals } from '../../src/web/refusals.js';
import { seal, unseal } from '../../src/web/sealed.js';
import type { OidcSettings, SignInSettings } from '../../src/web/sign-in.js';
import { WebModule } from '../../src/web/web.module.js';
import { NOW, testApi } from '../support/web.js';

const HEADER = { 'x-bursar-session': 'test', 'content-type': 'application/json' };
const MINUTE = 60_000;
const cookieOf = (headers: Headers): string => headers.getSetCookie().at(-1)?.split(';', 1)[0] ?? '';

interface Listed {
  readonly id: string;
  readonly principal: string;
  readonly address: string | null;
  readonly agent: string | null;
  readonly isCurrent: boolean;
}

describe('sessions', async () => {
  let now = NOW;
  const api = await testApi({ clock: { now: () => now } });
  const { here, there, thereAs } = bothDoors(api);
  beforeEach(async () => {
    now = NOW;
    await api.stores.db.query(`delete from session`);
    api.stores.sessions.forget();
  });

  const signIn = async (key: string): Promise<string> =>
    cookieOf((await api.call('POST', '/session', { key: null, headers: HEADER, body: { key } })).headers);
  const as = (cookie: string) => ({ key: null, headers: { cookie, ...HEADER } });
  const status = async (cookie: string): Promise<number> => (await api.call('GET', '/v1/teams', as(cookie))).status;
  const listed = async (path: string, cookie?: string): Promise<readonly Listed[]> =>
    (await api.call<{ items: Listed[] }>('GET', path, cookie === undefined ? {} : as(cookie))).body.items;

  it('are a hundred of one key at most, and opened a few at a time', async () => {
    const key = await api.keyFor({ role: 'viewer' });
    const other = await signIn(api.admin);
    const { db, sessions } = api.stores;
    for (let n = 0; n < 105; n++)
      await sessions.start(db, 'default', { key: key.split('_')[1] ?? '' }, NOW + n, { address: String(n) });
    const ada = { id: 'ada', name: 'Ada', role: 'viewer', teams: null };
    for (let n = 0; n < 103; n++) await sessions.start(db, 'default', { user: ada }, NOW + n, { address: 'ada' });
    const all = await listed('/v1/sessions?limit=1000');
    expect(all.filter(({ principal }) => principal === 'user:ada')).toHaveLength(100);
    await db.query(`delete from session where user_id = 'ada'`);
    const own = (await listed('/v1/sessions?limit=1000')).filter(({ address }) => address !== '127.0.0.1');
    expect([own.length, own.map(({ address }) => Number(address)).sort((a, b) => a - b)[0]]).toEqual([100, 5]);
    expect(await status(other)).toBe(200);
    const replies = [];
    for (let n = 0; n < 70; n++)
      replies.push(await api.call('POST', '/session', { key: null, headers: HEADER, body: { key } }));
    expect([replies[0]?.status, replies.at(-1)?.status]).toEqual([200, 429]);
    expect(await signIn(api.admin)).not.toBe('');
  });

  it("and questions of one's own stand in the audit where they change, and change a few at a time", async () => {
    const entries = async (): Promise<number> =>
      (
        await api.stores.db.query<{ n: number }>(
          `select count(*)::int as n from audit where verb like 'cost-view.%' or verb = 'session.end'`,
        )
      )[0]?.n ?? 0;
    const key = await api.keyFor({ role: 'viewer' });
    const view = { name: 'mine', shared: false, query: { 'group-by': 'sku' } };
    const { id } = (await api.call<{ id: string }>('POST', '/v1/cost-views', { key, body: view })).body;
    const before = await entries();
    const statuses = new Set<number>();
    for (let n = 0; n < 35; n++) {
      statuses.add((await api.call('PUT', `/v1/cost-views/${id}`, { key, body: view })).status);
      statuses.add((await api.call('POST', '/v1/me/sessions/end', { key })).status);
    }
    expect([...statuses]).toEqual([200, 429]);
    expect(await entries()).toBe(before);
    const other = await api.keyFor({ role: 'viewer' });
    expect((await api.call('POST', '/v1/me/sessions/end', { key: other })).status).toBe(200);
  });

  it('are listed to an admin, and to others their own alone; none tells what opens it', async () => {
    const key = await api.keyFor({ role: 'viewer' });
    const [mine, admins] = [await signIn(key), await signIn(api.admin)];
    const all = await listed('/v1/sessions');
    expect(all.map(({ principal }) => principal).sort()).toEqual(
      [`key:${key.split('_')[1]}`, `key:${api.admin.split('_')[1]}`].sort(),
    );
    expect(all[0]).toMatchObject({ address: '127.0.0.1', agent: 'node' });
    const own = await listed('/v1/me/sessions', mine);
    expect(own).toMatchObject([{ principal: `key:${key.split('_')[1]}`, isCurrent: true }]);
    expect((await listed(`/v1/sessions?of=${own[0]?.principal}`)).map(({ id }) => id)).toEqual([own[0]?.id]);
    expect((await api.call('GET', '/v1/sessions', as(mine))).status).toBe(403);
    expect((await api.call('GET', '/v1/sessions?of=ada')).status).toBe(400);
    for (const cookie of [mine, admins]) expect(JSON.stringify(all)).not.toContain(cookie.split('=')[1]);
    const { body } = await api.call<{ items: Listed[]; nextCursor: string }>('GET', '/v1/sessions?limit=1');
    const next = await listed(`/v1/sessions?limit=1&cursor=${body.nextCursor}`);
    expect([...body.items, ...next].map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  });

  it('are ended by whose they are, by an admin, and by nobody else', async () => {
    const key = await api.keyFor({ scopes: ['usage:write'] });
    const [mine, second, admins] = [await signIn(key), await signIn(key), await signIn(api.admin)];
    const idOf = async (cookie: string): Promise<string> =>
      (await listed('/v1/me/sessions', cookie)).find(({ isCurrent }) => isCurrent)?.id ?? '';
    const [secondId, adminsId] = [await idOf(second), await idOf(admins)];
    expect((await api.call('DELETE', `/v1/me/sessions/${adminsId}`, as(mine))).status).toBe(404);
    expect((await api.call('DELETE', `/v1/sessions/${adminsId}`, as(mine))).status).toBe(403);
    expect((await api.call('DELETE', `/v1/me/sessions/${secondId}`, as(mine))).body).toEqual({ ended: [secondId] });
    expect(await status(second)).toBe(401);
    const third = await signIn(key);
    expect((await api.call('POST', '/v1/me/sessions/end', as(mine))).body).toEqual({ ended: [expect.any(String)] });
    expect([await status(third), await status(mine), await status(admins)]).toEqual([401, 403, 200]);
    expect((await api.call('POST', '/v1/sessions/end', { body: { of: `key:${key.split('_')[1]}` } })).status).toBe(200);
    expect([await status(mine), await status(admins)]).toEqual([401, 200]);
    const { body } = await api.call<{ items: { verb: string; actor: string }[] }>('GET', '/v1/audit?verb=session.end');
    expect(body.items).toHaveLength(3);
  });

  it('are listed and ended on the command line, by both doors alike', async () => {
    const cookie = await signIn(api.admin);
    const [{ id } = { id: '' }] = await listed('/v1/sessions');
    const shown = await here('sessions', '--json');
    expect(JSON.parse(shown.out)).toEqual(JSON.parse((await there('sessions', '--json')).out));
    expect(JSON.parse(shown.out)).toMatchObject({ sessions: [{ id, principal: `key:${api.admin.split('_')[1]}` }] });
    expect((await there('sessions', '--mine')).out).toContain(id);
    expect((await here('sessions', '--mine')).out).toBe('Nobody is signed in.\n');
    const viewer = await api.keyFor({ role: 'viewer' });
    expect((await thereAs(viewer, 'sessions', 'end', '--mine', id)).code).toBe(1);
    expect(await status(cookie)).toBe(200);
    for (const wrong of [['end'], ['end', id, '--of', 'user:ada'], ['--mine', '--of', 'user:ada']])
      expect((await there('sessions', ...wrong)).code).toBe(2);
    expect(await there('sessions', 'end', id)).toMatchObject({ code: 0, out: `Ended: ${id}\n` });
    expect(await status(cookie)).toBe(401);
    expect((await here('sessions', 'end', '--of', 'user:nobody')).out).toBe('There was none.\n');
  });

  it('are over after a rest, and after a while however much they are used', async () => {
    const [used, rests] = [await signIn(api.admin), await signIn(api.admin)];
    for (let minutes = 60; minutes < 12 * 60; minutes += 60) {
      now = NOW + minutes * MINUTE;
      api.stores.sessions.forget();
      expect(await status(used)).toBe(200);
      expect(await status(rests)).toBe(minutes < 120 ? 200 : 401);
      if (minutes === 60)
        await api.stores.db.query(`update session set last_seen_at = created_at where hash <> sha256($1)`, [
          used.split('=')[1],
        ]);
    }
    expect(await listed('/v1/sessions')).toHaveLength(1);
    now = NOW + 12 * 60 * MINUTE;
    // What is kept of it in memory holds no longer than the session.
    expect(await status(used)).toBe(401);
    expect(await listed('/v1/sessions')).toEqual([]);
  });
});

it('seals a refresh token so that only its session opens it', () => {
  const sealed = seal('a token', 'this session');
  expect(sealed.includes('a token')).toBe(false);
  expect(unseal(sealed, 'this session')).toBe('a token');
  expect(unseal(sealed, 'another session')).toBeNull();
  sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
  expect(unseal(sealed, 'this session')).toBeNull();
});

describe('who is refused', async () => {
  const api = await testApi();
  const entered = async (verb: string): Promise<readonly { actor: string; target: string; detail: object }[]> =>
    (await api.call<{ items: [] }>('GET', `/v1/audit?verb=${verb}`)).body.items;

  it('stands in the audit with who it was, from where and why, once, and without a secret', async () => {
    const key = await api.keyFor({ role: 'viewer', teams: ['red'] });
    const id = key.split('_')[1] ?? '';
    const wrong = `${key.slice(0, -3)}${key.endsWith('AAA') ? 'BBB' : 'AAA'}`;
    for (const _ of [1, 2]) {
      expect((await api.call('GET', '/v1/keys', { key })).status).toBe(403);
      expect((await api.call('GET', '/v1/teams/blue', { key })).status).toBe(403);
      expect((await api.call('GET', '/v1/teams', { key: wrong })).status).toBe(401);
      const body = { key: wrong };
      expect((await api.call('POST', '/session', { key: null, headers: HEADER, body })).status).toBe(401);
      // Whoever shows nothing is nobody.
      expect((await api.call('GET', '/v1/teams', { key: null })).status).toBe(401);
    }
    await expect.poll(() => entered('session.refuse')).toHaveLength(1);
    await expect.poll(() => entered('access.refuse')).toHaveLength(3);
    const all = [...(await entered('session.refuse')), ...(await entered('access.refuse'))];
    const claimed = { claimed: `key:${id}`, address: '127.0.0.1' };
    const why = expect.stringContaining('needs the scope admin') as string;
    expect(all).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ actor: 'nobody', target: 'POST /session', detail: expect.objectContaining(claimed) }),
        expect.objectContaining({ actor: 'nobody', target: 'GET /v1/teams', detail: expect.objectContaining(claimed) }),
        expect.objectContaining({
          actor: `key:${id} (test)`,
          target: 'GET /v1/keys',
          detail: { address: '127.0.0.1', why },
        }),
        expect.objectContaining({ actor: `key:${id} (test)`, target: 'GET /v1/teams/:id' }),
      ]),
    );
    expect(JSON.stringify(all)).not.toContain(wrong.split('_').slice(2).join('_'));
  });

  it('is bounded: whoever knocks at many doors fills nothing', async () => {
    let now = 0;
    const kept: string[] = [];
    const audit = async (_: unknown, ...entry: string[]): Promise<void> => void kept.push(entry[2] ?? '');
    const refusals = new Refusals({ db: api.stores.db, audit: { audit } } as never, () => now);
    const knock = (most: number): void => {
      for (let n = 0; n < most; n++) {
        const request = { ip: `10.0.0.${n}`, method: 'GET', routeOptions: {}, is404: true } as never;
        refusals.note(request, 'access.refuse', { who: null, why: 'no key' });
      }
    };
    knock(1000);
    expect(kept).toHaveLength(30);
    now = 60_000;
    knock(40);
    // Those of before are in it already; ten minutes later they are new again.
    expect(kept).toHaveLength(40);
    now = 12 * 60_000;
    knock(5);
    expect(kept).toHaveLength(45);
  });
});

describe('sessions of an identity provider', async () => {
  const api = await testApi();
  const provider = await oidcProvider();
  let now = NOW;
  const opened: (() => Promise<void>)[] = [];
  beforeEach(async () => {
    now = NOW;
    Object.assign(provider, { gives: true, says: null, asked: 0, info: {}, fault: null });
    provider.claims = { sub: 'u-7', name: 'Ada', groups: ['sre'], sid: 's-1' };
    await Promise.all(opened.splice(0).map((close) => close()));
    await api.stores.db.query(`delete from session`);
  });

  /** The same stores behind a process with these settings. */
  async function served(over: Partial<OidcSettings> = {}): Promise<string> {
    const oidc: OidcSettings = {
      issuer: provider.issuer,
      clientId: provider.clientId,
      clientSecret: provider.clientSecret,
      scopes: 'openid offline_access',
      rolesClaim: 'groups',
      roles: { operator: ['sre'], viewer: ['staff'] },
      teamsClaim: null,
      ...over,
    };
    const settings: SignInSettings = { publicUrl: null, oidc };
    const { stores } = api;
    stores.sessions.forget();
    const app = await createWebApp(
      WebModule.register({ stores, importer: null as never, clock: { now: () => now }, signIn: settings }),
      { logger: false },
    );
    opened.push(() => app.close());
    return listen(app, { host: '127.0.0.1', port: 0 });
  }

  async function signIn(url: string): Promise<string> {
    const start = await fetch(`${url}/session/oidc`, { redirect: 'manual' });
    const asked = await fetch(start.headers.get('location') ?? '', { redirect: 'manual' });
    const end = await fetch(asked.headers.get('location') ?? '', {
      redirect: 'manual',
      headers: { cookie: cookieOf(start.headers) },
    });
    expect(end.headers.get('location')).toBe('/');
    return cookieOf(end.headers);
  }

  /** The role of now; null: nobody is signed in. */
  async function roleOf(url: string, cookie: string): Promise<string | null> {
    const answer = await fetch(`${url}/session`, { headers: { cookie } });
    const { signedIn } = (await answer.json()) as { signedIn: { role: string } | null };
    return signedIn?.role ?? null;
  }

  const logOut = async (url: string, token: string | null): Promise<{ status: number; text: string }> => {
    const body = new URLSearchParams(token === null ? {} : { logout_token: token });
    const answer = await fetch(`${url}/session/oidc/logout`, { method: 'POST', body });
    expect(answer.headers.get('cache-control')).toBe('no-store');
    return { status: answer.status, text: await answer.text() };
  };

  it('keep no token that the database alone could use', async () => {
    const url = await served();
    await signIn(url);
    const [row] = await api.stores.db.query<{ refresh: Buffer; provider_session: string }>(`select * from session`);
    expect(row).toMatchObject({ provider_session: 's-1', refresh: expect.any(Buffer) });
    expect(row?.refresh.toString('latin1')).not.toMatch(/[0-9a-f]{32}/);
  });

  it('are asked again after a while: another role holds from then on, none ends the session', async () => {
    const url = await served();
    const cookie = await signIn(url);
    provider.info = { groups: ['staff'] };
    now += 59 * MINUTE;
    expect([await roleOf(url, cookie), provider.asked]).toEqual(['operator', 0]);
    now += 2 * MINUTE;
    // Of requests at once one asks: a refresh token holds once.
    const roles = await Promise.all([1, 2, 3].map(() => roleOf(url, cookie)));
    expect(roles).toContain('viewer');
    expect(roles).not.toContain(null);
    expect([await roleOf(url, cookie), provider.asked]).toEqual(['viewer', 1]);
    now += 61 * MINUTE;
    provider.info = { groups: ['sre'] };
    expect([await roleOf(url, cookie), provider.asked]).toEqual(['operator', 2]);
    now += 61 * MINUTE;
    provider.info = { groups: ['sales'] };
    expect([await roleOf(url, cookie), await roleOf(url, cookie), provider.asked]).toEqual([null, null, 3]);
    const [last] = (await api.call<{ items: object[] }>('GET', '/v1/audit?verb=session.end')).body.items;
    expect(last).toMatchObject({ actor: 'identity provider', detail: { whose: 'user:u-7 (Ada)', why: 'no-role' } });
    provider.claims = { sub: 'u-9', groups: ['sales'] };
    await expect(signIn(url)).rejects.toThrow('no-role');
    const refused = async (): Promise<object[]> =>
      (await api.call<{ items: object[] }>('GET', '/v1/audit?verb=session.refuse')).body.items;
    await expect.poll(refused).toMatchObject([{ actor: 'user:u-9', detail: { why: 'no-role' } }]);
  });

  it('end where the provider refuses, or gave nothing to be asked with; without an answer they last as long again', async () => {
    const url = await served();
    const refused = await signIn(url);
    now += 61 * MINUTE;
    provider.says = 'no';
    expect(await roleOf(url, refused)).toBeNull();
    provider.says = null;
    provider.gives = false;
    const without = await signIn(url);
    now += 61 * MINUTE;
    expect(await roleOf(url, without)).toBeNull();
    provider.gives = true;
    const waits = await signIn(url);
    provider.says = 'nothing';
    now += 61 * MINUTE;
    expect(await roleOf(url, waits)).toBe('operator');
    now += MINUTE;
    expect(await roleOf(url, waits)).toBe('operator');
    now += 59 * MINUTE;
    expect(await roleOf(url, waits)).toBeNull();
  });

  it('have what another mapping makes of them at once, or nothing', async () => {
    const url = await served();
    const cookie = await signIn(url);
    expect(await roleOf(url, cookie)).toBe('operator');
    expect(await roleOf(await served({ roles: { viewer: ['sre'] } }), cookie)).toBe('viewer');
    expect(await roleOf(await served({ roles: { viewer: ['staff'] } }), cookie)).toBeNull();
    expect(await roleOf(await served({ teamsClaim: 'teams' }), cookie)).toBeNull();
  });

  it('are ended by a logout token: that session, or all of somebody, and nobody else', async () => {
    const url = await served();
    const first = await signIn(url);
    provider.claims = { ...provider.claims, sid: 's-2' };
    const second = await signIn(url);
    provider.claims = { ...provider.claims, sub: 'u-8', sid: 's-3' };
    const other = await signIn(url);
    const roles = async (): Promise<unknown[]> => Promise.all([first, second, other].map((one) => roleOf(url, one)));
    expect(await roles()).toEqual(['operator', 'operator', 'operator']);
    // A session of another subject is not the one that is meant.
    const odd = await provider.logoutToken({ sid: 's-1', sub: 'u-8' });
    expect(await logOut(url, odd)).toMatchObject({ status: 200, text: '{"ended":0}' });
    const one = await provider.logoutToken({ sid: 's-1', sub: 'u-7' });
    expect(await logOut(url, one)).toMatchObject({ status: 200, text: '{"ended":1}' });
    expect(await roles()).toEqual([null, 'operator', 'operator']);
    expect(await logOut(url, one)).toMatchObject({ status: 400, text: expect.stringContaining('used before') });
    expect((await logOut(url, await provider.logoutToken({ sub: 'u-7' }, { typ: 'JWT' }))).status).toBe(200);
    expect(await roles()).toEqual([null, null, 'operator']);
  });

  it('are ended later where the keys that a logout token is checked by cannot be had', async () => {
    for (const keys of ['failing', 'cut'] as const) {
      const url = await served();
      const cookie = await signIn(url);
      const token = await provider.logoutToken({ sub: 'u-7' });
      provider.keys = keys;
      expect([keys, (await logOut(url, token)).status]).toEqual([keys, 503]);
      provider.keys = 'there';
      expect([keys, await roleOf(url, cookie)]).toEqual([keys, 'operator']);
    }
  });

  it('are not ended by what is no logout token of the provider for us, now', async () => {
    const url = await served();
    const cookie = await signIn(url);
    const seconds = Math.floor(Date.now() / 1000);
    const wrong: [string, Record<string, unknown>, { typ?: string; isForeign?: boolean }?][] = [
      ['signature', {}, { isForeign: true }],
      ['of another type', {}, { typ: 'at+jwt' }],
      ['aud', { aud: 'somebody else' }],
      ['iss', { iss: 'https://elsewhere.example' }],
      ['nonce', { nonce: 'n' }],
      ['events', { events: undefined }],
      ['events', { events: { 'http://schemas.openid.net/event/other': {} } }],
      ['events', { events: { 'http://schemas.openid.net/event/backchannel-logout': 'yes' } }],
      ['neither', { sub: undefined, sid: undefined }],
      ['jti', { jti: undefined }],
      ['exp', { exp: undefined }],
      ['exp', { exp: seconds - 120 }],
      ['iat', { iat: undefined }],
      ['iat', { iat: seconds - 3600 }],
      ['iat', { iat: seconds + 3600 }],
    ];
    for (const [what, over, how] of wrong) {
      const token = await provider.logoutToken({ sub: 'u-7', ...over }, how);
      expect([what, await logOut(url, token)]).toEqual([
        what,
        { status: 400, text: expect.stringContaining(what) as string },
      ]);
    }
    const [, payload] = (await provider.logoutToken({ sub: 'u-7' })).split('.');
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    for (const token of [null, 'x', none]) expect((await logOut(url, token)).status).toBe(400);
    expect(await roleOf(url, cookie)).toBe('operator');
    expect((await api.call('POST', '/session/oidc/logout', { key: null, body: 'logout_token=x' })).status).toBe(404);
  });
});
