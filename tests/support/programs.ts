/**
 * The servers, browsers and shells that some tests need, looked for on the PATH. Nothing is installed here.
 * A block that cannot run is skipped under a name that ends in `[needs PROGRAM]`; run.mjs counts those by program.
 */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { describe } from 'vitest';

const NAMES = {
  'redis-server': ['redis-server'],
  // Debian's build without the windows around a page first: it draws the same pages with less work.
  chromium: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
  prometheus: ['prometheus'],
  promtool: ['promtool'],
  bash: ['bash'],
  zsh: ['zsh'],
  fish: ['fish'],
  pgbouncer: ['pgbouncer'],
} as const;

export type Program = keyof typeof NAMES;

/** The absolute path of a program on the PATH, or null. */
export function findProgram(program: Program): string | null {
  for (const folder of (process.env['PATH'] ?? '').split(path.delimiter)) {
    for (const name of NAMES[program]) {
      const file = path.join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        continue;
      }
    }
  }
  return null;
}

/** `describe` for tests that need a program; skipped, and counted by name, where it is not found. */
export function describeWith(program: Program, name: string, body: (file: string) => void | Promise<void>): void {
  const file = findProgram(program);
  if (file === null) describe.skip(`${name} [needs ${program}]`, () => body(program));
  else describe(name, () => body(file));
}
