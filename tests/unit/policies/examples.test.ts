/** Every policy's examples are its tests; its documentation shows them, so they must hold. */
import { describe, expect, it } from 'vitest';
import { recommendationOf, type Policy } from '../../../src/core/policy.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));

describe.each(policies)('policy $name', (policy) => {
  it('has examples that propose and examples that do not, a description and a version', () => {
    expect(policy.examples.some((example) => example.proposes.length > 0)).toBe(true);
    expect(policy.examples.some((example) => example.proposes.length === 0)).toBe(true);
    expect(policy.description.length).toBeGreaterThan(20);
    expect(policy.version).toBeGreaterThanOrEqual(1);
  });

  it.each(policy.examples)('$title', (example) => {
    const params = policy.params.parse(example.params);
    const proposals = policy.evaluate(example.view, params);
    expect(proposals.map(({ action, target }) => ({ action, target }))).toEqual(example.proposes);
    for (const proposal of proposals) {
      expect(proposal.monthlySavings.mean).toBeGreaterThan(0n);
      expect(proposal.monthlySavings.low).toBeLessThanOrEqual(proposal.monthlySavings.mean);
      expect(proposal.monthlySavings.high).toBeGreaterThanOrEqual(proposal.monthlySavings.mean);
      const made = recommendationOf(example.view, policy, proposal);
      expect(made).toEqual(recommendationOf(example.view, policy, policy.evaluate(example.view, params)[proposals.indexOf(proposal)] ?? proposal));
      expect(made.estimatedMonthlySavings).toMatch(/^\d+\.\d{2}$/);
    }
  });

  it('refuses parameters that it does not know', () => {
    expect(policy.params.safeParse({ noSuchParameter: 1 }).success).toBe(false);
  });
});
