/**
 * The composition root: opens the database, makes the stores, the line and the entry points, and hands the parts to
 * those who know them only by their ports. The only file, beside main.ts, that may import every room.
 */
import type { Clock } from './core/time.js';
import { WatchedParts } from './core/watched.js';
import { Logger, Module, type DynamicModule, type Provider } from '@nestjs/common';
import { ScheduleModule, SchedulerRegistry } from '@nestjs/schedule';
import { settleRestore, type Restored } from './application/action/after-restore.js';
import { parseConfig, type Config } from './config.js';
import { invalid, Failure, type Problem } from './core/errors.js';
import { ENGLISH } from './core/alert/texts.js';
import type { Policy } from './core/policy/policy.js';
import type { Channel, ChannelConnection } from './core/alert/channel.js';
import type {
  Importer,
  PriceFormat,
  ProviderConnection,
  TelemetryConnection,
  TelemetrySource,
  UsageFormat,
} from './core/ports.js';
import { readRecord as readEvent, recordSchema as eventSchema } from './formats/cloudevents.js';
import { readRecord, recordSchema } from './formats/bursar.js';
import { openBytes, openFile, openStream } from './formats/reading/input.js';
import { lacksFunctions, loadParts, loadProviders, undeclared } from './parts.js';
import { PeriodSchedule } from './pipeline/begin-period.js';
import type { NotificationOptions } from './pipeline/alert.js';
import { AlertSchedule } from './pipeline/alert-make.js';
import { Collector } from './pipeline/collect.js';
import { COLLECTING_INTERVALS, CollectingSchedule } from './pipeline/collecting.js';
import { makeLine } from './pipeline/line.js';
import { AUDIT_ITEM } from './pipeline/send-audit.js';
import { openAuditCollector } from './notify/sending/audit-collector.js';
import { LineQueue, QUEUE_CONNECTIONS } from './pipeline/queue.js';
import { ExpirySchedule } from './pipeline/expire.js';
import { ReportSchedule } from './pipeline/report.js';
import { RestoreSchedule } from './pipeline/restore.js';
import { leaseMsOf, Runner } from './pipeline/runner.js';
import type { Stage } from './pipeline/stage.js';
import { Tick } from './pipeline/tick.js';
import { SumSchedule } from './pipeline/sum.js';
import { TidySchedule } from './pipeline/tidy.js';
import { tracedConnection } from './pipeline/tracing.js';
import type { Watch } from './pipeline/watch.js';
import { plotter } from './rendering/plotter.js';
import { mainPicture, renderers } from './rendering/reports.js';
import { Database } from './store/database.js';
import { FleetStore } from './store/fleet/fleet.js';
import { DEFAULT_ORGANISATION } from './store/access/organisation.js';
import { Stores } from './store/stores.js';
import { DEFAULT_GATE } from './web/gate.js';
import { WebModule } from './web/web.module.js';
import { openExample } from './example.module.js';
import type { ExampleCompany } from './example/welcome.js';

export type Role = 'all' | 'api' | 'worker';

/** Everything but the entry points. */
export interface Bursar {
  readonly organisation: string;
  readonly databaseUrl: string;
  readonly stores: Stores;
  readonly importer: Importer;
  readonly policies: readonly Policy[];
  readonly runner: Runner;
  /** Stages that this process leaves to those that ask providers. */
  readonly leaves: readonly string[];
  /** To the providers whose settings are there, by name. */
  readonly connections: ReadonlyMap<string, ProviderConnection>;
  /** Sources of GPU evidence whose settings are there. */
  readonly telemetry: readonly TelemetryConnection[];
  /** Ways to tell people whose settings are there, by name; the log is always among them. */
  readonly channels: ReadonlyMap<string, ChannelConnection>;
  /** The collector of the audit that this process knows; null: none. */
  readonly auditCollector: string | null;
  /** The company of the bundled example; null: this database has none. */
  readonly example: ExampleCompany | null;
  /** By which requests from Slack are known; null: none is taken. */
  readonly slackSigningSecret: string | null;
  close(): Promise<void>;
}

/**
 * A connection for every provider of which a setting is there; nothing is called yet.
 * @throws Failure invalid naming every wrong setting of all of them, never a value
 */
export async function openConnections(
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<Map<string, ProviderConnection>> {
  const connections = new Map<string, ProviderConnection>();
  const problems: Problem[] = [];
  for (const provider of await loadProviders(environment)) {
    try {
      const connection = provider.connect(environment, clock);
      if (connection === null) continue;
      if (connections.has(connection.name))
        throw new Error(`broken invariant: two connections are named ${connection.name}`);
      const wrong = undeclared(provider, connection);
      if (wrong.length > 0) throw new Error(`the provider ${provider.name} is wrong: ${wrong.join('; ')}`);
      connections.set(connection.name, tracedConnection(connection));
    } catch (error) {
      if (!(error instanceof Failure) || error.kind !== 'invalid') throw error;
      problems.push(...(error.problems.length > 0 ? error.problems : [{ path: null, message: error.message }]));
    }
  }
  if (problems.length > 0) {
    await closeConnections(connections);
    throw invalid(
      `the providers' settings are wrong: ${problems.map(({ path, message }) => `${path ?? ''} ${message}`.trim()).join('; ')}`,
      problems,
    );
  }
  return connections;
}

/** The same for the sources of GPU evidence. @throws Failure invalid naming every wrong setting */
async function openTelemetry(
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<TelemetryConnection[]> {
  const sources = await loadParts<TelemetrySource>('telemetry', 'source', (part) => lacksFunctions(part, 'connect'));
  return sources.flatMap((source) => source.connect(environment, clock) ?? []);
}

/** The same for the ways to tell people. @throws Failure invalid naming every wrong setting */
async function openChannels(
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Promise<Map<string, ChannelConnection>> {
  const channels = await loadParts<Channel>('notify', 'channel', (part) => lacksFunctions(part, 'connect'));
  return new Map(
    channels
      .flatMap((channel) => channel.connect(environment, clock) ?? [])
      .map((connection) => [connection.name, connection]),
  );
}

const notificationOf = (environment: Readonly<Record<string, string | undefined>>): NotificationOptions => ({
  texts: ENGLISH,
  publicUrl: environment['BURSAR_PUBLIC_URL']?.replace(/\/+$/, '') || null,
  chart: mainPicture,
});

/** Takes in every format that is there. */
async function openImporter(stores: Stores, clock: Clock): Promise<Collector> {
  const formats = await loadParts<UsageFormat | PriceFormat>('formats', 'format', (part) =>
    lacksFunctions(part, 'recognises', 'read'),
  );
  return new Collector(
    stores,
    {
      usageFormats: formats.filter((format) => format.kind === 'usage'),
      priceFormats: formats.filter((format) => format.kind === 'price'),
      readRecord,
      readEvent,
      openFile,
      openBytes,
      openStream,
    },
    clock,
  );
}

async function closeConnections(connections: ReadonlyMap<string, ProviderConnection>): Promise<void> {
  await Promise.allSettled([...connections.values()].map((connection) => connection.close?.()));
}

type Limits = Pick<Config, 'databaseConnections' | 'readUrl' | 'statementSeconds' | 'stallSeconds' | 'standbyIsWhole'>;

export interface ComposeOptions {
  /** False: the database is only looked at. */
  readonly migrate?: boolean;
  /** Told what the line does. */
  readonly watch?: Watch;
  /**
   * False: no connection to a provider is opened, and what asks one, or tells people, is left to a process that serves.
   * There is one who acts, then, and the confirming and measuring that follow have a process that stays for them; and
   * where alerts go does not depend on who looked first.
   */
  readonly reachesOut?: boolean;
  /** Where the providers' settings are; absent: no connection is opened. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Whether the bundled example's company is there, where the database has it or gets it. */
  readonly example?: boolean;
  /** Absent: as the settings' defaults are. */
  readonly limits?: Limits;
  /** What tells the embedded server's data folder from a copy of it. */
  readonly folder?: string | null;
}

const logRestore = ({ because, refused }: Restored): void =>
  new Logger('restore').error(
    `This database was restored from a backup (${because}). The kill switch is on for everything; ${refused.length} approved actions are not carried out. Check what has run since (docs/how-to/back-up-and-restore.md), then lift it: bursar stop-all --lift`,
  );

async function openStores(
  databaseUrl: string,
  { databaseConnections: connections, readUrl, statementSeconds, standbyIsWhole }: Limits,
  folder: string | null,
): Promise<Stores> {
  const patience = { statement: statementSeconds * 1000 };
  const db = await Database.open(databaseUrl, connections, patience);
  const replica = readUrl === null ? null : { url: readUrl, connections, patience };
  const stores = new Stores(db, new FleetStore(), { folder, standbyIsWhole }, replica);
  await stores.reading.check();
  return stores;
}

/** And notices a restore, before anything is done that a backup has approved. */
async function bringUpToDate(stores: Stores, clock: Clock): Promise<void> {
  await stores.db.migrate();
  const restored = await settleRestore(stores, DEFAULT_ORGANISATION, clock.now());
  if (restored !== null) logRestore(restored);
}

/** Opens the connections and the database, brings it up to date unless it is only to be looked at, loads the parts. */
export async function compose(
  databaseUrl: string,
  clock: Clock,
  {
    migrate = true,
    environment = {},
    watch,
    reachesOut = true,
    example = false,
    limits = parseConfig({}),
    folder = null,
  }: ComposeOptions = {},
): Promise<Bursar> {
  const connections = reachesOut ? await openConnections(environment, clock) : new Map<string, ProviderConnection>();
  const telemetry = await openTelemetry(environment, clock);
  const channels = await openChannels(environment, clock);
  const stores = await openStores(databaseUrl, limits, folder);
  const { db } = stores;
  if (migrate) await bringUpToDate(stores, clock);
  const importer = await openImporter(stores, clock);
  const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
  const company = example && reachesOut ? await openExample(stores, DEFAULT_ORGANISATION, clock) : null;
  if (company !== null) {
    connections.set(company.cloud.name, company.cloud);
    telemetry.push(company.evidence);
  }
  const collector = openAuditCollector(environment, clock);
  const notification = notificationOf(environment);
  const line = makeLine(stores, policies, telemetry, connections, channels, notification, collector);
  const isLeft = (stage: Stage): boolean => !reachesOut && stage.reachesOut === true;
  const runner = new Runner(
    db,
    stores.work,
    clock,
    line.filter((stage) => !isLeft(stage)),
    watch,
    leaseMsOf(limits.stallSeconds),
  );
  return {
    organisation: DEFAULT_ORGANISATION,
    databaseUrl,
    stores,
    importer,
    policies,
    runner,
    leaves: line.filter(isLeft).map(({ name }) => name),
    connections,
    telemetry,
    channels,
    auditCollector: collector?.id ?? null,
    example: company,
    slackSigningSecret: environment['BURSAR_SLACK_SIGNING_SECRET'] || null,
    async close() {
      await Promise.allSettled([...telemetry, ...channels.values()].map((part) => part.close?.()));
      await closeConnections(connections);
      await stores.reading.close();
      await db.close();
    },
  };
}

/**
 * A queue that does work in this process where the role has it do any.
 * @throws Failure invalid where the server has no room for the connections that the process may open
 */
export async function openQueue(
  bursar: Bursar,
  config: Config,
  role: Role,
  failed: (error: Error) => void,
): Promise<LineQueue> {
  const concurrency = role === 'api' ? 0 : config.concurrency;
  await bursar.stores.db.checkSessions();
  // It listens on one of its own.
  await bursar.stores.db.checkRoom(1 + (config.redisUrl === null ? QUEUE_CONNECTIONS : 0));
  return LineQueue.open(
    { databaseUrl: bursar.databaseUrl, redisUrl: config.redisUrl, concurrency, stallSeconds: config.stallSeconds },
    bursar.runner,
    failed,
  );
}

/** The tick of a process that works, with all that it makes due. */
function tickOf(
  { stores, organisation, connections, telemetry, auditCollector }: Bursar,
  config: Config,
  clock: Clock,
  queue: LineQueue,
  failed: (error: Error) => void,
  parts: WatchedParts,
): Provider {
  const collecting = new CollectingSchedule(stores, organisation, connections, {
    ...COLLECTING_INTERVALS,
    ...config.collectSeconds,
  });
  const standing = {
    organisation,
    workItems: [
      ...telemetry.map(({ name }) => ({ stage: 'sample.collect', partition: name, key: name })),
      ...(auditCollector === null ? [] : [AUDIT_ITEM]),
    ],
  };
  return {
    provide: Tick,
    inject: [SchedulerRegistry],
    useFactory: (registry: SchedulerRegistry) =>
      new Tick(
        stores,
        queue,
        clock,
        config.tickSeconds,
        registry,
        failed,
        [standing],
        [
          new RestoreSchedule(stores, organisation, logRestore),
          collecting,
          new ReportSchedule(stores),
          new AlertSchedule(stores, organisation),
          new ExpirySchedule(stores),
          new PeriodSchedule(stores),
          new SumSchedule(stores),
          new TidySchedule(stores, { organisation, years: config.auditYears, collector: auditCollector }),
        ],
        parts,
      ),
  };
}

@Module({})
export class AppModule {
  /** The entry points of a role: the API, the tick and the workers, or both. */
  static forRole(
    bursar: Bursar,
    config: Config,
    clock: Clock,
    role: Role,
    queue: LineQueue,
    failed: (error: Error) => void,
  ): DynamicModule {
    const { stores, importer, policies, organisation, slackSigningSecret } = bursar;
    const parts = new WatchedParts();
    const tick = tickOf(bursar, config, clock, queue, failed, parts);
    return {
      module: AppModule,
      imports: [
        ...(role === 'worker'
          ? config.healthPort === null
            ? []
            : [WebModule.probes({ stores, importer, clock, policies, tick: parts })]
          : [
              WebModule.register({
                stores,
                importer,
                clock,
                policies,
                tick: parts,
                plotter,
                reports: renderers,
                signIn: config.signIn,
                gate: { ...DEFAULT_GATE, ...config.gate },
                recordSchemas: { record: recordSchema, event: eventSchema },
                ...(slackSigningSecret === null ? {} : { slack: { organisation, signingSecret: slackSigningSecret } }),
              }),
            ]),
        ...(role === 'api' ? [] : [ScheduleModule.forRoot()]),
      ],
      providers: role === 'api' ? [] : [tick],
    };
  }
}
