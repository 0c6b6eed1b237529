/**
 * Who somebody of the directory is, whatever the directory calls them now: closing an account finds its keys, and four
 * eyes find the person, by every name that the account ever had. Over HTTP, as an identity provider sends it.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { deprovision } from '../../src/application/access/provision.js';
import { testApi, type Reply } from '../support/web.js';

interface Resource {
  readonly id: string;
  readonly [name: string]: unknown;
}

describe('names of the directory', async () => {
  const api = await testApi();
  let key = '';
  beforeEach(async () => {
    for (const table of ['session', 'scim_member', 'scim_group', 'scim_user', 'directory_name'])
      await api.stores.db.query(`delete from ${table}`);
    key = await api.keyFor({ scopes: ['scim'] });
  });

  const ask = <T = Resource>(method: string, path: string, body?: unknown): Promise<Reply<T>> =>
    api.call<T>(method, `/scim/v2${path}`, {
      key,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/scim+json' } }),
    });
  const patch = (id: string, value: object): Promise<Reply<Resource>> =>
    ask('PATCH', `/Users/${id}`, { Operations: [{ op: 'replace', value }] });
  const added = async (userName: string, over: object = {}): Promise<string> => {
    const { status, body } = await ask('POST', '/Users', { userName, active: true, ...over });
    expect(status).toBe(201);
    return body.id;
  };
  const keyOf = (owner: string): Promise<string> => api.keyFor({ role: 'operator', owner });
  // Asked of the store: an address that sends many keys that do not hold has to wait.
  const holds = async (text: string): Promise<boolean> => {
    const keys = await api.stores.keys.list('default', null, 1000);
    const found = keys.find(({ id }) => id === text.split('_')[1]);
    expect(found).toBeDefined();
    return found?.revokedAt === null;
  };
  const filtered = (filter: string): Promise<Reply<Resource>> =>
    ask('GET', `/Users?filter=${encodeURIComponent(filter)}`);
  /** By what a key's text names. */
  const principal = (text: string): string => `key:${text.split('_')[1]}`;
  const people = (...texts: string[]): Promise<string[][]> =>
    api.stores.db.transaction((tx) => api.stores.keys.peopleOf(tx, 'default', texts.map(principal)));
  const isOne = async (a: string, b: string): Promise<boolean> => {
    const [one = [], other = []] = await people(a, b);
    return one.some((name) => other.includes(name));
  };

  it.each([
    ['an account that is renamed and closed at once', [{ userName: 'deleted-1-ada@x.com', active: false, emails: [] }]],
    [
      'one that was renamed long before',
      [{ userName: 'ada.l@x.com', externalId: 'e2', emails: [{ value: 'ada.l@mail.x' }] }, { active: false }],
    ],
  ])('find the keys of %s', async (_, changes) => {
    const id = await added('ada@x.com', { externalId: 'e1', emails: [{ value: 'ada@mail.x' }] });
    const owners = ['ada@x.com', 'user:ada%40x.com', 'USER:Ada@x.com', 'e1', 'ada@mail.x', 'user:ada%40mail.x (Ada)'];
    const keys = await Promise.all(owners.map(keyOf));
    const others = await keyOf('bob@x.com');
    for (const change of changes) expect((await patch(id, change)).status).toBe(200);
    for (const [at, one] of keys.entries()) expect(await holds(one), owners[at]).toBe(false);
    expect(await holds(others)).toBe(true);
  });

  it('find the keys of an account that is removed, by its earlier names, which go with it', async () => {
    const id = await added('ada@x.com');
    const own = await keyOf('ada@x.com');
    await patch(id, { userName: 'ada.l@x.com' });
    expect(await holds(own)).toBe(true);
    expect((await ask('DELETE', `/Users/${id}`)).status).toBe(204);
    expect(await holds(own)).toBe(false);
    expect(await api.stores.db.query(`select 1 from directory_name`)).toEqual([]);
  });

  it.each([
    ['İbrahim@x.com', 'İbrahim@x.com'],
    ['İbrahim@x.com', 'i̇BRAHIM@X.com'],
    ['ｂｏｂ@x.com', 'bob@x.com'],
    ['bob@x.com', ' bob@x.com '],
    ['ΝΙΚΟΣ', 'νικοσ'],
    ['zoe\u0308@x.com', 'Zoë@x.com'],
  ])('are compared in one language: %s and %s', async (userName, owner) => {
    const id = await added(userName);
    const [own, other] = [await keyOf(owner), await keyOf(userName)];
    expect(await isOne(own, other)).toBe(true);
    await patch(id, { active: false });
    expect([await holds(own), await holds(other)]).toEqual([false, false]);
  });

  it('leave alone what was made since another account has the name', async () => {
    const ada = await added('sam@x.com');
    const adas = await keyOf('sam@x.com');
    await patch(ada, { userName: 'sam.old@x.com' });
    await added('sam@x.com');
    const hers = await keyOf('sam@x.com');
    await patch(ada, { active: false });
    expect([await holds(adas), await holds(hers)]).toEqual([false, true]);
  });

  it('make one person of an account that was renamed, for four eyes', async () => {
    const id = await added('ada@x.com', { emails: [{ value: 'ada@mail.x' }] });
    const [first, second, other] = [await keyOf('ada@x.com'), await keyOf('ada@mail.x'), await keyOf('bob@x.com')];
    expect(await isOne(first, second)).toBe(true);
    await patch(id, { userName: 'ada.l@x.com' });
    expect(await isOne(first, second)).toBe(true);
    await patch(id, { emails: [{ value: 'ada.l@mail.x' }] });
    expect(await isOne(first, await keyOf('user:ada.l%40mail.x'))).toBe(true);
    expect(await isOne(first, other)).toBe(false);
  });

  it('are filed too where the version before has written them', async () => {
    await api.stores.db.query(
      `insert into scim_user (organisation, id, user_name, active, subjects, attributes, created_at, updated_at)
       values ('default', 'old', 'old@x.com', true, '{s-1}', '{"Emails": [{"Value": "old@mail.x"}]}', now(), now())`,
    );
    const [first, second] = [await keyOf('old@x.com'), await keyOf('old@mail.x')];
    expect(await isOne(first, second)).toBe(true);
    await api.stores.db.query(`update scim_user set user_name = 'new@x.com', subjects = '{s-1,s-2}' where id = 'old'`);
    expect(await isOne(first, await keyOf('user:s-2'))).toBe(true);
    expect((await filtered('emails.value eq "OLD@mail.x"')).body).toMatchObject({ totalResults: 1 });
    await patch('old', { active: false });
    expect([await holds(first), await holds(second)]).toEqual([false, false]);
  });

  it('of attributes are read in any case', async () => {
    const id = await added('eve@x.com', { Emails: [{ Value: 'eve@mail.x' }], DISPLAYNAME: 'Eve' });
    expect((await ask('GET', `/Users/${id}`)).body).toMatchObject({
      emails: [{ value: 'eve@mail.x' }],
      displayName: 'Eve',
    });
    expect((await filtered('EMAILS.Value eq "eve@mail.x"')).body).toMatchObject({ totalResults: 1 });
    const [own, later] = [await keyOf('eve@mail.x'), await keyOf('eve2@mail.x')];
    await patch(id, { EMAILS: [{ VALUE: 'eve2@mail.x' }] });
    await patch(id, { ACTIVE: false });
    expect([await holds(own), await holds(later)]).toEqual([false, false]);
  });

  it.each<[unknown]>([
    [{ value: 'q' }],
    ['q'],
    [['q']],
    [[{ value: 7 }]],
    [Array.from({ length: 101 }, (_, n) => ({ value: `a${n}` }))],
  ])('of another shape than a list of addresses are refused: %j', async (emails) => {
    expect((await ask('POST', '/Users', { userName: 'x', emails })).body).toMatchObject({
      status: '400',
      scimType: 'invalidValue',
      detail: expect.stringContaining('emails'),
    });
    const id = await added('y');
    expect((await patch(id, { Emails: emails })).body).toMatchObject({ status: '400', scimType: 'invalidValue' });
  });

  it('of another shape that were kept before break no filter, and the account can be closed', async () => {
    await api.stores.db.query(
      `insert into scim_user (organisation, id, user_name, active, attributes, created_at, updated_at)
       values ('default', 'odd', 'odd@x.com', true, '{"emails": {"value": "q"}}', now(), now())`,
    );
    const id = await added('ada@x.com', { emails: [{ value: 'ada@mail.x' }] });
    expect((await filtered('emails.value eq "ada@mail.x"')).body).toMatchObject({
      totalResults: 1,
      Resources: [{ id }],
    });
    expect((await filtered('emails.value eq "q"')).status).toBe(200);
    const own = await keyOf('q');
    expect((await patch('odd', { active: false })).body).toMatchObject({ active: false });
    expect(await holds(own)).toBe(false);
  });

  it('that no column holds are refused, wherever an escape hides them', async () => {
    for (const text of ['\\u0000', '\\ud800'])
      for (const filter of [`userName eq "a${text}"`, `emails[type eq "work"].value eq "${text}"`])
        expect((await filtered(filter)).body, filter).toMatchObject({ status: '400', scimType: 'invalidFilter' });
    const id = await added('ada@x.com');
    const path = 'emails[type eq "a\\u0000"].value';
    expect((await ask('PATCH', `/Users/${id}`, { Operations: [{ op: 'add', path, value: 'x' }] })).body).toMatchObject({
      status: '400',
      scimType: 'invalidFilter',
    });
    expect((await api.call('GET', '/v1/sessions?of=user:a%2500')).status).toBe(400);
    for (const place of ['\u0000', '\ud800']) {
      const inner = JSON.stringify([place, '2026-10-01', '', '', '']);
      const cursor = Buffer.from(JSON.stringify(inner)).toString('base64url');
      expect((await api.call('GET', `/v1/admissions?cursor=${cursor}`)).status).toBe(400);
    }
    // The owner of a key may be written so: it is nobody's principal.
    const own = await keyOf('user:a%00');
    expect(await isOne(own, await keyOf('bob'))).toBe(false);
  });

  it('of a key are trimmed, and not empty', async () => {
    const made = await api.call('POST', '/v1/keys', { body: { name: 'k', role: 'viewer', owner: ' bob@x.com ' } });
    expect(made).toMatchObject({ status: 200, body: { owner: 'bob@x.com' } });
    const empty = await api.call('POST', '/v1/keys', { body: { name: 'k', role: 'viewer', owner: '  ' } });
    expect(empty).toMatchObject({ status: 400, body: { problems: [{ path: 'owner' }] } });
    // One that an earlier version took as it was.
    const old = await keyOf('bob@x.com');
    await api.stores.db.query(`update api_key set owner = 'bob@x.com ' where id = $1`, [old.split('_')[1]]);
    const id = await added('bob@x.com');
    await patch(id, { active: false });
    expect(await holds(old)).toBe(false);
  });

  it('end the sessions under a name that the account had', async () => {
    const id = await added('İda@x.com');
    const open = async (user: string, directoryName: string): Promise<string> => {
      const who = { id: user, name: user, role: 'viewer', teams: null, directoryName } as const;
      return (await api.stores.sessions.start(api.stores.db, 'default', { user: who }, Date.UTC(2026, 9, 7))).text;
    };
    await open('s-1', 'İda@x.com');
    await open('s-2', 'bob');
    await patch(id, { userName: 'other@x.com' });
    const ended = await api.stores.db.transaction((tx) => deprovision(api.stores, tx, 'default', id, Date.now()));
    expect(ended.sessions).toHaveLength(1);
    expect(await api.stores.db.query(`select user_id from session`)).toEqual([{ user_id: 's-2' }]);
  });
});
