/**
 * Money on AWS, through the real SDK against a server of our own: prices, spot history, the bill, offers; and
 * purchases, which are sent once.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { formatDecimal } from '../../src/core/decimal.js';
import type { Effect } from '../../src/core/fleet/fleet.js';
import { RecordedRead } from '../../src/core/partial-read.js';
import type { Price, PriceEvent } from '../../src/core/price/price.js';
import type { UsageRecord } from '../../src/core/usage.js';
import {
  ACT_KEY,
  NOW,
  READ_KEY,
  acting,
  awsServer,
  call,
  collect,
  connect,
  ec2Error,
  failureOf,
  jsonError,
  parametersOf,
  reading,
  reply,
  sent,
  signedBy,
  TestClock,
} from '../support/aws-wire.js';
import type { WireMatch } from '../support/wire-server.js';
import { metered } from '../support/records.js';
import { gpuPrice } from '../support/makers.js';

const server = await awsServer();

const types = (): void => server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
const BILLION = 1_000_000_000n;

describe('prices', () => {
  const play = (): void => {
    types();
    server.on(call('GetProducts'), reply('get-products-1.json'));
    server.on(call('GetProducts', { NextToken: 'prices-2' }), reply('get-products-2.json'));
  };
  const priceOf = (events: readonly PriceEvent[], sku: string, term: string): Price | undefined =>
    events
      .flatMap((event) => (event.kind === 'price' ? [event.price] : []))
      .find((price) => price.sku === sku && price.term === term);

  it('are those of plain Linux machines with a GPU, per GPU-second, from all pages', async () => {
    play();
    const events = await collect(connect(reading(server)).prices(0));
    expect(events).toHaveLength(4);
    // 21.957642 USD for 8 GPUs and an hour: 28,800 GPU-seconds.
    expect(priceOf(events, 'p4d.24xlarge', 'on-demand')).toEqual(
      gpuPrice({
        sku: 'p4d.24xlarge',
        gpuModel: 'A100-40GB',
        rate: { nanos: 21_957_642_000n, currency: 'USD', quantity: 28_800n, unit: 'gpu-second' },
        effectiveFrom: Date.UTC(2026, 9, 1),
        source: 'AWS Price List Query API',
      }) satisfies Price,
    );
    // An eighth of an L4 for an hour is 450 GPU-seconds.
    const eighth = priceOf(events, 'g6f.large', 'on-demand');
    expect([
      eighth?.gpuModel,
      eighth?.gpus,
      eighth === undefined ? null : (eighth.rate.nanos * 450n) / eighth.rate.quantity,
    ]).toEqual(['L4', 0.125, 202_000_000n]);
    expect(sent(server, 'GetProducts')[0]).toMatchObject({
      ServiceCode: 'AmazonEC2',
      FormatVersion: 'aws_v1',
      MaxResults: 100,
    });
    expect(sent(server, 'GetProducts')[0]?.['Filters']).toEqual(
      expect.arrayContaining([
        { Type: 'TERM_MATCH', Field: 'regionCode', Value: 'us-east-1' },
        { Type: 'TERM_MATCH', Field: 'marketoption', Value: 'OnDemand' },
        { Type: 'TERM_MATCH', Field: 'capacitystatus', Value: 'Used' },
      ]),
    );
    expect(signedBy(server.requests.at(-1) ?? { method: '', path: '', headers: {}, body: '' })).toMatchObject({
      key: READ_KEY,
      service: 'pricing',
    });
  });

  it('of a reservation are all its payments over its whole term', async () => {
    play();
    const events = await collect(connect(reading(server)).prices(0));
    // 57,320 USD at once and 6.543 an hour for 8,760 hours make 114,636.68 USD, for 8 GPUs.
    const partial = priceOf(events, 'p4d.24xlarge', 'reserved-1y');
    expect(partial).toMatchObject({ upfront: 'partial', effectiveFrom: Date.UTC(2025, 5, 1) });
    expect(partial === undefined ? null : (partial.rate.nanos * 8n * 8760n * 3600n) / partial.rate.quantity).toBe(
      114_636_680_000_000n,
    );
    expect(priceOf(events, 'p4d.24xlarge (convertible)', 'reserved-3y')).toMatchObject({ upfront: 'none', gpus: 8 });
  });

  it('that were published before are passed over', async () => {
    play();
    expect(await collect(connect(reading(server)).prices(Date.UTC(2026, 9, 15)))).toHaveLength(4);
    expect(await collect(connect(reading(server)).prices(Date.UTC(2026, 9, 16)))).toEqual([]);
  });

  it('without the permission are denied, by its name', async () => {
    types();
    server.on(
      call('GetProducts'),
      jsonError('AccessDeniedException', 'User is not authorized to perform: pricing:GetProducts'),
    );
    expect(await failureOf(collect(connect(reading(server)).prices(0)))).toMatchObject({
      kind: 'denied',
      message: 'AWS denied pricing:GetProducts (AccessDeniedException): the permission is missing',
    });
  });
});

it('spot prices come by zone, from all pages, and say nothing of availability', async () => {
  types();
  server.on(call('DescribeSpotPriceHistory'), reply('describe-spot-price-history-1.xml'));
  server.on(call('DescribeSpotPriceHistory', { NextToken: 'spot-2' }), reply('describe-spot-price-history-2.xml'));
  const since = Date.UTC(2026, 9, 18);
  expect(await collect(connect(reading(server)).spotHistory(since))).toEqual([
    {
      provider: 'AWS',
      region: 'us-east-1a',
      sku: 'p4d.24xlarge',
      gpuModel: 'A100-40GB',
      at: Date.UTC(2026, 9, 19, 21, 14, 3),
      available: null,
      price: { nanos: 11_570_300_000n, currency: 'USD' },
    },
    {
      provider: 'AWS',
      region: 'us-east-1b',
      sku: 'g5.xlarge',
      gpuModel: 'A10G',
      at: Date.UTC(2026, 9, 19, 20, 0, 11),
      available: null,
      price: { nanos: 412_300_000n, currency: 'USD' },
    },
    {
      provider: 'AWS',
      region: 'us-east-1b',
      sku: 'g5.xlarge',
      gpuModel: 'A10G',
      at: Date.UTC(2026, 9, 18, 7, 45, 52),
      available: null,
      price: { nanos: 398_800_000n, currency: 'USD' },
    },
  ]);
  const [asked] = sent(server, 'DescribeSpotPriceHistory');
  expect(asked).toMatchObject({
    StartTime: '2026-10-18T00:00:00Z',
    'ProductDescription.1': 'Linux/UNIX',
    'InstanceType.1': 'p4d.24xlarge',
  });
  expect(Object.values(asked ?? {})).not.toContain('m5.large');
});

interface Filter {
  readonly And?: readonly Filter[];
  readonly Not?: Filter;
  readonly Dimensions?: { readonly Values: readonly string[] };
}

describe('the bill', () => {
  const asks =
    (filter: (text: string) => boolean, page?: string): WireMatch =>
    (request) =>
      call('GetCostAndUsage')(request) &&
      filter(JSON.stringify(parametersOf(request)['Filter'])) &&
      parametersOf(request)['NextPageToken'] === page;
  const isAnyUsage = (text: string): boolean => text.startsWith('{"And"');
  const isOther = (text: string): boolean => isAnyUsage(text) && text.includes('{"Not":{"Or"');
  const isUsage = (text: string): boolean => isAnyUsage(text) && !isOther(text);
  const SEPTEMBER = [Date.UTC(2026, 8, 1), Date.UTC(2026, 9, 1)] as const;
  const read = async (settings: Record<string, string>, from: number, to: number): Promise<UsageRecord[]> => {
    const records: UsageRecord[] = [];
    for await (const batch of connect(settings).bill(from, to)) {
      expect(batch.rejects).toEqual([]);
      records.push(...batch.records);
    }
    return records;
  };

  it('is final where AWS does not call its figures an estimate, day by day', async () => {
    types();
    const [day, other] = ['2026-09-01', '2026-09-02'];
    const amount = { Amount: '1', Unit: 'USD' };
    const group = { Keys: ['1', 'BoxUsage:p4d.24xlarge'], Metrics: { UnblendedCost: amount, AmortizedCost: amount } };
    const on = (Start: string, End: string, Estimated?: boolean) => ({
      TimePeriod: { Start, End },
      Groups: [group],
      ...(Estimated === undefined ? {} : { Estimated }),
    });
    server.on(call('GetCostAndUsage'), reply('get-cost-and-usage-none.json'));
    const ResultsByTime = [on(day, other, false), on(other, '2026-09-03', true), on('2026-09-03', '2026-09-04')];
    server.on(asks(isUsage), { body: JSON.stringify({ ResultsByTime }) });
    const records = await read(reading(server), ...SEPTEMBER);
    expect(records.map(({ charge }) => charge?.isFinal)).toEqual([true, undefined, undefined]);
  });

  it('comes by day, account and usage type, whole months, every charge in one category', async () => {
    types();
    server.on(call('GetCostAndUsage'), reply('get-cost-and-usage-none.json'));
    server.on(asks(isUsage), reply('get-cost-and-usage-usage-1.json'));
    server.on(asks(isUsage, 'bill-2'), reply('get-cost-and-usage-usage-2.json'));
    server.on(
      asks((text) => text.includes('["Tax"]') && !isAnyUsage(text)),
      reply('get-cost-and-usage-tax.json'),
    );
    const records = await read(
      { ...reading(server), BURSAR_AWS_ACCOUNT: 'payer-1' },
      Date.UTC(2026, 8, 10),
      Date.UTC(2026, 8, 12),
    );
    expect(records[0]).toEqual(
      metered('2026-09-01 Usage 111122223333 BoxUsage:p4d.24xlarge', {
        account: 'payer-1',
        subAccount: '111122223333',
        sku: 'p4d.24xlarge',
        region: null,
        term: null,
        gpuModel: 'A100-40GB',
        start: Date.UTC(2026, 8, 1),
        end: Date.UTC(2026, 8, 2),
        gpuParts: null,
        charge: {
          category: 'Usage',
          currency: 'USD',
          billed: { unscaled: 526_983_408n, scale: 6 },
          effective: { unscaled: 3312n, scale: 1 },
          list: null,
          periodStart: SEPTEMBER[0],
          periodEnd: SEPTEMBER[1],
          isFinal: true,
          machineHours: true,
        },
      }) satisfies UsageRecord,
    );
    expect(
      records
        .map(({ id, term, charge }) => [
          id,
          term,
          charge?.category,
          charge === null ? null : formatDecimal(charge.billed),
        ])
        .slice(1),
    ).toEqual([
      ['2026-09-01 Usage 111122223333 EBS:VolumeUsage.gp3', null, 'Usage', '1.0666666667'],
      ['2026-09-02 Usage 444455556666 USW2-SpotUsage:g5.xlarge', 'spot', 'Usage', '9.5712'],
      ['2026-09-01 Tax 111122223333 NoUsageType', null, 'Tax', '53.76'],
    ]);
    const queries = sent(server, 'GetCostAndUsage').filter(({ NextPageToken }) => NextPageToken === undefined);
    for (const query of queries) {
      expect(query).toMatchObject({
        TimePeriod: { Start: '2026-09-01', End: '2026-10-01' },
        Granularity: 'DAILY',
        GroupBy: [
          { Type: 'DIMENSION', Key: 'LINKED_ACCOUNT' },
          { Type: 'DIMENSION', Key: 'USAGE_TYPE' },
        ],
      });
    }
    // What usage leaves out is what the other queries ask for: no charge is missing, none comes twice.
    const filters = queries.map(({ Filter }) => Filter as Filter);
    const [ofEc2, others, ...rest] = filters.map(({ And }) => And?.[1]);
    expect(others).toEqual({ Not: ofEc2 });
    expect(rest).toEqual(rest.map(() => undefined));
    for (const { And } of filters.slice(0, 2))
      expect(And?.[0]?.Not?.Dimensions?.Values.toSorted()).toEqual(
        filters.flatMap(({ Dimensions }) => Dimensions?.Values ?? []).sort(),
      );
  });

  it('has the hours of a machine as its instance type, and nothing else that names one', async () => {
    types();
    const amount = { Amount: '1', Unit: 'USD' };
    const groups = (...usageTypes: string[]) => ({
      ResultsByTime: [
        {
          TimePeriod: { Start: '2026-09-01', End: '2026-09-02' },
          Groups: usageTypes.map((type) => ({ Keys: ['1', type], Metrics: { UnblendedCost: amount } })),
        },
      ],
    });
    server.on(call('GetCostAndUsage'), reply('get-cost-and-usage-none.json'));
    const own = ['USW2-BoxUsage:p4d.24xlarge', 'SpotUsage:g5.xlarge', 'EBSOptimized:p4d.24xlarge', 'CPUCredits:t3'];
    server.on(asks(isUsage), { body: JSON.stringify(groups(...own)) });
    const beside = ['USW2-BoxUsage:p4d.24xlarge', 'USW2-Train:ml.p4d.24xlarge', 'EKS-Auto:p4d.24xlarge', 'Requests'];
    server.on(asks(isOther), { body: JSON.stringify(groups(...beside)) });
    server.on(
      asks((text) => text.includes('["Credit"]') && !isAnyUsage(text)),
      { body: JSON.stringify(groups('BoxUsage:p4d.24xlarge')) },
    );
    const records = await read(reading(server), ...SEPTEMBER);
    expect(records.map(({ sku, gpuModel, charge }) => [sku, gpuModel, charge?.machineHours])).toEqual([
      ['p4d.24xlarge', 'A100-40GB', true],
      ['g5.xlarge', 'A10G', true],
      ['EBSOptimized:p4d.24xlarge', null, false],
      ['t3', null, false],
      // EMR's fee beside the machine; SageMaker's machines have names of their own.
      ['USW2-BoxUsage:p4d.24xlarge', null, false],
      ['ml.p4d.24xlarge', null, false],
      ['EKS-Auto:p4d.24xlarge', null, false],
      [null, null, false],
      ['p4d.24xlarge', 'A100-40GB', undefined],
    ]);
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
  });

  it('is split by a cost allocation tag where one is named, and asks no month after this one', async () => {
    types();
    server.on(call('GetCostAndUsage'), reply('get-cost-and-usage-none.json'));
    server.on(
      asks((text) => isUsage(text)),
      reply('get-cost-and-usage-tag.json'),
    );
    const records = await read({ ...reading(server), BURSAR_AWS_BILL_TAG: 'team' }, NOW, Date.UTC(2027, 3, 1));
    expect(records.map(({ tags, subAccount }) => [tags, subAccount])).toEqual([
      [{ team: 'vision' }, null],
      [null, null],
    ]);
    expect(new Set(sent(server, 'GetCostAndUsage').map(({ TimePeriod }) => JSON.stringify(TimePeriod)))).toEqual(
      new Set(['{"Start":"2026-10-01","End":"2026-11-01"}']),
    );
    expect(sent(server, 'GetCostAndUsage')[0]).toMatchObject({
      GroupBy: [
        { Type: 'TAG', Key: 'team' },
        { Type: 'DIMENSION', Key: 'USAGE_TYPE' },
      ],
    });
  });
});

const NONE = 'reserved-instance/us-east-1/649fd0c8-5d76-4881-a522-00000000none';
const PLAN = 'savings-plan/aaaaaaaa-0000-4000-8000-000000000001';

it('offers are regional reservations of GPU types and savings plans that cover them, from all pages', async () => {
  types();
  server.on(call('DescribeReservedInstancesOfferings'), reply('describe-reserved-instances-offerings-1.xml'));
  server.on(
    call('DescribeReservedInstancesOfferings', { NextToken: 'ri-2' }),
    reply('describe-reserved-instances-offerings-2.xml'),
  );
  server.on(call('DescribeSavingsPlansOfferings'), reply('describe-savings-plans-offerings-1.json'));
  server.on(
    call('DescribeSavingsPlansOfferings', { nextToken: 'plans-2' }),
    reply('describe-savings-plans-offerings-2.json'),
  );
  server.on(call('DescribeSavingsPlansOfferingRates'), reply('describe-savings-plans-offering-rates-1.json'));
  server.on(
    call('DescribeSavingsPlansOfferingRates', { nextToken: 'rates-2' }),
    reply('describe-savings-plans-offering-rates-2.json'),
  );
  const offers = await connect(reading(server)).offers();
  expect(
    offers.map(({ offer, kind, sku, region, termHours, upfront, upfrontNanos, hourlyNanos, currency }) => [
      offer.slice(0, 20),
      kind,
      sku,
      region,
      termHours,
      upfront,
      upfrontNanos,
      hourlyNanos,
      currency,
    ]),
  ).toEqual([
    ['reserved-instance/us', 'reserved-instance', 'g5.xlarge', 'us-east-1', 8760, 'none', 0n, 634_000_000n, 'USD'],
    ['reserved-instance/us', 'reserved-instance', 'g5.xlarge', 'us-east-1', 8760, 'all', 5187n * BILLION, 0n, 'USD'],
    [
      'reserved-instance/us',
      'reserved-instance',
      'p4d.24xlarge (convertible)',
      'us-east-1',
      26_280,
      'partial',
      237_184n * BILLION,
      9_026_000_000n,
      'USD',
    ],
    ['savings-plan/aaaaaaa', 'savings-plan', null, null, 8760, 'none', 0n, BILLION, 'USD'],
    ['savings-plan/aaaaaaa', 'savings-plan', 'p4d', 'us-east-1', 8760, 'all', 8760n * BILLION, 0n, 'USD'],
    ['savings-plan/aaaaaaa', 'savings-plan', null, null, 26_280, 'partial', 13_140n * BILLION, BILLION / 2n, 'USD'],
  ]);
  expect(sent(server, 'DescribeReservedInstancesOfferings')[0]).toMatchObject({
    'Filter.1.Name': 'instance-type',
    'Filter.1.Value.1': 'p4d.24xlarge',
    IncludeMarketplace: 'false',
  });
  // Only plain Linux on shared hardware, of types that EC2 describes: neither Windows, nor dedicated hosts, nor
  // reserved capacity that stands empty.
  const a100 = { sku: 'p4d.24xlarge', region: 'us-east-1', gpuModel: 'A100-40GB', gpus: 8 };
  expect(offers.slice(3).map(({ rates }) => rates)).toEqual([
    [
      { ...a100, hourlyNanos: 16n * BILLION },
      { sku: 'g5.xlarge', region: 'us-east-1', gpuModel: 'A10G', gpus: 1, hourlyNanos: 790_000_000n },
      { sku: 'g6f.large', region: 'us-east-1', gpuModel: 'L4', gpus: 0.125, hourlyNanos: 151_200_000n },
    ],
    [{ ...a100, hourlyNanos: 13_240_000_000n }],
    [{ ...a100, hourlyNanos: 10_980_000_000n }],
  ]);
  const [asked] = sent(server, 'DescribeSavingsPlansOfferingRates');
  expect(asked).toMatchObject({
    savingsPlanTypes: ['Compute', 'EC2Instance'],
    products: ['EC2'],
    serviceCodes: ['AmazonEC2'],
  });
  const [region, families] = (asked?.['filters'] ?? []) as { name: string; values: string[] }[];
  expect([region, families?.name]).toEqual([{ name: 'region', values: ['us-east-1'] }, 'instanceFamily']);
  expect(families?.values).toEqual(expect.arrayContaining(['p4d', 'g5', 'g6f']));
  expect(families?.values).not.toContain('m5');
});

it('offers are there without what savings plans charge where that may not be read, and fail where AWS is away', async () => {
  types();
  server.on(call('DescribeReservedInstancesOfferings'), reply('describe-reserved-instances-offerings-2.xml'));
  server.on(call('DescribeSavingsPlansOfferings'), reply('describe-savings-plans-offering.json'));
  server.on(call('DescribeSavingsPlansOfferingRates'), jsonError('AccessDeniedException', 'not authorized', 403));
  const offers = await connect(reading(server)).offers();
  expect(offers.filter(({ kind }) => kind === 'savings-plan').map(({ rates }) => rates)).toEqual([undefined]);
  server.on(call('DescribeSavingsPlansOfferingRates'), jsonError('ValidationException', 'The filter is not valid.'));
  expect(await failureOf(connect(reading(server)).offers())).toMatchObject({
    message: expect.stringContaining('savingsplans:DescribeSavingsPlansOfferingRates') as string,
  });
});

describe('two regions, of which one is denied', () => {
  const two = () => connect({ ...reading(server), BURSAR_AWS_REGIONS: 'eu-west-1,us-east-1' });
  const fresh = () => new RecordedRead([], NOW, () => 0);
  const DENIED = 'AWS denied ec2:DescribeInstanceTypes (UnauthorizedOperation): the permission is missing';
  const denyEurope = (): void => {
    types();
    server.on(call('DescribeInstanceTypes', {}, 'eu-west-1'), ec2Error('UnauthorizedOperation', 'no', 403));
  };

  it('give the spot prices of the other, and say which lacks', async () => {
    denyEurope();
    server.on(call('DescribeSpotPriceHistory'), reply('describe-spot-price-history-2.xml'));
    const told = fresh();
    expect(await collect(two().spotHistory(0, told))).not.toEqual([]);
    expect(told.lacking).toEqual([{ part: 'eu-west-1', problem: DENIED, readTo: NOW }]);
    expect(await failureOf(collect(two().spotHistory(0)))).toMatchObject({ kind: 'denied' });
  });

  it('give the price list of the other, volumes too, and what is on sale there', async () => {
    denyEurope();
    server.on(call('GetProducts'), reply('get-products-1.json'));
    server.on(call('GetProducts', { NextToken: 'prices-2' }), reply('get-products-2.json'));
    const told = fresh();
    expect(await collect(two().prices(0, told))).not.toEqual([]);
    expect(told.lacking).toEqual([{ part: 'eu-west-1', problem: DENIED, readTo: NOW }]);
    server.on(call('DescribeReservedInstancesOfferings'), reply('describe-reserved-instances-offerings-2.xml'));
    server.on(
      call('DescribeSavingsPlansOfferings'),
      jsonError('AccessDeniedException', 'not authorized to perform: savingsplans:DescribeSavingsPlansOfferings', 403),
    );
    server.on(call('DescribeSavingsPlansOfferingRates'), reply('describe-savings-plans-offering-rates-2.json'));
    const onSale = fresh();
    expect(await two().offers(onSale)).not.toEqual([]);
    expect(onSale.lacking.map(({ part }) => part)).toEqual(['eu-west-1', 'savings plans']);
  });

  it('leave the bill whole', async () => {
    denyEurope();
    server.on(call('GetCostAndUsage'), reply('get-cost-and-usage-none.json'));
    const told = fresh();
    for await (const { rejects } of two().bill(NOW, NOW + 1, told)) expect(rejects).toEqual([]);
    expect(told.lacking.map(({ part }) => part)).toEqual(['eu-west-1']);
    expect(sent(server, 'GetCostAndUsage').length).toBeGreaterThan(0);
  });
});

describe('a purchase', () => {
  const buy = (over: Partial<Extract<Effect, { kind: 'purchase' }>> = {}): Effect => ({
    kind: 'purchase',
    target: 'commitment/us-east-1',
    offer: NONE,
    units: 2,
    mostNanos: 12_000n * BILLION,
    currency: 'USD',
    ...over,
  });
  const offered = (file = 'describe-reserved-instances-offering.xml'): void =>
    server.on(call('DescribeReservedInstancesOfferings'), reply(file));

  it('has the commitments read anew, also what is still being paid for', async () => {
    types();
    offered();
    server.on(call('PurchaseReservedInstancesOffering'), reply('purchase-reserved-instances-offering.xml'));
    server.on(call('CreateTags'), reply('create-tags.xml'));
    server.on(call('DescribeReservedInstances'), reply('describe-reserved-instances-tagged.xml'));
    server.on(call('DescribeSavingsPlans'), reply('describe-savings-plans-2.json'));
    const connection = connect(acting(server));
    const reads = () => sent(server, 'DescribeReservedInstances');
    await connection.target?.('commitment/us-east-1/any');
    await connection.target?.('commitment/us-east-1/any');
    expect(reads()).toEqual([
      expect.objectContaining({ 'Filter.1.Value.1': 'active', 'Filter.1.Value.2': 'payment-pending' }),
    ]);
    await connection.apply?.(buy(), 'token-1', null);
    await connection.target?.('commitment/us-east-1/any');
    expect(reads()).toHaveLength(2);
  });

  it('of reserved instances reads the offer again, buys once, and marks what was bought', async () => {
    offered();
    server.on(call('PurchaseReservedInstancesOffering'), reply('purchase-reserved-instances-offering.xml'));
    server.on(call('CreateTags'), reply('create-tags.xml'));
    expect(await connect(acting(server)).apply(buy(), 'token-1', null)).toMatchObject({
      kind: 'taken',
      reference: 'e5a2ff3b-7d14-494f-90af-0b5d0EXAMPLE',
    });
    expect(server.requests.map((request) => [parametersOf(request)['Action'], signedBy(request).key])).toEqual([
      ['DescribeReservedInstancesOfferings', READ_KEY],
      ['PurchaseReservedInstancesOffering', ACT_KEY],
      ['CreateTags', ACT_KEY],
    ]);
    expect(sent(server, 'PurchaseReservedInstancesOffering')).toEqual([
      {
        Action: 'PurchaseReservedInstancesOffering',
        ReservedInstancesOfferingId: '649fd0c8-5d76-4881-a522-00000000none',
        InstanceCount: '2',
      },
    ]);
    expect(sent(server, 'CreateTags')).toEqual([
      {
        Action: 'CreateTags',
        'ResourceId.1': 'e5a2ff3b-7d14-494f-90af-0b5d0EXAMPLE',
        'Tag.1.Key': 'bursar:token',
        'Tag.1.Value': 'token-1',
      },
    ]);
  });

  it('from the marketplace limits what the whole order may cost', async () => {
    offered('describe-reserved-instances-offering-marketplace.xml');
    server.on(call('PurchaseReservedInstancesOffering'), reply('purchase-reserved-instances-offering.xml'));
    server.on(call('CreateTags'), ec2Error('UnauthorizedOperation', 'You are not authorized.', 403));
    const outcome = await connect(acting(server)).apply(
      buy({ offer: 'reserved-instance/us-east-1/649fd0c8-5d76-4881-a522-000000market' }),
      'token-1',
      null,
    );
    expect(outcome).toMatchObject({
      kind: 'taken',
      detail: expect.stringContaining('not tagged (UnauthorizedOperation)'),
    });
    expect(sent(server, 'PurchaseReservedInstancesOffering')[0]).toMatchObject({
      'LimitPrice.Amount': '4200.5',
      'LimitPrice.CurrencyCode': 'USD',
    });
  });

  it.each<[string, Partial<Extract<Effect, { kind: 'purchase' }>>]>([
    // 2 instances at 0.634 USD for 8,760 hours are 11,107.68 USD.
    ['above-the-limit', { mostNanos: 11_107_679_999_999n }],
    ['other-currency', { currency: 'EUR' }],
    ['invalid-units', { units: 1.5 }],
    ['unknown-offer', { offer: 'gcp/1' }],
  ])('is refused (%s) and not sent', async (code, over) => {
    offered();
    expect(await connect(acting(server)).apply(buy(over), 'token-1', null)).toMatchObject({ kind: 'refused', code });
    expect(sent(server, 'PurchaseReservedInstancesOffering')).toEqual([]);
  });

  it('may cost exactly its limit', async () => {
    offered();
    server.on(call('PurchaseReservedInstancesOffering'), reply('purchase-reserved-instances-offering.xml'));
    server.on(call('CreateTags'), reply('create-tags.xml'));
    expect(await connect(acting(server)).apply(buy({ mostNanos: 11_107_680_000_000n }), 'token-1', null)).toMatchObject(
      { kind: 'taken' },
    );
  });

  it('is sent once, also when its answer is lost, and never said to be absent: whoever looks decides', async () => {
    offered();
    server.on(call('PurchaseReservedInstancesOffering'), { lost: true });
    const clock = new TestClock();
    const aws = connect(acting(server), clock);
    expect(await aws.apply(buy(), 'token-1', null)).toMatchObject({ kind: 'unknown' });
    expect(sent(server, 'PurchaseReservedInstancesOffering')).toHaveLength(1);
    server.on(call('DescribeReservedInstances'), reply('describe-reserved-instances-untagged.xml'));
    for (const minutes of [0, 10, 600]) {
      clock.at = NOW + minutes * 60_000;
      expect(await aws.outcome(buy(), 'token-1')).toMatchObject({
        kind: 'unknown',
        detail: expect.stringContaining('e5a2ff3b-7d14-494f-90af-0b5d0EXAMPLE (from 2026-10-20T12:00:03.000Z)'),
      });
    }
    server.on(call('DescribeReservedInstances'), reply('describe-reserved-instances-tagged.xml'));
    expect(await aws.outcome(buy(), 'token-1')).toMatchObject({
      kind: 'taken',
      reference: 'e5a2ff3b-7d14-494f-90af-0b5d0EXAMPLE',
    });
    expect(sent(server, 'PurchaseReservedInstancesOffering')).toHaveLength(1);
  });

  it.each([
    ['fails inside', ec2Error('InternalError', 'An internal error has occurred.', 500)],
    ['throttles', ec2Error('RequestLimitExceeded', 'Request limit exceeded.', 503)],
  ])('is sent once, also when AWS %s', async (_, answer) => {
    offered();
    server.on(call('PurchaseReservedInstancesOffering'), answer);
    await connect(acting(server))
      .apply(buy(), 'token-1', null)
      .catch(() => null);
    expect(sent(server, 'PurchaseReservedInstancesOffering')).toHaveLength(1);
  });

  it('of a savings plan carries its token, and is found again by it after a lost answer', async () => {
    server.on(call('DescribeSavingsPlansOfferings'), reply('describe-savings-plans-offering.json'));
    server.on(call('CreateSavingsPlan'), reply('create-savings-plan.json'), { lost: true });
    const aws = connect(acting(server));
    const effect = buy({ offer: PLAN, units: 1.25, mostNanos: 10_950n * BILLION });
    expect(await aws.apply(effect, 'token-1', null)).toMatchObject({
      kind: 'taken',
      reference: 'bbbbbbbb-0000-4000-8000-000000000001',
    });
    expect(sent(server, 'CreateSavingsPlan')).toEqual([
      {
        Action: 'CreateSavingsPlan',
        savingsPlanOfferingId: 'aaaaaaaa-0000-4000-8000-000000000001',
        commitment: '1.25',
        clientToken: 'token-1',
        tags: { 'bursar:token': 'token-1' },
      },
    ]);
    expect(await aws.apply(effect, 'token-1', null)).toMatchObject({ kind: 'unknown' });
    expect(sent(server, 'CreateSavingsPlan')).toHaveLength(2);
    server.on(call('DescribeSavingsPlans'), reply('describe-savings-plans-1.json'));
    server.on(call('DescribeSavingsPlans', { nextToken: 'owned-2' }), reply('describe-savings-plans-2.json'));
    expect(await aws.outcome(effect, 'token-1')).toMatchObject({
      kind: 'taken',
      reference: 'bbbbbbbb-0000-4000-8000-000000000001',
    });
    expect(await aws.outcome(effect, 'token-2')).toMatchObject({ kind: 'unknown' });
    expect(
      await aws.apply({ ...buy({ offer: PLAN, units: 1.250_001, mostNanos: 20_000n * BILLION }) }, 'token-3', null),
    ).toMatchObject({ kind: 'refused', code: 'invalid-units' });
  });

  it('is made with the profile for purchases, where there is one', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'bursar-aws-'));
    writeFileSync(
      path.join(folder, 'credentials'),
      '[buyer]\naws_access_key_id = AKIABUYEREXAMPLE\naws_secret_access_key = buyer-secret\n',
    );
    vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', path.join(folder, 'credentials'));
    vi.stubEnv('AWS_CONFIG_FILE', path.join(folder, 'config'));
    offered();
    server.on(call('PurchaseReservedInstancesOffering'), reply('purchase-reserved-instances-offering.xml'));
    server.on(call('CreateTags'), reply('create-tags.xml'));
    const aws = connect({ ...acting(server), BURSAR_AWS_PURCHASE_CREDENTIALS: 'profile:buyer' });
    expect(await aws.apply(buy(), 'token-1', null)).toMatchObject({ kind: 'taken' });
    expect(server.requests.map((request) => signedBy(request).key)).toEqual([
      READ_KEY,
      'AKIABUYEREXAMPLE',
      'AKIABUYEREXAMPLE',
    ]);
    const unknown = connect({ ...acting(server), BURSAR_AWS_PURCHASE_CREDENTIALS: 'profile:nobody' });
    expect(await failureOf(unknown.apply(buy(), 'token-2', null))).toMatchObject({
      kind: 'denied',
      message:
        'AWS does not accept the credentials used for ec2:PurchaseReservedInstancesOffering (CredentialsProviderError)',
    });
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it('is denied without credentials for acting', async () => {
    expect(await failureOf(connect(reading(server)).apply(buy(), 'token-1', null))).toMatchObject({ kind: 'denied' });
    expect(server.requests).toEqual([]);
  });
});
