/**
 * Descriptions of policies and of the API's schemas, in the reader's language where a translation exists; otherwise the
 * original, marked as English.
 */
import type { JSX } from 'preact';
import { nameInChinese, nameInEnglish, translated } from './field-words.js';
import { AsWritten } from './ui.js';

/** The values of a document as a form has them. */
const AS_TYPED: Readonly<Record<string, string>> = { null: 'empty', true: 'yes', false: 'no' };
const asTyped = (text: string): string => text.replace(/\b(null|true|false)\b/g, (word) => AS_TYPED[word] ?? word);

/** The description of a policy, a parameter or a field. */
export const Described = ({ text }: { readonly text: string }): JSX.Element => (
  <>{translated(text) ?? <AsWritten>{asTyped(text)}</AsWritten>}</>
);

/** A name where it stands alone. */
export const Named = ({ name }: { readonly name: string }): JSX.Element => (
  <>{nameInChinese(name) ?? <AsWritten>{nameInEnglish(name)}</AsWritten>}</>
);
