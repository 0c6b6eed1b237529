/** A price that was stated wrong is corrected, taken back and restored, and what it priced follows. */
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { ANY_SKU } from '../../src/core/price/price-book.js';
import type { Price } from '../../src/core/price/price.js';
import type { Queryable } from '../../src/store/database.js';
import { PriceStore } from '../../src/store/price/prices.js';
import { testApi } from '../support/web.js';
import { testCommand } from '../support/command.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { metered } from '../support/records.js';

const NOW = Date.UTC(2026, 9, 31);
const HEADER = 'provider,sku,region,term,gpus,price,currency,per,effectiveFrom\n';
const row = (price: string, from = '2026-01-01'): string =>
  `AWS,p5.48xlarge,us-east-1,on-demand,8,${price},USD,instance-hour,${from}\n`;
const USAGE = {
  id: 'r1',
  provider: 'AWS',
  sku: 'p5.48xlarge',
  region: 'us-east-1',
  term: 'on-demand',
  gpus: 8,
  start: '2026-10-05T00:00:00Z',
  end: '2026-10-05T01:00:00Z',
};

interface Listed {
  readonly prices: { readonly id: string; readonly price: { amount: string }; readonly withdrawnAt: string | null }[];
}

describe('a price that was typed wrong', async () => {
  const command = await testCommand(NOW);
  beforeEach(() => command.empty());
  const total = async (): Promise<string | null> => (await command.ask<{ total: string | null }>('costs')).total;
  const state = async (name: string, ...rows: string[]): Promise<void> => {
    await command.ask('prices', await command.file(name, HEADER + rows.join('')));
  };

  it('is corrected by a later list, upwards and downwards, and by what the first list says again', async () => {
    await command.ask('import', await command.file('usage.json', USAGE));
    await state('a.csv', row('98.32'));
    expect(await total()).toBe('98.320000000');
    await state('b.csv', row('55.04'));
    expect(await total()).toBe('55.040000000');
    await state('b.csv', row('55.04'));
    expect(await total()).toBe('55.040000000');
    await state('a.csv', row('98.32'));
    expect(await total()).toBe('98.320000000');
    await state('c.csv', row('55.04'), row('60.00'));
    expect(await total()).toBe('60.000000000');
  });

  it('is taken back and restored, which the audit tells', async () => {
    await command.ask('import', await command.file('usage.json', USAGE));
    await state('a.csv', row('55.04'));
    await state('b.csv', row('98.32'));
    const { prices } = await command.ask<Listed>('prices', 'list', '--sku', 'p5.48xlarge');
    const wrong = prices.find(({ price }) => price.amount.startsWith('98.32'))?.id ?? '';
    await command.ask('prices', 'withdraw', wrong);
    expect(await total()).toBe('55.040000000');
    // A list that states it again does not bring it back: somebody has said that it is wrong.
    await state('b.csv', row('98.32'));
    expect(await total()).toBe('55.040000000');
    await command.ask('prices', 'restore', wrong);
    expect(await total()).toBe('98.320000000');
    const { audit } = await command.ask<{ audit: { verb: string; target: string }[] }>('audit');
    expect(audit.filter(({ target }) => target === wrong).map(({ verb }) => verb)).toEqual([
      'price.restore',
      'price.withdraw',
    ]);
  });

  it('is taken back with its whole list, which leaves what was there before', async () => {
    await command.ask('import', await command.file('usage.json', USAGE));
    const importOf = async (file: string): Promise<string> => {
      const { imports } = await command.ask<{ imports: { id: string; file: string }[] }>('imports');
      return imports.find((one) => one.file === file)?.id ?? '';
    };
    const other = row('7.00').replaceAll('p5.48xlarge', 'p4d.24xlarge');
    await state('a.csv', row('55.04'));
    await state('b.csv', row('98.32'), other);
    // It says the first list's price again, which b.csv has contradicted.
    await state('c.csv', row('55.04'));
    expect(await total()).toBe('55.040000000');
    const last = await importOf('c.csv');
    const { undone } = await command.ask<{ undone: object }>('imports', 'undo', last);
    expect(undone).toMatchObject({ import: last, records: 0, prices: 1, files: [{ file: 'c.csv' }] });
    expect(await total()).toBe('98.320000000');
    await expect(command.ask('imports', 'undo', last)).rejects.toThrow('was undone already');
    const list = await importOf('b.csv');
    expect(await command.ask<{ undone: { prices: number } }>('imports', 'undo', list)).toMatchObject({
      undone: { prices: 2 },
    });
    expect(await total()).toBe('55.040000000');
    const { prices } = await command.ask<Listed>('prices', 'list', '--sku', 'p4d.24xlarge');
    expect(prices.map(({ withdrawnAt }) => withdrawnAt !== null)).toEqual([true]);
    const { audit } = await command.ask<{ audit: { verb: string; target: string }[] }>('audit');
    expect(audit.filter(({ target }) => target === list).map(({ verb }) => verb)).toEqual(['usage.undo']);
  });

  it('leaves with its list what a later list has stated since', async () => {
    await command.ask('import', await command.file('usage.json', USAGE));
    await state('a.csv', row('98.32'));
    const { imports } = await command.ask<{ imports: { id: string }[] }>('imports');
    await state('b.csv', row('55.04'));
    await state('c.csv', row('98.32'));
    await command.ask('imports', 'undo', imports[0]?.id ?? '');
    expect(await total()).toBe('98.320000000');
  });

  it('goes by who states it: own lists, then providers, then tables of others', async () => {
    await command.ask('import', await command.file('usage.json', USAGE));
    const { stores } = command.bursar;
    const add = (price: string, origin: 'third-party' | 'provider' | 'own') =>
      stores.prices.add(
        stores.db,
        'default',
        [{ kind: 'price', price: instancePrice(price, { source: origin, effectiveFrom: Date.UTC(2026, 0, 1) }) }],
        origin,
        origin,
      );
    await add('50.00', 'own');
    await add('60.00', 'provider');
    await add('70.00', 'third-party');
    await state('other.csv', row('80.00', '2025-01-01'));
    expect(await total()).toBe('50.000000000');
  });
});

describe('taking a price back through the API', async () => {
  const api = await testApi();
  it('answers the statement, refuses what is not there, and is for operators', async () => {
    await api.call('POST', '/v1/prices?filename=a.csv', {
      body: HEADER + row('98.32'),
      headers: { 'content-type': 'text/csv' },
    });
    const { body } = await api.call<{ items: { id: string }[] }>('GET', '/v1/prices');
    const id = body.items[0]?.id ?? '';
    const key = await api.keyFor({ role: 'viewer' });
    expect((await api.call('POST', `/v1/prices/${id}/withdraw`, { key })).status).toBe(403);
    const withdrawn = await api.call('POST', `/v1/prices/${id}/withdraw`);
    expect(withdrawn).toMatchObject({ status: 200, body: { id, origin: 'own', withdrawnAt: expect.any(String) } });
    expect(await api.call('POST', `/v1/prices/${id}/restore`)).toMatchObject({ body: { withdrawnAt: null } });
    expect((await api.call('POST', `/v1/prices/${'0'.repeat(32)}/withdraw`)).status).toBe(404);
  });
});

describe('statements of prices', async () => {
  const bursar = await testBursar();
  const { db } = bursar;
  const add = (tx: Queryable, ...prices: Price[]): Promise<unknown> =>
    bursar.stores.prices.add(
      tx,
      'default',
      prices.map((price) => ({ kind: 'price', price })),
      'test',
    );

  it('that are rolled back are kept by no process, whose next statement has the same number', async () => {
    const known = async (): Promise<unknown[]> => {
      const { prices } = bursar.stores;
      const { book } = await prices.bookFor(db, 'default', [{ provider: 'AWS', sku: 'p5.48xlarge' }]);
      return [(await prices.book(db, 'default')).prices.map(({ rate }) => rate.nanos), book.skusOf('AWS', 'gpu')];
    };
    const rate = (currency: string) => [{ day: '2026-10-05', currency, perBase: { unscaled: 7n, scale: 0 } }];
    await expect(
      db.transaction(async (tx) => {
        const { prices } = bursar.stores;
        await add(tx, instancePrice('1.00'));
        await prices.addFx(tx, 'default', rate('CNY'), 'test');
        await prices.bookFor(tx, 'default', [{ provider: 'AWS', sku: 'p5.48xlarge' }]);
        expect((await prices.book(tx, 'default')).prices).toHaveLength(1);
        expect((await prices.fx(tx, 'default')).rate('USD', 'CNY', NOW)).not.toBeNull();
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    // As many changes of the version as the one that is gone had made.
    await db.transaction(async (tx) => {
      await add(tx, instancePrice('2.00'));
      await bursar.stores.prices.addFx(tx, 'default', rate('EUR'), 'test');
    });
    expect(await known()).toEqual([[2_000_000_000n], ['p5.48xlarge']]);
    const fx = await bursar.stores.prices.fx(db, 'default');
    expect([fx.rate('USD', 'CNY', NOW), fx.rate('USD', 'EUR', NOW)]).toEqual([null, expect.anything()]);
    for (const table of ['fx_rate', 'price_event']) await db.query(`delete from ${table}`);
  });

  it('of some SKUs answer as all do, whatever else is stated, and read nothing of the others', async () => {
    const one = fc.record({
      provider: fc.constantFrom('AWS', 'OCI'),
      sku: fc.constantFrom('a', 'b', 'c', ANY_SKU),
      region: fc.constantFrom(null, 'eu'),
      term: fc.constantFrom('on-demand' as const, 'spot' as const),
      component: fc.constantFrom('gpu' as const, 'storage' as const),
      effectiveFrom: fc.nat(20).map((day) => day * 86_400_000),
      perHour: fc.integer({ min: 1, max: 9 }),
      isGone: fc.boolean(),
    });
    const query = fc.record({
      provider: fc.constantFrom('AWS', 'OCI', 'GCP'),
      sku: fc.constantFrom('a', 'b', 'd'),
      gpuModel: fc.constantFrom('H100', null),
      region: fc.constantFrom(null, 'eu', 'us'),
      term: fc.constantFrom('on-demand' as const, 'spot' as const, null),
      component: fc.constantFrom('gpu' as const, 'storage' as const),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 12 }), fc.array(query, { minLength: 1 }), async (events, queries) => {
        await db.query(`truncate price_event`);
        await db.query(`update organisation set price_version = price_version + 1`);
        await bursar.stores.prices.add(
          db,
          'default',
          events.map(({ isGone, perHour, effectiveFrom, ...over }) => {
            const { provider, sku, region } = over;
            return isGone
              ? { kind: 'withdrawn', provider, sku, region, at: effectiveFrom }
              : { kind: 'price', price: instancePrice(`${perHour}.00`, { ...over, effectiveFrom }) };
          }),
          'test',
        );
        const some = new PriceStore(db);
        const { book: whole } = await new PriceStore(db).book(db, 'default');
        const horizon = 40 * 86_400_000;
        for (const asked of queries) {
          const { book } = await some.bookFor(db, 'default', [asked]);
          expect(book.intervals(asked, 0, horizon)).toEqual(whole.intervals(asked, 0, horizon));
        }
        const { book } = await some.bookFor(db, 'default', queries);
        const asked = new Set(queries.map(({ provider, sku }) => `${provider} ${sku}`));
        for (const provider of ['AWS', 'OCI'])
          expect(book.skusOf(provider, 'gpu').filter((sku) => !asked.has(`${provider} ${sku}`))).toEqual([]);
      }),
      { numRuns: 60 },
    );
    await db.query(`truncate price_event`);
    await db.query(`update organisation set price_version = price_version + 1`);
  });

  it('leave the last one of each instant, and nothing of what was taken back', async () => {
    await bursar.take([metered('m')]);
    const statement = fc.record({ price: fc.integer({ min: 1, max: 4 }), isWithdrawal: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(statement, { minLength: 1, maxLength: 6 }), async (statements) => {
        await bursar.db.query(`truncate price_event`);
        await bursar.db.query(`update organisation set price_version = price_version + 1`);
        let stack: number[] = [];
        const gone = new Set<number>();
        for (const { price, isWithdrawal } of statements) {
          if (isWithdrawal) {
            const [stated] = await bursar.db.query<{ id: string }>(
              `select encode(id, 'hex') as id from price_event where event #>> '{price,rate,nanos}' = $1`,
              [String(BigInt(price) * 1_000_000_000n)],
            );
            if (stated === undefined) continue;
            await bursar.stores.prices.setWithdrawn(bursar.db, 'default', stated.id, { by: 'test', at: 0 });
            gone.add(price);
          } else {
            await bursar.setPrices([instancePrice(`${price}.00`)]);
            stack = [...stack.filter((one) => one !== price), price];
          }
        }
        const held = stack.findLast((one) => !gone.has(one));
        await bursar.db.query(`update work set wanted = wanted + 1 where stage = 'cost.price'`);
        await bursar.runner.drain();
        expect((await bursar.spend({ basis: 'accrued' })).total ?? null).toBe(
          held === undefined ? null : `${held}.000000000`,
        );
      }),
      { numRuns: 25, seed: 7 },
    );
  });
});
