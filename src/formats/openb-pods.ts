/**
 * The pod list of Alibaba's openb GPU cluster trace (cluster-trace-gpu-v2023): the GPUs of each pod, from scheduling to
 * deletion.
 *
 * Times are seconds from the trace's start; the time of that start is not published, so an origin is assigned. A pod
 * that was never scheduled, or requested no GPU, has used none and makes no record. The list names no node and no
 * model; this file does not place pods on nodes.
 */
import { invalid, type Problem } from '../core/errors.js';
import type { Input, ReadOptions, UsageFormat } from '../core/ports.js';
import { GPU_PARTS, MOST_GPU_PARTS, type RecordBatch, type UsageRecord } from '../core/usage.js';
import { quotedText } from './reading/bill.js';
import { openBytes } from './reading/input.js';
import { hasColumns, readCsvTable, type Cells, type Header, type RowReader } from './reading/table.js';

export interface Pod {
  readonly name: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  /** Whole GPUs that the pod asks for, or 1 where it shares one. */
  readonly gpus: number;
  /** Thousandths of each of these GPUs: 1000, less where one GPU is shared, 0 where there is none. */
  readonly gpuMilli: number;
  /** Models that the pod accepts, as the trace names them; empty: any. */
  readonly gpuSpecs: readonly string[];
  readonly qos: string;
  readonly phase: string;
  /** Seconds from the trace's start; null: never. */
  readonly createdSeconds: number;
  readonly scheduledSeconds: number | null;
  readonly deletedSeconds: number | null;
}

export interface PodReadOptions extends ReadOptions {
  /** Epoch milliseconds of the trace's second 0. */
  readonly originInstant?: number;
}

/** Assigned, not measured: the trace's second 0 where the caller names no other. */
export const ASSIGNED_ORIGIN = Date.UTC(2026, 0, 1);

export const format: UsageFormat & { read(input: Input, options?: PodReadOptions): AsyncIterable<RecordBatch> } = {
  kind: 'usage',
  name: 'openb-pods',
  description: "Pod list of Alibaba's openb GPU cluster trace, metered from scheduling to deletion",
  recognises: (input) =>
    hasColumns(input, 'name', 'num_gpu', 'gpu_milli', 'creation_time', 'deletion_time', 'scheduled_time'),
  read,
};

async function* read(input: Input, options?: PodReadOptions): AsyncGenerator<RecordBatch> {
  const origin = options?.originInstant ?? ASSIGNED_ORIGIN;
  for await (const { items, rejects } of readCsvTable(input, preparePods)) {
    yield { records: items.map((pod) => recordOfPod(pod, origin)).filter((record) => record !== null), rejects };
  }
}

/** All pods of a list. Fails with every row that cannot be read. */
export async function readPods(text: string): Promise<Pod[]> {
  const input = await openBytes('pods.csv', Buffer.from(text));
  const pods: Pod[] = [];
  const problems: Problem[] = [];
  for await (const { items, rejects } of readCsvTable(input, preparePods)) {
    pods.push(...items);
    problems.push(...rejects.map(({ line, reason }) => ({ path: `line ${line}`, message: reason })));
  }
  if (problems.length > 0) throw invalid('the pod list has rows that cannot be read', problems);
  return pods;
}

/** What a pod used, or null if it used no GPU or still runs at the trace's end. */
export function recordOfPod(pod: Pod, originInstant: number): UsageRecord | null {
  const { scheduledSeconds, deletedSeconds } = pod;
  if (scheduledSeconds === null || deletedSeconds === null || pod.gpus * pod.gpuMilli === 0) return null;
  return {
    id: pod.name,
    provider: 'Alibaba Cloud',
    account: null,
    subAccount: null,
    resource: pod.name,
    namespace: null,
    service: null,
    sku: null,
    region: null,
    term: null,
    gpuModel: null,
    tags: { qos: pod.qos },
    start: originInstant + scheduledSeconds * 1000,
    end: originInstant + deletedSeconds * 1000,
    gpuParts: pod.gpus * pod.gpuMilli * (GPU_PARTS / 1000),
    storageMib: null,
    networkBytes: null,
    charge: null,
  };
}

function preparePods(header: Header): RowReader<Pod> {
  const columns = {
    name: header.required('name'),
    cpu: header.required('cpu_milli'),
    memory: header.required('memory_mib'),
    gpus: header.required('num_gpu'),
    milli: header.required('gpu_milli'),
    specs: header.optional('gpu_spec'),
    qos: header.required('qos'),
    phase: header.required('pod_phase'),
    created: header.required('creation_time'),
    deleted: header.required('deletion_time'),
    scheduled: header.required('scheduled_time'),
  };
  return (cells, out, problems) => {
    const row = new PodRow(cells, problems);
    const name = cells.text(columns.name);
    if (name === '') row.problem('name', 'the value is missing');
    const pod: Pod = {
      name,
      cpuMilli: row.whole(columns.cpu, 'cpu_milli') ?? 0,
      memoryMib: row.whole(columns.memory, 'memory_mib') ?? 0,
      gpus: row.whole(columns.gpus, 'num_gpu') ?? 0,
      gpuMilli: row.whole(columns.milli, 'gpu_milli') ?? 0,
      gpuSpecs: cells
        .repeated(columns.specs)
        .split('|')
        .filter((spec) => spec !== ''),
      qos: cells.repeated(columns.qos),
      phase: cells.repeated(columns.phase),
      createdSeconds: row.whole(columns.created, 'creation_time') ?? 0,
      scheduledSeconds: row.whole(columns.scheduled, 'scheduled_time', true),
      deletedSeconds: row.whole(columns.deleted, 'deletion_time', true),
    };
    if (pod.gpuMilli > 1000) row.problem('gpu_milli', 'a GPU has 1000 thousandths');
    if (pod.gpus * GPU_PARTS > MOST_GPU_PARTS) row.problem('num_gpu', 'is more than 100000');
    if (pod.scheduledSeconds !== null && pod.deletedSeconds !== null && pod.deletedSeconds < pod.scheduledSeconds) {
      row.problem('deletion_time', 'the pod is deleted before it is scheduled');
    }
    out.push(pod);
  };
}

class PodRow {
  constructor(
    private readonly cells: Cells,
    private readonly problems: Problem[],
  ) {}

  problem(path: string, message: string): void {
    this.problems.push({ path, message });
  }

  /** A whole number of at least 0; null if the field is empty and may be. */
  whole(column: number, name: string, mayBeEmpty = false): number | null {
    const text = this.cells.text(column);
    if (text === '' && mayBeEmpty) return null;
    const number = /^\d{1,12}(?:\.0*)?$/.test(text) ? Number(text) : null;
    if (number === null)
      this.problem(name, text === '' ? 'the value is missing' : `${quotedText(text)} is not a whole number`);
    return number;
  }
}
