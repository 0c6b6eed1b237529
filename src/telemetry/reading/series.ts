/**
 * From Prometheus' time series to samples of GPUs: one per card or MIG instance, resource and time.
 *
 * Pure. Labels are read as exporters write them and as Prometheus renames them when they collide with a target's own
 * (`exported_...`). The exporter's own pod is never taken for the pod that holds the GPU. A missing point makes no
 * sample.
 */
import { modelOf } from '../../core/fleet/gpu-model.js';
import { HOST_LABELS, PLACE_LABELS } from '../../core/fleet/join.js';
import type { GpuSample, TelemetryReading } from '../../core/ports.js';
import { faultOfXid, METRICS, valueOf, type Measure, type Unit } from './measures.js';

export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** Unix seconds and the value as it was written. */
  readonly points: readonly (readonly [number, string])[];
}

export interface Answers {
  /** Series of METRICS. */
  readonly gpus: readonly Series[];
  /** `up` of the exporters' targets; empty: not known. */
  readonly up: readonly Series[];
  /** Requests per second and latency in seconds, of pods, workloads or hosts; empty if nobody asked. */
  readonly requests: readonly Series[];
  readonly latency: readonly Series[];
  /** Units that a setting says, by the metric's name. */
  readonly units: Readonly<Record<string, Unit>>;
}

type Labels = Readonly<Record<string, string>>;

const WORKLOAD_LABELS = [
  'exported_workload',
  'workload',
  'label_workload',
  'label_app_kubernetes_io_name',
  'exported_app',
];

const firstOf = (labels: Labels, names: readonly string[]): string | null =>
  names.map((name) => labels[name]).find((value) => value !== undefined && value !== '') ?? null;
const exporterOf = (labels: Labels): string => `${labels['job'] ?? ''}/${labels['instance'] ?? ''}`;

/**
 * Names of exporters: their job and address; and of targets that have both in common, as the same private address in
 * two networks, also the labels of their places by which they differ. A distinction once made stays.
 */
export class ExporterNames {
  private readonly differing = new Map<string, Set<string>>();
  private readonly first = new Map<string, Labels>();

  /** @param up of the targets as they are */
  learn(up: readonly Series[]): void {
    for (const { labels } of up) {
      const name = exporterOf(labels);
      const before = this.first.get(name) ?? labels;
      this.first.set(name, before);
      for (const label of PLACE_LABELS)
        if (before[label] !== labels[label])
          this.differing.set(name, (this.differing.get(name) ?? new Set()).add(label));
    }
  }

  /** Labels that tell some exporters apart. */
  get labels(): readonly string[] {
    return [...new Set([...this.differing.values()].flatMap((labels) => [...labels]))].sort();
  }

  nameOf(labels: Labels): string {
    const name = exporterOf(labels);
    const places = [...(this.differing.get(name) ?? [])].sort().map((label) => `${label}="${labels[label] ?? ''}"`);
    return places.length === 0 ? name : `${name}{${places.join(',')}}`;
  }
}
const hostOf = (labels: Labels): string =>
  firstOf(labels, HOST_LABELS) ?? (labels['instance'] ?? '').replace(/:\d+$/, '');

interface Device {
  readonly key: string;
  readonly resource: string;
  readonly host: string;
  readonly gpu: string;
  readonly migInstance: string | null;
  readonly namespace: string | null;
  readonly pod: string | null;
  readonly exporter: string;
  readonly labels: Labels;
}

/** @param ownPods pods of the exporters themselves, by exporter */
function deviceOf(labels: Labels, ownPods: ReadonlyMap<string, string>, exporters: ExporterNames): Device {
  const exporter = exporters.nameOf(labels);
  const own = labels['pod'] !== undefined && labels['pod'] === ownPods.get(exporter);
  const pod = firstOf(labels, own ? ['exported_pod'] : ['exported_pod', 'pod', 'pod_name']);
  const namespace =
    pod === null
      ? null
      : firstOf(labels, labels['exported_pod'] ? ['exported_namespace', 'namespace'] : ['namespace', 'pod_namespace']);
  const host = hostOf(labels);
  const gpu =
    firstOf(labels, ['UUID', 'uuid', 'gpu_uuid']) ??
    `${host}/${firstOf(labels, ['gpu', 'device', 'index', 'minor_number']) ?? '0'}`;
  const migInstance = firstOf(labels, ['GPU_I_ID', 'mig_id']);
  // A pod is called as its metered usage and its place in the fleet are.
  const resource = pod === null ? host : namespace === null ? pod : `pod/${namespace}/${pod}`;
  return {
    key: JSON.stringify([resource, gpu, migInstance]),
    resource,
    host,
    gpu,
    migInstance,
    namespace,
    pod,
    exporter,
    labels,
  };
}

interface Building {
  readonly device: Device;
  readonly values: Map<Measure, number>;
}

/** Readings at the given instants (epoch milliseconds), each of what was known just then. */
export function readingsOf(
  answers: Answers,
  instants: readonly number[],
  warnings: readonly string[] = [],
  exporters: ExporterNames = new ExporterNames(),
): TelemetryReading[] {
  exporters.learn(answers.up);
  const ownPods = new Map(
    answers.up.flatMap(({ labels }) =>
      labels['pod'] === undefined ? [] : [[exporters.nameOf(labels), labels['pod']]],
    ),
  );
  const at = new Map(instants.map((instant) => [instant, new Map<string, Building>()]));
  const names = new Map<string, string>();
  const open = new Set<string>();
  for (const { labels, points } of answers.gpus) {
    const name = labels['__name__'] ?? '';
    const metric = METRICS.get(name);
    if (metric === undefined) continue;
    const device = deviceOf(labels, ownPods, exporters);
    if (metric.measure === 'name') names.set(device.key, labels['name'] ?? '');
    else
      for (const [seconds, text] of points) {
        const devices = at.get(Math.round(seconds * 1000));
        if (devices === undefined) continue;
        // Also a blank value says that the card is there.
        const building = devices.get(device.key) ?? { device, values: new Map<Measure, number>() };
        devices.set(device.key, building);
        const value = valueOf(metric, text, answers.units[name] ?? null);
        if (typeof value === 'number')
          building.values.set(metric.measure, Math.max(value, building.values.get(metric.measure) ?? value));
        else if (value !== 'blank')
          open.add(
            value === 'impossible'
              ? `${name} has values that are impossible in its unit`
              : `${name} has values of an unknown unit: set it in BURSAR_PROMETHEUS_UNITS`,
          );
      }
  }
  const [requests, latency] = [placesOf(answers.requests), placesOf(answers.latency)];
  return instants.map((instant) => {
    const samples = [...(at.get(instant)?.values() ?? [])].map((one) =>
      sampleOf(one, instant, names, requests, latency),
    );
    const targets = answers.up.flatMap(({ labels, points }) =>
      points
        .filter(([seconds]) => Math.round(seconds * 1000) === instant)
        .map(([, value]) => ({ exporter: exporters.nameOf(labels), isUp: Number(value) === 1 })),
    );
    const up = targets.filter(({ isUp }) => isUp);
    return {
      at: instant,
      samples: inherited(samples),
      coverage: targets.length === 0 ? null : up.length / targets.length,
      problems: [...warnings, ...[...open].sort()],
      ...(targets.length === 0 ? {} : { exportersUp: up.map(({ exporter }) => exporter) }),
    };
  });
}

type Places = (device: Device, at: number) => number | null;

/**
 * Values by the place that their labels name: a pod, otherwise a workload, otherwise a host. A negative or non-finite
 * value is none.
 */
function placesOf(series: readonly Series[]): Places {
  const values = new Map<string, number>();
  for (const { labels, points } of series) {
    const pod = firstOf(labels, ['exported_pod', 'pod']);
    const workload = firstOf(labels, WORKLOAD_LABELS);
    const place =
      pod !== null
        ? `pod ${firstOf(labels, labels['exported_pod'] ? ['exported_namespace', 'namespace'] : ['namespace']) ?? ''}/${pod}`
        : workload !== null
          ? `workload ${workload}`
          : `host ${hostOf(labels)}`;
    for (const [seconds, text] of points) {
      const value = Number(text);
      const key = `${Math.round(seconds * 1000)} ${place}`;
      // If several probes measure one place, the worst counts.
      if (text !== '' && Number.isFinite(value) && value >= 0)
        values.set(key, Math.max(value, values.get(key) ?? value));
    }
  }
  return ({ namespace, pod, host, labels }, at) => {
    const workload = firstOf(labels, WORKLOAD_LABELS);
    const places = [
      ...(pod === null ? [] : [`pod ${namespace ?? ''}/${pod}`]),
      ...(workload === null ? [] : [`workload ${workload}`]),
      `host ${host}`,
    ];
    return places.map((place) => values.get(`${at} ${place}`)).find((value) => value !== undefined) ?? null;
  };
}

function sampleOf(
  { device, values }: Building,
  at: number,
  names: ReadonlyMap<string, string>,
  requests: Places,
  latency: Places,
): GpuSample {
  const { labels, resource, gpu, migInstance, namespace, pod, exporter, key } = device;
  const value = (measure: Measure): number | null => values.get(measure) ?? null;
  const [used, free] = [value('memory-used'), value('memory-free')];
  const total = value('memory-total') ?? (used !== null && free !== null ? used + free : null);
  const workload = firstOf(labels, WORKLOAD_LABELS);
  const profile = firstOf(labels, ['GPU_I_PROFILE', 'mig_profile']);
  const { __name__: _, ...kept } = labels;
  const xid = value('xid');
  return {
    resource,
    gpu,
    migInstance,
    namespace,
    pod,
    at,
    exporter,
    gpuModel: modelOf(labels['modelName'] ?? labels['gpu_model'] ?? names.get(key) ?? ''),
    gpuUtilisationRatio: value('utilisation'),
    memoryUsedMib: used,
    memoryUsedRatio: used !== null && total !== null && total > 0 && used <= total ? used / total : null,
    temperatureCelsius: value('temperature'),
    powerWatts: value('power'),
    pcieReplays: value('pcie-replays'),
    requestsPerSecond: requests(device, at),
    networkLatencySeconds: latency(device, at),
    labels: {
      ...kept,
      ...(workload === null ? {} : { workload }),
      ...(profile === null ? {} : { mig_profile: profile }),
    },
    fault:
      xid !== null && faultOfXid(xid) !== null
        ? faultOfXid(xid)
        : value('remap-failure') === 1
          ? 'row remapping failed'
          : null,
  };
}

/** Values of the whole card (temperature, PCIe, faults) hold for its MIG instances too; its power is not divided. */
function inherited(samples: readonly GpuSample[]): GpuSample[] {
  const cards = new Map(
    samples
      .filter(({ migInstance }) => migInstance === null)
      .map((sample) => [`${sample.exporter ?? ''} ${sample.gpu}`, sample]),
  );
  return samples.map((sample) => {
    const card = sample.migInstance === null ? undefined : cards.get(`${sample.exporter ?? ''} ${sample.gpu}`);
    return card === undefined
      ? sample
      : {
          ...sample,
          gpuModel: sample.gpuModel ?? card.gpuModel,
          temperatureCelsius: sample.temperatureCelsius ?? card.temperatureCelsius,
          pcieReplays: sample.pcieReplays ?? card.pcieReplays,
          fault: sample.fault ?? card.fault ?? null,
        };
  });
}
