/**
 * Measures the source tree: lines by room and kind, files, long functions, circles of files, words of the glossary.
 * It reads only, and prints Markdown.
 *
 *   node scripts/measure.mjs            the files that git tracks, as they are
 *   node scripts/measure.mjs b512e2d    those of another commit, formatted like these first
 *
 * Each line of TypeScript has one kind, the first that is true: blank, comment, import, SQL (in a string that begins
 * with a statement), type (an interface or a type alias), text (a sentence for people), schema (a Zod expression at
 * the top of a file), table (data at the top of a file), logic.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import ts from 'typescript';

const KINDS = ['logic', 'SQL', 'schema', 'table', 'text', 'type', 'import', 'comment', 'blank'];
const LONG = [40, 60];
const STATEMENT =
  /^\s*(select|insert into|update|delete from|with|create|alter|drop|lock|truncate|copy|merge|values|listen)\b/i;
/** Folders and files that hold the sentences of pages, messages and reports. */
const TEXTS = /\/texts(\/|\.ts$)/;

const run = (file, args, options = {}) =>
  execFileSync(file, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });

/** A folder with the files of another commit, formatted. */
function extracted(revision) {
  const folder = mkdtempSync(path.join(tmpdir(), 'bursar-measure-'));
  const archive = execFileSync('git', ['archive', revision], { maxBuffer: 1 << 30 });
  run('tar', ['-x', '-C', folder], { input: archive });
  cpSync('biome.json', path.join(folder, 'biome.json'));
  run(path.resolve('node_modules/.bin/biome'), ['format', '--write', '--files-max-size=4194304', 'src'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  return folder;
}

function trackedIn(folder, revision) {
  const listed = revision === undefined ? ['ls-files'] : ['ls-tree', '-r', '--name-only', revision];
  return run('git', listed)
    .split('\n')
    .filter((name) => /^src\/.*\.tsx?$/.test(name) && !name.endsWith('.d.ts'))
    .map((name) => {
      const text = readFileSync(path.join(folder, name), 'utf8');
      return { name, text, tree: ts.createSourceFile(name, text, ts.ScriptTarget.ESNext, true) };
    });
}

const roomOf = (name) => {
  const [, room = '', inner = ''] = name.split('/');
  if (room === 'web' && inner === 'dashboard') return 'web/dashboard';
  return name.split('/').length > 2 ? room : 'files beside the rooms';
};

const isText = (node) =>
  (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isTemplateExpression(node)) &&
  /\w+ \w+ \w+/.test(node.getText());

/** By line, the kind that a node gives it. */
function markedLines(tree) {
  const marks = new Map();
  const mark = (node, kind) => {
    const [from, to] = [node.getStart(tree), node.getEnd()].map((at) => tree.getLineAndCharacterOfPosition(at).line);
    for (let line = from; line <= to; line += 1) {
      const before = marks.get(line);
      if (before === undefined || KINDS.indexOf(kind) < KINDS.indexOf(before)) marks.set(line, kind);
    }
  };
  const markWithin = (node) => {
    if (isText(node)) mark(node, STATEMENT.test(node.getText().slice(1)) ? 'SQL' : 'text');
    else ts.forEachChild(node, markWithin);
  };
  const whole = new Map();
  for (const statement of tree.statements) {
    const kind = ts.isImportDeclaration(statement)
      ? 'import'
      : ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)
        ? 'type'
        : tableOrSchema(statement);
    if (kind !== null) {
      const [from, to] = [statement.getStart(tree), statement.getEnd()];
      const lines = [from, to].map((at) => tree.getLineAndCharacterOfPosition(at).line);
      for (let line = lines[0]; line <= lines[1]; line += 1) whole.set(line, kind);
    }
    ts.forEachChild(statement, markWithin);
  }
  return { marks, whole };
}

function tableOrSchema(statement) {
  if (!ts.isVariableStatement(statement)) return null;
  const values = statement.declarationList.declarations.flatMap(({ initializer }) => initializer ?? []);
  const bare = (node) =>
    ts.isAsExpression(node) || ts.isSatisfiesExpression(node) || ts.isParenthesizedExpression(node)
      ? bare(node.expression)
      : node;
  const hasFunction = (node) => ts.isFunctionLike(node) || ts.forEachChild(node, hasFunction) === true;
  if (values.some(hasFunction)) return null;
  const texts = values.map((value) => bare(value).getText());
  if (texts.some((text) => /\bz\.\w+\(/.test(text))) return 'schema';
  const isData = values
    .map(bare)
    .every(
      (value) =>
        ts.isObjectLiteralExpression(value) ||
        ts.isArrayLiteralExpression(value) ||
        (ts.isNewExpression(value) && /^(Set|Map)$/.test(value.expression.getText())),
    );
  return isData && values.length > 0 ? 'table' : null;
}

const isCode = ({ kind }) => kind < ts.SyntaxKind.FirstJSDocNode || kind > ts.SyntaxKind.LastJSDocNode;

/** The lines on which a token stands; the others are blank or comments. */
function linesWithTokens(tree) {
  const lines = new Set();
  const step = (node) => {
    if (node.getChildCount(tree) === 0 && node.getWidth(tree) > 0) {
      const [from, to] = [node.getStart(tree), node.getEnd()].map((at) => tree.getLineAndCharacterOfPosition(at).line);
      for (let line = from; line <= to; line += 1) lines.add(line);
    }
    node.getChildren(tree).filter(isCode).forEach(step);
  };
  step(tree);
  return lines;
}

function kindsOf({ name, text, tree }) {
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  const tokens = linesWithTokens(tree);
  const { marks, whole } = markedLines(tree);
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  lines.forEach((line, at) => {
    if (line.trim() === '' && !marks.has(at)) counts.blank += 1;
    else if (!tokens.has(at)) counts.comment += 1;
    else if (whole.get(at) === 'import' || whole.get(at) === 'type') counts[whole.get(at)] += 1;
    else if (marks.get(at) === 'SQL') counts.SQL += 1;
    else if (marks.has(at) || TEXTS.test(name)) counts.text += 1;
    else counts[whole.get(at) ?? 'logic'] += 1;
  });
  return { counts, lines: lines.length, wide: lines.filter((line) => line.length > 120).length };
}

/** The lines of every function that has a body. */
function functionsOf({ tree }) {
  const found = [];
  const step = (node) => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const [from, to] = [node.getStart(tree), node.getEnd()].map((at) => tree.getLineAndCharacterOfPosition(at).line);
      found.push(to - from + 1);
    }
    ts.forEachChild(node, step);
  };
  step(tree);
  return found;
}

/** How many circles of files there are, types counted: groups in which each reaches the others (Tarjan). */
function circlesOf(files) {
  const known = new Set(files.map(({ name }) => name));
  const targets = ({ name, tree }) =>
    tree.statements.flatMap(({ moduleSpecifier: to }) => {
      if (to === undefined || !to.text.startsWith('.')) return [];
      const base = path.posix.join(path.posix.dirname(name), to.text).replace(/\.js$/, '');
      return [`${base}.ts`, `${base}.tsx`].filter((one) => known.has(one));
    });
  const next = new Map(files.map((file) => [file.name, targets(file)]));
  const [order, lowest, open, found] = [new Map(), new Map(), [], []];
  const visit = (file) => {
    order.set(file, order.size);
    lowest.set(file, order.get(file));
    open.push(file);
    for (const to of next.get(file)) {
      if (!order.has(to)) visit(to);
      if (open.includes(to)) lowest.set(file, Math.min(lowest.get(file), lowest.get(to)));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const group = open.splice(open.indexOf(file));
    if (group.length > 1) found.push(group);
  };
  for (const file of next.keys()) if (!order.has(file)) visit(file);
  return found.length;
}

function glossaryWords(folder) {
  try {
    const text = readFileSync(path.join(folder, 'docs/glossary.md'), 'utf8');
    return text.split('\n').filter((line) => /^\| [a-z].* \|$/.test(line) && !line.startsWith('| word |')).length;
  } catch {
    return 'no glossary';
  }
}

/** Node 20 has no Map.groupBy. */
function groupedBy(all, keyOf) {
  const groups = new Map();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

const [revision] = process.argv.slice(2);
const folder = revision === undefined ? '.' : extracted(revision);
try {
  const files = trackedIn(folder, revision);
  const measured = files.map((file) => ({ room: roomOf(file.name), ...kindsOf(file) }));
  const functions = files.flatMap(functionsOf);
  const sum = (all, of) => all.reduce((total, one) => total + of(one), 0);
  const row = (name, all) =>
    `| ${name} | ${all.length} | ${sum(all, ({ lines }) => lines)} | ${KINDS.map((kind) => sum(all, ({ counts }) => counts[kind])).join(' | ')} |`;
  console.log(`| room | files | lines | ${KINDS.join(' | ')} |\n|---|${'---:|'.repeat(KINDS.length + 2)}`);
  for (const [name, all] of [...groupedBy(measured, ({ room }) => room)].sort(([a], [b]) => (a < b ? -1 : 1)))
    console.log(row(name, all));
  console.log(row('**all**', measured));
  console.log(`
| measure | |
|---|---:|
| files | ${files.length} |
| files over 600 lines | ${measured.filter(({ lines }) => lines > 600).length} |
| lines over 120 columns | ${sum(measured, ({ wide }) => wide)} |
| functions | ${functions.length} |
${LONG.map((most) => `| functions over ${most} lines | ${functions.filter((lines) => lines > most).length} |`).join('\n')}
| circles of files | ${circlesOf(files)} |
| words of the glossary | ${glossaryWords(folder)} |`);
} finally {
  if (revision !== undefined) rmSync(folder, { recursive: true });
}
