import { describe, expect, it } from 'vitest';
import {
  DAY_MS,
  HOUR_MS,
  civilFromDays,
  dayLabel,
  daysFromCivil,
  formatDay,
  formatInstant,
  hourOf,
  isZone,
  localDays,
  monthAfter,
  monthLabel,
  monthOfLabel,
  parseDay,
  parseInstant,
  nearestDay,
  periodName,
  periodOf,
  startOfLocalDay,
  weekdayOfDays,
} from '../../../src/core/time.js';

const at = (text: string): number => {
  const instant = parseInstant(text);
  if (instant === null) throw new Error(text);
  return instant;
};
const show = (interval: { start: number; end: number }): string =>
  `${formatInstant(interval.start)} ${formatInstant(interval.end)}`;

describe('parseInstant', () => {
  it.each([
    ['1970-01-01T00:00:00Z', 0],
    ['2025-06-23T13:18:30Z', 1_750_684_710_000],
    ['2025-06-23 13:18:30', 1_750_684_710_000],
    ['2025-06-23 13:18:30 UTC', 1_750_684_710_000],
    ['2025-06-23T15:18:30+02:00', 1_750_684_710_000],
    ['2025-06-23T08:18:30-0500', 1_750_684_710_000],
    ['2025-06-23T13:18:30.1239Z', 1_750_684_710_123],
    ['2025-06-23', 1_750_636_800_000],
    ['2025-06-22T24:00:00Z', 1_750_636_800_000],
    ['2024-02-29', 1_709_164_800_000],
    ['1750684710', 1_750_684_710_000],
    ['1750684710.5', 1_750_684_710_500],
    ['0', 0],
    ['-60', -60_000],
  ])('%s', (text, expected) => expect(parseInstant(text)).toBe(expected));

  it.each([
    '',
    'yesterday',
    '2025-02-29',
    '2025-13-01',
    '2025-00-10',
    '2025-06-31',
    '2025-06-23T25:00:00Z',
    '2025-06-23T24:00:01Z',
    '2025-06-23T12:60:00Z',
    '20250623',
    '2025/06-23',
    '2025-06/23',
    '2025/06/23T13:18:30Z',
    '1750684710000',
    '06/23/2025',
    '2025-06-23T13:18:30+24:00',
    '1e9',
  ])('refuses %j', (text) => expect(parseInstant(text)).toBeNull());

  it('agrees with the engine on every day of two centuries', () => {
    for (let days = -36_500; days < 36_500; days += 1) {
      const text = new Date(days * DAY_MS).toISOString().slice(0, 10);
      expect(formatDay(days)).toBe(text);
      expect(parseDay(text)).toBe(days);
      expect(weekdayOfDays(days)).toBe((new Date(days * DAY_MS).getUTCDay() + 6) % 7);
    }
  });

  it('survives the way out and in', () => {
    for (const instant of [0, -1, 1_750_684_710_123, DAY_MS - 1, 4_102_444_800_000])
      expect(parseInstant(formatInstant(instant))).toBe(instant);
    expect(formatInstant(1_750_684_710_000)).toBe('2025-06-23T13:18:30Z');
  });
});

describe('the calendar of a zone', () => {
  it('rolls months over the year', () => {
    expect(civilFromDays(daysFromCivil(2025, 13, 1))).toEqual({ year: 2026, month: 1, day: 1 });
    expect(civilFromDays(daysFromCivil(2025, 0, 1))).toEqual({ year: 2024, month: 12, day: 1 });
  });

  it('bounds a month by local midnights on both sides of a clock change', () => {
    expect(show(periodOf('month', at('2026-03-15'), 'America/New_York'))).toBe(
      '2026-03-01T05:00:00Z 2026-04-01T04:00:00Z',
    );
    expect(show(periodOf('month', at('2026-10-31T23:30:00Z'), 'Europe/Berlin'))).toBe(
      '2026-10-31T23:00:00Z 2026-11-30T23:00:00Z',
    );
    expect(show(periodOf('quarter', at('2026-05-01'), 'Asia/Shanghai'))).toBe(
      '2026-03-31T16:00:00Z 2026-06-30T16:00:00Z',
    );
    expect(show(periodOf('year', at('2026-12-31T20:00:00Z'), 'Asia/Kolkata'))).toBe(
      '2026-12-31T18:30:00Z 2027-12-31T18:30:00Z',
    );
    expect(show(periodOf('month', at('2024-02-10'), 'UTC'))).toBe('2024-02-01T00:00:00Z 2024-03-01T00:00:00Z');
  });

  it('repeats a custom period on both sides of its first day', () => {
    const fortnight = { start: '2026-01-05', lengthDays: 14 };
    expect(show(periodOf(fortnight, at('2026-01-19T00:00:00Z'), 'UTC'))).toBe(
      '2026-01-19T00:00:00Z 2026-02-02T00:00:00Z',
    );
    expect(show(periodOf(fortnight, at('2026-01-04T23:59:59Z'), 'UTC'))).toBe(
      '2025-12-22T00:00:00Z 2026-01-05T00:00:00Z',
    );
    expect(() => periodOf({ start: 'soon', lengthDays: 0 }, 0, 'UTC')).toThrow(
      expect.objectContaining({ problems: [expect.anything(), expect.anything()] }),
    );
  });

  it('finds the first instant of a day whose midnight is skipped, doubled, or whose day is left out', () => {
    const start = (zone: string, day: string): string =>
      formatInstant(startOfLocalDay(zone, parseDay(day) ?? Number.NaN));
    expect(start('America/Sao_Paulo', '2018-11-04')).toBe('2018-11-04T03:00:00Z');
    expect(start('America/Sao_Paulo', '2018-02-18')).toBe('2018-02-18T03:00:00Z');
    expect(start('America/Havana', '2025-11-02')).toBe('2025-11-02T04:00:00Z');
    expect(start('Pacific/Apia', '2011-12-30')).toBe('2011-12-30T10:00:00Z');
    expect(start('Pacific/Apia', '2011-12-31')).toBe('2011-12-30T10:00:00Z');
    expect(start('America/New_York', '2026-11-02')).toBe('2026-11-02T05:00:00Z');
  });

  it.each([
    'America/New_York',
    'Europe/London',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'America/Sao_Paulo',
    'Africa/Cairo',
    'Pacific/Apia',
  ])('months of %s tile ten years', (zone) => {
    let instant = at('2010-01-15');
    while (instant < at('2020-01-15')) {
      const month = periodOf('month', instant, zone);
      expect(month.start <= instant && instant < month.end).toBe(true);
      expect(monthLabel(month.end - 1, zone)).toBe(monthLabel(month.start, zone));
      expect(monthLabel(month.end, zone)).not.toBe(monthLabel(month.start, zone));
      expect(periodOf('month', month.end, zone).start).toBe(month.end);
      instant = month.end;
    }
  });

  it('labels', () => {
    expect(dayLabel(at('2026-10-03T23:30:00Z'), 'Asia/Tokyo')).toBe('2026-10-04');
    expect(monthLabel(at('2026-10-01T03:00:00Z'), 'America/New_York')).toBe('2026-09');
    expect(monthOfLabel('2026-10', 'UTC')).toEqual({ start: at('2026-10-01'), end: at('2026-11-01') });
    expect(monthOfLabel('2026-13', 'UTC')).toBeNull();
    expect(localDays('UTC', -1)).toBe(-1);
    expect(isZone('Mars/Olympus')).toBe(false);
    // Of ICU alone: PostgreSQL knows another zone by it, or none.
    for (const name of ['IST', 'PST', 'vst', 'ACT', 'US/Pacific-New', 'SystemV/AST4']) expect(isZone(name)).toBe(false);
    for (const name of ['EST', 'CET', 'PRC', 'Etc/GMT+5', 'Asia/Calcutta']) expect(isZone(name)).toBe(true);
    expect(isZone('Europe/Paris')).toBe(true);
    expect(() => periodOf('month', 0, 'Mars/Olympus')).toThrow('unknown time zone');
  });
});

describe('a period is named as people name it', () => {
  it.each<[string, string, string]>([
    ['2026-11', '2026-11-01', '2026-12-01'],
    ['2026-12', '2026-12-01', '2027-01-01'],
    ['2024-02', '2024-02-01', '2024-03-01'],
    ['2026-Q1', '2026-01-01', '2026-04-01'],
    ['2026-Q4', '2026-10-01', '2027-01-01'],
    ['2026', '2026-01-01', '2027-01-01'],
    ['2026-02-01/89', '2026-02-01', '2026-05-01'],
    ['2026-04-01/365', '2026-04-01', '2027-04-01'],
    ['2026-11-02/30', '2026-11-02', '2026-12-02'],
    ['2026-11-02/14', '2026-11-02', '2026-11-16'],
    ['2026-01-01/59', '2026-01-01', '2026-03-01'],
  ])('%s', (name, start, end) => {
    expect(periodName({ start: at(start), end: at(end) }, 'UTC')).toBe(name);
    const berlin = { start: startOfLocalDay('Europe/Berlin', parseDay(start)!), end: 0 };
    const after = startOfLocalDay('Europe/Berlin', parseDay(end)!);
    expect(periodName({ ...berlin, end: after }, 'Europe/Berlin')).toBe(name);
  });

  it('and a month has one after it', () => {
    expect(['2026-01', '2026-02', '2026-12', 'x'].map(monthAfter)).toEqual(['2026-02', '2026-03', '2027-01', 'x']);
  });
});

it('an hour begins at its first millisecond, before 1970 too', () => {
  expect([hourOf(-1), hourOf(HOUR_MS - 1), hourOf(HOUR_MS)]).toEqual([-HOUR_MS, 0, HOUR_MS]);
});

it.each([
  ['UTC', '2026-11-01T00:00:00Z'],
  ['Asia/Shanghai', '2026-10-31T16:00:00Z'],
  ['America/Los_Angeles', '2026-11-01T07:00:00Z'],
  ['Pacific/Honolulu', '2026-11-01T10:00:00Z'],
  ['Pacific/Auckland', '2026-10-31T11:00:00Z'],
])('the month of a bill begins on the first, whichever midnight it states: that of %s', (_, midnight) => {
  expect(nearestDay(Date.parse(midnight))).toBe('2026-11-01');
});
