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
/** Where GET answers nothing that PUT takes (a page of a list, or nothing at all): what is put there. */
const PUT_ALONE: Readonly<Record<string, { readonly at: string; readonly body: unknown }>> = {
  '/v1/fx': { at: '/v1/fx', body: { rates: [{ day: '2026-10-01', currency: 'EUR', perUsd: '0.9' }] } },
  '/v1/roles/{name}': { at: '/v1/roles/custom:reader', body: { scopes: ['read'] } },
  '/v1/deliveries/{name}': { at: '/v1/deliveries/october', body: { source: 's' } },
  '/v1/leases/{id}': { at: '/v1/leases/one', body: { team: 'red', target: 'i-1', expiresAt: '2026-12-01T00:00:00Z' } },
  '/v1/slack-users/{workspace}/{user}': { at: '/v1/slack-users/T0WORK/U0ANA', body: { key: 'KEY' } },
  '/v1/cost-views/{id}': { at: '/v1/cost-views/VIEW', body: { name: 'Other', query: { 'group-by': 'team' } } },
};

describe('what GET answers', async () => {
  const api = await testApi();
  const all = endpoints();
  const paths = all
    .filter(({ method }) => method === 'PUT')
    .map(({ path }) => path)
    // Resources of SCIM are taken as RFC 7644 says, in a test of their own.
    .filter((path) => path.startsWith('/v1/'));
  const audit = async (): Promise<unknown> => (await api.call('GET', '/v1/audit')).body;

  it('is known here for every address that has both, and what is put where only PUT is', () =>
    expect(paths.sort()).toEqual([...Object.keys(SHOWN), ...Object.keys(PUT_ALONE)].sort()));

  it.each(Object.entries(SHOWN))('is taken by PUT %s', async (_, { at, first }) => {
    if (first !== undefined) expect(await api.call('PUT', at, { body: first })).toMatchObject({ status: 200 });
    const before = await api.call('GET', at);
    expect(before).toMatchObject({ status: 200 });
    const entries = await audit();
    expect(await api.call('PUT', at, { body: before.body })).toMatchObject({ status: 200 });
    expect((await api.call('GET', at)).body).toEqual(before.body);
    // What changed nothing is no entry.
    expect(await audit()).toEqual(entries);
  });

  it.each(Object.values(PUT_ALONE))('is no entry of the audit when put at $at again', async ({ at, body }) => {
    await api.call('PUT', '/v1/teams/red', { body: { name: 'Red' } });
    const made = async (where: string, sent: unknown): Promise<string> => {
      const { id } = (await api.call<{ id: string }>('POST', where, { body: sent })).body;
      return id;
    };
    const key = await made('/v1/keys', { name: 'ana', scopes: ['read'] });
    const view = await made('/v1/cost-views', { name: 'Mine', query: { 'group-by': 'sku' } });
    const [where, sent] = [at.replace('VIEW', view), JSON.parse(JSON.stringify(body).replace('KEY', key)) as unknown];
    const unset = await audit();
    const first = await api.call('PUT', where, { body: sent });
    expect(first).toMatchObject({ status: 200 });
    const entries = await audit();
    expect(entries).not.toEqual(unset);
    const again = await api.call<object>('PUT', where, { body: sent });
    expect(again).toMatchObject({ status: 200 });
    if (at !== '/v1/fx') expect(again.body).toEqual(first.body);
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
