/** What other rules would make of costs, reckoned by hand. */
import { FxTable } from '../../../src/core/price/fx.js';
import { describe, expect, it } from 'vitest';
import type { Assignment } from '../../../src/core/cost/allocation.js';
import { readCredits } from '../../../src/core/cost/credit.js';
import { formatDecimal, parseDecimal } from '../../../src/core/decimal.js';
import {
  divide,
  share,
  sumsOf,
  takeCredits,
  type DayCost,
  type Portion,
  type PortionCost,
} from '../../../src/core/cost/rule-preview.js';

const amount = (text: string | null) => (text === null ? null : parseDecimal(text));
const cost = (
  team: string,
  accrued: string | null,
  actual: string | null = accrued,
  over: Partial<DayCost> = {},
): DayCost => ({
  team,
  day: '2026-10-05',
  dimension: '1',
  currency: 'USD',
  accrued: amount(accrued),
  actual: amount(actual),
  unpriced: 0n,
  ...over,
});
const own = (accrued: bigint | null, actual: bigint | null = accrued, unpriced = 0n): PortionCost => ({
  accrued,
  actual,
  unpriced,
});
const metered = (of: PortionCost, elsewhere: (PortionCost & { currency: string }) | null = null): Portion => ({
  kind: 'metered',
  own: of,
  elsewhere,
});
const shown = (costs: readonly DayCost[]) =>
  Object.fromEntries(
    costs.map(({ team, currency, accrued, actual, unpriced }) => [
      `${team} ${currency}`,
      [accrued === null ? null : formatDecimal(accrued), actual === null ? null : formatDecimal(actual), unpriced],
    ]),
  );

describe('a cost', () => {
  it('is divided by what its portions would cost alone, to the last digit', () => {
    expect(
      shown(
        divide(
          cost('a', '10.000000000', '4.000000000'),
          new Map([
            ['a', metered(own(10n, 0n))],
            ['b', metered(own(20n, 7n))],
          ]),
        ),
      ),
    ).toEqual({ 'a USD': ['3.333333333', '0.000000000', 0n], 'b USD': ['6.666666667', '4.000000000', 0n] });
  });

  it('goes whole to the one who would have it, and stays where nothing is known of it', () => {
    expect(shown(divide(cost('a', '10'), new Map([['b', metered(own(0n))]])))).toEqual({
      'b USD': ['10.000000000', '10.000000000', 0n],
    });
    expect(divide(cost('a', '10'), new Map())).toEqual([cost('a', '10.000000000')]);
  });

  it('leaves a portion without a price without a cost, and moves its quantity', () => {
    const parts = new Map([
      ['a', metered(own(5n))],
      ['b', metered(own(null, null, 30n))],
      ['c', metered(own(null, null, 10n))],
    ]);
    expect(shown(divide(cost('a', '10', '10', { unpriced: 40n }), parts))).toEqual({
      'a USD': ['10.000000000', '10.000000000', 0n],
      'b USD': [null, null, 30n],
      'c USD': [null, null, 10n],
    });
  });

  it('is accrued anew where the team has another currency: the others have what they would have had', () => {
    const parts = new Map([
      ['a', metered(own(5n))],
      ['b', metered(own(5n), { ...own(36_000_000_000n), currency: 'CNY' })],
    ]);
    expect(shown(divide(cost('a', '10'), parts))).toEqual({
      'a USD': ['5.000000000', '5.000000000', 0n],
      'b CNY': ['36.000000000', '36.000000000', 0n],
    });
  });

  it('of a bill goes as the bill states it, refunds too; what is not accounted for stays', () => {
    const bill = cost('a', null, '7.25');
    expect(
      shown(
        divide(
          bill,
          new Map<string, Portion>([
            ['b', { kind: 'billed', actual: amount('9.25') }],
            ['c', { kind: 'billed', actual: amount('-3.00') }],
          ]),
        ),
      ),
    ).toEqual({ 'a USD': [null, '1.00', 0n], 'b USD': [null, '9.25', 0n], 'c USD': [null, '-3.00', 0n] });
    expect(shown(divide(bill, new Map<string, Portion>([['b', { kind: 'billed', actual: amount('7.25') }]])))).toEqual({
      'b USD': [null, '7.25', 0n],
    });
  });
});

describe('what is shared', () => {
  const by = (assignment: Assignment | null) => ({
    isShared: (team: string) => team.startsWith('shared:'),
    assignmentOf: () => assignment,
    daysOf: () => 1,
    fx: new FxTable('USD', []),
  });
  const costs = [
    cost('a', '30'),
    cost('b', '10'),
    cost('unallocated', '99'),
    cost('shared:0', '9', '8', { dimension: '2', unpriced: 4n }),
  ];

  it("goes by the use of the day, which what is nobody's is not", () => {
    expect(
      sumsOf(share(costs, by({ kind: 'use', of: null, rule: 0 }))).map(({ team, actual, unpriced }) => [
        team,
        formatDecimal(actual!),
        unpriced,
      ]),
    ).toEqual([
      ['a', '36.000000000', 3n],
      ['b', '12.000000000', 1n],
      ['unallocated', '99', 0n],
    ]);
    expect(
      sumsOf(share(costs.slice(2), by({ kind: 'use', of: null, rule: 0 }))).map(({ team, actual }) => [
        team,
        formatDecimal(actual!),
      ]),
    ).toEqual([['unallocated', '107.000000000']]);
  });

  it('goes by fixed shares, and to nobody where no rule shares it any more', () => {
    expect(
      shown(
        share(
          costs.slice(3),
          by({
            kind: 'fixed',
            shares: [
              { team: 'a', weight: 1n },
              { team: 'c', weight: 3n },
            ],
            rule: 0,
          }),
        ),
      ),
    ).toEqual({ 'a USD': ['2.250000000', '2.000000000', 1n], 'c USD': ['6.750000000', '6.000000000', 3n] });
    expect(share(costs.slice(3), by(null))).toEqual([]);
  });
});

it('credits are taken by day, team and dimension, as far as a cost counts', () => {
  const credits = readCredits([
    {
      id: 'c',
      kind: 'promotional',
      provider: 'AWS',
      amount: '25',
      currency: 'USD',
      from: '2026-10-01',
      until: '2026-11-01',
    },
  ]);
  const of = (dimension: string) => (dimension === '3' ? null : { provider: 'AWS', isMetered: dimension !== '2' });
  const costs = [
    cost('b', '20', '10'),
    cost('a', '10', null),
    cost('a', '5', '5', { day: '2026-10-04' }),
    cost('a', null, '70', { dimension: '2' }),
    cost('a', '70', '70', { dimension: '3' }),
  ];
  expect(
    takeCredits(costs, credits, of, new FxTable('USD', [])).map(({ team, day, accrued, actual }) => [
      team,
      day,
      formatDecimal(accrued!),
      actual === null ? null : formatDecimal(actual),
    ]),
  ).toEqual([
    ['a', '2026-10-04', '-5.000000000', '-5.000000000'],
    ['a', '2026-10-05', '-10.000000000', null],
    ['b', '2026-10-05', '-10.000000000', '-5.000000000'],
  ]);
});
