/**
 * Which rows count in `actual`: the lines of bills, and the hours of meters.
 *
 *   row                                                      | bill is open or settling | bill is final
 *   ---------------------------------------------------------|--------------------------|---------------------
 *   a bill's line about usage that a meter stands for        | no                       | yes
 *   the same of a machine that is not metered (unmetered.ts) | yes                      | yes
 *   any other line of a bill                                 | yes                      | yes
 *   a metered hour that the bill reaches (account and time)  | yes                      | no
 *   a metered hour that no bill reaches                      | yes                      | yes
 *
 * A metered hour that a final bill reaches stands for no line of another bill. So every dollar of a bill, and every
 * metered hour without one, is in `actual` exactly once. This file decides from facts that are passed in; the view
 * `hour_line` (migrations/0034) applies what is decided here to the rows.
 */
import { DAY_MS, hourOf, type Interval } from '../time.js';
import type { UsageRecord } from '../usage.js';

/** Open: its period runs. Settling: its period is over, and it may still change. Final: it stands for its usage. */
export const BILL_STATES = ['open', 'settling', 'final'] as const;
export type BillState = (typeof BILL_STATES)[number];

/** The facts that decide a bill's state. Epoch milliseconds. */
export interface BillFacts {
  readonly periodEnd: number;
  /** When it was last delivered, changed or not. */
  readonly deliveredAt: number;
  /** The source says so of every line that charges something: an invoice's id, or no estimate any more. */
  readonly isFinalBySource: boolean;
  /** A bill of taxes and fees alone says nothing of usage. */
  readonly hasUsage: boolean;
  /** Rows of its file could not be read: they may be its own. */
  readonly hasRejects: boolean;
}

/**
 * The state of a bill, and the time at which it becomes final without further delivery: null if it is final, or if it
 * must be delivered again first.
 */
export function stateOf(
  { periodEnd, deliveredAt, isFinalBySource, hasUsage, hasRejects }: BillFacts,
  settlingMs: number,
  now: number,
): { readonly state: BillState; readonly finalAt: number | null } {
  const running: BillState = now < periodEnd ? 'open' : 'settling';
  if (!hasUsage || hasRejects) return { state: running, finalAt: null };
  // A bill that was delivered while its period ran lacks the end, however long ago that was, and whatever its lines
  // say.
  if (deliveredAt < periodEnd) return { state: running, finalAt: null };
  if (isFinalBySource) return { state: 'final', finalAt: null };
  const finalAt = periodEnd + settlingMs;
  return now >= finalAt ? { state: 'final', finalAt: null } : { state: running, finalAt };
}

/** The scope of a bill's lines as a whole: gathered line by line. */
export class BillOutline {
  readonly subAccounts = new Set<string>();
  hasUsage = false;
  private readonly days = new Set<number>();
  private readonly spans = new Map<string, Interval>();
  private period: Interval = { start: -Infinity, end: Infinity };
  private saysFinal = false;
  private isUnsettled = false;
  private last = { start: Number.NaN, end: Number.NaN, ofGpus: false };
  private lastSubAccount: string | null = null;

  add(record: UsageRecord): void {
    const { charge, subAccount, start, end } = record;
    if (charge === null) return;
    if (subAccount !== this.lastSubAccount && subAccount !== null && subAccount !== '')
      this.subAccounts.add(subAccount);
    this.lastSubAccount = subAccount;
    if (charge.isFinal === true) this.saysFinal = true;
    else if (charge.billed.unscaled !== 0n) this.isUnsettled = true;
    // A negative line refunds another one: it replaces no usage.
    if (charge.category !== 'Usage' || charge.billed.unscaled < 0n) return;
    this.hasUsage = true;
    const ofGpus = record.gpuParts !== null || record.gpuModel !== null;
    if (this.last.start === start && this.last.end === end && this.last.ofGpus === ofGpus) return;
    this.last = { start, end, ofGpus };
    this.period = { start: charge.periodStart, end: charge.periodEnd };
    const { start: from, end: to } = this.period;
    if (end - start < DAY_MS && start >= from && end <= to && start < to) this.addDays(start, end);
    // A line that continues for days after the period is paid ahead: it says nothing about the other usage of that
    // time.
    else this.addSpan(hourOf(start), end - start > DAY_MS ? Math.min(end, to) : Math.max(end, start + 1), ofGpus);
  }

  private addDays(start: number, end: number): void {
    for (let day = Math.floor(start / DAY_MS); day <= Math.floor(Math.max(start, end - 1) / DAY_MS); day++)
      this.days.add(day);
  }

  /** Outside of the period only what GPUs cost: that storage of then is charged late says nothing of them. */
  private addSpan(lineStart: number, lineEnd: number, ofGpus: boolean): void {
    const start = ofGpus ? lineStart : Math.max(lineStart, this.period.start);
    const end = ofGpus ? lineEnd : Math.min(lineEnd, this.period.end);
    if (end > start) this.spans.set(`${start} ${end}`, { start, end });
  }

  get isFinalBySource(): boolean {
    return this.saysFinal && !this.isUnsettled;
  }

  /**
   * The time that its usage lines speak of: each line's own hours, and of one shorter than a day that lies within the
   * period all of its UTC days, as far as they do. Outside of the period only lines of GPUs. Ascending, apart from each
   * other.
   */
  reach(): Interval[] {
    const { start: from, end: to } = this.period;
    const all = [
      ...this.spans.values(),
      ...[...this.days].map((day) => ({ start: Math.max(day * DAY_MS, from), end: Math.min((day + 1) * DAY_MS, to) })),
    ];
    all.sort((a, b) => a.start - b.start);
    const merged: Interval[] = [];
    for (const { start, end } of all) {
      const before = merged.at(-1);
      if (before !== undefined && start <= before.end)
        merged[merged.length - 1] = { start: before.start, end: Math.max(before.end, end) };
      else merged.push({ start, end });
    }
    return merged;
  }
}

const RESOURCE_PATH = /^\/(?:subscriptions|providers\/microsoft\.billing\/billingaccounts)\//;

/**
 * The key of an account in any spelling: Microsoft's FOCUS export writes the path of the resource where its cost files
 * and meters write the id, ids come in small and capital letters, and a spreadsheet drops leading zeros.
 */
export function accountKey(name: string): string {
  const text = name.trim().toLowerCase();
  const id = RESOURCE_PATH.test(text) ? text.slice(text.lastIndexOf('/') + 1) : text;
  return /^0+\d+$/.test(id) ? id.replace(/^0+(?=\d)/, '') : id;
}

/** The accounts that metered usage names. Empty: it names none. */
export interface MeterKey {
  readonly account: string;
  readonly subAccount: string;
}

/** A bill, as far as it says whose usage it is about. `account` is the payer; empty: the bill names none. */
export interface BilledAccounts {
  readonly account: string;
  readonly subAccounts: ReadonlySet<string>;
  /** Its period: half-open, epoch milliseconds. */
  readonly start: number;
  readonly end: number;
  /** The time that its usage lines cover, within its period and outside of it; null: all of its period. */
  readonly reach: readonly Interval[] | null;
  readonly isFinal: boolean;
}

/**
 * In [start, end) the usage of a key belongs to the bills of an account; null: to one of several, and it is unknown
 * which.
 */
export interface Claim extends MeterKey {
  readonly start: number;
  readonly end: number;
  readonly bill: string | null;
  /** A final bill reaches it: the bill's lines count in its place. */
  readonly isFinal: boolean;
}

/**
 * Whose bill metered usage meets, among the bills of its provider. A bill is about its period, and about the time
 * outside of it that its usage lines speak of; between any two ends of these:
 *
 * 1. an account that is a payer: that payer's; 2. an account, otherwise a sub-account, that the bills of one payer name
 *    as a sub-account: that payer's; of several
 *     payers: it cannot be told;
 *  3. a bill that names no account: that one;
 *  4. usage that names no account: the only payer's; where there are several it cannot be told.
 *
 * Of several bills of the payer it is those that name its sub-account; where none does, all of them. A final one of
 * these that reaches the time stands in for it. A key that is in no claim at some time is in no bill then.
 */
export function claimsOf(keys: readonly MeterKey[], bills: readonly BilledAccounts[]): Claim[] {
  const claims = keys.map((): Claim[] => []);
  const meters = keys.map(({ account, subAccount }) => ({
    account: accountKey(account),
    subAccount: accountKey(subAccount),
  }));
  const keyed = bills.map((bill) => ({
    ...bill,
    key: accountKey(bill.account),
    subKeys: new Set([...bill.subAccounts].map(accountKey)),
  }));
  const known = new Map<string, readonly (Answer | undefined)[]>();
  for (const { start, end, there } of stretchesOf(keyed)) {
    const name = there.map(({ place, reaches }) => `${place}${reaches ? '!' : ''}`).join(' ');
    let answers = known.get(name);
    if (answers === undefined) known.set(name, (answers = answersOf(meters, there)));
    answers.forEach((answer, place) => {
      if (answer === undefined) return;
      const own = claims[place] ?? [];
      const before = own.at(-1);
      if (before?.end === start && before.bill === answer.bill && before.isFinal === answer.isFinal)
        own[own.length - 1] = { ...before, end };
      else own.push({ ...(keys[place] as MeterKey), start, end, ...answer });
    });
  }
  return claims.flat();
}

type Answer = Pick<Claim, 'bill' | 'isFinal'>;

/** With its accounts by their keys. */
interface KeyedBill extends BilledAccounts {
  readonly key: string;
  readonly subKeys: ReadonlySet<string>;
}
/** By keys. */
type KeyedMeter = MeterKey;

/** A bill that is about a stretch of time, by its place among the bills. */
interface There {
  readonly place: number;
  readonly bill: KeyedBill;
  /** Its usage lines mention it. */
  readonly reaches: boolean;
}

/** The time from one boundary of a period, or of the time that usage lines cover, to the next, with its bills. */
function stretchesOf(bills: readonly KeyedBill[]): (Interval & { readonly there: readonly There[] })[] {
  const spans = bills.map((bill) => [bill, ...(bill.reach ?? [])]);
  const ends = [...new Set(spans.flat().flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b);
  const placeOf = new Map(ends.map((end, place) => [end, place]));
  const there = ends.map(() => new Map<number, There>());
  bills.forEach((bill, place) =>
    spans[place]?.forEach((span, n) => {
      const reaches = n > 0 || bill.reach === null;
      for (let at = placeOf.get(span.start) ?? 0; at < (placeOf.get(span.end) ?? 0); at++)
        there[at]?.set(place, { place, bill, reaches });
    }),
  );
  return ends
    .slice(0, -1)
    .map((start, at) => ({ start, end: ends[at + 1] ?? start, there: [...(there[at]?.values() ?? [])] }));
}

function answersOf(keys: readonly KeyedMeter[], there: readonly There[]): (Answer | undefined)[] {
  const index = indexOf(there.map(({ bill }) => bill));
  return keys.map((key) => {
    const payer = payerOf(key, index);
    if (payer === undefined) return undefined;
    const own = there.filter(({ bill }) => bill.key === payer);
    const named = subAccountOf(key, payer ?? '');
    const naming = own.filter(({ bill }) => bill.subKeys.has(named));
    return {
      bill: own[0]?.bill.account ?? null,
      isFinal: (naming.length > 0 ? naming : own).some(({ bill, reaches }) => bill.isFinal && reaches),
    };
  });
}

/** The name of usage when bills and meters are evaluated together: the name in its payer's bill. */
export const namedBy = ({ account, subAccount }: MeterKey, payer: string): MeterKey =>
  payer === ''
    ? { account, subAccount }
    : {
        account: payer,
        subAccount: account === '' || accountKey(account) === accountKey(payer) ? subAccount : account,
      };

/** A metered account other than the payer is a sub-account of it. Empty: none is named. All by their keys. */
const subAccountOf = ({ account, subAccount }: MeterKey, payer: string): string =>
  account === '' || account === payer ? subAccount : account;

interface Index {
  readonly payers: ReadonlySet<string>;
  readonly ofSubAccount: ReadonlyMap<string, ReadonlySet<string>>;
}

function indexOf(bills: readonly KeyedBill[]): Index {
  const payers = new Set<string>();
  const ofSubAccount = new Map<string, Set<string>>();
  for (const { key, subKeys } of bills) {
    payers.add(key);
    for (const name of subKeys) {
      const named = ofSubAccount.get(name);
      if (named === undefined) ofSubAccount.set(name, new Set([key]));
      else named.add(key);
    }
  }
  return { payers, ofSubAccount };
}

/** Undefined: of no bill; null: of one of several. */
function payerOf({ account, subAccount }: MeterKey, { payers, ofSubAccount }: Index): string | null | undefined {
  if (payers.size === 0) return undefined;
  if (payers.has(account)) return account;
  const [first] = payers;
  if (account === '' && payers.size === 1) return first;
  const named = ofSubAccount.get(account) ?? ofSubAccount.get(subAccount);
  if (named !== undefined) return named.size === 1 ? [...named][0] : null;
  if (payers.has('')) return '';
  return account === '' ? null : undefined;
}
