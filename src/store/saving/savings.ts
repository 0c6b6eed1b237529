/**
 * The savings ledger in the database: counterfactuals, lines, and the summary of each entry.
 *
 * A counterfactual is written once; a line is added and never changed; an hour is the sum of its lines. The summary
 * (`saving`) is derived, and written in the same transaction. A writer holds the chain (`chain`), so that two never add
 * the same difference. It computes nothing.
 */
import { createHash } from 'node:crypto';
import { effectFromJson, effectToJson, type EffectJson } from '../../core/action/action.js';
import type { AppliedEffect, HourSaving, Member, PriceUsed } from '../../core/saving/attribution.js';
import { calibrationKey, calibrationOf, estimateBefore, type CalibrationCase } from '../../core/policy/calibration.js';
import type { Calibrations } from '../../core/policy/view.js';
import {
  chainOf,
  counterfactualOf,
  type ActionFacts,
  type Counterfactual,
  type Holding,
  type RecommendedSaving,
  type World,
} from '../../core/saving/counterfactual.js';
import { parseDecimal } from '../../core/decimal.js';
import type { FleetTarget } from '../../core/fleet/fleet.js';
import { nanosOf, type Money } from '../../core/money.js';
import type { SavingsEstimate } from '../../core/policy/policy.js';
import type { Recommendation } from '../../core/policy/recommendation.js';
import type { JudgedHour, LedgerEntry } from '../../core/saving/saving.js';
import type { Queryable, Transaction } from '../database.js';
import { DAY_MS } from '../../core/time.js';

interface ActionRow {
  id: string;
  team: string;
  connection: string;
  target: string;
  effect: EffectJson;
  rollback_of: string | null;
  recommendation: string | null;
  policy: string | null;
  before: FleetTarget | null;
  applied_at: Date;
  confirmed_at: Date | null;
  taken_back_at: Date | null;
  body: Recommendation | null;
}

export interface HourRow {
  action: string;
  hour: Date;
  state: JudgedHour['state'];
  reason: string | null;
  claimed_ms: string;
  counterfactual: string;
  actual: string;
}

/** A counterfactual as JSON holds it: amounts are decimal strings of nanos. */
export type CounterfactualJson = Omit<Counterfactual, 'effect' | 'estimate' | 'promised' | 'world'> & {
  readonly effect: EffectJson;
  readonly world: unknown;
  readonly estimate: EstimateJson | null;
  /** Absent: it was written down before both were kept. */
  readonly promised?: EstimateJson | null;
};

interface EstimateJson {
  readonly mean: string;
  readonly low: string;
  readonly high: string;
}

/** Actions that share their savings, and every effect that reached their targets. */
export interface Chain {
  readonly members: readonly Member[];
  readonly effects: readonly AppliedEffect[];
}

/** A line to be written; one that only reverses another has no evidence of its own. */
export type NewLine = JudgedHour & Partial<Pick<HourSaving, 'lines' | 'prices'>>;

/** Record names that a line lists; the digest is over all of them. */
const MOST_LISTED = 20;
/** Time that a case must have been measured for, to say something about its policy. */
const LEAST_CASE_MS = DAY_MS;

const APPLIED = `
select a.id, a.team, a.connection, a.target, a.effect, a.rollback_of, a.recommendation, a.policy, a.before, a.applied_at, a.confirmed_at, r.applied_at as taken_back_at, rec.body
from action a left join action r on r.organisation = a.organisation and r.id = a.taken_back_by
left join recommendation rec on rec.organisation = a.organisation and rec.id = a.recommendation
where a.organisation = $1 and a.team = $2 and a.applied_at is not null`;

export class SavingStore {
  /** Applied actions of a team by id. */
  async facts(db: Queryable, organisation: string, team: string, ids: readonly string[]): Promise<ActionFacts[]> {
    return (
      await db.query<ActionRow>(`${APPLIED} and a.id = any($3::text[]) order by a.id`, [organisation, team, ids])
    ).map(factsOf);
  }

  /** Saves the counterfactuals of actions that have none yet. Never changes an existing one. */
  async open(
    tx: Transaction,
    organisation: string,
    facts: readonly ActionFacts[],
    currency: string,
    now: number,
  ): Promise<void> {
    for (const one of facts.map((each) => counterfactualOf(each, currency))) {
      await tx.query(
        `insert into counterfactual (organisation, team, action, chain, connection, target, from_at, until_at, policy, policy_version, recommendation, currency, spec, written_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) on conflict (organisation, team, action) do nothing`,
        [
          organisation,
          one.team,
          one.action,
          chainOf(one),
          one.connection,
          one.target,
          new Date(one.from),
          new Date(one.until),
          one.policy,
          one.policyVersion,
          one.recommendation,
          one.currency,
          JSON.stringify(jsonOf(one)),
          new Date(now),
        ],
      );
    }
  }

  /** Names of the chains that some actions are in. */
  async chainsOf(db: Queryable, organisation: string, team: string, actions: readonly string[]): Promise<string[]> {
    const rows = await db.query<{ chain: string }>(
      `select distinct chain from counterfactual where organisation = $1 and team = $2 and action = any($3::text[]) order by chain`,
      [organisation, team, actions],
    );
    return rows.map(({ chain }) => chain);
  }

  /**
   * The actions that share their savings, held until the transaction ends, and every effect that reached their targets.
   */
  async chain(tx: Transaction, organisation: string, team: string, chain: string): Promise<Chain> {
    const rows = await tx.query<{ action: string; spec: CounterfactualJson }>(
      `select action, spec from counterfactual where organisation = $1 and team = $2 and chain = $3 order by action for update`,
      [organisation, team, chain],
    );
    const known = rows.map(({ spec }) => counterfactualFrom(spec));
    const facts = await tx.query<ActionRow>(`${APPLIED} and a.connection = $3 and a.target = any($4::text[])`, [
      organisation,
      team,
      known[0]?.connection ?? '',
      known.map(({ target }) => target),
    ]);
    const byId = new Map(facts.map((row) => [row.id, row]));
    return {
      members: known.map((counterfactual) => {
        const row = byId.get(counterfactual.action);
        return {
          counterfactual,
          confirmedAt: row?.confirmed_at?.getTime() ?? null,
          takenBackAt: row?.taken_back_at?.getTime() ?? null,
        };
      }),
      effects: facts.map((row) => ({
        action: row.id,
        target: row.target,
        effect: effectFromJson(row.effect),
        appliedAt: row.applied_at.getTime(),
      })),
    };
  }

  /** The hours of some actions as their lines sum them, withdrawn ones too. */
  async hours(db: Queryable, organisation: string, team: string, actions: readonly string[]): Promise<JudgedHour[]> {
    const rows = await db.query<HourRow>(
      `select action, hour, (array_agg(state order by no desc))[1] as state, (array_agg(reason order by no desc))[1] as reason, sum(claimed_ms)::text as claimed_ms,
         sum(counterfactual_nanos)::text as counterfactual, sum(actual_nanos)::text as actual
       from saving_line where organisation = $1 and team = $2 and action = any($3::text[]) group by action, hour order by action, hour`,
      [organisation, team, actions],
    );
    return rows.map(hourOf);
  }

  /** Adds lines. The chain is held by the caller. */
  async append(
    tx: Transaction,
    organisation: string,
    team: string,
    about: readonly Counterfactual[],
    lines: readonly NewLine[],
    now: number,
  ): Promise<void> {
    if (lines.length === 0) return;
    const currencies = new Map(about.map(({ action, currency }) => [action, currency]));
    await tx.query(
      `insert into saving_line (organisation, team, action, hour, no, recorded_at, state, reason, currency, claimed_ms, counterfactual_nanos, actual_nanos, links)
       select $1, $2, n.action, n.hour, coalesce((select max(l.no) from saving_line l where l.organisation = $1 and l.team = $2 and l.action = n.action and l.hour = n.hour), 0) + 1,
         $3, n.state, n.reason, n.currency, n.claimed_ms, n.counterfactual, n.actual, n.links
       from unnest($4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::numeric[], $11::numeric[], $12::jsonb[])
         as n(action, hour, state, reason, currency, claimed_ms, counterfactual, actual, links)`,
      [
        organisation,
        team,
        new Date(now),
        lines.map(({ action }) => action),
        lines.map(({ hour }) => new Date(hour)),
        lines.map(({ state }) => state),
        lines.map(({ reason }) => reason),
        lines.map(({ action }) => currencies.get(action)),
        lines.map(({ claimedMs }) => claimedMs),
        lines.map(({ counterfactual }) => String(counterfactual)),
        lines.map(({ actual }) => String(actual)),
        lines.map((line) => JSON.stringify(linksOf(line))),
      ],
    );
  }

  async saveEntry(
    tx: Transaction,
    organisation: string,
    { team, action, from }: Counterfactual,
    entry: LedgerEntry,
    isOver: boolean,
    now: number,
  ): Promise<void> {
    await tx.query(
      `insert into saving (organisation, team, action, from_at, state, reason, counterfactual_nanos, actual_nanos, measured_nanos, verified_nanos, predicted_nanos, claimed_ms, hours, reasons, is_over, checked_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
       on conflict (organisation, team, action) do update set state = excluded.state, reason = excluded.reason, counterfactual_nanos = excluded.counterfactual_nanos,
         actual_nanos = excluded.actual_nanos, measured_nanos = excluded.measured_nanos, verified_nanos = excluded.verified_nanos, predicted_nanos = excluded.predicted_nanos,
         claimed_ms = excluded.claimed_ms, hours = excluded.hours, reasons = excluded.reasons, is_over = excluded.is_over, checked_at = excluded.checked_at`,
      [
        organisation,
        team,
        action,
        new Date(from),
        entry.state,
        entry.reason,
        String(entry.counterfactual),
        String(entry.actual),
        String(entry.measured),
        String(entry.verified),
        entry.predicted === null ? null : String(entry.predicted),
        entry.claimedMs,
        JSON.stringify(entry.hours),
        JSON.stringify(entry.reasons),
        isOver,
        new Date(now),
      ],
    );
  }

  /**
   * Actions of a team whose hours lie in, or whose targets were last seen in, some UTC days: what late usage, a price
   * or a bill verifies again.
   */
  async touching(db: Queryable, organisation: string, team: string, days: readonly string[]): Promise<string[]> {
    const rows = await db.query<{ action: string }>(
      `select distinct c.action from counterfactual c join unnest($3::date[]) as day on c.from_at < (day + 2)::timestamp at time zone 'UTC' and c.until_at >= day::timestamp at time zone 'UTC'
       where c.organisation = $1 and c.team = $2 order by c.action`,
      [organisation, team, days],
    );
    return rows.map(({ action }) => action);
  }

  /**
   * The policies' realised savings compared with their predictions, from measured actions of the whole organisation.
   */
  async calibrations(db: Queryable, organisation: string): Promise<Calibrations> {
    const rows = await db.query<{ policy: string; version: number; predicted: string; realised: string }>(
      `select c.policy, c.policy_version as version, s.predicted_nanos::text as predicted, (s.measured_nanos + s.verified_nanos)::text as realised
       from saving s join counterfactual c on c.organisation = s.organisation and c.team = s.team and c.action = s.action
       where s.organisation = $1 and s.predicted_nanos > 0 and s.state in ('measured', 'verified') and c.policy is not null and c.policy_version is not null and (s.is_over or s.claimed_ms >= $2)
       order by s.team, s.action`,
      [organisation, LEAST_CASE_MS],
    );
    const cases = new Map<string, CalibrationCase[]>();
    for (const { policy, version, predicted, realised } of rows) {
      const key = calibrationKey({ name: policy, version });
      const list = cases.get(key) ?? [];
      list.push({ predicted: BigInt(predicted), realised: BigInt(realised) });
      cases.set(key, list);
    }
    return Object.fromEntries(
      [...cases].flatMap(([key, list]) => {
        const calibration = calibrationOf(list);
        return calibration === null ? [] : [[key, calibration]];
      }),
    );
  }
}

export const hourOf = (row: HourRow): JudgedHour => ({
  action: row.action,
  hour: row.hour.getTime(),
  state: row.state,
  reason: row.reason,
  claimedMs: Number(row.claimed_ms),
  counterfactual: BigInt(row.counterfactual),
  actual: BigInt(row.actual),
});

function linksOf({ lines = [], prices = [] }: NewLine): unknown {
  return {
    records: lines.length,
    digest: lines.length === 0 ? null : createHash('sha256').update(lines.toSorted().join('\n')).digest('hex'),
    lines: lines.toSorted().slice(0, MOST_LISTED),
    prices: [...new Map(prices.map(priceLink).map((link) => [JSON.stringify(link), link])).values()],
  };
}

const priceLink = ({ source, effectiveFrom, nanos, quantity, currency }: PriceUsed) => ({
  source,
  effectiveFrom: new Date(effectiveFrom).toISOString(),
  nanos: String(nanos),
  gpuSeconds: String(quantity),
  currency,
});

function factsOf(row: ActionRow): ActionFacts {
  const { id, team, connection, target, rollback_of: rollbackOf, recommendation, policy, before } = row;
  return {
    action: { id, team, connection, target, effect: effectFromJson(row.effect), rollbackOf, recommendation, policy },
    before,
    appliedAt: row.applied_at.getTime(),
    confirmedAt: row.confirmed_at?.getTime() ?? null,
    takenBackAt: row.taken_back_at?.getTime() ?? null,
    recommended: row.body === null ? null : recommendedOf(row.body),
  };
}

/** The saving that a recommendation promised, as its policy estimated it. */
function recommendedOf({
  action,
  change,
  policyVersion,
  currency,
  computation,
  place = null,
  savingRecurs = 'monthly',
  ...amounts
}: Recommendation): RecommendedSaving {
  const [mean, low, high] = [
    amounts.estimatedMonthlySavingsNanos,
    amounts.estimatedMonthlySavingsLow,
    amounts.estimatedMonthlySavingsHigh,
  ];
  const now: SavingsEstimate | null =
    mean === null
      ? null
      : { mean: BigInt(mean), low: nanosFrom(low) ?? BigInt(mean), high: nanosFrom(high) ?? BigInt(mean) };
  return {
    action,
    change,
    policyVersion,
    currency,
    monthly: estimateBefore(computation, now),
    promised: now,
    once: savingRecurs === 'once',
    place,
  };
}

function nanosFrom(text: string | null): bigint | null {
  const decimal = text === null ? null : parseDecimal(text);
  return decimal === null ? null : nanosOf(decimal);
}

function jsonOf({ effect, ...rest }: Counterfactual): unknown {
  return JSON.parse(
    JSON.stringify({ ...rest, effect: effectToJson(effect) }, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value,
    ),
  );
}

function counterfactualFrom({ effect, estimate, world, ...rest }: CounterfactualJson): Counterfactual {
  return {
    ...rest,
    effect: effectFromJson(effect),
    world: worldFrom(world as World | ShiftedAlone),
    estimate: estimateFrom(estimate),
    promised: estimateFrom(rest.promised ?? estimate),
  };
}

const estimateFrom = (estimate: EstimateJson | null): SavingsEstimate | null =>
  estimate === null ? null : { mean: BigInt(estimate.mean), low: BigInt(estimate.low), high: BigInt(estimate.high) };

const moneyFrom = ({ nanos, currency }: Money): Money => ({ nanos: BigInt(nanos), currency });

/** As it was written down before groups were shifted. */
type ShiftedAlone = { readonly kind: 'shifted'; readonly holding: Holding };

function worldFrom(world: World | ShiftedAlone): World {
  if (world.kind === 'shifted' && 'holding' in world) return { kind: 'shifted', holdings: [world.holding] };
  if (world.kind === 'plan') return { ...world, hourly: moneyFrom(world.hourly), paid: moneyFrom(world.paid) };
  if (world.kind === 'moved') return { ...world, egress: moneyFrom(world.egress) };
  return world.kind === 'commitment' ? { ...world, paid: moneyFrom(world.paid) } : world;
}
