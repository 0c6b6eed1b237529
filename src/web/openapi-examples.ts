/**
 * An example of each shape that the API takes or answers, made from its schema, so that it cannot go stale: the first
 * value of an enum, a likely word for a field of that name, every field of an object.
 *
 * Pure. The invariant, held by a test: an example is valid by its own schema.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** Words by the names of fields, where the schema takes them. */
const BY_NAME: Readonly<Record<string, string>> = {
  team: 'research',
  teams: 'research',
  parent: 'ai',
  currency: 'USD',
  zone: 'Europe/Berlin',
  provider: 'AWS',
  region: 'us-east-1',
  sku: 'p5.48xlarge',
  gpuModel: 'H100',
  account: '123456789012',
  factor: '1.15',
  ratio: '0.8',
  name: 'research',
  reason: 'a drill',
  month: '2026-10',
  day: '2026-10-01',
  from: '2026-10-01',
  to: '2026-11-01',
};

/** Words that match some pattern, the plainest first. */
const WORDS = [
  'research',
  'USD',
  '12.50',
  '2026-10-01',
  '2026-10',
  '2026-10-01T00:00:00Z',
  '08:00',
  'act-0123456789abcdef',
  'rec-0123456789abcdef',
  'alr-0123456789abcdef',
  'mute-0123456789abcdef',
  'custom:reader',
  '0a1b2c3d4e5f',
  'C0123ABCD',
  '42',
  'a'.repeat(64),
];
const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-10-01T00:00:00Z',
  date: '2026-10-01',
  email: 'ada@example.com',
  uri: 'https://bursar.example.com',
  uuid: '123e4567-e89b-42d3-a456-426614174000',
};
const MOST_DEPTH = 12;

type Schemas = Readonly<Record<string, JsonObject>>;

/** @param schemas the components that it refers to */
function exampleOf(schema: JsonObject, schemas: Schemas, name = '', depth = 0): Json {
  const reference = schema['$ref'];
  if (typeof reference === 'string')
    return exampleOf(schemas[reference.replace('#/components/schemas/', '')] ?? {}, schemas, name, depth + 1);
  for (const known of ['example', 'const', 'default'] as const) if (schema[known] !== undefined) return schema[known];
  const { enum: values, anyOf, oneOf } = schema as { enum?: Json[]; anyOf?: JsonObject[]; oneOf?: JsonObject[] };
  if (values !== undefined) return values[0] ?? null;
  const some = anyOf ?? oneOf;
  if (some !== undefined) return exampleOf(some.find((one) => one['type'] !== 'null') ?? {}, schemas, name, depth + 1);
  return ofType(schema, schemas, name, depth);
}

function ofType(schema: JsonObject, schemas: Schemas, name: string, depth: number): Json {
  const { type } = schema;
  const kind = Array.isArray(type) ? (type as string[]).find((one) => one !== 'null') : type;
  switch (kind) {
    case 'string':
      return textOf(schema, name);
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array': {
      const isDeep = depth > MOST_DEPTH && Number(schema['minItems'] ?? 0) === 0;
      const items = schema['items'] as JsonObject | undefined;
      return isDeep || items === undefined || schema['maxItems'] === 0
        ? []
        : Array.from({ length: Math.max(1, Number(schema['minItems'] ?? 1)) }, () =>
            exampleOf(items, schemas, name, depth + 1),
          );
    }
    default:
      return objectOf(schema, schemas, depth);
  }
}

function objectOf(schema: JsonObject, schemas: Schemas, depth: number): JsonObject {
  const required = (schema['required'] ?? []) as readonly string[];
  return Object.fromEntries(
    Object.entries((schema['properties'] ?? {}) as Schemas)
      .filter(([name]) => depth <= MOST_DEPTH || required.includes(name))
      .map(([name, one]) => [name, exampleOf(one, schemas, name, depth + 1)]),
  );
}

function numberOf(schema: JsonObject): number {
  const least = Number(schema['minimum'] ?? -Infinity);
  const above = Number(schema['exclusiveMinimum'] ?? -Infinity);
  const most = Math.min(Number(schema['maximum'] ?? Infinity), Number(schema['exclusiveMaximum'] ?? Infinity));
  return Math.min(Math.max(1, least, above === -Infinity ? above : above + 1), most);
}

function textOf(schema: JsonObject, name: string): string {
  const format = schema['format'];
  const [least, most] = [Number(schema['minLength'] ?? 0), Number(schema['maxLength'] ?? Infinity)];
  const fits = (word: string): boolean =>
    word.length >= least &&
    word.length <= most &&
    patternsOf(schema).every((pattern) => new RegExp(pattern, 'u').test(word));
  const words = [
    ...(Object.hasOwn(BY_NAME, name) ? [BY_NAME[name] ?? ''] : []),
    ...(typeof format === 'string' && FORMATS[format] !== undefined ? [FORMATS[format]] : []),
    ...WORDS,
    'a'.repeat(Math.min(least, 1000)),
  ];
  const known = typeof format === 'string' ? FORMATS[format] : undefined;
  return known !== undefined && fits(known) ? known : (words.find(fits) ?? '');
}

const patternsOf = ({ pattern, allOf }: JsonObject): string[] => [
  ...(typeof pattern === 'string' ? [pattern] : []),
  ...((allOf ?? []) as readonly JsonObject[]).flatMap(patternsOf),
];

/** Adds an example to each content that has a schema. @param own takes the place of the one that is made */
export function withExample(content: JsonObject, schemas: Schemas, own?: Json): JsonObject {
  return Object.fromEntries(
    Object.entries(content).map(([media, described]) => {
      const { schema } = described as { readonly schema?: JsonObject };
      const isJson = media.includes('json') && schema !== undefined;
      return [media, isJson ? { ...(described as JsonObject), example: own ?? exampleOf(schema, schemas) } : described];
    }),
  );
}

/** For media other than the API's JSON: a few lines of each. Pictures and other files have none. */
const BY_MEDIA: Readonly<Record<string, Json>> = {
  'text/html': '<!doctype html><html lang="en"><title>Bursar</title></html>',
  'text/csv': 'BillingAccountId,BilledCost,BillingCurrency\n123456789012,12.50,USD\n',
  'text/event-stream': 'event: load\ndata: {"waiting":3,"parked":0,"stages":[]}\n\nevent: done\ndata: {}\n\n',
  'application/x-ndjson':
    '{"seq":"1","at":"2026-10-01T00:00:00Z","actor":"key:0a1b2c3d4e5f (ada)","verb":"team.save"}\n',
  'application/scim+json': {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User'],
    id: '123e4567-e89b-42d3-a456-426614174000',
    userName: 'ada@example.com',
    active: true,
  },
  'image/svg+xml': '<svg xmlns="http://www.w3.org/2000/svg" width="760" height="300"></svg>',
};

/** `example` for a media type, where there is one. @param own this answer's example, which comes first */
export function mediaExample(media: string, own?: Json): JsonObject {
  const example = own ?? BY_MEDIA[media];
  return example === undefined ? {} : { example };
}
