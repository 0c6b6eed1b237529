/**
 * Tags in the form of bills: a JSON object, or Azure's list of pairs without the braces.
 *
 * Keys and values are returned as text; a value that is not a text keeps its JSON form. Unreadable tags are an error of
 * the row, never an untagged row.
 */

import { parseExactly } from './numbers.js';

export type Tags = Readonly<Record<string, string>>;

/**
 * Parses `{"team": "a"}` or `"team": "a","env": "b"`. Null if the text is empty or names no tag; undefined if it is
 * neither form. FOCUS' key-value format allows text, numbers, booleans and null as values; null becomes the empty text.
 */
export function parseTags(text: string): Tags | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === '{}') return null;
  const value = parseJson(trimmed.startsWith('{') ? trimmed : `{${trimmed}}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return tagsOf(Object.entries(value));
}

/** Tags from key and value pairs; null if there is none, undefined if a text cannot be stored. */
export function tagsOf(entries: readonly (readonly [string, unknown])[]): Tags | null | undefined {
  const pairs = entries.map(([key, value]): [string, string] => [key, valueText(value)]);
  if (pairs.some(([key, value]) => !isStorable(key) || !isStorable(value))) return undefined;
  return pairs.length === 0 ? null : Object.fromEntries(pairs);
}

/** AWS' cost categories as tags of their own: `costCategory/Team`. */
export function costCategoryTags(categories: Tags): Tags {
  return Object.fromEntries(Object.entries(categories).map(([name, value]) => [`${COST_CATEGORY}${name}`, value]));
}

export const COST_CATEGORY = 'costCategory/';

/** The object in a JSON text; undefined if the text is none. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function parseJson(text: string): unknown {
  try {
    return parseExactly(text);
  } catch {
    return undefined;
  }
}

const SUSPECT = /[\0\uD800-\uDFFF]/;
const FORBIDDEN = /\0|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/;

/** False for text that no UTF-8 database column holds: a NUL, or half of a surrogate pair (both possible in JSON). */
export function isStorable(text: string): boolean {
  return !SUSPECT.test(text) || !FORBIDDEN.test(text);
}
