/**
 * Reads request bodies: JSON and JSON lines into values, plain or gzip. Limits of bytes, depth and number of values
 * apply to the unpacked body.
 *
 * An upload is never read here, and never held in memory: its route gets the chunks as they come. No body is parsed
 * twice.
 */
import type { FastifyRequest } from 'fastify';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Failure, invalid, unavailable } from '../core/errors.js';
import { temporaryPrefix } from '../core/leftovers.js';
import { measured, MOST_DEPTH } from '../core/json-size.js';
import { arriving } from './arriving.js';
import type { RouteFacts } from './endpoint.js';
import { isSuspect, mostValues, parseBounded, textProblems } from './json.js';
import { Refusal } from './problem.js';
import { settingsOf } from './read-back.js';

const JSON_MEDIA = /^application\/(?:[\w.-]+\+)?json$/;
export const LINES_MEDIA = 'application/x-ndjson';
/** Uploads lie in the system's temporary folder while they are read. */
const MOST_UPLOAD_BYTES = 32 * 2 ** 30;
/** JSON of records packs to between a tenth and a thirtieth; gzip itself reaches 1032. */
const MOST_UNPACKING_RATIO = 200;
const FREELY_UNPACKED_BYTES = 1 << 20;

/** The parsed body of a request; the chunks of an upload. An unknown caller may send little, and nothing packed. */
export async function readBody(request: FastifyRequest, payload: IncomingMessage, facts: RouteFacts): Promise<unknown> {
  const { gate } = request.server;
  const isKnown = request.principal !== null;
  const over = gate.body(request.principal, request.ip);
  payload.once('close', over);
  const chunks = arriving(payload, { windowSeconds: gate.limits.slowBodySeconds, isOneWindow: !isKnown });
  // The route reads it until the request ends.
  if (facts.takes === 'upload') return chunks;
  try {
    const most =
      isKnown || request.mayBeWhole ? facts.mostBodyBytes : Math.min(facts.mostUnknownBytes, facts.mostBodyBytes);
    if (facts.takes !== 'bytes') checkMedia(request, facts);
    const bytes = await readBytes(request, chunks, { most, isPackedTaken: isKnown });
    return facts.takes === 'bytes' ? bytes : valueOf(request, bytes, facts);
  } finally {
    over();
  }
}

/** The media type without its parameters, in lower case; null where none is given. */
const mediaOf = (request: FastifyRequest): string | null =>
  request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? null;

function checkMedia(request: FastifyRequest, { takes }: RouteFacts): void {
  const media = mediaOf(request);
  if (media === null || (media === LINES_MEDIA ? takes.includes(LINES_MEDIA) : JSON_MEDIA.test(media))) return;
  throw new Refusal(
    415,
    `the media type ${media.slice(0, 100)} is not accepted here: ${['application/json', ...takes].join(', ')}`,
  );
}

/**
 * A body that its handler parses when its turn comes: waiting bodies are bytes, and not the many objects made of them.
 */
export class LateBody {
  constructor(private readonly parsed: () => unknown) {}

  /** @throws Failure invalid where it cannot be parsed, is too deep or has too many values */
  value(): unknown {
    return this.parsed();
  }
}

function valueOf(request: FastifyRequest, bytes: Buffer, facts: RouteFacts): unknown {
  if (request.headers['idempotency-key'] !== undefined)
    request.bodyDigest = createHash('sha256').update(bytes).digest();
  if (bytes.length === 0) return undefined;
  const isLines = mediaOf(request) === LINES_MEDIA;
  const settings = (value: unknown): unknown =>
    facts.readBack === null
      ? value
      : settingsOf(facts.readBack, value, { ...(request.query as object), ...(request.params as object) });
  const parsed = (): unknown => {
    const most = mostValues(facts.mostBodyBytes);
    return isLines ? parseLines(bytes, most) : settings(checkedValue(bytes, most, facts));
  };
  return facts.isParsedLate ? new LateBody(parsed) : parsed();
}

function checkedValue(bytes: Buffer, most: number, { anyText }: RouteFacts): unknown {
  const value = parseBounded(bytes, most);
  if (anyText === 'all' || !isSuspect(bytes)) return value;
  const problems = textProblems(value).filter(
    ({ path }) => path === null || !anyText.includes(path.split('/', 1)[0] ?? ''),
  );
  if (problems.length > 0) throw invalid(`the request has ${problems.length} problem(s)`, problems);
  return value;
}

interface Reading {
  /** Unpacked bytes. */
  readonly most: number;
  readonly isPackedTaken: boolean;
}

async function readBytes(
  request: FastifyRequest,
  chunks: AsyncIterable<Buffer>,
  { most, isPackedTaken }: Reading,
): Promise<Buffer> {
  const stated = Number(request.headers['content-length'] ?? 0);
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity';
  if (encoding !== 'identity' && (encoding !== 'gzip' || !isPackedTaken))
    throw new Refusal(
      415,
      isPackedTaken
        ? `the content encoding ${encoding.slice(0, 100)} is not accepted, only gzip is`
        : 'a compressed body needs a valid key',
    );
  const tooLarge = (): Refusal => new Refusal(413, `the body is longer than ${most} bytes`);
  if (stated > most) throw tooLarge();
  const parts: Buffer[] = [];
  let size = 0;
  const collect = async (stream: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > most) throw tooLarge();
      parts.push(chunk);
    }
  };
  if (encoding === 'identity') await collect(chunks);
  else await collect(gunzipped(chunks));
  return parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts, size);
}

/**
 * The unpacked bytes.
 * @throws Failure invalid where they are no gzip, Refusal 413 where they unpack to more than any batch of records does
 */
async function* gunzipped(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  const gunzip = createGunzip({ chunkSize: 1 << 18 });
  let [packed, unpacked] = [0, 0];
  const count = async function* (): AsyncGenerator<Buffer, void, undefined> {
    for await (const chunk of chunks) {
      packed += chunk.length;
      yield chunk;
    }
  };
  const fed = pipeline(count, gunzip);
  // The loop below throws the same error.
  fed.catch(() => undefined);
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      unpacked += chunk.length;
      if (unpacked > FREELY_UNPACKED_BYTES && unpacked > packed * MOST_UNPACKING_RATIO)
        throw new Refusal(413, `the gzip data grows to more than ${MOST_UNPACKING_RATIO} times its size`);
      yield chunk;
    }
  } catch (error) {
    if (error instanceof Refusal || error instanceof Failure) throw error;
    throw invalid('the gzip data of the body cannot be read');
  } finally {
    gunzip.destroy();
  }
}

/**
 * One value per line that is not blank. A line that is not JSON, or too deep, stays a text, which no reader takes for a
 * record.
 */
function parseLines(bytes: Buffer, most: number): unknown[] {
  let left = most;
  const values: unknown[] = [];
  for (let at = 0, end = 0; at < bytes.length; at = end + 1) {
    end = bytes.indexOf(LF, at);
    if (end < 0) end = bytes.length;
    const line = bytes.subarray(at, end);
    const text = line.toString('utf8');
    if (text.trim() === '') continue;
    const { depth, values: counted } = measured(line, left);
    left -= counted;
    if (left < 0) throw invalid(`the body holds more than ${most} values`);
    values.push(depth > MOST_DEPTH ? text : valueOfLine(text));
  }
  return values;
}

const LF = 10;

function valueOfLine(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function uploadError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE') return invalid('the upload was interrupted');
  return code === 'ENOSPC' ? unavailable('the temporary folder is full', error) : error;
}

export interface UploadedFile {
  readonly path: string;
  readonly digest: Buffer;
}

/** Names this machine: others, whose processes cannot be seen from here, may share the temporary folder. */
const UPLOADS = temporaryPrefix(hostname());

/**
 * Removes uploads that processes of this machine left behind when they were killed. Called before any upload is taken.
 * Files of another user of the machine cannot be removed, and stay.
 */
export async function clearUploads(): Promise<void> {
  for (const name of await readdir(tmpdir()).catch(() => [])) {
    const pid = name.startsWith(UPLOADS) ? Number(/^\d+/.exec(name.slice(UPLOADS.length))?.[0]) : Number.NaN;
    if (Number.isInteger(pid) && !isAlive(pid))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Hands an upload to `use` as a temporary file of the given name, and removes it afterwards. The bytes are unchanged.
 * @param stream undefined where the request had no body
 */
export async function withUpload<T>(
  stream: AsyncIterable<Buffer> | undefined,
  name: string,
  use: (file: UploadedFile) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), `${UPLOADS}${process.pid}-`));
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
    await pipeline(stream ?? [], measure, createWriteStream(path, { mode: 0o600 })).catch((error: unknown) => {
      throw uploadError(error);
    });
    if (size === 0) throw invalid(`${basename(name)} is empty: send the file as the body`);
    return await use({ path, digest: digest.digest() });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
