/** Every policy's examples are its tests; its documentation shows them, so they must hold. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { isWorthwhile, recommendationOf, type Policy } from '../../../src/core/policy/policy.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';
import { ROOT } from '../../support/source.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));

it('are found: every file of src/policies', () => {
  const files = readdirSync(path.join(ROOT, 'src/policies')).filter((name) => name.endsWith('.ts'));
  expect(policies.map(({ name }) => `${name}.ts`).sort()).toEqual(files.sort());
  expect(files.length).toBeGreaterThan(10);
});

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
    const again = policy.evaluate(example.view, params);
    proposals.forEach((proposal, at) => {
      expect(isWorthwhile(proposal)).toBe(true);
      const made = recommendationOf(example.view, policy, proposal);
      const other = again[at];
      expect(other === undefined ? null : recommendationOf(example.view, policy, other)).toEqual(made);
      expect(
        Object.values(made.computation).every((value) => typeof value === 'string' || Number.isFinite(value)),
      ).toBe(true);
      if (proposal.monthlySavings === null) {
        expect(made).toMatchObject({
          estimatedMonthlySavings: null,
          estimatedMonthlySavingsLow: null,
          estimatedMonthlySavingsNanos: null,
        });
        return;
      }
      const { mean, low, high } = proposal.monthlySavings;
      expect(low <= mean && mean <= high).toBe(true);
      expect(made.estimatedMonthlySavings).toMatch(/^-?\d+\.\d{2}$/);
    });
  });

  it('refuses parameters that it does not know', () => {
    expect(policy.params.safeParse({ noSuchParameter: 1 }).success).toBe(false);
  });
});
