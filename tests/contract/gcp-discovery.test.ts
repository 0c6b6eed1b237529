/**
 * Every request that the Google Cloud part can send and every field of a reply that it reads, held against Google's
 * discovery documents; and that a misspelling of each kind would be found.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SCOPES } from '../../src/providers/gcp/client.js';
import { ENTRIES, INSTANCE, OPERATIONS, type Operation } from '../../src/providers/gcp/operations.js';
import { allOperations, DOCUMENTS, problemsOfEntries, problemsOfOperation } from '../support/discovery.js';

/** Methods that change something: they alone are called with the credentials for acting. */
const acts = ({ method, id }: Operation): boolean => method !== 'GET' && !/\.(?:wait|testIamPermissions)$/.test(id);
const problemsOf = (operation: Operation): string[] =>
  problemsOfOperation(operation, SCOPES[acts(operation) ? 'act' : 'read']);

describe('the operations of Google Cloud', () => {
  it.each(allOperations().map((one) => [one.id, one] as const))('%s is as its discovery document says', (_, one) => {
    expect(problemsOf(one)).toEqual([]);
  });

  it('are all of the methods that were cut out, each once', () => {
    const ids = allOperations().map(({ id }) => id);
    expect([...ids].sort()).toEqual(DOCUMENTS.flatMap(({ methods }) => Object.keys(methods)).sort());
  });

  it.each(ENTRIES.map((one) => [one.list, one] as const))('read of %s what these have', (_, { of, list, entry }) => {
    expect(problemsOfEntries(of, list, entry)).toEqual([]);
  });

  it('read with a token that could not act', () => {
    for (const one of allOperations().filter(acts)) expect(problemsOfOperation(one, SCOPES.read)).toHaveLength(1);
  });
});

describe('a misspelling is found', () => {
  const { stop, zone, skus, instances } = OPERATIONS;
  const shape = (over: z.ZodRawShape): z.ZodType => INSTANCE.extend(over);
  it.each<readonly [string, string[]]>([
    ['of a method', problemsOf({ ...stop, id: 'compute.instances.halt' })],
    ['of a verb', problemsOf({ ...zone.patchAutoscaler, method: 'POST' })],
    ['of a path', problemsOf({ ...stop, path: stop.path.replace('instances/', 'instance/') })],
    ['of a parameter', problemsOf({ ...stop, query: ['requestID'] })],
    ['a parameter that is needed and not sent', problemsOf({ ...zone.resize, query: ['requestId'] })],
    ['of a field of a body', problemsOf({ ...zone.patchAutoscaler, body: ['autoscalingPolicy.minReplicas'] })],
    ['of a field of a reply', problemsOf({ ...skus, reply: z.object({ nextToken: z.string() }) })],
    ['of a list', problemsOfEntries(instances, 'instance', INSTANCE)],
    ['of a field', problemsOfEntries(instances, 'instances', shape({ guestAccelerator: z.string() }))],
    [
      'of a field within',
      problemsOfEntries(instances, 'instances', shape({ scheduling: z.object({ provisioning: z.string() }) })),
    ],
    [
      'of a word',
      problemsOfEntries(instances, 'instances', shape({ status: z.enum(['STOPED']).nullish().catch(null) })),
    ],
    ['of a type', problemsOfEntries(instances, 'instances', shape({ deletionProtection: z.string() }))],
    ['a long number that would be rounded', problemsOfEntries(instances, 'instances', shape({ id: z.number() }))],
    ['a long number taken for any text', problemsOfEntries(instances, 'instances', shape({ id: z.string() }))],
  ])('%s', (_, problems) => {
    expect(problems).toHaveLength(1);
  });
});
