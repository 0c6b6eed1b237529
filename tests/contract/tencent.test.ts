/**
 * The Tencent Cloud connection, through its real client, against a server that checks signatures and plays hand-written
 * replies.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { formatDecimal } from '../../src/core/decimal.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { RecordedRead } from '../../src/core/partial-read.js';
import type { PriceEvent } from '../../src/core/price/price.js';
import type { RecordBatch } from '../../src/core/usage.js';
import { provider } from '../../src/providers/tencent/tencent.js';
import { errorReply, reply, rpcServer, type RpcServer } from '../support/rpc-server.js';
import { MODELS, problemsOfRequest } from '../support/rpc-model.js';
import { describeProviderContract, memberRefusals, REFUSED_TO_MEMBERS } from './contract.js';

const READ = { id: 'AKIDreader', secret: 'reader-key-7f3a' };
const ACT = { id: 'AKIDactor', secret: 'actor-key-91cc' };
const NOW = Date.UTC(2026, 10, 20, 8);
const TRAIN = 'instance/ap-guangzhou/ins-train01';
const GROUP = 'asg/ap-guangzhou/asg-infer01';

const own = (name: string): { readonly body: unknown } => ({ body: reply('tencent', name) });
const error = (code: string, message = 'no') => errorReply('tencent', code, message);
const answer = (fields: Readonly<Record<string, unknown>>): { readonly body: unknown } => ({
  body: { Response: { RequestId: 'req-1', ...fields } },
});

let server: RpcServer;
let now = NOW;

function connect(over: Readonly<Record<string, string | undefined>> = {}): ProviderConnection {
  const connection = provider.connect(
    {
      BURSAR_TENCENT_REGIONS: 'ap-guangzhou',
      BURSAR_TENCENT_READ_SECRET_ID: READ.id,
      BURSAR_TENCENT_READ_SECRET_KEY: READ.secret,
      BURSAR_TENCENT_ACT_SECRET_ID: ACT.id,
      BURSAR_TENCENT_ACT_SECRET_KEY: ACT.secret,
      BURSAR_TENCENT_ENDPOINT: server.url,
      BURSAR_TENCENT_TIMEOUT_SECONDS: '1',
      ...over,
    },
    { now: () => now },
  );
  if (connection === null) throw new Error('there is no connection');
  return connection;
}

const readOnly = (): ProviderConnection =>
  connect({ BURSAR_TENCENT_ACT_SECRET_ID: undefined, BURSAR_TENCENT_ACT_SECRET_KEY: undefined });

interface InstancesReply {
  readonly Response: {
    readonly InstanceSet: { InstanceId: string; InstanceState: string; StopChargingMode: string }[];
  };
}
interface GroupsReply {
  readonly Response: { readonly AutoScalingGroupSet: { readonly AutoScalingGroupId: string }[] };
}

interface TasksReply {
  readonly Response: { readonly RepairTaskInfoSet: Record<string, unknown>[] };
}

interface MembersReply {
  readonly Response: { readonly AutoScalingInstanceSet: { readonly InstanceId: string }[] };
}

const instancesOf = (): InstancesReply['Response']['InstanceSet'] =>
  reply<InstancesReply>('tencent', 'DescribeInstances').Response.InstanceSet;

/** Instances two to a page, or those that are named; one that is not there is an error, as the API has it. */
function playInstances(on: RpcServer, instances: readonly InstancesReply['Response']['InstanceSet'][number][]): void {
  on.play('DescribeInstances', ({ params }) => {
    const ids = params['InstanceIds'] as string[] | undefined;
    if (ids !== undefined) {
      const found = instances.filter(({ InstanceId }) => ids.includes(InstanceId));
      return found.length === 0
        ? error('InvalidInstanceId.NotFound', 'The instance does not exist.')
        : answer({ TotalCount: found.length, InstanceSet: found });
    }
    const offset = Number(params['Offset']);
    return answer({ TotalCount: instances.length, InstanceSet: instances.slice(offset, offset + 2) });
  });
}

function playAccount(on: RpcServer): void {
  playInstances(on, instancesOf());
  on.play('DescribeAutoScalingGroups', ({ params }) => {
    const ids = params['AutoScalingGroupIds'] as string[] | undefined;
    const groups = reply<GroupsReply>('tencent', 'DescribeAutoScalingGroups').Response.AutoScalingGroupSet.filter(
      ({ AutoScalingGroupId }) => ids?.includes(AutoScalingGroupId) ?? true,
    );
    return answer({ TotalCount: groups.length, AutoScalingGroupSet: groups });
  });
  on.play('DescribeTaskInfo', answer({ TotalCount: 0, RepairTaskInfoSet: [] }));
  on.play('DescribeLaunchConfigurations', own('DescribeLaunchConfigurations'));
  on.play('DescribeLifecycleHooks', own('DescribeLifecycleHooks'));
  on.play('DescribeScalingPolicies', own('DescribeScalingPolicies'));
  on.play('DescribeAutoScalingInstances', ({ params }) => {
    const ids = params['InstanceIds'] as string[] | undefined;
    if (ids === undefined) return own('DescribeAutoScalingInstances');
    const members = reply<MembersReply>(
      'tencent',
      'DescribeAutoScalingInstances',
    ).Response.AutoScalingInstanceSet.filter(({ InstanceId }) => ids.includes(InstanceId));
    return answer({ TotalCount: members.length, AutoScalingInstanceSet: members });
  });
  on.play('DescribeZoneInstanceConfigInfos', ({ params }) =>
    own(
      JSON.stringify(params['Filters']).includes('SPOTPAID')
        ? 'DescribeZoneInstanceConfigInfos.spot'
        : 'DescribeZoneInstanceConfigInfos',
    ),
  );
}

async function all<T>(pages: AsyncIterable<readonly T[]> | undefined): Promise<T[]> {
  const found: T[] = [];
  for await (const page of pages ?? []) found.push(...page);
  return found;
}

beforeEach(async () => {
  now = NOW;
  server = await rpcServer('tencent', { [READ.id]: READ.secret, [ACT.id]: ACT.secret });
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
          BURSAR_TENCENT_READ_SECRET_ID: 'AKIDseen',
          BURSAR_TENCENT_ACT_SECRET_KEY: 'hush',
          BURSAR_TENCENT_SITE: 'mars',
        },
        { now: () => NOW },
      ),
    ).toThrow(
      /^(?!.*(?:AKIDseen|hush|mars)).*BURSAR_TENCENT_REGIONS is missing.*READ_SECRET_KEY is missing.*ACT_SECRET_ID is missing.*SITE is neither/,
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
      ['ins-train01', 'GN7.2XLARGE32', 'T4', 1, 'on-demand', 'running', 'billed'],
      ['ins-spot01', 'GN10Xp.2XLARGE40', 'V100-32GB', 1, 'spot', 'running', 'billed'],
      ['ins-share01', 'GN7.LARGE20', 'T4', 0.25, 'on-demand', 'stopped', 'partly'],
      ['ins-paid01', 'GT4.41XLARGE948', 'A100-40GB', 8, null, 'stopped', 'billed'],
    ]);
    expect(instances[0]).toMatchObject({
      provider: 'Tencent Cloud',
      region: 'ap-guangzhou',
      name: 'train-t4',
      labels: { team: 'vision' },
      launchedAt: Date.UTC(2026, 10, 18, 2, 15),
    });
    expect(
      server
        .of('DescribeInstances')
        .map(({ params, key, version, region, service }) => [
          params['Offset'],
          params['Limit'],
          key,
          version,
          region,
          service,
        ]),
    ).toEqual([0, 2, 4].map((offset) => [offset, 100, READ.id, '2017-03-12', 'ap-guangzhou', 'cvm']));
  });

  describe('has CVM own word that a machine is not well', () => {
    const wordOf = async (): Promise<readonly [string, string | undefined][]> =>
      ((await connect().fleet?.())?.targets ?? [])
        .filter(({ unwell }) => unwell !== undefined)
        .map(({ target, unwell }) => [target, unwell]);
    const tasks = (...over: Record<string, unknown>[]): void => {
      const [one] = reply<TasksReply>('tencent', 'DescribeTaskInfo').Response.RepairTaskInfoSet;
      server.play('DescribeTaskInfo', ({ params }) => {
        const offset = Number(params['Offset']);
        const page = over.slice(offset, offset + 1).map((each) => ({ ...one, ...each }));
        return answer({ TotalCount: over.length, RepairTaskInfoSet: page });
      });
    };

    it('by a repair task that is open, over all pages', async () => {
      server.play('DescribeTaskInfo', own('DescribeTaskInfo'));
      expect(await wordOf()).toEqual([[TRAIN, 'repair task 102: instance runs abnormally']]);
      const [asked] = server.of('DescribeTaskInfo');
      expect(asked).toMatchObject({
        key: READ.id,
        region: 'ap-guangzhou',
        service: 'cvm',
        // Without it only the tasks of today would be listed; in Beijing's time.
        params: { StartDate: '2026-11-13 00:00:00', TaskStatus: [1, 2] },
      });
      expect(problemsOfRequest(MODELS['tencent-cvm']['DescribeTaskInfo']!, asked?.params ?? {})).toEqual([]);
      tasks({ InstanceId: 'ins-web01' }, { TaskTypeId: 104, TaskStatus: 1 });
      expect(await wordOf()).toEqual([[TRAIN, 'repair task 104: network is abnormal']]);
    });

    it('by none that is over, only warns, or is of a machine that stands still', async () => {
      tasks({ TaskStatus: 3 }, { TaskTypeId: 105 }, { InstanceId: 'ins-share01' });
      expect(await wordOf()).toEqual([]);
    });

    it('or says that it was not read: the machines stand, all of them', async () => {
      server.play('DescribeTaskInfo', error('UnauthorizedOperation'));
      expect(await connect().fleet?.()).toMatchObject({
        complete: true,
        problems: [
          'ap-guangzhou: instances: repair tasks were not read: Tencent Cloud denied cvm:DescribeTaskInfo (UnauthorizedOperation): the permission is missing',
        ],
      });
    });
  });

  it('lists the auto scaling groups with GPUs', async () => {
    const groups = ((await connect().fleet?.())?.targets ?? []).filter(({ kind }) => kind === 'group');
    expect(groups.map(({ target }) => target)).toEqual([GROUP, 'asg/ap-guangzhou/asg-empty01']);
    expect(groups[0]).toMatchObject({
      sku: 'GN7.2XLARGE32',
      gpuModel: 'T4',
      gpus: 1,
      term: null,
      state: 'running',
      billing: 'billed',
      spotRatio: 0.6,
      replicas: { desired: 4, ready: 3, min: 1, max: 10 },
      labels: { team: 'vision' },
    });
    expect(groups[1]).toMatchObject({
      gpuModel: 'V100-32GB',
      term: 'spot',
      state: 'stopped',
      billing: 'ended',
      spotRatio: 1,
    });
    expect(server.of('DescribeAutoScalingGroups')[0]).toMatchObject({
      version: '2018-04-19',
      service: 'as',
      key: READ.id,
      params: { Offset: 0, Limit: 100 },
    });
    expect(server.of('DescribeLaunchConfigurations')[0]?.params['LaunchConfigurationIds']).toEqual([
      'asc-t4',
      'asc-v100',
      'asc-web',
    ]);
  });

  it('takes the error of a missing instance for its absence, and no other error', async () => {
    expect(await connect().target?.('instance/ap-guangzhou/ins-gone')).toBeNull();
    server.play('DescribeAutoScalingGroups', error('ResourceNotFound.AutoScalingGroupNotFound'));
    expect(await connect().target?.(GROUP)).toBeNull();
    server.play('DescribeInstances', error('InvalidInstanceId.Malformed', 'The id is malformed.'));
    await expect(connect().target?.(TRAIN)).rejects.toMatchObject({
      kind: 'invalid',
      message: 'Tencent Cloud refused cvm:DescribeInstances (InvalidInstanceId.Malformed): The id is malformed.',
    });
  });

  it('knows the group of each machine: no tag on it says so', async () => {
    const machines = (await connect().fleet?.())?.targets.filter(({ kind }) => kind === 'instance') ?? [];
    expect(machines.map(({ target, labels }) => [target.split('/')[2], labels])).toEqual([
      ['ins-train01', { team: 'vision' }],
      ['ins-spot01', { 'bursar:target': GROUP }],
      ['ins-share01', {}],
      ['ins-paid01', {}],
    ]);
    const asked = server.of('DescribeAutoScalingInstances').filter(({ params }) => 'InstanceIds' in params);
    expect(asked).toMatchObject([
      {
        version: '2018-04-19',
        key: READ.id,
        region: 'ap-guangzhou',
        service: 'as',
        params: { InstanceIds: ['ins-train01', 'ins-spot01', 'ins-share01', 'ins-paid01'], Limit: 100 },
      },
    ]);
  });

  it('lists machines without their groups where nobody may ask for them, and says so', async () => {
    server.play('DescribeAutoScalingInstances', error('AuthFailure.UnauthorizedOperation'));
    const reading = await connect().fleet?.();
    expect(reading).toMatchObject({
      complete: false,
      problems: [
        expect.stringMatching(
          /^ap-guangzhou: instances: the groups of the instances could not be read: Tencent Cloud denied as:DescribeAutoScalingInstances/,
        ),
      ],
    });
    expect(reading?.targets.filter(({ kind }) => kind === 'instance')).toHaveLength(4);
  });

  it('says that it is not complete where a region cannot be read', async () => {
    server.play('DescribeAutoScalingGroups', ({ region }) =>
      region === 'ap-shanghai' ? error('RequestLimitExceeded', 'too many requests') : own('DescribeAutoScalingGroups'),
    );
    const reading = await connect({ BURSAR_TENCENT_REGIONS: 'ap-guangzhou,ap-shanghai' }).fleet?.();
    expect(reading?.complete).toBe(false);
    expect(reading?.problems).toEqual([
      'ap-shanghai: auto scaling groups: Tencent Cloud throttled as:DescribeAutoScalingGroups (RequestLimitExceeded)',
    ]);
    expect(reading?.targets.some(({ target }) => target === GROUP)).toBe(true);
  });

  it('fails where nothing could be read: denied with the permission, unavailable where nobody listens', async () => {
    for (const action of ['DescribeInstances', 'DescribeAutoScalingGroups'])
      server.play(action, error('UnauthorizedOperation', 'you are not authorized'));
    await expect(connect().fleet?.()).rejects.toMatchObject({
      kind: 'denied',
      message: 'Tencent Cloud denied cvm:DescribeInstances (UnauthorizedOperation): the permission is missing',
    });
    const nobody = await rpcServer('tencent', {});
    await nobody.close();
    await expect(connect({ BURSAR_TENCENT_ENDPOINT: nobody.url }).target?.(TRAIN)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Tencent Cloud could not be reached for cvm:DescribeInstances (ECONNREFUSED)',
    });
  });

  it('does not take a reply of another shape for an empty fleet', async () => {
    server.play('DescribeInstances', answer({ TotalCount: 1, InstanceSet: [{ InstanceState: 'RUNNING' }] }));
    expect(await connect().fleet?.()).toMatchObject({
      complete: false,
      problems: [expect.stringContaining('in a shape that is not documented')],
    });
    server.play('DescribeInstances', { status: 502, body: '<html>bad gateway</html>' });
    await expect(connect().target?.(TRAIN)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe("a group's own settings", () => {
  it('are its protected machines, hooks, policies and whether it is disabled; spot is mixed where it already is', async () => {
    const [infer] = reply<{ Response: { AutoScalingGroupSet: Record<string, unknown>[] } }>(
      'tencent',
      'DescribeAutoScalingGroups',
    ).Response.AutoScalingGroupSet;
    const groups = [{ ...infer, EnabledStatus: 'DISABLED', InstanceAllocationPolicy: 'LAUNCH_CONFIGURATION' }];
    server.play('DescribeAutoScalingGroups', answer({ TotalCount: 1, AutoScalingGroupSet: groups }));
    const [member] = reply<{ Response: { AutoScalingInstanceSet: Record<string, unknown>[] } }>(
      'tencent',
      'DescribeAutoScalingInstances',
    ).Response.AutoScalingInstanceSet;
    server.play(
      'DescribeAutoScalingInstances',
      answer({ TotalCount: 1, AutoScalingInstanceSet: [{ ...member, ProtectedFromScaleIn: true }] }),
    );
    const seen = await connect().target?.(GROUP);
    expect(seen?.group).toEqual({
      protectedMembers: 1,
      suspended: ['launch', 'terminate'],
      hooks: [{ name: 'save-state', seconds: 300 }],
      policies: [
        { name: 'cpu-50', follows: true },
        { name: 'alarm', follows: false },
      ],
    });
    expect(seen?.ruledOut).toEqual({ 'set-spot-ratio': expect.stringContaining('not SPOT_MIXED') });
    expect(server.of('DescribeLifecycleHooks').map(({ params, key }) => [params['Filters'], key])).toEqual([
      [[{ Name: 'auto-scaling-group-id', Values: ['asg-infer01'] }], READ.id],
    ]);
    for (const action of ['DescribeLifecycleHooks', 'DescribeScalingPolicies', 'DescribeAutoScalingInstances'])
      server.play(action, error('UnauthorizedOperation'));
    expect((await connect().target?.(GROUP))?.group).toMatchObject({ protectedMembers: null, hooks: null });
  });

  it('are unknown in a list where they cannot be read just now, and asked for again before acting', async () => {
    for (const action of ['DescribeLifecycleHooks', 'DescribeScalingPolicies'])
      server.play(action, error('RequestLimitExceeded'));
    const listed = (await connect().fleet?.())?.targets.find(({ target }) => target === GROUP);
    expect(listed?.group).toMatchObject({ hooks: null, policies: null });
    await expect(connect().target?.(GROUP)).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('a machine of a group', () => {
  it('is left to its group, and left alone where the group cannot be read', async () => {
    const connection = connect();
    const member = 'instance/ap-guangzhou/ins-spot01';
    expect(await memberRefusals(connection, member)).toEqual(REFUSED_TO_MEMBERS);
    server.play('DescribeAutoScalingInstances', error('UnauthorizedOperation'));
    await expect(connection.target?.(member)).rejects.toMatchObject({ kind: 'denied' });
    expect(server.taken.filter(({ key }) => key === ACT.id)).toEqual([]);
  });
});

describe('acting', () => {
  const apply = (effect: Parameters<NonNullable<ProviderConnection['apply']>>[0], connection = connect()) =>
    connection.apply?.(effect, 'token-1', null);

  it.each([
    [
      'StopInstances',
      'cvm',
      { kind: 'stop', target: TRAIN },
      { InstanceIds: ['ins-train01'], StopType: 'SOFT_FIRST', StoppedMode: 'STOP_CHARGING' },
    ],
    ['StartInstances', 'cvm', { kind: 'start', target: TRAIN }, { InstanceIds: ['ins-train01'] }],
    ['TerminateInstances', 'cvm', { kind: 'terminate', target: TRAIN }, { InstanceIds: ['ins-train01'] }],
    ['TerminateInstances', 'cvm', { kind: 'replace', target: TRAIN, group: GROUP }, { InstanceIds: ['ins-train01'] }],
    [
      'ResetInstancesType',
      'cvm',
      { kind: 'resize', target: TRAIN, sku: 'GN7.5XLARGE80' },
      { InstanceIds: ['ins-train01'], InstanceType: 'GN7.5XLARGE80', ForceStop: false },
    ],
    [
      'ModifyAutoScalingGroup',
      'as',
      { kind: 'scale', target: GROUP, replicas: 2 },
      { AutoScalingGroupId: 'asg-infer01', DesiredCapacity: 2 },
    ],
    [
      'ModifyAutoScalingGroup',
      'as',
      { kind: 'set-bounds', target: GROUP, min: 0, max: 6 },
      { AutoScalingGroupId: 'asg-infer01', MinSize: 0, MaxSize: 6 },
    ],
    [
      'ModifyAutoScalingGroup',
      'as',
      { kind: 'set-spot-ratio', target: GROUP, spotRatio: 0.9 },
      {
        AutoScalingGroupId: 'asg-infer01',
        InstanceAllocationPolicy: 'SPOT_MIXED',
        SpotMixedAllocationPolicy: {
          BaseCapacity: 1,
          SpotAllocationStrategy: 'CAPACITY_OPTIMIZED',
          CompensateWithBaseInstance: true,
          OnDemandPercentageAboveBaseCapacity: 10,
        },
      },
    ],
    [
      'ModifyAutoScalingGroup',
      'as',
      { kind: 'set-spot-ratio', target: 'asg/ap-guangzhou/asg-empty01', spotRatio: 0 },
      {
        AutoScalingGroupId: 'asg-empty01',
        InstanceAllocationPolicy: 'SPOT_MIXED',
        SpotMixedAllocationPolicy: { OnDemandPercentageAboveBaseCapacity: 100 },
      },
    ],
  ] as const)('sends %s of %s with the keys for acting for %o', async (action, service, effect, params) => {
    server.play(action, answer({}));
    expect(await apply(effect)).toMatchObject({ kind: 'taken', reference: 'req-1' });
    expect(server.of(action)).toEqual([
      expect.objectContaining({ key: ACT.id, service, region: 'ap-guangzhou', params }),
    ]);
  });

  it('names the permissions of the actions that it sends', () => {
    expect(provider.abilities.effects).toEqual({
      stop: ['cvm:StopInstances'],
      start: ['cvm:StartInstances'],
      terminate: ['cvm:TerminateInstances'],
      replace: ['cvm:TerminateInstances'],
      resize: ['cvm:ResetInstancesType'],
      scale: ['as:ModifyAutoScalingGroup'],
      'set-bounds': ['as:ModifyAutoScalingGroup'],
      'set-spot-ratio': ['as:ModifyAutoScalingGroup', 'as:DescribeAutoScalingGroups'],
    });
    expect(provider.abilities.bill).toContain('finance:DescribeBillDetail');
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

  it('takes an error within a reply of status 200 for what it is', async () => {
    server.play('StopInstances', error('UnsupportedOperation.InstanceStateStopped', 'The instance is stopped.'));
    expect(await apply({ kind: 'stop', target: TRAIN })).toEqual({
      kind: 'refused',
      code: 'UnsupportedOperation.InstanceStateStopped',
      detail: 'The instance is stopped.',
    });
  });

  it('takes want of stock for what may pass, and a quota for a refusal', async () => {
    const start = { kind: 'start', target: TRAIN } as const;
    for (const code of ['ResourceInsufficient.SpecifiedInstanceType', 'ResourcesSoldOut.SpecifiedInstanceType']) {
      server.play('StartInstances', error(code));
      await expect(apply(start)).rejects.toMatchObject({
        kind: 'unavailable',
        message: `Tencent Cloud has no capacity now for cvm:StartInstances (${code})`,
      });
    }
    server.play('StartInstances', error('ResourceInsufficient.DisasterRecoverGroupCvmQuota'));
    expect(await apply(start)).toMatchObject({ kind: 'refused' });
  });

  it('fails where nothing was done: throttled, denied, or nobody there', async () => {
    server.play('StopInstances', error('RequestLimitExceeded.UinLimitExceeded'));
    await expect(apply({ kind: 'stop', target: TRAIN })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'Tencent Cloud throttled cvm:StopInstances (RequestLimitExceeded.UinLimitExceeded)',
    });
    server.play('StopInstances', error('AuthFailure.UnauthorizedOperation'));
    await expect(apply({ kind: 'stop', target: TRAIN })).rejects.toMatchObject({
      kind: 'denied',
      message: 'Tencent Cloud denied cvm:StopInstances (AuthFailure.UnauthorizedOperation): the permission is missing',
    });
    const nobody = await rpcServer('tencent', {});
    await nobody.close();
    await expect(
      apply({ kind: 'stop', target: TRAIN }, connect({ BURSAR_TENCENT_ENDPOINT: nobody.url })),
    ).rejects.toMatchObject({ kind: 'unavailable' });
    expect(server.of('StopInstances')).toHaveLength(2);
  });

  it('does not know what became of a request whose answer is lost, and sends it once', async () => {
    for (const play of [
      'drop',
      'silence',
      error('InternalError'),
      { status: 504, body: '' },
      { body: 'not json' },
    ] as const) {
      server.play('StopInstances', play);
      const before = server.of('StopInstances').length;
      expect(await apply({ kind: 'stop', target: TRAIN })).toMatchObject({ kind: 'unknown' });
      expect(server.of('StopInstances')).toHaveLength(before + 1);
    }
  });

  it('never shows keys, secrets or signatures', async () => {
    const wrong = connect({ BURSAR_TENCENT_ACT_SECRET_KEY: 'mistyped-key-0b1d' });
    const failure: unknown = await wrong
      .apply?.({ kind: 'stop', target: TRAIN }, 'token-1', null)
      .catch((reason: unknown) => reason);
    expect(failure).toMatchObject({
      kind: 'denied',
      message:
        'Tencent Cloud does not accept the credentials used for cvm:StopInstances (AuthFailure.SignatureFailure)',
    });
    expect((failure as Error).cause).toBeUndefined();
    expect(server.forged.splice(0)).toHaveLength(1);
    server.play(
      'StopInstances',
      error('InvalidParameter', `bad: SecretId=${ACT.id}, Signature=0a1b by ${ACT.secret}, ${READ.secret}`),
    );
    const refusal = JSON.stringify(await apply({ kind: 'stop', target: TRAIN }));
    for (const word of [ACT.id, ACT.secret, READ.secret, '0a1b']) expect(refusal).not.toContain(word);
  });
});

describe('an outcome', () => {
  it('is told from the target, and absent only a minute after sending', async () => {
    const connection = connect();
    server.play('ModifyAutoScalingGroup', 'drop');
    const scale = { kind: 'scale', target: GROUP, replicas: 2 } as const;
    expect(await connection.apply?.(scale, 'token-1', null)).toMatchObject({ kind: 'unknown' });
    now += 59_000;
    expect(await connection.outcome?.(scale, 'token-1')).toMatchObject({ kind: 'unknown' });
    now += 1_000;
    expect(await connection.outcome?.(scale, 'token-1')).toEqual({ kind: 'absent' });
    expect(await connection.outcome?.({ ...scale, replicas: 4 }, 'token-1')).toMatchObject({ kind: 'taken' });
  });

  it('fails where the target cannot be read, and claims nothing', async () => {
    server.play('DescribeInstances', 'drop');
    await expect(connect().outcome?.({ kind: 'stop', target: TRAIN }, 't')).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});

describe('prices', () => {
  const price = (event: PriceEvent) => (event.kind === 'price' ? event.price : null);

  it('are those of all GPU types, of the region where its zones agree, per GPU-second', async () => {
    const found = (await all(connect().prices?.(0))).map(price);
    expect(
      found.map((one) => [one?.sku, one?.region, one?.term, one?.gpus, one?.rate.nanos, one?.rate.quantity]),
    ).toEqual([
      ['GN7.2XLARGE32', 'ap-guangzhou', 'on-demand', 1, 7_050_000_000n, 3600n],
      ['GN7.LARGE20', 'ap-guangzhou', 'on-demand', 0.25, 2_280_000_000n, 900n],
      ['GN10Xp.2XLARGE40', 'ap-guangzhou-6', 'on-demand', 1, 10_500_000_000n, 3600n],
      ['GN10Xp.2XLARGE40', 'ap-guangzhou-7', 'on-demand', 1, 11_000_000_000n, 3600n],
      ['GN7.2XLARGE32', 'ap-guangzhou', 'spot', 1, 1_410_000_000n, 3600n],
    ]);
    expect(found[0]).toMatchObject({
      provider: 'Tencent Cloud',
      gpuModel: 'T4',
      effectiveFrom: NOW,
      effectiveTo: null,
      rate: { currency: 'CNY' },
    });
    expect(server.of('DescribeZoneInstanceConfigInfos').map(({ params }) => params['Filters'])).toEqual(
      ['POSTPAID_BY_HOUR', 'SPOTPAID'].map((charge) => [{ Name: 'instance-charge-type', Values: [charge] }]),
    );
  });

  it('are the same facts when asked again, none of them since later', async () => {
    const connection = connect();
    const first = await all(connection.prices?.(NOW));
    now += 3_600_000;
    expect(await all(connection.prices?.(NOW))).toEqual(first);
    expect(await all(connection.prices?.(NOW + 1))).toEqual([]);
  });

  it('are read past a region that is denied and an entry in another shape, spot as on demand', async () => {
    const whole = reply<{ Response: { InstanceTypeQuotaSet: object[] } }>('tencent', 'DescribeZoneInstanceConfigInfos');
    server.play('DescribeZoneInstanceConfigInfos', ({ params, region }) => {
      if (region === 'ap-beijing') return error('UnauthorizedOperation');
      if (JSON.stringify(params['Filters']).includes('SPOTPAID')) return error('UnauthorizedOperation.CamNoAuth');
      return answer({ InstanceTypeQuotaSet: [{ Zone: 1 }, ...whole.Response.InstanceTypeQuotaSet] });
    });
    const partial = new RecordedRead([], NOW, () => 0);
    const connection = connect({ BURSAR_TENCENT_REGIONS: 'ap-beijing,ap-guangzhou' });
    expect(await all(connection.prices?.(0, partial))).not.toEqual([]);
    expect(partial.lacking.map(({ part }) => part)).toEqual(['ap-guangzhou: spot', 'ap-beijing']);
    const spot = new RecordedRead([], NOW, () => 0);
    await expect(all(connection.spotHistory?.(0, spot))).rejects.toMatchObject({ kind: 'denied' });
  });

  it('of the international site are dollars', async () => {
    const [first] = (await all(connect({ BURSAR_TENCENT_SITE: 'international' }).prices?.(0))).map(price);
    expect(first?.rate.currency).toBe('USD');
    // The test's server takes the place of the service, whose host the request names and signs.
    expect(server.taken[0]?.host).toBe('cvm.intl.tencentcloudapi.com');
  });

  it('of spot come with what can be had now', async () => {
    expect(await all(connect().spotHistory?.(NOW))).toEqual(
      [
        ['ap-guangzhou-6', true],
        ['ap-guangzhou-7', false],
      ].map(([region, available]) => ({
        provider: 'Tencent Cloud',
        region,
        sku: 'GN7.2XLARGE32',
        gpuModel: 'T4',
        at: NOW,
        available,
        price: { nanos: 1_410_000_000n, currency: 'CNY' },
      })),
    );
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
    server.play('DescribeRegions', own('DescribeRegions'));
    server.play('DescribeBillDetail', own('DescribeBillDetail'));
  });

  it('is read by the month, a line per component, in Beijing time', async () => {
    const { records, rejects } = await readBill(Date.UTC(2026, 9, 14), Date.UTC(2026, 9, 15));
    expect(server.of('DescribeBillDetail')).toEqual([
      expect.objectContaining({
        key: READ.id,
        version: '2018-07-09',
        service: 'billing',
        region: null,
        params: { Month: '2026-10', Offset: 0, Limit: 300, NeedRecordNum: 0 },
      }),
    ]);
    expect(
      records.map(({ charge, term, sku, gpuModel }) => [
        charge?.machineHours,
        charge?.category,
        charge && formatDecimal(charge.billed),
        charge?.effective && formatDecimal(charge.effective),
        charge?.list && formatDecimal(charge.list),
        term,
        sku,
        gpuModel,
      ]),
    ).toEqual([
      [true, 'Usage', '5.64000000', '5.64000000', '7.05000000', 'on-demand', 'sp_cvm_gn7', 'T4'],
      // The system disk of the same machine, which its meter does not stand for.
      [false, 'Usage', '0.02000000', '0.02000000', null, 'on-demand', 'sv_cvm_rootdisk_cbspremium', null],
      [true, 'Usage', '2.10000000', '2.10000000', '10.50000000', 'spot', 'sp_cvm_gn10xp', 'V100-32GB'],
      [true, 'Purchase', '88200.50000000', null, '98000.00000000', null, 'sp_cvm_gt4', 'A100-40GB'],
    ]);
    expect(records[0]).toMatchObject({
      provider: 'Tencent Cloud',
      account: '909619400',
      subAccount: '909619401',
      resource: 'ins-train01',
      region: 'ap-guangzhou',
      tags: { team: 'vision' },
      gpuParts: null,
      start: Date.UTC(2026, 9, 1, 2),
      end: Date.UTC(2026, 9, 1, 3),
      charge: { currency: 'CNY', periodStart: MONTH, periodEnd: Date.UTC(2026, 9, 31, 16) },
    });
    expect(records[2]?.tags).toBeNull();
    expect(new Set(records.map(({ id }) => id)).size).toBe(4);
    expect(rejects).toMatchObject([{ line: 4, column: 'ComponentSet/RealCost' }]);
    expect((await readBill(MONTH, MONTH + 1)).records).toEqual(records);
  });

  it('takes a component for the machine by its codes, else by its names, and of CVM alone', async () => {
    const [detail] = reply<{ Response: { DetailSet: { ComponentSet: object[] }[] } }>('tencent', 'DescribeBillDetail')
      .Response.DetailSet;
    const coded = (ComponentCode: string, ItemCode: string, ItemCodeName = ''): object => ({
      ComponentCode,
      ItemCode,
      ComponentCodeName: '',
      ItemCodeName,
    });
    const kinds: [object, boolean | undefined, string][] = [
      [coded('virtual_v_cvm_compute', 'virtual_v_cvm_compute_gn7', '运算组件-存储型'), true, 'sp_cvm_gn7'],
      [coded('v_cvm_bandwidth', 'sv_cvm_bandwidth_prepay'), false, 'sv_cvm_bandwidth_prepay'],
      [coded('', '', '运算组件'), true, 'sp_cvm_gn7'],
      [coded('', '', 'Data disk'), false, 'Data disk'],
      [coded('', ''), undefined, 'sp_cvm_gn7'],
    ];
    const ComponentSet = kinds.map(([kind]) => ({ ...detail?.ComponentSet[0], ...kind }));
    const DetailSet = [
      { ...detail, ComponentSet },
      { ...detail, BusinessCode: 'p_redis', ProductCode: 'sp_redis', Id: '2' },
    ];
    server.play('DescribeBillDetail', answer({ DetailSet }));
    const { records } = await readBill(MONTH, MONTH + 1);
    expect(records.slice(0, kinds.length).map(({ charge, sku }) => [charge?.machineHours, sku])).toEqual(
      kinds.map(([, expected, sku]) => [expected, sku]),
    );
    expect(records[kinds.length]).toMatchObject({ sku: 'sp_redis' });
    expect(records[kinds.length]?.charge).not.toHaveProperty('machineHours');
  });

  it('is read page by page, with what the reply before said', async () => {
    const [detail] = reply<{ Response: { DetailSet: Record<string, unknown>[] } }>('tencent', 'DescribeBillDetail')
      .Response.DetailSet;
    const page = (from: number, count: number): unknown[] =>
      Array.from({ length: count }, (_, at) => ({ ...detail, Id: String(from + at) }));
    server.play('DescribeBillDetail', ({ params }) =>
      answer({ Context: 'next', DetailSet: params['Offset'] === 0 ? page(0, 300) : page(300, 1) }),
    );
    expect((await readBill(MONTH, MONTH + 1)).records).toHaveLength(602);
    expect(server.of('DescribeBillDetail').map(({ params }) => [params['Offset'], params['Context']])).toEqual([
      [0, undefined],
      [300, 'next'],
    ]);
  });

  it('of an ended month is left alone for three days', async () => {
    now = Date.UTC(2026, 10, 3, 15, 59);
    expect(await readBill(Date.UTC(2026, 9, 14), Date.UTC(2026, 9, 15))).toEqual({ records: [], rejects: [] });
    expect(server.taken).toEqual([]);
    now = Date.UTC(2026, 10, 3, 16);
    expect((await readBill(Date.UTC(2026, 9, 14), Date.UTC(2026, 9, 15))).records).toHaveLength(4);
  });

  it('says denied with the permission', async () => {
    server.play('DescribeBillDetail', error('UnauthorizedOperation.CamNoAuth'));
    await expect(readBill(MONTH, MONTH + 1)).rejects.toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('finance:DescribeBillDetail') as string,
    });
  });
});

describeProviderContract('tencent', () => {
  const instances = instancesOf().filter(({ InstanceId }) => InstanceId !== 'ins-web01');
  const train = instances[0] as (typeof instances)[number];
  playInstances(server, instances);
  let stops = 0;
  let lose: 'no' | 'answer' | 'request' = 'no';
  server.play('StopInstances', () => {
    const how = lose;
    lose = 'no';
    if (how !== 'request') {
      stops += train.InstanceState === 'RUNNING' ? 1 : 0;
      Object.assign(train, { InstanceState: 'STOPPED', StopChargingMode: 'STOP_CHARGING' } satisfies Partial<
        typeof train
      >);
    }
    return how === 'no' ? answer({}) : 'drop';
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
