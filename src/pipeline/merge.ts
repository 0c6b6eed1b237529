/**
 * usage.merge (source): once a day of a source has settled, merges its small deliveries into one. This changes no
 * totals, so it enqueues nothing except its own next run.
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
