/** The roll-up by cases counted by hand: which records are one sum, and what is in it. */
import { describe, expect, it } from 'vitest';
import { formatDecimal, parseDecimal } from '../../../src/core/decimal.js';
import {
  commonDivisor,
  dimensionKey,
  Grouping,
  HourSum,
  HourSums,
  isLinear,
  type Cell,
} from '../../../src/core/cost/rollup.js';
import { GPU_PARTS, type Charge, type UsageRecord } from '../../../src/core/usage.js';
import { billed, HOUR, metered, MONDAY } from '../../support/records.js';

const grouping = (trackedTags: readonly string[] = [], teamOf: (one: UsageRecord) => string = () => 'red'): Grouping =>
  new Grouping(teamOf, trackedTags);
/** The sums of records, those of each hour one after the other. */
function sums(records: readonly UsageRecord[], groups = grouping()): HourSum[] {
  const all = new HourSums();
  for (const record of records) all.add(groups.groupOf(record), record);
  return all.drain().sort((a, b) => a.hour - b.hour);
}
const tagged = (tags: UsageRecord['tags']): UsageRecord => metered('r', { tags });

describe('two records are of one group', () => {
  const DAY = 24 * HOUR;
  const bill = (over: Partial<UsageRecord> = {}, charge: Partial<Charge> = {}): UsageRecord =>
    billed('b', '1', { start: MONDAY, end: MONDAY + HOUR, ...over }, charge);
  const some = parseDecimal('1')!;
  it.each<[string, UsageRecord, UsageRecord]>([
    ['provider', metered('r'), metered('r', { provider: 'Oracle' })],
    ['account', metered('r'), metered('r', { account: 'a2' })],
    ['an account that is not known', metered('r'), metered('r', { account: null })],
    ['sub-account', metered('r'), metered('r', { subAccount: 's' })],
    ['resource', metered('r'), metered('r', { resource: 'i-1' })],
    ['namespace', metered('r'), metered('r', { namespace: 'n' })],
    ['service', metered('r'), metered('r', { service: 'EC2' })],
    ['SKU', metered('r'), metered('r', { sku: 'g6.xlarge' })],
    ['region', metered('r'), metered('r', { region: 'us-west-2' })],
    ['term', metered('r'), metered('r', { term: 'spot' })],
    ['model', metered('r'), metered('r', { gpuModel: 'H100' })],
    ['no tags', tagged({ a: '1' }), tagged(null)],
    ['another value of a tag', tagged({ a: '1' }), tagged({ a: '2' })],
    ['another name of a tag', tagged({ a: '1' }), tagged({ b: '1' })],
    ['one tag more', tagged({ a: '1' }), tagged({ a: '1', b: '2' })],
    ['tags that read alike', tagged({ ab: 'c' }), tagged({ a: 'bc' })],
    ['tags that read alike with their lengths', tagged({ a: '1', b: '2' }), tagged({ a: '11:b1:2' })],
    ['a line of a bill', metered('r'), bill()],
    ['category', bill(), bill({}, { category: 'Credit' })],
    ['currency', bill(), bill({}, { currency: 'EUR' })],
    ['start of the billing period', bill(), bill({}, { periodStart: Date.UTC(2026, 9, 2) })],
    ['end of the billing period', bill(), bill({}, { periodEnd: Date.UTC(2026, 9, 31) })],
    ['an effective amount', bill(), bill({}, { effective: some })],
    ['a list amount', bill(), bill({}, { list: some })],
    ['effective and list', bill({}, { effective: some }), bill({}, { list: some })],
    ['whole days', bill(), bill({ end: MONDAY + DAY })],
    ['more whole days', bill({ end: MONDAY + DAY }), bill({ end: MONDAY + 2 * DAY })],
    ['hours of two days', bill(), bill({ start: MONDAY - HOUR, end: MONDAY + HOUR })],
    ['machine hours', bill(), bill({}, { machineHours: true })],
    ['no machine hours', bill(), bill({}, { machineHours: false })],
    ['machine hours or none', bill({}, { machineHours: true }), bill({}, { machineHours: false })],
  ])('unless they differ in: %s', (_, one, other) => {
    const groups = grouping();
    const first = groups.groupOf(one);
    const second = groups.groupOf(other);
    expect(second.index).not.toBe(first.index);
    expect(second.key).not.toBe(first.key);
    // Whichever was seen last, and in whichever order.
    for (const [record, group] of [
      [one, first],
      [one, first],
      [other, second],
      [other, second],
    ] as const)
      expect(groups.groupOf({ ...record })).toBe(group);
  });

  it.each<[string, UsageRecord, UsageRecord]>([
    ['identity, time and amount', metered('r'), metered('s', { start: MONDAY + HOUR, end: MONDAY + 2 * HOUR })],
    ['amount', metered('r'), metered('r', { gpuParts: 1, storageMib: 2, networkBytes: 3 })],
    ['the same tags', tagged({ a: '1', b: '2' }), tagged({ a: '1', b: '2' })],
    ['no tags and none', tagged(null), tagged({})],
    ['the same line again', bill(), { ...bill(), charge: { ...bill().charge! } }],
    ['the amount of a line', bill(), bill({}, { billed: parseDecimal('2')! })],
  ])('whatever else they differ in: %s', (_, one, other) => {
    const groups = grouping();
    expect(groups.groupOf(other)).toBe(groups.groupOf(one));
    groups.groupOf(metered('x', { sku: 'other' }));
    expect(groups.groupOf(other)).toBe(groups.groupOf(one));
  });

  it('and the rules are asked once for each', () => {
    let asked = 0;
    const groups = grouping([], () => `team-${(asked += 1)}`);
    const [one, other] = [metered('r', { resource: 'i-1' }), metered('s', { resource: 'i-2' })];
    expect([one, other, one, other].map((record) => groups.groupOf(record).team)).toEqual([
      'team-1',
      'team-2',
      'team-1',
      'team-2',
    ]);
    expect([one, other].map((record) => groups.groupOf(record).index)).toEqual([0, 1]);
  });

  it('and forgotten above a number, without their cells', () => {
    const groups = grouping();
    const [one, other] = [metered('r', { resource: 'i-1' }), metered('s', { resource: 'i-2' })];
    const before = groups.groupOf(one);
    expect(groups.groupOf(other).cell).toBe(before.cell);
    groups.trim(2);
    expect(groups.groupOf(one)).toBe(before);
    groups.trim(1);
    const after = groups.groupOf(one);
    expect([after.index, after.cell]).toEqual([2, before.cell]);
  });

  it('is forgotten where the texts of the groups are too long to be held, however few they are', () => {
    const groups = grouping();
    const [short, long] = [tagged({ a: '1' }), 'y'.repeat(2 << 20)];
    const first = groups.groupOf(short);
    for (let at = 0; at < 63; at++) groups.groupOf(tagged({ long, at: String(at) }));
    groups.trim(1000);
    expect(groups.groupOf(short)).toBe(first);
    for (let at = 63; at < 66; at++) groups.groupOf(tagged({ long, at: String(at) }));
    groups.trim(1000);
    expect(groups.groupOf(short)).not.toBe(first);
  });
});

describe('a cell', () => {
  const cellOf = (record: UsageRecord, trackedTags: readonly string[] = []): Cell =>
    grouping(trackedTags).groupOf(record).cell;

  it('is what is known of metered usage, and of a line of a bill', () => {
    expect(cellOf(metered('r', { service: 'EC2', gpuModel: 'H100', subAccount: 's' }))).toEqual({
      index: 0,
      team: 'red',
      dimension: {
        kind: 'metered',
        provider: 'AWS',
        account: 'a1',
        subAccount: 's',
        service: 'EC2',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        term: 'on-demand',
        gpuModel: 'H100',
        category: 'Usage',
        currency: null,
        tags: null,
        civil: false,
        days: 1,
        unstated: [],
      },
    });
    const charge = { category: 'Tax', currency: 'EUR', list: parseDecimal('3') } as const;
    expect(cellOf(billed('b', '1', { end: MONDAY + 48 * HOUR }, charge)).dimension).toMatchObject({
      kind: 'billed',
      category: 'Tax',
      currency: 'EUR',
      civil: true,
      days: 2,
      unstated: ['effective'],
    });
  });

  it('is kept apart by team and by the tags that are asked for, and by no other', () => {
    const groups = grouping(['env', 'owner'], ({ namespace }) => namespace ?? 'red');
    const of = (tags: UsageRecord['tags'], namespace: string | null = null): Cell =>
      groups.groupOf(metered('r', { tags, namespace })).cell;
    const prod = of({ env: 'prod', job: '1' });
    expect(prod.dimension.tags).toEqual({ env: 'prod' });
    expect(of({ env: 'prod', job: '2' })).toBe(prod);
    expect(of({ env: 'dev' })).not.toBe(prod);
    expect(of(null).dimension.tags).toBeNull();
    expect(of({ env: 'prod' }, 'blue')).toMatchObject({ team: 'blue', index: 3 });
  });

  it('has a key that no other has, and metered usage the one that it always had', () => {
    const dimension = cellOf(metered('r')).dimension;
    expect(dimensionKey(dimension)).toBe(
      '["metered","AWS","a1",null,null,"p5.48xlarge","us-east-1","on-demand",null,"Usage",null,null]',
    );
    const tags = { b: '2', a: '1', c: '3' };
    expect(dimensionKey({ ...dimension, tags })).toContain('[["a","1"],["b","2"],["c","3"]]');
    const keys = [
      dimension,
      { ...dimension, civil: true },
      { ...dimension, days: 2 },
      { ...dimension, unstated: ['list'] as const },
      { ...dimension, unstated: ['effective'] as const },
    ].map(dimensionKey);
    expect(new Set(keys).size).toBe(5);
  });
});

describe('what is metered', () => {
  it('is split at the hours, each byte in one of them', () => {
    const half = HOUR / 2;
    const record = metered('r', {
      start: MONDAY + half,
      end: MONDAY + 2 * HOUR,
      gpuParts: 7,
      storageMib: 3,
      networkBytes: 100,
    });
    const found = sums([record]);
    expect(
      found.map((one) => [one.hour, one.gpuPartMs, one.storageMibMs, one.networkBytes, one.records, one.granuleMs]),
    ).toEqual([
      [MONDAY, 7n * BigInt(half), 3n * BigInt(half), 33n, 0, 0],
      [MONDAY + HOUR, 7n * BigInt(HOUR), 3n * BigInt(HOUR), 67n, 1, 1.5 * HOUR],
    ]);
  });

  it('ends before the hour that it ends at', () => {
    expect(sums([metered('r', { end: MONDAY + HOUR })]).map(({ hour }) => hour)).toEqual([MONDAY]);
    expect(sums([metered('r', { end: MONDAY + HOUR + 1 })]).map(({ gpuPartMs }) => gpuPartMs)).toEqual([
      56_000n * BigInt(HOUR),
      56_000n,
    ]);
  });

  it('counts although it has no length', () => {
    const [one] = sums([metered('r', { start: MONDAY + 5, end: MONDAY + 5, networkBytes: 9 })]);
    expect(one).toMatchObject({ hour: MONDAY, records: 1, gpuPartMs: 0n, networkBytes: 9n, shortestMs: 0 });
  });

  it('is unknown where nobody has stated it', () => {
    const bare = { gpuParts: null };
    const [none] = sums([metered('r', bare)]);
    expect([none?.gpuPartMs, none?.storageMibMs, none?.networkBytes, none?.billed]).toEqual([null, null, null, null]);
    const [some] = sums([
      metered('r', { ...bare, storageMib: 2 }),
      metered('s', { ...bare, networkBytes: 0 }),
      metered('t', { gpuParts: 0 }),
      metered('u', { ...bare, storageMib: 3, networkBytes: 4 }),
    ]);
    expect([some?.gpuPartMs, some?.storageMibMs, some?.networkBytes]).toEqual([0n, 5n * BigInt(HOUR), 4n]);
  });

  it('stays exact however much it is', () => {
    const huge = new HourSum({ index: 0, team: 't', dimension: sums([metered('r')])[0]!.cell.dimension }, MONDAY);
    for (let n = 0; n < 5; n += 1) huge.addGpu(2 ** 52 + 1);
    huge.addGpu(3);
    expect(huge.gpuPartMs).toBe(5n * (2n ** 52n + 1n) + 3n);
  });

  it('knows the shortest of its runs and what all of them are multiples of', () => {
    const run = (id: string, ms: number): UsageRecord => metered(id, { end: MONDAY + ms });
    expect(sums([run('a', 600), run('b', 400), run('c', 1000)])[0]).toMatchObject({ shortestMs: 400, granuleMs: 200 });
    expect(sums([run('a', 400), run('b', 800)])[0]).toMatchObject({ shortestMs: 400, granuleMs: 400 });
  });

  it('tells nothing of runs where a correction takes from one', () => {
    const [sum] = sums([
      metered('a', { end: MONDAY + 5000, gpuParts: GPU_PARTS }),
      metered('b', { end: MONDAY + 2000, gpuParts: -GPU_PARTS, corrects: 'a' }),
    ]);
    expect(sum).toMatchObject({ records: 2, gpuPartMs: 3000n * BigInt(GPU_PARTS), shortestMs: 1, granuleMs: 1 });
  });

  it('is summed by hour and cell, whatever comes between', () => {
    const at = (hour: number, sku: string): UsageRecord =>
      metered('r', { sku, start: MONDAY + hour * HOUR, end: MONDAY + hour * HOUR + 1000, gpuParts: 1 });
    const found = sums([at(0, 'a'), at(1, 'a'), at(0, 'b'), at(0, 'a'), at(1, 'a')]);
    expect(found.map((one) => [one.hour - MONDAY, one.cell.dimension.sku, one.records, one.gpuPartMs])).toEqual([
      [0, 'a', 2, 2000n],
      [0, 'b', 1, 1000n],
      [HOUR, 'a', 2, 2000n],
    ]);
  });

  it('begins again when it was handed over', () => {
    const [all, groups] = [new HourSums(), grouping()];
    const record = metered('r');
    const add = (): void => all.add(groups.groupOf(record), record);
    add();
    add();
    expect(all.size).toBe(1);
    expect(all.drain()).toMatchObject([{ records: 2 }]);
    expect([all.size, all.drain()]).toEqual([0, []]);
    add();
    expect(all.drain()).toMatchObject([{ records: 1 }]);
  });
});

describe("a bill's lines", () => {
  it('are of the hour in which they begin, unsplit, with what each of them states', () => {
    const amount = (text: string) => parseDecimal(text)!;
    const line = (id: string, billedAmount: string, hours: number, gpuParts: number | null): UsageRecord =>
      billed(
        id,
        billedAmount,
        { start: MONDAY, end: MONDAY + hours * HOUR, gpuParts },
        { effective: amount('0.25'), list: amount('4') },
      );
    const found = sums([line('a', '1.50', 3, 7), line('b', '-0.5', 2, null)]);
    expect(found).toHaveLength(1);
    const [sum] = found;
    expect(sum).toMatchObject({ hour: MONDAY, records: 2, until: MONDAY + 3 * HOUR, gpuPartMs: 21n * BigInt(HOUR) });
    expect([sum?.billed, sum?.effective, sum?.list].map((one) => formatDecimal(one!))).toEqual(['1.00', '0.50', '8']);
    expect([sum?.shortestMs, sum?.storageMibMs]).toEqual([Number.MAX_SAFE_INTEGER, null]);
  });

  it('leave out what they do not state', () => {
    const [sum] = sums([billed('a', '1', {}, {})]);
    expect([sum?.effective, sum?.list, sum?.gpuPartMs]).toEqual([null, null, null]);
  });

  it('of whole days are of midnight UTC of the first of their dates', () => {
    // A bill by Shanghai's clock: its October begins at 16:00 UTC of the day before.
    const ahead = 8 * HOUR;
    const period = { periodStart: Date.UTC(2026, 9, 1) - ahead, periodEnd: Date.UTC(2026, 10, 1) - ahead };
    const [sum] = sums([billed('a', '1', { start: MONDAY - ahead, end: MONDAY - ahead + 24 * HOUR }, period)]);
    expect([sum?.hour, sum?.cell.dimension.civil, sum?.cell.dimension.days]).toEqual([MONDAY, true, 1]);
  });
});

describe('increments and minimums', () => {
  it.each<[number, number, number, number, boolean]>([
    // Shortest run and common length in milliseconds, increment and minimum in seconds.
    [60_000, 60_000, 60, 60, true],
    [59_999, 60_000, 60, 60, false],
    [60_000, 30_000, 60, 60, false],
    [120_000, 120_000, 60, 0, true],
    [1000, 1000, 1, 0, true],
    [1000, 1500, 1, 0, false],
    [0, 0, 1, 0, true],
  ])('runs of %d ms, all multiples of %d ms, by %d s and %d s at least: %s', (shortest, granule, step, least, is) => {
    expect(isLinear(shortest, granule, step, least)).toBe(is);
  });

  it.each([
    [12, 18, 6],
    [18, 12, 6],
    [7, 0, 7],
    [0, 7, 7],
    [5, 5, 5],
    [9, 4, 1],
  ])('of %d and %d the greatest common divisor is %d', (a, b, divisor) => {
    expect(commonDivisor(a, b)).toBe(divisor);
  });
});
