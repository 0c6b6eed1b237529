/** How often the tick hands a partition out that is due without pause, by a clock that the test turns. */
import { SchedulerRegistry } from '@nestjs/schedule';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LineQueue } from '../../src/pipeline/queue.js';
import { Tick } from '../../src/pipeline/tick.js';
import type { Stores } from '../../src/store/stores.js';
import type { DuePartition } from '../../src/store/work.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface World {
  readonly tick: Tick;
  /** How often a partition of the stage was handed out. */
  readonly handed: Record<string, number>;
  /** The job of a partition is done, in this process. */
  readonly ended: (partition: DuePartition) => void;
}

function worldOf(due: readonly DuePartition[]): World {
  const handed: Record<string, number> = {};
  let ended: (partition: DuePartition) => void = () => undefined;
  const stores = {
    db: { listen: async () => async () => undefined },
    organisations: { ids: async () => [] },
    work: { duePartitions: async () => due },
  } as unknown as Stores;
  const queue = {
    whenDone: (done: (partition: DuePartition) => void) => void (ended = done),
    handOut: async (partitions: readonly DuePartition[]) => {
      for (const { stage } of partitions) handed[stage] = (handed[stage] ?? 0) + 1;
    },
  } as unknown as LineQueue;
  const failed = (error: Error): never => {
    throw error;
  };
  const tick = new Tick(stores, queue, { now: () => Date.now() }, 60, new SchedulerRegistry(), failed);
  return { tick, handed, ended: (partition) => ended(partition) };
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

it('hands partitions out again more rarely the more of them there are, but those whose job is done', async () => {
  const due = Array.from(
    { length: 1000 },
    (_, n): DuePartition => ({
      organisation: 'o',
      stage: n === 0 ? 'cost.rollup' : 'cost.price',
      partition: `${n}`,
      due: 1,
    }),
  );
  const { tick, handed, ended } = worldOf(due);
  await tick.onApplicationBootstrap();
  const notices = setInterval(() => {
    for (const one of due.slice(0, 1)) ended(one);
  }, 25);
  await vi.advanceTimersByTimeAsync(4900);
  expect(handed['cost.rollup']).toBeGreaterThanOrEqual(4);
  expect(handed['cost.price']).toBe(999);
  await vi.advanceTimersByTimeAsync(5000);
  expect(handed['cost.price']).toBe(2 * 999);
  clearInterval(notices);
  await Promise.all([tick.onApplicationShutdown(), vi.advanceTimersByTimeAsync(100)]);
});

it.each(['before', 'while', 'after'])(
  'times and asks nothing once it is over: a job that ends %s that',
  async (when) => {
    const one: DuePartition = { organisation: 'o', stage: 'recommendation.make', partition: 'a', due: 1 };
    const { tick, handed, ended } = worldOf([one]);
    await tick.onApplicationBootstrap();
    await vi.advanceTimersByTimeAsync(50);
    if (when === 'before') {
      ended(one);
      await vi.advanceTimersByTimeAsync(50);
    } else if (when === 'while') ended(one);
    await Promise.all([tick.onApplicationShutdown(), vi.advanceTimersByTimeAsync(100)]);
    if (when === 'after') ended(one);
    await vi.advanceTimersByTimeAsync(100);
    // A timer is what keeps a process that was told to end.
    expect(vi.getTimerCount()).toBe(0);
    expect(handed).toEqual({ 'recommendation.make': 1 });
  },
);
