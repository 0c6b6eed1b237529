/**
 * The published variance for people and callers: rows in pages, their exact sums, and findings. Reads only.
 */
import { REASONS, type Reason } from '../../core/bill/reconciliation.js';
import type { Queryable } from '../database.js';
import { gpuHours } from '../cost/spend.js';

export interface VarianceFilter {
  /** Absent or null: any. `teams` are those that the caller may see. */
  readonly teams?: readonly string[] | null;
  readonly team?: string | null | undefined;
  readonly source?: string | null | undefined;
  readonly month?: string | null | undefined;
  readonly provider?: string | null | undefined;
  readonly sku?: string | null | undefined;
  readonly reason?: Reason | null | undefined;
  /** UTC days: from inclusive, to exclusive. */
  readonly from?: string | null | undefined;
  readonly to?: string | null | undefined;
}

/** Amounts, hours and the ratio are decimal strings; null is unknown or absent, never zero. */
export interface StoredVariance {
  readonly team: string;
  readonly source: string;
  readonly month: string;
  readonly day: string;
  readonly provider: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly region: string | null;
  readonly term: string | null;
  readonly billedTerms: readonly string[];
  readonly component: string | null;
  readonly category: string;
  readonly matchedBy: string | null;
  readonly currency: string;
  readonly billedCurrency: string | null;
  readonly accrued: string | null;
  readonly accruedList: string | null;
  readonly billed: string | null;
  readonly effective: string | null;
  readonly list: string | null;
  readonly compared: string | null;
  readonly basis: string | null;
  readonly variance: string | null;
  readonly ratio: string | null;
  readonly quantityVariance: string | null;
  readonly rateVariance: string | null;
  readonly meteredGpuHours: string | null;
  readonly billedGpuHours: string | null;
  readonly unpricedGpuHours: string;
  readonly reasons: readonly string[];
}

/** Per currency, over all rows of the filter. */
export interface VarianceTotal {
  readonly currency: string;
  readonly accrued: string;
  /** Usage and what stands apart. */
  readonly compared: string;
  readonly variance: string;
  /** The separate part of `compared` and `variance`: credits, taxes, purchases, adjustments. */
  readonly apart: string;
  readonly unpricedGpuHours: string;
}

export interface StoredFinding {
  readonly id: string;
  readonly team: string;
  readonly source: string;
  readonly month: string;
  readonly provider: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly region: string | null;
  readonly term: string | null;
  readonly component: string | null;
  readonly currency: string;
  readonly accrued: string | null;
  readonly compared: string | null;
  readonly variance: string;
  readonly ratio: string | null;
  readonly days: number;
  readonly reasons: readonly string[];
  readonly foundAt: string;
  readonly resolvedAt: string | null;
}

type Row = Omit<StoredVariance, 'meteredGpuHours' | 'billedGpuHours' | 'unpricedGpuHours'> & {
  readonly id: string;
  readonly metered: string | null;
  readonly billedParts: string | null;
  readonly unpriced: string;
};

const COLUMNS = `id, team, source, month, day::text as day, provider, account, sku, gpu_model as "gpuModel", region, term, billed_terms as "billedTerms", component, category, matched_by as "matchedBy",
  currency, billed_currency as "billedCurrency", accrued::text as accrued, accrued_list::text as "accruedList", billed::text as billed, effective::text as effective, list::text as list,
  compared::text as compared, basis, amount::text as variance, ratio::text as ratio, quantity_amount::text as "quantityVariance", rate_amount::text as "rateVariance",
  metered_part_ms::text as metered, billed_part_ms::text as "billedParts", unpriced_part_ms::text as unpriced, reasons`;

const WHERE = `from variance where organisation = $1 and ($2::text[] is null or team = any($2::text[])) and ($3::text is null or team = $3) and ($4::text is null or source = $4)
  and ($5::text is null or month = $5) and ($6::text is null or provider = $6) and ($7::text is null or sku = $7) and ($8::text is null or $8 = any(reasons))
  and ($9::date is null or day >= $9) and ($10::date is null or day < $10)`;

const values = (
  organisation: string,
  { teams, team, source, month, provider, sku, reason, from, to }: VarianceFilter,
): unknown[] => [
  organisation,
  teams ?? null,
  team ?? null,
  source ?? null,
  month ?? null,
  provider ?? null,
  sku ?? null,
  reason ?? null,
  from ?? null,
  to ?? null,
];

export class VarianceStore {
  constructor(private readonly db: Queryable) {}

  /** By day; `after` is the last one's `day id`. */
  async list(
    organisation: string,
    filter: VarianceFilter,
    after: string | null,
    limit: number,
  ): Promise<(StoredVariance & { readonly place: string })[]> {
    const rows = await this.db.query<Row>(
      `select ${COLUMNS} ${WHERE} and ($11::text is null or (day, id) > (split_part($11, ' ', 1)::date, split_part($11, ' ', 2))) order by variance.day, variance.id limit $12`,
      [...values(organisation, filter), after, limit],
    );
    return rows.map(({ id, metered, billedParts, unpriced, ...row }) => ({
      ...row,
      reasons: REASONS.filter((reason) => row.reasons.includes(reason)),
      meteredGpuHours: metered === null ? null : gpuHours(BigInt(metered)),
      billedGpuHours: billedParts === null ? null : gpuHours(BigInt(billedParts)),
      unpricedGpuHours: gpuHours(BigInt(unpriced)),
      place: `${row.day} ${id}`,
    }));
  }

  /** Sums of all rows of the filter: variance = compared - accrued, to the last digit. */
  async totals(organisation: string, filter: VarianceFilter): Promise<VarianceTotal[]> {
    const rows = await this.db.query<Omit<VarianceTotal, 'unpricedGpuHours'> & { unpriced: string }>(
      `select currency, coalesce(sum(accrued), 0)::text as accrued, coalesce(sum(compared), 0)::text as compared, coalesce(sum(amount), 0)::text as variance,
         coalesce(sum(compared) filter (where category <> 'Usage'), 0)::text as apart, sum(unpriced_part_ms)::text as unpriced ${WHERE} group by currency order by currency`,
      values(organisation, filter),
    );
    return rows.map(({ unpriced, ...total }) => ({ ...total, unpricedGpuHours: gpuHours(BigInt(unpriced)) }));
  }

  /** Newest month first; `after` is the last one's `month id`. */
  async findings(
    organisation: string,
    filter: Pick<VarianceFilter, 'teams' | 'team' | 'month'> & { readonly isOpen: boolean | null },
    after: string | null,
    limit: number,
  ): Promise<StoredFinding[]> {
    const rows = await this.db.query<
      Omit<StoredFinding, 'foundAt' | 'resolvedAt'> & { found: Date; resolved: Date | null }
    >(
      `select id, team, source, month, provider, account, sku, gpu_model as "gpuModel", region, term, component, currency, accrued::text as accrued, compared::text as compared,
         amount::text as variance, ratio::text as ratio, days, reasons, found_at as found, resolved_at as resolved from variance_finding
       where organisation = $1 and ($2::text[] is null or team = any($2::text[])) and ($3::text is null or team = $3) and ($4::text is null or month = $4)
         and ($5::boolean is null or (resolved_at is null) = $5) and ($6::text is null or (month, variance_finding.id) < (split_part($6, ' ', 1), split_part($6, ' ', 2)))
       order by month desc, variance_finding.id desc limit $7`,
      [organisation, filter.teams ?? null, filter.team ?? null, filter.month ?? null, filter.isOpen, after, limit],
    );
    return rows.map(({ found, resolved, ...finding }) => ({
      ...finding,
      foundAt: found.toISOString(),
      resolvedAt: resolved?.toISOString() ?? null,
    }));
  }
}
