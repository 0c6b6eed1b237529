/** What a text may hold, and when two texts are one name. */

/** Whether a text holds what PostgreSQL's text and jsonb cannot: a NUL, or half of a surrogate pair. */
export const isStorable = (text: string): boolean => !text.includes('\u0000') && text.isWellFormed();

/**
 * The form in which names of people are compared: Unicode's compatibility form, without what is not seen, without
 * spaces at the ends, in lower case. Only this function folds names, so that two folded names are compared as they are:
 * databases have rules of their own for lower case, which depend on the locale.
 */
export const foldedName = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    // The sigma at the end of a word: which of the two it is depends on what follows.
    .replaceAll('ς', 'σ')
    .normalize('NFKC')
    .trim();
