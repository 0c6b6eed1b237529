/**
 * An example receiver of Bursar's webhook provider: plain Node, no dependency (docs/how-to/connect-your-own-cloud.md is
 * the contract).
 *
 *   READ_SECRETS="whsec_..." ACT_SECRETS="whsec_..." PORT=8099 JOURNAL=journal.jsonl node receiver.mjs
 *
 * It checks signature, time and id of every request, keeps a small fleet in memory, and does each token once, across
 * restarts where it keeps a journal. A real one stands behind TLS, shares ids and tokens between its copies, and puts
 * its scheduler where `EFFECTS` changes an object.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const WINDOW_SECONDS = 300;
const MOST_BODY_BYTES = 1 << 20;
const HOUR = 3_600_000;

const secretsIn = (name) =>
  (process.env[name] ?? '')
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => Buffer.from(word.replace(/^whsec_/, ''), 'base64'));
const READ = secretsIn('READ_SECRETS');
const ACT = secretsIn('ACT_SECRETS');

/** What ends a request with a status and the contract's error body. */
class Refusal extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

const sold = { provider: 'Acme Cloud', region: 'hall-2', sku: 'a100-8', gpuModel: 'A100-80GB', term: 'on-demand' };
const common = { ...sold, launchedAt: '2025-01-05T08:00:00Z' };
const FLEET = new Map(
  [
    {
      ...common,
      target: 'instance/gpu-01',
      kind: 'instance',
      name: 'gpu-01',
      gpus: 8,
      state: 'running',
      billing: 'billed',
      labels: { team: 'vision' },
      revision: '1',
    },
    {
      ...common,
      target: 'instance/gpu-02',
      kind: 'instance',
      name: 'gpu-02',
      gpus: 8,
      state: 'stopped',
      billing: 'ended',
      labels: {},
      revision: '1',
    },
    {
      ...common,
      target: 'group/train',
      kind: 'group',
      name: 'train',
      gpus: 8,
      state: 'running',
      billing: 'billed',
      labels: { team: 'language' },
      revision: '1',
      replicas: { desired: 4, ready: 4, min: 0, max: 10 },
    },
  ].map((target) => [target.target, target]),
);

/** What ran, from when to when and with how many GPUs: what is metered. A run without an end goes on. */
const RUNS = [];
const gpusOf = ({ state, gpus, replicas }) => (state === 'running' ? gpus * (replicas?.desired ?? 1) : 0);
for (const target of FLEET.values())
  RUNS.push({ target: target.target, gpus: gpusOf(target), start: Date.parse(target.launchedAt), end: null });

function change(target, changes, now) {
  const next = { ...target, ...changes, revision: String(Number(target.revision) + 1) };
  FLEET.set(target.target, next);
  RUNS.find((run) => run.target === target.target && run.end === null).end = now;
  RUNS.push({ target: target.target, gpus: gpusOf(next), start: now, end: null });
}

/** What each effect makes of a target: what changes in it. It throws before anything has changed, or not at all. */
const EFFECTS = {
  stop: () => ({ state: 'stopped', billing: 'ended' }),
  start: () => ({ state: 'running', billing: 'billed' }),
  terminate: () => ({ state: 'gone', billing: 'ended' }),
  scale: ({ replicas: now }, { replicas: wanted }) => {
    if (!(wanted >= now?.min && wanted <= now.max))
      throw new Refusal(422, 'out-of-bounds', 'the target takes no such number of replicas');
    return { replicas: { ...now, desired: wanted, ready: wanted } };
  },
};

/** Token to what was asked for under it and what came of it. */
const done = new Map();
const { JOURNAL } = process.env;
for (const line of JOURNAL && existsSync(JOURNAL) ? readFileSync(JOURNAL, 'utf8').split('\n').filter(Boolean) : []) {
  const { token, effect, at, answer: came } = JSON.parse(line);
  done.set(token, { effect: JSON.stringify(effect), answer: came });
  if (came.outcome === 'taken')
    change(FLEET.get(effect.target), EFFECTS[effect.kind](FLEET.get(effect.target), effect), at);
}

/** Some of a list, and where to go on. */
function page(name, list, cursor, size) {
  const from = Number(cursor ?? 0);
  return { [name]: list.slice(from, from + size), cursor: from + size < list.length ? String(from + size) : null };
}

/** What ran within [from, to), cut at the hours; a piece is there when it is over, and then it never changes. */
function usage(from, to, now) {
  const records = [];
  for (const { target, gpus, start, end } of RUNS.filter((run) => run.gpus > 0)) {
    for (let hour = Math.floor(Math.max(start, from) / HOUR) * HOUR; hour < Math.min(to, end ?? now); hour += HOUR) {
      const [first, last] = [Math.max(start, hour), Math.min(end ?? Infinity, hour + HOUR)];
      if (first < from || last > Math.min(to, now) || first === last) continue;
      const { provider, region, sku, gpuModel, term, labels } = FLEET.get(target);
      const [begin, over] = [new Date(first).toISOString(), new Date(last).toISOString()];
      records.push({
        id: `${target}/${begin}`,
        provider,
        region,
        sku,
        gpuModel,
        term,
        resource: target,
        gpus,
        start: begin,
        end: over,
        tags: labels,
      });
    }
  }
  return records;
}

const PRICES = [
  {
    event: 'price',
    ...sold,
    gpus: 8,
    price: '14.40',
    currency: 'USD',
    per: 'instance-hour',
    effectiveFrom: '2025-01-01T00:00:00Z',
  },
];

const OPERATIONS = {
  prices: ({ since, cursor }) =>
    page(
      'prices',
      PRICES.filter(({ effectiveFrom }) => Date.parse(effectiveFrom) >= Date.parse(since)),
      cursor,
      100,
    ),
  usage: ({ from, to, cursor }) => page('records', usage(Date.parse(from), Date.parse(to), Date.now()), cursor, 500),
  fleet: ({ cursor }) => page('targets', [...FLEET.values()], cursor, 2),
  target: ({ target }) => ({ target: FLEET.get(target) ?? null }),
  apply({ token, effect, before }) {
    const earlier = done.get(token);
    if (earlier && earlier.effect !== JSON.stringify(effect))
      throw new Refusal(409, 'token-reused', 'the token came before, with another effect');
    const came = earlier?.answer ?? attempt(token, effect, before);
    if (came.outcome === 'refused') throw new Refusal(409, came.code, came.detail);
    return came;
  },
  outcome: ({ token }) => done.get(token)?.answer ?? { outcome: 'absent' },
};

/** Does an effect, or says why not; a refusal is an outcome too, and the same for ever under its token. */
function attempt(token, effect, before) {
  const now = Date.now();
  const keep = (came) => {
    done.set(token, { effect: JSON.stringify(effect), answer: came });
    if (JOURNAL) appendFileSync(JOURNAL, `${JSON.stringify({ token, effect, at: now, answer: came })}\n`);
    return came;
  };
  try {
    const target = FLEET.get(effect.target);
    if (!target || target.state === 'gone') throw new Refusal(409, 'no-such-target', `there is no ${effect.target}`);
    if (before?.revision && before.revision !== target.revision)
      throw new Refusal(409, 'revision-changed', 'the target has changed since it was read');
    if (!Object.hasOwn(EFFECTS, effect.kind))
      throw new Refusal(422, 'unsupported-effect', `${effect.kind} is not offered`);
    const changes = EFFECTS[effect.kind](target, effect);
    const came = keep({ outcome: 'taken', reference: `change-${done.size + 1}`, detail: `${effect.kind} done` });
    change(target, changes, now);
    return came;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return keep({ outcome: 'refused', code: error.code, detail: error.message });
  }
}

const DESCRIPTION = {
  contract: 1,
  name: 'example receiver',
  abilities: { prices: true, usage: true, fleet: true, offers: false, effects: Object.keys(EFFECTS) },
};

/** Ids of the requests that were accepted, to when each can be forgotten: then its timestamp alone refuses it. */
const seen = new Map();

/**
 * Whether one of the signatures is right under one of the secrets; each comparison takes the same time whatever it
 * finds.
 */
function isSigned(content, header, secrets) {
  const given = header
    .split(' ')
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one.slice(3), 'base64'));
  return secrets.some((secret) => {
    const right = createHmac('sha256', secret).update(content).digest();
    return given.some((one) => one.length === right.length && timingSafeEqual(one, right));
  });
}

/** Refuses what is not signed with one of the secrets, too old or too new, or was there before. */
function authenticate(headers, body, secrets) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature } = headers;
  if (!id || !timestamp || !signature || id.includes('.')) throw new Refusal(401, 'not-signed', 'a header is missing');
  if (!isSigned(Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]), signature, secrets))
    throw new Refusal(401, 'bad-signature', 'no signature is right');
  const now = Date.now() / 1000;
  if (!(Math.abs(now - Number(timestamp)) <= WINDOW_SECONDS))
    throw new Refusal(401, 'bad-time', `the timestamp is more than ${WINDOW_SECONDS} s away`);
  for (const [old, until] of seen) if (until < now) seen.delete(old);
  if (seen.has(id)) throw new Refusal(401, 'replayed', 'the id came before');
  seen.set(id, now + 2 * WINDOW_SECONDS);
}

async function bodyOf(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    if ((size += chunk.length) > MOST_BODY_BYTES)
      throw new Refusal(400, 'too-large', `a request has at most ${MOST_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function answer(request) {
  const body = await bodyOf(request);
  const operation = request.url.slice(1);
  authenticate(request.headers, body, operation === 'apply' ? ACT : READ);
  if (request.method === 'GET' && operation === '') return DESCRIPTION;
  if (request.method !== 'POST' || !Object.hasOwn(OPERATIONS, operation))
    throw new Refusal(404, 'no-such-operation', 'see the contract');
  const sent = JSON.parse(body.toString('utf8'));
  // The path is not signed, the type in the body is: a request cannot be led to another operation.
  if (sent.type !== `bursar.${operation}`) throw new Refusal(400, 'wrong-type', 'the type is not that of the path');
  return OPERATIONS[operation](sent.data);
}

const server = createServer(async (request, response) => {
  const send = (status, value) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  try {
    send(200, await answer(request));
  } catch (error) {
    if (error instanceof Refusal) return send(error.status, { code: error.code, detail: error.message });
    if (error instanceof SyntaxError) return send(400, { code: 'not-json', detail: 'the body is not JSON' });
    console.error(error);
    send(500, { code: 'internal', detail: 'see the log' });
  }
});

if (READ.length === 0) throw new Error('READ_SECRETS is missing');
server.listen(Number(process.env.PORT ?? 8099), '127.0.0.1', () =>
  console.log(`listening on http://127.0.0.1:${server.address().port}`),
);
process.on('SIGTERM', () => server.close(() => process.exit(0)).closeAllConnections());
