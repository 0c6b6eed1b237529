/**
 * Requests to a cloud whose API is JSON over HTTP behind a key: what every neocloud with a REST API shares.
 *
 * It knows no cloud: what can be asked is written down in each cloud's own file as operations, and nothing else is sent
 * or read, so that all of it can be compared with the cloud's OpenAPI document
 * (tests/contract/neocloud-openapi.test.ts). The invariants: a request that acts goes out once; only reading is tried
 * again; a key stands in no message. Sources: RFC 6750 (bearer), RFC 9110 (Retry-After), RFC 6585 (429), RFC 9457
 * (problem details).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { denied } from '../../core/errors.js';
import { CallError, reading, scrubbed, type Meaning, type Use } from '../rpc.js';
import { exchange, type Exchanged } from '../webhook/exchange.js';
import type { NeoSettings } from './settings.js';

/** One request that can be sent, with the part of the reply that is read. */
export interface Operation<Reply extends z.ZodType = z.ZodType> {
  /** As the cloud's OpenAPI document names it. */
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the host on; `{id}` is filled in. */
  readonly path: string;
  readonly query: readonly string[];
  readonly body: z.ZodType | null;
  /** The schema of the successful answer; null if it has no body. */
  readonly reply: Reply;
}

/** The shape of the entries of a list within a reply, by its name there; a nameless list is a map of entries. */
export interface Entries {
  readonly of: Operation;
  readonly list: string;
  readonly entry: z.ZodType;
}

export interface Args {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: unknown;
}

/** A cloud, as far as its client has to know it. */
export interface RestApi {
  /** For messages, and FOCUS ProviderName. */
  readonly cloud: string;
  readonly host: string;
  /** The code and the words of a failure's body; null: none. */
  readonly errorOf: (body: unknown) => { readonly code: string | null; readonly detail: string | null };
  /** Codes of the answer 403 that no permission would change. */
  readonly notOfPermission: ReadonlySet<string>;
}

/** Told what could not be read, as a sentence: the rest stands. */
export type Lacks = (what: string) => void;

export const NOT_FOUND = 'NotFound';

const MOST_BYTES = 64 * 1024 * 1024;
const READ_ATTEMPTS = 3;
/** Lambda takes about one request a second: the pause after a 429 without Retry-After is longer than that. */
const FIRST_PAUSE_MS = 1100;
const MOST_PAUSE_MS = 10_000;

export class RestClient {
  constructor(
    readonly api: RestApi,
    readonly settings: NeoSettings,
  ) {}

  /** Reads, with up to three attempts where the cloud is busy. @throws Failure naming the operation */
  async read<Reply extends z.ZodType>(operation: Operation<Reply>, args: Args = {}): Promise<z.output<Reply>> {
    return reading(this.api.cloud, operation.id, operation.reply, () => this.ask(operation, args));
  }

  /** As `read`; null if the cloud says that there is no such thing. @throws Failure */
  async find<Reply extends z.ZodType>(operation: Operation<Reply>, args: Args): Promise<z.output<Reply> | null> {
    return reading(this.api.cloud, operation.id, operation.reply.nullable(), async () => {
      try {
        return await this.ask(operation, args);
      } catch (error) {
        if (error instanceof CallError && error.meaning.code === NOT_FOUND) return null;
        throw error;
      }
    });
  }

  /** A question with the credential for reading. @throws CallError */
  async ask(operation: Operation, args: Args = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.call(operation, args, 'read');
      } catch (error) {
        if (attempt >= READ_ATTEMPTS || !(error instanceof AnsweredError) || !error.mayGoThrough) throw error;
        await sleep(Math.min(error.pauseMs ?? FIRST_PAUSE_MS * 2 ** (attempt - 1), MOST_PAUSE_MS));
      }
    }
  }

  /** Sends a request once. @throws CallError, or Failure denied where there is no credential for acting */
  async call(operation: Operation, args: Args, use: Use): Promise<unknown> {
    const { read, act, timeoutSeconds } = this.settings;
    const key = use === 'read' ? read : act;
    if (key === null) throw denied(`there is no key of ${this.api.cloud} for acting: the connection is read-only`);
    const body = operation.body === null ? null : JSON.stringify(operation.body.parse(args.body));
    const exchanged = await exchange({
      url: this.addressOf(operation, args),
      method: operation.method,
      headers: {
        authorization: `Bearer ${key}`,
        accept: 'application/json',
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      body,
      timeoutMilliseconds: timeoutSeconds * 1000,
      mostBytes: MOST_BYTES,
    });
    return this.replyOf(exchanged);
  }

  /** The address with what stands in braces filled in. What the operation does not have is a bug. */
  private addressOf({ id, path, query }: Operation, args: Args): URL {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = args.path?.[name];
      if (value === undefined) throw new Error(`broken invariant: ${id} is called without ${name}`);
      return encodeURIComponent(value);
    });
    const url = new URL((this.settings.endpoint ?? this.api.host) + filled);
    for (const [name, value] of Object.entries(args.query ?? {})) {
      if (!query.includes(name)) throw new Error(`broken invariant: ${id} has no parameter ${name}`);
      url.searchParams.set(name, String(value));
    }
    return url;
  }

  private replyOf(exchanged: Exchanged): unknown {
    if (exchanged.kind === 'unsent' || exchanged.kind === 'lost')
      throw new AnsweredError({ kind: exchanged.kind, code: exchanged.detail }, true, null);
    if (exchanged.kind === 'unreadable') throw new AnsweredError({ kind: 'lost', code: exchanged.detail }, false, null);
    const { status, text, retryAfter } = exchanged;
    if (status === 204) return null;
    const body = parsed(text);
    if (status >= 200 && status < 300 && body !== undefined) return body;
    const pause = retryAfter !== null && /^\d{1,4}$/.test(retryAfter.trim()) ? Number(retryAfter) * 1000 : null;
    const meaning = this.meaningOf(status, body);
    throw new AnsweredError(meaning, meaning.kind === 'throttled' || meaning.kind === 'lost', pause);
  }

  private meaningOf(status: number, body: unknown): Meaning {
    const { code: own, detail: words } = this.api.errorOf(body);
    const code = own ?? `HTTP ${status}`;
    const { read, act } = this.settings;
    const keys = [read, act].map((secret) => (secret === null ? null : { id: secret, secret }));
    const detail = scrubbed(words ?? '', keys);
    if (status === 429) return { kind: 'throttled', code };
    if (status === 401) return { kind: 'denied', code, credentials: true };
    if (status === 403 && !this.api.notOfPermission.has(code)) return { kind: 'denied', code, credentials: false };
    if (status === 404) return { kind: 'refused', code: NOT_FOUND, detail };
    return status >= 400 && status < 500 && status !== 408
      ? { kind: 'refused', code, detail }
      : { kind: 'lost', code: `HTTP ${status}` };
  }
}

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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** Of the entries of a list those that are of the form; the others are named, as far as they have a name. */
export function understood<Entry extends z.ZodType>(
  all: readonly unknown[],
  entry: Entry,
  lacks: Lacks,
): z.output<Entry>[] {
  const read = all.map((one) => ({ one, ...entry.safeParse(one) }));
  const unread = read.filter(({ success }) => !success);
  const names = unread.flatMap(({ one }) => NAMED.safeParse(one).data?.id ?? []);
  const named = names.length === 0 ? '' : `: ${names.slice(0, MOST_NAMES).join(', ')}`;
  if (unread.length > 0)
    lacks(`${unread.length} of ${all.length} entries are in a shape that is not documented${named}`);
  return read.flatMap(({ success, data }) => (success ? [data] : []));
}

/** An entry as far as its name is known. */
const NAMED = z.object({ id: z.string().regex(/^[\w. -]{1,64}$/) });
const MOST_NAMES = 5;

/** Shapes that most fields of a reply have: absent and null are both not known. */
export const text = z.string().nullish();
export const count = z.number().nullish();
export const flag = z.boolean().nullish();
/** A list whose entries are read one by one: an unreadable entry hides no other. */
export const entries = z.array(z.unknown());
/** Words that the code distinguishes; any other is unknown, and null. */
export const word = <const Words extends readonly [string, ...string[]]>(...words: Words) =>
  z.enum(words).nullish().catch(null);
