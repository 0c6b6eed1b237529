/**
 * What of an API would break its callers: between two OpenAPI documents, the older one that they rely on.
 *
 * A caller sends what the old document let it send, and reads what the old one promised. So a request may take more and
 * never less, an answer may hold more and never less. It decides nothing; each break is a sentence that begins with the
 * operation.
 */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}
interface Operation {
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly schema?: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}
export interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

type Direction = 'request' | 'answer';

/** `GET /v1/teams: ...`, each break once. */
export function breaksBetween(old: Described, now: Described): string[] {
  const found = Object.entries(old.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, before]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const after = now.paths[path]?.[method];
      if (after === undefined) return [`${name}: is gone`];
      return new Comparison(old, now).operation(before, after).map((what) => `${name}: ${what}`);
    }),
  );
  return [...new Set(found)];
}

class Comparison {
  /** Pairs of references that are under way: a schema may hold itself. */
  private readonly open = new Set<string>();

  constructor(
    private readonly old: Described,
    private readonly now: Described,
  ) {}

  operation(before: Operation, after: Operation): string[] {
    const bodies = Object.entries(before.requestBody?.content ?? {}).flatMap(([media, { schema }]) => {
      const content = after.requestBody?.content?.[media];
      return content === undefined
        ? [`takes no ${media} any more`]
        : this.schemas(schema ?? {}, content.schema ?? {}, 'request', 'the body');
    });
    const required = before.requestBody === undefined && after.requestBody !== undefined ? ['needs a body now'] : [];
    return [...this.parameters(before, after), ...bodies, ...required, ...this.answers(before, after)];
  }

  private parameters({ parameters: before = [] }: Operation, { parameters: after = [] }: Operation): string[] {
    const same = (one: { in: string; name: string }) => (other: { in: string; name: string }) =>
      one.in === other.in && one.name === other.name;
    const gone = before.flatMap((one) => {
      const other = after.find(same(one));
      if (other === undefined) return [`takes no ${one.in} parameter ${one.name} any more`];
      return this.schemas(one.schema ?? {}, other.schema ?? {}, 'request', `the ${one.in} parameter ${one.name}`);
    });
    const needed = after
      .filter((one) => one.required === true && before.find(same(one))?.required !== true)
      .map(({ in: where, name }) => `needs the ${where} parameter ${name} now`);
    return [...gone, ...needed];
  }

  private answers(before: Operation, after: Operation): string[] {
    return Object.entries(before.responses)
      .filter(([status]) => status.startsWith('2'))
      .flatMap(([status, { content = {} }]) => {
        const response = after.responses[status];
        if (response === undefined) return [`does not answer ${status} any more`];
        return Object.entries(content).flatMap(([media, { schema }]) => {
          const other = response.content?.[media];
          if (other === undefined) return [`does not answer ${media} any more`];
          return this.schemas(schema ?? {}, other.schema ?? {}, 'answer', 'the answer');
        });
      });
  }

  /** What is lost of a value of this shape. */
  private schemas(before: Schema, after: Schema, direction: Direction, at: string): string[] {
    const key = `${before.$ref}|${after.$ref}|${direction}`;
    const isNamed = before.$ref !== undefined && after.$ref !== undefined;
    if (isNamed && this.open.has(key)) return [];
    if (isNamed) this.open.add(key);
    const olds = alternatives(resolved(before, this.old), this.old);
    const news = alternatives(resolved(after, this.now), this.now);
    // Each shape that may come must fit one that is expected.
    const [coming, expected] = direction === 'request' ? [olds, news] : [news, olds];
    const lost = coming.flatMap((one) => {
      const fits = expected.map((other) =>
        direction === 'request' ? this.shapes(one, other, direction, at) : this.shapes(other, one, direction, at),
      );
      return fits.reduce((least, fit) => (fit.length < least.length ? fit : least), fits[0] ?? [`${at} takes nothing`]);
    });
    if (isNamed) this.open.delete(key);
    return lost;
  }

  private shapes(before: Schema, after: Schema, direction: Direction, at: string): string[] {
    const typed = typeLost(before, after, direction, at);
    if (typed.length > 0) return typed;
    const lost = valuesLost(before, after, direction, at);
    const { properties: olds = {}, items } = before;
    const news = after.properties ?? {};
    for (const [name, one] of Object.entries(olds)) {
      const other = news[name];
      if (other !== undefined) lost.push(...this.schemas(one, other, direction, `${at}/${name}`));
      else if (direction === 'answer' || after.additionalProperties === false) lost.push(`${at}/${name} is gone`);
    }
    const [required, known] = direction === 'request' ? [after, before] : [before, after];
    for (const name of required.required ?? [])
      if (known.required?.includes(name) !== true && (direction === 'request' || name in news))
        lost.push(`${at}/${name} ${direction === 'request' ? 'is needed now' : 'may be absent now'}`);
    if (items !== undefined && after.items !== undefined)
      lost.push(...this.schemas(items, after.items, direction, `${at}[]`));
    const [rest, other] = [before.additionalProperties, after.additionalProperties];
    if (typeof rest === 'object' && typeof other === 'object')
      lost.push(...this.schemas(rest, other, direction, `${at}/*`));
    return lost;
  }
}

function resolved(schema: Schema, { components }: Described): Schema {
  let one = schema;
  for (let steps = 0; one.$ref !== undefined && steps < 20; steps += 1)
    one = components.schemas[one.$ref.replace('#/components/schemas/', '')] ?? {};
  return one;
}

/** A schema as the shapes that it allows, each of one type. */
function alternatives(schema: Schema, document: Described): Schema[] {
  const some = schema.anyOf ?? schema.oneOf;
  if (some !== undefined) return some.flatMap((one) => alternatives(resolved(one, document), document));
  if (Array.isArray(schema.type)) return (schema.type as string[]).map((type) => ({ ...schema, type }));
  return [schema];
}

function typeLost({ type: before }: Schema, { type: after }: Schema, direction: Direction, at: string): string[] {
  if (before === after) return [];
  const [given, wanted] = direction === 'request' ? [before, after] : [after, before];
  if (wanted === undefined || (given === 'integer' && wanted === 'number')) return [];
  return [`${at} was ${String(before ?? 'anything')}, is ${String(after ?? 'anything')}`];
}

/** Values that a request may no longer hold. An answer may hold new ones: callers pass over what they do not know. */
function valuesLost(before: Schema, after: Schema, direction: Direction, at: string): string[] {
  const valuesOf = ({ enum: some, const: one }: Schema): readonly unknown[] | null =>
    some ?? (one === undefined ? null : [one]);
  const [old, now] = [valuesOf(before), valuesOf(after)];
  if (direction === 'answer' || now === null) return [];
  if (old === null) return [`${at} takes only ${now.map(String).join(', ')} now`];
  const gone = old.filter((value) => !now.includes(value));
  return gone.length === 0 ? [] : [`${at} takes no ${gone.map(String).join(', ')} any more`];
}

/** The breaks that the change log does not name, by the operation, under Breaking of what is not released yet. */
export function unannounced(breaks: readonly string[], changeLog: string): string[] {
  const unreleased = /^## Unreleased\n([^]*?)(?=^## |$(?![^]))/m.exec(changeLog)?.[1] ?? '';
  const breaking = /^### Breaking\n([^]*?)(?=^### |$(?![^]))/m.exec(unreleased)?.[1] ?? '';
  return breaks.filter((one) => !breaking.includes(`\`${one.slice(0, one.indexOf(': '))}\``));
}
