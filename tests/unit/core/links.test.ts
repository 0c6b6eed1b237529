/** Which SKUs of a bill may be the machine that a meter has under the same resource. */
import { expect, it } from 'vitest';
import type { ResourcesOfSku } from '../../../src/core/bill/cells.js';
import { machineSkus } from '../../../src/core/bill/links.js';

const of = (sku: string, over: Partial<ResourcesOfSku> = {}): ResourcesOfSku => ({
  provider: 'P',
  sku,
  resources: ['i-1'],
  ...over,
});
const found = (skus: readonly ResourcesOfSku[], known: readonly string[] = []): string[] =>
  machineSkus(skus, (_, sku) => known.includes(sku)).map(({ sku }) => sku);

it('the only one of its resource is the machine; of two neither, unless its lines say so', () => {
  expect(found([])).toEqual([]);
  expect(found([of('S1')])).toEqual(['S1']);
  expect(found([of('S1'), of('S2')])).toEqual([]);
  expect(found([of('S1'), of('S2', { resources: ['i-2'] })])).toEqual(['S1', 'S2']);
  expect(found([of('S1'), of('S2', { provider: 'Q' })])).toEqual(['S1', 'S2']);
  expect(found([of('S1'), of('S2', { machineHours: false })])).toEqual(['S1']);
  expect(found([of('S1'), of('S2', { machineHours: true })])).toEqual(['S2']);
  expect(found([of('S1'), of('S2', { ofGpus: true })])).toEqual(['S2']);
});

it('what another service bills is no candidate, and takes none away', () => {
  const storage = of('S2', { services: ['Object Storage'] });
  expect(found([storage])).toEqual([]);
  expect(found([of('S1'), storage])).toEqual(['S1']);
});

it('none is beside a SKU that is known by its name, and that one needs no link', () => {
  expect(found([of('S1'), of('p5')], ['p5'])).toEqual([]);
  expect(found([of('S1', { resources: ['i-1', 'i-2'] }), of('p5')], ['p5'])).toEqual([]);
  expect(found([of('S1', { machineHours: true }), of('p5')], ['p5'])).toEqual([]);
});

it('lines without a SKU are never linked, and may be the machine if a service of machines bills them', () => {
  expect(found([of('')])).toEqual([]);
  expect(found([of('S1'), of('')])).toEqual(['S1']);
  expect(found([of('S1'), of('', { services: ['Elastic Compute Service'] })])).toEqual([]);
});
