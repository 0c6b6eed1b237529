/**
 * The work table under many at once, on a real PostgreSQL: workers that enqueue to the left and to the right of their
 * stage, imports that enqueue several times. Nobody waits for anybody until a commit, nobody is asked to run again, and
 * nothing is lost.
 */
import { describe, expect, it } from 'vitest';
import { Database, type Transaction } from '../../src/store/database.js';
import { enqueue, expedite, WorkTable, type ClaimedWork } from '../../src/store/work.js';
import { freshDatabase } from '../support/database.js';

const OWNER = 'default';
const STAGES = ['left', 'middle', 'right'];
const TEAMS = ['alpha', 'beta', 'gamma'];
const keysOf = (team: string): string[] => ['1', '2', '3', '4'].map((day) => `${team}/${day}`);
const partitionOf = (stage: string, partition: string) => ({ organisation: OWNER, stage, partition });
const AT = Date.UTC(2026, 0, 1);
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function opened(): Promise<{ db: Database; work: WorkTable }> {
  const db = await Database.open((await freshDatabase()).url, 12);
  return { db, work: new WorkTable(db) };
}

describe('the work table', async () => {
  const { db, work } = await opened();
  const counts = () =>
    db.query<{ key: string; stage: string; wanted: number; done: number }>(
      'select stage, key, wanted::int, done::int from work order by stage, key',
    );

  it('has no deadlock among workers and imports that enqueue in any order', async () => {
    const pick = <T>(from: readonly T[]): T => from[Math.floor(Math.random() * from.length)] as T;
    const drawn = () =>
      Array.from({ length: 4 }, () => {
        const team = pick(TEAMS);
        return { stage: pick(STAGES), partition: team, key: pick(keysOf(team)) };
      });
    await enqueue(
      db,
      OWNER,
      STAGES.flatMap((stage) =>
        TEAMS.flatMap((partition) => keysOf(partition).map((key) => ({ stage, partition, key }))),
      ),
    );
    let begun = 0;
    let ended = 0;
    let enqueued = 0;
    const inTransaction = async (act: (tx: Transaction) => Promise<number>) => {
      const own = await db.transaction((tx) => {
        begun++;
        return act(tx);
      });
      enqueued += own;
      ended++;
    };
    const enqueueDrawn = async (tx: Transaction): Promise<number> => {
      for (let times = 0; times < 3; times++) {
        await enqueue(tx, OWNER, drawn());
        await tx.query('select 1');
      }
      return 1;
    };
    const worker = async (): Promise<void> => {
      for (let n = 0; n < 25; n++)
        await inTransaction(async (tx) => {
          const partition = partitionOf(pick(STAGES), pick(TEAMS));
          const claimed = await work.claim(tx, partition, Date.now(), 3);
          if (claimed.length === 0) return 0;
          await enqueueDrawn(tx);
          work.finish(tx, partition, claimed);
          return 1;
        });
    };
    const importer = async (): Promise<void> => {
      for (let n = 0; n < 25; n++) await inTransaction(enqueueDrawn);
    };
    await Promise.all([worker(), worker(), worker(), worker(), importer(), importer(), importer(), importer()]);
    expect([begun, enqueued > 100]).toEqual([ended, true]);
  });

  it('gives a partition to one worker at a time, and to the next what was committed', async () => {
    await db.query('delete from work');
    const partition = partitionOf('left', 'alpha');
    await enqueue(db, OWNER, [{ stage: 'left', partition: 'alpha', key: 'k' }]);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    let isClaimed = (): void => undefined;
    const claimed = new Promise<void>((resolve) => (isClaimed = resolve));
    const first = db.transaction(async (tx) => {
      const mine = await work.claim(tx, partition, AT, 10);
      isClaimed();
      await held;
      work.finish(tx, partition, mine);
      return mine.length;
    });
    await claimed;
    const second = (): Promise<ClaimedWork[]> => db.transaction((tx) => work.claim(tx, partition, AT, 10));
    expect(await second()).toEqual([]);
    // Whoever enqueues or hurries what is being worked at waits for nobody, and it is done once more.
    await enqueue(db, OWNER, [{ stage: 'left', partition: 'alpha', key: 'k' }]);
    await db.transaction((tx) => expedite(tx, OWNER, 'left', ['k']));
    release();
    expect(await first).toBe(1);
    expect((await second()).map(({ key, wanted }) => [key, wanted])).toEqual([['k', '2']]);
  });

  it('writes what was enqueued in a transaction with it, or not at all', async () => {
    await db.query('delete from work');
    const item = { stage: 'left', partition: 'beta', key: 'beta/1' };
    await expect(
      db.transaction(async (tx) => {
        await enqueue(tx, OWNER, [item]);
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    expect(await counts()).toEqual([]);
    await db.transaction(async (tx) => {
      await enqueue(tx, OWNER, [{ ...item, notBefore: AT + 5000 }, item]);
      await enqueue(tx, OWNER, [{ ...item, notBefore: AT + 1000 }]);
    });
    expect(await counts()).toEqual([{ stage: 'left', key: 'beta/1', wanted: 1, done: 0 }]);
    expect(await work.duePartitions(AT)).toMatchObject([{ partition: 'beta', due: 1, putBack: false }]);
  });

  it('finishes and enqueues the same key in one: it waits for its time', async () => {
    const partition = partitionOf('left', 'beta');
    await db.transaction(async (tx) => {
      const claimed = await work.claim(tx, partition, AT, 10);
      work.finish(tx, partition, claimed);
      await enqueue(tx, OWNER, [{ stage: 'left', partition: 'beta', key: 'beta/1', notBefore: AT + 60_000 }]);
    });
    expect(await counts()).toEqual([{ stage: 'left', key: 'beta/1', wanted: 2, done: 1 }]);
    expect(await work.duePartitions(AT + 59_999)).toEqual([]);
    expect(await work.duePartitions(AT + 60_000)).toMatchObject([{ due: 1, putBack: false }]);
  });

  it('tells a partition of which all was put back from one that something new waits in', async () => {
    await db.query('delete from work');
    const partition = partitionOf('left', 'delta');
    const item = { stage: 'left', partition: 'delta', key: 'delta/1' };
    await enqueue(db, OWNER, [item]);
    await db.transaction(async (tx) => {
      work.finish(tx, partition, await work.claim(tx, partition, AT, 10));
      await enqueue(tx, OWNER, [{ ...item, pausedAt: AT }]);
    });
    expect(await work.duePartitions(AT)).toMatchObject([{ partition: 'delta', due: 1, putBack: true }]);
    await enqueue(db, OWNER, [{ ...item, key: 'delta/2' }]);
    expect(await work.duePartitions(AT)).toMatchObject([{ partition: 'delta', due: 2, putBack: false }]);
  });

  it('of two whose lease ran out lets the faster one finish, the other one after it', async () => {
    await db.query('delete from work');
    const partition = partitionOf('right', 'gamma');
    await enqueue(db, OWNER, [{ stage: 'right', partition: 'gamma', key: 'g' }]);
    const slow = await work.lease(partition, AT, AT + 10);
    const fast = await work.lease(partition, AT + 20, AT + 30);
    expect([slow.length, fast.length]).toEqual([1, 1]);
    const saved: string[] = [];
    const save = (name: string, claimed: ClaimedWork[]): Promise<void> =>
      db.transaction(async (tx) => {
        if (!(await work.isOpen(tx, partition, claimed))) return;
        await soon();
        saved.push(name);
        work.finish(tx, partition, claimed);
      });
    await Promise.all([save('fast', fast), save('slow', slow)]);
    expect(saved).toHaveLength(1);
    expect(await counts()).toEqual([{ stage: 'right', key: 'g', wanted: 1, done: 1 }]);
  });
});
