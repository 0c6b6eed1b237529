/**
 * SCIM over HTTP, by the requests that Okta and Microsoft Entra ID document: people and groups come, change and go; who
 * is gone has no session and no key; and what a sign-in at the provider makes of it.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { createWebApp, listen } from '../../src/web/server.js';
import type { OidcSettings } from '../../src/web/sign-in.js';
import { WebModule } from '../../src/web/web.module.js';
import { oidcProvider } from '../support/oidc-provider.js';
import { NOW, testApi, type Reply } from '../support/web.js';

const CORE = 'urn:ietf:params:scim:schemas:core:2.0';
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';
const MEDIA = { 'content-type': 'application/scim+json' };
const cookieOf = (headers: Headers): string => headers.getSetCookie().at(-1)?.split(';', 1)[0] ?? '';

interface Resource {
  readonly id: string;
  readonly [name: string]: unknown;
}

describe('SCIM', async () => {
  const api = await testApi();
  const provider = await oidcProvider();
  let key = '';
  beforeEach(async () => {
    for (const table of ['session', 'scim_member', 'scim_group', 'scim_user'])
      await api.stores.db.query(`delete from ${table}`);
    api.stores.sessions.forget();
    key = await api.keyFor({ scopes: ['scim'] });
  });

  const ask = <T = Resource>(method: string, path: string, body?: unknown): Promise<Reply<T>> =>
    api.call<T>(method, `/scim/v2${path}`, {
      key,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: MEDIA }),
    });
  const patch = (path: string, ...Operations: object[]): Promise<Reply<Resource>> =>
    ask('PATCH', path, { schemas: [PATCH], Operations });
  const added = async (userName: string, over: object = {}): Promise<string> => {
    const { status, body } = await ask('POST', '/Users', {
      schemas: [`${CORE}:User`],
      userName,
      active: true,
      ...over,
    });
    expect(status).toBe(201);
    return body.id;
  };
  const grouped = async (displayName: string, ...members: string[]): Promise<string> =>
    (await ask('POST', '/Groups', { displayName, members: members.map((value) => ({ value })) })).body.id;

  it('takes a person through their time as Okta tells of it', async () => {
    const none = await ask('GET', '/Users?filter=userName%20eq%20%22test.user%40okta.local%22&startIndex=1&count=100');
    expect(none.body).toEqual({
      schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
      totalResults: 0,
      startIndex: 1,
      itemsPerPage: 0,
      Resources: [],
    });
    const made = await ask('POST', '/Users', {
      schemas: [`${CORE}:User`],
      userName: 'test.user@okta.local',
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: 'test.user@okta.local', type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: '00ujl29u0le5T6Aj10h7',
      groups: [],
      password: '1mz050nq',
      active: true,
    });
    expect(made.status).toBe(201);
    expect(made.headers.get('content-type')).toBe('application/scim+json; charset=utf-8');
    expect(made.body).toMatchObject({
      schemas: [`${CORE}:User`],
      id: expect.any(String),
      userName: 'test.user@okta.local',
      name: { givenName: 'Test', familyName: 'User' },
      locale: 'en-US',
      active: true,
      groups: [],
      meta: { resourceType: 'User', location: `${api.url}/scim/v2/Users/${made.body.id}` },
    });
    expect(
      (await api.stores.db.query<{ row: string }>(`select u::text as row from scim_user u`))[0]?.row,
    ).not.toContain('1mz050nq');
    const twice = await ask('POST', '/Users', { userName: 'TEST.user@okta.local' });
    expect(twice.body).toMatchObject({
      schemas: [expect.stringContaining('Error')],
      status: '409',
      scimType: 'uniqueness',
    });
    const put = { ...made.body, name: { givenName: 'Another', familyName: 'User' }, active: true };
    expect((await ask('PUT', `/Users/${made.body.id}`, put)).body).toMatchObject({ name: { givenName: 'Another' } });
    const closed = await patch(`/Users/${made.body.id}`, { op: 'replace', value: { active: false } });
    expect(closed).toMatchObject({ status: 200, body: { active: false, userName: 'test.user@okta.local' } });
    expect((await ask('DELETE', `/Users/${made.body.id}`)).status).toBe(204);
    expect(await ask('GET', `/Users/${made.body.id}`)).toMatchObject({ status: 404, body: { status: '404' } });
  });

  it('takes people and groups as Microsoft Entra ID tells of them', async () => {
    const id = await added('Test_User_ab6490ee@testuser.com', {
      schemas: [`${CORE}:User`, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
      externalId: '0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef',
      emails: [{ primary: true, type: 'work', value: 'Test_User_fd0ea19b@testuser.com' }],
      roles: [],
    });
    for (const filter of [
      'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
      'userName eq "test_user_AB6490ee@testuser.com"',
      'emails[type eq "work"].value eq "test_user_fd0ea19b@testuser.com"',
    ])
      expect((await ask('GET', `/Users?filter=${encodeURIComponent(filter)}`)).body).toMatchObject({
        totalResults: 1,
        Resources: [{ id }],
      });
    const changed = await patch(
      `/Users/${id}`,
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@microsoft.com' },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
    );
    expect(changed.body).toMatchObject({
      emails: [{ primary: true, type: 'work', value: 'updatedEmail@microsoft.com' }],
      name: { familyName: 'updatedFamilyName' },
    });
    const group = (
      await ask('POST', '/Groups', {
        schemas: [`${CORE}:Group`],
        externalId: '8aa1a0c0',
        displayName: 'displayName',
        meta: { resourceType: 'Group' },
      })
    ).body;
    const add = { op: 'Add', path: 'members', value: [{ $ref: null, value: id }] };
    expect((await patch(`/Groups/${group.id}`, add)).body).toMatchObject({ members: [{ value: id }] });
    expect((await ask('GET', `/Groups/${group.id}?excludedAttributes=members`)).body).not.toHaveProperty('members');
    expect(
      (await ask('GET', `/Groups?excludedAttributes=members&filter=displayName%20eq%20%22DISPLAYNAME%22`)).body,
    ).toMatchObject({ totalResults: 1 });
    expect((await ask('GET', `/Users/${id}`)).body).toMatchObject({
      groups: [{ value: group.id, display: 'displayName' }],
    });
    const renamed = await patch(`/Groups/${group.id}`, { op: 'Replace', path: 'displayName', value: '1879db59' });
    expect(renamed.body).toMatchObject({ displayName: '1879db59', members: [{ value: id }] });
    expect((await patch(`/Groups/${group.id}`, { ...add, op: 'Remove' })).body).toMatchObject({ members: [] });
    expect((await patch(`/Groups/${group.id}`, { ...add, value: [{ value: 'nobody' }] })).body).toMatchObject({
      status: '400',
      scimType: 'invalidValue',
    });
    expect((await patch(`/Users/${id}`, { op: 'Replace', path: 'active', value: 'False' })).body).toMatchObject({
      active: false,
    });
    expect((await ask('DELETE', `/Groups/${group.id}`)).status).toBe(204);
  });

  it('says what it can do, in pages, and errors in its own form', async () => {
    expect((await ask('GET', '/ServiceProviderConfig')).body).toMatchObject({
      patch: { supported: true },
      bulk: { supported: false },
    });
    expect((await ask('GET', '/ResourceTypes')).body).toMatchObject({ totalResults: 2 });
    expect((await ask('GET', '/ResourceTypes/Group')).body).toMatchObject({ endpoint: '/Groups' });
    expect((await ask('GET', `/Schemas/${CORE}:User`)).body).toMatchObject({ name: 'User' });
    expect((await ask('GET', '/Schemas/other')).status).toBe(404);
    for (const name of ['a', 'b', 'c']) await added(name);
    expect((await ask('GET', '/Users?startIndex=2&count=1')).body).toMatchObject({
      totalResults: 3,
      startIndex: 2,
      itemsPerPage: 1,
    });
    expect((await ask('GET', '/Users?count=0')).body).toMatchObject({ totalResults: 3, Resources: [] });
    const wrong = await ask('GET', '/Users?filter=userName%20sw%20%22a%22');
    expect(wrong.body).toMatchObject({
      status: '400',
      scimType: 'invalidFilter',
      detail: expect.stringContaining('eq'),
    });
    expect((await ask('POST', '/Users', { name: 'x' })).body).toMatchObject({
      status: '400',
      scimType: 'invalidValue',
    });
    expect((await patch('/Users/x', { op: 'replace', value: {} })).body).toMatchObject({ status: '404' });
    const other = await api.keyFor({ role: 'operator' });
    const refused = await api.call('GET', '/scim/v2/Users', { key: other });
    expect(refused).toMatchObject({
      status: 403,
      body: { schemas: [expect.stringContaining('Error')], status: '403' },
    });
    expect((await api.call('GET', '/v1/teams', { key })).status).toBe(403);
    expect((await api.call('POST', '/v1/keys', { body: { name: 'x', scopes: ['scim'], teams: ['a'] } })).status).toBe(
      400,
    );
    expect((await api.call('PUT', '/v1/roles/custom:idp', { body: { scopes: ['scim'] } })).status).toBe(400);
  });

  /** The same stores behind a process that knows the provider. */
  async function served(over: Partial<OidcSettings>, use: (url: string) => Promise<void>): Promise<void> {
    const oidc: OidcSettings = {
      issuer: provider.issuer,
      clientId: provider.clientId,
      clientSecret: provider.clientSecret,
      scopes: 'openid',
      rolesClaim: 'groups',
      roles: { admin: ['finops'], viewer: ['staff'] },
      teamsClaim: null,
      ...over,
    };
    const settings = { publicUrl: null, oidc };
    const app = await createWebApp(
      WebModule.register({ stores: api.stores, importer: null as never, clock: { now: () => NOW }, signIn: settings }),
      { logger: false },
    );
    try {
      await use(await listen(app, { host: '127.0.0.1', port: 0 }));
    } finally {
      await app.close();
    }
  }

  async function signIn(url: string): Promise<{ location: string; cookie: string }> {
    const start = await fetch(`${url}/session/oidc`, { redirect: 'manual' });
    const asked = await fetch(start.headers.get('location') ?? '', { redirect: 'manual' });
    const back = asked.headers.get('location') ?? '';
    const end = await fetch(back, { redirect: 'manual', headers: { cookie: cookieOf(start.headers) } });
    return { location: end.headers.get('location') ?? '', cookie: cookieOf(end.headers) };
  }
  const roleOf = async (url: string, cookie: string): Promise<string | null> => {
    const answer = await fetch(`${url}/session`, { headers: { cookie } });
    return ((await answer.json()) as { signedIn: { role: string } | null }).signedIn?.role ?? null;
  };

  it('ends the sessions of whoever is closed or gone, and revokes the keys that they answer for', async () => {
    provider.claims = { sub: 'u-7', oid: 'o-7', groups: ['finops'] };
    const ada = await added('ada@contoso.com', { externalId: 'o-7' });
    const other = await added('bob', { externalId: 'o-8' });
    await served({ directoryClaim: 'oid' }, async (url) => {
      const { cookie } = await signIn(url);
      expect(await roleOf(url, cookie)).toBe('admin');
      const made = await fetch(`${url}/v1/keys`, {
        method: 'POST',
        headers: { cookie, 'x-bursar-session': 'test', 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'mine', role: 'viewer' }),
      });
      const { text, owner } = (await made.json()) as { text: string; owner: string };
      expect(owner).toBe('user:u-7');
      const named = await api.keyFor({ role: 'viewer', owner: 'Ada@contoso.com' });
      const bobs = await api.keyFor({ role: 'viewer', owner: 'bob' });
      // Under another name she is who she was.
      await patch(`/Users/${ada}`, { op: 'replace', value: { userName: 'renamed', externalId: 'o-9' } });
      await patch(`/Users/${ada}`, { op: 'replace', value: { userName: 'ada@contoso.com' } });
      expect(await roleOf(url, cookie)).toBe('admin');
      await patch(`/Users/${ada}`, { op: 'Replace', path: 'active', value: 'False' });
      expect(await roleOf(url, cookie)).toBeNull();
      for (const gone of [text, named]) expect((await api.call('GET', '/v1/teams', { key: gone })).status).toBe(401);
      expect((await api.call('GET', '/v1/teams', { key: bobs })).status).toBe(200);
      await patch(`/Users/${ada}`, { op: 'replace', value: { externalId: 'o-7' } });
      expect((await signIn(url)).location).toBe('/#/sign-in/closed');
      await patch(`/Users/${ada}`, { op: 'replace', value: { active: true } });
      expect((await signIn(url)).location).toBe('/');
    });
    await ask('DELETE', `/Users/${other}`);
    const { body } = await api.call<{ items: { verb: string; detail: { ended?: object } }[] }>(
      'GET',
      '/v1/audit?target=' + other,
    );
    expect(body.items[0]).toMatchObject({
      verb: 'scim.user.remove',
      detail: { ended: { keys: [expect.any(String)] } },
    });
  });

  it('keeps the last key that may make keys, and says so', async () => {
    const [, id] = api.admin.split('_');
    await api.stores.db.query(`update api_key set owner = 'root@contoso.com' where id = $1`, [id]);
    await api.stores.db.query(`update api_key set revoked_at = now() where role = 'admin' and id <> $1`, [id]);
    const root = await added('root@contoso.com');
    await patch(`/Users/${root}`, { op: 'replace', value: { active: false } });
    const { body } = await api.call<{ items: object[] }>('GET', '/v1/audit?verb=scim.user.change');
    expect(body.items[0]).toMatchObject({ detail: { ended: { keys: [], kept: [id] } } });
  });

  it('decides who may sign in, and by its groups as what, at once', async () => {
    provider.claims = { sub: 'u-7', groups: ['finops'] };
    await served({ directory: 'users' }, async (url) => expect((await signIn(url)).location).toBe('/#/sign-in/closed'));
    const ada = await added('u-7');
    await served({ directory: 'users' }, async (url) => {
      const { cookie } = await signIn(url);
      expect(await roleOf(url, cookie)).toBe('admin');
      await ask('DELETE', `/Users/${ada}`);
      expect(await roleOf(url, cookie)).toBeNull();
    });
    const again = await added('u-7');
    await served({ directory: 'groups' }, async (url) => {
      expect((await signIn(url)).location).toBe('/#/sign-in/no-role');
      const staff = await grouped('staff', again);
      const { cookie } = await signIn(url);
      expect(await roleOf(url, cookie)).toBe('viewer');
      await grouped('finops', again);
      expect(await roleOf(url, cookie)).toBe('admin');
      const finops = (await ask<{ Resources: Resource[] }>('GET', '/Groups?filter=displayName%20eq%20%22finops%22'))
        .body.Resources[0];
      await patch(`/Groups/${finops?.id}`, { op: 'remove', path: 'members' });
      expect(await roleOf(url, cookie)).toBe('viewer');
      await ask('DELETE', `/Groups/${staff}`);
      expect(await roleOf(url, cookie)).toBeNull();
    });
  });
});
