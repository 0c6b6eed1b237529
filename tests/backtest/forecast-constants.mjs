#!/usr/bin/env node
/**
 * Prints what the neighbours of each constant of the forecast change on the series that they were chosen on
 * (forecast-neighbours.mjs): the error of the sums, the interval score, and the share that the interval holds.
 *
 *   node tests/backtest/forecast-constants.mjs [--seeds 10] [--every 7]
 */
import { parseArgs } from 'node:util';
import { COVERAGES, FORECAST_CONSTANTS, INTERVAL_CONSTANTS, measured } from './forecast-neighbours.mjs';

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '10' }, every: { type: 'string', default: '7' } },
});
const [seeds, every] = [Number(values.seeds), Number(values.every)];
if (!(Number.isInteger(seeds) && seeds >= 2 && seeds <= 100 && Number.isInteger(every) && every >= 1))
  throw new Error('--seeds is a whole number from 2 to 100, --every one from 1');

const percent = (fraction, digits = 2) => `${(100 * fraction).toFixed(digits)} %`;
const withError = ({ change, error }) => `${percent(change)} ± ${percent(error)}`;
const row = (...cells) => console.log(`| ${cells.join(' | ')} |`);
const table = (...titles) => {
  row(...titles);
  row(...titles.map(() => '---'));
};
const on = await measured(seeds, every);

table('constant', 'is', 'moved to', 'error');
for (const { name, from, to, ...change } of await on.misses(FORECAST_CONSTANTS)) row(name, from, to, withError(change));

const { held, moved } = await on.intervals(INTERVAL_CONSTANTS);
console.log(`\nThe interval holds, mean of the kinds: ${held.map((share) => percent(share, 1)).join(', ')}\n`);
table('constant', 'is', 'moved to', ...COVERAGES.map((share) => `score at ${percent(share, 0)}`), 'holds');
for (const { name, from, to, changes, held: holds } of moved)
  row(name, from, to, ...changes.map(withError), holds.map((share) => percent(share, 1)).join(', '));
