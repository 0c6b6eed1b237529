/**
 * Parquet files by hand, byte for byte, that a writer would not make: FOCUS' required columns, all of the same page.
 * Structures and field numbers of parquet.thrift of the Parquet format, in Thrift's compact protocol.
 */

/** A value with its compact type. */
type Value = readonly [type: number, bytes: Buffer];

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let left = BigInt(value);
  for (; left > 127n; left >>= 7n) bytes.push(Number(left & 127n) | 128);
  return Buffer.from([...bytes, Number(left)]);
}

export const int = (value: number): Value => [5, varint(value < 0 ? -2 * value - 1 : 2 * value)];
export const long = (value: number | bigint): Value => [6, varint(2n * BigInt(value))];
export const text = (value: string): Value => [8, Buffer.concat([varint(value.length), Buffer.from(value)])];
export const list = (items: readonly Value[]): Value => [
  9,
  Buffer.concat([Buffer.from([0xf0 | (items[0]?.[0] ?? 5)]), varint(items.length), ...items.map(([, bytes]) => bytes)]),
];
export const struct = (fields: Readonly<Record<number, Value>>): Value => {
  let last = 0;
  const parts = Object.entries(fields).map(([field, [type, bytes]]) => {
    const step = Number(field) - last;
    last = Number(field);
    return Buffer.concat([Buffer.from([(step << 4) | type]), bytes]);
  });
  return [12, Buffer.concat([...parts, Buffer.from([0])])];
};

const COLUMNS = [
  'BilledCost',
  'EffectiveCost',
  'ListCost',
  'BillingAccountId',
  'BillingCurrency',
  'BillingPeriodStart',
  'BillingPeriodEnd',
  'ChargeCategory',
  'ChargePeriodStart',
  'ChargePeriodEnd',
  'ProviderName',
];

export const UNCOMPRESSED = 0;
export const GZIP = 2;
export const ZSTD = 6;

export interface Bomb {
  /** Of each row group. */
  readonly rows: number;
  readonly groups?: number;
  readonly codec?: number;
  /** Every column's pages; without: one page of nulls, in one run. */
  readonly pages?: Buffer;
  /** Every row group lies in the same bytes. */
  readonly shared?: boolean;
  readonly schema?: readonly Value[];
}

/** A data page: `inside` as it lies in the file, `values` and `size` (unpacked) as its header says. */
export function page(inside: Buffer, { values, size = inside.length, encoding = 0 }: PageFacts): Buffer {
  const facts = struct({ 1: int(values), 2: int(encoding), 3: int(3), 4: int(3) });
  const [, header] = struct({ 1: int(0), 2: int(size), 3: int(inside.length), 5: facts });
  return Buffer.concat([header, inside]);
}

export interface PageFacts {
  readonly values: number;
  readonly size?: number;
  readonly encoding?: number;
}

/** A run of levels: `count` times `level`. */
export function levels(count: number, level: number): Buffer {
  const run = Buffer.concat([varint(2 * count), Buffer.from([level])]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(run.length);
  return Buffer.concat([length, run]);
}

/** Nulls, packed into one run. */
export const nulls = (rows: number): Buffer => page(levels(rows, 0), { values: rows });

export function parquetOf({ rows, groups = 1, codec = UNCOMPRESSED, pages, shared = false, schema }: Bomb): Buffer {
  const chunk = pages ?? nulls(rows);
  const parts: Buffer[] = [Buffer.from('PAR1')];
  let at = 4;
  const group = (): Value => {
    const columns = COLUMNS.map((name) => {
      const offset = shared ? 4 : at;
      if (!shared || parts.length === 1) {
        parts.push(chunk);
        at += chunk.length;
      }
      const facts = {
        1: int(6),
        2: list([int(0)]),
        3: list([text(name)]),
        4: int(codec),
        5: long(rows),
        6: long(chunk.length),
        7: long(chunk.length),
        9: long(offset),
      };
      return struct({ 2: long(offset), 3: struct(facts) });
    });
    return struct({ 1: list(columns), 2: long(COLUMNS.length * chunk.length), 3: long(rows) });
  };
  const elements = [
    struct({ 4: text('root'), 5: int(COLUMNS.length) }),
    ...COLUMNS.map((name) => struct({ 1: int(6), 3: int(1), 4: text(name), 6: int(0) })),
  ];
  const [, footer] = struct({
    1: int(1),
    2: list(schema ?? elements),
    3: long(rows * groups),
    4: list(Array.from({ length: groups }, group)),
  });
  return closed(Buffer.concat(parts), footer);
}

/** A file of the given data and footer. */
export function closed(data: Buffer, footer: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([data, footer, length, Buffer.from('PAR1')]);
}
