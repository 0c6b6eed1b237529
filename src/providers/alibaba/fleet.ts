/**
 * The fleet: GPU instances and scaling groups of every region, read side by side; and one target read alone.
 *
 * The invariant: an unreadable part is reported. A reading is complete only if every region returned its instances and
 * its groups.
 */
import type { FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import { idOf, Members, parseTarget, readParts } from '../rpc.js';
import { withUnwell } from '../unwell.js';
import type { AlibabaClient } from './client.js';
import {
  CONFIGURATIONS_PERMISSION,
  gpuGroups,
  GROUPS_PERMISSION,
  MEMBERS_PERMISSION,
  membersOf,
  readGroup,
  SETTINGS_PERMISSIONS,
} from './groups.js';
import { HEALTH_PERMISSIONS, unwellInstances } from './health.js';
import { gpuInstances, INSTANCES_PERMISSION, instancesAsTargets, readInstance } from './instances.js';
import { TYPES_PERMISSION, type InstanceTypes } from './types.js';

/** The permissions for reading the types in use. */
export const IN_USE_PERMISSIONS: readonly string[] = [
  INSTANCES_PERMISSION,
  TYPES_PERMISSION,
  GROUPS_PERMISSION,
  CONFIGURATIONS_PERMISSION,
];
export const FLEET_PERMISSIONS: readonly string[] = [
  ...IN_USE_PERMISSIONS,
  MEMBERS_PERMISSION,
  ...HEALTH_PERMISSIONS,
  ...SETTINGS_PERMISSIONS,
];

export const membersIn = (client: AlibabaClient): Members =>
  new Members((region, ids) => membersOf(client, region, ids));

/** @throws Failure if nothing at all could be read */
export function readFleet(
  client: AlibabaClient,
  types: InstanceTypes,
  members: Members,
  now: number,
): Promise<FleetReading> {
  return readParts(
    client.settings.regions.flatMap((region) => [
      {
        name: `${region}: instances`,
        read: async (lacks, notRead) => {
          const found = await members.all(await gpuInstances(client, types, region), region, lacks);
          const tell = (why: string): void => notRead(`health and system events were not read: ${why}`);
          return withUnwell(found, idOf, () => unwellInstances(client, region, now), tell);
        },
      },
      { name: `${region}: scaling groups`, read: () => gpuGroups(client, types, region) },
    ]),
    now,
  );
}

/** Null: the cloud says that it is not there, or no target of this cloud is named so. @throws Failure */
export async function readTarget(
  client: AlibabaClient,
  types: InstanceTypes,
  members: Members,
  target: string,
): Promise<FleetTarget | null> {
  const named = parseTarget(target);
  if (named === null) return null;
  if (named.kind === 'asg') return readGroup(client, types, named.region, named.id);
  const one = await readInstance(client, named.region, named.id);
  const found = one === null ? [] : await instancesAsTargets(client, types, named.region, [one]);
  return members.named(found[0] ?? null, named.region);
}
