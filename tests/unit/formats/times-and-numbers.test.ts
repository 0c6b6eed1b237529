/** Instants, dates, decimals and tags in the forms that bills use. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDecimal, DecimalSum, formatDecimal, parseDecimal, ZERO } from '../../../src/core/decimal.js';
import { isoInstant } from '../../../src/core/time.js';
import { decimalOfBytes, decimalOfNumber, scaledInteger } from '../../../src/formats/reading/numbers.js';
import { isStorable, parseTags } from '../../../src/formats/reading/tags.js';
import { parseUsDate } from '../../../src/formats/reading/times.js';

describe('isoInstant', () => {
  it.each([
    ['2024-09-01T10:20:30Z', '2024-09-01T10:20:30.000Z'],
    ['2024-09-01 10:20:30', '2024-09-01T10:20:30.000Z'],
    ['2024-09-01T10:20:30.5Z', '2024-09-01T10:20:30.500Z'],
    ['2024-09-01T10:20:30.1239999', '2024-09-01T10:20:30.123Z'],
    ['2023-11-13T10:00Z', '2023-11-13T10:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2024-09-01T00:30:00+02:00', '2024-08-31T22:30:00.000Z'],
    ['2024-09-01T00:30:00-0530', '2024-09-01T06:00:00.000Z'],
    ['2024-09-01 00:00:00 UTC', '2024-09-01T00:00:00.000Z'],
    ['2024-09-01 00:00:00 GMT', '2024-09-01T00:00:00.000Z'],
    ['2024-09-01+02:00', '2024-08-31T22:00:00.000Z'],
    ['2024-08-31T24:00', '2024-09-01T00:00:00.000Z'],
  ])('reads %s', (text, expected) => {
    expect(new Date(isoInstant(text)).toISOString()).toBe(expected);
  });

  it.each([
    '',
    'NULL',
    '2023-02-29',
    '2024-13-01',
    '2024-00-10',
    '2023-02-01T30:00:00Z',
    '2024-09-01T10:60:00Z',
    '2024-09-01T10',
    '5/1/25',
    '2024-09-01T10:20:30Q',
    '2024/09/01',
    '20240901',
    '1725148800',
    '0000-01-01',
    '2024-09-01T10:20.5',
    '2024-09-01.5',
    '2024-09-01T24:00:00.5',
    '2024-09-01X10:20:30',
    '2024-09-01T10:20:30+24:00',
  ])('refuses %j', (text) => {
    expect(isoInstant(text)).toBeNaN();
  });

  it('agrees with the calendar of JavaScript', () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date('1900-01-01'), max: new Date('2200-01-01'), noInvalidDate: true }),
        (date) => {
          expect(isoInstant(date.toISOString())).toBe(date.getTime());
        },
      ),
    );
  });
});

it('parseUsDate reads the month first and refuses dates that do not exist', () => {
  expect(new Date(parseUsDate('9/2/2023')).toISOString()).toBe('2023-09-02T00:00:00.000Z');
  expect(parseUsDate('09/30/2023')).toBe(parseUsDate('9/30/2023'));
  expect([parseUsDate('9/31/2023'), parseUsDate('13/1/2023'), parseUsDate('2023-09-01')]).toEqual([
    Number.NaN,
    Number.NaN,
    Number.NaN,
  ]);
});

describe('decimals', () => {
  const fromBytes = (text: string) => decimalOfBytes(Buffer.from(`,${text},`), 1, 1 + text.length);

  it('keep every digit, from bytes as from text', () => {
    for (const text of [
      '8.00155109870',
      '-0.5',
      '.5',
      '5.',
      '0.000',
      '-0.00',
      '12',
      '1.25E-6',
      '5.64902E-05',
      '1.481342497236399145',
      '+3',
      '123456789012345',
      '1234567890123456',
    ]) {
      const expected = parseDecimal(text);
      expect(fromBytes(text)).toEqual(expected);
      expect(fromBytes(` ${text} `)).toEqual(expected);
    }
    expect(formatDecimal(fromBytes('8.00155109870') ?? { unscaled: 0n, scale: 0 })).toBe('8.00155109870');
  });

  it('are summed in place as they are one by one', () => {
    const decimal = fc.record({ unscaled: fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), scale: fc.nat(20) });
    fc.assert(
      fc.property(fc.array(decimal), (all) => {
        const sum = new DecimalSum();
        for (const one of all) sum.add(one);
        expect({ ...sum }).toEqual(all.reduce(addDecimal, ZERO));
      }),
    );
  });

  it('refuse what is none', () => {
    for (const text of ['', '.', '-', 'abc', '1,000', '$1', '1.2.3', '--1', 'NaN', 'Infinity', '1e999'])
      expect(fromBytes(text)).toBeUndefined();
  });

  it('agree with the grammar of core on any text', () => {
    const text = fc
      .array(fc.constantFrom('0', '1', '9', '.', '-', '+', 'e', '5'), { maxLength: 22 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (each) => {
        expect(fromBytes(each)).toEqual(parseDecimal(each) ?? undefined);
      }),
    );
  });

  it('of a float64 are its shortest form', () => {
    expect(decimalOfNumber(0.1)).toEqual({ unscaled: 1n, scale: 1 });
    expect(decimalOfNumber(1e-7)).toEqual({ unscaled: 1n, scale: 7 });
    expect(decimalOfNumber(Number.NaN)).toBeUndefined();
  });

  it('scale to whole numbers or not at all', () => {
    expect(scaledInteger({ unscaled: 46n, scale: 2 }, 7000n)).toBe(3220);
    expect(scaledInteger({ unscaled: 1234n, scale: 4 }, 7000n)).toBeNull();
  });
});

describe('tags', () => {
  it("read JSON and Azure's pairs", () => {
    expect(parseTags('{"team": "a", "n": 1, "b": true, "none": null}')).toEqual({
      team: 'a',
      n: '1',
      b: 'true',
      none: '',
    });
    expect(parseTags('"CostCenter": "1234","env": "prod"')).toEqual({ CostCenter: '1234', env: 'prod' });
    expect([parseTags(''), parseTags('{}'), parseTags(' ')]).toEqual([null, null, null]);
  });

  it('refuse what is neither, and text that no database holds', () => {
    expect([
      parseTags('team=a'),
      parseTags('[1]'),
      parseTags('{"a":'),
      parseTags(String.raw`{"a":"\u0000"}`),
      parseTags(String.raw`{"a":"\ud800"}`),
    ]).toEqual(Array(5).fill(undefined));
    expect([isStorable('😀 é'), isStorable('\ud83d'), isStorable('\0')]).toEqual([true, false, false]);
  });
});
