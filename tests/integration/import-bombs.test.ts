/**
 * Files that are small and mean to be enormous: well-formed Parquet of a thousand million rows, pages that unpack
 * without end, gzip that grows, lines without end. At the doors (upload, and import on the machine itself). What is
 * asserted is that each is refused and for what, or that the rest of it is read; never how long it took.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bothDoors } from '../support/doors.js';
import {
  closed,
  GZIP,
  int,
  levels,
  list,
  nulls,
  page,
  parquetOf,
  struct,
  text,
  varint,
  ZSTD,
} from '../support/parquet-bombs.js';
import { testApi } from '../support/web.js';

/** FOCUS' required columns, and one charge. */
const CHARGE_OF: Readonly<Record<string, string>> = {
  BilledCost: '1.5',
  EffectiveCost: '1.5',
  ListCost: '1.5',
  BillingAccountId: '42',
  BillingCurrency: 'USD',
  BillingPeriodStart: '2026-10-01T00:00:00Z',
  BillingPeriodEnd: '2026-11-01T00:00:00Z',
  ChargeCategory: 'Usage',
  ChargePeriodStart: '2026-10-02T03:00:00Z',
  ChargePeriodEnd: '2026-10-02T04:00:00Z',
  ProviderName: 'AWS',
};
const BILL = Buffer.from(`${Object.keys(CHARGE_OF).join(',')}\n`);
const CHARGE = Buffer.from(`${Object.values(CHARGE_OF).join(',')}\n`);
const MANY = 1_000_000_000;
const ROWS = 1000;

/** A Zstandard frame of `blocks` blocks, each of which says that a zero comes 128 KiB times (RFC 8878). */
const zstandard = (blocks: number): Buffer =>
  Buffer.concat([
    Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50]),
    ...Array.from({ length: blocks }, (_, index) => {
      const block = (131_072 << 3) | (1 << 1) | (index === blocks - 1 ? 1 : 0);
      return Buffer.from([block & 255, (block >> 8) & 255, block >> 16, 0]);
    }),
  ]);

/** Delta-encoded lengths, all of them the same. */
const sameLengths = (count: number, length: number): Buffer =>
  Buffer.concat([
    varint(128),
    varint(4),
    varint(count),
    varint(2 * length),
    ...Array.from({ length: Math.ceil((count - 1) / 128) }, () => Buffer.alloc(5)),
  ]);

const schemaOf = (children: number): Buffer =>
  parquetOf({ rows: ROWS, schema: [struct({ 4: text('root'), 5: int(children) })] });
const deepSchema = Array.from({ length: 5000 }, () => struct({ 4: text('a'), 5: int(1) }));
/** A footer with an integer of a million bytes. */
const longInteger = Buffer.concat([Buffer.from([0x16]), Buffer.alloc(1_000_000, 0xff), Buffer.from([1, 0])]);

const PARQUET: readonly (readonly [string, Uint8Array, string])[] = [
  ['a run of a thousand million nulls in every column', parquetOf({ rows: MANY }), `it states ${MANY} rows in`],
  [
    'thousands of row groups in the same bytes',
    parquetOf({
      rows: 60_000,
      groups: 300,
      shared: true,
      pages: page(Buffer.concat([levels(60_000, 0), Buffer.alloc(500)]), { values: 60_000 }),
    }),
    'its columns are longer than the file',
  ],
  [
    'a page of more values than the row group',
    parquetOf({ rows: ROWS, pages: nulls(5 * ROWS) }),
    'its pages hold more values than it has rows',
  ],
  [
    'a page of fewer values than the row group',
    parquetOf({ rows: ROWS, pages: nulls(10) }),
    'its pages hold fewer values than it has rows',
  ],
  [
    'a run that is longer than its page',
    parquetOf({ rows: ROWS, pages: page(levels(MANY, 0), { values: ROWS }) }),
    'a run of values is longer than its page says',
  ],
  [
    'indexes whose run is longer than its page',
    parquetOf({
      rows: ROWS,
      pages: page(Buffer.concat([levels(ROWS, 1), Buffer.from([1]), varint(2 * MANY), Buffer.from([0])]), {
        values: ROWS,
        encoding: 8,
      }),
    }),
    'a run of values is longer than its page says',
  ],
  [
    'gzip that grows beyond the size of its page',
    parquetOf({
      rows: ROWS,
      codec: GZIP,
      pages: page(gzipSync(Buffer.alloc(100 << 20)), { values: ROWS, size: 1000 }),
    }),
    'the Parquet data cannot be read',
  ],
  [
    'pages of gigabytes',
    parquetOf({ rows: ROWS, codec: GZIP, pages: page(gzipSync(Buffer.alloc(1000)), { values: ROWS, size: 2 ** 30 }) }),
    'it takes more than 1073741824 bytes in memory',
  ],
  [
    'pages that unpack to more than any bill does',
    parquetOf({
      rows: ROWS,
      codec: GZIP,
      pages: page(gzipSync(Buffer.alloc(20 << 20)), { values: ROWS, size: 20 << 20 }),
    }),
    'it unpacks to more than 200 times its size',
  ],
  [
    'Zstandard blocks beyond the size of its page',
    parquetOf({ rows: ROWS, codec: ZSTD, pages: page(zstandard(5000), { values: ROWS, size: 1000 }) }),
    'more blocks than its size needs',
  ],
  [
    'a long text repeated by every row',
    parquetOf({
      rows: ROWS,
      pages: page(Buffer.concat([levels(ROWS, 1), sameLengths(ROWS, 4 << 20), sameLengths(ROWS, 0)]), {
        values: ROWS,
        encoding: 7,
      }),
    }),
    'it takes more than 1073741824 bytes in memory',
  ],
  [
    'a long text that a dictionary shares between all rows',
    new Uint8Array(
      parquetWriteBuffer({
        columnData: Object.entries({ ...CHARGE_OF, Tags: JSON.stringify({ x: 'y'.repeat(900_000) }) }).map(
          ([name, value]) => ({ name, type: 'STRING', data: new Array<string>(ROWS).fill(value) }),
        ),
      }),
    ),
    'Tags: the texts of its rows come to',
  ],
  [
    'a page header without a size',
    parquetOf({ rows: ROWS, pages: struct({ 1: int(0), 2: int(0) })[1] }),
    'a page header lacks a number',
  ],
  ['a schema of two thousand million columns', schemaOf(2 ** 31 - 1), 'its schema is cut short'],
  [
    'a schema without a bottom',
    parquetOf({ rows: ROWS, schema: deepSchema }),
    'its schema is no tree of at most 16 levels',
  ],
  ['an integer of a million bytes', closed(Buffer.from('PAR1'), longInteger), 'an integer is longer than 10 bytes'],
  [
    'a list of more than its bytes',
    closed(Buffer.from('PAR1'), struct({ 2: [9, Buffer.concat([Buffer.from([0xfc]), varint(MANY)])] })[1]),
    'its structure is cut short',
  ],
  [
    'a negative size',
    parquetOf({ rows: ROWS, pages: struct({ 1: int(0), 2: int(-5), 3: int(-5), 5: list([]) })[1] }),
    'a page header lacks a number',
  ],
];

describe('a file that means to be enormous', async () => {
  const api = await testApi();
  const { here } = bothDoors(api);
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-bombs-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const upload = async (name: string, format: string, body: Uint8Array): Promise<unknown> => {
    const query = `filename=${name}&format=${format}&source=${format}`;
    const reply = await api.call('POST', `/v1/imports?${query}`, {
      body,
      headers: { 'content-type': 'application/octet-stream' },
    });
    return { status: reply.status, ...reply.body };
  };
  const refusedAtBoth = async (name: string, format: string, body: Uint8Array, detail: string): Promise<void> => {
    expect(await upload(name, format, body)).toMatchObject({ status: 400, detail: expect.stringContaining(detail) });
    const file = path.join(folder, name);
    await writeFile(file, body);
    const { code, err } = await here('import', file, '--format', format);
    expect(code).not.toBe(0);
    expect(err).toContain(detail);
  };

  it.each(PARQUET)('as Parquet is refused: %s', async (_, body, detail) => {
    expect(body.length).toBeLessThan(2_100_000);
    await refusedAtBoth('bill.parquet', 'focus', body, detail);
  });

  it('as gzip is refused where it grows more than any bill does, Parquet too', async () => {
    const grows = 'the gzip data grows to more than 200 times its size';
    const header = Buffer.from('PAR1');
    await refusedAtBoth('bill.csv.gz', 'focus', gzipSync(Buffer.concat([BILL, Buffer.alloc(120 << 20)])), grows);
    await refusedAtBoth('bill.parquet.gz', 'focus', gzipSync(Buffer.concat([header, Buffer.alloc(120 << 20)])), grows);
    await refusedAtBoth('usage.json.gz', 'bursar', gzipSync(`[${'{},'.repeat(40 << 20)}{}]`), grows);
  });

  it('of one object is refused where it is deeper, or of more values, than records are', async () => {
    const deep = `{"records":\n${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    await refusedAtBoth(
      'usage.json',
      'bursar',
      Buffer.from(`{\n"a": 1,\n${deep.slice(1)}`),
      'is nested deeper than 100',
    );
    const many = `{\n"a":\n[${'[],'.repeat(5 << 20)}[]]}`;
    await refusedAtBoth('usage.json', 'bursar', Buffer.from(many), 'holds more values than a file of its size does');
  });

  it('of a line without end loses that line, and the rest is read', async () => {
    const record = (id: string): string =>
      JSON.stringify({
        id,
        provider: 'aws',
        account: 'a1',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        gpus: 8,
        start: '2026-10-05T00:00:00Z',
        end: '2026-10-05T02:00:00Z',
      });
    const deep = `{"id":"deep","tags":${'['.repeat(200_000)}${']'.repeat(200_000)}}`;
    const lines = [record('one'), `{"id":"${'x'.repeat(70 << 20)}"}`, record('two'), deep, record('three'), ''];
    expect(await upload('usage.jsonl', 'bursar', Buffer.from(lines.join('\n')))).toMatchObject({
      status: 200,
      files: [{ accepted: 3, rejected: 2 }],
    });
    const giant = Buffer.concat([BILL, Buffer.alloc(8 << 20, 'a'), Buffer.from('\n'), CHARGE]);
    expect(await upload('bill.csv', 'focus', giant)).toMatchObject({
      status: 200,
      files: [{ accepted: 1, rejected: 1 }],
    });
  });
});
