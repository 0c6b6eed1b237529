/** What is wrong with a request is said in plain words, and never with the value itself. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import '../../../src/web/plain-words.js';

const said = (schema: z.ZodType, value: unknown): string[] =>
  (schema.safeParse(value).error?.issues ?? []).map(({ path, message }) => [path.join('/'), message].join(' ').trim());

it.each<[string, z.ZodType, unknown, string[]]>([
  ['what is missing', z.object({ hours: z.number() }), {}, ['hours is missing']],
  ['another kind', z.object({ gpus: z.number() }), { gpus: 'eight' }, ['gpus is a text, not a number']],
  ['null', z.string(), null, ['is null, not a text']],
  ['a list', z.object({}), [], ['is a list, not an object']],
  ['no number', z.coerce.number(), 'eight', ['is not a number']],
  ['no whole number', z.int(), 1.5, ['is not a whole number']],
  ['a word', z.enum(['spot', 'on-demand']), 'free', ['is none of spot, on-demand']],
  ['no word', z.object({ term: z.enum(['spot', 'on-demand']) }), {}, ['term is missing: one of spot, on-demand']],
  ['the one word', z.literal('CNY'), 'USD', ['is not CNY']],
  ['nothing in a text', z.string().min(1), '', ['is empty']],
  ['a short text', z.string().min(3), 'a', ['has fewer than 3 characters']],
  ['a long list', z.array(z.int()).max(1), [1, 2], ['has more than 1 entry']],
  ['an exact length', z.array(z.int()).length(2), [1], ['has not exactly 2 entries']],
  ['a large number', z.number().max(8), 9, ['is more than 8']],
  ['a small number', z.number().gt(0), 0, ['is not more than 0']],
  ['a time', z.iso.datetime(), 'noon', ['is not a time: write 2026-10-01T00:00:00Z']],
  ['a pattern', z.string().regex(/^a+$/), 'b', ['is not written in the required form: /^a+$/']],
  ['words of its own', z.string().regex(/^a+$/, 'is not the id of a key'), 'b', ['is not the id of a key']],
  [
    'alternatives',
    z.union([z.string(), z.array(z.string())]),
    5,
    ['is a number, not a text, or is a number, not a list'],
  ],
  ['a name', z.record(z.enum(['a']), z.string()).and(z.unknown()), { b: 'x' }, expect.any(Array) as string[]],
])('%s', (_, schema, value, words) => {
  const found = said(schema, value);
  expect(found).toEqual(words);
  expect(found.join(' ')).not.toMatch(/Invalid|expected|received|eight|noon/);
});
