/**
 * Backups that are really taken and really restored (docs/how-to/back-up-and-restore.md): afterwards the kill switch is
 * on until a person lifts it, and nothing that was approved is carried out twice.
 */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { settleRestore } from '../../src/application/action/after-restore.js';
import { run } from '../../src/cli/program.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { RestoreSchedule } from '../../src/pipeline/restore.js';
import { folderMark } from '../../src/store/embedded/embedded.js';
import { Database, migrate } from '../../src/store/database.js';
import { HomeStore, type Moved } from '../../src/store/operation/home.js';
import { Stores } from '../../src/store/stores.js';
import { actingWorld, step, type ActingWorld } from '../support/acting.js';
import { localOfComposed } from '../support/local.js';
import { testBursar } from '../support/bursar.js';
import { instance } from '../support/memory-cloud.js';
import { findPostgres, startPostgres } from '../support/postgres-server.js';

const programs = findPostgres();
const NAME = 'a backup by pg_dump';

describe.skipIf(programs === null)(programs === null ? `${NAME} [needs postgresql]` : NAME, async () => {
  if (programs === null) return;
  const server = await startPostgres(programs);
  const dump = path.join(server.folder, 'bursar.dump');
  await server.sql('postgres', 'create database before');
  await migrate(server.url('before'));
  const before = await actingWorld({ url: server.url('before') });
  const settle = ({ stores, clock }: ActingWorld, by?: string) => settleRestore(stores, 'default', clock.at, by);
  const idOf = async (world: ActingWorld, target: string): Promise<string> =>
    (await world.all()).find((one) => one.target === target)?.id ?? '';
  const states = async (world: ActingWorld): Promise<Record<string, string>> =>
    Object.fromEntries((await world.all()).map(({ target, state }) => [target, state]));
  const open = (name: string): Promise<ActingWorld> => actingWorld({ url: server.url(name), cloud: before.cloud });

  beforeAll(async () => {
    const { cloud, script, document, look, approve, rollBack, pass, stores, db } = before;
    expect(await settle(before)).toBeNull();
    cloud.add(instance('done-before'));
    script.wants = [{ action: 'Stop', target: 'done-before' }];
    await document('approve');
    await look();
    await approve(await idOf(before, 'instance/done-before'));
    await pass(0);
    await pass(HOUR_MS);
    for (const name of ['done-after', 'never-done']) cloud.add(instance(name));
    script.wants = ['done-after', 'never-done'].map((target) => ({ action: 'Stop', target }));
    await look(MINUTE_MS);
    for (const name of ['done-after', 'never-done']) await approve(await idOf(before, `instance/${name}`));
    await before.stop('provider', 'elsewhere');
    await rollBack(await idOf(before, 'instance/done-before'), true);
    await stores.audit.audit(db, 'default', 'test', 'test', 'dump');
    await server.run('pg_dump', ['-Fc', '-f', dump, server.url('before')]);
  });

  it('has an action that was carried out after it, one that was approved only, and one that takes back', async () => {
    await step(before, await idOf(before, 'instance/done-after'));
    await step(before, await idOf(before, 'instance/done-after'));
    expect(await states(before)).toMatchObject({ 'instance/done-after': 'applied', 'instance/never-done': 'approved' });
    expect(before.cloud.done.map(({ effect }) => effect)).toEqual([
      { kind: 'stop', target: 'instance/done-before' },
      { kind: 'stop', target: 'instance/done-after' },
    ]);
    expect(await settle(before)).toBeNull();
    // Somebody started it again: only that it was approved once would stop it.
    before.cloud.change('instance/done-after', { state: 'running', billing: 'billed' });
  });

  it('restored into another database nothing is sent, even before anybody has looked', async () => {
    await server.sql('postgres', 'create database after');
    await server.run('pg_restore', ['-d', server.url('after'), dump]);
    const after = await open('after');
    await after.pass(HOUR_MS);
    expect(before.cloud.done).toHaveLength(2);
    expect(await states(after)).toMatchObject({ 'instance/never-done': expect.stringMatching(/approved|intended/) });

    const schedule = new RestoreSchedule(after.stores, 'default', ({ because }) => told.push(because));
    const told: string[] = [];
    await schedule.enqueueDue(after.clock.at);
    await schedule.enqueueDue(after.clock.at);
    expect(told).toEqual([expect.stringContaining('its tables were created again')]);
    expect(await after.stores.safety.stops(after.db, 'default')).toMatchObject([
      { scope: 'all', setBy: 'line', reason: expect.stringContaining('restored from a backup') },
      { scope: 'provider' },
    ]);
    const refused = (await after.all()).filter(({ state }) => state === 'refused');
    expect(refused.map(({ target }) => target).sort()).toEqual([
      'instance/done-after',
      'instance/done-before',
      'instance/never-done',
    ]);
    expect(refused.map(({ reasons }) => reasons[0]?.code)).toEqual(['stopped', 'stopped', 'stopped']);
    const [entry] = await after.stores.audit.list('default', null, 1);
    expect(entry).toMatchObject({ verb: 'database.restored', actor: 'line' });
    expect(new Set(entry?.detail['refused'] as string[])).toEqual(new Set(refused.map(({ id }) => id)));
  });

  it('and when the switch is lifted nothing comes back', async () => {
    const after = await open('after');
    await after.pass(2 * HOUR_MS);
    expect(before.cloud.done).toHaveLength(2);
    expect(await after.lift('all')).toBe(true);
    await after.pass(HOUR_MS);
    expect(before.cloud.done).toHaveLength(2);
    expect(await settle(after)).toBeNull();
  });

  it('restored over what there was, or as rows alone, is known too', async () => {
    const { stores, db } = before;
    await server.run('pg_restore', ['--clean', '--if-exists', '-d', server.url('before'), dump]);
    expect(await stores.home.moved(db, 'default')).toEqual(['row', 'table']);
    expect((await settle(before))?.refused).toHaveLength(3);
    expect(await stores.home.moved(db, 'default')).toEqual([]);
    const rows = path.join(server.folder, 'rows.dump');
    await server.run('pg_dump', ['-Fc', '-a', '-t', 'database_home', '-f', rows, server.url('before')]);
    await db.query('truncate database_home');
    await server.run('pg_restore', ['-a', '-d', server.url('before'), rows]);
    expect(await stores.home.moved(db, 'default')).toEqual(['row']);
    await settle(before);
  });

  it('what tidies a table up does not look like a restore', async () => {
    await server.sql('before', 'vacuum (full, freeze) database_home');
    expect(await before.stores.home.moved(before.db, 'default')).toEqual([]);
  });

  it('a person can say it, where nothing shows', async () => {
    await before.lift('all');
    let out = '';
    const code = await run(['restored', '--json'], {
      environment: {},
      clock: before.clock,
      stdout: { write: (text) => (out += text) },
      stderr: { write: () => undefined },
      serve: async () => undefined,
      connect: async () => localOfComposed(before, before.clock),
      remote: null,
    });
    expect([code, JSON.parse(out)]).toEqual([0, { refused: [] }]);
    expect((await before.stores.safety.stops(before.db, 'default'))[0]).toMatchObject({ scope: 'all' });
  });

  it('a server that went on from its journal is known by its timeline, unless its standby loses nothing', async () => {
    await before.db.close();
    await server.recover();
    const db = await Database.open(server.url('before'), 2);
    const moved = (standbyIsWhole: boolean): Promise<Moved[]> =>
      new HomeStore({ folder: null, standbyIsWhole }).moved(db, 'default');
    expect(await moved(false)).toEqual(['timeline']);
    expect(await moved(true)).toEqual([]);
    expect((await settleRestore(new Stores(db), 'default', 0))?.because).toContain('a standby that took over');
    await db.close();
  });

  it('a base backup that is started as it is is known by its place, unless it is the embedded one', async () => {
    await server.copied();
    const db = await Database.open(server.url('before'), 2);
    const moved = (folder: string | null): Promise<Moved[]> =>
      new HomeStore({ folder, standbyIsWhole: false }).moved(db, 'default');
    expect(await moved('1')).toEqual([]);
    expect(await moved(null)).toEqual(['place']);
    const whole = new HomeStore({ folder: null, standbyIsWhole: true });
    expect(await whole.moved(db, 'default')).toEqual(['place']);
    expect((await settleRestore(new Stores(db), 'default', 0))?.because).toContain('another data directory or port');
    expect(await moved(null)).toEqual([]);
    await db.close();
  });
});

describe('a data folder', async () => {
  const { stores, db } = await testBursar();
  const noted = (folder: string | null): Stores => new Stores(db, undefined, { folder, standbyIsWhole: false });

  it('that was copied is another one, and one that is written in place is not', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'bursar-folder-'));
    afterAll(() => rm(folder, { recursive: true, force: true }));
    const file = path.join(folder, 'one', 'global', 'pg_control');
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, 'before');
    const first = await folderMark(path.join(folder, 'one'));
    await writeFile(file, 'after', { flag: 'r+' });
    expect(await folderMark(path.join(folder, 'one'))).toBe(first);
    await cp(path.join(folder, 'one'), path.join(folder, 'two'), { recursive: true });
    expect(await folderMark(path.join(folder, 'two'))).not.toBe(first);
  });

  it('is held against the one that was noted; a process that has none proves nothing', async () => {
    expect(await settleRestore(noted('1'), 'default', 0)).toBeNull();
    expect(await settleRestore(noted('1'), 'default', 0)).toBeNull();
    expect(await settleRestore(stores, 'default', 0)).toBeNull();
    expect(await settleRestore(noted('2'), 'default', 0)).toMatchObject({ because: 'its data folder is a copy' });
    expect(await stores.safety.stops(db, 'default')).toMatchObject([{ scope: 'all' }]);
    expect(await settleRestore(noted('2'), 'default', 0)).toBeNull();
  });

  it('once restored ends every session, and of two processes one settles it', async () => {
    await db.query(
      `insert into session (organisation, hash, user_id, user_name, role, created_at, expires_at)
       values ('default', '\\x01', 'ann', 'Ann', 'admin', now(), 'infinity')`,
    );
    const both = await Promise.all([1, 2].map(() => settleRestore(noted('3'), 'default', 0)));
    expect(both.filter((one) => one !== null)).toMatchObject([{ sessionsEnded: 1 }]);
  });
});
