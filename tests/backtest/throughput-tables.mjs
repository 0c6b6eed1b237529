#!/usr/bin/env node
/**
 * Prints how far off `bursar` is on one file of measurements, by model and with few draws: the table of sources in
 * docs/decisions-quality/throughput.md. Needs `npm run build` first.
 *
 *   node tests/backtest/throughput-tables.mjs --measurements FILE [--points 8] [--draws 1] [--seed 1]
 *
 * The same draws as `bursar backtest throughput`, which repeats them more often and has the opponents beside it.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { mulberry32 } from '../../dist/src/lab/random.js';
import { parseMeasurements } from '../../dist/src/lab/throughput/run.js';
import { learnThroughput } from '../../dist/src/planning/throughput/hierarchy.js';
import { byModel, configurationOf } from '../../dist/src/planning/throughput/measurement.js';
import { predictWith } from '../../dist/src/planning/throughput/predict.js';

const text = { type: 'string' };
const { values } = parseArgs({ options: { measurements: text, points: text, draws: text, seed: text } });
if (values.measurements === undefined) throw new Error('--measurements names a file');
const [points, draws, seed] = [values.points ?? 8, values.draws ?? 1, values.seed ?? 1].map(Number);
const { measurements } = parseMeasurements(readFileSync(values.measurements, 'utf8'), values.measurements);
const models = byModel(measurements);
const tested = [...models].filter(([, rows]) => rows.length >= Math.max(12, points + 1));

function shuffled(rows, random) {
  const order = [...rows];
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const show = (name, { error, inside, cases }) =>
  console.log(`| ${name} | ${cases} | ${percent(error / cases)} | ${percent(inside / cases)} |`);
const all = { error: 0, inside: 0, cases: 0 };
console.log('| model | cases | error | coverage |\n|---|---|---|---|');
tested.forEach(([model, rows], index) => {
  const random = mulberry32(seed + index);
  const others = measurements.filter((row) => row.model !== model);
  const knowledge = learnThroughput(others, rows.map(configurationOf));
  const own = { error: 0, inside: 0, cases: 0 };
  for (let draw = 0; draw < draws; draw++) {
    const order = shuffled(rows, random);
    const held = order.slice(points);
    predictWith(knowledge, order.slice(0, points), held.map(configurationOf)).forEach((said, i) => {
      const truth = held[i].samplesPerSecond;
      own.error += Math.abs(said.samplesPerSecond / truth - 1);
      own.inside += Number(said.low <= truth && truth <= said.high);
      own.cases += 1;
    });
  }
  show(model, own);
  for (const key of Object.keys(all)) all[key] += own[key];
});
show('all', all);
