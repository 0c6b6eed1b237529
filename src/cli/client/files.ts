/**
 * Checks files before they are sent.
 */
import { access } from 'node:fs/promises';
import { Failure, type Problem } from '../../core/errors.js';

/** @throws Failure missing, naming every file that cannot be read. */
export async function checkReadable(paths: readonly string[]): Promise<void> {
  const problems: Problem[] = [];
  for (const file of paths) {
    await access(file).catch((error: NodeJS.ErrnoException) => {
      problems.push({
        path: null,
        message:
          error.code === 'ENOENT'
            ? `${file}: there is no such file`
            : `${file}: the file cannot be read (${error.code ?? error.message})`,
      });
    });
  }
  if (problems.length > 0) throw new Failure('missing', 'nothing was imported', problems);
}
