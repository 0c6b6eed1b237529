/** How often the tick hands a partition out that is due without pause, by a clock that the test turns. */
import { SchedulerRegistry } from '@nestjs/schedule';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LineQueue } from '../../src/pipeline/queue.js';
import { Tick } from '../../src/pipeline/tick.js';
import type { Stores } from '../../src/store/stores.js';
import type { DuePartition } from '../../src/store/work.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('hands out at once what rests, then usage every second, what is told every tenth of one', async () => {
  const due = ['cost.price', 'alert.send', 'recommendation.make'].map(
    (stage): DuePartition => ({ organisation: 'o', stage, partition: 'a', due: 1 }),
  );
  const handed: Record<string, number> = {};
  const stores = {
    db: { listen: async () => async () => undefined },
    organisations: { ids: async () => [] },
    work: { duePartitions: async () => due },
  } as unknown as Stores;
  const queue = {
    whenDone: () => undefined,
    handOut: async (partitions: readonly DuePartition[]) => {
      for (const { stage } of partitions) handed[stage] = (handed[stage] ?? 0) + 1;
    },
  } as unknown as LineQueue;
  const failed = (error: Error): never => {
    throw error;
  };
  const tick = new Tick(stores, queue, { now: () => Date.now() }, 60, new SchedulerRegistry(), failed);
  await tick.onApplicationBootstrap();
  const notices = setInterval(() => tick.poll(), 25);
  await vi.advanceTimersByTimeAsync(50);
  expect(handed).toEqual({ 'cost.price': 1, 'alert.send': 1, 'recommendation.make': 1 });
  await vi.advanceTimersByTimeAsync(900);
  expect(handed['cost.price']).toBe(1);
  expect(handed['alert.send']).toBeGreaterThanOrEqual(5);
  await vi.advanceTimersByTimeAsync(2000);
  expect(handed['cost.price']).toBe(3);
  expect(handed['recommendation.make']).toBe(1);
  clearInterval(notices);
  await Promise.all([tick.onApplicationShutdown(), vi.advanceTimersByTimeAsync(100)]);
});
