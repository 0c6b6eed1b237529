/**
 * A server on 127.0.0.1 that plays an RPC cloud: replies by action, after checking the signature with secrets that it
 * knows.
 *
 * It takes the signed requests of Alibaba Cloud (RPC style, signature method V2, HMAC-SHA1) and of Tencent Cloud
 * (TC3-HMAC-SHA256), keeps every request as it came, and can throttle, deny, refuse, stay silent, or drop the
 * connection after having taken a request. It never guesses: an action that nobody told it about is answered as an
 * unknown one.
 */
import { createHash, createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { ROOT } from './source.js';

/** A request as it came. */
export interface Taken {
  readonly action: string;
  /** Parameters of Alibaba Cloud without those of the protocol; the JSON body of Tencent Cloud. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Access key or secret id that it was signed with. */
  readonly key: string;
  readonly version: string;
  /** The host that the request names. */
  readonly host: string;
  /** Tencent Cloud only: the region and the service of the request. */
  readonly region: string | null;
  readonly service: string | null;
}

/** What is played: a reply with a status, or none at all. */
export type Play = { readonly status?: number; readonly body: unknown } | 'drop' | 'silence';
export type Script = Play | ((request: Taken) => Play);

export interface RpcServer {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** Requests whose signature was right, in order. */
  readonly taken: Taken[];
  /** Requests whose signature was wrong. */
  readonly forged: Taken[];
  /** Sets what an action is answered with from now on. */
  play(action: string, script: Script): void;
  /** Requests for an action. */
  of(action: string): Taken[];
  close(): Promise<void>;
}

type Secrets = Readonly<Record<string, string>>;
type Dialect = 'alibaba' | 'tencent';

export async function rpcServer(dialect: Dialect, secrets: Secrets): Promise<RpcServer> {
  const scripts = new Map<string, Script>();
  const taken: Taken[] = [];
  const forged: Taken[] = [];
  const take = async (request: IncomingMessage): Promise<Play> => {
    const body = await bodyOf(request);
    const { call, signed } =
      dialect === 'alibaba' ? alibabaCall(request, body, secrets) : tencentCall(request, body, secrets);
    (signed ? taken : forged).push(call);
    if (!signed)
      return errorReply(
        dialect,
        dialect === 'alibaba' ? 'SignatureDoesNotMatch' : 'AuthFailure.SignatureFailure',
        'the signature is wrong',
      );
    const script =
      scripts.get(call.action) ?? errorReply(dialect, 'UnsupportedOperation', `nobody plays ${call.action}`);
    return typeof script === 'function' ? script(call) : script;
  };
  const server = http.createServer(async (request, response) => answer(response, await take(request)));
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken,
    forged,
    play: (action, script) => void scripts.set(action, script),
    of: (action) => taken.filter((call) => call.action === action),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function answer(response: ServerResponse, play: Play): void {
  if (play === 'silence') return;
  if (play === 'drop') {
    response.socket?.destroy();
    return;
  }
  const text = typeof play.body === 'string' ? play.body : JSON.stringify(play.body);
  response.writeHead(play.status ?? 200, { 'content-type': 'application/json' }).end(text);
}

/** An error as the cloud states it: Alibaba Cloud with an HTTP status, Tencent Cloud within a reply of status 200. */
export function errorReply(dialect: Dialect, code: string, message: string, status = 400): Play {
  if (dialect === 'tencent')
    return { body: { Response: { Error: { Code: code, Message: message }, RequestId: 'req-error' } } };
  return { status, body: { RequestId: 'req-error', HostId: 'ecs.test', Code: code, Message: message } };
}

/** A hand-written reply beside a provider; each names the page that it follows. */
export function reply<T = Record<string, unknown>>(provider: string, name: string): T {
  const file = JSON.parse(
    readFileSync(path.join(ROOT, 'src/providers', provider, 'replies', `${name}.json`), 'utf8'),
  ) as { follows?: unknown; reply: T };
  if (typeof file.follows !== 'string' || !file.follows.startsWith('Hand-written after '))
    throw new Error(`${provider}/replies/${name}.json does not say what it follows`);
  return file.reply;
}

const PROTOCOL = new Set([
  'Action',
  'Version',
  'Format',
  'Timestamp',
  'AccessKeyId',
  'SignatureMethod',
  'SignatureVersion',
  'SignatureNonce',
  'Signature',
]);

/** RFC 3986, as the signature wants it. */
const percent = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** Signature method V2 of RPC APIs: HMAC-SHA1 over method, `/` and the sorted query. */
function alibabaCall(request: IncomingMessage, body: string, secrets: Secrets): { call: Taken; signed: boolean } {
  const form = Object.fromEntries(new URLSearchParams(body));
  const query = Object.keys(form)
    .filter((name) => name !== 'Signature')
    .sort()
    .map((name) => `${percent(name)}=${percent(form[name] ?? '')}`)
    .join('&');
  const key = form['AccessKeyId'] ?? '';
  const expected = createHmac('sha1', `${secrets[key] ?? ''}&`)
    .update(`${request.method ?? ''}&${percent('/')}&${percent(query)}`)
    .digest('base64');
  const params = Object.fromEntries(Object.entries(form).filter(([name]) => !PROTOCOL.has(name)));
  const call = {
    action: form['Action'] ?? '',
    params,
    key,
    version: form['Version'] ?? '',
    host: request.headers.host ?? '',
    region: null,
    service: null,
  };
  return { call, signed: key in secrets && expected === form['Signature'] };
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac256 = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** TC3-HMAC-SHA256 over the content type, the host and the body. */
function tencentCall(request: IncomingMessage, body: string, secrets: Secrets): { call: Taken; signed: boolean } {
  const header = (name: string): string => String(request.headers[name] ?? '');
  const [, key = '', date = '', service = '', stated = ''] =
    /^TC3-HMAC-SHA256 Credential=([^/]+)\/([\d-]+)\/(\w+)\/tc3_request, SignedHeaders=content-type;host, Signature=(\w+)$/.exec(
      header('authorization'),
    ) ?? [];
  const canonical = [
    'POST',
    '/',
    '',
    `content-type:${header('content-type')}`,
    `host:${header('host')}`,
    '',
    'content-type;host',
    sha256(body),
  ].join('\n');
  const text = ['TC3-HMAC-SHA256', header('x-tc-timestamp'), `${date}/${service}/tc3_request`, sha256(canonical)].join(
    '\n',
  );
  const signing = hmac256(hmac256(hmac256(`TC3${secrets[key] ?? ''}`, date), service), 'tc3_request');
  const call = {
    action: header('x-tc-action'),
    params: JSON.parse(body === '' ? '{}' : body) as Record<string, unknown>,
    key,
    version: header('x-tc-version'),
    host: header('host'),
    region: header('x-tc-region') === '' ? null : header('x-tc-region'),
    service,
  };
  return {
    call,
    signed:
      key in secrets && header('host').startsWith(`${service}.`) && hmac256(signing, text).toString('hex') === stated,
  };
}
