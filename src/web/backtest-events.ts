/**
 * How far a backtest is, as server-sent events (WHATWG HTML, section 9.2 "Server-sent events"). Reads the backtest's
 * row again and again, so that it does not matter which process runs it. Never runs anything; ends by itself with the
 * backtest, or with this process.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { StoredBacktest } from '../store/policy/backtests.js';

const POLL_MS = 500;
/** Proxies take a connection that says nothing for dead, many after 30 seconds. */
const HEARTBEAT_MS = 15_000;
/** What a client that lost the connection waits before it asks again. */
const RETRY_MS = 2000;

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * `progress` {id, status, progress} with every change, then `done` {id, status, progress, error} once it is over;
 * comments in between.
 * @param look the backtest as it stands; null: it is gone
 */
export async function* backtestEvents(
  read: () => Promise<StoredBacktest | null>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  let [last, saidAt] = ['', performance.now()];
  while (!signal.aborted) {
    const now = await read();
    if (now === null) return;
    const { id, status, progress, error } = now;
    if (status === 'done' || status === 'failed') {
      yield event('done', { id, status, progress, error });
      return;
    }
    const text = event('progress', { id, status, progress });
    if (text !== last || performance.now() - saidAt >= HEARTBEAT_MS) {
      yield text === last ? ': still here\n\n' : text;
      [last, saidAt] = [text, performance.now()];
    }
    await pause(POLL_MS, null, { signal }).catch(() => null);
  }
}
