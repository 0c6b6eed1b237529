/**
 * The load that one API process holds, by hand: `node tests/bench/held.mjs [--seconds 20] [--json]`. Needs `npm run
 * build` first.
 *
 * So many senders, each with one request under way at a time, ask an API in a process of its own for 20 seconds: usage
 * in batches of twenty records, quotes with the team's budget, costs by team and day. A worker runs beside it, and
 * PostgreSQL with fsync on. Told are requests a second, the middle and the 99th percentile of their times, and every
 * answer that was no success. How fast a fixed rate is answered is told by `npm run bench -- quote`.
 */
import { Agent, request } from 'node:http';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { makeClient } from './faults/client.mjs';
import { startInstallation } from './faults/installation.mjs';
import { Load, SKUS, TEAMS } from './faults/load.mjs';
import { seeded } from './server.mjs';

const SENDERS = [32, 128];
const WARM_MS = 3000;

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, json: { type: 'boolean', default: false } },
});
const forMs = Number(values.seconds) * 1000;
const log = (text) => process.stderr.write(`${text}\n`);
const environment = { BURSAR_REQUESTS_PER_KEY: '1000000' };
const place = await startInstallation({ environment, log });
const client = makeClient(place);
const load = new Load({ client, seed: 1, now: Date.now() });
const random = seeded(7);
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
let sent = 0;
const CASES = {
  usage: () => ({
    method: 'POST',
    route: '/v1/usage?source=meter',
    body: JSON.stringify({ records: Array.from({ length: 20 }, () => load.record(`held-${(sent += 1)}`, random)) }),
  }),
  quotes: () => ({
    method: 'POST',
    route: '/v1/quotes',
    body: JSON.stringify({ provider: 'Acme', sku: SKUS[0], gpus: 8, hours: 24, team: TEAMS[(sent += 1) % 4] }),
  }),
  costs: () => ({ method: 'GET', route: `/v1/costs?from=${day(load.from)}&to=${day(load.to)}&group-by=team,day` }),
};
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void place.stop().finally(() => process.exit(130)));
try {
  place.start('api');
  await load.prepare();
  place.start('worker-1');
  const cases = [];
  for (const [name, make] of Object.entries(CASES))
    for (const senders of SENDERS) {
      await hold(make, senders, WARM_MS);
      cases.push({ name, senders, ...(await hold(make, senders, forMs)), load: Number(loadavg()[0].toFixed(1)) });
      log(JSON.stringify(cases.at(-1)));
    }
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  if (values.json) process.stdout.write(`${JSON.stringify({ machine, cases }, null, 2)}\n`);
  else for (const one of cases) process.stdout.write(`${JSON.stringify(one)}\n`);
} finally {
  client.stop();
  await place.stop();
}

/** So many senders, one request after the other each, for so long. */
async function hold(make, senders, ms) {
  const agent = new Agent({ keepAlive: true, maxSockets: senders });
  const times = [];
  const others = {};
  const begun = performance.now();
  const sender = async () => {
    while (performance.now() - begun < ms) {
      const from = performance.now();
      const status = await once(agent, make());
      times.push(performance.now() - from);
      if (status < 200 || status >= 300) others[status] = (others[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: senders }, sender));
  agent.destroy();
  const elapsed = (performance.now() - begun) / 1000;
  times.sort((a, b) => a - b);
  const at = (q) => Number(times[Math.min(times.length - 1, Math.floor(q * times.length))].toFixed(1));
  return {
    requests: times.length,
    perSecond: Math.round(times.length / elapsed),
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    others,
  };
}

function once(agent, { method, route, body }) {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${place.key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    };
    const asked = request(place.url + route, { agent, method, headers }, (reply) => {
      reply.resume();
      reply.once('end', () => resolve(reply.statusCode));
      reply.once('error', () => resolve(0));
    });
    asked.once('error', () => resolve(0));
    asked.end(body);
  });
}
