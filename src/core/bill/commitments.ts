/**
 * The use of commitments, and the share of usage that they covered, from the lines of bills (FOCUS
 * CommitmentDiscountStatus and related columns).
 *
 * Utilisation of a commitment: the effective cost of its used part divided by that of its used and unused part.
 * Coverage of a service: the list cost of covered usage divided by the list cost of covered and on-demand usage,
 * whether or not a commitment could cover it (a disk, traffic). Neither contains spot usage, nor usage whose bill does
 * not say how it was paid for, as in the bills of Google Cloud and Alibaba Cloud. Both follow FOCUS' own use cases
 * ("commitment discount utilisation", "coverage").
 *
 * The invariant: unknown is never zero. A ratio is null if a line that belongs to it lacks its cost, or if the divisor
 * is zero; the sums state the number of such lines.
 */
import { addDecimal, DecimalSum, formatDecimal, ratioOf, ZERO, type Decimal } from '../decimal.js';
import type { ContractFulfilment } from './contracts.js';
import { DAY_MS, formatDay } from '../time.js';
import type { Charge, UsageRecord } from '../usage.js';

/** Sums of lines that agree in everything but cost. */
export interface CommitmentUse {
  /** UTC day on which the charges start, `2026-10-05`. */
  readonly day: string;
  readonly provider: string;
  readonly account: string | null;
  readonly service: string | null;
  readonly currency: string;
  /** Null: on-demand usage, which no commitment covers. */
  readonly commitment: string | null;
  readonly category: 'Usage' | 'Spend' | null;
  readonly type: string | null;
  readonly name: string | null;
  /** Null: on-demand usage, the purchase of a commitment, or a bill that does not say. */
  readonly status: 'Used' | 'Unused' | null;
  /** Its cost and the refunds of that: fees, purchases and their refunds, in any status. */
  readonly purchase: boolean;
  readonly lines: number;
  readonly billed: Decimal;
  /** Of the lines that state it; `withoutEffective` others do not. */
  readonly effective: Decimal;
  readonly withoutEffective: number;
  readonly list: Decimal;
  readonly withoutList: number;
}

type Amount = 'billed' | 'effective' | 'list';
type Sums = { -readonly [K in keyof CommitmentUse]: K extends Amount ? DecimalSum : CommitmentUse[K] };

/** Gathers what the lines of a bill say of commitments. Holds one sum a commitment, service and day. */
export class CommitmentSums {
  private readonly sums = new Map<string, Sums>();
  /** The sum of the line before, by service: most lines go where the one before them went. */
  private readonly recent = new Map<string | null, { readonly day: number; readonly sum: Sums }>();

  add(record: UsageRecord): void {
    const { charge } = record;
    if (charge === null) return;
    const commitment = charge.commitment ?? null;
    const { category } = charge;
    if (commitment === null ? record.term !== 'on-demand' || category !== 'Usage' : isTaxOrCredit(category)) return;
    const purchase = category !== 'Usage';
    const day = Math.floor(record.start / DAY_MS);
    const known = this.recent.get(record.service);
    const sum =
      known?.day === day && isOf(known.sum, record, charge, purchase)
        ? known.sum
        : this.sumOf(record, charge, day, purchase);
    sum.lines += 1;
    sum.billed.add(charge.billed);
    if (charge.effective === null) sum.withoutEffective += 1;
    else sum.effective.add(charge.effective);
    if (charge.list === null) sum.withoutList += 1;
    else sum.list.add(charge.list);
  }

  /** The lines gathered since the last call. */
  drain(): CommitmentUse[] {
    const all = [...this.sums.values()];
    this.sums.clear();
    this.recent.clear();
    return all;
  }

  private sumOf({ provider, account, service }: UsageRecord, charge: Charge, day: number, purchase: boolean): Sums {
    const { commitment, currency } = charge;
    const of = {
      day: formatDay(day),
      provider,
      account,
      service,
      currency,
      commitment: commitment?.id ?? null,
      category: commitment?.category ?? null,
      type: commitment?.type ?? null,
      name: commitment?.name ?? null,
      status: commitment?.status ?? null,
      purchase,
    };
    const key = JSON.stringify(Object.values(of));
    let sum = this.sums.get(key);
    if (sum === undefined) this.sums.set(key, (sum = { ...of, ...nothing() }));
    this.recent.set(service, { day, sum });
    return sum;
  }
}

/** Amounts that are billed for a commitment but are not its cost. */
const isTaxOrCredit = (category: Charge['category']): boolean => category === 'Tax' || category === 'Credit';

/** Whether a sum is that of a line of its day and service. */
const isOf = (sum: Sums, { provider, account }: UsageRecord, charge: Charge, purchase: boolean): boolean =>
  sum.commitment === (charge.commitment?.id ?? null) &&
  sum.status === (charge.commitment?.status ?? null) &&
  sum.category === (charge.commitment?.category ?? null) &&
  sum.type === (charge.commitment?.type ?? null) &&
  sum.name === (charge.commitment?.name ?? null) &&
  sum.account === account &&
  sum.provider === provider &&
  sum.currency === charge.currency &&
  sum.purchase === purchase;

const nothing = () => ({
  lines: 0,
  billed: new DecimalSum(),
  effective: new DecimalSum(),
  withoutEffective: 0,
  list: new DecimalSum(),
  withoutList: 0,
});

/** Amounts are decimal strings, ratios have six digits. */
export interface CommitmentUtilisation {
  readonly provider: string;
  readonly account: string | null;
  readonly commitment: string;
  readonly category: 'Usage' | 'Spend' | null;
  readonly type: string | null;
  readonly name: string | null;
  readonly currency: string;
  /** Billed for its purchase, fees and refunds included; neither tax nor credits. */
  readonly purchased: string;
  readonly used: string;
  readonly unused: string;
  /** Lines of it that are in neither, because their effective cost or whether they used it is not stated. */
  readonly unknownLines: number;
  readonly utilisation: string | null;
}

export interface CommitmentCoverage {
  readonly provider: string;
  readonly account: string | null;
  readonly service: string | null;
  readonly currency: string;
  readonly covered: string;
  readonly onDemand: string;
  /** Lines that are in neither, because their list cost is not stated. */
  readonly unknownLines: number;
  readonly coverage: string | null;
}

export interface CommitmentReport {
  /** Commitments of contracts, over their own periods. */
  readonly contracts: readonly ContractFulfilment[];
  readonly commitments: readonly CommitmentUtilisation[];
  readonly coverage: readonly CommitmentCoverage[];
}

export function commitmentReport(
  uses: readonly CommitmentUse[],
  contracts: readonly ContractFulfilment[] = [],
): CommitmentReport {
  const commitments = groupsOf(
    uses.filter(({ commitment }) => commitment !== null),
    ({ provider, account, commitment, currency }) => [provider, account, commitment, currency],
  );
  const services = groupsOf(
    uses.filter(({ commitment, status }) => commitment === null || status === 'Used'),
    ({ provider, account, service, currency }) => [provider, account, service, currency],
  );
  return { contracts, commitments: commitments.map(utilisationOf), coverage: services.map(coverageOf) };
}

function utilisationOf(uses: readonly [CommitmentUse, ...CommitmentUse[]]): CommitmentUtilisation {
  const [{ provider, account, currency }] = uses;
  const used = sumOf(uses, ({ status, effective }) => (status === 'Used' ? effective : ZERO));
  // AWS states what a reservation left unused on the lines of its fees.
  const unused = sumOf(uses, ({ status, effective }) => (status === 'Unused' ? effective : ZERO));
  const unknownLines = uses.reduce(
    (count, { status, purchase, lines, withoutEffective }) =>
      count + (status !== null ? withoutEffective : purchase ? 0 : lines),
    0,
  );
  const last = uses.at(-1) ?? uses[0];
  return {
    provider,
    account,
    commitment: last.commitment ?? '',
    category: last.category,
    type: last.type,
    name: last.name,
    currency,
    purchased: formatDecimal(sumOf(uses, ({ purchase, billed }) => (purchase ? billed : ZERO))),
    used: formatDecimal(used),
    unused: formatDecimal(unused),
    unknownLines,
    utilisation: unknownLines > 0 ? null : ratioOf(used, addDecimal(used, unused)),
  };
}

function coverageOf(uses: readonly [CommitmentUse, ...CommitmentUse[]]): CommitmentCoverage {
  const [{ provider, account, service, currency }] = uses;
  const covered = sumOf(uses, ({ commitment, list }) => (commitment === null ? ZERO : list));
  const onDemand = sumOf(uses, ({ commitment, list }) => (commitment === null ? list : ZERO));
  const unknownLines = uses.reduce((count, { withoutList }) => count + withoutList, 0);
  return {
    provider,
    account,
    service,
    currency,
    covered: formatDecimal(covered),
    onDemand: formatDecimal(onDemand),
    unknownLines,
    coverage: unknownLines > 0 ? null : ratioOf(covered, addDecimal(covered, onDemand)),
  };
}

const sumOf = (uses: readonly CommitmentUse[], amount: (use: CommitmentUse) => Decimal): Decimal =>
  uses.reduce((sum, use) => addDecimal(sum, amount(use)), ZERO);

/** Groups in the order of their keys, so that a report is the same whatever order its lines came in. */
function groupsOf(
  uses: readonly CommitmentUse[],
  keyOf: (use: CommitmentUse) => readonly unknown[],
): (readonly [CommitmentUse, ...CommitmentUse[]])[] {
  const groups = new Map<string, [CommitmentUse, ...CommitmentUse[]]>();
  for (const use of uses) {
    const key = JSON.stringify(keyOf(use));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [use]);
    else group.push(use);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}
