/**
 * Rows of an answer about costs come in the order of what they are grouped by, column by column, what is unknown last:
 * whatever is asked, and however many values there are.
 */
import { expect, it } from 'vitest';
import { Chance } from '../simulation/chance.js';
import { GROUP_KEYS } from '../../src/core/cost/spend-query.js';
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
      ['default', Buffer.from(`d${n}`), text() ?? 'AWS', text(), text(), text(), text(), text(), 'on-demand', text()],
    );
    await stores.db.query(
      `insert into cost_day (organisation, team, day, dimension, currency, records, accrued) values ($1, $2, $3, $4, $5, 1, $6)`,
      [
        'default',
        `team-${chance.whole(0, 40)}`,
        `2026-09-${10 + chance.whole(0, 20)}`,
        id,
        chance.happens(0.5) ? 'USD' : 'EUR',
        n,
      ],
    );
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
    expect(
      rows.filter((row, at) => at > 0 && !before(rows[at - 1] ?? row, row)),
      groupBy.join(),
    ).toEqual([]);
    expect(totals.reduce((sum, { cost }) => sum + Number(cost), 0)).toBe((LINES * (LINES - 1)) / 2);
  }
});

it('are sums of the lines: cost, GPU-hours and what has no price, by day and over all days', async () => {
  const { stores } = bursar;
  const chance = new Chance(8);
  const hour = 25_200_000_000n;
  const lines: {
    readonly team: string;
    readonly day: string;
    readonly cost: number | null;
    readonly hours: number | null;
    readonly without: number;
  }[] = [];
  const ids: string[] = [];
  for (const sku of ['a', 'b', 'c']) {
    const [{ id } = { id: '' }] = await stores.db.query<{ id: string }>(
      `insert into dimension (organisation, key, kind, provider, sku, category) values ('default', $1, 'metered', 'GCP', $2, 'Usage') returning id::text as id`,
      [Buffer.from(`sums-${sku}`), sku],
    );
    ids.push(id);
  }
  for (const team of ['sums-1', 'sums-2']) {
    for (const [at, id] of ids.entries()) {
      for (let date = 1; date <= 20; date++) {
        if (chance.happens(0.2)) continue;
        const without = chance.happens(0.3) ? chance.whole(1, 9) : 0;
        const line = {
          team,
          day: `2026-10-${String(date).padStart(2, '0')}`,
          cost: without > 0 && chance.happens(0.5) ? null : chance.whole(1, 999),
          hours: at === 2 && chance.happens(0.5) ? null : without + chance.whole(0, 9),
          without,
        };
        lines.push(line);
        await stores.db.query(
          `insert into cost_day (organisation, team, day, dimension, currency, records, accrued, gpu_part_ms, unpriced_part_ms, unpriced_lines) values ('default', $1, $2, $3, 'USD', 1, $4, $5, $6, $7)`,
          [
            line.team,
            line.day,
            id,
            line.cost,
            line.hours === null ? null : String(BigInt(line.hours) * hour),
            String(BigInt(without) * hour),
            without > 0 ? 1 : 0,
          ],
        );
      }
    }
  }
  const total = (values: readonly (number | null)[]): number | null =>
    values.reduce((sum, value) => (value === null ? sum : (sum ?? 0) + value), null);
  for (const key of ['team', 'day', 'month'] as const) {
    const answer = await bursar.spend({ groupBy: key, basis: 'accrued', teams: ['sums-1', 'sums-2'] });
    const groups = new Map<string, typeof lines>();
    for (const line of lines) {
      const value = { team: line.team, day: line.day, month: line.day.slice(0, 7) }[key];
      groups.set(value, [...(groups.get(value) ?? []), line]);
    }
    const expected = [...groups]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([value, of]) => ({
        [key]: value,
        cost: total(of.map(({ cost }) => cost)),
        hours: total(of.map(({ hours }) => hours)),
        without: total(of.map(({ without }) => without)),
      }));
    expect(
      answer.rows.map((row) => ({
        [key]: row[key],
        cost: row.cost === null ? null : Number(row.cost),
        hours: row.gpuHours === null ? null : Number(row.gpuHours),
        without: Number(row.unpricedQuantity),
      })),
    ).toEqual(expected);
    expect(Number(answer.unpricedQuantity)).toBe(total(lines.map(({ without }) => without)));
    expect(Number(answer.total)).toBe(total(lines.map(({ cost }) => cost)));
  }
});
