/**
 * The fleet: GPU machines and scale sets of every subscription, read side by side; and one target read alone.
 *
 * The invariant: an unreadable part is reported. A reading is complete only if every subscription returned its
 * machines, their states and addresses, its scale sets and their instances.
 */
import type { FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import { readParts } from '../rpc.js';
import type { AzureClient } from './client.js';
import { HEALTH_PERMISSIONS, withHealth } from './health.js';
import { gpuMachines, MACHINE_PERMISSIONS, readMachine } from './machines.js';
import type { ScaleSet } from './operations.js';
import { gpuScaleSets, readMember, readScaleSet, readScaleSets, SET_PERMISSIONS } from './scale-sets.js';
import { SIZES_PERMISSION, type Sizes } from './sizes.js';
import { parseTarget } from './targets.js';

export const FLEET_PERMISSIONS: readonly string[] = [
  ...MACHINE_PERMISSIONS,
  ...SET_PERMISSIONS,
  SIZES_PERMISSION,
  ...HEALTH_PERMISSIONS,
];

/** @throws Failure if nothing at all could be read */
export function readFleet(client: AzureClient, sizes: Sizes, now: number): Promise<FleetReading> {
  return readParts(
    client.settings.subscriptions.flatMap((subscription) => {
      let asked: Promise<ScaleSet[]> | null = null;
      const sets = (): Promise<ScaleSet[]> => (asked ??= readScaleSets(client, subscription));
      return [
        {
          name: `${subscription}: virtual machines`,
          read: async (lacks, notRead) => {
            const setsOrNone = sets().catch(() => null);
            const machines = await gpuMachines(client, sizes, setsOrNone, subscription, lacks);
            return withHealth(client, subscription, machines, now, notRead);
          },
        },
        {
          name: `${subscription}: scale sets`,
          read: async (lacks, notRead) => {
            const targets = await gpuScaleSets(client, sizes, sets(), subscription, lacks);
            return withHealth(client, subscription, targets, now, notRead);
          },
        },
      ];
    }),
    now,
  );
}

/** Null: Azure says that it is not there, or no target of Azure is named so. @throws Failure */
export async function readTarget(client: AzureClient, sizes: Sizes, target: string): Promise<FleetTarget | null> {
  const named = parseTarget(target);
  if (named === null) return null;
  if (named.kind === 'machine') return readMachine(client, sizes, named);
  return named.kind === 'member' ? readMember(client, sizes, named) : readScaleSet(client, sizes, named);
}
