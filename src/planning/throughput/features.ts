/**
 * What the time of a training step depends on, as features of three curves, with what is believed before any
 * measurement.
 *
 * A step takes as long as the host needs to launch it, the GPU to compute it or the GPUs to exchange their gradients,
 * whichever is longer. The logarithm of each of the three is linear in the features below: batch and input size as
 * powers, precision, optimizer, GPU kind and counts as factors. Beliefs are broad and are the same for every model of a
 * kind; measurements move them. Features look at a configuration only, never at a measured value.
 */
import type { Configuration } from '../../core/workload/measurement.js';
import { familyOf, optimizerOf, precisionOf } from './measurement.js';

/**
 * Whether `batch` counts the samples of all GPUs or of each one; sources differ, and the data decide (see
 * hierarchy.ts).
 */
export type BatchMeaning = 'all-gpus' | 'each-gpu';

export const CURVES = ['compute', 'launch', 'sync'] as const;
export type Curve = (typeof CURVES)[number];

/**
 * How one coefficient differs from model to model, in standard deviations: belief(model) ~ mean + shared + family +
 * slope x log params + own.
 */
export interface Spread {
  /** Deviation of what all models have in common. */
  readonly shared: number;
  readonly family: number;
  /** Per unit of log parameters. */
  readonly slope: number;
  /** Deviation of a model from what its family and parameters predict. */
  readonly model: number;
}

export interface Feature {
  readonly name: string;
  readonly curve: Curve;
  readonly value: (configuration: Configuration) => number;
  /** Believed coefficient for a model of a family. */
  readonly mean: (family: string) => number;
  readonly spread: Spread;
}

export interface FeatureSpace {
  readonly features: readonly Feature[];
  /** Place in CURVES of each feature's curve. */
  readonly curves: Uint8Array;
  /** The feature that is 1 where GPUs exchange gradients; -1: each configuration has one GPU. */
  readonly sync: number;
  readonly families: readonly string[];
  readonly batchMeaning: BatchMeaning;
}

type Kind = 'image' | 'sequence' | 'recurrent' | 'other';

function kindOf(family: string): Kind {
  if (/cnn|conv|image|vision|vit|unet|diffusion|gan/.test(family)) return 'image';
  if (/rnn|lstm|gru|recurrent/.test(family)) return 'recurrent';
  return /transformer|nlp|llm|bert|gpt|sequence|text/.test(family) ? 'sequence' : 'other';
}

/**
 * Work per sample grows with the square of an image's edge, and with a sequence's length (attention adds a little: its
 * quadratic part is small beside the linear layers at common lengths, Kaplan et al. 2020, section 2.1).
 */
const SIZE_POWER: Readonly<Record<Kind, number>> = { image: 2, sequence: 1.1, recurrent: 1, other: 1 };
/** A recurrent step launches its kernels once per token; the others once per layer. */
const LAUNCH_SIZE_POWER: Readonly<Record<Kind, number>> = { image: 0, sequence: 0, recurrent: 1, other: 0 };
/**
 * Log factor between vector units and matrix units. The data sheets' peaks (A100: fp32 19.5, tf32 156, bf16 312 TFLOPS)
 * would be 2.1; layers that are bound by memory leave a third to a half, convolutions less than matrix products.
 */
const TENSOR_GAIN: Readonly<Record<Kind, number>> = { image: 0.6, sequence: 1, recurrent: 1, other: 0.8 };
/**
 * Where a precision stands on that scale: 0 is tf32, 1 is fp32 without matrix units. Other precisions are unknown: 0.
 */
const TENSOR_SCORE: Readonly<Record<string, number>> = { fp64: 2, fp32: 1, tf32: 0, fp16: -0.6, bf16: -0.6, fp8: -1 };
const IS_MIXED: ReadonlySet<string> = new Set(['fp16', 'bf16', 'fp8', 'amp', 'mixed']);

const BATCH_REFERENCE = 64;
const SIZE_REFERENCE: Readonly<Record<Kind, number>> = { image: 224, sequence: 256, recurrent: 256, other: 256 };
const PARAMS_REFERENCE = 3e7;

const logSize = (c: Configuration): number =>
  c.size === null ? 0 : Math.log(c.size / SIZE_REFERENCE[kindOf(familyOf(c))]);
const logParamsOf = ({ params }: Configuration): number => (params === null ? 0 : Math.log(params / PARAMS_REFERENCE));

/** Samples that one GPU computes in a step. */
const batchPerGpu = (c: Configuration, meaning: BatchMeaning): number =>
  meaning === 'all-gpus' ? c.batch / c.gpuCount : c.batch;
/** Log of the samples of a step on all GPUs. */
export const logStepSamples = (c: Configuration, meaning: BatchMeaning): number =>
  Math.log(batchPerGpu(c, meaning) * c.gpuCount);

/** The features for all levels (precisions, optimizers, GPU kinds, families) that occur in the configurations. */
export function featureSpace(configurations: readonly Configuration[], batchMeaning: BatchMeaning): FeatureSpace {
  const features = [
    ...stepFeatures('compute', batchMeaning),
    ...stepFeatures('launch', batchMeaning),
    ...levelFeatures(configurations),
    ...scaleFeatures(configurations),
    ...syncFeatures(configurations),
  ];
  return {
    features,
    batchMeaning,
    curves: Uint8Array.from(features, ({ curve }) => CURVES.indexOf(curve)),
    sync: features.findIndex(({ name }) => name === 'sync'),
    families: levels(configurations, familyOf),
  };
}

/** What configurations differ in beside numbers. */
export interface Levels {
  readonly gpus: ReadonlySet<string>;
  readonly precisions: ReadonlySet<string>;
  readonly optimizers: ReadonlySet<string>;
  readonly families: ReadonlySet<string>;
}

/** Steps of both curves, the latent gain, and the count of GPUs. */
const COEFFICIENTS_OF_ALL = 15;

/** How many features configurations with such levels have at most, without those of the exchange. */
export function coefficientsFor({ gpus, precisions, optimizers }: Levels): number {
  const ofGpus = gpus.size > 1 ? gpus.size * (2 + precisions.size) : 0;
  return COEFFICIENTS_OF_ALL + 2 * precisions.size + 2 * optimizers.size + ofGpus;
}

const levels = (configurations: readonly Configuration[], of: (c: Configuration) => string): string[] =>
  [...new Set(configurations.map(of))].sort();

/** A coefficient that does not vary in this respect; not 0, so that matrices stay positive definite. */
const FIXED = 1e-3;
const spreadOf = (shared: number, family: number, model: number): Spread => ({ shared, family, slope: FIXED, model });

interface Belief {
  readonly mean: number;
  readonly spread: Spread;
}

/**
 * The prior of each curve. Intercepts are log seconds of a step of 64 samples of the reference size, for 30 million
 * parameters; the others are powers.
 */
const BELIEFS: Readonly<
  Record<
    'compute' | 'launch',
    {
      readonly intercept: Belief;
      readonly params: Belief;
      readonly batch: Belief;
      readonly size: { readonly powerOf: Readonly<Record<Kind, number>>; readonly spread: Spread };
    }
  >
> = {
  compute: {
    intercept: { mean: -6, spread: spreadOf(2, 1, 1) },
    params: { mean: 0.8, spread: spreadOf(0.3, FIXED, 0.1) },
    batch: { mean: 1, spread: spreadOf(0.03, 0.03, 0.05) },
    size: { powerOf: SIZE_POWER, spread: spreadOf(0.1, 0.1, 0.06) },
  },
  launch: {
    intercept: { mean: -3.8, spread: spreadOf(1, 0.5, 0.6) },
    params: { mean: 0.3, spread: spreadOf(0.2, FIXED, 0.1) },
    batch: { mean: 0, spread: spreadOf(0.02, 0.02, 0.02) },
    size: { powerOf: LAUNCH_SIZE_POWER, spread: spreadOf(0.05, 0.05, 0.05) },
  },
};

/** The intercept and the powers of a curve. */
function stepFeatures(curve: keyof typeof BELIEFS, meaning: BatchMeaning): Feature[] {
  const { intercept, params, batch, size } = BELIEFS[curve];
  const isOther = (family: string): boolean => kindOf(family) === 'other';
  const feature = (name: string, value: Feature['value'], { mean, spread }: Belief): Feature => ({
    name,
    curve,
    value,
    mean: () => mean,
    spread,
  });
  return [
    feature(curve, () => 1, intercept),
    feature(`${curve} params`, logParamsOf, params),
    feature(`${curve} batch`, (c) => Math.log(batchPerGpu(c, meaning) / BATCH_REFERENCE), batch),
    {
      name: `${curve} size`,
      curve,
      value: (c) => (isOther(familyOf(c)) ? 0 : logSize(c)),
      mean: (family) => size.powerOf[kindOf(family)],
      spread: size.spread,
    },
    // What size means to a family that is not known is open: one power may be far from the next.
    {
      name: `${curve} size of another family`,
      curve,
      value: (c) => (isOther(familyOf(c)) ? logSize(c) : 0),
      mean: (family) => size.powerOf[kindOf(family)],
      spread: spreadOf(0.3, 0.6, 0.2),
    },
  ];
}

/** Precision and optimizer. One latent gain moves all precisions together, so that fp32 rows tell something of bf16. */
function levelFeatures(configurations: readonly Configuration[]): Feature[] {
  const none = (): number => 0;
  const features: Feature[] = [
    {
      name: 'compute tensor gain',
      curve: 'compute',
      value: (c) => TENSOR_SCORE[precisionOf(c)] ?? 0,
      mean: (family) => TENSOR_GAIN[kindOf(family)],
      spread: { shared: 0.3, family: 0.3, slope: 0.1, model: 0.3 },
    },
  ];
  for (const level of levels(configurations, precisionOf)) {
    const value = (c: Configuration): number => Number(precisionOf(c) === level);
    features.push(
      {
        name: `compute precision ${level}`,
        curve: 'compute',
        value,
        mean: none,
        spread: { shared: 0.3, family: 0.4, slope: 0.1, model: 0.1 },
      },
      {
        name: `launch precision ${level}`,
        curve: 'launch',
        value,
        mean: () => (IS_MIXED.has(level) ? 0.15 : 0),
        spread: { shared: 0.1, family: 0.1, slope: FIXED, model: 0.08 },
      },
    );
  }
  for (const level of levels(configurations, optimizerOf)) {
    const value = (c: Configuration): number => Number(optimizerOf(c) === level);
    features.push(
      {
        name: `compute optimizer ${level}`,
        curve: 'compute',
        value,
        mean: none,
        spread: { shared: 0.02, family: 0.02, slope: FIXED, model: 0.02 },
      },
      {
        name: `launch optimizer ${level}`,
        curve: 'launch',
        value,
        mean: () => (level.startsWith('adam') ? 0.05 : 0),
        spread: { shared: 0.1, family: 0.05, slope: FIXED, model: 0.06 },
      },
    );
  }
  return features;
}

/** GPU kinds, counts and nodes: only where the configurations differ in them, since else the intercept holds them. */
function scaleFeatures(configurations: readonly Configuration[]): Feature[] {
  const features: Feature[] = [];
  const none = (): number => 0;
  const gpus = levels(configurations, ({ gpu }) => gpu);
  for (const gpu of gpus.length > 1 ? gpus : []) {
    const value = (c: Configuration): number => Number(c.gpu === gpu);
    features.push(
      {
        name: `compute ${gpu}`,
        curve: 'compute',
        value,
        mean: none,
        spread: { shared: 0.7, family: 0.1, slope: FIXED, model: 0.1 },
      },
      {
        name: `launch ${gpu}`,
        curve: 'launch',
        value,
        mean: none,
        spread: { shared: 0.3, family: 0.05, slope: FIXED, model: 0.1 },
      },
    );
    for (const precision of levels(configurations, precisionOf)) {
      features.push({
        name: `compute ${gpu} ${precision}`,
        curve: 'compute',
        value: (c) => Number(c.gpu === gpu && precisionOf(c) === precision),
        mean: none,
        spread: { shared: 0.3, family: 0.1, slope: FIXED, model: 0.05 },
      });
    }
  }
  // GPUs that work together wait for the slowest: a twentieth per doubling is believed, and soon learned.
  if (configurations.some(({ gpuCount }) => gpuCount !== 1)) {
    for (const curve of ['compute', 'launch'] as const) {
      features.push({
        name: `${curve} gpus`,
        curve,
        value: (c) => Math.log(c.gpuCount),
        mean: () => 0.05,
        spread: { shared: 0.15, family: 0.05, slope: 0.03, model: 0.1 },
      });
    }
  }
  return features;
}

/**
 * How long the GPUs exchange gradients: longer the more of them a node has, and longest between nodes, where those of a
 * node share one network card (Pollux, OSDI 2021, section 3.2, tells the two apart in the same way). One GPU exchanges
 * nothing: all features are 0.
 */
function syncFeatures(configurations: readonly Configuration[]): Feature[] {
  if (configurations.every(({ gpuCount }) => gpuCount === 1)) return [];
  const nodesOf = ({ nodes }: Configuration): number => nodes ?? 1;
  const feature = (name: string, value: Feature['value'], mean: number, spread: Spread): Feature => ({
    name,
    curve: 'sync',
    value: (c) => (c.gpuCount > 1 ? value(c) : 0),
    mean: () => mean,
    spread,
  });
  const gpus = levels(configurations, ({ gpu }) => gpu);
  return [
    // Intercept: log seconds for 30 million parameters on one node, per GPU of it; a ring's share grows with its length.
    feature('sync', () => 1, -3, spreadOf(1.5, 0.5, 1)),
    feature('sync params', logParamsOf, 0.8, spreadOf(0.3, FIXED, 0.1)),
    feature('sync gpus', (c) => Math.log(c.gpuCount / nodesOf(c)), 0.4, spreadOf(0.3, 0.1, 0.15)),
    feature('sync between nodes', (c) => Number(nodesOf(c) > 1), 1, spreadOf(1, 0.2, 0.4)),
    feature('sync nodes', (c) => Math.log(nodesOf(c)), 0.1, spreadOf(0.3, 0.1, 0.15)),
    ...(gpus.length > 1 ? gpus : []).map((gpu) =>
      feature(`sync ${gpu}`, (c) => Number(c.gpu === gpu), 0, spreadOf(0.7, 0.1, 0.2)),
    ),
  ];
}

/** One configuration's values, in the order of the features. */
export const encode = (space: FeatureSpace, c: Configuration): Float64Array =>
  Float64Array.from(space.features, ({ value }) => value(c));

/**
 * A model as the hierarchy sees it: 1, its family as indicators, its mean log parameters over the rows that state them.
 */
export function describeModel(space: FeatureSpace, rows: readonly Configuration[]): Float64Array {
  const stated = rows
    .map(familyOf)
    .filter((family) => family !== '')
    .sort();
  const known = rows.filter(({ params }) => params !== null);
  const size = known.reduce((sum, row) => sum + logParamsOf(row), 0) / Math.max(1, known.length);
  return Float64Array.of(1, ...space.families.map((name) => Number(name === (stated[0] ?? ''))), size);
}

/** Believed mean and standard deviation of the weights that describeModel's parts have in one feature's coefficient. */
export function belief(
  { mean, spread }: Feature,
  families: readonly string[],
): { mean: Float64Array; deviation: Float64Array } {
  return {
    mean: Float64Array.of(0, ...families.map(mean), 0),
    deviation: Float64Array.of(spread.shared, ...families.map(() => spread.family), spread.slope),
  };
}
