/**
 * Shared costs of a day, split over the teams that share them: rows of cost_day with `shared_from`. The shares of a day
 * are written as a whole, every basis by largest remainder in billionths, so they sum to the shared cost exactly. They
 * are written together with the shared cost itself, so it is always in a sum. A split by use follows the use over the
 * charge's own period (core/cost/sharing.ts): a month's fee is split again as the month's use arrives. The stand-in's
 * own rows stay and are left out of reading.
 */
import { NOBODY, splitAmount, splitShared, type Assignment } from '../../core/cost/allocation.js';
import { UseWeights } from '../../core/cost/sharing.js';
import { assert } from '../../core/errors.js';
import { formatDecimal, parseDecimal } from '../../core/decimal.js';
import type { FxTable } from '../../core/price/fx.js';
import { formatDay, parseDay } from '../../core/time.js';
import { copyText, type Transaction } from '../database.js';
import type { WorkItem } from '../work.js';
import { waitForSubject } from '../locks.js';

const BASES = ['accrued', 'actual', 'billed', 'effective', 'list'] as const;
type Basis = (typeof BASES)[number];
const COLUMNS = [
  'organisation',
  'team',
  'day',
  'dimension',
  'currency',
  'shared_from',
  'records',
  'gpu_part_ms',
  'unpriced_part_ms',
  'unpriced_lines',
  ...BASES,
];

type SharedRow = {
  team: string;
  dimension: string;
  days: number;
  currency: string;
  unpriced: string;
  lines: number;
} & Record<Basis, string | null>;

export class ShareStore {
  /**
   * UTC days with shared costs that use on some days bears on: these days, and where a longer charge reaches over one.
   */
  async touched(tx: Transaction, organisation: string, days: readonly string[]): Promise<string[]> {
    const rows = await tx.query<{ day: string }>(
      `select distinct c.day::text as day from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       join unnest($2::date[]) as used on c.day <= used and c.day + d.days > used
       where c.organisation = $1 and c.team like 'shared:%' and c.shared_from = '' and d.days > 1`,
      [organisation, days],
    );
    return [...new Set([...days, ...rows.map(({ day }) => day)])].sort();
  }

  /** The sharing of every day with shared costs whose charges reach beyond a day, as what enqueues it. */
  async itemsFrom(tx: Transaction, organisation: string, day: string): Promise<WorkItem[]> {
    const rows = await tx.query<{ day: string }>(
      `select distinct c.day::text as day from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where c.organisation = $1 and c.team like 'shared:%' and c.shared_from = '' and c.day + d.days > $2::date`,
      [organisation, day],
    );
    return rows.map((row) => ({ stage: 'cost.share', partition: 'shared', key: `shared/${row.day}` }));
  }

  /** Splits the shared costs of a UTC day again; returns the teams whose day changed. */
  async share(
    tx: Transaction,
    organisation: string,
    day: string,
    assignmentOf: (standIn: string) => Assignment | null,
    fx: FxTable,
  ): Promise<string[]> {
    // The roll-up of a stand-in and the sharing of what was used may come to one day at once.
    await waitForSubject(tx, 'bursar shares', organisation);
    const before = await tx.query<{ team: string }>(
      `delete from cost_day where organisation = $1 and day = $2 and shared_from like 'shared:%' returning team`,
      [organisation, day],
    );
    const shared = await tx.query<SharedRow>(
      `select c.team, c.dimension::text as dimension, d.days, c.currency, (c.unpriced_part_ms - c.stated_part_ms)::text as unpriced, c.unpriced_lines - c.stated_lines as lines,
         c.accrued::text as accrued, c.actual::text as actual, c.billed::text as billed, c.effective::text as effective, c.list::text as list
       from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where c.organisation = $1 and c.day = $2 and c.team like 'shared:%' and c.shared_from = '' order by c.team, c.dimension, c.currency`,
      [organisation, day],
    );
    const rows: string[] = [];
    const teams = new Set(before.map((row) => row.team));
    const first = parseDay(day) ?? 0;
    const isByUse = shared.some(({ team }) => assignmentOf(team)?.kind === 'use');
    const most = Math.max(1, ...shared.map(({ days }) => days));
    const use = isByUse ? await this.use(tx, organisation, first, most, fx) : new UseWeights([], fx);
    for (const row of shared) {
      // No rule splits it any more: until its lines are allocated again it is nobody's.
      const assignment = assignmentOf(row.team) ?? NOBODY;
      for (const [team, share] of sharesOf(row, assignment, use.weightsOf(row.currency, { first, count: row.days }))) {
        teams.add(team);
        rows.push(
          `${copyText(organisation)}\t${copyText(team)}\t${day}\t${row.dimension}\t${copyText(row.currency)}\t${copyText(row.team)}\t0\t\\N\t${share.unpriced}\t${row.lines}\t${BASES.map((basis) => copyText(share[basis] ?? null)).join('\t')}\n`,
        );
      }
    }
    await tx.copy('cost_day', COLUMNS, rows);
    return [...teams];
  }

  /** Each team's direct use over some days. */
  private async use(
    tx: Transaction,
    organisation: string,
    first: number,
    count: number,
    fx: FxTable,
  ): Promise<UseWeights> {
    const rows = await tx.query<{ team: string; day: string; currency: string; nanos: string | null; parts: string }>(
      `select team, day::text as day, currency, trunc(sum(actual) * 1000000000)::text as nanos, coalesce(sum(gpu_part_ms), 0)::text as parts
       from cost_day where organisation = $1 and day >= $2::date and day < $3::date and shared_from = '' and team not like 'shared:%' and team <> 'unallocated'
       group by team, day, currency`,
      [organisation, formatDay(first), formatDay(first + count)],
    );
    return new UseWeights(
      rows.map(({ team, day, currency, nanos, parts }) => ({
        team,
        day: parseDay(day) ?? 0,
        currency,
        nanos: nanos === null ? null : BigInt(nanos),
        gpuPartMs: BigInt(parts),
      })),
      fx,
    );
  }
}

type ShareOfTeam = Partial<Record<Basis, string>> & { unpriced: string };

function sharesOf(row: SharedRow, assignment: Assignment, use: ReadonlyMap<string, bigint>): Map<string, ShareOfTeam> {
  const shares = new Map<string, ShareOfTeam>();
  const shareOf = (team: string): ShareOfTeam => {
    let share = shares.get(team);
    if (share === undefined) shares.set(team, (share = { unpriced: '0' }));
    return share;
  };
  for (const { team, nanos } of splitShared(BigInt(row.unpriced), assignment, use))
    shareOf(team).unpriced = String(nanos);
  for (const basis of BASES) {
    const text = row[basis];
    if (text === null) continue;
    const amount = parseDecimal(text);
    assert(amount !== null, 'a sum of amounts is a decimal');
    for (const share of splitAmount(amount, assignment, use)) shareOf(share.team)[basis] = formatDecimal(share.amount);
  }
  return shares;
}
