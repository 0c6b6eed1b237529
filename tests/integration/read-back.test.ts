/**
 * PUT takes what GET of the same address answers, unchanged, the second GET answers the same, and the audit has no entry
 * of it: for every address that has both. On a real PostgreSQL.
 */
import { describe, expect, it } from 'vitest';
import { settingsOf } from '../../src/web/read-back.js';
import { endpoints } from '../../src/web/web.module.js';
import { testApi } from '../support/web.js';

/** By the address of an operation: what makes the thing, and where it is. */
const SHOWN: Readonly<Record<string, { readonly at: string; readonly first?: unknown }>> = {
  '/v1/teams/{id}': { at: '/v1/teams/red', first: { name: 'Red' } },
  '/v1/budgets/{id}': {
    at: '/v1/budgets/plan',
    first: { team: 'red', planned: { default: '5' }, thresholds: [{ kind: 'actual', ratio: '1' }] },
  },
  '/v1/policies/{name}': { at: '/v1/policies/nights', first: { policy: 'idle-stop', teams: ['red'], mode: 'observe' } },
  '/v1/alert-routes': { at: '/v1/alert-routes' },
  '/v1/rules': { at: '/v1/rules', first: { rules: [{ match: { tag: { key: 'team', value: 'r' } }, team: 'red' }] } },
  '/v1/limits': { at: '/v1/limits?team=red', first: { protectedLabels: { keep: '*' } } },
  '/v1/credits': {
    at: '/v1/credits',
    first: {
      credits: [
        { id: 'grant', kind: 'promotional', amount: '5', currency: 'USD', from: '2026-10-01', until: '2026-11-01' },
      ],
    },
  },
  '/v1/peak': { at: '/v1/peak' },
  '/v1/admission': { at: '/v1/admission' },
  '/v1/reports/schedule': { at: '/v1/reports/schedule' },
  '/v1/samples/retention': { at: '/v1/samples/retention' },
  '/v1/reconciliation/settings': { at: '/v1/reconciliation/settings' },
  '/v1/configuration': { at: '/v1/configuration' },
};
/** GET answers one page of a list there, and PUT adds to the list. */
const LISTS = new Set(['/v1/fx']);

describe('what GET answers', async () => {
  const api = await testApi();
  const all = endpoints();
  const both = all
    .filter(({ method, path }) => method === 'PUT' && all.some((one) => one.method === 'GET' && one.path === path))
    .map(({ path }) => path)
    // Resources of SCIM are taken as RFC 7644 says, in a test of their own.
    .filter((path) => path.startsWith('/v1/') && !LISTS.has(path));

  it('is known here for every address that has both', () => expect(both.sort()).toEqual(Object.keys(SHOWN).sort()));

  it.each(Object.entries(SHOWN))('is taken by PUT %s', async (_, { at, first }) => {
    if (first !== undefined) expect(await api.call('PUT', at, { body: first })).toMatchObject({ status: 200 });
    const before = await api.call('GET', at);
    expect(before).toMatchObject({ status: 200 });
    const audit = async (): Promise<unknown> => (await api.call('GET', '/v1/audit')).body;
    const entries = await audit();
    expect(await api.call('PUT', at, { body: before.body })).toMatchObject({ status: 200 });
    expect((await api.call('GET', at)).body).toEqual(before.body);
    // What changed nothing is no entry.
    expect(await audit()).toEqual(entries);
  });

  it('is refused at another address, and where something else is unknown', async () => {
    const { body } = await api.call('GET', '/v1/budgets/plan');
    expect(await api.call('PUT', '/v1/budgets/other', { body })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'id', message: 'is not other, as in the address' }] },
    });
    expect(await api.call('PUT', '/v1/budgets/plan', { body: { ...body, nonsense: 1 } })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'nonsense', message: 'is not a known field' }] },
    });
    const limits = await api.call('GET', '/v1/limits?team=red');
    expect(await api.call('PUT', '/v1/limits', { body: limits.body })).toMatchObject({
      status: 400,
      body: { problems: [{ path: 'team', message: 'is not null, as in the address' }] },
    });
  });

  it('is the body without what only an answer has; anything else stays for the schema', () => {
    const rules = { addressed: ['id'], ignored: ['seen', 'parts[].left'], renamed: { revision: 'replaces' } };
    const body = { id: 'a', seen: 1, parts: [{ left: 1, n: 2 }, 3], revision: 'r', own: true };
    expect(settingsOf(rules, body, { id: 'a' })).toEqual({ parts: [{ n: 2 }, 3], replaces: 'r', own: true });
    expect(settingsOf(rules, { revision: 'r', replaces: 's' }, {})).toEqual({ replaces: 's' });
    for (const odd of [null, [], 'text', 3, undefined]) expect(settingsOf(rules, odd, {})).toBe(odd);
    expect(settingsOf({ within: 'document' }, { document: { n: 1 } }, {})).toEqual({ n: 1 });
    expect(settingsOf({ within: 'document' }, { document: {}, n: 1 }, {})).toEqual({ document: {}, n: 1 });
  });
});
