/**
 * Reads price events and exchange rates: all valid ones, or those of some SKUs, for which a book answers as a book of
 * all would. Reads only.
 */
import { parseDecimal, type Decimal } from '../../core/decimal.js';
import { FxTable } from '../../core/price/fx.js';
import { applyPriceEvents, NO_PRICES, PriceBook, type PriceHistory } from '../../core/price/price-book.js';
import type { Price, PriceEvent, PriceOrigin } from '../../core/price/price.js';
import type { Queryable } from '../database.js';

/** Events that hold, by a condition on them; its parameters begin at $2. */
export async function eventsBy(
  db: Queryable,
  organisation: string,
  condition: string,
  given: readonly unknown[],
): Promise<PriceEvent[]> {
  const events = await db.query<{ event: string; origin: PriceOrigin; stated: string; row: number }>(
    `select event::text as event, origin, stated::text as stated, stated_row as row from price_event
     where organisation = $1 and withdrawn_at is null and ${condition}`,
    [organisation, ...given],
  );
  return events.map((e) => statedEvent(eventOf(e.event), e.origin, { list: Number(e.stated), row: e.row }));
}

export type SkuOfProvider = Pick<Price, 'provider' | 'sku'>;

/** Prices of some SKUs, by `{ provider, sku }`. */
export interface SomePrices {
  readonly version: string;
  readonly history: PriceHistory;
  readonly book: PriceBook;
  readonly fx: FxTable;
  readonly skus: ReadonlySet<string>;
  /** Those that have any price. */
  readonly providers: ReadonlySet<string>;
}

export async function loadSome(
  db: Queryable,
  organisation: string,
  version: string,
  known: SomePrices | null,
  missing: readonly (readonly [string, SkuOfProvider])[],
): Promise<SomePrices> {
  const wanted = missing.map(([, one]) => one);
  const events = await eventsBy(db, organisation, `(provider, sku) in (select * from unnest($2::text[], $3::text[]))`, [
    wanted.map(({ provider }) => provider),
    wanted.map(({ sku }) => sku),
  ]);
  const listed = await db.query<{ provider: string }>(
    `select provider from unnest($2::text[]) as p(provider) where exists (select 1 from price_event e
       where e.organisation = $1 and e.provider = p.provider and e.withdrawn_at is null and e.event ->> 'kind' = 'price')`,
    [organisation, [...new Set(wanted.map(({ provider }) => provider))]],
  );
  const history = applyPriceEvents(known?.history ?? NO_PRICES, events);
  const providers = new Set([...(known?.providers ?? []), ...listed.map(({ provider }) => provider)]);
  return {
    version,
    history,
    providers,
    skus: new Set([...(known?.skus ?? []), ...missing.map(([name]) => name)]),
    book: new PriceBook(history, providers),
    fx: known?.fx ?? (await loadFx(db, organisation)),
  };
}

export async function loadFx(db: Queryable, organisation: string): Promise<FxTable> {
  const quotes = await db.query<{ day: string; currency: string; rate: string }>(
    `select day::text as day, currency, per_usd::text as rate from fx_rate where organisation = $1`,
    [organisation],
  );
  return new FxTable(
    'USD',
    quotes.map((q) => ({ day: q.day, currency: q.currency, perBase: decimal(q.rate) })),
  );
}

function decimal(text: string): Decimal {
  const value = parseDecimal(text);
  if (value === null) throw new Error(`broken invariant: ${text} is a decimal`);
  return value;
}

export function skuOf(event: PriceEvent): { provider: string; sku: string } {
  return event.kind === 'price' ? event.price : event;
}

export function instantOf(event: PriceEvent): number {
  return event.kind === 'price' ? event.price.effectiveFrom : event.at;
}

function statedEvent(event: PriceEvent, origin: PriceOrigin, stated: Price['stated']): PriceEvent {
  return event.kind === 'price' ? { kind: 'price', price: { ...event.price, origin, stated } } : event;
}

/** One text per fact; bigints as strings. */
export function eventText(event: PriceEvent): string {
  return JSON.stringify(event, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

export function eventOf(text: string): PriceEvent {
  const event = JSON.parse(text) as PriceEvent;
  if (event.kind !== 'price') return event;
  const { rate } = event.price;
  return {
    kind: 'price',
    price: { ...event.price, rate: { ...rate, nanos: BigInt(rate.nanos), quantity: BigInt(rate.quantity) } },
  };
}
