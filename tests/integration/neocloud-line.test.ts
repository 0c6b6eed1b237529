/**
 * Neoclouds through the line, from what runs to what it costs: two readings of the fleet are hours, the clouds' own
 * price lists price them. Servers answer as the clouds' public references say. CoreWeave has no API of machines: its
 * cluster is read, metered and acted on by the Kubernetes connection, and priced by a list that the user brings.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { approveRecommendation, rollBack } from '../../src/application/action/set-action.js';
import { takeSamples } from '../../src/application/fleet/take-samples.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { Policy } from '../../src/core/policy/policy.js';
import type { GpuSample, ProviderConnection } from '../../src/core/ports.js';
import { openBytes } from '../../src/formats/reading/input.js';
import { policy as idleStop } from '../../src/policies/idle-stop.js';
import { provider as kubernetes } from '../../src/providers/kubernetes/kubernetes.js';
import { provider as lambda } from '../../src/providers/lambda/lambda.js';
import { provider as nebius } from '../../src/providers/nebius/nebius.js';
import { provider as runpod } from '../../src/providers/runpod/runpod.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { enqueue } from '../../src/store/work.js';
import { testBursar } from '../support/bursar.js';
import { coreweaveCluster, DEPLOYMENT, play, PODS, REGION, SKU } from '../support/coreweave-world.js';
import { credentials, NebiusServer } from '../support/nebius-server.js';
import { connectTo, lambdaInstance, lambdaServer, NOW, pod, runpodServer } from '../support/neocloud-worlds.js';
import { HOUR } from '../support/records.js';
import { gpuSample } from '../support/makers.js';

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
  const MINUTE = HOUR / 60;
  const QUIET_HOURS = 13;
  const SINCE = NOW - (QUIET_HOURS + 1) * HOUR;
  const policies = [idleStop] as Policy[];
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: NOW, connections, policies, targets: new FleetStore() });
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

  const collect = async (what: 'fleet' | 'usage'): Promise<void> => {
    await enqueue(db, 'default', [{ stage: `${what}.collect`, partition: name, key: `${name}/${what}` }]);
    await runner.drain();
    expect(await stores.work.parked('default')).toEqual([]);
  };
  /** The day before: the pods were there for its last two hours. */
  const twoHours = () =>
    bursar.spend({ groupBy: 'team,provider,sku,region', basis: 'accrued', from: '2026-11-21', to: '2026-11-22' });
  /** An hour of work, then nothing, of each card of each pod. */
  const samples = (): GpuSample[] =>
    PODS.flatMap((one) =>
      [0, 1, 2, 3].flatMap((card) =>
        Array.from({ length: (QUIET_HOURS + 1) * 60 }, (_, minute) =>
          gpuSample({
            resource: `pod/serving/${one}`,
            gpu: `GPU-${one}-${card}`,
            namespace: 'serving',
            pod: one,
            at: SINCE + (minute + 1) * MINUTE,
            gpuUtilisationRatio: minute < 60 ? 0.9 : 0,
            memoryUsedRatio: 0.01,
            memoryUsedMib: 800,
            labels: { Hostname: 'g1a2b3c' },
          }),
        ),
      ),
    );
  const pass = async (): Promise<void> => {
    clock.at += MINUTE;
    await runner.drain();
  };
  const actions = async () => (await stores.actions.list('default', {}, null, 10)).map(({ action }) => action);

  it('is read with instance type, region and GPUs by the labels that CoreWeave sets', async () => {
    await db.transaction((tx) =>
      stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { tag: { key: 'team', value: 'product' } }, team: 'product' }],
        'test',
      ),
    );
    await collect('fleet');
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

  it('has no price of its own, and costs what the list says that the user brings', async () => {
    await collect('usage');
    const place = { team: 'product', provider: 'CoreWeave', sku: SKU, region: REGION };
    expect((await twoHours()).rows).toMatchObject([{ ...place, cost: null, unpricedQuantity: '16.000000' }]);
    const list = `provider,sku,region,gpuModel,gpus,price,currency,per,effectiveFrom
coreweave,${SKU},${REGION},H100,8,49.24,USD,instance-hour,2026-01-01T00:00:00Z
`;
    await bursar.importer.prices([await openBytes('coreweave.csv', Buffer.from(list))], {
      organisation: 'default',
      source: 'coreweave',
      format: 'auto',
      strict: true,
      dryRun: false,
      by: 'test',
    });
    await runner.drain();
    expect((await twoHours()).rows).toMatchObject([{ ...place, cost: '98.480000000', unpricedQuantity: '0.000000' }]);
  });

  it('has an idle Deployment proposed, stopped through the API server, and brought back', async () => {
    const document = readPolicyDocument(
      { name: 'ask', policy: 'idle-stop', teams: ['product'], mode: 'approve', params: {} },
      policies,
    );
    await db.transaction(async (tx) => {
      await applyPolicy(stores, tx, 'default', policies, { document, override: null }, 'author', NOW);
      await takeSamples(stores, tx, 'default', 'dcgm', samples());
      await enqueue(tx, 'default', [{ stage: 'recommendation.make', partition: 'product', key: 'product' }]);
    });
    await runner.drain();
    const [stop, ...others] = await stores.recommendations.list('default', { status: 'open' }, null, 10);
    expect(stop).toMatchObject({ action: 'Stop', target: DEPLOYMENT, team: 'product', obstacles: [] });
    // 8 GPUs for 730 hours.
    expect([stop?.estimatedMonthlyCost, others]).toEqual(['35945.20', []]);

    await db.transaction((tx) => approveRecommendation(stores, tx, 'default', stop!.id, 'boss', clock.at));
    await runner.drain();
    expect(api.one('deployments', 'chat').spec['replicas']).toBe(0);
    expect(await actions()).toMatchObject([{ state: 'applied', effect: { kind: 'scale', replicas: 0 } }]);
    play(api, 0, NOW);
    await pass();
    const [stopped] = await actions();
    expect(stopped).toMatchObject({ state: 'confirmed', after: { state: 'stopped', billing: 'ended' } });

    await db.transaction((tx) => rollBack(stores, tx, 'default', stopped!.id, 'boss', { underStop: false }, clock.at));
    await runner.drain();
    expect(api.one('deployments', 'chat').spec['replicas']).toBe(2);
    play(api, 2, clock.at);
    await pass();
    expect((await actions()).map(({ state }) => state).sort()).toEqual(['confirmed', 'rolled-back']);
  });
});
