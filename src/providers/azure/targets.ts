/**
 * The names of Azure's targets, and its tags and states in the terms of the fleet.
 *
 * Never guesses: a machine without a reported power state is unknown. The invariant: `stopped` with charges is
 * distinguished from `stopped` without: a machine that was shut down from within, or powered off, keeps its host and is
 * billed. Sources: learn.microsoft.com, "States and billing status of Azure Virtual Machines" and "Use tags to organize
 * your Azure resources" (a tag's name has no `/`).
 */
import { azureIdOf } from '../../core/fleet/azure-id.js';
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import type { Values } from './client.js';
import type { Interface, Machine } from './operations.js';

/**
 * `instance/eastus/SUBSCRIPTION:GROUP:NAME`, of a uniform set's instance `...:SET:NUMBER`; `asg/eastus/...`. Null if
 * Azure's own id is of another form.
 */
export function targetOf(id: string, region: string): string | null {
  const own = azureIdOf(id);
  return own === null ? null : `${own.kind}/${region}/${own.id}`;
}

export type AzureTarget =
  | { readonly kind: 'machine' | 'set'; readonly region: string; readonly name: string; readonly values: Values }
  /** An instance of a scale set of uniform orchestration. */
  | { readonly kind: 'member'; readonly region: string; readonly name: string; readonly values: Values };

const TARGET = /^(instance|asg)\/([a-z0-9]+)\/([^/:]+):([^/:]+):([^/:]+)(?::([^/:]+))?$/;

/** Null if the text names no machine or scale set of Azure. */
export function parseTarget(target: string): AzureTarget | null {
  const [, kind, region = '', subscriptionId = '', resourceGroupName = '', name = '', member] =
    TARGET.exec(target) ?? [];
  if (kind === undefined || (kind === 'asg' && member !== undefined)) return null;
  const values = { subscriptionId, resourceGroupName };
  if (kind === 'asg') return { kind: 'set', region, name, values: { ...values, ...setValues(name) } };
  return member === undefined
    ? { kind: 'machine', region, name, values: { ...values, vmName: name } }
    : {
        kind: 'member',
        region,
        name: `${name} ${member}`,
        values: { ...values, ...setValues(name), instanceId: member, virtualmachineIndex: member },
      };
}

/** The reference has two names for the same parameter. */
const setValues = (name: string): Values => ({ vmScaleSetName: name, virtualMachineScaleSetName: name });

/** Parameters of a request about a resource, by Azure's own id of it. Null if that is of another form. */
export function valuesOf(id: string, last: string): Values | null {
  const [, subscriptionId, resourceGroupName, name] =
    /^\/subscriptions\/([^/]+)\/resourceGroups\/([^/]+)\/providers\/[^/]+\/[^/]+\/([^/]+)$/i.exec(id) ?? [];
  return subscriptionId === undefined || resourceGroupName === undefined || name === undefined
    ? null
    : { subscriptionId, resourceGroupName, [last]: name };
}

const PREFIX = 'bursar.io:';

/**
 * Tags as labels: a tag's name has no `/`, so that `bursar.io:protected` says what elsewhere `bursar.io/protected` does.
 */
export const labelsOf = (tags: Readonly<Record<string, string>> | null | undefined): Record<string, string> =>
  Object.fromEntries(
    Object.entries(tags ?? {}).map(([name, value]) => [
      name.startsWith(PREFIX) ? `bursar.io/${name.slice(PREFIX.length)}` : name,
      value,
    ]),
  );

/** The clause about what Azure Kubernetes Service holds to its node pool; null: it does not. */
export function nodePoolOf(tags: Readonly<Record<string, string>> | null | undefined): string | null {
  const pool = Object.entries(tags ?? {}).find(([name]) => /^(?:aks-managed-poolName|poolName)$/i.test(name))?.[1];
  const isAks = Object.keys(tags ?? {}).some((name) => name.toLowerCase().startsWith('aks-managed-'));
  return isAks ? `Azure Kubernetes Service keeps it as the node pool ${pool ?? '(unnamed)'}` : null;
}

type Statuses = NonNullable<NonNullable<NonNullable<Machine['properties']>['instanceView']>['statuses']>;

export interface Power {
  readonly state: RunState;
  readonly billing: BillingState;
  /** When it was last created, started or changed, epoch milliseconds: the meter counts from there at the latest. */
  readonly since: number | null;
}

/** Power states after "States and billing status": deallocating is not billed any more, starting already is. */
const POWER: Readonly<Record<string, readonly [RunState, BillingState]>> = {
  creating: ['starting', 'partly'],
  starting: ['starting', 'billed'],
  running: ['running', 'billed'],
  stopping: ['stopping', 'billed'],
  stopped: ['stopped', 'billed'],
  deallocating: ['stopping', 'partly'],
  deallocated: ['stopped', 'partly'],
};

export function powerOf(statuses: Statuses | null | undefined, provisioningState: string | null | undefined): Power {
  const statusOf = (kind: string) => statuses?.find(({ code }) => code?.toLowerCase().startsWith(`${kind}/`) === true);
  const at = Date.parse(statusOf('provisioningstate')?.time ?? '');
  const since = Number.isNaN(at) ? null : at;
  const word = statusOf('powerstate')?.code?.split('/')[1]?.toLowerCase() ?? '';
  if (provisioningState?.toLowerCase() === 'deleting') return { state: 'stopping', billing: 'unknown', since };
  const [state, billing] = POWER[word] ?? ['unknown', 'unknown'];
  if (state === 'unknown' && provisioningState?.toLowerCase() === 'creating')
    return { state: 'starting', billing: 'unknown', since };
  // Azure dates the last change of any kind: of what stands still, its end.
  return { state, billing, since: state === 'running' || state === 'starting' ? since : null };
}

/** Its names in its network: its name there and its addresses; and their virtual network. */
export function addressesOf(
  computerName: string | null,
  interfaces: readonly Interface[],
): Pick<FleetTarget, 'knownAs' | 'network'> {
  const names: (string | null | undefined)[] = [computerName];
  let network: string | undefined;
  for (const { properties } of interfaces) {
    const suffix = properties?.dnsSettings?.internalDomainNameSuffix ?? '';
    names.push(properties?.dnsSettings?.internalFqdn);
    if (computerName !== null && suffix !== '') names.push(`${computerName}.${suffix}`);
    for (const { properties: one } of properties?.ipConfigurations ?? []) {
      names.push(one?.privateIPAddress);
      network ??= /^(.*)\/subnets\/[^/]+$/i.exec(one?.subnet?.id ?? '')?.[1]?.toLowerCase();
    }
  }
  return {
    knownAs: [...new Set(names.filter((name): name is string => typeof name === 'string' && name !== ''))],
    ...(network === undefined ? {} : { network }),
  };
}

/** Azure's own id of a thing, in one case. */
export const keyOf = (id: string | null | undefined): string => (id ?? '').toLowerCase();
