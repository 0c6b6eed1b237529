#!/usr/bin/env node
/**
 * Makes measurement files for `bursar backtest throughput` from the published ones that docs/decisions-quality/throughput.md
 * names, read from git directories at their commits, and checks them against control totals.
 *
 *   node tests/backtest/throughput-sources.mjs --out DIR [--adaptdl GITDIR] [--sia GITDIR] [--gavel GITDIR]
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const text = { type: 'string' };
const { values } = parseArgs({ options: { out: text, adaptdl: text, sia: text, gavel: text } });
if (values.out === undefined) throw new Error('--out names a folder');

const POLLUX_MODELS = ['bert', 'cifar10', 'deepspeech2', 'imagenet', 'ncf', 'yolov3'];
/** Of the cluster's step times: where they lie, its GPU, and how many rows there are. */
const SOURCES = [
  ['adaptdl', 'pollux', 'simulator/traces/MODEL/placements.csv', 'T4', 5542],
  ['sia', 'sia-azure', 'adaptdl/sched/traces/MODEL/placements-azure.csv', 'azure', 2852],
  ['sia', 'sia-dgx', 'adaptdl/sched/traces/MODEL/placements-dgx-ext.csv', 'A100', 2940],
  ['sia', 'sia-rtx', 'adaptdl/sched/traces/MODEL/placements-rtx.csv', 'RTX2080Ti', 2337],
];
const COMMITS = {
  adaptdl: 'c793c7089bd307462686339d29707925c461f9a9',
  sia: 'aaf7a0de7b6cb5eab06ea020467ede5d2fd18e70',
  gavel: 'c4fa40097339e9608ab71fd64c8bdea96a5e4a4c',
};
const show = (source, file) =>
  execFileSync('git', ['-C', values[source], 'show', `${COMMITS[source]}:${file}`], { maxBuffer: 2 ** 28 }).toString();

/** A placement is one digit per node, the GPUs on it; a step computes `local_bsz` samples on each of them. */
function placements(csv, model, gpu) {
  const [header, ...rows] = csv
    .trim()
    .split(/\r?\n/)
    .map((line) => line.split(','));
  const of = (row, name) => Number(row[header.indexOf(name)]);
  return rows.map((row) => {
    const nodes = [...row[header.indexOf('placement')]].map(Number);
    const gpuCount = nodes.reduce((sum, gpus) => sum + gpus, 0);
    const batch = of(row, 'local_bsz') * gpuCount;
    const samplesPerSecond = batch / of(row, 'step_time');
    return { model, gpu, gpu_count: gpuCount, nodes: nodes.length, batch, samples_per_s: samplesPerSecond };
  });
}

/** Steps per second of jobs that run alone, with the batch in the job's name; jobs without one are left out. */
function gavel() {
  const kinds = JSON.parse(show('gavel', 'scheduler/simulation_throughputs.json'));
  return Object.entries(kinds).flatMap(([gpu, jobs]) =>
    Object.entries(jobs).flatMap(([name, { null: stepsPerSecond }]) => {
      const [, model, batch, gpus] = /^\('(.+) \(batch size (\d+)\)', (\d+)\)$/.exec(name) ?? [];
      if (model === undefined || !(stepsPerSecond > 0)) return [];
      return [
        { model, gpu, gpu_count: Number(gpus), batch: Number(batch), samples_per_s: stepsPerSecond * Number(batch) },
      ];
    }),
  );
}

function write(name, rows, expected) {
  if (rows.length !== expected) throw new Error(`${name} has ${rows.length} rows, not ${expected}`);
  const file = path.join(values.out, `${name}.jsonl`);
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  console.log(`${file}: ${rows.length} rows`);
}

for (const [source, name, file, gpu, expected] of SOURCES) {
  if (values[source] === undefined) continue;
  const rows = POLLUX_MODELS.flatMap((model) => placements(show(source, file.replace('MODEL', model)), model, gpu));
  write(name, rows, expected);
}
if (values.gavel !== undefined) write('gavel', gavel(), 477);
