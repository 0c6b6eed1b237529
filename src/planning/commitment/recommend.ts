/**
 * Recommends reservations now: runs Bursar's planner on a team's real usage hours, with one recommendation per term on
 * offer.
 *
 * It recommends what the planner would hold today if it had followed the same past, minus the existing reservations,
 * and never more than the panel still wishes for. It buys nothing, keeps no state between calls, and reads only the
 * past. Amounts are on-demand GPU-hours: the caller multiplies by the on-demand price. Invariant: no GPU is recommended
 * twice, neither over two terms nor beside an existing reservation.
 */
import { invalid, type Problem } from '../../core/errors.js';
import { type CommitmentTerm, effectiveRatio, termProblems } from './model.js';
import { ReservationPlanner, STRICT_PLANNER } from './planner.js';

/** One kind of reservation on offer. */
export interface OfferedTerm extends CommitmentTerm {
  readonly name: string;
  /**
   * Share of the owed part (`priceRatio - alpha`) that is paid at the purchase: 1 all, 0.5 partial, 0 no upfront. It
   * moves no cost, only its date.
   */
  readonly upfront: number;
}

/** Reservations already held. */
export interface ExistingReservation {
  /** GPUs that they cover. */
  readonly units: number;
  /** Hours until they end; those at 0 have ended. */
  readonly hoursLeft: number;
}

export interface ReservationAdvice {
  readonly term: string;
  /** Reservations of one GPU each to buy now. */
  readonly units: number;
  /** Expected saving of these units over their whole term, in on-demand GPU-hours, and the interval around it. */
  readonly expectedSaving: number;
  readonly savingInterval: { readonly low: number; readonly high: number; readonly coverage: number };
  /** On-demand GPU-hours paid at the purchase, and in all if every hour is used. */
  readonly upfrontCost: number;
  readonly fullCost: number;
  /** What the figures were made from. */
  readonly evidence: {
    readonly hoursSeen: number;
    readonly demandNow: number;
    readonly alreadyReserved: number;
    /** Reservations that the planner's own past purchases would leave active now, and what its panel wishes. */
    readonly plannerHolds: number;
    readonly panelWishes: number;
    readonly breakEvenShare: number;
    /**
     * Expected share of the term in which the first and the last recommended unit is in use; null if none is
     * recommended.
     */
    readonly expectedUse: { readonly first: number; readonly last: number } | null;
  };
}

export interface AdviceOptions {
  /**
   * True: never more than the guarded planner would hold, whose worst case is bounded; it says nothing before a term's
   * break-even has been lived through. False: what the panel wishes, for a person to judge by the interval.
   */
  readonly guarded: boolean;
}

/** Share of past spans whose use lies within the interval. */
const COVERAGE = 0.8;

/**
 * Units per term to buy at the beginning of the next hour, in the order of `terms`, from the GPUs demanded in each past
 * hour (oldest first; the last is the current hour). Where several terms suit a unit, the one that saves most per hour
 * of its term gets it. Throws `invalid` with every problem of the input.
 */
export function recommendReservations(
  demandPerHour: Float64Array | Int32Array,
  existing: readonly ExistingReservation[],
  terms: readonly OfferedTerm[],
  options: AdviceOptions = { guarded: true },
): ReservationAdvice[] {
  check(demandPerHour, existing, terms);
  const demand = Int32Array.from(demandPerHour, (gpus) => Math.ceil(gpus));
  const alreadyReserved = existing.reduce((sum, { units, hoursLeft }) => sum + (hoursLeft > 0 ? units : 0), 0);
  const candidates = terms.map((term) => new Candidate(term, demand, options.guarded));
  const most = candidates.reduce((level, candidate) => Math.max(level, candidate.level), 0);
  for (let level = alreadyReserved + 1; level <= most; level++) {
    const willing = candidates.filter((candidate) => candidate.level >= level && candidate.savingPerHour(level) > 0);
    if (willing.length === 0) continue;
    willing
      .reduce((best, other) => (other.savingPerHour(level) > best.savingPerHour(level) ? other : best))
      .levels.push(level);
  }
  return candidates.map((candidate) => candidate.advice(alreadyReserved));
}

/** One term on offer, with the planner run over the past for it. */
class Candidate {
  readonly levels: number[] = [];
  private readonly planner: ReservationPlanner;

  constructor(
    private readonly term: OfferedTerm,
    private readonly demand: Int32Array,
    private readonly guarded: boolean,
  ) {
    this.planner = new ReservationPlanner(term, STRICT_PLANNER);
    for (const gpus of demand) this.planner.step(gpus);
  }

  get level(): number {
    return this.guarded ? Math.min(this.planner.held, this.planner.wish) : this.planner.wish;
  }

  savingPerHour(level: number): number {
    return this.saving(this.expectedUse(level));
  }

  advice(alreadyReserved: number): ReservationAdvice {
    const { term, levels, demand } = this;
    const total = (perLevel: (level: number) => number): number =>
      levels.reduce((sum, level) => sum + term.termHours * this.saving(perLevel(level)), 0);
    const spans = this.spans();
    const owed = levels.length * term.termHours * (term.priceRatio - term.alpha);
    return {
      term: term.name,
      units: levels.length,
      expectedSaving: total((level) => this.expectedUse(level)),
      savingInterval: {
        low: total((level) => this.spanUse(level, spans, (1 - COVERAGE) / 2)),
        high: total((level) => this.spanUse(level, spans, (1 + COVERAGE) / 2)),
        coverage: COVERAGE,
      },
      upfrontCost: owed * term.upfront,
      fullCost: levels.length * term.termHours * term.priceRatio,
      evidence: {
        hoursSeen: demand.length,
        demandNow: demand.at(-1) ?? 0,
        alreadyReserved,
        plannerHolds: this.planner.held,
        panelWishes: this.planner.wish,
        breakEvenShare: effectiveRatio(term),
        expectedUse:
          levels.length === 0 ? null : { first: this.expectedUse(levels[0]!), last: this.expectedUse(levels.at(-1)!) },
      },
    };
  }

  private saving(use: number): number {
    return use * (1 - this.term.alpha) - (this.term.priceRatio - this.term.alpha);
  }

  /** Share of hours in use, as each window saw it, weighted as the panel weights the windows. */
  private expectedUse(level: number): number {
    return this.planner
      .windowWeights()
      .reduce(
        (sum, { windowHours, weight }) =>
          sum + weight * this.useOver(level, Math.max(0, this.demand.length - windowHours), this.demand.length),
        0,
      );
  }

  /**
   * Past spans to judge the spread by: as long as the term, or as a quarter of the past where that is shorter, a day
   * apart and at most a hundred.
   */
  private spans(): { readonly from: number; readonly to: number }[] {
    const hours = this.demand.length;
    const length = Math.max(1, Math.min(this.term.termHours, Math.max(Math.min(24, hours), Math.floor(hours / 4))));
    const stride = Math.max(24, Math.ceil((hours - length) / 100));
    const spans = [];
    for (let to = hours; to - length >= 0; to -= stride) spans.push({ from: to - length, to });
    return spans;
  }

  /**
   * A quantile of the use of a level over past spans. A past shorter than the term vouches for no more hours than it
   * holds: the others count as unused at the low end, and as used at the high end.
   */
  private spanUse(
    level: number,
    spans: readonly { readonly from: number; readonly to: number }[],
    quantile: number,
  ): number {
    const uses = spans.map(({ from, to }) => this.useOver(level, from, to)).sort((one, other) => one - other);
    const vouched = Math.min(1, this.demand.length / this.term.termHours);
    if (quantile >= 0.5)
      return Math.max(this.expectedUse(level), vouched * uses[Math.ceil(quantile * (uses.length - 1))]! + 1 - vouched);
    return Math.min(this.expectedUse(level), vouched * uses[Math.floor(quantile * (uses.length - 1))]!);
  }

  private useOver(level: number, from: number, to: number): number {
    let used = 0;
    for (let hour = from; hour < to; hour++) if (this.demand[hour]! >= level) used++;
    return used / (to - from);
  }
}

function check(
  demand: Float64Array | Int32Array,
  existing: readonly ExistingReservation[],
  terms: readonly OfferedTerm[],
): void {
  const problems: Problem[] = [];
  demand.forEach((gpus, hour) => {
    if (!Number.isFinite(gpus) || gpus < 0)
      problems.push({ path: `demandPerHour/${hour}`, message: 'must be a finite number, 0 or more' });
  });
  existing.forEach(({ units, hoursLeft }, index) => {
    if (!Number.isSafeInteger(units) || units < 0)
      problems.push({ path: `existing/${index}/units`, message: 'must be a whole number, 0 or more' });
    if (!Number.isFinite(hoursLeft) || hoursLeft < 0)
      problems.push({ path: `existing/${index}/hoursLeft`, message: 'must be a finite number, 0 or more' });
  });
  terms.forEach((term, index) => {
    if (!(term.upfront >= 0 && term.upfront <= 1))
      problems.push({ path: `terms/${index}/upfront`, message: 'must be from 0 to 1' });
    problems.push(...termProblems(term).map(({ path, message }) => ({ path: `terms/${index}/${path}`, message })));
  });
  if (problems.length > 0) throw invalid('reservations cannot be recommended from this', problems);
}
