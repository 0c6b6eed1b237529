/**
 * The fonts of every picture, from packages: nothing of the machine is read, so that a picture looks the same
 * everywhere.
 *
 * DejaVu Sans has the letters of Europe; Chinese comes from Noto Sans SC, which its package holds as WOFF and the
 * rasteriser reads as TrueType only. It is unpacked when a text first needs it, into a folder of this process that goes
 * with it. It never fetches a font.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inflateSync } from 'node:zlib';

/** As CSS and SVG name them. */
export const FONT_FAMILY = 'DejaVu Sans, Noto Sans SC, sans-serif';

const resolve = createRequire(import.meta.url).resolve;

/** TrueType files. */
export const LATIN_FONTS = {
  regular: resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'),
  bold: resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'),
} as const;

const CHINESE_WOFF = {
  regular: 'noto-sans-sc-chinese-simplified-400-normal',
  bold: 'noto-sans-sc-chinese-simplified-700-normal',
} as const;

type Weight = keyof typeof CHINESE_WOFF;

/** CJK punctuation, ideographs, full-width forms. */
const CHINESE = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/;

export const needsChinese = (text: string): boolean => CHINESE.test(text);

const unpacked = new Map<Weight, string>();
let folder: string | null = null;

/** Path of Noto Sans SC as TrueType, unpacked once per process. */
export function chineseFont(weight: Weight): string {
  const known = unpacked.get(weight);
  if (known !== undefined) return known;
  if (folder === null) {
    const made = mkdtempSync(path.join(tmpdir(), 'bursar-fonts-'));
    folder = made;
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
  }
  const file = path.join(folder, `${CHINESE_WOFF[weight]}.ttf`);
  writeFileSync(file, sfntOf(readFileSync(resolve(`@fontsource/noto-sans-sc/files/${CHINESE_WOFF[weight]}.woff`))));
  unpacked.set(weight, file);
  return file;
}

/** Files that a text needs. */
export function fontFiles(text: string): string[] {
  return [
    LATIN_FONTS.regular,
    LATIN_FONTS.bold,
    ...(needsChinese(text) ? [chineseFont('regular'), chineseFont('bold')] : []),
  ];
}

const WOFF_SIGNATURE = 0x774f4646;
const [WOFF_HEADER, WOFF_ENTRY, SFNT_HEADER, SFNT_ENTRY] = [44, 20, 12, 16];
const padded = (bytes: number): number => (bytes + 3) & ~3;

/**
 * The OpenType font within a WOFF 1.0 file (W3C Recommendation "WOFF File Format 1.0", sections 3 to 5; the sfnt's own
 * header as in the OpenType specification, "Organization of an OpenType Font"). Tables keep their order. @throws Error
 * where it is no WOFF.
 */
export function sfntOf(woff: Buffer): Buffer {
  if (woff.length < WOFF_HEADER || woff.readUInt32BE(0) !== WOFF_SIGNATURE)
    throw new Error('the font is not a WOFF file');
  const count = woff.readUInt16BE(12);
  const tables = Array.from({ length: count }, (_, index) => {
    const at = WOFF_HEADER + index * WOFF_ENTRY;
    const [offset, stored, length] = [woff.readUInt32BE(at + 4), woff.readUInt32BE(at + 8), woff.readUInt32BE(at + 12)];
    const bytes = woff.subarray(offset, offset + stored);
    return {
      tag: woff.subarray(at, at + 4),
      checksum: woff.readUInt32BE(at + 16),
      data: stored < length ? inflateSync(bytes) : bytes,
    };
  });
  const sfnt = Buffer.alloc(
    SFNT_HEADER + count * SFNT_ENTRY + tables.reduce((sum, { data }) => sum + padded(data.length), 0),
  );
  const power = Math.floor(Math.log2(count));
  sfnt.writeUInt32BE(woff.readUInt32BE(4), 0);
  [count, SFNT_ENTRY * 2 ** power, power, SFNT_ENTRY * (count - 2 ** power)].forEach((value, at) =>
    sfnt.writeUInt16BE(value, 4 + 2 * at),
  );
  let offset = SFNT_HEADER + count * SFNT_ENTRY;
  tables.forEach(({ tag, checksum, data }, index) => {
    const at = SFNT_HEADER + index * SFNT_ENTRY;
    tag.copy(sfnt, at);
    [checksum, offset, data.length].forEach((value, n) => sfnt.writeUInt32BE(value, at + 4 + 4 * n));
    data.copy(sfnt, offset);
    offset += padded(data.length);
  });
  return sfnt;
}
