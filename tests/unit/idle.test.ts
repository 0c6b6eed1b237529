import { describe, expect, it } from 'vitest';
import { below30For30, skiRental, zeroFor60 } from '../../src/planning/idle/opponents.js';
import { IDLE_DEFAULTS, IdlePlanner } from '../../src/planning/idle/planner.js';
import { activityOf, utilisationOrMissing, type IdleEvidence, type IdleSample } from '../../src/planning/idle/samples.js';
import { byTime, clairvoyantSaving, simulateIdle, type IdlePolicy } from '../../src/planning/idle/simulate.js';

const evidence = (minute: number, percent: number | null, more: Partial<IdleEvidence> = {}): IdleEvidence => ({
  resource: 'gpu-0', minute, gpuUtilPercent: percent, requestsPerSecond: null, memoryUsedRatio: 0.1, workload: 'training', ...more,
});
const settings = { ...IDLE_DEFAULTS, restartMinutes: 10 };
/** The minute at which a policy first stops a stream of one sample per minute; null if never. */
function firstStop(policy: IdlePolicy, samples: readonly IdleEvidence[]): number | null {
  return samples.find((sample) => policy.observe(sample))?.minute ?? null;
}
const stream = (minutes: number, make: (minute: number) => IdleEvidence): IdleEvidence[] => Array.from({ length: minutes }, (_, minute) => make(minute));

describe('evidence', () => {
  it('finds a service at work at 0.5 % utilisation by its requests', () => {
    expect(activityOf(evidence(0, 0, { workload: 'inference', requestsPerSecond: 2 }))).toBe('working');
    expect(activityOf(evidence(0, 0, { workload: 'inference', requestsPerSecond: 0 }))).toBe('quiet');
    expect(activityOf(evidence(0, 0, { workload: 'inference' }))).toBe('unknown');
    expect(activityOf(evidence(0, 0.5, { workload: null }))).toBe('working');
    expect(activityOf(evidence(0, 0.07, { workload: null }))).toBe('quiet');
  });

  it('takes a blank, an impossible and the DCGM blank value as missing, never as idle', () => {
    expect([Number('9223372036854775794'), Number.NaN, -1, 101, 2_147_483_632].map(utilisationOrMissing)).toEqual([null, null, null, null, null]);
    expect([0, 0.5, 100].map(utilisationOrMissing)).toEqual([0, 0.5, 100]);
    expect(activityOf(evidence(0, null))).toBe('unknown');
  });
});

describe('the published rules', () => {
  it('stop after 30 minutes below 30 %, and after 60 at 0 %', () => {
    expect(firstStop(below30For30(), stream(100, (minute) => evidence(minute, minute < 5 ? 30 : 29)))).toBe(35);
    expect(firstStop(zeroFor60(), stream(100, (minute) => evidence(minute, minute === 20 ? 1 : 0)))).toBe(81);
  });

  it('stop by ski rental when the idle time has cost a restart', () => {
    expect(firstStop(skiRental(10, 5), stream(30, (minute) => evidence(minute, minute < 4 ? 90 : 1)))).toBe(14);
  });
});

describe('scoring', () => {
  const sample = (minute: number, useful: boolean | null, resource = 'gpu-0'): IdleSample => ({ evidence: evidence(minute, 0, { resource }), useful });
  const stopAt = (minutes: readonly number[]): IdlePolicy => ({ observe: ({ minute }) => minutes.includes(minute), returned: () => undefined });

  it('credits the minutes away less the restart, and calls a return within ten minutes false', () => {
    // Idle 10..39 and 50..54, useful else, until minute 59.
    const samples = Array.from({ length: 60 }, (_, minute) => sample(minute, !((minute >= 10 && minute < 40) || (minute >= 50 && minute < 55))));
    expect(simulateIdle(samples, 10, stopAt([15, 51]))).toEqual({ spells: 2, idleMinutes: 35, savedMinutes: 25 - 10 + 4 - 10, stops: 2, falseStops: 1 });
    expect(clairvoyantSaving(samples, 10)).toBe(20);
    expect(clairvoyantSaving(samples, 2)).toBe(28 + 3);
  });

  it('charges a restart for stopping what was useful, and none where the data ends', () => {
    const samples = [sample(0, true), sample(1, true), sample(2, false), sample(12, false)];
    expect(simulateIdle(samples, 5, stopAt([0]))).toMatchObject({ savedMinutes: 1 - 5, stops: 1, falseStops: 1 });
    expect(simulateIdle(samples, 5, stopAt([2]))).toMatchObject({ savedMinutes: 10, falseStops: 0 });
    expect(clairvoyantSaving(samples, 5)).toBe(10);
  });

  it('claims no saving where the truth is not recorded', () => {
    expect(simulateIdle([sample(0, null), sample(30, null)], 5, stopAt([0]))).toMatchObject({ idleMinutes: 0, savedMinutes: 25, spells: 0 });
    expect(clairvoyantSaving([sample(0, null), sample(30, null)], 5)).toBe(0);
  });

  it('orders samples of many GPUs by time', () => {
    expect(byTime([sample(3, true, 'a'), sample(1, true, 'b'), sample(3, true, 'c')]).map(({ evidence: { resource } }) => resource)).toEqual(['b', 'a', 'c']);
  });
});

describe('the idle planner', () => {
  it('never stops on missing evidence, however long', () => {
    expect(firstStop(new IdlePlanner(settings), stream(3000, (minute) => evidence(minute, null)))).toBeNull();
  });

  it('never stops a service that answers, or whose requests nobody counts', () => {
    expect(firstStop(new IdlePlanner(settings), stream(3000, (minute) => evidence(minute, minute % 9 === 0 ? 3 : 0, { workload: 'inference', requestsPerSecond: 2 })))).toBeNull();
    expect(firstStop(new IdlePlanner(settings), stream(3000, (minute) => evidence(minute, 0, { workload: 'inference' })))).toBeNull();
  });

  it('begins anew after a silence: two old samples are no long quiet', () => {
    const planner = new IdlePlanner(settings);
    const samples = [evidence(0, 0), evidence(1, 0), evidence(2, 0), evidence(300, 0)];
    const decisions = samples.map((sample) => planner.decide(sample));
    expect(decisions.every(({ stop }) => !stop)).toBe(true);
    expect(decisions[3]!.quietMinutes).toBe(0);
  });

  it('keeps an input-bound training whose every second minute looks idle', () => {
    expect(firstStop(new IdlePlanner(settings), stream(2000, (minute) => evidence(minute, minute % 2 === 0 ? 0 : 60)))).toBeNull();
  });

  it('learns to wait out the pauses that a GPU always makes, and to stop what outlasts them', () => {
    const planner = new IdlePlanner(settings);
    // Work of 40 minutes and a pause of 10, twenty times; then a pause without end.
    const decisions = stream(1000 + 300, (minute) => evidence(minute, minute < 1000 && minute % 50 < 40 ? 95 : 0)).map((sample) => planner.decide(sample));
    const early = decisions.slice(500, 1000).filter(({ stop }) => stop).length;
    const stopped = decisions.findIndex(({ stop }, minute) => minute >= 990 && stop);
    expect(early).toBe(0);
    expect(stopped).toBeGreaterThanOrEqual(1000);
    expect(stopped).toBeLessThan(1010);
    expect(decisions[stopped]).toMatchObject({ reason: 'idle', quietMinutes: stopped - 990 });
  });

  it('decides from the past alone', () => {
    const samples = stream(600, (minute) => evidence(minute, minute % 60 < 25 ? 80 : 0));
    const decide = (all: readonly IdleEvidence[]): boolean[] => {
      const planner = new IdlePlanner(settings);
      return all.map((sample) => planner.observe(sample));
    };
    const shuffled = [...samples.slice(0, 400), ...samples.slice(400).map((sample, i) => ({ ...sample, gpuUtilPercent: i % 3 === 0 ? 90 : 0 }))];
    expect(decide(shuffled).slice(0, 400)).toEqual(decide(samples).slice(0, 400));
  });
});
