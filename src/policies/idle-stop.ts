/**
 * idle-stop: stop a resource whose GPUs do nothing, when its quiet has lasted long enough to pay for the restart.
 *
 * Utilisation alone never makes a resource idle: a service that answers requests works at 0.5 %, and missing, blank or
 * stale evidence is unknown. When to stop is the planner's word (planning/idle). The saving is what the same rule would
 * have saved over the readings that the view holds, not a share that somebody assumed.
 */
import { z } from 'zod';
import type { Policy, PolicyView, Proposal, Reading, ResourceView } from '../core/policy.js';
import { HOURS_PER_MONTH } from '../core/policy.js';
import { formatInstant, HOUR_MS, MINUTE_MS } from '../core/time.js';
import { IDLE_DEFAULTS, IdlePlanner, type IdleDecision } from '../planning/idle/planner.js';

const params = z.strictObject({
  restartMinutes: z.number().min(0).max(1440).default(10).describe('Minutes until a stopped resource works again'),
  maximumFalseStopProbability: z.number().min(0).max(1).default(IDLE_DEFAULTS.maximumFalseStopProbability).describe('Largest probability of a false stop at which a stop is proposed'),
  minimumQuietMinutes: z.number().min(1).max(1440).default(IDLE_DEFAULTS.minimumQuietMinutes).describe('Fewest minutes of quiet before a stop'),
  staleMinutes: z.number().min(1).max(1440).default(IDLE_DEFAULTS.staleMinutes).describe('Older evidence than this is no evidence'),
});
type Params = z.infer<typeof params>;

/** What the rule did over a resource's readings, and what it says at the last one. */
interface Replay {
  /** At the last reading; null unless the rule has stopped the resource in its present quiet. */
  readonly open: IdleDecision | null;
  /** Minutes that each stop saved until the resource worked again, restart taken off; the open one until the last reading. */
  readonly savedMinutes: readonly number[];
  readonly minutes: number;
}

function replay(planner: IdlePlanner, resource: ResourceView, restartMinutes: number): Replay | null {
  const { readings } = resource;
  const first = readings[0];
  if (first === undefined) return null;
  let stoppedAt: number | null = null;
  let open: IdleDecision | null = null;
  let minute = 0;
  const savedMinutes: number[] = [];
  for (const reading of readings) {
    minute = (reading.at - first.at) / MINUTE_MS;
    const last = planner.decide({
      resource: resource.resource, minute, gpuUtilPercent: reading.gpuUtilisationRatio === null ? null : reading.gpuUtilisationRatio * 100,
      requestsPerSecond: reading.requestsPerSecond, memoryUsedRatio: reading.memoryUsedRatio, workload: resource.workload,
    });
    if (last.stop) {
      stoppedAt ??= minute;
      open = last;
    } else if (last.reason === 'working') {
      if (stoppedAt !== null) savedMinutes.push(minute - stoppedAt - restartMinutes);
      stoppedAt = open = null;
    } else if (last.reason === 'unknown') open = null;
  }
  if (stoppedAt !== null) savedMinutes.push(minute - stoppedAt);
  return { open, savedMinutes, minutes: minute };
}

/** Per month of 730 hours, with the spread of a sum of so many stops (normal, 80 %); one stop alone may as well save nothing. */
function monthly(hourlyNanos: bigint, { savedMinutes, minutes }: Replay): { mean: bigint; low: bigint; high: bigint } {
  const total = savedMinutes.reduce((sum, saved) => sum + saved, 0);
  const mean = total / savedMinutes.length;
  const variance = savedMinutes.reduce((sum, saved) => sum + (saved - mean) ** 2, 0) / Math.max(1, savedMinutes.length - 1);
  const spread = savedMinutes.length > 1 ? 1.2816 * Math.sqrt(savedMinutes.length * variance) : Math.abs(total);
  const perMonth = (saved: number): bigint => BigInt(Math.round((Math.min(1, Math.max(0, saved / Math.max(1, minutes)))) * HOURS_PER_MONTH * Number(hourlyNanos)));
  return { mean: perMonth(total), low: perMonth(total - spread), high: perMonth(total + spread) };
}

function evaluate(view: PolicyView, given: Params): Proposal[] {
  const planner = new IdlePlanner({ ...IDLE_DEFAULTS, ...given });
  return view.resources.flatMap((resource) => {
    const newest = resource.readings.at(-1);
    const result = replay(planner, resource, given.restartMinutes);
    if (newest === undefined || result === null || result.open === null || resource.hourlyNanos === null) return [];
    const ageSeconds = (view.asOf - newest.at) / 1000;
    return ageSeconds > given.staleMinutes * 60 ? [] : [proposal(resource, resource.hourlyNanos, result, result.open, ageSeconds)];
  });
}

function proposal(resource: ResourceView, hourlyNanos: bigint, result: Replay, last: IdleDecision, ageSeconds: number): Proposal {
  const { readings } = resource;
  return {
    action: 'Stop', target: resource.resource,
    title: `Stop ${resource.resource}: its ${resource.gpus ?? 'GPUs'} x ${resource.gpuModel ?? 'GPU'} has done nothing for ${Math.round(last.quietMinutes)} minutes`,
    monthlySavings: monthly(hourlyNanos, result),
    computation: {
      quietMinutes: Math.round(last.quietMinutes), falseStopProbability: last.falseStopProbability ?? 0, stopsInTheReadings: result.savedMinutes.length,
      savedMinutesInTheReadings: Math.round(result.savedMinutes.reduce((sum, saved) => sum + saved, 0)), minutesOfReadings: Math.round(result.minutes),
      perHour: (Number(hourlyNanos) / 1e9).toFixed(6),
    },
    evidence: [{ what: `${readings.length} readings of ${resource.resource}`, from: formatInstant(readings[0]?.at ?? 0), to: formatInstant(readings.at(-1)?.at ?? 0), ageSeconds }],
    risk: { interruption: 'Low', note: `Busy again within ten minutes of the stop with a probability of ${(last.falseStopProbability ?? 0).toFixed(2)}.` },
    restartNeeded: true, implementationEffort: 'VeryLow', rollbackPossible: true, validDays: 1,
  };
}

const AS_OF = 1_793_491_200_000;

/** Readings a minute apart, the last one at the view's instant. */
function exampleView(workload: string | null, busyMinutes: number, quietMinutes: number, quiet: Partial<Reading>, ageMinutes = 0): PolicyView {
  const reading = (at: number, over: Partial<Reading>): Reading => ({ at, gpuUtilisationRatio: 0, memoryUsedRatio: 0.1, requestsPerSecond: null, ...over });
  const count = busyMinutes + quietMinutes;
  const readings = Array.from({ length: count }, (_, n) => reading(AS_OF - (count - 1 - n + ageMinutes) * MINUTE_MS, n < busyMinutes ? { gpuUtilisationRatio: 0.9, requestsPerSecond: null } : quiet));
  return {
    organisation: 'default', team: 'research', asOf: AS_OF, currency: 'USD', demand: [], budgets: [],
    resources: [{ resource: 'i-idle', workload, gpus: 1, gpuModel: 'H200', hourlyNanos: 10_000_000_000n, readings }],
  };
}

const HOURS = HOUR_MS / MINUTE_MS;

export const policy: Policy<Params> = {
  name: 'idle-stop',
  version: 1,
  description: 'Proposes to stop resources whose GPUs do nothing, when the quiet has lasted long enough to pay for the restart',
  params,
  evaluate,
  examples: [
    { title: 'A training that ended twelve hours ago', params: {}, view: exampleView('training', 5 * HOURS, 12 * HOURS, {}), proposes: [{ action: 'Stop', target: 'i-idle' }] },
    { title: 'A service that answers two requests a second at 0.5 %', params: {}, view: exampleView('inference', HOURS, 12 * HOURS, { gpuUtilisationRatio: 0.005, requestsPerSecond: 2 }), proposes: [] },
    { title: 'A service whose requests nobody counts is unknown', params: {}, view: exampleView('inference', HOURS, 12 * HOURS, {}), proposes: [] },
    { title: 'A blank reading is no reading', params: {}, view: exampleView('training', HOURS, 12 * HOURS, { gpuUtilisationRatio: null }), proposes: [] },
    { title: 'Evidence of an hour ago is too old', params: {}, view: exampleView('training', 5 * HOURS, 12 * HOURS, {}, 60), proposes: [] },
  ],
};
