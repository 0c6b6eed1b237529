/**
 * Differences between bills and metered usage, summed from days to teams and SKUs. Pure; exact decimals.
 *
 * The invariant: unknown is never zero. A sum is of the known values, and null where there are none.
 */
import type { Variance } from './answers.js';
import { addDecimal, formatDecimal, parseDecimal, ZERO } from '../../core/decimal.js';

/** All days of a team and a SKU, or one of their findings. */
export interface Difference extends Variance {
  /** Of the accrual; null: there is none, or no difference is known. */
  readonly ratio: string | null;
}

/** A credit, a tax, a purchase: no metered usage corresponds to it. */
const isApart = ({ reasons }: Variance): boolean => reasons.includes('apart');

function sumOf(texts: readonly (string | null)[]): string | null {
  const known = texts.flatMap((text) => (text === null ? [] : (parseDecimal(text) ?? ZERO)));
  return known.length === 0 ? null : formatDecimal(known.reduce(addDecimal, ZERO));
}

/** By team, provider, SKU and currency, without what stands apart; the largest difference first. */
export function sumsOf(days: readonly Variance[]): Difference[] {
  const groups = Map.groupBy(
    days.filter((one) => !isApart(one)),
    ({ team, provider, sku, currency }) => JSON.stringify([team, provider, sku, currency]),
  );
  return [...groups.values()]
    .flatMap((all): Difference[] => {
      const [first] = all;
      if (first === undefined) return [];
      const accrued = sumOf(all.map((one) => one.accrued));
      const variance = sumOf(all.map((one) => one.variance));
      const isRatio = variance !== null && accrued !== null && Number(accrued) !== 0;
      return [
        {
          ...first,
          accrued,
          compared: sumOf(all.map((one) => one.compared)),
          variance,
          reasons: [...new Set(all.flatMap(({ reasons }) => reasons))],
          // A share for display: six digits are more than it shows.
          ratio: isRatio ? (Number(variance) / Number(accrued)).toFixed(6) : null,
        },
      ];
    })
    .sort((a, b) => Math.abs(Number(b.variance ?? 0)) - Math.abs(Number(a.variance ?? 0)));
}

/** A decimal with its point so many places further right: 0.05 by two is 5. */
export function decimalOf(text: string, places: number): string {
  const { unscaled, scale } = parseDecimal(text) ?? ZERO;
  return scale >= places
    ? formatDecimal({ unscaled, scale: scale - places })
    : formatDecimal({ unscaled: unscaled * 10n ** BigInt(places - scale), scale: 0 });
}
