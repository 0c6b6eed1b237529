/**
 * schedule: starts, stops and bounds a team's targets by a weekly calendar in its zone. It uses the clock and never the
 * load: its targets may be at work when it stops them, and their owner has accepted that by naming them. It names its
 * targets, measured or not; a target that is not known to run is not stopped. A machine is started again only if this
 * document has stopped it and nobody has changed it since; a workload gets back the replicas that the stop removed. The
 * saving comes from the calendar itself: the hours of the coming week in which the target is off or smaller.
 */
import { z } from 'zod';
import type {
  InstanceView,
  LeftAlone,
  OwnStop,
  Policy,
  PolicyView,
  Proposal,
  ResourceView,
  WorkloadView,
} from '../core/policy/policy.js';
import type { RunState } from '../core/fleet/fleet.js';
import { DAY_MS, HOUR_MS, isZone, MINUTE_MS, sayInstant } from '../core/time.js';
import { Calendar, windowProblems, windowShape } from './estimating/calendar.js';
import { AS_OF, exampleView, workload } from './estimating/examples.js';
import { mayTouch } from './estimating/minutes.js';
import { evidenceOf, monthly, monthlyCostOf, replicaHourNanos, replicasOf, units } from './estimating/money.js';

const replicas = z.number().int().min(0).max(100_000);
const limits = {
  running: z.boolean().optional().describe('false: stopped; true: a workload is started where it is not running'),
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
      .describe('Workloads, machines and resources by name; * at the end stands for any ending'),
    windows: z
      .array(z.strictObject({ ...windowShape, ...limits }))
      .max(100)
      .default([])
      .describe('The first window that matches decides'),
    otherwise: z.strictObject(limits).default({}).describe('What applies outside all windows'),
    staleMinutes: z
      .number()
      .min(1)
      .max(1440)
      .default(15)
      .describe('A resource that no connection knows does not count as running if its newest reading is older'),
    graceMinutes: z
      .number()
      .min(0)
      .max(1440)
      .default(60)
      .describe('Minutes for which a machine that somebody has started outside its hours is left running'),
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

/** An action that ended without an effect is asked for again half an hour later, by newer evidence. */
const TRY_AGAIN_MS = 31 * MINUTE_MS;

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
  /** Of each window, and last what applies outside all of them. */
  private readonly limits: readonly Limits[];

  constructor({ windows, otherwise, zone }: Params) {
    this.calendar = new Calendar(windows, zone);
    this.limits = [...windows, otherwise].map(({ running, minReplicas, maxReplicas }) => ({
      running,
      minReplicas,
      maxReplicas,
    }));
  }

  at(instant: number): Limits {
    return this.limits.at(this.calendar.at(instant) ?? -1)!;
  }

  /** Mean replicas fewer than `now` over the quarters of an hour of the coming week. */
  fewerOverAWeek(asOf: number, now: number): number {
    const step = 15 * MINUTE_MS;
    let fewer = 0;
    for (let instant = asOf; instant < asOf + 7 * DAY_MS; instant += step)
      fewer += Math.max(0, now - bounded(now, this.at(instant), now));
    return (fewer * step) / (7 * DAY_MS);
  }

  /** The first minute after an instant whose limits pass; null: none within eight days. */
  firstAfter(instant: number, passes: (limits: Limits) => boolean): number | null {
    const first = Math.floor(instant / MINUTE_MS + 1) * MINUTE_MS;
    for (let at = first; at <= first + 8 * DAY_MS; at += MINUTE_MS) if (passes(this.at(at))) return at;
    return null;
  }
}

/** A thing that the calendar bounds: what it has now, what it should have, and why it is left alone where it is. */
interface Judged {
  readonly target: string;
  readonly saw: readonly string[];
  readonly made: Proposal | null;
  readonly leftAlone: LeftAlone | null;
}

const left = (target: string, saw: readonly string[], code: string, message: string, toAct: string): Judged => ({
  target,
  saw,
  made: null,
  leftAlone: { code, message, toAct },
});

/** One look by one document. */
class ScheduleEvaluation {
  private readonly schedule: Schedule;
  private readonly limits: Limits;
  private readonly stops: readonly OwnStop[];
  /** When other limits hold, and when it may run: looked for minute by minute, so only once. */
  private changes: number | null | undefined;
  private runs: number | null | undefined;

  constructor(
    private readonly view: PolicyView,
    private readonly given: Params,
    document: string | undefined,
  ) {
    this.schedule = new Schedule(given);
    this.limits = this.schedule.at(view.asOf);
    this.stops = (view.ownStops ?? []).filter((one) => one.document === document);
  }

  judged(): Judged[] {
    const { targets } = this.given;
    const { workloads, instances = [], resources } = this.view;
    const named = instances.filter(({ names }) => names.some((name) => isNamed(targets, name)));
    const own = new Set([...instances.flatMap(({ names }) => names), ...workloads.map((one) => one.workload)]);
    return [
      ...workloads.filter((one) => isNamed(targets, one.workload)).map((one) => this.ofWorkload(one)),
      ...named.map((one) => this.ofInstance(one)),
      // For a resource that the fleet does not know, its readings show whether it runs.
      ...resources
        .filter(({ resource }) => isNamed(targets, resource) && !own.has(resource))
        .flatMap((one) => this.ofResource(one)),
    ];
  }

  /** When the calendar next says otherwise, a machine's grace is over, or what came to nothing may be tried again. */
  nextAt(): number | null {
    const { asOf, instances = [] } = this.view;
    const isOpen = this.judged().some(({ made }) => made !== null);
    const instants = [
      this.changesAt(),
      isOpen ? asOf + TRY_AGAIN_MS : null,
      ...instances.map((one) => this.graceUntil(one)),
    ].flatMap((at) => (at !== null && at > asOf ? [at] : []));
    return instants.length === 0 ? null : Math.min(...instants);
  }

  private changesAt(): number | null {
    const now = JSON.stringify(this.limits);
    const differs = (one: Limits): boolean => one !== this.limits && JSON.stringify(one) !== now;
    if (this.changes === undefined) this.changes = this.schedule.firstAfter(this.view.asOf, differs);
    return this.changes;
  }

  private runsAt(): number | null {
    if (this.runs === undefined)
      this.runs = this.schedule.firstAfter(this.view.asOf, ({ running }) => running !== false);
    return this.runs;
  }

  private ofWorkload(one: WorkloadView): Judged {
    const { view } = this;
    const { fleet, workload: target } = one;
    const now = replicasOf(one);
    if (now === null || fleet === null)
      return left(target, [], 'size-unknown', 'its number of replicas is unknown', 'a reading of the fleet');
    const saw = [`${now} replicas`];
    if (!mayTouch(one)) return left(target, saw, 'protected', 'its owner forbids changes to it', 'its owner');
    const stop = now === 0 ? this.stopOf([target]) : null;
    const usual = stop?.replicas ?? fleet.minReplicas;
    const wanted = bounded(stop?.replicas ?? now, this.limits, usual);
    if (wanted === now) return this.asItShould(target, saw, now === 0, stop);
    const action = wanted === 0 ? 'Stop' : wanted < now ? 'ScaleIn' : now === 0 ? 'Start' : 'ScaleOut';
    const numbers = {
      now,
      wanted,
      fewer: this.schedule.fewerOverAWeek(view.asOf, now),
      nanos: replicaHourNanos(view, one),
    };
    return { target, saw, made: proposal(view, target, action, numbers), leftAlone: null };
  }

  private ofInstance(one: InstanceView): Judged {
    const { target, names, machine, isProtected, hourlyNanos } = one;
    const { state, stopSaving } = machine;
    const saw = [`it is ${state}`];
    if (isProtected === true) return left(target, saw, 'protected', 'its owner forbids changes to it', 'its owner');
    const runs = state === 'running' || state === 'starting';
    if (!runs && state !== 'stopped')
      return left(target, saw, 'state-unknown', `it is ${state}`, 'the target to run or to be stopped');
    const last = runs ? null : this.stopOf(names);
    // A cloud that dates the newest start tells that somebody has started it since, and stopped it again.
    const stop = last !== null && (machine.launchedAt ?? 0) > last.at ? null : last;
    const stays = this.limits.running === false ? !runs : runs || stop === null;
    if (stays) return this.asItShould(target, saw, !runs, stop);
    if (runs && stopSaving?.saves === 'nothing')
      return left(target, saw, 'paid-in-advance', stopSaving.because, 'the end of what it is paid for');
    const grace = this.graceUntil(one);
    if (runs && grace !== null && grace > this.view.asOf)
      return left(
        target,
        saw,
        'in-grace',
        'somebody has started it outside its hours',
        `${sayInstant(grace)}, ${this.given.graceMinutes} minutes after its start (graceMinutes)`,
      );
    const nanos = hourlyNanos === null || stopSaving?.saves === 'unknown' ? null : Number(hourlyNanos);
    const numbers = runs
      ? { now: 1, wanted: 0, fewer: this.schedule.fewerOverAWeek(this.view.asOf, 1), nanos }
      : { now: 0, wanted: 1, fewer: 0, nanos };
    return { target, saw, made: proposal(this.view, target, runs ? 'Stop' : 'Start', numbers), leftAlone: null };
  }

  /** A resource that no connection knows is stopped where it was seen running a moment ago. */
  private ofResource({ resource, readings, hourlyNanos }: ResourceView): Judged[] {
    const { view } = this;
    const newest = readings.at(-1);
    const saw = [newest === undefined ? 'no readings' : `readings up to ${sayInstant(newest.at)}`];
    if (newest === undefined || view.asOf - newest.at > this.given.staleMinutes * MINUTE_MS)
      return [left(resource, saw, 'stale', 'it is not known to run', 'newer readings of its GPUs')];
    if (this.limits.running !== false) return [this.asItShould(resource, saw, false, null)];
    const numbers = {
      now: 1,
      wanted: 0,
      fewer: this.schedule.fewerOverAWeek(view.asOf, 1),
      nanos: hourlyNanos === null ? null : Number(hourlyNanos),
    };
    return [{ target: resource, saw, made: proposal(view, resource, 'Stop', numbers), leftAlone: null }];
  }

  /** This document's own stop of a target that still holds. */
  private stopOf(names: readonly string[]): OwnStop | null {
    return (
      this.stops.find(
        ({ connection, target }) => names.includes(target) || names.includes(`${connection}/${target}`),
      ) ?? null
    );
  }

  /** Until when a machine that was started outside its hours is left running; null: it was not. */
  private graceUntil({ machine, startedAt }: InstanceView): number | null {
    // Many clouds tell when a machine was made, and not when it was started again.
    const since = Math.max(machine.launchedAt ?? 0, startedAt ?? 0);
    return since === 0 || this.schedule.at(since).running !== false
      ? null
      : since + this.given.graceMinutes * MINUTE_MS;
  }

  private asItShould(target: string, saw: readonly string[], standsStill: boolean, stop: OwnStop | null): Judged {
    const at = (instant: number | null): string =>
      instant === null ? 'another calendar: this one does not say so within a week' : sayInstant(instant);
    if (!standsStill) return left(target, saw, 'as-planned', 'it is as the calendar allows', at(this.changesAt()));
    if (stop === null)
      return left(
        target,
        saw,
        'not-stopped-here',
        'it is stopped, but not by a stop of this document that nobody has changed since',
        'who stopped it: this document starts only what it has stopped itself',
      );
    const again = this.runsAt();
    return left(
      target,
      [...saw, `stopped by ${stop.action} of this document at ${sayInstant(stop.at)}, untouched since`],
      'stopped-by-calendar',
      again === null ? 'its calendar never lets it run' : `it is started again at ${sayInstant(again)}`,
      at(again),
    );
  }
}

interface Numbers {
  readonly now: number;
  readonly wanted: number;
  readonly fewer: number;
  /** The cost of one replica and hour. */
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
      note: 'The calendar does not consider load: what runs may be in use.',
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
const machine = (state: RunState, over: Partial<InstanceView> = {}): InstanceView => ({
  target: 'instance/i-lab',
  names: ['instance/i-lab', 'aws/instance/i-lab', 'lab-1'],
  machine: { connection: 'aws', kind: 'instance', state, term: 'on-demand', gpus: 1, launchedAt: null, group: null },
  isProtected: null,
  startedAt: null,
  hourlyNanos: 4_000_000_000n,
  ...over,
});
const MONDAY_NOON = AS_OF + DAY_MS + 12 * HOUR_MS;

export const policy: Policy<Params> = {
  name: 'schedule',
  version: 2,
  description: 'Starts, stops and bounds workloads and machines by a weekly calendar in a time zone',
  params,
  needsInstances: true,
  nextEvaluationAt: (view, given) => new ScheduleEvaluation(view, given, undefined).nextAt(),
  evaluate: (view, given, document) =>
    new ScheduleEvaluation(view, given, document).judged().flatMap(({ made }) => (made === null ? [] : [made])),
  explain: (view, given, document) =>
    new ScheduleEvaluation(view, given, document)
      .judged()
      .map(({ target, saw, leftAlone }) => ({ target, saw, leftAlone })),
  examples: [
    {
      title: 'A machine without measurements, on a Sunday',
      params: nights,
      view: exampleView({ instances: [machine('running')] }),
      proposes: [{ action: 'Stop', target: 'instance/i-lab' }],
    },
    {
      title: 'A machine that somebody has started outside its hours half an hour ago',
      params: nights,
      view: exampleView({ instances: [machine('running', { startedAt: AS_OF - 30 * MINUTE_MS })] }),
      proposes: [],
    },
    {
      title: 'A machine that somebody has stopped is not started',
      params: nights,
      view: exampleView({ asOf: MONDAY_NOON, instances: [machine('stopped')] }),
      proposes: [],
    },
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
      title: 'The number of replicas is unknown',
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
