#!/usr/bin/env node
/**
 * Prints the tables of docs/decisions-quality/scaling.md: by how much the planner cuts each HPA's cost above the
 * optimum, at the load that this HPA leaves unserved. Needs `npm run build` first.
 *
 *   node tests/backtest/scaling-tables.mjs weeks [--first-seed 21] [--arrivals FILE]     days and weeks of five seeds,
 *   or recorded arrivals
 *   node tests/backtest/scaling-tables.mjs hours [--seeds 11-20]                         short hours: the share that
 *   reaches the floor
 *
 * All series but recorded arrivals are synthetic. A short hour is 60 minutes of Poisson requests around a rate; what
 * the rate does is the kind's.
 */
import { parseArgs } from 'node:util';
import { runScalingBacktest } from '../../dist/src/lab/scaling/run.js';
import { mulberry32 } from '../../dist/src/lab/random.js';
import { scalingReport } from '../../dist/src/lab/scaling/backtest.js';
import { normal, poisson, seededSeries, SERIES_DEFAULTS } from '../../dist/src/lab/scaling/series.js';
import { cell, compare, FLOOR, kinds, PAIRS, Tally } from './scaling-comparisons.mjs';

/** Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). */
function gamma(shape, random) {
  if (shape < 1) return gamma(shape + 1, random) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  for (;;) {
    const x = normal(random);
    const v = (1 + x / Math.sqrt(9 * d)) ** 3;
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

const hour = (begin) => (seed) => {
  const random = mulberry32(seed * 7919 + 13);
  for (let n = 0; n < 5; n++) random();
  const minute = begin(random);
  return Float64Array.from({ length: 60 }, (_, at) => minute(at));
};
/** A rate for each minute by itself. */
const each = (rate) => hour((random) => (at) => poisson(rate(random, at), random));
const drawnAnew = (levels, probability) =>
  hour((random) => {
    let state = Math.floor(random() * levels.length);
    return () => {
      if (random() < probability) state = Math.floor(random() * levels.length);
      return poisson(levels[state], random);
    };
  });
const constant = (least, most, noise = (rate) => rate) =>
  hour((random) => {
    const rate = least + (most - least) * random();
    return (at) => poisson(noise(rate, random, at), random);
  });
/** Spikes over a rate of 8: the gap before the first, the mean gap, the longest, and how much their heights differ. */
const spikes = (firstGap, meanGap, lengths, spread) =>
  hour((random) => {
    let [left, gap, height] = [0, firstGap(random), 0];
    return () => {
      if (left > 0) {
        left -= 1;
        return poisson(height, random);
      }
      if (gap-- > 0) return poisson(8, random);
      gap = Math.floor(-meanGap * Math.log(1 - random()));
      left = Math.floor(random() * lengths);
      height = 200 * Math.exp(spread * normal(random));
      return poisson(height, random);
    };
  });
const firstHourFrom = (start) => (seed) =>
  seededSeries({ ...SERIES_DEFAULTS, minutes: start * 60 + 60, seed }).slice(start * 60);

const HOURS = {
  '200 or 5, as a coin falls': each((random) => (random() < 0.5 ? 200 : 5)),
  '300 in a fifth of the minutes, else 20': each((random) => (random() < 0.2 ? 300 : 20)),
  '250 or 10, changing with probability 0.35': hour((random) => {
    let high = random() < 0.5;
    return () => {
      if (random() < 0.35) high = !high;
      return poisson(high ? 250 : 10, random);
    };
  }),
  'lognormal, sigma 0.9': each((random) => 100 * Math.exp(0.9 * normal(random) - 0.4)),
  'Pareto, exponent 1.6, cut at 12 times the least': each((random) => 60 * Math.min(12, (1 - random()) ** (-1 / 1.6))),
  'gamma, shape 0.5': each((random) => (100 * gamma(0.5, random)) / 0.5),
  'gamma, shape 1': each((random) => 100 * gamma(1, random)),
  'gamma, shape 3': each((random) => (100 * gamma(3, random)) / 3),
  'gamma, shape 10': each((random) => (100 * gamma(10, random)) / 10),
  'lognormal, sigma 0.7, correlation of a minute with the next 0.5': hour((random) => {
    let x = normal(random);
    return () => {
      x = 0.5 * x + Math.sqrt(0.75) * normal(random);
      return poisson(100 * Math.exp(0.7 * x), random);
    };
  }),
  '20, 100 or 300, drawn anew with probability 0.2': drawnAnew([20, 100, 300], 0.2),
  '40, 120 or 200, drawn anew with probability 0.07': drawnAnew([40, 120, 200], 0.07),
  '3 to 14 minutes of a level drawn from 0 to 300, with gamma noise of shape 4': hour((random) => {
    let [left, height] = [0, 0];
    return () => {
      if (left-- <= 0) [left, height] = [3 + Math.floor(random() * 12), 300 * random() ** 2];
      return poisson((height * gamma(4, random)) / 4, random);
    };
  }),
  'constant, 0.5 to 3.5': constant(0.5, 3.5),
  '8, with spikes of one or two minutes of about 200 every four minutes': spikes(
    (random) => Math.floor(random() * 5),
    4,
    2,
    0.4,
  ),
  '3 to 14 minutes of 4, then 200 or 20 to 80, as a coin falls': hour((random) => {
    let quiet = 3 + Math.floor(random() * 12);
    return () => (quiet-- > 0 ? poisson(4, random) : poisson(random() < 0.5 ? 200 : 20 + 60 * random(), random));
  }),
  'first minute 4, then gamma, shape 1': each((random, at) => (at === 0 ? 4 : 100 * gamma(1, random))),
  'first minute 4, then 150 to 250 in six minutes of ten, else 5': each((random, at) =>
    at === 0 ? 4 : random() < 0.6 ? 150 + 100 * random() : 5,
  ),
  'first minute at most 8, spikes of up to three minutes of about 200 every three minutes': spikes(
    (random) => 1 + Math.floor(random() * 5),
    3,
    3,
    0.3,
  ),
  'even from 0 to 220': each((random) => 220 * random()),
  '20 bursts an hour': (seed) =>
    seededSeries({
      ...SERIES_DEFAULTS,
      minutes: 60,
      base: 200,
      burstsPerDay: 480,
      burstMinutes: 2,
      burstFactor: 10,
      seed,
    }),
  'constant, 30 to 330': constant(30, 330),
  'the same with gamma noise of shape 30': constant(30, 330, (rate, random) => (rate * gamma(30, random)) / 30),
  'the same as constant, after a first minute of less than half': constant(30, 330, (rate, random, at) =>
    at === 0 ? rate * random() * 0.5 : rate,
  ),
  'the week of the tables, from 0 h': firstHourFrom(0),
  'from 9 h': firstHourFrom(9),
  'from 20 h': firstHourFrom(20),
};

function comparisons(report) {
  const all = report.cells[0].policies.map(({ name, unservedShare: unserved, costRatio: cost }) => ({
    name,
    unserved,
    cost,
  }));
  return compare(
    all,
    all.filter(({ name }) => name.startsWith('bursar@')),
  );
}

async function weeks(firstSeed, arrivals) {
  const series =
    arrivals === undefined
      ? kinds(firstSeed).map(({ name, settings }) => [name, seededSeries(settings)])
      : [[arrivals, null]];
  const tally = new Tally();
  for (const [name, requests] of series) {
    for (const [bootMinutes, peakReplicas] of PAIRS) {
      const settings = { bootMinutes, peakReplicas };
      const compared = comparisons(
        requests === null ? await runScalingBacktest({ arrivals, ...settings }) : scalingReport(requests, settings),
      );
      tally.add(compared);
      console.log(`| ${name} | ${bootMinutes} | ${peakReplicas} | ${compared.map(cell).join(' | ')} |`);
    }
  }
  console.log(JSON.stringify(tally));
}

function hours(seeds) {
  const [first, last] = seeds.split('-').map(Number);
  const all = { reached: [0, 0, 0], of: 0 };
  const shares = ({ reached, of }) => reached.map((count) => `${Math.round((100 * count) / of)} %`).join(' / ');
  for (const [name, make] of Object.entries(HOURS)) {
    const own = { reached: [0, 0, 0], of: 0 };
    for (let seed = first; seed <= last; seed++) {
      for (const [bootMinutes, peakReplicas] of PAIRS) {
        for (const sum of [own, all]) sum.of += 1;
        comparisons(scalingReport(make(seed), { bootMinutes, peakReplicas })).forEach(({ reaches }, n) => {
          if (reaches(FLOOR)) for (const sum of [own, all]) sum.reached[n] += 1;
        });
      }
    }
    console.log(`| ${name} | ${shares(own)} |`);
  }
  console.log(`| all | ${shares(all)} |`);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'first-seed': { type: 'string', default: '21' },
    arrivals: { type: 'string' },
    seeds: { type: 'string', default: '11-20' },
  },
});
if (positionals[0] === 'weeks') await weeks(Number(values['first-seed']), values.arrivals);
else if (positionals[0] === 'hours') hours(values.seeds);
else {
  process.stderr.write(
    'usage: node tests/backtest/scaling-tables.mjs weeks|hours [--first-seed N] [--arrivals FILE] [--seeds A-B]\n',
  );
  process.exit(2);
}
