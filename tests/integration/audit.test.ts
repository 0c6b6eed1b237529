/**
 * The audit cannot be changed, and shows it where somebody who owns the database has changed it all the same. On a real
 * PostgreSQL, through the API.
 */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Client } from 'pg';
import type { AuditCheck, SealedEntry } from '../../src/store/audit.js';
import { TidySchedule } from '../../src/pipeline/tidy.js';
import { testBursar } from '../support/bursar.js';
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
      'the end that was kept is not (or no longer) in the chain',
    ]);
    await asOwner(`delete from audit where id = ${entry?.id}`);
    expect((await check()).problems).toContainEqual(expect.objectContaining({ message: 'the entry is missing' }));
  });
});

describe('the audit of many years', async () => {
  const { stores } = await testBursar();
  const { db, audit, auditStream } = stores;
  const tidy = async (now: number, collector: string | null = null): Promise<void> =>
    new TidySchedule(stores, { organisation: 'old', years: 6, collector }).enqueueDue(now);
  const left = async (): Promise<number> => (await audit.sealed('old', '0', 100)).length;
  const NOW = Date.UTC(2026, 5, 20);

  it('goes by whole months where the chain holds and every collector has it, and is verified from there', async () => {
    // From February 2019 to January 2021, one a month.
    await db.query(
      `insert into audit (organisation, at, actor, verb, target)
       select 'old', timestamptz '2019-01-15' + make_interval(months => n), 'cli:test', 'test.add', 't' || n
       from generate_series(1, 24) n`,
    );
    const all = await audit.sealed('old', '0', 100);
    const endAt = (seq: number) => ({ seq: String(seq), hash: all[seq - 1]?.hash ?? '' });
    await new TidySchedule(stores, { organisation: 'old', years: null, collector: null }).enqueueDue(NOW);
    await tidy(NOW, 'a collector that has nothing yet');
    expect(await left()).toBe(24);

    const alter = async (target: string): Promise<void> => {
      await db.query(`alter table audit disable trigger audit_kept`);
      await db.query(`update audit set target = $1 where organisation = 'old' and target in ('t3', 'x')`, [target]);
      await db.query(`alter table audit enable trigger audit_kept`);
    };
    await alter('x');
    await tidy(NOW);
    expect(await left()).toBe(24);
    await alter('t3');

    await auditStream.save(db, 'old', 'collector', { seq: '10', problem: null }, NOW);
    await tidy(NOW, 'collector');
    expect((await audit.check('old', null)).since).toMatchObject(endAt(10));
    // Nobody sends it any more: then age alone decides, by the beginning of August.
    await tidy(Date.UTC(2026, 7, 20));
    const found = await audit.check('old', endAt(20));
    expect(found).toMatchObject({ holds: true, entries: 6 + 2, since: endAt(18), head: { seq: '26' } });
    const [first, ...rest] = await audit.sealed('old', '3', 100);
    expect(first).toEqual(all[18]);
    expect(hash('sha256', first?.text ?? '')).toBe(first?.hash);
    expect(JSON.parse(rest.at(-1)?.text ?? '')).toEqual(
      expect.arrayContaining(['audit.drop', expect.stringContaining(`"to": "18:${endAt(18).hash}"`)]),
    );
    // Who comes second enters nothing.
    await db.transaction((tx) => audit.drop(tx, 'old', { entries: 8, head: endAt(18) }));
    expect((await audit.check('old', null)).entries).toBe(8);
    // An end that was kept: of a checkpoint it is known, of what was dropped between two it cannot be.
    expect((await audit.check('old', endAt(10))).holds).toBe(true);
    expect((await audit.check('old', endAt(12))).problems).toMatchObject([
      { seq: '12', message: expect.stringContaining('dropped by age, up to 18') },
    ]);
    expect((await audit.check('old', { seq: '18', hash: '0'.repeat(64) })).holds).toBe(false);
  });

  it('goes by no other way, whoever asks', async () => {
    await audit.audit(db, 'young', 'cli:test', 'test.add', 't');
    await audit.audit(db, 'young', 'cli:test', 'test.add', 't');
    for (const [sql, because] of [
      [`select drop_audit('young', 1)`, /for a year at least/],
      [`select drop_audit('old', 26)`, /for a year at least/],
      [`insert into audit_checkpoint (organisation, seq, hash) values ('old', 20, '\\x00')`, /is a seal of its chain/],
      [`update audit_checkpoint set seq = seq + 1`, /only added to/],
      [`delete from audit_checkpoint`, /only added to/],
      [`truncate audit_checkpoint`, /only added to/],
      [`delete from audit where organisation = 'old' and target = 't19'`, /only added to/],
      [`delete from audit_seal where organisation = 'old' and seq = 19`, /only added to/],
    ] as const)
      await expect(db.query(sql)).rejects.toThrow(because);
    expect((await audit.check('old', null)).holds).toBe(true);
    // What is all of it old keeps its last entry: the chain goes on from there.
    await db.query(
      `insert into audit (organisation, at, actor, verb, target) values ('ancient', '2001-01-01', 'a', 'b.c', 'd')`,
    );
    await expect(db.query(`select drop_audit('ancient', 1)`)).rejects.toThrow(/the last one always/);
    expect(await audit.droppable('ancient', NOW, null)).toBeNull();
  });
});
