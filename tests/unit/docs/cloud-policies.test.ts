/** The policies that the pages of AWS, Alibaba Cloud and Tencent Cloud write down have what each part declares. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { provider as alibaba } from '../../../src/providers/alibaba/alibaba.js';
import { provider as aws } from '../../../src/providers/aws/aws.js';
import { provider as tencent } from '../../../src/providers/tencent/tencent.js';
import { ROOT } from '../../support/source.js';

interface Statement {
  readonly Action?: readonly string[];
  readonly action?: readonly string[];
}

/** The actions of the page's policy for a use, in the order of the alphabet. */
function actionsIn(page: string, use: string): string[] {
  const block = new RegExp(`\`\`\`json ${use}\n([^]*?)\`\`\``).exec(page)?.[1] ?? '{}';
  const policy = JSON.parse(block) as { Statement?: Statement[]; statement?: Statement[] };
  return [...(policy.Statement ?? []), ...(policy.statement ?? [])]
    .flatMap(({ Action = [], action = [] }) => [...Action, ...action])
    .sort();
}

describe.each([
  ['aws', aws],
  ['alibaba', alibaba],
  ['tencent', tencent],
])('the page of %s', (name, { abilities }) => {
  const page = readFileSync(path.join(ROOT, `docs/how-to/connect-${name}.md`), 'utf8');
  const { effects, ...reading } = abilities;

  it.each([
    ['reading', Object.values(reading).flatMap((names) => names ?? [])],
    ['acting', Object.values(effects).flat()],
  ])('has a policy for %s', (use, needed) => {
    expect(needed.length).toBeGreaterThan(0);
    expect(actionsIn(page, use)).toEqual([...new Set(needed)].sort());
  });
});
