/**
 * `nvidia-smi --query-gpu=... --format=csv[,nounits]`, once or in a loop: any list of fields with a header.
 *
 * Its timestamps are the machine's local time without a zone; the caller passes the zone. A line with another number of
 * fields than the header is a problem, not a guess.
 */
import { offsetAt, parseInstant } from '../../core/time.js';
import { wordOf, type SmiRead, type SmiRow } from './smi-cells.js';

/** `utilization.gpu [%]` is the field `utilization.gpu`. */
const fieldOf = (column: string): string => column.replace(/\s*\[[^\]]*\]$/, '').trim();

export const isCsv = (text: string): boolean =>
  /^\s*[\w.]+(?: \[[^\]]+\])?(?:, ?[\w.]+(?: \[[^\]]+\])?)+\s*$/.test(
    text.slice(0, text.indexOf('\n') === -1 ? undefined : text.indexOf('\n')),
  );

/** `2026/11/20 18:11:53.661` on the clocks of a zone. */
export function localInstant(text: string, zone: string): number | null {
  const local = parseInstant(text.trim().replace(/^(\d{4})\/(\d\d)\/(\d\d)/, '$1-$2-$3'));
  return local === null ? null : local - offsetAt(zone, local - offsetAt(zone, local));
}

export function readCsv(text: string, zone: string): SmiRead {
  const [head = '', ...lines] = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  const fields = head.split(',').map(fieldOf);
  const problems: string[] = [];
  const rows: SmiRow[] = [];
  let uneven = 0;
  for (const line of lines) {
    if (line.trim() === head.trim()) continue;
    const cells = line.split(',').map((cell) => cell.trim());
    if (cells.length !== fields.length) uneven += 1;
    else
      rows.push(
        rowOf(
          (...names) => names.map((name) => cells[fields.indexOf(name)]).find((cell) => cell !== undefined) ?? null,
          zone,
        ),
      );
  }
  if (uneven > 0) problems.push(`${uneven} line(s) have another number of cells than the header`);
  if (!fields.includes('uuid') && !fields.includes('index') && !fields.includes('pci.bus_id'))
    problems.push('neither uuid nor index nor pci.bus_id was queried: cards cannot be told apart');
  return { rows, problems };
}

function rowOf(cell: (...names: string[]) => string | null, zone: string): SmiRow {
  const timestamp = cell('timestamp');
  return {
    at: timestamp === null ? null : localInstant(timestamp, zone),
    host: wordOf(cell('hostname')),
    uuid: wordOf(cell('uuid', 'gpu_uuid')),
    index: wordOf(cell('index', 'pci.bus_id', 'gpu_bus_id')),
    migInstance: null,
    name: wordOf(cell('name', 'gpu_name')),
    utilisation: cell('utilization.gpu'),
    memoryUsed: cell('memory.used'),
    memoryTotal: cell('memory.total'),
    temperature: cell('temperature.gpu'),
    power: cell('power.draw', 'power.draw.average', 'power.draw.instant'),
    pcieReplays: null,
    recoveryAction: wordOf(cell('gpu_recovery_action')),
  };
}
