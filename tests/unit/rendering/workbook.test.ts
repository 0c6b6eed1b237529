/**
 * A report as a workbook: opened by means of its own (a reader of ZIP and of the few parts that there are), it holds
 * every figure of the document, and names stay texts.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readerOf, type Language } from '../../../src/core/report/reader.js';
import { write } from '../../../src/rendering/report/written.js';
import { workbookOf } from '../../../src/rendering/report/workbook.js';
import { zipOf } from '../../../src/rendering/report/zip.js';
import { renderers } from '../../../src/rendering/reports.js';
import { reportOf } from '../../support/report.js';

/** By the archive's directory (APPNOTE 4.3.12), each held against its length and checksum. */
function filesIn(bytes: Uint8Array): Map<string, string> {
  const zip = Buffer.from(bytes);
  const end = zip.lastIndexOf('PK\x05\x06');
  const files = new Map<string, string>();
  let at = zip.readUInt32LE(end + 16);
  for (let n = zip.readUInt16LE(end + 10); n > 0; n -= 1) {
    expect(zip.subarray(at, at + 4).toString('latin1')).toBe('PK\x01\x02');
    const [crc, packed, plain] = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)];
    const named = zip.readUInt16LE(at + 28);
    const name = zip.subarray(at + 46, at + 46 + named).toString();
    const local = zip.readUInt32LE(at + 42);
    expect(zip.subarray(local, local + 4).toString('latin1')).toBe('PK\x03\x04');
    const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
    const body = inflateRawSync(zip.subarray(from, from + packed));
    expect([body.length, crc32(body)]).toEqual([plain, crc]);
    files.set(name, body.toString());
    at += 46 + named + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  expect(at).toBe(end);
  return files;
}

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');

interface ReadCell {
  readonly style: number;
  readonly number: string | null;
  readonly text: string | null;
}

const cellsIn = (sheet: string): ReadCell[] =>
  [
    ...sheet.matchAll(/<c s="(\d+)"(?:\/>|(?: t="inlineStr"><is><t[^>]*>([^<]*)<\/t><\/is>|><v>([^<]*)<\/v>)<\/c>)/g),
  ].map(([, style, text, number]) => ({
    style: Number(style),
    number: number ?? null,
    text: text === undefined ? null : unescaped(text),
  }));

const REPORT = reportOf();
const bookOf = async (language: Language): Promise<Map<string, string>> =>
  filesIn((await renderers.get('xlsx')?.render(REPORT, readerOf(language))) ?? new Uint8Array());
const sheetsOf = (book: ReadonlyMap<string, string>): string[] =>
  [...book].filter(([name]) => name.startsWith('xl/worksheets/')).map(([, text]) => text);

describe('a workbook', () => {
  it.each(['en', 'zh'] as const)(
    'holds every figure as a number, and each section by its name (%s)',
    async (language) => {
      const book = await bookOf(language);
      const { sections, format } = write(REPORT, readerOf(language));
      const figures = sections
        .flatMap(({ tables }) => tables)
        .flatMap(({ rows }) => rows)
        .flatMap((row) => row.map((cell) => format.cell(cell)))
        .flatMap(({ exact, isNumber }) => (exact === null || !isNumber ? [] : [exact]));
      expect(figures.length).toBeGreaterThan(200);
      const all = sheetsOf(book).flatMap(cellsIn);
      // Days and times are numbers too, and no figures: their styles are the fourth and the fifth.
      const isDate = (style: number): boolean => style === 4 || style === 5;
      expect(all.flatMap(({ number, style }) => (number === null || isDate(style) ? [] : [number]))).toEqual(figures);
      const names = [...(book.get('xl/workbook.xml') ?? '').matchAll(/<sheet name="([^"]+)"/g)].map(([, name]) =>
        unescaped(name ?? ''),
      );
      expect(names).toHaveLength(sections.length);
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
      expect(names.filter((name) => name === '' || name.length > 31 || /[[\]:*?/\\]/.test(name))).toEqual([]);
      expect(sheetsOf(book).join('')).not.toMatch(/undefined|NaN|\[object|<f>/);
    },
  );

  it('gives each figure the format of its unit', async () => {
    const book = await bookOf('en');
    const [summary = ''] = sheetsOf(book);
    const styles = [...(book.get('xl/styles.xml') ?? '').matchAll(/formatCode="([^"]+)"/g)].map(([, code]) => code);
    const cells = cellsIn(summary);
    const spend = cells[cells.findIndex(({ text }) => text === 'Spend') + 1];
    expect([spend?.number, styles[spend?.style ?? -1]]).toEqual(['1683.3650078877', '#,##0.00\\ &quot;USD&quot;']);
  });

  it('takes names as texts, and what a double cannot hold to the last digit', () => {
    const { format } = write({ ...REPORT, zone: 'Asia/Shanghai' }, readerOf('en'));
    const rows = [
      [
        { kind: 'name', text: '=HYPERLINK("x")<&' },
        { kind: 'money', amount: '90071992547409931.25', currency: 'USD' },
        { kind: 'money', amount: null, currency: 'USD' },
        { kind: 'day', day: '2026-10-01' },
        { kind: 'instant', at: '2026-09-30T22:00:00Z' },
        { kind: 'instant', at: null },
      ],
    ] as const;
    const columns = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id, title: id }));
    const section = { title: 'A/B: [all] of it, and much longer than it may be', notes: [], charts: [] };
    const tables = [{ id: 't', title: 'T', columns, heads: 1, rows }];
    const book = filesIn(
      workbookOf(
        'Title',
        ['lead'],
        [
          { ...section, id: '1', tables },
          { ...section, id: '2', tables: [] },
        ],
        format,
        'An empty cell: not known.',
      ),
    );
    expect(cellsIn(sheetsOf(book)[0] ?? '').slice(-7)).toEqual([
      { style: 0, number: null, text: '=HYPERLINK("x")<&' },
      { style: 0, number: null, text: '90071992547409931.25' },
      // The first currency comes after the formats and bold.
      { style: 7, number: null, text: null },
      { style: 4, number: '46296', text: null },
      { style: 5, number: '46296.25', text: null },
      { style: 5, number: null, text: null },
      { style: 0, number: null, text: 'An empty cell: not known.' },
    ]);
    expect([...(book.get('xl/workbook.xml') ?? '').matchAll(/<sheet name="([^"]+)"/g)].map(([, name]) => name)).toEqual(
      ['A B   all  of it, and much long', 'A B   all  of it, and much lo 2'],
    );
  });

  it('is the same for the same report, and leads from part to part', async () => {
    const render = async (): Promise<Uint8Array | undefined> => renderers.get('xlsx')?.render(REPORT, readerOf('en'));
    expect(await render()).toEqual(await render());
    const book = await bookOf('en');
    const targets = [...(book.get('xl/_rels/workbook.xml.rels') ?? '').matchAll(/Target="([^"]+)"/g)].map(
      ([, name]) => `xl/${name}`,
    );
    expect(targets.filter((name) => !book.has(name))).toEqual([]);
    expect([...filesIn(zipOf(new Map([['ä/空', 'x'.repeat(1000)]])))]).toEqual([['ä/空', 'x'.repeat(1000)]]);
  });
});
