/**
 * House rules that a reader can count on, held as ordinary tests over the source. Each rule is tried on a sample that
 * breaks it, so that a rule which sees nothing is noticed.
 */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { sourceFiles, walk, type SourceFile } from '../support/source.js';

const LINES_MAX = 600;
/** In the lab, what reads and writes files is not. */
const PURE = /^src\/(core|planning|policies|lab\/(?!.*\/(run|write-\w+)\.ts$))/;
const NOT_PURE = new Set([
  'Date',
  'process',
  'fetch',
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'globalThis',
]);

type Rule = (file: SourceFile) => string[];

const isShort: Rule = (file) =>
  file.text.split('\n').length > LINES_MAX ? [`${file.name} has more than ${LINES_MAX - 1} lines`] : [];

const opensWithComment: Rule = (file) =>
  /^(#!.*\n)?\s*(\/\*|\/\/)/.test(file.text) ? [] : [`${file.name} does not open with a comment`];

/** No way around the type checker or the linter, and nothing left for later. */
const hasNoEscape: Rule = (file) => {
  const found: string[] = [];
  walk(file, (node, line) => {
    if (node.kind === ts.SyntaxKind.AnyKeyword) found.push(`${file.name}:${line} any`);
  });
  file.text.split('\n').forEach((text, index) => {
    const escape = /@ts-(ignore|nocheck|expect-error)|(eslint|oxlint)-disable|\b(TODO|FIXME|XXX)\b/.exec(text)?.[0];
    if (escape) found.push(`${file.name}:${index + 1} ${escape}`);
  });
  return found;
};

/** Whether the identifier is only the name of a member, as in `record.process` or `{ process: 1 }`. */
function isMemberName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) || ts.isQualifiedName(parent))
    return (ts.isQualifiedName(parent) ? parent.right : parent.name) === node;
  return (
    (ts.isPropertyAssignment(parent) ||
      ts.isPropertySignature(parent) ||
      ts.isMethodSignature(parent) ||
      ts.isMethodDeclaration(parent) ||
      ts.isPropertyDeclaration(parent)) &&
    parent.name === node
  );
}

const isMathRandom = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) && node.expression.getText() === 'Math' && node.name.text === 'random';

const isPure: Rule = (file) => {
  const found: string[] = [];
  walk(file, (node, line) => {
    if (ts.isIdentifier(node) && NOT_PURE.has(node.text) && !isMemberName(node))
      found.push(`${file.name}:${line} ${node.text}`);
    if (isMathRandom(node)) found.push(`${file.name}:${line} Math.random`);
  });
  return found;
};

/** `Date.now` in any form, `new Date()` and `Date()` without an argument: the ways to read the wall clock. */
const readsNoClock: Rule = (file) => {
  const found: string[] = [];
  walk(file, (node, line) => {
    const now = ts.isPropertyAccessExpression(node) && node.expression.getText() === 'Date' && node.name.text === 'now';
    const made =
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText() === 'Date' &&
      !node.arguments?.length;
    if (now || made) found.push(`${file.name}:${line} ${node.getText()}`);
  });
  return found;
};

/** What one file says for all: how it is told, and in which. */
const SAID_ONCE: readonly (readonly [what: RegExp, file: string])[] = [
  [/(?<![\w.])(?:3_600_000|86_400_000|3600000|86400000)(?![\w.])|\bconst (?:MINUTE|HOUR|DAY)_MS\b/, 'src/core/time.ts'],
  [/'ECONNREFUSED'/, 'src/core/never-sent.ts'],
  [/\bpg_(?:try_)?advisory_xact_lock\b/, 'src/store/locks.ts'],
];

const saysNothingTwice: Rule = (file) =>
  file.text
    .split('\n')
    .flatMap((text, index) =>
      SAID_ONCE.filter(([what, where]) => where !== file.name && what.test(text)).map(
        ([, where]) => `${file.name}:${index + 1} is said in ${where}`,
      ),
    );

const SRC = sourceFiles('src');

describe('every file of src', () => {
  it(`is shorter than ${LINES_MAX} lines`, () => expect(SRC.flatMap(isShort)).toEqual([]));
  it('opens with a comment', () => expect(SRC.flatMap(opensWithComment)).toEqual([]));
  it('has no any, no suppressed check and nothing left to do', () => expect(SRC.flatMap(hasNoEscape)).toEqual([]));
  it('says nothing that another file says for all', () => expect(SRC.flatMap(saysNothingTwice)).toEqual([]));
  it('reads no clock, save clock.ts', () =>
    expect(SRC.filter((file) => file.name !== 'src/clock.ts').flatMap(readsNoClock)).toEqual([]));
});

describe('every file of a pure room', () => {
  const pure = SRC.filter((file) => PURE.test(file.name));
  it('uses no date, chance, process, network or timer', () => {
    expect(pure.length).toBeGreaterThan(0);
    expect(pure.flatMap(isPure)).toEqual([]);
  });
});

describe('the rules themselves', () => {
  const on = (rule: Rule, text: string): string[] =>
    rule({ name: 'x.ts', text }).map((line) => line.replace(/^x\.ts:?/, ''));

  it('see what they are for', () => {
    expect(on(isShort, '\n'.repeat(600))).toHaveLength(1);
    expect(on(opensWithComment, 'export const a = 1;\n')).toHaveLength(1);
    expect(
      on(
        hasNoEscape,
        'const a: any = 1;\nconst b = a as any;\n// @ts-ignore\n// TODO later\n// oxlint-disable-next-line\n',
      ),
    ).toHaveLength(5);
    expect(on(isPure, 'export const a = (at: Date) => process.pid + Math.random();\nsetTimeout(fetch);\n')).toEqual([
      '1 Date',
      '1 process',
      '1 Math.random',
      '2 setTimeout',
      '2 fetch',
    ]);
    expect(on(readsNoClock, 'const a = Date.now;\nconst b = new Date();\nconst c = Date();\n')).toHaveLength(3);
    expect(
      on(
        saysNothingTwice,
        "const HOUR_MS = 1;\nconst a = 2 * 86_400_000;\nnew Set(['ECONNREFUSED']);\n`select pg_advisory_xact_lock($1)`;\n",
      ),
    ).toHaveLength(4);
  });

  it('leave alone what is fine', () => {
    expect(on(isShort, '\n'.repeat(599))).toEqual([]);
    expect(on(opensWithComment, '#!/usr/bin/env node\n/** A door. */\n')).toEqual([]);
    expect(on(hasNoEscape, "const many = 'any';\n// any of them\n")).toEqual([]);
    expect(on(isPure, "// Date\nexport const a = { process: 'Date' };\nexport const b = a.process;\n")).toEqual([]);
    expect(on(readsNoClock, 'const a = new Date(0);\n// Date.now()\n')).toEqual([]);
    expect(on(saysNothingTwice, 'const a = 13_600_000 + HOUR_MS;\n')).toEqual([]);
    expect(saysNothingTwice({ name: 'src/core/time.ts', text: 'export const HOUR_MS = 3_600_000;\n' })).toEqual([]);
  });
});

it('no test that runs for each mutant reads the sources: Stryker has changed them', () => {
  const mutated = /^tests\/(property\/|unit\/((core|policies|planning)\/|(commitment|idle|scaling-[^/]*)\.test))/;
  const all = sourceFiles('tests').filter(({ name }) => mutated.test(name));
  expect(all.length).toBeGreaterThan(100);
  expect(
    all.filter(({ text }) => /\b(walk|parse)\b[^;]*support\/source\.js/.test(text)).map(({ name }) => name),
  ).toEqual([]);
});
