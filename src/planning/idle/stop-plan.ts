/**
 * What to expect of a quiet at each age, and at which ages stopping is the cheapest thing to do.
 *
 * Knows lengths only: no evidence, no GPU. The chance that a quiet ends in a span of ages is learned in levels, each
 * drawn towards the one above it as long as it has seen little: the posterior mean of a beta process (Hjort 1990,
 * "Nonparametric Bayes estimators based on beta processes in models for life history data"), whose prior is the level
 * above. When to stop follows by backward induction over the ages: ski rental with a learned distribution (Karlin,
 * Manasse, McGeoch, Owicki 1994), a stop that turns out false being charged extra.
 */

import { SPAN_STARTS, SPANS, spanEnd, spanOf, type Quiets } from './quiets.js';
import { FALSE_STOP_MINUTES } from './simulate.js';

export interface StopPlanSettings {
  readonly restartMinutes: number;
  readonly falseStopMinutes: number;
  readonly maximumFalseStopProbability: number;
}

/** A level of what was seen, and with how many quiets of the level above it begins. */
export interface Level {
  readonly quiets: Quiets;
  readonly priorQuiets: number;
}

/**
 * Before anything is seen: half of the quiets that lasted a minute outlast ten, a quarter an hour, a tenth ten hours
 * (Lomax 1954, shape 0.4, scale a minute). A quiet gets the safer the longer it has lasted, at every scale.
 */
const PRIOR_SHAPE = 0.4;
const survival = (minutes: number): number => (1 + minutes) ** -PRIOR_SHAPE;
const PRIOR = Float64Array.from(SPAN_STARTS, (start, span) => 1 - survival(spanEnd(span)) / survival(start));

/** The span in which a stop at the start of each span ceases to be false, and how far into it. */
const SAFE_SPAN = SPAN_STARTS.map((start, span) => spanOf(start + FALSE_STOP_MINUTES, span));
const SAFE_PART = SPAN_STARTS.map((start, span) => {
  const [from, to] = [SPAN_STARTS[SAFE_SPAN[span]!]!, SPAN_STARTS[SAFE_SPAN[span]! + 1] ?? Infinity];
  return (start + FALSE_STOP_MINUTES - from) / (to - from);
});

/** Scratch of one evaluation: by span, the chance that it is the last, and that of lasting to its start. */
const ends = new Float64Array(SPANS);
const lasts = new Float64Array(SPANS + 1);

export class StopPlan {
  /** By span: 1 where stopping is cheaper in expectation than any waiting. */
  readonly stops = new Uint8Array(SPANS);
  /** By span: probability that a stop at its start would be false. */
  readonly falseStop = new Float64Array(SPANS);
  /** By span: minutes that a stop at its start is expected to save, restart and false stop charged. */
  readonly saved = new Float64Array(SPANS);

  /**
   * Looks ahead from a span on; the results of earlier spans stay unchanged. @param levels from the widest to the
   * narrowest.
   */
  update(
    levels: readonly Level[],
    from: number,
    { restartMinutes, falseStopMinutes, maximumFalseStopProbability }: StopPlanSettings,
  ): void {
    learn(levels, from);
    const last = SPANS - 1;
    // After the last span, the resource is expected to wait as long again.
    let [cost, left] = [SPAN_STARTS[last]!, SPAN_STARTS[last]!];
    for (let span = last; span >= from; span--) {
      const safe = SAFE_SPAN[span]!;
      const outlasts = lasts[safe]! + (lasts[safe + 1]! - lasts[safe]!) * SAFE_PART[span]!;
      const falseStop = 1 - outlasts / lasts[span]!;
      const charged = restartMinutes + falseStop * falseStopMinutes;
      if (span < last) {
        const minutes = (SPAN_STARTS[span + 1]! - SPAN_STARTS[span]!) * (1 - ends[span]! / 2);
        cost = minutes + (1 - ends[span]!) * cost;
        left = minutes + (1 - ends[span]!) * left;
      }
      const stops = falseStop <= maximumFalseStopProbability && charged <= cost;
      if (stops) cost = charged;
      this.stops[span] = stops ? 1 : 0;
      this.falseStop[span] = falseStop;
      this.saved[span] = left - charged;
    }
  }
}

function learn(levels: readonly Level[], from: number): void {
  ends.set(PRIOR);
  for (const { quiets, priorQuiets } of levels) {
    let came = 0;
    for (let span = SPANS - 1; span >= from; span--) {
      const ended = quiets.ended[span]!;
      came += ended;
      ends[span] = (ended + priorQuiets * ends[span]!) / (came + priorQuiets);
      came += quiets.cameTo[span]!;
    }
  }
  lasts[from] = 1;
  for (let span = from; span < SPANS; span++) lasts[span + 1] = lasts[span]! * (1 - ends[span]!);
}
