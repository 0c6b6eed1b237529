/**
 * What is exported is used: a value by another file (of src, tests, migrations, scripts or examples), a type by another
 * file or by its own, whose exported functions may speak of it. What nobody uses is not there.
 */
import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { parse, textFiles, type SourceFile } from '../support/source.js';

/** By which a part is loaded (src/parts.ts). */
const PART = /^src\/(formats|providers|policies|telemetry|notify)\//;
const PART_NAMES = new Set(['format', 'provider', 'policy', 'source', 'channel']);
/** Called by hand, as a page says. */
const BY_HAND = new Set(['src/lab/scaling/write-series.ts writeSeededArrivals']);

interface Exported {
  readonly name: string;
  readonly line: number;
  readonly isType: boolean;
}

interface Read {
  readonly exported: readonly Exported[];
  /** By what an import names (`../core/money`), the names that it takes; `*` for all. */
  readonly imported: readonly (readonly [file: string, name: string])[];
  /** How often each name stands in the file. */
  readonly identifiers: ReadonlyMap<string, number>;
}

const withoutEnding = (file: string): string => file.replace(/\.(?:tsx?|mjs|js)$/, '').replace(/^dist\//, '');
const isExported = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);

function exportedBy(node: ts.Statement): (readonly [node: ts.Node, name: string, isType: boolean])[] {
  if (ts.isExportDeclaration(node) && node.exportClause !== undefined && ts.isNamedExports(node.exportClause))
    return node.exportClause.elements.map((one) => [one, one.name.text, false]);
  if (!isExported(node)) return [];
  if (ts.isVariableStatement(node))
    return node.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [[name, name.text, false] as const] : [],
    );
  const isType = ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node);
  if (isType || ts.isFunctionDeclaration(node) || ts.isClassDeclaration(node) || ts.isEnumDeclaration(node))
    return node.name === undefined ? [] : [[node, node.name.text, isType]];
  return [];
}

/** The names that `const { a } = await import(...)` or `(await import(...)).a` takes. */
function takenBy(call: ts.Node): string[] {
  let { parent } = call;
  while (ts.isAwaitExpression(parent) || ts.isParenthesizedExpression(parent)) ({ parent } = parent);
  if (ts.isVariableDeclaration(parent) && ts.isObjectBindingPattern(parent.name))
    return parent.name.elements.map((one) => (one.propertyName ?? one.name).getText());
  return ts.isPropertyAccessExpression(parent) ? [parent.name.text] : ['*'];
}

function importsOf(node: ts.Node): { readonly from: ts.Node; readonly names: readonly string[] } | null {
  const namesIn = (elements: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[]): string[] =>
    elements.map((one) => (one.propertyName ?? one.name).text);
  if (ts.isImportDeclaration(node)) {
    const bindings = node.importClause?.namedBindings;
    const names = bindings === undefined ? [] : ts.isNamedImports(bindings) ? namesIn(bindings.elements) : ['*'];
    return { from: node.moduleSpecifier, names };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    const clause = node.exportClause;
    return {
      from: node.moduleSpecifier,
      names: clause !== undefined && ts.isNamedExports(clause) ? namesIn(clause.elements) : ['*'],
    };
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
    return { from: node.argument.literal, names: [node.qualifier?.getText().split('.')[0] ?? '*'] };
  const [first] = ts.isCallExpression(node) ? node.arguments : [];
  return ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword && first !== undefined
    ? { from: first, names: takenBy(node) }
    : null;
}

function read(file: SourceFile): Read {
  const tree = parse(file);
  const lineOf = (node: ts.Node): number => tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1;
  const imported: (readonly [string, string])[] = [];
  const identifiers = new Map<string, number>();
  const step = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) identifiers.set(node.text, (identifiers.get(node.text) ?? 0) + 1);
    const found = importsOf(node);
    if (found !== null && ts.isStringLiteralLike(found.from) && found.from.text.startsWith('.')) {
      const from = withoutEnding(path.posix.join(path.posix.dirname(file.name), found.from.text));
      imported.push(...found.names.map((name) => [from, name] as const));
    }
    ts.forEachChild(node, step);
  };
  step(tree);
  const exported = tree.statements
    .flatMap(exportedBy)
    .map(([node, name, isType]) => ({ name, line: lineOf(node), isType }));
  return { exported, imported, identifiers };
}

function unused(src: readonly SourceFile[], others: readonly SourceFile[]): string[] {
  const own = src.map((file) => ({ file, ...read(file) }));
  const taken = new Set(
    [...own, ...others.map(read)].flatMap(({ imported }) => imported.map(([from, name]) => `${from} ${name}`)),
  );
  return own.flatMap(({ file, exported, identifiers }) => {
    const from = withoutEnding(file.name);
    return exported
      .filter(({ name, isType }) => {
        if (taken.has(`${from} ${name}`) || taken.has(`${from} *`)) return false;
        if (isType && (identifiers.get(name) ?? 0) > 1) return false;
        return !(PART.test(file.name) && PART_NAMES.has(name)) && !BY_HAND.has(`${file.name} ${name}`);
      })
      .map(({ name, line }) => `${file.name}:${line} ${name}`);
  });
}

const CODE = /(?<!\.d)\.(?:tsx?|mjs)$/;

it('every exported name of src is used', () => {
  const others = ['tests', 'migrations', 'scripts', 'examples'].flatMap((folder) => textFiles(folder, CODE));
  const hint = 'nobody imports these: take away `export`, or what nobody uses';
  expect(unused(textFiles('src', CODE), others), hint).toEqual([]);
});

describe('the rule itself', () => {
  const on = (text: string, ...others: string[]): string[] =>
    unused(
      [{ name: 'src/core/x.ts', text }],
      others.map((other, at) => ({ name: `tests/unit/${at}.test.ts`, text: other })),
    );

  it('sees every kind of export that nobody imports', () => {
    expect(
      on(
        'export const a = 1;\nexport function b() { a; }\nexport class C {}\nexport interface D {}\nexport type E = 1;\n' +
          'const f = 2;\nexport { f };\nexport async function* g() {}\n',
      ),
    ).toEqual(['1 a', '2 b', '3 C', '4 D', '5 E', '7 f', '8 g'].map((one) => `src/core/x.ts:${one}`));
    expect(on('export const format = 1;\n', "import { other } from '../../src/core/x.js';\n")).toHaveLength(1);
  });

  it('leaves alone what somebody imports, in whatever form, and a type that its own file speaks of', () => {
    const text = 'export const a = 1;\n';
    for (const other of [
      "import { a } from '../../src/core/x.js';",
      "import { a as b } from '../../src/core/x.js';",
      "import * as all from '../../src/core/x.js';",
      "export { a } from '../../src/core/x.js';",
      "export * from '../../src/core/x.js';",
      "const { a } = await import('../../src/core/x.js');",
      "const b = (await import('../../src/core/x.js')).a;",
      "const all = await import('../../src/core/x.js');",
      "type A = import('../../src/core/x.js').a;",
      "import { a } from '../../dist/src/core/x.js';",
    ])
      expect(on(text, other), other).toEqual([]);
    expect(on('export interface D {}\nexport const d: D = {};\n', "import { d } from '../../src/core/x.js';")).toEqual(
      [],
    );
    expect(unused([{ name: 'src/formats/x.ts', text: 'export const format = 1;\n' }], [])).toEqual([]);
  });
});
