#!/usr/bin/env node
/**
 * What a planner could reach on the seeded series that knows how they are made: their rules, their parameters, where
 * each part stands now, but no draw of the future. It bounds what any planner can learn there. Needs `npm run build`
 * first; a minute or two.
 *
 *   node tests/backtest/commitment-informed.mjs [--seeds 5] [--first-seed 1001] [--term-hours 168] [--price-ratio 0.6]
 *   [--paths 16]
 *
 * Every third hour, and where demand jumps, it draws futures of one term from the present state and holds the levels
 * that are in use for more than the price ratio of them; no guard, no waiting. The parts repeat
 * src/lab/commitment/series.ts draw by draw, which is checked hour by hour.
 */
import { parseArgs } from 'node:util';
import { coefficientOfVariation, commitmentCost } from '../../dist/src/planning/commitment/model.js';
import { optimum } from '../../dist/src/planning/commitment/optimum.js';
import { SERIES_SHAPES, syntheticSeries } from '../../dist/src/lab/commitment/series.js';
import { mulberry32 } from '../../dist/src/lab/random.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    'first-seed': { type: 'string', default: '1001' },
    'term-hours': { type: 'string', default: '168' },
    'price-ratio': { type: 'string', default: '0.6' },
    paths: { type: 'string', default: '16' },
  },
});
const HOURS = 4000;
const term = { termHours: Number(values['term-hours']), priceRatio: Number(values['price-ratio']), alpha: 0 };
const paths = Number(values.paths);

const normal = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const exponential = (random, mean) => -mean * Math.log(1 - random());
const isOffice = (hour) => hour % 24 >= 8 && hour % 24 < 20;

function poisson(random, mean) {
  if (mean > 30) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal(random)));
  let count = 0;
  for (let product = random(); product > Math.exp(-mean); product *= random()) count++;
  return count;
}

/** A part without hidden state: the future is drawn as the present is. */
const open = (gpus) => ({ step: gpus, fork: (_hour, random) => (hour) => gpus(hour, random) });

/**
 * A part that keeps a value until some hour; `next` changes the state, `left` draws what is left of a stay given its
 * beginning.
 */
function staying({ state, next, left, gpus }) {
  const step = (hour, random) => {
    next(state, hour, random);
    return gpus(state, random);
  };
  const fork = (hour, random) => {
    const copy = { ...state, until: left(state, hour, random) };
    return (later) => {
      next(copy, later, random);
      return gpus(copy, random);
    };
  };
  return { step, fork };
}

const PARTS = {
  steady: (_random, level) => open((_hour, random) => level * (1 + 0.05 * normal(random))),
  trend(random, level) {
    const up = random() < 0.7;
    return open(
      (hour, draw) => level * (0.3 + 1.7 * (up ? hour / HOURS : 1 - hour / HOURS)) * (1 + 0.08 * normal(draw)),
    );
  },
  week(random, level) {
    const base = 0.2 + 0.6 * random();
    return open(
      (hour, draw) => level * (Math.floor(hour / 24) % 7 < 5 && isOffice(hour) ? 1 : base) * (1 + 0.05 * normal(draw)),
    );
  },
  day(random, level) {
    const swing = 0.1 + 0.7 * random();
    return open(
      (hour, draw) =>
        level *
        (1 + swing * Math.sin((2 * Math.PI * hour) / 24) + 0.2 * Math.sin((2 * Math.PI * hour) / 168)) *
        (1 + 0.05 * normal(draw)),
    );
  },
  steps: (_random, level) =>
    staying({
      state: { until: 0, size: 0, since: 0 },
      next(state, hour, random) {
        if (hour >= state.until)
          Object.assign(state, {
            size: level * 2 * random(),
            until: hour + 24 + exponential(random, 500),
            since: hour,
          });
      },
      left: ({ since }, hour, random) => Math.max(hour, since + 24) + exponential(random, 500),
      gpus: ({ size }, random) => size + 0.03 * level * normal(random),
    }),
  bursts: (_random, level) =>
    staying({
      state: { until: 0, size: 0, since: 0 },
      next(state, hour, random) {
        if (hour >= state.until) state.size = 0;
        if (state.size === 0 && random() < 1 / 150)
          Object.assign(state, {
            size: level * (0.5 + 2 * random()),
            until: hour + 3 + exponential(random, 30),
            since: hour,
          });
      },
      left: ({ size, since }, hour, random) => (size === 0 ? 0 : Math.max(hour, since + 3) + exponential(random, 30)),
      gpus: ({ size }, random) => 0.2 * level + size + 0.03 * level * normal(random),
    }),
  projects: (random, level) =>
    staying({
      state: { until: 0, isOn: random() < 0.5, since: 0 },
      next(state, hour, draw) {
        if (hour >= state.until)
          Object.assign(state, { isOn: !state.isOn, until: hour + 12 + exponential(draw, 350), since: hour });
      },
      left: ({ since }, hour, draw) => Math.max(hour, since + 12) + exponential(draw, 350),
      gpus: ({ isOn }, draw) => (isOn ? level * (1 + 0.05 * normal(draw)) : 0),
    }),
  jobs(_random, level) {
    let jobs = [];
    const rate = (hour) => (level / Math.exp(Math.log(6) + 1.2 ** 2 / 2) / 4) * (isOffice(hour) ? 1.4 : 0.6);
    const drawHours = (random) => 6 * Math.exp(1.2 * normal(random));
    const arriving = (hour, random) =>
      Array.from({ length: poisson(random, rate(hour)) }, () => ({
        since: hour,
        end: hour + drawHours(random),
        gpus: 2 ** Math.floor(4 * random()),
      }));
    const running = (all, hour) => all.filter(({ end }) => end > hour);
    const total = (all) => all.reduce((sum, { gpus }) => sum + gpus, 0);
    const step = (hour, random) => total((jobs = running([...jobs, ...arriving(hour, random)], hour)));
    /** What a running job's whole length may be: as drawn, among those that have not ended. */
    const redrawn = (job, hour, random) => {
      for (let tries = 0; tries < 300; tries++) {
        const end = job.since + drawHours(random);
        if (end > hour - 1) return { ...job, end };
      }
      return { ...job, end: hour + 0.3 * (hour - job.since) };
    };
    const fork = (from, random) => {
      let later = jobs.map((job) => redrawn(job, from, random));
      return (hour) => total((later = running([...later, ...arriving(hour, random)], hour)));
    };
    return { step, fork };
  },
  mixed(random, level) {
    const parts = ['trend', 'week', 'steps', 'bursts'].map((shape) => {
      const weight = random() ** 2;
      return { weight, part: PARTS[shape](random, level) };
    });
    return {
      step: (hour, draw) =>
        parts.reduce((sum, { weight, part }) => sum + Math.max(0, weight * part.step(hour, draw)), 0),
      fork(hour, draw) {
        const futures = parts.map(({ weight, part }) => ({ weight, gpus: part.fork(hour, draw) }));
        return (later) => futures.reduce((sum, { weight, gpus }) => sum + Math.max(0, weight * gpus(later)), 0);
      },
    };
  },
};

/** The largest level in use for more than the price ratio of the drawn futures, looked at every other hour. */
function worthHolding(part, hour, random) {
  const seen = [];
  for (let path = 0; path < paths; path++) {
    const gpus = part.fork(hour + 1, random);
    for (let ahead = 1; ahead < term.termHours; ahead++) {
      const drawn = Math.max(0, Math.round(gpus(hour + ahead)));
      if (ahead % 2 === 0) seen.push(drawn);
    }
  }
  seen.sort((one, other) => other - one);
  return seen[Math.floor(term.priceRatio * seen.length)];
}

function purchasesOf(shape, seed, demand) {
  const [random, future] = [mulberry32(seed), mulberry32(seed + 5_000_000)];
  const level = Math.round(4 * Math.exp(random() * 4));
  const part = PARTS[shape](random, level);
  const purchases = new Int32Array(HOURS);
  let [active, wish] = [0, 0];
  for (let hour = 0; hour < HOURS; hour++) {
    if (Math.max(0, Math.round(part.step(hour, random))) !== demand[hour])
      throw new Error(`${shape} ${seed} differs from series.ts at hour ${hour}`);
    if (hour >= term.termHours) active -= purchases[hour - term.termHours];
    const jumps = hour > 0 && Math.abs(demand[hour] - demand[hour - 1]) > 0.15 * level;
    if (hour % 3 === 0 || jumps) wish = worthHolding(part, hour, future);
    purchases[hour] = Math.max(0, Math.min(wish, demand[hour]) - active);
    active += purchases[hour];
  }
  return purchases;
}

const tenants = SERIES_SHAPES.flatMap((shape) =>
  Array.from({ length: Number(values.seeds) }, (_, index) => {
    const seed = Number(values['first-seed']) + index;
    const { demand } = syntheticSeries(shape, HOURS, seed);
    const none = demand.reduce((sum, gpus) => sum + gpus, 0);
    return {
      shape,
      isVariable: coefficientOfVariation(demand) >= 0.5,
      saved: none - commitmentCost(demand, purchasesOf(shape, seed, demand), term),
      possible: none - optimum(demand, term).cost,
    };
  }),
);
const share = (some) =>
  (some.reduce((sum, { saved }) => sum + saved, 0) / some.reduce((sum, { possible }) => sum + possible, 0)).toFixed(3);
for (const shape of SERIES_SHAPES)
  console.log(`${shape}: ${share(tenants.filter((tenant) => tenant.shape === shape))}`);
console.log(`all: ${share(tenants)}; cv>=0.5: ${share(tenants.filter(({ isVariable }) => isVariable))}`);
