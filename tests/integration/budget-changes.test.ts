/**
 * Budgets that are changed, removed and made again; what they count on which basis and by which filters; and on which
 * dates whole days of a bill count, wherever a budget's zone is. Amounts are counted by hand.
 */
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import { parseDecimal } from '../../src/core/decimal.js';
import { monthOfLabel } from '../../src/core/time.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { happened } from '../../src/store/alert/news.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered } from '../support/records.js';
import { testApi } from '../support/web.js';
import { evaluateBudget } from '../../src/core/budget/budget.js';
import { monthBudget } from '../support/makers.js';

const DAY = 24 * HOUR;
const OCTOBER_20 = Date.UTC(2026, 9, 20);

const budget = (id: string, amount: string, over: Partial<Budget> = {}): Budget =>
  monthBudget({
    id,
    team: 'unallocated',
    planned: { default: amount, periods: {} },
    thresholds: [
      { kind: 'actual', ratio: '0.5' },
      { kind: 'actual', ratio: '1' },
    ],
    ...over,
  });

async function set(bursar: TestBursar, ...budgets: Budget[]): Promise<void> {
  for (const one of budgets)
    await bursar.db.transaction((tx) => setBudget(bursar.stores, tx, 'default', one, bursar.clock.now()));
  await bursar.runner.drain();
}

async function use(bursar: TestBursar, ...records: UsageRecord[]): Promise<void> {
  await bursar.take(records);
  await bursar.runner.drain();
}

const told = async (bursar: TestBursar, id: string): Promise<string[]> =>
  (await bursar.stores.budgets.crossings('default', id)).map(({ kind, ratio, round }) => `${kind}:${ratio} #${round}`);

async function spent(bursar: TestBursar, id: string): Promise<Record<string, number>> {
  const one = await bursar.stores.budgets.get(bursar.db, 'default', id);
  const periods = await bursar.stores.budgets.periods('default', one!, bursar.clock.now());
  return Object.fromEntries(periods.map(({ label, state }) => [label, Number(state.spent)]));
}

describe('a budget that is changed', async () => {
  const bursar = await testBursar({ now: OCTOBER_20 });
  const hour = (n: number): UsageRecord => {
    const start = OCTOBER_20 - (n + 1) * HOUR;
    return metered(`h${n}`, { start, end: start + HOUR });
  };

  it('tells a threshold again where it was raised beyond the spend, and only there', async () => {
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    await set(bursar, budget('b', '100'));
    await use(bursar, ...[0, 1, 2, 3, 4, 5].map(hour));
    expect(await told(bursar, 'b')).toEqual(['actual:0.5 #1']);
    // 60 of 110 are more than half still, of 200 no longer.
    const holds = async () => (await bursar.stores.budgets.crossings('default', 'b')).map((one) => one.holds);
    await set(bursar, budget('b', '110'));
    expect(await holds()).toEqual([true]);
    await set(bursar, budget('b', '200'));
    expect(await holds()).toEqual([false]);
    expect(await told(bursar, 'b')).toEqual(['actual:0.5 #1']);
    await use(bursar, hour(6), hour(7), hour(8));
    expect(await told(bursar, 'b')).toEqual(['actual:0.5 #1']);
    await use(bursar, hour(9));
    expect(await told(bursar, 'b')).toEqual(['actual:0.5 #1', 'actual:0.5 #2']);
    expect(await holds()).toEqual([false, true]);
    // Without the threshold nothing of it is crossed; with it again, it is, and nobody is told twice.
    await set(bursar, budget('b', '200', { thresholds: [{ kind: 'actual', ratio: '0.9' }] }));
    expect(await holds()).toEqual([false, false]);
    await set(bursar, budget('b', '200', { thresholds: [{ kind: 'actual', ratio: '0.50' }] }));
    expect(await holds()).toEqual([false, true]);
  });

  it('has the periods of the zone and the length that it has now', async () => {
    const now = () => bursar.clock.now();
    const state = async () => (await bursar.stores.budgets.states('default', now(), 'z'))[0]!;
    await set(bursar, budget('z', '200', { zone: 'America/Los_Angeles' }));
    expect(await state()).toMatchObject({ periodStart: '2026-10-01T07:00:00.000Z', state: { spent: '100.000000000' } });
    expect(await told(bursar, 'z')).toEqual(['actual:0.5 #1']);
    await set(bursar, budget('z', '200'));
    await use(bursar, hour(10));
    expect(await state()).toMatchObject({ periodStart: '2026-10-01T00:00:00.000Z', state: { spent: '110.000000000' } });
    // In each zone once: what was told of the same days is told no more.
    expect(await bursar.stores.budgets.crossings('default', 'z')).toMatchObject([
      { crossedAt: expect.any(String) as string, periodStart: '2026-10-01T07:00:00.000Z' },
      { crossedAt: expect.any(String) as string, periodStart: '2026-10-01T00:00:00.000Z' },
    ]);
    await set(bursar, budget('z', '200', { period: 'quarter' }));
    await use(bursar, hour(11));
    expect(await state()).toMatchObject({ periodEnd: '2027-01-01T00:00:00.000Z', state: { spent: '120.000000000' } });
    expect(await spent(bursar, 'z')).toEqual({ '2026-Q4': 120 });
    // Removed and made again as it was at first: no state of another length is left.
    await bursar.db.transaction((tx) => bursar.stores.budgets.remove(tx, 'default', 'z'));
    await set(bursar, budget('z', '200'));
    expect(await spent(bursar, 'z')).toEqual({ '2026-10': 120 });
    await bursar.db.transaction((tx) => bursar.stores.budgets.remove(tx, 'default', 'z'));
  });

  it('tells nothing twice where it is removed and made again, or lowered and set back', async () => {
    const before = await told(bursar, 'b');
    for (let n = 0; n < 2; n += 1) {
      await bursar.db.transaction((tx) => bursar.stores.budgets.remove(tx, 'default', 'b'));
      await set(bursar, budget('b', '200'));
    }
    expect(await told(bursar, 'b')).toEqual(before);
    await set(bursar, budget('b', '190'));
    await set(bursar, budget('b', '200'));
    expect(await told(bursar, 'b')).toEqual(before);
    expect(await spent(bursar, 'b')).toEqual({ '2026-10': 120 });
  });

  it('is alerted to as often as it is told', async () => {
    const { news } = await happened(bursar.stores, bursar.db, 'default', bursar.clock.now());
    expect(news.map((one) => (one.kind === 'budget' ? [one.threshold.ratio, one.round, one.period] : one))).toEqual([
      ['0.5', undefined, '2026-10'],
      ['0.5', 2, '2026-10'],
    ]);
  });
});

describe('what a budget counts', async () => {
  const bursar = await testBursar({ now: OCTOBER_20 });
  const line = (id: string, amount: string, effective: string | null, over: Partial<UsageRecord> = {}): UsageRecord =>
    billed(
      id,
      amount,
      { account: 'bills', start: OCTOBER_20 - DAY, end: OCTOBER_20, ...over },
      {
        effective: effective === null ? null : parseDecimal(effective),
        category: over.service === 'tax' ? 'Tax' : 'Usage',
      },
    );

  it('goes by its basis, and says what its bill does not state', async () => {
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    await set(
      bursar,
      budget('actual', '1000'),
      budget('effective', '1000', { basis: 'effective' }),
      budget('accrued', '1000', { basis: 'accrued' }),
    );
    await use(
      bursar,
      metered('m', { account: 'meters', start: OCTOBER_20 - DAY, end: OCTOBER_20 - DAY + HOUR }),
      line('fee', '300.00', '20.00'),
      line('unknown', '7.00', null),
    );
    const state = async (id: string) => (await bursar.stores.budgets.states('default', OCTOBER_20, id))[0]?.state;
    expect(await state('actual')).toMatchObject({ spent: '317.000000000', unstated: [] });
    expect(await state('accrued')).toMatchObject({ spent: '10.000000000', unstated: [] });
    expect(await state('effective')).toMatchObject({
      spent: '30.000000000',
      unstated: [{ currency: 'USD', amount: '7.00' }],
    });
  });

  it('goes by its filters', async () => {
    await set(
      bursar,
      budget('account', '1000', { filters: { account: ['bills'] } }),
      budget('sub', '1000', { filters: { subAccount: ['s1', 's2'] } }),
      budget('region', '1000', { filters: { region: ['eu-west-1'] } }),
      budget('service', '1000', { filters: { service: ['disks'], account: ['bills'] } }),
      budget('category', '1000', { filters: { category: ['Tax'] } }),
      budget('none', '1000', { filters: { service: ['disks'], region: ['eu-west-1'] } }),
    );
    await use(
      bursar,
      line('s', '1.00', null, { subAccount: 's2' }),
      line('r', '2.00', null, { region: 'eu-west-1' }),
      line('d', '4.00', null, { service: 'disks' }),
      line('t', '8.00', null, { service: 'tax' }),
    );
    const all: Record<string, number | undefined> = {};
    for (const id of ['account', 'sub', 'region', 'service', 'category', 'none'])
      all[id] = (await spent(bursar, id))['2026-10'];
    expect(all).toEqual({ account: 15, sub: 1, region: 2, service: 4, category: 8, none: 0 });
  });
});

describe('usage metered under a linked account', async () => {
  const bursar = await testBursar({ now: OCTOBER_20 });
  const at = { start: OCTOBER_20 - DAY, end: OCTOBER_20 - DAY + HOUR };
  const names = { account: 'payer', subAccount: 'linked' };
  const filters = {
    payer: { account: ['payer'] },
    linked: { subAccount: ['linked'] },
    both: { account: ['payer'], subAccount: ['linked'] },
    otherAccount: { account: ['linked'] },
  };
  const all = async (): Promise<Record<string, number | undefined>> => {
    const known: Record<string, number | undefined> = {};
    for (const id of Object.keys(filters)) known[id] = (await spent(bursar, id))['2026-10'];
    return known;
  };
  const rows = async () =>
    (await bursar.spend({ groupBy: 'account,subAccount' })).rows.map((row) => [
      row['account'],
      row['subAccount'],
      Number(row.cost),
    ]);

  it('is of its payer and of that sub-account while the bill is open, as when it is final', async () => {
    await bursar.setPrices([instancePrice('5.00', { minimumSeconds: 0 })]);
    await set(bursar, ...Object.entries(filters).map(([id, one]) => budget(id, '1000', { filters: one })));
    await use(bursar, metered('m', { ...at, account: 'linked' }));
    expect(await rows()).toEqual([['linked', null, 5]]);
    const lines = (isFinal: boolean) => [
      billed('disk', '9.00', { ...at, ...names, sku: 'gp3' }, { isFinal }),
      billed('machine', '5.00', { ...at, ...names }, { isFinal }),
    ];
    await use(bursar, ...lines(false));
    const expected = { payer: 14, linked: 14, both: 14, otherAccount: 0 };
    expect([await all(), await rows()]).toEqual([expected, [['payer', 'linked', 14]]]);
    await use(bursar, ...lines(true));
    expect([await all(), await rows()]).toEqual([expected, [['payer', 'linked', 14]]]);
  });
});

describe('whole days of a bill', async () => {
  const bursar = await testBursar({ now: Date.UTC(2026, 11, 15) });
  const zones = ['UTC', 'America/Los_Angeles', 'Pacific/Kiritimati', 'Europe/Berlin'];

  it('count in the month that the bill names, in every zone', async () => {
    await set(bursar, ...zones.map((zone) => budget(zone, '1000', { zone })));
    const october = monthOfLabel('2026-10', 'UTC')!;
    // The bills of Chinese clouds begin and end at midnight in Beijing.
    const november = monthOfLabel('2026-11', 'Asia/Shanghai')!;
    await use(
      bursar,
      billed('fee', '100.00', { account: 'utc', ...october }, { periodStart: october.start, periodEnd: october.end }),
      billed('day', '10.00', { account: 'utc', start: october.start, end: october.start + DAY }),
      billed('last', '1.00', { account: 'utc', start: october.end - DAY, end: october.end - 1000 }),
      billed(
        'beijing',
        '2000.00',
        { provider: 'Alibaba Cloud', account: 'bj', start: november.start, end: november.start + DAY },
        { periodStart: november.start, periodEnd: november.end },
      ),
    );
    for (const zone of zones) {
      const { '2026-10': one, '2026-11': two, ...others } = await spent(bursar, zone);
      expect([zone, one, two, others]).toEqual([zone, 111, 2000, expect.not.objectContaining({ '2026-09': 111 })]);
    }
  });

  it('and hours are instants', async () => {
    const first = Date.UTC(2026, 9, 1);
    await use(bursar, billed('hour', '5.00', { account: 'hours', start: first, end: first + HOUR }));
    expect(await Promise.all(zones.map(async (zone) => (await spent(bursar, zone))['2026-10']))).toEqual([
      116, 111, 116, 116,
    ]);
    expect((await spent(bursar, 'America/Los_Angeles'))['2026-09']).toBe(5);
  });
});

describe('the periods of a budget at the door', async () => {
  const api = await testApi();

  it('are listed newest first, each by its name in the budget\u2019s zone, with what it ended at', async () => {
    const one = budget('b', '100', { zone: 'Europe/Berlin' });
    const { id: _, ...body } = one;
    expect((await api.call('PUT', '/v1/budgets/b', { body })).status).toBe(200);
    for (const [at, nanos] of [
      ['2026-09-30T23:00:00Z', 40n],
      ['2026-09-15T00:00:00Z', 120n],
    ] as const) {
      const now = Date.parse(at);
      const point = { at: now, nanos: nanos * 10n ** 9n, creditNanos: 0n, unpricedQuantity: 0n };
      const state = evaluateBudget({ budget: one, spend: [point], committed: 0n, now, forecaster: null });
      await api.stores.budgets.saveState(api.stores.db, 'default', state, { unconverted: [], unstated: [] }, now);
    }
    const { body: answer } = await api.call<{ items: unknown[] }>('GET', '/v1/budgets/b/periods');
    expect(answer.items).toMatchObject([
      { label: '2026-10', isOver: false, state: { spent: '40.000000000' } },
      {
        label: '2026-09',
        isOver: true,
        periodStart: '2026-08-31T22:00:00.000Z',
        state: { spent: '120.000000000', ratio: 1.2 },
      },
    ]);
  });
});
