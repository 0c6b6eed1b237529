/**
 * The speed of a workload's model on other GPUs, or on more or fewer of them: as measured there, otherwise as the
 * throughput model predicts from its measurements. Answers only for models that the same team has measured, and for
 * kinds of GPU with at least one measurement; anything else is unknown. Other teams' measurements of other models are
 * background. Reads only its input: given only the past, it learns nothing of the future.
 */
import type { Configuration, Measurement, RunFacts, TakenMeasurement } from '../../core/workload/measurement.js';
import { memoryGib } from '../placement/gpu-memory.js';
import { featureSpace } from './features.js';
import { learnThroughput, type Knowledge } from './hierarchy.js';
import { byModel, configurationOf, optimizerOf, precisionOf } from './measurement.js';
import { predictWith, type ThroughputEstimate } from './predict.js';
import { chosenRows, type ChosenRows } from './chosen-rows.js';

/** Samples per second of all GPUs together. */
export interface Pace extends ThroughputEstimate {
  /**
   * In this very configuration: `low` and `high` are the least and the most that was measured. Otherwise they are a 90
   * % interval.
   */
  readonly isMeasured: boolean;
  /** Rows of the model that it rests on. */
  readonly rows: number;
}

/** Of other models, and of each of them evenly spread: beyond, an answer changes little. */
const MOST_MODELS = 12;
const MOST_ROWS = 24;
/** Each of them may have to be learned for itself. */
const MOST_KINDS = 16;
const MOST_KEPT = 64;
const MOST_PACES = 10_000;

const LEARNED = new WeakMap<readonly TakenMeasurement[], Map<string, Knowledge>>();

/**
 * What the rows teach for a configuration, kept as long as the list `all` that they are of: it depends on the background
 * and on what there is a coefficient for, and on nothing else of the asked configuration.
 */
export function keptKnowledge(
  all: readonly TakenMeasurement[],
  { known, background }: Pick<ChosenRows, 'known' | 'background'>,
  asked: Configuration,
): Knowledge {
  const kept = LEARNED.get(all) ?? new Map<string, Knowledge>();
  LEARNED.set(all, kept);
  const rows = [...background, ...known, asked];
  const { features, families } = featureSpace(rows, 'all-gpus');
  const isSpread = rows.some(({ gpuCount }) => gpuCount !== 1);
  const name = JSON.stringify([features.map((one) => one.name), families, isSpread, background.map(({ id }) => id)]);
  let knowledge = kept.get(name);
  knowledge ??= learnThroughput(background, [...known, asked]);
  // The first in the map was used longest ago.
  kept.delete(name);
  kept.set(name, knowledge);
  if (kept.size > MOST_KEPT) for (const first of [...kept.keys()].slice(0, 1)) kept.delete(first);
  return knowledge;
}

const KNOWN = new WeakMap<readonly TakenMeasurement[], Map<string, Paces>>();

/** The model of a team's measurements; computed once for the same list. */
export function pacesOf(measurements: readonly TakenMeasurement[], team: string): Paces {
  const teams = KNOWN.get(measurements) ?? new Map<string, Paces>();
  KNOWN.set(measurements, teams);
  const known = teams.get(team) ?? new Paces(measurements, team);
  teams.set(team, known);
  return known;
}

export class Paces {
  private readonly known = new Map<string, Pace | null>();

  /** @param measurements of the organisation, oldest first */
  constructor(
    private readonly measurements: readonly TakenMeasurement[],
    private readonly team: string,
  ) {}

  /**
   * Kinds of GPU that something was measured on; of very many those that the team has measured the model on the most,
   * and then those that the most models are known on.
   */
  kinds(model: string): string[] {
    const kinds = [...new Set(this.measurements.map(({ gpu }) => gpu))].sort();
    if (kinds.length <= MOST_KINDS) return kinds;
    const own = new Map<string, number>();
    const models = new Map(kinds.map((gpu) => [gpu, new Set<string>()]));
    for (const row of this.measurements) {
      models.get(row.gpu)?.add(row.model);
      if (row.team === this.team && row.model === model) own.set(row.gpu, (own.get(row.gpu) ?? 0) + 1);
    }
    const rows = (gpu: string): number => own.get(gpu) ?? 0;
    return kinds
      .sort((a, b) => rows(b) - rows(a) || (models.get(b)?.size ?? 0) - (models.get(a)?.size ?? 0))
      .slice(0, MOST_KINDS)
      .sort();
  }

  /** Null: the team has measured nothing of the model, or nobody anything on such a GPU. */
  paceOf(run: RunFacts, gpu: string, gpuCount: number): Pace | null {
    const name = JSON.stringify([run.model, run.batch, run.precision, run.optimizer, run.size, gpu, gpuCount]);
    let pace = this.known.get(name);
    if (pace === undefined) {
      if (this.known.size >= MOST_PACES) this.known.clear();
      this.known.set(name, (pace = this.find(run, gpu, gpuCount)));
    }
    return pace;
  }

  private find(run: RunFacts, gpu: string, gpuCount: number): Pace | null {
    const { own, background } = rowsFor(this.measurements, this.team, run.model, gpu);
    const newest = own.findLast((row) => says(row, run)) ?? own.at(-1);
    if (newest === undefined || !this.measurements.some((row) => row.gpu === gpu)) return null;
    const asked: Configuration = {
      ...asRun(newest, run),
      gpu,
      gpuCount,
      nodes: newest.gpuCount === gpuCount ? newest.nodes : null,
    };
    const measured = measuredAs(own, asked);
    if (measured !== null) return measured;
    const chosen = chosenRows({ own, background }, asked);
    const [estimate] = predictWith(keptKnowledge(this.measurements, chosen, asked), chosen.own, [asked]);
    return estimate === undefined ? null : { ...estimate, isMeasured: false, rows: chosen.own.length };
  }

  /**
   * Whether a GPU of the kind holds it: from the memory that it took at most, with a batch of that size or a larger
   * one; null: unknown.
   */
  fits(run: RunFacts, gpu: string): boolean | null {
    const { own } = rowsFor(this.measurements, this.team, run.model, gpu);
    const batch = run.batch ?? own.at(-1)?.batch ?? null;
    if (own.some((row) => row.gpu === gpu && batch !== null && row.batch >= batch)) return true;
    const size = memoryGib(gpu);
    const peaks = own.flatMap(({ peakMemoryGib, batch: of }) =>
      peakMemoryGib !== null && batch !== null && of >= batch ? [peakMemoryGib] : [],
    );
    return size === null || peaks.length === 0 ? null : Math.min(...peaks) <= size;
  }
}

/**
 * What tells of a model on a kind of GPU: the team's own rows of the model, and of other models, of whatever team,
 * those on that kind or on a kind that the own rows know. A kind of GPU costs what is learned a handful of
 * coefficients, so that others are left out; and of many models those that know most of these kinds, since whoever asks
 * waits: learning from a whole organisation's rows takes seconds.
 */
export function rowsFor(
  all: readonly TakenMeasurement[],
  team: string,
  model: string,
  gpu: string,
): { readonly own: readonly TakenMeasurement[]; readonly background: readonly TakenMeasurement[] } {
  const own = all.filter((row) => row.team === team && row.model === model);
  const kinds = new Set([gpu, ...own.map((row) => row.gpu)]);
  const others = [...byModel(all.filter((row) => row.model !== model && kinds.has(row.gpu))).values()].sort(
    (a, b) => kindsIn(b) - kindsIn(a) || b.length - a.length,
  );
  return {
    own,
    background: others
      .slice(0, MOST_MODELS)
      .flatMap((rows) =>
        rows.filter(
          (_, at) => Math.floor((at * MOST_ROWS) / rows.length) !== Math.floor(((at - 1) * MOST_ROWS) / rows.length),
        ),
      ),
  };
}

const kindsIn = (rows: readonly Configuration[]): number => new Set(rows.map(({ gpu }) => gpu)).size;

/** All rows that were measured in exactly this configuration; null: none. */
export function measuredAs(rows: readonly Measurement[], asked: Configuration): Pace | null {
  const same = rows.filter((row) => isSame(row, asked)).map(({ samplesPerSecond }) => samplesPerSecond);
  return same.length === 0
    ? null
    : {
        samplesPerSecond: same.reduce((sum, one) => sum + one, 0) / same.length,
        low: Math.min(...same),
        high: Math.max(...same),
        isMeasured: true,
        rows: same.length,
      };
}

/**
 * How fast a run is on each kind of GPU of which something is known, over a reference; kinds that are known not to hold
 * it are left out. What is predicted counts at the low end of its interval, the reference at its high one.
 * @returns null if nothing is known of the reference
 */
export function relativeSpeeds(
  paces: Paces,
  run: RunFacts,
  reference: string,
  gpuCount: number,
): Record<string, number> | null {
  const base = paces.paceOf(run, reference, gpuCount);
  if (base === null) return null;
  const over = base.isMeasured ? base.samplesPerSecond : base.high;
  return Object.fromEntries(
    paces.kinds(run.model).flatMap((gpu): [string, number][] => {
      if (gpu === reference) return [[gpu, 1]];
      const pace = paces.fits(run, gpu) === false ? null : paces.paceOf(run, gpu, gpuCount);
      return pace === null ? [] : [[gpu, (pace.isMeasured ? pace.samplesPerSecond : pace.low) / over]];
    }),
  );
}

const asRun = (row: TakenMeasurement, { batch, precision, optimizer, size }: RunFacts): Configuration => {
  const found = configurationOf(row);
  return {
    ...found,
    batch: batch ?? found.batch,
    precision: precision ?? found.precision,
    optimizer: optimizer ?? found.optimizer,
    size: size ?? found.size,
  };
};

const levels = (one: Configuration): readonly unknown[] => [one.batch, precisionOf(one), optimizerOf(one), one.size];

/** Whether a row has all that the owner says of the run. */
const says = (row: TakenMeasurement, run: RunFacts): boolean =>
  JSON.stringify(levels(asRun(row, run))) === JSON.stringify(levels(row));

const isSame = (row: Configuration, asked: Configuration): boolean =>
  row.gpu === asked.gpu &&
  row.gpuCount === asked.gpuCount &&
  JSON.stringify(levels(row)) === JSON.stringify(levels(asked));
