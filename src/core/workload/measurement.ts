/**
 * A throughput measurement and a throughput query: one configuration of a training or a service on some GPUs. Contains
 * no model. A field that the source does not state is null, never a default.
 */

/** The model, and the GPUs on which it runs. */
export interface Configuration {
  readonly model: string;
  /** As the source names it; equal names are one kind. */
  readonly gpu: string;
  readonly gpuCount: number;
  /** Samples per optimiser step, of all GPUs or of each: see BatchMeaning in planning/throughput/features.ts. */
  readonly batch: number;
  /** `cnn`, `transformer`, `rnn`, or another word. */
  readonly family: string | null;
  /** Trainable parameters. */
  readonly params: number | null;
  /** Image edge in pixels, or sequence length in tokens. */
  readonly size: number | null;
  readonly optimizer: string | null;
  readonly precision: string | null;
  readonly nodes: number | null;
}

export interface Measurement extends Configuration {
  /** The rate of all GPUs together; above 0. */
  readonly samplesPerSecond: number;
}

/** A measurement that somebody passed in. Its GPU is named as fleet/gpu-model.ts writes it, where that knows it. */
export interface TakenMeasurement extends Measurement {
  readonly id: string;
  readonly team: string;
  /** Epoch milliseconds. */
  readonly measuredAt: number;
  /** Most memory that one GPU held; null: not measured. */
  readonly peakMemoryGib: number | null;
}

/** The model of a workload, as its owner states it; null: any, as last measured. */
export interface RunFacts {
  readonly model: string;
  readonly batch: number | null;
  readonly precision: string | null;
  readonly optimizer: string | null;
  readonly size: number | null;
}
