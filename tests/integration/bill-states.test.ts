/**
 * Which rows count in `actual`: by the state of the bill, by the accounts and days that it reaches, and by what a meter
 * stands for. The table is in docs/explanation/reconciliation.md.
 */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountKey } from '../../src/core/bill/counting.js';
import { parseSpendQuery } from '../../src/core/cost/spend-query.js';
import { undoImport, type UndoneImport } from '../../src/store/usage/undo.js';
import { enqueue as enqueueWork } from '../../src/store/work.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';

const DAY = 24 * HOUR;
/** October's bills settle until the 11th of November, November's until the 11th of December. */
const SETTLED = Date.UTC(2026, 10, 21);
const SETTLING = Date.UTC(2026, 10, 5);
const NOVEMBER = { periodStart: Date.UTC(2026, 10, 1), periodEnd: Date.UTC(2026, 11, 1) };
const november = (day: number) => ({ start: Date.UTC(2026, 10, day), end: Date.UTC(2026, 10, day) + HOUR });

/** 10 USD per instance-hour. */
async function world(now = SETTLED): Promise<TestBursar> {
  const bursar = await testBursar({ now, settlingDays: 10 });
  await bursar.setPrices([instancePrice('10')]);
  return bursar;
}

async function actual(bursar: TestBursar): Promise<string> {
  await bursar.runner.drain();
  return ((await bursar.spend({})).total ?? '').replace(/\.0+$/, '');
}

async function states(bursar: TestBursar): Promise<string[]> {
  const { db, counting } = bursar.stores;
  const bills = await counting.bills(db, 'default', parseSpendQuery({}), bursar.clock.at);
  return bills.map(({ account, state, finalAt }) => `${account} ${state} ${finalAt?.slice(0, 10) ?? '-'}`);
}

/** Takes the last import back. */
async function undoLast(bursar: TestBursar): Promise<UndoneImport> {
  const [last] = await bursar.db.query<{ id: string }>(`select max(id)::text as id from import`);
  return bursar.db.transaction((tx) =>
    undoImport(bursar.stores, tx, 'default', last?.id ?? '', 'test', bursar.clock.at),
  );
}

it('tells an account by the same key in the database as in core, however it is spelled', async () => {
  const { db } = await testBursar({ now: SETTLED });
  const part = fc.stringMatching(/^[ 0]{0,2}[0-9a-fA-F/-]{0,9} ?$/);
  const path = fc.constantFrom(
    '',
    '/subscriptions/',
    '/Subscriptions/a/x/',
    '/providers/Microsoft.Billing/billingAccounts/',
  );
  const names = fc.sample(
    fc.tuple(path, part).map((parts) => parts.join('')),
    2000,
  );
  names.push('007', '0', '000', '', '/subscriptions', 'a/b', '/other/A');
  const rows = await db.query<{ name: string; key: string }>(
    `select name, account_key(name) as key from unnest($1::text[]) name`,
    [names],
  );
  expect(rows.length).toBe(names.length);
  expect(rows.filter(({ name, key }) => accountKey(name) !== key)).toEqual([]);
  expect(new Set(rows.map(({ key }) => key)).size).toBeLessThan(new Set(names).size);
});

describe('a metered account that is a sub-account of a bill', () => {
  const linked = { account: 'payer', subAccount: 'linked' };

  it("is that bill's, in actual, in the comparison and in what it teaches, in every order", async () => {
    for (const order of ['meter first', 'bill first']) {
      const bursar = await world();
      const days = Array.from({ length: 10 }, (_, n) => ({ start: MONDAY + n * DAY, end: MONDAY + n * DAY + HOUR }));
      const takeMeter = () =>
        bursar.take(
          days.map((day, n) => metered(`m${n}`, { ...day, account: 'linked' })),
          { source: 'meter' },
        );
      const takeBill = () =>
        bursar.take(
          days.map((day, n) => billed(`b${n}`, '4', { ...day, ...linked, gpuParts: 56_000 })),
          { source: 'cur' },
        );
      for (const take of order === 'meter first' ? [takeMeter, takeBill] : [takeBill, takeMeter]) {
        await take();
        await bursar.runner.drain();
      }
      expect([order, await actual(bursar)]).toEqual([order, '40']);
      const { rows } = await bursar.stores.variances
        .list('default', { month: '2026-10' }, null, 100)
        .then((list) => ({ rows: list.map(({ account, accrued, compared }) => [account, accrued, compared]) }));
      expect(rows).toEqual(days.map(() => ['payer', '10.000000000', '4']));
      const rates = await bursar.stores.learnedRates.list(bursar.db, 'default', null, 10);
      expect(rates).toMatchObject([{ account: 'linked', ratio: '0.400000' }]);
    }
  });

  it('is of no bill that does not name it', async () => {
    const bursar = await world();
    await bursar.take([metered('m', { account: 'linked' }), metered('n', { account: 'other' })], { source: 'meter' });
    await bursar.take([billed('b', '7', linked)], { source: 'cur' });
    expect(await actual(bursar)).toBe('17');
  });
});

describe('a bill that is not final', () => {
  it('counts at once but for what a meter stands for', async () => {
    const bursar = await world();
    await bursar.take(
      [
        billed('machine', '7', november(5), NOVEMBER),
        billed('other machine', '50', { ...november(5), sku: 'p4d.24xlarge' }, NOVEMBER),
        billed('other day', '60', november(6), NOVEMBER),
        billed('elsewhere', '70', { ...november(5), region: 'eu-west-1' }, NOVEMBER),
        billed('spot', '80', { ...november(5), term: 'spot' }, NOVEMBER),
        billed('storage', '30000', { start: NOVEMBER.periodStart, end: NOVEMBER.periodEnd, sku: 'gp3' }, NOVEMBER),
        billed('tax', '1000', { ...november(5) }, { ...NOVEMBER, category: 'Tax' }),
      ],
      { source: 'cur' },
    );
    expect(await actual(bursar)).toBe('31267');
    await bursar.take([metered('m', november(5))], { source: 'meter' });
    expect([await actual(bursar), await states(bursar)]).toEqual(['31270', ['a1 open -']]);
  });

  it('is hidden by no meter of another time, and by none without a price', async () => {
    const bursar = await world();
    const january = { start: Date.UTC(2026, 0, 5), end: Date.UTC(2026, 0, 5) + HOUR };
    await bursar.take([billed('b', '7', november(5), NOVEMBER)], { source: 'cur' });
    await bursar.take([metered('m', january)], { source: 'meter' });
    expect(await actual(bursar)).toBe('17');
    await bursar.take([billed('c', '5', { ...november(5), sku: 'x1.new' }, NOVEMBER)], { source: 'cur' });
    await bursar.take([metered('n', { ...november(5), sku: 'x1.new' })], { source: 'meter' });
    expect(await actual(bursar)).toBe('15');
  });

  it('is set aside whole where a line of it spans the month, and across teams', async () => {
    const bursar = await world();
    await bursar.db.transaction((tx) =>
      bursar.stores.organisations.saveRules(
        tx,
        'default',
        [{ match: { label: { key: 'team', value: 'red' } }, team: 'red' }],
        'test',
      ),
    );
    const month = { start: NOVEMBER.periodStart, end: NOVEMBER.periodEnd };
    await bursar.take([billed('b', '900', month, NOVEMBER)], { source: 'cur' });
    expect(await actual(bursar)).toBe('900');
    await bursar.take([metered('m', { ...november(9), tags: { team: 'red' } })], { source: 'meter' });
    expect(await actual(bursar)).toBe('10');
  });

  it('knows a price id by the resource that both name', async () => {
    const bursar = await world();
    await bursar.take([metered('m', { ...november(5), resource: 'i-1' })], { source: 'meter' });
    await bursar.take([billed('b', '7', { ...november(5), resource: 'i-1', sku: 'HB5V2X8K' }, NOVEMBER)], {
      source: 'cur',
    });
    expect(await actual(bursar)).toBe('10');
  });
});

describe('of machines of one SKU, while the bill is not final,', () => {
  const one = { ...november(5), resource: 'i-1' };
  const other = { ...november(5), resource: 'i-2' };
  const bothBilled = [billed('b1', '7', one, NOVEMBER), billed('b2', '8', other, NOVEMBER)];

  it('the one that nobody meters counts at once, in every order', async () => {
    for (const order of ['meter first', 'bill first']) {
      const bursar = await world();
      const takes = [
        () => bursar.take([metered('m', one)], { source: 'meter' }),
        () => bursar.take(bothBilled, { source: 'cur' }),
      ];
      for (const take of order === 'meter first' ? takes : takes.reverse()) {
        await take();
        await bursar.runner.drain();
      }
      expect([order, await actual(bursar)]).toEqual([order, '18']);
      await bursar.take([metered('n', other)], { source: 'late meter' });
      expect([order, await actual(bursar)]).toEqual([order, '20']);
      bursar.clock.at = Date.UTC(2026, 11, 12);
      await bursar.take(bothBilled, { source: 'cur' });
      expect([order, await actual(bursar), await states(bursar)]).toEqual([order, '15', ['a1 final -']]);
    }
  });

  it('and of a month’s line, and of one that no longer is metered', async () => {
    const bursar = await world();
    const month = { start: NOVEMBER.periodStart, end: NOVEMBER.periodEnd };
    const lines = ['i-1', 'i-2', 'i-3'].map((resource, n) =>
      billed(`b${n}`, `${n + 1}00`, { ...month, resource }, NOVEMBER),
    );
    await bursar.take(lines, { source: 'cur' });
    await bursar.take([metered('m', one)], { source: 'meter' });
    expect(await actual(bursar)).toBe('510');
    await bursar.take([metered('n', { ...other, ...november(6) })], { source: 'other meter' });
    expect(await actual(bursar)).toBe('320');
    await undoLast(bursar);
    expect(await actual(bursar)).toBe('510');
  });

  it('all are set aside where a meter names none, or calls them otherwise than the bill', async () => {
    for (const resource of [null, 'pod-1']) {
      const bursar = await world();
      await bursar.take([metered('m', { ...november(5), resource })], { source: 'meter' });
      await bursar.take(bothBilled, { source: 'cur' });
      expect([resource, await actual(bursar)]).toEqual([resource, '10']);
    }
  });
});

describe('a bill becomes final', () => {
  it('by time alone, which enqueues the roll-up by itself', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m')], { source: 'meter' });
    await bursar.take([billed('b', '7')], { source: 'cur' });
    expect([await actual(bursar), await states(bursar)]).toEqual(['10', ['a1 settling 2026-11-11']]);
    bursar.clock.at = Date.UTC(2026, 10, 11);
    expect([await actual(bursar), await states(bursar)]).toEqual(['7', ['a1 final -']]);
  });

  it('sooner by its provider’s own setting', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m')], { source: 'meter' });
    await bursar.take([billed('b', '7')], { source: 'cur' });
    expect(await actual(bursar)).toBe('10');
    const { enqueue } = await import('../../src/store/work.js');
    await bursar.db.transaction(async (tx) =>
      enqueue(
        tx,
        'default',
        await bursar.stores.counting.saveSettling(tx, 'default', { days: 10, providers: { AWS: 3 } }),
      ),
    );
    expect(await actual(bursar)).toBe('7');
  });

  it('by its source: when every line that charges something is on an invoice', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m')], { source: 'meter' });
    const draft = billed('c', '2', { start: MONDAY + HOUR, end: MONDAY + 2 * HOUR });
    await bursar.take([billed('b', '7', {}, { isFinal: true }), draft], { source: 'cur' });
    expect(await actual(bursar)).toBe('10');
    const free = billed('c', '0', { start: MONDAY + HOUR, end: MONDAY + 2 * HOUR });
    await bursar.take([billed('b', '7', {}, { isFinal: true }), free], { source: 'cur' });
    expect(await actual(bursar)).toBe('7');
  });

  it('for the days that it reaches: the accrual of the others stays', async () => {
    const bursar = await world();
    const day = (n: number) => ({ start: MONDAY + n * DAY, end: MONDAY + n * DAY + HOUR });
    await bursar.take(
      [0, 1, 2].map((n) => metered(`m${n}`, day(n))),
      { source: 'meter' },
    );
    await bursar.take(
      [0, 2].map((n) => billed(`b${n}`, '7', day(n))),
      { source: 'cur' },
    );
    expect([await actual(bursar), await states(bursar)]).toEqual(['24', ['a1 final -']]);
  });

  it('never without usage lines, with rows that could not be read, or delivered before its period was over', async () => {
    const bursar = await world();
    await bursar.take([metered('m')], { source: 'meter' });
    await bursar.take([billed('tax', '7', {}, { category: 'Tax', isFinal: true })], { source: 'cur' });
    expect([await actual(bursar), await states(bursar)]).toEqual(['17', ['a1 settling -']]);
    const reject = { line: 2, column: null, reason: 'bad', raw: '' };
    await bursar.take([billed('b', '7')], { source: 'cur', strict: false }, [reject]);
    expect([await actual(bursar), await states(bursar)]).toEqual(['10', ['a1 settling -']]);
    await bursar.take([billed('b', '7')], { source: 'cur' });
    expect([await actual(bursar), await states(bursar)]).toEqual(['7', ['a1 final -']]);

    const early = await world(Date.UTC(2026, 9, 20));
    await early.take([metered('m')], { source: 'meter' });
    await early.take([billed('b', '7')], { source: 'cur' });
    early.clock.at = SETTLED;
    expect([await actual(early), await states(early)]).toEqual(['10', ['a1 settling -']]);
    await early.take([billed('b', '7')], { source: 'cur' });
    expect(await actual(early)).toBe('7');
  });

  it('and then says of no hour that it has no price', async () => {
    const bursar = await world();
    await bursar.take([metered('m', { sku: 'x1.new' })], { source: 'meter' });
    await bursar.runner.drain();
    expect(await bursar.spend({})).toMatchObject({ total: null, unpricedQuantity: '8.000000' });
    await bursar.take([billed('b', '7', { sku: 'x1.new' })], { source: 'cur' });
    expect(await actual(bursar)).toBe('7');
    expect(await bursar.spend({})).toMatchObject({ unpricedQuantity: '0.000000' });
    expect(await bursar.spend({ basis: 'accrued' })).toMatchObject({ unpricedQuantity: '8.000000' });
  });
});

describe('one bill from two sources', () => {
  it('is refused by the name of the first, and replaced on request', async () => {
    const bursar = await world();
    await bursar.take([billed('b', '7')], { source: 'cur' });
    await expect(bursar.take([billed('f', '7')], { source: 'focus' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/bill of AWS account a1 from 2026-10-01 to 2026-11-01 came from the source "cur"/),
    });
    expect(await actual(bursar)).toBe('7');
    await bursar.take([billed('f', '8')], { source: 'focus', replace: true });
    expect([await actual(bursar), await states(bursar)]).toEqual(['8', ['a1 final -']]);
  });

  it.each([
    ['another spelling of the account', { account: '/providers/Microsoft.Billing/billingAccounts/A1' }, {}],
    [
      'a period that is stated in another zone',
      {},
      { periodStart: Date.UTC(2026, 8, 30, 16), periodEnd: Date.UTC(2026, 9, 31, 16) },
    ],
    ['an account that the payer names', { account: 's1' }, {}],
  ])('is one with %s', async (_, over, charge) => {
    const bursar = await world();
    await bursar.take([billed('b', '7', { subAccount: 's1' })], { source: 'cur' });
    const source = 'periodStart' in charge ? 'cur' : 'focus';
    await expect(bursar.take([billed('f', '7', over, charge)], { source })).rejects.toMatchObject({ kind: 'conflict' });
    expect(await actual(bursar)).toBe('7');
    await bursar.take([billed('f', '8', over, charge)], { source, replace: true });
    expect(await actual(bursar)).toBe('8');
  });

  it('is two bills of one payer where they name none of the same sub-accounts', async () => {
    const bursar = await world();
    await bursar.take([billed('b', '7', { subAccount: 's1' })], { source: 'member-1' });
    await bursar.take([billed('f', '8', { subAccount: 's2' })], { source: 'member-2' });
    expect(await actual(bursar)).toBe('15');
  });
});

describe('a line outside of its period', () => {
  /** The bill of November says late what October's last day cost. */
  const late = (over: { readonly isFinal?: boolean } = {}) => [
    billed(
      'late',
      '4',
      { start: Date.UTC(2026, 9, 31), end: Date.UTC(2026, 10, 1), gpuParts: 56_000 },
      { ...NOVEMBER, ...over },
    ),
    billed(
      'own',
      '9',
      { start: Date.UTC(2026, 10, 3), end: Date.UTC(2026, 10, 4), sku: 'b' },
      { ...NOVEMBER, ...over },
    ),
  ];
  /** November is over, and its bill has not settled. */
  const AFTER = Date.UTC(2026, 11, 2);
  const meter = metered('m', { start: Date.UTC(2026, 9, 31), end: Date.UTC(2026, 9, 31) + HOUR / 2 });

  it('stands in for the metered hours that it is for when the bill is final, and not beside them before', async () => {
    for (const order of ['meter first', 'bill first']) {
      const bursar = await world(AFTER);
      const takes = [
        () => bursar.take([meter], { source: 'meter' }),
        () => bursar.take(late(), { source: 'cur' }),
      ] as const;
      for (const take of order === 'meter first' ? takes : [takes[1], takes[0]]) {
        await take();
        await bursar.runner.drain();
      }
      expect([order, await actual(bursar)]).toEqual([order, '14']);
      await bursar.take(
        [...late({ isFinal: true }), billed('tax', '100', {}, { ...NOVEMBER, category: 'Tax', isFinal: true })],
        { source: 'cur' },
      );
      // With the tax: no metered hour beside the 4 and the 9.
      expect([order, await actual(bursar)]).toEqual([order, '113']);
      await undoLast(bursar);
      expect([order, await actual(bursar)]).toEqual([order, '14']);
    }
  });

  it('does so beside a final bill of its own period that does not reach the day', async () => {
    const bursar = await world(AFTER);
    await bursar.take([meter], { source: 'meter' });
    await bursar.take([billed('b', '100', { sku: 'b' }), ...late({ isFinal: true })], { source: 'cur' });
    expect(await actual(bursar)).toBe('113');
  });

  it('leaves the metered hours of a month without a bill, but those of the GPUs that it is for', async () => {
    const bursar = await world(AFTER);
    const day = Date.UTC(2026, 9, 31);
    await bursar.take([metered('m', { start: day, end: day + 24 * HOUR })], { source: 'meter' });
    const over = { ...NOVEMBER, isFinal: true };
    const storage = billed('s3', '5', { start: day, end: day + 24 * HOUR, sku: 's3' }, over);
    await bursar.take([storage], { source: 'cur' });
    expect(await actual(bursar)).toBe('245');
    const gpus = { start: day + 22 * HOUR, end: day + 23 * HOUR, gpuParts: 56_000 };
    await bursar.take([storage, billed('late', '7', gpus, over)], { source: 'cur' });
    expect(await actual(bursar)).toBe('242');
  });

  it('leaves the metered hours of days that are paid ahead', async () => {
    const bursar = await world();
    const ahead = { start: Date.UTC(2026, 9, 20), end: Date.UTC(2026, 10, 20) };
    await bursar.take([billed('ahead', '100', { ...ahead, sku: 'b' }, { isFinal: true })], { source: 'cur' });
    await bursar.take([metered('in it', { start: ahead.start, end: ahead.start + HOUR })], { source: 'meter' });
    await bursar.take([metered('after it', november(5))], { source: 'meter' });
    expect(await actual(bursar)).toBe('110');
  });
});

describe('bills of one payer in parts, of which one is final', () => {
  const [first, second] = [
    billed('f', '7', { account: 'payer', subAccount: 's1' }, { isFinal: true }),
    billed('o', '4', { account: 'payer', subAccount: 's2' }),
  ];

  it('leave each the metered hours of its own sub-accounts', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m', { account: 's1' }), metered('n', { account: 's2' })], { source: 'meter' });
    await bursar.take([first], { source: 'member-1' });
    await bursar.take([second], { source: 'member-2' });
    // The open part's line is set aside for its meter.
    expect([await actual(bursar), await states(bursar)]).toEqual([
      '17',
      ['payer final -', 'payer settling 2026-11-11'],
    ]);
    await bursar.take([{ ...second, charge: { ...second.charge!, isFinal: true } }], { source: 'member-2' });
    expect(await actual(bursar)).toBe('11');
  });

  it('count both where the metered hours name no sub-account, and the final one stands in for them', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m', { account: 'payer' })], { source: 'meter' });
    await bursar.take([second], { source: 'member-2' });
    expect(await actual(bursar)).toBe('10');
    await bursar.take([first], { source: 'member-1' });
    expect(await actual(bursar)).toBe('11');
  });
});

describe('an import of bills that is taken back', () => {
  it('gives the other source’s bill back that it replaced, with its state and whose usage it meets', async () => {
    const bursar = await world();
    const linked = { account: 'payer', subAccount: 'linked' };
    await bursar.take([metered('m', { account: 'linked' }), metered('n', { account: 'other' })], { source: 'meter' });
    await bursar.take([billed('b', '7', linked)], { source: 'cur' });
    expect(await actual(bursar)).toBe('17');
    const names = { account: 'payer', subAccount: 'other' };
    await bursar.take([billed('f', '1', { ...linked, sku: 'gp3' }), billed('g', '8', names)], {
      source: 'focus',
      replace: true,
    });
    expect([await actual(bursar), await states(bursar)]).toEqual(['9', ['payer final -']]);
    expect((await undoLast(bursar)).restored).toMatchObject([{ account: 'payer', records: 1 }]);
    expect([await actual(bursar), await states(bursar)]).toEqual(['17', ['payer final -']]);
    await expect(bursar.take([billed('f', '8', linked)], { source: 'focus' })).rejects.toThrow('the source "cur"');
    await bursar.take([billed('b', '6', linked)], { source: 'cur' });
    expect(await actual(bursar)).toBe('16');
    await undoLast(bursar);
    expect(await actual(bursar)).toBe('17');
  });

  it('leaves the state that the restored bill has by now', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m')], { source: 'meter' });
    await bursar.take([billed('b', '7')], { source: 'cur' });
    await bursar.take([billed('b', '8', {}, { isFinal: true })], { source: 'cur' });
    expect([await actual(bursar), await states(bursar)]).toEqual(['8', ['a1 final -']]);
    await undoLast(bursar);
    expect([await actual(bursar), await states(bursar)]).toEqual(['10', ['a1 settling 2026-11-11']]);
    await bursar.take([billed('b', '8', {}, { isFinal: true })], { source: 'cur' });
    bursar.clock.at = SETTLED;
    await undoLast(bursar);
    expect([await actual(bursar), await states(bursar)]).toEqual(['7', ['a1 final -']]);
  });

  it('is refused where the bill before it is no longer kept, and changes nothing then', async () => {
    const bursar = await world();
    for (let n = 0; n <= 6; n++) await bursar.take([billed('b', `${n + 1}`)], { source: 'cur' });
    const imports = await bursar.db.query<{ id: string }>(`select id::text as id from import order by import.id desc`);
    const undo = (id = '') =>
      bursar.db.transaction((tx) => undoImport(bursar.stores, tx, 'default', id, 'test', bursar.clock.at));
    for (const [at, { id }] of imports.slice(0, 5).entries()) {
      await undo(id);
      expect(await actual(bursar)).toBe(`${6 - at}`);
    }
    await expect(undo(imports[5]?.id)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('no longer kept'),
    });
    expect(await actual(bursar)).toBe('2');
  });
});

describe('a restated bill', () => {
  it('that lost an account takes back what came together with it, and leaves what came alone', async () => {
    const bursar = await world();
    await bursar.take([metered('m', { account: 'a2' })], { source: 'meter' });
    await bursar.take([billed('x', '1', { account: 'a3' })], { source: 'bills' });
    await bursar.take([billed('b', '7'), billed('c', '20', { account: 'a2' })], { source: 'bills' });
    expect(await actual(bursar)).toBe('28');
    await bursar.take([billed('b', '7')], { source: 'bills' });
    expect(await actual(bursar)).toBe('18');
  });
});

describe('a final bill', () => {
  it('is none while its period runs, whatever its lines say', async () => {
    const bursar = await world(Date.UTC(2026, 9, 20));
    await bursar.take([metered('m')], { source: 'meter' });
    await bursar.take([billed('disk', '5', { sku: 'disk' }, { isFinal: true })], { source: 'cur' });
    expect([await actual(bursar), await states(bursar)]).toEqual(['15', ['a1 open -']]);
  });

  it('stands in for nothing where it only gives back', async () => {
    const bursar = await world();
    await bursar.take([metered('m')], { source: 'meter' });
    await bursar.take([billed('back', '-1', { sku: 'disk' }, { isFinal: true })], { source: 'cur' });
    expect(await actual(bursar)).toBe('9');
  });

  it.each([
    ['/subscriptions/AB-1', 'ab-1'],
    ['012345678901', '12345678901'],
  ])('whose sub-account is spelled %s is that of a meter of %s, before and after', async (spelled, account) => {
    const bursar = await world(Date.UTC(2026, 9, 20));
    await bursar.take([metered('m', { account })], { source: 'meter' });
    await bursar.take([billed('b', '7', { subAccount: spelled })], { source: 'cur' });
    expect(await actual(bursar)).toBe('10');
    bursar.clock.at = SETTLED;
    await bursar.take([billed('b', '7', { subAccount: spelled })], { source: 'cur' });
    expect(await actual(bursar)).toBe('7');
  });
});

describe('a bill that came once more as it was', () => {
  const OCTOBER_LINES = [
    billed('use', '500.00'),
    billed('support', '70.00', { sku: 'support' }, { category: 'Purchase' }),
  ];
  const sure = OCTOBER_LINES.map((one): typeof one => ({
    ...one,
    charge: one.charge && { ...one.charge, isFinal: true },
  }));
  const send = (bursar: TestBursar, lines: typeof sure) => bursar.take(lines, { source: 'bill' });

  it('is known as before when the import that made it final is undone', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m1')], { source: 'meter' });
    await send(bursar, OCTOBER_LINES);
    const before = [await actual(bursar), await states(bursar)];
    expect(before).toEqual(['80', ['a1 settling 2026-11-11']]);
    await send(bursar, sure);
    expect([await actual(bursar), await states(bursar)]).toEqual(['570', ['a1 final -']]);
    await undoLast(bursar);
    expect([await actual(bursar), await states(bursar)]).toEqual(before);
  });

  it('stays as the later of two such imports said, and goes back by both', async () => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m1')], { source: 'meter' });
    await send(bursar, OCTOBER_LINES);
    const before = [await actual(bursar), await states(bursar)];
    await send(bursar, OCTOBER_LINES);
    const [middle] = await bursar.db.query<{ id: string }>(`select max(id)::text as id from import`);
    await send(bursar, sure);
    const undo = (id: string): Promise<UndoneImport> =>
      bursar.db.transaction((tx) => undoImport(bursar.stores, tx, 'default', id, 'test', bursar.clock.at));
    await undo(middle?.id ?? '');
    expect(await states(bursar)).toEqual(['a1 final -']);
    // Replaced and brought back it is what the imports that are left said of it.
    await bursar.take([billed('use', '501.00')], { source: 'bill' });
    await undoLast(bursar);
    expect(await states(bursar)).toEqual(['a1 final -']);
    await undo(String(Number(middle?.id) + 1));
    expect([await actual(bursar), await states(bursar)]).toEqual(before);
    expect(await bursar.db.query(`select 1 from delivery_confirmed`)).toEqual([]);
  });

  it('is open again where the settling time is longer now, unless its source calls it final', async () => {
    const bursar = await world();
    await send(bursar, OCTOBER_LINES);
    await bursar.runner.drain();
    expect(await states(bursar)).toEqual(['a1 final -']);
    const settle = async (days: number): Promise<void> => {
      const workItems = await bursar.stores.counting.saveSettling(bursar.db, 'default', { days, providers: {} });
      await enqueueWork(bursar.db, 'default', workItems);
      await bursar.runner.drain();
    };
    await settle(60);
    expect(await states(bursar)).toEqual(['a1 settling 2026-12-31']);
    await settle(10);
    expect(await states(bursar)).toEqual(['a1 final -']);
    await send(bursar, sure);
    await settle(60);
    expect(await states(bursar)).toEqual(['a1 final -']);
  });
});

describe('a line of a civil day that is none of UTC', () => {
  it.each([
    // The evening of the 20th in Los Angeles, the first hours of the 21st in Beijing.
    ['west', Date.UTC(2026, 9, 1, 7), Date.UTC(2026, 10, 1, 7), Date.UTC(2026, 9, 20, 7), Date.UTC(2026, 9, 21, 1)],
    [
      'east',
      Date.UTC(2026, 8, 30, 16),
      Date.UTC(2026, 9, 31, 16),
      Date.UTC(2026, 9, 20, 16),
      Date.UTC(2026, 9, 20, 20),
    ],
  ])('%s of it is set aside by what was metered in its hours', async (_, periodStart, periodEnd, start, at) => {
    const bursar = await world(SETTLING);
    const line = billed('day', '700', { start, end: start + DAY, resource: 'i-1' }, { periodStart, periodEnd });
    const later = { ...line, id: 'later', start: start + 3 * DAY, end: start + 4 * DAY };
    await bursar.take([line, later], { source: 'bill' });
    await bursar.take([metered('m', { start: at, end: at + HOUR, resource: 'i-1' })], { source: 'meter' });
    expect(await actual(bursar)).toBe('710');
    // Of another machine, and of this one by its name: by the days of the meter.
    const other = { ...line, id: 'other', resource: 'i-2' };
    await bursar.take([line, later, other], { source: 'bill' });
    expect(await actual(bursar)).toBe('1410');
  });
});

describe('what a bill charges because of a metered machine', () => {
  const one = { resource: 'i-1' };
  const line = (id: string, amount: string, over: Parameters<typeof billed>[2]) =>
    billed(id, amount, { ...one, ...over });
  const beside = [
    line('traffic', '5000', { sku: 'DataTransfer-Out-Bytes' }),
    line('monitoring', '200', { sku: 'X1', service: 'AmazonCloudWatch' }),
    line('licence', '50', { sku: 'X2', service: 'Virtual Machines Licenses' }),
    line('software', '300', { sku: 'X3', service: 'Compute' }),
  ];
  const totals = async (...lines: Parameters<TestBursar['take']>[0]): Promise<string> => {
    const bursar = await world(SETTLING);
    await bursar.take([metered('m', one)], { source: 'meter' });
    await bursar.take(lines, { source: 'bill' });
    return actual(bursar);
  };

  it('counts at once, where the machine itself is there under the name of the meter', async () => {
    // 10 of the meter; the machine's own line of 98 waits.
    expect(await totals(line('hours', '98', { sku: 'p5.48xlarge' }), ...beside)).toBe('5560');
  });

  it('counts at once where the machine has a price id: by its GPUs, and by what the others are called', async () => {
    expect(await totals(line('hours', '98', { sku: 'JRTC', gpuModel: 'H100' }), ...beside)).toBe('5560');
    // What is called nothing that is known may be the machine.
    const [traffic, monitoring, licence] = beside;
    const named = [traffic, monitoring, licence].flatMap((known) => (known === undefined ? [] : [known]));
    expect(await totals(line('hours', '98', { sku: 'JRTC' }), ...named)).toBe('5260');
  });
});
