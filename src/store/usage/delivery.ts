/**
 * One delivery: the blocks and hour sums of one bill period of one account, or of one batch of metered usage.
 *
 * Writes behind the reader: a full block is sent while the next rows are parsed, at most one write ahead, so memory
 * stays bounded for any size of file.
 */
import { createHash } from 'node:crypto';
import { BillOutline } from '../../core/bill/counting.js';
import { formatDecimal, type Decimal } from '../../core/decimal.js';
import { invalid } from '../../core/errors.js';
import { HourSums, type Group, type HourSum } from '../../core/cost/rollup.js';
import { DAY_MS, formatInstant } from '../../core/time.js';
import type { UsageRecord } from '../../core/usage.js';
import { BlockBuilder } from './block.js';
import { CommitmentSums } from '../../core/bill/commitments.js';
import { ContractSums } from '../../core/bill/contracts.js';
import { writeCommitmentUses } from '../bill/commitments.js';
import { writeContractUses } from '../bill/contracts.js';
import { copyText, type Transaction } from '../database.js';
import type { Dimensions } from './dimensions.js';

const MOST_SUMS = 100_000;
/**
 * Hours that metered records may be spread over, each of a team and kind of usage: of any import, and for each record
 * beside. A record may last for a year, so that a small request could otherwise become millions of rows.
 */
export const MOST_EXTRA_HOURS = 250_000;
const HOURS_A_RECORD = 50;
export const USAGE_HOUR = [
  'organisation',
  'team',
  'hour',
  'dimension',
  'delivery',
  'part',
  'records',
  'gpu_part_ms',
  'storage_mib_ms',
  'network_bytes',
  'shortest_ms',
  'granule_ms',
  'billed',
  'effective',
  'list',
  'until',
];

/**
 * Told of the hours that records are spread over beyond HOURS_A_RECORD for each, before they are written; throws if
 * whoever sends them has brought too many.
 */
export type SpreadCount = (hours: number) => void;

/** The destination of a delivery's rows. */
export interface DeliveryTarget {
  readonly organisation: string;
  readonly source: string;
  readonly id: string;
  readonly tx: Transaction;
  readonly dimensions: Dimensions;
}

export class DeliveryWriter {
  private block = new BlockBuilder();
  private readonly sums = new HourSums();
  private readonly commitments = new CommitmentSums();
  private readonly contracts = new ContractSums();
  private readonly content = createHash('sha256');
  private blocks = 0;
  private parts = 0;
  private hours = 0;
  private extraHours = 0;
  records = 0;
  /** Touched `team/day` keys. */
  readonly touched = new Map<string, { team: string; day: string }>();
  /** Of a bill: what its lines are about. */
  readonly outline = new BillOutline();
  /** Days (UTC) on which lines begin that go on beyond them. */
  private readonly longDays = new Set<string>();

  /**
   * With `sumsOnly` the records are there already and only their sums are written, where `hours` is given only those of
   * these hours.
   */
  constructor(
    private readonly target: DeliveryTarget,
    private readonly options: {
      readonly sumsOnly: boolean;
      readonly hours?: ReadonlySet<number>;
      readonly spread?: SpreadCount | undefined;
    } = { sumsOnly: false },
  ) {}

  add(group: Group, record: UsageRecord): void {
    if (!this.options.sumsOnly) {
      this.block.add(group.index, record);
      this.commitments.add(record);
      this.contracts.add(record);
    }
    this.sums.add(group, record);
    this.outline.add(record);
    this.records += 1;
  }

  /** Keeps a record that does not count: a later statement of it does. */
  addAside(group: Group, record: UsageRecord): void {
    this.block.setAside.push(this.block.records);
    this.block.add(group.index, record);
    this.records += 1;
  }

  /** What a bill's delivery says of itself, by the columns of its row. */
  get described(): Readonly<Record<string, unknown>> {
    const { outline, touched, longDays } = this;
    const reach = outline.reach().map(({ start, end }) => `[${formatInstant(start)},${formatInstant(end)})`);
    return {
      reach: `{${reach.join(',')}}`,
      sub_accounts: [...outline.subAccounts].sort(),
      has_usage: outline.hasUsage,
      teams: [...new Set([...touched.values()].map(({ team }) => team))].sort(),
      long_days: [...longDays].sort(),
    };
  }

  /** True when `flush` should be called before more records are added. */
  get full(): boolean {
    return this.block.full || this.sums.size >= MOST_SUMS;
  }

  async flush(): Promise<void> {
    if (this.block.full) await this.writeBlock();
    if (this.sums.size >= MOST_SUMS) await this.writeSums(this.sums.drain());
  }

  /** Writes all that was added, so that it can be read. */
  async flushAll(): Promise<void> {
    if (this.block.records > 0) await this.writeBlock();
    if (this.sums.size > 0) await this.writeSums(this.sums.drain());
  }

  /** Writes what is left; returns the digest of all records in their order. */
  async finish(): Promise<Buffer> {
    await this.flushAll();
    await this.target.dimensions.write(this.target.tx, this.target.organisation);
    const { tx, organisation, id } = this.target;
    await writeCommitmentUses(tx, organisation, id, this.commitments.drain());
    await writeContractUses(tx, organisation, id, this.contracts.drain());
    return this.content.digest();
  }

  private async writeBlock(): Promise<void> {
    const { block, target } = this;
    this.block = new BlockBuilder();
    const payload = block.encode();
    this.content.update(payload);
    await target.tx.query(
      `insert into block (organisation, source, delivery, no, records, first_start, last_end, payload, set_aside) values ($1,$2,$3,$4,$5,$6,$7,$8,$9)`,
      [
        target.organisation,
        target.source,
        target.id,
        this.blocks++,
        block.records,
        new Date(block.firstStart),
        new Date(block.lastEnd),
        payload,
        block.setAside,
      ],
    );
  }

  private async writeSums(all: HourSum[]): Promise<void> {
    const { target } = this;
    const { hours } = this.options;
    const sums = hours === undefined ? all : all.filter(({ hour }) => hours.has(hour));
    if (sums.length === 0) return;
    this.checkSpread(sums.length);
    const cells = [...new Map(sums.map((sum) => [sum.cell.index, sum.cell])).values()];
    const ids = await target.dimensions.idsOf(
      target.tx,
      target.organisation,
      cells.map((cell) => cell.dimension),
    );
    const idOf = new Map(cells.map((cell, at) => [cell.index, ids[at] ?? '']));
    for (const {
      cell: { team },
      hour,
    } of sums)
      this.touch(team, hour);
    await target.tx.copy('usage_hour', USAGE_HOUR, this.lines(sums, idOf, this.parts++));
  }

  /** @throws Failure invalid if few records would become very many hours */
  private checkSpread(more: number): void {
    this.hours += more;
    const extra = this.hours - HOURS_A_RECORD * this.records;
    if (this.options.sumsOnly || extra <= this.extraHours) return;
    if (extra > MOST_EXTRA_HOURS)
      throw invalid(
        `the first ${this.records} records are spread over more than ${MOST_EXTRA_HOURS} hours of teams and kinds of usage, and more than ${HOURS_A_RECORD} for each record: send them in several parts, or shorter ones`,
      );
    this.options.spread?.(extra - this.extraHours);
    this.extraHours = extra;
  }

  private touch(team: string, hour: number): void {
    const day = Math.floor(hour / DAY_MS);
    const key = `${team}/${day}`;
    if (!this.touched.has(key)) this.touched.set(key, { team, day: new Date(day * DAY_MS).toISOString().slice(0, 10) });
  }

  /** Where lines end that go on beyond their first day; null for all others. */
  private until({ hour, until: end, cell }: HourSum): string {
    const { civil, days } = cell.dimension;
    const dayEnd = (Math.floor(hour / DAY_MS) + 1) * DAY_MS;
    // Civil dates begin at midnight UTC in the sums, wherever the bill is made.
    const until = civil ? hour + days * DAY_MS : end;
    if (until <= dayEnd) return '\\N';
    this.longDays.add(formatInstant(dayEnd - DAY_MS).slice(0, 10));
    return formatInstant(until);
  }

  private *lines(sums: readonly HourSum[], idOf: ReadonlyMap<number, string>, part: number): Generator<string> {
    const { organisation, id } = this.target;
    const hours = new Map<number, string>();
    for (const sum of sums) {
      let hour = hours.get(sum.hour);
      if (hour === undefined) hours.set(sum.hour, (hour = new Date(sum.hour).toISOString()));
      yield `${copyText(organisation)}\t${copyText(sum.cell.team)}\t${hour}\t${idOf.get(sum.cell.index)}\t${id}\t${part}\t${sum.records}\t${copyText(sum.gpuPartMs)}\t${copyText(sum.storageMibMs)}\t${copyText(sum.networkBytes)}\t${sum.shortestMs}\t${sum.granuleMs}\t${amount(sum.billed)}\t${amount(sum.effective)}\t${amount(sum.list)}\t${this.until(sum)}\n`;
    }
  }
}

function amount(decimal: Decimal | null): string {
  return decimal === null ? '\\N' : formatDecimal(decimal);
}

/**
 * The id of a delivery of metered usage. Its row comes at the end, when all of it is known: on a Citus cluster whoever
 * changes a row of that table lets nobody else write there until the commit.
 */
export async function newDelivery(tx: Transaction): Promise<string> {
  const [row] = await tx.query<{ id: string }>(`select nextval(pg_get_serial_sequence('delivery', 'id'))::text as id`);
  return row?.id ?? '';
}

export interface MeteredDelivery {
  readonly rulesVersion: number;
  readonly now: number;
  /** The first import of its call. */
  readonly taken: string | null;
  readonly records: number;
  readonly digest: Buffer;
}

export async function writeDelivery(
  { tx, organisation, source, id }: DeliveryTarget,
  { rulesVersion, now, taken, records, digest }: MeteredDelivery,
): Promise<void> {
  await tx.query(
    `insert into delivery (organisation, id, source, records, rules_version, delivered_at, import, digest)
     overriding system value values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [organisation, id, source, records, rulesVersion, new Date(now), taken, digest],
  );
}
