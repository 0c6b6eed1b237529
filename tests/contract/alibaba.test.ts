/**
 * The Alibaba Cloud connection, through its real client, against a server that checks signatures and plays hand-written
 * replies.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatDecimal } from '../../src/core/decimal.js';
import type { FleetReading } from '../../src/core/fleet/fleet.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { RecordedRead } from '../../src/core/partial-read.js';
import type { PriceEvent } from '../../src/core/price/price.js';
import type { RecordBatch } from '../../src/core/usage.js';
import { provider } from '../../src/providers/alibaba/alibaba.js';
import { addressOf } from '../../src/providers/alibaba/client.js';
import { errorReply, reply, rpcServer, type RpcServer } from '../support/rpc-server.js';
import { MODELS, problemsOfRequest } from '../support/rpc-model.js';
import { describeProviderContract, memberRefusals, REFUSED_TO_MEMBERS } from './contract.js';

const READ = { id: 'LTAIreader', secret: 'reader-secret-7f3a' };
const ACT = { id: 'LTAIactor', secret: 'actor-secret-91cc' };
const NOW = Date.UTC(2026, 10, 20, 8);
const TRAIN = 'instance/cn-beijing/i-2zetrain';
const SPOT = 'instance/cn-beijing/i-2zespot';
const GROUP = 'asg/cn-beijing/asg-2zeinfer';

const own = (name: string): { readonly body: unknown } => ({ body: reply('alibaba', name) });
const error = (code: string, message = 'no', status = 400) => errorReply('alibaba', code, message, status);

let server: RpcServer;
let now = NOW;

function connect(over: Readonly<Record<string, string | undefined>> = {}): ProviderConnection {
  const connection = provider.connect(
    {
      BURSAR_ALIBABA_REGIONS: 'cn-beijing',
      BURSAR_ALIBABA_READ_ACCESS_KEY_ID: READ.id,
      BURSAR_ALIBABA_READ_ACCESS_KEY_SECRET: READ.secret,
      BURSAR_ALIBABA_ACT_ACCESS_KEY_ID: ACT.id,
      BURSAR_ALIBABA_ACT_ACCESS_KEY_SECRET: ACT.secret,
      BURSAR_ALIBABA_ENDPOINT_ECS: server.url,
      BURSAR_ALIBABA_ENDPOINT_ESS: server.url,
      BURSAR_ALIBABA_ENDPOINT_BSS: server.url,
      BURSAR_ALIBABA_TIMEOUT_SECONDS: '1',
      ...over,
    },
    { now: () => now },
  );
  if (connection === null) throw new Error('there is no connection');
  return connection;
}

const readOnly = (): ProviderConnection =>
  connect({ BURSAR_ALIBABA_ACT_ACCESS_KEY_ID: undefined, BURSAR_ALIBABA_ACT_ACCESS_KEY_SECRET: undefined });

/** The account as the hand-written replies have it. */
function playAccount(on: RpcServer): void {
  const instances = [
    reply<InstancesReply>('alibaba', 'DescribeInstances.1'),
    reply<InstancesReply>('alibaba', 'DescribeInstances.2'),
  ];
  on.play('DescribeInstances', ({ params }) => {
    if (params['InstanceIds'] === undefined)
      return { body: instances[params['NextToken'] === instances[0]?.NextToken ? 1 : 0] };
    const ids = JSON.parse(String(params['InstanceIds'])) as string[];
    return {
      body: {
        RequestId: 'one',
        NextToken: '',
        Instances: {
          Instance: instances
            .flatMap((page) => page.Instances.Instance)
            .filter(({ InstanceId }) => ids.includes(InstanceId)),
        },
      },
    };
  });
  on.play('DescribeInstancesFullStatus', {
    body: { TotalCount: 0, InstanceFullStatusSet: { InstanceFullStatusType: [] } },
  });
  on.play('DescribeInstanceHistoryEvents', {
    body: { NextToken: '', InstanceSystemEventSet: { InstanceSystemEventType: [] } },
  });
  on.play('DescribeInstanceTypes', own('DescribeInstanceTypes'));
  on.play('DescribeScalingGroups', ({ params }) => {
    const whole = reply<{ ScalingGroups: { ScalingGroupId: string }[] }>('alibaba', 'DescribeScalingGroups');
    const one = params['ScalingGroupIds.1'];
    const groups =
      one === undefined
        ? whole.ScalingGroups
        : whole.ScalingGroups.filter(({ ScalingGroupId }) => ScalingGroupId === one);
    return { body: { ...whole, TotalCount: groups.length, ScalingGroups: groups } };
  });
  on.play('DescribeLifecycleHooks', own('DescribeLifecycleHooks'));
  on.play('DescribeScalingRules', own('DescribeScalingRules'));
  on.play('DescribeScalingConfigurations', own('DescribeScalingConfigurations'));
  on.play('DescribeScalingInstances', ({ params }) => {
    const whole = reply<{ ScalingInstances: { InstanceId: string }[] }>('alibaba', 'DescribeScalingInstances');
    const ids = new Set(
      Object.entries(params)
        .filter(([name]) => name.startsWith('InstanceIds.'))
        .map(([, id]) => id),
    );
    return {
      body: { ...whole, ScalingInstances: whole.ScalingInstances.filter(({ InstanceId }) => ids.has(InstanceId)) },
    };
  });
  on.play('DescribePrice', ({ params }) => {
    if (params['InstanceType'] !== 'ecs.gn7i-c16g1.4xlarge')
      return error('InvalidInstanceType.ValueNotSupported', 'The specified InstanceType is not supported here.', 404);
    return own(params['SpotStrategy'] === 'NoSpot' ? 'DescribePrice' : 'DescribePrice.spot');
  });
  on.play('DescribeSpotPriceHistory', ({ params }) => {
    if (params['InstanceType'] !== 'ecs.gn7i-c16g1.4xlarge')
      return { body: { Currency: 'CNY', SpotPrices: { SpotPriceType: [] } } };
    return own(params['Offset'] === '0' ? 'DescribeSpotPriceHistory.1' : 'DescribeSpotPriceHistory.2');
  });
}

interface InstancesReply {
  NextToken: string;
  Instances: { Instance: { InstanceId: string; Status: string; StoppedMode: string }[] };
}

interface EventsReply {
  InstanceSystemEventSet: { InstanceSystemEventType: Record<string, unknown>[] };
}

interface TaggedReply extends InstancesReply {
  Instances: {
    Instance: (InstancesReply['Instances']['Instance'][number] & {
      Tags: { Tag: { TagKey: string; TagValue: string }[] };
    })[];
  };
}

async function all<T>(pages: AsyncIterable<readonly T[]> | undefined): Promise<T[]> {
  const found: T[] = [];
  for await (const page of pages ?? []) found.push(...page);
  return found;
}

beforeEach(async () => {
  now = NOW;
  server = await rpcServer('alibaba', { [READ.id]: READ.secret, [ACT.id]: ACT.secret });
  playAccount(server);
});
afterEach(async () => {
  expect(server.forged).toEqual([]);
  await server.close();
});

describe('the settings', () => {
  it('are none, complete, or named one by one without a value', () => {
    expect(provider.connect({}, { now: () => NOW })).toBeNull();
    expect(() =>
      provider.connect(
        {
          BURSAR_ALIBABA_READ_ACCESS_KEY_ID: 'LTAIseen',
          BURSAR_ALIBABA_ACT_ACCESS_KEY_SECRET: 'hush',
          BURSAR_ALIBABA_ENDPOINT_ECS: 'ftp://x',
        },
        { now: () => NOW },
      ),
    ).toThrow(
      /^(?!.*(?:LTAIseen|hush|ftp)).*BURSAR_ALIBABA_REGIONS is missing.*READ_ACCESS_KEY_SECRET is missing.*ACT_ACCESS_KEY_ID is missing.*ENDPOINT_ECS is not/,
    );
  });
});

describe('the fleet', () => {
  it('lists GPU instances over all pages, with what is billed of each', async () => {
    const reading = await connect().fleet?.();
    expect(reading).toMatchObject({ at: NOW, complete: true, problems: [] });
    const instances = (reading?.targets ?? []).filter(({ kind }) => kind === 'instance');
    const rows = instances.map(({ target, sku, gpuModel, gpus, term, state, billing }) => [
      target.split('/')[2],
      sku,
      gpuModel,
      gpus,
      term,
      state,
      billing,
    ]);
    expect(rows).toEqual([
      ['i-2zetrain', 'ecs.gn7i-c16g1.4xlarge', 'A10', 1, 'on-demand', 'running', 'billed'],
      ['i-2zespot', 'ecs.gn6v-c8g1.2xlarge', 'V100-16GB', 1, 'spot', 'running', 'billed'],
      ['i-2zeidle', 'ecs.gn7i-c16g1.4xlarge', 'A10', 1, 'on-demand', 'stopped', 'partly'],
      ['i-2zekept', 'ecs.gn5-c4g1.xlarge', 'P100', 1, 'on-demand', 'stopped', 'billed'],
      ['i-2zepaid', 'ecs.gn7-c12g1.12xlarge', 'A100-40GB', 8, null, 'stopped', 'billed'],
    ]);
    expect(instances[0]).toMatchObject({
      provider: 'Alibaba Cloud',
      region: 'cn-beijing',
      name: 'train-a10',
      labels: { team: 'vision', env: 'prod' },
      launchedAt: Date.UTC(2026, 10, 18, 2, 15),
    });
    // It stands still, and ECS tells no more when it was started: that it was made then says nothing of that.
    expect([instances[4]?.state, instances[4]?.launchedAt]).toEqual(['stopped', null]);
    expect(
      server
        .of('DescribeInstances')
        .map(({ params, key, version }) => [params['RegionId'], params['NextToken'], key, version]),
    ).toEqual([
      ['cn-beijing', undefined, READ.id, '2014-05-26'],
      ['cn-beijing', 'caeba0bbb2be03f84eb48b699f0a4883', READ.id, '2014-05-26'],
    ]);
  });

  describe('has ECS own word that a machine is not well', () => {
    const wordOf = async (): Promise<readonly [string, string | undefined][]> =>
      ((await connect().fleet?.())?.targets ?? [])
        .filter(({ unwell }) => unwell !== undefined)
        .map(({ target, unwell }) => [target, unwell]);
    const event = (over: Record<string, unknown>): void => {
      const whole = reply<EventsReply>('alibaba', 'DescribeInstanceHistoryEvents');
      const [one] = whole.InstanceSystemEventSet.InstanceSystemEventType;
      const InstanceSystemEventType = [{ ...one, ...over }];
      server.play('DescribeInstanceHistoryEvents', {
        body: { ...whole, InstanceSystemEventSet: { InstanceSystemEventType } },
      });
    };

    it('by its health, and by a system event that is at work', async () => {
      server.play('DescribeInstancesFullStatus', own('DescribeInstancesFullStatus'));
      expect(await wordOf()).toEqual([[TRAIN, 'HealthStatus Impaired']]);
      server.play('DescribeInstanceHistoryEvents', own('DescribeInstanceHistoryEvents'));
      expect(await wordOf()).toEqual([[TRAIN, 'system event SystemFailure.Reboot']]);
      for (const action of ['DescribeInstancesFullStatus', 'DescribeInstanceHistoryEvents']) {
        const [first] = server.of(action);
        expect(first).toMatchObject({ key: READ.id, version: '2014-05-26' });
        expect(problemsOfRequest(MODELS['alibaba-ecs'][action]!, first?.params ?? {})).toEqual([]);
      }
    });

    it('of an event that is announced from its time on, and of none that it was not asked for', async () => {
      event({ EventCycleStatus: { Name: 'Scheduled' }, NotBefore: '2026-11-20T08:00:01Z' });
      expect(await wordOf()).toEqual([]);
      now += 1000;
      expect(await wordOf()).toEqual([[TRAIN, 'system event SystemFailure.Reboot']]);
      event({ EventType: { Name: 'InstanceFailure.Reboot' } });
      expect(await wordOf()).toEqual([]);
      // It stands still: nothing is the matter with that.
      event({ InstanceId: 'i-2zeidle' });
      expect(await wordOf()).toEqual([]);
    });

    it('over all pages', async () => {
      server.play('DescribeInstanceHistoryEvents', ({ params }) =>
        params['NextToken'] === 'more'
          ? own('DescribeInstanceHistoryEvents')
          : { body: { NextToken: 'more', InstanceSystemEventSet: { InstanceSystemEventType: [] } } },
      );
      expect(await wordOf()).toEqual([[TRAIN, 'system event SystemFailure.Reboot']]);
    });

    it('or says that it was not read: the machines stand, all of them', async () => {
      server.play('DescribeInstanceHistoryEvents', error('Forbidden.RAM', 'no', 403));
      expect(await connect().fleet?.()).toMatchObject({
        complete: true,
        problems: [
          'cn-beijing: instances: health and system events were not read: Alibaba Cloud denied ecs:DescribeInstanceHistoryEvents (Forbidden.RAM): the permission is missing',
        ],
      });
    });
  });

  it('lists the scaling groups with GPUs', async () => {
    const groups = ((await connect().fleet?.())?.targets ?? []).filter(({ kind }) => kind === 'group');
    expect(groups.map(({ target }) => target)).toEqual([GROUP, 'asg/cn-beijing/asg-2zemixed']);
    expect(groups[0]).toMatchObject({
      sku: 'ecs.gn7i-c16g1.4xlarge',
      gpuModel: 'A10',
      gpus: 1,
      term: null,
      state: 'running',
      billing: 'billed',
      spotRatio: 0.75,
      replicas: { desired: 4, ready: 3, min: 1, max: 10 },
      labels: { team: 'vision' },
    });
    // Two types of one card each: no one SKU or model; no expected number: it keeps the none that it has.
    expect(groups[1]).toMatchObject({
      sku: null,
      gpuModel: null,
      gpus: 1,
      term: 'on-demand',
      state: 'stopped',
      billing: 'ended',
      spotRatio: 0,
      replicas: { desired: 0 },
    });
    expect(server.of('DescribeScalingGroups')[0]).toMatchObject({
      version: '2022-02-22',
      key: READ.id,
      params: { RegionId: 'cn-beijing', PageSize: '50', PageNumber: '1' },
    });
    expect(server.of('DescribeScalingConfigurations')[0]?.params).toMatchObject({
      'ScalingConfigurationIds.1': 'asc-2zea10',
      'ScalingConfigurationIds.3': 'asc-2zeweb',
    });
  });

  it("knows a group's own settings, and rules out what nothing would take back", async () => {
    const whole = reply<{ ScalingGroups: Record<string, unknown>[] }>('alibaba', 'DescribeScalingGroups');
    const [infer, mixed] = whole.ScalingGroups;
    const over = { ProtectedCapacity: 2, SuspendedProcesses: ['ScaleIn', 'HealthCheck'] };
    const ScalingGroups = [
      { ...infer, ...over },
      { ...mixed, MultiAZPolicy: 'PRIORITY' },
    ];
    server.play('DescribeScalingGroups', { body: { ...whole, TotalCount: 2, ScalingGroups } });
    const groups = (await connect().fleet?.())?.targets.filter(({ kind }) => kind === 'group') ?? [];
    expect(groups.map(({ group }) => group)[0]).toEqual({
      protectedMembers: 2,
      suspended: ['terminate'],
      hooks: [{ name: 'save-state', seconds: 600 }],
      policies: [
        { name: 'cpu-50', follows: true },
        { name: 'night', follows: false },
      ],
    });
    expect(groups.map(({ ruledOut }) => ruledOut)).toEqual([
      {},
      {
        'set-spot-ratio': expect.stringContaining('MultiAZPolicy is PRIORITY'),
        scale: expect.stringContaining('no expected number'),
      },
    ]);
    for (const action of ['DescribeLifecycleHooks', 'DescribeScalingRules'])
      server.play(action, error('Forbidden.RAM', 'no', 403));
    expect((await connect().target?.(GROUP))?.group).toMatchObject({ hooks: null, policies: null });
    // A failure that passes: the list has the groups all the same, and before acting it is asked again.
    for (const action of ['DescribeLifecycleHooks', 'DescribeScalingRules'])
      server.play(action, error('Throttling.User', 'too often'));
    const listed = (await connect().fleet?.())?.targets.filter(({ kind }) => kind === 'group') ?? [];
    expect(listed.map(({ group }) => [group?.hooks, group?.policies])).toEqual([
      [null, null],
      [null, null],
    ]);
    await expect(connect().target?.(GROUP)).rejects.toMatchObject({ kind: 'unavailable' });
  });

  it('counts no share of a card as a card', async () => {
    const connection = connect();
    const page = reply<InstancesReply>('alibaba', 'DescribeInstances.2');
    const [first] = page.Instances.Instance;
    server.play('DescribeInstances', {
      body: { ...page, Instances: { Instance: [{ ...first, InstanceType: 'ecs.vgn6i-m4-vws.xlarge' }] } },
    });
    expect((await connection.fleet?.())?.targets[0]).toMatchObject({ gpuModel: 'T4', gpus: null });
  });

  it('knows the group of a machine that was attached by hand, and asks for none that Auto Scaling has tagged', async () => {
    const page = reply<TaggedReply>('alibaba', 'DescribeInstances.1');
    page.Instances.Instance[0]!.Tags.Tag.push({ TagKey: 'acs:autoscaling:scalingGroupId', TagValue: 'asg-2zeinfer' });
    server.play('DescribeInstances', () => ({ body: { ...page, NextToken: '' } }));
    const machines = (await connect().fleet?.())?.targets.filter(({ kind }) => kind === 'instance') ?? [];
    expect(
      machines.map(({ name, labels }) => [name, labels['acs:autoscaling:scalingGroupId'], labels['bursar:target']]),
    ).toEqual([
      ['train-a10', 'asg-2zeinfer', undefined],
      ['batch-v100', undefined, GROUP],
    ]);
    expect(server.of('DescribeScalingInstances')).toMatchObject([
      { version: '2022-02-22', key: READ.id, params: { RegionId: 'cn-beijing', 'InstanceIds.1': 'i-2zespot' } },
    ]);
  });

  it('lists machines without their groups where nobody may ask for them, and says so', async () => {
    server.play('DescribeScalingInstances', error('Forbidden.RAM', 'no', 403));
    const reading = await connect().fleet?.();
    expect(reading).toMatchObject({
      complete: false,
      problems: [
        'cn-beijing: instances: the groups of the instances could not be read: Alibaba Cloud denied ess:DescribeScalingInstances (Forbidden.RAM): the permission is missing',
      ],
    });
    expect(reading?.targets.filter(({ kind }) => kind === 'instance')).toHaveLength(5);
  });

  it('keeps the machines, and the groups that they were told to lie in, where Auto Scaling does not answer', async () => {
    const connection = connect();
    const groupOf = (reading: FleetReading | undefined): string | undefined =>
      reading?.targets.find(({ target }) => target === SPOT)?.labels['bursar:target'];
    expect(groupOf(await connection.fleet?.())).toBe(GROUP);
    for (const action of ['DescribeScalingInstances', 'DescribeScalingGroups']) server.play(action, 'drop');
    const reading = await connection.fleet?.();
    expect(groupOf(reading)).toBe(GROUP);
    expect(reading?.targets.map(({ target }) => target)).toHaveLength(5);
    expect(reading).toMatchObject({
      complete: false,
      problems: [
        expect.stringContaining('cn-beijing: scaling groups: Alibaba Cloud gave no answer'),
        expect.stringContaining('cn-beijing: instances: the groups of the instances could not be read'),
      ],
    });
  });

  it('leaves to its group what a machine becomes, and does nothing where the group cannot be read', async () => {
    const connection = connect();
    expect(await memberRefusals(connection, SPOT)).toEqual(REFUSED_TO_MEMBERS);
    server.play('DescribeScalingInstances', error('Forbidden.RAM', 'no', 403));
    await expect(connection.target?.(SPOT)).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('ess:DescribeScalingInstances'),
    });
    expect(server.taken.filter(({ key }) => key === ACT.id)).toEqual([]);
  });

  it.each([
    ['cn-beijing', 'https://ess.aliyuncs.com'],
    ['cn-qingdao', 'https://ess.aliyuncs.com'],
    ['cn-zhangjiakou', 'https://ess.cn-zhangjiakou.aliyuncs.com'],
    ['cn-hongkong', 'https://ess.cn-hongkong.aliyuncs.com'],
    ['ap-southeast-1', 'https://ess.ap-southeast-1.aliyuncs.com'],
    ['us-west-1', 'https://ess.us-west-1.aliyuncs.com'],
    ['cn-shanghai-finance-1', 'https://ess.cn-shanghai-finance-1.aliyuncs.com'],
  ])('asks Auto Scaling of %s at %s', (region, address) => {
    expect(addressOf({ endpoints: { ecs: null, ess: null, bss: null } }, 'ess', region)).toBe(address);
    expect(addressOf({ endpoints: { ecs: null, ess: 'http://{region}.test', bss: null } }, 'ess', region)).toBe(
      `http://${region}.test`,
    );
  });

  it('says that it is not complete where a region cannot be read', async () => {
    const connection = connect({ BURSAR_ALIBABA_REGIONS: 'cn-beijing,cn-hangzhou' });
    server.play('DescribeScalingGroups', ({ params }) =>
      params['RegionId'] === 'cn-hangzhou'
        ? error('Throttling.User', 'Request was denied due to user flow control.')
        : own('DescribeScalingGroups'),
    );
    const reading = await connection.fleet?.();
    expect(reading?.complete).toBe(false);
    expect(reading?.problems).toEqual([
      'cn-hangzhou: scaling groups: Alibaba Cloud throttled ess:DescribeScalingGroups (Throttling.User)',
    ]);
    expect(reading?.targets.some(({ target }) => target === GROUP)).toBe(true);
  });

  it('fails where nothing could be read: denied with the permission, unavailable where nobody listens', async () => {
    for (const action of ['DescribeInstances', 'DescribeScalingGroups'])
      server.play(action, error('Forbidden.RAM', 'User not authorized to operate on the specified resource.', 403));
    await expect(connect().fleet?.()).rejects.toMatchObject({
      kind: 'denied',
      message: 'Alibaba Cloud denied ecs:DescribeInstances (Forbidden.RAM): the permission is missing',
    });
    const nobody = await rpcServer('alibaba', {});
    await nobody.close();
    await expect(connect({ BURSAR_ALIBABA_ENDPOINT_ECS: nobody.url }).target?.(TRAIN)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Alibaba Cloud could not be reached for ecs:DescribeInstances (ECONNREFUSED)',
    });
  });

  it('does not take a reply of another shape for an empty fleet', async () => {
    server.play('DescribeInstances', { body: { RequestId: 'x', Instances: { Instance: [{ Status: 'Running' }] } } });
    expect(await connect().fleet?.()).toMatchObject({
      complete: false,
      problems: [expect.stringContaining('in a shape that is not documented')],
    });
    server.play('DescribeInstances', { status: 502, body: '<html>bad gateway</html>' });
    await expect(connect().target?.(TRAIN)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('acting', () => {
  const apply = (effect: Parameters<NonNullable<ProviderConnection['apply']>>[0], connection = connect()) =>
    connection.apply?.(effect, 'token-1', null);

  it.each([
    [
      'StopInstance',
      { kind: 'stop', target: TRAIN },
      { InstanceId: 'i-2zetrain', StoppedMode: 'StopCharging', ForceStop: 'false' },
    ],
    ['StartInstance', { kind: 'start', target: TRAIN }, { InstanceId: 'i-2zetrain' }],
    [
      'DeleteInstances',
      { kind: 'terminate', target: TRAIN },
      {
        RegionId: 'cn-beijing',
        'InstanceId.1': 'i-2zetrain',
        Force: 'true',
        ForceStop: 'false',
        ClientToken: 'token-1',
      },
    ],
    [
      'ModifyInstanceSpec',
      { kind: 'resize', target: TRAIN, sku: 'ecs.gn7i-c8g1.2xlarge' },
      { InstanceId: 'i-2zetrain', InstanceType: 'ecs.gn7i-c8g1.2xlarge', ClientToken: 'token-1' },
    ],
    [
      'ModifyScalingGroup',
      { kind: 'scale', target: GROUP, replicas: 2 },
      { RegionId: 'cn-beijing', ScalingGroupId: 'asg-2zeinfer', DesiredCapacity: '2' },
    ],
    [
      'ModifyScalingGroup',
      { kind: 'set-bounds', target: GROUP, min: 0, max: 6 },
      { RegionId: 'cn-beijing', ScalingGroupId: 'asg-2zeinfer', MinSize: '0', MaxSize: '6' },
    ],
    [
      'ModifyScalingGroup',
      { kind: 'set-spot-ratio', target: GROUP, spotRatio: 0.9 },
      { RegionId: 'cn-beijing', ScalingGroupId: 'asg-2zeinfer', OnDemandPercentageAboveBaseCapacity: '10' },
    ],
    [
      'ModifyScalingGroup',
      { kind: 'set-spot-ratio', target: GROUP, spotRatio: 0 },
      { RegionId: 'cn-beijing', ScalingGroupId: 'asg-2zeinfer', OnDemandPercentageAboveBaseCapacity: '100' },
    ],
    [
      'RemoveInstances',
      { kind: 'replace', target: TRAIN, group: GROUP },
      {
        RegionId: 'cn-beijing',
        ScalingGroupId: 'asg-2zeinfer',
        'InstanceIds.1': 'i-2zetrain',
        RemovePolicy: 'release',
        DecreaseDesiredCapacity: 'false',
        ClientToken: 'token-1',
      },
    ],
  ] as const)('sends %s with the keys for acting for %o', async (action, effect, params) => {
    server.play(action, { body: { RequestId: 'req-1' } });
    expect(await apply(effect)).toMatchObject({ kind: 'taken', reference: 'req-1' });
    expect(server.of(action)).toEqual([expect.objectContaining({ key: ACT.id, params })]);
  });

  it('names the permissions of the actions that it sends', () => {
    expect(provider.abilities.effects).toEqual({
      stop: ['ecs:StopInstance'],
      start: ['ecs:StartInstance'],
      terminate: ['ecs:DeleteInstances'],
      resize: ['ecs:ModifyInstanceSpec'],
      replace: ['ess:RemoveInstances'],
      scale: ['ess:ModifyScalingGroup'],
      'set-bounds': ['ess:ModifyScalingGroup'],
      'set-spot-ratio': ['ess:ModifyScalingGroup'],
    });
    expect(provider.abilities.bill).toContain('bssapi:DescribeInstanceBill');
  });

  it('refuses what the cloud has nothing for, without asking it', async () => {
    expect(await apply({ kind: 'stop', target: GROUP })).toMatchObject({ kind: 'refused', code: 'unsupported' });
    expect(await apply({ kind: 'replace', target: TRAIN, group: null })).toMatchObject({
      kind: 'refused',
      code: 'unsupported',
    });
    await expect(apply({ kind: 'stop', target: 'deployment/ml/trainer' })).rejects.toMatchObject({ kind: 'invalid' });
    expect(server.taken).toEqual([]);
  });

  it('hands a refusal on with its code', async () => {
    server.play(
      'StopInstance',
      error('IncorrectInstanceStatus', 'The current status of the resource does not support this operation.', 403),
    );
    expect(await apply({ kind: 'stop', target: TRAIN })).toEqual({
      kind: 'refused',
      code: 'IncorrectInstanceStatus',
      detail: 'The current status of the resource does not support this operation.',
    });
  });

  it('takes want of stock for what may pass, and a quota for a refusal', async () => {
    server.play('StartInstance', error('OperationDenied.NoStock', 'The requested resource is sold out.', 403));
    await expect(apply({ kind: 'start', target: TRAIN })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Alibaba Cloud has no capacity now for ecs:StartInstance (OperationDenied.NoStock)',
    });
    server.play('StartInstance', error('QuotaExceed.ElasticQuota', 'no more', 403));
    expect(await apply({ kind: 'start', target: TRAIN })).toMatchObject({ kind: 'refused' });
  });

  it('fails where nothing was done: throttled, denied, or nobody there', async () => {
    server.play('StopInstance', error('Throttling', 'Request was denied due to request throttling.'));
    await expect(apply({ kind: 'stop', target: TRAIN })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Alibaba Cloud throttled ecs:StopInstance (Throttling)',
    });
    server.play('StopInstance', error('NoPermission', 'denied', 403));
    await expect(apply({ kind: 'stop', target: TRAIN })).rejects.toMatchObject({
      kind: 'denied',
      message: 'Alibaba Cloud denied ecs:StopInstance (NoPermission): the permission is missing',
    });
    const nobody = await rpcServer('alibaba', {});
    await nobody.close();
    await expect(
      apply({ kind: 'stop', target: TRAIN }, connect({ BURSAR_ALIBABA_ENDPOINT_ECS: nobody.url })),
    ).rejects.toMatchObject({ kind: 'unavailable' });
    expect(server.of('StopInstance')).toHaveLength(2);
  });

  it('does not know what became of a request whose answer is lost, and sends it once', async () => {
    for (const play of [
      'drop',
      'silence',
      error('InternalError', 'The request processing has failed.', 500),
      { body: 'not json' },
    ] as const) {
      server.play('StopInstance', play);
      const before = server.of('StopInstance').length;
      expect(await apply({ kind: 'stop', target: TRAIN })).toMatchObject({ kind: 'unknown' });
      expect(server.of('StopInstance')).toHaveLength(before + 1);
    }
  });

  it('never shows keys, secrets or signatures', async () => {
    const wrong = connect({ BURSAR_ALIBABA_ACT_ACCESS_KEY_SECRET: 'mistyped-secret-0b1d' });
    const failure: unknown = await wrong
      .apply?.({ kind: 'stop', target: TRAIN }, 'token-1', null)
      .catch((reason: unknown) => reason);
    expect(failure).toMatchObject({
      kind: 'denied',
      message: 'Alibaba Cloud does not accept the credentials used for ecs:StopInstance (SignatureDoesNotMatch)',
    });
    expect((failure as Error).cause).toBeUndefined();
    expect(server.forged.splice(0)).toHaveLength(1);
    server.play(
      'StopInstance',
      error('InvalidParameter', `bad: AccessKeyId=${ACT.id}&Signature=abc%3D by ${ACT.secret}, ${READ.secret}`),
    );
    const refusal = JSON.stringify(await apply({ kind: 'stop', target: TRAIN }));
    for (const word of [ACT.id, ACT.secret, READ.secret, 'abc%3D']) expect(refusal).not.toContain(word);
  });
});

describe('an outcome', () => {
  it('is told from the target, and absent only a minute after sending', async () => {
    const connection = connect();
    server.play('ModifyScalingGroup', 'drop');
    const scale = { kind: 'scale', target: GROUP, replicas: 2 } as const;
    expect(await connection.apply?.(scale, 'token-1', null)).toMatchObject({ kind: 'unknown' });
    now += 59_000;
    expect(await connection.outcome?.(scale, 'token-1')).toMatchObject({ kind: 'unknown' });
    now += 1_000;
    expect(await connection.outcome?.(scale, 'token-1')).toEqual({ kind: 'absent' });
    expect(await connection.outcome?.({ ...scale, replicas: 4 }, 'token-1')).toMatchObject({ kind: 'taken' });
  });

  it('is taken while the instance is on its way, and unknown where its state says neither', async () => {
    const connection = connect();
    now += 600_000;
    const page = reply<InstancesReply>('alibaba', 'DescribeInstances.1');
    const show = (Status: string): void => {
      const [first] = page.Instances.Instance;
      server.play('DescribeInstances', { body: { NextToken: '', Instances: { Instance: [{ ...first, Status }] } } });
    };
    show('Stopping');
    expect(await connection.outcome?.({ kind: 'stop', target: TRAIN }, 't')).toMatchObject({ kind: 'taken' });
    expect(await connection.outcome?.({ kind: 'terminate', target: TRAIN }, 't')).toMatchObject({ kind: 'unknown' });
    show('Running');
    expect(await connection.outcome?.({ kind: 'stop', target: TRAIN }, 't')).toEqual({ kind: 'absent' });
    show('Mystery');
    expect(await connection.outcome?.({ kind: 'stop', target: TRAIN }, 't')).toMatchObject({ kind: 'unknown' });
    server.play('DescribeInstances', { body: { NextToken: '', Instances: { Instance: [] } } });
    expect(await connection.outcome?.({ kind: 'terminate', target: TRAIN }, 't')).toMatchObject({ kind: 'taken' });
  });
});

describe('prices', () => {
  const price = (event: PriceEvent) => (event.kind === 'price' ? event.price : null);

  it("are those of the fleet's types: the instance alone, per GPU-second, and the spot history by zone", async () => {
    const found = (await all(connect().prices?.(Date.UTC(2026, 10, 18, 3)))).map(price);
    expect(
      found.map((one) => [
        one?.region,
        one?.term,
        one?.rate.nanos,
        one?.rate.quantity,
        one?.rate.currency,
        one?.effectiveFrom,
      ]),
    ).toEqual([
      ['cn-beijing', 'on-demand', 19_127_000_000n, 3600n, 'CNY', NOW],
      ['cn-beijing', 'spot', 5_738_000_000n, 3600n, 'CNY', NOW],
      ['cn-beijing-i', 'spot', 6_100_000_000n, 3600n, 'CNY', Date.UTC(2026, 10, 18, 6)],
      ['cn-beijing-h', 'spot', 5_900_000_000n, 3600n, 'CNY', Date.UTC(2026, 10, 19, 12)],
    ]);
    expect(found[0]).toMatchObject({
      provider: 'Alibaba Cloud',
      sku: 'ecs.gn7i-c16g1.4xlarge',
      gpuModel: 'A10',
      gpus: 1,
      component: 'gpu',
      effectiveTo: null,
    });
    expect(server.of('DescribeSpotPriceHistory')[0]?.params).toMatchObject({
      NetworkType: 'vpc',
      StartTime: '2026-11-18T03:00:00Z',
      EndTime: '2026-11-20T08:00:00Z',
      Offset: '0',
    });
    // Types that the region does not price have no price; nothing was asked of types without a GPU.
    expect(new Set(server.of('DescribePrice').map(({ params }) => params['InstanceType']))).toEqual(
      new Set(['ecs.gn7i-c16g1.4xlarge', 'ecs.gn6v-c8g1.2xlarge', 'ecs.gn5-c4g1.xlarge', 'ecs.gn7-c12g1.12xlarge']),
    );
  });

  it('are the same facts when asked again, and new ones when they change', async () => {
    const connection = connect();
    const since = NOW - 1000;
    const first = await all(connection.prices?.(since));
    now += 3_600_000;
    expect(await all(connection.prices?.(since))).toEqual(first);
    server.play('DescribePrice', own('DescribePrice.spot'));
    const changed = (await all(connection.prices?.(since))).map(price).find((one) => one?.term === 'on-demand');
    expect(changed).toMatchObject({ effectiveFrom: now, rate: { nanos: 5_738_000_000n } });
  });

  it('reach back thirty days at most, and no price is no price', async () => {
    server.play('DescribePrice', {
      body: {
        PriceInfo: {
          Price: {
            Currency: 'CNY',
            TradePrice: 0,
            DetailInfos: { DetailInfo: [{ Resource: 'systemDisk', TradePrice: 0.3 }] },
          },
        },
      },
    });
    server.play('DescribeSpotPriceHistory', { body: { Currency: 'CNY', SpotPrices: { SpotPriceType: [] } } });
    expect(await all(connect().prices?.(0))).toEqual([]);
    expect(server.of('DescribeSpotPriceHistory')[0]?.params['StartTime']).toBe('2026-10-21T08:00:00Z');
  });

  it('are read past a region that is denied, a type that ECS refuses, and an answer in another shape', async () => {
    const partial = new RecordedRead([], NOW, () => 0);
    const real = server.url;
    server.play('DescribeInstanceTypes', ({ params }) => {
      const named = Object.entries(params).flatMap(([name, type]) => (name.startsWith('InstanceTypes') ? [type] : []));
      return named.includes('ecs.no-such-type')
        ? error('InvalidInstanceTypes.NotFound', 'There is no such type.', 404)
        : own('DescribeInstanceTypes');
    });
    server.play('DescribeSpotPriceHistory', ({ params }) => {
      if (params['RegionId'] === 'cn-shanghai') return error('Forbidden.RAM', 'no', 403);
      return params['InstanceType'] === 'ecs.gn6v-c8g1.2xlarge'
        ? { body: { Currency: 'CNY', SpotPrices: 'none' } }
        : { body: { Currency: 'CNY', SpotPrices: { SpotPriceType: [] } } };
    });
    const connection = connect({
      BURSAR_ALIBABA_REGIONS: 'cn-shanghai,cn-beijing',
      BURSAR_ALIBABA_INSTANCE_TYPES: 'ecs.no-such-type,ecs.gn7i-c16g1.4xlarge',
      BURSAR_ALIBABA_ENDPOINT_ECS: real,
    });
    const found = (await all(connection.prices?.(0, partial))).map(price);
    expect(found.some((one) => one?.region === 'cn-beijing' && one.sku === 'ecs.gn7i-c16g1.4xlarge')).toBe(true);
    expect(partial.lacking.map(({ part }) => part)).toEqual(
      expect.arrayContaining(['cn-shanghai', 'cn-beijing: ecs.gn6v-c8g1.2xlarge']),
    );
    expect(partial.lacking.find(({ part }) => part === 'cn-shanghai')?.problem).toMatch(
      /denied ecs:DescribeSpotPriceHistory/,
    );
  });

  it('of spot are readings too', async () => {
    expect(await all(connect().spotHistory?.(Date.UTC(2026, 10, 19)))).toEqual([
      {
        provider: 'Alibaba Cloud',
        region: 'cn-beijing-h',
        sku: 'ecs.gn7i-c16g1.4xlarge',
        gpuModel: 'A10',
        at: Date.UTC(2026, 10, 19, 12),
        available: null,
        price: { nanos: 5_900_000_000n, currency: 'CNY' },
      },
    ]);
  });
});

describe('the bill', () => {
  const MONTH = Date.UTC(2026, 8, 30, 16);
  const readBill = async (from: number, to: number): Promise<RecordBatch> => {
    const whole: RecordBatch = { records: [], rejects: [] };
    for await (const { records, rejects } of connect().bill?.(from, to) ?? []) {
      whole.records.push(...records);
      whole.rejects.push(...rejects);
    }
    return whole;
  };

  beforeEach(() => {
    server.play('DescribeRegions', ({ params }) => own(`DescribeRegions.${String(params['AcceptLanguage'])}`));
    server.play('DescribeInstanceBill', ({ params }) => {
      if (params['BillingDate'] !== '2026-10-01')
        return { body: { Code: 'Success', Data: { AccountID: '1234567890', NextToken: '', Items: [] } } };
      return own(params['NextToken'] === undefined ? 'DescribeInstanceBill.1' : 'DescribeInstanceBill.2');
    });
  });

  it('is read by day and page, the month whole, in Beijing time', async () => {
    const { records, rejects } = await readBill(Date.UTC(2026, 9, 14), Date.UTC(2026, 9, 15));
    const asked = server.of('DescribeInstanceBill');
    expect(asked).toHaveLength(32);
    expect(asked[0]).toMatchObject({
      key: READ.id,
      version: '2017-12-14',
      params: {
        BillingCycle: '2026-10',
        BillingDate: '2026-10-01',
        Granularity: 'DAILY',
        IsBillingItem: 'true',
        MaxResults: '300',
      },
    });
    expect(asked[1]?.params['NextToken']).toBe('CAESEgoQCg4KCm');
    expect(
      records.map(({ charge, sku }) => [
        charge?.category,
        charge && formatDecimal(charge.billed),
        charge?.effective && formatDecimal(charge.effective),
        charge?.list && formatDecimal(charge.list),
        sku,
        charge?.machineHours,
      ]),
    ).toEqual([
      ['Usage', '367.2384', '367.2384', '459.048', 'ecs.gn7i-c16g1.4xlarge', true],
      // The disk and the traffic of the same machine, which its meter does not stand for.
      ['Usage', '2.688', '2.688', '3.36', 'ecs', false],
      ['Usage', '8', '8', '8', 'ecs', false],
      ['Purchase', '88200.5', null, '98000', 'ecs.gn7-c12g1.12xlarge', true],
      ['Usage', '0.000000012345', '0.000000012345', '0.000000012345', 'ecs.gn7i-c16g1.4xlarge', true],
    ]);
    expect(records[0]).toMatchObject({
      provider: 'Alibaba Cloud',
      account: '1234567890',
      resource: 'i-2zetrain',
      sku: 'ecs.gn7i-c16g1.4xlarge',
      region: 'cn-beijing',
      term: null,
      gpuModel: 'A10',
      gpuParts: null,
      tags: { team: 'vision', env: 'prod' },
      start: MONTH,
      end: MONTH + 86_400_000,
      charge: { currency: 'CNY', periodStart: MONTH, periodEnd: Date.UTC(2026, 9, 31, 16) },
    });
    expect(records[1]).toMatchObject({ gpuModel: null, resource: 'i-2zetrain' });
    expect(records[3]).toMatchObject({ gpuModel: 'A100-40GB', tags: null });
    expect(new Set(records.map(({ id }) => id)).size).toBe(5);
    expect(rejects).toMatchObject([{ line: 6, column: 'PretaxAmount' }]);
    expect((await readBill(MONTH, MONTH + 1)).records).toEqual(records);
  });

  it('of an ended month is left alone until it is final', async () => {
    now = Date.UTC(2026, 10, 3, 3, 59);
    expect(await readBill(Date.UTC(2026, 9, 14), Date.UTC(2026, 9, 15))).toEqual({ records: [], rejects: [] });
    expect(server.of('DescribeInstanceBill')).toEqual([]);
    now = Date.UTC(2026, 10, 3, 4);
    expect((await readBill(Date.UTC(2026, 9, 14), Date.UTC(2026, 9, 15))).records).toHaveLength(5);
  });

  it('takes no usage for the machine that no billable item or product calls one', async () => {
    const { Data } = reply<{ Data: { Items: Record<string, unknown>[] } }>('alibaba', 'DescribeInstanceBill.1');
    const [item = {}] = Data.Items;
    const kinds: [object, boolean][] = [
      [{ BillingItem: 'Instance Type', BillingItemCode: '' }, true],
      [{ BillingItem: '', BillingItemCode: '' }, true],
      [{ BillingItem: '', BillingItemCode: '', ProductDetail: 'ECS - Internet traffic' }, false],
      [{ BillingItem: '数据盘', BillingItemCode: 'DataDisk' }, false],
      [{ BillingItem: 'Other', BillingItemCode: 'Other' }, false],
      [{ BillingItem: 'ImageOS', BillingItemCode: 'ImageOs' }, false],
    ];
    const Items = kinds.map(([kind]) => ({ ...item, ...kind }));
    server.play('DescribeInstanceBill', ({ params }) => ({
      body: { Data: { AccountID: '1', NextToken: '', Items: params['BillingDate'] === '2026-10-01' ? Items : [] } },
    }));
    const { records } = await readBill(MONTH, MONTH + 1);
    expect(records.map(({ charge }) => charge?.machineHours)).toEqual(kinds.map(([, expected]) => expected));
    expect(records.map(({ sku }) => sku?.startsWith('ecs.'))).toEqual(kinds.map(([, expected]) => expected));
  });

  it('fails whole, so that half a month never replaces a month', async () => {
    server.play('DescribeInstanceBill', ({ params }) =>
      params['BillingDate'] === '2026-10-02' ? error('NotAuthorized', 'no', 403) : own('DescribeInstanceBill.2'),
    );
    await expect(readBill(MONTH, MONTH + 1)).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('bssapi:DescribeInstanceBill') as string,
    });
  });
});

describeProviderContract('alibaba', () => {
  const page = reply<InstancesReply>('alibaba', 'DescribeInstances.1');
  const others = reply<InstancesReply>('alibaba', 'DescribeInstances.2').Instances.Instance;
  const train = page.Instances.Instance[0] as InstancesReply['Instances']['Instance'][number];
  let stops = 0;
  let lose: 'no' | 'answer' | 'request' = 'no';
  server.play('DescribeInstances', ({ params }) => {
    const ids = params['InstanceIds'] === undefined ? null : (JSON.parse(String(params['InstanceIds'])) as string[]);
    return {
      body: {
        NextToken: '',
        Instances: { Instance: [train, ...others].filter(({ InstanceId }) => ids?.includes(InstanceId) ?? true) },
      },
    };
  });
  server.play('StopInstance', () => {
    const how = lose;
    lose = 'no';
    if (how !== 'request') {
      stops += train.Status === 'Running' ? 1 : 0;
      Object.assign(train, { Status: 'Stopped', StoppedMode: 'StopCharging' } satisfies Partial<typeof train>);
    }
    return how === 'no' ? { body: { RequestId: 'req-1' } } : 'drop';
  });
  return {
    connection: connect(),
    readOnly: readOnly(),
    effect: { kind: 'stop', target: TRAIN },
    appliedCount: () => stops,
    loseNextAnswer: (arrives) => {
      lose = arrives ? 'answer' : 'request';
    },
    now: () => now,
  };
});
