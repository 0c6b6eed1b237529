/** schedule at its limits: what it bounds and by how much, what it leaves alone, and when it looks again. */
import { describe, expect, it } from 'vitest';
import type { InstanceView, OwnStop, PolicyView, ResourceView, WorkloadView } from '../../../src/core/policy/policy.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import { AS_OF, exampleView, workload } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/schedule.js';

/** Off from Saturday to Sunday, and in the nights; Sunday 00:00 UTC is the view's instant. */
const NIGHTS = {
  otherwise: { running: false },
  windows: [{ days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '08:00', to: '20:00', running: true }],
};
const OFF = { otherwise: { running: false } };

const group = (ready: number, minReplicas = 2, over: Partial<WorkloadView> = {}): WorkloadView =>
  workload('w', { fleet: { ready, booting: 0, minReplicas, maxReplicas: 9, changedAt: null }, ...over });
const machine = (over: Partial<InstanceView> = {}, more: Partial<InstanceView['machine']> = {}): InstanceView => ({
  target: 'i',
  names: ['i', 'aws/i', 'lab-1'],
  machine: {
    connection: 'aws',
    kind: 'instance',
    state: 'running',
    term: 'on-demand',
    gpus: 1,
    launchedAt: null,
    group: null,
    ...more,
  },
  isProtected: null,
  startedAt: null,
  hourlyNanos: 4_000_000_000n,
  ...over,
});
const ownStop = (over: Partial<OwnStop> = {}): OwnStop => ({
  document: 'doc',
  action: 'act-1',
  connection: 'aws',
  target: 'i',
  at: AS_OF - 12 * HOUR_MS,
  replicas: 1,
  ...over,
});

const view = (over: Partial<PolicyView>): PolicyView => exampleView(over);
const evaluated = (given: object, over: Partial<PolicyView>) =>
  policy.evaluate(view(over), policy.params.parse(given), 'doc');
const done = (given: object, over: Partial<PolicyView>) =>
  evaluated(given, over).map(({ action, target, change }) => `${action} ${target} ${String(change?.['replicas'])}`);
const told = (given: object, over: Partial<PolicyView>) =>
  policy.explain!(view(over), policy.params.parse(given), 'doc').map(({ leftAlone }) => leftAlone);
const codes = (given: object, over: Partial<PolicyView>) => told(given, over).map((one) => one?.code ?? 'acts');

describe('the replicas of a workload', () => {
  it.each<[string, object, WorkloadView]>([
    ['Stop w 0', { running: false }, group(4)],
    ['', { running: false }, group(0)],
    ['Start w 2', { running: true }, group(0)],
    ['Start w 1', { running: true }, group(0, 0)],
    ['', { running: true }, group(1)],
    ['', {}, group(0)],
    ['', { minReplicas: 4 }, group(4)],
    ['ScaleOut w 4', { minReplicas: 4 }, group(3)],
    ['Start w 3', { minReplicas: 3 }, group(0)],
    ['', { maxReplicas: 4 }, group(4)],
    ['ScaleIn w 4', { maxReplicas: 4 }, group(5)],
    ['Stop w 0', { maxReplicas: 0 }, group(1)],
    ['ScaleIn w 2', { running: true, minReplicas: 1, maxReplicas: 2 }, group(3)],
    ['', { running: false }, group(4, 2, { isProtected: true })],
    ['', { running: false }, group(4, 2, { fleet: null })],
  ])('%s: %o', (expected, otherwise, one) => {
    expect(done({ otherwise }, { workloads: [one] }).join()).toBe(expected);
  });

  it('count those that boot', () => {
    const fleet = { ready: 2, booting: 1, minReplicas: 0, maxReplicas: 9, changedAt: null };
    expect(done({ otherwise: { maxReplicas: 2 } }, { workloads: [group(0, 0, { fleet })] })).toEqual(['ScaleIn w 2']);
  });

  it('come back as many as the stop removed, within what is allowed now', () => {
    const ownStops = [ownStop({ target: 'w', replicas: 5 })];
    const start = (otherwise: object) => done({ otherwise }, { workloads: [group(0)], ownStops });
    expect(start({})).toEqual(['Start w 5']);
    expect(start({ running: true })).toEqual(['Start w 5']);
    expect(start({ maxReplicas: 3 })).toEqual(['Start w 3']);
    expect(start({ running: false })).toEqual([]);
  });

  it('save what goes, and cost what comes', () => {
    const saved = (otherwise: object, one: WorkloadView) =>
      evaluated({ otherwise }, { workloads: [one] }).map(({ monthlySavings, monthlyCost, computation, protective }) => [
        monthlySavings?.mean,
        monthlyCost,
        computation['perReplicaHour'],
        protective,
      ])[0];
    // Four dollars an hour for each of them, 730 hours a month.
    const dollars = (count: number) => BigInt(count * 4 * 730) * 1_000_000_000n;
    expect(saved({ maxReplicas: 2 }, group(5))).toEqual([dollars(3), dollars(5), '4.000000', false]);
    expect(saved({ minReplicas: 4 }, group(3))).toEqual([-dollars(1), dollars(3), '4.000000', true]);
    const unknown = group(5, 2, { gpusPerReplica: null });
    expect(saved({ maxReplicas: 2 }, unknown)).toEqual([undefined, null, 'no price', false]);
  });

  it('says why it does nothing', () => {
    const fleet = null;
    expect(codes(OFF, { workloads: [group(4, 2, { isProtected: true })] })).toEqual(['protected']);
    expect(codes(OFF, { workloads: [group(4, 2, { fleet })] })).toEqual(['size-unknown']);
    expect(codes({}, { workloads: [group(0)] })).toEqual(['not-stopped-here']);
    expect(codes({}, { workloads: [group(1)] })).toEqual(['as-planned']);
  });
});

describe('a machine', () => {
  it.each<[string, Partial<InstanceView>, Partial<InstanceView['machine']>]>([
    ['acts', {}, {}],
    ['acts', {}, { state: 'starting' }],
    ['state-unknown', {}, { state: 'stopping' }],
    ['state-unknown', {}, { state: 'unknown' }],
    ['state-unknown', {}, { state: 'gone' }],
    ['not-stopped-here', {}, { state: 'stopped' }],
    ['protected', { isProtected: true }, {}],
    ['acts', { isProtected: false }, {}],
    ['paid-in-advance', {}, { stopSaving: { saves: 'nothing', because: 'it is paid' } }],
    ['acts', {}, { stopSaving: { saves: 'unknown', because: 'who knows' } }],
    ['in-grace', { startedAt: AS_OF - 60 * MINUTE_MS + 1 }, {}],
    ['acts', { startedAt: AS_OF - 60 * MINUTE_MS }, {}],
    ['in-grace', { startedAt: AS_OF - 24 * HOUR_MS }, { launchedAt: AS_OF - MINUTE_MS }],
    ['in-grace', { startedAt: AS_OF - MINUTE_MS }, { launchedAt: AS_OF - 24 * HOUR_MS }],
  ])('%s: %o %o', (code, over, more) => expect(codes(OFF, { instances: [machine(over, more)] })).toEqual([code]));

  it('has no grace where it was started within its hours, or where the calendar lets it run', () => {
    const given = { otherwise: { running: false }, windows: [{ days: ['sat'], to: '23:45', running: true }] };
    const started = (minutesAgo: number) =>
      codes(given, { instances: [machine({ startedAt: AS_OF - minutesAgo * MINUTE_MS })] });
    expect(started(16)).toEqual(['acts']);
    expect(started(15)).toEqual(['in-grace']);
    expect(codes({}, { instances: [machine({ startedAt: AS_OF - MINUTE_MS })] })).toEqual(['as-planned']);
    expect(told(OFF, { instances: [machine({ startedAt: AS_OF - 30 * MINUTE_MS })] })[0]?.toAct).toBe(
      '2026-11-01 00:30 UTC, 60 minutes after its start (graceMinutes)',
    );
  });

  it('is started where this document has stopped it, by any of its names, and nobody has started it since', () => {
    const started = (over: Partial<OwnStop>, launchedAt: number | null = null) =>
      done({}, { instances: [machine({}, { state: 'stopped', launchedAt })], ownStops: [ownStop(over)] });
    expect(started({})).toEqual(['Start i 1']);
    expect(started({ target: 'lab-1' })).toEqual(['Start i 1']);
    expect(started({ connection: 'gcp' })).toEqual(['Start i 1']);
    expect(started({ target: 'j' })).toEqual([]);
    expect(started({ document: 'other' })).toEqual([]);
    expect(started({}, ownStop().at)).toEqual(['Start i 1']);
    expect(started({}, ownStop().at + 1)).toEqual([]);
    const qualified = machine({ names: ['aws/i'] }, { state: 'stopped' });
    const byConnection = (connection: string) =>
      done({ targets: ['aws/*'] }, { instances: [qualified], ownStops: [ownStop({ connection })] });
    expect([byConnection('aws'), byConnection('gcp')]).toEqual([['Start i 1'], []]);
  });

  it('saves the hours of the coming week in which it is off', () => {
    const [stop] = evaluated(NIGHTS, { instances: [machine()] });
    // Five days of twelve hours are left of 168 hours.
    expect(stop?.computation['meanReplicasFewerOverTheComingWeek']).toBeCloseTo(108 / 168, 12);
    expect(stop?.monthlySavings?.mean).toBe(BigInt(Math.round((108 / 168) * 4e9 * 730)));
    expect(stop).toMatchObject({ restartNeeded: true, protective: false, risk: { interruption: 'Medium' } });
    const saved = (over: Partial<InstanceView>, more: Partial<InstanceView['machine']> = {}) =>
      evaluated(OFF, { instances: [machine(over, more)] })[0]?.monthlySavings?.mean ?? null;
    expect(saved({})).toBe(4n * 730n * 1_000_000_000n);
    expect(saved({ hourlyNanos: null })).toBeNull();
    expect(saved({}, { stopSaving: { saves: 'unknown', because: 'who knows' } })).toBeNull();
    const [start] = evaluated({}, { instances: [machine({}, { state: 'stopped' })], ownStops: [ownStop()] });
    expect(start).toMatchObject({ restartNeeded: false, protective: true, risk: { interruption: 'Low' } });
    expect(start?.monthlySavings?.mean).toBe(-4n * 730n * 1_000_000_000n);
    expect(start?.monthlyCost).toBe(0n);
  });

  it('that stands still says who stopped it, and when it is started again', () => {
    const still = { instances: [machine({}, { state: 'stopped' })], ownStops: [ownStop()] };
    expect(policy.explain!(view(still), policy.params.parse(NIGHTS), 'doc')).toEqual([
      {
        target: 'i',
        saw: ['it is stopped', 'stopped by act-1 of this document at 2026-10-31 12:00 UTC, untouched since'],
        leftAlone: {
          code: 'stopped-by-calendar',
          message: 'it is started again at 2026-11-02 08:00 UTC',
          toAct: '2026-11-02 08:00 UTC',
        },
      },
    ]);
    expect(told(OFF, still)[0]).toMatchObject({
      message: 'its calendar never lets it run',
      toAct: 'another calendar: this one does not say so within a week',
    });
  });
});

describe('a resource that no connection knows', () => {
  const seen = (millisecondsAgo: number, over: Partial<ResourceView> = {}): ResourceView => ({
    resource: 'r',
    workload: null,
    gpus: 1,
    gpuModel: 'T4',
    hourlyNanos: 2_000_000_000n,
    observedFrom: null,
    readings: [
      { at: AS_OF - millisecondsAgo, gpuUtilisationRatio: 0.9, memoryUsedRatio: null, requestsPerSecond: null },
    ],
    ...over,
  });

  it('is stopped where it was seen a moment ago', () => {
    const stopped = (one: ResourceView, given: object = OFF) => codes(given, { resources: [one] });
    expect(stopped(seen(15 * MINUTE_MS))).toEqual(['acts']);
    expect(stopped(seen(15 * MINUTE_MS + 1))).toEqual(['stale']);
    expect(stopped(seen(16 * MINUTE_MS), { ...OFF, staleMinutes: 16 })).toEqual(['acts']);
    expect(stopped(seen(0, { readings: [] }))).toEqual(['stale']);
    expect(stopped(seen(0), {})).toEqual(['as-planned']);
    expect(stopped(seen(0), { otherwise: { running: true } })).toEqual(['as-planned']);
    const [stop] = evaluated(OFF, { resources: [seen(0)] });
    expect([stop?.action, stop?.change, stop?.monthlySavings?.mean]).toEqual([
      'Stop',
      { replicas: 0 },
      2n * 730n * 1_000_000_000n,
    ]);
    expect(evaluated(OFF, { resources: [seen(0, { hourlyNanos: null })] })[0]?.monthlySavings).toBeNull();
  });

  it('is one only where neither a machine nor a workload has its name', () => {
    const named = (resource: string) => [seen(0, { resource })];
    expect(done(OFF, { resources: named('lab-1'), instances: [machine()] })).toEqual(['Stop i 0']);
    expect(done(OFF, { resources: named('w'), workloads: [group(1)] })).toEqual(['Stop w 0']);
    expect(done(OFF, { resources: named('r'), instances: [machine()] })).toEqual(['Stop i 0', 'Stop r 0']);
  });

  it('is meant by its name, or by how it begins', () => {
    const named = (...targets: string[]) => done({ ...OFF, targets }, { resources: [seen(0)] }).length;
    expect([named('r'), named('r*'), named('*'), named('x', 'r'), named('r2'), named('x*'), named('R')]).toEqual([
      1, 1, 1, 1, 0, 0, 0,
    ]);
  });
});

describe('the next evaluation', () => {
  const nextAt = (given: object, over: Partial<PolicyView>) => {
    const at = policy.nextEvaluationAt!(view(over), policy.params.parse(given));
    return at === null ? null : (at - AS_OF) / MINUTE_MS;
  };

  it('is when the calendar says otherwise, a grace is over, or what came to nothing may be tried again', () => {
    const stopped = machine({}, { state: 'stopped' });
    expect(nextAt(NIGHTS, { instances: [stopped] })).toBe(32 * 60);
    expect(nextAt(NIGHTS, { instances: [machine()] })).toBe(31);
    expect(nextAt(NIGHTS, { instances: [machine({ startedAt: AS_OF - 30 * MINUTE_MS })] })).toBe(30);
    expect(nextAt(OFF, { instances: [stopped] })).toBeNull();
    expect(nextAt({}, {})).toBeNull();
  });

  it('sees a change of the very next minute, and none of limits that are the same', () => {
    const from = (time: string, running: boolean) => ({
      otherwise: { running: false },
      windows: [{ from: time, running }],
    });
    expect(nextAt(from('00:01', true), {})).toBe(1);
    expect(nextAt(from('00:01', false), {})).toBeNull();
    expect(nextAt(from('00:01', true), { asOf: AS_OF + 30_000 })).toBe(1);
    expect(nextAt(from('00:01', true), { asOf: AS_OF + MINUTE_MS })).toBe(24 * 60);
  });
});

it('refuses bounds that exclude each other, and times that are none, each by its place', () => {
  const problems = (given: object) =>
    policy.params.safeParse(given).error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? [];
  expect(problems({ otherwise: { minReplicas: 2, maxReplicas: 2 } })).toEqual([]);
  expect(problems({ otherwise: { minReplicas: 3, maxReplicas: 2 } })).toEqual([
    'otherwise.maxReplicas is below minReplicas',
  ]);
  expect(problems({ windows: [{}, { minReplicas: 1, maxReplicas: 0 }] })).toEqual([
    'windows.1.maxReplicas is below minReplicas',
  ]);
  expect(problems({ windows: [{ from: '8:00' }] })).toContain('windows.0.from is not a time HH:MM');
  expect(problems({ zone: 'Mars/Base' })).toContain('zone is not an IANA time zone');
});
