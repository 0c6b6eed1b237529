/** Civil dates of bills: each day is in the month that the bill gives it, wherever the bill is made and read. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { datingOf } from '../../src/core/cost/dating.js';
import {
  DAY_MS,
  daysFromCivil,
  formatDay,
  HOUR_MS,
  monthLabel,
  monthOfLabel,
  parseDay,
  startOfLocalDay,
} from '../../src/core/time.js';

const ZONES = [
  'UTC',
  'America/Los_Angeles',
  'America/St_Johns',
  'Pacific/Pago_Pago',
  'Pacific/Kiritimati',
  'Asia/Shanghai',
  'Asia/Kathmandu',
  'Europe/Berlin',
  'Australia/Lord_Howe',
];
const zone = fc.constantFrom(...ZONES);
const month = fc
  .record({ year: fc.integer({ min: 2015, max: 2035 }), month: fc.integer({ min: 1, max: 12 }) })
  .map((at) => formatDay(daysFromCivil(at.year, at.month, 1)).slice(0, 7));

describe('a line of a bill', () => {
  it('of whole days is of the civil dates that its bill names, in the bill and in every zone that reads it', () => {
    fc.assert(
      fc.property(
        zone,
        zone,
        month,
        fc.nat(40),
        fc.nat(40),
        fc.constantFrom(0, 1, 1000, 60_000),
        (own, reader, name, from, more, short) => {
          const period = monthOfLabel(name, own)!;
          const first = parseDay(`${name}-01`)!;
          const last = daysFromCivil(Number(name.slice(0, 4)), Number(name.slice(5)) + 1, 1);
          const day = first + (from % (last - first));
          const after = Math.min(last, day + 1 + more);
          const line = { start: startOfLocalDay(own, day), end: startOfLocalDay(own, after) - short };
          const dated = datingOf(line, { periodStart: period.start, periodEnd: period.end });
          expect(dated).toEqual({ hour: day * DAY_MS, civil: true, days: after - day });
          expect(monthLabel(startOfLocalDay(reader, dated.hour / DAY_MS), reader)).toBe(name);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('of an hour is an instant, the first of the month too', () => {
    fc.assert(
      fc.property(zone, month, fc.nat(740), fc.constantFrom(1, 60, 3600), (own, name, hours, seconds) => {
        const { start, end } = monthOfLabel(name, own)!;
        const at = start + hours * HOUR_MS;
        const line = { start: at, end: at + seconds * 1000 };
        expect(datingOf(line, { periodStart: start, periodEnd: end })).toMatchObject({
          hour: Math.floor(at / HOUR_MS) * HOUR_MS,
          civil: false,
        });
      }),
    );
  });
});
