/**
 * Similar names for a name that the price book lacks, and the reason why there is no quote.
 *
 * Never a price and never a guess: it lists known names. The catalogue is built once for a list of prices.
 */
import type { Price } from '../price/price.js';
import type { PriceQuery, UnpricedReason } from '../price/price-book.js';
import type { StorageNetworkUnpriced } from './storage-network.js';

export interface NoQuote {
  readonly unpriced: UnpricedReason;
  readonly message: string;
  /** SKUs and GPU models (or providers) that are known and come close. */
  readonly close: readonly string[];
}

const MOST_CLOSE = 5;

/** Providers, their SKUs, and the regions of each. Made once for a list of prices. */
type Catalogue = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string | null>>>;
const catalogues = new WeakMap<readonly Price[], Catalogue>();

export function catalogueOf(prices: readonly Price[]): Catalogue {
  const known = catalogues.get(prices);
  if (known !== undefined) return known;
  const catalogue = new Map<string, Map<string, Set<string | null>>>();
  for (const { provider, sku, region, component } of prices) {
    if (component !== 'gpu') continue;
    const skus = catalogue.get(provider) ?? new Map<string, Set<string | null>>();
    catalogue.set(provider, skus.set(sku, (skus.get(sku) ?? new Set<string | null>()).add(region)));
  }
  catalogues.set(prices, catalogue);
  return catalogue;
}

const WHY: Readonly<Record<UnpricedReason, string>> = {
  'no-price-list': 'no price list of this provider has been read, and no bundled reference price knows it',
  'no-sku': 'no SKU is named',
  'unknown-sku': "the provider's price lists do not have this SKU",
  'unknown-model': 'no SKU of the provider has this GPU',
  'no-component': 'the price lists do not say what a GPU of this SKU costs',
  'no-term': 'the SKU is not sold under this term',
  'no-region': 'the SKU is not sold in this region',
  'gpu-count-unknown': 'the price list does not say how many GPUs share the price',
  'before-first-price': 'the first known price begins later',
  withdrawn: 'the SKU is no longer in the catalogue',
  'no-fx-rate': 'there is no exchange rate to this currency',
  'quantity-unknown': 'the quantity is unknown',
};

/** Why there is no quote, and what comes close. */
export function noQuote(
  unpriced: UnpricedReason,
  { provider, sku }: Pick<PriceQuery, 'provider' | 'sku'>,
  asked: string,
  prices: readonly Price[],
): NoQuote {
  const catalogue = catalogueOf(prices);
  const skus = catalogue.get(provider);
  const message = `${provider} ${asked}: ${WHY[unpriced]}`;
  if (skus === undefined) return { unpriced, message, close: closest(provider, [...catalogue.keys()]) };
  if (unpriced === 'no-region' && sku !== null)
    return {
      unpriced,
      message,
      close: [...(skus.get(sku) ?? [])]
        .flatMap((region) => region ?? [])
        .sort()
        .slice(0, 2 * MOST_CLOSE),
    };
  return {
    unpriced,
    message,
    close: closest(
      asked,
      [...new Set([...skus.keys(), ...modelsOf(provider, asked, prices)])].filter((name) => name !== sku),
    ),
  };
}

/** The provider's GPU models of which `asked` is a part: A100-40GB and A100-80GB are A100. */
const modelsOf = (provider: string, asked: string, prices: readonly Price[]): string[] =>
  prices.flatMap((price) =>
    price.provider === provider && price.gpuModel?.toLowerCase().includes(asked.toLowerCase()) ? price.gpuModel : [],
  );

/** Why there is no quote for a run that needs more than GPUs. */
export function noComponentPrice(
  { unpriced, component, sold }: StorageNetworkUnpriced,
  { provider }: Pick<PriceQuery, 'provider'>,
  asked: string,
): NoQuote {
  if (sold !== undefined)
    return {
      unpriced,
      message: `${provider} ${asked}: no single kind of storage that is sold there has this name`,
      close: sold,
    };
  const why = unpriced === 'no-component' ? 'the price lists do not say what it costs' : WHY[unpriced];
  return { unpriced, message: `${provider} ${asked}: its ${component} has no current price there (${why})`, close: [] };
}

/** The names with the fewest edits to get there, in order. */
export function closest(name: string, names: readonly string[]): string[] {
  const wanted = name.toLowerCase();
  const distance = (candidate: string): number => {
    const text = candidate.toLowerCase();
    return (
      editDistance(wanted, text) -
      (text.includes(wanted) || wanted.includes(text) ? Math.abs(text.length - wanted.length) : 0)
    );
  };
  return names
    .map((candidate) => ({ candidate, edits: distance(candidate) }))
    .sort((a, b) => a.edits - b.edits || (a.candidate < b.candidate ? -1 : 1))
    .slice(0, MOST_CLOSE)
    .map(({ candidate }) => candidate);
}

/** Insertions, deletions and replacements from a to b (Levenshtein 1966). */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(replaced, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? 0;
}
