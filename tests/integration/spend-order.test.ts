/** Rows of an answer about costs come in the order of what they are grouped by, column by column, what is unknown last: whatever is asked, and however many values there are. */
import { expect, it } from 'vitest';
import { Chance } from '../simulation/chance.js';
import { GROUP_KEYS } from '../../src/store/spend.js';
import { testBursar } from '../support/bursar.js';

const bursar = await testBursar();
const LINES = 400;

it('is that of the columns, from left to right', async () => {
  const { stores } = bursar;
  const chance = new Chance(7);
  const text = (): string | null => (chance.happens(0.1) ? null : `v${chance.whole(0, 60)}`);
  for (let n = 0; n < LINES; n++) {
    const [{ id } = { id: '' }] = await stores.db.query<{ id: string }>(
      `insert into dimension (organisation, key, kind, provider, account, sub_account, service, sku, region, term, gpu_model, category)
       values ($1, $2, 'metered', $3, $4, $5, $6, $7, $8, $9, $10, 'Usage') returning id::text as id`,
      ['default', Buffer.from(`d${n}`), text() ?? 'AWS', text(), text(), text(), text(), text(), 'on-demand', text()]);
    await stores.db.query(`insert into cost_day (organisation, team, day, dimension, currency, records, accrued) values ($1, $2, $3, $4, $5, 1, $6)`,
      ['default', `team-${chance.whole(0, 40)}`, `2026-09-${10 + chance.whole(0, 20)}`, id, chance.happens(0.5) ? 'USD' : 'EUR', n]);
  }
  for (const groupBy of [[...GROUP_KEYS], ['day', 'team'], ['region', 'month', 'sku'], ['team']]) {
    const { rows, totals } = await bursar.spend({ groupBy: groupBy.join(','), basis: 'accrued' });
    const columns = [...groupBy, 'currency'];
    const before = (a: (typeof rows)[number], b: (typeof rows)[number]): boolean => {
      const column = columns.find((name) => a[name] !== b[name]);
      const [left, right] = [a[column ?? ''] ?? null, b[column ?? ''] ?? null];
      return column !== undefined && left !== null && (right === null || left < right);
    };
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter((row, at) => at > 0 && !before(rows[at - 1] ?? row, row)), groupBy.join()).toEqual([]);
    expect(totals.reduce((sum, { cost }) => sum + Number(cost), 0)).toBe((LINES * (LINES - 1)) / 2);
  }
});
