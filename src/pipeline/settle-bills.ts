/**
 * bill.settle (one key): makes bills final whose settling time is over, and waits for the next. From then on the bill
 * replaces the metered usage that it reaches in `actual`, and the days are summed again. Never changes the content of a
 * bill. It also places the claims of meters again, because usage that a process of an older version imported in
 * parallel has no claim yet.
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
