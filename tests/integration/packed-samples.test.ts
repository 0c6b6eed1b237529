/**
 * How samples are kept: what was saved is read back as it was, whether it was packed or not, came late, twice, from two
 * sources or by two processes, or was written as rows by the version before.
 */
import * as fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { DAY_MS, formatInstant, HOUR_MS, hourOf, MINUTE_MS } from '../../src/core/time.js';
import { NO_PEAK } from '../../src/core/price/peak.js';
import { policy as idleStop } from '../../src/policies/idle-stop.js';
import { Database } from '../../src/store/database.js';
import { enqueue } from '../../src/store/work.js';
import { asReal } from '../../src/store/fleet/sample-entries.js';
import { minutesOfTeams, resourceMinutes } from '../../src/store/fleet/resource-minutes.js';
import { SampleStore, type PlacedSample } from '../../src/store/fleet/samples.js';
import { testBursar } from '../support/bursar.js';
import { NOWHERE } from '../support/records.js';
import { readSamplesOf, type ReadSample } from '../support/samples.js';
import { placedSample } from '../support/makers.js';

const NOW = Date.UTC(2026, 10, 22, 20, 7);
const { db, stores, runner, clock, url } = await testBursar({ now: NOW });

const placed = (gpu: string, at: number, over: Partial<PlacedSample> = {}): PlacedSample =>
  placedSample({
    resource: 'host-1',
    gpu,
    at,
    gpuUtilisationRatio: 0.5,
    memoryUsedRatio: 0.5,
    memoryUsedMib: 40_000,
    temperatureCelsius: 60,
    powerWatts: 612.375,
    pcieReplays: 7,
    exporter: 'dcgm/host-1',
    ...over,
  });

const save = (samples: readonly PlacedSample[], source = 'prometheus', by = stores.samples): Promise<void> =>
  db.transaction((tx) => by.save(tx, 'default', source, samples));
const pack = (now = clock.at, source = 'prometheus'): Promise<boolean> =>
  db.transaction((tx) => stores.samples.pack(tx, 'default', source, now));
const count = async (table: string): Promise<number> =>
  Number((await db.query<{ n: string }>(`select count(*) as n from ${table}`))[0]?.n);
const inMinutes = (rows: readonly ReadSample[]): unknown[] =>
  rows.map(({ source, gpu, at, gpuUtilisationRatio, powerWatts, team }) => ({
    source,
    gpu,
    at: at.getTime(),
    gpuUtilisationRatio,
    powerWatts,
    team,
  }));

/** As the version before wrote a sample. */
const saveWide = (source: string, { at, gpu, resource, team, gpuUtilisationRatio, powerWatts }: PlacedSample) =>
  db.query(
    `insert into sample (organisation, source, resource, at, gpu, seen_at, team, gpu_model, gpus, exporter, gpu_utilisation_ratio, power_watts)
     values ('default', $1, $2, date_trunc('minute', $3::timestamptz), $4, $3, $5, 'H100', 1, 'dcgm/host-1', $6, $7)`,
    [source, resource, formatInstant(at), gpu, team, gpuUtilisationRatio, powerWatts],
  );

beforeEach(async () => {
  clock.at = NOW;
  for (const table of ['sample', 'sample_recent', 'sample_hour']) await db.query(`delete from ${table}`);
});

describe('samples', () => {
  it('have the precision of the column that they had', async () => {
    const sampled = (min: number, max: number, seed: number): number[] =>
      fc.sample(fc.double({ noNaN: true, min, max }), { numRuns: 2000, seed });
    const all = [...sampled(0, 2 ** 24, 44), ...sampled(0, 1, 45), 0.1, 184_907.125, 61_234.5, 312.456].filter(
      (value) => value === 0 || value > 1e-30,
    );
    const rows = await db.query<{ value: number }>(
      `select value::text::real as value from unnest($1::text[]) as v(value)`,
      [all.map(String)],
    );
    expect(all.map(asReal)).toEqual(rows.map(({ value }) => value + 0));
  });

  it('are read as they were saved, in any order, with any packing in between, by any process', async () => {
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          source: fc.constantFrom('prometheus', 'script'),
          samples: fc.array(
            fc.record({
              gpu: fc.nat(2).map((n) => `GPU-${n}`),
              ago: fc.nat(4 * 60 * 4).map((quarters) => quarters * 15_000),
              percent: fc.option(fc.nat(100), { nil: null }),
              team: fc.constantFrom('lab', 'vision'),
            }),
            { minLength: 1, maxLength: 12 },
          ),
        }),
      },
      { weight: 1, arbitrary: fc.constant('pack' as const) },
      { weight: 1, arbitrary: fc.constant('restart' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        for (const table of ['sample_recent', 'sample_hour']) await db.query(`delete from ${table}`);
        let by = new SampleStore();
        const model = new Map<string, { seen: number; row: Record<string, unknown> }>();
        for (const one of steps) {
          if (one === 'restart') by = new SampleStore();
          else if (one === 'pack') for (const source of ['prometheus', 'script']) await pack(NOW, source);
          else {
            const samples = one.samples.map(({ gpu, ago, percent, team }) =>
              placed(gpu, NOW - ago, { team, gpuUtilisationRatio: percent === null ? null : percent / 100 }),
            );
            await save(samples, one.source, by);
            for (const { gpu, at, gpuUtilisationRatio, powerWatts, team } of samples) {
              const minute = Math.floor(at / MINUTE_MS) * MINUTE_MS;
              const key = `${one.source} ${gpu} ${minute}`;
              if ((model.get(key)?.seen ?? -Infinity) > at) continue;
              model.set(key, {
                seen: at,
                row: { source: one.source, gpu, at: minute, gpuUtilisationRatio, powerWatts, team },
              });
            }
          }
          await histories(by);
        }
        await pack(NOW + HOUR_MS);
        await pack(NOW + HOUR_MS, 'script');
        const key = (row: unknown): string => JSON.stringify(row);
        expect(
          inMinutes(await readSamplesOf(db))
            .map(key)
            .sort(),
        ).toEqual([...model.values()].map(({ row }) => key(row)).sort());
        expect(await count('sample_recent')).toBe(0);
        // What a process has looked at all the time is what one sees that has just started.
        expect(await histories(by)).toEqual(await histories(new SampleStore()));
      }),
      { numRuns: 40 },
    );
  });

  const histories = async (by: SampleStore, source = 'prometheus'): Promise<unknown[]> =>
    (await db.transaction((tx) => by.histories(tx, 'default', source, NOW, 60)))
      .map((device) => ({ ...device }))
      .sort((a, b) => (`${a.resource} ${a.gpu}` < `${b.resource} ${b.gpu}` ? -1 : 1));

  it('are shown to health with the last hour of each device, and no more', async () => {
    const by = new SampleStore();
    expect(await histories(by)).toEqual([]);
    await save([placed('GPU-0', NOW - 60 * MINUTE_MS), placed('GPU-0', NOW - 59 * MINUTE_MS, { fault: 'XID 79' })]);
    await save([placed('GPU-0', NOW - 30_000, { gpuUtilisationRatio: null, team: 'vision' }), placed('GPU-1', NOW)]);
    expect(await histories(by)).toMatchObject([
      {
        gpu: 'GPU-0',
        team: 'vision',
        cardSeenAt: NOW - 30_000,
        readings: [
          {
            at: NOW - 59 * MINUTE_MS,
            fault: 'XID 79',
            gpuUtilisationRatio: 0.5,
            pcieReplays: 7,
            networkLatencySeconds: null,
          },
          { at: NOW - 30_000, fault: null, gpuUtilisationRatio: null },
        ],
      },
      { gpu: 'GPU-1', readings: [{ at: NOW, temperatureCelsius: 60 }] },
    ]);
    await pack();
    await save([placed('GPU-1', NOW - 10 * MINUTE_MS)]);
    expect(await histories(by)).toEqual(await histories(new SampleStore()));
  });

  it('of workers that pack and save at once are all there', async () => {
    const other = await Database.open(url);
    try {
      const minutes = Array.from({ length: 40 }, (_, n) => NOW - 2 * HOUR_MS + n * MINUTE_MS);
      await Promise.all(
        minutes.flatMap((at) => [
          save([placed('GPU-0', at)]),
          other.transaction((tx) => new SampleStore().save(tx, 'default', 'prometheus', [placed('GPU-1', at)])),
          pack(),
          other.transaction((tx) => new SampleStore().pack(tx, 'default', 'prometheus', NOW)),
        ]),
      );
      await pack();
      expect((await readSamplesOf(db)).map(({ gpu, at }) => `${gpu} ${at.getTime()}`)).toEqual(
        minutes.map((at) => Math.floor(at / MINUTE_MS) * MINUTE_MS).flatMap((at) => [`GPU-0 ${at}`, `GPU-1 ${at}`]),
      );
      expect([await count('sample_recent'), await count('sample_hour')]).toEqual([0, 1]);
    } finally {
      await other.close();
    }
  });

  it('are packed by the line when their hour has been over for five minutes, one row for a machine and hour', async () => {
    await save([placed('GPU-0', NOW - HOUR_MS), placed('GPU-1', NOW - HOUR_MS), placed('GPU-0', NOW)]);
    const before = await readSamplesOf(db);
    await db.query(
      `insert into work (organisation, lane, stage, key, wanted) values ('default', 'prometheus', 'sample.pack', 'prometheus', 1)`,
    );
    await runner.drain();
    expect([await count('sample_recent'), await count('sample_hour')]).toEqual([1, 1]);
    expect(await readSamplesOf(db)).toEqual(before);
    expect(stores.samples.nextPack(NOW)).toBe(hourOf(NOW) + HOUR_MS + 5 * MINUTE_MS);
    expect(stores.samples.nextPack(hourOf(NOW) + MINUTE_MS)).toBe(hourOf(NOW) + 5 * MINUTE_MS);
  });

  it('of many days that come at once are packed a day at a time, oldest first, whoever is killed in between', async () => {
    const DAYS = 31;
    const sampled = Array.from({ length: DAYS }, (_, day) =>
      [1, 5, 5.5, 23].map((hour) => placed('GPU-0', NOW - (DAYS - day) * DAY_MS + (hour - 20) * HOUR_MS)),
    ).flat();
    await save([...sampled, placed('GPU-1', NOW)]);
    const before = await readSamplesOf(db);
    const packedDays = async (): Promise<string[]> =>
      (
        await db.query<{ day: string }>(
          `select distinct (hour at time zone 'UTC')::date::text as day from sample_hour order by 1`,
        )
      ).map(({ day }) => day);
    const days = [...new Set(before.slice(0, -1).map(({ at }) => at.toISOString().slice(0, 10)))].sort();
    expect(days.length).toBeGreaterThanOrEqual(DAYS);
    const due = async (): Promise<number> =>
      (await stores.work.duePartitions(clock.at)).filter(({ stage }) => stage === 'sample.pack').length;
    const step = (): Promise<unknown> =>
      runner.runPartition({ organisation: 'default', stage: 'sample.pack', partition: 'prometheus' }, async () => true);
    await enqueue(db, 'default', [{ stage: 'sample.pack', partition: 'prometheus', key: 'prometheus' }]);
    for (const n of [1, 2]) {
      await step();
      expect([await packedDays(), await due()]).toEqual([days.slice(0, n), 1]);
      expect(await readSamplesOf(db)).toEqual(before);
    }
    const killed = db.transaction(async (tx) => {
      expect(await stores.samples.pack(tx, 'default', 'prometheus', NOW)).toBe(true);
      throw new Error('killed');
    });
    await expect(killed).rejects.toThrow('killed');
    expect([await packedDays(), await due()]).toEqual([days.slice(0, 2), 1]);
    expect(await readSamplesOf(db)).toEqual(before);
    // What comes late to a day that is packed is packed with it.
    const late = placed('GPU-2', NOW - DAYS * DAY_MS);
    await save([late]);
    const all = await readSamplesOf(db);
    expect(all).toHaveLength(before.length + 1);
    await runner.drain();
    expect([await packedDays(), await due()]).toEqual([days, 0]);
    expect(await readSamplesOf(db)).toEqual(all);
    expect(await count('sample_recent')).toBe(1);
  });

  it('get another place from an instant on, packed or not, and stay what they are before it', async () => {
    const since = NOW - 90 * MINUTE_MS;
    const ats = [since - MINUTE_MS, since, NOW - HOUR_MS, NOW - MINUTE_MS];
    await save(ats.slice(0, 3).map((at) => placed('GPU-0', at)));
    await save([placed('GPU-0', since, { resource: 'host-2' })]);
    await pack();
    await save(ats.slice(3).map((at) => placed('GPU-0', at)));
    const place = { ...NOWHERE, team: 'vision', workload: 'train', target: 'i-1', connection: 'aws' };
    const by = new SampleStore();
    await histories(by);
    await db.transaction((tx) => by.place(tx, 'default', 'prometheus', 'host-1', since, place));
    const rows = await readSamplesOf(db);
    expect(rows.filter(({ resource }) => resource === 'host-1').map(({ team, target }) => [team, target])).toEqual([
      ['lab', null],
      ['vision', 'i-1'],
      ['vision', 'i-1'],
      ['vision', 'i-1'],
    ]);
    expect(rows.find(({ resource }) => resource === 'host-2')?.team).toBe('lab');
    expect(await histories(by)).toEqual(await histories(new SampleStore()));
    expect(await histories(by)).toMatchObject([{ resource: 'host-1', team: 'vision', workload: 'train' }]);
    expect(
      (await resourceMinutes(db, 'default', 'vision', since - 1, NOW)).map(({ newest }) => newest.resource),
    ).toEqual(['i-1']);
  });

  it('give policies the same minutes of each resource, read from packed minutes or from samples', async () => {
    const step = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          source: fc.constantFrom('prometheus', 'script'),
          samples: fc.array(
            fc.record({
              gpu: fc.nat(2).map((n) => `GPU-${n}`),
              resource: fc.constantFrom('host-1', 'host-2'),
              target: fc.constantFrom(null, 'i-1'),
              ago: fc.nat(3 * 60 * 4).map((quarters) => quarters * 15_000),
              length: fc.nat(90),
              percent: fc.option(fc.nat(100), { nil: null }),
              watts: fc.option(fc.nat(700), { nil: null }),
              team: fc.constantFrom('lab', 'lab', 'vision'),
            }),
            { minLength: 1, maxLength: 4 },
          ),
        }),
      },
      { weight: 2, arbitrary: fc.constant('pack' as const) },
    );
    const spans = fc.record({ after: fc.nat(300), until: fc.nat(90) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), spans, async (steps, { after, until }) => {
        for (const table of ['sample_recent', 'sample_hour']) await db.query(`delete from ${table}`);
        for (const one of steps)
          if (one === 'pack') for (const source of ['prometheus', 'script']) await pack(NOW, source);
          else
            await save(
              one.samples.flatMap(({ gpu, resource, target, ago, length, percent, watts, team }) =>
                Array.from({ length: length + 1 }, (_, n) =>
                  placed(gpu, NOW - ago - n * MINUTE_MS, {
                    resource,
                    team,
                    target,
                    connection: target === null ? null : 'aws',
                    gpuUtilisationRatio: percent === null ? null : percent / 100,
                    powerWatts: watts,
                  }),
                ),
              ),
              one.source,
            );
        const [from, to] = [NOW - after * MINUTE_MS - 30_000, NOW - until * MINUTE_MS];
        const read = async (): Promise<unknown> =>
          [
            await resourceMinutes(db, 'default', 'lab', from, to),
            await minutesOfTeams(db, 'default', ['lab', 'vision'], from, to),
            await resourceMinutes(db, 'default', 'vision', NOW - DAY_MS, NOW),
          ].map((found) => found.map((one) => ({ ...one })));
        const packed = await read();
        await db.query(`update sample_hour set minutes = null`);
        expect(packed).toEqual(await read());
      }),
      { numRuns: 40 },
    );
  });

  it('give idle-stop the same answer, and are not read where the minutes say it', async () => {
    const work = (n: number): number => (n % 97 < 8 ? 0.9 : 0);
    const minutes = Array.from({ length: 30 * 60 }, (_, n) => n).filter((n) => n % 211 !== 0);
    await save(
      minutes.flatMap((n) =>
        ['GPU-0', 'GPU-1'].map((gpu) =>
          placed(gpu, NOW - n * MINUTE_MS, {
            gpuUtilisationRatio: work(n + 10),
            workloadKind: 'training',
            powerWatts: 80,
          }),
        ),
      ),
    );
    while (await pack());
    const book = await stores.prices.book(db, 'default');
    const judged = async (): Promise<unknown> => {
      const { views } = stores;
      const view = await views.view(db, 'default', 'lab', 'USD', NOW, book, NO_PEAK);
      const resources = view.resources.map((one) => ({ ...one, hourlyNanos: 10_000_000_000n }));
      expect(resources[0]?.readings).toHaveLength(minutes.length);
      const priced = { ...view, resources };
      const given = idleStop.params.parse({});
      return [resources, idleStop.evaluate(priced, given), idleStop.explain?.(priced, given)];
    };
    const packed = await judged();
    await db.query(`update sample_hour set minutes = null`);
    expect(await judged()).toEqual(packed);
  });

  it('are forgotten by days, which are dropped where nobody keeps them', async () => {
    const parts = async (): Promise<string[]> =>
      (
        await db.query<{ name: string }>(
          `select relname as name from pg_class where relname ~ '^sample_hour_2026\\d{4}$' order by 1`,
        )
      ).map(({ name }) => name);
    await save([0, 1, 20, 21, 22].map((days) => placed('GPU-0', NOW - HOUR_MS - days * DAY_MS)));
    while (await pack());
    expect(await parts()).toEqual(
      expect.arrayContaining(['sample_hour_20261031', 'sample_hour_20261101', 'sample_hour_20261122']),
    );
    await db.query(`insert into organisation (id, name) values ('keeps', 'Keeps')`);
    await db.query(`insert into setting (organisation, key, value) values ('default', 'sample-retention-days', '20')`);
    await db.transaction((tx) => stores.samples.purge(tx, 'default', 20, NOW));
    expect(await parts()).toContain('sample_hour_20261031');
    expect(await count('sample_hour')).toBe(3);
    await db.query(`delete from organisation where id = 'keeps'`);
    await db.transaction(async (tx) => {
      // As PostgreSQL itself chooses with some months of days: it goes through all tables, then keeps those of samples.
      await tx.query(`set local enable_nestloop = off`);
      await stores.samples.purge(tx, 'default', 20, NOW);
    });
    expect((await parts()).filter((name) => name < 'sample_hour_20261102')).toEqual([]);
    expect(await count('sample_hour')).toBe(3);
    await db.query(`delete from setting where key = 'sample-retention-days'`);
  });
});

describe('rows of the version before', () => {
  it('are read beside what is packed, the newer of a minute stays, and both are carried over once they are a day old', async () => {
    const old = NOW - 26 * HOUR_MS;
    await saveWide('prometheus', placed('GPU-0', old, { gpuUtilisationRatio: 0.37 }));
    await saveWide('prometheus', placed('GPU-1', old + MINUTE_MS, { gpuUtilisationRatio: null }));
    await save([placed('GPU-0', old + 5000, { gpuUtilisationRatio: 0.42 })]);
    await saveWide('prometheus', placed('GPU-1', NOW - 30_000));
    const before = inMinutes(await readSamplesOf(db));
    expect(before).toMatchObject([
      { gpu: 'GPU-0', gpuUtilisationRatio: 0.42 },
      { gpu: 'GPU-1', gpuUtilisationRatio: null, powerWatts: 612.375 },
      { gpu: 'GPU-1', gpuUtilisationRatio: 0.5 },
    ]);
    const minutes = async () =>
      (await resourceMinutes(db, 'default', 'lab', old - HOUR_MS, NOW)).map((one) => ({ ...one }));
    const seen = await minutes();
    expect(seen).toMatchObject([
      { firstAt: Math.floor(old / MINUTE_MS) * MINUTE_MS, minutes: [{ gpu: 0.42 }, { gpu: null }, {}] },
    ]);
    expect(await pack()).toBe(true);
    expect(await pack()).toBe(false);
    expect(await count('sample')).toBe(1);
    expect(inMinutes(await readSamplesOf(db))).toEqual(before);
    expect(await minutes()).toEqual(seen);
    // Samples that come late for an hour that is packed: beside its minutes they would count twice, or not at all.
    await saveWide('prometheus', placed('GPU-0', old + 10_000, { gpuUtilisationRatio: 0.2 }));
    await save([placed('GPU-1', old + MINUTE_MS + 30_000, { gpuUtilisationRatio: 0.1 })]);
    expect((await minutes())[0]?.minutes.map(({ gpu }) => gpu)).toEqual([0.2, 0.1, 0.5]);
    // Of one instant the one that came last.
    for (const ratio of [0.8, 0.3]) await save([placed('GPU-0', old + 12_000, { gpuUtilisationRatio: ratio })]);
    const told = (await minutes())[0]?.minutes.map(({ gpu }) => gpu);
    expect(told).toEqual([0.3, 0.1, 0.5]);
    await pack();
    await pack();
    expect((await minutes())[0]?.minutes.map(({ gpu }) => gpu)).toEqual(told);
    await save([placed('GPU-0', old + 12_000, { gpuUtilisationRatio: 0.9 })]);
    expect((await minutes())[0]?.minutes[0]?.gpu).toBe(0.9);
    const devices = await db.transaction((tx) => new SampleStore().histories(tx, 'default', 'prometheus', NOW, 60));
    expect(devices.map(({ gpu, readings }) => [gpu, readings.length])).toEqual([['GPU-1', 1]]);
  });
});
