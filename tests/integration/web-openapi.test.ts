/** The description of the API is the API: routes, schemas and the page made of them. */
import { RequestMethod } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import type { OpenApiDocument } from '../../src/web/openapi.js';
import { CONTROLLERS, endpoints } from '../../src/web/web.module.js';
import { testApi } from '../support/web.js';

/** Every route that Nest's own decorators have put on the controllers. */
function nestRoutes(): string[] {
  return CONTROLLERS.flatMap((controller) =>
    Object.values(Object.getOwnPropertyDescriptors(controller.prototype as object)).flatMap(({ value }) => {
      const [path, method] =
        typeof value === 'function'
          ? [Reflect.getMetadata('path', value) as unknown, Reflect.getMetadata('method', value) as unknown]
          : [];
      return typeof path === 'string' && typeof method === 'number'
        ? [`${RequestMethod[method]} ${path.replace(/:(\w+)/g, '{$1}')}`]
        : [];
    }),
  ).sort();
}

describe('the OpenAPI document', async () => {
  const api = await testApi();
  const document = async (): Promise<OpenApiDocument> =>
    (await api.call<OpenApiDocument>('GET', '/openapi.json', { key: null })).body;

  it('holds every route, and only those', async () => {
    const { paths, openapi } = await document();
    const described = Object.entries(paths)
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
      .sort();
    expect(openapi).toBe('3.1.0');
    expect(described).toEqual(nestRoutes());
    expect(described.length).toBeGreaterThan(25);
    for (const route of described) {
      const [method, path] = route.split(' ') as [string, string];
      expect(
        api.app
          .getHttpAdapter()
          .getInstance()
          .hasRoute({ method: method as 'GET', url: path.replace(/\{(\w+)\}/g, ':$1') }),
        route,
      ).toBe(true);
    }
  });

  it('protects everything below /v1, and writes take an Idempotency-Key', async () => {
    for (const endpoint of endpoints()) {
      expect(endpoint.access === 'open', endpoint.path).toBe(!/^\/(v1|scim\/v2)\//.test(endpoint.path));
      const reads =
        endpoint.method === 'GET' ||
        [
          '/v1/quotes',
          '/v1/placements',
          '/v1/throughput-predictions',
          '/v1/rules/preview',
          '/v1/policies/validate',
          '/v1/configuration/plan',
          '/admission/v1/reviews',
          '/admission/v1/reviews/{key}',
          '/session',
          '/session/oidc/logout',
        ].includes(endpoint.path);
      expect(endpoint.writes ?? false, `${endpoint.method} ${endpoint.path}`).toBe(!reads);
      if (!reads) expect(endpoint.access).not.toBe('viewer');
    }
  });

  it('has unique operations, and no reference that leads nowhere', async () => {
    const whole = await document();
    const operations = Object.values(whole.paths).flatMap((methods) => Object.values(methods));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    const references = [...JSON.stringify(whole).matchAll(/"\$ref":"([^"]+)"/g)].map(
      ([, reference]) => reference ?? '',
    );
    expect(references.length).toBeGreaterThan(20);
    for (const reference of new Set(references)) {
      const [, kind = '', name = ''] = /^#\/components\/(schemas|responses)\/(.+)$/.exec(reference) ?? [];
      expect([reference, Object.keys(whole.components[kind as 'schemas'] ?? {})]).toEqual([
        reference,
        expect.arrayContaining([name]),
      ]);
    }
  });

  it('describes requests by the schemas that validate them', async () => {
    const { paths, components } = await document();
    expect(components.schemas['QuoteRequest']).toMatchObject({
      additionalProperties: false,
      required: ['provider', 'sku', 'gpus', 'hours'],
    });
    expect(components.schemas['UsageItem']).toMatchObject({
      anyOf: [{ $ref: '#/components/schemas/UsageRecord' }, { $ref: '#/components/schemas/UsageEvent' }],
    });
    expect(paths['/v1/teams/{id}']?.['put']).toMatchObject({
      parameters: [
        { name: 'id', in: 'path', required: true },
        { name: 'Idempotency-Key', in: 'header' },
      ],
      requestBody: {
        description: 'Takes the answer of GET unchanged too. Has to be as in the address: id. Ignored: assignedBy.',
        content: {
          'application/json': {
            schema: { anyOf: [{ $ref: '#/components/schemas/TeamSettings' }, { $ref: '#/components/schemas/Team' }] },
          },
        },
      },
    });
    expect(paths['/v1/costs']?.['get']?.parameters.map(({ name }) => name)).toContain('group-by');
  });

  it('is a page that is whole without a script, and may load none but its own', async () => {
    const { text, headers } = await api.call('GET', '/docs', { key: null });
    expect(headers.get('content-type')).toContain('text/html');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; connect-src 'self'; require-trusted-types-for 'script'; style-src 'sha256-/,
    );
    // What the build makes is not there in this test.
    expect(text).not.toMatch(/<script|<link|<img|src=|https?:\/\/(?!127)[^<"]*\.(?:js|css)/);
    for (const { path } of endpoints()) expect(text).toContain(path);
    expect(text).toContain('id="status-409"');
  });
});

describe('answers', async () => {
  const api = await testApi();

  it('have the shape that the document gives them', async () => {
    await api.call('PUT', '/v1/teams/a', { body: {} });
    await api.call('PUT', '/v1/budgets/b', { body: { team: 'a', planned: { default: '5' } } });
    await api.call('POST', '/v1/usage', {
      body: [{ id: 'r1', provider: 'AWS', gpus: 1, start: '2026-10-05T00:00:00Z', end: '2026-10-05T01:00:00Z' }, {}],
    });
    await api.call('POST', '/v1/backtests', {
      body: { policy: 'idle-stop', teams: ['a'], from: '2026-10-05', to: '2026-10-05T01:00:00Z' },
    });
    await api.stores.alerts.raise(
      api.stores.db,
      'default',
      { kind: 'test', team: null, id: 'tried', by: 'test' },
      Date.UTC(2026, 9, 7),
    );
    const [raised] = await api.stores.alerts.list('default', {}, null, 1);
    for (const { method, path, answer } of endpoints()) {
      if (
        method !== 'GET' ||
        'media' in answer ||
        path.endsWith('/state') ||
        path === '/v1/savings/{action}' ||
        path.startsWith('/v1/recommendations/{id}') ||
        path === '/v1/actions/{id}'
      )
        continue;
      const reply = await api.call(
        method,
        path
          .replace('/teams/{id}', '/teams/a')
          .replace('/budgets/{id}', '/budgets/b')
          .replace('/policies/{name}', '/policies/idle-stop')
          .replace('/alerts/{id}', `/alerts/${raised?.alert.id}`)
          .replace('{id}', '1')
          .replace(/\/explain$/, '/explain?target=a')
          .replace(/\/search$/, '/search?words=a'),
      );
      expect(reply.status, path).toBe(200);
      const checked = answer.safeParse(reply.body);
      expect(checked.success ? [] : checked.error.issues, path).toEqual([]);
    }
  });
});
