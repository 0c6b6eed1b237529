/**
 * Budgets are weighed, and people are told, on money that `actual` has: not on lines of a bill for which a meter stands
 * as soon as its usage has a price, nor on what was so when a threshold was crossed.
 */
import { describe, expect, it } from 'vitest';
import { setBudget } from '../../src/application/budget/set-budget.js';
import type { ChannelConnection, Notification } from '../../src/core/alert/channel.js';
import type { Budget } from '../../src/core/budget/budget.js';
import { MAKE_ITEM } from '../../src/store/alert/alerts.js';
import { evaluateBudgetStage } from '../../src/pipeline/evaluate-budget.js';
import { Runner } from '../../src/pipeline/runner.js';
import { MOST_HELD_MS } from '../../src/store/budget/being-priced.js';
import { enqueue } from '../../src/store/work.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered } from '../support/records.js';
import { monthBudget } from '../support/makers.js';

const NOW = Date.UTC(2026, 10, 21);
const START = Date.UTC(2026, 10, 1);
const END = Date.UTC(2026, 11, 1);
const NOVEMBER = { periodStart: START, periodEnd: END };

/** November's line of 1,440 about one machine, and ten hours of it at 2 USD. */
const bill = billed('month', '1440.00', { start: START, end: END }, NOVEMBER);
const meter = metered('ten', { start: NOW - 10 * HOUR, end: NOW });

async function world(connections: ReadonlyMap<string, ChannelConnection> = new Map()): Promise<TestBursar> {
  const bursar = await testBursar({ now: NOW, settlingDays: 10, channels: connections });
  await bursar.setPrices([instancePrice('2.00', { minimumSeconds: 0 })]);
  return bursar;
}

async function set(bursar: TestBursar, over: Partial<Budget> = {}): Promise<void> {
  const budget: Budget = monthBudget({
    id: 'b',
    team: 'unallocated',
    planned: { default: '1000', periods: {} },
    thresholds: [{ kind: 'actual', ratio: '0.8' }],
    ...over,
  });
  await bursar.db.transaction((tx) => setBudget(bursar.stores, tx, 'default', budget, bursar.clock.at));
}

const told = async ({ stores }: TestBursar): Promise<string[]> =>
  (await stores.budgets.crossings('default', 'b')).map(({ kind, ratio, round }) => `${kind}:${ratio} #${round}`);
const spent = async ({ stores, clock }: TestBursar): Promise<number[]> =>
  (await stores.budgets.states('default', clock.at, 'b')).map(({ state }) => Number(state.spent));

/** Some keys of a partition, though others wait to the left of it. */
const only = (bursar: TestBursar, stage: string, partition: string): Promise<number> =>
  bursar.runner.runPartition({ organisation: 'default', stage, partition }, async (done) => done >= 30);

describe('a budget beside a bill that has just come', () => {
  it('is weighed within five minutes though bills and usage never cease to come', async () => {
    const bursar = await world();
    await set(bursar);
    await bursar.runner.drain();
    const from = bursar.clock.at;
    let rounds = 0;
    for (let n = 0; (await spent(bursar))[0] === 0 && n < 20; n += 1) {
      rounds = n;
      bursar.clock.at += 45_000;
      const hour = NOW - (n + 1) * HOUR;
      await bursar.take([metered(`m${n}`, { start: hour, end: hour + HOUR })], { source: 'meter' });
      await bursar.take([billed(`b${n}`, '7.00', { account: `other-${n}`, start: hour, end: hour + HOUR }, NOVEMBER)], {
        source: `bill-${n}`,
      });
      await bursar.db.query(`update work set done = wanted where stage = 'bill.settle'`);
      for (const stage of ['cost.price', 'cost.rollup']) await only(bursar, stage, 'unallocated');
      await enqueue(bursar.db, 'default', [
        { stage: 'cost.price', partition: 'unallocated', key: `unallocated/${'2026-11-20'}` },
        { stage: 'budget.weigh', partition: 'b', key: 'b/2026-11-01' },
      ]);
      await only(bursar, 'budget.weigh', 'b');
    }
    expect((await spent(bursar))[0]).toBeGreaterThan(0);
    // Held at first, and no longer than is said.
    expect(rounds).toBeGreaterThan(3);
    expect(bursar.clock.at - from).toBeLessThanOrEqual(MOST_HELD_MS + 2 * 45_000);
  });

  it('is not weighed before the usage that stands for its lines has a price', async () => {
    const bursar = await world();
    await set(bursar);
    await bursar.take([meter], { source: 'meter' });
    await bursar.take([bill], { source: 'bill' });
    await only(bursar, 'cost.rollup', 'unallocated');
    expect((await bursar.spend({})).total).toBe('1440.00');
    await bursar.runner.runPartition(
      { organisation: 'default', stage: 'budget.weigh', partition: 'b' },
      async () => true,
    );
    expect([await spent(bursar), await told(bursar)]).toEqual([[], []]);
    await bursar.runner.drain();
    expect([await spent(bursar), await told(bursar)]).toEqual([[20], []]);
  });

  it('waits for the usage of other teams too: the meter of its machine may know no team', async () => {
    const bursar = await world();
    const rules = [{ match: { namespace: 'red' }, team: 'red' }];
    await bursar.db.transaction((tx) => bursar.stores.organisations.saveRules(tx, 'default', rules, 'test'));
    await set(bursar, { team: 'red' });
    await bursar.runner.drain();
    await bursar.take([meter], { source: 'meter' });
    await bursar.take([{ ...bill, namespace: 'red' }], { source: 'bill' });
    await only(bursar, 'bill.settle', 'default');
    await only(bursar, 'cost.rollup', 'red');
    await bursar.runner.runPartition(
      { organisation: 'default', stage: 'budget.weigh', partition: 'b' },
      async () => true,
    );
    expect([await spent(bursar), await told(bursar)]).toEqual([[0], []]);
    await bursar.runner.drain();
    expect([await spent(bursar), await told(bursar)]).toEqual([[0], []]);
  });

  it('waits for as long whoever evaluates it: another worker may have done so last', async () => {
    const bursar = await world();
    const { db, stores, clock } = bursar;
    const worker = () => new Runner(db, stores.work, clock, [evaluateBudgetStage(stores)]);
    const [first, second] = [worker(), worker()];
    const partition = { organisation: 'default', stage: 'budget.weigh', partition: 'b' };
    const evaluate = (by: Runner): Promise<number> => by.runPartition(partition, async () => true);
    await set(bursar);
    await bursar.take([meter], { source: 'meter' });
    await bursar.take([bill], { source: 'bill' });
    await only(bursar, 'cost.rollup', 'unallocated');
    await evaluate(first);
    expect(await spent(bursar)).toEqual([]);
    for (let n = 0; n < 5; n += 1)
      for (const { stage, partition: name } of await stores.work.duePartitions(clock.at))
        if (stage !== 'budget.weigh') await only(bursar, stage, name);
    clock.at += 2000;
    await evaluate(second);
    expect(await spent(bursar)).toEqual([20]);
    await bursar.runner.drain();
    clock.at += HOUR;
    const early = { start: NOW - 20 * HOUR, end: NOW - 10 * HOUR };
    await bursar.take([metered('more', { ...early, resource: 'i-2' })], { source: 'meter' });
    await bursar.take([billed('two', '1440.00', { ...early, resource: 'i-2', account: 'other' }, NOVEMBER)], {
      source: 'bill-two',
    });
    await only(bursar, 'cost.rollup', 'unallocated');
    await evaluate(first);
    expect([await spent(bursar), await told(bursar)]).toEqual([[20], []]);
  });

  it('is put back for a while, and keeps no worker of the queue busy', async () => {
    const bursar = await world();
    await set(bursar);
    await bursar.take([meter], { source: 'meter' });
    await bursar.take([bill], { source: 'bill' });
    await only(bursar, 'cost.rollup', 'unallocated');
    // As the queue does its job: until nothing of the partition is due.
    const partition = { organisation: 'default', stage: 'budget.weigh', partition: 'b' };
    expect(await bursar.runner.runPartition(partition, async (done) => done > 5)).toBe(1);
    expect((await bursar.stores.work.duePartitions(NOW)).filter(({ stage }) => stage === 'budget.weigh')).toEqual([]);
    bursar.clock.at += 2000;
    await bursar.runner.drain();
    expect([await spent(bursar), await told(bursar)]).toEqual([[20], []]);
  });

  it('is weighed all the same when that takes too long, or has failed', async () => {
    const bursar = await world();
    await bursar.take([meter], { source: 'meter' });
    await bursar.take([bill], { source: 'bill' });
    await only(bursar, 'cost.rollup', 'unallocated');
    await set(bursar);
    bursar.clock.at += MOST_HELD_MS;
    await only(bursar, 'budget.weigh', 'b');
    expect(await spent(bursar)).toEqual([1440]);
    bursar.clock.at = NOW;
    await bursar.db.query(`update work set attempts = 1 where stage <> 'budget.weigh'`);
    await set(bursar, { planned: { default: '2000', periods: {} } });
    await only(bursar, 'budget.weigh', 'b');
    expect((await bursar.stores.budgets.states('default', NOW, 'b'))[0]?.state).toMatchObject({
      planned: '2000.000000000',
      spent: '1440.000000000',
    });
  });
});

describe('a threshold that is reached no more when somebody is to be told', () => {
  const sent: string[] = [];
  const outcomes: ('told' | 'not-sent')[] = [];
  const channel: ChannelConnection = {
    name: 'log',
    leastPauseMs: 0,
    whenUnknown: 'leave',
    threads: false,
    pictures: 'none',
    async send({ message }: Notification) {
      if (outcomes.shift() === 'not-sent') return { kind: 'not-sent', detail: 'not there' };
      sent.push(JSON.stringify(message));
      return { kind: 'sent', reference: null };
    },
  };
  const look = async (bursar: TestBursar): Promise<void> => {
    await enqueue(bursar.db, 'default', [MAKE_ITEM]);
    await bursar.runner.drain();
  };
  const states = async (bursar: TestBursar): Promise<string[]> =>
    (await bursar.stores.alerts.list('default', {}, null, 10)).map(({ alert }) => `${alert.state} ${alert.silence}`);

  it('is as if it had not been crossed, and is told once it is reached in truth', async () => {
    const bursar = await world(new Map([['log', channel]]));
    await set(bursar);
    await bursar.take([bill], { source: 'bill' });
    await bursar.runner.drain();
    expect(await told(bursar)).toEqual(['actual:0.8 #1']);
    await bursar.take([meter], { source: 'meter' });
    await bursar.runner.drain();
    await look(bursar);
    expect([await spent(bursar), await told(bursar), sent, await states(bursar)]).toEqual([[20], [], [], []]);
    await bursar.take(
      [billed('support', '880.00', { sku: 'support', account: 'a2', start: START, end: END }, NOVEMBER)],
      { source: 'support' },
    );
    await bursar.runner.drain();
    await look(bursar);
    expect([await spent(bursar), await told(bursar)]).toEqual([[900], ['actual:0.8 #1']]);
    expect(sent.splice(0).map((text) => text.includes('900.00'))).toEqual([true]);
  });

  it('is not sent of a budget that was removed, and made anew with less spent', async () => {
    const bursar = await world(new Map([['log', channel]]));
    await set(bursar);
    await bursar.take([bill], { source: 'bill' });
    await bursar.runner.drain();
    await bursar.db.transaction((tx) => bursar.stores.budgets.remove(tx, 'default', 'b'));
    await bursar.take([meter], { source: 'meter' });
    await bursar.runner.drain();
    await set(bursar);
    // A look before it is weighed waits for that.
    await enqueue(bursar.db, 'default', [MAKE_ITEM]);
    await only(bursar, 'alert.make', 'alerts');
    expect(await states(bursar)).toEqual([]);
    await bursar.runner.drain();
    await look(bursar);
    expect([await told(bursar), sent, await states(bursar)]).toEqual([[], [], []]);
  });

  it('is dropped where a place could not be told in time, and states what is so where it can', async () => {
    const bursar = await world(new Map([['log', channel]]));
    await set(bursar);
    await bursar.take([bill], { source: 'bill' });
    await bursar.runner.drain();
    outcomes.push('not-sent');
    await look(bursar);
    expect(await states(bursar)).toEqual(['told null']);
    await bursar.take([meter], { source: 'meter' });
    await bursar.runner.drain();
    bursar.clock.at += HOUR;
    await bursar.runner.drain();
    expect([sent, await states(bursar)]).toEqual([[], ['silent passed']]);
    outcomes.push('not-sent');
    await bursar.take(
      [billed('support', '880.00', { sku: 'support', account: 'a2', start: START, end: END }, NOVEMBER)],
      { source: 'support' },
    );
    await bursar.runner.drain();
    await look(bursar);
    expect(await told(bursar)).toEqual(['actual:0.8 #1', 'actual:0.8 #2']);
    await bursar.take([billed('more', '50.00', { sku: 'tax', account: 'a3', start: START, end: END }, NOVEMBER)], {
      source: 'tax',
    });
    await bursar.runner.drain();
    bursar.clock.at += HOUR;
    await bursar.runner.drain();
    expect(sent.map((text) => text.includes('950.00'))).toEqual([true]);
  });
});
