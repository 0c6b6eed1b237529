/** The hand-written reader of a record and its schema accept the same values. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRecord, recordSchema } from '../../src/formats/bursar.js';
import { readRecord as readEvent, recordSchema as eventSchema } from '../../src/formats/cloudevents.js';

const junk = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    undefined,
    '',
    ' ',
    'x',
    0,
    -1,
    -0,
    0.5,
    1e21,
    Number.NaN,
    'x'.repeat(600),
    'a\0b',
    '\ud800',
    [],
    {},
    true,
    '2026-10-01',
    '1e3',
  ),
  fc.jsonValue(),
);
const text = fc.constantFrom<unknown>('a', 'team-1', 'é', 'x'.repeat(512));
const FIELDS: Record<string, fc.Arbitrary<unknown>> = {
  id: text,
  provider: text,
  account: text,
  subAccount: text,
  resource: text,
  namespace: text,
  service: text,
  sku: text,
  region: text,
  term: fc.constantFrom('spot', 'on-demand', 'reserved-1y', 'Spot'),
  gpuModel: fc.constantFrom('A30', 'H100', 'unheard of'),
  gpus: fc.constantFrom<unknown>(0, 1, 0.46, 0.0001, '8', '0.333', '1e2', -1, 100_000, 100_001),
  gpuMilli: fc.constantFrom<unknown>(460, 1000, 0.5, -1, 100_000_000),
  migProfile: fc.constantFrom('1g.10gb', '3g.20gb', '4g.24gb', '5g.1gb', '1g.6gb'),
  storageGib: fc.constantFrom<unknown>(0, 500, '1.25', 1e10, -1),
  networkGib: fc.constantFrom<unknown>(0.5, '3', 1e9),
  networkBytes: fc.constantFrom<unknown>(0, 1e6, 2 ** 53, 1.5),
  start: fc.constantFrom('2026-10-01T00:00:00Z', '2026-10-02', 'soon', '1999-12-31T23:59:59Z'),
  end: fc.constantFrom('2026-10-02T00:00:00+01:00', '2026-09-01T00:00:00Z', '2028-01-01T00:00:00Z', '2100-01-01'),
  tags: fc.oneof(
    fc.dictionary(fc.string(), fc.string(), { maxKeys: 4 }),
    fc.constant({ a: 1 }),
    fc.constantFrom('{"__proto__":"x"}', '{"__proto__":5}').map((json) => JSON.parse(json) as unknown),
  ),
  labels: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }),
};

/** Mostly sound records, with a few fields left out, replaced or added. */
const record = fc
  .tuple(
    fc.record(FIELDS, { requiredKeys: [] }),
    fc.dictionary(fc.constantFrom(...Object.keys(FIELDS), 'extra'), junk, { maxKeys: 2 }),
    fc.boolean(),
  )
  .map(([fields, replaced, plain]) => {
    const sound = { id: 'a', provider: 'aws', gpus: 1, start: '2026-10-01T00:00:00Z', end: '2026-10-01T01:00:00Z' };
    const oneGpuStatement = 'gpuMilli' in fields || 'migProfile' in fields ? { gpus: undefined } : {};
    return plain ? { ...sound, ...replaced } : { ...sound, ...oneGpuStatement, ...fields, ...replaced };
  });

describe('readRecord and recordSchema', () => {
  it('accept the same records', () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof({ weight: 20, arbitrary: record }, junk), (value) => {
        const bySchema = recordSchema.safeParse(value).success;
        const byHand = readRecord(value, '', []) !== null;
        expect(byHand).toBe(bySchema);
        if (byHand) accepted++;
      }),
      { numRuns: 4000 },
    );
    expect(accepted).toBeGreaterThan(200);
  });

  it('accept the same events', () => {
    const event = fc.record(
      {
        specversion: fc.constantFrom('1.0', '1.0', '1.0', '0.3'),
        type: fc.constantFrom('bursar.usage.v1', 'bursar.usage.v1', 'x'),
        source: fc.constantFrom('/a', 'urn:x', 'a b', '', 5),
        id: fc.constantFrom('1', 'x'.repeat(255), 'x'.repeat(256)),
        data: record,
        datacontenttype: fc.constantFrom('application/json', 'text/plain', undefined),
        other: junk,
      },
      { requiredKeys: ['specversion', 'type', 'source', 'id'] },
    );
    fc.assert(
      fc.property(fc.oneof({ weight: 20, arbitrary: event }, junk), (value) => {
        expect(readEvent(value, '', []) !== null).toBe(eventSchema.safeParse(value).success);
      }),
      { numRuns: 2000 },
    );
  });

  it('name a problem whenever they refuse', () => {
    fc.assert(
      fc.property(record, (value) => {
        const problems: { path: string | null; message: string }[] = [];
        expect(readRecord(value, 'records/0', problems) === null).toBe(problems.length > 0);
        expect(problems.every(({ path }) => path?.startsWith('records/0'))).toBe(true);
      }),
    );
  });
});
