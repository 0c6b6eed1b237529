/**
 * What readings may be taken for: power and memory that contradict an idle utilisation, readings of another machine
 * that had the same address, minutes that are not here yet, and what becomes of what waits for approval meanwhile. On a
 * real database, from samples as a source gives them to what people are shown.
 */
import { describe, expect, it } from 'vitest';
import type { EffectKind, FleetTarget } from '../../src/core/fleet/fleet.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { GpuSample } from '../../src/core/ports.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { policy as idleStop } from '../../src/policies/idle-stop.js';
import { policy as reserve } from '../../src/policies/reserve-baseline.js';
import { rejectAction } from '../../src/application/action/set-action.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { rejoin, takeSamples } from '../../src/application/fleet/take-samples.js';
import { explain } from '../../src/application/policy/explain.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { enqueue } from '../../src/store/work.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { instance } from '../support/memory-cloud.js';
import { gpuSample } from '../support/makers.js';

const NOW = Date.UTC(2026, 10, 22, 12);
const POLICIES = [idleStop, reserve] as Policy[];

interface Measured {
  readonly util?: number | null;
  readonly watts?: number | null;
  readonly mib?: number | null;
  readonly memory?: number | null;
}

async function world() {
  const bursar = await testBursar({ now: NOW, targets: new FleetStore(), policies: POLICIES });
  const { db, stores, clock } = bursar;
  await bursar.setPrices([instancePrice('3', { provider: 'Lab', sku: 'gpu.1', region: 'r1', gpus: 1 })]);
  const machine = (id: string, over: Partial<FleetTarget> = {}): FleetTarget => ({
    ...instance(id),
    name: id,
    provider: 'Lab',
    sku: 'gpu.1',
    region: 'r1',
    gpuModel: 'A100-80GB',
    gpus: 1,
    term: 'on-demand',
    state: 'running',
    labels: {},
    launchedAt: NOW - 30 * 24 * HOUR_MS,
    knownAs: [`${id}.lab`],
    ...over,
  });
  const sample = (resource: string, at: number, one: Measured): GpuSample =>
    gpuSample({
      resource,
      gpu: `GPU-${resource}`,
      gpuModel: 'A100-80GB',
      at,
      gpuUtilisationRatio: one.util === undefined ? 0 : one.util,
      memoryUsedRatio: one.memory ?? null,
      memoryUsedMib: one.mib ?? null,
      powerWatts: one.watts ?? null,
      labels: { Hostname: resource },
    });
  return {
    ...bursar,
    machine,
    fleet: (targets: readonly FleetTarget[], effects: readonly EffectKind[] = ['stop', 'start']) =>
      db.transaction(async (tx) => {
        await new FleetStore().save(
          tx,
          'default',
          'lab',
          { at: clock.at, complete: true, targets, problems: [] },
          () => 'unallocated',
          effects,
        );
        await rejoin(stores, tx, 'default', clock.at);
      }),
    /** Readings a minute apart, oldest first, the last one at an instant. */
    measure: (resource: string, all: readonly Measured[], last: number) =>
      db.transaction((tx) =>
        takeSamples(
          stores,
          tx,
          'default',
          'lab',
          all.map((one, n) => sample(resource, last - (all.length - 1 - n) * MINUTE_MS, one)),
        ),
      ),
    update: async (at: number) => {
      clock.at = at;
      await enqueue(db, 'default', [{ stage: 'recommendation.make', partition: 'unallocated', key: 'unallocated' }]);
      await bursar.runner.drain();
    },
    stops: async (status: 'open' | 'rejected' = 'open') =>
      (await stores.recommendations.list('default', { status }, null, 50)).filter(
        ({ policy }) => policy === 'idle-stop',
      ),
    actions: async () => (await stores.actions.list('default', {}, null, 50)).map(({ action }) => action),
    idleEvaluation: async (asked: string) => {
      const { looks, known, recommended } = await explain(stores, POLICIES, 'default', asked, clock.at);
      return { ...looks.find(({ policy }) => policy === 'idle-stop')!, known, recommended };
    },
    apply: (value: Record<string, unknown>) => {
      const document = readPolicyDocument(value, POLICIES);
      return db.transaction((tx) =>
        applyPolicy(stores, tx, 'default', POLICIES, { document, override: null }, 'author', clock.at),
      );
    },
  };
}
const minutes = (count: number, one: Measured): Measured[] => new Array<Measured>(count).fill(one);

describe('power and memory', () => {
  it('leave alone a card at 385 W with 70 GB in use, whose utilisation says 0, and say why', async () => {
    const { fleet, machine, measure, update, stops, idleEvaluation } = await world();
    await fleet([machine('power'), machine('rest')]);
    await measure('power', minutes(14 * 60, { watts: 385, mib: 70_000, memory: 0.86 }), NOW);
    await measure('rest', [...minutes(60, { util: 0.9, watts: 300 }), ...minutes(13 * 60, { watts: 52, mib: 4 })], NOW);
    await update(NOW);
    const [stop, ...others] = await stops();
    expect([stop?.target, others]).toEqual(['instance/rest', []]);
    expect(stop?.computation).toMatchObject({ powerWatts: 52, memoryUsedMib: 4 });
    const power = await idleEvaluation('power');
    expect(power.leftAlone).toMatchObject({ code: 'contradictory' });
    expect(power.leftAlone?.message).toContain('385 W');
    expect(power.saw.join()).toContain('0 % busy, 385 W, 70000 MiB of memory in use');
  });

  it('let held memory wait for a working day where nobody says what runs, and not for ever', async () => {
    const { fleet, machine, measure, update, stops, idleEvaluation } = await world();
    await fleet([machine('held')]);
    const held = { mib: 61_000, memory: 0.75, watts: 88 };
    await measure('held', [...minutes(60, { ...held, util: 0.8, watts: 310 }), ...minutes(7 * 60, held)], NOW);
    await update(NOW);
    expect(await stops()).toEqual([]);
    expect((await idleEvaluation('held')).leftAlone).toMatchObject({ code: 'memory-held' });
    await measure('held', minutes(90, held), NOW + 90 * MINUTE_MS);
    await update(NOW + 90 * MINUTE_MS);
    expect((await stops()).map(({ target }) => target)).toEqual(['instance/held']);
  });
});

describe('a machine that has the address of another', () => {
  it.each([
    ['of which nobody says when it was started', null],
    ['that was started after the readings', NOW - 2 * MINUTE_MS],
  ])('%s does not inherit its readings', async (_, launchedAt) => {
    const { fleet, machine, measure, update, stops, idleEvaluation, clock } = await world();
    clock.at = NOW - 10 * HOUR_MS;
    await fleet([machine('old', { knownAs: ['10.0.1.29'], launchedAt: null })]);
    await measure('10.0.1.29', minutes(9 * 60, {}), NOW - 10 * MINUTE_MS);
    clock.at = NOW - 2 * MINUTE_MS;
    await fleet([
      machine('old', { knownAs: ['10.0.1.29'], launchedAt: null, state: 'gone' }),
      machine('fresh', { knownAs: ['10.0.1.29'], launchedAt }),
    ]);
    // Read late: some of these are of the machine before.
    await measure('10.0.1.29', minutes(9, {}), NOW);
    await update(NOW);
    expect(await stops()).toEqual([]);
    const { leftAlone, saw } = await idleEvaluation('fresh');
    expect(leftAlone).toMatchObject({ code: 'in-grace' });
    expect(saw[0]).toMatch(/^3 readings/);
  });
});

describe('minutes that are not here', () => {
  async function waiting() {
    const made = await world();
    await made.fleet([made.machine('idle')]);
    await made.apply({ name: 'ask', policy: 'idle-stop', teams: ['*'], mode: 'approve', params: {} });
    await made.measure('idle', [...minutes(60, { util: 0.9 }), ...minutes(13 * 60, {})], NOW);
    await made.update(NOW + 5_000);
    return made;
  }

  it('end no quiet, and let nothing lapse that waits for approval; silence does, and readings bring it back', async () => {
    const { update, actions, idleEvaluation, stops, measure } = await waiting();
    const states = async () => (await actions()).map(({ state }) => state);
    expect(await states()).toEqual(['proposed']);
    // Through the seconds of the next minutes, in which a reading may still arrive.
    for (const seconds of [59, 62, 75, 119, 121, 179]) {
      await update(NOW + seconds * 1000);
      expect([seconds, (await idleEvaluation('idle')).leftAlone, await states()]).toEqual([
        seconds,
        null,
        ['proposed'],
      ]);
    }
    await update(NOW + 4 * MINUTE_MS);
    const late = await idleEvaluation('idle');
    expect(late.leftAlone).toMatchObject({ code: 'late' });
    expect(late.leftAlone?.message).toContain('its reading of 12:02 is not here yet');
    expect(late.recommendation).toMatchObject({ status: 'open' });
    expect(await states()).toEqual(['proposed']);
    await update(NOW + 6 * MINUTE_MS);
    expect(await states()).toEqual(['refused']);
    expect(await stops()).toEqual([]);
    expect((await idleEvaluation('idle')).leftAlone).toMatchObject({ code: 'stale' });
    await measure('idle', minutes(40, {}), NOW + 46 * MINUTE_MS);
    await update(NOW + 46 * MINUTE_MS);
    expect(await states()).toEqual(['proposed', 'refused']);
    const again = await idleEvaluation('idle');
    expect([again.leftAlone, again.recommendation?.status]).toEqual([null, 'open']);
    expect(again.recommended.message).toContain('last made at 2026-11-22 12:46 UTC');
  });

  it('are asked for both ways in the middle: what waits stays, and nothing new is proposed', async () => {
    const { update, actions, idleEvaluation, measure } = await waiting();
    // 12:01 never came.
    await measure('idle', minutes(1, {}), NOW + 2 * MINUTE_MS);
    await update(NOW + 2 * MINUTE_MS);
    const { leftAlone, recommendation } = await idleEvaluation('idle');
    expect([leftAlone?.code, recommendation?.status]).toEqual(['unsure', 'open']);
    expect(leftAlone?.message).toContain('its reading of 12:01 is missing');
    expect((await actions()).map(({ state }) => state)).toEqual(['proposed']);
    const { update: other, fleet, machine, measure: also, stops } = await world();
    await fleet([machine('idle')]);
    await also('idle', [...minutes(60, { util: 0.9 }), ...minutes(13 * 60, {})], NOW);
    await also('idle', minutes(1, {}), NOW + 2 * MINUTE_MS);
    await other(NOW + 2 * MINUTE_MS);
    expect(await stops()).toEqual([]);
  });

  it('make no new question of what somebody has rejected', async () => {
    const { update, actions, idleEvaluation, stops, measure, db, stores, clock } = await waiting();
    const [action] = await actions();
    await db.transaction((tx) => rejectAction(stores, tx, 'default', action!.id, 'needed', 'ada', clock.at));
    await update(NOW + 10 * MINUTE_MS);
    await measure('idle', minutes(60, {}), NOW + 80 * MINUTE_MS);
    await update(NOW + 80 * MINUTE_MS);
    expect(await stops()).toEqual([]);
    expect((await idleEvaluation('idle')).recommendation).toMatchObject({
      status: 'rejected',
      decidedBy: 'ada',
      because: 'needed',
    });
  });
});

describe('documents', () => {
  it('with a list of * cover machines of no team; where none covers them, explain says so', async () => {
    const { fleet, machine, measure, update, stops, apply, idleEvaluation, stores } = await world();
    await fleet([machine('idle')]);
    await measure('idle', [...minutes(60, { util: 0.9 }), ...minutes(13 * 60, {})], NOW);
    await apply({ name: 'mine', policy: 'idle-stop', teams: ['*'], mode: 'recommend', params: {} });
    await update(NOW);
    expect((await stops()).map(({ target, document }) => [target, document])).toEqual([['instance/idle', 'mine']]);
    await apply({ name: 'mine', policy: 'idle-stop', teams: ['research'], mode: 'recommend', params: {} });
    await update(NOW + 1000);
    expect(await stops()).toEqual([]);
    expect(await idleEvaluation('idle')).toMatchObject({
      document: null,
      leftAlone: {
        code: 'no-document',
        message: 'no document of idle-stop applies to unallocated: mine applies to research',
      },
    });
    const { looks } = await explain(stores, POLICIES, 'default', 'instance/idle', NOW, undefined, () => false);
    expect(looks.map(({ leftAlone }) => leftAlone?.message)).toContain(
      'no document of idle-stop applies to unallocated: its documents apply to other teams',
    );
    await expect(async () =>
      apply({ name: 'odd', policy: 'idle-stop', teams: ['*', 'research'], mode: 'recommend' }),
    ).rejects.toMatchObject({ kind: 'invalid', problems: [{ path: 'teams/0' }] });
  });
});

describe('what explain calls by name', () => {
  it('tells of an address that two machines have, of each of them, and of the pod that holds a node’s GPU', async () => {
    const { fleet, machine, measure, clock, stores, db } = await world();
    await fleet([
      machine('dup-a', { knownAs: ['10.0.1.27', 'ip-10-0-1-27'], network: 'a' }),
      machine('dup-b', { knownAs: ['10.0.1.27', 'ip-10-0-1-27'], network: 'b' }),
      { ...machine('node-1', { knownAs: ['node-1.lab'] }), target: 'node/node-1' },
    ]);
    await measure('ip-10-0-1-27', minutes(60, {}), NOW);
    await db.transaction((tx) =>
      takeSamples(stores, tx, 'default', 'lab', [
        gpuSample({
          resource: 'pod/prod/web-0',
          gpu: 'GPU-n',
          gpuModel: 'A100-80GB',
          namespace: 'prod',
          pod: 'web-0',
          at: NOW,
          gpuUtilisationRatio: 0,
          memoryUsedRatio: 0,
          memoryUsedMib: 0,
          labels: { Hostname: 'node-1.lab' },
        }),
      ]),
    );
    const of = (asked: string) => explain(stores, POLICIES, 'default', asked, clock.at);
    const both = 'could be instance/dup-a of lab, instance/dup-b of lab';
    for (const asked of ['dup-a', '10.0.1.27', 'ip-10-0-1-27']) {
      const { known, looks } = await of(asked);
      expect([asked, known.join()]).toEqual([asked, expect.stringContaining(both)]);
      expect(looks.filter(({ leftAlone }) => leftAlone === null)).toEqual([]);
      expect(looks.length).toBeGreaterThan(0);
    }
    expect((await of('10.0.1.27')).kind).toBe('ambiguous');
    expect((await of('node-1')).known.join()).toContain('1 of its GPUs are held by pod/prod/web-0');
    await expect(of('10.9.9.9')).rejects.toMatchObject({ kind: 'missing' });
  });
});
