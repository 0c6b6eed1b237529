import { describe, expect, it } from 'vitest';
import { median, nextEpisode, tailLimit } from '../../../src/planning/anomaly/anomaly.js';
import { detectPriceAnomalies, type PricePoint } from '../../../src/planning/anomaly/prices.js';
import { detectSpendAnomalies, HOURLY } from '../../../src/planning/anomaly/spend.js';
import { Failure } from '../../../src/core/errors.js';
import { mulberry32 } from '../../../src/lab/random.js';

const repeat = (value: number, count: number): number[] => new Array<number>(count).fill(value);
const spend = (values: readonly (number | null)[]) => values.map((value, at) => ({ at, spend: value }));
const prices = (...values: number[]): PricePoint[] => values.map((price, at) => ({ at, price }));
const brief = (found: ReturnType<typeof detectSpendAnomalies>) =>
  found.map(({ kind, at, decidedAt }) => `${kind} ${at}${decidedAt === at ? '' : ` at ${decidedAt}`}`);
const problemsOf = (act: () => unknown): (string | null)[] => {
  try {
    act();
  } catch (error) {
    if (error instanceof Failure) return error.problems.map(({ path }) => path);
  }
  return [];
};

describe('the limit of usual deviations', () => {
  it('by hand: three in the tail, above 0, by 1, 2 and 3', () => {
    // start 0, total 6, (0.2 / 0.025)^(1/3) - 1 = 1
    expect(tailLimit([...repeat(0, 12), 3, 1, 2], 0.025)).toBeCloseTo(6, 12);
    // start 5, the same excesses
    expect(tailLimit([...repeat(5, 12), 8, 6, 7], 0.025)).toBeCloseTo(11, 12);
  });
  it('says nothing before it has three deviations in the tail', () => {
    expect(tailLimit(repeat(1, 14), 0.01)).toBeNull();
    expect(tailLimit(repeat(1, 15), 0.01)).toBe(1);
  });
  it('is broken by the stated share of new values, where the tail is exponential and known from 20, 50 or 200 values', () => {
    const random = mulberry32(7);
    const draw = (): number => -Math.log(1 - random());
    for (const known of [20, 50, 200]) {
      let broken = 0;
      for (let trial = 0; trial < 8000; trial += 1) {
        const limit = tailLimit(Array.from({ length: known }, draw), 0.02);
        if (draw() > (limit ?? 0)) broken += 1;
      }
      expect(broken / 8000).toBeGreaterThan(0.014);
      expect(broken / 8000).toBeLessThan(0.026);
    }
  });
  it('median and rows', () => {
    expect([median([]), median([3]), median([1, 9]), median([5, 1, 2])]).toEqual([0, 3, 5, 2]);
    const first = nextEpisode(null, 4, 1);
    expect(first).toEqual({ first: 4, direction: 1, count: 1 });
    expect(nextEpisode(first, 5, 1)).toEqual({ first: 4, direction: 1, count: 2 });
    expect(nextEpisode(first, 5, -1)).toEqual({ first: 5, direction: -1, count: 1 });
    expect(nextEpisode(first, 5, null)).toBeNull();
  });
});

describe('spend', () => {
  it('a spike, a drop, and a level that stays', () => {
    expect(brief(detectSpendAnomalies(spend([...repeat(100, 30), 150, ...repeat(100, 5)])))).toEqual(['spike 30']);
    expect(brief(detectSpendAnomalies(spend([...repeat(100, 30), 0, ...repeat(100, 5)])))).toEqual(['drop 30']);
    expect(brief(detectSpendAnomalies(spend([...repeat(100, 30), ...repeat(150, 20)])))).toEqual([
      'spike 30',
      'level-shift 30 at 32',
    ]);
  });

  it('states what it expected, by hand', () => {
    const [found] = detectSpendAnomalies(spend([...repeat(100, 30), 150]));
    // Level 100, cushion 5, limit a tenth: 105 exp(+-0.1) - 5; ln(155 / 105) over 0.1.
    expect(found?.expected.mean).toBe(100);
    expect(found?.expected.high).toBeCloseTo(105 * Math.exp(0.1) - 5, 9);
    expect(found?.expected.low).toBeCloseTo(105 * Math.exp(-0.1) - 5, 9);
    expect(found?.score).toBeCloseTo(Math.log(155 / 105) / 0.1, 9);
    expect(found).toMatchObject({ observed: 150, evidence: { known: 29, shaped: 0 } });
  });

  it('knows the weekend: what is usual on Monday is a spike on Sunday', () => {
    const week = (day: number): number => (day % 7 < 5 ? 100 : 20);
    const days = Array.from({ length: 84 }, (_, day) => week(day));
    expect(detectSpendAnomalies(spend(days))).toEqual([]);
    days[76] = 100;
    const found = detectSpendAnomalies(spend(days));
    expect(brief(found)).toEqual(['spike 76']);
    expect(found[0]?.expected.mean).toBeCloseTo(20, 6);
    expect(found[0]?.evidence['shaped']).toBe(1);
  });

  it('unknown is passed over, and a short or missing past is silent', () => {
    expect(detectSpendAnomalies(spend([...repeat(100, 30), null, null, ...repeat(100, 5)]))).toEqual([]);
    expect(detectSpendAnomalies(spend([1, 900, 3, 50]))).toEqual([]);
    expect(detectSpendAnomalies([])).toEqual([]);
    expect(detectSpendAnomalies(spend([null, null]))).toEqual([]);
  });

  it('hours: a spike at night that noon would hide', () => {
    const hours = Array.from({ length: 24 * 42 }, (_, hour) => (hour % 24 < 8 ? 10 : 100));
    hours[24 * 41 + 3] = 100;
    expect(brief(detectSpendAnomalies(spend(hours), HOURLY))).toEqual([`spike ${24 * 41 + 3}`]);
  });

  it('names every problem at once', () => {
    expect(
      problemsOf(() =>
        detectSpendAnomalies(
          [
            { at: 1, spend: NaN },
            { at: 1, spend: 2 },
          ],
          { falseAlarmRate: 0, seasonPoints: 0.5 },
        ),
      ),
    ).toEqual(['seasonPoints', 'falseAlarmRate', 'points/0/spend', 'points/1/at']);
  });
});

describe('prices', () => {
  it('a decimal slip is dirty at once, and the price after it is usual', () => {
    const found = detectPriceAnomalies(prices(1, 1.01, 1, 10.1, 1.02, 0.01, 1));
    expect(brief(found)).toEqual(['dirty-price 3', 'dirty-price 5']);
    expect(found.map(({ evidence }) => evidence['digits'])).toEqual([1, -2]);
  });

  it('a jump by three that comes back is a spike at once and dirty on its return', () => {
    expect(brief(detectPriceAnomalies(prices(1, 1, 1, 3, 1)))).toEqual(['spike 3', 'dirty-price 3 at 4']);
    expect(brief(detectPriceAnomalies(prices(3, 3, 3, 1, 1, 3)))).toEqual(['drop 3', 'dirty-price 3 at 5']);
  });

  it('a jump by a half that comes back is not called dirty, unless peers stood still', () => {
    const own = prices(2, 2, 2, 3, 2);
    expect(brief(detectPriceAnomalies(own))).toEqual(['spike 3']);
    expect(brief(detectPriceAnomalies(own, { peers: [prices(4, 4, 4, 6, 4), prices(8, 8, 8, 12, 8)] }))).toEqual([
      'spike 3',
    ]);
    const found = detectPriceAnomalies(own, {
      peers: [prices(4, 4, 4, 4, 4), prices(8, 8, 8, 8, 8), prices(8, 8, 8, 12, 8)],
    });
    expect(brief(found)).toEqual(['spike 3', 'dirty-price 3 at 4']);
    expect(found[1]?.evidence).toMatchObject({ peers: 3, peersMoved: 1, factor: 1.5 });
  });

  it('a jump by three that the peers made too is real', () => {
    expect(brief(detectPriceAnomalies(prices(1, 1, 1, 3, 1), { peers: [prices(2, 2, 2, 6, 2)] }))).toEqual(['spike 3']);
  });

  it('a new price that holds is a level shift, and small moves are nothing', () => {
    expect(brief(detectPriceAnomalies(prices(1, 1, 1, 2, 2, 2, 2, 2)))).toEqual(['spike 3', 'level-shift 3 at 5']);
    expect(detectPriceAnomalies(prices(1, 1.05, 1.1, 1.15, 1.1, 1.05))).toEqual([]);
  });

  it('a feed that used to move and repeats itself, once; not on its floor', () => {
    const moving = Array.from({ length: 20 }, (_, index) => 1 + 0.01 * (index % 5));
    const found = detectPriceAnomalies(prices(...moving, ...repeat(1.04, 60)));
    // The last of the moving ones is 1.04 already: the thirtieth repeat is at 20 + 29.
    expect(brief(found)).toEqual(['dirty-price 49']);
    expect(found[0]?.evidence).toMatchObject({ repeats: 30, longestRepeat: 0 });
    expect(detectPriceAnomalies(prices(...moving, ...repeat(1, 60)))).toEqual([]);
    expect(detectPriceAnomalies(prices(...repeat(1, 200)))).toEqual([]);
  });

  it('names every problem at once', () => {
    expect(
      problemsOf(() =>
        detectPriceAnomalies(prices(1, 0, NaN), { peers: [prices(-1)], shiftPoints: 0, falseAlarmRate: 0.5 }),
      ),
    ).toEqual(['points/1/price', 'points/2/price', 'peers/0/0/price', 'falseAlarmRate', 'shiftPoints']);
    expect(detectPriceAnomalies([])).toEqual([]);
  });
});
