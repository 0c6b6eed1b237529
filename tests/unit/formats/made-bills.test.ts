/**
 * Bills made after the vendors' schemas (fixtures/bills-made): their totals to the last digit, and what lines become.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { addDecimal, formatDecimal, ZERO } from '../../../src/core/decimal.js';
import type { UsageFormat } from '../../../src/core/ports.js';
import type { UsageRecord } from '../../../src/core/usage.js';
import { format as alibaba } from '../../../src/formats/alibaba-bill.js';
import { format as cur } from '../../../src/formats/aws-cur.js';
import { format as amortised } from '../../../src/formats/azure-amortised.js';
import { format as azure } from '../../../src/formats/azure-ea.js';
import { format as focus } from '../../../src/formats/focus.js';
import { format as gcp } from '../../../src/formats/gcp-billing.js';
import { openFile } from '../../../src/formats/reading/input.js';
import { format as tencent } from '../../../src/formats/tencent-bill.js';
import { billed, fixture, usageOf, usageOfFile, usageOfText } from './reading.js';

const made = (name: string): string => `bills-made/${name}`;
const linesOf = (name: string): string[] =>
  readFileSync(fixture(made(name)), 'utf8')
    .trimEnd()
    .split('\n');
const effective = (records: readonly UsageRecord[]): string =>
  formatDecimal(records.reduce((sum, { charge }) => addDecimal(sum, charge?.effective ?? ZERO), ZERO));
const amounts = (records: readonly UsageRecord[]): (string | null)[][] =>
  records.map(({ charge }) => [
    formatDecimal(charge!.billed),
    charge!.effective === null ? null : formatDecimal(charge!.effective),
  ]);

it.each<[string, UsageFormat, number, Record<string, string>]>([
  ['gcp_detailed.jsonl', gcp, 6, { 'Google Cloud USD': '23.0477312' }],
  ['gcp_standard.csv', gcp, 3, { 'Google Cloud EUR': '0.5600000' }],
  ['azure_mca_actual.csv', azure, 4, { 'Microsoft EUR': '1288.1519' }],
  ['focus_1_3.csv', focus, 5, { 'Example GPU Cloud USD': '14904.6000' }],
  ['focus_1_4.csv', focus, 2, { 'Example Model API USD': '5.0012345' }],
  ['focus_aws.csv', focus, 5, { 'AWS USD': '34.5358818284' }],
  ['cur2_net_split.csv', cur, 9, { 'AWS USD': '49.54034' }],
  ['alibaba_details_zh.csv', alibaba, 4, { 'Alibaba Cloud CNY': '17018.815000' }],
  ['alibaba_details_en.csv', alibaba, 3, { 'Alibaba Cloud USD': '2469.6111100' }],
  ['tencent_details_zh.csv', tencent, 4, { 'Tencent Cloud CNY': '8022.83100000' }],
  ['tencent_details_en.csv', tencent, 3, { 'Tencent Cloud USD': '1353.4335' }],
])('%s is read to its total', async (name, format, lines, total) => {
  const { records, rejects } = await usageOfFile(format, made(name));
  expect(rejects).toEqual([]);
  expect(records).toHaveLength(lines);
  expect(billed(records)).toEqual(
    Object.fromEntries(
      Object.entries(total).map(([key, sum]) => [key, expect.stringMatching(new RegExp(`^${sum}0*$`))]),
    ),
  );
  expect(new Set(records.map(({ id }) => id)).size).toBe(lines);
});

/** A fixture's first lines with one field of the last one changed. */
async function broken(format: UsageFormat, name: string, column: string, value: string) {
  const [header = '', row = ''] = linesOf(name);
  const columns = header.replace(/^\uFEFF/, '').split(',');
  const at = columns.indexOf(column);
  expect(at, column).toBeGreaterThanOrEqual(0);
  const fields: string[] = row.match(/(?:"(?:[^"]|"")*"|[^,]*)(?:,|$)/g) ?? [];
  fields[at] = `${value}${at < columns.length - 1 ? ',' : ''}`;
  return usageOfText(format, [header, row, fields.join('')].join('\n'));
}

it.each<[string, UsageFormat, string, string]>([
  ['gcp_standard.csv', gcp, 'cost', '1,2'],
  ['gcp_standard.csv', gcp, 'invoice.month', '202613'],
  ['gcp_standard.csv', gcp, 'credits', '"[{""type"":""PROMOTION""}]"'],
  ['gcp_standard.csv', gcp, 'cost_type', 'gift'],
  ['azure_mca_actual.csv', azure, 'chargeType', 'Gift'],
  ['focus_1_3.csv', focus, 'ContractApplied', '"{""Elements"":[{""ContractId"":""c""}]}"'],
  ['focus_1_3.csv', focus, 'AllocatedTags', 'team'],
  ['cur2_net_split.csv', cur, 'line_item_net_unblended_cost', 'many'],
  ['cur2_net_split.csv', cur, 'cost_category', 'Research'],
  ['alibaba_details_zh.csv', alibaba, '应付金额', '很多'],
  ['alibaba_details_zh.csv', alibaba, '账单类型', '礼物'],
  ['alibaba_details_en.csv', alibaba, 'BillingCycle', '2026-13'],
  ['tencent_details_zh.csv', tencent, '开始使用时间', '2026-02-30 00:00:00'],
  ['tencent_details_zh.csv', tencent, '交易类型', '礼物'],
  ['tencent_details_en.csv', tencent, 'Currency', 'dollar'],
])('%s: a bad field is rejected with its line and column (%#)', async (name, format, column, value) => {
  const quoted = value.includes(',') && !value.startsWith('"') ? `"${value}"` : value;
  const { records, rejects } = await broken(format, name, column, quoted);
  expect(records.length).toBeGreaterThan(0);
  expect(rejects).toHaveLength(1);
  expect(rejects[0]?.line).toBe(3);
  expect(rejects[0]?.reason).toContain(column);
});

describe('gcp-billing', () => {
  it('nets discounts into the line, and makes a granted credit a line of its own', async () => {
    const { records } = await usageOfFile(gcp, made('gcp_detailed.jsonl'));
    expect(amounts(records)).toEqual([
      ['21.1275792', '21.1275792'],
      ['0.000000', null],
      ['1.91214', null],
      ['0.013', '0.013'],
      ['-0.005', '-0.005'],
      ['0.000012', '0.000012'],
    ]);
    expect(records.map(({ charge }) => charge?.category)).toEqual([
      'Usage',
      'Usage',
      'Purchase',
      'Usage',
      'Credit',
      'Tax',
    ]);
  });

  it('names the machine, its GPUs, the project, labels and namespace', async () => {
    const { records } = await usageOfFile(gcp, made('gcp_detailed.jsonl'));
    expect(records[0]).toMatchObject({
      account: '01A2B3-C4D5E6-F70819',
      subAccount: 'ml-research',
      resource: '//compute.googleapis.com/projects/ml-research/zones/us-central1-a/instance/4242',
      namespace: 'train',
      sku: 'a2-highgpu-8g',
      gpuModel: 'A100',
      gpuParts: 8 * 7000,
      region: 'us-central1',
      tags: { team: 'vision', 'k8s-namespace': 'train' },
      charge: { periodStart: Date.UTC(2026, 9, 1), periodEnd: Date.UTC(2026, 10, 1) },
    });
    expect(records[1]).toMatchObject({ sku: 'a2-highgpu-8g', gpuModel: null, gpuParts: null });
  });

  it('calls the traffic of a machine by its own SKU, though it carries the label of the machine', async () => {
    const [first = ''] = linesOf('gcp_detailed.jsonl');
    const row = JSON.parse(first) as { sku: { id: string; description: string } };
    const egress = { ...row, sku: { id: 'EG-1', description: 'Network Internet Egress from Iowa' } };
    const bytes = { ...row, sku: { id: 'EG-2', description: 'Something' }, usage: { amount: 1, unit: 'bytes' } };
    const { records } = await usageOfText(
      gcp,
      `${first}\n${JSON.stringify(egress)}\n${JSON.stringify(bytes)}\n`,
      'x.jsonl',
    );
    expect(records.map(({ sku }) => sku)).toEqual(['a2-highgpu-8g', 'EG-1', 'EG-2']);
  });

  it('rejects a JSON line with its line and field', async () => {
    const [first = ''] = linesOf('gcp_detailed.jsonl');
    const bad = first.replace('"cost": 23.475088', '"cost": "?"');
    const { records, rejects } = await usageOfText(gcp, `${first}\n${bad}\n{}\n`, 'x.jsonl');
    expect([records.length, rejects.map(({ line, column }) => [line, column])]).toEqual([
      1,
      [
        [2, 'cost'],
        [3, 'usage_start_time'],
      ],
    ]);
  });
});

describe('azure', () => {
  it('reads the columns of a Microsoft Customer Agreement: profile, list price, benefit', async () => {
    const { records } = await usageOfFile(azure, made('azure_mca_actual.csv'));
    expect(records[1]).toMatchObject({
      account: 'AB12-CD34-BG7-PGB',
      subAccount: 'sub-1',
      sku: 'Standard_NC24ads_A100_v4',
      term: 'savings-plan-3y',
      tags: { team: 'speech' },
      charge: {
        effective: null,
        commitment: { category: 'Spend', status: 'Used', name: 'ML plan' },
        list: { unscaled: 881520n, scale: 4 },
      },
    });
    expect(records[2]?.charge).toMatchObject({ category: 'Purchase', commitment: { status: null }, effective: ZERO });
  });

  it.each(['azure_mca_amortised.csv', 'azure_ea_amortised.csv'])(
    'books no line of an amortised export as billed: %s',
    async (name) => {
      const input = await openFile(fixture(made(name)));
      expect(azure.recognises(input)).toBe(false);
      await expect(usageOf(azure, input)).rejects.toThrow(/line 3, ChargeType.*amortised.*--format azure-amortised/);
    },
  );

  it.each([
    ['azure_mca_amortised.csv', '40.00000', ['Used', 'Unused']],
    ['azure_ea_amortised.csv', '489.623456789', ['Used', 'Unused']],
  ])('reads of an amortised export what commitments cost, billed nothing: %s', async (name, total, statuses) => {
    const { records, rejects } = await usageOfFile(amortised, made(name));
    expect(rejects).toEqual([]);
    expect(records.map(({ charge }) => charge?.commitment?.status)).toEqual(statuses);
    expect(effective(records)).toBe(total);
    for (const { charge } of records) expect(charge).toMatchObject({ billed: ZERO, supplement: true });
    expect(records.map(({ charge }) => charge?.list)).toEqual([ZERO, null]);
  });

  it('names the columns as the file does', async () => {
    const [header = '', first = ''] = linesOf('azure_mca_actual.csv');
    const { rejects } = await usageOfText(azure, `${header}\n${first.replace('88.1520', 'x')}\n`);
    expect(rejects).toMatchObject([{ column: 'costInBillingCurrency', reason: expect.not.stringMatching(/^Cost/) }]);
  });

  it('refuses a day that is in its billing period only with the day before the month', async () => {
    const [header = '', first = ''] = linesOf('azure_mca_actual.csv');
    const on = (day: string): string => `${first.replace('10/05/2026', day)}\n`;
    const days = ['10/05/2026', '05/10/2026', '2026-10-05', '09/30/2026', '10/10/2026'];
    const { records, rejects } = await usageOfText(azure, `${header}\n${days.map(on).join('')}`);
    // The 30th of September is late usage; no order of day and month brings it into October.
    expect(records).toHaveLength(4);
    expect(rejects).toMatchObject([{ line: 3, column: 'date' }]);
    expect(rejects[0]?.reason).toContain('"05/10/2026" is outside of the billing period with the month first');
  });

  it('refuses an actual export as an amortised one', async () => {
    await expect(usageOfFile(amortised, made('azure_mca_actual.csv'))).rejects.toThrow(/line 4.*--format azure-ea/);
  });
});

describe('focus', () => {
  it('gives a split charge to the resource and tags that it was allocated to', async () => {
    const { records } = await usageOfFile(focus, made('focus_1_3.csv'));
    expect(records.slice(0, 2)).toMatchObject([
      { resource: 'pod/train-1', tags: { team: 'vision', cluster: 'prod' }, gpuModel: 'H100', gpuParts: 14_000 },
      { resource: 'pod/serve-2', tags: { team: 'search', cluster: 'prod-2' }, gpuParts: 42_000 },
    ]);
  });

  it('names the commitment that a charge used or left unused, and the contracts that it counts towards', async () => {
    const { records } = await usageOfFile(focus, made('focus_1_3.csv'));
    expect(records.slice(2).map(({ charge }) => [charge?.commitment?.status, charge?.commitment?.unit])).toEqual([
      ['Used', 'Hours'],
      ['Unused', 'Hours'],
      [null, null],
    ]);
    expect(records[0]?.charge?.commitment).toBeNull();
    expect(records[1]?.charge?.contracts).toEqual([
      { id: 'CC-1', cost: { unscaled: 1845n, scale: 2 }, quantity: null, unit: null },
      { id: 'CC-2', cost: null, quantity: { unscaled: 6n, scale: 0 }, unit: 'GPU-Hours' },
    ]);
  });

  it('reads charges per token in the billing currency, and takes no token for an hour of a GPU', async () => {
    const { records } = await usageOfFile(focus, made('focus_1_4.csv'));
    expect(records).toMatchObject([
      { service: 'Inference API', sku: 'large-model-output', gpuParts: null, tags: { team: 'search' } },
      { sku: 'large-model-input', gpuParts: null, charge: { currency: 'USD' } },
    ]);
  });

  it("takes the machine of AWS' own columns", async () => {
    const { records } = await usageOfFile(focus, made('focus_aws.csv'));
    expect(records.map(({ sku, gpuModel, gpuParts, term }) => [sku, gpuModel, gpuParts, term])).toEqual([
      ['p4d.24xlarge', 'A100-40GB', 56_000, 'on-demand'],
      ['p3.2xlarge', 'V100-16GB', 3500, 'spot'],
      ['p4d.24xlarge', 'A100-40GB', 56_000, 'savings-plan-1y'],
      ['ABCDEF0123456789', null, null, 'savings-plan-1y'],
      ['DataTransfer-Out-Bytes', null, null, 'on-demand'],
    ]);
    expect(records[0]?.tags).toEqual({ team: 'vision', 'costCategory/Business unit': 'Research' });
  });
});

describe('aws-cur', () => {
  it('takes nothing for the machine but its hours, whatever instance type stands beside it', async () => {
    const [header = '', machine = ''] = linesOf('cur2_net_split.csv');
    const of = (usageType: string): string => machine.replace('USW2-BoxUsage:p4d.24xlarge', usageType);
    const types = ['USW2-EBSOptimized:p4d.24xlarge', 'SoftwareUsage:p4d.24xlarge', 'USE1-SpotUsage:p4d.24xlarge'];
    const { records } = await usageOfText(cur, `${[header, ...types.map(of)].join('\n')}\n`);
    expect(records.map(({ sku, gpuModel }) => [sku, gpuModel !== null])).toEqual([
      [null, false],
      [null, false],
      ['p4d.24xlarge', true],
    ]);
  });

  it('moves to pods what they used of a machine, and leaves every sum as it was', async () => {
    const { records } = await usageOfFile(cur, made('cur2_net_split.csv'));
    expect(amounts(records).map((pair) => pair.map((text) => Number(text)))).toEqual([
      // 29.49534 less the shares of the two pods
      [1.84345875, 1.84345875],
      [0.045, 0.045],
      [18.4345875, 18.4345875],
      [9.21729375, 9.21729375],
      // Covered by a savings plan: what was billed stays, the effective cost goes to the pod.
      [32.7726, 0],
      [-32.7726, 0],
      [0, 19.095],
      [20, 0.905],
      // The machine is not in this file.
      [0, 0],
    ]);
    expect(effective(records)).toMatch(/^49\.540340*$/);
    expect(records[2]).toMatchObject({ namespace: 'train', tags: { user_team: 'vision' } });
    expect(records[0]?.tags).toEqual({ user_team: 'platform', 'costCategory/Business unit': 'Research' });
  });

  it('names the savings plan, used and unused', async () => {
    const { records } = await usageOfFile(cur, made('cur2_net_split.csv'));
    expect(records.map(({ charge }) => charge?.commitment?.status ?? null)).toEqual([
      null,
      null,
      null,
      null,
      'Used',
      null,
      null,
      'Unused',
      null,
    ]);
  });

  it('keeps the machine whole where a share is not stated', async () => {
    const text = linesOf('cur2_net_split.csv')
      .map((line) => line.replace(',7.373835,1.84345875,', ',,,').replace(',8.19315,2.0482875,', ',,,'))
      .join('\n');
    const { records } = await usageOfText(cur, text);
    expect(amounts(records)[0]).toEqual(['29.49534', '29.49534']);
    expect(formatDecimal(records[2]!.charge!.billed)).toBe('0');
  });
});

describe('alibaba-bill and tencent-bill', () => {
  it('read what a console writes for people: tabs, dashes, times of Beijing', async () => {
    const { records } = await usageOfFile(alibaba, made('alibaba_details_zh.csv'));
    expect(records[0]).toMatchObject({
      account: '1234567890123456',
      subAccount: '2234567890123456',
      resource: 'i-bp1a',
      sku: 'ecs.gn7-c12g1.3xlarge',
      tags: { team: 'vision', env: 'prod' },
      start: Date.UTC(2026, 9, 5, 0),
      end: Date.UTC(2026, 9, 5, 1),
      charge: { category: 'Usage', periodStart: Date.UTC(2026, 8, 30, 16), periodEnd: Date.UTC(2026, 9, 31, 16) },
    });
    expect(records[2]?.charge).toMatchObject({ category: 'Purchase', effective: null });
    expect(records[3]).toMatchObject({
      start: Date.UTC(2026, 9, 4, 16),
      end: Date.UTC(2026, 9, 5, 16),
      charge: { category: 'Adjustment', list: null },
    });
  });

  it('read the English columns alike', async () => {
    const { records } = await usageOfFile(alibaba, made('alibaba_details_en.csv'));
    expect(records.map(({ tags, charge }) => [tags?.['team'], charge?.category])).toEqual([
      ['vision', 'Usage'],
      [undefined, 'Purchase'],
      [undefined, 'Adjustment'],
    ]);
    const bill = await usageOfFile(tencent, made('tencent_details_en.csv'));
    expect(bill.records.map(({ id, charge }) => [id, charge?.category])).toEqual([
      ['2', 'Usage'],
      ['2/tax', 'Tax'],
      ['3', 'Purchase'],
    ]);
    expect(bill.records[0]).toMatchObject({
      account: '200000000001',
      term: 'on-demand',
      start: Date.UTC(2026, 9, 5, 1),
      end: Date.UTC(2026, 9, 5, 2),
      charge: { periodStart: Date.UTC(2026, 8, 30, 16) },
    });
  });

  it('tell spot, on demand, purchases and refunds apart', async () => {
    const { records } = await usageOfFile(tencent, made('tencent_details_zh.csv'));
    expect(records.map(({ term, charge }) => [term, charge?.category])).toEqual([
      ['on-demand', 'Usage'],
      ['spot', 'Usage'],
      [null, 'Purchase'],
      ['on-demand', 'Adjustment'],
    ]);
    expect(records[2]?.end).toBe(Date.UTC(2026, 10, 4, 16));
  });
});
