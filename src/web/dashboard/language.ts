/**
 * The reader's language, and the dashboard's texts in it. Whatever draws a text is drawn anew when the language
 * changes.
 *
 * Reads no window: reader.ts does. A text may hold `{name}`, `{count:one|many}` (English only needs it), and
 * `<tag>inner</tag>` for rich.tsx. What the server says (titles of recommendations, explanations) is reworded where its
 * sentence is known (core/report/reworded.ts); anything else stays as it is.
 */
import { signal } from '@preact/signals';
import { readerOf, type Language, type Reader } from '../../core/report/reader.js';
import { ENGLISH } from './texts/english.js';

type Texts = typeof ENGLISH;
export type TextKey = keyof Texts;

/** Names of what a text is filled with. */
export type Names<T extends string> = T extends `${string}{${infer Hole}}${infer Rest}`
  ? (Hole extends `${infer Name}:${string}` ? Name : Hole) | Names<Rest>
  : never;
export type NamesOf<K extends TextKey> = Names<Texts[K]>;
type Filled<K extends TextKey> = [NamesOf<K>] extends [never]
  ? []
  : [filled: Readonly<Record<NamesOf<K>, string | number>>];

type Chinese = typeof import('./chinese.js');

let chinese: Chinese | null = null;

/** Loads what a language is read in. Until then, and where it cannot be had, texts are English. */
export async function loadTexts(language: Language): Promise<void> {
  if (language === 'zh') chinese ??= await import('./chinese.js');
}

const textsOf = (language: Language): Readonly<Record<TextKey, string>> =>
  language === 'zh' ? (chinese?.CHINESE ?? ENGLISH) : ENGLISH;

/** `<html lang>` by language: the Chinese texts are simplified, whatever the region of the reader. */
export const TAGS: Readonly<Record<Language, string>> = { en: 'en', zh: 'zh-CN' };

export const reader = signal<Reader>(readerOf('en'));

const formats = new Map<string, Intl.NumberFormat>();

/**
 * A format of numbers in the reader's form, made once; what rounds to nothing has no sign.
 * @param key tells formats with other options apart
 */
export function numberFormat(key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const { locale } = reader.value;
  const known = formats.get(`${locale} ${key}`);
  if (known !== undefined) return known;
  const made = new Intl.NumberFormat(locale, { signDisplay: 'negative', ...options });
  formats.set(`${locale} ${key}`, made);
  return made;
}

export const isKey = (key: string): key is TextKey => Object.hasOwn(ENGLISH, key);

/** A text as the catalogue has it, unfilled. */
export const raw = (key: TextKey): string => textsOf(reader.value.language)[key];

const HOLE = /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g;

/** Fills the holes of a text: numbers in the reader's form, `{count:one|many}` by the number. */
export function fill(text: string, filled: Readonly<Record<string, unknown>>): string {
  return text.replace(HOLE, (whole, name: string, one: string | undefined, many: string | undefined) => {
    const value = filled[name];
    if (one !== undefined) return value === 1 ? one : (many ?? one);
    return typeof value === 'number'
      ? numberFormat('count', {}).format(value)
      : typeof value === 'string'
        ? value
        : whole;
  });
}

/** A text of the catalogue in the reader's language. */
export function say<K extends TextKey>(key: K, ...[filled]: Filled<K>): string {
  return filled === undefined ? raw(key) : fill(raw(key), filled);
}

/** Parts of a sentence, one after the other; those that are null are left out. */
export const joined = (parts: readonly (string | null)[]): string =>
  parts.filter((one) => one !== null).join(say('list.comma'));

/** A sentence of the server in the reader's language; null: only its English is known. */
export const inReadersWords = (english: string): string | null => chineseWords()?.inChinese(english) ?? null;

/** What is said in Chinese; null: the reader reads English, or it is not loaded. */
export const chineseWords = (): Chinese | null => (reader.value.language === 'zh' ? chinese : null);
