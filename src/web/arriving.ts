/**
 * The bytes of a request's body as they arrive.
 *
 * A sender that is slower than the minimum is dropped (408): a body holds memory and a connection, and a handful of
 * senders of one byte a minute would hold all of them. Time spent waiting for the reader, not the sender, does not
 * count, so that a large file on a slow disk has all the time that it needs. Reading never destroys the connection: the
 * answer still has to go out on it.
 */
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { invalid } from '../core/errors.js';
import { Refusal } from './problem.js';

/** Slower than any network that people use, faster than a sender that only wants to hold a connection. */
const LEAST_BYTES_PER_SECOND = 1024;
/** How long and how many bytes of an unwanted body are still read, so that its sender gets to read the answer. */
const LINGER_MILLISECONDS = 3_000;
const LINGER_BYTES = 1 << 20;

export interface Patience {
  /** The minimum must arrive in each window of this length. */
  readonly windowSeconds: number;
  /** The whole body must arrive within one window. */
  readonly isOneWindow: boolean;
}

/**
 * The chunks of a body.
 * @throws Refusal 408 where it comes too slowly, Failure invalid where it was cut short
 */
export async function* arriving(
  payload: IncomingMessage,
  { windowSeconds, isOneWindow }: Patience,
): AsyncGenerator<Buffer, void, undefined> {
  const chunks = payload.iterator({ destroyOnReturn: false });
  const window = windowSeconds * 1000;
  const least = windowSeconds * LEAST_BYTES_PER_SECOND;
  let [waited, bytes] = [0, 0];
  const next = (): Promise<IteratorResult<Buffer>> =>
    new Promise((resolve, reject) => {
      let began = performance.now();
      let timer = setTimeout(check, Math.max(0, window - waited));
      function check(): void {
        if (isOneWindow || bytes < least) return reject(tooSlow());
        [waited, bytes, began] = [0, 0, performance.now()];
        timer = setTimeout(check, window);
      }
      chunks
        .next()
        .then(resolve, (error: unknown) => reject(isCut(error) ? invalid('the body was interrupted') : error))
        .finally(() => {
          clearTimeout(timer);
          waited += performance.now() - began;
        });
    });
  try {
    for (let chunk = await next(); chunk.done !== true; chunk = await next()) {
      bytes += chunk.value.length;
      yield chunk.value;
    }
  } finally {
    // Another reader may go on from here. This one waits only for the pending read, and nobody waits for it.
    chunks.return?.(undefined).catch(() => undefined);
  }
}

const tooSlow = (): Refusal =>
  new Refusal(408, `the body comes with less than ${LEAST_BYTES_PER_SECOND} bytes a second`);

const isCut = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE');

/** Discards the rest of a request that is answered. A sender that does not end is cut off. */
export function letGo(payload: IncomingMessage): void {
  if (payload.complete || payload.destroyed) return;
  let left = LINGER_BYTES;
  const end = (): void => void payload.socket.destroy();
  const timer = setTimeout(end, LINGER_MILLISECONDS);
  timer.unref();
  payload
    .on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) end();
    })
    .once('close', () => clearTimeout(timer))
    .once('end', () => clearTimeout(timer))
    .on('error', () => undefined)
    .resume();
}
