/**
 * Laws of commitments: the optimum equals brute force and HiGHS, no rule reads ahead, no rule beats the optimum, and no
 * demand makes Bursar's planner cost more than (2 - alpha) times the optimum.
 */
import * as fc from 'fast-check';
import highsModule from 'highs';
import { describe, expect, it } from 'vitest';
import { type Allowance, Guard } from '../../src/planning/commitment/guard.js';
import { LEVEL_FEATURES, LevelHistory } from '../../src/planning/commitment/level-history.js';
import { type CommitmentTerm, commitmentCost, effectiveRatio } from '../../src/planning/commitment/model.js';
import { lookBack, onlineDeterministic, onlineRandomised } from '../../src/lab/commitment/opponents.js';
import { optimum } from '../../src/planning/commitment/optimum.js';
import { UseForecast } from '../../src/planning/commitment/use-forecast.js';
import { plannedPurchases, type PlannerOptions, STRICT_PLANNER } from '../../src/planning/commitment/planner.js';
import { syntheticSeries } from '../../src/lab/commitment/series.js';
import { mulberry32, type Random } from '../../src/lab/random.js';

const ratios = fc.constantFrom(0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95);
const alphas = fc.constantFrom(0, 0, 0.1, 0.25);
const terms = (longest: number): fc.Arbitrary<CommitmentTerm> =>
  fc.record({ termHours: fc.integer({ min: 1, max: longest }), priceRatio: ratios, alpha: alphas });
const demands = (peak: number, longest: number): fc.Arbitrary<Int32Array> =>
  fc
    .array(fc.integer({ min: 0, max: peak }), { minLength: 1, maxLength: longest })
    .map((values) => Int32Array.from(values));
/** Demand in spells, as clouds see it: levels that last a while. */
const spells = (peak: number): fc.Arbitrary<Int32Array> =>
  fc
    .array(fc.tuple(fc.integer({ min: 0, max: peak }), fc.integer({ min: 1, max: 12 })), {
      minLength: 1,
      maxLength: 12,
    })
    .map((parts) => Int32Array.from(parts.flatMap(([level, length]) => Array.from({ length }, () => level))));

/** Hours without demand behind the data, so that every reservation is paid for to its end. */
const withWholeTerms = (demand: Int32Array, term: CommitmentTerm): Int32Array =>
  Int32Array.from([...demand, ...new Int32Array(term.termHours)]);

describe('the optimum', () => {
  it('is what brute force finds', () => {
    fc.assert(
      fc.property(demands(2, 6), terms(7), fc.option(demands(2, 6), { nil: undefined }), (demand, term, held) => {
        const existing = held && Int32Array.from({ length: demand.length }, (_, hour) => held[hour] ?? 0);
        const { cost, purchases } = optimum(demand, term, existing);
        expect(cost).toBeCloseTo(cheapestByForce(demand, term, existing), 9);
        expect(commitmentCost(demand, purchases, term, existing)).toBeCloseTo(cost, 9);
      }),
      { numRuns: 150 },
    );
  });

  it('is what HiGHS finds', async () => {
    // The package is CommonJS: its types name the function `default`, its module is the function.
    const highs = await (highsModule as unknown as typeof highsModule.default)();
    const solve = (demand: Int32Array, term: CommitmentTerm): number =>
      highs.solve(linearProgram(demand, term)).ObjectiveValue;
    fc.assert(
      fc.property(fc.oneof(demands(9, 60), spells(20)), terms(40), (demand, term) => {
        expect(optimum(demand, term).cost).toBeCloseTo(solve(demand, term), 6);
      }),
      { numRuns: 120 },
    );
    for (const shape of ['week', 'jobs', 'mixed'] as const) {
      const { demand } = syntheticSeries(shape, 500, 3);
      const term = { termHours: 72, priceRatio: 0.6, alpha: 0 };
      const best = solve(demand, term);
      expect(Math.abs(optimum(demand, term).cost - best)).toBeLessThan(1e-6 * best);
    }
  });

  it('is at least every price-ratio hour of demand and at most all on demand', () => {
    fc.assert(
      fc.property(spells(20), terms(30), (demand, term) => {
        const hours = demand.reduce((sum, gpus) => sum + gpus, 0);
        const { cost } = optimum(demand, term);
        expect(cost).toBeLessThanOrEqual(hours + 1e-9);
        expect(cost).toBeGreaterThanOrEqual(Math.min(1, term.priceRatio) * hours - 1e-9);
      }),
    );
  });
});

describe('look-back', () => {
  it('keeps the constant that would have been cheapest over its window', () => {
    fc.assert(
      fc.property(spells(6), ratios, fc.integer({ min: 2, max: 20 }), (demand, priceRatio, windowHours) => {
        // A term of one hour makes each hour's purchase the level it wants to hold.
        const bought = lookBack(
          demand,
          { termHours: 1, priceRatio, alpha: 0 },
          { windowHours, start: 'whole', everyHours: 1 },
        );
        for (let hour = windowHours - 1; hour < demand.length; hour++) {
          const window = demand.subarray(hour - windowHours + 1, hour + 1);
          const cost = (level: number): number =>
            window.reduce((sum, gpus) => sum + Math.max(0, gpus - level), priceRatio * level * windowHours);
          for (let level = 0; level <= 7; level++) expect(cost(bought[hour]!)).toBeLessThanOrEqual(cost(level) + 1e-9);
        }
      }),
    );
  });
});

describe('the history of a level', () => {
  const vectorOf = (demand: Int32Array, level: number): number[] => {
    const history = new LevelHistory();
    for (const gpus of demand) history.step(gpus);
    const vector = new Float64Array(LEVEL_FEATURES);
    history.describe(level, vector);
    return [...vector];
  };

  it('counts what a look at every hour counts', () => {
    fc.assert(
      fc.property(fc.oneof(spells(90), demands(9, 60)), fc.integer({ min: 1, max: 100 }), (demand, level) => {
        const inUse = [...demand].map((gpus) => gpus >= level);
        const windows = [3, 6, 12, 24, 48, 96, 168, 336, 720, 1440].map((hours) => shareOf(inUse.slice(-hours)));
        const used = inUse.filter(Boolean).length;
        const spellCount = inUse.filter((now, hour) => now && !inUse[hour - 1]).length;
        const known = inUse.includes(true) ? inUse.length - inUse.indexOf(true) : 0;
        const vector = vectorOf(demand, level);
        const expected = [
          ...windows,
          shareOf(inUse),
          Math.log1p(used / Math.max(1, spellCount)),
          Math.log1p(spellCount),
          Math.log1p(inUse.length - 1 - inUse.lastIndexOf(false)),
          Math.log1p(known),
          Math.log(inUse.length),
        ];
        [...vector.slice(0, 10), ...vector.slice(15)].forEach((value, index) =>
          expect(value).toBeCloseTo(expected[index]!, 9),
        );
      }),
    );
  });

  it('is the same at twice the level of twice the demand', () => {
    fc.assert(
      fc.property(spells(40), fc.integer({ min: 1, max: 40 }), (demand, level) => {
        const [once, twice] = [
          vectorOf(demand, level),
          vectorOf(
            demand.map((gpus) => 2 * gpus),
            2 * level,
          ),
        ];
        // Below a hundredth of a GPU the mean that the differences are held against has a floor.
        fc.pre(demand.some((gpus) => gpus > 0));
        twice.forEach((value, index) => expect(value).toBeCloseTo(once[index]!, 9));
      }),
    );
  });

  it('makes a share of the forecast, for any past', () => {
    fc.assert(
      fc.property(
        spells(40),
        fc.integer({ min: 1, max: 50 }),
        fc.constantFrom(1, 24, 168, 8760),
        (demand, level, termHours) => {
          const useForecast = new UseForecast(termHours);
          for (const gpus of demand) useForecast.step(gpus);
          const share = useForecast.expectedUse(level);
          expect(share).toBeGreaterThanOrEqual(0);
          expect(share).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

const shareOf = (inUse: readonly boolean[]): number => inUse.filter(Boolean).length / inUse.length;

describe('no rule reads ahead', () => {
  const rules: Readonly<Record<string, (demand: Int32Array, term: CommitmentTerm) => Int32Array>> = {
    bursar: plannedPurchases,
    'look-back': (demand, term) => lookBack(demand, term, { windowHours: 24, start: 'partial', everyHours: 1 }),
    deterministic: (demand, term) => onlineDeterministic(demand, term),
    randomised: (demand, term) => onlineRandomised(demand, term, 0.4),
  };

  it.each(Object.keys(rules))('%s decides the same before a future that is shuffled', (name) => {
    const shapes = fc.constantFrom('steps', 'bursts', 'jobs', 'mixed');
    fc.assert(
      fc.property(shapes, fc.nat(), fc.integer({ min: 1, max: 399 }), ratios, (shape, seed, cut, priceRatio) => {
        const { demand } = syntheticSeries(shape, 400, seed);
        const term = { termHours: 60, priceRatio, alpha: 0 };
        const shuffled = Int32Array.from([
          ...demand.subarray(0, cut),
          ...shuffle([...demand.subarray(cut)], mulberry32(seed)),
        ]);
        expect(rules[name]!(shuffled, term).subarray(0, cut)).toEqual(rules[name]!(demand, term).subarray(0, cut));
        expect(rules[name]!(demand.slice(0, cut), term)).toEqual(rules[name]!(demand, term).slice(0, cut));
      }),
      { numRuns: 30 },
    );
  });
});

describe('the bound', () => {
  it('holds for the planner on any demand, with and without alpha', () => {
    fc.assert(
      fc.property(fc.oneof(spells(8), demands(4, 80)), terms(24), (demand, term) => {
        const whole = withWholeTerms(demand, term);
        const bound = (2 - term.alpha) * optimum(whole, term).cost;
        const cost = (options?: PlannerOptions): number =>
          commitmentCost(whole, plannedPurchases(whole, term, options), term);
        expect(cost(STRICT_PLANNER)).toBeLessThanOrEqual(bound + 1e-6);
        expect(cost()).toBeLessThanOrEqual(bound + allowanceOf(whole, term) + 1e-6);
      }),
      { numRuns: 400 },
    );
  });

  it('holds but for its allowance, whatever is wished and allowed', () => {
    const shares = fc.constantFrom(0, 0.25, 0.5, 1);
    const allowances = fc.record({ first: shares, stood: shares, stoodHours: fc.integer({ min: 1, max: 9 }) });
    fc.assert(
      fc.property(
        spells(8),
        terms(16),
        allowances,
        fc.array(fc.nat({ max: 9 }), { minLength: 200, maxLength: 200 }),
        (demand, term, allowance, wishes) => {
          const plain = { ...term, priceRatio: effectiveRatio(term), alpha: 0 };
          const whole = withWholeTerms(demand, plain);
          const guard = new Guard(plain.termHours, plain.priceRatio, allowance);
          const purchases = whole.map((gpus, hour) => guard.step(gpus, wishes[hour] ?? 0));
          expect(commitmentCost(whole, purchases, plain)).toBeLessThanOrEqual(
            2 * optimum(whole, plain).cost + feesOf(whole, plain, allowance) + 1e-6,
          );
        },
      ),
      { numRuns: 400 },
    );
  });

  it('is what the allowance costs where the worst happens: all that was there first ends at once', () => {
    const term = { termHours: 100, priceRatio: 0.6, alpha: 0 };
    const demand = withWholeTerms(Int32Array.of(10), term);
    expect(optimum(demand, term).cost).toBe(10);
    expect(commitmentCost(demand, plannedPurchases(demand, term), term)).toBe(600);
    expect(commitmentCost(demand, plannedPurchases(demand, term, STRICT_PLANNER), term)).toBe(10);
  });

  it('holds for the guard whatever is wished of it', () => {
    fc.assert(
      fc.property(
        spells(8),
        terms(16),
        fc.array(fc.nat({ max: 9 }), { minLength: 200, maxLength: 200 }),
        (demand, term, wishes) => {
          expect(guardRatio(demand, wishes, term)).toBeLessThanOrEqual(2 + 1e-9);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('holds for the guard after a long past that was served well, which it may settle', () => {
    const good = fc.record({ level: fc.integer({ min: 1, max: 5 }), hours: fc.integer({ min: 20, max: 90 }) });
    fc.assert(
      fc.property(
        good,
        spells(8),
        terms(9),
        fc.array(fc.nat({ max: 9 }), { minLength: 200, maxLength: 200 }),
        ({ level, hours }, later, term, wishes) => {
          const past = new Int32Array(hours).fill(level);
          expect(guardRatio(Int32Array.from([...past, ...later]), [...past, ...wishes], term)).toBeLessThanOrEqual(
            2 + 1e-9,
          );
        },
      ),
      { numRuns: 400 },
    );
  });

  it('holds where a search climbs towards the worst demand and the worst wishes', () => {
    const random = mulberry32(11);
    for (let climb = 0; climb < 12; climb++) {
      const term = {
        termHours: 4 + Math.floor(10 * random()),
        priceRatio: 0.3 + 0.1 * Math.floor(7 * random()),
        alpha: 0,
      };
      let worst: Attack = { demand: new Int32Array(50), wishes: Array.from({ length: 50 }, () => 0) };
      let ratio = 0;
      for (let step = 0; step < 250; step++) {
        const next = mutated(worst, term.termHours, random);
        const reached = guardRatio(next.demand, next.wishes, term);
        if (reached >= ratio) [worst, ratio] = [next, reached];
      }
      expect(ratio).toBeLessThanOrEqual(2 + 1e-9);
      expect(ratio).toBeGreaterThan(1.3);
    }
  });

  it('holds at the end of the data too, down to a ratio of one half; below, a tenant that has just begun may cost 1 / ratio', () => {
    fc.assert(
      fc.property(spells(8), terms(24), (demand, term) => {
        const ratio = effectiveRatio(term);
        const bound = ratio >= 0.5 ? 2 - term.alpha : 1 / ratio;
        const least = bound * optimum(demand, term).cost + 1e-6;
        expect(commitmentCost(demand, plannedPurchases(demand, term, STRICT_PLANNER), term)).toBeLessThanOrEqual(least);
        expect(commitmentCost(demand, plannedPurchases(demand, term), term)).toBeLessThanOrEqual(
          least + allowanceOf(demand, term),
        );
      }),
      { numRuns: 400 },
    );
  });

  it('holds for the deterministic rule of the paper, as its Theorem 1 says', () => {
    fc.assert(
      fc.property(spells(8), terms(20), (demand, term) => {
        const whole = withWholeTerms(demand, term);
        const bound = (2 - term.alpha) * optimum(whole, term).cost;
        expect(commitmentCost(whole, onlineDeterministic(whole, term), term)).toBeLessThanOrEqual(bound + 1e-6);
      }),
      { numRuns: 300 },
    );
  });
});

/** Cost over the optimum's of a guard that is asked for `wishes`, all terms paid whole. */
/** The fees that an allowance lets be spent ahead, recounted from all demand. */
function feesOf(demand: Int32Array, term: CommitmentTerm, { first, stood, stoodHours }: Allowance): number {
  const standing = Array.from({ length: Math.max(0, demand.length - stoodHours + 1) }, (_, from) =>
    Math.min(...demand.subarray(from, from + stoodHours)),
  );
  return effectiveRatio(term) * term.termHours * Math.max(first * demand[0]!, stood * Math.max(0, ...standing));
}

/** The same of the planner as it runs. */
function allowanceOf(demand: Int32Array, term: CommitmentTerm): number {
  const ratio = effectiveRatio(term);
  const stoodHours = Math.max(24, Math.round(0.4 * ratio * term.termHours));
  const allowance = { first: Math.min(1, 2.5 * (1 - ratio)), stood: 0.25, stoodHours };
  return (1 - term.alpha) * feesOf(demand, term, allowance);
}

function guardRatio(demand: Int32Array, wishes: readonly number[], term: CommitmentTerm): number {
  const plain = { ...term, priceRatio: effectiveRatio(term), alpha: 0 };
  const whole = withWholeTerms(demand, plain);
  const guard = new Guard(plain.termHours, plain.priceRatio);
  const purchases = whole.map((gpus, hour) => guard.step(gpus, wishes[hour] ?? 0));
  const best = optimum(whole, plain).cost;
  return best === 0 ? 0 : commitmentCost(whole, purchases, plain) / best;
}

interface Attack {
  readonly demand: Int32Array;
  readonly wishes: number[];
}

/** The attack with one stretch of demand or of wishes changed. */
function mutated({ demand, wishes }: Attack, termHours: number, random: Random): Attack {
  const next = { demand: demand.slice(), wishes: [...wishes] };
  for (let change = 0; change < 1 + 3 * random(); change++) {
    const from = Math.floor(random() * demand.length);
    const to = Math.min(demand.length, from + 1 + Math.floor(random() * termHours));
    const value = Math.floor(random() * 7);
    if (random() < 0.6) next.demand.fill(value, from, to);
    else next.wishes.fill(value, from, to);
  }
  return next;
}

function shuffle(values: number[], random: Random): number[] {
  for (let last = values.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [values[last], values[other]] = [values[other]!, values[last]!];
  }
  return values;
}

/** Every number of purchases up to the peak in every hour. */
function cheapestByForce(demand: Int32Array, term: CommitmentTerm, existing: Int32Array | undefined): number {
  const peak = demand.reduce((most, gpus) => Math.max(most, gpus), 0);
  const purchases = new Int32Array(demand.length);
  let best = Infinity;
  const choose = (hour: number): void => {
    if (hour === demand.length) {
      best = Math.min(best, commitmentCost(demand, purchases, term, existing));
      return;
    }
    for (let count = 0; count <= peak; count++) {
      purchases[hour] = count;
      choose(hour + 1);
    }
  };
  choose(0);
  return best;
}

/**
 * The program of optimum.ts in CPLEX's LP format; each used hour of a reservation pays alpha, as each on-demand hour
 * pays 1.
 */
function linearProgram(demand: Int32Array, term: CommitmentTerm): string {
  const fixed = term.priceRatio - term.alpha;
  const objective: string[] = [];
  const rows: string[] = [];
  for (let hour = 0; hour < demand.length; hour++) {
    const owedHours = Math.min(term.termHours, demand.length - hour);
    objective.push(`${fixed * owedHours} r${hour}`, `${term.alpha} u${hour}`, `o${hour}`);
    const active = Array.from({ length: Math.min(term.termHours, hour + 1) }, (_, back) => `r${hour - back}`);
    rows.push(
      ` served${hour}: u${hour} + o${hour} >= ${demand[hour]}`,
      ` used${hour}: u${hour} - ${active.join(' - ')} <= 0`,
    );
  }
  return `Minimize\n obj: ${objective.join(' + ')}\nSubject To\n${rows.join('\n')}\nEnd\n`;
}
