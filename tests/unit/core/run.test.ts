/** Runs of metered records: which record continues which, what a correction leaves, and what the next day has to know. */
import { describe, expect, it } from 'vitest';
import { addedMs, carriedOver, linkRuns, recordKey, stopsAt } from '../../../src/core/cost/run.js';
import { GPU_PARTS, type UsageRecord } from '../../../src/core/usage.js';
import { metered, MONDAY } from '../../support/records.js';

const MINUTE = 60_000;
const BY_TEN_MINUTES = { incrementSeconds: 600, minimumSeconds: 1800 };

/** Minutes of Monday. */
const ran = (id: string, from: number, to: number, over: Partial<UsageRecord> = {}): UsageRecord =>
  metered(id, { resource: 'i-1', start: MONDAY + from * MINUTE, end: MONDAY + to * MINUTE, ...over });
const takenBack = (id: string, of: string, from: number, to: number, gpus = 8): UsageRecord =>
  ran(id, from, to, { corrects: of, gpuParts: -gpus * GPU_PARTS });
const gpus = (count: number): Partial<UsageRecord> => ({ gpuParts: count * GPU_PARTS });

/** `id from-to after minutes[ and on]`, in the order of time. */
const linked = (records: readonly UsageRecord[], ...rest: [ReadonlyMap<string, number>?, number?]): string[] =>
  linkRuns(records, ...rest).map(
    ({ record, beforeMs, continues }) =>
      `${record.id} ${(record.start - MONDAY) / MINUTE}-${(record.end - MONDAY) / MINUTE} after ${beforeMs / MINUTE}` +
      (continues ? ' and on' : ''),
  );

describe('a run', () => {
  it('is of records that follow each other without a gap, in whatever order they come', () => {
    const records = [ran('c', 40, 50), ran('b', 20, 30), ran('a', 0, 20)];
    const expected = ['a 0-20 after 0 and on', 'b 20-30 after 20', 'c 40-50 after 0'];
    expect(linked(records)).toEqual(expected);
    expect(linked([...records].reverse())).toEqual(expected);
    expect(linked([])).toEqual([]);
  });

  it('is of one resource, or of one namespace and the same tags where none is named', () => {
    expect(linked([ran('a', 0, 20), ran('b', 20, 30, { resource: 'i-2' })])[1]).toBe('b 20-30 after 0');
    const job = (id: string, from: number, tags: Record<string, string>, namespace = 'n'): UsageRecord =>
      ran(id, from, from + 20, { resource: null, namespace, tags });
    expect(linked([job('a', 0, { x: '1', y: '2' }), job('b', 20, { y: '2', x: '1' })])[1]).toBe('b 20-40 after 20');
    expect(linked([job('a', 0, { x: '1' }), job('b', 20, { x: '2' })])[1]).toBe('b 20-40 after 0');
    expect(linked([job('a', 0, {}), job('b', 20, {}, 'm')])[1]).toBe('b 20-40 after 0');
  });

  it('is continued by the one with as many GPUs, else by the longest, and by each once', () => {
    const ends = [ran('long', 0, 30, gpus(4)), ran('short', 20, 30, gpus(2))];
    expect(linked([...ends, ran('next', 30, 40, gpus(2))])[2]).toBe('next 30-40 after 10');
    expect(linked([...ends, ran('next', 30, 40, gpus(8))])[2]).toBe('next 30-40 after 30');
    expect(linked([...ends, ran('n1', 30, 40, gpus(8)), ran('n2', 30, 50, gpus(8))]).slice(2)).toEqual([
      'n1 30-40 after 30',
      'n2 30-50 after 10',
    ]);
  });

  it('is as long as all its records: the longest run goes on, not the longest record', () => {
    const ends = [ran('a', 0, 20, gpus(4)), ran('b', 20, 30, gpus(4)), ran('c', 10, 30, gpus(2))];
    expect(linked([...ends, ran('next', 30, 40, gpus(8))])[3]).toBe('next 30-40 after 30');
    expect(linked([...ends, ran('next', 30, 40, gpus(2))])[3]).toBe('next 30-40 after 20');
  });

  it('has no record without length, without GPUs, or of which they are unknown', () => {
    expect(linked([ran('a', 0, 0), ran('b', 0, 10, { gpuParts: 0 }), ran('c', 0, 10, { gpuParts: null })])).toEqual([]);
  });
});

describe('what a correction takes back did not run', () => {
  it('from the middle: two pieces, of which the second begins anew', () => {
    expect(linked([ran('a', 0, 60), takenBack('z', 'a', 20, 30)])).toEqual(['a 0-20 after 0', 'a 30-60 after 0']);
  });

  it('of some GPUs: the run goes on with the others', () => {
    expect(linked([ran('a', 0, 60), takenBack('z', 'a', 20, 60, 2)])).toEqual([
      'a 0-20 after 0 and on',
      'a 20-60 after 20',
    ]);
  });

  it('of all: nothing is left, and two that meet are one piece', () => {
    expect(linked([ran('a', 0, 60), takenBack('z', 'a', 0, 60)])).toEqual([]);
    expect(linked([ran('a', 0, 60), takenBack('y', 'a', 0, 30, 2), takenBack('z', 'a', 30, 60, 2)])).toEqual([
      'a 0-60 after 0',
    ]);
  });

  it('only from the record that it names and that holds it', () => {
    const other = ran('a', 0, 60, { resource: 'i-2' });
    expect(linked([ran('a', 0, 60), other, takenBack('z', 'a', 20, 60)]).sort()).toEqual([
      'a 0-20 after 0',
      'a 0-60 after 0',
    ]);
    expect(linked([ran('a', 0, 60), takenBack('z', 'b', 20, 60)])).toEqual(['a 0-60 after 0']);
    expect(linked([ran('a', 10, 60), takenBack('z', 'a', 0, 20)])).toEqual(['a 10-60 after 0']);
    const both = [takenBack('y', 'a', 50, 60), takenBack('z', 'b', 20, 60)];
    expect(linked([ran('a', 0, 60), ran('b', 0, 60), ...both]).sort()).toEqual(['a 0-50 after 0', 'b 0-20 after 0']);
    expect(linked([ran('a', 0, 60), takenBack('z', 'a', 20, 61)])).toEqual(['a 0-60 after 0']);
  });

  it('and what a correction adds ran by itself; one that takes no GPUs back leaves the record whole', () => {
    expect(linked([ran('a', 0, 60), ran('z', 20, 30, { corrects: 'a', ...gpus(2) })])).toEqual([
      'a 0-60 after 0',
      'z 20-30 after 0',
    ]);
    const record = ran('a', 0, 60);
    for (const gpuParts of [0, null])
      expect(linkRuns([record, ran('z', 20, 30, { corrects: 'a', gpuParts })])[0]?.record).toBe(record);
  });
});

describe('over midnight', () => {
  const day = 1440;
  const last = ran('a', day - 20, day);
  const carried = new Map([[recordKey(ran('b', day, day + 30)), 20 * MINUTE]]);
  const midnight = MONDAY + day * MINUTE;
  const over = (records: readonly UsageRecord[], price: typeof BY_TEN_MINUTES | null = BY_TEN_MINUTES) =>
    carriedOver('d', linkRuns(records), midnight, () => price);

  it('a record that reaches it goes on from what is carried, and no other does', () => {
    const next = ran('a', day - 10, day + 30);
    const known = new Map([[recordKey(next), 20 * MINUTE]]);
    expect(linked([next], known, midnight)).toEqual([`a ${day - 10}-${day + 30} after 20`]);
    expect(linked([ran('b', day, day + 30)], carried, midnight)).toEqual([`b ${day}-${day + 30} after 0`]);
    expect(linked([next], known, midnight + 31 * MINUTE)).toEqual([`a ${day - 10}-${day + 30} after 0`]);
    expect(linked([next], known, MONDAY + (day + 30) * MINUTE)).toEqual([`a ${day - 10}-${day + 30} after 20`]);
  });

  it('is carried what the seller would add, exactly below the minimum', () => {
    expect(over([last])).toEqual([
      { dimension: 'd', record: recordKey(last), beforeMs: 0, matters: true, continues: false },
    ]);
    expect(over([ran('z', day - 25, day - 20), last])).toMatchObject([{ beforeMs: 5 * MINUTE, matters: true }]);
  });

  it('is carried nothing where nothing would be added, there is no price, or it ends before', () => {
    expect(over([ran('a', day - 30, day)])).toEqual([]);
    expect(over([last], null)).toEqual([]);
    expect(over([ran('a', day - 20, day - 1)])).toEqual([]);
    expect(over([ran('a', day, day + 5)])).toEqual([]);
  });

  it('is carried nothing of runs that end before or begin at midnight, however long they have run', () => {
    expect(over([ran('a', day - 30, day - 20), ran('b', day - 20, day - 5)])).toEqual([]);
    expect(over([last, ran('b', day, day + 5), ran('c', day + 5, day + 10)])).toHaveLength(1);
  });

  it('is priced as the last moment of the day is', () => {
    const changesAtMidnight = (instant: number) =>
      instant < midnight ? BY_TEN_MINUTES : { incrementSeconds: 1, minimumSeconds: 0 };
    expect(carriedOver('d', linkRuns([last]), midnight, changesAtMidnight)).toMatchObject([{ matters: true }]);
  });

  it('says that it continues only where it ends at midnight and the seller would add something', () => {
    const next = ran('n', day, day + 5);
    expect(over([last, next])).toMatchObject([{ matters: true, continues: true }]);
    expect(over([ran('z', day - 30, day - 20), last, next])).toMatchObject([
      { beforeMs: 10 * MINUTE, matters: false, continues: false },
    ]);
    expect(over([ran('z', day - 30, day - 20), ran('a', day - 20, day + 10)])).toMatchObject([{ matters: false }]);
    const through = [ran('y', day - 105, day - 60), ran('z', day - 60, day + 10), ran('n', day + 10, day + 20)];
    expect(over(through)).toMatchObject([{ matters: true, continues: false }]);
  });

  it('is carried where in an increment a long run stands, as the shortest that counts so', () => {
    const [long, next] = [ran('y', day - 105, day - 60), ran('z', day - 60, day + 10)];
    expect(over([long, next])).toEqual([
      { dimension: 'd', record: recordKey(next), beforeMs: 35 * MINUTE, matters: true, continues: false },
    ]);
  });

  it('knows that a correction stops the run there', () => {
    const whole = ran('a', day - 20, day + 40);
    const [run] = over([whole, takenBack('z', 'a', day, day + 40)]);
    expect(run).toEqual({
      dimension: 'd',
      record: recordKey(whole),
      beforeMs: 0,
      matters: true,
      continues: false,
      stops: true,
    });
    const fewer = over([whole, takenBack('z', 'a', day, day + 40, 2)]);
    expect(fewer).toMatchObject([{ matters: true, continues: true, stops: true }]);
    const piece = ran('a', day - 20, day - 10);
    expect(stopsAt({ record: piece, whole, beforeMs: 0, continues: false }, midnight)).toBe(false);
    expect(stopsAt({ record: last, whole: last, beforeMs: 0, continues: false }, midnight)).toBe(false);
  });
});

it('the seller adds up to the increment, and up to the minimum, of the whole run', () => {
  const added = (minutes: number, before = 0): number =>
    addedMs({ record: ran('a', 0, minutes), beforeMs: before * MINUTE }, BY_TEN_MINUTES) / MINUTE;
  expect([added(20), added(30), added(31), added(40), added(5, 30)]).toEqual([10, 0, 9, 0, 5]);
});
