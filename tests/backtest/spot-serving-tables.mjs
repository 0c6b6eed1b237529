#!/usr/bin/env node
/**
 * Prints the tables of docs/decisions-quality/spot-serving.md: cost over the optimum's, less one, and the windows that
 * missed the objective, of every policy in every cell. Needs `npm run build` first.
 *
 *   node tests/backtest/spot-serving-tables.mjs --data FOLDER [--past FOLDER --train FOLDER] [--windows 12]
 *     [--policies bursar,spothedge] [--cells 0,5]
 *
 * The folders hold h100-gcp-2025, v100-aws-2023 and v100x4-aws-2023.jsonl.gz: `--data` the part that windows are cut
 * from, `--past` its earlier ticks and `--train` what is learned from of the other two (`--data` where it is not given).
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runSpotServingBacktest } from '../../dist/src/lab/spot-serving/run.js';

const POLICIES =
  'bursar,spothedge,spothedge-guarded,even-spread,fixed-share,cheapest-zone,cheapest-zone-guarded,round-robin';
const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    past: { type: 'string' },
    train: { type: 'string' },
    windows: { type: 'string', default: '12' },
    policies: { type: 'string', default: POLICIES },
    cells: { type: 'string', default: '' },
  },
});
const AMERICAN = ['us-central1-a', 'us-central1-b', 'us-central1-c', 'us-east4-a', 'us-east4-b', 'us-east5-a'];
AMERICAN.push('us-west1-a', 'us-west1-b');
const [H100, V100, V100X4] = ['h100-gcp-2025', 'v100-aws-2023', 'v100x4-aws-2023'];
const cell = (name, set, replicas, change = {}) => ({
  name,
  set,
  terms: { replicas, coldStartMinutes: 5, objective: 0.99, ...change },
});
const CELLS = [
  cell('4 of one H100, 13 zones', H100, 4),
  cell('4 of 4 H100, 13 zones', H100, 4, { gang: 4 }),
  cell('4 of 4 H100, eight American zones', H100, 4, { gang: 4, zones: AMERICAN }),
  cell('3 of 16 H100, 13 zones', H100, 3, { gang: 16 }),
  cell('4 of one V100, nine zones', V100, 4),
  cell('4 of one V100, three zones', V100X4, 4),
  cell('2 of 4 V100, three zones', V100X4, 2, { gang: 4 }),
  cell('4 of 4 H100, 13 zones, cold start 15 min, 0.98', H100, 4, { gang: 4, coldStartMinutes: 15, objective: 0.98 }),
  cell('4 of 4 H100, 13 zones, 0.95', H100, 4, { gang: 4, objective: 0.95 }),
];

const policies = values.policies.split(',');
const chosen = values.cells === '' ? [...CELLS.keys()] : values.cells.split(',').map(Number);
const fileOf = (folder, set) => path.join(folder, `${set}.jsonl.gz`);
const row = (...columns) => process.stdout.write(`| ${columns.join(' | ')} |\n`);
row('cell', 'served, least', ...policies);
const results = [];
for (const index of chosen) {
  const { name, set, terms } = CELLS[index];
  const { summary } = await runSpotServingBacktest({
    traces: fileOf(values.data, set),
    ...(values.past === undefined ? {} : { past: fileOf(values.past, set) }),
    train: [H100, V100, V100X4]
      .filter((other) => other !== set)
      .map((other) => fileOf(values.train ?? values.data, other)),
    ...terms,
    windows: Number(values.windows),
    policies,
  });
  results.push(summary);
  const figures = policies.map((policy) => {
    const { overOptimum, misses, worstServedShare, servedShare } = summary[policy];
    const least = servedShare < terms.objective - 1e-9 ? `, ${worstServedShare.toFixed(3)}` : '';
    return `${(overOptimum - 1).toFixed(3)}${misses > 0 ? ` (${misses}${least})` : ''}`;
  });
  row(name, summary[policies[0]].worstServedShare.toFixed(4), ...figures);
}
const means = policies.map((policy) => {
  const logs = results.map((summary) => Math.log(summary[policy].overOptimum));
  return (Math.exp(logs.reduce((sum, one) => sum + one, 0) / logs.length) - 1).toFixed(3);
});
row('geometric mean of costs over the optimum, less one', '', ...means);
