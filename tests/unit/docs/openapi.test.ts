/**
 * docs/reference/openapi.json is the API as callers know it. A change that breaks them is refused here, unless the
 * change log names the operation under Breaking; BURSAR_WRITE_DOCS=1 records what is left.
 */
import 'reflect-metadata';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { z, type ZodType } from 'zod';
import { recordSchema } from '../../../src/formats/bursar.js';
import { recordSchema as eventSchema } from '../../../src/formats/cloudevents.js';
import type { DescribedEndpoint } from '../../../src/web/endpoint.js';
import { openApiOf } from '../../../src/web/openapi.js';
import { describeApi } from '../../../src/web/web.module.js';
import { pythonClient, typescriptClient } from '../../support/clients.js';
import { breaksBetween, unannounced, type Described, type Schema } from '../../support/openapi-breaks.js';
import { expectPage } from '../../support/reference-page.js';
import { ROOT } from '../../support/source.js';

const NAME = 'openapi.json';

it('breaks no caller without a word in the change log, and is recorded', async () => {
  const now = describeApi({ recordSchemas: { record: recordSchema, event: eventSchema } });
  const recorded = await readFile(path.join(ROOT, 'docs/reference', NAME), 'utf8').catch(() => null);
  const changeLog = await readFile(path.join(ROOT, 'CHANGELOG.md'), 'utf8');
  const plain = JSON.parse(JSON.stringify(now)) as Described;
  if (recorded !== null) {
    const breaks = breaksBetween(JSON.parse(recorded) as Described, plain);
    expect(unannounced(breaks, changeLog)).toEqual([]);
  }
  await expectPage(NAME, `${JSON.stringify(now, null, 1)}\n`);
});

it.each([
  ['typescript', 'bursar.ts', typescriptClient],
  ['python', 'bursar.py', pythonClient],
] as const)('is what the client in %s is made of', async (folder, file, make) => {
  const document = JSON.parse(await readFile(path.join(ROOT, 'docs/reference', NAME), 'utf8')) as Described;
  const text = make(document, await readFile(path.join(ROOT, 'clients', folder, 'runtime.txt'), 'utf8'));
  await expectPage(path.join('../../clients', folder, file), text);
});

/** Files of any kind, and pictures: no text could stand for them. */
const WITHOUT = new Set(['*/*', 'image/png']);

it('has an example of every request and answer, each valid by its own schema', () => {
  const document = JSON.parse(
    JSON.stringify(describeApi({ recordSchemas: { record: recordSchema, event: eventSchema } })),
  ) as Described & { readonly servers: unknown; readonly components: { readonly responses: object } };
  expect(document.servers).toMatchObject([{ url: '/' }]);
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  (addFormats as unknown as (given: Ajv2020) => void)(ajv);
  ajv.addSchema(document, 'api');
  const problems: string[] = [];
  let counted = 0;
  const look = (value: unknown, at: string, name = ''): void => {
    if (typeof value !== 'object' || value === null) return;
    if (name.includes('/') && !name.startsWith('/')) {
      counted += 1;
      if (!('example' in value)) {
        if (!WITHOUT.has(name) || at.includes('requestBody')) problems.push(`${at} has no example`);
      } else if (!ajv.validate({ $ref: `api#${at}/schema` }, value.example))
        problems.push(`${at}: ${ajv.errorsText()}`);
      return;
    }
    for (const [inner, one] of Object.entries(value))
      look(one, `${at}/${encodeURIComponent(inner.replaceAll('~', '~0').replaceAll('/', '~1'))}`, inner);
  };
  look(document.paths, '/paths');
  look(document.components.responses, '/components/responses');
  expect(problems).toEqual([]);
  expect(counted).toBeGreaterThan(200);
});

it('calls its operations in camel case, the verb last, each once', () => {
  const { paths } = describeApi({ recordSchemas: { record: recordSchema, event: eventSchema } });
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
  expect(ids.filter((id) => !/^[a-z]+([A-Z][a-z0-9]*)*$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toContain('teamsSave');
});

it('has one shape behind each name of a schema', () => {
  const read = (address: string, answer: ZodType): DescribedEndpoint => ({
    method: 'GET',
    path: address,
    summary: 'Reads',
    access: 'read',
    answer,
    handler: 'ThingsController.read',
    inputs: { path: new Map() },
  });
  const thing = (name: string): ZodType => z.strictObject({ [name]: z.string() }).meta({ id: 'Thing' });
  expect(() => openApiOf([read('/a', thing('a')), read('/b', thing('b'))], '1')).toThrow(
    'Thing names two schemas of the API',
  );
});

/** A document with one operation. */
const of = (request: Schema, answer: Schema, parameters: object[] = []): Described =>
  ({
    paths: {
      '/x': {
        post: {
          parameters,
          requestBody: { content: { 'application/json': { schema: request } } },
          responses: { 200: { content: { 'application/json': { schema: answer } } } },
        },
      },
    },
    components: { schemas: { Self: { type: 'object', properties: { inner: { $ref: '#/components/schemas/Self' } } } } },
  }) as Described;
const text: Schema = { type: 'string' };
const object = (properties: Record<string, Schema>, required: string[] = []): Schema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const query = (name: string, over: object = {}): object => ({ in: 'query', name, schema: text, ...over });

describe('what breaks a caller', () => {
  it.each<[string, Described, Described, string[]]>([
    ['a request that takes more', of(object({ a: text }), text), of(object({ a: text, b: text }), text), []],
    [
      'a new required field',
      of(object({ a: text }), text),
      of(object({ a: text, b: text }, ['b']), text),
      ['the body/b is needed now'],
    ],
    ['a field that is taken no more', of(object({ a: text }), text), of(object({}), text), ['the body/a is gone']],
    [
      'an enum that narrows',
      of({ enum: ['a', 'b'] }, text),
      of({ enum: ['a'] }, text),
      ['the body takes no b any more'],
    ],
    ['an enum that widens', of({ enum: ['a'] }, text), of({ enum: ['a', 'b'] }, text), []],
    ['a text that becomes an enum', of(text, text), of({ ...text, enum: ['a'] }, text), ['the body takes only a now']],
    ['another type', of(text, text), of({ type: 'number' }, text), ['the body was string, is number']],
    [
      'null that is taken no more',
      of({ type: ['string', 'null'] }, text),
      of(text, text),
      ['the body was null, is string'],
    ],
    ['an answer without a field', of(text, object({ a: text }, ['a'])), of(text, object({})), ['the answer/a is gone']],
    [
      'a field that may be absent',
      of(text, object({ a: text }, ['a'])),
      of(text, object({ a: text })),
      ['the answer/a may be absent now'],
    ],
    ['an answer with more', of(text, object({ a: text })), of(text, object({ a: text, b: text }, ['b'])), []],
    [
      'an answer that may be null',
      of(text, text),
      of(text, { anyOf: [text, { type: 'null' }] }),
      ['the answer was string, is null'],
    ],
    [
      'a field within a list',
      of(text, { type: 'array', items: object({ a: text }) }),
      of(text, { type: 'array', items: object({}) }),
      ['the answer[]/a is gone'],
    ],
    [
      'a shape that holds itself',
      of(text, { $ref: '#/components/schemas/Self' }),
      of(text, { $ref: '#/components/schemas/Self' }),
      [],
    ],
    ['a parameter that is gone', of(text, text, [query('q')]), of(text, text), ['takes no query parameter q any more']],
    [
      'a parameter that is needed',
      of(text, text),
      of(text, text, [query('q', { required: true })]),
      ['needs the query parameter q now'],
    ],
    ['a route that is gone', of(text, text), { ...of(text, text), paths: {} }, ['is gone']],
  ])('%s', (_, old, now, found) => {
    expect(breaksBetween(old, now)).toEqual(found.map((what) => `POST /x: ${what}`));
  });

  it('is allowed where the change log names the operation under Breaking, and only there', () => {
    const log = (breaking: string, added: string): string =>
      `# Changes\n\n## Unreleased\n\n### Breaking\n\n- ${breaking}\n\n### Added\n\n- ${added}\n\n## 0.1\n\n### Breaking\n\n- \`POST /y\`\n`;
    const breaks = ['POST /x: is gone'];
    expect(unannounced(breaks, log('`POST /x` is gone.', ''))).toEqual([]);
    expect(unannounced(breaks, log('', '`POST /x`'))).toEqual(breaks);
    expect(unannounced(['POST /y: is gone'], log('', ''))).toEqual(['POST /y: is gone']);
  });
});
