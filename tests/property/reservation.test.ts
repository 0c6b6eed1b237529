/**
 * Whatever is reserved, used, released and left to expire, in any order: what is granted never comes to more than a
 * budget has left, on any budget over the team, and what is refused would have.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import { FxTable } from '../../src/core/price/fx.js';
import { rateOf } from '../../src/core/money.js';
import { NO_PEAK } from '../../src/core/price/peak.js';
import { PriceBook } from '../../src/core/price/price-book.js';
import type { Price } from '../../src/core/price/price.js';
import { judgeBudgets, type BudgetFacts } from '../../src/core/quote/budget.js';
import { quoteInDetail } from '../../src/core/quote/quote.js';
import { expiryOf, remainingOf } from '../../src/core/budget/reservation.js';
import { HOUR_MS } from '../../src/core/time.js';
import { gpuPrice, monthBudget } from '../support/makers.js';

const START = Date.UTC(2026, 9, 1);
const PERIOD = { start: START, end: Date.UTC(2026, 10, 1) };
const PRICE: Price = gpuPrice({
  sku: 'g6',
  region: null,
  gpuModel: 'L4',
  gpus: 1,
  rate: rateOf({ unscaled: 7n, scale: 1 }, 'USD', 3600n, 'gpu-second'),
  effectiveFrom: 0,
  source: 'list',
});
const BOOK = new PriceBook({ prices: [PRICE], withdrawals: [] });
const FX = new FxTable('USD', []);
/** A team's own budget, and one above it that another team's lies under too. */
const OVER: Readonly<Record<'red' | 'blue', readonly string[]>> = { red: ['red', 'all'], blue: ['blue', 'all'] };

interface Held {
  readonly budgets: readonly string[];
  readonly nanos: bigint;
  used: bigint;
  until: number;
}

type Step =
  | {
      readonly kind: 'reserve';
      readonly team: 'red' | 'blue';
      readonly hours: number;
      readonly holdHours: number | null;
    }
  | { readonly kind: 'use'; readonly which: number; readonly share: number }
  | { readonly kind: 'release'; readonly which: number }
  | { readonly kind: 'wait'; readonly hours: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('reserve' as const),
      team: fc.constantFrom('red' as const, 'blue' as const),
      hours: fc.integer({ min: 1, max: 400 }),
      holdHours: fc.option(fc.integer({ min: 1, max: 100 })),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('use' as const),
      which: fc.nat(20),
      share: fc.integer({ min: 1, max: 100 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('release' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 1, max: 60 }) }) },
);

const sum = (all: readonly bigint[]): bigint => all.reduce((a, b) => a + b, 0n);

describe('what is reserved', () => {
  it('and what was spent under it never comes to more than any budget planned', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.nat(300), fc.nat(400), (steps, team, all) => {
        const planned: Readonly<Record<string, bigint>> = {
          red: BigInt(team) * 1_000_000_000n,
          blue: BigInt(team) * 1_000_000_000n,
          all: BigInt(all) * 1_000_000_000n,
        };
        const spent: Record<string, bigint> = { red: 0n, blue: 0n, all: 0n };
        const holds: Held[] = [];
        let now = START;
        const reserved = (budget: string): bigint =>
          sum(
            holds
              .filter(({ budgets, until }) => budgets.includes(budget) && until > now)
              .map(({ nanos, used }) => remainingOf(nanos, used)),
          );
        const standing = (id: string): BudgetFacts => ({
          budget: monthBudget({
            id,
            team: id,
            planned: { default: String((planned[id] ?? 0n) / 1_000_000_000n), periods: {} },
          }) satisfies Budget,
          period: PERIOD,
          reserved: reserved(id),
          state: {
            weighedAt: now,
            spent: spent[id] ?? 0n,
            owed: 0n,
            forecast: null,
            unpricedGpuHours: '0',
            unconverted: [],
          },
        });
        for (const one of steps) {
          const held = 'which' in one ? holds[one.which] : undefined;
          if (one.kind === 'wait') now += one.hours * HOUR_MS;
          if (one.kind === 'release' && held !== undefined) held.until = Math.min(held.until, now);
          if (one.kind === 'use' && held !== undefined && held.until > now) {
            // A run costs what was reserved for it at most.
            const cost = (remainingOf(held.nanos, held.used) * BigInt(one.share)) / 100n;
            held.used += cost;
            for (const budget of held.budgets) spent[budget] = (spent[budget] ?? 0n) + cost;
          }
          if (one.kind === 'reserve') {
            const detail = quoteInDetail(
              {
                provider: 'AWS',
                sku: 'g6',
                gpus: 1,
                hours: one.hours,
                term: 'on-demand',
                region: null,
                upfront: null,
                currency: null,
              },
              { prices: [PRICE], book: BOOK, fx: FX, peak: NO_PEAK, at: now },
            );
            if ('unpriced' in detail) throw new Error(detail.message);
            const budgets = OVER[one.team];
            const judged = judgeBudgets(detail, budgets.map(standing), {
              asOf: now,
              provider: 'AWS',
              sku: 'g6',
              term: 'on-demand',
              tags: null,
              fx: FX,
              currency: 'USD',
            });
            const fits = judged.map(
              ({ hold, facts: { budget } }) =>
                (spent[budget.id] ?? 0n) + reserved(budget.id) + (hold ?? 0n) <= (planned[budget.id] ?? 0n),
            );
            expect(judged.map(({ refusal }) => refusal === null)).toEqual(fits);
            if (fits.every(Boolean))
              holds.push({
                budgets,
                nanos: judged[0]?.hold ?? 0n,
                used: 0n,
                until: expiryOf(now, one.hours, one.holdHours),
              });
          }
          for (const budget of ['red', 'blue', 'all'])
            expect((spent[budget] ?? 0n) + reserved(budget) <= (planned[budget] ?? 0n)).toBe(true);
        }
      }),
      { numRuns: 150 },
    );
  });
});
