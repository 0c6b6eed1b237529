/**
 * Holds a provider's records packed in memory (some thirty bytes each) until all have arrived, so that no connection to
 * the database is held during a call to a provider. Returns the records in their order; writes nothing.
 */
import { Grouping } from '../../core/cost/rollup.js';
import type { RecordBatch } from '../../core/usage.js';
import { BlockBuilder, decodeBlock } from './block.js';

type Part = { readonly payload: Buffer } | { readonly rejects: RecordBatch['rejects'] };

export class Spool {
  private constructor(private readonly parts: readonly Part[]) {}

  static async from(batches: AsyncIterable<RecordBatch>): Promise<Spool> {
    const parts: Part[] = [];
    // Only which records belong together matters here, not whose they are.
    const grouping = new Grouping(() => '', []);
    let block = new BlockBuilder();
    const flush = (): void => {
      if (block.records > 0) parts.push({ payload: block.encode() });
      block = new BlockBuilder();
    };
    for await (const { records, rejects } of batches) {
      if (rejects.length > 0) parts.push({ rejects });
      for (const record of records) {
        block.add(grouping.groupOf(record).index, record);
        if (block.full) flush();
      }
    }
    flush();
    return new Spool(parts);
  }

  *batches(): Generator<RecordBatch> {
    for (const part of this.parts)
      yield 'payload' in part
        ? { records: decodeBlock(part.payload), rejects: [] }
        : { records: [], rejects: part.rejects };
  }
}
