#!/usr/bin/env node
/**
 * How far adaptive conformal inference (Gibbs and Candes 2021) would bring the shares that the 80 % interval holds, and
 * what a widening told in hindsight reaches: the last table of docs/decisions-quality/forecast.md. Needs `npm run build`
 * first.
 *
 *   node tests/backtest/forecast-adaptive.mjs [--seeds 6]
 *
 * Both widen the published interval about its forecast by one factor. The adaptive one begins at 1; each origin whose
 * period has ended by the day of the forecast moves its logarithm by the step times (0.8 below, 0.2 above), whichever
 * way it missed. The one in hindsight is the same on all days: the least that holds 80 % of the group's origins.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { forecastPeriodEnd } from '../../dist/src/planning/forecast/forecast.js';
import { bursts, fromFirstSpend, held, project, rising, steps, walk, weekly } from './forecast-kinds.mjs';

const { values } = parseArgs({ options: { seeds: { type: 'string', default: '6' } } });
const [header, ...rows] = readFileSync(new URL('../fixtures/openb-daily/daily.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => line.split(','));
const column = (name) => rows.map((row) => Number(row[header.indexOf(name)]));
const add = (...series) => series[0].map((_, day) => series.reduce((sum, one) => sum + one[day], 0));
const ls = add(column('LS-shared'), column('LS-one'), column('LS-many'));

const MONTHS = { periodDays: 30, firstDays: [0, 15] };
const FORTNIGHTS = { periodDays: 14, firstDays: [0, 3, 5, 8, 11] };
const group = (name) => [fromFirstSpend(column(name))];
const seeds = (first, kind) => Array.from({ length: Number(values.seeds) }, (_, index) => kind(first + index));
const monthOf = (series) => fromFirstSpend(series.slice(40, 70));
const months = (first, kind) =>
  seeds(first, kind)
    .map(monthOf)
    .filter(({ length }) => length > 16);

const BUNDLED = [
  ['openb total', [add(ls, column('Burstable'), column('BE'), column('Guaranteed'))], MONTHS],
  ['LS', [ls], MONTHS],
  ['LS-one', group('LS-one'), MONTHS],
  ['LS-shared', group('LS-shared'), MONTHS],
  ['Burstable, 14 days', group('Burstable'), FORTNIGHTS],
  ['BE, 14 days', group('BE'), FORTNIGHTS],
  ['Guaranteed, 14 days', group('Guaranteed'), FORTNIGHTS],
];
const CHOOSING = [
  ['weekly', seeds(20_000, weekly), MONTHS],
  ['steps', seeds(20_200, steps), MONTHS],
  ['steps, a month of each', months(20_300, steps), FORTNIGHTS],
  ['projects', seeds(20_400, project), FORTNIGHTS],
  ['bursts', seeds(20_500, bursts), MONTHS],
  ['bursts, a month of each', months(20_600, bursts), FORTNIGHTS],
  ['random walks', seeds(20_700, walk), MONTHS],
  ['only rising', seeds(20_900, rising), MONTHS],
  ['batch jobs', seeds(21_100, held), MONTHS],
  ['batch jobs, a month of each', months(21_200, held), FORTNIGHTS],
];
const STEPS = [0.01, 0.03, 0.1];

/** What was said on every day of every period of a series, by day. */
function originsOf(series, { periodDays, firstDays }) {
  const origins = [];
  for (const first of firstDays)
    for (let start = first; start + periodDays <= series.length; start += periodDays) {
      const total = series.slice(start, start + periodDays).reduce((sum, value) => sum + value, 0);
      for (let day = Math.max(start, 1); day < start + periodDays; day++) {
        const end = start + periodDays;
        const actual = series.slice(day, end).reduce((sum, value) => sum + value, 0);
        const said = forecastPeriodEnd([...series.slice(0, day), 0], 0, end - day - 1);
        origins.push({ day, end, actual, total, ...said });
      }
    }
  return origins.sort((a, b) => a.day - b.day);
}

/** The factor at which the truth lies on the interval's end: 0 where it was met, infinite where no widening helps. */
function needed({ mean, low, high, actual }) {
  const off = actual > mean ? [actual - mean, high - mean] : [mean - actual, mean - low];
  const slack = 1e-9 * Math.max(1, mean);
  return off[0] <= slack ? 0 : off[0] / off[1];
}

function adaptive(origins, step) {
  const ended = [...origins].sort((a, b) => a.end - b.end);
  let [next, log] = [0, 0];
  const factors = new Map();
  for (const origin of origins) {
    for (; next < ended.length && ended[next].end <= origin.day; next++)
      log += step * (needed(ended[next]) > factors.get(ended[next]) ? 0.8 : -0.2);
    factors.set(origin, Math.exp(log));
  }
  return (origin) => factors.get(origin);
}

function inHindsight(all) {
  const sorted = all.map(needed).sort((a, b) => a - b);
  const factor = sorted[Math.ceil(0.8 * sorted.length) - 1];
  return () => factor;
}

function scored(all, factorOf) {
  let [inside, scores, totals] = [0, 0, 0];
  for (const origin of all) {
    const factor = factorOf(origin);
    const low = Math.max(0, origin.mean - (origin.mean - origin.low) * factor);
    const high = origin.mean + (origin.high - origin.mean) * factor;
    inside += Number(needed(origin) <= factor * (1 + 1e-9));
    scores += high - low + 10 * Math.max(0, low - origin.actual, origin.actual - high);
    totals += origin.total;
  }
  return { inside: inside / all.length, score: scores / totals };
}

const shown = ({ inside, score }) => `${(100 * inside).toFixed(1)} %, ${score.toFixed(3)}`;
for (const [title, cells] of [
  ['Bundled groups', BUNDLED],
  ['Series to choose on', CHOOSING],
]) {
  console.log(
    `\n${title}\n\n| series | as it is | ${STEPS.map((step) => `step ${step}`).join(' | ')} | in hindsight | its factor |`,
  );
  console.log(`|${'---|'.repeat(STEPS.length + 4)}`);
  let [single, fitting] = [0, 0];
  for (const [name, series, options] of cells) {
    const each = series.map((one) => originsOf(one, options)).filter(({ length }) => length > 0);
    const all = each.flat();
    const followed = STEPS.map((step) => {
      const rules = new Map(
        each.flatMap((one) => {
          const rule = adaptive(one, step);
          return one.map((origin) => [origin, rule]);
        }),
      );
      return scored(all, (origin) => rules.get(origin)(origin));
    });
    const hindsight = inHindsight(all);
    const columns = [scored(all, () => 1), ...followed, scored(all, hindsight)].map(shown);
    console.log(`| ${[name, ...columns, hindsight().toFixed(2)].join(' | ')} |`);
    // Calibrated over the kind in hindsight: how often does one series of it hold 75 to 85 %?
    for (const one of each) {
      const { inside } = scored(one, hindsight);
      single += 1;
      fitting += Number(inside >= 0.75 && inside <= 0.85);
    }
  }
  if (cells === CHOOSING)
    console.log(`\nCalibrated over its kind in hindsight, ${fitting} of ${single} single series hold 75 to 85 %.`);
}
