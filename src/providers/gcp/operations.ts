/**
 * Every request that this provider can send, with the fields of the reply that it reads. Only data: it sends nothing.
 *
 * The invariant: nothing is sent or read that is not listed here, so that all of it can be compared with Google's
 * discovery documents (tests/contract/gcp-discovery.test.ts): methods, paths, parameters, bodies, fields, types and the
 * words of each enumeration that the code distinguishes. Sources: discovery documents of compute v1, cloudbilling v1
 * and cloudresourcemanager v3; IAM, "Permissions reference", and the pages of the methods for the permission of each.
 */
import { z } from 'zod';

export type Api = 'compute' | 'cloudbilling' | 'cloudresourcemanager';

export interface Operation<Reply extends z.ZodType = z.ZodType> {
  readonly api: Api;
  /** As the discovery document names it. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query: readonly string[];
  /** Fields of the request's body; `a.b` is a field of a field. */
  readonly body: readonly string[];
  /** The IAM permission that it needs. */
  readonly permission: string;
  readonly reply: Reply;
}

const text = z.string().nullish();
const count = z.number().nullish();
const flag = z.boolean().nullish();
/** An int64, which JSON of Google's APIs writes as a text. */
const long = z
  .string()
  .regex(/^-?\d+$/)
  .nullish();
/** Words that the code distinguishes; any other is unknown, and null. */
const word = <const Words extends readonly [string, ...string[]]>(...words: Words) =>
  z.enum(words).nullish().catch(null);
/** A list whose entries are read one by one: an unreadable entry hides no other. */
const entries = z.array(z.unknown()).nullish();
const labels = z.record(z.string(), z.string()).nullish();

const ACCELERATOR = z.object({ acceleratorType: text, acceleratorCount: count });
export type Accelerator = z.output<typeof ACCELERATOR>;

const SCHEDULING = z.object({
  provisioningModel: word('SPOT', 'STANDARD', 'FLEX_START', 'RESERVATION_BOUND'),
  preemptible: flag,
  nodeAffinities: z.array(z.object({ key: text })).nullish(),
});
const DISK = z.object({ type: word('SCRATCH', 'PERSISTENT') });

export const INSTANCE = z.object({
  id: z.string().regex(/^[1-9]\d*$/),
  name: z.string(),
  zone: z.string(),
  machineType: text,
  status: word(
    'PROVISIONING',
    'STAGING',
    'PENDING',
    'RUNNING',
    'REPAIRING',
    'PENDING_STOP',
    'STOPPING',
    'STOPPED',
    'TERMINATED',
    'SUSPENDING',
    'SUSPENDED',
    'DEPROVISIONING',
  ),
  guestAccelerators: z.array(ACCELERATOR).nullish(),
  scheduling: SCHEDULING.nullish(),
  disks: z.array(DISK).nullish(),
  hostname: text,
  networkInterfaces: z.array(z.object({ network: text, networkIP: text, ipv6Address: text })).nullish(),
  labels,
  metadata: z.object({ items: z.array(z.object({ key: text, value: text })).nullish() }).nullish(),
  reservationAffinity: z
    .object({
      consumeReservationType: word('ANY_RESERVATION', 'NO_RESERVATION', 'SPECIFIC_RESERVATION', 'UNSPECIFIED'),
    })
    .nullish(),
  resourceStatus: z.object({ reservationConsumptionInfo: z.object({ consumedReservation: text }).nullish() }).nullish(),
  deletionProtection: flag,
  creationTimestamp: text,
  lastStartTimestamp: text,
});
export type Instance = z.output<typeof INSTANCE>;

export const GROUP = z.object({
  name: z.string(),
  zone: text,
  region: text,
  targetSize: count,
  targetStoppedSize: count,
  targetSuspendedSize: count,
  currentActions: z.object({ none: count, deleting: count }).nullish(),
  instanceTemplate: text,
  versions: z.array(z.object({ instanceTemplate: text })).nullish(),
  distributionPolicy: z.object({ zones: z.array(z.object({ zone: text })).nullish() }).nullish(),
  instanceFlexibilityPolicy: z.object({ instanceSelections: z.record(z.string(), z.unknown()).nullish() }).nullish(),
  allInstancesConfig: z.object({ properties: z.object({ labels }).nullish() }).nullish(),
  status: z.object({ autoscaler: text, stateful: z.object({ hasStatefulConfig: flag }).nullish() }).nullish(),
  creationTimestamp: text,
});
export type Group = z.output<typeof GROUP>;

export const COMMITMENT = z.object({
  name: z.string(),
  region: z.string(),
  status: word('ACTIVE', 'CANCELLED', 'CREATING', 'EXPIRED', 'NOT_YET_ACTIVE'),
  plan: word('TWELVE_MONTH', 'THIRTY_SIX_MONTH'),
  startTimestamp: text,
  resources: z
    .array(z.object({ type: word('ACCELERATOR', 'VCPU', 'MEMORY', 'LOCAL_SSD'), amount: long, acceleratorType: text }))
    .nullish(),
});
export type Commitment = z.output<typeof COMMITMENT>;

const AUTOSCALER = z.object({
  name: z.string(),
  autoscalingPolicy: z
    .object({ minNumReplicas: count, maxNumReplicas: count, mode: word('OFF', 'ON', 'ONLY_SCALE_OUT', 'ONLY_UP') })
    .nullish(),
});
export type Autoscaler = z.output<typeof AUTOSCALER>;

const TEMPLATE = z.object({
  properties: z
    .object({
      machineType: text,
      guestAccelerators: z.array(ACCELERATOR).nullish(),
      scheduling: SCHEDULING.nullish(),
      disks: z.array(DISK).nullish(),
      labels,
    })
    .nullish(),
});
export type Template = z.output<typeof TEMPLATE>;

export const MACHINE_TYPE = z.object({
  name: z.string(),
  zone: text,
  guestCpus: count,
  memoryMb: count,
  bundledLocalSsds: z.object({ partitionCount: count }).nullish(),
  accelerators: z.array(z.object({ guestAcceleratorType: text, guestAcceleratorCount: count })).nullish(),
});
export type MachineType = z.output<typeof MACHINE_TYPE>;

const OPERATION = z.object({
  name: text,
  status: word('PENDING', 'RUNNING', 'DONE'),
  clientOperationId: text,
  operationType: text,
  targetId: long,
  insertTime: text,
  user: text,
  error: z.object({ errors: z.array(z.object({ code: text, message: text })).nullish() }).nullish(),
});
export type Receipt = z.output<typeof OPERATION>;

const MONEY = z.object({ currencyCode: text, units: long, nanos: count });
export const SKU = z.object({
  description: z.string(),
  category: z.object({ resourceFamily: text, resourceGroup: text, usageType: text }),
  serviceRegions: z.array(z.string()),
  pricingInfo: z.array(
    z.object({
      pricingExpression: z.object({
        usageUnit: text,
        tieredRates: z.array(z.object({ startUsageAmount: count, unitPrice: MONEY.nullish() })),
      }),
    }),
  ),
});
export type Sku = z.output<typeof SKU>;

const WARNING = z.object({ code: text, message: text });
const SCOPES = {
  instances: z.object({ instances: entries, warning: WARNING.nullish() }),
  instanceGroupManagers: z.object({ instanceGroupManagers: entries, warning: WARNING.nullish() }),
  commitments: z.object({ commitments: entries, warning: WARNING.nullish() }),
  machineTypes: z.object({ machineTypes: entries, warning: WARNING.nullish() }),
} as const;
export type Listed = keyof typeof SCOPES;

/** A page of an aggregated list: by scope (`zones/us-central1-a`), each with its list, or a warning in its place. */
const aggregated = <Name extends Listed>(name: Name) =>
  z.object({
    nextPageToken: text,
    unreachables: z.array(z.string()).nullish(),
    items: z.record(z.string(), SCOPES[name]).nullish(),
  });

const LISTED = ['maxResults', 'pageToken', 'returnPartialSuccess'] as const;

const compute = <Reply extends z.ZodType>(
  id: string,
  path: string,
  permission: string,
  reply: Reply,
  { method = 'GET', query = [], body = [] }: Partial<Pick<Operation, 'method' | 'query' | 'body'>> = {},
): Operation<Reply> => ({
  api: 'compute',
  id: `compute.${id}`,
  method,
  path,
  query,
  body,
  permission: `compute.${permission}`,
  reply,
});

const INSTANCE_PATH = 'projects/{project}/zones/{zone}/instances/{instance}';
const act = (name: string, permission = name, query: readonly string[] = []) =>
  compute(`instances.${name}`, `${INSTANCE_PATH}/${name}`, `instances.${permission}`, OPERATION, {
    method: 'POST',
    query: ['requestId', ...query],
  });

/** The two kinds of groups differ in their place alone. */
const PLACES = {
  zone: { at: 'zones/{zone}', prefix: 'i' },
  region: { at: 'regions/{region}', prefix: 'regionI' },
} as const;

function groupOperations(place: keyof typeof PLACES) {
  const { at, prefix } = PLACES[place];
  const path = `projects/{project}/${at}/instanceGroupManagers/{instanceGroupManager}`;
  const autoscalers = place === 'zone' ? 'autoscalers' : 'regionAutoscalers';
  const operations = place === 'zone' ? 'zoneOperations' : 'regionOperations';
  return {
    get: compute(`${prefix}nstanceGroupManagers.get`, path, 'instanceGroupManagers.get', GROUP),
    resize: compute(
      `${prefix}nstanceGroupManagers.resize`,
      `${path}/resize`,
      'instanceGroupManagers.update',
      OPERATION,
      { method: 'POST', query: ['requestId', 'size'] },
    ),
    recreate: compute(
      `${prefix}nstanceGroupManagers.recreateInstances`,
      `${path}/recreateInstances`,
      'instanceGroupManagers.update',
      OPERATION,
      { method: 'POST', query: ['requestId'], body: ['instances'] },
    ),
    autoscaler: compute(
      `${autoscalers}.get`,
      `projects/{project}/${at}/autoscalers/{autoscaler}`,
      'autoscalers.get',
      AUTOSCALER,
    ),
    patchAutoscaler: compute(
      `${autoscalers}.patch`,
      `projects/{project}/${at}/autoscalers`,
      'autoscalers.update',
      OPERATION,
      {
        method: 'PATCH',
        query: ['requestId', 'autoscaler'],
        body: ['autoscalingPolicy.minNumReplicas', 'autoscalingPolicy.maxNumReplicas'],
      },
    ),
    operations: compute(
      `${operations}.list`,
      `projects/{project}/${at}/operations`,
      `${operations}.list`,
      z.object({ items: z.array(OPERATION).nullish(), nextPageToken: text }),
      { query: ['filter', 'maxResults', 'orderBy', 'pageToken'] },
    ),
    wait: compute(
      `${operations}.wait`,
      `projects/{project}/${at}/operations/{operation}/wait`,
      `${operations}.get`,
      OPERATION,
      { method: 'POST' },
    ),
  };
}

export const OPERATIONS = {
  instances: compute(
    'instances.aggregatedList',
    'projects/{project}/aggregated/instances',
    'instances.list',
    aggregated('instances'),
    { query: LISTED },
  ),
  instance: compute('instances.get', INSTANCE_PATH, 'instances.get', INSTANCE),
  stop: act('stop', 'stop', ['discardLocalSsd']),
  start: act('start'),
  resume: act('resume'),
  setMachineType: { ...act('setMachineType'), body: ['machineType'] },
  delete: compute('instances.delete', INSTANCE_PATH, 'instances.delete', OPERATION, {
    method: 'DELETE',
    query: ['requestId'],
  }),
  groups: compute(
    'instanceGroupManagers.aggregatedList',
    'projects/{project}/aggregated/instanceGroupManagers',
    'instanceGroupManagers.list',
    aggregated('instanceGroupManagers'),
    { query: LISTED },
  ),
  zone: groupOperations('zone'),
  region: groupOperations('region'),
  template: compute(
    'instanceTemplates.get',
    'projects/{project}/global/instanceTemplates/{instanceTemplate}',
    'instanceTemplates.get',
    TEMPLATE,
  ),
  regionTemplate: compute(
    'regionInstanceTemplates.get',
    'projects/{project}/regions/{region}/instanceTemplates/{instanceTemplate}',
    'instanceTemplates.get',
    TEMPLATE,
  ),
  commitments: compute(
    'regionCommitments.aggregatedList',
    'projects/{project}/aggregated/commitments',
    'commitments.list',
    aggregated('commitments'),
    { query: LISTED },
  ),
  machineType: compute(
    'machineTypes.get',
    'projects/{project}/zones/{zone}/machineTypes/{machineType}',
    'machineTypes.get',
    MACHINE_TYPE,
  ),
  machineTypes: compute(
    'machineTypes.aggregatedList',
    'projects/{project}/aggregated/machineTypes',
    'machineTypes.list',
    aggregated('machineTypes'),
    { query: [...LISTED, 'filter'] },
  ),
  skus: {
    api: 'cloudbilling',
    id: 'cloudbilling.services.skus.list',
    method: 'GET',
    path: 'v1/{+parent}/skus',
    query: ['currencyCode', 'pageSize', 'pageToken'],
    body: [],
    permission: 'cloudbilling.googleapis.com',
    reply: z.object({ skus: entries, nextPageToken: text }),
  } satisfies Operation,
  testPermissions: {
    api: 'cloudresourcemanager',
    id: 'cloudresourcemanager.projects.testIamPermissions',
    method: 'POST',
    path: 'v3/{+resource}:testIamPermissions',
    query: [],
    body: ['permissions'],
    permission: 'cloudresourcemanager.googleapis.com',
    reply: z.object({ permissions: z.array(z.string()).nullish() }),
  } satisfies Operation,
} as const;

/** Shapes of the entries of lists, by the operation that lists them and the path to the entry. */
export const ENTRIES: readonly { readonly of: Operation; readonly list: string; readonly entry: z.ZodType }[] = [
  { of: OPERATIONS.instances, list: 'instances', entry: INSTANCE },
  { of: OPERATIONS.groups, list: 'instanceGroupManagers', entry: GROUP },
  { of: OPERATIONS.commitments, list: 'commitments', entry: COMMITMENT },
  { of: OPERATIONS.machineTypes, list: 'machineTypes', entry: MACHINE_TYPE },
  { of: OPERATIONS.skus, list: 'skus', entry: SKU },
];
