/**
 * Raw records of old months in an archive: nothing is let go that does not read back, sums stay to the nano, what needs
 * the records says so, and they come back as they were.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { folderPlace } from '../../src/archive/folder.js';
import { parquet } from '../../src/archive/parquet.js';
import {
  archiveBefore,
  monthsBefore,
  restoreArchived,
  type Archive,
  type Done,
} from '../../src/application/usage/archive.js';
import { run } from '../../src/cli/program.js';
import type { ArchivePlace } from '../../src/core/archive.js';
import { DAY_MS } from '../../src/core/time.js';
import { previewRules } from '../../src/store/cost/preview.js';
import { undoImport } from '../../src/store/usage/undo.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { localOf } from '../support/local.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';

const BEFORE = Date.UTC(2026, 10, 1);
const NEXT_MONTH = Date.UTC(2026, 10, 3);
const BILL = `账单 ${'计'.repeat(150)}`;
const LAST = Date.UTC(2028, 0, 2);

describe('an archive', async () => {
  const bursar = await testBursar({ now: NEXT_MONTH });
  const { stores, db, take, runner } = bursar;
  const folder = await mkdtemp(path.join(tmpdir(), 'bursar-archive-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const place = folderPlace(folder);
  const archive = (by: Partial<Archive> = {}): Promise<Done> =>
    archiveBefore(
      stores,
      { place, format: parquet, ...by },
      'default',
      { before: BEFORE, by: 'test', now: NEXT_MONTH },
      () => undefined,
    );
  const restore = (now = NEXT_MONTH): Promise<Done> =>
    restoreArchived(stores, { place, format: parquet }, 'default', { month: '2026-10' }, { by: 'test', now });
  const rows = (sql: string): Promise<unknown[]> => db.query(sql);
  const payloads = (): Promise<unknown[]> =>
    rows(`select source, delivery, no, md5(payload) as payload, set_aside, archive from block order by 1, 2, 3`);
  const costs = async (): Promise<unknown> => {
    await runner.drain();
    return rows(
      `select team, day::text, currency, accrued::text, actual::text, billed::text, records from cost_day order by 1, 2, 3, dimension`,
    );
  };
  const rules = (team: string): Promise<unknown> =>
    db.transaction((tx) => stores.organisations.saveRules(tx, 'default', [{ match: {}, team }], 'test'));
  const meter = (hours: number, over: Parameters<typeof metered>[1] = {}) =>
    Array.from({ length: hours }, (_, n) =>
      metered(`m${n}`, {
        resource: `i-${n % 3}`,
        start: MONDAY + n * HOUR,
        end: MONDAY + (n + 1) * HOUR,
        gpuParts: 7 * (n + 1),
        tags: n % 2 === 0 ? { job: `j${n}`, odd: 'Zürich 🚀' } : null,
        ...over,
      }),
    );

  await rules('lab');
  await bursar.setPrices([instancePrice('55.04')]);
  await take(meter(50));
  await take([{ ...meter(1)[0]!, gpuParts: 70, version: { revision: 2, updatedAt: MONDAY } }]);
  await take([metered('straddles', { start: BEFORE - HOUR, end: BEFORE + HOUR })]);
  await take(
    [
      billed('b1', '12.340', { sku: 'disk' }),
      billed('b2', '-0.000000001', { sku: 'disk' }, { currency: 'EUR', effective: null, machineHours: false }),
    ],
    // Its folder's name would be longer than file systems take.
    { source: BILL },
  );
  const whole = await payloads();
  const sums = await costs();

  it('takes nothing that does not read back, or that was corrected meanwhile', async () => {
    const broken: ArchivePlace = { ...place, read: async (name) => (await place.read(name)).slice(0, -3) };
    await expect(archive({ place: broken })).rejects.toMatchObject({ kind: 'conflict' });
    const other = { ...parquet, read: async (bytes: Uint8Array) => (await parquet.read(bytes)).slice(1) };
    await expect(archive({ format: other })).rejects.toMatchObject({ kind: 'conflict' });
    const changing: ArchivePlace = {
      ...place,
      async write(name, bytes) {
        await place.write(name, bytes);
        await db.query(`update block set set_aside = set_aside || 3`);
      },
    };
    await expect(archive({ place: changing })).rejects.toThrow('corrected meanwhile');
    await db.query(`update block set set_aside = array_remove(set_aside, 3)`);
    expect(await payloads()).toEqual(whole);
    expect(await stores.archives.files('default')).toEqual([]);
  });

  it('takes whole deliveries that ended before, and leaves every sum', async () => {
    const done = await archive();
    expect(done).toMatchObject({ files: 2, records: 53 });
    expect(await costs()).toEqual(sums);
    expect(await rows(`select count(*)::int as left from block where archive is null`)).toEqual([{ left: 1 }]);
    expect((await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.parquet')).sort()).toEqual([
      expect.stringMatching(/^month=2026-10\/source=%E8%B4%A6[%0-9A-F]+-[0-9a-f]{16}\/\d+-0\.parquet$/),
      expect.stringMatching(/^month=2026-10\/source=default\/\d+-0\.parquet$/),
    ]);
    expect(await stores.archives.files('default')).toMatchObject([
      { source: 'default', records: '51', counted: '50', restoredAt: null },
      { source: BILL, records: '2', counted: '2' },
    ]);
    expect(await archive()).toMatchObject({ files: 0 });
  });

  it('knows what comes again, takes in what comes late, and refuses to correct what it cannot read', async () => {
    await take(meter(50));
    expect(await costs()).toEqual(sums);
    const [late] = meter(1, { id: 'late', resource: 'i-9' });
    await take([late!]);
    expect(await costs()).not.toEqual(sums);
    const corrected = { ...meter(2)[1]!, gpuParts: 1, version: { revision: 9, updatedAt: null } };
    await expect(take([corrected])).rejects.toThrow(/are in the archive, of 2026-10.*bursar archive restore 2026-10/);
    const [import_] = (await rows(`select max(import)::text as id from delivery`)) as [{ id: string }];
    await db.transaction((tx) => undoImport(stores, tx, 'default', import_.id, 'test', NEXT_MONTH));
    expect(await costs()).toEqual(sums);
  });

  it('keeps the teams of what it took, and says which work waits for records', async () => {
    const preview = await previewRules(stores, 'default', [{ match: {}, team: 'other' }]);
    await rules('other');
    await stores.organisations.enqueueStale(db, 'default');
    await runner.drain();
    const actual = await rows(
      `select team, currency, sum(actual)::text as after from cost_day where actual is not null group by 1, 2 order by 1, 2`,
    );
    const told = preview.teams.filter((one) => one.after !== null && Number(one.after) !== 0);
    expect(told.map(({ team, currency, after }) => [team, currency, Number(after)])).toEqual(
      actual.map((one) =>
        Object.values(one as object).map((value, at) => (at === 2 ? Number(value) : (value as string))),
      ),
    );
    expect(new Set(told.map(({ team }) => team))).toEqual(new Set(['lab', 'other']));
    const teams = `select v.archived, array_agg(distinct u.team) as teams from usage_hour u join delivery v on v.id = u.delivery group by 1 order by 1`;
    expect(await rows(teams)).toEqual([
      { archived: true, teams: ['lab'] },
      { archived: null, teams: ['other'] },
    ]);
    // A price that changes inside an hour needs its records.
    const from = (at: number) => ({ ...instancePrice('60'), effectiveFrom: at });
    await bursar.setPrices([from(MONDAY + 5 * HOUR + HOUR / 2)]);
    await runner.drain();
    const parked = `select distinct stage, last_error as why from work where parked_at is not null order by 1`;
    const why = expect.stringContaining('bursar archive restore 2026-10') as string;
    expect(await rows(parked)).toEqual(['bill.reconcile', 'cost.price'].map((stage) => ({ stage, why })));
  });

  it('gives them back as they were, and what waited goes on', async () => {
    const file = (await stores.archives.files('default'))[1]!;
    const bytes = await readFile(path.join(folder, file.path));
    await writeFile(path.join(folder, file.path), bytes.subarray(0, -1));
    await expect(restore()).rejects.toThrow('is not as it was written');
    await writeFile(path.join(folder, file.path), bytes);
    await restore();
    expect(await payloads()).toEqual(whole);
    await runner.drain();
    expect(await rows(`select key, last_error from work where parked_at is not null`)).toEqual([]);
    await stores.organisations.enqueueStale(db, 'default');
    await runner.drain();
    expect(await rows(`select distinct team from usage_hour`)).toEqual([{ team: 'other' }]);
    await expect(restore()).rejects.toMatchObject({ kind: 'missing' });
    expect(await archive()).toMatchObject({ files: 0 });
  });

  it('is what the command line speaks to, thirty days later', async () => {
    const ask = async (...argv: string[]): Promise<unknown> => {
      let [out, err] = ['', ''];
      const clock = { now: () => LAST };
      const code = await run([...argv, '--json'], {
        environment: {},
        clock,
        stdout: { write: (text) => (out += text) },
        stderr: { write: (text) => (err += text) },
        serve: async () => undefined,
        connect: async () => ({ ...localOf({ stores }, clock), archive: () => ({ place, format: parquet }) }),
        remote: null,
      });
      return code === 0 ? JSON.parse(out) : err;
    };
    expect(await ask('archive', 'run', '--older-than', '2')).toContain('from 3 to 1200');
    expect(await ask('archive', 'run', '--older-than', '14')).toMatchObject({ records: 53 });
    expect(await ask('archive', 'list')).toMatchObject({ files: [{}, {}, { month: '2026-10' }, { month: '2026-10' }] });
    expect(await ask('archive', 'restore', '2026-10', '--source', BILL)).toMatchObject({ records: 2 });
    expect(await ask('archive', 'restore', 'October')).toContain('is not a month');
    const verbs = (await stores.audit.list('default', null, 3)).map(({ verb }) => verb);
    expect(verbs).toEqual(['archive.restore', 'archive.write', 'archive.write']);
  });

  it('counts months back by the calendar', () => {
    expect(new Date(monthsBefore(Date.UTC(2026, 2, 31), 13)).toISOString()).toBe('2025-02-01T00:00:00.000Z');
    expect(new Date(monthsBefore(NEXT_MONTH + DAY_MS, 10)).toISOString()).toBe('2026-01-01T00:00:00.000Z');
  });
});
