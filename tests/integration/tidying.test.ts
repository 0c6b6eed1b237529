/** What goes by age, and what stays although it is old: work that waits or is parked, and imports that brought something. */
import { describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/core/time.js';
import { TidySchedule } from '../../src/pipeline/tidy.js';
import type { Queryable } from '../../src/store/database.js';
import { enqueue } from '../../src/store/work.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { metered, MONDAY } from '../support/records.js';

describe('what is old', async () => {
  const bursar = await testBursar({ now: MONDAY + DAY_MS });
  const { stores, db, runner, take, clock } = bursar;
  const reject = { line: 1, column: null, reason: 'a test', raw: 'x' };
  const counts = async (): Promise<unknown> =>
    (
      await db.query(
        `select (select count(*)::int from work) as work, (select count(*)::int from import) as imports,
           (select count(*)::int from reject) as rejects, (select sum(accrued)::text from cost_day) as cost`,
      )
    )[0];

  it('goes where it says nothing any more, and all else stays', async () => {
    await bursar.setPrices([instancePrice('55.04')]);
    await take([metered('r1')], { strict: false }, [reject]);
    await take([metered('r1')]);
    await runner.drain();
    await db.query(
      `update work set woken_at = to_timestamp($1), parked_at = case when stage = 'cost.rollup' then now() end`,
      [MONDAY / 1000],
    );
    await enqueue(db, 'default', [{ stage: 'cost.share', partition: 'unallocated', key: 'unallocated/2026-01-01' }]);
    await db.query(
      `insert into work (organisation, lane, stage, key, wanted, done, woken_at)
       values ('default', 'lab', 'recommendation.make', 'lab', 1, 1, to_timestamp($1)), ('default', 'lab', 'cost.price', 'waits', 2, 1, to_timestamp($1))`,
      [MONDAY / 1000],
    );
    const before = await counts();
    const schedule = new TidySchedule(stores);
    await schedule.enqueueDue(MONDAY + 89 * DAY_MS);
    expect(await counts()).toEqual(before);

    await schedule.enqueueDue(MONDAY + 91 * DAY_MS);
    const left = await db.query<{ stage: string }>(`select distinct stage from work order by stage`);
    expect(left.map(({ stage }) => stage)).toEqual(['cost.price', 'cost.rollup', 'cost.share', 'recommendation.make']);
    expect(await counts()).toMatchObject({ imports: 2, rejects: 1, cost: '55.040000000' });
  });

  it('is asked for anew as if it had never been', async () => {
    const [day] = await db.query<{ team: string; day: string }>(`select distinct team, day::text as day from cost_day`);
    const key = `${day?.team}/${day?.day}`;
    await enqueue(db, 'default', [{ stage: 'cost.price', partition: day?.team ?? '', key }]);
    await runner.drain();
    const rows = await db.query(`select done, wanted from work where stage = 'cost.price' and key = $1`, [key]);
    expect(rows).toEqual([{ done: '1', wanted: '1' }]);
    expect(await counts()).toMatchObject({ cost: '55.040000000' });
  });

  it('of imports goes the one that brought nothing, and the rows that could not be read', async () => {
    clock.at = MONDAY + 402 * DAY_MS;
    const gone = await stores.tidying.tidy(db, clock.at);
    expect(gone).toMatchObject({ reject: 1, import: 1 });
    expect(await db.query(`select accepted::int from import`)).toEqual([{ accepted: 1 }]);
    expect(await counts()).toMatchObject({ imports: 1, rejects: 0, cost: '55.040000000' });
    expect((await db.query(`select 1 from delivery`)).length).toBe(1);
  });
});

it('a price history that nobody asks for is not read: costs need exchange rates alone', async () => {
  const { stores, db, setPrices } = await testBursar();
  await setPrices([instancePrice('55.04')]);
  const asked: string[] = [];
  const spy: Queryable = {
    query: (sql, parameters) => {
      asked.push(sql);
      return db.query(sql, parameters);
    },
  };
  const fx = await stores.prices.fx(spy, 'default');
  expect(asked.some((sql) => sql.includes('fx_rate'))).toBe(true);
  expect(asked.filter((sql) => sql.includes('price_event'))).toEqual([]);
  expect(await stores.prices.fx(spy, 'default')).toBe(fx);
  await db.query(
    `insert into fx_rate (organisation, day, currency, per_usd, source) values ('default', '2026-10-01', 'EUR', 0.9, 'test')`,
  );
  await db.query(`update organisation set price_version = price_version + 1`);
  expect(await stores.prices.fx(spy, 'default')).not.toBe(fx);
});
