/**
 * bursar doctor: whether this installation is well; each finding with its remedy. Local only, reads only.
 *
 * Settings are named, never shown. A finding that is wrong makes the exit code 1; one to attend to does not.
 */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Command } from 'commander';
import { Failure } from '../../core/errors.js';
import { serverFacts } from '../../store/administration.js';
import type { CliContext, LocalBursar } from '../context.js';
import type { Session } from '../session.js';
import { grouped, table } from '../table.js';
import { WrongUse } from '../usage-error.js';

type Status = 'ok' | 'attend' | 'wrong';

export interface Finding {
  readonly check: string;
  readonly status: Status;
  readonly detail: string;
  /** Null where nothing is to be done. */
  readonly remedy: string | null;
}

const SETTINGS = [
  'DATABASE_URL', 'REDIS_URL', 'PORT', 'HOST', 'BURSAR_DATA_DIR', 'BURSAR_EXAMPLE', 'BURSAR_URL', 'BURSAR_API_KEY', 'BURSAR_TICK_SECONDS',
  'BURSAR_CONCURRENCY', 'BURSAR_LOG_LEVEL',
];
const MOST_SKEW_SECONDS = 5;
const MOST_LAG_SECONDS = 600;
const LEAST_FREE_BYTES = 2 ** 30;
const MOST_PARKED_SHOWN = 20;

const ok = (check: string, detail: string): Finding => ({ check, status: 'ok', detail, remedy: null });
const wrong = (check: string, detail: string, remedy: string): Finding => ({ check, status: 'wrong', detail, remedy });
const attend = (check: string, detail: string, remedy: string): Finding => ({ check, status: 'attend', detail, remedy });

export function addDoctor(program: Command, session: Session): void {
  program.command('doctor')
    .description('Look whether this installation is well; say what to do where it is not.')
    .addHelpText('after', '\nSettings are named, never shown. The exit code is 1 if something is wrong.\n\nExample:\n  bursar doctor')
    .action(async () => {
      const findings = await examine(session);
      const isWell = findings.every(({ status }) => status !== 'wrong');
      if (!isWell) session.found();
      session.print({ ok: isWell, findings }, () => table(['check', 'status', 'finding'], findings.map((f) => [f.check, f.status, f.detail]))
        + findings.flatMap(({ check, remedy }) => (remedy === null ? [] : [`${check}: ${remedy}\n`])).join(''));
    });
}

async function examine(session: Session): Promise<Finding[]> {
  const { context } = session;
  const findings = [configuration(context), await disk(context)];
  let bursar: LocalBursar;
  try {
    bursar = await session.local();
  } catch (error) {
    if (error instanceof WrongUse) {
      return [...error.problems.map((p) => wrong('configuration', `${p.path ?? ''} ${p.message}`.trim(), 'correct the environment variable')), ...findings.slice(1)];
    }
    if (!(error instanceof Failure)) throw error;
    const embedded = !context.environment['DATABASE_URL'];
    return [...findings, wrong('database', error.message, embedded ? 'look into BURSAR_DATA_DIR: who owns it, and what its log says' : 'start the server that DATABASE_URL names, or correct the variable')];
  }
  return [...findings, ...(await database(bursar, context)), queue(context), ...(await line(bursar, context)), await prices(bursar)];
}

function configuration({ environment, remote }: CliContext): Finding {
  const set = SETTINGS.filter((name) => environment[name]);
  const detail = set.length === 0 ? 'every setting has its default' : `set: ${set.join(', ')}`;
  return remote === null ? ok('configuration', detail) : attend('configuration', detail, 'BURSAR_URL is set: most verbs go there, while doctor looks at this machine');
}

/** Room where the embedded database lies; a server of its own watches its own disk. */
async function disk({ environment }: CliContext): Promise<Finding> {
  if (environment['DATABASE_URL']) return ok('disk', "the database server's own");
  const folder = path.resolve(environment['BURSAR_DATA_DIR'] || '.bursar');
  for (let at = folder; ; at = path.dirname(at)) {
    const facts = await statfs(at).catch(() => null);
    if (facts !== null) {
      const free = facts.bavail * facts.bsize;
      const detail = `${(free / 2 ** 30).toFixed(1)} GiB free for ${folder}`;
      return free >= LEAST_FREE_BYTES ? ok('disk', detail) : wrong('disk', detail, 'make room, or name another folder in BURSAR_DATA_DIR');
    }
    if (at === path.dirname(at)) return wrong('disk', `${folder} cannot be looked at`, 'name a folder in BURSAR_DATA_DIR that this user may enter');
  }
}

async function database({ stores }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const before = clock.now();
  const { version, now, databaseBytes } = await serverFacts(stores.db);
  const after = clock.now();
  // Half of the question's own way is not skew.
  const skewSeconds = Math.round(Math.max(0, before - now, now - after) / 1000);
  const { migrated } = await stores.health.readiness(after);
  const isOld = Number.parseInt(version, 10) < 15;
  return [
    isOld ? wrong('database', `PostgreSQL ${version}`, 'Bursar needs PostgreSQL 15 or later') : ok('database', `PostgreSQL ${version}, ${grouped(Math.round(databaseBytes / 2 ** 20))} MiB`),
    migrated ? ok('schema', 'up to date') : wrong('schema', 'migrations have not run', 'bursar migrate'),
    skewSeconds <= MOST_SKEW_SECONDS ? ok('clocks', `this machine and the database differ by ${skewSeconds} s`)
      : wrong('clocks', `this machine and the database differ by ${skewSeconds} s`, 'let both set their clocks by NTP'),
  ];
}

function queue({ environment }: CliContext): Finding {
  return ok('queue', environment['REDIS_URL'] ? 'in Redis' : 'in PostgreSQL');
}

async function line({ stores, organisation }: LocalBursar, { clock }: CliContext): Promise<Finding[]> {
  const { queueAgeSeconds } = await stores.health.readiness(clock.now());
  const waiting = (await stores.health.load(clock.now())).filter((stage) => stage.waiting > 0).map((stage) => `${stage.stage} ${grouped(stage.waiting)}`).join(', ');
  const detail = queueAgeSeconds === null ? 'nothing is due' : `the oldest due work has waited ${grouped(queueAgeSeconds)} s (${waiting})`;
  const lag = queueAgeSeconds !== null && queueAgeSeconds > MOST_LAG_SECONDS
    ? wrong('line', detail, 'see that bursar serve runs, with a role that works; add workers if it does') : ok('line', detail);
  const parked = await stores.work.parked(organisation);
  const reasons = parked.slice(0, MOST_PARKED_SHOWN)
    .map(({ stage, key, attempts, reason }) => wrong('parked work', `${stage} ${key}, after ${attempts} attempts: ${reason}`, 'remove the reason; importing the data again wakes it'));
  const more = parked.length - reasons.length;
  return [
    lag, ...(parked.length === 0 ? [ok('parked work', 'none')] : reasons),
    ...(more > 0 ? [wrong('parked work', `and ${grouped(more)} more`, 'the same')] : []),
  ];
}

async function prices({ stores, organisation }: LocalBursar): Promise<Finding> {
  const { prices: known } = await stores.prices.book(stores.db, organisation);
  if (known.length === 0) return attend('prices', 'no price is known: metered usage stays unpriced', 'bursar prices <file...>');
  return ok('prices', `${grouped(known.length)} prices of ${new Set(known.map((price) => price.provider)).size} providers`);
}
