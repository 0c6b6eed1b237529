/**
 * The progress of a backtest as server-sent events (WHATWG HTML, section 9.2 "Server-sent events"). Polls the
 * backtest's row, so that it does not matter which process runs it. Never runs anything; ends with the backtest, or
 * with this process.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { StoredBacktest } from '../store/policy/backtests.js';

const POLL_MS = 500;
/** Proxies close a silent connection, many after 30 seconds. */
const HEARTBEAT_MS = 15_000;
/** How long a client that lost the connection waits before it asks again. */
const RETRY_MS = 2000;

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * `progress` {id, status, progress} with every change, then `done` {id, status, progress, error} at the end; comments
 * in between.
 * @param look the backtest's current state; null: it is gone
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
