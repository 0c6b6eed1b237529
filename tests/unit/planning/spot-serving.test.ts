/** Replicas on spot and on-demand: the terms, what a tick costs, the guard, the opponents, and the optimum. */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../../src/core/errors.js';
import { mulberry32 } from '../../../src/lab/random.js';
import { servingOpponents } from '../../../src/lab/spot-serving/opponents.js';
import { bestPlan, servingOptimum } from '../../../src/lab/spot-serving/optimum.js';
import { beliefAfter, learnZones } from '../../../src/planning/spot-regions/availability.js';
import { bursarServing } from '../../../src/planning/spot-serving/bursar.js';
import {
  ON_DEMAND,
  servingProblem,
  type ServingProblem,
  type ServingTerms,
  type ServingWindow,
} from '../../../src/planning/spot-serving/problem.js';
import { guard, mayStopOnDemand } from '../../../src/planning/spot-serving/rules.js';
import { simulateServing, type Desk, type ServingPolicy } from '../../../src/planning/spot-serving/simulate.js';

const terms = (change: Partial<ServingTerms> = {}): ServingTerms => ({
  replicas: 2,
  coldStartSeconds: 300,
  objective: 0.5,
  hours: 1,
  tickSeconds: 600,
  zones: [
    { name: 'a1', region: 'a', onDemandPrice: 60 },
    { name: 'b1', region: 'b', onDemandPrice: 36 },
  ],
  ...change,
});
const windowOf = (...zones: readonly (readonly [digits: string, ...prices: number[]])[]): ServingWindow => ({
  capacity: zones.map(([digits]) => Uint8Array.from(digits, Number)),
  spotPerHour: zones.map(([digits, ...prices]) => Float64Array.from(digits, (_, t) => prices[t] ?? prices.at(-1)!)),
});

describe('a service on spot', () => {
  it('pays what it holds, serves from the end of a cold start on, and loses what started last', () => {
    const problem = servingProblem(terms());
    const window = windowOf(['222112', 12], ['000000', 1]);
    const log: string[] = [];
    const run = simulateServing(problem, window, (desk) => {
      while (desk.zones.length < 2 && desk.tryLaunch(0));
      log.push(`${desk.zones.length} ${desk.lost.length}`);
      expect(desk.tryLaunch(1)).toBe(false);
    });
    expect(log).toEqual(['2 0', '2 0', '2 0', '1 1', '1 0', '2 0']);
    // Unserved: two cold starts of 300 s, two ticks of one replica, one cold start.
    expect(run.servedShare).toBeCloseTo(1 - (600 + 1200 + 300) / 7200, 12);
    expect(run.cost).toBeCloseTo((12 * (2 + 2 + 2 + 1 + 1 + 2)) / 6, 12);
    expect(run).toMatchObject({ preemptions: 1, launches: 3, onDemandSpend: 0 });
  });

  it('names everything that is wrong with its terms', () => {
    const refused = (change: Partial<ServingTerms>): string => {
      try {
        servingProblem(terms(change));
      } catch (error) {
        return (error as Failure).problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
      }
      return '';
    };
    expect(refused({ objective: 0.99 })).toContain('objective: cannot be held: the first cold start leaves');
    expect(refused({ replicas: 0, objective: 2, zones: [] })).toMatch(/replicas.*\n.*objective.*\n.*zone/);
    expect(refused({ hours: 0.1 })).toContain('windowHours');
    expect(refused({})).toBe('');
  });
});

/** Every plan of a small window: how many to hold where, tick by tick. Cost and unserved time of each. */
function everyPlan(problem: ServingProblem, window: ServingWindow): { cost: number; unserved: number }[] {
  const places = [ON_DEMAND, ...window.capacity.keys()];
  const counts = places.reduce<number[][]>(
    (found) => found.flatMap((start) => Array.from({ length: problem.replicas + 1 }, (_, held) => [...start, held])),
    [[]],
  );
  const scripts = (tick: number): number[][][] =>
    tick === problem.ticks ? [[]] : scripts(tick + 1).flatMap((rest) => possible(tick).map((now) => [now, ...rest]));
  const possible = (tick: number): number[][] =>
    counts.filter((held) => held.slice(1).every((number, zone) => number <= window.capacity[zone]![tick]!));
  return scripts(0).map((script) => {
    let unserved = 0;
    const run = simulateServing(problem, window, (desk) => {
      places.forEach((place, i) => {
        const wanted = script[desk.tick]![i]!;
        while (desk.held(place) > wanted) desk.stop(place);
        while (desk.held(place) < wanted)
          if (place === ON_DEMAND) desk.launchOnDemand();
          else expect(desk.tryLaunch(place)).toBe(true);
      });
    });
    unserved = (1 - run.servedShare) * problem.wantedSeconds;
    return { cost: run.cost, unserved };
  });
}

/** The lower convex hull of cost over unserved time, at what is allowed. */
function hull(plans: readonly { cost: number; unserved: number }[], allowed: number): number {
  let least = Infinity;
  for (const safe of plans)
    for (const cheap of plans) {
      if (safe.unserved > allowed + 1e-9 || cheap.unserved < allowed - 1e-9) continue;
      const room = cheap.unserved - safe.unserved;
      const share = room < 1e-9 ? 0 : (allowed - safe.unserved) / room;
      least = Math.min(least, safe.cost + share * (cheap.cost - safe.cost));
    }
  for (const { cost, unserved } of plans) if (unserved <= allowed + 1e-9) least = Math.min(least, cost);
  return least;
}

describe('the optimum', () => {
  it.each([
    [1, 0, 4],
    [2, 300, 3],
    [1, 600, 4],
    [1, 900, 4],
    [2, 700, 3],
  ])('is that of all plans (%i replicas, cold start %i s, %i ticks)', (replicas, coldStartSeconds, ticks) => {
    const random = mulberry32(replicas * 1000 + coldStartSeconds + ticks);
    for (let round = 0; round < 3; round += 1) {
      const digits = (): string => Array.from({ length: ticks }, () => Math.floor(random() * (replicas + 1))).join('');
      const prices = (): number[] => Array.from({ length: ticks }, () => 6 + Math.floor(random() * 20));
      const window = windowOf([digits(), ...prices()], [digits(), ...prices()]);
      const hours = (ticks * 600) / 3600;
      const problem = servingProblem(terms({ replicas, coldStartSeconds, hours, objective: 0.01 }));
      const plans = everyPlan(problem, window);
      for (const price of [0.001, 0.01, 0.05]) {
        const found = bestPlan(problem, window, price);
        const least = Math.min(...plans.map(({ cost, unserved }) => cost + price * unserved));
        expect(found.cost + price * found.unserved).toBeCloseTo(least, 6);
      }
      const reachable = 1 - coldStartSeconds / (ticks * 600);
      for (const share of [0.3, 0.7, 0.999]) {
        const held = { ...problem, allowedSeconds: (1 - share * reachable) * problem.wantedSeconds };
        expect(servingOptimum(held, window)).toBeCloseTo(hull(plans, held.allowedSeconds), 6);
      }
    }
  });
});

const flicker = (seed: number, ticks: number, stay: number): string => {
  const draw = mulberry32(seed);
  let [digits, here] = ['', 1];
  while (digits.length < ticks) {
    digits += String(2 * here);
    if (draw() > stay) here = 1 - here;
  }
  return digits;
};
const DAY = terms({ hours: 24, objective: 0.97 });
const bursarOf = (problem: ServingProblem): ServingPolicy => {
  const past = { tickSeconds: problem.tickSeconds, states: new Uint8Array() };
  const shares = learnZones(
    problem.regionOf.map((region) => ({ region, past })),
    [],
  );
  return bursarServing(problem, { beliefs: shares.map((own) => beliefAfter(own, past)), random: mulberry32(1) });
};

describe('the guard', () => {
  it.each([300, 600, 1500])('holds the objective under any loss of spot (cold start %i s)', (coldStartSeconds) => {
    const problem = servingProblem({ ...DAY, coldStartSeconds });
    const launch = (desk: Desk): void => {
      while (desk.zones.length - desk.held(ON_DEMAND) < 2 && desk.tryLaunch(0));
    };
    for (const digits of ['20'.repeat(72), '2220'.repeat(36), `${'2'.repeat(140)}0000`, flicker(3, 144, 0.8)]) {
      const window = windowOf([digits, 6], ['0'.repeat(144), 6]);
      const policies: ServingPolicy[] = [
        bursarOf(problem),
        (desk) => {
          launch(desk);
          while (desk.held(ON_DEMAND) > 0 && mayStopOnDemand(problem, desk)) desk.stop(ON_DEMAND);
          guard(problem, desk);
        },
      ];
      for (const policy of policies)
        expect(simulateServing(problem, window, policy).servedShare).toBeGreaterThanOrEqual(0.97 - 1e-9);
      expect(simulateServing(problem, window, launch).servedShare).toBeLessThan(1);
    }
  });
});

describe('Bursar', () => {
  it('runs on spot that lasts, and pays no more than its spares above the optimum', () => {
    const problem = servingProblem(DAY);
    const window = windowOf(['2'.repeat(144), 6], ['2'.repeat(144), 9]);
    const { cost, onDemandSpend, preemptions } = simulateServing(problem, window, bursarOf(problem));
    expect({ onDemandSpend, preemptions }).toEqual({ onDemandSpend: 0, preemptions: 0 });
    expect(cost / servingOptimum(problem, window)).toBeLessThan(1.5);
  });

  it('is changed by nothing that it did not ask for: neither the future nor the room of other zones', () => {
    const problem = servingProblem(DAY);
    const window = windowOf([flicker(1, 144, 0.9), 6], [flicker(2, 144, 0.95), 9]);
    const logged = (of: ServingWindow): { log: string[]; asked: Map<string, [number, boolean]> } => {
      const [log, asked, policy]: [string[], Map<string, [number, boolean]>, ServingPolicy] = [
        [],
        new Map(),
        bursarOf(problem),
      ];
      simulateServing(problem, of, (desk) => {
        problem.names.forEach((_, zone) => asked.set(`${zone} ${desk.tick}`, [desk.held(zone), false]));
        policy(
          Object.assign(Object.create(desk) as Desk, {
            tryLaunch: (zone: number) => {
              const ok = desk.tryLaunch(zone);
              asked.set(`${zone} ${desk.tick}`, [desk.held(zone), true]);
              return ok;
            },
          }),
        );
        log.push(desk.zones.join(' '));
      });
      return { log, asked };
    };
    const before = logged(window);
    const draw = mulberry32(9);
    const cut = 90;
    const mixed: ServingWindow = {
      ...window,
      capacity: window.capacity.map((row, zone) =>
        row.map((number, tick) => {
          if (tick >= cut) return Math.floor(draw() * 3);
          const [held, tried] = before.asked.get(`${zone} ${tick}`)!;
          // What was neither tried nor lost may have had room for more, or none.
          return tried || number < 2 ? number : Math.max(held, Math.floor(draw() * 3));
        }),
      ),
    };
    expect(mixed.capacity).not.toEqual(window.capacity);
    expect(logged(mixed).log.slice(0, cut)).toEqual(before.log.slice(0, cut));
  });
});

describe('the opponents', () => {
  const problem = servingProblem(terms({ hours: 4, objective: 0.5 }));
  const steps = (name: string, reading: number, window: ServingWindow): string[] => {
    const log: string[] = [];
    const policy = servingOpponents(problem).get(name)![reading]!();
    simulateServing(problem, window, (desk) => {
      policy(desk);
      log.push([...desk.zones].sort((a, b) => a - b).join(' '));
    });
    return log;
  };

  it('SpotHedge spreads over zones, falls back while spot is missing, and drops on-demand when it is back', () => {
    const window = windowOf(['222000002222222222222222', 6], ['222222200222222222222222', 9]);
    const log = steps('spothedge', 0, window);
    expect(log.slice(0, 12)).toEqual([
      '0 1',
      '0 1',
      '0 1',
      '1 1',
      '1 1',
      '1 1',
      '1 1',
      '-1 -1',
      '0 0',
      '0 0',
      '0 0',
      '0 0',
    ]);
  });

  it('SpotHedge holds its spares beyond what is wanted', () => {
    const readings = servingOpponents(problem)
      .get('spothedge')!
      .map(
        (_, reading) =>
          steps('spothedge', reading, windowOf(['2'.repeat(24), 6], ['2'.repeat(24), 6]))
            .at(-1)!
            .split(' ').length,
      );
    expect([...new Set(readings)].sort()).toEqual([2, 3, 4, 5]);
  });

  it('even spread without fallback, round robin and on-demand hold what their names say', () => {
    const window = windowOf(['2'.repeat(24), 6], [`${'0'.repeat(16)}${'2'.repeat(8)}`, 9]);
    expect(steps('round-robin', 0, window)[0]).toBe('0 0');
    expect(steps('round-robin', 0, windowOf(['2'.repeat(24), 6], ['2'.repeat(24), 9]))[0]).toBe('0 1');
    expect(steps('on-demand', 0, window)[5]).toBe('-1 -1');
    expect(steps('fixed-share', 1, window)[5]).toBe('-1 0');
    expect(steps('cheapest-zone', 0, windowOf(['2'.repeat(24), 6], ['2'.repeat(24), 9]))[0]).toBe('0 0');
  });
});
