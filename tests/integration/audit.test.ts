/**
 * The audit cannot be changed, and shows it where somebody who owns the database has changed it all the same. On a real
 * PostgreSQL, through the API.
 */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Client } from 'pg';
import type { AuditCheck, SealedEntry } from '../../src/store/audit.js';
import { testApi } from '../support/web.js';

describe('the audit', async () => {
  const databases: string[] = [];
  const api = await testApi({ through: async (url) => (databases.push(url), url) });
  const check = async (head?: string): Promise<AuditCheck> =>
    (await api.call<AuditCheck>('GET', `/v1/audit/verification${head === undefined ? '' : `?head=${head}`}`))
      .body as never;
  const add = (target: string, detail: Record<string, unknown> = {}): Promise<void> =>
    api.stores.audit.audit(api.stores.db, 'default', 'cli:test (Ünï "q" \\ \n\u0001)', 'test.add', target, detail);
  /** As the owner of the tables, whom no trigger holds. */
  const asOwner = async (sql: string): Promise<void> => {
    for (const table of ['audit', 'audit_seal'])
      await api.stores.db.query(`alter table ${table} disable trigger ${table}_kept`);
    await api.stores.db.query(sql);
    for (const table of ['audit', 'audit_seal'])
      await api.stores.db.query(`alter table ${table} enable trigger ${table}_kept`);
  };

  it('is one chain per organisation, whoever writes at once, and its hashes are those of the documented text', async () => {
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => add(`t${n}`, { n, deep: { text: 'ä\u2028', list: [1.5, null] } })),
    );
    const found = await check();
    expect(found).toMatchObject({ holds: true, problems: [] });
    expect(found.entries).toBeGreaterThanOrEqual(40);
    const { text, headers } = await api.call('GET', '/v1/audit/export?limit=10000');
    expect(headers.get('content-type')).toContain('application/x-ndjson');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as SealedEntry);
    expect(lines.map(({ seq }) => seq)).toEqual(lines.map((_, n) => String(n + 1)));
    let previous = '0'.repeat(64);
    for (const line of lines) {
      expect(hash('sha256', line.text)).toBe(line.hash);
      expect((JSON.parse(line.text) as string[]).slice(0, 3)).toEqual([previous, 'default', line.seq]);
      previous = line.hash;
    }
    expect(found.head).toEqual({ seq: lines.at(-1)?.seq, hash: previous });
    const rest = await api.call('GET', '/v1/audit/export?after=38&limit=1');
    expect((JSON.parse(rest.text) as SealedEntry).seq).toBe('39');
  });

  it('refuses to be changed, removed or emptied, its seals too', async () => {
    for (const sql of [
      `update audit set actor = 'somebody else'`,
      `delete from audit`,
      `truncate audit`,
      `update audit_seal set hash = '\\x00'`,
      `delete from audit_seal`,
      `truncate audit_seal`,
    ])
      await expect(api.stores.db.query(sql)).rejects.toThrow(/only added to/);
    expect((await check()).holds).toBe(true);
  });

  it('is out of reach of an application that has a role of its own', async () => {
    const [url = ''] = databases;
    const owner = new Client({ connectionString: url });
    await owner.connect();
    const role = `app_${process.pid}`;
    await owner.query(`create role ${role}`);
    await owner.query(`grant select, insert on audit to ${role}`);
    await owner.query(`set role ${role}`);
    try {
      await owner.query(`insert into audit (organisation, actor, verb, target) values ('default', 'app', 'a.b', 'c')`);
      for (const sql of [
        `alter table audit disable trigger audit_kept`,
        `drop trigger audit_sealed on audit`,
        `delete from audit`,
        `insert into audit_seal values ('default', 1000000, 1000000, '\\x00')`,
      ])
        await expect(owner.query(sql)).rejects.toThrow(/must be owner|permission denied/);
      // A table of its own by a name that the owner's function writes to, with a trigger that would run as the owner.
      for (const sql of [
        `create temp table audit_seal (organisation text, seq bigint, entry bigint, hash bytea)`,
        `create function pg_temp.run() returns trigger language plpgsql as $$
           begin execute format('grant delete on public.audit to %I', '${role}'); return null; end $$`,
        `create trigger run before insert on pg_temp.audit_seal for each row execute function pg_temp.run()`,
        `grant all on pg_temp.audit_seal to public`,
        `insert into audit (organisation, actor, verb, target) values ('default', 'app', 'a.b', 'd')`,
      ])
        await owner.query(sql);
      expect(
        (await owner.query(`select has_table_privilege('${role}', 'public.audit', 'delete') as may`)).rows,
      ).toEqual([{ may: false }]);
    } finally {
      await owner.query('reset role');
      await owner.query(`drop owned by ${role}`);
      await owner.query(`drop role ${role}`);
      await owner.end();
    }
    expect((await check()).holds).toBe(true);
  });

  it('is written by functions that look names up in what callers make last', async () => {
    const paths = await api.stores.db.query<{ name: string; path: string | null }>(
      `select p.proname as name, (select c from unnest(p.proconfig) c where c like 'search_path=%') as path
       from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.prosecdef and n.nspname = current_schema()`,
    );
    expect(paths.length).toBeGreaterThanOrEqual(3);
    expect(paths.filter(({ path }) => path?.endsWith(', pg_temp') !== true)).toEqual([]);
  });

  it('is filtered by who, what, on what and when', async () => {
    await add('only-this');
    const items = async (query: string) =>
      (await api.call<{ items: { target: string }[] }>('GET', `/v1/audit?${query}`)).body.items;
    expect((await items('target=only-this')).length).toBe(1);
    expect((await items('verb=test.add&actor=cli:test&limit=1000')).length).toBe(41);
    expect(await items('actor=cli:tes')).toEqual([]);
    expect(await items('target=only-this&to=2020-01-01T00:00:00Z')).toEqual([]);
  });

  it('shows an entry that was changed, one that is gone, and an end that was cut off', async () => {
    const { head } = await check();
    const end = `${head?.seq}:${head?.hash}`;
    const [entry] = (await api.call<{ items: { id: string }[] }>('GET', '/v1/audit?target=t7')).body.items;
    await asOwner(`update audit set target = 't8' where id = ${entry?.id}`);
    expect(await check()).toMatchObject({
      holds: false,
      problems: [{ entry: entry?.id, message: expect.stringContaining('not as it was written') }],
    });
    await asOwner(`update audit set target = 't7' where id = ${entry?.id}`);
    expect((await check(end)).holds).toBe(true);
    await asOwner(`delete from audit_seal where seq = ${head?.seq}`);
    expect((await check(end)).problems.map(({ message }) => message)).toEqual([
      'the entry is not in the chain',
      'the end that was kept is not in the chain (any more)',
    ]);
    await asOwner(`delete from audit where id = ${entry?.id}`);
    expect((await check()).problems).toContainEqual(expect.objectContaining({ message: 'the entry is gone' }));
  });
});
