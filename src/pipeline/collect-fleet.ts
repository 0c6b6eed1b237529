/**
 * fleet.collect (connection): asks a provider what runs there, gives each target its team, and keeps it.
 *
 * A provider that does not answer leaves the fleet as it was last seen. Teams of which something has changed have their recommendations made
 * anew.
 */
import type { Allocatable } from '../core/allocation.js';
import { UNALLOCATED } from '../core/allocation.js';
import type { FleetTarget } from '../core/fleet.js';
import { namespaceOf } from '../core/fleet-workload.js';
import type { ProviderConnection } from '../core/ports.js';
import { isShared } from '../store/organisation.js';
import type { Stores } from '../store/stores.js';
import type { Waking } from '../store/work.js';
import { opened } from './collecting.js';
import type { Stage } from './stage.js';

type Needed = Pick<Stores, 'organisations' | 'fleet' | 'collections'>;

export function collectFleetStage({ organisations, fleet, collections }: Needed, connections: ReadonlyMap<string, ProviderConnection>): Stage {
  return {
    name: 'fleet.collect', most: 1,
    async run({ organisation, lane, now, tx }): Promise<Waking[]> {
      const connection = opened(connections, lane);
      if (connection.fleet === undefined) return [];
      const reading = await connection.fleet();
      const rules = await organisations.rules(tx, organisation);
      const changed = await fleet.save(tx, organisation, lane, reading, (target) => {
        const team = rules.teamOf(allocatable(target));
        // What several teams share is nobody's to act on.
        return isShared(team) ? UNALLOCATED : team;
      });
      await collections.saveCollected(tx, organisation, { connection: lane, what: 'fleet' }, reading.at, now);
      return changed.map((team) => ({ stage: 'recommendation.make', lane: team, key: team }));
    },
  };
}

/** A target as the rules see it: as its own usage would be seen. */
const allocatable = (target: FleetTarget): Allocatable => ({
  provider: target.provider, account: target.account, subAccount: null, resource: target.target.slice(target.target.indexOf('/') + 1), namespace: namespaceOf(target), service: null,
  sku: target.sku, tags: target.labels,
});
