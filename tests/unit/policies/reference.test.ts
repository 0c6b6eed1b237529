/** docs/reference/policies.md is what the policies say of themselves. BURSAR_WRITE_DOCS=1 writes it anew. */
import { readFile, writeFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Policy } from '../../../src/core/policy/policy.js';
import { lacksFunctions, loadParts } from '../../../src/parts.js';
import { policyReference } from '../../support/policy-reference.js';
import { ROOT } from '../../support/source.js';

const FILE = path.join(ROOT, 'docs/reference/policies.md');

it('the reference of policies is up to date', async () => {
  const text = policyReference(
    await loadParts<Policy>('policies', 'policy', (part) => lacksFunctions(part, 'evaluate')),
  );
  if (process.env['BURSAR_WRITE_DOCS'] === '1') {
    await mkdir(path.dirname(FILE), { recursive: true });
    await writeFile(FILE, text);
  }
  expect(await readFile(FILE, 'utf8')).toBe(text);
  // A parameter that nobody explains explains nothing.
  expect(text).not.toMatch(/^\| `.*\| {2}\|$/m);
});
