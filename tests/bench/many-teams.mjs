/**
 * A thousand teams at once, by hand: `node tests/bench/many-teams.mjs [--teams 1000] [--days 20] [--json]`. Needs
 * `npm run build` first.
 *
 * Every team has a rule, a budget and one record of usage in each of twenty days, a delivery a day, so that every
 * delivery gives every team work. An API and a worker run in processes of their own, PostgreSQL with fsync on. Told are
 * the seconds until everything is priced and every budget evaluated, the processor seconds of each process, and how long
 * `GET /v1/costs` takes meanwhile and afterwards.
 */
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startInstallation } from './faults/installation.mjs';
import { databaseSeconds, processorSeconds, seconds } from './server.mjs';

const { values } = parseArgs({
  options: {
    teams: { type: 'string', default: '1000' },
    days: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
});
const [teams, days] = [Number(values.teams), Number(values.days)];
const DAY = 86_400_000;
const READS = 20;
const today = Math.floor(Date.now() / DAY) * DAY;
const log = (text) => process.stderr.write(`${text}\n`);
const place = await startInstallation({ environment: { BURSAR_REQUESTS_PER_KEY: '1000000' }, log });
const nameOf = (n) => `team-${String(n).padStart(4, '0')}`;
const names = Array.from({ length: teams }, (_, n) => nameOf(n));
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void place.stop().finally(() => process.exit(130)));

async function ask(method, route, body, type = 'application/json') {
  const answer = await fetch(place.url + route, {
    method,
    headers: { authorization: `Bearer ${place.key}`, ...(body === undefined ? {} : { 'content-type': type }) },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${route}: ${answer.status} ${(await answer.text()).slice(0, 500)}`);
  return answer.json();
}

const instant = (ms) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** What a team owes for its records: 8 GPUs for one hour a day at 2.5 an hour each. */
const EACH = 20;

async function prepare() {
  const since = instant(today - 90 * DAY).slice(0, 10);
  const head = 'provider,sku,region,term,gpus,price,currency,per,effectiveFrom';
  const list = `${head}\nAcme,h100,r1,on-demand,1,2.5,USD,gpu-hour,${since}\n`;
  await ask('POST', '/v1/prices?filename=prices.csv', list, 'text/csv');
  await ask('PUT', '/v1/rules', {
    rules: names.map((team) => ({ match: { tag: { key: 'team', value: team } }, team })),
  });
  for (const team of names)
    await ask('PUT', `/v1/budgets/${team}`, {
      team,
      period: { start: instant(today - (days + 5) * DAY).slice(0, 10), lengthDays: days + 20 },
      planned: { default: '10000' },
      thresholds: [{ kind: 'actual', ratio: '0.9' }],
    });
}

async function deliver(day) {
  const start = today - (days - day) * DAY;
  const records = names.map((team) => ({
    id: `${team}-${day}`,
    provider: 'Acme',
    sku: 'h100',
    region: 'r1',
    gpus: 8,
    start: instant(start),
    end: instant(start + 3_600_000),
    tags: { team },
  }));
  await ask('POST', '/v1/usage?source=meter', { records });
}

async function readCosts(times) {
  const from = performance.now();
  const answer = await ask('GET', '/v1/costs?group-by=team');
  times.push(performance.now() - from);
  return answer;
}

const middle = (times) => Math.round([...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? NaN);

try {
  place.start('api');
  while (
    !(await fetch(`${place.url}/readyz`).then(
      (one) => one.ok,
      () => false,
    ))
  )
    await pause(100);
  await prepare();
  place.start('worker-1');
  const parent = (pid) =>
    Number(
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')[1],
    );
  const [{ pid: checkpointer }] = await place.postgres.ask(
    `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
  );
  const database = parent(checkpointer);
  const before = { api: processorSeconds(place.pidOf('api')), database: databaseSeconds(database) };
  const begun = performance.now();
  for (let day = 0; day < days; day++) await deliver(day);
  const sent = seconds(begun);
  const during = [];
  const left = async () =>
    Number(
      (
        await place.postgres.ask(
          `select count(*) from work where done < wanted and stage not like 'alert%' and not_before <= now()`,
        )
      )[0].count,
    );
  for (let n = 0; (await left()) > 0; n++) {
    if (n % 10 === 0) log(`${await left()} keys are left after ${Math.round(seconds(begun))} s`);
    await readCosts(during);
    await pause(1000);
  }
  const settled = seconds(begun);
  const after = [];
  for (let n = 0; n < READS; n++) await readCosts(after);
  const { rows } = await readCosts([]);
  const wrong = names.filter((team) => Number(rows.find((row) => row.team === team)?.cost) !== EACH * days);
  if (wrong.length > 0) throw new Error(`${wrong.length} teams have another sum than ${EACH * days}: ${wrong[0]}`);
  const found = {
    teams,
    days,
    sentSeconds: sent,
    settledSeconds: settled,
    costsMeanwhile: { reads: during.length, p50: middle(during), worst: Math.round(Math.max(...during)) },
    costsAfter: { reads: READS, p50: middle(after), worst: Math.round(Math.max(...after)) },
    processorSeconds: {
      api: processorSeconds(place.pidOf('api')) - before.api,
      worker: processorSeconds(place.pidOf('worker-1')),
      database: databaseSeconds(database) - before.database,
    },
    renewals: place.logged['worker-1'].split('could not renew lock').length - 1,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, load: loadavg()[0] },
  };
  process.stdout.write(`${JSON.stringify(found, null, values.json ? 2 : 0)}\n`);
} finally {
  await place.stop();
}
