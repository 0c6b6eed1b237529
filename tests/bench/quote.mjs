/**
 * Quotes over HTTP at a steady 200 requests a second: how long an answer takes from the moment at which the request was
 * due (a server that falls behind is not waited for: no coordinated omission), on a price book of all bundled lists and
 * a thousand teams with budgets. API and worker are processes of their own, as docker-compose.yml has them;
 * `BENCH_ROLE=all` makes them one, which then evaluates and reports between the answers. `load` is the machine's load
 * average beside it: others may be at work.
 */
import { readdir } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import path from 'node:path';
import { enqueue } from '../../dist/src/store/work.js';
import { seeded, withBursar } from './server.mjs';

const ROOT = path.join(import.meta.dirname, '../..');
const TEAMS = 1000;
const DEPARTMENTS = 40;
const PER_SECOND = 200;
const DAY = 86_400_000;
const HOUR = 3_600_000;
const WARM_SECONDS = 5;

/**
 * Every bundled price list that a format takes, and a month of spot prices for the big instances, which no bundled list
 * has of now.
 */
async function loadPrices({ importer, stores, organisation }) {
  const folders = [
    'tests/fixtures/price-lists',
    'examples/data/alibaba-gpu-prices',
    'examples/data/aws-ondemand-price-history',
    'examples/data/aws-reserved-price-sample',
    'examples/data/gcp-gpu-prices',
  ];
  for (const folder of folders) {
    for (const name of await readdir(path.join(ROOT, folder))) {
      if (!name.endsWith('.csv')) continue;
      const input = await importer.openFile(path.join(ROOT, folder, name));
      try {
        await importer.prices([input], {
          organisation,
          source: 'bench',
          format: 'auto',
          strict: false,
          dryRun: false,
          by: 'bench',
        });
      } catch {
        // A list that no format takes.
      } finally {
        await input.close();
      }
    }
  }
  const random = seeded(11);
  const hour = Math.floor(Date.now() / HOUR) * HOUR;
  const events = ['p5.48xlarge', 'p4d.24xlarge', 'g5.12xlarge', 'g6.12xlarge'].flatMap((sku, n) =>
    Array.from({ length: 360 }, (_, step) => ({
      kind: 'price',
      price: {
        provider: 'AWS',
        sku,
        region: 'us-east-1',
        term: 'spot',
        upfront: 'none',
        component: 'gpu',
        gpuModel: ['H100', 'A100-40GB', 'A10G', 'L4'][n],
        gpus: [8, 8, 4, 4][n],
        rate: {
          nanos: BigInt(Math.round((10 + n) * (1 + 0.2 * random()) * 1e9)),
          currency: 'USD',
          quantity: BigInt([8, 8, 4, 4][n]) * 3600n,
          unit: 'gpu-second',
        },
        effectiveFrom: hour - 30 * DAY + step * 2 * HOUR,
        effectiveTo: null,
        incrementSeconds: 1,
        minimumSeconds: 60,
        source: 'bench',
      },
    })),
  );
  await stores.prices.add(stores.db, organisation, events, 'bench');
  const { prices } = await stores.prices.book(stores.db, organisation);
  return prices.length;
}

/**
 * A thousand teams in forty departments of one company, each of them with a monthly budget that has sixty days of
 * spend.
 */
async function loadTeams({ stores, organisation, runner }) {
  const { db } = stores;
  const today = new Date(Math.floor(Date.now() / DAY) * DAY).toISOString().slice(0, 10);
  await db.query(`insert into team (organisation, id, name) values ($1, 'company', 'Company')`, [organisation]);
  await db.query(
    `insert into team (organisation, id, name, parent) select $1, 'department-' || n, 'Department ' || n, 'company' from generate_series(1, $2::int) n`,
    [organisation, DEPARTMENTS],
  );
  await db.query(
    `insert into team (organisation, id, name, parent) select $1, 'team-' || n, 'Team ' || n, 'department-' || (1 + n % $3::int) from generate_series(1, $2::int) n`,
    [organisation, TEAMS, DEPARTMENTS],
  );
  await db.query(
    `insert into budget (organisation, id, team, spec) select $1, id, id, jsonb_build_object('id', id, 'team', id, 'period', 'month', 'zone', 'UTC', 'currency', 'USD', 'filters', '{}'::jsonb,
       'planned', '{"default": "100000000", "periods": {}}'::jsonb, 'includeCredits', true, 'thresholds', '[{"kind": "actual", "ratio": "0.8"}, {"kind": "forecast", "ratio": "1"}]'::jsonb) from team where organisation = $1`,
    [organisation],
  );
  const [dimension] = await db.query(
    `insert into dimension (organisation, key, kind, provider, category) values ($1, '\\x00', 'metered', 'AWS', 'Usage') returning id::text as id`,
    [organisation],
  );
  await db.query(
    `insert into cost_day (organisation, team, day, dimension, currency, records, accrued, actual)
     select $1, 'team-' || n, ($3::date - d), $4, 'USD', 24, 200 + (n * 7919 + d * 104729) % 200, 200 + (n * 7919 + d * 104729) % 200 from generate_series(1, $2::int) n, generate_series(0, 59) d`,
    [organisation, TEAMS, today, dimension.id],
  );
  await stores.organisations.saveSetting(db, organisation, 'peak', [
    { from: '09:00', to: '18:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'], zone: 'Asia/Shanghai', factor: '1.2' },
  ]);
  const budgets = await db.query(`select id from budget where organisation = $1`, [organisation]);
  await enqueue(
    db,
    organisation,
    budgets.map(({ id }) => ({ stage: 'budget.weigh', partition: id, key: `${id}/${today.slice(0, 7)}-01` })),
  );
  await runner.drain();
  await db.query('vacuum analyze');
}

const RUNS = [
  { provider: 'aws', sku: 'p5.48xlarge', gpus: 8, hours: 72, hoursHigh: 96 },
  { provider: 'aws', sku: 'H100', gpus: 16, hours: 24 },
  { provider: 'gcp', sku: 'a2-highgpu-8g', gpus: 8, hours: 200 },
  { provider: 'aws', sku: 'p4d.24xlarge', gpus: 8, hours: 48, term: 'spot', restartHours: 0.2 },
  { provider: 'aws', sku: 'g5.12xlarge', gpus: 4, hours: 12, term: 'spot' },
  { provider: 'gcp', sku: 'H100', gpus: 8, hours: 720, term: 'reserved-1y' },
];

const ofTeam = (n) => ({ ...RUNS[n % RUNS.length], team: `team-${1 + ((n * 7) % TEAMS)}` });

/** What is asked, by the number of the request. */
const CASES = [
  { name: 'quote/cost', of: (n) => ({ address: '/v1/quotes', body: RUNS[n % RUNS.length] }) },
  { name: 'quote/budgets', of: (n) => ({ address: '/v1/quotes', body: ofTeam(n) }) },
  {
    name: 'quote/budgets-and-placements',
    of: (n) => ({
      address: '/v1/quotes',
      body: {
        ...ofTeam(n),
        placement: {
          kind: n % 3 === 0 ? 'inference' : 'training',
          memoryGibPerGpu: 30,
          gpusPerUnitMin: 4,
          deadlineHours: 1000,
          spotShareMax: n % 2,
        },
      },
    }),
  },
  // One budget lies over all teams, and whoever reserves waits for it in turn.
  {
    name: 'quote/every-tenth-reserves',
    of: (n) =>
      n % 10 > 0
        ? { address: '/v1/quotes', body: ofTeam(n) }
        : { address: '/v1/reservations', body: { ...ofTeam(n), holdHours: 0.05 }, idempotencyKey: `bench-${n}` },
  },
  {
    name: 'quote/all-reserve',
    of: (n) => ({
      address: '/v1/reservations',
      body: { ...ofTeam(n), holdHours: 0.05 },
      idempotencyKey: `bench-all-${n}`,
    }),
  },
];

/** Sends at a fixed rate for so many seconds; milliseconds from when each was due to its last byte. */
async function openLoop(server, { name, of }, seconds, from) {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const times = [];
  const failures = new Map();
  const waiting = [];
  const timed = async (due, asked) => {
    const status = await send(agent, server, asked);
    times.push(performance.now() - due);
    if (status !== 200) failures.set(status, (failures.get(status) ?? 0) + 1);
  };
  const begun = performance.now();
  for (let n = 0; n < PER_SECOND * seconds; n++) {
    const due = begun + (n * 1000) / PER_SECOND;
    const pause = due - performance.now();
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    waiting.push(timed(due, of(from + n)));
  }
  await Promise.all(waiting);
  const elapsed = (performance.now() - begun) / 1000;
  agent.destroy();
  if (failures.size > 0)
    throw new Error(
      `${name}: ${[...failures].map(([status, count]) => `${count} answers of status ${status}`).join(', ')}`,
    );
  return { times: times.sort((a, b) => a - b), elapsed };
}

function send(agent, { url, key: apiKey }, { address, body, idempotencyKey }) {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      url + address,
      {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(text),
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
      },
      (reply) => {
        reply.resume();
        reply.once('end', () => resolve(reply.statusCode));
        reply.once('error', reject);
      },
    );
    sent.once('error', reject);
    sent.end(text);
  });
}

/**
 * `serve` in a role on the given database; the first start prints the admin key. BENCH_NODE_FLAGS adds flags to the
 * API's (a profiler's).
 */
async function startServer(databaseUrl, role) {
  const flags = [
    '--max-semi-space-size=64',
    '--no-allocation-site-pretenuring',
    ...(role === 'worker' ? [] : (process.env.BENCH_NODE_FLAGS?.split(' ') ?? [])),
  ];
  const child = spawn(process.execPath, [...flags, path.join(ROOT, 'dist/src/main.js'), 'serve', '--role', role], {
    env: { PATH: process.env.PATH, DATABASE_URL: databaseUrl, PORT: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  if (role === 'worker') {
    child.stderr.resume();
    return { stop };
  }
  const text = await new Promise((resolve, reject) => {
    let all = '';
    child.stderr.on('data', (chunk) => {
      all += chunk;
      if (/is ready: /.test(all)) resolve(all);
    });
    ended.then(() => reject(new Error(`serve ended: ${all}`)));
  });
  return { pid: child.pid, url: /is ready: (\S+)/.exec(text)[1], key: /bursar_\S+/.exec(text)[0], stop };
}

/**
 * Milliseconds of processor time that a process has used, in hundredths of a second as Linux counts; null elsewhere. It
 * is the same whatever else the machine does.
 */
function processorMs(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null;
  }
}

const quantile = (sorted, q) => Number(sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))].toFixed(2));

/** @param rows requests per case, 4000 (20 seconds) unless told */
export async function run({ rows = 20 * PER_SECOND, log }) {
  return withBursar(async (bursar) => {
    const prices = await loadPrices(bursar);
    log(`quote: ${prices} prices`);
    await loadTeams(bursar);
    log(`quote: ${TEAMS} teams with budgets`);
    const role = process.env.BENCH_ROLE ?? 'api';
    const server = await startServer(bursar.databaseUrl, role);
    const worker = role === 'api' ? await startServer(bursar.databaseUrl, 'worker') : null;
    try {
      // What a start enqueues (every budget, every team) is over before anything is timed.
      for (let quiet = 0; quiet < 5; quiet = (await bursar.stores.work.waiting(Date.now())) === 0 ? quiet + 1 : 0)
        await new Promise((resolve) => setTimeout(resolve, 1000));
      const cases = [];
      for (const one of CASES) {
        await openLoop(server, one, WARM_SECONDS, 1_000_000);
        const load = loadavg()[0];
        const before = processorMs(server.pid);
        const { times, elapsed } = await openLoop(server, one, rows / PER_SECOND, 0);
        const used =
          before === null
            ? {}
            : { serverProcessorMs: Number(((processorMs(server.pid) - before) / times.length).toFixed(2)) };
        cases.push({
          name: one.name,
          rows: times.length,
          recordsPerSecond: Math.round(times.length / elapsed),
          p50Ms: quantile(times, 0.5),
          p99Ms: quantile(times, 0.99),
          mostMs: quantile(times, 1),
          ...used,
          load: Number(load.toFixed(1)),
          prices,
        });
        log(
          `quote: ${one.name} p50 ${cases.at(-1).p50Ms} ms, p99 ${cases.at(-1).p99Ms} ms, ${used.serverProcessorMs} ms of processor each, at a load of ${load.toFixed(1)}`,
        );
      }
      return cases;
    } finally {
      await Promise.all([server.stop(), worker?.stop()]);
    }
  });
}
