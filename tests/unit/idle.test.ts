import { describe, expect, it } from 'vitest';
import { below30For30, skiRental, zeroFor60 } from '../../src/planning/idle/opponents.js';
import { StopPlan } from '../../src/planning/idle/stop-plan.js';
import { IDLE_DEFAULTS, IdlePlanner } from '../../src/planning/idle/planner.js';
import { Quiets, SPAN_STARTS, spanOf, SPANS } from '../../src/planning/idle/quiets.js';
import {
  activityOf,
  utilisationOrMissing,
  type IdleEvidence,
  type IdleSample,
} from '../../src/planning/idle/samples.js';
import { byTime, clairvoyantSaving, simulateIdle, type IdlePolicy } from '../../src/planning/idle/simulate.js';
import { mulberry32 } from '../../src/lab/random.js';
import { evidence } from '../support/idle-evidence.js';

const settings = { ...IDLE_DEFAULTS, restartMinutes: 10 };
/** The minute at which a policy first stops a stream of one sample per minute; null if never. */
function firstStop(policy: IdlePolicy, samples: readonly IdleEvidence[]): number | null {
  return samples.find((sample) => policy.observe(sample))?.minute ?? null;
}
const stream = (minutes: number, make: (minute: number) => IdleEvidence): IdleEvidence[] =>
  Array.from({ length: minutes }, (_, minute) => make(minute));

describe('evidence', () => {
  it('finds a service at work at 0.5 % utilisation by its requests', () => {
    expect(activityOf(evidence(0, 0, { workload: 'inference', requestsPerSecond: 2 }))).toBe('working');
    expect(activityOf(evidence(0, 0, { workload: 'inference', requestsPerSecond: 0 }))).toBe('quiet');
    expect(activityOf(evidence(0, 0, { workload: 'inference' }))).toBe('unknown');
    expect(activityOf(evidence(0, 0.5, { workload: null }))).toBe('working');
    expect(activityOf(evidence(0, 0.07, { workload: null }))).toBe('quiet');
  });

  it('takes a blank, an impossible and the DCGM blank value as missing, never as idle', () => {
    expect([Number('9223372036854775794'), Number.NaN, -1, 101, 2_147_483_632].map(utilisationOrMissing)).toEqual([
      null,
      null,
      null,
      null,
      null,
    ]);
    expect([0, 0.5, 100].map(utilisationOrMissing)).toEqual([0, 0.5, 100]);
    expect(activityOf(evidence(0, null))).toBe('unknown');
  });
});

describe('the published rules', () => {
  it('stop after 30 minutes below 30 %, and after 60 at 0 %', () => {
    expect(
      firstStop(
        below30For30(),
        stream(100, (minute) => evidence(minute, minute < 5 ? 30 : 29)),
      ),
    ).toBe(35);
    expect(
      firstStop(
        zeroFor60(),
        stream(100, (minute) => evidence(minute, minute === 20 ? 1 : 0)),
      ),
    ).toBe(81);
  });

  it('stop by ski rental when the idle time has cost a restart', () => {
    expect(
      firstStop(
        skiRental(10, 5),
        stream(30, (minute) => evidence(minute, minute < 4 ? 90 : 1)),
      ),
    ).toBe(14);
  });
});

describe('scoring', () => {
  const sample = (minute: number, useful: boolean | null, resource = 'gpu-0'): IdleSample => ({
    evidence: evidence(minute, 0, { resource }),
    useful,
  });
  const stopAt = (minutes: readonly number[]): IdlePolicy => ({
    observe: ({ minute }) => minutes.includes(minute),
    returned: () => undefined,
  });

  it('credits the minutes away less the restart, and calls a return within ten minutes false', () => {
    // Idle 10..39 and 50..54, useful else, until minute 59.
    const samples = Array.from({ length: 60 }, (_, minute) =>
      sample(minute, !((minute >= 10 && minute < 40) || (minute >= 50 && minute < 55))),
    );
    expect(simulateIdle(samples, 10, stopAt([15, 51]))).toEqual({
      spells: 2,
      idleMinutes: 35,
      savedMinutes: 25 - 10 + 4 - 10,
      stops: 2,
      falseStops: 1,
    });
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
    expect(simulateIdle([sample(0, null), sample(30, null)], 5, stopAt([0]))).toMatchObject({
      idleMinutes: 0,
      savedMinutes: 25,
      spells: 0,
    });
    expect(clairvoyantSaving([sample(0, null), sample(30, null)], 5)).toBe(0);
  });

  it('orders samples of many GPUs by time', () => {
    expect(
      byTime([sample(3, true, 'a'), sample(1, true, 'b'), sample(3, true, 'c')]).map(
        ({ evidence: { resource } }) => resource,
      ),
    ).toEqual(['b', 'a', 'c']);
  });
});

const PRIOR_SHAPE = 0.4;
describe('what to expect of a quiet', () => {
  const costs = { restartMinutes: 10, falseStopMinutes: 70, maximumFalseStopProbability: 0.3 };
  const seen = (count: number, minutes: number, quiets = new Quiets(100_000)): Quiets => {
    for (let n = 0; n < count; n++) {
      quiets.begin();
      quiets.move(0, spanOf(minutes, 0));
      quiets.end(spanOf(minutes, 0));
    }
    return quiets;
  };
  const planOn = (...quiets: readonly Quiets[]): StopPlan => {
    const plan = new StopPlan();
    plan.update(
      quiets.map((one) => ({ quiets: one, priorQuiets: 4 })),
      0,
      costs,
    );
    return plan;
  };
  const at = (minutes: number): number => spanOf(minutes, 0);

  it('is what was seen once much was: half are back soon, and none of those that outlast the short ones', () => {
    const plan = planOn(seen(1000, 100, seen(1000, 5)));
    expect(plan.falseStop[at(2)]).toBeCloseTo(0.5, 1);
    expect(plan.falseStop[at(12)]).toBeCloseTo(0, 1);
    // Of 100 minutes 12 are gone, 10 are the restart.
    expect(Math.abs(plan.saved[at(12)]! - 78)).toBeLessThan(20);
    expect([plan.stops[at(2)], plan.stops[at(12)]]).toEqual([0, 1]);
  });

  it('counts those that still last as having come so far', () => {
    const quiets = seen(100, 5);
    const before = planOn(quiets).falseStop[at(2)]!;
    for (let n = 0; n < 100; n++) {
      quiets.begin();
      quiets.move(0, at(60));
    }
    expect(before).toBeGreaterThan(0.9);
    expect(planOn(quiets).falseStop[at(2)]).toBeCloseTo(0.5, 1);
    for (let n = 0; n < 100; n++) quiets.lose(at(60));
    expect(planOn(quiets).falseStop[at(2)]).toBeCloseTo(0.5, 1);
  });

  it('is drawn from the level above to its own as it sees more', () => {
    const wide = seen(1000, 5);
    const own = [0, 20, 400].map((count) => planOn(wide, seen(count, 100)).falseStop[at(3)]!);
    expect(own[0]!).toBeGreaterThan(0.9);
    expect(own[1]!).toBeLessThan(0.7);
    expect(own[2]!).toBeLessThan(0.1);
  });

  it('forgets by and by', () => {
    expect(planOn(seen(200, 100, seen(50, 5, new Quiets(50)))).falseStop[at(2)]!).toBeLessThan(0.1);
  });

  it('stops where no plan to wait is cheaper, by trying all of them', () => {
    const random = mulberry32(1);
    for (let run = 0; run < 200; run++) {
      const quiets = new Quiets(1000);
      for (let n = 0; n < 30; n++) seen(1, Math.exp(7 * random()) - 1, quiets);
      const plan = planOn(quiets);
      // The chance of each span to be the last, from the counts.
      const from = Math.floor(random() * 30);
      const spans = Array.from({ length: SPANS - 1 }, (_, span) => span).slice(from);
      const ends = spans.map((span) => lastShare(quiets, span));
      const plans = spans.map((span, n) => {
        let [cost, left] = [0, 1];
        for (let before = 0; before < n; before++) {
          cost += left * (SPAN_STARTS[from + before + 1]! - SPAN_STARTS[from + before]!) * (1 - ends[before]! / 2);
          left *= 1 - ends[before]!;
        }
        const falseStop = plan.falseStop[span]!;
        return falseStop > 0.3 ? Infinity : cost + left * (10 + 70 * falseStop);
      });
      const later = Math.min(...plans.slice(1));
      if (Math.abs(plans[0]! - later) > 1e-9) expect(plan.stops[from] === 1, `run ${run}`).toBe(plans[0]! < later);
    }
  });

  /**
   * Of those that came to a span the share that ended in it, with four more that end as (1 + minutes) ** -shape says.
   */
  function lastShare(quiets: Quiets, span: number): number {
    let came = quiets.ended[span]!;
    for (let later = span + 1; later < SPANS; later++) came += quiets.ended[later]! + quiets.cameTo[later]!;
    const prior = 1 - ((1 + SPAN_STARTS[span + 1]!) / (1 + SPAN_STARTS[span]!)) ** -PRIOR_SHAPE;
    return (quiets.ended[span]! + 4 * prior) / (came + 4);
  }
});

describe('the idle planner', () => {
  it('never stops on missing evidence, however long', () => {
    expect(
      firstStop(
        new IdlePlanner(settings),
        stream(3000, (minute) => evidence(minute, null)),
      ),
    ).toBeNull();
  });

  it('never stops a service that answers, or whose requests nobody counts', () => {
    expect(
      firstStop(
        new IdlePlanner(settings),
        stream(3000, (minute) =>
          evidence(minute, minute % 9 === 0 ? 3 : 0, { workload: 'inference', requestsPerSecond: 2 }),
        ),
      ),
    ).toBeNull();
    expect(
      firstStop(
        new IdlePlanner(settings),
        stream(3000, (minute) => evidence(minute, 0, { workload: 'inference' })),
      ),
    ).toBeNull();
  });

  it('begins anew after a silence: two old samples are no long quiet', () => {
    const planner = new IdlePlanner(settings);
    const samples = [evidence(0, 0), evidence(1, 0), evidence(2, 0), evidence(300, 0)];
    const decisions = samples.map((sample) => planner.decide(sample));
    expect(decisions.every(({ stop }) => !stop)).toBe(true);
    expect(decisions[3]!.quietMinutes).toBe(0);
  });

  it('keeps an input-bound training whose every second minute looks idle', () => {
    expect(
      firstStop(
        new IdlePlanner(settings),
        stream(2000, (minute) => evidence(minute, minute % 2 === 0 ? 0 : 60)),
      ),
    ).toBeNull();
  });

  it('learns to wait out the pauses that a GPU always makes, and to stop what outlasts them', () => {
    const planner = new IdlePlanner(settings);
    // Work of 40 minutes and a pause of 10, twenty times; then a pause without end.
    const decisions = stream(1000 + 300, (minute) => evidence(minute, minute < 1000 && minute % 50 < 40 ? 95 : 0)).map(
      (sample) => planner.decide(sample),
    );
    const early = decisions.slice(500, 1000).filter(({ stop }) => stop).length;
    const stopped = decisions.findIndex(({ stop }, minute) => minute >= 990 && stop);
    expect(early).toBe(0);
    // Ten minutes are known; whatever lasts twice as long is something else.
    expect(stopped).toBeGreaterThanOrEqual(1000);
    expect(stopped).toBeLessThan(1010);
    expect(decisions[stopped]).toMatchObject({ reason: 'idle', quietMinutes: stopped - 990 });
  });

  /** Work of 60 minutes and a pause, again and again; in the pause a process is left, or none is. */
  const pausing = (pauses: readonly { minutes: number; memoryUsedRatio: number }[]): IdleEvidence[] => {
    const samples: IdleEvidence[] = [];
    for (const { minutes, memoryUsedRatio } of pauses) {
      for (let n = 0; n < 60; n++) samples.push(evidence(samples.length, 90, { memoryUsedRatio: 0.8 }));
      for (let n = 0; n < minutes; n++) samples.push(evidence(samples.length, 0, { memoryUsedRatio }));
    }
    return samples;
  };
  /** Minutes of quiet at the first stop in the last pause. */
  const lastWait = (samples: readonly IdleEvidence[]): number | null => {
    const planner = new IdlePlanner(settings);
    const decisions = samples.map((sample) => planner.decide(sample));
    const begun = decisions.findLastIndex(({ reason }) => reason === 'working') + 1;
    return decisions.slice(begun).find(({ stop }) => stop)?.quietMinutes ?? null;
  };
  const [short, long] = [
    { minutes: 5, memoryUsedRatio: 0.005 },
    { minutes: 120, memoryUsedRatio: 0 },
  ];

  it('learns how long a GPU is quiet with a process on it, and how long without', () => {
    const past = Array.from({ length: 20 }, () => [short, long]).flat();
    expect(lastWait(pausing([...past, long]))!).toBeLessThanOrEqual(3);
    expect(lastWait(pausing([...past, { ...short, minutes: 60 }]))!).toBeGreaterThan(5);
  });

  it('takes no process for no reason to stop where the next job always comes soon', () => {
    expect(lastWait(pausing(Array.from({ length: 30 }, () => ({ minutes: 6, memoryUsedRatio: 0 }))))).toBeNull();
  });

  it('begins anew when the process goes: what it waited for is over', () => {
    const past = Array.from({ length: 20 }, () => long);
    const samples = pausing([...past, { minutes: 4, memoryUsedRatio: 0.7 }]);
    const gone = [...samples, ...stream(60, (n) => evidence(samples.length + n, 0, { memoryUsedRatio: 0 }))];
    const wait = lastWait(gone)!;
    expect(wait).toBeGreaterThanOrEqual(4);
    expect(wait).toBeLessThanOrEqual(7);
  });

  it('goes on where a reading of the memory is lost', () => {
    const past = pausing([...Array.from({ length: 20 }, () => long), long]);
    expect(
      lastWait(
        past.map((sample, n) => (n > past.length - 120 && n % 2 === 0 ? { ...sample, memoryUsedRatio: null } : sample)),
      ),
    ).toBe(lastWait(past));
  });

  it('decides from the past alone', () => {
    const samples = stream(600, (minute) => evidence(minute, minute % 60 < 25 ? 80 : 0));
    const decide = (all: readonly IdleEvidence[]): boolean[] => {
      const planner = new IdlePlanner(settings);
      return all.map((sample) => planner.observe(sample));
    };
    const shuffled = [
      ...samples.slice(0, 400),
      ...samples.slice(400).map((sample, i) => ({ ...sample, gpuUtilPercent: i % 3 === 0 ? 90 : 0 })),
    ];
    expect(decide(shuffled).slice(0, 400)).toEqual(decide(samples).slice(0, 400));
  });
});
