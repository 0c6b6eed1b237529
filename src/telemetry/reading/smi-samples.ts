/**
 * From readings of cards to samples: one per card (or MIG instance) and minute. Utilisation and power are the mean of
 * the minute's readings, temperature and faults the worst, counts and memory the last. A reading without a value adds
 * nothing to a mean.
 */
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { GpuSample } from '../../core/ports.js';
import { MINUTE_MS } from '../../core/time.js';
import { cellOf, type SmiRow } from './smi-cells.js';

type Column = 'utilisation' | 'memoryUsed' | 'memoryTotal' | 'temperature' | 'power' | 'pcieReplays';

/** @param host the name of what reported them, where the rows do not say it; `when` likewise */
export function samplesOf(rows: readonly SmiRow[], host: string, when: number): GpuSample[] {
  const groups = new Map<string, { readonly at: number; readonly row: SmiRow }[]>();
  for (const row of rows) {
    const at = row.at ?? when;
    const key = JSON.stringify([Math.floor(at / MINUTE_MS), row.host ?? host, row.uuid ?? row.index, row.migInstance]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [{ at, row }]);
    else group.push({ at, row });
  }
  return [...groups.values()].map((queries) =>
    sampleOf(
      queries.sort((a, b) => a.at - b.at),
      host,
    ),
  );
}

function sampleOf(queries: readonly { readonly at: number; readonly row: SmiRow }[], file: string): GpuSample {
  const last = queries.at(-1);
  if (last === undefined) throw new Error('broken invariant: a group has an answer');
  const { row, at } = last;
  const host = row.host ?? file;
  const numbers = (column: Column): number[] => queries.flatMap((query) => cellOf(query.row[column]).value ?? []);
  const mean = (column: Column): number | null => {
    const values = numbers(column);
    return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  const [utilisation, used, total] = [
    mean('utilisation'),
    numbers('memoryUsed').at(-1) ?? null,
    numbers('memoryTotal').at(-1) ?? null,
  ];
  const temperatures = numbers('temperature');
  return {
    resource: host,
    gpu: row.uuid ?? `${host}/${row.index ?? '0'}`,
    migInstance: row.migInstance,
    gpuModel: row.name === null ? null : modelOf(row.name),
    namespace: null,
    pod: null,
    at,
    exporter: host,
    gpuUtilisationRatio: utilisation === null ? null : utilisation / 100,
    memoryUsedMib: used,
    memoryUsedRatio: used !== null && total !== null && total > 0 && used <= total ? used / total : null,
    temperatureCelsius: temperatures.length === 0 ? null : Math.max(...temperatures),
    powerWatts: mean('power'),
    pcieReplays: numbers('pcieReplays').at(-1) ?? null,
    requestsPerSecond: null,
    networkLatencySeconds: null,
    labels: {},
    fault: faultOf(row),
  };
}

const NO_ACTION = /^(?:none|no)$/i;

/** Only the newest reading counts: a fault that was repaired since is no fault any more. */
function faultOf(row: SmiRow): string | null {
  if (row.recoveryAction !== null && !NO_ACTION.test(row.recoveryAction) && cellOf(row.recoveryAction).fault === null)
    return `recovery action ${row.recoveryAction}`;
  return (
    [row.utilisation, row.temperature, row.memoryUsed, row.power, row.recoveryAction]
      .map((cell) => cellOf(cell).fault)
      .find((fault) => fault !== null) ?? null
  );
}
