import { describe, expect, it } from 'vitest';
import { ONE } from '../../../src/core/money.js';
import { compilePeak, NO_PEAK, type PeakRule } from '../../../src/core/price/peak.js';
import { formatInstant, HOUR_MS, parseInstant } from '../../../src/core/time.js';

const at = (text: string): number => parseInstant(text) ?? Number.NaN;
const factor = (rules: PeakRule[], instant: string): string => {
  const { numerator, denominator } = compilePeak(rules).at(at(instant));
  return `${numerator}/${denominator}`;
};
const working: PeakRule = {
  from: '09:00',
  to: '18:00',
  days: ['mon', 'tue', 'wed', 'thu', 'fri'],
  zone: 'America/New_York',
  factor: '1.15',
};

describe('the peak factor', () => {
  it('is 1 where no rule holds', () => {
    expect(NO_PEAK.at(0)).toEqual(ONE);
    expect(factor([working], '2026-07-04T15:00:00Z')).toBe('1/1');
  });

  it('holds by the clock of its zone, summer and winter', () => {
    expect(factor([working], '2026-07-06T13:00:00Z')).toBe('115/100');
    expect(factor([working], '2026-07-06T12:59:59Z')).toBe('1/1');
    expect(factor([working], '2026-01-05T13:00:00Z')).toBe('1/1');
    expect(factor([working], '2026-01-05T14:00:00Z')).toBe('115/100');
    expect(factor([working], '2026-07-06T22:00:00Z')).toBe('1/1');
  });

  it('takes the first rule that holds', () => {
    const rules: PeakRule[] = [
      { zone: 'UTC', fromDate: '2026-12-24', untilDate: '2026-12-27', factor: '0.5' },
      { zone: 'UTC', factor: '2' },
    ];
    expect(factor(rules, '2026-12-26T23:59:59Z')).toBe('5/10');
    expect(factor(rules, '2026-12-27T00:00:00Z')).toBe('2/1');
  });

  it('gives a window past midnight to the day on which it begins', () => {
    const night: PeakRule = {
      from: '22:00',
      to: '06:00',
      days: ['fri'],
      zone: 'UTC',
      untilDate: '2026-07-11',
      factor: '0.8',
    };
    expect(factor([night], '2026-07-10T22:00:00Z')).toBe('8/10');
    expect(factor([night], '2026-07-11T05:59:00Z')).toBe('8/10');
    expect(factor([night], '2026-07-11T06:00:00Z')).toBe('1/1');
    expect(factor([night], '2026-07-11T22:00:00Z')).toBe('1/1');
    expect(factor([night], '2026-07-10T05:00:00Z')).toBe('1/1');
  });

  it('splits an hour at a boundary inside it', () => {
    const india = compilePeak([{ from: '09:00', to: '18:00', zone: 'Asia/Kolkata', factor: '1.2' }]);
    expect(
      india
        .pieces(at('2026-07-06T03:00:00Z'), at('2026-07-06T05:00:00Z'))
        .map((piece) => [formatInstant(piece.start), String(piece.factor.numerator)]),
    ).toEqual([
      ['2026-07-06T03:00:00Z', '1'],
      ['2026-07-06T03:30:00Z', '12'],
    ]);
    expect(india.pieces(0, 0)).toEqual([]);
  });

  it('tiles a day of a clock change', () => {
    const schedule = compilePeak([working, { from: '01:00', to: '03:00', zone: 'Europe/Berlin', factor: '3' }]);
    const [start, end] = [at('2026-03-28'), at('2026-03-29T12:00:00Z')];
    const pieces = schedule.pieces(start, end);
    expect(pieces[0]?.start).toBe(start);
    expect(pieces.at(-1)?.end).toBe(end);
    pieces.slice(1).forEach((piece, index) => expect(piece.start).toBe(pieces[index]?.end));
    // 01:00 to 03:00 is one hour on the 29th: the clocks jump from 02:00 to 03:00.
    const tripled = pieces
      .filter((piece) => piece.factor.numerator === 3n)
      .map((piece) => (piece.end - piece.start) / HOUR_MS);
    expect(tripled).toEqual([2, 1]);
  });

  it('names every problem of every rule', () => {
    const rules = [
      { from: '9:00', to: '25:00', zone: 'Mars', factor: '0' },
      { from: '09:00', to: '09:00', zone: 'UTC', factor: 'lots', days: [], fromDate: '2026-02-30', untilDate: 'x' },
      { zone: 'UTC', factor: '1', fromDate: '2026-02-02', untilDate: '2026-02-02' },
    ];
    try {
      compilePeak(rules);
      expect.unreachable();
    } catch (error) {
      expect((error as { problems: { path: string }[] }).problems.map((problem) => problem.path)).toEqual([
        'rules/0/from',
        'rules/0/to',
        'rules/0/zone',
        'rules/0/factor',
        'rules/1/to',
        'rules/1/days',
        'rules/1/fromDate',
        'rules/1/untilDate',
        'rules/1/factor',
        'rules/2/untilDate',
      ]);
    }
  });
});
