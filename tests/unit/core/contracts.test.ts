/** How far the commitments of contracts are fulfilled: what counts for them, what is left, and what is not known. */
import { describe, expect, it } from 'vitest';
import {
  contractReport,
  ContractSums,
  type ContractFulfilment,
  type ContractUse,
} from '../../../src/core/bill/contracts.js';
import { parseDecimal, ZERO, type Decimal } from '../../../src/core/decimal.js';
import { DAY_MS } from '../../../src/core/time.js';
import type { ContractCommitment } from '../../../src/core/usage.js';
import { billed, MONDAY } from '../../support/records.js';

const decimal = (text: string): Decimal => parseDecimal(text) ?? ZERO;
const SPEND: ContractCommitment = {
  id: 'c1',
  contract: 'k1',
  provider: 'AWS',
  category: 'Spend',
  type: null,
  description: null,
  currency: 'USD',
  cost: decimal('100'),
  quantity: null,
  unit: null,
  start: MONDAY,
  end: MONDAY + 2 * DAY_MS,
};
const use = (cost: string, over: Partial<ContractUse> = {}): ContractUse => ({
  day: '2026-10-05',
  commitment: 'c1',
  currency: 'USD',
  unit: null,
  lines: 1,
  cost: decimal(cost),
  withoutCost: 0,
  quantity: ZERO,
  withoutQuantity: 1,
  ...over,
});
const only = (term: ContractCommitment, uses: readonly ContractUse[]): ContractFulfilment | undefined =>
  contractReport([term], uses)[0];

describe('a commitment of a contract', () => {
  it('is fulfilled by what bills applied to it within its days', () => {
    const uses = [
      use('30'),
      use('20', { day: '2026-10-06' }),
      use('1', { day: '2026-10-04' }),
      use('1', { day: '2026-10-07' }),
      use('1', { commitment: 'c2' }),
    ];
    expect(only(SPEND, uses)).toMatchObject({
      periodStart: '2026-10-05T00:00:00Z',
      periodEnd: '2026-10-07T00:00:00Z',
      unit: 'USD',
      committed: '100',
      applied: '50',
      remaining: '50',
      fulfilment: '0.500000',
      unknownLines: 0,
    });
    expect(only(SPEND, [use('130')])).toMatchObject({ remaining: '-30', fulfilment: '1.300000' });
    expect(only(SPEND, [])).toMatchObject({ applied: '0', remaining: '100', fulfilment: '0.000000' });
  });

  it('of usage counts its unit', () => {
    const usage = { ...SPEND, category: 'Usage', quantity: decimal('10'), unit: 'Hours' } as const;
    const hours = use('7', { unit: 'Hours', quantity: decimal('4'), withoutQuantity: 0 });
    expect(only(usage, [hours])).toMatchObject({ unit: 'Hours', committed: '10', applied: '4', remaining: '6' });
  });

  it('has no ratio where a line states another currency, or nothing', () => {
    expect(only(SPEND, [use('30'), use('5', { currency: 'EUR', lines: 3 })])).toMatchObject({
      applied: '30',
      fulfilment: null,
      unknownLines: 3,
    });
    expect(only(SPEND, [use('30', { lines: 3, withoutCost: 2 })])).toMatchObject({ fulfilment: null, unknownLines: 2 });
  });

  it('has neither rest nor ratio where nobody says what was agreed', () => {
    expect(only({ ...SPEND, cost: null, currency: null }, [])).toMatchObject({
      unit: '',
      committed: null,
      remaining: null,
      fulfilment: null,
    });
  });

  it('stands by id and then by its beginning; those that only bills name come last, each unit by itself', () => {
    const terms = [{ ...SPEND, id: 'd' }, { ...SPEND, start: MONDAY + DAY_MS }, SPEND];
    const hours = { unit: 'Hours', quantity: decimal('2'), withoutQuantity: 0, withoutCost: 1, lines: 1 };
    const uses = [
      use('1', { commitment: 'z' }),
      use('2', { commitment: 'b' }),
      use('3', { commitment: 'b' }),
      use('0', { commitment: 'b', ...hours }),
      use('9'),
    ];
    expect(
      contractReport(terms, uses).map(({ commitment, periodStart, unit, applied }) =>
        [commitment, periodStart?.slice(0, 10), unit, applied].join(' '),
      ),
    ).toEqual([
      'c1 2026-10-05 USD 9',
      'c1 2026-10-06 USD 0',
      'd 2026-10-05 USD 0',
      'b  USD 5',
      'b  Hours 2',
      'z  USD 1',
    ]);
    expect(contractReport([], [use('1')])[0]).toMatchObject({ committed: null, remaining: null, fulfilment: null });
  });
});

describe('what the lines of a bill apply', () => {
  const line = (id: string, contracts: NonNullable<ReturnType<typeof billed>['charge']>['contracts'], start = MONDAY) =>
    billed(id, '1', { start, end: start + 1 }, { contracts });
  const part = { id: 'c1', cost: decimal('2'), quantity: null, unit: null };

  it('is summed by day, commitment and unit, and given out once', () => {
    const sums = new ContractSums();
    sums.add(line('a', [part, { ...part, id: 'c2', cost: null, quantity: decimal('3'), unit: 'Hours' }]));
    sums.add(line('b', [part]));
    sums.add(line('c', [{ ...part, cost: null }], MONDAY + DAY_MS - 1));
    sums.add(line('d', [part], MONDAY + DAY_MS));
    sums.add(line('e', null));
    sums.add(line('f', undefined));
    const uses = sums.drain();
    expect(uses).toEqual([
      use('4', { lines: 3, withoutCost: 1, withoutQuantity: 3 }),
      use('0', { commitment: 'c2', unit: 'Hours', withoutCost: 1, quantity: decimal('3'), withoutQuantity: 0 }),
      use('2', { day: '2026-10-06' }),
    ]);
    expect(sums.drain()).toEqual([]);
  });
});
