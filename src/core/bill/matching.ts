/**
 * Matches lines of a bill with metered usage. No match is forced: where names are ambiguous, one coarser group is
 * compared (a meter without a region beside a bill with two), and a cell without a counterpart stays alone. Every cell
 * is in exactly one match, in whatever order the cells arrive.
 */
import { tenTo, type Decimal } from '../decimal.js';
import type { FxTable, FxUsed } from '../price/fx.js';
import { divideHalfEven, type Ratio } from '../money.js';
import type { Component } from '../price/price.js';
import { DAY_MS, parseDay } from '../time.js';
import type { ChargeCategory, Term } from '../usage.js';

/** The fields that match cells. */
export interface CellKey {
  readonly provider: string;
  readonly account: string | null;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly region: string | null;
  readonly term: Term | null;
}

/** The accrual of metered usage for one team on one UTC day and one part of the cost model. Null: unknown. */
export interface AccruedCell extends CellKey {
  readonly team: string;
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly component: Component;
  /** The account whose bills it meets, its payer's; absent: its own. */
  readonly billedTo?: string | null;
  readonly currency: string;
  readonly nanos: bigint | null;
  /** Without learned rates. */
  readonly listNanos: bigint | null;
  /** GPU part-milliseconds with a price. */
  readonly meteredPartMs: bigint | null;
  readonly unpricedPartMs: bigint;
  readonly unpricedLines: number;
  /** Cost lines behind it, each rounded once. */
  readonly lines: number;
}

/** The bill's amounts for one team on one UTC day (the day in which its charge periods start). */
export interface BilledCell extends CellKey {
  readonly team: string;
  readonly day: string;
  readonly category: ChargeCategory;
  readonly currency: string;
  /** The bill's own currency where it was converted, by the day's rate to the nano; null if it was not. */
  readonly billedCurrency: string | null;
  readonly isUnconverted: boolean;
  readonly billed: Decimal;
  /** Null if no line states it. */
  readonly effective: Decimal | null;
  /** Null if a line states none. */
  readonly list: Decimal | null;
  /**
   * The cost that an accrual is compared with, line by line: effective, or billed if the line states no effective cost.
   */
  readonly compared: Decimal;
  readonly lacksEffective: boolean;
  /** GPU part-milliseconds; null if a line states none. */
  readonly billedPartMs: bigint | null;
  /** A line is about more than this day. */
  readonly spansDays: boolean;
  /** The last day that its lines are about. */
  readonly lastDay: string;
  /** The bill period is closed. */
  readonly isClosed: boolean;
  readonly periodStart: number;
  readonly periodEnd: number;
}

/** Cells in their teams' currencies, where the day has a rate. */
export function inTeamsCurrencies(
  cells: readonly BilledCell[],
  currencyOf: (team: string) => string,
  fx: FxTable,
): BilledCell[] {
  return cells.map((cell) => {
    const currency = currencyOf(cell.team);
    if (cell.currency === currency) return cell;
    const used = rateOn(fx, cell.day, cell.currency, currency);
    if (used === null) return { ...cell, isUnconverted: true };
    const inTeams = (amount: Decimal): Decimal => converted(amount, used.rate);
    return {
      ...cell,
      currency,
      billedCurrency: cell.currency,
      billed: inTeams(cell.billed),
      compared: inTeams(cell.compared),
      effective: cell.effective === null ? null : inTeams(cell.effective),
      list: cell.list === null ? null : inTeams(cell.list),
    };
  });
}

/** An accrual in another currency, by its day's rate to the nano; unchanged if there is no rate. */
export function accruedIn(currency: string, cell: AccruedCell, fx: FxTable): AccruedCell {
  const used = cell.currency === currency ? null : rateOn(fx, cell.day, cell.currency, currency);
  if (used === null) return cell;
  const inOther = (nanos: bigint | null): bigint | null =>
    nanos === null ? null : divideHalfEven(nanos * used.rate.numerator, used.rate.denominator);
  return { ...cell, currency, nanos: inOther(cell.nanos), listNanos: inOther(cell.listNanos) };
}

const rateOn = (fx: FxTable, day: string, from: string, to: string): FxUsed | null =>
  fx.rate(from, to, (parseDay(day) ?? 0) * DAY_MS);

function converted({ unscaled, scale }: Decimal, { numerator, denominator }: Ratio): Decimal {
  return { unscaled: divideHalfEven(unscaled * numerator * tenTo(9), denominator * tenTo(scale)), scale: 9 };
}

/** The account by which metered usage and lines of bills are compared. */
export const payerOf = (cell: CellKey & { readonly billedTo?: string | null }): string | null =>
  cell.billedTo === undefined ? cell.account : cell.billedTo;

const keyParts = ({ provider, account, sku, gpuModel, region, term }: CellKey): readonly (string | null)[] => [
  provider,
  account,
  sku,
  gpuModel,
  region,
  term,
];

/** How a bill's SKU was recognised. From the surest to the least sure. */
const MATCHED_BY = ['sku', 'resource', 'gpu-model'] as const;
export type MatchedBy = (typeof MATCHED_BY)[number];

interface Named {
  readonly name: string;
  readonly by: MatchedBy;
}

/**
 * The meter's names of the SKUs of bills. A bill's SKU is the meter's own (an instance type), or a price id, which is
 * recognised by the resources that both name, or by a GPU model for which the meter has only one name.
 */
export class SkuNames {
  private readonly metered = new Set<string>();
  private readonly byModel = new Map<string, Set<string>>();
  /** By SKU of a bill, how many of its resources the meter has under each name. */
  private readonly links = new Map<string, Map<string, number>>();

  /** @param modelOfSku the GPU of a SKU by the price lists: undefined if they do not know the SKU */
  constructor(
    accrued: readonly CellKey[],
    private readonly modelOfSku: (provider: string, sku: string) => string | null | undefined,
  ) {
    for (const key of accrued) {
      const name = nameOfMetered(key);
      if (name === null) continue;
      this.metered.add(text(key.provider, name));
      const model = key.gpuModel ?? (key.sku === null ? null : (modelOfSku(key.provider, key.sku) ?? null));
      if (model !== null) add(this.byModel, text(key.provider, model), name);
    }
  }

  /** Whether the name alone identifies it: a SKU of the meter or of a price list. */
  isSignificant(provider: string, sku: string): boolean {
    return this.metered.has(text(provider, `sku:${sku}`)) || this.modelOfSku(provider, sku) !== undefined;
  }

  /** A resource that the bill has under one SKU and the meter under another. */
  link(provider: string, billedSku: string, metered: Pick<CellKey, 'sku' | 'gpuModel'>): void {
    const name = nameOfMetered(metered);
    if (name === null) return;
    const key = text(provider, billedSku);
    const counts = this.links.get(key) ?? new Map<string, number>();
    this.links.set(key, counts.set(name, (counts.get(name) ?? 0) + 1));
  }

  /** The meter's name of a bill's line; null if unknown. */
  match({ provider, sku, gpuModel }: CellKey): Named | null {
    if (sku !== null && this.metered.has(text(provider, `sku:${sku}`))) return { name: `sku:${sku}`, by: 'sku' };
    const isSignificant = sku !== null && this.isSignificant(provider, sku);
    const linked = isSignificant || sku === null ? undefined : this.links.get(text(provider, sku));
    if (linked !== undefined) return mostOf(linked);
    const model = gpuModel ?? (sku === null ? null : (this.modelOfSku(provider, sku) ?? null));
    const named = [...((model === null ? undefined : this.byModel.get(text(provider, model))) ?? [])];
    // Another SKU that both sides could have named is another SKU; a meter that names models only may mean it.
    return onlyOneOf(new Set(isSignificant ? named.filter((name) => name.startsWith('model:')) : named), 'gpu-model');
  }
}

const text = (...parts: readonly (string | null)[]): string => JSON.stringify(parts);
const nameOfMetered = ({ sku, gpuModel }: Pick<CellKey, 'sku' | 'gpuModel'>): string | null =>
  sku !== null ? `sku:${sku}` : gpuModel !== null ? `model:${gpuModel}` : null;

function add(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set<string>()).add(value));
}

/** The name of more than half of the resources: one of them may have been resized since, and have another name now. */
function mostOf(linked: ReadonlyMap<string, number>): Named | null {
  const all = [...linked.values()].reduce((sum, count) => sum + count, 0);
  const [name] = [...linked].find(([, count]) => 2 * count > all) ?? [];
  return name === undefined ? null : { name, by: 'resource' };
}

function onlyOneOf(names: ReadonlySet<string>, by: MatchedBy): Named | null {
  const [name, other] = names;
  return name === undefined || other !== undefined ? null : { name, by };
}

/** Metered usage and lines of bills that are about the same. One side may be empty. */
export interface Match {
  readonly accrued: readonly AccruedCell[];
  readonly billed: readonly BilledCell[];
  /** How the bill's SKUs were recognised, the least sure way of them; null if nothing was matched. */
  readonly by: MatchedBy | null;
}

/** Cells of one side that agree in what they are matched by. */
interface Node {
  readonly account: string | null;
  readonly region: string | null;
  /**
   * Spot is another market; whether a commitment covers on-demand usage is the bill's to say, a meter cannot know (AWS
   * Savings Plans User Guide).
   */
  readonly isSpot: boolean | null;
  readonly accrued: AccruedCell[];
  readonly billed: BilledCell[];
  readonly by: Set<MatchedBy>;
  /** The match that it belongs to. */
  root: Node | null;
}

/**
 * Matches usage by SKU, and by account, region and market if both sides state them. A field that one side leaves open
 * fits all values, and all cells that it fits become one match.
 * @param billed of the category Usage
 */
export function matchCells(accrued: readonly AccruedCell[], billed: readonly BilledCell[], names: SkuNames): Match[] {
  const buckets = new Map<string, { readonly metered: Map<string, Node>; readonly billed: Map<string, Node> }>();
  const node = (side: 'metered' | 'billed', bucketKey: readonly (string | null)[], cell: CellKey): Node => {
    const name = text(...bucketKey);
    let bucket = buckets.get(name);
    if (bucket === undefined) buckets.set(name, (bucket = { metered: new Map(), billed: new Map() }));
    const isSpot = cell.term === null ? null : cell.term === 'spot';
    const account = payerOf(cell);
    const key = JSON.stringify([account, cell.region, isSpot]);
    let found = bucket[side].get(key);
    if (found === undefined)
      bucket[side].set(
        key,
        (found = { account, region: cell.region, isSpot, accrued: [], billed: [], by: new Set(), root: null }),
      );
    return found;
  };
  const gpus = new Set(accrued.filter(({ component }) => component === 'gpu').map((cell) => text(...keyParts(cell))));
  for (const cell of accrued) {
    const { provider, currency, component } = cell;
    const name = nameOfMetered(cell);
    // Beside GPUs, storage and network have their own names.
    const isNamed = name !== null && (component === 'gpu' || !gpus.has(text(...keyParts(cell))));
    node(
      'metered',
      isNamed ? [provider, currency, name] : [provider, currency, component, cell.sku, cell.gpuModel],
      cell,
    ).accrued.push(cell);
  }
  for (const cell of billed) {
    const { provider, currency } = cell;
    const named = names.match(cell);
    const own = node(
      'billed',
      named === null ? [provider, currency, 'unknown', cell.sku, cell.gpuModel, ''] : [provider, currency, named.name],
      cell,
    );
    own.billed.push(cell);
    if (named !== null) own.by.add(named.by);
  }
  return [...buckets.values()].flatMap(({ metered, billed: lines }) =>
    joined([...metered.values()], [...lines.values()]),
  );
}

/** Joins what fits, and what that fits in turn. */
function joined(metered: readonly Node[], billed: readonly Node[]): Match[] {
  for (const one of metered) for (const other of billed) if (fits(one, other)) unite(one, other);
  const matches = new Map<Node, { accrued: AccruedCell[]; billed: BilledCell[]; by: Set<MatchedBy> }>();
  for (const one of [...metered, ...billed]) {
    const root = rootOf(one);
    const match = matches.get(root) ?? { accrued: [], billed: [], by: new Set() };
    match.accrued.push(...one.accrued);
    match.billed.push(...one.billed);
    for (const by of one.by) match.by.add(by);
    matches.set(root, match);
  }
  return [...matches.values()].map(({ by, ...match }) => ({
    ...match,
    by:
      match.accrued.length === 0 || match.billed.length === 0
        ? null
        : (MATCHED_BY.findLast((way) => by.has(way)) ?? null),
  }));
}

function fits(one: Node, other: Node): boolean {
  const agree = <T>(a: T | null, b: T | null): boolean => a === null || b === null || a === b;
  return agree(one.account, other.account) && agree(one.region, other.region) && agree(one.isSpot, other.isSpot);
}

function rootOf(node: Node): Node {
  if (node.root === null) return node;
  node.root = rootOf(node.root);
  return node.root;
}

function unite(one: Node, other: Node): void {
  const [a, b] = [rootOf(one), rootOf(other)];
  if (a !== b) b.root = a;
}
