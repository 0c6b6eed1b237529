/** Lists, quotes, budgets, rules, recommendations and problems over HTTP. On a real PostgreSQL. */
import { troubleOf } from '../../src/store/trouble.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { HOUR_MS } from '../../src/core/time.js';
import type { NewAction } from '../../src/store/action/actions.js';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { instance } from '../support/memory-cloud.js';
import { NOW, testApi, type TestApi } from '../support/web.js';
import { recommendation } from '../support/makers.js';

type Listed = { items: Record<string, unknown>[]; nextCursor: string | null };

/** Every item of a list, page by page. */
async function all(api: TestApi, path: string, limit: number): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = `${path.includes('?') ? '&' : '?'}limit=${limit}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
    const page = await api.call<Listed>('GET', path + query);
    expect(page.status, page.text).toBe(200);
    expect(page.body.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.body.items);
    cursor = page.body.nextCursor;
  }
  return items;
}

const recommended = (n: number, team: string): Recommendation =>
  recommendation({
    id: `r${n}`,
    team,
    target: `pod-${n}`,
    estimatedMonthlySavings: '12.50',
    estimatedMonthlySavingsLow: '10.00',
    estimatedMonthlySavingsHigh: '15.00',
    estimatedMonthlySavingsNanos: '12500000000',
    estimatedMonthlyCost: '50.00',
    estimatedSavingsPercentage: 25,
    computation: { hours: 730 },
    evidence: [{ what: 'utilisation', from: '2026-10-01T00:00:00Z', to: '2026-10-05T00:00:00Z', ageSeconds: 60 }],
    restartNeeded: false,
    expiresAt: '2026-11-01T00:00:00Z',
    document: 'idle-stop',
    mode: 'recommend',
  });

/** A stop that a document asks for. */
const stopOf = (team: string, target: string): NewAction => ({
  team,
  connection: 'cloud',
  target,
  effect: { kind: 'stop', target },
  mode: 'approve',
  recommendation: null,
  policy: 'idle-stop',
  document: 'doc',
  subject: null,
  rollbackOf: null,
  underStop: false,
  proposedBy: 'policy:doc',
  evidenceAt: NOW,
  expiresAt: NOW + HOUR_MS,
});

const PRICES = `provider,sku,region,term,upfront,component,gpuModel,gpus,price,currency,per,effectiveFrom,effectiveTo,incrementSeconds,minimumSeconds
AWS,p5.48xlarge,us-east-1,on-demand,none,gpu,H100,8,98.32,USD,instance-hour,2023-08-08T13:58:38Z,,1,60
AWS,p5.48xlarge,us-east-1,on-demand,none,gpu,H100,8,55.04,USD,instance-hour,2025-06-23T13:18:30Z,,1,60
AWS,p5.48xlarge,us-west-2,on-demand,none,gpu,H100,8,48,USD,instance-hour,2025-06-23T13:18:30Z,,1,60
AWS,p5.48xlarge,us-east-1,spot,none,gpu,H100,8,20,USD,instance-hour,2025-06-23T13:18:30Z,,1,60
AWS,p4d.24xlarge,us-east-1,on-demand,none,gpu,A100-40GB,8,21.96,USD,instance-hour,2025-06-23T13:18:30Z,,1,60
`;

describe('the API', async () => {
  const api = await testApi();
  beforeAll(async () => {
    for (const id of ['a', 'b', 'c', 'd', 'e']) await api.call('PUT', `/v1/teams/${id}`, { body: {} });
    await api.call('PUT', '/v1/teams/a-sub', { body: { parent: 'a' } });
    const sent = await api.call<{ files: object[] }>('POST', '/v1/prices?filename=prices.csv', { body: PRICES });
    expect(sent.body.files, sent.text).toMatchObject([{ accepted: 5, rejected: 0 }]);
    await api.stores.db.transaction(async (tx) => {
      for (const n of [1, 2, 3, 4, 5])
        await api.stores.recommendations.replaceOpen(
          tx,
          'default',
          n % 2 === 0 ? 'a' : 'b',
          [`p${n}`],
          [recommended(n, n % 2 === 0 ? 'a' : 'b')],
          NOW,
        );
    });
    const bad = Array.from({ length: 7 }, (_, n) => ({ id: `x${n}` }));
    for (const size of [3, 4]) await api.call('POST', '/v1/usage', { body: bad.slice(0, size) });
  });

  it('pages cover every list and repeat nothing', async () => {
    const counts = new Map<string, number>();
    for (const path of [
      '/v1/teams',
      '/v1/prices',
      '/v1/recommendations',
      '/v1/rejects',
      '/v1/imports',
      '/v1/audit',
      '/v1/keys',
      '/v1/budgets',
      '/v1/work',
    ]) {
      const whole = await all(api, path, 1000);
      for (const limit of [1, 2, 3]) expect(await all(api, path, limit)).toEqual(whole);
      expect(new Set(whole.map((item) => JSON.stringify(item))).size).toBe(whole.length);
      counts.set(path, whole.length);
    }
    expect(Object.fromEntries(counts)).toMatchObject({
      '/v1/teams': 6,
      '/v1/prices': 5,
      '/v1/recommendations': 5,
      '/v1/rejects': 7,
      '/v1/imports': 3,
      '/v1/audit': 7,
    });
  });

  it('a recommendation says of what it saves, and one that was kept before it could says that nobody knows', async () => {
    const ofTeam = async (): Promise<Listed['items']> =>
      (await api.call<Listed>('GET', '/v1/recommendations?team=b')).body.items;
    const figures = { estimatedMonthlySavings: '12.50', estimatedMonthlyCost: '50.00', estimatedSavingsPercentage: 25 };
    expect(await ofTeam()).toMatchObject([
      { id: 'r1', ...figures },
      { id: 'r3', ...figures },
      { id: 'r5', ...figures },
    ]);
    await api.stores.db.query(
      `update recommendation set body = body - 'estimatedMonthlyCost' - 'estimatedSavingsPercentage' where id = 'r3'`,
      [],
    );
    expect(await ofTeam()).toMatchObject([
      { id: 'r1', ...figures },
      { id: 'r3', estimatedMonthlySavings: '12.50', estimatedMonthlyCost: null, estimatedSavingsPercentage: null },
      { id: 'r5', ...figures },
    ]);
    const { body } = await api.call<{
      components: { schemas: { Recommendation: { properties: object; required: string[] } } };
    }>('GET', '/openapi.json');
    const { properties, required } = body.components.schemas.Recommendation;
    expect(properties).toMatchObject({
      estimatedMonthlyCost: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      estimatedSavingsPercentage: { type: ['number', 'null'] },
    });
    expect(required).toEqual(
      expect.arrayContaining(['estimatedMonthlySavings', 'estimatedMonthlyCost', 'estimatedSavingsPercentage']),
    );
  });

  it('the rows of an import that was never made are not found, rather than none', async () => {
    expect(await api.call('GET', '/v1/imports/99999/rejects')).toMatchObject({
      status: 404,
      body: { detail: 'there is no import "99999"' },
    });
  });

  it('cursors that are none are refused, and so are unknown fields', async () => {
    for (const path of ['/v1/rejects', '/v1/imports', '/v1/prices', '/v1/audit']) {
      expect(await api.call('GET', `${path}?cursor=nonsense`)).toMatchObject({
        status: 400,
        body: { problems: [{ path: 'cursor' }] },
      });
    }
    const refused = await api.call('GET', '/v1/teams?limit=0&colour=red&shape=round');
    expect(refused).toMatchObject({
      status: 400,
      body: { type: '/docs#status-400', title: 'Bad Request', status: 400, instance: '/v1/teams' },
    });
    expect((refused.body['problems'] as { path: string }[]).map(({ path }) => path).sort()).toEqual([
      'colour',
      'limit',
      'shape',
    ]);
    expect(
      (await api.call('GET', '/v1/costs?from=yesterday&group-by=colour&currency=usd')).body['problems'],
    ).toHaveLength(3);
  });

  it('what is not there is 404, with the request id that was sent', async () => {
    const gone = await api.call('GET', '/v1/nothing', { headers: { 'x-request-id': 'abc-1' } });
    expect(gone).toMatchObject({ status: 404, body: { requestId: 'abc-1', instance: '/v1/nothing' } });
    expect(gone.body).toMatchObject({ detail: 'there is nothing at GET /v1/nothing: /docs lists what there is' });
    expect(gone.headers.get('x-request-id')).toBe('abc-1');
    expect((await api.call('PATCH', '/v1/teams/a', { body: {} })).status).toBe(404);
    expect(
      (await api.call('GET', '/v1/teams', { headers: { 'x-request-id': 'a b' } })).headers.get('x-request-id'),
    ).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('answers carry headers that keep browsers from guessing and framing', async () => {
    for (const path of ['/v1/teams', '/v1/nothing', '/docs']) {
      const { headers } = await api.call('GET', path);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')?.toUpperCase()).toBe('DENY');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });

  it('an unexpected error is 500 without internals', async () => {
    const { list } = api.stores.keys;
    api.stores.keys.list = () => Promise.reject(new Error('password=hunter2 at store/access/keys.ts'));
    const failed = await api.call('GET', '/v1/keys');
    api.stores.keys.list = list;
    expect(failed.status).toBe(500);
    expect(failed.text).not.toMatch(/hunter2|keys\.ts|stack/);
  });

  it('a database that is gone is 503, and is waited for', async () => {
    const { list } = api.stores.keys;
    api.stores.keys.list = () =>
      // As the database's door passes it on.
      Promise.reject(
        troubleOf(Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), { code: 'ECONNREFUSED' })),
      );
    const failed = await api.call('GET', '/v1/keys');
    api.stores.keys.list = list;
    expect(failed.status).toBe(503);
    expect(failed.headers.get('retry-after')).toBe('5');
    expect(failed.text).not.toContain('10.0.0.1');
  });

  it('a quote names its price, its cost and what else would do', async () => {
    const quoted = await api.call('POST', '/v1/quotes', {
      body: { provider: 'aws', sku: 'p5.48xlarge', gpus: 8, hours: 10, region: 'us-east-1' },
    });
    expect(quoted.body).toMatchObject({
      cost: '550.40',
      currency: 'USD',
      unitPrice: '6.88',
      provider: 'AWS',
      term: 'on-demand',
      region: 'us-east-1',
      effectiveFrom: '2025-06-23T13:18:30Z',
      assumptions: [],
      billedHours: '10.00',
      alternatives: [
        { term: 'spot', cost: '200.00', unitPrice: '2.50' },
        { term: 'on-demand', region: 'us-west-2', cost: '480.00' },
      ],
    });
    const cheapest = await api.call('POST', '/v1/quotes', {
      body: { provider: 'AWS', sku: 'H100', gpus: 1, hours: 1 },
    });
    expect(cheapest.body).toMatchObject({ cost: '6.00', sku: 'p5.48xlarge', region: 'us-west-2' });
    expect(cheapest.body['assumptions']).toHaveLength(3);
  });

  it('what has no price is a problem that names what comes close', async () => {
    const ask = (over: object) =>
      api.call('POST', '/v1/quotes', { body: { provider: 'aws', sku: 'p5.48xlarge', gpus: 8, hours: 1, ...over } });
    expect(await ask({ sku: 'p5.48xlrge' })).toMatchObject({
      status: 404,
      body: { problems: [{ path: 'unknown-sku', message: 'p5.48xlarge is known' }, {}] },
    });
    expect(await ask({ provider: 'awz' })).toMatchObject({
      status: 404,
      body: { problems: [{ path: 'no-price-list', message: 'AWS is known' }] },
    });
    expect((await ask({ region: 'mars' })).body['problems']).toHaveLength(2);
    expect((await ask({ gpus: 0, hours: -1, term: 'forever' })).body['problems']).toHaveLength(3);
  });

  it('a budget is set, evaluated anew, read and removed; a key of other teams may not', async () => {
    const body = {
      team: 'a',
      planned: { default: '1000' },
      thresholds: [{ kind: 'actual', ratio: '0.8' }],
      filters: { tag: [{ key: 'project', value: 'x' }] },
    };
    const wrong = await api.call('PUT', '/v1/budgets/b1', {
      body: { team: 'a', zone: 'Mars', currency: 'usd', colour: 1 },
    });
    expect(wrong.status).toBe(400);
    expect((wrong.body['problems'] as { path: string }[]).map(({ path }) => path).sort()).toEqual([
      'colour',
      'currency',
      'planned',
      'zone',
    ]);
    expect(
      (
        await api.call('PUT', '/v1/budgets/b1', {
          body: { team: 'a', planned: { default: '-1', periods: { soon: '1' } } },
        })
      ).body['problems'],
    ).toHaveLength(2);
    expect((await api.call('PUT', '/v1/budgets/b1', { body })).body).toMatchObject({
      id: 'b1',
      period: 'month',
      zone: 'UTC',
      currency: 'USD',
    });
    expect(await api.stores.db.query(`select key from work where stage = 'budget.weigh'`)).toEqual([
      { key: 'b1/2026-10-01' },
    ]);
    expect(await api.stores.organisations.trackedTags(api.stores.db, 'default')).toEqual(['project']);
    const [other, own] = [
      await api.keyFor({ role: 'operator', teams: ['b'] }),
      await api.keyFor({ role: 'operator', teams: ['a'] }),
    ];
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['GET', '/state'],
    ] as const)
      expect((await api.call(method, `/v1/budgets/b1${path}`, { key: other })).status).toBe(403);
    expect((await api.call('PUT', '/v1/budgets/b1', { key: other, body: { ...body, team: 'b' } })).status).toBe(403);
    expect((await api.call<Listed>('GET', '/v1/budgets', { key: other })).body.items).toEqual([]);
    expect((await api.call<Listed>('GET', '/v1/budgets', { key: own })).body.items).toHaveLength(1);
    expect((await api.call('GET', '/v1/budgets/b1/state')).status).toBe(404);
    expect((await api.call('DELETE', '/v1/teams/a')).status).toBe(409);
    expect((await api.call('DELETE', '/v1/budgets/b1', { key: own })).status).toBe(200);
    expect((await api.call('GET', '/v1/budgets/b1')).status).toBe(404);
  });

  it('a recommendation is decided once, by who may', async () => {
    const [other, own] = [
      await api.keyFor({ role: 'operator', teams: ['a'] }),
      await api.keyFor({ role: 'operator', teams: ['b'] }),
    ];
    expect(
      (await api.call<Listed>('GET', '/v1/recommendations', { key: other })).body.items.map(({ id }) => id),
    ).toEqual(['r2', 'r4']);
    expect((await api.call('POST', '/v1/recommendations/r1/approve', { key: other })).status).toBe(403);
    expect((await api.call('POST', '/v1/recommendations/r1/approve', { key: own })).body).toMatchObject({
      status: 'approved',
      decidedBy: expect.stringMatching(/^key:/),
    });
    expect((await api.call('POST', '/v1/recommendations/r1/reject', { key: own })).status).toBe(409);
    expect((await api.call('POST', '/v1/recommendations/none/reject')).status).toBe(404);
  });

  it('rules are previewed, replaced by version, and refused with every problem', async () => {
    const usage = (id: string, namespace: string) => ({
      id,
      namespace,
      provider: 'AWS',
      sku: 'p5.48xlarge',
      region: 'us-east-1',
      term: 'on-demand',
      gpus: 8,
      start: '2026-10-05T00:00:00Z',
      end: '2026-10-05T01:00:00Z',
    });
    await api.call('POST', '/v1/usage', {
      body: [usage('u1', 'red'), usage('u2', 'blue'), { ...usage('u3', 'red'), sku: 'unheard-of' }],
    });
    const rules = [{ match: { namespace: 'red' }, team: 'a' }];
    await new Runner(api.stores.db, api.stores.work, { now: () => NOW }, makeLine(api.stores, [])).drain();
    const spent = await api.call<{ rows: { team: string; cost: string; unpricedQuantity: string }[]; total: string }>(
      'GET',
      '/v1/costs?group-by=team',
    );
    const preview = await api.call<{ teams: Record<string, string>[]; totals: Record<string, string>[] }>(
      'POST',
      '/v1/rules/preview',
      { body: { rules } },
    );
    const [a, nobody] = preview.body.teams;
    expect(preview.body.teams).toHaveLength(2);
    expect(a).toEqual({
      team: 'a',
      currency: 'USD',
      before: null,
      after: '55.040000000',
      unpricedBefore: '0.000000',
      unpricedAfter: '8.000000',
    });
    expect(nobody).toMatchObject({
      team: 'unallocated',
      currency: 'USD',
      before: spent.body.rows[0]?.cost,
      unpricedBefore: spent.body.rows[0]?.unpricedQuantity,
    });
    expect((Number(nobody?.['before']) - Number(nobody?.['after'])).toFixed(2)).toBe('55.04');
    expect(preview.body.totals).toMatchObject([{ before: spent.body.total, after: spent.body.total }]);
    expect((await api.call('GET', '/v1/rules')).body).toEqual({ version: 0, rules: [] });
    expect((await api.call('PUT', '/v1/rules', { body: { rules, replaces: 0 } })).body).toEqual({ version: 1, rules });
    expect((await api.call('PUT', '/v1/rules', { body: { rules, replaces: 0 } })).status).toBe(409);
    expect((await api.call('POST', '/v1/rules/preview', { body: { rules: [{ match: {}, team: '' }] } })).status).toBe(
      400,
    );
    const wrong = await api.call('PUT', '/v1/rules', {
      body: {
        rules: [
          { match: {}, split: { by: 'fixed', shares: { a: '0.5' } } },
          { match: {}, split: { by: 'use', of: [] } },
        ],
      },
    });
    expect(wrong.body['problems']).toMatchObject([{ path: 'rules/0/split/shares' }, { path: 'rules/1/split/of' }]);
  });

  it('finds by words in ids and names, and counts what waits: of the teams of a key, and of nobody else', async () => {
    const { stores } = api;
    for (const team of ['zebra', 'okapi']) {
      await api.call('PUT', `/v1/teams/${team}`, { body: { name: `Herd of ${team}` } });
      await api.call('PUT', `/v1/budgets/herd-${team}`, { body: { team, planned: { default: '10' } } });
      const target = instance(`${team}-1`, { name: `herd-node-${team}`, knownAs: [`10.0.0.1-${team}`] });
      await stores.db.transaction(async (tx) => {
        const reading = { at: NOW, complete: true, problems: [], targets: [target] };
        await stores.fleet.save(tx, 'default', `cloud-${team}`, reading, () => team);
        const made = { ...recommended(team === 'zebra' ? 71 : 72, team), title: `Stop the herd of ${team}` };
        await stores.recommendations.replaceOpen(tx, 'default', team, ['herd'], [made], NOW);
        await stores.actions.propose(tx, 'default', stopOf(team, `instance/${team}-1`), NOW);
      });
      await api.call('PUT', `/v1/policies/herd-${team}`, {
        body: { policy: 'idle-stop', teams: [team], mode: 'observe' },
      });
    }
    const keys = {
      all: api.admin,
      one: await api.keyFor({ teams: ['zebra'] }),
      none: await api.keyFor({ teams: ['e'] }),
    };
    const found = async (key: string, words: string): Promise<string[]> => {
      const { status, body, text } = await api.call<{ items: { kind: string; id: string; team: string | null }[] }>(
        'GET',
        `/v1/search?words=${encodeURIComponent(words)}`,
        { key },
      );
      expect(status, text).toBe(200);
      return body.items.map(({ kind, id }) => `${kind} ${kind === 'action' ? '' : id}`.trim());
    };
    expect(await found(keys.one, 'HERD')).toEqual([
      'team zebra',
      'budget herd-zebra',
      'target instance/zebra-1',
      'recommendation r71',
      'document herd-zebra',
    ]);
    expect((await found(keys.all, 'herd')).filter((line) => line.includes('okapi'))).toHaveLength(4);
    expect(await found(keys.one, '10.0.0.1-z')).toEqual(['target instance/zebra-1']);
    expect(await found(keys.one, 'zebra-1')).toEqual(['target instance/zebra-1', 'action']);
    // What is another team's is not found, by whatever it is called; what looks like a pattern is none.
    for (const words of ['okapi', 'herd-node-okapi', 'r72', 'instance/okapi-1', '%', '_', "'"])
      expect({ words, found: (await found(keys.one, words)).filter((line) => !/zebra|action/.test(line)) }).toEqual({
        words,
        found: [],
      });
    expect(await found(keys.none, 'herd')).toEqual([]);
    // What is called so goes before what begins so, and that before what has it somewhere.
    for (const id of ['y-gnu', 'gnu-x', 'gnu']) await api.call('PUT', `/v1/teams/${id}`, { body: {} });
    expect(await found(keys.all, 'gnu')).toEqual(['team gnu', 'team gnu-x', 'team y-gnu']);
    expect((await api.call('GET', '/v1/search?words=gnu&most=2')).body['items']).toHaveLength(2);
    expect((await api.call('GET', '/v1/search?words=%20')).body['problems']).toMatchObject([{ path: 'words' }]);
    expect((await api.call('GET', '/v1/waiting', { key: keys.one })).body).toEqual({
      recommendations: 1,
      actions: 1,
      alerts: 0,
      findings: 0,
    });
    expect((await api.call('GET', '/v1/waiting', { key: keys.none })).body).toMatchObject({
      recommendations: 0,
      actions: 0,
    });
    expect((await api.call('GET', '/v1/waiting')).body).toMatchObject({ actions: 2 });
  });
});
