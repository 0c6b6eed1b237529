/**
 * The spot planner piece by piece: what a tick does, the published policies on cases worked out by hand, the optimum
 * and the plan against enumeration.
 */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/core/errors.js';
import {
  AvailabilityBelief,
  BUILT_IN_PARAMETERS,
  agePosition,
  availabilityModel,
  fitAvailability,
  leanToPast,
  smoothCharacter,
  type AvailabilityParameters,
} from '../../../src/planning/spot/availability-model.js';
import { bursarPolicy } from '../../../src/planning/spot/bursar.js';
import { greedy, onDemandOnly, timeSliced, uniformProgress } from '../../../src/planning/spot/opponents.js';
import { optimumCost } from '../../../src/lab/spot/optimum.js';
import { planSpot } from '../../../src/planning/spot/plan.js';
import {
  onDemandCost,
  spotProblem,
  type Mode,
  type SpotProblem,
  type SpotTerms,
} from '../../../src/planning/spot/problem.js';
import { staysSafe } from '../../../src/planning/spot/safety.js';
import {
  firstState,
  openTick,
  simulate,
  spendTick,
  type JobState,
  type SpotPolicy,
} from '../../../src/planning/spot/simulate.js';

/** Ticks of an hour; on-demand costs 3, spot 1, per hour. */
const terms = (jobHours: number, deadlineHours: number, restartHours: number, tickSeconds = 3600): SpotTerms => ({
  jobHours,
  deadlineHours,
  restartHours,
  tickSeconds,
  onDemandPrice: 3,
  spotPrice: 1,
});
const window = (digits: string): Uint8Array => Uint8Array.from(digits, Number);

/** The modes that a policy chose, one letter per tick until the work was done: i(dle), s(pot), o(n-demand). */
function trail(problem: SpotProblem, digits: string, policy: SpotPolicy): string {
  let letters = '';
  const decide = policy.start();
  const recorded: SpotPolicy = {
    name: policy.name,
    start: () => (view) => {
      const mode = decide(view);
      letters += 'iso'[mode];
      return mode;
    },
  };
  expect(simulate(problem, window(digits), recorded).finished).toBe(true);
  return letters;
}

describe('the grid', () => {
  it('is the coarsest that holds tick, job and restart exactly', () => {
    expect(spotProblem(terms(48, 60, 0.2, 600))).toMatchObject({
      unitSeconds: 120,
      tickUnits: 5,
      jobUnits: 1440,
      restartUnits: 6,
      ticks: 360,
    });
    expect(spotProblem(terms(48, 60, 0.05, 600))).toMatchObject({ unitSeconds: 60, tickUnits: 10, restartUnits: 3 });
    expect(spotProblem(terms(2, 4.5, 1)).ticks).toBe(4);
  });

  it('names every term that is wrong', () => {
    const bad = { ...terms(-1, Number.NaN, -1, 1.5), onDemandPrice: 0, spotPrice: -1 };
    try {
      spotProblem(bad);
      expect.unreachable();
    } catch (error) {
      expect((error as Failure).kind).toBe('invalid');
      expect((error as Failure).problems.map(({ path }) => path)).toEqual(
        Object.keys(bad).sort((a, b) => order(a) - order(b)),
      );
    }
    function order(path: string): number {
      return ['jobHours', 'deadlineHours', 'restartHours', 'onDemandPrice', 'spotPrice', 'tickSeconds'].indexOf(path);
    }
  });

  it('refuses a deadline that on-demand cannot keep', () => {
    expect(() => spotProblem(terms(4, 4.5, 0.5))).toThrow('the deadline cannot be promised');
    expect(() => spotProblem(terms(4, 5, 1))).not.toThrow();
  });
});

describe('a tick', () => {
  const problem = spotProblem(terms(3, 10, 1.2));
  const run = (available: string, modes: readonly Mode[]): { state: JobState; occupied: number } => {
    const state = firstState(problem);
    let occupied = 0;
    modes.forEach((mode, i) => {
      openTick(state, available[i] === '1');
      occupied += spendTick(problem, state, mode);
    });
    return { state, occupied: (occupied * problem.unitSeconds) / 3600 };
  };
  const hours = (units: number): number => (units * problem.unitSeconds) / 3600;

  it('spends the restart first and carries it over', () => {
    expect(hours(run('0', [2]).state.workLeft)).toBeCloseTo(3);
    const second = run('00', [2, 2]).state;
    expect(hours(second.workLeft)).toBeCloseTo(2.2);
    expect(second.restartLeft).toBe(0);
  });

  it('starts anew on spot that was lost and came back, and forgets the restart that was left', () => {
    const { state, occupied } = run('101', [1, 0, 1]);
    expect(hours(state.workLeft)).toBeCloseTo(3);
    expect(hours(state.restartLeft)).toBeCloseTo(0.2);
    expect(occupied).toBeCloseTo(2);
  });

  it('takes preempted spot away at the start of the tick', () => {
    const { state } = run('1', [1]);
    openTick(state, false);
    expect(state).toMatchObject({ mode: 0, restartLeft: 0 });
  });

  it('pays only until the work ends', () => {
    expect(hours(run('0000', [2, 2, 2, 2]).state.workLeft)).toBeCloseTo(0.2);
    expect(run('00000', [2, 2, 2, 2, 2]).occupied).toBeCloseTo(4.2);
    expect(run('00000', [2, 2, 2, 2, 2]).state.workLeft).toBe(0);
  });

  it('refuses spot that is not there', () => {
    expect(() => run('0', [1])).toThrow('broken invariant');
  });
});

describe('the published policies', () => {
  const problem = spotProblem(terms(4, 8, 0.5));

  it('on-demand pays one restart and the work', () => {
    expect(simulate(problem, window('11111111'), onDemandOnly()).cost).toBeCloseTo(13.5);
    expect(onDemandCost(problem)).toBeCloseTo(13.5);
  });

  it('greedy waits until R < C + 2d, then stays on-demand though spot comes back', () => {
    // R = 8, 7, 6, 5 and C + 2d = 5: still waiting at R = 5 would leave R = 4 < C + d, so the guard takes on-demand
    // there.
    expect(trail(problem, '00000011', greedy(problem))).toBe('iiiooooo');
  });

  it('greedy holds spot until it is preempted', () => {
    // 1.5 h of work are done when spot goes at R = 6; C = 2.5, and R < 3.5 for the first time at R = 3.
    expect(trail(problem, '11000011', greedy(problem))).toBe('ssiiiooo');
  });

  it('greedy on whole ticks takes on-demand as soon as R <= ceil(C + 2d)', () => {
    expect(trail(problem, '11000011', greedy(problem, 'whole-ticks'))).toBe('ssiiooo');
  });

  it('uniform progress catches up when behind and is released with hysteresis at cp >= ep(t + 2d)', () => {
    // ep(t) = t / 2 and 2d = 1. Behind at t = 1. cp = 0.5, 1.5 at t = 2, 3, while ep(t + 1) = 1.5, 2; cp = 2.5 = ep(5)
    // at t = 4, and not behind before t = 6.
    const policy = uniformProgress(problem, { hysteresis: true, keepsOnDemand: false });
    expect(trail(problem, '00000000', policy)).toBe('ioooiioo');
  });

  it('uniform progress with hysteresis lets spot pass until it has caught up; without it does not', () => {
    const withIt = uniformProgress(problem, { hysteresis: true, keepsOnDemand: true });
    const without = uniformProgress(problem, { hysteresis: false, keepsOnDemand: true });
    expect(trail(problem, '00111111', withIt)).toBe('ioooss');
    expect(trail(problem, '00111111', without)).toBe('iossss');
  });

  it('a kept on-demand goes on until the end where spot never comes', () => {
    expect(trail(problem, '00000000', uniformProgress(problem, { hysteresis: true, keepsOnDemand: true }))).toBe(
      'iooooo',
    );
  });

  it('time sliced finishes the share of each slice', () => {
    // Two slices of 4 h, 2 h of work each: on-demand from R_1 = 2 < 2 + 1, that is from t = 2, gives 1.5 h; the second
    // slice owes 2.5. After four hours of spot it owes 0.5 and waits until R = 1 < 0.5 + 1.
    expect(trail(problem, '00000000', timeSliced(problem, 2))).toBe('iiooiooo');
    expect(trail(problem, '11110000', timeSliced(problem, 2))).toBe('ssssiiio');
  });
});

describe('the optimum', () => {
  it('is what can be worked out by hand', () => {
    const problem = spotProblem(terms(4, 8, 0.5));
    expect(optimumCost(problem, window('11111111'))).toBeCloseTo(4.5);
    expect(optimumCost(problem, window('00000000'))).toBeCloseTo(13.5);
    // Spot for three hours (2.5 of work), then 0.5 + 1.5 on-demand.
    expect(optimumCost(problem, window('00111000'))).toBeCloseTo(3 + 6);
  });
});

describe('the guard', () => {
  it('lets spot start only while a loss of it can still be made good', () => {
    const problem = spotProblem(terms(4, 8, 0.5));
    const view = { ...firstState(problem), available: true };
    const at = (timeLeftHours: number): JobState => ({ ...view, timeLeft: timeLeftHours * 2 });
    expect(staysSafe(problem, at(5), 1)).toBe(true);
    expect(staysSafe(problem, at(4.5), 1)).toBe(false);
    expect(staysSafe(problem, at(4.5), 2)).toBe(true);
    expect(staysSafe(problem, at(5.5), 0)).toBe(true);
    expect(staysSafe(problem, at(5), 0)).toBe(false);
  });
});

describe('the availability model', () => {
  const plain: AvailabilityParameters = { ...BUILT_IN_PARAMETERS, absent: [1, 0.5], available: [2, 0], frailtySd: 0 };

  it('tabulates a logistic function of log age', () => {
    const { stay } = availabilityModel(plain);
    expect(stay[1][0]).toBeCloseTo(1 / (1 + Math.exp(-2)));
    expect(stay[0][0]).toBeCloseTo(1 / (1 + Math.exp(-(1 + 0.5 * (0 - 1.2)))));
  });

  it('is linear in age between the points of its grid', () => {
    expect(agePosition(1)).toEqual({ index: 0, fraction: 0 });
    expect(agePosition(3)).toEqual({ index: 1, fraction: 0.5 });
    expect(agePosition(1000)).toEqual({ index: 6, fraction: 0 });
  });

  it('believes more in short available spells after it has seen some', () => {
    const belief = new AvailabilityBelief(availabilityModel(BUILT_IN_PARAMETERS));
    const shortLived = (): number => belief.components.slice(0, 3).reduce((sum, weight) => sum + weight, 0);
    const before = shortLived();
    for (const digit of '0100010010') belief.observe(Number(digit));
    expect(shortLived()).toBeGreaterThan(before);
    expect(belief.components.reduce((sum, weight) => sum + weight, 0)).toBeCloseTo(1);
  });

  it('finds long spells where there are long spells, and keeps what is built in where there is nothing', () => {
    const long = fitAvailability([window('1'.repeat(80) + '0'.repeat(20)), window('1'.repeat(90) + '0'.repeat(10))]);
    const short = fitAvailability([window('1001000110'.repeat(12))]);
    expect(long.available[0]).toBeGreaterThan(short.available[0]);
    expect(long.characterShares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
    expect(fitAvailability([])).toEqual(BUILT_IN_PARAMETERS);
  });
});

describe('what a whole recording reveals', () => {
  it('is what enumeration of every course of the hidden character finds', () => {
    const model = availabilityModel(BUILT_IN_PARAMETERS);
    const { persistence, frailtySd, absent, available } = BUILT_IN_PARAMETERS;
    const staying = (kind: number, age: number, k: number): number => {
      const [intercept, slope] = kind === 1 ? available : absent;
      const node = kind === 1 ? Math.floor(k / 3) - 1 : (k % 3) - 1;
      return 1 / (1 + Math.exp(-(intercept + slope * (Math.log(age) - 1.2) + frailtySd * Math.sqrt(3) * node)));
    };
    // 1 1 | 0 | 1 | 0 0: the first spell is taken to be 16 ticks old; the last goes on for the one tick that is seen of
    // it.
    const likelihood = [
      (k: number) => staying(1, 16, k) * (1 - staying(1, 17, k)),
      (k: number) => 1 - staying(0, 1, k),
      (k: number) => 1 - staying(1, 1, k),
      (k: number) => staying(0, 1, k),
    ];
    const weights = likelihood.map(() => new Float64Array(9));
    for (let course = 0; course < 9 ** 4; course += 1) {
      const characters = [0, 1, 2, 3].map((spell) => Math.floor(course / 9 ** spell) % 9);
      const chance = characters.reduce((product, k, spell) => {
        const fresh = model.prior[k]!;
        const comes = spell === 0 ? fresh : (1 - persistence) * fresh + (characters[spell - 1] === k ? persistence : 0);
        return product * comes * likelihood[spell]!(k);
      }, 1);
      characters.forEach((k, spell) => (weights[spell]![k] = weights[spell]![k]! + chance));
    }
    const told: { tick: number; age: number; wentOn: boolean }[] = [];
    smoothCharacter(model, window('110100'), ({ tick, age, wentOn, weights: found }) => {
      told.push({ tick, age, wentOn });
      const expected = weights[[0, 0, 1, 2, 3][tick]!]!;
      const total = expected.reduce((sum, weight) => sum + weight, 0);
      found.forEach((weight, k) => expect(weight).toBeCloseTo(expected[k]! / total, 12));
    });
    expect(told).toEqual([
      { tick: 4, age: 1, wentOn: true },
      { tick: 3, age: 1, wentOn: false },
      { tick: 2, age: 1, wentOn: false },
      { tick: 1, age: 17, wentOn: false },
      { tick: 0, age: 16, wentOn: true },
    ]);
  });
});

describe('what a past teaches', () => {
  it('leans the far future to the characters that the zone showed, and nothing else', () => {
    // The first three components are available spells that end soon, the last three those that last.
    const sum = (shares: readonly number[], from: number): number =>
      shares.slice(from, from + 3).reduce((total, share) => total + share, 0);
    const flickered = leanToPast(BUILT_IN_PARAMETERS, window('0100010010'.repeat(30)));
    const lasted = leanToPast(BUILT_IN_PARAMETERS, window(`${'1'.repeat(60)}0`.repeat(30)));
    expect(sum(flickered.characterShares, 0)).toBeGreaterThan(sum(BUILT_IN_PARAMETERS.characterShares, 0));
    expect(sum(lasted.characterShares, 6)).toBeGreaterThan(sum(BUILT_IN_PARAMETERS.characterShares, 6));
    for (const { characterShares, ...rest } of [flickered, lasted]) {
      expect(characterShares.reduce((total, share) => total + share, 0)).toBeCloseTo(1);
      expect({ ...rest, characterShares: BUILT_IN_PARAMETERS.characterShares }).toEqual(BUILT_IN_PARAMETERS);
    }
    expect(leanToPast(BUILT_IN_PARAMETERS, window(''))).toEqual(BUILT_IN_PARAMETERS);
  });

  it('counts a spell of the past as much as one of what was believed before', () => {
    // Fifty spells stand for what was believed. Of the past's four the first began before it, and of the last nothing
    // is known yet: two.
    const certain: AvailabilityParameters = {
      ...BUILT_IN_PARAMETERS,
      frailtySd: 0,
      characterShares: [1, 0, 0, 0, 0, 0, 0, 0, 0],
    };
    const { characterShares } = leanToPast(certain, window('110010'));
    // Without frailty nothing tells the characters apart: the two are shared among them as in the broad prior, 1/36 and
    // 4/9.
    expect(characterShares[0]).toBeCloseTo((50 + 2 / 36) / 52);
    expect(characterShares[4]).toBeCloseTo((2 * 4) / 9 / 52);
  });

  it('makes a zone that has flickered for days be met otherwise than one that was stable', () => {
    const problem = spotProblem(terms(30, 33, 1));
    const plan = planSpot(problem, availabilityModel(BUILT_IN_PARAMETERS));
    const first = (past: string): Mode =>
      bursarPolicy(plan, { past: window(past), toleranceRestarts: 0 }).start()({
        ...firstState(problem),
        available: true,
      });
    expect(first(`${'1'.repeat(60)}0`.repeat(5))).toBe(1);
    expect(first('100'.repeat(60))).toBe(2);
  });
});

describe('the plan', () => {
  /**
   * Memoryless: spells of any age go on with the same chance, so that enumeration needs no state beyond the last
   * reading.
   */
  const memoryless: AvailabilityParameters = {
    ...BUILT_IN_PARAMETERS,
    absent: [0.4, 0],
    available: [1.1, 0],
    frailtySd: 0,
  };
  const stays = [0.4, 1.1].map((logit) => 1 / (1 + Math.exp(-logit)));

  /** Least expected cost over every safe policy, by expectation and minimum over all readings. */
  function least(problem: SpotProblem, state: JobState, reading: number): number {
    if (state.workLeft <= 0) return 0;
    const opened = { ...state };
    openTick(opened, reading === 1);
    const costs = ([0, 1, 2] as const)
      .filter((mode) => (mode !== 1 || opened.available) && (mode === 2 || staysSafe(problem, opened, mode)))
      .map((mode) => {
        const after = { ...opened };
        const paid = spendTick(problem, after, mode) * problem.unitPrice[mode];
        const same = stays[reading]!;
        return paid + same * least(problem, after, reading) + (1 - same) * least(problem, after, 1 - reading);
      });
    return Math.min(...costs);
  }

  function expected(problem: SpotProblem, policy: SpotPolicy, first: number): number {
    let sum = 0;
    for (let bits = 0; bits < 2 ** (problem.ticks - 1); bits += 1) {
      const readings = [first, ...Array.from({ length: problem.ticks - 1 }, (_, i) => (bits >> i) & 1)];
      const chance = readings
        .slice(1)
        .reduce((p, reading, i) => p * (reading === readings[i] ? stays[reading]! : 1 - stays[readings[i]!]!), 1);
      sum += chance * simulate(problem, Uint8Array.from(readings), policy).cost;
    }
    return sum;
  }

  it.each([
    [terms(3, 7, 0.6), 0],
    [terms(3, 7, 0.6), 1],
    [terms(4, 7, 0.2), 0],
    [terms(2, 7, 1), 1],
    // A restart of 1.2 ticks, as 0.2 h of ten-minute ticks: what is left of it is carried over.
    [terms(3, 7, 1.2), 0],
    [terms(3, 7, 1.2), 1],
    [terms(2, 7, 1.2), 1],
    [terms(4.4, 9, 1.2), 0],
    [terms(4.4, 9, 1.2), 1],
    [terms(4, 10, 1.2), 1],
    [terms(5, 10, 1.2), 0],
  ])('is as good as enumeration: %o, first reading %i', (instance, first) => {
    const problem = spotProblem(instance);
    const policy = bursarPolicy(planSpot(problem, availabilityModel(memoryless)), { toleranceRestarts: 0 });
    expect(expected(problem, policy, first)).toBeCloseTo(least(problem, firstState(problem), first), 6);
  });

  it('leaves what it finds as good as equal to Uniform Progress: with no end to the tolerance, everything', () => {
    const problem = spotProblem(terms(20, 30, 0.5));
    const plan = planSpot(problem, availabilityModel(BUILT_IN_PARAMETERS));
    const follower = bursarPolicy(plan, { toleranceRestarts: 1e6 });
    const theirs = uniformProgress(problem, { hysteresis: false, keepsOnDemand: true });
    for (const digits of [
      '011011100000000011111100000011',
      '000000111111000000111111000000',
      '101010101010101010101010101010',
    ]) {
      expect(trail(problem, digits, follower)).toBe(trail(problem, digits, theirs));
    }
    expect(trail(problem, '101010101010101010101010101010', bursarPolicy(plan))).not.toBe(
      trail(problem, '101010101010101010101010101010', theirs),
    );
  });

  it('goes by another belief where it is begun with one', () => {
    const problem = spotProblem(terms(20, 24, 1));
    const plan = planSpot(problem, availabilityModel(BUILT_IN_PARAMETERS));
    const digits = '001011001110010011100001';
    const told = (component: number): string => {
      const components = Float64Array.from({ length: 9 }, (_, k) => (k === component ? 1 : 0));
      return trail(
        problem,
        digits,
        bursarPolicy(plan, {
          toleranceRestarts: 0,
          startBelief: () => ({ age: 1, components, observe: () => undefined }),
        }),
      );
    };
    // Spells of spot that are told to be long, and those of absence short, are worth a restart; the other way round
    // they are not.
    expect(told(6)).toContain('s');
    expect(told(2)).not.toContain('s');
    expect(trail(problem, digits, bursarPolicy(plan, { startBelief: () => new AvailabilityBelief(plan.model) }))).toBe(
      trail(problem, digits, bursarPolicy(plan)),
    );
  });
});
