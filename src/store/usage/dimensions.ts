/**
 * Numbers for dimensions: wide descriptions become one bigint in the facts.
 *
 * Dimensions are only ever added. They are written outside the caller's transaction, so that a long import does not
 * hold up another one that needs the same dimension; one without facts does no harm.
 */
import { hash } from 'node:crypto';
import { dimensionKey, type Dimension } from '../../core/cost/rollup.js';
import type { Queryable } from '../database.js';

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

export class Dimensions {
  private readonly ids = new Map<string, string>();
  private readonly byId = new Map<string, Dimension>();

  /**
   * The ids of the given dimensions, in their order. `remember` is false inside a transaction that may be rolled back.
   */
  async idsOf(
    db: Queryable,
    organisation: string,
    dimensions: readonly Dimension[],
    remember = true,
  ): Promise<string[]> {
    const keys = dimensions.map((d) => hash('md5', dimensionKey(d)));
    const found = new Map<string, string>();
    const unknown = new Map<string, Dimension>();
    keys.forEach((key, at) => {
      const id = this.ids.get(organisation + key);
      const dimension = dimensions[at];
      if (id !== undefined) found.set(key, id);
      else if (dimension !== undefined) unknown.set(key, dimension);
    });
    if (unknown.size > 0) {
      for (const row of await insertAndSelect(db, organisation, unknown)) {
        found.set(row.key, row.id);
        if (remember) this.ids.set(organisation + row.key, row.id);
      }
    }
    return keys.map((key) => found.get(key) ?? '');
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

async function insertAndSelect(
  db: Queryable,
  organisation: string,
  unknown: ReadonlyMap<string, Dimension>,
): Promise<{ key: string; id: string }[]> {
  const keys = [...unknown.keys()].sort();
  const dimensions = keys.flatMap((key) => unknown.get(key) ?? []);
  const column = (name: (typeof COLUMNS)[number]): (string | null)[] => dimensions.map((d) => d[name]);
  await db.query(
    `insert into dimension (organisation, key, kind, provider, account, sub_account, service, sku, region, term, gpu_model, category, currency, tags,
       civil, days, unstated)
     select $1, decode(key, 'hex'), kind, provider, account, sub_account, service, sku, region, term, gpu_model, category, currency, tags::jsonb,
       civil, days, string_to_array(unstated, ',')
     from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
       $12::text[], $13::text[], $14::text[], $15::boolean[], $16::int[], $17::text[])
       as d(key, kind, provider, account, sub_account, service, sku, region, term, gpu_model, category, currency, tags, civil, days, unstated)
     on conflict (organisation, key) do nothing`,
    [
      organisation,
      keys,
      ...COLUMNS.map(column),
      dimensions.map((d) => (d.tags === null ? null : JSON.stringify(d.tags))),
      dimensions.map((d) => d.civil),
      dimensions.map((d) => d.days),
      dimensions.map((d) => d.unstated.join(',')),
    ],
  );
  return db.query<{ key: string; id: string }>(
    `select encode(key, 'hex') as key, id::text as id from dimension
     where organisation = $1 and key = any(array(select decode(k, 'hex') from unnest($2::text[]) k))`,
    [organisation, keys],
  );
}
