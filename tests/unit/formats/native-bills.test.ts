/** The native bills of AWS, Azure and Oracle: real files to the control totals, and the rules by line item. */
import { readFileSync } from 'node:fs';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { formatDecimal } from '../../../src/core/decimal.js';
import { format as aws } from '../../../src/formats/aws-cur.js';
import { format as focus } from '../../../src/formats/focus.js';
import { format as azure } from '../../../src/formats/azure-ea.js';
import { format as oci } from '../../../src/formats/oci.js';
import { openBytes } from '../../../src/formats/reading/input.js';
import { billed, fixture, usageOf, usageOfFile, usageOfText } from './reading.js';

const TEXT: Omit<SchemaElement, 'name'> = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' };
const TIME: Omit<SchemaElement, 'name'> = {
  type: 'INT64',
  converted_type: 'TIMESTAMP_MILLIS',
  repetition_type: 'OPTIONAL',
};
const shown = (decimal: { unscaled: bigint; scale: number } | null | undefined): string | null =>
  decimal ? formatDecimal(decimal) : null;

it.each([
  [aws, 'bills-native/aws_cur_sample_early.csv.gz'],
  [azure, 'bills-native/azure_EA_ActualCost_Small.csv'],
  [azure, 'bills-native/azure_ea_export_focus_converters.csv'],
  [oci, 'bills-native/oci_cost_report_first60pct.csv.gz'],
])('$0.name reads the same plain and gzipped: $1', async (format, path) => {
  const stored = readFileSync(fixture(path));
  const plain = path.endsWith('.gz') ? gunzipSync(stored) : stored;
  const fromPlain = await usageOf(format, await openBytes('bill.csv', plain));
  expect(await usageOf(format, await openBytes('bill.csv.gz', gzipSync(plain)))).toEqual(fromPlain);
  expect(fromPlain.records.length).toBeGreaterThan(10);
});

describe('aws-cur', () => {
  it('imports the real report to its control total', async () => {
    const { records, rejects } = await usageOfFile(aws, 'bills-native/aws_cur_sample_early.csv.gz');
    expect([records.length, rejects.length]).toEqual([768, 0]);
    expect(billed(records)).toEqual({ 'AWS USD': '0.67619002230' });
    expect(new Set(records.map(({ id }) => id)).size).toBe(768);
    expect(records.filter(({ charge }) => charge?.category === 'Tax')).toHaveLength(12);
    expect(records.filter(({ term }) => term === 'on-demand')).toHaveLength(535);
    expect(records[0]).toMatchObject({
      account: '123412340534',
      charge: { periodStart: Date.UTC(2023, 10, 1), periodEnd: Date.UTC(2023, 11, 1) },
    });
  });

  const legacy = [
    'bill/BillingPeriodStartDate',
    'bill/BillingPeriodEndDate',
    'bill/PayerAccountId',
    'lineItem/UsageStartDate',
    'lineItem/UsageEndDate',
    'lineItem/CurrencyCode',
    'lineItem/LineItemType',
    'lineItem/UnblendedCost',
  ];
  const modern = [
    'bill_billing_period_start_date',
    'bill_billing_period_end_date',
    'bill_payer_account_id',
    'line_item_usage_start_date',
    'line_item_usage_end_date',
    'line_item_currency_code',
    'line_item_line_item_type',
    'line_item_unblended_cost',
  ];
  const facts =
    '2026-10-01T00:00:00.000Z,2026-11-01T00:00:00.000Z,42,2026-10-05T01:00:00.000Z,2026-10-05T02:00:00.000Z,USD';

  it.each([
    ['Usage', {}, '2', '2', 'Usage', null],
    ['Usage', { 'pricing/term': 'OnDemand' }, '2', '2', 'Usage', 'on-demand'],
    ['Usage', { 'lineItem/UsageType': 'USW2-SpotUsage:p3.2xlarge' }, '2', '2', 'Usage', 'spot'],
    [
      'DiscountedUsage',
      { 'reservation/EffectiveCost': '1.25E-2', 'pricing/LeaseContractLength': '3yr' },
      '0',
      '0.0125',
      'Usage',
      'reserved-3y',
    ],
    ['DiscountedUsage', {}, '0', null, 'Usage', 'reserved-1y'],
    [
      'SavingsPlanCoveredUsage',
      { 'savingsPlan/SavingsPlanEffectiveCost': '0.7', 'savingsPlan/PurchaseTerm': '1yr' },
      '1',
      '0.7',
      'Usage',
      'savings-plan-1y',
    ],
    ['SavingsPlanNegation', {}, '-1', '0', 'Usage', 'savings-plan-1y'],
    [
      'SavingsPlanRecurringFee',
      { 'savingsPlan/TotalCommitmentToDate': '10', 'savingsPlan/UsedCommitment': '9.5' },
      '10',
      '0.5',
      'Purchase',
      'savings-plan-1y',
    ],
    ['SavingsPlanUpfrontFee', {}, '8760', '0', 'Purchase', 'savings-plan-1y'],
    [
      'RIFee',
      { 'reservation/UnusedAmortizedUpfrontFeeForBillingPeriod': '1.5', 'reservation/UnusedRecurringFee': '0.25' },
      '30',
      '1.75',
      'Purchase',
      'reserved-1y',
    ],
    ['Fee', { 'reservation/ReservationARN': 'arn:x' }, '500', '0', 'Purchase', null],
    ['Fee', {}, '5', '5', 'Purchase', null],
    ['EdpDiscount', {}, '-0.1', '-0.1', 'Adjustment', null],
    ['Refund', {}, '-3', '-3', 'Adjustment', null],
    ['Credit', {}, '-3', '-3', 'Credit', null],
  ])('%s with %j', async (type, extra, cost, effective, category, term) => {
    const [names, values] = [Object.keys(extra), Object.values(extra)];
    const { records, rejects } = await usageOfText(
      aws,
      `${[...legacy, ...names].join(',')}\n${[facts, type, cost, ...values].join(',')}\n`,
    );
    expect(rejects).toEqual([]);
    expect(records[0]).toMatchObject({ term, charge: { category } });
    expect([shown(records[0]?.charge?.billed), shown(records[0]?.charge?.effective)]).toEqual([cost, effective]);
  });

  it.each([
    [legacy, 'bill/InvoiceId', 'EUINGB23-1', true],
    [modern, 'bill_invoice_id', '1234567', true],
    [legacy, 'bill/InvoiceId', '', undefined],
    [modern, 'bill_invoice_id', '', undefined],
  ])('by the columns %j and %s "%s" is final: %s', async (columns, name, invoice, isFinal) => {
    const { records } = await usageOfText(aws, `${[...columns, name].join(',')}\n${facts},Usage,2,${invoice}\n`);
    expect(records.map(({ charge }) => charge?.isFinal)).toEqual([isFinal]);
  });

  it('reads 2.0 names, its map of tags, and the GPUs that an instance type is known to have', async () => {
    const text = `${modern.join(',')},resource_tags,product_instance_type,line_item_resource_id,reservation_reservation_a_r_n\n${facts},Usage,1.5,"{""team"":""a""}",p4d.24xlarge,i-1,\n`;
    const { records } = await usageOfText(aws, text);
    expect(records[0]).toMatchObject({
      tags: { team: 'a' },
      sku: 'p4d.24xlarge',
      gpuModel: 'A100-40GB',
      resource: 'i-1',
      id: '2',
    });
  });

  it('reads the Parquet that AWS writes: doubles, timestamps, a map of tags, by row group', async () => {
    const hour = (at: number): Date => new Date(Date.UTC(2026, 9, 5, at));
    const columns: [string, Omit<SchemaElement, 'name'>, unknown[]][] = [
      ...(
        [
          ['bill_billing_period_start_date', Date.UTC(2026, 9, 1)],
          ['bill_billing_period_end_date', Date.UTC(2026, 10, 1)],
        ] as const
      ).map(([name, at]): [string, Omit<SchemaElement, 'name'>, unknown[]] => [
        name,
        TIME,
        [new Date(at), new Date(at), new Date(at)],
      ]),
      ['bill_payer_account_id', TEXT, ['42', '42', '42']],
      ['line_item_usage_start_date', TIME, [hour(1), hour(2), hour(3)]],
      ['line_item_usage_end_date', TIME, [hour(2), hour(3), hour(4)]],
      ['line_item_currency_code', TEXT, ['USD', 'USD', 'USD']],
      ['line_item_line_item_type', TEXT, ['Usage', 'Mystery', 'Tax']],
      ['line_item_unblended_cost', { type: 'DOUBLE', repetition_type: 'OPTIONAL' }, [0.1, 2, 1e-7]],
      ['product_instance_type', TEXT, ['p4d.24xlarge', null, null]],
      ['resource_tags', TEXT, ['{"team":"a"}', null, '{}']],
    ];
    const schema: SchemaElement[] = [
      { name: 'root', num_children: columns.length },
      ...columns.map(([name, element]) => ({ name, ...element })),
    ];
    const bytes = new Uint8Array(
      parquetWriteBuffer({ columnData: columns.map(([name, , data]) => ({ name, data })), schema, rowGroupSize: 2 }),
    );
    const input = await openBytes('cur.snappy.parquet', bytes);
    expect([aws.recognises(input), focus.recognises(input)]).toEqual([true, false]);
    const { records, rejects } = await usageOf(aws, input);
    expect(
      records.map(({ sku, tags, start, charge }) => [sku, tags, start, shown(charge?.billed), charge?.category]),
    ).toEqual([
      ['p4d.24xlarge', { team: 'a' }, hour(1).getTime(), '0.1', 'Usage'],
      [null, null, hour(3).getTime(), '0.0000001', 'Tax'],
    ]);
    expect(rejects).toMatchObject([{ line: 2, column: 'line_item_line_item_type' }]);
    await expect(usageOf(aws, await openBytes('cur.parquet', bytes), { mostRowGroupBytes: 10 })).rejects.toThrow(
      /more than the limit of 10/,
    );
  });

  it('reads tag columns of the legacy report, and none where all are empty', async () => {
    const header = `${legacy.join(',')},resourceTags/user:team,resourceTags/aws:createdBy`;
    const { records } = await usageOfText(aws, `${header}\n${facts},Usage,1,ml,me\n${facts},Usage,1,,\n`);
    expect(records.map(({ tags }) => tags)).toEqual([{ team: 'ml', 'aws:createdBy': 'me' }, null]);
  });

  it('refuses an unknown line item type, and names every missing column', async () => {
    const { rejects } = await usageOfText(aws, `${legacy.join(',')}\n${facts},Mystery,1\n`);
    expect(rejects).toMatchObject([{ line: 2, column: 'lineItem/LineItemType' }]);
    await expect(usageOfText(aws, 'lineItem/LineItemType,lineItem/UnblendedCost\nUsage,1\n')).rejects.toThrow(
      /bill\/BillingPeriodStartDate.*lineItem\/CurrencyCode/,
    );
  });
});

describe('azure-ea', () => {
  it('imports the actual-cost export, byte order mark and all', async () => {
    const { records, rejects } = await usageOfFile(azure, 'bills-native/azure_EA_ActualCost_Small.csv');
    expect([records.length, rejects.length]).toEqual([11, 0]);
    expect(billed(records)).toEqual({ 'Microsoft USD': '8.5450077867419368' });
    const purchase = records[0];
    expect(purchase).toMatchObject({
      account: '8611537',
      subAccount: '1caaa5a3-2b66-438e-8ab4-bce37d518c5d',
      term: 'reserved-3y',
      start: Date.UTC(2023, 8, 21),
      end: Date.UTC(2023, 8, 22),
      charge: {
        category: 'Purchase',
        currency: 'USD',
        periodStart: Date.UTC(2023, 8, 1),
        periodEnd: Date.UTC(2023, 9, 1),
      },
    });
    expect([shown(purchase?.charge?.billed), shown(purchase?.charge?.effective)]).toEqual(['3.25', '0']);
    expect(records[1]?.tags).toMatchObject({ CostCenter: '1234', org: 'trey' });
  });

  it('imports the other set of columns: dates without zeros, exponents, CAD, spot', async () => {
    const { records, rejects } = await usageOfFile(azure, 'bills-native/azure_ea_export_focus_converters.csv');
    expect([records.length, rejects.length]).toEqual([27, 0]);
    expect(billed(records)).toEqual({ 'Microsoft CAD': '1.26136926505726' });
    expect(records.filter(({ term }) => term === 'spot')).toHaveLength(3);
    expect(shown(records[1]?.charge?.billed)).toBe('0.0000564902');
    expect(records[0]).toMatchObject({
      tags: { tagA: 'valueA' },
      start: Date.UTC(2023, 8, 2),
      end: Date.UTC(2023, 8, 3),
    });
  });

  it('takes the machine size as SKU, leaves effective open for covered usage, and refuses bad rows with all columns', async () => {
    const header =
      'Date,BillingAccountId,BillingPeriodStartDate,BillingPeriodEndDate,Cost,BillingCurrency,ChargeType,PricingModel,MeterCategory,AdditionalInfo,Term';
    const { records, rejects } = await usageOfText(
      azure,
      [
        header,
        '2026-10-02,1,10/01/2026,10/31/2026,0,USD,Usage,Reservation,Virtual Machines,"{""ServiceType"":""Standard_NC6s_v3""}",12',
        '2/30/2026,1,10/01/2026,10/31/2026,1e,USD,Gift,OnDemand,VM,,',
      ].join('\n'),
    );
    expect(records).toMatchObject([{ sku: 'Standard_NC6s_v3', term: 'reserved-1y', charge: { effective: null } }]);
    expect(rejects).toMatchObject([
      {
        line: 3,
        reason:
          'Date: "2/30/2026" is not a date and time; Cost: "1e" is not a decimal; ChargeType: "Gift" is not a charge type',
      },
    ]);
  });
});

describe('oci', () => {
  it('imports the real report to its control total', async () => {
    const { records, rejects } = await usageOfFile(oci, 'bills-native/oci_cost_report_first60pct.csv.gz');
    expect([records.length, rejects.length]).toEqual([303, 0]);
    expect(billed(records)).toEqual({ 'Oracle USD': '1.481342497236399145' });
    expect(records[0]).toMatchObject({
      id: '7108a1f83bdbad70487bf0cf99cbe260',
      service: 'DATABASE',
      sku: 'B92911',
      region: 'us-sanjose-1',
      start: Date.UTC(2023, 10, 13, 10),
      end: Date.UTC(2023, 10, 13, 11),
      charge: { category: 'Usage', periodStart: Date.UTC(2023, 10, 1), periodEnd: Date.UTC(2023, 11, 1) },
    });
  });

  it('reads tag columns and corrections', async () => {
    const { records } = await usageOfText(
      oci,
      [
        'lineItem/referenceNo,lineItem/tenantId,lineItem/intervalUsageStart,lineItem/intervalUsageEnd,cost/myCost,cost/currencyCode,cost/productSku,lineItem/isCorrection,tags/Ops.team',
        'r1,t,2026-12-31T23:00Z,2027-01-01T00:00Z,-2.5E-1,EUR,B1,true,ml',
      ].join('\n'),
    );
    expect(records).toMatchObject([
      {
        tags: { 'Ops.team': 'ml' },
        charge: { category: 'Adjustment', periodStart: Date.UTC(2026, 11, 1), periodEnd: Date.UTC(2027, 0, 1) },
      },
    ]);
    expect(billed(records)).toEqual({ 'Oracle EUR': '-0.25' });
  });
});
