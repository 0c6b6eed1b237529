/**
 * Writes the labelled samples of `replay.ts` as the CSV that `bursar backtest idle` reads.
 *
 * Reads the measured seconds of data/h200-telemetry and its phases; invents no value. The file says in its resource
 * names that it is a replay.
 */

import { readFile, writeFile } from 'node:fs/promises';
import { invalid } from '../../core/errors.js';
import { replay, REPLAY_DEFAULTS, type MeasuredPhases, type MeasuredSecond, type ReplaySettings } from './replay.js';
import { instantMilliseconds } from '../scaling/run.js';

const PHASES: Readonly<Record<string, keyof MeasuredPhases>> = {
  allocated_nothing: 'allocatedNothing',
  holds_memory_idle: 'holdsMemoryIdle',
  train_full: 'trainFull',
  train_input_bound: 'trainInputBound',
  inference_2rps: 'inference',
};
/** The replay's first minute: 2026-01-01T00:00:00Z in Unix seconds. */
const START_SECONDS = 1_767_225_600;

export interface ReplayOptions extends Partial<ReplaySettings> {
  /** Output of nvidia-smi (`nvidia-smi.csv`) and what truly ran (`phases.json`). */
  readonly telemetry: string;
  readonly phases: string;
  readonly out: string;
}

/** Writes the samples and returns how many. @throws invalid when a phase has no measured second. */
export async function writeReplayedSamples(options: ReplayOptions): Promise<number> {
  const { telemetry, phases, out, ...settings } = options;
  const measured = measuredPhases(await readFile(telemetry, 'utf8'), await readFile(phases, 'utf8'));
  const samples = replay(measured, { ...REPLAY_DEFAULTS, ...settings });
  const lines = samples.map(({ evidence, useful }) =>
    [
      `replay-${evidence.resource}`,
      START_SECONDS + evidence.minute * 60,
      evidence.gpuUtilPercent ?? '',
      evidence.requestsPerSecond ?? '',
      evidence.memoryUsedRatio?.toFixed(4) ?? '',
      evidence.workload ?? '',
      useful === null ? '' : Number(useful),
    ].join(','),
  );
  await writeFile(
    out,
    `resource,timestamp,gpu_util_percent,requests_per_second,memory_used_ratio,workload,useful\n${lines.join('\n')}\n`,
  );
  return samples.length;
}

/** Splits a recording of nvidia-smi (`--format=csv,nounits`, times in UTC) into its labelled phases. */
export function measuredPhases(csv: string, phasesJson: string): MeasuredPhases {
  const labelled = JSON.parse(phasesJson) as readonly { phase: string; start: number; end: number }[];
  const measured: Record<keyof MeasuredPhases, MeasuredSecond[]> = {
    allocatedNothing: [],
    holdsMemoryIdle: [],
    trainFull: [],
    trainInputBound: [],
    inference: [],
  };
  const [header = '', ...rows] = csv.trim().split(/\r?\n/);
  const names = header.split(',').map((name) => name.trim());
  const column = (name: string): number => names.indexOf(name);
  const [time, percent, used, total] = [
    column('timestamp'),
    column('utilization.gpu [%]'),
    column('memory.used [MiB]'),
    column('memory.total [MiB]'),
  ];
  for (const row of rows) {
    const cells = row.split(',').map((cell) => cell.trim());
    const at = instantMilliseconds((cells[time] ?? '').replaceAll('/', '-'));
    const phase = at === null ? undefined : labelled.find(({ start, end }) => start * 1000 <= at && at < end * 1000);
    const name = phase === undefined ? undefined : PHASES[phase.phase];
    const second = {
      gpuUtilPercent: Number(cells[percent]),
      memoryUsedRatio: Number(cells[used]) / Number(cells[total]),
    };
    if (name !== undefined && Number.isFinite(second.gpuUtilPercent) && Number.isFinite(second.memoryUsedRatio))
      measured[name].push(second);
  }
  const empty = Object.entries(measured).filter(([, seconds]) => seconds.length === 0);
  if (empty.length > 0)
    throw invalid(
      'the recording lacks phases',
      empty.map(([path]) => ({ path, message: 'has no measured second' })),
    );
  return measured;
}
