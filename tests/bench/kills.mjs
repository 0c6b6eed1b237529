/**
 * Kills the processes of an installation one after the other while it works, and recounts everything afterwards, by
 * hand: `node tests/bench/kills.mjs --kills 200 --seed 1 [--redis] [--minutes N] [--json]`. Needs `npm run build`
 * first; after so many minutes no process is killed any more.
 *
 * Two meters, bills that are restated, price corrections, budgets that alert and approved actions on a cloud over HTTP
 * (faults/) run all the time. What is killed, and when, comes from the seed: the API, a worker, both workers,
 * PostgreSQL (SIGQUIT of its first process, kill -9 of a session), Redis, or every connection, in the middle of an
 * import, of pricing, of an action at the cloud. What was killed is started again at once. Two times are measured
 * after each kill: until the API accepts a write that was sent after it, and until the line has finished something
 * that was due at it, and all that was.
 *
 * At the end every account must equal the harness' own recount, and each approved action must have been done once.
 * Exits with 1 where anything does not hold.
 */
import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startCloud } from './faults/cloud.mjs';
import { makeClient } from './faults/client.mjs';
import { startInstallation } from './faults/installation.mjs';
import { Load, TEAMS } from './faults/load.mjs';
import { checkAccounts, checkActions, checkAlerts, checkLine } from './faults/recount.mjs';
import { summaryOf } from './faults/summary.mjs';
import { seeded } from './server.mjs';

const MOMENTS = ['import', 'pricing', 'acting'];
const VICTIMS = ['api', 'worker', 'both workers', 'postgres', 'backend', 'connections'];
const MOMENT_PATIENCE_MS = 5000;
const RECOVERY_PATIENCE_MS = 180_000;
/** What was due is waited for so long; the next kill comes then, and it is told that it took longer. */
const CAUGHT_UP_PATIENCE_MS = 5000;
const IDLE_PATIENCE_MS = 600_000;
const DUE = `done < wanted and parked_at is null and not_before <= now()`;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    minutes: { type: 'string', default: '600' },
    seed: { type: 'string', default: '1' },
    redis: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const [kills, seed] = [Number(values.kills), Number(values.seed)];
if (!(Number.isInteger(kills) && kills > 0 && Number.isInteger(seed))) {
  process.stderr.write('usage: node tests/bench/kills.mjs --kills N --seed N [--redis] [--json]\n');
  process.exit(2);
}
const mostMs = Number(values.minutes) * 60_000;
const log = (text) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const random = seeded(seed);
const machines = Math.min(150, Math.max(40, kills * 3));
const cloud = await startCloud({ random: seeded(seed + 1), teams: TEAMS, machines });
const environment = { ...cloud.environment, BURSAR_COLLECT_FLEET_SECONDS: '10' };
const place = await startInstallation({ withRedis: values.redis, environment, log });
const client = makeClient(place);
const load = new Load({ client, seed, now: Date.now() });
let failed = true;
const end = async () => {
  client.stop();
  await place.stop();
  await cloud.stop();
};
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void end().finally(() => process.exit(130)));
try {
  place.start('api');
  await load.prepare();
  for (const name of ['worker-1', 'worker-2']) place.start(name);
  await load.proposed(machines);
  log('prepared');
  load.start();
  await pause(3000);
  const begun = performance.now();
  const measured = [];
  for (let n = 0; n < kills && load.failures.length === 0 && performance.now() - begun < mostMs; n += 1) {
    measured.push(await oneKill(n));
    await pause(Math.floor(random() * 1000));
  }
  const seconds = Math.round((performance.now() - begun) / 1000);
  const report = await finish(measured, seconds);
  failed = report.problems.length > 0;
  if (values.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  else process.stdout.write(summaryOf(report));
  if (failed) for (const [name, text] of Object.entries(place.logged)) log(`${name}:\n${text.slice(-6000)}`);
} finally {
  await end();
}
process.exit(failed ? 1 : 0);

/** Waits for a moment, kills, starts again, and measures until all is as before. */
async function oneKill(n) {
  const victims = values.redis ? [...VICTIMS, 'redis'] : VICTIMS;
  const [victim, moment] = [victims[n % victims.length], MOMENTS[Math.floor(random() * MOMENTS.length)]];
  const watch = await place.postgres.connect();
  const found = await until(moment, watch);
  await pause(Math.floor(random() * 120));
  const due = await dueAt(watch);
  await watch.end().catch(() => undefined);
  const doing = { imports: load.inFlight.import, effects: cloud.books.inWork, stages: due.stages };
  const at = performance.now();
  const how = await strike(victim);
  const [apiMs, line] = await Promise.all([writeAccepted(at), lineMoves(at, due.rows)]);
  const one = { n, victim, how, moment: found ? moment : `${moment} (did not come)`, doing, apiMs, ...line };
  log(
    `${n + 1}/${kills} ${victim}${how === '' ? '' : ` (${how})`} in ${one.moment}: a write after ${apiMs} ms, the line moved after ${line.movedMs} ms, ${due.rows.length} due keys ${line.caughtUpMs === null ? `not all done after ${CAUGHT_UP_PATIENCE_MS} ms` : `done after ${line.caughtUpMs} ms`}`,
  );
  return one;
}

/** Until what the moment is named for is under way; false where it did not come. */
async function until(moment, watch) {
  const before = performance.now();
  if (moment === 'acting') await load.decide().catch(() => undefined);
  while (performance.now() - before < MOMENT_PATIENCE_MS) {
    if (moment === 'import' && load.inFlight.import > 0) return true;
    if (moment === 'acting' && cloud.books.inWork > 0) return true;
    if (moment === 'pricing' && (await isPricing(watch))) return true;
    await pause(5);
  }
  return false;
}

/** Whether a session writes or reads hours' costs in a transaction. */
async function isPricing(watch) {
  const { rows } = await watch.query(
    `select 1 from pg_stat_activity where application_name <> 'harness' and xact_start is not null and query like '%cost_hour%' limit 1`,
  );
  return rows.length > 0;
}

async function dueAt(watch) {
  const { rows } = await watch.query(
    `select organisation, lane, stage, key, wanted::text, leased_until > now() as leased from work where ${DUE}`,
  );
  const stages = [...new Set(rows.map(({ stage }) => stage))].sort();
  return { rows, stages };
}

/** Kills, and starts again what was killed. */
async function strike(victim) {
  const names = ['worker-1', 'worker-2'];
  switch (victim) {
    case 'api':
      await place.kill('api');
      place.start('api');
      return '';
    case 'worker': {
      const name = names[Math.floor(random() * 2)];
      await place.kill(name);
      place.start(name);
      return name;
    }
    case 'both workers':
      await Promise.all(names.map((name) => place.kill(name)));
      for (const name of names) place.start(name);
      return '';
    case 'postgres':
      await place.postgres.crash();
      await place.postgres.startAgain();
      return 'SIGQUIT';
    case 'backend':
      return killBackend();
    case 'connections': {
      const way = random() < 0.5 ? 'FIN' : 'RST';
      place.postgres.proxy.cut(way);
      return way;
    }
    case 'redis':
      await place.redis.kill();
      await place.redis.start();
      return 'emptied';
  }
}

/** kill -9 of one session, one in a transaction where there is one: PostgreSQL then ends all others and recovers. */
async function killBackend() {
  const sessions = await place.postgres.ask(
    `select pid from pg_stat_activity where backend_type = 'client backend' and application_name <> 'harness' order by xact_start is null, random() limit 1`,
  );
  if (sessions.length === 0) return 'no session';
  process.kill(sessions[0].pid, 'SIGKILL');
  return 'kill -9';
}

/** Milliseconds until a write that was sent after the kill is accepted. It is usage, and counts like all other. */
async function writeAccepted(at) {
  const records = [load.record(`probe-${Math.round(at * 1000)}`, random)];
  await load.sendUsage(records, 'probe');
  return Math.round(performance.now() - at);
}

/** Until one of the keys that were due is done, and until all are. */
async function lineMoves(at, due) {
  if (due.length === 0) return { movedMs: null, caughtUpMs: null };
  const keys = ['organisation', 'lane', 'stage', 'key', 'wanted'].map((name) => due.map((row) => row[name]));
  let movedMs = null;
  while (performance.now() - at < RECOVERY_PATIENCE_MS) {
    const open = await place.postgres
      .ask(
        `select w.stage, w.key, w.last_error from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) as d(organisation, lane, stage, key, wanted)
         join work w using (organisation, lane, stage, key) where w.done < d.wanted`,
        keys,
      )
      .catch(() => null);
    if (open !== null) {
      const ms = Math.round(performance.now() - at);
      if (open.length < due.length) movedMs ??= ms;
      if (open.length === 0) return { movedMs, caughtUpMs: ms };
      if (movedMs !== null && ms > CAUGHT_UP_PATIENCE_MS) return { movedMs, caughtUpMs: null, waiting: open.length };
    }
    await pause(50);
  }
  const left = await place.postgres.ask(
    `select stage, key, attempts, last_error, not_before, leased_until from work where ${DUE}`,
  );
  return { movedMs, caughtUpMs: null, left: left.slice(0, 20) };
}

/** Stops the load, lets the line come to rest, and compares everything. */
async function finish(measured, seconds) {
  await load.stop();
  log('the load has stopped');
  const idle = await isIdle();
  const problems = [...load.failures, ...place.died(), ...client.tally.wrong.map((one) => `a wrong answer: ${one}`)];
  if (!idle) problems.push(`the line did not come to rest within ${IDLE_PATIENCE_MS / 1000} s`);
  for (const { n, victim, left } of measured)
    if (left !== undefined) problems.push(`after kill ${n + 1} (${victim}) work stood still: ${JSON.stringify(left)}`);
  const [accounts, actions, alerts, line] = [
    await checkAccounts(client, load),
    await checkActions(client, load, cloud.books),
    await checkAlerts(client, cloud.books),
    await checkLine(client),
  ];
  for (const one of [accounts, actions, alerts, line]) problems.push(...one.problems);
  return {
    command: `node tests/bench/kills.mjs --kills ${kills} --seed ${seed}${values.redis ? ' --redis' : ''}`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, load: loadavg()[0] },
    queue: values.redis ? 'redis' : 'postgresql',
    kills: measured.length,
    endedAtStartAndStartedAgain: place.endedAtStart(),
    seconds,
    usage: { records: load.records, batches: load.batches, sentTwice: load.repeated },
    bills: load.bills,
    priceLists: load.priceLists,
    requests: {
      sent: client.tally.sent,
      accepted: client.tally.accepted,
      broken: client.tally.broken,
      answered503: client.tally.refused503,
    },
    cellsRecounted: accounts.cells,
    actions: {
      approved: load.approved.size,
      takenBack: load.takenBack.size,
      carriedOut: actions.carriedOut,
      askedAgain: actions.askedAgain,
      outcomesAsked: cloud.books.outcomesAsked,
      conflicts: load.conflicts,
    },
    alerts: { made: alerts.alerts, sentAgain: alerts.repeated },
    auditEntries: line.auditEntries,
    problems,
    measured,
  };
}

/** Nothing due, and no approved action on its way, five looks long. */
async function isIdle() {
  const before = performance.now();
  for (let quiet = 0; quiet < 5; ) {
    if (performance.now() - before > IDLE_PATIENCE_MS) return false;
    const [{ due }] = await place.postgres.ask(
      `select (select count(*) from work where ${DUE})::int + (select count(*) from action where state in ('approved', 'intended', 'applied'))::int as due`,
    );
    quiet = due === 0 ? quiet + 1 : 0;
    await pause(500);
  }
  return true;
}
