/**
 * A mutex for each name, first come, first served. Callers that would wait for the same lock in the database wait here
 * instead, where waiting holds no connection: a handful of them would otherwise take all connections from callers that
 * wait for nothing. The database lock still separates processes; nothing here does.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { unavailable } from '../core/errors.js';

export class KeyedMutex {
  private readonly last = new Map<string, Promise<void>>();

  /** @param what the awaited resource, in words for people @param patienceMilliseconds how long to wait */
  constructor(
    private readonly what: string,
    private readonly patienceMilliseconds: number,
  ) {}

  /**
   * Runs work when all that asked before under this name are through; whether they succeeded does not matter.
   * @throws Failure unavailable if that takes too long
   */
  async runExclusive<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name);
    let done = (): void => undefined;
    const own = new Promise<void>((resolve) => (done = resolve));
    // A caller that gives up does not let others pass the one that still works.
    const mine = before === undefined ? own : before.then(() => own);
    this.last.set(name, mine);
    void mine.finally(() => {
      if (this.last.get(name) === mine) this.last.delete(name);
    });
    try {
      if (before !== undefined && !(await this.isOver(before))) throw this.tooLong();
      return await work();
    } finally {
      done();
    }
  }

  tooLong(): Error {
    return unavailable(`${this.what} has been at work for ${this.patienceMilliseconds / 1000} s: try again later`);
  }

  private async isOver(before: Promise<void>): Promise<boolean> {
    const timer = new AbortController();
    try {
      return await Promise.race([
        before.then(() => true),
        pause(this.patienceMilliseconds, false, { signal: timer.signal, ref: false }),
      ]);
    } finally {
      timer.abort();
    }
  }
}
