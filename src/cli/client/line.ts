/**
 * How a verb waits for the line: with a bound, and with a message about what it waits for.
 *
 * A running server is never idle, because its sources continue. So a verb waits only for the work that it has enqueued
 * itself: this work is marked as urgent, and so is all work that follows from it (store/work.ts). In process the verb
 * does the work itself; if no server runs it does all waiting work. The invariant: no wait is longer than its bound,
 * whatever the line does; unfinished work continues without the verb.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '../../core/time.js';
import type { LocalLine } from '../context.js';
import type { Progress } from '../progress.js';
import { grouped } from '../table.js';
import type { Api } from './api.js';

/** The waiting work of a stage. */
export interface Left {
  readonly stage: string;
  readonly keys: number;
}

export interface WaitingParts {
  readonly clock: Clock;
  readonly progress: Progress;
  readonly note: (text: string) => void;
  /** The present state of the awaited work. */
  readonly left: () => Promise<readonly Left[]>;
  /** Does some of it in this process, until told that it is enough; absent: others do it. */
  readonly work?: ((isEnough: () => Promise<boolean>) => Promise<void>) | undefined;
  readonly pollMilliseconds: number;
  /** The process that does the work, as the end of a sentence for a person who stops waiting. */
  readonly otherwise: string;
}

/** A budget is evaluated once all of these have nothing left that was asked for. */
export const UP_TO_EVALUATION: readonly string[] = [
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
/** Between two checks, at this machine's database and at a server. */
const LOCAL_POLL_MILLISECONDS = 250;
const POLL_MILLISECONDS = 500;

export interface LineParts {
  readonly api: Api;
  readonly clock: Clock;
  readonly progress: Progress;
  readonly note: (text: string) => void;
  /** The line in this process; null: a server does the work. */
  readonly local: LocalLine | null;
}

export class Line {
  constructor(private readonly parts: LineParts) {}

  /** Whether there are stages that only a process of `serve` does. */
  get leavesWork(): boolean {
    return (this.parts.local?.leaves ?? []).length > 0;
  }

  /** Whether a process lives that works on the database apart from this one. */
  async isServed(): Promise<boolean> {
    return this.parts.local === null || this.parts.local.isServed();
  }

  /**
   * Returns when what was asked for is done, with all that follows from it.
   * @param stages while one serves, those that are waited for; absent: all
   */
  async wait(stages?: readonly string[]): Promise<void> {
    const { clock, progress, note, local } = this.parts;
    const isServed = await this.isServed();
    await waitForLine({
      clock,
      progress,
      note,
      pollMilliseconds: local === null ? POLL_MILLISECONDS : LOCAL_POLL_MILLISECONDS,
      otherwise: local === null ? 'is a worker running?' : 'bursar doctor says more',
      left: async () => {
        const left = leftIn(await this.metrics(), isServed);
        const others = isServed ? [] : (local?.leaves ?? []);
        return left.filter(({ stage }) => (isServed ? stages?.includes(stage) !== false : !others.includes(stage)));
      },
      work:
        local === null
          ? undefined
          : (isEnough) =>
              local.drain(
                (stage, done, waiting) => progress.show(`${stage}: ${grouped(done)} of ${grouped(waiting)}`),
                isEnough,
              ),
    });
    const parked = gaugeIn(await this.metrics(), 'bursar_work_parked').reduce((sum, { keys }) => sum + keys, 0);
    if (parked > 0) note(`${parked} keys of the line are parked because of an error: bursar doctor lists them`);
  }

  private metrics(): Promise<string> {
    return this.parts.api.text('GET', '/metrics', { isOpen: true });
  }
}

/** The samples above 0 of a gauge by stage, in Prometheus' text. */
const gaugeIn = (metrics: string, name: string): Left[] =>
  [...metrics.matchAll(new RegExp(`^${name}\\{stage="([^"]*)"\\} (\\d+)$`, 'gm'))]
    .map(([, stage = '', keys]) => ({ stage, keys: Number(keys) }))
    .filter(({ keys }) => keys > 0);

/**
 * What waits, by stage.
 * @param urgent only what somebody waits for; of a server that does not tell it, all that waits
 */
export function leftIn(metrics: string, urgent: boolean): Left[] {
  const hasUrgentGauge = urgent && metrics.includes('# TYPE bursar_work_urgent');
  return gaugeIn(metrics, hasUrgentGauge ? 'bursar_work_urgent' : 'bursar_work_waiting');
}

const sentence = (left: readonly Left[]): string =>
  left.map(({ stage, keys }) => `${stage} (${grouped(keys)})`).join(', ');

export async function waitForLine(parts: WaitingParts): Promise<void> {
  const { clock, progress, note, work, pollMilliseconds, otherwise } = parts;
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
          `Waited ${Math.round((now - begun) / 1000)} s for ${what}, which continues without this command: ${otherwise}`,
        );
        return;
      }
      progress.show(`waiting for ${what}`);
      await pause(pollMilliseconds);
    }
  } finally {
    progress.end();
  }
}
