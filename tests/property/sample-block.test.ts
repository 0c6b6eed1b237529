/** A block of samples gives back exactly what it took; what was not measured stays so. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { DeviceHours, type SampleEntry } from '../../src/store/fleet/device-hours.js';
import {
  MEASURES,
  placeOf,
  readSamples,
  SampleBlockBuilder,
  type SampleColumns,
  type SampleGroup,
} from '../../src/store/fleet/sample-block.js';
import { asReal, entryOf } from '../../src/store/fleet/sample-entries.js';
import { NOWHERE } from '../support/records.js';

const HOUR = Date.UTC(2026, 10, 22, 20);

const group = (over: Partial<SampleGroup> = {}): SampleGroup => ({
  resource: 'host-1',
  gpu: 'GPU-0',
  migInstance: null,
  gpuModel: 'H100',
  namespace: null,
  pod: null,
  exporter: null,
  team: 'lab',
  workload: null,
  workloadKind: null,
  isPartitioned: false,
  ...NOWHERE,
  ...over,
});

const measure = fc.oneof(
  fc.constant(Number.NaN),
  fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
  fc.nat(700_000).map((milliwatts) => milliwatts / 1000),
  fc.maxSafeNat(),
  fc.double(),
  fc.constantFrom(0, -0, 1e-300, 1e300, Infinity, -Infinity, 0.1 + 0.2),
);
const sample = fc.record({
  group: fc.nat(4),
  seenAt: fc.oneof(fc.nat(3_599_999), fc.nat(2 ** 41)).map((ms) => HOUR + ms),
  values: fc.array(measure, { minLength: MEASURES.length, maxLength: MEASURES.length }),
  fault: fc.option(fc.string(), { nil: null }),
});
const text = fc.option(fc.string(), { nil: null });
const groups = fc.uniqueArray(fc.record({ resource: fc.string(), gpu: fc.string(), migInstance: text, pod: text }), {
  minLength: 5,
  maxLength: 5,
  selector: (one) => JSON.stringify(one),
});

const rowsOf = ({ groups: all, groupOf, seenAt, values, faults }: SampleColumns): SampleEntry[] =>
  [...seenAt].map((seen, n) => ({
    group: all[groupOf[n] ?? 0] as SampleGroup,
    seenAt: seen,
    values: MEASURES.map((_, place) => values[place]?.[n] ?? Number.NaN),
    fault: faults.get(n) ?? null,
  }));

it.each([1, 6])('gives back what it took, compressed at level %i', (level) => {
  fc.assert(
    fc.property(groups, fc.array(sample, { minLength: 1, maxLength: 60 }), (kinds, samples) => {
      const known = kinds.map((kind) => group(kind));
      const entries = samples.map((one): SampleEntry => ({ ...one, group: known[one.group] as SampleGroup }));
      const builder = new SampleBlockBuilder();
      for (const { group: own, seenAt, values, fault } of entries) builder.add(own, seenAt, values, fault);
      expect(builder.count).toBe(entries.length);
      expect(rowsOf(readSamples(builder.encode(level)))).toEqual(entries);
    }),
    { numRuns: 300 },
  );
});

it('refuses bytes of another form', () => {
  const builder = new SampleBlockBuilder();
  builder.add(group(), HOUR, [], null);
  const payload = builder.encode(1);
  payload[0] = 9;
  expect(() => readSamples(payload)).toThrow('form 1 was expected, not 9');
  payload[0] = 1;
  expect(() => readSamples(payload.subarray(0, 5))).toThrow();
});

it('takes a few bytes for each of the minutes of a machine', () => {
  const builder = new SampleBlockBuilder();
  for (let gpu = 0; gpu < 8; gpu += 1) {
    const own = group({ gpu: `GPU-0b1c2d3e-0000-4000-8000-00000000000${gpu}` });
    for (let minute = 0; minute < 60; minute += 1)
      builder.add(
        own,
        HOUR + minute * 60_000,
        [0.9, 0.7512345, 61_234, 60 + (minute % 5), 650.125, 0, Number.NaN],
        null,
      );
  }
  expect(builder.encode(6).length / builder.count).toBeLessThan(5);
});

it('shortens to what 32 bits hold, and never turns the unknown into a number', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 }), (value) => {
      const short = asReal(value);
      expect(Math.fround(short)).toBe(Math.fround(value) + 0);
      expect(asReal(short)).toBe(short);
    }),
  );
  expect([0.37, 312.456, 61, 0.1 + 0.2, 1 / 3, 16_777_217].map(asReal)).toEqual([
    0.37, 312.456, 61, 0.3, 0.33333334, 16_777_216,
  ]);
  const unknown = entryOf({
    ...group(),
    at: HOUR,
    gpuUtilisationRatio: null,
    memoryUsedRatio: Number.NaN,
    memoryUsedMib: null,
    temperatureCelsius: Infinity,
    powerWatts: null,
    pcieReplays: null,
    requestsPerSecond: null,
    networkLatencySeconds: null,
    labels: {},
  });
  expect(Array.from(unknown.values)).toEqual(MEASURES.map(() => Number.NaN));
});

it('keeps the newest of a minute, whatever the order in which blocks of it come', () => {
  const entry = fc.record({ seenAt: fc.nat(599_999).map((ms) => HOUR + ms), gpu: fc.nat(2), value: fc.nat(1000) });
  fc.assert(
    fc.property(fc.uniqueArray(entry, { selector: ({ seenAt, gpu }) => `${seenAt} ${gpu}` }), fc.nat(9), (all, cut) => {
      const expected = new Map<string, number>();
      for (const { seenAt, gpu, value } of all.toSorted((a, b) => a.seenAt - b.seenAt))
        expected.set(`GPU-${gpu} ${Math.floor((seenAt - HOUR) / 60_000)}`, value);
      const hours = new DeviceHours();
      for (const some of [all.slice(cut), all.slice(0, cut), all.slice(cut)]) {
        if (some.length === 0) continue;
        const builder = new SampleBlockBuilder();
        for (const { seenAt, gpu, value } of some)
          builder.add(
            group({ gpu: `GPU-${gpu}` }),
            seenAt,
            MEASURES.map(() => value),
            null,
          );
        hours.addBlock('a', readSamples(builder.encode(1)), () => true);
      }
      const found = new Map<string, number>();
      for (const device of hours.hoursOf('host-1'))
        device.seenAt.forEach((_, minute) => {
          const own = device.group(minute);
          if (own !== null) found.set(`${own.gpu} ${minute}`, device.value(placeOf('powerWatts'), minute));
        });
      expect(found).toEqual(expected);
    }),
    { numRuns: 200 },
  );
});
