/**
 * `bursar serve`: the API, the line, or both, on the database of the configuration, until somebody stops it. Started by
 * main.ts, which loads it for this verb alone.
 */
import { Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AppModule, openQueue, type Role } from './app.module.js';
import { SettableClock } from './clock.js';
import type { Config } from './config.js';
import { unavailable } from './core/errors.js';
import { welcome } from './example/welcome.js';
import * as openbPods from './formats/openb-pods.js';
import { openInstallation } from './installation.js';
import type { ProcessLog } from './log.js';
import { logEvent } from './pipeline/watch.js';
import { acquireServeLock } from './store/embedded/embedded.js';
import { createWebApp, listen } from './web/server.js';
import { listenTls } from './web/tls.js';

/**
 * Serves until it is told to stop.
 * @throws Failure conflict where another process serves the same folder, unavailable where a port cannot be had
 */
export async function serve(config: Config, role: Role, log: ProcessLog): Promise<void> {
  const say = (text: string): void => log.say(text);
  let endAtOnce = (): void => undefined;
  const stop = stopped(() => endAtOnce());
  const lock = config.databaseUrl === null ? await acquireServeLock(config.dataDir) : null;
  const clock = new SettableClock();
  const example = role === 'all' && config.databaseUrl === null && config.example;
  const watch = logEvent(new Logger('line'));
  const { bursar, leave, ...installation } = await openInstallation(config, say, { watch, example }, clock).catch(
    async (error: unknown) => {
      await lock?.release();
      throw error;
    },
  );
  endAtOnce = installation.endAtOnce;
  let lastMessage = '';
  // The same trouble again and again (a database that is away) is told once.
  const failed = ({ message }: Error): void => {
    if (message !== lastMessage) log.warn(message, 'line');
    lastMessage = message;
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
      say('Stopping: the next start loads the rest.');
      // It ends with its next statement, when the pool is closed.
      welcomed.catch(() => undefined);
      return;
    }
    const queue = await openQueue(bursar, config, role, failed);
    try {
      const module = AppModule.forRole(bursar, config, clock, role, queue, failed);
      const started = await (role === 'worker' ? startWorker(module, config, log) : startApi(module, config, log));
      await lock?.setUrl(started.address ?? `process ${process.pid}`);
      say(
        started.address === null
          ? 'Bursar is working (no API in this process).'
          : `Bursar is ready: ${started.address}`,
      );
      await stop;
      say('Stopping: running jobs are finished first.');
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

async function startApi(
  module: ReturnType<typeof AppModule.forRole>,
  config: Config,
  log: ProcessLog,
): Promise<Started> {
  const app = await createWebApp(module, { logger: log, trustedProxies: config.trustedProxies });
  try {
    const address = await listen(app, config);
    const tls = config.admissionTls === null ? null : await listenTls(app, config.admissionTls);
    if (tls !== null) log.say(`The admission webhook listens over TLS: ${tls.address}`);
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
  module: ReturnType<typeof AppModule.forRole>,
  { host, healthPort: port }: Config,
  log: ProcessLog,
): Promise<Started> {
  if (port === null) {
    const app = await NestFactory.createApplicationContext(module, { logger: log });
    return { address: null, close: () => app.close() };
  }
  const app = await createWebApp(module, { logger: log });
  try {
    log.say(`Probes and metrics: ${await listen(app, { host, port })}`);
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
      `port ${port} of ${host} is in use: set ${setting} to another one (0 takes any free one)`,
      error,
    );
  if (code === 'EACCES')
    return unavailable(`port ${port} may not be opened by this user: set ${setting} to a port above 1023`, error);
  return error;
}

/** Within this the same request may come twice: of a Ctrl-C the terminal tells every process, and npm tells its own. */
const ONE_REQUEST_MILLISECONDS = 2000;
const PARENT_CHECK_MILLISECONDS = 1000;
/** A terminal that is closed, and a lost connection to it, ask by SIGHUP. */
const STOPPING = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const;

/**
 * The first request to stop; a second one ends the process at once. Under npm the end of npm, or of its shell, is a
 * request too: whoever started the server would otherwise not know that it goes on.
 */
function stopped(endAtOnce: () => void): Promise<'stop'> {
  return new Promise((resolve) => {
    let first: number | null = null;
    const heard = (signal: (typeof STOPPING)[number]): void => {
      first ??= performance.now();
      resolve('stop');
      if (performance.now() - first < ONE_REQUEST_MILLISECONDS) return;
      endAtOnce();
      process.removeListener(signal, heard);
      process.kill(process.pid, signal);
    };
    for (const signal of STOPPING) process.on(signal, heard);
    if (process.env['npm_lifecycle_event'] === undefined) return;
    const parent = process.ppid;
    setInterval(() => {
      if (process.ppid !== parent) resolve('stop');
    }, PARENT_CHECK_MILLISECONDS).unref();
  });
}
