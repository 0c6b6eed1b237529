/**
 * Every relative link of the documentation leads to a file that is there, and to a heading that it has. Addresses
 * elsewhere are not opened.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorsOf, linksOf } from '../../support/markdown-links.js';
import { ROOT } from '../../support/source.js';

const under = (folder: string): string[] =>
  readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
    path.posix.join(folder, name.split(path.sep).join('/')),
  );
const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'src/README.md', ...under('docs'), ...under('deploy')]
  .filter((name) => name.endsWith('.md'))
  .sort();

const read = (name: string): string => readFileSync(path.join(ROOT, name), 'utf8');
const isElsewhere = (target: string): boolean => /^[a-z][a-z+.-]*:/i.test(target);

/** Why a link of a page leads nowhere; null: it leads somewhere. */
function broken(page: string, target: string): string | null {
  const [name = '', anchor] = decodeURI(target).split('#');
  const file = name === '' ? page : path.posix.join(path.posix.dirname(page), name);
  if (file.startsWith('..')) return 'leaves the repository';
  if (!existsSync(path.join(ROOT, file))) return 'is not there';
  if (anchor === undefined || anchor === '' || !statSync(path.join(ROOT, file)).isFile() || !file.endsWith('.md'))
    return null;
  return anchorsOf(read(file)).has(anchor) ? null : 'has no such heading';
}

describe('the links of', () => {
  it.each(PAGES)('%s', (page) => {
    const wrong = linksOf(read(page))
      .filter(({ target }) => !isElsewhere(target))
      .flatMap(({ target, line }) => {
        const why = broken(page, target);
        return why === null ? [] : [`${page}:${line} ${target} ${why}`];
      });
    expect(wrong).toEqual([]);
  });
});

it('the index leads to every page of the documentation', () => {
  const index = linksOf(read('docs/README.md')).map(({ target }) =>
    path.posix.join('docs', target.split('#')[0] ?? ''),
  );
  const reached = (name: string): boolean =>
    index.some((target) => target === name || (target !== 'docs' && name.startsWith(`${target.replace(/\/$/, '')}/`)));
  expect(PAGES.filter((name) => name.startsWith('docs/') && name !== 'docs/README.md' && !reached(name))).toEqual([]);
});

describe('what reads them', () => {
  it('finds links in prose and pictures, and none in code', () => {
    const page = 'See [a](x.md#one) and ![b](y.png "t").\n`[c](z.md)`\n```\n[d](no.md)\n```\n[e](<w.md>)';
    expect(linksOf(page).map(({ target, line }) => `${line} ${target}`)).toEqual(['1 x.md#one', '1 y.png', '6 w.md']);
  });

  it('makes the anchors that GitHub makes', () => {
    expect([
      ...anchorsOf("# The `job` API: what's new?\n## Prices\n## Prices\n```\n# not one\n```\n### [Set](s.md) it up"),
    ]).toEqual(['the-job-api-whats-new', 'prices', 'prices-1', 'set-it-up']);
  });

  it('names a file or a heading that is not there', () => {
    expect(broken('README.md', 'docs/nowhere.md')).toBe('is not there');
    expect(broken('docs/README.md', '../README.md#no-such-heading')).toBe('has no such heading');
    expect(broken('README.md', '../../etc/passwd')).toBe('leaves the repository');
  });
});
