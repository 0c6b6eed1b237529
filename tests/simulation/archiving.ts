/**
 * At the end of a simulated organisation all its raw records go to an archive in memory and come back: what is counted
 * meanwhile needs none of them, and what is counted after that is counted from what was read back.
 */
import { archiveBefore, restoreArchived, type Archive } from '../../src/application/usage/archive.js';
import { parquet } from '../../src/archive/parquet.js';
import { DAY_MS } from '../../src/core/time.js';
import type { World } from './world.js';

export async function archivedMeanwhile(world: World, count: () => Promise<void>): Promise<void> {
  const { stores, organisation, clock, tally } = world;
  const files = new Map<string, Uint8Array>();
  const archive: Archive = {
    format: parquet,
    place: {
      name: 'memory',
      write: async (path, bytes) => void files.set(path, bytes),
      read: async (path) => files.get(path) ?? new Uint8Array(),
    },
  };
  const when = { by: 'simulation', now: clock.at };
  const before = clock.at + 60 * DAY_MS;
  const { records } = await archiveBefore(stores, archive, organisation, { ...when, before }, () => undefined);
  tally.recordsArchived += records;
  await count();
  const months = new Set((await stores.archives.files(organisation)).map(({ month }) => month));
  for (const month of months) await restoreArchived(stores, archive, organisation, { month }, when);
}
