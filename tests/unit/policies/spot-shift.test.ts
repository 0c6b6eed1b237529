/** spot-shift at its limits: when it moves what may be interrupted, when it moves it back, and when it stays. */
import { describe, expect, it } from 'vitest';
import type { JobFacts, PolicyView, SpotMarket, WorkloadView } from '../../../src/core/policy/policy.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';
import { AS_OF, exampleView, offer, OFFERS, rate, workload } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/spot-shift.js';

const TICK_MS = 600_000;
const DAYS = 14;
/** Fourteen days of ticks up to the view's instant, the newest last. */
const market = (last: readonly (boolean | null)[], first = true): SpotMarket => ({
  provider: 'AWS',
  region: 'us-east-1',
  gpuModel: 'A100-80GB',
  tickSeconds: TICK_MS / 1000,
  from: AS_OF - DAYS * DAY_MS,
  available: [...new Array<boolean>((DAYS * DAY_MS) / TICK_MS - last.length).fill(first), ...last],
});
const steady = market([]);
const gone = market([false]);

const batch = (over: Partial<WorkloadView> = {}): WorkloadView =>
  workload('t', {
    kind: 'training',
    interruptible: true,
    fleet: { ready: 2, booting: 1, minReplicas: 1, maxReplicas: 4, changedAt: null },
    ...over,
  });
const view = (one: WorkloadView, spot: SpotMarket | null, over: Partial<PolicyView> = {}): PolicyView =>
  exampleView({ workloads: [one], spotMarkets: spot === null ? [] : [spot], ...over });
const proposed = (one: WorkloadView, spot: SpotMarket | null, given: object = {}, over: Partial<PolicyView> = {}) =>
  policy.evaluate(view(one, spot, over), policy.params.parse(given))[0];
const done = (one: WorkloadView, spot: SpotMarket | null, given: object = {}, over: Partial<PolicyView> = {}): string =>
  proposed(one, spot, given, over)?.action ??
  policy.explain!(view(one, spot, over), policy.params.parse(given))[0]!.leftAlone!.code;
const dear = OFFERS.map((one) =>
  one.gpuModel === 'A100-80GB' && one.term === 'spot' ? { ...one, rate: rate(4000) } : one,
);

it.each<[string, Partial<WorkloadView>, SpotMarket | null]>([
  ['MoveToSpot', {}, steady],
  ['MoveToSpot', {}, null],
  ['stays', {}, gone],
  ['MoveToOnDemand', { term: 'spot' }, gone],
  ['stays', { term: 'spot' }, steady],
  ['waits', { term: 'spot' }, market([null, null])],
  ['stays', {}, market([null, null])],
  ['not-interruptible', { interruptible: null }, steady],
  ['not-interruptible', { interruptible: false }, steady],
  ['fixed', { spotIsFixed: true }, steady],
  ['MoveToOnDemand', { term: 'spot', interruptible: null }, gone],
  ['protected', { isProtected: true }, steady],
  ['other-term', { term: 'reserved-1y' }, steady],
  ['other-term', { term: null }, steady],
  ['size-unknown', { fleet: null }, steady],
  ['size-unknown', { gpusPerReplica: null }, steady],
  ['no-price', { sku: 'unknown' }, steady],
])('%s: %o', (code, over, spot) => expect(done(batch(over), spot)).toBe(code));

describe('work without a price', () => {
  const due = { startedAt: null, deadline: AS_OF + 16 * HOUR_MS, workHours: 12, workLeftHours: 10 };
  const job = { ...due, restartHours: 0.5, resizable: null };
  const unpriced = { sku: 'unknown' };

  it.each<[string, Partial<WorkloadView>, SpotMarket | null]>([
    ['MoveToOnDemand', { term: 'spot' }, gone],
    ['MoveToOnDemand', { term: 'spot', job }, gone],
    ['MoveToOnDemand', { term: 'spot', job }, null],
    ['MoveToOnDemand', { term: 'spot', job }, market([null, null])],
    ['no-price', { term: 'spot', job }, steady],
    ['no-price', { term: 'spot' }, market([null, null])],
    ['no-price', { term: 'spot' }, null],
    ['no-work', { term: 'spot', job: { ...job, workLeftHours: 0 } }, gone],
    ['no-price', {}, gone],
    ['protected', { term: 'spot', isProtected: true }, gone],
  ])('%s: %o', (code, over, spot) => expect(done(batch({ ...unpriced, ...over }), spot)).toBe(code));

  it('leaves spot that is gone at an unknown cost, and says so', () => {
    expect(proposed(batch({ ...unpriced, term: 'spot' }), gone)).toMatchObject({
      title: 'Move t on demand: spot is gone',
      monthlySavings: null,
      monthlyCost: null,
      protective: true,
      risk: { note: 'What it costs is unknown: no price of its replicas is known.' },
    });
  });
});

describe('the market of its own zone', () => {
  const zone = 'us-east-1a';
  const inZone = (spot: SpotMarket): SpotMarket => ({ ...spot, region: zone });

  it('counts before that of its region', () => {
    const both = (spot: SpotMarket): Partial<PolicyView> => ({ spotMarkets: [steady, inZone(spot)] });
    expect(done(batch({ zone, term: 'spot' }), null, {}, both(gone))).toBe('MoveToOnDemand');
    expect(done(batch({ zone, term: 'spot' }), null, {}, both(steady))).toBe('stays');
    expect(done(batch({ zone }), inZone(gone))).toBe('stays');
    expect(done(batch({ zone, term: 'spot' }), gone)).toBe('MoveToOnDemand');
  });

  it('has a price of its own', () => {
    const offers = [...OFFERS, offer('A100-80GB', 'spot', 4000, { region: zone })];
    expect(proposed(batch({ zone, term: 'spot' }), steady, {}, { offers })?.title).toBe(
      'Move t on demand: spot is no cheaper',
    );
    expect(done(batch({ term: 'spot' }), steady, {}, { offers })).toBe('stays');
  });
});

describe('spot without a deadline', () => {
  it('is returned to once it has been there for as long as asked', () => {
    const since = (ticks: number) => market([false, ...new Array<boolean>(ticks).fill(true)]);
    // An hour is six ticks of ten minutes.
    expect([done(batch(), since(5)), done(batch(), since(6))]).toEqual(['stays', 'MoveToSpot']);
    const half = { stableMinutes: 30 };
    expect([done(batch(), since(2), half), done(batch(), since(3), half)]).toEqual(['stays', 'MoveToSpot']);
    expect(done(batch(), since(1), { stableMinutes: 0 })).toBe('MoveToSpot');
    expect(done(batch(), market([null, true, true, true, true, true]))).toBe('stays');
  });

  it('counts by the tick that runs, where it was seen', () => {
    const running = (tick: boolean) => ({ ...steady, available: [...steady.available, tick] });
    expect(done(batch({ term: 'spot' }), running(false))).toBe('MoveToOnDemand');
    expect(done(batch({ term: 'spot' }), running(true))).toBe('stays');
  });

  it('is left where it costs as much', () => {
    expect(done(batch({ term: 'spot' }), steady, {}, { offers: dear })).toBe('MoveToOnDemand');
    expect(proposed(batch({ term: 'spot' }), steady, {}, { offers: dear })?.title).toBe(
      'Move t on demand: spot is no cheaper',
    );
    expect(done(batch(), steady, {}, { offers: dear })).toBe('stays');
  });

  it('is not taken where interruptions cost what it saves', () => {
    // Every second tick: three losses an hour, each of a restart at either price.
    const flapping: SpotMarket = { ...steady, available: steady.available.map((_, n) => n % 2 === 0) };
    const stable = {
      ...flapping,
      available: [...flapping.available.slice(0, -12), ...new Array<boolean>(12).fill(true)],
    };
    expect(done(batch(), stable)).toBe('no-saving');
    expect(done(batch(), stable, { restartHours: 0 })).toBe('MoveToSpot');
  });
});

describe('a deadline', () => {
  const job = (over: Partial<JobFacts>): JobFacts => ({
    startedAt: AS_OF - 2 * HOUR_MS,
    deadline: AS_OF + 16 * HOUR_MS,
    workHours: 12,
    workLeftHours: 10,
    restartHours: 0.5,
    resizable: null,
    ...over,
  });

  it.each<[string, Partial<JobFacts>, Partial<WorkloadView>, SpotMarket | null]>([
    ['MoveToSpot', {}, {}, steady],
    ['MoveToOnDemand', { deadline: AS_OF + 10.5 * HOUR_MS }, { term: 'spot' }, gone],
    ['no-work', { workLeftHours: 0 }, {}, steady],
    ['deadline', { workLeftHours: null }, {}, steady],
    ['deadline', { workHours: null }, {}, steady],
    ['MoveToSpot', { workHours: null, deadline: null }, {}, steady],
    ['stays', {}, {}, null],
    ['MoveToOnDemand', {}, { term: 'spot' }, null],
    ['MoveToSpot', { deadline: null }, {}, null],
  ])('%s: %o %o', (code, facts, over, spot) => expect(done(batch({ job: job(facts), ...over }), spot)).toBe(code));

  it('is the reason for a move back', () => {
    const late = batch({ term: 'spot', job: job({ deadline: AS_OF + 10.5 * HOUR_MS }) });
    expect(proposed(late, gone)?.title).toBe('Move t on demand: its deadline needs it');
    const over = batch({ term: 'spot', job: job({ deadline: AS_OF - HOUR_MS }) });
    expect(proposed(over, steady)?.title).toBe('Move t on demand: its deadline has passed, and it ends soonest there');
    expect(proposed(batch({ term: 'spot' }), gone)?.title).toBe('Move t on demand: spot is gone');
  });
});

describe('a move', () => {
  it('to spot saves the difference while there is spot, on all its GPUs', () => {
    const made = proposed(batch({ gpusPerReplica: 2 }), steady)!;
    // Six GPUs at 4.00 and 1.50 dollars, always available.
    const dollars = (each: number) => BigInt(Math.round(6 * each * 730)) * 1_000_000_000n;
    expect(made).toMatchObject({
      monthlySavings: { mean: dollars(2.5), low: dollars(2.5), high: dollars(2.5) },
      monthlyCost: dollars(4),
      change: { term: 'spot', sku: 'example.a100-80gb' },
      computation: { gpus: 6, spotAvailableShare: 1, interruptionsPerHour: 0, restartHours: 0.2 },
      risk: { interruption: 'High', note: 'Spot was gone 0 % of the time.' },
    });
    expect(
      proposed(batch({ fleet: { ready: 0, booting: 0, minReplicas: 0, maxReplicas: 1, changedAt: null } }), steady),
    ).toMatchObject({ computation: { gpus: 1 } });
  });

  it('to spot saves an unknown amount where nobody recorded it for long enough', () => {
    for (const [spot, given] of [
      [null, {}],
      [steady, { historyDays: 15 }],
    ] as const)
      expect(proposed(batch(), spot, given)).toMatchObject({
        monthlySavings: null,
        computation: {
          spotAvailableShare: 'not recorded: the saving is unknown',
          interruptionsPerHour: 'not recorded',
        },
        risk: { note: 'The availability of spot there has not been recorded.' },
      });
  });

  it('back costs the difference, to the nano', () => {
    const cost = BigInt(3 * 2.5 * 730) * 1_000_000_000n;
    expect(proposed(batch({ term: 'spot' }), gone)).toMatchObject({
      protective: true,
      monthlySavings: { mean: -cost, low: -cost, high: -cost },
      monthlyCost: BigInt(3 * 1.5 * 730) * 1_000_000_000n,
      change: { term: 'on-demand' },
    });
  });

  it('counts an interruption as a restart at either price', () => {
    // One tick of 2,016 without spot; the restart takes an hour.
    const made = proposed(batch({ job: null }), market([false, ...new Array<boolean>(12).fill(true)]), {
      restartHours: 1,
    })!;
    const [share, perHour] = [2015 / 2016, 1 / (DAYS * 24)];
    const mean = share * 2.5e9 - perHour * 5.5e9;
    expect(Number(made.monthlySavings!.mean)).toBeCloseTo(3 * mean * 730, -2);
    expect(made.monthlySavings!.low).toBeLessThan(made.monthlySavings!.mean);
    expect(made.monthlySavings!.high).toBeGreaterThan(made.monthlySavings!.mean);
    expect(made.computation).toMatchObject({ spotAvailableShare: share, interruptionsPerHour: perHour });
  });
});

describe('all use of a team', () => {
  const series = {
    provider: 'AWS',
    account: null,
    sku: 'example.a100-80gb',
    region: 'us-east-1',
    gpuModel: 'A100-80GB',
    term: 'on-demand' as const,
    from: AS_OF - DAYS * DAY_MS,
    gpus: Float64Array.from({ length: DAYS * 24 }, (_, hour) => hour % 2),
    onDemand: rate(4000),
    reserved: [],
  };
  const moved = (over: Partial<typeof series> | object, given: object = { demand: true }, offers = OFFERS) =>
    policy.evaluate(
      exampleView({ demand: [{ ...series, ...over }], spotMarkets: [steady], offers }),
      policy.params.parse(given),
    );

  it('is moved by the mean of its metered hours, where its team says so', () => {
    expect(moved({}).map(({ target, computation }) => [target, computation['gpus']])).toEqual([
      ['AWS/us-east-1/example.a100-80gb', 0.5],
    ]);
    expect(moved({}, {})).toEqual([]);
    const older = new Float64Array([...new Array<number>(24).fill(9), ...series.gpus]);
    expect(moved({ gpus: older })[0]?.computation['gpus']).toBe(0.5);
    expect(moved({ gpus: series.gpus.subarray(1) })).toEqual([]);
    expect(moved({ gpus: new Float64Array(DAYS * 24) })).toEqual([]);
    expect(moved({ onDemand: null })).toEqual([]);
    expect(moved({ term: 'spot' })).toEqual([]);
    expect(moved({ term: null })).toEqual([]);
    expect(moved({}, { demand: true }, [offer('A100-80GB', 'on-demand', 4000)])).toEqual([]);
    expect(moved({}, { demand: true }, dear)).toEqual([]);
  });

  it('is named by what is known of it', () => {
    const target = (over: object) => moved(over)[0]?.target;
    expect(target({ region: null })).toBe('AWS/any region/example.a100-80gb');
    expect(target({ sku: null })).toBe('AWS/us-east-1/A100-80GB');
  });
});
