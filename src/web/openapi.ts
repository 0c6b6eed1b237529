/** The OpenAPI 3.1 document, made from the endpoints' metadata: its schemas are those that validate. */
import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { z, type ZodType } from 'zod';
import { rolesWith } from '../core/scopes.js';
import type { DescribedEndpoint } from './endpoint.js';
import { mediaExample, withExample, type Json, type JsonObject } from './openapi-examples.js';
import { REQUEST_EXAMPLES } from './openapi-requests.js';
import { problemSchema } from './problem.js';
import { readBackText } from './read-back.js';

export type { Json, JsonObject } from './openapi-examples.js';

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters: readonly JsonObject[];
  readonly requestBody?: JsonObject;
  readonly responses: { readonly [status: string]: JsonObject };
  readonly security: readonly JsonObject[];
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly JsonObject[];
  readonly security: readonly JsonObject[];
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: {
    readonly schemas: { readonly [name: string]: JsonObject };
    readonly responses: { readonly [name: string]: JsonObject };
    readonly securitySchemes: JsonObject;
  };
}

const IDEMPOTENCY_KEY: JsonObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 200 },
  description: 'A request sent again with the same key works once; its answer is kept for 48 hours',
};

/** Possible errors, by status. */
export const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'The request is wrong; every problem is named',
  401: 'No API key, or one that does not hold',
  403: 'The key may not do this',
  404: 'There is no such thing',
  409: 'It contradicts what is there',
  408: 'The body comes too slowly',
  413: 'The body is too large',
  415: 'The media type is not taken',
  429: 'Too much was asked at once: try again after the seconds of Retry-After',
  503: 'A part that is needed cannot be reached: try again later',
};

/** On the answer to a write. */
const MONITOR: JsonObject = {
  Link: {
    description: 'A stream of events that ends when the work that follows is done',
    schema: { type: 'string' },
    example: '</v1/work/progress>; rel="monitor"',
  },
};

/** For a body whose form no schema describes. */
const BYTES: JsonObject = { type: 'string' };

const DESCRIPTION =
  'Keeps GPU cloud spending inside its budgets. Amounts are decimal strings, times ISO 8601 in UTC, intervals half-open.';

/** Schemas with an id become components, wherever they stand. One id is one shape: callers have one type for it. */
class Components {
  readonly schemas: Record<string, JsonObject> = {};

  /** The JSON Schema of what is sent (`input`) or answered (`output`). */
  schemaOf(schema: ZodType, io: 'input' | 'output'): JsonObject {
    const text = JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: 'any' })).replaceAll(
      '"#/$defs/',
      '"#/components/schemas/',
    );
    const {
      $schema: _,
      $defs,
      ...own
    } = JSON.parse(text) as Record<string, Json> & { $defs?: Record<string, JsonObject> };
    for (const [name, shape] of Object.entries($defs ?? {})) {
      if (!isDeepStrictEqual((this.schemas[name] ??= shape), shape))
        throw new Error(`broken invariant: ${name} names two schemas of the API`);
    }
    return own;
  }
}

/** @param fillings components that the endpoints name and others define */
export function openApiOf(
  endpoints: readonly DescribedEndpoint[],
  version: string,
  fillings: Readonly<Record<string, ZodType>> = {},
): OpenApiDocument {
  const components = new Components();
  const problem = components.schemaOf(problemSchema, 'output');
  const responses = Object.fromEntries(
    Object.keys(PROBLEMS).map((status) => [`Problem${status}`, problemResponse(Number(status), problem)]),
  );
  const read = ({ path }: DescribedEndpoint): DescribedEndpoint['answer'] | undefined =>
    endpoints.find((one) => one.path === path && one.method === 'GET')?.answer;
  const paths: Record<string, Record<string, Operation>> = {};
  for (const endpoint of endpoints)
    (paths[endpoint.path] ??= {})[endpoint.method.toLowerCase()] = operationOf(endpoint, components, read(endpoint));
  for (const [name, schema] of Object.entries(fillings))
    components.schemas[name] = components.schemaOf(schema, 'input');
  return {
    openapi: '3.1.0',
    info: { title: 'Bursar', version, description: DESCRIPTION },
    servers: [{ url: '/', description: 'The server that answers this document' }],
    security: [{ key: [] }],
    paths: exemplified(paths, components.schemas),
    components: {
      schemas: components.schemas,
      responses,
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key' } },
    },
  };
}

/** The answers that every operation has, by status. */
function problemResponse(status: number, schema: JsonObject): JsonObject {
  const description = PROBLEMS[status] ?? '';
  const example = {
    type: `/docs#status-${status}`,
    title: STATUS_CODES[status] ?? '',
    status,
    detail:
      status === 400 ? 'the request has 1 problem(s)' : `${description.charAt(0).toLowerCase()}${description.slice(1)}`,
    instance: '/v1/teams/research',
    requestId: '123e4567-e89b-42d3-a456-426614174000',
    problems: status === 400 ? [{ path: 'zone', message: 'is not an IANA time zone' }] : [],
  };
  return { description, content: { 'application/problem+json': { schema, example } } };
}

/** With an example of every request and answer. */
function exemplified(
  paths: OpenApiDocument['paths'],
  schemas: Readonly<Record<string, JsonObject>>,
): OpenApiDocument['paths'] {
  const operation = (name: string, { requestBody, responses, ...rest }: Operation): Operation => ({
    ...rest,
    ...(requestBody === undefined ? {} : { requestBody: shown(requestBody, REQUEST_EXAMPLES[name]) }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, one]) => [status, status.startsWith('2') ? shown(one) : one]),
    ),
  });
  const shown = (one: JsonObject, own?: Json): JsonObject =>
    one['content'] === undefined ? one : { ...one, content: withExample(one['content'] as JsonObject, schemas, own) };
  return Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, one]) => [method, operation(`${method.toUpperCase()} ${path}`, one)]),
      ),
    ]),
  );
}

/** `TeamsController.save` as `teamsSave`. */
const operationIdOf = (handler: string): string =>
  handler
    .replace(/Controller\.(\w)/, (_, letter: string) => letter.toUpperCase())
    .replace(/^[A-Z]/, (letter) => letter.toLowerCase());

/** @param read what GET of the same address answers */
function operationOf(
  endpoint: DescribedEndpoint,
  components: Components,
  read: DescribedEndpoint['answer'] | undefined,
): Operation {
  const { inputs, answer, access } = endpoint;
  const content: JsonObject =
    'media' in answer
      ? {
          [answer.media]: {
            schema: answer.media.includes('json') ? {} : BYTES,
            ...mediaExample(answer.media, answer.example),
          },
        }
      : { 'application/json': { schema: components.schemaOf(answer as ZodType, 'output') } };
  const needs =
    access === 'open'
      ? []
      : access === 'known'
        ? ['Needs any key, or a session.']
        : [
            `Needs the scope ${access} (role ${rolesWith(access)})${endpoint.allTeams ? ', not restricted to teams' : ''}.`,
          ];
  const description = [...(endpoint.description === undefined ? [] : [endpoint.description]), ...needs].join(' ');
  const body = requestBodyOf(endpoint, components, read);
  const statuses = [
    400,
    429,
    503,
    ...(access === 'open' ? [] : [401, 403]),
    ...(inputs.path.size > 0 || endpoint.mayBeMissing === true ? [404] : []),
    ...(endpoint.writes ? [409] : []),
    ...(body === null ? [] : [408, 413, 415]),
  ];
  return {
    operationId: operationIdOf(endpoint.handler),
    summary: endpoint.summary,
    ...(description === '' ? {} : { description }),
    tags: [endpoint.path.split('/')[2] ?? 'process'],
    parameters: parametersOf(endpoint, components),
    ...(body === null ? {} : { requestBody: body }),
    responses: {
      [endpoint.status ?? 200]: {
        description: endpoint.status === 202 ? 'Taken: it is done later' : 'Done',
        ...(endpoint.writes === true && endpoint.path.startsWith('/v1/') ? { headers: MONITOR } : {}),
        ...(endpoint.status === 204 ? {} : { content }),
      },
      ...Object.fromEntries(
        statuses.sort((a, b) => a - b).map((status) => [status, { $ref: `#/components/responses/Problem${status}` }]),
      ),
    },
    // OpenAPI 3.1.0, "Security Requirement Object": for a key the list may name what it needs.
    security: access === 'open' ? [] : [{ key: access === 'known' ? [] : [access] }],
  };
}

function parametersOf({ inputs, writes }: DescribedEndpoint, components: Components): JsonObject[] {
  const path = [...inputs.path].map(
    ([name, schema]): JsonObject => ({
      name,
      in: 'path',
      required: true,
      schema: components.schemaOf(schema, 'input'),
    }),
  );
  const query = inputs.query === undefined ? {} : components.schemaOf(inputs.query, 'input');
  const required = (query['required'] ?? []) as readonly string[];
  const fields = Object.entries((query['properties'] ?? {}) as Record<string, JsonObject>).map(
    ([name, { description, ...schema }]): JsonObject => ({
      name,
      in: 'query',
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema,
    }),
  );
  return [...path, ...fields, ...(writes ? [IDEMPOTENCY_KEY] : [])];
}

function requestBodyOf(
  { inputs, takes, readBack }: DescribedEndpoint,
  components: Components,
  read: DescribedEndpoint['answer'] | undefined,
): JsonObject | null {
  if (takes === 'upload')
    return {
      required: true,
      description: 'The file as it is, plain or gzip',
      content: { '*/*': { schema: { type: 'string', format: 'binary' }, ...mediaExample('text/csv') } },
    };
  if (takes === 'bytes')
    return {
      required: true,
      description: 'The bytes that the signature is over',
      content: { 'application/x-www-form-urlencoded': { schema: { type: 'object' }, example: { payload: '{...}' } } },
    };
  if (inputs.body === undefined) return null;
  const settings = components.schemaOf(inputs.body, 'input');
  const schema =
    readBack === undefined || read === undefined || 'media' in read
      ? settings
      : { anyOf: [settings, components.schemaOf(read as ZodType, 'output')] };
  return {
    ...(readBack === undefined ? {} : { description: readBackText(readBack) }),
    required: !inputs.body.safeParse(undefined).success,
    content: Object.fromEntries(['application/json', ...(takes ?? [])].map((media) => [media, { schema }])),
  };
}
