/**
 * The constants of the forecast and of its interval, each moved down and up alone, on the series that they were chosen
 * on (forecast-series.mjs). Reads the constants from the source, and needs no build.
 *
 * A change is a part: of each kind's loss, the mean over the kinds. Its standard error is that between the series of a
 * kind, which are drawn independently; the same series are forecast with and without the change.
 */
import { build } from 'esbuild';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

const ROOT = path.join(import.meta.dirname, '../..');
const fileOf = (name) => path.join(ROOT, 'src/planning/forecast', `${name}.ts`);
const FORECAST = ['weighting', 'experts'];
export const COVERAGES = [0.8, 0.5, 0.9];
const MOST_DAYS = 120;

const ENTRY = `
export { runExperts } from './src/planning/forecast/experts.ts';
export { weightExperts } from './src/planning/forecast/weighting.ts';
export { intervalOf } from './src/planning/forecast/interval.ts';
export { seriesToChooseOn } from './tests/backtest/forecast-series.mjs';`;

/** The forecast, in one place of its source another text. */
async function forecastWith(change) {
  const sources = {
    name: 'sources',
    setup({ onLoad, onResolve }) {
      onResolve({ filter: /dist\/src\// }, ({ path: to }) => ({
        path: path.join(ROOT, to.replace(/.*dist\/(.*)\.js$/, '$1.ts')),
      }));
      onLoad({ filter: /planning\/forecast\/\w+\.ts$/ }, async ({ path: file }) => {
        const text = await readFile(file, 'utf8');
        const isHere = change !== null && file === fileOf(change.file);
        const changed = isHere
          ? text.slice(0, change.at) + change.to + text.slice(change.at + change.from.length)
          : text;
        return { contents: changed, loader: 'ts' };
      });
    },
  };
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: ROOT },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    define: { 'import.meta.url': JSON.stringify(new URL('forecast-series.mjs', import.meta.url).href) },
    plugins: [sources],
  });
  return import(`data:text/javascript,${encodeURIComponent(outputFiles[0].text)}`);
}

/** Named numbers, smoothed levels and shares of returns: every number that was chosen, but the table of errors. */
const NUMBERS =
  /(?<=^const (?<name>[A-Z_]+) = )[\d.]+(?=;)|(?<=(?<level>smooth\(\w+, ))0\.\d+|(?<=RETURNS = \[.*)0\.\d+/gm;

/** A fifth down and a quarter up; of a share near one the distance to it; of days in experts.ts whole ones. */
function neighboursOf(value, isDays) {
  const moved =
    value >= 0.85 && value < 1 ? [1 - (1 - value) * 1.25, 1 - (1 - value) * 0.8] : [value * 0.8, value * 1.25];
  return moved.map((one) => (isDays ? Math.round(one) : Number(one.toPrecision(4))));
}

/** Every constant of a file, with its place in it and its two neighbours. */
export function constantsOf(file) {
  return [...readFileSync(fileOf(file), 'utf8').matchAll(NUMBERS)].map(
    ({ 0: from, index, groups: { name, level } }) => ({
      file,
      at: index,
      from,
      name: name ?? (level === undefined ? 'RETURNS' : `${level}...)`),
      neighbours: neighboursOf(Number(from), file === 'experts' && Number.isInteger(Number(from))),
    }),
  );
}

/** The days of the periods of a series, as scoreForecast cuts them: the days before each, and what came. */
function originsOf(series, { periodDays, firstDays }) {
  const origins = [];
  for (const first of firstDays)
    for (let start = first; start + periodDays <= series.length; start += periodDays)
      for (let day = Math.max(start, 1); day < start + periodDays; day++) {
        const ahead = series.slice(day, start + periodDays);
        const actual = ahead.reduce((sum, value) => sum + value, 0);
        origins.push({ history: series.slice(Math.max(0, day - MOST_DAYS), day), days: ahead.length, actual });
      }
  return origins;
}

const weighed = (forecast, { history, days }) => forecast.weightExperts(history, forecast.runExperts(history), days);

/** Misses of the sums. */
const missOf = (forecast, origin) => Math.abs(weighed(forecast, origin).tracks.at(-1).forecasts.at(-1) - origin.actual);

/** The interval score at each coverage (Gneiting and Raftery 2007, 6.2), and whether it holds what came. */
function intervalsOf(forecast, { history, actual, weighting }) {
  return COVERAGES.map((coverage) => {
    const { low, high } = forecast.intervalOf(history, weighting, coverage);
    const slack = 1e-9 * Math.max(1, high);
    return {
      score: high - low + (2 / (1 - coverage)) * Math.max(0, low - actual, actual - high),
      holds: low - slack <= actual && actual <= high + slack ? 1 : 0,
    };
  });
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
const meanOf = (values) => sumOf(values) / values.length;

/** The relative change of a loss, by kind and series, and its standard error. */
function changeOf(before, after) {
  let [change, variance] = [0, 0];
  before.forEach((kind, index) => {
    const parts = kind.map((loss, series) => (after[index][series] - loss) / sumOf(kind));
    const spread = sumOf(parts.map((part) => (part - meanOf(parts)) ** 2));
    change += sumOf(parts) / before.length;
    variance += ((kind.length / (kind.length - 1)) * spread) / before.length ** 2;
  });
  return { change, error: Math.sqrt(variance) };
}

const byOrigin = (kinds, of) => kinds.map((kind) => kind.map((origins) => origins.map(of)));
const bySeries = (kinds, of) => kinds.map((kind) => kind.map((origins) => sumOf(origins.map(of))));

/**
 * What the neighbours of each constant change.
 * @param seeds of each kind, two or more; of their days every `every`-th
 */
export async function measured(seeds, every, change = null) {
  const asItIs = await forecastWith(change);
  let days = 0;
  const kinds = asItIs
    .seriesToChooseOn('first', seeds)
    .map(([, list, options]) => list.map((series) => originsOf(series, options).filter(() => days++ % every === 0)));
  return {
    /** Of the sum's miss: below zero is better. */
    async misses(constants) {
      const before = bySeries(kinds, (origin) => missOf(asItIs, origin));
      return movedBy(constants, async (forecast) =>
        changeOf(
          before,
          bySeries(kinds, (origin) => missOf(forecast, origin)),
        ),
      );
    },
    /** Of the interval score at each coverage, and the share held, the mean of the kinds. */
    async intervals(constants) {
      for (const origin of kinds.flat(2)) origin.weighting = weighed(asItIs, origin);
      const said = (forecast) => byOrigin(kinds, (origin) => intervalsOf(forecast, origin));
      const heldOf = (all) =>
        COVERAGES.map((_, index) => meanOf(all.map((kind) => meanOf(kind.flat().map((one) => one[index].holds)))));
      const lossesOf = (all, index) => bySeries(all, (one) => one[index].score);
      const before = said(asItIs);
      const moved = await movedBy(constants, async (forecast) => {
        const after = said(forecast);
        const changes = COVERAGES.map((_, index) => changeOf(lossesOf(before, index), lossesOf(after, index)));
        return { changes, held: heldOf(after) };
      });
      return { held: heldOf(before), moved };
    },
  };
}

async function movedBy(constants, measure) {
  const found = [];
  for (const { neighbours, ...place } of constants)
    for (const to of neighbours) {
      const { name, from } = place;
      found.push({
        name,
        from: Number(from),
        to,
        ...(await measure(await forecastWith({ ...place, to: String(to) }))),
      });
    }
  return found;
}

export const FORECAST_CONSTANTS = FORECAST.flatMap(constantsOf);
export const INTERVAL_CONSTANTS = constantsOf('interval');
