/**
 * The faults of the fake cloud, their frequency, and their randomness.
 *
 * Every random decision is a hash of the seed and of the question, never the next number of a sequence: an additional
 * or a missing call changes nothing elsewhere, and one seed gives one history. Nothing here reads a clock.
 */
import { invalid, type Problem } from '../../core/errors.js';

/** Ratios are chances from 0 to 1. */
export interface FaultPlan {
  /** An effect is refused, and nothing changes. */
  readonly refusesRatio: number;
  /** An effect is taken, and the answer is lost. */
  readonly losesAnswerRatio: number;
  /** An effect never arrives, and there is no answer. */
  readonly losesRequestRatio: number;
  /** An effect is taken and takes hold later, by up to `mostDelaySeconds`. */
  readonly delaysRatio: number;
  readonly mostDelaySeconds: number;
  /** Any call fails before anything is sent: throttled. */
  readonly throttlesRatio: number;
  /** A usage record shows later than its end, by up to `mostLateSeconds`. */
  readonly lateUsageRatio: number;
  readonly mostLateSeconds: number;
  /** A usage record comes twice in one answer. */
  readonly repeatedUsageRatio: number;
  readonly reordersUsage: boolean;
  /** Billing goes on after a stop, by up to `mostOverbilledSeconds`; null: it never ends. */
  readonly overbillsRatio: number;
  readonly mostOverbilledSeconds: number | null;
  /** A fleet reading lacks targets and says so. */
  readonly partialFleetRatio: number;
  /** A fleet reading lacks targets and does not say so, as a catalogue that flaps. */
  readonly flappingFleetRatio: number;
  /** Half-open, epoch milliseconds: no call is answered. */
  readonly outages: readonly { readonly from: number; readonly to: number }[];
}

export const NO_FAULTS: FaultPlan = {
  refusesRatio: 0,
  losesAnswerRatio: 0,
  losesRequestRatio: 0,
  delaysRatio: 0,
  mostDelaySeconds: 300,
  throttlesRatio: 0,
  lateUsageRatio: 0,
  mostLateSeconds: 3600,
  repeatedUsageRatio: 0,
  reordersUsage: false,
  overbillsRatio: 0,
  mostOverbilledSeconds: 3600,
  partialFleetRatio: 0,
  flappingFleetRatio: 0,
  outages: [],
};

/** A cloud on a bad day: everything goes wrong now and then. */
export const SOME_FAULTS: FaultPlan = {
  refusesRatio: 0.05,
  losesAnswerRatio: 0.05,
  losesRequestRatio: 0.05,
  delaysRatio: 0.1,
  mostDelaySeconds: 300,
  throttlesRatio: 0.03,
  lateUsageRatio: 0.05,
  mostLateSeconds: 3600,
  repeatedUsageRatio: 0.05,
  reordersUsage: true,
  overbillsRatio: 0.05,
  mostOverbilledSeconds: 1800,
  partialFleetRatio: 0.05,
  flappingFleetRatio: 0.02,
  outages: [],
};

/**
 * The plan with what is given over no faults.
 * @throws Failure invalid naming every ratio outside 0 to 1 and every length below 0.
 */
export function faultPlan(over: Partial<FaultPlan>): FaultPlan {
  const plan = { ...NO_FAULTS, ...over };
  const problems: Problem[] = [];
  for (const [name, value] of Object.entries(plan)) {
    if (typeof value !== 'number') continue;
    if (name.endsWith('Ratio') ? !(value >= 0 && value <= 1) : !(value >= 0))
      problems.push({ path: name, message: name.endsWith('Ratio') ? 'is not between 0 and 1' : 'is below 0' });
  }
  if (problems.length > 0)
    throw invalid(`the faults are wrong: ${problems.map((p) => `${p.path ?? ''} ${p.message}`).join('; ')}`, problems);
  return plan;
}

/**
 * A number in [0, 1) for a question, the same for the same seed and question. The words are mixed as FNV-1a does and
 * finished as MurmurHash3 does (fmix32).
 */
export function chance(seed: number, ...question: readonly (string | number)[]): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (const part of question) {
    const text = String(part);
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
    hash = Math.imul(hash ^ 0x1f, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 4294967296;
}
