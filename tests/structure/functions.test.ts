/**
 * Functions of at most 60 lines, so that one is read at a glance. Those that were longer when the rule came are listed
 * with their length: they may shrink, never grow, and leave the list once they keep the rule.
 */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { parse, sourceFiles, type SourceFile } from '../support/source.js';

const LINES_MAX = 60;

/** By file and function: how long it may be at most. No entry is added, and no number is raised. */
const STILL_LONGER: Readonly<Record<string, number>> = {
  'src/planning/policy/report.ts teamSteps': 87,
  'src/store/policy/views.ts view': 71,
  'src/web/dashboard/cost-asking.tsx Asking': 80,
};

/** By its own name, or that of the variable, property or member that it is given to. */
function nameOf(node: ts.SignatureDeclaration): string {
  if (ts.isConstructorDeclaration(node)) return 'constructor';
  const name =
    node.name ??
    (ts.isVariableDeclaration(node.parent) || ts.isPropertyAssignment(node.parent) ? node.parent.name : undefined);
  return name?.getText() ?? 'a function without a name';
}

/** By file and function, the lines of every function that is too long, with those of the functions inside it. */
function tooLong(file: SourceFile): Map<string, number> {
  const found = new Map<string, number>();
  const tree = parse(file);
  const lineOf = (position: number): number => tree.getLineAndCharacterOfPosition(position).line;
  const step = (node: ts.Node): void => {
    const lines = lineOf(node.getEnd()) - lineOf(node.getStart(tree)) + 1;
    // Nothing inside it is longer.
    if (lines <= LINES_MAX) return;
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const name = `${file.name} ${nameOf(node)}`;
      found.set(name, Math.max(lines, found.get(name) ?? 0));
    }
    ts.forEachChild(node, step);
  };
  step(tree);
  return found;
}

function problemsOf(found: ReadonlyMap<string, number>, allowed: Readonly<Record<string, number>>): string[] {
  return [
    ...[...found]
      .filter(([name, lines]) => lines > (allowed[name] ?? LINES_MAX))
      .map(([name, lines]) => `${name} has ${lines} lines: split it, ${allowed[name] ?? LINES_MAX} are the most`),
    ...Object.keys(allowed)
      .filter((name) => !found.has(name))
      .map((name) => `${name} has ${LINES_MAX} lines or fewer by now, or is gone: take it off the list`),
  ];
}

describe('every function of src', () => {
  it(`has at most ${LINES_MAX} lines, or is on the list and has not grown`, () => {
    const found = new Map(sourceFiles('src').flatMap((file) => [...tooLong(file)]));
    expect(problemsOf(found, STILL_LONGER)).toEqual([]);
  });
});

describe('the rule itself', () => {
  /** A function of so many lines. */
  const of = (head: string, lines: number, tail = '}'): string => `${head}\n${'\n'.repeat(lines - 2)}${tail}\n`;
  const on = (text: string, allowed: Readonly<Record<string, number>> = {}): string[] =>
    problemsOf(tooLong({ name: 'x.ts', text }), allowed);

  it('refuses what is too long, in whatever form a function is written', () => {
    for (const [head, tail, name] of [
      ['function one() {', '}', 'one'],
      ['const one = () => {', '};', 'one'],
      ['const one = () => [', '];', 'one'],
      ['const all = { one: async () => {', '} };', 'one'],
      ['class All { one() {', '} }', 'one'],
      ['class All { constructor() {', '} }', 'constructor'],
      ['f(() => {', '});', 'a function without a name'],
    ] as const) {
      expect(on(of(head, 61, tail)), head).toEqual([`x.ts ${name} has 61 lines: split it, 60 are the most`]);
      expect(on(of(head, 60, tail)), head).toEqual([]);
    }
  });

  it('sees one inside another, and counts no comment before it', () => {
    expect(on(`function outer() {\n${of('const inner = () => {', 61)}}\n`)).toHaveLength(2);
    expect(on(`/**${'\n * Why.'.repeat(20)} */\n${of('function one() {', 60)}`)).toEqual([]);
  });

  it('lets what is on the list shrink and not grow, and wants it off the list in the end', () => {
    const list = { 'x.ts one': 70 };
    expect(on(of('function one() {', 70), list)).toEqual([]);
    expect(on(of('function one() {', 61), list)).toEqual([]);
    expect(on(of('function one() {', 71), list)).toEqual(['x.ts one has 71 lines: split it, 70 are the most']);
    expect(on(of('function one() {', 60), list)).toEqual([
      'x.ts one has 60 lines or fewer by now, or is gone: take it off the list',
    ]);
  });
});
