/**
 * A sentence of the server (a title, a risk, an explanation) in Chinese. The English is the contract; here it is matched
 * as a whole with the templates that it was made of, and what stands in their holes in the same way.
 *
 * tests/structure/chinese-sentences.test.ts tells which sentence of the sources has no template.
 */
import { EXAMPLE_TITLES } from './chinese/examples.js';
import { EXPLANATIONS } from './chinese/explanations.js';
import { REFUSALS } from './chinese/guard.js';
import { ABSENCES } from './chinese/missing.js';
import { POLICY_SENTENCES } from './chinese/policies.js';
import { POLICY_PURPOSES } from './chinese/purposes.js';
import { digest } from './digest.js';

const TEMPLATES = {
  ...EXAMPLE_TITLES,
  ...POLICY_PURPOSES,
  ...REFUSALS,
  ...ABSENCES,
  ...POLICY_SENTENCES,
  ...EXPLANATIONS,
};
const HOLE = /\{\d\}/;
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const literal = (template: string): number => template.split(HOLE).join('').length;

/** A template of a word or two fits what nobody knows, unless its holes are known or names. */
const WEAK_BELOW = 10;

/** What has no hole, by its digest; the built dashboard has only that. */
const SENTENCES = new Map(
  Object.entries(TEMPLATES)
    .filter(([english]) => !HOLE.test(english))
    .map(([english, chinese]) => [english.startsWith('#') ? english : digest(english), chinese]),
);

/** The most specific first. */
const FORMS = Object.entries(TEMPLATES)
  .filter(([english]) => HOLE.test(english))
  .sort(([a], [b]) => literal(b) - literal(a))
  .map(([english, chinese]) => ({
    form: new RegExp(`^${english.split(HOLE).map(escaped).join('(.*?)')}$`, 'is'),
    chinese,
    isWeak: literal(english) < WEAK_BELOW,
  }));

/** Lists as the server joins them. */
const LISTS: readonly (readonly [between: string | RegExp, then: string])[] = [
  [/(?<=\.) /, ''],
  ['; ', '；'],
  [', ', '，'],
  [' + ', ' + '],
];

const isProse = (text: string): boolean => /[a-z]+ [a-z]+ [a-z]+/i.test(text);

const MOST_KNOWN = 5000;
const known = new Map<string, string | null>();

/** Null where no template has made it. */
export function inChinese(english: string): string | null {
  const before = known.get(english);
  if (before !== undefined) return before;
  const reworded =
    SENTENCES.get(digest(english)) ??
    ofForms(english, false) ??
    ofList(english, true) ??
    ofForms(english, true) ??
    ofList(english, false);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(english, reworded);
  return reworded;
}

function ofForms(english: string, weak: boolean): string | null {
  for (const { form, chinese, isWeak } of FORMS) {
    const found = isWeak === weak ? form.exec(english) : null;
    if (found === null) continue;
    const holes = found.slice(1).map((held) => [held, inChinese(held)] as const);
    if (isWeak && holes.some(([held, reworded]) => reworded === null && isProse(held))) continue;
    return chinese.replace(/\{(\d)\}/g, (_, at: string) => holes[Number(at)]?.[1] ?? holes[Number(at)]?.[0] ?? '');
  }
  return null;
}

/** @param whole only where all the prose of its parts is known */
function ofList(english: string, whole: boolean): string | null {
  for (const [between, then] of LISTS) {
    const parts = english.split(between);
    if (parts.length === 1) continue;
    const reworded = parts.map((one) => inChinese(one));
    if (whole && parts.some((one, at) => isProse(reworded[at] ?? one))) continue;
    if (reworded.some((one) => one !== null)) return parts.map((one, at) => reworded[at] ?? one).join(then);
  }
  const ended = english.endsWith('.') ? inChinese(english.slice(0, -1)) : null;
  return ended === null ? null : `${ended}。`;
}
