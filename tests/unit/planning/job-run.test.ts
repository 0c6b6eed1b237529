/** A job's way through its slots, at other sizes and places, and its bill when the window ends. */
import { describe, expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';
import {
  JobRun,
  runJob,
  spendSlot,
  wayOf,
  type JobCase,
  type JobSlot,
  type JobState,
} from '../../../src/planning/policy/job-run.js';
import { CostSteps, finished, within, type Steps } from '../../../src/planning/policy/steps.js';
import { IDLE, ON_DEMAND, SPOT } from '../../../src/planning/spot/problem.js';

const slot = (hour: number, over: Partial<JobSlot> = {}): JobSlot => ({
  from: hour * HOUR_MS,
  ms: HOUR_MS,
  onDemand: 4,
  spot: 1,
  isVerified: true,
  ...over,
});
const state = (over: Partial<JobState> = {}): JobState => ({
  held: ON_DEMAND,
  restartLeftMs: 0,
  workLeftMs: 3 * HOUR_MS,
  ...over,
});

describe('a slot', () => {
  it('at another size is another start, at its share of the price and its speed', () => {
    const spent = spendSlot(slot(0), state(), ON_DEMAND, HOUR_MS / 2, { share: 2, speed: 1.5 });
    expect(spent).toEqual({
      state: state({ workLeftMs: 2.25 * HOUR_MS, size: { share: 2, speed: 1.5 } }),
      cost: 8,
      ranMs: HOUR_MS,
      isStart: true,
    });
    expect(spendSlot(slot(1), spent.state, ON_DEMAND, HOUR_MS / 2, { share: 2, speed: 1.5 })).toMatchObject({
      state: { workLeftMs: 0.75 * HOUR_MS },
      isStart: false,
    });
    expect(spendSlot(slot(1), spent.state, ON_DEMAND, HOUR_MS / 2)).toMatchObject({ isStart: true, cost: 4 });
  });

  it('ends when the work does: sooner on faster machines, and at its very end', () => {
    const fast = { share: 2, speed: 2 };
    expect(spendSlot(slot(0), state({ workLeftMs: HOUR_MS, size: fast }), ON_DEMAND, HOUR_MS, fast)).toMatchObject({
      state: { workLeftMs: 0 },
      ranMs: HOUR_MS / 2,
      cost: 4,
    });
    expect(spendSlot(slot(0), state({ workLeftMs: HOUR_MS }), ON_DEMAND, HOUR_MS)).toMatchObject({
      state: { workLeftMs: 0 },
      ranMs: HOUR_MS,
    });
    expect(spendSlot(slot(0), state({ workLeftMs: 0 }), ON_DEMAND, HOUR_MS)).toEqual({
      state: state({ workLeftMs: 0 }),
      cost: 0,
      ranMs: 0,
      isStart: false,
    });
  });

  it('at another place is another start, and what is sent there is paid once', () => {
    const there = { place: 1, egress: 7 };
    const spent = spendSlot(slot(0), state(), ON_DEMAND, HOUR_MS / 2, undefined, there);
    expect(spent).toMatchObject({ isStart: true, cost: 4 + 7, state: { place: 1, workLeftMs: 2.5 * HOUR_MS } });
    expect(spendSlot(slot(1), spent.state, ON_DEMAND, HOUR_MS / 2, undefined, there)).toMatchObject({
      isStart: false,
      cost: 4,
    });
    // Its checkpoint stays where it is while nothing runs.
    expect(spendSlot(slot(1), spent.state, IDLE, HOUR_MS / 2).state).toEqual({
      held: IDLE,
      restartLeftMs: 0,
      workLeftMs: 2.5 * HOUR_MS,
      place: 1,
    });
    const back = spendSlot(slot(1), spent.state, ON_DEMAND, HOUR_MS / 2, undefined, { place: 0, egress: 7 });
    expect(back).toMatchObject({ isStart: true, cost: 11 });
    expect(back.state).not.toHaveProperty('place');
  });

  it('ways between places are named by both ends', () => {
    expect(new Set([wayOf(0, 1), wayOf(1, 0), wayOf(1, 1)]).size).toBe(3);
  });
});

const job = (over: Partial<JobCase> = {}): JobCase => ({
  name: 'j',
  since: 0,
  deadline: null,
  gpus: 8,
  replicas: 1,
  speedAt: () => null,
  own: SPOT,
  slotsAt: () => null,
  hasMarket: true,
  mayMove: true,
  first: state({ held: IDLE, workLeftMs: 2 * HOUR_MS }),
  restartMs: HOUR_MS / 2,
  slots: [slot(0), slot(1), slot(2), slot(3)],
  ...over,
});
const STEPS = new CostSteps({ from: 0, to: 4 * HOUR_MS });
const billOf = (one: JobCase, decide: Parameters<typeof runJob>[2]) => runJob(one, STEPS, decide).bill();

describe('the bill of a job', () => {
  it('is what its slots cost until its work is done; the first start is no restart', () => {
    expect(billOf(job(), () => ON_DEMAND)).toEqual({
      cost: 10,
      paid: Float64Array.of(10),
      restarts: 0,
      isLate: false,
      hoursLate: 0,
      isUnfinished: false,
      unverifiedGpuHours: 0,
    });
    const there = job({ first: state({ held: SPOT, workLeftMs: 2 * HOUR_MS }) });
    expect(billOf(there, () => SPOT)).toMatchObject({ cost: 2, restarts: 0 });
    expect(billOf(there, () => ON_DEMAND)).toMatchObject({ cost: 10, restarts: 1 });
    expect(billOf(job(), ({ from }) => (from === 0 ? ON_DEMAND : SPOT))).toMatchObject({ cost: 4 + 2, restarts: 1 });
  });

  it('is late where it is done after its deadline, and not where it is done by it', () => {
    const late = (deadline: number) => {
      const { isLate, hoursLate } = billOf(job({ deadline: deadline * HOUR_MS }), () => ON_DEMAND);
      return [isLate, hoursLate];
    };
    expect(late(2.5)).toEqual([false, 0]);
    expect(late(2)).toEqual([true, 0.5]);
    expect(late(3)).toEqual([false, 0]);
  });

  it('pays what is left at the end as if it ran on demand from then on, and calls it unfinished', () => {
    const slots = [slot(0), slot(1, { onDemand: 6 })];
    const short = { slots, deadline: 2 * HOUR_MS };
    // Half an hour to start, an hour and a half of four done: two and a half hours and no other start.
    const work = state({ held: IDLE, workLeftMs: 4 * HOUR_MS });
    expect(billOf(job({ ...short, first: work }), () => ON_DEMAND)).toMatchObject({
      cost: 4 + 6 + 2.5 * 6,
      isUnfinished: true,
      isLate: true,
      hoursLate: 2.5,
    });
    // On spot it has to start again.
    expect(billOf(job({ ...short, first: work }), () => SPOT)).toMatchObject({ cost: 2 + 3 * 6, hoursLate: 3 });
    expect(billOf(job({ ...short, first: work }), () => IDLE)).toMatchObject({
      cost: 4.5 * 6,
      paid: Float64Array.of(27),
      hoursLate: 4.5,
    });
    // A restart that is not over is what is left of it.
    const slow = job({ ...short, first: work, restartMs: 3 * HOUR_MS });
    expect(billOf(slow, () => ON_DEMAND)).toMatchObject({ cost: 4 + 6 + 5 * 6 });
    const none = job({ slots: [], first: work, since: HOUR_MS, deadline: 2 * HOUR_MS });
    expect(billOf(none, () => IDLE)).toMatchObject({ cost: 0, isUnfinished: true, hoursLate: 3.5 });
  });

  it('pays the rest where it was last, and starts again at its own size', () => {
    const run = new JobRun(job({ slots: [slot(0)], first: state({ held: ON_DEMAND }) }), STEPS);
    run.spend(slot(0, { onDemand: 10 }), ON_DEMAND, { share: 0.5, speed: 0.5 }, { place: 1, egress: 1 });
    // A quarter of an hour of work was done.
    expect(run.bill()).toMatchObject({ cost: 5 + 1 + (2.75 + 0.5) * 10, restarts: 1 });
  });

  it('counts GPU-hours that wanted spot where nobody looked', () => {
    const unseen = job({ slots: [0, 1, 2].map((hour) => slot(hour, { spot: 4, isVerified: hour === 0 })) });
    expect(billOf(unseen, () => SPOT)).toMatchObject({ unverifiedGpuHours: 1.5 * 8, cost: 10 });
    expect(billOf(unseen, () => ON_DEMAND).unverifiedGpuHours).toBe(0);
    const run = new JobRun(unseen, STEPS);
    run.spend(unseen.slots[1]!, SPOT, { share: 0.5, speed: 0.5 });
    expect(run.bill().unverifiedGpuHours).toBe(4);
  });

  it('is nothing of work that was done before it began, and nothing is decided after it is done', () => {
    const done = job({ first: state({ workLeftMs: 0 }), since: HOUR_MS });
    expect(runJob(done, STEPS, () => ON_DEMAND).doneAt).toBe(HOUR_MS);
    expect(billOf(done, () => ON_DEMAND)).toMatchObject({ cost: 0, isUnfinished: false });
    const asked: number[] = [];
    const run = runJob(job(), STEPS, ({ from }) => {
      asked.push(from / HOUR_MS);
      return ON_DEMAND;
    });
    expect(asked).toEqual([0, 1, 2]);
    expect(run.doneAt).toBe(2.5 * HOUR_MS);
  });
});

describe('the steps of a window', () => {
  it('are days, or as many days each as leave 120 steps', () => {
    const stepsOf = (days: number) => {
      const { stepMs, count } = new CostSteps({ from: 0, to: days * DAY_MS });
      return [stepMs / DAY_MS, count];
    };
    expect([0.5, 1, 1.5, 120, 120.5, 240, 241].map(stepsOf)).toEqual([
      [1, 1],
      [1, 1],
      [1, 2],
      [1, 120],
      [2, 61],
      [2, 120],
      [3, 81],
    ]);
  });

  it('hold each instant in one of them, and end with the window', () => {
    const steps = new CostSteps({ from: DAY_MS, to: 3.5 * DAY_MS });
    expect([0, 1, 1.9, 2, 3.4, 3.5, 9].map((day) => steps.at(day * DAY_MS))).toEqual([0, 0, 0, 1, 2, 2, 2]);
    expect(steps.bounds(0)).toEqual([DAY_MS, 2 * DAY_MS]);
    expect(steps.bounds(2)).toEqual([3 * DAY_MS, 3.5 * DAY_MS]);
  });

  it('add up, and are shown to four decimals', () => {
    const steps = new CostSteps({ from: 0, to: 2 * DAY_MS });
    const sum = steps.sum([{ paid: Float64Array.of(1, 2) }, { paid: Float64Array.of(0.12346, 4) }]);
    expect([...sum]).toEqual([1.12346, 6]);
    expect([...steps.sum([])]).toEqual([0, 0]);
    expect(steps.series(new Map([['p', sum]]))).toEqual({
      from: '1970-01-01T00:00:00Z',
      stepHours: 24,
      costs: { p: [1.1235, 6] },
    });
  });

  it('of work within longer work are told as its part', () => {
    function* work(): Steps<string> {
      yield 0;
      yield 0.5;
      return 'done';
    }
    const seen: number[] = [];
    const inner = within(work(), 0.2, 0.6);
    let step = inner.next();
    for (; step.done !== true; step = inner.next()) seen.push(step.value);
    expect([seen, step.value, finished(work())]).toEqual([[0.2, 0.4], 'done', 'done']);
  });
});
