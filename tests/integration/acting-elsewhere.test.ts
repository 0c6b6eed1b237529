/**
 * Who asks a provider: a process that has its connection. One that has not, and the command line at all times, leave
 * the action to it.
 */
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { compose } from '../../src/app.module.js';
import { run } from '../../src/cli/program.js';
import { formatInstant, HOUR_MS } from '../../src/core/time.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import type { ActionJson } from '../../src/store/action/action-json.js';
import { enqueue, ENQUEUED_CHANNEL } from '../../src/store/work.js';
import { actingWorld, codesOf } from '../support/acting.js';
import { freshDatabase } from '../support/database.js';
import { group } from '../support/memory-cloud.js';
import { localOf } from '../support/local.js';
import { proposedAction } from '../support/makers.js';

describe('a worker without the connection', async () => {
  const w = await actingWorld();
  const other = new Runner(w.db, w.stores.work, w.clock, makeLine(w.stores, [w.policy]));
  const passFor = async (runner: Runner, ms: number): Promise<void> => {
    w.clock.at += ms;
    await runner.drain();
  };

  it('leaves an action to the one that has it, and refuses nothing', async () => {
    w.cloud.add(group('web', 6));
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 2 } }];
    await w.document('approve');
    await w.look();
    const { id } = (await w.all())[0]!;
    await w.approve(id);
    for (let look = 0; look < 3; look++) await passFor(other, 5000);
    expect(await w.codes(id)).toEqual(['proposed', 'approved']);
    expect([(await w.all())[0]?.state, codesOf((await w.all())[0]!), w.cloud.arrived]).toEqual(['approved', [], 0]);
    // It looks again soon, not at once: what is put off for a while is nobody's.
    expect(await w.stores.work.duePartitions(w.clock.at)).toEqual([]);
    await passFor(w.runner, 5000);
    expect([(await w.all())[0]?.state, w.cloud.arrived]).toEqual(['confirmed', 1]);
  });

  it('lets it lapse where nobody has the connection', async () => {
    w.script.wants = [{ action: 'ScaleIn', target: 'web', change: { replicas: 1 } }];
    await w.look(2 * HOUR_MS);
    const { id, expiresAt } = (await w.all()).at(-1)!;
    await w.approve(id);
    await passFor(other, expiresAt - w.clock.at);
    expect([(await w.all()).at(-1)?.state, w.cloud.arrived]).toEqual(['expired', 1]);
  });
});

describe('the command line on the database of a process that serves', async () => {
  const { url } = await freshDatabase();
  const clock = { at: Date.UTC(2026, 10, 18, 12), now: () => clock.at };
  const environment = { BURSAR_FAKE_SEED: '20', BURSAR_FAKE_TARGETS: '6', BURSAR_FAKE_ACT: 'on' };
  const serving = await compose(url, clock, { environment });
  const { stores, organisation } = serving;
  await stores.db.transaction((tx) =>
    stores.organisations.saveRules(tx, organisation, [{ match: {}, team: 'research' }], 'test'),
  );
  const target = 'group/research-notebook-3';
  const desired = async (): Promise<number | undefined> =>
    (await serving.connections.get('fake')?.target?.(target))?.replicas?.desired;
  const proposed = async (replicas: number): Promise<string> => {
    const { action } = await stores.db.transaction((tx) =>
      stores.actions.propose(
        tx,
        organisation,
        proposedAction({
          team: 'research',
          connection: 'fake',
          target,
          effect: { kind: 'scale', target, replicas },
          evidenceAt: clock.at,
          expiresAt: clock.at + HOUR_MS,
        }),
        clock.at,
      ),
    );
    return action.id;
  };
  const cli = async (...argv: string[]): Promise<{ code: number; out: string; err: string }> => {
    const [out, err]: [string[], string[]] = [[], []];
    const code = await run(argv, {
      environment: {},
      clock,
      remote: null,
      parseYaml,
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => err.push(text) },
      serve: async () => undefined,
      async connect() {
        const {
          runner,
          leaves,
          close,
          importer,
          policies,
          stores: own,
        } = await compose(url, clock, { environment, migrate: false, reachesOut: false });
        return localOf({ stores: own, importer, policies, leaves, drain: () => runner.drain(), close }, clock);
      },
    });
    return { code, out: out.join(''), err: err.join('') };
  };
  const stateOf = async (id: string): Promise<string> =>
    (await stores.actions.known(stores.db, organisation, id)).state;

  it('opens no connection of its own, and takes up nothing that asks a provider or tells people', async () => {
    const bursar = await compose(url, clock, { environment, migrate: false, reachesOut: false });
    expect([[...bursar.connections], bursar.leaves]).toEqual([
      [],
      [
        'fleet.collect',
        'price.collect',
        'usage.collect',
        'answer.take',
        'action.execute',
        'action.confirm',
        'audit.send',
        'alert.make',
        'alert.escalate',
        'alert.send',
      ],
    ]);
    await enqueue(stores.db, organisation, [{ stage: 'fleet.collect', partition: 'fake', key: 'fake/fleet' }]);
    await bursar.runner.drain();
    expect(await stores.work.duePartitions(clock.at)).toEqual([
      expect.objectContaining({ stage: 'fleet.collect', due: 1 }),
    ]);
    await bursar.close();
    await serving.runner.drain();
    expect((await stores.fleet.coverage(stores.db, organisation, clock.at))[0]).toMatchObject({
      connection: 'fake',
      complete: true,
    });
  });

  it('keeps an approval and says that it waits, where none serves', async () => {
    expect(await desired()).toBe(4);
    const id = await proposed(3);
    const { code, out, err } = await cli('approve', id);
    expect([code, out]).toEqual([0, `${id} is approved: scale ${target}\n`]);
    expect(err).toBe(
      `It waits for bursar serve: nothing else acts on fake, and none runs on this database. It expires at ${formatInstant(clock.at + HOUR_MS)}.\n`,
    );
    expect(await desired()).toBe(4);
    // The next that serves takes it up.
    await serving.runner.drain();
    expect([await stateOf(id), await desired()]).toEqual(['confirmed', 3]);
  });

  it('waits for the one that serves, and shows what it did; the same of a rollback', async () => {
    const leave = await stores.db.listen(ENQUEUED_CHANNEL, () => void serving.runner.drain());
    try {
      clock.at += HOUR_MS;
      const id = await proposed(2);
      expect(await cli('approve', id)).toEqual({ code: 0, out: `${id} is confirmed: scale ${target}\n`, err: '' });
      expect(await desired()).toBe(2);
      const back = await cli('rollback', id, '--json');
      expect([back.code, back.err]).toEqual([0, '']);
      expect((JSON.parse(back.out) as { action: ActionJson }).action).toMatchObject({
        rollbackOf: id,
        state: 'confirmed',
      });
      expect(await desired()).toBe(3);
    } finally {
      await leave();
    }
    expect(await stores.db.isHeard(ENQUEUED_CHANNEL)).toBe(false);
    await serving.close();
  });
});
