/**
 * Lambda: on-demand instances with GPUs, their prices, and their end.
 *
 * What it cannot do is absent: an instance cannot be stopped, only terminated, and what was terminated does not come
 * back; the API launches others, which is no start. The invariant: whether an instance is paid on demand or lies in a
 * reserved cluster is not told by the API, so its term is unknown. Sources: Lambda Cloud API 1.10.0 (OpenAPI document
 * at docs.lambda.ai/api/cloud); Lambda docs, "Billing" (by the minute, from when an instance passes its health checks
 * until it is terminated; file systems are billed on).
 */
import { z } from 'zod';
import type { BillingState, FleetTarget, RunState } from '../../core/fleet/fleet.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { Provider } from '../../core/ports.js';
import type { Price } from '../../core/price/price.js';
import {
  entries,
  flag,
  RestClient,
  text,
  understood,
  word,
  type Entries,
  type Lacks,
  type Operation,
  type RestApi,
} from '../neocloud/client.js';
import { MACHINE, machineTarget, neocloud } from '../neocloud/cloud.js';
import { keyMisfit } from '../neocloud/settings.js';
import { instancePrice, unlessFailed } from '../rpc.js';

const CLOUD = 'Lambda';

const TYPE = z.object({
  name: z.string(),
  gpu_description: text,
  price_cents_per_hour: z.number().nullish(),
  specs: z.object({ gpus: z.number() }),
});
type InstanceType = z.output<typeof TYPE>;

const INSTANCE = z.object({
  id: z.string(),
  name: text,
  ip: text,
  private_ip: text,
  hostname: text,
  status: word('booting', 'active', 'unhealthy', 'terminated', 'terminating', 'preempted'),
  region: z.object({ name: text }).nullish(),
  instance_type: TYPE,
  actions: z
    .object({ terminate: z.object({ available: flag, reason_code: text, reason_description: text }).nullish() })
    .nullish(),
  tags: z.array(z.object({ key: z.string(), value: z.string() })).nullish(),
});
type Instance = z.output<typeof INSTANCE>;

const OFFER = z.object({ instance_type: TYPE });

/** Every request that can be sent. */
export const OPERATIONS = {
  instances: {
    id: 'listInstances',
    method: 'GET',
    path: '/api/v1/instances',
    query: [],
    body: null,
    reply: z.object({ data: entries }),
  },
  instance: {
    id: 'getInstance',
    method: 'GET',
    path: '/api/v1/instances/{id}',
    query: [],
    body: null,
    reply: z.object({ data: INSTANCE }),
  },
  types: {
    id: 'listInstanceTypes',
    method: 'GET',
    path: '/api/v1/instance-types',
    query: [],
    body: null,
    reply: z.object({ data: z.record(z.string(), z.unknown()) }),
  },
  terminate: {
    id: 'terminateInstance',
    method: 'POST',
    path: '/api/v1/instance-operations/terminate',
    query: [],
    body: z.object({ instance_ids: z.array(z.string()) }),
    reply: z.object({ data: z.object({ terminated_instances: z.array(z.object({ id: z.string() })) }) }),
  },
} as const satisfies Readonly<Record<string, Operation>>;

export const ENTRIES: readonly Entries[] = [
  { of: OPERATIONS.instances, list: 'data', entry: INSTANCE },
  { of: OPERATIONS.types, list: 'data', entry: OFFER },
];

/** The body of a failure: ApiError of the OpenAPI document; its words may change, its code does not. */
export const ERROR = z.object({ error: z.object({ code: z.string(), message: z.string(), suggestion: text }) });

export const API: RestApi = {
  cloud: CLOUD,
  host: 'https://cloud.lambda.ai',
  errorOf: (body) => {
    const error = ERROR.safeParse(body).data?.error;
    return {
      code: error?.code ?? null,
      detail: error === undefined ? null : [error.message, error.suggestion].filter(Boolean).join(' '),
    };
  },
  notOfPermission: new Set(['global/account-inactive']),
};

const STATES: Readonly<Record<NonNullable<Instance['status']>, RunState>> = {
  booting: 'starting',
  active: 'running',
  // It passed its health checks once and is billed until it is terminated.
  unhealthy: 'running',
  terminating: 'stopping',
  terminated: 'gone',
  preempted: 'gone',
};

const BILLING: Readonly<Record<NonNullable<Instance['status']>, BillingState>> = {
  // It has not passed its health checks yet, and nobody says whether it will.
  booting: 'unknown',
  active: 'billed',
  unhealthy: 'billed',
  terminating: 'unknown',
  terminated: 'ended',
  preempted: 'ended',
};

/** "H100 (80 GB SXM5)"; of an instance without GPUs it is "N/A". */
const gpuModelOf = ({ gpu_description, specs }: InstanceType): string | null =>
  specs.gpus === 0 ? null : modelOf(gpu_description ?? '');

function targetOf(one: Instance, account: string | null): FleetTarget {
  const { instance_type: type, status } = one;
  const terminate = one.actions?.terminate;
  const addresses = [one.hostname, one.private_ip, one.ip].flatMap((address) => address || []);
  return {
    ...MACHINE,
    target: machineTarget(one.id),
    name: one.name || one.id,
    provider: CLOUD,
    account,
    region: one.region?.name ?? null,
    sku: type.name,
    gpuModel: gpuModelOf(type),
    gpus: type.specs.gpus,
    term: null,
    state: status ? STATES[status] : 'unknown',
    billing: status ? BILLING[status] : 'unknown',
    labels: Object.fromEntries((one.tags ?? []).map(({ key, value }) => [key, value])),
    // The API does not tell when it was launched.
    launchedAt: null,
    knownAs: [...new Set(addresses)],
    ...(terminate?.available === false
      ? { ruledOut: { terminate: `Lambda does not allow it now: ${reasonOf(terminate)}` } }
      : {}),
    ...(status === 'unhealthy' ? { unwell: 'status unhealthy' } : {}),
    ...(status === 'preempted' ? { ended: { by: 'cloud' as const, because: 'status preempted' } } : {}),
  };
}

const reasonOf = ({
  reason_code,
  reason_description,
}: {
  reason_code?: string | null;
  reason_description?: string | null;
}) => reason_description || reason_code || 'it gives no reason';

async function instances(client: RestClient, lacks: Lacks): Promise<Instance[]> {
  return understood((await client.read(OPERATIONS.instances)).data, INSTANCE, lacks);
}

/** What is on offer, and the types of what runs: one that is sold no more is still billed. */
async function prices(client: RestClient, lacks: Lacks): Promise<Price[]> {
  const offers = Object.values((await client.read(OPERATIONS.types)).data);
  const types = new Map<string, InstanceType>();
  for (const { instance_type: type } of [
    ...((await unlessFailed(() => instances(client, lacks), lacks)) ?? []),
    ...understood(offers, OFFER, lacks),
  ])
    types.set(type.name, type);
  return [...types.values()].flatMap((type) => {
    const cents = type.price_cents_per_hour;
    if (type.specs.gpus <= 0 || typeof cents !== 'number' || !Number.isSafeInteger(cents)) return [];
    const facts = {
      provider: CLOUD,
      sku: type.name,
      region: null,
      term: 'on-demand' as const,
      gpuModel: gpuModelOf(type),
      gpus: type.specs.gpus,
      effectiveFrom: 0,
      source: 'Lambda Cloud API',
    };
    const price = instancePrice(facts, `${cents}e-2`, 'USD');
    return price === null ? [] : [{ ...price, incrementSeconds: 60 }];
  });
}

export const provider: Provider = neocloud<RestClient>({
  name: 'lambda',
  description: 'Lambda: on-demand instances with GPUs, list prices',
  settings: {
    name: 'lambda',
    cloud: CLOUD,
    credential: 'API_KEY',
    read: 'API key of Lambda for reading; each key may do everything, and with this one nothing but questions are sent',
    act: 'Another API key, with which it acts; absent: read-only',
    misfit: keyMisfit,
    lists: [],
  },
  permissions: {
    fleet: [OPERATIONS.instances.id, OPERATIONS.instance.id],
    prices: [OPERATIONS.types.id, OPERATIONS.instances.id],
  },
  id: /^[0-9a-zA-Z-]{1,64}$/,
  open: (settings) => new RestClient(API, settings),
  machines: async (client, lacks) =>
    (await instances(client, lacks))
      .map((one) => targetOf(one, client.settings.account))
      .filter(({ gpus }) => gpus !== 0),
  machine: async (client, id) => {
    const found = await client.find(OPERATIONS.instance, { path: { id } });
    return found === null ? null : targetOf(found.data, client.settings.account);
  },
  prices,
  changes: {
    terminate: {
      permission: OPERATIONS.terminate.id,
      detail: 'Lambda terminates the instance',
      send: async (client, id) => {
        await client.call(OPERATIONS.terminate, { body: { instance_ids: [id] } }, 'act');
        return null;
      },
    },
  },
  probe: (client, permission) => {
    const asked = [OPERATIONS.instances, OPERATIONS.types].find(({ id }) => id === permission);
    return asked === undefined ? null : () => client.ask(asked);
  },
});
