/** The limits of the rule for idle GPUs: a stale silence, the first minutes, and what memory says of a process. */
import { describe, expect, it } from 'vitest';
import { IDLE_DEFAULTS, IdlePlanner, type IdleSettings } from '../../../src/planning/idle/planner.js';
import { Quiets, spanEnd, spanOf, SPAN_STARTS, SPANS } from '../../../src/planning/idle/quiets.js';
import {
  activityOf,
  HOUSEKEEPING_PERCENT,
  utilisationOrMissing,
  WORKING_PERCENT,
  type IdleSample,
} from '../../../src/planning/idle/samples.js';
import { clairvoyantSaving } from '../../../src/planning/idle/simulate.js';
import { evidence } from '../../support/idle-evidence.js';

const plannerOf = (over: Partial<IdleSettings> = {}): IdlePlanner =>
  new IdlePlanner({ ...IDLE_DEFAULTS, restartMinutes: 10, ...over });

describe('one sample', () => {
  it('is at work from the least percent of work on, and where requests come', () => {
    expect(activityOf(evidence(0, WORKING_PERCENT))).toBe('working');
    expect(activityOf(evidence(0, WORKING_PERCENT - 0.01))).toBe('quiet');
    expect(activityOf(evidence(0, null, { requestsPerSecond: 1 }))).toBe('working');
    expect(activityOf(evidence(0, null, { requestsPerSecond: 0 }))).toBe('unknown');
    expect(activityOf(evidence(0, HOUSEKEEPING_PERCENT, { workload: null }))).toBe('working');
    expect(activityOf(evidence(0, HOUSEKEEPING_PERCENT - 0.01, { workload: null }))).toBe('quiet');
    expect(activityOf(evidence(0, 1, { workload: null, requestsPerSecond: 0 }))).toBe('quiet');
    for (const workload of ['Inference', 'serving', 'api', 'endpoint', 'online', 'chat'])
      expect(activityOf(evidence(0, 0, { workload }))).toBe('unknown');
  });

  it('is missing below 0, above 100, and from the first blank code on', () => {
    expect([0, 100, -0.01, 100.01, Infinity, 2_147_483_631, 9.2e18].map(utilisationOrMissing)).toEqual([
      0,
      100,
      null,
      null,
      null,
      null,
      null,
    ]);
  });
});

describe('a silence', () => {
  /** How long the quiet is by the sample after a silence, sampled so often before. */
  const quietAfter = (silence: number, interval: number, over: Partial<IdleSettings> = {}): number => {
    const planner = plannerOf(over);
    for (let n = 0; n < 4; n++) planner.decide(evidence(n * interval, 0));
    return planner.decide(evidence(3 * interval + silence, 0)).quietMinutes;
  };

  it('is stale only beyond the minutes of the settings and two and a half intervals', () => {
    expect([quietAfter(5, 1), quietAfter(5.1, 1)]).toEqual([8, 0]);
    expect([quietAfter(8, 1, { staleMinutes: 8 }), quietAfter(9, 1, { staleMinutes: 8 })]).toEqual([11, 0]);
    expect([quietAfter(10, 4), quietAfter(10.1, 4)]).toEqual([22, 0]);
  });

  it('counts from the last sample that said something: what is unknown does not go on with a quiet', () => {
    const planner = plannerOf();
    planner.decide(evidence(0, 0));
    planner.decide(evidence(1, 0));
    expect(planner.decide(evidence(4, null))).toEqual({
      stop: false,
      reason: 'unknown',
      quietMinutes: 0,
      falseStopProbability: null,
      expectedSavedMinutes: null,
    });
    expect(planner.decide(evidence(6, 0)).quietMinutes).toBe(6);
    expect(planner.decide(evidence(12, 0)).quietMinutes).toBe(0);
  });

  it('samples of one moment say nothing of how often it is sampled', () => {
    const planner = plannerOf();
    planner.decide(evidence(0, 0));
    planner.decide(evidence(0, 0));
    planner.decide(evidence(4, 0));
    expect(planner.decide(evidence(14, 0)).quietMinutes).toBe(14);
  });
});

describe('the decision', () => {
  it('is too soon below the fewest minutes of quiet, and not at them', () => {
    const planner = plannerOf({ minimumQuietMinutes: 3 });
    const reasons = [0, 1, 2, 2.9, 3].map((minute) => planner.decide(evidence(minute, 0)).reason);
    expect(reasons.slice(0, 4)).toEqual(['too-soon', 'too-soon', 'too-soon', 'too-soon']);
    expect(reasons[4]).not.toBe('too-soon');
  });

  it('waits where it may return, and where waiting pays', () => {
    const last = (over: Partial<IdleSettings>) => {
      const planner = plannerOf(over);
      for (let minute = 0; minute < 3; minute++) planner.decide(evidence(minute, 0));
      return planner.decide(evidence(3, 0));
    };
    const careful = last({ maximumFalseStopProbability: 0.01 });
    expect(careful).toMatchObject({ stop: false, reason: 'may-return' });
    expect(careful.falseStopProbability).toBeGreaterThan(0.01);
    expect(last({ maximumFalseStopProbability: 1, restartMinutes: 1e6 })).toMatchObject({
      stop: false,
      reason: 'wait-pays',
    });
    expect(last({ maximumFalseStopProbability: 1, falseStopMinutes: 0, restartMinutes: 0 })).toMatchObject({
      stop: true,
      reason: 'idle',
      quietMinutes: 3,
    });
  });

  it('begins anew at work, and for each GPU by itself', () => {
    const planner = plannerOf();
    planner.decide(evidence(0, 0));
    expect(planner.decide(evidence(1, 50))).toMatchObject({ reason: 'working', quietMinutes: 0 });
    expect(planner.decide(evidence(2, 0)).quietMinutes).toBe(0);
    expect(planner.decide(evidence(3, 0, { resource: 'gpu-1' })).quietMinutes).toBe(0);
    expect(planner.decide(evidence(3, 0)).quietMinutes).toBe(1);
    planner.returned('gpu-0', 4);
    expect(planner.decide(evidence(5, 0)).quietMinutes).toBe(0);
    planner.returned('never seen', 5);
  });
});

describe('memory', () => {
  /** Whether a quiet with the second memory is another kind of quiet than one with the first. */
  const isAnother = (before: number | null, after: number | null, busy: number | null = 0.8): boolean => {
    const planner = plannerOf();
    planner.decide(evidence(0, 90, { memoryUsedRatio: busy }));
    for (let minute = 1; minute <= 40; minute++) planner.decide(evidence(minute, 0, { memoryUsedRatio: before }));
    const going = planner.decide(evidence(41, 0, { memoryUsedRatio: before })).falseStopProbability!;
    const next = planner.decide(evidence(42, 0, { memoryUsedRatio: after })).falseStopProbability!;
    // A kind that begins is likelier to end soon.
    return next > going + 0.1;
  };

  it('tells a GPU without a process, one that released its memory, and one that holds it apart', () => {
    expect(isAnother(0.8, 0.8)).toBe(false);
    expect([isAnother(0.8, 0.4), isAnother(0.8, 0.399)]).toEqual([false, true]);
    expect([isAnother(0.0009, 0.0001), isAnother(0.0009, 0.001)]).toEqual([false, true]);
    expect([isAnother(0.1, 0.0009), isAnother(0.1, 0.001)]).toEqual([true, false]);
    expect(isAnother(0.1, 0.8)).toBe(true);
  });

  it('says nothing where nobody saw it at work, and one lost reading changes nothing', () => {
    expect(isAnother(0.1, 0.8, null)).toBe(false);
    expect(isAnother(0.1, 0.0005, null)).toBe(true);
    expect(isAnother(0.8, null)).toBe(false);
    expect(isAnother(null, 0.8)).toBe(true);
  });
});

describe('the spans of ages', () => {
  it('follow each other, each minute at first, and the last has no end', () => {
    expect([...SPAN_STARTS].slice(0, 13)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect([spanOf(0, 0), spanOf(0.99, 0), spanOf(1, 0), spanOf(11.9, 3), spanOf(12, 0)]).toEqual([0, 0, 1, 11, 12]);
    expect(spanOf(1e9, 0)).toBe(SPANS - 1);
    expect(spanEnd(0)).toBe(1);
    expect(spanEnd(SPANS - 1)).toBeCloseTo(SPAN_STARTS[SPANS - 1]! * 1.1, 9);
  });

  it('count what came, moved, ended and was lost, and halve it when there was much', () => {
    const sum = (all: Float64Array): number => all.reduce((whole, one) => whole + one, 0);
    const quiets = new Quiets(2);
    quiets.begin();
    quiets.move(0, 5);
    expect([quiets.cameTo[0], quiets.cameTo[5]]).toEqual([0, 1]);
    quiets.end(5);
    expect(quiets.cameTo[5]).toBe(0);
    expect(sum(quiets.ended)).toBeCloseTo(1, 9);
    quiets.begin();
    quiets.end(0);
    expect(quiets.ended[0]).toBe(1);
    // One that was lost is half forgotten with the others, one that lasts is not.
    quiets.begin();
    quiets.move(0, 7);
    quiets.lose(7);
    quiets.begin();
    quiets.move(0, 9);
    expect(sum(quiets.ended)).toBeCloseTo(2, 9);
    quiets.begin();
    quiets.end(0);
    expect(sum(quiets.ended)).toBeCloseTo(1.5, 9);
    expect([quiets.cameTo[7], quiets.cameTo[9]]).toEqual([0.5, 1]);
  });
});

it('the optimum stops what outlasts the restart, also where the data ends in it', () => {
  const sample = (minute: number, useful: boolean | null, resource = 'gpu-0'): IdleSample => ({
    evidence: evidence(minute, 0, { resource }),
    useful,
  });
  const until = (last: number) => clairvoyantSaving([sample(7, false), sample(last, false)], 5);
  expect([until(11), until(12), until(13)]).toEqual([0, 0, 6]);
  const ended = (last: number) => clairvoyantSaving([sample(7, false), sample(last, true)], 5);
  expect([ended(11), ended(12), ended(13)]).toEqual([0, 0, 1]);
  const two = [sample(0, false), sample(0, false, 'gpu-1'), sample(20, true), sample(30, null, 'gpu-1')];
  expect(clairvoyantSaving(two, 5)).toBe(15 + 25);
});
