/**
 * spend.sum (all/day): sums a day's costs of all teams for questions about all of them. The days that have changed are
 * enqueued every few minutes: until then, and whenever this is behind, they are read one by one.
 */
import { MINUTE_MS } from '../core/time.js';
import type { Stores } from '../store/stores.js';
import { enqueue } from '../store/work.js';
import { lastPart } from './keys.js';
import type { Stage } from './stage.js';

const STAGE = 'spend.sum';
const PARTITION = 'all';

/** A day that is written to all the time costs a thousand teams' hours each time. */
const PAUSE_MS = 5 * MINUTE_MS;

export const sumStage = ({ spendSums }: Pick<Stores, 'spendSums'>): Stage => ({
  name: STAGE,
  most: 3,
  async run({ organisation, keys, tx }) {
    await spendSums.replace(tx, organisation, keys.map(lastPart));
    return [];
  },
});

export class SumSchedule {
  readonly name = 'spend sums';
  readonly everyMs = PAUSE_MS;

  constructor(private readonly stores: Pick<Stores, 'db' | 'spendSums'>) {}

  async enqueueDue(): Promise<void> {
    const { db, spendSums } = this.stores;
    for (const { organisation, days } of await spendSums.stale(db))
      await enqueue(
        db,
        organisation,
        days.map((day) => ({ stage: STAGE, partition: PARTITION, key: `${PARTITION}/${day}` })),
      );
  }
}
