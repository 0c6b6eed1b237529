/**
 * A folder of YAML files (or one file) as one configuration, and a configuration as such a folder.
 *
 * A file contains sections (teams, budgets, policies, limits by their names; rules, peak and routes as lists). Named
 * objects may be spread over files; a list is in one file. Every problem is reported with its file and line.
 */
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  stringify,
  visit,
  type Alias,
  type Document,
  type Node,
} from 'yaml';
import { LISTED_SECTIONS, NAMED_SECTIONS, SECTIONS, type Sections } from '../core/changes.js';
import { invalid, missing, type Problem } from '../core/errors.js';

interface Source {
  readonly file: string;
  readonly document: Document.Parsed;
  readonly lines: LineCounter;
}

export interface Folder {
  readonly configuration: Readonly<Record<string, unknown>>;
  /** What is in no section, and what two files both have: it is not in the configuration. */
  readonly problems: readonly Problem[];
  /** Where a path of the configuration stands: `budgets.yaml:12`; null if no file has it. */
  placeOf(path: string): string | null;
}

/**
 * @param at a folder, or one file
 * @throws Failure missing if there is no file, invalid naming every place of every file that is not YAML
 */
export async function readFolder(at: string): Promise<Folder> {
  // A pipe too, such as a shell makes of another command's answer.
  const isFile = !(await stat(at).catch(unread(at))).isDirectory();
  const [folder, files] = isFile ? [path.dirname(at), [path.basename(at)]] : [at, await filesOf(at)];
  const sources = await Promise.all(files.map((file) => sourceOf(folder, file)));
  const problems = sources.flatMap(({ file, document, lines }) =>
    document.errors.map(
      (error): Problem => ({
        path: `${file}:${lines.linePos(error.pos[0]).line}`,
        message:
          error.code === 'MULTIPLE_DOCS'
            ? 'begins a second document: a file holds one'
            : (error.message.split('\n', 1)[0]?.replace(/ at line \d+.*$/, '') ?? 'is not YAML'),
      }),
    ),
  );
  const configuration: Record<string, unknown> = {};
  const from = new Map<string, Source>();
  if (problems.length > 0) throw invalid(`${at} has ${problems.length} problem(s)`, problems);
  for (const source of sources) problems.push(...merge(source, configuration, from));
  return { configuration, problems, placeOf: (place) => placeIn(from, place) };
}

async function filesOf(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(unread(folder));
  const files = names.filter((name) => /\.ya?ml$/i.test(name) && !name.startsWith('.')).sort();
  if (files.length === 0) throw missing(`${folder} holds no file with the ending .yaml or .yml`);
  return files;
}

const unread =
  (at: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw missing(`${at} cannot be read: ${UNREAD[error.code ?? ''] ?? error.message}`);
  };

const UNREAD: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such folder or file',
  EACCES: 'this user may not read it',
};

async function sourceOf(folder: string, file: string): Promise<Source> {
  const lines = new LineCounter();
  const text = (await readFile(path.join(folder, file), 'utf8')).replace(/^\uFEFF/, '');
  // Aliases are bounded by the parser.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true });
  const budgets = isMap(document.contents) ? document.contents.get('budgets', true) : undefined;
  if (isNode(budgets)) visit(budgets, { Pair: (_, { key, value }) => asWritten(key, value) });
  return { file, document, lines };
}

/** Adds what a file holds; what two files both hold is a problem. */
function merge(source: Source, configuration: Record<string, unknown>, from: Map<string, Source>): Problem[] {
  const { file } = source;
  const { content, problem } = contentOf(source);
  if (problem !== null) return [problem];
  if (content === null || content === undefined) return [];
  if (!isObject(content))
    return [{ path: `${file}:1`, message: `is not an object of sections: ${SECTIONS.join(', ')}` }];
  const problems: Problem[] = [];
  for (const [section, value] of Object.entries(content)) {
    const wrong = (keys: readonly string[], message: string): void =>
      void problems.push({ path: placeOf(source, keys), message: `${keys.join('/')} ${message}` });
    if ((LISTED_SECTIONS as readonly string[]).includes(section)) {
      if (!Array.isArray(value)) wrong([section], 'is not a list');
      else if (from.has(section)) wrong([section], `is also in ${from.get(section)?.file}: its order matters`);
      else [configuration[section]] = [value, from.set(section, source)];
    } else if ((NAMED_SECTIONS as readonly string[]).includes(section)) {
      if (!isObject(value)) wrong([section], 'is not an object whose keys are names');
      else
        for (const [id, thing] of Object.entries(value)) {
          const key = `${section}/${id}`;
          if (from.has(key)) wrong([section, id], `is also in ${from.get(key)?.file}`);
          from.set(key, source);
          configuration[section] = { ...(configuration[section] as object | undefined), [id]: thing };
        }
      if (isObject(value) && configuration[section] === undefined) configuration[section] = {};
    } else wrong([section], `is none of ${SECTIONS.join(', ')}`);
  }
  return problems;
}

/** Aliases are followed here: the parser bounds how far they grow, and says so by an error of its own. */
function contentOf({ file, document, lines }: Source): { readonly content: unknown; readonly problem: Problem | null } {
  try {
    return { content: document.toJS(), problem: null };
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    const aliases: Alias[] = [];
    visit(document, { Alias: (_, alias) => void aliases.push(alias) });
    const line = lines.linePos(aliases.at(-1)?.range?.[0] ?? 0).line;
    const message = error.message.startsWith('Excessive alias count')
      ? 'uses aliases that repeat aliases: they would grow beyond bounds'
      : error.message;
    return { content: null, problem: { path: `${file}:${line}`, message } };
  }
}

/** Amounts and ratios of budgets may be written as numbers: the API takes them as text, with every digit that stands there. */
function asWritten(key: unknown, value: unknown): void {
  if (!isScalar(key)) return;
  const amounts =
    key.value === 'ratio' || key.value === 'default'
      ? [value]
      : key.value === 'periods' && isMap(value)
        ? value.items.map((one) => one.value)
        : [];
  for (const one of amounts)
    if (isScalar(one) && typeof one.value === 'number' && DECIMAL.test(one.source ?? '')) one.value = one.source;
}

const DECIMAL = /^\d+(\.\d+)?$/;

function placeIn(from: ReadonlyMap<string, Source>, at: string): string | null {
  const steps = at.split('/');
  // A name may hold a slash: the longest that a file has is meant.
  for (let length = steps.length; length > 0; length -= 1) {
    const source = from.get(steps.slice(0, length).join('/'));
    if (source === undefined) continue;
    const [section = '', ...name] = steps.slice(0, length);
    return placeOf(source, [section, ...(name.length === 0 ? [] : [name.join('/')]), ...steps.slice(length)]);
  }
  return null;
}

/** As near to the place as the file goes: what is missing stands where it should be. */
function placeOf({ file, document, lines }: Source, keys: readonly string[]): string {
  let node: Node | null = document.contents;
  let offset = node?.range?.[0] ?? 0;
  for (const key of keys) {
    if (isMap(node)) {
      const pair: { key: unknown; value: unknown } | undefined = node.items.find(
        ({ key: name }) => String(name) === key,
      );
      if (pair === undefined) break;
      offset = (isNode(pair.key) ? pair.key.range?.[0] : undefined) ?? offset;
      node = isNode(pair.value) ? pair.value : null;
    } else if (isSeq(node)) {
      const item: unknown = node.items[Number(key)];
      if (!isNode(item)) break;
      offset = item.range?.[0] ?? offset;
      node = item;
    } else break;
  }
  return `${file}:${lines.linePos(offset).line}`;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Writes a file of each section into a folder, or all into one file where `at` is named as one; returns their names. An
 * empty section is written too: it says that there is none.
 */
export async function writeFolder(at: string, configuration: Sections): Promise<{ folder: string; files: string[] }> {
  const isFolder = !/\.ya?ml$/i.test(at) || (await stat(at).catch(() => null))?.isDirectory() === true;
  const folder = isFolder ? at : path.dirname(at);
  const names = SECTIONS.map((section) => [section, isFolder ? `${section}.yaml` : path.basename(at)] as const);
  const files = [...new Set(names.map(([, file]) => file))];
  await mkdir(folder, { recursive: true });
  for (const file of files) {
    const held = names.flatMap(([section, of]) => (of === file ? [[section, configuration[section] ?? {}]] : []));
    await writeFile(path.join(folder, file), stringify(Object.fromEntries(held), { lineWidth: 120 }));
  }
  return { folder, files };
}
