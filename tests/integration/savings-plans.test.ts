/**
 * A savings plan of AWS from what is on sale to what it saved: hand-written replies become offers and prices, a person
 * approves the purchase, it is sent once with its token, and what it served is measured against the whole commitment.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readPolicyDocument } from '../../src/core/policy/document.js';
import type { ProviderConnection } from '../../src/core/ports.js';
import { ownPurchases } from '../../src/store/action/own-purchases.js';
import { FleetStore } from '../../src/store/fleet/fleet.js';
import { approveAction } from '../../src/application/action/set-action.js';
import { applyPolicy } from '../../src/application/policy/set-policy.js';
import { enqueue } from '../../src/store/work.js';
import { NOW, Script } from '../support/acting.js';
import { acting, call, connect, reply, sent } from '../support/aws-wire.js';
import { instance } from '../support/memory-cloud.js';
import { testBursar } from '../support/bursar.js';
import { HOUR, metered } from '../support/records.js';
import { WireServer } from '../support/wire-server.js';

const server = await WireServer.start();
const script = new Script();
const policy = script.policy('scripted', false);
const connections = new Map<string, ProviderConnection>();
const fleet = new FleetStore();
const bursar = await testBursar({ policies: [policy], now: NOW, targets: fleet, connections });
const { db, stores, clock, runner } = bursar;
afterAll(() => server.close());

const look = async (stage: string, partition: string, key: string): Promise<void> => {
  await enqueue(db, 'default', [{ stage, partition, key }]);
  await runner.drain();
};
/** Machines of eight A100 that ran for an hour after noon, under a term. */
const ran = (machines: number, hour: number, term: 'on-demand' | 'savings-plan-1y') =>
  Array.from({ length: machines }, (_, n) =>
    metered(`${term}/${hour}/${n}`, {
      provider: 'AWS',
      resource: `i-${n}`,
      sku: 'p4d.24xlarge',
      gpuModel: 'A100-40GB',
      gpuParts: 56_000,
      region: 'us-east-1',
      term,
      start: NOW + hour * HOUR,
      end: NOW + (hour + 1) * HOUR,
    }),
  );

beforeAll(async () => {
  for (const [action, file] of [
    ['DescribeInstanceTypes', 'describe-instance-types.xml'],
    ['GetProducts', 'get-products-1.json'],
    ['DescribeReservedInstancesOfferings', 'describe-reserved-instances-offerings-2.xml'],
    ['DescribeSavingsPlansOfferings', 'describe-savings-plans-offerings-1.json'],
    ['DescribeSavingsPlansOfferingRates', 'describe-savings-plans-offering-rates-1.json'],
    ['CreateSavingsPlan', 'create-savings-plan.json'],
  ] as const) {
    server.on(call(action), reply(file));
  }
  server.on(call('GetProducts', { NextToken: 'prices-2' }), reply('get-products-2.json'));
  server.on(
    call('DescribeSavingsPlansOfferings', { nextToken: 'plans-2' }),
    reply('describe-savings-plans-offerings-2.json'),
  );
  server.on(
    call('DescribeSavingsPlansOfferingRates', { nextToken: 'rates-2' }),
    reply('describe-savings-plans-offering-rates-2.json'),
  );
  connections.set('aws', connect(acting(server), clock));
  await db.transaction((tx) =>
    stores.organisations.saveRules(tx, 'default', [{ match: { provider: 'AWS' }, team: 'lab' }], 'test'),
  );
});

it('on sale is kept as a reservation is: as an offer with its rates, and as prices of the machines that it covers', async () => {
  await look('price.collect', 'aws', 'aws/prices');
  const offers = (await fleet.offers(db, 'default')).filter(({ kind }) => kind === 'savings-plan');
  expect(
    offers.map(({ offer, sku, region, termHours, upfront, rates }) => [
      offer.slice(-2),
      sku,
      region,
      termHours,
      upfront,
      rates?.map((rate) => [rate.sku, rate.hourlyNanos]),
    ]),
  ).toEqual([
    [
      '01',
      null,
      null,
      8760,
      'none',
      [
        ['p4d.24xlarge', 16_000_000_000n],
        ['g5.xlarge', 790_000_000n],
        ['g6f.large', 151_200_000n],
      ],
    ],
    ['02', 'p4d', 'us-east-1', 8760, 'all', [['p4d.24xlarge', 13_240_000_000n]]],
    ['04', null, null, 26_280, 'partial', [['p4d.24xlarge', 10_980_000_000n]]],
  ]);
  await bursar.take(ran(3, -1, 'on-demand'));
  await runner.drain();
  const demandAt = async (asOf: number) => {
    const request = { organisation: 'default', team: 'lab', currency: 'USD', asOf };
    return stores.views.demand(db, request, NOW - 24 * HOUR, await stores.prices.book(db, 'default'));
  };
  const [series] = await demandAt(NOW);
  // The hours after it are not read yet, and not without use; one that is silent for long is.
  const inUse = async (hours: number) => [...((await demandAt(NOW + hours * HOUR))[0]?.gpus ?? [])];
  expect(await Promise.all([0, 1, 2].map(inUse))).toEqual([[24], [24], [24]]);
  expect(await inUse(4)).toEqual([24, 0, 0, 0, 0]);
  // What the policy compares: $16 an hour for 8 GPUs are $2 each, as the plan's own rates say.
  expect(
    series?.reserved
      .filter(({ term }) => term.startsWith('savings-plan'))
      .map(({ term, upfront, rate }) => [term, upfront, Number(rate.nanos * 3600n) / Number(rate.quantity) / 1e9])
      .sort(),
  ).toEqual([
    ['savings-plan-1y', 'all', 1.655],
    ['savings-plan-1y', 'none', 2],
    ['savings-plan-3y', 'partial', 1.3725],
  ]);
  // Another look finds the same, and says nothing anew.
  const prices = async (): Promise<unknown> => db.query(`select count(*) from price_event`);
  const before = await prices();
  clock.at += 24 * HOUR;
  await look('price.collect', 'aws', 'aws/prices');
  expect(await prices()).toEqual(before);
  clock.at = NOW;
});

it('is bought once somebody approves, by the spend per hour that the GPUs come to, under its token', async () => {
  script.wants = [
    {
      action: 'PurchaseSavingsPlans',
      target: 'AWS/us-east-1/p4d.24xlarge/savings-plan-1y/none',
      place: { provider: 'AWS', region: 'us-east-1', sku: 'p4d.24xlarge' },
      change: { units: 16, term: 'savings-plan-1y', upfront: 'none', termHours: 8760, perGpuHourNanos: 2_000_000_000 },
      validDays: 7,
    },
  ];
  const document = readPolicyDocument({ name: 'doc', policy: 'scripted', teams: ['lab'], mode: 'approve' }, [policy]);
  await db.transaction((tx) =>
    applyPolicy(stores, tx, 'default', [policy], { document, override: 'a test' }, 'author', clock.at),
  );
  await look('recommendation.make', 'lab', 'lab');
  const [proposed] = await stores.actions.list('default', {}, null, 10);
  expect(proposed?.action).toMatchObject({
    state: 'proposed',
    effect: {
      kind: 'purchase',
      offer: 'savings-plan/aaaaaaaa-0000-4000-8000-000000000001',
      units: 32,
      mostNanos: 280_320_000_000_000n,
      family: null,
      region: null,
    },
  });
  expect(sent(server, 'CreateSavingsPlan')).toEqual([]);
  const id = proposed?.action.id ?? '';
  // As AWS shows it from then on, which proves the purchase.
  server.on(call('DescribeSavingsPlans'), reply('describe-savings-plans-2.json', { '"token-1"': `"bursar-${id}"` }));
  await db.transaction((tx) => approveAction(stores, tx, 'default', id, 'boss', clock.at));
  await runner.drain();
  expect(sent(server, 'CreateSavingsPlan')).toEqual([
    {
      Action: 'CreateSavingsPlan',
      savingsPlanOfferingId: 'aaaaaaaa-0000-4000-8000-000000000001',
      commitment: '32',
      clientToken: `bursar-${id}`,
      tags: { 'bursar:token': `bursar-${id}` },
    },
  ]);
  script.wants = [];
  clock.at += HOUR / 60;
  await runner.drain();
  expect((await stores.actions.list('default', {}, null, 10)).map(({ action }) => action.state)).toEqual(['confirmed']);
  expect(sent(server, 'CreateSavingsPlan')).toHaveLength(1);
});

it('is known to be held from then on, so that nobody is asked to buy it twice', async () => {
  const view = await stores.views.view(
    ...([db, 'default', 'lab', 'USD', clock.at] as const),
    await stores.prices.book(db, 'default'),
    await stores.organisations.peak(db, 'default'),
  );
  expect(view.demand.map(({ term, bought }) => [term, bought])).toEqual([
    ['on-demand', [{ units: 16, hoursLeft: 8760 }]],
  ]);
});

it('is of the account that the connection sees, and of none where it sees several', async () => {
  const seen = async (...accounts: (string | null)[]): Promise<unknown> => {
    clock.at += 1;
    const targets = accounts.map((account, n) => instance(String(n), { account }));
    await db.transaction((tx) =>
      fleet.save(tx, 'default', 'aws', { at: clock.at, complete: true, targets, problems: [] }, () => 'lab'),
    );
    const [offer] = await fleet.offers(db, 'default');
    return [(await ownPurchases(db, 'default')).map(({ account }) => account), offer?.account];
  };
  const before = clock.at;
  expect(await seen(null)).toEqual([[null], null]);
  expect(await seen('1', null)).toEqual([['1'], '1']);
  expect(await seen('1', '2')).toEqual([[null], null]);
  // What is gone says no more.
  expect(await seen('2')).toEqual([['2'], '2']);
  clock.at = before;
});

it('saves what it served on demand, less the whole commitment', async () => {
  const [bought] = await stores.actions.list('default', {}, null, 10);
  const saving = async () => stores.savingLedger.known('default', bought?.action.id ?? '');
  clock.at = NOW + 3 * HOUR;
  await bursar.take(ran(3, 0, 'on-demand'));
  await runner.drain();
  expect(await saving()).toMatchObject({ state: 'estimated' });
  clock.at = NOW + 6 * HOUR;
  await bursar.take([...ran(3, 1, 'savings-plan-1y'), ...ran(1, 2, 'savings-plan-1y'), ...ran(1, 3, 'on-demand')], {
    source: 'later',
  });
  await runner.drain();
  clock.at = NOW + 30 * HOUR;
  await runner.drain();
  // $32 buy two machines of $21.957642: nothing metered as served at noon, two of three at one o'clock, one at two:
  // 65.872926 - 96.
  expect(await saving()).toMatchObject({ state: 'measured', saved: '-30.127074', hours: { measured: 3 } });
});
