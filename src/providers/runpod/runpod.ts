/**
 * Runpod: pods with GPUs, list prices, and starting, stopping and terminating pods, by its REST API v2.
 *
 * Version 1 of that API was to be retired in November 2026, and the GraphQL API tells nothing that is needed here. The
 * invariants: a stopped pod gives its GPUs back and keeps its volume disk, which is billed at twice the price of a
 * running one, so its billing has ended in part alone; its container disk is wiped by every stop; what a start finds
 * may be fewer GPUs or none. A pod's environment is never read: it holds secrets.
 * Sources: Runpod REST API 2.0.0 (OpenAPI document at api.runpod.io/v2/openapi.json); Runpod documentation, "Pricing"
 * (by the second; storage of stopped pods), "Manage Pods", "Zero GPU Pods on restart", "Migrate from API v1".
 */
import { z } from 'zod';
import type { BillingState, FleetTarget, RuledOut, RunState } from '../../core/fleet/fleet.js';
import { modelOf } from '../../core/fleet/gpu-model.js';
import type { Provider } from '../../core/ports.js';
import type { Price } from '../../core/price/price.js';
import {
  count,
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
import { MACHINE, machineTarget, neocloud, type Change } from '../neocloud/cloud.js';
import { keyMisfit } from '../neocloud/settings.js';
import { instancePrice } from '../rpc.js';

const CLOUD = 'Runpod';

const POD = z.object({
  id: z.string(),
  name: text,
  status: word('PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR', 'TERMINATED'),
  gpu: z.object({ id: z.string(), count }).nullish(),
  cloud: word('SECURE', 'COMMUNITY'),
  dataCenterId: text,
  cluster: z.object({ id: z.string() }).nullish(),
  mounts: z
    .object({
      persistent: z.object({ size: count }).nullish(),
      network: z.array(z.object({ volumeId: text })).nullish(),
    })
    .nullish(),
  cost: count,
  locked: flag,
  startedAt: text,
  globalNetworking: z.object({ ip: text, internalDns: text }).nullish(),
});
type Pod = z.output<typeof POD>;

const GPU_TYPE = z.object({
  id: z.string(),
  secure: z.boolean(),
  community: z.boolean(),
  price: z.object({ secure: count, community: count }),
});

const ACTION = z.object({ action: z.enum(['start', 'stop']) });

/** Every request that can be sent. */
export const OPERATIONS = {
  pods: {
    id: 'listPods',
    method: 'GET',
    path: '/v2/pods',
    query: ['includeClusterPods'],
    body: null,
    reply: z.object({ pods: entries }),
  },
  pod: { id: 'getPod', method: 'GET', path: '/v2/pods/{id}', query: [], body: null, reply: POD },
  gpuTypes: {
    id: 'listGpuTypes',
    method: 'GET',
    path: '/v2/catalog/gpus',
    query: [],
    body: null,
    reply: z.object({ gpus: entries }),
  },
  action: {
    id: 'podAction',
    method: 'POST',
    path: '/v2/pods/{id}/action',
    query: [],
    body: ACTION,
    reply: z.object({ id: z.string() }),
  },
  remove: { id: 'deletePod', method: 'DELETE', path: '/v2/pods/{id}', query: [], body: null, reply: z.null() },
} as const satisfies Readonly<Record<string, Operation>>;

export const ENTRIES: readonly Entries[] = [
  { of: OPERATIONS.pods, list: 'pods', entry: POD },
  { of: OPERATIONS.gpuTypes, list: 'gpus', entry: GPU_TYPE },
];

/** The body of a failure: ErrorResponse of the OpenAPI document (RFC 9457). */
export const ERROR = z.object({ title: z.string(), detail: z.string(), errors: z.array(z.string()).nullish() });

export const API: RestApi = {
  cloud: CLOUD,
  host: 'https://api.runpod.io',
  errorOf: (body) => {
    const error = ERROR.safeParse(body).data;
    return {
      code: error?.title ?? null,
      detail: error === undefined ? null : [error.detail, ...(error.errors ?? [])].join(' '),
    };
  },
  notOfPermission: new Set(),
};

const STATES: Readonly<Record<NonNullable<Pod['status']>, RunState>> = {
  PROVISIONING: 'starting',
  STARTING: 'starting',
  RUNNING: 'running',
  EXITED: 'stopped',
  ERROR: 'unknown',
  TERMINATED: 'gone',
};

/** `Pricing`, "Storage pricing": of what is stopped the volume disk is billed, the container disk is not. */
function billingOf({ status, cost, mounts }: Pod): BillingState {
  switch (status) {
    case 'PROVISIONING':
    case 'STARTING':
    case 'RUNNING':
      return 'billed';
    case 'ERROR':
      return (cost ?? 0) > 0 ? 'billed' : 'unknown';
    case 'EXITED':
      if (mounts === null || mounts === undefined) return 'unknown';
      return mounts.persistent || (mounts.network ?? []).length > 0 ? 'partly' : 'ended';
    case 'TERMINATED':
      return 'ended';
    default:
      return 'unknown';
  }
}

function ruledOutFor({ cluster, locked }: Pod): RuledOut {
  if (cluster) {
    const why = `it is a part of the Runpod cluster ${cluster.id}, which is changed as a whole`;
    return { stop: why, start: why, terminate: why };
  }
  return locked === true ? { stop: 'it is locked in Runpod', terminate: 'it is locked in Runpod' } : {};
}

/** Runpod prices a type of GPU by the cloud in which it lies: both make what a pod is sold as. */
const skuOf = (cloud: string, gpu: string): string => `${cloud}/${gpu}`;

function targetOf(pod: Pod, account: string | null): FleetTarget {
  const { gpu, status, cloud } = pod;
  const started = Date.parse(pod.startedAt ?? '');
  const ruledOut = ruledOutFor(pod);
  const names = [pod.globalNetworking?.internalDns, pod.globalNetworking?.ip].flatMap((name) => name || []);
  return {
    ...MACHINE,
    target: machineTarget(pod.id),
    name: pod.name || pod.id,
    provider: CLOUD,
    account,
    region: pod.dataCenterId ?? null,
    sku: gpu && cloud ? skuOf(cloud, gpu.id) : null,
    gpuModel: gpu ? modelOf(gpu.id) : null,
    // GpuConfig: absent is the default of one.
    gpus: gpu ? (gpu.count ?? 1) : 0,
    // The API states neither savings plans nor bids of an older API.
    term: null,
    state: status ? STATES[status] : 'unknown',
    billing: billingOf(pod),
    labels: {},
    launchedAt: Number.isNaN(started) ? null : started,
    knownAs: names,
    paid: 'hourly',
    localDisks: true,
    ...(Object.keys(ruledOut).length === 0 ? {} : { ruledOut }),
  };
}

async function pods(client: RestClient, lacks: Lacks): Promise<FleetTarget[]> {
  const all = (await client.read(OPERATIONS.pods, { query: { includeClusterPods: true } })).pods;
  return understood(all, POD, lacks)
    .map((pod) => targetOf(pod, client.settings.account))
    .filter(({ gpus }) => gpus !== 0);
}

/** List prices of one GPU; what a pod itself costs may be less by a plan or a contract. */
async function prices(client: RestClient, lacks: Lacks): Promise<Price[]> {
  const types = understood((await client.read(OPERATIONS.gpuTypes)).gpus, GPU_TYPE, lacks);
  return types.flatMap((type) => {
    const sold = [
      ['SECURE', type.secure, type.price.secure],
      ['COMMUNITY', type.community, type.price.community],
    ] as const;
    return sold.flatMap(([cloud, isSold, hourly]) => {
      const facts = {
        provider: CLOUD,
        sku: skuOf(cloud, type.id),
        region: null,
        term: 'on-demand' as const,
        gpuModel: modelOf(type.id),
        gpus: 1,
        effectiveFrom: 0,
        source: 'Runpod REST API',
      };
      const price = isSold ? instancePrice(facts, hourly, 'USD') : null;
      return price === null ? [] : [price];
    });
  });
}

const action = (name: z.output<typeof ACTION>['action'], detail: string): Change<RestClient> => ({
  permission: OPERATIONS.action.id,
  detail,
  send: async (client, id) => {
    await client.call(OPERATIONS.action, { path: { id }, body: { action: name } }, 'act');
    return null;
  },
});

export const provider: Provider = neocloud<RestClient>({
  name: 'runpod',
  description: 'Runpod: pods with GPUs, list prices',
  settings: {
    name: 'runpod',
    cloud: CLOUD,
    credential: 'API_KEY',
    read: 'API key of Runpod with the permission Read Only',
    act: 'Another API key, which may write, with which it acts; absent: read-only',
    misfit: keyMisfit,
    lists: [],
  },
  permissions: { fleet: [OPERATIONS.pods.id, OPERATIONS.pod.id], prices: [OPERATIONS.gpuTypes.id] },
  id: /^[0-9a-zA-Z-]{1,64}$/,
  open: (settings) => new RestClient(API, settings),
  machines: pods,
  machine: async (client, id) => {
    const found = await client.find(OPERATIONS.pod, { path: { id } });
    return found === null ? null : targetOf(found, client.settings.account);
  },
  prices,
  changes: {
    stop: action('stop', 'Runpod stops the pod; its volume disk is kept and billed'),
    start: action('start', 'Runpod starts the pod'),
    terminate: {
      permission: OPERATIONS.remove.id,
      detail: 'Runpod terminates the pod',
      send: async (client, id) => {
        await client.call(OPERATIONS.remove, { path: { id } }, 'act');
        return null;
      },
    },
  },
  probe: (client, permission) => {
    const asked = [OPERATIONS.pods, OPERATIONS.gpuTypes].find(({ id }) => id === permission);
    return asked === undefined ? null : () => client.ask(asked);
  },
});
