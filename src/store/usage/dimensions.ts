/**
 * Numbers for dimensions: wide descriptions become one bigint in the facts.
 *
 * Dimensions are only ever added. A long transaction that needs a new one takes its number at once, without waiting,
 * and writes its row last (`write`), so that it does not block others that need the same dimension. All transactions of
 * a process use one number for it. If another process was first, the transaction is run again and finds its row.
 */
import { hash } from 'node:crypto';
import { dimensionKey, type Dimension } from '../../core/cost/rollup.js';
import type { Queryable, Transaction } from '../database.js';
import { overtaken } from '../trouble.js';

const COLUMNS = [
  'kind',
  'provider',
  'account',
  'subAccount',
  'service',
  'sku',
  'region',
  'term',
  'gpuModel',
  'category',
  'currency',
] as const;
type Row = {
  id: string;
  tags: Record<string, string> | null;
  civil: boolean;
  days: number;
  unstated: string[];
} & Record<(typeof COLUMNS)[number], string | null>;

interface Numbered {
  readonly id: string;
  readonly dimension: Dimension;
  isWritten: boolean;
}

export class Dimensions {
  /** By organisation and key: of rows that are there for everybody. */
  private readonly ids = new Map<string, string>();
  /** The same, of numbers that a transaction of this process has taken. */
  private readonly taken = new Map<string, string>();
  /** Of each transaction, by organisation and key: what had no row before it. */
  private readonly numbered = new WeakMap<Transaction, Map<string, Numbered>>();
  private readonly byId = new Map<string, Dimension>();

  /** The ids of the given dimensions, in their order. `write` writes those that have no row yet. */
  async idsOf(tx: Transaction, organisation: string, dimensions: readonly Dimension[]): Promise<string[]> {
    const numbered = this.numberedBy(tx);
    const keys = dimensions.map((dimension) => hash('md5', dimensionKey(dimension)));
    const open = new Map<string, Dimension>();
    keys.forEach((key, at) => {
      const dimension = dimensions[at];
      const name = organisation + key;
      if (dimension !== undefined && !this.ids.has(name) && !numbered.has(name)) open.set(key, dimension);
    });
    if (open.size > 0) {
      // What this transaction wrote itself is in `numbered`: a row that is seen here is there to stay.
      for (const { key, id } of await rowsOf(tx, organisation, [...open.keys()])) {
        this.ids.set(organisation + key, id);
        this.taken.delete(organisation + key);
        open.delete(key);
      }
      await this.take(tx, organisation, open);
      for (const [key, dimension] of open) {
        const name = organisation + key;
        numbered.set(name, { id: this.taken.get(name) ?? '', dimension, isWritten: false });
      }
    }
    return keys.map((key) => numbered.get(organisation + key)?.id ?? this.ids.get(organisation + key) ?? '');
  }

  /** Numbers for what has neither a row nor a number. A sequence waits for nobody and is not rolled back. */
  private async take(tx: Transaction, organisation: string, open: ReadonlyMap<string, Dimension>): Promise<void> {
    const absent = [...open.keys()].filter((key) => !this.taken.has(organisation + key));
    if (absent.length === 0) return;
    const rows = await tx.query<{ id: string }>(
      `select nextval(pg_get_serial_sequence('dimension', 'id'))::text as id from generate_series(1, $1::int)`,
      [absent.length],
    );
    absent.forEach((key, at) => {
      const name = organisation + key;
      // Another transaction of this process may have been faster.
      if (!this.taken.has(name)) this.taken.set(name, rows[at]?.id ?? '');
    });
  }

  /** Writes what a transaction has numbered, near its end. @throws Failure if another process was first */
  async write(tx: Transaction, organisation: string): Promise<void> {
    const unwritten = new Map(
      [...this.numberedBy(tx)].flatMap(([name, one]) =>
        one.isWritten || !name.startsWith(organisation) ? [] : [[name.slice(organisation.length), one] as const],
      ),
    );
    if (unwritten.size === 0) return;
    await insert(tx, organisation, unwritten);
    for (const { key, id } of await rowsOf(tx, organisation, [...unwritten.keys()])) {
      const one = unwritten.get(key);
      if (one?.id !== id) {
        this.taken.delete(organisation + key);
        throw overtaken('another process has numbered the same dimension meanwhile');
      }
      one.isWritten = true;
    }
  }

  private numberedBy(tx: Transaction): Map<string, Numbered> {
    let numbered = this.numbered.get(tx);
    if (numbered === undefined) this.numbered.set(tx, (numbered = new Map()));
    return numbered;
  }

  async byIds(db: Queryable, organisation: string, ids: readonly string[]): Promise<Map<string, Dimension>> {
    const absent = [...new Set(ids)].filter((id) => !this.byId.has(organisation + id));
    if (absent.length > 0) {
      const rows = await db.query<Row>(
        `select id::text as id, kind, provider, account, sub_account as "subAccount", service, sku, region, term,
           gpu_model as "gpuModel", category, currency, tags, civil, days, unstated
         from dimension where organisation = $1 and id = any($2::bigint[])`,
        [organisation, absent],
      );
      for (const { id, ...dimension } of rows) this.byId.set(organisation + id, dimension as unknown as Dimension);
    }
    const result = new Map<string, Dimension>();
    for (const id of ids) {
      const dimension = this.byId.get(organisation + id);
      if (dimension !== undefined) result.set(id, dimension);
    }
    return result;
  }
}

/** In one order, so that two transactions never wait for each other. */
async function insert(
  db: Queryable,
  organisation: string,
  unwritten: ReadonlyMap<string, Pick<Numbered, 'id' | 'dimension'>>,
): Promise<void> {
  const all = [...unwritten].sort(([a], [b]) => (a < b ? -1 : 1));
  const column = (name: (typeof COLUMNS)[number]): (string | null)[] => all.map(([, { dimension }]) => dimension[name]);
  await db.query(
    `insert into dimension (organisation, key, id, kind, provider, account, sub_account, service, sku, region, term,
       gpu_model, category, currency, tags, civil, days, unstated) overriding system value
     select $1, decode(key, 'hex'), id, kind, provider, account, sub_account, service, sku, region, term, gpu_model,
       category, currency, tags::jsonb, civil, days, string_to_array(unstated, ',')
     from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
       $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::boolean[], $17::int[], $18::text[])
       as d(key, id, kind, provider, account, sub_account, service, sku, region, term, gpu_model, category, currency, tags,
         civil, days, unstated)
     on conflict (organisation, key) do nothing`,
    [
      organisation,
      all.map(([key]) => key),
      all.map(([, { id }]) => id),
      ...COLUMNS.map(column),
      all.map(([, { dimension }]) => (dimension.tags === null ? null : JSON.stringify(dimension.tags))),
      all.map(([, { dimension }]) => dimension.civil),
      all.map(([, { dimension }]) => dimension.days),
      all.map(([, { dimension }]) => dimension.unstated.join(',')),
    ],
  );
}

function rowsOf(db: Queryable, organisation: string, keys: readonly string[]): Promise<{ key: string; id: string }[]> {
  return db.query<{ key: string; id: string }>(
    `select encode(key, 'hex') as key, id::text as id from dimension
     where organisation = $1 and key = any(array(select decode(k, 'hex') from unnest($2::text[]) k))`,
    [organisation, keys],
  );
}
