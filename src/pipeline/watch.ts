/**
 * The interface through which the runner reports to an observer that a stage ran, and that one failed. It carries names
 * of teams and sources, never their data.
 */
import type { Logger } from '@nestjs/common';
import { formatInstant } from '../core/time.js';

interface Run {
  readonly organisation: string;
  readonly stage: string;
  readonly partition: string;
  readonly keys: number;
}

export type RunnerEvent =
  | (Run & { readonly kind: 'ran'; readonly milliseconds: number })
  /** `retryAt` null: it is parked, and waits for somebody. */
  | (Run & {
      readonly kind: 'failed';
      readonly attempts: number;
      readonly reason: string;
      readonly retryAt: number | null;
    });

export type Watch = (event: RunnerEvent) => void;

export const NOBODY: Watch = () => undefined;

/** Tells the log: a key that is parked waits for somebody, one that is tried again does not. */
export const logEvent =
  (log: Pick<Logger, 'debug' | 'warn'>): Watch =>
  (event) => {
    const { organisation, stage, partition, keys } = event;
    const run = { organisation, stage, partition, keys };
    if (event.kind === 'ran') return log.debug({ message: `${stage} ran`, ...run, durationMs: event.milliseconds });
    const { attempts, reason, retryAt } = event;
    if (retryAt === null) return log.warn({ message: `${stage} is parked`, ...run, attempts, reason });
    return log.debug({ message: `${stage} is tried again`, ...run, attempts, reason, retryAt: formatInstant(retryAt) });
  };
