/**
 * What Microsoft's own packages say of Azure's requests and replies (tests/fixtures/azure-model), and what in a request,
 * a reply or a schema is not as they say.
 *
 * Sends nothing. The invariant: a name that the model does not have is a problem, wherever it stands.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { OPERATIONS, WORDS, type Operation } from '../../src/providers/azure/operations.js';
import { ROOT } from './source.js';

export type ModelType =
  | 'string'
  | 'number'
  | 'boolean'
  | 'any'
  | { readonly type: string }
  | { readonly words: readonly string[] }
  | { readonly array: ModelType }
  | { readonly map: ModelType }
  | { readonly fields: Readonly<Record<string, ModelType>> };

export interface ModelOperation {
  readonly from: string;
  readonly apiVersion: string;
  readonly query: Readonly<Record<string, ModelType>>;
  readonly body: ModelType | null;
  readonly reply: ModelType | null;
  readonly statuses: readonly string[];
}

export interface Model {
  readonly operations: Readonly<Record<string, ModelOperation>>;
  readonly types: Readonly<Record<string, Readonly<Record<string, ModelType>>>>;
  readonly words: Readonly<Record<string, readonly string[]>>;
}

export const MODEL = JSON.parse(
  readFileSync(path.join(ROOT, 'tests/fixtures/azure-model/model.json'), 'utf8'),
) as Model;

/** A field of a type; undefined: it has none of that name. 'any' has every field. */
function fieldsOf(type: ModelType): Readonly<Record<string, ModelType>> | null {
  if (typeof type === 'string') return null;
  if ('type' in type) return MODEL.types[type.type] ?? null;
  return 'fields' in type ? type.fields : null;
}

/** What a JSON value has that the model does not know, or knows of another type. */
export function problemsOfValue(type: ModelType, value: unknown, at = ''): string[] {
  if (value === null || value === undefined || type === 'any') return [];
  if (typeof type === 'string')
    return typeof value === type ? [] : [`${at} is ${typeof value}, and the model has ${type}`];
  if ('words' in type)
    return type.words.includes(String(value)) ? [] : [`${at} is ${String(value)}, none of ${type.words.join(', ')}`];
  if ('array' in type)
    return Array.isArray(value)
      ? value.flatMap((one, index) => problemsOfValue(type.array, one, `${at}[${index}]`))
      : [`${at} is no list`];
  if (typeof value !== 'object' || Array.isArray(value)) return [`${at} is no object`];
  return Object.entries(value).flatMap(([name, one]: [string, unknown]) => {
    if ('map' in type) return problemsOfValue(type.map, one, `${at}.${name}`);
    const field = fieldsOf(type)?.[name];
    return field === undefined ? [`${at}.${name} is not in the model`] : problemsOfValue(field, one, `${at}.${name}`);
  });
}

export interface Json {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, Json>>;
  readonly items?: Json;
  readonly additionalProperties?: Json | boolean;
  readonly anyOf?: readonly Json[];
}

/** What a schema of ours reads or writes that the model does not have, or has of another type. */
export function problemsOfSchema(type: ModelType, schema: z.ZodType, at: string): string[] {
  return walk(type, z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json, at);
}

/** The type of a schema that may also be null. */
export const typeIn = ({ type }: Json): string | undefined =>
  typeof type === 'string' ? type : type?.find((one) => one !== 'null');

function walk(type: ModelType, schema: Json, at: string): string[] {
  if (schema.anyOf !== undefined)
    return schema.anyOf.filter((one) => one.type !== 'null').flatMap((one) => walk(type, one, at));
  if (type === 'any') return [];
  if (schema.properties !== undefined)
    return Object.entries(schema.properties).flatMap(([name, one]) => {
      const field = fieldsOf(type)?.[name];
      return field === undefined ? [`${at}.${name} is not in the model`] : walk(field, one, `${at}.${name}`);
    });
  const own = typeIn(schema);
  if (own === 'array')
    return typeof type === 'object' && 'array' in type
      ? walk(type.array, schema.items ?? {}, `${at}[]`)
      : [`${at} is a list here, and none in the model`];
  if (typeof schema.additionalProperties === 'object')
    return typeof type === 'object' && 'map' in type
      ? walk(type.map, schema.additionalProperties, `${at}.*`)
      : [`${at} is a map here, and none in the model`];
  if (own === undefined) return schema.const === undefined ? [`${at} is read whole`] : [];
  const wanted = typeof type === 'object' && 'words' in type ? 'string' : type;
  if (typeof schema.const === 'string' && typeof type === 'object' && 'words' in type)
    return type.words.includes(schema.const) ? [] : [`${at} is ${schema.const}, none of ${type.words.join(', ')}`];
  return wanted === own ? [] : [`${at} is ${own} here, and ${JSON.stringify(type)} in the model`];
}

/** What in the table of requests is not as the model has it: of every request, parameter, field and word. */
export function problemsOfTable(
  operations: Readonly<Record<string, Operation>> = OPERATIONS,
  words: Readonly<Record<string, readonly string[]>> = WORDS,
): string[] {
  const ofOperations = Object.entries(operations).flatMap(([name, one]): string[] => {
    const model = MODEL.operations[`${one.method} ${one.path}`];
    if (model === undefined) return [`${name}: ${one.method} ${one.path} is not in the model`];
    const reads = z.toJSONSchema(one.reply, { io: 'input', unrepresentable: 'any' }) as Json;
    const readsNothing = reads.type === undefined && reads.properties === undefined && reads.anyOf === undefined;
    return [
      ...(one.apiVersion === model.apiVersion
        ? []
        : [`${name}: api-version ${one.apiVersion}, and the model has ${model.apiVersion}`]),
      ...one.query
        .filter((parameter) => model.query[parameter] === undefined)
        .map((parameter) => `${name}: the parameter ${parameter} is not in the model`),
      ...(one.body === null
        ? []
        : model.body === null
          ? [`${name}: it has no body in the model`]
          : problemsOfSchema(model.body, one.body, `${name}: body`)),
      ...(readsNothing
        ? []
        : model.reply === null
          ? [`${name}: it has no reply in the model`]
          : problemsOfSchema(model.reply, one.reply, `${name}: reply`)),
    ];
  });
  const ofWords = Object.entries(words).flatMap(([name, own]) =>
    own.filter((word) => MODEL.words[name]?.includes(word) !== true).map((word) => `${word} is no ${name}`),
  );
  return [...ofOperations, ...ofWords];
}

export interface Asked {
  /** As the table of requests names it. */
  readonly name: string;
  readonly model: ModelOperation;
  /** What the braces of the path stand for. */
  readonly values: Readonly<Record<string, string>>;
}

const FORMS = Object.entries(OPERATIONS).map(([name, { method, path: template }]) => {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, one]) => one ?? '');
  return { name, method, template, names, form: new RegExp(`^${template.replace(/\{\w+\}/g, '([^/]+)')}$`, 'i') };
});

/** The request of the model that one on the wire is, and what in it is not as the model has it. */
export function askedOf(method: string, url: URL, body: unknown): { asked: Asked | null; problems: string[] } {
  for (const one of FORMS) {
    const found = one.method === method ? one.form.exec(url.pathname) : null;
    const model = MODEL.operations[`${one.method} ${one.template}`];
    if (found === null || model === undefined) continue;
    const values = Object.fromEntries(
      one.names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? '').toLowerCase()]),
    );
    const version = url.searchParams.get('api-version');
    const problems = [
      ...(version === model.apiVersion ? [] : [`${one.name}: api-version ${String(version)}`]),
      ...[...url.searchParams].flatMap(([name, value]) =>
        name === 'api-version'
          ? []
          : model.query[name] === undefined
            ? [`${one.name}: the parameter ${name} is not in the model`]
            : problemsOfValue(model.query[name], value, `${one.name}: ${name}`),
      ),
      ...(body === null
        ? model.body === null
          ? []
          : [`${one.name}: it has no body`]
        : model.body === null
          ? [`${one.name}: it has a body, and none in the model`]
          : problemsOfValue(model.body, body, `${one.name}: body`)),
    ];
    return { asked: { name: one.name, model, values }, problems };
  }
  return { asked: null, problems: [`${method} ${url.pathname} is not in the model`] };
}
