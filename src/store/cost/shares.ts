/**
 * Shared costs of a day, split over the teams that share them: rows of cost_day with `shared_from`.
 *
 * A day's shares are written whole, every basis by largest remainder at its own scale, so they sum to the shared cost
 * exactly. The stand-in's own rows stay and are left out of reading.
 */
import { splitShared, type Assignment } from '../../core/cost/allocation.js';
import { assert } from '../../core/errors.js';
import { formatDecimal, parseDecimal } from '../../core/decimal.js';
import { copyText, type Transaction } from '../database.js';

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

type SharedRow = { team: string; dimension: string; currency: string; unpriced: string; lines: number } & Record<
  Basis,
  string | null
>;

export class ShareStore {
  /** Splits the shared costs of a UTC day anew; returns the teams whose day changed. */
  async share(
    tx: Transaction,
    organisation: string,
    day: string,
    assignmentOf: (standIn: string) => Assignment | null,
  ): Promise<string[]> {
    const before = await tx.query<{ team: string }>(
      `delete from cost_day where organisation = $1 and day = $2 and shared_from like 'shared:%' returning team`,
      [organisation, day],
    );
    const shared = await tx.query<SharedRow>(
      `select team, dimension::text as dimension, currency, unpriced_part_ms::text as unpriced, unpriced_lines as lines,
         accrued::text as accrued, actual::text as actual, billed::text as billed, effective::text as effective, list::text as list
       from cost_day where organisation = $1 and day = $2 and team like 'shared:%' and shared_from = '' order by team, dimension, currency`,
      [organisation, day],
    );
    const use = await this.use(tx, organisation, day);
    const rows: string[] = [];
    const teams = new Set(before.map((row) => row.team));
    for (const row of shared) {
      const assignment = assignmentOf(row.team);
      if (assignment === null) continue;
      for (const [team, share] of sharesOf(row, assignment, use.get(row.currency) ?? new Map())) {
        teams.add(team);
        rows.push(
          `${copyText(organisation)}\t${copyText(team)}\t${day}\t${row.dimension}\t${copyText(row.currency)}\t${copyText(row.team)}\t0\t\\N\t${share.unpriced}\t${row.lines}\t${BASES.map((basis) => copyText(share[basis] ?? null)).join('\t')}\n`,
        );
      }
    }
    await tx.copy('cost_day', COLUMNS, rows);
    return [...teams];
  }

  /** What each team used directly on the day, by currency, in nanos of its actual cost (never below zero). */
  private async use(tx: Transaction, organisation: string, day: string): Promise<Map<string, Map<string, bigint>>> {
    const rows = await tx.query<{ team: string; currency: string; nanos: string }>(
      `select team, currency, trunc(greatest(sum(actual), 0) * 1000000000)::text as nanos from cost_day
       where organisation = $1 and day = $2 and shared_from = '' and team not like 'shared:%' and team <> 'unallocated' and actual is not null
       group by team, currency`,
      [organisation, day],
    );
    const use = new Map<string, Map<string, bigint>>();
    for (const { team, currency, nanos } of rows) {
      const teams = use.get(currency) ?? new Map<string, bigint>();
      use.set(currency, teams.set(team, BigInt(nanos)));
    }
    return use;
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
    for (const { team, nanos } of splitShared(amount.unscaled, assignment, use)) {
      shareOf(team)[basis] = formatDecimal({ unscaled: nanos, scale: amount.scale });
    }
  }
  return shares;
}
