/**
 * Every operation of the OpenAPI document, asked as everybody who should not get an answer, or not all of it: nobody, a
 * key that nobody made, a revoked one, one of too low a role, and a key for another team. Bodies and addresses are made
 * of the document's own schemas, so that a new route is asked the day it is there.
 *
 * What belongs to the team blue carries a mark in what can be read of it, and the caller never sends the mark: wherever
 * it comes back to a key for the team red, something leaks. Reads, writes, streams and exports alike.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { ROLE_SCOPES, ROLES, SCOPES, type Scope } from '../../src/core/scopes.js';
import { DEFAULT_GATE } from '../../src/web/gate.js';
import type { Json, JsonObject, OpenApiDocument, Operation } from '../../src/web/openapi.js';
import { endpoints } from '../../src/web/web.module.js';
import { NOW, testApi } from '../support/web.js';

const MARK = 'hidden-of-blue';
const AMOUNT = '77777.25';
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const UNLIMITED = 1_000_000;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly type: string | null;
}

/** A value that a schema takes, or nearly: what a field is called says more than its schema. */
class Samples {
  constructor(
    private readonly document: OpenApiDocument,
    /** What fields of these names hold. */
    private readonly names: Readonly<Record<string, Json>>,
    private readonly isFull: boolean,
  ) {}

  of(schema: JsonObject, name = '', depth = 0): Json {
    if (Object.hasOwn(this.names, name)) return this.names[name] ?? null;
    const reference = schema['$ref'];
    if (typeof reference === 'string')
      return this.of(this.document.components.schemas[reference.split('/').at(-1) ?? ''] ?? {}, name, depth + 1);
    for (const key of ['anyOf', 'oneOf', 'allOf']) {
      const [first] = (schema[key] ?? []) as readonly JsonObject[];
      if (first !== undefined) return this.of(first, name, depth + 1);
    }
    if ('const' in schema) return schema['const'] ?? null;
    const [choice] = (schema['enum'] ?? []) as readonly Json[];
    if (choice !== undefined) return choice;
    switch (schema['type']) {
      case 'object': {
        const required = (schema['required'] ?? []) as readonly string[];
        const fields = Object.entries((schema['properties'] ?? {}) as Record<string, JsonObject>);
        return Object.fromEntries(
          fields
            .filter(([field]) => required.includes(field) || field.startsWith('team') || (this.isFull && depth < 6))
            .map(([field, inner]) => [field, this.of(inner, field, depth + 1)]),
        );
      }
      case 'array':
        return [this.of((schema['items'] ?? {}) as JsonObject, name.replace(/s$/, ''), depth + 1)];
      case 'integer':
      case 'number':
        return Number(schema['minimum'] ?? 1);
      case 'boolean':
        return false;
      default:
        return 'red';
    }
  }
}

/** Requests of an operation: with each id in its address, of each team, short and full. */
function requestsOf(
  document: OpenApiDocument,
  { path, method, operation }: { path: string; method: string; operation: Operation },
  ids: readonly string[],
): Asked[] {
  const addresses = path.includes('{') ? ids.map((id) => path.replaceAll(/\{\w+\}/g, encodeURIComponent(id))) : [path];
  const content = (operation.requestBody?.['content'] ?? {}) as Record<string, { schema?: JsonObject }>;
  const [media] = Object.keys(content);
  return ['red', 'blue'].flatMap((team) =>
    [false, true].flatMap((isFull) => {
      const names = {
        team,
        teams: [team],
        policy: isFull ? 'blue-policy' : 'red-policy',
        name: 'mine',
        from: '2026-10-05T00:00:00Z',
        to: '2026-10-05T01:00:00Z',
        until: '2026-10-12T00:00:00Z',
        currency: 'USD',
        amount: '5',
        zone: 'UTC',
        default: '5',
        'group-by': 'team',
        month: '2026-10',
        filename: 'a.csv',
      };
      const samples = new Samples(document, names, isFull);
      const query = operation.parameters
        .filter((one) => one['in'] === 'query' && (one['required'] === true || one['name'] === 'team'))
        .map(
          (one) =>
            `${String(one['name'])}=${encodeURIComponent(String(samples.of(one['schema'] as JsonObject, String(one['name']))))}`,
        );
      const body = media === undefined ? undefined : samples.of(content[media]?.schema ?? {});
      return addresses.map((address) => ({
        method: method.toUpperCase(),
        path: query.length === 0 ? address : `${address}?${query.join('&')}`,
        body: media === undefined ? undefined : media === 'application/json' ? JSON.stringify(body) : 'a,b\n1,2\n',
        type: media === undefined ? null : media === '*/*' ? 'text/csv' : media,
      }));
    }),
  );
}

describe('every operation', async () => {
  const gate = {
    ...DEFAULT_GATE,
    requestsPerKey: UNLIMITED,
    requestsPerAddress: UNLIMITED,
    wrongKeysPerMinute: UNLIMITED,
  };
  const api = await testApi({ gate });
  let document: OpenApiDocument;
  let operations: { path: string; method: string; operation: Operation }[] = [];
  let ids: string[] = [];

  /** Status and text; of a stream what comes first. */
  const ask = async (
    { method, path, body, type }: Asked,
    key: string | null,
  ): Promise<{ status: number; text: string }> => {
    const response = await fetch(api.url + path, {
      method,
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(type === null ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body: body as string }),
    });
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
      return { status: response.status, text: await response.text() };
    const reader = response.body?.getReader();
    const first = await reader?.read();
    await reader?.cancel();
    return { status: response.status, text: new TextDecoder().decode(first?.value as Uint8Array | undefined) };
  };

  beforeAll(async () => {
    const { body } = await api.call<OpenApiDocument>('GET', '/openapi.json');
    document = body;
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
    );
    const done = async (method: string, path: string, given: unknown): Promise<Record<string, unknown>> => {
      const reply = await api.call(method, path, { body: given });
      expect([path, reply.status < 300, reply.status < 300 ? '' : reply.text]).toEqual([path, true, '']);
      return reply.body;
    };
    for (const team of ['red', 'blue'])
      await done('PUT', `/v1/teams/${team}`, { name: team === 'blue' ? `Blue ${MARK}` : 'Red' });
    await done('PUT', '/v1/budgets/blue-budget', { team: 'blue', planned: { default: AMOUNT } });
    await done('PUT', '/v1/budgets/red-budget', { team: 'red', planned: { default: '1' } });
    for (const [team, priority] of [
      ['red', 1],
      ['blue', 77_777],
    ] as const)
      await done('PUT', `/v1/policies/${team}-policy`, {
        policy: 'idle-stop',
        teams: [team],
        mode: 'recommend',
        priority,
      });
    const backtest = await done('POST', '/v1/backtests', {
      policy: 'blue-policy',
      from: '2026-10-05T00:00:00Z',
      to: '2026-10-05T01:00:00Z',
    });
    await done('POST', '/v1/stop', { team: 'blue', reason: MARK });
    await done('PUT', '/v1/limits?team=blue', { protectedLabels: { [MARK]: '*' } });
    const { db, alerts } = api.stores;
    await alerts.raise(db, 'default', { kind: 'test', team: 'blue' as unknown as null, id: 'tried', by: MARK }, NOW);
    const [alert] = await alerts.list('default', {}, null, 1);
    await db.query(
      `insert into dimension (organisation, key, kind, provider, category) values ('default', 'd', 'billed', $1, 'Usage')`,
      [MARK],
    );
    await db.query(
      `insert into cost_day (organisation, team, day, dimension, currency, records, actual) select 'default', 'blue', '2026-10-05', d.id, 'USD', 1, $1 from dimension d`,
      [AMOUNT],
    );
    ids = ['blue', 'red', 'blue-budget', 'blue-policy', 'red-policy', String(backtest['id']), String(alert?.alert.id)];
  });

  it('lets nobody in without a key that holds', async () => {
    const made = await api.call<{ id: string; text: string }>('POST', '/v1/keys', {
      body: { name: 'x', role: 'viewer' },
    });
    await api.call('DELETE', `/v1/keys/${made.body.id}`);
    const expired = await api.keyFor({ expiresAt: NOW + 1 });
    await api.stores.db.query(`update api_key set expires_at = $1 where expires_at is not null`, [new Date(NOW)]);
    for (const one of operations) {
      if (one.operation.security.length === 0) continue;
      const [first] = requestsOf(document, one, ids);
      if (first === undefined) continue;
      for (const key of [null, `bursar_000000000000_${'a'.repeat(43)}`, made.body.text, expired])
        expect([one.method, one.path, (await ask(first, key)).status]).toEqual([one.method, one.path, 401]);
    }
  });

  it('refuses whoever has every scope but its own, and a key for some teams where all are concerned', async () => {
    const without = new Map<Scope, string>();
    for (const scope of SCOPES) without.set(scope, await api.keyFor({ scopes: SCOPES.filter((one) => one !== scope) }));
    const roles = await Promise.all(ROLES.map(async (role) => [role, await api.keyFor({ role })] as const));
    const red = await api.keyFor({ role: 'operator', teams: ['red'] });
    for (const { method, path, access, allTeams = false } of endpoints()) {
      if (access === 'open' || access === 'known') continue;
      const operation = document.paths[path]?.[method.toLowerCase()];
      const [first] = operation === undefined ? [] : requestsOf(document, { path, method, operation }, ids);
      if (operation === undefined || first === undefined) throw new Error(`${method} ${path} is not in the document`);
      expect([method, path, operation.security]).toEqual([method, path, [{ key: [access] }]]);
      const refused = await ask(first, without.get(access) ?? '');
      expect([method, path, refused.status]).toEqual([method, path, 403]);
      expect(refused.text).toContain(`this needs the scope ${access}`);
      for (const [role, key] of roles)
        if (!ROLE_SCOPES[role].includes(access))
          expect([method, path, role, (await ask(first, key)).status]).toEqual([method, path, role, 403]);
      if (allTeams) expect([method, path, (await ask(first, red)).status]).toEqual([method, path, 403]);
    }
  });

  it('lets a scope alone do what it is for, and nothing else: a meter sends, and reads nothing', async () => {
    for (const scope of SCOPES) {
      const key = await api.keyFor({ scopes: [scope] });
      const done: string[] = [];
      for (const { method, path, access } of endpoints()) {
        const operation = document.paths[path]?.[method.toLowerCase()];
        // What a lone scope would change is asked of nothing that is there.
        const [first] =
          operation === undefined ? [] : requestsOf(document, { path, method, operation }, ['000000000000']);
        if (access === 'open' || access === 'known' || first === undefined) continue;
        if (access === scope && method !== 'GET') continue;
        const { status } = await ask(first, key);
        if (status !== 403) done.push(`${access} ${method} ${path}`);
      }
      expect(done.filter((one) => !one.startsWith(`${scope} GET `))).toEqual([]);
    }
    const metrics = async (key: string): Promise<string> =>
      (await ask({ method: 'GET', path: '/metrics', body: undefined, type: null }, key)).text;
    expect(await metrics(await api.keyFor({ scopes: ['read'] }))).toContain('bursar_spend');
    expect(await metrics(await api.keyFor({ scopes: ['usage:write'] }))).not.toContain('bursar_spend');
  });

  it('shows nothing of another team to a key for one, whatever it reads or writes', async () => {
    const seen = await Promise.all(
      [
        '/v1/teams',
        '/v1/policies',
        '/v1/stop',
        '/v1/budgets',
        '/v1/costs?group-by=provider',
        '/v1/backtests',
        '/v1/alerts',
      ].map(async (path) => [path, /hidden-of-blue|77777/.test((await api.call('GET', path)).text)]),
    );
    // The marks are there to be found, and an admin finds them.
    expect(seen.filter(([, isSeen]) => isSeen === true).length).toBeGreaterThanOrEqual(5);
    const leaks: string[] = [];
    for (const role of ['viewer', 'operator'] as const) {
      const key = await api.keyFor({ role, teams: ['red'] });
      // Reads first: what a write has moved is not what a stranger began with.
      for (const isRead of [true, false])
        for (const one of operations.filter(({ method }) => (method === 'get') === isRead))
          for (const asked of requestsOf(document, one, ids)) {
            const { status, text } = await ask(asked, key);
            // A request's id is drawn by chance, and may hold any five digits.
            const shown = text.replaceAll(UUID, '');
            if (shown.includes(MARK) || shown.includes('77777') || status >= 500)
              leaks.push(`${role} ${asked.method} ${asked.path} ${status}: ${text.slice(0, 300)}`);
          }
    }
    expect(leaks).toEqual([]);
  }, 300_000);
});
