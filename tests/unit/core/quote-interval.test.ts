/** How wide a quote is, against hand-reckoned histories: what moved, what was watched, and what is left out. */
import { describe, expect, it } from 'vitest';
import { parseDecimal } from '../../../src/core/decimal.js';
import { Failure } from '../../../src/core/errors.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { rateOf, type Rate } from '../../../src/core/money.js';
import { compilePeak, NO_PEAK } from '../../../src/core/price/peak.js';
import type { Price } from '../../../src/core/price/price.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import {
  quote,
  quoteInDetail,
  type Quote,
  type QuoteContext,
  type QuoteRequest,
} from '../../../src/core/quote/quote.js';
import {
  extremesOf,
  interruptionsIn,
  mostInterruptions,
  type SpotPrices,
} from '../../../src/core/price/spot-history.js';
import { DAY_MS, HOUR_MS, parseInstant } from '../../../src/core/time.js';
import { dirtyPrices } from '../../../src/planning/anomaly/dirty-prices.js';
import { gpuPrice, quoteRequest } from '../../support/makers.js';

const NOW = parseInstant('2026-10-05T00:00:00Z') ?? Number.NaN;
const rate = (hourly: string): Rate =>
  rateOf(parseDecimal(hourly) ?? { unscaled: 0n, scale: 0 }, 'USD', 28_800n, 'gpu-second');
/** An instance of eight GPUs. */
const price = (hourly: string, over: Partial<Price> = {}): Price =>
  gpuPrice({ rate: rate(hourly), effectiveFrom: NOW - 400 * DAY_MS, source: 'list', ...over });
const spot = (hourly: string, from: number): Price => price(hourly, { term: 'spot', effectiveFrom: from });
const request: QuoteRequest = quoteRequest({ provider: 'aws' });
const context = (prices: readonly Price[], over: Partial<QuoteContext> = {}): QuoteContext => ({
  prices,
  book: new PriceBook({ prices, withdrawals: [] }),
  fx: new FxTable('USD', []),
  peak: NO_PEAK,
  at: NOW,
  ...over,
});
const quoted = (over: Partial<QuoteRequest>, given: QuoteContext): Quote =>
  quote({ ...request, ...over }, given) as Quote;
const ends = (over: Partial<QuoteRequest>, given: QuoteContext): [string, string] => {
  const { low, high } = quoted(over, given).interval;
  return [low, high];
};

describe('the interval of a quote', () => {
  const listed = context([price('10')]);

  it('has no width for fixed hours at a listed price, and says why', () => {
    expect(quoted({}, listed).interval).toEqual({
      low: '100.00',
      high: '100.00',
      because: ['no width: 10 h are given, and the on-demand price is a listed one'],
      leavesOut: [],
    });
  });

  it('holds the range of hours, by the peak factor of each', () => {
    expect(quoted({ hoursLow: 5, hoursHigh: 20 }, listed).interval).toEqual({
      low: '50.00',
      high: '200.00',
      because: ['the run takes 5 to 20 h'],
      leavesOut: [],
    });
    // Ten hours until ten at 1, then twice as dear: 5, 10, and 10 + 2 x 10 hours.
    const peak = compilePeak([{ from: '10:00', to: '20:00', factor: '2', zone: 'UTC' }]);
    expect(ends({ hoursLow: 5, hoursHigh: 20 }, context([price('10')], { peak }))).toEqual(['50.00', '300.00']);
  });

  it('of spot holds the mean prices that a run of its length had in the last thirty days', () => {
    // Twenty-nine days at 2, the last at 5: a run of 10 h would have cost 2 to 5 an hour; one of 48 h at most 3.5.
    const given = context([spot('2', NOW - 60 * DAY_MS), spot('5', NOW - DAY_MS)]);
    expect(ends({ term: 'spot' }, given)).toEqual(['20.00', '50.00']);
    // The price of now is quoted: the interval holds it.
    expect(ends({ term: 'spot', hours: 48 }, given)).toEqual(['96.00', '240.00']);
    const back = context([spot('2', NOW - 60 * DAY_MS), spot('5', NOW - 2 * DAY_MS), spot('2', NOW - DAY_MS)]);
    expect(ends({ term: 'spot', hours: 48 }, back)).toEqual(['96.00', '168.00']);
    expect(quoted({ term: 'spot', hours: 48 }, back)).toMatchObject({
      cost: '96.00',
      interval: { leavesOut: [expect.stringContaining('has been recorded for less than a day')] },
    });
  });

  it('of spot goes by the lowest and the highest price where the history is shorter than the run, and forgets what is older than thirty days', () => {
    const given = context([spot('9', NOW - 90 * DAY_MS), spot('2', NOW - 40 * DAY_MS), spot('3', NOW - DAY_MS)]);
    const { interval } = quoted({ term: 'spot', hours: 1000 }, given);
    expect([interval.low, interval.high]).toEqual(['2000.00', '3000.00']);
    expect(interval.because[0]).toContain('shorter than the run');
  });

  it('of spot ends at the on-demand price where no change is known, and says so where there is none either', () => {
    const still = spot('2', NOW - 60 * DAY_MS);
    expect(quoted({ term: 'spot' }, context([still, price('10')])).interval).toMatchObject({
      low: '20.00',
      high: '100.00',
      because: [expect.stringContaining('on-demand price')],
    });
    const { leavesOut, low, high } = quoted({ term: 'spot' }, context([still])).interval;
    expect([low, high, leavesOut.length]).toEqual(['20.00', '20.00', 2]);
  });

  it('of spot takes no slipped price for a real one', () => {
    const usual = Array.from({ length: 40 }, (_, n) => spot(n % 2 === 0 ? '2.00' : '2.02', NOW - (41 - n) * HOUR_MS));
    const slipped = context([...usual, spot('20.0', NOW - 1.5 * HOUR_MS), spot('2.00', NOW - HOUR_MS)]);
    expect(ends({ term: 'spot', hours: 0.25 }, slipped)).toEqual(['0.50', '5.00']);
    expect(
      ends(
        { term: 'spot', hours: 0.25 },
        { ...slipped, book: new PriceBook({ prices: slipped.prices, withdrawals: [] }), dirtyPrices },
      ),
    ).toEqual(['0.50', '0.505']);
  });

  it('of spot adds the restarts that nine runs of ten do not exceed', () => {
    const still = [spot('2', NOW - 60 * DAY_MS), price('2')];
    const watched = { count: 9, hours: 100 };
    // (9 + 1) / 100 h x 10 h: one expected; two are not exceeded in 92 % (e^-1 (1 + 1 + 1/2)).
    expect(
      quoted({ term: 'spot', restartHours: 0.5 }, context(still, { interruptions: watched })).interval,
    ).toMatchObject({ low: '20.00', high: '22.00', leavesOut: [] });
    expect(quoted({ term: 'spot' }, context(still, { interruptions: watched })).interval.leavesOut).toEqual([
      expect.stringContaining('give restartHours'),
    ]);
  });

  it('leaves out whether a price holds that the catalogue no longer lists', () => {
    const prices = [price('10')];
    const gone = new PriceBook({
      prices,
      withdrawals: [{ provider: 'AWS', sku: 'p5.48xlarge', region: 'us-east-1', at: NOW - DAY_MS }],
    });
    expect(quoted({}, { ...context(prices), book: gone }).interval.leavesOut).toEqual([
      expect.stringContaining('no longer lists'),
    ]);
  });

  it('is asked with numbers that can be, or names every one that cannot', () => {
    const wrong = (): unknown =>
      quote(
        { ...request, gpus: 0.0001, hours: 5, hoursLow: 6, hoursHigh: 4, restartHours: -1, currency: 'usd' },
        listed,
      );
    expect(wrong).toThrow(Failure);
    try {
      wrong();
    } catch (error) {
      expect((error as Failure).problems.map(({ path }) => path)).toEqual([
        'gpus',
        'hoursLow',
        'hoursHigh',
        'restartHours',
        'currency',
      ]);
    }
  });

  it('costs the beginning of a run as that of the whole, cut off', () => {
    const detail = quoteInDetail({ ...request, hoursLow: 5, hoursHigh: 20 }, listed);
    if ('unpriced' in detail) throw new Error(detail.message);
    const dollars = (withinMs: number): number[] =>
      Object.values(detail.costWithin(withinMs)).map((nanos) => Number(nanos) / 1e9);
    expect([dollars(0), dollars(4 * HOUR_MS), dollars(8 * HOUR_MS), dollars(1e12)]).toEqual([
      [0, 0, 0],
      [40, 40, 40],
      [80, 50, 80],
      [100, 50, 200],
    ]);
  });
});

describe('a spot history', () => {
  const steps = (...hourly: string[]): SpotPrices =>
    hourly.map((text, n) => ({ start: NOW + n * HOUR_MS, end: NOW + (n + 1) * HOUR_MS, rate: rate(text) }));
  const perHour = ({ nanos, quantity }: Rate): number => (Number(nanos) / 1e9 / Number(quantity)) * 28_800;

  it('has its extremes over any stretch, not only over whole steps', () => {
    const found = extremesOf(steps('1', '4', '1', '1'), 1.5 * HOUR_MS);
    // An hour of 4 and half an hour of 1; one and a half hours of 1.
    expect([perHour(found.low), perHour(found.high), found.isWhole]).toEqual([1, 3, true]);
    expect(extremesOf(steps('1', '4'), 3 * HOUR_MS).isWhole).toBe(false);
  });

  it('knows interruptions only where somebody looked often enough', () => {
    const looks = (text: string, gap = HOUR_MS / 2) =>
      [...text].map((mark, n) => ({ at: NOW + n * gap, available: mark === '1' }));
    // Fifty looks half an hour apart: 49 gaps, of which the two after a 0 say nothing of a running one.
    expect(interruptionsIn(looks('1'.repeat(20) + '0' + '1'.repeat(20) + '0' + '1'.repeat(8)))).toBeNull();
    expect(interruptionsIn(looks('1'.repeat(40) + '0' + '1'.repeat(20) + '00'))).toEqual({ count: 2, hours: 30 });
    expect(interruptionsIn(looks('1'.repeat(60), 2 * HOUR_MS))).toBeNull();
    expect(interruptionsIn([])).toBeNull();
  });

  it('takes none seen for less than one, never for none', () => {
    expect(mostInterruptions({ count: 0, hours: 100 }, 100)).toBe(2);
    expect(mostInterruptions({ count: 0, hours: 1000 }, 10)).toBe(0);
    // A Poisson count of mean 1000 is at most 1041 in nine cases of ten.
    expect(mostInterruptions({ count: 99, hours: 100 }, 1000)).toBe(1041);
  });
});
