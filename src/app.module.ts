/**
 * The composition root: opens the database, makes the stores, the line and the doors, and hands the parts to those who
 * know them only by their ports. The only file, beside main.ts, that may import every room.
 */
import { Module, type DynamicModule } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import type { Config } from './config.js';
import type { Policy } from './core/policy.js';
import type { Clock, Importer, PriceFormat, UsageFormat } from './core/ports.js';
import { readRecord as readEvent, recordSchema as eventSchema } from './formats/cloudevents.js';
import { readRecord, recordSchema } from './formats/bursar.js';
import { openBytes, openFile } from './formats/reading/input.js';
import { lacksFunctions, loadParts } from './parts.js';
import { Collector } from './pipeline/collect.js';
import { makeLine } from './pipeline/line.js';
import { LineQueue } from './pipeline/queue.js';
import { Runner } from './pipeline/runner.js';
import { Tick } from './pipeline/tick.js';
import { Database } from './store/database.js';
import { DEFAULT_ORGANISATION } from './store/organisation.js';
import { Stores } from './store/stores.js';
import { WebModule } from './web/web.module.js';

export type Role = 'all' | 'api' | 'worker';

/** Everything but the doors. */
export interface Bursar {
  readonly organisation: string;
  readonly databaseUrl: string;
  readonly stores: Stores;
  readonly importer: Importer;
  readonly policies: readonly Policy[];
  readonly runner: Runner;
  close(): Promise<void>;
}

/** Opens the database, brings it up to date unless it is only to be looked at, loads the parts. */
export async function compose(databaseUrl: string, clock: Clock, { migrate }: { migrate: boolean } = { migrate: true }): Promise<Bursar> {
  const db = await Database.open(databaseUrl);
  if (migrate) await db.migrate();
  const stores = new Stores(db);
  const formats = await loadParts<UsageFormat | PriceFormat>('formats', 'format', (part) => lacksFunctions(part, 'recognises', 'read'));
  const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
  const importer = new Collector(stores, {
    usageFormats: formats.filter((format) => format.kind === 'usage'), priceFormats: formats.filter((format) => format.kind === 'price'),
    readRecord, readEvent, openFile, openBytes,
  }, clock);
  const runner = new Runner(db, stores.work, clock, makeLine(stores, policies));
  return { organisation: DEFAULT_ORGANISATION, databaseUrl, stores, importer, policies, runner, close: () => db.close() };
}

/** A queue that does work in this process where the role has it do any. */
export function openQueue(bursar: Bursar, config: Config, role: Role, failed: (error: Error) => void): Promise<LineQueue> {
  const concurrency = role === 'api' ? 0 : config.concurrency;
  return LineQueue.open({ databaseUrl: bursar.databaseUrl, redisUrl: config.redisUrl, concurrency }, bursar.runner, failed);
}

@Module({})
export class AppModule {
  /** The doors of a role: the API, the tick and the workers, or both. */
  static of(bursar: Bursar, config: Config, clock: Clock, role: Role, queue: LineQueue, failed: (error: Error) => void): DynamicModule {
    const { stores, importer, policies } = bursar;
    const tick = {
      provide: Tick, inject: [SchedulerRegistry],
      useFactory: (registry: SchedulerRegistry) => new Tick(stores, queue, clock, config.tickSeconds, registry, failed),
    };
    return {
      module: AppModule,
      imports: [...(role === 'worker' ? [] : [WebModule.register({ stores, importer, clock, policies, recordSchemas: { record: recordSchema, event: eventSchema } })]), ...(role === 'api' ? [] : [ScheduleModule.forRoot()])],
      providers: role === 'api' ? [] : [tick],
    };
  }
}
