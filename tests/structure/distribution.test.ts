/**
 * Statements that a Citus cluster refuses (docs/decisions/0002-distribution.md), of which no PostgreSQL alone says so:
 * found in the text of the source, so that they show where there is no cluster. What a statement gets from elsewhere
 * than a constant of its file is not seen; `npm run test:citus` sees all of it.
 *
 * Followed: Citus's documentation, "SQL Support and Workarounds", and what 13.2.2 answered to such statements.
 */
import ts from 'typescript';
import { expect, it } from 'vitest';
import { EVERYWHERE, SPREAD } from '../../src/store/distribution.js';
import { parse, sourceFiles, type SourceFile } from '../support/source.js';

type Place = 'spread' | 'everywhere' | 'coordinator';

const COLUMNS = new Map(Object.entries(SPREAD).flatMap(([column, tables]) => tables.map((table) => [table, column])));

const PLACES: ReadonlyMap<string, Place> = new Map(
  sourceFiles('migrations')
    .flatMap(({ text }) => [...text.matchAll(/create (?:or replace )?(table|view) (?:if not exists )?(\w+)/gi)])
    .map(([, kind, name = '']) => [
      name,
      // The views are over what is spread.
      kind?.toLowerCase() === 'view' || COLUMNS.has(name)
        ? 'spread'
        : EVERYWHERE.includes(name)
          ? 'everywhere'
          : 'coordinator',
    ]),
);

/** What reads both facts that are spread and a table of the coordinator: by inner joins or in a part of its own. */
const READ_TOGETHER = [
  'src/store/budget/reservations.ts',
  // Not on a cluster: there are no triggers that note changes.
  'src/store/cost/local-day-lines.ts',
  'src/store/cost/local-days.ts',
  'src/store/cost/sums.ts',
  'src/store/policy/views.ts',
  'src/store/workload/workloads.ts',
];

interface Statement {
  readonly file: string;
  readonly sql: string;
}

/** The file's texts of SQL, with its own constants in their places. */
function statementsOf(file: SourceFile): Statement[] {
  const tree = parse(file);
  const constants = new Map<string, ts.Expression>();
  const found: Statement[] = [];
  const isText = (node: ts.Node): node is ts.TemplateExpression | ts.StringLiteralLike =>
    ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
  const whole = (node: ts.Expression, depth = 0): string => {
    if (ts.isStringLiteralLike(node)) return node.text;
    if (!ts.isTemplateExpression(node)) return ' ';
    const span = ({ expression, literal }: ts.TemplateSpan): string =>
      whole((depth < 4 ? constants.get(expression.getText()) : undefined) ?? expression, depth + 1) + literal.text;
    return node.head.text + node.templateSpans.map(span).join('');
  };
  const collect = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.initializer && isText(node.initializer))
      constants.set(node.name.getText(), node.initializer);
    ts.forEachChild(node, collect);
  };
  const step = (node: ts.Node): void => {
    if (!isText(node)) return ts.forEachChild(node, step);
    const sql = whole(node).replace(/\s+/g, ' ');
    if (/\b(?:select|insert into|update|delete from)\b/.test(sql)) found.push({ file: file.name, sql });
  };
  collect(tree);
  step(tree);
  return found;
}

const FROM = /\b(?:from|join|using|update|into) (?:only )?((?:\w+(?: (?:as )?\w+)?, )*\w+)/g;

/** The tables and views that it names, each as often as it does. */
const tablesOf = (sql: string): string[] =>
  [...sql.matchAll(FROM)]
    .flatMap(([, list = '']) => list.split(', ').map((one) => one.split(' ')[0] ?? ''))
    .filter((name) => PLACES.has(name));

const placesOf = (sql: string): Set<Place | undefined> => new Set(tablesOf(sql).map((name) => PLACES.get(name)));

/** A table whose rows it changes, with the text from there on. */
const changesOf = (sql: string): { table: string; rest: string; isInsert: boolean }[] =>
  [...sql.matchAll(/\b(insert into|update|delete from) (\w+)/g)]
    .map(({ 1: verb, 2: table = '', index }) => ({ table, rest: sql.slice(index), isInsert: verb === 'insert into' }))
    .filter(({ table }) => PLACES.has(table));

/** What each law refuses, and a statement that breaks it. */
const LAWS: readonly (readonly [what: string, sample: string, breaks: (statement: Statement) => boolean])[] = [
  [
    'a table of the coordinator whose rows are deleted or updated by what lies on the nodes, or the other way round',
    `delete from import i where not exists (select 1 from delivery v where v.import = i.id)`,
    ({ sql }) =>
      changesOf(sql).some(
        ({ table, isInsert }) =>
          !isInsert &&
          tablesOf(sql).some((t) => (PLACES.get(t) === 'coordinator') !== (PLACES.get(table) === 'coordinator')),
      ),
  ],
  [
    'a function in what a change on the nodes returns',
    `delete from cost_day where team = $1 returning to_char(day, 'YYYY') as year`,
    ({ sql }) =>
      changesOf(sql).some(
        ({ table, rest }) =>
          PLACES.get(table) !== 'coordinator' && /^[^()]*(?:\([^()]*\)[^()]*)*? returning [^()]*\(/.test(rest),
      ),
  ],
  [
    'a conflict on the nodes that is answered with the time or a parameter',
    `insert into metered_day select 1 from delivery on conflict (day) do update set priced = now()`,
    ({ sql }) =>
      changesOf(sql).some(
        ({ table, rest }) =>
          PLACES.get(table) !== 'coordinator' && /\bon conflict\b.* do update set .*(?:\bnow\(\)|\$\d)/.test(rest),
      ),
  ],
  [
    'rows locked on more nodes than one',
    `select 1 from cost_day where organisation = $1 for update`,
    ({ sql }) =>
      /\bfor (?:update|share|no key update|key share)\b/.test(sql) &&
      tablesOf(sql).some((t) => COLUMNS.has(t) && !new RegExp(`\\b${COLUMNS.get(t)} = \\$`).test(sql)),
  ],
  [
    'facts that are read together with a table of the coordinator',
    `select 1 from import i where exists (select 1 from usage_hour u where u.delivery = i.id)`,
    ({ file, sql }) =>
      changesOf(sql).length === 0 &&
      placesOf(sql).has('spread') &&
      placesOf(sql).has('coordinator') &&
      !READ_TOGETHER.includes(file),
  ],
];

const statements = sourceFiles('src').flatMap(statementsOf);

it('knows the tables, and finds the statements', () => {
  expect(statements.length).toBeGreaterThan(700);
  expect([...COLUMNS.keys(), ...EVERYWHERE].filter((table) => !PLACES.has(table))).toEqual([]);
  expect(PLACES.get('import')).toBe('coordinator');
  expect(PLACES.get('hour_line')).toBe('spread');
  const text = 'const OF = `from block`; const one = `select 1 ${OF} where no = ${no}`;';
  expect(statementsOf({ name: 'sample.ts', text })).toEqual([
    { file: 'sample.ts', sql: 'select 1 from block where no = ' },
  ]);
  expect(tablesOf(`select 1 from block b, archive as a join delivery using (id)`)).toEqual([
    'block',
    'archive',
    'delivery',
  ]);
});

it.each(LAWS)('has no statement with %s', (_, sample, breaks) => {
  expect(breaks({ file: 'sample.ts', sql: sample })).toBe(true);
  expect(statements.filter(breaks)).toEqual([]);
});

it('lists no file that keeps the law without it', () => {
  const breaks = LAWS.at(-1)?.[2] as (statement: Statement) => boolean;
  const found = statements.filter(({ sql }) => breaks({ file: 'anywhere', sql })).map(({ file }) => file);
  expect([...new Set(found)]).toEqual(READ_TOGETHER);
});
