/**
 * Acting on AWS, through the real SDK against a server of our own: what is sent, with whose key, how often; and what is
 * said of it.
 */
import { beforeEach, describe, expect, it } from 'vitest';
import { drainingReasons, progressOf } from '../../src/core/action/action.js';
import { NoCapacity } from '../../src/core/errors.js';
import type { Effect, FleetTarget } from '../../src/core/fleet/fleet.js';
import { Effects } from '../../src/providers/aws/apply.js';
import { Commitments } from '../../src/providers/aws/commitments.js';
import { Clients } from '../../src/providers/aws/clients.js';
import { InstanceTypes } from '../../src/providers/aws/gpus.js';
import { parseSettings } from '../../src/providers/aws/settings.js';
import {
  ACT_KEY,
  NOW,
  READ_KEY,
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
import { WireServer, type WireReply, type WireRequest } from '../support/wire-server.js';
import { describeProviderContract, memberRefusals, REFUSED_TO_MEMBERS } from './contract.js';
import { fleetTarget } from '../support/makers.js';

const server = await awsServer();

const MINUTE = 60_000;

const target = (over: Partial<FleetTarget> = {}): FleetTarget =>
  fleetTarget({
    target: 'instance/us-east-1/i-0train1',
    name: 'train-1',
    account: '123456789012',
    sku: 'p4d.24xlarge',
    gpuModel: 'A100-40GB',
    ...over,
  });
const TRAIN = 'instance/us-east-1/i-0train1';
const SERVE = 'asg/us-east-1/serve-g5';
const group = (over: Partial<FleetTarget> = {}): FleetTarget =>
  target({ target: SERVE, kind: 'group', replicas: { desired: 3, ready: 3, min: 1, max: 10 }, ...over });
const stop: Effect = { kind: 'stop', target: TRAIN };

/** The state of i-0train1 as the server tells it from now on; nothing was started in its place. */
function trainIs(state: string, code: number, own = ''): void {
  server.on(call('DescribeInstances', { 'Filter.1.Name': 'client-token' }), reply('describe-instances-none.xml'));
  server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
  server.on(
    call('DescribeInstances', { 'Filter.1.Name': 'instance-id', 'Filter.1.Value.1': 'i-0train1' }),
    (): WireReply => {
      const whole = reply('describe-instances-1.xml', { '<nextToken>page-2</nextToken>': '' }).body ?? '';
      const first =
        whole.slice(0, whole.indexOf('<item>\n          <instanceId>i-0web1')) +
        whole.slice(whole.indexOf('      </instancesSet>'), whole.indexOf('    <item>\n      <reservationId>r-0002')) +
        whole.slice(whole.indexOf('  </reservationSet>'));
      return {
        headers: { 'content-type': 'text/xml' },
        body: first
          .replace('<code>16</code><name>running', `<code>${code}</code><name>${state}`)
          .replace('<tagSet>', `${own}<tagSet>`),
      };
    },
  );
}

describe('the effects, as they are sent', () => {
  const cases: readonly [
    action: string,
    effect: Effect,
    before: FleetTarget,
    replyFile: string,
    parameters: Record<string, string>,
  ][] = [
    ['StopInstances', stop, target(), 'stop-instances.xml', { 'InstanceId.1': 'i-0train1' }],
    [
      'StartInstances',
      { kind: 'start', target: TRAIN },
      target({ state: 'stopped' }),
      'start-instances.xml',
      { 'InstanceId.1': 'i-0train1' },
    ],
    [
      'TerminateInstances',
      { kind: 'terminate', target: TRAIN },
      target(),
      'terminate-instances.xml',
      { 'InstanceId.1': 'i-0train1' },
    ],
    [
      'TerminateInstanceInAutoScalingGroup',
      { kind: 'replace', target: TRAIN, group: SERVE },
      target(),
      'terminate-instance-in-auto-scaling-group.xml',
      { InstanceId: 'i-0train1', ShouldDecrementDesiredCapacity: 'false' },
    ],
    [
      'ModifyInstanceAttribute',
      { kind: 'resize', target: TRAIN, sku: 'p5.48xlarge' },
      target({ state: 'stopped' }),
      'modify-instance-attribute.xml',
      { InstanceId: 'i-0train1', 'InstanceType.Value': 'p5.48xlarge' },
    ],
    [
      'SetDesiredCapacity',
      { kind: 'scale', target: SERVE, replicas: 5 },
      group(),
      'set-desired-capacity.xml',
      { AutoScalingGroupName: 'serve-g5', DesiredCapacity: '5', HonorCooldown: 'false' },
    ],
    [
      'UpdateAutoScalingGroup',
      { kind: 'set-bounds', target: SERVE, min: 0, max: 6 },
      group(),
      'update-auto-scaling-group.xml',
      { AutoScalingGroupName: 'serve-g5', MinSize: '0', MaxSize: '6' },
    ],
  ];

  it.each(cases)('%s is one request of the acting key', async (action, effect, before, file, parameters) => {
    server.on(call(action), reply(file));
    const outcome = await connect(acting(server)).apply(effect, 'token-1', before);
    expect(outcome).toMatchObject({ kind: 'taken', reference: `request of ${file}` });
    expect(server.requests.map(parametersOf)).toEqual([{ Action: action, ...parameters }]);
    expect(signedBy(server.requests[0] as WireRequest)).toMatchObject({ key: ACT_KEY, region: 'us-east-1' });
  });

  it('a scale-in tells those that a lifecycle hook holds until they are gone', async () => {
    const scale: Effect = { kind: 'scale', target: SERVE, replicas: 2 };
    const before = group();
    const read = async (lifecycle: string) => {
      playFleet(server);
      server.on(
        call('DescribeAutoScalingGroups'),
        reply('describe-auto-scaling-group.xml', { Pending: lifecycle, '<DesiredCapacity>3': '<DesiredCapacity>2' }),
      );
      server.on(call('DescribeLifecycleHooks'), reply('describe-lifecycle-hooks.xml'));
      return (await connect(acting(server)).target(SERVE))!;
    };
    for (const state of ['Terminating', 'Terminating:Wait', 'Terminating:Proceed']) {
      const seen = await read(state);
      expect(progressOf(scale, seen, before)).toBe('leaving');
      // GlobalTimeout of the one hook of that transition.
      expect(drainingReasons(seen)).toEqual([
        {
          code: 'draining',
          message:
            'draining: 1 member still leaves, and is paid for until they are gone, held by the lifecycle hook drain-queue (up to 3600 seconds)',
        },
      ]);
      // Who makes the group larger meanwhile waits for none of them; nor is it asked for again.
      expect(
        progressOf({ ...scale, replicas: 2 }, seen, { ...before, replicas: { ...seen.replicas!, desired: 1 } }),
      ).toBe('done');
      expect(progressOf(scale, seen)).toBe('done');
    }
    const gone = await read('Terminated');
    expect([progressOf(scale, gone, before), gone.leaving]).toEqual(['done', undefined]);
  });

  it('set-spot-ratio sends the policy whole, with one number changed, and a template under one name', async () => {
    server.on(call('DescribeAutoScalingGroups'), reply('describe-auto-scaling-group.xml'));
    server.on(call('UpdateAutoScalingGroup'), reply('update-auto-scaling-group.xml'));
    const outcome = await connect(acting(server)).apply(
      { kind: 'set-spot-ratio', target: SERVE, spotRatio: 0.8 },
      'token-1',
      group(),
    );
    expect(outcome).toMatchObject({ kind: 'taken', detail: 'serve-g5 launches 20 % on demand' });
    const policy = 'MixedInstancesPolicy';
    expect(sent(server, 'UpdateAutoScalingGroup')).toEqual([
      {
        Action: 'UpdateAutoScalingGroup',
        AutoScalingGroupName: 'serve-g5',
        [`${policy}.LaunchTemplate.LaunchTemplateSpecification.LaunchTemplateId`]: 'lt-0serve',
        [`${policy}.LaunchTemplate.LaunchTemplateSpecification.Version`]: '$Latest',
        [`${policy}.LaunchTemplate.Overrides.member.1.InstanceType`]: 'g5.xlarge',
        [`${policy}.InstancesDistribution.OnDemandAllocationStrategy`]: 'prioritized',
        [`${policy}.InstancesDistribution.OnDemandBaseCapacity`]: '1',
        [`${policy}.InstancesDistribution.OnDemandPercentageAboveBaseCapacity`]: '20',
        [`${policy}.InstancesDistribution.SpotAllocationStrategy`]: 'price-capacity-optimized',
      },
    ]);
    expect(server.requests.map((request) => signedBy(request).key)).toEqual([READ_KEY, ACT_KEY]);
  });
});

describe('what is refused', () => {
  it('everything, without credentials for acting: denied, and nothing is sent', async () => {
    const readOnly = connect(reading(server));
    expect(readOnly.canAct).toBe(false);
    expect(await failureOf(readOnly.apply(stop, 'token-1', target()))).toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('BURSAR_AWS_ACT_ACCESS_KEY_ID'),
    });
    expect(server.requests).toEqual([]);
  });

  it.each<[code: string, effect: Effect, before: FleetTarget]>([
    ['not-stopped', { kind: 'resize', target: TRAIN, sku: 'p5.48xlarge' }, target()],
    ['unsupported', { kind: 'scale', target: TRAIN, replicas: 2 }, target()],
    ['unsupported', { kind: 'stop', target: SERVE }, group()],
    ['not-counted-in-instances', { kind: 'scale', target: SERVE, replicas: 2 }, group({ replicas: null })],
    ['unknown-target', { kind: 'stop', target: 'deployment/ml/trainer' }, target()],
  ])('%s, before anything is sent', async (code, effect, before) => {
    expect(await connect(acting(server)).apply(effect, 'token-1', before)).toMatchObject({ kind: 'refused', code });
    expect(server.requests).toEqual([]);
  });

  it("what a scaling group's machine becomes, before anything is sent", async () => {
    server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
    server.on(call('DescribeAutoScalingGroups'), reply('describe-auto-scaling-groups-none.xml'));
    server.on(call('DescribeInstanceStatus'), reply('describe-instance-status.xml'));
    server.on(call('DescribeSpotInstanceRequests'), reply('describe-spot-instance-requests.xml'));
    server.on(call('DescribeReservedInstances'), reply('describe-reserved-instances-tagged.xml'));
    server.on(call('DescribeSavingsPlans'), reply('describe-savings-plans-1.json', { '"owned-2"': 'null' }));
    server.on(call('DescribeInstances'), reply('describe-instances-1.xml', { '<nextToken>page-2</nextToken>': '' }));
    const read = connect(acting(server));
    const member = (await read.fleet()).targets.find(({ target: name }) => name.endsWith('i-0spot1'));
    expect(await memberRefusals({ ...read, target: async () => member ?? null }, member?.target ?? '')).toEqual(
      REFUSED_TO_MEMBERS,
    );
    expect(server.requests.filter((request) => signedBy(request).key === ACT_KEY)).toEqual([]);
  });

  it('a spot share of a group that launches one kind only', async () => {
    server.on(call('DescribeAutoScalingGroups'), reply('describe-auto-scaling-groups-2.xml'));
    const outcome = await connect(acting(server)).apply(
      { kind: 'set-spot-ratio', target: 'asg/us-east-1/train-p4d', spotRatio: 0.5 },
      'token-1',
      group(),
    );
    expect(outcome).toMatchObject({ kind: 'refused', code: 'no-mixed-instances-policy' });
  });

  it('by AWS: with its code; without the permission, by its name; throttled, unavailable; each sent once', async () => {
    const aws = connect(acting(server));
    server.on(
      call('StopInstances'),
      ec2Error(
        'UnsupportedOperation',
        "You can't stop the Spot Instance because it is associated with a one-time request.",
      ),
      ec2Error('UnauthorizedOperation', 'You are not authorized to perform this operation.', 403),
      ec2Error('RequestLimitExceeded', 'Request limit exceeded.', 503),
    );
    expect(await aws.apply(stop, 'token-1', target())).toEqual({
      kind: 'refused',
      code: 'UnsupportedOperation',
      detail: expect.stringContaining('one-time request'),
    });
    expect(await failureOf(aws.apply(stop, 'token-2', target()))).toMatchObject({
      kind: 'denied',
      message: 'AWS denied ec2:StopInstances (UnauthorizedOperation): the permission is missing',
    });
    expect(await failureOf(aws.apply(stop, 'token-3', target()))).toMatchObject({
      kind: 'unavailable',
      message: 'AWS throttled ec2:StopInstances (RequestLimitExceeded)',
    });
    expect(server.requests).toHaveLength(3);
  });

  it('a start for want of capacity, which may come back: it was surely not taken', async () => {
    server.on(
      call('StartInstances'),
      ec2Error('InsufficientInstanceCapacity', 'There is no Spot capacity available.', 500),
    );
    expect(
      await failureOf(
        connect(acting(server)).apply({ kind: 'start', target: TRAIN }, 'token-1', target({ state: 'stopped' })),
      ),
    ).toMatchObject({
      kind: 'unavailable',
      message: 'AWS has no capacity now for ec2:StartInstances (InsufficientInstanceCapacity)',
      constructor: NoCapacity,
    });
  });

  it("a capacity outside of the group's bounds, and one that waits for another update", async () => {
    server.on(
      call('SetDesiredCapacity'),
      groupError('ValidationError', 'New SetDesiredCapacity value 50 is above max value 10 for the AutoScalingGroup.'),
      groupError('ResourceContention', 'You already have a pending update.', 500),
    );
    const aws = connect(acting(server));
    const effect: Effect = { kind: 'scale', target: SERVE, replicas: 50 };
    expect(await aws.apply(effect, 'token-1', group())).toMatchObject({ kind: 'refused', code: 'ValidationError' });
    expect(await failureOf(aws.apply(effect, 'token-2', group()))).toMatchObject({ kind: 'unavailable' });
  });
});

describe('a lost answer', () => {
  it.each<[string, WireReply]>([
    ['the connection breaks', { lost: true }],
    ['AWS fails inside', ec2Error('InternalError', 'An internal error has occurred.', 500)],
    ['what comes is no answer of AWS', { status: 200, body: '<html>gateway' }],
  ])('is unknown and sent once, where %s', async (_, answer) => {
    server.on(call('StopInstances'), answer);
    expect(await connect(acting(server)).apply(stop, 'token-1', target())).toMatchObject({
      kind: 'unknown',
      detail: expect.stringContaining('ec2:StopInstances'),
    });
    expect(server.requests).toHaveLength(1);
  });

  it('is unknown where AWS does not answer in time', async () => {
    server.on(call('StopInstances'), { ...reply('stop-instances.xml'), delayMilliseconds: 1000 });
    const settings = parseSettings(acting(server));
    if (settings === null) throw new Error('no settings');
    const clients = new Clients(settings, 100);
    const types = new InstanceTypes(clients);
    const outcome = await new Effects(clients, types, new Commitments(clients, types), new TestClock()).apply(
      stop,
      'token-1',
      target(),
    );
    expect(outcome).toMatchObject({ kind: 'unknown' });
    expect(server.requests).toHaveLength(1);
    clients.destroy();
  });

  it('is unavailable, not unknown, where nobody listened: nothing can have arrived', async () => {
    const gone = await WireServer.start();
    const aws = connect(acting(gone));
    await gone.close();
    expect(await failureOf(aws.apply(stop, 'token-1', target()))).toMatchObject({ kind: 'unavailable' });
  });

  it('is told by the state: under way is taken; at rest elsewhere it may be sent again, but only once AWS had time to show it', async () => {
    const clock = new TestClock();
    const aws = connect(acting(server), clock);
    server.on(call('StopInstances'), { lost: true });
    await aws.apply(stop, 'token-1', target());
    trainIs('running', 16);
    expect(await aws.outcome(stop, 'token-1')).toMatchObject({ kind: 'unknown' });
    clock.at = NOW + 4 * MINUTE;
    expect(await aws.outcome(stop, 'token-1')).toMatchObject({ kind: 'unknown' });
    clock.at = NOW + 5 * MINUTE;
    expect(await aws.outcome(stop, 'token-1')).toEqual({ kind: 'absent' });
    trainIs('stopping', 64);
    expect(await aws.outcome(stop, 'token-1')).toMatchObject({ kind: 'taken' });
    trainIs('stopped', 80);
    expect(await aws.outcome(stop, 'token-1')).toMatchObject({ kind: 'taken' });
    expect(sent(server, 'StopInstances')).toHaveLength(1);
  });

  it('of a termination is not taken for a stop that is under way', async () => {
    const aws = connect(acting(server));
    trainIs('stopping', 64);
    expect(await aws.outcome({ kind: 'terminate', target: TRAIN }, 'token-1')).toMatchObject({ kind: 'unknown' });
    trainIs('terminated', 48);
    expect(await aws.outcome({ kind: 'terminate', target: TRAIN }, 'token-1')).toMatchObject({ kind: 'taken' });
  });
});

const ec2Reply = (action: string, body: string): WireReply => ({
  status: 200,
  headers: { 'content-type': 'text/xml' },
  body: `<${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">${body}</${action}Response>`,
});
const volumesAre = (items: string): unknown =>
  server.on(call('DescribeVolumes'), ec2Reply('DescribeVolumes', `<volumeSet>${items}</volumeSet>`));
const nothingOwn = (): void => {
  volumesAre('');
  server.on(call('DescribeInstanceAttribute'), ec2Reply('DescribeInstanceAttribute', '<userData/>'));
};

describe('a replacement without a group', () => {
  beforeEach(nothingOwn);
  const replace: Effect = { kind: 'replace', target: TRAIN, group: null };
  const rehearsal = { 'InstanceId.1': 'i-0train1', DryRun: 'true' };
  const dryRun = ec2Error('DryRunOperation', 'Request would have succeeded, but DryRun flag is set.', 412);
  const templateIs = (more: string): unknown =>
    server.on(
      call('DescribeLaunchTemplateVersions', { LaunchTemplateId: 'lt-0train' }),
      reply('describe-launch-template-versions.xml', { '</launchTemplateData>': `${more}</launchTemplateData>` }),
    );
  /** What another is asked for where the old one has something of its own. */
  async function requestFor(own: string, template = '', anew = true): Promise<Record<string, unknown>> {
    if (anew) {
      server.reset();
      nothingOwn();
    }
    trainIs('running', 16, own);
    templateIs(template);
    server.on(call('TerminateInstances'), reply('terminate-instances.xml'));
    server.on(call('TerminateInstances', rehearsal), dryRun);
    server.on(call('RunInstances'), reply('run-instances.xml'));
    const outcome = await connect(acting(server)).apply(replace, 'token-1', target());
    return sent(server, 'RunInstances')[0] ?? { ...outcome };
  }

  it('rehearses the end, starts one from the same template under the token, then ends the old one', async () => {
    trainIs('running', 16);
    templateIs('');
    server.on(call('TerminateInstances'), reply('terminate-instances.xml'));
    server.on(call('TerminateInstances', rehearsal), dryRun);
    server.on(call('RunInstances'), reply('run-instances.xml'));
    const aws = connect(acting(server));
    expect(await aws.apply(replace, 'token-1', target())).toEqual({
      kind: 'taken',
      reference: 'i-0new1',
      detail: 'i-0new1 runs in the place of i-0train1',
    });
    expect(server.requests.map(parametersOf).map(({ Action }) => Action)).toEqual([
      'DescribeInstances',
      'DescribeInstances',
      'DescribeLaunchTemplateVersions',
      'TerminateInstances',
      'DescribeInstanceAttribute',
      'DescribeVolumes',
      'DescribeInstanceAttribute',
      'RunInstances',
      'TerminateInstances',
    ]);
    expect(sent(server, 'RunInstances')).toEqual([
      {
        Action: 'RunInstances',
        ClientToken: 'token-1',
        MinCount: '1',
        MaxCount: '1',
        ImageId: 'ami-0abcdef1234567890',
        InstanceType: 'p4d.24xlarge',
        SubnetId: 'subnet-0a1b2c3d',
        'LaunchTemplate.LaunchTemplateId': 'lt-0train',
        'LaunchTemplate.Version': '3',
        'TagSpecification.1.ResourceType': 'instance',
        'TagSpecification.1.Tag.1.Key': 'Name',
        'TagSpecification.1.Tag.1.Value': 'train-1',
        'TagSpecification.1.Tag.2.Key': 'team',
        'TagSpecification.1.Tag.2.Value': 'vision',
        'TagSpecification.1.Tag.3.Key': 'bursar:token',
        'TagSpecification.1.Tag.3.Value': 'token-1',
      },
    ]);
  });

  it('is like the machine where that was launched with more than its template', async () => {
    const own =
      '<groupSet><item><groupId>sg-own</groupId></item></groupSet><keyName>ops</keyName>' +
      '<iamInstanceProfile><arn>arn:aws:iam::123456789012:instance-profile/train</arn></iamInstanceProfile>';
    expect(await requestFor(own)).toMatchObject({
      'SecurityGroupId.1': 'sg-own',
      KeyName: 'ops',
      'IamInstanceProfile.Arn': 'arn:aws:iam::123456789012:instance-profile/train',
    });
    const efa =
      '<networkInterfaceSet><item><deviceIndex>0</deviceIndex><interfaceType>efa</interfaceType>' +
      '<groupSet><groupId>sg-template</groupId></groupSet></item></networkInterfaceSet>';
    const request = await requestFor(own, efa);
    expect(request).toMatchObject({
      'NetworkInterface.1.DeviceIndex': '0',
      'NetworkInterface.1.InterfaceType': 'efa',
      'NetworkInterface.1.SubnetId': 'subnet-0a1b2c3d',
      'NetworkInterface.1.SecurityGroupId.1': 'sg-own',
    });
    expect(Object.keys(request).filter((name) => /^(SubnetId|SecurityGroupId)/.test(name))).toEqual([]);
  });

  it('has the volumes, the user data and the highest price that the old one has', async () => {
    const secret = Buffer.from('#!/bin/sh\nTOKEN=do-not-tell').toString('base64');
    volumesAre(
      `<item><volumeId>vol-root</volumeId><size>900</size><volumeType>gp3</volumeType><iops>6000</iops><throughput>250</throughput><encrypted>true</encrypted><kmsKeyId>key-1</kmsKeyId>
        <attachmentSet><item><instanceId>i-0train1</instanceId><device>/dev/sda1</device><deleteOnTermination>true</deleteOnTermination></item></attachmentSet></item>
       <item><volumeId>vol-data</volumeId><size>50</size><volumeType>gp2</volumeType><iops>150</iops>
        <attachmentSet><item><instanceId>i-0train1</instanceId><device>/dev/sdf</device><deleteOnTermination>false</deleteOnTermination></item></attachmentSet></item>`,
    );
    server.on(
      call('DescribeInstanceAttribute', { InstanceId: 'i-0train1', Attribute: 'userData' }),
      ec2Reply('DescribeInstanceAttribute', `<userData><value>${secret}</value></userData>`),
    );
    server.on(
      call('DescribeSpotInstanceRequests', { 'Filter.1.Value.1': 'sir-own' }),
      ec2Reply(
        'DescribeSpotInstanceRequests',
        '<spotInstanceRequestSet><item><spotInstanceRequestId>sir-own</spotInstanceRequestId><spotPrice>9.5</spotPrice></item></spotInstanceRequestSet>',
      ),
    );
    const own =
      '<rootDeviceName>/dev/sda1</rootDeviceName><instanceLifecycle>spot</instanceLifecycle><spotInstanceRequestId>sir-own</spotInstanceRequestId>';
    const scratch =
      '<blockDeviceMappingSet><item><deviceName>/dev/sdg</deviceName><ebs><volumeSize>10</volumeSize></ebs></item></blockDeviceMappingSet>';
    const request = await requestFor(own, scratch, false);
    expect(request).toMatchObject({
      'BlockDeviceMapping.1.DeviceName': '/dev/sdg',
      'BlockDeviceMapping.1.Ebs.VolumeSize': '10',
      'BlockDeviceMapping.2.DeviceName': '/dev/sda1',
      'BlockDeviceMapping.2.Ebs.VolumeSize': '900',
      'BlockDeviceMapping.2.Ebs.VolumeType': 'gp3',
      'BlockDeviceMapping.2.Ebs.Iops': '6000',
      'BlockDeviceMapping.2.Ebs.Throughput': '250',
      'BlockDeviceMapping.2.Ebs.Encrypted': 'true',
      'BlockDeviceMapping.2.Ebs.KmsKeyId': 'key-1',
      'BlockDeviceMapping.2.Ebs.DeleteOnTermination': 'true',
      UserData: secret,
      'InstanceMarketOptions.MarketType': 'spot',
      'InstanceMarketOptions.SpotOptions.MaxPrice': '9.5',
    });
    expect(request).not.toHaveProperty(['BlockDeviceMapping.3.DeviceName']);
    const outcome = await connect(acting(server)).apply(replace, 'token-1', target());
    expect(outcome).toMatchObject({ kind: 'taken' });
    expect(JSON.stringify(outcome)).not.toContain(secret);
  });

  it('says what of it EC2 does not tell', async () => {
    const denied = ec2Error('UnauthorizedOperation', 'not authorized', 403);
    server.on(call('DescribeInstanceAttribute'), denied);
    server.on(call('DescribeVolumes'), denied);
    const request = await requestFor('<rootDeviceName>/dev/sda1</rootDeviceName>', '', false);
    expect(request).not.toHaveProperty('UserData');
    expect(Object.keys(request).filter((name) => name.startsWith('BlockDevice'))).toEqual([]);
    const { detail } = (await connect(acting(server)).apply(replace, 'token-1', target())) as { detail: string };
    expect(detail).toMatch(/its volumes are the template's \(AWS denied ec2:DescribeVolumes/);
    expect(detail).toMatch(/its user data is the template's \(AWS denied ec2:DescribeInstanceAttribute/);
  });

  it('asks again where EC2 gives no answer', async () => {
    const secret = Buffer.from('own').toString('base64');
    server.on(
      call('DescribeInstanceAttribute', { Attribute: 'userData' }),
      ec2Error('RequestLimitExceeded', 'slow down', 503),
      ec2Reply('DescribeInstanceAttribute', `<userData><value>${secret}</value></userData>`),
    );
    expect(await requestFor('', '', false)).toMatchObject({ UserData: secret });
  });

  it('goes on with what the template says where EC2 goes on giving no answer, and says so', async () => {
    trainIs('running', 16, '<rootDeviceName>/dev/sda1</rootDeviceName>');
    templateIs('');
    server.on(call('DescribeInstanceAttribute'), ec2Error('InternalError', 'an internal error', 500));
    server.on(call('DescribeVolumes'), ec2Error('RequestLimitExceeded', 'slow down', 503));
    server.on(call('RunInstances'), reply('run-instances.xml'));
    // What its owner keeps EC2 does not end: the new one is not hidden.
    server.on(call('TerminateInstances'), ec2Error('OperationNotPermitted', 'disableApiTermination is set', 400));
    server.on(call('TerminateInstances', rehearsal), dryRun);
    const outcome = await connect(acting(server)).apply(replace, 'token-1', target());
    const request = sent(server, 'RunInstances')[0] ?? {};
    expect(request).toMatchObject({ ClientToken: 'token-1' });
    expect(Object.keys(request).filter((name) => /^(UserData|BlockDevice)/.test(name))).toEqual([]);
    const said = [
      'whether its owner keeps it from being ended is not known, and EC2 ends none that is kept (AWS gave no answer',
      "its volumes are the template's (AWS throttled",
      "its user data is the template's (AWS gave no answer",
      '; i-0train1 was not ended: OperationNotPermitted',
    ];
    expect(outcome).toMatchObject({ kind: 'half-done', reference: 'i-0new1' });
    const clauses =
      'detail' in outcome && 'lacks' in outcome ? [outcome.detail, ...(outcome.lacks ?? [])].join('; ') : '';
    for (const clause of said) expect(clauses).toContain(clause);
  });

  it('starts nothing in the place of one that its owner keeps from being ended', async () => {
    server.on(
      call('DescribeInstanceAttribute', { Attribute: 'disableApiTermination' }),
      ec2Reply(
        'DescribeInstanceAttribute',
        '<instanceId>i-0train1</instanceId><disableApiTermination><value>true</value></disableApiTermination>',
      ),
    );
    expect(await requestFor('', '', false)).toMatchObject({ kind: 'refused', code: 'termination-protected' });
    expect(sent(server, 'RunInstances')).toEqual([]);
  });

  it('says which volumes outlive the old one', async () => {
    const own =
      '<blockDeviceMapping><item><deviceName>/dev/sdf</deviceName><ebs><volumeId>vol-data</volumeId>' +
      '<deleteOnTermination>false</deleteOnTermination></ebs></item></blockDeviceMapping>';
    await requestFor(own);
    expect(await connect(acting(server)).apply(replace, 'token-1', target())).toMatchObject({
      detail: expect.stringContaining('its volumes vol-data are kept'),
      lacks: [
        'its volumes vol-data are kept, and are not attached to the new one',
        "its volumes are the template's: EC2 tells no more of those of the old one",
      ],
    });
  });

  it('keeps the market of the machine, and is refused where the template makes another', async () => {
    const spot = '<instanceMarketOptions><marketType>spot</marketType></instanceMarketOptions>';
    expect(await requestFor('', spot)).toMatchObject({ kind: 'refused', code: 'template-is-spot' });
    const own = '<instanceLifecycle>spot</instanceLifecycle>';
    expect(await requestFor(own)).toMatchObject({ 'InstanceMarketOptions.MarketType': 'spot' });
    expect(Object.keys(await requestFor(own, spot)).filter((name) => name.startsWith('InstanceMarket'))).toEqual([]);
  });

  it('stands where the machine was last seen, and is refused where nobody knows that', async () => {
    const aws = connect(acting(server));
    const ofTrain = { 'Filter.1.Name': 'instance-id', 'Filter.1.Value.1': 'i-0train1' };
    const noNetwork = { '<subnetId>subnet-0a1b2c3d</subnetId>': '', '<nextToken>page-2</nextToken>': '' };
    playFleet(server);
    server.on(call('DescribeInstances', { 'Filter.1.Name': 'client-token' }), reply('describe-instances-none.xml'));
    server.on(call('DescribeInstances', ofTrain), reply('describe-instances-1.xml', noNetwork));
    server.on(call('TerminateInstances'), reply('terminate-instances.xml'));
    server.on(call('TerminateInstances', rehearsal), dryRun);
    server.on(call('RunInstances'), reply('run-instances.xml'));
    expect(await aws.apply(replace, 'token-1', target())).toMatchObject({ kind: 'refused', code: 'network-unknown' });
    const told = (await connect(reading(server)).fleet?.())?.targets.find((one) => one.target.endsWith('i-0train1'));
    const before = { ...target(), launch: JSON.parse(JSON.stringify(told?.launch)) as Record<string, unknown> };
    expect(await aws.apply(replace, 'token-2', before)).toMatchObject({ kind: 'taken' });
    expect(sent(server, 'RunInstances')).toMatchObject([{ SubnetId: 'subnet-0a1b2c3d' }]);
  });

  it('starts nothing where the old one may not be ended, or no template is known', async () => {
    trainIs('running', 16);
    templateIs('');
    server.on(call('TerminateInstances', rehearsal), ec2Error('UnauthorizedOperation', 'You are not authorized.', 403));
    const aws = connect(acting(server));
    expect(await failureOf(aws.apply(replace, 'token-1', target()))).toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('ec2:TerminateInstances'),
    });
    server.on(call('DescribeInstances', { 'Filter.1.Name': 'instance-id' }), reply('describe-instances-2.xml'));
    expect(await aws.apply({ ...replace, target: 'instance/us-east-1/i-0idle1' }, 'token-2', target())).toMatchObject({
      kind: 'refused',
      code: 'no-launch-template',
    });
    expect(sent(server, 'RunInstances')).toEqual([]);
  });

  /** What runs under the token, from the next question on. */
  const successorIs = (state: string, code: number): unknown =>
    server.on(
      call('DescribeInstances', { 'Filter.1.Name': 'client-token' }),
      reply('describe-instances-1.xml', {
        'i-0train1': 'i-0new1',
        '<nextToken>page-2</nextToken>': '',
        '<code>16</code><name>running': `<code>${code}</code><name>${state}`,
      }),
    );

  it('whose answer was lost is known as half done at once, and goes on with the end alone', async () => {
    server.reset();
    trainIs('running', 16);
    server.on(call('TerminateInstances'), reply('terminate-instances.xml'));
    const aws = connect(acting(server));
    for (const state of ['pending', 'running'] as const) {
      successorIs(state, state === 'pending' ? 0 : 16);
      expect(await aws.outcome(replace, 'token-1')).toEqual({
        kind: 'half-done',
        reference: 'i-0new1',
        detail: `i-0new1, started in the place of i-0train1, is ${state}, and i-0train1 was not ended`,
      });
    }
    expect(await aws.apply(replace, 'token-1', target())).toEqual({
      kind: 'taken',
      reference: 'i-0new1',
      detail: 'i-0new1 runs in the place of i-0train1',
    });
    expect(sent(server, 'TerminateInstances')).toEqual([{ Action: 'TerminateInstances', 'InstanceId.1': 'i-0train1' }]);
    expect(sent(server, 'RunInstances')).toEqual([]);
  });

  it('is half done where the old one cannot be ended, and ends nothing for one that has ended again', async () => {
    trainIs('running', 16);
    templateIs('');
    server.on(call('RunInstances'), reply('run-instances.xml'));
    const aws = connect(acting(server));
    for (const error of [
      ec2Error('OperationNotPermitted', 'The instance may not be terminated.', 400),
      ec2Error('RequestLimitExceeded', 'Request limit exceeded.', 503),
    ]) {
      server.on(call('TerminateInstances'), error);
      server.on(call('TerminateInstances', rehearsal), dryRun);
      expect(await aws.apply(replace, 'token-1', target())).toMatchObject({
        kind: 'half-done',
        reference: 'i-0new1',
        detail: expect.stringContaining('i-0new1 runs in the place of i-0train1; i-0train1 was not ended: '),
      });
    }
    const ends = sent(server, 'TerminateInstances').length;
    successorIs('terminated', 48);
    const gone = { kind: 'refused', code: 'successor-ended' };
    expect(await aws.outcome(replace, 'token-1')).toMatchObject(gone);
    expect(await aws.apply(replace, 'token-1', target())).toMatchObject(gone);
    expect(sent(server, 'TerminateInstances')).toHaveLength(ends);
  });

  it('that was lost is told by what runs under its token', async () => {
    const aws = connect(acting(server));
    trainIs('terminated', 48);
    server.on(
      call('DescribeInstances', { 'Filter.1.Name': 'client-token' }),
      reply('describe-instances-none.xml'),
      reply('describe-instances-1.xml', { 'i-0train1': 'i-0new1', '<nextToken>page-2</nextToken>': '' }),
    );
    expect(await aws.outcome(replace, 'token-1')).toMatchObject({ kind: 'unknown' });
    expect(await aws.outcome(replace, 'token-1')).toMatchObject({ kind: 'taken', reference: 'i-0new1' });
    // Of a group's member the group brings another, whatever the token.
    server.on(call('DescribeInstances'), reply('describe-instances-none.xml'));
    expect(await aws.outcome({ ...replace, group: SERVE }, 'token-2')).toMatchObject({ kind: 'taken' });
  });
});

describeProviderContract('AWS', () => {
  let desired = 3;
  let applied = 0;
  let lost: 'answer' | 'request' | null = null;
  playFleet(server);
  server.on(call('DescribeInstances'), reply('describe-instances-none.xml'));
  server.on(call('DescribeAutoScalingGroups'), () =>
    reply('describe-auto-scaling-group.xml', { '<DesiredCapacity>3': `<DesiredCapacity>${desired}` }),
  );
  server.on(
    call('DescribeAutoScalingGroups', { 'AutoScalingGroupNames.member.1': 'nobody-has-this' }),
    reply('describe-auto-scaling-groups-none.xml'),
  );
  server.on(call('GetProducts'), reply('get-products-2.json'));
  server.on(call('SetDesiredCapacity'), (request) => {
    const losing = lost;
    lost = null;
    if (losing === 'request') return { lost: true };
    const wanted = Number(parametersOf(request)['DesiredCapacity']);
    if (wanted !== desired) applied += 1;
    desired = wanted;
    return losing === 'answer' ? { lost: true } : reply('set-desired-capacity.xml');
  });
  return {
    connection: connect(acting(server)),
    readOnly: connect(reading(server)),
    effect: { kind: 'scale', target: SERVE, replicas: 5 },
    now: () => NOW,
    appliedCount: () => applied,
    loseNextAnswer: (arrives) => {
      lost = arrives ? 'answer' : 'request';
    },
  };
});
