/**
 * The API's input schemas from its OpenAPI document: the settings' forms are made from them, so that a field's name and
 * bounds are in one place. Loaded once, when the settings are opened.
 */
import type { Schema } from '../answers.js';
import { get } from '../api.js';

interface OpenApi {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

let document: Promise<OpenApi> | null = null;

/** A schema of the API by its name, with every reference in it resolved. */
export async function schemaNamed(name: string): Promise<Schema> {
  document ??= get<OpenApi>('/openapi.json').catch((trouble: unknown) => {
    document = null;
    throw trouble;
  });
  const { schemas } = (await document).components;
  const found = schemas[name];
  if (found === undefined) throw new Error(`the API has no schema ${name}`);
  return resolved(found, schemas);
}

type Node = Schema & { readonly $ref?: string };

function resolved({ $ref, ...schema }: Node, schemas: Readonly<Record<string, Schema>>): Schema {
  const target = $ref === undefined ? undefined : schemas[$ref.replace('#/components/schemas/', '')];
  if (target !== undefined) return { ...resolved(target, schemas), ...schema };
  const within = (one: Schema): Schema => resolved(one, schemas);
  return {
    ...schema,
    ...(schema.properties === undefined
      ? {}
      : { properties: Object.fromEntries(Object.entries(schema.properties).map(([key, of]) => [key, within(of)])) }),
    ...(schema.items === undefined ? {} : { items: within(schema.items) }),
    ...(schema.anyOf === undefined ? {} : { anyOf: schema.anyOf.map(within) }),
    ...(typeof schema.additionalProperties === 'object'
      ? { additionalProperties: within(schema.additionalProperties) }
      : {}),
  };
}

type Values = Readonly<Record<string, unknown>>;

/** Drops the fields of an answer that requests do not have. */
export const writable = (schema: Schema, answer: Values): Values =>
  Object.fromEntries(Object.entries(answer).filter(([name]) => schema.properties?.[name] !== undefined));

/**
 * The body to send: an emptied field is null where the schema takes it, since an absent one stays unchanged or has its
 * default.
 */
export function emptied(schema: Schema, before: Values, values: Values): Values {
  const nulls = Object.entries(schema.properties ?? {}).filter(
    ([name, of]) =>
      values[name] === undefined && (before[name] ?? null) !== null && of.anyOf?.some(({ type }) => type === 'null'),
  );
  return { ...values, ...Object.fromEntries(nulls.map(([name]) => [name, null])) };
}
