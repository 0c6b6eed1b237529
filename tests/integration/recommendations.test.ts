/** What one evaluation keeps of a team's recommendations, in one statement: each with its own state and obstacles. */
import { describe, expect, it } from 'vitest';
import type { Reason } from '../../src/core/action/action.js';
import type { Recommendation } from '../../src/core/policy/recommendation.js';
import { formatInstant, HOUR_MS } from '../../src/core/time.js';
import { recommendationEvidence } from '../../src/application/policy/recommendation-evidence.js';
import { takeSamples } from '../../src/application/fleet/take-samples.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { testBursar } from '../support/bursar.js';
import { gpuSample, recommendation } from '../support/makers.js';
import { group, instance } from '../support/memory-cloud.js';

describe('recommendations that one evaluation makes', async () => {
  const { stores, db, clock } = await testBursar();
  const made = (id: string, change: Partial<Recommendation> = {}): Recommendation =>
    recommendation({ id, target: `instance/${id}`, expiresAt: formatInstant(clock.at + HOUR_MS), ...change });
  const evaluate = (open: readonly Recommendation[], observed: readonly Recommendation[] = []) =>
    db.transaction((tx) =>
      stores.recommendations.replaceOpen(tx, 'default', 'research', ['idle-stop'], open, clock.at, observed),
    );
  const kept = async () =>
    new Map((await stores.recommendations.list('default', {}, null, 50)).map((one) => [one.id, one]));

  it('are kept with what each of them says, those that are only observed too', async () => {
    await evaluate([made('a', { estimatedMonthlySavingsNanos: null }), made('b', { title: 'Stop b' })], [made('c')]);
    const all = await kept();
    expect(['a', 'b', 'c'].map((id) => [all.get(id)?.status, all.get(id)?.title, all.get(id)?.target])).toEqual([
      ['open', 'Stop it', 'instance/a'],
      ['open', 'Stop b', 'instance/b'],
      ['observed', 'Stop it', 'instance/c'],
    ]);
    expect(all.get('a')).toMatchObject({ estimatedMonthlySavingsNanos: null, currency: 'USD' });
  });

  it('are what the last one says, where two of them are one', async () => {
    await evaluate([made('a', { title: 'first' }), made('a', { title: 'second' })], []);
    const all = await kept();
    expect([all.get('a')?.title, all.get('a')?.status]).toEqual(['second', 'open']);
    expect([all.get('b')?.status, all.get('c')?.status]).toEqual(['superseded', 'superseded']);
    await evaluate([]);
    expect((await kept()).get('a')?.status).toBe('superseded');
  });

  it('have each its own obstacles, and lose them where none is left', async () => {
    await evaluate([made('a'), made('b'), made('c')]);
    const floor = { code: 'floor', message: 'at its floor' };
    const live = { code: 'protected', message: 'not to be touched' };
    const save = (found: ReadonlyMap<string, readonly Reason[]>) =>
      db.transaction((tx) => stores.recommendations.saveObstacles(tx, 'default', found));
    await save(
      new Map([
        ['a', [floor, live]],
        ['b', [live]],
        ['c', []],
      ]),
    );
    const codes = async () =>
      [...(await kept()).values()]
        .sort((one, other) => (one.id < other.id ? -1 : 1))
        .map((one) => [one.id, one.obstacle?.code ?? null, one.obstacles.map(({ code }) => code)]);
    expect(await codes()).toEqual([
      ['a', 'floor', ['floor', 'protected']],
      ['b', 'protected', ['protected']],
      ['c', null, []],
    ]);
    await save(new Map([['a', []]]));
    expect((await codes()).map(([id, code]) => [id, code])).toEqual([
      ['a', null],
      ['b', 'protected'],
      ['c', null],
    ]);
    await save(new Map());
  });
});

describe('what a recommendation rests on', async () => {
  const { stores, db, clock } = await testBursar({ targets: new FleetStore() });
  const evidenceOf = (target: string) =>
    recommendationEvidence(
      stores,
      'default',
      { team: 'lab', target, place: null, change: {}, currency: 'USD' },
      clock.at,
    );

  it('of a group that nobody reads by itself is what its busiest machine does', async () => {
    const at = clock.at - HOUR_MS;
    const member = (name: string, groupName: string) =>
      instance(name, { target: `instance/${name}`, labels: { 'aws:autoscaling:groupName': groupName } });
    const targets = [group('serve', 2), member('a', 'serve'), member('b', 'serve'), member('c', 'other')];
    await stores.fleet.save(db, 'default', 'cloud', { at, targets, complete: true, problems: [] }, () => 'lab');
    const use = { a: 0.2, b: 0.6, c: 1 };
    await db.transaction((tx) =>
      takeSamples(
        stores,
        tx,
        'default',
        'dcgm',
        Object.entries(use).map(([name, ratio]) =>
          gpuSample({
            resource: name,
            gpu: `GPU-${name}`,
            at: at + 1000,
            exporter: `dcgm/${name}`,
            gpuUtilisationRatio: ratio,
            labels: { instance_id: name },
          }),
        ),
      ),
    );
    const { measure, points } = await evidenceOf('asg/serve');
    expect([measure, points[0]?.value]).toEqual(['utilisation', 0.6]);
    expect((await evidenceOf('asg/nobody')).measure).toBeNull();
  });
});
