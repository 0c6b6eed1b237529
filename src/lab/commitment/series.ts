/**
 * Demand to measure on: from lists of real jobs by a written rule, and from a seed.
 *
 * A seeded series is synthetic and says so in its name. This file never reads a file: the caller hands it the rows.
 * Invariant: the same input gives the same series everywhere.
 */
import { mulberry32, type Random } from '../random.js';

/** Whole GPUs per hour, hour 0 first. */
export interface DemandSeries {
  readonly tenant: string;
  readonly demand: Int32Array;
}

/** A span of use: half-open seconds, and thousandths of a GPU. */
export interface GpuSpan {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly milliGpus: number;
}

/**
 * GPUs that hourly demand takes: the most that were in use at once in each hour, in whole GPUs, rounded up. A span that
 * begins and ends within one hour still needs its GPUs in that hour, as a cloud that rents by the hour would charge it.
 */
export function hourlyPeaks(spans: readonly GpuSpan[], hours: number): Int32Array {
  const events = spans
    .flatMap(({ startSeconds, endSeconds, milliGpus }) =>
      endSeconds > startSeconds
        ? [
            { at: startSeconds, change: milliGpus },
            { at: endSeconds, change: -milliGpus },
          ]
        : [],
    )
    .sort((one, other) => one.at - other.at || one.change - other.change);
  const peaks = new Int32Array(hours);
  let inUse = 0;
  let next = 0;
  for (let hour = 0; hour < hours; hour++) {
    // An end at the hour's first instant comes before the peak is taken: spans are half-open.
    while (next < events.length && events[next]!.at <= hour * 3600) inUse += events[next++]!.change;
    let peak = inUse;
    while (next < events.length && events[next]!.at < (hour + 1) * 3600) {
      inUse += events[next++]!.change;
      peak = Math.max(peak, inUse);
    }
    peaks[hour] = Math.ceil(peak / 1000);
  }
  return peaks;
}

/** Standard normal number by Box and Muller's transform. */
const normal = (random: Random): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

const poisson = (random: Random, mean: number): number => {
  if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)));
  let count = 0;
  for (let product = random(); product > Math.exp(-mean); product *= random()) count++;
  return count;
};

/**
 * SYNTHETIC durations for lists that hold real arrivals and GPU counts but no real durations (the gavel form of the
 * Philly trace): log-normal with a median of one hour and a sigma of 2, so the mean is 7.4 hours and one in a hundred
 * runs longer than four days, cut at 30 days. The Philly paper (Jeon et al., ATC'19) shows such a spread; the figures
 * here are ours.
 */
export function syntheticDurationSeconds(random: Random): number {
  return Math.min(30 * 86_400, 3600 * Math.exp(2 * normal(random)));
}

export const SERIES_SHAPES = [
  'steady',
  'trend',
  'week',
  'day',
  'steps',
  'bursts',
  'jobs',
  'projects',
  'mixed',
] as const;
export type SeriesShape = (typeof SERIES_SHAPES)[number];

/** A SYNTHETIC series: `hours` of demand of the given shape. The rules are `SHAPES`, one line of reason each. */
export function syntheticSeries(shape: SeriesShape, hours: number, seed: number): DemandSeries {
  const random = mulberry32(seed);
  const level = Math.round(4 * Math.exp(random() * 4));
  const demand = new Int32Array(hours);
  const gpus = SHAPES[shape](random, level, hours);
  for (let hour = 0; hour < hours; hour++) demand[hour] = Math.max(0, Math.round(gpus(hour)));
  return { tenant: `synthetic-${shape}-${seed}`, demand };
}

/** For each shape a function from the hour to GPUs; what is random is drawn from `random` only. */
const SHAPES: Readonly<
  Record<SeriesShape, (random: Random, level: number, hours: number) => (hour: number) => number>
> = {
  // A service of constant size with a little noise.
  steady: (random, level) => () => level * (1 + 0.05 * normal(random)),
  // Growth or decline by a fixed amount per hour: from 0.3 to 2 times the level, or back.
  trend: (random, level, hours) => {
    const up = random() < 0.7;
    return (hour) => level * (0.3 + 1.7 * (up ? hour / hours : 1 - hour / hours)) * (1 + 0.08 * normal(random));
  },
  // Office weeks: a base, more by day, nothing more at the weekend.
  week: (random, level) => {
    const base = 0.2 + 0.6 * random();
    return (hour) => {
      const isWorking = Math.floor(hour / 24) % 7 < 5 && hour % 24 >= 8 && hour % 24 < 20;
      return level * (isWorking ? 1 : base) * (1 + 0.05 * normal(random));
    };
  },
  // A sine over the day, with a slower one over the week.
  day: (random, level) => {
    const swing = 0.1 + 0.7 * random();
    return (hour) =>
      level *
      (1 + swing * Math.sin((2 * Math.PI * hour) / 24) + 0.2 * Math.sin((2 * Math.PI * hour) / 168)) *
      (1 + 0.05 * normal(random));
  },
  // Long steps to new levels, exponential with a mean of three weeks.
  steps: (random, level) => {
    let until = 0;
    let current = 0;
    return (hour) => {
      if (hour >= until) {
        current = level * 2 * random();
        until = hour + 24 - 500 * Math.log(1 - random());
      }
      return current + 0.03 * level * normal(random);
    };
  },
  // A small base, and bursts of some hours to some days at a multiple of it.
  bursts: (random, level) => {
    let burst = 0;
    let until = 0;
    return (hour) => {
      if (hour >= until) burst = 0;
      if (burst === 0 && random() < 1 / 150) {
        burst = level * (0.5 + 2 * random());
        until = hour + 3 - 30 * Math.log(1 - random());
      }
      return 0.2 * level + burst + 0.03 * level * normal(random);
    };
  },
  // Jobs that come at random (more by day) and run for log-normal times: an infinite-server queue.
  jobs: (random, level) => {
    const ends: number[] = [];
    const mean = Math.exp(Math.log(6) + 1.2 ** 2 / 2);
    return (hour) => {
      const arrivals = poisson(random, (level / mean / 4) * (hour % 24 >= 8 && hour % 24 < 20 ? 1.4 : 0.6));
      for (let job = 0; job < arrivals; job++) {
        const end = hour + 6 * Math.exp(1.2 * normal(random));
        const size = 2 ** Math.floor(4 * random());
        for (let gpu = 0; gpu < size; gpu++) ends.push(end);
      }
      let kept = 0;
      for (const end of ends) if (end > hour) ends[kept++] = end;
      ends.length = kept;
      return kept;
    };
  },
  // Projects: on at full size for weeks, then off for weeks.
  projects: (random, level) => {
    let on = random() < 0.5;
    let until = 0;
    return (hour) => {
      if (hour >= until) {
        on = !on;
        until = hour + 12 - 350 * Math.log(1 - random());
      }
      return on ? level * (1 + 0.05 * normal(random)) : 0;
    };
  },
  // All of them on one tenant, each in a random strength: trend, office week, steps and bursts.
  mixed: (random, level, hours) => {
    const parts = (['trend', 'week', 'steps', 'bursts'] as const).map((shape) => {
      const weight = random() ** 2;
      const gpus = SHAPES[shape](random, level, hours);
      return (hour: number) => weight * gpus(hour);
    });
    return (hour) => parts.reduce((sum, gpus) => sum + Math.max(0, gpus(hour)), 0);
  },
};
