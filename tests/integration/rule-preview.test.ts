/**
 * A preview of rules against the real thing: what it says each team would have is what the team has once the rules hold
 * and the line is done.
 */
import { describe, expect, it } from 'vitest';
import { UNALLOCATED, type AllocationRule } from '../../src/core/cost/allocation.js';
import { candidateName, ruleCandidates } from '../../src/core/cost/rule-candidates.js';
import { parseSpendQuery } from '../../src/core/cost/spend-query.js';
import { formatDecimal } from '../../src/core/decimal.js';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { previewRules, type RulePreview } from '../../src/store/cost/preview.js';
import { setFx, setPeak } from '../../src/application/price/set-rates.js';
import { setTeam } from '../../src/application/access/set-team.js';
import { instancePrice, testBursar } from '../support/bursar.js';
import { billed, HOUR, metered, MONDAY } from '../support/records.js';

const DAY = 24 * HOUR;
const to = (namespace: string, team: string): AllocationRule => ({ match: { namespace }, team });

/** Usage of one kind of machine by several namespaces, so that every day's sums hold what several would have. */
function usage(): UsageRecord[] {
  const records: UsageRecord[] = [];
  for (let n = 0; n < 40; n++) {
    const start = MONDAY + n * 3 * HOUR;
    records.push(
      metered(`red-${n}`, {
        namespace: 'red',
        resource: `r${n % 3}`,
        start,
        end: start + HOUR,
        storageMib: 4096,
        networkBytes: 3 * 1024 ** 3,
      }),
    );
    records.push(
      metered(`blue-${n}`, {
        namespace: 'blue',
        tags: { cost: n % 2 === 0 ? 'even' : 'odd' },
        start,
        end: start + HOUR / 2 + n * 1000,
      }),
    );
    // Shorter than the seller bills.
    records.push(
      metered(`short-${n}`, { namespace: 'green', start: start + 7000, end: start + 20_000, gpuParts: 4 * GPU_PARTS }),
    );
    records.push(
      metered(`shared-${n}`, { namespace: 'shared', start, end: start + HOUR / 3, gpuParts: 1 * GPU_PARTS }),
    );
  }
  records.push(
    metered('moon', { namespace: 'red', sku: 'x9.moon' }),
    metered('moon-2', { namespace: 'blue', sku: 'x9.moon', end: MONDAY + 2 * HOUR }),
  );
  return records;
}

const BEFORE: readonly AllocationRule[] = [
  to('red', 'red'),
  to('blue', 'blue'),
  to('green', 'blue'),
  { match: { namespace: 'shared' }, split: { by: 'use' } },
];

async function world() {
  const bursar = await testBursar({ now: MONDAY + 40 * DAY });
  const { db, stores, runner } = bursar;
  await bursar.setPrices([
    instancePrice('98.32'),
    instancePrice('49.16', { effectiveFrom: MONDAY + 2 * DAY + HOUR / 4 }),
    instancePrice('0.10', {
      component: 'network',
      rate: { nanos: 90_000_000n, currency: 'USD', quantity: 1n, unit: 'gib' },
    }),
  ]);
  await bursar.take(usage());
  // Bills: of an account that is metered too, closed; of one that is still open; of one that nobody meters.
  await bursar.take(
    [
      billed('b1', '700.125', { account: 'a2', namespace: 'red' }),
      billed('b2', '-20.5', { account: 'a2', namespace: 'blue' }),
      billed('b3', '9.99', { account: 'a3', namespace: 'shared' }),
    ],
    { source: 'bills' },
  );
  await bursar.take(
    [metered('a2-1', { account: 'a2', namespace: 'red' }), metered('a4-1', { account: 'a4', namespace: 'blue' })],
    { source: 'meter' },
  );
  await bursar.take(
    [
      billed(
        'b4',
        '55',
        { account: 'a4', namespace: 'green', start: MONDAY - 34 * DAY, end: MONDAY - 34 * DAY + HOUR },
        { periodStart: Date.UTC(2026, 8, 1), periodEnd: Date.UTC(2026, 9, 1) },
      ),
    ],
    { source: 'bills-2' },
  );
  // Of the running month, by the payer: a machine of the linked account is metered, the others are not.
  const running = { start: Date.UTC(2026, 10, 2), end: Date.UTC(2026, 10, 2, 1) };
  const november = { periodStart: Date.UTC(2026, 10, 1), periodEnd: Date.UTC(2026, 11, 1) };
  const line = (id: string, amount: string, over: Partial<UsageRecord>, category: 'Usage' | 'Tax' = 'Usage') =>
    billed(id, amount, { account: 'payer', subAccount: 'linked', ...running, ...over }, { ...november, category });
  await bursar.take(
    [
      metered('n1', { account: 'linked', resource: 'm1', namespace: 'red', ...running }),
      metered('n2', { account: 'linked', resource: 'm1', namespace: 'blue', ...running, gpuParts: 2 * GPU_PARTS }),
    ],
    { source: 'meter-2' },
  );
  await bursar.take(
    [
      line('n3', '40', { resource: 'm1', namespace: 'red' }),
      line('n4', '33', { resource: 'm2', namespace: 'blue' }),
      line('n5', '21', { resource: 'm3', namespace: 'red' }),
      line('n6', '12.5', { sku: 'storage', namespace: 'green' }),
      line('n7', '3', { sku: null, namespace: 'blue' }, 'Tax'),
    ],
    { source: 'bills-3' },
  );
  const hold = async (rules: readonly AllocationRule[]): Promise<void> => {
    await db.transaction((tx) => stores.organisations.saveRules(tx, 'default', rules, 'test'));
    await runner.drain();
  };
  await hold(BEFORE);
  /** What `bursar costs --group-by team` shows, as amounts by team and currency. */
  const costs = async (): Promise<Record<string, [cost: string | null, unpriced: string]>> =>
    Object.fromEntries(
      (await bursar.spend({ groupBy: 'team' })).rows.map((row) => [
        `${row['team'] ?? ''} ${row.currency}`,
        [row.cost, row.unpricedQuantity],
      ]),
    );
  return {
    ...bursar,
    hold,
    costs,
    preview: (rules: readonly AllocationRule[]): Promise<RulePreview> => previewRules(stores, 'default', rules),
  };
}

const amount = (text: string | null): number | null => (text === null ? null : Number(Number(text).toFixed(6)));
const side = (preview: RulePreview, which: 'before' | 'after'): Record<string, [number | null, string]> =>
  Object.fromEntries(
    preview.teams
      .map((row): [string, [number | null, string]] => [
        `${row.team} ${row.currency}`,
        [amount(row[which]), which === 'before' ? row.unpricedBefore : row.unpricedAfter],
      ])
      .filter(([, [cost, unpriced]]) => cost !== null || Number(unpriced) > 0),
  );
const rounded = (costs: Record<string, [string | null, string]>): Record<string, [number | null, string]> =>
  Object.fromEntries(Object.entries(costs).map(([key, [cost, unpriced]]) => [key, [amount(cost), unpriced]]));

describe('a preview', async () => {
  const w = await world();

  it.each<[string, readonly AllocationRule[]]>([
    ['other teams', [to('red', 'red'), to('blue', 'violet'), to('green', 'green')]],
    [
      'usage of one kind divided by a tag',
      [{ match: { tag: { key: 'cost', value: 'odd' } }, team: 'odd' }, to('red', 'red'), to('*', 'rest')],
    ],
    [
      'fixed shares of everything',
      [{ match: { namespace: '*' }, split: { by: 'fixed', shares: { a: '1', b: '1', c: '1' } } }],
    ],
    [
      'more that is shared by use',
      [
        to('red', 'red'),
        to('green', 'green'),
        { match: { namespace: 'blue' }, split: { by: 'use' } },
        { match: {}, split: { by: 'use', of: ['red', 'green'] } },
      ],
    ],
    ['nobody', []],
  ])('with %s says what holds then, and no sum changes', async (_, rules) => {
    await w.hold(BEFORE);
    const preview = await w.preview(rules);
    const before = await w.costs();
    // What is there is there to the last digit.
    for (const row of preview.teams)
      if (row.before !== null)
        expect([row.team, row.before]).toEqual([row.team, before[`${row.team} ${row.currency}`]?.[0]]);
    expect(side(preview, 'before')).toEqual(rounded(before));
    expect(preview.totals.map(({ before: all, unpricedBefore }) => [Number(all), unpricedBefore])).toEqual(
      preview.totals.map(({ after: all, unpricedAfter }) => [Number(all), unpricedAfter]),
    );
    expect(await w.costs()).toEqual(before);
    await w.hold(rules);
    expect(side(preview, 'after')).toEqual(rounded(await w.costs()));
  });

  it('of the rules that hold changes nothing', async () => {
    await w.hold(BEFORE);
    for (const { before, after, unpricedBefore, unpricedAfter } of (await w.preview(BEFORE)).teams)
      expect([amount(after), unpricedAfter]).toEqual([amount(before), unpricedBefore]);
    await expect(w.preview([{ match: {}, split: { by: 'use', of: [] } }])).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ path: 'rules/0/split/of' }],
    });
  });
});

describe('a preview over peaks, credits and a team of another currency', async () => {
  const w = await world();
  const { db, stores } = w;

  it('says what holds then', async () => {
    await db.transaction(async (tx) => {
      await setPeak(stores, tx, 'default', [{ zone: 'UTC', from: '08:00', to: '20:00', factor: '1.5' }]);
      await setFx(
        stores,
        tx,
        'default',
        [{ day: '2026-10-01', currency: 'CNY', perBase: { unscaled: 72n, scale: 1 } }],
        'test',
      );
      await setTeam(stores, tx, 'default', {
        id: 'violet',
        name: 'Violet',
        parent: null,
        zone: 'UTC',
        currency: 'CNY',
        assignedBy: null,
      });
      await stores.credits.save(tx, 'default', [
        {
          id: 'grant',
          kind: 'promotional',
          provider: 'AWS',
          amount: '500',
          currency: 'USD',
          from: '2026-10-01',
          until: '2026-11-01',
        },
        {
          id: 'of-red',
          kind: 'promotional',
          team: 'red',
          amount: '60',
          currency: 'USD',
          from: '2026-10-01',
          until: '2026-11-01',
        },
      ]);
    });
    await w.runner.drain();
    for (const rules of [
      [to('red', 'red'), to('blue', 'violet')],
      [to('red', 'other'), to('green', 'red'), { match: {}, split: { by: 'use' } } as AllocationRule],
    ]) {
      await w.hold(BEFORE);
      const preview = await w.preview(rules);
      expect(side(preview, 'before')).toEqual(rounded(await w.costs()));
      await w.hold(rules);
      expect(side(preview, 'after')).toEqual(rounded(await w.costs()));
    }
  });
});

describe('what rules could match', () => {
  it('is worth what a rule for it would take', async () => {
    const bursar = await testBursar({ now: MONDAY + 10 * DAY });
    await bursar.setPrices([instancePrice('98.32')]);
    await bursar.take([
      // What is charged by GPU time alone: shares of anything else are estimates.
      ...usage().flatMap((one) =>
        one.namespace === 'green' ? [] : [{ ...one, storageMib: null, networkBytes: null }],
      ),
      metered('long', { namespace: 'x'.repeat(501), tags: { cost: 'even', empty: '' }, resource: null }),
    ]);
    await bursar.take([billed('b1', '700.125', { account: 'a2', namespace: 'red' })], { source: 'bills' });
    const { db, stores, runner } = bursar;
    await runner.drain();
    const organisation = 'default';
    const span = { from: '2026-01-01', to: '2027-01-01' };
    const question = { ...parseSpendQuery({ teams: [UNALLOCATED] }), ...span };
    const costs = await stores.resourceCosts.costs(db, organisation, question, candidateName);
    const candidates = ruleCandidates(costs, 100);
    expect(candidates.map(({ match }) => match)).toEqual(
      expect.arrayContaining([{ namespace: 'red' }, { tag: { key: 'cost', value: 'odd' } }, { account: 'a2' }]),
    );
    expect(candidates.filter(({ match }) => match.namespace?.startsWith('x') ?? match.tag?.key === 'empty')).toEqual(
      [],
    );
    for (const { match, cost } of candidates) {
      const { teams } = await previewRules(stores, organisation, [{ match, team: 'taker' }]);
      const taken = teams.find(({ team }) => team === 'taker');
      expect([match, cost === null]).toEqual([match, (taken?.after ?? null) === null]);
      // Every name's share of a sum is rounded by itself.
      expect(Number(cost === null ? 0 : formatDecimal(cost))).toBeCloseTo(Number(taken?.after ?? 0), 6);
    }
  });
});
