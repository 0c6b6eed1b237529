/**
 * A calendar over machines that nobody measures: the fake cloud's, known by the fleet alone. What the document has
 * stopped is started again at the end of its hours, also by another process; what a person has touched is theirs.
 */
import { describe, expect, it } from 'vitest';
import type { Effect } from '../../src/core/fleet/fleet.js';
import { formatInstant } from '../../src/core/time.js';
import { policy as schedule } from '../../src/policies/schedule.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { Runner } from '../../src/pipeline/runner.js';
import { fakeCloud } from '../../src/providers/fake/fake.js';
import { setStop } from '../../src/application/action/set-safety.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { explain } from '../../src/application/policy/explain.js';
import { enqueue } from '../../src/store/work.js';
import { applied } from '../support/acting.js';
import { instancePrice, testBursar } from '../support/bursar.js';

/** Wednesday, 19:00. */
const START = Date.UTC(2026, 10, 18, 19);
const MINUTE = 60_000;
const policies = [schedule] as unknown as readonly Policy[];
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri'];

async function world(params: Record<string, unknown>) {
  const clock = { at: START, now: () => clock.at };
  const { cloud, connection } = fakeCloud(7, clock, {
    bootSeconds: 0,
    stopSeconds: 0,
    machines: [{ sku: 'fake.t4x1', region: 'fake-east', labels: { team: 'lab' } }],
  });
  const { target, name } = cloud.targets()[0]!;
  const bursar = await testBursar({
    policies,
    now: clock.at,
    targets: new FleetStore(),
    connections: new Map([['fake', connection]]),
  });
  const { db, stores, line } = bursar;
  let runner = bursar.runner;
  await db.transaction(async (tx) => {
    await stores.organisations.saveRules(
      tx,
      'default',
      [{ match: { label: { key: 'team', value: 'lab' } }, team: 'lab' }],
      'test',
    );
    const applying = { targets: [name], ...params };
    const document = { name: 'nights', policy: 'schedule', teams: ['lab'], mode: 'enforce', params: applying };
    await applied(stores, tx, policies, document, clock.at);
  });
  await bursar.setPrices([
    instancePrice('1', { provider: 'Fake Cloud', sku: 'fake.t4x1', region: 'fake-east', gpuModel: 'T4', gpus: 1 }),
  ]);
  return {
    bursar,
    cloud,
    target,
    /** Reads the fleet every five minutes until an hour and minute of November 2026. */
    async until(day: number, hour: number, minute = 0): Promise<void> {
      for (const end = Date.UTC(2026, 10, day, hour, minute); clock.at < end; ) {
        bursar.clock.at = clock.at = Math.min(clock.at + 5 * MINUTE, end);
        await enqueue(db, 'default', [{ stage: 'fleet.collect', partition: 'fake', key: 'fake/fleet' }]);
        await runner.drain();
      }
    },
    person(kind: 'start' | 'stop'): void {
      cloud.take({ kind, target }, `${kind}-${clock.at}`, cloud.target(target));
    },
    restart(): void {
      runner = new Runner(db, stores.work, bursar.clock, line);
    },
    switchOff: (lift: boolean) =>
      db.transaction((tx) => setStop(stores, tx, 'default', {}, { lift, reason: 'a test', by: 'test', now: clock.at })),
    /** What was asked for in Bursar's name, and when. */
    async done(): Promise<(readonly [Effect['kind'], string])[]> {
      const tokens = new Set((await stores.actions.list('default', {}, null, 100)).map(({ action }) => action.token));
      return cloud
        .applied()
        .filter(({ token }) => tokens.has(token))
        .map(({ effect, at }) => [effect.kind, formatInstant(at)] as const);
    },
    async said(): Promise<string> {
      const { looks } = await explain(stores, policies, 'default', target, clock.at);
      const [look] = looks;
      return `${look?.leftAlone?.code}: ${look?.leftAlone?.message}`;
    },
    async because(): Promise<string | null> {
      const { looks } = await explain(stores, policies, 'default', target, clock.at);
      return looks[0]?.recommendation?.because ?? null;
    },
  };
}

const office = {
  windows: [{ days: WEEKDAYS, from: '08:00', to: '20:00', running: true }],
  otherwise: { running: false },
};

describe('A calendar over machines that nobody measures', () => {
  it('stops them by their fleet names and starts them again, also after a restart', async () => {
    const { until, restart, done, said, because, cloud, target } = await world(office);
    await until(18, 20, 10);
    expect(cloud.target(target)?.state).toBe('stopped');
    expect(await said()).toBe('stopped-by-calendar: it is started again at 2026-11-19 08:00 UTC');
    expect(await because()).toBe(
      'its last action was over at 2026-11-18 20:00 UTC: if it is proposed again, it is asked for with evidence from 2026-11-18 20:30 UTC on',
    );
    restart();
    await until(19, 8, 10);
    expect(cloud.target(target)?.state).toBe('running');
    expect(await said()).toBe('as-planned: it is as the calendar allows');
    expect(await done()).toEqual([
      ['stop', '2026-11-18T20:00:00Z'],
      ['start', '2026-11-19T08:00:00Z'],
    ]);
  });

  it('starts again at the end of hours in which it was stopped, where nothing says that it has to run', async () => {
    const { until, done } = await world({ windows: [{ from: '20:00', to: '08:00', running: false }] });
    await until(19, 8, 10);
    expect(await done()).toEqual([
      ['stop', '2026-11-18T20:00:00Z'],
      ['start', '2026-11-19T08:00:00Z'],
    ]);
  });

  it('leaves what a person has started for its grace, and never starts what a person has stopped', async () => {
    const { until, person, done, said } = await world(office);
    await until(18, 21);
    person('start');
    await until(18, 21, 30);
    expect(await said()).toBe('in-grace: somebody has started it outside its hours');
    await until(18, 22, 10);
    // The fleet shows at five past that it was started.
    expect((await done()).at(-1)).toEqual(['stop', '2026-11-18T22:05:00Z']);
    await until(18, 23);
    person('start');
    await until(18, 23, 20);
    person('stop');
    await until(19, 9);
    expect((await done()).map(([kind]) => kind)).toEqual(['stop', 'stop']);
    expect(await said()).toMatch(/^not-stopped-here: /);
  });

  it('starts nothing while the kill switch is on, and afterwards does', async () => {
    const { until, switchOff, done } = await world(office);
    await until(18, 21);
    await switchOff(false);
    await until(19, 9);
    expect((await done()).map(([kind]) => kind)).toEqual(['stop']);
    await switchOff(true);
    await until(19, 9, 10);
    expect((await done()).map(([kind]) => kind)).toEqual(['stop', 'start']);
  });
});
