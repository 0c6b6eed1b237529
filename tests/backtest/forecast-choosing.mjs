#!/usr/bin/env node
/**
 * Prints how the forecast does on the series that its constants are chosen on (forecast-series.mjs;
 * docs/decisions-quality/forecast.md). Needs `npm run build` first.
 *
 *   node tests/backtest/forecast-choosing.mjs [--seeds 6] [--half first|second]
 */
import { parseArgs } from 'node:util';
import { scoreForecast, scoreOpponent } from '../../dist/src/lab/forecast/backtest.js';
import { OPPONENTS } from '../../dist/src/lab/forecast/opponents.js';
import { seriesToChooseOn } from './forecast-series.mjs';

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '6' }, half: { type: 'string', default: 'first' } },
});
const count = Number(values.seeds);
if (!Number.isInteger(count) || count < 1 || count > 100 || !['first', 'second'].includes(values.half))
  throw new Error('--seeds is a whole number from 1 to 100, --half is first or second');

const KINDS = seriesToChooseOn(values.half, count);
const PUBLISHED = ['last-month', 'seasonal-naive', 'holt-winters'];
const SHARES = [0.8, 0.5, 0.9];
const percent = (fraction) => `${(100 * fraction).toFixed(1)} %`;

console.log(
  '| series | origins | error | best published | inside at 80 % | at 50 % | at 90 % | score at 80 % | at 50 % | at 90 % |\n|---|---|---|---|---|---|---|---|---|---|',
);
const means = SHARES.map(() => 0);
for (const [name, series, options] of KINDS) {
  const scores = SHARES.map((share) => scoreForecast(series, options, share));
  scores.forEach(({ coverage }, index) => (means[index] += coverage / KINDS.length));
  const best = Math.min(...PUBLISHED.map((rule) => scoreOpponent(series, options, OPPONENTS[rule]).totalError));
  console.log(
    `| ${[name, scores[0].count, percent(scores[0].totalError), percent(best), ...scores.map(({ coverage }) => percent(coverage)), ...scores.map(({ intervalScore }) => intervalScore.toFixed(3))].join(' | ')} |`,
  );
}
console.log(
  `\nInside, mean of the kinds: ${SHARES.map((share, index) => `${percent(means[index])} at ${percent(share)}`).join(', ')}`,
);
