/**
 * One at a time for each name, in the order in which they asked. Who would wait for the same lock in the database waits
 * here instead, where waiting holds no connection: a handful of them would otherwise take all connections from those
 * who wait for nothing. The lock stays what keeps several processes apart; nothing here does.
 */
export class Turns {
  private readonly last = new Map<string, Promise<void>>();

  /** Runs work when all that asked before under this name are through; whether they succeeded does not matter. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name);
    let done = (): void => undefined;
    const mine = new Promise<void>((resolve) => (done = resolve));
    this.last.set(name, mine);
    try {
      await before;
      return await work();
    } finally {
      done();
      if (this.last.get(name) === mine) this.last.delete(name);
    }
  }
}
