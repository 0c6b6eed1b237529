/**
 * The outside world of the fault runs, as one HTTP server: a cloud behind the webhook provider's contract
 * (docs/reference/webhook-provider.openapi.json) and the address that alerts are posted to.
 *
 * It keeps its own books: each `apply` by its token, each effect that was really done, each alert by its id. It never
 * dies with the processes that ask it: an effect that was begun for a caller who is gone is done all the same, as at a
 * real cloud. Half of the effects are done before the answer is delayed and half after, so that a caller who is killed
 * while it waits leaves both cases behind.
 */
import { createServer } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const secretOf = (letter) => `whsec_${Buffer.alloc(32, letter).toString('base64')}`;

export async function startCloud({ random, teams, machines }) {
  const targets = new Map();
  for (let n = 0; n < machines; n += 1) {
    const name = `node-${String(n).padStart(4, '0')}`;
    targets.set(name, { name, team: teams[n % teams.length], state: 'running', revision: 1 });
  }
  const books = {
    /** By token: the effect, how often it was asked for, and how often it was done. */
    applied: new Map(),
    /** Requests of `apply` that have not been answered yet. */
    inWork: 0,
    outcomesAsked: 0,
    /** By the id of the message: the alert, and how often it came. */
    alerts: new Map(),
    problems: [],
  };
  const server = createServer((asked, reply) => {
    answer({ asked, reply, books, targets, random }).catch((error) => {
      books.problems.push(String(error));
      reply.destroy();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  return {
    books,
    environment: {
      BURSAR_WEBHOOK_URL: `http://127.0.0.1:${port}/cloud`,
      BURSAR_WEBHOOK_SECRET: secretOf('r'),
      BURSAR_WEBHOOK_ACT_SECRET: secretOf('a'),
      BURSAR_ALERT_WEBHOOK_URL: `http://127.0.0.1:${port}/alerts`,
      BURSAR_ALERT_WEBHOOK_SECRET: secretOf('n'),
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answer({ asked, reply, books, targets, random }) {
  const chunks = [];
  for await (const chunk of asked) chunks.push(chunk);
  const say = (status, body) => {
    if (reply.destroyed) return;
    reply.writeHead(status, { 'content-type': 'application/json' });
    reply.end(JSON.stringify(body));
  };
  const text = Buffer.concat(chunks).toString('utf8');
  if (asked.url.startsWith('/alerts')) {
    const id = String(asked.headers['webhook-id']);
    const known = books.alerts.get(id) ?? { times: 0, body: JSON.parse(text) };
    books.alerts.set(id, { ...known, times: known.times + 1 });
    return say(200, {});
  }
  if (asked.method === 'GET') return say(200, DESCRIPTION);
  const { data } = JSON.parse(text);
  switch (asked.url.split('/').at(-1)) {
    case 'fleet':
      return say(200, { targets: [...targets.values()].map(targetOf), cursor: null });
    case 'target': {
      const found = targets.get(data.target);
      return say(200, { target: found === undefined ? null : targetOf(found) });
    }
    case 'apply':
      return apply({ data, say, books, targets, random });
    case 'outcome':
      books.outcomesAsked += 1;
      return say(200, outcomeOf(books.applied.get(data.token)));
    default:
      return say(404, { code: 'not-here' });
  }
}

const DESCRIPTION = {
  contract: 1,
  name: 'played cloud',
  abilities: { prices: false, usage: false, fleet: true, offers: false, effects: ['stop', 'start'] },
};

const targetOf = ({ name, team, state, revision }) => ({
  target: name,
  kind: 'instance',
  name,
  provider: 'Acme',
  account: 'acme-1',
  region: 'hall-1',
  sku: 'h100',
  gpuModel: 'H100',
  gpus: 1,
  term: 'on-demand',
  state,
  billing: state === 'running' ? 'billed' : 'ended',
  labels: { team },
  revision: String(revision),
});

/** What is under way is not known yet, as at a cloud that has taken a request and not finished it. */
const outcomeOf = (known) =>
  known === undefined
    ? { outcome: 'absent' }
    : known.done === 0
      ? { outcome: 'unknown' }
      : { outcome: 'taken', reference: known.reference };

async function apply({ data: { token, effect }, say, books, targets, random }) {
  const known = books.applied.get(token);
  if (known !== undefined) {
    // By the contract a token is done once; that it was asked for again is written down.
    known.asked += 1;
    return say(200, outcomeOf(known).outcome === 'taken' ? outcomeOf(known) : { outcome: 'unknown' });
  }
  const target = targets.get(effect.target);
  if (target === undefined) return say(422, { code: 'no-such-machine' });
  const entry = { token, effect, asked: 1, done: 0, reference: `r-${books.applied.size + 1}`, changed: false };
  books.applied.set(token, entry);
  const waitMs = 50 + Math.floor(random() * 450);
  const early = random() < 0.5;
  books.inWork += 1;
  try {
    if (early) carryOut(entry, target);
    await pause(waitMs);
    if (!early) carryOut(entry, target);
  } finally {
    books.inWork -= 1;
  }
  return say(200, outcomeOf(entry));
}

/** `changed` is false where the machine was already as it should become: somebody had done it before. */
function carryOut(entry, target) {
  const wanted = entry.effect.kind === 'stop' ? 'stopped' : 'running';
  entry.changed = target.state !== wanted;
  entry.done += 1;
  target.state = wanted;
  target.revision += 1;
}
