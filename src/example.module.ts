/**
 * Composes the example's company: a cloud in memory as src/example/company.ts makes it up, with everything that the
 * line has done to it so far, and the evidence of its machines. Belongs to the composition root (app.module.ts).
 *
 * The cloud lives as long as the process; what was done to it is in the database, so that a restart makes the same
 * cloud again.
 */
import { HOUR_MS, type Clock } from './core/time.js';
import {
  EXAMPLE_ACCOUNT,
  EXAMPLE_CONNECTION,
  eventsOf,
  GROUPS,
  HISTORY_DAYS,
  isNotebook,
  MACHINES,
  utilisationOf,
} from './example/company.js';
import { exampleBegan } from './example/example.js';
import type { ExampleCompany } from './example/welcome.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from './pipeline/collecting.js';
import { FakeCloud } from './providers/fake/cloud.js';
import { FakeTelemetry } from './providers/fake/evidence.js';
import { connectTo } from './providers/fake/fake.js';
import type { Stores } from './store/stores.js';
import { enqueue } from './store/work.js';
import type { TelemetryConnection } from './core/ports.js';

const SEED = 20;
/** Minutes between two readings: of a machine that somebody works at, and of one of a group. */
const MINUTES = { notebook: 2, group: 10 } as const;
const METER_SECONDS = 3600;
/** Spot is there for days on end, and gone for an hour or two. */
const SPOT_UP_HOURS = 60;

/** Null: the database has no example and gets none. */
export async function openExample(
  stores: Stores,
  organisation: string,
  clock: Clock,
): Promise<(ExampleCompany & { readonly evidence: TelemetryConnection }) | null> {
  const began = await exampleBegan(stores, organisation, clock.now());
  if (began === null) return null;
  const done = await stores.actions.doneBy(stores.db, organisation, EXAMPLE_CONNECTION);
  const fake = new FakeCloud({
    seed: SEED,
    clock,
    from: began - HISTORY_DAYS * 24 * HOUR_MS,
    account: EXAMPLE_ACCOUNT,
    machines: MACHINES,
    groups: GROUPS,
    meterSeconds: METER_SECONDS,
    spotUpHours: SPOT_UP_HOURS,
    events: [...eventsOf(began), ...done],
  });
  const cloud = connectTo(fake, { name: EXAMPLE_CONNECTION });
  const evidence = new FakeTelemetry(fake, {
    name: EXAMPLE_CONNECTION,
    minutesOf: ({ machine }) => (isNotebook(began, machine) ? MINUTES.notebook : MINUTES.group),
    loadOf: ({ machine }, at) => ({ utilisationRatio: utilisationOf(began, machine, at), memoryUsedRatio: 0.05 }),
  });
  return {
    cloud,
    evidence,
    began,
    async collect(now) {
      const own = new Map([[cloud.name, cloud]]);
      await new CollectingSchedule(stores, organisation, own, COLLECTING_INTERVALS).enqueueDue(now);
      await stores.db.transaction((tx) =>
        enqueue(tx, organisation, [{ stage: 'sample.collect', partition: evidence.name, key: evidence.name }]),
      );
    },
  };
}
