/**
 * What is in no sum is named wherever a sum is: of a bill that is not final what meters stand for, and metered usage
 * that a filter leaves out since it does not say what the filter asks for. At every door, as `costs` says it.
 */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { BudgetNews } from '../../src/core/alert/alert.js';
import { ENGLISH } from '../../src/core/alert/texts.js';
import { knownBy } from '../../src/application/policy/known-by.js';
import { digestOf } from '../../src/store/alert/news.js';
import type { Report } from '../../src/core/report/report.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { MAKE_ITEM } from '../../src/store/alert/alerts.js';
import { enqueue } from '../../src/store/work.js';
import { bothDoors } from '../support/doors.js';
import { NOW, testApi } from '../support/web.js';

const BILL = `BilledCost,BillingAccountId,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ProviderName,SkuId,ServiceName
1440,a1,USD,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Usage,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Mine,m1,Compute
100,a1,USD,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Usage,2026-10-01T00:00:00Z,2026-11-01T00:00:00Z,Mine,disk,Compute
`;
const PRICES = `provider,sku,region,term,gpuModel,gpus,price,currency,per,effectiveFrom
Mine,m1,,,H100,1,2.00,USD,instance-hour,2026-01-01T00:00:00Z
`;

describe('what is in no sum', async () => {
  const api = await testApi();
  const { there } = bothDoors(api);
  const get = async <T>(address: string): Promise<T> => (await api.call<T>('GET', address)).body;
  let drain = async (): Promise<void> => undefined;

  beforeAll(async () => {
    const { stores } = api;
    const runner = new Runner(stores.db, stores.work, { now: () => NOW }, makeLine(stores, []));
    drain = () => runner.drain();
    await stores.db.transaction(async (tx) => {
      await stores.organisations.saveTeam(tx, 'default', {
        id: 'red',
        name: 'Red',
        parent: null,
        zone: 'UTC',
        currency: 'USD',
        assignedBy: null,
      });
      await stores.organisations.saveRules(tx, 'default', [{ match: { provider: 'Mine' }, team: 'red' }], 'test');
    });
    const sent = await Promise.all([
      api.call('POST', '/v1/prices?filename=p.csv', { body: PRICES, headers: { 'content-type': 'text/csv' } }),
      api.call('PUT', '/v1/budgets/all', { body: { team: 'red', planned: { default: '1000' } } }),
      api.call('PUT', '/v1/budgets/compute', {
        body: { team: 'red', planned: { default: '1000' }, filters: { service: ['Compute'] } },
      }),
      api.call('PUT', '/v1/budgets/berlin', {
        body: {
          team: 'red',
          zone: 'Europe/Berlin',
          planned: { default: '1000' },
          filters: { tag: [{ key: 'app', value: 'x' }], sku: ['m1', 'disk'] },
        },
      }),
    ]);
    expect(sent.map(({ status, text }) => (status < 300 ? 'ok' : text))).toEqual(['ok', 'ok', 'ok', 'ok']);
    const usage = await api.call('POST', '/v1/usage?source=meter', {
      body: {
        records: [
          {
            id: 'm',
            provider: 'Mine',
            account: 'a1',
            sku: 'm1',
            gpus: 1,
            start: '2026-10-06T00:00:00Z',
            end: '2026-10-06T10:00:00Z',
          },
          {
            id: 'v',
            provider: 'Mine',
            account: 'a1',
            sku: 'vol',
            storageGib: 100,
            start: '2026-10-06T00:00:00Z',
            end: '2026-10-06T10:00:00Z',
          },
        ],
      },
    });
    expect(usage.text).toContain('"accepted":2');
    await api.call('POST', '/v1/imports?format=focus&source=bill&filename=bill.csv', {
      body: BILL,
      headers: { 'content-type': 'text/csv' },
    });
    await drain();
  });

  it('is named by costs and by budgets', async () => {
    const costs = await get<{ total: string; lacking: { setAside: unknown } }>('/v1/costs');
    expect([Number(costs.total), costs.lacking.setAside]).toEqual([120, [{ currency: 'USD', cost: '1440' }]]);
    const state = async (id: string) =>
      (await get<{ state: { spent: string; setAside: unknown; unnamed: unknown } }>(`/v1/budgets/${id}/state`)).state;
    const setAside = [{ currency: 'USD', amount: '1440' }];
    expect(await state('all')).toMatchObject({ spent: '120.000000000', setAside, unnamed: [] });
    expect(await state('compute')).toMatchObject({
      spent: '100.000000000',
      setAside,
      unnamed: [{ currency: 'USD', amount: '20.000000000', fields: ['service'] }],
    });
    expect(await state('berlin')).toMatchObject({
      spent: '0.000000000',
      setAside: [],
      unnamed: [{ currency: 'USD', amount: '20.000000000', fields: ['tag'] }],
    });
    expect(await get('/v1/budgets/compute/burn-down')).toMatchObject({ setAside });
    const { out } = await there('budgets', 'list');
    expect(out).toContain('Bills that are not final say so far: all 1440.00 USD, compute 1440.00 USD\n');
    expect(out).toContain('compute: 20.00 USD of metered usage names no service');
  });

  it('a budget says, as costs do, that its days begin within an hour of which the whole counts', async () => {
    const told = /days of Asia\/Kolkata begin within an hour of UTC, and usage is kept by whole hours/;
    for (const zone of ['Asia/Kolkata', 'Europe/Berlin']) {
      await api.call('PUT', '/v1/budgets/cut', { body: { team: 'red', zone, planned: { default: '100' } } });
      await drain();
      const { warnings } = await get<{ warnings: string[] }>('/v1/budgets/cut/state');
      expect(warnings).toEqual(zone === 'Europe/Berlin' ? [] : [expect.stringMatching(told)]);
      expect((await get<{ warnings: string[] }>(`/v1/costs?zone=${zone}`)).warnings).toEqual(warnings);
      const { items } = await get<{ items: { budget: string; warnings: string[] }[] }>('/v1/budget-states');
      expect(items.map(({ budget, warnings: said }) => [budget, said])).toEqual(
        items.map(({ budget }) => [budget, budget === 'cut' ? warnings : []]),
      );
      const { known } = await knownBy(api.stores, api.stores.db, 'default', 'cut', NOW);
      expect(known[1]).toMatch(/^from 2026-(\d\d)-01 to 2026-\1-3[01]: /);
      const { out } = await there('budgets', 'list');
      expect(told.test(out)).toBe(zone !== 'Europe/Berlin');
    }
    await api.call('DELETE', '/v1/budgets/cut');
  });

  it('every answer about costs warns alike: of its zone, of a team that is not there, and of what is not priced yet', async () => {
    const doors = ['', '/breakdown', '/bridge', '/resources'].map((of) => `/v1/costs${of}`);
    const warnings = async (query: string): Promise<(readonly string[])[]> =>
      Promise.all(doors.map(async (door) => (await get<{ warnings: string[] }>(`${door}?${query}`)).warnings));
    expect(await warnings('from=2026-10-01&to=2026-10-08')).toEqual(doors.map(() => []));
    const about = [
      expect.stringMatching(/^days of Asia\/Kolkata begin within an hour of UTC/) as string,
      'there is no team Red, and no cost was ever allocated to it: its sum is not zero, it is not known (did you mean red?)',
    ];
    const question = 'from=2026-10-01&to=2026-10-08&team=Red&zone=Asia/Kolkata';
    expect(await warnings(question)).toEqual(doors.map(() => about));
    for (const flags of [[], ['--compare'], ['--why']]) {
      const asked = ['--from', '2026-10-01', '--to', '2026-10-08', '--team', 'Red', '--zone', 'Asia/Kolkata', ...flags];
      const { out } = await there('costs', ...asked);
      expect(out.split('\n').filter((line) => line.startsWith('Warning: '))).toEqual([
        expect.stringContaining('days of Asia/Kolkata begin') as string,
        expect.stringContaining('there is no team Red') as string,
      ]);
    }
    await enqueue(api.stores.db, 'default', [{ stage: 'cost.rollup', partition: 'red', key: 'red/2026-09-30' }]);
    // Those that compare say so of the period before too.
    const pending = [expect.stringContaining('1 day(s) of teams are being priced or summed') as string];
    expect(await warnings('from=2026-10-03&to=2026-10-08')).toEqual([[], pending, pending, []]);
    expect(await warnings('from=2026-10-03&to=2026-10-08&basis=billed')).toEqual([[], pending, pending, []]);
    expect(
      (await get<{ warnings: string[] }>(`${doors[1]}?from=2026-10-03&to=2026-10-08&compare=none`)).warnings,
    ).toEqual([]);
    await drain();
  });

  it('an answer about costs warns of what was done only while it was made', async () => {
    const { spend, prices, resourceCosts } = api.stores;
    const [sums, fx, costs] = [spend.spend, prices.fx, resourceCosts.costs];
    // Each reads the sums when the line has just done the rest: right before their moment, which holds connections.
    const atRates = (): unknown =>
      vi.spyOn(prices, 'fx').mockImplementation(async (...asked) => drain().then(() => fx.apply(prices, asked)));
    const doors = {
      '': () =>
        vi.spyOn(spend, 'spend').mockImplementation(async (...asked) => drain().then(() => sums.apply(spend, asked))),
      '/breakdown': atRates,
      '/bridge': atRates,
      '/resources': () =>
        vi
          .spyOn(resourceCosts, 'costs')
          .mockImplementation(async (...asked) => drain().then(() => costs.apply(resourceCosts, asked))),
    };
    for (const [of, drainsFirst] of Object.entries(doors)) {
      await enqueue(api.stores.db, 'default', [{ stage: 'cost.rollup', partition: 'red', key: 'red/2026-10-06' }]);
      drainsFirst();
      const { warnings } = await get<{ warnings: string[] }>(`/v1/costs${of}?from=2026-10-03&to=2026-10-08`);
      vi.restoreAllMocks();
      expect({ of, warnings }).toEqual({ of, warnings: [expect.stringContaining('1 day(s) of teams') as string] });
      // It was done meanwhile.
      expect((await get<{ warnings: string[] }>('/v1/costs?from=2026-10-03&to=2026-10-08')).warnings).toEqual([]);
    }
  });

  it('an answer about costs says so where the clocks stand beside whole hours for a part of its days', async () => {
    const about = async (words: string): Promise<number> =>
      (await get<{ warnings: string[] }>(`/v1/costs?${words}`)).warnings.length;
    expect(await about('zone=Australia/Lord_Howe&from=2026-03-05&to=2026-11-01')).toBe(1);
    expect(await about('zone=Australia/Lord_Howe&from=2026-01-05&to=2026-02-01')).toBe(0);
    expect(await about('zone=Australia/Lord_Howe')).toBe(1);
    expect(await about('zone=Europe/Berlin&from=2020-01-01')).toBe(0);
  });

  it('is named by the overview, the report in each form, and its digest', async () => {
    expect(await get('/v1/overview')).toMatchObject({ setAside: [{ currency: 'USD', cost: '1440' }] });
    await api.call('POST', '/v1/reports', { body: { team: 'red', month: '2026-10' } });
    await drain();
    const report = await get<Report>('/v1/reports/red/2026-10?format=json');
    expect(report.spend.setAside).toEqual([{ currency: 'USD', amount: '1440.00' }]);
    expect(report.budgets.find(({ budget }) => budget === 'compute')?.lacking).toEqual([
      { currency: 'USD', amount: '20.000000000' },
    ]);
    for (const format of ['html', 'csv'])
      expect((await api.call('GET', `/v1/reports/red/2026-10?format=${format}`)).text).toMatch(/1,?440/);
    expect(digestOf(report).setAside).toEqual([{ currency: 'USD', amount: '1440.00' }]);
  });

  it('storage without a price is named beside costs, budgets, the overview, reports and their digest', async () => {
    const stored = { provider: 'Mine', sku: 'vol', component: 'storage', quantity: '1000.000000', hours: 10 };
    const costs = await get<{ lacking: { unpriced: unknown } }>('/v1/costs');
    expect(costs.lacking.unpriced).toMatchObject([stored]);
    const unpricedOf = async (id: string) =>
      (await get<{ state: { unpriced: unknown[] } }>(`/v1/budgets/${id}/state`)).state.unpriced;
    expect(await unpricedOf('all')).toMatchObject([stored]);
    // It names no service, so the first may have it; it is of another SKU than the second asks for.
    expect([await unpricedOf('compute'), await unpricedOf('berlin')]).toMatchObject([[stored], []]);
    expect(await get('/v1/budgets/all/burn-down')).toMatchObject({ unpriced: [stored] });
    expect(await get('/v1/overview')).toMatchObject({ unpriced: [stored] });
    expect((await there('budgets', 'list')).out).toContain(
      'all: 1000.00 GiB-hours stored of Mine vol without a price (no-component), and is not counted',
    );
    await api.call('POST', '/v1/reports', { body: { team: 'red', month: '2026-10' } });
    await drain();
    const report = await get<Report>('/v1/reports/red/2026-10?format=json');
    expect(report.spend.unpriced).toMatchObject([stored]);
    for (const format of ['html', 'csv'])
      expect((await api.call('GET', `/v1/reports/red/2026-10?format=${format}`)).text).toContain(
        '1000.0 GiB-hours stored',
      );
    const news = digestOf(report);
    expect(news.unpriced).toMatchObject([stored]);
    expect(JSON.stringify(ENGLISH.content(news))).toContain(
      'Not in any amount: 1000.0 GiB-hours stored of Mine vol without a price (no-component).',
    );
  });

  it('money without an exchange rate is named by the digest, alerts, the first page of the report and the total', async () => {
    const { stores } = api;
    await stores.db.transaction((tx) =>
      stores.organisations.saveRules(tx, 'default', [{ match: {}, team: 'red' }], 'test'),
    );
    const increment = (reference: string): string =>
      `lineItem/referenceNo,lineItem/tenantId,lineItem/intervalUsageStart,lineItem/intervalUsageEnd,cost/myCost,cost/currencyCode,cost/productSku
${reference},t,2026-10-01T01:00Z,2026-10-01T02:00Z,450000,JPY,B1`;
    for (const one of ['1', '2'])
      expect(
        (await api.call('POST', `/v1/imports?source=oci&filename=${one}.csv`, { body: increment(one) })).status,
      ).toBe(200);
    await api.call('PUT', '/v1/budgets/small', {
      body: { team: 'red', planned: { default: '100' }, thresholds: [{ kind: 'actual', ratio: '1' }] },
    });
    await drain();
    const { out } = await there('costs', '--currency', 'USD');
    expect(out).toContain('Total (actual): 120.00 USD\n');
    expect(out).toContain('Not included: 900000.00 JPY without an exchange rate\n');
    // Both files of the month are one bill.
    expect(out.match(/Bill: Oracle.*\n/g)).toHaveLength(1);
    expect((await there('costs', '--currency', 'JPY')).out).toContain('Total (actual): 900000.00 JPY');
    expect((await there('costs', '--currency', 'USD', '--filter', 'provider=Oracle')).out).toContain(
      'Total (actual): nothing that has an exchange rate\n',
    );
    expect((await there('costs', '--currency', 'USD', '--by', 'team', '--compare')).out).toMatch(
      /Total \(actual\), .*: 120\.00 USD\n/,
    );
    await enqueue(stores.db, 'default', [MAKE_ITEM]);
    await drain();
    const alerts = await get<{ items: { news: BudgetNews }[] }>('/v1/alerts');
    const news = alerts.items.map((one) => one.news).find(({ budget }) => budget === 'small');
    expect(news?.unconverted).toEqual([{ currency: 'JPY', amount: null }]);
    await api.call('POST', '/v1/reports', { body: { team: 'red', month: '2026-10' } });
    await drain();
    const digest = JSON.stringify(ENGLISH.content(digestOf(await get<Report>('/v1/reports/red/2026-10?format=json'))));
    expect(digest).toContain('900,000.00 JPY has no exchange rate and is not in any amount.');
    expect(digest).toContain('small: 120.00 USD of 100.00 USD, 120 %; not included: JPY');
  });
});
