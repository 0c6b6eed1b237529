/** off-peak-shift at its limits: which hours it takes, which commitments count as free, and what it leaves alone. */
import { describe, expect, it } from 'vitest';
import type { DemandSeries, FleetFacts, JobFacts, PolicyView, WorkloadView } from '../../../src/core/policy/policy.js';
import { compilePeak } from '../../../src/core/price/peak.js';
import { DAY_MS, HOUR_MS } from '../../../src/core/time.js';
import { AS_OF, exampleView, rate, workload } from '../../../src/policies/estimating/examples.js';
import { policy } from '../../../src/policies/off-peak-shift.js';

/** Half as dear again from 08:00 to 20:00. */
const PEAK = compilePeak([{ from: '08:00', to: '20:00', zone: 'UTC', factor: '1.5' }]);
const NOON = AS_OF + 12 * HOUR_MS;
const JOB: JobFacts = {
  startedAt: null,
  deadline: NOON + 24 * HOUR_MS,
  workHours: 8,
  workLeftHours: 8,
  restartHours: 0.5,
  resizable: null,
};
/** One GPU at 4.00 dollars an hour. */
const job = (facts: Partial<JobFacts> = {}, over: Partial<WorkloadView> = {}, fleet: Partial<FleetFacts> = {}) =>
  workload('j', {
    kind: 'batch',
    interruptible: true,
    fleet: { ready: 0, booting: 1, minReplicas: 1, maxReplicas: 1, changedAt: null, ...fleet },
    job: { ...JOB, ...facts },
    ...over,
  });
const view = (one: WorkloadView, over: Partial<PolicyView> = {}) =>
  exampleView({ asOf: NOON, peak: PEAK, workloads: [one], ...over });
const proposed = (one: WorkloadView, given: object = {}, over: Partial<PolicyView> = {}) =>
  policy.evaluate(view(one, over), policy.params.parse(given))[0];
const told = (one: WorkloadView, given: object = {}, over: Partial<PolicyView> = {}) =>
  policy.explain!(view(one, over), policy.params.parse(given))[0]!.leftAlone;
const done = (one: WorkloadView, given: object = {}, over: Partial<PolicyView> = {}) =>
  proposed(one, given, over)?.change?.['pieces'] ?? told(one, given, over)!.code;

describe('what is left alone', () => {
  it.each<[string, WorkloadView]>([
    ['protected', job({}, { isProtected: true })],
    ['no-job', job({}, { job: null })],
    ['not-interruptible', job({}, { interruptible: null })],
    ['size-unknown', job({}, { fleet: null })],
    ['size-unknown', job({}, { gpusPerReplica: null })],
    ['size-unknown', job({}, {}, { booting: 0, maxReplicas: 2 })],
    ['no-deadline', job({ deadline: null })],
    ['no-work', job({ workLeftHours: null })],
    ['no-work', job({ workLeftHours: 0 })],
    ['no-price', job({}, { sku: 'unknown' })],
    ['too-late', job({ deadline: NOON + HOUR_MS - 1, workLeftHours: 0.4 })],
    // Eight hours and a half of restart are nine hours.
    ['too-late', job({ deadline: NOON + 9 * HOUR_MS - 1 })],
    ['no-saving', job({ deadline: NOON + 9 * HOUR_MS })],
  ])('%s', (code, one) => expect(done(one)).toBe(code));

  it('says whether the work is done or unknown', () => {
    expect(told(job({ workLeftHours: 0 }))?.message).toBe('its work is done');
    expect(told(job({ workLeftHours: null }))?.message).toBe('the remaining work is unknown');
  });
});

describe('the hours', () => {
  it('are the cheap ones before the deadline, and say by when it must start', () => {
    expect(proposed(job())).toMatchObject({
      change: {
        pieces: '2026-11-01T20:00:00Z/2026-11-02T05:00:00Z',
        startsAt: '2026-11-01T20:00:00Z',
        startsBy: '2026-11-02T03:00:00Z',
      },
      // Nine hours at 6.00 become nine at 4.00, of which one is before 20:00 in one piece: 8 x 6 + 1 x 4.
      monthlySavings: { mean: 16_000_000_000n },
      monthlyCost: 52_000_000_000n,
      computation: { costInOnePiece: '52.000000', costInPieces: '36.000000', perHour: '4.000000', gpus: 1 },
      restartNeeded: true,
    });
  });

  it('end with the deadline, or with the days that are planned', () => {
    const far = job({ deadline: NOON + 10 * DAY_MS });
    expect(proposed(far, { horizonDays: 1 })?.change?.['startsBy']).toBe('2026-11-02T03:00:00Z');
    expect(proposed(far, { horizonDays: 2 })?.change?.['startsBy']).toBe('2026-11-03T03:00:00Z');
  });

  it('begin now where it runs, without a restart', () => {
    // At 18:00 two hours at 6.00 and six at 4.00 are as cheap as nine at 4.00, of which a restart takes one.
    const running = (restartHours: number) =>
      job({ deadline: AS_OF + 42 * HOUR_MS, restartHours }, {}, { ready: 1, booting: 0 });
    const evening = { asOf: AS_OF + 18 * HOUR_MS };
    expect(done(running(0.5), {}, evening)).toBe('no-saving');
    expect(proposed(running(0), {}, evening)?.computation).toMatchObject({
      costInOnePiece: '36.000000',
      costInPieces: '32.000000',
    });
    const long = job({ workLeftHours: 24, deadline: NOON + 48 * HOUR_MS }, {}, { ready: 1, booting: 0 });
    expect(proposed(long)?.restartNeeded).toBe(true);
  });

  it('count whole GPUs of all replicas, those that boot too', () => {
    const wide = (fleet: Partial<FleetFacts>) => proposed(job({}, {}, fleet))?.computation;
    expect(wide({ ready: 2, booting: 1, maxReplicas: 8 })).toMatchObject({ gpus: 3, perHour: '12.000000' });
    expect(wide({ ready: 0, booting: 0 })).toMatchObject({ gpus: 1, perHour: '4.000000' });
    expect(wide({ ready: 0, booting: 0, maxReplicas: 0 })).toMatchObject({ gpus: 1 });
  });

  it('are worth a change from the share on that is asked for', () => {
    // 16 of 52.
    const from = (minimumSavingRatio: number) => typeof proposed(job(), { minimumSavingRatio })?.action;
    expect([from(16 / 52 - 1e-6), from(16 / 52 + 1e-6)]).toEqual(['string', 'undefined']);
    expect(done(job(), {}, { peak: compilePeak([]) })).toBe('no-saving');
    expect(done(job(), { minimumSavingRatio: 0 }, { peak: compilePeak([]) })).toBe('no-saving');
  });

  it('need no more starts than are allowed, and lose a restart at each', () => {
    const cheapAt = (...hours: number[]) =>
      compilePeak(
        Array.from({ length: 24 }, (_, hour) => hour)
          .filter((hour) => !hours.includes(hour))
          .map((hour) => {
            const [from, to] = [hour, hour + 1].map((one) => `${String(one).padStart(2, '0')}:00`);
            return { from: from!, to: to!, zone: 'UTC', factor: '10' };
          }),
      );
    const short = job({ workLeftHours: 2, restartHours: 0 });
    const apart = { peak: cheapAt(14, 18) };
    const count = (given: object) => String(proposed(short, given, apart)?.change?.['pieces'] ?? '').split(', ').length;
    expect([count({ mostStarts: 2 }), count({ mostStarts: 1 })]).toEqual([2, 1]);
    // The job's own restart goes before the policy's.
    const states = (restartHours: number | null, given: object) =>
      proposed(job({ restartHours }), given)?.computation['restartHours'];
    expect([states(1, { restartHours: 2 }), states(null, { restartHours: 2 }), states(null, {})]).toEqual([1, 2, 0.2]);
  });
});

describe('idle commitments', () => {
  /** A week of a commitment of two GPUs that were used from 08:00 to 20:00. */
  const series = (over: Partial<DemandSeries> = {}): DemandSeries => ({
    provider: 'AWS',
    account: null,
    sku: 'example.a100-80gb',
    region: 'us-east-1',
    gpuModel: 'A100-80GB',
    term: 'on-demand',
    from: NOON - 7 * DAY_MS,
    gpus: new Float64Array(168),
    coveredGpus: Float64Array.from({ length: 168 }, (_, hour) =>
      (hour + 12) % 24 >= 8 && (hour + 12) % 24 < 20 ? 2 : 0,
    ),
    committed: [{ units: 2, hoursLeft: 1000 }],
    onDemand: rate(4000),
    reserved: [],
    ...over,
  });
  const idleHours = (over: Partial<DemandSeries> = {}, given: object = { idleWeeks: 1 }, one: WorkloadView = job()) =>
    proposed(one, given, { peak: compilePeak([]), demand: [series(over)] })?.computation['idleHoursOnCommitments'] ?? 0;

  it('are free where they stood unused at the same hour of each of the last weeks', () => {
    expect(idleHours()).toBe(12);
    expect(idleHours({}, { idleWeeks: 2 })).toBe(0);
    expect(idleHours({}, { idleWeeks: 0 })).toBe(0);
    expect(idleHours({ coveredGpus: undefined as never })).toBe(0);
    expect(idleHours({ committed: undefined as never })).toBe(0);
    expect(idleHours({ committed: [] })).toBe(0);
  });

  it('hold the whole job, and until they end', () => {
    const two = job({}, { gpusPerReplica: 2 });
    const three = job({}, { gpusPerReplica: 3 });
    expect([idleHours({}, undefined, two), idleHours({}, undefined, three)]).toEqual([12, 0]);
    expect(idleHours({ committed: [{ units: 1, hoursLeft: 1000 }] }, undefined, two)).toBe(0);
    // Free from 20:00 on; a commitment of ten hours more holds at 20:00 and 21:00.
    const ending = (hoursLeft: number) => idleHours({ committed: [{ units: 2, hoursLeft }] });
    expect([ending(10), ending(10.5), ending(11)]).toEqual([2, 3, 3]);
  });

  it.each<Partial<DemandSeries>>([{ provider: 'GCP' }, { region: 'eu-west-1' }, { sku: 'other' }, { term: 'spot' }])(
    'are of its own place: %o',
    (over) => expect(idleHours(over)).toBe(0),
  );

  it('are used in hours that nobody has measured', () => {
    const known = series().coveredGpus!;
    // Without the last two days, the hours of the next day are known; without the last eight, none is.
    expect(idleHours({ coveredGpus: known.subarray(0, 24) })).toBe(12);
    expect(idleHours({ coveredGpus: known.subarray(0, 10) })).toBe(2);
    expect(idleHours({ from: NOON - 6 * DAY_MS })).toBe(0);
  });
});
