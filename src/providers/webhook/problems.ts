/**
 * What is wrong with something that came from outside: every problem with its path, and the same on one line.
 *
 * Pure; shared by the providers that check JSON with a schema.
 */
import type { z } from 'zod';
import type { Problem } from '../../core/errors.js';

/** So many problems are spelt out in a message; all of them are in its list. */
const MOST_LISTED = 20;

/** What a schema says is wrong with a value, every problem with its path. */
export function problemsOf(error: z.ZodError, under: readonly (string | number)[] = []): Problem[] {
  return error.issues.flatMap((issue) => {
    const path = [...under, ...issue.path.map(String)];
    // Each stray field is a problem of its own.
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map((name) => ({ path: [...path, name].join('/'), message: 'is not a field of the contract' }));
    return [{ path: path.length === 0 ? null : path.join('/'), message: issue.message }];
  });
}

/** The problems on one line. */
export function problemsText(problems: readonly Problem[]): string {
  const lines = problems
    .slice(0, MOST_LISTED)
    .map(({ path, message }) => (path === null ? message : `${path}: ${message}`));
  return `${lines.join('; ')}${problems.length > MOST_LISTED ? `; and ${problems.length - MOST_LISTED} more` : ''}`;
}
