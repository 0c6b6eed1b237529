/**
 * The reader's language: the one chosen here, otherwise the browser's preference. Numbers and dates have the format of
 * the reader's region. Only the choice is kept in this browser.
 */
import { effect } from '@preact/signals';
import { LANGUAGES, readerFor, readerOf, type Language } from '../../core/report/reader.js';
import { loadTexts, reader, TAGS } from './language.js';

const KEY = 'bursar-language';

/** Each in its own language: readers who cannot read the page find theirs. */
export const NAMES: Readonly<Record<Language, string>> = { en: 'English', zh: '简体中文' };

function kept(): Language | null {
  try {
    const text = localStorage.getItem(KEY);
    return LANGUAGES.find((one) => one === text) ?? null;
  } catch {
    return null;
  }
}

/** A language with the region that the browser has for it, if any. */
function readerIn(language: Language): ReturnType<typeof readerOf> {
  const own = navigator.languages.filter((tag) => tag.toLowerCase().split('-')[0] === language);
  return own.length === 0 ? readerOf(language) : readerFor(own.join(','));
}

const chosen = kept();
reader.value = chosen === null ? readerFor(navigator.languages.join(',')) : readerIn(chosen);

/** Changes the language once its texts are there; without them the page stays as it is. */
export async function choose(language: Language): Promise<void> {
  try {
    await loadTexts(language);
  } catch {
    // Drawn anew, the choice shows the language that still holds.
    reader.value = { ...reader.value };
    return;
  }
  reader.value = readerIn(language);
  try {
    localStorage.setItem(KEY, language);
  } catch {
    // A browser that keeps nothing shows the choice until it is closed.
  }
}

effect(() => {
  document.documentElement.lang = TAGS[reader.value.language];
});
