/**
 * A service on a cloud in memory, held by a document that enforces: spot takes over from on-demand, a zone loses its
 * spot, on-demand fills in, spot returns, on-demand goes. Through the real stages on real PostgreSQL.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../src/application/policy/explain.js';
import { POLICIES, spotService, ZONES } from '../support/spot-service.js';

describe('a service on spot of two zones', async () => {
  const { cloud, pass, sizes, fewest, stores, db, clock } = await spotService('enforce');
  beforeAll(() => pass(10));

  it('moves to spot without a moment of fewer ready than are promised', () => {
    const [a = 0, b = 0, onDemand] = sizes();
    expect(a + b).toBeGreaterThanOrEqual(2);
    expect(onDemand).toBe(0);
    expect(fewest.ready).toBeGreaterThanOrEqual(2);
    const steps = cloud.done.map(({ effect }) => effect.target);
    expect(steps.indexOf('asg/od')).toBeGreaterThanOrEqual(2);
  });

  it('fills in on demand where all spot is gone, and stops asking for it', async () => {
    for (const zone of ZONES) cloud.gone.add(zone);
    await pass(10);
    expect(sizes()).toEqual([0, 0, 2]);
    expect(cloud.ready()).toBe(2);
  });

  it('goes back to spot when it returns, and says why it rests then', async () => {
    for (const zone of ZONES) cloud.gone.delete(zone);
    fewest.ready = Infinity;
    await pass(14);
    const [a = 0, b = 0, onDemand] = sizes();
    expect([a + b >= 2, onDemand]).toEqual([true, 0]);
    expect(fewest.ready).toBeGreaterThanOrEqual(2);
    const { looks } = await explain(stores, POLICIES, 'default', 'asg/od', clock.at);
    expect(looks[0]?.leftAlone?.code).toBe('as-planned');
  });

  it('claims no saving in the ledger for what other groups serve in its place', async () => {
    const worlds = await db.query<{ spec: { target: string; world: { reason?: string } } }>(
      `select spec from counterfactual`,
    );
    expect(worlds.some(({ spec }) => spec.target === 'asg/od' && spec.world.reason === 'replaced-elsewhere')).toBe(
      true,
    );
    expect(
      worlds.every(({ spec }) => ['replaced-elsewhere', 'not-made-to-save'].includes(spec.world.reason ?? '')),
    ).toBe(true);
  });
});
