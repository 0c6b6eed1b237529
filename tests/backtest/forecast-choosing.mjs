#!/usr/bin/env node
/**
 * Prints how the forecast does on the series that its constants are chosen on (docs/decisions-quality/forecast.md),
 * none of which is in the published tables. Needs `npm run build` first.
 *
 *   node tests/backtest/forecast-choosing.mjs [--seeds 6] [--half first|second]
 *
 * Synthetic kinds (forecast-kinds.mjs) with seeds of their own, from 20,000 on; the second half, from 30,000 on, was
 * only looked at. Beside them the two virtual clusters of tests/fixtures/commitment-demand: arrivals and GPU counts
 * recorded, durations drawn.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { scoreForecast, scoreOpponent } from '../../dist/src/lab/forecast/backtest.js';
import { OPPONENTS } from '../../dist/src/lab/forecast/opponents.js';
import {
  bursts,
  changing,
  fromFirstSpend,
  held,
  project,
  rising,
  risingAndLeaving,
  steps,
  walk,
  weekly,
  weeklyCalm,
} from './forecast-kinds.mjs';

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '6' }, half: { type: 'string', default: 'first' } },
});
const count = Number(values.seeds);
if (!Number.isInteger(count) || count < 1 || count > 100 || !['first', 'second'].includes(values.half))
  throw new Error('--seeds is a whole number from 1 to 100, --half is first or second');
const base = values.half === 'first' ? 20_000 : 30_000;

const MONTHS = { periodDays: 30, firstDays: [0, 15] };
const FORTNIGHTS = { periodDays: 14, firstDays: [0, 3, 5, 8, 11] };
const seeds = (offset, kind) => Array.from({ length: count }, (_, index) => kind(base + offset + index));
const monthOf = (series) => fromFirstSpend(series.slice(40, 70));
/** A month out of the middle of each, for groups that live no longer; of those that spend nothing then, none. */
const months = (offset, kind) =>
  seeds(offset, kind)
    .map(monthOf)
    .filter(({ length }) => length > 16);

/** GPU-hours per day of each virtual cluster, from its first day and from ten and twenty days on. */
function philly() {
  const clusters = new Map();
  for (const line of gunzipSync(readFileSync(new URL('../fixtures/commitment-demand/philly.csv.gz', import.meta.url)))
    .toString()
    .trim()
    .split('\n')
    .slice(1)) {
    const [tenant, hour, gpus] = line.split(',');
    const days = clusters.get(tenant) ?? clusters.set(tenant, []).get(tenant);
    const day = Math.floor(Number(hour) / 24);
    while (days.length <= day) days.push(0);
    days[day] += Number(gpus);
  }
  return [...clusters.values()].flatMap((days) => [
    days,
    fromFirstSpend(days.slice(10)),
    fromFirstSpend(days.slice(20)),
  ]);
}

const KINDS = [
  ['weekly, drifting', seeds(0, weekly), MONTHS],
  ['weekly, calm', seeds(100, weeklyCalm), MONTHS],
  ['steps', seeds(200, steps), MONTHS],
  ['steps, a month of each, 14 days', months(300, steps), FORTNIGHTS],
  ['projects, 14 days', seeds(400, project), FORTNIGHTS],
  ['bursts', seeds(500, bursts), MONTHS],
  ['bursts, a month of each, 14 days', months(600, bursts), FORTNIGHTS],
  ['random walks', seeds(700, walk), MONTHS],
  ['random walks, a month of each, 14 days', months(800, walk), FORTNIGHTS],
  ['only rising', seeds(900, rising), MONTHS],
  ['rising and leaving', seeds(1000, risingAndLeaving), MONTHS],
  ['batch jobs', seeds(1100, held), MONTHS],
  ['batch jobs, a month of each, 14 days', months(1200, held), FORTNIGHTS],
  ['one kind, then another', seeds(1300, changing), MONTHS],
  ['the same, other seeds', seeds(1400, changing), MONTHS],
  ...(values.half === 'first' ? [['Philly, two virtual clusters, 14 days', philly(), FORTNIGHTS]] : []),
];
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
