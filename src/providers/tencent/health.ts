/**
 * What CVM itself says of instances that it calls running: its repair tasks.
 *
 * A witness that knows nothing of what is scraped on a machine. The invariant: only what is broken now counts: a task
 * for an instance that runs abnormally or whose network is down, and that is neither over, called off nor put off to a
 * time to come; warnings and maintenance that is announced do not. Sources: CVM API Reference (2017-03-12),
 * "DescribeTaskInfo" and data type RepairTaskInfo; CVM, "Repair tasks". Fields and numbers are compared with the types
 * of the official SDK (tests/contract/rpc-models.test.ts).
 */
import { z } from 'zod';
import { DAY_MS } from '../../core/time.js';
import { beijingDate } from '../beijing.js';
import { orNull, reading } from '../rpc.js';
import type { Unwell } from '../unwell.js';
import { CLOUD, permissionOf, type Params, type TencentClient } from './client.js';

export const HEALTH_PERMISSION = permissionOf('cvm', 'DescribeTaskInfo');

/** TaskTypeId: the instance runs abnormally; its network connection is abnormal. */
export const BROKEN: Readonly<Record<number, string>> = { 102: 'instance runs abnormally', 104: 'network is abnormal' };
/** TaskStatus: it waits for a person's leave; it is under way. */
export const OPEN: readonly number[] = [1, 2];
/** A task that waits for leave stays open for so long at most; without a start only today's are listed. */
const BACK_MS = 7 * DAY_MS;
const LIMIT = 100;
const MOST_PAGES = 20;

export const TASKS_REPLY = z.object({
  TotalCount: z.number(),
  RepairTaskInfoSet: z.array(
    z.object({ InstanceId: z.string(), TaskTypeId: z.number().nullish(), TaskStatus: z.number().nullish() }),
  ),
});

export const tasksParams = (offset: number, now: number): Params => ({
  Limit: LIMIT,
  Offset: offset,
  Product: 'CVM',
  TaskTypeIds: Object.keys(BROKEN).map(Number),
  TaskStatus: OPEN,
  StartDate: `${beijingDate(now - BACK_MS)} 00:00:00`,
});

/** The unhealthy instances of a region, by id, each with the reason. @throws Failure */
export async function unwellInstances(client: TencentClient, region: string, now: number): Promise<Unwell> {
  const found = new Map<string, string>();
  let offset = 0;
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const reply = await reading(CLOUD, HEALTH_PERMISSION, TASKS_REPLY, async () =>
      client.call('cvm', 'DescribeTaskInfo', region, tasksParams(offset, now)),
    );
    for (const { InstanceId, TaskTypeId, TaskStatus } of reply.RepairTaskInfoSet) {
      const what = orNull(BROKEN[TaskTypeId ?? 0]);
      if (what !== null && OPEN.includes(TaskStatus ?? 0)) found.set(InstanceId, `repair task ${TaskTypeId}: ${what}`);
    }
    offset += reply.RepairTaskInfoSet.length;
    if (reply.RepairTaskInfoSet.length === 0 || offset >= reply.TotalCount) break;
  }
  return found;
}
