/**
 * Renders a chart's templates, for tests where there is no helm: the part of Go's templates (pkg.go.dev/text/template)
 * and of Helm's functions that the chart uses, and nothing else. What it does not know it refuses by name, so that a
 * template which needs more is noticed. It is no helm: values are merged as Helm does, but neither hooks, capabilities
 * nor lookups are there.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse as parseYaml, parseAllDocuments, stringify } from 'yaml';

type Value = unknown;
type Fields = Record<string, Value>;
type Call = (...given: Value[]) => Value;
type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly expression: string }
  | { readonly kind: 'set'; readonly name: string; readonly expression: string }
  | {
      readonly kind: 'block';
      readonly word: 'if' | 'with' | 'range';
      readonly expression: string;
      readonly body: readonly Node[];
      readonly otherwise: readonly Node[];
    };

interface Scope {
  readonly dot: Value;
  readonly root: Value;
  readonly variables: ReadonlyMap<string, Value>;
}

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** Go's truth: empty is false. */
const isTrue = (value: Value): boolean =>
  value !== undefined &&
  value !== null &&
  value !== false &&
  value !== 0 &&
  value !== '' &&
  !(Array.isArray(value) && value.length === 0) &&
  !(typeof value === 'object' && Object.keys(value).length === 0);

const text = (value: Value): string =>
  value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
const indented = (width: Value, value: Value): string =>
  text(value)
    .split('\n')
    .map((line) => ' '.repeat(Number(width)) + line)
    .join('\n');

const FUNCTIONS: Readonly<Record<string, Call>> = {
  and: (...all) => all.find((one) => !isTrue(one)) ?? all.at(-1),
  or: (...all) => all.find(isTrue) ?? all.at(-1),
  not: (one) => !isTrue(one),
  eq: (a, b) => a === b,
  contains: (part, whole) => text(whole).includes(text(part)),
  default: (other, given) => (isTrue(given) ? given : other),
  quote: (one) => JSON.stringify(text(one)),
  trunc: (most, one) => text(one).slice(0, Number(most)),
  trimSuffix: (end, one) => (text(one).endsWith(text(end)) ? text(one).slice(0, -text(end).length) : text(one)),
  indent: indented,
  nindent: (width, one) => `\n${indented(width, one)}`,
  toYaml: (one) => stringify(one, { lineWidth: 0 }).trimEnd(),
  sha256sum: (one) => createHash('sha256').update(text(one)).digest('hex'),
  printf: (form, ...rest) => rest.reduce<string>((done, one) => done.replace(/%[sdv]/, () => text(one)), text(form)),
  required: (message, one) => {
    if (!isTrue(one)) throw new Error(text(message));
    return one;
  },
};

/** Splits a template into texts and actions, with `{{-` and `-}}` eating the white space beside them. */
function lex(source: string): (string | { readonly action: string })[] {
  const parts: (string | { action: string })[] = [];
  let [at, trims] = [0, false];
  for (const match of source.matchAll(/\{\{(-?)\s*((?:"(?:[^"\\]|\\.)*"|[^"])*?)\s*(-?)\}\}/g)) {
    const before = source.slice(at, match.index);
    const kept = match[1] === '-' ? before.trimEnd() : before;
    parts.push(trims ? kept.trimStart() : kept, { action: match[2] ?? '' });
    at = match.index + match[0].length;
    trims = match[3] === '-';
  }
  parts.push(trims ? source.slice(at).trimStart() : source.slice(at));
  return parts;
}

class Parser {
  private at = 0;
  constructor(
    private readonly parts: readonly (string | { readonly action: string })[],
    private readonly defined: Map<string, readonly Node[]>,
  ) {}

  /** Nodes up to `end` or `else`, and the action that ended them. */
  nodes(): { readonly nodes: readonly Node[]; readonly by: string | null } {
    const nodes: Node[] = [];
    for (;;) {
      const part = this.parts[this.at++];
      if (part === undefined) return { nodes, by: null };
      if (typeof part === 'string') {
        nodes.push({ kind: 'text', text: part });
        continue;
      }
      const { action } = part;
      if (action.startsWith('/*')) continue;
      if (action === 'end' || /^else\b/.test(action)) return { nodes, by: action };
      const [, word = '', rest = ''] = /^(\w+)\b\s*([^]*)$/.exec(action) ?? [];
      const assigned = /^\$(\w+)\s*:=\s*([^]+)$/.exec(action);
      if (word === 'define') this.defined.set(JSON.parse(rest) as string, this.nodes().nodes);
      else if (word === 'if' || word === 'with' || word === 'range') nodes.push(this.block(word, rest));
      else if (assigned !== null) nodes.push({ kind: 'set', name: assigned[1] ?? '', expression: assigned[2] ?? '' });
      else nodes.push({ kind: 'print', expression: action });
    }
  }

  private block(word: 'if' | 'with' | 'range', expression: string): Node {
    const { nodes: body, by } = this.nodes();
    if (by === null) throw new Error(`${word} ${expression} has no end`);
    if (by === 'end') return { kind: 'block', word, expression, body, otherwise: [] };
    const [, inner] = /^else if ([^]+)$/.exec(by) ?? [];
    return {
      kind: 'block',
      word,
      expression,
      body,
      otherwise: inner === undefined ? this.nodes().nodes : [this.block('if', inner)],
    };
  }
}

export class Chart {
  readonly values: Fields;
  readonly schema: object;
  readonly about: { readonly name: string; readonly version: string; readonly appVersion: string };
  private readonly defined = new Map<string, readonly Node[]>();
  private readonly templates = new Map<string, readonly Node[]>();

  constructor(readonly folder: string) {
    const read = (name: string): string => readFileSync(path.join(folder, name), 'utf8');
    this.values = parseYaml(read('values.yaml')) as Fields;
    this.schema = JSON.parse(read('values.schema.json')) as object;
    this.about = parseYaml(read('Chart.yaml')) as Chart['about'];
    for (const name of readdirSync(path.join(folder, 'templates')).sort()) {
      const { nodes, by } = new Parser(lex(read(`templates/${name}`)), this.defined).nodes();
      if (by !== null) throw new Error(`${name}: ${by} without a beginning`);
      this.templates.set(name, nodes);
    }
  }

  /** The values with others over them: maps are merged, everything else is replaced. */
  valuesWith(over: Fields): Fields {
    const merged = (below: Value, above: Value): Value => {
      const both = [below, above].every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
      return both
        ? Object.fromEntries(
            [...new Set([...Object.keys(below as Fields), ...Object.keys(above as Fields)])].map((key) => [
              key,
              key in (above as Fields)
                ? merged((below as Fields)[key], (above as Fields)[key])
                : (below as Fields)[key],
            ]),
          )
        : above;
    };
    return merged(this.values, over) as Fields;
  }

  /** One template as text. */
  text(template: string, over: Fields, release = 'bursar'): string {
    const { name: Name, version: Version, appVersion: AppVersion } = this.about;
    const files = { Get: (name: Value) => readFileSync(path.join(this.folder, text(name)), 'utf8') };
    const root = {
      Values: this.valuesWith(over),
      Release: { Name: release, Namespace: 'finops', Service: 'Helm' },
      Chart: { Name, Version, AppVersion },
      Files: files,
    };
    return this.run(this.templates.get(template) ?? [], { dot: root, root, variables: new Map() });
  }

  /** Every manifest. @throws where a template gives something that is no YAML, or a value is missing */
  manifests(over: Fields, release = 'bursar'): Manifest[] {
    return [...this.templates.keys()]
      .filter((name) => name.endsWith('.yaml'))
      .flatMap((name) =>
        parseAllDocuments(this.text(name, over, release), { uniqueKeys: true }).flatMap((document) => {
          if (document.errors.length > 0)
            throw new Error(`${name}: ${document.errors.map(({ message }) => message).join('; ')}`);
          return (document.toJS() as Manifest | null) ?? [];
        }),
      );
  }

  private run(nodes: readonly Node[], outer: Scope): string {
    let scope = outer;
    return nodes
      .map((node) => {
        if (node.kind === 'text') return node.text;
        const value = this.value(node.expression, scope);
        if (node.kind === 'print') return text(value);
        if (node.kind === 'set') {
          scope = { ...scope, variables: new Map([...scope.variables, [node.name, value]]) };
          return '';
        }
        if (node.word === 'range') return this.range(node, scope);
        if (!isTrue(value)) return this.run(node.otherwise, scope);
        return this.run(node.body, node.word === 'with' ? { ...scope, dot: value } : scope);
      })
      .join('');
  }

  private range({ expression, body }: Extract<Node, { kind: 'block' }>, scope: Scope): string {
    const [, key, item, list = expression] = /^\$(\w+),\s*\$(\w+)\s*:=\s*([^]+)$/.exec(expression) ?? [];
    const entries = Object.entries((this.value(list, scope) ?? {}) as Fields);
    // Go goes through a map in the order of its keys.
    if (key !== undefined) entries.sort(([a], [b]) => (a < b ? -1 : 1));
    return entries
      .map(([name, dot]) =>
        this.run(body, {
          ...scope,
          dot,
          variables:
            key === undefined || item === undefined
              ? scope.variables
              : new Map([...scope.variables, [key, name], [item, dot]]),
        }),
      )
      .join('');
  }

  /** A pipeline: the value of each command is the last argument of the next. */
  private value(expression: string, scope: Scope): Value {
    const source = expression.replace(/^\$\w+,\s*\$\w+\s*:=\s*/, '');
    const words = [...source.matchAll(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|]+/g)].map(([word]) => word);
    let at = 0;
    const pipeline = (): Value => {
      let last: Value[] = [];
      for (;;) {
        const given: { value: Value; name: string }[] = [];
        while (at < words.length && words[at] !== '|' && words[at] !== ')') given.push(operand());
        const [first, ...rest] = given;
        if (first === undefined) throw new Error(`an empty command in ${expression}`);
        const value =
          typeof first.value === 'function'
            ? (first.value as Call)(...rest.map((one) => one.value), ...last)
            : first.value;
        if (typeof first.value !== 'function' && rest.length > 0)
          throw new Error(`${first.name} is no function, in ${expression}`);
        if (words[at] !== '|') return value;
        at += 1;
        last = [value];
      }
    };
    const operand = (): { value: Value; name: string } => {
      const name = words[at++] ?? '';
      if (name !== '(') return { name, value: this.operand(name, scope) };
      const value = pipeline();
      at += 1;
      return { name: '(...)', value };
    };
    return pipeline();
  }

  private operand(word: string, scope: Scope): Value {
    if (word.startsWith('"')) return JSON.parse(word) as string;
    if (/^-?\d+$/.test(word)) return Number(word);
    if (word === 'true' || word === 'false') return word === 'true';
    if (word === 'include')
      return (name: Value, dot: Value) =>
        this.run(this.defined.get(text(name)) ?? this.unknown(`template ${text(name)}`), {
          dot,
          root: dot,
          variables: new Map(),
        });
    const [, variable, dots] = /^(?:\$(\w*))?((?:\.\w+)*\.?)$/.exec(word) ?? [];
    if (variable === undefined && dots === undefined) return FUNCTIONS[word] ?? this.unknown(`function ${word}`);
    const from =
      variable === undefined
        ? scope.dot
        : variable === ''
          ? scope.root
          : scope.variables.has(variable)
            ? scope.variables.get(variable)
            : this.unknown(`variable $${variable}`);
    return (dots ?? '')
      .split('.')
      .filter((part) => part !== '')
      .reduce<Value>((value, part) => {
        if (typeof value !== 'object' || value === null || !(part in value)) return this.unknown(`value ${word}`);
        return (value as Fields)[part];
      }, from);
  }

  private unknown(what: string): never {
    throw new Error(`this renderer knows no ${what}`);
  }
}
