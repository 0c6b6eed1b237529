/** Reads the repository's own source for the tests that hold its house rules. It never changes a file. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';

export const ROOT = path.resolve(import.meta.dirname, '../..');

export interface SourceFile {
  /** Relative to the repository, with forward slashes: `src/core/money.ts`. */
  readonly name: string;
  readonly text: string;
}

/** Every TypeScript file (.ts, .tsx) under a folder of the repository, sorted by name. */
export const sourceFiles = (folder: string, root = ROOT): SourceFile[] => textFiles(folder, /\.tsx?$/, root);

/** Every file under a folder of the repository whose name ends so, sorted by name. */
export function textFiles(folder: string, ending: RegExp, root = ROOT): SourceFile[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
    .sort()
    .map((name) => ({ name, text: readFileSync(path.join(root, name), 'utf8') }));
}

/** The syntax tree of a file, of TypeScript's parser alone; every node knows its parent. */
export const parse = (file: SourceFile): ts.SourceFile =>
  ts.createSourceFile(
    file.name,
    file.text,
    ts.ScriptTarget.ES2022,
    true,
    file.name.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  );

/** Calls `visit` on every node of the file; comments and strings are told apart from code here. */
export function walk(file: SourceFile, visit: (node: ts.Node, line: number) => void): void {
  const tree = parse(file);
  const step = (node: ts.Node): void => {
    visit(node, tree.getLineAndCharacterOfPosition(node.getStart(tree)).line + 1);
    ts.forEachChild(node, step);
  };
  step(tree);
}
