/** What a tick does by a rule of spot serving: how many, in which zones, what is stopped, moved and taken over. */
import { describe, expect, it } from 'vitest';
import { ON_DEMAND, servingProblem, type ServingTerms } from '../../../src/planning/spot-serving/problem.js';
import { actByRule, scarcity, type Ranking, type Rule } from '../../../src/planning/spot-serving/rules.js';
import { Service } from '../../../src/planning/spot-serving/simulate.js';

/** Two replicas over an hour of six ticks, of which half may go unserved; five minutes to start. */
const TERMS: ServingTerms = {
  replicas: 2,
  coldStartSeconds: 300,
  objective: 0.5,
  hours: 1,
  tickSeconds: 600,
  zones: [
    { name: 'a1', region: 'a', onDemandPrice: 60 },
    { name: 'b1', region: 'b', onDemandPrice: 36 },
  ],
};
const problem = servingProblem(TERMS);

it('is the scarcer the more has gone unserved, and the less the more of the window is over', () => {
  const at = (tick: number, unserved: number): number => scarcity(problem, { tick, unserved });
  // 3,600 s may go unserved, without 600 s of one loss of everything.
  expect([at(0, 0), at(0, 1500), at(3, 0), at(3, 1500)]).toEqual([1, 2, 0.5, 1]);
  expect(at(0, 3000)).toBeGreaterThan(1e9);
});

describe('a tick', () => {
  interface Given {
    readonly rule?: Partial<Rule>;
    readonly ranking?: Partial<Ranking>;
    /** By zone, replicas that it has room for. */
    readonly room?: readonly number[];
    readonly price?: number;
    readonly tick?: number;
    readonly unserved?: number;
    /** What is held at the beginning: its zone, and in how many seconds from now it serves. */
    readonly held?: readonly (readonly [zone: number, inSeconds: number])[];
  }
  /** Replicas held afterwards: in the first zone, in the second, on demand. */
  function act({ rule, ranking, room = [9, 9], price = 12, tick = 0, unserved = 0, held = [] }: Given): number[] {
    const window = {
      capacity: room.map((one) => Uint8Array.of(one)),
      spotPerHour: room.map(() => Float64Array.of(price)),
    };
    const desk = new Service(problem, window, 1, tick);
    const now = tick * problem.tickSeconds;
    desk.beginAs({ tick, unserved, zones: held.map(([zone]) => zone), readyAt: held.map(([, later]) => now + later) });
    actByRule(
      problem,
      desk,
      { base: 0, spares: 0, most: 2, caution: 0, ...rule },
      {
        order: [0, 1],
        effective: Float64Array.of(10, 20),
        lifetime: Float64Array.of(9, 9),
        fullAt: Float64Array.of(Infinity, Infinity),
        ...ranking,
      },
    );
    return [desk.held(0), desk.held(1), desk.held(ON_DEMAND)];
  }

  it('launches in the best zones first, at most so many in each unless too few are found', () => {
    expect(act({})).toEqual([2, 0, 0]);
    expect(act({ ranking: { order: [1, 0] } })).toEqual([0, 2, 0]);
    expect(act({ rule: { most: 1 } })).toEqual([1, 1, 0]);
    expect(act({ rule: { most: 1 }, room: [9, 0] })).toEqual([2, 0, 0]);
    expect(act({ ranking: { fullAt: Float64Array.of(1, 9) } })).toEqual([1, 1, 0]);
    expect(act({ room: [1, 9] })).toEqual([1, 1, 0]);
  });

  it('holds spares, more the scarcer it is, and spreads from twice as scarce on', () => {
    expect(act({ rule: { spares: 1 } })).toEqual([2, 1, 0]);
    expect(act({ rule: { spares: 1 }, tick: 4 })).toEqual([2, 0, 0]);
    expect(act({ rule: { spares: 9, most: 9 } })).toEqual([4, 0, 0]);
    expect(act({ unserved: 1500 }).slice(0, 2)).toEqual([1, 1]);
    expect(act({ unserved: 1400 }).slice(0, 2)).toEqual([2, 0]);
  });

  it('holds its base on demand, and what spot lacks', () => {
    expect(act({ rule: { base: 1 } })).toEqual([1, 0, 1]);
    expect(act({ rule: { base: 2, spares: 2 } })).toEqual([0, 0, 2]);
    expect(act({ room: [1, 0] })).toEqual([1, 0, 1]);
    expect(act({ room: [0, 0] })).toEqual([0, 0, 2]);
    expect(act({ rule: { base: 1, spares: 1 }, room: [1, 0] })).toEqual([1, 0, 2]);
  });

  it('stops the dearest that serves, once enough others do', () => {
    const [a, b] = [
      [0, 0],
      [1, 0],
    ] as const;
    expect(act({ held: [a, b, a] })).toEqual([2, 0, 0]);
    expect(act({ held: [b, a, b, a] })).toEqual([2, 0, 0]);
    expect(act({ held: [a, b, [0, 1]] })).toEqual([2, 1, 0]);
    expect(act({ held: [a, a, [1, 1]] })).toEqual([2, 1, 0]);
    expect(act({ held: [a, b, a], rule: { spares: 1 } })).toEqual([2, 1, 0]);
  });

  it('moves to a cheaper zone, one at a time, where it saves enough for long enough', () => {
    const held = [
      [1, 0],
      [1, 0],
    ] as const;
    expect(act({ held })).toEqual([1, 2, 0]);
    expect(act({ held, ranking: { effective: Float64Array.of(19, 20) } })).toEqual([0, 2, 0]);
    expect(act({ held, ranking: { effective: Float64Array.of(18.9, 20) }, price: 1 })).toEqual([1, 2, 0]);
    expect(act({ held, ranking: { effective: Float64Array.of(20, 20) } })).toEqual([0, 2, 0]);
    // It pays both for a tick: 12 a sixth of an hour, which 10 an hour brings back in a fifth of one.
    expect(act({ held, ranking: { lifetime: Float64Array.of(0.2, 9) } })).toEqual([0, 2, 0]);
    expect(act({ held, ranking: { lifetime: Float64Array.of(0.21, 9) } })).toEqual([1, 2, 0]);
    expect(act({ held, tick: 5 })).toEqual([0, 2, 0]);
    expect(act({ held, room: [0, 9] })).toEqual([0, 2, 0]);
    expect(act({ held, ranking: { fullAt: Float64Array.of(0, 9) } })).toEqual([0, 2, 0]);
    expect(
      act({
        held: [
          [1, 0],
          [1, 1],
        ],
      }),
    ).toEqual([0, 2, 0]);
  });

  it('gives up on-demand beyond its base once spot serves', () => {
    const serving = [
      [ON_DEMAND, 0],
      [0, 0],
      [0, 0],
    ] as const;
    expect(act({ held: serving })).toEqual([2, 0, 0]);
    expect(act({ held: serving, rule: { base: 1 } })).toEqual([1, 0, 1]);
    expect(
      act({
        held: [
          [ON_DEMAND, 0],
          [ON_DEMAND, 0],
          [0, 1],
          [0, 1],
        ],
      }),
    ).toEqual([2, 0, 2]);
    // All spot may be lost at the next tick: 300 s are left for it where 3,300 s have gone unserved.
    expect(act({ held: serving, unserved: 3300 })[2]).toBe(1);
  });
});
