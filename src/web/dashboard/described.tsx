/**
 * Descriptions of policies and of the API's schemas, in the reader's language where a translation exists; otherwise the
 * original, marked as English.
 */
import type { JSX } from 'preact';
import { nameInChinese, translated } from './field-words.js';
import { words } from './format.js';
import { AsWritten } from './ui.js';

/** The description of a policy, a parameter or a field. */
export const Described = ({ text }: { readonly text: string }): JSX.Element => (
  <>{translated(text) ?? <AsWritten>{text}</AsWritten>}</>
);

/** A name where it stands alone. */
export const Named = ({ name }: { readonly name: string }): JSX.Element => (
  <>{nameInChinese(name) ?? <AsWritten>{words(name)}</AsWritten>}</>
);
