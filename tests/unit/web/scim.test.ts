/**
 * The texts and operations of SCIM. The requests are of the kinds that the providers document: Microsoft ("Develop and
 * plan provisioning for a SCIM endpoint in Microsoft Entra ID") and Okta ("Okta and SCIM Version 2.0").
 */
import { assert, jsonValue, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { patched, type Operation, type Resource } from '../../../src/web/scim/patch.js';
import { parseFilter, parsePath } from '../../../src/web/scim/path.js';
import { chosen, filterOf, groupFields, userFields } from '../../../src/web/scim/resource.js';

const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const ADA = {
  userName: 'ada@contoso.com',
  displayName: 'Ada',
  active: true,
  name: { givenName: 'Ada', familyName: 'Byron' },
  emails: [
    { type: 'work', value: 'ada@contoso.com', primary: true },
    { type: 'home', value: 'ada@example.org' },
  ],
};

describe('a patch', () => {
  it.each<[string, Operation[], object]>([
    ['Okta closes an account', [{ op: 'replace', value: { active: false } }], { active: false }],
    ['Entra closes an account', [{ op: 'Replace', path: 'active', value: 'False' }], { active: 'False' }],
    [
      'Entra changes parts of several values',
      [
        { op: 'Replace', path: 'emails[type eq "work"].value', value: 'new@contoso.com' },
        { op: 'Replace', path: 'name.familyName', value: 'Lovelace' },
      ],
      {
        emails: [{ type: 'work', value: 'new@contoso.com', primary: true }, ADA.emails[1]],
        name: { givenName: 'Ada', familyName: 'Lovelace' },
      },
    ],
    [
      'Entra adds what was not there',
      [
        { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+44' },
        { op: 'Add', path: `${ENTERPRISE}:department`, value: 'Engines' },
        { op: 'Add', path: 'roles[primary eq "True"].display', value: 'r' },
      ],
      {
        phoneNumbers: [{ type: 'mobile', value: '+44' }],
        [ENTERPRISE]: { department: 'Engines' },
        roles: [{ primary: 'True', display: 'r' }],
      },
    ],
    [
      'Entra names attributes with dots and no path',
      [{ op: 'Replace', value: { displayName: 'A.', 'name.givenName': 'Augusta', [`${ENTERPRISE}:division`]: 'X' } }],
      { displayName: 'A.', name: { givenName: 'Augusta', familyName: 'Byron' }, [ENTERPRISE]: { division: 'X' } },
    ],
    [
      'the URN of the core schema before a name, and another case',
      [{ op: 'REPLACE', path: 'urn:ietf:params:scim:schemas:core:2.0:User:UserName', value: 'a' }],
      { userName: 'a' },
    ],
    ['an attribute is taken away', [{ op: 'remove', path: 'displayName' }], { displayName: undefined }],
    [
      'an entry of a list is taken away',
      [{ op: 'remove', path: 'emails[type eq "home"]' }],
      { emails: [ADA.emails[0]] },
    ],
  ])('does what is meant: %s', (_, operations, expected) => {
    const before = structuredClone(ADA);
    expect(patched(ADA, operations)).toEqual({ ...ADA, ...expected });
    expect(ADA).toEqual(before);
  });

  const GROUP = { displayName: 'sre', members: [{ value: 'a' }, { value: 'b' }] };
  it.each<[string, Operation, string[]]>([
    ['Entra adds', { op: 'Add', path: 'members', value: [{ $ref: null, value: 'c' }] }, ['a', 'b', 'c']],
    ['who is there already', { op: 'add', path: 'members', value: [{ value: 'a' }] }, ['a', 'b']],
    ['Entra removes', { op: 'Remove', path: 'members', value: [{ $ref: null, value: 'a' }] }, ['b']],
    ['Okta removes', { op: 'remove', path: 'members[value eq "b"]' }, ['a']],
    ['Okta replaces', { op: 'replace', path: 'members', value: [{ value: 'c', display: 'C' }] }, ['c']],
    ['nobody is left', { op: 'remove', path: 'members' }, []],
  ])('changes members: %s', (_, operation, expected) => {
    expect(groupFields(patched(GROUP, [operation])).members).toEqual(expected);
  });

  it('leaves a name that Okta sends with the id of the group', () => {
    const value = { id: 'g', displayName: 'platform' };
    expect(groupFields(patched(GROUP, [{ op: 'replace', value }])).displayName).toBe('platform');
  });

  it('is refused where it looks through too much', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, 1]));
    const members = Array.from({ length: 50_000 }, (_, n) => ({ value: String(n) }));
    const tooMany = expect.objectContaining({ scimType: 'tooMany', status: 400 });
    expect(() => patched(ADA, [{ op: 'add', value: many }])).toThrow(tooMany);
    const one = { op: 'add', path: 'members', value: [{ value: 'x' }] };
    expect(() =>
      patched(
        { members },
        Array.from({ length: 100 }, () => ({ ...one })),
      ),
    ).toThrow(tooMany);
    expect(patched({ members }, [{ op: 'add', path: 'members', value: members }])).toEqual({ members });
  });

  const names = (count: number, name: string): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, n]));
  const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one);
  const long = 'v'.repeat(64_000);
  it.each<[string, Resource, Operation[]]>([
    ['names of an entry', { x: [names(90_000, 'k')] }, times(40, { op: 'add', path: 'x[z eq "q"].s', value: 1 })],
    [
      'names of an entry that is taken away',
      { x: [names(90_000, 'k')] },
      times(40, { op: 'remove', path: 'x[z eq "q"]' }),
    ],
    ['names of what is inside', { x: names(90_000, 'k') }, times(40, { op: 'remove', path: 'x.z' })],
    [
      'values inside of entries that are added',
      { x: [{ value: names(90_000, 'k') }] },
      times(40, { op: 'add', path: 'x', value: 1 }),
    ],
    [
      'values inside of entries that are removed',
      { x: [[[names(90_000, 'k')]]] },
      times(40, { op: 'remove', path: 'x', value: [1] }),
    ],
    [
      'long texts that a filter is compared with',
      { x: times(500, { z: long }) },
      times(10, { op: 'remove', path: 'x[z eq "q"]' }),
    ],
    [
      'a long value in very many entries',
      { x: Array.from({ length: 4000 }, (_, n) => ({ z: 'q', n })) },
      [{ op: 'replace', path: 'x[z eq "q"].s', value: long }],
    ],
    [
      'a large value in very many entries',
      { x: Array.from({ length: 400 }, (_, n) => ({ z: 'q', n })) },
      [{ op: 'add', path: 'x[z eq "q"]', value: { all: names(6000, 'k') } }],
    ],
  ])('counts what an entry holds: %s', (_, resource, operations) => {
    const tooMany = expect.objectContaining({ scimType: 'tooMany', status: 400 });
    expect(() => patched(resource, operations)).toThrow(tooMany);
    expect(() => patched(resource, operations.length > 1 ? operations.slice(0, 2) : [])).not.toThrow();
  });

  it('takes many members in and out of a large group at once', () => {
    const members = Array.from({ length: 10_000 }, (_, n) => ({ value: String(n), display: `User ${n}` }));
    const operations = Array.from({ length: 40 }, (_, n) => [
      { op: 'remove', path: `members[value eq "${n}"]` },
      { op: 'add', path: 'members', value: [{ value: `new ${n}` }] },
    ]).flat();
    const { members: after } = groupFields(patched({ displayName: 'all', members }, operations));
    expect([after.length, after[0], after.at(-1)]).toEqual([10_000, '40', 'new 39']);
  });

  it.each<[Operation, string]>([
    [{ op: 'move', path: 'active', value: true }, 'invalidSyntax'],
    [{ op: 'remove' }, 'noTarget'],
    [{ op: 'replace', value: 'x' }, 'invalidValue'],
    [{ op: 'replace', path: 'active' }, 'invalidValue'],
    [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
    [{ op: 'add', path: 'groups', value: [] }, 'mutability'],
    [{ op: 'replace', path: 'emails[type gt "a"].value', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: 'constructor.prototype', value: 'x' }, 'invalidPath'],
    [{ op: 'replace', path: '__proto__.polluted', value: 'x' }, 'invalidPath'],
  ])('is refused whole: %j', (operation, scimType) => {
    const sound = { op: 'replace', path: 'displayName', value: 'changed' };
    expect(() => patched(ADA, [sound, operation])).toThrow(expect.objectContaining({ scimType, status: 400 }));
    expect(ADA.displayName).toBe('Ada');
  });

  it('never reaches beyond the resource, whatever its path', () => {
    assert(
      property(string({ maxLength: 40 }), jsonValue(), (path, value) => {
        try {
          patched(ADA, [{ op: 'add', path, value }]);
        } catch (error) {
          expect(error).toHaveProperty('scimType');
        }
        expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
        expect(Object.keys(Object.prototype)).toEqual([]);
      }),
    );
  });
});

describe('a filter', () => {
  it('is eq, joined by and', () => {
    expect(parseFilter('userName eq "a\\"b"')).toEqual([{ attribute: 'userName', value: 'a"b' }]);
    expect(filterOf('User', 'userName Eq "ada" and active eq true')).toEqual({ userName: 'ada', active: true });
    expect(filterOf('User', 'emails[type eq "work"].value eq "a@b"')).toEqual({ email: 'a@b' });
    expect(filterOf('Group', 'id eq "g" and members eq "u"')).toEqual({ id: 'g', member: 'u' });
    expect(filterOf('Group', undefined)).toEqual({});
  });

  it.each([
    'userName co "a"',
    'userName eq "a" or userName eq "b"',
    'userName eq a',
    'userName eq "a" and',
    'userName eq "a" and userName eq "b"',
    'password eq "x"',
    'active eq "true"',
    'userName eq true',
    '',
    'userName eq "\\x"',
  ])('is refused where it is another: %s', (text) => {
    expect(() => filterOf('User', text)).toThrow(expect.objectContaining({ scimType: 'invalidFilter' }));
  });
});

describe('a resource', () => {
  it('keeps what it has, but no password, and reads what Entra writes', () => {
    const { attributes, ...own } = userFields(
      { ...ADA, Active: 'False', active: undefined, password: 's', id: 'x' },
      true,
    );
    expect(own).toEqual({ userName: 'ada@contoso.com', externalId: null, active: true });
    expect(attributes).not.toHaveProperty('password');
    expect(attributes).not.toHaveProperty('id');
    expect(userFields({ userName: 'a', active: 'False' }, true).active).toBe(false);
    expect(userFields({ userName: 'a' }, false).active).toBe(false);
    expect(parsePath('name.familyName')).toMatchObject({ attribute: 'name', sub: 'familyName', filter: null });
  });

  it('hold so much of an account in all, and let one that holds more be closed', () => {
    const note = 'x'.repeat(70_000);
    expect(() => userFields({ userName: 'a', note }, true)).toThrow(expect.objectContaining({ status: 400 }));
    expect(() => userFields({ userName: 'a', note: `${note}x` }, true, { note })).toThrow();
    expect(userFields({ userName: 'a', note, active: false }, true, { note }).active).toBe(false);
  });

  it.each([
    {},
    { userName: '' },
    { userName: 7 },
    { userName: 'a', active: 'perhaps' },
    { userName: 'a', externalId: 7 },
  ])('is refused: %j', (resource) => {
    expect(() => userFields(resource, true)).toThrow(expect.objectContaining({ scimType: 'invalidValue' }));
  });

  it('is shown in part where that is asked', () => {
    const all = { schemas: [], id: 'i', userName: 'u', members: [1] };
    expect(chosen(all, 'username')).toEqual({ schemas: [], id: 'i', userName: 'u' });
    expect(chosen(all, undefined, 'members,id')).toEqual({ schemas: [], id: 'i', userName: 'u' });
  });
});
