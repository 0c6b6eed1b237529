/** bursar admissions: what the webhook refused, on the database and through the API alike. */
import { beforeAll, expect, it } from 'vitest';
import type { AdmissionNote } from '../../src/core/budget/admission.js';
import { bothDoors } from '../support/doors.js';
import { NOW, testApi } from '../support/web.js';

const api = await testApi();
const DAY = 86_400_000;

const { here, there, thereAs } = bothDoors(api);

beforeAll(async () => {
  const note = (team: string, workload: string, outcome: AdmissionNote['outcome']): AdmissionNote => ({
    team,
    outcome,
    cluster: 'east',
    namespace: 'ml',
    workload,
    reasons: ['budget-spent'],
    message: `team ${team} has no budget left`,
  });
  const { admissions } = api.stores;
  admissions.note({
    organisation: 'default',
    at: NOW - DAY,
    notes: [note('red', 'Pod old', 'refused')],
    zoneOf: () => 'UTC',
  });
  admissions.note({
    organisation: 'default',
    at: NOW,
    notes: [
      note('red', 'ReplicaSet trainer', 'refused'),
      note('red', 'ReplicaSet trainer', 'refused'),
      note('blue', 'Pod notebook', 'warned'),
    ],
    zoneOf: () => 'UTC',
  });
  await admissions.settled();
});

it('lists a row a workload and day, with why', async () => {
  expect((await here('admissions')).out.split('\n')).toEqual([
    'day         team  cluster  namespace  workload            refused  warned  last   why',
    '----------  ----  -------  ---------  ------------------  -------  ------  -----  ----------------------------',
    '2026-10-07  blue  east     ml         Pod notebook              0       1  00:00  team blue has no budget left',
    '2026-10-07  red   east     ml         ReplicaSet trainer        2       0  00:00  team red has no budget left',
    '2026-10-06  red   east     ml         Pod old                   1       0  00:00  team red has no budget left',
    '',
  ]);
});

it('answers alike on the database and through the API', async () => {
  for (const argv of [
    [],
    ['--team', 'red'],
    ['--from', '2026-10-07'],
    ['--to', '2026-10-07', '--team', 'red'],
    ['--limit', '1'],
    ['--team', 'nobody'],
  ]) {
    const [local, remote] = [await here('admissions', ...argv, '--json'), await there('admissions', ...argv, '--json')];
    expect({ argv, ...remote }).toEqual({ argv, ...local });
    expect(local.code).toBe(0);
  }
  expect(JSON.parse((await here('admissions', '--to', '2026-10-07', '--json')).out)).toMatchObject({
    admissions: [
      { team: 'red', day: '2026-10-06', workload: 'Pod old', refused: 1, warned: 0, reasons: ['budget-spent'] },
    ],
  });
  expect((await here('admissions', '--team', 'nobody')).out).toBe('No launch was refused or warned about.\n');
});

it('shows a key its own teams, and says what is no day', async () => {
  const key = await api.keyFor({ teams: ['blue'] });
  const { code, out } = await thereAs(key, 'admissions', '--json');
  expect([code, (JSON.parse(out) as { admissions: { team: string }[] }).admissions.map(({ team }) => team)]).toEqual([
    0,
    ['blue'],
  ]);
  expect(await here('admissions', '--from', 'yesterday')).toMatchObject({
    code: 2,
    err: expect.stringContaining('It is not a day: write 2026-12-01.') as string,
  });
});
