/**
 * What the official SDKs of Alibaba Cloud and Tencent Cloud say of requests and replies (tests/fixtures/rpc-models), and
 * what in a request or in a schema of a reply is not as they say.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { ROOT } from './source.js';

/** A type by its name, a list by its item, an object by its fields. */
type Type = string | readonly [Type] | { readonly [field: string]: Type };
interface Model {
  readonly request: Readonly<Record<string, Type>>;
  readonly reply: Type;
  readonly words: Readonly<Record<string, readonly (string | number)[]>>;
}

const modelOf = (file: string): Readonly<Record<string, Model>> =>
  JSON.parse(readFileSync(path.join(ROOT, 'tests/fixtures/rpc-models', `${file}.json`), 'utf8')) as Record<
    string,
    Model
  >;
export const MODELS = {
  'alibaba-ecs': modelOf('alibaba-ecs'),
  'alibaba-bss': modelOf('alibaba-bss'),
  'tencent-cvm': modelOf('tencent-cvm'),
};

/** What is wrong with the parameters of a request. A list of Alibaba's is `Name.1`, `Name.2`. */
export function problemsOfRequest({ request, words }: Model, params: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(params).flatMap(([sent, value]) => {
    const [, name = '', number] = /^(\w+?)(?:\.(\d+))?$/.exec(sent) ?? [];
    const type = request[name];
    if (type === undefined) return [`${sent} is no parameter`];
    const isList = number !== undefined || Array.isArray(value);
    if (isList !== Array.isArray(type)) return [`${sent} is ${isList ? 'a list' : 'no list'}`];
    const item = Array.isArray(type) ? (type[0] as string) : String(type);
    return [value].flat().flatMap((one) => {
      if (item === 'number' ? !/^\d+$/.test(String(one)) : typeof one !== item) return [`${sent} is no ${item}`];
      const known = words[name];
      return known === undefined || known.map(String).includes(String(one))
        ? []
        : [`${sent}: ${String(one)} is no word`];
    });
  });
}

interface Shape {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Shape[];
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly items?: Shape;
}

/** What a schema reads that the reply does not have, or has as another type. */
export const problemsOfReply = ({ reply }: Model, schema: z.ZodType): string[] =>
  compared(z.toJSONSchema(schema, { io: 'input' }) as Shape, reply, 'reply');

function compared(shape: Shape, type: Type, where: string): string[] {
  if (shape.anyOf !== undefined)
    return shape.anyOf.filter((one) => one.type !== 'null').flatMap((one) => compared(one, type, where));
  if (typeof shape.type === 'object')
    return shape.type.filter((one) => one !== 'null').flatMap((one) => compared({ ...shape, type: one }, type, where));
  if (shape.type === 'array')
    return Array.isArray(type) ? compared(shape.items ?? {}, type[0] as Type, `${where}[]`) : [`${where} is no list`];
  if (shape.type === undefined) return [];
  if (shape.properties === undefined) return shape.type === type ? [] : [`${where} is no ${shape.type}`];
  if (typeof type === 'string' || Array.isArray(type)) return [`${where} is no object`];
  const fields = type as Readonly<Record<string, Type>>;
  return Object.entries(shape.properties).flatMap(([name, inside]) => {
    const at = fields[name];
    return at === undefined ? [`${where}.${name} is no field`] : compared(inside, at, `${where}.${name}`);
  });
}
