/**
 * The bytes of a request's body as they arrive, for as long as they do.
 *
 * A sender that is slower than the least is given up (408): a body holds memory and a connection, and a handful of
 * senders of one byte a minute would hold all of them. Time in which the reader, not the sender, is waited for does not
 * count, so that a large file on a slow disk has all the time that it needs. Reading never destroys the connection: the
 * answer still has to go out on it.
 */
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { invalid } from '../core/errors.js';
import { Refusal } from './problem.js';

/** Slower than any network that people use, faster than who only wants to hold a connection. */
const LEAST_BYTES_PER_SECOND = 1024;
/** How long and how much is still taken of a body that nobody wants, so that its sender gets to read the answer. */
const LINGER_MILLISECONDS = 3_000;
const LINGER_BYTES = 1 << 20;

export interface Patience {
  /** Within each of these the least must come. */
  readonly windowSeconds: number;
  /** All of it must come within one of them. */
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
    // Whoever reads on is no longer this one. It waits for what is under way, and nobody waits for it.
    chunks.return?.(undefined).catch(() => undefined);
  }
}

const tooSlow = (): Refusal =>
  new Refusal(408, `the body comes with less than ${LEAST_BYTES_PER_SECOND} bytes a second`);

const isCut = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE');

/** Lets go what is still on its way of a request that is answered; who does not come to an end is cut off. */
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
