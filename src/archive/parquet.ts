/**
 * Raw records as Parquet: one row per record, in the order of their blocks, with column names for SQL users. Amounts of
 * a bill stay decimal texts, times are UTC in milliseconds, and quantities are doubles that hold every whole number up
 * to 2^53. Nothing is left out: reading back yields the same records.
 */
import { parquetReadObjects } from 'hyparquet';
import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer';
import type { ArchiveFormat, RawBlock, RawRecord } from '../core/archive.js';
import { formatDecimal, parseDecimal, type Decimal } from '../core/decimal.js';
import { assert, invalid } from '../core/errors.js';
import type { Charge, UsageRecord } from '../core/usage.js';

interface Placed extends RawRecord {
  readonly block: RawBlock;
}

interface Column {
  readonly name: string;
  readonly type: NonNullable<ColumnSource['type']>;
  readonly of: (row: Placed) => unknown;
}

const text = (name: string, of: (record: UsageRecord) => string | null): Column => ({
  name,
  type: 'STRING',
  of: ({ record }) => of(record),
});
const decimal = (value: Decimal | null | undefined): string | null =>
  value === null || value === undefined ? null : formatDecimal(value);
const instant = (value: number | null | undefined): Date | null =>
  value === null || value === undefined ? null : new Date(value);

const COLUMNS: readonly Column[] = [
  { name: 'source', type: 'STRING', of: ({ block }) => block.source },
  { name: 'delivery', type: 'INT64', of: ({ block }) => BigInt(block.delivery) },
  { name: 'block', type: 'INT32', of: ({ block }) => block.no },
  { name: 'group', type: 'INT32', of: ({ group }) => group },
  { name: 'counts', type: 'BOOLEAN', of: ({ counts }) => counts },
  text('id', ({ id }) => id),
  text('provider', ({ provider }) => provider),
  text('account', ({ account }) => account),
  text('sub_account', ({ subAccount }) => subAccount),
  text('resource', ({ resource }) => resource),
  text('namespace', ({ namespace }) => namespace),
  text('service', ({ service }) => service),
  text('sku', ({ sku }) => sku),
  text('region', ({ region }) => region),
  text('term', ({ term }) => term),
  text('gpu_model', ({ gpuModel }) => gpuModel),
  text('tags', ({ tags }) => JSON.stringify(tags)),
  { name: 'start', type: 'TIMESTAMP', of: ({ record }) => instant(record.start) },
  { name: 'end', type: 'TIMESTAMP', of: ({ record }) => instant(record.end) },
  { name: 'gpu_parts', type: 'DOUBLE', of: ({ record }) => record.gpuParts },
  { name: 'storage_mib', type: 'DOUBLE', of: ({ record }) => record.storageMib },
  { name: 'network_bytes', type: 'DOUBLE', of: ({ record }) => record.networkBytes },
  text('charge_category', ({ charge }) => charge?.category ?? null),
  text('currency', ({ charge }) => charge?.currency ?? null),
  text('billed', ({ charge }) => decimal(charge?.billed)),
  text('effective', ({ charge }) => decimal(charge?.effective)),
  text('list', ({ charge }) => decimal(charge?.list)),
  { name: 'period_start', type: 'TIMESTAMP', of: ({ record }) => instant(record.charge?.periodStart) },
  { name: 'period_end', type: 'TIMESTAMP', of: ({ record }) => instant(record.charge?.periodEnd) },
  { name: 'machine_hours', type: 'BOOLEAN', of: ({ record }) => record.charge?.machineHours ?? null },
  { name: 'has_version', type: 'BOOLEAN', of: ({ record }) => record.version !== undefined },
  { name: 'revision', type: 'DOUBLE', of: ({ record }) => record.version?.revision ?? null },
  { name: 'updated_at', type: 'TIMESTAMP', of: ({ record }) => instant(record.version?.updatedAt) },
  text('corrects', ({ corrects }) => corrects ?? null),
];

export const parquet: ArchiveFormat = {
  write(blocks) {
    const rows = blocks.flatMap((block) => block.records.map((one): Placed => ({ ...one, block })));
    const columnData = COLUMNS.map(({ name, type, of }) => ({ name, type, data: rows.map(of) }));
    return new Uint8Array(parquetWriteBuffer({ columnData, codec: 'SNAPPY' }));
  },

  async read(bytes) {
    let rows: Row[];
    try {
      rows = (await parquetReadObjects({ file: new Uint8Array(bytes).buffer })) as unknown as Row[];
    } catch (cause) {
      throw invalid(`this is not a Parquet file: ${cause instanceof Error ? cause.message : 'it cannot be read'}`);
    }
    const lacking = COLUMNS.filter(({ name }) => rows[0] !== undefined && !(name in rows[0]));
    if (lacking.length > 0) throw invalid(`it has no column ${lacking.map(({ name }) => name).join(', ')}`);
    const blocks: { source: string; delivery: string; no: number; records: RawRecord[] }[] = [];
    for (const row of rows) {
      const [source, delivery, no] = [row['source'] as string, String(row['delivery']), row['block'] as number];
      let last = blocks.at(-1);
      if (last?.source !== source || last.delivery !== delivery || last.no !== no)
        blocks.push((last = { source, delivery, no, records: [] }));
      last.records.push({ record: recordOf(row), group: row['group'] as number, counts: row['counts'] as boolean });
    }
    return blocks;
  },
};

type Row = Readonly<Record<string, unknown>>;

const textIn = (row: Row, name: string): string | null => (row[name] ?? null) as string | null;
const numberIn = (row: Row, name: string): number | null => (row[name] ?? null) as number | null;
const instantIn = (row: Row, name: string): number | null => (row[name] as Date | null | undefined)?.getTime() ?? null;

function decimalIn(row: Row, name: string): Decimal | null {
  const value = textIn(row, name);
  return value === null ? null : parseDecimal(value);
}

function chargeOf(row: Row): Charge | null {
  const billed = decimalIn(row, 'billed');
  if (billed === null) return null;
  const hours = row['machine_hours'] as boolean | null | undefined;
  return {
    category: textIn(row, 'charge_category') as Charge['category'],
    currency: textIn(row, 'currency') ?? '',
    billed,
    effective: decimalIn(row, 'effective'),
    list: decimalIn(row, 'list'),
    periodStart: instantIn(row, 'period_start') ?? 0,
    periodEnd: instantIn(row, 'period_end') ?? 0,
    ...(hours === null || hours === undefined ? {} : { machineHours: hours }),
  };
}

function recordOf(row: Row): UsageRecord {
  const [id, start, end] = [textIn(row, 'id'), instantIn(row, 'start'), instantIn(row, 'end')];
  assert(id !== null && start !== null && end !== null, 'every record has an id and an interval');
  const corrects = textIn(row, 'corrects');
  return {
    id,
    provider: textIn(row, 'provider') as UsageRecord['provider'],
    account: textIn(row, 'account') as UsageRecord['account'],
    subAccount: textIn(row, 'sub_account') as UsageRecord['subAccount'],
    resource: textIn(row, 'resource'),
    namespace: textIn(row, 'namespace'),
    service: textIn(row, 'service') as UsageRecord['service'],
    sku: textIn(row, 'sku') as UsageRecord['sku'],
    region: textIn(row, 'region'),
    term: textIn(row, 'term') as UsageRecord['term'],
    gpuModel: textIn(row, 'gpu_model'),
    tags: JSON.parse(textIn(row, 'tags') ?? '{}') as UsageRecord['tags'],
    start,
    end,
    gpuParts: numberIn(row, 'gpu_parts'),
    storageMib: numberIn(row, 'storage_mib'),
    networkBytes: numberIn(row, 'network_bytes'),
    charge: chargeOf(row),
    ...(row['has_version'] === true
      ? { version: { revision: numberIn(row, 'revision'), updatedAt: instantIn(row, 'updated_at') } }
      : {}),
    ...(corrects === null ? {} : { corrects }),
  };
}
