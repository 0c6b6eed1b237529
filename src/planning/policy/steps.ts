/**
 * Long work in steps: a generator reports its progress, so that its driver may rest, report, or stop in between; and
 * the equal steps of a window in which costs are reported.
 *
 * The invariant: driven in one go or with pauses, the work gives the same result.
 */
import type { CostSeries } from '../../core/policy/backtest.js';
import { DAY_MS, formatInstant, HOUR_MS } from '../../core/time.js';

/** Work that yields the share of it that is done, and in the end gives its result. */
export type Steps<T> = Generator<number, T, void>;

/** Drives work in one go. */
export function finished<T>(work: Steps<T>): T {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

/** Drives work and maps its progress into a part of a longer one. */
export function* within<T>(work: Steps<T>, from: number, to: number): Steps<T> {
  let step = work.next();
  while (step.done !== true) {
    yield from + (to - from) * step.value;
    step = work.next();
  }
  return step.value;
}

/** Points of a curve that a report holds. */
const MOST_STEPS = 120;

/** Cost by steps of one day or a few. */
export class CostSteps {
  readonly stepMs: number;
  readonly count: number;

  constructor(readonly window: { readonly from: number; readonly to: number }) {
    this.stepMs = Math.max(1, Math.ceil((window.to - window.from) / DAY_MS / MOST_STEPS)) * DAY_MS;
    this.count = Math.ceil((window.to - window.from) / this.stepMs);
  }

  none(): Float64Array {
    return new Float64Array(this.count);
  }

  /** The step in which an instant of the window lies. */
  at(instant: number): number {
    return Math.min(this.count - 1, Math.max(0, Math.floor((instant - this.window.from) / this.stepMs)));
  }

  /** Start and end of a step, held within the window. */
  bounds(step: number): readonly [number, number] {
    const start = this.window.from + step * this.stepMs;
    return [start, Math.min(this.window.to, start + this.stepMs)];
  }

  /** The sum of several, step by step. */
  sum(all: readonly { readonly paid: Float64Array }[]): Float64Array {
    const whole = this.none();
    for (const { paid } of all) paid.forEach((cost, step) => void (whole[step] = (whole[step] ?? 0) + cost));
    return whole;
  }

  /** For the report. */
  series(costs: ReadonlyMap<string, Float64Array>): CostSeries {
    const rounded = (values: Float64Array): number[] => Array.from(values, (value) => Math.round(value * 1e4) / 1e4);
    return {
      from: formatInstant(this.window.from),
      stepHours: this.stepMs / HOUR_MS,
      costs: Object.fromEntries([...costs].map(([name, values]) => [name, rounded(values)])),
    };
  }
}
