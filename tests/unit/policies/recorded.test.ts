/**
 * Every number, code and sentence of every policy on its own examples, as recorded in
 * tests/fixtures/policy-examples.json: a change of any of them is seen, and read by whoever makes it. Written anew by
 * BURSAR_WRITE_DOCS=1.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Policy } from '../../../src/core/policy/policy.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';
import { ROOT } from '../../support/source.js';

const FILE = path.join(ROOT, 'tests/fixtures/policy-examples.json');
const policies = await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate'));

/** As JSON: what is undefined is left out, nanos are written with an n, and other numbers with ten digits. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value, (_, one: unknown) => written(one)));

function written(one: unknown): unknown {
  if (typeof one === 'bigint') return `${one}n`;
  return typeof one === 'number' && !Number.isInteger(one) ? Number(one.toPrecision(10)) : one;
}

const madeBy = ({ evaluate, explain, nextEvaluationAt, params, examples }: Policy): Record<string, unknown> =>
  Object.fromEntries(
    examples.map(({ title, view, params: given }) => {
      const parsed = params.parse(given);
      return [
        title,
        plain({
          proposals: evaluate(view, parsed, 'doc'),
          explained: explain?.(view, parsed, 'doc'),
          nextEvaluationAt: nextEvaluationAt?.(view, parsed),
        }),
      ];
    }),
  );

if (process.env['BURSAR_WRITE_DOCS'] === '1') {
  const all = Object.fromEntries(policies.map((policy) => [policy.name, madeBy(policy)]));
  writeFileSync(FILE, `${JSON.stringify(all, null, 2)}\n`);
}
const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, unknown>;

it.each(policies)('$name says of its examples what is recorded', (policy) => {
  expect(madeBy(policy)).toEqual(recorded[policy.name]);
});
