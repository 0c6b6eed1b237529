/**
 * The --json documents of the command line as callers rely on them: the names of their fields and the kinds of their
 * values, held against a record in tests/fixtures. BURSAR_WRITE_DOCS=1 records anew.
 */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'vitest';
import { ROOT } from './source.js';

type Document = Readonly<Record<string, never>>;

const kindOf = (value: unknown): string => (value === null ? 'null' : typeof value);

/** Fields whose content is a policy's own. */
const PARAMETERS = new Set(['parameters', 'params']);

/** Field names and kinds of values; of a list what its items have, each kind once. */
export function shapeOf(value: unknown): unknown {
  if (value === null) return 'null';
  if (Array.isArray(value)) {
    const kinds = [...new Set(value.map((item) => JSON.stringify(shapeOf(item))))].sort();
    return kinds.map((kind) => JSON.parse(kind) as unknown);
  }
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, inner]) => [name, PARAMETERS.has(name) ? kindOf(inner) : shapeOf(inner)]),
  );
}

/** Whether everything that was recorded is there, of its kind. What is new is fine, and a list may hold less. */
export function lost(recorded: unknown, now: unknown, at: string): string[] {
  if (Array.isArray(recorded) && Array.isArray(now)) {
    if (recorded.length === 0 || now.length === 0) return [];
    return now.flatMap((item, no) => {
      const fits = recorded.map((kind) => lost(kind, item, `${at}/${no}`));
      return fits.some((problems) => problems.length === 0) ? [] : (fits[0] ?? []);
    });
  }
  if (typeof recorded === 'object' && recorded !== null && typeof now === 'object' && now !== null)
    return Object.entries(recorded).flatMap(([name, inner]) =>
      name in now ? lost(inner, (now as Document)[name], `${at}/${name}`) : [`${at}/${name} is gone`],
    );
  return recorded === now || recorded === 'null' || now === 'null'
    ? []
    : [`${at} was ${JSON.stringify(recorded)}, is ${JSON.stringify(now)}`];
}

/** What each side answered, by the name of the question. */
export interface Sides {
  readonly here: Readonly<Record<string, unknown>>;
  /** Absent: asked on one side only. */
  readonly there?: Readonly<Record<string, unknown>>;
}

/** One line per verb; what is there where it differs. */
function recordOf({ here, there = here }: Sides): string {
  const lines = Object.entries(here).map(([name, shape]) => {
    const isSame = JSON.stringify(shape) === JSON.stringify(there[name]);
    return ` ${JSON.stringify(name)}: ${JSON.stringify({ here: shape, ...(isSame ? {} : { there: there[name] }) })}`;
  });
  return `{\n${lines.join(',\n')}\n}\n`;
}

/** @param file below tests/fixtures */
export async function expectRecorded(file: string, sides: Sides): Promise<void> {
  const { here, there = here } = sides;
  const at = path.join(ROOT, 'tests/fixtures', file);
  if (process.env['BURSAR_WRITE_DOCS'] === '1') await writeFile(at, recordOf(sides));
  const recorded = JSON.parse(await readFile(at, 'utf8')) as Record<string, { here: unknown; there?: unknown }>;
  expect(Object.keys(here)).toEqual(Object.keys(recorded));
  const problems = Object.entries(recorded).flatMap(([name, was]) => [
    ...lost(was.here, here[name], `here ${name}`),
    ...lost(was.there ?? was.here, there[name], `there ${name}`),
  ]);
  expect(problems).toEqual([]);
}
