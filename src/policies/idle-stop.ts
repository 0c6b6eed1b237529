/**
 * idle-stop: stops a resource with idle GPUs once its quiet period has lasted long enough to pay for the restart.
 * Utilisation alone never makes a resource idle: a service that answers requests works at 0.5 %, a card that draws the
 * power of a working card is not idle at 0 %, and missing, blank or stale evidence is unknown; a missing reading is
 * tried both as work and as rest (estimating/idle-replay.ts).
 *
 * Held memory is a sign of a loaded model if nobody states what runs: then a quiet period must last for hours. It never
 * prevents a stop for ever, because ended trainings hold memory too. The planner decides (planning/idle). The saving is
 * what the same rule would have saved over the readings in the view.
 */
import {
  READINGS_DAYS,
  type LeftAlone,
  type TargetExplanation,
  type MachineView,
  type Policy,
  type PolicyView,
  type Proposal,
  type Reading,
  type ResourceView,
  type SavingsEstimate,
} from '../core/policy/policy.js';
import { DAY_MS, formatInstant, HOUR_MS, MINUTE_MS, sayInstant } from '../core/time.js';
import { assert } from '../core/errors.js';
import { shareText } from '../core/figures.js';
import type { IdleDecision } from '../planning/idle/planner.js';
import { activityOf, HOUSEKEEPING_PERCENT, WORKING_PERCENT } from '../planning/idle/samples.js';
import { AS_OF, exampleView } from './estimating/examples.js';
import { IDLE_PARAMS, type IdleParams as Params } from './estimating/idle-params.js';
import {
  evidenceAt,
  isContradictory,
  totalOf,
  verdict,
  workingWattsOf,
  type Doubt,
  type Replay,
} from './estimating/idle-replay.js';
import { EIGHTY_PERCENT, evidenceOf, inCents, monthlyBetween, monthlyCostOf, units } from './estimating/money.js';

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

/** The judgement of a resource: a proposal to stop it, or the reason to leave it alone. */
type Judged = { readonly replay: Replay; readonly open: IdleDecision; readonly hourlyNanos: bigint } | LeftAlone;

const left = (code: string, message: string, toAct: string): LeftAlone => ({ code, message, toAct });
/** Nothing was measured lately: it tells nothing of what has become of the resource. */
const lost = (...said: Parameters<typeof left>): LeftAlone => ({ ...left(...said), evidence: 'lost' });

/** A loaded model holds more of a card's memory than this; a process that has only opened the card holds less. */
const HELD_RATIO = 0.1;

function judge(view: PolicyView, resource: ResourceView, given: Params): Judged {
  const { hourlyNanos } = resource;
  const found = aboutMachine(view, resource, given) ?? aboutEvidence(view, resource, given);
  if (found !== null) return found;
  if (hourlyNanos === null)
    return left(
      'no-price',
      resource.unjoined === undefined
        ? 'its hourly cost is unknown'
        : `its hourly cost is unknown: ${resource.unjoined}`,
      'a price of its provider, SKU, region and term (bursar prices), and a connection that knows the machine',
    );
  const { replay, doubt } = verdict(view, resource, given);
  if (replay.open === null) return notIdle(resource, replay.last, given);
  const unsaid = resource.workload === null ? aboutUnsaid(resource, replay, replay.open, given) : null;
  if (unsaid !== null) return unsaid;
  return doubt === null ? { replay, open: replay.open, hourlyNanos } : doubtful(doubt);
}

/** The evidence against a stop if nobody states what the machine runs. */
function aboutUnsaid(
  { readings }: ResourceView,
  { savedMinutes, last }: Replay,
  open: IdleDecision,
  { mostReturns, heldMemoryMinutes }: Params,
): LeftAlone | null {
  // All stops but the open one were followed by work.
  const returns = savedMinutes.length - 1;
  if (returns > mostReturns)
    return left(
      'comes-back',
      `it has worked again after ${returns} such quiets, and its workload is unknown`,
      'a label that says what it runs (bursar.io/workload-kind), or a larger mostReturns',
    );
  const held = readings.at(-1)?.memoryUsedRatio ?? 0;
  const quiet = Math.round(Math.max(last.quietMinutes, open.quietMinutes));
  return held > HELD_RATIO && quiet < heldMemoryMinutes
    ? left(
        'memory-held',
        `${Math.round(held * 100)} % of its memory is held as a loaded model holds it, after ${quiet} minutes of quiet, and its workload is unknown`,
        `${heldMemoryMinutes} minutes of quiet (heldMemoryMinutes), or a label that says what it runs (bursar.io/workload-kind)`,
      )
    : null;
}

function doubtful({ at, because }: Doubt): LeftAlone {
  const minute = formatInstant(at).slice(11, 16);
  const message = {
    late: `its reading of ${minute} is not here yet`,
    missing: `its reading of ${minute} is missing: whether it worked then is unknown`,
    blank: `its reading of ${minute} is blank: whether it worked then is unknown`,
    contradictory: `it drew the power of a working card at ${minute}, at a utilisation of next to nothing`,
  }[because];
  return {
    ...left(
      because === 'late' ? 'late' : 'unsure',
      `${message}; the earlier proposal for it stays`,
      'readings since then that are quiet for long enough on their own',
    ),
    evidence: 'late',
  };
}

/**
 * A group that may be empty is taken to none by nothing that follows its load, as nothing is measured of none: it would
 * never come back.
 */
const ofGroup = (view: PolicyView, group: string): LeftAlone =>
  left(
    'member',
    `it is one of the machines of ${group}, which would replace it`,
    view.workloads.find(({ workload }) => workload === group)?.fleet?.minReplicas === 0
      ? `for all but one machine a policy that scales ${group} (target-tracking, step-scaling); for the last one, which ` +
          'those keep, a schedule (running: false), or a person: the group itself may have none'
      : `a policy that scales ${group} (target-tracking, step-scaling)`,
  );

/** The fleet's evidence against a stop. */
function aboutMachine(
  view: PolicyView,
  { machine, gpus }: ResourceView,
  { losesLocalDisks }: Params,
): LeftAlone | null {
  if (machine === undefined) return null;
  const { state, group } = machine;
  // An exporter may go on for a while after its machine was stopped.
  if (state === 'stopped' || state === 'stopping' || state === 'gone')
    return left('not-running', `it is ${state}`, 'the machine to run again');
  if (group !== null) return ofGroup(view, group);
  if (machine.stopSaving?.saves === 'nothing')
    return left('paid-in-advance', machine.stopSaving.because, 'the end of what it is paid for');
  if (machine.localDisks === true && !losesLocalDisks)
    return left('local-disks', 'a stop loses the data on its local disks', 'losesLocalDisks of this policy');
  if (machine.kind === 'instance' && machine.gpus === null && state === 'running')
    return left(
      'size-unknown',
      'its number of GPUs is unknown, and so is the work of those that are not measured',
      'a connection that knows its type',
    );
  if (machine.gpus !== null && gpus !== null && gpus < machine.gpus)
    return left(
      'part-measured',
      `${gpus} of its ${machine.gpus} GPUs are measured as its own; the work of the others is unknown or belongs to a pod`,
      'readings of all its GPUs',
    );
  return null;
}

function aboutEvidence(
  view: PolicyView,
  resource: ResourceView,
  { staleMinutes, graceMinutes }: Params,
): LeftAlone | null {
  const { machine, observedFrom, readings } = resource;
  const newest = readings.at(-1);
  if (newest === undefined) return lost('no-readings', 'nothing of its GPUs was measured', 'readings of its GPUs');
  const fromWatts = workingWattsOf(view, resource);
  if (isContradictory(resource, newest, fromWatts))
    return left(
      'contradictory',
      `it draws ${Math.round(newest.powerWatts ?? 0)} W at a utilisation of next to nothing: from ${Math.round(fromWatts ?? 0)} W on a card of its kind is at work`,
      'power and utilisation that agree (a reset of the card, or a newer driver, where its utilisation is stuck)',
    );
  const known = readings.findLast(
    ({ gpuUtilisationRatio, requestsPerSecond }) => gpuUtilisationRatio !== null || requestsPerSecond !== null,
  );
  const age = (view.asOf - (known ?? newest).at) / MINUTE_MS;
  if (known === undefined || age > staleMinutes)
    return known === undefined || known !== newest
      ? lost(
          'unknown',
          'whether its GPUs work is unknown: its readings are blank, or do not cover all of them',
          'utilisation of every GPU',
        )
      : lost(
          'stale',
          `its newest reading is ${Math.round(age)} minutes old, older than ${staleMinutes}`,
          'new readings',
        );
  const since = machine?.launchedAt ?? machine?.firstSeenAt ?? observedFrom;
  const hasWorked = readings.some(
    (reading) => reading.at >= (since ?? 0) && activityOf(evidenceAt(resource, reading, 0)) === 'working',
  );
  const isNew = since !== null && view.asOf - since < graceMinutes * MINUTE_MS;
  return !isNew || hasWorked
    ? null
    : left(
        'in-grace',
        `it has not worked yet and ${machine?.launchedAt === null ? 'was first seen' : 'was started'} ${Math.round((view.asOf - since) / MINUTE_MS)} minutes ago`,
        `${graceMinutes} minutes after ${machine?.launchedAt === null ? 'that' : 'its start'} (graceMinutes)`,
      );
}

const minutesText = (minutes: number): string => (minutes === 1 ? 'a minute' : `${minutes} minutes`);

/** Whether a reading shows work, or counts as work because nobody states what runs. */
function atWork({ workload, readings }: ResourceView, { minimumQuietMinutes }: Params): LeftAlone {
  const busy = (readings.at(-1)?.gpuUtilisationRatio ?? 1) * 100;
  const requests = readings.at(-1)?.requestsPerSecond ?? null;
  return workload !== null || requests !== null || busy >= WORKING_PERCENT
    ? left('working', 'its GPUs work', `no work for ${minutesText(minimumQuietMinutes)} or more`)
    : left(
        'working',
        `its GPUs work at ${shareText(busy / 100)}: from ${shareText(HOUSEKEEPING_PERCENT / 100)} on is work while its workload ` +
          'is unknown, because a small service looks like that',
        `a label that says what it runs (bursar.io/workload-kind): a workload that is no service works from ` +
          `${shareText(WORKING_PERCENT / 100)} on; or less than ${shareText(HOUSEKEEPING_PERCENT / 100)} for ` +
          `${minutesText(minimumQuietMinutes)} or more`,
      );
}

function notIdle(resource: ResourceView, decision: IdleDecision, given: Params): LeftAlone {
  const { reason, quietMinutes, falseStopProbability } = decision;
  const quiet = `quiet for ${Math.round(quietMinutes)} minutes`;
  switch (reason) {
    case 'working':
      return atWork(resource, given);
    case 'too-soon':
      return left('too-soon', quiet, `${given.minimumQuietMinutes} minutes of quiet (minimumQuietMinutes)`);
    case 'may-return':
      return left(
        'may-return',
        `${quiet}, and busy again within ten minutes with a probability of ${shareText(falseStopProbability)}`,
        `a probability of ${shareText(given.maximumFalseStopProbability)} or less (maximumFalseStopProbability)`,
      );
    case 'wait-pays':
      return left('wait-pays', `${quiet}: a stop now would save less than its restart costs`, 'a longer quiet');
    default:
      return left(
        'unknown',
        'whether its GPUs work is unknown: readings are blank or missing, or it serves requests that are not counted',
        'utilisation of every GPU, and requests of what serves (BURSAR_PROMETHEUS_REQUESTS_QUERY)',
      );
  }
}

function evaluate(view: PolicyView, given: Params): Proposal[] {
  return view.resources.flatMap((resource) => {
    const judged = judge(view, resource, given);
    return 'code' in judged ? [] : [proposal(view, resource, judged.hourlyNanos, judged.replay, judged.open)];
  });
}

function explain(view: PolicyView, given: Params): TargetExplanation[] {
  return view.resources.map((resource) => {
    const { readings, gpus, gpuModel, hourlyNanos } = resource;
    const judged = judge(view, resource, given);
    const newest = readings.at(-1);
    return {
      target: resource.resource,
      saw: [
        `${readings.length} readings of ${gpus ?? 'an unknown number of'} x ${gpuModel ?? 'GPU'}`,
        ...(newest === undefined ? [] : [`the newest of ${sayInstant(newest.at)}: ${measuresOf(newest)}`]),
        hourlyNanos === null
          ? 'its price is unknown'
          : `an hour of it costs ${inCents(Number(hourlyNanos))} ${view.currency}`,
      ],
      leftAlone: 'code' in judged ? judged : null,
    };
  });
}

/** Power and memory in the newest reading, as far as known. */
const drawnAndHeld = ({ powerWatts, memoryUsedMib }: Partial<Reading> = {}): Record<string, number> => ({
  ...(typeof powerWatts === 'number' ? { powerWatts: Math.round(powerWatts) } : {}),
  ...(typeof memoryUsedMib === 'number' ? { memoryUsedMib: Math.round(memoryUsedMib) } : {}),
});

function measuresOf({ gpuUtilisationRatio: busy, powerWatts, memoryUsedMib, requestsPerSecond }: Reading): string {
  const all: readonly (readonly [number | null | undefined, (value: number) => string])[] = [
    [powerWatts, (watts) => `${Math.round(watts)} W`],
    [memoryUsedMib, (mib) => `${Math.round(mib)} MiB of memory in use`],
    [requestsPerSecond, (requests) => `${requests} requests a second`],
  ];
  return [
    busy === null ? 'utilisation unknown' : `${Math.round(busy * 100)} % busy`,
    ...all.flatMap(([value, say]) => (typeof value === 'number' ? [say(value)] : [])),
  ].join(', ');
}

/** Parts of cards that were measured are not counted as cards: then what the machine has, where that is known. */
function cardsOf({ gpus, gpuModel, machine }: ResourceView): string {
  const count = gpus ?? machine?.gpus ?? null;
  const model = gpuModel ?? 'GPU';
  return count === null ? `${model === 'GPU' ? '' : `${model} `}GPUs have` : `${count} x ${model} has`;
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
  const { falseStopProbability } = last;
  assert(falseStopProbability !== null, 'stop-without-probability');
  const watchedMinutes = (view.asOf - (resource.observedFrom ?? view.asOf - READINGS_DAYS * DAY_MS)) / MINUTE_MS;
  return {
    action: 'Stop',
    target: resource.resource,
    change: { replicas: 0 },
    title: `Stop ${resource.resource}: its ${cardsOf(resource)} done nothing for ${Math.round(last.quietMinutes)} minutes`,
    monthlySavings: unsaved === null ? savings(hourlyNanos, result, watchedMinutes) : null,
    monthlyCost: monthlyCostOf(Number(hourlyNanos)),
    computation: {
      quietMinutes: Math.round(last.quietMinutes),
      falseStopProbability,
      stopsInTheReadings: result.savedMinutes.length,
      savedMinutesInTheReadings: Math.round(totalOf(result)),
      minutesOfReadings: Math.round(watchedMinutes),
      perHour: units(Number(hourlyNanos)),
      ...drawnAndHeld(readings.at(-1)),
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
      note: `Busy again within ten minutes of the stop with a probability of ${shareText(falseStopProbability)}.`,
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

/** A training that ended twelve hours ago on a card that drew 79 W at rest before, and draws so much now. */
function drawing(powerWatts: number): PolicyView {
  const view = idleView('training', 5 * HOURS, 12 * HOURS, { powerWatts });
  return {
    ...view,
    resources: view.resources.map((one) => ({
      ...one,
      readings: one.readings.map((reading, n) => (n === 0 ? { ...reading, powerWatts: 79 } : reading)),
    })),
  };
}

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
  version: 8,
  description:
    'Proposes to stop resources whose GPUs do nothing, when the quiet has lasted long enough to pay for the restart',
  params: IDLE_PARAMS,
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
      title: 'A service whose requests are not counted is unknown',
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
      title: 'A machine that is stopped, but whose exporter still answers',
      params: {},
      view: onMachine({ state: 'stopped' }),
      proposes: [],
    },
    {
      title: 'One of the machines of a group, which would replace it',
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
      title: 'A machine with an unknown workload that works for one minute in twenty',
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
    { title: 'A card that draws 385 W at a utilisation of 0 %', params: {}, view: drawing(385), proposes: [] },
    {
      title: 'A card that draws what one with a loaded process draws at rest',
      params: {},
      view: drawing(123),
      proposes: [{ action: 'Stop', target: 'i-idle' }],
    },
    {
      title: 'Memory that an unknown workload holds for four hours',
      params: {},
      view: idleView(null, HOURS, 4 * HOURS, { memoryUsedRatio: 0.8 }),
      proposes: [],
    },
    {
      title: 'The same after a whole working day',
      params: {},
      view: idleView(null, HOURS, 9 * HOURS, { memoryUsedRatio: 0.8 }),
      proposes: [{ action: 'Stop', target: 'i-idle' }],
    },
    {
      title: 'A machine that was first seen a minute ago, with an unknown start',
      params: {},
      view: onMachine({ launchedAt: null, firstSeenAt: AS_OF - MINUTE_MS }),
      proposes: [],
    },
    {
      title: 'A machine with eight GPUs, of which one is measured',
      params: {},
      view: onMachine({ gpus: 8 }),
      proposes: [],
    },
  ],
};
