/**
 * Descriptions of policies and of the API's schemas, in the reader's language where a translation exists; otherwise the
 * original, marked as English.
 */
import type { JSX } from 'preact';
import { digest } from '../../core/report/digest.js';
import { shownCode, words } from './format.js';
import { reader, say } from './language.js';
import { place } from './router.js';
import { DESCRIPTIONS, PARAMETERS } from './texts/policies-chinese.js';
import { FIELD_NAMES, FIELD_NOTES } from './texts/settings-fields-chinese.js';
import { AsWritten } from './ui.js';

function inChinese(from: Readonly<Record<string, string>>, key: string): string | null {
  if (reader.value.language !== 'zh') return null;
  // As it is built, a sentence has its digest for a key.
  return [key, digest(key)].flatMap((one) => (Object.hasOwn(from, one) ? [from[one]] : []))[0] ?? null;
}

/** The description of a policy, a parameter or a field. */
export const Described = ({ text }: { readonly text: string }): JSX.Element => (
  <>{inChinese(DESCRIPTIONS, text) ?? inChinese(FIELD_NOTES, text) ?? <AsWritten>{text}</AsWritten>}</>
);

/** On the pages of the settings a field's own name goes before a parameter's of the same name. */
const nameInChinese = (name: string): string | null =>
  (place.value.page === 'settings' ? inChinese(FIELD_NAMES, name) : null) ??
  inChinese(PARAMETERS, name) ??
  inChinese(FIELD_NAMES, name);

/** The name of a parameter or a field. */
export const named = (name: string): string => nameInChinese(name) ?? words(name);

/** A field by the names that its form shows: `Planned / Default`, `Thresholds / 1 / Ratio`. */
export const namedPath = (steps: readonly string[]): string =>
  steps
    .map((step) => (/^\d+$/.test(step) ? String(Number(step) + 1) : /^\d/.test(step) ? step : named(step)))
    .join(' / ');

/** A setting's value in words, objects by the names of their parts; never as JSON. Empty where there is none. */
export function inWords(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) return value.map(inWords).join('; ');
  if (typeof value !== 'object') return shownCode(value);
  return Object.entries(value)
    .flatMap(([name, one]) => (inWords(one) === '' ? [] : [`${named(name)} ${inWords(one)}`]))
    .join(say('list.comma'));
}

/** A name where it stands alone. */
export const Named = ({ name }: { readonly name: string }): JSX.Element => (
  <>{nameInChinese(name) ?? <AsWritten>{words(name)}</AsWritten>}</>
);
