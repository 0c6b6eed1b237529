/**
 * Files and uploads as a format's Input: gzip is recognised by its magic bytes, whatever the name says.
 *
 * Never holds a file in memory: a stream is read again for each pass. A gzipped Parquet file, which needs random
 * access, goes to a temporary file first, within a limit. A CSV in GB18030 is passed on as UTF-8. A file that is
 * certainly not a table is refused with its type (kinds.ts), and a file that unpacks to far more than any bill is
 * refused while it unpacks.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Failure, invalid, missing } from '../../core/errors.js';
import { temporaryPrefix } from '../../core/leftovers.js';
import type { Input } from '../../core/ports.js';
import { beginsInGb18030, utf8Of } from './gb18030.js';
import { otherSeparator, unreadableKind } from './kinds.js';
import { columnsOfParquet } from './parquet.js';

/** Bytes that formats are recognised by. */
export const HEAD_BYTES = 64 << 10;
const CHUNK_BYTES = 1 << 20;
/** Bills pack to a tenth or a fiftieth; gzip itself reaches 1032. */
const MOST_UNPACKING_RATIO = 200;
const FREELY_UNPACKED_BYTES = 64 << 20;
/** A gzipped Parquet file is unpacked up to this size. */
const MOST_UNPACKED_PARQUET_BYTES = 4 * 2 ** 30;

export interface OpenInput extends Input {
  /** Frees what the input holds. The input is not read afterwards. */
  close(): Promise<void>;
}

/** Where bytes come from: again and again from the start, or a part of them. */
interface Source {
  readonly size: number;
  stream(): AsyncIterable<Uint8Array>;
  slice(start: number, end: number): Promise<ArrayBuffer>;
}

/**
 * Opens a file. `name` is its base name without `.gz`; `size` is the file's own size, which for a gzipped file is that
 * of the packed bytes (Parquet excepted). Fails: missing where there is no such file, invalid where it cannot be read.
 */
export async function openFile(path: string): Promise<OpenInput> {
  const source = await fileSource(path);
  return openSource(basename(path), source);
}

/** As `openFile`, from bytes that are in memory (an upload). */
export async function openBytes(name: string, bytes: Uint8Array): Promise<OpenInput> {
  return openSource(basename(name), {
    size: bytes.length,
    async *stream() {
      for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
    },
    slice: async (start, end) => new Uint8Array(bytes.subarray(start, end)).buffer,
  });
}

/** As `openFile`, of bytes that come from elsewhere: they lie in a temporary folder until it is closed. */
export async function openStream(name: string, stream: AsyncIterable<Uint8Array>): Promise<OpenInput> {
  const folder = await mkdtemp(join(tmpdir(), `${temporaryPrefix(hostname())}${process.pid}-`));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, basename(name));
    await pipeline(stream, createWriteStream(path, { mode: 0o600 }));
    const input = await openFile(path);
    return {
      ...input,
      close: async () => {
        await input.close();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function fileSource(path: string): Promise<Source> {
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    throw error.code === 'ENOENT'
      ? missing(`${path}: there is no such file`)
      : invalid(`${path}: the file cannot be read (${error.code ?? error.message})`);
  });
  try {
    const facts = await handle.stat();
    if (!facts.isFile()) throw invalid(`${path}: not a file`);
    return {
      size: facts.size,
      stream: () => createReadStream(path, { highWaterMark: CHUNK_BYTES }),
      slice: (start, end) => readPart(path, start, end),
    };
  } finally {
    await handle.close();
  }
}

async function readPart(path: string, start: number, end: number): Promise<ArrayBuffer> {
  const handle = await open(path, 'r');
  try {
    const bytes = new Uint8Array(end - start);
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, start + filled);
      if (bytesRead === 0) throw invalid(`${basename(path)}: the file ends before byte ${end}`);
      filled += bytesRead;
    }
    return bytes.buffer;
  } finally {
    await handle.close();
  }
}

async function openSource(name: string, source: Source): Promise<OpenInput> {
  const packed = await firstBytes(source.stream(), 2);
  if (packed[0] !== 0x1f || packed[1] !== 0x8b) {
    const head = await firstBytes(source.stream(), HEAD_BYTES);
    return inputOf(name, head, source, async () => undefined);
  }
  const plainName = name.replace(/\.gz$/i, '');
  const plain: Source = {
    size: source.size,
    stream: () => unpacked(name, source),
    slice: async () => {
      throw invalid(`${name}: a gzipped file is read from its start only`);
    },
  };
  const head = await firstBytes(plain.stream(), HEAD_BYTES);
  return isParquet(head)
    ? unpackToFile(plainName, head, plain)
    : inputOf(plainName, head, plain, async () => undefined);
}

/** Whether the bytes begin as a Parquet file does. */
export function isParquet(head: Uint8Array): boolean {
  return head[0] === 0x50 && head[1] === 0x41 && head[2] === 0x52 && head[3] === 0x31;
}

async function inputOf(name: string, head: Uint8Array, source: Source, close: () => Promise<void>): Promise<OpenInput> {
  const kind = isParquet(head) ? null : unreadableKind(head);
  if (kind !== null) {
    await close();
    throw invalid(`${name} ${kind}`);
  }
  if (!isParquet(head) && beginsInGb18030(head))
    return inputOf(name, await firstBytes(utf8Of(source.stream()), HEAD_BYTES), utf8(name, source), close);
  const columns = isParquet(head) ? { columns: await columnsOfParquet(source) } : {};
  const separator = isParquet(head) ? null : otherSeparator(head);
  return {
    name,
    size: source.size,
    head,
    ...columns,
    ...(separator === null ? {} : { separator }),
    stream: () => source.stream(),
    slice: (start, end) => source.slice(start, end),
    close,
  };
}

const utf8 = (name: string, source: Source): Source => ({
  size: source.size,
  stream: () => utf8Of(source.stream()),
  slice: async () => {
    throw invalid(`${name}: a file in GB18030 is read from its start only`);
  },
});

async function* unpacked(name: string, source: Source): AsyncGenerator<Uint8Array> {
  const gunzip = createGunzip({ chunkSize: CHUNK_BYTES });
  const packed = Readable.from(source.stream());
  packed.on('error', (error) => gunzip.destroy(error));
  const most = FREELY_UNPACKED_BYTES + MOST_UNPACKING_RATIO * source.size;
  let size = 0;
  try {
    for await (const chunk of packed.pipe(gunzip)) {
      size += (chunk as Uint8Array).length;
      if (size > most)
        throw invalid(`${name}: the gzip data grows to more than ${MOST_UNPACKING_RATIO} times its size`);
      yield chunk as Uint8Array;
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw invalid(`${name}: the gzip data cannot be read (${error instanceof Error ? error.message : String(error)})`);
  } finally {
    packed.destroy();
    gunzip.destroy();
  }
}

async function unpackToFile(name: string, head: Uint8Array, plain: Source): Promise<OpenInput> {
  const folder = await mkdtemp(join(tmpdir(), `${temporaryPrefix(hostname())}${process.pid}-`));
  const close = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    const path = join(folder, 'unpacked');
    await pipeline(limited(name, plain.stream()), createWriteStream(path, { mode: 0o600 }));
    return await inputOf(name, head, await fileSource(path), close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function* limited(name: string, stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MOST_UNPACKED_PARQUET_BYTES) {
      throw invalid(
        `${name}: the gzipped Parquet file unpacks to more than ${MOST_UNPACKED_PARQUET_BYTES} bytes; import it unpacked`,
      );
    }
    yield chunk;
  }
}

async function firstBytes(stream: AsyncIterable<Uint8Array>, count: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    parts.push(chunk);
    size += chunk.length;
    if (size >= count) break;
  }
  return new Uint8Array(Buffer.concat(parts).subarray(0, count));
}
