/** Credits: what is taken of which pot, and what a list of credits is refused for. */
import { describe, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { applyCredits, readCredits, takenOf, type Credit, type Creditable } from '../../../src/core/cost/credit.js';
import { FxTable } from '../../../src/core/price/fx.js';

const NO_RATES = new FxTable('USD', []);
const at = (day: string): number => Date.parse(`${day}T00:00:00Z`);
const spend = (team: string, nanos: bigint, rest: Partial<Creditable> = {}): Creditable => ({
  team,
  provider: 'AWS',
  at: at('2025-02-01'),
  nanos,
  currency: 'USD',
  ...rest,
});
const credit = (id: string, nanos: bigint, end: string, rest: Partial<Credit> = {}): Credit => ({
  id,
  kind: 'promotional',
  provider: null,
  team: null,
  nanos,
  currency: 'USD',
  start: at('2025-01-01'),
  end: at(end),
  ...rest,
});

describe('credits', () => {
  it('go in order, the one that ends first first, never more than the cost or the credit', () => {
    const taken = applyCredits(
      [spend('a', 100n), spend('b', 50n)],
      [credit('late', 500n, '2026-01-01'), credit('soon', 30n, '2025-03-01', { kind: 'free-tier' })],
      NO_RATES,
    );
    expect(taken.map(({ cost, credit: { id, kind }, nanos }) => [cost.team, id, kind, nanos])).toEqual([
      ['a', 'soon', 'free-tier', -30n],
      ['a', 'late', 'promotional', -70n],
      ['b', 'late', 'promotional', -50n],
    ]);
  });

  it('keep to their team, provider and time, and to their currency where there is no rate', () => {
    const none = [
      credit('1', 9n, '2025-02-01'),
      credit('2', 9n, '2026-01-01', { team: 'b' }),
      credit('3', 9n, '2026-01-01', { provider: 'Oracle' }),
      credit('4', 9n, '2026-01-01', { currency: 'EUR' }),
    ];
    expect(applyCredits([spend('a', 100n)], none, NO_RATES)).toEqual([]);
  });

  it('never exceed a cost or a pot, and leave a pot only where no cost fits it any more', () => {
    const costs = fc.array(fc.record({ team: fc.constantFrom('a', 'b'), nanos: fc.bigInt({ min: -5n, max: 100n }) }), {
      maxLength: 20,
    });
    const pots = fc.uniqueArray(
      fc.record({
        id: fc.constantFrom('1', '2', '3', '4'),
        nanos: fc.bigInt({ min: 1n, max: 200n }),
        team: fc.constantFrom(null, 'a', 'b'),
        end: fc.constantFrom('2025-03-01', '2026-01-01'),
      }),
      { selector: ({ id }) => id, maxLength: 4 },
    );
    fc.assert(
      fc.property(costs, pots, (spent, granted) => {
        const lines = spent.map(({ team, nanos }) => spend(team, nanos));
        const credits = granted.map(({ id, nanos, team, end }) => credit(id, nanos, end, { team }));
        const taken = applyCredits(lines, credits, NO_RATES);
        const sum = (of: readonly { readonly nanos: bigint }[]): bigint =>
          of.reduce((total, { nanos }) => total - nanos, 0n);
        const due = lines.map(
          (line) => (line.nanos > 0n ? line.nanos : 0n) - sum(taken.filter(({ cost }) => cost === line)),
        );
        const left = credits.map((pot) => pot.nanos - sum(taken.filter(({ credit: one }) => one === pot)));
        expect(due.every((nanos) => nanos >= 0n) && left.every((nanos) => nanos >= 0n)).toBe(true);
        credits.forEach((pot, n) =>
          lines.forEach((line, m) => {
            if (pot.team === null || pot.team === line.team)
              expect((left[n] ?? 0n) === 0n || (due[m] ?? 0n) === 0n).toBe(true);
          }),
        );
      }),
    );
  });

  it('in another currency are taken by the rate of the day, to the last nano and never beyond', () => {
    fc.assert(
      fc.property(
        fc.array(fc.bigInt({ min: 1n, max: 10n ** 12n }), { minLength: 1, maxLength: 10 }),
        fc.bigInt({ min: 1n, max: 10n ** 13n }),
        fc.integer({ min: 1, max: 10 ** 9 }),
        (amounts, pot, perUsd) => {
          const rate = { unscaled: BigInt(perUsd), scale: 4 };
          const fx = new FxTable('USD', [{ day: '2025-01-01', currency: 'EUR', perBase: rate }]);
          const grant = credit('grant', pot, '2026-01-01');
          const taken = applyCredits(
            amounts.map((nanos) => spend('a', nanos, { currency: 'EUR' })),
            [grant],
            fx,
          );
          const used = taken.reduce((sum, { cost, nanos }) => sum + (takenOf(-nanos, cost, grant, fx) ?? 0n), 0n);
          const left = pot - used;
          expect(left >= 0n).toBe(true);
          const due =
            amounts.reduce((sum, nanos) => sum + nanos, 0n) + taken.reduce((sum, { nanos }) => sum + nanos, 0n);
          // What is due stays due only where the pot holds less than a nano of it.
          expect(due === 0n || left * rate.unscaled < 10n ** BigInt(rate.scale)).toBe(true);
        },
      ),
    );
  });

  it('are refused with every problem named', () => {
    const good = {
      id: 'grant',
      kind: 'promotional',
      amount: '25000',
      currency: 'USD',
      from: '2026-01-01',
      until: '2027-01-01',
    } as const;
    expect(readCredits([good])).toEqual([
      {
        id: 'grant',
        kind: 'promotional',
        provider: null,
        team: null,
        nanos: 25_000_000_000_000n,
        currency: 'USD',
        start: at('2026-01-01'),
        end: at('2027-01-01'),
      },
    ]);
    const bad = [
      good,
      { ...good, amount: '0', currency: 'usd' },
      { ...good, id: 'a b', from: '2026-02-30' },
      { ...good, id: 'c', until: '2025-01-01' },
    ];
    expect(() => readCredits(bad)).toThrow(
      expect.objectContaining({
        kind: 'invalid',
        problems: [
          { path: 'credits/1/id', message: 'is there twice: grant' },
          expect.objectContaining({ path: 'credits/1/amount' }),
          expect.objectContaining({ path: 'credits/1/currency' }),
          expect.objectContaining({ path: 'credits/2/id' }),
          expect.objectContaining({ path: 'credits/2/from' }),
          expect.objectContaining({ path: 'credits/3/until' }),
        ],
      }) as Error,
    );
  });
});
