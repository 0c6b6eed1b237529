/**
 * Which lines of a bill a metered machine stands for: its own hours, and nothing else that names its resource. From the
 * file to the SKUs that the comparison knows, in every form of a bill.
 */
import type { SchemaElement } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, it } from 'vitest';
import { BillCells } from '../../../src/core/bill/cells.js';
import { machineSkus } from '../../../src/core/bill/links.js';
import { Grouping } from '../../../src/core/cost/rollup.js';
import type { UsageFormat } from '../../../src/core/ports.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { format as alibaba } from '../../../src/formats/alibaba-bill.js';
import { format as cur } from '../../../src/formats/aws-cur.js';
import { format as azure } from '../../../src/formats/azure-ea.js';
import { format as focus } from '../../../src/formats/focus.js';
import { format as gcp } from '../../../src/formats/gcp-billing.js';
import { openBytes } from '../../../src/formats/reading/input.js';
import { format as oci } from '../../../src/formats/oci.js';
import { format as tencent } from '../../../src/formats/tencent-bill.js';
import { BlockBuilder, decodeBlock } from '../../../src/store/usage/block.js';
import { usageOf, usageOfText } from './reading.js';

/** What the meter calls its machines. */
const METERED = new Set(['p5.48xlarge', 'a2-highgpu-8g', 'Standard_ND96asr_v4', 'ecs.gn7-c12g1.3xlarge']);

type Row = Readonly<Record<string, string>>;
const csvOf = (rows: readonly Row[]): string => {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const quoted = (text = ''): string => `"${text.replaceAll('"', '""')}"`;
  return `${[columns, ...rows.map((row) => columns.map((name) => row[name]))].map((cells) => cells.map(quoted).join(',')).join('\n')}\n`;
};

/** By line whether the meter stands for it: its SKU is the meter's, or linked to it by the resource. */
async function standsFor(format: UsageFormat, text: string, name?: string): Promise<boolean[]> {
  const { records, rejects } = await usageOfText(format, text, name);
  expect(rejects).toEqual([]);
  return standsForEach(records);
}

function standsForEach(records: readonly UsageRecord[]): boolean[] {
  const grouping = new Grouping(() => '', []);
  const [block, cells] = [new BlockBuilder(), new BillCells()];
  for (const record of records) block.add(grouping.groupOf(record).index, record);
  // As the database gives them back.
  for (const record of decodeBlock(block.encode())) cells.add(grouping.groupOf(record), record);
  const linked = new Set(machineSkus(cells.summary().resources, (_, sku) => METERED.has(sku)).map(({ sku }) => sku));
  return records.map(({ sku }: UsageRecord) => sku !== null && (METERED.has(sku) || linked.has(sku)));
}

const PERIOD = [
  '2026-11-01T00:00:00Z',
  '2026-12-01T00:00:00Z',
  '2026-11-05T01:00:00Z',
  '2026-11-05T02:00:00Z',
] as const;
const [PERIOD_START, PERIOD_END, START, END] = PERIOD;

const curRow = (usageType: string, over: Row = {}): Row => ({
  'bill/BillingPeriodStartDate': PERIOD_START,
  'bill/BillingPeriodEndDate': PERIOD_END,
  'bill/PayerAccountId': '1',
  'lineItem/LineItemType': 'Usage',
  'lineItem/UsageStartDate': START,
  'lineItem/UsageEndDate': END,
  'lineItem/ProductCode': 'AmazonEC2',
  'lineItem/ResourceId': 'i-1',
  'lineItem/CurrencyCode': 'USD',
  'lineItem/UnblendedCost': '5',
  'lineItem/UsageType': usageType,
  'product/instanceType': 'p5.48xlarge',
  'product/sku': `SKU-${usageType}`,
  ...over,
});
const focusRow = (over: Row): Row => ({
  BilledCost: '5',
  BillingAccountId: '1',
  BillingCurrency: 'USD',
  BillingPeriodStart: PERIOD_START,
  BillingPeriodEnd: PERIOD_END,
  ChargeCategory: 'Usage',
  ChargePeriodStart: START,
  ChargePeriodEnd: END,
  ProviderName: 'AWS',
  ServiceName: 'Amazon Elastic Compute Cloud',
  ResourceId: 'i-1',
  SkuId: 'SX',
  SkuPriceDetails: '',
  ...over,
});

describe('a CUR', () => {
  const code = (product: string): Row => ({ 'lineItem/ProductCode': product });
  const untyped = { 'product/instanceType': '' };
  it.each<[string, Row, boolean]>([
    ['BoxUsage:p5.48xlarge', {}, true],
    ['USE1-BoxUsage:p5.48xlarge', untyped, true],
    ['SpotUsage:p5.48xlarge', { 'pricing/term': 'Spot' }, true],
    ['BoxUsage:p5.48xlarge', { 'lineItem/LineItemType': 'DiscountedUsage' }, true],
    ['BoxUsage:p5.48xlarge', { 'lineItem/LineItemType': 'SavingsPlanCoveredUsage' }, true],
    ['BoxUsage:p5.48xlarge', { 'lineItem/LineItemType': 'SavingsPlanNegation' }, true],
    ['DedicatedUsage:p5.48xlarge', {}, true],
    ['HostBoxUsage:p5.48xlarge', {}, true],
    ['UnusedBox:p5.48xlarge', {}, true],
    ['Reservation:p5.48xlarge', {}, true],
    ['', {}, true],
    ['BoxUsage:p5.48xlarge', code('MarketplaceXYZ'), false],
    ['USE1-BoxUsage:p5.48xlarge', code('ElasticMapReduce'), false],
    ['USE1-EKS-Auto:p5.48xlarge', code('AmazonEKS'), false],
    ['USE1-EC2:AutoMode', code('AmazonEKS'), false],
    ['SoftwareContracts', code('9xyz'), false],
    ['RHEL-Licensing', {}, false],
    ['CapacityBlock:p5.48xlarge', {}, false],
    ['USE1-SSM-OnPrem', code('AWSSystemsManager'), false],
    ['EBSOptimized:p5.48xlarge', {}, false],
    ['USE1-DataTransfer-Out-Bytes', untyped, false],
    ['USE1-PaidEventsAnalyzed', { ...code('AmazonGuardDuty'), ...untyped }, false],
  ])('%s %o', async (usageType, over, expected) => {
    expect(await standsFor(cur, csvOf([curRow(usageType, over)]))).toEqual([expected]);
    const product = over['lineItem/ProductCode'] ?? 'AmazonEC2';
    const rows = [curRow('BoxUsage:p5.48xlarge'), curRow(usageType, { ...over, 'lineItem/ProductCode': product })];
    expect(await standsFor(cur, csvOf(rows))).toEqual([true, expected]);
  });

  describe('of an export without the column product_instance_type', () => {
    /** Usage type, product code, what the map says of the instance; whether it is the machine. */
    const lines: [string, string, string | null, boolean][] = [
      ['BoxUsage:p5.48xlarge', 'AmazonEC2', 'p5.48xlarge', true],
      ['USE1-BoxUsage:p5.48xlarge', 'AmazonEC2', null, true],
      ['', 'AmazonEC2', 'p5.48xlarge', true],
      ['USE1-DataTransfer-Out-Bytes', 'AmazonEC2', null, false],
      ['EBSOptimized:p5.48xlarge', 'AmazonEC2', 'p5.48xlarge', false],
      ['BoxUsage:p5.48xlarge', 'ElasticMapReduce', 'p5.48xlarge', false],
    ];
    const modern = (name: string): string =>
      name
        .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
        .replace('/', '_')
        .toLowerCase();
    const attributesOf = (type: string | null): Record<string, string> => ({
      region: 'us-east-1',
      sku: 'ABC',
      ...(type === null ? {} : { instance_type: type }),
    });
    const rows = lines.map(([usageType, product, type]): Row => {
      const { 'product/instanceType': _, 'product/sku': __, ...row } = curRow(usageType, code(product));
      return {
        ...Object.fromEntries(Object.entries(row).map(([name, value]) => [modern(name), value])),
        product: JSON.stringify(attributesOf(type)),
      };
    });

    it('takes it from the usage type or from the map of the product', async () => {
      expect(await standsFor(cur, csvOf(rows))).toEqual(lines.map(([, , , expected]) => expected));
      const { records } = await usageOfText(cur, csvOf(rows));
      expect(new Set(records.map(({ region }) => region))).toEqual(new Set(['us-east-1']));
      expect(records.map(({ sku }) => sku).slice(2)).toEqual(['p5.48xlarge', 'DataTransfer-Out-Bytes', 'ABC', 'ABC']);
      const { rejects } = await usageOfText(cur, csvOf([{ ...rows[0], product: 'instance_type=p5' }]));
      expect(rejects).toMatchObject([{ line: 2, column: 'product' }]);
    });

    it('reads the map of a Parquet file', async () => {
      const names = Object.keys(rows[0] ?? {});
      const text = { type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' } as const;
      const schema: SchemaElement[] = [
        { name: 'root', num_children: names.length },
        ...names.flatMap((name): SchemaElement[] =>
          name === 'product'
            ? [
                { name, converted_type: 'MAP', repetition_type: 'OPTIONAL', num_children: 1 },
                { name: 'key_value', repetition_type: 'REPEATED', num_children: 2 },
                { ...text, name: 'key', repetition_type: 'REQUIRED' },
                { ...text, name: 'value' },
              ]
            : [{ ...text, name }],
        ),
      ];
      const columnData = names.map((name) => ({
        name,
        data: rows.map((row) => (name === 'product' ? JSON.parse(row[name] ?? '') : row[name]) as unknown),
      }));
      const input = await openBytes('cur.parquet', new Uint8Array(parquetWriteBuffer({ columnData, schema })));
      const { records, rejects } = await usageOf(cur, input);
      expect(rejects).toEqual([]);
      expect(standsForEach(records)).toEqual(lines.map(([, , , expected]) => expected));
      expect(records.map(({ sku }) => sku).slice(3)).toEqual(['DataTransfer-Out-Bytes', 'ABC', 'ABC']);
    });
  });

  it('leaves the machines of other services their names', async () => {
    const other = { 'product/instanceType': 'ml.p5.48xlarge', 'lineItem/ProductCode': 'AmazonSageMaker' };
    const { records } = await usageOfText(cur, csvOf([curRow('USE1-Train:ml.p5.48xlarge', other)]));
    expect(records.map(({ sku }) => sku)).toEqual(['ml.p5.48xlarge']);
  });
});

describe('a FOCUS bill of AWS', () => {
  const typed = { SkuPriceDetails: '{"InstanceType":"p5.48xlarge"}' };
  it.each<[string, Row, boolean]>([
    ['BoxUsage:p5.48xlarge', {}, true],
    ['USE1-SpotUsage:p5.48xlarge', { PricingCategory: 'Dynamic' }, true],
    ['', typed, true],
    ['BoxUsage:p5.48xlarge', { ServiceName: 'Amazon EMR', ...typed }, false],
    ['USE1-BoxUsage:p5.48xlarge', { ServiceName: 'Amazon Elastic MapReduce' }, false],
    ['USE1-EKS-Auto:p5.48xlarge', { ServiceName: 'Amazon Elastic Kubernetes Service', ...typed }, false],
    ['SoftwareUsage:p5.48xlarge', { ServiceName: 'AWS Marketplace', ...typed }, false],
    ['', { ServiceName: 'AWS Marketplace' }, false],
    ['USE1-PaidEventsAnalyzed', { ServiceName: 'Amazon GuardDuty' }, false],
    ['USE1-EC2InstanceCoverage', { ServiceName: 'Amazon Inspector' }, false],
    ['USE1-SSM', { ServiceName: 'AWS Systems Manager' }, false],
    ['EBSOptimized:p5.48xlarge', typed, false],
    ['CapacityBlock:p5.48xlarge', typed, false],
  ])('%s %o', async (usageType, over, expected) => {
    const line = focusRow({ x_UsageType: usageType, ...over });
    expect(await standsFor(focus, csvOf([line]))).toEqual([expected]);
    const box = focusRow({ x_UsageType: 'BoxUsage:p5.48xlarge', SkuId: 'BOX', PricingCategory: '' });
    expect(await standsFor(focus, csvOf([box, line]))).toEqual([true, expected]);
  });
});

describe('a FOCUS bill of another provider', () => {
  it.each<[string, string, string, boolean]>([
    ['Virtual Machines', 'ND96asr A100 v4', 'Hours', true],
    ['Virtual Machines', 'ND96asr A100 v4', '', true],
    ['Virtual Machines', 'ND96asr A100 v4', 'GB', false],
    ['Virtual Machines', 'Red Hat Enterprise Linux 96 vCPU', 'Hours', false],
    ['Virtual Machines Licenses', 'Windows 96 vCPU', 'Hours', false],
    ['Bandwidth', 'Inter-Region', 'GB', false],
    ['Virtual Network', 'Standard IPv4 Static Public IP', 'Hours', false],
    ['Storage', 'P30 LRS Disk', 'Units/Month', false],
    ['Log Analytics', 'Pay-as-you-go Data Ingestion', 'GB', false],
    ['Microsoft Defender for Cloud', 'Standard P2 Node', 'Hours', false],
    ['Azure Site Recovery', 'VM Replicated to Azure', 'Hours', false],
    ['Backup', 'Azure VM Protected Instances', '', false],
    ['Azure Update Manager', 'Arc', 'Hours', false],
    ['SaaS', 'Red Hat', '', false],
  ])('%s %s %s', async (ServiceName, SkuMeter, ConsumedUnit, expected) => {
    const line = focusRow({ ProviderName: 'Microsoft', ServiceName, SkuMeter, ConsumedUnit });
    expect(await standsFor(focus, csvOf([line]))).toEqual([expected]);
    const own = { ServiceName: 'Virtual Machines', SkuMeter: 'ND96asr A100 v4', ConsumedUnit: 'Hours', SkuId: 'A1' };
    expect(await standsFor(focus, csvOf([{ ...line, ...own }, line]))).toEqual([true, expected]);
  });
});

/** What the line states of a machine makes it the machine's, whatever it is linked by. */
const STATED = '{"InstanceType":"Standard_ND96asr_v4"}';
const licences = { x_SkuMeterCategory: 'Virtual Machines Licenses', x_SkuMeterName: '96 vCPU VM License' };

type Told = [string, string, string, string, Row, boolean];
const chineseClouds =
  (expected: boolean) =>
  (description: string): Told[] =>
    ['', '小时', 'Hour'].flatMap((unit): Told[] => [
      ['Alibaba Cloud', '云服务器 ECS', unit, description, {}, expected],
      ['Alibaba Cloud', 'Elastic Compute Service', unit, description, {}, expected],
      ['Tencent Cloud', '云服务器 CVM', unit, description, {}, expected],
    ]);

describe('a FOCUS bill by units, descriptions and the meters of its vendor', () => {
  it.each<[string, string, string, string, Row, boolean]>([
    ['Oracle', 'COMPUTE', 'GPU Per Hour', 'GPU - H100', {}, true],
    ['Oracle', 'COMPUTE', 'OCPU Per Hour', 'Standard - A1', {}, true],
    ['Oracle', 'COMPUTE', 'GPU Hours', 'GPU', {}, true],
    ['Oracle', 'COMPUTE', 'Gigabyte Per Hour', 'Standard - A1 - Memory', {}, true],
    ['Oracle', 'COMPUTE', 'GB Hours', 'Standard - E3 - Memory', {}, true],
    ['Oracle', 'COMPUTE', 'GB Hours', 'Scratch space', {}, false],
    ['Oracle', 'COMPUTE', 'OCPU Per Hour', 'Windows OS', {}, false],
    ['Oracle', 'COMPUTE', 'OCPU Per Hour', 'Microsoft SQL Enterprise', {}, false],
    ['Oracle', 'COMPUTE', 'OCPU Per Hour', 'Microsoft SQL Enterprise', { SkuMeter: 'OCPU' }, false],
    ['Oracle', 'COMPUTE', 'Cluster Per Hour', 'OCI Kubernetes Engine - Enhanced Cluster', {}, false],
    ['Oracle', 'COMPUTE', 'OCPU Per Hour', 'Virtual Machine Standard - X7', {}, true],
    ['Oracle', 'COMPUTE', 'OCPU Per Hour', 'Compute - DenseIO - E4 - OCPU', {}, true],
    ['Oracle', 'COMPUTE', 'OCPU Per Hour', 'Optimized - X9', {}, true],
    ['Oracle', 'COMPUTE', 'GPU Per Hour', 'Compute - GPU.MI300X', {}, true],
    ['Oracle', 'COMPUTE', 'GB Months', 'Container Image Storage', {}, false],
    ['Oracle', 'BLOCK_STORAGE', 'Gigabyte Per Hour', 'Block Volume', {}, false],
    ['Oracle', 'COMPUTE', 'Endpoint Hours', '', {}, true],
    ...['GPU-Hours', 'Instance Hours', 'Node Hours', 'vCPU-Hours', 'Units', '1/Hour', '100 Core Hrs', '1 小时'].map(
      (unit): [string, string, string, string, Row, boolean] => ['Any', 'Compute', unit, '', {}, true],
    ),
    ...['Units/Month', 'GB-Month', '10K Transactions', 'GiB'].map(
      (unit): [string, string, string, string, Row, boolean] => ['Any', 'Compute', unit, '', {}, false],
    ),
    ['Google Cloud', 'Compute Engine', 'gibibyte hour', '', { SkuMeter: 'A2 Instance Ram running in Iowa' }, true],
    ['Google Cloud', 'Compute Engine', 'gibibyte hour', 'x', { SkuMeter: 'A2 Instance Ram running in Iowa' }, true],
    ['Google Cloud', 'Compute Engine', 'gibibyte hour', 'x', { SkuMeter: 'Balanced PD Capacity' }, false],
    ['Google Cloud', 'Compute Engine', 'hour', 'Licensing Fee for RHEL', { SkuMeter: 'A2 Instance Core' }, false],
    ['Google Cloud', 'Compute Engine', 'seconds', 'A2 Instance Core running in Americas', {}, true],
    ['Google Cloud', 'Compute Engine', 'byte-seconds', 'A2 Instance Ram running in Americas', {}, true],
    ['Google Cloud', 'Compute Engine', 'byte-seconds', 'SSD backed Local Storage attached to A2', {}, false],
    ['Google Cloud', 'Compute Engine', 'byte-seconds', '', {}, true],
    ['Google Cloud', 'Compute Engine', 'seconds', 'Licensing Fee for SLES 12 on VM with 8 GPU', {}, false],
    ['Google Cloud', 'Compute Engine', 'seconds', 'Reserved A2 Instance Core in Americas', {}, true],
    ['Google Cloud', '', 'seconds', 'Nvidia Tesla A100 GPU running in Americas', {}, true],
    ['Google Cloud', '', 'seconds', 'Licensing Fee for SLES 12 on VM with 8 GPU', {}, false],
    ['Microsoft', 'Virtual Machines', 'Hours', 'ND96asr v4', { x_SkuMeterName: 'ND96asr v4' }, true],
    ['Microsoft', 'Virtual Machines', 'Hours', 'Windows 96 vCPU', licences, false],
    ['Microsoft', 'Virtual Machines Licenses', 'Hours', 'Windows', { SkuPriceDetails: STATED }, false],
    [
      'Microsoft',
      'Virtual Machines',
      'Hours',
      'Windows',
      { SkuPriceDetails: STATED, SkuMeter: '96 vCPU License' },
      false,
    ],
    ['Microsoft', 'Virtual Machines', 'Hours', 'Storage Optimized', { SkuPriceDetails: STATED }, true],
    ['Microsoft', 'Bandwidth', 'GB', 'Standard Data Transfer Out', { SkuPriceDetails: STATED }, false],
    ['AWS', 'Amazon Elastic Compute Cloud', 'Hours', '$98.3 per On Demand Linux p5.48xlarge Instance Hour', {}, true],
    ['AWS', 'Amazon Elastic Compute Cloud', 'Hours', 'p5.48xlarge Linux/UNIX Spot Instance-hour in Ohio', {}, true],
    ['AWS', 'Amazon Elastic Compute Cloud', 'Hours', '$99 per On Demand RHEL p5.48xlarge Instance Hour', {}, true],
    ['AWS', 'Amazon Elastic Compute Cloud', 'Hours', '$0.00 for 175 Mbps per p5.48xlarge instance-hour', {}, false],
    ['AWS', 'Amazon Elastic Compute Cloud', 'Hours', '$0.045 per NAT Gateway Hour', {}, false],
    ['AWS', 'Amazon Elastic Compute Cloud', 'Hours', '', {}, true],
    ['AWS', 'Amazon Elastic Compute Cloud', 'Hours', 'x', { x_UsageType: '', SkuMeter: 'BoxUsage:p5.48xlarge' }, true],
    [
      'AWS',
      'Amazon Elastic Compute Cloud',
      'Hours',
      'x',
      { x_UsageType: 'EBSOptimized:p5', SkuMeter: 'BoxUsage' },
      false,
    ],
    ['Microsoft', 'Virtual Machines', 'Hours', 'Azure Hybrid Benefit - Windows', {}, false],
    ...['实例规格', 'Instance Type', 'ecs.gn7e-c16g1.4xlarge', '计算 网络增强型'].flatMap(chineseClouds(true)),
    ...[
      '系统盘大小',
      '数据盘',
      '镜像',
      '公网带宽',
      '流出流量',
      '快照',
      '弹性公网IP',
      'EIP',
      'Windows Server 许可',
    ].flatMap(chineseClouds(false)),
    ...['System Disk Size', 'Data Disk', 'Image', 'Network Traffic', 'Public Bandwidth', '高性能云硬盘'].flatMap(
      chineseClouds(false),
    ),
  ])('%s %s %s: %s', async (ProviderName, ServiceName, unit, ChargeDescription, over, expected) => {
    const units = { ConsumedUnit: unit, PricingUnit: unit };
    const line = focusRow({ ProviderName, ServiceName, ChargeDescription, ...units, ...over });
    expect(await standsFor(focus, csvOf([line]))).toEqual([expected]);
  });
});

describe('lines of one resource that say nothing of what they are', () => {
  const ECS = 'Elastic Compute Service';
  const line = (SkuId: string, over: Row = {}): Row =>
    focusRow({
      ProviderName: 'Alibaba Cloud',
      ServiceName: ECS,
      PricingUnit: '',
      ChargeDescription: '',
      SkuId,
      ...over,
    });
  const url = 'https://buy.cloud.tencent.com/price/cvm';
  it.each<[string, Row[], boolean[]]>([
    ['the only one is the machine', [line('S1'), line('S1')], [true, true]],
    ['of two either may be it', [line('S1'), line('S2')], [false, false]],
    ['in hours too', [line('S1', { PricingUnit: '小时' }), line('S2', { PricingUnit: 'Hour' })], [false, false]],
    ['an address says nothing', ['S1', 'S2'].map((sku) => line(sku, { ChargeDescription: url })), [false, false]],
    ['the other names no SKU', [line('S1'), line('')], [false, false]],
    ['the other is told', [line('S1'), line('S2', { ChargeDescription: '系统盘' })], [true, false]],
    ['the other is told, without a SKU', [line('S1'), line('', { ChargeDescription: '系统盘' })], [true, false]],
    ['the machine is told', [line('S1', { ChargeDescription: '实例规格' }), line('S2')], [true, false]],
    ['its unit tells', [line('S1', { PricingUnit: 'GPU-Hours' }), line('S2', { PricingUnit: 'Hour' })], [true, false]],
    ['the other is of another service', [line('S1'), line('x', { ServiceName: 'Object Storage' })], [true, false]],
    ['the other is of another resource', [line('S1'), line('x', { ResourceId: 'i-2' })], [true, true]],
  ])('%s', async (_, rows, expected) => {
    expect(await standsFor(focus, csvOf(rows))).toEqual(expected);
    expect(await standsFor(focus, csvOf([...rows].reverse()))).toEqual([...expected].reverse());
  });

  it('is the same SKU in the bills of two months', () => {
    const one = { provider: 'Alibaba Cloud', sku: 'S1', resources: ['i-1'], services: [ECS] };
    const is = (...skus: (typeof one)[]): string[] => machineSkus(skus, () => false).map(({ sku }) => sku);
    expect(is(one, one)).toEqual(['S1', 'S1']);
    expect(is(one, { ...one, sku: 'S2' }, one, one)).toEqual([]);
  });
});

it.each([
  ['COMPUTE', 'GPU - H100', 'GPU Hours', true],
  ['COMPUTE', 'Microsoft SQL Enterprise', 'OCPU Hours', false],
  ['COMPUTE', 'Standard - E4', 'OCPU Hours', true],
  ['COMPUTE', 'Standard - E4 - Memory', 'GB Hours', true],
  ['COMPUTE', 'Windows OS', 'OCPU Hours', false],
  ['COMPUTE', 'Container Image Storage', 'GB Months', false],
  ['NETWORK', 'Outbound Data Transfer Zone 1', 'GB Months', false],
])("Oracle's own report: %s %s in %s", async (service, description, unit, expected) => {
  const row = {
    'lineItem/referenceNo': '1',
    'lineItem/tenantId': '1',
    'lineItem/intervalUsageStart': START,
    'lineItem/intervalUsageEnd': END,
    'product/service': service,
    'product/resourceId': 'ocid1.instance.1',
    'product/Description': description,
    'cost/skuUnitDescription': unit,
    'cost/productSku': 'B1',
    'cost/myCost': '5',
    'cost/currencyCode': 'USD',
  };
  expect(await standsFor(oci, csvOf([row]))).toEqual([expected]);
});

it.each<[string, Row, boolean]>([
  ['Virtual Machines', { MeterName: 'ND96asr v4', MeterSubCategory: 'Storage Optimized GPU Series' }, true],
  ['Virtual Machines', { MeterName: 'ND96asr A100 v4', MeterSubCategory: 'NDasrA100v4 Series Windows' }, true],
  ['Virtual Machines', { MeterName: 'Red Hat Enterprise Linux 96 vCPU' }, false],
  ['Virtual Machines', { MeterName: 'ND96asr v4', UnitOfMeasure: '1 小时' }, true],
  ['Virtual Machines', { MeterName: 'ND96asr v4', UnitOfMeasure: '1 hora' }, true],
  ['Virtual Machines', { MeterName: 'ND96asr v4', UnitOfMeasure: '100 Core Hrs' }, true],
  ['Virtual Machines', { MeterName: 'ND96asr v4', UnitOfMeasure: '1 GB' }, false],
  ['Virtual Machines Licenses', { MeterName: '96 vCPU VM' }, false],
  ['Azure Machine Learning', { MeterName: 'ND96asr A100 v4' }, false],
  ['Microsoft Defender for Cloud', { MeterName: 'Standard P2 Node' }, false],
])("Azure's own export: %s %o", async (MeterCategory, over, expected) => {
  const row = {
    Date: '11/05/2026',
    BillingAccountId: '1',
    BillingPeriodStartDate: '11/01/2026',
    BillingPeriodEndDate: '11/30/2026',
    CostInBillingCurrency: '5',
    BillingCurrency: 'USD',
    ChargeType: 'Usage',
    ResourceId: '/vm/1',
    MeterId: 'M-1',
    UnitOfMeasure: '1 Hour',
    MeterCategory,
    ...over,
  };
  expect(await standsFor(azure, csvOf([row]))).toEqual([expected]);
  const sized = { ...row, AdditionalInfo: '{"ServiceType":"Standard_ND96asr_v4"}' };
  expect(await standsFor(azure, csvOf([sized]))).toEqual([expected]);
});

describe("Google's export", () => {
  const line = (description: string, machine: string | null, over: object = {}): string =>
    JSON.stringify({
      billing_account_id: '1',
      invoice: { month: '202611' },
      cost_type: 'regular',
      service: { description: 'Compute Engine' },
      sku: { id: `ID-${description}`, description },
      usage_start_time: '2026-11-05 01:00:00 UTC',
      usage_end_time: '2026-11-05 02:00:00 UTC',
      cost: 5,
      currency: 'USD',
      usage: { amount: 1, unit: 'seconds' },
      resource: { name: 'trainer-1' },
      system_labels: machine === null ? [] : [{ key: 'compute.googleapis.com/machine_spec', value: machine }],
      ...over,
    });
  const service = (description: string) => ({ service: { description } });
  const own = ['Nvidia Tesla A100 GPU running in Americas', 'A2 Instance Core running in Americas'];
  it.each<[string, object, boolean]>([
    ['A2 Instance Ram running in Americas', { usage: { amount: 1, unit: 'byte-seconds' } }, true],
    ['Nvidia H100 80GB GPU attached to Spot Preemptible VMs running in Iowa', {}, true],
    ['SSD backed Local Storage attached to A2', { usage: { amount: 1, unit: 'byte-seconds' } }, false],
    ['Local SSD', {}, false],
    ['Balanced PD Capacity', {}, false],
    ['Hyperdisk Balanced Capacity', {}, false],
    ['Cloud NAT Gateway: VM', {}, false],
    ['Nvidia Tesla A100 GPU attached to DWS Defined Duration VMs in Iowa', {}, true],
    ['Reserved A2 Instance Core in Americas', {}, true],
    ['A3Ultra Instance Nvidia H200 141GB (8 gpu) in Iowa', {}, true],
    ['TpuV5e running in Oregon', {}, true],
    ['Memory Optimized Upgrade Premium for Memory-optimized Instance Core running in Americas', {}, false],
    ['Commitment v1: A100 GPU in Americas for 1 Year', {}, false],
    ['Sole Tenancy Premium for A2 Core', {}, false],
    ['Sole Tenancy Premium for A2 Instance Core running in Americas', {}, false],
    ['Licensing Fee for Windows Server 2019 (CPU cost)', {}, false],
    ['Network Internet Egress from Americas to EMEA', {}, false],
    ['Metric Volume', service('Cloud Monitoring'), false],
    ['Autopilot GPU running in Americas', service('Kubernetes Engine'), false],
  ])('%s %o', async (description, over, expected) => {
    for (const machine of ['a2-highgpu-8g', null]) {
      const lines = [...own.map((one) => line(one, machine)), line(description, machine, over)];
      expect(await standsFor(gcp, `${lines.join('\n')}\n`, 'x.jsonl')).toEqual([true, true, expected]);
      expect(await standsFor(gcp, `${line(description, machine, over)}\n`, 'x.jsonl')).toEqual([expected]);
    }
  });
});

it.each([
  ['', '', true],
  ['CPU', '', true],
  ['GPU', 'GPU', true],
  ['运算组件', '运算组件-GPU计算型GN10Xp', true],
  ['Bandwidth', 'Outbound traffic', false],
  ['系统盘', '', false],
  ['Data disk', 'Premium', false],
])("Tencent's component %s %s", async (ComponentType, ComponentName, expected) => {
  const row = {
    'Payer Account ID': '1',
    ProductName: 'CVM',
    SubproductName: 'CVM-GPU Computing GN10Xp',
    InstanceID: 'ins-1',
    TransactionType: 'Hourly settlement',
    TransactionTime: '2026-11-05 10:00:00',
    'Usage Start Time': '2026-11-05 09:00:00',
    'Usage End Time': '2026-11-05 09:59:59',
    'Total Amount After Discount (Excluding Tax)': '5',
    Currency: 'USD',
    ComponentName,
    ComponentType,
  };
  expect(await standsFor(tencent, csvOf([row]))).toEqual([expected]);
  expect(await standsFor(tencent, csvOf([{ ...row, ComponentType: 'CPU', ComponentName: '' }, row]))).toEqual([
    true,
    expected,
  ]);
});

it.each<[Row, boolean]>([
  [{}, true],
  [{ BillingItem: '云服务器配置' }, true],
  [{ BillingItem: 'Instance Type' }, true],
  [{ InstanceSpec: '' }, true],
  [{ BillingItem: '系统盘' }, false],
  [{ BillingItem: 'ImageOS' }, false],
  [{ ProductName: 'Elastic Compute Service - Traffic', BillingType: 'Internet traffic' }, false],
])("Alibaba's item %o", async (over, expected) => {
  const row = {
    BillingCycle: '2026-11',
    AccountID: '1',
    ProductName: 'Elastic Compute Service',
    ProductType: 'ecs',
    SubscriptionType: 'PayAsYouGo',
    UsageStartTime: '2026-11-05 09:00:00',
    UsageEndTime: '2026-11-05 10:00:00',
    Item: 'PayAsYouGoBill',
    InstanceID: 'i-1',
    InstanceSpec: 'ecs.gn7-c12g1.3xlarge',
    PretaxAmount: '5',
    Currency: 'USD',
    ...over,
  };
  expect(await standsFor(alibaba, csvOf([row]))).toEqual([expected]);
});
