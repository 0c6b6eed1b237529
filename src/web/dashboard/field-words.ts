/**
 * Names and descriptions of fields in the reader's language: of policies' parameters and of the settings. Draws
 * nothing.
 */
import { choiceOf, inChinese } from './field-values.js';
import { words } from './format.js';
import { chineseWords, say } from './language.js';
import { place } from './router.js';
import { FIELD_TITLES } from './texts/settings-fields-english.js';

/** The description of a policy, a parameter or a field; null: it has no translation. */
export const translated = (text: string): string | null =>
  inChinese(chineseWords()?.DESCRIPTIONS, text) ?? inChinese(chineseWords()?.FIELD_NOTES, text);

const isOnSettings = (): boolean => place.value.page === 'settings';

/** On the pages of the settings a field's own name goes before a parameter's of the same name. */
export function nameInChinese(name: string): string | null {
  const { FIELD_NAMES: ofFields, PARAMETERS: ofPolicies } = chineseWords() ?? {};
  const tables = isOnSettings() ? [ofFields, ofPolicies] : [ofPolicies, ofFields];
  return inChinese(tables[0], name) ?? inChinese(tables[1], name);
}

export const nameInEnglish = (name: string): string =>
  (isOnSettings() && Object.hasOwn(FIELD_TITLES, name) ? FIELD_TITLES[name] : undefined) ?? words(name);

/** The name of a parameter or a field. */
export const named = (name: string): string => nameInChinese(name) ?? nameInEnglish(name);

/** A field by the names that its form shows: `Planned / Default`, `Thresholds / 1 / Ratio`. */
export const namedPath = (steps: readonly string[]): string =>
  steps
    .map((step) => (/^\d+$/.test(step) ? String(Number(step) + 1) : /^\d/.test(step) ? step : named(step)))
    .join(' / ');

/** A field's value in words, objects by the names of their parts; never as JSON. Empty where there is none. */
export function inWords(value: unknown, field = ''): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map((one) => inWords(one, field)).join('; ');
  if (typeof value !== 'object') return choiceOf(field, value);
  return Object.entries(value)
    .flatMap(([name, one]) => (inWords(one, name) === '' ? [] : [`${named(name)} ${inWords(one, name)}`]))
    .join(say('list.comma'));
}
