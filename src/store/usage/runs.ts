/**
 * Assigns many items in a row to their deliveries, as runs: the deliveries, and the number of consecutive items of
 * each. So a block or a list of digests that was merged from several deliveries can be separated again. Pure.
 */
import { assert } from '../../core/errors.js';

/** As the database has it; both null if all is of the delivery that it is filed under. */
export interface StoredRuns {
  readonly members: readonly string[] | null;
  readonly counts: readonly number[] | null;
}

export class Runs {
  readonly members: string[] = [];
  readonly counts: number[] = [];

  add(member: string, count = 1): void {
    if (count === 0) return;
    const last = this.members.length - 1;
    if (this.members[last] === member) this.counts[last] = (this.counts[last] as number) + count;
    else {
      this.members.push(member);
      this.counts.push(count);
    }
  }

  /** Each run with the place of its first thing and of the first one after it. */
  *all(): Generator<{ readonly member: string; readonly from: number; readonly to: number }> {
    let from = 0;
    for (const [at, member] of this.members.entries()) {
      const to = from + (this.counts[at] as number);
      yield { member, from, to };
      from = to;
    }
  }
}

/**
 * @param length of all runs together
 * @param delivery whose it is where nothing was merged
 */
export function runsOf({ members, counts }: StoredRuns, delivery: string, length: number): Runs {
  const runs = new Runs();
  if (members === null || counts === null) runs.add(delivery, length);
  else for (const [at, member] of members.entries()) runs.add(member, counts[at] ?? 0);
  assert(
    runs.counts.reduce((sum, count) => sum + count, 0) === length,
    'the runs say of all that is there whose it is',
  );
  return runs;
}
