/**
 * Recommendations as the line made them, and what people decided about them.
 *
 * One open recommendation per (team, policy, action, target): made again it is refreshed, not repeated; what a new look no
 * longer proposes is superseded. What a policy in mode `observe` would propose is kept with the status `observed`: nobody can
 * decide it. A decision is kept for ever. An unknown saving is null, never zero.
 */
import { conflict, missing } from '../core/errors.js';
import type { Recommendation } from '../core/recommendation.js';
import type { Queryable, Transaction } from './database.js';

export type RecommendationStatus = 'open' | 'observed' | 'approved' | 'rejected' | 'superseded' | 'expired';

export interface StoredRecommendation extends Recommendation {
  readonly status: RecommendationStatus;
  readonly madeAt: string;
  readonly decidedBy: string | null;
}

interface Row { body: Recommendation; status: RecommendationStatus; made_at: Date; decided_by: string | null }

const COLUMNS = 'body, status, made_at, decided_by';

export class RecommendationStore {
  constructor(private readonly db: Queryable) {}

  /** Replaces a team's open and observed recommendations of some policies by what was made now. */
  async replaceOpen(tx: Transaction, organisation: string, team: string, policies: readonly string[], made: readonly Recommendation[], now: number, observed: readonly Recommendation[] = []): Promise<void> {
    await tx.query(
      `update recommendation set status = 'superseded', decided_at = $5
       where organisation = $1 and team = $2 and policy = any($3::text[]) and status in ('open', 'observed') and not (id = any($4::text[]))`,
      [organisation, team, policies, [...made, ...observed].map((r) => r.id), new Date(now)],
    );
    for (const [r, status] of [...made.map((one) => [one, 'open'] as const), ...observed.map((one) => [one, 'observed'] as const)]) {
      await tx.query(
        `insert into recommendation (organisation, id, team, policy, action, target, estimated_monthly_nanos, currency, body, made_at, expires_at, status)
         values ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12)
         on conflict (organisation, id) do update set body = excluded.body, made_at = excluded.made_at, expires_at = excluded.expires_at,
           estimated_monthly_nanos = excluded.estimated_monthly_nanos, currency = excluded.currency,
           status = case when recommendation.status in ('superseded', 'expired', 'open', 'observed') then excluded.status else recommendation.status end`,
        [organisation, r.id, r.team, r.policy, r.action, r.target, r.estimatedMonthlySavingsNanos, r.currency, JSON.stringify(r), new Date(now), r.expiresAt, status],
      );
    }
  }

  async list(organisation: string, filter: { team?: string | null; status?: RecommendationStatus | null; teams?: readonly string[] | null }, after: string | null, limit: number): Promise<StoredRecommendation[]> {
    const rows = await this.db.query<Row>(
      `select ${COLUMNS} from recommendation
       where organisation = $1 and ($2::text is null or team = $2) and ($3::text is null or status = $3) and ($4::text[] is null or team = any($4::text[]))
         and ($5::text is null or id > $5)
       order by id limit $6`,
      [organisation, filter.team ?? null, filter.status ?? null, filter.teams ?? null, after, limit],
    );
    return rows.map(storedOf);
  }

  /** @throws Failure missing, or conflict where it was decided before or is no longer open. */
  async decide(tx: Transaction, organisation: string, id: string, decision: 'approved' | 'rejected', by: string, now: number): Promise<StoredRecommendation> {
    const [row] = await tx.query<Row>(`select ${COLUMNS} from recommendation where organisation = $1 and id = $2 for update`, [organisation, id]);
    if (row === undefined) throw missing(`recommendation ${id} does not exist`);
    if (row.status !== 'open') throw conflict(`recommendation ${id} is ${row.status}, not open`);
    await tx.query(`update recommendation set status = $3, decided_at = $4, decided_by = $5 where organisation = $1 and id = $2`,
      [organisation, id, decision, new Date(now), by]);
    return { ...storedOf(row), status: decision, decidedBy: by };
  }

  async get(organisation: string, id: string): Promise<StoredRecommendation | null> {
    const [row] = await this.db.query<Row>(`select ${COLUMNS} from recommendation where organisation = $1 and id = $2`, [organisation, id]);
    return row === undefined ? null : storedOf(row);
  }
}

function storedOf(row: Row): StoredRecommendation {
  return { ...row.body, status: row.status, madeAt: row.made_at.toISOString(), decidedBy: row.decided_by };
}
