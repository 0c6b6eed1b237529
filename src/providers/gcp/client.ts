/**
 * Calls to Google Cloud's REST APIs: tokens by Google's own google-auth-library, requests by the table of operations.
 *
 * The client libraries of the single services are not used: the present @google-cloud/compute wants Node.js 22 and
 * brings gRPC and protocol buffers for what is a hundred lines of JSON here, @googleapis/compute is 34 MB and names no
 * enumerations. Only the credentials must come from Google's own library: keys, federation, impersonation, the metadata
 * server.
 *
 * The invariants: a request that acts is sent once; a token for reading has only scopes for reading, whatever else its
 * account may do; no error of a library is passed on (it contains the token); only reading is retried. Sources: AIP-193
 * "Errors"; Compute Engine, "Handling API errors" and "Rate quotas"; AIP-4111 "Self-signed JWT".
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { GoogleAuth, JWT, type AuthClient } from 'google-auth-library';
import { z } from 'zod';
import { denied } from '../../core/errors.js';
import { NEVER_SENT } from '../../core/never-sent.js';
import { CallError, reading, scrubbed, type Meaning, type Use } from '../rpc.js';
import { exchange, type Exchanged } from '../webhook/exchange.js';
import type { Api, Operation } from './operations.js';
import type { GcpCredentials, GcpSettings } from './settings.js';

export const CLOUD = 'Google Cloud';

const BASES: Readonly<Record<Api, { readonly host: string; readonly path: string }>> = {
  compute: { host: 'https://compute.googleapis.com', path: '/compute/v1/' },
  cloudbilling: { host: 'https://cloudbilling.googleapis.com', path: '/' },
  cloudresourcemanager: { host: 'https://cloudresourcemanager.googleapis.com', path: '/' },
};

const SCOPE = 'https://www.googleapis.com/auth/';
/** The most that a token of each use may do. The last scope lets it query its permissions. */
export const SCOPES: Readonly<Record<Use, readonly string[]>> = {
  read: ['compute.readonly', 'cloud-billing.readonly', 'cloud-platform.read-only'].map((name) => SCOPE + name),
  act: ['compute', 'cloud-platform.read-only'].map((name) => SCOPE + name),
};

const MEBIBYTE = 1024 * 1024;
/** The largest page is of 5000 SKUs, each of about two kilobytes. */
const MOST_BYTES = 64 * MEBIBYTE;
const READ_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 500;
const MOST_PAUSE_MS = 10_000;

export interface Args {
  readonly path: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
}

const ERROR = z.object({
  error: z.object({
    message: z.string().optional(),
    status: z.string().optional(),
    errors: z.array(z.object({ reason: z.string().optional() })).optional(),
    details: z.array(z.object({ reason: z.string().optional() })).optional(),
  }),
});

/** Words of the answer 403 that mean: later. Compute Engine, "Rate quotas". */
const BUSY: ReadonlySet<string> = new Set([
  'rateLimitExceeded',
  'userRateLimitExceeded',
  'RATE_LIMIT_EXCEEDED',
  'concurrentLimitExceeded',
]);
/** Words of the answer 403 that no permission would change; Google says in its message what to do. */
const SWITCHED_OFF: ReadonlySet<string> = new Set(['SERVICE_DISABLED', 'accessNotConfigured', 'BILLING_DISABLED']);

/**
 * A zone or region has no such machine free now; QUOTA_EXCEEDED is another matter, which no waiting ends (Compute
 * Engine, "Troubleshooting resource availability errors"; codes of an operation's errors and of an answer alike).
 */
export const isFull = (code: string): boolean =>
  /^(?:(?:ZONE|REGION)_)?RESOURCE_POOL_EXHAUSTED(?:_WITH_DETAILS)?$|^GPU_STOCKOUT$/.test(code);

export class GoogleClient {
  private readonly clients = new Map<Use, Promise<AuthClient>>();

  constructor(readonly settings: GcpSettings) {}

  /** Reads, with up to three attempts where Google is busy. @throws Failure naming the permission */
  async read<Reply extends z.ZodType>(operation: Operation<Reply>, args: Args): Promise<z.output<Reply>> {
    return reading(CLOUD, operation.permission, operation.reply, () => this.ask(operation, args));
  }

  /** As `read`; null if Google says that there is no such thing. @throws Failure */
  async find<Reply extends z.ZodType>(operation: Operation<Reply>, args: Args): Promise<z.output<Reply> | null> {
    return reading(CLOUD, operation.permission, operation.reply.nullable(), async () => {
      try {
        return await this.ask(operation, args);
      } catch (error) {
        if (error instanceof CallError && error.meaning.code === NOT_FOUND) return null;
        throw error;
      }
    });
  }

  /** A question with the credentials for reading. @throws CallError */
  async ask(operation: Operation, args: Args): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.call(operation, args, 'read');
      } catch (error) {
        const isOver = attempt >= READ_ATTEMPTS || !(error instanceof AnsweredError) || !error.mayGoThrough;
        if (isOver) throw error;
        await sleep(Math.min(error.pauseMs ?? FIRST_PAUSE_MS * 2 ** (attempt - 1), MOST_PAUSE_MS));
      }
    }
  }

  /** Sends a request once. @throws CallError, or Failure denied where there are no credentials for acting */
  async call(operation: Operation, args: Args, use: Use): Promise<unknown> {
    const authorization = await this.authorization(use);
    const exchanged = await exchange({
      url: this.addressOf(operation, args),
      method: operation.method,
      headers: {
        authorization,
        accept: 'application/json',
        ...(args.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: args.body === undefined ? null : JSON.stringify(args.body),
      timeoutMilliseconds: this.settings.timeoutSeconds * 1000,
      mostBytes: MOST_BYTES,
    });
    return replyOf(exchanged);
  }

  /** The address with what stands in braces filled in. What the operation does not have is a bug. */
  private addressOf(operation: Operation, { path, query = {} }: Args): URL {
    const { host, path: base } = BASES[operation.api];
    const filled = operation.path.replace(/\{(\+?)(\w+)\}/g, (_, whole: string, name: string) => {
      const value = path[name];
      if (value === undefined) throw new Error(`broken invariant: ${operation.id} is called without ${name}`);
      return value
        .split(whole === '' ? '\n' : '/')
        .map(encodeURIComponent)
        .join('/');
    });
    const url = new URL((this.settings.endpoint ?? host) + base + filled);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, String(value));
    return url;
  }

  private async authorization(use: Use): Promise<string> {
    const credentials = use === 'read' ? this.settings.read : this.settings.act;
    if (credentials === null)
      throw denied(
        'there are no Google Cloud credentials for acting (BURSAR_GCP_ACT_CREDENTIALS): the connection is read-only',
      );
    const opening = this.clients.get(use) ?? open(credentials, use, this.settings.timeoutSeconds * 1000);
    this.clients.set(use, opening);
    try {
      const headers = await (await opening).getRequestHeaders();
      const token = headers.get('authorization');
      if (token === null) throw new Error('no token');
      return token;
    } catch (error) {
      // A corrected file, or a server that is back, is read again.
      this.clients.delete(use);
      throw new CallError(withoutToken(error));
    }
  }
}

async function open(credentials: GcpCredentials, use: Use, timeout: number): Promise<AuthClient> {
  const auth = new GoogleAuth({
    scopes: [...SCOPES[use]],
    clientOptions: { transporterOptions: { timeout } },
    ...(credentials.kind === 'file' ? { keyFilename: credentials.path } : {}),
  });
  const client = await auth.getClient();
  // A service account's key signs its tokens itself: there is no server to be asked for one.
  if (client instanceof JWT) client.useJWTAccessWithScope = true;
  return client;
}

/** The library's error without a token: nothing was sent to Google's services by then. */
function withoutToken(error: unknown): Meaning {
  const { code, response } = (typeof error === 'object' && error !== null ? error : {}) as {
    readonly code?: unknown;
    readonly response?: { readonly status?: unknown; readonly data?: unknown };
  };
  const status = response?.status;
  const data = response?.data as { readonly error?: unknown } | undefined;
  if (typeof status === 'number' && status >= 500) return { kind: 'unsent', code: `token: HTTP ${status}` };
  const word = typeof data?.error === 'string' ? data.error : typeof code === 'string' ? code : 'no token';
  if (NEVER_SENT.has(word) || word === 'ETIMEDOUT' || word === 'ECONNRESET') return { kind: 'unsent', code: word };
  return { kind: 'denied', code: word.slice(0, 60), credentials: true };
}

const NOT_FOUND = 'notFound';

/** An answer, or none, with whether another attempt may go through, and after which pause it was asked for. */
class AnsweredError extends CallError {
  constructor(
    meaning: Meaning,
    readonly mayGoThrough: boolean,
    readonly pauseMs: number | null,
  ) {
    super(meaning);
  }
}

function replyOf(exchanged: Exchanged): unknown {
  switch (exchanged.kind) {
    case 'unsent':
      throw new AnsweredError({ kind: 'unsent', code: exchanged.detail }, true, null);
    case 'lost':
      throw new AnsweredError({ kind: 'lost', code: exchanged.detail }, true, null);
    case 'unreadable':
      throw new AnsweredError({ kind: 'lost', code: exchanged.detail }, false, null);
    case 'answered':
      break;
  }
  const { status, text, retryAfter } = exchanged;
  const body = parsed(text);
  if (status >= 200 && status < 300 && body !== undefined) return body;
  const pause = retryAfter !== null && /^\d{1,4}$/.test(retryAfter.trim()) ? Number(retryAfter) * 1000 : null;
  const meaning = meaningOf(status, body);
  throw new AnsweredError(meaning, meaning.kind === 'throttled' || meaning.kind === 'lost', pause);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function meaningOf(status: number, body: unknown): Meaning {
  const error = ERROR.safeParse(body).data?.error;
  const reasons = [...(error?.details ?? []), ...(error?.errors ?? [])].flatMap(({ reason }) => reason ?? []);
  const code = reasons[0] ?? error?.status ?? `HTTP ${status}`;
  const detail = scrubbed(error?.message ?? '', []);
  if (status === 429 || (status === 403 && reasons.some((reason) => BUSY.has(reason))))
    return { kind: 'throttled', code };
  const full = reasons.find(isFull);
  if (full !== undefined) return { kind: 'full', code: full };
  if (status === 401) return { kind: 'denied', code, credentials: true };
  const off = reasons.find((reason) => SWITCHED_OFF.has(reason));
  if (status === 403)
    return off === undefined ? { kind: 'denied', code, credentials: false } : { kind: 'refused', code: off, detail };
  if (status === 404) return { kind: 'refused', code: NOT_FOUND, detail };
  return status >= 400 && status < 500 && status !== 408
    ? { kind: 'refused', code, detail }
    : { kind: 'lost', code: `HTTP ${status}` };
}
