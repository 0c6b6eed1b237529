/**
 * bill.settle (one key): makes bills final whose settling time is over, and waits for the next. Metered usage that they
 * reach is in `actual` by the bill from then on: its days are summed anew.
 *
 * Never changes what a bill says. The claims of meters are placed anew too: what a process of an older version has
 * taken in beside this one is in none yet.
 */
import type { CountingStore } from '../store/bill/counting.js';
import { SETTLE } from '../store/bill/counting.js';
import type { Stage } from './stage.js';

export function settleBillsStage(counting: CountingStore): Stage {
  return {
    name: SETTLE.stage,
    most: 1,
    async run({ organisation, now, tx }) {
      await counting.lock(tx, organisation);
      const { workItems, next } = await counting.settle(tx, organisation, now);
      const placed = await counting.place(tx, organisation, await counting.billedProviders(tx, organisation));
      return [...workItems, ...placed, ...(next === null ? [] : [{ ...SETTLE, notBefore: next }])];
    },
  };
}
