/** FOCUS: the real sample to the last digit, validation row by row, unknown columns, and the same bill as Parquet. */
import { gunzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { formatDecimal } from '../../../src/core/decimal.js';
import { Failure } from '../../../src/core/errors.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { format } from '../../../src/formats/focus.js';
import { openBytes } from '../../../src/formats/reading/input.js';
import { billed, fixture, usageOf, usageOfFile, usageOfText } from './reading.js';

const SAMPLE = 'focus-sample/focus_sample_2024-09-01_18.csv.gz';
const TOTALS = { 'AWS USD': '8.00155109870', 'Microsoft USD': '0.40851306586', 'Oracle USD': '0.28400000000' };

const COLUMNS = [
  'BilledCost',
  'BillingAccountId',
  'BillingCurrency',
  'BillingPeriodStart',
  'BillingPeriodEnd',
  'ChargeCategory',
  'ChargePeriodStart',
  'ChargePeriodEnd',
  'ProviderName',
];
const ROW: Record<string, string> = {
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

function bill(...rows: Record<string, string>[]): string {
  const columns = [...new Set([...COLUMNS, ...rows.flatMap((row) => Object.keys(row))])];
  const line = (row: Record<string, string>): string =>
    columns.map((column) => `"${(row[column] ?? ROW[column] ?? '').replaceAll('"', '""')}"`).join(',');
  return `${columns.join(',')}\n${rows.map(line).join('\n')}\n`;
}

async function recordOf(row: Record<string, string>) {
  const { records, rejects } = await usageOfText(format, bill(row));
  expect(rejects).toEqual([]);
  return records[0];
}

describe('the real sample', () => {
  it('imports whole, gzipped or not, to the control totals', async () => {
    const unknown: string[] = [];
    const { records, rejects } = await usageOf(
      format,
      await openBytes('a.csv', gunzipSync(readFileSync(fixture(SAMPLE)))),
      { onUnknownColumns: (columns) => unknown.push(...columns) },
    );
    expect([records.length, rejects.length, unknown]).toEqual([545, 0, ['Id']]);
    expect(billed(records)).toEqual(TOTALS);
    const packed = await usageOfFile(format, SAMPLE);
    expect(packed.records).toEqual(records);
  });

  it('reads its quirks: NULL words, times without a zone, adjustments, JSON tags', async () => {
    const { records } = await usageOfFile(format, SAMPLE);
    const first = records[0];
    expect(first).toMatchObject({
      id: '2',
      provider: 'AWS',
      account: '1234567890123',
      subAccount: '51738928782',
      service: 'Amazon Simple Queue Service',
      sku: 'G95FST5FTYV3JSRX',
      region: 'us-west-2',
      term: 'on-demand',
      tags: null,
      start: Date.UTC(2024, 8, 18, 22),
      end: Date.UTC(2024, 8, 18, 23),
      gpuParts: null,
    });
    expect(first?.charge).toMatchObject({
      category: 'Usage',
      currency: 'USD',
      periodStart: Date.UTC(2024, 8, 1),
      periodEnd: Date.UTC(2024, 9, 1),
    });
    expect(formatDecimal(first!.charge!.billed)).toBe('0.00000080000');
    expect(records[1]?.tags).toEqual({
      application: 'NextBrainHub',
      environment: 'dev',
      business_unit: 'KyotoEngineering',
    });
    expect(records.filter(({ charge }) => charge?.category === 'Adjustment')).toHaveLength(2);
    expect(records.filter(({ term }) => term === 'savings-plan-1y')).toHaveLength(1);
    expect(new Set(records.map(({ id }) => id)).size).toBe(545);
  });
});

describe('a row', () => {
  it('with more digits than any bill has is rejected: one slip would stand in every total', async () => {
    const nines = (count: number): string => '9'.repeat(count);
    const { records, rejects } = await usageOfText(
      format,
      bill({ BilledCost: `-${nines(18)}.5` }, { BilledCost: nines(19) }, { BilledCost: `-${nines(60)}.25` }),
    );
    expect(records).toHaveLength(1);
    expect(rejects).toMatchObject([
      { column: 'BilledCost', reason: expect.stringContaining('has more than 18 digits before the point') as string },
      { column: 'BilledCost' },
    ]);
  });

  it('that cannot be used is rejected with its line, every column and its text; the others are read', async () => {
    const { records, rejects } = await usageOfText(
      format,
      bill(
        { ResourceId: 'two\nlines' },
        { BilledCost: 'abc', ChargePeriodEnd: '2026-10-40', BillingCurrency: 'dollar', ChargeCategory: '' },
        {},
      ),
    );
    expect(records.map(({ id }) => id)).toEqual(['2', '5']);
    expect(rejects).toHaveLength(1);
    expect(rejects[0]).toMatchObject({ line: 4, column: 'ChargePeriodEnd' });
    expect(rejects[0]?.reason.split('; ')).toEqual([
      'ChargePeriodEnd: "2026-10-40" is not a date and time',
      'BilledCost: "abc" is not a decimal',
      'ChargeCategory: the value is missing',
      'BillingCurrency: "dollar" is not a currency code',
    ]);
    expect(rejects[0]?.raw).toContain('"abc"');
  });

  it.each([
    [{ BilledCost: '' }, 'BilledCost'],
    [{ BilledCost: '$10,000.00 ' }, 'BilledCost'],
    [{ EffectiveCost: 'x' }, 'EffectiveCost'],
    [{ ChargePeriodStart: '5/1/25' }, 'ChargePeriodStart'],
    [{ ChargePeriodEnd: '2026-09-30T00:00:00Z' }, 'ChargePeriodEnd'],
    [{ BillingPeriodEnd: '2026-10-01T00:00:00Z' }, 'BillingPeriodEnd'],
    [{ ChargePeriodEnd: '2040-01-01' }, 'ChargePeriodEnd'],
    [{ ChargePeriodEnd: '9999-12-31' }, 'ChargePeriodEnd'],
    [{ ChargeCategory: 'Gift' }, 'ChargeCategory'],
    [{ ProviderName: 'NULL' }, 'ProviderName'],
    [{ BillingAccountId: '' }, 'BillingAccountId'],
    [{ Tags: 'team=a' }, 'Tags'],
    [{ ResourceId: 'r'.repeat(3000) }, 'ResourceId'],
  ])('is rejected for %j', async (row, column) => {
    const { records, rejects } = await usageOfText(format, bill(row));
    expect([records.length, rejects.map((reject) => reject.column)]).toEqual([0, [column]]);
  });

  it('with too few or too many fields is rejected alone', async () => {
    const { records, rejects } = await usageOfText(format, `${bill({})}1,2\n${bill({}).split('\n')[1]},extra\n`);
    expect(records).toHaveLength(1);
    expect(rejects.map(({ line, reason }) => [line, reason])).toEqual([
      [3, 'the row has 2 fields, the header has 9'],
      [4, 'the row has 10 fields, the header has 9'],
    ]);
  });

  it('with bytes that are not UTF-8 is rejected with the column', async () => {
    const text = Buffer.from(bill({ ResourceId: 'caf#' }, { ResourceId: 'café' }));
    text[text.indexOf('#')] = 0xe9;
    const { records, rejects } = await usageOf(format, await openBytes('a.csv', text));
    expect(records.map(({ resource }) => resource)).toEqual(['café']);
    expect(rejects).toMatchObject([{ line: 2, column: 'ResourceId' }]);
  });

  it('may leave out what is not needed: unknown is null, not zero', async () => {
    expect((await recordOf({}))?.charge).toMatchObject({ effective: null, list: null });
    expect((await recordOf({ EffectiveCost: '', ListCost: '2' }))?.charge).toMatchObject({
      effective: null,
      list: { unscaled: 2n, scale: 0 },
    });
  });
});

describe('the invoice', () => {
  it.each([
    [{ InvoiceId: 'INV-1' }, true],
    [{ InvoiceId: '' }, undefined],
    [{ InvoiceId: 'NULL' }, undefined],
    [{}, undefined],
  ])('of %j says whether the charge is final', async (row, isFinal) => {
    expect((await recordOf(row))?.charge?.isFinal).toBe(isFinal);
  });
});

describe('the term', () => {
  it.each([
    [{ PricingCategory: 'Standard' }, 'on-demand'],
    [{ PricingCategory: 'Dynamic' }, 'spot'],
    [{ PricingCategory: 'Committed', CommitmentDiscountCategory: 'Usage' }, 'reserved-1y'],
    [{ PricingCategory: 'Committed', CommitmentDiscountCategory: 'Usage', x_SkuTerm: '36' }, 'reserved-3y'],
    [
      {
        PricingCategory: 'Committed',
        CommitmentDiscountCategory: 'Spend',
        CommitmentDiscountName: 'Compute 3 Year plan',
      },
      'savings-plan-3y',
    ],
    [{ PricingCategory: 'Other' }, null],
    [{ PricingCategory: '' }, null],
  ])('of %j is %s', async (row, term) => {
    expect((await recordOf(row))?.term).toBe(term);
  });
});

it('a GPU count and hours in SkuPriceDetails (1.1 and 1.2) give exact shares', async () => {
  const details = '{"InstanceType": "p5.48xlarge", "GpuCount": 8}';
  expect(await recordOf({ SkuPriceDetails: details, ConsumedQuantity: '0.5', ConsumedUnit: 'Hours' })).toMatchObject({
    sku: 'p5.48xlarge',
    gpuParts: 28_000,
  });
  expect(await recordOf({ SkuPriceDetails: details, ConsumedQuantity: '3', ConsumedUnit: 'GB' })).toMatchObject({
    gpuParts: null,
  });
  expect(
    await recordOf({ SkuPriceDetails: details, ConsumedQuantity: '0.123456789', ConsumedUnit: 'Hours' }),
  ).toMatchObject({ gpuParts: null });
});

describe('a file', () => {
  it('without required columns fails with all of them named', async () => {
    const failure = await usageOfText(
      format,
      'BilledCost,EffectiveCost,ChargeCategory,BillingCurrency\n1,1,Usage,USD\n',
    ).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect((failure as Failure).problems.map(({ path }) => path)).toEqual([
      'BillingAccountId',
      'BillingPeriodStart',
      'BillingPeriodEnd',
      'ChargePeriodStart',
      'ChargePeriodEnd',
      'ServiceProviderName or ProviderName',
    ]);
  });

  it('of 1.3 imports, and names the columns that it does not know', async () => {
    const unknown: string[] = [];
    const text = bill({ ContractApplied: '{}', AllocatedMethodId: 'x', NextVersion: 'y' }).replace(
      'ProviderName',
      'ServiceProviderName',
    );
    const { records } = await usageOf(format, await openBytes('a.csv', Buffer.from(text)), {
      onUnknownColumns: (columns) => unknown.push(...columns),
    });
    expect([records[0]?.provider, unknown]).toEqual(['AWS', ['NextVersion']]);
  });

  it('that is empty, or in which a needed column is twice, fails', async () => {
    await expect(usageOfText(format, '')).rejects.toThrow('the file is empty');
    await expect(usageOfText(format, bill({}).replaceAll('\n', '\r'))).rejects.toThrow('a carriage return alone');
    await expect(usageOfText(format, bill({}).replace(/^BilledCost,/, 'BilledCost,BilledCost,'))).rejects.toThrow(
      'BilledCost: the column is there twice',
    );
  });
});

describe('amounts of a line', () => {
  const three = ({ charge }: UsageRecord) =>
    [charge!.billed, charge!.effective, charge!.list].map((one) => one && formatDecimal(one));

  it('are one decimal where the bill has one text for them, and never those of another line or text', async () => {
    const { records } = await usageOfText(
      format,
      bill(
        { BilledCost: '1.50', EffectiveCost: '1.50', ListCost: '1.5' },
        { BilledCost: '2.25', EffectiveCost: '', ListCost: '2.25' },
        { BilledCost: '2.25', EffectiveCost: '-2.25', ListCost: 'NULL' },
      ),
    );
    expect(records.map(three)).toEqual([
      ['1.50', '1.50', '1.5'],
      ['2.25', null, '2.25'],
      ['2.25', '-2.25', null],
    ]);
    expect(records[0]!.charge!.effective).toBe(records[0]!.charge!.billed);
  });

  it('are rejected each by its own column', async () => {
    const { rejects } = await usageOfText(format, bill({ BilledCost: '1x', EffectiveCost: '1x', ListCost: '1' }));
    expect(rejects[0]?.reason).toBe('BilledCost: "1x" is not a decimal; EffectiveCost: "1x" is not a decimal');
  });
});

describe('Parquet', () => {
  const PERIOD = [new Date('2026-10-01T00:00:00Z'), new Date('2026-11-01T00:00:00Z')];
  const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' } as const;
  const time = { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', repetition_type: 'REQUIRED' } as const;
  const five = <T>(value: T): T[] => Array.from({ length: 5 }, () => value);

  const COLUMN_DATA: readonly (readonly [string, Omit<SchemaElement, 'name'>, unknown[]])[] = [
    [
      'BilledCost',
      {
        type: 'FIXED_LEN_BYTE_ARRAY',
        type_length: 16,
        converted_type: 'DECIMAL',
        scale: 10,
        precision: 38,
        repetition_type: 'REQUIRED',
      },
      [1n, -250n, 123456789012345678n, 0n, 99999n],
    ],
    [
      'ListCost',
      { type: 'INT64', converted_type: 'DECIMAL', scale: 2, precision: 18, repetition_type: 'OPTIONAL' },
      [150n, null, -1n, 0n, 0n],
    ],
    ['EffectiveCost', { type: 'DOUBLE', repetition_type: 'REQUIRED' }, [0.1, 1e-7, 2.5, 0, -3.25]],
    ['BillingAccountId', text, five('42')],
    ['BillingCurrency', text, five('USD')],
    ['BillingPeriodStart', time, five(PERIOD[0])],
    ['BillingPeriodEnd', time, five(PERIOD[1])],
    ['ChargeCategory', text, ['Usage', 'Credit', 'Usage', 'Gift', 'Tax']],
    ['ChargePeriodStart', time, five(new Date('2026-10-02T03:00:00Z'))],
    ['ChargePeriodEnd', time, five(new Date('2026-10-02T04:00:00Z'))],
    ['ProviderName', text, five('AWS')],
    ['Tags', text, ['{"team":"a"}', null, '{"team":"ü"}', '{}', '{}']],
    ['x_Extra', text, five('kept aside')],
  ];

  function parquet(rowGroupSize = 1000, changed: Record<string, unknown[]> = {}): Uint8Array {
    const schema: SchemaElement[] = [
      { name: 'root', num_children: COLUMN_DATA.length },
      ...COLUMN_DATA.map(([name, element]) => ({ name, ...element })),
    ];
    return new Uint8Array(
      parquetWriteBuffer({
        columnData: COLUMN_DATA.map(([name, , data]) => ({ name, data: changed[name] ?? data })),
        schema,
        rowGroupSize,
      }),
    );
  }

  it('looks at every value of a column that repeats: words for nothing, a NUL, another instant', async () => {
    const changed: Record<string, unknown[]> = {
      ProviderName: ['AWS', 'null', 'AWS', 'A\0', 'A\0'],
      ChargePeriodStart: [2, 3, 2, 2, 2].map((hour) => new Date(Date.UTC(2026, 9, 2, hour))),
      ChargeCategory: five('Usage'),
      EffectiveCost: [0.1, 0.1, Number.NaN, 0.25, 0.25],
    };
    const { records, rejects } = await usageOf(format, await openBytes('bill.parquet', parquet(1000, changed)));
    expect(records.map(({ provider, start }) => [provider, new Date(start).getUTCHours()])).toEqual([['AWS', 2]]);
    expect(rejects.map(({ line, column }) => [line, column])).toEqual([
      [2, 'ProviderName'],
      [3, 'EffectiveCost'],
      [4, 'ProviderName'],
      [5, 'ProviderName'],
    ]);
  });

  it('keeps decimals exact, floats in their shortest form, and rejects by record number', async () => {
    for (const rowGroupSize of [2, 1000]) {
      const unknown: string[] = [];
      const input = await openBytes('bill.parquet', parquet(rowGroupSize));
      expect(format.recognises(input)).toBe(true);
      const { records, rejects } = await usageOf(format, input, {
        onUnknownColumns: (columns) => unknown.push(...columns),
      });
      expect(records.map(({ charge }) => formatDecimal(charge!.billed))).toEqual([
        '0.0000000001',
        '-0.0000000250',
        '12345678.9012345678',
        '0.0000099999',
      ]);
      expect(records.map(({ charge }) => formatDecimal(charge!.effective!))).toEqual([
        '0.1',
        '0.0000001',
        '2.5',
        '-3.25',
      ]);
      expect(records.map(({ charge }) => charge!.list && formatDecimal(charge!.list))).toEqual([
        '1.50',
        null,
        '-0.01',
        '0.00',
      ]);
      expect(records[1]?.tags).toBeNull();
      expect(records[2]).toMatchObject({
        id: '3',
        tags: { team: 'ü' },
        start: Date.UTC(2026, 9, 2, 3),
        end: Date.UTC(2026, 9, 2, 4),
      });
      expect(rejects).toMatchObject([
        { line: 4, column: 'ChargeCategory', reason: 'ChargeCategory: "Gift" is not a charge category' },
      ]);
      expect(unknown).toEqual(['x_Extra']);
    }
  });

  it('is read or refused, whatever happened to its bytes', async () => {
    const whole = parquet(2);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
        async (changes) => {
          const bytes = Uint8Array.from(whole);
          for (const [at, byte] of changes) bytes[at] = byte;
          try {
            const { records, rejects } = await usageOf(format, await openBytes('bill.parquet', bytes));
            expect(records.length + rejects.length).toBeLessThan(100_000);
          } catch (error) {
            expect(error).toBeInstanceOf(Failure);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('refuses a row group above the limit with its size, and bytes that are no Parquet', async () => {
    await expect(
      usageOf(format, await openBytes('big.parquet', parquet()), { mostRowGroupBytes: 100 }),
    ).rejects.toThrow(/row group 1 holds \d+ bytes, more than the limit of 100/);
    await expect(usageOf(format, await openBytes('bad.parquet', Buffer.from('PAR1 not really PAR1')))).rejects.toThrow(
      'the Parquet data cannot be read',
    );
  });
});
