/**
 * From a stock dcgm-exporter to a recommendation: a real Prometheus with a day of its series, without a label that
 * names a provider, a SKU or a team; the fleet as the parts of the providers read it; the default policies. What is
 * idle is proposed with its price and its team; where something is missing nothing is proposed, and the reason is
 * there.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ProviderConnection } from '../../src/core/ports.js';
import type { Price } from '../../src/core/price/price.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { policy as idleStop } from '../../src/policies/idle-stop.js';
import type { Policy } from '../../src/core/policy/policy.js';
import { provider as alibaba } from '../../src/providers/alibaba/alibaba.js';
import { provider as kubernetes } from '../../src/providers/kubernetes/kubernetes.js';
import { provider as tencent } from '../../src/providers/tencent/tencent.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { explain } from '../../src/application/policy/explain.js';
import { enqueue } from '../../src/store/work.js';
import { source } from '../../src/telemetry/prometheus.js';
import { call, connect as connectAws, reading, reply } from '../support/aws-wire.js';
import { backfill, dcgmHistory, type MeasuredMachine } from '../support/backfill.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { startPrometheus, type PrometheusServer } from '../support/exporter.js';
import { KubernetesApi } from '../support/kubernetes-api.js';
import { describeWith, findProgram } from '../support/programs.js';
import { rpcServer, type RpcServer } from '../support/rpc-server.js';
import { WireServer } from '../support/wire-server.js';

const NOW = Date.UTC(2026, 10, 20, 12);
const HOURS = 17;
const clock = { now: () => NOW };
const LAUNCHED = '2026-10-01T08:00:00.000Z';

/** Five hours of work, then nothing. */
const idle = (minutesBefore: number): number => (minutesBefore < 12 * 60 ? 0 : 93);
const busy = (): number => 93;

interface Ec2 {
  readonly id: string;
  readonly type: string;
  readonly vpc: string;
  readonly address: string;
  readonly spot?: true;
}

/** DescribeInstances as EC2 writes it (Amazon EC2 API Reference). */
const instancesXml = (all: readonly Ec2[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?><DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>1</requestId><reservationSet><item><reservationId>r-1</reservationId><ownerId>123456789012</ownerId><instancesSet>${all
    .map(
      ({ id, type, vpc, address, spot }) =>
        `<item><instanceId>${id}</instanceId><instanceState><code>16</code><name>running</name></instanceState><privateDnsName>ip-${address.replaceAll('.', '-')}.ec2.internal</privateDnsName><privateIpAddress>${address}</privateIpAddress><instanceType>${type}</instanceType><launchTime>${LAUNCHED}</launchTime><placement><availabilityZone>us-east-1a</availabilityZone><tenancy>default</tenancy></placement><vpcId>${vpc}</vpcId>${spot === true ? '<instanceLifecycle>spot</instanceLifecycle>' : ''}<tagSet><item><key>team</key><value>vision</value></item></tagSet></item>`,
    )
    .join('')}</instancesSet></item></reservationSet></DescribeInstancesResponse>`;

const EC2: readonly Ec2[] = [
  { id: 'i-0idle', type: 'p4d.24xlarge', vpc: 'vpc-a', address: '10.0.1.23' },
  { id: 'i-0busy', type: 'p4d.24xlarge', vpc: 'vpc-a', address: '10.0.1.24' },
  { id: 'i-0twin1', type: 'p4d.24xlarge', vpc: 'vpc-a', address: '10.0.9.9' },
  { id: 'i-0twin2', type: 'p4d.24xlarge', vpc: 'vpc-b', address: '10.0.9.9' },
  { id: 'i-0half', type: 'p4d.24xlarge', vpc: 'vpc-a', address: '10.0.1.30' },
  { id: 'i-0spot', type: 'g5.xlarge', vpc: 'vpc-a', address: '10.0.1.31', spot: true },
];

const A100 = 'NVIDIA A100-SXM4-40GB';
const ec2 = (address: string, over: Partial<MeasuredMachine> = {}): MeasuredMachine => ({
  instance: `${address}:9400`,
  hostname: `ip-${address.replaceAll('.', '-')}`,
  modelName: A100,
  gpus: 8,
  busyPercent: idle,
  ...over,
});

const MACHINES: readonly MeasuredMachine[] = [
  ec2('10.0.1.23'),
  ec2('10.0.1.24', { busyPercent: busy }),
  ec2('10.0.9.9'),
  // Half of its cards are measured.
  ec2('10.0.1.30', { gpus: 4 }),
  ec2('10.0.1.31', { gpus: 1, modelName: 'NVIDIA A10G' }),
  // Tencent tells no host name, Alibaba tells both, nobody knows the last.
  { ...ec2('172.16.0.17', { gpus: 1, modelName: 'Tesla T4' }), hostname: 'VM-0-17-ubuntu' },
  { ...ec2('192.168.3.4', { gpus: 1, modelName: 'NVIDIA A10' }), hostname: 'iZbp1train0Z' },
  { ...ec2('10.9.9.99', { gpus: 2 }), hostname: 'under-the-desk' },
  // On Kubernetes: the exporter's target has a pod of its own, and the cards' pods are renamed.
  ec2('10.1.0.5', {
    hostname: 'gpu-a',
    gpus: 2,
    labels: () => ({ exported_container: 'main', exported_namespace: 'ml', exported_pod: 'trainer-5d9f7c6b8-aaaaa' }),
    target: { namespace: 'gpu-operator', pod: 'dcgm-exporter-1', container: 'exporter' },
  }),
];

const TENCENT = {
  InstanceId: 'ins-idle01',
  InstanceName: 'idle',
  InstanceType: 'GN7.2XLARGE32',
  InstanceState: 'RUNNING',
  InstanceChargeType: 'POSTPAID_BY_HOUR',
  CreatedTime: LAUNCHED,
  GPUInfo: { GPUCount: 1, GPUType: 'T4' },
  Tags: [{ Key: 'team', Value: 'speech' }],
  PrivateIpAddresses: ['172.16.0.17'],
  VirtualPrivateCloud: { VpcId: 'vpc-t1' },
};
const ALIBABA = {
  InstanceId: 'i-bp1train',
  InstanceName: 'train',
  HostName: 'iZbp1train0Z',
  InstanceType: 'ecs.gn7i-c16g1.4xlarge',
  Status: 'Running',
  InstanceChargeType: 'PostPaid',
  SpotStrategy: 'NoSpot',
  GPUAmount: 1,
  GPUSpec: 'NVIDIA A10',
  StartTime: '2026-10-01T08:00Z',
  VpcAttributes: { VpcId: 'vpc-bp1', PrivateIpAddress: { IpAddress: ['192.168.3.4'] } },
  Tags: { Tag: [{ TagKey: 'team', TagValue: 'speech' }] },
};

const price = (
  provider: string,
  sku: string,
  region: string,
  perHour: string,
  over: Parameters<typeof instancePrice>[1] = {},
): Price => instancePrice(perHour, { provider, sku, region, ...over });

describeWith('prometheus', 'Stock evidence', (program) => {
  const promtool = findProgram('promtool') ?? 'promtool';
  let [aws, api, cvm, ecs]: [WireServer?, KubernetesApi?, RpcServer?, RpcServer?] = [];
  let prometheus: PrometheusServer | null = null;
  let world: Awaited<ReturnType<typeof start>>;

  async function start() {
    const bursar = await testBursar({ now: NOW, targets: new FleetStore() });
    const { db, stores } = bursar;
    const connections = new Map<string, ProviderConnection>([
      ['aws', connectAws(reading(aws!), clock)],
      ['tencent', tencentConnection(cvm!)],
      ['alibaba', alibabaConnection(ecs!)],
      ['kubernetes:east', kubernetesConnection(api!)],
    ]);
    const telemetry = source.connect({ BURSAR_PROMETHEUS_URL: prometheus!.url }, clock)!;
    const runner = new Runner(db, stores.work, clock, makeLine(stores, [idleStop as Policy], [telemetry], connections));
    await db.transaction((tx) =>
      stores.organisations.saveRules(
        tx,
        'default',
        ['vision', 'speech', 'research'].map((team) => ({ match: { tag: { key: 'team', value: team } }, team })),
        'test',
      ),
    );
    await bursar.setPrices([
      price('AWS', 'p4d.24xlarge', 'us-east-1', '32.77', { gpuModel: 'A100-40GB' }),
      price('AWS', 'g5.xlarge', 'us-east-1', '1.006', { gpuModel: 'A10G', gpus: 1 }),
      price('AWS', 'g5.xlarge', 'us-east-1', '0.4', { gpuModel: 'A10G', gpus: 1, term: 'spot' }),
      price('AWS', 'p4d.24xlarge', 'us-east-1', '12', { gpuModel: 'A100-40GB', term: 'spot' }),
      price('Tencent Cloud', 'GN7.2XLARGE32', 'ap-guangzhou', '1.5', { gpuModel: 'T4', gpus: 1 }),
      price('Alibaba Cloud', 'ecs.gn7i-c16g1.4xlarge', 'cn-hangzhou', '1.8', { gpuModel: 'A10', gpus: 1 }),
    ]);
    return { ...bursar, runner, connections };
  }

  const collect = async (
    stages: readonly (readonly [stage: string, partition: string, key: string])[],
  ): Promise<void> => {
    const { db, runner } = world;
    await enqueue(
      db,
      'default',
      stages.map(([stage, partition, key]) => ({ stage, partition, key })),
    );
    await runner.drain();
  };
  const fleets = () =>
    collect([...world.connections.keys()].map((name) => ['fleet.collect', name, `${name}/fleet`] as const));
  const proposals = async (team: string) =>
    (await world.stores.recommendations.list('default', { team, status: 'open' }, null, 50)).map(
      ({ action, target, estimatedMonthlyCost, policy }) => [policy, action, target, estimatedMonthlyCost],
    );

  beforeAll(async () => {
    [aws, api, cvm, ecs] = await Promise.all([
      WireServer.start(),
      KubernetesApi.start(),
      rpcServer('tencent', { reader: 'secret' }),
      rpcServer('alibaba', { reader: 'secret' }),
    ]);
    // One pod of the fixture's three is there, and it is measured.
    api.edit('deployments', 'trainer', ({ spec, status }) => {
      spec['replicas'] = 1;
      Object.assign(status ?? {}, { replicas: 1, readyReplicas: 1, availableReplicas: 1 });
    });
    aws.on(call('DescribeInstances'), {
      headers: { 'content-type': 'text/xml;charset=UTF-8' },
      body: instancesXml(EC2),
    });
    aws.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
    aws.on(call('DescribeAutoScalingGroups'), reply('describe-auto-scaling-groups-none.xml'));
    cvm.play('DescribeInstances', { body: { Response: { RequestId: '1', TotalCount: 1, InstanceSet: [TENCENT] } } });
    cvm.play('DescribeAutoScalingGroups', {
      body: { Response: { RequestId: '1', TotalCount: 0, AutoScalingGroupSet: [] } },
    });
    cvm.play('DescribeAutoScalingInstances', {
      body: { Response: { RequestId: '1', TotalCount: 0, AutoScalingInstanceSet: [] } },
    });
    ecs.play('DescribeInstances', { body: { RequestId: '1', NextToken: '', Instances: { Instance: [ALIBABA] } } });
    ecs.play('DescribeInstanceTypes', {
      body: {
        RequestId: '1',
        InstanceTypes: {
          InstanceType: [
            { InstanceTypeId: 'ecs.gn7i-c16g1.4xlarge', GPUAmount: 1, GPUSpec: 'NVIDIA A10', GPUMemorySize: 24 },
          ],
        },
      },
    });
    ecs.play('DescribeScalingGroups', { body: { RequestId: '1', TotalCount: 0, ScalingGroups: [] } });
    ecs.play('DescribeScalingInstances', { body: { RequestId: '1', TotalCount: 0, ScalingInstances: [] } });
    prometheus = await startPrometheus(program, [], (data) =>
      backfill(promtool, dcgmHistory(MACHINES, NOW, HOURS * 60), data),
    );
    world = await start();
  }, 120_000);
  afterAll(async () => {
    await prometheus?.close();
    for (const server of [aws, api?.wire, cvm, ecs]) await server?.close();
  });

  it('is silent with a reason as long as no fleet is known', async () => {
    await collect([['sample.collect', 'prometheus', 'prometheus']]);
    const measured = await world.stores.measured.list(world.db, 'default', NOW - 60_000, null);
    expect(measured.map(({ resource, because, gpus }) => [resource, because, gpus])).toEqual([
      ['VM-0-17-ubuntu', 'unknown-machine', 1],
      ['iZbp1train0Z', 'unknown-machine', 1],
      ['ip-10-0-1-23', 'unknown-machine', 8],
      ['ip-10-0-1-24', 'unknown-machine', 8],
      ['ip-10-0-1-30', 'unknown-machine', 4],
      ['ip-10-0-1-31', 'unknown-machine', 1],
      ['ip-10-0-9-9', 'unknown-machine', 8],
      ['pod/ml/trainer-5d9f7c6b8-aaaaa', 'unknown-pod', 2],
      ['under-the-desk', 'unknown-machine', 2],
    ]);
    for (const team of ['vision', 'speech', 'research', 'unallocated']) expect(await proposals(team)).toEqual([]);
  }, 60_000);

  it('joins what was measured to each provider’s machines and pods, with team, price and term of the fleet', async () => {
    await fleets();
    const measured = await world.stores.measured.list(world.db, 'default', NOW - 60_000, null);
    expect(
      measured.map(({ resource, team, connection, target, because }) => [resource, team, connection, target, because]),
    ).toEqual([
      ['VM-0-17-ubuntu', 'speech', 'tencent', 'instance/ap-guangzhou/ins-idle01', null],
      ['iZbp1train0Z', 'speech', 'alibaba', 'instance/cn-hangzhou/i-bp1train', null],
      ['ip-10-0-1-23', 'vision', 'aws', 'instance/us-east-1/i-0idle', null],
      ['ip-10-0-1-24', 'vision', 'aws', 'instance/us-east-1/i-0busy', null],
      ['ip-10-0-1-30', 'vision', 'aws', 'instance/us-east-1/i-0half', null],
      ['ip-10-0-1-31', 'vision', 'aws', 'instance/us-east-1/i-0spot', null],
      ['ip-10-0-9-9', 'unallocated', null, null, 'ambiguous'],
      ['pod/ml/trainer-5d9f7c6b8-aaaaa', 'research', 'kubernetes:east', 'deployment/ml/trainer', null],
      ['under-the-desk', 'unallocated', null, null, 'unknown-machine'],
    ]);
  }, 60_000);

  it('ends in a proposal to stop what is idle, at the price of its term, and in none where the evidence is not whole', async () => {
    expect(await proposals('vision')).toEqual([
      ['idle-stop', 'Stop', 'instance/us-east-1/i-0idle', '23922.10'],
      ['idle-stop', 'Stop', 'instance/us-east-1/i-0spot', '292.00'],
    ]);
    expect(await proposals('speech')).toEqual([
      ['idle-stop', 'Stop', 'instance/ap-guangzhou/ins-idle01', '1095.00'],
      ['idle-stop', 'Stop', 'instance/cn-hangzhou/i-bp1train', '1314.00'],
    ]);
    expect(await proposals('research')).toEqual([['idle-stop', 'Stop', 'deployment/ml/trainer', '2190.00']]);
    expect(await proposals('unallocated')).toEqual([]);
  }, 60_000);

  it('tells with each what its stop brings with it, and that its connection may only read', async () => {
    const made = await world.stores.recommendations.list('default', { status: 'open' }, null, 50);
    const found = (target: string) => made.find((one) => one.target === target)!;
    expect(found('instance/us-east-1/i-0idle').risk.note).toContain('Its cloud may have no such machine free');
    expect(found('instance/us-east-1/i-0idle').risk.note).not.toContain('billed on');
    for (const target of ['instance/cn-hangzhou/i-bp1train', 'instance/ap-guangzhou/ins-idle01'])
      expect(found(target).risk.note).toContain(`whether ${target} is still billed shows only after the stop`);
    const stops = made.filter(({ policy }) => policy === 'idle-stop');
    expect(stops.map(({ actionId, obstacles }) => [actionId, obstacles[0]?.code])).toEqual(
      stops.map(() => [null, 'cannot-act']),
    );
    expect(stops).toHaveLength(5);
  }, 60_000);

  it('explains what is left alone, and what would make the policy act', async () => {
    const { stores } = world;
    const explained = async (asked: string): Promise<unknown[]> => {
      const { target, team, looks } = await explain(stores, [idleStop as Policy], 'default', asked, NOW);
      return [target, team, ...looks.map(({ policy, leftAlone }) => [policy, leftAlone?.code ?? 'proposes'])];
    };
    expect(await explained('ip-10-0-1-24')).toEqual(['instance/us-east-1/i-0busy', 'vision', ['idle-stop', 'working']]);
    expect(await explained('10.0.1.30')).toEqual([
      'instance/us-east-1/i-0half',
      'vision',
      ['idle-stop', 'part-measured'],
    ]);
    expect(await explained('i-0idle')).toEqual(['instance/us-east-1/i-0idle', 'vision', ['idle-stop', 'proposes']]);
    expect(await explained('ip-10-0-9-9')).toEqual(['ip-10-0-9-9', 'unallocated', ['idle-stop', 'no-price']]);
    const { known } = await explain(stores, [idleStop as Policy], 'default', 'ip-10-0-9-9', NOW);
    expect(known.join()).toMatch(/could be instance\/us-east-1\/i-0twin1 of aws, instance\/us-east-1\/i-0twin2 of aws/);
    await expect(explained('nobody')).rejects.toMatchObject({ kind: 'missing' });
  }, 60_000);
});

function tencentConnection(server: RpcServer): ProviderConnection {
  return tencent.connect(
    {
      BURSAR_TENCENT_REGIONS: 'ap-guangzhou',
      BURSAR_TENCENT_READ_SECRET_ID: 'reader',
      BURSAR_TENCENT_READ_SECRET_KEY: 'secret',
      BURSAR_TENCENT_ENDPOINT: server.url,
    },
    clock,
  )!;
}

function alibabaConnection(server: RpcServer): ProviderConnection {
  return alibaba.connect(
    {
      BURSAR_ALIBABA_REGIONS: 'cn-hangzhou',
      BURSAR_ALIBABA_READ_ACCESS_KEY_ID: 'reader',
      BURSAR_ALIBABA_READ_ACCESS_KEY_SECRET: 'secret',
      BURSAR_ALIBABA_ENDPOINT_ECS: server.url,
      BURSAR_ALIBABA_ENDPOINT_ESS: server.url,
      BURSAR_ALIBABA_ENDPOINT_BSS: server.url,
    },
    clock,
  )!;
}

function kubernetesConnection(api: KubernetesApi): ProviderConnection {
  return kubernetes.connect(
    {
      BURSAR_KUBERNETES_SERVER: api.wire.url,
      BURSAR_KUBERNETES_TOKEN: 'token-for-reading',
      BURSAR_KUBERNETES_CLUSTER: 'east',
    },
    clock,
  )!;
}
