/** Savings plans as prices per GPU, and what buying one for some GPUs commits to. */
import { describe, expect, it } from 'vitest';
import { planPrices, planPurchase, type PlanOffer } from '../../../src/core/price/plan-rates.js';
import type { PlanRate } from '../../../src/core/price/commitment-offer.js';
import { applyPriceEvents, NO_PRICES, PriceBook } from '../../../src/core/price/price-book.js';
import type { Price } from '../../../src/core/price/price.js';
import { gpuPrice } from '../../support/makers.js';

const DOLLAR = 1_000_000_000n;
const AT = Date.UTC(2026, 10, 18, 12);
const p5: PlanRate = { sku: 'p5.48xlarge', region: 'us-east-1', gpuModel: 'H100', gpus: 8, hourlyNanos: 40n * DOLLAR };
const plan = (over: Partial<PlanOffer> = {}): PlanOffer => ({
  kind: 'savings-plan',
  provider: 'AWS',
  termHours: 8760,
  upfront: 'none',
  currency: 'USD',
  rates: [p5],
  ...over,
});
const pricesOf = (...given: Parameters<typeof planPrices>): Price[] =>
  planPrices(...given).flatMap((event) => (event.kind === 'price' ? [event.price] : []));

describe('the prices of plans on sale', () => {
  it('are their rates per GPU, from when they were first read', () => {
    expect(pricesOf([plan()], [], AT, 'aws savings plans')).toEqual([
      gpuPrice({
        term: 'savings-plan-1y',
        rate: { nanos: 40n * DOLLAR, currency: 'USD', quantity: 28_800n, unit: 'gpu-second' },
        effectiveFrom: AT,
        source: 'aws savings plans',
      }) satisfies Price,
    ]);
  });

  it('are those of the cheapest plan of a term and a payment: one for a family beats one for everything', () => {
    const family = plan({ rates: [{ ...p5, hourlyNanos: 36n * DOLLAR }] });
    for (const offers of [
      [plan(), family],
      [family, plan()],
    ])
      expect(pricesOf(offers, [], AT, 's').map(({ rate }) => rate.nanos)).toEqual([36n * DOLLAR]);
    expect(
      pricesOf([plan(), plan({ upfront: 'all' }), plan({ termHours: 26_280 })], [], AT, 's').map(
        ({ term, upfront }) => [term, upfront],
      ),
    ).toEqual([
      ['savings-plan-1y', 'none'],
      ['savings-plan-1y', 'all'],
      ['savings-plan-3y', 'none'],
    ]);
  });

  it('are stated once, and again when they change', () => {
    const known = pricesOf([plan()], [], AT, 's');
    expect(planPrices([plan()], known, AT + 86_400_000, 's')).toEqual([]);
    const dearer = plan({ rates: [{ ...p5, hourlyNanos: 41n * DOLLAR }] });
    const changed = pricesOf([dearer], known, AT + 86_400_000, 's');
    expect(changed.map(({ rate, effectiveFrom }) => [rate.nanos, effectiveFrom])).toEqual([
      [41n * DOLLAR, AT + 86_400_000],
    ]);
    // Back to the first: it is a change as well.
    expect(pricesOf([plan()], [...known, ...changed], AT + 2 * 86_400_000, 's')).toHaveLength(1);
  });

  it('are none of a reservation, of a plan without rates or of an unheard-of length, nor of a rate of zero', () => {
    const { rates: _, ...without } = plan();
    for (const offer of [
      plan({ kind: 'reserved-instance' }),
      without,
      plan({ termHours: 5000 }),
      plan({ rates: [{ ...p5, hourlyNanos: 0n }] }),
    ])
      expect(planPrices([offer], [], AT, 's')).toEqual([]);
  });

  it('are found by how they are paid', () => {
    const all = plan({ upfront: 'all', rates: [{ ...p5, hourlyNanos: 32n * DOLLAR }] });
    const book = new PriceBook(applyPriceEvents(NO_PRICES, planPrices([plan(), all], [], AT, 's')));
    const found = (upfront?: 'none' | 'all') =>
      book.find({
        provider: 'AWS',
        sku: 'p5.48xlarge',
        gpuModel: null,
        region: 'us-east-1',
        term: 'savings-plan-1y',
        component: 'gpu',
        at: AT,
        ...(upfront === undefined ? {} : { upfront }),
      });
    expect(found('all')).toMatchObject({ price: { rate: { nanos: 32n * DOLLAR } }, assumed: [] });
    expect(found('none')).toMatchObject({ price: { rate: { nanos: 40n * DOLLAR } }, assumed: [] });
    expect(found()).toMatchObject({ price: { rate: { nanos: 40n * DOLLAR } }, assumed: ['upfront'] });
  });
});

describe('a plan for some GPUs', () => {
  const offer = { rates: [p5], upfrontNanos: 0n, hourlyNanos: DOLLAR, termHours: 8760 };

  it('commits to what they cost an hour at its rate, over the whole term', () => {
    // Twelve GPUs are one and a half machines of $40: $60 an hour, $525,600 over the year.
    expect(planPurchase(offer, 12, 'p5.48xlarge', 'us-east-1')).toEqual({
      units: 60,
      mostNanos: 525_600n * DOLLAR,
      gpus: 12,
    });
  });

  it('is rounded down to a thousandth of a dollar an hour, and never holds more GPUs than were asked for', () => {
    const odd = { ...offer, rates: [{ ...p5, hourlyNanos: 39_999_999_999n }] };
    const bought = planPurchase(odd, 1, 'p5.48xlarge', 'us-east-1');
    expect(bought).toMatchObject({ units: 4.999, mostNanos: 43_791_240_000_000n });
    expect(bought?.gpus).toBeLessThanOrEqual(1);
    expect(bought?.gpus).toBeGreaterThan(0.999);
  });

  it('costs the same however it is paid', () => {
    for (const paid of [
      { upfrontNanos: 8760n * DOLLAR, hourlyNanos: 0n },
      { upfrontNanos: 4380n * DOLLAR, hourlyNanos: DOLLAR / 2n },
    ]) {
      expect(planPurchase({ ...offer, ...paid }, 8, 'p5.48xlarge', 'us-east-1')).toMatchObject({
        units: 40,
        mostNanos: 350_400n * DOLLAR,
      });
    }
  });

  it('is none where the plan states no rate for the machine or the place, or so little cannot be bought', () => {
    expect(planPurchase(offer, 8, 'p4d.24xlarge', 'us-east-1')).toBeNull();
    expect(planPurchase(offer, 8, 'p5.48xlarge', 'eu-west-1')).toBeNull();
    expect(
      planPurchase({ ...offer, rates: [{ ...p5, hourlyNanos: 1_000n }] }, 1, 'p5.48xlarge', 'us-east-1'),
    ).toBeNull();
  });
});
