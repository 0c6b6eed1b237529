/** Minutes that are packed with an hour are those that its samples make, however the samples are divided and merged. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { MINUTE_MS } from '../../src/core/time.js';
import { DeviceHours, type DeviceHour } from '../../src/store/fleet/device-hours.js';
import {
  decodeParts,
  encodeParts,
  keyText,
  partsOf,
  readMinutes,
  spanOf,
  type MinuteRead,
} from '../../src/store/fleet/minute-block.js';
import { MEASURES, placeOf, type SampleGroup } from '../../src/store/fleet/sample-block.js';
import { NOWHERE } from '../support/records.js';

const HOUR = Date.UTC(2026, 10, 22, 20);

const value = fc.oneof(
  { weight: 3, arbitrary: fc.nat(100).map((percent) => percent / 100) },
  { weight: 1, arbitrary: fc.constant(Number.NaN) },
  { weight: 1, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e12 }) },
);
const sample = fc.record({
  source: fc.constantFrom('prometheus', 'script'),
  // More of them than fit into the bits of one number.
  gpu: fc.oneof(fc.nat(2), fc.nat(70)).map((n) => `GPU-${n}`),
  migInstance: fc.constantFrom(null, null, '1g.5gb'),
  resource: fc.constantFrom('pod-a', 'pod-b'),
  target: fc.constantFrom(null, 'i-1'),
  connection: fc.constantFrom('aws', 'aws-2'),
  team: fc.constantFrom('lab', 'vision'),
  isPartitioned: fc.constantFrom(false, false, false, true),
  minute: fc.nat(59),
  values: fc.array(value, { minLength: MEASURES.length, maxLength: MEASURES.length }),
});
type Sample = Parameters<Parameters<(typeof sample)['map']>[0]>[0];

const groupOf = ({ resource, gpu, migInstance, target, connection, team, isPartitioned }: Sample): SampleGroup => ({
  gpuModel: 'H100',
  namespace: null,
  pod: null,
  exporter: null,
  workload: null,
  workloadKind: null,
  ...NOWHERE,
  resource,
  gpu,
  migInstance,
  target,
  connection,
  team,
  isPartitioned,
});

/** By resource, what the samples of the team say, minute by minute and without any packing. */
function expected(devices: readonly DeviceHour[]): Record<string, MinuteRead[]> {
  const found = new Map<string, Map<number, { names: Set<string>; values: number[][] }>>();
  for (const device of devices)
    for (let minute = 0; minute < 60; minute += 1) {
      const group = device.group(minute);
      if (group === null || group.isPartitioned || group.team !== 'lab') continue;
      const { target, resource, connection } = group;
      const key = `${target ?? resource}\u0001${target === null ? '' : (connection ?? '')}`;
      const own = found.get(key) ?? new Map<number, { names: Set<string>; values: number[][] }>();
      found.set(key, own);
      const at = own.get(minute) ?? { names: new Set(), values: [] };
      own.set(minute, at);
      at.names.add(`${group.gpu} ${group.migInstance}`);
      at.values.push(
        (['gpuUtilisationRatio', 'memoryUsedRatio', 'powerWatts', 'memoryUsedMib', 'requestsPerSecond'] as const).map(
          (measure) => device.value(placeOf(measure), minute),
        ),
      );
    }
  return Object.fromEntries(
    [...found].map(([key, minutes]) => [
      key,
      [...minutes]
        .sort(([a], [b]) => a - b)
        .map(([minute, { names, values }]) => ({
          minute,
          devices: names.size,
          values: [0, 1, 2, 3, 4].map((place) => {
            const all = values.map((one) => one[place] ?? Number.NaN);
            const known = all.filter((one) => !Number.isNaN(one));
            return known.length === 0 || (place < 2 && known.length < all.length) ? null : Math.max(...known);
          }),
        })),
    ]),
  );
}

const isOfTeam = (group: SampleGroup): boolean => group.team === 'lab';

it('are the same from samples, from parts, and from parts of each source and pod', () => {
  fc.assert(
    fc.property(fc.array(sample, { minLength: 1, maxLength: 120 }), (samples) => {
      const hours = new DeviceHours();
      for (const one of samples) {
        const seenAt = HOUR + one.minute * MINUTE_MS;
        hours.add(one.source, { group: groupOf(one), seenAt, values: one.values, fault: null });
      }
      const devices = hours.names.flatMap((name) => hours.hoursOf(name));
      const apart = new Map<string, DeviceHour[]>();
      for (const device of devices) {
        const key = `${device.source} ${device.held[0]?.resource}`;
        apart.set(key, [...(apart.get(key) ?? []), device]);
      }
      for (const portions of [[devices], [...apart.values()], [...apart.values()].reverse()]) {
        const found = new Map<string, Buffer[]>();
        for (const portion of portions)
          for (const part of decodeParts(encodeParts(partsOf(portion, isOfTeam)))) {
            found.set(keyText(part), [...(found.get(keyText(part)) ?? []), part.body]);
            const minutes = readMinutes([part.body]).map(({ minute }) => minute);
            expect(spanOf(part)).toEqual([minutes[0], minutes.at(-1)]);
          }
        expect(Object.fromEntries([...found].map(([key, parts]) => [key, readMinutes(parts)]))).toEqual(
          expected(devices),
        );
      }
    }),
    { numRuns: 300 },
  );
});

it('say of their last minute what its samples are of', () => {
  const hours = new DeviceHours();
  const of = (gpu: string, minute: number, team: Sample['team'] = 'lab'): void => {
    const one = { gpu, minute, team, migInstance: null, isPartitioned: false, values: [] };
    const group = groupOf({ ...one, source: 'script', resource: 'pod-a', target: null, connection: 'aws' });
    hours.add('script', { group, seenAt: HOUR + minute * MINUTE_MS, values: [], fault: null });
  };
  of('GPU-0', 7);
  of('GPU-1', 31);
  of('GPU-2', 32);
  of('GPU-3', 32);
  of('GPU-4', 40, 'vision');
  const [part] = partsOf(hours.hoursOf('pod-a'), isOfTeam);
  expect(part?.newest.map(({ gpu }) => gpu)).toEqual(['GPU-2', 'GPU-3']);
  expect(part === undefined ? null : spanOf(part)).toEqual([7, 32]);
});

it('are refused in another form', () => {
  const payload = encodeParts([]);
  payload[0] = 9;
  expect(() => decodeParts(payload)).toThrow('form 1 were expected, not 9');
});
