/**
 * JSON of a request body within bounds: depth and number of values are counted on the bytes (`core/json-size.ts`)
 * before anything is built, and texts that no database column can hold are found afterwards.
 *
 * Nothing here is recursive, so that no depth is too much.
 */
import { invalid, type Problem } from '../core/errors.js';
import { measured, MOST_DEPTH } from '../core/json-size.js';
import { isStorable } from '../core/text.js';

/** A record of usage needs about 20 bytes a value. Half of that and less is padding. */
const BYTES_PER_VALUE = 8;
/** Small bodies are not worth refusing. */
const LEAST_VALUES = 1000;

/** How many values a body of this many bytes may hold. */
export const mostValues = (mostBytes: number): number =>
  Math.max(LEAST_VALUES, Math.floor(mostBytes / BYTES_PER_VALUE));

/**
 * The value of a JSON text.
 * @throws Failure invalid where it is not JSON, is too deep or has too many values
 */
export function parseBounded(bytes: Buffer, most: number): unknown {
  const { depth, values } = measured(bytes, most);
  if (depth > MOST_DEPTH) throw bounded(`is nested deeper than ${MOST_DEPTH}`);
  if (values > most) throw bounded(`holds more than ${most} values`);
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (error) {
    throw invalid('the body is not JSON', [
      { path: null, message: error instanceof Error ? error.message.slice(0, 300) : 'is not JSON' },
    ]);
  }
}

const bounded = (message: string): Error =>
  invalid('the body is larger than is accepted here', [{ path: null, message }]);

/** The text with a replacement character for each character that cannot be stored. */
export const storable = (text: string): string => text.toWellFormed().replaceAll('\u0000', '\uFFFD');

/** Texts and names of a value that cannot be stored, and names that would reach an object's prototype. At most 100. */
export function textProblems(value: unknown): Problem[] {
  const problems: Problem[] = [];
  const stack: { readonly path: string; readonly value: unknown }[] = [{ path: '', value }];
  for (let one = stack.pop(); one !== undefined && problems.length < 100; one = stack.pop()) {
    const { path } = one;
    if (typeof one.value === 'string') {
      if (!isStorable(one.value)) problems.push({ path: path === '' ? null : path, message: whyNot(one.value) });
    } else if (typeof one.value === 'object' && one.value !== null) {
      for (const [name, inner] of Object.entries(one.value)) {
        const under = path === '' ? storable(name) : `${path}/${storable(name)}`;
        if (!isStorable(name)) problems.push({ path: under, message: whyNot(name) });
        if (name === '__proto__') problems.push({ path: under, message: 'is not an accepted name' });
        if (typeof inner === 'string' || typeof inner === 'object') stack.push({ path: under, value: inner });
      }
    }
  }
  return problems.reverse();
}

const whyNot = (text: string): string =>
  text.includes('\u0000') ? 'holds a NUL character' : 'holds half of a surrogate pair';

/** Whether `textProblems` can find anything in the value of a JSON text: each problem must be written as an escape. */
export const isSuspect = (bytes: Buffer): boolean => bytes.includes('\\u') || bytes.includes('__proto__');
