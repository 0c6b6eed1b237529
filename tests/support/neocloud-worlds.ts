/** Accounts at neoclouds for tests: what lies in them, and what their requests do to it. */
import type { Clock } from '../../src/core/time.js';
import type { Provider, ProviderConnection } from '../../src/core/ports.js';
import { KEYS, NeocloudServer, type Answer } from './neocloud-server.js';

export const NOW = Date.UTC(2026, 10, 22, 12);

/** A connection to a server of these. @param over settings without their prefix; undefined takes one away */
export function connectTo(
  provider: Provider,
  server: NeocloudServer,
  clock: Clock,
  over: Readonly<Record<string, string | undefined>> = {},
): ProviderConnection {
  const given = { READ_API_KEY: KEYS.read, ACT_API_KEY: KEYS.act, ENDPOINT: server.url, TIMEOUT_SECONDS: '2', ...over };
  const prefix = `BURSAR_${provider.name.toUpperCase()}_`;
  const connection = provider.connect(
    Object.fromEntries(Object.entries(given).map(([name, value]) => [prefix + name, value])),
    clock,
  );
  if (connection === null) throw new Error('there is no connection');
  return connection;
}

const ok = (body: unknown): Answer => ({ status: 200, body });

const can = { available: true };
const ACTIONS = { migrate: can, rebuild: can, restart: can, cold_reboot: can, terminate: can };
const lambdaType = (name: string, gpu: string, cents: number, gpus: number): Record<string, unknown> => ({
  name,
  description: gpu,
  gpu_description: gpu,
  price_cents_per_hour: cents,
  specs: { vcpus: 26, memory_gib: 200, storage_gib: 1024, gpus },
});
export const LAMBDA_TYPES = {
  h100: lambdaType('gpu_8x_h100_sxm5', 'H100 (80 GB SXM5)', 2392, 8),
  a10: lambdaType('gpu_1x_a10', 'A10 (24 GB PCIe)', 75, 1),
  cpu: lambdaType('cpu_4x_general', 'N/A', 9, 0),
};

export interface LambdaInstance extends Record<string, unknown> {
  id: string;
  status: string;
}
export const lambdaInstance = (id: string, over: Readonly<Record<string, unknown>> = {}): LambdaInstance => ({
  id,
  name: `${id}-name`,
  ip: '203.0.113.7',
  private_ip: '10.19.60.24',
  status: 'active',
  ssh_key_names: ['ops'],
  file_system_names: [],
  region: { name: 'us-west-1', description: 'California, USA' },
  instance_type: LAMBDA_TYPES.h100,
  hostname: `${id}.cloud.lambda.ai`,
  actions: ACTIONS,
  tags: [{ key: 'team', value: 'research' }],
  ...over,
});
export const blockedTerminate = { ...ACTIONS, terminate: { available: false, reason_code: 'vm-has-not-launched' } };

const LAMBDA_CODES: Readonly<Record<number, string>> = {
  401: 'global/invalid-api-key',
  404: 'global/object-does-not-exist',
};
export const lambdaFailure = (status: number): unknown => ({
  error: { code: LAMBDA_CODES[status] ?? 'global/unknown', message: 'It did not work.', suggestion: 'Try another.' },
});

/** An account at Lambda with these instances. */
export function lambdaServer(instances: LambdaInstance[]): Promise<NeocloudServer> {
  const found = (id: unknown): LambdaInstance | undefined => instances.find((one) => one.id === id);
  return NeocloudServer.start(
    'lambda',
    {
      listInstances: () => ok({ data: instances.filter(({ status }) => status !== 'terminated') }),
      getInstance: ({ path }) => {
        const one = found(path['id']);
        return one === undefined ? { status: 404, body: lambdaFailure(404) } : ok({ data: one });
      },
      listInstanceTypes: () =>
        ok({
          data: Object.fromEntries(
            Object.values(LAMBDA_TYPES).map((type) => [
              type['name'],
              { instance_type: type, regions_with_capacity_available: [] },
            ]),
          ),
        }),
      terminateInstance: ({ body }) => {
        const ended = (body as { instance_ids: string[] }).instance_ids.flatMap((id) => found(id) ?? []);
        if (ended.length === 0) return { status: 404, body: lambdaFailure(404) };
        for (const one of ended) one.status = 'terminated';
        return ok({ data: { terminated_instances: ended } });
      },
    },
    lambdaFailure,
  );
}

export interface Pod extends Record<string, unknown> {
  id: string;
  status: string;
}
export const pod = (id: string, over: Readonly<Record<string, unknown>> = {}): Pod => ({
  id,
  name: `${id}-name`,
  status: 'RUNNING',
  actions: ['stop', 'restart', 'terminate'],
  image: 'pytorch:2.9',
  args: '',
  disk: 40,
  mounts: { persistent: { size: 100, path: '/workspace' } },
  ports: ['22/tcp'],
  env: { HF_TOKEN: 'never-to-be-read' },
  registry: null,
  gpu: { id: 'NVIDIA H100 80GB HBM3', count: 2 },
  cloud: 'SECURE',
  dataCenterId: 'US-KS-2',
  cudaVersion: '12.8',
  ssh: { proxy: null, direct: null },
  template: null,
  cost: 5.38,
  locked: false,
  globalNetworking: { enabled: true, ip: '10.2.0.9', internalDns: `${id}.runpod.internal` },
  runtime: null,
  createdAt: '2026-11-20T08:00:00Z',
  startedAt: '2026-11-22T09:30:00Z',
  ...over,
});

const gpuType = (
  id: string,
  price: Readonly<Record<string, number>>,
  over: Readonly<Record<string, unknown>> = {},
) => ({
  id,
  name: id,
  pool: null,
  manufacturer: 'NVIDIA',
  memory: 80,
  secure: true,
  community: true,
  price,
  maxCount: { secure: 8, community: 8 },
  ...over,
});

const RUNPOD_TITLES: Readonly<Record<number, string>> = { 401: 'Unauthorized', 404: 'Not Found', 409: 'Conflict' };
export const runpodFailure = (status: number): unknown => ({
  title: RUNPOD_TITLES[status] ?? 'Error',
  status,
  detail: 'It did not work.',
});

/** An account at Runpod with these pods. */
export function runpodServer(pods: Pod[]): Promise<NeocloudServer> {
  const found = (id: unknown): Pod | undefined => pods.find((one) => one.id === id);
  const none: Answer = { status: 404, body: runpodFailure(404) };
  return NeocloudServer.start(
    'runpod',
    {
      listPods: () => ok({ pods }),
      getPod: ({ path }) => {
        const one = found(path['id']);
        return one === undefined ? none : ok(one);
      },
      listGpuTypes: () =>
        ok({
          gpus: [
            gpuType('NVIDIA H100 80GB HBM3', { secure: 2.69, community: 2.49 }),
            gpuType('NVIDIA GeForce RTX 4090', { secure: 0.59, community: 0.34 }, { secure: false }),
          ],
        }),
      podAction: ({ path, body }) => {
        const one = found(path['id']);
        const wanted = (body as { action: string }).action === 'stop' ? 'EXITED' : 'RUNNING';
        if (one === undefined) return none;
        if (one.status === wanted) return { status: 409, body: runpodFailure(409) };
        one.status = wanted;
        one['cost'] = wanted === 'EXITED' ? 0 : 5.38;
        return ok(one);
      },
      deletePod: ({ path }) => {
        const at = pods.findIndex((one) => one.id === path['id']);
        if (at < 0) return none;
        pods.splice(at, 1);
        return { status: 204, body: null };
      },
    },
    runpodFailure,
  );
}
