/**
 * Requests to Azure Resource Manager and to the list of retail prices, and their outcomes.
 *
 * Follows no redirect and no link to another host: a token goes only to the configured host. The invariants: a request
 * that acts is sent once; only reading is retried, and waits as long as Azure asks, within bounds. No header makes a
 * request idempotent (`x-ms-client-request-id` only names it in logs): the target's own state shows the outcome of a
 * lost one. Sources: "Azure Resource Manager", "Throttling Resource Manager requests" (429, Retry-After), "Track
 * asynchronous Azure operations" (Azure-AsyncOperation, Location) and "Resource provider errors" on
 * learn.microsoft.com.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { z } from 'zod';
import { denied, invalid } from '../../core/errors.js';
import type { Clock } from '../../core/time.js';
import { CallError, reading, scrubbed, type KeyPair, type Meaning, type Use } from '../rpc.js';
import { exchange, retryAfterSeconds, type Exchanged } from '../webhook/exchange.js';
import { PROGRESS, REFUSAL, type Operation } from './operations.js';
import { PREFIX, type AzureIdentity, type AzureSettings } from './settings.js';
import { jsonOf, Tokens } from './tokens.js';

export const CLOUD = 'Azure';

const MOST_BYTES = 64 << 20;
const MOST_PAGES = 500;
const READ_ATTEMPTS = 3;
/** A reading that the cloud asks to wait longer fails instead; the next scheduled reading tries again. */
const LONGEST_PAUSE_SECONDS = 15;
/** So long an accepted request is followed, to hear whether Azure has the machine. */
const FOLLOW_MS = 20_000;
const FOLLOW_SECONDS = 5;

export type Values = Readonly<Record<string, string>>;

interface Sent {
  readonly url: URL;
  readonly method: string;
  readonly body: string | null;
}

type Answered = Extract<Exchanged, { readonly kind: 'answered' }>;

/** An operation that was accepted and failed after that. */
export interface Failed {
  readonly code: string;
  readonly detail: string;
}

export class AzureClient {
  private readonly reader: Tokens;
  private readonly actor: Tokens | null;

  constructor(
    readonly settings: AzureSettings,
    private readonly clock: Clock,
  ) {
    this.reader = new Tokens(settings, settings.read, clock);
    this.actor = settings.act === null ? null : new Tokens(settings, settings.act, clock);
  }

  /** One reply to a question with a body. @throws Failure */
  async ask<Reply extends z.ZodType>(operation: Operation<Reply>, body: unknown): Promise<z.output<Reply>> {
    const sent = { ...this.requestOf(operation, {}, {}), body: JSON.stringify(body) };
    return reading(CLOUD, operation.permission, operation.reply, () => this.patiently(sent, 'read'));
  }

  /** Reads an object by its name; null: Azure says that it does not exist. @throws Failure */
  async find<Reply extends z.ZodType>(
    operation: Operation<Reply>,
    values: Values,
    query: Values = {},
  ): Promise<z.output<Reply> | null> {
    const sent = this.requestOf(operation, values, query);
    return reading(CLOUD, operation.permission, operation.reply.nullable(), async () => {
      try {
        return await this.patiently(sent, 'read');
      } catch (error) {
        if (error instanceof CallError && error.meaning.kind === 'refused' && ABSENT.test(error.meaning.code))
          return null;
        throw error;
      }
    });
  }

  /** All pages of a list. @throws Failure */
  async list<Item>(
    operation: Operation<z.ZodType<{ value: Item[]; nextLink?: string | null | undefined }>>,
    values: Values,
    query: Values = {},
    use: Use = 'read',
  ): Promise<Item[]> {
    const found: Item[] = [];
    let next: Sent = this.requestOf(operation, values, query);
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      const sent = next;
      const reply = await reading(CLOUD, operation.permission, operation.reply, () => this.patiently(sent, use));
      found.push(...reply.value);
      if ((reply.nextLink ?? '') === '') return found;
      next = { ...sent, url: linkWithin(reply.nextLink ?? '', this.settings.hosts.management) };
    }
    throw invalid(`${CLOUD} answered ${operation.permission} with more than ${MOST_PAGES} pages`);
  }

  /**
   * Reads from the list of retail prices, which takes no credentials; `link` is a page that it named.
   * @throws CallError, or Failure invalid for a link to another host
   */
  async prices(query: Values, link: string | null): Promise<unknown> {
    const { hosts } = this.settings;
    if (hosts.prices === null) throw invalid(`${CLOUD} does not publish the prices of this cloud there`);
    const url = link === null ? new URL('/api/retail/prices', hosts.prices) : linkWithin(link, hosts.prices);
    if (link === null) for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return this.patiently({ url, method: 'GET', body: null }, null);
  }

  /**
   * Sends a request that acts, once, with the identity for acting.
   * @param follows whether to hear for a while how it goes on
   * @returns Azure's id of the request, and how it failed where that was heard
   * @throws CallError, or Failure denied where there is no identity for acting
   */
  async act(
    operation: Operation,
    values: Values,
    body: unknown,
    follows: boolean,
  ): Promise<{ readonly reference: string | null; readonly failed: Failed | null }> {
    const sent = { ...this.requestOf(operation, values, {}), body: body === null ? null : JSON.stringify(body) };
    const answer = await this.sendOnce(sent, 'act');
    return {
      reference: answer.headers.get('x-ms-request-id'),
      failed: follows ? await this.follow(answer.headers) : null,
    };
  }

  /** How an accepted operation failed; null: it did not, or it still goes on, or nobody says. */
  private async follow(headers: Headers): Promise<Failed | null> {
    const link = headers.get('azure-asyncoperation');
    if (link === null || !isWithin(link, this.settings.hosts.management)) return null;
    const until = this.clock.now() + FOLLOW_MS;
    let seconds = retryAfterSeconds(headers.get('retry-after'), this.clock.now()) ?? FOLLOW_SECONDS;
    for (let left = FOLLOW_MS; left > 0 && this.clock.now() < until; left -= Math.max(1, seconds) * 1000) {
      await pause(Math.min(seconds, FOLLOW_SECONDS) * 1000);
      try {
        const answer = await this.sendOnce({ url: new URL(link), method: 'GET', body: null }, 'act');
        const progress = PROGRESS.safeParse(jsonOf(answer.text)).data;
        if (progress === undefined || progress.status === 'Succeeded') return null;
        if (progress.status === 'Failed' || progress.status === 'Canceled')
          return {
            code: progress.error?.code ?? progress.status,
            detail: this.scrub(progress.error?.message ?? 'no reason is given'),
          };
        seconds = retryAfterSeconds(answer.headers.get('retry-after'), this.clock.now()) ?? FOLLOW_SECONDS;
      } catch (error) {
        if (error instanceof CallError) return null;
        throw error;
      }
    }
    return null;
  }

  private requestOf({ method, path, apiVersion, query }: Operation, values: Values, asked: Values): Sent {
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
    const url = new URL(filled, this.settings.hosts.management);
    url.searchParams.set('api-version', apiVersion);
    for (const name of query) if (asked[name] !== undefined) url.searchParams.set(name, asked[name]);
    return { url, method, body: null };
  }

  /** Tries again what reads, where Azure was busy or did not answer. @throws CallError */
  private async patiently(sent: Sent, use: Use | null): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return jsonOf((await this.sendOnce(sent, use)).text);
      } catch (error) {
        if (!(error instanceof CallError) || attempt >= READ_ATTEMPTS || !MAY_PASS.has(error.meaning.kind)) throw error;
        const seconds = error instanceof Delayed ? error.seconds : 0.2 * attempt;
        if (seconds > LONGEST_PAUSE_SECONDS) throw error;
        await pause(seconds * 1000);
      }
    }
  }

  /** @param use null: without a token @throws CallError, or Failure denied without credentials */
  private async sendOnce({ url, method, body }: Sent, use: Use | null): Promise<Answered> {
    const tokens = use === null ? null : this.tokensFor(use);
    const answer = await exchange({
      url,
      method,
      headers: {
        accept: 'application/json',
        ...(tokens === null ? {} : { authorization: `Bearer ${await tokens.token()}` }),
        ...(body === null ? {} : { 'content-type': 'application/json' }),
      },
      body,
      timeoutMilliseconds: this.settings.timeoutSeconds * 1000,
      mostBytes: MOST_BYTES,
    });
    if (answer.kind === 'answered' && answer.status >= 200 && answer.status < 300) return answer;
    if (answer.kind === 'answered' && answer.status === 401) tokens?.forget();
    const seconds = answer.kind === 'answered' ? retryAfterSeconds(answer.retryAfter, this.clock.now()) : null;
    const meaning = meaningOf(answer, (text) => this.scrub(text));
    throw seconds === null ? new CallError(meaning) : new Delayed(meaning, seconds);
  }

  private tokensFor(use: Use): Tokens {
    const tokens = use === 'read' ? this.reader : this.actor;
    if (tokens === null)
      throw denied(`there is no Azure identity for acting (${PREFIX}ACT_CLIENT_ID): the connection is read-only`);
    return tokens;
  }

  private scrub(text: string): string {
    return scrubbed(text, [keysOf(this.settings.read), keysOf(this.settings.act)]);
  }
}

/** A failed call to which Azure said how long to wait. */
class Delayed extends CallError {
  constructor(
    meaning: Meaning,
    readonly seconds: number,
  ) {
    super(meaning);
  }
}

const MAY_PASS: ReadonlySet<Meaning['kind']> = new Set(['throttled', 'unsent', 'lost']);
/** There is no such machine, set or resource group; a subscription that is not found is another matter. */
const ABSENT = /^(?:(?:Parent)?Resource(?:Group)?NotFound|NotFound|InstanceIdNotFound|NotFound\.HTTP)$/;
/** Azure does something else to the resource, and turned this away. */
const BUSY = /^(?:AnotherOperationInProgress|RetryableError|TooManyRequests|ServerBusy|OperationNotAllowedThrottled)$/;
/**
 * Azure has no machine of this size free where it would have to stand; a quota is another matter (learn.microsoft.com,
 * "Troubleshoot allocation failures when you create, restart, or resize VMs" and "Resolve errors for SKU not
 * available").
 */
const FULL = /^(?:AllocationFailed|ZonalAllocationFailed|Overconstrained(?:Zonal)?AllocationRequest|SkuNotAvailable)$/;
export const isFull = (code: string): boolean => FULL.test(code);
const NO_PERMISSION = /^(?:(?:Linked)?AuthorizationFailed|Forbidden|InvalidAuthenticationTokenTenant)$/;

const keysOf = (identity: AzureIdentity | null): KeyPair | null =>
  identity?.kind === 'secret' ? { id: identity.clientId, secret: identity.secret } : null;

function meaningOf(answer: Exchanged, scrub: (text: string) => string): Meaning {
  if (answer.kind === 'unsent') return { kind: 'unsent', code: answer.detail };
  if (answer.kind === 'lost') return { kind: 'lost', code: answer.detail };
  if (answer.kind === 'unreadable') return { kind: 'lost', code: answer.detail };
  const { status } = answer;
  const refusal = REFUSAL.safeParse(jsonOf(answer.text)).data?.error;
  const code = refusal?.code ?? (status === 404 ? 'NotFound.HTTP' : `HTTP ${status}`);
  if (status === 429 || BUSY.test(code)) return { kind: 'throttled', code };
  if (isFull(code)) return { kind: 'full', code };
  if (status === 401) return { kind: 'denied', code, credentials: true };
  if (status === 403 && (refusal === undefined || NO_PERMISSION.test(code)))
    return { kind: 'denied', code, credentials: false };
  if (status >= 400 && status < 500 && status !== 408)
    return { kind: 'refused', code, detail: scrub(refusal?.message ?? 'no reason is given') };
  return { kind: 'lost', code };
}

const isWithin = (link: string, host: string): boolean =>
  URL.canParse(link) && new URL(link).origin === new URL(host).origin;

/** @throws Failure invalid for a link to another host */
function linkWithin(link: string, host: string): URL {
  if (!isWithin(link, host)) throw invalid(`${CLOUD} named a next page on another host: it is not asked`);
  return new URL(link);
}
