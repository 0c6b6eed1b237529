/**
 * The form of savings in the ledger: judged hour by hour, and summed.
 *
 * Decides nothing and estimates nothing. The ledger only grows: a late record or a new price adds a line with the
 * difference, and the sum of an hour's lines is its true value, in whatever order they arrived. attribution.ts computes
 * which action saved what; policy/claim.ts limits earlier claims.
 */
import type { HourSaving } from './attribution.js';
import type { Counterfactual } from './counterfactual.js';
import { divideHalfEven } from '../money.js';
import { HOURS_PER_MONTH } from '../policy/policy.js';
import { DAY_MS, HOUR_MS, hourOf, type Interval } from '../time.js';

/**
 * The state of an hour in the ledger. `withdrawn`: it was claimed once and no longer is (the effect turned out to have
 * ended before).
 */
export type LineState = 'measured' | 'verified' | 'unverifiable' | 'withdrawn';

/** The present judgement of an hour. Amounts in nanos; `saved` is counterfactual - actual, and may be below zero. */
export interface JudgedHour {
  readonly action: string;
  /** First millisecond of the UTC hour. */
  readonly hour: number;
  readonly state: LineState;
  /** Why it is unverifiable or withdrawn, or what the bill says against it; null: nothing to say. */
  readonly reason: string | null;
  readonly claimedMs: number;
  readonly counterfactual: bigint;
  readonly actual: bigint;
}

/**
 * How a bill stands to the metered cost of a target on a day. `not-itemised`: it names no resources, or its lines are
 * longer than a day.
 */
export type BillWord = 'agrees' | 'differs' | 'not-itemised';

/** A bill may differ by a hundredth of the metered cost, or by a cent: it rounds its own way. */
const BILL_TOLERANCE_DIVISOR = 100n;
const BILL_TOLERANCE_NANOS = 10_000_000n;

/**
 * @param billed nanos that the bill states for the target's lines of the day; null: it does not name resources
 * @param metered nanos of the same day by metered usage; null: unknown
 */
export function compareWithBill(billed: bigint | null, metered: bigint | null): BillWord {
  if (billed === null) return 'not-itemised';
  if (metered === null) return 'differs';
  const difference = billed > metered ? billed - metered : metered - billed;
  return difference <= BILL_TOLERANCE_NANOS || difference * BILL_TOLERANCE_DIVISOR <= metered ? 'agrees' : 'differs';
}

/**
 * An hour of an action as the ledger keeps it. Verified: its bill period is closed, every quantity had a price, and the
 * bill agrees where it names the target. Where the bill says otherwise the hour stays measured, and says so.
 */
export function judged(
  { action, hour, reason, claimedMs, counterfactual, actual }: HourSaving,
  closed: boolean,
  bill: BillWord,
): JudgedHour {
  if (reason !== null)
    return { action, hour, state: 'unverifiable', reason, claimedMs: 0, counterfactual: 0n, actual: 0n };
  const differs = closed && bill === 'differs';
  return {
    action,
    hour,
    state: closed && !differs ? 'verified' : 'measured',
    reason: differs ? 'bill-differs' : null,
    claimedMs,
    counterfactual,
    actual,
  };
}

/**
 * The lines that make the recorded hours true: amounts are differences to what is recorded, so that the sum of all
 * lines of an hour is its truth.
 * Nothing is ever changed. No line where nothing differs: the same evidence again writes nothing.
 * @param recorded the sum of each hour's lines, with the state and reason of the last
 */
export function corrections<T extends JudgedHour>(
  truth: readonly T[],
  recorded: readonly JudgedHour[],
): (T | JudgedHour)[] {
  const before = new Map(recorded.map((hour) => [keyOf(hour), hour]));
  const lines = truth.flatMap((hour): (T | JudgedHour)[] => {
    const old = before.get(keyOf(hour));
    before.delete(keyOf(hour));
    return old === undefined ? [hour] : isSame(old, hour) ? [] : [difference(hour, old)];
  });
  const withdrawn = [...before.values()]
    .filter(({ state }) => state !== 'withdrawn')
    .map((old) =>
      difference(
        { ...old, state: 'withdrawn', reason: 'claim-ended', claimedMs: 0, counterfactual: 0n, actual: 0n },
        old,
      ),
    );
  return [...lines, ...withdrawn];
}

const keyOf = ({ action, hour }: JudgedHour): string => `${action} ${hour}`;

const isSame = (a: JudgedHour, b: JudgedHour): boolean =>
  a.state === b.state &&
  a.reason === b.reason &&
  a.claimedMs === b.claimedMs &&
  a.counterfactual === b.counterfactual &&
  a.actual === b.actual;

const difference = <T extends JudgedHour>(now: T, old: JudgedHour): T => ({
  ...now,
  claimedMs: now.claimedMs - old.claimedMs,
  counterfactual: now.counterfactual - old.counterfactual,
  actual: now.actual - old.actual,
});

export const LEDGER_STATES = ['estimated', 'measured', 'verified', 'unverifiable'] as const;
export type LedgerState = (typeof LEDGER_STATES)[number];

/** The saving of an action so far, from the hours of the ledger. Nanos. */
export interface LedgerEntry {
  readonly state: LedgerState;
  readonly reason: string | null;
  readonly counterfactual: bigint;
  readonly actual: bigint;
  /** Saved in hours that are measured, and in hours that are verified. */
  readonly measured: bigint;
  readonly verified: bigint;
  /** The recommendation's own estimate over the same time; null: there is none, or it is too early. */
  readonly predicted: bigint | null;
  readonly claimedMs: number;
  readonly hours: { readonly measured: number; readonly verified: number; readonly unverifiable: number };
  /** Hours by the reason why they are unverifiable. */
  readonly reasons: Readonly<Record<string, number>>;
}

/**
 * @param hours the truth of each hour, withdrawn ones left out
 * @param over whether no further hour can come
 */
export function entryOf(counterfactual: Counterfactual, hours: readonly JudgedHour[], over: boolean): LedgerEntry {
  const count = { measured: 0, verified: 0, unverifiable: 0 };
  const reasons: Record<string, number> = {};
  const sums = { counterfactual: 0n, actual: 0n, measured: 0n, verified: 0n, claimedMs: 0 };
  for (const hour of hours) {
    if (hour.state === 'withdrawn') continue;
    count[hour.state] += 1;
    sums.counterfactual += hour.counterfactual;
    sums.actual += hour.actual;
    sums.claimedMs += hour.claimedMs;
    if (hour.state === 'unverifiable') reasons[hour.reason ?? ''] = (reasons[hour.reason ?? ''] ?? 0) + 1;
    else sums[hour.state] += hour.counterfactual - hour.actual;
  }
  const { world } = counterfactual;
  const known = count.measured + count.verified;
  const [commonest] = Object.entries(reasons).sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const state =
    world.kind === 'unknown'
      ? 'unverifiable'
      : known > 0
        ? over && count.measured + count.unverifiable === 0
          ? 'verified'
          : 'measured'
        : count.unverifiable > 0
          ? 'unverifiable'
          : 'estimated';
  return {
    state,
    reason: world.kind === 'unknown' ? world.reason : (commonest?.[0] ?? null),
    ...sums,
    predicted: known === 0 ? null : predictedFor(counterfactual, sums.claimedMs, over),
    hours: count,
    reasons,
  };
}

/**
 * The estimate of a month of 730 hours, over the claimed time; of what is saved once, the whole of it when it is over.
 */
function predictedFor({ estimate, once }: Counterfactual, claimedMs: number, over: boolean): bigint | null {
  if (estimate === null || (once && !over)) return null;
  return once ? estimate.mean : divideHalfEven(estimate.mean * BigInt(claimedMs), BigInt(HOURS_PER_MONTH * HOUR_MS));
}

/**
 * When usage must be known for some actions to be judged: from a day before the first of them. Empty where none has a
 * world.
 */
export function evidenceSpan(all: readonly Counterfactual[], now: number): Interval {
  const known = all.filter(({ world }) => world.kind !== 'unknown');
  const [start, end] = [
    Math.min(...known.map(({ from }) => from - DAY_MS)),
    Math.max(...known.map(({ until }) => until + DAY_MS)),
  ];
  return known.length === 0 ? { start: 0, end: 0 } : { start, end: Math.min(end, now) };
}

/**
 * When an action is looked at next without being enqueued; null: its horizon is over, and only something late can
 * change it.
 */
export const nextCheck = ({ world, until }: Counterfactual, now: number): number | null =>
  world.kind === 'unknown' || now >= until + DAY_MS ? null : Math.min(now + DAY_MS, until + DAY_MS);

/**
 * Late usage is looked at ten minutes into the next hour: an hour counts when it is whole, and a busy meter enqueues an
 * action once an hour.
 */
export const afterTheHour = (now: number): number => hourOf(now) + HOUR_MS + LATENESS_MS;

const LATENESS_MS = 10 * 60_000;
