/**
 * Labelled samples of many GPUs, made by replaying measured phases of one GPU with drawn spell lengths. Synthetic in
 * its lengths and order, measured in its values: every report that uses it says so.
 *
 * Rule: a GPU is a training, a notebook or a service. A training alternates runs (full or input-bound, drawn once per
 * GPU) with pauses; a notebook alternates short runs with pauses; a service answers requests for long and is quiet
 * between. A pause is short with a drawn probability (a checkpoint, a cell being edited: lognormal, median 4 minutes)
 * or long (lognormal, median 90 minutes). In a long pause the memory is given back or held. Each sample repeats one
 * measured second of its phase, drawn evenly. Reads no clock: the same seed gives the same samples.
 */

import { mulberry32, type Random } from '../random.js';
import { normal } from '../scaling/series.js';
import type { IdleSample } from '../../planning/idle/samples.js';

/** One measured second. */
export interface MeasuredSecond {
  readonly gpuUtilPercent: number;
  readonly memoryUsedRatio: number;
}

/** The measured phases by what truly ran (data/h200-telemetry/phases.json). */
export interface MeasuredPhases {
  readonly allocatedNothing: readonly MeasuredSecond[];
  readonly holdsMemoryIdle: readonly MeasuredSecond[];
  readonly trainFull: readonly MeasuredSecond[];
  readonly trainInputBound: readonly MeasuredSecond[];
  readonly inference: readonly MeasuredSecond[];
}

export interface ReplaySettings {
  readonly resources: number;
  readonly hours: number;
  readonly sampleMinutes: number;
  /** Share of pauses that are short. */
  readonly shortPauseShare: number;
  /**
   * Long pauses: `lognormal` (median 90 minutes) or `memoryless` (exponential, mean 45), in which waiting teaches
   * nothing.
   */
  readonly longPauses: 'lognormal' | 'memoryless';
  /** Share of samples whose utilisation is lost. */
  readonly missingShare: number;
  readonly seed: number;
}

export const REPLAY_DEFAULTS: ReplaySettings = {
  resources: 24,
  hours: 72,
  sampleMinutes: 1,
  shortPauseShare: 0.35,
  longPauses: 'lognormal',
  missingShare: 0.01,
  seed: 1,
};

type Workload = 'training' | 'notebook' | 'inference';

interface Spell {
  readonly minutes: number;
  readonly phase: keyof MeasuredPhases;
  readonly useful: boolean;
}

const lognormal = (median: number, spread: number, random: Random): number =>
  median * Math.exp(spread * normal(random));

/** Samples of all GPUs, GPU by GPU. */
export function replay(phases: MeasuredPhases, settings: ReplaySettings): IdleSample[] {
  const random = mulberry32(settings.seed);
  const samples: IdleSample[] = [];
  for (let i = 0; i < settings.resources; i++) {
    const workload = (['training', 'notebook', 'training', 'inference'] as const)[i % 4]!;
    const inputBound = random() < 0.5;
    let minute = Math.floor(random() * 5);
    for (let spellIndex = 0; minute < settings.hours * 60; spellIndex++) {
      const spell = spellIndex % 2 === 0 ? run(workload, inputBound, random) : pause(workload, settings, random);
      const end = Math.min(settings.hours * 60, minute + Math.max(settings.sampleMinutes, Math.round(spell.minutes)));
      for (; minute < end; minute += settings.sampleMinutes)
        samples.push(sample(`gpu-${i}`, minute, workload, spell, phases, settings, random));
    }
  }
  return samples;
}

function run(workload: Workload, inputBound: boolean, random: Random): Spell {
  if (workload === 'inference') return { minutes: lognormal(240, 0.6, random), phase: 'inference', useful: true };
  const median = workload === 'training' ? 120 : 15;
  return { minutes: lognormal(median, 0.8, random), phase: inputBound ? 'trainInputBound' : 'trainFull', useful: true };
}

function pause(workload: Workload, settings: ReplaySettings, random: Random): Spell {
  const short = workload !== 'inference' && random() < settings.shortPauseShare;
  if (short) return { minutes: lognormal(4, 0.5, random), phase: 'holdsMemoryIdle', useful: false };
  const minutes = settings.longPauses === 'memoryless' ? -45 * Math.log(1 - random()) : lognormal(90, 0.9, random);
  return { minutes, phase: random() < 0.5 ? 'allocatedNothing' : 'holdsMemoryIdle', useful: false };
}

function sample(
  resource: string,
  minute: number,
  workload: Workload,
  spell: Spell,
  phases: MeasuredPhases,
  settings: ReplaySettings,
  random: Random,
): IdleSample {
  const measured = phases[spell.phase];
  const second = measured[Math.floor(random() * measured.length)]!;
  const missing = random() < settings.missingShare;
  return {
    evidence: {
      resource,
      minute,
      workload,
      gpuUtilPercent: missing ? null : second.gpuUtilPercent,
      requestsPerSecond: workload === 'inference' ? (spell.useful ? 2 : 0) : null,
      memoryUsedRatio: second.memoryUsedRatio,
    },
    useful: spell.useful,
  };
}
