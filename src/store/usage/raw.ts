/**
 * Reads raw records again, to allocate history again and to recount the sums.
 *
 * Streams blocks; never holds a whole delivery.
 */
import { ZERO } from '../../core/decimal.js';
import { Grouping } from '../../core/cost/rollup.js';
import type { UsageRecord } from '../../core/usage.js';
import { countedRecords, type StoredBlock } from './block.js';
import type { Queryable, Transaction } from '../database.js';
import { DeliveryWriter } from './delivery.js';
import type { Dimensions } from './dimensions.js';
import type { RuleSet } from '../access/organisation.js';
import { hasItsBill, isBillOf } from './scopes.js';

export interface TeamDay {
  readonly team: string;
  readonly day: string;
}

export class RawStore {
  constructor(private readonly dimensions: Dimensions) {}

  /** Every record of a source's delivery that counts, block by block. */
  async *records(db: Queryable, organisation: string, source: string, delivery: string): AsyncGenerator<UsageRecord[]> {
    // What was taken out of a merged delivery may leave a gap.
    for (let last = -1; ; ) {
      const [row] = await db.query<StoredBlock & { no: number; more: boolean }>(
        `select no, payload, set_aside, exists (
           select 1 from block n where n.organisation = b.organisation and n.source = b.source and n.delivery = b.delivery and n.no > b.no) as more
         from block b where organisation = $1 and source = $2 and delivery = $3 and no > $4 order by b.no limit 1`,
        [organisation, source, delivery, last],
      );
      if (row === undefined) return;
      yield countedRecords(row);
      if (!row.more) return;
      last = row.no;
    }
  }

  /** Every delivery that counts, for a recount. */
  async deliveries(
    db: Queryable,
    organisation: string,
  ): Promise<{ source: string; id: string; isArchived: boolean }[]> {
    return db.query(
      `select v.source, v.id::text as id, v.archived is true as "isArchived" from delivery v where v.organisation = $1 and (v.supplement is null
         or exists (select 1 from delivery b where b.organisation = v.organisation and ${isBillOf('b', 'v')}))
       order by v.id`,
      [organisation],
    );
  }

  /**
   * Allocates a delivery again under the given rules; returns the (team, day)s that change, metered ones and billed
   * ones. Null if the delivery has gone (its bill was restated meanwhile), or its records lie in the archive.
   */
  async reallocate(
    tx: Transaction,
    organisation: string,
    source: string,
    delivery: string,
    rules: RuleSet,
    trackedTags: readonly string[],
  ): Promise<{ days: TeamDay[]; metered: boolean; provider: string | null } | null> {
    const [row] = await tx.query<{
      scope: string | null;
      supplement: string | null;
      provider: string | null;
      archived: boolean | null;
    }>(`select scope, supplement, provider, archived from delivery where organisation = $1 and id = $2 for update`, [
      organisation,
      delivery,
    ]);
    // What is archived keeps the teams that it has, until it is read back.
    if (row === undefined || row.archived === true) return null;
    const before = await tx.query<TeamDay>(
      `select distinct team, to_char(hour at time zone 'UTC', 'YYYY-MM-DD') as day from usage_hour where organisation = $1 and delivery = $2`,
      [organisation, delivery],
    );
    await tx.query(`delete from usage_hour where organisation = $1 and delivery = $2`, [organisation, delivery]);
    const grouping = new Grouping((record) => rules.teamOf(record), trackedTags);
    const writer = new DeliveryWriter(
      { organisation, source, id: delivery, tx, dimensions: this.dimensions },
      { sumsOnly: true },
    );
    const counting = row.supplement === null || (await hasItsBill(tx, organisation, delivery));
    for await (const records of counting ? this.records(tx, organisation, source, delivery) : []) {
      for (const one of records) {
        const record = row.supplement === null ? one : withoutList(one);
        writer.add(grouping.groupOf(record), record);
        if (writer.full) await writer.flush();
      }
    }
    await writer.finish();
    await tx.query(`update delivery set rules_version = $3 where organisation = $1 and id = $2`, [
      organisation,
      delivery,
      rules.version,
    ]);
    if (row.scope !== null) await describe(tx, organisation, delivery, writer);
    const days = new Map([...before, ...writer.touched.values()].map((d) => [`${d.team}/${d.day}`, d]));
    return { days: [...days.values()], metered: row.scope === null && row.supplement === null, provider: row.provider };
  }
}

/**
 * The bill's own lines have the list cost of what a supplement states; one taken in before that was known repeats it.
 */
const withoutList = (record: UsageRecord): UsageRecord =>
  record.charge === null || record.charge.list === null
    ? record
    : { ...record, charge: { ...record.charge, list: ZERO } };

/** Writes into a bill's row what its lines are about. */
async function describe(
  tx: Transaction,
  organisation: string,
  delivery: string,
  writer: DeliveryWriter,
): Promise<void> {
  const row = writer.described;
  const columns = Object.keys(row).map((name, at) => `${name} = $${at + 3}`);
  await tx.query(`update delivery set ${columns.join(', ')} where organisation = $1 and id = $2`, [
    organisation,
    delivery,
    ...Object.values(row),
  ]);
}
