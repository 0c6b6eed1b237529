import { describe, expect, it } from 'vitest';
import { parseDecimal } from '../../../src/core/decimal.js';
import { costOf, formatMoney, rateOf } from '../../../src/core/money.js';
import { amortisedRate, applySavingsPlan, termHours } from '../../../src/core/price/term.js';

const decimal = (text: string) => parseDecimal(text) ?? { unscaled: 0n, scale: 0 };
const rate = (hourly: string) => rateOf(decimal(hourly), 'USD', 3600n, 'gpu-second');

describe('reservations', () => {
  it('know their hours', () => {
    expect(termHours('reserved-1y')).toBe(8760);
    expect(termHours('savings-plan-3y')).toBe(26_280);
    expect(termHours('spot')).toBeNull();
  });

  it.each([
    ['none', '0', '12.5', '12.50'],
    ['partial', '43800', '5', '10.00'],
    ['all', '100000', '0', '11.415525114'],
  ])('%s upfront: one instance-hour', (_, upfront, hourly, expected) => {
    const amortised = amortisedRate({
      term: 'reserved-1y',
      upfront: decimal(upfront),
      hourly: decimal(hourly),
      gpus: 8,
      currency: 'USD',
    });
    expect(formatMoney(costOf(8n * 3600n, 1n, amortised))).toBe(expected);
  });

  it('cost over a term fully used exactly what was paid', () => {
    const amortised = amortisedRate({
      term: 'reserved-3y',
      upfront: decimal('77777.77'),
      hourly: decimal('1.234567'),
      gpus: 8,
      currency: 'USD',
    });
    expect(formatMoney(costOf(8n * 3600n * 26_280n, 1n, amortised))).toBe('110222.19076');
  });
});

describe('a savings plan of $10 an hour', () => {
  // 40 % off the first, 50 % off the second: the second is covered first.
  const usages = [
    { quantity: 3600n, scale: 1n, planRate: rate('6'), onDemandRate: rate('10') },
    { quantity: 3600n, scale: 1n, planRate: rate('8'), onDemandRate: rate('16') },
  ];
  it('covers the highest saving first, the rest on demand', () => {
    const { usages: result, unused } = applySavingsPlan(10_000_000_000n, usages);
    expect(result).toEqual([
      { covered: 2_000_000_000n, onDemand: 6_666_666_667n },
      { covered: 8_000_000_000n, onDemand: 0n },
    ]);
    expect(unused).toBe(0n);
  });
  it('is paid where it is not used', () => {
    expect(applySavingsPlan(20_000_000_000n, usages)).toEqual({
      usages: [
        { covered: 6_000_000_000n, onDemand: 0n },
        { covered: 8_000_000_000n, onDemand: 0n },
      ],
      unused: 6_000_000_000n,
    });
    expect(applySavingsPlan(0n, usages).usages.map(({ onDemand }) => onDemand)).toEqual([
      10_000_000_000n,
      16_000_000_000n,
    ]);
  });
});
