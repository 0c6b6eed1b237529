/** A recorded job under what a policy does to it, and what published rules and the optimum make of the same job. */
import { describe, expect, it } from 'vitest';
import type { Change } from '../../../src/core/policy/recommendation.js';
import { formatInstant, HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import { jobAlternatives } from '../../../src/planning/policy/job-alternatives.js';
import { wayOf, type JobCase, type JobSlot, type JobState } from '../../../src/planning/policy/job-run.js';
import { jobMeasures, ReplayedJob } from '../../../src/planning/policy/jobs.js';
import { CostSteps } from '../../../src/planning/policy/steps.js';
import { IDLE, ON_DEMAND, SPOT } from '../../../src/planning/spot/problem.js';
import { AS_OF, workload } from '../../../src/policies/estimating/examples.js';

const at = (hours: number): number => AS_OF + hours * HOUR_MS;
const STEPS = new CostSteps({ from: AS_OF, to: at(8) });
const slot = (hour: number, over: Partial<JobSlot> = {}): JobSlot => ({
  from: at(hour),
  ms: HOUR_MS,
  onDemand: 4,
  spot: 1,
  isVerified: true,
  ...over,
});
const first: JobState = { held: IDLE, restartLeftMs: 0, workLeftMs: 2 * HOUR_MS };
/** Of two replicas, from the second hour to the eighth; half an hour to start. */
const jobOf = (over: Partial<JobCase> = {}): JobCase => ({
  name: 'j',
  since: at(1),
  deadline: null,
  gpus: 2,
  replicas: 2,
  speedAt: (gpus) => (gpus === 4 ? 1.5 : gpus === 1 ? 0.6 : null),
  own: ON_DEMAND,
  slotsAt: ({ region }) => (region === 'eu' ? [1, 2, 3, 4, 5, 6, 7].map((hour) => slot(hour, { onDemand: 2 })) : null),
  hasMarket: false,
  mayMove: true,
  first,
  restartMs: HOUR_MS / 2,
  slots: [1, 2, 3, 4, 5, 6, 7].map((hour) => slot(hour)),
  ...over,
});
const KNOWN = { ready: 9, booting: 9, minReplicas: 0, maxReplicas: 4, changedAt: null };
const FACTS = workload('j', {
  zone: 'us-east-1a',
  job: { startedAt: at(1), deadline: null, workHours: 2, workLeftHours: 99, restartHours: 0.5, resizable: true },
});
const replayed = (over: Partial<JobCase> = {}): ReplayedJob =>
  new ReplayedJob({ name: 'j', job: jobOf(over) }, KNOWN, STEPS);
const viewOf = (one: ReplayedJob, hour: number, isRestored = false) => one.view(FACTS, at(hour), isRestored);

describe('a job as a policy sees it', () => {
  it('is not there before it begins, then has its start before it, runs and is done', () => {
    const one = replayed();
    expect(one.view(FACTS, at(1) - 1, false)).toBeNull();
    expect(viewOf(one, 1)).toMatchObject({
      term: 'on-demand',
      fleet: { ready: 0, booting: 2, maxReplicas: 4, changedAt: at(1) },
      job: { startedAt: null, workLeftHours: 2 },
    });
    one.runUntil(at(2));
    expect(viewOf(one, 2)).toMatchObject({
      fleet: { ready: 2, booting: 0 },
      job: { startedAt: at(1), workLeftHours: 1.5 },
    });
    one.runUntil(at(5));
    expect(viewOf(one, 5)).toMatchObject({ fleet: { ready: 0, booting: 0 }, job: { workLeftHours: 0 } });
    expect(one.cost).toBe(10);
    expect(one.bill()).toMatchObject({ cost: 10, restarts: 0 });
    expect([one.since, one.unknown]).toEqual([at(1), null]);
  });

  it('that ran before has begun, and one that starts later has not', () => {
    const ran = replayed({ first: { ...first, held: ON_DEMAND } });
    expect(viewOf(ran, 1)).toMatchObject({ fleet: { ready: 2, booting: 0 }, job: { startedAt: at(1) } });
    const later = { ...FACTS, job: { ...FACTS.job!, startedAt: at(3) } };
    expect(ran.view(later, at(2), false)?.job?.startedAt).toBeNull();
    expect(ran.view(later, at(3), false)?.job?.startedAt).toBe(at(3));
  });

  it('that cannot be run again is as it is known, and nothing changes it', () => {
    const one = new ReplayedJob({ name: 'j', why: 'because' }, KNOWN, STEPS);
    expect(viewOf(one, 0)).toBe(FACTS);
    expect(one.change('Stop', {}, at(1))).toBe(false);
    one.runUntil(at(5));
    expect([one.unknown, one.since, one.cost, one.bill(), one.followsSpot(at(2))]).toEqual([
      'because',
      null,
      0,
      null,
      false,
    ]);
    expect(new ReplayedJob({ name: 'j', job: jobOf() }, null, STEPS).view(FACTS, at(0), false)).toBe(FACTS);
  });

  it('follows spot while it is there and not done, where somebody looks at spot', () => {
    const one = replayed({ hasMarket: true });
    expect([at(1) - 1, at(1)].map((instant) => one.followsSpot(instant))).toEqual([false, true]);
    one.runUntil(at(5));
    expect(one.followsSpot(at(5))).toBe(false);
    expect(replayed().followsSpot(at(1))).toBe(false);
  });
});

describe('a change of a job', () => {
  const changed = (action: string, change: Change = {}, over: Partial<JobCase> = {}) => {
    const one = replayed(over);
    return { one, isDone: one.change(action, change, at(1)) };
  };

  it('is none before it begins, after it is done, or of what this model does not know', () => {
    const one = replayed();
    expect(one.change('Stop', {}, at(1) - 1)).toBe(false);
    one.runUntil(at(5));
    expect(one.change('Stop', {}, at(5))).toBe(false);
    for (const action of ['Keep', 'RefuseLaunches']) expect(changed(action).isDone).toBe(false);
    expect(changed('Start', { replicas: 4, sku: 's' }).isDone).toBe(false);
    expect(changed('Start', { replicas: 4, instances: [] } as never).isDone).toBe(false);
    expect(changed('ScaleOut', {}).isDone).toBe(false);
  });

  it('to spot and back is another start each', () => {
    const { one, isDone } = changed('MoveToSpot');
    expect(isDone).toBe(true);
    expect(viewOf(one, 1)).toMatchObject({ term: 'spot', fleet: { changedAt: at(1) } });
    expect(viewOf(one, 1, true)?.term).toBe('on-demand');
    one.runUntil(at(2));
    expect(one.change('MoveToOnDemand', {}, at(2))).toBe(true);
    one.runUntil(at(9));
    // Half an hour of work on spot, and a start and the rest on demand.
    expect(one.bill()).toMatchObject({ cost: 1 + 2 * 4, restarts: 1 });
    const back = changed('MoveToSpot').one;
    back.restore();
    expect(viewOf(back, 1)?.term).toBe('on-demand');
  });

  it('pauses it until an instant, or until something starts it', () => {
    const { one } = changed('MoveToOffPeak', { startsAt: formatInstant(at(3)) });
    expect(viewOf(one, 2)?.fleet).toMatchObject({ ready: 0, booting: 0 });
    expect(viewOf(one, 2, true)?.fleet).toMatchObject({ booting: 2 });
    expect(viewOf(one, 3)?.fleet).toMatchObject({ booting: 2 });
    one.runUntil(at(8));
    expect(one.bill()).toMatchObject({ cost: 10 });
    const now = changed('MoveToOffPeak');
    expect(now.isDone).toBe(true);
    expect(viewOf(now.one, 1)?.fleet?.booting).toBe(2);
    for (const action of ['Stop', 'Release']) {
      const stopped = changed(action).one;
      stopped.runUntil(at(4));
      expect(stopped.cost).toBe(0);
      expect(stopped.change('Start', {}, at(4))).toBe(true);
      stopped.runUntil(at(5));
      expect(stopped.cost).toBe(4);
      stopped.change('Stop', {}, at(5));
      stopped.restore();
      expect(viewOf(stopped, 5)?.fleet?.ready).toBe(2);
    }
    const none = changed('ScaleIn', { replicas: 0 });
    expect(none.isDone).toBe(true);
    none.one.runUntil(at(4));
    expect(none.one.cost).toBe(0);
  });

  it('gives it more or fewer replicas where their speed was measured', () => {
    const { one, isDone } = changed('ScaleOut', { replicas: 4 });
    expect(isDone).toBe(true);
    expect(viewOf(one, 1)).toMatchObject({ fleet: { booting: 4 }, job: { workLeftHours: 2 / 1.5 } });
    expect(viewOf(one, 1, true)).toMatchObject({ fleet: { booting: 2 }, job: { workLeftHours: 2 } });
    one.runUntil(at(2));
    expect(one.cost).toBe(8);
    expect(one.sizes).toEqual([{ share: 2, speed: 1.5 }]);
    expect(one.change('Rightsize', { replicas: 2 }, at(2))).toBe(true);
    expect(viewOf(one, 2)?.fleet).toMatchObject({ ready: 2, changedAt: at(2) });
    expect(changed('ScaleIn', { replicas: 1 }).one.sizes).toEqual([{ share: 0.5, speed: 0.6 }]);
    const unknown = changed('ScaleOut', { replicas: 3 });
    expect([unknown.isDone, unknown.one.sizes]).toEqual([false, []]);
    expect(changed('Start', { replicas: -1 }).isDone).toBe(true);
  });

  it('is not told as one where nothing changed', () => {
    const one = replayed();
    one.runUntil(at(2));
    expect(one.change('MoveToOnDemand', {}, at(2))).toBe(true);
    expect(viewOf(one, 2)?.fleet?.changedAt).toBe(at(1));
  });

  it('moves it to another place, where its data is sent and paid once', () => {
    const there = { region: 'eu', provider: 'AWS', sku: 'x', egress: '7' };
    const { one, isDone } = changed('MoveToOnDemand', there);
    expect(isDone).toBe(true);
    expect(viewOf(one, 1)).toMatchObject({ region: 'eu', provider: 'AWS', sku: 'x' });
    expect(viewOf(one, 1)).not.toHaveProperty('zone');
    expect(viewOf(one, 1, true)).toMatchObject({ region: 'us-east-1', zone: 'us-east-1a' });
    one.runUntil(at(3));
    expect(one.cost).toBe(7 + 2 * 2);
    expect(one.change('MoveToSpot', { ...there, egress: '9' }, at(3))).toBe(true);
    expect(one.places.places.map(({ no, facts }) => [no, facts.region])).toEqual([[1, 'eu']]);
    expect(one.places.sent.get(wayOf(0, 1))).toBe(7);
    one.change('MoveToSpot', { ...there, sku: 'y', zone: 'eu-1' }, at(3));
    expect(one.places.places.map(({ no, facts }) => [no, facts.zone])).toEqual([
      [1, undefined],
      [2, 'eu-1'],
    ]);
    expect(one.places.sent.get(wayOf(1, 2))).toBe(7);
  });

  it('moves it nowhere where what that costs is unknown', () => {
    for (const change of [
      { region: 'eu' },
      { region: 'eu', egress: 'much' },
      { region: 'asia', egress: '1' },
    ] as readonly Change[]) {
      const { one, isDone } = changed('MoveToSpot', change);
      expect(isDone).toBe(false);
      expect(viewOf(one, 1)?.term).toBe('on-demand');
    }
  });
});

it('measures of jobs are sums, and count the late and the unfinished', () => {
  const bill = { cost: 1, paid: new Float64Array(1), restarts: 2, isLate: true, hoursLate: 3 };
  expect(
    jobMeasures([
      { ...bill, isUnfinished: false, unverifiedGpuHours: 4 },
      { ...bill, isLate: false, hoursLate: 0, isUnfinished: true, unverifiedGpuHours: 1 },
    ]),
  ).toEqual({ restarts: 4, missedDeadlines: 1, hoursLate: 3, unfinishedJobs: 1, unverifiedGpuHours: 5 });
  expect(jobMeasures([])).toMatchObject({ restarts: 0, missedDeadlines: 0 });
});

describe('what else could have been done with a job', () => {
  const results = (jobs: readonly JobCase[], ...more: unknown[]) =>
    Object.fromEntries(
      jobAlternatives(jobs, 'spot-shift', STEPS, new Map(), ...(more as [])).map((one) => {
        const { name, cost } = one();
        return [name, Math.round(cost * 1e6) / 1e6];
      }),
    );
  /** Ten minutes each, spot gone in the hours named. */
  const ticks = (gone: readonly number[], over: Partial<JobSlot> = {}): JobSlot[] =>
    Array.from({ length: 42 }, (_, n) => ({
      ...slot(1 + n / 6, over),
      from: at(1) + n * 10 * MINUTE_MS,
      ms: 10 * MINUTE_MS,
      ...(gone.includes(1 + Math.floor(n / 6)) ? { spot: null } : {}),
    }));

  it('is nothing of a policy without jobs, or where there are none', () => {
    expect(jobAlternatives([jobOf()], 'idle-stop', STEPS, new Map())).toEqual([]);
    expect(jobAlternatives([], 'spot-shift', STEPS, new Map())).toEqual([]);
  });

  it('is on demand, and the best; and rules of spot where one has a deadline and spot was seen before it', () => {
    const risky = jobOf({ deadline: at(6), slots: ticks([]) });
    expect(results([risky])).toEqual({ 'on-demand': 10, greedy: 2.5, 'uniform-progress': 2.5, clairvoyant: 2.5 });
    const names = (over: Partial<JobCase>) => Object.keys(results([jobOf({ deadline: at(6), ...over })]));
    const few = ['on-demand', 'clairvoyant'];
    expect(names({ deadline: null })).toEqual(few);
    expect(names({ mayMove: false })).toEqual(few);
    expect(names({ slots: ticks([1, 2, 3, 4, 5]) })).toEqual(few);
    expect(names({ slots: ticks([], { isVerified: false }) })).toEqual(few);
    expect(names({ slots: ticks([1, 2, 3, 4]) })).toHaveLength(4);
  });

  it('changes nothing of a job that may not be moved, and leaves one that is on spot there', () => {
    const fixed = jobOf({ mayMove: false, own: SPOT, slots: ticks([]) });
    expect(results([fixed])).toEqual({ 'on-demand': 2.5, clairvoyant: 2.5 });
    const two = [fixed, jobOf({ deadline: at(6), slots: ticks([]) })];
    expect(results(two)).toEqual({ 'on-demand': 12.5, greedy: 5, 'uniform-progress': 5, clairvoyant: 5 });
  });

  it('does not choose spot where nobody looked', () => {
    const slots = ticks([]).map((one, n) => (n < 6 ? { ...one, spot: 4, isVerified: false } : one));
    // By the greedy rule it waits an hour for spot.
    expect(results([jobOf({ deadline: at(7), slots })])['greedy']).toBe(2.5);
  });

  it('greedy waits for spot as long as the deadline lets it, and then goes on demand', () => {
    // An hour on spot, of which half is a start; the other hour and a half and their start fill the last two hours.
    const job = jobOf({ deadline: at(5), slots: ticks([2, 3, 4, 5, 6, 7]) });
    const greedy = jobAlternatives([job], 'spot-shift', STEPS, new Map()).find((one) => one().name === 'greedy')!();
    expect(greedy.measures).toEqual({ restarts: 1, missedDeadlines: 0, hoursLate: 0, unfinishedJobs: 0 });
    expect(greedy.cost).toBeCloseTo(1 + 2 * 4, 6);
    expect(greedy.paid).toHaveLength(1);
    expect(greedy.paid![0]).toBeCloseTo(greedy.cost, 9);
  });

  it('the best is done by the deadline, or by when doing nothing is done', () => {
    const slots = [1, 2, 3, 4, 5, 6, 7].map((hour) => slot(hour, { spot: null, onDemand: hour < 5 ? 4 : 1 }));
    // Doing nothing is done at half past three.
    expect(results([jobOf({ slots })])['clairvoyant']).toBe(10);
    expect(results([jobOf({ slots, deadline: at(5) })])['clairvoyant']).toBe(10);
    expect(results([jobOf({ slots, deadline: at(6) })])['clairvoyant']).toBe(8.5);
    expect(results([jobOf({ slots, deadline: at(7.5) })])['clairvoyant']).toBe(2.5);
    expect(results([jobOf({ slots, deadline: at(2) })])['clairvoyant']).toBe(10);
  });

  it('the best may have the sizes and places that the policy gave it', () => {
    const sizes = new Map([['j', [{ share: 2, speed: 4 }]]]);
    const best = (...given: readonly [typeof sizes, ...unknown[]]) =>
      jobAlternatives([jobOf({ mayMove: false })], 'ramp', STEPS, given[0]).at(-1)!().cost;
    expect(best(new Map())).toBe(10);
    // Half an hour to start and half an hour of work, on twice as many.
    expect(best(sizes)).toBeCloseTo(8, 6);
    const place = {
      no: 1,
      facts: { provider: 'AWS', region: 'eu', sku: 'x' },
      slots: jobOf().slotsAt({ region: 'eu' } as never)!,
    };
    const cheap = { ...place, slots: place.slots.map((one) => ({ ...one, spot: null, onDemand: 0.4 })) };
    const been = (egress: number) => new Map([['j', { places: [cheap], sent: new Map([[wayOf(0, 1), egress]]) }]]);
    expect(results([jobOf()], been(1))['clairvoyant']).toBe(2);
    expect(results([jobOf()], been(9))['clairvoyant']).toBe(2.5);
  });
});
