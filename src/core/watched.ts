/**
 * Repeating parts of a process and the result of each: the readiness check and the metrics report which of them fails.
 * Keeps nothing about successes.
 */

/** A part that has failed at its last reading, and at how many before it without a break. */
export interface FailingPart {
  readonly name: string;
  /** Epoch milliseconds of the first of these failures. */
  readonly since: number;
  readonly failures: number;
  readonly reason: string;
}

/** A single failure may be temporary; a part that fails this many times in a row does not do its work. */
const MOST_FAILURES = 3;

export class WatchedParts {
  private readonly failing = new Map<string, FailingPart>();

  succeeded(name: string): void {
    this.failing.delete(name);
  }

  /** @param at epoch milliseconds */
  failed(name: string, reason: string, at: number): void {
    const { since = at, failures = 0 } = this.failing.get(name) ?? {};
    this.failing.set(name, { name, since, failures: failures + 1, reason });
  }

  /** Those that have failed too often in a row to be a passing trouble. */
  get stuck(): readonly FailingPart[] {
    return [...this.failing.values()].filter(({ failures }) => failures >= MOST_FAILURES);
  }
}
