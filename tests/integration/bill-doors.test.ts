/**
 * Bills through the API and the command line: their states beside costs, the same bill from a second source, how long
 * bills settle, and what doctor finds.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { usageText } from '../../src/cli/verbs/imports.js';
import type { ImportedFile } from '../../src/core/ports.js';
import { testCommand } from '../support/command.js';
import { testApi } from '../support/web.js';

const COLUMNS = [
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
  'ResourceId',
  'SkuId',
  'InvoiceId',
] as const;

/** A bill of September 2026 with one line an hour long. */
function bill(cost: string, over: Partial<Record<(typeof COLUMNS)[number], string>> = {}): string {
  const row: Partial<Record<string, string>> = {
    BilledCost: cost,
    BillingAccountId: '42',
    BillingCurrency: 'USD',
    BillingPeriodStart: '2026-09-01T00:00:00Z',
    BillingPeriodEnd: '2026-10-01T00:00:00Z',
    ChargeCategory: 'Usage',
    ChargePeriodStart: '2026-09-20T00:00:00Z',
    ChargePeriodEnd: '2026-09-20T01:00:00Z',
    ProviderName: 'AWS',
    SkuId: 'p5.48xlarge',
    ...over,
  };
  return `${COLUMNS.join(',')}\n${COLUMNS.map((name) => row[name] ?? '').join(',')}\n`;
}

interface Stated {
  readonly source: string;
  readonly account: string | null;
  readonly state: string;
  readonly finalAt: string | null;
}
interface Costs {
  readonly total: string | null;
  readonly bills: readonly Stated[];
}
const stated = ({ bills }: { readonly bills: readonly Stated[] }): string[] =>
  bills.map(({ source, account, state, finalAt }) => `${source} ${account} ${state} ${finalAt?.slice(0, 10) ?? '-'}`);

describe('bills through the API', async () => {
  const api = await testApi();
  const send = (source: string, text: string, query = '') =>
    api.call<{ files: Record<'replaced' | 'removed', { account: string; records: number }[]>[] }>(
      'POST',
      `/v1/imports?format=focus&source=${source}&filename=bill.csv${query}`,
      { body: text, headers: { 'content-type': 'text/csv' } },
    );
  const costs = async () => (await api.call<Costs>('GET', '/v1/costs')).body;

  it('have a state, are refused from a second source, and are replaced by it where that is asked for', async () => {
    expect((await send('cur', bill('7'))).status).toBe(200);
    expect(stated(await costs())).toEqual(['cur 42 settling 2026-10-11']);
    const refused = await send('focus', bill('8', { InvoiceId: 'INV-1' }));
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining('the source \\"cur\\"')]);
    expect((await send('focus', bill('8', { InvoiceId: 'INV-1' }), '&replace=maybe')).status).toBe(400);
    expect(stated(await costs())).toEqual(['cur 42 settling 2026-10-11']);
    const replaced = await send('focus', bill('8', { InvoiceId: 'INV-1' }), '&replace=true');
    expect([replaced.status, replaced.body.files[0]?.replaced]).toMatchObject([200, [{ account: '42', records: 1 }]]);
    expect(stated(await costs())).toEqual(['focus 42 final -']);
    expect(stated((await api.call<Costs>('GET', '/v1/overview')).body)).toEqual(['focus 42 final -']);
    const red = await api.keyFor({ teams: ['red'] });
    expect((await api.call<Costs>('GET', '/v1/costs', { key: red })).body.bills).toEqual([]);
    expect((await api.call<Costs>('GET', '/v1/overview', { key: red })).body.bills).toEqual([]);
    expect((await api.call<Costs>('GET', '/v1/costs?basis=billed')).body.bills).toEqual([]);
  });

  it('that a restated delivery no longer has are said to be removed', async () => {
    await send('s', together(bill('7', { BillingAccountId: '51' }), bill('20', { BillingAccountId: '52' })));
    const { files } = (await send('s', bill('21', { BillingAccountId: '52' }))).body;
    expect(files).toMatchObject([
      { replaced: [{ account: '52', records: 1 }], removed: [{ account: '51', records: 1 }] },
    ]);
  });
});

/** One bill of several payers. */
const together = (...bills: readonly string[]): string =>
  bills.map((text, at) => (at === 0 ? text : text.slice(text.indexOf('\n') + 1))).join('');

describe('bills at the command line', async () => {
  const command = await testCommand(Date.UTC(2026, 9, 7));
  beforeEach(() => command.empty());
  const take = async (source: string, text: string, ...flags: string[]) =>
    command.ask('import', await command.file(`${source}.csv`, text), '--source', source, ...flags);
  const costs = () => command.ask<Costs>('costs');
  const total = async (): Promise<string> => Number((await costs()).total).toFixed(2);
  const found = async (check: string): Promise<string[]> =>
    (await command.ask<{ findings: { check: string; status: string; detail: string }[] }>('doctor')).findings.flatMap(
      (one) => (one.check === check ? [`${one.status}: ${one.detail}`] : []),
    );

  it('are refused from a second source, and replaced with --replace, which can be undone', async () => {
    await take('cur', bill('7'));
    await expect(take('focus', bill('8'))).rejects.toThrow('--replace');
    expect([await total(), stated(await costs())]).toEqual(['7.00', ['cur 42 settling 2026-10-11']]);
    const { files } = (await take('focus', bill('8'), '--replace')) as { files: { import: string }[] };
    expect([await total(), stated(await costs())]).toEqual(['8.00', ['focus 42 settling 2026-10-11']]);
    expect(await command.ask('imports', 'undo', files[0]?.import ?? '')).toMatchObject({
      undone: { records: 1, restored: [{ account: '42', records: 1 }] },
    });
    expect([await total(), stated(await costs())]).toEqual(['7.00', ['cur 42 settling 2026-10-11']]);
  });

  it('that a restated delivery no longer has are said to be removed, apart from what was replaced', async () => {
    const [other, restated] = [bill('7', { BillingAccountId: '41' }), bill('21')];
    await take('s', together(other, bill('20')));
    const { files } = (await take('s', restated)) as { files: { import: string }[] };
    expect(files).toMatchObject([
      {
        replaced: [{ account: '42', records: 1 }],
        removed: [{ account: '41', periodStart: '2026-09-01T00:00:00.000Z' }],
      },
    ]);
    expect(await total()).toBe('21.00');
    await command.ask('imports', 'undo', files[0]?.import ?? '');
    expect(await total()).toBe('27.00');
    const text = usageText(((await take('s', restated)) as { files: ImportedFile[] }).files);
    expect(text).toContain('s.csv replaced the bill of AWS account 42 from 2026-09-01 (1 records)');
    expect(text).toContain(
      'removed: the bill of AWS account 41 from 2026-09-01 (1 records) came together with the bill that s.csv restates, and is not in this file',
    );
  });

  it('settle for as long as --settling says, of all providers or of one', async () => {
    await take('cur', bill('7'));
    expect(await command.ask('reconcile', '--settling', '20')).toEqual({ settling: { days: 20, providers: {} } });
    expect(stated(await costs())).toEqual(['cur 42 settling 2026-10-21']);
    const settling = { days: 20, providers: { AWS: 3 } };
    expect(await command.ask('reconcile', '--settling', 'AWS=3')).toEqual({ settling });
    expect(stated(await costs())).toEqual(['cur 42 final -']);
    for (const wrong of ['soon', 'AWS=', '500', '-1'])
      await expect(command.ask('reconcile', '--settling', wrong)).rejects.toThrow(/settling|days/);
    await expect(command.ask('reconcile', '--settling', '3', '--rates')).rejects.toThrow('--settling');
  });

  it('are found by doctor where two sources have the same, or none knows a metered account', async () => {
    await command.ask('reconcile', '--settling', 'AWS=20');
    await take('cur', bill('7'));
    expect([await found('bills twice'), await found('unknown accounts')]).toEqual([
      ['ok: none'],
      [expect.stringMatching(/^ok: none in/)],
    ]);
    const record = {
      id: 'r1',
      provider: 'AWS',
      account: '77',
      sku: 'p5.48xlarge',
      gpus: 8,
      start: '2026-09-20T00:00:00Z',
      end: '2026-09-20T01:00:00Z',
    };
    await command.ask('import', await command.file('usage.json', { records: [record] }), '--source', 'meter');
    expect(await found('unknown accounts')).toEqual([
      'attend: AWS 77: metered from 2026-09-20 to 2026-09-20, but no bill of the provider names it: it is counted in addition to the bills',
    ]);
    await take('cur', bill('7', { SubAccountId: '77' }));
    expect(await found('unknown accounts')).toEqual([expect.stringMatching(/^ok/)]);
    await take('focus', bill('8', { BillingAccountId: '43' }));
    // A machine of which the open bill has no line, by its name, beside one that the bill alone knows.
    const list =
      'provider,sku,region,term,gpuModel,gpus,price,currency,per,effectiveFrom\nAWS,m1,,,H100,1,2,USD,instance-hour,2026-01-01\n';
    await command.ask('prices', await command.file('list.csv', list));
    const other = { ...record, id: 'r2', account: '43', sku: 'm1', gpus: 1, resource: 'pod-1' };
    await command.ask('import', await command.file('more.json', { records: [other] }), '--source', 'meter');
    expect(await found('usage beside bills')).toEqual([
      'attend: AWS 43: m1 was metered from 2026-09-20 to 2026-09-20, but no line of its open bill is about it, while other usage in that bill counts: it may be counted twice until the bill is final',
    ]);
    await take('focus', bill('8', { BillingAccountId: '43', SkuId: 'm1', ResourceId: 'pod-1' }));
    expect(await found('usage beside bills')).toEqual([]);
    // As a version before this one took it: nobody asked whether another source has the bill.
    await command.bursar.stores.db.query(`update delivery set account = '42' where source = 'focus'`);
    expect(await found('bills twice')).toEqual([
      'wrong: the bill of AWS account 42 from 2026-09-01 is counted twice, from cur and focus',
    ]);
  });

  it('in parts that repeat what is the payer itself are found by doctor', async () => {
    const tax = { ChargeCategory: 'Tax', SubAccountId: '', SkuId: '' };
    await take('one', together(bill('7', { SubAccountId: 's1' }), bill('3', tax)));
    const other = { BillingAccountId: '43' };
    await take('two', together(bill('8', { ...other, SubAccountId: 's2' }), bill('3', { ...tax, ...other })));
    expect(await found('bills twice')).toEqual(['ok: none']);
    // As a version before this one took it.
    await command.bursar.stores.db.query(`update delivery set account = '42' where source = 'two'`);
    expect(await found('bills twice')).toEqual([
      'wrong: 1 line(s) of the payer 42 of AWS itself (such as Tax, 3 USD of 2026-09-20) are counted twice, from one and two',
    ]);
  });
});
