/**
 * Price events and exchange rates, stored as stated; the price book is built from all of them.
 *
 * Each price carries the time of its statement, so that the later statement of a price at one time holds. Importing the
 * same list again changes nothing, unless another list has contradicted it since: then it is the later statement. A
 * withdrawn price stays withdrawn until it is restored. The organisation's price version says how old the book in
 * memory is.
 */
import { hash } from 'node:crypto';
import { missing } from '../../core/errors.js';
import { formatDecimal } from '../../core/decimal.js';
import type { FxQuote, FxRate, FxTable } from '../../core/price/fx.js';
import {
  ANY_SKU,
  applyPriceEvents,
  NO_PRICES,
  PriceBook,
  type PriceHistory,
  type PriceQuery,
} from '../../core/price/price-book.js';
import type { Price, PriceEvent, PriceOrigin } from '../../core/price/price.js';
import { formatInstant, HOUR_MS } from '../../core/time.js';
import type { Queryable } from '../database.js';
import type { TeamDay } from '../usage/raw.js';
import {
  eventOf,
  eventsBy,
  eventText,
  instantOf,
  loadFx,
  loadSome,
  skuOf,
  type SkuOfProvider,
  type SomePrices,
} from './price-events.js';

export interface CurrentPrices {
  readonly version: string;
  readonly prices: readonly Price[];
  /** The data behind the book. */
  readonly history: PriceHistory;
  readonly book: PriceBook;
  readonly fx: FxTable;
}

/** A stored exchange rate, units of the currency for one USD. */
export interface StoredFxRate extends FxRate {
  readonly source: string;
}

/** A price as stated, and whether it was withdrawn. */
export interface ListedPrice {
  readonly id: string;
  readonly event: PriceEvent;
  readonly source: string;
  readonly origin: PriceOrigin;
  readonly withdrawnAt: string | null;
  readonly withdrawnBy: string | null;
}

/** A statement of a list, as its import stores it. */
export interface PriceStatement {
  /** Its number: prices bear that of their latest statement. */
  readonly stated: string;
  /** Prices that an earlier list had stated, with that one's number. */
  readonly repeated: readonly { readonly price: string; readonly before: string }[];
}

/** The fields that two prices of one time must share for one to replace the other. */
const SLOT = (table: string): string =>
  `(${['region', 'term', 'upfront', 'component'].map((name) => `coalesce(${table}.event #>> '{price,${name}}', '')`).join(', ')})`;

export class PriceStore {
  private readonly cache = new Map<string, CurrentPrices>();
  private readonly loading = new Map<string, Promise<CurrentPrices>>();
  /** For who asks for the prices of some SKUs. */
  private readonly some = new Map<string, SomePrices>();
  /** For who asks for no price: what only tells costs never reads the history of prices. */
  private readonly rates = new Map<string, { readonly version: string; readonly fx: FxTable }>();

  constructor(private readonly db: Queryable) {}

  /**
   * Adds what is new, and what is stated again after it was contradicted; returns both. The caller enqueues the days.
   */
  async add(
    tx: Queryable,
    organisation: string,
    events: readonly PriceEvent[],
    source: string,
    origin: PriceOrigin = 'provider',
  ): Promise<PriceEvent[]> {
    return (await this.state(tx, organisation, events, source, origin)).fresh;
  }

  /** As `add`, and returns what the list stated, so that it can be withdrawn as a whole. */
  async state(
    tx: Queryable,
    organisation: string,
    events: readonly PriceEvent[],
    source: string,
    origin: PriceOrigin = 'provider',
  ): Promise<{ readonly fresh: PriceEvent[]; readonly statement: PriceStatement | null }> {
    if (events.length === 0) return { fresh: [], statement: null };
    const stated = await this.nextStatement(tx, organisation);
    const repeated: PriceStatement['repeated'][number][] = [];
    const byId = new Map(events.map((event) => [hash('md5', eventText(event)), event]));
    const ids = [...byId.keys()];
    const fresh: PriceEvent[] = [];
    for (let at = 0; at < ids.length; at += 2000) {
      const portion = ids.slice(at, at + 2000);
      const all = portion.flatMap((id) => byId.get(id) ?? []);
      const rows = await tx.query<{ id: string }>(
        `insert into price_event (organisation, id, provider, sku, at, source, event, origin, stated, stated_row)
         select $1, decode(id, 'hex'), provider, sku, at, $2, event::jsonb, $8, $9, line
         from unnest($3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::text[], $10::int[]) as e(id, provider, sku, at, event, line)
         on conflict (organisation, id) do nothing returning encode(id, 'hex') as id`,
        [
          organisation,
          source,
          portion,
          all.map((e) => skuOf(e).provider),
          all.map((e) => skuOf(e).sku),
          all.map((e) => formatInstant(instantOf(e))),
          all.map(eventText),
          origin,
          stated,
          // The rows of one's own list have an order; those of a seller's come as its API happens to give them.
          all.map((_, n) => (origin === 'own' ? at + n : 0)),
        ],
      );
      const isNew = new Set(rows.map(({ id }) => id));
      const known = portion.filter((id) => !isNew.has(id));
      const again = known.length === 0 ? [] : await this.stateAgain(tx, organisation, known, stated);
      repeated.push(...again);
      for (const id of [...isNew, ...again.map(({ price }) => price)])
        fresh.push(...[byId.get(id)].filter((event) => event !== undefined));
    }
    if (fresh.length > 0) await this.raiseVersion(tx, organisation);
    return { fresh, statement: { stated, repeated } };
  }

  /**
   * Takes a list's statement back: prices that it alone stated, or stated first, are withdrawn, those that it repeated
   * are the earlier statement again. What a later list has stated since stays. Returns what changed.
   */
  async takeBack(
    tx: Queryable,
    organisation: string,
    { stated, repeated }: PriceStatement,
    withdrawn: { readonly by: string; readonly at: number },
  ): Promise<PriceEvent[]> {
    const earlier = await tx.query<{ event: string }>(
      `update price_event p set stated = e.before from unnest($3::text[], $4::bigint[]) as e(id, before)
       where p.organisation = $1 and p.stated = $2 and p.id = decode(e.id, 'hex') returning p.event::text as event`,
      [organisation, stated, repeated.map(({ price }) => price), repeated.map(({ before }) => before)],
    );
    const gone = await tx.query<{ event: string }>(
      `update price_event set withdrawn_at = $3, withdrawn_by = $4
       where organisation = $1 and stated = $2 and withdrawn_at is null returning event::text as event`,
      [organisation, stated, formatInstant(withdrawn.at), withdrawn.by],
    );
    if (earlier.length + gone.length > 0) await this.raiseVersion(tx, organisation);
    return [...earlier, ...gone].map(({ event }) => eventOf(event));
  }

  /**
   * The number of a statement made now. Statements of one organisation wait for each other, so that they have an order.
   */
  private async nextStatement(tx: Queryable, organisation: string): Promise<string> {
    const [row] = await tx.query<{ next: string }>(
      `select (price_version + 1)::text as next from organisation where id = $1 for no key update`,
      [organisation],
    );
    return row?.next ?? '1';
  }

  /** Makes those of the known prices the later statement again that another list has contradicted since. */
  private async stateAgain(
    tx: Queryable,
    organisation: string,
    ids: readonly string[],
    stated: string,
  ): Promise<PriceStatement['repeated'][number][]> {
    const rows = await tx.query<{ id: string; before: string }>(
      `select encode(p.id, 'hex') as id, p.stated::text as before from price_event p
       where p.organisation = $1 and p.id = any(array(select decode(k, 'hex') from unnest($2::text[]) k)) and p.withdrawn_at is null and exists (
         select 1 from price_event q where q.organisation = p.organisation and q.provider = p.provider and q.sku = p.sku and q.at = p.at
           and q.origin = p.origin and q.stated > p.stated and q.stated < $3 and q.withdrawn_at is null and ${SLOT('q')} = ${SLOT('p')})`,
      [organisation, ids, stated],
    );
    // Nearly always there is none, and then nothing of what was stated is touched.
    if (rows.length > 0)
      await tx.query(
        `update price_event set stated = $3
         where organisation = $1 and id = any(array(select decode(k, 'hex') from unnest($2::text[]) k))`,
        [organisation, rows.map(({ id }) => id), stated],
      );
    return rows.map(({ id, before }) => ({ price: id, before }));
  }

  /**
   * Withdraws a statement, or restores a withdrawn one. Null: it was already so, and nothing changed.
   * @throws Failure missing
   */
  async setWithdrawn(
    tx: Queryable,
    organisation: string,
    id: string,
    withdrawn: { readonly by: string; readonly at: number } | null,
  ): Promise<PriceEvent | null> {
    const { event } = await this.one(tx, organisation, id);
    const [row] = await tx.query<{ id: string }>(
      `update price_event set withdrawn_at = $3, withdrawn_by = $4
       where organisation = $1 and id = decode($2, 'hex') and (withdrawn_at is null) = $5 returning encode(id, 'hex') as id`,
      [
        organisation,
        id,
        withdrawn === null ? null : formatInstant(withdrawn.at),
        withdrawn?.by ?? null,
        withdrawn !== null,
      ],
    );
    if (row === undefined) return null;
    await this.raiseVersion(tx, organisation);
    return event;
  }

  /**
   * Adds or corrects daily rates, as units of a currency for one USD; returns the days that are new or changed, in
   * order.
   */
  async addFx(tx: Queryable, organisation: string, quotes: readonly FxQuote[], source: string): Promise<string[]> {
    const rows = await tx.query<{ day: string }>(
      `insert into fx_rate (organisation, day, currency, per_usd, source)
       select $1, day, currency, rate, $2 from unnest($3::date[], $4::text[], $5::numeric[]) as r(day, currency, rate)
       on conflict (organisation, day, currency) do update set per_usd = excluded.per_usd, source = excluded.source
         where fx_rate.per_usd <> excluded.per_usd returning day::text as day`,
      [
        organisation,
        source,
        quotes.map((q) => q.day),
        quotes.map((q) => q.currency),
        quotes.map((q) => formatDecimal(q.perBase)),
      ],
    );
    if (rows.length > 0) await this.raiseVersion(tx, organisation);
    return rows.map(({ day }) => day).sort();
  }

  /** A page of exchange rates by day and currency; `after` is the last one's `day currency`. */
  async listFx(
    organisation: string,
    currency: string | null,
    after: string | null,
    limit: number,
  ): Promise<StoredFxRate[]> {
    return this.db.query<StoredFxRate>(
      `select day::text as day, currency, per_usd::text as "perUsd", source from fx_rate
       where organisation = $1 and ($2::text is null or currency = $2) and ($3::text is null or day::text || ' ' || currency > $3)
       order by day::text || ' ' || currency limit $4`,
      [organisation, currency, after, limit],
    );
  }

  private async raiseVersion(tx: Queryable, organisation: string): Promise<void> {
    await tx.query(`update organisation set price_version = price_version + 1 where id = $1`, [organisation]);
  }

  private async version(db: Queryable, organisation: string): Promise<string> {
    const [row] = await db.query<{ version: string }>(
      `select price_version::text as version from organisation where id = $1`,
      [organisation],
    );
    return row?.version ?? '0';
  }

  /** The exchange rates alone, current as of the reading connection. */
  async fx(db: Queryable, organisation: string): Promise<FxTable> {
    const version = await this.version(db, organisation);
    const known = [this.cache.get(organisation), this.rates.get(organisation)].find((one) => one?.version === version);
    if (known !== undefined) return known.fx;
    const fx = await loadFx(db, organisation);
    if (!(await this.isOwn(db, organisation))) this.rates.set(organisation, { version, fx });
    return fx;
  }

  /** The book, the prices behind it and the exchange rates, current as of the reading connection. */
  async book(db: Queryable, organisation: string): Promise<CurrentPrices> {
    return this.bookOf(db, organisation, await this.version(db, organisation));
  }

  /** The same for who has read the organisation's price version already. Many that ask at once have it made once. */
  async bookOf(db: Queryable, organisation: string, version: string): Promise<CurrentPrices> {
    const cached = this.cache.get(organisation);
    if (cached !== undefined && cached.version === version) return cached;
    // A transaction may see its own changes, so it loads for itself.
    if (db !== this.db) return this.load(db, organisation, version);
    const name = `${organisation}\u0001${version}`;
    const loading =
      this.loading.get(name) ?? this.load(db, organisation, version).finally(() => this.loading.delete(name));
    this.loading.set(name, loading);
    return loading;
  }

  /**
   * A book that answers of what is asked for here as one of all prices would, and reads the history of nothing else: of
   * a million prices that is some thousand. What names no SKU may be served by any, and needs them all.
   */
  async bookFor(
    db: Queryable,
    organisation: string,
    asked: Iterable<Pick<PriceQuery, 'provider' | 'sku'>>,
  ): Promise<Pick<CurrentPrices, 'book' | 'fx'>> {
    const version = await this.version(db, organisation);
    const whole = this.cache.get(organisation);
    if (whole?.version === version) return whole;
    const wanted = new Map<string, SkuOfProvider>();
    for (const { provider, sku } of asked) {
      if (sku === null) return this.bookOf(db, organisation, version);
      // A price for any SKU of a provider applies to those without their own price.
      for (const one of [
        { provider, sku },
        { provider, sku: ANY_SKU },
      ])
        wanted.set(JSON.stringify(one), one);
    }
    const before = this.some.get(organisation);
    const known = before?.version === version ? before : null;
    const lacking = [...wanted].filter(([name]) => known?.skus.has(name) !== true);
    if (known !== null && lacking.length === 0) return known;
    const fresh = await loadSome(db, organisation, version, known, lacking);
    if (!(await this.isOwn(db, organisation))) this.some.set(organisation, fresh);
    return fresh;
  }

  private async load(db: Queryable, organisation: string, version: string): Promise<CurrentPrices> {
    const history = applyPriceEvents(NO_PRICES, await eventsBy(db, organisation, 'true', []));
    const fx = await loadFx(db, organisation);
    const fresh = { version, prices: history.prices, history, book: new PriceBook(history), fx };
    if (!(await this.isOwn(db, organisation))) this.cache.set(organisation, fresh);
    return fresh;
  }

  /**
   * Whether a transaction reads prices that it has changed itself: they may never come to be, and another's next
   * version has the same number.
   */
  private async isOwn(db: Queryable, organisation: string): Promise<boolean> {
    if (db === this.db) return false;
    const [row] = await db.query<{ own: boolean | null }>(
      `select xmin = pg_current_xact_id_if_assigned()::xid as own from organisation where id = $1`,
      [organisation],
    );
    return row?.own === true;
  }

  /** (team, UTC day)s of metered usage whose price, or whose reason for having none, the events may change. */
  async affected(tx: Queryable, organisation: string, events: readonly PriceEvent[]): Promise<TeamDay[]> {
    if (events.length === 0) return [];
    const from = Math.min(...events.map(instantOf));
    return tx.query<TeamDay>(
      `select u.team, to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD') as day
       from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
       where u.organisation = $1 and u.hour >= $2 and d.provider = any($3::text[])
         and (d.sku is null or d.sku = any($4::text[]) or $5::boolean)
       union
       select c.team, to_char(c.hour at time zone 'UTC', 'YYYY-MM-DD')
       from cost_hour c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where c.organisation = $1 and c.unpriced_reason <> '' and d.provider = any($3::text[])`,
      [
        organisation,
        formatInstant(from - HOUR_MS),
        [...new Set(events.map((e) => skuOf(e).provider))],
        [...new Set(events.map((e) => skuOf(e).sku))],
        events.some((e) => skuOf(e).sku === ANY_SKU),
      ],
    );
  }

  /**
   * Every (team, UTC day) of metered usage, of one team or from one day on where given: what another rate, schedule or
   * currency prices again.
   */
  async meteredDays(
    tx: Queryable,
    organisation: string,
    { from, team }: { readonly from?: string; readonly team?: string } = {},
  ): Promise<TeamDay[]> {
    return tx.query<TeamDay>(
      `select distinct u.team, to_char(u.hour at time zone 'UTC', 'YYYY-MM-DD') as day
       from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension and d.kind = 'metered'
       where u.organisation = $1 and ($2::date is null or u.hour >= $2::date::timestamp at time zone 'UTC') and ($3::text is null or u.team = $3)`,
      [organisation, from ?? null, team ?? null],
    );
  }

  /** A page of price versions for people and callers, in the order of their ids. */
  async list(
    organisation: string,
    filter: { provider?: string; sku?: string },
    after: string | null,
    limit: number,
  ): Promise<ListedPrice[]> {
    const rows = await this.db.query<ListedRow>(
      `${LISTED} and ($2::text is null or provider = $2) and ($3::text is null or sku = $3) and ($4::text is null or encode(id, 'hex') > $4)
       order by encode(id, 'hex') limit $5`,
      [organisation, filter.provider ?? null, filter.sku ?? null, after, limit],
    );
    return rows.map(listedOf);
  }

  /** @throws Failure missing */
  async one(db: Queryable, organisation: string, id: string): Promise<ListedPrice> {
    const [row] = await db.query<ListedRow>(`${LISTED} and id = decode($2, 'hex')`, [organisation, id]);
    if (row === undefined) throw missing(`there is no price "${id}"`);
    return listedOf(row);
  }
}

type ListedRow = Omit<ListedPrice, 'event' | 'withdrawnAt'> & { event: string; at: Date | null };

const LISTED = `select encode(id, 'hex') as id, event::text as event, source, origin, withdrawn_at as at, withdrawn_by as "withdrawnBy"
  from price_event where organisation = $1`;

const listedOf = ({ event, at, ...row }: ListedRow): ListedPrice => ({
  ...row,
  event: eventOf(event),
  withdrawnAt: at?.toISOString() ?? null,
});
