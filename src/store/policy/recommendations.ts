/**
 * Recommendations of the line, and people's decisions about them. There is one open recommendation per (team, policy,
 * action, target): a repetition refreshes it, and a newer evaluation that no longer proposes it supersedes it.
 * Proposals of a policy in mode `observe` are kept with the status `observed`: nobody can decide about them. A decision
 * stands until the same proposal is a new question (`opensAgain` in core/action/acting.ts), and is in the audit for
 * ever. An unknown saving is null, never zero.
 */
import {
  asksForOther,
  isForPromise,
  newestEvidence,
  opensAgain,
  wasRefusedByReading,
  type Decided,
} from '../../core/action/acting.js';
import { effectFromJson, type ActionState, type EffectJson } from '../../core/action/action.js';
import type { Reason } from '../../core/action/action.js';
import { conflict, missing } from '../../core/errors.js';
import type { Recommendation } from '../../core/policy/recommendation.js';
import { OVERTAKEN } from '../action/actions.js';
import type { Queryable, Transaction } from '../database.js';

export type RecommendationStatus = 'open' | 'observed' | 'approved' | 'rejected' | 'superseded' | 'expired';

export interface StoredRecommendation extends Recommendation {
  readonly status: RecommendationStatus;
  readonly madeAt: string;
  readonly decidedBy: string | null;
  /** The newest action that was made from it. */
  readonly actionId: string | null;
  /** The state of that action: an approval may have come to nothing. */
  readonly actionState: ActionState | null;
  /** Why nothing carries it out; null: something does, or nobody has looked. */
  readonly obstacle: Reason | null;
  /** All that stands against it; its first is `obstacle`. Empty: nothing does, or nobody has looked. */
  readonly obstacles: readonly Reason[];
}

/** When recommendations of a team were made, and what they wait for. */
export interface TeamEvaluation {
  /** Epoch milliseconds; null: never. */
  readonly evaluatedAt: number | null;
  readonly next: 'due' | 'failed' | 'when-something-changes';
  readonly problem: string | null;
}

export type ExpectedSaving = Pick<
  Recommendation,
  'estimatedMonthlySavings' | 'estimatedMonthlySavingsLow' | 'estimatedMonthlySavingsHigh' | 'currency' | 'protective'
>;

/** Recommendations that an evaluation has not made again. */
export type Lapsing = Pick<StoredRecommendation, 'id' | 'policy' | 'target' | 'status'>;

interface Row {
  body: Recommendation;
  status: RecommendationStatus;
  made_at: Date;
  decided_by: string | null;
  obstacle: Reason | null;
  obstacles: Reason[] | null;
  action_id: string | null;
  action_state: ActionState | null;
}

const newestAction = (column: 'id' | 'state'): string =>
  `(select a.${column} from action a where a.organisation = recommendation.organisation and a.recommendation = recommendation.id order by a.no desc limit 1)`;
const COLUMNS = `body, status, made_at, decided_by, obstacle, obstacles,
  ${newestAction('id')} as action_id, ${newestAction('state')} as action_state`;

/** For a recommendation `r`: the time of a person's rollback of its action; null: none. */
const UNDONE = `(select max(b.ended_at) from action a
  join action b on b.organisation = a.organisation and b.rollback_of = a.id and b.proposed_by not like 'policy:%'
  where a.organisation = r.organisation and a.recommendation = r.id and a.state = 'rolled-back')`;

export class RecommendationStore {
  constructor(private readonly db: Queryable) {}

  /** A team's recommendations of some policies that an evaluation which makes only these would let lapse. */
  async lapsing(
    tx: Transaction,
    organisation: string,
    team: string,
    policies: readonly string[],
    made: readonly string[],
  ): Promise<Lapsing[]> {
    return tx.query<Lapsing>(
      `select id, policy, target, status from recommendation
       where organisation = $1 and team = $2 and policy = any($3::text[]) and not (id = any($4::text[]))
         and (status in ('open', 'observed') or (status in ('approved', 'rejected') and lapsed_at is null))`,
      [organisation, team, policies, made],
    );
  }

  /**
   * Replaces a team's open and observed recommendations of some policies by what was made now.
   * @param standing ids of those that stay as they are though they were not made
   */
  async replaceOpen(
    tx: Transaction,
    organisation: string,
    team: string,
    policies: readonly string[],
    made: readonly Recommendation[],
    now: number,
    observed: readonly Recommendation[] = [],
    standing: readonly string[] = [],
  ): Promise<void> {
    const kept = [...[...made, ...observed].map(({ id }) => id), ...standing];
    await tx.query(
      `update recommendation set status = 'superseded', decided_at = $5
       where organisation = $1 and team = $2 and policy = any($3::text[]) and status in ('open', 'observed') and not (id = any($4::text[]))`,
      [organisation, team, policies, kept, new Date(now)],
    );
    await tx.query(
      `update recommendation r set lapsed_at = $5
       where organisation = $1 and team = $2 and policy = any($3::text[]) and status in ('approved', 'rejected') and not (id = any($4::text[]))
         and (lapsed_at is null or lapsed_at < ${UNDONE})`,
      [organisation, team, policies, kept, new Date(now)],
    );
    await this.reopen(tx, organisation, [...made, ...observed]);
    await this.keep(tx, organisation, made, observed, now);
  }

  private async keep(
    tx: Transaction,
    organisation: string,
    made: readonly Recommendation[],
    observed: readonly Recommendation[],
    now: number,
  ): Promise<void> {
    // One statement changes a row once: of two that are one recommendation the last one counts.
    const kept = new Map<string, { readonly one: Recommendation; readonly status: 'open' | 'observed' }>([
      ...made.map((one) => [one.id, { one, status: 'open' }] as const),
      ...observed.map((one) => [one.id, { one, status: 'observed' }] as const),
    ]);
    if (kept.size === 0) return;
    const all = [...kept.values()];
    await tx.query(
      `insert into recommendation (organisation, id, team, policy, action, target, estimated_monthly_nanos, currency, body, made_at, expires_at, status)
       select $1, id, team, policy, action, target, nanos, currency, body, $2::timestamptz, expires_at, status
       from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::numeric[], $9::text[], $10::jsonb[], $11::timestamptz[], $12::text[])
         as r(id, team, policy, action, target, nanos, currency, body, expires_at, status)
       on conflict (organisation, id) do update set body = excluded.body, made_at = excluded.made_at, expires_at = excluded.expires_at,
         estimated_monthly_nanos = excluded.estimated_monthly_nanos, currency = excluded.currency,
         status = case when recommendation.status in ('superseded', 'expired', 'open', 'observed') then excluded.status else recommendation.status end`,
      [
        organisation,
        new Date(now),
        all.map(({ one }) => one.id),
        all.map(({ one }) => one.team),
        all.map(({ one }) => one.policy),
        all.map(({ one }) => one.action),
        all.map(({ one }) => one.target),
        all.map(({ one }) => one.estimatedMonthlySavingsNanos),
        all.map(({ one }) => one.currency),
        all.map(({ one }) => JSON.stringify(one)),
        all.map(({ one }) => one.expiresAt),
        all.map(({ status }) => status),
      ],
    );
  }

  /** Notes that a team was looked at. */
  async saveEvaluation(tx: Transaction, organisation: string, team: string, now: number): Promise<void> {
    await tx.query(
      `insert into team_look (organisation, team, at) values ($1, $2, $3)
       on conflict (organisation, team) do update set at = excluded.at`,
      [organisation, team, new Date(now)],
    );
  }

  /** When a team was looked at last, and whether it is due again; null: never. */
  async evaluationOf(db: Queryable, organisation: string, team: string): Promise<TeamEvaluation> {
    const [evaluation] = await db.query<{ at: Date }>(
      `select at from team_look where organisation = $1 and team = $2`,
      [organisation, team],
    );
    const [due] = await db.query<{ parked: boolean; error: string | null }>(
      `select parked_at is not null as parked, last_error as error from work
       where organisation = $1 and lane = $2 and stage = 'recommendation.make' and key = $2 and done < wanted`,
      [organisation, team],
    );
    return {
      evaluatedAt: evaluation?.at.getTime() ?? null,
      next: due === undefined ? 'when-something-changes' : due.parked ? 'failed' : 'due',
      problem: due?.error ?? null,
    };
  }

  /** The decisions about recommendations that are proposed now, and the events since. */
  async decided(
    db: Queryable,
    organisation: string,
    made: readonly Pick<Recommendation, 'id' | 'action' | 'change'>[],
  ): Promise<Map<string, Decided>> {
    const rows = await db.query<{
      id: string;
      status: Decided['status'];
      lapsed: Date | null;
      action: string | null;
      ended: Date | null;
      asked: Date | null;
      decided: Date | null;
      state: ActionState | null;
      effect: EffectJson | null;
      reasons: Reason[] | null;
      undone: Date | null;
      overtaken: Date | null;
    }>(
      `select r.id, r.status, r.lapsed_at as lapsed, r.decided_at as decided, a.id as action, a.ended_at as ended, a.state, a.effect,
         a.reasons, a.asked_at as asked, ${UNDONE} as undone, a.overtaken
       from recommendation r
       left join lateral (select id, ended_at, asked_at, state, effect, reasons, ${OVERTAKEN} as overtaken from action a
         where organisation = r.organisation and recommendation = r.id order by no desc limit 1) a on true
       where r.organisation = $1 and r.id = any($2::text[]) and r.status in ('approved', 'rejected')`,
      [organisation, made.map(({ id }) => id)],
    );
    return new Map(
      rows.flatMap(
        ({ id, status, lapsed, action, ended, asked, decided, state, effect, reasons, undone, overtaken }) => {
          const found = made.find((one) => one.id === id);
          if (found === undefined) return [];
          const known: Decided = {
            // A rollback by a person counts as a rejection.
            status: undone === null ? status : 'rejected',
            hasLapsed: lapsed !== null && (undone === null || lapsed > undone),
            action: action === null ? null : { endedAt: ended?.getTime() ?? null },
            isForPromise: isForPromise(found),
            overtakenAt: overtaken?.getTime() ?? null,
            ...(decided === null ? {} : { decidedAt: (undone ?? decided).getTime() }),
            ...(state === null || effect === null
              ? {}
              : {
                  asksForOther: asksForOther({ state, effect: effectFromJson(effect) }, found),
                  refusedByReading: wasRefusedByReading({
                    state,
                    askedAt: asked?.getTime() ?? null,
                    reasons: reasons ?? [],
                  }),
                }),
          };
          return [[id, known] as const];
        },
      ),
    );
  }

  /** Opens what was decided and is a new question now. */
  private async reopen(tx: Transaction, organisation: string, made: readonly Recommendation[]): Promise<void> {
    const all = await this.decided(tx, organisation, made);
    const again = made.filter((found) => {
      const decided = all.get(found.id);
      return decided !== undefined && opensAgain(decided, newestEvidence(found));
    });
    if (again.length === 0) return;
    await tx.query(
      `update recommendation set status = 'open', decided_at = null, decided_by = null, lapsed_at = null, obstacle = null, obstacles = null where organisation = $1 and id = any($2::text[])`,
      [organisation, again.map(({ id }) => id)],
    );
  }

  /** Saves the obstacles of each, or none. */
  async saveObstacles(
    tx: Transaction,
    organisation: string,
    found: ReadonlyMap<string, readonly Reason[]>,
  ): Promise<void> {
    if (found.size === 0) return;
    const all = [...found].map(([id, obstacles]) => ({ id, first: obstacles[0], obstacles }));
    const json = (isThere: boolean, value: unknown): string | null => (isThere ? JSON.stringify(value) : null);
    await tx.query(
      `update recommendation r set obstacle = o.first, obstacles = o.obstacles
       from unnest($2::text[], $3::jsonb[], $4::jsonb[]) as o(id, first, obstacles)
       where r.organisation = $1 and r.id = o.id and r.status in ('open', 'observed', 'approved')`,
      [
        organisation,
        all.map(({ id }) => id),
        all.map(({ first }) => json(first !== undefined, first)),
        all.map(({ first, obstacles }) => json(first !== undefined, obstacles)),
      ],
    );
  }

  /**
   * Decides one that is open, or changes the decision, because its action was decided. A closed one stays unchanged.
   */
  async follow(
    tx: Transaction,
    organisation: string,
    id: string,
    decision: 'approved' | 'rejected',
    by: string,
    now: number,
  ): Promise<void> {
    await tx.query(
      `update recommendation set status = $3, decided_at = $4, decided_by = $5 where organisation = $1 and id = $2 and status in ('open', 'approved')`,
      [organisation, id, decision, new Date(now), by],
    );
  }

  /**
   * Takes a policy's approval back with the action that it withdrew: open while it is proposed, otherwise superseded by
   * the look that dropped it.
   */
  async release(tx: Transaction, organisation: string, id: string): Promise<void> {
    await tx.query(
      `update recommendation set status = case when lapsed_at is null then 'open' else 'superseded' end, decided_at = null, decided_by = null, lapsed_at = null
       where organisation = $1 and id = $2 and status = 'approved'`,
      [organisation, id],
    );
  }

  /** The present proposals about a target, newest first. */
  async ofTarget(
    db: Queryable,
    organisation: string,
    target: string,
  ): Promise<{ readonly team: string; readonly policy: string }[]> {
    return db.query<{ team: string; policy: string }>(
      `select team, policy from recommendation where organisation = $1 and target = $2
         and status in ('open', 'observed', 'approved', 'rejected') order by made_at desc, id limit 10`,
      [organisation, target],
    );
  }

  /** Those of the ids that are open. */
  async openAmong(tx: Transaction, organisation: string, ids: readonly string[]): Promise<Set<string>> {
    const rows = await tx.query<{ id: string }>(
      `select id from recommendation where organisation = $1 and id = any($2::text[]) and status = 'open'`,
      [organisation, ids],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** What recommendations would save, by their ids. */
  async savesOf(
    organisation: string,
    ids: readonly string[],
    db: Queryable = this.db,
  ): Promise<Map<string, ExpectedSaving>> {
    const rows = await db.query<{ id: string; body: Recommendation }>(
      `select id, body from recommendation where organisation = $1 and id = any($2::text[])`,
      [organisation, ids],
    );
    return new Map(
      rows.map(({ id, body }) => [
        id,
        {
          estimatedMonthlySavings: body.estimatedMonthlySavings,
          estimatedMonthlySavingsLow: body.estimatedMonthlySavingsLow,
          estimatedMonthlySavingsHigh: body.estimatedMonthlySavingsHigh,
          currency: body.currency,
          protective: body.protective,
        },
      ]),
    );
  }

  async list(
    organisation: string,
    filter: { team?: string | null; status?: RecommendationStatus | null; teams?: readonly string[] | null },
    after: string | null,
    limit: number,
    db: Queryable = this.db,
  ): Promise<StoredRecommendation[]> {
    const rows = await db.query<Row>(
      `select ${COLUMNS} from recommendation
       where organisation = $1 and ($2::text is null or team = $2) and ($3::text is null or status = $3) and ($4::text[] is null or team = any($4::text[]))
         and ($5::text is null or id > $5)
       order by id limit $6`,
      [organisation, filter.team ?? null, filter.status ?? null, filter.teams ?? null, after, limit],
    );
    return rows.map(storedOf);
  }

  /** @throws Failure missing, or conflict if it was decided before or is no longer open. */
  async decide(
    tx: Transaction,
    organisation: string,
    id: string,
    decision: 'approved' | 'rejected',
    by: string,
    now: number,
  ): Promise<StoredRecommendation> {
    const [row] = await tx.query<Row>(
      `select ${COLUMNS} from recommendation where organisation = $1 and id = $2 for update`,
      [organisation, id],
    );
    if (row === undefined) throw missing(`recommendation ${id} does not exist`);
    if (row.status !== 'open') throw conflict(`recommendation ${id} is ${row.status}, not open`);
    if (decision === 'approved' && Date.parse(row.body.expiresAt) <= now)
      throw conflict(`recommendation ${id} has expired: its evidence is too old to act on`);
    await tx.query(
      `update recommendation set status = $3, decided_at = $4, decided_by = $5 where organisation = $1 and id = $2`,
      [organisation, id, decision, new Date(now), by],
    );
    return { ...storedOf(row), status: decision, decidedBy: by };
  }

  /** Closes those that are past their date, of all organisations. If it is proposed again later, it is open again. */
  async close(db: Queryable, now: number): Promise<void> {
    await db.query(
      `update recommendation set status = 'expired', decided_at = $1 where status in ('open', 'observed') and expires_at <= $1`,
      [new Date(now)],
    );
  }

  async get(organisation: string, id: string, db: Queryable = this.db): Promise<StoredRecommendation | null> {
    const [row] = await db.query<Row>(`select ${COLUMNS} from recommendation where organisation = $1 and id = $2`, [
      organisation,
      id,
    ]);
    return row === undefined ? null : storedOf(row);
  }
}

/** A recommendation that was kept before it had to say what its target costs does not say it. */
const BEFORE_COSTS = { estimatedMonthlyCost: null, estimatedSavingsPercentage: null } as const;

function storedOf(row: Row): StoredRecommendation {
  return {
    ...BEFORE_COSTS,
    ...row.body,
    status: row.status,
    madeAt: row.made_at.toISOString(),
    decidedBy: row.decided_by,
    actionId: row.action_id,
    actionState: row.action_state,
    obstacle: row.obstacle,
    obstacles: row.obstacles ?? (row.obstacle === null ? [] : [row.obstacle]),
  };
}
