/**
 * Every request that the neoclouds' parts can send and every field of a reply that they read, held against those
 * clouds' OpenAPI documents; and that a misspelling of each kind would be found.
 */
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import * as lambda from '../../src/providers/lambda/lambda.js';
import type { Entries, Operation } from '../../src/providers/neocloud/client.js';
import * as runpod from '../../src/providers/runpod/runpod.js';
import { OpenApiDocument } from '../support/openapi-document.js';

const DOCUMENTS = { lambda: new OpenApiDocument('lambda'), runpod: new OpenApiDocument('runpod') };
const CLOUDS: readonly (readonly [string, OpenApiDocument, Pick<typeof lambda, 'API' | 'ENTRIES'>, Operation[]])[] = [
  ['Lambda', DOCUMENTS.lambda, lambda, Object.values(lambda.OPERATIONS)],
  ['Runpod', DOCUMENTS.runpod, runpod, Object.values(runpod.OPERATIONS)],
];

describe.each(CLOUDS)('%s', (_, document, { API, ENTRIES }, operations) => {
  it.each(operations.map((one) => [one.id, one] as const))('%s is as the document says', (_id, one) => {
    expect(document.problemsOfOperation(one)).toEqual([]);
  });

  it('sends what was cut out of the document, each once, and to its server', () => {
    expect(operations.map(({ id }) => id).sort()).toEqual(document.ids);
    expect(document.servers.map((url) => url.replace(/\/$/, ''))).toContain(API.host);
  });

  it.each(ENTRIES.map((one) => [one.of.id, one] as const))('reads of the entries of %s what they have', (_id, one) => {
    expect(document.problemsOfEntries(one)).toEqual([]);
  });
});

it('reads failures as the documents have them', () => {
  for (const status of ['400', '401', '403', '404'])
    expect(DOCUMENTS.lambda.problemsOfError('getInstance', status, lambda.ERROR)).toEqual([]);
  for (const status of ['401', '403', '404', '409', '429', 'default'])
    expect(DOCUMENTS.runpod.problemsOfError('podAction', status, runpod.ERROR)).toEqual([]);
});

describe('a misspelling is found', () => {
  const { action, pods, pod } = runpod.OPERATIONS;
  const of = (operation: Operation): string[] => DOCUMENTS.runpod.problemsOfOperation(operation);
  const entry = (shape: z.ZodRawShape, list = 'pods'): string[] => {
    const entries: Entries = { of: pods, list, entry: z.object(shape) };
    return DOCUMENTS.runpod.problemsOfEntries(entries);
  };
  const STATUS = ['PROVISIONING', 'STARTING', 'RUNNING', 'EXITED', 'ERROR', 'TERMINATED'] as const;
  it.each<readonly [string, string[]]>([
    ['of an operation', of({ ...pods, id: 'listPod' })],
    ['of a method', of({ ...action, method: 'PUT' })],
    ['of a path', of({ ...pod, path: '/v2/pod/{id}' })],
    ['of a parameter', of({ ...pods, query: ['includeClusterPod'] })],
    ['of a field of a body', of({ ...action, body: z.object({ action: z.enum(['stop']), now: z.boolean() }) })],
    ['of a word of a body', of({ ...action, body: z.object({ action: z.enum(['halt']) }) })],
    ['of a field of a reply', of({ ...pods, reply: z.object({ items: z.unknown() }) })],
    ['a body that is not sent', of({ ...action, body: null })],
    ['of a list', entry({ id: z.string() }, 'items')],
    ['of a field', entry({ desiredStatus: z.string() })],
    ['of a field within', entry({ gpu: z.object({ name: z.string() }).nullish() })],
    ['of a word', entry({ status: z.enum([...STATUS.slice(1), 'PROVISIONIG', 'PROVISIONING']) })],
    ['a word that is not told apart', entry({ status: z.enum(STATUS.slice(1)) })],
    ['of a type', entry({ locked: z.string() })],
    ['a field that may be absent and is needed', entry({ gpu: z.object({ id: z.string() }) })],
    ['a field that may be null and is needed', entry({ dataCenterId: z.string() })],
  ])('%s', (_, problems) => {
    expect(problems).toHaveLength(1);
  });
});
