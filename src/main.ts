/**
 * The entry point of the process: reads the environment and hands everything to the command line, of which serving is
 * one verb. Never decides anything about money.
 *
 * What a verb does not need is not loaded: help and the verbs of a remote API start without a database, without Nest
 * and without a cloud's SDK.
 */
import { createRequire } from 'node:module';
import type { Examination, Output } from './cli/context.js';
import { run } from './cli/program.js';
import { withSignIn } from './cli/servers.js';
import { typed } from './cli/usage-error.js';
import { wallClock } from './clock.js';
import type { Config } from './config.js';
import { Failure, type Problem } from './core/errors.js';
import { remoteOf, withFiles, type Environment } from './environment.js';
import type { LogFormat, LogLevel, ProcessLog } from './log.js';
import { startTracing, TRACING_SETTINGS } from './tracing.js';

/**
 * With the key of a server that somebody has signed in to. Where that cannot be read nothing is done: the verb would go
 * to this machine's database instead.
 */
function signedIn(): Readonly<Record<string, string | undefined>> {
  try {
    return withSignIn(process.env);
  } catch (error) {
    process.stderr.write(`bursar: ${error instanceof Failure ? error.message : 'the sign-in cannot be read'}\n`);
    process.exit(1);
  }
}

const given = signedIn();

/** With what stands in files that it names; where one cannot be read the configuration says so. */
function resolved(): Environment {
  try {
    return withFiles(given);
  } catch (error) {
    if (error instanceof Failure) return given;
    throw error;
  }
}

const environment = resolved();

async function readConfig(): Promise<Config> {
  return (await import('./config.js')).parseConfig(given);
}

/** The configuration, or what is wrong with it. */
async function examineConfig(): Promise<{ readonly config: Config | null; readonly problems: readonly Problem[] }> {
  try {
    return { config: await readConfig(), problems: [] };
  } catch (error) {
    if (error instanceof Failure) return { config: null, problems: error.problems };
    throw error;
  }
}

/** Whatever a room says by Nest's Logger comes here, and never to standard output. */
async function openLog(level: LogLevel, format: LogFormat): Promise<ProcessLog> {
  await import('reflect-metadata');
  const [{ Logger }, { ProcessLog: Log }] = await Promise.all([import('@nestjs/common'), import('./log.js')]);
  const log = new Log({ level, format }, wallClock, (line) => void process.stderr.write(line));
  Logger.overrideLogger(log);
  return log;
}

const examination: Examination = {
  configuration: async () => ({
    settings: [...(await import('./config.js')).SETTING_NAMES, ...TRACING_SETTINGS],
    problems: (await examineConfig()).problems,
  }),
  parts: async () => (await import('./parts.js')).inspectParts(environment, wallClock),
  redis: async (url) => (await import('./pipeline/queue-probe.js')).probeRedis(url),
  tables: async ({ db }) => (await import('./pipeline/queue-probe.js')).probePostgres(db),
};

// A reader that has seen enough (`bursar costs | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

/** Standard error, or the log, where every line of it is to be JSON. */
async function openErrors(): Promise<Output> {
  if (environment['BURSAR_LOG_FORMAT'] !== 'json') return process.stderr;
  const { config } = await examineConfig();
  if (config === null) return process.stderr;
  const log = await openLog(config.logLevel, config.logFormat);
  return { write: (text) => log.say(text) };
}

const stderr = await openErrors();
const require = createRequire(import.meta.url);
const tracing = await startTracing(process.env);
process.exitCode = await run(process.argv.slice(2), {
  environment,
  clock: wallClock,
  stdin: process.stdin,
  stdout: process.stdout,
  stderr,
  async connect(need) {
    const config = await readConfig();
    // What a request changes is the verb's own answer: the log has what went wrong.
    const log = await openLog(config.logLevel === 'log' ? 'warn' : config.logLevel, config.logFormat);
    return (await import('./local.js')).connect(config, need, (text) => log.say(text));
  },
  async serve(role) {
    const { parseConfig } = await import('./config.js');
    const config = typed(() => parseConfig(given));
    const log = await openLog(config.logLevel, config.logFormat);
    await (await import('./serve.js')).serve(config, role, log);
  },
  examination,
  remote: remoteOf(environment),
  ...(process.stdin.isTTY && { ask: async (question: string) => (await import('./cli/secret.js')).ask(question) }),
  readSecret: async (prompt) => (await import('./cli/secret.js')).readSecret(prompt),
  parseYaml: (text) => (require('yaml') as { parse(text: string): unknown }).parse(text),
  plotter: { plot: async (...drawn) => (await import('./rendering/plotter.js')).plotter.plot(...drawn) },
  reports: async () => (await import('./rendering/reports.js')).renderers,
});
await tracing?.stop();
