/**
 * Jobs by their labels, from the fake cloud to recommendations, through the real stages on real PostgreSQL: what is
 * left of their work goes down by what is metered, the policies say what a hand calculation does, and nothing of a job
 * that is done.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { JobFacts, Policy } from '../../src/core/policy/policy.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import { FakeCloud } from '../../src/providers/fake/cloud.js';
import { connectTo } from '../../src/providers/fake/fake.js';
import type { MachineSpec } from '../../src/providers/fake/machines.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from '../../src/pipeline/collecting.js';
import { policy as offPeakShift } from '../../src/policies/off-peak-shift.js';
import { policy as ramp } from '../../src/policies/ramp.js';
import { policy as spotShift } from '../../src/policies/spot-shift.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { setPeak } from '../../src/application/price/set-rates.js';
import { testBursar } from '../support/bursar.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
/** A Monday, in UTC. */
const START = Date.UTC(2026, 9, 5);
const at = (hours: number): number => START + hours * HOUR;
const TEAMS = ['night', 'spot', 'grow', 'plain'] as const;
const POLICIES = [offPeakShift, spotShift, ramp] as unknown as readonly Policy[];

/** A machine that has run from the first instant on, and what its owner says of its job. */
const machine = (
  name: string,
  team: (typeof TEAMS)[number],
  job: Readonly<Record<string, string>>,
  over: Partial<MachineSpec> = {},
): MachineSpec => ({
  name,
  sku: 'fake.a100x8',
  region: 'fake-east',
  ...over,
  labels: {
    team,
    'bursar.io/workload-kind': 'training',
    ...Object.fromEntries(
      Object.entries({ interruptible: 'true', ...job }).map(([label, value]) => [`bursar.io/${label}`, value]),
    ),
  },
});
const JOB = { 'job-started-at': '20261005T000000Z', 'job-restart-hours': '0.5' };
const MACHINES = {
  nightly: machine('nightly', 'night', { ...JOB, 'job-work-hours': '16', 'job-deadline': '20261006T120000Z' }),
  loose: machine('loose', 'spot', { ...JOB, 'job-work-hours': '10', 'job-deadline': '20261006T020000Z' }),
  tight: machine(
    'tight',
    'spot',
    { ...JOB, 'job-work-hours': '10', 'job-deadline': '2026-10-05T10:54:00Z' },
    { term: 'spot' },
  ),
  // Ten hours of work would not fit, and what is left of them does.
  fits: machine(
    'fits',
    'spot',
    { ...JOB, 'job-work-hours': '10', 'job-deadline': '20261005T130000Z' },
    { term: 'spot' },
  ),
  paused: machine('paused', 'plain', { ...JOB, 'job-work-hours': '16' }),
  said: machine('said', 'plain', {
    ...JOB,
    'job-work-hours': '16',
    'job-work-left-hours': '7.5',
    'job-work-left-at': '20261005T020000Z',
  }),
  unmeasured: machine('unmeasured', 'plain', { 'job-started-at': '20261005T000000Z', 'job-work-hours': '16' }),
  plain: machine('plain', 'plain', {}),
  odd: machine('odd', 'plain', { 'job-deadline': 'tomorrow', 'job-work-hours': '16', interruptible: 'yes' }),
};
/** One machine of eight GPUs, which may become more while it runs. */
const GROWING = {
  ...machine('growing', 'grow', { ...JOB, 'job-resizable': 'true', 'job-work-hours': '12' }),
  name: 'growing',
  desired: 1,
  min: 1,
  max: 4,
};
/** As `loose`, in a group: its share of spot can be set, which no cloud offers for a machine that runs. */
const SHIFTING = {
  ...machine('shifting', 'spot', { ...JOB, 'job-work-hours': '10', 'job-deadline': '20261006T020000Z' }),
  name: 'shifting',
  desired: 1,
  min: 1,
  max: 1,
};

describe('jobs that labels tell of', async () => {
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: START, connections, targets: new FleetStore(), policies: POLICIES });
  const { db, stores, clock, runner } = bursar;
  const cloud = new FakeCloud({
    seed: 5,
    clock,
    from: START,
    bootSeconds: 0,
    stopSeconds: 0,
    spotUpHours: 1e6,
    machines: Object.values(MACHINES),
    groups: [GROWING, SHIFTING],
  });
  const names = Object.keys(MACHINES);
  const targetOf = (name: keyof typeof MACHINES): string =>
    `instance/i-${String(names.indexOf(name) + 1).padStart(6, '0')}`;
  connections.set('fake', connectTo(cloud));
  const schedule = new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS);

  /**
   * Looks at what is due at so many hours and a second, when the meter has told of all of them, and has recommendations
   * made of it.
   */
  async function pass(hours: number): Promise<void> {
    clock.at = at(hours) + SECOND;
    await schedule.enqueueDue(clock.at);
    await runner.drain();
    await db.transaction((tx) => stores.policies.enqueueTeams(tx, 'default', { teams: TEAMS }));
    await runner.drain();
  }
  async function jobs(team: string): Promise<Readonly<Record<string, JobFacts | null>>> {
    const view = await stores.views.view(
      db,
      'default',
      team,
      'USD',
      clock.at,
      await stores.prices.book(db, 'default'),
      await stores.organisations.peak(db, 'default'),
    );
    return Object.fromEntries(view.workloads.map(({ workload, job }) => [workload, job]));
  }
  const leftOf = async (team: string, name: keyof typeof MACHINES) => (await jobs(team))[targetOf(name)]?.workLeftHours;
  const open = async (team: string) =>
    await stores.recommendations.list('default', { team, status: 'open' }, null, 100);

  beforeAll(async () => {
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(
        tx,
        'default',
        TEAMS.map((team) => ({ match: { label: { key: 'team', value: team } }, team })),
        'test',
      );
      await setPeak(stores, tx, 'default', [{ zone: 'UTC', from: '08:00', to: '20:00', factor: '1.5' }]);
      for (const [policy, team] of [
        ['off-peak-shift', 'night'],
        ['spot-shift', 'spot'],
        ['ramp', 'grow'],
      ] as const) {
        const document = readPolicyDocument({ name: policy, policy, teams: [team], mode: 'recommend' }, POLICIES);
        await applyPolicy(stores, tx, 'default', POLICIES, { document, override: null }, 'test', START);
      }
    });
  });

  it('are in the view, with what is certain of them', async () => {
    await pass(4);
    expect((await jobs('night'))[targetOf('nightly')]).toEqual({
      // Four hours, of which the start has cost half a one.
      startedAt: START,
      deadline: at(36),
      workHours: 16,
      workLeftHours: 12.5,
      restartHours: 0.5,
      resizable: null,
    });
    // A group by the machines that it brought.
    expect((await jobs('grow'))['group/growing']).toMatchObject({ workLeftHours: 8.5, resizable: true });
    const plain = await jobs('plain');
    expect(plain[targetOf('plain')]).toBeNull();
    expect(plain[targetOf('said')]).toMatchObject({ workHours: 16, workLeftHours: 5.5 });
    expect(plain[targetOf('unmeasured')]).toMatchObject({ workHours: 16, workLeftHours: null });
    expect(plain[targetOf('odd')]).toEqual({
      startedAt: null,
      deadline: null,
      workHours: 16,
      workLeftHours: null,
      restartHours: null,
      resizable: null,
    });
  });

  it('whose labels cannot be read are named where the fleet is looked at', async () => {
    const [coverage] = await stores.fleet.coverage(db, 'default', clock.at);
    expect(coverage).toMatchObject({
      complete: true,
      problems: [
        `${targetOf('odd')}: the label bursar.io/interruptible is neither true nor false`,
        `${targetOf('odd')}: the label bursar.io/job-deadline is no instant such as 20261122T060000Z`,
      ],
    });
  });

  it('move to spot and back as their deadlines let them', async () => {
    // Each has 10 - 3.5 = 6.5 hours left, and a restart costs 0.5: seven hours fit into the 22 of `loose` and the 9 of
    // `fits`, not into the 6.9 of `tight`.
    for (const name of ['loose', 'tight', 'fits'] as const) expect(await leftOf('spot', name)).toBe(6.5);
    const found = (await open('spot'))
      .map(({ action, target, title }) => ({ action, target, title }))
      .sort((a, b) => (a.target < b.target ? -1 : 1));
    expect(found).toEqual([
      { action: 'MoveToSpot', target: 'group/shifting', title: 'Move group/shifting (8 GPUs) to spot' },
      {
        action: 'MoveToOnDemand',
        target: targetOf('tight'),
        title: `Move ${targetOf('tight')} on demand: its deadline needs it`,
      },
    ]);
  });

  it('grow where their owner lets them and their signal says that it is worth it', async () => {
    expect(await open('grow')).toEqual([]);
    await db.transaction((tx) =>
      stores.workloads.saveMetrics(
        tx,
        'default',
        Array.from({ length: 30 }, (_, minute) => ({
          workload: 'group/growing',
          name: 'scaling_efficiency_ratio',
          at: at(4) - (minute + 1) * 60 * SECOND,
          value: 0.9,
        })),
      ),
    );
    await pass(4);
    expect((await open('grow')).map(({ action, target, change }) => [action, target, change])).toEqual([
      ['ScaleOut', 'group/growing', { replicas: 2, gpus: 16 }],
    ]);
  });

  it('are not moved once their work is done', async () => {
    // The ten hours and the restart are over, half an hour before `tight` would be due at 10:54.
    await pass(10.5);
    for (const name of ['loose', 'tight', 'fits'] as const) expect(await leftOf('spot', name)).toBe(0);
    expect(await open('spot')).toEqual([]);
  });

  it('wait for the cheap hours before their deadline', async () => {
    await pass(12);
    expect(await leftOf('night', 'nightly')).toBe(4.5);
    const hour = Number(cloud.catalogue.hourlyNanos('fake.a100x8', 'fake-east', 'on-demand', at(12))) / 1e9;
    const [found, ...others] = await open('night');
    expect(others).toEqual([]);
    expect(found).toMatchObject({
      action: 'MoveToOffPeak',
      target: targetOf('nightly'),
      // Five whole hours from noon cost 1.5 each; after eight in the evening, with the restart, five cost 1 each.
      estimatedMonthlySavings: (2.5 * hour).toFixed(2),
      estimatedMonthlyCost: (7.5 * hour).toFixed(2),
      estimatedSavingsPercentage: 33.3,
      computation: {
        workHoursLeft: 4.5,
        restartHours: 0.5,
        gpus: 8,
        costInOnePiece: (7.5 * hour).toFixed(6),
        costInPieces: (5 * hour).toFixed(6),
      },
      // The deadline is noon: with the five hours it is in time from seven in the morning at the latest.
      change: { startsBy: '2026-10-06T07:00:00Z' },
    });
    const [from = '', to = ''] = String(found?.change['pieces']).split('/');
    expect([Date.parse(to) - Date.parse(from), found?.change['startsAt']]).toEqual([5 * HOUR, from]);
    expect(Date.parse(from)).toBeGreaterThanOrEqual(at(20));
    expect(Date.parse(to)).toBeLessThanOrEqual(at(32));
  });

  it('do not get on while they stand still, and lose what a start costs', async () => {
    expect(await leftOf('plain', 'paused')).toBe(4.5);
    cloud.take({ kind: 'stop', target: targetOf('paused') }, 'stop', null);
    await pass(13);
    // The second that it ran after noon, before it was stopped.
    const paused = await leftOf('plain', 'paused');
    expect(paused).toBeCloseTo(4.5 - 1 / 3600, 9);
    cloud.take({ kind: 'start', target: targetOf('paused') }, 'start', null);
    await pass(14);
    const running = await leftOf('plain', 'paused');
    // Of the hour since 13:00:01 it has lost the half; nothing of it is missing but that second.
    expect((paused ?? 0) - (running ?? 0)).toBeCloseTo(0.5 - 1 / 3600, 9);
  });

  it('are left alone when they are done, and unknown when nobody looks any more', async () => {
    await pass(16);
    expect(await leftOf('night', 'nightly')).toBe(0.5);
    await pass(16.5);
    expect(await leftOf('night', 'nightly')).toBe(0);
    expect(await open('night')).toEqual([]);
    clock.at = at(17.5);
    expect(await leftOf('night', 'nightly')).toBeNull();
  });

  it("are not guessed of before the labels' own start", async () => {
    clock.at = at(16.5) + SECOND;
    cloud.change(targetOf('plain'), {
      labels: {
        team: 'plain',
        'bursar.io/workload-kind': 'training',
        'bursar.io/job-started-at': '20261005T200000Z',
        'bursar.io/job-work-hours': '3',
      },
    });
    await pass(17);
    expect((await jobs('plain'))[targetOf('plain')]).toMatchObject({ startedAt: null, workHours: 3, workLeftHours: 3 });
  });
});
