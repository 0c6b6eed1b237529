/** What labels say of a job, and what of them cannot be read: by hand. */
import { describe, expect, it } from 'vitest';
import type { FleetTarget } from '../../../src/core/fleet/fleet.js';
import { unreadableLabels, workloadOf } from '../../../src/core/policy/fleet-workload.js';
import { fleetTarget } from '../../support/makers.js';

const NOON = Date.UTC(2026, 10, 22, 12);
const HOUR = 3_600_000;
const machine: FleetTarget = fleetTarget({ name: 'train', account: '1', launchedAt: 0 });
const of = (labels: Readonly<Record<string, string>>, over: Partial<FleetTarget> = {}): FleetTarget => ({
  ...machine,
  ...over,
  labels: {
    'bursar.io/workload-kind': 'training',
    ...Object.fromEntries(Object.entries(labels).map(([name, value]) => [`bursar.io/${name}`, value])),
  },
});
const seen = (target: FleetTarget) => {
  const { job, work } = workloadOf(target, target.target, null) ?? {};
  return { job, work };
};
const NOTHING = {
  startedAt: null,
  deadline: null,
  workHours: null,
  workLeftHours: null,
  restartHours: null,
  resizable: null,
};

describe('a job', () => {
  it('is none where no label speaks of one', () => {
    expect(seen(of({ interruptible: 'true' }))).toEqual({ job: null, work: undefined });
  });

  it('is what its labels say, and unknown in what they do not', () => {
    expect(seen(of({ 'job-resizable': 'true' }))).toEqual({ job: { ...NOTHING, resizable: true }, work: undefined });
    expect(seen(of({ 'job-deadline': '20261122T120000Z', 'job-restart-hours': '0' })).job).toEqual({
      ...NOTHING,
      deadline: NOON,
      restartHours: 0,
    });
  });

  it.each([
    '20261122T120000Z',
    '20261122T1200Z',
    '20261122T120000',
    '20261122T1400+0200',
    '20261122T070000-05',
    '2026-11-22T12:00:00Z',
    '2026-11-22T14:00+02:00',
  ])('is due at noon by %s', (text) => expect(seen(of({ 'job-deadline': text })).job?.deadline).toBe(NOON));

  it.each([
    '24',
    '20261122',
    '1795348800',
    'tomorrow',
    '',
    '20261322T120000Z',
    '20261122T250000Z',
    '2026-11-31',
    '2026-11-22T12-00-00Z',
  ])('is due at no time by "%s"', (text) => {
    expect(seen(of({ 'job-deadline': text })).job).toEqual(NOTHING);
  });

  it('has what its labels hold in the form that Kubernetes takes', () => {
    const values = ['20261122T120000Z', '12.5', '0', 'true'];
    // Kubernetes documentation, "Labels and Selectors", syntax and character set.
    for (const value of values) expect(value).toMatch(/^(?=.{1,63}$)[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/);
    const [deadline = '', work = '', restart = '', resizable = ''] = values;
    expect(
      seen(
        of({
          'job-deadline': deadline,
          'job-work-left-hours': work,
          'job-restart-hours': restart,
          'job-resizable': resizable,
        }),
      ).job,
    ).toEqual({ ...NOTHING, deadline: NOON, workLeftHours: 12.5, restartHours: 0, resizable: true });
  });
});

describe('the work that a job has left', () => {
  it('is all its work until it has begun', () => {
    expect(seen(of({ 'job-work-hours': '16' }, { state: 'stopped' })).job).toMatchObject({
      startedAt: null,
      workHours: 16,
      workLeftHours: 16,
    });
    expect(seen(of({ 'job-work-hours': '16' }, { state: 'starting' })).job?.workLeftHours).toBe(16);
    // It runs, and nobody says since when; or somebody does, and it cannot be read.
    expect(seen(of({ 'job-work-hours': '16' })).job?.workLeftHours).toBeNull();
    expect(seen(of({ 'job-work-hours': '16' }, { state: 'unknown' })).job?.workLeftHours).toBeNull();
    expect(
      seen(of({ 'job-work-hours': '16', 'job-started-at': 'noon' }, { state: 'stopped' })).job?.workLeftHours,
    ).toBeNull();
  });

  it('is to be counted from its start', () => {
    expect(seen(of({ 'job-work-hours': '16', 'job-started-at': '20261122T120000Z' }))).toEqual({
      job: { ...NOTHING, startedAt: NOON, workHours: 16 },
      work: { target: 'instance/i-1', provider: 'AWS', hours: 16, since: NOON, isWhole: true },
    });
  });

  it('is what was said last, and to be counted from when that was', () => {
    const said = { 'job-work-hours': '16', 'job-started-at': '20261122T120000Z', 'job-work-left-hours': '5' };
    expect(seen(of(said))).toEqual({
      job: { ...NOTHING, startedAt: NOON, workHours: 16, workLeftHours: 5 },
      work: undefined,
    });
    expect(seen(of({ ...said, 'job-work-left-at': '20261122T150000Z' }))).toEqual({
      job: { ...NOTHING, startedAt: NOON, workHours: 16 },
      work: { target: 'instance/i-1', provider: 'AWS', hours: 5, since: NOON + 3 * HOUR, isWhole: false },
    });
  });

  it('may be nothing, and is not known where what was said last cannot be read', () => {
    expect(seen(of({ 'job-work-left-hours': '0' })).job?.workLeftHours).toBe(0);
    for (const text of ['', '-1', 'half', '1e3', 'Infinity', '5h']) {
      expect(
        seen(of({ 'job-work-hours': '16', 'job-started-at': '20261122T120000Z', 'job-work-left-hours': text })),
      ).toEqual({ job: { ...NOTHING, startedAt: NOON, workHours: 16 }, work: undefined });
    }
    expect(seen(of({ 'job-work-hours': '0' })).job).toEqual(NOTHING);
  });
});

describe('labels that cannot be read', () => {
  it('are named with their target, without what they hold', () => {
    const odd = of({
      protected: 'yes',
      'boot-minutes': '0',
      'max-replicas': '1.5',
      'job-deadline': 'hush',
      'job-restart-hours': '-1',
      'job-resizable': 'True',
    });
    expect(unreadableLabels([odd, of({ protected: 'true', 'job-deadline': '20261122T120000Z' })])).toEqual([
      'instance/i-1: the label bursar.io/protected is neither true nor false',
      'instance/i-1: the label bursar.io/job-resizable is neither true nor false',
      'instance/i-1: the label bursar.io/max-replicas is no whole number',
      'instance/i-1: the label bursar.io/boot-minutes is no number above 0',
      'instance/i-1: the label bursar.io/job-restart-hours is no number of hours',
      'instance/i-1: the label bursar.io/job-deadline is no instant such as 20261122T060000Z',
    ]);
  });

  it("are looked for where they are read: not on a group's machines, nor on what is no workload", () => {
    const member = of({ protected: 'yes' });
    expect(
      unreadableLabels([
        { ...member, labels: { ...member.labels, 'aws:autoscaling:groupName': 'train' } },
        { ...machine, labels: { 'bursar.io/protected': 'yes' } },
        { ...member, kind: 'commitment' },
      ]),
    ).toEqual([]);
  });

  it('are twenty at most, and how many more', () => {
    const many = unreadableLabels(
      Array.from({ length: 23 }, (_, n) => of({ protected: 'yes' }, { target: `instance/i-${n}` })),
    );
    expect([many.length, many.at(-1)]).toEqual([21, 'and 3 more labels']);
  });
});
