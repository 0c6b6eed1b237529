/**
 * Clients of the API as text, made of its OpenAPI document: TypeScript with the types of every request and answer, and
 * Python with a method for every operation. Neither needs a package.
 */
import type { Described, Schema } from './openapi-breaks.js';

const MADE =
  'Made of docs/reference/openapi.json: tests/unit/docs/openapi.test.ts compares it, BURSAR_WRITE_DOCS=1 writes it anew.';

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: readonly {
    readonly in: string;
    readonly name: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> }>
  >;
}
interface Route extends Operation {
  readonly route: string;
  readonly method: string;
  readonly path: string;
  readonly body: Schema | null;
  /** Null: it is no JSON. */
  readonly answer: Schema | null;
  /** Of the answer. */
  readonly media: string;
}

const JSON_MEDIA = 'application/json';

function routesOf(document: Described): Route[] {
  return Object.entries(document.paths)
    .filter(([path]) => path.startsWith('/v1/'))
    .flatMap(([path, methods]) =>
      Object.entries(methods as unknown as Readonly<Record<string, Operation>>).map(([method, operation]): Route => {
        const done = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
        return {
          ...operation,
          route: `${method.toUpperCase()} ${path}`,
          method: method.toUpperCase(),
          path,
          body: operation.requestBody === undefined ? null : (operation.requestBody.content[JSON_MEDIA]?.schema ?? {}),
          answer: done?.content[JSON_MEDIA]?.schema ?? null,
          media: Object.keys(done?.content ?? {})[0] ?? '',
        };
      }),
    )
    .sort((one, other) => (one.route < other.route ? -1 : 1));
}

/** What is no JSON: text, or the bytes of a file; where any media may come, the caller chooses. */
function answerType(media: string): string {
  if (media === '*/*') return 'string | Uint8Array | Readonly<Record<string, unknown>>';
  return media.startsWith('image/') && media !== 'image/svg+xml' ? 'Uint8Array' : 'string';
}

const key = (name: string): string => (/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`);

/** A JSON Schema as a type of TypeScript. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '');
  if (schema.const !== undefined) return literal(schema.const);
  if (schema.enum !== undefined) return schema.enum.map(literal).join(' | ');
  const some = schema.anyOf ?? schema.oneOf;
  if (some !== undefined) return some.map(typeOf).join(' | ');
  if (Array.isArray(schema.type))
    return (schema.type as string[]).map((type) => typeOf({ ...schema, type })).join(' | ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type as string;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly (${schema.items === undefined ? 'unknown' : typeOf(schema.items)})[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'unknown';
  }
}

const literal = (value: unknown): string =>
  typeof value === 'string' ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : JSON.stringify(value);

function objectType({ properties, required = [], additionalProperties: rest }: Schema): string {
  const fields = Object.entries(properties ?? {}).map(
    ([name, one]) => `readonly ${key(name)}${required.includes(name) ? '' : '?'}: ${typeOf(one)}`,
  );
  if (fields.length > 0 && typeof rest === 'object') fields.push('readonly [name: string]: unknown');
  if (fields.length > 0) return `{ ${fields.join('; ')} }`;
  if (properties !== undefined && rest === false) return 'Readonly<Record<string, never>>';
  return `Readonly<Record<string, ${typeof rest === 'object' ? typeOf(rest) : 'unknown'}>>`;
}

const parametersType = (parameters: Route['parameters'], where: string): string | null => {
  const some = parameters.filter((one) => one.in === where);
  if (some.length === 0) return null;
  return `{ ${some.map(({ name, required, schema }) => `readonly ${key(name)}${required ? '' : '?'}: ${typeOf(schema)}`).join('; ')} }`;
};

export function typescriptClient(document: Described, runtime: string): string {
  const components = Object.entries(document.components.schemas)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema)};`);
  const operations = routesOf(document).map(({ route, summary, parameters, body, answer, media }) => {
    const parts = [
      ['path', parametersType(parameters, 'path')],
      ['query', parametersType(parameters, 'query')],
      ['body', body === null ? null : typeOf(body)],
      ['answer', answer === null ? answerType(media) : typeOf(answer)],
    ].flatMap(([name, type]) => (type === null ? [] : [`${name}: ${type}`]));
    return `  /** ${summary} */\n  '${route}': { ${parts.join('; ')} };`;
  });
  return `/**\n * A client of Bursar's API. ${MADE}\n */\n\n${components.join('\n')}\n\nexport interface Operations {\n${operations.join('\n')}\n}\n\n${runtime}`;
}

const snake = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/\W/g, '_')
    .toLowerCase();

/** Words that Python keeps to itself. */
const RESERVED = new Set(['from', 'import', 'is', 'in', 'not', 'class', 'global', 'lambda', 'self', 'body']);
const argument = (name: string): string => (RESERVED.has(snake(name)) ? `${snake(name)}_` : snake(name));

export function pythonClient(document: Described, runtime: string): string {
  const methods = routesOf(document).map(({ operationId, method, path, summary, parameters, body }) => {
    const inPath = parameters
      .filter((one) => one.in === 'path')
      .toSorted((one, other) => path.indexOf(`{${one.name}}`) - path.indexOf(`{${other.name}}`));
    const inQuery = parameters.filter((one) => one.in === 'query');
    const signature = [
      'self',
      ...inPath.map(({ name }) => argument(name)),
      ...(body === null ? [] : ['body=None']),
      ...(inQuery.length === 0 ? [] : ['*', ...inQuery.map(({ name }) => `${argument(name)}=None`)]),
    ];
    const address = inPath.reduce((text, { name }) => text.replace(`{${name}}`, `{_quote(${argument(name)})}`), path);
    const query = inQuery.map(({ name }) => `"${name}": ${argument(name)}`).join(', ');
    return [
      `    def ${snake(operationId)}(${signature.join(', ')}):`,
      `        """${summary.replaceAll('"', "'")}"""`,
      `        return self.call("${method}", f"${address}", query={${query}}${body === null ? '' : ', body=body'})`,
      '',
    ].join('\n');
  });
  return `"""A client of Bursar's API. ${MADE}"""\n\n${runtime}\n\n${methods.join('\n')}`;
}
