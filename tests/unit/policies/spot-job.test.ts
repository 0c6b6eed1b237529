/**
 * The planner's word on a job with a deadline: what the market showed before the job counts, and what nobody saw does
 * not.
 */
import { describe, expect, it } from 'vitest';
import type { SpotMarket } from '../../../src/core/policy/policy.js';
import { HOUR_MS } from '../../../src/core/time.js';
import { PlanShelf } from '../../../src/planning/spot/plan-shelf.js';
import { spotWord, type SpotWord } from '../../../src/policies/estimating/spot-job.js';

const STARTED = Date.UTC(2026, 2, 10);
/** One reading an hour that end with the job's first: 1 available, 0 absent, - not looked at. */
const market = (readings: string): SpotMarket => ({
  provider: 'AWS',
  region: 'us-east-1',
  gpuModel: 'A100-80GB',
  tickSeconds: 3600,
  from: STARTED - (readings.length - 1) * HOUR_MS,
  available: [...readings].map((reading) => (reading === '-' ? null : reading === '1')),
});
const word = (readings: string, deadlineHours = 36): SpotWord | null =>
  spotWord({
    job: {
      startedAt: STARTED,
      deadline: STARTED + deadlineHours * HOUR_MS,
      workHours: 30,
      workLeftHours: 30,
      restartHours: 2,
      resizable: null,
    },
    asOf: STARTED,
    holds: null,
    market: market(readings),
    restartHours: 2,
    onDemand: 3e9,
    spot: 1e9,
  });
const FLICKERED = '100'.repeat(40);
const STABLE = `${'1'.repeat(59)}0`.repeat(2);

describe('a job that is about to start where spot can be had', () => {
  it('takes spot where it has been stable for days, and not where it has come and gone', () => {
    expect(word(`${STABLE}1`)).toBe('spot');
    expect(word(`${FLICKERED}1`)).toBe('on-demand');
  });

  it('does not count what lies before a hole, nor less than a day', () => {
    const unknown = word('1');
    expect(unknown).toBe('spot');
    expect(word(`${FLICKERED}-1`)).toBe(unknown);
    expect(word(`${FLICKERED}-${'100'.repeat(7)}1`)).toBe(unknown);
  });

  it('keeps the deadline whatever the past', () => {
    expect(word(`${STABLE}1`, 32)).toBe('on-demand');
  });
});

describe('the jobs of a team, looked at in turn', () => {
  const TICK_MS = 600_000;
  /** Two days of every pattern before the jobs begin, and all that follows. */
  const readings = Array.from({ length: 2 * 144 + 300 }, (_, n) => n % 40 < 25);
  const shared: SpotMarket = {
    provider: 'AWS',
    region: 'us-east-1',
    gpuModel: 'A100-80GB',
    tickSeconds: 600,
    from: STARTED - 2 * 144 * TICK_MS,
    available: readings,
  };
  const look = (n: number, workHours: number, plans?: PlanShelf): SpotWord | null =>
    spotWord(
      {
        job: {
          startedAt: STARTED,
          deadline: STARTED + (workHours + 5) * HOUR_MS,
          workHours,
          workLeftHours: workHours - n / 9,
          restartHours: 0.2,
          resizable: null,
        },
        asOf: STARTED + n * TICK_MS,
        holds: null,
        market: shared,
        restartHours: 0.2,
        onDemand: 3e9,
        spot: 1e9,
      },
      plans,
    );

  it('are planned once each, whatever the number of looks, and take up no more than is allowed', () => {
    const plans = new PlanShelf(128e6);
    const words = new Set<SpotWord | null>();
    for (let n = 0; n < 120; n += 3) {
      for (const workHours of [16, 17, 18]) words.add(look(n, workHours, plans));
    }
    expect(plans.made).toBe(3);
    expect(plans.bytes).toBeLessThan(8e6);
    expect(words).toEqual(new Set(['spot', 'wait', 'on-demand']));
  });

  it('hear the same where no plan outlives a look', () => {
    for (let n = 0; n < 120; n += 50) {
      for (const workHours of [16, 18]) expect(look(n, workHours)).toBe(look(n, workHours, new PlanShelf(0)));
    }
  });
});
