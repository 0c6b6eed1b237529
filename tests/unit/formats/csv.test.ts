/** The CSV tokenizer on hand-made rows: quoting, line numbers, malformed rows, and text that is not ASCII. */
import { describe, expect, it } from 'vitest';
import { CsvTokenizer, MOST_ROW_BYTES } from '../../../src/formats/reading/csv.js';

interface Row {
  line: number;
  fields: string[];
  malformed: string | null;
  raw: string;
}

function rowsOf(...chunks: (string | Uint8Array)[]): Row[] {
  const csv = new CsvTokenizer();
  const rows: Row[] = [];
  const take = (): void => {
    while (csv.next()) {
      const fields = Array.from({ length: csv.width }, (_, column) => csv.text(column));
      expect(fields).toEqual(fields.map((_, column) => csv.repeated(column)));
      rows.push({ line: csv.line, fields, malformed: csv.malformed, raw: csv.raw() });
    }
  };
  for (const chunk of chunks) {
    csv.push(Buffer.from(chunk as string));
    take();
  }
  csv.finish();
  take();
  return rows;
}

const fieldsOf = (...chunks: string[]): string[][] => rowsOf(...chunks).map(({ fields }) => fields);

describe('CsvTokenizer', () => {
  it('reads bare and quoted fields, doubled quotes, and both line ends', () => {
    expect(fieldsOf('a,"b, c","d ""e"""\r\n,"",f\n"x"')).toEqual([['a', 'b, c', 'd "e"'], ['', '', 'f'], ['x']]);
  });

  it('skips a byte order mark, also when it comes in pieces', () => {
    expect(rowsOf(new Uint8Array([0xef]), new Uint8Array([0xbb, 0xbf, 0x61])).map(({ fields }) => fields)).toEqual([
      ['a'],
    ]);
  });

  it('counts physical lines: newlines in quotes and empty lines', () => {
    const rows = rowsOf('h\n"a\nb"\n\nc\r\n\r\nd');
    expect(rows.map(({ line, fields }) => [line, fields[0]])).toEqual([
      [1, 'h'],
      [2, 'a\nb'],
      [5, 'c'],
      [7, 'd'],
    ]);
  });

  it('keeps quotes inside a field that does not begin with one', () => {
    expect(fieldsOf('5" disk,a"b"\n')).toEqual([['5" disk', 'a"b"']]);
  });

  it('takes one line for a row with text after a closing quote', () => {
    const rows = rowsOf('a,b\n"x"y,1\nc,d\n');
    expect(rows.map(({ line, malformed }) => [line, malformed])).toEqual([
      [1, null],
      [2, 'text follows a closing quote'],
      [3, null],
    ]);
    expect(rows[1]?.raw).toBe('"x"y,1');
  });

  it('takes one line for a quote that is never closed, and reads the lines after it', () => {
    const rows = rowsOf('a,b\n"x,1\nc,d\ne,f');
    expect(rows.map(({ line, fields, malformed }) => [line, fields, malformed])).toEqual([
      [1, ['a', 'b'], null],
      [2, [], 'a quoted field is not closed'],
      [3, ['c', 'd'], null],
      [4, ['e', 'f'], null],
    ]);
  });

  it('refuses a row that is longer than the limit, and goes on after its line', () => {
    const long = 'y'.repeat(MOST_ROW_BYTES + 1);
    for (const chunks of [[`a\n${long}\nb`], ['a\n', long.slice(0, 500), long.slice(500), '\nb']]) {
      const rows = rowsOf(...chunks);
      expect(rows.map(({ line, malformed }) => [line, malformed])).toEqual([
        [1, null],
        [2, `the row is longer than ${MOST_ROW_BYTES} bytes`],
        [3, null],
      ]);
      expect(rows[1]?.raw).toHaveLength(4000);
    }
  });

  it('decodes UTF-8 across chunk boundaries and says which field is not UTF-8', () => {
    const bytes = Buffer.from('Zürich,東京,plain\n');
    expect(rowsOf(bytes.subarray(0, 2), bytes.subarray(2, 10), bytes.subarray(10)).map(({ fields }) => fields)).toEqual(
      [['Zürich', '東京', 'plain']],
    );
    const csv = new CsvTokenizer();
    csv.push(Buffer.concat([Buffer.from('ok,'), Buffer.from([0xe9]), Buffer.from(',a\0b,é\n')]));
    expect(csv.next()).toBe(true);
    expect([0, 1, 2, 3].map((column) => csv.isClean(column))).toEqual([true, false, false, true]);
    expect(csv.blockIsClean).toBe(false);
  });

  it('gives each its own text, whatever came after the one before it the last time', () => {
    const csv = new CsvTokenizer();
    const texts = 'abacabadbbcdaaab'.repeat(20).split('');
    csv.push(Buffer.from(texts.map((text) => `team-${text}-of-one-length\n`).join('')));
    for (const text of texts) {
      expect(csv.next()).toBe(true);
      expect(csv.repeated(0)).toBe(`team-${text}-of-one-length`);
    }
  });

  it('tells fields of the same bytes from others', () => {
    const csv = new CsvTokenizer();
    csv.push(Buffer.from('1.5,1.5,"1.5",1.50,,15\n'));
    expect(csv.next()).toBe(true);
    expect([0, 1, 2, 3, 4, 5].map((column) => csv.areSame(column, 0))).toEqual([true, true, true, false, false, false]);
  });

  it('gives the same text for more distinct values than it remembers', () => {
    const csv = new CsvTokenizer();
    for (let i = 0; i < 60_000; i++) {
      const text = `value ${i % 40_000}${'.'.repeat(i % 7)}`;
      csv.push(Buffer.from(`${text},"${text}"\n`));
      expect(csv.next()).toBe(true);
      if (csv.repeated(0) !== text || csv.repeated(1) !== text) expect(csv.repeated(0)).toBe(text);
    }
  });
});
