/**
 * Every request that the Azure part can send, and every field of a reply that it reads, against what Microsoft's own SDK
 * packages say of them (tests/fixtures/azure-model); and canaries: a misspelt name of each kind is found.
 *
 * The list of retail prices has no package: its fields are held against those that the page documents.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { healthQuery } from '../../src/providers/azure/health.js';
import { OPERATIONS, WORDS, type Operation } from '../../src/providers/azure/operations.js';
import { ITEM } from '../../src/providers/azure/prices.js';
import { MODEL, problemsOfTable, typeIn, type Json } from '../support/azure-model.js';

it('knows every request, parameter, field and word', () => {
  expect(problemsOfTable()).toEqual([]);
});

it('uses every request of the model, so that none is held against in vain', () => {
  expect(Object.keys(MODEL.operations).sort()).toEqual(
    [...new Set(Object.values(OPERATIONS).map(({ method, path }) => `${method} ${path}`))].sort(),
  );
});

describe('a canary', () => {
  const { machines, resize, graph } = OPERATIONS;
  const found = (change: Partial<Operation>, of: Operation = machines): string[] =>
    problemsOfTable({ one: { ...of, ...change } }, WORDS);

  it.each([
    ['a path', found({ path: machines.path.replace('virtualMachines', 'virtualMachine') }), /is not in the model/],
    ['a method', found({ method: 'POST' }), /is not in the model/],
    ['a version', found({ apiVersion: '2024-11-31' }), /api-version 2024-11-31/],
    ['a parameter', found({ query: ['statusonly'] }), /parameter statusonly/],
    [
      'a field of a reply',
      found({ reply: z.object({ value: z.array(z.object({ properties: z.object({ vmSize: z.string() }) })) }) }),
      /reply\.value\[\]\.properties\.vmSize is not in the model/,
    ],
    [
      'a type of a reply',
      found({ reply: z.object({ value: z.array(z.object({ name: z.number() })) }) }),
      /name is number here, and "string" in the model/,
    ],
    [
      'a field of a body',
      found(
        { body: z.object({ properties: z.object({ hardwareProfile: z.object({ vmsize: z.string() }) }) }) },
        resize,
      ),
      /hardwareProfile\.vmsize is not in the model/,
    ],
    [
      'a word of a body',
      found({ body: z.object({ options: z.object({ resultFormat: z.literal('rows') }) }) }, graph),
      /resultFormat is rows, none of/,
    ],
    ['a word of a reply', problemsOfTable({}, { VirtualMachinePriorityTypes: ['Spott'] }), /Spott is no/],
  ])('finds %s that is misspelt', (_, problems, said) => {
    expect(problems).toEqual([expect.stringMatching(said)]);
  });
});

/** learn.microsoft.com, "Azure Retail Prices overview": API response examples and fields. */
const DOCUMENTED = {
  currencyCode: 'string',
  tierMinimumUnits: 'number',
  reservationTerm: 'string',
  retailPrice: 'number',
  unitPrice: 'number',
  armRegionName: 'string',
  location: 'string',
  effectiveStartDate: 'string',
  effectiveEndDate: 'string',
  meterId: 'string',
  meterName: 'string',
  productId: 'string',
  skuId: 'string',
  productName: 'string',
  skuName: 'string',
  serviceName: 'string',
  serviceId: 'string',
  serviceFamily: 'string',
  unitOfMeasure: 'string',
  type: 'string',
  isPrimaryMeterRegion: 'boolean',
  armSkuName: 'string',
  savingsPlan: 'array',
} as const;

it('reads of a retail price what the page documents', () => {
  const { properties = {} } = z.toJSONSchema(ITEM, { io: 'input' }) as unknown as Json;
  const read = Object.entries(properties).map(([name, one]) => [
    name,
    typeIn(one) ?? one.anyOf?.map(typeIn).find((type) => type !== 'null'),
  ]);
  expect(read.length).toBeGreaterThan(10);
  for (const [name, type] of read) expect([name, DOCUMENTED[name as keyof typeof DOCUMENTED]]).toEqual([name, type]);
});

/** learn.microsoft.com, "VM availability information in Azure Resource Graph": fields of both types of the table. */
const HEALTH_FIELDS = [
  'targetResourceType',
  'targetResourceId',
  'occurredTime',
  'previousAvailabilityState',
  'availabilityState',
  'annotationName',
  'reason',
  'category',
  'context',
  'summary',
];

it('asks the graph for what the page of the health table documents', () => {
  const query = healthQuery(['/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/one']);
  const asked = [...query.matchAll(/properties\.(\w+)/g)].map(([, name]) => name);
  expect(asked.length).toBeGreaterThan(5);
  for (const name of asked) expect(HEALTH_FIELDS).toContain(name);
});
