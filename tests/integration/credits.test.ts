/**
 * Credits along the line: their own rows below zero, in the order of days, counted by budgets or not. Amounts computed
 * by hand.
 */
import { describe, expect, it } from 'vitest';
import type { CreditSpec } from '../../src/core/cost/credit.js';
import { creditViews } from '../../src/store/cost/credits.js';
import { setFx } from '../../src/application/price/set-rates.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import type { Budget } from '../../src/core/budget/budget.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { HOUR, metered, MONDAY } from '../support/records.js';
import { testApi } from '../support/web.js';
import { monthBudget } from '../support/makers.js';

const DAY = 24 * HOUR;
const grant: CreditSpec = {
  id: 'grant',
  kind: 'promotional',
  amount: '25',
  currency: 'USD',
  from: '2026-10-06',
  until: '2027-01-01',
};

describe('credits on the line', async () => {
  const bursar = await testBursar({ now: MONDAY + 5 * DAY });
  const { stores, db } = bursar;
  const save = async (...specs: CreditSpec[]): Promise<void> => {
    await db.transaction((tx) => stores.credits.save(tx, 'default', specs));
    await bursar.runner.drain();
  };
  /** `day/credit: amount` of what is taken. */
  const taken = async () =>
    Object.fromEntries(
      (await bursar.spend({ groupBy: 'day,shared-from,category' })).rows
        .filter((row) => row['category'] === 'Credit')
        .map((row) => [`${row['day']}/${row['sharedFrom']}`, row.cost]),
    );

  it('take from the first day on that they hold, until the pot is empty', async () => {
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    await bursar.take(
      [0, 1, 2, 4].map((day) => metered(`d${day}`, { start: MONDAY + day * DAY, end: MONDAY + day * DAY + HOUR })),
    );
    await save(grant);
    // 10 on Monday is before the credit; 10 on Tuesday and Wednesday; 5 are left for Friday.
    expect(await taken()).toEqual({
      '2026-10-06/credit:grant': '-10.000000000',
      '2026-10-07/credit:grant': '-10.000000000',
      '2026-10-09/credit:grant': '-5.000000000',
    });
    expect((await bursar.spend({})).total).toBe('15.000000000');
    expect((await bursar.spend({ basis: 'accrued' })).total).toBe('15.000000000');
  });

  it('are reckoned anew when late usage comes, and the same again changes nothing', async () => {
    await bursar.take([metered('late', { start: MONDAY + 3 * DAY, end: MONDAY + 3 * DAY + HOUR })], {
      source: 'other',
    });
    await bursar.runner.drain();
    const expected = {
      '2026-10-06/credit:grant': '-10.000000000',
      '2026-10-07/credit:grant': '-10.000000000',
      '2026-10-08/credit:grant': '-5.000000000',
    };
    expect(await taken()).toEqual(expected);
    await db.query(`delete from spend_stale`);
    await save(grant);
    expect(await taken()).toEqual(expected);
    expect(await db.query(`select 1 from spend_stale`)).toEqual([]);
    expect(await creditViews(stores.credits, db, 'default')).toEqual([{ ...grant, taken: '25.00', left: '0.00' }]);
  });

  it('lower a budget only where it counts them', async () => {
    const budget = (id: string, includeCredits: boolean): Budget =>
      monthBudget({ id, team: 'unallocated', planned: { default: '100', periods: {} }, includeCredits });
    await db.transaction(async (tx) => {
      for (const one of [budget('with', true), budget('without', false)])
        await setBudget(stores, tx, 'default', one, bursar.clock.now());
    });
    await bursar.runner.drain();
    const states = Object.fromEntries(
      (await stores.budgets.states('default', bursar.clock.now())).map(({ budget: id, state }) => [
        id,
        [state.spent, state.credits],
      ]),
    );
    expect(states).toEqual({ with: ['25.000000000', '-25.000000000'], without: ['50.000000000', '-25.000000000'] });
  });

  it('go when they are taken away', async () => {
    await save();
    expect(await taken()).toEqual({});
    expect((await bursar.spend({})).total).toBe('50.000000000');
  });
});

describe('a credit of another currency than the usage', async () => {
  const bursar = await testBursar({ now: MONDAY + 5 * DAY });
  const { stores, db } = bursar;

  it('is taken by the rate of the day, at the doors in its own currency; without a rate nothing is taken', async () => {
    await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
    await bursar.take(
      [1, 2].map((day) => metered(`d${day}`, { start: MONDAY + day * DAY, end: MONDAY + day * DAY + HOUR })),
    );
    const euros: CreditSpec = { ...grant, amount: '15', currency: 'EUR' };
    await db.transaction((tx) => stores.credits.save(tx, 'default', [euros]));
    await bursar.runner.drain();
    const spent = async () => (await bursar.spend({ groupBy: 'day' })).rows.map(({ day, cost }) => `${day}: ${cost}`);
    expect(await spent()).toEqual(['2026-10-06: 10.000000000', '2026-10-07: 10.000000000']);
    expect(await creditViews(stores.credits, db, 'default')).toMatchObject([{ taken: '0.00', left: '15.00' }]);
    // 10 USD are 8 EUR on Tuesday, and 10 EUR from Wednesday on: 7 EUR are left for it, which are 7 USD.
    const rate = (day: string, unscaled: bigint) => ({ day, currency: 'EUR', perBase: { unscaled, scale: 1 } });
    await db.transaction((tx) =>
      setFx(stores, tx, 'default', [rate('2026-10-06', 8n), rate('2026-10-07', 10n)], 'test'),
    );
    await bursar.runner.drain();
    expect(await spent()).toEqual(['2026-10-06: 0.000000000', '2026-10-07: 3.000000000']);
    expect(await creditViews(stores.credits, db, 'default')).toMatchObject([{ taken: '15.00', left: '0.00' }]);
  });
});

describe('the door of credits', async () => {
  const api = await testApi();

  it('saves, shows and refuses with every problem named', async () => {
    const saved = await api.call<{ credits: unknown[] }>('PUT', '/v1/credits', { body: { credits: [grant] } });
    expect([saved.status, saved.body.credits]).toEqual([200, [{ ...grant, taken: '0.00', left: '25.00' }]]);
    expect((await api.call('GET', '/v1/credits')).body).toEqual(saved.body);
    const refused = await api.call<{ problems: { path: string }[] }>('PUT', '/v1/credits', {
      body: { credits: [{ ...grant, amount: '-1', until: '2026-01-01' }] },
    });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      400,
      expect.stringMatching(/credits\/0\/amount.*credits\/0\/until/),
    ]);
  });
});
