/**
 * Anomalies, each stored once; a repeated finding is the same anomaly. alert.make reports recent ones.
 */
import { identityOf, type AnomalyNews, type PriceNews } from '../../core/alert/alert.js';
import { formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';

export type FoundAnomaly = AnomalyNews | PriceNews;

export interface StoredAnomaly {
  readonly id: string;
  readonly foundAt: string;
  readonly anomaly: FoundAnomaly;
}

export class AnomalyStore {
  constructor(private readonly db: Queryable) {}

  /** Those of some anomalies that are not kept yet. */
  async fresh<T extends FoundAnomaly>(db: Queryable, organisation: string, found: readonly T[]): Promise<T[]> {
    const rows = await db.query<{ identity: string }>(
      `select identity from anomaly where organisation = $1 and identity = any($2::text[])`,
      [organisation, found.map(identityOf)],
    );
    const known = new Set(rows.map(({ identity }) => identity));
    return found.filter((one) => !known.has(identityOf(one)));
  }

  async keep(tx: Queryable, organisation: string, found: readonly FoundAnomaly[], now: number): Promise<void> {
    for (const one of found) {
      await tx.query(
        `insert into anomaly (organisation, identity, team, news, found_at) values ($1, $2, $3, $4, $5) on conflict (organisation, identity) do nothing`,
        [organisation, identityOf(one), one.team, JSON.stringify(one), formatInstant(now)],
      );
    }
  }

  /**
   * Newest first; `before` is the id of the last one seen. Only callers who may see all teams see anomalies of prices.
   */
  async list(
    organisation: string,
    filter: { readonly team?: string | undefined; readonly teams: readonly string[] | null },
    before: string | null,
    limit: number,
  ): Promise<StoredAnomaly[]> {
    const rows = await this.db.query<{ id: string; found: Date; news: FoundAnomaly }>(
      `select id::text as id, found_at as found, news from anomaly where organisation = $1 and ($2::text is null or team = $2) and ($3::text[] is null or team = any($3::text[]))
         and ($4::bigint is null or anomaly.id < $4) order by anomaly.id desc limit $5`,
      [organisation, filter.team ?? null, filter.teams, before, limit],
    );
    return rows.map(({ id, found, news }) => ({ id, foundAt: found.toISOString(), anomaly: news }));
  }

  /** Unusual spend whose first day lies within [from, to), of some teams or of all, by day. */
  async within(
    organisation: string,
    teams: readonly string[] | null,
    from: string,
    to: string,
  ): Promise<AnomalyNews[]> {
    const rows = await this.db.query<{ news: AnomalyNews }>(
      `select news from anomaly where organisation = $1 and ($2::text[] is null or team = any($2::text[]))
         and news->>'kind' = 'anomaly' and news->>'day' >= $3 and news->>'day' < $4
       order by news->>'day', team, anomaly.id limit 500`,
      [organisation, teams, from, to],
    );
    return rows.map(({ news }) => news);
  }

  /** Providers and SKUs that any usage or bill names: of the other prices nobody needs to know. */
  async usedSkus(db: Queryable, organisation: string): Promise<Set<string>> {
    const rows = await db.query<{ provider: string; sku: string }>(
      `select distinct provider, sku from dimension where organisation = $1 and sku is not null`,
      [organisation],
    );
    return new Set(rows.map(({ provider, sku }) => `${provider}\u0001${sku}`));
  }

  /** The last checked value under a name, and whether it has changed. */
  async hasChanged(tx: Queryable, organisation: string, name: string, value: string): Promise<boolean> {
    const rows = await tx.query(
      `insert into alert_mark (organisation, name, value) values ($1, $2, $3) on conflict (organisation, name) do update set value = excluded.value where alert_mark.value is distinct from excluded.value returning 1 as changed`,
      [organisation, name, value],
    );
    return rows.length > 0;
  }
}
