/**
 * Neoclouds through the line, from what runs to what it costs: two readings of the fleet are hours, the clouds' own
 * price lists price them. Servers answer as the clouds' public references say. CoreWeave has no API of machines: its
 * cluster is read by the Kubernetes connection.
 */
import { afterAll, describe, expect, it } from 'vitest';
import type { ProviderConnection } from '../../src/core/ports.js';
import { provider as kubernetes } from '../../src/providers/kubernetes/kubernetes.js';
import { provider as lambda } from '../../src/providers/lambda/lambda.js';
import { provider as nebius } from '../../src/providers/nebius/nebius.js';
import { provider as runpod } from '../../src/providers/runpod/runpod.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { enqueue } from '../../src/store/work.js';
import { testBursar } from '../support/bursar.js';
import { coreweaveCluster, DEPLOYMENT, REGION, SKU } from '../support/coreweave-world.js';
import { credentials, NebiusServer } from '../support/nebius-server.js';
import { connectTo, lambdaInstance, lambdaServer, NOW, pod, runpodServer } from '../support/neocloud-worlds.js';
import { HOUR } from '../support/records.js';

const PRESET = '8gpu-128vcpu-1600gb';
const PLATFORMS = {
  items: [
    {
      metadata: { name: 'gpu-h100-sxm' },
      spec: {
        presets: [{ name: PRESET, resources: { gpu_count: 8, vcpu_count: 128 } }],
        human_readable_name: 'NVIDIA® H100 NVLink with Intel Sapphire Rapids',
        gpu_memory_gigabytes: 80,
      },
    },
  ],
};
const MACHINE = {
  metadata: { id: 'computeinstance-e00train', parent_id: 'project-e00ml', name: 'train', labels: { team: 'research' } },
  spec: { resources: { platform: 'gpu-h100-sxm', preset: PRESET } },
  status: { state: 'RUNNING' },
};
/** What the calculator says of an hour of the one preset. */
const ESTIMATE = {
  currency: 'usd',
  resource_costs: [
    {
      metadata: { name: 'bursar-0' },
      aggregation_unit: { unit_type: 'UNIT_TYPE_TIME_BASED', unit: 'hour' },
      general: { total: { cost: '23.6' } },
    },
  ],
};

describe('an hour of machines at neoclouds', async () => {
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: NOW, connections });
  const { db, stores, clock, runner } = bursar;
  const lambdaCloud = await lambdaServer([lambdaInstance('i1'), lambdaInstance('i2', { status: 'terminated' })]);
  const runpodCloud = await runpodServer([pod('p1'), pod('p2', { status: 'EXITED', cost: 0 })]);
  const nebiusCloud = await NebiusServer.start(
    {
      'nebius.compute.v1.InstanceService/List': () => ({ reply: { items: [MACHINE] } }),
      'nebius.compute.v1.PlatformService/List': () => ({ reply: PLATFORMS }),
      'nebius.billing.v1.CalculatorService/EstimateBatch': () => ({ reply: ESTIMATE }),
    },
    clock.now,
  );
  afterAll(async () => {
    for (const connection of connections.values()) await connection.close?.();
    await Promise.all([lambdaCloud.stop(), runpodCloud.stop(), nebiusCloud.stop()]);
  });
  connections.set('lambda', connectTo(lambda, lambdaCloud, clock));
  connections.set('runpod', connectTo(runpod, runpodCloud, clock));
  const ofNebius = nebius.connect(
    {
      BURSAR_NEBIUS_READ_CREDENTIALS: credentials('read'),
      BURSAR_NEBIUS_PROJECTS: 'project-e00ml',
      BURSAR_NEBIUS_ENDPOINT: nebiusCloud.url,
    },
    clock,
  );
  if (ofNebius !== null) connections.set('nebius', ofNebius);

  const collect = async (what: 'fleet' | 'prices'): Promise<void> => {
    const stage = what === 'fleet' ? 'fleet.collect' : 'price.collect';
    const items = [...connections.keys()].map((name) => ({ stage, partition: name, key: `${name}/${what}` }));
    await enqueue(db, 'default', items);
    await runner.drain();
    expect(await stores.work.parked('default')).toEqual([]);
  };

  it('is priced by what each cloud lists for it, and what stands still is not', async () => {
    await collect('prices');
    for (let minutes = 0; minutes <= 60; minutes += 5) {
      await collect('fleet');
      clock.at += HOUR / 12;
    }
    const { rows } = await bursar.spend({ groupBy: 'provider,sku', basis: 'accrued' });
    expect(rows.map(({ provider, sku, cost, unpricedQuantity }) => [provider, sku, cost, unpricedQuantity])).toEqual([
      ['Lambda', 'gpu_8x_h100_sxm5', '23.920000000', '0.000000'],
      ['Nebius', `gpu-h100-sxm/${PRESET}`, '23.600000000', '0.000000'],
      ['Runpod', 'SECURE/NVIDIA H100 80GB HBM3', '5.380000000', '0.000000'],
    ]);
  });
});

describe('a cluster at CoreWeave', async () => {
  const SINCE = NOW - 14 * HOUR;
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: NOW, connections, targets: new FleetStore() });
  const { db, stores, clock, runner } = bursar;
  const api = await coreweaveCluster(SINCE);
  afterAll(() => api.wire.close());
  const connected = kubernetes.connect(
    {
      BURSAR_KUBERNETES_SERVER: api.wire.url,
      BURSAR_KUBERNETES_TOKEN: 'token-for-reading',
      BURSAR_KUBERNETES_ACT_TOKEN: 'token-for-acting',
      BURSAR_KUBERNETES_PROVIDER: 'CoreWeave',
      BURSAR_KUBERNETES_CLUSTER: 'inference',
    },
    clock,
  );
  if (connected === null) throw new Error('there is no connection');
  const { name } = connected;
  connections.set(name, connected);

  it('is read with instance type, region and GPUs by the labels that CoreWeave sets', async () => {
    await enqueue(db, 'default', [{ stage: 'fleet.collect', partition: name, key: `${name}/fleet` }]);
    await runner.drain();
    expect(await stores.work.parked('default')).toEqual([]);
    const { targets, complete } = await connected.fleet!();
    const h100 = { provider: 'CoreWeave', sku: SKU, region: REGION, gpuModel: 'H100', gpus: 8, term: null };
    expect(complete).toBe(true);
    expect(Object.fromEntries(targets.map((one) => [one.target, one]))).toMatchObject({
      'node/g1a2b3c': { ...h100, state: 'running', knownAs: ['g1a2b3c', '10.202.192.7'] },
      'node/c4d5e6f': { sku: 'cd-gp-a192-genoa', region: REGION, gpuModel: null, gpus: 0 },
      'node-pool/h100': h100,
      [DEPLOYMENT]: { provider: 'CoreWeave', gpuModel: 'H100', gpus: 4, replicas: { desired: 2, ready: 2 } },
    });
  });
});
