/**
 * One HTTP request and its outcome, in the distinctions that a caller that acts needs: answered, surely never sent, or
 * lost.
 *
 * Never follows a redirect (its headers would follow), never reads more than it was told to, never waits longer than it
 * was told to, and never puts an address, a header or a body into what it says. The invariant: `unsent` is said only
 * where no byte of the request can have arrived; everything else that went wrong is `lost`.
 */
import { networkCode, NEVER_SENT } from '../../core/never-sent.js';

export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeoutMilliseconds: number;
  /** The limit of the answer's body, unpacked. */
  readonly mostBytes: number;
}

export type Exchanged =
  /** `retryAfter` is the header as it came: seconds or an HTTP date (RFC 9110, section 10.2.3). */
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | null;
      readonly headers: Headers;
      readonly text: string;
    }
  /** The request surely never arrived. */
  | { readonly kind: 'unsent'; readonly detail: string }
  /** The request may have arrived; no answer did. */
  | { readonly kind: 'lost'; readonly detail: string }
  /** An answer came, and its body is too large or is no UTF-8. */
  | { readonly kind: 'unreadable'; readonly status: number; readonly detail: string };

/** Sends one request, once. Never throws for what the network or the other side does. */
export async function exchange(request: Exchange): Promise<Exchanged> {
  let response: Response;
  try {
    response = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      body: request.body,
      redirect: 'manual',
      signal: AbortSignal.timeout(request.timeoutMilliseconds),
    });
  } catch (error) {
    const code = networkCode(error);
    if (NEVER_SENT.has(code)) return { kind: 'unsent', detail: `no connection (${code})` };
    return { kind: 'lost', detail: lostDetail(error, request) };
  }
  return readAnswer(response, request);
}

async function readAnswer(response: Response, request: Exchange): Promise<Exchanged> {
  const { status } = response;
  const tooLarge: Exchanged = {
    kind: 'unreadable',
    status,
    detail: `the answer has more than ${request.mostBytes} bytes`,
  };
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    if (Number(response.headers.get('content-length') ?? '0') > request.mostBytes) {
      await response.body?.cancel();
      return tooLarge;
    }
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      // Leaving the loop cancels the body, and with it the connection.
      if (size > request.mostBytes) return tooLarge;
      chunks.push(chunk);
    }
  } catch (error) {
    return { kind: 'lost', detail: lostDetail(error, request) };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    const { headers } = response;
    return { kind: 'answered', status, retryAfter: headers.get('retry-after'), headers, text };
  } catch {
    return { kind: 'unreadable', status, detail: 'the answer is not UTF-8' };
  }
}

function lostDetail(error: unknown, request: Exchange): string {
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no answer within ${request.timeoutMilliseconds / 1000} s`;
  const code = networkCode(error);
  return `the connection broke before the answer was complete${code === '' ? '' : ` (${code})`}`;
}

/** The system's code behind an error of fetch; messages are not used, they may quote an address. */
/**
 * Seconds that a Retry-After header asks for, at least 0; null if there is none or it cannot be read. `now`: epoch
 * milliseconds.
 */
export function retryAfterSeconds(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header.trim());
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil((at - now) / 1000));
}

const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The problem of an address for secrets; null if there is none. TLS is required, except on this machine. */
export function addressProblem(text: string): string | null {
  if (!URL.canParse(text)) return 'is not a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && LOOPBACK.test(url.hostname))) {
    return 'is not an https:// URL (http:// is allowed on this machine only)';
  }
  if (url.username !== '' || url.password !== '') return 'holds a user name or a password';
  return url.hash === '' ? null : 'holds a fragment';
}
