/** How often the tick hands a partition out that is due without pause, by a clock that the test turns. */
import { SchedulerRegistry } from '@nestjs/schedule';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LineQueue } from '../../src/pipeline/queue.js';
import { Tick } from '../../src/pipeline/tick.js';
import type { Stores } from '../../src/store/stores.js';
import type { DuePartition } from '../../src/store/work.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function worldOf(due: readonly DuePartition[]): { tick: Tick; handed: Record<string, number>; ended: () => void } {
  const handed: Record<string, number> = {};
  let ended = (): void => undefined;
  const stores = {
    db: { listen: async () => async () => undefined },
    organisations: { ids: async () => [] },
    work: { duePartitions: async () => due },
  } as unknown as Stores;
  const queue = {
    whenDone: (done: () => void) => void (ended = done),
    handOut: async (partitions: readonly DuePartition[]) => {
      for (const { stage } of partitions) handed[stage] = (handed[stage] ?? 0) + 1;
    },
  } as unknown as LineQueue;
  const failed = (error: Error): never => {
    throw error;
  };
  const tick = new Tick(stores, queue, { now: () => Date.now() }, 60, new SchedulerRegistry(), failed);
  return { tick, handed, ended: () => ended() };
}

it('hands out at once what rests, then usage every second, what is told every tenth of one', async () => {
  const due = ['cost.price', 'alert.send', 'recommendation.make'].map(
    (stage): DuePartition => ({ organisation: 'o', stage, partition: 'a', due: 1 }),
  );
  const { tick, handed } = worldOf(due);
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

it.each(['before', 'while', 'after'])(
  'times and asks nothing once it is over: a job that ends %s that',
  async (when) => {
    const { tick, handed, ended } = worldOf([
      { organisation: 'o', stage: 'recommendation.make', partition: 'a', due: 1 },
    ]);
    await tick.onApplicationBootstrap();
    await vi.advanceTimersByTimeAsync(50);
    if (when === 'before') {
      ended();
      await vi.advanceTimersByTimeAsync(50);
    } else if (when === 'while') ended();
    await Promise.all([tick.onApplicationShutdown(), vi.advanceTimersByTimeAsync(100)]);
    if (when === 'after') ended();
    await vi.advanceTimersByTimeAsync(100);
    // A timer is what keeps a process that was told to end.
    expect(vi.getTimerCount()).toBe(0);
    expect(handed).toEqual({ 'recommendation.make': 1 });
  },
);
