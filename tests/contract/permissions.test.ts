/**
 * What each cloud tells about the permissions of its credentials, through the real clients: rehearsals and readings
 * that are answered as the clouds answer them, by a server that counts every request that would have changed something.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ProviderConnection } from '../../src/core/ports.js';
import { loadProviders } from '../../src/parts.js';
import { provider as alibaba } from '../../src/providers/alibaba/alibaba.js';
import { provider as aws } from '../../src/providers/aws/aws.js';
import { provider as azure } from '../../src/providers/azure/azure.js';
import { provider as gcp } from '../../src/providers/gcp/gcp.js';
import { provider as kubernetes } from '../../src/providers/kubernetes/kubernetes.js';
import { provider as tencent } from '../../src/providers/tencent/tencent.js';
import {
  acting,
  ACT_KEY,
  call,
  connect,
  jsonError,
  parametersOf,
  reading,
  reply as awsReply,
  signedBy,
} from '../support/aws-wire.js';
import { AzureCloud, DENIED } from '../support/azure-cloud.js';
import { GoogleApi } from '../support/google-api.js';
import { connectGoogle } from '../support/google-world.js';
import { KubernetesApi } from '../support/kubernetes-api.js';
import { reply, rpcServer, type Play, type RpcServer } from '../support/rpc-server.js';
import { WireServer, type WireReply } from '../support/wire-server.js';
import { describePermissionContract } from './contract.js';

const NOW = Date.UTC(2026, 9, 20, 12);
const clock = { now: () => NOW };

/** Their permissions are asked for below. */
const ASKED = ['alibaba', 'aws', 'azure', 'gcp', 'kubernetes', 'tencent'];
/** Theirs are asked for in tests of their own: neocloud.test.ts, nebius.test.ts. */
const ASKED_THERE = ['lambda', 'nebius', 'runpod'];
/**
 * They have no cloud to ask: a contract of requests, whose receiver refuses when it is asked to act, and a cloud in
 * memory.
 */
const WITHOUT = ['fake', 'matpool', 'webhook'];

it('is known of every provider whether it can be asked', async () => {
  const named = [...ASKED, ...ASKED_THERE, ...WITHOUT].sort();
  const hint = 'each provider stands in one of the lists above, by where its permissions are asked for';
  expect((await loadProviders()).map(({ name }) => name).sort(), hint).toEqual(named);
});

describe('AWS', () => {
  let server: WireServer;
  beforeAll(async () => void (server = await WireServer.start()));
  afterEach(() => {
    expect(server.unmatched.map(parametersOf)).toEqual([]);
    server.reset();
  });
  afterAll(() => server.close());

  const CHANGING = /^(?:Stop|Start|Terminate|Modify|Run|Create|Purchase|Update|Set)/;
  let changes = 0;
  /** EC2 as it answers rehearsals; a permission that is denied is named in the message. */
  function play({
    denied = [],
    keepsToDryRun = true,
    because = (action: string) => `ec2:${action}`,
  }: {
    denied?: readonly string[];
    keepsToDryRun?: boolean;
    because?: (action: string) => string;
  } = {}): void {
    changes = 0;
    const rehearsed = (action: string): WireReply => {
      if (!denied.includes(action)) return { ...awsReply('dry-run-operation.xml'), status: 412 };
      return { ...awsReply('unauthorized-operation.xml', { 'ec2:StopInstances': because(action) }), status: 403 };
    };
    server.on(
      (request) => CHANGING.test(String(parametersOf(request)['Action'])),
      (request) => {
        const { Action, DryRun } = parametersOf(request);
        if (DryRun === 'true' && keepsToDryRun) return rehearsed(String(Action));
        changes += 1;
        return awsReply('stop-instances.xml');
      },
    );
    server.on(call('DescribeInstances'), awsReply('describe-instances-1.xml', { '<nextToken>page-2</nextToken>': '' }));
    server.on(call('DescribeInstanceTypes'), awsReply('describe-instance-types.xml'));
    server.on(call('DescribeAutoScalingGroups'), awsReply('describe-auto-scaling-groups-none.xml'));
    server.on(call('DescribeLifecycleHooks'), awsReply('describe-lifecycle-hooks.xml'));
    server.on(call('DescribePolicies'), awsReply('describe-policies.xml'));
    server.on(call('DescribeLaunchTemplateVersions'), awsReply('describe-launch-template-versions.xml'));
    server.on(
      call('GetProducts'),
      denied.includes('GetProducts') ? jsonError('AccessDeniedException', 'no') : awsReply('get-products-2.json'),
    );
    server.on(call('DescribeSavingsPlans'), awsReply('describe-savings-plans-2.json'));
    server.on(call('DescribeSavingsPlansOfferings'), awsReply('describe-savings-plans-offerings-2.json'));
    server.on(call('DescribeSavingsPlansOfferingRates'), awsReply('describe-savings-plans-offering-rates-2.json'));
    if (keepsToDryRun)
      server.on(
        (request) =>
          parametersOf(request)['DryRun'] === 'true' && String(parametersOf(request)['Action']).startsWith('Describe'),
        (request) => rehearsed(String(parametersOf(request)['Action'])),
      );
  }

  describePermissionContract('AWS', () => {
    play({ denied: ['StopInstances', 'GetProducts', 'DescribeSpotPriceHistory'] });
    return {
      abilities: aws.abilities,
      connection: connect(acting(server)),
      readOnly: connect(reading(server)),
      changes: () => changes,
      denied: ['ec2:StopInstances', 'pricing:GetProducts', 'ec2:DescribeSpotPriceHistory'],
      // No rehearsal (Auto Scaling, Savings Plans), none that shows it (no instance here has a role), a purchase, and
      // questions that cost money.
      unknown: [
        'autoscaling:TerminateInstanceInAutoScalingGroup',
        'autoscaling:SetDesiredCapacity',
        'autoscaling:UpdateAutoScalingGroup',
        'iam:PassRole',
        'ec2:PurchaseReservedInstancesOffering',
        'savingsplans:CreateSavingsPlan',
        'savingsplans:TagResource',
        'ce:GetCostAndUsage',
        'cloudwatch:GetMetricData',
      ],
    };
  });

  it('is asked by rehearsals with the acting key on an instance with GPUs', async () => {
    play();
    expect(await connect(acting(server)).granted('ec2:TerminateInstances', 'act')).toBe(true);
    const asked = server.requests.filter((request) => parametersOf(request)['Action'] === 'TerminateInstances');
    expect(asked.map(parametersOf)).toEqual([
      { Action: 'TerminateInstances', 'InstanceId.1': 'i-0train1', DryRun: 'true' },
    ]);
    expect(asked.map((request) => signedBy(request).key)).toEqual([ACT_KEY]);
  });

  it('is not asked to rehearse an effect where its readings are not rehearsed: that server would act', async () => {
    play({ keepsToDryRun: false });
    const connection = connect(acting(server));
    for (const permission of ['ec2:StopInstances', 'ec2:TerminateInstances', 'ec2:RunInstances'])
      expect([permission, await connection.granted(permission, 'act')]).toEqual([permission, null]);
    expect(changes).toBe(0);
  });

  it('does not blame one permission for another that it names itself', async () => {
    play({ denied: ['RunInstances'], because: () => 'ec2:CreateTags' });
    const connection = connect(acting(server));
    const told = await Promise.all(
      ['ec2:RunInstances', 'ec2:CreateTags', 'iam:PassRole'].map((permission) => connection.granted(permission, 'act')),
    );
    expect(told).toEqual([null, false, null]);
  });
});

describe('Azure', () => {
  let cloud: AzureCloud;
  beforeAll(async () => void (cloud = await AzureCloud.start()));
  afterEach(() => expect(cloud.problems).toEqual([]));
  afterAll(() => cloud.close());

  const READ_ONLY = { BURSAR_AZURE_ACT_CLIENT_ID: undefined, BURSAR_AZURE_ACT_CLIENT_SECRET: undefined };
  describePermissionContract('Azure', () => {
    cloud.granted = [
      { actions: ['microsoft.compute/virtualMachines/*', '*/read'], notActions: ['*/delete'] },
      { actions: ['Microsoft.Compute/virtualMachineScaleSets/write'], notActions: [] },
    ];
    return {
      abilities: azure.abilities,
      connection: cloud.connect(),
      readOnly: cloud.connect(READ_ONLY),
      changes: () => cloud.changes,
      denied: ['Microsoft.Compute/virtualMachines/delete'],
      unknown: [],
    };
  });

  it('is not known where the list may not be read', async () => {
    cloud.play('permissions', DENIED);
    expect(await cloud.connect().granted?.('Microsoft.Compute/virtualMachines/read', 'read')).toBeNull();
  });
});

const READ = { id: 'reader-id', secret: 'reader-secret-7f3a' };
const ACT = { id: 'actor-id', secret: 'actor-secret-91cc' };
const servers: RpcServer[] = [];
async function serve(dialect: 'alibaba' | 'tencent'): Promise<RpcServer> {
  const server = await rpcServer(dialect, { [READ.id]: READ.secret, [ACT.id]: ACT.secret });
  servers.push(server);
  return server;
}
afterEach(async () => {
  for (const server of servers.splice(0)) {
    expect(server.forged).toEqual([]);
    await server.close();
  }
});

describe('Alibaba Cloud', () => {
  const settings = (server: RpcServer, acts: boolean): Record<string, string> => ({
    BURSAR_ALIBABA_REGIONS: 'cn-beijing',
    BURSAR_ALIBABA_READ_ACCESS_KEY_ID: READ.id,
    BURSAR_ALIBABA_READ_ACCESS_KEY_SECRET: READ.secret,
    BURSAR_ALIBABA_TIMEOUT_SECONDS: '2',
    BURSAR_ALIBABA_ENDPOINT_ECS: server.url,
    BURSAR_ALIBABA_ENDPOINT_ESS: server.url,
    BURSAR_ALIBABA_ENDPOINT_BSS: server.url,
    ...(acts ? { BURSAR_ALIBABA_ACT_ACCESS_KEY_ID: ACT.id, BURSAR_ALIBABA_ACT_ACCESS_KEY_SECRET: ACT.secret } : {}),
  });
  const open = (server: RpcServer, acts = true): ProviderConnection => alibaba.connect(settings(server, acts), clock)!;
  const dry: Play = { status: 400, body: reply('alibaba', 'DryRunOperation') };
  const forbidden: Play = { status: 403, body: reply('alibaba', 'Forbidden.RAM') };
  let changes = 0;
  async function play({
    denied = [],
    keepsToDryRun = true,
    instances = true,
  }: {
    denied?: readonly string[];
    keepsToDryRun?: boolean;
    instances?: boolean;
  } = {}): Promise<RpcServer> {
    changes = 0;
    const server = await serve('alibaba');
    const answer = (action: string, body: unknown): void =>
      server.play(action, ({ params }) =>
        denied.includes(action) ? forbidden : params['DryRun'] === 'true' && keepsToDryRun ? dry : { body },
      );
    const listed = reply<{ NextToken: string; Instances: { Instance: unknown[] } }>('alibaba', 'DescribeInstances.1');
    answer('DescribeInstances', {
      ...listed,
      NextToken: '',
      Instances: { Instance: instances ? listed.Instances.Instance : [] },
    });
    for (const action of [
      'DescribeInstanceTypes',
      'DescribeScalingGroups',
      'DescribeScalingConfigurations',
      'DescribeInstancesFullStatus',
      'DescribeInstanceHistoryEvents',
      'DescribeScalingInstances',
      'DescribeLifecycleHooks',
      'DescribeScalingRules',
      'DescribePrice',
    ])
      answer(action, reply('alibaba', action));
    answer('DescribeSpotPriceHistory', reply('alibaba', 'DescribeSpotPriceHistory.2'));
    answer('DescribeRegions', reply('alibaba', 'DescribeRegions.en-US'));
    answer('DescribeInstanceBill', reply('alibaba', 'DescribeInstanceBill.2'));
    for (const action of [
      'StopInstance',
      'StartInstance',
      'DeleteInstances',
      'ModifyInstanceSpec',
      'ModifyScalingGroup',
      'RemoveInstances',
    ]) {
      server.play(action, ({ params }) => {
        if (denied.includes(action)) return forbidden;
        if (params['DryRun'] === 'true' && keepsToDryRun) return dry;
        changes += 1;
        return { body: { RequestId: 'req-1' } };
      });
    }
    return server;
  }

  describePermissionContract('Alibaba Cloud', async () => {
    const server = await play({ denied: ['StartInstance', 'DescribeScalingConfigurations'] });
    return {
      abilities: alibaba.abilities,
      connection: open(server),
      readOnly: open(server, false),
      changes: () => changes,
      denied: ['ecs:StartInstance', 'ess:DescribeScalingConfigurations'],
      unknown: ['ess:ModifyScalingGroup', 'ess:RemoveInstances', 'ecs:ModifyInstanceSpec'],
    };
  });

  it('is asked by dry runs with the acting key, a release without force', async () => {
    const server = await play();
    expect(await open(server).granted?.('ecs:DeleteInstances', 'act')).toBe(true);
    expect(server.of('DeleteInstances')).toMatchObject([{ key: ACT.id, params: { Force: 'false', DryRun: 'true' } }]);
  });

  it('is not asked for a dry effect where its readings are not dry', async () => {
    const connection = open(await play({ keepsToDryRun: false }));
    expect(await connection.granted?.('ecs:StopInstance', 'act')).toBeNull();
    expect(changes).toBe(0);
  });

  it('is not believed where it lists nothing: so it answered who may not list', async () => {
    const connection = open(await play({ instances: false }));
    expect([
      await connection.granted?.('ecs:DescribeInstances', 'read'),
      await connection.granted?.('ecs:StopInstance', 'act'),
    ]).toEqual([null, null]);
  });
});

describe('Tencent Cloud', () => {
  const open = (server: RpcServer, acts = true): ProviderConnection =>
    tencent.connect(
      {
        BURSAR_TENCENT_REGIONS: 'ap-guangzhou',
        BURSAR_TENCENT_READ_SECRET_ID: READ.id,
        BURSAR_TENCENT_READ_SECRET_KEY: READ.secret,
        BURSAR_TENCENT_ENDPOINT: server.url,
        BURSAR_TENCENT_TIMEOUT_SECONDS: '2',
        ...(acts ? { BURSAR_TENCENT_ACT_SECRET_ID: ACT.id, BURSAR_TENCENT_ACT_SECRET_KEY: ACT.secret } : {}),
      },
      clock,
    )!;

  describePermissionContract('Tencent Cloud', async () => {
    const server = await serve('tencent');
    let changes = 0;
    for (const action of [
      'DescribeInstances',
      'DescribeTaskInfo',
      'DescribeRegions',
      'DescribeZoneInstanceConfigInfos',
      'DescribeAutoScalingGroups',
      'DescribeAutoScalingInstances',
      'DescribeLifecycleHooks',
      'DescribeScalingPolicies',
      'DescribeBillDetail',
    ])
      server.play(action, { body: { Response: { RequestId: 'req-1', TotalCount: 0, InstanceSet: [] } } });
    server.play('DescribeLaunchConfigurations', { body: reply('tencent', 'UnauthorizedOperation') });
    for (const action of [
      'StopInstances',
      'StartInstances',
      'TerminateInstances',
      'ResetInstancesType',
      'ModifyAutoScalingGroup',
    ]) {
      server.play(action, () => {
        changes += 1;
        return { body: { Response: { RequestId: 'req-1' } } };
      });
    }
    return {
      abilities: tencent.abilities,
      connection: open(server),
      readOnly: open(server, false),
      changes: () => changes,
      denied: ['as:DescribeLaunchConfigurations'],
      unknown: [
        'cvm:StopInstances',
        'cvm:StartInstances',
        'cvm:TerminateInstances',
        'cvm:ResetInstancesType',
        'as:ModifyAutoScalingGroup',
      ],
    };
  });
});

describe('Google Cloud', () => {
  const apis: GoogleApi[] = [];
  afterEach(async () => {
    for (const api of apis.splice(0)) {
      expect(api.problems).toEqual([]);
      await api.close();
    }
  });

  describePermissionContract('Google Cloud', async () => {
    const api = await GoogleApi.start();
    apis.push(api);
    api.denied = ['compute.commitments.list', 'compute.instances.delete'];
    return {
      abilities: gcp.abilities,
      connection: connectGoogle(api),
      readOnly: connectGoogle(api, { BURSAR_GCP_ACT_CREDENTIALS: undefined }),
      denied: api.denied,
      unknown: [],
      changes: () => api.operations.length,
    };
  });

  it('does not know where Resource Manager may not be asked', async () => {
    const api = await GoogleApi.start();
    apis.push(api);
    const no = { status: 403, body: { error: { message: 'no', status: 'PERMISSION_DENIED' } } };
    api.script('cloudresourcemanager.projects.testIamPermissions', no);
    expect(await connectGoogle(api).granted?.('compute.instances.list', 'read')).toBeNull();
  });
});

describe('Kubernetes', () => {
  const clusters: KubernetesApi[] = [];
  afterEach(async () => {
    for (const cluster of clusters.splice(0)) await cluster.wire.close();
  });

  describePermissionContract('Kubernetes', async () => {
    const cluster = await KubernetesApi.start();
    clusters.push(cluster);
    cluster.wire.on(
      ({ path }) => path.endsWith('/selfsubjectaccessreviews'),
      ({ body }) => {
        const { spec } = JSON.parse(body) as { spec: { resourceAttributes: { verb: string; resource: string } } };
        const { verb, resource } = spec.resourceAttributes;
        return {
          status: 201,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({
            spec,
            status:
              verb === 'delete' && resource === 'pods'
                ? { allowed: false, evaluationError: 'no such role' }
                : { allowed: !(verb === 'delete' && resource === 'nodes') },
          }),
        };
      },
    );
    const settings = {
      BURSAR_KUBERNETES_SERVER: cluster.wire.url,
      BURSAR_KUBERNETES_TOKEN: 'token-for-reading',
      BURSAR_KUBERNETES_CLUSTER: 'east',
    };
    return {
      abilities: kubernetes.abilities,
      connection: kubernetes.connect({ ...settings, BURSAR_KUBERNETES_ACT_TOKEN: 'token-for-acting' }, clock)!,
      readOnly: kubernetes.connect(settings, clock)!,
      denied: ['delete nodes'],
      unknown: ['delete pods'],
      changes: () => cluster.writes.filter(({ path }) => !path.endsWith('/selfsubjectaccessreviews')).length,
    };
  });
});
