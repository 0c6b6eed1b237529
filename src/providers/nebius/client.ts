/**
 * Calls to Nebius AI Cloud's gRPC services with the tokens of service accounts.
 *
 * The invariants: a request that acts goes out once, with its token as the idempotency key that Nebius' own SDKs send;
 * only reading is tried again; a key, a token and a server's bytes stand in no message.
 * Sources: github.com/nebius/api, "API Endpoints", "Service Account Authentication" and nebius/common/v1/error.proto;
 * github.com/nebius/gosdk (auth/exchangable.go: the claims; auth/service_account.go: the file; conn/idempotency.go);
 * RFC 8693 (token exchange), RFC 7523 (JWT).
 */
import { createPrivateKey, createSign } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { denied } from '../../core/errors.js';
import type { Clock } from '../../core/time.js';
import { NOT_FOUND } from '../neocloud/client.js';
import type { NeoSettings } from '../neocloud/settings.js';
import { CallError, reading, scrubbed, type Meaning, type Use } from '../rpc.js';
import { call, type Called } from './grpc.js';
import { METHODS, RPC_STATUS, SERVICE_ERROR, type Method } from './messages.js';
import { decode, encode, type Decoded, type Encodable, type Message } from './protobuf.js';

export const CLOUD = 'Nebius';

/** As Nebius' CLI and SDKs write and read it. */
const CREDENTIALS = z.object({
  'subject-credentials': z.object({
    alg: z.literal('RS256'),
    'private-key': z.string(),
    kid: z.string().min(1),
    iss: z.string().min(1),
    sub: z.string().min(1),
  }),
});

/** The problem of a credentials file's text; null: none. Never reveals its content. */
export function credentialsMisfit(text: string): string | null {
  const why = 'is not a credentials file of a Nebius service account (JSON with subject-credentials)';
  try {
    createPrivateKey(CREDENTIALS.parse(JSON.parse(text))['subject-credentials']['private-key']);
    return null;
  } catch {
    return why;
  }
}

const JWT_SECONDS = 300;
/** gosdk, auth/exchangable.go. */
const AUDIENCE = 'token-service.iam.new.nebiuscloud.net';
const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:';
/** A token is not used in its last minute. */
const MARGIN_MS = 60_000;
const READ_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 500;

/** The method's name as permission: who may call it is decided by the roles of the account's groups. */
export const permissionOf = ({ service, name }: Pick<Method, 'service' | 'name'>): string => `${service}/${name}`;

export class NebiusClient {
  private readonly tokens = new Map<Use, { readonly token: string; readonly until: number }>();

  constructor(
    readonly settings: NeoSettings,
    private readonly clock: Clock,
  ) {}

  get projects(): readonly string[] {
    return this.settings.lists['PROJECTS'] ?? [];
  }

  /** Reads, with up to three attempts where Nebius is busy. @throws Failure naming the method */
  read<Request extends Message, Reply extends Message>(
    method: Method<Request, Reply>,
    request: Encodable,
  ): Promise<Decoded<Reply>> {
    return reading(CLOUD, permissionOf(method), z.custom<Decoded<Reply>>(), () => this.ask(method, request));
  }

  /** As `read`; null if Nebius says that there is no such thing. @throws Failure */
  find<Request extends Message, Reply extends Message>(
    method: Method<Request, Reply>,
    request: Encodable,
  ): Promise<Decoded<Reply> | null> {
    return reading(CLOUD, permissionOf(method), z.custom<Decoded<Reply> | null>(), async () => {
      try {
        return await this.ask(method, request);
      } catch (error) {
        if (error instanceof CallError && error.meaning.code === NOT_FOUND) return null;
        throw error;
      }
    });
  }

  /** A question with the credentials for reading. @throws CallError */
  async ask<Reply extends Message>(method: Method<Message, Reply>, request: Encodable): Promise<Decoded<Reply>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.send(method, request, 'read', {});
      } catch (error) {
        if (!(error instanceof CallError)) throw error;
        const isOver = attempt >= READ_ATTEMPTS || error.meaning.kind === 'denied' || error.meaning.kind === 'refused';
        if (isOver) throw error;
        await sleep(FIRST_PAUSE_MS * 2 ** (attempt - 1));
      }
    }
  }

  /** Sends a request that acts, once. @throws CallError, or Failure denied where there are no credentials for acting */
  act<Reply extends Message>(
    method: Method<Message, Reply>,
    request: Encodable,
    token: string,
  ): Promise<Decoded<Reply>> {
    return this.send(method, request, 'act', { 'x-idempotency-key': token });
  }

  private async send<Reply extends Message>(
    method: Method<Message, Reply>,
    request: Encodable,
    use: Use,
    headers: Readonly<Record<string, string>>,
  ): Promise<Decoded<Reply>> {
    const authorization = `Bearer ${await this.token(use)}`;
    try {
      return replyOf(method, await this.called(method, request, { authorization, ...headers }));
    } catch (error) {
      // It was withdrawn: the next call asks for another.
      if (error instanceof CallError && error.meaning.kind === 'denied') this.tokens.delete(use);
      throw error;
    }
  }

  private called(method: Method, request: Encodable, headers: Readonly<Record<string, string>>): Promise<Called> {
    return call({
      address: this.settings.endpoint ?? `https://${method.host}.api.nebius.cloud:443`,
      method: permissionOf(method),
      headers,
      message: encode(method.request, request),
      timeoutMilliseconds: this.settings.timeoutSeconds * 1000,
    });
  }

  private async token(use: Use): Promise<string> {
    const text = use === 'read' ? this.settings.read : this.settings.act;
    if (text === null) throw denied(`there are no ${CLOUD} credentials for acting: the connection is read-only`);
    const now = this.clock.now();
    const known = this.tokens.get(use);
    if (known !== undefined && known.until > now) return known.token;
    const reply = await this.exchanged(signed(text, now));
    this.tokens.set(use, { token: reply.access_token, until: now + Number(reply.expires_in) * 1000 - MARGIN_MS });
    return reply.access_token;
  }

  /** Nothing was sent to the services where there is no token. @throws CallError */
  private async exchanged(jwt: string): Promise<Decoded<typeof METHODS.token.reply>> {
    try {
      const called = await this.called(
        METHODS.token,
        {
          grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
          requested_token_type: `${TOKEN_TYPE}access_token`,
          subject_token: jwt,
          subject_token_type: `${TOKEN_TYPE}jwt`,
        },
        {},
      );
      const reply = replyOf(METHODS.token, called);
      if (reply.access_token !== '') return reply;
      throw new CallError({ kind: 'denied', code: 'no token', credentials: true });
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      const { kind, code } = error.meaning;
      if (kind === 'denied' || kind === 'refused') throw new CallError({ kind: 'denied', code, credentials: true });
      throw new CallError({ kind: 'unsent', code: `token: ${code}` });
    }
  }
}

/** A short-lived JWT of the service account, for the exchange alone. */
function signed(text: string, now: number): string {
  const { 'private-key': key, kid, iss, sub } = CREDENTIALS.parse(JSON.parse(text))['subject-credentials'];
  const iat = Math.floor(now / 1000);
  const claims = { iss, sub, aud: [AUDIENCE], iat, exp: iat + JWT_SECONDS };
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${part({ alg: 'RS256', typ: 'JWT', kid })}.${part(claims)}`;
  return `${body}.${createSign('RSA-SHA256').update(body).sign(key, 'base64url')}`;
}

function replyOf<Reply extends Message>(method: Method<Message, Reply>, called: Called): Decoded<Reply> {
  if (called.kind !== 'answered') throw new CallError({ kind: called.kind, code: called.detail });
  const { status, message } = called;
  if (status !== 0 || message === null) throw new CallError(meaningOf(called));
  try {
    return decode(method.reply, message);
  } catch {
    throw new CallError({ kind: 'lost', code: 'an answer that is not the documented message' });
  }
}

/** gRPC's codes by their numbers. */
const CODES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const;

function meaningOf({ status, detail, details }: Extract<Called, { kind: 'answered' }>): Meaning {
  const word = CODES[status] ?? `status ${status}`;
  const own = serviceErrors(details);
  const code = own.find((one) => one.code !== '')?.code ?? word;
  const refusal: Meaning = { kind: 'refused', code, detail: scrubbed(detail, []) };
  switch (word) {
    case 'PERMISSION_DENIED':
      return { kind: 'denied', code, credentials: false };
    case 'UNAUTHENTICATED':
      return { kind: 'denied', code, credentials: true };
    case 'NOT_FOUND':
      return { ...refusal, code: NOT_FOUND };
    case 'RESOURCE_EXHAUSTED':
      // A quota does not pass by itself; a shortage of GPUs and too many requests do.
      if (own.some(({ quota_failure }) => quota_failure)) return refusal;
      return { kind: own.some(({ not_enough_resources }) => not_enough_resources) ? 'full' : 'throttled', code };
    case 'INVALID_ARGUMENT':
    case 'ALREADY_EXISTS':
    case 'FAILED_PRECONDITION':
    case 'ABORTED':
    case 'OUT_OF_RANGE':
    case 'UNIMPLEMENTED':
      return refusal;
    default:
      return { kind: 'lost', code };
  }
}

const SERVICE_ERROR_URL = new RegExp(`/${SERVICE_ERROR.name.replaceAll('.', '\\.')}$`);

function serviceErrors(details: Uint8Array | null): Decoded<typeof SERVICE_ERROR>[] {
  if (details === null) return [];
  try {
    return decode(RPC_STATUS, details)
      .details.filter(({ type_url }) => SERVICE_ERROR_URL.test(type_url))
      .map(({ value }) => decode(SERVICE_ERROR, value));
  } catch {
    return [];
  }
}
