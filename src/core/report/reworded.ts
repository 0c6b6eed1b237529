/**
 * A sentence of the server (a title, a risk, an explanation) in Chinese. The English is the contract; here it is matched
 * as a whole with the templates that it was made of, and what stands in their holes in the same way.
 *
 * tests/unit/core/reworded.test.ts tells which sentence of the sources has no template.
 */
import { EXPLANATIONS } from './chinese/explanations.js';
import { POLICY_SENTENCES } from './chinese/policies.js';

const TEMPLATES = { ...POLICY_SENTENCES, ...EXPLANATIONS };
const HOLE = /\{\d\}/;
const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const literal = (template: string): number => template.split(HOLE).join('').length;

/** A template of a word or two fits what nobody knows, unless its holes are known or names. */
const WEAK_BELOW = 10;

/** The most specific first. */
const FORMS = Object.entries(TEMPLATES)
  .sort(([a], [b]) => literal(b) - literal(a))
  .map(([english, chinese]) => ({
    form: new RegExp(`^${english.split(HOLE).map(escaped).join('(.*?)')}$`, 'is'),
    chinese,
    isWeak: HOLE.test(english) && literal(english) < WEAK_BELOW,
  }));

/** Lists as the server joins them. */
const LISTS: readonly (readonly [between: string | RegExp, then: string])[] = [
  [/(?<=\.) /, ''],
  ['; ', '；'],
  [', ', '，'],
  [' + ', ' + '],
];

const isProse = (text: string): boolean => /[a-z]+ [a-z]+ [a-z]+/i.test(text);

/** Null where no template has made it. */
export function inChinese(english: string): string | null {
  for (const { form, chinese, isWeak } of FORMS) {
    const found = form.exec(english);
    if (found === null) continue;
    const holes = found.slice(1).map((held) => [held, inChinese(held)] as const);
    if (isWeak && holes.some(([held, reworded]) => reworded === null && isProse(held))) continue;
    return chinese.replace(/\{(\d)\}/g, (_, at: string) => holes[Number(at)]?.[1] ?? holes[Number(at)]?.[0] ?? '');
  }
  return ofList(english);
}

function ofList(english: string): string | null {
  for (const [between, then] of LISTS) {
    const parts = english.split(between);
    if (parts.length === 1) continue;
    const reworded = parts.map((one) => inChinese(one));
    if (reworded.some((one) => one !== null)) return parts.map((one, at) => reworded[at] ?? one).join(then);
  }
  const ended = english.endsWith('.') ? inChinese(english.slice(0, -1)) : null;
  return ended === null ? null : `${ended}。`;
}
