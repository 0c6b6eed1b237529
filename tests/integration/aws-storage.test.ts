/**
 * The cost model of AWS before the bill comes, through its connection and the real line: GPUs by the readings of the
 * fleet, volumes and traffic by the hour, times the peak factor; then an open and a final bill of the same volumes.
 * Amounts are counted by hand.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { quote } from '../../src/core/quote/quote.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { TRAFFIC_SKU } from '../../src/core/price/aws-usage-type.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { dirtyPrices } from '../../src/planning/anomaly/dirty-prices.js';
import { enqueue } from '../../src/store/work.js';
import { asksForVolumes, call, connect, NOW, playFleet, playStorage, reading, reply } from '../support/aws-wire.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { billed, HOUR } from '../support/records.js';
import { WireServer } from '../support/wire-server.js';

const ACCOUNT = '123456789012';
const DAY = { from: '2026-10-20', to: '2026-10-21' };
const RULES = ['vision', 'audio', 'own'].map((team) => ({ match: { tag: { key: 'team', value: team } }, team }));
const MIDNIGHT = Date.UTC(2026, 9, 20);

const connections = new Map<string, ProviderConnection>();
const bursar = await testBursar({ now: NOW - HOUR, connections });
const { db, stores, clock, runner } = bursar;
let server: WireServer;

const collect = async (stage: string, what: string): Promise<void> => {
  await enqueue(db, 'default', [{ stage, partition: 'aws', key: `aws/${what}` }]);
  await runner.drain();
};
/** Cost of a team on the day of the test, by SKU. */
async function costs(team: string, basis = 'actual'): Promise<Record<string, string | null>> {
  const { rows } = await bursar.spend({ ...DAY, basis, groupBy: 'sku', teams: [team] });
  return Object.fromEntries(rows.map(({ sku, cost }) => [sku ?? 'none', cost]));
}
const lineOf = (id: string, amount: string, over: Partial<UsageRecord>, isFinal = false): UsageRecord =>
  billed(
    id,
    amount,
    { account: ACCOUNT, term: null, tags: { team: 'vision' }, start: MIDNIGHT, end: MIDNIGHT + 24 * HOUR, ...over },
    isFinal ? { isFinal } : {},
  );
const ROOT = { sku: 'EBS:VolumeUsage.gp3', resource: 'vol-0root' };
const bill = (isFinal: boolean): UsageRecord[] => [
  lineOf('root', '0.10', ROOT, isFinal),
  lineOf('iops', '7.00', { sku: 'EBS:VolumeP-IOPS.gp3', resource: 'vol-0root' }, isFinal),
  lineOf('sent', '0.05', { sku: TRAFFIC_SKU, resource: 'i-0train1' }, isFinal),
  lineOf('cpu', '3.00', { sku: 'EBS:VolumeUsage.gp3', resource: 'vol-0elsewhere' }, isFinal),
];

beforeAll(async () => {
  server = await WireServer.start();
  playFleet(server);
  playStorage(server);
  server.on(call('GetProducts'), reply('get-products-1.json'));
  server.on(call('GetProducts', { NextToken: 'prices-2' }), reply('get-products-2.json'));
  server.on(asksForVolumes, reply('get-products-storage.json'));
  server.on(call('DescribeReservedInstancesOfferings'), reply('describe-reserved-instances-offerings-2.xml'));
  server.on(call('DescribeSavingsPlansOfferings'), reply('describe-savings-plans-offerings-2.json'));
  server.on(call('DescribeSavingsPlansOfferingRates'), reply('describe-savings-plans-offering-rates-2.json'));
  connections.set('aws', connect(reading(server), clock));
  await db.transaction((tx) => stores.organisations.saveRules(tx, 'default', RULES, 'test'));
  await collect('price.collect', 'prices');
  await collect('fleet.collect', 'fleet');
  clock.at = NOW;
  await collect('fleet.collect', 'fleet');
  await collect('usage.collect', 'usage');
});
afterAll(() => server.close());

describe('a day on AWS without a bill', () => {
  it('costs its GPUs and its volumes, each team its own, and names what has no price', async () => {
    // 500 GiB for 6,000 of October's 2,678,400 seconds at 0.08: 0.035842294 to eleven, 0.053763441 to twelve.
    expect(await costs('vision')).toEqual({
      'p4d.24xlarge': '21.957642000',
      'EBS:VolumeUsage.gp3': '0.089605735',
      'DataTransfer-Out-Bytes': null,
    });
    const { lacking } = await bursar.spend({ ...DAY, teams: ['vision'] });
    expect(lacking.unpriced).toEqual([
      {
        provider: 'AWS',
        sku: 'DataTransfer-Out-Bytes',
        component: 'network',
        reason: 'no-component',
        quantity: '4.000000',
        hours: 2,
      },
    ]);
    // Nothing is attached to it: it goes by its own tag. 1,000 GiB for 12 hours; its IOPS are in no amount.
    expect(await costs('audio')).toEqual({
      'EBS:VolumeUsage.gp3': '1.290322584',
      'EBS:VolumeP-IOPS.gp3': null,
      'EBS:VolumeP-Throughput.gp3': null,
    });
    expect((await bursar.spend({ ...DAY, teams: ['audio'] })).lacking.unpriced).toMatchObject([
      { sku: 'EBS:VolumeP-IOPS.gp3', quantity: null, reason: 'quantity-unknown', hours: 12 },
      { sku: 'EBS:VolumeP-Throughput.gp3', quantity: null, hours: 12 },
    ]);
  });

  it("costs a stopped machine's disk: 100 GiB at 0.125 for 12 hours", async () => {
    const found = await db.query<{ state: string }>(
      `select body->>'state' as state from fleet_target where target = 'instance/us-east-1/i-0idle1'`,
    );
    expect(found).toEqual([{ state: 'stopped' }]);
    expect((await costs('own'))['EBS:VolumeUsage.io2']).toBe('0.201612900');
  });

  it('is metered once, however often it is looked at', async () => {
    const before = await bursar.spend({ groupBy: 'sku,day' });
    clock.at = NOW + 5 * 60_000;
    await collect('usage.collect', 'usage');
    expect(await bursar.spend({ groupBy: 'sku,day' })).toEqual(before);
    const [rejected] = await db.query<{ n: number }>(`select count(*)::int as n from reject`);
    expect(rejected).toEqual({ n: 0 });
  });

  it('costs its traffic too, where somebody states what it costs', async () => {
    await bursar.setPrices([
      {
        ...instancePrice('0', { sku: TRAFFIC_SKU, component: 'network' }),
        gpus: null,
        rate: { nanos: 20_000_000n, currency: 'USD', quantity: 1n, unit: 'gib' },
      },
    ]);
    await runner.drain();
    expect(await costs('vision')).toEqual({
      'p4d.24xlarge': '21.957642000',
      'EBS:VolumeUsage.gp3': '0.089605735',
      'DataTransfer-Out-Bytes': '0.080000000',
    });
    const { total, lacking } = await bursar.spend({ ...DAY, teams: ['vision'] });
    expect([total, lacking.unpriced]).toEqual(['22.127247735', []]);
  });
});

describe('a quote on AWS', () => {
  it('prices the kind of storage that it names, by the price list', async () => {
    const request = {
      provider: 'aws',
      sku: 'p4d.24xlarge',
      gpus: 8,
      hours: 24,
      term: 'on-demand' as const,
      region: 'us-east-1',
      upfront: null,
      currency: null,
      storageGib: 500,
      storageSku: 'gp3',
    };
    const { context } = await stores.quotes.facts(db, 'default', { request, team: null, now: NOW, dirtyPrices });
    // 500 GiB at 0.08 for a day of October's 31.
    expect(quote(request, context)).toMatchObject({
      storageSku: 'EBS:VolumeUsage.gp3',
      parts: { gpu: '526.983408', storage: '1.290322581', network: null },
    });
  });
});

describe('a bill of the same volumes', () => {
  it('that is open counts what nobody meters, and nothing twice', async () => {
    await bursar.take(bill(false), { source: 'cur' });
    await runner.drain();
    expect(await costs('vision')).toEqual({
      'p4d.24xlarge': '21.957642000',
      // A volume that is not in the regions at hand: its line counts beside the metered one.
      'EBS:VolumeUsage.gp3': '3.089605735',
      'EBS:VolumeP-IOPS.gp3': '7.00',
      'DataTransfer-Out-Bytes': '0.080000000',
    });
  });

  it('that is final stands in for all that was metered of its day', async () => {
    clock.at = Date.UTC(2026, 10, 2);
    await bursar.take(bill(true), { source: 'cur' });
    await runner.drain();
    expect(await costs('vision')).toEqual({
      'EBS:VolumeUsage.gp3': '3.10',
      'EBS:VolumeP-IOPS.gp3': '7.00',
      'DataTransfer-Out-Bytes': '0.05',
    });
    expect((await bursar.spend({ ...DAY, teams: ['audio'] })).lacking.unpriced).toEqual([]);
    expect((await bursar.spend({ ...DAY, teams: ['audio'], basis: 'accrued' })).lacking.unpriced).toHaveLength(2);
  });
});
