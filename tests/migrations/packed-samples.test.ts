/**
 * Samples of before stay readable when samples become blocks, and what the version before goes on writing beside them
 * is read too: two versions side by side lose no reading.
 */
import { DataSource } from 'typeorm';
import { afterAll, expect, it } from 'vitest';
import { migrations } from '../../migrations/index.js';
import { HOUR_MS, MINUTE_MS } from '../../src/core/time.js';
import { Database } from '../../src/store/database.js';
import { SampleStore } from '../../src/store/fleet/samples.js';
import { emptyDatabase } from '../support/database.js';
import { readSamplesOf } from '../support/samples.js';
import { placedSample } from '../support/makers.js';

const NOW = Date.UTC(2026, 10, 22, 20, 7);
const { url } = await emptyDatabase();
const before = await new DataSource({
  type: 'postgres',
  url,
  migrations: migrations.slice(
    0,
    migrations.findIndex(({ name }) => name.startsWith('PackedSamples')),
  ),
  migrationsTableName: 'migration',
  entities: [],
}).initialize();
await before.runMigrations();
const db = await Database.open(url);
afterAll(async () => {
  await before.destroy();
  await db.close();
});

/** The statement of the version before, as far as it names columns. */
const saveAsBefore = (gpu: string, at: number, ratio: number | null): Promise<unknown> =>
  before.query(
    `insert into sample (organisation, source, resource, at, gpu, mig_instance, seen_at, team, gpu_model, gpus, pcie_replays, gpu_utilisation_ratio)
     values ('default', 'prometheus', 'host-1', $1, $2, '', $3, 'lab', 'H100', 1, 3, $4)
     on conflict (organisation, source, resource, at, gpu, mig_instance) do update set seen_at = excluded.seen_at, gpu_utilisation_ratio = excluded.gpu_utilisation_ratio
     where sample.seen_at is null or sample.seen_at <= excluded.seen_at`,
    [new Date(Math.floor(at / MINUTE_MS) * MINUTE_MS), gpu, new Date(at), ratio],
  );
const read = async (): Promise<unknown[]> =>
  (await readSamplesOf(db)).map(({ gpu, seenAt, gpuUtilisationRatio, pcieReplays }) => [
    gpu,
    seenAt.getTime(),
    gpuUtilisationRatio,
    pcieReplays,
  ]);

it('lose no reading while two versions run side by side', async () => {
  await saveAsBefore('GPU-0', NOW - 30 * HOUR_MS, 0.1);
  await saveAsBefore('GPU-0', NOW - 2 * MINUTE_MS, null);
  await db.migrate();
  const samples = new SampleStore();
  await db.transaction((tx) =>
    samples.save(
      tx,
      'default',
      'prometheus',
      [NOW - 2 * MINUTE_MS + 15_000, NOW - 30 * HOUR_MS + MINUTE_MS].map((at) =>
        placedSample({ resource: 'host-1', gpu: 'GPU-0', at, gpuUtilisationRatio: 0.2, pcieReplays: 4 }),
      ),
    ),
  );
  await saveAsBefore('GPU-0', NOW - MINUTE_MS, 0.3);
  await saveAsBefore('GPU-0', NOW - 2 * MINUTE_MS + 5000, 0.9);
  const expected = [
    ['GPU-0', NOW - 30 * HOUR_MS, 0.1, 3],
    ['GPU-0', NOW - 30 * HOUR_MS + MINUTE_MS, 0.2, 4],
    ['GPU-0', NOW - 2 * MINUTE_MS + 15_000, 0.2, 4],
    ['GPU-0', NOW - MINUTE_MS, 0.3, 3],
  ];
  expect(await read()).toEqual(expected);
  while (await db.transaction((tx) => samples.pack(tx, 'default', 'prometheus', NOW)));
  expect(await read()).toEqual(expected);
  // The rest goes on being read where the version before reads it, until it is a day old.
  expect(await before.query(`select at from sample order by at`)).toHaveLength(2);
  while (await db.transaction((tx) => samples.pack(tx, 'default', 'prometheus', NOW + 26 * HOUR_MS)));
  expect(await read()).toEqual(expected);
  expect(await before.query(`select at from sample`)).toEqual([]);
});
