/**
 * Every name that an account of the directory ever had, filled with those that it has. Expands only: what the version
 * before writes is filed by the next one (`scim_user.filed` tells which rows are).
 */
import { hash } from 'node:crypto';
import type { MigrationInterface, QueryRunner } from 'typeorm';

interface Account {
  readonly organisation: string;
  readonly id: string;
  readonly names: readonly (string | null)[];
}

const UP = [
  `create table directory_name (
     organisation text not null, name text not null, user_id text not null, held_since timestamptz not null,
     held_until timestamptz, primary key (organisation, name, user_id)
   )`,
  `create index directory_name_user on directory_name (organisation, user_id)`,
  `alter table scim_user add column filed text`,
];

const ACCOUNTS = `
select organisation, id, subjects || user_name || external_id || array(
  select v.value #>> '{}' from jsonb_each(attributes) a, lateral jsonb_array_elements(
      case jsonb_typeof(a.value) when 'array' then a.value else jsonb_build_array(a.value) end) e, lateral jsonb_each(
      case jsonb_typeof(e) when 'object' then e else '{}' end) v
  where lower(a.key) = 'emails' and lower(v.key) = 'value') as names
from scim_user order by id`;

/** As core/text.ts folds names. */
const folded = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
    .trim();

export class DirectoryNames1764000000086 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const statement of UP) await runner.query(statement);
    for (const { organisation, id, names } of (await runner.query(ACCOUNTS)) as Account[]) {
      const known = names.map((name) => folded(name ?? '')).filter((name) => name !== '');
      await runner.query(
        `insert into directory_name (organisation, name, user_id, held_since)
         select $1, unnest($2::text[]), $3, now() on conflict do nothing`,
        [organisation, known.map((name) => hash('sha256', name, 'hex')), id],
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`alter table scim_user drop column filed`);
    await runner.query(`drop table directory_name`);
  }
}
