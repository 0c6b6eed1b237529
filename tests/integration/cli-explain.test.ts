/**
 * bursar explain on the command line, on the database and through the API alike: what the policies saw, what they say,
 * and what would make them act; and whose business it is.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import type { GpuSample } from '../../src/core/ports.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { takeSamples } from '../../src/application/fleet/take-samples.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { Explained } from '../../src/application/policy/explain.js';
import { bothDoors } from '../support/doors.js';
import { group, instance } from '../support/memory-cloud.js';
import { NOW, testApi } from '../support/web.js';
import { gpuSample } from '../support/makers.js';

const api = await testApi();
const { here, there, thereAs } = bothDoors(api);

const machine = (name: string, over: Partial<FleetTarget> = {}): FleetTarget => ({
  ...instance(name),
  name,
  launchedAt: NOW - 100 * HOUR_MS,
  knownAs: [`${name}.lab.internal`, '10.0.7.7'],
  ...over,
});
const sample = (at: number): GpuSample =>
  gpuSample({
    resource: 'twin-a.lab.internal',
    gpu: 'GPU-1',
    at,
    gpuUtilisationRatio: 0,
    memoryUsedRatio: 0,
    memoryUsedMib: 4,
    temperatureCelsius: 31,
    powerWatts: 70,
    pcieReplays: 0,
    labels: { Hostname: 'twin-a.lab.internal' },
  });

beforeAll(() =>
  api.stores.db.transaction(async (tx) => {
    const targets = [machine('twin-a', { network: 'a' }), machine('twin-b', { network: 'b' })];
    await api.stores.fleet.save(
      tx,
      'default',
      'lab',
      { at: NOW - MINUTE_MS, complete: true, problems: [], targets },
      () => 'red',
    );
    const samples = Array.from({ length: 120 }, (_, n) => sample(NOW - n * MINUTE_MS));
    await takeSamples(api.stores, tx, 'default', 'dcgm', samples);
  }),
);

describe('bursar explain', () => {
  it('says of a machine what is known, what each policy saw, and what would make it act', async () => {
    const { code, out } = await here('explain', 'twin-a');
    expect(code).toBe(0);
    expect(out.split('\n')[0]).toBe('instance/twin-a, a target of red');
    for (const text of [
      'lab knows it as instance/twin-a: running',
      '1 GPUs are measured as its own: twin-a.lab.internal',
      'recommendations of red were never made yet',
      '120 readings of 1 x H100',
      '0 % busy, 70 W, 4 MiB of memory in use',
      'idle-stop (idle-stop, mode recommend): instance/twin-a',
      'leaves it alone: 1 of its 8 GPUs are measured as its own; the work of the others is unknown or belongs to a pod',
      'would act on: readings of all its GPUs',
      'would act on: its purpose: Proposes reservations',
    ])
      expect(out).toContain(text);
  });

  it('answers alike on the database and through the API, whatever the name stands for', async () => {
    for (const asked of ['twin-a', '10.0.7.7', 'red', 'instance/twin-b']) {
      const [local, remote] = [await here('explain', asked, '--json'), await there('explain', asked, '--json')];
      expect([asked, local.code, local.err]).toEqual([asked, 0, '']);
      expect(JSON.parse(remote.out)).toEqual(JSON.parse(local.out));
      const { looks } = JSON.parse(local.out) as Explained;
      expect(looks.map(({ policy }) => policy)).toContain('idle-stop');
      for (const { leftAlone } of looks) expect(leftAlone?.toAct ?? '').not.toBe('');
    }
    const { kind, known } = JSON.parse((await there('explain', '10.0.7.7', '--json')).out) as Explained;
    expect([kind, known[0]]).toEqual([
      'ambiguous',
      '10.0.7.7 could be instance/twin-a of lab, instance/twin-b of lab: ask about one of them',
    ]);
  });

  it('says of a group what its machines are measured at, and of a budget how it stands', async () => {
    const labels = { 'aws:autoscaling:groupName': 'train' };
    const part = machine('part-1', { labels, knownAs: ['part-1.lab.internal'], network: 'c' });
    await api.stores.db.transaction(async (tx) => {
      const reading = { at: NOW - MINUTE_MS, complete: true, problems: [], targets: [group('train', 1), part] };
      await api.stores.fleet.save(tx, 'default', 'lab-2', reading, () => 'red');
      const samples = Array.from({ length: 120 }, (_, n) => ({
        ...sample(NOW - n * MINUTE_MS),
        resource: 'part-1.lab.internal',
        labels: { Hostname: 'part-1.lab.internal' },
      }));
      await takeSamples(api.stores, tx, 'default', 'dcgm', samples);
    });
    const ofGroup = (await here('explain', 'asg/train')).out;
    for (const text of [
      'it has 1 machine(s), and 1 of their GPUs were measured within a day',
      'it is one of the machines of asg/train, which would replace it',
    ])
      expect(ofGroup).toContain(text);
    expect(ofGroup).not.toContain('none of its GPUs');
    const body = { team: 'red', planned: { default: '1000' } };
    expect((await api.call('PUT', '/v1/budgets/red-monthly', { body })).status).toBe(200);
    expect((await here('explain', 'red-monthly')).out).toContain('its spend has not been compared with its plan yet');
    await new Runner(api.stores.db, api.stores.work, { now: () => NOW }, makeLine(api.stores, [])).drain();
    const ofBudget = (await here('explain', 'red-monthly')).out;
    for (const text of ['0 USD spent, 1000 planned, no forecast yet', 'no document of budget-brake applies to red'])
      expect(ofBudget).toContain(text);
  });

  it('tells nobody of another team’s, and says what it does not know', async () => {
    const blue = await api.keyFor({ role: 'viewer', teams: ['blue'] });
    expect((await thereAs(blue, 'explain', 'twin-a')).code).toBe(1);
    expect((await thereAs(blue, 'explain', '10.0.7.7')).err).not.toContain('twin-b');
    const { code, err } = await here('explain', 'nobody');
    expect([code, err]).toEqual([1, expect.stringContaining('nothing is known by the name nobody')]);
  });
});
