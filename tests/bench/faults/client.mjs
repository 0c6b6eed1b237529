/**
 * A client that takes no loss: it sends a request again until it is accepted, with the same body and the same
 * Idempotency-Key, and writes down every answer that should not be given, whatever is being killed.
 *
 * Meant to happen: no connection, a connection that breaks, 503 with Retry-After. Everything else that is no 2xx is a
 * fault of the product (or of the harness) and fails the run.
 */
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const AGAIN_MS = 100;
const PATIENCE_MS = 600_000;

export function makeClient({ url, key }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const tally = { accepted: 0, sent: 0, broken: 0, refused503: 0, wrong: [] };

  /** One request; `status` 0: no answer came. */
  const once = (method, route, body, headers) =>
    new Promise((resolve) => {
      tally.sent += 1;
      const over = (answer) => resolve(answer);
      const sent = request(
        url + route,
        {
          agent,
          method,
          timeout: 60_000,
          headers: {
            authorization: `Bearer ${key}`,
            ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (reply) => {
          const chunks = [];
          reply.on('data', (chunk) => chunks.push(chunk));
          reply.once('error', () => over({ status: 0 }));
          reply.once('aborted', () => over({ status: 0 }));
          reply.once('end', () =>
            over({
              status: reply.statusCode,
              retryAfter: reply.headers['retry-after'],
              text: Buffer.concat(chunks).toString('utf8'),
            }),
          );
        },
      );
      sent.once('timeout', () => sent.destroy());
      sent.once('error', () => over({ status: 0 }));
      sent.end(body);
    });

  /** Until it is accepted. @throws Error where it is refused for good, or for ten minutes */
  async function ask(method, route, { body, type = 'application/json', idempotencyKey, mayConflict } = {}) {
    const headers = {
      ...(body === undefined ? {} : { 'content-type': type }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    };
    const until = performance.now() + PATIENCE_MS;
    for (;;) {
      const { status, retryAfter, text } = await once(method, route, body, headers);
      if (status >= 200 && status < 300) {
        tally.accepted += 1;
        return text === '' ? null : JSON.parse(text);
      }
      if (status === 409 && mayConflict) return { conflict: JSON.parse(text).detail };
      if (status === 0) tally.broken += 1;
      else if (status === 503 && retryAfter !== undefined) tally.refused503 += 1;
      else {
        const wrong = `${method} ${route}: ${status} ${text.slice(0, 500)}`;
        if (tally.wrong.length < 200) tally.wrong.push(wrong);
        if (status < 500) throw new Error(wrong);
      }
      if (performance.now() > until) throw new Error(`${method} ${route} was not accepted for ${PATIENCE_MS / 1000} s`);
      await pause(AGAIN_MS);
    }
  }

  /** All items of a list that comes in pages. */
  async function all(route) {
    const items = [];
    let cursor = null;
    do {
      const at = `${route}${route.includes('?') ? '&' : '?'}limit=1000${cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`}`;
      const page = await ask('GET', at);
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return items;
  }

  return { ask, all, tally, stop: () => agent.destroy() };
}
