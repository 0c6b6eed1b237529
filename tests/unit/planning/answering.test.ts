/** The whole answer to a quote, and to a question for a throughput: which parts there are, and which price counts. */
import { describe, expect, it } from 'vitest';
import { rateOf } from '../../../src/core/money.js';
import type { GpuOffer } from '../../../src/core/policy/policy.js';
import { FxTable } from '../../../src/core/price/fx.js';
import { NO_PEAK } from '../../../src/core/price/peak.js';
import { PriceBook } from '../../../src/core/price/price-book.js';
import type { BudgetFacts } from '../../../src/core/quote/budget.js';
import { answerQuote, type QuoteWorld, type WholeQuestion } from '../../../src/planning/quoting.js';
import { answerThroughput, type ThroughputQuestion } from '../../../src/planning/throughput/question.js';
import { measurement, offer } from '../../../src/policies/estimating/examples.js';
import { gpuPrice, monthBudget } from '../../support/makers.js';

const NOW = Date.UTC(2026, 9, 20);
const units = (amount: number): bigint => BigInt(amount) * 1_000_000_000n;

describe('the answer to a quote', () => {
  const gpu = gpuPrice({
    sku: 'g6.xlarge',
    gpuModel: 'L4',
    gpus: 1,
    rate: rateOf({ unscaled: 1n, scale: 0 }, 'USD', 3600n, 'gpu-second'),
    effectiveFrom: 0,
  });
  const besides = { ...gpu, sku: '*', gpuModel: null, gpus: null };
  const prices = [
    gpu,
    { ...besides, component: 'storage', rate: { ...gpu.rate, unit: 'gib-second' } },
    { ...besides, component: 'network', rate: { ...gpu.rate, unit: 'gib' } },
  ] as const;
  const world = (over: Partial<QuoteWorld> = {}): QuoteWorld => ({
    context: {
      prices,
      book: new PriceBook({ prices, withdrawals: [] }),
      fx: new FxTable('USD', []),
      peak: NO_PEAK,
      at: NOW,
    },
    history: { prices, withdrawals: [] },
    asOf: NOW,
    budgets: null,
    ...over,
  });
  const question = (
    over: Partial<WholeQuestion> = {},
    request: Partial<WholeQuestion['request']> = {},
  ): WholeQuestion => ({
    request: {
      provider: 'AWS',
      sku: 'g6.xlarge',
      gpus: 1,
      hours: 100,
      term: 'on-demand',
      region: null,
      upfront: null,
      currency: null,
      ...request,
    },
    team: null,
    tags: null,
    placement: null,
    ...over,
  });
  const answer = (one: WholeQuestion, there = world()) => {
    const found = answerQuote(one, there);
    if ('unpriced' in found) throw new Error(found.message);
    return found;
  };
  const placement = { kind: 'training', memoryGibPerGpu: 8, spotShareMax: 0, restOfTermUsed: false, most: 3 } as const;
  const budgetOf = (id: string, planned: string): BudgetFacts => ({
    budget: monthBudget({ id, planned: { default: planned, periods: {} } }),
    period: { start: Date.UTC(2026, 9, 1), end: Date.UTC(2026, 10, 1) },
    reserved: 0n,
    state: {
      weighedAt: NOW,
      spent: units(400),
      owed: 0n,
      forecast: { mean: units(600), low: units(500), high: units(700) },
      unpricedGpuHours: '0.000000',
      unconverted: [],
    },
  });

  it('has neither budgets nor places where nobody asked for them, and ends with the reason without a price', () => {
    expect(answer(question())).toMatchObject({ budgets: null, placements: null, currency: 'USD' });
    expect(answerQuote(question({ team: 'red', placement }, { sku: 'another' }), world())).toHaveProperty('unpriced');
  });

  it('has the severest verdict of the budgets, each by itself, and an unknown one without any', () => {
    expect(answer(question({ team: 'red' })).budgets).toEqual({ team: 'red', verdict: 'unknown', budgets: [] });
    const budgets = [budgetOf('wide', '1000'), budgetOf('narrow', '450')];
    const judged = answer(question({ team: 'red' }), world({ budgets })).budgets!;
    expect(judged.budgets.map(({ budget, verdict }) => [budget, verdict])).toEqual([
      ['wide', 'holds'],
      ['narrow', 'exceeds'],
    ]);
    expect(judged).toMatchObject({ team: 'red', verdict: 'exceeds' });
  });

  it('has places for as many GPUs and hours as the quote, and says what it leaves out of their costs', () => {
    const places = (request: Partial<WholeQuestion['request']> = {}, there = world()) =>
      answer(question({ placement }, request), there).placements!;
    const plain = places();
    expect(JSON.stringify(plain.best)).toContain('g6.xlarge');
    const said = 'places are compared by GPUs and egress alone, without the storage and the traffic of the quote';
    expect(plain.assumptions).not.toContain(said);
    expect(places({ storageGib: 0, networkGib: 0 }).assumptions).toEqual(plain.assumptions);
    expect(places({ storageGib: 5 }).assumptions).toEqual([...plain.assumptions, said]);
    expect(places({ networkGib: 5 }).assumptions).toEqual([...plain.assumptions, said]);
    const taught = (count: number) =>
      world({ context: { ...world().context, effective: { learnedOf: () => null, taught: count } as never } });
    expect(places({}, taught(0)).assumptions).toEqual(plain.assumptions);
    expect(places({}, taught(2)).assumptions.at(-1)).toContain('2 of the prices were learned from bills');
  });
});

describe('the answer to a question for a throughput', () => {
  const rows = [60, 120].map((perMinute, n) => ({ ...measurement('T4', perMinute), id: `${n}`, gpuCount: n + 1 }));
  const question = (over: Partial<ThroughputQuestion> = {}): ThroughputQuestion => ({
    team: 'research',
    model: 'classifier',
    gpuModel: 'T4',
    gpuCount: 2,
    batch: 32,
    family: null,
    params: null,
    size: null,
    optimizer: null,
    precision: null,
    nodes: null,
    samples: 7200,
    provider: null,
    region: null,
    term: 'on-demand',
    currency: 'USD',
    ...over,
  });
  const ask = (over: Partial<ThroughputQuestion>, ...offers: readonly GpuOffer[]) =>
    answerThroughput(question(over), rows, offers);
  const T4 = offer('T4', 'on-demand', 500);

  it('is what was measured of this very configuration, with its time and cost on all its GPUs', () => {
    expect(ask({}, T4)).toEqual({
      samplesPerSecond: 2,
      low: 2,
      high: 2,
      isMeasured: true,
      measurements: 2,
      background: 0,
      secondsToFinish: { expected: 3600, low: 3600, high: 3600 },
      cost: { expected: '1.00', low: '1.00', high: '1.00' },
      price: {
        provider: 'AWS',
        sku: 'example.t4',
        region: 'us-east-1',
        term: 'on-demand',
        perGpuHour: '0.50',
        currency: 'USD',
        source: 'example',
      },
    });
  });

  it('has no time without samples, and no cost without samples or a price', () => {
    expect(ask({ samples: null }, T4)).toMatchObject({
      secondsToFinish: null,
      cost: null,
      price: { sku: 'example.t4' },
    });
    expect(ask({})).toMatchObject({ secondsToFinish: { expected: 3600 }, cost: null, price: null });
  });

  it('is predicted where it was not measured', () => {
    const eight = ask({ gpuCount: 8 }, T4);
    expect(eight.isMeasured).toBe(false);
    expect(eight.low).toBeLessThan(eight.samplesPerSecond);
    expect(eight.secondsToFinish!.low).toBeLessThan(eight.secondsToFinish!.expected);
    expect(Number(eight.cost!.high)).toBeGreaterThan(Number(eight.cost!.expected));
  });

  it('costs what the cheapest offer does of the GPU, the term, and the seller and region that were named', () => {
    const skuOf = (over: Partial<ThroughputQuestion>, ...offers: readonly GpuOffer[]): string | null =>
      ask(over, ...offers).price?.sku ?? null;
    const named = (sku: string, milliDollars: number, more: Partial<GpuOffer> = {}): GpuOffer =>
      offer('T4', 'on-demand', milliDollars, { sku, ...more });
    expect(skuOf({}, named('a', 500), named('b', 400), named('c', 600))).toBe('b');
    expect(skuOf({}, named('a', 400), named('b', 400))).toBe('a');
    expect(skuOf({}, offer('L4', 'on-demand', 1), offer('T4', 'spot', 1), T4)).toBe('example.t4');
    expect(skuOf({ term: 'spot' }, T4, offer('T4', 'spot', 100, { sku: 's' }))).toBe('s');
    const places = [named('a', 500), named('b', 100, { provider: 'Google Cloud' }), named('c', 200, { region: 'eu' })];
    expect(skuOf({}, ...places)).toBe('b');
    expect(skuOf({ provider: 'aws' }, ...places)).toBe('c');
    expect(skuOf({ provider: 'aws', region: 'us-east-1' }, ...places)).toBe('a');
    expect(skuOf({ region: 'eu' }, ...places)).toBe('c');
    expect(skuOf({ region: 'eu' }, named('any', 900, { region: null }))).toBe('any');
    expect(skuOf({ region: 'asia' }, ...places)).toBeNull();
  });

  it('knows a GPU by its other names, and shows a price rounded to the nano', () => {
    expect(ask({ gpuModel: 'Tesla T4' }, T4)).toMatchObject({ isMeasured: true, price: { sku: 'example.t4' } });
    const odd = { ...T4, rate: { ...T4.rate, nanos: 1_000_000_000n, quantity: 10_800n } };
    expect(ask({}, odd).price!.perGpuHour).toBe('0.333333333');
    expect(ask({}, { ...odd, rate: { ...odd.rate, nanos: 2_000_000_000n } }).price!.perGpuHour).toBe('0.666666667');
  });
});
