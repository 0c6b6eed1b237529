/** Which recorded jobs can be run again, why others cannot, and the stretches of time and their prices. */
import { describe, expect, it } from 'vitest';
import type { RecordedHistory, RecordedJob } from '../../../src/core/policy/history.js';
import type { GpuOffer, SpotMarket, WorkloadView } from '../../../src/core/policy/policy.js';
import { compilePeak } from '../../../src/core/price/peak.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/time.js';
import { fleetsOf, jobCases } from '../../../src/planning/policy/job-cases.js';
import type { JobCase, JobSlot } from '../../../src/planning/policy/job-run.js';
import { IDLE, ON_DEMAND, SPOT } from '../../../src/planning/spot/problem.js';
import { AS_OF, measurement, offer, workload } from '../../../src/policies/estimating/examples.js';
import { recorded } from '../../support/recorded-history.js';

const at = (hours: number): number => AS_OF + hours * HOUR_MS;
const MODEL = 'A100-80GB';
const [DEMAND, SPOT_OFFER] = [offer(MODEL, 'on-demand', 4000), offer(MODEL, 'spot', 1000)];
const FLEET = { ready: 2, booting: 1, minReplicas: 0, maxReplicas: 4, changedAt: null };
const WORK = { target: 'group/j', provider: 'AWS', hours: 2, since: at(1), isWhole: true };
const JOB = { startedAt: null, deadline: at(6), workHours: 2, workLeftHours: null, restartHours: 0.5, resizable: null };

const facts = (over: Partial<WorkloadView> = {}): WorkloadView =>
  workload('j', { kind: 'training', gpusPerReplica: 2, interruptible: true, job: JOB, ...over });
const stated = (over: Partial<RecordedJob> = {}): RecordedJob => ({ workload: 'j', work: WORK, fleet: FLEET, ...over });

/** Six hours. */
function resultOf(one: Partial<WorkloadView>, job: Partial<RecordedJob> = {}, over: Partial<RecordedHistory> = {}) {
  const all = jobCases(
    recorded({
      to: at(6),
      workloads: [workload('other'), facts(one)],
      jobs: [stated(job)],
      offersAt: () => [DEMAND, SPOT_OFFER],
      ...over,
    }),
  );
  expect(all.map(({ name }) => name)).toEqual(['j']);
  return all[0]!;
}
function caseOf(...given: Parameters<typeof resultOf>): JobCase {
  const found = resultOf(...given);
  if (!('job' in found)) throw new Error(found.why);
  return found.job;
}
const whyNot = (...given: Parameters<typeof resultOf>): string | null => {
  const found = resultOf(...given);
  return 'why' in found ? found.why : null;
};

describe('a job', () => {
  it('is run again with its replicas, from when its work was stated to the end of the window', () => {
    const job = caseOf({});
    expect(job).toMatchObject({
      name: 'j',
      since: at(1),
      deadline: at(6),
      gpus: 6,
      replicas: 3,
      own: ON_DEMAND,
      mayMove: true,
      first: { held: IDLE, restartLeftMs: 0, workLeftMs: 2 * HOUR_MS },
      restartMs: 0.5 * HOUR_MS,
      hasMarket: false,
    });
    expect(job.slots.map(({ from }) => from)).toEqual([1, 2, 3, 4, 5].map(at));
    expect(job.slots[0]).toEqual({ from: at(1), ms: HOUR_MS, onDemand: 24, spot: 24, isVerified: false });
  });

  it('begins within an hour, and holds its machines already where only the rest of its work was stated', () => {
    const job = caseOf({ term: 'spot' }, { work: { ...WORK, since: at(1.25), isWhole: false } });
    expect(job.first.held).toBe(SPOT);
    expect(job.own).toBe(SPOT);
    // That it was on spot says that spot was there.
    expect(job.slots[0]).toEqual({ from: at(1.25), ms: 0.75 * HOUR_MS, onDemand: 24, spot: 6, isVerified: true });
    expect(job.slots[1]).toMatchObject({ from: at(2), ms: HOUR_MS });
    expect(caseOf({}, { work: { ...WORK, isWhole: false } }).first.held).toBe(ON_DEMAND);
  });

  it('may be moved only where its owner lets it be stopped and nothing protects it', () => {
    expect(caseOf({ interruptible: null }).mayMove).toBe(false);
    expect(caseOf({ isProtected: true }).mayMove).toBe(false);
    expect(caseOf({ isProtected: false }).mayMove).toBe(true);
  });

  it('has one replica where none is there and there may be one at most', () => {
    const gone = { ...FLEET, ready: 0, booting: 0 };
    expect(caseOf({}, { fleet: { ...gone, maxReplicas: 1 } }).replicas).toBe(1);
    expect(whyNot({}, { fleet: { ...gone, maxReplicas: 2 } })).toContain('number of replicas');
    expect(caseOf({}, { fleet: { ...FLEET, ready: 0 } }).replicas).toBe(1);
    expect(caseOf({}, { fleet: { ...FLEET, booting: 0 } }).replicas).toBe(2);
  });

  it('costs more at the peak', () => {
    const peak = compilePeak([{ from: '02:00', to: '03:00', zone: 'UTC', factor: '1.5' }]);
    const { slots } = caseOf({ term: 'spot' }, {}, { peak });
    expect(slots.map(({ onDemand, spot }) => [onDemand, spot]).slice(0, 3)).toEqual([
      [24, 6],
      [36, 9],
      [24, 6],
    ]);
  });

  it('is as fast with other GPUs as was measured of whole ones, and otherwise nobody knows', () => {
    const measurements = [1, 2].map((gpuCount) => ({
      ...measurement('T4', gpuCount * 120),
      id: `${gpuCount}`,
      team: 'lab',
      gpuCount,
    }));
    const one = { ...FLEET, ready: 1, booting: 0 };
    const runs = { model: 'classifier', batch: 32, size: null, optimizer: null, precision: null };
    const known = { gpuModel: 'T4', gpusPerReplica: 1, runs };
    const { speedAt } = caseOf(known, { fleet: one }, { measurements });
    expect(speedAt(2)).toBeCloseTo(2, 6);
    expect(speedAt(1)).toBe(1);
    expect(speedAt(1.5)).toBeNull();
    expect(caseOf(known, { fleet: one }).speedAt(2)).toBeNull();
    const another = { ...known, runs: { ...runs, model: 'another' } };
    expect(caseOf(another, { fleet: one }, { measurements }).speedAt(2)).toBeNull();
    expect(caseOf({ ...known, gpuModel: null }, { fleet: one }, { measurements }).speedAt(2)).toBeNull();
    expect(caseOf({ ...known, gpusPerReplica: 0.5 }, { fleet: one }, { measurements }).speedAt(1)).toBeNull();
  });
});

describe('a job cannot be run again', () => {
  it('where something of it is unknown, which is said', () => {
    expect(whyNot({}, { work: null })).toContain('was not stated');
    expect(whyNot({}, { work: { ...WORK, since: AS_OF - 1 } })).toContain('before the window');
    expect(whyNot({}, { work: { ...WORK, since: AS_OF } })).toBeNull();
    expect(whyNot({}, { fleet: null })).toContain('number of replicas');
    expect(whyNot({ gpusPerReplica: null })).toContain('number of GPUs');
    expect(whyNot({ gpusPerReplica: 0 })).toContain('number of GPUs');
    expect(whyNot({ term: null })).toContain('term of its machines');
    expect(whyNot({ term: 'reserved-1y' })).toContain('under the term reserved-1y');
    expect(whyNot({ job: null })).toContain('a start costs');
    expect(whyNot({ job: { ...JOB, restartHours: null } })).toContain('a start costs');
    expect(whyNot({ job: { ...JOB, deadline: at(6) + 1 } })).toContain('after the window');
    expect(whyNot({ job: { ...JOB, deadline: null } })).toBeNull();
    expect(whyNot({ workload: 'renamed' })).toBe('only its work is known');
  });

  it('where its work does not end within the window', () => {
    // Half an hour to start, and five hours in all.
    expect(whyNot({}, { work: { ...WORK, hours: 4.5 } })).toBeNull();
    expect(whyNot({}, { work: { ...WORK, hours: 4.6 } })).toContain('does not end');
    expect(whyNot({ term: 'spot' }, {}, { spotMarkets: [market('n'.repeat(60))] })).toContain('does not end');
  });

  it('where a price of its term is missing in an hour from its beginning on', () => {
    const from = (hour: number, offers: readonly GpuOffer[]) => ({
      offersAt: (instant: number) => (instant >= at(hour) ? offers : []),
    });
    expect(whyNot({}, {}, from(1, [DEMAND]))).toBeNull();
    expect(whyNot({}, {}, from(2, [DEMAND]))).toContain('for the term on-demand');
    expect(whyNot({ term: 'spot' }, {}, from(1, [DEMAND]))).toContain(
      'example.a100-80gb of AWS in us-east-1 for the term spot',
    );
    expect(whyNot({ term: 'spot' }, {}, from(1, [SPOT_OFFER]))).toContain('for the term on-demand');
    expect(whyNot({ sku: null })).toBe('the machines on which it runs are unknown');
    expect(whyNot({ provider: null })).toBe('the machines on which it runs are unknown');
    expect(whyNot({ region: null })).toContain('of AWS for the term');
  });

  it('and is no part of the window where its work begins at its end', () => {
    const history = recorded({ to: at(6), workloads: [facts()], jobs: [stated({ work: { ...WORK, since: at(6) } })] });
    expect(jobCases(history)).toEqual([]);
  });
});

it('fleets are the workloads that are no jobs', () => {
  const { workloads, jobs } = recorded({ workloads: [facts(), workload('f')], jobs: [stated()] });
  expect(fleetsOf({ workloads, jobs }).map((one) => one.workload)).toEqual(['f']);
});

describe('prices', () => {
  const firstSlot = (...offers: readonly GpuOffer[]): JobSlot =>
    caseOf({ term: 'spot' }, {}, { offersAt: () => offers }).slots[0]!;

  it('are the cheapest of the same machine at its place, or that hold everywhere', () => {
    const others = [{ provider: 'Azure' }, { sku: 'another' }, { region: 'eu-west-1' }].flatMap((over) => [
      offer(MODEL, 'on-demand', 10, over),
      offer(MODEL, 'spot', 10, over),
    ]);
    const dear = [offer(MODEL, 'on-demand', 5000), offer(MODEL, 'spot', 2000)];
    const two = jobCases(
      recorded({
        workloads: [facts(), facts({ workload: 'k', sku: 'dear' })],
        jobs: [stated(), stated({ workload: 'k' })],
        offersAt: () => [DEMAND, offer(MODEL, 'on-demand', 9000, { sku: 'dear' })],
      }),
    );
    expect(two.map((one) => ('job' in one ? one.job.slots[0]?.onDemand : one.why))).toEqual([24, 54]);
    expect(firstSlot(...others, ...dear, DEMAND, SPOT_OFFER)).toMatchObject({ onDemand: 24, spot: 6 });
    expect(firstSlot(DEMAND, SPOT_OFFER, ...dear)).toMatchObject({ onDemand: 24, spot: 6 });
    const anywhere = offer(MODEL, 'spot', 500, { region: null });
    expect(firstSlot(DEMAND, SPOT_OFFER, anywhere)).toMatchObject({ spot: 3 });
  });
});

/** A reading each five minutes from the first hour on; the letters say of each whether spot was there. */
const market = (letters: string, over: Partial<SpotMarket> = {}): SpotMarket => ({
  provider: 'AWS',
  region: 'us-east-1',
  gpuModel: MODEL,
  from: at(1),
  tickSeconds: 300,
  available: Array.from(letters, (one) => (one === '?' ? null : one === 'y')),
  ...over,
});
/** Minutes after the beginning, their length, and whether spot is there. */
const stretches = (slots: readonly JobSlot[], minutes: number) =>
  slots
    .filter(({ from }) => from < at(1) + minutes * MINUTE_MS)
    .map(({ from, ms, spot, isVerified }) => [
      (from - at(1)) / MINUTE_MS,
      ms / MINUTE_MS,
      isVerified ? spot !== null : null,
    ]);

describe('where somebody looks at spot', () => {
  const cut = (letters: string, one: Partial<WorkloadView> = {}, over: Partial<SpotMarket> = {}) =>
    stretches(caseOf(one, {}, { spotMarkets: [market(letters, over)] }).slots, 30);

  it('time is cut each ten minutes and where spot came or went, and nowhere else', () => {
    expect(cut('yynnyn')).toEqual([
      [0, 10, true],
      [10, 10, false],
      [20, 5, true],
      [25, 5, false],
    ]);
    expect(cut('y??yyy')).toEqual([
      [0, 5, true],
      [5, 5, null],
      [10, 5, null],
      [15, 5, true],
      [20, 10, true],
    ]);
    // A reading every quarter of an hour.
    expect(cut('yn', {}, { tickSeconds: 900 })).toEqual([
      [0, 10, true],
      [10, 5, true],
      [15, 5, false],
      [20, 10, false],
    ]);
  });

  it('a stretch costs on demand where nobody looked, and what spot does where it was there', () => {
    const [seen, gone, unseen] = caseOf({}, {}, { spotMarkets: [market('yynn??')] }).slots;
    expect(seen).toMatchObject({ onDemand: 24, spot: 6, isVerified: true });
    expect(gone).toMatchObject({ onDemand: 24, spot: null, isVerified: true });
    expect(unseen).toMatchObject({ onDemand: 24, spot: 24, isVerified: false });
    const unpriced = caseOf({}, {}, { spotMarkets: [market('yynn')], offersAt: () => [DEMAND] }).slots;
    expect(unpriced.slice(0, 2)).toMatchObject([
      { spot: 24, isVerified: false },
      { spot: 24, isVerified: false },
    ]);
  });

  it('a job that was on spot had it where nobody looked', () => {
    expect(cut('yy??nn', { term: 'spot' })).toEqual([
      [0, 10, true],
      [10, 10, true],
      [20, 10, false],
    ]);
  });

  it('the market of its provider, GPU model and region counts, or of all regions', () => {
    expect(caseOf({}, {}, { spotMarkets: [market('y', { region: null })] }).hasMarket).toBe(true);
    for (const over of [{ provider: 'Azure' }, { gpuModel: 'T4' }, { region: 'eu-west-1' }])
      expect(caseOf({}, {}, { spotMarkets: [market('y', over)] }).hasMarket).toBe(false);
  });
});

describe('at another place', () => {
  const place = { provider: 'AWS', region: 'eu-west-1', sku: 'example.a100-80gb' };
  const there = (region: string, milliDollars: number) => [
    offer(MODEL, 'on-demand', milliDollars, { region }),
    offer(MODEL, 'spot', milliDollars / 4, { region }),
  ];
  const slotsAt = (
    offers: readonly GpuOffer[],
    markets: readonly SpotMarket[],
    where: Partial<Parameters<JobCase['slotsAt']>[0]> = {},
  ) =>
    caseOf({}, {}, { spotMarkets: markets, offersAt: () => [DEMAND, SPOT_OFFER, ...offers] }).slotsAt({
      ...place,
      ...where,
    });
  const own = market('yyyyyyyyyyyy');
  const elsewhere = (letters: string, region = 'eu-west-1') => market(letters, { region });

  it('the same stretches cost what they do there, and spot is there where all readings say so', () => {
    const slots = slotsAt(there('eu-west-1', 2000), [own, elsewhere('yyyn?yn???yy')])!;
    expect(stretches(slots, 60)).toEqual([
      [0, 10, true],
      [10, 10, false],
      [20, 10, null],
      [30, 10, false],
      [40, 10, null],
      [50, 10, true],
    ]);
    expect(slots[0]).toEqual({ from: at(1), ms: 10 * MINUTE_MS, onDemand: 12, spot: 3, isVerified: true });
    expect(slots[1]).toMatchObject({ onDemand: 12, spot: null });
    expect(slots[2]).toMatchObject({ onDemand: 12, spot: 12 });
  });

  it('a zone with prices of its own has these, otherwise those of its region', () => {
    const zone = { zone: 'eu-west-1a' };
    const inZone = elsewhere('yy', 'eu-west-1a');
    const offers = [...there('eu-west-1', 2000), ...there('eu-west-1a', 1000)];
    expect(slotsAt(offers, [own, inZone], zone)![0]).toMatchObject({ onDemand: 6, spot: 1.5, isVerified: true });
    expect(slotsAt(there('eu-west-1', 2000), [own, inZone], zone)![0]).toMatchObject({ onDemand: 12, spot: 3 });
    expect(slotsAt(offers, [own, elsewhere('yy')], zone)![0]).toMatchObject({ spot: 6, isVerified: false });
  });

  it('the peak is as dear there', () => {
    const peak = compilePeak([{ zone: 'UTC', factor: '1.5' }]);
    const offersAt = () => [DEMAND, ...there('eu-west-1', 2000)];
    expect(caseOf({}, {}, { peak, offersAt }).slotsAt(place)![0]).toMatchObject({ onDemand: 18 });
  });

  it('nobody knows where there is no price on demand; without a spot price it is not verified', () => {
    expect(slotsAt([], [own])).toBeNull();
    expect(slotsAt(there('eu-west-1', 2000).slice(1), [own])).toBeNull();
    const [onDemand] = there('eu-west-1', 2000);
    expect(slotsAt([onDemand!], [own, elsewhere('yy')])![0]).toMatchObject({ spot: 12, isVerified: false });
    const cheaper = offer(MODEL, 'on-demand', 1000, { region: 'eu-west-1' });
    expect(slotsAt([onDemand!, cheaper, onDemand!], [own])![0]).toMatchObject({ onDemand: 6 });
    const others = [
      offer(MODEL, 'on-demand', 10, { region: 'eu-west-1', provider: 'Azure' }),
      offer(MODEL, 'on-demand', 10, { region: 'eu-west-1', sku: 'another' }),
    ];
    expect(slotsAt([...others, onDemand!], [own])![0]).toMatchObject({ onDemand: 12 });
  });
});
