/**
 * The prices that are really charged: list prices times the rates learned from bills, as in the accrual
 * (quote/cost.ts). Computed once for a history and a set of rates, so that all quotes use one book. It never changes a
 * list price: each effective price names its list price and its bill. If nothing was learned, the same list and book
 * are returned.
 */
import { formatDecimal } from '../decimal.js';
import type { LearnedRates } from './learned-rate.js';
import { divideHalfEven, type Rate, type Ratio } from '../money.js';
import type { Price } from './price.js';
import { PriceBook, type PriceHistory } from './price-book.js';

/** The rate learned from bills for a price. */
export interface LearnedPrice {
  readonly list: Price;
  /** `bill:<source>/<month>` */
  readonly source: string;
  /** The account of the bill: rates belong to an account. */
  readonly account: string | null;
  /** Charged over listed. */
  readonly ratio: Ratio;
  /** The lowest and the highest of all accounts, and how many they are; the account's own where one was named. */
  readonly lowest: Ratio;
  readonly highest: Ratio;
  readonly accounts: number;
}

/** A rate times a share. */
export const shareOf = (rate: Rate, { numerator, denominator }: Ratio): Rate => ({
  ...rate,
  nanos: rate.nanos * numerator,
  quantity: rate.quantity * denominator,
});

/** A share as people read it, to six digits. */
export const ratioText = ({ numerator, denominator }: Ratio): string =>
  formatDecimal({ unscaled: divideHalfEven(numerator * 1_000_000n, denominator), scale: 6 });

const isBelow = (a: Ratio, b: Ratio): boolean => a.numerator * b.denominator < b.numerator * a.denominator;

export class EffectivePrices {
  constructor(
    readonly history: PriceHistory,
    readonly book: PriceBook,
    private readonly learned: ReadonlyMap<Price, LearnedPrice>,
  ) {}

  /** Prices that bills have taught. */
  get taught(): number {
    return this.learned.size;
  }

  /** The learned rate behind a price of this book; null: it is the list price. */
  learnedOf(price: Price): LearnedPrice | null {
    return this.learned.get(price) ?? null;
  }
}

/**
 * @param account whose rates; null: of the accounts that have one, that with the most metered usage behind it
 * @param at epoch milliseconds: the rates that hold then
 */
export function effectivePrices(
  list: { readonly history: PriceHistory; readonly book: PriceBook },
  rates: LearnedRates,
  account: string | null,
  at: number,
): EffectivePrices {
  const learned = new Map<Price, LearnedPrice>();
  const prices = list.history.prices.map((price) => {
    const found =
      price.component === 'gpu'
        ? rates.ofAccounts(price, at).filter(({ key }) => account === null || key.account === account)
        : [];
    const [first] = found;
    if (first === undefined) return price;
    const ratios = found.map(({ ratio }) => ratio);
    const effective: Price = { ...price, rate: shareOf(price.rate, first.ratio) };
    learned.set(effective, {
      list: price,
      source: first.source,
      account: first.key.account,
      ratio: first.ratio,
      accounts: found.length,
      lowest: ratios.reduce((least, one) => (isBelow(one, least) ? one : least)),
      highest: ratios.reduce((most, one) => (isBelow(most, one) ? one : most)),
    });
    return effective;
  });
  if (learned.size === 0) return new EffectivePrices(list.history, list.book, learned);
  const history = { ...list.history, prices };
  return new EffectivePrices(history, new PriceBook(history), learned);
}
