/**
 * fleet.collect (connection): asks a provider what runs there, gives each target its team, and keeps it. If the
 * provider has no meter of machines, two readings make one (core/fleet/meter.ts). Machines of a cluster whose pods are
 * metered are left to that meter.
 *
 * If a provider does not answer, the fleet keeps its last known state. Samples of resources that were unknown when they
 * were measured are matched with the current fleet. The recommendations of changed teams are made again.
 *
 * fleet.allocate (connection): assigns the last known targets to teams again after the rules have changed. Asks no
 * provider.
 */
import type { Allocatable } from '../core/cost/allocation.js';
import { UNALLOCATED } from '../core/cost/allocation.js';
import { isStoppedByCloud, isTakenByCloud, type FleetTarget } from '../core/fleet/fleet.js';
import { meterFleet } from '../core/fleet/meter.js';
import { namespaceOf, readyReplicas, unreadableLabels } from '../core/policy/fleet-workload.js';
import { READY_REPLICAS } from '../core/policy/policy.js';
import type { ProviderConnection } from '../core/ports.js';
import { isShared, type RuleSet } from '../store/access/organisation.js';
import { rejoin } from '../application/fleet/take-samples.js';
import type { Stores } from '../store/stores.js';
import type { WorkItem } from '../store/work.js';
import { takeRecords } from './collect-usage.js';
import { opened } from './collecting.js';
import { reachingStage, type Stage } from './stage.js';

type Placing = Pick<Stores, 'organisations' | 'fleet' | 'samples' | 'measured' | 'workloads'>;
type Needed = Placing & Pick<Stores, 'collections' | 'intake'>;

/** Tags by which a machine says that it is a node of a Kubernetes cluster. */
const NODE_TAG = /^(?:kubernetes\.io\/cluster\/|(?:aws:)?eks:cluster-name$|karpenter\.sh\/|k8s\.io\/)/;

export function collectFleetStage(stores: Needed, connections: ReadonlyMap<string, ProviderConnection>): Stage {
  const { organisations, fleet, collections, workloads } = stores;
  const podsAreMetered = [...connections.keys()].some((name) => /^kubernetes(?::|$)/.test(name));
  return reachingStage('fleet.collect', async ({ organisation, partition, now }) => {
    const connection = opened(connections, partition);
    if (connection.fleet === undefined) return async () => [];
    const reading = await connection.fleet();
    const effects = connection.canAct ? ((await connection.effects?.()) ?? null) : [];
    return async (tx) => {
      const before = await fleet.snapshot(tx, organisation, partition);
      const rules = await organisations.rules(tx, organisation);
      const said = { ...reading, problems: [...reading.problems, ...unreadableLabels(reading.targets)] };
      const changed = await fleet.save(tx, organisation, partition, said, teamBy(rules), effects);
      const ready = readyReplicas(reading).map((one) => ({ ...one, name: READY_REPLICAS, at: reading.at }));
      if (ready.length > 0) await workloads.saveMetrics(tx, organisation, ready);
      if (connection.usage === undefined || connection.usageOf === 'storage-and-traffic') {
        const own = (target: FleetTarget): boolean =>
          !podsAreMetered || !Object.keys(target.labels).some((key) => NODE_TAG.test(key));
        const records = meterFleet(before, { ...reading, targets: reading.targets.filter(own) });
        if (records.length > 0)
          await takeRecords(stores, tx, organisation, partition, 'readings', now, [{ records, rejects: [] }]);
      }
      await collections.saveCollected(tx, organisation, { connection: partition, what: 'fleet' }, reading.at, now);
      const isTaken = (target: FleetTarget): boolean => isTakenByCloud(target) || isStoppedByCloud(target);
      const lost = reading.targets.filter((one) => {
        const known = before.targets.get(one.target);
        return known !== undefined && isTaken(one) && !isTaken(known.seen);
      });
      const taken = recommendationItems(lost.map(teamBy(rules))).map((item): WorkItem => ({ ...item, urgent: true }));
      return [...taken, ...recommendationItems([...changed, ...(await rejoin(stores, tx, organisation, now))])];
    };
  });
}

export function allocateFleetStage(stores: Placing): Stage {
  const { organisations, fleet } = stores;
  return {
    name: 'fleet.allocate',
    most: 1,
    async run({ organisation, partition, now, tx }) {
      const changed = await fleet.reassign(
        tx,
        organisation,
        partition,
        teamBy(await organisations.rules(tx, organisation)),
      );
      return recommendationItems([...changed, ...(await rejoin(stores, tx, organisation, now))]);
    },
  };
}

const recommendationItems = (teams: readonly string[]): WorkItem[] =>
  [...new Set(teams)].map((team) => ({ stage: 'recommendation.make', partition: team, key: team }));

/** The team of a target. A target that several teams share belongs to no team, so nobody acts on it. */
export const teamBy =
  (rules: RuleSet) =>
  (target: FleetTarget): string => {
    const team = rules.teamOf(allocatable(target));
    return isShared(team) ? UNALLOCATED : team;
  };

/** A target as the rules see it: as its own usage would be seen. */
const allocatable = (target: FleetTarget): Allocatable => ({
  provider: target.provider,
  account: target.account,
  subAccount: null,
  resource: target.target.slice(target.target.indexOf('/') + 1),
  namespace: namespaceOf(target),
  service: null,
  sku: target.sku,
  tags: target.labels,
});
