#!/usr/bin/env node
/**
 * Prints the tables of docs/decisions-quality/spot-regions.md: the 20 cells and the geometric means of their groups,
 * as cost over the optimum's, less one. Needs `npm run build` first.
 *
 *   node tests/backtest/spot-regions-tables.mjs --data FOLDER [--past FOLDER --train FOLDER] [--windows 12]
 *     [--past-every 0|7200|none] [--policies bursar,skynomad] [--cells 0,5]
 *
 * The folders hold h100-gcp-2025, v100-aws-2023 and v100x4-aws-2023.jsonl.gz: `--data` the part that windows are cut
 * from, `--past` its earlier ticks and `--train` what is learned from of the other two (`--data` where it is not given).
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { runSpotRegionsBacktest } from '../../dist/src/lab/spot-regions/run.js';

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    past: { type: 'string' },
    train: { type: 'string' },
    windows: { type: 'string', default: '12' },
    'past-every': { type: 'string', default: '0' },
    policies: { type: 'string', default: 'bursar,skynomad,uniform-progress-all' },
    cells: { type: 'string', default: '' },
  },
});
const AMERICAN = ['us-central1-a', 'us-central1-b', 'us-central1-c', 'us-east4-a', 'us-east4-b', 'us-east5-a'];
AMERICAN.push('us-west1-a', 'us-west1-b');
const THREE = ['us-east-1c', 'us-east-2b', 'us-west-2a'];
const [H100, V100, V100X4] = ['h100-gcp-2025', 'v100-aws-2023', 'v100x4-aws-2023'];
const cell = (group, set, jobHours, change = {}) => ({
  group,
  set,
  terms: { jobHours, deadlineHours: 48, restartHours: 0.2, checkpointGb: 50, ...change },
});
const gang = (group, set, change) => [24, 36, 43.6].map((hours) => cell(group, set, hours, change));
const OTHER_TERMS = [{ checkpointGb: 500 }, { checkpointGb: 2000 }, { restartHours: 0.05 }, { restartHours: 0.5 }];
const CELLS = [
  ...gang('one H100, 13 zones', H100),
  ...gang('gang of 16, 13 zones', H100, { gang: 16 }),
  ...OTHER_TERMS.map((change) => cell('gang of 16, other terms', H100, 36, { gang: 16, ...change })),
  ...gang('gang of 16, eight American zones', H100, { gang: 16, zones: AMERICAN }),
  ...gang('V100 gangs of 4, three zones', V100X4, { gang: 4 }),
  ...[24, 36].map((hours) => cell('V100, nine and three zones', V100, hours)),
  ...[24, 36].map((hours) => cell('V100, nine and three zones', V100, hours, { zones: THREE })),
];

const policies = values.policies.split(',');
const chosen = values.cells === '' ? [...CELLS.keys()] : values.cells.split(',').map(Number);
const fileOf = (folder, set) => path.join(folder, `${set}.jsonl.gz`);
const row = (...columns) => process.stdout.write(`| ${columns.join(' | ')} |\n`);
const results = [];
row(
  'group',
  'zones',
  'job (h)',
  'restart (h)',
  'checkpoint (GB)',
  ...policies.flatMap((name) => [name, 'worst window']),
);
for (const index of chosen) {
  const { group, set, terms } = CELLS[index];
  const others = [H100, V100, V100X4].filter((other) => other !== set);
  const every = values['past-every'];
  const { summary } = await runSpotRegionsBacktest({
    traces: fileOf(values.data, set),
    ...(values.past === undefined ? {} : { past: fileOf(values.past, set) }),
    train: others.map((other) => fileOf(values.train ?? values.data, other)),
    ...terms,
    windows: Number(values.windows),
    pastEvery: every === 'none' ? null : Number(every),
    policies,
  });
  results.push({ group, summary });
  const figures = policies.flatMap((name) => {
    const { overOptimum, worstWindow, misses } = summary[name];
    return [(overOptimum - 1).toFixed(3), worstWindow.toFixed(2) + (misses > 0 ? `, ${misses} missed` : '')];
  });
  row(group, terms.zones?.length ?? 'all', terms.jobHours, terms.restartHours, terms.checkpointGb, ...figures);
}
for (const group of [...new Set(results.map((one) => one.group)), 'all']) {
  const rows = results.filter((one) => group === 'all' || one.group === group);
  const means = policies.map((name) => {
    const logs = rows.map(({ summary }) => Math.log(summary[name].overOptimum - 1));
    return Math.exp(logs.reduce((sum, one) => sum + one, 0) / logs.length).toFixed(3);
  });
  row(group, ...means);
}
