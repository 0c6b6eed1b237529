/**
 * Times, hours, days and periods: epoch milliseconds in UTC, half-open intervals, and the civil calendar of a zone.
 *
 * Never reads a clock: a time is passed in as a number. Intl is used only for the offset of a zone at a time. The
 * invariant: the periods of a kind tile time, each instant lies in exactly one, and a period begins at the first
 * instant of a local day, whether that day has 23, 24 or 25 hours.
 */
import { assert, invalid } from './errors.js';

/** Tells the time, in epoch milliseconds UTC; clock.ts has the real one. */
export interface Clock {
  now(): number;
}

export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** Half-open, epoch milliseconds. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** A month, a calendar quarter, a year; or periods of a fixed number of days that repeat from a first local day. */
export type PeriodKind = 'month' | 'quarter' | 'year' | { readonly start: string; readonly lengthDays: number };

/** A day of the proleptic Gregorian calendar. Months and days count from 1. */
export interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** The UTC hour's first millisecond. */
export const hourOf = (instant: number): number => Math.floor(instant / HOUR_MS) * HOUR_MS;
/** The UTC day's first millisecond. */
export const dayOf = (instant: number): number => Math.floor(instant / DAY_MS) * DAY_MS;

const DAYS_PER_ERA = 146_097;
const EPOCH_FROM_ERA = 719_468;

/**
 * Days from 1970-01-01 to a civil date; a month past 12 runs into the following years.
 * Years begin in March, so that the leap day is the last (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms").
 */
export function daysFromCivil(year: number, month: number, day: number): number {
  const months = year * 12 + month - 3;
  const marchYear = Math.floor(months / 12);
  const monthFromMarch = months - marchYear * 12;
  const era = Math.floor(marchYear / 400);
  const yearOfEra = marchYear - era * 400;
  const dayOfYear = Math.floor((153 * monthFromMarch + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * DAYS_PER_ERA + dayOfEra - EPOCH_FROM_ERA;
}

/** The civil date of a count of days from 1970-01-01. */
export function civilFromDays(days: number): CivilDate {
  const shifted = days + EPOCH_FROM_ERA;
  const era = Math.floor(shifted / DAYS_PER_ERA);
  const dayOfEra = shifted - era * DAYS_PER_ERA;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const monthFromMarch = Math.floor((5 * dayOfYear + 2) / 153);
  const month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * monthFromMarch + 2) / 5) + 1,
  };
}

/** 0 is Monday, 6 is Sunday (1970-01-01 was a Thursday). */
export const weekdayOfDays = (days: number): number => (((days + 3) % 7) + 7) % 7;

/** Days from 1970-01-01 of `YYYY-MM-DD`, or null if that is not a day of the calendar. */
export function parseDay(text: string): number | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  const days = match === null ? Number.NaN : epochDay(Number(match[1]), Number(match[2]), Number(match[3]));
  return Number.isNaN(days) ? null : days;
}

const DAYS_IN_MONTH: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days from 1970-01-01 to the date, or NaN where the calendar has no such date. */
export function epochDay(year: number, month: number, day: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const last = month === 2 && isLeap ? 29 : (DAYS_IN_MONTH[month - 1] ?? 0);
  // There is no year 0 (ISO 8601 has one, PostgreSQL none).
  return year >= 1 && day >= 1 && day <= last ? daysFromCivil(year, month, day) : Number.NaN;
}

/** The number in the two digits at `at`, or NaN. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/**
 * Epoch milliseconds of an ISO 8601 instant (`2025-06-23T13:18:30Z`, `... 13:18+02:00`, `2025-06-23 13:18:30`, a date
 * alone); NaN for anything else. Without an offset the time is UTC. What is finer than a millisecond is cut. A date
 * that does not exist is no instant: nothing rolls over.
 *
 * Reads letter by letter rather than by a pattern: a bill has hundreds of millions of them.
 */
export function isoInstant(text: string): number {
  const day = epochDay(twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8));
  if (text.charCodeAt(4) !== 45 || text.charCodeAt(7) !== 45) return Number.NaN;
  const midnight = day * DAY_MS;
  if (text.length === 10) return midnight;
  const separator = text[10];
  const hour = twoDigits(text, 11);
  const hasTime = (separator === 'T' || separator === ' ' || separator === 't') && !Number.isNaN(hour);
  if (!hasTime) return withTail(midnight, 0, text.slice(10), false);
  const minute = twoDigits(text, 14);
  const hasSeconds = text[16] === ':';
  const second = hasSeconds ? twoDigits(text, 17) : 0;
  const time = hour * HOUR_MS + minute * MINUTE_MS + second * 1000;
  if (text[13] !== ':' || !(minute <= 59) || !(second <= 59) || !(time <= DAY_MS)) return Number.NaN;
  const tail = text.slice(hasSeconds ? 19 : 16);
  return tail === '' || tail === 'Z' ? midnight + time : withTail(midnight, time, tail, hasSeconds);
}

const TAIL = /^(?:[.,](\d{1,12}))? ?(?:Z|z|UTC|GMT|([+-])(\d\d)(?::?(\d\d))?)?$/;

/** Applies a fraction of a second, where seconds stand before it, and a zone. */
function withTail(midnight: number, time: number, tail: string, hasSeconds: boolean): number {
  const match = TAIL.exec(tail);
  if (match === null || (match[1] !== undefined && !hasSeconds)) return Number.NaN;
  const milliseconds = match[1] === undefined ? 0 : Number(match[1].slice(0, 3).padEnd(3, '0'));
  const offsetHours = Number(match[3] ?? 0);
  const offsetMinutes = Number(match[4] ?? 0);
  if (time + milliseconds > DAY_MS || offsetHours > 23 || offsetMinutes > 59) return Number.NaN;
  const offset = offsetHours * HOUR_MS + offsetMinutes * MINUTE_MS;
  return midnight + time + milliseconds - (match[2] === '-' ? -offset : offset);
}

const UNIX_SECONDS = /^-?\d{1,11}(?:\.\d+)?$/;

/**
 * Epoch milliseconds of what `isoInstant` reads, or of Unix seconds (up to 11 digits); null for anything else. Eight
 * digits that spell a date (`20250623`) are null: they read both ways.
 */
export function parseInstant(text: string): number | null {
  const instant = isoInstant(text);
  return Number.isNaN(instant) ? parseUnixSeconds(text) : instant;
}

function parseUnixSeconds(text: string): number | null {
  if (!UNIX_SECONDS.test(text)) return null;
  if (text.length === 8 && parseDay(`${text.slice(0, 4)}-${text.slice(4, 6)}-${text.slice(6)}`) !== null) return null;
  return Math.floor(Number(text) * 1000 + 1e-6);
}

const pad = (value: number, length: number): string => String(value).padStart(length, '0');

/** `YYYY-MM-DD` of a count of days from 1970-01-01. */
export function formatDay(days: number): string {
  const { year, month, day } = civilFromDays(days);
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`;
}

/** `2025-06-23T13:18:30Z`; milliseconds are written where there are any. */
export function formatInstant(instant: number): string {
  const days = Math.floor(instant / DAY_MS);
  const time = instant - days * DAY_MS;
  const [hours, minutes, seconds] = [
    Math.floor(time / HOUR_MS),
    Math.floor(time / MINUTE_MS) % 60,
    Math.floor(time / 1000) % 60,
  ];
  const fraction = time % 1000 === 0 ? '' : `.${pad(time % 1000, 3)}`;
  return `${formatDay(days)}T${pad(hours, 2)}:${pad(minutes, 2)}:${pad(seconds, 2)}${fraction}Z`;
}

/** In sentences for people: `2025-06-23 13:18 UTC`. */
export const sayInstant = (instant: number): string =>
  `${formatInstant(Math.floor(instant / MINUTE_MS) * MINUTE_MS)
    .slice(0, 16)
    .replace('T', ' ')} UTC`;

/** The offsets of one zone. An offset is looked up once per UTC day, unless it changes within that day. */
interface Zone {
  readonly format: Intl.DateTimeFormat;
  readonly byDay: Map<number, number>;
}

const zones = new Map<string, Zone>();
const MOST_CACHED_DAYS = 50_000;
const MOST_CACHED_ZONES = 1000;

function zoneOf(name: string): Zone {
  const known = zones.get(name);
  if (known !== undefined) return known;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  } catch {
    throw invalid(`unknown time zone ${JSON.stringify(name)}`, [{ path: 'zone', message: 'is not an IANA time zone' }]);
  }
  if (zones.size >= MOST_CACHED_ZONES) zones.clear();
  const zone = { format, byDay: new Map<number, number>() };
  zones.set(name, zone);
  return zone;
}

/**
 * Names that ICU has beside those of IANA's database. PostgreSQL knows none of them or, as of IST, another zone: its
 * days would be others than those that are shown.
 */
const OF_ICU_ALONE =
  /^([ABC][CS]T|AET|AGT|ART|BET|CAT|CNT|CTT|EAT|ECT|[IJNPS]ST|IET|MIT|NET|PLT|PNT|PRT|VST|US\/Pacific-New|SystemV\/.*)$/i;

/** Whether the name is one of IANA's that this machine knows. */
export function isZone(name: string): boolean {
  if (OF_ICU_ALONE.test(name)) return false;
  try {
    zoneOf(name);
    return true;
  } catch {
    return false;
  }
}

/** As IANA's database links them since 2024b. PostgreSQL takes these names for abbreviations: its winter never ends. */
const LINKED: Readonly<Record<string, string>> = {
  CET: 'Europe/Brussels',
  EET: 'Europe/Athens',
  MET: 'Europe/Brussels',
  WET: 'Europe/Lisbon',
};

/** The same zone by a name that PostgreSQL knows it by. */
export const plainZone = (zone: string): string => LINKED[zone.toUpperCase()] ?? zone;

function readOffset(zone: Zone, instant: number): number {
  const name = zone.format.formatToParts(instant).find((part) => part.type === 'timeZoneName')?.value ?? '';
  const match = /^GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(name);
  assert(match !== null, `an offset reads GMT+hh:mm (${name})`);
  const size = Number(match[2] ?? 0) * HOUR_MS + Number(match[3] ?? 0) * MINUTE_MS + Number(match[4] ?? 0) * 1000;
  return match[1] === '-' ? -size : size;
}

/** Milliseconds that the zone's clocks are ahead of UTC at the instant. */
export function offsetAt(zoneName: string, instant: number): number {
  if (zoneName === 'UTC') return 0;
  const zone = zoneOf(zoneName);
  const day = Math.floor(instant / DAY_MS);
  let offset = zone.byDay.get(day);
  if (offset === undefined) {
    const first = readOffset(zone, day * DAY_MS);
    offset = first === readOffset(zone, (day + 1) * DAY_MS) ? first : Number.NaN;
    if (zone.byDay.size >= MOST_CACHED_DAYS) zone.byDay.clear();
    zone.byDay.set(day, offset);
  }
  return Number.isNaN(offset) ? readOffset(zone, instant) : offset;
}

/** Days from 1970-01-01 of the local date at the instant. */
export const localDays = (zone: string, instant: number): number =>
  Math.floor((instant + offsetAt(zone, instant)) / DAY_MS);

/**
 * The first instant of a local day: midnight, the first of two, or, where the clocks jump over it, the moment of the
 * jump. A local day that a zone left out altogether (Apia, 2011-12-30) begins, empty, where the next one does.
 */
export const startOfLocalDay = (zone: string, days: number): number => instantOfLocal(zone, days * DAY_MS);

/**
 * The instant at which a zone's clocks show a time, given as if it were of UTC: the first of two, or, where the clocks
 * jump over it, the moment of the jump.
 */
export function instantOfLocal(zone: string, local: number): number {
  const before = offsetAt(zone, local - DAY_MS);
  const after = offsetAt(zone, local + DAY_MS);
  const candidates = [local - Math.max(before, after), local - Math.min(before, after)] as const;
  for (const candidate of candidates) {
    if (candidate + offsetAt(zone, candidate) === local) return candidate;
  }
  let [low, high]: [number, number] = [...candidates];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** The period of a kind that holds the instant, from local midnight to local midnight of the zone. */
export function periodOf(kind: PeriodKind, instant: number, zone: string): Interval {
  const today = localDays(zone, instant);
  if (typeof kind === 'object') return customPeriod(kind.start, kind.lengthDays, today, zone);
  const { year, month } = civilFromDays(today);
  const length = kind === 'month' ? 1 : kind === 'quarter' ? 3 : 12;
  const first = month - ((month - 1) % length);
  return {
    start: startOfLocalDay(zone, daysFromCivil(year, first, 1)),
    end: startOfLocalDay(zone, daysFromCivil(year, first + length, 1)),
  };
}

function customPeriod(start: string, lengthDays: number, today: number, zone: string): Interval {
  const first = parseDay(start);
  if (first === null || !Number.isSafeInteger(lengthDays) || lengthDays < 1) {
    throw invalid('a custom period has a first day and a length', [
      ...(first === null ? [{ path: 'period/start', message: 'is not a day written YYYY-MM-DD' }] : []),
      ...(Number.isSafeInteger(lengthDays) && lengthDays >= 1
        ? []
        : [{ path: 'period/lengthDays', message: 'is not a whole number of 1 or more' }]),
    ]);
  }
  const begin = first + Math.floor((today - first) / lengthDays) * lengthDays;
  return { start: startOfLocalDay(zone, begin), end: startOfLocalDay(zone, begin + lengthDays) };
}

/**
 * A period by its local days, as people name it: `2026-11`, `2026-Q4`, `2026`, or its first day and how many days it
 * has, `2026-11-02/14`.
 */
export function periodName({ start, end }: Interval, zone: string): string {
  const [first, after] = [localDays(zone, start), localDays(zone, end)];
  const { year, month, day } = civilFromDays(first);
  const months = ([1, 3, 12] as const).find((count) => daysFromCivil(year, month + count, 1) === after);
  if (day !== 1 || months === undefined || (month - 1) % months !== 0) return `${formatDay(first)}/${after - first}`;
  if (months === 12) return pad(year, 4);
  return months === 3 ? `${pad(year, 4)}-Q${(month + 2) / 3}` : formatDay(first).slice(0, 7);
}

/** `2026-10-03`: the local day at the instant. */
export const dayLabel = (instant: number, zone: string): string => formatDay(localDays(zone, instant));

/**
 * The day that begins nearest to an instant that is midnight somewhere: a bill says when its month begins, but not in
 * which zone. Right from 10 hours behind UTC to 13 ahead.
 */
export const nearestDay = (midnight: number): string => formatDay(Math.floor((midnight + 13 * HOUR_MS) / DAY_MS));

/** `2026-10`: the local month at the instant. */
export const monthLabel = (instant: number, zone: string): string => dayLabel(instant, zone).slice(0, 7);

/** `2026-11` of `2026-10`; the label itself if it names no month. */
export function monthAfter(label: string): string {
  const first = parseDay(`${label}-01`);
  return first === null ? label : formatDay(first + 31).slice(0, 7);
}

/** The month that `2026-10` names, in a zone; null if it names none. */
export function monthOfLabel(label: string, zone: string): Interval | null {
  const first = parseDay(`${label}-01`);
  return first === null ? null : periodOf('month', startOfLocalDay(zone, first), zone);
}

/** The day of a time that is not over yet at `now`; null: none is. What it is compared with is a whole day. */
export function runningDay(
  { from, to }: { readonly from: string; readonly to: string },
  zone: string,
  now: number,
): string | null {
  const today = dayLabel(now, zone);
  return from <= today && today < to ? today : null;
}
