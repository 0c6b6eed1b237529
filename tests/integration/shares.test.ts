/**
 * Shared costs along the line: each charge by the use of its own period, among teams of any currency. Amounts are
 * counted by hand.
 */
import { describe, expect, it } from 'vitest';
import { parseDecimal, type Decimal } from '../../src/core/decimal.js';
import { setFx } from '../../src/application/price/set-rates.js';
import { enqueue } from '../../src/store/work.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { billed, HOUR, metered } from '../support/records.js';

const DAY = 24 * HOUR;
const OCTOBER = Date.UTC(2026, 9, 1);
const NOVEMBER = Date.UTC(2026, 10, 1);
const RULES = [
  { match: { service: 'support' }, split: { by: 'use' as const } },
  { match: { namespace: 'red' }, team: 'red' },
  { match: { namespace: 'blue' }, team: 'blue' },
];

async function shared() {
  const bursar = await testBursar({ now: NOVEMBER });
  await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
  await bursar.db.transaction((tx) => bursar.stores.organisations.saveRules(tx, 'default', RULES, 'test'));
  const use = async (namespace: string, day: number, hours: number): Promise<void> => {
    const start = OCTOBER + (day - 1) * DAY;
    await bursar.take([metered(`${namespace}-${day}`, { namespace, start, end: start + hours * HOUR })]);
    await bursar.runner.drain();
  };
  /** What each team has of the shared cost, in its currency. */
  const shares = async () =>
    Object.fromEntries(
      (await bursar.spend({ groupBy: 'team,shared-from' })).rows
        .filter((row) => row['sharedFrom'] !== null)
        .map((row) => [row['team'], `${Number(row.cost)} ${row.currency}`]),
    );
  return { ...bursar, use, shares };
}

const fee = (start: number, end: number) =>
  billed('fee', '3100.00', { service: 'support', account: 'bills', start, end }, { currency: 'USD' });

describe('a shared charge', async () => {
  const { take, runner, spend, clock, db, stores } = await shared();
  const only = (stage: string, partition: string) =>
    runner.runPartition({ organisation: 'default', stage, partition }, async () => true);
  const rolledUp = async () => {
    for (const { partition } of (await stores.work.duePartitions(clock.at)).filter(
      ({ stage }) => stage === 'cost.rollup',
    ))
      await only('cost.rollup', partition);
  };
  const total = async () => Number((await spend({})).total);

  it('is in the sums at every moment: before it is split by what comes beside it, and when its rule goes', async () => {
    await take([fee(OCTOBER, NOVEMBER)], { source: 'bill' });
    await rolledUp();
    expect(await total()).toBe(3100);
    await runner.drain();
    expect(await total()).toBe(3100);
    await db.transaction((tx) => stores.organisations.saveRules(tx, 'default', RULES.slice(1), 'test'));
    await enqueue(db, 'default', [{ stage: 'cost.share', partition: 'shared', key: 'shared/2026-10-01' }]);
    await only('cost.share', 'shared');
    expect(await total()).toBe(3100);
    await runner.drain();
    expect(await total()).toBe(3100);
  });
});

describe("a month's fee", async () => {
  const { take, use, shares, runner } = await shared();

  it('is split by the use of the month, and split anew as that comes in', async () => {
    await use('red', 1, 10);
    await take([fee(OCTOBER, NOVEMBER)], { source: 'bill' });
    await runner.drain();
    expect(await shares()).toEqual({ red: '3100 USD' });
    await use('blue', 20, 21);
    expect(await shares()).toEqual({ red: '1000 USD', blue: '2100 USD' });
    // Use of another month changes nothing.
    await use('blue', 32, 21);
    expect(await shares()).toEqual({ red: '1000 USD', blue: '2100 USD' });
  });

  it('and of a day by that day', async () => {
    await take([fee(OCTOBER + 19 * DAY, OCTOBER + 20 * DAY)], { source: 'bill' });
    await runner.drain();
    expect(await shares()).toEqual({ blue: '3100 USD' });
  });
});

describe('teams of several currencies', async () => {
  const { take, use, shares, runner, db, stores } = await shared();

  it('share by GPU time where a rate is missing, and by their cost once it is there', async () => {
    await db.transaction((tx) =>
      stores.organisations.saveTeam(tx, 'default', {
        id: 'blue',
        name: 'blue',
        parent: null,
        zone: 'Europe/Berlin',
        currency: 'EUR',
        assignedBy: null,
      }),
    );
    const rate = (day: string, perUsd: string) => ({ day, currency: 'EUR', perBase: parseDecimal(perUsd) as Decimal });
    await db.transaction((tx) => setFx(stores, tx, 'default', [rate('2026-10-01', '0.5')], 'test'));
    await use('red', 2, 1);
    await use('blue', 2, 3);
    await take([fee(OCTOBER + DAY, OCTOBER + 2 * DAY)], { source: 'bill' });
    await runner.drain();
    // 10 USD, and 15 EUR, which are 30 USD.
    expect((await shares())['red']).toBe('775 USD');
    expect((await shares())['blue']).toBe('2325 USD');
  });
});
