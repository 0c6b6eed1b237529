/**
 * The data of the dashboard's first page: spend per day over all teams, in few rows for any number of teams. Never
 * writes.
 *
 * Currencies are never added, credits are separate, and usage without a price is a quantity beside the sums.
 */
import { parseDecimal, type Decimal } from '../../core/decimal.js';
import { inSnapshot, type Queryable } from '../database.js';
import { allTeamsByDay, daySource } from './local-days.js';
import { ASKED, LINES } from './spend-sums.js';

export interface DaySpend {
  /** UTC day, 2026-10-05. */
  readonly day: string;
  readonly currency: string;
  readonly isCredit: boolean;
  /** Null if nothing of it has a price. */
  readonly cost: Decimal | null;
  /** GPU part-milliseconds without a price. */
  readonly unpricedQuantity: bigint;
}

/** The actual cost of UTC days from `from` (inclusive) to `to` (exclusive), of some teams or of all (null), by day. */
export const spendByDay = (
  db: Queryable,
  organisation: string,
  { from, to, teams }: { readonly from: string; readonly to: string; readonly teams: readonly string[] | null },
): Promise<DaySpend[]> =>
  inSnapshot(db, async (snapshot) => {
    const asked = { from, to, teams, zone: 'UTC' };
    const { table, params } =
      (await allTeamsByDay(snapshot, organisation, asked, 'actual')) ??
      (await daySource(snapshot, organisation, asked, 'actual', 'day'));
    const rows = await snapshot.query<{
      day: string;
      currency: string;
      credit: boolean;
      cost: string | null;
      unpriced: string;
    }>(
      `select c.day::text as day, c.currency, d.category = 'Credit' as credit, sum(c.actual)::text as cost,
         sum(c.unpriced_part_ms - c.stated_part_ms)::text as unpriced
       from ${table} c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where ${ASKED} and ${LINES.actual}
       group by 1, 2, 3 order by 1, 2, 3`,
      params,
    );
    return rows.map(({ day, currency, credit, cost, unpriced }) => ({
      day,
      currency,
      isCredit: credit,
      cost: cost === null ? null : parseDecimal(cost),
      unpricedQuantity: BigInt(unpriced),
    }));
  });
