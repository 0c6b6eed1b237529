/**
 * Every request that is sent to Azure Resource Manager: method, path, version, parameters, body, and what is read of
 * the reply; and the permission that each needs.
 *
 * Sends nothing. The invariant: a request or field outside this table is not sent and not read.
 * tests/contract/azure-model.test.ts compares each line with Microsoft's own model (tests/fixtures/azure-model). A
 * schema contains only the fields that are read, and requires only ids and names: any other missing field is unknown.
 * Sources: REST API reference on learn.microsoft.com (Compute 2024-11-01 and 2021-07-01, Network 2024-05-01 and
 * 2018-10-01, Monitor 2015-04-01, Authorization 2022-04-01, Resource Graph 2021-03-01); "Azure permissions for Compute"
 * and its sisters (names of permissions).
 */
import { z } from 'zod';

export interface Operation<Reply extends z.ZodType = z.ZodType> {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Names in braces are filled in, escaped. */
  readonly path: string;
  readonly apiVersion: string;
  /** Parameters of the query that it may be sent with. */
  readonly query: readonly string[];
  readonly body: z.ZodType | null;
  /** The fields read from the reply's body; unknown: none. */
  readonly reply: Reply;
  readonly permission: string;
}

const text = z.string().nullish();
const count = z.number().nullish();
const truth = z.boolean().nullish();
const tags = z.record(z.string(), z.string()).nullish();
const reference = z.object({ id: text }).nullish();
const pageOf = <Item extends z.ZodType>(item: Item) => z.object({ value: z.array(item), nextLink: text });

const statuses = z.array(z.object({ code: text, message: text, time: text })).nullish();
const nics = z.object({ networkInterfaces: z.array(z.object({ id: text })).nullish() }).nullish();
const osDisk = z
  .object({ osDisk: z.object({ diffDiskSettings: z.object({ option: text }).nullish() }).nullish() })
  .nullish();
const capacityReservation = z.object({ capacityReservationGroup: reference }).nullish();

const MACHINE = z.object({
  id: z.string(),
  name: z.string(),
  location: text,
  tags,
  properties: z
    .object({
      hardwareProfile: z.object({ vmSize: text }).nullish(),
      storageProfile: osDisk,
      osProfile: z.object({ computerName: text }).nullish(),
      networkProfile: nics,
      virtualMachineScaleSet: reference,
      priority: text,
      host: reference,
      hostGroup: reference,
      capacityReservation,
      provisioningState: text,
      instanceView: z.object({ computerName: text, statuses }).nullish(),
    })
    .nullish(),
});
export type Machine = z.output<typeof MACHINE>;

const SCALE_SET = z.object({
  id: z.string(),
  name: z.string(),
  location: text,
  tags,
  sku: z.object({ name: text, tier: text, capacity: count }).nullish(),
  properties: z
    .object({
      orchestrationMode: text,
      timeCreated: text,
      hostGroup: reference,
      priorityMixPolicy: z
        .object({ baseRegularPriorityCount: count, regularPriorityPercentageAboveBase: count })
        .nullish(),
      skuProfile: z.object({ vmSizes: z.array(z.object({ name: text })).nullish() }).nullish(),
      virtualMachineProfile: z
        .object({
          priority: text,
          storageProfile: osDisk,
          capacityReservation,
          scheduledEventsProfile: z
            .object({ terminateNotificationProfile: z.object({ enable: truth, notBeforeTimeout: text }).nullish() })
            .nullish(),
        })
        .nullish(),
    })
    .nullish(),
});
export type ScaleSet = z.output<typeof SCALE_SET>;

/** An instance of a scale set of uniform orchestration. */
const MEMBER = z.object({
  id: z.string(),
  instanceId: z.string(),
  name: text,
  location: text,
  tags,
  sku: z.object({ name: text }).nullish(),
  properties: z
    .object({
      osProfile: z.object({ computerName: text }).nullish(),
      networkProfile: nics,
      provisioningState: text,
      protectionPolicy: z.object({ protectFromScaleIn: truth }).nullish(),
      instanceView: z.object({ computerName: text, statuses }).nullish(),
    })
    .nullish(),
});
export type Member = z.output<typeof MEMBER>;

const INTERFACE = z.object({
  id: z.string(),
  properties: z
    .object({
      virtualMachine: reference,
      dnsSettings: z.object({ internalFqdn: text, internalDomainNameSuffix: text }).nullish(),
      ipConfigurations: z
        .array(z.object({ properties: z.object({ privateIPAddress: text, subnet: reference }).nullish() }))
        .nullish(),
    })
    .nullish(),
});
export type Interface = z.output<typeof INTERFACE>;

const SKU = z.object({
  resourceType: text,
  name: text,
  family: text,
  capabilities: z.array(z.object({ name: text, value: text })).nullish(),
  restrictions: z.array(z.object({ type: text, reasonCode: text })).nullish(),
});
export type Sku = z.output<typeof SKU>;

const AUTOSCALE = z.object({
  name: text,
  properties: z
    .object({
      enabled: truth,
      targetResourceUri: text,
      profiles: z
        .array(
          z.object({
            capacity: z.object({ minimum: text, maximum: text }).nullish(),
            fixedDate: z.object({ start: text }).nullish(),
            recurrence: z.object({ frequency: text }).nullish(),
          }),
        )
        .nullish(),
    })
    .nullish(),
});
export type Autoscale = z.output<typeof AUTOSCALE>;

const NOTHING = z.unknown();
const COMPUTE = '2024-11-01';
const ofSubscription = '/subscriptions/{subscriptionId}/providers';
const ofGroup = '/subscriptions/{subscriptionId}/resourceGroups/{resourceGroupName}/providers';
const machine = `${ofGroup}/Microsoft.Compute/virtualMachines/{vmName}`;
const setForNetworks = `${ofGroup}/microsoft.Compute/virtualMachineScaleSets/{virtualMachineScaleSetName}`;

const read = <Reply extends z.ZodType>(
  path: string,
  apiVersion: string,
  permission: string,
  reply: Reply,
  query: readonly string[] = [],
): Operation<Reply> => ({ method: 'GET', path, apiVersion, query, body: null, reply, permission });

const act = (
  method: Operation['method'],
  path: string,
  permission: string,
  body: z.ZodType | null = null,
): Operation => ({ method, path, apiVersion: COMPUTE, query: [], body, reply: NOTHING, permission });

export const OPERATIONS = {
  machines: read(
    `${ofSubscription}/Microsoft.Compute/virtualMachines`,
    COMPUTE,
    'Microsoft.Compute/virtualMachines/read',
    pageOf(MACHINE),
    ['statusOnly', '$filter', '$expand'],
  ),
  machine: read(machine, COMPUTE, 'Microsoft.Compute/virtualMachines/read', MACHINE, ['$expand']),
  scaleSets: read(
    `${ofSubscription}/Microsoft.Compute/virtualMachineScaleSets`,
    COMPUTE,
    'Microsoft.Compute/virtualMachineScaleSets/read',
    pageOf(SCALE_SET),
  ),
  scaleSet: read(
    `${ofGroup}/Microsoft.Compute/virtualMachineScaleSets/{vmScaleSetName}`,
    COMPUTE,
    'Microsoft.Compute/virtualMachineScaleSets/read',
    SCALE_SET,
  ),
  members: read(
    `${ofGroup}/Microsoft.Compute/virtualMachineScaleSets/{virtualMachineScaleSetName}/virtualMachines`,
    COMPUTE,
    'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read',
    pageOf(MEMBER),
    ['$expand'],
  ),
  member: read(
    `${ofGroup}/Microsoft.Compute/virtualMachineScaleSets/{vmScaleSetName}/virtualMachines/{instanceId}`,
    COMPUTE,
    'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/read',
    MEMBER,
    ['$expand'],
  ),
  interfaces: read(
    `${ofSubscription}/Microsoft.Network/networkInterfaces`,
    '2024-05-01',
    'Microsoft.Network/networkInterfaces/read',
    pageOf(INTERFACE),
  ),
  interface: read(
    `${ofGroup}/Microsoft.Network/networkInterfaces/{networkInterfaceName}`,
    '2024-05-01',
    'Microsoft.Network/networkInterfaces/read',
    INTERFACE,
  ),
  interfacesOfSet: read(
    `${setForNetworks}/networkInterfaces`,
    '2018-10-01',
    'Microsoft.Compute/virtualMachineScaleSets/networkInterfaces/read',
    pageOf(INTERFACE),
  ),
  interfacesOfMember: read(
    `${setForNetworks}/virtualMachines/{virtualmachineIndex}/networkInterfaces`,
    '2018-10-01',
    'Microsoft.Compute/virtualMachineScaleSets/virtualMachines/networkInterfaces/read',
    pageOf(INTERFACE),
  ),
  skus: read(`${ofSubscription}/Microsoft.Compute/skus`, '2021-07-01', 'Microsoft.Compute/skus/read', pageOf(SKU), [
    '$filter',
  ]),
  autoscale: read(
    `${ofSubscription}/Microsoft.Insights/autoscalesettings`,
    '2015-04-01',
    'Microsoft.Insights/AutoscaleSettings/Read',
    pageOf(AUTOSCALE),
  ),
  permissions: read(
    '/subscriptions/{subscriptionId}/resourcegroups/{resourceGroupName}/providers/Microsoft.Authorization/permissions',
    '2022-04-01',
    'Microsoft.Authorization/permissions/read',
    pageOf(z.object({ actions: z.array(z.string()).nullish(), notActions: z.array(z.string()).nullish() })),
  ),
  graph: {
    method: 'POST',
    path: '/providers/Microsoft.ResourceGraph/resources',
    apiVersion: '2021-03-01',
    query: [],
    body: z.object({
      subscriptions: z.array(z.string()),
      query: z.string(),
      options: z.object({
        $top: z.number(),
        $skipToken: z.string().optional(),
        resultFormat: z.literal('objectArray'),
      }),
    }),
    reply: z.object({ data: z.array(z.unknown()), $skipToken: text }),
    permission: 'Microsoft.ResourceGraph/resources/read',
  },
  deallocate: act('POST', `${machine}/deallocate`, 'Microsoft.Compute/virtualMachines/deallocate/action'),
  start: act('POST', `${machine}/start`, 'Microsoft.Compute/virtualMachines/start/action'),
  remove: act('DELETE', machine, 'Microsoft.Compute/virtualMachines/delete'),
  resize: act(
    'PATCH',
    machine,
    'Microsoft.Compute/virtualMachines/write',
    z.object({ properties: z.object({ hardwareProfile: z.object({ vmSize: z.string() }) }) }),
  ),
  changeScaleSet: act(
    'PATCH',
    `${ofGroup}/Microsoft.Compute/virtualMachineScaleSets/{vmScaleSetName}`,
    'Microsoft.Compute/virtualMachineScaleSets/write',
    z.union([
      z.object({ sku: z.object({ name: z.string(), tier: z.string().optional(), capacity: z.number() }) }),
      z.object({
        properties: z.object({
          priorityMixPolicy: z.object({
            baseRegularPriorityCount: z.number(),
            regularPriorityPercentageAboveBase: z.number(),
          }),
        }),
      }),
    ]),
  ),
} as const satisfies Readonly<Record<string, Operation>>;

/** Words of replies that something is concluded from, by the enumeration that has them. */
export const WORDS = {
  VirtualMachinePriorityTypes: ['Spot', 'Low', 'Regular'],
  OrchestrationMode: ['Flexible', 'Uniform'],
  DiffDiskOptions: ['Local'],
} as const;

/**
 * The state of an operation that goes on after it was accepted ("Track asynchronous Azure operations").
 */
export const PROGRESS = z.object({ status: z.string(), error: z.object({ code: text, message: text }).nullish() });
/** The permission for querying it. */
export const PROGRESS_PERMISSION = 'Microsoft.Compute/locations/operations/read';

/** A refusal, as every service of Azure Resource Manager words it. */
export const REFUSAL = z.object({ error: z.object({ code: z.string(), message: text }) });
