/**
 * Quotes by what bills have taught, against hand-reckoned figures: the rate that is charged, the bill that says so, the
 * list beside it.
 */
import { describe, expect, it } from 'vitest';
import { effectivePrices } from '../../../src/core/price/effective-prices.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { LearnedRates, type LearnedRate } from '../../../src/core/price/learned-rate.js';
import { NO_PEAK } from '../../../src/core/price/peak.js';
import type { Price } from '../../../src/core/price/price.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import { quote, type Quote, type QuoteContext, type QuoteRequest } from '../../../src/core/quote/quote.js';
import { answerQuote } from '../../../src/planning/quoting.js';
import { instancePrice } from '../../support/bursar.js';
import { quoteRequest } from '../../support/makers.js';

const NOW = Date.UTC(2026, 10, 20);
const NOVEMBER = Date.UTC(2026, 10, 1);
/** 80 an hour on demand, 90 elsewhere, 20 on spot. */
const PRICES: readonly Price[] = [
  instancePrice('80', { minimumSeconds: 0 }),
  instancePrice('90', { minimumSeconds: 0, region: 'us-west-2' }),
  instancePrice('20', { minimumSeconds: 0, term: 'spot' }),
];
const RUN: QuoteRequest = quoteRequest({ provider: 'aws' });

const learned = (
  account: string | null,
  numerator: bigint,
  denominator: bigint,
  over: Partial<LearnedRate> = {},
  region = 'us-east-1',
): LearnedRate => ({
  key: { provider: 'AWS', account, sku: 'p5.48xlarge', region, term: 'on-demand' },
  ratio: { numerator, denominator },
  source: `bill:cur/2026-10`,
  appliesFrom: NOVEMBER,
  periodEnd: NOVEMBER,
  meteredPartMs: 1n,
  ...over,
});
function quoted(rates: readonly LearnedRate[], over: Partial<QuoteRequest> = {}, at = NOW): Quote {
  const history = { prices: PRICES, withdrawals: [] };
  const effective = effectivePrices(
    { history, book: new PriceBook(history) },
    new LearnedRates(rates),
    over.account ?? null,
    at,
  );
  const context: QuoteContext = {
    book: effective.book,
    prices: effective.history.prices,
    effective,
    fx: new FxTable('USD', [{ day: '2026-11-20', currency: 'EUR', perBase: { unscaled: 5n, scale: 1 } }]),
    peak: NO_PEAK,
    at,
  };
  return quote({ ...RUN, ...over }, context) as Quote;
}

describe('a quote of a price that a bill has taught', () => {
  it('is what is charged, with the bill and the list price beside it', () => {
    expect(quoted([learned('a1', 3n, 4n)])).toMatchObject({
      cost: '600.00',
      unitPrice: '7.50',
      source: 'test',
      learned: {
        source: 'bill:cur/2026-10',
        account: 'a1',
        ratio: '0.750000',
        listCost: '800.00',
        listUnitPrice: '10.00',
      },
      interval: {
        low: '600.00',
        high: '600.00',
        because: ['no width: 10 h are given, and the on-demand price is learned from a bill'],
        leavesOut: [],
      },
      assumptions: ['account a1 is charged 0.750000 of the list price, according to bill:cur/2026-10'],
    });
    expect(quoted([learned('a1', 3n, 4n)], { currency: 'EUR' })).toMatchObject({
      cost: '300.00',
      learned: { listCost: '400.00', listUnitPrice: '5.00' },
    });
  });

  it('is rounded once, and may be above the list', () => {
    // 800 USD x 7/6.
    expect(quoted([learned('a1', 7n, 6n)])).toMatchObject({ cost: '933.333333333', learned: { ratio: '1.166667' } });
  });

  it('is the list price where nothing was learned of it, nothing holds yet, or another account is named', () => {
    for (const list of [
      quoted([]),
      quoted([learned('a1', 3n, 4n, {}, 'eu-west-1')]),
      quoted([learned('a1', 3n, 4n)], {}, NOVEMBER - 1),
      quoted([learned('a1', 3n, 4n)], { account: 'a2' }),
    ]) {
      expect([list.cost, list.learned]).toEqual(['800.00', null]);
    }
  });

  it('is that of the account that is named', () => {
    const rates = [learned('a1', 3n, 4n), learned('a2', 1n, 2n, { meteredPartMs: 9n, source: 'bill:cur/2026-09' })];
    expect(quoted(rates, { account: 'a1' })).toMatchObject({
      cost: '600.00',
      learned: { account: 'a1' },
      interval: { low: '600.00', high: '600.00' },
    });
  });

  it('is, of any account, that with the most usage, and the interval holds every other', () => {
    const rates = [learned('a1', 3n, 4n), learned('a2', 1n, 2n, { meteredPartMs: 9n }), learned('a3', 9n, 10n)];
    expect(quoted(rates)).toMatchObject({
      cost: '400.00',
      learned: { account: 'a2', ratio: '0.500000' },
      interval: {
        low: '400.00',
        high: '720.00',
        because: ['3 accounts are charged 0.500000 to 0.900000 of the list price, and none is named'],
      },
    });
  });

  it('goes by the newest bill that holds', () => {
    const rates = [
      learned('a1', 3n, 4n, {
        source: 'bill:cur/2026-09',
        appliesFrom: Date.UTC(2026, 9, 1),
        periodEnd: Date.UTC(2026, 9, 1),
        meteredPartMs: 9n,
      }),
      learned('a1', 1n, 2n),
    ];
    expect(quoted(rates).learned).toMatchObject({ source: 'bill:cur/2026-10', ratio: '0.500000' });
    expect(quoted(rates, {}, NOVEMBER - 1).learned).toMatchObject({ source: 'bill:cur/2026-09', ratio: '0.750000' });
  });

  it('chooses and compares by what is charged', () => {
    // West costs 90 by the list, and 45 is charged.
    const rates = [learned('a1', 1n, 2n, {}, 'us-west-2')];
    expect(quoted(rates, { region: null })).toMatchObject({ region: 'us-west-2', cost: '450.00' });
    expect(quoted(rates).alternatives.map(({ term, region, cost, learned: by }) => [term, region, cost, by])).toEqual([
      ['spot', 'us-east-1', '200.00', null],
      ['on-demand', 'us-west-2', '450.00', 'bill:cur/2026-10'],
    ]);
  });

  it('places a workload by what is charged', () => {
    const history = { prices: PRICES, withdrawals: [] };
    const effective = effectivePrices(
      { history, book: new PriceBook(history) },
      new LearnedRates([learned('a1', 1n, 2n, {}, 'us-west-2')]),
      null,
      NOW,
    );
    const context: QuoteContext = {
      book: effective.book,
      prices: effective.history.prices,
      effective,
      fx: new FxTable('USD', []),
      peak: NO_PEAK,
      at: NOW,
    };
    const placement = {
      kind: 'training' as const,
      memoryGibPerGpu: 10,
      spotShareMax: 0,
      restOfTermUsed: false,
      most: 1,
    };
    const answer = answerQuote(
      { request: RUN, team: null, tags: null, placement },
      { context, history: effective.history, asOf: NOW, budgets: null },
    );
    expect(answer).toMatchObject({ placements: { best: { cost: '450.00', parts: [{ region: 'us-west-2' }] } } });
    expect('placements' in answer ? answer.placements?.assumptions : []).toContain(
      '1 of the prices were learned from bills, the others are list prices',
    );
  });
});

describe('the prices behind it', () => {
  it('are the list itself where nothing was learned, and never change it', () => {
    const history = { prices: PRICES, withdrawals: [] };
    const book = new PriceBook(history);
    expect(effectivePrices({ history, book }, new LearnedRates([]), null, NOW).book).toBe(book);
    const before = PRICES.map(({ rate }) => ({ ...rate }));
    effectivePrices({ history, book }, new LearnedRates([learned('a1', 1n, 2n)]), null, NOW);
    expect(PRICES.map(({ rate }) => rate)).toEqual(before);
  });

  it('hold until another rate begins', () => {
    const rates = new LearnedRates([
      learned('a1', 1n, 2n),
      learned('a1', 1n, 3n, { appliesFrom: Date.UTC(2026, 11, 1), periodEnd: Date.UTC(2026, 11, 1) }),
    ]);
    expect([rates.nextAfter(0), rates.nextAfter(NOVEMBER), rates.nextAfter(Date.UTC(2026, 11, 1))]).toEqual([
      NOVEMBER,
      Date.UTC(2026, 11, 1),
      Infinity,
    ]);
  });
});
