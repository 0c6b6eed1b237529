/** The roles that docs/how-to/connect-azure.md writes down have what the Azure part declares, and nothing else. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { provider } from '../../../src/providers/azure/azure.js';
import { OPERATIONS } from '../../../src/providers/azure/operations.js';
import { ROOT } from '../../support/source.js';

const page = readFileSync(path.join(ROOT, 'docs/how-to/connect-azure.md'), 'utf8');
const { effects, ...reading } = provider.abilities;
const asking = OPERATIONS.permissions.permission;

it.each([
  ['reading', Object.values(reading).flatMap((names) => names ?? [])],
  ['acting', Object.values(effects).flat()],
])('the role for %s', (use, needed) => {
  const block = new RegExp(`\`\`\`json ${use}\n([^]*?)\`\`\``).exec(page)?.[1] ?? '{}';
  const { Actions } = JSON.parse(block) as { Actions?: string[] };
  expect([...(Actions ?? [])].sort()).toEqual([...new Set([...needed, asking])].sort());
});
