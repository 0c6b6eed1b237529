/**
 * The wrong prices of a series, for callers that prefer the last correct one. Corrects nothing.
 */
import type { DirtyPrices } from '../../core/price/spot-history.js';
import { detectPriceAnomalies } from './prices.js';

/**
 * Instants at which detectPriceAnomalies calls a price dirty. A feed that merely repeats itself repeats a good price.
 */
export const dirtyPrices: DirtyPrices = (series) =>
  new Set(
    detectPriceAnomalies(series)
      .filter(({ kind, evidence }) => kind === 'dirty-price' && evidence['repeats'] === undefined)
      .map(({ at }) => at),
  );
