/**
 * The process door: reads the environment, opens the database, and hands everything to the command line, of which
 * serving is one verb. Never decides anything about money.
 */
import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { parse as parseYaml } from 'yaml';
import { AppModule, compose, openQueue, type Bursar, type ComposeOptions, type Role } from './app.module.js';
import type { Examination } from './cli/context.js';
import { run } from './cli/program.js';
import { typed } from './cli/usage-error.js';
import { SettableClock, wallClock } from './clock.js';
import { parseConfig, SETTING_NAMES, type Config } from './config.js';
import { Failure, unavailable, type Problem } from './core/errors.js';
import type { Clock } from './core/time.js';
import { welcome } from './example/welcome.js';
import * as openbPods from './formats/openb-pods.js';
import { ProcessLog } from './log.js';
import { inspectParts } from './parts.js';
import { probePostgres, probeRedis } from './pipeline/queue-probe.js';
import { tellLog } from './pipeline/watch.js';
import { plotter } from './rendering/plotter.js';
import { renderers } from './rendering/reports.js';
import { acquireServeLock, startEmbedded } from './store/embedded/embedded.js';
import { startTracing, TRACING_SETTINGS } from './tracing.js';
import { createWebApp, listen } from './web/server.js';
import { listenTls } from './web/tls.js';

/** The configuration, or what is wrong with it: that is said by the verb that needs it. */
function readConfig(): { readonly config: Config | null; readonly problems: readonly Problem[] } {
  try {
    return { config: parseConfig(process.env), problems: [] };
  } catch (error) {
    if (error instanceof Failure) return { config: null, problems: error.problems };
    throw error;
  }
}

const found = readConfig();
/** With what stands in files that it names. */
const environment = found.config?.environment ?? process.env;
const log = new ProcessLog(
  { level: found.config?.logLevel ?? 'log', format: found.config?.logFormat ?? 'text' },
  wallClock,
  (line) => void process.stderr.write(line),
);
// Whatever a room says by Nest's Logger comes here, and never to standard output.
Logger.overrideLogger(log);
const say = (text: string): void => log.say(text);

/** The database of the configuration; `leave` stops an embedded server where nobody else uses it. */
async function openDatabase(
  config: Config,
  given: Pick<ComposeOptions, 'migrate' | 'watch' | 'reachesOut' | 'example'> = {},
  clock: Clock = wallClock,
): Promise<{ bursar: Bursar; leave(): Promise<void> }> {
  const options = { ...given, environment: config.environment, limits: config };
  if (config.databaseUrl !== null) {
    const bursar = await compose(config.databaseUrl, clock, options);
    return { bursar, leave: () => bursar.close() };
  }
  const embedded = await startEmbedded({
    dataDir: config.dataDir,
    log: config.logLevel === 'debug' ? say : () => undefined,
  });
  try {
    const bursar = await compose(embedded.url, clock, options);
    return {
      bursar,
      async leave() {
        await bursar.close();
        await embedded.stop();
      },
    };
  } catch (error) {
    await embedded.stop();
    throw error;
  }
}

async function connect(): Promise<
  Parameters<typeof run>[1] extends { connect(): Promise<infer Local> } ? Local : never
> {
  const isDoctor = process.argv.slice(2).includes('doctor');
  // These two say themselves which migrations have not run.
  const migrate = !isDoctor && !process.argv.slice(2).includes('migrate');
  const config = parseConfig(process.env);
  // doctor connects the parts itself, one by one: a wrong setting of one must not keep it from the rest.
  const { bursar, leave } = await openDatabase(isDoctor ? { ...config, environment: {} } : config, {
    migrate,
    reachesOut: false,
  });
  const { stores, importer, organisation, policies, runner, leaves } = bursar;
  return {
    stores,
    importer,
    organisation,
    policies,
    drain: (progress, isEnough) => runner.drain(progress, isEnough),
    leaves,
    migrate: () => stores.db.migrate(),
    close: leave,
  };
}

async function serve(role: Role): Promise<void> {
  const config = typed(() => parseConfig(process.env));
  const stop = stopped();
  const lock = config.databaseUrl === null ? await acquireServeLock(config.dataDir) : null;
  const clock = new SettableClock();
  const example = role === 'all' && config.databaseUrl === null && config.example;
  const watch = tellLog(new Logger('line'));
  const { bursar, leave } = await openDatabase(config, { watch, example }, clock).catch(async (error: unknown) => {
    await lock?.release();
    throw error;
  });
  let told = '';
  // The same trouble again and again (a database that is away) is told once.
  const failed = ({ message }: Error): void => {
    if (message !== told) log.warn(message, 'line');
    told = message;
  };
  try {
    const welcomed = welcome({
      bursar,
      example: bursar.example,
      firstKey: config.firstKey,
      pods: openbPods,
      clock,
      say,
    });
    if ((await Promise.race([welcomed, stop])) === 'stop') {
      say('Stopping: what is not loaded yet is loaded by the next start.');
      // It ends with its next statement, when the pool is closed.
      welcomed.catch(() => undefined);
      return;
    }
    const queue = await openQueue(bursar, config, role, failed);
    try {
      const module = AppModule.of(bursar, config, clock, role, queue, failed);
      const started = await (role === 'worker' ? startWorker(module, config) : startApi(module, config));
      await lock?.setUrl(started.address ?? `process ${process.pid}`);
      say(started.address === null ? 'Bursar works (no API in this process).' : `Bursar is ready: ${started.address}`);
      await stop;
      say('Stopping: the jobs at hand are finished first.');
      await started.close();
    } finally {
      await queue.close();
    }
  } finally {
    await leave();
    await lock?.release();
  }
}

type Started = { address: string | null; close(): Promise<void> };

async function startApi(module: ReturnType<typeof AppModule.of>, config: Config): Promise<Started> {
  const app = await createWebApp(module, { logger: log, trustedProxies: config.trustedProxies });
  try {
    const address = await listen(app, config);
    const tls = config.admissionTls === null ? null : await listenTls(app, config.admissionTls);
    if (tls !== null) say(`The admission webhook listens by TLS: ${tls.address}`);
    return {
      address,
      async close() {
        await tls?.close();
        await app.close();
      },
    };
  } catch (error) {
    await app.close();
    throw portTrouble(error, config.host, config.port, 'PORT');
  }
}

/** Works; where a port is set for it, it answers probes and Prometheus there. */
async function startWorker(
  module: ReturnType<typeof AppModule.of>,
  { host, healthPort: port }: Config,
): Promise<Started> {
  if (port === null) {
    const app = await NestFactory.createApplicationContext(module, { logger: log });
    return { address: null, close: () => app.close() };
  }
  const app = await createWebApp(module, { logger: log });
  try {
    say(`Probes and metrics: ${await listen(app, { host, port })}`);
    return { address: null, close: () => app.close() };
  } catch (error) {
    await app.close();
    throw portTrouble(error, host, port, 'BURSAR_HEALTH_PORT');
  }
}

/** What the user can do about a port that cannot be had. */
function portTrouble(error: unknown, host: string, port: number, setting: string): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'EADDRINUSE')
    return unavailable(
      `port ${port} of ${host} is taken: set ${setting} to another one (0 takes any that is free)`,
      error,
    );
  if (code === 'EACCES')
    return unavailable(`port ${port} may not be opened by this user: set ${setting} to one above 1023`, error);
  return error;
}

/** Within this the same request may come twice: of a Ctrl-C the terminal tells every process, and npm tells its own. */
const ONE_REQUEST_MILLISECONDS = 2000;
const PARENT_LOOK_MILLISECONDS = 1000;

/**
 * The first request to stop; a second one ends the process at once. Under npm the end of npm, or of its shell, is a
 * request too: whoever started the server would otherwise not know that it goes on.
 */
function stopped(): Promise<'stop'> {
  return new Promise((resolve) => {
    let first: number | null = null;
    const heard = (signal: 'SIGTERM' | 'SIGINT'): void => {
      first ??= performance.now();
      resolve('stop');
      if (performance.now() - first < ONE_REQUEST_MILLISECONDS) return;
      process.removeListener(signal, heard);
      process.kill(process.pid, signal);
    };
    process.on('SIGTERM', heard).on('SIGINT', heard);
    if (process.env['npm_lifecycle_event'] === undefined) return;
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) resolve('stop');
    }, PARENT_LOOK_MILLISECONDS).unref();
  });
}

const examination: Examination = {
  settings: [...SETTING_NAMES, ...TRACING_SETTINGS],
  problems: () => found.problems,
  parts: () => inspectParts(environment, wallClock),
  redis: probeRedis,
  tables: ({ db }) => probePostgres(db),
};

// A reader that has seen enough (`bursar costs | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

const tracing = await startTracing(process.env);
process.exitCode = await run(process.argv.slice(2), {
  environment,
  clock: wallClock,
  stdout: process.stdout,
  stderr: found.config?.logFormat === 'json' ? { write: say } : process.stderr,
  connect,
  serve,
  examination,
  remote: found.config?.remote ?? null,
  parseYaml,
  plotter,
  reports: renderers,
});
await tracing?.stop();
