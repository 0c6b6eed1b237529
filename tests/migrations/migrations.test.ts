/**
 * The migrations: each can be taken back and run again to the same schema, several processes may run them at once, and
 * every key begins with the organisation, so that no later migration has to rewrite one.
 */
import { Client } from 'pg';
import { DataSource } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.js';
import { nameDigest } from '../../src/store/access/directory-names.js';
import { SPREAD } from '../../src/store/distribution.js';
import { emptyDatabase, freshDatabase } from '../support/database.js';
import { home } from '../support/processes.js';

type Migration = (typeof migrations)[number];

/** TypeORM's own table, which belongs to no organisation. */
const JOURNAL = 'migration';

/** What an extension brought (on a Citus cluster, its views; its shards it keeps out of pg_class). */
const EXTENSIONS = `select objid::regclass::text from pg_depend where deptype = 'e' and classid = 'pg_class'::regclass`;

/** Columns, keys, indexes and views of the schema, as PostgreSQL writes them. */
const SCHEMA = `
select * from (
select 'column' as what, table_name || '.' || column_name as name,
  concat_ws(' ', ordinal_position, data_type, is_nullable, column_default, is_identity, identity_generation, is_generated) as definition
from information_schema.columns where table_schema = 'public' and table_name <> '${JOURNAL}'
union all select 'index', tablename || '.' || indexname, indexdef from pg_indexes where schemaname = 'public' and tablename <> '${JOURNAL}'
union all select 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(k.oid) from pg_constraint k
  join pg_class c on c.oid = conrelid where connamespace = 'public'::regnamespace and conrelid::regclass::text <> '${JOURNAL}'
union all select 'view', viewname, definition from pg_views where schemaname = 'public'
union all select 'storage', attrelid::regclass || '.' || attname, attstorage::text from pg_attribute a
  join pg_class c on c.oid = a.attrelid where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and attnum > 0 and not attisdropped and c.relname <> '${JOURNAL}'
union all select 'function', proname, concat_ws(' ', proconfig::text, prosrc) from pg_proc where pronamespace = 'public'::regnamespace
) parts
where split_part(name, '.', 1) not in (${EXTENSIONS})
order by 1, 2`;

interface Part {
  readonly what: string;
  readonly name: string;
  readonly definition: string;
}

/** A column that was dropped keeps its place: what counts is the order, not the numbers. */
function inOrder(parts: readonly Part[]): Part[] {
  return parts.map((part) =>
    part.what === 'column' ? { ...part, definition: part.definition.replace(/^\d+ /, '') } : part,
  );
}

describe('the migrations', async () => {
  const { url } = await emptyDatabase();
  const whole = await freshDatabase();
  const opened: DataSource[] = [];
  afterAll(() => Promise.all(opened.map((source) => source.destroy())));

  async function open(address: string, these: readonly Migration[]): Promise<DataSource> {
    const source = await new DataSource({
      type: 'postgres',
      url: address,
      migrations: [...these],
      migrationsTableName: JOURNAL,
      migrationsTransactionMode: 'each',
      entities: [],
      poolSize: 2,
    }).initialize();
    opened.push(source);
    return source;
  }
  const schemaOf = async (source: DataSource): Promise<Part[]> => inOrder(await source.query<Part[]>(SCHEMA));

  it('go up one by one, each of them down and up again to the same schema', async () => {
    let before = await schemaOf(await open(url, []));
    expect(before).toEqual([]);
    for (const [at, migration] of migrations.entries()) {
      const source = await open(url, migrations.slice(0, at + 1));
      expect((await source.runMigrations()).map(({ name }) => name)).toEqual([migration.name]);
      const after = await schemaOf(source);
      expect(after).not.toEqual(before);
      await source.undoLastMigration();
      expect(await schemaOf(source), `${migration.name} taken back`).toEqual(before);
      await source.runMigrations();
      expect(await schemaOf(source), `${migration.name} run again`).toEqual(after);
      before = after;
    }
    expect(before).toEqual(await schemaOf(await open(whole.url, [])));
  });

  it('give recommendations of before the fields that were only in their texts', async () => {
    const source = await open(url, migrations);
    const at = migrations.findIndex(({ name }) => name.startsWith('TypedRecommendations'));
    for (const _ of migrations.slice(at)) await source.undoLastMigration();
    const add = (id: string, action: string, target: string, computation: object) =>
      source.query(
        `insert into recommendation (organisation, id, team, policy, action, target, body, made_at) values ('default', $1, 'lab', 'p', $2, $3, $4, now())`,
        [id, action, target, JSON.stringify({ id, computation })],
      );
    await add('1', 'MoveToOffPeak', 'job/1', { saving: 'once, for this job' });
    await add('2', 'PurchaseReservedInstances', 'AWS/us-east-1/p5.48xlarge/reserved-1y/none', {});
    await add('3', 'PurchaseSavingsPlans', 'AWS/any region/p5.48xlarge/savings-plan-1y/none', { saving: 'monthly' });
    await source.runMigrations();
    const rows = await source.query<{ body: object }[]>(`select body from recommendation order by id`);
    expect(rows.map(({ body }) => body)).toMatchObject([
      { savingRecurs: 'once', place: null },
      { savingRecurs: 'monthly', place: { provider: 'AWS', region: 'us-east-1', sku: 'p5.48xlarge' } },
      { savingRecurs: 'monthly', place: { provider: 'AWS', region: null, sku: 'p5.48xlarge' } },
    ]);
    await source.query(`delete from recommendation`);
  });

  it('mend what bills said of commitments: list cost of supplements, and fees of AWS as purchases', async () => {
    const source = await open(url, migrations);
    const at = migrations.findIndex(({ name }) => name.startsWith('Supplements'));
    for (const _ of migrations.slice(at)) await source.undoLastMigration();
    await source.query(
      `insert into delivery (organisation, id, source, scope, supplement, records, rules_version, delivered_at)
       overriding system value values ('default', 1, 'azure', 'bill', null, 1, 1, now()), ('default', 2, 'azure', null, 'bill|supplement', 1, 1, now()),
         ('default', 3, 'cur', 'cur', null, 1, 1, now())`,
    );
    const use = (delivery: number, no: number, provider: string, status: string, billed: number, purchase = false) =>
      source.query(
        `insert into commitment_use (organisation, delivery, no, day, provider, currency, status, purchase, lines, billed, effective, without_effective, list, without_list)
         values ('default', $1, $2, '2026-10-01', $3, 'USD', $4, $5, 1, $6, 20, 0, 88, 1)`,
        [delivery, no, provider, status, purchase, billed],
      );
    await use(1, 1, 'Microsoft', 'Used', 0);
    await use(2, 1, 'Microsoft', 'Used', 0);
    await use(2, 2, 'Microsoft', 'Unused', 0);
    await use(3, 1, 'AWS', 'Unused', 600);
    await use(3, 2, 'AWS', 'Unused', 0);
    await source.runMigrations();
    const rows = await source.query<{ row: string }[]>(
      `select concat_ws(' ', delivery, no, list, without_list, purchase) as row from commitment_use order by delivery, no`,
    );
    expect(rows.map(({ row }) => row)).toEqual(['1 1 88 1 f', '2 1 0 0 f', '2 2 88 1 f', '3 1 88 1 t', '3 2 88 1 f']);
    // Supplements that are there are read once more, and nothing else is.
    const work = await source.query<{ key: string }[]>(`select key from work where stage = 'usage.allocate'`);
    expect(work.map(({ key }) => key)).toEqual(['azure/2']);
    for (const table of ['commitment_use', 'delivery', 'work']) await source.query(`delete from ${table}`);
  });

  it('file the names that accounts of the directory have, as the store does', async () => {
    const source = await open(url, migrations);
    const at = migrations.findIndex(({ name }) => name.startsWith('DirectoryNames'));
    for (const _ of migrations.slice(at)) await source.undoLastMigration();
    const add = (id: string, name: string, external: string | null, subjects: string[], attributes: object) =>
      source.query(
        `insert into scim_user (organisation, id, user_name, external_id, active, subjects, attributes, created_at, updated_at)
         values ('default', $1, $2, $3, true, $4, $5, now(), now())`,
        [id, name, external, subjects, JSON.stringify(attributes)],
      );
    await add('a', 'İda@x.com', 'e-1', ['s-1', 'İDA@x.com'], {
      Emails: [{ Value: ' IDA@mail.x' }, 'odd', { value: 7 }],
    });
    await add('b', 'bob', null, [], { emails: { value: 'bob@mail.x' }, name: { value: 'no' } });
    await source.runMigrations();
    const rows = await source.query<{ name: string; user_id: string }[]>(`select name, user_id from directory_name`);
    const named = (user: string) => rows.filter((row) => row.user_id === user).map(({ name }) => name);
    const digests = (...names: string[]) => expect.arrayContaining(names.map(nameDigest));
    expect(named('a')).toEqual(digests('İda@x.com', 'e-1', 's-1', 'ida@mail.x'));
    expect(named('b')).toEqual(digests('bob', 'bob@mail.x'));
    expect(rows.some(({ name }) => name === nameDigest('no'))).toBe(false);
    for (const table of ['scim_user', 'directory_name']) await source.query(`delete from ${table}`);
  });

  it('go all down to nothing, and all up again', async () => {
    const source = await open(url, migrations);
    const before = await schemaOf(source);
    for (const _ of migrations) await source.undoLastMigration();
    expect(await schemaOf(source)).toEqual([]);
    expect(await source.query(`select 1 from ${JOURNAL}`)).toEqual([]);
    await source.runMigrations();
    expect(await schemaOf(source)).toEqual(before);
    expect(await source.query(`select id from organisation`)).toEqual([{ id: 'default' }]);
  });
});

describe('the schema', async () => {
  const { url } = await freshDatabase();
  const client = new Client({ connectionString: url });
  beforeAll(() => client.connect());
  afterAll(() => client.end());

  /** Every unique index (primary keys are ones), with its columns in order; a table without any has a row too. */
  const keys = async (): Promise<{ table: string; primary: boolean | null; columns: string[] | null }[]> =>
    (
      await client.query<{ table: string; primary: boolean | null; columns: string[] | null }>(
        `select c.relname as table, i.indisprimary as primary,
       (select array_agg(a.attname::text order by k.at) from unnest(i.indkey) with ordinality as k(attnum, at) join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum) as columns
     from pg_class c left join pg_index i on i.indrelid = c.oid and i.indisunique
     where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and c.relname <> '${JOURNAL}' order by 1, 2 desc`,
      )
    ).rows;

  it('has a primary key on every table, and it begins with the organisation, as every other unique key does', async () => {
    const all = await keys();
    expect(all.length).toBeGreaterThan(20);
    const primary = new Set(all.filter((key) => key.primary).map((key) => key.table));
    expect(all.map(({ table }) => table).filter((table) => !primary.has(table))).toEqual([]);
    // The organisation's own name is its id.
    expect(
      all.filter(({ table, columns }) => columns?.[0] !== (table === 'organisation' ? 'id' : 'organisation')),
    ).toEqual([]);
  });

  it('has the distribution column of the facts in their every key', async () => {
    const spread = Object.entries(SPREAD).flatMap(([column, tables]) => tables.map((table) => ({ table, column })));
    const all = await keys();
    for (const { table, column } of [...spread, { table: 'work', column: 'lane' }]) {
      const own = all.filter((key) => key.table === table);
      expect(own.length, table).toBeGreaterThan(0);
      for (const { columns } of own) expect(columns, table).toContain(column);
    }
  });
});

describe('several processes that migrate at once', async () => {
  const { url } = await emptyDatabase();
  const place = await home();

  it('all succeed, and one of them runs the migrations', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => place.run(['migrate', '--json'], { DATABASE_URL: url })));
    expect(runs.map(({ code, err }) => ({ code, err }))).toEqual(runs.map(() => ({ code: 0, err: '' })));
    const ran = runs.map(({ out }) => (JSON.parse(out) as { migrations: string[] }).migrations);
    expect(ran.filter((names) => names.length > 0)).toEqual([migrations.map(({ name }) => name)]);
    const client = new Client({ connectionString: url });
    await client.connect();
    try {
      expect(
        (await client.query<{ name: string }>(`select name from ${JOURNAL} order by id`)).rows.map(({ name }) => name),
      ).toEqual(migrations.map(({ name }) => name));
      expect((await client.query(`select id from organisation`)).rows).toEqual([{ id: 'default' }]);
    } finally {
      await client.end();
    }
  });
});
