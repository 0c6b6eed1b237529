/** Usage records as JSON: Bursar's own and CloudEvents, in every form of file, with every problem named. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../src/core/errors.js';
import { format as bursar, readRecord } from '../../../src/formats/bursar.js';
import { format as cloudevents, readRecord as readEvent } from '../../../src/formats/cloudevents.js';
import { openBytes } from '../../../src/formats/reading/input.js';
import { usageOf, usageOfText } from './reading.js';
import { metered } from '../../support/records.js';

const RECORD = { id: 'a', provider: 'aws', gpus: 8, start: '2026-10-01T00:00:00Z', end: '2026-10-01T01:00:00Z' };
const EVENT = {
  specversion: '1.0',
  type: 'bursar.usage.v1',
  source: '/clusters/a',
  id: '7',
  data: { ...RECORD, id: undefined },
};

function problemsOf(value: unknown, read = readRecord): string[] {
  const problems: Problem[] = [];
  expect(read(value, 'records/3', problems)).toBeNull();
  return problems.map(({ path, message }) => `${path}: ${message}`);
}

const recordOf = (extra: object) => readRecord({ ...RECORD, ...extra }, '', []);

describe('readRecord', () => {
  it('reads every field', () => {
    expect(
      recordOf({
        account: 'a',
        subAccount: 'b',
        resource: 'i-1',
        namespace: 'ml',
        service: 'EC2',
        sku: 'p5.48xlarge',
        region: 'us-east-1',
        term: 'spot',
        gpuModel: 'NVIDIA H100 80GB HBM3',
        gpus: '0.46',
        storageGib: 1.5,
        networkGib: '0.5',
        tags: { team: 'a', env: 'x' },
        labels: { env: 'y' },
        end: '2026-10-01T03:30:00+02:00',
      }),
    ).toEqual(
      metered('a', {
        account: 'a',
        subAccount: 'b',
        resource: 'i-1',
        namespace: 'ml',
        service: 'EC2',
        term: 'spot',
        gpuModel: 'H100',
        tags: { team: 'a', env: 'y' },
        start: Date.UTC(2026, 9, 1),
        end: Date.UTC(2026, 9, 1, 1, 30),
        gpuParts: 3220,
        storageMib: 1536,
        networkBytes: 536_870_912,
      }),
    );
  });

  it.each([
    [{ gpus: 0 }, 0],
    [{ gpus: 0.46 }, 3220],
    [{ gpus: '1.001' }, 7007],
    [{ gpus: 0.001 }, 7],
    [{ gpus: undefined, gpuMilli: 810 }, 5670],
    [{ gpus: null, migProfile: '1g.10gb' }, 1000],
    [{ gpus: null, migProfile: '3g.40gb', gpuModel: 'H100' }, 3000],
    [{ gpus: null, migProfile: '7g.80gb' }, 7000],
    [{ gpus: null, migProfile: '1g.6gb' }, 1750],
    [{ gpus: null, migProfile: '2g.12gb', gpuModel: 'A30' }, 3500],
    [{ gpus: 100_000 }, 700_000_000],
  ])('%j is %d parts of a GPU', (extra, parts) => {
    expect(recordOf(extra)?.gpuParts).toBe(parts);
  });

  it('names every problem of a record under its path', () => {
    expect(
      problemsOf({
        provider: '',
        gpus: -1,
        gpuz: 1,
        start: 'yesterday',
        end: 5,
        term: 'forever',
        tags: { a: 1 },
      }).sort(),
    ).toEqual([
      'records/3/end: is not an ISO 8601 time of the years 2000 to 2099',
      'records/3/gpus: is not a number of GPUs from 0 to 100000 in thousandths or MIG slices of 7',
      'records/3/gpuz: is not a field of a usage record',
      'records/3/id: is missing',
      'records/3/provider: is not a text of 1 to 512 characters',
      'records/3/start: is not an ISO 8601 time of the years 2000 to 2099',
      'records/3/tags: is not an object of at most 200 texts',
      'records/3/term: is none of on-demand, spot, reserved-1y, reserved-3y, savings-plan-1y, savings-plan-3y',
    ]);
  });

  it.each([
    ['a record', 'records/3: is not an object'],
    [[RECORD], 'records/3: is not an object'],
    [
      { ...RECORD, gpus: undefined },
      'records/3: states no quantity: one of gpus, gpuMilli, migProfile, storageGib, networkGib and networkBytes',
    ],
    [{ ...RECORD, gpuMilli: 500 }, 'records/3/gpus: is stated beside another number of GPUs'],
    [
      { ...RECORD, gpus: 0.0001 },
      'records/3/gpus: is not a number of GPUs from 0 to 100000 in thousandths or MIG slices of 7',
    ],
    [
      { ...RECORD, gpus: null, migProfile: '5g.10gb' },
      'records/3/migProfile: is not a MIG profile of this GPU, such as 1g.10gb',
    ],
    [{ ...RECORD, end: '2026-09-30T00:00:00Z' }, 'records/3/end: is before the start'],
    [{ ...RECORD, end: '2028-10-01T00:00:00Z' }, 'records/3/end: is more than 366 days after the start'],
    [{ ...RECORD, networkBytes: 1, networkGib: 1 }, 'records/3/networkGib: is stated beside networkBytes'],
    [{ ...RECORD, id: 'a\0' }, 'records/3/id: is not a text of 1 to 512 characters'],
    [{ ...RECORD, resource: '\ud800' }, 'records/3/resource: is not a text of 1 to 2048 characters'],
  ])('refuses %j', (value, problem) => {
    expect(problemsOf(value)).toEqual([problem]);
  });

  it('takes an empty interval: something billed for no time', () => {
    expect(recordOf({ end: RECORD.start })).not.toBeNull();
  });
});

describe('readEvent', () => {
  it("has the event's source and id as identity", () => {
    expect(readEvent({ ...EVENT, subject: 'x', traceparent: 'ext' }, '', [])).toEqual({
      ...readRecord(RECORD, '', []),
      id: '/clusters/a 7',
    });
  });

  it('names every problem of the envelope and the data', () => {
    expect(
      problemsOf(
        {
          specversion: '0.3',
          type: 'other',
          source: 'a b',
          data: { ...RECORD, gpus: 'x' },
          datacontenttype: 'text/xml',
        },
        readEvent,
      ),
    ).toEqual([
      'records/3/specversion: is not 1.0',
      'records/3/type: is not bursar.usage.v1',
      'records/3/source: is not a URI reference of at most 255 characters',
      'records/3/id: is missing',
      'records/3/datacontenttype: is not JSON',
      'records/3/data/gpus: is not a number of GPUs from 0 to 100000 in thousandths or MIG slices of 7',
    ]);
    expect(problemsOf({ ...EVENT, data: undefined }, readEvent)).toEqual(['records/3/data: is missing']);
  });
});

describe('files', () => {
  const records = [
    RECORD,
    { ...RECORD, id: 'b', tags: { note: 'brackets ]} and "quotes" \\' } },
    { ...RECORD, id: 'ü' },
  ];
  const ids = ['a', 'b', 'ü'];
  const forms: Record<string, string> = {
    'an object with records': JSON.stringify({ records }),
    'the same, spread over lines': JSON.stringify({ records }, null, 2),
    'records that come after other fields': JSON.stringify({ source: 'x', records }, null, 1),
    'an array': JSON.stringify(records),
    'an array over lines': JSON.stringify(records, null, 2),
    'JSON lines': records.map((record) => JSON.stringify(record)).join('\n'),
    'JSON lines with blank ones, CRLF and a byte order mark': `\uFEFF${records.map((record) => JSON.stringify(record)).join('\r\n\r\n')}\r\n`,
  };

  it.each(Object.entries(forms))('%s', async (_, text) => {
    const { records: read, rejects } = await usageOfText(bursar, text, 'records.json');
    expect([read.map(({ id }) => id), rejects]).toEqual([ids, []]);
    const input = await openBytes('x.json', Buffer.from(text));
    expect([bursar.recognises(input), cloudevents.recognises(input)]).toEqual([true, false]);
  });

  it('one object is one record', async () => {
    for (const text of [JSON.stringify(RECORD), JSON.stringify(RECORD, null, 2)])
      expect((await usageOfText(bursar, text)).records).toHaveLength(1);
    expect((await usageOfText(bursar, '{"records": []}')).records).toEqual([]);
  });

  it('a bad record is one reject, by line or number, and the file goes on', async () => {
    const lines = await usageOfText(
      bursar,
      [
        JSON.stringify(RECORD),
        '{"id": }',
        '',
        JSON.stringify({ ...RECORD, gpus: 'x', start: 1 }),
        JSON.stringify(RECORD),
      ].join('\n'),
    );
    expect(lines.records).toHaveLength(2);
    expect(lines.rejects.map(({ line, column }) => [line, column])).toEqual([
      [2, null],
      [4, 'start'],
    ]);
    expect(lines.rejects[1]?.reason).toContain('gpus: ');
    const array = await usageOfText(
      bursar,
      `{"records": [${JSON.stringify(RECORD)}, {"id": }, 5, , ${JSON.stringify(RECORD)}]}`,
    );
    expect(array.records).toHaveLength(2);
    expect(array.rejects.map(({ line }) => line)).toEqual([2, 3, 4]);
    expect(array.rejects[0]?.raw).toContain('{"id": }');
  });

  it('a file that is cut short says so and keeps what came before', async () => {
    const { records: read, rejects } = await usageOfText(bursar, JSON.stringify({ records }).slice(0, -20));
    expect(read).toHaveLength(2);
    expect(rejects).toMatchObject([{ line: 3, reason: 'the array is not closed: the file is cut short' }]);
  });

  it('a record that is longer than a mebibyte is one reject', async () => {
    const long = { ...RECORD, tags: { note: 'x'.repeat(1 << 20) } };
    for (const text of [
      JSON.stringify([long, RECORD]),
      [long, RECORD].map((record) => JSON.stringify(record)).join('\n'),
    ]) {
      const { records: read, rejects } = await usageOfText(bursar, text);
      expect([read.length, rejects.map(({ line, raw }) => [line, raw.length])]).toEqual([1, [[1, 4000]]]);
    }
  });

  it('does not depend on where the chunks are cut', async () => {
    for (const text of Object.values(forms)) {
      const bytes = Buffer.from(text);
      const input = await openBytes('x.json', bytes);
      const pieces = {
        ...input,
        async *stream() {
          for (let at = 0; at < bytes.length; at += 7) yield bytes.subarray(at, at + 7);
        },
      };
      expect((await usageOf(bursar, pieces)).records.map(({ id }) => id)).toEqual(ids);
    }
  });

  it('events come as one, a batch or lines', async () => {
    const events = [EVENT, { ...EVENT, id: '8' }];
    for (const text of [JSON.stringify(events), events.map((event) => JSON.stringify(event)).join('\n')]) {
      const input = await openBytes('x.json', Buffer.from(text));
      expect([bursar.recognises(input), cloudevents.recognises(input)]).toEqual([false, true]);
      expect((await usageOf(cloudevents, input)).records.map(({ id }) => id)).toEqual([
        '/clusters/a 7',
        '/clusters/a 8',
      ]);
    }
    expect((await usageOfText(cloudevents, JSON.stringify(EVENT, null, 2))).records).toHaveLength(1);
  });
});
