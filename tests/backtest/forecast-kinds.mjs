/**
 * Seeded kinds of daily spend (all synthetic) for the forecast's tables and for the series that its constants are
 * chosen on.
 * Needs `npm run build` first.
 *
 * Each seed draws its own pace, size and noise, and gives the same days on every machine. What is chosen on and what is
 * published use other seeds (forecast-choosing.mjs, forecast-tables.mjs).
 */
import { mulberry32 } from '../../dist/src/lab/random.js';

const drawing = (seed) => {
  const random = mulberry32(seed);
  return { random, normal: () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()) };
};

/** Without the days before anything was spent. */
export const fromFirstSpend = (series) => series.slice(series.findIndex((value) => value > 0));

/** A drifting level with jumps, a working week, 8 % noise; as in forecast.test.ts. */
export function weekly(seed) {
  const { random, normal } = drawing(seed);
  const week = [1.1, 1.15, 1.2, 1.1, 1, 0.5, 0.4];
  let level = 100;
  return Array.from({ length: 120 }, (_, day) => {
    level *= Math.exp(0.004 + 0.02 * normal());
    if (random() < 0.02) level *= 1 + 0.5 * random();
    return level * week[day % 7] * Math.exp(0.08 * normal());
  });
}

/** A week whose shape and weight are drawn, on a level that returns to its mean. */
export function weeklyCalm(seed) {
  const { random, normal } = drawing(seed);
  const [weekend, noise, pull] = [0.3 + 0.6 * random(), 0.03 + 0.22 * random(), 0.02 + 0.1 * random()];
  let level = 0;
  return Array.from({ length: 120 }, (_, day) => {
    level = (1 - pull) * level + 0.05 * normal();
    return 100 * Math.exp(level + noise * normal()) * (day % 7 < 5 ? 1 : weekend);
  });
}

/** A level of whole GPUs that steps up and down every one to three weeks. */
export function steps(seed) {
  const { random } = drawing(seed);
  let level = Math.ceil(4 * random());
  const up = 0.5 + 0.4 * random();
  const rate = 0.05 + 0.15 * random();
  return Array.from({ length: 130 }, () => {
    if (random() < rate) level = Math.max(0, level + (random() < up ? 1 : -1) * Math.ceil(3 * random() * random()));
    return 24 * level;
  });
}

/** A project of three to six weeks: rises, is busy, fades or stops. */
export function project(seed) {
  const { random, normal } = drawing(seed);
  const length = 20 + Math.floor(random() * 14);
  const [rise, fall, noise] = [1 + random() * 10, 1 + random() * 12, 0.1 + 0.6 * random()];
  const stop = random() < 0.5 ? length : Infinity;
  return Array.from({ length: length + (random() < 0.3 ? 8 : 0) }, (_, day) => {
    const busy = (1 - Math.exp(-(day + 1) / rise)) * (day > 0.6 * length ? Math.exp(-(day - 0.6 * length) / fall) : 1);
    const value = 100 * busy * Math.exp(noise * normal());
    return day > stop || random() < 0.07 ? 0 : value;
  });
}

/** Bursts that fade, over a base or over nothing. */
export function bursts(seed) {
  const { random, normal } = drawing(seed);
  const base = random() < 0.5 ? 0 : 20 + 40 * random();
  const rate = 0.03 + 0.12 * random();
  let burst = 0;
  return Array.from({ length: 120 }, () => {
    burst *= 0.3 + 0.5 * random();
    if (random() < rate) burst += 50 + 300 * random() * random();
    return base * Math.exp(0.1 * normal()) + (burst < 3 ? 0 : burst);
  });
}

/** Jobs that arrive in batches, hold GPUs for heavy-tailed times (days to weeks) and leave. */
export function held(seed) {
  const { random, normal } = drawing(seed);
  const days = 120;
  const spend = new Array(days).fill(0);
  const mean = 4 * Math.exp(0.5 * normal());
  let rate = Math.log(2) + 0.5 * normal();
  for (let day = 0; day < days; day += 1) {
    rate += 0.1 * normal();
    for (
      let wait = -Math.log(1 - random()) / Math.exp(rate);
      wait < 1;
      wait -= Math.log(1 - random()) / Math.exp(rate)
    ) {
      const from = day + wait;
      const until = from + mean * Math.exp(1.3 * normal() - 0.85);
      const gpus = (random() < 0.7 ? 1 : 4) * (random() < 0.1 ? 1 + Math.floor(10 * random()) : 1);
      for (let at = day; at < days && at < until; at += 1)
        spend[at] += 24 * gpus * (Math.min(at + 1, until) - Math.max(at, from));
    }
  }
  return fromFirstSpend(spend);
}

/** A level whose logarithm walks at random. */
export function walk(seed) {
  const { random, normal } = drawing(seed);
  const [pace, drift] = [0.005 + 0.06 * random(), 0.006 * normal()];
  let level = 100;
  return Array.from({ length: 120 }, () => (level *= Math.exp(drift + pace * normal())));
}

/** Only rises: arrivals, each of one to some GPUs, that never leave; the pace of arrivals walks. */
export function rising(seed) {
  return arrivals(seed, Infinity);
}

/** The same, where what arrived leaves after weeks to months. */
export function risingAndLeaving(seed) {
  return arrivals(seed, 20 + 60 * mulberry32(seed + 1e6)());
}

function arrivals(seed, stayDays) {
  const { random, normal } = drawing(seed);
  const spend = new Array(125).fill(0);
  let rate = Math.log(0.2 + 0.6 * random());
  for (let day = 0; day < spend.length; day += 1) {
    rate += 0.12 * normal();
    for (
      let wait = -Math.log(1 - random()) / Math.exp(rate);
      wait < 1;
      wait -= Math.log(1 - random()) / Math.exp(rate)
    ) {
      const gpus = random() < 0.8 ? 1 : Math.ceil(8 * random());
      const until = stayDays === Infinity ? Infinity : day - stayDays * Math.log(1 - random());
      for (let at = day; at < spend.length && at < until; at += 1) spend[at] += 24 * gpus;
    }
  }
  return spend.some((value) => value > 0) ? fromFirstSpend(spend) : spend.fill(24);
}

const PARTS = [weekly, weeklyCalm, steps, bursts, held, walk, rising, risingAndLeaving];

/** What a series of one kind becomes when another takes over half-way, its level carried on. */
export function changing(seed) {
  const random = mulberry32(seed + 2e6);
  const [before, after] = [PARTS, PARTS].map((parts) => parts[Math.floor(parts.length * random())]);
  const at = 30 + Math.floor(70 * random());
  const first = before(seed).slice(0, at);
  const second = after(seed + 3e6);
  const mean = (series) => series.reduce((sum, value) => sum + value, 0) / series.length;
  const times = (mean(first.slice(-7)) + mean(first)) / 2 / Math.max(1, mean(second.slice(0, 30)));
  return [...first, ...second.slice(0, 120 - at).map((value) => times * value)];
}
