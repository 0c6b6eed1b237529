/**
 * The evidence for the ledger: the raw records of an action's targets, the hours in which their meter reported, and the
 * data of bills about them.
 *
 * Hour sums do not keep the resource, so it reads blocks again, a few at a time, and keeps only data about the targets.
 * Reads only.
 */
import type { ChainEvidence, MeteredLine } from '../../core/saving/attribution.js';
import { machineOf, machinesOf } from '../../core/fleet/membership.js';
import { bearsOn, type Counterfactual } from '../../core/saving/counterfactual.js';
import type { Grouping } from '../../core/cost/rollup.js';
import type { BillEvidence, TargetUsage } from '../../core/saving/bill.js';
import { formatInstant, hourOf, type Interval } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import { countedRecords } from '../usage/block.js';
import { blocksOf } from '../usage/reading.js';
import { aboutOf } from '../bill/reconciliation.js';
import type { Queryable } from '../database.js';

const ABOUT = aboutOf('delivery');

/** Blocks that are decoded at a time: about 100,000 records. */
const PAGE_BLOCKS = 6;

export class SavingEvidence {
  /** Every raw record of a team within an interval that bears on some actions; nothing is read where it is empty. */
  async usage(
    db: Queryable,
    organisation: string,
    team: string,
    about: readonly Counterfactual[],
    span: Interval,
    grouping: Grouping,
  ): Promise<TargetUsage> {
    const { start, end } = span;
    const metered: MeteredLine[] = [];
    const billed: MeteredLine[] = [];
    const itemised = new Set<string>();
    if (start >= end) return { metered, billed, itemised };
    for await (const { source, records } of this.blocks(db, organisation, team, span)) {
      for (const record of records) {
        if (record.start >= end || record.end < start || !mayBear(record, about)) continue;
        const isBilled = record.charge !== null;
        if (isBilled && record.resource !== null && record.charge?.category === 'Usage') itemised.add(record.provider);
        if (!about.some((one) => bearsOn(record, one)) || grouping.groupOf(record).team !== team) continue;
        if (!isBilled) metered.push({ record, line: `${source}/${record.id}` });
        else if (record.charge?.category === 'Usage') billed.push({ record, line: `${source}/${record.id}` });
      }
    }
    const machines = new Set(
      about.flatMap(({ target }) => [
        ...machinesOf(
          target,
          metered.map(({ record }) => record),
        ),
      ]),
    );
    // A second look, for machines that only now are known to be a group's: a bill may have come before the usage.
    if (itemised.size > 0 && machines.size > 0)
      billed.push(...(await this.billedMachines(db, organisation, team, about, span, grouping, machines)));
    return { metered, billed, itemised };
  }

  /** Usage lines of bills about machines, but for those that say themselves whose they are. */
  private async billedMachines(
    db: Queryable,
    organisation: string,
    team: string,
    about: readonly Counterfactual[],
    span: Interval,
    grouping: Grouping,
    machines: ReadonlySet<string>,
  ): Promise<MeteredLine[]> {
    const found: MeteredLine[] = [];
    for await (const { source, records } of this.blocks(db, organisation, team, span)) {
      for (const record of records) {
        if (
          record.charge?.category !== 'Usage' ||
          record.resource === null ||
          record.start >= span.end ||
          record.end < span.start ||
          !machines.has(machineOf(record.resource))
        )
          continue;
        if (
          mayBear(record, about) &&
          !about.some((one) => bearsOn(record, one)) &&
          grouping.groupOf(record).team === team
        )
          found.push({ record, line: `${source}/${record.id}` });
      }
    }
    return found;
  }

  /** When the meter of some actions' account was heard, and which of its bill periods are closed. */
  async account(
    db: Queryable,
    organisation: string,
    team: string,
    about: readonly Counterfactual[],
    span: Interval,
  ): Promise<Pick<ChainEvidence, 'meteredHours'> & Pick<BillEvidence, 'closed'>> {
    if (span.start >= span.end) return { meteredHours: new Set(), closed: [] };
    const { provider, account } = about.find((one) => one.provider !== null) ?? { provider: null, account: null };
    return {
      meteredHours: await this.meteredHours(db, organisation, team, provider, account, span),
      closed: await this.closedPeriods(db, organisation, provider, account, span),
    };
  }

  private async *blocks(
    db: Queryable,
    organisation: string,
    team: string,
    { start, end }: Interval,
  ): AsyncGenerator<{ source: string; records: UsageRecord[] }> {
    // A bill's day or month may begin before the time, and its civil dates before or after its instants.
    const deliveries = await db.query<{ delivery: string }>(
      `select distinct delivery::text as delivery from usage_hour where organisation = $1 and team = $2 and hour >= $3 and hour < $4
       union
       select id::text from delivery where organisation = $1 and scope is not null and $2 = any(teams) and ${ABOUT.from} < $4 and ${ABOUT.until} > $3`,
      [organisation, team, formatInstant(hourOf(start)), formatInstant(end)],
    );
    const ids = deliveries.map(({ delivery }) => delivery);
    for await (const block of blocksOf(db, organisation, ids, { start, end }, PAGE_BLOCKS))
      yield { source: block.source, records: countedRecords(block) };
  }

  /**
   * UTC hours in which the meter of a provider's account (null: of any) reported GPUs, of any team that is known. What
   * it says of volumes or traffic does not tell that it saw the machines.
   */
  private async meteredHours(
    db: Queryable,
    organisation: string,
    team: string,
    provider: string | null,
    account: string | null,
    { start, end }: Interval,
  ): Promise<ReadonlySet<number>> {
    const teams = await db.query<{ id: string }>(`select id from team where organisation = $1`, [organisation]);
    const rows = await db.query<{ hour: Date }>(
      `select distinct u.hour from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
         and u.gpu_part_ms is not null
       where u.organisation = $1 and u.team = any($2::text[]) and u.hour >= $3 and u.hour < $4 and ($5::text is null or d.provider = $5) and ($6::text is null or d.account = $6)`,
      [
        organisation,
        [...new Set([team, 'unallocated', ...teams.map(({ id }) => id)])],
        formatInstant(hourOf(start)),
        formatInstant(end),
        provider,
        account,
      ],
    );
    return new Set(rows.map(({ hour }) => hour.getTime()));
  }

  /** The time that final bills of a provider's account reach, of those that are about any of the interval. */
  private async closedPeriods(
    db: Queryable,
    organisation: string,
    provider: string | null,
    account: string | null,
    { start, end }: Interval,
  ): Promise<Interval[]> {
    const rows = await db.query<{ start: Date; until: Date }>(
      `select distinct lower(r) as start, upper(r) as until
       from delivery, unnest(coalesce(reach, tstzmultirange(tstzrange(period_start, period_end)))) as r
       where organisation = $1 and closed and provider = $2 and ${ABOUT.from} < $5 and ${ABOUT.until} > $4
         and ($3::text is null or account is null or account = $3 or $3 = any(sub_accounts))`,
      [organisation, provider, account, formatInstant(start), formatInstant(end)],
    );
    return rows.map((row) => ({ start: row.start.getTime(), end: row.until.getTime() }));
  }
}

/** A cheap look before the exact one: most records are of other providers. */
const mayBear = ({ provider }: UsageRecord, about: readonly Counterfactual[]): boolean =>
  about.some((one) => one.provider === null || one.provider === provider);
