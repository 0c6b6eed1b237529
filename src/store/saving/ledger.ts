/**
 * The savings ledger for people and callers: entries with their totals, and an entry's hours with the lines and links
 * behind them.
 *
 * Reads only. Amounts are decimal strings; an unknown value is null, and an unverifiable entry has its reason.
 */
import type { EffectJson } from '../../core/action/action.js';
import { missing } from '../../core/errors.js';
import type { EffectKind } from '../../core/fleet/fleet.js';
import { formatMoney } from '../../core/money.js';
import type { JudgedHour, LedgerEntry, LedgerState } from '../../core/saving/saving.js';
import type { Queryable } from '../database.js';
import { hourOf, type CounterfactualJson, type HourRow } from './savings.js';

export interface SavingFilter {
  readonly team?: string | null | undefined;
  /** Only of these; null: all. */
  readonly teams?: readonly string[] | null;
  readonly policy?: string | null | undefined;
  readonly state?: LedgerState | null | undefined;
  /** Applied within [from, to), epoch milliseconds. */
  readonly from?: number | null;
  readonly to?: number | null;
}

/** An entry for people and callers. Amounts are decimal strings. */
export interface StoredSaving {
  readonly action: string;
  readonly team: string;
  readonly target: string;
  readonly effectKind: EffectKind;
  readonly policy: string | null;
  readonly policyVersion: number | null;
  readonly recommendation: string | null;
  readonly state: LedgerState;
  readonly reason: string | null;
  readonly currency: string;
  readonly from: string;
  readonly until: string;
  readonly isOver: boolean;
  /** Its action was taken back: what it was expected to save a month does not come any more. */
  readonly rolledBack: boolean;
  readonly counterfactualCost: string;
  readonly actualCost: string;
  readonly saved: string;
  readonly measured: string;
  readonly verified: string;
  readonly predicted: string | null;
  readonly estimatedMonthlySavings: string | null;
  readonly estimatedMonthlySavingsLow: string | null;
  readonly estimatedMonthlySavingsHigh: string | null;
  readonly claimedSeconds: number;
  readonly hours: LedgerEntry['hours'];
  readonly reasons: LedgerEntry['reasons'];
  readonly checkedAt: string;
  readonly place: string;
}

export interface SavingDetail extends StoredSaving {
  readonly effect: EffectJson;
  readonly counterfactual: {
    readonly world: unknown;
    readonly group: string | null;
    readonly once: boolean;
    readonly estimate: CounterfactualJson['estimate'];
  };
  /** Actions that share the saving, in the order in which they were applied. */
  readonly sharedWith: readonly string[];
}

export interface SavingAmount {
  readonly currency: string;
  readonly amount: string;
}

/** Counts are of entries by their state; amounts are of hours by theirs, so that nothing is in two of them. */
export interface SavingTotals {
  readonly estimated: {
    readonly count: number;
    /** Entries without an estimate; they are in no sum. */
    readonly unknown: number;
    /** Entries whose action was rolled back before any hour was measured; they are in no sum either. */
    readonly rolledBack: number;
    readonly monthly: readonly SavingAmount[];
    /** Sums of the ends of the intervals. The sum of the savings lies between them however they hang together. */
    readonly monthlyLow: readonly SavingAmount[];
    readonly monthlyHigh: readonly SavingAmount[];
  };
  readonly measured: { readonly count: number; readonly saved: readonly SavingAmount[] };
  readonly verified: { readonly count: number; readonly saved: readonly SavingAmount[] };
  readonly unverifiable: {
    readonly count: number;
    readonly reasons: readonly { readonly reason: string; readonly count: number }[];
  };
}

interface StoredLine {
  readonly no: number;
  readonly recordedAt: string;
  readonly state: JudgedHour['state'];
  readonly reason: string | null;
  readonly counterfactual: string;
  readonly actual: string;
  /** Its inputs: record names and their digest, and prices. */
  readonly links: Readonly<Record<string, unknown>>;
}

export interface StoredHour {
  readonly hour: string;
  readonly state: JudgedHour['state'];
  readonly reason: string | null;
  readonly currency: string;
  readonly claimedSeconds: number;
  readonly counterfactual: string;
  readonly actual: string;
  readonly saved: string;
  /** The first line and its corrections: their sum is the hour. */
  readonly lines: readonly (StoredLine & { readonly saved: string })[];
}

interface EntryRow {
  action: string;
  team: string;
  chain: string;
  state: LedgerState;
  reason: string | null;
  currency: string;
  from_at: Date;
  until_at: Date;
  is_over: boolean;
  rolled_back: boolean;
  checked_at: Date;
  counterfactual: string;
  actual: string;
  measured: string;
  verified: string;
  predicted: string | null;
  claimed_ms: string;
  hours: LedgerEntry['hours'];
  reasons: LedgerEntry['reasons'];
  spec: CounterfactualJson;
  promised: CounterfactualJson['estimate'];
}

interface TotalRow {
  state: LedgerState;
  currency: string;
  reason: string | null;
  count: number;
  measured: string;
  verified: string;
  monthly: string | null;
  monthly_low: string | null;
  monthly_high: string | null;
  unknown: number;
  rolled_back: number;
}

const ENTRIES = `
select s.action, s.team, c.chain, s.state, s.reason, c.currency, s.from_at, c.until_at, s.is_over, s.checked_at, s.counterfactual_nanos::text as counterfactual, s.actual_nanos::text as actual,
  s.measured_nanos::text as measured, s.verified_nanos::text as verified, s.predicted_nanos::text as predicted, s.claimed_ms::text as claimed_ms, s.hours, s.reasons, c.spec,
  coalesce(c.spec -> 'promised', c.spec -> 'estimate') as promised,
  exists (select 1 from action a where a.organisation = s.organisation and a.id = s.action and a.state = 'rolled-back') as rolled_back
from saving s join counterfactual c on c.organisation = s.organisation and c.team = s.team and c.action = s.action
where s.organisation = $1 and ($2::text[] is null or s.team = any($2::text[])) and ($3::text is null or c.policy = $3) and ($4::text is null or s.state = $4)
  and ($5::timestamptz is null or s.from_at >= $5) and ($6::timestamptz is null or s.from_at < $6)`;

export class SavingLedger {
  constructor(private readonly db: Queryable) {}

  /** A page of entries, newest action first; `place` of the last one leads on. */
  async list(
    organisation: string,
    filter: SavingFilter,
    after: string | null,
    limit: number,
    db: Queryable = this.db,
  ): Promise<StoredSaving[]> {
    const [at, action] = after?.split(' ') ?? [];
    const rows = await db.query<EntryRow>(
      `${ENTRIES} and ($7::timestamptz is null or (s.from_at, s.action) < ($7, $8)) order by s.from_at desc, s.action desc limit $9`,
      [organisation, ...valuesOf(filter), at ?? null, action ?? null, limit],
    );
    return rows.map(storedOf);
  }

  /** The totals of all entries of a filter. */
  async totals(organisation: string, filter: SavingFilter): Promise<SavingTotals> {
    const rows = await this.db.query<TotalRow>(
      `select state, currency, case when state = 'unverifiable' then reason end as reason, count(*)::int as count,
         sum(measured::numeric)::text as measured, sum(verified::numeric)::text as verified,
         (sum((promised ->> 'mean')::numeric) filter (where not rolled_back))::text as monthly,
         case when bool_and(promised ->> 'low' <> promised ->> 'high') filter (where not rolled_back)
           then (sum((promised ->> 'low')::numeric) filter (where not rolled_back))::text end as monthly_low,
         case when bool_and(promised ->> 'low' <> promised ->> 'high') filter (where not rolled_back)
           then (sum((promised ->> 'high')::numeric) filter (where not rolled_back))::text end as monthly_high,
         (count(*) filter (where not rolled_back and promised ->> 'mean' is null))::int as unknown,
         (count(*) filter (where rolled_back))::int as rolled_back
       from (${ENTRIES}) as entry group by 1, 2, 3 order by 1, 2, 3`,
      [organisation, ...valuesOf(filter)],
    );
    return totalsOf(rows);
  }

  /** @throws Failure missing. */
  async known(organisation: string, action: string): Promise<SavingDetail> {
    const [row] = await this.db.query<EntryRow>(`${ENTRIES} and s.action = $7`, [
      organisation,
      ...valuesOf({}),
      action,
    ]);
    if (row === undefined) throw missing(`action ${action} has no entry in the savings ledger`);
    const shared = await this.db.query<{ action: string }>(
      `select action from counterfactual where organisation = $1 and team = $2 and chain = $3 and action <> $4 order by from_at, action`,
      [organisation, row.team, row.chain, action],
    );
    const { world, estimate, group, once } = row.spec;
    return {
      ...storedOf(row),
      effect: row.spec.effect,
      counterfactual: { world, group, once, estimate },
      sharedWith: shared.map((other) => other.action),
    };
  }

  /** Hours of an action with their lines, oldest first; `after` is the last hour seen, ISO 8601. */
  async hoursWithLines(
    organisation: string,
    team: string,
    action: string,
    after: string | null,
    limit: number,
  ): Promise<StoredHour[]> {
    const rows = await this.db.query<HourRow & { lines: StoredLine[]; currency: string }>(
      `select action, hour, (array_agg(state order by no desc))[1] as state, (array_agg(reason order by no desc))[1] as reason, min(currency) as currency, sum(claimed_ms)::text as claimed_ms,
         sum(counterfactual_nanos)::text as counterfactual, sum(actual_nanos)::text as actual,
         jsonb_agg(jsonb_build_object('no', no, 'recordedAt', to_char(recorded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'state', state, 'reason', reason,
           'counterfactual', counterfactual_nanos::text, 'actual', actual_nanos::text, 'links', links) order by no) as lines
       from saving_line where organisation = $1 and team = $2 and action = $3 and ($4::timestamptz is null or hour > $4) group by action, hour order by hour limit $5`,
      [organisation, team, action, after, limit],
    );
    return rows.map(({ lines, currency, ...row }) => {
      const money = (nanos: bigint): string => formatMoney({ nanos, currency });
      const hour = hourOf(row);
      return {
        hour: row.hour.toISOString(),
        state: row.state,
        reason: row.reason,
        currency,
        claimedSeconds: hour.claimedMs / 1000,
        counterfactual: money(hour.counterfactual),
        actual: money(hour.actual),
        saved: money(hour.counterfactual - hour.actual),
        lines: lines.map((line) => ({
          ...line,
          counterfactual: money(BigInt(line.counterfactual)),
          actual: money(BigInt(line.actual)),
          saved: money(BigInt(line.counterfactual) - BigInt(line.actual)),
        })),
      };
    });
  }
}

const valuesOf = ({ team, teams, policy, state, from, to }: SavingFilter): unknown[] => [
  team === undefined || team === null ? (teams ?? null) : [team],
  policy ?? null,
  state ?? null,
  from === undefined || from === null ? null : new Date(from),
  to === undefined || to === null ? null : new Date(to),
];

function storedOf(row: EntryRow): StoredSaving {
  const { currency, spec, promised } = row;
  const money = (nanos: string | null | undefined): string | null =>
    nanos === null || nanos === undefined ? null : formatMoney({ nanos: BigInt(nanos), currency });
  const known = (nanos: bigint): string => formatMoney({ nanos, currency });
  const [measured, verified] = [BigInt(row.measured), BigInt(row.verified)];
  // An interval without a width is one that nobody stated: an estimate is never certain.
  const hasEnds = promised?.low !== promised?.high;
  return {
    action: row.action,
    team: row.team,
    target: spec.target,
    effectKind: spec.effect.kind,
    policy: spec.policy,
    policyVersion: spec.policyVersion,
    recommendation: spec.recommendation,
    state: row.state,
    reason: row.reason,
    currency,
    from: row.from_at.toISOString(),
    until: row.until_at.toISOString(),
    isOver: row.is_over,
    rolledBack: row.rolled_back,
    counterfactualCost: known(BigInt(row.counterfactual)),
    actualCost: known(BigInt(row.actual)),
    saved: known(measured + verified),
    measured: known(measured),
    verified: known(verified),
    predicted: money(row.predicted),
    estimatedMonthlySavings: money(promised?.mean),
    estimatedMonthlySavingsLow: money(hasEnds ? promised?.low : null),
    estimatedMonthlySavingsHigh: money(hasEnds ? promised?.high : null),
    claimedSeconds: Number(row.claimed_ms) / 1000,
    hours: row.hours,
    reasons: row.reasons,
    checkedAt: row.checked_at.toISOString(),
    place: `${row.from_at.toISOString()} ${row.action}`,
  };
}

function totalsOf(rows: readonly TotalRow[]): SavingTotals {
  const sums = (of: readonly TotalRow[], amountOf: (row: TotalRow) => string | null): SavingAmount[] => {
    const byCurrency = new Map<string, bigint>();
    for (const row of of) {
      const nanos = amountOf(row);
      if (nanos !== null) byCurrency.set(row.currency, (byCurrency.get(row.currency) ?? 0n) + BigInt(nanos));
    }
    return [...byCurrency].map(([currency, nanos]) => ({ currency, amount: formatMoney({ nanos, currency }) }));
  };
  const rowsIn = (state: LedgerState): TotalRow[] => rows.filter((row) => row.state === state);
  const count = (state: LedgerState): number => rowsIn(state).reduce((sum, row) => sum + row.count, 0);
  const proven = [...rowsIn('measured'), ...rowsIn('verified')];
  const estimated = rowsIn('estimated');
  // A sum of ends of which one is unknown would be too narrow.
  const unknownEnds = new Set(
    estimated.flatMap((row) => (row.monthly !== null && row.monthly_low === null ? row.currency : [])),
  );
  const withEnds = estimated.filter(({ currency }) => !unknownEnds.has(currency));
  return {
    estimated: {
      count: count('estimated'),
      unknown: estimated.reduce((sum, row) => sum + row.unknown, 0),
      rolledBack: estimated.reduce((sum, row) => sum + row.rolled_back, 0),
      monthly: sums(estimated, (row) => row.monthly),
      monthlyLow: sums(withEnds, (row) => row.monthly_low),
      monthlyHigh: sums(withEnds, (row) => row.monthly_high),
    },
    measured: { count: count('measured'), saved: sums(proven, ({ measured }) => measured) },
    verified: { count: count('verified'), saved: sums(proven, ({ verified }) => verified) },
    unverifiable: {
      count: count('unverifiable'),
      reasons: rowsIn('unverifiable').map(({ reason, count: n }) => ({ reason: reason ?? '', count: n })),
    },
  };
}
