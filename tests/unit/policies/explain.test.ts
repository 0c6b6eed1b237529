/**
 * What policies tell of what they saw agrees with what they propose: on every example each thing is either proposed or
 * left alone with a reason and with what would make the policy act, and never both.
 */
import { expect, it } from 'vitest';
import { loadParts, lacksFunctions } from '../../../src/parts.js';
import type { Policy } from '../../../src/core/policy/policy.js';

const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));
const DOCUMENT = 'doc';
const told = policies.filter(({ explain }) => explain !== undefined);

it('every policy tells what it saw', () => {
  expect(policies.filter(({ explain }) => explain === undefined).map(({ name }) => name)).toEqual([]);
});

it.each(
  told.flatMap((policy) => policy.examples.map((example) => [policy.name, example.title, policy, example] as const)),
)('%s, %s: what is told is what is done', (_name, _title, policy, { view, params }) => {
  const given = policy.params.parse(params);
  const proposed = new Set(policy.evaluate(view, given, DOCUMENT).map(({ target }) => target));
  const looks = policy.explain?.(view, given, DOCUMENT) ?? [];
  for (const { target, saw, leftAlone } of looks) {
    expect([target, leftAlone === null]).toEqual([target, proposed.has(target)]);
    expect(saw.join()).not.toMatch(/undefined|NaN|null/);
    if (leftAlone === null) continue;
    for (const text of [leftAlone.code, leftAlone.message, leftAlone.toAct])
      expect(text).not.toMatch(/^$|undefined|NaN|null/);
  }
  // Whatever is proposed for a workload, a resource or a lease was looked at.
  const subjects = new Set([
    ...view.workloads.map(({ workload }) => workload),
    ...view.resources.map(({ resource }) => resource),
    ...view.leases.map(({ target }) => target),
  ]);
  const looked = new Set(looks.map(({ target }) => target));
  const unexplained = [...proposed].filter((target) => subjects.has(target) && !looked.has(target));
  expect(policy.name === 'budget-brake' ? [] : unexplained).toEqual([]);
});
