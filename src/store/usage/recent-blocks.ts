/**
 * Blocks that a piece of work reads again and again: days that follow each other lie in the same ones. The records of
 * the last few are kept, since a block never changes its records; which of them count is asked anew each time.
 */
import { assert } from '../../core/errors.js';
import type { UsageRecord } from '../../core/usage.js';
import type { Queryable } from '../database.js';
import { countedOf, decodeBlock, type StoredBlock } from './block.js';
import { readSeen, type BlockKey } from './reading.js';

/** Each of up to 16,384 records. */
const MOST_KEPT = 8;
/** Blocks that one statement reads. */
const PAGE_BLOCKS = 4;

export class RecentBlocks {
  /** By key; the one that was used last is the last. */
  private readonly kept = new Map<string, UsageRecord[]>();

  /**
   * The records that count, block by block, in the order given.
   * @throws Failure unavailable if a block has gone meanwhile: the transaction is run again
   */
  async *counted(
    db: Queryable,
    organisation: string,
    blocks: readonly (BlockKey & Pick<StoredBlock, 'set_aside'>)[],
  ): AsyncGenerator<UsageRecord[]> {
    const known = blocks.map((block) => this.kept.get(nameOf(block)) ?? null);
    const absent = blocks.filter((_, at) => known[at] === null);
    const read = readSeen(db, organisation, absent, PAGE_BLOCKS);
    for (const [at, block] of blocks.entries()) {
      const records = known[at] ?? (await nextOf(read));
      this.keep(nameOf(block), records);
      yield countedOf(records, block.set_aside);
    }
  }

  private keep(name: string, records: UsageRecord[]): void {
    this.kept.delete(name);
    this.kept.set(name, records);
    for (const [oldest] of this.kept) if (this.kept.size > MOST_KEPT) this.kept.delete(oldest);
  }
}

async function nextOf(read: AsyncGenerator<StoredBlock>): Promise<UsageRecord[]> {
  const { value, done } = await read.next();
  assert(done !== true, 'every block that was asked for is read, or the reading has thrown');
  return decodeBlock(value.payload);
}

const nameOf = ({ source, delivery, no }: BlockKey): string => JSON.stringify([source, delivery, no]);
