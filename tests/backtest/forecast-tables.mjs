#!/usr/bin/env node
/**
 * Prints the tables of docs/decisions-quality/forecast.md. Needs `npm run build` first: node tests/backtest/forecast-tables.mjs
 *
 * The same series, cuts and scores as forecast.test.ts, which holds them; beside those, each group by itself and seeds that the
 * tests do not use.
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

const MONTHS = { periodDays: 30, firstDays: [0, 15] };
const FORTNIGHTS = { periodDays: 14, firstDays: [0, 3, 5, 8, 11] };
const group = (name) => fromFirstSpend(column(name));
const seeds = (first, count) => Array.from({ length: count }, (_, index) => weekly(first + index));

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
