/** What an amount lacks, in words: nothing where nothing is lacking, and what is unknown without a number. */
import { describe, expect, it } from 'vitest';
import { countedOnce, lackingTexts, notInIt } from '../../../src/core/alert/lacking.js';
import type { UnpricedUsage } from '../../../src/core/cost/unpriced.js';

const EUR = { currency: 'EUR', amount: '12.5' };
const UNKNOWN = { currency: 'JPY', amount: null };

describe('what an amount lacks', () => {
  it('is one sentence for each reason and amount', () => {
    expect(lackingTexts({}, 'in it')).toEqual([]);
    expect(lackingTexts({ unconverted: [EUR, UNKNOWN], unstated: [EUR], unnamed: [EUR] }, 'in it')).toEqual([
      '12.50 EUR has no exchange rate and is not in it.',
      'Spend in JPY has no exchange rate and is not in it.',
      '12.50 EUR is billed without an amortised cost and is not in it.',
      '12.50 EUR is metered without the field that the filter needs and is not in it.',
    ]);
    expect(lackingTexts({ setAside: [EUR] }, 'in it')[0]).toContain('charge 12.50 EUR for usage that counts');
  });

  it('names three entries without a price, and how many more there are', () => {
    const usage = (sku: string): UnpricedUsage => ({
      provider: 'P',
      sku,
      component: 'storage',
      reason: 'no-price-list',
      quantity: '1.25',
      hours: 3,
    });
    const [three] = lackingTexts({ unpriced: ['a', 'b', 'c'].map(usage) }, 'in it');
    expect(three).toMatch(/^Not in it: .*of P a without a price.*; .* P b .*; .* P c [^;]*\.$/);
    const [five] = lackingTexts({ unpriced: ['a', 'b', 'c', 'd', 'e'].map(usage) }, 'in it');
    expect(five).toMatch(/; 2 more\.$/);
    expect(five).not.toContain('P d');
  });

  it('is short at the end of a line', () => {
    expect([notInIt(), notInIt([])]).toEqual(['', '']);
    expect(notInIt([EUR, UNKNOWN])).toBe('; not included: 12.50 EUR, JPY');
    expect(notInIt([], { unpricedGpuHours: '2.25', hasUnpriced: true })).toBe(
      '; not included: 2.3 GPU-hours without a price, storage, traffic or other usage without a price',
    );
    expect(notInIt([], { unpricedGpuHours: '0.000000', hasUnpriced: false })).toBe('');
  });

  it('says of bills that are not final that nothing is missing', () => {
    expect(countedOnce([])).toBe('');
    expect(countedOnce([EUR, UNKNOWN])).toMatch(/; the same usage is counted once, .* 12\.50 EUR, Spend in JPY$/);
  });
});
