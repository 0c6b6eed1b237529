/** docs/reference/policies.md is what the policies say of themselves. BURSAR_WRITE_DOCS=1 writes it anew. */
import { expect, it } from 'vitest';
import type { Policy } from '../../../src/core/policy/policy.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';
import { policyReference } from '../../support/policy-reference.js';
import { expectPage } from '../../support/reference-page.js';

it('the reference of policies is up to date', async () => {
  const text = policyReference(
    await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate')),
  );
  await expectPage('policies.md', text);
  // A parameter that nobody explains explains nothing.
  expect(text).not.toMatch(/^\| `.*\| {2}\|$/m);
});
