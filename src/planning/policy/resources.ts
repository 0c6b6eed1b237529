/**
 * A recorded resource under stops: what it cost, and whom a stop disturbed.
 *
 * A stop of something that rests lasts until a reading shows that it is needed (work, or nothing known: no saving may be claimed for what
 * nobody saw). A stop of something at work lasts as long as the policy goes on saying so, and the work that it kept from being done is counted.
 */
import type { ResourceView } from '../../core/policy.js';
import { HOUR_MS, MINUTE_MS } from '../../core/time.js';
import { activityOf, type IdleSample } from '../idle/samples.js';
import { FALSE_STOP_MINUTES } from '../idle/simulate.js';

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

  constructor(readonly resource: ResourceView, readonly from: number, readonly to: number) {
    const readings = resource.readings.filter(({ at }) => at >= from && at < to);
    this.instants = readings.map(({ at }) => at);
    this.samples = readings.map((reading): IdleSample => {
      const evidence = {
        resource: resource.resource, minute: (reading.at - from) / MINUTE_MS, gpuUtilPercent: reading.gpuUtilisationRatio === null ? null : reading.gpuUtilisationRatio * 100,
        requestsPerSecond: reading.requestsPerSecond, memoryUsedRatio: reading.memoryUsedRatio, workload: resource.workload,
      };
      return { evidence, useful: activityOf(evidence) !== 'quiet' };
    });
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

  /** Recorded minutes of the window within [start, end). */
  minutes(start: number, end: number, isWork: boolean | null = null): number {
    let sum = 0;
    this.instants.forEach((at, n) => {
      const next = this.instants[n + 1];
      if (next === undefined || next - at > GAP_MS || (isWork !== null && this.samples[n]?.useful !== isWork)) return;
      sum += Math.max(0, Math.min(next, end) - Math.max(at, start)) / MINUTE_MS;
    });
    return sum;
  }

  bill(restartMinutes: number): ResourceBill {
    const perMinute = (this.perHour ?? 0) / 60;
    const ended = this.stops.filter(({ until }) => until < this.to);
    const saved = this.stops.reduce((sum, { at, until }) => sum + this.minutes(at, until), 0) - ended.length * restartMinutes;
    return {
      cost: (this.minutes(this.from, this.to) - saved) * perMinute, stops: this.stops.length,
      falseStops: ended.filter(({ at, until, isForced }) => !isForced && until - at <= FALSE_STOP_MINUTES * MINUTE_MS).length,
      preventedMinutes: this.stops.reduce((sum, { at, until }) => sum + this.minutes(at, until, true), 0),
    };
  }
}
