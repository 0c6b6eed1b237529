/**
 * The fleet: GPU instances, managed instance groups and commitments of every project, read side by side; and one target
 * read alone.
 *
 * The invariant: an unreadable part is reported. A reading is complete only if every zone of the configured regions
 * returned everything.
 */
import type { FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import { readParts } from '../rpc.js';
import type { GoogleClient } from './client.js';
import { COMMITMENT_PERMISSIONS, gpuCommitments } from './commitments.js';
import type { Events } from './events.js';
import { GROUP_PERMISSIONS, gpuGroups, readGroup, type GroupReader } from './groups.js';
import { gpuInstances, INSTANCE_PERMISSIONS, readInstance } from './instances.js';
import { isZone, parseTarget } from './targets.js';

export const FLEET_PERMISSIONS: readonly string[] = [
  ...INSTANCE_PERMISSIONS,
  ...GROUP_PERMISSIONS,
  ...COMMITMENT_PERMISSIONS,
];

/** @throws Failure if nothing at all could be read */
export function readFleet(reader: GroupReader, events: Events, now: number): Promise<FleetReading> {
  const { client, types } = reader;
  return readParts(
    client.settings.projects.flatMap((project) => [
      {
        name: `${project}: instances`,
        read: async (lacks, notRead) => {
          let whole = true;
          const listed = await gpuInstances(client, types, project, (what) => {
            whole = false;
            lacks(what);
          });
          return events.withEvents(project, listed, whole, now, notRead);
        },
      },
      { name: `${project}: managed instance groups`, read: (lacks) => gpuGroups(reader, project, lacks) },
      { name: `${project}: commitments`, read: (lacks) => gpuCommitments(client, project, lacks) },
    ]),
    now,
  );
}

/** Null: Google says that it is not there, or no target of this connection is named so. @throws Failure */
export async function readTarget(reader: GroupReader, target: string): Promise<FleetTarget | null> {
  const { client, types } = reader;
  const named = parseTarget(target);
  if (named === null || !client.settings.projects.includes(named.project)) return commitmentNamed(client, target);
  const { kind, project, place, id } = named;
  if (kind === 'mig') return readGroup(reader, project, place, id);
  return isZone(place) ? readInstance(client, types, project, place, id) : null;
}

/** A commitment is read with its project's others: nothing is done to it. @throws Failure */
async function commitmentNamed(client: GoogleClient, target: string): Promise<FleetTarget | null> {
  const [kind, project = ''] = target.split('/');
  if (kind !== 'commitment' || !client.settings.projects.includes(project)) return null;
  const all = await gpuCommitments(client, project, () => undefined);
  return all.find((one) => one.target === target) ?? null;
}
