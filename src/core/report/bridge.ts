/**
 * Why a month cost another amount than the month before: volume, price, mix, what is new, what is gone, charges and
 * credits.
 *
 * The parts sum to the change exactly, cell by cell and in all, whatever is rounded: each part is the difference of two
 * amounts, and every amount but the first and the last stands in two parts with opposite signs. Usage without a price
 * is in no part; its quantity is stated separately.
 *
 * A cell is a provider's SKU under a term, in one charge category. c0, c1 are its cost before and after, q0, q1 its
 * priced GPU time, and Q0, Q1 those of its group: the cells of the same GPU kind that were used in both months.
 *   volume = c0 Q1/Q0 - c0         the group grew, at the old price and the old shares
 *   mix    = c0 q1/q0 - c0 Q1/Q0   what is left of the cell's own growth: its share of the group changed
 *   price  = c1 - c0 q1/q0         the new quantity, by how much an hour got dearer (storage and traffic of the cell
 *   included)
 * A cell without quantity before is `new`, one without quantity after is `gone`; where either month has an amount
 * without a quantity (a purchase, a tax, storage of its own) the change is `charges`, of the category Credit `credits`.
 *
 * Source: the sales-quantity and sales-mix variances of C. Horngren, S. Datar, M. Rajan, "Cost Accounting: A Managerial
 * Emphasis", chapter 14, applied to what is bought instead of sold; the price part is the usual price variance at the
 * new quantity.
 */
import { divideHalfEven } from '../money.js';
import type { ChargeCategory, Term } from '../usage.js';

export const EFFECTS = ['volume', 'price', 'mix', 'new', 'gone', 'charges', 'credits'] as const;
export type EffectName = (typeof EFFECTS)[number];
export type Effects = Readonly<Record<EffectName, bigint>>;

export interface BridgeKey {
  readonly provider: string;
  readonly sku: string | null;
  readonly gpuModel: string | null;
  readonly term: Term | null;
  readonly category: ChargeCategory;
}

/** A cell in one month. */
export interface BridgeSide {
  /** In a unit that both months share; the priced part only. */
  readonly cost: bigint;
  /** Priced GPU part-milliseconds; zero where the cost has no quantity. */
  readonly quantity: bigint;
}

export interface BridgeInput extends BridgeKey {
  readonly before: BridgeSide;
  readonly after: BridgeSide;
}

export interface BridgeCell extends BridgeKey {
  readonly before: bigint;
  readonly after: bigint;
  readonly effects: Effects;
}

export interface Bridge {
  readonly before: bigint;
  readonly after: bigint;
  readonly effects: Effects;
  /** Largest change first, then by name. */
  readonly cells: readonly BridgeCell[];
}

const NONE: Effects = { volume: 0n, price: 0n, mix: 0n, new: 0n, gone: 0n, charges: 0n, credits: 0n };

const isUsed = ({ quantity }: BridgeSide): boolean => quantity > 0n;
const isEmpty = ({ cost, quantity }: BridgeSide): boolean => cost === 0n && quantity <= 0n;
const lasts = ({ before, after, category }: BridgeInput): boolean =>
  category === 'Usage' && isUsed(before) && isUsed(after);

/** Cells that can stand in for each other: of one GPU kind. A cell of an unknown kind is compared with itself only. */
const groupOf = (key: BridgeKey): string => (key.gpuModel === null ? `cell ${nameOf(key)}` : `kind ${key.gpuModel}`);

const nameOf = ({ provider, sku, gpuModel, term, category }: BridgeKey): string =>
  JSON.stringify([provider, sku, gpuModel, term, category]);

/** @param inputs each cell once */
export function bridgeOf(inputs: readonly BridgeInput[]): Bridge {
  const groups = new Map<string, { before: bigint; after: bigint }>();
  for (const input of inputs.filter(lasts)) {
    const group = groups.get(groupOf(input)) ?? { before: 0n, after: 0n };
    groups.set(groupOf(input), {
      before: group.before + input.before.quantity,
      after: group.after + input.after.quantity,
    });
  }
  const cells = inputs.map((input): BridgeCell => {
    const { before, after, ...key } = input;
    return { ...key, before: before.cost, after: after.cost, effects: effectsOf(input, groups.get(groupOf(input))) };
  });
  return {
    before: cells.reduce((sum, cell) => sum + cell.before, 0n),
    after: cells.reduce((sum, cell) => sum + cell.after, 0n),
    effects: cells.reduce((sum, cell) => addEffects(sum, cell.effects), NONE),
    cells: cells.toSorted(bySize),
  };
}

function effectsOf(
  input: BridgeInput,
  group: { readonly before: bigint; readonly after: bigint } | undefined,
): Effects {
  const { before, after, category } = input;
  const change = after.cost - before.cost;
  if (category === 'Credit') return { ...NONE, credits: change };
  if (category !== 'Usage') return { ...NONE, charges: change };
  if (lasts(input) && group !== undefined) {
    const grown = divideHalfEven(before.cost * group.after, group.before);
    const atOldPrice = divideHalfEven(before.cost * after.quantity, before.quantity);
    return { ...NONE, volume: grown - before.cost, mix: atOldPrice - grown, price: after.cost - atOldPrice };
  }
  if (isEmpty(before) && isUsed(after)) return { ...NONE, new: change };
  if (isUsed(before) && isEmpty(after)) return { ...NONE, gone: change };
  return { ...NONE, charges: change };
}

export function addEffects(a: Effects, b: Effects): Effects {
  return {
    volume: a.volume + b.volume,
    price: a.price + b.price,
    mix: a.mix + b.mix,
    new: a.new + b.new,
    gone: a.gone + b.gone,
    charges: a.charges + b.charges,
    credits: a.credits + b.credits,
  };
}

export const NO_EFFECTS: Effects = NONE;

const size = ({ before, after }: BridgeCell): bigint => (after > before ? after - before : before - after);

function bySize(a: BridgeCell, b: BridgeCell): number {
  const [x, y] = [size(a), size(b)];
  if (x !== y) return x > y ? -1 : 1;
  return nameOf(a) < nameOf(b) ? -1 : 1;
}
