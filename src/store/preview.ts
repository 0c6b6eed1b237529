/**
 * History in the grain of the allocation rules, so that a change of rules can be looked at before it is made. Reads only.
 *
 * A bill's lines count with their billed amount. Metered usage counts at the price that held when it began, without peak
 * factor and minimum: the preview of it is an estimate, and what has no price moves as a quantity.
 */
import type { AllocatableSum } from '../core/allocation.js';
import { QUANTITY_SCALE } from '../core/cost.js';
import { tenTo } from '../core/decimal.js';
import { costOf, divideHalfEven } from '../core/money.js';
import type { PriceBook } from '../core/price-book.js';
import type { UsageRecord } from '../core/usage.js';
import type { Queryable } from './database.js';
import type { RawStore } from './raw.js';

interface OpenSum {
  readonly of: UsageRecord;
  readonly currency: string;
  nanos: bigint;
  unpricedQuantity: bigint;
}

const SEPARATOR = '\u0001';
/** Metered usage that has no price is in no currency. */
const NO_CURRENCY = '';

/** Everything delivered so far, as sums per combination of what rules look at. Streams the raw records once. */
export async function allocatableSums(db: Queryable, raw: RawStore, organisation: string, book: PriceBook): Promise<AllocatableSum[]> {
  const sums = new Map<string, OpenSum>();
  for (const { source, id } of await raw.deliveries(db, organisation)) {
    for await (const records of raw.records(db, organisation, source, id)) {
      for (const record of records) add(sums, record, book);
    }
  }
  return [...sums.values()].map(({ of, currency, nanos, unpricedQuantity }) => ({
    provider: of.provider, account: of.account, subAccount: of.subAccount, resource: of.resource, namespace: of.namespace, service: of.service, sku: of.sku, tags: of.tags,
    currency, nanos, unpricedQuantity,
  }));
}

function add(sums: Map<string, OpenSum>, record: UsageRecord, book: PriceBook): void {
  const { nanos, currency, unpriced } = worthOf(record, book);
  const key = [record.provider, record.account, record.subAccount, record.resource, record.namespace, record.service, record.sku, currency,
    record.tags === null ? '' : JSON.stringify(record.tags)].join(SEPARATOR);
  let sum = sums.get(key);
  if (sum === undefined) sums.set(key, (sum = { of: record, currency, nanos: 0n, unpricedQuantity: 0n }));
  sum.nanos += nanos;
  sum.unpricedQuantity += unpriced;
}

function worthOf(record: UsageRecord, book: PriceBook): { nanos: bigint; currency: string; unpriced: bigint } {
  const { charge } = record;
  if (charge !== null) {
    const { unscaled, scale } = charge.billed;
    return { nanos: scale <= 9 ? unscaled * tenTo(9 - scale) : divideHalfEven(unscaled, tenTo(scale - 9)), currency: charge.currency, unpriced: 0n };
  }
  const quantity = BigInt(record.gpuParts ?? 0) * BigInt(record.end - record.start);
  const { provider, sku, gpuModel, region, term } = record;
  const found = book.find({ provider, sku, gpuModel, region, term, component: 'gpu', at: record.start });
  if ('unpriced' in found) return { nanos: 0n, currency: NO_CURRENCY, unpriced: quantity };
  const cost = costOf(quantity, QUANTITY_SCALE.gpu, found.price.rate);
  return { nanos: cost.nanos, currency: cost.currency, unpriced: 0n };
}
