/** Machines of which a bill has several SKUs and says of none what it is. */
import { expect, it } from 'vitest';
import { SilentLines } from '../../../src/core/bill/silent-lines.js';
import type { Charge, UsageRecord } from '../../../src/core/usage.js';
import { billed } from '../../support/records.js';

type Line = readonly [
  resource: string | null,
  sku: string | null,
  over?: Partial<UsageRecord>,
  charge?: Partial<Charge>,
];

function warned(...lines: readonly Line[]): string | null {
  const silent = new SilentLines();
  for (const [resource, sku, over = {}, charge = {}] of lines) {
    const record = billed('r', '1', { service: 'Elastic Compute Service', resource, sku, ...over }, charge);
    if (record.charge !== null) silent.add(record, record.charge);
  }
  const [warning, ...others] = silent.warnings;
  expect(others).toEqual([]);
  return warning === undefined ? null : warning.slice(0, warning.indexOf(','));
}

it('a machine with two SKUs is told once, the first by name', () => {
  expect(warned()).toBeNull();
  expect(warned(['i-1', 'S1'], ['i-1', 'S1'])).toBeNull();
  expect(warned(['i-1', 'S1'], ['i-1', 'S2'])).toBe('1 machine(s)');
  expect(warned(['i-1', 'S1'], ['i-1', 'S2'], ['i-1', 'S3'], ['i-1', 'S1'])).toBe('1 machine(s)');
  expect(warned(['i-1', 'S1'], ['i-2', 'S1'], ['i-1', 'S2'], ['i-2', 'S2'])).toBe('2 machine(s)');
  expect(warned(['i-1', 'S1'], ['i-2', 'S2'], ['i-1', 'S2', { provider: 'Q' }])).toBeNull();
});

it.each<[string, ...Line]>([
  ['has no resource', null, 'S2'],
  ['has no SKU', 'i-1', null],
  ['has no service', 'i-1', 'S2', { service: null }],
  ['is of another service', 'i-1', 'S2', { service: 'Object Storage' }],
  ['names its GPU', 'i-1', 'S2', { gpuModel: 'H100' }],
  ['counts its GPUs', 'i-1', 'S2', { gpuParts: 0 }],
  ['says whether it is hours of a machine', 'i-1', 'S2', {}, { machineHours: false }],
  ['is no usage', 'i-1', 'S2', {}, { category: 'Tax' }],
])('a line that %s is no second one', (_, ...line) => {
  expect(warned(['i-1', 'S1'], line)).toBeNull();
  expect(warned(line, ['i-1', 'S1'])).toBeNull();
});
