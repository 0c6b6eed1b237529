#!/usr/bin/env node
/**
 * Prints the tables of docs/decisions-quality/forecast.md. Needs `npm run build` first: node tests/backtest/forecast-tables.mjs
 *
 * The same series, cuts and scores as forecast.test.ts, which holds them; beside those, each group by itself, seeds that the
 * tests do not use, and other kinds of series.
 */
import { readFileSync } from 'node:fs';
import { scoreForecast, scoreOpponent } from '../../dist/src/planning/forecast/backtest.js';
import { OPPONENTS } from '../../dist/src/planning/forecast/opponents.js';
import { mulberry32 } from '../../dist/src/planning/random.js';

const [header, ...rows] = readFileSync(new URL('../fixtures/openb-daily/daily.csv', import.meta.url), 'utf8').trim().split('\n').map((line) => line.split(','));
const column = (name) => rows.map((row) => Number(row[header.indexOf(name)]));
const add = (...series) => series[0].map((_, day) => series.reduce((sum, one) => sum + one[day], 0));
const fromFirstSpend = (series) => series.slice(series.findIndex((value) => value > 0));
const ls = add(column('LS-shared'), column('LS-one'), column('LS-many'));

/** Synthetic, seeded: a drifting level with jumps, a working week, 8 % noise; as in forecast.test.ts. */
function weekly(seed) {
  const random = mulberry32(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const week = [1.1, 1.15, 1.2, 1.1, 1, 0.5, 0.4];
  let level = 100;
  return Array.from({ length: 120 }, (_, day) => {
    level *= Math.exp(0.004 + 0.02 * normal());
    if (random() < 0.02) level *= 1 + 0.5 * random();
    return level * week[day % 7] * Math.exp(0.08 * normal());
  });
}

/** The kinds below are synthetic too; each seed draws its own pace, size and noise. */
const drawing = (seed) => {
  const random = mulberry32(seed);
  return { random, normal: () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()) };
};

/** A level of whole GPUs that steps up and down every one to three weeks. */
function steps(seed) {
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
function project(seed) {
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
function bursts(seed) {
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
function held(seed) {
  const { random, normal } = drawing(seed);
  const days = 120;
  const spend = new Array(days).fill(0);
  const mean = 4 * Math.exp(0.5 * normal());
  let rate = Math.log(2) + 0.5 * normal();
  for (let day = 0; day < days; day += 1) {
    rate += 0.1 * normal();
    for (let wait = -Math.log(1 - random()) / Math.exp(rate); wait < 1; wait -= Math.log(1 - random()) / Math.exp(rate)) {
      const from = day + wait;
      const until = from + mean * Math.exp(1.3 * normal() - 0.85);
      const gpus = (random() < 0.7 ? 1 : 4) * (random() < 0.1 ? 1 + Math.floor(10 * random()) : 1);
      for (let at = day; at < days && at < until; at += 1) spend[at] += 24 * gpus * (Math.min(at + 1, until) - Math.max(at, from));
    }
  }
  return fromFirstSpend(spend);
}

const MONTHS = { periodDays: 30, firstDays: [0, 15] };
const FORTNIGHTS = { periodDays: 14, firstDays: [0, 3, 5, 8, 11] };
const group = (name) => fromFirstSpend(column(name));
const seeds = (first, count, kind = weekly) => Array.from({ length: count }, (_, index) => kind(first + index));

const CELLS = [
  ['openb total', [add(ls, column('Burstable'), column('BE'), column('Guaranteed'))], MONTHS],
  ['LS', [ls], MONTHS],
  ['LS-one', [group('LS-one')], MONTHS],
  ['LS-shared', [group('LS-shared')], MONTHS],
  ['Burstable, 14 days', [group('Burstable')], FORTNIGHTS],
  ['BE, 14 days', [group('BE')], FORTNIGHTS],
  ['Guaranteed, 14 days', [group('Guaranteed')], FORTNIGHTS],
  ['LS and these three, pooled, 14 days', [ls, group('Burstable'), group('BE'), group('Guaranteed')], FORTNIGHTS],
  ['weekly, seeds 1 to 4 (synthetic)', seeds(1, 4), { periodDays: 30, firstDays: [0] }],
  ['weekly, seeds 301 to 312 (synthetic)', seeds(301, 12), { periodDays: 30, firstDays: [0] }],
  ['steps, seeds 5001 to 5012 (synthetic)', seeds(5001, 12, steps), MONTHS],
  ['projects, 14 days, seeds 5101 to 5124 (synthetic)', seeds(5101, 24, project), FORTNIGHTS],
  ['bursts, seeds 5201 to 5212 (synthetic)', seeds(5201, 12, bursts), MONTHS],
  ['batch jobs, seeds 5301 to 5312 (synthetic)', seeds(5301, 12, held), MONTHS],
];

const names = ['bursar', ...Object.keys(OPPONENTS)];
const percent = (fraction) => `${(100 * fraction).toFixed(1)} %`;
const scored = CELLS.map(([cell, series, options]) => ({
  cell, scores: [scoreForecast(series, options), ...Object.values(OPPONENTS).map((opponent) => scoreOpponent(series, options, opponent))],
}));

function print(title, key) {
  console.log(`\n${title}\n\n| series | origins | ${names.join(' | ')} |\n|${'---|'.repeat(names.length + 2)}`);
  for (const { cell, scores } of scored) {
    const best = Math.min(...scores.map((score) => score[key]));
    const cells = scores.map((score) => (score[key] === best ? `**${percent(score[key])}**` : percent(score[key])));
    console.log(`| ${cell} | ${scores[0].count} | ${cells.join(' | ')} |`);
  }
}

print('Error of what is left of the period', 'totalError');
print('Error of its days', 'dailyError');
console.log('\nShare of the periods inside the interval\n\n| series | at 80 % | at 50 % | at 90 % |\n|---|---|---|---|');
CELLS.forEach(([cell, series, options], index) => {
  const coverage = (share) => percent(scoreForecast(series, options, share).coverage);
  console.log(`| ${cell} | ${percent(scored[index].scores[0].coverage)} | ${coverage(0.5)} | ${coverage(0.9)} |`);
});
