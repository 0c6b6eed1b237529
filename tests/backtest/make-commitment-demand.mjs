#!/usr/bin/env node
/**
 * Writes demand files for `bursar backtest commitment` from lists of real jobs and from seeds. Needs `npm run build`
 * first.
 *
 *   node tests/backtest/make-commitment-demand.mjs pods FILE       openb pods: a tenant per QoS class and GPU count
 *   node tests/backtest/make-commitment-demand.mjs services FILE   Alibaba's disaggregated_DLRM_trace.csv: one per service
 *   node tests/backtest/make-commitment-demand.mjs jobs FILE...    Philly arrivals in gavel's form: a tenant per file;
 *   durations are SYNTHETIC
 *   node tests/backtest/make-commitment-demand.mjs seeded [--hours 4000] [--seeds 5] [--first-seed 1001]    all
 *   SYNTHETIC, every shape
 *
 * The CSV goes to standard output; an hour without a row is an hour without demand.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  hourlyPeaks,
  SERIES_SHAPES,
  syntheticDurationSeconds,
  syntheticSeries,
} from '../../dist/src/lab/commitment/series.js';
import { mulberry32 } from '../../dist/src/lab/random.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    hours: { type: 'string', default: '4000' },
    seeds: { type: 'string', default: '5' },
    'first-seed': { type: 'string', default: '1001' },
  },
});

/** Rows as objects by column name; these files quote nothing. */
function rowsOf(file) {
  const [header, ...lines] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  return lines.map((cells) => Object.fromEntries(header.map((name, index) => [name, cells[index]])));
}

/**
 * A pod asks for num_gpu GPUs of gpu_milli thousandths each, from scheduling to deletion. Pods without a GPU, or never
 * scheduled, ask for nothing. The series ends with the last creation, since the list was cut there and later hours only
 * empty.
 */
function ofPods([file]) {
  const rows = rowsOf(file);
  const hours = Math.ceil(Math.max(...rows.map((row) => Number(row.creation_time))) / 3600);
  return [...groupBy(rows, tenantOf)].flatMap(([tenant, pods]) => {
    const spans = pods
      .filter((pod) => Number(pod.num_gpu) > 0 && pod.scheduled_time !== '' && pod.deletion_time !== '')
      .map((pod) => ({
        startSeconds: Number(pod.scheduled_time),
        endSeconds: Number(pod.deletion_time),
        milliGpus: Number(pod.num_gpu) * Number(pod.gpu_milli),
      }));
    return spans.length === 0 ? [] : [{ tenant, demand: hourlyPeaks(spans, hours) }];
  });
}

/**
 * An instance asks for its GPUs from scheduling to deletion; no time means before, or after, the trace. CPU nodes ask
 * for none.
 */
function ofServices([file]) {
  const rows = rowsOf(file);
  const seconds = rows.flatMap((row) => [row.creation_time, row.scheduled_time, row.deletion_time].map(Number));
  const hours = Math.ceil(Math.max(...seconds) / 3600);
  const asking = rows.filter(
    (row) => Number(row.gpu_request) > 0 && (row.scheduled_time !== '' || row.creation_time === ''),
  );
  return [...groupBy(asking, (row) => row.app_name)].map(([tenant, instances]) => {
    const spans = instances.map((row) => ({
      startSeconds: Number(row.scheduled_time),
      endSeconds: row.deletion_time === '' ? hours * 3600 : Number(row.deletion_time),
      milliGpus: 1000 * Number(row.gpu_request),
    }));
    return { tenant, demand: hourlyPeaks(spans, hours) };
  });
}

const tenantOf = (pod) => `openb-${pod.qos}-${pod.num_gpu}gpu`;

function groupBy(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

/** Arrivals and GPU counts are real; a duration is drawn per job, in the file's order, from seed 1. */
function ofJobs(files) {
  return files.map((file) => {
    const random = mulberry32(1);
    const spans = rowsOf(file).map((row) => {
      const startSeconds = Number(row.arrival_time_s);
      return {
        startSeconds,
        endSeconds: startSeconds + syntheticDurationSeconds(random),
        milliGpus: 1000 * Number(row.num_gpus),
      };
    });
    const hours = Math.ceil(Math.max(...spans.map((span) => span.startSeconds)) / 3600);
    return { tenant: `philly-${path.basename(file, '.csv')}`, demand: hourlyPeaks(spans, hours) };
  });
}

function ofSeeds() {
  const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => Number(values['first-seed']) + index);
  return seeds.flatMap((seed) => SERIES_SHAPES.map((shape) => syntheticSeries(shape, Number(values.hours), seed)));
}

const [kind, ...files] = positionals;
const series = { pods: ofPods, services: ofServices, jobs: ofJobs, seeded: ofSeeds }[kind]?.(files);
if (series === undefined || series.length === 0) {
  console.error('say what to make: pods FILE, services FILE, jobs FILE..., or seeded');
  process.exit(2);
}
const lines = ['tenant,hour,gpus'];
for (const { tenant, demand } of series) {
  // The first and the last hour are always written: they hold the range.
  demand.forEach(
    (gpus, hour) => (gpus > 0 || hour === 0 || hour === demand.length - 1) && lines.push(`${tenant},${hour},${gpus}`),
  );
}
process.stdout.write(`${lines.join('\n')}\n`);
