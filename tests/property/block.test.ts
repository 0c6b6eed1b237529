/** A block gives back exactly the records that it took, whatever they hold. */
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { GPU_PARTS, type UsageRecord } from '../../src/core/usage.js';
import { BlockBuilder, decodeBlock } from '../../src/store/usage/block.js';
import { billed, metered } from '../support/records.js';

const quantity = fc.option(fc.oneof(fc.nat(8 * GPU_PARTS), fc.maxSafeNat()), { nil: null });
const record = fc.record({
  id: fc.string(),
  start: fc.oneof(fc.nat(1000), fc.maxSafeNat()),
  length: fc.oneof(fc.nat(100), fc.nat(2 ** 40)),
  gpuParts: quantity,
  storageMib: quantity,
  networkBytes: quantity,
  resource: fc.option(fc.string(), { nil: null }),
  group: fc.nat(3),
});

it('gives back what it took', () => {
  fc.assert(
    fc.property(fc.array(record, { minLength: 1, maxLength: 40 }), fc.boolean(), (all, bill) => {
      const builder = new BlockBuilder();
      const records = all.map((r): UsageRecord => {
        const over = {
          start: r.start,
          end: r.start + r.length,
          gpuParts: r.gpuParts,
          storageMib: r.storageMib,
          networkBytes: r.networkBytes,
          namespace: `n${r.group}`,
          resource: `r${r.group}`,
        };
        return bill ? billed(r.id, '-0.00120', over, { list: { unscaled: 7n, scale: 2 } }) : metered(r.id, over);
      });
      records.forEach((one, at) => builder.add(all[at]?.group ?? 0, one));
      expect(decodeBlock(builder.encode())).toEqual(records);
    }),
    { numRuns: 300 },
  );
});

it('is full before its texts are too long for one JSON text', () => {
  const builder = new BlockBuilder();
  const long = 'y'.repeat(1 << 20);
  const records = Array.from({ length: 64 }, (_, at) => metered(String(at), { tags: { long, at: String(at) } }));
  records.slice(1).forEach((one, at) => builder.add(at, one));
  expect(builder.full).toBe(false);
  builder.add(0, metered('a', { tags: { long } }));
  expect(builder.full).toBe(false);
  builder.add(63, records[0]!);
  expect(builder.full).toBe(true);
  const same = new BlockBuilder();
  for (let at = 0; at < 100; at++) same.add(0, metered(String(at), { tags: { long } }));
  expect(same.full).toBe(false);
});
