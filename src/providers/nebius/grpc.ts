/**
 * One unary gRPC call over HTTP/2, and its outcome, in the distinctions that a caller that acts needs.
 *
 * It never sends a request twice, never waits longer than it was told to, never reads more than a reply may have, and
 * puts no address, header or message into what it says. The invariant: `unsent` is said only where no connection stood;
 * whatever went wrong after that, save a status that says that nothing was done, is `lost`.
 * Sources: grpc.io, "gRPC over HTTP2" (framing, trailers, percent-encoded messages) and "Status codes and their use".
 */
import { networkCode } from '../../core/never-sent.js';
import http2, { type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2';

export interface GrpcCall {
  /** `https://compute.api.nebius.cloud:443`. */
  readonly address: string;
  /** `nebius.compute.v1.InstanceService/List`. */
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly message: Uint8Array;
  readonly timeoutMilliseconds: number;
}

export type Called =
  /** The server's own word: 0 is well. */
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly detail: string;
      /** google.rpc.Status, where it is given. */
      readonly details: Uint8Array | null;
      readonly message: Uint8Array | null;
    }
  | { readonly kind: 'unsent' | 'lost'; readonly detail: string };

const MOST_BYTES = 64 * 1024 * 1024;
const FRAME_HEAD = 5;

function coded(error: unknown): string {
  const code = networkCode(error);
  return code === '' ? '' : ` (${code})`;
}

/** Sends one request, once. Never throws for what the network or the other side does. */
export async function call(wanted: GrpcCall): Promise<Called> {
  let isConnected = false;
  let session: ClientHttp2Session | null = null;
  const failed = (error: unknown): Called =>
    isConnected
      ? { kind: 'lost', detail: `the connection broke before the answer was complete${coded(error)}` }
      : { kind: 'unsent', detail: `no connection${coded(error)}` };
  try {
    return await new Promise<Called>((resolve) => {
      const timer = setTimeout(() => {
        const detail = `no answer within ${wanted.timeoutMilliseconds / 1000} s`;
        resolve({ kind: isConnected ? 'lost' : 'unsent', detail });
      }, wanted.timeoutMilliseconds);
      const done = (called: Called): void => {
        clearTimeout(timer);
        resolve(called);
      };
      session = http2.connect(wanted.address);
      session.on('error', (error) => done(failed(error)));
      session.on('close', () => done(failed(null)));
      session.once('connect', () => {
        isConnected = true;
        if (session !== null) send(session, wanted, done, failed);
      });
    });
  } catch (error) {
    return failed(error);
  } finally {
    (session as ClientHttp2Session | null)?.destroy();
  }
}

function send(
  session: ClientHttp2Session,
  { method, headers, message, timeoutMilliseconds }: GrpcCall,
  done: (called: Called) => void,
  failed: (error: unknown) => Called,
): void {
  const stream = session.request({
    ':method': 'POST',
    ':path': `/${method}`,
    'content-type': 'application/grpc+proto',
    te: 'trailers',
    'grpc-timeout': `${timeoutMilliseconds}m`,
    ...headers,
  });
  const chunks: Buffer[] = [];
  let size = 0;
  let first: IncomingHttpHeaders = {};
  let last: IncomingHttpHeaders = {};
  stream.on('response', (given) => (first = given));
  stream.on('trailers', (given: IncomingHttpHeaders) => (last = given));
  stream.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > MOST_BYTES) done({ kind: 'lost', detail: `the answer has more than ${MOST_BYTES} bytes` });
    else chunks.push(chunk);
  });
  stream.on('error', (error) => done(failed(error)));
  stream.on('close', () => done(answerOf({ ...first, ...last }, Buffer.concat(chunks))));
  stream.end(framed(message));
}

/** A flag (0: not packed), the length, the message. */
export function framed(message: Uint8Array): Buffer {
  const head = Buffer.alloc(FRAME_HEAD);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

function answerOf(headers: IncomingHttpHeaders, body: Buffer): Called {
  const status = headers['grpc-status'];
  if (typeof status !== 'string' || !/^\d{1,3}$/.test(status))
    return { kind: 'lost', detail: `an answer without a status (HTTP ${String(headers[':status'] ?? 'none')})` };
  const message = unframed(body);
  if (status === '0' && message === null) return { kind: 'lost', detail: 'an answer without a whole message' };
  const details = headers['grpc-status-details-bin'];
  return {
    kind: 'answered',
    status: Number(status),
    detail: decoded(String(headers['grpc-message'] ?? '')),
    details: typeof details === 'string' ? Buffer.from(details, 'base64') : null,
    message,
  };
}

/** The one message of a unary reply; null: there is none that is whole and plain. */
function unframed(body: Buffer): Uint8Array | null {
  if (body.length < FRAME_HEAD || body[0] !== 0) return null;
  const length = body.readUInt32BE(1);
  return body.length === FRAME_HEAD + length ? body.subarray(FRAME_HEAD) : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
