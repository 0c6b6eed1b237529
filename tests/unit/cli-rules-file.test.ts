/** Files of allocation rules: JSON and YAML, and every problem named with its place. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { readRules } from '../../src/cli/rules-file.js';

describe('a file of rules', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'bursar-rules-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const read = async (content: string, withYaml = true): Promise<unknown> => {
    const file = path.join(folder, 'rules');
    await writeFile(file, content);
    return readRules(file, withYaml ? (text) => parseYaml(text) as unknown : undefined);
  };
  const RULES = [
    { match: { namespace: 'ml-*' }, team: 'research' },
    {
      match: { tag: { key: 'cost', value: 'shared' } },
      split: { by: 'fixed', shares: { research: '0.6', vision: '0.4' } },
    },
    { match: {}, split: { by: 'use', of: ['research', 'vision'] } },
  ];

  it('is a list, or { "rules": [...] }, in JSON or YAML', async () => {
    expect(await read(JSON.stringify(RULES))).toEqual(RULES);
    expect(await read(`\uFEFF${JSON.stringify({ rules: RULES })}`, false)).toEqual(RULES);
    expect(
      await read(`
- match: { namespace: "ml-*" }
  team: research
- match: { tag: { key: cost, value: shared } }
  split: { by: fixed, shares: { research: "0.6", vision: "0.4" } }
- match: {}
  split: { by: use, of: [research, vision] }
`),
    ).toEqual(RULES);
    expect(await read('{rules: [{match: {namespace: a}, team: b}]}')).toEqual([
      { match: { namespace: 'a' }, team: 'b' },
    ]);
    expect(await read('[]')).toEqual([]);
  });

  it.each([
    ['7', 'holds neither a list'],
    ['{"rule": []}', 'holds neither a list'],
    ['[1,', 'is neither JSON nor YAML'],
    ['a: b: c', 'is neither JSON nor YAML'],
  ])('%j is none', async (content, message) => {
    await expect(read(content)).rejects.toThrow(message);
  });

  it('without a reader of YAML is JSON', async () => {
    await expect(read('- match: {}', false)).rejects.toThrow(/is not JSON$/);
    await expect(read('[1,', false)).rejects.toThrow('is neither JSON nor YAML');
  });

  it('has every problem named', async () => {
    const problemsOf = async (rules: unknown): Promise<unknown> =>
      read(JSON.stringify(rules)).catch((error: { problems: unknown }) => error.problems);
    expect(
      await problemsOf([
        7,
        { team: 'x' },
        { match: { tag: 'x' }, team: 'y' },
        { match: {}, split: [] },
        { match: {}, split: { by: 'fixed' } },
        { match: {}, split: { by: 'use', of: 'all' } },
      ]),
    ).toEqual([
      { path: 'rules/0', message: 'is not an object with match and team or split' },
      { path: 'rules/1/match', message: 'is not an object; {} matches everything' },
      { path: 'rules/2/match/tag', message: 'is not { key, value }' },
      { path: 'rules/3/split', message: 'is not { by: fixed, shares } or { by: use }' },
      { path: 'rules/4/split/shares', message: 'is not an object of teams and their shares' },
      { path: 'rules/5/split/of', message: 'is not a list of teams' },
    ]);
    expect(await problemsOf([{ match: { planet: 'x' }, team: '' }, { match: {} }])).toMatchObject([
      { path: 'rules/0/match/planet' },
      { path: 'rules/0/team' },
      { path: 'rules/1/team' },
    ]);
  });

  it('must be there', async () => {
    await expect(readRules(path.join(folder, 'none'))).rejects.toMatchObject({ kind: 'missing' });
  });
});
