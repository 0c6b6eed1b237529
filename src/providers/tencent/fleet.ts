/**
 * The fleet: GPU instances and auto scaling groups of every region, read side by side; and one target read alone.
 *
 * The invariant: the reading names what could not be read. A reading is complete only if every region gave its
 * instances and its groups.
 */
import type { FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import { idOf, Members, parseTarget, readParts } from '../rpc.js';
import { withUnwell } from '../unwell.js';
import type { TencentClient } from './client.js';
import {
  CONFIGURATIONS_PERMISSION,
  gpuGroups,
  GROUPS_PERMISSION,
  MEMBERS_PERMISSION,
  membersOf,
  readGroupTarget,
  SETTINGS_PERMISSIONS,
} from './groups.js';
import { HEALTH_PERMISSION, unwellInstances } from './health.js';
import { gpuInstances, INSTANCES_PERMISSION, readInstance } from './instances.js';
import { TYPES_PERMISSION, type InstanceTypes } from './types.js';

export const FLEET_PERMISSIONS: readonly string[] = [
  INSTANCES_PERMISSION,
  GROUPS_PERMISSION,
  CONFIGURATIONS_PERMISSION,
  MEMBERS_PERMISSION,
  TYPES_PERMISSION,
  HEALTH_PERMISSION,
  ...SETTINGS_PERMISSIONS,
];

export const membersIn = (client: TencentClient): Members =>
  new Members((region, ids) => membersOf(client, region, ids));

/** @throws Failure if nothing at all could be read */
export function readFleet(
  client: TencentClient,
  types: InstanceTypes,
  members: Members,
  now: number,
): Promise<FleetReading> {
  return readParts(
    client.settings.regions.flatMap((region) => [
      {
        name: `${region}: instances`,
        read: async (lacks, notRead) => {
          const found = await members.all(await gpuInstances(client, region), region, lacks);
          const tell = (why: string): void => notRead(`repair tasks were not read: ${why}`);
          return withUnwell(found, idOf, () => unwellInstances(client, region, now), tell);
        },
      },
      { name: `${region}: auto scaling groups`, read: () => gpuGroups(client, types, region, now) },
    ]),
    now,
  );
}

/** Null: the cloud says that it is not there, or no target of this cloud is named so. @throws Failure */
export async function readTarget(
  client: TencentClient,
  types: InstanceTypes,
  members: Members,
  target: string,
  now: number,
): Promise<FleetTarget | null> {
  const named = parseTarget(target);
  if (named === null) return null;
  if (named.kind === 'instance') return members.named(await readInstance(client, named.region, named.id), named.region);
  return readGroupTarget(client, types, named.region, named.id, now);
}
