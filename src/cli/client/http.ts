/**
 * Requests by HTTP. It never shows the key, and never follows a redirect: the key goes only to the address that the
 * environment names. Every wait has a bound; the bound for sending a file is long, because a large import takes long.
 */
import { randomUUID } from 'node:crypto';
import { request as requestHttp, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { invalid, missing, unavailable, type Failure } from '../../core/errors.js';
import type { Answered, Asked, Transport } from './transport.js';
import { HOUR_MS } from '../../core/time.js';

/** So long nothing is heard of a request, and of one that sends a file. */
const SILENCE_MILLISECONDS = 300_000;
const IMPORT_SILENCE_MILLISECONDS = HOUR_MS;

export class HttpTransport implements Transport {
  readonly name: string;
  readonly hasLog = true;
  private readonly base: URL;
  private readonly authorization: string;

  /** @param within so many milliseconds an answer has to be whole; null: as long as something is heard of it */
  constructor(
    { url, apiKey }: { readonly url: string; readonly apiKey: string },
    private readonly within: number | null = null,
  ) {
    this.base = new URL(url.endsWith('/') ? url : `${url}/`);
    this.name = this.base.host;
    // Never shown: it may be a secret with one wrong character.
    if (!/^[\x21-\x7e]*$/.test(apiKey))
      throw invalid('BURSAR_API_KEY holds a character that no key has: a space, a line break, or one outside ASCII');
    this.authorization = `Bearer ${apiKey}`;
  }

  async ask(asked: Asked): Promise<Answered> {
    const response = await this.send(asked);
    const body = await text(response).catch((cause: unknown) => {
      throw this.unreachable(cause);
    });
    return { status: response.statusCode ?? 0, text: body };
  }

  private send({ method, path, json, stream, isOpen }: Asked): Promise<IncomingMessage> {
    const url = new URL(path.replace(/^\//, ''), this.base);
    const body = json === undefined ? null : Buffer.from(JSON.stringify(json));
    const headers: OutgoingHttpHeaders = {
      ...(isOpen === true ? {} : { authorization: this.authorization }),
      accept: 'application/json',
      ...(method === 'GET' ? {} : { 'idempotency-key': randomUUID() }),
      ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
      ...(stream === undefined ? {} : { 'content-type': 'application/octet-stream' }),
    };
    const signal = this.within === null ? {} : { signal: AbortSignal.timeout(this.within) };
    return new Promise((resolve, reject) => {
      const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, { method, headers, ...signal });
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
      else {
        stream.once('error', (cause) => reject(missing(`the file cannot be read: ${cause.message}`)));
        pipeline(stream, request).catch(failed);
      }
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
