/**
 * A book that was kept before bills had states (migration 0021) counts, once the migrations have run and the line has
 * drained, what a fresh import of the same data does: migrating back leaves only what those versions had.
 */
import { DataSource } from 'typeorm';
import { afterAll, describe, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.js';
import { makeLine } from '../../src/pipeline/line.js';
import { Runner } from '../../src/pipeline/runner.js';
import { Database, migrate } from '../../src/store/database.js';
import { parseSpendQuery } from '../../src/core/cost/spend-query.js';
import { Stores } from '../../src/store/stores.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { emptyDatabase } from '../support/database.js';
import { billed, HOUR, metered } from '../support/records.js';

const DAY = 24 * HOUR;
const OCTOBER = { periodStart: Date.UTC(2026, 9, 1), periodEnd: Date.UTC(2026, 10, 1) };
const NOVEMBER = { periodStart: Date.UTC(2026, 10, 1), periodEnd: Date.UTC(2026, 11, 1) };
const at = (month: number, day: number, hours = 1) => ({
  start: Date.UTC(2026, month, day),
  end: Date.UTC(2026, month, day) + hours * HOUR,
});
/** West of UTC: its days are civil dates. */
const WEST = { periodStart: Date.UTC(2026, 9, 1, 7), periodEnd: Date.UTC(2026, 10, 1, 7) };

describe('a book of before bills had states', async () => {
  const { url } = await emptyDatabase();
  const source = await new DataSource({
    type: 'postgres',
    url,
    migrations,
    migrationsTableName: 'migration',
    migrationsTransactionMode: 'each',
  }).initialize();
  afterAll(() => source.destroy());
  // On a Citus cluster nothing is spread before the end: nothing was, in those days.
  await source.runMigrations();
  const bursar = await testBursar({ url, now: Date.UTC(2026, 10, 5) });
  const { clock } = bursar;

  it('counts the same as a fresh import', async () => {
    await bursar.setPrices([instancePrice('10', { minimumSeconds: 0 })]);
    await bursar.take(
      [
        metered('payer', at(9, 5)),
        metered('linked', { ...at(9, 6), account: 'linked' }),
        metered('nobody', { ...at(9, 6), account: null }),
        metered('late', at(9, 31)),
        metered('open', at(10, 2)),
        metered('stranger', { ...at(10, 2), account: 'stranger' }),
        metered('unpriced', { ...at(10, 2), sku: 'unknown' }),
      ],
      { source: 'meter' },
    );
    const names = { account: 'p1', subAccount: 'linked' };
    await bursar.take(
      [
        billed('a', '7', at(9, 5), { ...OCTOBER, isFinal: true }),
        billed('b', '8', { ...at(9, 6), ...names }, { ...OCTOBER, isFinal: true }),
        billed('day', '1', { start: WEST.periodStart, end: WEST.periodStart + DAY, account: 'west' }, WEST),
        billed('fee', '31', { start: WEST.periodStart, end: WEST.periodEnd, account: 'west' }, WEST),
        billed('c', '9', at(10, 2), NOVEMBER),
        billed('d', '4', at(9, 31, 24), NOVEMBER),
        billed('disk', '3', { ...at(10, 2), sku: 'gp3' }, NOVEMBER),
        billed('tax', '2', at(10, 2), { ...NOVEMBER, category: 'Tax' }),
      ],
      { source: 'cur' },
    );
    await bursar.runner.drain();
    const question = { groupBy: 'team,account,subAccount,sku,category,day' };
    const fresh = await bursar.spend(question);
    expect(Number(fresh.total)).toBeGreaterThan(0);

    const first = migrations.findIndex(({ name }) => name.startsWith('BillStates'));
    for (const _ of migrations.slice(first)) await source.undoLastMigration();
    // Facts of before did not tell civil dates apart: theirs are other dimensions.
    await source.query(`update dimension set key = sha256(key)`);
    await source.query(`truncate work`);
    await migrate(url);

    const db = await Database.open(url);
    afterAll(() => db.close());
    const stores = new Stores(db);
    await new Runner(db, stores.work, clock, makeLine(stores, [], [])).drain();
    const { fx } = await stores.prices.book(db, 'default');
    const migrated = await stores.spend.spend('default', parseSpendQuery(question), fx);
    expect(migrated.rows).toEqual(fresh.rows);
    expect(migrated.total).toBe(fresh.total);
  });
});
