/**
 * Jobs in the backtest of a policy, from the fake cloud's labels and meter to the report, on real PostgreSQL: the
 * replay counts a job's work as views count what was metered, and what a hand calculation says is what it costs and
 * saves.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { FakeCloud } from '../../src/providers/fake/cloud.js';
import { connectTo } from '../../src/providers/fake/fake.js';
import type { MachineSpec } from '../../src/providers/fake/machines.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from '../../src/pipeline/collecting.js';
import { replayPolicy } from '../../src/planning/policy/replay.js';
import { backtestTeam } from '../../src/planning/policy/report.js';
import { policy as offPeakShift } from '../../src/policies/off-peak-shift.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { readHistory } from '../../src/application/policy/history.js';
import { setPeak } from '../../src/application/price/set-rates.js';
import { testBursar } from '../support/bursar.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
/** A Monday, in UTC. */
const START = Date.UTC(2026, 9, 5);
const at = (hours: number): number => START + hours * HOUR;
const policy = offPeakShift as unknown as Policy;

const machine = (name: string, job: Readonly<Record<string, string>>): MachineSpec => ({
  name,
  sku: 'fake.a100x8',
  region: 'fake-east',
  labels: {
    team: 'night',
    'bursar.io/workload-kind': 'training',
    ...Object.fromEntries(
      Object.entries({ interruptible: 'true', ...job }).map(([label, value]) => [`bursar.io/${label}`, value]),
    ),
  },
});
const JOB = { 'job-started-at': '20261005T000000Z', 'job-restart-hours': '0.5', 'job-work-hours': '16' };
const NAMES = ['instance/i-000001', 'instance/i-000002', 'instance/i-000003', 'instance/i-000004'] as const;

describe('jobs that labels tell of, in a backtest', async () => {
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: START, connections, targets: new FleetStore(), policies: [policy] });
  const { db, stores, clock, runner } = bursar;
  const cloud = new FakeCloud({
    seed: 5,
    clock,
    from: START,
    bootSeconds: 0,
    stopSeconds: 0,
    spotUpHours: 1e6,
    machines: [
      machine('nightly', { ...JOB, 'job-deadline': '20261006T120000Z' }),
      machine('unmeasured', { 'job-started-at': '20261005T000000Z', 'job-work-hours': '16' }),
      machine('vague', { 'job-deadline': '20261006T120000Z' }),
      machine('later', { ...JOB, 'job-started-at': '20261009T000000Z' }),
    ],
  });
  connections.set('fake', connectTo(cloud));
  const schedule = new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS);
  const leftByMeter: (number | null | undefined)[] = [];

  beforeAll(async () => {
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { label: { key: 'team', value: 'night' } }, team: 'night' }],
        'test',
      );
      await setPeak(stores, tx, 'default', [{ zone: 'UTC', from: '08:00', to: '20:00', factor: '1.5' }]);
    });
    for (const hours of [2, 4, 9, 20, 49]) {
      clock.at = at(hours) + SECOND;
      await schedule.enqueueDue(clock.at);
      await runner.drain();
      const view = await stores.views.view(
        db,
        'default',
        'night',
        'USD',
        clock.at,
        await stores.prices.book(db, 'default'),
        await stores.organisations.peak(db, 'default'),
      );
      if (hours < 10)
        leftByMeter.push(view.workloads.find(({ workload }) => workload === NAMES[0])?.job?.workLeftHours);
    }
  }, 120_000);

  it('are read with their work, and without the meter the replay counts what the meter told', async () => {
    const history = await readHistory(stores, 'default', 'night', START, at(48));
    expect(history.jobs).toEqual([
      {
        workload: NAMES[0],
        work: { target: NAMES[0], provider: 'Fake Cloud', hours: 16, since: START, isWhole: true },
        fleet: expect.objectContaining({ ready: 1, maxReplicas: 1 }) as unknown,
      },
      {
        workload: NAMES[1],
        work: expect.objectContaining({ since: START }) as unknown,
        fleet: expect.anything() as unknown,
      },
      { workload: NAMES[2], work: null, fleet: expect.anything() as unknown },
      {
        workload: NAMES[3],
        work: expect.objectContaining({ since: at(96) }) as unknown,
        fleet: expect.anything() as unknown,
      },
    ]);
    const seen = new Map<number, number | null | undefined>();
    const watch: Policy = {
      ...policy,
      evaluate: (view) => {
        expect(view.workloads.map(({ workload }) => workload)).toEqual(NAMES.slice(0, 3));
        seen.set((view.asOf - START) / HOUR, view.workloads[0]?.job?.workLeftHours);
        return [];
      },
    };
    replayPolicy(history, watch, policy.params.parse({}), { stepHours: 1, restartMinutes: 10, forecaster: null });
    // Views are a second later: half an hour for the start.
    expect([2, 4, 9].map((hour) => seen.get(hour))).toEqual([14.5, 12.5, 7.5]);
    expect(leftByMeter).toEqual([14.5, 12.5, 7.5]);
  });

  it('cost and save what a hand calculation says, and those of which too little is known stand beside', async () => {
    const history = await readHistory(stores, 'default', 'night', START, at(48));
    const { cells, run } = backtestTeam(history, {
      policy,
      params: policy.params.parse({}) as Record<string, unknown>,
      document: 'd',
      forecaster: null,
    });
    const cell = cells.find(({ name }) => name === 'night/jobs')!;
    expect(cells.some(({ name }) => name === 'night/workloads')).toBe(false);
    const hour = Number(cloud.catalogue.hourlyNanos('fake.a100x8', 'fake-east', 'on-demand', START)) / 1e9;
    const cost = Object.fromEntries(cell.policies.map((one) => [one.name, Number(one['cost']) / hour]));
    // Sixteen hours and a half from midnight: eight of the night, the rest half as dear again. In pieces eight hours,
    // and with a restart nine of the next night.
    expect(cost['none']).toBeCloseTo(8 + 8.5 * 1.5, 6);
    expect(cost['bursar']).toBeCloseTo(17, 6);
    // Spot was recorded all the time: whoever may be there pays a fraction.
    const spot = Array.from(
      { length: 36 },
      (_, n) => Number(cloud.catalogue.hourlyNanos('fake.a100x8', 'fake-east', 'spot', at(n))) / 1e9 / hour,
    );
    expect(cost['clairvoyant']).toBeGreaterThan(16.5 * Math.min(...spot) - 1e-9);
    expect(cost['clairvoyant']).toBeLessThan(8 * Math.max(...spot) + 9 * Math.max(...spot) + 1e-9);
    for (const rule of ['greedy', 'uniform-progress'])
      expect(cost[rule]).toBeGreaterThanOrEqual(cost['clairvoyant']! - 1e-9);
    expect(cost['on-demand']).toBeCloseTo(cost['none']!, 9);
    const share = (cost['none']! - 17) / (cost['none']! - cost['clairvoyant']!);
    expect(cell.policies.find(({ name }) => name === 'bursar')).toMatchObject({
      restarts: 1,
      missedDeadlines: 0,
      meanShare: expect.closeTo(share, 9) as number,
    });
    expect(cell).toMatchObject({
      count: 3,
      unknown: [
        { name: NAMES[1], why: 'the hours that a start costs are unknown' },
        { name: NAMES[2], why: 'its work, and since when, was not stated' },
      ],
    });
    expect(run.withoutEffect).toBe(0);
    expect(run.decisions.length).toBeGreaterThan(0);
  });

  it('that were last seen before the window are none of it', async () => {
    expect((await readHistory(stores, 'default', 'night', at(72), at(96))).jobs).toEqual([]);
  });
});

describe('jobs whose machines are gone, in a backtest', async () => {
  const connections = new Map<string, ProviderConnection>();
  const { db, stores, clock, runner } = await testBursar({
    now: START,
    connections,
    targets: new FleetStore(),
    policies: [policy],
  });
  const jobs = (labels: Readonly<Record<string, string>>): Record<string, string> => ({
    ...machine('any', { 'job-restart-hours': '0.5', ...labels }).labels,
  });
  const cloud = new FakeCloud({
    seed: 5,
    clock,
    from: START,
    bootSeconds: 0,
    stopSeconds: 0,
    spotUpHours: 1e6,
    machines: [
      machine('short', { ...JOB, 'job-work-hours': '3' }),
      machine('told', {
        'job-restart-hours': '0.5',
        'job-work-left-hours': '30',
        'job-work-left-at': '20261005T000000Z',
      }),
      machine('shared', { ...JOB, 'job-work-hours': '2' }),
    ],
  });
  connections.set('fake', connectTo(cloud));
  const schedule = new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS);
  const [short, told, shared] = NAMES;
  async function look(hours: number): Promise<void> {
    clock.at = at(hours) + SECOND;
    await schedule.enqueueDue(clock.at);
    await runner.drain();
  }

  beforeAll(async () => {
    await db.transaction((tx) =>
      stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { label: { key: 'team', value: 'night' } }, team: 'night' }],
        'test',
      ),
    );
    await look(2);
    cloud.lose(short);
    cloud.change(told, { labels: jobs({ 'job-work-left-hours': '28', 'job-work-left-at': '20261005T020000Z' }) });
    for (const hours of [4, 6]) await look(hours);
    // The same machine, another job.
    cloud.change(shared, { labels: jobs({ 'job-started-at': '20261005T060000Z', 'job-work-hours': '5' }) });
    await look(8);
    for (const day of [1, 2]) {
      cloud.change(told, {
        labels: jobs({ 'job-work-left-hours': String(28 - 22 * day), 'job-work-left-at': `2026100${5 + day}T000000Z` }),
      });
      await look(day * 24 + 1);
    }
  }, 120_000);

  it('stay, each with its first word in the window, an earlier one of a machine under a name of its own', async () => {
    expect(
      (await stores.workloads.workloads(db, 'default', 'night', clock.at)).map(({ workload }) => workload),
    ).toEqual([told, shared]);
    const history = await readHistory(stores, 'default', 'night', START, at(72));
    expect(
      history.jobs.map(({ workload, work, fleet }) => [
        workload,
        work?.hours,
        ((work?.since ?? 0) - START) / HOUR,
        fleet?.ready,
      ]),
    ).toEqual([
      [short, 3, 0, 1],
      [told, 30, 0, 1],
      [`${shared} since 2026-10-05T00:00:00Z`, 2, 0, 1],
      [shared, 5, 6, 1],
    ]);
    expect(history.workloads.map(({ workload }) => workload).sort()).toEqual(
      history.jobs.map(({ workload }) => workload).sort(),
    );
    // Of the second day on there is a later word of the one that still tells.
    const later = await readHistory(stores, 'default', 'night', at(24), at(72));
    expect(later.jobs.map(({ workload, work }) => [workload, work?.hours])).toEqual([
      [told, 6],
      [shared, 5],
    ]);
  });

  it('are forgotten after 400 days', async () => {
    const count = async (): Promise<number> =>
      Number((await db.query<{ n: string }>(`select count(*) as n from recorded_job`))[0]?.n);
    for (const days of [401, 399]) {
      await db.query(
        `insert into recorded_job select organisation, $1, started, said_on, team, facts, $2, $2 from recorded_job order by workload limit 1`,
        [`of ${days} days ago`, new Date(clock.at - days * 24 * HOUR)],
      );
    }
    const before = await count();
    await look(49.5);
    expect(await count()).toBe(before - 1);
    await db.query(`delete from recorded_job where workload = 'of 399 days ago'`);
  });

  it('cost what they did', async () => {
    const history = await readHistory(stores, 'default', 'night', START, at(72));
    const { cells } = backtestTeam(history, {
      policy,
      params: policy.params.parse({}) as Record<string, unknown>,
      document: 'd',
      forecaster: null,
    });
    const cell = cells.find(({ name }) => name === 'night/jobs')!;
    const hour = Number(cloud.catalogue.hourlyNanos('fake.a100x8', 'fake-east', 'on-demand', START)) / 1e9;
    expect(cell).toMatchObject({ count: 4 });
    expect(cell['unknown'] ?? []).toEqual([]);
    // Work and a restart each; what was left of a job that ran has no start.
    expect(Number(cell.policies.find(({ name }) => name === 'none')?.['cost']) / hour).toBeCloseTo(
      3.5 + 30 + 2.5 + 5.5,
      6,
    );
  });
});
