/** A look by parts: one that fails hides none of the others, is said, and is asked for again from where it was. */
import { describe, expect, it } from 'vitest';
import { denied, Failure, unavailable } from '../../../src/core/errors.js';
import { eachPart, RecordedRead, orLacking, type LackingPart } from '../../../src/core/partial-read.js';

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

const reader = (failing: readonly string[]) =>
  async function* (part: string, since: number): AsyncGenerator<string> {
    if (failing.includes(part)) throw denied(`${part} is denied`);
    yield `${part} since ${since}`;
  };
const fresh = (): RecordedRead => new RecordedRead([], 100, (readTo) => readTo ?? 0);

it('gives all parts but the one that fails, whichever that is, and says it', async () => {
  for (const bad of ['a', 'b', 'c']) {
    const partial = fresh();
    const good = ['a', 'b', 'c'].filter((part) => part !== bad);
    expect(await all(eachPart(['a', 'b', 'c'], 90, partial, reader([bad])))).toEqual(
      good.map((part) => `${part} since 90`),
    );
    expect(partial.lacking).toEqual([{ part: bad, problem: `${bad} is denied`, readTo: 100 }]);
  }
});

it('fails where nothing could be read, and, after the others, where nobody is told', async () => {
  const partial = fresh();
  await expect(all(eachPart(['a', 'b'], 90, partial, reader(['a', 'b'])))).rejects.toThrow('a is denied');
  expect(partial.lacking).toEqual([]);
  const read: string[] = [];
  await expect(
    (async () => {
      for await (const one of eachPart(['a', 'b'], 90, undefined, reader(['a']))) read.push(one);
    })(),
  ).rejects.toBeInstanceOf(Failure);
  expect(read).toEqual(['b since 90']);
  await expect(all(eachPart([], 90, partial, reader([])))).resolves.toEqual([]);
});

it('lets a bug through', async () => {
  const broken = async function* (): AsyncGenerator<string> {
    yield* [];
    throw new Error('broken invariant');
  };
  await expect(all(eachPart(['a', 'b'], 0, fresh(), broken))).rejects.toThrow('broken invariant');
  await expect(orLacking(fresh(), 'a', () => Promise.reject(new Error('a bug')), 1)).rejects.toThrow('a bug');
});

it('asks for what lags behind from where it was read last, for as long as it lags', async () => {
  const first = new RecordedRead([], null, (readTo) => readTo ?? 0);
  await all(eachPart(['a', 'b'], 0, first, reader(['a'])));
  expect(first.lacking).toEqual([{ part: 'a', problem: 'a is denied', readTo: null }]);
  const second = new RecordedRead(first.lacking, 200, (readTo) => readTo ?? 0);
  await all(eachPart(['a', 'b'], 190, second, reader(['a', 'x'])));
  expect(second.lacking).toEqual([{ part: 'a', problem: 'a is denied', readTo: null }]);
  const third = new RecordedRead(second.lacking, 300, (readTo) => readTo ?? 0);
  expect(await all(eachPart(['a', 'b'], 290, third, reader([])))).toEqual(['a since 0', 'b since 290']);
  expect(third.lacking).toEqual([]);
});

it('knows that what lies within a part lags as far', () => {
  const region = new RecordedRead([{ part: 'r', problem: 'p', readTo: 50 }], 100, (readTo) => readTo ?? 0);
  expect(region.resumeFrom('r: traffic')).toBe(50);
  region.lacks('r: traffic', 'no');
  expect(region.lacking).toEqual([{ part: 'r: traffic', problem: 'no', readTo: 50 }]);
  const within = new RecordedRead([{ part: 'r: traffic', problem: 'p', readTo: 50 }], 100, (readTo) => readTo ?? 0);
  expect(within.resumeFrom('r')).toBeNull();
  within.lacks('r', 'no');
  expect(within.lacking).toEqual([
    { part: 'r', problem: 'no', readTo: 100 },
    { part: 'r: traffic', problem: 'p', readTo: 50 },
  ]);
});

it('keeps what a part gives instead, and every reason', async () => {
  const partial = fresh();
  expect(await orLacking(partial, 'a', () => Promise.reject(denied('one')), 'none')).toBe('none');
  expect(await orLacking(partial, 'a', () => Promise.reject(denied('two')), 'none')).toBe('none');
  expect(await orLacking(partial, 'b', () => Promise.resolve('some'), 'none')).toBe('some');
  expect(partial.lacking).toEqual([{ part: 'a', problem: 'one; two', readTo: 100 }]);
  await expect(orLacking(undefined, 'a', () => Promise.reject(denied('one')), 'none')).rejects.toThrow('one');
});

describe('what was away', () => {
  const readAgain = async (before: readonly LackingPart[], failure: Failure): Promise<RecordedRead> => {
    const partial = new RecordedRead(before, 0, () => 0);
    const reading = eachPart(['there', 'away'], 0, partial, async function* (part) {
      if (part === 'away') throw failure;
      yield part;
    });
    for await (const _ of reading);
    return partial;
  };

  it('is asked for again as soon as a collection that was away whole, and ever later', async () => {
    const pauses: (number | null)[] = [];
    let before: readonly LackingPart[] = [];
    for (let n = 0; n < 9; n++) {
      const partial = await readAgain(before, unavailable('no answer'));
      pauses.push(partial.againAfterMs);
      before = partial.lacking;
    }
    expect(pauses.slice(0, 4)).toEqual([30_000, 60_000, 120_000, 240_000]);
    expect(pauses.at(-1)).toBe(3_600_000);
  });

  it('is asked for again as soon as the part that was away the fewest times', () => {
    const before = [1, 3].map((away) => ({ part: `p${away}`, problem: 'no answer', readTo: 0, away }));
    const partial = new RecordedRead(before, 0, () => 0);
    for (const { part } of before) partial.lacks(part, 'no answer', true);
    expect(partial.againAfterMs).toBe(60_000);
    expect(fresh().againAfterMs).toBeNull();
  });

  it('is another matter than what was refused', async () => {
    const partial = await readAgain([], denied('not allowed'));
    expect(partial.lacking).toHaveLength(1);
    expect(partial.againAfterMs).toBeNull();
    expect((await readAgain(partial.lacking, unavailable('no answer'))).againAfterMs).toBe(30_000);
  });
});
