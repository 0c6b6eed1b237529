/**
 * The example of every request is one that the API takes: sent word for word, none is refused for what it says. Where
 * it names what is not there, or needs a file first, that is another answer.
 */
import { expect, it } from 'vitest';
import { recordSchema } from '../../src/formats/bursar.js';
import { recordSchema as eventSchema } from '../../src/formats/cloudevents.js';
import { withExample } from '../../src/web/openapi-examples.js';
import { REQUEST_EXAMPLES } from '../../src/web/openapi-requests.js';
import { describeApi } from '../../src/web/web.module.js';
import { testApi } from '../support/web.js';

interface Operation {
  readonly parameters: readonly { readonly in: string; readonly name: string; readonly schema: object }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

const api = await testApi();
const { paths } = JSON.parse(
  JSON.stringify(describeApi({ recordSchemas: { record: recordSchema, event: eventSchema } })),
) as { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, one]) => ({ name: `${method.toUpperCase()} ${path}`, method, path, ...one })),
);
/** A delivery is committed once it has files, and a metric is of a workload that was seen. */
const NEEDS_MORE = new Set(['POST /v1/deliveries/{name}/commit', 'POST /v1/workload-metrics']);
/** What a path needs that its schema does not say. */
const PARTS: Readonly<Record<string, string>> = { 'PUT /v1/roles/{name}': 'custom:reader' };

const exampleOf = (schema: object): string =>
  String(
    (withExample({ 'application/json': { schema } } as never, {})['application/json'] as { example: unknown }).example,
  );

it('has own examples of operations that are there, and no others', () => {
  const names = new Set(operations.map(({ name }) => name));
  expect(Object.keys(REQUEST_EXAMPLES).filter((name) => !names.has(name))).toEqual([]);
});

it('is taken', async () => {
  for (const [at, body] of [
    ['/v1/teams/ai', {}],
    ['/v1/teams/research', { parent: 'ai' }],
    ['/v1/policies/nights', { policy: 'idle-stop', teams: ['research'], mode: 'observe' }],
  ] as const)
    expect(await api.call('PUT', at, { body })).toMatchObject({ status: 200 });
  const refused: unknown[] = [];
  let sent = 0;
  for (const { name, method, path, parameters, requestBody } of operations) {
    const example = requestBody?.content['application/json']?.example;
    if (example === undefined || !path.startsWith('/v1/') || NEEDS_MORE.has(name)) continue;
    const address = path.replace(/\{(\w+)\}/g, (_, part: string) => {
      const schema = parameters.find((one) => one.in === 'path' && one.name === part)?.schema ?? {};
      return encodeURIComponent(PARTS[name] ?? exampleOf(schema));
    });
    const { status, body } = await api.call<{ problems: unknown }>(method.toUpperCase(), address, { body: example });
    sent += 1;
    if (status === 400 || status >= 500) refused.push([name, address, status, body]);
  }
  expect(refused).toEqual([]);
  expect(sent).toBeGreaterThan(39);
});
