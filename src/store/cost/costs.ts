/**
 * The facts between metering and reading: hour sums as input, cost lines per hour, sums per day.
 *
 * Writes whole (team, day)s and replaces the previous ones, so a stage may run any number of times. `actual` is, per
 * account and hour, the bill once its period is closed, otherwise the accrual; an account without a meter has its bill.
 */
import type { CostLine, UnpricedLine } from '../../core/cost/cost.js';
import type { HourTotals } from '../../core/cost/hour-pricing.js';
import { commonDivisor, dimensionKey, type Dimension, type Grouping } from '../../core/cost/rollup.js';
import type { CarriedRun } from '../../core/cost/run.js';
import { formatInstant, hourOf } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import type { StoredBlock } from '../usage/block.js';
import type { BlockKey } from '../usage/reading.js';
import type { RecentBlocks } from '../usage/recent-blocks.js';
import { copyText, type Queryable, type Transaction } from '../database.js';
import type { Dimensions } from '../usage/dimensions.js';

export interface HourOfDimension extends HourTotals {
  readonly dimensionId: string;
  readonly dimension: Dimension;
}

/** A cost line with the dimension that it belongs to. */
export interface LineOfDimension {
  readonly dimensionId: string;
  readonly line: CostLine | UnpricedLine;
}

interface SumRow {
  hour: Date;
  dimension: string;
  gpu: string | null;
  storage: string | null;
  network: string | null;
  shortest: string;
  granules: string[];
}

const COST_HOUR = [
  'organisation',
  'team',
  'hour',
  'dimension',
  'component',
  'unpriced_reason',
  'quantity',
  'nanos',
  'currency',
  'basis',
  'list_nanos',
];

export class CostStore {
  constructor(private readonly dimensions: Dimensions) {}

  /** Sums of metered usage of a team's days (UTC), one per hour and dimension. */
  async meteredHours(
    tx: Queryable,
    organisation: string,
    team: string,
    days: readonly string[],
  ): Promise<HourOfDimension[]> {
    const rows = await tx.query<SumRow>(
      `select u.hour, u.dimension::text as dimension, sum(u.gpu_part_ms)::text as gpu, sum(u.storage_mib_ms)::text as storage,
         sum(u.network_bytes)::text as network, min(u.shortest_ms)::text as shortest, array_agg(distinct u.granule_ms::text) as granules
       from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
       join unnest($3::date[]) as day on u.hour >= day::timestamp at time zone 'UTC' and u.hour < (day + 1)::timestamp at time zone 'UTC'
       where u.organisation = $1 and u.team = $2 group by u.hour, u.dimension order by u.hour, u.dimension`,
      [organisation, team, days],
    );
    const byId = await this.dimensions.byIds(
      tx,
      organisation,
      rows.map((r) => r.dimension),
    );
    return rows.flatMap((row) => {
      const dimension = byId.get(row.dimension);
      if (dimension === undefined) return [];
      return [
        {
          dimensionId: row.dimension,
          dimension,
          hour: row.hour.getTime(),
          gpuPartMs: bigintOf(row.gpu),
          storageMibMs: bigintOf(row.storage),
          networkBytes: bigintOf(row.network),
          shortestMs: Number(row.shortest),
          granuleMs: row.granules.map(Number).reduce(commonDivisor, 0),
        },
      ];
    });
  }

  /**
   * The raw records behind some hours of one team: those that overlap [from, to), by dimension id.
   * Reads blocks, so it is for the rare hours that sums cannot price; `recent` keeps them for the days that follow.
   */
  async recordsOf(
    tx: Queryable,
    organisation: string,
    team: string,
    from: number,
    to: number,
    grouping: Grouping,
    ids: ReadonlyMap<string, string>,
    recent: RecentBlocks,
  ): Promise<Map<string, UsageRecord[]>> {
    const blocks = await tx.query<BlockKey & Pick<StoredBlock, 'set_aside'>>(
      `select b.source, b.delivery::text as delivery, b.no, b.set_aside from block b where b.organisation = $1 and b.first_start < $4 and b.last_end >= $3
         and b.delivery in (select distinct delivery from usage_hour where organisation = $1 and team = $2 and hour >= $5 and hour < $4)
       order by b.delivery, b.no`,
      [organisation, team, formatInstant(from), formatInstant(to), formatInstant(hourOf(from))],
    );
    const records = new Map<string, UsageRecord[]>();
    for await (const counted of recent.counted(tx, organisation, blocks)) {
      for (const record of counted) {
        if (
          record.charge !== null ||
          record.start >= to ||
          (record.end <= from && record.end !== record.start) ||
          record.end < from
        )
          continue;
        const group = grouping.groupOf(record);
        const id = group.team === team ? ids.get(dimensionKey(group.cell.dimension)) : undefined;
        if (id === undefined) continue;
        const list = records.get(id);
        if (list === undefined) records.set(id, [record]);
        else list.push(record);
      }
    }
    return records;
  }

  /** The runs that reach into some days of a team from the day before, by day; days without any are absent. */
  async carriedInto(
    tx: Queryable,
    organisation: string,
    team: string,
    days: readonly string[],
  ): Promise<Map<string, readonly CarriedRun[]>> {
    const rows = await tx.query<{ day: string; runs: CarriedRun[] }>(
      `select day::text as day, runs from carried_run where organisation = $1 and team = $2 and day = any($3::date[])`,
      [organisation, team, days],
    );
    return new Map(
      rows.map(({ day, runs }) => [
        day,
        runs.map(({ dimension, record, beforeMs, matters, continues, stops }) => ({
          dimension,
          record,
          beforeMs,
          matters,
          continues,
          ...(stops === true ? { stops } : {}),
        })),
      ]),
    );
  }

  /** Keeps what reaches into a day from the day before. */
  async carry(
    tx: Transaction,
    organisation: string,
    team: string,
    day: string,
    runs: readonly CarriedRun[],
  ): Promise<void> {
    if (runs.length === 0)
      await tx.query(`delete from carried_run where organisation = $1 and team = $2 and day = $3`, [
        organisation,
        team,
        day,
      ]);
    else
      await tx.query(
        `insert into carried_run (organisation, team, day, runs) values ($1, $2, $3, $4)
         on conflict (organisation, team, day) do update set runs = excluded.runs`,
        [organisation, team, day, JSON.stringify(runs)],
      );
  }

  async replaceHours(
    tx: Transaction,
    organisation: string,
    team: string,
    days: readonly string[],
    lines: readonly LineOfDimension[],
  ): Promise<void> {
    await tx.query(
      `delete from cost_hour using unnest($3::date[]) as day where organisation = $1 and team = $2
         and hour >= day::timestamp at time zone 'UTC' and hour < (day + 1)::timestamp at time zone 'UTC'`,
      [organisation, team, days],
    );
    await tx.copy('cost_hour', COST_HOUR, costRows(organisation, team, lines));
  }

  /** Sums the hours of some days (UTC) of a team into cost_day. `currency` is the team's, for what has no price. */
  async rollUp(
    tx: Transaction,
    organisation: string,
    team: string,
    days: readonly string[],
    currency: string,
  ): Promise<void> {
    await tx.query(
      `delete from cost_day where organisation = $1 and team = $2 and day = any($3::date[]) and shared_from = ''`,
      [organisation, team, days],
    );
    for (const day of days) await tx.query(ROLL_UP, [organisation, team, day, currency]);
  }
}

/**
 * A day at a time: asked for all at once, every hour that the team ever had would be read and compared with each day,
 * and a Citus cluster cannot join the days with the view.
 */
const ROLL_UP = `
insert into cost_day (organisation, team, day, dimension, currency, shared_from, records, gpu_part_ms, unpriced_part_ms,
  unpriced_lines, accrued, actual, billed, effective, list, stated_part_ms, stated_lines)
select $1, $2, $3::date, l.dimension, coalesce(l.currency, $4), '', sum(l.records), sum(l.gpu_part_ms),
  sum(l.unpriced_part_ms), sum(l.unpriced_lines), sum(l.accrued), sum(l.actual), sum(l.billed), sum(l.effective),
  sum(l.list), sum(l.stated_part_ms), sum(l.stated_lines)
from hour_line l
where l.organisation = $1 and l.team = $2 and l.hour >= $3::date::timestamp at time zone 'UTC'
  and l.hour < ($3::date + 1)::timestamp at time zone 'UTC'
group by l.dimension, coalesce(l.currency, $4)`;

function* costRows(organisation: string, team: string, lines: readonly LineOfDimension[]): Generator<string> {
  for (const { dimensionId, line } of lines) {
    const priced = line.kind === 'usage';
    const basis = priced
      ? JSON.stringify(line.basis, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
      : null;
    yield `${copyText(organisation)}\t${copyText(team)}\t${formatInstant(line.hour)}\t${dimensionId}\t${line.component}\t${priced ? '' : line.reason}\t${copyText(line.quantity)}\t${copyText(priced ? line.nanos : null)}\t${copyText(priced ? line.currency : null)}\t${copyText(basis)}\t${copyText(priced ? (line.listNanos ?? null) : null)}\n`;
  }
}

function bigintOf(text: string | null): bigint | null {
  return text === null ? null : BigInt(text);
}
