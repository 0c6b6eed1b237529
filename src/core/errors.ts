/**
 * Failures that a caller can act on. One class, five kinds; each kind is one HTTP status of the API.
 *
 * Expected outcomes (an unpriced line, a rejected row) are values, never failures. A broken invariant is an
 * ordinary Error: it is a bug and is not retried. Only `unavailable` is retried.
 */

export type FailureKind = 'invalid' | 'missing' | 'conflict' | 'denied' | 'unavailable';

/** One thing that is wrong: where (a path such as `records/3/start`, or null for the whole) and what. */
export interface Problem {
  readonly path: string | null;
  readonly message: string;
}

export class Failure extends Error {
  override readonly name = 'Failure';

  constructor(
    readonly kind: FailureKind,
    message: string,
    /** Every problem found, not only the first. */
    readonly problems: readonly Problem[] = [],
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

export const invalid = (message: string, problems: readonly Problem[] = []): Failure =>
  new Failure('invalid', message, problems);
export const missing = (message: string): Failure => new Failure('missing', message);
export const conflict = (message: string, problems: readonly Problem[] = []): Failure =>
  new Failure('conflict', message, problems);
export const denied = (message: string): Failure => new Failure('denied', message);
export const unavailable = (message: string, cause?: unknown): Failure =>
  new Failure('unavailable', message, [], { cause });

/** The cloud has no such machine free now: it took nothing, and capacity comes back. */
export class NoCapacity extends Failure {
  constructor(message: string) {
    super('unavailable', message);
  }
}

/** The same request is being worked on: what becomes of it is known soon. */
export class UnderWay extends Failure {
  /** When to ask again. */
  readonly retryAfterSeconds = 5;

  constructor(message: string, problems: readonly Problem[]) {
    super('conflict', message, problems);
  }
}

/** Stops the program on a broken invariant. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${message}`);
}
