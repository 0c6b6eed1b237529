/** The terms with an explanation, in the order of the page of terms. The texts are in the glossaries (texts/). */
import type { TextKey } from './language.js';

type Named<Key> = Key extends `help.${infer Name}-text` ? Name : never;
/** Each term has a name and a meaning. */
export type HelpTerm = Named<TextKey>;

export const HELP_TERMS: readonly HelpTerm[] = [
  'actual',
  'accrued',
  'billed',
  'effective',
  'list',
  'peak',
  'unpriced',
  'unallocated',
  'set-aside',
  'bridge',
  'threshold',
  'interval',
  'evidence',
  'coverage',
  'mode',
  'guard',
  'canary',
  'commitment',
  'break-even',
  'counterfactual',
  'verified',
];
