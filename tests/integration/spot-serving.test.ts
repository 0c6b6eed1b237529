/**
 * A service on a cloud in memory, held by a document that enforces: spot takes over from on-demand, a zone loses its
 * spot, on-demand fills in, spot returns, on-demand goes. Through the real stages on real PostgreSQL.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { explain } from '../../src/application/policy/explain.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from '../../src/pipeline/collecting.js';
import { rate } from '../../src/policies/estimating/examples.js';
import { policy as serving } from '../../src/policies/spot-serving.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { applied } from '../support/acting.js';
import { testBursar } from '../support/bursar.js';
import { gpuPrice } from '../support/makers.js';
import { group, MemoryCloud } from '../support/memory-cloud.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A window of two days begins. */
const START = Date.UTC(2026, 9, 6);
const POLICIES = [serving] as unknown as readonly Policy[];
const ZONES = ['us-east-1a', 'us-east-1b'];
const SKU = 'p4d.24xlarge';

/** Groups of a cloud: on spot, ready replicas come two minutes after they were asked for, and only while spot is there. */
class SpotCloud extends MemoryCloud {
  readonly gone = new Set<string>();

  constructor(private readonly now: () => number) {
    super();
  }

  private readonly askedAt = new Map<string, number>();

  /** Lets what was asked for come, and what is gone go. */
  settle(): void {
    for (const { target, replicas, term, zone } of this.targets.values()) {
      if (replicas === null) continue;
      const { desired, ready } = replicas;
      const isThere = term !== 'spot' || !this.gone.has(zone ?? '');
      const since = this.askedAt.get(target) ?? this.now();
      const come = this.now() - since >= 2 * MINUTE ? desired : Math.min(ready ?? 0, desired);
      this.change(target, { replicas: { ...replicas, ready: isThere ? come : 0 } });
      if (isThere && ready === desired) this.askedAt.delete(target);
      else this.askedAt.set(target, isThere ? since : this.now());
    }
  }

  override async apply(...[effect, token]: Parameters<MemoryCloud['apply']>): ReturnType<MemoryCloud['apply']> {
    const before = this.targets.get(effect.target)?.replicas?.ready ?? 0;
    const outcome = await super.apply(effect, token);
    const { replicas } = this.targets.get(effect.target) ?? {};
    if (effect.kind === 'scale' && replicas)
      this.change(effect.target, { replicas: { ...replicas, ready: Math.min(before, effect.replicas) } });
    return outcome;
  }

  fleet(): ReturnType<NonNullable<ProviderConnection['fleet']>> {
    return Promise.resolve({ at: this.now(), targets: [...this.targets.values()], complete: true, problems: [] });
  }

  ready(): number {
    return [...this.targets.values()].reduce((sum, { replicas }) => sum + (replicas?.ready ?? 0), 0);
  }
}

describe('a service on spot of two zones', async () => {
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: START, connections, targets: new FleetStore(), policies: POLICIES });
  const { db, stores, clock, runner } = bursar;
  const cloud = new SpotCloud(() => clock.at);
  const labels = { team: 'research', 'bursar.io/service': 'chat' };
  const over = (zone: string, term: 'spot' | 'on-demand'): Partial<FleetTarget> => ({
    region: 'us-east-1',
    zone,
    term,
    spotRatio: term === 'spot' ? 1 : 0,
    sku: SKU,
    gpuModel: 'A100-40GB',
    gpus: 8,
    labels,
  });
  cloud.add(
    ...ZONES.map((zone, at) => group(`spot-${'ab'[at]}`, 0, over(zone, 'spot'))),
    group('od', 2, over(ZONES[0]!, 'on-demand')),
  );
  connections.set('cloud', cloud);
  const schedule = new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS);
  /** The fewest ready replicas since it was last asked for. */
  let fewest = Infinity;

  async function pass(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      clock.at += MINUTE;
      cloud.settle();
      if (minute % 10 === 0)
        await stores.workloads.saveSpot(
          db,
          'default',
          ZONES.map((region) => ({
            provider: 'AWS',
            region,
            gpuModel: 'A100-40GB',
            at: Math.floor(clock.at / (10 * MINUTE)) * 10 * MINUTE,
            available: !cloud.gone.has(region),
          })),
        );
      await schedule.enqueueDue(clock.at);
      await runner.drain();
      fewest = Math.min(fewest, cloud.ready());
    }
  }
  const sizes = (): number[] =>
    ['spot-a', 'spot-b', 'od'].map((name) => cloud.targets.get(`asg/${name}`)!.replicas!.desired);

  beforeAll(async () => {
    const price = (region: string, term: 'spot' | 'on-demand', milliDollars: number) =>
      gpuPrice({
        rate: rate(milliDollars),
        effectiveFrom: START - 30 * 24 * HOUR,
        sku: SKU,
        region,
        gpuModel: 'A100-40GB',
        term,
      });
    await bursar.setPrices([price('us-east-1', 'on-demand', 4000), ...ZONES.map((zone) => price(zone, 'spot', 1500))]);
    const past = Array.from({ length: 2 * 144 }, (_, tick) => START - (tick + 1) * 10 * MINUTE);
    await stores.workloads.saveSpot(
      db,
      'default',
      past.flatMap((at) =>
        ZONES.map((region) => ({ provider: 'AWS', region, gpuModel: 'A100-40GB', at, available: true })),
      ),
    );
    await db.transaction(async (tx) => {
      await stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { label: { key: 'team', value: 'research' } }, team: 'research' }],
        'test',
      );
      await stores.safety.saveLimits(tx, 'default', null, { cooldownMinutes: 1, gpusPerAction: 64, gpusPerHour: 512 });
      const document = {
        name: 'chat',
        policy: 'spot-serving',
        teams: ['research'],
        mode: 'enforce',
        params: { service: 'chat', replicas: 2, historyDays: 2 },
      };
      await applied(stores, tx, POLICIES, document, START);
    });
    await pass(8);
  });

  it('moves to spot without a moment of fewer ready than are promised', () => {
    const [a = 0, b = 0, onDemand] = sizes();
    expect(a + b).toBeGreaterThanOrEqual(2);
    expect(onDemand).toBe(0);
    expect(fewest).toBeGreaterThanOrEqual(2);
    const steps = cloud.done.map(({ effect }) => effect.target);
    expect(steps.at(-1)).toBe('asg/od');
  });

  it('fills in on demand where all spot is gone, and stops asking for it', async () => {
    for (const zone of ZONES) cloud.gone.add(zone);
    await pass(10);
    expect(sizes()).toEqual([0, 0, 2]);
    expect(cloud.ready()).toBe(2);
  });

  it('goes back to spot when it returns, and says why it rests then', async () => {
    for (const zone of ZONES) cloud.gone.delete(zone);
    fewest = Infinity;
    await pass(14);
    const [a = 0, b = 0, onDemand] = sizes();
    expect([a + b >= 2, onDemand]).toEqual([true, 0]);
    expect(fewest).toBeGreaterThanOrEqual(2);
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
