/**
 * Budgets on a real PostgreSQL: a threshold is crossed once per period whatever happens, and a state holds what the
 * budget covers: its tree of teams, its filters, its zone's months, its currency. Every amount here is computed by
 * hand.
 */
import { afterAll, describe, expect, it } from 'vitest';
import type { Budget } from '../../src/core/budget/budget.js';
import { parseDecimal, type Decimal } from '../../src/core/decimal.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { PeriodSchedule } from '../../src/pipeline/begin-period.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { periodLabel, type BudgetStateJson } from '../../src/store/budget/budgets.js';
import { Database } from '../../src/store/database.js';
import type { Team } from '../../src/store/access/organisation.js';
import { setBudget } from '../../src/application/budget/set-budget.js';
import { setFx } from '../../src/application/price/set-rates.js';
import { removeTeam, setTeam } from '../../src/application/access/set-team.js';
import { Stores } from '../../src/store/stores.js';
import { enqueue } from '../../src/store/work.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered } from '../support/records.js';
import { monthBudget } from '../support/makers.js';

const OCTOBER_20 = Date.UTC(2026, 9, 20);
const DAY = 24 * HOUR;

const budget = (id: string, amount: string | null, over: Partial<Budget> = {}): Budget =>
  monthBudget({
    id,
    planned: { default: amount, periods: {} },
    thresholds: [
      { kind: 'actual', ratio: '0.5' },
      { kind: 'actual', ratio: '1' },
    ],
    ...over,
  });
const team = (id: string, parent: string | null = null, over: Partial<Team> = {}): Team => ({
  id,
  name: id,
  parent,
  zone: 'UTC',
  currency: 'USD',
  assignedBy: null,
  ...over,
});
/** An hour of eight GPUs of namespace and team red, 10 USD by the price that the tests set. */
const hour = (id: string, start: number, over: Partial<UsageRecord> = {}): UsageRecord =>
  metered(id, { namespace: 'red', start, end: start + HOUR, ...over });
/** A line of October's bill of an account that nobody meters: it is the actual cost. */
const line = (
  id: string,
  amount: string,
  over: Partial<UsageRecord> = {},
  charge: Parameters<typeof billed>[3] = {},
): UsageRecord =>
  billed(
    id,
    amount,
    { namespace: 'red', account: 'bills', start: OCTOBER_20 - DAY, end: OCTOBER_20 - DAY + HOUR, ...over },
    charge,
  );
const quote = (day: string, currency: string, perUsd: string) => ({
  day,
  currency,
  perBase: parseDecimal(perUsd) as Decimal,
});

/** A database with a price of 10 USD an hour, and rules that give each namespace to the team of its name. */
async function withTeams(now: number, ...namespaces: string[]): Promise<TestBursar> {
  const bursar = await testBursar({ now });
  const { organisations } = bursar.stores;
  await bursar.setPrices([instancePrice('10.00', { minimumSeconds: 0 })]);
  await bursar.db.transaction((tx) =>
    organisations.saveRules(
      tx,
      'default',
      ['red', ...namespaces].map((name) => ({ match: { namespace: name }, team: name })),
      'test',
    ),
  );
  return bursar;
}

async function set(bursar: TestBursar, ...budgets: Budget[]): Promise<void> {
  for (const one of budgets)
    await bursar.db.transaction((tx) => setBudget(bursar.stores, tx, 'default', one, bursar.clock.now()));
  await bursar.runner.drain();
}

async function use(bursar: TestBursar, ...records: UsageRecord[]): Promise<void> {
  await bursar.take(records);
  await bursar.runner.drain();
}

/** The state in the period that holds an instant; now where none is given. */
async function stateOf(bursar: TestBursar, id: string, at = bursar.clock.now()): Promise<BudgetStateJson> {
  const [stored] = await bursar.stores.budgets.states('default', at, id);
  if (stored === undefined) throw new Error(`${id} was not evaluated`);
  return stored.state;
}

const spent = async (bursar: TestBursar, id: string, at?: number): Promise<number> =>
  Number((await stateOf(bursar, id, at)).spent);

const crossed = async (bursar: TestBursar, id: string): Promise<string[]> =>
  (await bursar.stores.budgets.crossings('default', id)).map(
    ({ periodStart, kind, ratio, crossedAt }) =>
      `${periodStart.slice(0, 7)} ${kind}:${ratio} at ${crossedAt.slice(0, 10)}`,
  );

describe('a threshold', async () => {
  const bursar = await withTeams(OCTOBER_20);

  it('is crossed once per period, with late data, another evaluation and a restart', async () => {
    await set(
      bursar,
      budget('b', '100', {
        thresholds: [
          { kind: 'actual', ratio: '0.5' },
          { kind: 'actual', ratio: '1' },
          { kind: 'forecast', ratio: '1' },
        ],
      }),
    );
    expect(await crossed(bursar, 'b')).toEqual([]);
    await use(bursar, ...[0, 1, 2, 3, 4, 5].map((n) => hour(`m${n}`, OCTOBER_20 - (n + 1) * DAY)));
    // 60 in six days, ten a day: eleven days and a day that begins are still to come.
    expect(await crossed(bursar, 'b')).toEqual([
      '2026-10 actual:0.5 at 2026-10-20',
      '2026-10 forecast:1 at 2026-10-20',
    ]);
    // Who tells of it looks at the next instant, not when it would look next anyway.
    const due = await bursar.stores.work.duePartitions(bursar.clock.at + 1);
    expect(due.map(({ stage }) => stage)).toContain('alert.make');

    bursar.clock.at += DAY;
    await use(bursar, ...[0, 1, 2, 3, 4].map((n) => hour(`late${n}`, Date.UTC(2026, 9, 2) + n * HOUR)));
    const all = [
      '2026-10 actual:0.5 at 2026-10-20',
      '2026-10 actual:1 at 2026-10-21',
      '2026-10 forecast:1 at 2026-10-20',
    ];
    expect(await crossed(bursar, 'b')).toEqual(all);

    bursar.clock.at += DAY;
    for (let n = 0; n < 3; n += 1) {
      await enqueue(bursar.db, 'default', [{ stage: 'budget.weigh', partition: 'b', key: 'b/2026-10-01' }]);
      await bursar.runner.drain();
    }
    const again = await Database.open(bursar.url, 2);
    const stores = new Stores(again);
    await enqueue(again, 'default', [{ stage: 'budget.weigh', partition: 'b', key: 'b/2026-10-01' }]);
    await new Runner(again, stores.work, bursar.clock, makeLine(stores, [])).drain();
    await again.close();
    expect(await crossed(bursar, 'b')).toEqual(all);
    expect(await spent(bursar, 'b')).toBe(110);
  });

  it('is crossed in a past period too, by data that comes late', async () => {
    await use(bursar, ...[0, 1, 2, 3, 4, 5].map((n) => hour(`september${n}`, Date.UTC(2026, 8, 29) + n * HOUR)));
    expect((await crossed(bursar, 'b')).filter((text) => text.startsWith('2026-09'))).toEqual([
      '2026-09 actual:0.5 at 2026-10-22',
    ]);
    expect((await crossed(bursar, 'b')).filter((text) => text.startsWith('2026-10'))).toHaveLength(3);
  });

  it('stays crossed where a restated bill lowers the spend, and is not crossed again when it rises', async () => {
    await set(bursar, budget('bill', '100', { filters: { sku: ['disk'] } }));
    const states: string[] = [];
    for (const amount of ['60.00', '10.00', '70.00', '120.00', '5.00', '130.00']) {
      bursar.clock.at += DAY;
      await use(bursar, line('l', amount, { sku: 'disk' }));
      states.push(`${await spent(bursar, 'bill')}: ${(await crossed(bursar, 'bill')).join(', ')}`);
    }
    const [half, whole] = ['2026-10 actual:0.5 at 2026-10-23', '2026-10 actual:1 at 2026-10-26'];
    expect(states).toEqual([
      `60: ${half}`,
      `10: ${half}`,
      `70: ${half}`,
      `120: ${half}, ${whole}`,
      `5: ${half}, ${whole}`,
      `130: ${half}, ${whole}`,
    ]);
  });

  it('of 0.80 is that of 0.8', async () => {
    await set(bursar, budget('same', '100', { thresholds: [{ kind: 'actual', ratio: '0.80' }] }));
    await set(
      bursar,
      budget('same', '100', {
        thresholds: [
          { kind: 'actual', ratio: '0.8' },
          { kind: 'actual', ratio: '0.800' },
        ],
      }),
    );
    expect(await crossed(bursar, 'same')).toHaveLength(1);
  });
});

describe('four runners at the same time', async () => {
  const bursar = await withTeams(OCTOBER_20, 'blue', 'green');
  const others = await Promise.all([1, 2, 3, 4].map(() => Database.open(bursar.url, 3)));
  afterAll(() => Promise.all(others.map((db) => db.close())));
  const found: string[] = [];
  const runners = others.map((db) => {
    const stores = new Stores(db);
    const save = stores.budgets.saveCrossings.bind(stores.budgets);
    stores.budgets.saveCrossings = async (...call) => {
      const fresh = await save(...call);
      found.push(...fresh.map(({ id }) => id));
      return fresh;
    };
    return new Runner(db, stores.work, bursar.clock, makeLine(stores, []));
  });
  const teams = ['red', 'blue', 'green'];

  it('cross each threshold once, and one of them is told', async () => {
    await bursar.db.transaction(async (tx) => {
      for (const name of teams) await bursar.stores.organisations.saveTeam(tx, 'default', team(name, null));
    });
    const budgets = teams.flatMap((name) =>
      [1, 2, 3].map((n) => budget(`${name}-${n}`, String(n * 400), { team: name })),
    );
    for (const one of budgets)
      await bursar.db.transaction((tx) => setBudget(bursar.stores, tx, 'default', one, bursar.clock.now()));
    for (let round = 0; round < 4; round += 1) {
      // Twenty hours per team and round, over August to October: 200 USD each.
      await bursar.take(
        teams.flatMap((namespace) =>
          Array.from({ length: 20 }, (_, n) =>
            hour(`${namespace}-${round}-${n}`, Date.UTC(2026, 7 + (n % 3), 5 + (n % 13)) + round * HOUR, { namespace }),
          ),
        ),
      );
      await enqueue(
        bursar.db,
        'default',
        budgets.map((one) => ({
          stage: 'budget.weigh',
          partition: one.id,
          key: `${one.id}/${periodLabel(one, OCTOBER_20)}`,
        })),
      );
      await Promise.all(runners.map((runner) => runner.drain()));
    }
    expect(await bursar.stores.work.waiting(bursar.clock.at)).toBe(0);
    expect(await bursar.stores.work.parked('default')).toEqual([]);
    // 4 x 7 hours in August and in September, 4 x 6 in October: 280, 280 and 240 USD. Planned are 400, 800 and 1200.
    for (const name of teams) {
      expect(await spent(bursar, `${name}-1`, Date.UTC(2026, 7, 31))).toBe(280);
      expect(await spent(bursar, `${name}-3`)).toBe(240);
    }
    const expected = teams.flatMap((name) =>
      ['2026-08', '2026-09', '2026-10'].map((month) => `${name}-1/${month}-01T00:00:00Z/actual/0.5`),
    );
    expect(found.map((id) => id.replace('.000Z', 'Z')).sort()).toEqual(expected.sort());
    expect(await bursar.stores.budgets.crossings('default', null)).toHaveLength(expected.length);
  });
});

describe('a plan', async () => {
  const bursar = await withTeams(OCTOBER_20);

  it('of 0 is crossed by any spend, and by none before', async () => {
    await set(bursar, budget('zero', '0'), budget('none', null));
    expect(await crossed(bursar, 'zero')).toEqual([]);
    await use(bursar, hour('unknown', OCTOBER_20 - DAY, { sku: 'x1.unheard' }));
    expect(await crossed(bursar, 'zero')).toEqual([]);
    await use(bursar, hour('m', OCTOBER_20 - DAY, { end: OCTOBER_20 - DAY + 1000 }));
    expect(await crossed(bursar, 'zero')).toEqual([
      '2026-10 actual:0.5 at 2026-10-20',
      '2026-10 actual:1 at 2026-10-20',
    ]);
    expect(await stateOf(bursar, 'zero')).toMatchObject({
      status: 'planned',
      planned: '0.000000000',
      spent: '0.002777778',
      ratio: null,
    });
  });

  it('that is absent is not planned: it crosses nothing and allows nothing', async () => {
    expect(await stateOf(bursar, 'none')).toMatchObject({ status: 'not-planned', planned: null, spent: '0.002777778' });
    expect(await crossed(bursar, 'none')).toEqual([]);
  });

  it('carries what has no price beside the spend', async () => {
    expect(await stateOf(bursar, 'zero')).toMatchObject({ unpricedGpuHours: '8.000000' });
    await bursar.setPrices([instancePrice('7.00', { sku: 'x1.unheard', minimumSeconds: 0 })]);
    await bursar.runner.drain();
    expect(await stateOf(bursar, 'zero')).toMatchObject({ unpricedGpuHours: '0.000000', spent: '7.002777778' });
  });
});

describe('a tree of teams', async () => {
  const bursar = await withTeams(OCTOBER_20, 'vision', 'robots');
  const save = (one: Team) => bursar.db.transaction((tx) => setTeam(bursar.stores, tx, 'default', one));

  it('counts in the budget of its top', async () => {
    for (const one of [team('ai'), team('red', 'ai'), team('vision', 'red'), team('robots')]) await save(one);
    await set(
      bursar,
      budget('ai', '40', { team: 'ai' }),
      budget('red', '40'),
      budget('vision', '40', { team: 'vision' }),
    );
    await use(
      bursar,
      hour('a', OCTOBER_20 - DAY),
      hour('b', OCTOBER_20 - DAY, { namespace: 'vision' }),
      hour('c', OCTOBER_20 - 2 * DAY, { namespace: 'vision' }),
      hour('d', OCTOBER_20 - DAY, { namespace: 'robots' }),
    );
    expect([await spent(bursar, 'ai'), await spent(bursar, 'red'), await spent(bursar, 'vision')]).toEqual([
      30, 30, 20,
    ]);
    expect(await crossed(bursar, 'vision')).toEqual(['2026-10 actual:0.5 at 2026-10-20']);
  });

  it('counts there from the moment on that a team is put below it, with what it spent before', async () => {
    await save(team('robots', 'ai'));
    await bursar.runner.drain();
    expect([await spent(bursar, 'ai'), await spent(bursar, 'red')]).toEqual([40, 30]);
    expect(await crossed(bursar, 'ai')).toEqual(['2026-10 actual:0.5 at 2026-10-20', '2026-10 actual:1 at 2026-10-20']);
    await save(team('vision', 'robots'));
    await bursar.runner.drain();
    expect([await spent(bursar, 'ai'), await spent(bursar, 'red'), await spent(bursar, 'vision')]).toEqual([
      40, 10, 20,
    ]);
  });

  it('counts no longer what is taken out of it, and stays crossed', async () => {
    await save(team('vision'));
    await bursar.db.transaction((tx) => removeTeam(bursar.stores, tx, 'default', 'robots'));
    await bursar.runner.drain();
    expect([await spent(bursar, 'ai'), await spent(bursar, 'red'), await spent(bursar, 'vision')]).toEqual([
      10, 10, 20,
    ]);
    expect(await crossed(bursar, 'ai')).toHaveLength(2);
  });
});

describe('filters', async () => {
  const bursar = await withTeams(OCTOBER_20);
  const at = OCTOBER_20 - DAY;

  it('by provider, SKU and term hold what they name, together and any of a list', async () => {
    await bursar.setPrices([
      instancePrice('4.00', { term: 'spot', minimumSeconds: 0 }),
      instancePrice('2.00', { sku: 'g5', minimumSeconds: 0 }),
      instancePrice('3.00', { provider: 'Google Cloud', sku: 'a2', region: 'us-central1' }),
    ]);
    await use(
      bursar,
      hour('a', at),
      hour('b', at, { term: 'spot' }),
      hour('c', at, { sku: 'g5' }),
      hour('d', at, { provider: 'Google Cloud', sku: 'a2', region: 'us-central1' }),
    );
    const filtered: [Budget['filters'], number][] = [
      [{}, 19],
      [{ provider: ['AWS'] }, 16],
      [{ provider: ['Google Cloud'] }, 3],
      [{ provider: ['AWS', 'Google Cloud'] }, 19],
      // As people write it.
      [{ provider: ['gcp'] }, 3],
      [{ sku: ['g5', 'a2'] }, 5],
      [{ term: ['spot'] }, 4],
      [{ term: ['spot', 'on-demand'], sku: ['p5.48xlarge'] }, 14],
      [{ provider: ['Google Cloud'], sku: ['g5'] }, 0],
    ];
    await set(bursar, ...filtered.map(([filters], n) => budget(`f${n}`, '100', { filters })));
    for (const [n, [filters, sum]] of filtered.entries())
      expect({ filters, spent: await spent(bursar, `f${n}`) }).toEqual({ filters, spent: sum });
    const { rows } = await bursar.spend({ groupBy: 'provider', filters: { provider: ['GCP'] } });
    expect(rows.map(({ provider, cost }) => [provider, Number(cost)])).toEqual([['Google Cloud', 3]]);
  });

  it('by a tag hold usage and bills that came before the filter was set: history is read again', async () => {
    const tagged = (project: string, more: Record<string, string> = {}) => ({ tags: { project, ...more } });
    await use(
      bursar,
      hour('t1', at + HOUR, tagged('x')),
      hour('t2', at + HOUR, tagged('y')),
      hour('t3', at + 2 * HOUR, tagged('x', { stage: 'test' })),
      line('t4', '0.25', tagged('x')),
      line('t5', '0.5', tagged('z')),
    );
    await set(bursar, budget('x', '100', { filters: { tag: [{ key: 'project', value: 'x' }] } }));
    expect(await spent(bursar, 'x')).toBe(20.25);
    await set(
      bursar,
      budget('any', '100', {
        filters: {
          tag: [
            { key: 'project', value: 'y' },
            { key: 'stage', value: 'test' },
          ],
        },
      }),
    );
    expect([await spent(bursar, 'x'), await spent(bursar, 'any'), await spent(bursar, 'f0')]).toEqual([
      20.25, 20, 49.75,
    ]);
    // What comes now is kept apart from the start.
    await use(bursar, hour('t6', at + 3 * HOUR, tagged('x')));
    expect(await spent(bursar, 'x')).toBe(30.25);
  });
});

describe('a zone', async () => {
  const bursar = await withTeams(Date.UTC(2026, 11, 2));

  it('of Shanghai begins its November at 16:00 UTC of October 31', async () => {
    await set(bursar, budget('cn', '100', { zone: 'Asia/Shanghai' }), budget('utc', '100'));
    await use(
      bursar,
      hour('before', Date.UTC(2026, 9, 31, 15)),
      hour('after', Date.UTC(2026, 9, 31, 17)),
      hour('later', Date.UTC(2026, 9, 31, 18)),
      hour('edge', Date.UTC(2026, 10, 30, 16)),
    );
    const [october, november, december] = [Date.UTC(2026, 9, 31, 15), Date.UTC(2026, 10, 15), Date.UTC(2026, 11, 1)];
    expect([
      await spent(bursar, 'cn', october),
      await spent(bursar, 'cn', november),
      await spent(bursar, 'cn', december),
    ]).toEqual([10, 20, 10]);
    expect([await spent(bursar, 'utc', october), await spent(bursar, 'utc', november)]).toEqual([30, 10]);
    const starts = (await bursar.stores.budgets.states('default', november, 'cn')).map(({ periodStart, periodEnd }) => [
      periodStart,
      periodEnd,
    ]);
    expect(starts).toEqual([['2026-10-31T16:00:00.000Z', '2026-11-30T16:00:00.000Z']]);
  });
});

describe('a period that begins', async () => {
  it('is evaluated at its begin in the zone of the budget, though nothing is used in it, and once', async () => {
    const bursar = await withTeams(Date.UTC(2026, 9, 31, 15, 59));
    const { stores, clock } = bursar;
    await set(bursar, budget('cn', '100', { zone: 'Asia/Shanghai' }), budget('utc', '100'));
    await use(bursar, hour('a', OCTOBER_20));
    const begin = async (): Promise<string[]> => {
      const begun = await stores.budgets.withoutState(stores.db, 'default', clock.now());
      await new PeriodSchedule(stores).enqueueDue(clock.now());
      await bursar.runner.drain();
      return begun.map(({ id }) => id);
    };
    expect(await begin()).toEqual([]);
    expect(await spent(bursar, 'cn')).toBe(10);
    clock.at += HOUR / 60;
    expect(await begin()).toEqual(['cn']);
    expect(await begin()).toEqual([]);
    const [cn] = await stores.budgets.states('default', clock.now(), 'cn');
    expect(cn).toMatchObject({ periodStart: '2026-10-31T16:00:00.000Z', periodEnd: '2026-11-30T16:00:00.000Z' });
    expect([await spent(bursar, 'cn'), await spent(bursar, 'utc')]).toEqual([0, 10]);
  });
});

describe('a currency', async () => {
  const bursar = await withTeams(OCTOBER_20, 'blue');
  const day = (n: number): Partial<UsageRecord> => ({ start: Date.UTC(2026, 9, n), end: Date.UTC(2026, 9, n) + HOUR });
  const rates = (...quotes: ReturnType<typeof quote>[]) =>
    bursar.db.transaction((tx) => setFx(bursar.stores, tx, 'default', quotes, 'test'));

  it('is converted by the rate of each day', async () => {
    await rates(quote('2026-10-01', 'EUR', '0.8'), quote('2026-10-10', 'EUR', '0.5'));
    await set(bursar, budget('usd', '1000'), budget('eur', '1000', { currency: 'EUR' }));
    await use(
      bursar,
      line('a', '80.00', day(5), { currency: 'EUR' }),
      line('b', '50.00', day(12), { currency: 'EUR' }),
      line('c', '10.00', day(5)),
      hour('m', Date.UTC(2026, 9, 12)),
    );
    // 80 / 0.8 + 50 / 0.5 + 10 + 10; in EUR 80 + 50 + 10 x 0.8 + 10 x 0.5.
    expect([await spent(bursar, 'usd'), await spent(bursar, 'eur')]).toEqual([220, 143]);
    expect((await stateOf(bursar, 'usd')).unconverted).toEqual([]);
  });

  it('without a rate on or before the day is named, and is in no sum', async () => {
    await use(bursar, line('y', '9000', { ...day(6), account: 'yen' }, { currency: 'JPY' }));
    expect(await stateOf(bursar, 'usd')).toMatchObject({ spent: '220.000000000', unconverted: ['JPY'] });
    await rates(quote('2026-10-07', 'JPY', '150'));
    await bursar.runner.drain();
    // The first rate came into force the day after.
    expect(await stateOf(bursar, 'usd')).toMatchObject({ spent: '220.000000000', unconverted: ['JPY'] });
  });

  it('is named only where it is of the period', async () => {
    await set(bursar, budget('november', '1000', { period: { start: '2026-10-08', lengthDays: 7 } }));
    expect(await stateOf(bursar, 'november', Date.UTC(2026, 9, 21))).toMatchObject({ unconverted: [] });
  });

  it('is converted anew when its rate comes later, though nobody metered anything', async () => {
    await rates(quote('2026-10-06', 'JPY', '150'));
    await bursar.runner.drain();
    expect(await stateOf(bursar, 'usd')).toMatchObject({ spent: '280.000000000', unconverted: [] });
  });

  it('of a team is that of its accruals: what is converted there and back is the same', async () => {
    await rates(quote('2026-01-01', 'CNY', '7.1'));
    await bursar.db.transaction((tx) => setTeam(bursar.stores, tx, 'default', team('blue', null, { currency: 'CNY' })));
    await set(
      bursar,
      budget('blue-usd', '100', { team: 'blue' }),
      budget('blue-cny', '100', { team: 'blue', currency: 'CNY' }),
    );
    await use(bursar, hour('n', Date.UTC(2026, 9, 12), { namespace: 'blue' }));
    expect([await spent(bursar, 'blue-usd'), await spent(bursar, 'blue-cny')]).toEqual([10, 71]);
  });
});

describe('credits', async () => {
  const bursar = await withTeams(OCTOBER_20);

  it('lower the spend only where the budget counts them', async () => {
    await set(bursar, budget('with', '100'), budget('without', '100', { includeCredits: false }));
    await use(bursar, line('a', '100.00'), line('credit', '-60.00', {}, { category: 'Credit' }));
    expect(await stateOf(bursar, 'with')).toMatchObject({ spent: '40.000000000', credits: '-60.000000000' });
    expect(await stateOf(bursar, 'without')).toMatchObject({ spent: '100.000000000', credits: '-60.000000000' });
    expect(await crossed(bursar, 'with')).toEqual([]);
    expect(await crossed(bursar, 'without')).toHaveLength(2);
  });
});

describe('a filter by a tag', async () => {
  const bursar = await withTeams(OCTOBER_20);

  it('holds usage of an import that was under way when the filter was set', async () => {
    const { stores, db } = bursar;
    const rules = await stores.organisations.rules(db, 'default');
    const tagged = (id: string, start: number): UsageRecord => hour(id, start, { tags: { run: 'x' } });
    // Somebody else sets the budget, beside the import's transaction and not within it.
    let begin = (): void => undefined;
    const setting = new Promise<void>((resolve) => (begin = resolve)).then(() =>
      set(bursar, budget('run', '100', { filters: { tag: [{ key: 'run', value: 'x' }] } })),
    );
    await stores.intake.import(
      {
        organisation: 'default',
        source: 'slow',
        strict: true,
        dryRun: false,
        by: 'test',
        now: bursar.clock.now(),
        teamOf: (record) => rules.teamOf(record),
        rulesVersion: rules.version,
        trackedTags: await stores.organisations.trackedTags(db, 'default'),
      },
      [
        {
          name: 'slow',
          format: 'test',
          async *batches() {
            yield { records: [tagged('s1', OCTOBER_20 - DAY)], rejects: [] };
            begin();
            await setting;
            yield { records: [tagged('s2', OCTOBER_20 - DAY + HOUR)], rejects: [] };
          },
        },
      ],
    );
    await bursar.runner.drain();
    expect(await spent(bursar, 'run')).toBe(20);
  });
});
