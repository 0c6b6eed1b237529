/**
 * Wrong use of the command line: exit code 2, distinct from work that failed.
 */
import { Failure, type Problem } from '../core/errors.js';

export class WrongUse extends Error {
  override readonly name = 'WrongUse';

  constructor(
    message: string,
    readonly problems: readonly Problem[] = [],
  ) {
    super(message);
  }
}

/** Runs a check of what was typed: what it finds invalid is wrong use. */
export function typed<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (error instanceof Failure && error.kind === 'invalid') throw new WrongUse(error.message, error.problems);
    throw error;
  }
}
