/**
 * A scaling group that an action made smaller, on each cloud with groups: the provider's own readings of hand-written
 * replies become metered usage, the usage is told to be the group's, and the saving is measured and (where a bill
 * comes) verified.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ProviderConnection } from '../../src/core/ports.js';
import { provider as alibaba } from '../../src/providers/alibaba/alibaba.js';
import { provider as tencent } from '../../src/providers/tencent/tencent.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { enqueue } from '../../src/store/work.js';
import { applied, NOW, Script } from '../support/acting.js';
import { acting, call, connect, playFleet, reply as awsReply } from '../support/aws-wire.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { billed, HOUR } from '../support/records.js';
import { reply, rpcServer, type RpcServer } from '../support/rpc-server.js';
import { WireServer } from '../support/wire-server.js';

const MINUTE = 60_000;
const KEYS = { read: { id: 'reader', secret: 'read-secret' }, act: { id: 'actor', secret: 'act-secret' } };

/** The group's size, as the cloud that is played has it. */
interface Played {
  size: number;
}

interface Cloud {
  readonly name: string;
  readonly providerName: string;
  readonly group: string;
  readonly region: string;
  readonly sku: string;
  /** Ids of the group's machines, the first stay longest. */
  readonly machines: readonly string[];
  start(
    clock: { now(): number },
    played: Played,
  ): Promise<{ readonly connection: ProviderConnection; close(): Promise<void> }>;
}

type Json = Record<string, unknown>;

const ALIBABA: Cloud = {
  name: 'alibaba',
  providerName: 'Alibaba Cloud',
  group: 'asg/cn-beijing/asg-2zeinfer',
  region: 'cn-beijing',
  sku: 'ecs.gn7i-c16g1.4xlarge',
  machines: ['i-2zea', 'i-2zeb', 'i-2zec', 'i-2zed'],
  async start(clock, played) {
    const server = await rpcServer('alibaba', secrets());
    const [alone] = reply<{ Instances: { Instance: (Json & { Tags: { Tag: Json[] } })[] } }>(
      'alibaba',
      'DescribeInstances.1',
    ).Instances.Instance;
    const [group] = reply<{ ScalingGroups: Json[] }>('alibaba', 'DescribeScalingGroups').ScalingGroups;
    const tag = { TagKey: 'acs:autoscaling:scalingGroupId', TagValue: 'asg-2zeinfer' };
    // The second machine was attached by hand, and carries no tag of Auto Scaling.
    const member = (InstanceId: string): Json => ({
      ...alone,
      InstanceId,
      Tags: { Tag: [...(alone?.Tags.Tag ?? []), ...(InstanceId === 'i-2zeb' ? [] : [tag])] },
    });
    server.play('DescribeInstances', () => ({
      body: { NextToken: '', Instances: { Instance: [alone, ...ALIBABA.machines.slice(0, played.size).map(member)] } },
    }));
    server.play('DescribeInstanceTypes', { body: reply('alibaba', 'DescribeInstanceTypes') });
    server.play('DescribeScalingGroups', () => ({
      body: {
        TotalCount: 1,
        ScalingGroups: [
          {
            ...group,
            DesiredCapacity: played.size,
            ActiveCapacity: played.size,
            TotalInstanceCount: played.size,
            OnDemandPercentageAboveBaseCapacity: 100,
          },
        ],
      },
    }));
    server.play('DescribeScalingConfigurations', { body: reply('alibaba', 'DescribeScalingConfigurations') });
    server.play('DescribeScalingInstances', ({ params }) => ({
      body: {
        ScalingInstances: Object.values(params).includes('i-2zeb')
          ? [{ InstanceId: 'i-2zeb', ScalingGroupId: 'asg-2zeinfer', CreationType: 'Attached' }]
          : [],
      },
    }));
    // The group has no hooks, and no policies of its own that would undo the change.
    server.play('DescribeLifecycleHooks', { body: { TotalCount: 0, LifecycleHooks: [] } });
    server.play('DescribeScalingRules', { body: { TotalCount: 0, ScalingRules: [] } });
    server.play('ModifyScalingGroup', ({ params }) =>
      resized(played, Number(params['DesiredCapacity']), { RequestId: 'r' }),
    );
    return opened(
      server,
      alibaba.connect(
        {
          BURSAR_ALIBABA_REGIONS: 'cn-beijing',
          BURSAR_ALIBABA_READ_ACCESS_KEY_ID: KEYS.read.id,
          BURSAR_ALIBABA_READ_ACCESS_KEY_SECRET: KEYS.read.secret,
          BURSAR_ALIBABA_ACT_ACCESS_KEY_ID: KEYS.act.id,
          BURSAR_ALIBABA_ACT_ACCESS_KEY_SECRET: KEYS.act.secret,
          BURSAR_ALIBABA_ENDPOINT_ECS: server.url,
          BURSAR_ALIBABA_ENDPOINT_ESS: server.url,
          BURSAR_ALIBABA_ENDPOINT_BSS: server.url,
        },
        clock,
      ),
    );
  },
};

const TENCENT: Cloud = {
  name: 'tencent',
  providerName: 'Tencent Cloud',
  group: 'asg/ap-guangzhou/asg-infer01',
  region: 'ap-guangzhou',
  sku: 'GN7.2XLARGE32',
  machines: ['ins-a', 'ins-b', 'ins-c', 'ins-d'],
  async start(clock, played) {
    const server = await rpcServer('tencent', secrets());
    const [alone] = reply<{ Response: { InstanceSet: Json[] } }>('tencent', 'DescribeInstances').Response.InstanceSet;
    const [group] = reply<{ Response: { AutoScalingGroupSet: Json[] } }>('tencent', 'DescribeAutoScalingGroups')
      .Response.AutoScalingGroupSet;
    const members = (): string[] => TENCENT.machines.slice(0, played.size);
    server.play('DescribeInstances', () =>
      answer({
        TotalCount: played.size + 1,
        InstanceSet: [alone, ...members().map((InstanceId) => ({ ...alone, InstanceId }))],
      }),
    );
    server.play('DescribeZoneInstanceConfigInfos', { body: reply('tencent', 'DescribeZoneInstanceConfigInfos') });
    server.play('DescribeAutoScalingGroups', () =>
      answer({
        TotalCount: 1,
        AutoScalingGroupSet: [
          {
            ...group,
            DesiredCapacity: played.size,
            InstanceCount: played.size,
            InServiceInstanceCount: played.size,
            InstanceAllocationPolicy: 'LAUNCH_CONFIGURATION',
          },
        ],
      }),
    );
    server.play('DescribeLaunchConfigurations', { body: reply('tencent', 'DescribeLaunchConfigurations') });
    server.play('DescribeAutoScalingInstances', ({ params }) => {
      // By the machines of a group, or by their own ids.
      const ids = params['InstanceIds'] as readonly string[] | undefined;
      const asked = members().filter((id) => ids?.includes(id) ?? true);
      return answer({
        TotalCount: asked.length,
        AutoScalingInstanceSet: asked.map((InstanceId) => ({ InstanceId, AutoScalingGroupId: 'asg-infer01' })),
      });
    });
    // The group has no hooks, and no policies of its own that would undo the change.
    server.play('DescribeLifecycleHooks', answer({ TotalCount: 0, LifecycleHookSet: [] }));
    server.play('DescribeScalingPolicies', answer({ TotalCount: 0, ScalingPolicySet: [] }));
    server.play('ModifyAutoScalingGroup', ({ params }) =>
      resized(played, Number(params['DesiredCapacity']), { Response: { RequestId: 'r' } }),
    );
    return opened(
      server,
      tencent.connect(
        {
          BURSAR_TENCENT_REGIONS: 'ap-guangzhou',
          BURSAR_TENCENT_READ_SECRET_ID: KEYS.read.id,
          BURSAR_TENCENT_READ_SECRET_KEY: KEYS.read.secret,
          BURSAR_TENCENT_ACT_SECRET_ID: KEYS.act.id,
          BURSAR_TENCENT_ACT_SECRET_KEY: KEYS.act.secret,
          BURSAR_TENCENT_ENDPOINT: server.url,
        },
        clock,
      ),
    );
  },
};

const AWS: Cloud = {
  name: 'aws',
  providerName: 'AWS',
  group: 'asg/us-east-1/serve-g5',
  region: 'us-east-1',
  sku: 'g5.xlarge',
  machines: ['i-0a', 'i-0b', 'i-0c', 'i-0d'],
  async start(clock, played) {
    const server = await WireServer.start();
    playFleet(server);
    const instances = awsReply('describe-instances-1.xml', {
      '<nextToken>page-2</nextToken>': '',
      '<instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-1a2b3c4d</spotInstanceRequestId>': '',
    });
    const groups = awsReply('describe-auto-scaling-groups-1.xml', {
      '<NextToken>groups-2</NextToken>': '',
      'Capacity>40<': 'Capacity>100<',
    });
    const member = /<item>\s*<instanceId>i-0spot1<[\s\S]*?<\/tagSet>\s*<\/item>/.exec(instances.body ?? '')?.[0] ?? '';
    const inService = /<member><InstanceId>i-0spot1<.*?<\/member>/.exec(groups.body ?? '')?.[0] ?? '';
    const each = (text: string): string =>
      AWS.machines
        .slice(0, played.size)
        .map((id) => text.replace('i-0spot1', id))
        .join('');
    // One of the same type stands alone.
    const alone = member
      .replace('i-0spot1', 'i-0alone')
      .replace(/<item><key>aws:autoscaling:groupName<.*?<\/item>/, '');
    server.on(call('DescribeInstances'), () => ({
      ...instances,
      body: instances.body?.replace(member, alone + each(member)) ?? '',
    }));
    server.on(call('DescribeAutoScalingGroups'), () => ({
      ...groups,
      body:
        groups.body
          ?.replace(
            /<Instances><member><InstanceId>i-0spot1<.*?<\/Instances>/,
            `<Instances>${each(inService)}</Instances>`,
          )
          .replace('<DesiredCapacity>3<', `<DesiredCapacity>${played.size}<`) ?? '',
    }));
    // No policy of its own that would undo the change.
    const policies = awsReply('describe-policies.xml');
    server.on(call('DescribePolicies'), {
      ...policies,
      body: policies.body?.replace(/<ScalingPolicies>[\s\S]*<\/ScalingPolicies>/, '<ScalingPolicies/>') ?? '',
    });
    server.on(call('SetDesiredCapacity'), (request) => {
      played.size = Number(new URLSearchParams(request.body).get('DesiredCapacity'));
      return awsReply('set-desired-capacity.xml');
    });
    const connection = connect(acting(server), clock);
    return {
      connection,
      close: async () => {
        await connection.close();
        await server.close();
      },
    };
  },
};

const secrets = (): Record<string, string> =>
  Object.fromEntries(Object.values(KEYS).map(({ id, secret }) => [id, secret]));
const answer = (fields: Json): { readonly body: unknown } => ({ body: { Response: { RequestId: 'r', ...fields } } });

function resized(played: Played, size: number, body: Json): { readonly body: unknown } {
  played.size = size;
  return { body };
}

function opened(
  server: RpcServer,
  connection: ProviderConnection | null,
): { readonly connection: ProviderConnection; close(): Promise<void> } {
  if (connection === null) throw new Error('there is no connection');
  return { connection, close: () => server.close() };
}

describe.each([ALIBABA, TENCENT, AWS])('a group of $name', async (cloud) => {
  const script = new Script();
  const policy = script.policy('scripted', false);
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ policies: [policy], now: NOW - 2 * HOUR, targets: new FleetStore(), connections });
  const { db, stores, clock, runner } = bursar;
  const played: Played = { size: 4 };
  let close: (() => Promise<void>) | null = null;

  /** Lets time pass, with a look at the fleet every quarter of an hour. */
  const pass = async (ms: number): Promise<void> => {
    for (const until = clock.at + ms; clock.at < until; ) {
      clock.at = Math.min(clock.at + 15 * MINUTE, until);
      await enqueue(db, 'default', [{ stage: 'fleet.collect', partition: cloud.name, key: `${cloud.name}/fleet` }]);
      await runner.drain();
    }
  };
  const saving = async () =>
    stores.savingLedger.known('default', (await stores.actions.list('default', {}, null, 10))[0]?.action.id ?? '');

  beforeAll(async () => {
    const started = await cloud.start(clock, played);
    connections.set(cloud.name, started.connection);
    close = started.close;
    const teams = ['vision', 'speech'].map((value) => ({ match: { label: { key: 'team', value } }, team: 'lab' }));
    await db.transaction((tx) => stores.organisations.saveRules(tx, 'default', teams, 'test'));
    await bursar.setPrices([
      instancePrice('10', {
        provider: cloud.providerName,
        sku: cloud.sku,
        region: cloud.region,
        gpus: 1,
        gpuModel: null,
        minimumSeconds: 0,
      }),
    ]);
  });
  afterAll(() => close?.());

  it('saves what its missing machines would have cost, told from its own machines alone', async () => {
    await pass(2 * HOUR);
    // Four of the group and one that stands alone, two hours long less the first quarter.
    const { rows } = await bursar.spend({ groupBy: 'team', basis: 'accrued' });
    expect(rows).toMatchObject([{ team: 'lab', cost: '87.500000000' }]);
    script.wants = [{ action: 'ScaleIn', target: cloud.group, change: { replicas: 2 } }];
    const document = { name: 'doc', policy: 'scripted', teams: ['lab'], mode: 'enforce' };
    await db.transaction((tx) => applied(stores, tx, [policy], document, clock.at));
    await enqueue(db, 'default', [{ stage: 'recommendation.make', partition: 'lab', key: 'lab' }]);
    await runner.drain();
    expect(played.size).toBe(2);
    script.wants = [];
    await pass(4 * HOUR);
    expect(await saving()).toMatchObject({
      target: cloud.group,
      effectKind: 'scale',
      state: 'measured',
      reason: null,
      saved: '60.00',
      hours: { measured: 3, unverifiable: 0 },
    });
  });

  it('is verified by a bill that names the machines and says nothing of their group', async () => {
    await pass(14 * HOUR);
    const day = Date.UTC(2026, 10, 18);
    const bill = {
      provider: cloud.providerName,
      account: null,
      sku: cloud.sku,
      region: cloud.region,
      start: day,
      end: day + 24 * HOUR,
      tags: { team: 'vision' },
    };
    const closed = { periodStart: Date.UTC(2026, 10, 1), periodEnd: Date.UTC(2026, 11, 1) };
    // From a quarter past ten to noon all four, from then on two: 20 * (1.75 + 12) + 20 * 1.75.
    const amounts = cloud.machines.map((_, at) => (at < 2 ? '137.5' : '17.5'));
    clock.at = Date.UTC(2026, 11, 8);
    await bursar.take(
      [
        ...cloud.machines.map((resource, at) => billed(resource, amounts[at] ?? '', { ...bill, resource }, closed)),
        billed('other', '137.5', { ...bill, resource: 'stands-alone' }, closed),
      ],
      { source: 'bill' },
    );
    await runner.drain();
    clock.at += 2 * HOUR;
    await runner.drain();
    expect((await saving()).hours).toMatchObject({ verified: 12, unverifiable: 0 });
  });
});
