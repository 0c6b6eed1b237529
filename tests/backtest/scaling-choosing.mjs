#!/usr/bin/env node
/**
 * Chooses the settings of scaling's mixture on unlike sources, each of them left out in turn, and prints the tables of
 * docs/decisions-quality/scaling.md: what the mixture chosen on the other sources cuts of each HPA's cost above the
 * optimum, at the load that this HPA leaves unserved. Needs `npm run build` first.
 *
 *   node tests/backtest/scaling-choosing.mjs FOLDER [--settings chosen]
 *
 * The folder holds the sources, as their authors publish them (the page names them): `azure-*.csv` and `mooncake-*.csv`
 * with a time in the first column, `qps.csv` of Alibaba's generative service, `*.txt` with requests of each second.
 * Of a long one some days are taken, evenly. Short hours made here are one source more.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { readArrivals } from '../../dist/src/lab/scaling/run.js';
import { seededSeries, SERIES_DEFAULTS } from '../../dist/src/lab/scaling/series.js';
import { capacityPerReplica, replicasFor, requestsPerMinute } from '../../dist/src/planning/scaling/load.js';
import { hpa } from '../../dist/src/planning/scaling/opponents.js';
import { clairvoyant } from '../../dist/src/planning/scaling/optimum.js';
import { MIXTURE_SETTINGS } from '../../dist/src/planning/scaling/mixture.js';
import { bursarPolicies, RISK_SETTINGS } from '../../dist/src/planning/scaling/planner.js';
import { simulate, startingReplicas } from '../../dist/src/planning/scaling/simulate.js';
import { compare, PAIRS, TARGETS } from './scaling-comparisons.mjs';

const EXPECTED_MINUTES = [3, 10, 30, 100, 200];
const TOLERANCES = [0.3, 0.6, 1, 1.6];
const LONGEST_MINUTES = 2 * 1440;
const MOST_WINDOWS = 3;

/** Sum over all containers of the latest rate that each reported, a minute at a time. */
function generative(file) {
  const rows = readFileSync(file, 'utf8')
    .split('\n')
    .slice(1)
    .map((line) => line.split(','))
    .filter(([, , , kind]) => kind?.trim() === 'Generative Requests');
  const first = Math.min(...rows.map(([at]) => Number(at)));
  const minutes = [];
  for (const [at, value] of rows) {
    const minute = Math.floor((Number(at) - first) / 60);
    minutes[minute] = (minutes[minute] ?? 0) + Number(value) * 60;
  }
  return Float64Array.from(minutes, (value) => value ?? 0);
}

/** Of requests of each second. */
function seconds(file) {
  const counts = readFileSync(file, 'utf8').trim().split(/\s+/).map(Number);
  return Float64Array.from({ length: Math.floor(counts.length / 60) }, (_, minute) =>
    counts.slice(minute * 60, minute * 60 + 60).reduce((sum, count) => sum + count, 0),
  );
}

async function readSource(file) {
  const name = path.basename(file).replace(/\.\w+$/, '');
  if (name === 'qps') return generative(file);
  return file.endsWith('.txt') ? seconds(file) : requestsPerMinute(await readArrivals(file));
}

/** The whole of a short one, evenly spaced days of a long one. */
function windowsOf(load) {
  if (load.length <= LONGEST_MINUTES) return [load];
  const span = load.length - LONGEST_MINUTES;
  return Array.from({ length: MOST_WINDOWS }, (_, n) => {
    const from = Math.floor((span * (n + 0.5)) / MOST_WINDOWS);
    return load.slice(from, from + LONGEST_MINUTES);
  });
}

async function sourcesIn(folder) {
  const files = readdirSync(folder).filter((name) => /\.(csv|txt)$/.test(name));
  const found = [];
  for (const name of files.toSorted())
    found.push([name.replace(/\.\w+$/, ''), windowsOf(await readSource(path.join(folder, name)))]);
  const made = [{}, { burstsPerDay: 0 }, { base: 20 }, { burstsPerDay: 24, burstFactor: 5, burstMinutes: 8 }];
  found.push([
    'made here',
    made.map((over, n) => seededSeries({ ...SERIES_DEFAULTS, minutes: LONGEST_MINUTES, ...over, seed: 41 + n })),
  ]);
  return found;
}

/** By settings: what is cut of each HPA's excess in one window with one boot and peak. */
function cellsOf(requests, [bootMinutes, peakReplicas], grid) {
  const capacity = capacityPerReplica(requests, peakReplicas);
  const load = requests.map((count) => count / capacity);
  const busiest = load.reduce((most, value) => Math.max(most, value), 0);
  const limits = { bootMinutes, minReplicas: 1, maxReplicas: 2 * replicasFor(busiest), cooldownMinutes: 0 };
  const optimum = clairvoyant(load, limits).replicaMinutes;
  const total = load.reduce((sum, value) => sum + value, 0);
  const scored = (name, policy) => {
    const run = simulate(load, limits, policy);
    return { name, unserved: run.unserved / total, cost: run.replicaMinutes / optimum };
  };
  const rules = TARGETS.map((target) => scored(`hpa-${target}`, hpa({ target })));
  const start = startingReplicas(load, limits);
  return grid.map((settings) => {
    const own = bursarPolicies(load, limits, start, RISK_SETTINGS, settings).map((policy, n) => scored(`${n}`, policy));
    return compare(rules, own).map(({ hpa: theirs, own: ours }) =>
      theirs <= 1 ? null : ours === Infinity ? -Infinity : (theirs - ours) / (theirs - 1),
    );
  });
}

const mean = (all) => all.reduce((sum, one) => sum + one, 0) / all.length;
/** A cut counts between minus and plus one: no cell outweighs a source. */
const worth = (cells) => mean(cells.map((cut) => Math.max(-1, Math.min(1, cut))));
const percent = (share) => (Number.isFinite(share) ? `${Math.round(100 * share)} %` : 'loses more');

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { settings: { type: 'string', default: 'all' } },
});
const grid =
  values.settings === 'chosen'
    ? [MIXTURE_SETTINGS]
    : EXPECTED_MINUTES.flatMap((expectedMinutes) => TOLERANCES.map((tolerance) => ({ expectedMinutes, tolerance })));
const sources = await sourcesIn(positionals[0]);
/** By source, by settings: the cuts of its cells, `[pair, target, cut]`. */
const cuts = sources.map(([, windows]) => {
  const all = grid.map(() => []);
  for (const window of windows)
    for (const pair of PAIRS)
      cellsOf(window, pair, grid).forEach((cells, n) =>
        cells.forEach((cut, target) => cut !== null && all[n].push({ pair, target, cut })),
      );
  return all;
});
const worthOf = (source, n) => worth(cuts[source].map((all) => all)[n].map(({ cut }) => cut));
const nameOf = ({ expectedMinutes, tolerance }) => `${expectedMinutes}, ${tolerance}`;
const bestWithout = (left) =>
  grid
    .map((settings, n) => [mean(sources.flatMap((of, source) => (source === left ? [] : [worthOf(source, n)]))), n])
    .toSorted((a, b) => b[0] - a[0])[0][1];

console.log('| left out | chosen on the others | HPA-0.5 | 0.7 | 0.9 | worst cell |\n|---|---|---|---|---|---|');
sources.forEach(([name], source) => {
  const n = bestWithout(source);
  const own = cuts[source][n];
  const median = (target) => {
    const all = own.filter((one) => one.target === target).map(({ cut }) => cut);
    return all.length === 0 ? '-' : percent(all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)]);
  };
  const worst = own.toSorted((a, b) => a.cut - b.cut)[0];
  const where = `boot ${worst.pair[0]}, peak ${worst.pair[1]}, HPA-${TARGETS[worst.target]}`;
  console.log(
    `| ${name} | ${nameOf(grid[n])} | ${[0, 1, 2].map(median).join(' | ')} | ${percent(worst.cut)} (${where}) |`,
  );
});
console.log(`chosen on all: ${nameOf(grid[bestWithout(-1)])}`);
if (grid.length > 1)
  grid.forEach((settings, n) => {
    const by = sources.map((_, source) => worthOf(source, n).toFixed(3));
    console.log(`${nameOf(settings)}: ${mean(by.map(Number)).toFixed(3)} (${by.join(' ')})`);
  });
