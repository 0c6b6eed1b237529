/**
 * Loads a folder of parts and checks them at boot: each file exports `part` under the name that its file has.
 *
 * A folder's own sub-folders hold what its parts share and are not parts. A wrong part stops the start, by name.
 */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

export interface Named {
  readonly name: string;
}

/**
 * The parts of a folder beside this file, in the order of their names.
 * @param exported the name under which each file exports its part
 * @param check problems of a part's shape, empty where it is fine
 */
export async function loadParts<Part extends Named>(folder: string, exported: string, check: (part: Record<string, unknown>) => readonly string[]): Promise<Part[]> {
  const here = path.join(import.meta.dirname, folder);
  const files = (await readdir(here)).filter((file) => /^[\w-]+\.(js|ts)$/.test(file) && !file.endsWith('.d.ts')).sort();
  const problems: string[] = [];
  const parts: Part[] = [];
  for (const file of files) {
    const name = file.replace(/\.(js|ts)$/, '');
    const module = (await import(pathToFileURL(path.join(here, file)).href)) as Record<string, unknown>;
    const part = module[exported];
    if (typeof part !== 'object' || part === null) {
      problems.push(`${folder}/${file} exports no ${exported}`);
      continue;
    }
    const shape = part as Record<string, unknown>;
    if (shape['name'] !== name) problems.push(`${folder}/${file}: its part is named ${String(shape['name'])}`);
    problems.push(...check(shape).map((problem) => `${folder}/${file}: ${problem}`));
    parts.push(part as Part);
  }
  if (problems.length > 0) throw new Error(`parts are wrong: ${problems.join('; ')}`);
  return parts;
}

/** Problems of a part that lacks functions. */
export function lacksFunctions(part: Record<string, unknown>, ...names: string[]): string[] {
  return names.filter((name) => typeof part[name] !== 'function').map((name) => `has no function ${name}`);
}
