/**
 * idle-stop: stop a resource whose GPUs do nothing, when its quiet has lasted long enough to pay for the restart.
 *
 * Utilisation alone never makes a resource idle: a service that answers requests works at 0.5 %, and missing, blank or
 * stale evidence is unknown; what a missing reading was is tried both ways. When to stop is the planner's word
 * (planning/idle). The saving is what the same rule would have saved over the readings that the view holds, not a share
 * that somebody assumed.
 */
import { z } from 'zod';
import {
  READINGS_DAYS,
  type LeftAlone,
  type Look,
  type MachineView,
  type Policy,
  type PolicyView,
  type Proposal,
  type Reading,
  type ResourceView,
  type SavingsEstimate,
} from '../core/policy/policy.js';
import { DAY_MS, formatInstant, HOUR_MS, MINUTE_MS } from '../core/time.js';
import { IDLE_DEFAULTS, IdlePlanner, type IdleDecision } from '../planning/idle/planner.js';
import { activityOf, type IdleEvidence } from '../planning/idle/samples.js';
import { AS_OF, exampleView } from './estimating/examples.js';
import { EIGHTY_PERCENT, evidenceOf, monthlyBetween, monthlyCostOf, units } from './estimating/money.js';

const params = z.strictObject({
  restartMinutes: z.number().min(0).max(1440).default(10).describe('Minutes until a stopped resource works again'),
  maximumFalseStopProbability: z
    .number()
    .min(0)
    .max(1)
    .default(IDLE_DEFAULTS.maximumFalseStopProbability)
    .describe('Largest probability of a false stop at which a stop is proposed'),
  minimumQuietMinutes: z
    .number()
    .min(1)
    .max(1440)
    .default(IDLE_DEFAULTS.minimumQuietMinutes)
    .describe('Fewest minutes of quiet before a stop'),
  staleMinutes: z
    .number()
    .min(1)
    .max(1440)
    .default(IDLE_DEFAULTS.staleMinutes)
    .describe('Older evidence than this is no evidence'),
  lagMinutes: z
    .number()
    .min(0)
    .max(60)
    .default(1)
    .describe('Minutes that a reading may need to arrive: until then it is not missing'),
  graceMinutes: z
    .number()
    .min(60)
    .max(10_080)
    .default(60)
    .describe('Minutes after its start during which what has not worked yet is left alone'),
  losesLocalDisks: z
    .boolean()
    .default(true)
    .describe('Whether a machine may be stopped that loses the data on local disks by it'),
  mostReturns: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(3)
    .describe('Times that a machine of which nobody says what it runs may have worked again after such a quiet'),
});
type Params = z.infer<typeof params>;

/** What the rule did over a resource's readings, and what it says at the last one. */
interface Replay {
  /** At the last reading; null unless the rule has stopped the resource in its present quiet. */
  readonly open: IdleDecision | null;
  readonly last: IdleDecision;
  /**
   * Minutes that each stop saved until the resource worked again, restart taken off; the open one until the last
   * reading.
   */
  readonly savedMinutes: readonly number[];
}

const UNSURE: IdleDecision = {
  stop: false,
  reason: 'unknown',
  quietMinutes: 0,
  falseStopProbability: null,
  expectedSavedMinutes: null,
};

/** Where a reading should be and is not, something was done or nothing was: both are tried. */
type Filling = 'at work' | 'at rest';
const FILLINGS: readonly Filling[] = ['at work', 'at rest'];

/** Minutes between two readings as the resource sends them: the fewest that occur. */
function intervalOf(readings: readonly Reading[]): number {
  return readings.reduce((least, { at }, n) => {
    const before = readings[n - 1];
    return before !== undefined && at > before.at ? Math.min(least, (at - before.at) / MINUTE_MS) : least;
  }, Infinity);
}

/** How often readings come, and how late. */
interface Pace {
  readonly intervalMinutes: number;
  readonly lagMinutes: number;
}

const isBlank = ({ gpuUtilisationRatio, requestsPerSecond }: Reading): boolean =>
  gpuUtilisationRatio === null && requestsPerSecond === null;

/**
 * The readings with the missing ones filled in, from when it is watched up to the view's instant: those that a gap
 * leaves out, and the blank ones. Null where none is missing. At most a day of a gap is filled: beyond it the quiet
 * begins anew in any case.
 */
function filled(
  { readings, observedFrom }: ResourceView,
  asOf: number,
  { intervalMinutes, lagMinutes }: Pace,
  filling: Filling,
): { readonly readings: readonly Reading[] } | null {
  const step = intervalMinutes * MINUTE_MS;
  const first = readings[0];
  const before =
    first === undefined || observedFrom === null
      ? 0
      : Math.min(Math.round((first.at - observedFrom) / step), Math.floor(1440 / intervalMinutes));
  const over =
    filling === 'at work'
      ? { gpuUtilisationRatio: 1, requestsPerSecond: null }
      : { gpuUtilisationRatio: 0, requestsPerSecond: 0 };
  const head =
    first === undefined
      ? []
      : Array.from({ length: Math.max(0, before) }, (_, n) => ({
          ...first,
          ...over,
          at: first.at - (before - n) * step,
        }));
  const rest = readings.flatMap((reading, n): Reading[] => {
    const next = readings[n + 1];
    const missing =
      next === undefined
        ? asOf - reading.at < lagMinutes * MINUTE_MS
          ? 0
          : Math.floor((asOf - reading.at) / step)
        : Math.round((next.at - reading.at) / step) - 1;
    const count = Math.min(Math.max(0, missing), Math.floor(1440 / intervalMinutes));
    return [
      isBlank(reading) ? { ...reading, ...over } : reading,
      ...Array.from({ length: count }, (_, one) => ({ ...reading, ...over, at: reading.at + (one + 1) * step })),
    ];
  });
  return head.length + rest.length === readings.length && !readings.some(isBlank)
    ? null
    : { readings: [...head, ...rest] };
}

const evidenceAt = ({ resource, workload }: ResourceView, reading: Reading, minute: number): IdleEvidence => ({
  resource,
  minute,
  gpuUtilPercent: reading.gpuUtilisationRatio === null ? null : reading.gpuUtilisationRatio * 100,
  requestsPerSecond: reading.requestsPerSecond,
  memoryUsedRatio: reading.memoryUsedRatio,
  workload,
});

function replay(given: Params, resource: ResourceView, readings: readonly Reading[]): Replay {
  const planner = new IdlePlanner({ ...IDLE_DEFAULTS, ...given });
  const first = readings[0]?.at ?? 0;
  let stoppedAt: number | null = null;
  let open: IdleDecision | null = null;
  let last = UNSURE;
  let minute = 0;
  const savedMinutes: number[] = [];
  for (const reading of readings) {
    minute = (reading.at - first) / MINUTE_MS;
    last = planner.decide(evidenceAt(resource, reading, minute));
    if (last.stop) {
      stoppedAt ??= minute;
      open = last;
    } else if (last.reason === 'working') {
      if (stoppedAt !== null) savedMinutes.push(minute - stoppedAt - given.restartMinutes);
      stoppedAt = open = null;
    } else if (last.reason === 'unknown') open = null;
  }
  if (stoppedAt !== null) savedMinutes.push(minute - stoppedAt);
  return { open, last, savedMinutes };
}

const total = ({ savedMinutes }: Replay): number => savedMinutes.reduce((sum, saved) => sum + saved, 0);

/**
 * The verdict on which all readings of the evidence agree: a stop only where the rule stops whether what is missing was
 * work or rest, and of the savings the smallest. So a lost sample makes no stop and raises no saving. Where one of them
 * does not stop, it is that one.
 */
function verdict(view: PolicyView, resource: ResourceView, given: Params): Replay {
  const { readings } = resource;
  const asItIs = replay(given, resource, readings);
  if (asItIs.open === null) return asItIs;
  const pace = { intervalMinutes: intervalOf(readings), lagMinutes: given.lagMinutes };
  const others = Number.isFinite(pace.intervalMinutes)
    ? FILLINGS.flatMap((filling) => filled(resource, view.asOf, pace, filling) ?? [])
    : [];
  const replays = [asItIs, ...others.map((one) => replay(given, resource, one.readings))];
  const against = replays.find(({ open }) => open === null);
  return against === undefined
    ? replays.reduce((least, one) => (total(one) < total(least) ? one : least))
    : { ...against, last: against.last.reason === 'idle' ? UNSURE : against.last };
}

/**
 * Per month of 730 hours, with the spread of a sum of so many stops (normal, 80 %); one stop alone may as well save
 * nothing.
 */
function savings(hourlyNanos: bigint, { savedMinutes }: Replay, watchedMinutes: number): SavingsEstimate {
  const sum = savedMinutes.reduce((all, saved) => all + saved, 0);
  const mean = sum / savedMinutes.length;
  const variance =
    savedMinutes.reduce((all, saved) => all + (saved - mean) ** 2, 0) / Math.max(1, savedMinutes.length - 1);
  const spread = savedMinutes.length > 1 ? EIGHTY_PERCENT * Math.sqrt(savedMinutes.length * variance) : Math.abs(sum);
  const perHour = (saved: number): number =>
    Math.min(1, Math.max(0, saved / Math.max(1, watchedMinutes))) * Number(hourlyNanos);
  return monthlyBetween(perHour(sum), perHour(sum - spread), perHour(sum + spread));
}

/** What is made of a resource: it is proposed to stop it, or it is left alone. */
type Judged = { readonly result: Replay; readonly open: IdleDecision; readonly hourlyNanos: bigint } | LeftAlone;

const left = (code: string, message: string, toAct: string): LeftAlone => ({ code, message, toAct });

function judge(view: PolicyView, resource: ResourceView, given: Params): Judged {
  const { readings, hourlyNanos } = resource;
  const newest = readings.at(-1);
  const found = aboutMachine(resource, given) ?? aboutEvidence(view, resource, newest, given);
  if (found !== null) return found;
  if (hourlyNanos === null)
    return left(
      'no-price',
      resource.unjoined === undefined
        ? 'nobody knows what an hour of it costs'
        : `nobody knows what an hour of it costs: ${resource.unjoined}`,
      'a price of its provider, SKU, region and term (bursar prices), and a connection that knows the machine',
    );
  const result = verdict(view, resource, given);
  if (result.open === null) return notIdle(result.last, given);
  // All stops but the open one were followed by work.
  const returns = result.savedMinutes.length - 1;
  if (resource.workload === null && returns > given.mostReturns)
    return left(
      'comes-back',
      `it has worked again after ${returns} such quiets, and nobody says what it runs`,
      'a label that says what it runs (bursar.io/workload-kind), or a larger mostReturns',
    );
  return { result, open: result.open, hourlyNanos };
}

/** What the fleet says against a stop. */
function aboutMachine({ machine, gpus }: ResourceView, { losesLocalDisks }: Params): LeftAlone | null {
  if (machine === undefined) return null;
  const { state, group } = machine;
  // An exporter may go on for a while after its machine was stopped.
  if (state === 'stopped' || state === 'stopping' || state === 'gone')
    return left('not-running', `it is ${state}`, 'that it runs again');
  if (group !== null)
    return left(
      'member',
      `it is one of the machines of ${group}, which would bring another`,
      `a policy that scales ${group} (target-tracking, step-scaling)`,
    );
  if (machine.stopSaving?.saves === 'nothing')
    return left('paid-in-advance', machine.stopSaving.because, 'the end of what it is paid for');
  if (machine.localDisks === true && !losesLocalDisks)
    return left('local-disks', 'a stop loses the data on its local disks', 'losesLocalDisks of this policy');
  if (machine.gpus !== null && gpus !== null && gpus < machine.gpus)
    return left(
      'part-measured',
      `${gpus} of its ${machine.gpus} GPUs are measured as its own; what the others do is not known or is a pod's`,
      'readings of all its GPUs',
    );
  return null;
}

function aboutEvidence(
  view: PolicyView,
  resource: ResourceView,
  newest: Reading | undefined,
  { staleMinutes, graceMinutes }: Params,
): LeftAlone | null {
  const { machine, observedFrom, readings } = resource;
  if (newest === undefined) return left('no-readings', 'nothing of its GPUs was measured', 'readings of its GPUs');
  const age = (view.asOf - newest.at) / MINUTE_MS;
  if (age > staleMinutes)
    return left(
      'stale',
      `its newest reading is ${Math.round(age)} minutes old, older than ${staleMinutes}`,
      'readings that arrive again',
    );
  const since = machine?.launchedAt ?? observedFrom;
  const hasWorked = readings.some(
    (reading) => reading.at >= (since ?? 0) && activityOf(evidenceAt(resource, reading, 0)) === 'working',
  );
  return since === null || hasWorked || view.asOf - since >= graceMinutes * MINUTE_MS
    ? null
    : left(
        'in-grace',
        `it has not worked yet and runs for ${Math.round((view.asOf - since) / MINUTE_MS)} minutes`,
        `${graceMinutes} minutes after its start (graceMinutes)`,
      );
}

function notIdle({ reason, quietMinutes, falseStopProbability }: IdleDecision, given: Params): LeftAlone {
  const quiet = `quiet for ${Math.round(quietMinutes)} minutes`;
  switch (reason) {
    case 'working':
      return left('working', 'its GPUs work', `no work for ${given.minimumQuietMinutes} minutes or more`);
    case 'too-soon':
      return left('too-soon', quiet, `${given.minimumQuietMinutes} minutes of quiet (minimumQuietMinutes)`);
    case 'may-return':
      return left(
        'may-return',
        `${quiet}, and busy again within ten minutes with a probability of ${(falseStopProbability ?? 0).toFixed(2)}`,
        `a probability of ${given.maximumFalseStopProbability} or less (maximumFalseStopProbability)`,
      );
    case 'wait-pays':
      return left('wait-pays', `${quiet}: a stop now would save less than its restart costs`, 'a longer quiet');
    default:
      return left(
        'unknown',
        'whether its GPUs work is not known: readings are blank or missing, or it serves requests that nobody counts',
        'utilisation of every GPU, and requests of what serves (BURSAR_PROMETHEUS_REQUESTS_QUERY)',
      );
  }
}

function evaluate(view: PolicyView, given: Params): Proposal[] {
  return view.resources.flatMap((resource) => {
    const judged = judge(view, resource, given);
    return 'code' in judged ? [] : [proposal(view, resource, judged.hourlyNanos, judged.result, judged.open)];
  });
}

function explain(view: PolicyView, given: Params): Look[] {
  return view.resources.map((resource) => {
    const { readings, gpus, gpuModel, hourlyNanos } = resource;
    const judged = judge(view, resource, given);
    const newest = readings.at(-1);
    const busy = newest?.gpuUtilisationRatio ?? null;
    return {
      target: resource.resource,
      saw: [
        `${readings.length} readings of ${gpus ?? 'an unknown number of'} x ${gpuModel ?? 'GPU'}`,
        ...(newest === undefined
          ? []
          : [
              `the newest of ${formatInstant(newest.at)}: ${busy === null ? 'unknown' : `${Math.round(busy * 100)} % busy`}`,
            ]),
        hourlyNanos === null
          ? 'its price is not known'
          : `an hour of it costs ${units(Number(hourlyNanos))} ${view.currency}`,
      ],
      leftAlone: 'code' in judged ? judged : null,
    };
  });
}

function proposal(
  view: PolicyView,
  resource: ResourceView,
  hourlyNanos: bigint,
  result: Replay,
  last: IdleDecision,
): Proposal {
  const { readings } = resource;
  const saving = resource.machine?.stopSaving;
  const unsaved = saving === undefined || saving.saves === 'its hours' ? null : saving.because;
  const watchedMinutes = (view.asOf - (resource.observedFrom ?? view.asOf - READINGS_DAYS * DAY_MS)) / MINUTE_MS;
  return {
    action: 'Stop',
    target: resource.resource,
    change: { replicas: 0 },
    title: `Stop ${resource.resource}: its ${resource.gpus ?? 'GPUs'} x ${resource.gpuModel ?? 'GPU'} has done nothing for ${Math.round(last.quietMinutes)} minutes`,
    monthlySavings: unsaved === null ? savings(hourlyNanos, result, watchedMinutes) : null,
    monthlyCost: monthlyCostOf(Number(hourlyNanos)),
    computation: {
      quietMinutes: Math.round(last.quietMinutes),
      falseStopProbability: last.falseStopProbability ?? 0,
      stopsInTheReadings: result.savedMinutes.length,
      savedMinutesInTheReadings: Math.round(total(result)),
      minutesOfReadings: Math.round(watchedMinutes),
      perHour: units(Number(hourlyNanos)),
      ...(unsaved === null ? {} : { savingUnknown: unsaved }),
    },
    evidence: [
      evidenceOf(
        view,
        `${readings.length} readings of ${resource.resource}`,
        readings[0]?.at ?? view.asOf,
        readings.at(-1)?.at ?? view.asOf,
      ),
    ],
    risk: {
      interruption: 'Low',
      note: `Busy again within ten minutes of the stop with a probability of ${(last.falseStopProbability ?? 0).toFixed(2)}.`,
    },
    restartNeeded: true,
    implementationEffort: 'VeryLow',
    rollbackPossible: true,
    validDays: 1,
  };
}

/** Readings a minute apart, the last one at the view's instant. */
function idleView(
  workload: string | null,
  busyMinutes: number,
  quietMinutes: number,
  quiet: Partial<Reading>,
  ageMinutes = 0,
): PolicyView {
  const reading = (at: number, over: Partial<Reading>): Reading => ({
    at,
    gpuUtilisationRatio: 0,
    memoryUsedRatio: 0.1,
    requestsPerSecond: null,
    ...over,
  });
  const count = busyMinutes + quietMinutes;
  const readings = Array.from({ length: count }, (_, n) =>
    reading(
      AS_OF - (count - 1 - n + ageMinutes) * MINUTE_MS,
      n < busyMinutes ? { gpuUtilisationRatio: 0.9, requestsPerSecond: null } : quiet,
    ),
  );
  const observedFrom = readings[0]?.at ?? null;
  return exampleView({
    resources: [
      { resource: 'i-idle', workload, gpus: 1, gpuModel: 'H200', hourlyNanos: 10_000_000_000n, observedFrom, readings },
    ],
  });
}

/** A day in which it worked for one minute in twenty, last some minutes ago. */
function everyTwentyMinutes(workload: string | null): PolicyView {
  const view = idleView(workload, 0, 24 * HOURS, {});
  return {
    ...view,
    resources: view.resources.map((one) => ({
      ...one,
      readings: one.readings.map((reading, n) => (n % 20 === 4 ? { ...reading, gpuUtilisationRatio: 0.5 } : reading)),
    })),
  };
}

const HOURS = HOUR_MS / MINUTE_MS;

/** A training that ended twelve hours ago, on a machine of the fleet. */
function onMachine(over: Partial<MachineView>): PolicyView {
  const view = idleView('training', 5 * HOURS, 12 * HOURS, {});
  const machine: MachineView = {
    connection: 'aws',
    kind: 'instance',
    state: 'running',
    term: 'on-demand',
    gpus: 1,
    launchedAt: view.asOf - 24 * HOUR_MS,
    group: null,
    ...over,
  };
  return { ...view, resources: view.resources.map((one) => ({ ...one, machine })) };
}

export const policy: Policy<Params> = {
  name: 'idle-stop',
  version: 6,
  description:
    'Proposes to stop resources whose GPUs do nothing, when the quiet has lasted long enough to pay for the restart',
  params,
  evaluate,
  explain,
  examples: [
    {
      title: 'A training that ended twelve hours ago',
      params: {},
      view: idleView('training', 5 * HOURS, 12 * HOURS, {}),
      proposes: [{ action: 'Stop', target: 'i-idle' }],
    },
    {
      title: 'A service that answers two requests a second at 0.5 %',
      params: {},
      view: idleView('inference', HOURS, 12 * HOURS, { gpuUtilisationRatio: 0.005, requestsPerSecond: 2 }),
      proposes: [],
    },
    {
      title: 'A service whose requests nobody counts is unknown',
      params: {},
      view: idleView('inference', HOURS, 12 * HOURS, {}),
      proposes: [],
    },
    {
      title: 'A blank reading is no reading',
      params: {},
      view: idleView('training', HOURS, 12 * HOURS, { gpuUtilisationRatio: null }),
      proposes: [],
    },
    {
      title: 'Evidence of an hour ago is too old',
      params: {},
      view: idleView('training', 5 * HOURS, 12 * HOURS, {}, 60),
      proposes: [],
    },
    {
      title: 'A machine that was started half an hour ago has not worked yet',
      params: {},
      view: onMachine({ launchedAt: AS_OF - 30 * MINUTE_MS }),
      proposes: [],
    },
    {
      title: 'A machine that is stopped, whose exporter goes on',
      params: {},
      view: onMachine({ state: 'stopped' }),
      proposes: [],
    },
    {
      title: 'One of the machines of a group, which would bring another',
      params: {},
      view: onMachine({ group: 'asg/us-east-1/train' }),
      proposes: [],
    },
    {
      title: 'A machine that is paid for in advance',
      params: {},
      view: onMachine({ stopSaving: { saves: 'nothing', because: 'it is paid for in advance, running or not' } }),
      proposes: [],
    },
    {
      title: 'A machine with local disks, where the policy may not lose their data',
      params: { losesLocalDisks: false },
      view: onMachine({ localDisks: true }),
      proposes: [],
    },
    {
      title: 'A machine that works for a minute in twenty, of which nobody says what it runs',
      params: {},
      view: everyTwentyMinutes(null),
      proposes: [],
    },
    {
      title: 'The same, where so many returns are allowed',
      params: { mostReturns: 1000 },
      view: everyTwentyMinutes(null),
      proposes: [{ action: 'Stop', target: 'i-idle' }],
    },
    {
      title: 'A machine with eight GPUs, of which one is measured',
      params: {},
      view: onMachine({ gpus: 8 }),
      proposes: [],
    },
  ],
};
