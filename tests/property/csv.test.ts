/** The CSV tokenizer against a naive parser, on arbitrary bytes-worth of text cut into arbitrary chunks. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CsvTokenizer } from '../../src/formats/reading/csv.js';

interface Row {
  line: number;
  fields: string[] | null;
}

/** One character at a time, straight from the rules in csv.ts; `null` fields: malformed. */
function naiveRows(text: string): Row[] {
  const rows: Row[] = [];
  let at = text.startsWith('\uFEFF') ? 1 : 0;
  let line = 1;
  while (at < text.length) {
    const end = text.indexOf('\n', at);
    const physical = text.slice(at, end < 0 ? text.length : end).replace(/\r$/, '');
    if (physical === '') {
      at = end < 0 ? text.length : end + 1;
      line++;
      continue;
    }
    const row = naiveRow(text, at);
    rows.push({ line, fields: row?.fields ?? null });
    const next = row?.next ?? (end < 0 ? text.length : end + 1);
    line += text.slice(at, next).split('\n').length - 1;
    at = next;
  }
  return rows;
}

function naiveRow(text: string, start: number): { fields: string[]; next: number } | null {
  const fields: string[] = [];
  let at = start;
  for (;;) {
    let field = '';
    const quoted = text[at] === '"';
    if (quoted) {
      at++;
      while (!(text[at] === '"' && text[at + 1] !== '"')) {
        if (at >= text.length) return null;
        field += text[at];
        at += text[at] === '"' ? 2 : 1;
      }
      at++;
      if (text[at] === '\r' && (text[at + 1] === '\n' || at + 1 === text.length)) at++;
    } else {
      while (at < text.length && text[at] !== ',' && text[at] !== '\n') field += text[at++];
      if (text[at] !== ',') field = field.replace(/\r$/, '');
    }
    fields.push(field);
    if (text[at] === ',') at++;
    else if (at >= text.length || text[at] === '\n') return { fields, next: at + 1 };
    else return null;
  }
}

function tokenizedRows(bytes: Uint8Array, cuts: readonly number[]): Row[] {
  const csv = new CsvTokenizer();
  const rows: Row[] = [];
  const take = (): void => {
    while (csv.next()) {
      const fields = Array.from({ length: csv.width }, (_, column) =>
        column % 2 === 0 ? csv.text(column) : csv.repeated(column),
      );
      rows.push({ line: csv.line, fields: csv.malformed === null ? fields : null });
    }
  };
  const bounds = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  for (let i = 1; i < bounds.length; i++) {
    csv.push(bytes.subarray(bounds[i - 1], bounds[i]));
    take();
  }
  csv.finish();
  take();
  return rows;
}

const csvText = fc
  .array(
    fc.constantFrom(
      '"',
      '""',
      ',',
      '\n',
      '\r\n',
      '\r',
      'a',
      'bc',
      'é',
      '東',
      '😀',
      ' ',
      '"x"',
      '"y\n"',
      '\uFEFF',
      '1.50',
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''));
const cuts = fc.array(fc.nat(400), { maxLength: 12 });

describe('CsvTokenizer', () => {
  it('agrees with a naive parser, wherever the chunks are cut', () => {
    fc.assert(
      fc.property(csvText, cuts, (text, at) => {
        expect(tokenizedRows(Buffer.from(text), at)).toEqual(naiveRows(text));
      }),
      { numRuns: 3000 },
    );
  });

  it('reads back what RFC 4180 writes', () => {
    const table = fc.array(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 2, maxLength: 5 }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(table, cuts, (rows, at) => {
        const text = rows.map((row) => row.map((field) => `"${field.replaceAll('"', '""')}"`).join(',')).join('\r\n');
        expect(tokenizedRows(Buffer.from(text), at).map(({ fields }) => fields)).toEqual(rows);
      }),
    );
  });
});
