/** mix at its limits: what must be done, what may do it, and from which saving on it is proposed. */
import { describe, expect, it } from 'vitest';
import type { GpuOffer, ModelPerformance, PolicyView, WorkloadView } from '../../../src/core/policy/policy.js';
import {
  exampleView,
  minutes,
  offer,
  ofGpus,
  OFFERS,
  steady,
  workload,
} from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/mix.js';

const performance = (gpuModel: string, unitsPerMinute: number, fits: boolean | null = true): ModelPerformance => ({
  gpuModel,
  unitsPerMinute,
  fits,
  source: `said of ${gpuModel}`,
});
const BOTH = [performance('A100-80GB', 100), performance('T4', 50)];
const fleet = (ready: number, booting = 0) => ({ ready, booting, minReplicas: 1, maxReplicas: 9, changedAt: null });
/** Two A100 at 4.00 dollars an hour; a T4 costs 0.50. */
const training = (over: Partial<WorkloadView> = {}) =>
  workload('w', { kind: 'training', fleet: fleet(2), performance: BOTH, ...over });
const service = (load: readonly (number | null)[], over: Partial<WorkloadView> = {}) =>
  training({ kind: 'inference', service: { bootMinutes: 1, capacityPerReplica: null, load: minutes(load) }, ...over });

const WINDOW = { windowMinutes: 60 };
const view = (one: WorkloadView, over: Partial<PolicyView> = {}) => exampleView({ workloads: [one], ...over });
const proposed = (one: WorkloadView, given: object = {}, over: Partial<PolicyView> = {}) =>
  policy.evaluate(view(one, over), policy.params.parse({ ...WINDOW, ...given }))[0];
const done = (one: WorkloadView, given: object = {}, over: Partial<PolicyView> = {}) =>
  proposed(one, given, over)?.change?.['instances'] ??
  policy.explain!(view(one, over), policy.params.parse({ ...WINDOW, ...given }))[0]!.leftAlone!.code;
const alsoOffered = (...more: GpuOffer[]) => ({ offers: [...OFFERS, ...more] });

describe('what must be done', () => {
  it.each<[string, WorkloadView, object]>([
    // 200 units a minute are four T4.
    ['4 x example.t4 (1 x T4)', training(), {}],
    ['6 x example.t4 (1 x T4)', training({ fleet: fleet(2, 1) }), {}],
    ['8 x example.t4 (1 x T4)', training({ gpusPerReplica: 2 }), {}],
    ['no-need', training({ performance: [performance('T4', 50)] }), {}],
    ['no-need', training({ performance: [performance('A100-80GB', 0), performance('T4', 50)] }), {}],
    ['no-price', training({ fleet: null }), {}],
    ['no-price', training({ term: null }), {}],
    ['protected', training({ isProtected: true }), {}],
    // The highest minute and a fifth: 120 units a minute.
    ['3 x example.t4 (1 x T4)', service([...steady(1, 59), 100]), {}],
    ['2 x example.t4 (1 x T4)', service([...steady(1, 59), 100]), { headroomRatio: 0 }],
    ['3 x example.t4 (1 x T4)', service([...steady(1, 59), 100.1]), { headroomRatio: 0 }],
    ['1 x example.t4 (1 x T4)', service([1000, ...steady(1, 60)]), {}],
    ['no-need', service([...steady(1, 59), null]), {}],
    ['no-need', service(steady(1, 59)), {}],
    ['no-need', service(steady(0, 60)), {}],
  ])('%s', (expected, one, given) => expect(done(one, given)).toBe(expected));

  it('is unknown of a load that is not of all replicas', () => {
    const of = (gpus: number) =>
      training({ service: { bootMinutes: 1, capacityPerReplica: null, load: ofGpus(10, gpus) } });
    const short = { windowMinutes: 30 };
    const long = (gpus: number) => {
      const one = of(gpus);
      const load = { ...minutes(steady(10, 30)), measuredGpus: steady(gpus, 30) };
      return { ...one, service: { ...one.service!, load } };
    };
    expect([done(long(1), short), done(long(2), short)]).toEqual(['no-need', '1 x example.t4 (1 x T4)']);
  });
});

describe('what may do it', () => {
  const cheap = (over: Partial<GpuOffer>) => offer('T4', 'on-demand', 100, { sku: 'cheap', ...over });

  it('is known to hold it, and to do something', () => {
    const t4 = (one: ModelPerformance) => done(training({ performance: [performance('A100-80GB', 100), one] }));
    expect(t4(performance('T4', 50, null))).toBe('no-saving');
    expect(t4(performance('T4', 50, false))).toBe('no-saving');
    expect(t4(performance('T4', 0))).toBe('no-saving');
    expect(done(training({ performance: [performance('A100-80GB', 100, null)] }))).toBe('no-kind');
  });

  it('is on offer at its place and under its term, unless others are allowed', () => {
    expect(done(training(), {}, alsoOffered(cheap({})))).toBe('4 x cheap (1 x T4)');
    expect(done(training(), {}, alsoOffered(cheap({ term: 'spot' })))).toBe('4 x example.t4 (1 x T4)');
    expect(done(training(), {}, alsoOffered(cheap({ region: null })))).toBe('4 x cheap (1 x T4)');
    const [far, other] = [cheap({ region: 'eu-west-1' }), cheap({ provider: 'GCP', region: 'eu-west-1' })];
    expect(done(training(), {}, alsoOffered(far))).toBe('4 x example.t4 (1 x T4)');
    expect(done(training(), { anyRegion: true }, alsoOffered(far))).toBe('4 x cheap (1 x T4)');
    expect(done(training(), { anyRegion: true }, alsoOffered(other))).toBe('4 x example.t4 (1 x T4)');
    expect(done(training(), { anyProvider: true }, alsoOffered(other))).toBe('4 x cheap (1 x T4)');
  });

  it('is an instance with all its GPUs', () => {
    const four = offer('T4', 'on-demand', 100, { sku: 'four', gpus: 4 });
    expect(done(training(), {}, alsoOffered(four))).toBe('1 x four (4 x T4)');
    expect(proposed(training(), {}, alsoOffered(four))?.computation).toMatchObject({
      perHourThen: '0.400000',
      kindsConsidered: 3,
      unitsPerMinuteThen: 200,
    });
  });

  it('is no more of one kind than is allowed', () => {
    expect(done(training(), { mostInstances: 4 })).toBe('4 x example.t4 (1 x T4)');
    expect(done(training(), { mostInstances: 3 })).toBe(
      '1 x example.a100-80gb (1 x A100-80GB) + 2 x example.t4 (1 x T4)',
    );
    expect(done(training(), { mostInstances: 1 })).toBe('no-kind');
  });
});

describe('a saving', () => {
  it('is proposed from the least that is asked for on', () => {
    // Eight dollars an hour become two.
    const least = (minimumSavingPerMonth: number) => done(training(), { minimumSavingPerMonth });
    expect([least(6 * 730), least(6 * 730 + 1)]).toEqual(['4 x example.t4 (1 x T4)', 'no-saving']);
    expect(proposed(training())).toMatchObject({
      monthlySavings: { mean: 4380n * 1_000_000_000n },
      monthlyCost: 5840n * 1_000_000_000n,
      computation: {
        perHourNow: '8.000000',
        perHourThen: '2.000000',
        unitsPerMinuteNeeded: 200,
        need: 'its present pace',
      },
    });
  });

  it('is none where the cheapest costs as much', () => {
    const same = [...OFFERS.filter(({ gpuModel }) => gpuModel !== 'T4'), offer('T4', 'on-demand', 2000)];
    expect(done(training(), {}, { offers: same })).toBe('no-saving');
  });
});

describe('who carries it out', () => {
  const made = (one: WorkloadView, given: object = {}, over: Partial<PolicyView> = {}) => {
    const { change, risk, implementationEffort } = proposed(one, given, over)!;
    const { instances: _, ...size } = change!;
    return [size, /(It is|A person has to carry it out[:,] \w+ \w+)/.exec(risk.note)?.[0], implementationEffort];
  };

  it('is a cloud where it is a change of size, and otherwise a person', () => {
    expect(made(training())).toEqual([
      { sku: 'example.t4', replicas: 4 },
      'A person has to carry it out, unless it',
      'Medium',
    ]);
    const own = training({
      performance: [performance('A100-80GB', 100)],
      service: { bootMinutes: 1, capacityPerReplica: null, load: minutes(steady(10, 60)) },
    });
    expect(made(own)).toEqual([{ sku: 'example.a100-80gb', replicas: 1 }, 'It is', 'Medium']);
    expect(made(training({ gpusPerReplica: 2 }))).toEqual([{}, 'A person has to carry it out: its replicas', 'Medium']);
    expect(made(training(), { mostInstances: 3 })).toEqual([{}, 'A person has to carry it out: two kinds', 'High']);
    const far = alsoOffered(offer('T4', 'on-demand', 100, { region: 'eu-west-1' }));
    expect(made(training(), { anyRegion: true }, far)).toEqual([
      {},
      'A person has to carry it out: another place',
      'Medium',
    ]);
    const anywhere = alsoOffered(offer('T4', 'on-demand', 100, { sku: 'any', region: null }));
    expect(made(training(), {}, anywhere)[0]).toEqual({ sku: 'any', replicas: 4 });
  });
});
