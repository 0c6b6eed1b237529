/**
 * One HTTP POST, with the outcome that a caller needs who must not repeat it: answered, certainly never sent, or lost.
 *
 * Never follows a redirect, never waits longer than requested, reads little of the answer, and never reveals an
 * address, a header or a body.
 */
import { networkCode, NEVER_SENT } from '../../core/never-sent.js';

export type Posted =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs: number | null; readonly text: string }
  | { readonly kind: 'not-sent'; readonly detail: string }
  | { readonly kind: 'unknown'; readonly detail: string };

/** For Slack, webhooks and mail alike: PATIENCE.requestMs of core/action/action.ts is longer. */
export const TIMEOUT_MS = 10_000;
const MOST_ANSWER_BYTES = 4096;
/** The default without a stated time: Slack and most others name seconds. */
export const DEFAULT_REST_MS = 30_000;

/**
 * Posts once. `now` in epoch milliseconds reads a date in Retry-After. Never throws for what the network or the other
 * side does.
 */
export async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array<ArrayBuffer>,
  now: number,
): Promise<Posted> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return {
      kind: 'answered',
      status: response.status,
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), now),
      text: await shortText(response),
    };
  } catch (error) {
    return errorOutcome(error);
  }
}

/** The meaning of an error of a request. */
export function errorOutcome(error: unknown): Exclude<Posted, { readonly kind: 'answered' }> {
  const code = networkCode(error);
  if (NEVER_SENT.has(code)) return { kind: 'not-sent', detail: `no connection (${code})` };
  return {
    kind: 'unknown',
    detail:
      error instanceof Error && error.name === 'TimeoutError'
        ? `no answer within ${TIMEOUT_MS / 1000} s`
        : `the answer was lost${code === '' ? '' : ` (${code})`}`,
  };
}

async function shortText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MOST_ANSWER_BYTES) break;
    }
  } catch {
    // The status has said what counts.
  }
  return Buffer.concat(chunks).toString('utf8', 0, MOST_ANSWER_BYTES);
}

/** Milliseconds of a Retry-After header, seconds or an HTTP date (RFC 9110, section 10.2.3); null if there is none. */
function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\d{1,7}$/.test(header.trim())) return Number(header.trim()) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** The problem of an address for secrets or alerts; null if there is none. TLS is required, except on this machine. */
export function addressProblem(text: string): string | null {
  if (!URL.canParse(text)) return 'is not a URL';
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return 'is not an https:// URL (http:// is allowed on this machine only)';
  return url.username !== '' || url.password !== '' ? 'holds a user name or a password' : null;
}
