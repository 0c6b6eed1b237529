/**
 * schedule: start, stop and bound what a team runs by a weekly calendar in its zone.
 *
 * It looks at a clock and never at load: what it stops may be at work, and its owner has said so by naming it. It names
 * its targets; what is not known to run is not stopped. The saving is the calendar's own: the hours of the coming week
 * in which the target is off or smaller.
 */
import { z } from 'zod';
import type { Policy, PolicyView, Proposal, WorkloadView } from '../core/policy/policy.js';
import { DAY_MS, HOUR_MS, isZone, MINUTE_MS } from '../core/time.js';
import { Calendar, windowProblems, windowShape } from './estimating/calendar.js';
import { AS_OF, exampleView, workload } from './estimating/examples.js';
import { mayTouch } from './estimating/minutes.js';
import { evidenceOf, monthly, monthlyCostOf, replicaHourNanos, replicasOf, units } from './estimating/money.js';

const replicas = z.number().int().min(0).max(100_000);
const limits = {
  running: z.boolean().optional().describe('false: stopped; true: started where it is not running'),
  minReplicas: replicas.optional().describe('Fewest replicas'),
  maxReplicas: replicas.optional().describe('Most replicas'),
} as const;

const params = z
  .strictObject({
    zone: z.string().refine(isZone, 'is not an IANA time zone').default('UTC').describe('IANA zone of the times'),
    targets: z
      .array(z.string().min(1))
      .min(1)
      .default(['*'])
      .describe('Workloads and resources by name; * at the end stands for any ending'),
    windows: z
      .array(z.strictObject({ ...windowShape, ...limits }))
      .max(100)
      .default([])
      .describe('The first window that holds decides'),
    otherwise: z.strictObject(limits).default({}).describe('What holds outside all windows'),
    staleMinutes: z
      .number()
      .min(1)
      .max(1440)
      .default(15)
      .describe('A resource whose newest reading is older is not known to run'),
  })
  .superRefine((given, context) => {
    for (const { path, message } of windowProblems(given.windows, given.zone))
      context.addIssue({ code: 'custom', path: ['windows', ...(path?.split('/').slice(1) ?? [])], message });
    [
      ...given.windows.map((one, at) => ({ one, path: ['windows', at, 'maxReplicas'] })),
      { one: given.otherwise, path: ['otherwise', 'maxReplicas'] },
    ].forEach(({ one, path }) => {
      if ((one.minReplicas ?? 0) > (one.maxReplicas ?? Infinity))
        context.addIssue({ code: 'custom', path, message: 'is below minReplicas' });
    });
  });
type Params = z.infer<typeof params>;
type Limits = Params['otherwise'];

const isNamed = (targets: readonly string[], name: string): boolean =>
  targets.some((target) => (target.endsWith('*') ? name.startsWith(target.slice(0, -1)) : name === target));

/** Replicas that the limits leave of `now`; 0 where they say stopped, `usual` where they say started and none runs. */
function bounded(now: number, { running, minReplicas, maxReplicas }: Limits, usual: number): number {
  if (running === false) return 0;
  const started = running === true && now === 0 ? Math.max(1, usual) : now;
  return Math.min(maxReplicas ?? Infinity, Math.max(minReplicas ?? 0, started));
}

class Schedule {
  private readonly calendar: Calendar;

  constructor(private readonly given: Params) {
    this.calendar = new Calendar(given.windows, given.zone);
  }

  at(instant: number): Limits {
    const window = this.calendar.at(instant);
    return window === null ? this.given.otherwise : (this.given.windows[window] ?? this.given.otherwise);
  }

  /** Mean replicas fewer than `now` over the quarters of an hour of the coming week. */
  fewerOverAWeek(asOf: number, now: number): number {
    const step = 15 * MINUTE_MS;
    let fewer = 0;
    for (let instant = asOf; instant < asOf + 7 * DAY_MS; instant += step)
      fewer += Math.max(0, now - bounded(now, this.at(instant), now));
    return (fewer * step) / (7 * DAY_MS);
  }
}

function forWorkload(view: PolicyView, one: WorkloadView, schedule: Schedule): Proposal[] {
  const now = replicasOf(one);
  const { fleet } = one;
  if (now === null || fleet === null || !mayTouch(one)) return [];
  const wanted = bounded(now, schedule.at(view.asOf), fleet.minReplicas);
  if (wanted === now) return [];
  const nanos = replicaHourNanos(view, one);
  const fewer = schedule.fewerOverAWeek(view.asOf, now);
  const action = wanted === 0 ? 'Stop' : wanted < now ? 'ScaleIn' : now === 0 ? 'Start' : 'ScaleOut';
  return [proposal(view, one.workload, action, { now, wanted, fewer, nanos })];
}

/** A resource runs or it does not: it is stopped where it was seen running a moment ago. */
function forResources(view: PolicyView, schedule: Schedule, given: Params): Proposal[] {
  if (schedule.at(view.asOf).running !== false) return [];
  return view.resources.flatMap(({ resource, readings, hourlyNanos }) => {
    const newest = readings.at(-1);
    if (
      !isNamed(given.targets, resource) ||
      newest === undefined ||
      view.asOf - newest.at > given.staleMinutes * MINUTE_MS
    )
      return [];
    return [
      proposal(view, resource, 'Stop', {
        now: 1,
        wanted: 0,
        fewer: schedule.fewerOverAWeek(view.asOf, 1),
        nanos: hourlyNanos === null ? null : Number(hourlyNanos),
      }),
    ];
  });
}

interface Numbers {
  readonly now: number;
  readonly wanted: number;
  readonly fewer: number;
  /** Of one replica and hour. */
  readonly nanos: number | null;
}

function proposal(
  view: PolicyView,
  target: string,
  action: 'Stop' | 'ScaleIn' | 'Start' | 'ScaleOut',
  { now, wanted, fewer, nanos }: Numbers,
): Proposal {
  const more = wanted > now;
  return {
    action,
    target,
    protective: more,
    change: { replicas: wanted },
    title: `${{ Stop: 'Stop', ScaleIn: 'Lower', Start: 'Start', ScaleOut: 'Raise' }[action]} ${target} (${now} to ${wanted} replicas): the calendar says so`,
    monthlySavings: nanos === null ? null : monthly((more ? now - wanted : fewer) * nanos),
    monthlyCost: monthlyCostOf(nanos === null ? null : now * nanos),
    computation: {
      replicasNow: now,
      replicasByCalendar: wanted,
      meanReplicasFewerOverTheComingWeek: fewer,
      perReplicaHour: nanos === null ? 'no price' : units(nanos),
    },
    evidence: [evidenceOf(view, `the calendar, and what runs of ${target}`, view.asOf, view.asOf)],
    risk: {
      interruption: action === 'Stop' ? 'Medium' : 'Low',
      note: 'The calendar does not look at load: what runs may be at work.',
    },
    restartNeeded: action === 'Stop',
    implementationEffort: 'VeryLow',
    rollbackPossible: true,
    validDays: 1,
  };
}

const nights: Partial<Params> = {
  zone: 'Europe/Berlin',
  targets: ['lab-*'],
  otherwise: { running: false },
  windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:00', to: '20:00', running: true }],
};
const lab = (ready: number): WorkloadView =>
  workload('lab-notebooks', {
    kind: 'notebook',
    fleet: { ready, booting: 0, minReplicas: 2, maxReplicas: 8, changedAt: null },
  });
const MONDAY_NOON = AS_OF + DAY_MS + 12 * HOUR_MS;

export const policy: Policy<Params> = {
  name: 'schedule',
  version: 1,
  description: 'Starts, stops and bounds workloads and resources by a weekly calendar in a time zone',
  params,
  evaluate(view, given) {
    const schedule = new Schedule(given);
    return [
      ...view.workloads
        .filter((one) => isNamed(given.targets, one.workload))
        .flatMap((one) => forWorkload(view, one, schedule)),
      ...forResources(view, schedule, given),
    ];
  },
  examples: [
    {
      title: 'Notebooks on a Sunday',
      params: nights,
      view: exampleView({ workloads: [lab(4)] }),
      proposes: [{ action: 'Stop', target: 'lab-notebooks' }],
    },
    {
      title: 'Monday at noon they are started again',
      params: nights,
      view: exampleView({ asOf: MONDAY_NOON, workloads: [lab(0)] }),
      proposes: [{ action: 'Start', target: 'lab-notebooks' }],
    },
    {
      title: 'Nobody knows how many replicas there are',
      params: nights,
      view: exampleView({ workloads: [{ ...lab(4), fleet: null }] }),
      proposes: [],
    },
    {
      title: 'At most two on Sundays',
      params: { otherwise: { maxReplicas: 2 } },
      view: exampleView({ workloads: [lab(4)] }),
      proposes: [{ action: 'ScaleIn', target: 'lab-notebooks' }],
    },
  ],
};
