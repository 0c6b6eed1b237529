/**
 * A job that must finish by a deadline on instances of one zone, some of which (spot) come and go: its numbers on one
 * exact time grid.
 *
 * Nothing here decides or simulates. The invariant: tick, job and restart are whole numbers of units, so that no
 * policy, and not the optimum either, ever rounds a second of work or of time.
 */
import { invalid, type Problem } from '../../core/errors.js';

/** The capacity that the job occupies during a tick. */
export type Mode = 0 | 1 | 2;
export const IDLE: Mode = 0;
export const SPOT: Mode = 1;
export const ON_DEMAND: Mode = 2;

/** The terms as people state them. Prices are per hour, in any one currency or abstract unit. */
export interface SpotTerms {
  readonly jobHours: number;
  readonly deadlineHours: number;
  /**
   * The changeover delay of Wu et al., NSDI 2024, section 3.1: time on a new instance that is paid and makes no
   * progress.
   */
  readonly restartHours: number;
  readonly onDemandPrice: number;
  readonly spotPrice: number;
  /** Length of one availability reading, in seconds. */
  readonly tickSeconds: number;
}

/** The same in whole units of `unitSeconds`. */
export interface SpotProblem {
  readonly unitSeconds: number;
  readonly tickUnits: number;
  readonly jobUnits: number;
  readonly restartUnits: number;
  /** Whole ticks before the deadline; a part of a tick at the end is not used by anyone. */
  readonly ticks: number;
  /** Price of one unit of time, by mode. */
  readonly unitPrice: readonly [number, number, number];
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));

/**
 * Puts the terms on the coarsest grid that holds tick, job and restart exactly. Hours are taken to the nearest second.
 * Throws `invalid` with every problem: a number that is not finite or not positive, or a job that on-demand alone
 * cannot finish in time after one restart (then no policy can promise the deadline).
 */
export function spotProblem(terms: SpotTerms): SpotProblem {
  const problems = termProblems(terms);
  if (problems.length > 0) throw invalid('the terms of the spot job cannot be used', problems);
  const tick = terms.tickSeconds;
  const job = Math.round(terms.jobHours * 3600);
  const restart = Math.round(terms.restartHours * 3600);
  const unitSeconds = greatestCommonDivisor(greatestCommonDivisor(tick, job), restart);
  const unitHours = unitSeconds / 3600;
  const problem: SpotProblem = {
    unitSeconds,
    tickUnits: tick / unitSeconds,
    jobUnits: job / unitSeconds,
    restartUnits: restart / unitSeconds,
    ticks: Math.floor(Math.round(terms.deadlineHours * 3600) / tick),
    unitPrice: [0, terms.spotPrice * unitHours, terms.onDemandPrice * unitHours],
  };
  if (problem.ticks * problem.tickUnits < problem.jobUnits + problem.restartUnits) {
    throw invalid('the deadline cannot be promised', [
      {
        path: 'deadlineHours',
        message: `${terms.deadlineHours} h do not hold ${terms.jobHours} h of work and a restart of ${terms.restartHours} h`,
      },
    ]);
  }
  return problem;
}

function termProblems(terms: SpotTerms): Problem[] {
  const problems: Problem[] = [];
  const check = (path: keyof SpotTerms, ok: boolean, message: string): void => {
    if (!ok) problems.push({ path, message: `${message}, got ${terms[path]}` });
  };
  const positive = (value: number): boolean => Number.isFinite(value) && value > 0;
  check('jobHours', positive(terms.jobHours) && terms.jobHours * 3600 >= 1, 'must be a positive number of hours');
  check('deadlineHours', positive(terms.deadlineHours), 'must be a positive number of hours');
  check(
    'restartHours',
    Number.isFinite(terms.restartHours) && terms.restartHours >= 0,
    'must be zero or a positive number of hours',
  );
  check('onDemandPrice', positive(terms.onDemandPrice), 'must be a positive price per hour');
  check(
    'spotPrice',
    Number.isFinite(terms.spotPrice) && terms.spotPrice >= 0,
    'must be zero or a positive price per hour',
  );
  check(
    'tickSeconds',
    Number.isInteger(terms.tickSeconds) && terms.tickSeconds > 0,
    'must be a whole positive number of seconds',
  );
  return problems;
}

/** The cost of on-demand from the start: one restart and the work. Every saving is measured against it. */
export function onDemandCost(problem: SpotProblem): number {
  return (problem.jobUnits + problem.restartUnits) * problem.unitPrice[ON_DEMAND];
}
