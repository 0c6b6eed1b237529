import { describe, expect, it } from 'vitest';
import { Grouping } from '../../src/core/cost/rollup.js';
import type { UsageRecord } from '../../src/core/usage.js';
import type { Queryable } from '../../src/store/database.js';
import { digest, idWords } from '../../src/store/usage/digests.js';
import { SeenIds } from '../../src/store/usage/seen.js';
import { metered } from '../support/records.js';

const START = Date.UTC(2026, 9, 1);
const record = (id: string, gpus = 1): UsageRecord =>
  metered(id, {
    account: null,
    resource: 'i-1',
    sku: null,
    region: null,
    term: null,
    start: START,
    end: START + 60_000,
    gpuParts: 7000 * gpus,
  });

describe('ids that were seen', () => {
  const grouping = new Grouping(() => 'team', []);
  /** A database in which there is nothing, and how often each process asked it. */
  const setup = () => {
    const asked: string[] = [];
    const db: Queryable = {
      query: async (sql) => {
        asked.push(sql);
        return [];
      },
    };
    const seen = new SeenIds();
    const at = (version: number, run: object = {}) =>
      seen.seenHours(db, 'o', 's', { version: BigInt(version), forgot: 0n }, run);
    return { asked, seen, at };
  };
  const group = grouping.groupOf(record('a'));
  const take = (seenHours: { takeNew: SeenIdsTake }, ...records: UsageRecord[]) => [
    ...seenHours.takeNew(
      records.map(() => group),
      records,
    ),
  ];
  type SeenIdsTake = Awaited<ReturnType<SeenIds['seenHours']>>['takeNew'];

  it('are new once, and what this process has committed is never read again', async () => {
    const { asked, at } = setup();
    expect(take(await at(1), record('a'), record('b'), record('a'))).toEqual([1, 1, 0]);
    expect(take(await at(2), record('b'), record('c'))).toEqual([0, 1]);
    expect(take(await at(3), record('c', 2))).toEqual([0]);
    expect(asked).toEqual([]);
  });

  it('are read where another process has written in between, and after a run that was rolled back', async () => {
    const { asked, seen, at } = setup();
    await at(1);
    await at(3);
    expect(asked).toHaveLength(1);
    seen.forget('o', 's');
    await at(4);
    expect(asked).toHaveLength(2);
  });

  it('are told apart from a repetition by what was written of their hour and what is not yet', async () => {
    const { asked, at } = setup();
    const seenHours = await at(1);
    take(seenHours, record('a'));
    const hour = new Set([START]);
    await seenHours.read({ query: async () => [] }, hour);
    expect(seenHours.check(group, record('a'))).toBe('repeated');
    expect(seenHours.check(group, record('a', 2))).toBe('known');
    take(seenHours, record('b'));
    expect(seenHours.check(group, record('b'))).toBe('repeated');
    expect(asked).toEqual([]);
  });

  it('have the digest that was written years ago', () => {
    const words = new Uint32Array(4);
    digest(group, record('m-1'), words, 0);
    expect([...words]).toEqual(KEPT);
    expect([...words].slice(0, 3)).toEqual([...idWords('m-1')]);
  });
});

/** As commit b512e2d wrote it. */
const KEPT = [1628675351, 1873102553, 1576937509, 3210135165];
