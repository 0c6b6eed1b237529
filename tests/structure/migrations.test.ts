/**
 * Migrations on the tables of facts, which are large: none holds the table while it rewrites or reads it whole. An
 * index is made concurrently, in a migration of its own that asks for no transaction; a column is added empty or with a
 * constant; a constraint is added without looking at old rows, and looked at later (PostgreSQL's documentation, "ALTER
 * TABLE", "Notes", and "CREATE INDEX", "Building Indexes Concurrently").
 */
import { readdir, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { sourceFiles } from '../support/source.js';

/** What grows with every record, hour, sample and look. */
const FACTS = [
  'audit',
  'bill_cells',
  'block',
  'cost_day',
  'cost_hour',
  'reject',
  'sample',
  'saving_line',
  'spot_reading',
  'usage_hour',
  'usage_id',
  'workload_metric',
];

/** They ran before there was anything to hold up. */
const LAST_OF_OLD = 20;

const table = `(?:only )?"?(?:${FACTS.join('|')})"?`;

/** The last that reads a name as a date in a condition: 0085 took that back. */
const LAST_UNCHECKED = 85;

/** PostgreSQL chooses the order of conditions: one that can fail is asked of rows that another one leaves out. */
const UNCHECKED = /(?<!\bcase when [^;]*)\bto_(?:date|number)\(/i;

/** What is refused, by what it would do. */
const REFUSED: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    'an index that is not made concurrently',
    new RegExp(`create (?:unique )?index (?!concurrently)[^;]*? on ${table}\\b`, 'i'),
  ],
  [
    'a column of another type',
    new RegExp(`alter table ${table} [^;]*\\balter (?:column )?\\w+ (?:set data )?type\\b`, 'i'),
  ],
  [
    'a column that no old row has',
    new RegExp(`alter table ${table} [^;]*\\badd (?:column )?(?:(?!default)[^;,])*not null(?![^;,]*default)`, 'i'),
  ],
  [
    'a column that every row works out',
    new RegExp(
      `alter table ${table} [^;]*\\badd (?:column )?[^;]*\\b(?:generated always as \\(|default (?:now|random|gen_random|clock_timestamp|nextval))`,
      'i',
    ),
  ],
  ['not null over old rows', new RegExp(`alter table ${table} [^;]*\\balter (?:column )?\\w+ set not null`, 'i')],
  [
    'a constraint that reads old rows',
    new RegExp(
      `alter table ${table} [^;]*\\badd (?:constraint \\w+ )?(?:check|foreign key|primary key|unique)\\b(?![^;]*\\bnot valid)`,
      'i',
    ),
  ],
  ['rows that are changed all at once', new RegExp(`\\b(?:update ${table} set|delete from ${table})\\b`, 'i')],
];

const problemsOf = (source: string): string[] => {
  const up = source.slice(0, source.indexOf('async down(') < 0 ? undefined : source.indexOf('async down('));
  // What a function does when it is called is no migration's doing.
  const sql = up.replace(/\s+/g, ' ').replace(/create (?:or replace )?function [^$]*\$\$.*?\$\$/gi, '');
  const found = REFUSED.filter(([, pattern]) => pattern.test(sql)).map(([what]) => what);
  if (/create (?:unique )?index concurrently/i.test(sql) && !/transaction = false/.test(source))
    found.push('an index made concurrently inside a transaction');
  return found;
};

it('hold up nobody who reads or writes facts', async () => {
  const folder = new URL('../../migrations/', import.meta.url);
  const files = (await readdir(folder)).filter(
    (name) => /^\d{4}-/.test(name) && Number(name.slice(0, 4)) > LAST_OF_OLD,
  );
  expect(files.length).toBeGreaterThan(0);
  const found = await Promise.all(
    files.map(async (name) => [name, problemsOf(await readFile(new URL(name, folder), 'utf8'))] as const),
  );
  expect(found.filter(([, problems]) => problems.length > 0)).toEqual([]);
});

it('read a text as a date or a number only where a case says that it is one', async () => {
  const folder = new URL('../../migrations/', import.meta.url);
  const texts = await Promise.all(
    (await readdir(folder))
      .filter((name) => /^\d{4}-/.test(name))
      .map(async (name) => ({ name, text: await readFile(new URL(name, folder), 'utf8') })),
  );
  const found = [...texts, ...sourceFiles('src')].filter(({ text }) => UNCHECKED.test(text)).map(({ name }) => name);
  expect(found.filter((name) => !(Number(name.slice(0, 4)) <= LAST_UNCHECKED))).toEqual([]);
  expect(found).toContain('0044-packed-samples.ts');
  expect(UNCHECKED.test(`where case when name ~ '^[0-9]{8}$' then to_date(name, 'YYYYMMDD') <= $1 end`)).toBe(false);
});

it.each([
  ['create index cost_hour_sku on cost_hour (organisation, dimension)', 'an index that is not made concurrently'],
  ['create unique index x on only usage_id (organisation)', 'an index that is not made concurrently'],
  ['create index concurrently x on sample (organisation, at)', 'an index made concurrently inside a transaction'],
  ['alter table usage_hour alter column team type varchar', 'a column of another type'],
  ['alter table block add column size int not null', 'a column that no old row has'],
  [
    'alter table cost_day add column x numeric generated always as (accrued * 2) stored',
    'a column that every row works out',
  ],
  ['alter table sample add column seen timestamptz default clock_timestamp()', 'a column that every row works out'],
  ['alter table reject alter column raw set not null', 'not null over old rows'],
  ['alter table cost_hour add constraint positive check (nanos >= 0)', 'a constraint that reads old rows'],
  ['update usage_hour set team = lower(team)', 'rows that are changed all at once'],
])('refuse: %s', (sql, what) => expect(problemsOf(sql)).toContain(what));

it.each([
  'alter table usage_hour add column late boolean',
  'alter table block add column size int not null default 0',
  'alter table cost_hour add constraint positive check (nanos >= 0) not valid',
  'create index team_parent on team (organisation, parent)',
  'readonly transaction = false; create index concurrently x on sample (organisation, at)',
])('allow: %s', (sql) => expect(problemsOf(sql)).toEqual([]));
