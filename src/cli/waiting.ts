/**
 * How a verb waits for the line: with a bound, and saying what it waits for.
 *
 * A server that lives is never idle, since its sources go on. So what is waited for is what the verb itself has woken:
 * work that somebody waits for is marked as urgent, and so is all that follows from it (store/work.ts). The invariant:
 * no wait is longer than its bound, whatever the line does; what is not done by then goes on without the verb.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../core/time.js';
import type { Progress } from './progress.js';
import { grouped } from './table.js';

/** What is left of a stage. */
export interface Left {
  readonly stage: string;
  readonly keys: number;
}

export interface WaitingParts {
  readonly clock: Clock;
  readonly progress: Progress;
  readonly note: (text: string) => void;
  /** What is waited for, as it is now. */
  readonly left: () => Promise<readonly Left[]>;
  /** Does some of it in this process, until told that it is enough; absent: others do it. */
  readonly work?: (isEnough: () => Promise<boolean>) => Promise<void>;
  readonly lookMilliseconds: number;
  /** Who does the work, as the end of a sentence to a person who gives up. */
  readonly otherwise: string;
}

/** A budget is weighed once all of these have nothing left that was asked for. */
export const UP_TO_WEIGHING: readonly string[] = [
  'usage.allocate',
  'cost.price',
  'cost.rollup',
  'cost.share',
  'cost.credit',
  'budget.weigh',
];

/** So long without any change is waited, and so long in all. */
const PATIENCE_MILLISECONDS = 120_000;
const MOST_MILLISECONDS = 600_000;

const sentence = (left: readonly Left[]): string =>
  left.map(({ stage, keys }) => `${stage} (${grouped(keys)})`).join(', ');

export async function waitForLine(parts: WaitingParts): Promise<void> {
  const { clock, progress, note, work, lookMilliseconds, otherwise } = parts;
  const begun = clock.now();
  let [last, since] = ['', begun];
  const isLate = (): boolean => clock.now() - begun >= MOST_MILLISECONDS;
  try {
    for (;;) {
      await work?.(async () => isLate() || (await parts.left()).length === 0);
      const left = await parts.left();
      if (left.length === 0) return;
      const what = sentence(left);
      const now = clock.now();
      if (what !== last) [last, since] = [what, now];
      if (isLate() || now - since >= PATIENCE_MILLISECONDS) {
        note(
          `Waited ${Math.round((now - begun) / 1000)} s for ${what}, which goes on without this command: ${otherwise}`,
        );
        return;
      }
      progress.show(`waiting for ${what}`);
      await pause(lookMilliseconds);
    }
  } finally {
    progress.end();
  }
}
