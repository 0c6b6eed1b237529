/** Inputs (plain, gzip, Parquet in gzip, broken) and the pod list of the openb trace. */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { format as openb, readPods, recordOfPod } from '../../../src/formats/openb-pods.js';
import { HEAD_BYTES, openBytes, openFile } from '../../../src/formats/reading/input.js';
import { fixture, usageOf, usageOfText } from './reading.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bursar-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts);
}

describe('inputs', () => {
  const bytes = Buffer.from('0123456789'.repeat(30_000));

  it('are the same from a file and from bytes, plain or gzip, and can be read again', async () => {
    await writeFile(join(folder, 'a.csv'), bytes);
    await writeFile(join(folder, 'a.csv.gz'), gzipSync(bytes));
    for (const input of [
      await openFile(join(folder, 'a.csv')),
      await openFile(join(folder, 'a.csv.gz')),
      await openBytes('a.csv', bytes),
      await openBytes('a.csv.gz', gzipSync(bytes)),
    ]) {
      expect([input.name, input.head.length]).toEqual(['a.csv', HEAD_BYTES]);
      for (const _ of [1, 2]) expect((await bytesOf(input.stream())).equals(bytes)).toBe(true);
      await input.close();
    }
    const plain = await openFile(join(folder, 'a.csv'));
    expect(Buffer.from(await plain.slice(15, 20)).toString()).toBe('56789');
    expect(plain.size).toBe(300_000);
  });

  it('undo gzip by its bytes, not by the name, and several members after each other', async () => {
    const input = await openBytes('a.csv', Buffer.concat([gzipSync('a,b\n'), gzipSync('c,d\n')]));
    expect((await bytesOf(input.stream())).toString()).toBe('a,b\nc,d\n');
  });

  it('unpack a gzipped Parquet file for random reads, and clean up', async () => {
    const before = await readdir(tmpdir());
    const input = await openBytes('b.parquet.gz', gzipSync('PAR1 and so on'));
    expect([input.name, input.size, Buffer.from(await input.slice(5, 8)).toString()]).toEqual(['b.parquet', 14, 'and']);
    const mine = (names: string[]) =>
      names.filter((name) => name.startsWith('bursar-') && !before.includes(name) && !name.startsWith('bursar-test-'));
    const made = mine(await readdir(tmpdir()));
    await input.close();
    expect((await readdir(tmpdir())).some((name) => made.length === 1 && name === made[0])).toBe(false);
  });

  it('that cannot be read say why', async () => {
    await expect(openFile(join(folder, 'none'))).rejects.toMatchObject({ kind: 'missing' });
    await expect(openFile(folder)).rejects.toThrow('not a file');
    await expect(openBytes('u.csv', Buffer.from('\uFEFFa,b', 'utf16le'))).rejects.toThrow('UTF-16');
    await expect(openBytes('cut.csv.gz', gzipSync(bytes).subarray(0, 30))).rejects.toThrow(
      'the gzip data cannot be read',
    );
    const random = Buffer.from(
      Array.from({ length: 400_000 }, (_, index) => (index * 7919 + (index >> 3) * 104_729) % 251),
    );
    const late = await openBytes('late.csv.gz', gzipSync(random).subarray(0, -9));
    await expect(bytesOf(late.stream())).rejects.toMatchObject({ kind: 'invalid' });
    const bytesOfHex = (hex: string): Buffer => Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(40, 'x')]);
    const zipped = (entry: string): Buffer => Buffer.concat([bytesOfHex('504b0304'), Buffer.from(entry)]);
    for (const [content, said] of [
      [Buffer.from('a,b\nc,d\n', 'utf16le'), 'is UTF-16: save it as UTF-8'],
      [Buffer.from('a,b\nc,d\n', 'utf16le').swap16(), 'is UTF-16: save it as UTF-8'],
      [zipped('bill.csv'), 'is a zip archive: unpack it and import the files in it (gzip is unpacked here)'],
      [zipped('[Content_Types].xml'), 'is a workbook (.xlsx or .ods): save it as CSV in UTF-8, separated by commas'],
      [
        Buffer.concat([Buffer.from('bill.csv'.padEnd(257, '\0')), Buffer.from('ustar\0')]),
        'is a tar archive: unpack it',
      ],
      [bytesOfHex('d0cf11e0a1b11ae1'), 'is an old Office document (.xls): save it as CSV'],
      [bytesOfHex('28b52ffd'), 'is packed with Zstandard'],
      [bytesOfHex('425a6839314159265359'), 'is packed with bzip2'],
      [Buffer.from('%PDF-1.7 and so on'), 'is a PDF: export the bill as CSV'],
      [Buffer.from('\uFEFF\n<!DOCTYPE html><html><title>Sign in</title>'), 'is an HTML page, as a login'],
      [Buffer.from('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'), 'storage (AccessDenied) in place'],
      [Buffer.from('<?xml version="1.0"?><bill/>'), 'is XML: save it as CSV'],
    ] as const) {
      await expect(openBytes('u.csv', content)).rejects.toThrow(
        `u.csv ${said.startsWith('storage') ? 'is an error of the ' : ''}${said}`,
      );
      await expect(openBytes('u.csv.gz', gzipSync(content))).rejects.toMatchObject({ kind: 'invalid' });
    }
    const empty = await openBytes('e.csv', new Uint8Array());
    expect([empty.size, empty.head.length]).toEqual([0, 0]);
  });
});

it.each([
  ['a;b;c;d\n', 'semicolons'],
  ['a\tb\tc\td\n', 'tabs'],
  ['a|b|c|d\n', 'bars'],
  ['sep=;\na;b\n', '";"'],
  ['\uFEFFa;"b,c";d;e\n', 'semicolons'],
  ['a,b,c\n1;2;3;4,5\n', undefined],
  ['a,b,"c;d;e;f",g,h,i\n', undefined],
  ['{"a":"x;y;z;w"}\n', undefined],
  ['a;b;c\n', undefined],
])('a file that begins with %j is separated by %s', async (text, separator) => {
  expect((await openBytes('a.csv', Buffer.from(text))).separator).toBe(separator);
});

describe('openb-pods', () => {
  const text = readFileSync(fixture('openb-pods/openb_pods_first400.csv'), 'utf8');

  it('reads typed pods', async () => {
    const pods = await readPods(text);
    expect(pods).toHaveLength(400);
    expect(pods[1]).toEqual({
      name: 'openb-pod-0001',
      cpuMilli: 6000,
      memoryMib: 12288,
      gpus: 1,
      gpuMilli: 460,
      gpuSpecs: [],
      qos: 'LS',
      phase: 'Running',
      createdSeconds: 427061,
      scheduledSeconds: 427061,
      deletedSeconds: 12902960,
    });
  });

  it('meters from scheduling to deletion, from the origin that is named', async () => {
    const origin = Date.UTC(2026, 2, 1);
    const input = await openBytes('pods.csv', Buffer.from(text));
    const records = [];
    for await (const batch of openb.read(input, { originInstant: origin })) records.push(...batch.records);
    const pods = await readPods(text);
    expect(records).toEqual(pods.map((pod) => recordOfPod(pod, origin)).filter((record) => record !== null));
    expect(records[1]).toMatchObject({
      id: 'openb-pod-0001',
      gpuParts: 3220,
      start: origin + 427_061_000,
      end: origin + 12_902_960_000,
      gpuModel: null,
      tags: { qos: 'LS' },
    });
    expect(records.length).toBe(pods.filter((pod) => pod.gpus > 0 && pod.scheduledSeconds !== null).length);
    expect((await usageOf(openb, await openBytes('pods.csv', Buffer.from(text)))).rejects).toEqual([]);
  });

  it('a pod that was never scheduled used nothing; a bad row is rejected with every column', async () => {
    const header = text.split('\n', 1)[0];
    const { records, rejects } = await usageOfText(
      openb,
      `${header}\np,1,1,1,1000,,LS,Pending,5,,\nq,1,1,x,2000,V100M16|V100M32,LS,Running,5,3,4\nr,1,1,8,1000,,LS,Running,5,9,6\n`,
    );
    expect(records).toMatchObject([{ id: 'r', gpuParts: 56_000 }]);
    expect(rejects.map(({ line, reason }) => [line, reason.split('; ').length])).toEqual([[3, 3]]);
    await expect(readPods(`${header}\nq,1,1,x,2000,,LS,Running,5,3,4\n`)).rejects.toMatchObject({
      kind: 'invalid',
      problems: [{ path: 'line 2' }],
    });
  });
});
