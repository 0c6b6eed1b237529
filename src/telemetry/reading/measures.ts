/**
 * The meaning and the unit of each exporter's metrics, and the values that count as missing.
 *
 * A value that is blank, not finite or impossible is missing, never zero. A metric whose name does not state its unit
 * is read only if its value fits one unit; otherwise it is missing, unless a setting states the unit: 0.9 taken for a
 * percentage would make a busy card look idle.
 */
export type Measure =
  | 'utilisation'
  | 'memory-used'
  | 'memory-free'
  | 'memory-total'
  | 'temperature'
  | 'power'
  | 'pcie-replays'
  | 'xid'
  | 'remap-failure'
  | 'name';
export const UNITS = ['ratio', 'percent', 'mib', 'bytes', 'celsius', 'watts', 'count'] as const;
export type Unit = (typeof UNITS)[number];

export interface Metric {
  readonly measure: Measure;
  /** Null: the name does not say it. */
  readonly unit: Unit | null;
}

const all = (measure: Measure, unit: Unit | null, ...names: string[]): [string, Metric][] =>
  names.map((name) => [name, { measure, unit }]);

/**
 * dcgm-exporter 2 and later (DCGM field names, units as in its etc/default-counters.csv and
 * etc/dcp-metrics-included.csv) and 1.x (`dcgm_...`), nvidia_gpu_exporter (`nvidia_smi_...`, units in the names),
 * Triton ("Metrics": `nv_gpu_...`), and the names without a maker.
 */
export const METRICS: ReadonlyMap<string, Metric> = new Map([
  ...all('utilisation', 'percent', 'DCGM_FI_DEV_GPU_UTIL', 'dcgm_gpu_utilization'),
  ...all(
    'utilisation',
    'ratio',
    'DCGM_FI_PROF_GR_ENGINE_ACTIVE',
    'nvidia_smi_utilization_gpu_ratio',
    'nv_gpu_utilization',
  ),
  ...all('utilisation', null, 'gpu_utilization', 'gpu_utilisation'),
  ...all('memory-used', 'mib', 'DCGM_FI_DEV_FB_USED', 'dcgm_fb_used'),
  ...all('memory-used', 'bytes', 'nvidia_smi_memory_used_bytes', 'nv_gpu_memory_used_bytes'),
  ...all('memory-used', null, 'fb_memory_used', 'gpu_memory_used'),
  ...all('memory-free', 'mib', 'DCGM_FI_DEV_FB_FREE', 'dcgm_fb_free'),
  ...all('memory-free', 'bytes', 'nvidia_smi_memory_free_bytes'),
  ...all('memory-free', null, 'fb_memory_free', 'gpu_memory_free'),
  ...all('memory-total', 'mib', 'DCGM_FI_DEV_FB_TOTAL'),
  ...all('memory-total', 'bytes', 'nvidia_smi_memory_total_bytes', 'nv_gpu_memory_total_bytes'),
  ...all('memory-total', null, 'fb_memory_total', 'gpu_memory_total'),
  ...all(
    'temperature',
    'celsius',
    'DCGM_FI_DEV_GPU_TEMP',
    'dcgm_gpu_temp',
    'nvidia_smi_temperature_gpu',
    'gpu_temperature',
    'gpu_temp',
  ),
  ...all(
    'power',
    'watts',
    'DCGM_FI_DEV_POWER_USAGE',
    'dcgm_power_usage',
    'nvidia_smi_power_draw_watts',
    'nv_gpu_power_usage',
    'gpu_power_usage',
  ),
  ...all(
    'pcie-replays',
    'count',
    'DCGM_FI_DEV_PCIE_REPLAY_COUNTER',
    'dcgm_pcie_replay_counter',
    'pcie_replay_count',
    'pcie_replay_counter',
  ),
  ...all('xid', 'count', 'DCGM_FI_DEV_XID_ERRORS', 'dcgm_xid_errors'),
  ...all('remap-failure', 'count', 'DCGM_FI_DEV_ROW_REMAP_FAILURE', 'nvidia_smi_remapped_rows_failure'),
  ...all('name', 'count', 'nvidia_smi_gpu_info'),
]);

/**
 * DCGM's blanks (dcgm_structs.h): from 0x7ffffff0 for 32-bit integers (_BLANK, _NOT_FOUND, _NOT_SUPPORTED,
 * _NOT_PERMISSIONED), from 2^47 for doubles, from 0x7ffffffffffffff0 for 64-bit integers (9223372036854775794 is
 * _NOT_SUPPORTED). No measure read here comes near 2^47.
 */
const INT32_BLANK = 0x7ffffff0;
const FP64_BLANK = 2 ** 47;

export const isBlank = (value: number): boolean =>
  value >= FP64_BLANK || (value >= INT32_BLANK && value <= INT32_BLANK + 15);

/**
 * No GPU holds a TiB: what is more is no count of MiB. What is less than 16 MiB is no memory in bytes that a driver
 * reports.
 */
const MOST_MIB = 2 ** 20;
const LEAST_BYTES = 2 ** 24;
/** Engines' ratios are sampled counters and overshoot by rounding. */
const RATIO_SLACK = 0.01;

/**
 * The value in the measure's own unit (ratio, MiB, Celsius, watts, count), or why there is none. `blank` is ordinary;
 * the others are problems.
 */
export function valueOf(
  { measure, unit }: Metric,
  text: string,
  said: Unit | null = null,
): number | 'blank' | 'impossible' | 'unit-unknown' {
  const value = /^[+-]?(?:\d|\.\d)/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isFinite(value) || isBlank(value)) return 'blank';
  const read = inOwnUnit(measure, said ?? unit, value);
  if (read === null) return 'unit-unknown';
  return isPossible(measure, read) ? (measure === 'utilisation' ? Math.min(1, read) : read) : 'impossible';
}

function inOwnUnit(measure: Measure, unit: Unit | null, value: number): number | null {
  if (unit === 'percent') return value / 100;
  if (unit === 'bytes') return value / 2 ** 20;
  if (unit !== null || value === 0) return value;
  if (measure === 'utilisation') return value > 1 + RATIO_SLACK ? value / 100 : null;
  return value <= MOST_MIB ? value : value >= LEAST_BYTES ? value / 2 ** 20 : null;
}

function isPossible(measure: Measure, value: number): boolean {
  if (measure === 'temperature') return value > -60 && value < 200;
  if (measure === 'utilisation') return value >= 0 && value <= 1 + RATIO_SLACK;
  if (measure.startsWith('memory')) return value >= 0 && value <= MOST_MIB;
  return value >= 0;
}

/**
 * XIDs after which a card does no more work until it is reset or replaced: 48 (double-bit ECC), 64 (a row or page could
 * not be retired), 79 (off the bus), 95 (uncontained memory error). NVIDIA, "XID Errors"
 * (docs.nvidia.com/deploy/xid-errors) and "Dynamic Page Retirement", Visibility. The many that an application causes
 * are not here.
 */
const ENDING_XIDS: ReadonlySet<number> = new Set([48, 64, 79, 95]);

export const faultOfXid = (xid: number): string | null => (ENDING_XIDS.has(xid) ? `XID ${xid}` : null);
