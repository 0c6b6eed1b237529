/**
 * usage.allocate (source/delivery): assigns earlier deliveries to teams again after the rules or the tracked tags have
 * changed. Raw records stay unchanged; only their hour sums are rewritten.
 */
import type { OrganisationStore } from '../store/access/organisation.js';
import type { CountingStore } from '../store/bill/counting.js';
import type { RawStore } from '../store/usage/raw.js';
import type { WorkItem } from '../store/work.js';
import { lastPart, teamDayItems } from './keys.js';
import type { Stage } from './stage.js';

export function allocateStage(organisations: OrganisationStore, raw: RawStore, counting: CountingStore): Stage {
  return {
    name: 'usage.allocate',
    most: 20,
    async run({ organisation, partition, keys, tx }) {
      const rules = await organisations.rules(tx, organisation);
      const tags = await organisations.trackedTags(tx, organisation);
      const workItems: WorkItem[] = [];
      const providers: string[] = [];
      for (const key of keys) {
        const result = await raw.reallocate(tx, organisation, partition, lastPart(key), rules, tags);
        if (result === null) continue;
        workItems.push(...teamDayItems(result.metered ? 'cost.price' : 'cost.rollup', result.days));
        if (result.provider !== null) providers.push(result.provider);
      }
      if (providers.length > 0) {
        await counting.lock(tx, organisation);
        workItems.push(...(await counting.place(tx, organisation, providers)));
      }
      return workItems;
    },
  };
}
