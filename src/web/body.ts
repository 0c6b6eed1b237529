/**
 * Reads request bodies: JSON and JSON lines into values, plain or gzip, within a limit that holds for the unpacked
 * bytes.
 *
 * An upload is never read here, and never held in memory: its route gets the stream. No body is parsed twice.
 */
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Transform, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { invalid, unavailable } from '../core/errors.js';
import type { RouteFacts } from './endpoint.js';
import { Refusal } from './problem.js';

const JSON_MEDIA = /^application\/(?:[\w.-]+\+)?json$/;
export const LINES_MEDIA = 'application/x-ndjson';
/** Uploads lie in the system's temporary folder while they are read. */
export const MOST_UPLOAD_BYTES = 32 * 2 ** 30;

/** The media type without its parameters, in lower case; null where none is given. */
const mediaOf = (request: FastifyRequest): string | null =>
  request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? null;

/** The parsed body of a request; for an upload the stream itself. */
export async function readBody(request: FastifyRequest, payload: IncomingMessage, facts: RouteFacts): Promise<unknown> {
  if (facts.takes === 'upload') return payload;
  if (facts.takes === 'bytes') return readBytes(request, payload, facts.mostBodyBytes);
  const media = mediaOf(request);
  const lines = media === LINES_MEDIA;
  if (media !== null && (lines ? !facts.takes.includes(LINES_MEDIA) : !JSON_MEDIA.test(media))) {
    throw new Refusal(
      415,
      `the media type ${media.slice(0, 100)} is not taken here: ${['application/json', ...facts.takes].join(', ')}`,
    );
  }
  const bytes = await readBytes(request, payload, facts.mostBodyBytes);
  if (request.headers['idempotency-key'] !== undefined)
    request.bodyDigest = createHash('sha256').update(bytes).digest();
  if (bytes.length === 0) return undefined;
  return lines ? parseLines(bytes) : parseJson(bytes);
}

async function readBytes(request: FastifyRequest, payload: Readable, most: number): Promise<Buffer> {
  const stated = Number(request.headers['content-length'] ?? 0);
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && encoding !== 'gzip')
    throw new Refusal(415, `the content encoding ${encoding.slice(0, 100)} is not taken: gzip is`);
  const tooLarge = (): Refusal => {
    // What is still on its way is let go, so that the sender gets to read the answer.
    payload.resume();
    return new Refusal(413, `the body is longer than ${most} bytes`);
  };
  if (stated > most) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  const collect = async (stream: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > most) throw tooLarge();
      chunks.push(chunk);
    }
  };
  if (encoding === 'identity') await collect(payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>);
  else await gunzipped(payload, collect);
  return chunks.length === 1 ? (chunks[0] ?? Buffer.alloc(0)) : Buffer.concat(chunks, size);
}

async function gunzipped(payload: Readable, collect: (stream: AsyncIterable<Buffer>) => Promise<void>): Promise<void> {
  const gunzip = createGunzip({ chunkSize: 1 << 18 });
  payload.on('error', (error) => gunzip.destroy(error));
  payload.pipe(gunzip);
  try {
    await collect(gunzip as AsyncIterable<Buffer>);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    payload.resume();
    throw invalid('the gzip data of the body cannot be read');
  } finally {
    payload.unpipe(gunzip);
    gunzip.destroy();
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (error) {
    throw invalid('the body is not JSON', [
      { path: null, message: error instanceof Error ? error.message.slice(0, 300) : 'is not JSON' },
    ]);
  }
}

/** One value per line that is not blank. A line that is not JSON stays a text, which no reader takes for a record. */
function parseLines(bytes: Buffer): unknown[] {
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      try {
        return JSON.parse(line) as unknown;
      } catch {
        return line;
      }
    });
}

function uploadError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE') return invalid('the upload was cut short');
  return code === 'ENOSPC' ? unavailable('the temporary folder is full', error) : error;
}

export interface UploadedFile {
  readonly path: string;
  readonly digest: Buffer;
}

/**
 * Hands an upload to `use` as a temporary file of the given name, which is gone afterwards. The bytes are as they came.
 */
export async function withUpload<T>(
  stream: Readable,
  name: string,
  use: (file: UploadedFile) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'bursar-upload-'));
  try {
    const path = join(folder, basename(name));
    const digest = createHash('sha256');
    let size = 0;
    const measure = new Transform({
      transform(chunk: Buffer, _, done) {
        size += chunk.length;
        digest.update(chunk);
        done(
          size > MOST_UPLOAD_BYTES ? new Refusal(413, `the file is longer than ${MOST_UPLOAD_BYTES} bytes`) : null,
          chunk,
        );
      },
    });
    await pipeline(stream, measure, createWriteStream(path, { mode: 0o600 })).catch((error: unknown) => {
      throw uploadError(error);
    });
    if (size === 0) throw invalid('the body is empty: send the file as the body');
    return await use({ path, digest: digest.digest() });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
