/**
 * Stored sums of bills. A bill is compared again whenever a day that it covers changes, and has millions of lines, so
 * the sums are kept.
 *
 * A summary depends only on a delivery, which never changes, and on the version of the rules that gave its lines to
 * teams. It is deleted with its delivery. Computes nothing.
 */
import type { BillSummary } from '../../core/bill/cells.js';
import { formatDecimal, parseDecimal, ZERO, type Decimal } from '../../core/decimal.js';
import type { Queryable } from '../database.js';

type Cell = BillSummary['cells'][number];
/** Amounts as decimal strings, part-milliseconds too. */
type CellJson = Omit<Cell, 'billed' | 'effective' | 'list' | 'compared' | 'billedPartMs'> & {
  readonly billed: string;
  readonly effective: string | null;
  readonly list: string | null;
  readonly compared: string;
  readonly billedPartMs: string | null;
};
interface SummaryJson {
  readonly cells: readonly CellJson[];
  readonly resources: BillSummary['resources'];
}

/** A summary of more cells is computed again each time. */
const MOST_CELLS = 100_000;

export class BillCellStore {
  /** Null: it has to be computed. */
  async readKept(
    db: Queryable,
    organisation: string,
    delivery: string,
    rulesVersion: number,
  ): Promise<BillSummary | null> {
    const [row] = await db.query<{ summary: SummaryJson }>(
      `select summary from bill_cells where organisation = $1 and delivery = $2 and rules_version = $3`,
      [organisation, delivery, rulesVersion],
    );
    return row === undefined ? null : { cells: row.summary.cells.map(fromJson), resources: row.summary.resources };
  }

  async keep(
    tx: Queryable,
    organisation: string,
    delivery: string,
    rulesVersion: number,
    { cells, resources }: BillSummary,
  ): Promise<void> {
    if (cells.length > MOST_CELLS) return;
    const summary: SummaryJson = { cells: cells.map(toJson), resources };
    await tx.query(
      `insert into bill_cells (organisation, delivery, rules_version, summary) values ($1, $2, $3, $4)
       on conflict (organisation, delivery) do update set rules_version = excluded.rules_version, summary = excluded.summary`,
      [organisation, delivery, rulesVersion, JSON.stringify(summary)],
    );
  }
}

const text = (amount: Decimal | null): string | null => (amount === null ? null : formatDecimal(amount));
const decimal = (amount: string | null): Decimal | null => (amount === null ? null : parseDecimal(amount));

const toJson = ({ billed, effective, list, compared, billedPartMs, ...rest }: Cell): CellJson => ({
  ...rest,
  billed: formatDecimal(billed),
  effective: text(effective),
  list: text(list),
  compared: formatDecimal(compared),
  billedPartMs: billedPartMs === null ? null : String(billedPartMs),
});

const fromJson = ({ billed, effective, list, compared, billedPartMs, ...rest }: CellJson): Cell => ({
  ...rest,
  billed: decimal(billed) ?? ZERO,
  effective: decimal(effective),
  list: decimal(list),
  compared: decimal(compared) ?? ZERO,
  billedPartMs: billedPartMs === null ? null : BigInt(billedPartMs),
});
