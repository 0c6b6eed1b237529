/** Metered usage that is sent again, corrected, taken back or metered twice: what counts is what was stated last. */
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/core/time.js';
import type { UsageRecord } from '../../src/core/usage.js';
import { undoImport } from '../../src/store/usage/undo.js';
import { instancePrice, testBursar, type TestBursar } from '../support/bursar.js';
import { testCommand } from '../support/command.js';
import { HOUR, metered, MONDAY } from '../support/records.js';
import { testApi } from '../support/web.js';

const LIST =
  'provider,sku,region,term,gpus,price,currency,per,effectiveFrom\nAWS,p5.48xlarge,us-east-1,on-demand,8,55.04,USD,instance-hour,2020-01-01\n';
const usage = (over: Readonly<Record<string, unknown>> = {}) => ({
  id: 'r1',
  provider: 'AWS',
  resource: 'i-1',
  sku: 'p5.48xlarge',
  region: 'us-east-1',
  term: 'on-demand',
  gpus: 8,
  start: '2026-10-05T00:00:00Z',
  end: '2026-10-05T01:00:00Z',
  ...over,
});

interface Imported {
  readonly files: readonly {
    import: string;
    accepted: number;
    unchanged: number;
    rejected: number;
    restated: number;
    warnings: string[];
  }[];
}

describe('usage at the command line', async () => {
  const command = await testCommand(Date.UTC(2026, 9, 7));
  beforeEach(async () => {
    await command.empty();
    await command.ask('prices', await command.file('prices.csv', LIST));
  });
  const total = async (): Promise<string | null> => (await command.ask<{ total: string | null }>('costs')).total;
  const take = async (...records: readonly object[]) => {
    const { files } = await command.ask<Imported>('import', await command.file('usage.json', { records }));
    const [one] = files;
    if (one === undefined) throw new Error('one file gives one answer');
    return one;
  };

  it('is the same record when its start moves to another hour or day', async () => {
    await take(usage());
    const moved = usage({ start: '2026-10-04T23:30:00Z' });
    expect(await take(moved)).toMatchObject({ accepted: 0, rejected: 1 });
    expect(await total()).toBe('55.040000000');
    expect(await take({ ...moved, revision: 1 })).toMatchObject({ accepted: 1, restated: 1 });
    expect(await total()).toBe('82.560000000');
    expect(await take(usage())).toMatchObject({ accepted: 0, unchanged: 1 });
    expect(await total()).toBe('82.560000000');
  });

  it('is restated by a revision or a later instant, and an earlier one that comes late changes nothing', async () => {
    await take(usage({ updatedAt: '2026-10-06T00:00:00Z' }));
    expect(await take(usage({ gpus: 4, updatedAt: '2026-10-06T02:00:00Z' }))).toMatchObject({ restated: 1 });
    expect(await total()).toBe('27.520000000');
    expect(await take(usage({ gpus: 2, updatedAt: '2026-10-06T01:00:00Z' }))).toMatchObject({
      rows: 1,
      accepted: 0,
      outdated: 1,
      restated: 0,
    });
    expect(await total()).toBe('27.520000000');
    expect(await take(usage({ gpus: 6, revision: 1 }), usage({ gpus: 1, revision: 2 }))).toMatchObject({ restated: 2 });
    expect(await total()).toBe('6.880000000');
  });

  it('is unchanged with its fields and tags in another order', async () => {
    await take(usage({ tags: { team: 'red', job: 'a' } }));
    const { id, ...rest } = usage({ tags: { job: 'a', team: 'red' } });
    expect(await take({ ...rest, id })).toMatchObject({ unchanged: 1, rejected: 0 });
  });

  it('is taken back whole, and what it restated is there again', async () => {
    await take(usage());
    const second = await take(usage({ gpus: 4, revision: 1 }), usage({ id: 'r2', resource: 'i-2' }));
    const third = await take(usage({ gpus: 1, revision: 2 }));
    expect(await total()).toBe('61.920000000');
    const { undone } = await command.ask<{ undone: unknown }>('imports', 'undo', second.import);
    expect(undone).toMatchObject({
      files: [{ import: second.import, file: 'usage.json' }],
      records: 2,
      restoredRecords: 0,
    });
    expect(await total()).toBe('6.880000000');
    expect(await command.ask('imports', 'undo', third.import)).toMatchObject({ undone: { restoredRecords: 1 } });
    expect(await total()).toBe('55.040000000');
    await expect(command.ask('imports', 'undo', third.import)).rejects.toThrow('was undone already');
    // What was taken back may be sent again.
    expect(await take(usage({ id: 'r2', resource: 'i-2' }))).toMatchObject({ accepted: 1 });
    const { audit } = await command.ask<{ audit: { verb: string; target: string }[] }>('audit');
    expect(audit.filter(({ verb }) => verb === 'usage.undo').map(({ target }) => target)).toEqual([
      third.import,
      second.import,
    ]);
  });

  it('takes a correction below zero that names what it corrects, and no other', async () => {
    const first = await take(usage());
    const correction = usage({ id: 'c1', gpus: -8, start: '2026-10-05T00:30:00Z' });
    expect(await take(correction)).toMatchObject({ rejected: 1 });
    expect(await take({ ...correction, corrects: 'nothing' })).toMatchObject({ rejected: 1 });
    expect(await take({ ...correction, corrects: 'r1', gpus: -9 })).toMatchObject({ rejected: 1 });
    expect(await take({ ...correction, corrects: 'r1' })).toMatchObject({ accepted: 1 });
    expect(await total()).toBe('27.520000000');
    expect(await take({ ...correction, corrects: 'r1' })).toMatchObject({ unchanged: 1 });
    await expect(command.ask('imports', 'undo', first.import)).rejects.toThrow('undo that import first');
  });

  it('that is shorter than an increment leaves two runs, each billed as it would be alone', async () => {
    const list =
      'provider,sku,region,term,gpus,price,currency,per,effectiveFrom,incrementSeconds,minimumSeconds\nAWS,whole,us-east-1,on-demand,8,36,USD,instance-hour,2020-01-01,3600,3600\n';
    await command.ask('prices', await command.file('whole.csv', list));
    await take(usage({ sku: 'whole', end: '2026-10-05T02:00:00Z' }));
    expect(Number(await total())).toBe(72);
    const half = { start: '2026-10-05T00:30:00Z', end: '2026-10-05T01:00:00Z' };
    expect(await take(usage({ id: 'c1', corrects: 'r1', sku: 'whole', gpus: -8, ...half }))).toMatchObject({
      accepted: 1,
    });
    // Half an hour before it and an hour after it, by whole hours.
    expect(Number(await total())).toBe(72);
    expect(await take(usage({ id: 'c2', corrects: 'r1', sku: 'whole', gpus: -8, end: half.start }))).toMatchObject({
      accepted: 1,
    });
    expect(Number(await total())).toBe(36);
  });

  it('is taken back of a run under an increment as if it had not run', async () => {
    const list =
      'provider,sku,region,term,gpus,price,currency,per,effectiveFrom,incrementSeconds\nAWS,whole,us-east-1,on-demand,8,36,USD,instance-hour,2020-01-01,3600\n';
    await command.ask('prices', await command.file('whole.csv', list));
    const at = (minute: number): string => `2026-10-05T00:${String(minute).padStart(2, '0')}:00Z`;
    const quarter = (id: string, minute: number) =>
      usage({ id, sku: 'whole', start: at(minute), end: at(minute + 15) });
    await take(quarter('q1', 0), quarter('q2', 15), quarter('q3', 30));
    expect(Number(await total())).toBe(36);
    await take({ ...quarter('c3', 30), corrects: 'q3', gpus: -8 });
    expect(Number(await total())).toBe(36);
    // Two quarters apart are two runs.
    const second = await take({ ...quarter('c2', 15), corrects: 'q2', gpus: -8 });
    await take(quarter('q4', 30));
    expect(Number(await total())).toBe(72);
    await command.ask('imports', 'undo', second.import);
    expect(Number(await total())).toBe(36);
  });

  const correction = (over: Readonly<Record<string, unknown>> = {}) => usage({ id: 'c1', corrects: 'r1', ...over });
  const raw = { accepted: 0, rejected: 1, restated: 0 };

  it('is not corrected under another name, nor renamed away from its correction', async () => {
    await take(usage({ tags: { team: 'a' } }));
    for (const other of [{ sku: 'p4d.24xlarge' }, { tags: { team: 'b' } }, { resource: 'i-9' }])
      expect(await take(correction({ gpus: -3, tags: { team: 'a' }, ...other }))).toMatchObject(raw);
    const { rejects } = await command.ask<{ rejects: { column: string; reason: string }[] }>('rejects');
    expect(rejects.map(({ column, reason }) => `${column}: ${reason}`).sort()).toEqual([
      'corrects: names another resource than "r1"',
      'corrects: names another sku than "r1"',
      'corrects: names another tag team than "r1"',
    ]);
    expect(await take(correction({ gpus: -4, tags: { team: 'a' } }))).toMatchObject({ accepted: 1 });
    expect(await take(usage({ sku: 'p4d.24xlarge', tags: { team: 'a' }, revision: 2 }))).toMatchObject(raw);
    expect(await total()).toBe('27.520000000');
  });

  it('is not restated below its correction', async () => {
    await take(usage({ gpus: 4 }));
    await take(correction({ gpus: -3 }));
    expect(await take(usage({ gpus: 2, revision: 2 }))).toMatchObject(raw);
    expect(await total()).toBe('6.880000000');
    const rejects = await command.ask<{ rejects: { column: string; reason: string }[] }>('rejects');
    expect(rejects.rejects).toMatchObject([{ column: 'id', reason: expect.stringContaining('the correction "c1"') }]);
    // The smaller correction first, then the record.
    expect(await take(correction({ gpus: -1, revision: 1 }))).toMatchObject({ accepted: 1, restated: 1 });
    expect(await take(usage({ gpus: 2, revision: 2 }))).toMatchObject({ accepted: 1, restated: 1 });
    expect(await total()).toBe('6.880000000');
    // What came before changes nothing, though it would not fit any more.
    expect(await take(correction({ gpus: -3 }))).toMatchObject({ unchanged: 1, rejected: 0 });
    expect(await total()).toBe('6.880000000');
  });

  it('does not move away from its correction', async () => {
    await take(usage({ start: '2026-10-01T00:00:00Z', end: '2026-10-01T01:00:00Z' }));
    await take(correction({ gpus: -6, start: '2026-10-01T00:00:00Z', end: '2026-10-01T01:00:00Z' }));
    const moved = usage({ start: '2026-09-30T00:00:00Z', end: '2026-09-30T01:00:00Z', revision: 2 });
    expect(await take(moved)).toMatchObject(raw);
    expect(await total()).toBe('13.760000000');
  });

  it('is not corrected twice below zero, in one file or in two', async () => {
    await take(usage({ gpus: 4 }));
    expect(await take(correction({ gpus: -3 }), correction({ id: 'c2', gpus: -3 }))).toMatchObject({
      accepted: 1,
      rejected: 1,
    });
    expect(await take(correction({ id: 'c3', gpus: -2 }))).toMatchObject(raw);
    expect(await take(correction({ id: 'c3', gpus: -1 }))).toMatchObject({ accepted: 1 });
    expect(await total()).toBe('0');
  });

  it('is not undone to a statement that its correction does not fit', async () => {
    await take(usage({ gpus: 4 }));
    const second = await take(usage({ gpus: 8, revision: 2 }));
    const third = await take(correction({ gpus: -6 }));
    await expect(command.ask('imports', 'undo', second.import)).rejects.toThrow('the correction "c1" would not fit');
    expect(await total()).toBe('13.760000000');
    await command.ask('imports', 'undo', third.import);
    await command.ask('imports', 'undo', second.import);
    expect(await total()).toBe('27.520000000');
  });

  it('is not undone so that an earlier, larger correction counts again which does not fit', async () => {
    await take(usage({ gpus: 4 }));
    await take(correction({ gpus: -3 }));
    const smaller = await take(correction({ gpus: -1, revision: 1 }));
    const less = await take(usage({ gpus: 2, revision: 2 }));
    await expect(command.ask('imports', 'undo', smaller.import)).rejects.toThrow('the correction "c1" would not fit');
    await command.ask('imports', 'undo', less.import);
    await command.ask('imports', 'undo', smaller.import);
    expect(await total()).toBe('6.880000000');
  });

  it('of one GPU that overlaps is told at import and by doctor, and counts', async () => {
    await take(usage());
    const { warnings } = await take(usage({ id: 'other', start: '2026-10-05T00:30:00Z' }));
    expect(warnings).toEqual([expect.stringContaining('"r1" and "other" overlap from 2026-10-05T00:30:00Z')]);
    expect(await total()).toBe('82.560000000');
    const { findings } = await command.ask<{ findings: { check: string; detail: string }[] }>('doctor');
    expect(findings.find(({ check }) => check === 'overlapping usage')?.detail).toContain('i-1');
  });

  it('of a bill is taken back, and the bill that it replaced is there again', async () => {
    const bill = (amount: string): string =>
      `BilledCost,EffectiveCost,ListCost,BillingAccountId,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ProviderName,ServiceName,ResourceId\n${amount},${amount},${amount},a1,USD,2026-09-01T00:00:00Z,2026-10-01T00:00:00Z,2026-09-05T00:00:00Z,2026-09-06T00:00:00Z,Usage,AWS,Compute,i-1\n`;
    const send = async (amount: string) =>
      (await command.ask<Imported>('import', await command.file('bill.csv', bill(amount)), '--format', 'focus'))
        .files[0];
    await send('10.00');
    const second = await send('20.00');
    const third = await send('30.00');
    expect(await total()).toBe('30.00');
    await command.ask('imports', 'undo', second?.import ?? '');
    expect(await total()).toBe('30.00');
    expect(await command.ask('imports', 'undo', third?.import ?? '')).toMatchObject({
      undone: { records: 1, restored: [{ provider: 'AWS', account: 'a1', records: 1 }] },
    });
    expect(await total()).toBe('10.00');
  });
});

describe('taking an import back through the API', async () => {
  const api = await testApi();
  it('answers what is gone, and is for operators', async () => {
    const sent = await api.call<{ import: string }>('POST', '/v1/usage', { body: { records: [usage()] } });
    const key = await api.keyFor({ role: 'viewer' });
    expect((await api.call('POST', `/v1/imports/${sent.body.import}/undo`, { key })).status).toBe(403);
    expect(await api.call('POST', `/v1/imports/${sent.body.import}/undo`)).toMatchObject({
      status: 200,
      body: { records: 1 },
    });
    expect((await api.call('POST', `/v1/imports/${sent.body.import}/undo`)).status).toBe(409);
    expect((await api.call('POST', `/v1/imports/999999/undo`)).status).toBe(404);
  });
});

/** Statements of a few ids, each with a version of its own, in deliveries of which some are taken back. */
const statement = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  hour: fc.integer({ min: 20, max: 27 }),
  gpus: fc.integer({ min: 1, max: 8 }),
  delivery: fc.integer({ min: 0, max: 3 }),
});
const history = fc.record({
  statements: fc.array(statement, { minLength: 1, maxLength: 8 }),
  undone: fc.uniqueArray(fc.integer({ min: 0, max: 3 }), { maxLength: 2 }),
  order: fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4, maxLength: 4 }),
});

/** Statements of two records and of their corrections as they come, each in a delivery of its own, and undos of some. */
const step = fc.record({
  id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
  corrects: fc.constantFrom('a', 'b'),
  from: fc.integer({ min: 0, max: 2 }),
  hours: fc.integer({ min: 1, max: 3 }),
  amount: fc.integer({ min: 1, max: 4 }),
  revision: fc.integer({ min: 0, max: 9 }),
  undo: fc.option(fc.nat({ max: 9 }), { freq: 4 }),
});

describe('statements of usage', async () => {
  const [straight, crooked] = [await testBursar(), await testBursar()];
  const books = async (bursar: TestBursar): Promise<string> =>
    JSON.stringify(
      await bursar.db.query(
        `select team, hour, sum(quantity)::text as quantity, sum(nanos)::text as nanos from cost_hour group by 1, 2 order by 1, 2`,
      ),
    );
  const empty = async (bursar: TestBursar): Promise<void> => {
    await bursar.db.query(
      `truncate usage_hour, cost_hour, cost_day, block, usage_id, usage_statement, carried_run, delivery, import, work, source`,
    );
  };

  it('leave the same in any order, and after an undo what would be there without it', async () => {
    for (const bursar of [straight, crooked]) await bursar.setPrices([instancePrice('55.04')]);
    await fc.assert(
      fc.asyncProperty(history, async ({ statements, undone, order }) => {
        for (const bursar of [straight, crooked]) await empty(bursar);
        const records = statements.map(({ id, hour, gpus, delivery }, revision) => ({
          delivery,
          record: metered(id, {
            resource: `i-${id}`,
            gpuParts: gpus * 7000,
            start: MONDAY + hour * HOUR,
            end: MONDAY + hour * HOUR + HOUR,
            version: { revision, updatedAt: null },
          }),
        }));
        const last = new Map<string, UsageRecord>();
        for (const { delivery, record } of records) if (!undone.includes(delivery)) last.set(record.id, record);
        await straight.take([...last.values()].map((record) => ({ ...record, version: undefined })));
        await straight.runner.drain();
        const imports = new Map<number, string>();
        for (const delivery of order) {
          const own = records.filter((one) => one.delivery === delivery).map(({ record }) => record);
          if (own.length === 0) continue;
          await crooked.take(own);
          const [row] = await crooked.db.query<{ id: string }>(`select max(id)::text as id from import`);
          imports.set(delivery, row?.id ?? '');
          await crooked.runner.drain();
        }
        for (const delivery of undone) {
          const id = imports.get(delivery);
          if (id !== undefined)
            await crooked.db.transaction((tx) =>
              undoImport(crooked.stores, tx, 'default', id, 'test', crooked.clock.at),
            );
        }
        await crooked.runner.drain();
        expect(await books(crooked)).toBe(await books(straight));
      }),
      { numRuns: 25, seed: 13 },
    );
  });

  it('are charged with their corrections as what these leave would be, in any order, over hours and midnights', async () => {
    const QUARTER = HOUR / 4;
    const [increments, minimums] = [
      [1800, 3600, 7200],
      [0, 3600, 5400],
    ];
    const prices = increments.flatMap((incrementSeconds) =>
      minimums.map((minimumSeconds) => {
        const sku = `whole-${incrementSeconds}-${minimumSeconds}`;
        return instancePrice('36', { sku, incrementSeconds, minimumSeconds });
      }),
    );
    for (const bursar of [straight, crooked]) await bursar.setPrices(prices);
    const costs = (bursar: TestBursar): Promise<unknown[]> =>
      bursar.db.query(
        `select team, hour, sum(quantity)::text as quantity, sum(nanos)::text as nanos from cost_hour
         group by 1, 2 having sum(quantity) <> 0 or sum(nanos) <> 0 order by 1, 2`,
      );
    /** Around midnight: the records of three machines, and what is taken back of them. */
    const drawn = fc.record({
      increment: fc.constantFrom(...increments),
      minimum: fc.constantFrom(...minimums),
      runs: fc.array(
        fc.record({
          machine: fc.constantFrom('a', 'b'),
          from: fc.integer({ min: 0, max: 24 }),
          lengths: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
          taken: fc.array(
            fc.record({
              of: fc.nat(3),
              from: fc.nat(8),
              length: fc.integer({ min: 1, max: 9 }),
              gpus: fc.constantFrom(4, 8),
            }),
            { maxLength: 3 },
          ),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      order: fc.array(fc.nat(), { minLength: 8, maxLength: 8 }),
    });
    // From 22:15 to 2:00, of which what is after midnight is taken back: the day before ends otherwise than it was priced.
    const afterMidnight = [{ of: 0, from: 7, length: 8, gpus: 8 }];
    const atMidnight = {
      runs: [{ machine: 'a', from: 5, lengths: [15], taken: afterMidnight }],
      order: [0],
      increment: 3600,
      minimum: 0,
    };
    await fc.assert(
      fc.asyncProperty(drawn, async ({ increment, minimum, runs, order }) => {
        const records: UsageRecord[] = [];
        const left: UsageRecord[] = [];
        runs.forEach(({ machine, from, lengths, taken }, no) => {
          let at = MONDAY + DAY_MS - 3 * HOUR + from * QUARTER;
          lengths.forEach((length, part) => {
            const id = `${machine}${no}-${part}`;
            const [start, end] = [at, at + length * QUARTER];
            at = end;
            const gpus = Array.from({ length }, () => 8);
            const common = { resource: machine, sku: `whole-${increment}-${minimum}` };
            records.push(metered(id, { ...common, gpuParts: 8 * 7000, start, end }));
            taken.forEach((one, which) => {
              const [first, last] = [one.from, Math.min(one.from + one.length, length)];
              const within = gpus.slice(first, last);
              if (one.of !== part || first >= last || within.some((held) => held < one.gpus)) return;
              for (let quarter = first; quarter < last; quarter++) gpus[quarter] = (gpus[quarter] ?? 0) - one.gpus;
              const span = { start: start + first * QUARTER, end: start + last * QUARTER };
              records.push(
                metered(`${id}-c${which}`, { ...common, gpuParts: -one.gpus * 7000, ...span, corrects: id }),
              );
            });
            let begun = 0;
            for (let quarter = 1; quarter <= length; quarter++) {
              if (quarter < length && gpus[quarter] === gpus[begun]) continue;
              const span = { start: start + begun * QUARTER, end: start + quarter * QUARTER };
              const gpuParts = (gpus[begun] ?? 0) * 7000;
              if (gpuParts > 0) left.push(metered(`${id}-${begun}`, { ...common, gpuParts, ...span }));
              begun = quarter;
            }
          });
        });
        for (const bursar of [straight, crooked]) await empty(bursar);
        await straight.take(left);
        await straight.runner.drain();
        // A correction comes after what it corrects; everything else in any order, a few at a time.
        let turn = 0;
        const pick = (): number => order[turn++ % order.length] ?? 0;
        const waiting = [...records];
        const come = new Set<string>();
        while (waiting.length > 0) {
          const ready = waiting.filter(({ corrects }) => corrects === undefined || come.has(corrects));
          const next = ready[pick() % ready.length] as UsageRecord;
          waiting.splice(waiting.indexOf(next), 1);
          come.add(next.id);
          await crooked.take([next]);
          if (pick() % 2 === 0) await crooked.runner.drain();
        }
        await crooked.runner.drain();
        expect(await costs(crooked)).toEqual(await costs(straight));
      }),
      { numRuns: 25, seed: 7, examples: [[atMidnight]] },
    );
  });

  it('and corrections sum to nothing below zero at any time, whatever is restated, moved or undone', async () => {
    const bursar = straight;
    await bursar.setPrices([instancePrice('55.04')]);
    const seen = { corrected: 0, refused: 0 };
    const hoursBelow = (): Promise<unknown[]> =>
      bursar.db.query(
        `select d.account, u.hour from usage_hour u join dimension d on d.organisation = u.organisation and d.id = u.dimension
         group by 1, 2 having sum(u.gpu_part_ms) < 0 or sum(u.network_bytes) < 0`,
      );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
        await empty(bursar);
        for (const { id, corrects, from, hours, amount, revision, undo } of steps) {
          const imports = await bursar.db.query<{ id: string }>(
            `select id::text as id from import where undone_at is null order by import.id`,
          );
          const undone = undo === null ? undefined : imports[undo % imports.length];
          if (undone !== undefined) {
            const undoing = bursar.db.transaction((tx) =>
              undoImport(bursar.stores, tx, 'default', undone.id, 'test', bursar.clock.at),
            );
            await undoing.catch((error: unknown) => {
              expect(String(error)).toMatch(/undo (that import|the later import of either) first/);
              seen.refused += 1;
            });
          } else {
            const isRecord = id === 'a' || id === 'b';
            const held = isRecord ? amount + 2 : -amount;
            const start = MONDAY + (isRecord && from < 2 ? 0 : from) * HOUR;
            const times = { start, end: start + (isRecord ? 3 : hours) * HOUR };
            const quantities = { gpuParts: held * 7000, networkBytes: held * 6000 };
            const about = isRecord ? { account: id } : { account: corrects, corrects };
            await bursar.take(
              [metered(id, { ...times, ...quantities, ...about, version: { revision, updatedAt: null } })],
              { strict: false },
            );
          }
          expect(await hoursBelow()).toEqual([]);
          const taken = await bursar.db.query(`select 1 from usage_hour where gpu_part_ms < 0 limit 1`);
          seen.corrected += taken.length;
        }
        await bursar.runner.drain();
        expect(await bursar.db.query(`select hour from cost_hour where nanos < 0 or quantity < 0`)).toEqual([]);
      }),
      { numRuns: 30, seed: 17 },
    );
    expect(seen.corrected).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
  });
});
