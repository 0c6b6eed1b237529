/**
 * What the database sums for the cost explorer is what a recount of every day's rows says, to the last digit: whatever
 * is asked, of random lines in several currencies, with and without prices, of teams that may be seen and others.
 */
import { expect, it } from 'vitest';
import { costBreakdown, type CostBreakdown } from '../../src/application/cost/breakdown.js';
import { parseSpendQuery, type GroupKey, type SpendQuery } from '../../src/core/cost/spend-query.js';
import { parseDecimal } from '../../src/core/decimal.js';
import { divideHalfEven } from '../../src/core/money.js';
import { Chance } from '../simulation/chance.js';
import { testBursar } from '../support/bursar.js';

const bursar = await testBursar();
const about = async () => ({ warnings: [] });
let every: Line[] = [];
const DIGITS = 1_000_000_000n;
/** A unit of each in dollars is one by this. What has none stays what it is. */
const RATES: Readonly<Record<string, bigint>> = { EUR: 913_456_789n, CNY: 7_123_456_787n };
const DAYS = Array.from({ length: 40 }, (_, at) => new Date(Date.UTC(2026, 8, 5 + at)).toISOString().slice(0, 10));

interface Line {
  readonly team: string;
  readonly day: string;
  readonly sharedFrom: string | null;
  readonly words: Readonly<Record<string, string | null>>;
  readonly currency: string;
  readonly nanos: bigint | null;
  readonly parts: bigint | null;
  readonly unpriced: bigint;
}

const nanosText = (nanos: bigint): string =>
  `${nanos < 0n ? '-' : ''}${(nanos < 0n ? -nanos : nanos) / DIGITS}.${String((nanos < 0n ? -nanos : nanos) % DIGITS).padStart(9, '0')}`;

async function seeded(chance: Chance): Promise<Line[]> {
  const { stores } = bursar;
  const dimensions: { id: string; words: Record<string, string | null> }[] = [];
  for (let n = 0; n < 30; n++) {
    const word = (name: string, most: number): string | null =>
      chance.happens(0.15) ? null : `${name}-${chance.whole(0, most)}`;
    const words = { sku: word('sku', 11), region: word('region', 3), gpuModel: word('gpu', 2), service: word('s', 1) };
    const [{ id } = { id: '' }] = await stores.db.query<{ id: string }>(
      `insert into dimension (organisation, key, kind, provider, sku, region, gpu_model, service, category)
       values ('default', $1, 'metered', 'AWS', $2, $3, $4, $5, 'Usage') returning id::text as id`,
      [Buffer.from(`recount-${n}`), words.sku, words.region, words.gpuModel, words.service],
    );
    dimensions.push({ id, words: { ...words, provider: 'AWS' } });
  }
  const lines: Line[] = [];
  for (const day of DAYS)
    for (let team = 0; team < 25; team++)
      for (const { id, words } of dimensions) {
        if (!chance.happens(0.12)) continue;
        const hasPrice = chance.happens(0.85);
        const line = {
          team: team === 24 ? 'shared:cluster' : `team-${team}`,
          day,
          sharedFrom: chance.happens(0.1) ? `cluster-${chance.whole(0, 1)}` : null,
          words,
          currency: chance.pick(['USD', 'USD', 'USD', 'EUR', 'CNY', 'CHF']),
          nanos: hasPrice ? BigInt(chance.whole(-2_000_000, 900_000_000)) * 1_003n : null,
          parts: chance.happens(0.1) ? null : BigInt(chance.whole(1, 9_000_000)) * 25_200n,
          unpriced: !hasPrice || chance.happens(0.1) ? BigInt(chance.whole(1, 4_000_000)) * 25_200n : 0n,
        };
        lines.push(line);
        await stores.db.query(
          `insert into cost_day (organisation, team, day, dimension, currency, shared_from, records, gpu_part_ms,
             unpriced_part_ms, unpriced_lines, accrued, actual) values ('default', $1, $2, $3, $4, $5, 1, $6, $7, $8, $9, $9)`,
          [
            line.team,
            day,
            id,
            line.currency,
            line.sharedFrom ?? '',
            line.parts,
            line.unpriced,
            line.unpriced > 0n ? 1 : 0,
            line.nanos === null ? null : nanosText(line.nanos),
          ],
        );
      }
  return lines;
}

interface Sum {
  nanos: bigint | null;
  unpriced: bigint;
}

const added = (sum: Sum | undefined, nanos: bigint | null, unpriced: bigint): Sum => ({
  nanos: nanos === null ? (sum?.nanos ?? null) : (sum?.nanos ?? 0n) + nanos,
  unpriced: (sum?.unpriced ?? 0n) + unpriced,
});

/** Sums by the words of some keys, each amount converted by the sum of its day. */
function recount(lines: readonly Line[], keys: readonly GroupKey[], wanted: string | null): Map<string, Sum> {
  const word = (line: Line, key: GroupKey): string | null =>
    key === 'team'
      ? line.team
      : key === 'day'
        ? line.day
        : key === 'sharedFrom'
          ? line.sharedFrom
          : (line.words[key] ?? null);
  const daily = new Map<string, { names: (string | null)[]; currency: string; sum: Sum }>();
  for (const line of lines) {
    const names = keys.map((key) => word(line, key));
    const key = JSON.stringify([names, line.currency, wanted === null ? null : line.day]);
    const { sum } = daily.get(key) ?? {};
    daily.set(key, { names, currency: line.currency, sum: added(sum, line.nanos, line.unpriced) });
  }
  const groups = new Map<string, Sum>();
  for (const { names, currency, sum } of daily.values()) {
    const [to, nanos] = converted(sum.nanos, currency, wanted);
    const key = JSON.stringify([to, names]);
    groups.set(key, added(groups.get(key), nanos, sum.unpriced));
  }
  return groups;
}

function converted(nanos: bigint | null, currency: string, wanted: string | null): [string, bigint | null] {
  if (wanted === null || currency === wanted) return [currency, nanos];
  if (nanos === null) return [wanted, null];
  const rate = RATES[currency];
  return rate === undefined ? [currency, nanos] : [wanted, divideHalfEven(nanos * DIGITS, rate)];
}

const nanosOf = (text: string | null): bigint | null => {
  const value = text === null ? null : parseDecimal(text);
  return value === null ? null : (value.unscaled * DIGITS) / 10n ** BigInt(value.scale);
};

const millionths = (text: string): bigint => BigInt(text.replace('.', ''));

function expectRows(
  answer: CostBreakdown,
  now: Map<string, Sum>,
  before: Map<string, Sum> | null,
  limit: number,
): void {
  const keys = [...new Set([...now.keys(), ...(before?.keys() ?? [])])];
  // What was not there comes after what cost nothing.
  const size = (sums: Map<string, Sum> | null, key: string): bigint => sums?.get(key)?.nanos ?? -DIGITS;
  const order = (a: bigint, b: bigint): number => (a < b ? 1 : a > b ? -1 : 0);
  const currencies = [...new Set(keys.map((key) => (JSON.parse(key) as [string])[0]))].sort();
  for (const currency of currencies) {
    const own = keys
      .filter((key) => (JSON.parse(key) as [string])[0] === currency)
      .sort((a, b) => order(size(now, a), size(now, b)) || order(size(before, a), size(before, b)) || (a < b ? -1 : 1));
    const figures = (some: readonly string[]): unknown[] =>
      some.map((key) => {
        const sum = now.get(key);
        const old = before?.get(key);
        return [key, sum === undefined ? 0n : sum.nanos, before === null ? null : old === undefined ? 0n : old.nanos];
      });
    const rows = answer.rows.filter((row) => row.currency === currency);
    expect(rows.map((row) => [JSON.stringify([currency, row.names]), nanosOf(row.cost), nanosOf(row.before)])).toEqual(
      figures(own.slice(0, limit)),
    );
    expect(rows.map((row) => millionths(row.unpricedGpuHours))).toEqual(
      own.slice(0, limit).map((key) => (now.get(key)?.unpriced ?? 0n) / 25_200n),
    );
    expect(answer.rest.find((one) => one.currency === currency)?.groups ?? 0).toBe(Math.max(0, own.length - limit));
  }
  expect(new Map(answer.now.totals.map(({ currency, cost }) => [currency, nanosOf(cost)]))).toEqual(totalsOf(now));
}

function totalsOf(sums: Map<string, Sum>): Map<string, bigint> {
  const totals = new Map<string, bigint>();
  for (const [key, { nanos }] of sums) {
    const [currency] = JSON.parse(key) as [string];
    if (nanos !== null) totals.set(currency, (totals.get(currency) ?? 0n) + nanos);
  }
  return totals;
}

/** Eight of each currency, or nine where there are no more; the others are one. */
function expectSeries(answer: CostBreakdown, daily: Map<string, Sum>): void {
  const sizes = new Map<string, Map<string | null, bigint>>();
  for (const [key, { nanos }] of daily) {
    const [currency, [, name]] = JSON.parse(key) as [string, [string, string | null]];
    const own = sizes.get(currency) ?? new Map<string | null, bigint>();
    sizes.set(currency, own.set(name, (own.get(name) ?? 0n) + (nanos ?? 0n)));
  }
  expect(new Set(answer.series.map(({ currency }) => currency))).toEqual(new Set(sizes.keys()));
  for (const [currency, own] of sizes) {
    const names = [...own].sort(([a, x], [b, y]) =>
      y > x ? 1 : y < x ? -1 : (a ?? '\uffff') < (b ?? '\uffff') ? -1 : 1,
    );
    const shown = names.slice(0, names.length <= 9 ? 9 : 8).map(([name]) => name);
    const series = answer.series.filter((one) => one.currency === currency);
    expect(series.map(({ name }) => (name === null ? 'others' : { is: name.value }))).toEqual([
      ...shown.map((name) => ({ is: name })),
      ...(names.length > shown.length ? ['others'] : []),
    ]);
    answer.days.forEach((day, at) => {
      const sumOf = (some: readonly (string | null)[]): bigint | null => {
        const sums = some.flatMap((name) => daily.get(JSON.stringify([currency, [day, name]])) ?? []);
        return sums.length === 0
          ? 0n
          : (sums.reduce<Sum | undefined>((sum, one) => added(sum, one.nanos, 0n), undefined)?.nanos ?? null);
      };
      const others = names.slice(shown.length).map(([name]) => name);
      expect([day, ...series.map(({ values }) => nanosOf(values[at] ?? null))]).toEqual([
        day,
        ...shown.map((name) => sumOf([name])),
        ...(others.length > 0 ? [sumOf(others)] : []),
      ]);
    });
  }
}

function expectDaysBefore(answer: CostBreakdown, daily: Map<string, Sum>): void {
  for (const { currency, values } of answer.daysBefore) {
    values.forEach((value, at) => {
      const day = new Date(Date.parse(answer.before?.from ?? '') + at * 86_400_000).toISOString().slice(0, 10);
      const sum = daily.get(JSON.stringify([currency, [day]]));
      expect([day, nanosOf(value)]).toEqual([day, sum === undefined ? 0n : sum.nanos]);
    });
  }
  const currencies = [...daily.keys()].map((key) => (JSON.parse(key) as [string])[0]);
  expect(answer.daysBefore.map(({ currency }) => currency)).toEqual([...new Set(currencies)].sort());
}

function asked(lines: readonly Line[], question: SpendQuery, from: string, to: string): Line[] {
  return lines.filter(
    ({ team, day, words }) =>
      day >= from &&
      day < to &&
      !team.startsWith('shared:') &&
      (question.teams === null || question.teams.includes(team)) &&
      Object.entries(question.filters ?? {}).every(([key, values]) => values?.includes(words[key] ?? '')),
  );
}

it('is a recount of every line', async () => {
  const { stores } = bursar;
  const chance = new Chance(21);
  const lines = (every = await seeded(chance));
  const quotes = Object.entries(RATES).map(([currency, rate]) => ({
    day: '2026-01-01',
    currency,
    perBase: { unscaled: rate, scale: 9 },
  }));
  await stores.prices.addFx(stores.db, 'default', quotes, 'test');
  const keys = ['team', 'sku', 'region', 'gpuModel', 'sharedFrom', 'provider'] as const;
  for (let n = 0; n < 60; n++) {
    const first = chance.pick(keys);
    const second = chance.pick(keys);
    const start = chance.whole(12, 30);
    const question = parseSpendQuery({
      from: DAYS[start] ?? null,
      to: DAYS[start + chance.whole(1, 9)] ?? null,
      groupBy: chance.happens(0.5) ? first : `${first},${second}`,
      basis: chance.pick(['actual', 'accrued']),
      currency: chance.pick([null, 'USD', 'USD']),
      teams: chance.happens(0.3) ? ['team-3', 'team-4', 'team-7'] : null,
      filters: {
        ...(chance.happens(0.3) ? { region: ['region-1', ''] } : {}),
        ...(chance.happens(0.2) ? { sku: ['sku-1', 'sku-2', 'sku-3'] } : {}),
      },
    });
    // Where all is of the currency that is wanted, nothing is converted; where not, every day is by its own rate.
    const limit = chance.pick([3, 100]);
    const compares = chance.happens(0.7);
    const answer = await costBreakdown(stores, 'default', question, {
      compares,
      limit,
      last: '30',
      now: Date.now(),
      about,
    });
    const { currency: wanted, groupBy } = question;
    const now = asked(lines, question, answer.now.from, answer.now.to);
    const before = compares ? asked(lines, question, answer.before?.from ?? '', answer.before?.to ?? '') : null;
    const old = before === null ? null : recount(before, groupBy, wanted);
    expectRows(answer, recount(now, groupBy, wanted), old, limit);
    expectSeries(answer, recount(now, ['day', groupBy[0] ?? 'team'], wanted));
    expectDaysBefore(answer, before === null ? new Map() : recount(before, ['day'], wanted));
  }
}, 120_000);

it('is in order where some is converted', async () => {
  const lines = asked(every, parseSpendQuery({}), '2026-09-10', '2026-10-10');
  const { rows } = await bursar.spend({ from: '2026-09-10', to: '2026-10-10', groupBy: 'sku,team', currency: 'USD' });
  const sums = recount(lines, ['sku', 'team'], 'USD');
  expect(rows.length).toBe(sums.size);
  for (const row of rows)
    expect(nanosOf(row.cost)).toBe(sums.get(JSON.stringify([row.currency, [row['sku'], row['team']]]))?.nanos);
  const names = rows.map((row) => `${row['sku'] ?? '\uffff'} ${row['team']}`);
  expect(names).toEqual(names.toSorted());
});

it('needs no days where all is of the currency that is asked for', async () => {
  const { stores } = bursar;
  await stores.db.query(`delete from cost_day where currency <> 'USD'`);
  const of = (currency: string | null): Promise<CostBreakdown> =>
    costBreakdown(
      stores,
      'default',
      parseSpendQuery({ from: '2026-09-20', to: '2026-10-05', groupBy: 'sku,team', currency }),
      { compares: true, limit: 50, last: '30', now: Date.now(), about },
    );
  expect(await of('USD')).toEqual(await of(null));
});
