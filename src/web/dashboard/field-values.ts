/** The values that a field can have, in the reader's language: of policies' parameters and of the settings. */
import { digest } from '../../core/report/digest.js';
import { code, shownCode, type CodeGroup } from './format.js';
import { chineseWords, isKey, say } from './language.js';

/** The translation of a text or a name; null: there is none, or the reader reads English (no table). */
export function inChinese(from: Readonly<Record<string, string>> | undefined, key: string): string | null {
  if (from === undefined) return null;
  // As it is built, a sentence has its digest for a key.
  return [key, digest(key)].flatMap((one) => (Object.hasOwn(from, one) ? [from[one]] : []))[0] ?? null;
}

/** Fields whose values have words in the catalogue. */
const VALUE_WORDS: Readonly<Record<string, readonly CodeGroup[]>> = {
  kind: ['alert', 'threshold'],
  kinds: ['alert'],
  leastSeverity: ['severity'],
  upTo: ['severity'],
  role: ['role'],
  category: ['category'],
};

/** One of the values that a field can have; in the reader's language where there are words for it. */
export function choiceOf(field: string, value: unknown): string {
  if (typeof value === 'boolean') return say(value ? 'yes' : 'no');
  if (typeof value !== 'string') return shownCode(value);
  const of = VALUE_WORDS[field]?.find((group) => isKey(`${group}.${value}`));
  if (of !== undefined) return code(of, value);
  return inChinese(chineseWords()?.FIELD_VALUES[field], value) ?? shownCode(value);
}
