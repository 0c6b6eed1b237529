/**
 * An archive in a bucket of an S3-compatible object store (AWS, Alibaba OSS, Tencent COS, MinIO, Ceph). Requests are
 * signed as described in "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" of Amazon
 * S3's API reference, with the digest of the body; the bucket is part of the path.
 */
import { createHash, createHmac } from 'node:crypto';
import type { ArchivePlace } from '../core/archive.js';
import { missing, unavailable } from '../core/errors.js';
import type { Clock } from '../core/time.js';

export interface S3Settings {
  /** `https://s3.eu-central-1.amazonaws.com`; without a path. */
  readonly endpoint: string;
  readonly region: string;
  readonly bucket: string;
  /** Before every key; empty or without slashes at its ends. */
  readonly prefix: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const PATIENCE_MS = 300_000;
const MOST_WORDS = 300;

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const mac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** As S3 counts it: everything but RFC 3986's unreserved characters, and a key's slashes. */
const encoded = (key: string): string =>
  encodeURIComponent(key)
    .replaceAll('%2F', '/')
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** The headers of a request, with its signature. @param at epoch milliseconds; `url`'s path is encoded already */
export function signed(
  method: string,
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: Uint8Array,
  { accessKeyId, secretAccessKey, region }: Pick<S3Settings, 'accessKeyId' | 'secretAccessKey' | 'region'>,
  at: number,
): Record<string, string> {
  const stamp = new Date(at).toISOString().replace(/[-:]|\.\d{3}/g, '');
  const day = stamp.slice(0, 8);
  const all: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': sha256(body),
    'x-amz-date': stamp,
  };
  const names = Object.keys(all).sort();
  const canonical = [
    method,
    url.pathname,
    url.search.slice(1),
    ...names.map((name) => `${name}:${all[name]}`),
    '',
    names.join(';'),
    all['x-amz-content-sha256'],
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const toSign = ['AWS4-HMAC-SHA256', stamp, scope, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(mac, `AWS4${secretAccessKey}`);
  const signature = mac(key as Buffer, toSign).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope},SignedHeaders=${names.join(';')},Signature=${signature}`;
  return { ...all, authorization };
}

export function s3Place(settings: S3Settings, clock: Clock): ArchivePlace {
  const { endpoint, bucket, prefix } = settings;
  const name = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
  const ask = async (method: 'GET' | 'PUT', key: string, body: Uint8Array): Promise<Uint8Array> => {
    const whole = prefix === '' ? key : `${prefix}/${key}`;
    const url = new URL(`${endpoint}/${encoded(`${bucket}/${whole}`)}`);
    const { host: _host, ...headers } = signed(method, url, {}, body, settings, clock.now());
    let response: Response;
    let answered: Uint8Array;
    try {
      response = await fetch(url, {
        method,
        headers,
        signal: AbortSignal.timeout(PATIENCE_MS),
        redirect: 'error',
        ...(method === 'PUT' ? { body: Buffer.from(body) } : {}),
      });
      answered = new Uint8Array(await response.arrayBuffer());
    } catch (cause) {
      throw unavailable(
        `${name} gives no complete answer: ${cause instanceof Error ? cause.message : 'no reason given'}`,
        cause,
      );
    }
    if (response.ok) return answered;
    const words = Buffer.from(answered).toString('utf8').slice(0, MOST_WORDS);
    if (response.status === 404 && method === 'GET') throw missing(`${name}/${key} does not exist: ${words}`);
    throw unavailable(
      `${name} refuses to ${method === 'PUT' ? 'store' : 'return'} ${key}: ${response.status} ${words}`,
    );
  };
  return {
    name,
    async write(key, bytes) {
      await ask('PUT', key, bytes);
    },
    read: (key) => ask('GET', key, new Uint8Array()),
  };
}
