/**
 * Writes records of several deliveries into full blocks of one, together with the original delivery of each record.
 * Whether a record counts stays unchanged. Holds one block at a time.
 */
import { Grouping } from '../../core/cost/rollup.js';
import { hourOf } from '../../core/time.js';
import type { Transaction } from '../database.js';
import { BlockBuilder, decodeBlock, type StoredBlock } from './block.js';
import { Runs, runsOf, type StoredRuns } from './runs.js';

const MOST_GROUPS = 100_000;

export type MergedBlock = StoredBlock & StoredRuns & { readonly records: number };

export interface BlockPlace {
  readonly organisation: string;
  readonly source: string;
  readonly delivery: string;
}

export async function readBlock(
  tx: Transaction,
  { organisation, source, delivery }: BlockPlace,
  no: number,
): Promise<MergedBlock | null> {
  const [row] = await tx.query<MergedBlock>(
    `select payload, set_aside, records, members::text[] as members, counts from block
     where organisation = $1 and source = $2 and delivery = $3 and no = $4`,
    [organisation, source, delivery, no],
  );
  return row ?? null;
}

export const deleteBlock = (
  tx: Transaction,
  { organisation, source, delivery }: BlockPlace,
  no: number,
): Promise<unknown> =>
  tx.query(`delete from block where organisation = $1 and source = $2 and delivery = $3 and no = $4`, [
    organisation,
    source,
    delivery,
    no,
  ]);

export class Gathering {
  private block = new BlockBuilder();
  private runs = new Runs();
  /** Blocks ask it only what records have in common. */
  private readonly grouping = new Grouping(() => '', []);
  /** Hours in which its records begin. */
  readonly hours = new Set<number>();
  records = 0;

  /** @param no of the first block that it writes */
  constructor(
    private readonly tx: Transaction,
    private readonly place: BlockPlace,
    private no: number,
    /** Whether it notes whose each record is. */
    private readonly isMerged: boolean,
  ) {}

  /** Takes the records of a stored block, or those of some of its deliveries. */
  async addBlock(
    block: MergedBlock,
    delivery: string,
    isWanted: (member: string) => boolean = () => true,
  ): Promise<void> {
    const records = decodeBlock(block.payload);
    const aside = new Set(block.set_aside);
    for (const { member, from, to } of runsOf(block, delivery, records.length).all()) {
      if (!isWanted(member)) continue;
      for (let at = from; at < to; at++) {
        const record = records[at];
        if (record === undefined) continue;
        if (aside.has(at)) this.block.setAside.push(this.block.records);
        this.block.add(this.grouping.groupOf(record).index, record);
        this.runs.add(member);
        this.hours.add(hourOf(record.start));
        this.records += 1;
        if (this.block.full) await this.flush();
      }
    }
    this.grouping.trim(MOST_GROUPS);
  }

  /** Writes what is left. */
  async flush(): Promise<void> {
    const { block, runs, tx, place, isMerged } = this;
    if (block.records === 0) return;
    this.block = new BlockBuilder();
    this.runs = new Runs();
    await tx.query(
      `insert into block (organisation, source, delivery, no, records, first_start, last_end, payload, set_aside, members, counts)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
      [
        place.organisation,
        place.source,
        place.delivery,
        this.no++,
        block.records,
        new Date(block.firstStart),
        new Date(block.lastEnd),
        block.encode(),
        block.setAside,
        isMerged ? runs.members : null,
        isMerged ? runs.counts : null,
      ],
    );
  }
}
