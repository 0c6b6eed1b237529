/**
 * Metered usage that names no account meets the bill: the only account's, that of its sub-account, or it is said to be
 * counted twice perhaps.
 */
import { describe, expect, it } from 'vitest';
import type { UsageRecord } from '../../src/core/usage.js';
import { caveatsOf, doubtsOf } from '../../src/store/usage/doubts.js';
import { parseSpendQuery } from '../../src/core/cost/spend-query.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';

/** 10 USD per instance-hour are metered in each; October is over. */
const AFTER = Date.UTC(2026, 10, 21);
const DURING = Date.UTC(2026, 9, 20);

const unnamed = (id: string, over: Partial<UsageRecord> = {}): UsageRecord => metered(id, { account: null, ...over });

async function world(now = AFTER): Promise<TestBursar> {
  const bursar = await testBursar({ now });
  await bursar.setPrices([instancePrice('10')]);
  return bursar;
}

const actual = async (bursar: TestBursar): Promise<string> => {
  await bursar.runner.drain();
  return ((await bursar.spend({})).total ?? '').replace(/\.0+$/, '');
};
const doubts = (bursar: TestBursar) => doubtsOf(bursar.db, 'default', { from: null, to: null, teams: null });

describe('usage that names no account', () => {
  it('belongs to the only account that is billed: the closed bill stands in its place, whatever comes first', async () => {
    for (const order of ['meter first', 'bill first']) {
      const bursar = await world();
      const takeMeter = () => bursar.take([unnamed('m1')], { source: 'meter' });
      const takeBill = () => bursar.take([billed('b1', '8', { account: 'a1' })], { source: 'bill' });
      for (const take of order === 'meter first' ? [takeMeter, takeBill] : [takeBill, takeMeter]) {
        await take();
        await bursar.runner.drain();
      }
      expect([order, await actual(bursar), await doubts(bursar)]).toEqual([order, '8', []]);
    }
  });

  it('keeps its accrual while the only bill is open, and the bill is then not counted beside it', async () => {
    const bursar = await world(DURING);
    await bursar.take([unnamed('m1')], { source: 'meter' });
    await bursar.take([billed('b1', '8', { account: 'a1' })], { source: 'bill' });
    expect(await actual(bursar)).toBe('10');
  });

  it('is not touched by bills of another provider, of another period, or of a bill that names none either', async () => {
    const bursar = await world();
    await bursar.take([unnamed('m1')], { source: 'meter' });
    await bursar.take([billed('b1', '8', { account: 'a1', provider: 'Tencent' })], { source: 'other' });
    await bursar.take(
      [
        billed(
          'b2',
          '3',
          { account: 'a1', start: Date.UTC(2026, 8, 5), end: Date.UTC(2026, 8, 5) + HOUR },
          { periodStart: Date.UTC(2026, 8, 1), periodEnd: Date.UTC(2026, 9, 1) },
        ),
      ],
      { source: 'earlier' },
    );
    expect(await actual(bursar)).toBe('21');
    await bursar.take([billed('b3', '7', { account: null })], { source: 'nameless' });
    expect(await actual(bursar)).toBe('18');
  });

  it('with several accounts is told by its sub-account, where the bills of one of them name it', async () => {
    const bursar = await world();
    await bursar.take([unnamed('m1', { subAccount: 's2' })], { source: 'meter' });
    await bursar.take([billed('b1', '8', { account: 'a1', subAccount: 's1' })], { source: 'bill-1' });
    await bursar.take([billed('b2', '9', { account: 'a2', subAccount: 's2' })], { source: 'bill-2' });
    expect([await actual(bursar), await doubts(bursar)]).toEqual(['17', []]);
  });

  it('with several accounts and nothing that tells them apart keeps its accrual, and is said to be counted twice perhaps', async () => {
    const bursar = await world();
    await bursar.take([unnamed('m1'), metered('m2', { account: 'a1' })], { source: 'meter' });
    await bursar.take([billed('b1', '8', { account: 'a1' })], { source: 'bill-1' });
    expect([await actual(bursar), await doubts(bursar)]).toEqual(['8', []]);
    await bursar.take([billed('b2', '9', { account: 'a2' })], { source: 'bill-2' });
    expect(await actual(bursar)).toBe('27');
    expect(await doubts(bursar)).toEqual([
      { provider: 'AWS', cost: '10', currency: 'USD', from: '2026-10-05', to: '2026-10-05', accounts: ['a1', 'a2'] },
    ]);
    const { warnings } = await caveatsOf(bursar.db, 'default', parseSpendQuery({}), AFTER);
    expect(warnings).toEqual([
      '10 USD of metered usage of AWS from 2026-10-05 to 2026-10-05 may be counted twice: bills of several accounts (a1, a2) cover its hours, and it cannot be told which has them',
    ]);
    for (const elsewhere of [parseSpendQuery({ from: '2026-10-06' }), parseSpendQuery({ teams: ['nobody'] })])
      expect(await doubtsOf(bursar.db, 'default', elsewhere)).toEqual([]);
    const accrued = await caveatsOf(bursar.db, 'default', parseSpendQuery({ basis: 'accrued' }), AFTER);
    expect(accrued.warnings).toEqual([]);
  });

  it('gives an open bill back to the sum when a second account makes it doubtful whose the usage is', async () => {
    const bursar = await world(DURING);
    await bursar.take([unnamed('m1')], { source: 'meter' });
    await bursar.take([billed('b1', '8', { account: 'a1' })], { source: 'bill-1' });
    expect(await actual(bursar)).toBe('10');
    await bursar.take([billed('b2', '9', { account: 'a2', start: MONDAY + HOUR, end: MONDAY + 2 * HOUR })], {
      source: 'bill-2',
    });
    expect([await actual(bursar), (await doubts(bursar)).map(({ cost }) => cost)]).toEqual(['27', ['10']]);
  });
});
