/**
 * Usage that may count twice: metered usage without an account while several accounts of its provider are billed for
 * the hour, or usage of an account that the bills of several payers name as a sub-account. It keeps its accrual, and
 * any of the bills may state it again.
 *
 * Reads only. The view hour_line contains the rule of which bill covers it; this file lists the cases that the rule
 * left open, so that nobody takes such a sum for exact.
 */
import { UNALLOCATED } from '../../core/cost/allocation.js';
import type { Basis } from '../../core/cost/spend-query.js';
import { DAY_MS, formatDay, formatInstant } from '../../core/time.js';
import type { Queryable } from '../database.js';
import { aboutOf } from '../bill/reconciliation.js';

/** Accruals of one provider and currency that may be in a bill as well. */
export interface Doubt {
  readonly provider: string;
  /** Decimal string. */
  readonly cost: string;
  readonly currency: string;
  /** UTC days, first and last. */
  readonly from: string;
  readonly to: string;
  /** The accounts whose bills it may be in. */
  readonly accounts: readonly string[];
}

export interface DoubtQuery {
  /** Inclusive and exclusive UTC days; null: no end. */
  readonly from: string | null;
  readonly to: string | null;
  /** Null: all. */
  readonly teams: readonly string[] | null;
}

const ABOUT = aboutOf('v');

/** Providers with usage of which it cannot be told whose bill it meets: nothing else can be in doubt. */
const CANDIDATES = `
select v.provider, array_agg(distinct coalesce(v.account, '') order by coalesce(v.account, '')) as accounts, min(${ABOUT.from}) as since, max(${ABOUT.until}) as until
from delivery v
where v.organisation = $1 and v.scope is not null and exists (
  select 1 from bill_claim b where b.organisation = v.organisation and b.provider = v.provider and b.bill is null)
group by v.provider having count(distinct coalesce(v.account, '')) > 1`;

/** The lines are summed apart: a Citus cluster joins their view with nothing. */
const DOUBTFUL = `
with lines as materialized (
  select l.organisation, l.dimension, l.currency, sum(l.doubtful) as doubtful, min(l.hour) as since, max(l.hour) as until from hour_line l
  where l.organisation = $1 and l.hour >= $3 and l.hour < $4 and ($5::text[] is null or l.team = any($5::text[])) and l.doubtful <> 0
  group by 1, 2, 3
)
select d.provider, l.currency, trim_scale(sum(l.doubtful))::text as cost, to_char(min(l.since) at time zone 'UTC', 'YYYY-MM-DD') as "from", to_char(max(l.until) at time zone 'UTC', 'YYYY-MM-DD') as "to"
from lines l join dimension d on d.organisation = l.organisation and d.id = l.dimension
where d.provider = any($2::text[])
group by 1, 2 order by 1, 2`;

export async function doubtsOf(db: Queryable, organisation: string, { from, to, teams }: DoubtQuery): Promise<Doubt[]> {
  const candidates = await db.query<{ provider: string; accounts: string[]; since: Date; until: Date }>(CANDIDATES, [
    organisation,
  ]);
  if (candidates.length === 0) return [];
  const times = candidates.map(({ since, until }) => [since.getTime(), until.getTime()] as const);
  const start = Math.max(Math.min(...times.map(([since]) => since)), from === null ? -Infinity : Date.parse(from));
  const end = Math.min(Math.max(...times.map(([, until]) => until)), to === null ? Infinity : Date.parse(to));
  if (end <= start) return [];
  const rows = await db.query<Omit<Doubt, 'accounts'>>(DOUBTFUL, [
    organisation,
    candidates.map(({ provider }) => provider),
    new Date(start),
    new Date(end),
    teams,
  ]);
  return rows.map((row) => ({
    ...row,
    accounts: candidates.find(({ provider }) => provider === row.provider)?.accounts ?? [],
  }));
}

/** A doubt, as a sentence for people. */
export function sayDoubt({ provider, cost, currency, from, to, accounts }: Doubt): string {
  const names = accounts.map((account) => (account === '' ? 'no account' : account)).join(', ');
  return (
    `${cost} ${currency} of metered usage of ${provider} from ${from} to ${to} may be counted twice: ` +
    `bills of several accounts (${names}) cover its hours, and it cannot be told which has them`
  );
}

/** What to do about it. */
export const REMEDY =
  'let the meter name the account or the sub-account (of a connection: its ACCOUNT setting), and send the usage again';

/** Work that sums of the days asked about wait for: days of teams, and what is of no single day. */
export interface Pending {
  readonly days: number;
  readonly allocations: number;
  /** The part of all of it that continues only once its error is fixed. */
  readonly parked: number;
}

/** Of days: their usage is to be priced, or summed. Of none: it is to be given to teams. */
const OF_DAYS = ['cost.price', 'cost.rollup'];
const OF_NONE = ['usage.allocate', 'cost.share'];

/** Work that waits longer has a time of its own, as when a bill becomes final. */
const SOON_MS = 60_000;

/** Days of a zone lie in those of UTC beside them. */
const shiftDay = (day: string | null, days: number): string | null =>
  day === null ? null : formatDay(Date.parse(day) / DAY_MS + days);

async function pendingWork(db: Queryable, organisation: string, query: DoubtQuery, now: number): Promise<Pending> {
  const [found] = await db.query<Pending>(
    `select count(distinct key) filter (where stage = any($2::text[]))::int as days,
       count(*) filter (where stage = any($3::text[]))::int as allocations, count(parked_at)::int as parked
     from work where organisation = $1 and done < wanted and not_before <= $7 and (stage = any($3::text[]) or stage = any($2::text[])
       and ($4::text is null or right(key, 10) >= $4) and ($5::text is null or right(key, 10) < $5)
       and ($6::text[] is null or lane = any($6::text[]) or lane = $8 and exists (select 1 from delivery v
         where v.organisation = $1 and v.scope is not null and not v.closed)))`,
    [
      organisation,
      OF_DAYS,
      OF_NONE,
      shiftDay(query.from, -1),
      shiftDay(query.to, 1),
      query.teams,
      formatInstant(now + SOON_MS),
      // A meter that knows no team may stand for lines of a bill that are theirs.
      UNALLOCATED,
    ],
  );
  return found ?? { days: 0, allocations: 0, parked: 0 };
}

function sayUnsettled({ days, allocations, parked }: Pending): string[] {
  const what =
    days > 0
      ? `${days} day(s) of teams are being priced or summed`
      : allocations > 0
        ? 'usage or shared costs are being given to teams'
        : null;
  return [
    ...(what === null ? [] : [`${what}: these sums are not what they will be`]),
    ...(parked === 0 ? [] : [`${parked} of that wait because of an error: bursar doctor says which`]),
  ];
}

/** What to know before sums are relied on, and the work that may still change them. */
export interface Caveats {
  readonly warnings: readonly string[];
  readonly pending: Pending;
}

/** What is being worked on, for every basis. Only `actual` has metered usage beside bills. */
export async function caveatsOf(
  db: Queryable,
  organisation: string,
  query: DoubtQuery & { readonly basis: Basis },
  now: number,
): Promise<Caveats> {
  const pending = await pendingWork(db, organisation, query, now);
  const doubts = query.basis === 'actual' ? await doubtsOf(db, organisation, query) : [];
  return { pending, warnings: [...sayUnsettled(pending), ...doubts.map(sayDoubt)] };
}

/** The doubts of so many days before an instant. */
export function recentDoubts(db: Queryable, organisation: string, now: number, days: number): Promise<Doubt[]> {
  const day = (at: number): string => new Date(at).toISOString().slice(0, 10);
  return doubtsOf(db, organisation, { from: day(now - days * DAY_MS), to: null, teams: null });
}
