/**
 * What a question about costs says of what is in none of its sums, and whose days and months it means. Amounts are
 * counted by hand.
 */
import { describe, expect, it } from 'vitest';
import { costBreakdown } from '../../src/application/cost/breakdown.js';
import { parseDecimal } from '../../src/core/decimal.js';
import { parseSpendQuery } from '../../src/core/cost/spend-query.js';
import { SumSchedule } from '../../src/pipeline/sum.js';
import { caveatsOf } from '../../src/store/usage/doubts.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { billed, HOUR, metered } from '../support/records.js';
import { testApi } from '../support/web.js';

const OCTOBER = Date.UTC(2026, 9, 1);
const NOVEMBER = Date.UTC(2026, 10, 1);

describe('a sum', async () => {
  const bursar = await testBursar({ now: NOVEMBER });

  it('says which amounts its bill does not state, what is metered without a bill, and what has no rate', async () => {
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    const bill = { account: 'bills', start: OCTOBER, end: OCTOBER + HOUR };
    await bursar.take([
      billed('used', '600.00', bill, { effective: parseDecimal('552.80') }),
      billed('bought', '238000.00', bill, { category: 'Purchase' }),
      billed('euros', '7.00', { ...bill, account: 'euros' }, { currency: 'EUR', effective: parseDecimal('6.00') }),
      metered('m', { account: 'meters', start: OCTOBER, end: OCTOBER + HOUR }),
    ]);
    await bursar.runner.drain();
    const spend = await bursar.spend({ basis: 'effective', groupBy: 'category', currency: 'USD' });
    expect(spend.lacking).toEqual({
      unstated: [{ currency: 'USD', cost: '238000.00', lines: 1 }],
      unbilled: [{ currency: 'USD', cost: '10.000000000' }],
      setAside: [],
      unconverted: [{ currency: 'EUR', cost: '6.00' }],
      unpriced: [],
    });
    expect(spend.rows.map(({ category, cost, currency, unstated }) => [category, cost, currency, unstated])).toEqual([
      ['Purchase', null, 'USD', '238000.00'],
      ['Usage', '6.00', 'EUR', '0'],
      ['Usage', '552.80', 'USD', '0'],
    ]);
    // A list price is stated by none of them.
    expect((await bursar.spend({ basis: 'list' })).lacking.unstated).toEqual([
      { currency: 'EUR', cost: '7.00', lines: 1 },
      { currency: 'USD', cost: '238600.00', lines: 2 },
    ]);
    const { lacking } = await bursar.spend({});
    expect(lacking).toEqual({ unstated: [], unbilled: [], setAside: [], unconverted: [], unpriced: [] });
  });
});

describe('what is set aside of the time before', async () => {
  const bursar = await testBursar({ now: NOVEMBER + 9 * 24 * HOUR, settlingDays: 90 });

  it('is that of the days a month so far is compared with, and not of the rest of that month', async () => {
    const hours = (day: number): { start: number; end: number } => {
      const start = OCTOBER + day * 24 * HOUR;
      return { start, end: start + HOUR };
    };
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    await bursar.take(
      [4, 25, 39].map((day) => metered(`m${day}`, hours(day))),
      { source: 'meter' },
    );
    await bursar.take([billed('early', '50.00', hours(4)), billed('late', '7.00', hours(25))], { source: 'bill' });
    await bursar.runner.drain();
    for (const groupBy of ['team', 'sku']) {
      const { now, before } = await costBreakdown(bursar.stores, 'default', parseSpendQuery({ groupBy }), {
        compares: true,
        limit: 5,
        last: 'month',
        now: bursar.clock.at,
        about: async () => ({ warnings: [] }),
      });
      expect([before?.from, before?.to, now.from]).toEqual(['2026-10-01', '2026-10-11', '2026-11-01']);
      expect([before?.lacking.setAside, now.lacking.setAside]).toEqual([[{ currency: 'USD', cost: '50.00' }], []]);
    }
  });
});

describe('what has no price and no quantity', async () => {
  const bursar = await testBursar({ now: NOVEMBER });

  it('is listed by days of UTC, however the days of a zone are read', async () => {
    const zone = 'Europe/Berlin';
    const team = { id: 'here', name: 'here', parent: null, zone, currency: 'USD', assignedBy: null };
    await bursar.db.transaction((tx) => bursar.stores.organisations.saveTeam(tx, 'default', team));
    // One day of Berlin, and two of UTC.
    await bursar.take([
      metered('some', { sku: 'new', gpuParts: null, start: OCTOBER - HOUR, end: OCTOBER }),
      metered('eight', { sku: 'new', start: OCTOBER + HOUR, end: OCTOBER + 2 * HOUR }),
    ]);
    await bursar.runner.drain();
    const some = {
      provider: 'AWS',
      sku: 'new',
      component: 'gpu',
      reason: 'quantity-unknown',
      quantity: null,
      hours: 1,
    };
    const expectListed = async (): Promise<void> => {
      for (const groupBy of ['team', 'day', 'month']) {
        const { lacking, unpricedQuantity } = await bursar.spend({
          groupBy,
          zone,
          from: '2026-10-01',
          to: '2026-10-02',
        });
        expect([groupBy, unpricedQuantity, lacking.unpriced]).toEqual([groupBy, '8.000000', [some]]);
      }
    };
    await expectListed();
    await new SumSchedule(bursar.stores).enqueueDue();
    await bursar.runner.drain();
    await expectListed();
  });
});

describe('what has just come', async () => {
  const bursar = await testBursar({ now: NOVEMBER });
  const answer = (over = {}) => caveatsOf(bursar.db, 'default', parseSpendQuery(over), NOVEMBER);
  const asked = async (over = {}): Promise<readonly string[]> => (await answer(over)).warnings;

  it('is said to be in work until the sums have it, and what hinders it', async () => {
    await bursar.runner.drain();
    expect(await asked()).toEqual([]);
    await bursar.take([metered('m', { start: OCTOBER, end: OCTOBER + HOUR })]);
    const said = ['1 day(s) of teams are being priced or summed: these sums are not what they will be'];
    expect(await asked()).toEqual(said);
    expect(await asked({ basis: 'billed', from: '2026-10-02' })).toEqual(said);
    expect(await asked({ from: '2026-10-03' })).toEqual([]);
    expect(await asked({ to: '2026-10-01' })).toEqual(said);
    expect(await asked({ teams: ['nobody'] })).toEqual([]);
    const pending = async (over = {}): Promise<unknown> => (await answer(over)).pending;
    expect(await pending()).toEqual({ days: 1, allocations: 0, parked: 0 });
    expect(await pending({ basis: 'list', from: '2026-10-03' })).toEqual({ days: 0, allocations: 0, parked: 0 });
    await bursar.db.query(`update work set parked_at = now() where stage = 'cost.price' and done < wanted`);
    expect(await asked()).toEqual([...said, '1 of that wait because of an error: bursar doctor says which']);
    await bursar.db.query(`update work set parked_at = null`);
    await bursar.runner.drain();
    expect(await asked()).toEqual([]);
  });
});

describe('days and months', async () => {
  const bursar = await testBursar({ now: NOVEMBER });
  const months = async (zone: string) =>
    (await bursar.spend({ groupBy: 'month', zone })).rows.map(({ month, cost }) => `${month}: ${Number(cost)}`);

  it("are those of the zone, of a bill's whole days the bill's own", async () => {
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    await bursar.take([
      billed('fee', '100.00', { account: 'bills', start: OCTOBER, end: NOVEMBER }),
      billed('day', '3.00', { account: 'bills', start: OCTOBER, end: OCTOBER + 24 * HOUR }),
      metered('first', { start: OCTOBER + 3 * HOUR, end: OCTOBER + 4 * HOUR }),
      metered('last', { start: NOVEMBER - HOUR, end: NOVEMBER }),
    ]);
    await bursar.runner.drain();
    expect(await months('UTC')).toEqual(['2026-10: 123']);
    expect(await months('America/Los_Angeles')).toEqual(['2026-09: 10', '2026-10: 113']);
    expect(await months('Europe/Berlin')).toEqual(['2026-10: 113', '2026-11: 10']);
    const day = { from: '2026-10-01', to: '2026-10-02', zone: 'America/Los_Angeles' };
    expect((await bursar.spend(day)).total).toBe('103.00');
    expect((await bursar.spend({ ...day, from: '2026-10-01T07:00:00Z' })).total).toBe('103.00');
    await expect(async () => bursar.spend({ ...day, from: '2026-10-01T00:00:00Z' })).rejects.toThrow(
      expect.objectContaining({
        problems: [{ path: 'from', message: expect.stringContaining('America/Los_Angeles') as string }],
      }) as Error,
    );
  });
});

describe('the door of costs', async () => {
  const api = await testApi();

  it('takes a zone, and refuses what is none', async () => {
    const answer = await api.call('GET', '/v1/costs?zone=Europe/Berlin&basis=effective&from=2026-10');
    expect([answer.status, answer.body['lacking']]).toEqual([
      200,
      { unstated: [], unbilled: [], setAside: [], unconverted: [], unpriced: [] },
    ]);
    expect((await api.call('GET', '/v1/costs?zone=Nowhere')).status).toBe(400);
  });

  it('says of a zone of half hours how its days are cut', async () => {
    const warnings = async (zone: string): Promise<unknown> =>
      (await api.call('GET', `/v1/costs?zone=${zone}&from=2026-10`)).body['warnings'];
    for (const zone of ['Asia/Kolkata', 'Asia/Kathmandu'])
      expect(await warnings(zone)).toContainEqual(expect.stringContaining('usage is kept by whole hours'));
    expect(await warnings('Europe/Berlin')).toEqual([]);
  });
});
