/**
 * A client of Bursar's API: JSON in, JSON out, a file as a stream; problem+json becomes a Failure that names every
 * problem.
 */
import type { Readable } from 'node:stream';
import { Failure, unavailable, type FailureKind, type Problem } from '../../core/errors.js';
import type { Method, Transport } from './transport.js';

export type QueryValue = string | number | boolean | null | undefined;
export type QueryParameters = Readonly<Record<string, QueryValue | readonly string[]>>;

/** The body of a request: a JSON value, or the bytes of a file. */
export interface Sent {
  readonly query?: QueryParameters;
  readonly json?: unknown;
  readonly stream?: Readable;
  readonly isOpen?: boolean;
  /** Statuses that are an answer too, in addition to 200 to 299. */
  readonly also?: readonly number[];
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor: string | null;
}

/**
 * Where a list goes on: each answer says it, or that this was its last page. A server that leaves that out, or names a
 * place that was asked for already, would be asked for ever.
 */
class Cursors {
  private readonly asked = new Set<string>();

  constructor(private readonly whom: string) {}

  /** The cursor of the next page; null: none. @throws Failure unavailable if the answer has no valid cursor. */
  after(nextCursor: unknown): string | null {
    if (nextCursor === null) return null;
    if (typeof nextCursor !== 'string' || nextCursor === '')
      throw unavailable(`${this.whom} does not say where the list continues (nextCursor): is it Bursar?`);
    if (this.asked.has(nextCursor))
      throw unavailable(`${this.whom} leads back to a page that it has already returned (nextCursor): is it Bursar?`);
    this.asked.add(nextCursor);
    return nextCursor;
  }
}

type Document = Readonly<Record<string, unknown>>;

const KINDS: Readonly<Record<number, FailureKind>> = {
  400: 'invalid',
  401: 'denied',
  403: 'denied',
  404: 'missing',
  409: 'conflict',
  503: 'unavailable',
};
const MOST_PER_PAGE = 1000;

/** A failure that the API has answered. */
export class ApiFailure extends Failure {
  constructor(
    kind: FailureKind,
    message: string,
    problems: readonly Problem[],
    /** problem+json; null: the answer was none. */
    readonly document: Document | null,
  ) {
    super(kind, message, problems);
  }
}

/** The address of one thing in a list: `/v1/teams/a%2Fb`. */
export const at = (list: string, id: string): string => `/v1/${list}/${encodeURIComponent(id)}`;

export class Api {
  constructor(private readonly transport: Transport) {}

  /** @throws Failure of the kind that the answer's status has; unavailable if there is no answer. */
  async call<T>(method: Method, path: string, sent: Sent = {}): Promise<T> {
    const body = await this.text(method, path, sent);
    try {
      return JSON.parse(body) as T;
    } catch {
      throw unavailable(
        `${this.transport.name} answered ${method} ${path} with something that is not JSON: is it Bursar?`,
      );
    }
  }

  /** The answer's text, whatever it is. */
  async text(method: Method, path: string, { query = {}, also = [], ...sent }: Sent = {}): Promise<string> {
    const { status, text } = await this.transport.ask({ method, path: withQuery(path, query), ...sent });
    const { name, hasLog } = this.transport;
    if ((status < 200 || status > 299) && !also.includes(status))
      throw failureOf(status, text, { asked: `${name} ${method} ${path}`, hasLog });
    return text;
  }

  /** Items of a list, page by page, at most `most`. @throws Failure also if an answer is no page of a list. */
  async list<T>(path: string, most = Infinity, query: QueryParameters = {}): Promise<T[]> {
    const items: T[] = [];
    if (most < 1) return items;
    const cursors = this.cursors(path);
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.call<Page<T>>('GET', path, {
        query: { ...query, limit: Math.min(MOST_PER_PAGE, most - items.length), cursor },
      });
      if (!Array.isArray(page.items))
        throw unavailable(
          `${this.transport.name} answered GET ${path} with something that is not a list: is it Bursar?`,
        );
      for (const item of page.items) items.push(item);
      cursor = items.length < most ? cursors.after(page.nextCursor) : null;
      // No page but the last is empty: a server that names ever new ones would be asked for ever.
      if (cursor !== null && page.items.length === 0)
        throw unavailable(`${this.transport.name} answered GET ${path} with an empty page that points to another`);
    } while (cursor !== null);
    return items.slice(0, most);
  }

  /** The pages of what is asked for at `path`. */
  cursors(path: string): Cursors {
    return new Cursors(`the answer of ${this.transport.name} to GET ${path}`);
  }
}

function withQuery(path: string, query: QueryParameters): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value as QueryValue])
      if (one !== null && one !== undefined) given.append(name, String(one));
  return given.size === 0 ? path : `${path}?${given.toString()}`;
}

/** Refusals of the server before any route: they are no problem+json. */
const TOO_LONG: Readonly<Record<number, string>> = {
  414: 'the question is too long for an address: ask for less at once',
  431: 'the question is too long for an address: ask for less at once',
};

/** An answer's problem+json as a Failure; without one, what the status says. */
function failureOf(
  status: number,
  body: string,
  { asked, hasLog }: { readonly asked: string; readonly hasLog: boolean },
): ApiFailure {
  const document = parsed(body);
  const kind = KINDS[status] ?? (status >= 500 ? 'unavailable' : 'invalid');
  if (document === null) return new ApiFailure(kind, TOO_LONG[status] ?? `${asked}: status ${status}`, [], null);
  const problems = Array.isArray(document['problems']) ? document['problems'].flatMap(problemOf) : [];
  const detail = document['detail'] ?? document['title'] ?? TOO_LONG[status];
  const id =
    hasLog && status >= 500 && typeof document['requestId'] === 'string' ? ` (request ${document['requestId']})` : '';
  const message = `${typeof detail === 'string' ? detail : `status ${status}`}${status === 401 ? ' (BURSAR_API_KEY)' : ''}${id}`;
  return new ApiFailure(kind, message, problems, document);
}

function problemOf(value: unknown): Problem[] {
  if (typeof value !== 'object' || value === null || !('message' in value) || typeof value.message !== 'string')
    return [];
  return [{ path: 'path' in value && typeof value.path === 'string' ? value.path : null, message: value.message }];
}

function parsed(body: string): Document | null {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null ? (value as Document) : null;
  } catch {
    return null;
  }
}
