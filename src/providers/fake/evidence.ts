/**
 * GPU evidence of a fake cloud's machines, as a source of telemetry gives it: a reading of each card at a steady pace
 * while its machine runs, and nothing while it does not.
 *
 * The caller makes up how busy a machine is; the cards, their times and their ends follow from the cloud's runs.
 */
import type { GpuSample, TelemetryConnection, TelemetryReading } from '../../core/ports.js';
import { MINUTE_MS } from '../../core/time.js';
import { kindOf } from './catalogue.js';
import type { FakeCloud } from './cloud.js';
import type { Run } from './machines.js';

/** The load of a machine's cards at a time; null: not measured then. */
export interface CardLoad {
  readonly utilisationRatio: number;
  readonly memoryUsedRatio: number;
}

export interface EvidenceOptions {
  readonly name: string;
  /** Minutes between two readings of a machine; they lie on whole minutes. */
  minutesOf(run: Readonly<Run>): number;
  loadOf(run: Readonly<Run>, at: number): CardLoad | null;
}

export class FakeTelemetry implements TelemetryConnection {
  readonly name: string;

  constructor(
    private readonly cloud: FakeCloud,
    private readonly options: EvidenceOptions,
  ) {
    this.name = options.name;
  }

  async *read(from: number, to: number): AsyncIterable<TelemetryReading> {
    const runs = this.cloud.runs().filter(({ start, end }) => start < to && (end === null || end > from));
    for (let at = (Math.floor(from / MINUTE_MS) + 1) * MINUTE_MS; at <= to; at += MINUTE_MS) {
      const samples = runs.flatMap((run) => this.samplesOf(run, at));
      if (samples.length > 0) yield { at, samples, coverage: 1, problems: [] };
    }
    yield { at: to, samples: [], coverage: 1, problems: [] };
  }

  private samplesOf(run: Readonly<Run>, at: number): GpuSample[] {
    const minutes = this.options.minutesOf(run);
    if (at < run.start || (run.end !== null && at >= run.end) || (at / MINUTE_MS) % minutes !== 0) return [];
    const kind = kindOf(run.sku);
    const load = this.options.loadOf(run, at);
    if (kind === undefined || load === null) return [];
    return Array.from({ length: kind.gpus }, (_, card) => ({
      resource: run.machine,
      gpu: `${run.machine}/${card}`,
      migInstance: null,
      gpuModel: kind.gpuModel,
      namespace: null,
      pod: null,
      at,
      gpuUtilisationRatio: load.utilisationRatio,
      memoryUsedRatio: load.memoryUsedRatio,
      memoryUsedMib: null,
      temperatureCelsius: null,
      powerWatts: null,
      pcieReplays: null,
      requestsPerSecond: null,
      networkLatencySeconds: null,
      labels: { workload_kind: run.labels['bursar.io/workload-kind'] ?? '' },
    }));
  }
}
