/**
 * The workload facts that a fleet's target states about itself, for policies; and the end of a commitment.
 *
 * Owners state them by labels (`bursar.io/...`); a fact without a label is null. Nothing is guessed from a name.
 */
import { isMember } from '../fleet/membership.js';
import type { FleetReading, FleetTarget } from '../fleet/fleet.js';
import type { JobWork } from '../workload/job-work.js';
import type { DemandSeries, FleetFacts, JobFacts, WorkloadView } from './view.js';
import { termHours } from '../price/term.js';
import { HOUR_MS, parseInstant } from '../time.js';

/**
 * Labels by which an owner describes a workload. A job's hours refer to its present GPUs; its times are ISO 8601, also
 * in the basic form without a colon: `20261122T060000Z`. Every cloud can store that form: Kubernetes' label values are
 * of letters, digits, `-`, `_` and `.` alone (Kubernetes documentation, "Labels and Selectors", syntax and character
 * set); AWS' and Tencent Cloud's tags have colons too (Amazon EC2 User Guide, "Tag restrictions"; Tencent Cloud Tag,
 * "Use Limits"), and Alibaba Cloud's all but some beginnings (ECS API Reference, "TagResources").
 */
export const WORKLOAD_LABELS = {
  kind: 'bursar.io/workload-kind',
  /** On a stopped instance: the workload (its target or name) that it stands by for. */
  spareFor: 'bursar.io/spare-for',
  interruptible: 'bursar.io/interruptible',
  protected: 'bursar.io/protected',
  minReplicas: 'bursar.io/min-replicas',
  maxReplicas: 'bursar.io/max-replicas',
  /** The service whose replicas a group holds, with the other groups of that name. */
  service: 'bursar.io/service',
  loadMetric: 'bursar.io/load-metric',
  bootMinutes: 'bursar.io/boot-minutes',
  capacityPerReplica: 'bursar.io/capacity-per-replica',
  jobDeadline: 'bursar.io/job-deadline',
  /** Absent: it waits for its start; or, if it runs, its start is unknown. */
  jobStartedAt: 'bursar.io/job-started-at',
  /** Hours of its whole work. */
  jobWorkHours: 'bursar.io/job-work-hours',
  /** As its owner or the job itself last said, and when; without the instant it stands until it is said again. */
  jobWorkLeftHours: 'bursar.io/job-work-left-hours',
  jobWorkLeftAt: 'bursar.io/job-work-left-at',
  /** Lost at each start. */
  jobRestartHours: 'bursar.io/job-restart-hours',
  jobResizable: 'bursar.io/job-resizable',
  /** What a move to another region sends, in GB (10^9 bytes): its checkpoint, and the data that it reads. */
  jobCheckpointGb: 'bursar.io/job-checkpoint-gb',
  jobDataGb: 'bursar.io/job-data-gb',
  /**
   * The model that it runs, under the name in throughput measurements; a missing value of the other labels is the last
   * measured one.
   */
  model: 'bursar.io/model',
  batch: 'bursar.io/batch',
  precision: 'bursar.io/precision',
  optimizer: 'bursar.io/optimizer',
  /** Image edge in pixels, or sequence length in tokens. */
  inputSize: 'bursar.io/input-size',
} as const;

export type TargetWorkload = Omit<WorkloadView, 'metrics' | 'service'> & {
  readonly service: {
    readonly bootMinutes: number;
    readonly capacityPerReplica: number | null;
    readonly loadMetric: string;
  } | null;
  /** From what the job's work left is to be counted; absent: `job` says all that is known. */
  readonly work?: JobWork;
};

/**
 * The workload of a target; null: it is none (a commitment, a pool, a member of a group, an instance without a stated
 * use).
 * @param workload the name that it has among workloads
 * @param changedAt when its number of replicas last changed, epoch milliseconds; null: unknown
 */
export function workloadOf(target: FleetTarget, workload: string, changedAt: number | null): TargetWorkload | null {
  const { labels } = target;
  const fleet = fleetOf(target, changedAt);
  // A member of a group is not a workload: the group is.
  if (
    target.kind !== 'group' &&
    target.kind !== 'workload' &&
    (target.kind !== 'instance' || isMember(target) || labels[WORKLOAD_LABELS.kind] === undefined)
  )
    return null;
  return {
    workload,
    kind: labels[WORKLOAD_LABELS.kind] ?? null,
    provider: target.provider,
    region: target.region,
    sku: target.sku,
    gpuModel: target.gpuModel,
    term: target.term,
    gpusPerReplica: target.gpus,
    interruptible: truth(labels[WORKLOAD_LABELS.interruptible]),
    isProtected: truth(labels[WORKLOAD_LABELS.protected]),
    fleet,
    service: serviceOf(target),
    ...jobOf(target, fleet),
    ...(target.kind === 'instance' && target.spotRatio === null && target.movesTo === undefined
      ? { spotIsFixed: true as const }
      : {}),
    ...followerOf(target),
    ...(labels[WORKLOAD_LABELS.service] === undefined ? {} : { partOf: labels[WORKLOAD_LABELS.service] }),
    ...(target.zone === undefined ? {} : { zone: target.zone }),
    performance: [],
    ...runsOf(labels),
  };
}

/** How many replicas of each service's group are ready, for the record of what was served; unknown is left out. */
export const readyReplicas = ({ targets }: Pick<FleetReading, 'targets'>): { workload: string; value: number }[] =>
  targets.flatMap(({ target, labels, replicas }) =>
    labels[WORKLOAD_LABELS.service] === undefined || replicas === null || replicas.ready === null
      ? []
      : [{ workload: target, value: replicas.ready }],
  );

function followerOf({ followedBy, group }: FleetTarget): Pick<WorkloadView, 'followedBy'> {
  const own = group?.policies?.find(({ follows }) => follows)?.name;
  const name = followedBy ?? (own === undefined ? undefined : `the group's own policy ${own}`);
  return name === undefined ? {} : { followedBy: name };
}

function fleetOf({ kind, state, replicas, labels }: FleetTarget, changedAt: number | null): FleetFacts | null {
  if (kind === 'instance') {
    return state === 'unknown'
      ? null
      : {
          ready: state === 'running' ? 1 : 0,
          booting: state === 'starting' ? 1 : 0,
          minReplicas: 0,
          maxReplicas: 1,
          changedAt,
        };
  }
  if (replicas === null || replicas.ready === null) return null;
  const minReplicas = whole(labels[WORKLOAD_LABELS.minReplicas]) ?? replicas.min;
  const maxReplicas = whole(labels[WORKLOAD_LABELS.maxReplicas]) ?? replicas.max;
  if (minReplicas === null || maxReplicas === null) return null;
  return {
    // What was told to go serves until it goes, and is counted on no more.
    ready: Math.min(replicas.ready, replicas.desired),
    booting: Math.max(0, replicas.desired - replicas.ready),
    minReplicas,
    maxReplicas,
    changedAt,
  };
}

function serviceOf({ labels }: FleetTarget): TargetWorkload['service'] {
  const loadMetric = labels[WORKLOAD_LABELS.loadMetric];
  const bootMinutes = positive(labels[WORKLOAD_LABELS.bootMinutes]);
  return loadMetric === undefined || bootMinutes === null
    ? null
    : { loadMetric, bootMinutes, capacityPerReplica: positive(labels[WORKLOAD_LABELS.capacityPerReplica]) };
}

function runsOf(labels: FleetTarget['labels']): Pick<TargetWorkload, 'runs'> {
  const text = (label: string): string | null => (labels[label]?.trim() ?? '') || null;
  const model = text(WORKLOAD_LABELS.model);
  if (model === null) return {};
  const [batch, size] = [positive(labels[WORKLOAD_LABELS.batch]), positive(labels[WORKLOAD_LABELS.inputSize])];
  // Said, and not readable: then it is not known which run it is.
  if (
    (batch === null && text(WORKLOAD_LABELS.batch) !== null) ||
    (size === null && text(WORKLOAD_LABELS.inputSize) !== null)
  )
    return {};
  return {
    runs: {
      model,
      batch,
      size,
      precision: text(WORKLOAD_LABELS.precision),
      optimizer: text(WORKLOAD_LABELS.optimizer),
    },
  };
}

const JOB_LABELS = [
  WORKLOAD_LABELS.jobDeadline,
  WORKLOAD_LABELS.jobStartedAt,
  WORKLOAD_LABELS.jobWorkHours,
  WORKLOAD_LABELS.jobWorkLeftHours,
  WORKLOAD_LABELS.jobWorkLeftAt,
  WORKLOAD_LABELS.jobRestartHours,
  WORKLOAD_LABELS.jobResizable,
  WORKLOAD_LABELS.jobCheckpointGb,
  WORKLOAD_LABELS.jobDataGb,
];

/**
 * The job that the labels describe. Its remaining work is the stated value if no time is stated with it; the whole work
 * if the job has not begun; otherwise it must be computed (job-work.ts).
 */
function jobOf(
  { target, provider, labels }: FleetTarget,
  fleet: FleetFacts | null,
): Pick<TargetWorkload, 'job' | 'work'> {
  const isSaid = (label: string): boolean => labels[label] !== undefined;
  if (!JOB_LABELS.some(isSaid)) return { job: null };
  const [startedAt, leftAt] = [
    instant(labels[WORKLOAD_LABELS.jobStartedAt]),
    instant(labels[WORKLOAD_LABELS.jobWorkLeftAt]),
  ];
  const [workHours, leftHours] = [
    positive(labels[WORKLOAD_LABELS.jobWorkHours]),
    decimalOf(labels[WORKLOAD_LABELS.jobWorkLeftHours]),
  ];
  const job: JobFacts = {
    startedAt,
    deadline: instant(labels[WORKLOAD_LABELS.jobDeadline]),
    workHours,
    workLeftHours: null,
    restartHours: decimalOf(labels[WORKLOAD_LABELS.jobRestartHours]),
    resizable: truth(labels[WORKLOAD_LABELS.jobResizable]),
    ...(isSaid(WORKLOAD_LABELS.jobCheckpointGb)
      ? { checkpointGb: decimalOf(labels[WORKLOAD_LABELS.jobCheckpointGb]) }
      : {}),
    ...(isSaid(WORKLOAD_LABELS.jobDataGb) ? { dataGb: decimalOf(labels[WORKLOAD_LABELS.jobDataGb]) } : {}),
  };
  if (isSaid(WORKLOAD_LABELS.jobWorkLeftHours)) {
    if (leftHours === null || leftAt === null) return { job: { ...job, workLeftHours: leftHours } };
    return { job, work: { target, provider, hours: leftHours, since: leftAt, isWhole: false } };
  }
  if (workHours === null) return { job };
  if (startedAt !== null) return { job, work: { target, provider, hours: workHours, since: startedAt, isWhole: true } };
  const waits = !isSaid(WORKLOAD_LABELS.jobStartedAt) && fleet?.ready === 0;
  return { job: { ...job, workLeftHours: waits ? workHours : null } };
}

const truth = (text: string | undefined): boolean | null => (text === 'true' ? true : text === 'false' ? false : null);

const whole = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : null;

function positive(text: string | undefined): number | null {
  const value = text === undefined || text.trim() === '' ? Number.NaN : Number(text);
  return Number.isFinite(value) && value > 0 ? value : null;
}

const decimalOf = (text: string | undefined): number | null =>
  text !== undefined && /^\d{1,6}(?:\.\d{1,9})?$/.test(text) ? Number(text) : null;

const BASIC_INSTANT = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?(Z|[+-]\d\d(?:\d\d)?)?$/;

/** Never a bare number: `24` would be a second of 1970. */
function instant(text: string | undefined): number | null {
  if (text === undefined) return null;
  const [basic, year, month, day, hour, minute, second = '00', zone = 'Z'] = BASIC_INSTANT.exec(text) ?? [];
  if (basic !== undefined) return parseInstant(`${year}-${month}-${day}T${hour}:${minute}:${second}${zone}`);
  return /^\d{4}-/.test(text) ? parseInstant(text) : null;
}

interface Form {
  readonly labels: readonly string[];
  readonly read: (text: string | undefined) => number | boolean | null;
  readonly is: string;
}

const FORMS: readonly Form[] = [
  {
    labels: [WORKLOAD_LABELS.interruptible, WORKLOAD_LABELS.protected, WORKLOAD_LABELS.jobResizable],
    read: truth,
    is: 'neither true nor false',
  },
  { labels: [WORKLOAD_LABELS.minReplicas, WORKLOAD_LABELS.maxReplicas], read: whole, is: 'no whole number' },
  {
    labels: [
      WORKLOAD_LABELS.bootMinutes,
      WORKLOAD_LABELS.capacityPerReplica,
      WORKLOAD_LABELS.jobWorkHours,
      WORKLOAD_LABELS.batch,
      WORKLOAD_LABELS.inputSize,
    ],
    read: positive,
    is: 'no number above 0',
  },
  {
    labels: [WORKLOAD_LABELS.jobWorkLeftHours, WORKLOAD_LABELS.jobRestartHours],
    read: decimalOf,
    is: 'no number of hours',
  },
  { labels: [WORKLOAD_LABELS.jobCheckpointGb, WORKLOAD_LABELS.jobDataGb], read: decimalOf, is: 'no number of GB' },
  {
    labels: [WORKLOAD_LABELS.jobDeadline, WORKLOAD_LABELS.jobStartedAt, WORKLOAD_LABELS.jobWorkLeftAt],
    read: instant,
    is: 'no instant such as 20261122T060000Z',
  },
];
const MOST_UNREADABLE = 20;

/**
 * The invalid labels of workloads, as sentences without the labels' values; the first ones, and the number of the
 * others.
 */
export function unreadableLabels(targets: readonly FleetTarget[]): string[] {
  const all = targets
    .filter((target) => workloadOf(target, target.target, null) !== null)
    .flatMap(({ target, labels: given }) =>
      FORMS.flatMap(({ labels, read, is }) =>
        labels
          .filter((label) => given[label] !== undefined && read(given[label]) === null)
          .map((label) => `${target}: the label ${label} is ${is}`),
      ),
    );
  return all.length <= MOST_UNREADABLE
    ? all
    : [...all.slice(0, MOST_UNREADABLE), `and ${all.length - MOST_UNREADABLE} more labels`];
}

/** Instances that stand by, stopped, by the workload that they name; in the order of their names. */
export function sparesOf(targets: readonly FleetTarget[]): Map<string, string[]> {
  const spares = new Map<string, string[]>();
  for (const { target, labels, state, kind } of [...targets].sort((a, b) => (a.target < b.target ? -1 : 1))) {
    const workload = labels[WORKLOAD_LABELS.spareFor];
    if (kind === 'instance' && state === 'stopped' && workload !== undefined)
      spares.set(workload, [...(spares.get(workload) ?? []), target]);
  }
  return spares;
}

/** The Kubernetes namespace in a target's name (`deployment/ml/trainer`); null: it has none. */
export function namespaceOf({ kind, target }: Pick<FleetTarget, 'kind' | 'target'>): string | null {
  const parts = target.split('/');
  return kind === 'workload' && parts.length === 3 ? (parts[1] ?? null) : null;
}

/**
 * A series whose commitments end with the fleet's own commitments of the same machines, the longest first; usage
 * metered beyond them keeps its assumed end. @param fleet commitments in their last known state, each with its units
 * and the GPUs of one
 */
export function withKnownEnds(series: DemandSeries, fleet: readonly FleetTarget[], now: number): DemandSeries {
  if (series.committed === undefined) return series;
  const known = fleet
    .flatMap((target) => {
      const hoursLeft = hoursLeftOf(target, now);
      const isSame =
        target.provider === series.provider &&
        target.account === series.account &&
        target.sku === series.sku &&
        target.region === series.region;
      return isSame && hoursLeft !== null && target.replicas !== null && target.gpus !== null
        ? [{ gpus: target.replicas.desired * target.gpus, hoursLeft }]
        : [];
    })
    .sort((a, b) => b.hoursLeft - a.hoursLeft);
  const committed = series.committed.flatMap(({ units, hoursLeft }) => {
    const parts: { units: number; hoursLeft: number }[] = [];
    let left = units;
    for (const one of known) {
      const taken = Math.min(left, one.gpus);
      if (taken <= 0) continue;
      parts.push({ units: taken, hoursLeft: one.hoursLeft });
      one.gpus -= taken;
      left -= taken;
    }
    return left > 0 ? [...parts, { units: left, hoursLeft }] : parts;
  });
  return { ...series, committed };
}

/** Whole hours that a commitment still holds; null: it is not a commitment, or its start or term is unknown. */
export function hoursLeftOf({ kind, term, launchedAt }: FleetTarget, now: number): number | null {
  const hours = kind !== 'commitment' || term === null ? null : termHours(term);
  return hours === null || launchedAt === null
    ? null
    : Math.max(0, Math.ceil((launchedAt + hours * HOUR_MS - now) / HOUR_MS));
}
