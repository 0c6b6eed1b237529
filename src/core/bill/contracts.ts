/**
 * Commitments of contracts (FOCUS dataset Contract Commitment), and the amounts that bills applied to them (FOCUS
 * ContractApplied): how far each commitment is fulfilled. Computes only ratios; a contract adds no cost and changes no
 * counting.
 *
 * The invariant: unknown is never zero. A ratio is null if an applied line does not state the commitment's unit, or if
 * the agreed amount is unknown.
 */
import { addDecimal, formatDecimal, ratioOf, ZERO, type Decimal } from '../decimal.js';
import { DAY_MS, formatDay, formatInstant, parseDay } from '../time.js';
import type { ContractCommitment, UsageRecord } from '../usage.js';

/** What the lines of a day applied to a commitment, in one currency and one unit. */
export interface ContractUse {
  /** UTC day on which the charges start, `2026-10-05`. */
  readonly day: string;
  /** ContractCommitmentId */
  readonly commitment: string;
  readonly currency: string;
  readonly unit: string | null;
  readonly lines: number;
  /** Of the lines that state one; `withoutCost` others do not. */
  readonly cost: Decimal;
  readonly withoutCost: number;
  readonly quantity: Decimal;
  readonly withoutQuantity: number;
}

type Sums = { -readonly [K in keyof ContractUse]: ContractUse[K] };

/** Gathers what the lines of a bill say of contracts. */
export class ContractSums {
  private readonly sums = new Map<string, Sums>();

  add({ charge, start }: UsageRecord): void {
    if (charge?.contracts === undefined || charge.contracts === null) return;
    const day = formatDay(Math.floor(start / DAY_MS));
    for (const { id: commitment, cost, quantity, unit } of charge.contracts) {
      const of = { day, commitment, currency: charge.currency, unit };
      const key = JSON.stringify(Object.values(of));
      let sum = this.sums.get(key);
      if (sum === undefined) this.sums.set(key, (sum = { ...of, ...NOTHING }));
      sum.lines += 1;
      if (cost === null) sum.withoutCost += 1;
      else sum.cost = addDecimal(sum.cost, cost);
      if (quantity === null) sum.withoutQuantity += 1;
      else sum.quantity = addDecimal(sum.quantity, quantity);
    }
  }

  /** The lines gathered since the last call. */
  drain(): ContractUse[] {
    const all = [...this.sums.values()];
    this.sums.clear();
    return all;
  }
}

const NOTHING = { lines: 0, cost: ZERO, withoutCost: 0, quantity: ZERO, withoutQuantity: 0 };

/** How far a commitment of a contract is fulfilled. Amounts are decimal strings, ratios have six digits. */
export interface ContractFulfilment {
  readonly commitment: string;
  readonly contract: string | null;
  readonly provider: string | null;
  /** Null: bills name it, and no dataset says what was agreed. */
  readonly category: 'Spend' | 'Usage' | null;
  readonly type: string | null;
  readonly description: string | null;
  /** ISO 8601. */
  readonly periodStart: string | null;
  readonly periodEnd: string | null;
  /** Its unit: a currency, or a unit of quantity. */
  readonly unit: string;
  readonly committed: string | null;
  /** By bills, of charges that start within its period. */
  readonly applied: string;
  /** Below zero: more was applied than was agreed. */
  readonly remaining: string | null;
  readonly fulfilment: string | null;
  /** Lines that are in `applied` with nothing, because they state another currency or unit, or none. */
  readonly unknownLines: number;
}

export function contractReport(
  terms: readonly ContractCommitment[],
  uses: readonly ContractUse[],
): ContractFulfilment[] {
  const known = new Set(terms.map(({ id }) => id));
  const others = [...new Set(uses.map(({ commitment }) => commitment))].filter((id) => !known.has(id)).sort();
  return [
    ...terms
      .toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : a.start - b.start))
      .map((one) => fulfilmentOf(one, uses)),
    ...others.flatMap((id) => unagreed(uses.filter(({ commitment }) => commitment === id))),
  ];
}

function fulfilmentOf(
  {
    id,
    contract,
    provider,
    category,
    type,
    description,
    currency,
    cost,
    quantity,
    unit,
    start,
    end,
  }: ContractCommitment,
  uses: readonly ContractUse[],
): ContractFulfilment {
  const own = uses.filter(({ commitment, day }) => {
    const at = (parseDay(day) ?? 0) * DAY_MS;
    return commitment === id && at + DAY_MS > start && at < end;
  });
  const [measure, committed] = category === 'Spend' ? [currency, cost] : [unit, quantity];
  let [applied, unknownLines] = [ZERO, 0];
  for (const use of own) {
    const isSo = category === 'Spend' ? use.currency === measure : use.unit === measure;
    const [part, without] = category === 'Spend' ? [use.cost, use.withoutCost] : [use.quantity, use.withoutQuantity];
    if (isSo) applied = addDecimal(applied, part);
    unknownLines += isSo ? without : use.lines;
  }
  return {
    commitment: id,
    contract,
    provider,
    category,
    type,
    description,
    periodStart: formatInstant(start),
    periodEnd: formatInstant(end),
    unit: measure ?? '',
    committed: committed === null ? null : formatDecimal(committed),
    applied: formatDecimal(applied),
    remaining: committed === null ? null : formatDecimal(addDecimal(committed, negative(applied))),
    fulfilment: committed === null || unknownLines > 0 ? null : ratioOf(applied, committed),
    unknownLines,
  };
}

/** What bills apply to a commitment of which nothing is known, once for each currency or unit. */
function unagreed(uses: readonly ContractUse[]): ContractFulfilment[] {
  const sums = new Map<string, Decimal>();
  for (const { currency, unit, cost, withoutCost, quantity, lines } of uses) {
    const [measure, part] = withoutCost < lines ? [currency, cost] : [unit ?? '', quantity];
    sums.set(measure, addDecimal(sums.get(measure) ?? ZERO, part));
  }
  const none = { contract: null, provider: null, category: null, type: null, description: null };
  return [...sums].map(([unit, applied]) => ({
    ...none,
    commitment: uses[0]?.commitment ?? '',
    periodStart: null,
    periodEnd: null,
    unit,
    committed: null,
    applied: formatDecimal(applied),
    remaining: null,
    fulfilment: null,
    unknownLines: 0,
  }));
}

const negative = ({ unscaled, scale }: Decimal): Decimal => ({ unscaled: -unscaled, scale });
