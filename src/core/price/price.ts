/**
 * Prices: the cost of one GPU (or GiB) per time, with place, term and validity.
 *
 * A price list never changes a past price silently: versions are intervals. An unknown price is a reason, never zero.
 */
import type { Rate } from '../money.js';
import type { Term } from '../usage.js';

export type Upfront = 'none' | 'partial' | 'all';
export type Component = 'gpu' | 'storage' | 'network';

export interface Price {
  /** FOCUS ProviderName. */
  readonly provider: string;
  /** Instance type, or the seller's own SKU. */
  readonly sku: string;
  /** Null: the list states no region, the price holds everywhere. */
  readonly region: string | null;
  readonly term: Term;
  /** How a commitment is paid; `none` for every other term. The rate is amortised over the term. */
  readonly upfront: Upfront;
  readonly component: Component;
  readonly gpuModel: string | null;
  /** GPUs in one unit of the SKU; null if the list does not say (then it cannot price GPU-hours). */
  readonly gpus: number | null;
  /**
   * For `gpu`: per GPU-second (an instance's price over all its GPUs). For storage per GiB-second, for network per GiB.
   */
  readonly rate: Rate;
  /** Half-open, epoch milliseconds; `effectiveTo` null while it holds. */
  readonly effectiveFrom: number;
  readonly effectiveTo: number | null;
  /** Billing increment and minimum of the seller, in seconds (AWS: 1 and 60; Matpool: 1 and 0). */
  readonly incrementSeconds: number;
  readonly minimumSeconds: number;
  /** The price list that it came from. */
  readonly source: string;
  /** Its origin; absent: the provider. */
  readonly origin?: PriceOrigin;
  /** When it was stated, counted by statements; absent: before all that are numbered. */
  readonly stated?: Stated;
}

/** Place in the order of statements: the list, and the row within it where the rows of a list have an order. */
export interface Stated {
  readonly list: number;
  readonly row: number;
}

/**
 * Who states a price, in their written order: of prices that hold from one instant, that of an earlier origin holds,
 * and of one origin the later statement.
 *
 * `own`: what people write themselves (contracts, a price list of their own). `provider`: the seller's list or API.
 * `derived`: computed from what the seller says (spot history, savings plans). `third-party`: tables that others keep.
 */
export const PRICE_ORIGINS = ['own', 'provider', 'derived', 'third-party'] as const;
export type PriceOrigin = (typeof PRICE_ORIGINS)[number];

/** An entry of a price list says that a price holds from a date, or that the SKU has gone from the catalogue. */
export type PriceEvent =
  | { readonly kind: 'price'; readonly price: Price }
  | {
      readonly kind: 'withdrawn';
      readonly provider: string;
      readonly sku: string;
      readonly region: string | null;
      readonly at: number;
    };

/** Names that people use for a provider, in lower case, to FOCUS' ProviderName. */
const PROVIDERS: Readonly<Record<string, string>> = {
  aws: 'AWS',
  amazon: 'AWS',
  'amazon web services': 'AWS',
  azure: 'Microsoft',
  microsoft: 'Microsoft',
  'microsoft azure': 'Microsoft',
  gcp: 'Google Cloud',
  'amazon web services, inc.': 'AWS',
  'amazon web services emea sarl': 'AWS',
  'microsoft corporation': 'Microsoft',
  'google llc': 'Google Cloud',
  google: 'Google Cloud',
  'google cloud': 'Google Cloud',
  'google cloud platform': 'Google Cloud',
  oci: 'Oracle',
  oracle: 'Oracle',
  'oracle cloud': 'Oracle',
  alibaba: 'Alibaba Cloud',
  aliyun: 'Alibaba Cloud',
  'alibaba cloud': 'Alibaba Cloud',
  tencent: 'Tencent Cloud',
  'tencent cloud': 'Tencent Cloud',
  matpool: 'Matpool',
  lambda: 'Lambda',
  'lambda labs': 'Lambda',
  'lambda cloud': 'Lambda',
  runpod: 'Runpod',
  nebius: 'Nebius',
  'nebius ai cloud': 'Nebius',
  coreweave: 'CoreWeave',
};

/** FOCUS' ProviderName for a name as people write it; an unknown name stays unchanged. */
export function providerName(name: string): string {
  return PROVIDERS[name.trim().toLowerCase()] ?? name.trim();
}
