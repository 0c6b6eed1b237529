/**
 * A broad prior of demand, to fit the commitment planner's forecast on: SYNTHETIC, nothing here is measured.
 *
 * A tenant is a sum of one to five parts of drawn kinds (base, trend, season, steps, spells, a queue of jobs, a slow
 * random walk), each with durations, sizes and laws drawn over orders of magnitude, so that no single shape is
 * favoured. It shares no code and no parameter with the seeded series that the tables are made of
 * (src/lab/commitment/series.ts): those stay unseen. The same seed gives the same demand.
 */
import { mulberry32 } from '../../dist/src/lab/random.js';

const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** A number from `low` to `high`, uniform in its logarithm. */
export const logUniform = (random, low, high) => low * Math.exp(random() * Math.log(high / low));

function poisson(random, mean) {
  if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)));
  let count = 0;
  for (let product = random(); product > Math.exp(-mean); product *= random()) count++;
  return count;
}

/**
 * Draws durations of about the given mean, by a law that is itself drawn: exponential, log-normal, uniform or
 * heavy-tailed.
 */
function durations(random, mean) {
  const kind = random();
  if (kind < 0.4) return () => 1 - mean * Math.log(1 - random());
  if (kind < 0.6) {
    const sigma = 0.3 + 1.2 * random();
    return () => mean * Math.exp(sigma * normal(random) - sigma ** 2 / 2);
  }
  if (kind < 0.8) return () => mean * (0.2 + 1.6 * random());
  const tail = 1.2 + random();
  return () => Math.min(20 * mean, mean * ((tail - 1) / tail) * (1 - random()) ** (-1 / tail));
}

/** Each part: a function from the hour, asked in order, to demand of about 1. */
const PARTS = {
  base: () => () => 1,
  trend(random, hours) {
    const end = logUniform(random, 0.1, 10);
    const isExponential = random() < 0.3;
    return (hour) => (isExponential ? Math.exp((Math.log(end) * hour) / hours) : 1 + ((end - 1) * hour) / hours);
  },
  season(random) {
    const night = random() * random();
    const keepsWeekend = random();
    const from = Math.floor(6 + 4 * random());
    const length = Math.floor(6 + 12 * random());
    const isSine = random() < 0.4;
    const [byDay, byWeek] = [random(), 0.4 * random()];
    return (hour) => {
      if (isSine)
        return 1 + byDay * Math.sin((2 * Math.PI * hour) / 24) + byWeek * Math.sin((2 * Math.PI * hour) / 168);
      const working = (hour + 24 - from) % 24 < length ? 1 : night;
      if (Math.floor(hour / 24) % 7 < 5) return working;
      return night + (working - night) * (keepsWeekend < 0.6 ? 0 : keepsWeekend);
    };
  },
  steps(random) {
    const lasts = durations(random, logUniform(random, 30, 1500));
    const walks = random() < 0.4;
    let [until, level] = [0, 0];
    return (hour) => {
      if (hour >= until) {
        level = walks ? Math.max(0, level + random() - 0.45) : 2 * random();
        until = hour + lasts();
      }
      return level;
    };
  },
  spells(random) {
    const on = durations(random, logUniform(random, 4, 1000));
    const off = durations(random, logUniform(random, 8, 1500));
    const varies = random() < 0.6;
    let [isOn, until, size] = [random() < 0.5, 0, 1];
    return (hour) => {
      while (hour >= until) {
        isOn = !isOn;
        until = Math.max(until, hour) + Math.max(1, isOn ? on() : off());
        if (isOn) size = varies ? 0.3 + 1.4 * random() : 1;
      }
      return isOn ? size : 0;
    };
  },
  jobs(random) {
    const lasts = durations(random, logUniform(random, 1, 120));
    const running = logUniform(random, 0.3, 30);
    const sizes = 1 + Math.floor(5 * random());
    const byDay = 0.8 * random();
    const meanHours =
      Array.from({ length: 200 }, () => Math.max(0, lasts())).reduce((sum, hours) => sum + hours, 0) / 200;
    const meanSize = (2 ** sizes - 1) / sizes;
    let jobs = [];
    return (hour) => {
      const arrivals = poisson(
        random,
        (running / meanHours) * (hour % 24 >= 8 && hour % 24 < 20 ? 1 + byDay : 1 - byDay),
      );
      for (let job = 0; job < arrivals; job++)
        jobs.push({ end: hour + lasts(), gpus: 2 ** Math.floor(sizes * random()) });
      jobs = jobs.filter(({ end }) => end > hour);
      return jobs.reduce((sum, { gpus }) => sum + gpus, 0) / (running * meanSize);
    };
  },
  drift(random) {
    const kept = 1 - 1 / logUniform(random, 10, 1000);
    const sigma = 0.1 + 0.7 * random();
    let state = sigma * normal(random);
    return () => {
      state = kept * state + Math.sqrt(1 - kept ** 2) * sigma * normal(random);
      return Math.exp(state);
    };
  },
};

/** Hourly demand in whole GPUs, at most `GPUS_MAX`; some tenants begin late, some rent eight GPUs at a time. */
export function priorDemand(seed) {
  const random = mulberry32(seed);
  const hours = Math.round(random() < 0.12 ? logUniform(random, 5000, 20_000) : logUniform(random, 700, 5000));
  const kinds = Object.values(PARTS);
  const parts = Array.from({ length: 1 + Math.floor(4.5 * random() * random()) }, () => ({
    weight: random() ** 2 + 0.05,
    gpus: kinds[Math.floor(random() * kinds.length)](random, hours),
  }));
  const factor = random() < 0.25 ? PARTS[random() < 0.5 ? 'season' : 'trend'](random, hours) : () => 1;
  const scale = logUniform(random, 2, 250) / parts.reduce((sum, { weight }) => sum + weight, 0);
  const noise = random() < 0.3 ? 0 : 0.12 * random();
  const start = random() < 0.2 ? Math.floor(0.7 * random() * hours) : 0;
  const unit = random() < 0.15 ? 8 : 1;
  return Int32Array.from({ length: hours }, (_, hour) => {
    if (hour < start) return 0;
    const mean =
      scale * factor(hour) * parts.reduce((sum, { weight, gpus }) => sum + weight * Math.max(0, gpus(hour)), 0);
    return Math.min(GPUS_MAX, Math.max(0, Math.round((mean * (1 + noise * normal(random))) / unit) * unit));
  });
}

const GPUS_MAX = 4000;
