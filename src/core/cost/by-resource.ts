/**
 * The cost of each resource, from sums that keep no resource: a sum is divided among the resources of its records by
 * their GPU time (or by their billed amounts, if a bill names no GPU time), by largest remainder. The parts add up to
 * the sum; the part of records without a resource is shown without one. The same works for any other name in a record.
 */
import { addDecimal, tenTo, ZERO, type Decimal } from '../decimal.js';
import { splitByLargestRemainder } from '../money.js';
import { clippedMs, type UsageRecord } from '../usage.js';
import type { Interval } from '../time.js';

/** The cost of a team's dimension in the period, in one currency. */
export interface ResourceSum {
  readonly team: string;
  readonly dimension: string;
  readonly currency: string;
  /** Null: it has no price. */
  readonly cost: Decimal | null;
}

export interface ResourceCost {
  /** Null: of no named resource. */
  readonly resource: string | null;
  readonly team: string;
  readonly currency: string;
  readonly cost: Decimal | null;
  /** GPU part-milliseconds in the time; null: none was recorded. */
  readonly parts: bigint | null;
}

interface Weight {
  parts: bigint;
  billed: Decimal;
}

/** Weights of the records of each team's dimension, resource by resource. */
export class ResourceWeights {
  private readonly cells = new Map<string, Map<string | null, Weight>>();

  /** @param nameOf what the sums are divided by; null: a record without one */
  constructor(
    private readonly span: Interval,
    private readonly nameOf: (record: UsageRecord) => string | null = ({ resource }) => resource,
  ) {}

  add(team: string, dimension: string, record: UsageRecord): void {
    const ms = clippedMs(record, this.span);
    if (ms <= 0) return;
    const key = keyOf(team, dimension);
    let cell = this.cells.get(key);
    if (cell === undefined) this.cells.set(key, (cell = new Map()));
    const name = this.nameOf(record);
    const weight = cell.get(name) ?? { parts: 0n, billed: ZERO };
    weight.parts += BigInt(Math.round((record.gpuParts ?? 0) * ms));
    if (record.charge !== null) weight.billed = addDecimal(weight.billed, record.charge.billed);
    cell.set(name, weight);
  }

  weightsOf(team: string, dimension: string): ReadonlyMap<string | null, Weight> {
    return this.cells.get(keyOf(team, dimension)) ?? new Map();
  }
}

const keyOf = (team: string, dimension: string): string => `${team}\u0001${dimension}`;

/** By cost, largest first, then by name; entries without a price last. */
export function costsByResource(sums: readonly ResourceSum[], weights: ResourceWeights): ResourceCost[] {
  const rows = new Map<string, { -readonly [K in keyof ResourceCost]: ResourceCost[K] }>();
  const add = (one: ResourceCost): void => {
    const key = JSON.stringify([one.resource, one.team, one.currency]);
    const known = rows.get(key);
    if (known === undefined) rows.set(key, { ...one });
    else {
      if (one.cost !== null) known.cost = addDecimal(known.cost ?? ZERO, one.cost);
      if (one.parts !== null) known.parts = (known.parts ?? 0n) + one.parts;
    }
  };
  for (const { team, dimension, currency, cost } of sums) {
    const own = [...weights.weightsOf(team, dimension)].sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1));
    const shares =
      own.length === 0 || cost === null
        ? null
        : sharesOf(
            cost,
            own.map(([, weight]) => weight),
          );
    if (shares === null) add({ resource: null, team, currency, cost: own.length === 0 ? cost : null, parts: null });
    own.forEach(([resource, { parts }], at) =>
      add({ resource, team, currency, cost: shares?.[at] ?? null, parts: parts === 0n ? null : parts }),
    );
  }
  const size = ({ cost }: ResourceCost): number =>
    cost === null ? -Infinity : Number(cost.unscaled) / Number(tenTo(cost.scale));
  return [...rows.values()]
    .filter(({ resource, cost, parts }) => resource !== null || cost !== null || parts !== null)
    .sort((a, b) => size(b) - size(a) || ((a.resource ?? '\uffff') < (b.resource ?? '\uffff') ? -1 : 1));
}

function sharesOf(cost: Decimal, weights: readonly Weight[]): Decimal[] {
  const scale = Math.max(...weights.map(({ billed }) => billed.scale));
  const byTime = weights.some(({ parts }) => parts > 0n);
  const amounts = weights.map(({ parts, billed }) => {
    // A correction may leave less than nothing: it weighs nothing.
    if (byTime) return parts > 0n ? parts : 0n;
    const amount = billed.unscaled * tenTo(scale - billed.scale);
    return amount < 0n ? -amount : amount;
  });
  const even = amounts.every((amount) => amount === 0n);
  const split = splitByLargestRemainder(cost.unscaled, even ? amounts.map(() => 1n) : amounts);
  return split.map((unscaled) => ({ unscaled, scale: cost.scale }));
}
