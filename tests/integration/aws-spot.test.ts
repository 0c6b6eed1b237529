/**
 * What AWS says of spot, through its connection and the real line: prices by zone that price the usage of a region,
 * quotes and what policies see.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quote } from '../../src/core/quote/quote.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { GPU_PARTS } from '../../src/core/usage.js';
import { dirtyPrices } from '../../src/planning/anomaly/dirty-prices.js';
import { enqueue } from '../../src/store/work.js';
import { call, connect, ec2Error, NOW, parametersOf, reading, reply, signedBy } from '../support/aws-wire.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { HOUR, metered } from '../support/records.js';
import { WireServer } from '../support/wire-server.js';

describe('the spot prices of AWS', async () => {
  const connections = new Map<string, ProviderConnection>();
  const bursar = await testBursar({ now: NOW, connections });
  const { db, stores, clock, runner } = bursar;
  let server: WireServer;

  beforeAll(async () => {
    server = await WireServer.start();
    server.on(call('DescribeInstanceTypes'), reply('describe-instance-types.xml'));
    server.on(call('DescribeSpotPriceHistory'), reply('describe-spot-price-history-1.xml'));
    server.on(call('DescribeSpotPriceHistory', { NextToken: 'spot-2' }), reply('describe-spot-price-history-2.xml'));
    connections.set('aws', connect(reading(server), clock));
    await bursar.setPrices([
      instancePrice('21.96', { sku: 'p4d.24xlarge', gpuModel: 'A100-40GB' }),
      instancePrice('1.006', { sku: 'g5.xlarge', gpus: 1, gpuModel: 'A10G' }),
    ]);
    await enqueue(db, 'default', [{ stage: 'price.collect', partition: 'aws', key: 'aws/spot' }]);
    await runner.drain();
  });
  afterAll(() => server.close());

  it('are kept by zone, and stand for the region by the dearest', async () => {
    const { book } = await stores.prices.book(db, 'default');
    const at = (region: string): bigint | null => {
      const found = book.find({
        provider: 'AWS',
        sku: 'p4d.24xlarge',
        gpuModel: null,
        region,
        term: 'spot',
        component: 'gpu',
        at: NOW,
      });
      return 'unpriced' in found ? null : found.price.rate.nanos;
    };
    expect(at('us-east-1a')).toBe(11_570_300_000n);
    expect(at('us-east-1')).toBe(11_570_300_000n);
  });

  it('price a spot machine of which only the region is known', async () => {
    await bursar.take([
      metered('m', { sku: 'p4d.24xlarge', term: 'spot', gpuParts: 8 * GPU_PARTS, start: NOW - HOUR, end: NOW }),
    ]);
    await runner.drain();
    expect((await bursar.spend({ groupBy: 'term', basis: 'accrued' })).rows).toMatchObject([
      { term: 'spot', cost: '11.570300000', unpricedQuantity: '0.000000' },
    ]);
  });

  it('are quoted for the region, and offered to policies there', async () => {
    const request = {
      provider: 'aws',
      sku: 'g5.xlarge',
      gpus: 1,
      hours: 10,
      term: 'spot' as const,
      region: 'us-east-1',
      upfront: null,
      currency: null,
    };
    expect(
      quote(
        request,
        (await stores.quotes.facts(db, 'default', { request, team: null, now: NOW, dirtyPrices })).context,
      ),
    ).toMatchObject({ cost: '4.123', region: 'us-east-1' });
    const view = await stores.views.view(
      db,
      'default',
      'unallocated',
      'USD',
      NOW,
      await stores.prices.book(db, 'default'),
      await stores.organisations.peak(db, 'default'),
    );
    expect(
      view.offers.filter(({ term, sku }) => term === 'spot' && sku === 'p4d.24xlarge').map(({ region }) => region),
    ).toContain('us-east-1');
  });

  it('of a region that is denied are asked for again from where they were, and hide no other', async () => {
    const regions = { ...reading(server), BURSAR_AWS_REGIONS: 'eu-west-1,us-east-1' };
    const state = async (): Promise<readonly (readonly [string, number | null])[]> =>
      ((await stores.collections.list(db, 'default')).find(({ what }) => what === 'spot')?.lacking ?? []).map(
        ({ part, readTo }) => [part, readTo],
      );
    const look = async (): Promise<void> => {
      server.requests.length = 0;
      await enqueue(db, 'default', [{ stage: 'price.collect', partition: 'aws', key: 'aws/spot' }]);
      await runner.drain();
      expect(await stores.work.parked('default')).toEqual([]);
    };
    connections.set('aws', connect(regions, clock));
    server.on(call('DescribeInstanceTypes', {}, 'eu-west-1'), ec2Error('UnauthorizedOperation', 'no', 403));
    const first = NOW;
    clock.at += HOUR;
    await look();
    await look();
    expect(await state()).toEqual([['eu-west-1', first]]);
    server.on(call('DescribeInstanceTypes', {}, 'eu-west-1'), reply('describe-instance-types.xml'));
    await look();
    expect(await state()).toEqual([]);
    const asked = server.requests.filter(call('DescribeSpotPriceHistory'));
    const since = (region: string): unknown =>
      asked
        .filter((request) => signedBy(request).region === region)
        .map((request) => parametersOf(request)['StartTime'])[0];
    expect([since('eu-west-1'), since('us-east-1')]).toEqual(['2026-10-20T11:00:00Z', '2026-10-20T12:00:00Z']);
  });

  it('say nothing new when they are read again', async () => {
    const count = async (): Promise<unknown> => (await db.query(`select count(*)::int as n from price_event`))[0];
    const before = await count();
    await enqueue(db, 'default', [{ stage: 'price.collect', partition: 'aws', key: 'aws/spot' }]);
    await runner.drain();
    expect(await count()).toEqual(before);
  });
});
