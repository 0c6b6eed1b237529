/** Every sentence that a policy or an explanation can make has a Chinese template. It reads the sources. */
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { EXPLANATIONS } from '../../src/core/report/chinese/explanations.js';
import { REFUSALS } from '../../src/core/report/chinese/guard.js';
import { ABSENCES } from '../../src/core/report/chinese/missing.js';
import { POLICY_SENTENCES } from '../../src/core/report/chinese/policies.js';
import { sourceFiles, walk } from '../support/source.js';

const KEYS = new Set(Object.keys({ ...POLICY_SENTENCES, ...EXPLANATIONS, ...REFUSALS }));
/** What people read elsewhere (descriptions of parameters, problems of a document, examples), or in no answer. */
const ELSEWHERE = new Set(['describe', 'refine', 'regex', 'addIssue', 'missing']);
const NOT_READ = new Set(['description', 'examples']);

const isElsewhere = (node: ts.Node): boolean => {
  const { parent } = node;
  if (parent === undefined || ts.isSourceFile(parent)) return false;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  // A set of names.
  if (ts.isArrayLiteralExpression(parent) && ts.isNewExpression(parent.parent)) return true;
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken) return true;
  const called = ts.isCallExpression(parent) ? parent.expression.getText() : '';
  const name = ts.isPropertyAssignment(parent) ? parent.name.getText() : '';
  return ELSEWHERE.has(called.split('.').at(-1) ?? '') || NOT_READ.has(name) || isElsewhere(parent);
};

/** A literal or a sum of literals, with numbered holes; null: neither. */
function templateOf(node: ts.Node): string | null {
  let holes = 0;
  const partOf = (one: ts.Node): string => {
    if (ts.isStringLiteralLike(one)) return one.text;
    if (ts.isTemplateExpression(one))
      return one.head.text + one.templateSpans.map((span) => `{${holes++}}${span.literal.text}`).join('');
    if (ts.isBinaryExpression(one) && one.operatorToken.kind === ts.SyntaxKind.PlusToken)
      return partOf(one.left) + partOf(one.right);
    return `{${holes++}}`;
  };
  const isSum = (one: ts.Node): boolean =>
    ts.isBinaryExpression(one) && one.operatorToken.kind === ts.SyntaxKind.PlusToken;
  if (isSum(node.parent)) return null;
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || isSum(node) ? partOf(node) : null;
}

/** Doors and stores that no page of the dashboard asks. */
const NO_PAGE = /\/(scim|directory|slack|slack-desk|deliveries|archive|measurements|set-lease|leases|unnamed)\.ts$/;

/** What is said where something is not there. */
function absencesOf(file: { readonly name: string; readonly text: string }): string[] {
  const found: string[] = [];
  walk(file, (node) => {
    if (!ts.isCallExpression(node) || node.expression.getText() !== 'missing') return;
    const literals = (one: ts.Node): void => {
      const text = templateOf(one);
      if (text !== null) found.push(text);
      else ts.forEachChild(one, literals);
    };
    node.arguments.forEach(literals);
  });
  return found;
}

function sentencesOf(file: { readonly name: string; readonly text: string }): string[] {
  const found: string[] = [];
  walk(file, (node) => {
    if (ts.isImportDeclaration(node.parent ?? node) || ts.isSourceFile(node)) return;
    const text = templateOf(node);
    if (text !== null && / /.test(text) && /[a-z]{2}/i.test(text.replace(/\{\d\}/g, '')) && !isElsewhere(node))
      found.push(text);
  });
  return found;
}

describe('the answers that something is not there', () => {
  it('have Chinese words each, where a page may show them', () => {
    const files = ['src/web/resources', 'src/application', 'src/store'].flatMap((folder) => sourceFiles(folder));
    const all = files.flatMap((file) => absencesOf(file).map((text) => [file.name, text] as const));
    expect(all.length).toBeGreaterThan(40);
    const lacks = all.filter(([name, text]) => !(text in ABSENCES) && !NO_PAGE.test(name));
    expect(lacks).toEqual([]);
    const known = new Set(all.map(([, text]) => text));
    expect(Object.keys(ABSENCES).filter((text) => !known.has(text))).toEqual([]);
  });
});

describe('the sentences of policies, explanations and the guard', () => {
  it('have Chinese words each', () => {
    const files = [
      ...sourceFiles('src/policies'),
      ...sourceFiles('src/application/policy'),
      ...sourceFiles('src/core/action'),
      ...sourceFiles('src/core/cost'),
    ].filter(
      ({ name }) =>
        /src\/policies\/|explain\.ts|known-by\.ts|action\/(acting|guard)\.ts|whole-hours\.ts/.test(name) &&
        !/examples\.ts|calendar\.ts/.test(name),
    );
    const all = files.flatMap((file) => sentencesOf(file).map((text) => [file.name, text] as const));
    expect(all.length).toBeGreaterThan(200);
    const hint =
      'write each with its Chinese words in src/core/report/chinese (policies.ts, guard.ts, explanations.ts)';
    expect(
      all.filter(([, text]) => !KEYS.has(text) && !text.startsWith('bursar ')),
      hint,
    ).toEqual([]);
  });
});
