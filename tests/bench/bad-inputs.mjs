/**
 * Sends requests that are wrong to a server that runs, by hand: `node tests/bench/bad-inputs.mjs --count 100000 --seed
 * 1 [--minutes N] [--only N,N] [--json]`. Needs `npm run build` first; after so many minutes nothing more is sent.
 *
 * The requests are made from the seed (faults/bad-requests.mjs): every route of the API with an administrator's key.
 * No answer may be a 5xx but 503 with Retry-After, none may fail to come, the process must live and keep its memory
 * bounded (its old space is limited), and what was refused must leave nothing: of every fourth block those that were
 * refused are sent again while nothing else is, and the contents of every table are compared. At the end a worker does
 * what was accepted: none of it may be parked. `--only N,N` sends these alone and shows them. Exits with 1 where
 * anything does not hold.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { cpus, loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { badRequest, operations } from './faults/bad-requests.mjs';
import { startInstallation } from './faults/installation.mjs';

const AT_ONCE = 12;
const BLOCK = 400;
/** Of so many blocks one is sent again and compared. */
const COMPARED_EVERY = 4;
const ANSWER_MS = 60_000;
/** What takes longer is listed. */
const SLOW_MS = 30_000;
const OLD_SPACE_MIB = 384;
const MOST_RESIDENT_MIB = 1100;
/** What a refused request may change: who was refused is written down, and when a key was used last. */
const MAY_CHANGE = new Set(['audit', 'audit_head', 'audit_seal', 'api_key', 'idempotency', 'session', 'refusal']);

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
    minutes: { type: 'string', default: '600' },
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const [count, seed] = [Number(values.count), Number(values.seed)];
if (!(Number.isInteger(count) && count > 0 && Number.isInteger(seed))) {
  process.stderr.write('usage: node tests/bench/bad-inputs.mjs --count N --seed N [--only N,N] [--json]\n');
  process.exit(2);
}
const log = (text) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
const many = '1000000';
const place = await startInstallation({
  environment: {
    NODE_OPTIONS: `--max-old-space-size=${OLD_SPACE_MIB}`,
    BURSAR_REQUESTS_PER_KEY: many,
    BURSAR_REQUESTS_PER_ADDRESS: many,
    BURSAR_WRONG_KEYS_PER_MINUTE: many,
  },
  log,
});
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const all = operations();
const problems = [];
const slow = [];
const statuses = new Map();
const kinds = new Map();
let tables = null;
let broken = 0;
let failed = true;
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, () => void place.stop().finally(() => process.exit(130)));
try {
  place.start('api');
  while ((await health()) !== 200) await pause(100);
  if (values.only !== undefined) for (const n of values.only.split(',')) await showOne(Number(n));
  else failed = !(await sendAll());
} finally {
  agent.destroy();
  await place.stop();
}
process.exit(failed ? 1 : 0);

async function sendAll() {
  const begun = performance.now();
  const [numbers, first] = [Array.from({ length: count }, (_, n) => n), residentMiB()];
  let [most, compared, said, sent] = [first, 0, 0, 0];
  for (let from = 0; from < count; from += BLOCK) {
    const block = numbers.slice(from, from + BLOCK);
    const answers = await sendBlock(block);
    const refused = from % (BLOCK * COMPARED_EVERY) === 0 ? block.filter((n) => answers.get(n) >= 400) : [];
    const [again, changed] = await sentAgain(refused);
    // One that was refused only while another ran is accepted now: then the tables may differ.
    if (again) {
      compared += refused.length;
      for (const [name, was, is] of changed)
        problems.push(`block ${from}: what was refused changed the table ${name}: ${was} to ${is}`);
    }
    most = Math.max(most, residentMiB());
    if ((await health()) !== 200) problems.push(`block ${from}: the process does not answer /healthz`);
    if (from % 2000 === 0) log(`${from + block.length} of ${count}, ${residentMiB()} MiB, ${problems.length} problems`);
    for (const one of problems.slice(said)) log(one);
    said = problems.length;
    sent += block.length;
    const isLate = performance.now() - begun > Number(values.minutes) * 60_000;
    if (isLate || place.died().length > 0 || problems.length > 500) break;
  }
  problems.push(...place.died());
  if (most > MOST_RESIDENT_MIB) problems.push(`the process had ${most} MiB resident`);
  const parked = await parkedAfterWork();
  for (const one of parked) problems.push(`parked: ${JSON.stringify(one)}`);
  const report = {
    command: `node tests/bench/bad-inputs.mjs --count ${count} --seed ${seed}`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, load: loadavg()[0] },
    seconds: Math.round((performance.now() - begun) / 1000),
    sent,
    routes: all.length,
    kinds: Object.fromEntries([...kinds].sort()),
    statuses: Object.fromEntries([...statuses].sort(([a], [b]) => a - b)),
    refusedAndCompared: compared,
    residentMiB: { atFirst: first, most },
    sentAgainOnAnotherConnection: broken,
    slow: slow.slice(0, 100),
    problems,
  };
  process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  return problems.length === 0;
}

/** Sends a block, a few at once; the status of each by its number. */
async function sendBlock(block) {
  const answers = new Map();
  const waiting = [...block];
  const sender = async () => {
    for (let n = waiting.shift(); n !== undefined; n = waiting.shift()) {
      const asked = badRequest(all, seed, n);
      const begun = performance.now();
      let { status, text, retryAfter } = await send(asked);
      // A connection that the server ended while the next request was on its way; that one gets another.
      if (status === 0 && /ECONNRESET|EPIPE/.test(text)) {
        broken += 1;
        ({ status, text, retryAfter } = await send(asked));
      }
      const ms = performance.now() - begun;
      if (ms > SLOW_MS) {
        slow.push({ n, what: asked.what, target: `${asked.method} ${asked.route}`, status, ms: Math.round(ms) });
      }
      answers.set(n, status);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      kinds.set(asked.what, (kinds.get(asked.what) ?? 0) + 1);
      const isFine = asked.raw !== undefined || (status >= 200 && status < 500) || (status === 503 && retryAfter);
      if (!isFine && (status !== 0 || !isRefusedByClient(text)))
        problems.push(
          `input ${n} (${asked.what}): ${asked.method} ${asked.target?.slice(0, 200)}: ${status} ${loggedOf(text)}`,
        );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  return answers;
}

/** What Node's own client does not send: a path or a header with characters that HTTP has not. */
function isRefusedByClient(text) {
  return /ERR_UNESCAPED_CHARACTERS|ERR_INVALID_CHAR|ERR_INVALID_HTTP_TOKEN/.test(text);
}

/** What the server's log says of an answer's request, with the answer. */
function loggedOf(text) {
  const [, id] = /"requestId":"([^"]+)"/.exec(text) ?? [];
  const line = id === undefined ? '' : place.logged.api.split('\n').find((one) => one.startsWith(`error: web: ${id}`));
  return `${text} ${line ?? ''}`.trim();
}

/** Sends those that were refused once more, one by one; whether all were refused again, and which tables changed. */
async function sentAgain(refused) {
  if (refused.length === 0) return [false, []];
  const before = await contents();
  for (const n of refused) {
    const asked = badRequest(all, seed, n);
    if (asked.raw === undefined && (await send(asked)).status < 400) return [false, []];
  }
  const after = await contents();
  const names = [...after.keys()].filter((name) => before.get(name) !== after.get(name) && !MAY_CHANGE.has(name));
  return [true, names.map((name) => [name, before.get(name), after.get(name)])];
}

/** Rows and a sum of their hashes, by table. */
async function contents() {
  tables ??= (
    await place.postgres.ask(
      `select quote_ident(relname) as name from pg_class where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace order by 1`,
    )
  ).map(({ name }) => name);
  const sql = tables.map(
    (name) =>
      `select '${name}' as name, count(*) || ' rows, ' || coalesce(sum(hashtextextended(t::text, 0)), 0) as held from ${name} t`,
  );
  const rows = await place.postgres.ask(sql.join(' union all '));
  return new Map(rows.map(({ name, held }) => [name, held]));
}

async function send({ raw, method, target, headers, bytes }) {
  if (raw !== undefined) return sendRaw(raw);
  return new Promise((resolve) => {
    const over = (status, text, retryAfter) => {
      clearTimeout(late);
      resolve({ status, text: text.slice(0, 600), retryAfter });
    };
    let asked = null;
    const late = setTimeout(() => asked?.destroy(new Error(`no answer in ${ANSWER_MS} ms`)), ANSWER_MS);
    try {
      const { port } = new URL(place.url);
      const given = { authorization: `Bearer ${place.key}`, ...headers };
      const length = bytes === null ? {} : { 'content-length': bytes.length };
      asked = request(
        { host: '127.0.0.1', port, path: target, method, agent, headers: { ...given, ...length } },
        (reply) => {
          // A stream of events does not end by itself.
          if (/event-stream/.test(reply.headers['content-type'] ?? '')) {
            over(reply.statusCode, '');
            return void reply.destroy();
          }
          const chunks = [];
          reply.on('data', (chunk) => chunks.length < 20 && chunks.push(chunk));
          reply.once('end', () =>
            over(reply.statusCode, Buffer.concat(chunks).toString('utf8'), reply.headers['retry-after']),
          );
          reply.once('error', (error) => over(0, String(error.code ?? error)));
        },
      );
      asked.once('error', (error) => over(0, `${error.code ?? ''} ${error.message}`));
      asked.end(bytes ?? undefined);
    } catch (error) {
      over(0, `${error.code ?? ''} ${error.message}`);
    }
  });
}

/** Bytes that are no request: whatever comes back, and a second at most. */
function sendRaw(raw) {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(place.url).port), '127.0.0.1');
    let text = '';
    const over = () => {
      socket.destroy();
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text: text.slice(0, 300) });
    };
    const late = setTimeout(over, 300);
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.once('error', over);
    socket.once('close', () => {
      clearTimeout(late);
      over();
    });
    socket.write(raw);
  });
}

function health() {
  return new Promise((resolve) => {
    request(`${place.url}/healthz`, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    })
      .once('error', () => resolve(0))
      .end();
  });
}

/** Resident memory of the server in MiB (proc_pid_status(5)); NaN where there is no /proc. */
function residentMiB() {
  try {
    const text = readFileSync(`/proc/${place.pidOf('api')}/status`, 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(text)[1]) / 1024);
  } catch {
    return Number.NaN;
  }
}

/** A worker does what was accepted, until nothing is due; what it had to park. */
async function parkedAfterWork() {
  place.start('worker-1');
  const due = `select count(*)::int as due from work where done < wanted and parked_at is null and not_before <= now() + interval '1 minute'`;
  const until = performance.now() + 300_000;
  for (let quiet = 0; quiet < 3 && performance.now() < until; ) {
    const [{ due: left }] = await place.postgres.ask(due);
    quiet = left === 0 ? quiet + 1 : 0;
    await pause(500);
  }
  return place.postgres.ask(`select stage, key, attempts, last_error from work where parked_at is not null limit 50`);
}

async function showOne(n) {
  const asked = badRequest(all, seed, n);
  const answer = await send(asked);
  const shown = { ...asked, bytes: asked.bytes?.toString('latin1').slice(0, 4000), raw: asked.raw?.toString('latin1') };
  process.stdout.write(`${JSON.stringify({ asked: shown, answer }, null, 2)}\n`);
  log(place.logged.api.slice(-5000));
  failed = answer.status >= 500;
}
