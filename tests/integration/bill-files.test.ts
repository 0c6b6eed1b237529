/**
 * Bills as they come, through the API that takes them: what a file is read to, to the last digit, what of it is
 * refused, and what is said about it.
 */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { expect, describe, it } from 'vitest';
import type { ImportedFile } from '../../src/core/ports.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { bothDoors } from '../support/doors.js';
import { ROOT } from '../support/source.js';
import { NOW, testApi } from '../support/web.js';

const api = await testApi();
const bytes = (name: string): Buffer => readFileSync(path.join(ROOT, 'tests/fixtures/bills-made', name));
const text = (name: string): string =>
  bytes(name)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
const linesOf = (name: string): string[] => text(name).trimEnd().split('\n');

interface Taken extends ImportedFile {
  readonly rejects: readonly { readonly line: number; readonly column: string | null; readonly reason: string }[];
}

/** Imports a file into a source, in the stead of what came before, and says what the answer says of it. */
async function take(source: string, filename: string, body: string | Uint8Array): Promise<Taken> {
  const at = `/v1/imports?source=${source}&filename=${filename}&replace=true`;
  const reply = await api.call<{ files: readonly ImportedFile[] }>('POST', at, { body });
  const [file] = reply.body.files ?? [];
  if (reply.status !== 200 || file === undefined) throw new Error(`${reply.status}: ${reply.text}`);
  const listed = await api.call<{ items: Taken['rejects'] }>('GET', `/v1/imports/${file.import}/rejects`);
  return { ...file, rejects: listed.body.items };
}
const billedOf = ({ billed }: ImportedFile): string[] =>
  billed.map(({ provider, currency, amount }) => `${provider} ${amount} ${currency}`);

/** What a source's lines hold, in the database. */
async function held(source: string): Promise<{ billed: string; effective: string }> {
  const [row] = await api.stores.db.query<{ billed: string; effective: string }>(
    `select sum(u.billed)::text as billed, sum(u.effective)::text as effective
     from delivery d join usage_hour u on u.organisation = d.organisation and u.delivery = d.id where d.source = $1`,
    [source],
  );
  return row ?? { billed: '', effective: '' };
}

/** A row of a fixture with some of its fields changed; none of them is quoted. */
function changed(header: string, row: string, fields: Readonly<Record<string, string>>): string {
  const columns = header.split(',');
  const cells: string[] = row.match(/(?:"(?:[^"]|"")*"|[^,]*)(?:,|$)/g) ?? [];
  for (const [name, value] of Object.entries(fields)) {
    const at = columns.indexOf(name);
    if (at < 0) throw new Error(`there is no column ${name}`);
    cells[at] = `${value}${at < columns.length - 1 ? ',' : ''}`;
  }
  return cells.join('');
}

describe('gcp-billing', () => {
  it('keeps every digit of a number of JSON, of credits too', async () => {
    const [line = ''] = linesOf('gcp_detailed.jsonl');
    const long = line.replace('"cost": 23.475088', '"cost": 12345678901234567.12345678901234567891');
    expect(long).not.toBe(line);
    const row = JSON.parse(line) as { credits: { amount: number }[] };
    const credits = row.credits.reduce((sum, { amount }) => sum + amount, 0);
    expect(credits).toBeLessThan(0);
    const exact = long.replace(/"credits": \[.*?\]/, '"credits": [{"name": "d", "amount": -0.00000000000000000001}]');
    expect(billedOf(await take('gcp', 'a.jsonl', `${exact}\n`))).toEqual([
      'Google Cloud 12345678901234567.12345678901234567890 USD',
    ]);
    const csv = linesOf('gcp_standard.csv');
    const [header = '', first = ''] = csv;
    const listed = changed(header, first, { cost: '1', credits: '"[{""amount"": -0.12345678901234567891}]"' });
    expect(billedOf(await take('gcp-csv', 'a.csv', `${header}\n${listed}\n`))).toEqual([
      'Google Cloud 0.87654321098765432109 EUR',
    ]);
  });
});

describe('aws-cur', () => {
  const [header = '', machine = '', , pod = '', other = ''] = linesOf('cur2_net_split.csv');
  const cur = (...rows: readonly string[]): string => `${[header, ...rows].join('\n')}\n`;
  const amount = { line_item_unblended_cost: '100', line_item_net_unblended_cost: '90' };

  it('counts a discount once: inside the net cost of the lines, not by a line of its own too', async () => {
    const usage = changed(header, machine, { ...amount, identity_line_item_id: 'u' });
    const discount = { line_item_line_item_type: 'EdpDiscount', line_item_unblended_cost: '-10' };
    const empty = changed(header, machine, { ...discount, line_item_net_unblended_cost: '' });
    expect(billedOf(await take('net', 'a.csv', cur(usage, empty)))).toEqual(['AWS 90 USD']);
    const zero = changed(header, machine, { ...discount, line_item_net_unblended_cost: '0' });
    expect(billedOf(await take('net', 'a.csv', cur(usage, zero)))).toEqual(['AWS 90 USD']);
    const columns = header.split(',').filter((name) => name !== 'line_item_net_unblended_cost');
    const gross = (row: string): string => {
      const cells: string[] = row.match(/(?:"(?:[^"]|"")*"|[^,]*)(?:,|$)/g) ?? [];
      cells.splice(header.split(',').indexOf('line_item_net_unblended_cost'), 1);
      return cells.join('');
    };
    const plain = [columns.join(','), gross(usage), gross(empty), ''].join('\n');
    expect(billedOf(await take('net', 'a.csv', plain))).toEqual(['AWS 90 USD']);
  });

  it('leaves a share of a machine where it is when the line of the pod, or of the machine, is rejected', async () => {
    const bad = { line_item_usage_end_date: 'later' };
    // Net: the machine 29.49534, the pods 18.4345875 and 9.21729375 of it.
    await take('split', 'a.csv', cur(machine, pod, other));
    expect(Number((await held('split')).billed)).toBe(29.49534);
    const podless = await take('split', 'a.csv', cur(machine, changed(header, pod, bad), other));
    expect([podless.rejected, podless.rejects[0]?.line]).toEqual([1, 3]);
    expect(Number((await held('split')).billed)).toBe(29.49534);
    const machineless = await take('split', 'a.csv', cur(changed(header, machine, bad), pod, other));
    expect([machineless.accepted, machineless.rejected]).toEqual([2, 1]);
    expect(Number((await held('split')).billed)).toBe(0);
  });
});

describe('alibaba-bill', () => {
  const [header = '', first = ''] = linesOf('alibaba_details_en.csv');
  const en = (...rows: readonly string[]): string => `${[header, ...rows].join('\n')}\n`;

  it('reads the types of bill by the words of the console, in English and Chinese', async () => {
    const words = ['Pay-As-You-Go Bill', 'Subscription Order', 'Refund', 'Adjustment', 'PayAsYouGoBill'];
    const chinese = ['预付费订单', '后付费账单', '退款账单', '调账账单'];
    const rows = [...words, ...chinese].map((Item) => changed(header, first, { Item, PretaxAmount: '1' }));
    expect(await take('ali', 'a.csv', en(...rows))).toMatchObject({ accepted: 9, rejected: 0, unknownColumns: [] });
    const wrong = await take('ali', 'a.csv', en(changed(header, first, { Item: 'Gift' })));
    expect(wrong.rejects).toMatchObject([{ line: 2, column: 'Item' }]);
  });

  it('makes a tax a line of its own, in the currency of the payment, and names columns that it does not read', async () => {
    const columns = `${header},Tax,PaymentCurrency,AfterTaxAmount,Surcharge`;
    const row = changed(header, first, { PretaxAmount: '10' });
    const taken = await take('ali', 'a.csv', `${columns}\n${row},0.9,,10.9,3\n${row},120,JPY,,\n`);
    expect(billedOf(taken)).toEqual(['Alibaba Cloud 20.9 USD', 'Alibaba Cloud 120 JPY']);
    expect(taken.unknownColumns).toEqual(['Surcharge']);
    const untaxed = await take('ali', 'a.csv', `${header},AfterTaxAmount\n${row},10.9\n`);
    expect([billedOf(untaxed), untaxed.unknownColumns]).toEqual([['Alibaba Cloud 10 USD'], ['AfterTaxAmount']]);
  });

  it('reads GB18030, and dates that a spreadsheet wrote with slashes', async () => {
    const plain = await take('ali-zh', 'a.csv', text('alibaba_details_zh.csv'));
    const gb = await take('ali-gb', 'a.csv', bytes('alibaba_details_zh_gb18030.csv'));
    expect([gb.format, gb.rejected, billedOf(gb)]).toEqual(['alibaba-bill', 0, billedOf(plain)]);
    const slashed = text('alibaba_details_zh.csv').replaceAll(
      /(\d{4})-(\d\d)-(\d\d) (\d\d):/g,
      (_, year, month, day, hour) => `${year}/${Number(month)}/${Number(day)} ${Number(hour)}:`,
    );
    expect(slashed).toContain('2026/10/5 8:00:00');
    const again = await take('ali-gb', 'a.csv', slashed.replaceAll(/^2026-10,/gm, '2026/10,'));
    expect([again.rejected, billedOf(again)]).toEqual([0, billedOf(plain)]);
  });

  it('refuses the row of a file in GB18030 that is in no encoding, and no other', async () => {
    const broken = Buffer.from(bytes('alibaba_details_zh_gb18030.csv'));
    // The second byte of the first character of the last row's product becomes none that there is.
    const at = broken.lastIndexOf(Buffer.from([0xd4, 0xc6, 0xb7, 0xfe, 0xce, 0xf1, 0xc6, 0xf7, 0x20]));
    broken[at + 1] = 0xff;
    const taken = await take('ali-broken', 'a.csv', broken);
    expect([taken.accepted, taken.rejected, taken.rejects[0]?.reason]).toEqual([
      3,
      1,
      expect.stringContaining('not UTF-8'),
    ]);
  });
});

describe('tencent-bill', () => {
  it.each([
    [
      'tencent_details_zh.csv',
      '交易类型',
      ['升配', '自动续费', '预留实例每小时使用费', '包年包月配置变更', '月度计费精度差异'],
    ],
    [
      'tencent_details_en.csv',
      'TransactionType',
      ['Reserved instance upfront fee', 'Hourly RI fee', 'One-off RI Fee', 'Modify', 'Upgrade/Downgrade', 'Renewal'],
    ],
  ])('knows the transaction types of %s', async (name, column, words) => {
    const [header = '', first = ''] = linesOf(name);
    const rows = words.map((word) => changed(header, first, { [column]: word }));
    const taken = await take('tencent', name, `${[header, ...rows].join('\n')}\n`);
    expect(taken).toMatchObject({ rejected: 0, unknownColumns: [] });
  });
});

const FOCUS = [
  'BilledCost',
  'BillingAccountId',
  'SubAccountId',
  'BillingCurrency',
  'BillingPeriodStart',
  'BillingPeriodEnd',
  'ChargeCategory',
  'ChargePeriodStart',
  'ChargePeriodEnd',
  'ProviderName',
  'SkuId',
] as const;

/** A FOCUS bill of October 2026 of the payer `p`. */
const focus = (...lines: readonly Partial<Record<(typeof FOCUS)[number], string>>[]): string =>
  [FOCUS, ...lines.map((line) => FOCUS.map((name) => ({ ...OCTOBER, ...line })[name]))]
    .map((row) => `${row.join(',')}\n`)
    .join('');
const OCTOBER: Readonly<Record<(typeof FOCUS)[number], string>> = {
  BilledCost: '10',
  BillingAccountId: 'p',
  SubAccountId: '',
  BillingCurrency: 'USD',
  BillingPeriodStart: '2026-10-01T00:00:00Z',
  BillingPeriodEnd: '2026-11-01T00:00:00Z',
  ChargeCategory: 'Usage',
  ChargePeriodStart: '2026-10-05T00:00:00Z',
  ChargePeriodEnd: '2026-10-05T01:00:00Z',
  ProviderName: 'Parted',
  SkuId: 'm1',
};

describe('parts of a bill by sub-account', () => {
  const tax = { ChargeCategory: 'Tax', BilledCost: '3', SkuId: '' };
  const [one, two] = [{ SubAccountId: 's1' }, { SubAccountId: 's2' }];
  const send = (source: string, body: string, query = '') =>
    api.call('POST', `/v1/imports?source=${source}&filename=part.csv${query}`, { body });
  const deliver = async (source: string, files: Readonly<Record<string, string>>) => {
    await api.call('PUT', `/v1/deliveries/${source}`, { body: { source } });
    for (const [name, body] of Object.entries(files))
      await api.call('POST', `/v1/deliveries/${source}/files?filename=${name}`, { body });
    return api.call('POST', `/v1/deliveries/${source}/commit`);
  };

  it('are refused where they repeat what is the payer itself, whatever else is asked for', async () => {
    expect((await send('part-1', focus(one, tax))).status).toBe(200);
    for (const query of ['', '&replace=true']) {
      const refused = await send('part-2', focus(two, tax), query);
      expect([refused.status, refused.text]).toEqual([
        409,
        expect.stringMatching(
          /1 line\(s\) of the payer p itself \(such as Tax, 3 USD of 2026-10-05\).*part-1.*count twice/,
        ),
      ]);
    }
    expect(await held('part-2')).toMatchObject({ billed: null });
    // Another amount, another time: a line of its own.
    const others = focus(two, { ...tax, BilledCost: '4' }, { ...tax, ChargePeriodEnd: '2026-10-07T00:00:00Z' });
    expect((await send('part-2', others)).status).toBe(200);
    // The first part comes again as it was, and without the tax, and then the second may have it.
    expect((await send('part-1', focus(one, tax))).status).toBe(200);
    expect((await send('part-1', focus(one))).status).toBe(200);
    expect((await send('part-2', focus(two, tax))).status).toBe(200);
    expect([Number((await held('part-1')).billed), Number((await held('part-2')).billed)]).toEqual([10, 13]);
  });

  it('are refused in one delivery too, by the names of their files, and pieces of one list are not', async () => {
    const payer = { BillingAccountId: 'q' };
    const [a, b] = [
      { ...one, ...payer },
      { ...two, ...payer },
    ];
    const mine = { ...tax, ...payer };
    const own = { ...tax, ...payer, SubAccountId: 'q' };
    for (const line of [mine, own]) {
      const refused = await deliver('parts', { 'a.csv': focus(a, line), 'b.csv': focus(b, line) });
      expect([refused.status, refused.text]).toEqual([
        409,
        expect.stringMatching(
          /1 line\(s\) of the payer q itself .* are in both a\.csv and b\.csv: they would count twice/,
        ),
      ]);
      await api.call('DELETE', '/v1/deliveries/parts');
    }
    // Two equal lines of one list, cut between them: both files name s1.
    const pieces = await deliver('pieces', { 'a.csv': focus(a, b, mine), 'b.csv': focus(a, mine) });
    expect([pieces.status, Number((await held('pieces')).billed)]).toEqual([200, 36]);
    expect((await send('pieces', focus(a, b, mine, mine))).status).toBe(200);
    expect(Number((await held('pieces')).billed)).toBe(26);
  });
});

describe('an open bill', () => {
  it('says at its import which metered machine it has no line of while other usage of it counts', async () => {
    const { stores } = api;
    const runner = new Runner(stores.db, stores.work, { now: () => NOW }, makeLine(stores, []));
    const prices =
      'provider,sku,region,term,gpuModel,gpus,price,currency,per,effectiveFrom\n' +
      'Meters,m1,,,H100,1,2.00,USD,instance-hour,2026-01-01T00:00:00Z\n';
    const priced = await api.call('POST', '/v1/prices?filename=p.csv', { body: prices });
    expect(priced.status).toBe(200);
    const record = { id: 'r', provider: 'Meters', account: 'p', sku: 'm1', gpus: 1, resource: 'pod-1' };
    const times = { start: '2026-10-05T00:00:00Z', end: '2026-10-05T01:00:00Z' };
    await api.call('POST', '/v1/usage?source=meter', { body: { records: [{ ...record, ...times }] } });
    await runner.drain();
    const meters = { ProviderName: 'Meters' };
    const other = await take('open', 'bill.csv', focus({ ...meters, SkuId: 'JRTC123' }));
    expect(other.warnings).toEqual([
      expect.stringMatching(
        /^m1 of Meters account p was metered from 2026-10-05 to 2026-10-05, and no line of this bill/,
      ),
    ]);
    expect((await take('open', 'bill.csv', focus(meters))).warnings).toEqual([]);
  });
});

describe('files', () => {
  it('in no format that is known say so where they are no text in UTF-8', async () => {
    const taken = take('unknown', 'a.csv', Buffer.from([0xff, 0x2c, 0x61, 0x0a, 0x31, 0x2c, 0x32, 0x0a]));
    await expect(taken).rejects.toThrow(/400.*is not UTF-8 text/s);
    await expect(take('unknown', 'a.csv', 'a,b\n1,2\n')).rejects.toThrow(/400(?!.*UTF-8)/s);
  });

  it('that no format can read say what they are, at every entry point', async () => {
    const zip = Buffer.concat([Buffer.from('504b0304', 'hex'), Buffer.alloc(30, 'x')]);
    const page = '<!DOCTYPE html><html><body>Sign in</body></html>';
    const table = text('focus_1_3.csv').replaceAll(',', ';');
    await api.call('PUT', '/v1/deliveries/kinds', { body: { source: 'kinds' } });
    for (const [body, said] of [
      [zip, 'a.csv is a zip archive: unpack it'],
      [page, 'a.csv is an HTML page'],
    ] as const) {
      for (const at of ['imports?', 'prices?', 'deliveries/kinds/files?']) {
        const refused = await api.call('POST', `/v1/${at}filename=a.csv`, { body });
        expect([at, refused.status, refused.text]).toEqual([at, 400, expect.stringContaining(said)]);
      }
    }
    expect((await api.call<{ files: unknown[] }>('DELETE', '/v1/deliveries/kinds')).body.files).toEqual([]);
    await expect(take('kinds', 'a.csv', table)).rejects.toThrow(/400.*separated by semicolons: save it as CSV/s);
    const named = await api.call('POST', '/v1/imports?source=kinds&filename=a.csv&format=focus', { body: table });
    expect([named.status, named.text]).toEqual([
      400,
      expect.stringContaining('a.csv cannot be read. It is separated by'),
    ]);
    const folder = await mkdtemp(path.join(tmpdir(), 'bursar-kinds-'));
    const { here, there } = bothDoors(api);
    const [header = ''] = linesOf('focus_1_3.csv');
    for (const [name, content, code, said] of [
      ['a.csv', zip, 1, 'a.csv is a zip archive: unpack it'],
      ['t.csv', text('focus_1_3.csv').replaceAll(',', '\t'), 1, 'It is separated by tabs: save it as CSV'],
      ['e.csv', '', 1, 'is empty'],
      ['h.csv', `${header}\n`, 0, 'it has no line that counts, at most a header: it changes nothing'],
    ] as const) {
      await writeFile(path.join(folder, name), content);
      for (const door of [here, there]) {
        const {
          code: ended,
          out,
          err,
        } = await door('import', path.join(folder, name), '--source', 'kinds', '--no-wait');
        expect([name, ended, out + err]).toEqual([name, code, expect.stringContaining(said)]);
      }
    }
    await rm(folder, { recursive: true });
    // A delivery refuses an empty file at once, and a table that may yet be known by its name when it is committed.
    await api.call('PUT', '/v1/deliveries/kinds', { body: { source: 'kinds' } });
    const add = '/v1/deliveries/kinds/files?filename=a.csv';
    expect((await api.call('POST', add, { body: '' })).text).toContain('a.csv is empty');
    expect((await api.call('POST', add, { body: table })).status).toBe(200);
    const refused = await api.call('POST', '/v1/deliveries/kinds/commit');
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('It is separated by semicolons')]);
    await api.call('DELETE', '/v1/deliveries/kinds');
    await expect(take('kinds', 'a.csv', gzipSync(''))).rejects.toThrow(/400.*it is empty/is);
    const prices = 'provider,sku,region,price,currency,effectiveFrom\n';
    const list = await api.call('POST', '/v1/prices?filename=p.csv', { body: prices });
    expect([list.status, list.text]).toEqual([400, expect.stringContaining('p.csv has no price')]);
  });

  it('of which no line says what it is, say that the hours of a machine cannot be told', async () => {
    const columns =
      'BilledCost,BillingAccountId,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ProviderName,ServiceName,ResourceId,SkuId';
    const line = (resource: string, sku: string): string =>
      `3.00,a,USD,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Usage,2026-10-02T00:00:00Z,2026-10-02T01:00:00Z,Alibaba Cloud,Elastic Compute Service,${resource},${sku}`;
    const taken = async (...lines: string[]): Promise<unknown> =>
      (
        await api.call<{ files: { warnings: string[] }[] }>(
          'POST',
          '/v1/imports?source=silent&filename=s.csv&dryRun=true',
          { body: [columns, ...lines, ''].join('\n') },
        )
      ).body.files[0]?.warnings;
    expect(await taken(line('i-1', 'K1'), line('i-2', 'K1'))).toEqual([]);
    expect(await taken(line('i-1', 'K1'), line('i-1', 'K2'), line('i-1', 'K3'), line('i-2', 'K1'))).toEqual([
      expect.stringContaining('1 machine(s), such as i-1, have lines of several SKUs that say neither meter nor'),
    ]);
  });

  it('of a header alone are taken, and say so', async () => {
    const [header = '', ...lines] = linesOf('focus_1_3.csv');
    const taken = await take('header', 'a.csv', `${header}\n`);
    expect([taken.rows, taken.warnings]).toEqual([
      0,
      ['it has no line that counts, at most a header: it changes nothing'],
    ]);
    expect((await take('header', 'a.csv', `${[header, ...lines].join('\n')}\n`)).warnings).toEqual([]);
    // It takes nothing away of what there is.
    const before = await held('header');
    await take('header', 'a.csv', `${header}\n`);
    expect(await held('header')).toEqual(before);
    const contracts = await take('header', 'c.csv', bytes('focus_contracts_1_4.csv'));
    expect(contracts.warnings).toEqual([]);
  });

  it('of FOCUS 1.3 name the provider by whichever of both columns says it, the newer one first', async () => {
    const both = (older: string, newer: string): string => {
      const [header = '', row = ''] = focus({ ProviderName: older, BillingAccountId: 'both' }).split('\n');
      return `${header},ServiceProviderName\n${row},${newer}\n`;
    };
    expect(billedOf(await take('both', 'a.csv', both('', 'Newer')))).toEqual(['Newer 10 USD']);
    expect(billedOf(await take('both', 'a.csv', both('Older', '')))).toEqual(['Older 10 USD']);
    expect(billedOf(await take('both', 'a.csv', both('Reseller', 'Newer')))).toEqual(['Newer 10 USD']);
    expect((await take('both', 'a.csv', both('', ''))).rejects).toMatchObject([{ column: 'ServiceProviderName' }]);
  });

  it('of a FOCUS bill in Parquet count as the same bill in CSV', async () => {
    const [header = '', ...rows] = linesOf('focus_aws.csv');
    const cells = rows.map((row) =>
      (row.match(/(?:"(?:[^"]|"")*"|[^,]*)(?:,|$)/g) ?? []).map((cell) =>
        cell.replace(/,$/, '').replace(/^"|"$/g, '').replaceAll('""', '"'),
      ),
    );
    const columnData = header
      .split(',')
      .map((name, at) => ({ name, data: cells.map((row) => row[at] ?? ''), type: 'STRING' as const }));
    const csv = await take('focus-csv', 'bill.csv', text('focus_aws.csv'));
    const parquet = await take('focus-parquet', 'bill.parquet', new Uint8Array(parquetWriteBuffer({ columnData })));
    expect([parquet.format, parquet.accepted, billedOf(parquet)]).toEqual(['focus', 5, billedOf(csv)]);
    expect(billedOf(csv)).toEqual(['AWS 34.5358818284 USD']);
  });
});
