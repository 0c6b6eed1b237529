/**
 * What a policy says of itself, in the reader's language where there are words for it; else as the policy's own file
 * has it, marked as English.
 */
import type { JSX } from 'preact';
import { words } from './format.js';
import { reader } from './language.js';
import { DESCRIPTIONS, PARAMETERS } from './texts/policies-chinese.js';
import { AsWritten } from './ui.js';

const inChinese = (from: Readonly<Record<string, string>>, key: string): string | null =>
  reader.value.language === 'zh' && Object.hasOwn(from, key) ? (from[key] ?? null) : null;

/** A policy's or a parameter's description. */
export const Described = ({ text }: { readonly text: string }): JSX.Element => (
  <>{inChinese(DESCRIPTIONS, text) ?? <AsWritten>{text}</AsWritten>}</>
);

/** A parameter's name. */
export const named = (name: string): string => inChinese(PARAMETERS, name) ?? words(name);

/** The same where it stands alone. */
export const Named = ({ name }: { readonly name: string }): JSX.Element => (
  <>{inChinese(PARAMETERS, name) ?? <AsWritten>{words(name)}</AsWritten>}</>
);
