/** Whatever the policies' examples make them say is said wholly in Chinese: no run of three English words is left. */
import { describe, expect, it } from 'vitest';
import type { Policy } from '../../../src/core/policy/policy.js';
import { inChinese } from '../../../src/core/report/reworded.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';
import { englishRuns } from '../../support/english.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const left = (texts: readonly string[]): string[] =>
  [...new Set(texts)].filter((text) => englishRuns(inChinese(text) ?? text).length > 0);

describe.each(policies)('policy $name', (policy) => {
  it('proposes and explains in Chinese', () => {
    const texts = policy.examples.flatMap(({ view, params }) => {
      const given = policy.params.parse(params);
      return [
        ...policy.evaluate(view, given, 'doc').flatMap(({ title, risk }) => [title, risk.note]),
        ...(policy.explain?.(view, given, 'doc') ?? []).flatMap(({ saw, leftAlone }) => [
          ...saw,
          ...(leftAlone === null ? [] : [leftAlone.message, leftAlone.toAct]),
        ]),
      ];
    });
    expect(texts.length).toBeGreaterThan(0);
    expect(left(texts).map((text) => `${text} -> ${String(inChinese(text))}`)).toEqual([]);
  });

  it('names its examples in Chinese', () => {
    expect(policy.examples.filter(({ title }) => inChinese(title) === null).map(({ title }) => title)).toEqual([]);
    expect(left(policy.examples.map(({ title }) => title))).toEqual([]);
  });
});
