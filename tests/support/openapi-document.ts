/**
 * An OpenAPI document as a yardstick: whether an operation, a shape, a request or a reply is one that it describes.
 *
 * It says what is wrong, as sentences; it decides nothing. Values are judged by Ajv. The documents:
 * tests/fixtures/neocloud-openapi.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import type { Entries, Operation } from '../../src/providers/neocloud/client.js';
import { ROOT } from './source.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
}
interface Described {
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<
    Record<string, { readonly in: string; readonly required: boolean; readonly schema: Schema }>
  >;
  readonly body: Schema | null;
  readonly replies: Readonly<Record<string, Schema | null>>;
}
interface Cut {
  readonly version: string;
  readonly servers: readonly string[];
  readonly operations: Readonly<Record<string, Described>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** A request that came, with the operation that it is of. */
export interface Recognised {
  readonly id: string;
  readonly path: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly problems: readonly string[];
}

export class OpenApiDocument {
  private readonly cut: Cut;
  private readonly ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });

  /** @param name of the file in tests/fixtures/neocloud-openapi, without `.json` */
  constructor(name: string) {
    const file = path.join(ROOT, 'tests/fixtures/neocloud-openapi', `${name}.json`);
    this.cut = JSON.parse(readFileSync(file, 'utf8')) as Cut;
    this.ajv.addSchema({ $id: 'document', components: this.cut.components });
  }

  get ids(): string[] {
    return Object.keys(this.cut.operations).sort();
  }

  get servers(): readonly string[] {
    return this.cut.servers;
  }

  /** What is wrong with an operation as it is written down. */
  problemsOfOperation(operation: Operation): string[] {
    const known = this.cut.operations[operation.id];
    if (known === undefined) return [`${operation.id} is no operation`];
    const problems: string[] = [];
    const say = (what: string): void => void problems.push(`${operation.id}: ${what}`);
    if (known.method !== operation.method) say(`${operation.method} is not ${known.method}`);
    if (known.path !== operation.path) say(`the path ${operation.path} is not ${known.path}`);
    for (const name of operation.query)
      if (known.parameters[name]?.in !== 'query') say(`${name} is no parameter of its query`);
    for (const [name, parameter] of Object.entries(known.parameters))
      if (parameter.required && parameter.in === 'query' && !operation.query.includes(name)) say(`${name} is missing`);
    if ((known.body === null) !== (operation.body === null)) say('it has a body, or has none');
    if (known.body !== null && operation.body !== null)
      problems.push(...this.compared(shapeOf(operation.body), known.body, `${operation.id} body`, 'sent'));
    const reply = known.replies['200'] ?? known.replies['204'];
    if (reply === undefined) say('it has no reply');
    else if (reply === null) {
      if (shapeOf(operation.reply).type !== 'null') say('its reply has no body');
    } else problems.push(...this.compared(shapeOf(operation.reply), reply, `${operation.id} reply`, 'read'));
    return problems;
  }

  /** What is wrong with the shape of a list's entries. */
  problemsOfEntries({ of, list, entry }: Entries): string[] {
    const reply = this.cut.operations[of.id]?.replies['200'];
    const at = reply ? this.fieldsOf(reply).properties[list] : undefined;
    const found = at === undefined ? undefined : this.plain(at);
    const items = found?.items ?? (typeof found?.additionalProperties === 'object' ? found.additionalProperties : null);
    if (!items) return [`${of.id}: ${list} is no list of its reply`];
    return this.compared(shapeOf(entry), items, `${of.id} ${list}`, 'read');
  }

  /** What is wrong with the shape of a failure's body. @param status as the document has it */
  problemsOfError(id: string, status: string, error: z.ZodType): string[] {
    const known = this.cut.operations[id]?.replies[status];
    return known ? this.compared(shapeOf(error), known, `${id} ${status}`, 'read') : [`${id} has no answer ${status}`];
  }

  /** The operation of a request; null: the document has none. */
  recognise(method: string, address: string, body: string): Recognised | null {
    const url = new URL(address, 'http://localhost');
    for (const [id, known] of Object.entries(this.cut.operations)) {
      const values = known.method === method ? pathValues(known.path, url.pathname) : null;
      if (values === null) continue;
      const query = [...url.searchParams.keys()];
      const sent: unknown = body === '' ? null : JSON.parse(body);
      const problems = [
        ...query
          .filter((name) => known.parameters[name]?.in !== 'query')
          .map((name) => `${id}: ${name} is no parameter`),
        ...Object.entries(known.parameters).flatMap(([name, { in: place, required }]) =>
          required && place === 'query' && !query.includes(name) ? [`${id}: ${name} is missing`] : [],
        ),
        ...(known.body === null
          ? sent === null
            ? []
            : [`${id}: there is a body`]
          : this.misfits(known.body, sent, `${id} body`)),
      ];
      return { id, path: values, body: sent, problems };
    }
    return null;
  }

  /** What is wrong with an answer. */
  problemsOfReply(id: string, status: number, body: unknown): string[] {
    const replies = this.cut.operations[id]?.replies ?? {};
    const schema = replies[String(status)] === undefined ? replies['default'] : replies[String(status)];
    if (schema === undefined) return [`${id} has no answer ${status}`];
    if (schema === null) return body === null ? [] : [`${id}: its answer ${status} has no body`];
    return this.misfits(schema, body, `${id} ${status}`);
  }

  private misfits(schema: Schema, value: unknown, where: string): string[] {
    const json = JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/');
    const check = this.ajv.compile(JSON.parse(json) as object);
    return check(value)
      ? []
      : (check.errors ?? []).map(({ instancePath, message }) => `${where}${instancePath} ${message}`);
  }

  private plain(schema: Schema): Schema {
    const name = schema.$ref?.slice(schema.$ref.lastIndexOf('/') + 1);
    if (name !== undefined) return this.plain(this.cut.components.schemas[name] ?? {});
    const [only, ...others] = (schema.anyOf ?? schema.allOf ?? []).filter(({ type }) => type !== 'null');
    return only !== undefined && others.length === 0 && schema.properties === undefined ? this.plain(only) : schema;
  }

  /** The properties of an object, with those of all of which it is made. */
  private fieldsOf(schema: Schema): { properties: Record<string, Schema>; required: string[] } {
    const plain = this.plain(schema);
    const parts = (plain.allOf ?? []).map((one) => this.fieldsOf(one));
    return {
      properties: Object.assign({}, ...parts.map(({ properties }) => properties), plain.properties) as Record<
        string,
        Schema
      >,
      required: [...parts.flatMap(({ required }) => required), ...(plain.required ?? [])],
    };
  }

  private mayBeNull(schema: Schema): boolean {
    const types = [schema, ...(schema.anyOf ?? [])].flatMap(({ type }) => type ?? []);
    return types.includes('null');
  }

  private compared(shape: Shape, schema: Schema, where: string, way: 'sent' | 'read'): string[] {
    if (Array.isArray(shape.type))
      return shape.type
        .filter((type) => type !== 'null')
        .flatMap((type: string) => this.compared({ ...shape, type }, schema, where, way));
    if (shape.anyOf !== undefined)
      return shape.anyOf.filter(({ type }) => type !== 'null').flatMap((one) => this.compared(one, schema, where, way));
    const known = this.plain(schema);
    const either = (known.anyOf ?? []).filter(({ type }) => type !== 'null');
    if (either.length > 0) return either.flatMap((one) => this.compared(shape, one, where, way));
    if (shape.enum !== undefined) return wordsCompared(shape.enum, known.enum ?? [], where, way);
    if (shape.properties !== undefined) return this.fieldsCompared(shape, schema, where, way);
    if (typeof shape.additionalProperties === 'object')
      return typeof known.additionalProperties === 'object'
        ? this.compared(shape.additionalProperties, known.additionalProperties, `${where}.*`, way)
        : [`${where} is no map`];
    if (shape.type === 'array')
      return known.items === undefined
        ? [`${where} is no list`]
        : this.compared(shape.items ?? {}, known.items, `${where}[]`, way);
    if (shape.type === undefined) return [];
    const types = [known.type ?? 'object'].flat();
    const fits = types.includes(String(shape.type)) || (shape.type === 'number' && types.includes('integer'));
    return fits ? [] : [`${where} is ${types.join('|')}, not ${String(shape.type)}`];
  }

  private fieldsCompared(shape: Shape, schema: Schema, where: string, way: 'sent' | 'read'): string[] {
    const { properties, required } = this.fieldsOf(schema);
    const problems = Object.entries(shape.properties ?? {}).flatMap(([name, inside]) => {
      const field = properties[name];
      if (field === undefined) return [`${where}.${name} is no field`];
      const isNeeded = way === 'read' && (shape.required ?? []).includes(name);
      return [
        ...(isNeeded && (!required.includes(name) || this.mayBeNull(field)) ? [`${where}.${name} may be absent`] : []),
        ...this.compared(inside, field, `${where}.${name}`, way),
      ];
    });
    const unsent = required.filter((name) => way === 'sent' && shape.properties?.[name] === undefined);
    return [...problems, ...unsent.map((name) => `${where}.${name} is missing`)];
  }
}

interface Shape {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Shape[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape;
}

const shapeOf = (schema: z.ZodType): Shape => z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape;

/** Of what is read all words are told apart; of what is sent each is one that the cloud takes. */
function wordsCompared(
  ours: readonly unknown[],
  theirs: readonly string[],
  where: string,
  way: 'sent' | 'read',
): string[] {
  const words = ours.filter((one) => one !== null).map(String);
  return [
    ...words.filter((one) => !theirs.includes(one)).map((one) => `${where}: ${one} is no word`),
    ...(way === 'sent'
      ? []
      : theirs.filter((one) => !words.includes(one)).map((one) => `${where}: ${one} is not told apart`)),
  ];
}

function pathValues(template: string, pathname: string): Record<string, string> | null {
  const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const values = new RegExp(`^${template.replace(/\{\w+\}/g, '([^/]+)')}$`).exec(pathname)?.slice(1);
  return values === undefined
    ? null
    : Object.fromEntries(names.map((name, at) => [name, decodeURIComponent(values[at] ?? '')]));
}
