#!/usr/bin/env node
/**
 * Prints the tables of docs/decisions-quality/forecast.md. Needs `npm run build` first: node
 * tests/backtest/forecast-tables.mjs
 *
 * The same series, cuts and scores as forecast.test.ts, which holds them; beside those, each group by itself, seeds
 * that the tests do not use, and other kinds of series.
 */
import { readFileSync } from 'node:fs';
import { scoreForecast, scoreOpponent } from '../../dist/src/lab/forecast/backtest.js';
import { OPPONENTS } from '../../dist/src/lab/forecast/opponents.js';
import { bursts, fromFirstSpend, held, project, steps, weekly } from './forecast-kinds.mjs';

const [header, ...rows] = readFileSync(new URL('../fixtures/openb-daily/daily.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(','));
const column = (name) => rows.map((row) => Number(row[header.indexOf(name)]));
const add = (...series) => series[0].map((_, day) => series.reduce((sum, one) => sum + one[day], 0));
const ls = add(column('LS-shared'), column('LS-one'), column('LS-many'));

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
  cell,
  scores: [
    scoreForecast(series, options),
    ...Object.values(OPPONENTS).map((opponent) => scoreOpponent(series, options, opponent)),
  ],
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
console.log(
  '\nShare of the periods inside the interval, and the mean interval score beside the mean period\n\n| series | at 80 % | at 50 % | at 90 % | score at 80 % | at 50 % | at 90 % |\n|---|---|---|---|---|---|---|',
);
const off = [0.8, 0.5, 0.9].map((share) => ({ share, sum: 0 }));
CELLS.forEach(([cell, series, options], index) => {
  const held80 = scored[index].scores[0];
  const scores = [held80, ...[0.5, 0.9].map((share) => scoreForecast(series, options, share))];
  off.forEach((one, at) => (one.sum += Math.abs(scores[at].coverage - one.share)));
  console.log(
    `| ${cell} | ${scores.map(({ coverage }) => percent(coverage)).join(' | ')} | ${scores.map(({ intervalScore }) => intervalScore.toFixed(3)).join(' | ')} |`,
  );
});
console.log(
  `\nMean distance from what was asked, over the rows: ${off.map(({ share, sum }) => `${((100 * sum) / CELLS.length).toFixed(1)} points at ${percent(share)}`).join(', ')}`,
);
