/**
 * A recorded resource under stops: its cost, and the work that a stop disturbed.
 *
 * A stop of an idle resource lasts until a reading shows that it is needed (work, or nothing known: no saving may be
 * claimed for an unobserved time). A stop of a working resource lasts as long as the policy continues to propose it,
 * and the prevented work is counted.
 */
import type { ResourceView } from '../../core/policy/policy.js';
import { HOUR_MS, MINUTE_MS } from '../../core/time.js';
import { activityOf, type IdleSample } from '../idle/samples.js';
import { FALSE_STOP_MINUTES } from '../idle/simulate.js';
import type { CostSteps } from './steps.js';

/** Readings further apart say nothing of the time between them. */
const GAP_MS = HOUR_MS;

export interface ResourceBill {
  readonly cost: number;
  readonly stops: number;
  readonly falseStops: number;
  /** Minutes of work that a stop prevented. */
  readonly preventedMinutes: number;
}

interface Stop {
  readonly at: number;
  until: number;
  readonly isForced: boolean;
}

export class ReplayedResource {
  private readonly stops: Stop[] = [];
  readonly samples: readonly IdleSample[];
  private readonly instants: readonly number[];
  private readonly allSums: Float64Array;
  private readonly workSums: Float64Array;

  constructor(
    readonly resource: ResourceView,
    readonly from: number,
    readonly to: number,
  ) {
    const readings = resource.readings.filter(({ at }) => at >= from && at < to);
    this.instants = readings.map(({ at }) => at);
    this.samples = readings.map((reading): IdleSample => {
      const evidence = {
        resource: resource.resource,
        minute: (reading.at - from) / MINUTE_MS,
        gpuUtilPercent: reading.gpuUtilisationRatio === null ? null : reading.gpuUtilisationRatio * 100,
        requestsPerSecond: reading.requestsPerSecond,
        memoryUsedRatio: reading.memoryUsedRatio,
        workload: resource.workload,
      };
      return { evidence, useful: activityOf(evidence) !== 'quiet' };
    });
    this.allSums = this.sumsOf(() => true);
    this.workSums = this.sumsOf((n) => this.samples[n]?.useful === true);
  }

  /** Whether a stop holds at an instant. */
  isStopped(instant: number): boolean {
    const last = this.stops.at(-1);
    return last !== undefined && instant < last.until;
  }

  stop(at: number): void {
    if (this.isStopped(at)) return;
    const before = this.instants.findLastIndex((instant) => instant <= at);
    const isForced = before >= 0 && this.samples[before]?.useful === true;
    this.stops.push({ at, until: isForced ? this.to : this.neededAfter(at), isForced });
  }

  /** The policy no longer asks for it: what it held down by force runs again. */
  release(at: number): void {
    const last = this.stops.at(-1);
    if (last?.isForced === true && at < last.until) last.until = at;
  }

  private neededAfter(at: number): number {
    const next = this.samples.findIndex(({ useful }, n) => useful === true && (this.instants[n] ?? 0) >= at);
    return next < 0 ? this.to : (this.instants[next] ?? this.to);
  }

  /** Currency units per hour; null: it has no price. */
  get perHour(): number | null {
    return this.resource.hourlyNanos === null ? null : Number(this.resource.hourlyNanos) / 1e9;
  }

  /** Why its cost is unknown; null: it is known. */
  get unknown(): string | null {
    return this.perHour === null ? 'its hourly cost is unknown' : null;
  }

  /** Recorded minutes of the window within [start, end). */
  minutes(start: number, end: number, isWork: boolean | null = null): number {
    const sums = isWork === true ? this.workSums : this.allSums;
    return Math.max(0, this.sumUntil(sums, end) - this.sumUntil(sums, start)) / MINUTE_MS;
  }

  /** Milliseconds before each reading that counted; the last entry is all of them. */
  private sumsOf(counts: (n: number) => boolean): Float64Array {
    const sums = new Float64Array(this.instants.length + 1);
    this.instants.forEach((at, n) => {
      const span = (this.instants[n + 1] ?? at) - at;
      sums[n + 1] = (sums[n] ?? 0) + (span <= GAP_MS && counts(n) ? span : 0);
    });
    return sums;
  }

  private sumUntil(sums: Float64Array, instant: number): number {
    // The first reading at or after the instant.
    let [low, high] = [0, this.instants.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.instants[middle] ?? 0) < instant) low = middle + 1;
      else high = middle;
    }
    const before = low - 1;
    const whole = sums[Math.max(0, before)] ?? 0;
    const isCounted = before >= 0 && (sums[before + 1] ?? 0) > whole;
    return (
      whole + (isCounted ? Math.min(instant, this.instants[low] ?? instant) - (this.instants[before] ?? instant) : 0)
    );
  }

  /** Cost of each step; their sum is the bill's. */
  paid(restartMinutes: number, steps: CostSteps): Float64Array {
    const costs = steps.none();
    const perMinute = (this.perHour ?? 0) / 60;
    const add = (step: number, minutes: number): void => void (costs[step] = (costs[step] ?? 0) + minutes * perMinute);
    for (let step = 0; step < steps.count; step++) add(step, this.minutes(...steps.bounds(step)));
    for (const { at, until } of this.stops) {
      for (let step = steps.at(at); step <= steps.at(until); step++) {
        const [start, end] = steps.bounds(step);
        add(step, -this.minutes(Math.max(at, start), Math.min(until, end)));
      }
      if (until < this.to) add(steps.at(until), restartMinutes);
    }
    return costs;
  }

  bill(restartMinutes: number): ResourceBill {
    const perMinute = (this.perHour ?? 0) / 60;
    const ended = this.stops.filter(({ until }) => until < this.to);
    const saved =
      this.stops.reduce((sum, { at, until }) => sum + this.minutes(at, until), 0) - ended.length * restartMinutes;
    return {
      cost: (this.minutes(this.from, this.to) - saved) * perMinute,
      stops: this.stops.length,
      falseStops: ended.filter(({ at, until, isForced }) => !isForced && until - at <= FALSE_STOP_MINUTES * MINUTE_MS)
        .length,
      preventedMinutes: this.stops.reduce((sum, { at, until }) => sum + this.minutes(at, until, true), 0),
    };
  }
}
