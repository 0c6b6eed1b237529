/**
 * usage.merge (source): once a day of a source has settled, keeps its small deliveries as one. Nothing that counts
 * changes by it, so nothing follows from it but its own next turn.
 */
import { mergeItem, type MergeStore } from '../store/usage/merging.js';
import type { Stage } from './stage.js';

export function mergeStage(merging: MergeStore): Stage {
  return {
    name: 'usage.merge',
    most: 1,
    async run({ organisation, partition: source, now, tx }) {
      const next = await merging.merge(tx, organisation, source, now);
      return next === null ? [] : [mergeItem(source, next)];
    },
  };
}
