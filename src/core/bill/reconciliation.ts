/**
 * Compares the accrual from metered usage with the bill's charges for it, per team, SKU and UTC day, and states the
 * cause of each difference as far as it is known.
 *
 * The invariant: every cell is in exactly one row, and the amounts of the rows sum to the charges minus the accrual, to
 * the last digit. Usage is compared by the effective cost (amortised: a commitment's share lies on the usage that it
 * covers), or by the billed cost if a line states no effective cost. Credits, taxes, purchases and adjustments are
 * separate. Never corrects anything: price/learned-rate.ts learns from bills.
 */
import {
  accruedIn,
  matchCells,
  payerOf,
  type AccruedCell,
  type BilledCell,
  type MatchedBy,
  type Match,
  type SkuNames,
} from './matching.js';
import {
  addDecimal,
  compareDecimal,
  formatDecimal,
  negateDecimal,
  parseDecimal,
  tenTo,
  ZERO,
  type Decimal,
} from '../decimal.js';
import { invalid, type Problem } from '../errors.js';
import type { FxTable } from '../price/fx.js';
import { isNear, type RateEvidence } from '../price/learned-rate.js';
import { divideHalfEven } from '../money.js';
import type { Component } from '../price/price.js';
import { formatDay, DAY_MS } from '../time.js';
import type { ChargeCategory, Term } from '../usage.js';

/** The known causes of a difference between a row's two sides. */
export const REASONS = [
  'quantity', // more or fewer GPU-hours billed than metered
  'rate', // another price than the accrual's
  'quantity-unknown', // the bill states no GPU-hours: quantity and rate cannot be told apart
  'only-metered',
  'only-billed',
  'not-billed-yet', // the bill is not closed and ends before this day
  'sku-not-comparable', // the bill's SKU is none that the meter or a price list knows, and nothing else tells what it is
  'unpriced', // a part of the usage has no price
  'spans-days', // the bill states it for longer than a day, on the day in which that begins
  'no-fx-rate', // billed in another currency, and the day has no rate
  'rounding', // no more than each line's own rounding
  'apart', // a credit, tax, purchase or adjustment: nothing that is metered
] as const;
export type Reason = (typeof REASONS)[number];

export interface VarianceRow {
  readonly team: string;
  readonly day: string;
  readonly provider: string;
  /** Null if unknown, or where the row holds several. So are the next four. */
  readonly account: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly region: string | null;
  /** The meter's; the bill's where nothing was metered. */
  readonly term: Term | null;
  readonly billedTerms: readonly string[];
  readonly component: Component | null;
  readonly category: ChargeCategory;
  readonly currency: string;
  /** The currency from which the bill's amounts were converted; null if they were not. */
  readonly billedCurrency: string | null;
  readonly matchedBy: MatchedBy | null;
  /** Null: nothing was metered, or nothing of it has a price. */
  readonly accrued: Decimal | null;
  /** The accrual without learned rates. */
  readonly accruedList: Decimal | null;
  readonly billed: Decimal | null;
  readonly effective: Decimal | null;
  readonly list: Decimal | null;
  /** The amount that the accrual is compared with; null if nothing is billed. */
  readonly compared: Decimal | null;
  readonly basis: 'effective' | 'billed' | 'mixed' | null;
  /** Compared less accrued, each as far as it is known; null if neither is. */
  readonly amount: Decimal | null;
  /** amount / accrued, six digits; null if the accrual is zero, absent or lacks what has no price. */
  readonly ratio: Decimal | null;
  /**
   * The part of the amount that another quantity at the accrual's rate explains, and the rest; null if a quantity is
   * unknown.
   */
  readonly quantityAmount: Decimal | null;
  readonly rateAmount: Decimal | null;
  readonly meteredPartMs: bigint | null;
  readonly billedPartMs: bigint | null;
  readonly unpricedPartMs: bigint;
  readonly reasons: readonly Reason[];
}

/** One source's bills of a month, and the metered usage that they may be about. */
export interface Reconciliation {
  readonly accrued: readonly AccruedCell[];
  readonly billed: readonly BilledCell[];
  readonly names: SkuNames;
}

/** Beyond both is a finding. */
export interface VarianceThreshold {
  /** Share of the accrual: 0.05. */
  readonly ratio: Decimal;
  /** In units of the row's currency. */
  readonly amount: Decimal;
}

export const DEFAULT_THRESHOLD = { ratio: '0.05', amount: '10' } as const;

/** @throws Failure invalid naming every problem. */
export function readThreshold(stated: { readonly ratio: string; readonly amount: string }): VarianceThreshold {
  const problems: Problem[] = [];
  const read = (path: 'ratio' | 'amount'): Decimal => {
    const value = parseDecimal(stated[path]);
    if (value === null || value.unscaled < 0n) problems.push({ path, message: 'is not a decimal of 0 or more' });
    return value ?? ZERO;
  };
  const threshold = { ratio: read('ratio'), amount: read('amount') };
  if (problems.length > 0) throw invalid(`the threshold has ${problems.length} problem(s)`, problems);
  return threshold;
}

/** A match over all its days: what differs beyond the threshold. */
export type VarianceFinding = Pick<
  VarianceRow,
  | 'team'
  | 'provider'
  | 'account'
  | 'sku'
  | 'gpuModel'
  | 'region'
  | 'term'
  | 'component'
  | 'currency'
  | 'accrued'
  | 'compared'
  | 'ratio'
  | 'reasons'
> & {
  readonly amount: Decimal;
  /** UTC days that count: those that the bill speaks of. */
  readonly days: number;
};

/**
 * The label of a bill period, `2026-10`: the UTC month of its middle, since sellers cut their months in zones of their
 * own.
 */
export const monthOfPeriod = (start: number, end: number): string =>
  formatDay(Math.floor((start + (end - start) / 2) / DAY_MS)).slice(0, 7);

/**
 * Rows, one per team, match and day, and one per what stands apart; and the findings among them. Order of the cells
 * does not matter.
 */
export function reconcile(
  input: Reconciliation,
  threshold: VarianceThreshold,
): { readonly rows: VarianceRow[]; readonly findings: VarianceFinding[] } {
  const rows: VarianceRow[] = [];
  const findings: VarianceFinding[] = [];
  const context = { names: input.names, open: openAccounts(input.billed) };
  for (const [, { accrued, billed }] of byTeam(input)) {
    const [usage, apart] = [
      billed.filter(({ category }) => category === 'Usage'),
      billed.filter(({ category }) => category !== 'Usage'),
    ];
    for (const cells of grouped(apart, (cell) =>
      JSON.stringify([
        cell.day,
        cell.category,
        cell.currency,
        cell.provider,
        cell.account,
        cell.sku,
        cell.region,
        cell.term,
      ]),
    ).values()) {
      rows.push({ ...rowOf({ accrued: [], billed: cells, by: null }, context), reasons: ['apart'] });
    }
    for (const match of matchCells(accrued, usage, input.names)) {
      const own = daysOf(match).map((day) => rowOf(day, context, match));
      rows.push(...own);
      const finding = findingOf(match, own, threshold);
      if (finding !== null) findings.push(finding);
    }
  }
  return { rows, findings };
}

interface Context {
  readonly names: SkuNames;
  readonly open: readonly OpenAccount[];
}

/** An account whose bill is not closed, with the last day that it speaks of. */
interface OpenAccount {
  readonly provider: string;
  readonly account: string | null;
  readonly lastDay: string;
}

function openAccounts(billed: readonly BilledCell[]): OpenAccount[] {
  const open = grouped(
    billed.filter(({ isClosed }) => !isClosed),
    ({ provider, account }) => JSON.stringify([provider, account]),
  );
  return [...open.values()].flatMap((cells) => {
    const [first] = cells;
    return first === undefined
      ? []
      : [
          {
            provider: first.provider,
            account: first.account,
            lastDay: cells.reduce((last, cell) => (cell.lastDay > last ? cell.lastDay : last), ''),
          },
        ];
  });
}

/** Whether an open bill that may still cover it ends before the day. */
function isAwaited(
  open: readonly OpenAccount[],
  { provider, account, day }: Pick<VarianceRow, 'provider' | 'account' | 'day'>,
): boolean {
  return open.some(
    (one) =>
      one.provider === provider &&
      (account === null || one.account === null || one.account === account) &&
      one.lastDay < day,
  );
}

function byTeam({ accrued, billed }: Reconciliation): Map<string, { accrued: AccruedCell[]; billed: BilledCell[] }> {
  const teams = new Map<string, { accrued: AccruedCell[]; billed: BilledCell[] }>();
  const sumsOf = (team: string) => {
    const found = teams.get(team) ?? { accrued: [], billed: [] };
    teams.set(team, found);
    return found;
  };
  for (const cell of accrued) sumsOf(cell.team).accrued.push(cell);
  for (const cell of billed) sumsOf(cell.team).billed.push(cell);
  return teams;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function daysOf({ accrued, billed, by }: Match): Match[] {
  const [metered, charged] = [grouped(accrued, ({ day }) => day), grouped(billed, ({ day }) => day)];
  return [...new Set([...metered.keys(), ...charged.keys()])]
    .sort()
    .map((day) => ({ accrued: metered.get(day) ?? [], billed: charged.get(day) ?? [], by }));
}

/** The one value that all who know it agree on. */
function unanimous<T>(values: readonly (T | null)[]): T | null {
  const known = new Set(values.filter((value) => value !== null));
  const [value] = known;
  return known.size === 1 && value !== undefined ? value : null;
}

function sumOf<T>(items: readonly T[], amountOf: (item: T) => Decimal | null): Decimal | null {
  return items.reduce<Decimal | null>((sum, item) => {
    const amount = amountOf(item);
    return amount === null ? sum : sum === null ? amount : addDecimal(sum, amount);
  }, null);
}

const ofNanos = (nanos: bigint | null): Decimal | null => (nanos === null ? null : { unscaled: nanos, scale: 9 });
const less = (a: Decimal, b: Decimal): Decimal => addDecimal(a, negateDecimal(b));
const absolute = (a: Decimal): Decimal => (a.unscaled < 0n ? negateDecimal(a) : a);

/** The charge minus the accrual; null if neither is known. */
function differenceOf(charged: Decimal | null, accrued: Decimal | null): Decimal | null {
  if (accrued === null) return charged;
  return charged === null ? negateDecimal(accrued) : less(charged, accrued);
}

/** The quantities of both sides; the metered one includes the part without a price. */
function partsOf(
  accrued: readonly AccruedCell[],
  billed: readonly BilledCell[],
): Pick<VarianceRow, 'meteredPartMs' | 'billedPartMs' | 'unpricedPartMs'> {
  const unpricedPartMs = accrued.reduce((sum, cell) => sum + cell.unpricedPartMs, 0n);
  const pricedPartMs = accrued.reduce<bigint | null>(
    (sum, cell) => (cell.meteredPartMs === null ? sum : (sum ?? 0n) + cell.meteredPartMs),
    null,
  );
  const isBilled = billed.length > 0 && billed.every((cell) => cell.billedPartMs !== null);
  return {
    meteredPartMs: unpricedPartMs === 0n ? pricedPartMs : (pricedPartMs ?? 0n) + unpricedPartMs,
    billedPartMs: isBilled ? billed.reduce((sum, cell) => sum + (cell.billedPartMs ?? 0n), 0n) : null,
    unpricedPartMs,
  };
}

/** A row's two sides: one match on one day, or one thing that stands apart. */
function rowOf({ accrued, billed, by }: Match, context: Context, whole: Match = { accrued, billed, by }): VarianceRow {
  const all = [...whole.accrued, ...whole.billed];
  const [first] = [...accrued, ...billed];
  if (first === undefined) throw new Error('broken invariant: a row has a side');
  const sku = unanimous(whole.accrued.map((cell) => cell.sku)) ?? unanimous(whole.billed.map((cell) => cell.sku));
  const sides = {
    accrued: sumOf(accrued, ({ nanos }) => ofNanos(nanos)),
    accruedList: sumOf(accrued, ({ listNanos }) => ofNanos(listNanos)),
    billed: sumOf(billed, (cell) => cell.billed),
    effective: sumOf(billed, (cell) => cell.effective),
    list: billed.some((cell) => cell.list === null) ? null : sumOf(billed, (cell) => cell.list),
    compared: sumOf(billed, (cell) => cell.compared),
  };
  const amount = differenceOf(sides.compared, sides.accrued);
  const isPriced = accrued.every(({ unpricedLines }) => unpricedLines === 0);
  const parts = partsOf(accrued, billed);
  // If everything has a price, the metered quantity is the priced one.
  const split = isPriced ? splitOf(sides.accrued, amount, parts.meteredPartMs, parts.billedPartMs) : NO_SPLIT;
  const row = {
    team: first.team,
    day: first.day,
    provider: first.provider,
    account: unanimous(all.map(payerOf)),
    sku,
    gpuModel: unanimous(all.map((cell) => cell.gpuModel)),
    region: unanimous(all.map((cell) => cell.region)),
    term: unanimous((whole.accrued.length > 0 ? whole.accrued : whole.billed).map((cell) => cell.term)),
    billedTerms: [...new Set(billed.flatMap(({ term }) => term ?? []))].sort(),
    component: unanimous(whole.accrued.map(({ component }) => component)),
    category: billed[0]?.category ?? ('Usage' as const),
    currency: first.currency,
    billedCurrency: unanimous(billed.map((cell) => cell.billedCurrency)),
    matchedBy: by,
    ...sides,
    basis: basisOf(billed),
    amount,
    ratio: isPriced ? ratioOf(amount, sides.accrued) : null,
    ...split,
    ...parts,
  };
  return { ...row, reasons: reasonsOf(row, { accrued, billed, by }, whole, context, isPriced) };
}

function basisOf(billed: readonly BilledCell[]): VarianceRow['basis'] {
  if (billed.length === 0) return null;
  if (billed.every(({ lacksEffective }) => !lacksEffective)) return 'effective';
  return billed.every(({ effective }) => effective === null) ? 'billed' : 'mixed';
}

function ratioOf(amount: Decimal | null, accrued: Decimal | null): Decimal | null {
  if (amount === null || accrued === null || accrued.unscaled <= 0n) return null;
  return {
    unscaled: divideHalfEven(amount.unscaled * tenTo(accrued.scale + 6), accrued.unscaled * tenTo(amount.scale)),
    scale: 6,
  };
}

const NO_SPLIT = { quantityAmount: null, rateAmount: null } as const;

/** The price-volume split of a variance: the other quantity at the accrual's own rate, to the nano, and the rest. */
function splitOf(
  accrued: Decimal | null,
  amount: Decimal | null,
  metered: bigint | null,
  billed: bigint | null,
): Pick<VarianceRow, 'quantityAmount' | 'rateAmount'> {
  if (accrued === null || amount === null || metered === null || metered <= 0n || billed === null) return NO_SPLIT;
  const quantityAmount = {
    unscaled: divideHalfEven((billed - metered) * accrued.unscaled * tenTo(9), metered * tenTo(accrued.scale)),
    scale: 9,
  };
  return { quantityAmount, rateAmount: less(amount, quantityAmount) };
}

function reasonsOf(
  row: Omit<VarianceRow, 'reasons'>,
  { accrued, billed }: Match,
  whole: Match,
  { open, names }: Context,
  isPriced: boolean,
): Reason[] {
  const reasons: Reason[] = [];
  const unknownName =
    whole.by === null &&
    whole.billed.some(
      (cell) => names.match(cell) === null && (cell.sku === null || !names.isSignificant(cell.provider, cell.sku)),
    );
  if (accrued.length === 0) {
    reasons.push('only-billed');
    if (unknownName) reasons.push('sku-not-comparable');
  }
  if (billed.length === 0) {
    reasons.push('only-metered');
    if (isAwaited(open, row)) reasons.push('not-billed-yet');
  }
  if (!isPriced) reasons.push('unpriced');
  if (whole.billed.some(({ spansDays }) => spansDays)) reasons.push('spans-days');
  if (billed.some(({ isUnconverted }) => isUnconverted)) reasons.push('no-fx-rate');
  if (accrued.length > 0 && billed.length > 0 && isPriced && row.amount !== null && row.amount.unscaled !== 0n)
    reasons.push(...bothSides(row, accrued));
  return reasons;
}

/** Why two sides that are both there differ. */
function bothSides(row: Omit<VarianceRow, 'reasons'>, accrued: readonly AccruedCell[]): Reason[] {
  const lines = accrued.reduce((sum, cell) => sum + cell.lines, 0);
  const isRounding = (amount: Decimal): boolean =>
    compareDecimal(absolute(amount), { unscaled: BigInt(lines), scale: 9 }) <= 0;
  if (row.amount !== null && isRounding(row.amount)) return ['rounding'];
  const { quantityAmount, rateAmount } = row;
  if (quantityAmount !== null && rateAmount !== null)
    return [
      ...(row.meteredPartMs === row.billedPartMs ? [] : ['quantity' as const]),
      ...(isRounding(rateAmount) ? [] : ['rate' as const]),
    ];
  const [ours, theirs] = [row.accruedList, row.list];
  const isSameList =
    ours !== null &&
    theirs !== null &&
    isNear(ours.unscaled * tenTo(theirs.scale), theirs.unscaled * tenTo(ours.scale), 100n);
  return [isSameList ? 'rate' : 'quantity-unknown'];
}

/**
 * The sum of a match's days, without the days that the bill does not cover yet. Of unmetered lines only GPUs count,
 * because a cloud's bill contains much else.
 */
function findingOf(match: Match, rows: readonly VarianceRow[], threshold: VarianceThreshold): VarianceFinding | null {
  const counted = rows.filter(({ reasons }) => !reasons.includes('not-billed-yet'));
  const [first] = counted;
  const isOfGpus =
    match.accrued.length > 0 ||
    match.billed.some(({ gpuModel, billedPartMs }) => gpuModel !== null || (billedPartMs ?? 0n) > 0n);
  if (first === undefined || !isOfGpus) return null;
  const [accrued, compared] = [sumOf(counted, (row) => row.accrued), sumOf(counted, (row) => row.compared)];
  const amount = less(compared ?? ZERO, accrued ?? ZERO);
  const isBeyond =
    compareDecimal(absolute(amount), threshold.amount) > 0 &&
    compareDecimal(absolute(amount), times(threshold.ratio, accrued ?? ZERO)) > 0;
  if (!isBeyond) return null;
  const { team, provider, account, sku, gpuModel, region, term, component, currency } = first;
  const isPriced = match.accrued.every(({ unpricedLines }) => unpricedLines === 0);
  const reasons = REASONS.filter((reason) => counted.some((row) => row.reasons.includes(reason)));
  return {
    team,
    provider,
    account,
    sku,
    gpuModel,
    region,
    term,
    component,
    currency,
    accrued,
    compared,
    amount,
    ratio: isPriced ? ratioOf(amount, accrued) : null,
    days: counted.length,
    reasons,
  };
}

const times = (a: Decimal, b: Decimal): Decimal => ({ unscaled: a.unscaled * b.unscaled, scale: a.scale + b.scale });

/**
 * The evidence of a month's closed bills about each metered key, over all teams (a rate belongs to an account, whoever
 * used it): only if exactly one key is behind the lines. In the bill's own currency.
 * @param billed as the bill states it, not converted
 */
export function rateEvidence({ accrued, billed, names }: Reconciliation, fx: FxTable): RateEvidence[] {
  const usage = billed.filter(({ category }) => category === 'Usage');
  const currencies = new Map(
    [...grouped(usage, ({ provider }) => provider)].map(([provider, cells]) => [
      provider,
      unanimous(cells.map(({ currency }) => currency)),
    ]),
  );
  const comparable = accrued.map((cell) => accruedIn(currencies.get(cell.provider) ?? cell.currency, cell, fx));
  return matchCells(comparable, usage, names).flatMap((match) => evidenceOf(match) ?? []);
}

function evidenceOf({ accrued, billed }: Match): RateEvidence | null {
  const [first] = accrued;
  if (first === undefined || billed.length === 0 || first.sku === null || first.component !== 'gpu') return null;
  const key = {
    provider: first.provider,
    account: first.account,
    sku: first.sku,
    region: first.region,
    term: first.term,
  };
  const isOneKey = accrued.every(
    (cell) =>
      cell.component === 'gpu' &&
      cell.account === key.account &&
      cell.sku === key.sku &&
      cell.region === key.region &&
      cell.term === key.term,
  );
  if (!isOneKey || !billed.every(({ isClosed }) => isClosed)) return null;
  const charged = sumOf(billed, ({ compared }) => compared);
  const priced = accrued.filter(({ nanos }) => nanos !== null);
  return {
    key,
    billedAccounts: [...new Set(billed.map(({ account }) => account))].sort(),
    currency: first.currency,
    periodStart: Math.min(...billed.map(({ periodStart }) => periodStart)),
    periodEnd: Math.max(...billed.map(({ periodEnd }) => periodEnd)),
    days: new Set(priced.map(({ day }) => day)).size,
    meteredPartMs: priced.reduce((sum, { meteredPartMs }) => sum + (meteredPartMs ?? 0n), 0n),
    billedPartMs: billed.some(({ billedPartMs }) => billedPartMs === null)
      ? null
      : billed.reduce((sum, { billedPartMs }) => sum + (billedPartMs ?? 0n), 0n),
    listNanos: priced.reduce((sum, { listNanos }) => sum + (listNanos ?? 0n), 0n),
    charged: charged ?? ZERO,
    billedList: billed.some(({ list }) => list === null) ? null : sumOf(billed, ({ list }) => list),
    hasUnpriced: accrued.some(({ unpricedLines }) => unpricedLines > 0),
    lacksAmortisation: billed.some(
      ({ lacksEffective, term }) => lacksEffective && term !== null && term !== 'on-demand' && term !== 'spot',
    ),
  };
}

/** A decimal for people and tables, or null. */
export const decimalText = (amount: Decimal | null): string | null => (amount === null ? null : formatDecimal(amount));
