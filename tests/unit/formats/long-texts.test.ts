/**
 * Long texts in bills, above all those that a dictionary of a Parquet file holds once for all of its rows: what they
 * come to is bounded, each is parsed once, and a batch of long rows ends early.
 */
import { gzipSync } from 'node:zlib';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import type { UsageFormat } from '../../../src/core/ports.js';
import { format as cur } from '../../../src/formats/aws-cur.js';
import { format as bursar } from '../../../src/formats/bursar.js';
import { format as focus } from '../../../src/formats/focus.js';
import { openBytes } from '../../../src/formats/reading/input.js';
import { usageOf, usageOfText } from './reading.js';

const MEBI = 1 << 20;
const ROW = {
  BilledCost: '1.50',
  BillingAccountId: '42',
  BillingCurrency: 'USD',
  BillingPeriodStart: '2026-10-01T00:00:00Z',
  BillingPeriodEnd: '2026-11-01T00:00:00Z',
  ChargeCategory: 'Usage',
  ChargePeriodStart: '2026-10-01T00:00:00Z',
  ChargePeriodEnd: '2026-10-01T01:00:00Z',
  ProviderName: 'AWS',
};
const CUR_ROW = {
  bill_billing_period_start_date: '2026-10-01T00:00:00Z',
  bill_billing_period_end_date: '2026-11-01T00:00:00Z',
  bill_payer_account_id: '42',
  line_item_line_item_type: 'Usage',
  line_item_usage_start_date: '2026-10-01T00:00:00Z',
  line_item_usage_end_date: '2026-10-01T01:00:00Z',
  line_item_currency_code: 'USD',
  line_item_unblended_cost: '1.5',
};
const tagsOf = (size: number, id = ''): string => JSON.stringify({ team: 'research', id, x: 'y'.repeat(size) });

/** A row for each of the texts, which a dictionary holds once each; the other columns are the same in all rows. */
function parquetOf(
  texts: readonly string[],
  column = 'Tags',
  codec: 'UNCOMPRESSED' | 'SNAPPY' | 'GZIP' = 'SNAPPY',
  others: Readonly<Record<string, string>> = ROW,
): Uint8Array {
  const columnData = Object.entries({ ...others, [column]: '' }).map(([name, value]) => ({
    name,
    type: 'STRING' as const,
    encoding: 'RLE_DICTIONARY' as const,
    data: name === column ? [...texts] : new Array<string>(texts.length).fill(value),
  }));
  const compressors = { GZIP: (bytes: Uint8Array): Uint8Array => new Uint8Array(gzipSync(bytes)) };
  return new Uint8Array(parquetWriteBuffer({ columnData, codec, compressors, statistics: false }));
}

const csvOf = (texts: readonly string[]): string => {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const line = (text: string): string => [...Object.values(ROW), quoted(text)].join(',');
  return `${[...Object.keys(ROW), 'Tags'].join(',')}\n${texts.map(line).join('\n')}\n`;
};

const read = async (format: UsageFormat, name: string, bytes: Uint8Array) =>
  usageOf(format, await openBytes(name, bytes));

describe('a long text that all rows share', () => {
  const bomb = new Array<string>(1000).fill(tagsOf(900_000));

  it.each(['UNCOMPRESSED', 'SNAPPY', 'GZIP'] as const)('is refused where it comes to too much (%s)', async (codec) => {
    await expect(read(focus, 'bill.parquet', parquetOf(bomb, 'Tags', codec))).rejects.toThrow(
      /^bill\.parquet: .*\(Tags: the texts of its rows come to \d+ bytes, .*; the most for \d+ rows in \d+ bytes is \d+\)$/,
    );
  });

  it.each([
    ['ContractApplied', 'focus', ROW],
    ['x_CostCategories', 'focus', ROW],
    ['AllocatedTags', 'focus', ROW],
    ['SkuPriceDetails', 'focus', ROW],
    ['resource_tags', 'aws-cur', CUR_ROW],
    ['product', 'aws-cur', CUR_ROW],
    ['line_item_resource_id', 'aws-cur', CUR_ROW],
  ])('is refused in %s too', async (column, format, others) => {
    const bytes = parquetOf(bomb, column, 'GZIP', others);
    await expect(read(format === 'focus' ? focus : cur, 'b.parquet', bytes)).rejects.toThrow(`${column}: the texts of`);
  });

  it('is refused inside a map', async () => {
    const map = { team: 'research', x: 'y'.repeat(900_000) };
    const columnData = Object.entries({ ...CUR_ROW, resource_tags: '' }).map(([name, value]) => ({
      name,
      encoding: 'RLE_DICTIONARY' as const,
      data: new Array<unknown>(200).fill(name === 'resource_tags' ? map : value),
    }));
    const schema: SchemaElement[] = [
      { name: 'root', num_children: columnData.length },
      ...Object.keys(CUR_ROW).map(
        (name): SchemaElement => ({ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' }),
      ),
      { name: 'resource_tags', converted_type: 'MAP', repetition_type: 'OPTIONAL', num_children: 1 },
      { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
      { name: 'key', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
      { name: 'value', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
    ];
    const bytes = new Uint8Array(parquetWriteBuffer({ columnData, schema, statistics: false }));
    await expect(read(cur, 'b.parquet', bytes)).rejects.toThrow('resource_tags: the texts of');
  });

  it('is taken where a bill has it: two kilobytes of tags in each of very many rows', async () => {
    const texts = Array.from({ length: 10 }, (_, at) => tagsOf(1800, String(at)));
    const bytes = parquetOf(Array.from({ length: 60_000 }, (_, at) => texts[at % 10]!));
    const { records, rejects } = await read(focus, 'bill.parquet', bytes);
    expect([records.length, rejects.length]).toEqual([60_000, 0]);
    expect(new Set(records.map(({ tags }) => tags)).size).toBe(10);
  });

  it('is parsed once, in Parquet and in CSV', async () => {
    const [a, b] = [tagsOf(100_000, 'a'), tagsOf(100_000, 'b')];
    const texts = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? a : b));
    for (const { records, rejects } of [
      await read(focus, 'bill.parquet', parquetOf(texts)),
      await usageOfText(focus, csvOf(texts)),
    ]) {
      expect([records.length, rejects.length]).toEqual([100, 0]);
      expect(new Set(records.map(({ tags }) => tags)).size).toBe(2);
    }
    const applied = JSON.stringify({
      Elements: [{ ContractCommitmentId: 'c', ContractCommitmentAppliedCost: 1.5 }],
      more: 'x'.repeat(50_000),
    });
    const { records } = await read(
      focus,
      'b.parquet',
      parquetOf(
        texts.map(() => applied),
        'ContractApplied',
      ),
    );
    expect(new Set(records.map(({ charge }) => charge?.contracts)).size).toBe(1);
    expect(records[0]?.charge?.contracts).toMatchObject([{ id: 'c' }]);
  });
});

describe('a batch of long rows', () => {
  const rowsOf = async (format: UsageFormat, name: string, bytes: Uint8Array): Promise<number[]> => {
    const input = await openBytes(name, bytes);
    const rows: number[] = [];
    for await (const { records, rejects } of format.read(input)) rows.push(records.length + rejects.length);
    await input.close();
    return rows;
  };
  const texts = Array.from({ length: 64 }, (_, at) => tagsOf(MEBI / 2, String(at)));
  const record = (text: string, at: number): string =>
    JSON.stringify({
      id: String(at),
      provider: 'aws',
      account: 'a1',
      sku: 'p5.48xlarge',
      gpus: 8,
      start: '2026-10-05T00:00:00Z',
      end: '2026-10-05T02:00:00Z',
      more: text,
    });

  it('ends by its bytes', async () => {
    for (const rows of [
      await rowsOf(focus, 'b.csv', Buffer.from(csvOf(texts))),
      await rowsOf(focus, 'b.parquet', parquetOf(texts)),
      await rowsOf(bursar, 'b.jsonl', Buffer.from(texts.map(record).join('\n'))),
      await rowsOf(bursar, 'b.json', Buffer.from(`[${texts.map(record).join(',')}]`)),
    ]) {
      expect(rows.reduce((sum, one) => sum + one, 0)).toBe(64);
      expect(Math.max(...rows)).toBeLessThanOrEqual(32);
      expect(rows.length).toBeLessThanOrEqual(3);
    }
    expect(await rowsOf(focus, 'b.csv', Buffer.from(csvOf(texts.map(() => '{"team":"a"}'))))).toEqual([64]);
  });
});

describe('a text that is longer than a row may be', () => {
  it('is a reject of its row, which names the column', async () => {
    const { records, rejects } = await read(focus, 'b.parquet', parquetOf([tagsOf(2 * MEBI), '{"team":"a"}']));
    expect(records.map(({ tags }) => tags)).toEqual([{ team: 'a' }]);
    expect(rejects).toMatchObject([{ line: 1, column: 'Tags', reason: `Tags: the text is longer than ${MEBI} bytes` }]);
  });

  it('names no machine that a pod runs on', async () => {
    const column = 'split_line_item_parent_resource_id';
    const { records, rejects } = await read(
      cur,
      'b.parquet',
      parquetOf(['i-1', 'i'.repeat(5000)], column, 'GZIP', CUR_ROW),
    );
    expect([records.length, rejects]).toMatchObject([
      1,
      [{ reason: `${column}: the text has more than 2048 characters` }],
    ]);
  });
});
