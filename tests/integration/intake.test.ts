/** Taking usage in: nothing twice, nothing lost, all or nothing. On a real PostgreSQL. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Dimension } from '../../src/core/cost/rollup.js';
import type { RecordBatch, UsageRecord } from '../../src/core/usage.js';
import { decodeBlock } from '../../src/store/usage/block.js';
import { Database } from '../../src/store/database.js';
import { OrganisationStore } from '../../src/store/access/organisation.js';
import { CountingStore } from '../../src/store/bill/counting.js';
import { Dimensions } from '../../src/store/usage/dimensions.js';
import { Intake, type FileToImport, type ImportRequest } from '../../src/store/usage/intake.js';
import { freshDatabase } from '../support/database.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';
import { importRequest } from '../support/makers.js';

const file = (records: UsageRecord[], rejects: RecordBatch['rejects'] = [], name = 'file.csv'): FileToImport => ({
  name,
  format: 'test',
  async *batches() {
    for (let at = 0; at < Math.max(1, records.length); at += 3)
      yield { records: records.slice(at, at + 3), rejects: at === 0 ? rejects : [] };
  },
});

const request = (over: Partial<ImportRequest> = {}): ImportRequest =>
  importRequest({ strict: false, now: Date.UTC(2026, 10, 21), teamOf: (r) => r.namespace ?? 'unallocated', ...over });

describe('intake', async () => {
  const { url } = await freshDatabase();
  let db: Database;
  const counting = new CountingStore(new OrganisationStore());
  let intake: Intake;
  beforeAll(async () => {
    db = await Database.open(url);
  });
  afterAll(() => db.close());
  beforeEach(async () => {
    await db.query(`truncate usage_hour, block, usage_id, delivery, import, reject, work, source`);
    intake = new Intake(db, new Dimensions(), counting);
  });

  const sums = () =>
    db.query<{ team: string; records: number; parts: string; billed: string }>(
      `select team, sum(records)::int as records, sum(gpu_part_ms)::text as parts, sum(billed)::text as billed from usage_hour group by 1 order by 1`,
    );

  it('keeps every metered record once, whatever is sent again', async () => {
    const records = Array.from({ length: 10 }, (_, n) =>
      metered(`m${n}`, {
        start: MONDAY + (n * HOUR) / 2,
        end: MONDAY + (n * HOUR) / 2 + HOUR,
        namespace: n % 2 === 0 ? 'red' : 'blue',
      }),
    );
    const [first] = await intake.import(request(), [file(records)]);
    expect(first).toMatchObject({ rows: 10, accepted: 10, rejected: 0, unchanged: 0 });
    const [again] = await intake.import(request(), [file([...records].reverse())]);
    expect(again).toMatchObject({ rows: 10, accepted: 0, rejected: 0, unchanged: 10 });
    const elsewhere = new Intake(db, new Dimensions(), counting);
    const [mixed] = await elsewhere.import(request(), [file([...records, metered('m10')])]);
    expect(mixed).toMatchObject({ accepted: 1, unchanged: 10 });
    const [seenByFirst] = await intake.import(request(), [file([metered('m10')])]);
    expect(seenByFirst).toMatchObject({ accepted: 0, unchanged: 1 });
    const parts = String(5n * 8n * 7000n * BigInt(HOUR));
    expect((await sums()).filter((s) => s.team !== 'unallocated')).toEqual([
      { team: 'blue', records: 5, parts, billed: null },
      { team: 'red', records: 5, parts, billed: null },
    ]);
  });

  it('quarantines an id that comes again with other content', async () => {
    await intake.import(request(), [file([metered('m1')])]);
    const [second] = await intake.import(request(), [file([metered('m1', { gpuParts: 7 })])]);
    expect(second).toMatchObject({ accepted: 0, unchanged: 0, rejected: 1 });
    expect(await db.query(`select column_name, reason from reject`)).toEqual([
      { column_name: 'id', reason: 'the id "m1" was sent before with other content' },
    ]);
  });

  it('takes back everything when an import fails in the middle, and then accepts the same records', async () => {
    const broken: FileToImport = {
      name: 'broken',
      format: 'test',
      async *batches() {
        yield { records: [metered('m1'), billed('b1', '1.5')], rejects: [] };
        throw new Error('the connection was cut');
      },
    };
    await expect(intake.import(request(), [broken])).rejects.toThrow('cut');
    for (const table of ['usage_hour', 'block', 'usage_id', 'delivery', 'import', 'work']) {
      expect(await db.query(`select 1 from ${table}`), table).toEqual([]);
    }
    const [after] = await intake.import(request(), [file([metered('m1')])]);
    expect(after).toMatchObject({ accepted: 1, unchanged: 0 });
  });

  it('accepts each record once when many imports of one source run at the same time, some of them failing', async () => {
    const records = Array.from({ length: 40 }, (_, n) => metered(`m${n}`));
    const poisoned = file(records.slice(0, 20), [{ line: 1, column: null, reason: 'bad', raw: '' }]);
    const others = Array.from({ length: 4 }, () => new Intake(db, new Dimensions(), counting));
    const results = await Promise.allSettled([
      intake.import(request(), [file(records.slice(0, 25))]),
      intake.import(request({ strict: true }), [poisoned]),
      intake.import(request(), [file(records.slice(10))]),
      ...others.map((other) => other.import(request(), [file(records)])),
    ]);
    expect(results.map((r) => r.status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    expect(await sums()).toMatchObject([{ records: 40 }]);
  });

  describe('of two processes that send to one source', () => {
    const batch = (records: UsageRecord[], ready: Promise<void> = Promise.resolve()): FileToImport => ({
      name: 'batch',
      format: 'test',
      prepare: () => undefined,
      async *batches() {
        await ready;
        yield { records, rejects: [] };
      },
    });
    /** Two that have seen each other's imports. */
    const neighbours = async (): Promise<{ one: Intake; other: Intake }> => {
      const other = new Intake(db, new Dimensions(), counting);
      for (const [n, who] of [intake, other, intake, other].entries())
        await who.import(request(), [batch([metered(`met-${n}`)])]);
      return { one: intake, other };
    };
    /** An import that has begun, and waits in its middle until the other's is committed. */
    const around = async (
      mine: UsageRecord[],
      meanwhile: (other: Intake) => Promise<unknown>,
    ): Promise<{ accepted: number; unchanged: number; rejected: number }> => {
      const { one, other } = await neighbours();
      let go = (): void => undefined;
      const slow = one.import(request(), [batch(mine, new Promise((resolve) => (go = resolve)))]);
      await meanwhile(other);
      go();
      const [result] = await slow;
      return result as never;
    };
    const before = 4;

    it('goes on while the other is at work', async () => {
      const mine = await around([metered('a'), metered('b')], (other) =>
        other.import(request(), [batch([metered('c')])]),
      );
      expect(mine).toMatchObject({ accepted: 2, unchanged: 0, rejected: 0 });
      expect(await sums()).toMatchObject([{ records: before + 3 }]);
      const [again] = await intake.import(request(), [file([metered('a'), metered('b'), metered('c')])]);
      expect(again).toMatchObject({ accepted: 0, unchanged: 3 });
    });

    it('counts a record once that both were sent, and refuses the second of two contents', async () => {
      const mine = await around([metered('a'), metered('b'), metered('c')], (other) =>
        other.import(request(), [batch([metered('b'), metered('c', { gpuParts: 1 })])]),
      );
      expect(mine).toMatchObject({ accepted: 1, unchanged: 1, rejected: 1 });
      expect(await sums()).toMatchObject([{ records: before + 3 }]);
    });

    it('is run again where ids were taken back meanwhile', async () => {
      const mine = await around([metered('met-0'), metered('a')], async () => {
        await db.query(`update source set version = version + 1, forgot = version + 1`);
        await db.query(`delete from usage_id where version = 1`);
      });
      expect(mine).toMatchObject({ accepted: 2, unchanged: 0 });
    });

    it('takes each record once from both at the same time, some of them failing', async () => {
      const { one, other } = await neighbours();
      const sent = Array.from({ length: 24 }, (_, n) => n);
      const results = await Promise.allSettled(
        sent.map((n) =>
          (n % 2 === 0 ? one : other).import(request({ dryRun: n % 7 === 3 }), [
            batch(Array.from({ length: 5 }, (_, at) => metered(`r${n + at}`, { start: MONDAY, end: MONDAY + HOUR }))),
          ]),
        ),
      );
      expect(results.filter(({ status }) => status === 'rejected')).toEqual([]);
      const accepted = results.flatMap((r, n) =>
        r.status === 'fulfilled' && n % 7 !== 3 ? r.value.map((result) => result.accepted) : [],
      );
      const [all] = await sums();
      expect(accepted.reduce((sum, n) => sum + n, before)).toBe(all?.records);
      const [again] = await one.import(request(), [
        file(Array.from({ length: 28 }, (_, n) => metered(`r${n}`, { start: MONDAY, end: MONDAY + HOUR }))),
      ]);
      expect((all?.records ?? 0) + (again?.accepted ?? 0)).toBe(before + 28);
      expect(again?.rejected).toBe(0);
    });
  });

  it('replaces a restated bill, leaves an unchanged one, and keeps other periods', async () => {
    const september = { periodStart: Date.UTC(2026, 8, 1), periodEnd: Date.UTC(2026, 9, 1) };
    const bill = [
      billed('1', '1.10'),
      billed('2', '2.20', { namespace: 'red' }),
      billed('3', '0.07', { start: Date.UTC(2026, 8, 3), end: Date.UTC(2026, 8, 4) }, september),
    ];
    const [first] = await intake.import(request(), [file(bill)]);
    expect(first?.billed).toEqual([{ provider: 'AWS', currency: 'USD', amount: '3.37' }]);
    expect((await intake.import(request(), [file(bill)]))[0]).toMatchObject({
      accepted: 0,
      unchanged: 3,
      replaced: [],
    });
    const restated = [billed('1', '1.10'), billed('2', '2.00', { namespace: 'blue' })];
    expect((await intake.import(request(), [file(restated)]))[0]).toMatchObject({
      accepted: 2,
      replaced: [{ provider: 'AWS', account: 'a1', records: 2 }],
    });
    expect(await sums()).toEqual([
      { team: 'blue', records: 1, parts: null, billed: '2.00' },
      { team: 'unallocated', records: 2, parts: null, billed: '1.17' },
    ]);
    const enqueued = await db.query<{ key: string }>(`select key from work where stage = 'cost.rollup' order by key`);
    expect(enqueued.map((w) => w.key)).toContain('red/2026-10-05');
  });

  it('joins the parts of one bill that come in one call', async () => {
    await intake.import(request(), [file([billed('1', '1')], [], 'part1'), file([billed('2', '2')], [], 'part2')]);
    expect(await sums()).toMatchObject([{ billed: '3' }]);
    const again = await intake.import(request(), [
      file([billed('1', '1')], [], 'part1'),
      file([billed('2', '2')], [], 'part2'),
    ]);
    expect(again.map((f) => f.unchanged)).toEqual([1, 1]);
  });

  it('writes nothing in a dry run and says what it would do', async () => {
    const [dry] = await intake.import(request({ dryRun: true }), [
      file([metered('m1'), billed('b', '4')], [{ line: 3, column: 'x', reason: 'bad', raw: 'r' }]),
    ]);
    expect(dry).toMatchObject({ import: null, accepted: 2, rejected: 1 });
    for (const table of ['usage_hour', 'import', 'reject', 'work', 'source'])
      expect(await db.query(`select 1 from ${table}`), table).toEqual([]);
    expect((await intake.import(request(), [file([metered('m1')])]))[0]).toMatchObject({ accepted: 1 });
  });

  it('refuses a strict import whole and names the rows', async () => {
    await expect(
      intake.import(request({ strict: true }), [
        file([metered('m1')], [{ line: 7, column: 'BilledCost', reason: 'not a number', raw: 'x' }]),
      ]),
    ).rejects.toMatchObject({ kind: 'invalid', problems: [{ path: 'line 7, BilledCost', message: 'not a number' }] });
    expect(await db.query(`select 1 from usage_hour`)).toEqual([]);
    // Readers of tables put the column into the reason: it is said once.
    await expect(
      intake.import(request({ strict: true }), [
        file(
          [],
          [{ line: 7, column: 'BilledCost', reason: 'BilledCost: is not a number; Tags: are no JSON', raw: 'x' }],
        ),
      ]),
    ).rejects.toMatchObject({
      problems: [{ path: 'line 7', message: 'BilledCost: is not a number; Tags: are no JSON' }],
    });
  });

  it('gives back from its blocks exactly what it took', async () => {
    const records = [
      metered('m1', { resource: 'gpu\n1', tags: { a: 'ü', b: '' }, storageMib: 5, networkBytes: null }),
      metered('m2', { gpuParts: null, networkBytes: 12 }),
      metered('m3', { gpuParts: 0 }),
    ];
    const charges = [billed('b1', '-0.0001000', {}, { effective: { unscaled: 3n, scale: 1 } })];
    await intake.import(request(), [file([...records, ...charges])]);
    const blocks = await db.query<{ payload: Buffer }>(`select payload from block order by delivery`);
    expect(blocks.flatMap((b) => decodeBlock(b.payload))).toEqual([...records, ...charges]);
  });
});

describe('a dimension that two processes meet at once', async () => {
  const { url } = await freshDatabase();
  const [first, second] = await Promise.all([Database.open(url, 1), Database.open(url, 1)]);
  afterAll(() => Promise.all([first.close(), second.close()]));
  const dimension: Dimension = {
    kind: 'metered',
    provider: 'AWS',
    account: null,
    subAccount: null,
    service: null,
    sku: 'never-seen',
    region: null,
    term: null,
    gpuModel: null,
    category: 'Usage',
    currency: null,
    tags: null,
    civil: false,
    days: 1,
    unstated: [],
  };

  it('gets one number: who was slower is run again and takes it, and a rolled back one leaves nothing', async () => {
    let runs = 0;
    let numbered = (): void => undefined;
    const hasNumber = new Promise<void>((resolve) => (numbered = resolve));
    let open = (): void => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    const slow = new Dimensions();
    const slower = first.transaction(async (tx) => {
      runs += 1;
      const ids = await slow.idsOf(tx, 'default', [dimension]);
      numbered();
      await gate;
      await slow.write(tx, 'default');
      return ids;
    });
    await hasNumber;
    const quick = new Dimensions();
    const ids = await second.transaction(async (tx) => {
      const found = await quick.idsOf(tx, 'default', [dimension]);
      await quick.write(tx, 'default');
      return found;
    });
    open();
    expect(await slower).toEqual(ids);
    expect(runs).toBe(2);

    const other = { ...dimension, sku: 'taken-back' };
    const undone = second.transaction(async (tx) => {
      await quick.idsOf(tx, 'default', [other]);
      await quick.write(tx, 'default');
      throw new Error('rolled back');
    });
    await expect(undone).rejects.toThrow('rolled back');
    const [again] = await second.transaction(async (tx) => {
      const found = await quick.idsOf(tx, 'default', [other]);
      await quick.write(tx, 'default');
      return found;
    });
    expect(await second.query(`select id::text as id, sku from dimension order by sku`)).toEqual([
      { id: ids[0], sku: 'never-seen' },
      { id: again, sku: 'taken-back' },
    ]);
  });
});
