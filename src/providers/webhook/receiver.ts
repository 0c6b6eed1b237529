/**
 * Asks a receiver: signs, sends once, and reads the answer by the contract.
 *
 * Never repeats a request and never shows a secret, a signature or an address. The invariant: what is said of an effect
 * is no more than the answer proves. Only an answer of the contract's own says `taken` or `refused`; whatever leaves it
 * open is `unknown`.
 */
import type { Clock } from '../../core/time.js';
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { denied, invalid, unavailable, type Failure, type Problem } from '../../core/errors.js';
import type { EffectOutcome } from '../../core/ports.js';
import { appliedSchema, descriptionSchema, errorSchema, type Description, type Operation } from './contract.js';
import { outcomeOf } from './convert.js';
import { exchange, retryAfterSeconds, type Exchanged } from './exchange.js';
import { problemsOf, problemsText } from './problems.js';
import { signedHeaders, type Secrets } from './signature.js';

/** Of one answer; entries come in pages. */
const MOST_ANSWER_BYTES = 8 << 20;
/** The receiver's description is asked for again after this. */
const DESCRIPTION_MILLISECONDS = 300_000;

export interface ReceiverSettings {
  /** Ends without a slash. */
  readonly base: string;
  readonly read: Secrets;
  /** Null: read-only. */
  readonly act: Secrets | null;
  readonly timeoutMilliseconds: number;
}

type Answered = Extract<Exchanged, { kind: 'answered' }>;

export class Receiver {
  private known: { readonly description: Description; readonly at: number } | null = null;

  constructor(
    private readonly settings: ReceiverSettings,
    private readonly clock: Clock,
  ) {}

  /** What the receiver says that it can do; asked for once in five minutes. */
  async description(): Promise<Description> {
    const now = this.clock.now();
    if (this.known !== null && now - this.known.at < DESCRIPTION_MILLISECONDS) return this.known.description;
    const description = this.answerTo(
      'description',
      await this.send('GET', '/', '', this.settings.read),
      descriptionSchema,
    );
    this.known = { description, at: now };
    return description;
  }

  /**
   * Asks for something that changes nothing. @throws Failure unavailable, denied or invalid (with every problem of the
   * answer).
   */
  async ask<Schema extends z.ZodType>(
    operation: Exclude<Operation, 'apply'>,
    data: unknown,
    schema: Schema,
  ): Promise<z.infer<Schema>> {
    return this.answerTo(operation, await this.post(operation, data, this.settings.read), schema);
  }

  /** Asks for an effect. @throws Failure only if the receiver surely did nothing. */
  async apply(data: unknown): Promise<EffectOutcome> {
    if (this.settings.act === null)
      throw denied('the webhook connection is read-only: BURSAR_WEBHOOK_ACT_SECRET is not set');
    const answer = await this.post('apply', data, this.settings.act);
    if (answer.kind === 'unsent') throw unavailable(`the receiver could not be reached: ${answer.detail}`);
    if (answer.kind !== 'answered') return { kind: 'unknown', detail: answer.detail };
    return this.judge(answer);
  }

  /** An effect's answer: see the table "What an answer to apply means" in connect-your-own-cloud.md. */
  private judge(answer: Answered): EffectOutcome {
    const { status } = answer;
    if (status >= 200 && status < 300) {
      const read = this.read(answer.text, appliedSchema);
      return 'problems' in read
        ? { kind: 'unknown', detail: `the answer is not of the contract: ${problemsText(read.problems)}` }
        : outcomeOf(read.value, this.clean);
    }
    const error = this.read(answer.text, errorSchema);
    if ((status === 409 || status === 422) && 'value' in error) {
      return { kind: 'refused', code: error.value.code, detail: this.clean(error.value.detail ?? '') };
    }
    // Before it looks at anything, a receiver says 400, 401, 403, 404 and 429, and 503 with the time to come back at.
    if ([400, 401, 403, 404, 429].includes(status) || (status === 503 && answer.retryAfter !== null))
      throw this.failureOf('apply', answer);
    return { kind: 'unknown', detail: `the receiver answered ${status}` };
  }

  private async post(operation: Operation, data: unknown, secrets: Secrets): Promise<Exchanged> {
    const timestamp = new Date(this.clock.now()).toISOString();
    return this.send(
      'POST',
      `/${operation}`,
      JSON.stringify({ type: `bursar.${operation}`, timestamp, data }),
      secrets,
    );
  }

  private async send(method: 'GET' | 'POST', path: string, body: string, secrets: Secrets): Promise<Exchanged> {
    const id = `msg_${randomUUID().replaceAll('-', '')}`;
    const signed = signedHeaders(id, Math.floor(this.clock.now() / 1000), body, secrets);
    return exchange({
      url: new URL(this.settings.base + path),
      method,
      timeoutMilliseconds: this.settings.timeoutMilliseconds,
      mostBytes: MOST_ANSWER_BYTES,
      headers: {
        ...signed,
        accept: 'application/json',
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
      },
      body: method === 'POST' ? body : null,
    });
  }

  private answerTo<Schema extends z.ZodType>(what: string, answer: Exchanged, schema: Schema): z.infer<Schema> {
    if (answer.kind === 'unsent' || answer.kind === 'lost')
      throw unavailable(`the receiver did not answer ${what}: ${answer.detail}`);
    if (answer.kind === 'unreadable')
      throw invalid(`the receiver's answer to ${what} cannot be read: ${answer.detail}`);
    if (answer.status < 200 || answer.status >= 300) throw this.failureOf(what, answer);
    const read = this.read(answer.text, schema);
    if ('value' in read) return read.value;
    throw invalid(
      `the receiver's answer to ${what} is not of the contract: ${problemsText(read.problems)}`,
      read.problems,
    );
  }

  private failureOf(what: string, answer: Answered): Failure {
    const { status } = answer;
    const error = this.read(answer.text, errorSchema);
    const reason =
      'value' in error
        ? ` (${error.value.code}${error.value.detail ? `: ${this.clean(error.value.detail)}` : ''})`
        : '';
    if (status === 401 || status === 403) {
      return denied(
        `the receiver denied ${what} with ${status}${reason}: its secret must match BURSAR_WEBHOOK_${what === 'apply' ? 'ACT_SECRET' : 'SECRET'}`,
      );
    }
    if (status === 408 || status === 429 || status >= 500) {
      const seconds = retryAfterSeconds(answer.retryAfter, this.clock.now());
      return unavailable(
        `the receiver answered ${status} to ${what}${reason}${seconds === null ? '' : `; again in ${seconds} s`}`,
      );
    }
    if (status >= 300 && status < 400)
      return invalid(`the receiver answered ${what} with the redirect ${status}; redirects are not followed`);
    return invalid(`the receiver answered ${status} to ${what}${reason}`);
  }

  private read<Schema extends z.ZodType>(
    text: string,
    schema: Schema,
  ): { readonly value: z.infer<Schema> } | { readonly problems: readonly Problem[] } {
    let json: unknown;
    try {
      json = JSON.parse(text);
    } catch {
      return { problems: [{ path: null, message: 'is not JSON' }] };
    }
    const parsed = schema.safeParse(json);
    return parsed.success
      ? { value: parsed.data }
      : {
          problems: problemsOf(parsed.error).map(({ path, message }) => ({
            path: path === null ? null : this.clean(path),
            message: this.clean(message),
          })),
        };
  }

  /** Takes the secrets out of what a receiver wrote: it knows them too, and may quote one. */
  readonly clean = (text: string): string => {
    const secrets = [...this.settings.read, ...(this.settings.act ?? [])];
    return secrets.reduce(
      (left, secret) =>
        left
          .replaceAll(secret.toString('base64'), '[secret]')
          .replaceAll(secret.toString('base64').replace(/=+$/, ''), '[secret]'),
      text,
    );
  };
}
