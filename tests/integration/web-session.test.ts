/**
 * Sessions of the dashboard over HTTP: what a cookie allows, what ends it, and signing in at a provider that signs real
 * tokens.
 */
import { describe, expect, it } from 'vitest';
import { ROLE_SCOPES } from '../../src/core/scopes.js';
import { createWebApp, listen } from '../../src/web/server.js';
import type { OidcSettings, SignInSettings } from '../../src/web/sign-in.js';
import { WebModule } from '../../src/web/web.module.js';
import { oidcProvider } from '../support/oidc-provider.js';
import { NOW, testApi, type TestApi } from '../support/web.js';

const HEADER = { 'x-bursar-session': 'test' };
const json = { 'content-type': 'application/json' };

/** The name and value of a cookie that an answer sets. */
const cookieOf = (headers: Headers): string => headers.getSetCookie().at(-1)?.split(';', 1)[0] ?? '';

/** Signs in with a key; the cookie that comes back. */
async function signIn(api: TestApi, key: string): Promise<string> {
  const { status, headers } = await api.call('POST', '/session', { key: null, headers: HEADER, body: { key } });
  expect(status).toBe(200);
  return cookieOf(headers);
}

describe('a session by a key', async () => {
  const api = await testApi();
  const as = (cookie: string, headers: Record<string, string> = {}) => ({ key: null, headers: { cookie, ...headers } });

  it('is a cookie that no script and no other site can use, and its text is nowhere in the database', async () => {
    const { headers, body } = await api.call('POST', '/session', {
      key: null,
      headers: HEADER,
      body: { key: api.admin },
    });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^bursar-session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/),
    ]);
    expect(body).toMatchObject({
      signedIn: { kind: 'key', name: 'first admin', role: 'admin', teams: null },
      oidc: false,
    });
    const text = cookieOf(headers).split('=')[1] ?? '';
    const rows = await api.stores.db.query<{ all: string }>(
      `select encode(hash, 'hex') || session::text as all from session`,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.all).not.toContain(text);
    expect((await api.call<{ items: { verb: string }[] }>('GET', '/v1/audit')).body.items[0]).toMatchObject({
      verb: 'session.start',
    });
  });

  it('is Secure and bound to the host over https, and then not taken without the prefix', async () => {
    const secure = { ...HEADER, 'x-forwarded-proto': 'https' };
    const { headers } = await api.call('POST', '/session', { key: null, headers: secure, body: { key: api.admin } });
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(
        /^__Host-bursar-session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
      ),
    ]);
    const cookie = cookieOf(headers);
    expect((await api.call('GET', '/v1/teams', as(cookie, { 'x-forwarded-proto': 'https' }))).status).toBe(200);
    expect(
      (await api.call('GET', '/v1/teams', as(cookie.replace('__Host-', ''), { 'x-forwarded-proto': 'https' }))).status,
    ).toBe(401);
  });

  it('is not given for what is no key, nor to a page of another site', async () => {
    expect(
      (await api.call('POST', '/session', { key: null, headers: HEADER, body: { key: 'bursar_000000000000_x' } }))
        .status,
    ).toBe(401);
    expect((await api.call('POST', '/session', { key: null, body: { key: api.admin } })).status).toBe(403);
    expect(
      (
        await api.call('POST', '/session', {
          key: null,
          headers: { ...HEADER, 'sec-fetch-site': 'cross-site' },
          body: { key: api.admin },
        })
      ).status,
    ).toBe(403);
  });

  it('reads with the cookie alone, and changes only with the header from the same site', async () => {
    const cookie = await signIn(api, api.admin);
    expect((await api.call('GET', '/v1/teams', as(cookie))).status).toBe(200);
    const put = (headers: Record<string, string>) =>
      api.call('PUT', '/v1/teams/a', { key: null, headers: { cookie, ...json, ...headers }, body: {} });
    expect((await put({})).status).toBe(403);
    expect((await put({ ...HEADER, 'sec-fetch-site': 'same-site' })).status).toBe(403);
    expect((await put({ ...HEADER, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
    // A key needs no such header.
    expect((await api.call('PUT', '/v1/teams/a', { body: {} })).status).toBe(200);
  });

  it('may do what its key may, and no more', async () => {
    await api.call('PUT', '/v1/teams/red', { body: {} });
    await api.call('PUT', '/v1/teams/below', { body: { parent: 'red' } });
    const cookie = await signIn(api, await api.keyFor({ role: 'viewer', teams: ['red'] }));
    expect((await api.call('GET', '/session', as(cookie))).body).toMatchObject({
      signedIn: { role: 'viewer', teams: ['below', 'red'] },
    });
    expect(
      (await api.call<{ items: { id: string }[] }>('GET', '/v1/teams', as(cookie))).body.items.map(({ id }) => id),
    ).toEqual(['below', 'red']);
    expect((await api.call('GET', '/v1/teams/a', as(cookie))).status).toBe(403);
    expect((await api.call('GET', '/v1/imports', as(cookie))).status).toBe(403);
    expect(
      (await api.call('PUT', '/v1/teams/below', { key: null, headers: { cookie, ...json, ...HEADER }, body: {} }))
        .status,
    ).toBe(403);
  });

  it('ends with signing out, with its key, and with time; a key that is sent counts before it', async () => {
    const out = await signIn(api, api.admin);
    const { headers } = await api.call('DELETE', '/session', as(out, HEADER));
    expect(headers.getSetCookie()).toEqual(['bursar-session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict']);
    expect((await api.call('GET', '/v1/teams', as(out))).status).toBe(401);

    const key = await api.keyFor({ role: 'operator' });
    const ended = await signIn(api, key);
    expect((await api.call('GET', '/v1/teams', as(ended))).status).toBe(200);
    await api.call('DELETE', `/v1/keys/${key.split('_')[1]}`);
    expect((await api.call('GET', '/v1/teams', as(ended))).status).toBe(401);
    expect((await api.call('GET', '/session', as(ended))).body).toEqual({ signedIn: null, oidc: false });

    const { text, expiresAt } = await api.stores.sessions.start(
      api.stores.db,
      'default',
      { user: { id: 'u', name: 'Ada', role: 'viewer', teams: null } },
      NOW,
    );
    expect(expiresAt).toBe(NOW + 12 * 3_600_000);
    expect(await api.stores.sessions.authenticate(text, expiresAt)).toBeNull();
    await api.stores.db.query(`update session set last_seen_at = $1 where user_id = 'u'`, [
      new Date(expiresAt - 60_000),
    ]);
    expect(await api.stores.sessions.authenticate(text, expiresAt - 1)).toMatchObject({
      principal: { id: 'u', isUser: true },
    });

    const live = await signIn(api, api.admin);
    expect(
      (await api.call('GET', '/v1/teams', { key: 'bursar_000000000000_x', headers: { cookie: live } })).status,
    ).toBe(401);
  });
});

describe('a session by an identity provider', async () => {
  const api = await testApi();
  const provider = await oidcProvider();

  /** The same stores behind an API that knows the provider. */
  async function served(over: Partial<OidcSettings> = {}): Promise<{ readonly url: string; close(): Promise<void> }> {
    const oidc: OidcSettings = {
      issuer: provider.issuer,
      clientId: provider.clientId,
      clientSecret: provider.clientSecret,
      scopes: 'openid',
      rolesClaim: 'groups',
      roles: { operator: ['sre'], viewer: ['staff'] },
      teamsClaim: 'teams',
      ...over,
    };
    const signInSettings: SignInSettings = { publicUrl: null, oidc };
    const { stores } = api;
    const app = await createWebApp(
      WebModule.register({ stores, importer: null as never, clock: { now: () => NOW }, signIn: signInSettings }),
      { logger: false },
    );
    return { url: await listen(app, { host: '127.0.0.1', port: 0 }), close: () => app.close() };
  }

  interface Journey {
    readonly location: string;
    readonly cookies: readonly string[];
  }

  /** What a browser does from the button to the last redirect. `meddle` changes the address on the way back. */
  async function journey(url: string, meddle: (back: URL) => void = () => undefined, keep = true): Promise<Journey> {
    const start = await fetch(`${url}/session/oidc`, { redirect: 'manual' });
    expect(start.status).toBe(303);
    expect(start.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^bursar-sign-in=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/),
    ]);
    const there = new URL(start.headers.get('location') ?? '');
    expect(there.searchParams.get('code_challenge_method')).toBe('S256');
    const asked = await fetch(there, { redirect: 'manual' });
    const back = new URL(asked.headers.get('location') ?? '');
    meddle(back);
    const end = await fetch(back, { redirect: 'manual', headers: keep ? { cookie: cookieOf(start.headers) } : {} });
    return { location: end.headers.get('location') ?? '', cookies: end.headers.getSetCookie() };
  }

  it('is opened by code, PKCE, state and nonce, with the role and teams of the claims', async () => {
    const { url, close } = await served();
    await api.call('PUT', '/v1/teams/lab', { body: {} });
    provider.claims = { sub: 'u-7', name: 'Ada L.', groups: ['sre'], teams: ['lab'] };
    const { location, cookies } = await journey(url);
    expect(location).toBe('/');
    expect(cookies).toEqual([
      expect.stringMatching(/^bursar-sign-in=; .*Max-Age=0/),
      expect.stringMatching(/^bursar-session=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/),
    ]);
    const cookie = cookies.at(-1)?.split(';', 1)[0] ?? '';
    const whoami = (await (await fetch(`${url}/session`, { headers: { cookie } })).json()) as unknown;
    expect(whoami).toEqual({
      signedIn: {
        kind: 'user',
        id: 'u-7',
        name: 'Ada L.',
        role: 'operator',
        scopes: ROLE_SCOPES.operator,
        teams: ['lab'],
      },
      oidc: true,
    });
    const done = await fetch(`${url}/v1/budgets/b`, {
      method: 'PUT',
      headers: { cookie, ...json, ...HEADER },
      body: JSON.stringify({ team: 'lab', planned: { default: '5' } }),
    });
    expect(done.status).toBe(200);
    const { body } = await api.call<{ items: { actor: string; verb: string }[] }>('GET', '/v1/audit');
    expect(body.items.slice(0, 2)).toMatchObject([
      { actor: 'user:u-7 (Ada L.)', verb: 'budget.save' },
      { actor: 'user:u-7 (Ada L.)', verb: 'session.start' },
    ]);
    await close();
  });

  it('asks the userinfo endpoint for claims that the token lacks', async () => {
    const { url, close } = await served({ teamsClaim: null });
    provider.claims = { sub: 'u-8' };
    provider.info = { groups: ['staff'] };
    expect((await journey(url)).location).toBe('/');
    provider.info = {};
    await close();
  });

  it('is refused to who has no role or no team, and says which', async () => {
    const { url, close } = await served();
    provider.claims = { sub: 'u-9', groups: ['sales'], teams: ['lab'] };
    expect(await journey(url)).toMatchObject({
      location: '/#/sign-in/no-role',
      cookies: [expect.stringContaining('Max-Age=0')],
    });
    provider.claims = { sub: 'u-9', groups: ['staff'] };
    expect((await journey(url)).location).toBe('/#/sign-in/no-teams');
    await close();
  });

  it('is refused for another state, nonce, audience, signature or code, and without what the browser kept', async () => {
    const { url, close } = await served();
    provider.claims = { sub: 'u-7', groups: ['sre'], teams: ['lab'] };
    expect((await journey(url, (back) => back.searchParams.set('state', 'x'.repeat(43)))).location).toBe(
      '/#/sign-in/failed',
    );
    expect((await journey(url, (back) => back.searchParams.set('code', 'guessed'))).location).toBe('/#/sign-in/failed');
    for (const fault of ['nonce', 'audience', 'signature'] as const) {
      provider.fault = fault;
      expect((await journey(url)).location, fault).toBe('/#/sign-in/failed');
    }
    provider.fault = null;
    expect((await journey(url, undefined, false)).location).toBe('/#/sign-in/over');
    await close();
  });

  it('is not offered where no provider is set', async () => {
    expect((await api.call('GET', '/session/oidc', { key: null })).status).toBe(404);
  });
});
