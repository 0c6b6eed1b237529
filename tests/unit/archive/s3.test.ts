/** S3's protocol: signatures as Amazon's reference works them out, and a store that answers or does not. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { archivePlace } from '../../../src/archive/place.js';
import { signed } from '../../../src/archive/s3.js';

/** The examples of Amazon S3's API reference, "Signature Calculations for the Authorization Header". */
const EXAMPLE = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
};
const AT = Date.UTC(2013, 4, 24);
const signatureOf = (headers: Record<string, string>): string | undefined =>
  /Signature=(\w+)$/.exec(headers['authorization'] ?? '')?.[1];

describe('a signature', () => {
  it('of a GET is that of the example', () => {
    const url = new URL('https://examplebucket.s3.amazonaws.com/test.txt');
    const headers = signed('GET', url, { range: 'bytes=0-9' }, new Uint8Array(), EXAMPLE, AT);
    expect(signatureOf(headers)).toBe('f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41');
  });

  it('of a PUT is that of the example', () => {
    const url = new URL('https://examplebucket.s3.amazonaws.com/test%24file.text');
    const given = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
    const headers = signed('PUT', url, given, Buffer.from('Welcome to Amazon S3.'), EXAMPLE, AT);
    expect(signatureOf(headers)).toBe('98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd');
  });
});

describe('a store', () => {
  const objects = new Map<string, Buffer>();
  let server: Server;
  let endpoint = '';
  let trouble = 0;
  let isCut = false;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const url = new URL(request.url ?? '', endpoint);
        const headers = signed(request.method ?? '', url, {}, body, EXAMPLE, AT);
        if (headers['authorization'] !== request.headers.authorization) return response.writeHead(403).end('unsigned');
        if (trouble > 0) return response.writeHead(trouble).end('<Code>SlowDown</Code>');
        if (request.method === 'PUT') objects.set(url.pathname, body);
        if (isCut) return response.writeHead(200, { 'content-length': '100' }).write('half', () => response.destroy());
        const found = objects.get(url.pathname);
        return response.writeHead(found === undefined ? 404 : 200).end(request.method === 'PUT' ? '' : found);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  const place = (over: { secretAccessKey?: string } = {}) =>
    archivePlace({ ...EXAMPLE, ...over, place: 's3://bucket/some/where/', endpoint }, { now: () => AT });

  it('gives back what it took, by keys of any letters', async () => {
    const key = "month=2025-03/source=a%2Fb (c)'é/1-0.parquet";
    await place().write(key, Buffer.from([1, 2, 3]));
    expect([...objects.keys()]).toEqual([
      '/bucket/some/where/month%3D2025-03/source%3Da%252Fb%20%28c%29%27%C3%A9/1-0.parquet',
    ]);
    expect([...(await place().read(key))]).toEqual([1, 2, 3]);
  });

  it('says what does not exist, what is refused, and who does not answer', async () => {
    await expect(place().read('nothing')).rejects.toMatchObject({ kind: 'missing' });
    await expect(place({ secretAccessKey: 'wrong' }).write('key', new Uint8Array())).rejects.toThrow('403 unsigned');
    isCut = true;
    for (const asked of [place().read('key'), place().write('key', new Uint8Array())])
      await expect(asked).rejects.toMatchObject({ kind: 'unavailable' });
    isCut = false;
    trouble = 503;
    await expect(place().read('key')).rejects.toMatchObject({ kind: 'unavailable' });
    const away = archivePlace({ ...EXAMPLE, place: 's3://bucket', endpoint: 'http://127.0.0.1:1' }, { now: () => AT });
    await expect(away.read('key')).rejects.toThrow('s3://bucket gives no complete answer');
  });

  it('is named by its settings, all of which are missed at once', () => {
    const settings = { endpoint: null, region: 'us-east-1', accessKeyId: null, secretAccessKey: null };
    const clock = { now: () => AT };
    expect(() => archivePlace({ ...settings, place: 's3://bucket' }, clock)).toThrow(
      'BURSAR_ARCHIVE_ACCESS_KEY_ID is missing; BURSAR_ARCHIVE_SECRET_ACCESS_KEY is missing',
    );
    expect(() => archivePlace({ ...settings, place: 'gs://bucket' }, clock)).toThrow('neither a folder nor s3://');
    expect(archivePlace({ ...settings, place: '/var/archive' }, clock).name).toBe('/var/archive');
  });
});
