/**
 * AWS, through the real SDK against a server of our own: the settings, the fleet, and what a failed read is told as.
 */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/core/errors.js';
import { effectOf, obstaclesOf } from '../../src/core/action/acting.js';
import { awsInstanceGpus } from '../../src/formats/reading/aws-instances.js';
import { undeclared } from '../../src/parts.js';
import { provider } from '../../src/providers/aws/aws.js';
import { Clients } from '../../src/providers/aws/clients.js';
import { InstanceTypes } from '../../src/providers/aws/gpus.js';
import { parseSettings } from '../../src/providers/aws/settings.js';
import {
  ACT_KEY,
  ACT_SECRET,
  NOW,
  READ_KEY,
  READ_SECRET,
  acting,
  awsServer,
  call,
  connect,
  ec2Error,
  failureOf,
  groupError,
  parametersOf,
  playFleet,
  reading,
  reply,
  sent,
  signedBy,
  TestClock,
} from '../support/aws-wire.js';
import { WireServer } from '../support/wire-server.js';

const server = await awsServer();

describe('the settings of AWS', () => {
  const refusal = (settings: Record<string, string>): Record<string, string> => {
    try {
      parseSettings(settings);
    } catch (error) {
      return Object.fromEntries((error as Failure).problems.map(({ path, message }) => [path ?? '', message]));
    }
    return {};
  };

  it('open a connection that can do what the provider declares', () => {
    const connection = connect(acting(server));
    expect(undeclared(provider, connection)).toEqual([]);
    expect(connection.usageOf).toBe('storage-and-traffic');
  });

  it('names every wrong one at once, and no value', () => {
    expect(
      refusal({
        BURSAR_AWS_READ_SECRET_ACCESS_KEY: READ_SECRET,
        BURSAR_AWS_ACT_CREDENTIALS: 'default',
        BURSAR_AWS_ENDPOINT: 'http://user:pw@host',
      }),
    ).toEqual({
      BURSAR_AWS_REGIONS: 'is missing',
      BURSAR_AWS_ENDPOINT: 'is not an http:// or https:// URL without credentials',
      BURSAR_AWS_READ_ACCESS_KEY_ID: 'is missing',
      BURSAR_AWS_ACT_CREDENTIALS: 'is not profile:NAME',
    });
    expect(refusal({ BURSAR_AWS_REGIONS: 'us-east-1, nowhere' })).toEqual({
      BURSAR_AWS_REGIONS: 'is not a list of region codes',
      BURSAR_AWS_READ_ACCESS_KEY_ID: 'is missing (or BURSAR_AWS_READ_CREDENTIALS)',
    });
  });

  it('take the default chain for reading where it is asked for, and never for acting', () => {
    expect(parseSettings({ BURSAR_AWS_REGIONS: 'us-east-1', BURSAR_AWS_READ_CREDENTIALS: 'default' })).toMatchObject({
      read: { kind: 'default' },
      act: null,
    });
    expect(
      refusal({
        BURSAR_AWS_REGIONS: 'us-east-1',
        BURSAR_AWS_READ_CREDENTIALS: 'default',
        BURSAR_AWS_PURCHASE_CREDENTIALS: 'profile:buyer',
      }),
    ).toHaveProperty('BURSAR_AWS_ACT_ACCESS_KEY_ID');
    expect(parseSettings({ ...acting(server), BURSAR_AWS_PURCHASE_CREDENTIALS: 'profile:buyer' })).toMatchObject({
      purchase: { kind: 'profile', profile: 'buyer' },
    });
  });
});

describe('the GPUs of instance types', () => {
  it('are those that EC2 states, and agree with the guide from which bills are read', async () => {
    server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
    const settings = parseSettings(reading(server));
    if (settings === null) throw new Error('no settings');
    const found = await new InstanceTypes(new Clients(settings)).withGpus('us-east-1');
    expect([...found.keys()]).toHaveLength(7);
    for (const [type, { model, gpus }] of found) expect([type, { model, gpus }]).toEqual([type, awsInstanceGpus(type)]);
    expect(found.get('p4d.24xlarge')).toEqual({ model: 'A100-40GB', gpus: 8, memoryMib: 327_680 });
    expect(found.get('g6f.large')).toEqual({ model: 'L4', gpus: 0.125, memoryMib: 2861 });
  });
});

describe("a group's own settings", () => {
  const settingsOf = async (name: string) => {
    const { targets } = await connect(acting(server)).fleet();
    return targets.find(({ target }) => target === `asg/us-east-1/${name}`);
  };

  it('are its protected machines, suspended processes, hooks on ending and policies in force', async () => {
    playFleet(server);
    server.on(
      call('DescribeAutoScalingGroups'),
      reply('describe-auto-scaling-groups-1.xml', {
        '<NextToken>groups-2</NextToken>': '',
        '<ProtectedFromScaleIn>false': '<ProtectedFromScaleIn>true',
        '<DefaultCooldown>300</DefaultCooldown>':
          '<SuspendedProcesses><member><ProcessName>Terminate</ProcessName></member><member><ProcessName>AZRebalance</ProcessName></member></SuspendedProcesses>',
      }),
    );
    expect((await settingsOf('serve-g5'))?.group).toEqual({
      protectedMembers: 3,
      suspended: ['terminate'],
      hooks: [{ name: 'drain-queue', seconds: 3600 }],
      policies: [
        { name: 'cpu-50', follows: true },
        { name: 'queue-steps', follows: false },
      ],
    });
    expect((await settingsOf('serve-g5'))?.ruledOut).toBeUndefined();
  });

  it.each(['Standby', 'Terminating:Wait', 'Pending'])(
    'tell which of its machines are not in service: %s',
    async (state) => {
      playFleet(server);
      const named =
        '<InstanceId>i-0spot1</InstanceId><InstanceType>g5.xlarge</InstanceType><AvailabilityZone>us-east-1b</AvailabilityZone>';
      server.on(
        call('DescribeAutoScalingGroups'),
        reply('describe-auto-scaling-groups-1.xml', {
          '<NextToken>groups-2</NextToken>': '',
          [`${named}<LifecycleState>InService`]: `${named}<LifecycleState>${state}`,
        }),
      );
      const { targets } = await connect(reading(server)).fleet();
      const told = targets.filter(({ outOfService }) => outOfService !== undefined);
      expect(told.map(({ target, outOfService }) => [target, outOfService])).toEqual([
        ['instance/us-east-1/i-0spot1', `LifecycleState ${state}`],
      ]);
      expect(targets.find(({ target }) => target === 'asg/us-east-1/serve-g5')?.replicas?.ready).toBe(1);
    },
  );

  it('cost one question for the policies of a region, by pages, and one for the hooks of a group in ten minutes', async () => {
    playFleet(server);
    const page = (of: string): string => `</ScalingPolicies><NextToken>${of}</NextToken>`;
    const other = { '<AutoScalingGroupName>serve-g5': '<AutoScalingGroupName>train-p4d' };
    server.on(call('DescribePolicies'), reply('describe-policies.xml', { '</ScalingPolicies>': page('p2'), ...other }));
    server.on(call('DescribePolicies', { NextToken: 'p2' }), reply('describe-policies.xml'));
    const clock = new TestClock();
    const connection = connect(reading(server), clock);
    const policiesOf = async (): Promise<unknown> =>
      Object.fromEntries(
        (await connection.fleet()).targets.flatMap(({ target, group }) =>
          group === undefined ? [] : [[target, group.policies?.map(({ name }) => name)]],
        ),
      );
    const asked = () => [sent(server, 'DescribePolicies').length, sent(server, 'DescribeLifecycleHooks').length];
    const both = {
      'asg/us-east-1/serve-g5': ['cpu-50', 'queue-steps'],
      'asg/us-east-1/train-p4d': ['cpu-50', 'queue-steps'],
    };
    expect(await policiesOf()).toMatchObject(both);
    const groups = asked()[1]!;
    expect(asked()).toEqual([2, groups]);
    expect(sent(server, 'DescribePolicies')[0]).toMatchObject({ MaxRecords: '100' });
    clock.at += 9 * 60_000;
    expect(await policiesOf()).toMatchObject(both);
    expect(asked()).toEqual([4, groups]);
    clock.at += 60_000;
    await policiesOf();
    expect(asked()).toEqual([6, 2 * groups]);
    // Before acting both are read, whatever is kept.
    await connection.target('asg/us-east-1/serve-g5');
    expect(asked()[1]).toBe(2 * groups + 1);
    expect(sent(server, 'DescribePolicies').at(-1)).toMatchObject({ AutoScalingGroupName: 'serve-g5' });
  });

  it('are not known where they may not be read, and rule out a share of spot where nothing mixes it', async () => {
    playFleet(server);
    for (const action of ['DescribeLifecycleHooks', 'DescribePolicies'])
      server.on(call(action), groupError('AccessDenied', `not authorized to perform: autoscaling:${action}`, 403));
    const plain = await settingsOf('train-p4d');
    expect(plain?.group).toMatchObject({ hooks: null, policies: null });
    expect(plain?.ruledOut).toEqual({ 'set-spot-ratio': expect.stringContaining('no mixed instances policy') });
    expect(effectOf({ action: 'MoveToSpot', change: {} }, plain!)).toMatchObject({ obstacle: { code: 'ruled-out' } });
  });

  it('are unknown in a list where they cannot be read just now, and asked for again before acting', async () => {
    playFleet(server);
    for (const action of ['DescribeLifecycleHooks', 'DescribePolicies'])
      server.on(call(action), groupError('Throttling', 'Rate exceeded', 400));
    const { targets } = await connect(reading(server)).fleet();
    const group = targets.find(({ kind }) => kind === 'group')!;
    expect(group.group).toMatchObject({ hooks: null, policies: null });
    expect((await failureOf(connect(reading(server)).target(group.target))).kind).toBe('unavailable');
  });
});

describe('the fleet', () => {
  it('is not blinded by a machine of a type that the region does not describe (any more, or yet)', async () => {
    playFleet(server);
    const retired = reply('describe-instances-1.xml', {
      '<nextToken>page-2</nextToken>': '',
      '<instanceType>p4d.24xlarge': '<instanceType>p1.retired',
    });
    server.on(call('DescribeInstances'), retired);
    // Named one by one, a single unknown type refuses the whole request; as a filter it is one that nothing matches.
    server.on(call('DescribeInstanceTypes'), (request) =>
      parametersOf(request)['InstanceType.1'] === undefined
        ? reply('describe-instance-types.xml')
        : ec2Error('InvalidInstanceType', 'The following supplied instance types do not exist: [p1.retired]'),
    );
    const { targets, complete } = await connect(acting(server)).fleet();
    expect(complete).toBe(true);
    const machines = targets.filter(({ kind }) => kind === 'instance').map(({ sku, gpus }) => [sku, gpus]);
    expect(machines).toContainEqual(['p1.retired', null]);
    expect(machines).toContainEqual(['g5.xlarge', 1]);
  });

  it('has the GPU instances of all pages, read with the key for reading', async () => {
    playFleet(server);
    const { targets, complete, problems, at } = await connect(acting(server)).fleet();
    expect({ complete, problems, at }).toEqual({ complete: true, problems: [], at: NOW });
    const instances = targets.filter(({ kind }) => kind === 'instance');
    expect(
      instances.map(({ name, sku, gpuModel, gpus, term, state, billing }) => [
        name,
        sku,
        gpuModel,
        gpus,
        term,
        state,
        billing,
      ]),
    ).toEqual([
      ['train-1', 'p4d.24xlarge', 'A100-40GB', 8, 'on-demand', 'running', 'billed'],
      ['i-0spot1', 'g5.xlarge', 'A10G', 1, 'spot', 'running', 'billed'],
      ['notebook', 'g5.xlarge', 'A10G', 1, 'on-demand', 'stopped', 'partly'],
      // Of a dedicated host a stop says nothing: the host is billed by itself.
      ['i-0host1', 'p4d.24xlarge', 'A100-40GB', 8, null, 'stopped', 'unknown'],
      ['i-0slice1', 'g6f.large', 'L4', 0.125, 'on-demand', 'stopping', 'partly'],
    ]);
    expect(instances[0]).toMatchObject({
      target: 'instance/us-east-1/i-0train1',
      provider: 'AWS',
      account: '123456789012',
      region: 'us-east-1',
      replicas: null,
      spotRatio: null,
      labels: { Name: 'train-1', team: 'vision' },
      launchedAt: Date.UTC(2026, 9, 1, 8),
    });
    expect(new Set(server.requests.map((request) => signedBy(request).key))).toEqual(new Set([READ_KEY]));
    expect(sent(server, 'DescribeInstances')[0]).toMatchObject({
      'Filter.1.Name': 'instance-state-name',
      'Filter.1.Value.1': 'pending',
      MaxResults: '1000',
    });
    expect(sent(server, 'DescribeInstances')[1]).toMatchObject({ NextToken: 'page-2' });
  });

  it('has the groups that may launch a GPU, also while they are empty, and says what it does not know of them', async () => {
    playFleet(server);
    const { targets } = await connect({ ...reading(server), BURSAR_AWS_ACCOUNT: 'research' }).fleet();
    const groups = targets.filter(({ kind }) => kind === 'group');
    expect(
      groups.map(({ target, sku, gpuModel, gpus, term, state, billing, replicas, spotRatio }) => ({
        target,
        sku,
        gpuModel,
        gpus,
        term,
        state,
        billing,
        replicas,
        spotRatio,
      })),
    ).toEqual([
      {
        target: 'asg/us-east-1/serve-g5',
        sku: 'g5.xlarge',
        gpuModel: 'A10G',
        gpus: 1,
        term: null,
        state: 'running',
        billing: 'billed',
        replicas: { desired: 3, ready: 2, min: 1, max: 10 },
        spotRatio: 0.6,
      },
      {
        target: 'asg/us-east-1/train-p4d',
        sku: 'p4d.24xlarge',
        gpuModel: 'A100-40GB',
        gpus: 8,
        term: 'on-demand',
        state: 'stopped',
        billing: 'ended',
        replicas: { desired: 0, ready: 0, min: 0, max: 4 },
        spotRatio: 0,
      },
      // Weighted: a unit of its capacity is no instance.
      {
        target: 'asg/us-east-1/weighted',
        sku: null,
        gpuModel: null,
        gpus: null,
        term: 'spot',
        state: 'running',
        billing: 'billed',
        replicas: null,
        spotRatio: 1,
      },
    ]);
    expect(groups.map(({ account, labels }) => [account, labels['team']])).toEqual([
      ['research', 'speech'],
      ['research', 'vision'],
      ['research', undefined],
    ]);
    expect(sent(server, 'DescribeAutoScalingGroups').map(({ NextToken }) => NextToken)).toEqual([
      undefined,
      'groups-2',
    ]);
  });

  it.each([
    ['Server.SpotInstanceTermination', 'cloud'],
    ['Client.UserInitiatedShutdown', 'somebody'],
  ])('says who has ended an instance: %s is %s', async (code, by) => {
    playFleet(server);
    server.on(
      call('DescribeInstances'),
      reply('describe-instances-2.xml', {
        '<code>80</code><name>stopped': '<code>48</code><name>terminated',
        'Client.UserInitiatedShutdown': code,
      }),
    );
    const { targets } = await connect(reading(server)).fleet();
    expect(targets.find(({ target }) => target === 'instance/us-east-1/i-0idle1')).toMatchObject({
      state: 'gone',
      ended: { by, because: `StateReason ${code}` },
    });
  });

  it.each([
    ['Server.SpotInstanceShutdown', true, /^its spot request was interrupted: AWS starts it again/],
    ['Server.ScheduledStop', true, undefined],
    // It was stopped before, and could not be started: nothing was taken away by that.
    ['Server.InsufficientInstanceCapacity', false, undefined],
    ['Client.UserInitiatedShutdown', false, undefined],
  ])('says whether AWS has stopped an instance: %s, %s', async (code, isAws, ruledOut) => {
    playFleet(server);
    server.on(call('DescribeInstances'), reply('describe-instances-2.xml', { 'Client.UserInitiatedShutdown': code }));
    const { targets } = await connect(reading(server)).fleet();
    const found = targets.find(({ target }) => target === 'instance/us-east-1/i-0idle1');
    expect(found).toMatchObject({ state: 'stopped' });
    expect(found?.ended).toEqual(isAws ? { by: 'cloud', because: `StateReason ${code}` } : undefined);
    if (ruledOut === undefined) expect(found).not.toHaveProperty('ruledOut');
    else expect(found?.ruledOut?.start).toMatch(ruledOut);
  });

  it('has what is bought already: reserved instances of GPU types, and savings plans that may cover them', async () => {
    playFleet(server);
    server.on(call('DescribeReservedInstances'), reply('describe-reserved-instances-tagged.xml'));
    server.on(call('DescribeSavingsPlans'), reply('describe-savings-plans-1.json', { '"owned-2"': 'null' }));
    let now = Date.UTC(2026, 10, 20, 8);
    const connection = connect(reading(server), { now: () => now });
    const bought = async () => {
      const { targets, complete, problems } = await connection.fleet();
      expect(complete).toBe(true);
      return { bought: targets.filter(({ kind }) => kind === 'commitment'), problems };
    };
    expect(await bought()).toMatchObject({
      problems: [],
      bought: [
        {
          target: 'commitment/us-east-1/e5a2ff3b-7d14-494f-90af-0b5d0EXAMPLE',
          sku: 'g5.xlarge',
          gpuModel: 'A10G',
          gpus: 1,
          region: 'us-east-1',
          term: 'reserved-1y',
          replicas: { desired: 2 },
          launchedAt: Date.UTC(2026, 9, 20, 12, 0, 3),
        },
        {
          target: 'commitment/savings-plans/bbbbbbbb-0000-4000-8000-00000000000f',
          sku: null,
          region: null,
          term: 'savings-plan-1y',
        },
      ],
    });
    // What cannot be read later is as it was, and that is said.
    now += 2 * 3_600_000;
    server.on(call('DescribeSavingsPlans'), ec2Error('AccessDeniedException', 'no', 403));
    server.on(call('DescribeReservedInstances'), ec2Error('UnauthorizedOperation', 'no', 403));
    const later = await bought();
    expect(later.bought).toHaveLength(2);
    expect(later.problems[0]).toBe(
      'us-east-1: reserved instances were not read: AWS denied ec2:DescribeReservedInstances (UnauthorizedOperation): the permission is missing; whether they cover a machine that is stopped is not known',
    );
    expect(later.problems).toHaveLength(2);
  });

  it('is incomplete where a region could not be read, and says which', async () => {
    playFleet(server);
    server.on(
      call('DescribeInstances', {}, 'eu-west-1'),
      ec2Error('UnauthorizedOperation', 'You are not authorized. Encoded authorization failure message: abc', 403),
    );
    server.on(call('DescribeAutoScalingGroups', {}, 'eu-west-1'), reply('describe-auto-scaling-groups-none.xml'));
    const { targets, complete, problems } = await connect({
      ...reading(server),
      BURSAR_AWS_REGIONS: 'us-east-1,eu-west-1',
    }).fleet();
    expect(complete).toBe(false);
    expect(problems).toEqual([
      'eu-west-1: instances could not be read: AWS denied ec2:DescribeInstances (UnauthorizedOperation): the permission is missing',
    ]);
    expect(targets).toHaveLength(8);
    expect(new Set(targets.map(({ region }) => region))).toEqual(new Set(['us-east-1']));
  });

  it('is a failure where nothing could be read', async () => {
    server.on(
      call('DescribeInstances'),
      ec2Error('AuthFailure', `AWS was not able to validate the provided access credentials ${READ_KEY}`, 401),
    );
    server.on(
      call('DescribeAutoScalingGroups'),
      groupError('InvalidClientTokenId', 'The security token included in the request is invalid.', 403),
    );
    const error = await failureOf(connect(reading(server)).fleet());
    expect(error).toMatchObject({
      kind: 'denied',
      message: 'AWS does not accept the credentials used for ec2:DescribeInstances (AuthFailure)',
    });
  });

  it('is read again when AWS throttles, and is unavailable when it goes on', async () => {
    playFleet(server);
    server.on(
      call('DescribeInstances'),
      ec2Error('RequestLimitExceeded', 'Request limit exceeded.', 503),
      reply('describe-instances-2.xml'),
    );
    expect((await connect(reading(server)).fleet()).complete).toBe(true);
    expect(sent(server, 'DescribeInstances')).toHaveLength(2);
    server.on(call('DescribeInstances'), ec2Error('RequestLimitExceeded', 'Request limit exceeded.', 503));
    const error = await failureOf(connect(reading(server)).target('instance/us-east-1/i-0train1'));
    expect(error).toMatchObject({
      kind: 'unavailable',
      message: 'AWS throttled ec2:DescribeInstances (RequestLimitExceeded)',
    });
    expect(sent(server, 'DescribeInstances')).toHaveLength(5);
  });

  it('cannot be read where nobody listens: unavailable, without a secret in it', async () => {
    const gone = await WireServer.start();
    const settings = acting(gone);
    await gone.close();
    const error = await failureOf(connect(settings).fleet());
    expect(error).toMatchObject({
      kind: 'unavailable',
      message: 'AWS could not be reached for ec2:DescribeInstances (ECONNREFUSED)',
    });
    const all = [error.message, error.stack, String(error.cause), JSON.stringify(error)].join(' ');
    for (const secret of [READ_SECRET, ACT_SECRET, READ_KEY, ACT_KEY]) expect(all).not.toContain(secret);
  });
});

describe("EC2's own word that a machine is not well", () => {
  const passed =
    '<status>ok</status>\n        <details><item><name>reachability</name><status>passed</status></item></details>';
  const failed = (since: number): string =>
    '<status>impaired</status><details><item><name>reachability</name><status>failed</status>' +
    `<impairedSince>${new Date(since).toISOString()}</impairedSince></item></details>`;
  const system = { [`<systemStatus>\n        ${passed}`]: `<systemStatus>${failed(NOW - 1000)}` };
  const own = (minutes: number) => ({
    [`<instanceStatus>\n        ${passed}`]: `<instanceStatus>${failed(NOW - minutes * 60_000)}`,
  });
  const event = (code: string, description: string, inMs = -1000) => ({
    '<instanceState>':
      `<eventsSet><item><code>${code}</code><description>${description}</description>` +
      `<notBefore>${new Date(NOW + inMs).toISOString()}</notBefore></item></eventsSet><instanceState>`,
  });

  it.each([
    ['a host that fails its check', system, 'SystemStatus impaired'],
    ['an instance that fails its own as long as a boot may take', own(14), undefined],
    ['an instance that fails its own for longer', own(16), 'InstanceStatus impaired'],
    ['a host that is retired now', event('instance-retirement', 'degraded'), 'scheduled event instance-retirement'],
    [
      'a host that is to be retired: until then it may be rebooted',
      event('instance-retirement', 'degraded', 1000),
      undefined,
    ],
    ['one that was, and was moved', event('instance-retirement', '[Completed] degraded'), undefined],
    ['a reboot of the host', event('system-reboot', 'maintenance'), undefined],
  ])('%s', async (_, replaced, unwell) => {
    playFleet(server);
    server.on(call('DescribeInstanceStatus'), reply('describe-instance-status.xml', replaced));
    const { targets } = await connect(reading(server)).fleet();
    expect(targets.find(({ target }) => target === 'instance/us-east-1/i-0train1')?.unwell).toBe(unwell);
    expect(targets.filter((one) => one.unwell !== undefined)).toHaveLength(unwell === undefined ? 0 : 1);
  });

  it('that may not be read is said, and leaves the reading complete', async () => {
    playFleet(server);
    server.on(call('DescribeInstanceStatus'), ec2Error('UnauthorizedOperation', 'no', 403));
    const { complete, problems, targets } = await connect(reading(server)).fleet();
    expect([complete, targets.length > 0]).toEqual([true, true]);
    expect(problems).toEqual([
      'us-east-1: instances: status checks were not read: AWS denied ec2:DescribeInstanceStatus (UnauthorizedOperation): the permission is missing',
    ]);
  });
});

describe('a stop of a spot instance', () => {
  const of = (more: Record<string, string>): unknown =>
    server.on(
      call('DescribeSpotInstanceRequests', {
        'Filter.1.Name': 'spot-instance-request-id',
        'Filter.1.Value.1': 'sir-1a2b3c4d',
      }),
      reply('describe-spot-instance-requests.xml', more),
    );
  it.each([
    ['a persistent request', {}, undefined],
    ['a one-time request', { '<type>persistent': '<type>one-time' }, 'one-time request'],
    ['a request that names no type', { '<type>persistent</type>': '' }, 'one-time request'],
    ['a cancelled request', { '<state>active': '<state>cancelled' }, 'its spot request is cancelled'],
    ['a launch group', { '</state>': '</state><launchGroup>two</launchGroup>' }, 'of a launch group'],
    [
      'a group within a zone',
      { '</state>': '</state><availabilityZoneGroup>two</availabilityZoneGroup>' },
      'of a launch group',
    ],
  ])('of %s', async (_, more, why) => {
    playFleet(server);
    of(more);
    const type = '<instanceType>p4d.24xlarge</instanceType>';
    const spot =
      '<instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-1a2b3c4d</spotInstanceRequestId>';
    const aws = connect(reading(server));
    const listed = (await aws.fleet()).targets.find((one) => one.target.endsWith('i-0spot1'));
    server.on(
      call('DescribeInstances', { 'Filter.1.Name': 'instance-id' }),
      reply('describe-instances-1.xml', { '<nextToken>page-2</nextToken>': '', [type]: type + spot }),
    );
    const target = 'instance/us-east-1/i-0train1';
    const alone = (await aws.target(target))!;
    expect(listed?.ruledOut?.stop).toEqual(alone.ruledOut?.stop);
    const obstacles = obstaclesOf({ kind: 'stop', target }, alone);
    if (why === undefined) expect(obstacles).toEqual([]);
    else expect(obstacles).toMatchObject([{ code: 'ruled-out', message: expect.stringContaining(why) }]);
    expect(obstaclesOf({ kind: 'terminate', target }, alone)).toEqual([]);
  });

  it('that a fleet launched, or whose request may not be read', async () => {
    playFleet(server);
    server.on(call('DescribeSpotInstanceRequests'), ec2Error('UnauthorizedOperation', 'no', 403));
    const { problems, targets } = await connect(reading(server)).fleet();
    expect(problems).toEqual([
      'us-east-1: instances: spot requests were not read: AWS denied ec2:DescribeSpotInstanceRequests (UnauthorizedOperation): the permission is missing',
    ]);
    expect(targets.find(({ target }) => target.endsWith('i-0spot1'))?.ruledOut).toBeUndefined();
    server.on(
      call('DescribeInstances'),
      reply('describe-instances-1.xml', {
        '<nextToken>page-2</nextToken>': '',
        '<spotInstanceRequestId>sir-1a2b3c4d</spotInstanceRequestId>':
          '<tagSet><item><key>aws:ec2:fleet-id</key><value>fleet-1</value></item></tagSet>',
      }),
    );
    const again = await connect(reading(server)).fleet();
    expect(again.targets.find(({ target }) => target.endsWith('i-0spot1'))?.ruledOut?.stop).toContain('of a fleet');
  });
});

describe('a target read alone', () => {
  it('is what AWS says now; one that ended is gone, and one that AWS does not know is not there', async () => {
    playFleet(server);
    const aws = connect(reading(server));
    const one = { 'Filter.1.Name': 'instance-id' };
    server.on(call('DescribeInstances', one), reply('describe-instances-none.xml'));
    server.on(
      call('DescribeInstances', { ...one, 'Filter.1.Value.1': 'i-0idle1' }),
      reply('describe-instances-2.xml', { '<code>80</code><name>stopped': '<code>48</code><name>terminated' }),
    );
    expect(await aws.target('instance/us-east-1/i-0idle1')).toMatchObject({
      state: 'gone',
      billing: 'ended',
      name: 'notebook',
    });
    expect(await aws.target('instance/us-east-1/i-0nobody')).toBeNull();
    expect(await aws.target('deployment/ml/trainer')).toBeNull();
    server.on(
      call('DescribeAutoScalingGroups', { 'AutoScalingGroupNames.member.1': 'serve-g5' }),
      reply('describe-auto-scaling-group.xml'),
    );
    expect(await aws.target('asg/us-east-1/serve-g5')).toMatchObject({ name: 'serve-g5', replicas: { desired: 3 } });
  });

  it('is billed on while it stops in order to hibernate', async () => {
    server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
    server.on(
      call('DescribeInstances'),
      reply('describe-instances-2.xml', {
        '<code>80</code><name>stopped': '<code>64</code><name>stopping',
        UserInitiatedShutdown: 'UserInitiatedHibernate',
      }),
    );
    expect(await connect(reading(server)).target('instance/us-east-1/i-0idle1')).toMatchObject({
      state: 'stopping',
      billing: 'billed',
    });
  });
});
