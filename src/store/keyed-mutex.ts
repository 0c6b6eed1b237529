/**
 * One at a time for each name, in the order in which they asked. Who would wait for the same lock in the database waits
 * here instead, where waiting holds no connection: a handful of them would otherwise take all connections from those
 * who wait for nothing. The lock stays what keeps several processes apart; nothing here does.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { unavailable } from '../core/errors.js';

export class KeyedMutex {
  private readonly last = new Map<string, Promise<void>>();

  /**
   * @param what is waited for, as people are told
   * @param patienceMilliseconds how long
   */
  constructor(
    private readonly what: string,
    private readonly patienceMilliseconds: number,
  ) {}

  /**
   * Runs work when all that asked before under this name are through; whether they succeeded does not matter.
   * @throws Failure unavailable where that takes too long
   */
  async runExclusive<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name);
    let done = (): void => undefined;
    const own = new Promise<void>((resolve) => (done = resolve));
    // Who gives up lets nobody pass who is still at work.
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
