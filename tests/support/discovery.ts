/**
 * Google's discovery documents as a yardstick: whether an operation, a request or a reply is one that they describe.
 *
 * It says what is wrong, as sentences; it decides nothing. What a schema of the documents leaves open (an opaque name)
 * is not judged. The documents: tests/fixtures/google-discovery.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { OPERATIONS, type Operation } from '../../src/providers/gcp/operations.js';
import { ROOT } from './source.js';

interface Field {
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly $ref?: string;
  readonly items?: Field;
  readonly properties?: Readonly<Record<string, Field>>;
  readonly additionalProperties?: Field;
}
interface Parameter extends Field {
  readonly location: 'path' | 'query';
  readonly required?: boolean;
}
interface Method {
  readonly httpMethod: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly scopes: readonly string[];
  readonly request?: string;
  readonly response: string;
}
interface Document {
  readonly servicePath: string;
  readonly methods: Readonly<Record<string, Method>>;
  readonly schemas: Readonly<Record<string, { readonly properties: Readonly<Record<string, Field>> }>>;
}

const document = (name: string): Document =>
  JSON.parse(readFileSync(path.join(ROOT, 'tests/fixtures/google-discovery', `${name}.json`), 'utf8')) as Document;
export const DOCUMENTS: readonly Document[] = [
  document('compute.v1'),
  document('cloudbilling.v1'),
  document('cloudresourcemanager.v3'),
];

/** Every operation of the part. */
export const allOperations = (): Operation[] =>
  Object.values(OPERATIONS).flatMap((one) => ('id' in one ? [one as Operation] : (Object.values(one) as Operation[])));

interface Found {
  readonly document: Document;
  readonly method: Method;
}
const found = (id: string): Found | null => {
  for (const one of DOCUMENTS) {
    const method = one.methods[id];
    if (method !== undefined) return { document: one, method };
  }
  return null;
};

/** What is wrong with an operation as it is written down. */
export function problemsOfOperation(operation: Operation, scopes: readonly string[]): string[] {
  const known = found(operation.id);
  if (known === null) return [`${operation.id} is no method`];
  const { document: of, method } = known;
  const problems: string[] = [];
  const say = (what: string): void => void problems.push(`${operation.id}: ${what}`);
  if (method.httpMethod !== operation.method) say(`${operation.method} is not ${method.httpMethod}`);
  if (method.path !== operation.path) say(`the path ${operation.path} is not ${method.path}`);
  for (const name of operation.query)
    if (method.parameters[name]?.location !== 'query') say(`${name} is no parameter of its query`);
  for (const [name, { location, required }] of Object.entries(method.parameters))
    if (required === true && location === 'query' && !operation.query.includes(name)) say(`${name} is missing`);
  for (const name of operation.body) {
    let at: Field | undefined = method.request === undefined ? undefined : { $ref: method.request };
    for (const part of name.split('.')) at = propertiesOf(of, at)?.[part];
    if (at === undefined) say(`${name} is no field of its body`);
  }
  if (!method.scopes.some((scope) => scopes.includes(scope))) say('no scope of the token is good for it');
  return [...problems, ...problemsOfShape(operation.reply, { $ref: method.response }, of, `${operation.id} reply`)];
}

/** What is wrong with the shape of a list's entries. @param list the list's name within each scope, or the reply */
export function problemsOfEntries(operation: Operation, list: string, entry: z.ZodType): string[] {
  const known = found(operation.id);
  if (known === null) return [`${operation.id} is no method`];
  const reply = propertiesOf(known.document, { $ref: known.method.response });
  const scope = propertiesOf(known.document, reply?.['items']?.additionalProperties);
  const items = (reply?.[list] ?? scope?.[list])?.items;
  if (items === undefined) return [`${operation.id}: ${list} is no list of its reply`];
  return problemsOfShape(entry, items, known.document, `${operation.id} ${list}`);
}

const propertiesOf = (of: Document, field: Field | undefined): Readonly<Record<string, Field>> | undefined =>
  field?.$ref === undefined ? field?.properties : of.schemas[field.$ref]?.properties;

interface Shape {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly anyOf?: readonly Shape[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape;
}

function problemsOfShape(schema: z.ZodType, field: Field, of: Document, where: string): string[] {
  const shape = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape;
  return compared(shape, field, of, where);
}

function compared(shape: Shape, field: Field, of: Document, where: string): string[] {
  if (Array.isArray(shape.type))
    return shape.type
      .filter((type) => type !== 'null')
      .flatMap((type: string) => compared({ ...shape, type }, field, of, where));
  if (shape.anyOf !== undefined)
    return shape.anyOf.filter(({ type }) => type !== 'null').flatMap((one) => compared(one, field, of, where));
  if (shape.enum !== undefined) {
    const words = field.enum ?? [];
    return shape.enum
      .filter((one) => one !== null && !words.includes(String(one)))
      .map((one) => `${where}: ${String(one)} is no word`);
  }
  if (shape.properties !== undefined) {
    const known = propertiesOf(of, field);
    if (known === undefined) return [`${where} is no object`];
    return Object.entries(shape.properties).flatMap(([name, inside]) => {
      const at = known[name];
      return at === undefined ? [`${where}.${name} is no field`] : compared(inside, at, of, `${where}.${name}`);
    });
  }
  if (typeof shape.additionalProperties === 'object')
    return field.additionalProperties === undefined
      ? [`${where} is no map`]
      : compared(shape.additionalProperties, field.additionalProperties, of, `${where}.*`);
  if (shape.type === 'array')
    return field.items === undefined
      ? [`${where} is no list`]
      : compared(shape.items ?? {}, field.items, of, `${where}[]`);
  if (shape.type === undefined) return [];
  const type = String(shape.type);
  const types = type === 'number' ? ['number', 'integer'] : [type];
  if (!types.includes(field.type ?? '')) return [`${where} is ${field.type ?? 'an object'}, not ${type}`];
  const isLong = field.format === 'int64' || field.format === 'uint64';
  return type === 'string' && (shape.pattern !== undefined) !== isLong
    ? [`${where} is ${isLong ? '' : 'not '}a number in a text`]
    : [];
}

/** A request that came, with the method that it is of. */
export interface Recognised {
  readonly id: string;
  readonly path: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

/** The method of a request; null: the documents have none. */
export function recognise(httpMethod: string, address: string, body: string): Recognised | null {
  const url = new URL(address, 'http://localhost');
  for (const of of DOCUMENTS) {
    for (const [id, method] of Object.entries(of.methods)) {
      if (method.httpMethod !== httpMethod) continue;
      const values = pathValues(`/${of.servicePath}${method.path}`, url.pathname);
      if (values === null) continue;
      const query = Object.fromEntries(url.searchParams);
      const problems = [
        ...Object.entries(values).flatMap(([name, value]) => misfits(name, value, method.parameters[name])),
        ...Object.entries(query).flatMap(([name, value]) => misfits(name, value, method.parameters[name])),
        ...Object.entries(method.parameters).flatMap(([name, { required }]) =>
          required === true && !(name in values) && !(name in query) ? [`${name} is missing`] : [],
        ),
        ...(body === ''
          ? []
          : method.request === undefined
            ? ['there is a body']
            : problemsOfValue(JSON.parse(body), { $ref: method.request }, of, 'body')),
      ];
      return { id, path: values, query, problems };
    }
  }
  return null;
}

/** What is wrong with a reply to a method. */
export function problemsOfReply(id: string, reply: unknown): string[] {
  const known = found(id);
  return known === null
    ? [`${id} is no method`]
    : problemsOfValue(reply, { $ref: known.method.response }, known.document, id);
}

function pathValues(template: string, pathname: string): Record<string, string> | null {
  const names: string[] = [];
  const pattern = template
    .replace(/[.*?^$()|[\]\\]/g, '\\$&')
    .replace(/\{(\+?)(\w+)\}/g, (_, whole: string, name: string) => {
      names.push(name);
      return whole === '' ? '([^/:]+)' : '(.+?)';
    });
  const match = new RegExp(`^${pattern}$`).exec(pathname);
  return match === null
    ? null
    : Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(match[at + 1] ?? '')]));
}

function misfits(name: string, value: string, parameter: Parameter | undefined): string[] {
  if (parameter === undefined) return [`${name} is no parameter`];
  const { type, enum: words, pattern } = parameter;
  if (words !== undefined && !words.includes(value)) return [`${name}: ${value} is no word`];
  if (type === 'boolean' && value !== 'true' && value !== 'false') return [`${name} is no boolean`];
  if (type === 'integer' && !/^-?\d+$/.test(value)) return [`${name} is no integer`];
  return pattern !== undefined && !new RegExp(`^(?:${pattern})$`).test(value) ? [`${name}: ${value} does not fit`] : [];
}

function problemsOfValue(value: unknown, field: Field, of: Document, where: string): string[] {
  if (field.$ref !== undefined && of.schemas[field.$ref] === undefined) return [];
  const known = propertiesOf(of, field);
  if (known !== undefined || field.additionalProperties !== undefined) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${where} is no object`];
    return Object.entries(value).flatMap(([name, inside]) => {
      const at = known?.[name] ?? field.additionalProperties;
      return at === undefined ? [`${where}.${name} is no field`] : problemsOfValue(inside, at, of, `${where}.${name}`);
    });
  }
  if (field.type === 'array')
    return Array.isArray(value)
      ? value.flatMap((one, at) => problemsOfValue(one, field.items ?? {}, of, `${where}[${at}]`))
      : [`${where} is no list`];
  if (field.type === 'string') {
    if (typeof value !== 'string') return [`${where} is no text`];
    if (field.enum !== undefined && !field.enum.includes(value)) return [`${where}: ${value} is no word`];
    const isLong = field.format === 'int64' || field.format === 'uint64';
    return isLong && !/^-?\d+$/.test(value) ? [`${where} is no number in a text`] : [];
  }
  if (field.type === 'boolean') return typeof value === 'boolean' ? [] : [`${where} is no boolean`];
  if (field.type === 'integer') return Number.isInteger(value) ? [] : [`${where} is no integer`];
  if (field.type === 'number') return typeof value === 'number' ? [] : [`${where} is no number`];
  return [];
}
