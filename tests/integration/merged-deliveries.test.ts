/**
 * Small deliveries that are kept as one: whatever comes, is stated again, corrected or taken back before and after, all
 * that counts is as it is where nothing was merged.
 */
import * as fc from 'fast-check';
import { Client } from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { commonDivisor } from '../../src/core/cost/rollup.js';
import { DAY_MS } from '../../src/core/time.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { Database } from '../../src/store/database.js';
import { Stores } from '../../src/store/stores.js';
import { BLOCK_RECORDS, decodeBlock } from '../../src/store/usage/block.js';
import { blocksOf, meteredBlocks, readSeen } from '../../src/store/usage/reading.js';
import { runsOf } from '../../src/store/usage/runs.js';
import { digestRows } from '../../src/store/usage/seen.js';
import { undoImport } from '../../src/store/usage/undo.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { limit } from '../support/cluster.js';
import { HOUR, metered, MONDAY } from '../support/records.js';

const LATER = 2 * HOUR;

/** Merges what may be merged when some hours have gone by; when it is to be looked at again. */
async function merge({ db, stores, clock }: TestBursar, now = clock.at + LATER): Promise<number | null> {
  for (;;) {
    const next = await db.transaction((tx) => stores.merging.merge(tx, 'default', 'default', now));
    if (next !== now) return next;
  }
}

const undo = ({ db, stores, clock }: TestBursar, id: string): Promise<unknown> =>
  db.transaction((tx) => undoImport(stores, tx, 'default', id, 'test', clock.at));

const lastImport = async ({ db }: TestBursar): Promise<string> =>
  (await db.query<{ id: string }>(`select max(id)::text as id from import`))[0]?.id ?? '';

async function empty({ db }: TestBursar): Promise<void> {
  await db.query(
    `truncate usage_hour, cost_hour, cost_day, block, usage_id, usage_statement, carried_run, delivery, import, reject, work, source restart identity`,
  );
}

/** Every record, of which import it is and whether it counts. */
async function records({ db }: TestBursar): Promise<string[]> {
  const imports = new Map(
    (
      await db.query<{ id: string; import: string }>(
        `select id::text as id, import::text as import from delivery where members is null
         union all select m ->> 'id', m ->> 'import' from delivery, jsonb_array_elements(members) m`,
      )
    ).map((row) => [row.id, row.import]),
  );
  const blocks = await db.query<{
    delivery: string;
    payload: Buffer;
    set_aside: number[];
    members: string[] | null;
    counts: number[] | null;
  }>(`select delivery::text as delivery, payload, set_aside, members::text[] as members, counts from block`);
  return blocks
    .flatMap((block) => {
      const all = decodeBlock(block.payload);
      return [...runsOf(block, block.delivery, all.length).all()].flatMap(({ member, from, to }) =>
        all
          .slice(from, to)
          .map((record, at) =>
            JSON.stringify([imports.get(member) ?? 'no import', block.set_aside.includes(from + at), record]),
          ),
      );
    })
    .sort();
}

/** What counts, what is known, and what was said of every import. */
async function books(bursar: TestBursar): Promise<unknown> {
  const { db } = bursar;
  const digests = await db.query<{ hour: Date; digests: Buffer }>(`select hour, digests from usage_id`);
  return {
    sums: (
      await db.query<{ granules: string[] }>(
        `select u.team, u.hour, d.account, d.sku, sum(u.records)::text as records, sum(u.gpu_part_ms)::text as gpu, sum(u.storage_mib_ms)::text as storage,
         sum(u.network_bytes)::text as network, min(u.shortest_ms)::text as shortest, array_agg(distinct u.granule_ms::text) as granules
       from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension group by 1, 2, 3, 4 order by 1, 2, 3, 4`,
      )
    ).map(({ granules, ...row }) => ({ ...row, granule: granules.map(Number).reduce(commonDivisor, 0) })),
    records: await records(bursar),
    known: digests
      .flatMap(({ hour, digests: all }) =>
        Array.from(
          { length: all.length / 16 },
          (_, at) => `${hour.toISOString()} ${all.toString('hex', 16 * at, 16 * at + 16)}`,
        ),
      )
      .sort(),
    imports: await db.query(
      `select id, accepted, rejected, unchanged, undone_at is null as stands from import order by id`,
    ),
    costs: await db.query(
      `select team, hour, component, unpriced_reason, quantity::text as quantity, nanos::text as nanos from cost_hour order by 1, 2, 3, 4, 5, 6`,
    ),
  };
}

/** As an import asks whether its source is free. */
const FREE = 'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as free';

const MEMBERS = `select coalesce(sum(jsonb_array_length(members)), 0)::int as members from delivery`;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      records: fc.array(
        fc.record({
          id: fc.nat({ max: 7 }),
          hour: fc.constantFrom(0, 1, 2, 22, 23, 24, 25),
          hours: fc.constantFrom(0.25, 0.5, 1, 2),
          gpus: fc.integer({ min: 1, max: 3 }),
          revision: fc.option(fc.nat({ max: 9 }), { freq: 4 }),
          team: fc.constantFrom('red', 'blue'),
          isCorrection: fc.boolean(),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('undo' as const), which: fc.nat({ max: 9 }) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('merge' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rules' as const), tag: fc.constantFrom('team', 'other') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('price' as const) }) },
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const recordsOf = ({ records: sent }: Extract<Step, { kind: 'send' }>): UsageRecord[] =>
  sent.map(({ id, hour, hours, gpus, revision, team, isCorrection }) => {
    const corrected = isCorrection && id > 5 ? `r${id - 6}` : null;
    return metered(corrected === null ? `r${id}` : `c${id}`, {
      account: `a${id % 2}`,
      resource: `i-${id}`,
      start: MONDAY + hour * HOUR,
      end: MONDAY + (hour + hours) * HOUR,
      gpuParts: (corrected === null ? gpus : -1) * 7000,
      networkBytes: corrected === null ? 1001 : null,
      tags: { team, other: team === 'red' ? 'blue' : 'red' },
      ...(revision === null ? {} : { version: { revision, updatedAt: null } }),
      ...(corrected === null ? {} : { corrects: corrected, account: `a${(id - 6) % 2}`, resource: `i-${id - 6}` }),
    });
  });

describe('merged deliveries', async () => {
  const [plain, merging] = [await testBursar(), await testBursar()];
  const both = [plain, merging];
  beforeEach(async () => {
    for (const bursar of both) {
      await empty(bursar);
      bursar.clock.at = MONDAY + 3 * DAY_MS;
    }
  });
  const setRules = async (bursar: TestBursar, tag: string): Promise<void> => {
    const rules = ['red', 'blue'].map((team) => ({ match: { label: { key: tag, value: team } }, team }));
    await bursar.db.transaction((tx) => bursar.stores.organisations.saveRules(tx, 'default', rules, 'test'));
  };
  const send = (bursar: TestBursar, ...all: UsageRecord[]): Promise<void> => bursar.take(all);

  it('change nothing of what counts, is known and can be taken back', { timeout: limit(240_000) }, async () => {
    for (const bursar of both) await bursar.setPrices([instancePrice('55.04')]);
    const seen = { merged: 0, undone: 0, refused: 0, aside: 0, taken: 0 };
    let price = 55;
    const runs = Number(process.env['BURSAR_MERGE_RUNS'] ?? 20);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 16 }), async (steps) => {
        for (const bursar of both) {
          await empty(bursar);
          bursar.clock.at = MONDAY + 3 * DAY_MS;
        }
        for (const one of steps) {
          for (const bursar of both) bursar.clock.at += HOUR / 4;
          if (one.kind === 'merge') {
            await merge(merging);
            seen.merged += (await merging.db.query<{ members: number }>(MEMBERS))[0]?.members ?? 0;
          } else if (one.kind === 'send')
            for (const bursar of both) await bursar.take(recordsOf(one), { strict: false });
          else if (one.kind === 'price') {
            price += 1;
            for (const bursar of both)
              await bursar.setPrices([instancePrice(`${price}.5`, { effectiveFrom: MONDAY + HOUR / 3 + price })]);
          } else if (one.kind === 'rules') for (const bursar of both) await setRules(bursar, one.tag);
          else {
            const stands = await plain.db.query<{ id: string }>(
              `select id::text as id from import where undone_at is null order by import.id`,
            );
            const id = stands[one.which % Math.max(1, stands.length)]?.id;
            if (id === undefined) continue;
            const before = (await merging.db.query<{ members: number }>(MEMBERS))[0]?.members ?? 0;
            const [a, b] = await Promise.all(
              both.map((bursar) =>
                undo(bursar, id).then(
                  (said) => JSON.stringify(said),
                  (error: unknown) => String(error),
                ),
              ),
            );
            expect(b).toBe(a);
            seen.undone += 1;
            if (a?.startsWith('Failure') === true || a?.includes('undo') === true) seen.refused += 1;
            if (((await merging.db.query<{ members: number }>(MEMBERS))[0]?.members ?? 0) < before) seen.taken += 1;
          }
          if (one.kind !== 'send') for (const bursar of both) await bursar.runner.drain();
          const [a, b] = [await books(plain), await books(merging)];
          expect(b).toEqual(a);
          seen.aside += (
            await merging.db.query(`select 1 from block where members is not null and set_aside <> '{}'`)
          ).length;
        }
      }),
      { numRuns: runs, seed: 4, endOnFailure: true },
    );
    const { refused, ...must } = seen;
    for (const [what, times] of Object.entries(must)) expect(times, what).toBeGreaterThan(0);
    if (runs >= 60) expect(refused).toBeGreaterThan(0);
  });

  it('are one block, one sum an hour and one list of digests, and take what comes late', async () => {
    const bursar = merging;
    const minutes = (n: number): UsageRecord =>
      metered(`m${n}`, { resource: 'i-1', start: MONDAY + n * 300_000, end: MONDAY + (n + 1) * 300_000 });
    const shape = async (): Promise<unknown> => {
      const [row] = await bursar.db.query(
        `select (select count(*)::int from delivery) as deliveries, (select count(*)::int from block) as blocks, (select sum(records)::int from block) as records,
           (select count(*)::int from usage_hour) as hours, (select count(*)::int from usage_id) as lists, (select sum(records)::int from delivery) as delivered`,
      );
      return row;
    };
    for (let n = 0; n < 24; n++) await send(bursar, minutes(n));
    expect(await shape()).toEqual({ deliveries: 24, blocks: 24, records: 24, hours: 24, lists: 24, delivered: 24 });
    // Nothing for an hour: not yet.
    expect(await merge(bursar, bursar.clock.at + HOUR - 1)).toBe(bursar.clock.at + HOUR);
    expect(await shape()).toMatchObject({ deliveries: 24 });
    expect(await merge(bursar)).toBeNull();
    expect(await shape()).toEqual({ deliveries: 1, blocks: 1, records: 24, hours: 2, lists: 2, delivered: 24 });
    bursar.clock.at += DAY_MS;
    await send(bursar, minutes(25));
    await send(bursar, minutes(300));
    await merge(bursar);
    // One of the day after is alone, and stays as it came.
    expect(await shape()).toEqual({ deliveries: 2, blocks: 2, records: 26, hours: 4, lists: 4, delivered: 26 });
    for (const n of [3, 24, 25]) await send(bursar, minutes(n));
    await merge(bursar);
    const [{ counted } = { counted: 0 }] = await bursar.db.query<{ counted: number }>(
      `select sum(records)::int as counted from usage_hour`,
    );
    expect(counted).toBe(27);
    // All of it is taken back, one by one: nothing is left.
    const imports = await bursar.db.query<{ id: string }>(
      `select id::text as id from import where accepted > 0 order by import.id desc`,
    );
    for (const { id } of imports) await undo(bursar, id);
    expect(await shape()).toEqual({ deliveries: 0, blocks: 0, records: null, hours: 0, lists: 0, delivered: null });
  });

  it('fill blocks, and a delivery that lies in two of them is taken out of both', {
    timeout: limit(60_000),
  }, async () => {
    const most = BLOCK_RECORDS - 6000;
    const batch = (name: string): UsageRecord[] =>
      Array.from({ length: most }, (_, n) => metered(`${name}${n}`, { resource: `i-${n}`, gpuParts: 7000 + n }));
    for (const bursar of both) for (const name of ['a', 'b', 'c']) await bursar.take(batch(name));
    const id = String(Number(await lastImport(merging)) - 1);
    await merge(merging);
    expect(await merging.db.query(`select records from block order by block.no`)).toEqual([
      { records: BLOCK_RECORDS },
      { records: 3 * most - BLOCK_RECORDS },
    ]);
    for (const bursar of both) await undo(bursar, id);
    expect(await books(merging)).toEqual(await books(plain));
    await merge(merging);
    for (const bursar of both) await bursar.take(batch('d'));
    await merge(merging);
    expect(await books(merging)).toEqual(await books(plain));
  });

  it('wait for an import of the source, for each other and for what is allocated anew', async () => {
    const bursar = merging;
    for (let n = 0; n < 3; n++) await send(bursar, metered(`r${n}`));
    const now = bursar.clock.at + LATER;
    const beside = new Client({ connectionString: bursar.url });
    await beside.connect();
    await beside.query('begin');
    await beside.query(FREE, ['default\u0001default']);
    expect(await merge(bursar, now)).toBe(now + 60_000);
    await beside.query('rollback');
    // While it is merged no import of the source begins, and nobody who takes one back comes between.
    await bursar.db.transaction(async (tx) => {
      await bursar.stores.merging.merge(tx, 'default', 'default', now);
      expect((await beside.query(FREE, ['default\u0001default'])).rows).toEqual([{ free: false }]);
      await expect(beside.query(`select 1 from source for update nowait`)).rejects.toThrow('could not obtain lock');
      await expect(beside.query(`select 1 from organisation for update nowait`)).rejects.toThrow(
        'could not obtain lock',
      );
    });
    await beside.end();
    await send(bursar, metered('late'));
    await setRules(bursar, 'team');
    expect(await merge(bursar, now + HOUR)).toBe(now + HOUR + 60_000);
    await bursar.runner.drain();
    expect(await merge(bursar, now + HOUR)).toBeNull();
    expect((await bursar.db.query<{ members: number }>(MEMBERS))[0]?.members).toBe(4);
  });

  it('are merged by the line, hour by hour, as the calendar has it', async () => {
    const bursar = merging;
    for (let n = 0; n < 3; n++) await send(bursar, metered(`r${n}`));
    expect(await bursar.stores.merging.sources(bursar.db, 'default')).toEqual(['default']);
    const { enqueue } = await import('../../src/store/work.js');
    const { mergeItem } = await import('../../src/store/usage/merging.js');
    await enqueue(bursar.db, 'default', [mergeItem('default')]);
    await bursar.runner.drain();
    expect((await bursar.db.query<{ members: number }>(MEMBERS))[0]?.members).toBe(0);
    bursar.clock.at += HOUR;
    await bursar.runner.drain();
    expect((await bursar.db.query<{ members: number }>(MEMBERS))[0]?.members).toBe(3);
    expect(await bursar.stores.merging.sources(bursar.db, 'default')).toEqual([]);
  });

  it('leave alone what lies in an archive, and their imports stay as long as they do', async () => {
    const bursar = merging;
    const { db, stores, clock } = bursar;
    for (let n = 0; n < 4; n++) await send(bursar, metered(`r${n}`));
    const shape = async (): Promise<unknown[]> =>
      db.query(
        `select jsonb_array_length(members) as members, archived from delivery order by members is null, delivery.id`,
      );
    await db.query(`update delivery set archived = true where id = (select min(id) from delivery)`);
    await merge(bursar);
    expect(await shape()).toEqual([
      { members: 3, archived: null },
      { members: null, archived: true },
    ]);
    await db.query(`update delivery set archived = true`);
    await send(bursar, metered('r5'));
    await merge(bursar);
    expect(await shape()).toHaveLength(3);
    // A statement that came late is in no sum, and its import brought it all the same.
    await empty(bursar);
    for (const revision of [2, 1]) await send(bursar, metered('r', { version: { revision, updatedAt: null } }));
    await merge(bursar);
    expect(await stores.tidying.tidy(db, clock.at + 500 * DAY_MS)).toMatchObject({ import: 0 });
    const id = await lastImport(bursar);
    await undo(bursar, id);
    expect(await stores.tidying.tidy(db, clock.at + 500 * DAY_MS)).toMatchObject({ import: 1 });
  });

  it('are known by every id, in whatever hour it comes back and whoever remembers what of it', async () => {
    for (const bursar of both) for (let n = 0; n < 5; n++) await send(bursar, metered(`r${n}`));
    await merge(merging);
    // A list is of all versions in it.
    for (const version of [1n, 3n, 5n]) {
      const rows: string[] = [];
      for await (const row of digestRows(merging.db, 'default', 'default', version, version)) rows.push(row.delivery);
      expect(rows).toHaveLength(1);
    }
    const moved = (n: number): UsageRecord =>
      metered(`r${n}`, {
        start: MONDAY + 40 * HOUR,
        end: MONDAY + 41 * HOUR,
        version: { revision: 1, updatedAt: null },
      });
    for (const bursar of both) await send(bursar, moved(1));
    const fresh = await Database.open(merging.url, 2);
    const others = new Stores(fresh);
    for (const bursar of both) {
      const { intake } = bursar.stores;
      if (bursar === merging) Object.assign(bursar.stores, { intake: others.intake });
      await bursar.take([metered('r0'), moved(2)]);
      Object.assign(bursar.stores, { intake });
    }
    await fresh.close();
    expect(await books(merging)).toEqual(await books(plain));
    expect(await records(merging)).toHaveLength(7);
  });

  it('are read whole while they are merged, or the reader begins anew', async () => {
    const bursar = merging;
    for (let n = 0; n < 6; n++) await send(bursar, metered(`r${n}`));
    const { db } = bursar;
    const span = { start: MONDAY, end: MONDAY + DAY_MS };
    const ids = async (): Promise<string[]> =>
      (await db.query<{ id: string }>(`select id::text as id from delivery order by delivery.id`)).map(({ id }) => id);
    const read = async (between: () => Promise<unknown>): Promise<number> => {
      let all = 0;
      for await (const { payload } of blocksOf(db, 'default', await ids(), span, 2)) {
        all += decodeBlock(payload).length;
        if (all === 2) await between();
      }
      return all;
    };
    const look = async (between: () => Promise<unknown>): Promise<number> => {
      let all = 0;
      for await (const { payload } of readSeen(db, 'default', await meteredBlocks(db, 'default', span), 2)) {
        all += decodeBlock(payload).length;
        if (all === 2) await between();
      }
      return all;
    };
    const nothing = async (): Promise<void> => undefined;
    expect([await read(nothing), await look(nothing)]).toEqual([6, 6]);
    await expect(read(() => merge(bursar))).rejects.toMatchObject({ kind: 'unavailable' });
    expect([await read(nothing), await look(nothing)]).toEqual([6, 6]);
    for (let n = 6; n < 12; n++) await send(bursar, metered(`r${n}`));
    await expect(look(() => merge(bursar))).rejects.toMatchObject({ kind: 'unavailable' });
    expect([await read(nothing), await look(nothing)]).toEqual([12, 12]);
  });
});
