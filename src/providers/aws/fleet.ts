/**
 * The fleet: GPU instances and Auto Scaling groups of every region, read side by side; and one target read alone.
 *
 * The invariant: an unreadable part is reported. A reading is complete only if every region returned its instances and
 * its groups.
 */
import type { FleetReading, FleetTarget } from '../../core/fleet/fleet.js';
import { Failure } from '../../core/errors.js';
import type { Clock } from '../../core/time.js';
import type { Clients } from './clients.js';
import { COMMITMENT_PERMISSIONS, type Commitments } from './commitments.js';
import { PERMISSION as TYPE_PERMISSION, type InstanceTypes } from './gpus.js';
import { SETTINGS_PERMISSIONS, type ListedHooks } from './group-settings.js';
import { gpuGroups, GROUP_PERMISSION, readGroup, TEMPLATE_PERMISSION } from './groups.js';
import { gpuInstances, instanceAsTarget, PERMISSION as INSTANCE_PERMISSION, readInstances } from './instances.js';
import { SPOT_REQUEST_PERMISSION, withSpotRequests } from './spot-requests.js';
import { STATUS_PERMISSION } from './status.js';
import { parseTarget } from './targets.js';

export const FLEET_PERMISSIONS: readonly string[] = [
  INSTANCE_PERMISSION,
  STATUS_PERMISSION,
  SPOT_REQUEST_PERMISSION,
  GROUP_PERMISSION,
  TYPE_PERMISSION,
  TEMPLATE_PERMISSION,
  ...SETTINGS_PERMISSIONS,
  ...COMMITMENT_PERMISSIONS,
];

/** Data that is not queried at every reading. */
export interface KeptBetweenReadings {
  readonly commitments: Commitments;
  readonly hooks: ListedHooks;
}

/** @throws Failure if nothing at all could be read: that of the first region */
export async function readFleet(
  clients: Clients,
  types: InstanceTypes,
  { commitments, hooks }: KeptBetweenReadings,
  clock: Clock,
): Promise<FleetReading> {
  const at = clock.now();
  const outOfService = new Map<string, string>();
  const parts = await Promise.all(
    clients.settings.regions.flatMap((region) => [
      readPart(`${region}: instances`, (lacks) => gpuInstances(clients, types, region, at, lacks)),
      readPart(`${region}: Auto Scaling groups`, () => gpuGroups(clients, types, region, outOfService, hooks)),
    ]),
  );
  const failures = parts.flatMap(({ what, failure }) => (failure === null ? [] : [{ what, failure }]));
  const [first] = failures;
  if (first !== undefined && failures.length === parts.length) throw first.failure;
  const lacking: string[] = [];
  const bought = await commitments.read(at, (what) => void lacking.push(what));
  return {
    at,
    targets: [...parts.flatMap(({ targets }) => targets.map((one) => inService(one, outOfService))), ...bought],
    complete: failures.length === 0,
    problems: [
      ...failures.map(({ what, failure }) => `${what} could not be read: ${failure.message}`),
      ...parts.flatMap((part) => part.lacking),
      ...lacking,
    ],
  };
}

/** An instance with its group's word that it is not in service, where there is one. */
function inService(one: FleetTarget, outOfService: ReadonlyMap<string, string>): FleetTarget {
  const why = one.kind === 'instance' ? outOfService.get(one.target.slice(one.target.lastIndexOf('/') + 1)) : undefined;
  return why === undefined ? one : { ...one, outOfService: why };
}

interface Part {
  readonly what: string;
  readonly targets: readonly FleetTarget[];
  readonly failure: Failure | null;
  /** Missing parts that make no target unknown: the reading is complete without them. */
  readonly lacking: readonly string[];
}

async function readPart(
  what: string,
  read: (lacks: (problem: string) => void) => Promise<readonly FleetTarget[]>,
): Promise<Part> {
  const lacking: string[] = [];
  try {
    const targets = await read((problem) => void lacking.push(`${what}: ${problem}`));
    return { what, targets, failure: null, lacking };
  } catch (error) {
    if (error instanceof Failure) return { what, targets: [], failure: error, lacking };
    throw error;
  }
}

/**
 * One target, read now; null if AWS does not know it. An instance that was terminated lately is still there, and gone.
 * @throws Failure
 */
export async function readTarget(clients: Clients, types: InstanceTypes, target: string): Promise<FleetTarget | null> {
  const named = parseTarget(target);
  if (named === null) return null;
  const { region } = named;
  if (named.kind === 'asg') return readGroup(clients, types, region, named.name);
  // As a filter, an id that is not there is an empty answer, not an error.
  const [one] = await readInstances(clients, region, { Filters: [{ Name: 'instance-id', Values: [named.id] }] });
  if (one === undefined) return null;
  const type = one.instance.InstanceType;
  const gpus = type === undefined ? undefined : (await types.gpusOf(region, [type])).get(type);
  const seen = instanceAsTarget(one, region, gpus, clients.settings.account);
  // What is not known of its request EC2 says itself, when it is asked.
  return (await withSpotRequests(clients, region, [one.instance], [seen], () => undefined))[0] ?? seen;
}
