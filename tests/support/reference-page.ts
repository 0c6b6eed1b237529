/**
 * What the generated pages of docs/reference share: the check that a page is up to date, and the Markdown of tables. It
 * decides nothing.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './source.js';

/** The sentence that a generated page begins with. @param test the file that holds the page equal */
export const madeOf = (what: string, test: string): string =>
  `This page is made of ${what} (${test} compares it; \`BURSAR_WRITE_DOCS=1\` writes it anew).`;

/** Expects a page of docs/reference to be this text; with BURSAR_WRITE_DOCS=1 it is first written. A failure says so. */
export async function expectPage(name: string, text: string): Promise<void> {
  const file = path.join(ROOT, 'docs/reference', name);
  if (process.env['BURSAR_WRITE_DOCS'] === '1') {
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const test = path.relative(ROOT, expect.getState().testPath ?? '');
  const stale = `docs/reference/${name} is out of date; BURSAR_WRITE_DOCS=1 npx vitest run ${test} writes it anew`;
  expect(await readFile(file, 'utf8'), stale).toBe(text);
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');

/** A table of Markdown; no cell breaks it. */
export const markdownTable = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  [
    `| ${titles.join(' | ')} |`,
    `|${titles.map(() => '---|').join('')}`,
    ...rows.map((row) => `| ${row.map(cell).join(' | ')} |`),
  ].join('\n');

export const code = (text: string): string => `\`${text}\``;
