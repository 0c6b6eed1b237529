/**
 * Nebius on this machine: gRPC over HTTP/2 without TLS, which writes and reads messages by protobufjs after Nebius' own
 * protocol buffers, gives out tokens for signed claims, and keeps a small state.
 *
 * It never guesses: a method that nobody plays is unimplemented; bytes that protobufjs finds a field in that the
 * protocol buffers do not have are a problem.
 */
import { generateKeyPairSync, verify } from 'node:crypto';
import http2, { type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import protobuf from 'protobufjs';
import { framed } from '../../src/providers/nebius/grpc.js';
import { PROTO } from './nebius-proto.js';

type Json = Readonly<Record<string, unknown>>;
/** An answer, or a status with the words and the details of a failure. */
export type Played =
  | { readonly reply: Json }
  | { readonly status: number; readonly words?: string; readonly error?: Json }
  | 'drop'
  | 'nonsense';
export type Handlers = Readonly<Record<string, (request: Json, token: string) => Played>>;

export interface Asked {
  readonly method: string;
  readonly request: Json;
  readonly use: string;
  readonly idempotencyKey: string | null;
}

const keys = {
  read: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  act: generateKeyPairSync('rsa', { modulusLength: 2048 }),
};
/** A credentials file as Nebius' tools write it. */
export const credentials = (use: keyof typeof keys): string =>
  JSON.stringify({
    'subject-credentials': {
      alg: 'RS256',
      'private-key': keys[use].privateKey.export({ type: 'pkcs8', format: 'pem' }),
      kid: `publickey-${use}`,
      iss: `serviceaccount-${use}`,
      sub: `serviceaccount-${use}`,
    },
  });

const EXCHANGE = 'nebius.iam.v1.TokenExchangeService/Exchange';
const ACTS = /\/(?:Start|Stop|Delete)$/;

export class NebiusServer {
  readonly asked: Asked[] = [];
  readonly problems: string[] = [];
  changes = 0;
  /** Tokens that were given out. */
  tokens = 0;
  private readonly scripts = new Map<string, Played[]>();
  private losing: 'answer' | 'request' | null = null;
  private readonly sessions = new Set<http2.ServerHttp2Session>();
  private readonly server = http2.createServer();

  private constructor(
    private readonly handlers: Handlers,
    private readonly now: () => number,
  ) {
    this.server.on('session', (session) => {
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session));
    });
    this.server.on('stream', (stream, headers) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', () => undefined);
      stream.on('end', () => this.take(stream, headers, Buffer.concat(chunks)));
    });
  }

  static async start(handlers: Handlers, now: () => number): Promise<NebiusServer> {
    const one = new NebiusServer(handlers, now);
    await new Promise<void>((resolve) => one.server.listen(0, '127.0.0.1', resolve));
    return one;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const session of this.sessions) session.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  script(method: string, ...answers: Played[]): void {
    this.scripts.set(method, [...(this.scripts.get(method) ?? []), ...answers]);
  }

  /** The next request that acts breaks off. @param arrives whether it takes hold all the same */
  loseNextAnswer(arrives: boolean): void {
    this.losing = arrives ? 'answer' : 'request';
  }

  of(method: string): Asked[] {
    return this.asked.filter((one) => one.method === method);
  }

  private take(stream: ServerHttp2Stream, headers: http2.IncomingHttpHeaders, body: Buffer): void {
    const method = (headers[':path'] ?? '').slice(1);
    const [service = '', name = ''] = method.split('/');
    const found = PROTO.lookup(service);
    const described = found instanceof protobuf.Service ? found.methods[name] : undefined;
    described?.resolve();
    const { resolvedRequestType: asks, resolvedResponseType: gives } = described ?? {};
    if (!asks || !gives) {
      this.problems.push(`${method} is no method`);
      return this.end(stream, null, { status: 12 });
    }
    if (headers['content-type'] !== 'application/grpc+proto' || headers['te'] !== 'trailers')
      this.problems.push(`${method} has the headers of no gRPC`);
    const request = this.read(asks, body.subarray(5));
    if (method === EXCHANGE) return this.end(stream, gives, this.scripted(method) ?? this.exchange(request));
    this.end(stream, gives, this.answer(method, request, headers));
  }

  private read(type: protobuf.Type, bytes: Uint8Array): Json {
    const message = type.decode(bytes);
    const again = type.encode(message).finish();
    if (again.length !== bytes.length) this.problems.push(`${type.name}: bytes that it does not have`);
    return type.toObject(message, { longs: Number, enums: String, bytes: Buffer }) as Json;
  }

  private scripted(method: string): Played | undefined {
    return this.scripts.get(method)?.shift();
  }

  private answer(method: string, request: Json, headers: http2.IncomingHttpHeaders): Played {
    const use = /^Bearer token-(\w+)-\d+$/.exec(headers.authorization ?? '')?.[1] ?? '';
    const key = headers['x-idempotency-key'];
    this.asked.push({ method, request, use, idempotencyKey: typeof key === 'string' ? key : null });
    const scripted = this.scripted(method);
    if (scripted !== undefined) return scripted;
    if (use === '') return { status: 16, words: 'unauthenticated' };
    const acts = ACTS.test(method);
    if (acts !== (use === 'act')) this.problems.push(`${method} came with the token for ${use}`);
    const losing = acts ? this.losing : null;
    if (losing !== null) this.losing = null;
    if (losing === 'request') return 'drop';
    const played = this.handlers[method]?.(request, String(key ?? '')) ?? { status: 12, words: 'unimplemented' };
    if (acts && typeof played === 'object' && 'reply' in played) this.changes += 1;
    return losing === 'answer' ? 'drop' : played;
  }

  /** RFC 8693: a token for claims that the account's key has signed and that have not expired. */
  private exchange(request: Json): Played {
    const [head = '', claims = '', signature = ''] = String(request['subject_token']).split('.');
    const part = (text: string): Json => JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as Json;
    const use = String(part(head)['kid']).replace('publickey-', '') as keyof typeof keys;
    const { exp, iss, sub } = part(claims);
    const isSigned =
      keys[use] !== undefined &&
      verify('RSA-SHA256', Buffer.from(`${head}.${claims}`), keys[use].publicKey, Buffer.from(signature, 'base64url'));
    const seconds = this.now() / 1000;
    const isRight =
      isSigned &&
      iss === `serviceaccount-${use}` &&
      sub === iss &&
      Number(exp) > seconds &&
      Number(exp) <= seconds + 600 &&
      request['grant_type'] === 'urn:ietf:params:oauth:grant-type:token-exchange' &&
      request['subject_token_type'] === 'urn:ietf:params:oauth:token-type:jwt';
    if (!isRight) return { status: 16, words: 'the claims are wrong' };
    this.tokens += 1;
    return { reply: { access_token: `token-${use}-${this.tokens}`, token_type: 'Bearer', expires_in: 3600 } };
  }

  private end(stream: ServerHttp2Stream, gives: protobuf.Type | null, played: Played): void {
    if (played === 'drop') return void stream.session?.destroy();
    if (played === 'nonsense') {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      return void stream.end(framed(Buffer.from([0x0a, 0xff, 0xff])));
    }
    if ('status' in played) {
      const details =
        played.error === undefined ? {} : { 'grpc-status-details-bin': detailsOf(played).toString('base64') };
      const words = encodeURIComponent(played.words ?? '');
      stream.respond(
        {
          ':status': 200,
          'content-type': 'application/grpc',
          'grpc-status': String(played.status),
          'grpc-message': words,
          ...details,
        },
        { endStream: true },
      );
      return;
    }
    if (gives !== null) this.problems.push(...strange(gives, played.reply));
    const bytes = gives === null ? new Uint8Array() : gives.encode(gives.fromObject(played.reply)).finish();
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(framed(bytes));
  }
}

/** Fields of an answer that its message does not have: protobufjs would leave them out. */
function strange(type: protobuf.Type, value: Json): string[] {
  return Object.entries(value).flatMap(([name, inside]) => {
    const field = type.fields[name];
    if (field === undefined) return [`${type.name}: the answer has ${name}`];
    const within = field.resolve().resolvedType;
    if (!(within instanceof protobuf.Type) || field instanceof protobuf.MapField) return [];
    return [inside].flat().flatMap((one) => strange(within, one as Json));
  });
}

/** google.rpc.Status with a ServiceError within. */
function detailsOf({ status, words = '', error = {} }: { status: number; words?: string; error?: Json }): Buffer {
  const service = PROTO.lookupType('nebius.common.v1.ServiceError');
  const rpc = PROTO.lookupType('google.rpc.Status');
  const any = {
    type_url: 'type.googleapis.com/nebius.common.v1.ServiceError',
    value: service.encode(service.fromObject(error)).finish(),
  };
  return Buffer.from(rpc.encode(rpc.fromObject({ code: status, message: words, details: [any] })).finish());
}
