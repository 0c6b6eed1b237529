/**
 * A tenant's past use of the k-th GPU: how often it was in use lately and ever, for how long without a break, in how
 * many spells, and how much the tenant's demand changes. One vector of numbers per level, computed only from the hours
 * seen.
 *
 * It forecasts nothing (use-forecast.ts does) and allocates nothing per query. Invariant: the vector does not depend on
 * the scale of demand: a tenant with twice the GPUs has the same vector at twice the level.
 */
import { LevelTally } from './level-tally.js';

/** Windows in which the use of a level is counted, in hours. */
const WINDOW_HOURS = [3, 6, 12, 24, 48, 96, 168, 336, 720, 1440] as const;
/** Demand is compared with itself this many hours earlier. */
const LAG_HOURS = [1, 6, 24, 72, 168] as const;
/** Hours over which those differences are averaged, and the most that an average counts, in mean demands. */
const LAG_MEMORY_HOURS = 720;
const LAG_MAX = 2;

/** Numbers in a level's vector: the windows, the lags, and six of its whole past. */
export const LEVEL_FEATURES = WINDOW_HOURS.length + LAG_HOURS.length + 6;

/** A value of demand and the hour it was seen in. */
interface Seen {
  readonly gpus: number;
  readonly hour: number;
}

export class LevelHistory {
  private readonly past = new Int32Array(Math.max(...WINDOW_HOURS, ...LAG_HOURS) + 1);
  private readonly windows = WINDOW_HOURS.map(() => new LevelTally());
  private readonly ever = new LevelTally();
  /** Hours whose demand, and that of the hour before, reached a level: what is in `ever` and not here began a spell. */
  private readonly kept = new LevelTally();
  /** Rising demand, rising hours: after each of them demand was never as low again. */
  private readonly lows: Seen[] = [];
  /** Each time demand was higher than ever before. */
  private readonly records: Seen[] = [];
  private readonly moved = new Float64Array(LAG_HOURS.length);
  private mean = 0;
  private hours = 0;

  /** Takes the GPUs demanded in the next hour. */
  step(gpus: number): void {
    const hour = this.hours++;
    const before = hour === 0 ? 0 : this.at(hour - 1);
    this.past[hour % this.past.length] = gpus;
    WINDOW_HOURS.forEach((length, index) => {
      this.windows[index]!.add(gpus);
      if (hour >= length) this.windows[index]!.remove(this.at(hour - length));
    });
    this.ever.add(gpus);
    this.kept.add(Math.min(before, gpus));
    while (this.lows.length > 0 && this.lows.at(-1)!.gpus >= gpus) this.lows.pop();
    this.lows.push({ gpus, hour });
    if (gpus > (this.records.at(-1)?.gpus ?? 0)) this.records.push({ gpus, hour });
    const newest = 1 / Math.min(this.hours, LAG_MEMORY_HOURS);
    LAG_HOURS.forEach((lag, index) => {
      if (hour >= lag) this.moved[index]! += (Math.abs(gpus - this.at(hour - lag)) - this.moved[index]!) * newest;
    });
    this.mean += (gpus - this.mean) * newest;
  }

  /** The highest demand seen. */
  get peak(): number {
    return this.records.at(-1)?.gpus ?? 0;
  }

  /** Writes what is known about the level (1 or more) into `vector`, which holds `LEVEL_FEATURES` numbers. */
  describe(level: number, vector: Float64Array): void {
    let next = 0;
    WINDOW_HOURS.forEach(
      (length, index) => (vector[next++] = this.windows[index]!.atLeast(level) / Math.min(this.hours, length)),
    );
    LAG_HOURS.forEach(
      (_, index) => (vector[next++] = Math.min(LAG_MAX, this.moved[index]! / Math.max(0.01, this.mean))),
    );
    const used = this.ever.atLeast(level);
    const spells = used - this.kept.atLeast(level);
    vector[next++] = used / this.hours;
    vector[next++] = Math.log1p(used / Math.max(1, spells));
    vector[next++] = Math.log1p(spells);
    vector[next++] = Math.log1p(this.hoursInUse(level));
    vector[next++] = Math.log1p(this.hoursKnown(level));
    vector[next++] = Math.log(this.hours);
  }

  private at(hour: number): number {
    return this.past[hour % this.past.length]!;
  }

  /** Hours since demand was last below the level; 0 where it is now. */
  private hoursInUse(level: number): number {
    const low = this.lows[firstFrom(this.lows, level) - 1];
    return low === undefined ? this.hours : this.hours - 1 - low.hour;
  }

  /** Hours since the level was first reached, that hour included; 0 where it never was. */
  private hoursKnown(level: number): number {
    const record = this.records[firstFrom(this.records, level)];
    return record === undefined ? 0 : this.hours - record.hour;
  }
}

/** Index of the first entry, of entries with rising demand, that reaches the level; their number where none does. */
function firstFrom(seen: readonly Seen[], level: number): number {
  let [low, high] = [0, seen.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (seen[middle]!.gpus < level) low = middle + 1;
    else high = middle;
  }
  return low;
}
