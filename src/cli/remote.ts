/**
 * A client of Bursar's API: JSON in, JSON out, a file as a stream; problem+json becomes a Failure that names every
 * problem.
 *
 * It never shows the key, and never follows a redirect: the key goes to the address that the environment names and to
 * no other. No wait is without a bound; that of a file which is sent is long, since a large import takes long.
 */
import { randomUUID } from 'node:crypto';
import { request as requestHttp, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { Failure, unavailable, type FailureKind, type Problem } from '../core/errors.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
export type QueryParameters = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** What is sent besides the query: a JSON value, or the bytes of a file. */
export interface Sent {
  readonly query?: QueryParameters;
  readonly json?: unknown;
  readonly stream?: Readable;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

const KINDS: Readonly<Record<number, FailureKind>> = {
  400: 'invalid',
  401: 'denied',
  403: 'denied',
  404: 'missing',
  409: 'conflict',
  503: 'unavailable',
};
const MOST_PER_PAGE = 1000;
/** So long nothing is heard of a request, and of one that sends a file. */
const SILENCE_MILLISECONDS = 300_000;
const IMPORT_SILENCE_MILLISECONDS = 3_600_000;

export class Remote {
  private readonly base: URL;

  constructor({ url, apiKey }: { readonly url: string; readonly apiKey: string }) {
    this.base = new URL(url.endsWith('/') ? url : `${url}/`);
    this.authorization = `Bearer ${apiKey}`;
  }

  private readonly authorization: string;

  /** @throws Failure of the kind that the answer's status has; unavailable where there is no answer. */
  async call<T>(method: Method, path: string, sent: Sent = {}): Promise<T> {
    const body = await this.text(method, path, sent);
    try {
      return JSON.parse(body) as T;
    } catch {
      throw unavailable(`${this.base.host} answered ${method} ${path} with something that is not JSON: is it Bursar?`);
    }
  }

  /** The answer's text, whatever it is. */
  async text(method: Method, path: string, sent: Sent = {}): Promise<string> {
    const response = await this.send(method, path, sent);
    const body = await text(response).catch((cause: unknown) => {
      throw this.unreachable(cause);
    });
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw failureOf(status, body, `${this.base.host} ${method} ${path}`);
    return body;
  }

  /** Items of a list, page by page, at most `most`. */
  async list<T>(path: string, most = Infinity, query: QueryParameters = {}): Promise<T[]> {
    const items: T[] = [];
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.call<Page<T>>('GET', path, {
        query: { ...query, limit: Math.min(MOST_PER_PAGE, most - items.length), cursor },
      });
      items.push(...page.items);
      cursor = page.nextCursor;
    } while (cursor !== null && items.length < most);
    return items.slice(0, most);
  }

  private send(method: Method, path: string, { query, json, stream }: Sent): Promise<IncomingMessage> {
    const url = new URL(path.replace(/^\//, ''), this.base);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value !== null && value !== undefined) url.searchParams.set(name, String(value));
    }
    const body = json === undefined ? null : Buffer.from(JSON.stringify(json));
    const headers: OutgoingHttpHeaders = {
      authorization: this.authorization,
      accept: 'application/json',
      ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
      ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
      ...(stream === undefined ? {} : { 'content-type': 'application/octet-stream' }),
    };
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, { method, headers });
      const silence = stream === undefined ? SILENCE_MILLISECONDS : IMPORT_SILENCE_MILLISECONDS;
      request.setTimeout(silence, () => request.destroy(new Error(`no answer within ${silence / 1000} s`)));
      let answered = false;
      request.once('response', (response) => {
        answered = true;
        resolve(response);
      });
      // A server that refuses an upload answers before it has all of it: the answer counts, not the broken stream.
      const failed = (cause: unknown): void => {
        if (!answered) reject(this.unreachable(cause));
      };
      request.on('error', failed);
      if (stream === undefined) request.end(body ?? undefined);
      else pipeline(stream, request).catch(failed);
    });
  }

  private unreachable(cause: unknown): Failure {
    const code =
      typeof cause === 'object' && cause !== null && 'code' in cause
        ? String(cause.code)
        : cause instanceof Error
          ? cause.message
          : 'no reason given';
    return unavailable(`${this.base.origin} (BURSAR_URL) cannot be reached: ${code}`, cause);
  }
}

/** An answer's problem+json as a Failure; without one, what the status says. */
function failureOf(status: number, body: string, asked: string): Failure {
  const document = parsed(body);
  const kind = KINDS[status] ?? (status >= 500 ? 'unavailable' : 'invalid');
  if (document === null) return new Failure(kind, `${asked}: status ${status}`);
  const problems = Array.isArray(document['problems']) ? document['problems'].flatMap(problemOf) : [];
  const detail = document['detail'] ?? document['title'];
  const id = status >= 500 && typeof document['requestId'] === 'string' ? ` (request ${document['requestId']})` : '';
  return new Failure(
    kind,
    `${typeof detail === 'string' ? detail : `status ${status}`}${status === 401 ? ' (BURSAR_API_KEY)' : ''}${id}`,
    problems,
  );
}

function problemOf(value: unknown): Problem[] {
  if (typeof value !== 'object' || value === null || !('message' in value) || typeof value.message !== 'string')
    return [];
  return [{ path: 'path' in value && typeof value.path === 'string' ? value.path : null, message: value.message }];
}

function parsed(body: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}
