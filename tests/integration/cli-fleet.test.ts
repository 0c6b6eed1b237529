/**
 * What runs, how the GPUs fare, what is unusual, and what is done about alerts, on the command line: on the database
 * and through the API alike.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { FleetReading, FleetTarget } from '../../src/core/fleet/fleet.js';
import { formatInstant } from '../../src/core/time.js';
import { bothDoors } from '../support/doors.js';
import { NOW, testApi } from '../support/web.js';
import { fleetTarget } from '../support/makers.js';

const api = await testApi();

const target = (name: string, team: string, over: Partial<FleetTarget> = {}): FleetTarget =>
  fleetTarget({
    target: `instance/${name}`,
    name,
    provider: 'Fake Cloud',
    account: null,
    region: 'fake-east',
    sku: 'fake.t4x1',
    gpuModel: 'T4',
    gpus: 1,
    term: 'spot',
    labels: { team },
    revision: '3',
    ...over,
  });

const { here, there, thereAs } = bothDoors(api);
const json = async <T>(way: typeof here, ...argv: string[]): Promise<T> => {
  const { code, out, err } = await way(...argv, '--json');
  expect({ argv, code, err }).toEqual({ argv, code: 0, err: '' });
  return JSON.parse(out) as T;
};

beforeAll(() =>
  api.stores.db.transaction(async (tx) => {
    const { fleet, collections, healthFindings, samples, anomalies, alerts } = api.stores;
    const group = target('web', 'red', {
      target: 'group/web',
      kind: 'group',
      gpus: 4,
      term: null,
      spotRatio: 0.5,
      replicas: { desired: 3, ready: 2, min: 0, max: 6 },
    });
    const reading: FleetReading = {
      at: NOW - 90_000,
      targets: [target('a', 'red'), target('b', 'blue', { gpus: null }), group],
      complete: false,
      problems: ['one region did not answer'],
    };
    await fleet.save(tx, 'default', 'fake', reading, ({ labels }) => labels['team'] ?? '');
    await collections.saveCollected(tx, 'default', { connection: 'fake', what: 'fleet' }, reading.at, NOW);
    const finding = {
      rule: 'gone',
      severity: 'fatal',
      resource: 'node-1',
      gpu: 'GPU-1',
      migInstance: null,
      team: 'red',
      workload: null,
      title: 'GPU-1 has fallen off the bus',
      numbers: { xid: 79 },
      evidence: { what: 'DCGM', from: formatInstant(NOW - 60_000), to: formatInstant(NOW), ageSeconds: 0 },
    } as const;
    await healthFindings.keep(tx, 'default', 'dcgm', { opened: [finding as never], renewed: [], cleared: [] }, NOW);
    await samples.saveState(
      tx,
      'default',
      { name: 'dcgm', readTo: NOW - 60_000, coverage: 0.5, exportersUp: null, problems: [] },
      NOW,
    );
    await anomalies.keep(
      tx,
      'default',
      [
        {
          kind: 'anomaly',
          team: 'red',
          what: 'spike',
          day: '2026-10-06',
          decidedDay: '2026-10-06',
          currency: 'USD',
          observed: '900.00',
          expected: { low: '90.00', mean: '100.00', high: '110.00' },
          drivers: [],
        },
      ],
      NOW,
    );
    await alerts.raise(
      tx,
      'default',
      {
        kind: 'anomaly',
        team: 'red',
        what: 'spike',
        day: '2026-10-06',
        decidedDay: '2026-10-06',
        currency: 'USD',
        observed: '900.00',
        expected: { low: '90.00', mean: '100.00', high: '110.00' },
        drivers: [],
      },
      NOW,
    );
  }),
);

describe('bursar fleet', () => {
  it('lists what runs with its age, and how well that is known', async () => {
    expect((await here('fleet')).out.split('\n')).toEqual([
      'target      team  provider    sku        GPUs  replicas  state    term        seen ago',
      '----------  ----  ----------  ---------  ----  --------  -------  ----------  --------',
      'group/web   red   Fake Cloud  fake.t4x1    12  2 of 3    running  50.0% spot  90 s',
      'instance/a  red   Fake Cloud  fake.t4x1     1  -         running  spot        90 s',
      'instance/b  blue  Fake Cloud  fake.t4x1     -  -         running  spot        90 s',
      'GPUs of machines and groups: 13, without 1 of which the number is unknown',
      '',
      'fake was read 90 s ago, in part: 3 targets; one region did not answer',
      '',
    ]);
  });

  it('answers alike on the database and through the API', async () => {
    for (const argv of [
      ['fleet'],
      ['fleet', '--team', 'red', '--kind', 'group'],
      ['fleet', '--connection', 'elsewhere'],
      ['health'],
      ['health', '--status', 'cleared'],
      ['anomalies', '--team', 'red'],
      ['mutes'],
    ]) {
      expect({ argv, answer: await json<Record<string, unknown>>(there, ...argv) }).toEqual({
        argv,
        answer: await json<Record<string, unknown>>(here, ...argv),
      });
    }
    expect(await json(here, 'fleet', '--team', 'red', '--kind', 'group')).toMatchObject({
      targets: [{ target: 'group/web', ageSeconds: 90, replicas: { desired: 3 } }],
      coverage: [{ connection: 'fake', complete: false }],
    });
    expect(await json(here, 'fleet', '--connection', 'elsewhere')).toEqual({ targets: [], coverage: [] });
  });

  it('shows a key its own teams, and leaves out what it may not know of the whole', async () => {
    const key = await api.keyFor({ teams: ['blue'] });
    const { code, out } = await thereAs(key, 'fleet', '--json');
    expect([code, JSON.parse(out)]).toEqual([
      0,
      expect.objectContaining({ targets: [expect.objectContaining({ target: 'instance/b' })], coverage: null }),
    ]);
    expect((await here('fleet', '--kind', 'stone')).code).toBe(2);
  });
});

it('bursar health and bursar anomalies say what was found, and on what evidence', async () => {
  expect((await here('health')).out).toMatch(
    /fatal +gone +red +node-1 +GPU-1 +- +GPU-1 has fallen off the bus\n\nsource +evidence to +exporters +problems\n.*\ndcgm +\S+ +50\.0%/,
  );
  expect((await here('health', '--status', 'cleared')).out).toContain('There are no such findings.');
  expect((await here('anomalies')).out).toMatch(/spike +spend of red +2026-10-06 +900\.00 +90\.00 to 110\.00 +USD/);
});

describe('bursar alerts and mutes', () => {
  it('mutes for a while and lifts it, each with its entry in the audit', async () => {
    const { mute } = await json<{ mute: { id: string } }>(
      here,
      'mutes',
      'set',
      '--team',
      'red',
      '--until',
      '2027-01-01',
      '--reason',
      'a migration',
    );
    expect(mute).toMatchObject({ team: 'red', kind: null, until: '2027-01-01T00:00:00Z', reason: 'a migration' });
    expect((await there('mutes')).out).toMatch(new RegExp(`${mute.id} +red +all +all +2027-01-01`));
    expect((await there('mutes', 'lift', mute.id)).out).toBe(`${mute.id} is lifted.\n`);
    expect(await here('mutes', 'lift', mute.id)).toMatchObject({
      code: 1,
      err: `bursar: mute ${mute.id} does not exist\n`,
    });
    expect(await there('mutes', 'set', '--until', '2020-01-01', '--reason', 'late')).toMatchObject({
      code: 1,
      err: expect.stringContaining('until is not in the future') as string,
    });
    expect((await here('mutes', 'set', '--until', 'soon', '--reason', 'x')).code).toBe(2);
    expect((await api.stores.audit.list('default', null, 2)).map(({ verb }) => verb)).toEqual([
      'alert.unmute',
      'alert.mute',
    ]);
  });

  it('gives a person of Slack the rights of a key, and takes them away', async () => {
    const { key } = await json<{ key: { id: string } }>(here, 'keys', 'create', 'ada', '--role', 'operator');
    expect((await there('slack-users')).out).toBe('Nobody of Slack is connected.\n');
    const connected = await there('slack-users', 'connect', 'T0WORK', 'U0ADA', '--key', key.id);
    expect(connected.out).toMatch(new RegExp(`T0WORK +U0ADA +${key.id} +ada +operator +all +holds`));
    expect((await here('slack-users')).out).toBe((await there('slack-users')).out);
    expect(await there('slack-users', 'connect', 'T0WORK', 'U0ADA', '--key', '000000000000')).toMatchObject({
      code: 1,
      err: 'bursar: key 000000000000 does not exist, or is revoked\n',
    });
    expect(await here('slack-users', 'connect', 'work', 'ada', '--key', key.id)).toMatchObject({
      code: 1,
      err: expect.stringContaining('is not an id of Slack') as string,
    });
    await here('keys', 'revoke', key.id);
    expect((await here('slack-users')).out).toContain('revoked: no rights');
    expect((await here('slack-users', 'disconnect', 'T0WORK', 'U0ADA')).out).toBe('T0WORK/U0ADA is disconnected.\n');
  });

  it('takes an alert on, once', async () => {
    const [{ id }] = (await json<{ alerts: [{ id: string }] }>(here, 'alerts')).alerts;
    const { alert } = await json<{ alert: unknown }>(here, 'alerts', 'acknowledge', id);
    expect(alert).toMatchObject({
      id,
      state: 'answered',
      answer: { what: 'acknowledged', by: expect.stringMatching(/^cli:/) as string },
    });
    expect(await there('alerts', 'acknowledge', id)).toMatchObject({
      code: 1,
      err: `bursar: alert ${id} does not wait for an answer\n`,
    });
    expect((await api.stores.audit.list('default', null, 1))[0]).toMatchObject({
      verb: 'alert.acknowledge',
      target: id,
      detail: { team: 'red' },
    });
  });
});
