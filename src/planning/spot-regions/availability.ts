/**
 * A model of spot availability in many zones: spells of availability and of absence alternate, and each spell is of
 * one of a few classes of mean length. Zones differ in how often they draw which class.
 *
 * Within a class the end comes with the same chance in every tick, so that a spell that has lasted long is probably of
 * a class that lasts: the chance to go on grows with age, as measured lifetimes have it. All is a hidden Markov chain,
 * so that a reading in every tick, one every two hours and none at all are the same case: a tick without a reading is
 * stepped over. A zone's shares are learned by Baum-Welch from its readings beside a prior that leans to its region and
 * to all zones that were seen (a Dirichlet prior: counts of spells).
 *
 * It is handed readings and never sees a window. The invariant: every share is above zero, so no future is ruled out.
 */

import { NO_SEASON, partOf, seasonsOf, type Season } from './season.js';

/**
 * Mean length of a spell by class, in hours. The longest of availability is short beside what was measured, because a
 * zone's character changes: what lasted for days until now ends sooner than its own past says.
 */
const ABSENT_HOURS: readonly number[] = [0.2, 0.6, 2, 8, 40];
export const AVAILABLE_HOURS: readonly number[] = [0.2, 0.6, 2, 6, 18];
export const CLASSES = AVAILABLE_HOURS.length;
const STATES = 2 * CLASSES;
const hoursOf = (k: number): number => (k < CLASSES ? ABSENT_HOURS[k] : AVAILABLE_HOURS[k - CLASSES]) ?? 1;

/** A tick of which nothing is known. */
export const UNREAD = 2;

/** By class, those of absence first, then those of availability; each half sums to one. */
export type Shares = Float64Array;

/** Readings of one zone: 1 available, 0 absent, UNREAD; one per tick, oldest first. */
export interface Readings {
  readonly tickSeconds: number;
  readonly states: Uint8Array;
}

/** The chance that a spell ends with a tick, by part of the day and class. */
export type EndChances = readonly Float64Array[];

export const endChances = (tickSeconds: number, { returns, losses }: Season = NO_SEASON): EndChances =>
  Array.from(returns, (often, part) =>
    Float64Array.from({ length: STATES }, (_, k) => {
      const sooner = (k < CLASSES ? often : losses[part]) ?? 1;
      return 1 - Math.exp((-sooner * tickSeconds) / 3600 / hoursOf(k));
    }),
  );

/** How a zone is: how often its spells are of which class, and when they end sooner. */
export interface ZoneModel {
  readonly shares: Shares;
  readonly season: Season;
}

/** The belief about one zone: the probability of each class of the present spell. */
export class ZoneBelief {
  readonly weights: Float64Array;
  /** How fast spells end, per tick, by part of the day and class. */
  readonly endRates: readonly Float64Array[];

  /** `tick`: the present one, counted from the first of the job. */
  constructor(
    readonly shares: Shares,
    private readonly ends: EndChances,
    private readonly tickSeconds: number,
    private tick = 0,
  ) {
    this.weights = longRun(shares);
    this.endRates = ends.map((row) => row.map((end) => -Math.log(1 - end)));
  }

  /** Lets a tick pass. */
  advance(): void {
    const { weights, shares } = this;
    const ends = this.ends[partOf(this.tick, this.tickSeconds)] ?? [];
    this.tick += 1;
    const gone: [number, number] = [0, 0];
    for (let k = 0; k < STATES; k += 1) {
      const leaves = (weights[k] ?? 0) * (ends[k] ?? 0);
      weights[k] = (weights[k] ?? 0) - leaves;
      gone[k < CLASSES ? 0 : 1] += leaves;
    }
    for (let k = 0; k < STATES; k += 1)
      weights[k] = (weights[k] ?? 0) + (shares[k] ?? 0) * (k < CLASSES ? gone[1] : gone[0]);
  }

  /** Takes in that spot can be had now (1), or cannot (0). */
  observe(state: number): void {
    const { weights } = this;
    const from = state === 1 ? CLASSES : 0;
    let total = 0;
    for (let k = from; k < from + CLASSES; k += 1) total += weights[k] ?? 0;
    for (let k = 0; k < STATES; k += 1) weights[k] = k >= from && k < from + CLASSES ? (weights[k] ?? 0) / total : 0;
  }

  /** The chance that spot can be had now. */
  chance(): number {
    return this.weights.reduce((sum, weight, k) => sum + (k < CLASSES ? 0 : weight), 0);
  }

  /** The same belief, on its own. */
  copy(): ZoneBelief {
    const other = new ZoneBelief(this.shares, this.ends, this.tickSeconds, this.tick);
    other.weights.set(this.weights);
    return other;
  }
}

/** The chance of each class at a time of which nothing is known: long spells are met more often. */
function longRun(shares: Shares): Float64Array {
  const weights = shares.map((share, k) => share * hoursOf(k));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** Puts each half of counts of spells to a sum of one. */
function normalised(counts: Float64Array): Shares {
  const sums: [number, number] = [0, 0];
  counts.forEach((count, k) => (sums[k < CLASSES ? 0 : 1] += count));
  return counts.map((count, k) => count / sums[k < CLASSES ? 0 : 1]);
}

/** Expected spells by class in the readings of a zone of the given shares (forward-backward), by `before` as room. */
function spellsOf(
  { states, tickSeconds }: Readings,
  shares: Shares,
  season: Season,
  before: Float64Array,
): Float64Array {
  const ends = endChances(tickSeconds, season);
  const belief = new ZoneBelief(shares, ends, tickSeconds, -states.length);
  states.forEach((state, t) => {
    if (t > 0) belief.advance();
    if (state !== UNREAD) belief.observe(state);
    before.set(belief.weights, t * STATES);
  });
  const spells = new Float64Array(STATES);
  const [after, seen] = [new Float64Array(STATES).fill(1), new Float64Array(STATES)];
  for (let t = states.length - 1; t > 0; t -= 1) {
    const state = states[t] ?? UNREAD;
    for (let k = 0; k < STATES; k += 1)
      seen[k] = state === UNREAD || (k < CLASSES ? 0 : 1) === state ? (after[k] ?? 0) : 0;
    const part = ends[partOf(t - 1 - states.length, tickSeconds)] ?? seen;
    stepBack(before.subarray((t - 1) * STATES, t * STATES), seen, shares, part, spells, after);
  }
  let total = 0;
  for (let k = 0; k < STATES; k += 1) total += (before[k] ?? 0) * (after[k] ?? 0);
  for (let k = 0; k < STATES; k += 1) spells[k] = (spells[k] ?? 0) + ((before[k] ?? 0) * (after[k] ?? 0)) / total;
  return spells;
}

/** One step of the backward pass: adds the spells that began, and sets the values of the tick before, scaled. */
function stepBack(
  earlier: Float64Array,
  seen: Float64Array,
  shares: Shares,
  ends: Float64Array,
  spells: Float64Array,
  values: Float64Array,
): void {
  let [freshAbsent, freshThere, leavesAbsent, leavesThere, total] = [0, 0, 0, 0, 0];
  for (let k = 0; k < CLASSES; k += 1) freshAbsent += (shares[k] ?? 0) * (seen[k] ?? 0);
  for (let k = CLASSES; k < STATES; k += 1) freshThere += (shares[k] ?? 0) * (seen[k] ?? 0);
  for (let k = 0; k < STATES; k += 1) {
    const end = ends[k] ?? 0;
    const value = (1 - end) * (seen[k] ?? 0) + end * (k < CLASSES ? freshThere : freshAbsent);
    const weight = earlier[k] ?? 0;
    values[k] = value;
    total += weight * value;
    if (k < CLASSES) leavesAbsent += weight * end;
    else leavesThere += weight * end;
  }
  for (let k = 0; k < STATES; k += 1) {
    const began = (k < CLASSES ? leavesThere : leavesAbsent) * (shares[k] ?? 0) * (seen[k] ?? 0);
    spells[k] = (spells[k] ?? 0) + began / total;
    values[k] = (values[k] ?? 0) / total;
  }
}

const ROUNDS = 12;

/** Counts of spells by class: the prior's and those of the readings (expectation maximisation). */
function learn(readings: Readings, season: Season, prior: Float64Array): Float64Array {
  if (readings.states.length < 2) return prior;
  const room = new Float64Array(readings.states.length * STATES);
  let counts = prior;
  for (let round = 0; round < ROUNDS; round += 1) {
    const spells = spellsOf(readings, normalised(counts), season, room);
    counts = prior.map((count, k) => count + (spells[k] ?? 0));
  }
  return counts;
}

/** Broad, by hand: what is believed of a zone of which nothing is known, nor of any other. */
const BUILT_IN: readonly number[] = [0.35, 0.25, 0.2, 0.14, 0.06, 0.3, 0.2, 0.2, 0.16, 0.14];
/**
 * Number of spells that a prior is worth, and the most that a zone's own spells are worth when other zones use them.
 */
const PRIOR_SPELLS = 4;
const MOST_EVIDENCE = 10;

/** What may be learned from for one zone of the problem. */
export interface ZoneLesson {
  readonly region: number;
  readonly past: Readings;
}

/** Counts of spells by class that some readings tell another zone. */
export type Evidence = Float64Array;

export function evidenceOf(readings: Readings, season = seasonsOf([{ region: 0, past: readings }])[0]): Evidence {
  const base = Float64Array.from(BUILT_IN, (share) => share * PRIOR_SPELLS);
  const spells = learn(readings, season ?? NO_SEASON, base).map((count, k) => count - (base[k] ?? 0));
  const total = spells.reduce((sum, count) => sum + count, 0);
  return spells.map((count) => count * Math.min(1, total > 0 ? (2 * MOST_EVIDENCE) / total : 1));
}

/**
 * The shares of each zone, from its own past, its region's, that of all zones and of other recordings, in falling
 * weight. Deterministic.
 */
export function learnZones(zones: readonly ZoneLesson[], others: readonly Evidence[]): ZoneModel[] {
  const seasons = seasonsOf(zones);
  const own = zones.map(({ past }, zone) => evidenceOf(past, seasons[zone]));
  const all = addUp([Float64Array.from(BUILT_IN, (share) => share * MOST_EVIDENCE), ...own, ...others]);
  const common = normalised(all).map((share) => share * MOST_EVIDENCE);
  return zones.map(({ region, past }, zone) => {
    const siblings = own.filter((_, other) => other !== zone && zones[other]?.region === region);
    const prior = normalised(addUp([common, ...siblings])).map((share) => share * PRIOR_SPELLS);
    const season = seasons[zone] ?? NO_SEASON;
    return { shares: normalised(learn(past, season, prior)), season };
  });
}

function addUp(counts: readonly Float64Array[]): Float64Array {
  const sum = new Float64Array(STATES);
  for (const one of counts) one.forEach((count, k) => (sum[k] = (sum[k] ?? 0) + count));
  return sum;
}

/** The belief about a zone after its past, at the first tick that follows. */
export function beliefAfter({ shares, season }: ZoneModel, { states, tickSeconds }: Readings): ZoneBelief {
  const belief = new ZoneBelief(shares, endChances(tickSeconds, season), tickSeconds, -states.length);
  for (const state of states) {
    if (state !== UNREAD) belief.observe(state);
    belief.advance();
  }
  return belief;
}
