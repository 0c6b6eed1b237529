/**
 * Reads what was spent, from the sums per day: grouped, filtered, converted. Never writes.
 *
 * A sum always carries its unpriced quantity. Amounts of several currencies are never added: without a currency to
 * convert to, each currency is a row of its own; what has no exchange rate on its day stays in its own currency.
 */
import { addDecimal, formatDecimal, parseDecimal, tenTo, ZERO, type Decimal } from '../core/decimal.js';
import { invalid, type Problem } from '../core/errors.js';
import type { FxTable } from '../core/fx.js';
import { divideHalfEven } from '../core/money.js';
import { parseInstant } from '../core/time.js';
import { PART_MS_PER_GPU_HOUR } from '../core/usage.js';
import type { Queryable } from './database.js';

export const BASES = ['actual', 'accrued', 'billed', 'effective', 'list'] as const;
export type Basis = (typeof BASES)[number];

/** Which lines a basis is about: a bill's amounts are not metered, an accrual is not billed. */
const LINES: Readonly<Record<Basis, string>> = {
  actual: `(c.actual is not null or c.unpriced_lines > 0)`, accrued: `d.kind = 'metered'`, billed: `d.kind = 'billed'`, effective: `d.kind = 'billed'`, list: `d.kind = 'billed'`,
};

/** What costs can be grouped by, and the column behind it. */
const GROUPS = {
  team: 'c.team', provider: 'd.provider', account: 'd.account', subAccount: 'd.sub_account', service: 'd.service', sku: 'd.sku', region: 'd.region',
  term: 'd.term', gpuModel: 'd.gpu_model', category: 'd.category', day: 'c.day', month: `to_char(c.day, 'YYYY-MM')`,
  sharedFrom: `nullif(c.shared_from, '')`,
} as const;
export type GroupKey = keyof typeof GROUPS;
export const GROUP_KEYS = Object.keys(GROUPS) as GroupKey[];

export interface SpendQuery {
  /** Inclusive UTC day, null for the first that is known. */
  readonly from: string | null;
  /** Exclusive UTC day, null for no end. */
  readonly to: string | null;
  readonly groupBy: readonly GroupKey[];
  readonly basis: Basis;
  /** Convert every amount to this currency by the rate of its day. */
  readonly currency: string | null;
  /** Only these teams; null for all. */
  readonly teams: readonly string[] | null;
}

export type SpendRow = Readonly<Record<string, string | null>> & {
  /** Decimal string; null where nothing of the basis is known (everything is unpriced, or the bill states none). */
  readonly cost: string | null;
  readonly currency: string;
  /** GPU-hours metered. */
  readonly gpuHours: string | null;
  /** GPU-hours without a price: they are not in `cost`. */
  readonly unpricedQuantity: string;
};

export interface Spend {
  readonly basis: Basis;
  readonly rows: readonly SpendRow[];
  /** Decimal string where all rows are of one currency; null where there are several, or nothing has a price. */
  readonly total: string | null;
  readonly currency: string | null;
  readonly totals: readonly { readonly currency: string; readonly cost: string }[];
  readonly unpricedQuantity: string;
}

/** One grouped row; the groups are the columns g0, g1, ... */
interface Row {
  readonly [group: `g${number}`]: string | null;
  readonly day: string;
  readonly currency: string;
  readonly cost: string | null;
  readonly parts: string | null;
  readonly unpriced: string;
}

interface Sum {
  readonly groups: readonly (string | null)[];
  readonly currency: string;
  cost: Decimal | null;
  parts: bigint | null;
  unpriced: bigint;
}

const NONE = '0.000000';

/** A SpendQuery from texts, as the API and the command line have them. @throws Failure invalid naming every problem. */
export function parseSpendQuery(texts: { from?: string | null; to?: string | null; groupBy?: string | null; basis?: string | null; currency?: string | null; teams?: readonly string[] | null }): SpendQuery {
  const problems: Problem[] = [];
  const day = (name: 'from' | 'to'): string | null => {
    const text = texts[name];
    if (text === undefined || text === null || text === '') return null;
    const instant = parseInstant(/^\d{4}-\d{2}$/.test(text) ? `${text}-01` : text);
    if (instant === null) problems.push({ path: name, message: `"${text}" is not a time: write 2026-10-01 or 2026-10-01T00:00:00Z` });
    else if (instant % 86_400_000 !== 0) problems.push({ path: name, message: `"${text}" is not the start of a UTC day` });
    return instant === null ? null : new Date(instant).toISOString().slice(0, 10);
  };
  const groupBy = (texts.groupBy ?? '').split(',').map((g) => g.trim()).filter((g) => g !== '').map((g) => g.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase()));
  for (const key of groupBy) {
    if (!(key in GROUPS)) problems.push({ path: 'group-by', message: `"${key}" is not one of ${GROUP_KEYS.join(', ')}` });
  }
  const basis = texts.basis ?? 'actual';
  if (!(BASES as readonly string[]).includes(basis)) problems.push({ path: 'basis', message: `"${basis}" is not one of ${BASES.join(', ')}` });
  const currency = texts.currency ?? null;
  if (currency !== null && !/^[A-Z]{3}$/.test(currency)) problems.push({ path: 'currency', message: `"${currency}" is not an ISO 4217 code` });
  const [from, to] = [day('from'), day('to')];
  if (from !== null && to !== null && from >= to) problems.push({ path: 'to', message: 'is not after from' });
  if (problems.length > 0) throw invalid('the question about costs has problems', problems);
  return { from, to, groupBy: [...new Set(groupBy)] as GroupKey[], basis: basis as Basis, currency, teams: texts.teams ?? null };
}

export class SpendStore {
  constructor(private readonly db: Queryable) {}

  async spend(organisation: string, query: SpendQuery, fx: FxTable): Promise<Spend> {
    const rows = await this.rows(organisation, query);
    const all = query.currency === null ? rows.map((row) => sumOf(row, query)) : convertedSums(rows, query, query.currency, fx);
    const totals = new Map<string, Decimal>();
    for (const { currency, cost } of all) if (cost !== null) totals.set(currency, addDecimal(totals.get(currency) ?? ZERO, cost));
    const single = totals.size === 1 ? [...totals][0] : undefined;
    return {
      basis: query.basis,
      rows: all.map((sum) => rowOf(sum, query.groupBy)),
      total: single !== undefined ? formatDecimal(single[1]) : totals.size === 0 && all.every((sum) => sum.unpriced === 0n) ? '0' : null,
      currency: single?.[0] ?? query.currency,
      totals: [...totals].map(([currency, cost]) => ({ currency, cost: formatDecimal(cost) })),
      unpricedQuantity: gpuHours(all.reduce((total, sum) => total + sum.unpriced, 0n)),
    };
  }

  /** Days are kept apart only where amounts are to be converted: each by the rate of its own day. */
  private rows(organisation: string, query: SpendQuery): Promise<Row[]> {
    const columns = query.groupBy.map((key) => GROUPS[key]);
    const byDay = query.currency !== null;
    const named = columns.map((column, at) => `${column}::text as g${at}`);
    return this.db.query<Row>(
      `select ${[...named, `${byDay ? 'c.day::text' : `''`} as day`].join(', ')}, c.currency, sum(c.${query.basis})::text as cost,
         sum(c.gpu_part_ms)::text as parts, sum(c.unpriced_part_ms)::text as unpriced
       from cost_day c join dimension d on d.organisation = c.organisation and d.id = c.dimension
       where c.organisation = $1 and ($2::date is null or c.day >= $2::date) and ($3::date is null or c.day < $3::date)
         and ($4::text[] is null or c.team = any($4::text[])) and c.team not like 'shared:%' and ${LINES[query.basis]}
       group by ${['c.currency', ...columns, ...(byDay ? ['c.day'] : [])].join(', ')}
       order by ${[...columns, 'c.currency'].join(', ')}`,
      [organisation, query.from, query.to, query.teams],
    );
  }
}

function rowOf(sum: Sum, groupBy: readonly GroupKey[]): SpendRow {
  const row: Record<string, string | null> = {};
  groupBy.forEach((key, at) => {
    row[key] = sum.groups[at] ?? null;
  });
  return Object.assign(row, {
    cost: sum.cost === null ? null : formatDecimal(sum.cost), currency: sum.currency,
    gpuHours: sum.parts === null ? null : gpuHours(sum.parts), unpricedQuantity: sum.unpriced === 0n ? NONE : gpuHours(sum.unpriced),
  });
}

function sumOf(row: Row, query: SpendQuery): Sum {
  return {
    groups: query.groupBy.map((_, at) => row[`g${at}`] ?? null), currency: row.currency, cost: row.cost === null ? null : parseDecimal(row.cost),
    parts: row.parts === null ? null : BigInt(row.parts), unpriced: BigInt(row.unpriced),
  };
}

/** Rows of several days (and currencies) that are one row once converted. */
function convertedSums(rows: readonly Row[], query: SpendQuery, wanted: string, fx: FxTable): Sum[] {
  const sums = new Map<string, Sum>();
  for (const row of rows) {
    const { currency, cost } = converted(row, wanted, fx);
    const one = { ...sumOf(row, query), currency, cost };
    const key = JSON.stringify([one.groups, currency]);
    const sum = sums.get(key);
    if (sum === undefined) {
      sums.set(key, one);
      continue;
    }
    if (cost !== null) sum.cost = addDecimal(sum.cost ?? ZERO, cost);
    if (one.parts !== null) sum.parts = (sum.parts ?? 0n) + one.parts;
    sum.unpriced += one.unpriced;
  }
  return [...sums.values()];
}

function converted(row: Row, currency: string, fx: FxTable): { currency: string; cost: Decimal | null } {
  const cost = row.cost === null ? null : parseDecimal(row.cost);
  if (cost === null) return { currency, cost };
  if (row.currency === currency) return { currency, cost };
  const used = fx.rate(row.currency, currency, Date.parse(row.day));
  if (used === null) return { currency: row.currency, cost };
  const scale = Math.max(9, cost.scale);
  const unscaled = divideHalfEven(cost.unscaled * tenTo(scale - cost.scale) * used.rate.numerator, used.rate.denominator);
  return { currency, cost: { unscaled, scale } };
}

/** GPU-hours with six digits after the point, of part-milliseconds. */
export function gpuHours(partMs: bigint): string {
  // A millionth of a GPU-hour is 25,200 part-milliseconds. Below 2^53 plain numbers divide as exactly, and much faster.
  if (partMs >= 0n && partMs < 9_007_199_254_740_992n) {
    const parts = Number(partMs);
    const rest = parts % 25_200;
    let millionths = (parts - rest) / 25_200;
    if (rest > 12_600 || (rest === 12_600 && millionths % 2 === 1)) millionths += 1;
    const text = millionths.toString().padStart(7, '0');
    return `${text.slice(0, -6)}.${text.slice(-6)}`;
  }
  return formatDecimal({ unscaled: divideHalfEven(partMs * 1_000_000n, PART_MS_PER_GPU_HOUR), scale: 6 });
}
