/**
 * Volumes and traffic on AWS, through the real SDK against a server of our own: what is metered of them, once an hour,
 * and what a GB-month costs by the second. Figures are counted by hand.
 */
import { describe, expect, it } from 'vitest';
import type { Failure } from '../../src/core/errors.js';
import { RecordedRead } from '../../src/core/partial-read.js';
import type { RecordBatch, UsageRecord } from '../../src/core/usage.js';
import {
  awsServer,
  asksForVolumes,
  call,
  collect,
  connect,
  ec2Error,
  jsonError,
  NOW,
  playFleet,
  playStorage,
  reading,
  reply,
  sent,
  TestClock,
} from '../support/aws-wire.js';
import { HOUR } from '../support/records.js';

const server = await awsServer();

const MINUTE = HOUR / 60;
const off = (): Record<string, string> => ({ ...reading(server), BURSAR_AWS_TRAFFIC: 'off' });
const recordsOf = async (batches: AsyncIterable<RecordBatch>): Promise<UsageRecord[]> => {
  const all: UsageRecord[] = [];
  for await (const { records, rejects } of batches) {
    expect(rejects).toEqual([]);
    all.push(...records);
  }
  return all;
};
const clockOf = (instant: number): string => new Date(instant).toISOString().slice(11, 16);
const spans = (records: readonly UsageRecord[], resource: string): unknown[] =>
  records
    .filter((one) => one.resource === resource)
    .map(({ sku, start, end, storageMib }) => [sku, `${clockOf(start)}-${clockOf(end)}`, storageMib]);

describe('volumes', () => {
  const metered = (to = NOW, meteredTo: number | null = NOW - 2 * HOUR - 30 * MINUTE): Promise<UsageRecord[]> => {
    playFleet(server);
    playStorage(server);
    return recordsOf(connect(off()).usage(NOW - 3 * HOUR, to, meteredTo));
  };

  it('are metered by whole hours since the last look, from when they were made', async () => {
    const records = await metered();
    expect(spans(records, 'vol-0root')).toEqual([
      ['EBS:VolumeUsage.gp3', '10:20-11:00', 512_000],
      ['EBS:VolumeUsage.gp3', '11:00-12:00', 512_000],
    ]);
    expect(spans(records, 'vol-0dying')).toEqual([]);
    expect(records.find(({ resource }) => resource === 'vol-0root')).toEqual({
      id: 'volume/us-east-1/vol-0root@2026-10-20T10:20:00Z',
      provider: 'AWS',
      account: '123456789012',
      subAccount: null,
      resource: 'vol-0root',
      namespace: null,
      service: null,
      sku: 'EBS:VolumeUsage.gp3',
      region: 'us-east-1',
      term: null,
      gpuModel: null,
      // It has no tags of its own: its machine's stand in.
      tags: expect.objectContaining({ team: 'vision', Name: 'train-1' }) as Record<string, string>,
      start: NOW - 100 * MINUTE,
      end: NOW - HOUR,
      gpuParts: null,
      storageMib: 512_000,
      networkBytes: null,
      charge: null,
    } satisfies UsageRecord);
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
  });

  it('that are attached to nothing are metered, under their own tags', async () => {
    const spare = (await metered()).find(({ resource }) => resource === 'vol-0spare');
    expect(spare).toMatchObject({ tags: { team: 'audio' }, account: '123456789012', storageMib: 1_024_000 });
    playFleet(server);
    playStorage(server);
    const named = connect({ ...off(), BURSAR_AWS_ACCOUNT: '42' });
    expect((await recordsOf(named.usage(NOW - HOUR, NOW))).every(({ account }) => account === '42')).toBe(true);
  });

  it('have the tags of their machine, but are no members of its group', async () => {
    const member = (await metered()).find(({ resource }) => resource === 'vol-0member');
    expect(member).toMatchObject({ tags: { team: 'speech' }, storageMib: 8192 });
    expect(Object.keys(member?.tags ?? {})).not.toContain('aws:autoscaling:groupName');
  });

  it('are what they were before a modification, and what it makes of them from its start', async () => {
    expect(spans(await metered(), 'vol-0grown')).toEqual([
      ['EBS:VolumeUsage.gp2', '09:00-10:00', 102_400],
      ['EBS:VolumeUsage.gp2', '10:00-11:00', 102_400],
      ['EBS:VolumeUsage.gp2', '11:00-11:30', 102_400],
      ['EBS:VolumeUsage.gp3', '11:30-12:00', 307_200],
      ['EBS:VolumeP-IOPS.gp3', '11:30-12:00', null],
    ]);
  });

  it('name what is charged besides their size, without a quantity', async () => {
    const records = (await metered()).filter(({ start }) => start === NOW - HOUR);
    expect(spans(records, 'vol-0spare').map((one) => (one as unknown[])[0])).toEqual([
      'EBS:VolumeUsage.gp3',
      'EBS:VolumeP-IOPS.gp3',
      'EBS:VolumeP-Throughput.gp3',
    ]);
    // 70,000 IOPS reach into the third tier.
    expect(spans(records, 'vol-0io').map((one) => (one as unknown[])[0])).toEqual([
      'EBS:VolumeUsage.io2',
      'EBS:VolumeP-IOPS.io2',
      'EBS:VolumeP-IOPS.io2.tier2',
      'EBS:VolumeP-IOPS.io2.tier3',
    ]);
    expect(spans(records, 'vol-0old').map((one) => (one as unknown[])[0])).toEqual([
      'EBS:VolumeUsage',
      'EBS:VolumeIOUsage',
    ]);
    // A Local Zone has prices of its own.
    expect(records.find(({ resource }) => resource === 'vol-0old')?.region).toBe('us-east-1-bos-1');
  });

  it('are asked for once an hour', async () => {
    expect(await metered(NOW + 30 * MINUTE, NOW + 5 * MINUTE)).toEqual([]);
    expect(server.requests).toEqual([]);
    // Two looks beside each other meter each hour once.
    const [first, second] = [await metered(NOW - 10 * MINUTE, null), await metered(NOW + MINUTE, NOW - 10 * MINUTE)];
    expect(spans(first, 'vol-0io').length / 4).toBe(2);
    expect(spans(second, 'vol-0io').length / 4).toBe(1);
  });

  it('of which AWS tells nothing fail by the name of the permission', async () => {
    playFleet(server);
    playStorage(server);
    server.on(call('DescribeVolumes'), ec2Error('UnauthorizedOperation', 'no', 403));
    const failure = await recordsOf(connect(off()).usage(NOW - HOUR, NOW)).catch((error: unknown) => error as Failure);
    expect(failure).toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('ec2:DescribeVolumes') as string,
    });
  });
});

describe('traffic', () => {
  it('is what CloudWatch counted of GPU instances, by the hour; a missing hour is not zero', async () => {
    playFleet(server);
    playStorage(server);
    const connection = connect(reading(server));
    const all = await recordsOf(connection.usage(NOW - 3 * HOUR, NOW));
    const traffic = all.filter(({ networkBytes }) => networkBytes !== null);
    expect(
      traffic.map(({ resource, start, end, networkBytes }) => [resource, clockOf(start), end - start, networkBytes]),
    ).toEqual([
      ['i-0train1', '09:00', HOUR, 3_221_225_472],
      ['i-0train1', '10:00', HOUR, 1_073_741_824],
    ]);
    expect(traffic[0]).toMatchObject({
      sku: 'DataTransfer-Out-Bytes',
      region: 'us-east-1',
      gpuParts: null,
      term: null,
    });
    const [asked] = sent(server, 'GetMetricData') as { MetricDataQueries: { MetricStat: { Metric: object } }[] }[];
    // The web server has no GPU.
    expect(JSON.stringify(asked)).not.toContain('i-0web1');
    // The last hour is asked for when CloudWatch has it.
    expect(asked).toMatchObject({ StartTime: (NOW - 3 * HOUR) / 1000, EndTime: (NOW - HOUR) / 1000 });
    expect(asked?.MetricDataQueries[0]).toMatchObject({
      MetricStat: { Metric: { Namespace: 'AWS/EC2', MetricName: 'NetworkOut' }, Period: 3600, Stat: 'Sum' },
    });
  });

  it('that is off is not asked for, and denied is a failure by its permission', async () => {
    playFleet(server);
    playStorage(server);
    await recordsOf(connect(off()).usage(NOW - HOUR, NOW));
    expect(sent(server, 'GetMetricData')).toEqual([]);
    server.on(call('GetMetricData'), jsonError('AccessDenied', 'no', 403));
    const failure = await recordsOf(connect(reading(server)).usage(NOW - 3 * HOUR, NOW)).catch(
      (error: unknown) => error as Failure,
    );
    expect(failure).toMatchObject({
      kind: 'denied',
      message: expect.stringContaining('cloudwatch:GetMetricData') as string,
    });
    expect(() => connect({ ...reading(server), BURSAR_AWS_TRAFFIC: 'some' })).toThrow('BURSAR_AWS_TRAFFIC');
  });
});

describe('the price of a GB-month', () => {
  it('is by the seconds of its own calendar month, for the months around', async () => {
    server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
    server.on(call('GetProducts'), reply('get-products-2.json'));
    server.on(asksForVolumes, reply('get-products-storage.json'));
    const events = await collect(connect(reading(server), new TestClock(Date.UTC(2026, 10, 20))).prices(0));
    const storage = events.flatMap((event) =>
      event.kind === 'price' && event.price.component === 'storage' ? [event.price] : [],
    );
    // Those of a price of zero, in tiers, in another unit, and of no volume are no prices.
    expect([...new Set(storage.map(({ sku }) => sku))].sort()).toEqual([
      'EBS:VolumeUsage.gp3',
      'EBS:VolumeUsage.io2',
      'EBS:VolumeUsage.piops',
    ]);
    const gp3 = storage.filter(({ sku }) => sku === 'EBS:VolumeUsage.gp3');
    expect(
      gp3.map(({ rate, effectiveFrom, effectiveTo }) => [rate.quantity / 86_400n, effectiveFrom, effectiveTo]),
    ).toEqual([
      [31n, Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1)],
      [30n, Date.UTC(2026, 10, 1), Date.UTC(2026, 11, 1)],
      [31n, Date.UTC(2026, 11, 1), Date.UTC(2027, 0, 1)],
    ]);
    expect(gp3[0]).toMatchObject({
      provider: 'AWS',
      region: 'us-east-1',
      gpus: null,
      rate: { nanos: 80_000_000n, currency: 'USD', unit: 'gib-second' },
    });
    // AWS' own example: 2,000 GB for 12 hours of a month of 30 days at 0.08 cost 2.667.
    const november = gp3[1]?.rate;
    expect(november === undefined ? null : (2000n * 43_200n * november.nanos) / november.quantity).toBe(2_666_666_666n);
  });
});

describe('in part', () => {
  const asked = { from: NOW - 3 * HOUR, meteredTo: NOW - HOUR };

  it('a region that is denied hides no other, and is metered from where it was last once it may be read', async () => {
    playFleet(server);
    playStorage(server);
    const settings = { ...off(), BURSAR_AWS_REGIONS: 'eu-west-1,us-east-1' };
    server.on(call('DescribeInstances', {}, 'eu-west-1'), ec2Error('UnauthorizedOperation', 'no', 403));
    const partial = new RecordedRead([], asked.meteredTo, (readTo) => readTo ?? 0);
    const whole = await recordsOf(connect(settings).usage(asked.from, NOW, asked.meteredTo, partial));
    expect(new Set(whole.map(({ id }) => id.split('/')[1]))).toEqual(new Set(['us-east-1']));
    expect(partial.lacking).toMatchObject([{ part: 'eu-west-1', readTo: asked.meteredTo }]);
    server.reset();
    playFleet(server);
    playStorage(server);
    const later = new RecordedRead(partial.lacking, NOW, (readTo) => readTo ?? 0);
    const next = await recordsOf(connect(settings).usage(NOW - 3 * HOUR, NOW + HOUR, NOW, later));
    const starts = (name: string): number[] =>
      [...new Set(next.filter(({ id }) => id.includes(`/${name}/`)).map(({ start }) => start))].sort();
    expect(starts('us-east-1')[0]).toBe(NOW);
    expect(starts('eu-west-1')[0]).toBe(NOW - HOUR);
    expect(later.lacking).toEqual([]);
  });

  it('traffic that may not be read hides no volume', async () => {
    playFleet(server);
    playStorage(server);
    server.on(call('GetMetricData'), jsonError('AccessDeniedException', 'not authorized', 403));
    const partial = new RecordedRead([], asked.meteredTo, (readTo) => readTo ?? 0);
    const records = await recordsOf(connect(reading(server)).usage(asked.from, NOW, asked.meteredTo, partial));
    expect(records.map(({ resource }) => resource)).toContain('vol-0root');
    expect(partial.lacking).toMatchObject([{ part: 'us-east-1: traffic' }]);
  });
});
