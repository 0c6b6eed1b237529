/**
 * Commitments by hand: costs, the optimum, the published rules, the demand file and the advice, on cases small enough
 * to count.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { parseDemand, runCommitmentBacktest } from '../../src/lab/commitment/run.js';
import { Failure } from '../../src/core/errors.js';
import { compareCommitments } from '../../src/lab/commitment/comparison.js';
import { Guard } from '../../src/planning/commitment/guard.js';
import { LevelCounts } from '../../src/planning/commitment/level-counts.js';
import { LevelTally } from '../../src/planning/commitment/level-tally.js';
import {
  breakEvenHours,
  checkedTerm,
  coefficientOfVariation,
  type CommitmentTerm,
  commitmentCost,
  coverage,
  effectiveRatio,
} from '../../src/planning/commitment/model.js';
import {
  lookBack,
  onlineDeterministic,
  onlineRandomised,
  onlineThreshold,
} from '../../src/lab/commitment/opponents.js';
import { optimum } from '../../src/planning/commitment/optimum.js';
import { UseForecast } from '../../src/planning/commitment/use-forecast.js';
import { Panel } from '../../src/planning/commitment/panel.js';
import { plannedPurchases, ReservationPlanner } from '../../src/planning/commitment/planner.js';
import { recommendReservations } from '../../src/planning/commitment/recommend.js';
import { hourlyPeaks, SERIES_SHAPES, syntheticSeries } from '../../src/lab/commitment/series.js';

const gpus = (...values: number[]): Int32Array => Int32Array.from(values);
const hours = (count: number, value: number): number[] => Array.from({ length: count }, () => value);
/** A base of 2, and every 100 hours a burst of 20 to 9. */
const bursts = Array.from({ length: 2000 }, (_, hour) => (hour % 100 < 20 ? 9 : 2));
const term = (termHours: number, priceRatio: number, alpha = 0): CommitmentTerm => ({ termHours, priceRatio, alpha });

/** The problems of the failure that `act` throws. */
async function problemsOf(act: () => unknown): Promise<(string | null)[]> {
  try {
    await act();
  } catch (error) {
    if (error instanceof Failure) return error.problems.map(({ path: at, message }) => `${at}: ${message}`);
    throw error;
  }
  return [];
}

describe('the cost of purchases', () => {
  it('adds owed hours and on-demand hours', () => {
    // Two reservations of 3 hours at 0.5: hours 1-3; 2 x 3 x 0.5 owed; on demand 1 (hour 0) + 1 (hour 2) + 2 (hour 4).
    expect(commitmentCost(gpus(1, 2, 3, 0, 2), gpus(0, 2, 0, 0, 0), term(3, 0.5))).toBeCloseTo(3 + 4, 12);
  });

  it('charges a reservation that outlasts the data for the hours inside it', () => {
    expect(commitmentCost(gpus(1, 1), gpus(0, 1), term(8760, 0.6))).toBeCloseTo(1 + 0.6, 12);
  });

  it('pays alpha in used hours only', () => {
    // 4 hours owed at 0.6 - 0.2, two of them used at 0.2.
    expect(commitmentCost(gpus(1, 0, 0, 1), gpus(1, 0, 0, 0), term(4, 0.6, 0.2))).toBeCloseTo(4 * 0.4 + 2 * 0.2, 12);
  });

  it('lets what is already held serve first, at no new fee', () => {
    expect(commitmentCost(gpus(2, 2), gpus(1, 0), term(2, 0.5), gpus(1, 0))).toBeCloseTo(1 + 1, 12);
  });

  it('covers from the hour of purchase for one term', () => {
    expect([...coverage(gpus(1, 0, 2, 0, 0), 3)]).toEqual([1, 1, 3, 2, 2]);
  });

  it('reduces alpha to a smaller price ratio', () => {
    expect(effectiveRatio(term(100, 0.6, 0.2))).toBeCloseTo(0.5, 12);
    expect(breakEvenHours(term(168, 0.6))).toBeCloseTo(100.8, 12);
  });

  it('names every problem of a term', async () => {
    expect(await problemsOf(() => checkedTerm(term(0, Number.NaN, 1)))).toHaveLength(3);
    expect(await problemsOf(() => checkedTerm(term(24, 0.5, 0.6)))).toEqual([
      'alpha: is a part of priceRatio and cannot exceed it',
    ]);
  });

  it('measures variation in population form', () => {
    expect(coefficientOfVariation(gpus(1, 3))).toBeCloseTo(0.5, 12);
    expect(coefficientOfVariation(gpus(0, 0))).toBeNull();
  });
});

describe('the optimum', () => {
  it('staggers reservations where levels alone would pay more', () => {
    // Reservations at hours 0 and 2 serve everything; a level by itself would need on-demand hours too.
    const { cost, purchases } = optimum(gpus(1, 1, 2, 2, 1, 1), term(4, 0.6));
    expect(cost).toBeCloseTo(4.8, 12);
    expect([...purchases]).toEqual([1, 0, 1, 0, 0, 0]);
  });

  it('stays on demand below break-even, and where a reservation never pays', () => {
    // The first hour is cheaper on demand (1 against 1.8); in the last one a reservation is charged for that hour only.
    expect(optimum(gpus(1, 0, 0, 0, 1), term(3, 0.6)).cost).toBeCloseTo(1.6, 12);
    expect(optimum(gpus(3, 3, 3), term(2, 1.2)).cost).toBe(9);
  });

  it('is nothing for no demand', () => {
    expect(optimum(gpus(0, 0), term(2, 0.5)).cost).toBe(0);
    expect(optimum(gpus(), term(2, 0.5)).cost).toBe(0);
  });

  it('counts reservations that are already held', () => {
    expect(optimum(gpus(2, 2, 2), term(3, 0.5), gpus(1, 1, 1)).cost).toBeCloseTo(1.5, 12);
  });
});

describe('look-back', () => {
  it('keeps the largest level in use for more than the price ratio of the window', () => {
    const window = new LevelCounts();
    for (const value of [3, 1, 0, 3, 2]) window.add(value);
    expect([5, 4, 3, 2, 1].map((least) => window.levelAbove(least - 0.5))).toEqual([0, 1, 2, 3, 3]);
    window.remove(3);
    expect(window.levelAbove(1.5)).toBe(2);
    window.add(500);
    expect(window.levelAbove(0.5)).toBe(500);
  });

  it('waits for a whole window, or starts with a day', () => {
    const demand = gpus(...hours(60, 2));
    const whole = lookBack(demand, term(100, 0.6), { windowHours: 48, start: 'whole', everyHours: 1 });
    const partial = lookBack(demand, term(100, 0.6), { windowHours: 48, start: 'partial', everyHours: 24 });
    expect([whole.indexOf(2), partial.indexOf(2)]).toEqual([47, 23]);
  });

  it('buys again when a term ends', () => {
    const bought = lookBack(gpus(...hours(60, 1)), term(20, 0.6), { windowHours: 24, start: 'whole', everyHours: 1 });
    expect([...bought.keys()].filter((hour) => bought[hour]! > 0)).toEqual([23, 43]);
  });
});

describe('the online rules of Wang, Li and Liang', () => {
  it('reserve when the unexplained hours of a term exceed the break-even', () => {
    // Break-even 2 of 4 hours: the third on-demand hour triggers; then covered for 4; then three hours more.
    expect([...onlineDeterministic(gpus(...hours(9, 1)), term(4, 0.5))]).toEqual([0, 0, 1, 0, 0, 0, 0, 0, 1]);
  });

  it('reserve on reaching it where "exceed" is read so', () => {
    expect([...onlineDeterministic(gpus(...hours(6, 1)), term(4, 0.5), true)]).toEqual([0, 1, 0, 0, 0, 0]);
  });

  it('explain each past hour once per reservation', () => {
    // Two GPUs for three hours: both levels pass the break-even in the same hour.
    expect([...onlineDeterministic(gpus(2, 2, 2, 0), term(4, 0.5))]).toEqual([0, 0, 2, 0]);
    // One level is full, the other only in its last two hours.
    expect([...onlineDeterministic(gpus(1, 2, 2, 0), term(4, 0.5))]).toEqual([0, 0, 1, 0]);
  });

  it('forget hours older than a term', () => {
    expect([...onlineThreshold(gpus(1, 1, 0, 0, 1, 1), term(4, 0.5), 2)]).toEqual(hours(6, 0));
  });

  it('draw the threshold from the density of the paper', () => {
    // alpha 0: F(z) = (e^z - 1) / (e - 1); the median threshold is ln(1 + (e - 1) / 2) = 0.62 of the break-even, 6.2 of
    // 10 hours.
    const demand = gpus(...hours(20, 1));
    expect(onlineRandomised(demand, term(20, 0.5), 0.5).indexOf(1)).toBe(6);
    expect(onlineRandomised(demand, term(20, 0.5), 0).indexOf(1)).toBe(0);
    // alpha 0.5: the mass 0.5 / (e - 0.5) lies on the break-even itself, (0.75 - 0.5) / 0.5 x 20 = 10 hours.
    expect(onlineRandomised(demand, term(20, 0.75, 0.5), 0.9).indexOf(1)).toBe(10);
  });
});

describe('the guard', () => {
  it('falls back to the break-even rule where nothing is wished', () => {
    const guard = new Guard(4, 0.5);
    expect(hours(9, 1).map((value) => guard.step(value, 0))).toEqual([0, 0, 1, 0, 0, 0, 0, 0, 1]);
  });

  it('lets early purchases spend no more than the lower bound has earned', () => {
    // 10 GPUs, a fee of 10 hours each: after the first hour 2 x 10 covers 10 spent and one fee of 10 less the hour it
    // serves.
    const guard = new Guard(20, 0.5);
    expect(guard.step(10, 10)).toBe(1);
    expect(guard.activeReservations).toBe(1);
  });

  it('lets a past that was served well argue for nothing', () => {
    // Two terms reserved from their first hours (fees of 2 + 2), then nothing is wished. The dual takes 1 in hours 0,
    // 1, 4, 5, so the bound of hours 0 to 6 and 0 to 7 is 4: before hours 10 and 11 there are 6 and 7 spent and owed,
    // less than 2 x 4, and three unexplained hours buy nothing.
    const served = new Guard(4, 0.5);
    expect(hours(12, 1).map((value, hour) => served.step(value, hour < 8 ? 1 : 0))).toEqual([
      1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    ]);
    expect(onlineDeterministic(gpus(...hours(3, 1)), term(4, 0.5)).at(2)).toBe(1);
  });

  it('never reserves beyond what is in use', () => {
    const guard = new Guard(20, 0.5);
    for (let hour = 0; hour < 8; hour++) guard.step(3, 0);
    expect(guard.step(1, 50)).toBe(1);
  });

  it('buys nothing that cannot pay', () => {
    expect(plannedPurchases(gpus(...hours(400, 5)), term(24, 1.1)).every((count) => count === 0)).toBe(true);
  });
});

describe('the forecast', () => {
  const after = (demand: readonly number[], termHours = 168): UseForecast => {
    const useForecast = new UseForecast(termHours);
    for (const value of demand) useForecast.step(value);
    return useForecast;
  };

  it('counts the hours that reach a level', () => {
    const tally = new LevelTally();
    for (const value of [3, 1, 0, 3, 2]) tally.add(value);
    expect([0, 1, 2, 3, 4].map((level) => tally.atLeast(level))).toEqual([5, 4, 3, 2, 0]);
    tally.add(500);
    tally.remove(3);
    expect([0, 3, 4, 500, 501, 9000].map((level) => tally.atLeast(level))).toEqual([5, 2, 1, 1, 0, 0]);
  });

  it('trusts a level the more, the longer it lasts', () => {
    const shares = [6, 24, 72, 240].map((length) => after([...hours(1000, 2), ...hours(length, 6)]).expectedUse(6));
    expect(shares).toEqual(shares.toSorted((one, other) => one - other));
    expect(shares[0]).toBeLessThan(0.9);
    expect(shares[3]).toBeGreaterThan(0.9);
  });

  it('tells a burst like many before it from a base', () => {
    const useForecast = after([...bursts, ...hours(15, 9)]);
    expect(useForecast.expectedUse(2)).toBeGreaterThan(0.95);
    expect(useForecast.expectedUse(9)).toBeLessThan(0.4);
    expect(useForecast.levelAbove(0.66, 9)).toBe(2);
    expect(useForecast.levelAbove(1, 9)).toBe(0);
  });
});

describe('the panel', () => {
  it('charges each rule for what it would hold, and trusts it less by what it cost above the cheapest', () => {
    // A term of 2 hours at 0.5. Rule 0 buys nothing: 2 x 2 on demand. Rule 1 holds two: 2 x 2 x 0.5. Mean demand 2, so
    // a term costs 2 x 0.5 x 2 = 2.
    const panel = new Panel([1, 1], 2, 0.5, 3);
    for (const value of [2, 2]) panel.charge(value, gpus(0, 2));
    const less = Math.exp((-3 * (4 - 2)) / 2);
    expect(panel.weights()[0]).toBeCloseTo(less / (1 + less), 12);
    expect(panel.weights()[1]).toBeCloseTo(1 / (1 + less), 12);
    expect(panel.weights(1)).toEqual([1]);
  });

  it('charges no rule for what is not in use when it is bought, and a purchase for its whole term', () => {
    // Rule 1 wishes 9 where 1 is demanded: it holds 1, idle in hour 1 (cost 1 x 0.5 + 0.5); rule 0 pays 1 on demand.
    // They have cost the same.
    const panel = new Panel([1, 1], 2, 0.5, 3);
    panel.charge(1, gpus(0, 9));
    panel.charge(0, gpus(0, 9));
    expect(panel.weights()).toEqual([0.5, 0.5]);
  });

  it('votes by trust, half of which must wish for a reservation', () => {
    const panel = new Panel([1, 1, 2.5], 2, 0.5, 3);
    expect(panel.vote(gpus(9, 4, 2))).toBe(2);
    expect(panel.vote(gpus(9, 4, 5))).toBe(5);
    expect(new Panel([1, 1, 1], 2, 0.5, 3).vote(gpus(0, 7, 3))).toBe(3);
  });
});

describe('the planner', () => {
  it('holds the base and lets the bursts pass, even where two of them outlast break-even', () => {
    const planner = new ReservationPlanner(term(168, 0.6));
    // 52 + 52 hours of one week are more than 100.8: the bare break-even rule buys, a planner that was right so far
    // need not.
    const demand = [...bursts, ...hours(52, 9), ...hours(4, 2), ...hours(52, 9)];
    for (const value of demand) planner.step(value);
    expect(planner.held).toBe(2);
    expect(coverage(onlineDeterministic(gpus(...demand), term(168, 0.6)), 168).at(-1)).toBeGreaterThan(2);
  });

  it('weights the look-backs beside each other, whatever the others have cost', () => {
    const planner = new ReservationPlanner(term(24, 0.6));
    for (const value of hours(20_000, 5)) planner.step(value);
    expect(planner.windowWeights().reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 9);
  });
});

describe('demand series', () => {
  it('takes the peak of each hour, in whole GPUs', () => {
    const spans = [
      { startSeconds: 0, endSeconds: 3600, milliGpus: 500 },
      { startSeconds: 1800, endSeconds: 7200, milliGpus: 600 },
      { startSeconds: 7300, endSeconds: 7400, milliGpus: 8000 },
      { startSeconds: 7400, endSeconds: 7500, milliGpus: 8000 },
      { startSeconds: 9000, endSeconds: 9000, milliGpus: 9000 },
    ];
    expect([...hourlyPeaks(spans, 4)]).toEqual([2, 1, 8, 0]);
  });

  it.each(SERIES_SHAPES)('makes %s again from its seed', (shape) => {
    const series = syntheticSeries(shape, 300, 7);
    expect(series.tenant).toBe(`synthetic-${shape}-7`);
    expect(syntheticSeries(shape, 300, 7)).toEqual(series);
    expect(syntheticSeries(shape, 300, 8).demand).not.toEqual(series.demand);
    expect(series.demand.every((value) => value >= 0)).toBe(true);
  });
});

describe('the comparison', () => {
  const tenants = [
    { tenant: 'constant', demand: gpus(...hours(400, 4)) },
    { tenant: 'variable', demand: Int32Array.from({ length: 400 }, (_, hour) => (hour % 100 < 70 ? 3 : 0)) },
    { tenant: 'nothing', demand: new Int32Array(400) },
  ];
  const { cells, mean } = compareCommitments(tenants, term(24, 0.5));

  it('has the two cells and every rule in each', () => {
    expect(cells.map(({ name, count }) => [name, count])).toEqual([
      ['all', 3],
      ['cv>=0.5', 1],
    ]);
    const names = [
      'none',
      'look-back-1d',
      'look-back-7d',
      'look-back-30d',
      'look-back-60d',
      'online-deterministic',
      'online-randomised',
      'bursar',
      'clairvoyant',
    ];
    for (const cell of [...cells.map(({ policies }) => policies), mean])
      expect(cell.map(({ name }) => name)).toEqual(names);
  });

  it('pools savings over tenants and rates the worst one', () => {
    const all = new Map(cells[0]!.policies.map((policy) => [policy.name, policy]));
    expect(all.get('none')).toMatchObject({ meanCost: (1600 + 840) / 3, meanShare: 0, worstRatio: 2 });
    expect(all.get('clairvoyant')).toMatchObject({ meanShare: 1, worstRatio: 1 });
    const [none, bursar, best] = ['none', 'bursar', 'clairvoyant'].map((name) => all.get(name)!.meanCost);
    expect(all.get('bursar')!.meanShare).toBeCloseTo((none! - bursar!) / (none! - best!), 12);
  });

  it('has no share where nothing can be saved', () => {
    const { policies } = compareCommitments([{ tenant: 'nothing', demand: new Int32Array(10) }], term(24, 0.5))
      .cells[0]!;
    expect(policies.every(({ meanShare, worstRatio }) => meanShare === null && worstRatio === null)).toBe(true);
  });
});

describe('the demand file', () => {
  it('fills missing hours with 0 GPUs over the range of the whole file, and rounds parts up', () => {
    const series = parseDemand('hour,tenant,gpus,note\n7,a,1,x\n\n5,"b, c",0.25,y\r\n8,a,2,\n', 'x.csv');
    expect(series).toEqual([
      { tenant: 'a', demand: gpus(0, 0, 1, 2) },
      { tenant: 'b, c', demand: gpus(1, 0, 0, 0) },
    ]);
  });

  it('names every problem', async () => {
    expect(await problemsOf(() => parseDemand('tenant,hour,gpus\na,1.5,2\n,2,-1\nb,3,many\n', 'x.csv'))).toEqual([
      'line 2/hour: must be an integer',
      'line 3/tenant: is empty',
      'line 3/gpus: must be a number from 0 to 1000000',
      'line 4/gpus: must be a number from 0 to 1000000',
    ]);
    expect(await problemsOf(() => parseDemand('tenant,gpus\n', 'x.csv'))).toEqual(['line 1: has no column hour']);
    expect(await problemsOf(() => parseDemand('tenant,hour,gpus\n', 'x.csv'))).toEqual(['null: holds no rows']);
    expect(await problemsOf(() => parseDemand('tenant,hour,gpus\na,1,1\na,1,2\n', 'x.csv'))).toEqual([
      'a/1: is there twice',
    ]);
    expect(await problemsOf(() => parseDemand('tenant,hour,gpus\na,1,1\na,9000000,2\n', 'x.csv'))).toHaveLength(1);
  });

  it('runs from a plain or a gzip file, and refuses a missing one', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'commitment-'));
    try {
      const csv = `tenant,hour,gpus\n${hours(100, 3)
        .map((value, hour) => `team,${hour},${value}`)
        .join('\n')}\n`;
      await writeFile(path.join(folder, 'demand.csv'), csv);
      await writeFile(path.join(folder, 'demand.csv.gz'), gzipSync(csv));
      const options = { termHours: 24, priceRatio: 0.6 };
      const report = await runCommitmentBacktest({ ...options, demand: path.join(folder, 'demand.csv') });
      expect(report).toMatchObject({
        problem: 'commitment',
        settings: { termHours: 24, priceRatio: 0.6, alpha: 0, tenants: 1, hours: 100 },
      });
      expect((await runCommitmentBacktest({ ...options, demand: path.join(folder, 'demand.csv.gz') })).cells).toEqual(
        report.cells,
      );
      await expect(runCommitmentBacktest({ ...options, demand: path.join(folder, 'none.csv') })).rejects.toMatchObject({
        kind: 'missing',
      });
      await expect(runCommitmentBacktest({ ...options, demand: folder })).rejects.toMatchObject({ kind: 'invalid' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('the advice', () => {
  const week = { name: '1 week', termHours: 168, priceRatio: 0.6, alpha: 0, upfront: 1 };
  const steady = Float64Array.from({ length: 1000 }, () => 8);

  it('reserves a steady base, less what is held already', () => {
    const [advice] = recommendReservations(
      steady,
      [
        { units: 3, hoursLeft: 10 },
        { units: 2, hoursLeft: 0 },
      ],
      [week],
    );
    expect(advice).toMatchObject({
      term: '1 week',
      units: 5,
      evidence: { hoursSeen: 1000, demandNow: 8, alreadyReserved: 3, breakEvenShare: 0.6 },
    });
    expect(advice!.expectedSaving).toBeCloseTo(5 * 168 * 0.4, 6);
    expect(advice!.savingInterval.low).toBeCloseTo(5 * 168 * 0.4, 6);
    expect(advice!.upfrontCost).toBeCloseTo(5 * 168 * 0.6, 6);
  });

  it('gives a unit to the term that saves most per hour, and no unit twice', () => {
    const cheaper = { ...week, name: '2 weeks', termHours: 336, priceRatio: 0.5 };
    expect(recommendReservations(steady, [], [week, cheaper]).map(({ term: name, units }) => [name, units])).toEqual([
      ['1 week', 0],
      ['2 weeks', 8],
    ]);
  });

  it('vouches for no more of a term than the past is long', () => {
    const [advice] = recommendReservations(Int32Array.from(hours(120, 4)), [], [week]);
    expect(advice!.units).toBe(4);
    expect(advice!.savingInterval.low).toBeCloseTo(4 * (120 - 100.8), 6);
    expect(advice!.savingInterval.high).toBeCloseTo(4 * (168 - 100.8), 6);
  });

  it('counts what the past does not vouch for as used at the high end: more than it expects of use that comes and goes', () => {
    const cheap = { ...week, priceRatio: 0.3 };
    const past = Int32Array.from(Array.from({ length: 120 }, (_, hour) => (hour % 10 < 7 ? 4 : 0)));
    const [advice] = recommendReservations(past, [], [cheap], { guarded: false });
    const { units, expectedSaving, savingInterval } = advice!;
    expect(units).toBe(4);
    expect(savingInterval.low).toBeLessThan(expectedSaving);
    expect(savingInterval.high).toBeGreaterThan(expectedSaving);
    expect(savingInterval.high).toBeLessThanOrEqual(4 * 168 * 0.7);
  });

  it('recommends nothing for no demand, no past, or demand that has ended', () => {
    for (const demand of [
      new Int32Array(500),
      new Int32Array(0),
      Int32Array.from([...hours(500, 5), ...hours(200, 0)]),
    ]) {
      expect(recommendReservations(demand, [], [week])).toMatchObject([
        { units: 0, expectedSaving: 0, evidence: { expectedUse: null } },
      ]);
    }
  });

  it('names every problem', async () => {
    const bad = { ...week, termHours: 0.5, upfront: 2 };
    expect(
      await problemsOf(() =>
        recommendReservations(Float64Array.of(1, Number.NaN, -1), [{ units: 1.5, hoursLeft: -1 }], [bad]),
      ),
    ).toHaveLength(6);
  });
});
