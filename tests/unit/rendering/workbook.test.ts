/**
 * A report as a workbook: opened by means of its own (a reader of ZIP and of the few parts that there are), it holds
 * every figure of the document, and names stay texts.
 */
import { crc32, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readerOf, type Language } from '../../../src/core/report/reader.js';
import { write } from '../../../src/rendering/report/written.js';
import { workbookOf } from '../../../src/rendering/report/workbook.js';
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
  /** `B2` */
  readonly at: string;
  /** The format of a figure. */
  readonly format: string | null;
  readonly number: string | null;
  readonly text: string | null;
}

type Book = ReadonlyMap<string, string>;

const partOf = (book: Book, name: string): string => book.get(`xl/${name}.xml`) ?? '';

/** The cells of every sheet that hold anything, by the few parts that there are. */
function sheetsOf(book: Book): ReadCell[][] {
  const shared = [...partOf(book, 'sharedStrings').matchAll(/<t[^>]*>([^<]*)<\/t>/g)].map(([, text]) => text!);
  const codes = new Map(
    [...partOf(book, 'styles').matchAll(/numFmtId="(\d+)" formatCode="([^"]+)"/g)].map(([, id, code]) => [id, code!]),
  );
  const styles = [...partOf(book, 'styles').matchAll(/<xf (?:numFmtId="(\d+)")?/g)].map(([, id]) => codes.get(id));
  const cell = /<c r="([A-Z]+\d+)"(?: s="(\d+)")?(?: t="(s)")?><v>([^<]*)<\/v><\/c>/g;
  return [...book]
    .filter(([name]) => name.startsWith('xl/worksheets/sheet'))
    .map(([, sheet]) => {
      const read = [...sheet.matchAll(cell)].map(([, at, style, isShared, value]) => ({
        at: at!,
        format: unescaped(styles[Number(style)] ?? '') || null,
        number: isShared === undefined ? value! : null,
        text: isShared === undefined ? null : unescaped(shared[Number(value)]!),
      }));
      expect(read).toHaveLength(sheet.split('<c ').length - 1);
      return read;
    });
}

const REPORT = reportOf();
const bookOf = async (language: Language): Promise<Map<string, string>> =>
  filesIn((await renderers.get('xlsx')?.render(REPORT, readerOf(language))) ?? new Uint8Array());

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
      const all = sheetsOf(book).flat();
      // Days and times are numbers too, and no figures.
      expect(
        all.flatMap(({ number, format: code }) => (number === null || code?.startsWith('yyyy') ? [] : [number])),
      ).toEqual(figures.map((figure) => String(Number(figure))));
      const names = [...(book.get('xl/workbook.xml') ?? '').matchAll(/<sheet [^>]*name="([^"]+)"/g)].map(([, name]) =>
        unescaped(name ?? ''),
      );
      expect(names).toHaveLength(sections.length);
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
      expect(names.filter((name) => name === '' || name.length > 31 || /[[\]:*?/\\]/.test(name))).toEqual([]);
      expect([...book.values()].join('')).not.toMatch(/undefined|NaN|\[object|<f>/);
    },
  );

  it('gives each figure the format of its unit', async () => {
    const book = await bookOf('en');
    const [cells = []] = sheetsOf(book);
    const spend = cells[cells.findIndex(({ text }) => text === 'Spend') + 1];
    expect(spend).toMatchObject({ number: '1683.3650078877', format: '#,##0.00\\ "USD"' });
  });

  it('says of a zone whose days begin within an hour of UTC how that hour is counted', () => {
    const leads = (zone: string, from: string, to: string, language: 'en' | 'zh' = 'en'): readonly string[] =>
      write({ ...REPORT, zone, from, to }, readerOf(language)).leads;
    const kolkata = ['Asia/Kolkata', '2026-09-30T18:30:00Z', '2026-10-31T18:30:00Z'] as const;
    expect(leads(...kolkata)[1]).toMatch(/usage is kept by whole hours/);
    expect(leads(...kolkata, 'zh')[1]).toMatch(/整小时/);
    for (const [zone, from] of [
      ['UTC', '2026-10-01T00:00:00Z'],
      ['Asia/Shanghai', '2026-09-30T16:00:00Z'],
    ] as const)
      expect(leads(zone, from, '2026-11-01T00:00:00Z').join(' ')).not.toContain('whole hours');
  });

  it('takes names as texts, and what a double cannot hold to the last digit', async () => {
    const { format } = write({ ...REPORT, zone: 'Asia/Shanghai' }, readerOf('en'));
    const rows = [
      [
        { kind: 'name', text: '=HYPERLINK("x")<&\u0000' },
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
      await workbookOf(
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
    const text = (at: string, of: string): ReadCell => ({ at, format: null, number: null, text: of });
    expect((sheetsOf(book)[0] ?? []).slice(-5)).toEqual([
      text('A6', '=HYPERLINK("x")<&'),
      text('B6', '90071992547409931.25'),
      { at: 'D6', format: 'yyyy-mm-dd', number: '46296', text: null },
      { at: 'E6', format: 'yyyy-mm-dd hh:mm', number: '46296.25', text: null },
      text('A7', 'An empty cell: not known.'),
    ]);
    expect(
      [...(book.get('xl/workbook.xml') ?? '').matchAll(/<sheet [^>]*name="([^"]+)"/g)].map(([, name]) => name),
    ).toEqual(['A B   all  of it, and much long', 'A B   all  of it, and much lo 2']);
  });

  it('holds the same for the same report, and leads from part to part', async () => {
    const book = await bookOf('en');
    expect(await bookOf('en')).toEqual(book);
    const targets = [...(book.get('xl/_rels/workbook.xml.rels') ?? '').matchAll(/Target="([^"]+)"/g)].map(
      ([, name]) => `xl/${name}`,
    );
    expect(targets.length).toBeGreaterThan(3);
    expect(targets.filter((name) => !book.has(name))).toEqual([]);
  });
});
