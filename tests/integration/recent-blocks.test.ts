/** Blocks that are read again and again: fetched once, in the order asked for, and only with the records that count. */
import { describe, expect, it } from 'vitest';
import { RecentBlocks } from '../../src/store/usage/recent-blocks.js';
import type { BlockKey } from '../../src/store/usage/reading.js';
import type { Queryable } from '../../src/store/database.js';
import { testBursar } from '../support/bursar.js';
import { metered } from '../support/records.js';

describe('recent blocks', async () => {
  const { db, take } = await testBursar();
  let fetched = 0;
  const counting: Queryable = {
    async query<Row>(sql: string, parameters?: readonly unknown[]) {
      const rows = await db.query<Row>(sql, parameters);
      fetched += rows.length;
      return rows;
    },
  };
  const idsOf = async (recent: RecentBlocks, blocks: readonly (BlockKey & { set_aside: readonly number[] })[]) => {
    const ids: string[] = [];
    for await (const records of recent.counted(counting, 'default', blocks)) ids.push(...records.map(({ id }) => id));
    return ids;
  };

  it('are fetched once, and what counts of them is what is said each time', async () => {
    for (let delivery = 0; delivery < 10; delivery += 1) await take([metered(`${delivery}a`), metered(`${delivery}b`)]);
    const keys = await db.query<BlockKey>(
      `select source, delivery::text as delivery, no from block order by block.delivery, block.no`,
    );
    expect(keys).toHaveLength(10);
    const blocks = keys.map((key) => ({ ...key, set_aside: [] as number[] }));
    const [first, second, third] = blocks;
    if (first === undefined || second === undefined || third === undefined) throw new Error('there are ten');
    const recent = new RecentBlocks();
    expect(await idsOf(recent, [second, first])).toEqual(['1a', '1b', '0a', '0b']);
    expect(fetched).toBe(2);
    expect(await idsOf(recent, [first, third, { ...second, set_aside: [0] }])).toEqual(['0a', '0b', '2a', '2b', '1b']);
    expect(fetched).toBe(3);
    // More than are kept: each is there all the same, and the first has gone.
    expect(await idsOf(recent, blocks)).toEqual(keys.flatMap((_, at) => [`${at}a`, `${at}b`]));
    expect(fetched).toBe(10);
    await idsOf(recent, [first]);
    expect(fetched).toBe(11);
  });

  it('refuse what has gone', async () => {
    const gone = { source: 'test', delivery: '999', no: 0, set_aside: [] };
    await expect(idsOf(new RecentBlocks(), [gone])).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
