/**
 * A service of two promised replicas on a cloud in memory: on spot of two zones and on demand, held by a document of
 * `spot-serving`, through the real stages on real PostgreSQL. Spot comes two minutes after it was asked for, and goes
 * when a test says so.
 */
import type { LimitsDocument } from '../../src/core/action/limits.js';
import type { FleetTarget } from '../../src/core/fleet/fleet.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { PolicyMode } from '../../src/core/policy/recommendation.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from '../../src/pipeline/collecting.js';
import { rate } from '../../src/policies/estimating/examples.js';
import { policy as serving } from '../../src/policies/spot-serving.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { applied } from './acting.js';
import { testBursar } from './bursar.js';
import { gpuPrice } from './makers.js';
import { group, MemoryCloud } from './memory-cloud.js';

export const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A window of two days begins. */
export const START = Date.UTC(2026, 9, 6);
export const POLICIES = [serving] as unknown as readonly Policy[];
export const ZONES = ['us-east-1a', 'us-east-1b'];
const SKU = 'p4d.24xlarge';

/**
 * Groups of a cloud: on spot, replicas are ready two minutes after they were asked for, and only while spot is there.
 */
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

interface World {
  readonly limits?: LimitsDocument;
  readonly policies?: readonly Policy[];
  /** Replicas that the service begins with, all on demand. */
  readonly begins?: number;
  /** Applies the service's document at once. */
  readonly isPromised?: boolean;
}

export async function spotService(
  mode: PolicyMode,
  { limits = {}, policies = POLICIES, begins = 2, isPromised = true }: World = {},
) {
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: START, connections, targets: new FleetStore(), policies });
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
    group('od', begins, over(ZONES[0]!, 'on-demand')),
  );
  connections.set('cloud', cloud);
  const schedule = new CollectingSchedule(stores, 'default', connections, COLLECTING_INTERVALS);
  /** The fewest ready replicas since it was last asked for. */
  const fewest = { ready: Infinity };

  async function pass(minutes: number, everyMinute: () => void = () => undefined): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      clock.at += MINUTE;
      everyMinute();
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
      fewest.ready = Math.min(fewest.ready, cloud.ready());
    }
  }
  const sizes = (): number[] =>
    ['spot-a', 'spot-b', 'od'].map((name) => cloud.targets.get(`asg/${name}`)!.replicas!.desired);

  async function begin(): Promise<void> {
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
      await stores.safety.saveLimits(tx, 'default', null, {
        cooldownMinutes: 1,
        gpusPerAction: 64,
        gpusPerHour: 512,
        ...limits,
      });
    });
    if (isPromised) await promise();
  }
  /** Applies a document of the service. */
  const promise = (params: Readonly<Record<string, unknown>> = {}, name = 'chat'): Promise<void> =>
    apply({ name, policy: 'spot-serving', mode, params: { service: 'chat', replicas: 2, historyDays: 2, ...params } });
  const apply = (document: Readonly<Record<string, unknown>>): Promise<void> =>
    db.transaction((tx) => applied(stores, tx, policies, { teams: ['research'], ...document }, clock.at));
  await begin();
  return { ...bursar, policies, connections, cloud, pass, sizes, fewest, promise, apply };
}
