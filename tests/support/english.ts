/** Finds English prose in a Chinese text: a run of three or more words, with nothing between but blanks and commas. */

const WORD = "[A-Za-z][A-Za-z'’-]*";
const RUN = new RegExp(`(?<![\\w/.@-])${WORD}(?:[,;:]? +${WORD}){2,}(?![\\w/@])`, 'g');

export const englishRuns = (text: string): string[] => text.match(RUN) ?? [];
