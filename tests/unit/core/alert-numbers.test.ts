/** What drives a spend, named in an alert: the largest parts and increases, ties, and what is not known. */
import { describe, expect, it } from 'vitest';
import { driversOf, spendSoFar, type SpendLine } from '../../../src/core/alert/numbers.js';

const line = (sku: string, cost: string | null, more: Record<string, string> = {}): SpendLine => ({
  provider: 'AWS',
  sku,
  gpuModel: null,
  currency: 'USD',
  cost,
  ...more,
});
const skusOf = (all: readonly { name: string }[]): string[] => all.map(({ name }) => name.replace(/^AWS /, ''));

describe('what drives a spend', () => {
  it('is its three largest parts, the largest first, and those of equal cost by name', () => {
    const drivers = driversOf([line('b', '2'), line('d', '1'), line('a', '2'), line('c', '4'), line('c', '1')], 'USD');
    expect(skusOf(drivers)).toEqual(['c', 'a', 'b']);
    expect(drivers.map(({ cost, share }) => [cost, share])).toEqual([
      ['5.000000000', 0.5],
      ['2.000000000', 0.2],
      ['2.000000000', 0.2],
    ]);
  });

  it('is nothing in another currency, without a price, or that came to nothing', () => {
    expect(driversOf([line('a', '2', { currency: 'EUR' }), line('b', null), line('c', '0')], 'USD')).toEqual([]);
    expect(driversOf([], 'USD')).toEqual([]);
  });

  it('is of what the filters leave', () => {
    const rows = [line('a', '2', { region: 'us' }), line('b', '3', { region: 'eu' })];
    expect(skusOf(driversOf(rows, 'USD', { region: ['us'] }))).toEqual(['a']);
  });
});

describe('the spend so far', () => {
  it('names what has grown, the most first, then by name, and not what has stayed or shrunk', () => {
    const before = [line('a', '1'), line('b', '1'), line('same', '3'), line('less', '9')];
    const now = [line('b', '3'), line('a', '3'), line('new', '4'), line('same', '3'), line('less', '2')];
    const found = spendSoFar('2026-10-12', now, before, 'USD')!;
    expect(found).toMatchObject({ through: '2026-10-12', spent: '15.000000000', before: '14.000000000' });
    expect(skusOf(found.grown)).toEqual(['new', 'a', 'b']);
    expect(found.grown.map(({ more }) => more)).toEqual(['4.000000000', '2.000000000', '2.000000000']);
  });

  it('is not compared with days of which nothing is known', () => {
    expect(spendSoFar('2026-10-12', [line('a', '1')], [], 'USD')).toBeNull();
  });
});
