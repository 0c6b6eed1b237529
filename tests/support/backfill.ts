/**
 * GPU series exactly as a stock dcgm-exporter exposes them and Prometheus stores them, written as OpenMetrics and turned
 * into blocks by promtool, so that a real Prometheus answers for hours that nobody waits for.
 *
 * Labels: dcgm-exporter's own (gpu, UUID, pci_bus_id, device, modelName, Hostname, DCGM_FI_DRIVER_VERSION; on Kubernetes
 * container, namespace and pod; NVIDIA/dcgm-exporter, "README" and pkg/rendermetrics), and Prometheus' job and instance.
 * Nothing else: no provider, no team.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

export type Labels = Readonly<Record<string, string>>;

/** A machine whose exporter is scraped once a minute. */
export interface MeasuredMachine {
  /** The target that Prometheus scrapes, `10.0.1.23:9400`. */
  readonly instance: string;
  /** What dcgm-exporter writes as Hostname. */
  readonly hostname: string;
  readonly modelName: string;
  readonly gpus: number;
  /** Utilisation in percent of each card at so many minutes before the end. */
  readonly busyPercent: (minutesBefore: number, gpu: number) => number;
  /** More labels of the series, such as exported_pod; by card. */
  readonly labels?: (gpu: number) => Labels;
  /** Of the target itself, such as the exporter's own pod. */
  readonly target?: Labels;
}

const written = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');

/** @param end epoch milliseconds of a whole minute: the newest scrape */
export function dcgmHistory(machines: readonly MeasuredMachine[], end: number, minutes: number): string {
  const values: Readonly<Record<string, (busy: number) => number>> = {
    DCGM_FI_DEV_GPU_UTIL: (busy) => busy,
    DCGM_FI_DEV_FB_USED: (busy) => (busy > 0 ? 30_000 : 4),
    DCGM_FI_DEV_FB_FREE: (busy) => (busy > 0 ? 10_000 : 39_996),
    DCGM_FI_DEV_GPU_TEMP: (busy) => (busy > 0 ? 62 : 31),
    DCGM_FI_DEV_XID_ERRORS: () => 0,
  };
  const lines: string[] = [];
  const ats = Array.from({ length: minutes }, (_, n) => minutes - 1 - n);
  for (const [field, valueOf] of Object.entries(values)) {
    lines.push(`# TYPE ${field} gauge`);
    for (const machine of machines)
      for (let gpu = 0; gpu < machine.gpus; gpu += 1) {
        const labels = written({
          gpu: String(gpu),
          UUID: `GPU-${machine.hostname}-${gpu}`,
          pci_bus_id: `00000000:0${gpu}:00.0`,
          device: `nvidia${gpu}`,
          modelName: machine.modelName,
          Hostname: machine.hostname,
          DCGM_FI_DRIVER_VERSION: '550.90.07',
          ...machine.labels?.(gpu),
          job: 'dcgm-exporter',
          instance: machine.instance,
          ...machine.target,
        });
        for (const before of ats)
          lines.push(`${field}{${labels}} ${valueOf(machine.busyPercent(before, gpu))} ${end / 1000 - before * 60}`);
      }
  }
  lines.push('# TYPE up gauge');
  for (const { instance, target = {} } of machines)
    for (const before of ats)
      lines.push(`up{${written({ job: 'dcgm-exporter', instance, ...target })}} 1 ${end / 1000 - before * 60}`);
  return `${lines.join('\n')}\n# EOF\n`;
}

/** Makes blocks of a history in a data folder of Prometheus. */
export async function backfill(promtool: string, history: string, data: string): Promise<void> {
  const file = path.join(path.dirname(data), 'history.om');
  await writeFile(file, history);
  await promisify(execFile)(promtool, ['tsdb', 'create-blocks-from', 'openmetrics', '-q', file, data]);
}
