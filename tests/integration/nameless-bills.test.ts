/**
 * A bill that names no account is of every account of its provider that has none of its own: metered usage is never
 * added on top of it.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { UsageRecord } from '../../src/core/usage.js';
import { mulberry32 } from '../../src/lab/random.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';

/** 10 USD per instance-hour are metered in each; October is over, November is not. */
const NOW = Date.UTC(2026, 10, 21);
const NOVEMBER = { periodStart: Date.UTC(2026, 10, 1), periodEnd: Date.UTC(2026, 11, 1) };
const IN_NOVEMBER = { start: Date.UTC(2026, 10, 5), end: Date.UTC(2026, 10, 5) + HOUR };

async function world(): Promise<TestBursar> {
  const bursar = await testBursar({ now: NOW });
  await bursar.setPrices([instancePrice('10')]);
  return bursar;
}

const actual = async (bursar: TestBursar): Promise<string> => {
  await bursar.runner.drain();
  return ((await bursar.spend({})).total ?? '').replace(/\.0+$/, '');
};

describe('a bill that names no account', () => {
  it('stands in the place of usage that names one, whatever comes first', async () => {
    for (const order of ['meter first', 'bill first']) {
      const bursar = await world();
      const takeMeter = () =>
        bursar.take([metered('m1', { account: 'a1' }), metered('m2', { account: 'a2' })], { source: 'meter' });
      const takeBill = () => bursar.take([billed('b1', '17', { account: null })], { source: 'bill' });
      for (const take of order === 'meter first' ? [takeMeter, takeBill] : [takeBill, takeMeter]) {
        await take();
        await bursar.runner.drain();
      }
      expect([order, await actual(bursar)]).toEqual([order, '17']);
    }
  });

  it('leaves an account to its own bill, and takes what has none', async () => {
    const bursar = await world();
    await bursar.take([metered('m1', { account: 'a1' }), metered('m2', { account: 'a2' })], { source: 'meter' });
    await bursar.take([billed('b1', '7', { account: null })], { source: 'nameless' });
    expect(await actual(bursar)).toBe('7');
    // Its own bill comes as well: the other one is of what is left.
    await bursar.take([billed('b2', '9', { account: 'a1' })], { source: 'bill' });
    expect(await actual(bursar)).toBe('16');
  });

  it('is not counted beside the accrual while it is open', async () => {
    const bursar = await world();
    await bursar.take([metered('m1', { account: 'a1', ...IN_NOVEMBER })], { source: 'meter' });
    await bursar.take([billed('b1', '7', { account: null, ...IN_NOVEMBER }, NOVEMBER)], { source: 'nameless' });
    expect(await actual(bursar)).toBe('10');
    // Of accounts that nobody meters it is all there is: once the metered one has its own open bill, the nameless one
    // is of others.
    await bursar.take([billed('b2', '9', { account: 'a1', ...IN_NOVEMBER }, NOVEMBER)], { source: 'bill' });
    expect(await actual(bursar)).toBe('17');
  });

  it('is nothing to usage of another provider or another period', async () => {
    const bursar = await world();
    await bursar.take([metered('m1', { account: 'a1' })], { source: 'meter' });
    await bursar.take([billed('b1', '3', { account: null, provider: 'Tencent' })], { source: 'other' });
    await bursar.take(
      [
        billed(
          'b2',
          '4',
          { account: null, start: MONDAY - 20 * 24 * HOUR, end: MONDAY - 20 * 24 * HOUR + HOUR },
          { periodStart: Date.UTC(2026, 8, 1), periodEnd: Date.UTC(2026, 9, 1) },
        ),
      ],
      { source: 'earlier' },
    );
    expect(await actual(bursar)).toBe('17');
  });
});

describe('whose bill it is, drawn at random', async () => {
  const CASES = 60;
  const NAMES = [null, 'a1', 'a2'] as const;
  type Account = (typeof NAMES)[number];
  interface Case {
    readonly provider: string;
    readonly closed: boolean;
    readonly metered: readonly Account[];
    readonly bills: readonly Account[];
    readonly order: readonly number[];
  }
  const random = mulberry32(20_261_121);
  const some = (): Account[] => NAMES.filter(() => random() < 0.5);
  const cases = Array.from({ length: CASES }, (_, n): Case => {
    const [meters, bills] = [some(), some()];
    const order = Array.from({ length: meters.length + bills.length }, (__, at) => at).sort(() => random() - 0.5);
    return { provider: `Cloud ${n}`, closed: random() < 0.5, metered: meters, bills, order };
  });
  const bursar = await testBursar({ now: NOW });

  /** The rule, told anew: each meter's bill; and what is counted of both. */
  function expected({ closed, metered: meters, bills }: Case): number {
    const billOf = (account: Account): Account | undefined => {
      if (bills.includes(account)) return account;
      if (account !== null) return bills.includes(null) ? null : undefined;
      return bills.length === 1 ? bills[0] : undefined;
    };
    const accruals = meters.filter((account) => billOf(account) === undefined || !closed).length * 10;
    const counted = bills.filter((bill) => closed || !meters.some((account) => billOf(account) === bill)).length;
    return accruals + counted * 7;
  }

  beforeAll(async () => {
    await bursar.setPrices(cases.map(({ provider }) => instancePrice('10', { provider })));
    // One step of every case at a time: no case is another's provider.
    for (let step = 0; step < NAMES.length * 2; step++) {
      for (const [n, { provider, closed, metered: meters, bills, order }] of cases.entries()) {
        const at = order[step];
        if (at === undefined) continue;
        const account = (at < meters.length ? meters[at] : bills[at - meters.length]) ?? null;
        const over: Partial<UsageRecord> = { provider, account, ...(closed ? {} : IN_NOVEMBER) };
        if (at < meters.length) await bursar.take([metered(`${n}/${at}`, over)], { source: `meter ${n}` });
        else
          await bursar.take([billed(`${n}/${at}`, '7', over, closed ? {} : NOVEMBER)], { source: `bill ${n}/${at}` });
      }
      await bursar.runner.drain();
    }
  });

  it('is counted once in every case, in every order', async () => {
    const { rows } = await bursar.spend({ groupBy: 'provider' });
    const found = new Map(rows.map((row) => [row['provider'], Number(row.cost)]));
    expect(cases.map((one) => [one, found.get(one.provider) ?? 0])).toEqual(cases.map((one) => [one, expected(one)]));
    // Hardly a case is like another, and both ways of being open are among them.
    expect(new Set(cases.map((one) => JSON.stringify([one.closed, one.metered, one.bills]))).size).toBeGreaterThan(35);
  });
});
