/**
 * ECS' own report on running instances: their health, and the system events in progress.
 *
 * A witness that does not depend on the exporters of a machine. The invariant: a sign that a reboot also shows proves
 * nothing: crashes of the operating system and planned reboots are not queried; an announced event counts once its time
 * has come. Sources: ECS API Reference (2014-05-26), "DescribeInstancesFullStatus" and "DescribeInstanceHistoryEvents";
 * ECS User Guide, "System events". Fields and words are compared with the models of the official SDK
 * (tests/contract/rpc-models.test.ts).
 */
import { z } from 'zod';
import { reading } from '../rpc.js';
import type { Unwell } from '../unwell.js';
import { permissionOf, type AlibabaClient, type Params } from './client.js';
import { CLOUD } from './types.js';

const STATUS_PERMISSION = permissionOf('ecs', 'DescribeInstancesFullStatus');
const EVENTS_PERMISSION = permissionOf('ecs', 'DescribeInstanceHistoryEvents');
export const HEALTH_PERMISSIONS: readonly string[] = [STATUS_PERMISSION, EVENTS_PERMISSION];

/** The host failed and the instance is started elsewhere; or it is moved, which loses its local disks. */
export const LOSSES: readonly string[] = [
  'SystemFailure.Reboot',
  'SystemFailure.Redeploy',
  'SystemMaintenance.Redeploy',
];
export const AT_WORK: readonly string[] = ['Scheduled', 'Executing'];
const PAGE = 100;
const MOST_PAGES = 50;

const named = z.object({ Name: z.string().optional() }).optional();
export const STATUS_REPLY = z.object({
  TotalCount: z.number(),
  InstanceFullStatusSet: z.object({
    InstanceFullStatusType: z.array(z.object({ InstanceId: z.string(), HealthStatus: named })),
  }),
});
export const EVENTS_REPLY = z.object({
  NextToken: z.string().optional(),
  InstanceSystemEventSet: z.object({
    InstanceSystemEventType: z.array(
      z.object({
        InstanceId: z.string().optional(),
        EventType: named,
        EventCycleStatus: named,
        NotBefore: z.string().optional(),
      }),
    ),
  }),
});

/** The unhealthy running instances of a region, by id, each with the reason. @throws Failure */
export async function unwellInstances(client: AlibabaClient, region: string, now: number): Promise<Unwell> {
  return new Map([...(await impaired(client, region)), ...(await atWork(client, region, now))]);
}

async function impaired(client: AlibabaClient, region: string): Promise<Unwell> {
  const found = new Map<string, string>();
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const params: Params = {
      RegionId: region,
      Status: 'Running',
      HealthStatus: 'Impaired',
      PageSize: PAGE,
      PageNumber: page,
    };
    const reply = await reading(CLOUD, STATUS_PERMISSION, STATUS_REPLY, () =>
      client.call('ecs', 'DescribeInstancesFullStatus', region, params),
    );
    const all = reply.InstanceFullStatusSet.InstanceFullStatusType;
    for (const { InstanceId, HealthStatus } of all)
      if (HealthStatus?.Name === 'Impaired') found.set(InstanceId, 'HealthStatus Impaired');
    if (all.length === 0 || page * PAGE >= reply.TotalCount) break;
  }
  return found;
}

async function atWork(client: AlibabaClient, region: string, now: number): Promise<Unwell> {
  const found = new Map<string, string>();
  let token = '';
  for (let page = 1; page <= MOST_PAGES; page += 1) {
    const params: Params = {
      RegionId: region,
      InstanceEventType: LOSSES,
      InstanceEventCycleStatus: AT_WORK,
      MaxResults: PAGE,
      ...(token === '' ? {} : { NextToken: token }),
    };
    const reply = await reading(CLOUD, EVENTS_PERMISSION, EVENTS_REPLY, () =>
      client.call('ecs', 'DescribeInstanceHistoryEvents', region, params),
    );
    for (const { InstanceId, EventType, EventCycleStatus, NotBefore } of reply.InstanceSystemEventSet
      .InstanceSystemEventType) {
      const isNow = EventCycleStatus?.Name === 'Executing' || Date.parse(NotBefore ?? '') <= now;
      if (InstanceId !== undefined && isNow && LOSSES.includes(EventType?.Name ?? ''))
        found.set(InstanceId, `system event ${EventType?.Name}`);
    }
    token = reply.NextToken ?? '';
    if (token === '') break;
  }
  return found;
}
